"""Agent verifications: every move against settled 5, expiry to the instant, codes and limits."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import uuid4

import pytest

from almoner.validation.agents import confirmation_codes, official_contacts
from almoner.validation.agents import domain as agents_domain
from almoner.validation.agents import test_values as agents_test_values
from almoner.validation.agents.confirmation_codes import (
    MAX_CODE_ATTEMPTS,
    MAX_EMAILS_PER_DAY,
    MAX_EMAILS_TOTAL,
    CodeCheckResult,
    EmailConfirmation,
)
from almoner.validation.agents.domain import (
    EVENTS,
    LIFETIME,
    OPEN,
    REASONS,
    REJECTIONS,
    VERIFICATION,
    AgentVerification,
    AgentVerificationInput,
    InvalidState,
    OfficialContactRefused,
    RepresentedNonprofit,
)

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MS = timedelta(milliseconds=1)
SETTLED = {
    ("pending", "pending_review"),  # the applicant confirms
    ("pending", "pending_user_verification"),  # the review passes
    ("pending_user_verification", "approved"),  # the applicant confirms
    ("pending_review", "approved"),  # the review passes
    ("pending", "rejected"),
    ("pending_user_verification", "rejected"),
    ("pending_review", "rejected"),
    ("rejected", "approved"),  # an appeal, and nothing else (settled 4)
    ("rejected", "pending_user_verification"),  # the same, where the address was never confirmed
}
CODES_OF_SETTLED_4 = """
validation_request_failed user_verification_expired user_failed_percent_review reapply fake_email_used
no_online_presence nonprofit_association_expired invalid_documentation fake_documentation mismatched_information
blank_corrupted_documentation suspicious_application other
""".split()
TRIGGERS_OF_4_11 = """
test_accept test_reject_validation_request_failed test_reject_user_verification_expired
test_reject_user_failed_percent_review test_reject_reapply test_reject_fake_email_used test_reject_no_online_presence
test_reject_nonprofit_association_expired test_reject_other
""".split()


def received(*, email_check: bool = True) -> AgentVerification:
    """A new one."""
    agent = AgentVerificationInput("Ada", "Byron", "ada@charity.example")
    nonprofit = RepresentedNonprofit(uuid4(), "Relief")
    return agents_domain.new_verification(
        uuid4(), uuid4(), agent, nonprofit, None, NOW, requires_email_confirmation=email_check
    )


STATES: dict[str, Callable[[], AgentVerification]] = {
    "pending": received,
    "pending_user_verification": lambda: received().with_review_passed(NOW),
    "pending_review": lambda: received().with_email_confirmed(NOW),
    "approved": lambda: received().with_email_confirmed(NOW).with_review_passed(NOW),
    "rejected": lambda: received().with_rejection("other", NOW),
}
MOVES: dict[str, tuple[Callable[[AgentVerification], AgentVerification], dict[str, str]]] = {
    "confirms": (
        lambda one: one.with_email_confirmed(NOW),
        {"pending": "pending_review", "pending_user_verification": "approved"},
    ),
    "passes": (
        lambda one: one.with_review_passed(NOW),
        {"pending": "pending_user_verification", "pending_review": "approved"},
    ),
    "fails": (lambda one: one.with_rejection("other", NOW), dict.fromkeys(OPEN, "rejected")),
}


def test_an_appeal_lets_through_who_was_rejected() -> None:
    confirmed = received().with_email_confirmed(NOW).with_rejection("other", NOW)
    assert confirmed.with_rejection_reversed(NOW, None).status == "approved"
    never = received().with_rejection("validation_request_failed", NOW)
    by_link, by_partner = never.with_rejection_reversed(NOW, NOW), never.with_rejection_reversed(NOW, None)
    assert (by_link.status, by_link.confirmed_at, by_link.rejection_code) == ("approved", NOW, None)
    assert (by_partner.status, by_partner.confirmed_at) == ("pending_user_verification", None)
    assert (by_partner.expires_at, by_partner.processed_at) == (NOW + LIFETIME, None)
    for state in STATES.keys() - {"rejected"}:
        with pytest.raises(InvalidState):
            STATES[state]().with_rejection_reversed(NOW, None)


def test_the_arrows_are_those_of_settled_5() -> None:
    assert set(VERIFICATION.transitions()) == SETTLED
    assert VERIFICATION.states() == STATES.keys()
    assert list(REJECTIONS) == CODES_OF_SETTLED_4
    assert REASONS.keys() == set(CODES_OF_SETTLED_4)
    assert set(EVENTS.values()) == {f"agent_verification.{state}" for state in STATES if state != "pending"}


@pytest.mark.parametrize(("source", "move"), list(product(STATES, MOVES)))
def test_s1_every_move_is_made_or_refused_as_settled(source: str, move: str) -> None:
    one = STATES[source]()
    assert one.status == source
    make, targets = MOVES[move]
    if (target := targets.get(source)) is None:
        with pytest.raises(InvalidState):
            make(one)
        return
    moved = make(one)
    assert (moved.status, (source, target) in SETTLED) == (target, True)
    assert (moved.processed_at is not None) is (target in ("approved", "rejected"))
    assert moved.external_action_required is (target == "pending_user_verification")


def test_without_an_e_mail_check_the_review_comes_at_once() -> None:
    one = received(email_check=False)
    assert (one.status, one.expires_at, one.external_action_required) == ("pending_review", None, False)
    assert one.with_review_passed(NOW).status == "approved"
    with pytest.raises(InvalidState):
        one.with_email_confirmed(NOW)


@pytest.mark.parametrize("state", ["pending", "pending_user_verification"])
def test_s3_who_does_not_confirm_is_rejected_at_the_instant(state: str) -> None:
    one = STATES[state]()
    assert one.with_expiry_applied(NOW + LIFETIME - MS) == one
    for late in (timedelta(), timedelta(days=400)):
        ended = one.with_expiry_applied(NOW + LIFETIME + late)
        assert (ended.status, ended.rejection_code) == ("rejected", "user_verification_expired")
        assert ended.processed_at == NOW + LIFETIME


def test_s3_a_nonprofit_that_does_not_answer_ends_it_and_one_that_does_not() -> None:
    asked = STATES["pending_review"]().with_answer_deadline(NOW + LIFETIME)
    assert asked.external_action_required
    assert asked.with_expiry_applied(NOW + LIFETIME - MS) == asked
    assert asked.with_expiry_applied(NOW + LIFETIME).rejection_code == "nonprofit_association_expired"
    answered = asked.without_answer_deadline()
    assert not answered.external_action_required
    assert answered.with_expiry_applied(NOW + 10 * LIFETIME).status == "pending_review"
    for state in STATES:
        if state != "pending_review":
            with pytest.raises(InvalidState):
                STATES[state]().with_answer_deadline(NOW)
            with pytest.raises(InvalidState):
                STATES[state]().without_answer_deadline()


def test_4_11_the_test_values_are_those_of_the_table() -> None:
    assert list(agents_test_values.ACTIONS) == TRIGGERS_OF_4_11
    for name, asked_for in agents_test_values.ACTIONS.items():
        assert (
            agents_test_values.find_sandbox_action(name)
            == asked_for
            == name.removeprefix("test_").removeprefix("reject_")
        )
    for near in ("Test_accept", "test_accept ", "test_reject_invalid_documentation", "test_reject_", "Ada", ""):
        assert agents_test_values.find_sandbox_action(near) is None


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("012345", CodeCheckResult.CORRECT),
        (" 012-345 ", CodeCheckResult.CORRECT),
        ("٠١٢٣٤٥", CodeCheckResult.CORRECT),
        ("12345", CodeCheckResult.WRONG),
        ("0123456", CodeCheckResult.WRONG),
        ("", CodeCheckResult.MISSING),
        ("abc", CodeCheckResult.MISSING),
    ],
)
def test_codes_are_read_as_people_type_them(typed: str, answer: CodeCheckResult) -> None:
    code = EmailConfirmation(uuid4(), uuid4(), NOW, MAX_CODE_ATTEMPTS - 1)
    assert code.check_code(typed, "012345") is answer
    over = EmailConfirmation(uuid4(), uuid4(), NOW, MAX_CODE_ATTEMPTS)
    assert over.check_code(typed, "012345") is (
        CodeCheckResult.MISSING if answer is CodeCheckResult.MISSING else CodeCheckResult.EXHAUSTED
    )


def test_mails_have_limits_by_minute_day_and_in_all() -> None:
    assert confirmation_codes.may_send_confirmation([], NOW)
    assert not confirmation_codes.may_send_confirmation([NOW], NOW + timedelta(seconds=59))
    assert confirmation_codes.may_send_confirmation([NOW], NOW + timedelta(seconds=60))
    day = [NOW + timedelta(hours=hour) for hour in range(MAX_EMAILS_PER_DAY)]
    assert not confirmation_codes.may_send_confirmation(day, NOW + timedelta(hours=23))
    assert confirmation_codes.may_send_confirmation(day, NOW + timedelta(days=1))
    month = [NOW + timedelta(days=day) for day in range(MAX_EMAILS_TOTAL)]
    assert confirmation_codes.may_send_confirmation(month[1:], month[-1] + timedelta(days=1))
    assert not confirmation_codes.may_send_confirmation(month, month[-1] + timedelta(days=1))


def test_an_address_gets_five_mails_an_hour_and_twenty_a_day() -> None:
    hour = [NOW + timedelta(minutes=minute) for minute in range(5)]
    assert confirmation_codes.is_within_email_limit_per_address(hour[1:], hour[-1], sandbox=False)
    assert not confirmation_codes.is_within_email_limit_per_address(hour, NOW + timedelta(minutes=59), sandbox=False)
    assert confirmation_codes.is_within_email_limit_per_address(hour, NOW + timedelta(hours=1), sandbox=False)
    assert confirmation_codes.is_within_email_limit_per_address(hour, hour[-1], sandbox=True), (
        "integrators test with one address"
    )
    day = [NOW + timedelta(hours=hour) for hour in range(20)]
    assert not confirmation_codes.is_within_email_limit_per_address(day, NOW + timedelta(hours=23), sandbox=False)
    assert confirmation_codes.is_within_email_limit_per_address(day, NOW + timedelta(hours=24), sandbox=False)


def test_a_guesser_is_right_less_than_once_in_5000_verifications() -> None:
    assert MAX_EMAILS_TOTAL * MAX_CODE_ATTEMPTS / 10**confirmation_codes.CODE_DIGITS <= 1 / 5000


@pytest.mark.parametrize(
    "office", ["info@a.example", "Contact@a.example", "head.office@a.example", "sekretariat@a.example"]
)
def test_an_office_is_asked(office: str) -> None:
    official_contacts.ensure_role_mailbox(office)


@pytest.mark.parametrize("person", ["ada@a.example", "ada.byron@a.example", "a.b-1815@a.example", "informal@a.example"])
def test_a_person_is_not_asked(person: str) -> None:
    with pytest.raises(OfficialContactRefused):
        official_contacts.ensure_role_mailbox(person)


def test_unknown_codes_are_no_reason() -> None:
    assert agents_domain.parse_rejection_code(None) == "other"
    with pytest.raises(ValueError, match="mood"):
        agents_domain.parse_rejection_code("mood")
