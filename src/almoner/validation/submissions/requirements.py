"""What an application still needs from somebody outside: of whom, what is accepted, since when, and until when; pure.

A list that is empty means that nobody outside has to act. What reviewers have to do is told beside that, never alone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from almoner.validation.configurations.domain import Check
from almoner.validation.submissions.domain import Submission, standings

Source = Literal["applicant", "nonprofit", "reviewer"]
RequirementCode = Literal["registration_evidence", "confirmation", "association", "review"]

MESSAGES: Final[dict[RequirementCode, str]] = {
    "registration_evidence": "A document that shows the registration: the registers alone do not prove it",
    "confirmation": "The applicant has yet to follow the link, or type the code, of the message we sent",
    "association": "The nonprofit was asked whether the applicant speaks for it, and has yet to answer",
    "review": "A reviewer looks at it",
}
ACCEPTED: Final[dict[RequirementCode, tuple[str, ...]]] = {
    "registration_evidence": ("registration_certificate", "governing_document", "tax_exemption_letter"),
    "confirmation": ("link", "code"),
    "association": ("answer_of_the_nonprofit", "letter_of_authority"),
    "review": (),
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that is missing. ``accepted``: alternatives, each of which will do; ``due``: None without a limit."""

    check: Check
    code: RequirementCode
    source: Source
    since: datetime
    due: datetime | None = None

    @property
    def message(self) -> str:
        """In English, for partners; pages have their own words."""
        return MESSAGES[self.code]

    @property
    def accepted(self) -> tuple[str, ...]:
        """What will do."""
        return ACCEPTED[self.code]


def requirements_of(submission: Submission) -> list[Requirement]:
    """All that is missing, in the order of the checks; empty when nobody outside must act."""
    if not submission.open:
        return []
    looks = {
        "validation_request": _of_nonprofit,
        "compliance": _of_compliance,
        "agent_verification": _of_agent,
    }
    found = [
        missing
        for check, standing in standings(submission).items()
        if standing == "pending" and check in looks and (missing := looks[check](submission)) is not None
    ]
    return found if any(one.source != "reviewer" for one in found) else []


def _of_nonprofit(submission: Submission) -> Requirement | None:
    """A request that registers alone do not answer waits for evidence, and with some of it for a reviewer."""
    evaluated, request = submission.parts.evaluated, submission.parts.request
    if evaluated is None or request is None or not evaluated.reasons:
        return None
    # What the scanner has refused nobody can look at.
    if any(one.deleted_at is None and one.scan_status != "rejected" for one in request.documents):
        return Requirement("validation_request", "review", "reviewer", evaluated.since)
    return Requirement("validation_request", "registration_evidence", "applicant", evaluated.since)


def _of_compliance(submission: Submission) -> Requirement | None:
    """Matches with watch lists are compared by a person."""
    monitoring = submission.parts.monitoring
    if monitoring is None or monitoring.status != "live" or monitoring.screened_at is None:
        return None
    return Requirement("compliance", "review", "reviewer", monitoring.screened_at)


def _of_agent(submission: Submission) -> Requirement | None:
    agent = submission.parts.agent
    if agent is None:
        return None
    if agent.unconfirmed:
        return Requirement("agent_verification", "confirmation", "applicant", agent.created_at, agent.expires_at)
    if agent.awaits_outsider:
        since = submission.parts.asked_nonprofit or agent.confirmed_at or agent.created_at
        return Requirement("agent_verification", "association", "nonprofit", since, agent.expires_at)
    return Requirement("agent_verification", "review", "reviewer", agent.confirmed_at or agent.created_at)
