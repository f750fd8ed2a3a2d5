"""Expands query words by spelling corrections and completions, and builds tsqueries; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from rapidfuzz.distance import OSA

from almoner.kit import abbreviations
from almoner.nonprofits.organisations.normalisation import (
    INITIALS_LENGTHS,
    STOP_WORDS,
    SearchQuery,
)

WordCount = tuple[str, int]
"""A word of the dictionary, and its number of occurrences."""

QueryAlternatives = tuple[tuple[str, ...], ...]
"""Alternative ways to match; within one, all tsqueries must match.

None: nothing matches. Separate tsqueries per word let the index skip between rare entries; one tsquery for all words
would take up to ten times as long.
"""


class AllTermsTsqueries(NamedTuple):
    """Queries for results with all terms in the name, and for the others with all terms in any field."""

    names: QueryAlternatives
    other_fields: QueryAlternatives


MAX_CORRECTIONS: Final = 6
"""The maximum number of dictionary words that replace one misspelt word."""

MAX_COMPLETIONS: Final = 40
"""How many completions of a prefix are counted, the most common first."""

MAX_READ_COMPLETIONS: Final = 120
"""With fewer completions, all of them are known and can be looked up instead of the prefix."""

MAX_PREFIX_OCCURRENCES: Final = 20_000
"""Up to this many occurrences of its completions, a prefix is required; beyond, it only ranks, unless it is the only
term.
"""

_MIN_REPLACED_PREFIX_OCCURRENCES: Final = 500
"""From this many occurrences on, a prefix beside a rarer word is looked up as the words that begin with it: the index
reads all entries of a prefix, but of a word only those near matches of the rarer one.
"""

_UNCOUNTED_OCCURRENCES: Final = 40_000
"""From this many occurrences on, results certainly exceed the count limit and are not counted."""

COMMON_OCCURRENCES: Final = 20_000
"""From this many occurrences on, the nearest names are chosen without counting."""

_MAX_SCANNED_OCCURRENCES: Final = 100_000
"""Up to this many occurrences, names are scanned for misspelt words; fewer for missing words."""

_MIN_ALTERNATIVE_WORDS: Final = 3
_MAX_ALTERNATIVE_OCCURRENCES: Final = 10_000
"""The ``_MIN_ALTERNATIVE_WORDS`` rarest words always count, further ones while all have at most so many occurrences."""

RARE_OCCURRENCES: Final = 200
"""Up to this many occurrences, a known word may still be a typo: registers contain typos too."""

_CORRECTABLE_LENGTHS: Final = range(3, 41)
"""Lengths of words that may be misspelt; longer ones are only matched exactly (``deletion_variants``)."""

_MAX_EDIT_VARIANTS: Final = 4_000
"""The maximum number of strings looked up for two-typo variants of all words of a query."""

_MAX_WORDS_WITH_INITIALS: Final = 4
_MAX_INITIALS_OCCURRENCES: Final = 3_000
"""Up to this many occurrences, a word beside others may be initials; more common ones are words of names."""

_MIN_SPLIT_LENGTH: Final = 3
MAX_REQUIRED_TERMS: Final = 6
"""How many words a result must have, the rarest first; further ones only rank."""


@dataclass(frozen=True, slots=True)
class WordSuggestions:
    """Dictionary words for a query: known, completions, and similar ones."""

    known_word_counts: Mapping[str, int] = field(default_factory=dict)
    completions: Sequence[WordCount] = ()
    similar_words: Mapping[str, Sequence[WordCount]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One required word of a query with its alternatives."""

    word: str
    spellings: tuple[str, ...]
    is_prefix: bool
    corrections: tuple[str, ...]
    total_occurrences: int
    """The total occurrences of all its alternatives."""
    state_codes: tuple[str, ...] = ()
    """The codes in places of the state that it names."""
    completions: tuple[str, ...] = ()
    """For a prefix, all dictionary words that begin with it, if there are not too many."""

    def replace_prefix_with_completions(self) -> "QueryTerm":
        """The same without a prefix, as it is looked up beside a rarer term."""
        if not self.completions or self.total_occurrences < _MIN_REPLACED_PREFIX_OCCURRENCES:
            return self
        spellings = tuple(dict.fromkeys((*self.completions, *self.spellings)))
        return replace(self, spellings=spellings, is_prefix=False)

    @property
    def is_unmatched(self) -> bool:
        """Whether no dictionary word matches it."""
        return not self.total_occurrences

    def build_name_tsquery(self) -> str:
        """The tsquery for names."""
        return self._terms("", (*self.spellings, *self.corrections))

    def build_name_or_place_tsquery(self) -> str:
        """The tsquery for names and places."""
        everything = (*self.spellings, *self.corrections)
        return f"({self._terms('', everything)} | {self._terms('@', (*everything, *self.state_codes))})"

    def build_place_or_description_tsquery(self) -> str:
        """The tsquery for places and descriptions."""
        placed = (*self.spellings, *self.corrections, *self.state_codes)
        return f"({self._terms('@', placed)} | {self._terms('#', self.spellings)})"

    def build_any_field_tsquery(self) -> str:
        """The tsquery for names, places and descriptions."""
        return f"({self.build_name_tsquery()} | {self.build_place_or_description_tsquery()})"

    def _terms(self, mark: str, words: Iterable[str]) -> str:
        # Words are [a-z0-9]+ only, so they cannot contain quotes.
        terms = [
            f"'{mark}{word}':*" if self.is_prefix and word == self.word else _tsquery_term(mark, word) for word in words
        ]
        return "(" + " | ".join(terms) + ")"


def _tsquery_term(mark: str, word: str) -> str:
    parts = [f"'{mark}{part}'" for part in word.split()]
    return parts[0] if len(parts) == 1 else "(" + " & ".join(parts) + ")"


def dictionary_lookup_words(query: SearchQuery) -> list[str]:
    """The words to look up: the needed ones, their variant spellings, and neighbours joined into one."""
    joined = ["".join(pair) for pair in pairwise(query.words)]
    return list(
        dict.fromkeys(
            [
                *query.required_words,
                *(other for word in query.required_words for other in _other_spellings(word, query)),
                *joined,
                *query.state_codes_by_word.values(),
            ]
        )
    )


def _other_spellings(word: str, query: SearchQuery) -> list[str]:
    """Its other spellings; single letters beside other words alone: N for NORTH."""
    beside = len(query.required_words) > 1
    return [other for other in abbreviations.other_spellings_for_search(word) if beside or len(other) > 1]


def is_correctable_word(word: str) -> bool:
    """Whether a word may be misspelt; numbers, short and very long words are not corrected."""
    return len(word) in _CORRECTABLE_LENGTHS and not any(character.isdigit() for character in word)


def rank_corrections(word: str, word_counts: Sequence[WordCount]) -> tuple[str, ...]:
    """The known words that the word may be a typo of: fewest typos first, then the more common one.

    The shorter of the two limits the typos: with two of them, ZEBRA would be ZERO.
    """
    near = []
    for other, count in dict(word_counts).items():
        shorter = min(len(word), len(other))
        typos = 1 if shorter <= 4 else 2 if shorter <= 8 else 3
        distance = OSA.distance(word, other, score_cutoff=typos)
        if distance <= typos and other != word:
            near.append((distance, -count, other))
    return tuple(other for _, _, other in sorted(near)[:MAX_CORRECTIONS])


def two_edit_variants(word: str) -> list[str]:
    """Variants of a word with two typos, one of which is an extra or a swapped letter.

    Known words are found by what is left of them when any one letter is left out.
    """
    shorter = {word[:at] + word[at + 1 :] for at in range(len(word))}
    changed = {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
    once = shorter | changed
    return sorted(once | {one[:at] + one[at + 1 :] for one in once for at in range(len(one))})


def two_edit_variants_by_word_within_limit(words: Sequence[str]) -> dict[str, list[str]]:
    """``two_edit_variants`` of the shortest words, while the total number of strings stays within the limit.

    A word has about twice the square of its length.
    """
    left: dict[str, list[str]] = {}
    room = _MAX_EDIT_VARIANTS
    for word in sorted(words, key=len):
        if (room := room - 2 * len(word) ** 2) < 0:
            break
        left[word] = two_edit_variants(word)
    return left


def build_query_terms(
    query: SearchQuery, suggestions: WordSuggestions, *, correct_known_words: bool = False
) -> list[QueryTerm]:
    """A term for each needed word; ``correct_known_words``: known words may be typos too."""
    made = [_build_term(word, query, suggestions, doubtful=correct_known_words) for word in query.required_words]
    place = {group.word: nth for nth, group in enumerate(made)}
    for pair in pairwise(query.words):
        joined = "".join(pair)
        count = suggestions.known_word_counts.get(joined, 0)
        if count and any(word not in suggestions.known_word_counts for word in pair):
            for nth in (place[word] for word in pair if word in place):
                one = made[nth]
                made[nth] = replace(
                    one, corrections=(*one.corrections, joined), total_occurrences=one.total_occurrences + count
                )
    return made


def _build_term(word: str, query: SearchQuery, matched: WordSuggestions, *, doubtful: bool) -> QueryTerm:
    known = matched.known_word_counts
    typed = (word, *(other for other in _other_spellings(word, query) if other in known))
    code = query.state_codes_by_word.get(word, word)
    codes = (code,) if code != word and code in known else ()
    weight, begins = sum(known.get(one, 0) for one in (*typed, *codes)), False
    completions: tuple[str, ...] = ()
    if word == query.completable_prefix and matched.completions and not codes:  # a state is typed in full
        weight, begins = max(weight, sum(count for _, count in matched.completions[:MAX_COMPLETIONS])), True
        if len(matched.completions) < MAX_READ_COMPLETIONS:
            completions = tuple(other for other, _ in matched.completions)
    if weight and not doubtful:
        return QueryTerm(word, typed, begins, (), weight, codes, completions)
    counts = dict(matched.similar_words.get(word, ()))
    repaired = rank_corrections(word, matched.similar_words.get(word, ()))
    weight += sum(counts[other] for other in repaired)
    return QueryTerm(word, typed, begins, repaired, weight, codes, completions)


def likely_misspelt_words(terms: Sequence[QueryTerm]) -> list[str]:
    """Words without a match or with rare matches only, which are likely to have two typos."""
    return [
        group.word
        for group in terms
        if group.is_unmatched or (group.corrections and group.total_occurrences <= RARE_OCCURRENCES)
    ]


def select_terms_required_in_results(terms: Sequence[QueryTerm]) -> list[QueryTerm]:
    """The terms that a result must match; at least one if any has a match.

    Others only rank: unmatched terms, possible typos of a weak word, and prefixes of too many words.
    """
    known = [group for group in terms if not group.is_unmatched]
    strong = [
        group
        for group in known
        if not any(word in STOP_WORDS for word in group.corrections)
        and not (group.is_prefix and group.total_occurrences > MAX_PREFIX_OCCURRENCES)
    ]
    rarest = sorted(strong or known, key=lambda group: group.total_occurrences)[: MAX_REQUIRED_TERMS if strong else 1]
    return [group for group in known if group in rarest]


def compound_splits(word: str) -> list[tuple[str, str]]:
    """The two words that a word may consist of if a space is missing."""
    return [(word[:at], word[at:]) for at in range(_MIN_SPLIT_LENGTH, len(word) - _MIN_SPLIT_LENGTH + 1)]


def known_compound_splits(word: str, counts: Mapping[str, int]) -> list[WordCount]:
    """The known pairs of words that a word may consist of, joined by a space."""
    return [
        (f"{left} {right}", min(counts[left], counts[right]))
        for left, right in compound_splits(word)
        if left in counts and right in counts
    ]


def exceeds_result_count_limit(terms: Sequence[QueryTerm], count_limit: int = _UNCOUNTED_OCCURRENCES) -> bool:
    """Whether there are more results than are counted: certainly, or probably with a lower ``count_limit``."""
    return len(terms) == 1 and terms[0].total_occurrences > count_limit


def build_all_terms_alternatives_by_field(
    terms: Sequence[QueryTerm], alternative_tsquery: str | None = None
) -> AllTermsTsqueries:
    """Queries for results with all terms in the name or in other fields."""
    rarest_first = sorted(terms, key=lambda one: one.total_occurrences)
    leading, further = rarest_first[:1], [one.replace_prefix_with_completions() for one in rarest_first[1:]]
    named = tuple(one.build_name_tsquery() for one in (*leading, *further))
    missing = f"!({' & '.join(one.replace_prefix_with_completions().build_name_tsquery() for one in rarest_first)})"
    if further and leading[0].total_occurrences <= COMMON_OCCURRENCES:
        return AllTermsTsqueries(
            (named,), ((*(one.build_any_field_tsquery() for one in (*leading, *further)), missing),)
        )
    if further:  # names first: few places and descriptions contain what is common in names
        return AllTermsTsqueries(
            (named,),
            tuple(
                (
                    one.build_place_or_description_tsquery(),
                    *(
                        more.replace_prefix_with_completions().build_any_field_tsquery()
                        for more in rarest_first
                        if more is not one
                    ),
                    missing,
                )
                for one in rarest_first
            ),
        )
    otherwise = " | ".join(
        [
            *(one.build_place_or_description_tsquery() for one in terms),
            *([alternative_tsquery] if alternative_tsquery else []),
        ]
    )
    if not named:
        return AllTermsTsqueries((), ((otherwise,),) if otherwise else ())
    return AllTermsTsqueries((named,), ((f"({otherwise}) & {missing}",),))


def build_initials_tsquery(query: SearchQuery, suggestions: WordSuggestions) -> str | None:
    """A tsquery for names with the entered initials, if there is one short, uncommon word."""
    if (
        not query.may_have_initials
        or len(query.words) != 1
        or len(query.text) not in INITIALS_LENGTHS
        or suggestions.known_word_counts.get(query.text, 0) > RARE_OCCURRENCES
    ):
        return None
    return f"'~{query.text}':*"


def build_initials_and_other_words_alternatives(
    terms: Sequence[QueryTerm], suggestions: WordSuggestions
) -> QueryAlternatives | None:
    """Query for names with the initials that one word may be, and the other words in names or places."""
    if not 1 < len(terms) <= _MAX_WORDS_WITH_INITIALS:
        return None
    ways = tuple(
        (
            f"'~{one.word}':*",
            *(
                other.replace_prefix_with_completions().build_name_or_place_tsquery()
                for other in terms
                if other is not one
            ),
        )
        for one in terms
        if one.word.isalpha()
        and len(one.word) in INITIALS_LENGTHS
        and suggestions.known_word_counts.get(one.word, 0) <= _MAX_INITIALS_OCCURRENCES
        and (one.word in suggestions.known_word_counts or not one.is_prefix)
        and not any(other.is_unmatched or other.corrections for other in terms if other is not one)
    )
    return ways or None


def is_query_fast_enough(terms: Sequence[QueryTerm], missing_term_count: int = 0) -> bool:
    """Whether a query for names that may lack ``missing_term_count`` of the terms is fast enough."""
    scanned = sum(sorted(one.total_occurrences for one in terms)[: missing_term_count + 1])
    return scanned <= _MAX_SCANNED_OCCURRENCES // (missing_term_count + 1)


def build_all_but_n_terms_alternatives(terms: Sequence[QueryTerm], missing_term_count: int) -> QueryAlternatives | None:
    """Query for all but ``missing_term_count`` of the terms; None if too few remain or they are too common.

    A place typed with a name does not count as missing in the name.
    """
    if len(terms) < missing_term_count + 2 or not is_query_fast_enough(terms, missing_term_count):
        return None
    rarest_first = sorted(terms, key=lambda one: one.total_occurrences)
    queries = [one.replace_prefix_with_completions().build_name_or_place_tsquery() for one in rarest_first]
    return tuple(combinations(queries, len(queries) - missing_term_count))


def build_any_term_alternatives(terms: Sequence[QueryTerm]) -> QueryAlternatives | None:
    """Query for names with one of several uncommon words; None without such words.

    Of many words only the rarest: a name with one common word is not similar to the query.
    """
    rare: list[str] = []
    occurrences = 0
    for one in sorted(terms, key=lambda group: group.total_occurrences):
        occurrences += one.total_occurrences
        if one.total_occurrences <= MAX_PREFIX_OCCURRENCES and (
            len(rare) < _MIN_ALTERNATIVE_WORDS or occurrences <= _MAX_ALTERNATIVE_OCCURRENCES
        ):
            rare.append(one.build_name_tsquery())
    return ((" | ".join(rare),),) if rare and len(terms) > 1 else None
