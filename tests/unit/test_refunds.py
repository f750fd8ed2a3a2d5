"""Refunds: what may go back, and that parts in any order leave the nonprofit what is owed (M2; settled 4, 5)."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.accounting.refunds import domain as refunds_domain
from almoner.giving.accounting.refunds.domain import REFUND, RefundError
from almoner.giving.checkout.donations.domain import (
    Donation,
    Donor,
    InvalidState,
    RefundedAmount,
    SettledAmount,
    new_direct_donation,
)
from almoner.giving.receipts.domain import refund_or_dispute_waiting_reason
from almoner.kit.errors import IncorrectParams
from almoner.kit.money import Money

AT = datetime(2026, 3, 2, tzinfo=UTC)
NOBODY = Donor(None, None, None, consented=False, anonymous=True)


def received(minor: int, settled: int | None = None, **changed: Any) -> Donation:
    """A gift of USD whose money is here."""
    one, two, three = [UUID(int=number) for number in range(3)]
    made = new_direct_donation(
        one, two, three, None, Money(minor, "USD"), NOBODY, {}, AT, shows_donor_in_api=True, gift_aid_id=None
    )
    settlement = None if settled is None else SettledAmount(AT, Money(settled, "USD"))
    given: dict[str, Any] = {"status": "RECEIVED_PAYMENT", "settlement": settlement, **changed}
    return replace(made, **given)


def usd(minor: int) -> Money:
    return Money(minor, "USD")


def test_s1_a_refund_ends_once() -> None:
    assert REFUND.states() == {"pending", "sent", "refused"}
    assert REFUND.source_states_of("sent") == REFUND.source_states_of("refused") == ("pending",)


def test_nothing_goes_back_while_a_lost_dispute_is_taken_back() -> None:
    with pytest.raises(InvalidState, match="is being taken back"):
        refunds_domain.resolve_refund_amount(
            received(1000, refunded=RefundedAmount(AT, usd(600)), withdrawn_minor=0), None
        )
    assert refunds_domain.resolve_refund_amount(
        received(1000, refunded=RefundedAmount(AT, usd(600)), withdrawn_minor=600), None
    ) == usd(400)


def test_all_that_is_left_goes_back_or_what_is_asked_for() -> None:
    gift = received(1000, withdrawn_minor=300)
    assert refunds_domain.resolve_refund_amount(gift, None) == usd(700)
    assert (refunds_domain.resolve_refund_amount(gift, 1), refunds_domain.resolve_refund_amount(gift, 700)) == (
        usd(1),
        usd(700),
    )


@pytest.mark.parametrize("minor", [0, -1, 701])
def test_no_other_amount_goes_back(minor: int) -> None:
    with pytest.raises(IncorrectParams) as refused:
        refunds_domain.resolve_refund_amount(received(1000, withdrawn_minor=300), minor)
    assert refused.value.reasons == ("body.amount must be from 1 to 700, which is left of the donation",)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"status": "ACTIVE"}, "the donation is ACTIVE"),
        ({"status": "DISBURSED"}, "the donation is DISBURSED"),
        ({"disputed_at": AT}, "the donation is disputed"),
        ({"withdrawn_minor": 1000}, "all of the donation is on its way back already"),
        ({"withdrawn_minor": 1000, "refunded": RefundedAmount(AT, Money(1000, "USD"))}, "is refunded already"),
    ],
)
def test_nothing_goes_back_of_other_gifts(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidState) as refused:
        refunds_domain.resolve_refund_amount(received(1000, **changed), None)
    assert told in refused.value.reasons[0]


@given(st.data())
def test_m2_parts_in_any_order_with_the_fee_leave_what_is_owed(data: st.DataObject) -> None:
    minor = data.draw(st.integers(1, 10_000))
    fee = data.draw(st.integers(0, minor))
    gift, owed, ours, back = received(minor), minor, 0, 0
    started: list[Money] = []
    for move in data.draw(st.lists(st.sampled_from(("begin", "refuse", "settle")), max_size=12)):
        if move == "begin" and gift.unrefunded_amount:
            refund = usd(data.draw(st.integers(1, gift.unrefunded_amount.minor)))
            absorbed = refunds_domain.calculate_nonprofit_share(gift, refund)
            owed, ours, back = owed - absorbed.minor, ours + (refund - absorbed).minor, back + refund.minor
            gift = replace(gift, withdrawn_minor=gift.withdrawn_minor + refund.minor)
            started.append(refund)
        elif move == "refuse" and started:
            refund = started.pop()
            again = refunds_domain.calculate_amount_owed_after_failed_refund(gift, refund)
            owed, ours, back = owed + again.minor, ours - (refund - again).minor, back - refund.minor
            gift = replace(gift, withdrawn_minor=gift.withdrawn_minor - refund.minor)
        elif move == "settle" and gift.settlement is None:
            charged = min(fee, gift.unrefunded_amount.minor)
            owed, ours = owed - charged, ours + fee - charged
            gift = replace(gift, settlement=SettledAmount(AT, usd(minor - fee)))
        stored = fee if gift.settlement else 0
        assert owed == gift.net_amount_for_nonprofit.minor == max(0, minor - stored - back)
        assert owed + back + stored - ours == minor, "what came is owed, went back, or was kept; what is short is ours"


def test_a_note_and_a_name_are_kept_whole() -> None:
    for bad in ("", "x" * 501):
        with pytest.raises(RefundError, match="a note has 1 to 500 characters"):
            refunds_domain.ensure_valid_note(bad)
    for bad in ("", "x" * 256):
        with pytest.raises(RefundError, match="1 to 255 characters"):
            refunds_domain.ensure_valid_provider_refund_id(bad)
    for length in (1, 500):
        refunds_domain.ensure_valid_note("x" * length)
    for length in (1, 255):
        refunds_domain.ensure_valid_provider_refund_id("x" * length)


def test_a_gift_stands_still_while_it_goes_back_or_is_disputed() -> None:
    assert refund_or_dispute_waiting_reason(received(1000)) is None
    assert refund_or_dispute_waiting_reason(received(1000, withdrawn_minor=1)) == "refund"
    assert (
        refund_or_dispute_waiting_reason(received(1000, withdrawn_minor=1, refunded=RefundedAmount(AT, usd(1)))) is None
    )
    assert refund_or_dispute_waiting_reason(received(1000, disputed_at=AT)) == "dispute"
    assert refund_or_dispute_waiting_reason(received(1000, disputed_at=AT, status="DISBURSED")) is None
