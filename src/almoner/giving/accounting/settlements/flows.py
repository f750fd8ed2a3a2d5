"""Imports a report in batches, one transaction each, and rechecks lines that were not booked before."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Final, TypeVar

from asyncpg import DeadlockDetectedError, SerializationError

from almoner.giving.accounting.settlements import csv_reports, service
from almoner.giving.accounting.settlements.csv_reports import COLUMNS as COLUMNS
from almoner.giving.accounting.settlements.domain import ImportInterrupted, Settlement, SettlementReport
from almoner.platform.database.transactions import Database, Tx

MAX_ATTEMPTS: Final = 5

Result = TypeVar("Result")
OnFinished = Callable[[Tx, Settlement], Awaitable[None]]
"""Records who imported the report, in the transaction that finishes the import."""


@dataclass(frozen=True, slots=True)
class SettlementImportProgress:
    """The progress of an import."""

    booked_line_count: int
    line_count: int
    lines_per_second: float


async def import_report(
    db: Database,
    provider: str,
    content: bytes,
    on_progress: Callable[[SettlementImportProgress], None] | None = None,
    on_finished: OnFinished | None = None,
) -> Settlement:
    """Import a provider's settlement report; importing it twice has no further effect.

    ``on_finished`` is called in the transaction that finishes it. An import that was interrupted is finished by
    importing the file again. Raises SettlementReportError, ImportInterrupted.
    """
    parsed = await asyncio.to_thread(csv_reports.parse_report, provider, content)  # let the server handle others
    return await import_parsed_report(db, parsed, on_progress, on_finished)


async def import_parsed_report(
    db: Database,
    settlement_report: SettlementReport,
    on_progress: Callable[[SettlementImportProgress], None] | None = None,
    on_finished: OnFinished | None = None,
) -> Settlement:
    """Import a report that is already parsed."""
    started_at = perf_counter()
    async with db.write() as tx:
        started = tx.now
        settlement = await service.find_or_create_settlement(tx, settlement_report)
    for start in range(0, len(settlement_report.lines), service.BATCH):
        batch = settlement_report.lines[start : start + service.BATCH]
        await _with_retries(db, partial(service.book_lines, settlement=settlement, lines=batch))
        if on_progress:
            done = start + len(batch)
            on_progress(
                SettlementImportProgress(
                    done, len(settlement_report.lines), done / max(perf_counter() - started_at, 1e-6)
                )
            )

    async def finish(tx: Tx) -> Settlement | None:
        if await service.recheck_unmatched_lines(tx, checked_before=started):
            return None
        await service.save_settlement_totals(tx, settlement_report.provider, settlement_report.reference)
        settlement = await service.get_settlement(tx, settlement_report)
        if on_finished is not None:
            await on_finished(tx, settlement)
        return settlement

    while (finished := await _with_retries(db, finish)) is None:
        pass
    return finished


async def _with_retries(db: Database, step: Callable[[Tx], Awaitable[Result]]) -> Result:
    """Run one transaction; retry it after deadlocks and serialization failures. Raises ImportInterrupted."""
    for _ in range(MAX_ATTEMPTS):
        try:
            async with db.write() as tx:
                return await step(tx)
        except (DeadlockDetectedError, SerializationError):
            continue
    raise ImportInterrupted(
        f"the database let other work pass {MAX_ATTEMPTS} times: what is booked stays; "
        "import the file again to finish it"
    )
