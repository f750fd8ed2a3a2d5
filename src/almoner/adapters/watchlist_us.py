"""Read lists of other US offices: denied persons, and the Consolidated Screening List (public domain).

The denied persons are a tab-separated table with a row for each address; persons and organisations are not
distinguished, and there is no number, so each name is an entry. The Consolidated Screening List contains a dozen lists:
an entry's source decides its category.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from almoner.adapters.watchlist_values import (
    EntityBuilder,
    build_rejected_entry,
    parse_country_code,
    parse_date,
    parse_years,
    read_rows,
)
from almoner.screening.watchlists.domain import (
    Category,
    Kind,
    ListedAddress,
    ListedEntity,
    ListedName,
    RejectedEntry,
)

_DENIED: Final = ("Name", "Street_Address", "City", "State", "Country", "Postal_Code", "FR_Citation")
_SCREENING: Final = ("_id", "source", "type", "programs", "name", "addresses", "alt_names", "nationalities", "ids")
_KINDS: Final[Mapping[str, Kind]] = {
    "individual": "person",
    "entity": "organisation",
    "vessel": "vessel",
    "aircraft": "aircraft",
}
_SUCCESSORS: Final = re.compile(r"[;,]? and any successor.*", re.IGNORECASE)
_AND: Final = re.compile(r"^and ", re.IGNORECASE)
_SANCTIONS: Final = re.compile(r"Treasury Department|Nonproliferation Sanctions")
_OF_ORGANISATIONS: Final = re.compile(
    r"regist|tax|v\.a\.t|company|business|commerce|identification number|swift", re.IGNORECASE
)


class DeniedPersonsReader:
    """The reader of ``dpl.txt``."""

    code = "us-bis-dpl"
    title = "US Bureau of Industry and Security, Denied Persons List"
    licence = "public domain (US government work)"
    category: Category = "warning"
    is_format_unverified = False
    min_entries = 200

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        entries: dict[str, EntityBuilder] = {}
        for file in files:
            for line, row in read_rows(file, _DENIED, delimiter="\t", list_title=self.title):
                if not row["Name"]:
                    yield build_rejected_entry(f"{file.name}, line {line}", "the row has no name", row)
                    continue
                key = row["Name"].upper()[:200]
                one = entries.setdefault(key, EntityBuilder(key, "unknown", [ListedName(row["Name"], "primary")]))
                country = row["Country"] or ("US" if row["State"] else "")
                one.add_address([row[name] for name in ("Street_Address", "City", "State", "Postal_Code")], country)
                one.programmes.append("DPL")
        yield from (one.build() for one in entries.values())


class ConsolidatedScreeningReader:
    """The reader of ``consolidated.csv`` of the Consolidated Screening List."""

    code = "us-csl"
    title = "US Consolidated Screening List"
    licence = "public domain (US government work)"
    category: Category | None = None
    is_format_unverified = False
    min_entries = 5_000

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        for file in files:
            for line, row in read_rows(file, _SCREENING, list_title=self.title):
                if row["_id"] and row["name"]:
                    yield _parse_entity(row)
                else:
                    yield RejectedEntry(
                        f"{file.name}, line {line}", "the row has no number, or no name", row["_id"] or None
                    )


def _parse_entity(row: Mapping[str, str]) -> ListedEntity:
    kind = _KINDS.get(row["type"].lower(), "unknown")
    one = EntityBuilder(row["_id"], kind, [ListedName(_SUCCESSORS.sub("", row["name"]), "primary")])
    one.names += [ListedName(name, "alias") for name in map(_alias, row["alt_names"].split(";")) if name]
    for address in filter(None, map(str.strip, row["addresses"].split(";"))):
        *lines, country = (part.strip() for part in address.split(","))
        known = parse_country_code(country) if len(country) == 2 else None
        if lines:
            one.addresses.append(ListedAddress(", ".join(lines), known))
        one.countries.append(known)
    for column in ("nationalities", "citizenships", "vessel_flag"):
        one.countries += [parse_country_code(code) for code in re.split(r"[;,]", row.get(column, ""))]
    if kind != "person":
        one.identifiers += list(_organisation_numbers(row["ids"]))
    one.birth_years += parse_years(row.get("dates_of_birth", ""))
    one.programmes += [part.strip() for part in row["programs"].split(";")] + [row["source"].partition(" - ")[0]]
    one.listed_on = parse_date(row.get("start_date", ""))
    one.note = row.get("remarks", "")
    return one.build("sanction" if _SANCTIONS.search(row["source"]) else "warning")


def _alias(text: str) -> str:
    return _AND.sub("", _SUCCESSORS.sub("", text).strip())


def _organisation_numbers(text: str) -> Iterator[str]:
    for part in text.split(";"):
        label, _, rest = part.partition(",")
        if _OF_ORGANISATIONS.search(label) and any(one.isdigit() for one in rest):
            yield rest.split(",")[0].strip()
