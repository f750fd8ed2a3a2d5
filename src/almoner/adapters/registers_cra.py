"""Read the registered charities of Canada: the list with their status, and T3010 identification by year.

Written from the documented layouts only (Open Government Licence - Canada). The list states who is registered, revoked,
annulled or suspended, and since when: it decides. Identification has no such column and lags by a year, so it only adds
facts to organisations on the list (``cra-t3010``); absence from it means nothing.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from stdnum import luhn

from almoner.adapters.registers_rulings import select_current_or_latest_rulings
from almoner.adapters.registers_tables import DelimitedTable, TableRow
from almoner.adapters.registers_values import (
    ValueReader,
    clean_text,
    distinct_other_names,
    drop_empty_facts,
    format_date,
    format_rejected_row_content,
    redact_non_numeric_text,
    two_line_address,
)
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers import ports as registers_ports
from almoner.nonprofits.registers.domain import RegisterEntry, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile

NUMBER: Final = ("BN/Registration Number", "BN", "BN/Business Number", "Registration Number")
"""The number's column has different names by table and year; case is ignored."""
_NAME: Final = ("Legal Name", "Charity Name", "Name")
_STATUS: Final = ("Charity Status", "Status")
_SINCE: Final = ("Effective Date of Status", "Effective Date", "Status Effective Date")
_STATUSES: Final = frozenset({"registered", "revoked", "annulled", "suspended"})
_ACTIVE: Final = "registered"

_NUMBER: Final = re.compile(r"([0-9]{9}) ?RR ?([0-9]{4})", re.ASCII)
_NO_SUFFIX: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_SHORT: Final = re.compile(r"([0-9]{1,8}) ?RR ?[0-9]{1,4}", re.ASCII)
_BETWEEN_LANGUAGES: Final = re.compile(r"\s*\|\s*|\s+/\s*|\s*/\s+|(?<=[^\W\d_]{3})/(?=[^\W\d_]{3})")
_YEAR: Final = re.compile(r"(?<![0-9])(20[0-9]{2})(?![0-9])")
_PROBES: Final = frozenset({"119219814RR0001"})
"""The Canadian Red Cross."""


class CraReader:
    """The reader of the list of charities with their status."""

    code = "cra"
    registry_code = "CRA"
    lists_organisations = True
    is_format_unverified = True
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers = _PROBES

    def read(self, files: Sequence[SourceFile]) -> Iterator[registers_ports.SourceRow]:
        """Read the rows. Raises ImportRefused if a required column is missing: identification has no status."""
        for place, file in enumerate(files):
            table = _open_table(file, place)
            needed = table.get_column_indexes(NUMBER, _NAME, _STATUS, _SINCE)
            optional = _optional_columns(table)
            yield from select_current_or_latest_rulings(_read_list(table, needed, optional, place))


class CraIdentificationReader:
    """The reader of ``Ident_YYYY.csv``."""

    code = "cra-t3010"
    registry_code = "CRA"
    lists_organisations = False
    is_format_unverified = True
    has_repeated_numbers = True  # files of several years repeat a number
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers = _PROBES

    def read(self, files: Sequence[SourceFile]) -> Iterator[registers_ports.SourceRow]:
        """Read the rows, each year as a part. Raises ImportRefused if a required column is missing."""
        for place, file in enumerate(files):
            table = _open_table(file, place)
            needed = table.get_column_indexes(NUMBER, _NAME, "Category", "Designation")
            optional = _optional_columns(table)
            year = found.group(1) if (found := _YEAR.search(file.name)) else ""
            reading = ValueReader(place)
            for row in table:
                if isinstance(row, RejectedRow):
                    yield row
                    continue
                number, name, more = _read_columns(row, needed, optional, reading)
                result = _entry(row.line_number, number, name, more, {"year": year}, f"T3010 {year}".strip(), place)
                if isinstance(result, RejectedRow):
                    reading.discard_unreadable_values()
                yield result
                yield from reading.pop_unreadable_values(row.line_number)


def _open_table(file: SourceFile, place: int) -> DelimitedTable:
    tabs = file.name.lower().endswith((".txt", ".tsv"))
    table = DelimitedTable(file, delimiter="\t" if tabs else ",", number=_NUMBER, place=place)
    table.set_key_column(table.get_column_indexes(NUMBER)[0], lambda text: parse_registration_number(text).number)
    return table


_OPTIONAL: Final = {
    "Account Name": ("Account Name",),
    "Category": ("Category", "Category Code"),
    "Sub Category": ("Sub Category", "Sub-Category", "Subcategory"),
    "Designation": ("Designation", "Designation Code"),
    "Sanction": ("Sanction",),
    "Address Line 1": ("Address Line 1", "Address"),
    "Address Line 2": ("Address Line 2",),
    "City": ("City",),
    "Province": ("Province",),
    "Country": ("Country",),
    "Postal Code": ("Postal Code",),
}


def _optional_columns(table: DelimitedTable) -> dict[str, int]:
    places = {name: table.find_column_index(*spellings) for name, spellings in _OPTIONAL.items()}
    return {name: place for name, place in places.items() if place is not None}


def _read_columns(
    row: TableRow, needed: Sequence[int], optional: dict[str, int], reading: ValueReader
) -> tuple[str, str, dict[str, str]]:
    """The number and the name of a row, and its further columns."""
    number, name = (
        reading.read_text(column, row.fields[at]) for column, at in zip(("BN", "Name"), needed[:2], strict=True)
    )
    return number, name, reading.clean_texts_in_place({column: row.fields[at] for column, at in optional.items()})


def _read_list(
    table: DelimitedTable, needed: Sequence[int], optional: dict[str, int], file: int
) -> Iterator[tuple[registers_ports.SourceRow, datetime | None]]:
    """The rows, with the dates on which they ended."""
    reading = ValueReader(file)
    for row in table:
        if isinstance(row, RejectedRow):
            yield row, None
            continue
        number, name, more = _read_columns(row, needed, optional, reading)
        status, since = (clean_text(row.fields[at]) for at in needed[2:])
        if status.casefold() not in _STATUSES:
            reading.discard_unreadable_values()
            reason = "the status is unknown"
            yield _rejected_row(row.line_number, reason, number, name, file), None
            continue
        day = reading.read_date(_SINCE[0], since)
        facts: dict[str, object] = {"Status": status, "Effective Date of Status": format_date(day)}
        active = status.casefold() == _ACTIVE
        found = _entry(
            row.line_number, number, name, more, facts, "all", file, active=active, since=day if active else None
        )
        if isinstance(found, RejectedRow):
            reading.discard_unreadable_values()
        yield (found._replace(until=day) if isinstance(found, RegisterEntry) else found), day
        for lost in reading.pop_unreadable_values(row.line_number):
            yield lost, None


def _rejected_row(line: int, reason: str, written: str, name: str, file: int) -> RejectedRow:
    content = format_rejected_row_content(BN=redact_non_numeric_text(written), Name=name)
    return RejectedRow(
        line, reason, content, file, parse_registration_number(written).number, split_bilingual_name(name)[0]
    )


def _entry(
    line: int,
    written: str,
    name: str,
    more: dict[str, str],
    facts: dict[str, object],
    part: str,
    file: int,
    *,
    active: bool = True,
    since: datetime | None = None,
) -> RegisterEntry | RejectedRow:
    number, wrong = parse_registration_number(written)
    if number is None or not name:
        return _rejected_row(line, wrong or "the name is empty or damaged", written, name, file)
    english, *others = split_bilingual_name(name)
    first, second = two_line_address((more.get("Address Line 1", ""), more.get("Address Line 2", "")))
    codes = {column: more.get(column, "") for column in ("Category", "Sub Category", "Designation", "Sanction")}
    return RegisterEntry(
        number=number,
        part=part,
        name=english,
        display_name=to_title_case(english) if english.isupper() else None,
        other_names=distinct_other_names(english, [*others, *split_bilingual_name(more.get("Account Name", ""))]),
        types=["nonprofit"],
        active=active,
        address_line_1=first,
        address_line_2=second,
        city=more.get("City") or None,
        state=more.get("Province") or None,
        postcode=more.get("Postal Code") or None,
        registration_date=since,
        facts=drop_empty_facts({**codes, **facts, "Country": more.get("Country", "")}),
    )


class ParsedRegistrationNumber(NamedTuple):
    """A registration number, or None and its problem."""

    number: str | None
    problem: str


def parse_registration_number(raw_number: str) -> ParsedRegistrationNumber:
    """Parse a number as the register writes it.

    Nine digits with a check digit (Luhn), RR, and the four digits of the account (internal divisions have RR0002 and
    up). Nothing is completed: a number that lost leading zeros in a spreadsheet is ambiguous.
    """
    text = raw_number.strip().upper()
    found = _NUMBER.fullmatch(text)
    if found is None:
        if _SHORT.fullmatch(text):
            problem = "the number has fewer than nine digits before RR: a leading zero was lost; it is not guessed"
            return ParsedRegistrationNumber(None, problem)
        if _NO_SUFFIX.fullmatch(text):
            problem = "the number has no RR and account: it was kept as a number; it is not guessed"
            return ParsedRegistrationNumber(None, problem)
        return ParsedRegistrationNumber(None, "the number is not nine digits, RR and four digits")
    if not luhn.is_valid(found.group(1)) or found.group(1) == "000000000":
        problem = "the check digit of the number is wrong: a leading zero may have been added or lost"
        return ParsedRegistrationNumber(None, problem)
    return ParsedRegistrationNumber(f"{found.group(1)}RR{found.group(2)}", "")


def split_bilingual_name(name: str) -> list[str]:
    """The names in ``English name / Nom français``; at least one."""
    return [part for each in _BETWEEN_LANGUAGES.split(name) if (part := " ".join(each.split()))] or [""]
