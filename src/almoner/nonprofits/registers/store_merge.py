"""SQL that merges staged rows into entries and organisations.

Whole tables are joined once to find the differences; later statements touch only those. Rows are locked one by one and
tables never, so that the service can read and write meanwhile.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.registers.domain import RegisterImport
from almoner.nonprofits.registers.records import ORGANISATION_COLUMNS
from almoner.nonprofits.registers.store_record_equality import record_equality_condition
from almoner.nonprofits.registers.store_staging import staging_table_name
from almoner.platform.database.transactions import Tx

_LONGEST_FORMER_NAMES: Final = 1_000
FEW_ROWS: Final = 50_000
"""Up to this many differing rows are looked up one by one; more are joined with whole tables."""

_COLUMNS: Final = ("part", *ORGANISATION_COLUMNS)
_UNTOLD: Final = {"registry_number", "group_key", "parent_key", "prominence", "tag_ids"}
"""Changes of these columns, and of search words, are not recorded in the history."""


def _staged_value(column: str) -> str:
    """The expression of a staged row's value for a column of a new organisation."""
    return "s.activities::jsonb" if column == "activities" else f"s.{column}"


def _updated_value(column: str) -> str:
    """The same for a known organisation; a status override keeps it inactive although it is listed (slice merges)."""
    return "(s.active and o.status_override is null)" if column == "active" else _staged_value(column)


_SET: Final = ", ".join(f"{column} = {_updated_value(column)}" for column in _COLUMNS)
_OLD: Final = ", ".join(f"o.{column}" for column in _COLUMNS)
_NEW: Final = ", ".join(_updated_value(column) for column in _COLUMNS)
_DIFFERS: Final = f"(o.last_seen is not null or o.source is distinct from $2 or ({_OLD}) is distinct from ({_NEW}))"
_HISTORY: Final = ", ".join(
    f"('{column}', to_jsonb(o.{column}), to_jsonb({_updated_value(column)}))"
    for column in _COLUMNS
    if column not in _UNTOLD and not column.startswith("search_")
)
# An organisation belongs to the first source that lists it, and moves to another when that one stops listing it.
_OWN: Final = "(o.source is not distinct from $2 or o.last_seen is not null)"
_CENTRAL: Final = """
    select distinct on (group_key) group_key, id from (
        select s.group_key, coalesce(o.id, s.id) as id from {rows}
        left join organisation o on o.registry_id = $1 and o.number_key = s.number_key and o.partner_id is null
        where s.is_branch_parent
        union all
        select group_key, id from organisation
        where registry_id = $1 and is_branch_parent and active and partner_id is null
    ) central order by group_key, id
"""


@dataclass(frozen=True, slots=True)
class ImportRun:
    """The parameters of one import that is applied to a register."""

    source: str
    registry_id: UUID
    import_id: UUID
    data_date: datetime
    rows_sql: str
    looks_up_rows_one_by_one: bool
    is_rollback: bool = False


@dataclass(frozen=True, slots=True)
class NumberChangeCounts:
    """How many registration numbers an import added, changed, moved or removed."""

    added: int = 0
    changed: int = 0
    ignored_changes: int = 0
    moved: int = 0
    removed: int = 0

    @property
    def total(self) -> int:
        """The number of differences."""
        return self.added + self.changed + self.ignored_changes + self.removed


class StagedDifferences(NamedTuple):
    """The staged rows that differ, as an expression to select from, and their counts."""

    rows_sql: str
    counts: NumberChangeCounts


async def create_rows_by_number_table(tx: Tx, staging_id: UUID) -> str:
    """Combine the rows of each number into one; returns the name of their table."""
    await tx.execute(
        f"""
        create temporary table register_gathered on commit drop as
        select number_key, min(part) as part,
            jsonb_build_object('rows', jsonb_agg(record::jsonb order by file_position, line))::text as record
        from {staging_table_name(staging_id)} where number_key is not null group by number_key
        """
    )
    await tx.execute("analyze register_gathered")
    return "register_gathered"


async def has_entries(tx: Tx, source: str) -> bool:
    """Whether the source has current entries."""
    return bool(
        await tx.fetchval("select exists (select from register_entry where source = $1 and valid_to is null)", source)
    )


def first_import_rows_sql(staging_table: str) -> str:
    """A query for the rows of a source without current entries."""
    return f"(select * from {staging_table} where number_key is not null) s"


_GONE_SINCE: Final = """
    coalesce((
        select last.part <> s.part and by.data_as_of > $4 and by.rolls_back is null
        from register_entry last join register_load by on by.id = last.ended_by_load_id
        where last.source = $1 and last.number_key = s.number_key and last.valid_to is not null
        order by last.id desc limit 1
    ), false)
"""


_STANDING: Final = """
    select id, number_key, part, record from register_entry h
    where source = $1 and valid_to is null and part = any($2::text[])
        and not exists (select from register_held where number_key = h.number_key)
    union all
    select id, number_key, part, record from register_entry h
    where source = $1 and valid_to is null and part = any($6::text[]) and number_key in (select number_key from {})
"""


async def create_and_count_differences(
    tx: Tx,
    source: str,
    staging_table: str,
    complete_parts: Sequence[str],
    unchanged_parts: Sequence[str],
    ignored_columns: Iterable[str],
    data_date: datetime,
    max_row_lookups: int,
) -> StagedDifferences:
    """Compare staged rows with current entries in one pass.

    In ``complete_parts`` all current entries are compared, in ``unchanged_parts`` only the numbers that were read. Data
    of an earlier day (``data_date``) do not undo a move or removal found in data of a later day. Retained numbers stay
    unchanged.
    """
    is_older = await tx.fetchval(
        "select exists (select from register_part where source = $1 and data_as_of > $2)", source, data_date
    )
    await tx.execute(
        f"""
        create temporary table register_delta on commit drop as
        select coalesce(s.number_key, e.number_key) as number_key, e.id as entry_id, e.part <> s.part as moved,
            {_LEFT_GROUP},
            case
                when e.id is null then 'added'
                when s.number_key is null then 'removed'
                when e.part = s.part
                    and {record_equality_condition("e.record", "s.record::jsonb", "$3::text[]")} then 'ignored'
                else 'changed'
            end as fate
        from ({_STANDING.format(staging_table)}) e
        full join (select number_key, part, record from {staging_table} where number_key is not null) s
            on s.number_key = e.number_key
        where (e.id is null and not ($5 and {_GONE_SINCE}))
            or (s.number_key is null and e.part = any($2::text[]))
            or (s.number_key is not null and e.part = s.part and e.record <> s.record::jsonb)
            or (s.number_key is not null and e.part <> s.part and not exists (
                select from register_part p where p.source = $1 and p.part = e.part and p.data_as_of > $4
            ))
        """,
        source,
        list(complete_parts),
        list(ignored_columns),
        data_date,
        is_older,
        list(unchanged_parts),
    )
    return await _count_differences(tx, staging_table, max_row_lookups)


_LEFT_GROUP: Final = (
    "case when (e.record ->> 'is_branch_parent')::boolean then e.record ->> 'group_key' end as left_group"
)


async def list_changed_numbers_and_groups(tx: Tx) -> tuple[list[str], list[str]]:
    """The changed numbers, and the groups whose central organisation changed."""
    rows = await tx.fetch("select number_key, left_group from register_delta")
    return [row["number_key"] for row in rows], list({row["left_group"] for row in rows if row["left_group"]})


async def list_staged_differences(tx: Tx, staging_table: str, max_rows_of_kind: int) -> list[Record]:
    """The first numbers of each kind in the difference table: number_key, fate, old and new record."""
    return await tx.fetch(
        f"""
        select d.number_key, d.fate, e.record as old, s.record::jsonb as new
        from (
            select number_key, fate, entry_id, row_number() over (partition by fate order by number_key) as nth
            from register_delta where fate <> 'ignored'
        ) d
        left join register_entry e on e.id = d.entry_id
        left join {staging_table} s on s.number_key = d.number_key
        where d.nth <= $1 order by array_position('{{removed,added,changed}}', d.fate), d.number_key
        """,
        max_rows_of_kind,
    )


async def create_and_count_reverted_differences(
    tx: Tx, source: str, staging_table: str, import_id: UUID
) -> StagedDifferences:
    """Like ``create_and_count_differences``, for staged rows from before an import."""
    await tx.execute(
        f"""
        create temporary table register_delta on commit drop as
        select coalesce(s.number_key, e.number_key) as number_key, e.id as entry_id, e.part <> s.part as moved,
            {_LEFT_GROUP},
            case when e.id is null then 'added' when s.number_key is null then 'removed' else 'changed' end as fate
        from (
            select id, number_key, part, record from register_entry
            where source = $1 and valid_to is null and load_id = $2
        ) e
        full join (select number_key, part from {staging_table} where number_key is not null) s
            on s.number_key = e.number_key
        """,
        source,
        import_id,
    )
    return await _count_differences(tx, staging_table, FEW_ROWS)


async def _count_differences(tx: Tx, staging_table: str, max_lookups: int) -> StagedDifferences:
    await tx.execute("analyze register_delta")
    rows = await tx.fetch(
        "select fate, count(*) as n, count(*) filter (where moved) as moved from register_delta group by 1"
    )
    fates = {row["fate"]: row["n"] for row in rows}
    counts = NumberChangeCounts(
        fates.get("added", 0),
        fates.get("changed", 0),
        fates.get("ignored", 0),
        sum(row["moved"] for row in rows),
        fates.get("removed", 0),
    )
    if counts.total <= max_lookups:
        await tx.execute("set local enable_nestloop = on")
    rows_sql = f"(select t.* from register_delta d join {staging_table} t on t.number_key = d.number_key) s"
    return StagedDifferences(rows_sql, counts)


async def end_superseded_entries(tx: Tx, import_run: ImportRun) -> None:
    """End the versions that are no longer current, on the date of the data.

    Also ends earlier versions of these numbers that a later-dated import had ended by itself: it was rolled back, or
    outweighed by later imports.
    """
    await tx.execute(
        """
        update register_entry e set valid_to = greatest(e.valid_from, $1), ended_by_load_id = $2
        from register_delta d where e.id = d.entry_id
        """,
        import_run.data_date,
        import_run.import_id,
    )
    if await tx.fetchval(
        "select exists (select from register_load where source = $1 and data_as_of > $2)",
        import_run.source,
        import_run.data_date,
    ):
        await tx.execute(
            """
            update register_entry e set valid_to = greatest(e.valid_from, $2) from register_delta d
            where e.source = $1 and e.number_key = d.number_key and e.valid_to > $2
            """,
            import_run.source,
            import_run.data_date,
        )


async def insert_entries(tx: Tx, import_run: ImportRun) -> int:
    """Insert the new current versions."""
    done = await tx.execute(
        f"""
        insert into register_entry (source, number_key, part, record, valid_from, load_id)
        select $1, s.number_key, s.part, s.record::jsonb, $2, $3 from {import_run.rows_sql}
        """,
        import_run.source,
        import_run.data_date,
        import_run.import_id,
    )
    return int(done.split()[-1])


async def insert_organisation_changes(tx: Tx, import_run: ImportRun) -> None:
    """Store the field changes that ``update_organisations`` will make, for the history."""
    await tx.execute(
        f"""
        insert into organisation_change (organisation_id, load_id, at, field, before, after)
        select o.id, $3, $4, told.field, told.before, told.after
        from {import_run.rows_sql} join organisation o on o.number_key = s.number_key
        cross join lateral (values {_HISTORY}) told (field, before, after)
        where o.registry_id = $1 and o.partner_id is null and {_OWN} and {_DIFFERS}
            and told.before is distinct from told.after
        order by o.id
        """,
        import_run.registry_id,
        import_run.source,
        import_run.import_id,
        import_run.data_date,
    )


_FORMER: Final = f"""
    case when o.search_name = s.search_name or ' ' || o.search_former || ' ' like '% ' || o.search_name || ' %'
        then o.search_former
        else btrim(left(o.search_name || ' ' || o.search_former, {_LONGEST_FORMER_NAMES})) end
"""
# Names from an import that is rolled back do not become former names.
_RESTORED: Final = "btrim(replace(' ' || o.search_former || ' ', ' ' || s.search_name || ' ', ' '))"


async def update_organisations(tx: Tx, import_run: ImportRun) -> None:
    """Update changed and relisted organisations, and add their former names to search."""
    former = _RESTORED if import_run.is_rollback else _FORMER
    await tx.execute(
        f"""
        update organisation o set {_SET}, search_former = {former}, source = $2, last_seen = null, updated_at = $3,
            first_seen = least(o.first_seen, $4)
        from {import_run.rows_sql}
        where o.registry_id = $1 and o.partner_id is null and o.number_key = s.number_key and {_OWN} and {_DIFFERS}
        """,
        import_run.registry_id,
        import_run.source,
        tx.now,
        import_run.data_date,
    )


async def insert_organisations(tx: Tx, import_run: ImportRun) -> None:
    """Insert new organisations, with IDs in the order of the files.

    Large numbers of branches get their parent here, small ones afterwards (slice merges).
    """
    central = (
        "select null::text as group_key, null::uuid as id"
        if import_run.looks_up_rows_one_by_one
        else _CENTRAL.format(rows=import_run.rows_sql)
    )
    await tx.execute(
        f"""
        insert into organisation (
            id, registry_id, country_code, number_key, {", ".join(_COLUMNS)}, branch_of, source, first_seen, created_at,
            updated_at
        )
        select s.id, $1, g.country_code, s.number_key, {", ".join(map(_staged_value, _COLUMNS))},
            case when coalesce(s.usa_group_exempt, not s.is_branch_parent) then c.id end, $2, $3, $4, $4
        from {import_run.rows_sql}
        join registry g on g.id = $1
        left join ({central}) c on c.group_key = s.group_key
        where not exists (
            select from organisation o
            where o.registry_id = $1 and o.partner_id is null and o.number_key = s.number_key
        )
        """,
        import_run.registry_id,
        import_run.source,
        import_run.data_date,
        tx.now,
    )


_GONE: Final = """
    register_delta d where d.fate = 'removed' and o.number_key = d.number_key and o.registry_id = $1
    and o.partner_id is null and o.source = $2 and o.last_seen is null
"""


async def deactivate_removed_organisations(tx: Tx, import_run: ImportRun) -> None:
    """Mark organisations that their source no longer lists as inactive."""
    await tx.execute(
        f"""
        insert into organisation_change (organisation_id, load_id, at, field, before, after)
        select o.id, $3, $4, 'active', 'true', 'false' from organisation o, {_GONE} and o.active order by o.id
        """,
        import_run.registry_id,
        import_run.source,
        import_run.import_id,
        import_run.data_date,
    )
    await tx.execute(
        f"""
        update organisation o set active = false, updated_at = $3, last_seen = greatest(
            o.first_seen, (select p.data_as_of from register_part p where p.source = $2 and p.part = o.part)
        ) from {_GONE}
        """,
        import_run.registry_id,
        import_run.source,
        tx.now,
    )


async def analyse_search_tables(tx: Tx, register_import: RegisterImport) -> None:
    """Optimise the search tables after an import, so that the first searches are fast."""
    await tx.execute(
        "select analyze_organisations($1)", register_import.added + register_import.changed + register_import.removed
    )
