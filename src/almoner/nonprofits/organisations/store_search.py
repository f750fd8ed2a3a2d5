"""SQL for organisation search: one statement for a filtered list, one for matching words, two for the dictionary.

Every statement is bounded: counting stops at ``COUNTED``, ranking takes the first ``HEAD``. All read the narrow table
``organisation_search``, which triggers update (decision 0033).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.nonprofits.organisations.ranking import NUMBER_TIER, SearchCandidate
from almoner.nonprofits.organisations.spelling import (
    MAX_READ_COMPLETIONS,
    RARE_OCCURRENCES,
    QueryAlternatives,
    WordCount,
    WordSuggestions,
)
from almoner.nonprofits.organisations.store import Scope, partner_id_of_scope
from almoner.platform.database.transactions import Tx
from almoner.platform.http.paging import RequestedPage

MAX_COUNTED: Final = 10_000
MAX_RANKED: Final = 300
_SAME: Final = 200
_FIRST: Final = 3_000
_LONGEST: Final = 100
_COMPARED: Final = 1_500
_BY_SLIP: Final = 40
_BY_TRIGRAMS: Final = 80
_BY_TWO_TYPOS: Final = 200
_KINDS: Final = {"nonprofit": 1, "social_impact": 2, "education": 4}

# The expression of the indexes organisation_search_words and organisation_search_foremost.
LEXEMES: Final = "search_lexemes(name, other, place, described)"
_FIELDS: Final = "id, name, other, place, rank, described <> '' as described"
_FOREMOST: Final = "rank <= 102"
# Merged numbers lead to their primary record. The scope is bound first and selects the partial indexes.
_NUMBERED: Final = (
    "id = any(array(select coalesce(o.same_as, o.id) from organisation o where o.number_key = any({}::text[]) "
    "and (o.partner_id is null or o.partner_id = $1)))"
)

CompareBy = Literal["length", "letters"]
"""How many matches are reduced to those compared in full: names as long as the query, or with common letters."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to match: queries for names and other fields, the text, and numbers.

    ``exceeds_count_limit``: there are certainly more than ``COUNTED``, so no counting is needed. ``reports_total``:
    whether the total is reported.
    """

    name_alternatives: QueryAlternatives
    other_field_alternatives: QueryAlternatives
    text: str
    number_keys: tuple[str, ...] = ()
    similarity_measure: CompareBy = "length"
    exceeds_count_limit: bool = False
    reports_total: bool = True


@dataclass(frozen=True, slots=True)
class SearchMatches:
    """The candidates for ranking, and the number of results (at most ``COUNTED`` + 1)."""

    candidates: list[SearchCandidate]
    total: int


class _Where:
    """Conditions with their bound values; always includes the scope's."""

    def __init__(self, scope: Scope, filters: OrganisationFilters) -> None:
        self.values: list[object] = []
        self._conditions: list[str] = ["listed"]
        self._add("(partner_id is null or partner_id = {})", partner_id_of_scope(scope))
        self._plain(filters)
        self._memberships(partner_id_of_scope(scope), filters)

    def bind(self, value: object) -> str:
        """Bind a value; returns its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"

    def has(self, ways: QueryAlternatives) -> str:
        """The condition that one of the alternatives matches."""
        places = {query: f"{LEXEMES} @@ {self.bind(query)}::tsquery" for query in dict.fromkeys(chain(*ways))}
        several = [" and ".join(places[query] for query in way) for way in ways]
        return f"({' or '.join(f'({way})' for way in several)})" if several else "false"

    def _add(self, condition: str, value: object) -> None:
        self._conditions.append(condition.format(self.bind(value)))

    def _plain(self, filters: OrganisationFilters) -> None:
        if filters.country_code is not None:
            self._add("country_code = {}", filters.country_code)
        if filters.number_keys is not None:
            self._add(_NUMBERED, filters.number_keys)
        if filters.registry_ids is not None:
            self._add("registry_id = any({}::uuid[])", filters.registry_ids)
        if filters.types:
            wanted = sum({_KINDS[kind] for kind in filters.types})
            held = (str(kinds) for kinds in range(1 + sum(_KINDS.values())) if kinds & wanted)
            self._conditions.append(f"kinds in ({', '.join(held)})")  # listed separately, for better statistics
        if filters.active is not None:
            self._conditions.append("active" if filters.active else "not active")
        if filters.accepts_donations is not None:
            nonprofit = "kinds in (1, 3, 5, 7)"
            self._conditions.append(
                f"active and {nonprofit}" if filters.accepts_donations else f"not (active and {nonprofit})"
            )
        if filters.usa_group_exempt is not None:
            self._conditions.append("usa_group_exempt" if filters.usa_group_exempt else "usa_group_exempt is false")

    def _memberships(self, partner_id: UUID | None, filters: OrganisationFilters) -> None:
        member = (
            "select from category_member m where m.organisation_id = organisation_search.id and m.partner_id = {0} "
            "and m.category_id"
        )
        for alternatives in filters.categories:
            found = member.format(self.bind(partner_id))
            self._add(f"exists ({found} = any({{}}::uuid[]))", alternatives)
        if filters.not_categories:
            found = member.format(self.bind(partner_id))
            self._add(f"not exists ({found} = any({{}}::uuid[]))", filters.not_categories)
        for alternatives in filters.tags:
            self._add("tag_ids <> '{{}}' and tag_ids && {}::uuid[]", alternatives)
        if filters.not_tags:
            self._add("not tag_ids && {}::uuid[]", filters.not_tags)

    def __str__(self) -> str:
        return " and ".join(self._conditions)


async def list_page(
    tx: Tx, scope: Scope, filters: OrganisationFilters, page_: RequestedPage, offset: int = 0
) -> tuple[list[UUID], int]:
    """One page of IDs by creation in reading order, and the total; ``offset``: rows to skip for numbered pages."""
    where = _Where(scope, filters)
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    after = f"and id {comparison} {where.bind(page_.after_id)}" if page_.position else ""
    statement = f"""
        select listed.id, counted.total
        from (
            select count(*) as total from (select from organisation_search where {where} limit {MAX_COUNTED + 1}) found
        ) counted
        left join lateral (
            select id from organisation_search where {where} {after}
            order by id {order} limit {where.bind(page_.fetch_limit)} offset {where.bind(offset)}
        ) listed on true
        order by listed.id {order}
        """
    rows = await tx.fetch(
        statement,
        *where.values,
    )
    return [row["id"] for row in rows if row["id"] is not None], rows[0]["total"]


async def find_registry_number_matches(
    tx: Tx, scope: Scope, filters: OrganisationFilters, number_keys: Sequence[str]
) -> SearchMatches:
    """Organisations with one of these numbers."""
    where = _Where(scope, filters)
    statement = f"""
        select {NUMBER_TIER} as tier, {_FIELDS} from organisation_search
        where {_NUMBERED.format(where.bind(list(number_keys)))} and {where}
        order by rank, id limit {MAX_RANKED}
        """
    rows = await tx.fetch(
        statement,
        *where.values,
    )
    return SearchMatches([_candidate(row) for row in rows], len(rows))


async def find_word_matches(
    tx: Tx, scope: Scope, filters: OrganisationFilters, request: SearchRequest, offset: int, limit: int
) -> SearchMatches:
    """Organisations that match the words, the number or the start of the name.

    Their order here is fixed but rough: number, whole name, beginning, the foremost where there are too many to count,
    names, then places and descriptions; of each the nearest to the query.
    """
    where = _Where(scope, filters)
    text = where.bind(request.text)
    length = f"abs(octet_length(name) - octet_length({text}))"
    near = length if request.similarity_measure == "length" else f"-similarity(name, left({text}, {_LONGEST}))"
    upto = f"{where.bind(offset + limit)}::bigint"

    def nearest(tier: int, of: str, unless: str = "false") -> str:
        some = f"select * from {of} where not ({unless})"
        chosen = (
            some
            if request.similarity_measure == "length"
            else f"{some} order by {_one_number(length)}, id limit {_COMPARED}"
        )
        return f"(select {tier}, {near} as far, * from ({chosen}) {of} order by far, rank, id limit {upto})"

    certain = _with_name_or_number(where, request, text, filtered=filters != OrganisationFilters())
    statement = f"""
        with {certain}, {_with_words(where, request, upto)}, found as (
            select {NUMBER_TIER} as tier, {near} as far, * from numbered
            union all select 1, {near}, * from same
            union all select 2, {near}, * from begun
            union all {nearest(3, "foremost")}
            union all {nearest(4, "named", "select suffices from before")}
            union all {nearest(5, "others", f"select n >= {upto} and {upto} <= {_COMPARED} from known")}
        ), matched as (
            select distinct on (id) * from found order by id, tier
        )
        select *, case when (select results from many) then {MAX_COUNTED + 1}
            when exists (select from matched where tier < 3) then (
                select count(*) from (
                    select id from named union all select id from others union select id from matched
                ) every
            ) else (select count(*) from named) + (select count(*) from others) end as total from matched
        order by tier, far, rank, id offset {where.bind(offset)} limit {where.bind(limit)}
        """
    rows = await tx.fetch(
        statement,
        *where.values,
    )
    return SearchMatches([_candidate(row) for row in rows], rows[0]["total"] if rows else 0)


def _one_number(length: str) -> str:
    """A single sort key with a fixed order among equals: sorting numbers takes half the time of sorting IDs."""
    return f"({length}::bigint << 32) + (uuid_hash(id)::bigint & 4294967295)"


def _with_words(where: _Where, request: SearchRequest, upto: str) -> str:
    """Matches by words: planned by index as if all rows were wanted, but read only up to the count limit.

    No row is counted twice: first those with the words in their names, then those with them elsewhere. Rows that need
    no counting are not read if earlier ones suffice.
    """
    named = where.has(request.name_alternatives)
    name_hits = f"""
        name_hits as materialized (
            select {_FIELDS} from organisation_search where {named} and {where}
        )"""
    first = f"""
        foremost_hits as materialized (
            select {_FIELDS} from organisation_search
            where {_FOREMOST} and {named} and {where}
        ), foremost as materialized (
            select * from foremost_hits where (select results from many) limit {_FIRST}
        ), before as materialized (
            select count(*) >= {upto} and {upto} <= {_COMPARED} as suffices from (
                select id from numbered union select id from same union select id from begun
                union select id from foremost
            ) sure
        )"""
    if request.exceeds_count_limit:
        return f"""
        many as (select true as results), {first}, {name_hits}, named as not materialized (
            select * from name_hits where not (select suffices from before) limit {MAX_COUNTED + 1}
        ), known as (
            select 0 as n
        ), others as (
            select * from named where false
        )"""
    wanted = (
        f"{MAX_COUNTED + 1} - n" if request.reports_total else f"case when n < {upto} then {MAX_COUNTED + 1} else 0 end"
    )
    return f"""
        {name_hits}, named as not materialized (
            select * from name_hits limit {MAX_COUNTED + 1}
        ), known as materialized (
            select count(*) as n from named
        ), other_hits as materialized (
            select {_FIELDS} from organisation_search where {where.has(request.other_field_alternatives)} and {where}
        ), others as not materialized (
            select * from other_hits limit (select {wanted} from known)
        ), many as materialized (
            select (select n from known) + (select count(*) from others) > {MAX_COUNTED} as results
        ), {first}"""


def _with_name_or_number(where: _Where, request: SearchRequest, text: str, *, filtered: bool) -> str:
    beyond, keys = where.bind(request.text + "~"), where.bind(list(request.number_keys))
    # The row comparison has the same upper bound in the index but is not estimated from statistics, which underestimate
    # short prefixes and would read and sort all names. With filters another index may be better.
    below = f"name < {beyond}" if filtered else f"(name, rank) < ({beyond}, 0::smallint)"
    return f"""
        same as materialized (
            select {_FIELDS} from organisation_search where name = {text} and {text} <> '' and {where}
            order by rank, id limit {_SAME}
        ), begun as materialized (
            select {_FIELDS} from organisation_search
            where {text} <> '' and name > {text} and {below} and {where}
            order by name, rank, id limit {_SAME}
        ), numbered as materialized (
            select {_FIELDS} from organisation_search where {_NUMBERED.format(keys)} and {where} limit {MAX_RANKED}
        )"""


def _candidate(row: Record) -> SearchCandidate:
    return SearchCandidate(
        row["id"], row["tier"], row["name"], row["other"], row["place"], row["rank"], row["described"]
    )


async def load_word_suggestions(
    tx: Tx, words: Sequence[str], prefix: str | None, possibly_misspelt_words: Sequence[str]
) -> WordSuggestions:
    """Dictionary words: the words themselves, completions, and corrections of misspelt ones."""
    # The sub-selects hide the values from PostgreSQL, which would otherwise plan each call.
    rows = await tx.fetch(
        f"""
        select 0 as kind, word as asked, word, occurrences as n from organisation_search_term
        where word = any((select $1::text[])::text[]) and occurrences > 0
        union all (
            select 1, $2, word, occurrences as n from organisation_search_term
            where word >= (select $2::text) and word < (select $2 || '~') and occurrences > 0
            order by occurrences desc, word limit {MAX_READ_COMPLETIONS}
        ) union all
        select 2, asked.word, near.word, near.n
        from unnest((select $3::text[])) asked (word)
        cross join lateral (
            select word, occurrences as n from organisation_search_term
            where deletion_variants(word) && deletion_variants(asked.word) and occurrences > 0
            order by occurrences desc, word limit {_BY_SLIP}
        ) near
        where not exists (
            select from organisation_search_term k where k.word = asked.word and k.occurrences > {RARE_OCCURRENCES}
        )
        """,
        list(words),
        prefix,
        list(possibly_misspelt_words),
    )
    similar: dict[str, list[WordCount]] = {}
    for row in rows:
        if row["kind"] == 2:
            similar.setdefault(row["asked"], []).append((row["word"], row["n"]))
    return WordSuggestions(
        {row["word"]: row["n"] for row in rows if row["kind"] == 0},
        [(row["word"], row["n"]) for row in rows if row["kind"] == 1],
        similar,
    )


async def load_similar_words_by_word(
    tx: Tx, misspelt_words: Sequence[str], extra_variants: Mapping[str, Sequence[str]]
) -> dict[str, list[WordCount]]:
    """For each word, dictionary words with one typo; for ``extra_variants`` ones, also words with similar letters.

    ``extra_variants``: for each word, further strings that the intended word may have been reduced to.
    """
    rows = await tx.fetch(
        f"""
        select asked.word as asked, known.word, known.n
        from unnest((select $1::text[])) asked (word)
        cross join lateral (
            select word, occurrences as n from organisation_search_term
            where deletion_variants(word) && deletion_variants(asked.word) and occurrences > 0
            order by occurrences desc, word limit {_BY_SLIP}
        ) known
        union
        select asked.word, known.word, known.n
        from unnest((select $2::text[])) asked (word)
        cross join lateral (
            select word, occurrences as n from organisation_search_term where word % asked.word and occurrences > 0
            order by similarity(word, asked.word) desc, occurrences desc, word limit {_BY_TRIGRAMS}
        ) known
        union
        select asked.word, known.word, known.n
        from unnest((select $2::text[]), (select $3::text[])) asked (word, parts)
        cross join lateral (
            select word, occurrences as n from organisation_search_term
            where deletion_variants(word) && string_to_array(asked.parts, ' ') and occurrences > 0
            order by occurrences desc, word limit {_BY_TWO_TYPOS}
        ) known
        """,
        list(misspelt_words),
        list(extra_variants),
        [" ".join(parts) for parts in extra_variants.values()],
    )
    found: dict[str, list[WordCount]] = {}
    for row in rows:
        found.setdefault(row["asked"], []).append((row["word"], row["n"]))
    return found


async def load_word_counts(tx: Tx, words: Sequence[str]) -> dict[str, int]:
    """How often each known word occurs."""
    rows = await tx.fetch(
        "select word, occurrences as n from organisation_search_term where word = any($1::text[]) and occurrences > 0",
        list(words),
    )
    return {row["word"]: row["n"] for row in rows}
