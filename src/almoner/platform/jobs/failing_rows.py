"""Keep a failing row from blocking the others of its batch."""

from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter
from time import monotonic
from typing import Final, Protocol, TypeVar
from uuid import UUID

from almoner.platform.database.transactions import Tx
from almoner.platform.observability.failures import UNAVAILABLE_ERRORS, failure_log_fields
from almoner.platform.observability.loggers import get_logger


class _Row(Protocol):
    @property
    def id(self) -> UUID: ...


_T = TypeVar("_T")
_R = TypeVar("_R", bound=_Row)
_MOST_FAILED: Final = 200
"""The maximum number of failed rows in one transaction, which holds their locks; the next one starts after them."""
_MOST_RESTING: Final = 20_000
_REST_SECONDS: Final = 300.0
_resting: Final[dict[str, dict[UUID, float]]] = {}
"""Rows that failed in this process, and when each may be retried, by sweep."""
_log: Final = get_logger("almoner.jobs")


async def process_rows_returning_failures(
    tx: Tx,
    job_name: str,
    rows: Sequence[_T],
    process_batch: Callable[[Sequence[_T]], Awaitable[object]],
    *,
    row_key: Callable[[_T], object] = attrgetter("id"),
) -> list[_T]:
    """Process rows together, or one at a time if that fails; returns the failed rows, which are logged.

    The effects of a failed row are rolled back. Raises if the database is unavailable, which is no row's failure.
    """
    if not rows or await _succeeds(tx, job_name, rows, process_batch, row_key):
        return []
    if len(rows) == 1:
        return list(rows)
    return [row for row in rows if not await _succeeds(tx, job_name, [row], process_batch, row_key)]


async def process_due_rows(
    tx: Tx,
    job_name: str,
    lock_due_rows: Callable[[Tx, int, Sequence[UUID]], Awaitable[list[_R]]],
    process_rows: Callable[[Sequence[_R]], Awaitable[object]],
    limit: int,
) -> int:
    """Process the first batch of due rows that do not all fail; returns how many succeeded.

    Failed rows stay due. They are retried and logged again after five minutes: ``lock_due_rows`` gets those that must
    wait, and skips them.
    """
    now, failed = monotonic(), 0
    resting = {row: until for row, until in _resting.get(job_name, {}).items() if until > now}
    _resting[job_name] = resting
    while (
        failed < _MOST_FAILED
        and len(resting) < _MOST_RESTING
        and (due := await lock_due_rows(tx, limit, list(resting)))
    ):
        bad = await process_rows_returning_failures(tx, job_name, due, process_rows)
        resting.update((row.id, now + _REST_SECONDS) for row in bad)
        if len(bad) < len(due):
            return len(due) - len(bad)
        failed += len(bad)
    return 0


async def _succeeds(
    tx: Tx,
    sweep: str,
    rows: Sequence[_T],
    handle: Callable[[Sequence[_T]], Awaitable[object]],
    key: Callable[[_T], object],
) -> bool:
    try:
        async with tx.savepoint():
            await handle(rows)
    except Exception as error:
        if isinstance(error, UNAVAILABLE_ERRORS):
            raise
        if len(rows) == 1:
            _log.error("schedule_row_failed", schedule=sweep, row=str(key(rows[0])), **failure_log_fields(error))
        return False
    return True
