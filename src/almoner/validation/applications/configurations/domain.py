"""Submission configurations: the record, and its allowed values (spec 4.7; settled 4 and 8)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Final, Literal, get_args
from uuid import UUID

from almoner.kit import language as languages
from almoner.kit import web
from almoner.kit.events import InternalEvent
from almoner.nonprofits.organisations.domain import OrganisationType
from almoner.screening.watchlists.domain import Category

Check = Literal["validation_request", "compliance", "eligibility", "agent_verification"]
CHECKS: Final[tuple[Check, ...]] = get_args(Check)
ORGANISATION_TYPES: Final[tuple[OrganisationType, ...]] = get_args(OrganisationType)
FieldKind = Literal["short_text", "long_text", "choice", "number", "url"]

COMPLIANCE_FLAGS: Final[tuple[Category, ...]] = ("sanction", "warning", "hateSpeech")
"""The categories that fail compliance by default (settled 4)."""


MAX_CONFIGURATIONS: Final = 100  # the list is not paged (settled 1.1)
MAX_FIELDS: Final = 30
MAX_CHOICES: Final = 50
MAX_LABEL_LENGTH: Final = 300
_MAX_VALUE_LENGTH: Final = 250
MAX_ANSWER_LENGTHS: Final[Mapping[FieldKind, int]] = {"short_text": 255, "long_text": 5_000, "url": 2_048}
_FIELD_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """One choice of a question, with its labels by language."""

    value: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PartnerField:
    """A partner's own question in the form."""

    id: str
    kind: FieldKind
    required: bool
    labels: Mapping[str, str]
    choices: tuple[FieldChoice, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """A submission configuration.

    ``logo``: key of an image; ``primary_color``: ``#0d5c4a``; ``allowed_activity_sub_tags``: codes, None for all.
    """

    id: UUID
    partner_id: UUID
    name: str | None
    display_name: str
    logo: str | None
    primary_color: str | None
    is_default: bool
    checks: tuple[Check, ...]
    allowed_organisation_types: tuple[OrganisationType, ...]
    compliance_flags: tuple[Category, ...]
    allowed_activity_sub_tags: tuple[str, ...] | None
    email_verification: bool
    partner_fields: tuple[PartnerField, ...]
    created_at: datetime
    updated_at: datetime

    def runs_check(self, check: Check) -> bool:
        """Whether its submissions run this check."""
        return check in self.checks


@dataclass(frozen=True, slots=True)
class SubmissionConfigurationChangedEvent:
    """The internal event that a configuration changed."""

    configuration: UUID
    partner: UUID


CHANGED: Final = InternalEvent("internal.configuration_changed", SubmissionConfigurationChangedEvent)
"""Emitted when a configuration changes."""


def find_configuration_problems(configuration: Configuration) -> list[str]:
    """One sentence for every rule that the configuration breaks."""
    found = []
    narrowed = set(configuration.allowed_organisation_types) != set(ORGANISATION_TYPES)
    if narrowed and not configuration.runs_check("validation_request"):
        found.append("body.allowedOrganisationTypes narrows nothing without the check validation_request")
    return found + find_partner_field_problems(configuration.partner_fields)


def find_partner_field_problems(fields: Sequence[PartnerField]) -> list[str]:
    """One sentence for every rule that the questions break."""
    found = []
    if len(fields) > MAX_FIELDS:
        found.append(f"body.partnerFields may have at most {MAX_FIELDS} questions, there are {len(fields)}")
    found += [
        f"body.partnerFields.{place}.id '{fields[place].id[:40]}' is the id of another question"
        for place in _duplicate_places(field.id for field in fields)
    ]
    for place, field in enumerate(fields):
        at = f"body.partnerFields.{place}"
        if _FIELD_ID.fullmatch(field.id) is None:
            found.append(f"{at}.id must begin with a letter and have at most 40 letters, digits and underscores")
        found += _label_problems(f"{at}.labels", field.labels)
        found += _choice_problems(at, field)
    return found


def _choice_problems(at: str, field: PartnerField) -> list[str]:
    if field.kind != "choice":
        return [f"{at}.choices is for questions of type choice alone"] if field.choices else []
    found = []
    if not 2 <= len(field.choices) <= MAX_CHOICES:
        found.append(f"{at}.choices must have 2 to {MAX_CHOICES} answers, there are {len(field.choices)}")
    again = _duplicate_places(choice.value for choice in field.choices)
    found += [f"{at}.choices.{place}.value is the value of another answer" for place in again]
    for place, choice in enumerate(field.choices):
        if not 1 <= len(choice.value) <= _MAX_VALUE_LENGTH:
            found.append(f"{at}.choices.{place}.value must have 1 to {_MAX_VALUE_LENGTH} characters")
        found += _label_problems(f"{at}.choices.{place}.labels", choice.labels)
    return found


def _label_problems(at: str, labels: Mapping[str, str]) -> list[str]:
    found = [] if labels else [f"{at} must have a label in one language at least"]
    for tag, text in labels.items():
        if not languages.is_language_tag(tag):
            found.append(f"{at} has '{tag[:40]}', which is no language tag (RFC 5646)")
        if not 1 <= len(text.strip()) <= MAX_LABEL_LENGTH:
            found.append(f"{at}.{tag[:40]} must have 1 to {MAX_LABEL_LENGTH} characters")
    return found


def _duplicate_places(values: Iterable[str]) -> list[int]:
    """The positions of values that occurred before."""
    seen: set[str] = set()
    places = []
    for place, value in enumerate(values):
        if value in seen:
            places.append(place)
        seen.add(value)
    return places


def label_in_language(labels: Mapping[str, str], language: str) -> str:
    """The label in a language or its nearest fallback."""
    for tag in (language, "en"):
        if found := languages.nearest_offered_language(tag, labels):
            return labels[found]
    return next(iter(labels.values()), "")


def find_answer_problems(fields: Sequence[PartnerField], answers: Mapping[str, object]) -> list[str]:
    """One sentence for every problem of the answers; missing answers are no problem."""
    known = {field.id: field for field in fields}
    found = []
    for name, answer in answers.items():
        at = f"body.partnerFields.{name[:40]}"
        if (field := known.get(name)) is None:
            found.append(f"{at} answers no question of the configuration")
        elif (wrong := find_answer_problem(field, answer)) is not None:
            found.append(f"{at} {wrong}")
    return found


def find_answer_problem(field: PartnerField, answer: object) -> str | None:
    """The problem of one answer; None if it is valid."""
    if field.kind == "number":
        is_number = isinstance(answer, int | float) and not isinstance(answer, bool) and isfinite(answer)
        return None if is_number else "must be a number"
    if not isinstance(answer, str):
        return "must be a string"
    if field.kind == "choice":
        return None if answer in {choice.value for choice in field.choices} else "must be one of the answers to choose"
    if field.kind == "url" and not web.is_web_address(answer):
        return "must be a web address such as https://example.org"
    longest = MAX_ANSWER_LENGTHS[field.kind]
    return None if len(answer) <= longest else f"must be at most {longest} characters"


def find_unanswered_required_fields(
    fields: Sequence[PartnerField], answers: Mapping[str, object]
) -> list[PartnerField]:
    """The required questions without an answer."""
    return [field for field in fields if field.required and answers.get(field.id) in (None, "")]
