"""Building blocks of record tables, facts and timelines on pages of members and operators; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

ColumnKind = Literal[
    "id", "text", "amount", "status", "moment", "age", "organisation", "donor", "value", "language", "country", "yes_no"
]
SortKey = Literal["id", "name", "amount", "dueAt", "nextDonationAt", "status"]
"""``id``: the order of creation, which has an index with every filter. The others have an index without filters only.

Except ``status``: one status after the other, newest first; each is the list filtered by it.
"""
FilterKind = Literal["choice", "text", "email", "day"]
FactKind = Literal[
    "text", "amount", "amounts", "status", "moment", "yes_no", "language", "country", "link", "address", "values"
]
Tone = Literal["good", "waiting", "bad"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list. ``member``: of the record; its kind decides the format.

    ``label_member``: the member whose label it uses, if not its own. ``sort``: the sort key that the API call uses for
    it. ``place``: ``below`` shows the value in the cell of the column before it; ``file`` only in the CSV download.
    """

    member: str
    kind: ColumnKind = "text"
    label_member: str = ""
    sort: SortKey | None = None
    place: Literal["column", "below", "file"] = "column"

    @property
    def label(self) -> str:
        """The member whose label the column shows."""
        return self.label_member or self.member


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of a list. ``parameter``: of the API call; ``choices``: its possible values.

    ``label_member``: the member whose label it uses, if not its own.
    """

    parameter: str
    kind: FilterKind = "text"
    choices: tuple[str, ...] = ()
    label_member: str = ""

    @property
    def label(self) -> str:
        """The member whose label the filter shows."""
        return self.label_member or self.parameter


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """An active filter. ``label``: its member; ``removal_url``: the URL of the list without it."""

    label: str
    value: str
    removal_url: str


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a sortable column. ``href``: the list sorted by it; ``sorted``: its current order."""

    href: str
    sorted: Literal["ascending", "descending"] | None


@dataclass(frozen=True, slots=True)
class Cell:
    """The content of a cell. ``href``: its link, in the first column. ``below``: further values in the same cell."""

    column: Column
    value: object
    currency: str | None = None
    href: str | None = None
    below: Sequence["Cell"] = ()


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """One fact. ``href``: the page of the record that an ID names. ``currency``: of an amount."""

    label: str
    value: Any
    kind: FactKind = "text"
    href: str | None = None
    currency: str | None = None
    id: str | None = None


@dataclass(slots=True)
class Section:
    """Facts under a heading, with subsections.

    ``title``: empty for the record's own facts; a value of the API if ``titled_by_value``.
    """

    title: str
    facts: list[LabelledValue] = field(default_factory=list)
    sections: list["Section"] = field(default_factory=list)
    titled_by_value: bool = False


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One step of a timeline.

    ``label``, ``note``: catalogue keys, or text on pages that exist only in English. ``at``: an ISO timestamp, if
    known. ``amount``: in minor units of ``currency``.
    """

    label: str
    state: Literal["done", "waiting", "next"]
    at: str | None = None
    note: str = ""
    amount: int | None = None
    currency: str | None = None


_GOOD: Final = frozenset(
    "RECEIVED_PAYMENT DISBURSED PAID SENT completed succeeded accepted approved live delivered active clean healthy"
    " won pass operational resolved".split()
)
_BAD: Final = frozenset(
    "CANCELLED RETURNED failed rejected expired cancelled suspended failing exhausted lost infected unreadable fail"
    " outage validation_request_failed cannot_define_eligibility".split()
)


def status_tone(status: str) -> Tone:
    """The tone of a status: success, ended otherwise, or in progress."""
    if status in _GOOD:
        return "good"
    return "bad" if status in _BAD else "waiting"


_API_FIELD: Final = re.compile(r"(?:^|(?<=[.;] ))(?:body|query)((?:\.\w+)+)", re.IGNORECASE)


def humanise_api_fields(text: str) -> str:
    """The API's sentences with words for their fields: ``body.startDate must be`` as "Start date must be"."""
    return _API_FIELD.sub(lambda found: humanise_field_name(found[1][1:].replace(".", "_")), text)


def humanise_field_name(name: str) -> str:
    """A label for a member or status that the catalogues lack: ``donationRequestId`` as "Donation request ID"."""
    spaced = "".join(f" {sign.lower()}" if sign.isupper() and not name.isupper() else sign for sign in name)
    words = spaced.replace("_", " ").lower().split() if name.isupper() or "_" in name else spaced.split()
    text = " ".join("ID" if word == "id" else "URL" if word == "url" else word for word in words)
    return text[:1].upper() + text[1:]
