"""Making what search reads what the organisations are, a batch at a time, and having it at hand from the start."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.nonprofits.organisations import store_index
from almoner.platform.database.transactions import EVERYONE, Database, Tx

_BATCH: Final = 5_000
_FIRST: Final = UUID(int=0)
_WARM_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Reindexed:
    """So many bodies were looked at; of so many, and of so many words, search read something else."""

    bodies: int = 0
    mended: int = 0
    words: int = 0


Report = Callable[[Reindexed], None]
Record = Callable[[Tx, Reindexed], Awaitable[None]]
"""Says who had it done, in the transaction that ends it."""


async def reindex(
    db: Database, *, batch: int = _BATCH, report: Report | None = None, record: Record | None = None
) -> Reindexed:
    """Go through all bodies and all words. What is right is not touched, and searches go on.

    It may be stopped and begun again.
    """
    done = Reindexed()
    after: UUID | None = _FIRST
    while after is not None:
        async with db.write() as tx:
            made = await store_index.mend(tx, EVERYONE, after, batch)
        after = made.last
        done = Reindexed(done.bodies + made.bodies, done.mended + made.mended)
        if report is not None:
            report(done)
    async with db.write() as tx:
        done = Reindexed(done.bodies, done.mended, await store_index.count_words(tx, EVERYONE))
        if record is not None:
            await record(tx, done)
    return done


async def warm(db: Database, *, within: float = _WARM_SECONDS) -> None:
    """Have the first questions find in memory what they read. Nobody waits longer than that for a slow disk."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within), db.read() as tx:
            await store_index.warm(tx, EVERYONE)
