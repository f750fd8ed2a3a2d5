"""What a slice's ``jobs.py`` declares, for wiring to collect.

::

    handlers: Mapping[str, Handler] = {"donations.close_payment": close_payment}
    reactions = (Reaction("internal.gift_received", thank),)
    schedules = (Schedule("donations.cancel_abandoned", donations.next_due, donations.cancel_abandoned),)

A handler that needs a port of its slice is made by a function that wiring calls with the adapter.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events.outbox import Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import Answer, FinishedJob, Job

Finish = Callable[[Tx, Sequence[FinishedJob]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class JobContext:
    """What every handler is given.

    ``finish``: records results in the transaction of what the jobs did, for handlers that answer ``JobRecorded``. The
    runner claims others in their places with the same commit.
    """

    db: Database
    finish: Finish = queue.record_results


Handler = Callable[[JobContext, Job], Awaitable[Answer]]
"""Does one job. It opens its own transactions, calls the outside between them, and is safe to run twice."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A sweep: it runs as soon as the moment that ``next_due`` names has passed on the business clock.

    ``run`` does one batch in the given transaction and says how many records it dealt with; it is called until that
    is 0.
    ``every``: sweeps that only tidy up run at most once in each such period, at its end.
    """

    name: str
    next_due: Callable[[Tx], Awaitable[datetime | None]]
    run: Callable[[Tx], Awaitable[int]]
    every: timedelta | None = None

    async def due_at(self, tx: Tx) -> datetime | None:
        """When it has to run next; None when nothing is in sight."""
        moment = await self.next_due(tx)
        if moment is None or self.every is None:
            return moment
        periods = -(-(moment - _ERA) // self.every)
        return _ERA + periods * self.every

    def period_of(self, moment: datetime) -> int:
        """The number of the period that a moment lies in; 0 for all moments when there are none."""
        return 0 if self.every is None else (moment - _ERA) // self.every


_ERA = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BackgroundTasks:
    """All that runs in the background of one process, as wiring collects it.

    ``limits``: how long a job of a kind may run, where that is longer than others may.
    """

    handlers: Mapping[str, Handler] = field(default_factory=dict)
    reactions: tuple[Reaction, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    limits: Mapping[str, timedelta] = field(default_factory=dict)
