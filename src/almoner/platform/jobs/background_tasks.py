"""The types with which a slice's ``jobs.py`` declares its background work.

Tasks without dependencies::

    tasks: Final = TaskRegistry()
    tasks.add_periodic_job("sessions.expire", service.next_expiry_at, service.expire_due_sessions)

    @tasks.on_internal_event(DECIDED)
    async def on_validation_request_decided(tx: Tx, events: Sequence[RequestDecidedEvent]) -> None: ...

Tasks that need a port of their slice, or another part of the deployment, are declared in a ``DependentTaskRegistry`` of
that type, and get it as their first argument::

    provider_tasks: Final = DependentTaskRegistry[PaymentProvider]()

    @provider_tasks.job(REFUND)
    async def refund_unallocated_payment(
        provider: PaymentProvider, context: JobContext, job: DecodedJob[RefundUnallocatedPaymentJob]
    ) -> Result: ...

``job_registry.py`` passes it: ``suspense_jobs.provider_tasks.bind(provider)``.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Generic, TypeVar

from almoner.kit.events import InternalEvent
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events.outbox import Event, EventReaction, decode_event_data
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import Answer, DecodedJob, FinishedJob, Job, JobKind

_P = TypeVar("_P")
_T = TypeVar("_T")

RecordResults = Callable[[Tx, Sequence[FinishedJob]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class JobContext:
    """The database, and the function that finishes the job, as every handler receives them.

    ``record_results``: records results in the transaction of the jobs' effects, for handlers that return
    ``JobResultRecorded``. The runner claims the next jobs with the same commit.
    """

    db: Database
    record_results: RecordResults = queue.record_job_results


Handler = Callable[[JobContext, Job], Awaitable[Answer]]
"""Runs one job. It opens its own transactions, makes outside calls between them, and is safe to run twice."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A periodic job: it runs when the time from ``find_next_due`` has passed on the business clock.

    ``process_batch`` processes one batch in the given transaction and returns how many records it processed; it is
    called until that is 0. ``period``: housekeeping sweeps run at most once per period, at its end, unless
    ``find_next_due`` returns ``tx.now``. ``sandbox_clock_limit``: the time that the sandbox clock may not pass until
    the work due by then is done.
    """

    name: str
    find_next_due: Callable[[Tx], Awaitable[datetime | None]]
    process_batch: Callable[[Tx], Awaitable[int]]
    period: timedelta | None = None
    sandbox_clock_limit: Callable[[Tx], Awaitable[datetime | None]] | None = None

    async def due_at(self, tx: Tx) -> datetime | None:
        """When the job is next due; None if unknown. A job due at ``tx.now`` ignores the period."""
        return self.round_up_to_period_end(await self.find_next_due(tx), tx.now)

    def round_up_to_period_end(self, next_due_at: datetime | None, now: datetime) -> datetime | None:
        """The end of the period in which the job's records are next due."""
        if next_due_at is None or self.period is None or next_due_at == now:
            return next_due_at
        periods = -(-(next_due_at - _ERA) // self.period)
        return _ERA + periods * self.period

    def period_number_at(self, timestamp: datetime) -> int:
        """The number of the period that contains a timestamp; 0 without periods."""
        return 0 if self.period is None else (timestamp - _ERA) // self.period


_ERA = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BackgroundTasks:
    """All handlers, reactions and schedules of one process.

    ``time_limits``: the time limit of a job kind, if longer than the default.
    """

    handlers: Mapping[str, Handler] = field(default_factory=dict)
    reactions: tuple[EventReaction, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    time_limits: Mapping[str, timedelta] = field(default_factory=dict)


def merge_background_tasks(all_tasks: Iterable["BackgroundTasks | TaskRegistry"]) -> BackgroundTasks:
    """Combine the tasks of all slices. Raises ValueError if a job kind or schedule is declared twice."""
    handlers: dict[str, Handler] = {}
    reactions: list[EventReaction] = []
    schedules: dict[str, Schedule] = {}
    limits: dict[str, timedelta] = {}
    for given in all_tasks:
        tasks = given.declared_tasks if isinstance(given, TaskRegistry) else given
        named = {schedule.name: schedule for schedule in tasks.schedules}
        if twice := (handlers.keys() & tasks.handlers.keys()) | (schedules.keys() & named.keys()):
            raise ValueError(f"declared twice: {', '.join(sorted(twice))}")
        handlers |= tasks.handlers
        reactions += tasks.reactions
        schedules |= named
        limits |= tasks.time_limits
    return BackgroundTasks(handlers, tuple(reactions), tuple(schedules.values()), limits)


FindNextDue = Callable[[Tx], Awaitable[datetime | None]]
ProcessBatch = Callable[[Tx], Awaitable[int]]
DecodedJobHandler = Callable[[JobContext, DecodedJob[_T]], Awaitable[Answer]]
EventsHandler = Callable[[Tx, Sequence[_T]], Awaitable[None]]
DependentJobHandler = Callable[[_P, JobContext, DecodedJob[_T]], Awaitable[Answer]]
DependentEventsHandler = Callable[[_P, Tx, Sequence[_T]], Awaitable[None]]


class TaskRegistry:
    """Declares a slice's background work that needs only the database."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._reactions: list[EventReaction] = []
        self._schedules: list[Schedule] = []
        self._limits: dict[str, timedelta] = {}

    @property
    def declared_tasks(self) -> BackgroundTasks:
        """All declared tasks."""
        return BackgroundTasks(self._handlers, tuple(self._reactions), tuple(self._schedules), self._limits)

    def job(
        self, kind: JobKind[_T], *, time_limit: timedelta | None = None
    ) -> Callable[[DecodedJobHandler[_T]], DecodedJobHandler[_T]]:
        """Declare the handler of a job kind, and its time limit if longer than the default."""

        def declare(handle: DecodedJobHandler[_T]) -> DecodedJobHandler[_T]:
            async def handle_decoded(context: JobContext, job: Job) -> Answer:
                return await handle(context, kind.decode(job))

            if kind.name in self._handlers:
                raise ValueError(f"{kind.name} is declared twice")
            self._handlers[kind.name] = handle_decoded
            if time_limit is not None:
                self._limits[kind.name] = time_limit
            return handle

        return declare

    def on_internal_event(self, *events: InternalEvent[_T]) -> Callable[[EventsHandler[_T]], EventsHandler[_T]]:
        """Declare a reaction to an internal event; ``react`` gets all payloads of a batch, in order."""

        def declare(react: EventsHandler[_T]) -> EventsHandler[_T]:
            for event in events:
                self._reactions.append(EventReaction(event.name, _reading(event.record, react)))
            return react

        return declare

    def on_public_event(self, *event_types: str) -> Callable[[EventsHandler[Event]], EventsHandler[Event]]:
        """Like ``on_internal_event``, for public events; see ``EventReaction``."""

        def declare(react: EventsHandler[Event]) -> EventsHandler[Event]:
            self._reactions += [EventReaction(event_type, react) for event_type in event_types]
            return react

        return declare

    def add_periodic_job(
        self,
        name: str,
        find_next_due: FindNextDue,
        process_batch: ProcessBatch,
        *,
        period: timedelta | None = None,
        sandbox_clock_limit: FindNextDue | None = None,
    ) -> None:
        """Declare a periodic job; see ``Schedule``."""
        self._schedules.append(Schedule(name, find_next_due, process_batch, period, sandbox_clock_limit))


class DependentTaskRegistry(Generic[_P]):
    """Like ``TaskRegistry``, for background work that gets a part of the deployment as its first argument."""

    def __init__(self) -> None:
        self._declared: list[Callable[[TaskRegistry, _P], object]] = []

    def job(
        self, kind: JobKind[_T], *, time_limit: timedelta | None = None
    ) -> Callable[[DependentJobHandler[_P, _T]], DependentJobHandler[_P, _T]]:
        """Like ``TaskRegistry.job``."""

        def declare(handle: DependentJobHandler[_P, _T]) -> DependentJobHandler[_P, _T]:
            self._declared.append(lambda tasks, parts: tasks.job(kind, time_limit=time_limit)(partial(handle, parts)))
            return handle

        return declare

    def on_internal_event(
        self, *events: InternalEvent[_T]
    ) -> Callable[[DependentEventsHandler[_P, _T]], DependentEventsHandler[_P, _T]]:
        """Like ``TaskRegistry.on_internal_event``."""

        def declare(react: DependentEventsHandler[_P, _T]) -> DependentEventsHandler[_P, _T]:
            self._declared.append(lambda tasks, parts: tasks.on_internal_event(*events)(partial(react, parts)))
            return react

        return declare

    def add_periodic_job(
        self,
        name: str,
        find_next_due: Callable[[_P, Tx], Awaitable[datetime | None]],
        process_batch: Callable[[_P, Tx], Awaitable[int]],
        *,
        period: timedelta | None = None,
    ) -> None:
        """Like ``TaskRegistry.add_periodic_job``."""
        self._declared.append(
            lambda tasks, parts: tasks.add_periodic_job(
                name, partial(find_next_due, parts), partial(process_batch, parts), period=period
            )
        )

    def bind(self, dependencies: _P) -> BackgroundTasks:
        """The declared tasks, bound to their dependencies."""
        tasks = TaskRegistry()
        for declare in self._declared:
            declare(tasks, dependencies)
        return tasks.declared_tasks


def _reading(record: type[_T], react: EventsHandler[_T]) -> EventsHandler[Event]:
    async def react_to_records(tx: Tx, events: Sequence[Event]) -> None:
        await react(tx, [decode_event_data(event, record) for event in events])

    return react_to_records
