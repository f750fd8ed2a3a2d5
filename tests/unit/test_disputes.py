"""What can be a dispute of a payment, and who bears a lost one (M5)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.accounting.disputes import domain as disputes_domain
from almoner.giving.accounting.disputes.domain import DisputeOutcome
from almoner.giving.checkout.payments.domain import DisputeStatus, ProviderDispute
from almoner.kit.money import Money

PAID = Money(2500, "USD")
FOUND = ProviderDispute("dp_1", PAID, DisputeStatus.OPEN, "fraudulent", datetime(2026, 3, 1, tzinfo=UTC), live=False)


@pytest.mark.parametrize("status", list(DisputeStatus))
@pytest.mark.parametrize(
    ("minor", "gone", "live", "currency", "ended_too"),
    [
        (2500, 0, False, "USD", True),
        (1, 0, False, "USD", True),
        (500, 2000, False, "USD", True),
        (2500, 1, False, "USD", None),
        (501, 2000, False, "USD", None),
        (2501, 0, False, "USD", False),
        (2500, 0, True, "USD", False),
        (2500, 0, False, "EUR", False),
    ],
)
def test_m5_only_what_can_be_left_of_the_payment_is_believed(
    status: DisputeStatus, minor: int, gone: int, live: bool, currency: str, ended_too: bool | None
) -> None:
    """``None``: only of one that was won, and may have been refunded since."""
    found = replace(FOUND, money=Money(minor, currency), status=status, live=live)
    expected = status is DisputeStatus.WON if ended_too is None else ended_too
    assert disputes_domain.fits_payment(found, PAID, gone, is_live=False) is expected


def test_m5_nothing_is_no_dispute() -> None:
    assert not disputes_domain.fits_payment(replace(FOUND, money=Money(0, "USD")), PAID, 0, is_live=False)


def test_a_provider_tells_how_it_ended() -> None:
    reported = [disputes_domain.outcome_from_provider(replace(FOUND, status=status)) for status in DisputeStatus]
    assert reported == [None, DisputeOutcome("won"), DisputeOutcome("lost")]


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_what_was_lost_is_borne_by_the_gift_as_far_as_it_is_owed_and_by_us(lost: int, owed: int) -> None:
    gift, ours = disputes_domain.split_loss_with_nonprofit(Money(lost, "KWD"), Money(owed, "KWD"))
    assert gift + ours == Money(lost, "KWD")
    assert gift.minor == min(lost, owed)
