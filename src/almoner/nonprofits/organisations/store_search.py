"""SQL of organisation search: one statement for a filtered list, one for matching words, two for repairing them.

What a statement fetches is bounded: counting stops at ``COUNTED``, ranking takes the first ``HEAD`` by name length.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.filters import Filters
from almoner.nonprofits.organisations.ranking import NUMBER_MATCH, Candidate
from almoner.nonprofits.organisations.store import Scope, owner
from almoner.platform.db import Everyone, Tx
from almoner.platform.http.paging import Page

COUNTED: Final = 10_000
HEAD: Final = 500
_BEGINNINGS: Final = 200
_ALIKE_BY_TRIGRAMS: Final = 200
_TRIGRAM_SECONDS: Final = 0.25
_SIMILAR_BY_TRIGRAMS: Final = 40
_SIMILAR_BY_BEGINNING: Final = 200

# The expressions of the indexes organisation_words and organisation_description_words.
_WORDS: Final = "word_vector(search_name || ' ' || search_other)"
_DESCRIBED: Final = "word_vector(search_description)"
_FIELDS: Final = "id, search_name, search_other, prominence"


@dataclass(frozen=True, slots=True)
class Match:
    """The candidates for ranking, and how many results there are (at most ``COUNTED`` + 1)."""

    candidates: list[Candidate]
    total: int


class _Where:
    """Conditions with their bound values; the scope's is always there."""

    def __init__(self, scope: Scope, filters: Filters) -> None:
        self.values: list[object] = []
        self._conditions: list[str] = []
        self._add("(partner_id is null or partner_id = {})", owner(scope))
        self._plain(filters)
        self._memberships(owner(scope), filters)

    def bind(self, value: object) -> str:
        """The placeholder of a further value."""
        self.values.append(value)
        return f"${len(self.values)}"

    def _add(self, condition: str, value: object) -> None:
        self._conditions.append(condition.format(self.bind(value)))

    def _plain(self, filters: Filters) -> None:
        if filters.country_code is not None:
            self._add("country_code = {}", filters.country_code)
        if filters.number_keys is not None:
            self._add("number_key = any({}::text[])", filters.number_keys)
        if filters.registry_ids is not None:
            self._add("registry_id = any({}::uuid[])", filters.registry_ids)
        if filters.types:
            self._add("types && {}::text[]", filters.types)
        if filters.active is not None:
            self._conditions.append("active" if filters.active else "not active")
        if filters.usa_group_exempt is not None:
            self._conditions.append("usa_group_exempt" if filters.usa_group_exempt else "usa_group_exempt is false")

    def _memberships(self, partner_id: UUID | None, filters: Filters) -> None:
        member = (
            "select from category_member m where m.organisation_id = organisation.id and m.partner_id = {0} "
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


async def page(tx: Tx, scope: Scope, filters: Filters, page_: Page, offset: int = 0) -> tuple[list[UUID], int]:
    """One page of ids in reading order and the total, by creation; ``offset`` skips rows where a page has a number."""
    where = _Where(scope, filters)
    comparison, order = ("<", "desc") if page_.reads_down else (">", "asc")
    after = f"and id {comparison} {where.bind(page_.after_id)}" if page_.position else ""
    statement = f"""
        select listed.id, counted.total
        from (select count(*) as total from (select from organisation where {where} limit {COUNTED + 1}) found) counted
        left join lateral (
            select id from organisation where {where} {after}
            order by id {order} limit {where.bind(page_.limit)} offset {where.bind(offset)}
        ) listed on true
        order by listed.id {order}
        """
    rows = await tx.fetch(
        statement,
        *where.values,
    )
    return [row["id"] for row in rows if row["id"] is not None], rows[0]["total"]


async def match(
    tx: Tx, scope: Scope, filters: Filters, text: str, tsquery: str, keys: Sequence[str], offset: int, limit: int
) -> Match:
    """Organisations with the words of ``tsquery``, or whose number or beginning of the name it is.

    Their order here is fixed but rough: number, whole name, beginning, then the shortest name.
    """
    where = _Where(scope, filters)
    asked, begun, beyond, numbers = (where.bind(value) for value in (tsquery, text, text + "~", list(keys)))
    # The first two are planned as if all their rows were wanted, that is by index, and read no further than the limit.
    statement = f"""
        with name_hits as materialized (
            select {_FIELDS} from organisation where {_WORDS} @@ {asked}::tsquery and {where}
        ), description_hits as materialized (
            select {_FIELDS} from organisation
            where search_description <> '' and {_DESCRIBED} @@ {asked}::tsquery and {where}
        ), named as materialized (
            select * from name_hits limit {COUNTED + 1}
        ), described as materialized (
            select * from description_hits limit {COUNTED + 1}
        ), begun as materialized (
            select {_FIELDS} from organisation
            where {begun} <> '' and search_name >= {begun} and search_name < {beyond} and {where}
            order by search_name limit {_BEGINNINGS}
        ), numbered as materialized (
            select {_FIELDS} from organisation where number_key = any({numbers}::text[]) and {where} limit {HEAD}
        ), matched as (
            select distinct on (id) * from (
                select {NUMBER_MATCH} as tier, * from numbered
                union all select case when search_name = {begun} then 1 else 2 end, * from begun
                union all select 3, * from named
                union all select 4, * from described
            ) found order by id, tier
        )
        select *, count(*) over () as total from matched
        order by tier, length(search_name), search_name, id offset {where.bind(offset)} limit {where.bind(limit)}
        """
    rows = await tx.fetch(
        statement,
        *where.values,
    )
    return Match([_candidate(row) for row in rows], rows[0]["total"] if rows else 0)


def _candidate(row: Record) -> Candidate:
    return Candidate(row["id"], row["tier"], row["search_name"], row["search_other"], row["prominence"])


async def unknown_words(tx: Tx, _: Everyone, words: Sequence[str]) -> list[str]:
    """Those of the words that are not in the dictionary."""
    rows = await tx.fetch(
        """
        select asked.word from unnest($1::text[]) asked (word)
        where not exists (select from organisation_word known where known.word = asked.word)
        """,
        list(words),
    )
    return [row["word"] for row in rows]


async def similar_words(tx: Tx, _: Everyone, misspelt: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    """For each word, dictionary words (with counts) that share trigrams or the first two letters and the length."""
    rows = await tx.fetch(
        f"""
        select asked.word as asked, known.word, known.n
        from unnest($1::text[]) asked (word)
        cross join lateral (
            (
                select word, n from organisation_word where word % asked.word
                order by similarity(word, asked.word) desc, n desc limit {_SIMILAR_BY_TRIGRAMS}
            ) union (
                select word, n from organisation_word
                where word >= left(asked.word, 2) and word < left(asked.word, 2) || '~'
                    and length(word) between length(asked.word) - 1 and length(asked.word) + 1
                order by n desc, word limit {_SIMILAR_BY_BEGINNING}
            )
        ) known
        """,
        list(misspelt),
    )
    found: dict[str, list[tuple[str, int]]] = {}
    for row in rows:
        found.setdefault(row["asked"], []).append((row["word"], row["n"]))
    return found


async def alike(tx: Tx, scope: Scope, filters: Filters, text: str) -> list[Candidate]:
    """Organisations whose name shares trigrams with the text, best first.

    None when that takes too long, or in a writing transaction, which an interrupted statement would end.
    """
    if tx.mode != "read":
        return []
    where = _Where(scope, filters)
    asked = where.bind(text)
    try:
        async with asyncio.timeout(_TRIGRAM_SECONDS):
            statement = f"""
                select 3 as tier, {_FIELDS} from organisation where {asked} <<% search_name and {where}
                order by strict_word_similarity({asked}, search_name) desc, id limit {_ALIKE_BY_TRIGRAMS}
                """
            rows = await tx.fetch(
                statement,
                *where.values,
            )
    except TimeoutError:
        return []
    return [_candidate(row) for row in rows]
