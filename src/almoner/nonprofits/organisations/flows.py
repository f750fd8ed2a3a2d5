"""Rebuilds the search index in batches, and warms its cache."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.nonprofits.organisations import store_index
from almoner.platform.database.transactions import Database, Tx

_BATCH: Final = 5_000
_FIRST: Final = UUID(int=0)
_WARM_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """How many organisations were checked, and how many index entries were repaired."""

    checked_organisation_count: int = 0
    repaired_organisation_count: int = 0
    corrected_word_count: int = 0


ReportProgress = Callable[[ReindexReport], None]
RecordAudit = Callable[[Tx, ReindexReport], Awaitable[None]]
"""Audits who started the run, in the transaction that ends it."""


async def reindex_organisations(
    db: Database,
    *,
    batch_size: int = _BATCH,
    on_progress: ReportProgress | None = None,
    record_audit: RecordAudit | None = None,
) -> ReindexReport:
    """Check and repair the search index of all organisations; can be resumed."""
    done = ReindexReport()
    after: UUID | None = _FIRST
    while after is not None:
        async with db.write() as tx:
            made = await store_index.repair_search_index_batch(tx, after, batch_size)
        after = made.last_organisation_id
        done = ReindexReport(
            done.checked_organisation_count + made.checked_organisation_count,
            done.repaired_organisation_count + made.repaired_organisation_count,
        )
        if on_progress is not None:
            on_progress(done)
    async with db.write() as tx:
        done = ReindexReport(
            done.checked_organisation_count, done.repaired_organisation_count, await store_index.rebuild_word_counts(tx)
        )
        if record_audit is not None:
            await record_audit(tx, done)
    return done


async def warm_search_cache(db: Database, *, timeout_seconds: float = _WARM_SECONDS) -> None:
    """Load the search index into memory at start, within a time limit."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_seconds), db.read() as tx:
            await store_index.warm_search_cache(tx)
