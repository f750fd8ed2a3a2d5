"""Read an operator's own findings, and OpenSanctions' table of simple targets for operators with a licence.

An operator's own file has the columns ``key``, ``kind`` (person, organisation, vessel, aircraft or unknown), ``name``,
``category``, and as far as known ``aliases``, ``countries``, ``addresses`` and ``identifiers`` (several between
semicolons), ``note`` and ``source`` (its web address). docs/runbooks/watchlists.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast, get_args

from almoner.adapters.watchlist_values import parse_country_code, parse_date, parse_years, read_rows
from almoner.screening.watchlists.domain import (
    CATEGORIES,
    Category,
    Kind,
    ListedAddress,
    ListedEntity,
    ListedName,
    RejectedEntry,
)

_OWN_NEEDED: Final = ("key", "kind", "name", "category")
_TARGETS_NEEDED: Final = ("id", "schema", "name", "aliases", "countries", "addresses", "identifiers", "sanctions")
_CATEGORIES: Final = {category.casefold(): category for category in CATEGORIES}
_SCHEMATA: Final[Mapping[str, Kind]] = {
    "Person": "person",
    "Organization": "organisation",
    "Company": "organisation",
    "PublicBody": "organisation",
    "LegalEntity": "unknown",
    "Vessel": "vessel",
    "Airplane": "aircraft",
}


class OperatorWatchlistReader:
    """The reader of an operator's own table, as spreadsheets save it."""

    code = "own"
    title = "Findings of our own"
    licence = "our own"
    category: Category | None = None
    is_format_unverified = False
    min_entries = 1

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        for file in files:
            for line, row in read_rows(
                file, _OWN_NEEDED, list_title="an operator's own findings", is_from_spreadsheet=True
            ):
                row["kind"] = row["kind"].casefold()
                row["category"] = _CATEGORIES.get(row["category"].casefold(), row["category"])
                problems = list(_row_problems(row))
                yield (
                    RejectedEntry(f"{file.name}, line {line}", "; ".join(problems), row["key"] or None)
                    if problems
                    else _parse_finding(row)
                )


def _row_problems(row: Mapping[str, str]) -> Iterator[str]:
    yield from _identity_problems(row)
    if row["kind"] not in get_args(Kind):
        yield f"kind {row['kind']!r} is not one of {', '.join(get_args(Kind))}"
    if row["category"] not in CATEGORIES:
        yield f"category {row['category']!r} is not one of {', '.join(CATEGORIES)}"
    for name in _split_values(row, "countries"):
        if parse_country_code(name) is None:
            yield f"countries names {name!r}, which is not a country"
    for column in ("note", "source"):
        if len(row.get(column, "")) > 2000:
            yield f"{column} has over 2000 characters"


def _identity_problems(row: Mapping[str, str]) -> Iterator[str]:
    for column in ("key", "name"):
        if not row[column]:
            yield f"{column} is empty"
    if row["name"] and not any(map(str.isalnum, row["name"])):
        yield f"name {row['name'][:50]!r} has no letter or digit: it cannot be compared"
    if len(row["key"]) > 200:
        yield "key has over 200 characters"


def _parse_finding(row: Mapping[str, str]) -> ListedEntity:
    countries = tuple(dict.fromkeys(filter(None, map(parse_country_code, _split_values(row, "countries")))))
    only = countries[0] if len(countries) == 1 else None
    return ListedEntity(
        key=row["key"],
        kind=cast("Kind", row["kind"]),
        names=_names(row),
        countries=countries,
        addresses=tuple(ListedAddress(text, only) for text in _split_values(row, "addresses")),
        identifiers=tuple(_split_values(row, "identifiers")),
        category=cast("Category", row["category"]),
        note=row.get("note") or None,
        source_url=row.get("source") or None,
    )


class OpenSanctionsReader:
    """The reader of ``targets.simple.csv``. It is never fetched: the operator needs a licence of their own."""

    code = "opensanctions"
    title = "OpenSanctions, targets.simple.csv"
    licence = "CC BY-NC 4.0: a business needs a licence from opensanctions.org"
    category: Category | None = None
    is_format_unverified = True
    min_entries = 100

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        for file in files:
            for line, row in read_rows(file, _TARGETS_NEEDED, list_title=self.title):
                if not row["id"] or not row["name"]:
                    yield RejectedEntry(
                        f"{file.name}, line {line}", "the row has no number, or no name", row["id"] or None
                    )
                elif row["schema"] in _SCHEMATA:  # securities, wallets and the like are no subjects
                    yield _parse_target(row)


def _parse_target(row: Mapping[str, str]) -> ListedEntity:
    kind = _SCHEMATA[row["schema"]]
    return ListedEntity(
        key=row["id"],
        kind=kind,
        names=_names(row),
        countries=tuple(dict.fromkeys(filter(None, map(parse_country_code, _split_values(row, "countries"))))),
        addresses=tuple(ListedAddress(text, None) for text in _split_values(row, "addresses")),
        identifiers=tuple(_split_values(row, "identifiers")) if kind != "person" else (),
        birth_years=parse_years(row.get("birth_date", "")),
        programmes=tuple(_split_values(row, "program_ids")),
        listed_on=parse_date(row.get("first_seen", "")),
        category="sanction" if row["sanctions"] else "warning",
    )


def _names(row: Mapping[str, str]) -> tuple[ListedName, ...]:
    aliases = (ListedName(name, "alias") for name in _split_values(row, "aliases"))
    return tuple(dict.fromkeys((ListedName(row["name"], "primary"), *aliases)))


def _split_values(row: Mapping[str, str], column: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in row.get(column, "").split(";") if part.strip()))
