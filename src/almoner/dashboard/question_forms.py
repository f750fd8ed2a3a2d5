"""The form of one question of an application form: converts between form and question, and finds problems. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, get_args

from almoner.kit.language import is_language_tag
from almoner.validation.applications.configurations.domain import (
    MAX_CHOICES,
    FieldChoice,
    FieldKind,
    PartnerField,
    find_partner_field_problems,
)

KINDS: Final[tuple[FieldKind, ...]] = get_args(FieldKind)
MAX_LANGUAGES: Final = 50
_MOST_CHOICES: Final = 2 * MAX_CHOICES
"""The maximum number of options shown; further ones are only counted."""
_NONE: Final = "-"
_NO_TEXT: Final = frozenset({"", _NONE, "\N{EN DASH}"})
"""Entries that mean that a choice has no text in this language."""
ProblemMember = Literal["id", "type", "values", "label", "answers"]


@dataclass(frozen=True, slots=True)
class QuestionTranslation:
    """A question in one language. ``answers``: one per line, in the order of the values; "-" for none."""

    tag: str
    label: str = ""
    answers: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the question has no text in this language."""
        return not (self.label.strip() or self.answers.strip())


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """A question as entered. ``values``: its choices, one per line."""

    id: str = ""
    kind: FieldKind = "short_text"
    required: bool = False
    values: str = ""
    languages: tuple[QuestionTranslation, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionProblem:
    """A problem of an entered question: the field, its language and line, and the reason in English."""

    field_name: ProblemMember
    reason: str
    language_tag: str = ""
    line: int | None = None


def question_form_from_field(field: PartnerField) -> QuestionForm:
    """The form with a question's current values."""
    tags = dict.fromkeys([*field.labels, *(tag for choice in field.choices for tag in choice.labels)])
    texts = tuple(
        QuestionTranslation(
            tag, field.labels.get(tag, ""), "\n".join(_one_line(one.labels.get(tag, _NONE)) for one in field.choices)
        )
        for tag in tags
    )
    values = "\n".join(_one_line(choice.value) for choice in field.choices)
    return QuestionForm(field.id, field.kind, field.required, values, texts)


def parse_question_form(form: QuestionForm) -> PartnerField:
    """The entered question and its problems."""
    written = [(one.tag, one.label.strip(), _lines(one.answers)) for one in form.languages if not one.is_empty]
    choices = tuple(
        FieldChoice(
            value,
            {tag: lines[place] for tag, _, lines in written if place < len(lines) and lines[place] not in _NO_TEXT},
        )
        for place, value in enumerate(_lines(form.values)[:_MOST_CHOICES])
    )
    labels = {tag: label for tag, label, _ in written if label}
    return PartnerField(form.id, form.kind, form.required, labels, choices)


def find_question_problems(form: QuestionForm, fields: Sequence[PartnerField], position: int) -> list[QuestionProblem]:
    """All problems of an entered question at this position."""
    values = len(_lines(form.values))
    unmatched = [
        QuestionProblem("answers", "", language_tag=one.tag)
        for one in form.languages
        if len(_lines(one.answers)) > values
    ]
    if values > _MOST_CHOICES:
        many = f"must have at most {MAX_CHOICES} answers, but there are {values}"
        return [*unmatched, QuestionProblem("values", many)]
    return [*unmatched, *problems_from_api_reasons(find_partner_field_problems(fields), position)]


def problems_from_api_reasons(reasons: Iterable[str], position: int) -> list[QuestionProblem]:
    """The API's reasons for refusing the question at this position, by form field."""
    found = []
    for reason in reasons:
        own = reason.removeprefix(f"body.partnerFields.{position}.")
        name, _, rest = own.partition(" ")
        match name.split("."):
            case _ if own == reason:
                found.append(QuestionProblem("id", reason))
            case ["labels", *tag]:
                found.append(QuestionProblem("label", rest, "".join(tag)))
            case ["choices", line, "labels", *tag]:
                found.append(QuestionProblem("answers", rest, "".join(tag), int(line) + 1))
            case ["choices", line, *_]:
                found.append(QuestionProblem("values", rest, line=int(line) + 1))
            case ["choices"]:
                found.append(QuestionProblem("values", rest))
            case [member]:
                found.append(QuestionProblem("type" if member == "type" else "id", rest))
    return found


def add_language(
    translations: Sequence[QuestionTranslation], language_tag: str
) -> tuple[QuestionTranslation, ...] | None:
    """The question with one more language; None if the tag is invalid or there are too many."""
    if any(one.tag == language_tag for one in translations):
        return tuple(translations)
    if not is_language_tag(language_tag) or len(translations) >= MAX_LANGUAGES:
        return None
    return (*translations, QuestionTranslation(language_tag))


def move_question(fields: Sequence[PartnerField], question_id: str, position: int) -> tuple[PartnerField, ...]:
    """The questions with one moved to another position."""
    moved = [field for field in fields if field.id == question_id]
    rest = [field for field in fields if field.id != question_id]
    return (*rest[:position], *moved, *rest[position:])


def replace_question(fields: Sequence[PartnerField], question: PartnerField) -> tuple[PartnerField, ...]:
    """The questions with one replaced."""
    return tuple(question if field.id == question.id else field for field in fields)


def parse_questions(record: Mapping[str, Any]) -> tuple[PartnerField, ...]:
    """The questions of a configuration as the API returns it."""
    return tuple(
        PartnerField(
            one["id"],
            one["type"],
            one["required"],
            one["labels"],
            tuple(FieldChoice(choice["value"], choice["labels"]) for choice in one["choices"]),
        )
        for one in record["partnerFields"]
    )


def build_questions_request_body(fields: Iterable[PartnerField]) -> dict[str, object]:
    """The API body for the questions of a configuration."""
    return {
        "partnerFields": [
            {
                "id": field.id,
                "type": field.kind,
                "required": field.required,
                "labels": field.labels,
                "choices": [{"value": choice.value, "labels": choice.labels} for choice in field.choices],
            }
            for field in fields
        ]
    }


def hash_questions(fields: Iterable[PartnerField]) -> str:
    """A hash that changes with every change of the questions."""
    return sha256(json.dumps(build_questions_request_body(fields), sort_keys=True).encode()).hexdigest()[:32]


def _lines(text: str) -> list[str]:
    """The lines; empty ones in the middle stay, since a line's position counts."""
    return [line.strip() for line in text.rstrip().split("\n")] if text.strip() else []


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
