"""Organisation search: words with typos repaired, ranked, and the same order on every page (settled 1.1, 8).

What is typed is tried first. Only where that finds too little are known words taken for slips, and words left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from almoner.nonprofits.organisations import ranking, spelling, store_search
from almoner.nonprofits.organisations.filters import Filters
from almoner.nonprofits.organisations.ranking import NUMBER_MATCH, Placed, Ranking
from almoner.nonprofits.organisations.spelling import Group, Heard
from almoner.nonprofits.organisations.store import Scope
from almoner.nonprofits.organisations.store_search import COUNTED, HEAD, Asked, Match, Near
from almoner.nonprofits.organisations.words import LONGEST, Query
from almoner.nonprofits.registries.domain import number_keys
from almoner.platform.database.transactions import EVERYONE, Tx

ENOUGH: Final = 5
"""With fewer results than these, and none of that very name, words are taken as misspelt."""

MOST_ALIKE: Final = 1
"""Likeness by which a later try must be better to be taken instead of an earlier one."""

_NAME_TIER: Final = 2
_DIGITS_OF_A_NUMBER: Final = 5
_DIGITS_BESIDE_A_NAME: Final = 6
_POSTCODE: Final = re.compile(r"[0-9]{5}-[0-9]{4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Results:
    """A stretch of ranked results. ``total`` is exact unless ``exhaustive`` is false: then there are more."""

    placed: list[Placed]
    total: int
    exhaustive: bool


@dataclass(frozen=True, slots=True)
class _Tried:
    """What one way of asking found, best first. ``asked`` is None where there is no more than that."""

    asked: Asked | None
    match: Match
    placed: list[Placed]

    @property
    def best(self) -> float:
        return self.placed[0].likeness if self.placed else 0.0


@dataclass(frozen=True, slots=True)
class _Search:
    """A query on its way; ``before``: what was asked is not asked again."""

    tx: Tx
    scope: Scope
    filters: Filters
    query: Query
    ranking: Ranking
    keys: tuple[str, ...]
    before: dict[Asked, _Tried] = field(default_factory=dict)

    async def tried(self, asked: Asked) -> _Tried:
        if asked not in self.before:
            found = await store_search.match(self.tx, self.scope, self.filters, asked, 0, HEAD)
            if asked.vast and len(found.candidates) < HEAD:
                return await self.tried(replace(asked, vast=False))
            self.before[asked] = _Tried(asked, found, self.ranking.ranked(found.candidates))
        return self.before[asked]

    async def with_words(self, groups: Sequence[Group], other: str | None = None) -> _Tried:
        """What has every word for which something stands; names that are alike, when that is one word of several."""
        needed = spelling.asked_for(groups)
        named, elsewhere = spelling.every(needed, other)
        near: Near = "letters" if any(group.lost or group.repaired for group in groups) else "length"
        vast = spelling.vast(needed) and self.filters == Filters()
        asked = Asked(named, elsewhere, self.query.text, self.keys, near, vast)
        only_one = len(groups) > 1 and sum(not group.lost for group in groups) == 1
        if only_one:  # how many there are is not told
            return await self.alike(replace(asked, vast=spelling.vast(needed, spelling.MANY)))
        return await self.tried(asked)

    async def alike(self, asked: Asked) -> _Tried:
        """Of what is found by one word of several, the names that are near the whole query, and whose number it has."""
        tried = await self.tried(replace(asked, counted=False))
        near = [one for one in tried.match.candidates if one.tier == NUMBER_MATCH or ranking.resembles(self.query, one)]
        return _Tried(None, Match(near, len(near)), self.ranking.ranked(near))


async def ranked(
    tx: Tx, scope: Scope, filters: Filters, text: str, start: int, stop: int, *, best_first: bool
) -> Results:
    """Results ``start`` to ``stop`` (exclusive) for what a person typed."""
    digits = sum(map(str.isdigit, text))
    keys = tuple(number_keys(text)) if digits else ()
    query = Query.of(text)
    search = _Search(tx, scope, filters, query, Ranking(query), (*keys, *_keys_beside_a_name(text)))
    found = await _numbered(search, keys) if digits >= _DIGITS_OF_A_NUMBER else None
    found = found or await _best(search)
    total, exhaustive = min(found.match.total, COUNTED), found.match.total <= COUNTED
    if not best_first:
        start, stop = total - stop, total - start
    start, stop = max(start, 0), min(stop, total)
    placed = found.placed[start:stop] if start < len(found.placed) else []
    if (further := stop - max(start, len(found.placed))) > 0 and found.asked is not None:
        skip = max(start, len(found.placed))
        rest = await store_search.match(tx, scope, filters, found.asked, skip, further)
        placed += [search.ranking.placed(candidate) for candidate in rest.candidates]
    return Results(placed if best_first else placed[::-1], total, exhaustive)


def _keys_beside_a_name(text: str) -> list[str]:
    """What numbers among other words may stand for: ``red cross 53-0196605``."""
    several = text.split()
    numbers = [
        word
        for word in (several[:LONGEST] if len(several) > 1 else ())
        if sum(map(str.isdigit, word)) >= _DIGITS_BESIDE_A_NAME and not _POSTCODE.fullmatch(word)
    ]
    return [key for word in numbers for key in number_keys(word.strip("()[],;:#"))]


async def _numbered(search: _Search, keys: Sequence[str]) -> _Tried | None:
    found = await store_search.numbered(search.tx, search.scope, search.filters, keys)
    return _Tried(None, found, search.ranking.ranked(found.candidates)) if found.candidates else None


async def _best(search: _Search) -> _Tried:
    """The first try that is good enough, or the best of all."""
    query = search.query
    suspected = [word for word in query.needed if spelling.repairable(word)]
    words = spelling.asked_of_dictionary(query)
    heard = await store_search.suggest_words(search.tx, EVERYONE, words, query.begun, suspected)
    groups = spelling.groups(query, heard)
    best = await search.with_words(groups, spelling.initials(query, heard))
    if not suspected or _is_enough(query, best, groups):
        return best
    heard = await _listened(search, heard, groups, suspected)
    groups = spelling.groups(query, heard, doubtful=True)
    if spelling.bearable(spelling.asked_for(groups)):
        best = _better(search, best, await search.with_words(groups))
    for lacking in (1, 2):
        if best.best >= ranking.good(query):
            break
        if (most := spelling.most(spelling.asked_for(groups), lacking)) is not None:
            best = _better(search, best, await search.tried(Asked(most, (), query.text, search.keys, "letters")))
    if best.best < ranking.good(query) and (one_word := spelling.any_of(spelling.asked_for(groups))) is not None:
        best = _better(search, best, await search.alike(Asked(one_word, (), query.text, search.keys, "letters")))
    return best


def _is_enough(query: Query, first: _Tried, groups: Sequence[Group]) -> bool:
    if first.best >= ranking.good(query):
        return True
    if any(group.lost or group.repaired for group in groups):
        return False
    return first.match.total >= ENOUGH or any(one.tier <= _NAME_TIER for one in first.match.candidates)


def _better(search: _Search, best: _Tried, tried: _Tried) -> _Tried:
    """Both together where they are few, else the one with the likelier first result."""
    several = {one.id: one for one in (*best.match.candidates, *tried.match.candidates)}
    if len(several) < HEAD and max(best.match.total, tried.match.total) < HEAD:
        found = list(several.values())
        return _Tried(None, Match(found, len(found)), search.ranking.ranked(found))
    return tried if tried.best > best.best + MOST_ALIKE or (tried.placed and not best.placed) else best


async def _listened(search: _Search, heard: Heard, groups: Sequence[Group], suspected: Sequence[str]) -> Heard:
    """What the dictionary knows with more effort: words that share letters, and two words written as one."""
    lost = [word for word in spelling.doubted(groups) if word in suspected]
    unheard = [word for word in suspected if word not in heard.similar]
    far = spelling.all_left_of_two_slips(lost)
    similar = await store_search.similar_words(search.tx, EVERYONE, unheard, far)
    parts = {half for word in lost for pair in spelling.halves(word) for half in pair}
    counts = await store_search.counts(search.tx, EVERYONE, sorted(parts)) if parts else {}
    for word in lost:
        similar.setdefault(word, []).extend(spelling.two_words(word, counts))
    several = {word: [*heard.similar.get(word, ()), *similar.get(word, ())] for word in suspected}
    return Heard(heard.known, heard.completions, several)
