"""Read the charities register of New Zealand (OData: JSON in its two envelopes, or CSV).

Written from the documented layout only. Officers, contact persons, email addresses and telephones are never read, nor
is anything nested in a record.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, Final

from almoner.adapters import registers_json
from almoner.adapters.registers_tables import DelimitedTable
from almoner.adapters.registers_values import (
    ValueReader,
    drop_empty_facts,
    format_date,
    format_rejected_row_content,
    parse_date,
    parse_websites,
    redact_non_numeric_text,
    two_line_address,
)
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile, SourceRow

_NEEDED: Final = ("CharityRegistrationNumber", "Name", "RegistrationStatus")
_ADDRESS: Final = ("Line1", "Line2", "Suburb", "City", "Postcode", "Country")
_CODES: Final = (
    "OrganisationId",
    "CompaniesOfficeNumber",
    "NZBNNumber",
    "MainSectorId",
    "MainActivityId",
    "MainBeneficiaryId",
    "IsIncorporated",
)
_READ_MEMBERS: Final = frozenset(
    (
        *_NEEDED,
        *_CODES,
        "DateRegistered",
        "DeregistrationDate",
        "WebSiteURL",
        *(f"{kind}Address{part}" for kind in ("Street", "Postal") for part in _ADDRESS),
    )
)
_REGISTERED: Final = "registered"
_STATUSES: Final = frozenset({_REGISTERED, "deregistered"})

_NUMBER: Final = re.compile(r"CC[0-9]{5}", re.ASCII)
_MOMENT: Final = re.compile(r"/Date\((-?[0-9]{1,15})(?:[+-][0-9]{4})?\)/", re.ASCII)
_LONGEST: Final = 20_000
"""The maximum number of characters kept of a member."""


class NzcsReader:
    """The reader of ``Organisations``."""

    code = "nzcs"
    registry_code = "NZCS"
    lists_organisations = True
    is_format_unverified = True
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers: frozenset[str] = frozenset()  # no number is certain without a real file

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the rows of each file, as CSV by its name. Raises ImportRefused if it is neither."""
        for place, file in enumerate(files):
            if file.name.lower().endswith(".csv"):
                yield from _read_csv(file, place)
            else:
                yield from _read_json(file, place)


def _read_csv(file: SourceFile, place: int) -> Iterator[SourceRow]:
    table = DelimitedTable(file, number=_NUMBER, place=place)
    table.set_key_column(table.get_column_indexes(*_NEEDED)[0], _number)
    columns = {name: at for name in sorted(_READ_MEMBERS) if (at := table.find_column_index(name)) is not None}
    reading = ValueReader(place)
    for row in table:
        if isinstance(row, RejectedRow):
            yield row
        else:
            yield from _row(row.line_number, {name: row.fields[at] for name, at in columns.items()}, place, reading)


def _read_json(file: SourceFile, place: int) -> Iterator[SourceRow]:
    seen: set[str] = set()
    nth = 0
    reading = ValueReader(place)
    for nth, record in enumerate(read_records(file.open_binary(), _READ_MEMBERS), start=1):
        seen.update(record)
        yield from _row(nth, {name: _text(value) for name, value in record.items()}, place, reading)
    if missing := [name for name in _NEEDED if name not in seen]:
        stated = f"none of its {nth} records has {', '.join(missing)}"
        raise ImportRefused(f"{file.name} is not this register: {stated}. Ask for $format=json of Organisations")


def read_records(content: BinaryIO, field_names: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The records of ``{"d": [...]}`` or ``{"d": {"results": [...]}}``, with the scalar members in ``field_names``.

    Nested values are skipped without building them. Raises ImportRefused if it is no JSON or is truncated.
    """
    path: list[str] = []  # the current member of each open map; "*" for a list
    record: dict[str, Any] = {}
    for event, value in registers_json.parse_json_incrementally(content):
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
        elif len(path) > 1 and path[-1] in field_names and _in_envelope(path[:-1]):
            record[path[-1]] = value


def _in_envelope(path: list[str]) -> bool:
    return path in (["d", "*"], ["d", "results", "*"])


def _row(nth: int, stated: dict[str, str], file: int, reading: ValueReader) -> Iterator[SourceRow]:
    found = _entry(nth, reading.clean_texts_in_place(stated), file, reading)
    if isinstance(found, RejectedRow):
        reading.discard_unreadable_values()
    yield found
    yield from reading.pop_unreadable_values(nth)


def _number(text: str) -> str | None:
    return text.upper() if _NUMBER.fullmatch(text.upper()) else None


def _entry(nth: int, stated: Mapping[str, str], file: int, reading: ValueReader) -> RegisterEntry | RejectedRow:
    number = stated.get("CharityRegistrationNumber", "").upper()
    name, status = stated.get("Name", ""), stated.get("RegistrationStatus", "").casefold()
    if not _NUMBER.fullmatch(number):
        reason = "the number is not CC and five digits"
    elif not name:
        reason = "the name is empty or damaged"
    elif status not in _STATUSES:
        reason = "the status is unknown"
    else:
        kind = "Street" if stated.get("StreetAddressLine1") or stated.get("StreetAddressCity") else "Postal"
        line_1, line_2, suburb, city, postcode, country = (stated.get(f"{kind}Address{part}", "") for part in _ADDRESS)
        first, second = two_line_address((line_1, line_2, suburb))
        left = _day("DeregistrationDate", stated, reading)
        facts: dict[str, object] = {column: stated.get(column, "") for column in _CODES}
        facts |= {"RegistrationStatus": stated["RegistrationStatus"], "DeregistrationDate": format_date(left)}
        return RegisterEntry(
            number=number,
            part="all",
            name=name,
            display_name=to_title_case(name) if name.isupper() else None,
            types=["nonprofit"],
            active=status == _REGISTERED,
            websites=parse_websites(stated.get("WebSiteURL", "")),
            address_line_1=first,
            address_line_2=second,
            city=city or None,
            postcode=postcode or None,
            registration_date=_day("DateRegistered", stated, reading),
            until=left,
            facts=drop_empty_facts({**facts, "Country": "" if country.casefold() == "new zealand" else country}),
        )
    return RejectedRow(
        nth,
        reason,
        format_rejected_row_content(number=redact_non_numeric_text(number), Name=name),
        file,
        _number(number),
        name,
    )


def _day(column: str, stated: Mapping[str, str], reading: ValueReader) -> datetime | None:
    text = stated.get(column, "")
    return parse_odata_date(text) or reading.read_date(column, text)


def parse_odata_date(text: str) -> datetime | None:
    """Parse ``/Date(1371427200000)/``, ``2013-06-17T00:00:00`` or ``17/06/2013``."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return parse_date(text)
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
