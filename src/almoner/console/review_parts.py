"""The evidence of a case as its pages show it: compared values, other facts, and what the rules found."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from almoner.console.differences import build_comparison_rows
from almoner.console.readings import Romanisation, romanise_text
from almoner.console.review_words import (
    FINDING_WORDS,
    FLAG_WORDS,
    evaluation_step_facts,
    format_fact_value,
    rejection_reason_text,
)
from almoner.kit.evidence import EvaluationStep
from almoner.kit.ids import RecordIdCodec
from almoner.platform.pages.record_tables import humanise_field_name
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews.domain import Fact, Kind, ReviewEvidence, ReviewSubject

_FINDING_WORDS: Final[Mapping[str, str]] = {str(finding): words for finding, words in FINDING_WORDS.items()}
_STEP_ORDER: Final = ("fail", "warn", "unknown")
"""The verdicts that a reviewer must read, the most important one first."""
_READ_ALOUD: Final = ("name", "first name", "last name", "address")
"""Facts that are shown in Latin letters, too."""
_SUBMITTED: Final = frozenset(
    (
        *("name", "identifier", "website", "address", "email", "countries", "numbers"),
        "website, as stated by the applicant",
    )
)
"""Facts that comparisons show, too."""


def evidence_template_values(
    ids: RecordIdCodec, subject: ReviewSubject, evidence: ReviewEvidence, candidate_id: str
) -> dict[str, Any]:
    """The values that the template ``review_parts.html`` needs. ``candidate_id``: the register entry to compare."""
    return {
        **_candidate_parts(ids, subject, evidence, candidate_id),
        "compared": build_comparison_rows(evidence.value_comparisons, subject.country_code),
        "facts": facts_missing_from_comparison(evidence),
        "fact_words": format_fact_value,
        "fact_path": partial(_organisation_path, ids),
        "fact_reading": partial(romanise_fact_value, subject.country_code),
        "steps": split_steps_to_review_and_passed(subject.kind, evidence.steps),
        "step_name": partial(_step_name_text, subject.kind),
        "step_result": partial(_match_step_text, subject.kind),
        "step_facts": evaluation_step_facts,
    }


def document_template_values(ids: RecordIdCodec, attached: Sequence[Document]) -> dict[str, Any]:
    """The values that ``document_list`` of the template ``review_parts.html`` needs.

    Each document comes with its ID and whether it can be opened.
    """
    return {
        "attached": [(one, ids.encode(documents.TYPE, one.id), one.status == "clean") for one in attached],
        "flag_words": FLAG_WORDS,
        "rejection_reason_text": rejection_reason_text,
    }


def _candidate_parts(
    ids: RecordIdCodec, subject: ReviewSubject, evidence: ReviewEvidence, candidate_id: str
) -> dict[str, Any]:
    """The register entries that may be meant instead, by ID, and the one to compare: the chosen or the first one."""
    candidates = {ids.encode("organisation", one.organisation_id): one for one in evidence.candidates}
    chosen = candidate_id if candidate_id in candidates else next(iter(candidates), None)
    compared = candidates[chosen].value_comparisons if chosen else ()
    return {
        "candidates": candidates,
        "chosen_candidate": chosen,
        "candidate_compared": build_comparison_rows(compared, subject.country_code),
    }


def facts_missing_from_comparison(evidence: ReviewEvidence) -> list[Fact]:
    """The facts of a case, without submitted values that the comparison shows already.

    The same value under another label is a fact of its own, such as a listed name and its kind.
    """
    compared = {(_check_of(one.label), one.stated) for one in evidence.value_comparisons if one.stated}
    return [
        (label, value)
        for label, value in evidence.facts
        if label.rpartition(": ")[2] not in _SUBMITTED or (_check_of(label), value) not in compared
    ]


def _check_of(label: str) -> str:
    """The check that a label of an appeal starts with; empty in other cases."""
    return label.rpartition(": ")[0].casefold()


def romanise_fact_value(country: str | None, label: str, value: str) -> Romanisation | None:
    """A name or address in Latin letters, if it is not in them."""
    return romanise_text(value, {country} if country else set()) if label.rpartition(": ")[2] in _READ_ALOUD else None


def _organisation_path(ids: RecordIdCodec, value: str) -> str | None:
    """The path of the organisation whose ID a fact starts with; None if it starts with none."""
    name = value.partition(" ")[0]
    return f"/organisations/{name}" if ids.decode("organisation", name) is not None else None


def _step_name_text(kind: Kind, name: str) -> str:
    """The label of a step. The steps of a match are the parts of its score."""
    return _FINDING_WORDS.get(name, name) if kind == "match" else humanise_field_name(name)


def _match_step_text(kind: Kind, step: EvaluationStep) -> str:
    """What a step of a match says; empty for other cases. A step in favour of a match is no check that passed."""
    if kind != "match":
        return ""
    points = float(str(step.facts.get("points", 0)))
    if step.verdict == "not_applicable" or not points:
        return "Neither for nor against a match"
    return "For a match" if points > 0 else "Against a match"


def split_steps_to_review_and_passed(
    kind: Kind, steps: Sequence[EvaluationStep]
) -> tuple[list[EvaluationStep], list[EvaluationStep]]:
    """The steps to read, failed ones first, and those that passed or did not apply. Of a match, all are to read."""
    if kind == "match":
        return list(steps), []
    shown = sorted((one for one in steps if one.verdict in _STEP_ORDER), key=lambda one: _STEP_ORDER.index(one.verdict))
    return shown, [one for one in steps if one.verdict not in _STEP_ORDER]
