"""Read the lists of the US Treasury's OFAC, SDN and consolidated, as sets of comma-separated files (public domain).

A set has the entries (12 columns, the only required file), other names (5), addresses (6) and the ends of long remarks
(2); none has a header, ``-0-`` is an empty value and the last byte may be 0x1A. Everything without a column is in the
remarks, between semicolons; a quoted name there is a weak alias.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from almoner.adapters.watchlist_values import (
    open_table_as_text,
    parse_country_code,
    parse_years,
    truncate_note_unless_person,
)
from almoner.kit.text import clean_text
from almoner.screening.watchlists.domain import (
    Category,
    Kind,
    ListedAddress,
    ListedEntity,
    ListedName,
    NameKind,
    RejectedEntry,
    WatchlistImportRefused,
)

_ENTRIES, _NAMES, _ADDRESSES, _COMMENTS = _COLUMNS = 12, 5, 6, 2
_KINDS: Final[Mapping[str, Kind]] = {"individual": "person", "vessel": "vessel", "aircraft": "aircraft"}
_NAME_KINDS: Final[Mapping[str, NameKind]] = {"aka": "alias", "fka": "former", "nka": "alias"}
_QUOTED: Final = re.compile(r"(a\.k\.a\.|f\.k\.a\.|n\.k\.a\.) '(.+)'")
_BETWEEN: Final = re.compile(r";\s+(?=\S)")
_UNDETERMINED: Final = "undetermined"
_BORN: Final = re.compile(r"DOB (.*)")
_OF_COUNTRY: Final = re.compile(r"(?:nationality|citizen|Nationality of Registration) (.*)")
_NUMBER: Final = re.compile(
    r"(?P<label>[A-Z][A-Za-z0-9 .()/#&'-]*?(?:No\.?|Number|ID|FEIN|#|R\.F\.C\.|RFC|SWIFT/BIC|Code)(?: No\.?)?"
    r"(?: \([A-Z]+\))?)"
    r" (?P<value>[^()]*\d[^()]*?)(?: \([^()]*\))*?(?: \((?P<country>[A-Z][^()]+)\))?(?: issued .*)?"
)
_NO_IDENTIFIER: Final = re.compile(r"Phone|Telephone|Fax|Date|Executive Order|Passport|Digital Currency", re.IGNORECASE)


@dataclass(slots=True)
class _OfacFileSet:
    """The rows of a set, by the number of their entry."""

    entries: list[list[str]] = field(default_factory=list)
    names: dict[str, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    addresses: dict[str, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    comments: dict[str, str] = field(default_factory=dict)
    bad: list[RejectedEntry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OfacReader:
    """Reads one of OFAC's lists. ``min_entries``: of a complete list."""

    code: str
    title: str
    min_entries: int
    licence: str = "public domain (US government work)"
    category: Category = "sanction"
    is_format_unverified: bool = False

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        reported = _OfacFileSet()
        for file in files:
            try:
                _sort_rows(file, reported)
            except csv.Error as error:
                raise WatchlistImportRefused(f"{file.name} cannot be read: {error}") from error
        if not reported.entries:
            raise WatchlistImportRefused(
                f"none of the files has the entries of {self.title}: 12 columns, such as sdn.csv"
            )
        yield from reported.bad
        for row in reported.entries:
            yield _parse_entity(row, reported)


SDN: Final = OfacReader("ofac-sdn", "OFAC Specially Designated Nationals", 10_000)
CONSOLIDATED: Final = OfacReader("ofac-consolidated", "OFAC consolidated non-SDN lists", 100)
SAMPLE: Final = OfacReader("ofac-sdn-sample", "OFAC SDN, a few hundred organisations to try out", 1)


def _sort_rows(file: Path, reported: _OfacFileSet) -> None:
    """Sort the rows of one file by kind."""
    with open_table_as_text(file) as lines:
        table, line, width = csv.reader(lines), 0, 0
        for number, row in enumerate(table, 1):
            lines_of_row, line = table.line_num - line, table.line_num
            cells = [_cell(cell) for cell in row]
            if not any(cells):
                continue
            if problem := _row_problem(cells, lines_of_row, width):
                # A quotation mark without its pair may hide rows of other entries.
                key = cells[0] if lines_of_row == 1 and cells[0].isdigit() else None
                reported.bad.append(RejectedEntry(f"{file.name}, row {number}", problem, key, is_possibly_partial=True))
                continue
            width = len(cells)
            if width == _ENTRIES:
                reported.entries.append(cells)
            elif width == _NAMES:
                reported.names[cells[0]].append(cells)
            elif width == _ADDRESSES:
                reported.addresses[cells[0]].append(cells)
            else:
                reported.comments[cells[0]] = reported.comments.get(cells[0], "") + cells[1]


def _row_problem(cells: Sequence[str], lines_of_row: int, width: int) -> str:
    """The problem of a row; empty if there is none. ``width``: of the file's rows, 0 if unknown.

    An unquoted comma makes a name of five columns an address of six.
    """
    if not cells[0].isdigit():
        return "the row has no number of an entry"
    if lines_of_row > 1:
        return f"the row has {lines_of_row} lines: a quotation mark has no pair"
    return "" if len(cells) in ((width,) if width else _COLUMNS) else f"the row has {len(cells)} columns"


def _cell(text: str) -> str:
    text = clean_text(text)
    return "" if text == "-0-" else text


def _parse_entity(row: list[str], reported: _OfacFileSet) -> ListedEntity:
    key, name, type_, programmes = row[0], row[1], row[2], row[3]
    kind = _KINDS.get(type_.lower(), "organisation")
    remarks = [
        part.removeprefix("alt. ") for part in _BETWEEN.split((row[11] + reported.comments.get(key, "")).strip())
    ]
    remarks = [part.rstrip(".") if part.endswith("'.") else part for part in remarks]
    names = [ListedName(name, "primary")]
    names += [
        ListedName(one[3], _NAME_KINDS.get(one[2].lower(), "alias")) for one in reported.names.get(key, ()) if one[3]
    ]
    names += _quoted_aliases(remarks)
    addresses = [_address(one) for one in reported.addresses.get(key, ()) if _has_address(one)]
    numbers = [] if kind == "person" else list(_numbers(remarks))
    stated = [parse_country_code(found[1].rstrip(".")) for part in remarks if (found := _OF_COUNTRY.match(part))]
    flag = parse_country_code(row[8]) if row[8] else None
    countries = [*stated, flag, *(one.country for one in addresses), *(country for _, country in numbers)]
    return ListedEntity(
        key=key,
        kind=kind,
        names=tuple(dict.fromkeys(names)),
        countries=tuple(dict.fromkeys(country for country in countries if country)),
        addresses=tuple(dict.fromkeys(addresses)),
        identifiers=tuple(dict.fromkeys(value for value, _ in numbers)),
        birth_years=tuple(dict.fromkeys(_birth_years(remarks))),
        programmes=tuple(one.strip() for one in programmes.split("] [") if one.strip()),
        note=truncate_note_unless_person(kind, "; ".join(remarks)),
    )


def _quoted_aliases(remarks: Sequence[str]) -> Iterator[ListedName]:
    for part in remarks:
        if found := _QUOTED.fullmatch(part.strip()):
            yield ListedName(found[2].strip(), "former" if found[1] == "f.k.a." else "weak_alias")


def _birth_years(remarks: Sequence[str]) -> Iterator[int]:
    for part in remarks:
        if found := _BORN.match(part):
            yield from parse_years(found[1])


def _numbers(remarks: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Numbers of registers, tax offices and the like, each with the country that issued it."""
    for part in remarks:
        found = _NUMBER.fullmatch(part.strip().rstrip("."))
        if found and not _NO_IDENTIFIER.search(found["label"]):
            yield found["value"].strip(), parse_country_code(found["country"]) if found["country"] else None


def _has_address(row: Sequence[str]) -> bool:
    return any(row[2:4]) or row[4] not in ("", _UNDETERMINED)


def _address(row: Sequence[str]) -> ListedAddress:
    """One address. If the list leaves the country undetermined, a place such as Gaza can determine it."""
    if row[4] == _UNDETERMINED:
        place = next((code for part in reversed(row[3].split(",")) if (code := parse_country_code(part))), None)
        return ListedAddress(", ".join(cell for cell in row[2:4] if cell), place)
    return ListedAddress(", ".join(cell for cell in row[2:5] if cell), parse_country_code(row[4]))
