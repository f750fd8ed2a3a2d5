"""A process that lives through one round of work and kills itself, as kill -9 does, at a transaction boundary.

``python -m tests.chaos.victim DSN FIRST LAST``: for each point between the two a child is forked that dies at that
point; what it printed is ``<point> killed`` or, once there is no such point any more, ``<point> lived``.

The points need no switch in the service: the database that the service is given counts the boundaries of all its
transactions, before each BEGIN's work is committed and right after.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID, uuid4

from almoner.kit.ids import RecordIdCodec
from almoner.kit.time import SystemClock
from almoner.platform.crypto import Vault
from almoner.platform.database import transactions
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.deployment import BaseUrls, Deployment
from almoner.platform.events import outbox
from almoner.platform.events.outbox import Event, EventReaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import BackgroundTasks, JobContext
from almoner.platform.jobs.queue import Job, JobDone, NewJob, Result
from almoner.platform.observability.telemetry import Telemetry

PARTNER = UUID(int=7)
CHANGES = 3
KIND = "chaos.note"


class Mortal(Database):
    """A database whose process dies at the boundary number ``fatal``."""

    fatal = -1
    passed = 0

    def boundary(self) -> None:
        """One more place to die."""
        self.passed += 1
        if self.passed == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Die before the commit, or right after."""
        async with super().write() as tx:
            yield tx
            self.boundary()
        self.boundary()


async def connect(dsn: str) -> Mortal:
    """A pool of mortal transactions."""
    links = BaseUrls("http://localhost", "http://localhost")
    deployment = Deployment("sandbox", SystemClock(), RecordIdCodec(sandbox=True), links, Vault(bytes(32)))
    return Mortal(await transactions.open_pool(dsn, pool_size=4), deployment)


async def change(db: Database) -> None:
    """What a request does: a change, its event, in one transaction."""
    async with db.write() as tx:
        made = uuid4()
        await tx.execute("insert into chaos_change (id) values ($1)", made)
        await outbox.emit_event(tx, PARTNER, "donation.created", {"change": str(made)})


async def fan_out(tx: Tx, events: Sequence[Event]) -> None:
    """What deliveries do: a row and a job for each event."""
    for event in events:
        await tx.execute("insert into chaos_told (event_id, sequence) values ($1, $2)", event.id, event.sequence)
    await queue.enqueue_jobs(
        tx,
        [
            NewJob(KIND, {"event": str(event.id)}, lane=f"chaos {n % 2}" if n else None)
            for n, event in enumerate(events)
        ],
    )


async def note(context: JobContext, job: Job) -> Result:
    """A job's effect, in a transaction of its own, safe to have twice."""
    async with context.db.write() as tx:
        await tx.execute(
            "insert into chaos_note (event_id, attempt) values ($1, $2)", UUID(job.payload["event"]), job.attempt
        )
    return JobDone()


DUTIES = BackgroundTasks(handlers={KIND: note}, reactions=(EventReaction("*", fan_out),))


async def live(dsn: str, fatal: int) -> None:
    """One round: changes, then everything that follows from them."""
    db = await connect(dsn)
    db.fatal = fatal
    for _ in range(CHANGES):
        await change(db)
    await BackgroundWorker(db, DUTIES, Telemetry(lambda _line: None)).drain()
    await db.close()


def fork_lanes(count: int, work: Callable[[int], None]) -> None:
    """So many children at once, each with a number of its own; they work until all are done."""
    lanes = []
    for lane in range(count):
        child = os.fork()
        if child == 0:
            work(lane)
            os._exit(0)
        lanes.append(child)
    for child in lanes:
        os.waitpid(child, 0)


def fork_each(points: range, live: Callable[[int], Coroutine[None, None, None]], name: str = "") -> None:
    """One child for each point, until one lives; what became of each is printed, after the ``name`` of all."""
    for point in points:
        child = os.fork()
        if child == 0:
            asyncio.run(live(point))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        fate = "killed" if killed else "lived" if status == 0 else f"failed {status}"
        os.write(sys.stdout.fileno(), f"{name}{point} {fate}\n".encode())  # as one: lanes share the pipe
        if not killed:
            return


if __name__ == "__main__":
    fork_each(range(int(sys.argv[2]), int(sys.argv[3]) + 1), partial(live, sys.argv[1]))
