"""SQL that compares two loads, and rolls one back."""

from collections.abc import Iterable
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.registers.domain import (
    DifferingRow,
    NumberDifference,
    QuarantinedDifferences,
    RegisterImportDifference,
)
from almoner.nonprofits.registers.store_record_equality import record_equality_condition
from almoner.platform.database.transactions import Tx

# Current after a load: added by it or an earlier one, and not ended by then.
_STOOD = "load_id <= {0} and (ended_by_load_id is null or ended_by_load_id > {0})"
_DIFFERENT = f"""
    with touched as materialized (
        select distinct number_key from register_entry
        where source = $1 and (
            (load_id > least($2::uuid, $3::uuid) and load_id <= greatest($2, $3))
            or (ended_by_load_id > least($2, $3) and ended_by_load_id <= greatest($2, $3))
        )
    ), old as (
        select e.number_key, e.part, e.record from register_entry e join touched using (number_key)
        where e.source = $1 and {_STOOD.format("$2")}
    ), new as (
        select e.number_key, e.part, e.record from register_entry e join touched using (number_key)
        where e.source = $1 and {_STOOD.format("$3")}
    ), different as materialized (
        select number_key, old.part as old_part, new.part as new_part, old.record as old, new.record as new,
            case
                when old.number_key is null then 'in'
                when new.number_key is null then 'out'
                when old.part = new.part
                    and {record_equality_condition("old.record", "new.record", "$4::text[]")} then 'ignored'
                else 'changed'
            end as fate
        from old full join new using (number_key)
        where old.record is distinct from new.record or old.part is distinct from new.part
    )
"""


async def count_differences(
    tx: Tx, source: str, old_import_id: UUID, new_import_id: UUID, ignored_columns: Iterable[str]
) -> RegisterImportDifference:
    """Count the differences between two loads of a source."""
    rows = await tx.fetch(
        f"""
        {_DIFFERENT}
        select 'fate' as kind, fate as name, count(*) as n from different group by fate
        union all
        select 'fate', 'moved', count(*) from different where old_part <> new_part
        union all
        select 'fate', 'renamed', count(*) from different where old ->> 'name' <> new ->> 'name'
        union all
        select 'column', told.key, count(*) from different
        cross join lateral (
            select key from jsonb_each(old - 'facts') o full join jsonb_each(new - 'facts') n using (key)
            where o.value is distinct from n.value
            union all
            select 'facts.' || key
            from jsonb_each(old -> 'facts') o full join jsonb_each(new -> 'facts') n using (key)
            where o.value is distinct from n.value
        ) told
        where fate in ('changed', 'ignored') group by told.key
        """,
        source,
        old_import_id,
        new_import_id,
        list(ignored_columns),
    )
    fates = {row["name"]: row["n"] for row in rows if row["kind"] == "fate"}
    columns = {row["name"]: row["n"] for row in rows if row["kind"] == "column"}
    return RegisterImportDifference(
        fates.get("in", 0),
        fates.get("out", 0),
        fates.get("changed", 0),
        fates.get("ignored", 0),
        fates.get("moved", 0),
        fates.get("renamed", 0),
        dict(sorted(columns.items(), key=lambda item: (-item[1], item[0]))),
    )


async def list_differences(
    tx: Tx, source: str, old_import_id: UUID, new_import_id: UUID, ignored_columns: Iterable[str], limit: int
) -> list[NumberDifference]:
    """The numbers that differ, added and removed ones first."""
    rows = await tx.fetch(
        f"""
        {_DIFFERENT}
        select number_key, fate, old_part, new_part, old ->> 'name' as old_name, new ->> 'name' as new_name
        from different order by array_position('{{in,out,changed,ignored}}', fate), number_key limit $5
        """,
        source,
        old_import_id,
        new_import_id,
        list(ignored_columns),
        limit,
    )
    return [
        NumberDifference(
            row["number_key"], row["fate"], row["old_part"], row["new_part"], row["old_name"], row["new_name"]
        )
        for row in rows
    ]


async def find_quarantined_differences(tx: Tx, import_id: UUID) -> QuarantinedDifferences | None:
    """What a quarantined load would change; None if that is not known."""
    found = await tx.fetchval("select differences from register_load where id = $1", import_id)
    if found is None:
        return None
    rows = [DifferingRow(row["number"], row["fate"], [tuple(one) for one in row["columns"]]) for row in found["rows"]]
    return QuarantinedDifferences(found["added"], found["changed"], found["removed"], rows)


async def stage_entries_ended_by_import(tx: Tx, import_id: UUID) -> int:
    """Collect the versions that a load ended; returns how many."""
    done = await tx.execute(
        """
        create temporary table register_back on commit drop as
        select row_number() over (order by id) as nth, id from register_entry where ended_by_load_id = $1
        """,
        import_id,
    )
    await tx.execute("analyze register_back")
    return int(done.split()[-1])


async def list_staged_ended_entries(tx: Tx, after_position: int, last_position: int) -> list[Record]:
    """Some of the collected versions: number_key, part, record."""
    return await tx.fetch(
        """
        select e.number_key, e.part, e.record from register_back b join register_entry e on e.id = b.id
        where b.nth > $1 and b.nth <= $2 order by b.nth
        """,
        after_position,
        last_position,
    )


async def restore_previous_register_parts(tx: Tx, source: str, import_id: UUID) -> list[str]:
    """Restore a load's parts to their previous loads; returns the restored parts."""
    await tx.execute("delete from register_part where source = $1 and load_id = $2", source, import_id)
    restored = await tx.fetch(
        """
        insert into register_part (source, part, load_id, data_as_of, rows)
        select distinct on (k.part) $1, k.part, l.id, l.data_as_of, k.rows
        from register_load_part k join register_load l on l.id = k.load_id
        where l.source = $1 and l.id < $2 and l.status = 'loaded'
            and k.part in (select part from register_load_part where load_id = $2)
        order by k.part, l.id desc
        returning part
        """,
        source,
        import_id,
    )
    return [row["part"] for row in restored]


async def mark_import_rolled_back(tx: Tx, import_id: UUID) -> None:
    """Mark a load as rolled back, so that it does not count any more."""
    await tx.execute("update register_load set status = 'rolled_back' where id = $1", import_id)
