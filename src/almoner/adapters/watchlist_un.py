"""Read the consolidated list of the United Nations Security Council (XML; a public list).

``INDIVIDUALS`` and ``ENTITIES``; a name has up to four parts, one ``ALIAS_NAME`` may contain several names between
semicolons, and unknown values are empty elements.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import ParseError, iterparse

from almoner.adapters.watchlist_values import parse_country_code, parse_years, truncate_note_unless_person
from almoner.kit.text import clean_line
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

_ROOT: Final = "CONSOLIDATED_LIST"
_KINDS: Final[dict[str, Kind]] = {"INDIVIDUAL": "person", "ENTITY": "organisation"}
_PIECES: Final = ("FIRST_NAME", "SECOND_NAME", "THIRD_NAME", "FOURTH_NAME")
_QUALITIES: Final[dict[str, NameKind]] = {"low": "weak_alias", "f.k.a.": "former"}
_SENTENCE: Final = re.compile(r"\s*\((?:formerly|previously) .*\)$", re.IGNORECASE)


class UnSanctionsReader:
    """The reader of ``consolidated.xml``."""

    code = "un-consolidated"
    title = "UN Security Council consolidated list"
    licence = "public list of the United Nations"
    category: Category = "sanction"
    is_format_unverified = False
    min_entries = 500

    def find_publication_time(self, files: Sequence[Path]) -> datetime | None:
        """When the list was generated; None if it does not say so. Raises WatchlistImportRefused."""
        for file in files:
            for element in _read_elements(file, "start"):
                return _moment(element.get("dateGenerated", ""))
        return None

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries. Raises WatchlistImportRefused."""
        for file in files:
            for element in _read_elements(file, "end"):
                if element.tag in _KINDS:
                    yield _parse_entity(element)
                    element.clear()


def _read_elements(file: Path, event: str) -> Iterator[Element]:
    """The elements of a list. Raises WatchlistImportRefused if it is another document, or truncated."""
    known = False
    try:
        for happened, element in iterparse(file, events=("start", "end"), forbid_dtd=True):
            if not known and element.tag != _ROOT:
                raise WatchlistImportRefused(
                    f"{file.name} is not the consolidated list of the UN: it starts with {element.tag}"
                )
            known = True
            if happened == event:
                yield element
    except (ParseError, ValueError) as error:
        raise WatchlistImportRefused(
            f"{file.name} is not an XML document, or is truncated: download it again ({error})"
        ) from error


def _parse_entity(element: Element) -> ListedEntity | RejectedEntry:
    kind = _KINDS[element.tag]
    key = _text(element, "REFERENCE_NUMBER") or _text(element, "DATAID")
    whole = " ".join(piece for name in _PIECES if (piece := _text(element, name)))
    if not key or not whole:
        return RejectedEntry(key or whole or element.tag, "the entry has no number, or no name", key or None)
    names = [ListedName(whole, "primary"), *_aliases(element)]
    if original := _text(element, "NAME_ORIGINAL_SCRIPT"):
        names.append(ListedName(original, "alias"))
    addresses = [found for one in element.iter(f"{element.tag}_ADDRESS") if (found := _address(one))]
    stated = [parse_country_code(one.text or "") for part in element.iter("NATIONALITY") for one in part.iter("VALUE")]
    countries = [*stated, *(one.country for one in addresses)]
    return ListedEntity(
        key=key,
        kind=kind,
        names=tuple(dict.fromkeys(names)),
        countries=tuple(dict.fromkeys(country for country in countries if country)),
        addresses=tuple(dict.fromkeys(addresses)),
        birth_years=tuple(dict.fromkeys(_birth_years(element))),
        programmes=tuple(filter(None, [_text(element, "UN_LIST_TYPE")])),
        listed_on=_day(_text(element, "LISTED_ON")),
        note=truncate_note_unless_person(kind, _text(element, "COMMENTS1")),
    )


def _aliases(element: Element) -> Iterator[ListedName]:
    for alias in element.iter(f"{element.tag}_ALIAS"):
        kind = _QUALITIES.get(_text(alias, "QUALITY").lower(), "alias")
        for name in _text(alias, "ALIAS_NAME").split(";"):
            if stated := _SENTENCE.sub("", name).strip():
                yield ListedName(stated, kind)


def _address(element: Element) -> ListedAddress | None:
    parts = [_text(element, name) for name in ("STREET", "CITY", "STATE_PROVINCE", "ZIP_CODE", "COUNTRY")]
    if not any(parts):
        return None
    return ListedAddress(", ".join(part for part in parts if part), parse_country_code(parts[-1]))


def _birth_years(element: Element) -> Iterator[int]:
    for birth in element.iter("INDIVIDUAL_DATE_OF_BIRTH"):
        for name in ("YEAR", "DATE", "FROM_YEAR", "TO_YEAR"):
            yield from parse_years(_text(birth, name))


def _text(element: Element, name: str) -> str:
    return clean_line(element.findtext(name) or "")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None
