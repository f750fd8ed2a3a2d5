"""``almoner documents``: the trash of the document storage."""

from typing import Annotated

import typer

from almoner import settings
from almoner.backends import build_storage
from almoner.cli.access import print_table
from almoner.cli.caller import MACHINE
from almoner.cli.database import run_with_database
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database
from almoner.platform.files.storage import BlobStore, TrashedBlob
from almoner.validation.applications.documents import service as documents

commands = typer.Typer(help="Restore files of deleted documents from the trash.", no_args_is_help=True)


@commands.command("trash")
def list_trash() -> None:
    """List files in the trash.

    These files do not belong to any document. Each file is deleted after 30 days.
    """

    async def found(database: Database) -> list[TrashedBlob]:
        return [lying async for lying in _blobs(database).list_trashed()]

    lying = sorted(run_with_database(found), key=lambda one: (one.data_date, one.key))
    print_table(("key", "since"), ((one.key, one.data_date.isoformat()) for one in lying))


@commands.command("restore")
def restore_file(key: Annotated[str, typer.Argument(help="Key of the file, from `almoner documents trash`.")]) -> None:
    """Restore a file from the trash.

    Before you run this command, restore the file's document in the database.
    """

    async def bring_back(database: Database) -> None:
        blobs = _blobs(database)
        lying = [one async for one in blobs.list_trashed() if one.key == key]
        if not lying:
            raise NotFound(f"{key} is not in the trash: see `almoner documents trash`")
        await blobs.restore(lying[0])
        async with database.write() as tx:
            await documents.record_blob_purged(tx, key)
            await MACHINE.record_audit_entry(tx, DEPLOYMENT, "documents.restore", key)

    run_with_database(bring_back)
    typer.echo(f"{key} has been restored. If its document does not exist, it returns to the trash tomorrow.")


def _blobs(database: Database) -> BlobStore:
    return BlobStore(build_storage(settings.read_settings()), database.deployment.vault, database.deployment.identity)
