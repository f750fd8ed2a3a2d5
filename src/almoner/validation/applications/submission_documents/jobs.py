"""Retention of documents: each is deleted once no record needs it as evidence (V6).

Its row stays: hash, size, kind and the record it belonged to. So do decisions.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, TaskRegistry
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import (
    RETENTION_CHECK_INTERVAL,
    SCANNED,
    DocumentScannedEvent,
    RetentionPeriods,
)
from almoner.validation.applications.submission_documents import service, store

BATCH: Final = 500


async def delete_expired_documents(retention_periods: RetentionPeriods, tx: Tx, limit: int = BATCH) -> int:
    """Delete documents past their retention, and schedule the next check of others; returns how many."""
    due = await documents.lock_documents_due_for_retention_check(tx, limit)
    ends = await store.load_evidence_outcomes_by_document_id(tx, [one.id for one in due])
    again: dict[UUID, datetime] = {}
    for document in due:
        until = retention_periods.retention_ends_at(document.created_at, ends.get(document.id, []))
        if until is not None and until <= tx.now:
            await documents.delete(tx, ALL_PARTNERS, document.id)
        else:
            soon = tx.now + RETENTION_CHECK_INTERVAL  # by then an administrator may have set a shorter retention
            again[document.id] = soon if until is None else min(until, soon)
    await documents.schedule_retention_checks(tx, again)
    return len(due)


retention_tasks: Final = DependentTaskRegistry[RetentionPeriods]()


async def _next_check_at(_stored: RetentionPeriods, tx: Tx) -> datetime | None:
    return await documents.next_retention_check_at(tx)


retention_tasks.add_periodic_job(
    "documents.delete_expired", _next_check_at, delete_expired_documents, period=timedelta(days=1)
)


tasks: Final = TaskRegistry()


@tasks.on_internal_event(SCANNED)
async def on_document_scanned(tx: Tx, events: Sequence[DocumentScannedEvent]) -> None:
    """Notify partners of rejected documents."""
    for reported in events:
        if not reported.clean:
            await service.emit_document_rejected(tx, reported.document)
