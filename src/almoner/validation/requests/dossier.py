"""The dossier of a validation request."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

import msgspec

from almoner.kit.evidence import Evaluation
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.evidence.dossier import (
    Dossier,
    DossierDecisionResponse,
    DossierDocumentResponse,
    DossierEvaluationResponse,
    DossierReviewResponse,
    load_evaluations,
)
from almoner.platform.http.wire import ResponseRecord
from almoner.screening.matching.service import find_screening_obstacle
from almoner.validation.applications.documents import service as documents
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.requests import service
from almoner.validation.requests.domain import REVIEW_REASONS, ValidationRequest, match_score_includes_postal_address
from almoner.validation.requests.schemas import DossierValidationRequestResponse, dossier_request_response

_TITLES: Final = {
    "identifier": "Identifier format",
    "register": "Register lookup",
    "source": "Register source",
    "age": "Data age",
    "status": "Register status",
    "name": "Name match",
    "address": "Address match",
    "match": "Name and address match",
    "namesakes": "Other organisations with this name",
    "revocation": "Revocation of exemption",
    "terminated": "Termination notice",
    "group": "Group exemption",
    "foundation": "Foundation type",
    "group_claim": "Group exemption claim",
    "main_charity": "Parent charity",
}
_NOT_SCREENED: Final = "The name cannot be compared reliably with watchlists: a person looks it up."


class ValidationRequestDossierResponse(ResponseRecord, object_name="validation_request_dossier"):
    """The evidence of a validation request.

    ``seal``: the key and the Ed25519 signature over all bytes of the response, with zeros in place of the signature.
    """

    environment: str
    generated_at: str
    validation_request: DossierValidationRequestResponse
    not_screened_reason: Annotated[
        str | None,
        msgspec.Meta(
            description="Why the requested name cannot be compared with watchlists, so that a reviewer looks it "
            "up; null if it can."
        ),
    ]
    evaluations: list[DossierEvaluationResponse]
    reviews: list[DossierReviewResponse]
    decisions: list[DossierDecisionResponse]
    documents: list[DossierDocumentResponse]
    seal: str


async def load_dossier(tx: Tx, scope: Partner | AllPartners, request_id: UUID) -> Dossier:
    """The dossier of the request. Raises NotFound."""
    request = await service.get(tx, scope, request_id)
    history = await reviews.load_dossier_history(tx, service.review_subject_for(request), REVIEW_REASONS)
    obstacle = find_screening_obstacle([request.details.name])
    return Dossier(
        kind="validation_request",
        id=request.id,
        id_type="validationrequest",
        partner_id=request.partner_id,
        name=request.details.name,
        summary=_summary(request, waits=history.has_open_review),
        record=dossier_request_response(tx, request),
        evaluations=await load_evaluations(tx, request.id),
        at=tx.now,
        reviews=history.reviews,
        decisions=history.decisions,
        documents=[documents.dossier_document_response(tx, one) for one in request.documents],
        notices=[_NOT_SCREENED] if obstacle else [],
        members={"notScreenedReason": obstacle},
        messages=REVIEW_REASONS,
        titles=_TITLES,
        shown_facts=_score,
    )


def _summary(request: ValidationRequest, *, waits: bool) -> str:
    if request.accepted_at is not None:
        return f"Accepted on {_moment(request.accepted_at)}."
    if request.rejected_at is not None:
        return f"Rejected on {_moment(request.rejected_at)}: {request.rejection_reason}."
    return "Pending manual review." if waits else "Pending: no decision yet."


def _score(evaluation: Evaluation) -> Iterator[tuple[str, object]]:
    if evaluation.facts["agreement"] is not None:
        compared = "name and address" if match_score_includes_postal_address(evaluation) else "name"
        yield f"Match score ({compared})", evaluation.facts["agreement"]
        yield "Required", evaluation.facts["threshold"]


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
