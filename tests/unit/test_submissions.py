"""The one answer of a submission: pure, and the same in whichever order its checks end (spec 3.5; settled 5)."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations, product
from typing import Any, get_args
from uuid import UUID

import pytest

from almoner.nonprofits.organisations.domain import OrganisationType
from almoner.validation.agents import domain as agents_domain
from almoner.validation.agents.domain import AgentVerification, AgentVerificationInput, RepresentedNonprofit
from almoner.validation.applications.configurations.domain import (
    CHECKS,
    COMPLIANCE_FLAGS,
    ORGANISATION_TYPES,
    Check,
    Configuration,
)
from almoner.validation.applications.documents.domain import Document
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions.domain import (
    SUBMISSION,
    Applicant,
    CheckRecords,
    CheckStatus,
    InvalidState,
    LatestAppeal,
    PendingReview,
    Submission,
    SubmissionOrganisation,
    SubmissionStatus,
    statuses_by_check,
    submission_status_of,
)
from almoner.validation.applications.submissions.requirements import Requirement, requirements_of
from almoner.validation.ongoing.eligibility import domain as eligibility_domain
from almoner.validation.ongoing.eligibility.domain import EligibilitySubscription as EligibilitySubscription
from almoner.validation.ongoing.monitoring import domain as monitoring_domain
from almoner.validation.ongoing.monitoring.domain import MonitoringSubscription
from almoner.validation.requests import domain as validation_requests_domain
from almoner.validation.requests.domain import ValidationRequest

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
A, P, BODY = UUID(int=1), UUID(int=2), UUID(int=3)
ENDED: tuple[CheckStatus, ...] = ("passed", "failed", "undecided")


def expected(outcomes: dict[Check, CheckStatus]) -> SubmissionStatus:
    """The answer by the words of the interface: failed when any fails, succeeded when all pass."""
    values = list(outcomes.values())
    if values.count("failed"):
        return "failed"
    return "succeeded" if all(value == "passed" for value in values) else "processed"


def every_outcome() -> Iterator[dict[Check, CheckStatus]]:
    """All that four checks can come to: eligibility alone may be undecided in life, here any of them."""
    for values in product(ENDED, repeat=len(CHECKS)):
        yield dict(zip(CHECKS, values, strict=True))


def test_every_order_of_every_outcome_gives_one_answer_once() -> None:
    seen = 0
    for outcomes in every_outcome():
        for order in permutations(CHECKS):
            now: dict[Check, CheckStatus] = dict.fromkeys(CHECKS, "pending")
            status: SubmissionStatus = "pending"
            answers = []
            for check in order:
                now[check] = outcomes[check]
                found = submission_status_of(now)
                if found != status:
                    assert SUBMISSION.allows_transition(status, found)
                    status = found
                    answers.append(found)
            assert answers == [expected(outcomes)], (order, outcomes)
            seen += 1
    assert seen == 81 * 24


@pytest.mark.parametrize("checks", [CHECKS[:n] for n in range(1, 5)])
def test_fewer_checks_are_answered_alike(checks: tuple[Check, ...]) -> None:
    for values in product(ENDED, repeat=len(checks)):
        outcomes = dict(zip(checks, values, strict=True))
        assert submission_status_of(outcomes) == expected(outcomes)
        for check in checks:
            assert submission_status_of({**outcomes, check: "pending"}) == "pending"


def test_what_was_undecided_may_be_decided_later_and_an_answer_stays() -> None:
    assert {target for source, target in SUBMISSION.transitions() if source == "pending"} == {
        *("processed", "succeeded", "failed")
    }
    assert {target for source, target in SUBMISSION.transitions() if source == "processed"} == {"succeeded", "failed"}
    assert not [target for source, target in SUBMISSION.transitions() if source == "succeeded" or target == "pending"]
    states: tuple[SubmissionStatus, ...] = get_args(SubmissionStatus)
    assert {status for status in states if submission(status).is_open} == {"pending", "processed"}
    with pytest.raises(InvalidState):
        submission(status="succeeded").with_status("failed", {}, NOW)


def configuration(**members: Any) -> Configuration:
    """One with all four checks."""
    values: dict[str, Any] = {
        "id": A,
        "partner_id": P,
        "name": None,
        "display_name": "X",
        "logo": None,
        "primary_color": None,
        "is_default": True,
        "checks": CHECKS,
        "allowed_organisation_types": ORGANISATION_TYPES,
        "compliance_flags": COMPLIANCE_FLAGS,
        "allowed_activity_sub_tags": None,
        "email_verification": True,
        "partner_fields": (),
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Configuration(**{**values, **members})


def request(**members: Any) -> ValidationRequest:
    """A pending one."""
    asked = validation_requests_domain.NonprofitDetails("Casper", "IRS", "53-0196605", "example.org", "USA")
    made = validation_requests_domain.new_request(A, P, asked, BODY, "530196605", NOW)
    return ValidationRequest(**{**{name: getattr(made, name) for name in made.__slots__}, **members})


def watched(status: str = "pending", compliance: str | None = None, **members: Any) -> MonitoringSubscription:
    """A monitoring subscription."""
    made = monitoring_domain.new_subscription(A, P, NOW, "casper", organisation_id=BODY)
    values = {name: getattr(made, name) for name in made.__slots__}
    results = monitoring_domain.MonitoringResults(compliance)  # type: ignore[arg-type]
    return MonitoringSubscription(**{**values, "status": status, "results": results, **members})


def judged(status: str = "pending", result: str | None = None) -> EligibilitySubscription:
    """An eligibility subscription."""
    values: dict[str, Any] = {"status": status, "results": eligibility_domain.EligibilityResults(result)}  # type: ignore[arg-type]
    return EligibilitySubscription(
        A, P, BODY, None, None, "Casper", (), None, None, created_at=NOW, updated_at=NOW, search_name="casper", **values
    )


def agent(**members: Any) -> AgentVerification:
    """A pending agent verification."""
    made = agents_domain.new_verification(
        A,
        P,
        AgentVerificationInput("Ada", "E", "ada@example.org"),
        RepresentedNonprofit(BODY, "Casper"),
        None,
        NOW,
        requires_email_confirmation=True,
    )
    return AgentVerification(**{**{name: getattr(made, name) for name in made.__slots__}, **members})


def organisation(*types: OrganisationType) -> SubmissionOrganisation:
    """The organisation."""
    return SubmissionOrganisation(BODY, "Casper", "USA", types or ("nonprofit",))


def submission(status: SubmissionStatus = "pending", checks: tuple[Check, ...] = CHECKS, **parts: Any) -> Submission:
    """A submission whose checks stand as they begin, unless something is said of them."""
    known = {
        "configuration": configuration(),
        "request": request(),
        "monitoring": watched(),
        "eligibility": judged(),
        "agent": agent(),
        "exclusive_request": True,
        **parts,
    }
    return Submission(
        id=A,
        partner_id=P,
        configuration_id=A,
        validation_invite_id=None,
        status=status,
        checks=checks,
        organisation_id=None,
        validation_request_id=A,
        monitoring_subscription_id=A,
        eligibility_subscription_id=A,
        agent_verification_id=A,
        organisation_name="Casper",
        country_code="USA",
        language="en",
        own_applicant=Applicant(),
        metadata=None,
        partner_fields=None,
        failure_reasons=None,
        created_at=NOW,
        processed_at=None,
        check_records=CheckRecords(**known),
    )


UNTYPED = SubmissionOrganisation(BODY, "Casper", "USA")
ONE_TAG = configuration(allowed_activity_sub_tags=("AR301",))
UNASKED = configuration(checks=("validation_request",), allowed_activity_sub_tags=("AR301",))
EDUCATION = configuration(allowed_organisation_types=("education",))
REJECTED = request(status="rejected", rejection_reason_code="other")


@pytest.mark.parametrize(
    ("check", "parts", "standing"),
    [
        ("validation_request", {}, "pending"),
        ("validation_request", {"organisation": organisation()}, "passed"),
        ("validation_request", {"request": None, "organisation": organisation()}, "passed"),
        ("validation_request", {"request": REJECTED}, "failed"),
        ("validation_request", {"organisation": organisation(), "configuration": EDUCATION}, "failed"),
        ("validation_request", {"organisation": organisation("education"), "configuration": EDUCATION}, "passed"),
        ("validation_request", {"organisation": UNTYPED}, "passed"),  # where every type is allowed none is asked for
        ("validation_request", {"organisation": UNTYPED, "configuration": EDUCATION}, "failed"),
        ("compliance", {}, "pending"),
        ("compliance", {"monitoring": watched("pending_validation_request", "fail")}, "pending"),
        ("compliance", {"monitoring": watched("live")}, "pending"),  # a person compares
        ("compliance", {"monitoring": watched("live", "pass")}, "passed"),
        ("compliance", {"monitoring": watched("live", "fail")}, "failed"),
        ("compliance", {"monitoring": watched("validation_request_failed")}, "failed"),
        ("compliance", {"monitoring": watched("cancelled")}, "undecided"),
        ("compliance", {"monitoring": watched("cancelled"), "configuration": UNASKED}, "passed"),
        ("compliance", {"monitoring": watched("cancelled", "pass")}, "passed"),
        ("eligibility", {}, "pending"),
        ("eligibility", {"eligibility": judged("pending_validation_request")}, "pending"),
        ("eligibility", {"eligibility": judged("live", "pass")}, "passed"),
        ("eligibility", {"eligibility": judged("live", "fail")}, "failed"),
        ("eligibility", {"eligibility": judged("validation_request_failed")}, "failed"),
        ("eligibility", {"eligibility": judged("cannot_define_eligibility")}, "passed"),
        ("eligibility", {"eligibility": judged("cannot_define_eligibility"), "configuration": ONE_TAG}, "undecided"),
        ("eligibility", {"eligibility": judged("cancelled")}, "passed"),
        ("eligibility", {"eligibility": judged("cancelled"), "configuration": ONE_TAG}, "undecided"),
        ("eligibility", {"eligibility": judged("cancelled"), "configuration": UNASKED}, "passed"),
        ("eligibility", {"eligibility": judged("cancelled", "fail")}, "failed"),
        ("agent_verification", {}, "pending"),
        ("agent_verification", {"agent": agent(status="pending_user_verification")}, "pending"),
        ("agent_verification", {"agent": agent(status="pending_review")}, "pending"),
        ("agent_verification", {"agent": agent(status="approved")}, "passed"),
        ("agent_verification", {"agent": agent(status="rejected")}, "failed"),
    ],
)
def test_how_a_check_stands(check: Check, parts: dict[str, Any], standing: CheckStatus) -> None:
    assert statuses_by_check(submission(**parts))[check] == standing


def test_only_the_checks_of_the_submission_stand() -> None:
    assert list(statuses_by_check(submission(checks=("agent_verification", "compliance")))) == [
        "compliance",
        "agent_verification",
    ]


def test_why_a_nonprofit_is_refused() -> None:
    assert submissions_domain.find_nonprofit_rejection_reason(submission().check_records) is None
    assert submissions_domain.find_nonprofit_rejection_reason(submission(request=REJECTED).check_records) == "other"
    refused = submission(organisation=organisation(), configuration=EDUCATION)
    assert submissions_domain.find_nonprofit_rejection_reason(refused.check_records) == "not_eligible"


DOCUMENT = Document(A, P, "application/pdf", 1, b"", "k", "clean", (), NOW, None, None)
GONE = Document(A, P, "application/pdf", 1, b"", "k", "clean", (), NOW, NOW, None)
INFECTED = Document(A, P, "application/pdf", 1, b"", "k", "rejected", (), NOW, None, None)
IN_REVIEW = PendingReview(("not_listed",), LATER)
CORRECTED_OUT = request(corrections=validation_requests_domain.MAX_CORRECTIONS, corrected_at=NOW)
EVIDENCE = Requirement(
    *("validation_request", "registration_evidence", "applicant", LATER, None),
    ("corrected_registry_number", "registration_certificate"),
    ("not_listed",),
    *("IRS", "53-0196605"),
)
NOT_TO_CORRECT = replace(EVIDENCE, accepted_alternatives=("registration_certificate",))
MIXED = PendingReview(("not_listed", "insolvent"), LATER)
CONFIRMATION = Requirement(
    *("agent_verification", "confirmation", "applicant", NOW, NOW + agents_domain.LIFETIME), ("link", "code")
)
ASKED = agent(status="pending_review", confirmed_at=NOW, expires_at=NOW + timedelta(days=30))
ASSOCIATION = Requirement(
    *("agent_verification", "association", "nonprofit", LATER, NOW + timedelta(days=30)),
    ("answer_of_the_nonprofit", "letter_of_authority"),
)
REVIEWED = agent(status="pending_review", confirmed_at=LATER, expires_at=None)
APPROVED = agent(status="approved", expires_at=None)
COMPARED = watched("live", screened_at=LATER)


@pytest.mark.parametrize(
    ("parts", "missing"),
    [
        ({}, [CONFIRMATION]),
        ({"agent": agent(status="pending_user_verification")}, [CONFIRMATION]),
        ({"agent": ASKED, "nonprofit_asked_at": LATER}, [ASSOCIATION]),
        # Nobody outside has to act: what reviewers do is not told alone.
        ({"agent": REVIEWED}, []),
        ({"agent": APPROVED, "monitoring": COMPARED}, []),
        ({"agent": APPROVED, "pending_review": IN_REVIEW, "request": request(documents=(DOCUMENT,))}, []),
        ({"agent": APPROVED}, []),
        # Until the registers were asked nothing is known to be missing.
        ({"agent": APPROVED, "pending_review": PendingReview((), LATER)}, []),
        ({"agent": APPROVED, "pending_review": IN_REVIEW}, [EVIDENCE]),
        (
            {"agent": APPROVED, "pending_review": IN_REVIEW, "exclusive_request": False},
            [NOT_TO_CORRECT],
        ),  # others rest on the number
        ({"agent": APPROVED, "pending_review": IN_REVIEW, "request": CORRECTED_OUT}, [NOT_TO_CORRECT]),
        ({"agent": APPROVED, "pending_review": MIXED}, [replace(NOT_TO_CORRECT, reasons=MIXED.reasons)]),
        ({"agent": APPROVED, "pending_review": IN_REVIEW, "request": request(documents=(GONE,))}, [EVIDENCE]),
        ({"agent": APPROVED, "pending_review": IN_REVIEW, "request": request(documents=(INFECTED,))}, [EVIDENCE]),
        (
            {"agent": REVIEWED, "pending_review": IN_REVIEW, "monitoring": COMPARED},
            [
                EVIDENCE,
                Requirement("compliance", "review", "reviewer", LATER),
                Requirement("agent_verification", "review", "reviewer", LATER),
            ],
        ),
        (
            {"pending_review": IN_REVIEW, "request": request(documents=(DOCUMENT,))},
            [Requirement("validation_request", "review", "reviewer", LATER), CONFIRMATION],
        ),
        # A check that has ended needs nothing, whatever else runs.
        ({"pending_review": IN_REVIEW, "organisation": organisation()}, [CONFIRMATION]),
    ],
)
def test_what_is_missing(parts: dict[str, Any], missing: list[Requirement]) -> None:
    assert requirements_of(submission(**parts)) == missing


def test_nothing_is_missing_of_what_has_ended() -> None:
    assert requirements_of(submission("succeeded", pending_review=IN_REVIEW)) == []
    assert requirements_of(submission("failed", organisation=organisation(), checks=("validation_request",))) == []


def test_what_an_appeal_has_taken_up_tells_what_is_missing_again() -> None:
    stands = LatestAppeal(A, "upheld", NOW, is_completed=False)
    waits, answered = (LatestAppeal(A, "reversed", NOW, is_completed=settled) for settled in (False, True))
    for appeal, missing in ((stands, []), (answered, []), (waits, [CONFIRMATION])):
        assert requirements_of(submission("failed", organisation=organisation(), appeal=appeal)) == missing


def test_without_checks_of_people_nothing_is_missing() -> None:
    assert requirements_of(submission(checks=("compliance", "eligibility"), pending_review=IN_REVIEW)) == []


def test_what_will_do_is_named() -> None:
    for one in (EVIDENCE, CONFIRMATION, ASSOCIATION):
        assert one.accepted_alternatives
        assert one.message
