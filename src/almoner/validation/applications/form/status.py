"""The state of an application as texts of the catalogue; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from almoner.validation.applications.configurations.domain import Check
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions.domain import CheckStatus, Submission
from almoner.validation.applications.submissions.service import Requirement
from almoner.validation.decisions.appeals import domain as appeals_domain
from almoner.validation.decisions.appeals.domain import Appeal

State = Literal[
    "received", "confirming", "missing", "processed", "succeeded", "failed", "appealed", "upheld", "reversed"
]
"""The main message of the status page and email."""

_STATES_WITH_REASONS: Final[frozenset[State]] = frozenset({"failed", "upheld"})
DOCUMENT_CHECKS: Final[tuple[Check, ...]] = ("validation_request", "agent_verification")
"""The checks that documents are evidence for."""
_NOT_EVALUATED: Final = "applied.reason.unlooked"
"""The reason text of a check that was never evaluated because the validation request failed."""


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """The state of one check. ``reason``: text key of why it failed."""

    check: Check
    status: CheckStatus
    reason: str | None

    @property
    def was_evaluated(self) -> bool:
        """Whether the check itself was evaluated, rather than ended by another one."""
        return self.reason != _NOT_EVALUATED


def application_state_of(
    submission: Submission, appeal: Appeal | None, missing_requirements: Sequence[Requirement]
) -> State:
    """The overall state to show first."""
    match submission.status:
        case "succeeded":
            return "succeeded"
        case "processed":
            return "processed"
        case "pending":
            asked = {one.code for one in missing_requirements if one.source == "applicant"}
            return "confirming" if asked == {"confirmation"} else "missing" if asked else "received"
    if appeal is None:
        return "failed"
    if appeal.status == "open":
        return "appealed"
    if appeal.status == "upheld":
        return "upheld"
    return "reversed" if appeal.is_reversal_incomplete else "failed"


def derive_check_statuses_for_applicant(submission: Submission, appeal: Appeal | None) -> dict[Check, CheckStatus]:
    """The status of each check, with those overridden by an appeal.

    Decided statuses stay as they were when the application was decided: applicants do not see what monitoring finds
    later.
    """
    if submission.status == "succeeded":
        return dict.fromkeys(submission.checks, "passed")
    if appeal is not None and appeal.is_reversal_incomplete:
        return dict(appeals_domain.statuses_by_check_after_appeal(submission, appeal.overridden_checks))
    live = appeals_domain.statuses_by_check_after_appeal(submission, ())
    if submission.status != "failed":
        return dict(live)
    failed = submission.failure_reasons or {}
    return {check: _decided_status(standing, failed=check in failed) for check, standing in live.items()}


def _decided_status(now: CheckStatus, *, failed: bool) -> CheckStatus:
    if failed:
        return "failed"
    return "undecided" if now == "undecided" else "passed"


def summarise_checks(submission: Submission, appeal: Appeal | None) -> list[CheckSummary]:
    """Every check, in the order of the API."""
    return [
        CheckSummary(check, standing, _reason(check, submission) if standing == "failed" else None)
        for check, standing in derive_check_statuses_for_applicant(submission, appeal).items()
    ]


def failure_reason_text_keys(submission: Submission) -> list[str]:
    """The text keys of why it failed, each once, without checks that were never evaluated."""
    found = [row.reason for row in summarise_checks(submission, None) if row.reason is not None]
    own = [key for key in dict.fromkeys(found) if key != _NOT_EVALUATED]
    return own or list(dict.fromkeys(found))


def _reason(check: Check, submission: Submission) -> str:
    reported: Any = (submission.failure_reasons or {}).get(check) or {}
    parts = submission.check_records
    match check:
        case "validation_request":
            code = (
                submissions_domain.find_nonprofit_rejection_reason(parts)
                or reported.get("rejectionReasonCode")
                or "other"
            )
            return f"applied.reason.request.{code}"
        case "agent_verification":
            code = (parts.agent.rejection_code if parts.agent else None) or "other"
            return _NOT_EVALUATED if code == "validation_request_failed" else f"applied.reason.agent.{code}"
        case "compliance":
            looked = parts.monitoring is not None and parts.monitoring.results.compliance_status is not None
        case _:
            looked = parts.eligibility is not None and parts.eligibility.results.status is not None
    return f"applied.reason.{check}" if looked else _NOT_EVALUATED


def list_checks_accepting_documents(submission: Submission) -> list[Check]:
    """The checks that still accept documents."""
    if not submission.accepts_documents:
        return []
    takes = [check for check in DOCUMENT_CHECKS if check in submission.checks]
    if (
        submission.check_records.request is None and not submission.has_open_appeal
    ):  # without a request, no reviewer would see its evidence
        takes = [check for check in takes if check != "validation_request"]
    return takes


def may_appeal(submission: Submission, appeal: Appeal | None) -> bool:
    """Whether the page offers an appeal."""
    if submission.status != "failed" or not appeals_domain.is_rejection_reversible(submission.check_records.agent):
        return False
    return appeal is None or appeal.completed_at is not None


def find_appeal_text_problem(text: str) -> str | None:
    """The problem of an appeal's text, as a catalogue key."""
    if not text:
        return "applied.appeal.missing"
    return "applied.appeal.long" if len(text) > appeals_domain.MAX_TEXT else None
