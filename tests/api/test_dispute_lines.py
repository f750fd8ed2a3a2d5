"""Disputes in providers' reports, and disputes of held money: every movement has its account (M3, M6, M7)."""

from dataclasses import dataclass

import pytest

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.payments.domain import DisputeStatus
from tests.support import books, factories
from tests.support import giving as support
from tests.support.client import Client
from tests.support.fake_provider import FakeProvider, notice
from tests.support.giving import DAY, Giving, gift
from tests.support.reports import imported, reasons, report
from tests.support.service import Service


@dataclass(frozen=True, slots=True)
class Disputed:
    """A gift of 4000 USD at a provider of its own, that its donor's bank wants back."""

    giving: Giving
    nonprofit: str

    @property
    def payment(self) -> str:
        """At the provider."""
        return self.giving.provider.only()

    async def tell(self, status: DisputeStatus) -> None:
        """The provider says how the dispute stands."""
        if not self.giving.provider.disputed:
            self.giving.provider.open_dispute(self.payment, self.giving.service.clock.now())
        if status is not DisputeStatus.OPEN:
            self.giving.provider.decide_dispute(self.payment, status)
        body, headers = notice(self.payment, f"dispute.{status.value}", at=self.giving.service.clock.real_now())
        await self.giving.post(body, headers, to=self.giving.provider.name)

    async def lines(self, *told: tuple[str, float, float]) -> None:
        """A report of the provider: kind, gross, fee."""
        lines = [(kind, self.payment, gross, fee) for kind, gross, fee in told]
        await imported(self.giving.service, report(*lines), self.giving.provider.name)

    async def accounts(self) -> tuple[int, int, int, int]:
        """Owed to the nonprofit, held by the provider, fees that no gift bore, disputed."""
        service, provider = self.giving.service, self.giving.provider.name
        return (
            await books.owed(service, self.nonprofit),
            await books.held(service, "USD", provider),
            await books.fees(service, "USD", provider),
            await books.disputed(service, "USD", provider),
        )


async def paid(service: Service, api: Client, provider: str) -> Disputed:
    """A gift that was paid."""
    nonprofit = await factories.nonprofit(service)
    giving = await support.open_session(service, api, organisation=nonprofit)
    giving.provider = FakeProvider(name=provider)
    await giving.begin(gift(4000))
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    return Disputed(giving, nonprofit)


@pytest.fixture
async def disputed(service: Service, api: Client, request: pytest.FixtureRequest) -> Disputed:
    """A gift that was paid, at a provider named by the test."""
    name = f"disputed_{abs(hash(request.node.name)) % 10**9}"
    return await paid(service, api, name)


async def test_m7_a_lost_dispute_is_drawn_with_its_fee_and_the_providers_account_closes(disputed: Disputed) -> None:
    await disputed.lines(("payment", 40.0, 1.0))
    await disputed.tell(DisputeStatus.OPEN)
    assert await disputed.accounts() == (3900, -4000, 0, 4000)
    await disputed.lines(("dispute", -40.0, 15.0))
    assert await disputed.accounts() == (3900, 0, 1500, 4000)
    await disputed.tell(DisputeStatus.LOST)
    assert await disputed.accounts() == (0, 0, 1600, 0)
    assert await reasons(disputed.giving.service, disputed.payment) == []


async def test_m7_a_won_dispute_comes_back(disputed: Disputed) -> None:
    await disputed.lines(("payment", 40.0, 1.0))
    await disputed.tell(DisputeStatus.OPEN)
    await disputed.lines(("dispute", -40.0, 15.0))
    await disputed.tell(DisputeStatus.WON)
    assert await disputed.accounts() == (3900, 4000, 1500, 0)
    await disputed.lines(("dispute_won", 40.0, 0.0))
    assert await disputed.accounts() == (3900, 0, 1500, 0)
    assert await reasons(disputed.giving.service, disputed.payment) == []


async def test_m7_lines_wait_for_what_we_do_not_know_and_are_booked_once(disputed: Disputed) -> None:
    service = disputed.giving.service
    await disputed.lines(("payment", 40.0, 1.0), ("dispute", -40.0, 15.0), ("dispute_won", 40.0, 0.0))
    assert await reasons(service, disputed.payment) == ["not_disputed", "not_disputed"]
    await disputed.tell(DisputeStatus.OPEN)
    await disputed.lines(("dispute", -40.0, 15.0))
    assert set(await reasons(service, disputed.payment)) >= {"not_disputed"}
    await disputed.lines(("dispute", -40.0, 15.0))
    assert "settled_before" in await reasons(service, disputed.payment)
    await disputed.lines(("dispute_won", 40.0, 0.0))
    assert "not_won" in await reasons(service, disputed.payment)
    assert await disputed.accounts() == (3900, 0, 1500, 4000)


@pytest.mark.parametrize(
    ("gross", "currency", "reason"), [(-39.0, "USD", "other_amount"), (-40.0, "EUR", "other_currency")]
)
async def test_m7_another_amount_or_currency_is_not_booked(
    disputed: Disputed, gross: float, currency: str, reason: str
) -> None:
    await disputed.tell(DisputeStatus.OPEN)
    line = report(("dispute", disputed.payment, gross, 0.0), currency=currency)
    await imported(disputed.giving.service, line, disputed.giving.provider.name)
    assert await reasons(disputed.giving.service, disputed.payment) == [reason]


async def test_a_line_of_an_unknown_dispute_has_the_provider_asked(disputed: Disputed) -> None:
    await disputed.lines(("dispute", -40.0, 0.0))
    async with disputed.giving.service.db.read() as tx:
        jobs = await tx.fetchval(
            "select count(*) from job where kind = 'disputes.refresh' and payload->>'payment' = $1", disputed.payment
        )
    assert jobs == 1


async def late(service: Service, api: Client, provider: str) -> Disputed:
    """Money that came when its gift was cancelled."""
    giving = await support.open_session(service, api)
    giving.provider = FakeProvider(name=provider)
    await giving.begin(gift(4000))
    service.clock.advance(DAY)
    async with service.db.write() as tx:
        await donations.cancel_abandoned_donations(tx)
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    return Disputed(giving, giving.session["organisationId"])


@pytest.mark.parametrize("refunding", [False, True])
async def test_m6_held_money_that_its_donor_wins_back_is_refunded_by_that(
    service: Service, api: Client, refunding: bool
) -> None:
    held = await late(service, api, f"late_lost_{refunding}".lower())
    if refunding:
        async with service.db.write() as tx:
            await suspense.run_due_automatic_actions(tx)
    await held.tell(DisputeStatus.OPEN)
    assert (await held.accounts())[1:] == (0, 0, 4000)
    await held.tell(DisputeStatus.LOST)
    assert await state(held) == "refunded"
    assert (await held.accounts())[1:] == (0, 0, 0)
    await held.lines(("payment", 40.0, 1.0))
    await held.lines(("dispute", -40.0, 15.0))
    assert (await held.accounts())[1:] == (0, 1600, 0)
    assert await reasons(service, held.payment) == []


async def test_m6_held_money_whose_dispute_is_won_is_held_still(service: Service, api: Client) -> None:
    held = await late(service, api, "late_won")
    await held.tell(DisputeStatus.OPEN)
    await held.tell(DisputeStatus.WON)
    assert await state(held) == "held"
    assert (await held.accounts())[1:] == (4000, 0, 0)


async def test_m6_held_money_that_went_back_twice_is_our_loss(service: Service, api: Client) -> None:
    held = await late(service, api, "late_twice")
    async with service.db.write() as tx:
        await suspense.run_due_automatic_actions(tx)
        unallocated_payment_id = await tx.fetchval(
            "select id from unallocated_payment where provider_payment = $1", held.payment
        )
        await suspense.mark_refunded(tx, unallocated_payment_id, "fake_refund_twice")
    await held.tell(DisputeStatus.LOST)
    assert await state(held) == "refunded"
    assert (await held.accounts())[1:] == (-4000, 4000, 0)


async def state(held: Disputed) -> str:
    """Of the held money."""
    async with held.giving.service.db.read() as tx:
        return str(
            await tx.fetchval("select status from unallocated_payment where provider_payment = $1", held.payment)
        )
