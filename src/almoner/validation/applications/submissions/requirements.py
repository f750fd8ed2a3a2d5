"""What an application still needs from the applicant or the nonprofit; pure.

An empty list means that nobody outside has to act. Work of reviewers is listed with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from almoner.validation.agents.domain import LIFETIME
from almoner.validation.applications.configurations.domain import Check
from almoner.validation.applications.submissions.domain import RequestedEvidence, Submission, statuses_by_check
from almoner.validation.requests.domain import MAX_CORRECTIONS, REVIEW_REASONS, is_wrong_registry_number_reason

Source = Literal["applicant", "nonprofit", "reviewer"]
RequirementCode = Literal["registration_evidence", "confirmation", "association", "review"]

_MESSAGES: Final[dict[RequirementCode, str]] = {
    "registration_evidence": "Waiting for a document that proves the registration. The registers alone do not prove it",
    "confirmation": "Waiting for the applicant to confirm with the link or code that we sent",
    "association": "Waiting for the nonprofit to confirm that the applicant represents it",
    "review": "Waiting for a reviewer",
}
ACCEPTED: Final[dict[RequirementCode, tuple[str, ...]]] = {
    "registration_evidence": ("registration_certificate", "governing_document", "tax_exemption_letter"),
    "confirmation": ("link", "code"),
    "association": ("answer_of_the_nonprofit", "letter_of_authority"),
    "review": (),
}
CORRECTION: Final = "corrected_registry_number"
"""The alternative to documents if the number may be wrong."""
_CERTIFICATE: Final = ("registration_certificate",)
_EVIDENCE: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("not_listed", "wrong_check_digit", "no_longer_listed", "removed", "terminated"), _CERTIFICATE),
    **dict.fromkeys(("merged", "reregistered"), ("registration_certificate", "merger_document")),
    **dict.fromkeys(
        (
            "name_disagrees",
            "former_name",
            "member_not_named",
            "other_number_fits_better",
            "similar_number",
            "distinctive_word_differs",
            "mixed_scripts",
            "hidden_characters",
        ),
        ("registration_certificate", "governing_document", "name_change_certificate"),
    ),
    "match_uncertain": (
        *("registration_certificate", "governing_document", "name_change_certificate", "proof_of_address"),
    ),
    **dict.fromkeys(("address_disagrees", "same_name_elsewhere"), ("registration_certificate", "proof_of_address")),
    **dict.fromkeys(("revoked", "not_deductible", "central_body_not_active"), ("tax_exemption_letter",)),
    "main_charity_not_active": ("registration_certificate", "governing_document"),
    "insolvent": ("registration_certificate", "insolvency_discharge"),
}
"""The documents that answer a reason, any one of which suffices; other reasons accept those of ``ACCEPTED``."""


REQUESTABLE: Final[Mapping[Check, tuple[str, ...]]] = {
    "validation_request": (
        *("registration_certificate", "governing_document", "tax_exemption_letter"),
        *("name_change_certificate", "proof_of_address", CORRECTION),
    ),
    "agent_verification": ("letter_of_authority",),
}
"""The evidence that a reviewer may request from the applicant, by check."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that is missing.

    ``accepted_alternatives``: alternatives; ``due``: the deadline, if any. ``reasons``: why the registers alone do not
    prove it; ``registry_name``, ``registry_number``: what was looked up. ``is_requested_by_reviewer``: whether a
    reviewer requested exactly this.
    """

    check: Check
    code: RequirementCode
    source: Source
    since: datetime
    due: datetime | None = None
    accepted_alternatives: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    registry_name: str | None = None
    registry_number: str | None = None
    is_requested_by_reviewer: bool = False

    @property
    def message(self) -> str:
        """The English text for partners."""
        if self.is_requested_by_reviewer:
            return f"Waiting for the applicant. A reviewer asked for: {self.accepted_alternatives[0].replace('_', ' ')}"
        reported = [REVIEW_REASONS[reason] for reason in self.reasons if reason in REVIEW_REASONS]
        if not reported:
            return _MESSAGES[self.code]
        return f"{_MESSAGES[self.code]}. {self.registry_name}, {self.registry_number}: {' '.join(reported)}"

    @property
    def text_key(self) -> str:
        """The key under which pages and emails describe it."""
        if CORRECTION in self.accepted_alternatives:
            return "registry_number"
        return self.accepted_alternatives[0] if self.is_requested_by_reviewer else self.code


def requirements_of(submission: Submission) -> list[Requirement]:
    """Everything that is missing, in the order of the checks; empty when nobody outside must act."""
    if not (submission.is_open or submission.has_checks_resumed_by_appeal):
        return []
    looks = {
        "validation_request": _of_nonprofit,
        "compliance": _of_compliance,
        "agent_verification": _of_agent,
    }
    found = [
        missing
        for check, standing in statuses_by_check(submission).items()
        if standing == "pending" and check in looks
        for missing in looks[check](submission)
    ]
    return found if any(one.source != "reviewer" for one in found) else []


def _of_nonprofit(submission: Submission) -> list[Requirement]:
    """The requirements of a pending request: evidence if the registers do not suffice, then its review."""
    evaluated, request = submission.check_records.pending_review, submission.check_records.request
    if evaluated is None or request is None or not evaluated.reasons:
        return []
    requested = submission.check_records.requested_evidence.get("validation_request")
    if requested is not None and _is_awaited(submission, requested):
        return [
            Requirement(
                "validation_request",
                "registration_evidence",
                "applicant",
                requested.requested_at,
                accepted_alternatives=(requested.evidence_code,),
                registry_name=request.details.registry_name,
                registry_number=request.details.registry_number,
                is_requested_by_reviewer=True,
            )
        ]
    # A document that the scanner rejected cannot be reviewed.
    if any(one.deleted_at is None and not one.is_unusable for one in request.documents):
        return [Requirement("validation_request", "review", "reviewer", evaluated.pending_since)]
    correctable = may_correct_registry_number(submission)
    return [
        Requirement(
            "validation_request",
            "registration_evidence",
            "applicant",
            evaluated.pending_since,
            # No deadline: only a decision ends a request (spec 3.4), and late evidence is still reviewed.
            accepted_alternatives=accepted,
            reasons=reasons,
            registry_name=request.details.registry_name,
            registry_number=request.details.registry_number,
        )
        for accepted, reasons in _answers(evaluated.reasons, correctable=correctable)
    ]


def _is_awaited(submission: Submission, requested: RequestedEvidence) -> bool:
    """Whether neither a document nor a corrected number has arrived since the request."""
    request, evaluated = submission.check_records.request, submission.check_records.pending_review
    if request is None or evaluated is None or evaluated.pending_since > requested.requested_at:
        return False
    if requested.evidence_code == CORRECTION:
        return may_correct_registry_number(submission)
    return not any(
        one.created_at > requested.requested_at and one.deleted_at is None and not one.is_unusable
        for one in request.documents
    )


def may_correct_registry_number(submission: Submission) -> bool:
    """Whether the applicant may correct the registration number."""
    request, evaluated = submission.check_records.request, submission.check_records.pending_review
    if not submission.is_open or request is None or evaluated is None or request.status != "pending":
        return False
    if request.corrections >= MAX_CORRECTIONS or not submission.check_records.exclusive_request:
        return False
    return bool(evaluated.reasons) and all(is_wrong_registry_number_reason(reason) for reason in evaluated.reasons)


def _answers(reasons: Sequence[str], *, correctable: bool) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Accepted alternatives with the reasons they answer: one set for all reasons if possible, else one per reason."""
    each = [_answer(reason, correctable=correctable) for reason in reasons]
    common = tuple(one for one in each[0] if all(one in other for other in each))
    if common:
        return [(common, tuple(reasons))]
    return [(answer, (reason,)) for answer, reason in zip(each, reasons, strict=True)]


def _answer(reason: str, *, correctable: bool) -> tuple[str, ...]:
    documents = _EVIDENCE.get(reason, ACCEPTED["registration_evidence"])
    return (CORRECTION, *documents) if correctable else documents


def _of_compliance(submission: Submission) -> list[Requirement]:
    """Open watchlist matches need a reviewer."""
    monitoring = submission.check_records.monitoring
    if monitoring is None or monitoring.status != "live" or monitoring.screened_at is None:
        return []
    return [Requirement("compliance", "review", "reviewer", monitoring.screened_at)]


def _of_agent(submission: Submission) -> list[Requirement]:
    """The requirements of the agent check; deadlines are those of the emailed links."""
    agent = submission.check_records.agent
    if agent is None:
        return []
    if agent.is_email_unconfirmed:
        # A link emailed again, as after an appeal, restarts the term.
        since = agent.expires_at - LIFETIME if agent.expires_at else agent.created_at
        return [_mailed("confirmation", "applicant", since, agent.expires_at)]
    requested = submission.check_records.requested_evidence.get("agent_verification")
    if requested is not None:
        return [
            Requirement(
                "agent_verification",
                "association",
                "applicant",
                requested.requested_at,
                accepted_alternatives=(requested.evidence_code,),
                is_requested_by_reviewer=True,
            )
        ]
    if agent.external_action_required:
        since = submission.check_records.nonprofit_asked_at or agent.confirmed_at or agent.created_at
        return [_mailed("association", "nonprofit", since, agent.expires_at)]
    return [Requirement("agent_verification", "review", "reviewer", agent.confirmed_at or agent.created_at)]


def _mailed(code: RequirementCode, source: Source, since: datetime, due: datetime | None) -> Requirement:
    return Requirement("agent_verification", code, source, since, due, ACCEPTED[code])
