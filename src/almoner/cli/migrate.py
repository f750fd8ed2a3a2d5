"""``almoner migrate``."""

import typer

from almoner import migrations, settings
from almoner.cli import local


def migrate() -> None:
    """Migrate the database to this version.

    You can repeat this command, and run it while the service is running. It connects to ALMONER_OWNER_DATABASE_URL as
    the owner of the tables, or to ALMONER_DATABASE_URL if that is not set.
    """
    with local.complete_settings(settings.read_settings()) as complete:
        state = migrations.migrate(complete.owner_dsn, tell=lambda step: typer.echo(f"applied {step}"))
    typer.echo(f"The database is at revision {state.revision}.")
