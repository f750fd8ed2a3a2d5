"""Organisation search: words with typos repaired, ranked, and the same order on every page (settled 1.1, 8).

The query is first tried as typed. Only if that finds too little are known words treated as typos and words dropped.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from almoner.nonprofits.organisations import ranking, spelling, store_search
from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.nonprofits.organisations.normalisation import MAX_QUERY_WORDS, SearchQuery
from almoner.nonprofits.organisations.ranking import NUMBER_TIER, RankedResult, ResultRanker
from almoner.nonprofits.organisations.spelling import QueryTerm, WordSuggestions
from almoner.nonprofits.organisations.store import Scope
from almoner.nonprofits.organisations.store_search import (
    MAX_COUNTED,
    MAX_RANKED,
    CompareBy,
    SearchMatches,
    SearchRequest,
)
from almoner.nonprofits.registries.domain import (
    number_keys_with_restored_leading_zeros,
    possible_number_keys,
    to_ascii_digits,
)
from almoner.platform.database.transactions import Tx

_ENOUGH_RESULTS: Final = 5
"""With fewer results than this and no exact name match, words are treated as misspelt."""

_SIMILARITY_MARGIN: Final = 1
"""How much more alike a later attempt's results must be to replace an earlier one's."""

_NAME_TIER: Final = 2
_WHOLE_NAME: Final = 97.0
"""From this similarity on a result matches the query as typed, and no word is treated as initials."""
_DIGITS_OF_A_NUMBER: Final = 5
_DIGITS_BESIDE_A_NAME: Final = 6
_POSTCODE: Final = re.compile(r"[0-9]{5}-[0-9]{4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """A range of ranked results.

    ``total``: exact unless ``is_total_exact`` is false, then a minimum. ``similar_results_only``: no result has all
    words as typed. ``leading_zeros_added``: the number matched only after adding leading zeros.
    """

    ranked_results: list[RankedResult]
    total: int
    is_total_exact: bool
    similar_results_only: bool
    leading_zeros_added: bool


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The results of one attempt, best first. ``asked``: None if there are no further results."""

    asked: SearchRequest | None
    match: SearchMatches
    placed: list[RankedResult]

    @property
    def best(self) -> float:
        return self.placed[0].similarity if self.placed else 0.0


@dataclass(frozen=True, slots=True)
class _Search:
    """A search in progress; ``before``: attempts that are not repeated."""

    tx: Tx
    scope: Scope
    filters: OrganisationFilters
    query: SearchQuery
    ranking: ResultRanker
    keys: tuple[str, ...]
    before: dict[SearchRequest, _Attempt] = field(default_factory=dict)

    async def tried(self, request: SearchRequest) -> _Attempt:
        if request not in self.before:
            found = await store_search.find_word_matches(self.tx, self.scope, self.filters, request, 0, MAX_RANKED)
            if request.exceeds_count_limit and len(found.candidates) < MAX_RANKED:
                return await self.tried(replace(request, exceeds_count_limit=False))
            self.before[request] = _Attempt(request, found, self.ranking.rank_candidates(found.candidates))
        return self.before[request]

    async def with_words(self, groups: Sequence[QueryTerm], other: str | None = None) -> _Attempt:
        """What has every word for which something stands; names that are alike, when that is one word of several."""
        needed = spelling.select_terms_required_in_results(groups)
        queries = spelling.build_all_terms_alternatives_by_field(needed, other)
        near: CompareBy = "letters" if any(group.is_unmatched or group.corrections for group in groups) else "length"
        very_common = spelling.exceeds_result_count_limit(needed) and self.filters == OrganisationFilters()
        asked = SearchRequest(queries.names, queries.other_fields, self.query.text, self.keys, near, very_common)
        only_one = len(groups) > 1 and sum(not group.is_unmatched for group in groups) == 1
        if only_one:  # their total is not reported
            return await self.alike(
                replace(
                    asked, exceeds_count_limit=spelling.exceeds_result_count_limit(needed, spelling.COMMON_OCCURRENCES)
                )
            )
        return await self.tried(asked)

    async def alike(self, request: SearchRequest) -> _Attempt:
        """Results for one of several words whose names are similar to the whole query, and those with its number."""
        tried = await self.tried(replace(request, reports_total=False))
        near = [
            one
            for one in tried.match.candidates
            if one.match_tier == NUMBER_TIER or ranking.is_similar_name(self.query, one)
        ]
        return _Attempt(None, SearchMatches(near, len(near)), self.ranking.rank_candidates(near))


async def search_by_text(
    tx: Tx, scope: Scope, filters: OrganisationFilters, text: str, start: int, stop: int, *, best_first: bool
) -> SearchResults:
    """Results ``start`` to ``stop`` (exclusive) for a search text."""
    digits = sum(map(str.isdigit, text))
    typed = to_ascii_digits(text)
    keys = tuple(possible_number_keys(typed)) if digits else ()
    query = SearchQuery.parse(text)
    search = _Search(tx, scope, filters, query, ResultRanker(query), (*keys, *_keys_beside_a_name(typed)))
    found, zeros = await _search_numbers(search, typed, keys) if digits >= _DIGITS_OF_A_NUMBER else (None, False)
    found = found or await _search_words(search)
    similar = bool(found.placed) and not any(
        one.has_all_words_as_typed or one.found_by == "number" for one in found.placed
    )
    total, exhaustive = min(found.match.total, MAX_COUNTED), found.match.total <= MAX_COUNTED
    if not best_first:
        start, stop = total - stop, total - start
    start, stop = max(start, 0), min(stop, total)
    placed = found.placed[start:stop] if start < len(found.placed) else []
    if (further := stop - max(start, len(found.placed))) > 0 and found.asked is not None:
        skip = max(start, len(found.placed))
        rest = await store_search.find_word_matches(tx, scope, filters, found.asked, skip, further)
        placed += [search.ranking.rank_candidate(candidate) for candidate in rest.candidates]
    return SearchResults(placed if best_first else placed[::-1], total, exhaustive, similar, zeros)


def _keys_beside_a_name(text: str) -> list[str]:
    """The number keys that numbers beside other words may mean: ``red cross 53-0196605``."""
    several = text.split()
    numbers = [
        word
        for word in (several[:MAX_QUERY_WORDS] if len(several) > 1 else ())
        if sum(map(str.isdigit, word)) >= _DIGITS_BESIDE_A_NAME and not _POSTCODE.fullmatch(word)
    ]
    return [key for word in numbers for key in possible_number_keys(word.strip("()[],;:#"))]


async def _search_numbers(search: _Search, text: str, keys: Sequence[str]) -> tuple[_Attempt | None, bool]:
    """Results with the number, else with leading zeros added; returns whether zeros were added."""
    for tried, zeros in ((keys, False), (number_keys_with_restored_leading_zeros(text), True)):
        if tried:
            found = await store_search.find_registry_number_matches(search.tx, search.scope, search.filters, tried)
            if found.candidates:
                return _Attempt(None, found, search.ranking.rank_candidates(found.candidates)), zeros
    return None, False


async def _search_words(search: _Search) -> _Attempt:
    """The first attempt that is good enough, else the best one."""
    query = search.query
    suspected = [word for word in query.required_words if spelling.is_correctable_word(word)]
    words = spelling.dictionary_lookup_words(query)
    matched = await store_search.load_word_suggestions(search.tx, words, query.completable_prefix, suspected)
    groups = spelling.build_query_terms(query, matched)
    initials = (
        spelling.build_initials_and_other_words_alternatives(groups, matched) if query.may_have_initials else None
    )
    if initials is not None and any(group.is_unmatched or group.corrections for group in groups):
        best = await search.tried(SearchRequest(initials, (), query.text, search.keys))
        if best.best >= ranking.min_confident_similarity(query):
            return best
    best = await search.with_words(groups, spelling.build_initials_tsquery(query, matched))
    if initials is not None and best.best < _WHOLE_NAME:
        tried = await search.tried(SearchRequest(initials, (), query.text, search.keys))
        best = _better_attempt(search, best, tried)
    if not suspected or _is_good_enough(query, best, groups):
        return best
    matched = await _extend_suggestions(search, matched, groups, suspected)
    groups = spelling.build_query_terms(query, matched, correct_known_words=True)
    if spelling.is_query_fast_enough(spelling.select_terms_required_in_results(groups)):
        best = _better_attempt(search, best, await search.with_words(groups))
    for missing in (1, 2):
        if best.best >= ranking.min_confident_similarity(query):
            break
        if (
            most := spelling.build_all_but_n_terms_alternatives(
                spelling.select_terms_required_in_results(groups), missing
            )
        ) is not None:
            best = _better_attempt(
                search, best, await search.tried(SearchRequest(most, (), query.text, search.keys, "letters"))
            )
    if (
        best.best < ranking.min_confident_similarity(query)
        and (one_word := spelling.build_any_term_alternatives(spelling.select_terms_required_in_results(groups)))
        is not None
    ):
        best = _better_attempt(
            search, best, await search.alike(SearchRequest(one_word, (), query.text, search.keys, "letters"))
        )
    return best


def _is_good_enough(query: SearchQuery, first: _Attempt, groups: Sequence[QueryTerm]) -> bool:
    if first.best >= ranking.min_confident_similarity(query):
        return True
    if any(group.is_unmatched or group.corrections for group in groups):
        return False
    return first.match.total >= _ENOUGH_RESULTS or any(one.match_tier <= _NAME_TIER for one in first.match.candidates)


def _better_attempt(search: _Search, best: _Attempt, tried: _Attempt) -> _Attempt:
    """Both attempts together if they have few results, else the one with the more similar first result."""
    several = {one.id: one for one in (*best.match.candidates, *tried.match.candidates)}
    if len(several) < MAX_RANKED and max(best.match.total, tried.match.total) < MAX_RANKED:
        found = list(several.values())
        return _Attempt(None, SearchMatches(found, len(found)), search.ranking.rank_candidates(found))
    return tried if tried.best > best.best + _SIMILARITY_MARGIN or (tried.placed and not best.placed) else best


async def _extend_suggestions(
    search: _Search, matched: WordSuggestions, groups: Sequence[QueryTerm], misspelt: Sequence[str]
) -> WordSuggestions:
    """Add costlier suggestions: words that share letters, and two words written as one."""
    lost = [word for word in spelling.likely_misspelt_words(groups) if word in misspelt]
    unheard = [word for word in misspelt if word not in matched.similar_words]
    far = spelling.two_edit_variants_by_word_within_limit(lost)
    similar = await store_search.load_similar_words_by_word(search.tx, unheard, far)
    parts = {half for word in lost for pair in spelling.compound_splits(word) for half in pair}
    counts = await store_search.load_word_counts(search.tx, sorted(parts)) if parts else {}
    for word in lost:
        similar.setdefault(word, []).extend(spelling.known_compound_splits(word, counts))
    several = {word: [*matched.similar_words.get(word, ()), *similar.get(word, ())] for word in misspelt}
    return WordSuggestions(matched.known_word_counts, matched.completions, several)
