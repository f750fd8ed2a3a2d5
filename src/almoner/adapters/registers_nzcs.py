"""Reads the charities register of New Zealand (OData: JSON in its two envelopes, or CSV).

Written from the documented layout alone. Officers, contact persons, e-mail addresses and telephones are never read,
nor anything that lies deeper in a record.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, Final

from almoner.adapters import registers_json
from almoner.adapters.registers_tables import Table
from almoner.adapters.registers_values import (
    Reading,
    any_day,
    number_shown,
    present,
    shown,
    two_lines,
    websites,
    written_day,
)
from almoner.adapters.title_case import to_title_case
from almoner.nonprofits.registers.domain import BadRow, Entry, ImportRefused
from almoner.nonprofits.registers.ports import Row, SourceFile

NEEDED: Final = ("CharityRegistrationNumber", "Name", "RegistrationStatus")
ADDRESS: Final = ("Line1", "Line2", "Suburb", "City", "Postcode", "Country")
CODES: Final = (
    "OrganisationId",
    "CompaniesOfficeNumber",
    "NZBNNumber",
    "MainSectorId",
    "MainActivityId",
    "MainBeneficiaryId",
    "IsIncorporated",
)
TAKEN: Final = frozenset(
    (
        *NEEDED,
        *CODES,
        "DateRegistered",
        "DeregistrationDate",
        "WebSiteURL",
        *(f"{kind}Address{part}" for kind in ("Street", "Postal") for part in ADDRESS),
    )
)
REGISTERED: Final = "registered"
STATUSES: Final = frozenset({REGISTERED, "deregistered"})

_NUMBER: Final = re.compile(r"CC[0-9]{5}", re.ASCII)
_MOMENT: Final = re.compile(r"/Date\((-?[0-9]{1,15})(?:[+-][0-9]{4})?\)/", re.ASCII)
_LONGEST: Final = 20_000
"""Characters of a member that are kept."""


class Nzcs:
    """The reader of ``Organisations``."""

    code = "nzcs"
    registry_code = "NZCS"
    lists = True
    unverified = True
    repeats = False
    joined = False
    ignored_columns: frozenset[str] = frozenset()
    canaries: frozenset[str] = frozenset()  # none is certain without a real file: most numbers must stay (guards)

    def read(self, files: Sequence[SourceFile]) -> Iterator[Row]:
        """The rows of each file, CSV when it is called so. Raises ImportRefused when it is neither."""
        for place, file in enumerate(files):
            if file.name.lower().endswith(".csv"):
                yield from _of_csv(file, place)
            else:
                yield from _of_json(file, place)


def _of_csv(file: SourceFile, place: int) -> Iterator[Row]:
    table = Table(file, number=_NUMBER, place=place)
    table.numbered(table.places(*NEEDED)[0], _number)
    columns = {name: at for name in sorted(TAKEN) if (at := table.place(name)) is not None}
    reading = Reading(place)
    for row in table:
        if isinstance(row, BadRow):
            yield row
        else:
            yield from _row(row.line, {name: row.fields[at] for name, at in columns.items()}, place, reading)


def _of_json(file: SourceFile, place: int) -> Iterator[Row]:
    seen: set[str] = set()
    nth = 0
    reading = Reading(place)
    for nth, record in enumerate(records(file.binary(), TAKEN), start=1):
        seen.update(record)
        yield from _row(nth, {name: _text(value) for name, value in record.items()}, place, reading)
    if missing := [name for name in NEEDED if name not in seen]:
        said = f"none of its {nth} records has {', '.join(missing)}"
        raise ImportRefused(f"{file.name} is not this register: {said}. Ask for $format=json of Organisations")


def records(content: BinaryIO, taken: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The records of ``{"d": [...]}`` or ``{"d": {"results": [...]}}``, with the members ``taken`` that are no records.

    What lies deeper is passed over without being built. Raises ImportRefused when it is no JSON or was cut off.
    """
    path: list[str] = []  # the member that each open map is at; "*" for a list
    record: dict[str, Any] = {}
    for event, value in registers_json.events(content):
        if event == "map_key":
            path[-1] = value
        elif event == "start_map":
            if _in_envelope(path):
                record = {}
            path.append("")
        elif event == "start_array":
            path.append("*")
        elif event in ("end_map", "end_array"):
            path.pop()
            if event == "end_map" and _in_envelope(path):
                yield record
        elif len(path) > 1 and path[-1] in taken and _in_envelope(path[:-1]):
            record[path[-1]] = value


def _in_envelope(path: list[str]) -> bool:
    return path in (["d", "*"], ["d", "results", "*"])


def _row(nth: int, said: dict[str, str], file: int, reading: Reading) -> Iterator[Row]:
    found = _entry(nth, reading.texts(said), file, reading)
    if isinstance(found, BadRow):
        reading.forget()
    yield found
    yield from reading.unread(nth)


def _number(text: str) -> str | None:
    return text.upper() if _NUMBER.fullmatch(text.upper()) else None


def _entry(nth: int, said: Mapping[str, str], file: int, reading: Reading) -> Entry | BadRow:
    number = said.get("CharityRegistrationNumber", "").upper()
    name, status = said.get("Name", ""), said.get("RegistrationStatus", "").casefold()
    if not _NUMBER.fullmatch(number):
        reason = "the number is not CC and five digits"
    elif not name:
        reason = "the name is empty or damaged"
    elif status not in STATUSES:
        reason = "the status is none of those known"
    else:
        kind = "Street" if said.get("StreetAddressLine1") or said.get("StreetAddressCity") else "Postal"
        line_1, line_2, suburb, city, postcode, country = (said.get(f"{kind}Address{part}", "") for part in ADDRESS)
        first, second = two_lines((line_1, line_2, suburb))
        left = _day("DeregistrationDate", said, reading)
        facts: dict[str, object] = {column: said.get(column, "") for column in CODES}
        facts |= {"RegistrationStatus": said["RegistrationStatus"], "DeregistrationDate": written_day(left)}
        return Entry(
            number=number,
            part="all",
            name=name,
            display_name=to_title_case(name) if name.isupper() else None,
            types=["nonprofit"],
            active=status == REGISTERED,
            websites=websites(said.get("WebSiteURL", "")),
            address_line_1=first,
            address_line_2=second,
            city=city or None,
            postcode=postcode or None,
            registration_date=_day("DateRegistered", said, reading),
            until=left,
            facts=present({**facts, "Country": "" if country.casefold() == "new zealand" else country}),
        )
    return BadRow(nth, reason, shown(number=number_shown(number), Name=name), file, _number(number), name)


def _day(column: str, said: Mapping[str, str], reading: Reading) -> datetime | None:
    text = said.get(column, "")
    return day_of(text) or reading.day(column, text)


def day_of(written: str) -> datetime | None:
    """``/Date(1371427200000)/``, ``2013-06-17T00:00:00`` or ``17/06/2013``."""
    found = _MOMENT.fullmatch(written)
    if found is None:
        return any_day(written)
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(found.group(1)))
    except OverflowError:
        return None
    return moment.replace(hour=0, minute=0, second=0, microsecond=0) if moment.year >= 1800 else None


def _text(value: Any) -> str:
    """A JSON value as text that can be stored."""
    if value is None:
        return ""
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return text[:_LONGEST].replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8").strip()
