"""Normalise values that watchlists write in many ways: tables, countries, years, and entries in several rows."""

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, TextIO

from almoner.adapters.registers_tables import AS_1252
from almoner.kit.text import clean_line
from almoner.nonprofits.countries.domain import ALPHA3_BY_ALPHA2, COUNTRIES
from almoner.screening.watchlists.domain import (
    Category,
    Kind,
    ListedAddress,
    ListedEntity,
    ListedName,
    RejectedEntry,
    WatchlistImportRefused,
)

_LONGEST_NOTE: Final = 2000
_DELIMITERS: Final = ",;\t"
_STATED_DELIMITER: Final = re.compile(r"sep=(.)\s*$", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")
_OTHER_NAMES: Final = {
    "bahamas, the": "BHS",
    "bolivia (plurinational state of)": "BOL",
    "bosnia and herzegovina": "BIH",
    "british virgin islands": "VGB",
    "burma": "MMR",
    "cabo verde": "CPV",
    "china, hong kong special administrative region": "HKG",
    "congo": "COG",
    "congo (democratic republic)": "COD",
    "congo, democratic republic of the": "COD",
    "congo, republic of the": "COG",
    "cote d ivoire": "CIV",
    "cote d'ivoire": "CIV",
    "czech republic": "CZE",
    "democratic people's republic of korea": "PRK",
    "democratic republic of the congo": "COD",
    "gaza strip": "PSE",
    "gaza": "PSE",
    "hong kong": "HKG",
    "hong kong (sar)": "HKG",
    "iran (islamic republic of)": "IRN",
    "ivory coast": "CIV",
    "korea, north": "PRK",
    "korea, south": "KOR",
    "lao people's democratic republic": "LAO",
    "macau": "MAC",
    "man, isle of": "IMN",
    "moldova (republic of)": "MDA",
    "myanmar": "MMR",
    "myanmar (burma)": "MMR",
    "north korea": "PRK",
    "north macedonia, the republic of": "MKD",
    "occupied palestinian territories": "PSE",
    "palestinian authority": "PSE",
    "palestinian": "PSE",
    "region: crimea": "UKR",
    "region: gaza": "PSE",
    "region: northern mali": "MLI",
    "republic of korea": "KOR",
    "russian federation": "RUS",
    "saint kitts and nevis": "KNA",
    "saint vincent and the grenadines": "VCT",
    "south korea": "KOR",
    "state of palestine": "PSE",
    "syrian arab republic": "SYR",
    "tanzania, united republic of": "TZA",
    "the gambia": "GMB",
    "trinidad and tobago": "TTO",
    "turkey": "TUR",
    "u.k.": "GBR",
    "united kingdom of great britain and northern ireland": "GBR",
    "united republic of tanzania": "TZA",
    "united states of america": "USA",
    "venezuela (bolivarian republic of)": "VEN",
    "viet nam": "VNM",
    "virgin islands, british": "VGB",
    "west bank": "PSE",
}
"""Names of countries in lists that CLDR does not have."""
_NAMES: Final = {country.name.casefold(): country.code for country in COUNTRIES.values()} | _OTHER_NAMES


@lru_cache(maxsize=4096)
def parse_country_code(name: str) -> str | None:
    """The three-letter code of a country by its English name or code; None if unknown."""
    if (code := name.strip()) in COUNTRIES:
        return code
    if len(code) == 2:
        return ALPHA3_BY_ALPHA2.get(code.upper())
    return _NAMES.get(" ".join(name.replace("\u2019", "'").casefold().split()))


def parse_years(text: str) -> tuple[int, ...]:
    """The years in a text, each once."""
    return tuple(dict.fromkeys(int(year) for year in _YEAR.findall(text)))


def parse_date(text: str) -> date | None:
    """A date such as 31/12/2020 or 2020-12-31; None if it is not a date."""
    for form in ("%d/%m/%Y", "%Y-%m-%d"):
        try:
            return datetime.strptime(text.strip()[:10], form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None


def open_table_as_text(file: Path) -> TextIO:
    """Open a table in UTF-8. What is not UTF-8 is read as UTF-16 or Windows-1252, as spreadsheets save it."""
    with file.open("rb") as raw:
        mark = raw.read(len(codecs.BOM_UTF16_LE))
    if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return file.open(encoding="utf-16", errors="replace", newline="")
    return file.open(encoding="utf-8-sig", errors=AS_1252, newline="")


def read_rows(
    file: Path,
    required_columns: Sequence[str],
    *,
    delimiter: str = ",",
    lines_before_header: int = 0,
    list_title: str = "",
    is_from_spreadsheet: bool = False,
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table with a header, stripped, each with its first line.

    A row is empty if it hides others, or has more values than columns: then it is unknown which are in their places.

    Raises WatchlistImportRefused without a required column.

    ``lines_before_header``: lines before the header. ``is_from_spreadsheet``: the delimiter is a spreadsheet's, and the
    names of columns, which are in lower case, may be in any case.
    """
    with open_table_as_text(file) as opened:
        passed, lines = lines_before_header, iter(opened)
        for _ in range(lines_before_header):
            next(lines, None)
        if is_from_spreadsheet:
            passed, delimiter, lines = _with_delimiter(lines)
        table = csv.reader(lines, delimiter=delimiter)
        try:
            header = [cell.strip().casefold() if is_from_spreadsheet else cell.strip() for cell in next(table, [])]
            missing = [name for name in required_columns if name not in header]
            if missing:
                raise WatchlistImportRefused(
                    f"{file.name} is not a file of {list_title}: it has no column {', '.join(missing)}"
                )
            line, width = table.line_num, 0
            for cells in table:
                lines_of_row, line = table.line_num - line, table.line_num
                if any(cell.strip() for cell in cells):
                    width = width or max(len(cells), len(header))  # every row may end with a delimiter
                    is_misread = _has_surplus(cells, len(header), width) or (
                        lines_of_row > 1 and _hides_rows(cells, header, required_columns)
                    )
                    filled = [*([] if is_misread else cells), *[""] * len(header)]
                    yield (
                        passed + line - lines_of_row + 1,
                        dict(zip(header, (clean_line(cell) for cell in filled), strict=False)),
                    )
        except csv.Error as error:
            raise WatchlistImportRefused(
                f"{file.name} cannot be read after line {passed + table.line_num}: {error}"
            ) from error


def _with_delimiter(lines: Iterator[str]) -> tuple[int, str, Iterator[str]]:
    """The lines of a table from its header on, the number of lines before it, and the delimiter."""
    first = next(lines, "")
    if stated := _STATED_DELIMITER.match(first):  # as Excel writes it
        return 1, stated[1], lines
    return 0, max(_DELIMITERS, key=first.count), chain([first], lines)


def build_rejected_entry(location: str, reason: str, row: Mapping[str, str], key: str | None = None) -> RejectedEntry:
    """A row of a table with several rows per entry that cannot be read. An empty one may be of any entry."""
    return RejectedEntry(location, reason, key, is_possibly_partial=not any(row.values()))


def _has_surplus(cells: Sequence[str], columns: int, width: int) -> bool:
    """Whether a row has more values than columns, or more than the first row of the file."""
    return len(cells) > width or any(cell.strip() for cell in cells[columns:])


def _hides_rows(cells: Sequence[str], header: Sequence[str], required_columns: Sequence[str]) -> bool:
    """Whether a row of several lines has others in it, behind a quotation mark without its pair."""
    if len(cells) != len(header):
        return True
    return any("\n" in cell for cell, name in zip(cells, header, strict=True) if name in required_columns)


def truncate_note_unless_person(kind: Kind, text: str) -> str | None:
    """The publisher's remarks about an entry; None for a person, of whom only what identifies them is stored."""
    return None if kind == "person" else text[:_LONGEST_NOTE].strip() or None


@dataclass(slots=True)
class EntityBuilder:
    """Collects several rows of one entry."""

    key: str
    kind: Kind
    names: list[ListedName] = field(default_factory=list)
    countries: list[str | None] = field(default_factory=list)
    addresses: list[ListedAddress] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    birth_years: list[int] = field(default_factory=list)
    programmes: list[str] = field(default_factory=list)
    listed_on: date | None = None
    note: str = ""

    def add_address(self, lines: Sequence[str], country: str) -> None:
        """Add one address, given in lines."""
        known = parse_country_code(country)
        self.countries.append(known)
        if text := ", ".join(line for line in lines if line):
            self.addresses.append(ListedAddress(text, known))

    def build(self, category: Category | None = None) -> ListedEntity:
        """Build the entry, with the primary name first."""
        names = sorted(dict.fromkeys(self.names), key=lambda name: name.kind != "primary")
        return ListedEntity(
            key=self.key,
            kind=self.kind,
            names=tuple(names),
            countries=tuple(dict.fromkeys(country for country in self.countries if country)),
            addresses=tuple(dict.fromkeys(self.addresses)),
            identifiers=tuple(dict.fromkeys(filter(None, self.identifiers))),
            birth_years=tuple(dict.fromkeys(self.birth_years)),
            programmes=tuple(dict.fromkeys(filter(None, self.programmes))),
            listed_on=self.listed_on,
            category=category,
            note=truncate_note_unless_person(self.kind, self.note),
        )
