"""A record as facts in words, section by section; pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from almoner.dashboard.record_lists import PATHS_BY_ID_TYPE
from almoner.platform.pages.record_tables import LabelledValue, Section

_LEFT_OUT = frozenset({"id", "secret"})
_AMOUNTS = frozenset("amount paidAmount refundedAmount totalAmount minimum maximum goal suggestedAmounts".split())
_IN_WORDS = frozenset(
    "active category check decision from inactiveReason organisationTypes reason receiptDelivery rejectionReasonCode"
    " type types waitingReason code anonymous consentedToBeContactedByOrg frequency frequencies pauseReason"
    " cancellationReason checks allowedOrganisationTypes complianceFlags".split()
)
"""Members, other than statuses, that have only a few known values."""
_MOMENTS = frozenset({"since", "due"})
"""Timestamp members whose names do not end in At."""
_FIRST = frozenset({"requirements"})
"""Facts that are shown first: what a record is waiting for."""
Label = Callable[[str], str]
"""The label of a field."""


def value_at_path(record: Mapping[str, Any], path: str) -> object:
    """A field of a record or of a nested record (``agentVerification.email``); None if it does not exist."""
    found: object = record
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def build_record_sections(
    record: Mapping[str, Any], account_path: str, organisation_names: Mapping[str, str], label: Label
) -> list[Section]:
    """The facts of a record: its own first, then those of nested records and lists.

    ``account_path``: the account's path. ``organisation_names``: organisations' names by ID.
    """
    top = _section("", record, account_path, organisation_names, label, None)
    return [Section("", top.facts), *top.sections]


def _section(
    title: str, record: Mapping[str, Any], home: str, names: Mapping[str, str], label: Label, around: str | None
) -> Section:
    """The section of a record. ``around``: the currency of the record that contains it."""
    made, currency = Section(title), _currency_of(record) or around
    for name, value in sorted(record.items(), key=lambda item: item[0] not in _FIRST):
        if name in _LEFT_OUT or value is None or value in ("", [], {}):
            continue
        called = label(name)
        if isinstance(value, Mapping):
            below = _section(called, value, home, names, label, currency)
            if (below.facts or below.sections) and value.get("id", "") is not None:
                made.sections.append(below)
        elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            listed = Section(called)
            listed.sections = [
                _listed_section(one, position, home, names, label, currency)
                for position, one in enumerate(value, 1)
                if isinstance(one, Mapping)
            ]
            made.sections.append(listed)
        elif isinstance(value, list):
            made.facts.append(_fact_of_list(name, called, value, currency, names))
        else:
            made.facts.append(_fact(name, called, value, currency, home, names))
    return made


def _currency_of(record: Mapping[str, Any]) -> str | None:
    """The currency of a record's amounts."""
    several: Sequence[str] = record.get("currencies") or []
    return record.get("currencyCode") or record.get("currency") or (several[0] if len(several) == 1 else None)


def _fact_of_list(
    name: str, label: str, value: Sequence[Any], currency: str | None, names: Mapping[str, str]
) -> LabelledValue:
    if name in _AMOUNTS and currency:
        return LabelledValue(label, value, "amounts", currency=currency)
    if name in _IN_WORDS:
        return LabelledValue(label, value, "values")
    return LabelledValue(label, ", ".join(names.get(str(one), str(one)) for one in value))


def _listed_section(
    record: Mapping[str, Any], position: int, home: str, names: Mapping[str, str], label: Label, currency: str | None
) -> Section:
    """The section of a record in a list, headed by its name, code or type, or else its position."""
    member = next((one for one in ("name", "displayName", "fileName", "code", "type") if record.get(one)), None)
    section = _section(str(record[member] if member else position), record, home, names, label, currency)
    section.titled_by_value = member in _IN_WORDS
    return section


def _fact(
    name: str, label: str, value: Any, currency: str | None, home: str, names: Mapping[str, str]
) -> LabelledValue:
    if isinstance(value, bool):
        return LabelledValue(label, value, "yes_no")
    if name in _AMOUNTS and isinstance(value, int):
        return LabelledValue(label, value, "amount", currency=currency) if currency else LabelledValue(label, value)
    if name == "status" or name.endswith("Status"):
        return LabelledValue(label, value, "status")
    if name.endswith("At") or name in _MOMENTS:
        return LabelledValue(label, value, "moment")
    if name == "language":
        return LabelledValue(label, value, "language")
    if name == "countryCode":
        return LabelledValue(label, value, "country")
    if isinstance(value, str) and (path := _path_of(value)):
        return LabelledValue(label, names.get(value, value), "link", f"{home}{path}/{value}", id=value)
    if isinstance(value, str) and value.startswith(("https://", "http://")):
        return LabelledValue(label, value, "address")
    if isinstance(value, str) and name in _IN_WORDS:
        return LabelledValue(label, [value], "values")
    return LabelledValue(label, value)


def _path_of(name: str) -> str | None:
    """The path of a record's page by its ID, with or without ``sandbox_``."""
    id_type = name.removeprefix("sandbox_").partition("_")[0]
    return PATHS_BY_ID_TYPE.get(id_type) if "_" in name else None
