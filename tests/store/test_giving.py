"""The database itself refuses what must never be: money and identity rules of giving, for the service's own role."""

import re
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.giving.accounting.suspense.domain import UNALLOCATED_PAYMENT
from almoner.giving.checkout.donations import store as donations_store
from almoner.giving.checkout.donations.domain import DONATION
from almoner.giving.checkout.payments.domain import PAYMENT, UnallocatedReason
from almoner.giving.checkout.sessions.domain import SESSION
from almoner.kit.money import MAX_MINOR
from almoner.kit.states import Lifecycle
from almoner.nonprofits.organisations.domain import donation_currencies_of_country
from tests.support import factories
from tests.support import giving as support
from tests.support.client import Client
from tests.support.giving import Giving
from tests.support.plans import Explaining
from tests.support.service import Service


@pytest.fixture
async def giving(service: Service, api: Client) -> Giving:
    """A donation that waits for its money."""
    made = await support.open_session(service, api)
    await made.begin()
    return made


async def refuses(giving: Giving, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with giving.service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def one(giving: Giving, sql: str, *args: object) -> Any:
    """One value."""
    async with giving.service.db.read() as tx:
        return await tx.fetchval(sql, *args)


async def donation_of(giving: Giving) -> UUID:
    """The session's donation."""
    found: UUID = await one(giving, "select id from donation where session_id = $1", giving.session_id)
    return found


@pytest.mark.parametrize(
    "lifecycle", [SESSION, DONATION, PAYMENT, UNALLOCATED_PAYMENT], ids=lambda table: table.resource
)
async def test_s1_the_moves_in_the_database_are_those_in_the_code(service: Service, lifecycle: Lifecycle) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            lifecycle.resource,
        )
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = $1",
            f"{lifecycle.resource}_status_check",
        )
    assert [tuple(row) for row in rows] == list(lifecycle.transitions())
    assert set(re.findall(r"'(\w+)'", check)) == lifecycle.states()


async def test_s1_no_donation_moves_where_the_lifecycle_has_no_arrow(giving: Giving) -> None:
    donation = await donation_of(giving)
    for status, constraint in {"ACTIVE": "lifecycle_donation", "DISBURSED": "donation_disbursement_state"}.items():
        broken = await refuses(giving, "update donation set status = $2 where id = $1", donation, status)
        assert broken == constraint


async def test_a_session_has_one_donation_that_is_not_cancelled(giving: Giving) -> None:
    broken = await refuses(
        giving,
        """
        insert into donation (id, partner_id, organisation_id, type, session_id, status, amount_minor, currency,
                              consented, anonymous, metadata, created_at, status_changed_at)
        select $2, partner_id, organisation_id, type, session_id, status, amount_minor, currency,
               consented, anonymous, metadata, created_at, status_changed_at from donation where session_id = $1
        """,
        giving.session_id,
        uuid4(),
    )
    assert broken == "donation_one_per_session"


async def test_m4_a_donation_is_received_by_a_payment_of_its_own_amount_only(giving: Giving) -> None:
    donation = await donation_of(giving)
    receive = "update donation set status = 'RECEIVED_PAYMENT', payment_id = $2 where id = $1"
    assert await refuses(giving, receive, donation, None) == "donation_paid"
    assert await refuses(giving, receive, donation, uuid4()) == "donation_payment"
    stranger = await support.open_session(giving.service, giving.api)
    await stranger.begin()
    payment = await one(giving, "select id from payment where donation_id = $1", await donation_of(stranger))
    assert await refuses(giving, receive, donation, payment) == "donation_payment"
    own = await one(giving, "select id from payment where donation_id = $1", donation)
    assert (
        await refuses(
            giving,
            """
            update donation set status = 'RECEIVED_PAYMENT', payment_id = $2, amount_minor = amount_minor + 1
            where id = $1
            """,
            donation,
            own,
        )
        == "donation_payment"
    )


async def test_a_session_is_completed_by_a_donation_of_its_own_only(giving: Giving) -> None:
    complete = "update donation_session set status = 'completed', donation_id = $2 where id = $1"
    assert await refuses(giving, complete, giving.session_id, None) == "donation_session_completed"
    stranger = await support.open_session(giving.service, giving.api)
    await stranger.begin()
    broken = await refuses(giving, complete, giving.session_id, await donation_of(stranger))
    assert broken == "donation_session_donation"


@pytest.mark.parametrize("amount", [0, -1, MAX_MINOR + 1])
async def test_m8_amounts_outside_the_bounds_are_refused(giving: Giving, amount: int) -> None:
    for table in ("donation", "payment", "unallocated_payment"):
        check = await one(
            giving,
            "select pg_get_constraintdef(oid) from pg_constraint where conname = $1",
            f"{table}_amount_minor_check",
        )
        assert str(MAX_MINOR) in check
    donation = await donation_of(giving)
    broken = await refuses(giving, "update donation set amount_minor = $2 where id = $1", donation, amount)
    assert broken == "donation_amount_minor_check"


@pytest.mark.parametrize("currency", ["usd", "US ", "U1D"])
async def test_currencies_are_three_capital_letters(giving: Giving, currency: str) -> None:
    donation = await donation_of(giving)
    broken = await refuses(giving, "update donation set currency = $2 where id = $1", donation, currency)
    assert broken == "donation_currency_check"


async def test_what_is_paid_keeps_its_amount_and_its_session(giving: Giving) -> None:
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    donation = await donation_of(giving)
    for change in ("amount_minor = 1", "currency = 'EUR'", "session_id = null", "type = 'direct'"):
        broken = await refuses(giving, f"update donation set {change} where id = $1", donation)
        assert broken in ("donation_immutable", "donation_hosted"), change
    for change in ("amount_minor = 1", "currency = 'EUR'", "provider = 'other'", "provider_payment = 'tp_other'"):
        broken = await refuses(giving, f"update payment set {change} where donation_id = $1", donation)
        assert broken == "payment_immutable", change
    broken = await refuses(giving, "update donation set partner_id = $2 where id = $1", donation, uuid4())
    assert broken == "donation_immutable"


async def test_when_a_payment_succeeded_is_set_once_by_its_success(giving: Giving) -> None:
    donation = await donation_of(giving)
    change = "update payment set {} where donation_id = $1"
    early = change.format("status = 'succeeded', succeeded_at = created_at - interval '1 second'")
    assert await refuses(giving, early, donation) == "payment_success"
    for set_by in (
        "succeeded_at = created_at",
        "status = 'failed', succeeded_at = created_at",
        "status = 'succeeded', succeeded_at = status_changed_at + interval '1 second'",
    ):
        assert await refuses(giving, change.format(set_by), donation) == "payment_immutable", set_by
    paid_at = giving.service.clock.advance(minutes=1)
    giving.provider.pay_with_card(giving.provider.only(), succeeded_at=paid_at)
    giving.service.clock.advance(minutes=1)
    await giving.come_back()
    assert await one(giving, "select succeeded_at from payment where donation_id = $1", donation) == paid_at
    for moved in ("null", "created_at", "status_changed_at"):
        assert await refuses(giving, change.format(f"succeeded_at = {moved}"), donation) == "payment_immutable", moved


async def test_m4_a_payment_of_a_provider_and_its_notices_are_known_once(giving: Giving) -> None:
    stranger = await support.open_session(giving.service, giving.api)
    await stranger.begin()
    donation = await donation_of(stranger)
    async with giving.service.db.write() as tx:
        await tx.execute("update payment set status = 'cancelled' where donation_id = $1", donation)
        await tx.execute(
            "insert into provider_event values ('fake', $1, 'payment.succeeded', 'tp_1', $2)",
            f"tpe_once_{donation}",
            tx.now,
        )
    taken = """
        insert into payment (id, donation_id, provider, provider_payment, status, amount_minor, currency, description,
                             language, pages_url, api_url, attempts, max_attempts, created_at, status_changed_at)
        values ($1, $2, 'fake', $3, 'open', 1, 'USD', 'x', 'en', '', '', 0, 5, $4, $4)
    """
    now = giving.service.clock.now()
    broken = await refuses(giving, taken, uuid4(), donation, giving.provider.only(), now)
    assert broken == "payment_of_provider"
    again = "insert into provider_event values ('fake', $1, 'payment.succeeded', 'tp_1', $2)"
    assert await refuses(giving, again, f"tpe_once_{donation}", now) == "provider_event_once"


async def test_a_donation_has_one_live_payment_at_a_time(giving: Giving) -> None:
    broken = await refuses(
        giving,
        """
        insert into payment (id, donation_id, provider, status, amount_minor, currency, description, language,
                             pages_url, api_url, attempts, max_attempts, created_at, status_changed_at)
        select $1, donation_id, provider, 'starting', amount_minor, currency, description, language, '', '', 0,
               max_attempts, created_at, status_changed_at from payment where donation_id = $2
        """,
        uuid4(),
        await donation_of(giving),
    )
    assert broken == "payment_one_live"


@pytest.mark.parametrize("table", ["provider_event", "unallocated_payment"])
async def test_m6_held_money_and_notices_can_neither_be_changed_nor_removed(giving: Giving, table: str) -> None:
    for sql in (f"delete from {table}", f"update {table} set provider = 'x'"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with giving.service.db.write() as tx:
                await tx.execute(sql)


@pytest.mark.parametrize("table", ["donation", "donation_session", "payment", "giving_user"])
async def test_nothing_of_giving_is_ever_deleted(giving: Giving, table: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with giving.service.db.write() as tx:
            await tx.execute(f"delete from {table}")


async def test_every_reason_to_hold_money_can_be_kept(giving: Giving) -> None:
    check = await one(
        giving, "select pg_get_constraintdef(oid) from pg_constraint where conname = 'unallocated_payment_reason_check'"
    )
    assert all(f"'{reason}'" in check for reason in UnallocatedReason)


async def test_another_partners_session_or_user_cannot_be_named(giving: Giving, other: Client) -> None:
    stranger = await support.open_session(giving.service, other)
    user = giving.service.db.deployment.ids.decode("user", (await factories.user(other))["id"])
    name_user = "update donation_session set user_id = $2 where id = $1"
    assert "user_id" in str(await refuses(giving, name_user, giving.session_id, user))
    copied = """
        insert into donation (id, partner_id, organisation_id, type, session_id, status, amount_minor, currency,
                              consented, anonymous, metadata, created_at, status_changed_at)
        select $1, partner_id, organisation_id, type, $2, status, amount_minor, currency, consented, anonymous,
               metadata, created_at, status_changed_at from donation where session_id = $3
    """
    assert "session_id" in str(await refuses(giving, copied, uuid4(), stranger.session_id, giving.session_id))


@pytest.mark.parametrize("country", ["USA", "JPN", "GBR", "DEU", "KWT", "CAN"])
async def test_the_hot_statement_takes_the_currencies_that_the_rule_gives(
    service: Service, api: Client, country: str
) -> None:
    organisation = await factories.nonprofit(service, country=country)
    received = donation_currencies_of_country(country)
    for currency in ("USD", "EUR", "GBP", "JPY", "KWD", "CAD", "AUD"):
        answer = await api.post("/v1/donation-sessions", {"organisationId": organisation, "currency": currency})
        assert (answer.status_code == 200) is (currency in received), (country, currency)


PAGE = "where partner_id = $1 and id < $2 order by id desc limit 26"


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (f"select * from donation {PAGE}", "donation_partner_id_id_key"),
        (f"select * from donation_session {PAGE}", "donation_session_partner_id_id_key"),
    ],
)
async def test_hot_queries_use_their_indexes(giving: Giving, query: str, index: str) -> None:
    async with giving.service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        await tx.execute("set local enable_sort = off")
        plan = "\n".join(row[0] for row in await tx.fetch(f"explain {query}", uuid4(), uuid4()))
    assert index in plan, plan


async def test_the_next_erasure_is_the_first_of_its_index(giving: Giving) -> None:
    async with giving.service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        await tx.execute("set local enable_sort = off")  # a few rows are sorted sooner than read in order
        explaining: Any = Explaining(tx)
        await donations_store.find_oldest_cancellation_with_donor_data_at(explaining)
    assert "donation_to_erase" in explaining.indexes()
    assert [node["Node Type"] for node in explaining.plans] == ["Limit"], "it stops at the first"
    assert not explaining.sorts_before_limit()
