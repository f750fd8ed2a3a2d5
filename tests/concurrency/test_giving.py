"""Many at once: one key, one session, one payment; and money against expiry (I1, M4-M6, S1, S5)."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

import httpx
import pytest

from almoner.giving.checkout.donations.domain import CheckoutState, TooManyCardAttempts
from almoner.giving.checkout.payments.domain import ProviderStatus
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import SessionAlreadyCompleted, SessionExpired
from tests.support import factories
from tests.support import giving as support
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.figures import Figures
from tests.support.giving import DAY, MOMENT, PAID, Giving, gift
from tests.support.locking import waits_for_lock
from tests.support.service import Service

WAYS = 64
IN_PROGRESS = "idempotency/original_call_in_progress"


@pytest.mark.soak
async def test_i1_equal_calls_at_once_make_one_session(service: Service, api: Client, figures: Figures) -> None:
    rounds = figures.count(10, 1000)
    body = {"organisationId": await factories.nonprofit(service)}
    seen: Counter[str] = Counter()
    for number in range(rounds):
        answers: list[httpx.Response] = await asyncio.gather(
            *(api.post("/v1/donation-sessions", body, idempotency_key=f"session-{number}") for _ in range(WAYS))
        )
        good = [answer for answer in answers if answer.status_code == 200]
        assert len({answer.content for answer in good}) == 1
        assert sum("idempotent-replayed" not in answer.headers for answer in good) == 1
        refused = {answer.json()["error"]["code"] for answer in answers if answer.status_code != 200}
        assert refused <= {IN_PROGRESS}
        seen.update(replayed=len(good) - 1, in_progress=WAYS - len(good))
    assert (await api.get("/v1/donation-sessions")).json()["totalResults"] == rounds
    async with service.db.read() as tx:
        stored = await tx.fetchval(
            "select count(*) from donation_session where organisation_id = $1",
            tx.ids.decode("organisation", body["organisationId"]),
        )
    assert stored == rounds
    figures.write(
        "donation-sessions",
        f"{WAYS} equal calls at once that open a session (I1)",
        f"{rounds} rounds: {stored} sessions, {seen['replayed']} answers replayed, "
        f"{seen['in_progress']} told that the first still runs",
    )


async def test_many_who_press_pay_at_once_get_one_page(service: Service, api: Client) -> None:
    giving = await support.open_session(service, api)
    started = await asyncio.gather(*(giving.begin() for _ in range(8)))
    assert len({one.payment_url for one in started}) == 1
    assert len(giving.provider.payments) == 1
    assert giving.provider.calls == ["create"]
    assert await giving.events() == ["donation.created"]


async def test_different_amounts_at_once_leave_one_live_payment_of_the_donations_amount(
    service: Service, api: Client
) -> None:
    giving = await support.open_session(service, api)
    await asyncio.gather(*(giving.begin(gift(1000 + number)) for number in range(4)), return_exceptions=True)
    (donation,) = await giving.donations()
    live = [one for one in giving.provider.payments.values() if one.status is ProviderStatus.OPEN]
    assert [one.money.minor for one in live] == [donation["amount"]]


async def test_m4_ten_of_each_at_once_pay_once(service: Service, api: Client) -> None:
    giving = await support.open_session(service, api)
    await giving.begin()
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    calls: list[Awaitable[object]] = [giving.notify(payment, event=f"tpe_twin_{payment}") for _ in range(10)]
    calls += [giving.notify(payment) for _ in range(10)]
    calls += [giving.come_back() for _ in range(10)]
    random.shuffle(calls)
    answers = await asyncio.gather(*calls)
    assert all(answer.status_code == 204 for answer in answers if isinstance(answer, httpx.Response))
    assert await giving.events() == PAID
    assert await giving.held() == []


ACCOUNT = "select id from ledger_account where kind = 'provider_clearing' and provider = 'fake' and currency = 'USD'"


async def test_s5_who_waits_for_the_brakes_keeps_no_account_from_others(service: Service, api: Client) -> None:
    first, giving = await support.open_session(service, api), await support.open_session(service, api)
    for gift_ in (first, giving):
        await gift_.begin()
        gift_.provider.pay_with_card(gift_.provider.only())
    await first.come_back()  # its gift opens the account
    (donation,) = [one for one in await giving.donations() if one["hosted"]["sessionId"] == giving.session["id"]]
    donation_id = service.db.deployment.ids.decode("donation", donation["id"])
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into card_attempt (payment_id, partner_id, address_hash, max_attempts, started_at)
            select p.id, d.partner_id, substr(sha256('a'), 1, 16), 5, $2
            from payment p join donation d on d.id = p.donation_id where d.id = $1
            """,
            donation_id,
            tx.real_now,
        )

    async with service.db.write() as tx:
        await tx.execute("select from card_attempt where address_hash = substr(sha256('a'), 1, 16) for update")
        notice = asyncio.create_task(giving.notify(giving.provider.only()))
        await eventually(partial(waits_for_lock, service))
        assert len(await tx.fetch(f"{ACCOUNT} for no key update skip locked")) == 1
    assert (await notice).status_code == 204
    assert await giving.status() == "completed"


@pytest.mark.soak
async def test_s5_money_and_cancellation_at_the_same_moment_leave_no_money_behind(
    service: Service, api: Client, figures: Figures
) -> None:
    seen: Counter[str] = Counter()
    chance, rounds = random.Random(figures.seed), figures.count(25, 2000)
    while seen.total() < rounds or (len(seen) == 1 and seen.total() < 20 * rounds):
        giving = await support.open_session(service, api)
        await giving.begin()
        payment = giving.provider.only()
        service.clock.advance(DAY)
        giving.provider.pay_with_card(payment)
        head_start = chance.randint(0, 30)
        racers: list[Callable[[], Awaitable[object]]] = [
            lambda giving=giving, head_start=head_start: _later(service, head_start, giving.sweep),  # type: ignore[misc]
            lambda giving=giving, payment=payment: giving.notify(payment),  # type: ignore[misc]
            giving.come_back,
            lambda: expire(service),
        ]
        random.shuffle(racers)
        await asyncio.gather(*(race() for race in racers))
        (donation,) = [row for row in await giving.donations() if row["hosted"]["sessionId"] == giving.session["id"]]
        held = await giving.held()
        if donation["status"] == "RECEIVED_PAYMENT":
            assert held == []
            assert await giving.status() == "completed"
        else:
            assert donation["status"] == "CANCELLED"
            assert held == [("donation_cancelled", 2500, "USD")]
            assert await giving.status() == "expired"
        seen[donation["status"]] += 1
    assert set(seen) == {"RECEIVED_PAYMENT", "CANCELLED"}, "a race that one side always wins shows nothing"
    figures.write(
        "donation-races",
        "Payment against cancellation (S5)",
        f"{seen.total()} races: {seen['RECEIVED_PAYMENT']} paid, {seen['CANCELLED']} cancelled with the money held",
    )


async def _later(service: Service, questions: int, race: Callable[[], Awaitable[object]]) -> object:
    """Give the others a head start of so many round trips to the database."""
    async with service.db.read() as tx:
        for _ in range(questions):
            await tx.fetchval("select 1")
    return await race()


@pytest.mark.parametrize("early", [True, False])
async def test_s5_expiry_against_payment_to_the_millisecond(service: Service, api: Client, early: bool) -> None:
    giving = await support.open_session(service, api)
    service.clock.advance(DAY - MOMENT)
    await giving.begin()
    service.clock.advance(timedelta(minutes=60) + (timedelta() if early else MOMENT))
    giving.provider.pay_with_card(giving.provider.only())
    await asyncio.gather(expire(service), giving.come_back(), giving.notify(giving.provider.only()))
    assert await giving.status() == ("completed" if early else "expired")
    assert await giving.held() == ([] if early else [("session_over", 2500, "USD")])


@pytest.mark.soak
async def test_s1_random_commands_by_many_writers_keep_every_promise(
    service: Service, api: Client, figures: Figures
) -> None:
    chance = random.Random(figures.seed)
    rounds = figures.count(12, 2500)
    for _ in range(rounds):
        giving = await support.open_session(service, api)
        for _ in range(5):
            await asyncio.gather(*(command(giving, chance) for _ in range(8)))
            await check(giving)
        service.clock.advance(DAY * 2)
        await giving.sweep()
        await check(giving)
    figures.write(
        "donation-commands", "Random commands by 8 writers (S1)", f"{rounds * 40} commands, 0 promises broken"
    )


async def expire(service: Service) -> None:
    """Record what has expired."""
    async with service.db.write() as tx:
        await sessions.expire_due_sessions(tx)


async def command(giving: Giving, chance: random.Random) -> None:
    """One thing that a donor, a provider or time may do; what is refused is refused."""
    commands: list[Callable[[Giving, random.Random], Awaitable[object]]] = [
        lambda giving, _: giving.begin(),
        lambda giving, chance: giving.begin(gift(chance.randint(1, 10**9))),
        at_the_provider,
        at_the_provider,
        told,
        lambda giving, _: giving.come_back(),
        lambda giving, _: giving.sweep(),
        lambda giving, _: expire(giving.service),
        time_passes,
    ]
    with suppress(SessionExpired, SessionAlreadyCompleted, TooManyCardAttempts):
        await chance.choice(commands)(giving, chance)


async def at_the_provider(giving: Giving, chance: random.Random) -> None:
    """A payment is made, or fails."""
    if giving.provider.payments:
        payment = chance.choice(list(giving.provider.payments))
        if giving.provider.payments[payment].status is ProviderStatus.OPEN:
            ended = chance.choice([ProviderStatus.SUCCEEDED, ProviderStatus.FAILED])
            giving.provider.become(payment, ended)


async def told(giving: Giving, chance: random.Random) -> None:
    """A notice comes."""
    if giving.provider.payments:
        await giving.notify(chance.choice(list(giving.provider.payments)))


async def time_passes(giving: Giving, chance: random.Random) -> None:
    """Nothing else happens for a while."""
    giving.service.clock.advance(hours=chance.choice([0, 1, 6]))


async def check(giving: Giving) -> None:
    """Every paid payment that was looked at is counted or held; what is counted is counted once and told once."""
    for payment in giving.provider.payments:
        await giving.notify(payment)
    async with giving.service.db.read() as tx:
        donations = await tx.fetch("select * from donation where session_id = $1", giving.session_id)
        session = await tx.fetchrow("select * from donation_session where id = $1", giving.session_id)
        held = await tx.fetch(
            "select provider_payment from unallocated_payment where provider_payment = any($1)",
            list(giving.provider.payments),
        )
        counted = await tx.fetch(
            "select p.* from payment p join donation d on d.payment_id = p.id where d.session_id = $1",
            giving.session_id,
        )
        reported = await tx.fetch("select type from event where payload like $1", f"%{giving.session['id']}%".encode())
    paid = {one.id for one in giving.provider.payments.values() if one.status is ProviderStatus.SUCCEEDED}
    assert {row["provider_payment"] for row in (*held, *counted)} == paid
    assert len(held) + len(counted) == len(paid)
    assert len(counted) <= 1
    assert session is not None
    assert (session["status"] == "completed") is (len(counted) == 1)
    assert sum(row["status"] != "CANCELLED" for row in donations) <= 1
    types = Counter(row["type"] for row in reported)
    assert types["donation.created"] == len(donations)
    assert types["donation.hosted.payment_received"] == types["donation.payment_successful"] == len(counted)
    assert types["donation.cancelled"] == sum(row["status"] == "CANCELLED" for row in donations)
    for row in donations:
        if row["payment_id"]:
            assert (row["amount_minor"], row["currency"]) == (counted[0]["amount_minor"], counted[0]["currency"])
    if (await giving.come_back()).state is CheckoutState.PAID:
        assert counted
