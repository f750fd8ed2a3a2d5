"""Ranks search results by name similarity (RapidFuzz); pure."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, Literal
from uuid import UUID

from rapidfuzz import fuzz

from almoner.kit import abbreviations
from almoner.kit.records import statically_frozen_dataclass
from almoner.nonprofits.organisations.normalisation import (
    INITIALS_LENGTHS,
    NOT_IN_INITIALS,
    STOP_WORDS,
    SearchQuery,
)

_MIN_WHOLE_SIMILARITY: Final = 65
_MIN_PARTIAL_SIMILARITY: Final = 80
_TYPOS: Final = 2.5
_LEAST_GOOD: Final = 75.0

FoundBy = Literal["number", "name", "beginning", "initials", "words", "place", "description"]
_FOUND_BY: Final[tuple[FoundBy, ...]] = ("number", "name", "beginning", "words")
"""How a result was found, by its tier in ``store_search``."""
_BEGINS: Final = 90.0
"""The minimum similarity of a name that begins with the query, so that typing on does not move it behind others."""
_INITIALS: Final = 88.0
_COST_OF_FURTHER_INITIALS: Final = 3.0
_WORDS_TIER: Final = 3
NUMBER_TIER: Final = 0
_SortKey = tuple[bool, bool, bool, int, int, int, int, UUID]
_INACTIVE: Final = 200
_COST_OF_INACTIVE: Final = 6.0


@statically_frozen_dataclass
class SearchCandidate:
    """A possible search result with the data for ranking.

    ``prominence_rank``: lower for active, central and larger bodies; ``has_description``: it has a description.
    """

    id: UUID
    match_tier: int
    name: str
    other_names: str
    place: str
    prominence_rank: int
    has_description: bool = False


@statically_frozen_dataclass
class RankedResult:
    """A ranked result.

    ``similarity``: 0 to 100; ``found_by``: how it was found. ``words_not_as_typed``: query words that it has in another
    form, in its description, or not at all.
    """

    id: UUID
    found_by: FoundBy
    similarity: float
    words_not_as_typed: tuple[str, ...]

    @property
    def has_all_words_as_typed(self) -> bool:
        """Whether it contains every required word as typed."""
        return not self.words_not_as_typed


def _core_name(words: Sequence[str]) -> str:
    written = abbreviations.expand_abbreviations_in_context([word for word in words if word not in STOP_WORDS] or words)
    return " ".join(abbreviations.expand_abbreviations(written))


def name_similarity(query: str, name: str) -> float:
    """The similarity of a query and a name, 0 to 100."""
    return (fuzz.token_sort_ratio(query, name) + fuzz.token_set_ratio(query, name)) / 2


def min_confident_similarity(query: SearchQuery) -> float:
    """The similarity above which a corrected name counts as meant."""
    return max(100 - _TYPOS * 100 / max(len(query.text), 1), _LEAST_GOOD)


class ResultRanker:
    """Ranks the candidates of one query, comparing each once."""

    def __init__(self, query: SearchQuery) -> None:
        self._query = query
        self._core = _core_name(query.words)
        self._known: dict[tuple[UUID, int], tuple[_SortKey, RankedResult]] = {}

    def rank_candidates(self, candidates: Iterable[SearchCandidate]) -> list[RankedResult]:
        """Rank results: numbers, the exact name, names with every entered word, then by similarity.

        Ties: first the one that also has the weak words, then active, central and larger bodies, the shorter name, the
        ID. The order is the same on every page.
        """
        return [found for _, found in sorted(map(self._placed, candidates), key=itemgetter(0))]

    def rank_candidate(self, candidate: SearchCandidate) -> RankedResult:
        """Rank one candidate."""
        return self._placed(candidate)[1]

    def _placed(self, candidate: SearchCandidate) -> "tuple[_SortKey, RankedResult]":
        at = candidate.id, candidate.match_tier
        if (known := self._known.get(at)) is None:
            known = self._known[at] = self._compared(candidate)
        return known

    def _compared(self, candidate: SearchCandidate) -> "tuple[_SortKey, RankedResult]":
        whole = fuzz.ratio(self._query.text, candidate.name)
        found = self._answer(candidate, whole)
        similarity = found.similarity - (_COST_OF_INACTIVE if candidate.prominence_rank >= _INACTIVE else 0.0)
        place = (
            candidate.match_tier != NUMBER_TIER,
            candidate.name != self._query.text,
            not found.has_all_words_as_typed,
            -round(similarity / 2),
            -round(whole / 3),
            candidate.prominence_rank,
            len(candidate.name),
            candidate.id,
        )
        return place, found

    def _answer(self, candidate: SearchCandidate, whole: float) -> RankedResult:
        query = self._query
        similarity, reported, here = self._similarity(candidate, whole)
        otherwise = _not_as_typed(query, reported + here)
        found_by = _FOUND_BY[min(candidate.match_tier, _WORDS_TIER)]
        if found_by == "beginning":
            similarity = max(similarity, _BEGINS)
        initials = otherwise if query.may_have_initials else ()
        if (further := _further_initials(initials, candidate.name)) is not None:
            least = _INITIALS - _COST_OF_FURTHER_INITIALS * further
            return RankedResult(candidate.id, "initials", max(similarity, least), ())
        if found_by == "words" and candidate.has_description and otherwise:
            found_by = "description"
        elif found_by == "words" and here and _not_as_typed(query, reported):
            found_by = "place"
        return RankedResult(candidate.id, found_by, similarity, otherwise)

    def _similarity(self, candidate: SearchCandidate, whole: float) -> tuple[float, list[str], list[str]]:
        """(similarity, words of its names, further query words that match its place)."""
        query, asked, name = self._query, self._core, candidate.name.split()
        similarity, reported = max(name_similarity(asked, _core_name(name)), whole), name
        place = candidate.place.split()
        if candidate.other_names:
            other = candidate.other_names.split()
            similarity = max(similarity, name_similarity(asked, _core_name(name + other)))
            if not {*other} <= {*place}:  # a second line that is only a place is no name
                similarity = max(similarity, name_similarity(asked, _core_name(other)))
            reported = name + other
        here: list[str] = []
        for word in place:  # as often as it is typed beside the name: Washington Club washington
            if word in query.words and query.words.count(word) > reported.count(word) + here.count(word):
                here.append(word)
        here += [
            word for word, code in query.state_codes_by_word.items() if code in place and word not in (*reported, *here)
        ]
        if here:
            similarity = max(
                similarity,
                name_similarity(asked, _core_name(name + here)),
                fuzz.ratio(query.text, " ".join(name + here)),
            )
        return similarity, reported, here


def _further_initials(missing: Sequence[str], name: str) -> int | None:
    """How many more initials the name has than the one missing word; None if they differ."""
    if len(missing) != 1 or len(missing[0]) not in INITIALS_LENGTHS:
        return None
    initials = "".join(word[0] for word in name.split() if word not in NOT_IN_INITIALS)
    return len(initials) - len(missing[0]) if initials.startswith(missing[0]) else None


def _not_as_typed(query: SearchQuery, reported: Sequence[str]) -> tuple[str, ...]:
    missing = [word for word in query.required_words if word not in reported]
    if not missing:
        return ()
    held = {*reported, *(word for one in reported for word in abbreviations.MEANINGS.get(one, ()))}
    return tuple(
        word
        for word in missing
        if held.isdisjoint((word, *abbreviations.MEANINGS.get(word, ())))
        and not (word == query.incomplete_word and any(one.startswith(word) for one in reported))
    )


def is_similar_name(query: SearchQuery, candidate: SearchCandidate) -> bool:
    """Whether a name that shares a word with a query is similar enough to be offered."""
    return (
        fuzz.token_sort_ratio(query.text, candidate.name) >= _MIN_WHOLE_SIMILARITY
        or fuzz.partial_ratio(query.text, candidate.name) >= _MIN_PARTIAL_SIMILARITY
    )
