"""Shows appeals to reviewers with the evidence of the failed checks, and applies their decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import msgspec

from almoner.access.operators import service as operators
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import Submission
from almoner.validation.decisions.appeals import domain, service
from almoner.validation.decisions.appeals.domain import Appeal
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    Fact,
    Kind,
    RecordedDecision,
    RelatedSubject,
    ReviewDecision,
    ReviewEvidence,
    ReviewSubject,
    ValueComparison,
)
from almoner.validation.decisions.reviews.ports import ReviewHandler


class AppealReviewHandler:
    """The ``ReviewHandler`` of appeals. ``requests``, ``agents``: the handlers of the rejected records."""

    def __init__(self, requests: ReviewHandler, agents: ReviewHandler) -> None:
        self._requests = requests
        self._agents = agents

    @property
    def rejection_reason_codes(self) -> Sequence[str]:
        """The reason codes for upholding a decision."""
        return domain.REASONS

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock submission and appeal until the transaction ends; None if they do not exist."""
        try:
            held, _ = await service.lock_appeal_and_submission(tx, ALL_PARTNERS, subject_id)
        except NotFound:
            return None
        return service.review_subject_for(held)

    async def load_names_by_subject_id(self, tx: Tx, subject_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """The names of the refused nonprofits."""
        return await service.load_organisation_names_by_appeal_id(tx, subject_ids)

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """Load the applicant's text, the original decisions with their operators, and the evidence. Raises NotFound."""
        found = await service.get(tx, ALL_PARTNERS, subject_id)
        submission = await submissions.get(tx, ALL_PARTNERS, found.submission_id)
        facts = [*await _facts(tx, found, submission), *await _original_decisions(tx, submission)]
        evidence = await self._evidence(tx, submission)
        for title, shown in evidence:
            facts += [(f"{title}: {name}", value) for name, value in shown.facts]
        steps = [replace(step, name=f"{title}: {step.name}") for title, shown in evidence for step in shown.steps]
        handed_in = await submission_documents.list_by_submission(tx, Partner(submission.partner_id), submission.id)
        documents = [one for _, shown in evidence for one in shown.document_ids]
        documents += [one.document.id for one in handed_in]  # also for checks that use no documents
        title = f"Was it right to refuse {submission.organisation_name}?"
        compared = [
            ValueComparison(f"{what.capitalize()}: {one.label.lower()}", one.stated, one.listed)
            for what, shown in evidence
            for one in shown.value_comparisons
        ]
        links = [link for _, shown in evidence for link in shown.links]
        candidates = [one for _, shown in evidence for one in shown.candidates]
        return ReviewEvidence(title, facts, steps, list(dict.fromkeys(documents)), compared, links, candidates)

    async def list_related_subjects(self, tx: Tx, subject_id: UUID) -> Sequence[RelatedSubject]:
        """Load the rejected record and related ones. Raises NotFound."""
        found = await service.get(tx, ALL_PARTNERS, subject_id)
        submission = await submissions.get(tx, ALL_PARTNERS, found.submission_id)
        related: list[RelatedSubject] = []
        refusals: Sequence[tuple[Kind, UUID | None, ReviewHandler]] = (
            ("validation_request", submission.validation_request_id, self._requests),
            ("agent_verification", submission.agent_verification_id, self._agents),
        )
        for kind, refused, handler in refusals:
            if refused is not None:
                subject = ReviewSubject(kind, refused, submission.partner_id)
                related += [RelatedSubject(subject, "refused"), *await handler.list_related_subjects(tx, refused)]
        return related

    async def _evidence(self, tx: Tx, submission: Submission) -> list[tuple[str, ReviewEvidence]]:
        found = []
        if submission.validation_request_id is not None:
            found.append(("nonprofit", await self._requests.load_evidence(tx, submission.validation_request_id)))
        if submission.agent_verification_id is not None:
            found.append(("applicant", await self._agents.load_evidence(tx, submission.agent_verification_id)))
        return found

    async def accept_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Reverse the original decision. Raises NotFound, ReviewRefused."""
        return await service.reverse_original_decision(tx, scope, subject_id, decision)

    async def reject_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Uphold the rejection. Raises NotFound, ReviewRefused."""
        return await service.uphold_original_decision(tx, scope, subject_id, decision)


async def _facts(tx: Tx, appeal: Appeal, submission: Submission) -> list[Fact]:
    who = [one for one in (submission.applicant.first_name, submission.applicant.last_name) if one]
    barred = await operators.load_display_names_by_operator_id(tx, list(appeal.original_deciders))
    return [
        ("submission", tx.ids.encode("validationsubmission", submission.id)),
        ("status of the appeal", appeal.status),
        ("due", iso_timestamp(appeal.due_at)),
        ("appeal by", appeal.appellant),
        ("applicant", " ".join(who) or None),
        ("the appeal says", appeal.text),
        ("may not decide it", ", ".join(f"{barred.get(one, '')} ({one})".strip() for one in appeal.original_deciders)),
        *_refusals(submission),
    ]


def _refusals(submission: Submission) -> list[Fact]:
    reasons = submission.failure_reasons or {}
    return [
        (f"refused: {_words(check)}", _reason_text(reasons.get(check)))
        for check in submissions_domain.list_failed_checks(submissions_domain.statuses_by_check(submission))
    ]


def _reason_text(reason: object) -> str:
    """The code with which a check failed; the whole reason if it has no code."""
    code = reason.get("rejectionReasonCode") if isinstance(reason, Mapping) else None
    return code or msgspec.json.encode(reason).decode()


def _words(name: str) -> str:
    return name.replace("_", " ")


async def _original_decisions(tx: Tx, submission: Submission) -> list[Fact]:
    """The decisions that are appealed, with their notes."""
    subjects = [
        ReviewSubject("validation_request", submission.validation_request_id, submission.partner_id)
        if submission.validation_request_id
        else None,
        ReviewSubject("agent_verification", submission.agent_verification_id, submission.partner_id)
        if submission.agent_verification_id
        else None,
    ]
    facts: list[Fact] = []
    for subject in subjects:
        if subject is not None:
            history = await reviews.load_review_history(tx, subject)
            names = await operators.load_display_names_by_operator_id(
                tx, [one.decision.by for one in history.decisions]
            )
            for one in history.decisions:
                by = names.get(one.decision.by, one.decision.by)
                facts += _decision_facts(f"decision on {_words(subject.kind)}", one, by)
    return facts


def _decision_facts(label: str, one: RecordedDecision, by: str) -> list[Fact]:
    """One fact for each value, since pages format only values that are nothing but a code or a time."""
    made = one.decision
    return [
        (label, made.verdict),
        (f"{label}: reason", made.reason_code),
        (f"{label}: decided by", by),
        (f"{label}: decided at", iso_timestamp(one.at)),
        (f"{label}: note", made.note),
    ]
