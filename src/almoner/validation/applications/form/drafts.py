"""An application form's answers so far, its steps and what each still needs; pure.

Problems are catalogue keys by the ID of the field that they are shown beside.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit import web
from almoner.platform.outbound import email_addresses
from almoner.validation.applications.configurations.domain import MAX_ANSWER_LENGTHS, Configuration, PartnerField

FormStep = Literal["nonprofit", "person", "questions", "documents", "review"]
Problems = dict[str, str]

_MAX_LENGTH: Final = 255  # spec 4.1 and 4.7
_MAX_NAME: Final = 500

_MAX_HANDOVERS: Final = 5
"""Emails per invite: enough to reach colleagues, too few to harass anybody."""
_MIN_SEND_INTERVAL: Final = timedelta(minutes=1)
_MAX_SENDS_PER_DAY: Final = 3
DAY: Final = timedelta(days=1)
"""The period of the limit on emails to one address, across all invites."""

_NUMBER: Final = re.compile(r"[+-]?\d{1,15}([.,]\d{1,6})?")
_MAX_NUMBER: Final = 100
_MARKS: Final = str.maketrans("\u066b\u066c\u2019\u2212", ".''-")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""Ambiguous numbers such as 1.234: a thousand in one language, three decimals in another. They are refused."""
_GROUPED: Final = re.compile(
    r"[+-]?[1-9]\d{0,2}(?:([ '.,])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d{1,6})?"
    r"|[+-]?[1-9]\d?(?:(,)\d{2})+,\d{3}(?:\.\d{1,6})?"
)
"""Numbers such as 1 234, 1.234.567, 1,234.50 and 12,34,567, which have one meaning in every language."""


@dataclass(frozen=True, slots=True)
class UnlistedNonprofit:
    """A nonprofit that is not found by the search, as typed."""

    name: str = ""
    country: str = ""
    registry: str = ""
    number: str = ""
    website: str = ""


@dataclass(frozen=True, slots=True)
class ApplicantDetails:
    """The applicant's name, email address and title."""

    first_name: str = ""
    last_name: str = ""
    email: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class ApplicationDraft:
    """The answers so far. None: the step is not completed. ``language``: chosen by the applicant."""

    organisation: UUID | None = None
    unlisted: UnlistedNonprofit | None = None
    person: ApplicantDetails | None = None
    answers: Mapping[str, str] | None = None
    documents: bool = False
    language: str | None = None


@dataclass(frozen=True, slots=True)
class FormShare:
    """An email that hands the form over to a colleague."""

    id: UUID
    invite_id: UUID
    email: str
    shared_at: datetime


def form_steps_of(configuration: Configuration) -> tuple[FormStep, ...]:
    """The steps that a configuration requires, in order."""
    steps: list[FormStep] = ["nonprofit", "person"]  # somebody must be notified, whichever checks run
    if configuration.partner_fields:
        steps.append("questions")
    if configuration.runs_check("validation_request") or configuration.runs_check("agent_verification"):
        steps.append("documents")
    return (*steps, "review")


def is_step_done(step: FormStep, draft: ApplicationDraft, configuration: Configuration) -> bool:
    """Whether a step is complete; the review is completed by submitting."""
    match step:
        case "nonprofit":
            unlisted = draft.unlisted is not None and accepts_unlisted_nonprofits(
                configuration
            )  # the configuration may have stopped accepting these
            return draft.organisation is not None or unlisted
        case "person":
            return draft.person is not None and not find_applicant_problems(
                draft.person, name_required=requires_applicant_name(configuration)
            )
        case "questions":
            return draft.answers is not None and not find_answer_problems(configuration.partner_fields, draft.answers)
        case "documents":
            return draft.documents
        case "review":
            return False


def first_incomplete_step(draft: ApplicationDraft, configuration: Configuration) -> FormStep:
    """The first incomplete step."""
    return next(step for step in form_steps_of(configuration) if not is_step_done(step, draft, configuration))


def next_step(step: FormStep, configuration: Configuration) -> FormStep:
    """The next step."""
    steps = form_steps_of(configuration)
    return steps[min(steps.index(step) + 1, len(steps) - 1)]


def requires_applicant_name(configuration: Configuration) -> bool:
    """Whether the applicant's name is required (spec 4.7)."""
    return configuration.runs_check("agent_verification")


def find_unlisted_nonprofit_problems(unlisted_nonprofit: UnlistedNonprofit) -> Problems:
    """Problems of the details of an unlisted nonprofit; the registration number is checked elsewhere."""
    problems: Problems = {}
    if not unlisted_nonprofit.name:
        problems["name"] = "apply.problem.name.missing"
    elif len(unlisted_nonprofit.name) > _MAX_NAME:
        problems["name"] = "apply.problem.too_long"
    if not unlisted_nonprofit.registry:
        problems["registry"] = "apply.problem.registry.missing"
    if not unlisted_nonprofit.number:
        problems["number"] = "apply.problem.number.missing"
    elif len(unlisted_nonprofit.number) > _MAX_LENGTH:
        problems["number"] = "apply.problem.too_long"
    if not unlisted_nonprofit.website:
        problems["website"] = "apply.problem.website.missing"
    elif len(unlisted_nonprofit.website) > _MAX_LENGTH:
        problems["website"] = "apply.problem.too_long"
    elif not web.is_web_address(unlisted_nonprofit.website):
        problems["website"] = "apply.problem.website.wrong"
    return problems


def find_applicant_problems(
    applicant: ApplicantDetails, *, name_required: bool = True, family_name_first: bool = False
) -> Problems:
    """Find problems of the entered applicant details.

    ``name_required``: whether a name is required; one is enough. ``family_name_first``: the order of the page. The
    email address always is required: without it nobody can be notified of what is missing or decided.
    """
    problems: Problems = {}
    if name_required and not (applicant.first_name or applicant.last_name):
        problems["last_name" if family_name_first else "first_name"] = "give.problem.name.missing"
    for field, value in (("first_name", applicant.first_name), ("last_name", applicant.last_name)):
        if len(value) > _MAX_LENGTH:
            problems[field] = f"give.problem.{field}.too_long"
    problems |= find_email_problems(applicant.email)
    if len(applicant.title) > _MAX_LENGTH:
        problems["title"] = "apply.problem.too_long"
    return problems


def find_email_problems(email: str) -> Problems:
    """The problem of an email address."""
    if not email:
        return {"email": "give.problem.email.missing"}
    if len(email) > _MAX_LENGTH:
        return {"email": "give.problem.email.too_long"}
    return {} if email_addresses.is_email_address(email) else {"email": "give.problem.email.wrong"}


def find_answer_problems(fields: Sequence[PartnerField], answers: Mapping[str, str]) -> Problems:
    """Problems of the answers to the partner's questions, by input ID."""
    found = {f"q-{field.id}": _answer_problem(field, answers.get(field.id, "")) for field in fields}
    return {field: problem for field, problem in found.items() if problem is not None}


def _answer_problem(field: PartnerField, answer: str) -> str | None:
    if not answer:
        if not field.required:
            return None
        return "apply.problem.choice.missing" if field.kind == "choice" else "apply.problem.answer.missing"
    match field.kind:
        case "choice" if answer not in {choice.value for choice in field.choices}:
            return "apply.problem.choice.missing"
        case "number" if parse_number(answer) is None:
            ambiguous = len(answer) <= _MAX_NUMBER and _THOUSANDS.fullmatch(_ascii_number(answer))
            return "apply.problem.figure.separator" if ambiguous else "apply.problem.figure.wrong"
        case "url" if len(answer) > MAX_ANSWER_LENGTHS["url"] or not web.is_web_address(answer):
            return "apply.problem.website.wrong"
        case "short_text" | "long_text" if len(answer) > MAX_ANSWER_LENGTHS[field.kind]:
            return "apply.problem.too_long"
        case _:
            return None


def accepts_unlisted_nonprofits(configuration: Configuration) -> bool:
    """Whether the form accepts a nonprofit that the search does not find."""
    return "validation_request" in configuration.checks


def parse_number(text: str) -> int | float | None:
    """A typed number in any script's digits; None for anything else."""
    if len(text) > _MAX_NUMBER:
        return None
    plain = _ascii_number(text)
    if _THOUSANDS.fullmatch(plain):
        return None
    if grouped := _GROUPED.fullmatch(plain):
        plain = plain.replace(grouped[1] or grouped[2], "")
    if _NUMBER.fullmatch(plain) is None:
        return None
    value = float(plain.replace(",", "."))
    return int(value) if value.is_integer() else value


def _ascii_number(text: str) -> str:
    """A number with ASCII digits and marks."""
    plain = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in unicodedata.normalize("NFKC", text))
    return plain.translate(_MARKS).strip()


def may_resend_application_link(previous_send_times: Sequence[datetime], now: datetime) -> bool:
    """Whether the application's link may be emailed again now."""
    return len(_within_a_day(previous_send_times, now)) < _MAX_SENDS_PER_DAY and all(
        now - at >= _MIN_SEND_INTERVAL for at in previous_send_times
    )


def append_send_time_and_drop_old(previous_send_times: Sequence[datetime], now: datetime) -> list[datetime]:
    """The send times that still count against the limit, including now."""
    return [*_within_a_day(previous_send_times, now), now]


def _within_a_day(mailed: Sequence[datetime], now: datetime) -> list[datetime]:
    return [at for at in mailed if now - at < DAY]


def may_email_form_link(
    previous_invite_send_times: Sequence[datetime], previous_address_send_times: Sequence[datetime], now: datetime
) -> bool:
    """Whether another handover email may be sent, by invite and by address."""
    if len(previous_invite_send_times) >= _MAX_HANDOVERS or any(
        now - at < _MIN_SEND_INTERVAL for at in previous_invite_send_times
    ):
        return False
    return len(_within_a_day(previous_address_send_times, now)) < _MAX_SENDS_PER_DAY
