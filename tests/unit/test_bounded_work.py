"""What a caller may type costs little at its longest, whatever its shape: lines of ours that run are counted."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from uuid import UUID

import pytest

from almoner.kit import language as languages
from almoner.kit import text, web
from almoner.nonprofits.activities import suggestions
from almoner.nonprofits.organisations import normalisation, spelling
from almoner.nonprofits.organisations.normalisation import SearchQuery
from almoner.nonprofits.organisations.ranking import ResultRanker, SearchCandidate, is_similar_name
from almoner.nonprofits.registries.domain import possible_number_keys
from almoner.platform.outbound import email_addresses
from almoner.screening.matching import service as matching
from tests.support.hostile_text import SHAPES

MOST_LINES = 200_000
"""Each is about a tenth of a microsecond, or a few where it calls what is not ours."""
MOST_LETTERS = 250_000
"""What a search asks the database for, in all."""


def _search(typed: str) -> int:
    """All that a search does beside the database; how many letters it would ask that for."""
    query = SearchQuery.parse(typed)
    suspected = [word for word in query.required_words if spelling.is_correctable_word(word)]
    asked = [*spelling.dictionary_lookup_words(query), *suspected]
    for word, left in spelling.two_edit_variants_by_word_within_limit(suspected).items():
        asked += [word, *left]
    asked += [half for word in suspected for pair in spelling.compound_splits(word) for half in pair]
    groups = spelling.build_query_terms(
        query, spelling.WordSuggestions(dict.fromkeys(query.words, 9)), correct_known_words=True
    )
    for ways in (
        *spelling.build_all_terms_alternatives_by_field(groups),
        *(spelling.build_all_but_n_terms_alternatives(groups, missing) or () for missing in (1, 2)),
    ):
        asked += [terms for way in ways for terms in way]
    ranking = ResultRanker(query)
    for place in range(5):
        candidate = SearchCandidate(UUID(int=place), 3, f"{query.text[:90]} {place}", "", "new york", 1)
        ranking.rank_candidates([candidate])
        is_similar_name(query, candidate)
    return sum(map(len, asked))


def _agreement(typed: str) -> None:
    matching.compare_names(matching.prepare_name(typed), matching.prepare_name(typed[::-1]))


WORK: dict[str, tuple[int, Callable[[str], object]]] = {
    "search": (500, _search),
    "list filter": (500, normalisation.extract_search_terms),
    "number": (500, lambda typed: [*possible_number_keys(typed)]),
    "name against a name": (500, _agreement),
    "sub-tags": (4000, lambda typed: suggestions.extract_text_features(typed[:500], typed, typed)),
    "typed": (2000, text.clean_text),
    "typed lines": (2000, lambda typed: text.clean_text(typed, keep_line_breaks=True)),
    "hidden": (2000, text.hidden_character_names),
    "mail": (2000, text.prevent_autolinking),
    "email": (255, email_addresses.is_email_address),
    "web": (255, web.is_web_address),
    "language tag": (8000, languages.is_language_tag),
    "languages": (8000, lambda typed: languages.negotiate_language(typed, ["en", "fr"])),
}


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of ours run: each turn of a loop is at least one, in a comprehension, too."""
    lines = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@pytest.fixture(scope="module", autouse=True)
def read_tables() -> None:
    """What is read once, on first use, is nobody's work."""
    for _, work in WORK.values():
        work("limitid 2nd church of a saint inc")
        for make in SHAPES.values():
            work(make(20))
        work("陳大文 محمد é")


@pytest.mark.parametrize("name", WORK)
def test_the_longest_text_of_any_shape_takes_few_steps(name: str) -> None:
    longest, work = WORK[name]
    taken = {shape: lines_of(lambda make=make: work(make(longest))) for shape, make in SHAPES.items()}  # type: ignore[misc]
    assert {shape: lines for shape, lines in taken.items() if lines > MOST_LINES} == {}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_search_asks_the_database_for_little(shape: str) -> None:
    assert _search(SHAPES[shape](500)) <= MOST_LETTERS


@pytest.mark.parametrize("shape", SHAPES)
def test_a_query_is_read_up_to_so_many_letters(shape: str) -> None:
    query = SearchQuery.parse(SHAPES[shape](500))
    assert len(query.words) <= normalisation.MAX_QUERY_WORDS
    assert max(map(len, query.words), default=0) <= normalisation.MAX_WORD_LENGTH
    assert sum(map(len, query.words)) <= normalisation.MAX_QUERY_LETTERS
