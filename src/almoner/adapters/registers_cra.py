"""Reads the registered charities of Canada: the list with their status, and T3010 identification by year.

Written from the documented layouts alone (Open Government Licence - Canada). The list says who is registered, revoked,
annulled or suspended, and since when: it decides. Identification has no such column and its year lags, so it only
says more of bodies that the list has (``cra-t3010``), and nothing follows from not being in it.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from stdnum import luhn

from almoner.adapters.capitals import readable
from almoner.adapters.registers_rulings import latest
from almoner.adapters.registers_tables import Row, Table
from almoner.adapters.registers_values import (
    iso_day,
    number_shown,
    other_than,
    present,
    shown,
    slashed_day,
    two_lines,
    written_day,
)
from almoner.nonprofits.registers.domain import BadRow, Entry, Unnumbered
from almoner.nonprofits.registers.ports import SourceFile

NUMBER: Final = ("BN/Registration Number", "BN", "BN/Business Number", "Registration Number")
"""The column of the number has another name by table and year; letters are compared without case."""
NAME: Final = ("Legal Name", "Charity Name", "Name")
STATUS: Final = ("Charity Status", "Status")
SINCE: Final = ("Effective Date of Status", "Effective Date", "Status Effective Date")
STATUSES: Final = frozenset({"registered", "revoked", "annulled", "suspended"})
ACTIVE: Final = "registered"

_NUMBER: Final = re.compile(r"([0-9]{9}) ?RR ?([0-9]{4})", re.ASCII)
_NO_SUFFIX: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_SHORT: Final = re.compile(r"([0-9]{1,8}) ?RR ?[0-9]{1,4}", re.ASCII)
_BETWEEN_LANGUAGES: Final = re.compile(r"\s*\|\s*|\s+/\s*|\s*/\s+|(?<=[^\W\d_]{3})/(?=[^\W\d_]{3})")
_YEAR: Final = re.compile(r"(?<![0-9])(20[0-9]{2})(?![0-9])")
_CANARIES: Final = frozenset({"119219814RR0001"})
"""The Canadian Red Cross."""


class Cra:
    """The reader of the list of charities with their status."""

    code = "cra"
    registry_code = "CRA"
    lists = True
    unverified = True
    repeats = False
    joined = False
    quiet: frozenset[str] = frozenset()
    canaries = _CANARIES

    def read(self, files: Sequence[SourceFile]) -> Iterator[Entry | BadRow | Unnumbered]:
        """The rows. Raises ImportRefused when a needed column is missing: identification has no status."""
        for place, file in enumerate(files):
            table = _table(file, place)
            needed = table.places(NUMBER, NAME, STATUS, SINCE)
            optional = _optional(table)
            yield from latest(
                (row, None) if isinstance(row, BadRow) else _of_list(row, needed, optional, place) for row in table
            )


class CraIdentification:
    """The reader of ``Ident_YYYY.csv``."""

    code = "cra-t3010"
    registry_code = "CRA"
    lists = False
    unverified = True
    repeats = True  # files of several years are several tellings
    joined = False
    quiet: frozenset[str] = frozenset()
    canaries = _CANARIES

    def read(self, files: Sequence[SourceFile]) -> Iterator[Entry | BadRow]:
        """The rows, each year a part. Raises ImportRefused when a needed column is missing."""
        for place, file in enumerate(files):
            table = _table(file, place)
            needed = table.places(NUMBER, NAME, "Category", "Designation")
            optional = _optional(table)
            year = found.group(1) if (found := _YEAR.search(file.name)) else ""
            for row in table:
                yield row if isinstance(row, BadRow) else _of_identification(row, needed, optional, year, place)


def _table(file: SourceFile, place: int) -> Table:
    tabs = file.name.lower().endswith((".txt", ".tsv"))
    return Table(file, delimiter="\t" if tabs else ",", number=_NUMBER, place=place)


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


def _optional(table: Table) -> dict[str, int]:
    places = {name: table.place(*spellings) for name, spellings in _OPTIONAL.items()}
    return {name: place for name, place in places.items() if place is not None}


def _of_list(
    row: Row, needed: Sequence[int], optional: dict[str, int], file: int
) -> tuple[Entry | BadRow, datetime | None]:
    number, name, status, since = (row.fields[place].strip() for place in needed)
    if status.casefold() not in STATUSES:
        return BadRow(row.line, "the status is none of those known", shown(BN=number_shown(number)), file), None
    day = iso_day(since) or slashed_day(since)
    more = {column: row.fields[place].strip() for column, place in optional.items()}
    facts: dict[str, object] = {"Status": status, "Effective Date of Status": written_day(day)}
    active = status.casefold() == ACTIVE
    found = _entry(row.line, number, name, more, facts, "all", file, active=active, since=day if active else None)
    return (found._replace(until=day) if isinstance(found, Entry) else found), day


def _of_identification(
    row: Row, needed: Sequence[int], optional: dict[str, int], year: str, file: int
) -> Entry | BadRow:
    number, name, _, _ = (row.fields[place].strip() for place in needed)
    more = {column: row.fields[place].strip() for column, place in optional.items()}
    return _entry(row.line, number, name, more, {"year": year}, f"T3010 {year}".strip(), file)


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
) -> Entry | BadRow:
    number, wrong = number_of(written)
    if number is None or not name or "\ufffd" in name:
        reason = wrong or "the name is empty or damaged"
        return BadRow(line, reason, shown(BN=number_shown(written), Name=name), file)
    english, *others = languages(name)
    first, second = two_lines((more.get("Address Line 1", ""), more.get("Address Line 2", "")))
    codes = {column: more.get(column, "") for column in ("Category", "Sub Category", "Designation", "Sanction")}
    return Entry(
        number=number,
        part=part,
        name=english,
        display_name=readable(english) if english.isupper() else None,
        other_names=other_than(english, [*others, *languages(more.get("Account Name", ""))]),
        types=["nonprofit"],
        active=active,
        address_line_1=first,
        address_line_2=second,
        city=more.get("City") or None,
        state=more.get("Province") or None,
        postcode=more.get("Postal Code") or None,
        registration_date=since,
        facts=present({**codes, **facts, "Country": more.get("Country", "")}),
    )


def number_of(written: str) -> tuple[str | None, str]:
    """The number in the register's own spelling, or None and what is wrong with it.

    Nine digits with a check digit (Luhn), RR, and the four digits of the account (internal divisions have RR0002 and
    up). Nothing is completed: a number that a spreadsheet took its leading zero from may be any of several.
    """
    text = written.strip().upper()
    found = _NUMBER.fullmatch(text)
    if found is None:
        if _SHORT.fullmatch(text):
            return None, "the number has fewer than nine digits before RR: a leading zero was lost; it is not guessed"
        if _NO_SUFFIX.fullmatch(text):
            return None, "the number has no RR and account: it was kept as a number; it is not guessed"
        return None, "the number is not nine digits, RR and four digits"
    if not luhn.is_valid(found.group(1)) or found.group(1) == "000000000":
        return None, "the check digit of the number is wrong: a leading zero may have been added or lost"
    return f"{found.group(1)}RR{found.group(2)}", ""


def languages(name: str) -> list[str]:
    """The names in a bilingual one: ``English name / Nom français``; at least one, empty for nothing."""
    return [part for each in _BETWEEN_LANGUAGES.split(name) if (part := " ".join(each.split()))] or [""]
