"""Registries: official registers of organisations.

A number is stored as its register writes it. Its *key* is the normalised form for look-ups. Three results stay
separate: the check of an identifier, the look-up, and whether names agree.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final
from uuid import UUID

from almoner.nonprofits.registries import spellings
from almoner.nonprofits.registries.identifiers import IdentifierCheck, Verdict, check_registry_number
from almoner.nonprofits.registries.number_formats import (
    NUMBER_FORMATS,
    format_registry_number,
    normalise_stored_number,
    number_keys_with_restored_leading_zeros,
    parse_number_key,
    parse_org_id,
    possible_number_keys,
    to_ascii_digits,
)
from almoner.nonprofits.registries.record_pages import register_page_url

__all__ = [
    "ABROAD_PART",
    "REQUIRED_PARTS",
    "DeclaredRegistry",
    "IdentifierCheck",
    "ImportedSource",
    "Registry",
    "Verdict",
    "check_registry_number",
    "format_registry_number",
    "has_known_number_format",
    "missing_register_parts",
    "normalise_stored_number",
    "number_keys_one_typo_away",
    "number_keys_with_restored_leading_zeros",
    "parse_number_key",
    "parse_org_id",
    "possible_number_keys",
    "register_page_url",
    "registry_match_distance",
    "to_ascii_digits",
]


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """A loaded source of a registry, with the date of its data.

    ``is_format_unverified``: its reader was written from the format description only, so a reviewer must decide.
    """

    source: str
    is_format_unverified: bool
    data_as_of: datetime


@dataclass(frozen=True, slots=True)
class Registry:
    """One registry.

    ``data_as_of``: the date of its newest data; None if it is not loaded. ``sources``: read for single registries and
    those of a country.
    """

    id: UUID
    code: str
    name: str
    english_name: str
    country_code: str
    data_as_of: datetime | None
    sources: tuple[ImportedSource, ...] = ()

    @property
    def has_only_unverified_sources(self) -> bool | None:
        """Whether no verified source lists its organisations; None if it is not loaded."""
        return all(source.is_format_unverified for source in self.sources) if self.sources else None


@dataclass(frozen=True, slots=True)
class DeclaredRegistry:
    """A registry that only a mapping file declares.

    Its numbers have from ``min_number_length`` to ``max_number_length`` characters without spaces, hyphens, dots and
    slashes: digits, or letters and digits.
    """

    code: str
    name: str
    english_name: str
    country_code: str
    min_number_length: int = 1
    max_number_length: int = 50
    digits_only: bool = False

    def accepts_number_key(self, number_key: str) -> bool:
        """Whether the key has the form of its numbers."""
        formed = number_key.isascii() and (number_key.isdigit() if self.digits_only else number_key.isalnum())
        return formed and self.min_number_length <= len(number_key) <= self.max_number_length

    def describes_registry(self, registry: Registry) -> bool:
        """Whether a known registry is this one."""
        stated = (registry.code, registry.name, registry.english_name, registry.country_code)
        return stated == (self.code, self.name, self.english_name, self.country_code)


_OWN_FILES: Final = frozenset(
    """
    AL AK AZ AR CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR PA
    PR RI SC SD TN TX UT VA VT WA WI WV WY
    """.split()
)
ABROAD_PART: Final = "abroad"
"""The IRS part of all other rows: they come in one file, whatever their STATE (military, islands, none)."""
REQUIRED_PARTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {"IRS": _OWN_FILES | {ABROAD_PART}, "RNA": frozenset({"waldec", "import"})}
)
"""The parts that make up a register published in several files.

Others come in one file, or lack no registered body without a further one (former charities of Scotland). A file of one
French department is a part of its own and completes nothing.
"""


def missing_register_parts(registry_code: str, imported_parts: Collection[str]) -> tuple[str, ...]:
    """The parts of a register that are not loaded."""
    return tuple(sorted(REQUIRED_PARTS.get(registry_code, frozenset()).difference(imported_parts)))


def number_keys_one_typo_away(number_key: str) -> frozenset[str]:
    """Numbers that differ by one digit or one transposition."""
    found = {
        f"{number_key[:at]}{digit}{number_key[at + 1 :]}"
        for at, there in enumerate(number_key)
        if there.isascii() and there.isdigit()
        for digit in "0123456789"
    }
    found |= {
        f"{number_key[:at]}{number_key[at + 1]}{number_key[at]}{number_key[at + 2 :]}"
        for at in range(len(number_key) - 1)
    }
    return frozenset(found - {number_key})


def has_known_number_format(registry_code: str) -> bool:
    """Whether the form of a registry's numbers is known here; a declared one's is not."""
    return registry_code in NUMBER_FORMATS


def registry_match_distance(registry: Registry, entered_text: str) -> int | None:
    """How well a text matches the registry's code or names: 0 is best, None no match."""
    if entered_text.strip().casefold() in {
        registry.code.casefold(),
        registry.name.casefold(),
        registry.english_name.casefold(),
    }:
        return -1
    return spellings.registry_name_distance(
        entered_text, registry.code, (registry.code, registry.name, registry.english_name), registry.country_code
    )
