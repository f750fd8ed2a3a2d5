"""Match an organisation or a person against watchlist entries: names first, then other evidence."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Final

from rapidfuzz.distance import OSA

from almoner.screening.matching import tables
from almoner.screening.matching.addresses import ParsedAddress, compare_addresses, parse_address
from almoner.screening.matching.alignment import max_edit_distance
from almoner.screening.matching.comparison import compare_names
from almoner.screening.matching.conventions import may_be_same_word_across_languages, sounds_alike
from almoner.screening.matching.domain import (
    EntryMatch,
    NameSimilarity,
    Party,
    PreparedEntry,
    PreparedName,
    PreparedSubject,
    ScorePart,
)
from almoner.screening.matching.index import NameIndex
from almoner.screening.matching.sound_comparison import either_contains_other_by_sound
from almoner.screening.matching.spelling import normalise_text
from almoner.screening.matching.words import prepare_name, strip_name_particles

FLAG_SCORE: Final = 0.7
"""The score from which a match is flagged for review."""
_MAX_WEAK_NAME: Final = 0.8
_MAX_COMMON_NAME: Final = 0.6
_NEARLY_EQUAL: Final = 0.9
_MAX_NAME_SCORE: Final = 1.0
_MIN_DISTINCTIVE_WEIGHT: Final = 2.0
"""The weight from which a name is evidence by itself."""
_MIN_WORDS: Final = 2
_MIN_IDENTIFYING_WEIGHT: Final = 1.5
"""The weight from which an exact name identifies its bearer, counted among registered organisations."""
_MIN_WORD_LETTERS: Final = 4
"""The fewest letters of a word that is more than initials, which many share."""
_MIN_NAME_LETTERS: Final = 6
"""The fewest letters of a name that may have typos: a typo makes a shorter name another one."""
_MIN_LIKENESS_ALONE: Final = 0.8
"""The least likeness of names without other evidence."""
_CONTAINED_SCORE: Final = 0.8
"""The score of two names of which one contains all words of the other."""
_MIN_WEIGHT_BESIDE_INITIAL: Final = 0.8
"""The least weight of the words beside an initial."""
_MIN_RARE_WEIGHT: Final = 1.5
"""The least weight of both names for ``_MIN_LIKENESS_ALONE``; more common ones must be nearly equal."""
_SAME_COUNTRY_POINTS, _OTHER_COUNTRY_POINTS = 0.05, -0.35
_IDENTIFIER_POINTS: Final = 0.3
_ADDRESS_POINTS: Final = 0.15
_MAX_EVIDENCE_POINTS: Final = _IDENTIFIER_POINTS + _ADDRESS_POINTS + _SAME_COUNTRY_POINTS


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The evidence beside the names.

    ``supports``: something agrees. ``agrees_strongly``: something agrees that few subjects share by chance.
    ``is_comparable``: the subject has something to compare. ``uncorroborated``: nothing agrees, and the subject's
    countries may be incomplete. ``states_country``: the list states a country.
    """

    parts: tuple[ScorePart, ...]
    supports: bool
    agrees_strongly: bool
    is_comparable: bool
    uncorroborated: bool
    states_country: bool


def _collect_evidence(subject: PreparedSubject, entry: PreparedEntry, home: frozenset[str]) -> _Evidence:
    parts: list[ScorePart] = []
    if subject.identifiers and (shared := subject.identifiers.intersection(entry.identifiers)):
        parts.append(ScorePart("identifier", _IDENTIFIER_POINTS, listed=" ".join(sorted(shared))))
    if subject.address_party is not None:
        here = parse_address(subject.address_party)
        if at := next((one for one in entry.address_parties if _is_shared_address(here, one)), None):
            lines = ", ".join(line for line in (at.street, at.city) if line)
            parts.append(ScorePart("street", _ADDRESS_POINTS, listed=lines))
    strongly = bool(parts)
    same = subject.countries & (entry.countries | entry.concerns)
    if same or (subject.countries and entry.countries and not subject.are_countries_incomplete):
        reported = " ".join(sorted(subject.countries)), " ".join(sorted(entry.countries | (same & entry.concerns)))
        parts.append(ScorePart("country", _SAME_COUNTRY_POINTS if same else _OTHER_COUNTRY_POINTS, *reported))
    supports = bool(same) or strongly
    return _Evidence(
        tuple(parts),
        supports,
        bool(same - home) or strongly,
        is_comparable=bool(subject.countries) and (supports or not subject.are_countries_incomplete),
        uncorroborated=subject.are_countries_incomplete and not supports,
        states_country=bool(entry.countries),
    )


def _is_shared_address(here: ParsedAddress, listed: Party) -> bool:
    """Whether an address is that of an entry, including the town: lists write what follows the street in one line."""
    near = compare_addresses(here, parse_address(listed))
    if near.street != "same" or near.country == "other":
        return False
    where = f" {normalise_text(listed.city or '')} "
    reported = (here.city, here.postcode)
    return near.city == "same" or any(one and f" {one} " in where for one in reported)


def is_distinctive_name(name: PreparedName) -> bool:
    """Whether a name alone identifies its bearer: at least two rare words that are unique to it."""
    return len(name.words) >= _MIN_WORDS and name.total_weight >= _MIN_DISTINCTIVE_WEIGHT and not name.name_frequency


def is_exact_name_match_sufficient(name: PreparedName) -> bool:
    """Whether an exactly equal name is enough for a match: almost no registered organisation has its words.

    Listed names are not counted: an entry would make its own words common.
    """
    counts = tables.registered_name_word_frequencies()
    unmatched = any(
        len(word) >= _MIN_WORD_LETTERS and word.isalpha() and word not in counts.count_by_text for word in name.words
    )
    if len(name.words) == 1 and unmatched and tables.is_ordinary_word(name.words[0]):
        return False
    seldom = sum(map(counts.compute_rarity_weight, set(name.words))) >= _MIN_IDENTIFYING_WEIGHT
    return not name.name_frequency and (unmatched or (len(name.words) >= _MIN_WORDS and seldom))


def _is_exact_name(searched_name: PreparedName, listed: PreparedName, evidence: _Evidence) -> bool:
    """Whether the whole distinctive name equals that of an entry without a country: it must not go unreported."""
    same = (
        searched_name.joined_words == listed.joined_words
        or searched_name.joined_words_with_stop_words == listed.joined_words_with_stop_words
    )
    return (
        same
        and not evidence.states_country
        and is_exact_name_match_sufficient(searched_name)
        and is_exact_name_match_sufficient(listed)
    )


def _is_near_name(
    likeness: NameSimilarity, searched_name: PreparedName, listed: PreparedName, evidence: _Evidence
) -> bool:
    """Whether a distinctive name agrees but for a typo, the word order or a common word.

    Not for an entry in another country, nor for ordinary words. A single word that only sounds the same needs enough
    consonants.
    """
    if evidence.states_country and not evidence.supports:
        return False
    typos = [
        part
        for part in likeness.parts
        if part.finding == "spelling" and not may_be_same_word_across_languages(part.asked, part.listed)
    ]
    pairs = [(part.asked, part.listed) for part in typos]
    single = len(searched_name.words) == len(listed.words) == 1
    sounding = single and all(sounds_alike(*pair) and not _is_word(pair[0]) for pair in pairs)
    letters = min(len(searched_name.joined_words), len(listed.joined_words))
    least = _MIN_NAME_LETTERS if typos or likeness.score < _NEARLY_EQUAL else _MIN_NAME_LETTERS - 1
    if (
        (likeness.score < _MIN_LIKENESS_ALONE and not sounding)
        or letters < least
        or searched_name.name_frequency
        or not is_exact_name_match_sufficient(listed)
    ):
        return False
    if all(map(tables.is_ordinary_word, listed.words)):
        return False
    if len(listed.words) == 1 and not sounding and not all(_is_typo(*pair) for pair in pairs):
        return False
    return not any(tables.organisation_name_word_frequencies().is_known_word(asked) for asked, _ in pairs)


def _is_word(word: str) -> bool:
    return tables.is_ordinary_word(word) or tables.is_compound_of_ordinary_words(word)


def _is_typo(one: str, other: str) -> bool:
    """Whether two words are within the edit distance, and do not only sound the same: MAINFRAME and MAINPHARMA."""
    typos = max_edit_distance(max(len(one), len(other)), allow_more_typos=False)
    return OSA.distance(one, other, score_cutoff=typos) <= typos


def _count_words(name: PreparedName) -> int:
    """The number of words; a name of syllables counts as a family and a given name, though it has no blank."""
    return max(
        len(name.words), _MIN_WORDS if name.phonetic_name is not None and name.phonetic_name.coarse_spellings else 0
    )


def _is_same_single_name(searched_name: PreparedName, listed: PreparedName) -> bool:
    """Whether both names are the same single rare word, particles aside."""
    words, listed_words = strip_name_particles(searched_name.words), strip_name_particles(listed.words)
    if len(words) != 1 or [*words] != [*listed_words] or len(words[0]) < _MIN_NAME_LETTERS:
        return False
    return is_exact_name_match_sufficient(searched_name if len(searched_name.words) == 1 else prepare_name(words[0]))


def _is_contained(likeness: NameSimilarity, searched_name: PreparedName, listed: PreparedName) -> bool:
    """Whether one name has all words of the other, and they are rare: people omit patronymics, second surnames.

    A word may be spelt as another language does.
    """
    if (searched_name.phonetic_name is None) != (listed.phonetic_name is None) and not likeness.vetoes:
        sounded, latin = (searched_name, listed) if searched_name.phonetic_name else (listed, searched_name)
        if either_contains_other_by_sound(sounded, latin, _MIN_RARE_WEIGHT):
            return True
    fewer, more = sorted((searched_name, listed), key=lambda name: len(name.words))
    if len(fewer.words) < _MIN_WORDS or fewer.total_weight < _MIN_RARE_WEIGHT or likeness.vetoes:
        return False
    return len(min(fewer.words, key=len)) > 1 and all(
        word in more.words or any(may_be_same_word_across_languages(word, other) for other in more.words)
        for word in fewer.words
    )


def _suffices_alone(likeness: NameSimilarity, searched_name: PreparedName, listed: PreparedName) -> bool:
    """Whether two names without other evidence may be one person's: two similar, rare words."""
    if min(_count_words(searched_name), _count_words(listed)) < _MIN_WORDS:
        return _is_same_single_name(searched_name, listed)
    if any(part.finding in ("initial", "initials") for part in likeness.parts):
        short = {word for part in likeness.parts if part.finding == "initials" for word in (part.asked, part.listed)}
        spelt, listed_spelt = (
            sum(
                weight
                for word, weight in zip(name.words, name.word_weights, strict=True)
                if len(word) > 1 and word not in short
            )
            for name in (searched_name, listed)
        )
        return likeness.score >= _MIN_LIKENESS_ALONE and min(spelt, listed_spelt) >= _MIN_WEIGHT_BESIDE_INITIAL
    seldom = min(searched_name.total_weight, listed.total_weight) >= _MIN_RARE_WEIGHT
    return likeness.score >= (_MIN_LIKENESS_ALONE if seldom else _NEARLY_EQUAL)


def _score_ceilings(
    likeness: NameSimilarity, searched_name: PreparedName, listed: PreparedName, evidence: _Evidence, *, weak: bool
) -> Iterator[ScorePart]:
    """Upper limits of the score: for a weak name, or a common one without other evidence."""
    if weak:
        yield ScorePart("weak", _MAX_WEAK_NAME)
    if evidence.uncorroborated:
        if not _suffices_alone(likeness, searched_name, listed):
            yield ScorePart("common", _MAX_COMMON_NAME)
        return
    if (
        evidence.agrees_strongly
        or not evidence.is_comparable
        or (is_distinctive_name(searched_name) and is_distinctive_name(listed))
    ):
        return
    if not weak and (
        _is_exact_name(searched_name, listed, evidence) or _is_near_name(likeness, searched_name, listed, evidence)
    ):
        return
    if not evidence.supports or likeness.score < _NEARLY_EQUAL:
        yield ScorePart("common", _MAX_COMMON_NAME)


def _score_match(
    likeness: NameSimilarity, searched_name: PreparedName, listed: PreparedName, evidence: _Evidence, *, weak: bool
) -> tuple[float, list[ScorePart]]:
    if evidence.uncorroborated and likeness.score < _CONTAINED_SCORE and _is_contained(likeness, searched_name, listed):
        more = ScorePart("contained", _CONTAINED_SCORE - likeness.score, searched_name.name, listed.name)
        likeness = replace(likeness, score=_CONTAINED_SCORE, parts=(*likeness.parts, more))
    parts = [*likeness.parts]
    score = likeness.score
    for limit in _score_ceilings(likeness, searched_name, listed, evidence, weak=weak):
        if score > limit.points:
            parts.append(ScorePart(limit.finding, limit.points - score, searched_name.name, listed.name))
            score = limit.points
    parts += evidence.parts
    total = sum(part.points for part in parts)
    score = min(max(total, 0.0), 1.0)
    if score != total:
        parts.append(ScorePart("bounds", score - total))
    return score, parts


def match_entry(
    subject: PreparedSubject,
    entry: PreparedEntry,
    entry_name_positions: Iterable[int] | None = None,
    *,
    home_countries: frozenset[str] = frozenset(),
) -> EntryMatch:
    """Score how likely a subject and an entry are the same, by all names or by those at ``entry_name_positions``.

    ``home_countries``: countries with so many subjects that sharing one is weak evidence.
    """
    evidence = _collect_evidence(subject, entry, home_countries)
    return _best_match(subject, entry, evidence, entry_name_positions)


def _best_match(
    subject: PreparedSubject, entry: PreparedEntry, evidence: _Evidence, name_positions: Iterable[int] | None
) -> EntryMatch:
    best = EntryMatch(entry.id, 0.0, requires_review=False, parts=(), vetoes=(), searched_name="", listed_name="")
    names = entry.names
    for place in range(len(names)) if name_positions is None else name_positions:
        listed = _prepare_listed(names[place], subject.are_countries_incomplete)
        for asked in subject.names:
            loose = evidence.agrees_strongly or not evidence.is_comparable
            likeness = compare_names(
                asked, listed, allow_more_typos=loose, are_person_names=subject.are_countries_incomplete
            )
            if likeness.score + _MAX_EVIDENCE_POINTS > best.score:
                score, parts = _score_match(likeness, asked, listed, evidence, weak=entry.is_weak_name(place))
                if score > best.score:
                    flagged = score >= FLAG_SCORE and not likeness.vetoes
                    best = EntryMatch(entry.id, score, flagged, tuple(parts), likeness.vetoes, asked.name, listed.name)
    return best


@lru_cache(maxsize=2_048)
def _prepare_listed(text: str, person: bool, /) -> PreparedName:
    """Prepare a listed name when it is compared: keeping all of them prepared would use most of the memory."""
    return prepare_name(text, is_person=person)


def _read_names(entries: Iterable[PreparedEntry], *, person: bool) -> Iterator[PreparedName]:
    """Prepare all names. One in another script is searched by sound only if the entry has no Latin name.

    Otherwise the Latin name finds the entry at a fraction of the cost.
    """
    for entry in entries:
        names = [prepare_name(text, is_person=person) for text in entry.names]
        if any(name.phonetic_name is None for name in names):
            names = [name if name.phonetic_name is None else replace(name, phonetic_name=None) for name in names]
        yield from names


class _NamedEntries:
    """Entries with an index of their names."""

    def __init__(self, entries: Iterable[PreparedEntry], *, persons: bool) -> None:
        self.entries = tuple(entries)
        self._firsts = array("I", accumulate((len(entry.names) for entry in self.entries), initial=0))
        """The number of each entry's first name."""
        self._index = NameIndex(_read_names(self.entries, person=persons), self._text_of, persons=persons)

    def _place_of(self, number: int) -> tuple[int, int]:
        """(position of the entry, position of the name within it) for a name's number."""
        entry = bisect_right(self._firsts, number) - 1
        return entry, number - self._firsts[entry]

    def _text_of(self, number: int) -> str:
        entry, place = self._place_of(number)
        return self.entries[entry].names[place]

    def find_candidates(self, subject: PreparedSubject, *, loose: bool) -> dict[int, set[int]]:
        """The entries worth comparing, by position, with the positions of the names found."""
        found: dict[int, set[int]] = {}
        for name in subject.names:
            for number in self._index.find_candidate_name_positions(name, allow_more_typos=loose):
                entry, place = self._place_of(number)
                found.setdefault(entry, set()).add(place)
        return found


class WatchlistMatcher:
    """Watchlist entries with an index of their names.

    ``home``: the countries of most subjects. An organisation there cannot match an entry in other countries by its name
    alone, so that it is searched in a second index without them, which is much smaller.
    """

    def __init__(self, entries: Iterable[PreparedEntry], home: Iterable[str] = (), *, persons: bool = False) -> None:
        self.home = frozenset(home)
        self._all = _NamedEntries(entries, persons=persons)
        near = (one for one in self._all.entries if not one.countries or self.home & (one.countries | one.concerns))
        self._at_home = self._all if persons or not self.home else _NamedEntries(near, persons=False)

    @property
    def entries(self) -> tuple[PreparedEntry, ...]:
        """All entries."""
        return self._all.entries

    def find_candidate_name_positions_by_entry(self, subject: PreparedSubject) -> dict[int, set[int]]:
        """The entries worth comparing, by position, with the positions of the names found."""
        return self._all.find_candidates(subject, loose=self._forgives(subject))

    def _forgives(self, subject: PreparedSubject) -> bool:
        """Whether evidence beside the name may agree, so that more typos are forgiven."""
        return bool(
            subject.are_countries_incomplete
            or not subject.countries
            or subject.countries - self.home
            or subject.identifiers
            or subject.address_party
        )

    def find_matches(self, subject: PreparedSubject) -> list[EntryMatch]:
        """The entries that a reviewer should see, best first."""
        return [one for one in self.find_matches_with_min_score(subject, min_score=FLAG_SCORE) if one.requires_review]

    def find_matches_with_min_score(self, subject: PreparedSubject, *, min_score: float) -> list[EntryMatch]:
        """The entries worth comparing whose score is at least this, best first."""
        found = []
        loose = self._forgives(subject)
        in_latin = all(name.phonetic_name is None for name in subject.names)
        abroad = loose or not in_latin or min_score <= _MAX_NAME_SCORE + _OTHER_COUNTRY_POINTS
        named = self._all if abroad else self._at_home
        for number, places in named.find_candidates(subject, loose=loose).items():
            entry = named.entries[number]
            evidence = _collect_evidence(subject, entry, self.home)
            if _MAX_NAME_SCORE + sum(part.points for part in evidence.parts) < min_score:
                continue  # in another country, even an equal name is not enough
            one = _best_match(subject, entry, evidence, sorted(places))
            if one.score >= min_score:
                found.append(one)
        return sorted(found, key=lambda one: (-one.score, one.entry_id))


def prepare_subject(
    names: Iterable[str],
    countries: Iterable[str] = (),
    identifiers: Iterable[str] = (),
) -> PreparedSubject:
    """Prepare a subject for comparison with many entries."""
    return PreparedSubject(tuple(prepare_name(name) for name in names), frozenset(countries), frozenset(identifiers))
