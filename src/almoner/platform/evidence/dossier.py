"""The whole evidence of a record as one signed document, JSON or PDF (settled 8).

It contains the record, the data and results of every evaluation, the questions and decisions of people, and the
attached documents. Anyone can verify it offline: ``platform.files.signing``. Slices declare how their dossiers are
loaded.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from almoner.kit.evidence import Evaluation, EvaluationStep, EvidenceKind
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.deployment import Deployment
from almoner.platform.evidence import store
from almoner.platform.files.signing import DOSSIERS, MARK, DocumentSigner

_MARK_IN_TEXT: Final = MARK.replace(b":", rb"\u003a")
"""The signature mark within a person's text, escaped so that JSON readers see the same text and verifiers ignore it."""


class DossierStepResponse(msgspec.Struct, frozen=True, rename="camel"):
    """One step: its finding, the source with its version and date, and the facts."""

    name: str
    verdict: str
    code: str | None
    source: str | None
    version: str | None
    data_as_of: str | None
    facts: Mapping[str, Any]
    unverified: Annotated[
        bool, msgspec.Meta(description="Whether the reader of its source has never been tested on a real file.")
    ]


class DossierReasonResponse(msgspec.Struct, frozen=True):
    """Why a reviewer was asked."""

    code: str
    message: str


class DossierEvaluationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """One evaluation with its facts and steps."""

    evaluated_at: str
    occasion: str | None
    outcome: str | None
    reasons: list[DossierReasonResponse]
    facts: Annotated[
        Mapping[str, Any], msgspec.Meta(description="Facts such as the match score and the threshold at that time.")
    ]
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
        str | None, msgspec.Meta(description="The reasons of the rules. Operators' notes are not included.")
    ]
    decided_at: str


class DossierDocumentResponse(msgspec.Struct, frozen=True, rename="camel"):
    """An attached document, identified by its hash."""

    id: str
    media_type: str
    size: int
    sha256: str
    scan_status: str
    flags: list[str]
    created_at: str
    deleted_at: str | None


def message_for_code(code: str, messages: Mapping[str, str]) -> str:
    """The display text for the code of a step or reason."""
    return messages.get(code) or f"{code.replace('_', ' ').capitalize()}."


def build_reason_responses(codes: Iterable[str], messages: Mapping[str, str]) -> list[DossierReasonResponse]:
    """Codes with their display texts."""
    return [DossierReasonResponse(code, message_for_code(code, messages)) for code in codes]


Fact = tuple[str, object]


def _all_facts(evaluation: Evaluation) -> Iterable[Fact]:
    return evaluation.facts.items()


@dataclass(frozen=True, slots=True)
class Dossier:
    """Everything known about one record.

    ``record``: as the API represents it. ``name``, ``summary``: its headings. ``notices``: sentences below its details.
    ``members``: further members of the JSON. ``messages``, ``titles``: the display texts of codes and of step names.
    ``shown_facts``: the facts of an evaluation that the PDF shows.
    """

    kind: EvidenceKind
    id: UUID
    id_type: str
    partner_id: UUID
    name: str
    summary: str
    record: msgspec.Struct
    evaluations: Sequence[Evaluation]
    at: datetime
    reviews: Sequence[DossierReviewResponse] = ()
    decisions: Sequence[DossierDecisionResponse] = ()
    documents: Sequence[DossierDocumentResponse] = ()
    notices: Sequence[str] = ()
    members: Mapping[str, object] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    shown_facts: Callable[[Evaluation], Iterable[Fact]] = _all_facts


DossierLoader = Callable[[Tx, Partner | AllPartners, UUID], Awaitable[Dossier]]
"""Loads the dossier of a record. Raises NotFound."""


def name_of_record_field(kind: EvidenceKind) -> str:
    """The JSON member that holds the record."""
    first, *rest = kind.split("_")
    return first + "".join(part.title() for part in rest)


def build_signed_dossier_json(deployment: Deployment, dossier: Dossier) -> bytes:
    """The dossier as signed JSON."""
    signer = DocumentSigner(deployment.vault, DOSSIERS)
    data = {
        "environment": deployment.environment,
        "generatedAt": iso_timestamp(dossier.at),
        name_of_record_field(dossier.kind): dossier.record,
        **dossier.members,
        "evaluations": [_evaluation_response(dossier, one) for one in dossier.evaluations],
        "reviews": dossier.reviews,
        "decisions": dossier.decisions,
        "documents": dossier.documents,
    }
    reported = msgspec.json.encode(data).replace(MARK, _MARK_IN_TEXT)
    seal = signer.blank_signature_block.encode()
    return signer.sign(b'{"data":%b,"seal":"%b"},"object":"%b_dossier"}' % (reported[:-1], seal, dossier.kind.encode()))


async def load_evaluations(tx: Tx, record_id: UUID) -> list[Evaluation]:
    """The evaluations of a record, with organisations by their public IDs."""
    return [_with_text_ids(tx, one) for one in await store.list_evaluations(tx, record_id)]


def _with_text_ids(tx: Tx, evaluation: Evaluation) -> Evaluation:
    named = evaluation.facts.get("organisationId")
    if named is None:
        return evaluation
    return replace(
        evaluation, facts={**evaluation.facts, "organisationId": tx.ids.encode("organisation", UUID(str(named)))}
    )


def _evaluation_response(dossier: Dossier, evaluation: Evaluation) -> DossierEvaluationResponse:
    unverified = evaluation.unverified_sources
    return DossierEvaluationResponse(
        evaluated_at=iso_timestamp(evaluation.at),
        occasion=evaluation.occasion,
        outcome=evaluation.outcome,
        reasons=build_reason_responses(evaluation.reasons, dossier.messages),
        facts=evaluation.facts,
        steps=[_step_response(step, unverified) for step in evaluation.steps],
    )


def _step_response(step: EvaluationStep, unverified: frozenset[str]) -> DossierStepResponse:
    return DossierStepResponse(
        step.name,
        step.verdict,
        step.code,
        step.source,
        step.version,
        iso_timestamp_or_none(step.data_as_of),
        step.facts,
        step.source in unverified,
    )
