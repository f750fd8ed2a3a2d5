"""``almoner backups``: when each part of a backup last succeeded."""

from enum import StrEnum
from typing import Annotated

import typer

from almoner.cli.caller import MACHINE
from almoner.cli.database import transaction_command
from almoner.cli.tables import Table
from almoner.kit.time import iso_timestamp_or_none
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.observability import backups

commands = typer.Typer(help="List successful backups and record new ones.", no_args_is_help=True)


class BackupPart(StrEnum):
    """The part of the deployment that is backed up."""

    DATABASE = "database"
    DOCUMENTS = "documents"
    SETTINGS = "settings"


@commands.command("list")
@transaction_command
async def list_backups(tx: Tx) -> Table:
    """Show when each part of the deployment was last backed up."""
    return Table(
        ("part", "finished", "recent", "note"),
        [
            [one.part, iso_timestamp_or_none(one.finished_at), "yes" if one.is_recent(tx.real_now) else "no", one.note]
            for one in await backups.list_backups(tx)
        ],
    )


@commands.command("record")
@transaction_command
async def record_backup(
    tx: Tx,
    part: Annotated[BackupPart, typer.Argument(help="What was backed up.")],
    note: Annotated[
        str, typer.Option(help="Note about the backup, such as its file name (up to 200 characters).")
    ] = "",
) -> str:
    """Record that a backup has just succeeded.

    Run this command from your backup script. The console shows the time of the last backup of each part, and warns
    after 36 hours.
    """
    await backups.record_backup(tx, part.value, note)
    await MACHINE.record_audit_entry(tx, audit.DEPLOYMENT, "backup.recorded", part.value)
    return f"Backup recorded: {part.value}."
