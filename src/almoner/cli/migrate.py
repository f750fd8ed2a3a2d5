"""``almoner migrate``."""

import typer

from almoner import migrations, settings
from almoner.cli import local


def migrate() -> None:
    """Migrate the database to this version of Almoner.

    You can run this command repeatedly and while the service is running. To connect as the owner of the tables, set
    ALMONER_OWNER_DATABASE_URL. Without this setting, the command uses ALMONER_DATABASE_URL.
    """
    with local.settings_with_embedded_database(settings.read_settings()) as complete:
        try:
            state = migrations.migrate(complete.owner_dsn, report=lambda step: typer.echo(f"applied {step}"))
        except Exception as error:
            if complete.owner_database_url is not None:
                error.add_note(f"{settings.PREFIX}OWNER_DATABASE_URL")  # `failures` names the setting that was used
            raise
    typer.echo(f"The database is at revision {state.revision}.")
