"""SQL of register loads: COPY into a temporary table, guards, one merge, and where everything came from."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.registers.domain import BadRow, FileFacts, Load
from almoner.platform.db import Everyone, Tx

COPIED: Final = (
    "id",
    "file_position",
    "line",
    "registry_number",
    "number_key",
    "part",
    "name",
    "display_name",
    "other_name",
    "types",
    "address_line_1",
    "address_line_2",
    "city",
    "state",
    "postcode",
    "registration_date",
    "group_key",
    "is_branch_parent",
    "usa_group_exempt",
    "prominence",
    "search_name",
    "search_other",
)
"""The columns of the temporary table ``register_row``, in the order of a copied record."""

_DELIVERED: Final = COPIED[3:]
_COMPARED: Final = tuple(column for column in _DELIVERED if column != "number_key")
_TOLD: Final = (
    "name",
    "display_name",
    "types",
    "address_line_1",
    "address_line_2",
    "city",
    "state",
    "postcode",
    "registration_date",
    "is_branch_parent",
    "usa_group_exempt",
)
"""The columns whose changes partners see: those of the record."""
_COLUMNS: Final = ", ".join(_DELIVERED)
_ROW_COLUMNS: Final = ", ".join(f"r.{column}" for column in _DELIVERED)
_SET: Final = ", ".join(f"{column} = r.{column}" for column in _COMPARED)
_OLD: Final = ", ".join(f"o.{column}" for column in _COMPARED)
_NEW: Final = ", ".join(f"r.{column}" for column in _COMPARED)


async def lock_registry(tx: Tx, _: Everyone, registry_id: UUID) -> None:
    """One load of a registry at a time."""
    await tx.execute("select from registry where id = $1 for no key update", registry_id)


async def create_rows(tx: Tx, _: Everyone) -> None:
    """The temporary table of this transaction that rows are copied into.

    A merge joins whole tables, of which the larger may have grown since it was analysed: nested loops would be the
    wrong plan.
    """
    await tx.execute("set local enable_nestloop = off")
    await tx.execute(
        f"""
        create temporary table register_row on commit drop as
        select id, 0::smallint as file_position, 0 as line, {_COLUMNS} from organisation limit 0
        """
    )


async def copy_rows(tx: Tx, _: Everyone, rows: Iterable[tuple[Any, ...]]) -> None:
    """COPY records in the order of ``COPIED``."""
    await tx.copy_records("register_row", COPIED, rows)
    await tx.execute("analyze register_row (number_key, part, group_key)")


async def take_repeated(tx: Tx, _: Everyone) -> list[tuple[int, BadRow]]:
    """Take out the later rows of numbers that occur twice; (position of the file, row)."""
    if not await tx.fetchval("select exists (select from register_row group by number_key having count(*) > 1)"):
        return []
    rows = await tx.fetch(
        """
        with numbered as (
            select ctid as place, row_number() over (partition by number_key order by file_position, line) as nth
            from register_row
        )
        delete from register_row r using numbered n where r.ctid = n.place and n.nth > 1
        returning r.file_position, r.line, r.registry_number, r.name
        """
    )
    return [
        (
            row["file_position"],
            BadRow(row["line"], "the number occurs earlier in the files", f"{row['registry_number']},{row['name']}"),
        )
        for row in rows
    ]


async def count_parts(tx: Tx, _: Everyone) -> dict[tuple[int, str], int]:
    """Copied rows by (position of the file, part)."""
    rows = await tx.fetch("select file_position, part, count(*) as n from register_row group by file_position, part")
    return {(row["file_position"], row["part"]): row["n"] for row in rows}


async def loaded_parts(tx: Tx, _: Everyone, registry_id: UUID, parts: Sequence[str]) -> list[Record]:
    """What is loaded of these parts: part, rows, data_as_of."""
    return await tx.fetch(
        "select part, rows, data_as_of from register_part where registry_id = $1 and part = any($2::text[])",
        registry_id,
        list(parts),
    )


async def standing_files(tx: Tx, _: Everyone, registry_id: UUID, hashes: Sequence[bytes]) -> set[bytes]:
    """Those of the files that are what is loaded now: no part of theirs was loaded again since."""
    rows = await tx.fetch(
        """
        select distinct f.sha256 from register_file f join register_load l on l.id = f.load_id
        where l.registry_id = $1 and f.sha256 = any($2::bytea[]) and f.rows > 0 and not exists (
            select from unnest(f.parts) part
            join register_part p on p.registry_id = $1 and p.part = part.part
            where p.load_id <> f.load_id
        )
        """,
        registry_id,
        list(hashes),
    )
    return {row["sha256"] for row in rows}


_DIFFERS: Final = f"(o.last_seen is not null or ({_OLD}) is distinct from ({_NEW}))"
_HISTORY: Final = ", ".join(
    [
        *(f"('{column}', to_jsonb(o.{column}), to_jsonb(r.{column}))" for column in _TOLD),
        "('active', to_jsonb(o.active), 'true')",
    ]
)

_PARENTS: Final = """
    select distinct on (group_key) group_key, id from (
        select r.group_key, coalesce(o.id, r.id) as id from register_row r
        left join organisation o on o.registry_id = $1 and o.number_key = r.number_key and o.partner_id is null
        where r.is_branch_parent
        union all
        select group_key, id from organisation
        where registry_id = $1 and is_branch_parent and active and partner_id is null
    ) central order by group_key, id
"""


async def tell_changes(tx: Tx, _: Everyone, registry_id: UUID, load_id: UUID, data_as_of: datetime) -> None:
    """What ``merge_changed`` is about to change, field by field, for the history."""
    await tx.execute(
        f"""
        insert into organisation_change (organisation_id, load_id, at, field, before, after)
        select o.id, $2, $3, told.field, told.before, told.after
        from register_row r join organisation o on o.number_key = r.number_key
        cross join lateral (values {_HISTORY}) told (field, before, after)
        where o.registry_id = $1 and o.partner_id is null and {_DIFFERS} and told.before is distinct from told.after
        order by o.id
        """,
        registry_id,
        load_id,
        data_as_of,
    )


async def merge_changed(tx: Tx, _: Everyone, registry_id: UUID) -> int:
    """Bodies that were known and differ, or are listed again."""
    done = await tx.execute(
        f"""
        update organisation o set
            {_SET},
            active = true, last_seen = null, updated_at = $2
        from register_row r
        where o.registry_id = $1 and o.partner_id is null and o.number_key = r.number_key and {_DIFFERS}
        """,
        registry_id,
        tx.now,
    )
    return int(done.split()[-1])


async def merge_new(tx: Tx, _: Everyone, registry_id: UUID, data_as_of: datetime) -> int:
    """Bodies that were not known, in the order of the files, so that their ids go up as they came."""
    done = await tx.execute(
        f"""
        insert into organisation (
            id, registry_id, country_code, {_COLUMNS}, branch_of, active, first_seen, created_at,
            updated_at
        )
        select r.id, $1, g.country_code, {_ROW_COLUMNS},
            case when r.usa_group_exempt then c.id end, true, $2, $3, $3
        from register_row r
        join registry g on g.id = $1
        left join ({_PARENTS}) c on c.group_key = r.group_key
        where not exists (
            select from organisation o
            where o.registry_id = $1 and o.partner_id is null and o.number_key = r.number_key
        )
        order by r.id
        """,
        registry_id,
        data_as_of,
        tx.now,
    )
    return int(done.split()[-1])


async def retire_missing(
    tx: Tx, _: Everyone, registry_id: UUID, parts: Sequence[str], load_id: UUID, data_as_of: datetime
) -> int:
    """Bodies of these parts that the files no longer list: kept, inactive, with the day they were last seen."""
    done = await tx.execute(
        """
        with gone as (
            update organisation o set active = false, last_seen = p.data_as_of, updated_at = $3
            from register_part p
            where p.registry_id = $1 and p.part = o.part and o.registry_id = $1 and o.part = any($2::text[])
                and o.partner_id is null and o.last_seen is null
                and not exists (select from register_row r where r.number_key = o.number_key)
            returning o.id
        )
        insert into organisation_change (organisation_id, load_id, at, field, before, after)
        select id, $4, $5, 'active', 'true', 'false' from gone
        """,
        registry_id,
        list(parts),
        tx.now,
        load_id,
        data_as_of,
    )
    return int(done.split()[-1])


async def join_branches(tx: Tx, _: Everyone, registry_id: UUID) -> None:
    """Point subordinates to the central body of their group where that has changed."""
    await tx.execute(
        f"""
        update organisation o set branch_of = c.id, updated_at = $2
        from ({_PARENTS}) c
        where o.registry_id = $1 and o.usa_group_exempt and o.group_key = c.group_key and o.partner_id is null
            and o.branch_of is distinct from c.id
        """,
        registry_id,
        tx.now,
    )


async def learn_words(tx: Tx, _: Everyone) -> None:
    """Enter the words of the copied names into the dictionary."""
    await tx.execute(
        """
        insert into organisation_word (word, n)
        select word, count(*) from register_row
        cross join unnest(string_to_array(btrim(search_name || ' ' || search_other), ' ')) word
        group by word
        on conflict (word) do update set n = excluded.n where organisation_word.n < excluded.n
        """
    )


async def settle(tx: Tx, _: Everyone) -> None:
    """Make the first searches after a load as fast as later ones."""
    await tx.execute("select settle_organisations()")


async def insert_load(
    tx: Tx, _: Everyone, registry_id: UUID, load: Load, quarantine: Sequence[tuple[str, BadRow]]
) -> None:
    """Where a load came from and what it changed."""
    await tx.execute(
        """
        insert into register_load (
            id, registry_id, source, data_as_of, loaded_at, rows, added, changed, gone, quarantined, forced
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        """,
        load.id,
        registry_id,
        load.source,
        load.data_as_of,
        load.loaded_at,
        load.rows,
        load.added,
        load.changed,
        load.gone,
        load.quarantined,
        load.forced,
    )
    await tx.executemany(
        """
        insert into register_file (load_id, position, name, sha256, bytes, parts, rows, quarantined)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        [
            (load.id, place, file.name, file.sha256, file.bytes, list(file.parts), file.rows, file.quarantined)
            for place, file in enumerate(load.files)
        ],
    )
    await tx.executemany(
        "insert into register_quarantine (load_id, file_name, line, reason, content) values ($1, $2, $3, $4, $5)",
        [(load.id, name, row.line, row.reason, row.content) for name, row in quarantine],
    )


async def date_parts(tx: Tx, _: Everyone, registry_id: UUID, load: Load, parts: dict[str, int]) -> None:
    """Date the parts that the load replaced, and the registry by its newest part."""
    await tx.execute(
        """
        insert into register_part (registry_id, part, load_id, data_as_of, rows)
        select $1, part, $2, $3, rows from unnest($4::text[], $5::int[]) loaded (part, rows)
        on conflict (registry_id, part) do update
        set load_id = excluded.load_id, data_as_of = excluded.data_as_of, rows = excluded.rows
        """,
        registry_id,
        load.id,
        load.data_as_of,
        list(parts),
        list(parts.values()),
    )
    await tx.execute(
        """
        update registry set data_as_of = (select max(data_as_of) from register_part where registry_id = $1)
        where id = $1
        """,
        registry_id,
    )


async def every_load(tx: Tx, _: Everyone, limit: int) -> list[Load]:
    """The newest loads with their files."""
    rows = await tx.fetch(
        """
        select l.*, g.code as registry_code, f.name, f.sha256, f.bytes, f.parts, f.rows as file_rows,
            f.quarantined as file_quarantined
        from (select * from register_load order by id desc limit $1) l
        join registry g on g.id = l.registry_id
        join register_file f on f.load_id = l.id
        order by l.id desc, f.position
        """,
        limit,
    )
    loads: dict[UUID, list[Record]] = {}
    for row in rows:
        loads.setdefault(row["id"], []).append(row)
    return [_load(of_one) for of_one in loads.values()]


def _load(rows: Sequence[Record]) -> Load:
    first = rows[0]
    files = tuple(
        FileFacts(
            row["name"], row["sha256"], row["bytes"], tuple(row["parts"]), row["file_rows"], row["file_quarantined"]
        )
        for row in rows
    )
    return Load(
        first["id"],
        first["registry_code"],
        first["source"],
        first["data_as_of"],
        first["loaded_at"],
        first["rows"],
        first["added"],
        first["changed"],
        first["gone"],
        first["quarantined"],
        first["forced"],
        files,
    )
