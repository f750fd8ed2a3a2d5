"""Deletes uploaded statements that were not booked."""

from datetime import datetime, timedelta
from typing import Final

from almoner.giving.banking.bank_statements import store_uploads
from almoner.giving.banking.bank_statements.domain import UPLOAD_RETENTION
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import TaskRegistry

_BATCH: Final = 100


async def _next_deletion_at(tx: Tx) -> datetime | None:
    oldest = await store_uploads.find_oldest_upload_at(tx)
    return None if oldest is None else oldest + UPLOAD_RETENTION


async def _delete_old_uploads(tx: Tx) -> int:
    return await store_uploads.delete_old_uploads(tx, tx.now - UPLOAD_RETENTION, _BATCH)


tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "bank_statements.delete_uploads", _next_deletion_at, _delete_old_uploads, period=timedelta(days=1)
)
