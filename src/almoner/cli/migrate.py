"""``almoner migrate``."""

import typer

from almoner import migrations, settings
from almoner.cli import local


def migrate() -> None:
    """Bring the database to the form that this version needs; safe to repeat, and to run while the service serves.

    Connects as ALMONER_OWNER_DATABASE_URL, the owner of the tables, or else as ALMONER_DATABASE_URL.
    """
    with local.completed(settings.read()) as complete:
        state = migrations.migrate(complete.owner_dsn, tell=lambda step: typer.echo(f"applied {step}"))
    typer.echo(f"The database is at revision {state.revision}.")
