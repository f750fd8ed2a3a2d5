"""Two addresses: how near each other they are, street by street and place by place."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from rapidfuzz.distance import OSA

from almoner.screening.matching import tables
from almoner.screening.matching.domain import Party
from almoner.screening.matching.spelling import counted, numbered, plain

Level = Literal["same", "near", "other", "unknown"]

_UNITS: Final = re.compile(r"\b(?:ste|suite|apt|unit|fl|floor|rm|room|bldg|building|dept)\b.*")
_BOX: Final = re.compile(r"\bp ?o box (\w+)|\bpob (\w+)")
_WAYS: Final = frozenset(
    "avenue boulevard circle court drive highway lane parkway place road saint street terrace trail way".split()
)
_SIDES: Final = frozenset("north south east west ne nw se sw northeast northwest southeast southwest".split())


@dataclass(frozen=True, slots=True)
class Place:
    """An address, read."""

    number: str
    street: tuple[str, ...]
    box: str
    city: str
    state: str
    postcode: str
    country: str


@dataclass(frozen=True, slots=True)
class Nearness:
    """How two addresses agree, part by part."""

    street: Level
    postcode: Level
    city: Level
    state: Level
    country: Level

    @property
    def known(self) -> bool:
        """Whether anything could be compared."""
        return any(one != "unknown" for one in (self.street, self.postcode, self.city, self.state, self.country))


def _words(text: str | None) -> list[str]:
    found = numbered(counted(plain(text or "")).split())
    whole = tables.streets()
    return [whole.get(word, word) for word in found]


def place(party: Party) -> Place:
    """Reads the address of a party."""
    street = counted(plain(party.street or ""))
    box = _BOX.search(street)
    words = _words(_UNITS.sub("", street))
    number = next((word for word in words[:2] if word[0].isdigit()), "")
    named = tuple(word for word in words if word != number and word not in _WAYS and word not in _SIDES)
    postcode = plain(party.postcode or "").replace(" ", "")
    country = plain(party.country or "")
    if postcode.isdigit() and len(postcode) in (5, 9):
        postcode = "" if postcode.startswith("00000") else postcode[:5]
    return Place(
        number=number, street=named, box=next(filter(None, box.groups()), "") if box else "",
        city=" ".join(_words(party.city)), state=plain(party.state or ""), postcode=postcode, country=country,
    )  # fmt: skip


def _level(one: str, other: str) -> Level:
    if not one or not other:
        return "unknown"
    return "same" if one == other else "other"


def _street(one: Place, other: Place) -> Level:
    if one.box and other.box:
        return _level(one.box, other.box)
    if one.box or other.box or not one.street or not other.street:
        return "unknown"
    shared = set(one.street) & set(other.street) or OSA.distance(one.street[0], other.street[0]) < 2 < len(
        one.street[0]
    )
    if not shared:
        return "other"
    return "same" if one.number and one.number == other.number else "near"


def _city(one: Place, other: Place) -> Level:
    level = _level(one.city, other.city)
    if level == "other":
        joined = one.city.replace(" ", ""), other.city.replace(" ", "")
        if OSA.distance(*joined) < 2 or OSA.normalized_similarity(*joined) > 0.85:
            return "same"
    return level


def _postcode(one: Place, other: Place) -> Level:
    level = _level(one.postcode, other.postcode)
    return "near" if level == "other" and one.postcode[:3] == other.postcode[:3] else level


def _country(one: Place, other: Place) -> Level:
    """Codes of one length, or names; a code and a name cannot be compared."""
    level = _level(one.country, other.country)
    return "unknown" if level == "other" and len(one.country) != len(other.country) else level


def nearness(one: Place, other: Place) -> Nearness:
    """How two addresses agree."""
    return Nearness(
        _street(one, other), _postcode(one, other), _city(one, other),
        _level(one.state, other.state), _country(one, other),
    )  # fmt: skip
