"""SQL that checks and repairs the search index.

Triggers keep it current (migrations). Restoring single tables or manual changes may break it.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

SEARCH_COLUMNS: Final = """
    id, partner_id, registry_id, country_code, listed, active, usa_group_exempt, kinds, rank, tag_ids, name, other,
    place, described
"""
"""The columns of ``organisation_search``."""
EXPECTED_VALUES: Final = """
    o.id, o.partner_id, o.registry_id, o.country_code, o.same_as is null, o.active, o.usa_group_exempt,
    (case when 'nonprofit' = any(o.types) then 1 else 0 end
        + case when 'social_impact' = any(o.types) then 2 else 0 end
        + case when 'education' = any(o.types) then 4 else 0 end)::smallint,
    (case when o.active then 0 else 200 end + case when o.is_branch_parent then 0 else 100 end
        + 9 - least(o.prominence, 9))::smallint,
    o.tag_ids, o.search_name,
    concat_ws(' ', nullif(o.search_other, ''), nullif(o.search_former, ''), nullif(o.search_shown, '')), o.search_place,
    concat_ws(' ', nullif(o.search_description, ''), nullif(o.search_shown_description, ''))
"""
"""The same columns by an organisation ``o``, as the triggers write them."""
_ALL_WORDS: Final = "string_to_array(concat_ws(' ', name, other, place, described), ' ')"
"""Empty words among them do not count."""


@dataclass(frozen=True, slots=True)
class ReindexBatch:
    """The result of one batch. ``last_organisation_id``: where the next batch begins; None if this was the last one."""

    last_organisation_id: UUID | None
    checked_organisation_count: int
    repaired_organisation_count: int


@across_partners("registers")
async def repair_search_index_batch(tx: Tx, after_id: UUID, limit: int) -> ReindexBatch:
    """Lock some organisations and rebuild their search rows."""
    row = await tx.fetchrow(
        f"""
        with looked as materialized (
            select {EXPECTED_VALUES} from organisation o where o.id > $1 order by o.id limit $2 for share
        ), sought ({SEARCH_COLUMNS}) as (select * from looked), mended as (
            insert into organisation_search as found ({SEARCH_COLUMNS}) select * from sought
            on conflict (id) do update set ({SEARCH_COLUMNS}) = row(excluded.*) where found is distinct from excluded
            returning 1
        )
        select (select id from sought order by id desc limit 1) as last, (select count(*) from sought) as bodies,
            (select count(*) from mended) as mended
        """,
        after_id,
        limit,
    )
    assert row is not None
    return ReindexBatch(row["last"], row["bodies"], row["mended"])


@across_partners("registers")
async def rebuild_word_counts(tx: Tx) -> int:
    """Recount the search dictionary; returns how many counts were wrong."""
    await tx.execute("select from registry order by id for no key update")
    await tx.execute("lock table organisation_search_term in share row exclusive mode")
    await tx.execute("set local work_mem = '64MB'")
    return int(
        await tx.fetchval(
            f"""
            with counted as materialized (
                select word, count(*) as n from organisation_search cross join unnest({_ALL_WORDS}) word
                where word <> '' group by word
            ), mended as (
                insert into organisation_search_term as known (word, occurrences)
                select word, n from counted order by word
                on conflict (word) do update set occurrences = excluded.occurrences
                where known.occurrences <> excluded.occurrences
                returning 1
            ), gone as (
                update organisation_search_term w set occurrences = 0
                where w.occurrences <> 0 and not exists (select from counted c where c.word = w.word) returning 1
            )
            select (select count(*) from mended) + (select count(*) from gone)
            """
        )
    )


async def warm_search_cache(tx: Tx) -> int:
    """Load search tables into the server's cache; returns the bytes, 0 if that is not possible."""
    return int(await tx.fetchval("select prewarm_search()"))
