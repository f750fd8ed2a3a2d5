"""Monetary donation verifications: every move against settled 5, expiry to the instant, what standing follows."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations, product
from uuid import UUID, uuid4

import pytest

from almoner.giving.disbursing.verifications import domain as verifications_domain
from almoner.giving.disbursing.verifications import test_values as verifications_test_values
from almoner.giving.disbursing.verifications.domain import (
    CHECK,
    CHECKS,
    LIFETIME,
    REASON_OF_FAILED,
    VERIFICATION,
    CheckType,
    EligibilityStatus,
    InvalidState,
    MonetaryDonationVerification,
    Outcome,
)

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MS = timedelta(milliseconds=1)
SETTLED = {("pending", "approved"), ("pending", "rejected"), ("pending", "expired")} | {
    ("rejected", "pending"),
    ("expired", "pending"),
}


def received() -> MonetaryDonationVerification:
    """A new one."""
    return verifications_domain.new_verification(uuid4(), uuid4(), uuid4(), None, NOW)


def registered() -> MonetaryDonationVerification:
    """One whose register lists it."""
    return received().with_check_outcome("registration", "succeeded", NOW)


STATES: dict[str, Callable[[], MonetaryDonationVerification]] = {
    "pending": registered,
    "approved": lambda: registered().as_approved(NOW),
    "rejected": lambda: registered().as_rejected("other", NOW),
    "expired": lambda: registered().as_expired(NOW),
}
MOVES: dict[str, Callable[[MonetaryDonationVerification], MonetaryDonationVerification]] = {
    "approved": lambda one: one.as_approved(NOW),
    "rejected": lambda one: one.as_rejected("other", NOW),
    "expired": lambda one: one.as_expired(NOW),
    "pending": lambda one: one.as_reopened(NOW),
}


def test_the_arrows_are_those_of_settled_5() -> None:
    assert set(VERIFICATION.transitions()) == SETTLED
    assert VERIFICATION.states() == STATES.keys()
    assert CHECK.states() == {"pending", "succeeded", "failed"}


@pytest.mark.parametrize(("source", "target"), list(product(STATES, MOVES)))
def test_s1_every_move_is_made_or_refused_as_settled(source: str, target: str) -> None:
    one = STATES[source]()
    assert one.status == source
    if (source, target) in SETTLED:
        assert MOVES[target](one).status == target
    else:
        with pytest.raises(InvalidState):
            MOVES[target](one)


@pytest.mark.parametrize(("source", "check", "outcome"), list(product(STATES, CHECKS, ("succeeded", "failed"))))
def test_checks_end_once_and_while_pending_only(source: str, check: CheckType, outcome: Outcome) -> None:
    one = STATES[source]()
    if source == "pending" and check != "registration":
        ended = one.with_check_outcome(check, outcome, NOW)
        assert ended.checks[check] == outcome
        assert ended.status == ("pending" if outcome == "succeeded" else "rejected")
        assert ended.rejection_reason == (None if outcome == "succeeded" else REASON_OF_FAILED[check])
        one = replace(ended, status="pending")
    for again in ("succeeded", "failed"):
        with pytest.raises(InvalidState):
            one.with_check_outcome("registration" if source == "pending" else check, again, NOW)


@pytest.mark.parametrize("order", list(permutations(CHECKS)))
def test_the_last_success_approves_in_any_order(order: tuple[CheckType, ...]) -> None:
    one = received()
    for number, check in enumerate(order, 1):
        one = one.with_check_outcome(check, "succeeded", NOW + number * MS)
        assert one.status == ("approved" if number == 4 else "pending")
    assert (one.processed_at, one.expires_at, one.remaining_checks) == (NOW + 4 * MS, None, ())


def test_nobody_is_approved_without_the_register() -> None:
    for one in (received(), received().with_check_outcome("registration", "failed", NOW)):
        with pytest.raises(InvalidState, match="register lists as active"):
            one.as_approved(NOW)
    approved = registered().as_approved(NOW)
    assert set(approved.checks.values()) == {"succeeded"}


def test_s3_expiry_is_exact_and_recording_it_changes_nothing() -> None:
    one, ends = received(), NOW + LIFETIME
    assert timedelta(days=30) == LIFETIME
    assert one.with_expiry_applied(ends - MS) is one
    for late in (timedelta(), MS, timedelta(days=400)):
        seen = one.with_expiry_applied(ends + late)
        assert (seen.status, seen.processed_at, seen.updated_at) == ("expired", ends, ends)
        assert seen == one.as_expired(ends + late)
        assert seen.with_expiry_applied(ends + 2 * late) == seen
    for target in ("approved", "rejected"):
        assert STATES[target]().with_expiry_applied(ends + MS).status == target


def test_one_that_is_expired_early_or_was_changed_late_says_so() -> None:
    early = received().as_expired(NOW + MS)
    assert (early.expires_at, early.processed_at) == (NOW + MS, NOW + MS)
    changed = replace(received(), updated_at=NOW + 2 * LIFETIME)
    assert changed.with_expiry_applied(NOW + 3 * LIFETIME).updated_at == changed.updated_at


def test_a_reopened_one_has_a_whole_lifetime_and_every_check_to_make() -> None:
    later = NOW + 2 * LIFETIME
    for state in ("rejected", "expired"):
        one = STATES[state]().as_reopened(later)
        assert one.remaining_checks == CHECKS
        assert (one.expires_at, one.processed_at, one.rejection_reason) == (later + LIFETIME, None, None)
        assert (one.created_at, one.updated_at) == (NOW, later)


def test_whose_turn_it_is() -> None:
    one = received()
    assert not one.awaits_answer_from_organisation, "the register comes first"
    one = one.with_check_outcome("registration", "succeeded", NOW)
    assert one.awaits_answer_from_organisation
    for check in ("bank_details", "organisation_confirmation"):
        assert one.awaits_answer_from_organisation
        one = one.with_check_outcome(check, "succeeded", NOW)
    assert (one.status, one.awaits_answer_from_organisation) == ("pending", False), (
        "compliance is not the organisation's to answer"
    )
    assert not any(STATES[state]().awaits_answer_from_organisation for state in ("approved", "rejected", "expired"))


def test_the_one_that_counts_decides_else_the_one_that_ended_last() -> None:
    def of(state: str, minute: int) -> MonetaryDonationVerification:
        moved = replace(STATES[state](), id=UUID(int=100 - minute))
        return replace(moved, processed_at=moved.processed_at and NOW + timedelta(minutes=minute))

    assert verifications_domain.eligibility_status_of([]) is EligibilityStatus.MISSING
    for state, standing in (
        ("approved", EligibilityStatus.APPROVED),
        ("pending", EligibilityStatus.PENDING),
        ("rejected", EligibilityStatus.REJECTED),
        ("expired", EligibilityStatus.EXPIRED),
    ):
        assert verifications_domain.eligibility_status_of([of(state, 1)]) is standing
    ended = [of("rejected", 1), of("expired", 2), of("rejected", 3)]
    for several in permutations(ended):
        assert verifications_domain.eligibility_status_of(several) is EligibilityStatus.REJECTED
        assert verifications_domain.eligibility_status_of(several[:2]) is (
            EligibilityStatus.EXPIRED if ended[2] not in several[:2] else EligibilityStatus.REJECTED
        )
        assert verifications_domain.eligibility_status_of([*several, of("pending", 0)]) is EligibilityStatus.PENDING
        assert verifications_domain.eligibility_status_of([of("approved", 0), *several]) is EligibilityStatus.APPROVED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("organisation_1-monetaryDonation:approve", ("organisation_1", "approve")),
        ("organisation_1-monetaryDonation:reject", ("organisation_1", "reject")),
        ("organisation_1-monetaryDonation:expire", ("organisation_1", "expire")),
        ("organisation_1", ("organisation_1", None)),
        ("organisation_1-monetaryDonation:dance", ("organisation_1-monetaryDonation:dance", None)),
        ("organisation_1-monetaryDonation:approve\n", ("organisation_1-monetaryDonation:approve\n", None)),
        ("organisation_1-monetaryDonation:approve-x", ("organisation_1-monetaryDonation:approve-x", None)),
    ],
)
def test_test_values_are_cut_off_as_written(text: str, expected: tuple[str, str | None]) -> None:
    assert verifications_test_values.split_test_value(text) == expected
