"""Compare two addresses part by part: street, postcode, city, state, country."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from rapidfuzz.distance import OSA

from almoner.kit.state_codes import STATE_CODES
from almoner.screening.matching import tables
from almoner.screening.matching.domain import Party
from almoner.screening.matching.spelling import convert_number_words_to_digits, normalise_numerals, normalise_text

AgreementLevel = Literal["same", "near", "other", "unknown"]

_UNITS: Final = re.compile(r"\b(?:ste|suite|apt|unit|fl|floor|rm|room|bldg|building|dept)\b.*")
_BOX: Final = re.compile(r"\bp ?o box (\w+)|\bpob (\w+)")
_WAYS: Final = frozenset(
    "avenue boulevard circle court drive highway lane parkway place road saint street terrace trail way".split()
)
_SIDES: Final = frozenset("north south east west ne nw se sw northeast northwest southeast southwest".split())


@dataclass(frozen=True, slots=True)
class ParsedAddress:
    """An address split into normalised parts; "" for a missing one."""

    number: str
    street: tuple[str, ...]
    po_box: str
    city: str
    state: str
    postcode: str
    country: str


@dataclass(frozen=True, slots=True)
class AddressAgreement:
    """How two addresses agree, part by part. ``numbers_differ``: both have a house number, and not the same."""

    street: AgreementLevel
    postcode: AgreementLevel
    city: AgreementLevel
    state: AgreementLevel
    country: AgreementLevel
    numbers_differ: bool

    @property
    def has_comparable_part(self) -> bool:
        """Whether both addresses have at least one part in common to compare."""
        return any(one != "unknown" for one in (self.street, self.postcode, self.city, self.state, self.country))

    @property
    def has_differing_part(self) -> bool:
        """Whether a part that both addresses state differs. A missing part does not."""
        levels = (self.street, self.postcode, self.city, self.state, self.country)
        return (self.street == "near" and self.numbers_differ) or self.postcode == "near" or "other" in levels


def _words(text: str | None) -> list[str]:
    found = convert_number_words_to_digits(normalise_numerals(normalise_text(text or "")).split())
    whole = tables.street_word_by_abbreviation()
    return [whole.get(word, word) for word in found]


def parse_address(party: Party) -> ParsedAddress:
    """Parse the address of a party."""
    street = normalise_numerals(normalise_text(party.street or ""))
    box = _BOX.search(street)
    words = _words(_UNITS.sub("", street))
    number = next((word for word in words[:2] if word[0].isdigit()), "")
    named = tuple(word for word in words if word != number and word not in _WAYS and word not in _SIDES)
    postcode = normalise_text(party.postcode or "").replace(" ", "")
    country = normalise_text(party.country or "")
    if postcode.isdigit() and len(postcode) in (5, 9):
        postcode = "" if postcode.startswith("00000") else postcode[:5]
    return ParsedAddress(
        number=number, street=named, po_box=next(filter(None, box.groups()), "") if box else "",
        city=" ".join(_words(party.city)), state=_parse_state(party.state), postcode=postcode, country=country,
    )  # fmt: skip


def _parse_state(text: str | None) -> str:
    """A state by its code, if that is known: ``District of Columbia`` -> ``dc``."""
    state = normalise_text(text or "")
    return STATE_CODES.get(state, state)


def _compare_text(one: str, other: str) -> AgreementLevel:
    if not one or not other:
        return "unknown"
    return "same" if one == other else "other"


def _compare_streets(one: ParsedAddress, other: ParsedAddress) -> AgreementLevel:
    if one.po_box and other.po_box:
        return _compare_text(one.po_box, other.po_box)
    if one.po_box or other.po_box or not one.street or not other.street:
        return "unknown"
    shared = set(one.street) & set(other.street) or OSA.distance(one.street[0], other.street[0]) < 2 < len(
        one.street[0]
    )
    if not shared:
        return "other"
    return "same" if one.number and one.number == other.number else "near"


def _compare_cities(one: ParsedAddress, other: ParsedAddress) -> AgreementLevel:
    level = _compare_text(one.city, other.city)
    if level == "other":
        joined = one.city.replace(" ", ""), other.city.replace(" ", "")
        if OSA.distance(*joined) < 2 or OSA.normalized_similarity(*joined) > 0.85:
            return "same"
    return level


def _compare_postcodes(one: ParsedAddress, other: ParsedAddress) -> AgreementLevel:
    level = _compare_text(one.postcode, other.postcode)
    return "near" if level == "other" and one.postcode[:3] == other.postcode[:3] else level


def _compare_countries(one: ParsedAddress, other: ParsedAddress) -> AgreementLevel:
    """Compare two country codes or two names; "unknown" for a code and a name."""
    level = _compare_text(one.country, other.country)
    return "unknown" if level == "other" and len(one.country) != len(other.country) else level


def compare_addresses(one: ParsedAddress, other: ParsedAddress) -> AddressAgreement:
    """Compare two addresses part by part."""
    return AddressAgreement(
        _compare_streets(one, other), _compare_postcodes(one, other), _compare_cities(one, other),
        _compare_text(one.state, other.state), _compare_countries(one, other),
        bool(one.number and other.number) and one.number != other.number,
    )  # fmt: skip
