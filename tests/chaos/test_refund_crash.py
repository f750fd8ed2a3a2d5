"""kill -9 around the call that sends money back: it goes back once, over the real interface (M6, I5, I6)."""

import asyncio
import json
from collections.abc import AsyncIterator

import asyncpg
import pytest

from almoner.giving.accounting.suspense import service as suspense
from almoner.kit.time import iso_timestamp
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import forks, refunds
from tests.support import giving as support
from tests.support.built_in_provider import Till, serving_provider
from tests.support.database import TestDatabase
from tests.support.fake_provider import SECRET
from tests.support.giving import DAY, Giving
from tests.support.service import Service, serving
from tests.support.suspense import work


@pytest.fixture
async def own(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own, whose real time can be moved."""
    async with serving(empty_database) as service:
        yield service


async def late(giving: Giving, simulator: Till) -> str:
    """The donor paid after the donation was cancelled; the payment at the provider."""
    await giving.begin()
    async with giving.service.db.read() as tx:
        payment = str(await tx.fetchval("select provider_payment from payment"))
    giving.service.clock.advance(DAY)
    await giving.sweep()
    await simulator.pay_with_card(payment)
    await giving.come_back()
    return payment


async def killed(giving: Giving, simulator: Till, row: str, point: str, of: str = "held") -> None:
    """Run the process that dies there."""
    service = giving.service
    task = {
        "point": point,
        "of": of,
        "row": row,
        "dsn": service.database.dsn,
        "now": iso_timestamp(service.clock.now()),
        "links": service.db.deployment.base_urls.pages,
        "master_key": service.master_key,
        "url": simulator.url,
        "secret": SECRET,
    }
    status, printed = await asyncio.to_thread(forks.run, ("-m", "tests.chaos.refunding", json.dumps(task)), {})
    assert status == -9, printed


@pytest.mark.parametrize("point", ["before_refund", "after_refund"])
async def test_m6_i6_a_process_killed_while_sending_money_back_sends_it_once(own: Service, point: str) -> None:
    api = own.client((await own.tenant()).secret)
    async with serving_provider(own) as simulator:
        giving = await support.open_session(own, api)
        giving.provider = simulator.provider  # type: ignore[assignment]
        payment = await late(giving, simulator)
        async with own.db.write() as tx:
            assert await suspense.run_due_automatic_actions(tx) == 1
        async with own.db.read() as tx:
            held = await tx.fetchval("select id from unallocated_payment")
        await killed(giving, simulator, str(held), point)
        own.clock.advance_wall(seconds=600)  # the lease of a child on a busy machine began late
        await work(giving)
        async with own.db.read() as tx:
            assert await tx.fetchval("select status from unallocated_payment") == "refunded"
            sent = await tx.fetch("select payment_id, amount from provider_test.refund")
            kinds = await tx.fetch("select kind from ledger_transfer order by id")
            assert await tx.fetchval("select count(*) from provider_call_lease") == 0
            assert await tx.fetchval("select count(*) from sandbox_mail") == 1
        assert [tuple(row) for row in sent] == [(payment, 2500)]
        assert [row["kind"] for row in kinds] == [
            "payment_unallocated",
            "unallocated_refund_started",
            "unallocated_refund_sent",
        ]
        await own.drain()  # signs the heads of the audit log, which nobody did while time moved
        assert (await selfcheck.run_selfcheck(own.db, CHECKS)).findings == ()
    await api.close()


@pytest.mark.parametrize("point", ["before_refund", "after_refund"])
async def test_i6_a_process_killed_while_sending_a_gift_back_sends_it_once(own: Service, point: str) -> None:
    api = own.client((await own.tenant()).secret)
    async with serving_provider(own) as simulator:
        giving = await support.open_session(own, api)
        giving.provider = simulator.provider  # type: ignore[assignment]
        await giving.begin()
        async with own.db.read() as tx:
            payment = str(await tx.fetchval("select provider_payment from payment"))
        await simulator.pay_with_card(payment)
        await giving.come_back()
        [donation] = await giving.donations()
        started = await refunds.begun(own, donation, 1000)
        await killed(giving, simulator, str(started.id), point, "gift")
        own.clock.advance_wall(seconds=600)
        for _ in range(2):
            await refunds.send(own, simulator.provider, started.id)
        async with own.db.read() as tx:
            sent = await tx.fetch("select payment_id, amount from provider_test.refund")
            kinds = await tx.fetch("select kind from ledger_transfer order by id")
            assert await tx.fetchval("select count(*) from provider_call_lease") == 0
        assert [tuple(row) for row in sent] == [(payment, 1000)]
        assert [row["kind"] for row in kinds] == ["payment_received", "donation_refund_started", "donation_refund_sent"]
        assert (await giving.events()).count("donation.refunded") == 1
        await own.drain()
        async with own.db.read() as tx:
            assert await tx.fetchval("select count(*) from sandbox_mail where subject like 'Your refund of%'") == 1
        assert (await selfcheck.run_selfcheck(own.db, CHECKS)).findings == ()
    await api.close()


async def test_the_provider_never_sends_back_more_than_was_paid_whoever_writes_its_rows(own: Service) -> None:
    api = own.client((await own.tenant()).secret)
    async with serving_provider(own) as simulator:
        giving = await support.open_session(own, api)
        giving.provider = simulator.provider  # type: ignore[assignment]
        payment = await late(giving, simulator)
        insert = """
            insert into provider_test.refund (id, payment_id, idempotency_key, amount, currency, created_at)
            values ('tpr_' || md5(random()::text), $1, random()::text, $2, 'USD', $3)
        """
        async with own.db.write() as tx:
            await tx.execute(insert, payment, 2400, tx.now)
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            async with own.db.write() as tx:
                await tx.execute(insert, payment, 101, tx.now)
        assert refused.value.constraint_name == "payment_refunded"
    await api.close()
