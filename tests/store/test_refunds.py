"""The database itself refuses refunds that must never be, and answers what is asked of them from indexes (M2, M4)."""

from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.giving.accounting.refunds import store as refunds_store
from almoner.giving.accounting.refunds.domain import REFUND
from tests.support import factories, refunds
from tests.support.client import Client
from tests.support.payouts import run, settled, uuid_of, verified
from tests.support.service import Service

NEW = """
insert into refund (id, donation_id, payment_id, provider, amount_minor, currency, deducted_minor, status, started_at,
                    status_changed_at)
select $1, id, payment_id, 'test', $3, $4, 0, $5, created_at, created_at from donation where id = $2
"""


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def refuses_new(service: Service, gift: UUID, minor: int, currency: str = "USD", status: str = "pending") -> str:
    """The constraint that a new refund breaks."""
    return await refuses(service, NEW, uuid4(), gift, minor, currency, status) or ""


async def test_s1_the_states_are_those_of_the_lifecycle(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select from_status, to_status from lifecycle_transition where resource = 'refund'")
    assert {tuple(row) for row in rows} == {
        (source, target) for target in REFUND.states() for source in REFUND.source_states_of(target)
    }


async def test_m2_no_more_goes_back_than_was_given(service: Service, api: Client) -> None:
    gift = uuid_of(service, "donation", (await factories.donation(service, api, amount=1000))["id"])
    assert await refuses_new(service, gift, 1001) == "donation_withdrawn"
    async with service.db.write() as tx:
        await tx.execute(NEW, uuid4(), gift, 600, "USD", "pending")
    assert await refuses_new(service, gift, 401) == "donation_withdrawn"
    assert await refuses_new(service, gift, 400, "EUR") == "refund_matches_donation"
    assert await refuses_new(service, gift, 400, status="sent") == "refund_ended"
    async with service.db.read() as tx:
        row = await tx.fetchrow("select withdrawn_minor, refunded_minor from donation where id = $1", gift)
    assert tuple(row or ()) == (600, 0)


async def test_s1_a_gift_in_a_payout_does_not_go_back_and_one_that_goes_back_is_in_none(
    service: Service, api: Client
) -> None:
    nonprofit = await factories.nonprofit(service)
    made = await settled(service, api, nonprofit, amount=1000)
    gift = uuid_of(service, "donation", made["id"])
    await service.drain()
    assert await refuses_new(service, gift, 100) == "donation_withdrawal", "in an open bucket"
    started = await refunds.begun(service, made, 100)
    async with service.db.read() as tx:
        bucket = await tx.fetchval("select id from disbursement where status = 'PENDING' order by id desc limit 1")
    into = "update donation set disbursement_id = $2 where id = $1"
    assert await refuses(service, into, gift, bucket) == "donation_withdrawal"
    await refunds.by_hand(service, started.id, factories.unique("tpr"))
    await verified(service, api, nonprofit)
    await run(service)
    assert await refuses_new(service, gift, 100) == "donation_withdrawal", "it is disbursed"


async def test_s1_a_refund_that_ended_stays_as_it_ended(service: Service, api: Client) -> None:
    made = await factories.donation(service, api, amount=1000)
    started = await refunds.begun(service, made, 100)
    assert await refuses(service, "update refund set status = 'sent' where id = $1", started.id) == "refund_ended"
    called = factories.unique("tpr")
    await refunds.by_hand(service, started.id, called)
    for change in ("provider_refund = 'other'", "ended_at = ended_at + interval '1 s'"):
        assert await refuses(service, f"update refund set {change} where id = $1", started.id) == "refund_immutable"
    other = await refunds.begun(service, made, 100)
    ends = "update refund set status = 'sent', provider_refund = $2, ended_at = started_at where id = $1"
    assert await refuses(service, ends, other.id, called) == "refund_once"


async def test_what_is_asked_of_refunds_is_read_from_indexes(service: Service) -> None:
    async with service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        for sql, args, index in (
            (refunds_store.NEWEST, (["pending"], 50), "Index Scan using refund_"),
            (refunds_store.OF_PAYMENTS, ([uuid4()],), "refund_of_payment"),
            (refunds_store.OF_DONATION, (uuid4(),), "refund_of_donation"),
            # Of few rows PostgreSQL takes the index of their states for as good as that of those not sent.
            (refunds_store.OLDEST_UNSENT, (50, None, None), "Index Scan using refund_"),
            (refunds_store.COUNT_UNSENT, (), "Index Scan using refund_"),
            (refunds_store.FIND_BY_PROVIDER_REFUND, ("stripe", "re_1"), "refund_once"),
        ):
            reported = "\n".join(row[0] for row in await tx.fetch(f"explain {sql}", *args))
            assert index in reported, reported
            assert "Seq Scan on refund" not in reported, reported
