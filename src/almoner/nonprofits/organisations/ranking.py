"""The order of search results: how well a name answers a query. Pure; RapidFuzz compares the words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from almoner.nonprofits.organisations.words import WEAK, Query

SIMILAR_WORDS: Final = 6
"""Dictionary words that stand in for one misspelt word, at most."""

LEAST_LIKE_WHOLE: Final = 65
LEAST_LIKE_PART: Final = 80

FoundBy = Literal["number", "name", "beginning", "words", "description"]
FOUND_BY: Final[tuple[FoundBy, ...]] = ("number", "name", "beginning", "words", "description")
"""What each tier stands for; ``store_search`` gives them."""
NUMBER_MATCH: Final = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """What ranking knows of a result."""

    id: UUID
    tier: int
    name: str
    other: str
    prominence: int


def _core(text: str) -> str:
    return " ".join(word for word in text.split() if word not in WEAK) or text


def score(query: str, name: str) -> float:
    """0 to 100: half for being the whole name, half for being a part of it, whatever the order of the words."""
    return (fuzz.token_sort_ratio(query, name) + fuzz.token_set_ratio(query, name)) / 2


@dataclass(frozen=True, slots=True)
class Placed:
    """One result: how it was found, how well it answers. ``likeness`` is 0 to 100; ``as_typed``: no word repaired."""

    id: UUID
    found_by: FoundBy
    likeness: float
    as_typed: bool


def placed(query: Query, candidate: Candidate) -> Placed:
    """How well one candidate answers."""
    asked, needed, name = _core(query.text), frozenset(query.needed), candidate.name
    likeness = score(asked, _core(name))
    present = needed.issubset(name.split())
    if candidate.other:
        both = f"{name} {candidate.other}"
        likeness = max(likeness, score(asked, _core(both)), score(asked, candidate.other))
        present = present or needed.issubset(both.split())
    return Placed(candidate.id, FOUND_BY[candidate.tier], likeness, present)


def ranked(query: Query, candidates: Iterable[Candidate]) -> list[Placed]:
    """The results, best first: numbers, then names with every word as typed, then the rest by likeness.

    Of equals that very name is first, then the larger body, the shorter name, the id: the same order on every page.
    """

    def place(pair: tuple[Candidate, Placed]) -> tuple[bool, bool, int, bool, int, int, UUID]:
        candidate, found = pair
        return (
            candidate.tier != NUMBER_MATCH,
            not found.as_typed,
            -round(found.likeness / 2),
            candidate.name != query.text,
            -candidate.prominence,
            len(candidate.name),
            candidate.id,
        )

    return [found for _, found in sorted(((one, placed(query, one)) for one in candidates), key=place)]


def resembles(query: Query, candidate: Candidate) -> bool:
    """Whether a name that shares trigrams with a query is near enough to be offered."""
    return (
        fuzz.token_sort_ratio(query.text, candidate.name) >= LEAST_LIKE_WHOLE
        or fuzz.partial_ratio(query.text, candidate.name) >= LEAST_LIKE_PART
    )


def repairable(word: str) -> bool:
    """Whether a word may be misspelt: numbers and short words are taken as they stand."""
    return len(word) >= 3 and not any(character.isdigit() for character in word)


def similar(word: str, known: Sequence[tuple[str, int]]) -> list[str]:
    """The known words (with their counts) that the word may be a slip of: fewest slips first, then the commoner one."""
    slips = 1 if len(word) <= 4 else 2 if len(word) <= 8 else 3
    near = []
    for other, count in known:
        distance = OSA.distance(word, other, score_cutoff=slips)
        if distance <= slips and other != word:
            near.append((distance, -count, other))
    return [other for _, _, other in sorted(near)[:SIMILAR_WORDS]]
