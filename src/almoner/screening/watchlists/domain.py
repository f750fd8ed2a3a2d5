"""Watch lists: who is on them, under which names, and in which version of the list (settled 4)."""

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, get_args

Category = Literal["warning", "sanction", "hateSpeech", "commercial", "adverseMedia", "controversial"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
Kind = Literal["person", "organisation", "vessel", "aircraft", "unknown"]
"""What is listed; ``unknown`` where the list does not say whether it is a person."""
NameKind = Literal["primary", "alias", "former", "weak_alias"]
"""``weak_alias``: a name so broad or so short that the list itself calls it weak."""


class WatchlistRefused(Exception):
    """A file that cannot be loaded; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ListedName:
    """One name as the list writes it."""

    text: str
    kind: NameKind


@dataclass(frozen=True, slots=True)
class ListedAddress:
    """One address: in one line, and its country (three letters) where that is known."""

    text: str
    country: str | None


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of a list.

    ``key`` is the list's own number. ``countries``: three letters each, those of addresses, nationalities and
    registrations. ``identifiers``: numbers of registers, tax offices and the like, as the list writes them, never those
    of papers of persons. ``birth_years``: of a person. ``category``: where the list has several.
    """

    key: str
    kind: Kind
    names: tuple[ListedName, ...]
    countries: tuple[str, ...] = ()
    addresses: tuple[ListedAddress, ...] = ()
    identifiers: tuple[str, ...] = ()
    birth_years: tuple[int, ...] = ()
    programmes: tuple[str, ...] = ()
    listed_on: date | None = None
    category: Category | None = None


@dataclass(frozen=True, slots=True)
class BadEntry:
    """What could not be read: where, and a sentence that says why."""

    place: str
    why: str
