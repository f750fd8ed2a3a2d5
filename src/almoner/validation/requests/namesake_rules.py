"""Whether another register entry with a similar name may be meant; pure.

No word list decides: the stated name is compared with other entries in the same way as with the entry of its number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from almoner.nonprofits.organisations.domain import Namesake, Organisation, normalise_search_text
from almoner.nonprofits.registries import domain as registries_domain
from almoner.screening.matching import service as matching
from almoner.screening.matching.domain import Party, PartyAgreement

_AS_WELL: Final = 0.02
"""Scores that differ by no more than this count as equal."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why another number may be meant, and the candidates."""

    code: str
    candidates: Sequence[Namesake]


def street_lines(place: Organisation | Namesake) -> str | None:
    """Both address lines joined."""
    return " ".join(line for line in (place.address_line_1, place.address_line_2) if line) or None


def comparable_party(one: Organisation | Namesake, *, in_family: bool | None) -> Party:
    """A register entry as a ``Party`` for name comparison."""
    names = [one.name, *one.other_names]
    located = street_lines(one), one.city, one.state, one.postcode, one.country_code
    return Party(names, *located, second_line=one.secondary_name, in_family=in_family)


def find_doubt(
    party: Party,
    listed: Organisation,
    number_key: str,
    own: PartyAgreement,
    others: Sequence[Namesake],
    *,
    addressed: bool,
) -> Doubt | None:
    """The reason to doubt the number; None if there is none."""
    first_lines = [other.name for other in others]
    found = [
        (other, matching.compare_parties(party, comparable_party(other, in_family=_has_family(other, first_lines))))
        for other in others
    ]
    likely = [(other, one) for other, one in found if one.likely]
    better = [
        other
        for other, one in likely
        if _fits_better(one, own, addressed=addressed)
        or (_is_written(other, party) and not _is_written(listed, party) and one.score >= own.score)
    ]
    members = [other for other in others if other.same_first_line]
    if "unnamed" in own.vetoes and all(other.same_first_line and not other.secondary_name for other in better):
        return Doubt("member_not_named", members)
    if better:
        return Doubt("other_number_fits_better", better)
    equal = [other for other, one in likely if abs(one.name - own.name) <= _AS_WELL]
    if not (own.exact and addressed) and (alike := [other for other in equal if _is_other_member(other, listed)]):
        return Doubt("member_not_named", alike)
    near = registries_domain.number_keys_one_typo_away(number_key)
    if not addressed and (
        typos := [other for other in equal if other.number_key in near and _elsewhere(other, listed)]
    ):
        return Doubt("similar_number", typos)
    return None


def bearers_elsewhere(party: Party, listed: Organisation, others: Sequence[Namesake]) -> list[Namesake]:
    """Other entries with exactly this name at another address."""
    return [
        other
        for other in others
        if _elsewhere(other, listed) and matching.compare_parties(party, comparable_party(other, in_family=None)).exact
    ]


def _is_written(one: Organisation | Namesake, party: Party) -> bool:
    """Whether the entry's name or second line is spelled exactly as stated, including the legal form."""
    written = {normalise_search_text(name) for name in (one.name, one.secondary_name) if name}
    return not written.isdisjoint(map(normalise_search_text, party.names))


def _has_family(other: Namesake, first_lines: Sequence[str]) -> bool | None:
    return other.same_first_line or first_lines.count(other.name) > 1 or None


def _fits_better(other: PartyAgreement, own: PartyAgreement, *, addressed: bool) -> bool:
    """Whether it fits better by name, or by place if the names fit equally well."""
    if other.whole_name and other.exact and not (own.whole_name and own.exact):
        return True
    if other.name > own.name + _AS_WELL:
        return not addressed or other.score > own.score
    nearer = other.score > own.score + _AS_WELL or (other.same_place and not own.same_place)
    return addressed and other.name > own.name - _AS_WELL and nearer


def _is_other_member(other: Namesake, listed: Organisation) -> bool:
    return other.same_first_line and other.secondary_name != listed.secondary_name


def _elsewhere(other: Namesake, listed: Organisation) -> bool:
    return (other.city, other.state, other.postcode) != (listed.city, listed.state, listed.postcode)
