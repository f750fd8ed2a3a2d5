"""Jobs of watchlists: scheduled refreshes, and the email after refused files."""

from collections.abc import Sequence
from typing import Final

from almoner.access.operators import service as operators
from almoner.access.security_emails import service as security_emails
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import TaskRegistry
from almoner.screening.watchlists import service
from almoner.screening.watchlists.domain import REFUSED, WatchlistImportEvent
from almoner.screening.watchlists.refreshing import WatchlistRefreshContext as WatchlistRefreshContext
from almoner.screening.watchlists.refreshing import enqueue_refresh as enqueue_refresh
from almoner.screening.watchlists.refreshing import is_refresh_scheduled as is_refresh_scheduled
from almoner.screening.watchlists.refreshing import refresh_tasks as refresh_tasks
from almoner.screening.watchlists.uploading import WatchlistUploadContext as WatchlistUploadContext
from almoner.screening.watchlists.uploading import enqueue_import as enqueue_import
from almoner.screening.watchlists.uploading import upload_tasks as upload_tasks

tasks: Final = TaskRegistry()


@tasks.on_internal_event(REFUSED)
async def on_import_refused(tx: Tx, events: Sequence[WatchlistImportEvent]) -> None:
    """Email every administrator that a list was not replaced, and why."""
    administrators = await operators.list_administrators(tx)
    for reported in events:
        load = await service.get_import(tx, reported.load)
        facts = {"Files": " ".join(file.name for file in load.files), "Why": "; ".join(load.reasons)}
        for person in administrators:
            await security_emails.enqueue_email(
                tx, person, "watchlist_refused", placeholder_values={"source": reported.list}, detail_lines=facts
            )
