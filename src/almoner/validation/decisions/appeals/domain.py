"""Appeals: the record, when it is due, and what a reversal means for each check (settled 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit.events import InternalEvent
from almoner.kit.states import Lifecycle
from almoner.validation.agents.domain import AgentVerification
from almoner.validation.applications.configurations.domain import Check
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions.domain import AppealStatus, CheckStatus, Submission
from almoner.validation.decisions.reviews.domain import ReviewRefused

APPEAL: Final = Lifecycle("appeal", {"open": frozenset({"upheld", "reversed"})})
Appellant = Literal["partner", "applicant", "visitor"]
"""Who appeals.

The applicant used an emailed link, which proves the address. A visitor used the form or its invite link, which others
may know, and has proved nothing.
"""


MAX_TEXT: Final = 5000
_BUSINESS_DAYS: Final = 10
ERASE_AFTER: Final = timedelta(days=30)
"""An appeal's text is erased this long after its decision, like applicants' personal data (V6)."""
_SATURDAY: Final = 5

APPLICANT_ERASED: Final = "the applicant was forgotten after the application had ended: they have to apply again"
"""Why nothing can be appealed or reversed once the applicant's personal data were erased."""

REASONS: Final = ("decision_stands", "no_new_evidence")
"""The reason codes for upholding a decision."""


@dataclass(frozen=True, slots=True)
class AppealChangedEvent:
    """The internal event that an appeal changed."""

    appeal: UUID
    submission: UUID
    status: AppealStatus


CHANGED: Final = InternalEvent("internal.appeal_changed", AppealChangedEvent)
"""Emitted when an appeal is created and when it is decided."""


@dataclass(frozen=True, slots=True)
class Appeal:
    """One appeal.

    ``original_deciders``: operators who may not decide it. ``list_overridable_checks``: the checks that count as passed
    for this submission after a reversal. ``completed_at``: when every check had ended after that and the new result was
    set.
    """

    id: UUID
    partner_id: UUID
    submission_id: UUID
    text: str | None
    appellant: Appellant
    original_deciders: tuple[str, ...]
    overridden_checks: tuple[Check, ...]
    status: AppealStatus
    created_at: datetime
    due_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    completed_at: datetime | None = None

    @property
    def is_reversal_incomplete(self) -> bool:
        """Whether it is reversed and its consequences are not complete yet."""
        return self.status == "reversed" and self.completed_at is None

    def with_decision(
        self, status: AppealStatus, decided_by: str, overridden_checks: Sequence[Check], now: datetime
    ) -> "Appeal":
        """The appeal, upheld or reversed. Raises ReviewRefused for the original decider."""
        if decided_by in self.original_deciders:
            raise ReviewRefused("You decided what is appealed against: another operator has to decide the appeal.")
        return replace(
            self, status=status, decided_by=decided_by, decided_at=now, overridden_checks=tuple(overridden_checks)
        )


def compute_decision_due_at(created_at: datetime) -> datetime:
    """Ten business days after ``created_at`` (Monday to Friday, holidays included)."""
    moment, left = created_at, _BUSINESS_DAYS
    while left:
        moment += timedelta(days=1)
        left -= moment.weekday() < _SATURDAY
    return moment


def list_overridable_checks(submission: Submission) -> tuple[Check, ...]:
    """The failed checks that a reversal counts as passed.

    Excluded: checks that ended unevaluated with the validation request, which are resumed instead; the agent, who gets
    a new decision; and checks that failed after the result, which is not appealed.
    """
    stands, refused = _independent_checks(submission), submission.failure_reasons or {}
    failed = submissions_domain.list_failed_checks(submissions_domain.statuses_by_check(submission))
    return tuple(one for one in failed if one in refused and one not in stands)


def _independent_checks(submission: Submission) -> set[Check]:
    """The checks that get a result of their own after a reversal."""
    parts = submission.check_records
    found: set[Check] = {"agent_verification"}
    if parts.monitoring is not None and parts.monitoring.results.compliance_status is None:
        found.add("compliance")
    if parts.eligibility is not None and parts.eligibility.results.status is None:
        found.add("eligibility")
    return found


def statuses_by_check_after_appeal(
    submission: Submission, overridden_checks: Sequence[Check]
) -> Mapping[Check, CheckStatus]:
    """The statuses of the checks, with those of a reversed appeal."""
    found = submissions_domain.statuses_by_check(submission)
    return {check: "passed" if check in overridden_checks else standing for check, standing in found.items()}


def is_rejection_reversible(verification: AgentVerification | None) -> bool:
    """Whether a rejected agent could be approved: not once the applicant's personal data were erased."""
    return verification is None or verification.status != "rejected" or verification.email is not None


def ensure_rejection_reversible(verification: AgentVerification | None) -> None:
    """Raises ReviewRefused unless ``is_rejection_reversible``."""
    if not is_rejection_reversible(verification):
        raise ReviewRefused(f"{APPLICANT_ERASED[0].upper()}{APPLICANT_ERASED[1:]}.")
