"""What can be a dispute of a payment, and who bears a lost one (M5)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.accounting.dispute_evidence.domain import (
    MAX_TOTAL_BYTES,
    Evidence,
    EvidenceFile,
    EvidenceStatus,
    edit_blocked_reason,
    file_rejection_reason,
)
from almoner.giving.accounting.disputes import domain as disputes_domain
from almoner.giving.accounting.disputes.domain import DisputeOutcome
from almoner.giving.checkout.payments.domain import DisputeStatus, ProviderDispute
from almoner.kit.money import Money

PAID = Money(2500, "USD")
FOUND = ProviderDispute(
    "dp_1", PAID, DisputeStatus.OPEN, "fraudulent", datetime(2026, 3, 1, tzinfo=UTC), is_live_mode=False
)


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
    found = replace(FOUND, money=Money(minor, currency), status=status, is_live_mode=live)
    expected = status is DisputeStatus.WON if ended_too is None else ended_too
    assert disputes_domain.is_consistent_with_payment(found, PAID, gone, is_live=False) is expected


def test_m5_nothing_is_no_dispute() -> None:
    assert not disputes_domain.is_consistent_with_payment(replace(FOUND, money=Money(0, "USD")), PAID, 0, is_live=False)


def test_a_provider_tells_how_it_ended() -> None:
    reported = [disputes_domain.outcome_from_provider(replace(FOUND, status=status)) for status in DisputeStatus]
    assert reported == [None, DisputeOutcome("won"), DisputeOutcome("lost")]


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_what_was_lost_is_borne_by_the_gift_as_far_as_it_is_owed_and_by_us(lost: int, owed: int) -> None:
    gift, ours = disputes_domain.split_loss_with_nonprofit(Money(lost, "KWD"), Money(owed, "KWD"))
    assert gift + ours == Money(lost, "KWD")
    assert gift.minor == min(lost, owed)


NOW = datetime(2026, 3, 2, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("evidence", "status", "due_at", "told"),
    [
        ("draft", DisputeStatus.OPEN, LATER, None),
        ("rejected", DisputeStatus.OPEN, LATER, None),
        ("submitting", DisputeStatus.OPEN, LATER, "The evidence has already been submitted."),
        ("submitted", DisputeStatus.OPEN, LATER, "The evidence has already been submitted."),
        ("draft", DisputeStatus.WON, LATER, "This dispute is won."),
        ("draft", DisputeStatus.LOST, LATER, "This dispute is lost."),
        ("draft", DisputeStatus.OPEN, None, "The payment provider does not accept evidence for this dispute."),
        ("draft", DisputeStatus.OPEN, NOW, "The deadline for evidence has passed."),
    ],
)
def test_evidence_is_changed_and_submitted_only_while_the_provider_takes_it(
    evidence: EvidenceStatus, status: DisputeStatus, due_at: datetime | None, told: str | None
) -> None:
    assert edit_blocked_reason(status, due_at, Evidence(UUID(int=1), evidence), NOW) == told


def test_the_files_of_evidence_are_one_of_each_kind_and_as_large_as_providers_take() -> None:
    file = EvidenceFile("receipt", "r.pdf", "application/pdf", MAX_TOTAL_BYTES - 10, bytes(32), "key", "ada", NOW)
    evidence = Evidence(UUID(int=1), files=(file,))
    assert (file_rejection_reason(evidence, "receipt", 1) or "").startswith("There is already a file of this kind")
    assert file_rejection_reason(evidence, "customer_communication", 10) is None
    assert "at most 4.5 MB" in (file_rejection_reason(evidence, "customer_communication", 11) or "")
