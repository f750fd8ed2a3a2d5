"""``almoner documents``: the trash of the document storage."""

from typing import Annotated

import typer

from almoner import settings
from almoner.backends import build_storage
from almoner.cli.caller import MACHINE
from almoner.cli.database import database_command
from almoner.cli.tables import Table
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database
from almoner.platform.files.storage import BlobStore
from almoner.validation.applications.documents import service as documents

commands = typer.Typer(help="List and restore deleted document files.", no_args_is_help=True)


@commands.command("trash")
@database_command
async def list_trash(database: Database) -> Table:
    """List document files in the trash.

    A file is in the trash if its document's record was deleted. Files are deleted from the trash after 30 days.
    """
    trashed = [one async for one in _blobs(database).list_trashed()]
    trashed.sort(key=lambda one: (one.trashed_on, one.key))
    return Table(("key", "since"), [(one.key, one.trashed_on.isoformat()) for one in trashed])


@commands.command("restore")
@database_command
async def restore_file(
    database: Database, key: Annotated[str, typer.Argument(help="File key, from `almoner documents trash`.")]
) -> str:
    """Restore a document file from the trash.

    Before you run this command, restore the document's record in the database.
    """
    blobs = _blobs(database)
    trashed = [one async for one in blobs.list_trashed() if one.key == key]
    if not trashed:
        raise NotFound(f"{key} is not in the trash: see `almoner documents trash`")
    await blobs.restore(trashed[0])
    async with database.write() as tx:
        await documents.delete_trash_record(tx, key)
        await MACHINE.record_audit_entry(tx, DEPLOYMENT, "documents.restore", key)
    return f"{key} has been restored. If its document does not exist, the file returns to the trash tomorrow."


def _blobs(database: Database) -> BlobStore:
    return BlobStore(build_storage(settings.read_settings()), database.deployment.vault, database.deployment.identity)
