"""Part refunds, disputes, fees and payouts of one gift in any order lose nothing and double nothing (M1, M3)."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.accounting.disputes import domain as disputes_domain
from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger.domain import LedgerTransfer
from almoner.giving.accounting.refunds import domain as refunds_domain
from almoner.giving.checkout.donations.domain import (
    Donation,
    Donor,
    InvalidState,
    RefundedAmount,
    SettledAmount,
    new_direct_donation,
)
from almoner.kit.money import Money

AT = datetime(2026, 3, 2, tzinfo=UTC)
ROW, CAUSE = UUID(int=1), UUID(int=2)
NOBODY = Donor(None, None, None, consented=False, anonymous=True)
MOVES = ("settle", "begin", "sent", "refused", "open", "won", "lost", "pay out", "come back", "recover")
_MONEY = "provider_clearing:USD:test", "bank:USD"


def usd(minor: int) -> Money:
    return Money(minor, "USD")


@dataclass(slots=True)
class Gift:
    """A gift that was paid, with its own books. ``fee``: what the provider will keep of it.

    ``unrecovered``: of disputes that were lost when the gift had been paid out. ``back``: what whoever paid has back.
    """

    donation: Donation
    fee: int
    balances: Counter[str] = field(default_factory=Counter)
    begun: list[tuple[Money, Money]] = field(default_factory=list)
    open: Money | None = None
    unrecovered: list[Money] = field(default_factory=list)
    back: int = 0
    paid_out: int | None = None

    def post(self, transfers: list[LedgerTransfer]) -> None:
        """Credits less debits."""
        for one in transfers:
            self.balances[one.debit.key] -= one.amount_minor
            self.balances[one.credit.key] += one.amount_minor

    @property
    def refunded(self) -> Money:
        """What is noted as refunded."""
        return self.donation.refunded.money if self.donation.refunded else usd(0)

    def change(self, withdrawn: int = 0, refunded: int = 0) -> None:
        """The two sums of the gift."""
        back = self.refunded.minor + refunded
        self.donation = replace(
            self.donation,
            withdrawn_minor=self.donation.withdrawn_minor + withdrawn,
            refunded=RefundedAmount(AT, usd(back)) if back else None,
        )
        self.back += refunded

    def settle(self) -> None:
        if self.donation.settlement is None:
            gross = self.donation.money
            charged = min(self.donation.unrefunded_amount, usd(self.fee))
            self.post(
                ledger_domain.build_payment_settlement_transfers(ROW, "test", gross, usd(self.fee), CAUSE, charged)
            )
            self.donation = replace(self.donation, settlement=SettledAmount(AT, gross - usd(self.fee)))

    def begin(self, minor: int) -> None:
        if self.open is None and self.paid_out is None:
            try:
                money = refunds_domain.resolve_refund_amount(
                    self.donation, min(minor, self.donation.unrefunded_amount.minor)
                )
            except InvalidState:
                return
            absorbed = refunds_domain.calculate_nonprofit_share(self.donation, money)
            self.post(ledger_domain.build_donation_refund_started_transfers(ROW, "test", CAUSE, money, absorbed))
            self.change(withdrawn=money.minor)
            self.begun.append((money, absorbed))

    def sent(self) -> None:
        if self.begun and self.open is not None:
            self.refused()  # its provider sends nothing back of what a bank has drawn
        elif self.begun:
            money, _ = self.begun.pop()
            self.post(ledger_domain.build_donation_refund_sent_transfers(ROW, "test", money))
            self.change(refunded=money.minor)

    def refused(self) -> None:
        if self.begun:
            money, _ = self.begun.pop()
            again = refunds_domain.calculate_amount_owed_after_failed_refund(self.donation, money)
            self.post(ledger_domain.build_donation_refund_reversed_transfers(ROW, "test", CAUSE, money, again))
            self.change(withdrawn=-money.minor)

    def dispute(self, minor: int) -> None:
        left = self.donation.money.minor - self.back
        if self.open is None and left:
            self.open = usd(min(minor, left))
            self.post(ledger_domain.build_dispute_debited_transfers(ROW, "test", self.open))

    def won(self) -> None:
        if self.open is not None:
            self.post(ledger_domain.build_dispute_returned_transfers(ROW, "test", self.open))
            self.open = None

    def lost(self) -> None:
        if self.open is None or self.begun:
            return  # the refund ends first
        owed = usd(0) if self.paid_out is not None else self.donation.net_amount_for_nonprofit
        gift, ours = disputes_domain.split_loss_with_nonprofit(self.open, owed)
        self.post(ledger_domain.build_dispute_lost_transfers(ROW, "test", CAUSE, gift, ours))
        if self.paid_out is not None:
            self.unrecovered.append(self.open)
        self.change(withdrawn=0 if self.paid_out is not None else self.open.minor, refunded=self.open.minor)
        self.open = None

    def pay_out(self) -> None:
        standing = self.donation.withdrawn_minor == self.refunded.minor and self.open is None
        if self.paid_out is None and self.donation.settlement and standing and self.donation.net_amount_for_nonprofit:
            self.post(
                ledger_domain.build_disbursement_sent_transfers(ROW, CAUSE, self.donation.net_amount_for_nonprofit)
            )
            self.post(
                ledger_domain.build_disbursement_paid_transfers(ROW, CAUSE, self.donation.net_amount_for_nonprofit)
            )
            self.paid_out = self.donation.net_amount_for_nonprofit.minor

    def come_back(self) -> None:
        if self.paid_out is not None:
            self.post(
                ledger_domain.build_disbursement_returned_transfers(ROW, CAUSE, usd(self.paid_out), was_paid=True)
            )
            self.paid_out = None

    def recover(self) -> None:
        while self.paid_out is None and self.unrecovered:
            lost = self.unrecovered.pop()
            back, _ = disputes_domain.split_loss_with_nonprofit(lost, self.donation.net_amount_for_nonprofit)
            if back:
                self.post(ledger_domain.build_dispute_recovered_transfers(ROW, "test", CAUSE, back))
            self.change(withdrawn=lost.minor)

    def move(self, name: str, minor: int) -> None:
        """One of ``MOVES``, if it is possible."""
        match name:
            case "begin":
                self.begin(minor)
            case "open":
                self.dispute(minor)
            case _:
                getattr(self, name.replace(" ", "_"))()

    def check(self) -> None:
        """What the accounts hold is what the gift says, whatever has happened."""
        owed = 0 if self.paid_out is not None else self.donation.net_amount_for_nonprofit.minor
        assert self.balances[f"donation_liability:USD:{CAUSE}"] == owed
        assert self.balances["refunds:USD:test"] == sum(money.minor for money, _ in self.begun)
        assert -self.balances["disputed:USD:test"] == (self.open.minor if self.open else 0)
        assert self.balances[f"disbursement_in_transit:USD:{CAUSE}"] == 0
        assert sum(self.balances.values()) == 0
        assert 0 <= self.refunded.minor <= self.donation.money.minor
        assert 0 <= self.donation.withdrawn_minor <= self.donation.money.minor
        # What the provider and our bank hold: what came less what went back, on to the nonprofit, or was kept or drawn.
        stored = self.fee if self.donation.settlement else 0
        debited = self.open.minor if self.open else 0
        here = self.donation.money.minor - self.back - (self.paid_out or 0) - stored - debited
        assert -sum(self.balances[key] for key in _MONEY) == here


def paid(minor: int, fee: int) -> Gift:
    """A gift that was paid."""
    made = new_direct_donation(
        ROW, UUID(int=3), CAUSE, None, usd(minor), NOBODY, {}, AT, shows_donor_in_api=True, gift_aid_id=None
    )
    gift = Gift(replace(made, status="RECEIVED_PAYMENT"), fee)
    gift.post(ledger_domain.build_payment_transfers(ROW, "test", CAUSE, gift.donation.money))
    return gift


def test_m3_what_a_lost_dispute_left_goes_back_once_the_dispute_is_taken_back() -> None:
    gift = paid(100, 0)
    refund = (("begin", 40), ("sent", 0))
    lost = (("settle", 0), ("pay out", 0), ("open", 60), ("lost", 0), ("come back", 0))
    for name, amount in (*lost, *refund, *refund):
        gift.move(name, amount)
        gift.check()
    assert gift.back == 60, "the worker is away"
    for name, amount in (("recover", 0), *refund, *refund):
        gift.move(name, amount)
        gift.check()
    assert (gift.back, gift.refunded, gift.donation.net_amount_for_nonprofit) == (100, usd(100), usd(0))


@given(st.data())
def test_m3_whatever_goes_back_in_any_order_nothing_is_lost(data: st.DataObject) -> None:
    minor = data.draw(st.integers(1, 10_000))
    gift = paid(minor, data.draw(st.integers(0, minor)))
    steps = st.tuples(st.sampled_from(MOVES), st.integers(1, 10_000))
    for name, amount in data.draw(st.lists(steps, max_size=30)):
        gift.move(name, amount)
        gift.check()
    for name in ("settle", "sent", "sent", "won", "pay out"):
        gift.move(name, 1)
    while gift.begun:
        gift.sent()
    gift.check()
    # In the end: the donor has what is told, the nonprofit the rest less the fee, and what is missing is our loss.
    nonprofit = gift.paid_out if gift.paid_out is not None else gift.donation.net_amount_for_nonprofit.minor
    assert gift.back == gift.refunded.minor
    assert -gift.balances["fees:USD:test"] == gift.back + nonprofit + gift.fee - minor
