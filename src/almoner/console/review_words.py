"""Texts for the review queue."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from almoner.giving.disbursing.verifications.service import WaitingKind
from almoner.kit.evidence import EvaluationStep
from almoner.platform.pages.record_tables import LabelledValue, humanise_field_name
from almoner.screening.matching.domain import Finding
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.agents.domain import REASONS
from almoner.validation.applications.documents.domain import ENCRYPTED, LIMITS_EXCEEDED, Document
from almoner.validation.decisions.reviews.domain import Kind, ReviewEvidence, Verdict
from almoner.validation.requests.domain import REJECTION_MESSAGES, REVIEW_REASONS

REVIEWS: Final = "/reviews"
"""The path of the review queue."""
SECOND_LOOKS: Final = "/reviews/second-looks"
KIND_WORDS: Final[Mapping[Kind, str]] = {
    "validation_request": "Validation requests",
    "agent_verification": "Agent verifications",
    "match": "Watchlist matches",
    "screening": "Names to look up",
    "appeal": "Appeals",
}
SINGULAR_WORDS: Final[Mapping[Kind, str]] = {
    "validation_request": "Validation request",
    "agent_verification": "Agent verification",
    "match": "Watchlist match",
    "screening": "Name to look up",
    "appeal": "Appeal",
}
VERIFICATION_WORDS: Final[Mapping[WaitingKind, tuple[str, str]]] = {
    "monetary_donation_verification": ("Verifications", "Verification"),
    "verification_flag": ("Flags", "Flag"),
}
"""Names of queue items that are not cases, in the plural and in the singular."""
ACTS: Final[Mapping[tuple[Kind, Verdict], str]] = {
    ("validation_request", "accepted"): "Accept this nonprofit",
    ("validation_request", "rejected"): "Reject this nonprofit",
    ("agent_verification", "accepted"): "Approve this applicant",
    ("agent_verification", "rejected"): "Reject this applicant",
    ("match", "accepted"): "Confirm the match",
    ("match", "rejected"): "Clear the match",
    ("screening", "accepted"): "Not on any watchlist",
    ("screening", "rejected"): "On a watchlist",
    ("appeal", "accepted"): "Accept the appeal",
    ("appeal", "rejected"): "Reject the appeal",
}
"""The titles of decisions, by the kind of case and the verdict."""
EVIDENCE_WORDS: Final[Mapping[str, str]] = {
    "registration_certificate": "Registration certificate",
    "governing_document": "Governing document",
    "tax_exemption_letter": "Tax exemption letter",
    "name_change_certificate": "Certificate of a change of name",
    "proof_of_address": "Proof of address",
    "corrected_registry_number": "Another registration number",
    "letter_of_authority": "Letter of authority",
}
"""Evidence that can be requested from an applicant."""
_NO_APPLICATION: Final = "Nobody can be asked for evidence, because no undecided application is waiting for this case."
NOBODY_TO_ASK: Final[Mapping[Kind, str]] = {
    "validation_request": _NO_APPLICATION,
    "agent_verification": _NO_APPLICATION,
    "appeal": (
        "The applicant cannot be asked for evidence about an appeal. Decide the appeal with the evidence that the "
        "applicant has already sent."
    ),
}
"""Why a case has no button that asks the applicant. Other kinds of cases have no applicant."""
FLAG_WORDS: Final[Mapping[str, str]] = {
    "pdf_repaired": "The file was damaged and has been repaired.",
    "pdf_active": "The file contains more than static pages.",
    "pdf_javascript": "The file contains scripts.",
    "pdf_launch": "The file starts programs.",
    "pdf_embedded_files": "The file contains other files.",
    "pdf_remote": "The file opens other files or sends data.",
    "pdf_media": "The file contains audio, video or 3D models.",
}
"""Findings of the check of a PDF file."""


FINDING_WORDS: Final[Mapping[Finding, str]] = {
    "same": "Same word",
    "spelling": "Similar spelling",
    "meaning": "Same meaning",
    "together": "Words written together",
    "initials": "Initials",
    "initial": "Initial",
    "nickname": "Nickname or short form of a name",
    "cut": "Abbreviated word",
    "asked_only": "Only in the entered name",
    "listed_only": "Only in the listed name",
    "replaced": "Different word",
    "letters": "Similarity of the letters of the whole name",
    "contained": "All words of one name are in the other name",
    "number": "Number",
    "direction": "Compass direction",
    "place": "Place",
    "form": "Legal form",
    "branch": "Branch",
    "unnamed": "Words that do not identify anyone",
    "second_line": "Second line of the organisation's name",
    "other_name": "Another name",
    "name": "Name",
    "street": "Street",
    "postcode": "Postcode",
    "city": "City",
    "state": "State",
    "country": "Country",
    "address_unknown": "No address to compare",
    "sound": "Similar sound",
    "common": "Common name: a match of the name alone is not enough",
    "rare": "Rare name",
    "weak": "Marked as a weak alias in the watchlist",
    "identifier": "Same number",
    "bounds": "Score limited to the range 0 to 1",
}
"""The labels of the parts of a match score."""

_REJECTION_MEANINGS: Final[Mapping[Kind, Mapping[str, str]]] = {
    "validation_request": {
        **{str(code): meaning for code, meaning in REJECTION_MESSAGES.items()},
        "not_eligible": (
            "The organisation is not of a kind that can be accepted, or it has ended or is no longer registered"
        ),
        "other": "The nonprofit could not be validated, and no other reason fits",
    },
    "agent_verification": {
        **{str(code): meaning for code, meaning in REASONS.items()},
        "user_failed_percent_review": "The evidence does not show that the applicant may act for the nonprofit",
        "suspicious_application": "The application raised concerns that were not resolved, such as a lookalike domain",
        "other": "No other reason fits",
    },
    "appeal": {
        "decision_stands": "The appeal has new evidence, but the decision is still right",
        "no_new_evidence": "The appeal has nothing that was not known when the decision was made",
    },
}
"""What the reason codes mean for reviewers, by the kind of case. Partners get the texts of the API."""
_REJECTION_LABELS: Final[Mapping[str, str]] = {"user_failed_percent_review": "Did not pass the review"}
"""The labels of reason codes whose own words do not say what they mean."""
_MOST_FACTS: Final = 6
_MOST_LISTED: Final = 5
_CODE: Final = re.compile(r"[a-z]+(_[a-z]+)+", re.ASCII)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*", re.ASCII)


def format_fact_value(value: str, format_timestamp: Callable[[datetime], str]) -> str:
    """Format a fact of a case for display: codes as plain words, and timestamps with ``format_timestamp``."""
    return format_timestamp(datetime.fromisoformat(value)) if _MOMENT.fullmatch(value) else _code_words(value)


def _code_words(value: str) -> str:
    return humanise_field_name(value) if _CODE.fullmatch(value) or value in CATEGORIES else value


def list_summary_facts(evidence: ReviewEvidence) -> list[LabelledValue]:
    """The main facts of a case and the values on record, as the page of a decision shows them."""
    facts = [
        LabelledValue(label.capitalize(), _code_words(value), "moment" if _MOMENT.fullmatch(value) else "text")
        for label, value in evidence.facts[:_MOST_FACTS]
        if value
    ]
    on_record = [(one.label, ", ".join(one.listed[:_MOST_LISTED])) for one in evidence.value_comparisons]
    return facts + [LabelledValue(f"{label}, on record", listed) for label, listed in on_record if listed]


def evaluation_step_facts(step: EvaluationStep, format_timestamp: Callable[[datetime], str]) -> list[tuple[str, str]]:
    """Format the facts of a step for display, without empty ones."""
    return [
        (name, _score_words(step.facts[name]) if name == "parts" else format_fact_value(value, format_timestamp))
        for name, value in step.facts_as_text
        if value
    ]


def _score_words(parts: object) -> str:
    """Format the parts of a score, such as "Same word +1.00: rivers, rivers"."""
    words = []
    for finding, points, *compared in parts if isinstance(parts, list | tuple) else ():
        values = ", ".join(one for one in compared if one)
        words.append(f"{FINDING_WORDS.get(finding, finding)} {points:+.2f}" + (f": {values}" if values else ""))
    return "; ".join(words)


def review_reason_text(reason: str) -> str:
    """The display text of a reason for review, such as "Listed: sanction" for ``listed:sanction``."""
    if sentence := REVIEW_REASONS.get(reason):
        return sentence
    first, _, rest = reason.partition(":")
    return f"{humanise_field_name(first)}: {humanise_field_name(rest).lower()}" if rest else humanise_field_name(first)


def review_reasons_text(reasons: Sequence[str]) -> str:
    """The display texts of several reasons for review, each as a sentence."""
    texts = [review_reason_text(one) for one in reasons]
    return " ".join(text if text.endswith(".") else f"{text}." for text in texts)


def rejection_choices(kind: Kind, codes: Sequence[str]) -> list[tuple[str, str]]:
    """The reasons to reject a case, each with half a sentence that says what it means, if its name alone does not."""
    meanings = _REJECTION_MEANINGS.get(kind, {})
    return [
        (code, _with_meaning(_REJECTION_LABELS.get(code) or review_reason_text(code), meanings.get(code)))
        for code in codes
    ]


def _with_meaning(words: str, meaning: str | None) -> str:
    return f"{words}: {meaning[0].lower()}{meaning[1:]}" if meaning else words


def rejection_reason_text(document: Document) -> str:
    """The message about a document that was rejected after its malware scan. An empty string for other documents."""
    if not document.is_unusable:
        return ""
    threat = document.threat or "unknown"
    if document.scan_status == "rejected":
        return f"The virus scanner found {threat}. The content was deleted, and nobody can open it."
    if threat.startswith(ENCRYPTED):
        return "The file is protected by a password, so it could not be scanned for viruses. The content was deleted."
    if threat.startswith(LIMITS_EXCEEDED):
        return "The file is too large or too complex to be scanned for viruses. The content was deleted."
    return f"The file could not be read: {threat}."
