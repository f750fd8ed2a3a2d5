"""SQL for the search over a partner's records."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.dashboard.search_terms import MOST_WORDS, SearchableRecord
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

RecordKey = tuple[UUID, str, UUID]
"""Partner, type and identifier of a record."""

_NEWEST: Final = 1000
"""How many of the newest records are checked before the index is used: terms that many records share are found there.
"""

HITS: Final = 5
"""The maximum number of records of one type that a search returns."""


def _find(words: int) -> str:
    matching = " and ".join(f"terms && ${number}::bigint[]" for number in range(3, 3 + words))
    return f"""
    with newest as materialized (
        select record_id from (
            select record_id, terms from search_record where partner_id = $1 and record_type = $2
            order by record_id desc limit {_NEWEST}
        ) looked_through where {matching} order by record_id desc limit {HITS}
    ), indexed as materialized (
        select record_id from search_record
        where {matching} and partner_id is not distinct from $1 and record_type is not distinct from $2
          and (select count(*) from newest) < {HITS}
        order by record_id desc limit {HITS}
    )
    select record_id from newest union select record_id from indexed order by record_id desc limit {HITS}
    """


_FIND: Final = {words: _find(words) for words in range(1, MOST_WORDS + 1)}


@across_partners("sweep")
async def has_unindexed_changes(tx: Tx) -> bool:
    """Whether the texts of a record have changed since its terms were stored."""
    return bool(await tx.fetchval("select exists (select from search_change)"))


@across_partners("sweep")
async def dequeue_changed_records(tx: Tx, limit: int) -> list[RecordKey]:
    """Take the oldest changes, at most ``limit``; returns the affected records."""
    rows = await tx.fetch(
        """
        delete from search_change where id in (select id from search_change order by id limit $1)
        returning partner_id, record_type, record_id
        """,
        limit,
    )
    return [tuple(row) for row in rows]


async def load_searchable_records(tx: Tx, record_type: str, ids: Sequence[UUID]) -> list[SearchableRecord]:
    """The searchable texts of records of one type; records without texts are left out."""
    rows = await tx.fetch(
        """
        select partner_id, record_type, id, personal, texts from searchable_record
        where record_type = $1 and id = any($2::uuid[])
        """,
        record_type,
        ids,
    )
    return [SearchableRecord(*row) for row in rows]


async def replace_term_hashes(tx: Tx, record_keys: Sequence[RecordKey], term_hashes: Sequence[Sequence[int]]) -> None:
    """Replace the terms of each record, in the order of ``record_keys``; a record without terms is no longer found."""
    pairs = sorted(zip(record_keys, term_hashes, strict=True), key=lambda pair: pair[0])
    kept, gone = [pair for pair in pairs if pair[1]], [key for key, found in pairs if not found]
    if kept:
        await tx.executemany(
            """
            insert into search_record (partner_id, record_type, record_id, terms) values ($1, $2, $3, $4)
            on conflict (partner_id, record_type, record_id) do update set terms = excluded.terms
            where search_record.terms <> excluded.terms
            """,
            [(*key, found) for key, found in kept],
        )
    if gone:
        await tx.executemany(
            "delete from search_record where (partner_id, record_type, record_id) = ($1, $2, $3)", gone
        )


async def find_record_ids(
    tx: Tx, partner: Partner, record_type: str, term_hashes: Sequence[Sequence[int]]
) -> list[UUID]:
    """The newest records of a type that have one of the terms of every word.

    The index is used only if the newest records are not enough: it returns all records with a term before the newest
    can be selected.
    """
    statement = _FIND[len(term_hashes)]
    rows = await tx.fetch(statement, partner.id, record_type, *term_hashes)
    return [row["record_id"] for row in rows]
