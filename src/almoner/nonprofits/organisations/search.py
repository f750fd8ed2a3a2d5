"""Organisation search: words with typos repaired, ranked, and the same order on every page (settled 1.1, 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from almoner.nonprofits.organisations import ranking, store_search
from almoner.nonprofits.organisations.filters import Filters
from almoner.nonprofits.organisations.ranking import Placed
from almoner.nonprofits.organisations.store import Scope
from almoner.nonprofits.organisations.store_search import COUNTED, HEAD, Match
from almoner.nonprofits.organisations.words import Query
from almoner.nonprofits.registries.domain import number_keys
from almoner.platform.db import EVERYONE, Tx

ENOUGH: Final = 5
"""With fewer results than these, and none of that very name, words are taken as misspelt."""


@dataclass(frozen=True, slots=True)
class Results:
    """A stretch of ranked results. ``total`` is exact unless ``exhaustive`` is false: then there are more."""

    placed: list[Placed]
    total: int
    exhaustive: bool


@dataclass(frozen=True, slots=True)
class _Matched:
    """What matched, and the words it took."""

    match: Match
    tsquery: str


async def ranked(
    tx: Tx, scope: Scope, filters: Filters, text: str, start: int, stop: int, *, best_first: bool
) -> Results:
    """Results ``start`` to ``stop`` (exclusive) for what a person typed."""
    query, keys = Query.of(text), number_keys(text) if any(map(str.isdigit, text)) else []
    matched = await _matched(tx, scope, filters, query, keys)
    found = matched.match
    total, exhaustive = min(found.total, COUNTED), found.total <= COUNTED
    if not best_first:
        start, stop = total - stop, total - start
    start, stop = max(start, 0), min(stop, total)
    placed = ranking.ranked(query, found.candidates)[start:stop] if start < len(found.candidates) else []
    if (further := stop - max(start, len(found.candidates))) > 0:
        skip = max(start, len(found.candidates))
        rest = await store_search.match(tx, scope, filters, query.text, matched.tsquery, keys, skip, further)
        placed += [ranking.placed(query, candidate) for candidate in rest.candidates]
    return Results(placed if best_first else placed[::-1], total, exhaustive)


async def _matched(tx: Tx, scope: Scope, filters: Filters, query: Query, keys: Sequence[str]) -> _Matched:
    async def matched(tsquery: str) -> _Matched:
        return _Matched(await store_search.match(tx, scope, filters, query.text, tsquery, keys, 0, HEAD), tsquery)

    exact = await matched(query.exact())
    named = any(candidate.name == query.text or candidate.tier == 0 for candidate in exact.match.candidates)
    misspelt = [word for word in query.needed if ranking.repairable(word)]
    if named or exact.match.total >= ENOUGH or not misspelt:
        return exact
    similar: dict[str, list[str]] = {}
    # A slip mostly makes a word that nobody uses; if that is not it, any word may be the one.
    for suspected in (await store_search.unknown_words(tx, EVERYONE, misspelt), misspelt):
        similar |= await _similar(tx, [word for word in suspected if word not in similar])
        repaired = await matched(query.repaired(similar)) if any(similar.values()) else exact
        if repaired.match.total > exact.match.total:
            return repaired
    if exact.match.total:
        return exact
    if (spared := query.all_but_one(similar)) and (most := await matched(spared)).match.total:
        return most
    alike = await store_search.alike(tx, scope, filters, query.text)
    candidates = [candidate for candidate in alike if ranking.resembles(query, candidate)]
    return _Matched(Match(candidates, len(candidates)), exact.tsquery)


async def _similar(tx: Tx, misspelt: Sequence[str]) -> dict[str, list[str]]:
    known = await store_search.similar_words(tx, EVERYONE, misspelt) if misspelt else {}
    return {word: ranking.similar(word, known.get(word, [])) for word in misspelt}
