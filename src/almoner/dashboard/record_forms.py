"""Converts form values to members of an API request body, and back."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.accounts.page_texts import PageTexts
from almoner.dashboard.domain import FormField
from almoner.dashboard.facts import value_at_path
from almoner.kit.time import convert_day_to_start_timestamp, parse_timestamp
from almoner.platform.pages import formats
from almoner.platform.pages.numbers import parse_amount

FormValues = Mapping[str, str | list[str]]
"""The submitted values of a form, by field: text, or the selected options."""

_TICKED: Final = frozenset({"choices", "nonprofits"})
_MOST_TICKED: Final = 50
_ANY_CURRENCY: Final = "USD"


class MergedFormValues(NamedTuple):
    """The values of a form after a merge, and the fields that somebody else has changed."""

    values: dict[str, str | list[str]]
    changed_fields: list[str]


class ParsedForm(NamedTuple):
    """The changed members as a request body, and the problems of unreadable fields."""

    request_body: dict[str, object]
    problems: dict[str, str]


class _NoAmountError(Exception):
    """The entered text is not an amount."""


def initial_form_values(fields: Sequence[FormField]) -> dict[str, str | list[str]]:
    """The initial values of a form for a new record."""
    return {
        field.member: list(field.initial_value) if field.kind in _TICKED else str(field.initial_value)
        for field in fields
    }


def submitted_form_values(visitor: SignedInRequest, fields: Sequence[FormField]) -> dict[str, str | list[str]]:
    """The submitted form."""
    found: dict[str, str | list[str]] = {}
    for field in fields:
        if field.kind == "choices":
            found[field.member] = visitor.checkbox_values(field.member, field.choices)
        elif field.kind == "nonprofits":
            ticked = [str(one)[:100] for one in visitor.form.getlist(field.member)]
            found[field.member] = list(dict.fromkeys(ticked))[:_MOST_TICKED]
        else:
            found[field.member] = visitor.form_value(field.member).replace("\r\n", "\n").strip()
    return found


def form_values_of_record(record: Mapping[str, Any], fields: Sequence[FormField], texts: PageTexts) -> dict[str, Any]:
    """The form with the current values of a record."""
    currency = _currency_of_record(record)
    found: dict[str, Any] = {field.member: [] if field.kind in _TICKED else "" for field in fields}
    for field in fields:
        value = value_at_path(record, field.member)
        if value is not None:
            found[field.member] = _typed_value(field, value, currency, texts)
    return found


def hash_form_values(values: FormValues) -> dict[str, str]:
    """A short hash of each value. A form contains the hashes of the values that it was filled with."""
    return {
        member: sha256(repr(value.strip() if isinstance(value, str) else sorted(value)).encode()).hexdigest()[:16]
        for member, value in values.items()
    }


def merge_concurrent_changes(
    entered_values: FormValues, shown_hashes: Mapping[str, str], current_values: FormValues
) -> MergedFormValues:
    """The values of a form, and the fields that it would set back because somebody has changed them since.

    A field that was not touched gets its current value.
    """
    current, entered = hash_form_values(current_values), hash_form_values(entered_values)
    changed = [one for one in entered if shown_hashes.get(one, current[one]) != current[one] != entered[one]]
    untouched = {one for one in changed if entered[one] == shown_hashes[one]}
    merged = {one: current_values[one] if one in untouched else value for one, value in entered_values.items()}
    return MergedFormValues(merged, changed)


def _typed_value(field: FormField, value: Any, currency: str, texts: PageTexts) -> str | list[str]:
    locale = texts.language.locale
    match field.kind:
        case "amount":
            return formats.format_amount_without_currency(value, currency, locale)
        case "amounts":
            return "\n".join(formats.format_amount_without_currency(one, currency, locale) for one in value)
        case "lines":
            return "\n".join(value)
        case "codes":
            return ", ".join(value)
        case "choices" | "nonprofits":
            return list(value)
        case "tick":
            return "yes" if value else ""
        case "last_day":
            moment = parse_timestamp(value) - timedelta(microseconds=1)
            return moment.astimezone(texts.zone).date().isoformat()
    return str(value)


def parse_form(
    fields: Sequence[FormField],
    entered_values: FormValues,
    previous_values: FormValues,
    texts: PageTexts,
    record: Mapping[str, Any] | None = None,
) -> ParsedForm:
    """Read a form. ``record``: the record to change."""
    known = _currency_of_record(record or {})
    currency = _currency_typed(fields, entered_values) or known
    body: dict[str, object] = {}
    problems: dict[str, str] = {}
    for field in fields:
        text = entered_values[field.member]
        in_other_currency = field.kind in ("amount", "amounts") and currency != known and bool(text)
        if text == previous_values[field.member] and not in_other_currency:
            continue
        try:
            around, _, member = field.member.rpartition(".")
            inner: Any = body.setdefault(around, {}) if around else body
            inner[member] = _member_value(field, text, currency, texts)
        except _NoAmountError:
            example = formats.format_amount_without_currency(2500, currency, texts.language.locale)
            key = "dashboard.amounts.problem" if field.kind == "amounts" else "dashboard.refund.problem"
            problems[field.member] = texts.text(key, example=example)
    return ParsedForm(body, problems)


def _member_value(field: FormField, text: str | list[str], currency: str, texts: PageTexts) -> object:
    """The value of a member for the request body. Raises _NoAmountError."""
    if field.kind == "tick":
        return text == "yes"
    if isinstance(text, list) and (text or field.initial_value):
        return text
    if not text or isinstance(text, list):
        return None
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    match field.kind:
        case "amount":
            return _minor(text, currency, texts)
        case "amounts":
            return [_minor(line, currency, texts) for line in lines]
        case "lines":
            return lines
        case "codes":
            return text.upper().replace(",", " ").split()
        case "day":
            return convert_day_to_start_timestamp(text, texts.zone)
        case "last_day":
            return convert_day_to_start_timestamp(text, texts.zone, days_later=1)
    return text


def _minor(text: str, currency: str, texts: PageTexts) -> int:
    minor = parse_amount(text, currency, texts.language.locale)
    if not isinstance(minor, int):
        raise _NoAmountError
    return minor


def _currency_of_record(record: Mapping[str, Any]) -> str:
    return str(record.get("currencyCode") or next(iter(record.get("currencies") or ()), _ANY_CURRENCY))


def _currency_typed(fields: Sequence[FormField], entered_values: FormValues) -> str | None:
    """The first currency in the form: its amounts are in it."""
    for field in fields:
        if field.kind == "codes" and isinstance(text := entered_values[field.member], str):
            first = next(iter(text.upper().replace(",", " ").split()), "")
            return first if len(first) == len(_ANY_CURRENCY) and first.isascii() and first.isalpha() else None
    return None
