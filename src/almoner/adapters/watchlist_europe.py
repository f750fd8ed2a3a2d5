"""Read the sanctions lists of the United Kingdom and of the European Union, by their documented layouts.

Both have several rows for one entry: one for each name and address (in the Union's also each birth and document). No
real file was available: both are unverified.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from almoner.adapters.watchlist_values import (
    EntityBuilder,
    build_rejected_entry,
    open_table_as_text,
    parse_country_code,
    parse_date,
    parse_years,
    read_rows,
)
from almoner.screening.watchlists.domain import Category, Kind, ListedEntity, ListedName, NameKind, RejectedEntry

_UK_NEEDED: Final = ("Unique ID", "Name 6", "Name 1", "Name type", "Designation Type")
_UK_NAMES: Final = ("Name 1", "Name 2", "Name 3", "Name 4", "Name 5", "Name 6")
_UK_KINDS: Final[Mapping[str, Kind]] = {"individual": "person", "entity": "organisation", "ship": "vessel"}
_UK_LINES: Final = (*(f"Address Line {number}" for number in range(1, 7)), "Address Postal Code")
_EU_NEEDED: Final = ("Entity_LogicalId", "Entity_SubjectType", "NameAlias_WholeName")
_EU_KINDS: Final[Mapping[str, Kind]] = {
    "P": "person",
    "E": "organisation",
    "person": "person",
    "enterprise": "organisation",
}
_EU_LINES: Final = ("Address_Street", "Address_PoBox", "Address_ZipCode", "Address_City", "Address_Place")


class UkSanctionsReader:
    """The reader of ``UK-Sanctions-List.csv``."""

    code = "uk-sanctions"
    title = "UK Sanctions List (Foreign, Commonwealth and Development Office)"
    licence = "Open Government Licence v3.0"
    category: Category = "sanction"
    is_format_unverified = True
    min_entries = 1_000

    def find_publication_time(self, files: Sequence[Path]) -> datetime | None:
        """The date in the first line: ``Report Date: 08-Oct-2026``."""
        for file in files:
            with open_table_as_text(file) as lines:
                first = lines.readline().partition("Report Date:")[2].strip(' ",\r\n')
            try:
                return datetime.strptime(first, "%d-%b-%Y").replace(tzinfo=UTC)
            except ValueError:
                continue
        return None

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        entries: dict[str, EntityBuilder] = {}
        for file in files:
            for line, row in read_rows(file, _UK_NEEDED, lines_before_header=1, list_title=self.title):
                key, name = row["Unique ID"], " ".join(filter(None, (row[part] for part in _UK_NAMES)))
                if not key or not name:
                    yield build_rejected_entry(
                        f"{file.name}, line {line}", "the row has no number, or no name", row, key or None
                    )
                    continue
                kind = _UK_KINDS.get(row["Designation Type"].lower(), "unknown")
                _add_uk_row(entries.setdefault(key, EntityBuilder(key, kind)), name, row)
        yield from (one.build() for one in entries.values())


def _add_uk_row(one: EntityBuilder, name: str, row: Mapping[str, str]) -> None:
    """Add one row: a name, an address."""
    kind: NameKind = "primary" if row["Name type"].lower() == "primary name" else "alias"
    if "low" in row.get("Alias strength", "").lower():
        kind = "weak_alias"
    one.names.append(ListedName(name, kind))
    if original := row.get("Name non-latin script"):
        one.names.append(ListedName(original, "alias"))
    one.add_address([row.get(line, "") for line in _UK_LINES], row.get("Address Country", ""))
    one.countries += [parse_country_code(part) for part in row.get("Nationality(/ies)", "").split(";")]
    if one.kind != "person":
        one.identifiers += [part.strip() for part in row.get("Business registration number (s)", "").split(";")]
    one.birth_years += parse_years(row.get("D.O.B", ""))
    one.programmes.append(row.get("Regime Name", ""))
    one.listed_on = one.listed_on or parse_date(row.get("Date Designated", ""))
    one.note = one.note or row.get("Other Information", "")


class EuSanctionsReader:
    """The reader of ``csvFullSanctionsList_1_1``."""

    code = "eu-consolidated"
    title = "EU consolidated financial sanctions list"
    licence = "reuse allowed with the source named: European Commission, FSF"
    category: Category = "sanction"
    is_format_unverified = True
    min_entries = 1_000

    def find_publication_time(self, files: Sequence[Path]) -> datetime | None:
        """The publication date, from the rows of the file."""
        for file in files:
            for _, row in read_rows(file, _EU_NEEDED, delimiter=";", list_title=self.title):
                day = parse_date(row.get("fileGenerationDate", ""))
                return datetime(day.year, day.month, day.day, tzinfo=UTC) if day else None
        return None

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        entries: dict[str, EntityBuilder] = {}
        for file in files:
            for line, row in read_rows(file, _EU_NEEDED, delimiter=";", list_title=self.title):
                if not (key := row["Entity_LogicalId"]):
                    yield build_rejected_entry(f"{file.name}, line {line}", "the row has no number", row)
                    continue
                kind = _EU_KINDS.get(row["Entity_SubjectType"], "unknown")
                _add_eu_row(entries.setdefault(key, EntityBuilder(key, kind)), row)
        for one in entries.values():
            yield one.build() if one.names else RejectedEntry(one.key, "the entry has no name", one.key)


def _add_eu_row(one: EntityBuilder, row: Mapping[str, str]) -> None:
    """Add one row: a name, an address, a birth, a document or a citizenship."""
    if name := row["NameAlias_WholeName"]:
        one.names.append(ListedName(name, "alias" if one.names else "primary"))
    place = row.get("Address_CountryIsoCode", "") or row.get("Address_CountryDescription", "")
    one.add_address([row.get(line, "") for line in _EU_LINES], place)
    one.countries.append(parse_country_code(row.get("Citizenship_CountryIsoCode", "")))
    one.birth_years += parse_years(f"{row.get('BirthDate_BirthDate', '')} {row.get('BirthDate_Year', '')}")
    if one.kind != "person":
        one.identifiers.append(row.get("Identification_Number", ""))
    one.programmes.append(row.get("Entity_Regulation_Programme", ""))
    one.listed_on = one.listed_on or parse_date(row.get("Entity_DesignationDate", ""))
    one.note = one.note or row.get("Entity_Remark", "")
