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
class RegistryNumberMismatch:
    """Why another number may be meant, and the candidates."""

    reason_code: str
    candidates: Sequence[Namesake]


def join_address_lines(register_entry: Organisation | Namesake) -> str | None:
    """Both address lines joined."""
    return " ".join(line for line in (register_entry.address_line_1, register_entry.address_line_2) if line) or None


def build_party(register_entry: Organisation | Namesake, *, others_share_first_line: bool | None) -> Party:
    """A register entry as a ``Party`` for name comparison."""
    names = [register_entry.name, *register_entry.other_names]
    located = (
        join_address_lines(register_entry),
        register_entry.city,
        register_entry.state,
        register_entry.postcode,
        register_entry.country_code,
    )
    return Party(
        names, *located, name_second_line=register_entry.secondary_name, shares_first_line=others_share_first_line
    )


def find_registry_number_mismatch(
    requested_party: Party,
    listed_organisation: Organisation,
    number_key: str,
    listed_agreement: PartyAgreement,
    namesakes: Sequence[Namesake],
    *,
    both_have_addresses: bool,
) -> RegistryNumberMismatch | None:
    """Why another number may be meant; None if nothing suggests one."""
    first_lines = [other.name for other in namesakes]
    found = [
        (
            other,
            matching.compare_parties(
                requested_party, build_party(other, others_share_first_line=_has_family(other, first_lines))
            ),
        )
        for other in namesakes
    ]
    likely = [(other, one) for other, one in found if one.is_likely_match]
    better = [
        other
        for other, one in likely
        if _fits_better(one, listed_agreement, addressed=both_have_addresses)
        or (
            _is_written(other, requested_party)
            and not _is_written(listed_organisation, requested_party)
            and one.score >= listed_agreement.score
        )
    ]
    members = [other for other in namesakes if other.same_first_line]
    if "unnamed" in listed_agreement.vetoes and all(
        other.same_first_line and not other.secondary_name for other in better
    ):
        return RegistryNumberMismatch("member_not_named", members)
    if better:
        return RegistryNumberMismatch("other_number_fits_better", better)
    equal = [other for other, one in likely if abs(one.name_score - listed_agreement.name_score) <= _AS_WELL]
    if not (listed_agreement.is_exact_name and both_have_addresses) and (
        alike := [other for other in equal if _is_other_member(other, listed_organisation)]
    ):
        return RegistryNumberMismatch("member_not_named", alike)
    near = registries_domain.number_keys_one_typo_away(number_key)
    if not both_have_addresses and (
        typos := [other for other in equal if other.number_key in near and _elsewhere(other, listed_organisation)]
    ):
        return RegistryNumberMismatch("similar_number", typos)
    return None


def find_namesakes_at_other_addresses(
    requested_party: Party, listed_organisation: Organisation, namesakes: Sequence[Namesake]
) -> list[Namesake]:
    """Other entries with exactly this name at another address."""
    return [
        other
        for other in namesakes
        if _elsewhere(other, listed_organisation)
        and matching.compare_parties(requested_party, build_party(other, others_share_first_line=None)).is_exact_name
    ]


def _is_written(one: Organisation | Namesake, party: Party) -> bool:
    """Whether the entry's name or second line is spelled exactly as stated, including the legal form."""
    written = {normalise_search_text(name) for name in (one.name, one.secondary_name) if name}
    return not written.isdisjoint(map(normalise_search_text, party.names))


def _has_family(other: Namesake, first_lines: Sequence[str]) -> bool | None:
    return other.same_first_line or first_lines.count(other.name) > 1 or None


def _fits_better(other: PartyAgreement, own: PartyAgreement, *, addressed: bool) -> bool:
    """Whether it fits better by name, or by place if the names fit equally well."""
    if other.matches_main_name and other.is_exact_name and not (own.matches_main_name and own.is_exact_name):
        return True
    if other.name_score > own.name_score + _AS_WELL:
        return not addressed or other.score > own.score
    nearer = other.score > own.score + _AS_WELL or (other.is_same_place and not own.is_same_place)
    return addressed and other.name_score > own.name_score - _AS_WELL and nearer


def _is_other_member(other: Namesake, listed: Organisation) -> bool:
    return other.same_first_line and _line_words(other) != _line_words(listed)


def _line_words(one: Organisation | Namesake) -> list[str]:
    """The words of its second line, the word for what it is first: POST 5 REESE and 5 REESE POST are one.

    Words in another order tell members apart (ALPHA BETA, BETA ALPHA), and so do words beside two kinds or two numbers,
    as one cannot know what belongs together (8 POST 12).
    """
    words = normalise_search_text(one.secondary_name).split()
    kinds = [word for word in words if word in matching.MEMBER_KINDS]
    if len(kinds) == 1 and sum(any(map(str.isdigit, word)) for word in words) <= 1:
        words.remove(kinds[0])
        return kinds + words
    return words


def _elsewhere(other: Namesake, listed: Organisation) -> bool:
    return (other.city, other.state, other.postcode) != (listed.city, listed.state, listed.postcode)
