"""Events: written with the change, numbered without gaps, handed over exactly once."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec
import pytest

from almoner.kit.events import InternalEvent
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import dispatcher, outbox
from almoner.platform.events.dispatcher import EventDispatcher
from almoner.platform.events.outbox import Event, EventReaction
from almoner.platform.events.reaction_retries import RETRY_REACTION
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import BackgroundTasks
from tests.support.eventually import eventually
from tests.support.figures import Figures
from tests.worker.conftest import Ground, sequences

TYPE = "donation.created"


class Heard:
    """A reaction that remembers."""

    def __init__(self, event_type: str = "*") -> None:
        self.batches: list[list[Event]] = []
        self.reaction = EventReaction(event_type, self._react)

    async def _react(self, _tx: Tx, events: Sequence[Event]) -> None:
        self.batches.append(list(events))

    @property
    def events(self) -> list[Event]:
        return [event for batch in self.batches for event in batch]


async def emit(db: Database, partner: UUID, *, count: int = 1, event_type: str = TYPE) -> list[UUID]:
    async with db.write() as tx:
        return [await outbox.emit_event(tx, partner, event_type, {"n": n}) for n in range(count)]


async def dispatch(ground: Ground, *reactions: EventReaction) -> int:
    numberer = EventDispatcher(ground.db, reactions, ground.telemetry)
    dispatched = 0
    while batch := await numberer.dispatch_next_events():
        dispatched += batch
    return dispatched


async def test_w1_an_event_is_committed_with_its_change_or_not_at_all(ground: Ground, partner: UUID) -> None:
    with pytest.raises(ZeroDivisionError):
        async with ground.db.write() as tx:
            await outbox.emit_event(tx, partner, TYPE, {"amount": 1 // 0 if await tx.fetchval("select true") else 0})
    async with ground.db.write() as tx:
        await outbox.emit_event(tx, partner, TYPE, {"amount": 1})
    heard = Heard()
    assert await dispatch(ground, heard.reaction) == 1
    assert [event.sequence for event in heard.events] == [1]


async def test_an_event_that_was_rolled_back_takes_no_number(ground: Ground, partner: UUID) -> None:
    await emit(ground.db, partner)
    with suppress(RuntimeError):
        async with ground.db.write() as tx:
            await outbox.emit_event(tx, partner, TYPE, {})
            raise RuntimeError
    await emit(ground.db, partner)
    heard = Heard()
    await dispatch(ground, heard.reaction)
    assert [event.sequence for event in heard.events] == [1, 2]


async def test_w7_the_payload_is_the_envelope_frozen_when_it_was_emitted(ground: Ground, partner: UUID) -> None:
    (event_id,) = await emit(ground.db, partner)
    heard = Heard()
    ground.clock.advance(days=1)
    await dispatch(ground, heard.reaction)
    (event,) = heard.events
    text = ground.db.deployment.ids.encode("event", event_id)
    assert msgspec.json.decode(event.payload) == {
        "object": "event",
        "data": {"id": text, "createdAt": "2026-03-02T09:30:00.000Z", "eventType": TYPE, "eventData": {"n": 0}},
    }
    assert event.event_data() == {"n": 0}
    rows = await ground.look("select payload from event")
    assert [row["payload"] for row in rows] == [event.payload]


async def test_an_unknown_type_is_refused(ground: Ground, partner: UUID) -> None:
    with pytest.raises(ValueError, match="not in the catalogue"):
        await emit(ground.db, partner, event_type="donation.invented")


async def test_p3_a_late_commit_is_numbered_late_and_never_skipped(ground: Ground, partner: UUID) -> None:
    heard = Heard()
    async with ground.db.write() as late:
        first = await outbox.emit_event(late, partner, TYPE, {"late": True})
        (second,) = await emit(ground.db, partner)
        await dispatch(ground, heard.reaction)
        assert [event.id for event in heard.events] == [second]
    await dispatch(ground, heard.reaction)
    assert [(event.id, event.sequence) for event in heard.events] == [(second, 1), (first, 2)]


@pytest.mark.soak
async def test_p3_sequences_have_no_gap_with_16_writers_and_delayed_commits(
    ground: Ground, partner: UUID, figures: Figures
) -> None:
    rounds = figures.count(12, 400)
    seeds = random.Random(figures.seed)
    pool = asyncio.Semaphore(16)
    stop = asyncio.Event()
    written: set[UUID] = set()
    partners = [partner, uuid4(), uuid4()]

    async def write(seed: int) -> None:
        chance = random.Random(seed)
        async with pool, ground.db.write() as tx:
            mine = [await outbox.emit_event(tx, chance.choice(partners), TYPE, {}) for _ in range(chance.randint(1, 5))]
            await tx.execute("select pg_sleep($1)", chance.choice((0, 0, 0.002, 0.05)))
        written.update(mine)

    heard = Heard()
    async with ground.another() as other, asyncio.TaskGroup() as group:
        for db in (ground.db, other):
            group.create_task(EventDispatcher(db, [heard.reaction], ground.telemetry).run(stop))
        async with asyncio.TaskGroup() as writers:
            for _ in range(16 * rounds):
                writers.create_task(write(seeds.getrandbits(32)))
        stop.set()
    await dispatch(ground, heard.reaction)
    assert {event.id for event in heard.events} == written
    assert len(heard.events) == len(written)
    async with ground.db.read() as tx:
        for one in partners:
            numbers = await sequences(tx, one)
            assert numbers == list(range(1, len(numbers) + 1))
    assert not [line for line in ground.log if line["event"] == "dispatch_failed"]
    figures.write(
        "sequences",
        "Sequences without gaps",
        f"{len(written)} events of {len(partners)} partners, 16 writers, commits delayed at random, two dispatchers: "
        "no event missed, none doubled, no gap",
    )


async def test_writers_do_not_wait_for_the_dispatcher(ground: Ground, partner: UUID) -> None:
    await emit(ground.db, partner)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(_tx: Tx, _events: Sequence[Event]) -> None:
        entered.set()
        await leave.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(
            EventDispatcher(ground.db, [EventReaction("*", slow)], ground.telemetry).dispatch_next_events()
        )
        await entered.wait()
        async with asyncio.timeout(30):
            await emit(ground.db, partner, count=3)
        leave.set()


async def test_one_dispatcher_at_a_time_for_a_partner(ground: Ground, partner: UUID) -> None:
    await emit(ground.db, partner)
    await dispatch(ground)
    await emit(ground.db, partner)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(_tx: Tx, _events: Sequence[Event]) -> None:
        entered.set()
        await leave.wait()

    async with asyncio.TaskGroup() as group:
        first = group.create_task(
            EventDispatcher(ground.db, [EventReaction("*", slow)], ground.telemetry).dispatch_next_events()
        )
        await entered.wait()
        other_partner = uuid4()
        await emit(ground.db, other_partner)
        heard = Heard()
        assert await EventDispatcher(ground.db, [heard.reaction], ground.telemetry).dispatch_next_events() == 1
        assert [event.partner_id for event in heard.events] == [other_partner]
        leave.set()
    assert first.result() == 1


async def test_a_failing_reaction_holds_up_no_event_and_is_tried_again_with_its_own(
    ground: Ground, partner: UUID
) -> None:
    healthy = uuid4()
    _, bad, _ = await emit(ground.db, partner, count=3)
    await emit(ground.db, healthy)
    broken = True
    reacted: list[UUID] = []

    async def react(tx: Tx, events: Sequence[Event]) -> None:
        await tx.execute("insert into queue_lane (lane) values ('half done') on conflict do nothing")
        if broken and any(event.id == bad for event in events):
            raise RuntimeError("a bug")
        reacted.extend(event.id for event in events)

    heard = Heard()
    background = BackgroundWorker(
        ground.db, BackgroundTasks(reactions=(EventReaction("*", react), heard.reaction)), ground.telemetry
    )
    assert await background.dispatcher.dispatch_next_events() == 4
    assert [event.sequence for event in heard.events if event.partner_id == partner] == [1, 2, 3]
    assert bad not in reacted
    assert len(reacted) == 3
    assert {line.get("event") for line in ground.log} == {"dispatch_failed"}
    assert "a bug" not in b"".join(ground.lines).decode()
    async with ground.db.read() as tx:
        assert await dispatcher.count_undispatched_events(tx) == 0

    await background.drain()
    (stored,) = await ground.look("select kind, failures, last_error, dead_at from job")
    assert tuple(stored) == (RETRY_REACTION, 1, "RuntimeError in attempt 1", None), "told, and tried again"
    broken = False
    ground.clock.advance(timedelta(hours=2))
    await background.drain()
    assert not await ground.look("select from job")
    assert reacted.count(bad) == 1
    assert [event.id for event in heard.events].count(bad) == 1, "the others are not asked again"


async def test_what_a_failing_reaction_has_done_is_undone(ground: Ground, partner: UUID) -> None:
    await emit(ground.db, partner)

    async def react(tx: Tx, _events: Sequence[Event]) -> None:
        await tx.execute("insert into queue_lane (lane) values ('half done')")
        raise RuntimeError

    assert await dispatch(ground, EventReaction("*", react)) == 1
    assert not await ground.look("select from queue_lane")


async def test_a_held_reaction_that_nobody_knows_any_more_is_given_up_with_its_reason(
    ground: Ground, partner: UUID
) -> None:
    await emit(ground.db, partner)

    async def react(_tx: Tx, _events: Sequence[Event]) -> None:
        raise RuntimeError

    assert await dispatch(ground, EventReaction("*", react)) == 1
    await BackgroundWorker(ground.db, BackgroundTasks(), ground.telemetry).drain()
    (given_up,) = await ground.look("select last_error from job where dead_at is not null")
    assert given_up["last_error"].startswith("no slice of this version reacts as * ")


async def test_reactions_hear_their_type_and_the_star_hears_public_events_only(ground: Ground, partner: UUID) -> None:
    star, donations, internal = Heard(), Heard("donation.created"), Heard("internal.gift_received")
    async with ground.db.write() as tx:
        await outbox.emit_event(tx, partner, "donation.created", {})
        await outbox.emit_event(tx, partner, "donation.cancelled", {})
        await outbox.emit_internal_event(tx, InternalEvent("internal.gift_received", dict[str, int]), {"donation": 7})
    assert await dispatch(ground, star.reaction, donations.reaction, internal.reaction) == 3
    assert [event.type for event in star.events] == ["donation.created", "donation.cancelled"]
    assert [event.type for event in donations.events] == ["donation.created"]
    assert [(event.sequence, event.event_data()) for event in internal.events] == [(None, {"donation": 7})]
    assert not await ground.look("select from internal_event"), "an internal event goes once it was heard"


async def test_one_broken_internal_event_does_not_hold_up_the_others(ground: Ground) -> None:
    heard = []

    async def react(_tx: Tx, events: Sequence[Event]) -> None:
        if any(event.event_data() == "bad" for event in events):
            raise RuntimeError
        heard.extend([event.event_data() for event in events])

    async with ground.db.write() as tx:
        for record in ("a", "bad", "b"):
            await outbox.emit_internal_event(tx, InternalEvent("internal.thing", str), record)
    assert await dispatch(ground, EventReaction("internal.thing", react)) == 2
    assert heard == ["a", "b"]
    assert len(await ground.look("select from internal_event")) == 1


async def test_every_partner_has_its_turn_beyond_a_batch(ground: Ground) -> None:
    partners = [uuid4() for _ in range(150)]
    for partner in partners:
        await emit(ground.db, partner)
    heard = Heard()
    assert await dispatch(ground, heard.reaction) == 150
    assert {event.partner_id for event in heard.events} == set(partners)


async def test_a_backlog_of_one_partner_is_numbered_in_the_order_of_writing(ground: Ground, partner: UUID) -> None:
    ids = await emit(ground.db, partner, count=600)
    heard = Heard()
    assert await dispatch(ground, heard.reaction) == 600
    assert [(event.id, event.sequence) for event in heard.events] == list(zip(ids, range(1, 601), strict=True))
    assert len(heard.batches) == 3


async def test_events_are_numbered_by_the_process_that_wrote_them_or_another(ground: Ground, partner: UUID) -> None:
    heard, stop = Heard(), asyncio.Event()
    async with ground.another() as other, asyncio.TaskGroup() as group:
        group.create_task(EventDispatcher(other, [heard.reaction], ground.telemetry).run(stop))
        for expected in range(1, 4):
            await emit(ground.db, partner)
            await eventually(lambda n=expected: len(heard.events) == n)  # type: ignore[misc]
        stop.set()


async def test_the_age_of_what_waits_is_measured(ground: Ground, partner: UUID) -> None:
    async with ground.db.read() as tx:
        assert await dispatcher.dispatch_lag_seconds(tx) == 0
    await emit(ground.db, partner)
    ground.clock.advance(seconds=7)
    async with ground.db.read() as tx:
        assert await dispatcher.dispatch_lag_seconds(tx) == 7
