"""The whole evidence of a validation request as one signed document, JSON or PDF (settled 8).

It says what was asked, what every evaluation saw in which data, what people were asked and decided, and what was
attached. Who has it can check it without us: ``platform.signing``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.files.signing import DOSSIERS, MARK, Signer
from almoner.platform.http.wire import ResponseRecord
from almoner.screening.matching.service import screening_obstacle
from almoner.screening.screenings.domain import ScreeningObstacle
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import RecordedDecision, Review, ReviewHistory
from almoner.validation.requests import service
from almoner.validation.requests.domain import REVIEW_REASONS, Evaluation, EvaluationStep, ValidationRequest
from almoner.validation.requests.schemas import DossierValidationRequestResponse, dossier_request_response

_OBJECT: Final = "validation_request_dossier"
_MARK_IN_TEXT: Final = MARK.replace(b":", rb"\u003a")
"""What looks like a seal in somebody's words, written so that a reader of JSON sees the same and a verifier nothing."""


@dataclass(frozen=True, slots=True)
class Dossier:
    """Everything known about one request at a given time."""

    request: ValidationRequest
    evaluations: Sequence[Evaluation]
    history: ReviewHistory
    at: datetime

    @property
    def not_screened_reason(self) -> ScreeningObstacle | None:
        """Why the name that was asked for cannot be compared with watch lists."""
        return screening_obstacle([self.request.details.name])


class DossierStepResponse(msgspec.Struct, frozen=True, rename="camel"):
    """One step: what it found, by which source of which day, and the facts that it saw."""

    name: str
    verdict: str
    code: str
    source: str | None
    data_as_of: str | None
    facts: Mapping[str, Any]
    unverified: Annotated[
        bool, msgspec.Meta(description="Whether the reader of its source was never run on a real file.")
    ]


class DossierReasonResponse(msgspec.Struct, frozen=True):
    """Why a person was asked."""

    code: str
    message: str


class DossierEvaluationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """One evaluation, with the threshold at its time."""

    evaluated_at: str
    occasion: str
    outcome: str
    reasons: list[DossierReasonResponse]
    agreement: float | None
    threshold: float
    organisation_id: str | None
    steps: list[DossierStepResponse]


class DossierReviewResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A review with its questions and outcome."""

    asked_at: str
    reasons: list[DossierReasonResponse]
    status: str
    ended_at: str | None


class DossierDecisionResponse(msgspec.Struct, frozen=True, rename="camel"):
    """Who decided what, when, and on what evidence."""

    verdict: str
    reason_code: str | None
    decided_by: Annotated[str, msgspec.Meta(description="`rules`, `sandbox`, or the operator's identifier.")]
    note: Annotated[
        str | None, msgspec.Meta(description="What the rules went by; what an operator noted stays with us.")
    ]
    decided_at: str


class DossierDocumentResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A document that was attached, known by its hash."""

    id: str
    media_type: str
    size: int
    sha256: str
    scan_status: str
    flags: list[str]
    created_at: str
    deleted_at: str | None


class ValidationRequestDossierResponse(ResponseRecord, object_name=_OBJECT):
    """The evidence of a validation request.

    ``seal``: key and Ed25519 signature over the whole answer, byte for byte, with zeros for the signature's digits.
    """

    environment: str
    generated_at: str
    validation_request: DossierValidationRequestResponse
    not_screened_reason: Annotated[
        str | None,
        msgspec.Meta(
            description="Why the requested name cannot be screened against watch lists by comparing it, so that a "
            "person looks it up; null if it can."
        ),
    ]
    evaluations: list[DossierEvaluationResponse]
    reviews: list[DossierReviewResponse]
    decisions: list[DossierDecisionResponse]
    documents: list[DossierDocumentResponse]
    seal: str


async def load_dossier(tx: Tx, partner: Partner, request_id: UUID) -> Dossier:
    """All that is known of the partner's request. Raises NotFound."""
    request = await service.get(tx, partner, request_id)
    evaluations = await service.list_evaluations(tx, request.id)
    return Dossier(
        request, evaluations, await reviews.review_history_of(tx, service.review_subject_for(request)), tx.now
    )


def build_signed_json(tx: Tx, dossier: Dossier) -> bytes:
    """The dossier as signed JSON."""
    signer = Signer(tx.vault, DOSSIERS)
    record = _out(tx, dossier, signer.placeholder_seal)
    *reported, end = msgspec.json.encode({"data": record, "object": _OBJECT}).split(MARK)  # the last seal is ours
    return signer.sign(_MARK_IN_TEXT.join(reported) + MARK + end)


def _out(tx: Tx, dossier: Dossier, seal: str) -> ValidationRequestDossierResponse:
    return ValidationRequestDossierResponse(
        environment=tx.deployment.environment,
        generated_at=iso_timestamp(dossier.at),
        validation_request=dossier_request_response(tx, dossier.request),
        not_screened_reason=dossier.not_screened_reason,
        evaluations=[_evaluation_response(tx, evaluation) for evaluation in dossier.evaluations],
        reviews=[_review_response(review) for review in dossier.history.reviews],
        decisions=[_decision_response(decided) for decided in dossier.history.decisions],
        documents=[_document_response(tx, document) for document in dossier.request.documents],
        seal=seal,
    )


def _evaluation_response(tx: Tx, evaluation: Evaluation) -> DossierEvaluationResponse:
    found = evaluation.organisation_id
    return DossierEvaluationResponse(
        evaluated_at=iso_timestamp(evaluation.evaluated_at),
        occasion=evaluation.occasion,
        outcome=evaluation.outcome.verdict,
        reasons=_reasons(evaluation.outcome.reasons),
        agreement=evaluation.agreement,
        threshold=evaluation.threshold,
        organisation_id=tx.ids.text("organisation", found) if found else None,
        steps=[_step_response(step, evaluation.unverified_sources) for step in evaluation.steps],
    )


def _step_response(step: EvaluationStep, unverified: frozenset[str]) -> DossierStepResponse:
    return DossierStepResponse(
        step.name,
        step.verdict,
        step.code,
        step.source,
        iso_timestamp_or_none(step.data_as_of),
        dict(step.facts),
        step.source in unverified,
    )


def _review_response(review: Review) -> DossierReviewResponse:
    return DossierReviewResponse(
        iso_timestamp(review.asked_at), _reasons(review.reasons), review.status, iso_timestamp_or_none(review.ended_at)
    )


def _decision_response(decided: RecordedDecision) -> DossierDecisionResponse:
    made = decided.decision
    return DossierDecisionResponse(made.verdict, made.reason_code, made.by, made.public_note, iso_timestamp(decided.at))


def _document_response(tx: Tx, document: Document) -> DossierDocumentResponse:
    return DossierDocumentResponse(
        id=tx.ids.text(documents.TYPE, document.id),
        media_type=document.media_type,
        size=document.size,
        sha256=document.sha256.hex(),
        scan_status=document.scan_status,
        flags=list(document.flags),
        created_at=iso_timestamp(document.created_at),
        deleted_at=iso_timestamp_or_none(document.deleted_at),
    )


def _reasons(codes: Sequence[str]) -> list[DossierReasonResponse]:
    return [DossierReasonResponse(code, message_for_code(code)) for code in codes]


def message_for_code(code: str) -> str:
    """The display text for the code of a step or reason."""
    return REVIEW_REASONS.get(code) or f"{code.replace('_', ' ').capitalize()}."
