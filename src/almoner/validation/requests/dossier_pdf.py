"""The dossier of a validation request as a document to read and to keep: PDF/UA-1, signed like its JSON."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from almoner.kit.ids import Ids
from almoner.platform.crypto import Vault
from almoner.platform.deployment import Deployment
from almoner.platform.files.signing import DOSSIERS, Signer
from almoner.platform.pages.pdf import PdfRenderer, directional_text
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews.domain import RecordedDecision
from almoner.validation.requests.domain import Evaluation, EvaluationStep
from almoner.validation.requests.dossier import Dossier, message_for_code

PDF: Final = "application/pdf"

_TEMPLATE: Final = Path(__file__).parent / "templates" / "dossier.typ"
_TITLES: Final = {
    "identifier": "Identifier format",
    "register": "Register lookup",
    "source": "Register source",
    "age": "Data age",
    "status": "Register status",
    "name": "Name match",
    "address": "Address match",
    "namesakes": "Other organisations with this name",
    "revocation": "Revocation of exemption",
    "terminated": "Termination notice",
    "group": "Group exemption",
    "publication_78": "Publication 78",
    "foundation": "Foundation type",
    "group_claim": "Group exemption claim",
    "main_charity": "Parent charity",
}
_OCCASIONS: Final = {
    "created": "when the request was created",
    "register_loaded": "after the register was updated",
    "asked": "on request",
    "corrected": "after the register or number was corrected",
}
_NOTE_WITHHELD: Final = "The operator's note is kept by the service provider."
_PLAIN: Final = (
    "Characters that this document cannot display are shown by their numbers in Unicode. The JSON version of this "
    "dossier has the original names."
)
_NOT_SCREENED: Final = "The name cannot be compared reliably with watch lists: a person looks it up."
_CHECKING: Final = (
    "This file is digitally signed (Ed25519) by the service that created it, which publishes the public key at "
    "/.well-known/almoner-keys. To verify the file offline, use Almoner's docs/verify_document.py."
)
_Row = dict[str, object]


@cache
def _pdf_printer() -> PdfRenderer:
    """One for the process: it holds the fonts."""
    return PdfRenderer(_TEMPLATE)


async def build_signed_pdf(deployment: Deployment, dossier: Dossier) -> bytes:
    """The dossier as a signed PDF."""
    signer = _signer(deployment.vault)
    facts = _facts(deployment, dossier, signer.key_id)
    return signer.sign(await _pdf_printer().render(facts, {"seal": signer.placeholder_seal}, dossier.at))


def _signer(vault: Vault) -> Signer:
    return Signer(vault, DOSSIERS)


def _facts(deployment: Deployment, dossier: Dossier, key_id: str) -> dict[str, object]:
    """What the template reads."""
    request, ids = dossier.request, deployment.ids
    return {
        "title": f"Dossier of {ids.text('validationrequest', request.id)}",
        "kind": "Validation request dossier",
        "name": directional_text(request.details.name, rtl=False),
        "summary": _summary(dossier),
        "date": [dossier.at.year, dossier.at.month, dossier.at.day],
        "test": "Sandbox: this document contains test data." if deployment.sandbox else None,
        "asked": _request_rows(ids, dossier),
        "plain": _PLAIN,
        "evaluations": [_evaluation(evaluation) for evaluation in dossier.evaluations],
        "documents": [directional_text(_document(ids, document), rtl=False) for document in request.documents],
        "decisions": [_decision(decided) for decided in dossier.history.decisions],
        "checking": _CHECKING,
        "key": f"Signing key: {key_id}. As of {_moment(dossier.at)}.",
    }


def _summary(dossier: Dossier) -> str:
    request = dossier.request
    if request.accepted_at is not None:
        return f"Accepted on {_moment(request.accepted_at)}."
    if request.rejected_at is not None:
        return f"Rejected on {_moment(request.rejected_at)}: {request.rejection_reason}."
    if dossier.history.open_review is not None:
        return "Pending manual review."
    return "Pending: no decision yet."


def _request_rows(ids: Ids, dossier: Dossier) -> list[_Row]:
    request = dossier.request
    asked = request.details
    place = ", ".join(part for part in (asked.city, asked.state, asked.postal) if part)
    street = ", ".join(line for line in (asked.address_line_1, asked.address_line_2) if line)
    organisation = request.organisation_id
    rows = (
        ("Request", ids.text("validationrequest", request.id)),
        ("Created", _moment(request.created_at)),
        ("Name", asked.name),
        ("Screening", _NOT_SCREENED if dossier.not_screened_reason else ""),
        ("Register", asked.registry_name),
        ("Identifier", asked.registry_number),
        ("Country", asked.country_code),
        ("Website", asked.website),
        ("Address", street),
        ("City and postcode", place),
        ("Group exemption", _text(asked.usa_group_exempt)),
        ("Accepted as", ids.text("organisation", organisation) if organisation else ""),
    )
    return [_row(label, value) for label, value in rows if value]


def _evaluation(evaluation: Evaluation) -> _Row:
    return {
        "title": f"Evaluated on {_moment(evaluation.evaluated_at)}",
        "note": " ".join(_notes(evaluation)),
        "steps": [_step(step, evaluation.unverified_sources) for step in evaluation.steps],
    }


def _notes(evaluation: Evaluation) -> Iterator[str]:
    occasion = _OCCASIONS[evaluation.occasion]
    if evaluation.outcome.verdict == "accept":
        yield f"Accepted automatically {occasion}."
    else:
        yield f"Sent to manual review {occasion}:"
        yield from (message_for_code(code) for code in evaluation.outcome.reasons)
    if evaluation.agreement is not None:
        compared = "name and address" if evaluation.includes_addresses else "name"
        yield f"Match score ({compared}): {evaluation.agreement:.3f}. Required: {evaluation.threshold:.3f}."


def _step(step: EvaluationStep, unverified: frozenset[str]) -> _Row:
    source = f"{step.source} (unverified)" if step.source in unverified else step.source
    dated = f", data of {step.data_as_of:%Y-%m-%d}" if step.data_as_of else ""
    reported = ((name, _text(value)) for name, value in step.facts.items() if name != "parts")
    return {
        "title": _TITLES.get(step.name) or step.name.replace("_", " ").capitalize(),
        "verdict": step.verdict.replace("_", " "),
        "sentence": message_for_code(step.code),
        "source": f"{source}{dated}" if source else None,
        "facts": [_row(name.replace("_", " "), value) for name, value in reported if value],
    }


def _document(ids: Ids, document: Document) -> str:
    named = ids.text(documents.TYPE, document.id)
    flags = f", {', '.join(document.flags)}" if document.flags else ""
    scanned = f"scan: {document.scan_status}"
    return f"{named}, {document.media_type}, {document.size:,} bytes, {scanned}, SHA-256 {document.sha256.hex()}{flags}"


def _decision(decided: RecordedDecision) -> _Row:
    made = decided.decision
    reason = f" ({made.reason_code})" if made.reason_code else ""
    title = f"{made.verdict.capitalize()}{reason} on {_moment(decided.at)} by {made.by}"
    return {"title": title, "note": directional_text(made.public_note or _NOTE_WITHHELD, rtl=False)}


def _row(label: str, value: str) -> _Row:
    return {"label": label, "value": directional_text(value, rtl=False)}


def _text(value: object) -> str:
    """A fact for people; empty for none."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case Mapping():
            return "; ".join(f"{name} {_text(one)}" for name, one in value.items())
        case Sequence():
            return ", ".join(_text(one) for one in value)
        case _:
            return str(value)


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
