"""The background half of the dashboard: who looked at donors' data is kept for thirteen months."""

from datetime import datetime, timedelta
from typing import Final

from almoner.dashboard import store
from almoner.dashboard.domain import VIEW_RETENTION
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import Tasks

_BATCH: Final = 1000


async def _next_deletion_at(tx: Tx) -> datetime | None:
    oldest = await store.oldest_view_at(tx)
    return None if oldest is None else oldest + VIEW_RETENTION


async def _delete_old_views(tx: Tx) -> int:
    return await store.delete_views(tx, tx.now - VIEW_RETENTION, _BATCH)


tasks: Final = Tasks()
tasks.periodic("dashboard.forget_donor_views", _next_deletion_at, _delete_old_views, every=timedelta(days=1))
