"""Dossiers as files: signed JSON, and PDF/UA-1 with the same signature."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast
from uuid import UUID

import msgspec
from starlette.responses import Response

from almoner.kit.evidence import Evaluation, EvaluationStep
from almoner.platform.database.transactions import AllPartners, Database, Partner
from almoner.platform.deployment import Deployment
from almoner.platform.evidence.dossier import (
    Dossier,
    DossierDecisionResponse,
    DossierDocumentResponse,
    DossierLoader,
    build_signed_dossier_json,
    message_for_code,
)
from almoner.platform.files.signing import DOSSIERS, DocumentSigner
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.pdf import PdfRenderer, text_and_direction_facts

DossierFormat = Literal["pdf", "json"]
MEDIA_TYPES: Final[Mapping[DossierFormat, str]] = {"pdf": "application/pdf", "json": "application/json"}

_TEMPLATE: Final = Path(__file__).parent / "templates" / "dossier.typ"
_OCCASIONS: Final = {
    "created": "when the record was created",
    "register_loaded": "after the register was updated",
    "asked": "on request",
    "corrected": "after the register or number was corrected",
    "request_decided": "after the validation request was decided",
    "register_changed": "after the register was updated",
    "screening_changed": "after a watchlist was updated or a match was decided",
    "chosen": "as set in the sandbox",
    "configuration_changed": "after the configuration was changed",
    "organisation_changed": "after the nonprofit’s data was updated",
    "rules_changed": "after the rules were changed",
    "simulated": "as set in the sandbox",
}
_OUTCOMES: Final = {
    "accept": "Accepted automatically",
    "review": "Sent to manual review",
    "pass": "Passed",
    "fail": "Failed",
}
_NOTE_WITHHELD: Final = "The operator's note is kept by the service provider."
_PLAIN: Final = (
    "Characters that this document cannot display are shown by their numbers in Unicode. The JSON version of this "
    "dossier has the original names."
)
_CHECKING: Final = (
    "This file is digitally signed (Ed25519) by the service that created it, which publishes the public key at "
    "/.well-known/almoner-keys. To verify the file offline, use Almoner's docs/verify_document.py."
)
_Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class DossierFile:
    """A signed dossier to download."""

    name: str
    media_type: str
    content: bytes
    partner_id: UUID

    @property
    def content_disposition(self) -> str:
        """The Content-Disposition header."""
        return f'attachment; filename="{self.name}"'

    def to_response(self) -> Response:
        """The download response."""
        headers = {**NO_PAGE, "Content-Disposition": self.content_disposition}
        return Response(self.content, media_type=self.media_type, headers=headers)


async def build_dossier_file(
    db: Database, load_dossier: DossierLoader, scope: Partner | AllPartners, record_id: UUID, format_: DossierFormat
) -> DossierFile:
    """Write the dossier of a record. Raises NotFound."""
    async with db.read() as tx:
        dossier = await load_dossier(tx, scope, record_id)
    name = f"dossier-{db.deployment.ids.encode(dossier.id_type, dossier.id)}.{format_}"
    if format_ == "json":
        content = build_signed_dossier_json(db.deployment, dossier)
    else:
        content = await _build_signed_pdf(db.deployment, dossier)
    return DossierFile(name, MEDIA_TYPES[format_], content, dossier.partner_id)


@cache
def _pdf_printer() -> PdfRenderer:
    """The process's PDF renderer, which holds the fonts."""
    return PdfRenderer(_TEMPLATE)


async def _build_signed_pdf(deployment: Deployment, dossier: Dossier) -> bytes:
    signer = DocumentSigner(deployment.vault, DOSSIERS)
    facts = _facts(deployment, dossier, signer.key_id)
    return signer.sign(await _pdf_printer().render_document(facts, {"seal": signer.blank_signature_block}, dossier.at))


def _facts(deployment: Deployment, dossier: Dossier, key_id: str) -> dict[str, object]:
    """The template's values."""
    return {
        "title": f"Dossier of {deployment.ids.encode(dossier.id_type, dossier.id)}",
        "kind": f"{_words(dossier.kind)} dossier",
        "name": text_and_direction_facts(dossier.name, document_is_rtl=False),
        "summary": dossier.summary,
        "date": [dossier.at.year, dossier.at.month, dossier.at.day],
        "test": "Sandbox: this document contains test data." if deployment.sandbox else None,
        "details": _rows(dict(_members(msgspec.to_builtins(dossier.record)))),
        "notices": list(dossier.notices),
        "plain": _PLAIN,
        "evaluations": [_evaluation(dossier, one) for one in dossier.evaluations],
        "documents": [text_and_direction_facts(_document(one), document_is_rtl=False) for one in dossier.documents],
        "decisions": [_decision(one) for one in dossier.decisions],
        "checking": _CHECKING,
        "key": f"Signing key: {key_id}. As of {dossier.at:%Y-%m-%d %H:%M} UTC.",
    }


def _members(record: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The members of a record that fit on one line; the others are in the JSON."""
    for name, value in record.items():
        match value:
            case Mapping():
                yield from ((f"{name} {inner}", one) for inner, one in _members(value))
            case [Mapping(), *_]:
                lines = [list(one.values()) for one in cast("Sequence[Mapping[str, object]]", value)]
                if all(isinstance(part, str) for line in lines for part in line):
                    yield name, [" ".join(map(str, line)) for line in lines]
            case _:
                yield name, value


def _rows(facts: Mapping[str, object]) -> list[_Row]:
    return [_row(_words(name), shown) for name, value in facts.items() if (shown := _text(value))]


def _evaluation(dossier: Dossier, evaluation: Evaluation) -> _Row:
    return {
        "title": f"Evaluated on {evaluation.at:%Y-%m-%d %H:%M} UTC",
        "note": " ".join(_notes(dossier, evaluation)),
        "facts": _rows(dict(dossier.shown_facts(evaluation))),
        "steps": [_step(dossier, step) for step in evaluation.steps_marking_unverified_sources],
    }


def _notes(dossier: Dossier, evaluation: Evaluation) -> Iterator[str]:
    occasion = _OCCASIONS.get(evaluation.occasion or "", "")
    outcome = _OUTCOMES.get(evaluation.outcome or "", "Evaluated" if occasion else "")
    if outcome:
        yield f"{outcome} {occasion}".strip() + (":" if evaluation.reasons else ".")
    yield from (message_for_code(code, dossier.messages) for code in evaluation.reasons)


def _step(dossier: Dossier, step: EvaluationStep) -> _Row:
    version = f", version {step.version}" if step.version else ""
    dated = f", data of {step.data_as_of:%Y-%m-%d}" if step.data_as_of else ""
    reported = {name: value for name, value in step.facts.items() if name != "parts"}
    return {
        "title": dossier.titles.get(step.name) or _words(step.name),
        "verdict": step.verdict.replace("_", " "),
        "sentence": message_for_code(step.code, dossier.messages) if step.code else None,
        "source": f"{step.source}{version}{dated}" if step.source else None,
        "facts": _rows(reported),
    }


def _document(one: DossierDocumentResponse) -> str:
    flags = f", {', '.join(one.flags)}" if one.flags else ""
    return f"{one.id}, {one.media_type}, {one.size:,} bytes, scan: {one.scan_status}, SHA-256 {one.sha256}{flags}"


def _decision(one: DossierDecisionResponse) -> _Row:
    reason = f" ({one.reason_code})" if one.reason_code else ""
    title = f"{one.verdict.capitalize()}{reason} on {_moment(one.decided_at)} by {one.decided_by}"
    return {"title": title, "note": text_and_direction_facts(one.note or _NOTE_WITHHELD, document_is_rtl=False)}


def _row(label: str, value: str) -> _Row:
    return {"label": label, "value": text_and_direction_facts(value, document_is_rtl=False)}


def _words(name: str) -> str:
    """``registryName``, ``validation_request`` -> ``Registry name``, ``Validation request``."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").capitalize()
    return re.sub(r"\bid\b", "ID", apart, flags=re.IGNORECASE)


def _text(value: object) -> str:
    """The text of a fact; empty for None."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return _moment(value) if _MOMENT.fullmatch(value) else value
        case float():
            return f"{value:.3f}"
        case Mapping():
            return "; ".join(f"{name} {shown}" for name, one in value.items() if (shown := _text(one)))
        case Sequence():
            return ", ".join(_text(one) for one in value)
        case _:
            return str(value)


_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


def _moment(iso: str) -> str:
    return f"{iso[:10]} {iso[11:16]} UTC"
