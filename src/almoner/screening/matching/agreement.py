"""Decide whether the organisation that somebody searches for is one in the register, by names and addresses.

The constants were chosen by cross-validation on labelled pairs (docs/evidence/matching.md).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from almoner.screening.matching import tables
from almoner.screening.matching.addresses import AddressAgreement, ParsedAddress, compare_addresses, parse_address
from almoner.screening.matching.comparison import compare_names
from almoner.screening.matching.domain import Finding, NameSimilarity, Party, PartyAgreement, PreparedName, ScorePart
from almoner.screening.matching.spelling import normalise_text
from almoner.screening.matching.words import BRANCH_WORDS, prepare_name

CERTAIN_SCORE: Final = 0.935
"""The score from which a match is accepted without review, if both sides have an address."""
LIKELY_SCORE: Final = 0.85
"""The score from which two names alone count as those of one organisation."""
_COMMON_NAME_FREQUENCY: Final = 6
"""From this many organisations with the same name on, only an equal street tells them apart."""

RARE_NAME_WEIGHT: Final = 1.7
"""The weight of a name from which an equal state is enough beside it."""

_ADDRESS_SHARE: Final = 0.15
_PLACES: Final[tuple[tuple[Finding, str, float], ...]] = (
    ("country", "other", 0.0),
    ("street", "same", 1.0),
    ("postcode", "same", 0.85),
    ("state", "other", 0.0),
    ("street", "near", 0.9),
    ("city", "same", 0.8),
    ("postcode", "near", 0.55),
    ("state", "same", 0.5),
    ("city", "other", 0.0),
    ("country", "same", 0.3),
)
"""How near two addresses are: the first row that applies decides."""
_UNKNOWN_PLACE_SHARE: Final = 0.3
_RARE_NAME_POINTS: Final = 0.03
_WIDE_AREAS: Final = frozenset((("postcode", "near"), ("state", "same")))
_OTHER_NAME_DEDUCTION: Final = 0.06
_SECOND_LINE_DEDUCTION: Final = 0.1
_UNRELATED_LINE_DEDUCTION: Final = 0.25
_PARTIAL_LINE_DEDUCTION: Final = 0.04
_MAX_BRANCH_SCORE: Final = 0.8
_EQUAL_SCORE: Final = 0.9999
"""The score from which all words count as equal: the sum of many weights is slightly below 1."""
_TELLING_SHARE: Final = 0.8
"""The weight of a telling word, as a share of the largest in its name."""
_DISTINCTIVE_WEIGHT: Final = 0.7
"""The weight of a word that tells organisations apart by itself; at most about forty registered names contain it."""
_KNOWN_IN_NAMES: Final = 3
_COMMON_NAME_DEDUCTION: Final = 0.1
_CHAPTER_WORDS: Final = frozenset(
    "aerie area assembly auxiliary branch camp chapter circle club conference council county court district division "
    "encampment grange group hive local lodge unit post province region return section state synod temple tent "
    "trustee".split()
)
"""Words that make a second line name a chapter of the organisation on the first line, or a trust for it."""
_AREAS: Final = frozenset("area county district division province region section state".split())
"""Those of them that say where it is, not what it is."""
_OTHER_KINDS: Final = frozenset(
    "crew daughters detachment junior ladies pack rebekah sons squadron troop women".split()
)
"""Further words that say what kind of member one is."""
_FEWEST_INITIALS: Final = 3
_COUNTRY_OF_FAMILIES: Final = "usa"
MEMBER_KINDS: Final = _CHAPTER_WORDS | _OTHER_KINDS
"""Words that say what kind of member of its family an organisation is."""

_prepare = lru_cache(maxsize=4096)(prepare_name)


def _deduct(likeness: NameSimilarity, finding: Finding, points: float) -> NameSimilarity:
    points = min(points, likeness.score)
    part = ScorePart(finding, -points, likeness.searched_name, likeness.listed_name)
    vetoes = (*likeness.vetoes, finding) if finding in ("branch", "unnamed") else likeness.vetoes
    return replace(likeness, score=likeness.score - points, parts=(*likeness.parts, part), vetoes=vetoes)


def _is_chapter(second: PreparedName, first: PreparedName) -> bool:
    return any(
        kind in ("place", "direction") or word in _CHAPTER_WORDS
        for word, kind in zip(second.words, second.word_kinds, strict=True)
        if word not in first.words
    )


def _agreeing_words(likeness: NameSimilarity) -> set[str]:
    """The words of the listed name that the searched name contains too."""
    return {
        word for part in likeness.parts if part.points > 0 and part.finding != "letters" for word in part.listed.split()
    }


def _compare_with_lines(
    searched_name: PreparedName, first: PreparedName, second: PreparedName, *, in_family: bool | None
) -> Iterator[NameSimilarity]:
    """Compare one searched name with the first line, with both lines together and with the second line alone.

    ``in_family``: other organisations have the same first line, so it identifies none of them: the searched name must
    contain a word of the second line, and only those words count. None if unknown: a second line that is a place or
    names a chapter is then treated as if others shared the first line.
    """
    both = compare_names(searched_name, _prepare(f"{first.name} {second.name}"))
    alone, whole = compare_names(searched_name, second), compare_names(searched_name, first)
    more = set(second.words) - set(first.words)
    stated = more if both.score >= _EQUAL_SCORE else more & _agreeing_words(both)
    if in_family and more and not stated:
        for likeness in (both, alone, whole):
            yield _deduct(likeness, "unnamed", max(likeness.score - _MAX_BRANCH_SCORE, 0.0))
        return
    yield both
    related = more and set(first.words) & set(second.words)
    certain = in_family or alone.score >= _EQUAL_SCORE
    yield (
        alone
        if certain
        else _deduct(alone, "second_line", _SECOND_LINE_DEDUCTION if related else _UNRELATED_LINE_DEDUCTION)
    )
    if in_family and more:
        partly = " ".join(word for word in normalise_text(second.name).split() if set(_prepare(word).words) & stated)
        yield _deduct(
            compare_names(searched_name, _prepare(f"{first.name} {partly}")), "second_line", _PARTIAL_LINE_DEDUCTION
        )
        ways = (searched_name.words, _write_out_initials(searched_name.words, first, second))
        if any(_is_usual_name(words, first, second, stated) for words in ways):
            same = ScorePart("same", 1.0, searched_name.joined_words, both.listed_name)
            named = NameSimilarity(1.0, (same,), (), searched_name.name, both.listed_name)
            yield _deduct(named, "second_line", _PARTIAL_LINE_DEDUCTION)
    elif first.is_truncated or (
        in_family is None and _is_chapter(second, first) and not more & set(searched_name.words)
    ):
        yield _deduct(whole, "branch", max(whole.score - _MAX_BRANCH_SCORE, 0.0))
    else:
        yield whole


def _write_out_initials(words: Sequence[str], first: PreparedName, second: PreparedName) -> Sequence[str]:
    """The words with the first line for its initials, which may lack the country: VFW POST 8, BPOE LODGE 660."""
    national = first.words[-1:] == (_COUNTRY_OF_FAMILIES,)
    initials = "".join(word[0] for word in (first.words[:-1] if national else first.words))
    if len(initials) < _FEWEST_INITIALS or words.count(initials) != 1 or initials in second.words:
        return words
    place = words.index(initials)
    return (*words[:place], *first.words, *words[place + 1 :])


def _is_usual_name(words: Sequence[str], first: PreparedName, second: PreparedName, stated: Collection[str]) -> bool:
    """Whether people call a member so: POST 8 of the American Legion, CHEYENNE ELKS LODGE 660.

    Every word is of one of the two lines, as often as there, or says what kind of member it is where the second line
    does not. It has the whole first line, or the telling word of it and the whole second line, in which a word counts
    more than a number.
    """
    counts, own_counts = Counter(words), Counter(second.words)
    asked, own = set(counts), set(own_counts)
    kinds = _CHAPTER_WORDS - _AREAS - BRANCH_WORDS
    if own & (kinds | BRANCH_WORDS | _OTHER_KINDS):
        kinds = frozenset()
    first_counts = Counter(first.words)
    allowed = own_counts + (Counter(normalise_text(first.name).split()) | first_counts) + Counter(kinds)
    once = any(counts[word] < own_counts[word] for word in stated)
    if counts - allowed or once or not stated or any(0 < counts[word] < first_counts[word] for word in asked):
        return False
    missing = set(first.words) - asked
    if not missing:
        return True
    letters = {word for word in own if word.isalpha()}
    if BRANCH_WORDS & missing or not (letters or own) <= asked:
        return False
    weights = {word: weight for word, weight in zip(first.words, first.word_weights, strict=True) if word.isalpha()}
    least = _TELLING_SHARE * max(weights.values(), default=0.0)
    return any(
        weight >= least and first.word_kinds[first.words.index(word)] == "word"
        for word, weight in weights.items()
        if word in asked
    )


def _compare_with_names(searched_name: PreparedName, others: Sequence[PreparedName]) -> Iterator[NameSimilarity]:
    for other in others:
        yield _deduct(compare_names(searched_name, other), "other_name", _OTHER_NAME_DEDUCTION)


def best_name_similarity(
    searched_names: Sequence[str],
    listed_names: Sequence[str],
    *,
    listed_name_second_line: str | None = None,
    other_organisations_share_first_line: bool | None = None,
) -> NameSimilarity:
    """The best likeness of all pairs of names. Other names count slightly less than the main name.

    ``listed_name_second_line`` belongs to the first listed name: a chapter, a trust, another name.
    ``other_organisations_share_first_line``: other organisations have the same first line; None if unknown.
    """
    first, *others = [read for name in listed_names if (read := _prepare(name)).words] or [_prepare("")]
    second = _prepare(listed_name_second_line or "")
    found: list[NameSimilarity] = []
    for rank, name in enumerate(searched_names):
        read = _prepare(name)
        pairs = (
            [*_compare_with_lines(read, first, second, in_family=other_organisations_share_first_line)]
            if second.words
            else [compare_names(read, first)]
        )
        pairs += _compare_with_names(read, others)
        found += [_deduct(pair, "other_name", _OTHER_NAME_DEDUCTION) for pair in pairs] if rank else pairs
    return max(found, key=lambda pair: pair.score, default=NameSimilarity(0.0, (), (), "", ""))


def _differs_in_distinctive_word(likeness: NameSimilarity) -> bool:
    """Whether the one distinctive word of the name only nearly agrees: BARNES and CARNES FIRE DEPARTMENT.

    Two swapped neighbouring letters that form no known word are a typo. Two words that several organisations have in
    their names are different words: DAKOTA and LAKOTA BOYS RANCH. A single digit is not distinctive: FIRST CHURCH.
    """
    misspelt = [part for part in likeness.parts if part.finding == "spelling" and not _is_swap(part)]
    typos = {part.listed for part in misspelt}
    if not typos or any(map(_are_two_words, misspelt)):
        return bool(typos)
    listed = _prepare(likeness.listed_name)
    worth = {
        word: 0.0 if kind == "number" and len(word) == 1 else weight
        for word, weight, kind in zip(listed.words, listed.word_weights, listed.word_kinds, strict=True)
    }
    rest = max((worth.get(word, 0.0) for word in _agreeing_words(likeness) - typos), default=0.0)
    return rest < _DISTINCTIVE_WEIGHT and max(worth.get(word, 0.0) for word in typos) >= rest


def _are_two_words(part: ScorePart) -> bool:
    counts = tables.registered_name_word_frequencies()
    plural = part.asked.removesuffix("s") == part.listed.removesuffix("s")
    return not plural and all(
        counts.count_by_text.get(word, 0) >= _KNOWN_IN_NAMES for word in (part.asked, part.listed)
    )


def _is_swap(part: ScorePart) -> bool:
    return (
        sorted(part.asked) == sorted(part.listed)
        and part.asked not in tables.organisation_name_word_frequencies().count_by_text
    )


def _place_parts(party: Party, listed: Party, near: AddressAgreement, *, rare: bool) -> Iterator[ScorePart]:
    for finding, level, worth in _PLACES:
        if getattr(near, finding) == level:
            reported = str(getattr(party, finding) or ""), str(getattr(listed, finding) or "")
            yield ScorePart(finding, _ADDRESS_SHARE * worth, *reported)
            if rare and (finding, level) in _WIDE_AREAS:
                yield ScorePart("rare", _RARE_NAME_POINTS)
            return
    yield ScorePart("address_unknown", _ADDRESS_SHARE * _UNKNOWN_PLACE_SHARE)


def _has_address(one: ParsedAddress) -> bool:
    return bool(one.street or one.po_box)


def compare_parties(party: Party, listed_party: Party) -> PartyAgreement:
    """Score how well a searched party and a listed one agree."""
    likeness = best_name_similarity(
        party.names,
        listed_party.names,
        listed_name_second_line=listed_party.name_second_line,
        other_organisations_share_first_line=listed_party.shares_first_line,
    )
    mine, other = _prepare(likeness.searched_name), _prepare(likeness.listed_name)
    here, there = parse_address(party), parse_address(listed_party)
    near = compare_addresses(here, there)
    parts = [ScorePart("name", likeness.score * (1 - _ADDRESS_SHARE), likeness.searched_name, likeness.listed_name)]
    parts += _place_parts(
        party, listed_party, near, rare=min(mine.total_weight, other.total_weight) >= RARE_NAME_WEIGHT
    )
    score = sum(part.points for part in parts)
    if near.street != "same" and other.name_frequency >= _COMMON_NAME_FREQUENCY:
        points = min(_COMMON_NAME_DEDUCTION, score)
        parts.append(ScorePart("common", -points, listed=str(other.name_frequency)))
        score -= points
    located = near.has_comparable_part and _has_address(here) and _has_address(there)
    likely = likeness.score >= LIKELY_SCORE and not likeness.vetoes
    return PartyAgreement(
        score=min(max(score, 0.0), 1.0),
        name_score=likeness.score,
        both_have_street_or_po_box=located,
        is_likely_match=likely,
        is_certain_match=likely and located and score >= CERTAIN_SCORE,
        parts=tuple(parts),
        vetoes=likeness.vetoes,
        name_parts=likeness.parts,
        is_exact_name=likeness.score >= _EQUAL_SCORE,
        matches_main_name=bool(listed_party.names) and likeness.listed_name.startswith(listed_party.names[0]),
        differs_in_distinctive_word=_differs_in_distinctive_word(likeness),
        is_same_place="same" in (near.street, near.postcode, near.city) or near.street == "near",
        is_same_state=near.state == "same",
        address_differs=near.has_differing_part,
    )
