"""What columns.toml says of keeping is what the sweeps do (V6)."""

import re
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from almoner import migrations
from almoner.access.notifications import store as notifications_store
from almoner.access.notifications.domain import UndeliverableEmail
from almoner.dashboard import store as dashboard_store
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.checkout.dedications import service as dedications
from almoner.giving.checkout.dedications.domain import DedicationEmail
from almoner.giving.checkout.donations import service as donations
from almoner.platform.events import outbox
from almoner.platform.jobs.processes import Heartbeat
from tests.support import webhooks
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.giving import DAY, Giving, open_session
from tests.support.members import desk
from tests.support.receivers import receiver, reply
from tests.support.service import Service, Tenant, serving
from tests.worker.conftest import Ground

LAG = timedelta(days=1)
HOUR = timedelta(hours=1)


def stated() -> dict[str, timedelta]:
    """How long a table keeps its rows, for those that columns.toml gives in days."""
    tables = tomllib.loads(Path(migrations.__file__).with_name("columns.toml").read_text())
    found = {table: re.fullmatch(r"(\d+) days", about["keep"]) for table, about in tables.items()}
    return {table: timedelta(days=int(match[1])) for table, match in found.items() if match}


@asynccontextmanager
async def closing(api: Client) -> AsyncIterator[Client]:
    """A client, closed at the end of the block."""
    try:
        yield api
    finally:
        await api.close()


async def _left(service: Service, table: str) -> int:
    async with service.db.read() as tx:
        return int(await tx.fetchval(f"select count(*) from {table}"))


async def _reject_an_email(service: Service) -> None:
    one = UndeliverableEmail(uuid4(), None, "q", "q@q.example", "q", True, service.clock.now())
    async with service.db.write() as tx:
        await notifications_store.insert_undeliverable_email(tx, one, {})


async def _view_a_donor(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await dashboard_store.insert_donor_data_accesses(tx, tenant.partner, uuid4(), [uuid4()])


async def _request_a_file(service: Service, tenant: Tenant) -> None:
    finance = await desk(service, tenant, "finance")
    await finance.get(f"{finance.home}/exports?list=/donations")
    await finance.post(f"{finance.home}/exports", list="/donations", query="")
    await finance.close()


async def _upload_a_statement(service: Service) -> None:
    async with service.db.write() as tx:
        await bank_statements.store_upload(tx, "q.xml", b"<q/>", None, uploaded_by="q")


async def _dedicate_a_donation(service: Service, api: Client, tenant: Tenant) -> None:
    giving = await open_session(service, api)
    await giving.begin()
    (donation,) = [one for one in await giving.donations() if one["hosted"]["sessionId"] == giving.session["id"]]
    donation_id = service.db.deployment.ids.decode("donation", donation["id"])
    assert donation_id is not None
    async with service.db.write() as tx:
        await dedications.set_dedication_email(tx, tenant.partner, donation_id, DedicationEmail("q", "q@q.example"))


async def _happen(service: Service, tenant: Tenant, times: int) -> None:
    await webhooks.happen(service, tenant, times=times)
    await service.drain()


@pytest.mark.parametrize("table", sorted(stated()))
async def test_v6_rows_are_kept_for_the_stated_days_and_a_day_later_they_are_gone(table: str, alone: Service) -> None:
    service = alone
    service.clock.advance_to_newest_id()  # some rows go by the time in their ID
    async with receiver() as sink:
        tenant = await service.tenant()
        async with closing(service.client(tenant.secret)) as api:
            await webhooks.subscribe(api, sink)
            answer = await api.post("/v1/users", {}, idempotency_key="a-key")
            assert answer.status_code == 200
            await _reject_an_email(service)
            await _view_a_donor(service, tenant)
            await _upload_a_statement(service)
            await _request_a_file(service, tenant)
            if table == "donation_dedication_email":  # the donation has events of its own
                await _dedicate_a_donation(service, api, tenant)
            await _happen(service, tenant, 3)
            await service.services.api_requests.flush()  # nothing is written after it was counted
        started = await _left(service, table)
        assert started > 0, f"say here what makes a row of {table}"
        service.clock.advance(stated()[table] - HOUR)
        await service.drain()
        assert await _left(service, table) == started, f"{table}: deleted too early"
        service.clock.advance(HOUR + LAG)
        await service.drain()
        assert await _left(service, table) == 0, (
            f"{table}: is its sweep in job_registry.py, and does it go by tx.now, not by real time?"
        )


async def test_v6_the_list_of_events_goes_on_without_those_that_went(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        tenant, other = await service.tenant(), await service.tenant()
        async with closing(service.client(tenant.secret)) as api:
            await _happen(service, other, 1)
            await _happen(service, tenant, 3)
            service.clock.advance(outbox.RETENTION - HOUR)
            await _happen(service, tenant, 2)
            following = (await api.get("/v1/events", direction="ASC", pageSize=1)).json()["_links"]["next"]
            service.clock.advance(HOUR + LAG)
            await service.services.api_requests.flush()
            await service.drain()
            service.clock.advance(LAG)
            await service.drain()  # what was written while the first sweep ran
            answer = (await api.get("/v1/events", direction="ASC")).json()
            assert [event["sequence"] for event in answer["data"]] == [4, 5]
            assert answer["totalResults"] == 2
            assert [event["sequence"] for event in data(await api.get(following))] == [4]
            await _happen(service, tenant, 1)
            assert (await api.get("/v1/events")).json()["totalResults"] == 3
            service.clock.advance(outbox.RETENTION + LAG)
            await service.drain()
            answer = (await api.get("/v1/events")).json()
            assert (answer["data"], answer["totalResults"]) == ([], 0)
            await _happen(service, tenant, 1)
            assert [event["sequence"] for event in data(await api.get("/v1/events"))] == [7], "numbers go on"


async def test_v6_who_never_paid_is_forgotten_30_days_after_the_gift_was_cancelled(
    empty_database: TestDatabase,
) -> None:
    personal = "select first_name, last_name, email, message from donation where session_id = $1"
    async with serving(empty_database) as service, closing(service.client((await service.tenant()).secret)) as api:
        never, late, paid = [await open_session(service, api) for _ in range(3)]
        for giving in (never, late, paid):
            await giving.begin()
        paid.provider.pay_with_card(paid.provider.only())
        await paid.come_back()
        service.clock.advance(DAY)
        assert await never.sweep() == 2
        late.provider.pay_with_card(late.provider.only())
        await late.come_back()
        assert [reason for reason, *_ in await late.held()] == ["donation_cancelled"]

        async def known(giving: Giving) -> bool:
            async with service.db.read() as tx:
                row = await tx.fetchrow(personal, giving.session_id)
            assert row is not None
            return any(value is not None for value in row)

        for after, expected in ((timedelta(days=30) - HOUR, True), (HOUR, False)):
            service.clock.advance(after)
            async with service.db.write() as tx:
                await donations.erase_donors_of_cancelled_donations(tx)
            assert [await known(giving) for giving in (never, late, paid)] == [expected, True, True]
        async with service.db.read() as tx:
            assert await donations.next_donor_erasure_at(tx) is None


async def test_v6_a_sweep_leaves_no_gap_where_an_older_event_was_committed_late(ground: Ground) -> None:
    partner = "11111111-1111-7111-8111-111111111111"
    now = ground.clock.now()
    ages = [91, 91, 89, 91]
    async with ground.db.write() as tx:
        await tx.execute("insert into event_counter (partner_id, last_sequence) values ($1, 4)", partner)
        for sequence, age in enumerate(ages, start=1):
            await tx.execute(
                "insert into event (id, partner_id, type, payload, created_at, sequence) "
                "values ($1, $2, 't', '', $3, $4)",
                tx.new_id(),
                partner,
                now - timedelta(days=age),
                sequence,
            )
    async with ground.db.write() as tx:
        assert await outbox.purge_expired_events(tx, limit=1) == 1
        assert await outbox.purge_expired_events(tx) == 1
        assert await outbox.purge_expired_events(tx) == 0
        assert await outbox.next_event_purge_at(tx) == now + timedelta(days=1)
    assert [row["sequence"] for row in await ground.look("select sequence from event order by 1")] == [3, 4]


async def test_v6_a_delivery_that_goes_on_is_not_removed(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service, receiver(reply(500)) as sink:
        tenant = await service.tenant()
        async with closing(service.client(tenant.secret)) as api:
            await webhooks.subscribe(api, sink)
            await _happen(service, tenant, 1)
            assert await _left(service, "webhook_attempt") == 1
            service.clock.advance(days=120)
            await service.services.background_worker.sweeper.run_due_jobs()
            assert await _left(service, "webhook_delivery") == 1
            await service.drain()
            await service.drain()
            assert await _left(service, "webhook_delivery") == 0


async def test_v6_processes_that_ended_without_a_word_are_forgotten_after_a_minute(ground: Ground) -> None:
    ground.clock.stop_wall()
    dead = Heartbeat(ground.db, "worker", ground.telemetry, lambda _: None)
    alive = Heartbeat(ground.db, "server", ground.telemetry, lambda _: None)
    await dead.record_heartbeat()
    await alive.record_heartbeat()
    ground.clock.advance_wall(seconds=59)
    await alive.record_heartbeat()
    assert len(await ground.look("select from process")) == 2
    ground.clock.advance_wall(seconds=2)
    await alive.record_heartbeat()
    assert [row["id"] for row in await ground.look("select id from process")] == [alive.id]
