"""SQL for loads: sources, parts and provenance; staging and merging have their own stores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.registers.domain import (
    FilledRowCounts,
    ImportedFile,
    QuarantinedDifferences,
    QuarantinedImport,
    RegisterImport,
    RejectedRow,
    SourceStatus,
)
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx


@dataclass(frozen=True, slots=True)
class ImportedPart:
    """The current load of a part of a source."""

    import_id: UUID
    data_as_of: datetime
    filled_counts: FilledRowCounts


async def lock_registry(tx: Tx, registry_id: UUID) -> None:
    """Lock a registry, so that one merge runs at a time."""
    await tx.execute("select from registry where id = $1 for no key update", registry_id)


async def upsert_source(tx: Tx, registry_id: UUID, source: RegisterSource) -> None:
    """Store a source when it is first loaded, or its changed declaration."""
    await tx.execute(
        """
        insert into register_source (code, registry_id, lists_organisations, unverified, ignored_columns) values ($1,
            $2, $3, $4, $5)
        on conflict (code) do update
        set lists_organisations = excluded.lists_organisations, unverified = excluded.unverified,
            ignored_columns = excluded.ignored_columns
        """,
        source.code,
        registry_id,
        source.lists_organisations,
        source.is_format_unverified,
        sorted(source.ignored_columns),
    )


async def list_ignored_columns(tx: Tx, source: str) -> list[str]:
    """The facts that its reader ignored when the source was last loaded."""
    return list(await tx.fetchval("select ignored_columns from register_source where code = $1", source) or ())


async def list_unverified_sources(tx: Tx) -> frozenset[str]:
    """Sources whose readers were never tested on a real file."""
    return frozenset(row["code"] for row in await tx.fetch("select code from register_source where unverified"))


async def load_imported_parts_by_code(tx: Tx, source: str) -> dict[str, ImportedPart]:
    """The current load of each part of a source."""
    rows = await tx.fetch(
        """
        select p.part, p.load_id, p.data_as_of, l.filled_counts
        from register_part p join register_load_part l on l.load_id = p.load_id and l.part = p.part
        where p.source = $1
        """,
        source,
    )
    return {row["part"]: ImportedPart(row["load_id"], row["data_as_of"], row["filled_counts"]) for row in rows}


async def load_data_dates_by_file_hash(tx: Tx, source: str, hashes: Sequence[bytes]) -> dict[bytes, datetime]:
    """The currently loaded files among these, with their data dates.

    A file without rows of its own (a table of an extract) has its load's.
    """
    rows = await tx.fetch(
        """
        select f.sha256, max(l.data_as_of) as data_as_of from register_file f join register_load l on l.id = f.load_id
        where l.source = $1 and l.status = 'loaded' and f.sha256 = any($2::bytea[]) and l.rows > 0 and not exists (
            select from register_load_part k left join register_part p on p.source = $1 and p.part = k.part
            where k.load_id = l.id and (f.parts = '{}' or k.part = any(f.parts))
                and p.load_id is distinct from l.id
        ) group by f.sha256
        """,
        source,
        list(hashes),
    )
    return {row["sha256"]: row["data_as_of"] for row in rows}


async def list_file_names_and_parts(tx: Tx, source: str) -> list[tuple[str, set[str]]]:
    """(name, parts) of each currently loaded file."""
    rows = await tx.fetch(
        """
        select f.name, f.parts from register_file f
        where f.load_id in (select load_id from register_part where source = $1) and f.rows > 0
        """,
        source,
    )
    return [(row["name"], set(row["parts"])) for row in rows]


async def list_currently_listed_numbers(tx: Tx, source: str, number_keys: Iterable[str]) -> list[str]:
    """The numbers among these that the source currently lists."""
    rows = await tx.fetch(
        """
        select number_key from register_entry where source = $1 and number_key = any($2::text[]) and valid_to is null
        """,
        source,
        list(number_keys),
    )
    return [row["number_key"] for row in rows]


async def insert_import(
    tx: Tx,
    registry_id: UUID,
    register_import: RegisterImport,
    rejected_rows: Sequence[RejectedRow],
    filled_counts_by_part: Mapping[str, FilledRowCounts],
    differences: QuarantinedDifferences | None = None,
) -> None:
    """Store a load with its files and counts. ``filled_counts_by_part``: their counts; none if quarantined."""
    await tx.execute(
        """
        insert into register_load (
            id, registry_id, source, data_as_of, loaded_at, rows, added, changed, removed, quarantined, forced, status,
            reasons, ignored_changes, moved, unnumbered, rolls_back, ambiguous, unreadable_values, notes, carried_over,
            differences
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
        """,
        register_import.id,
        registry_id,
        register_import.source,
        register_import.data_as_of,
        register_import.loaded_at,
        register_import.rows,
        register_import.added,
        register_import.changed,
        register_import.removed,
        register_import.quarantined,
        register_import.forced,
        register_import.status,
        list(register_import.reasons),
        register_import.ignored_changes,
        register_import.moved,
        register_import.unnumbered,
        register_import.rolls_back,
        register_import.ambiguous,
        register_import.unreadable_values,
        list(register_import.notes),
        register_import.carried_over,
        differences,
    )
    await _insert_files(tx, register_import, rejected_rows)
    await tx.executemany(
        "insert into register_load_part (load_id, part, rows, filled_counts) values ($1, $2, $3, $4)",
        [(register_import.id, part, fills["rows"], fills) for part, fills in filled_counts_by_part.items()],
    )


async def _insert_files(tx: Tx, register_import: RegisterImport, rejected_rows: Sequence[RejectedRow]) -> None:
    await tx.executemany(
        """
        insert into register_file (load_id, position, name, sha256, size_bytes, parts, rows, quarantined)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        [
            (
                register_import.id,
                place,
                file.name,
                file.sha256,
                file.bytes,
                list(file.parts),
                file.rows,
                file.quarantined,
            )
            for place, file in enumerate(register_import.files)
        ],
    )
    await tx.executemany(
        "insert into register_quarantine (load_id, file_name, line, reason, content) values ($1, $2, $3, $4, $5)",
        [
            (
                register_import.id,
                register_import.files[row.file_position].name,
                row.line_number,
                row.reason,
                row.content,
            )
            for row in rejected_rows
        ],
    )


async def upsert_register_parts(
    tx: Tx, register_import: RegisterImport, filled_counts_by_part: Mapping[str, FilledRowCounts]
) -> None:
    """Store the current load of each part."""
    await tx.execute(
        """
        insert into register_part (source, part, load_id, data_as_of, rows)
        select $1, part, $2, $3, rows from unnest($4::text[], $5::int[]) loaded (part, rows)
        on conflict (source, part) do update
        set load_id = excluded.load_id, data_as_of = excluded.data_as_of, rows = excluded.rows
        """,
        register_import.source,
        register_import.id,
        register_import.data_as_of,
        list(filled_counts_by_part),
        [fills["rows"] for fills in filled_counts_by_part.values()],
    )


async def update_source_dates(tx: Tx, source: str, registry_id: UUID) -> None:
    """Date a source by its newest part, and its registry by its newest source (settled 4)."""
    await tx.execute(
        """
        update register_source set data_as_of = (select max(data_as_of) from register_part where source = $1)
        where code = $1
        """,
        source,
    )
    await tx.execute(
        """
        update registry set data_as_of = (
            select max(data_as_of) from register_source where registry_id = $1 and lists_organisations
        )
        where id = $1
        """,
        registry_id,
    )


_LOAD_COLUMNS: Final = """
    id, registry_id, source, data_as_of, loaded_at, rows, added, changed, removed, quarantined, forced, status, reasons,
    ignored_changes, moved, unnumbered, rolls_back, ambiguous, unreadable_values, notes, carried_over
"""
"""All columns except ``differences``, which is large."""
_LOADS: Final = """
    select l.*, g.code as registry_code, f.name, f.sha256, f.size_bytes, f.parts, f.rows as file_rows,
        f.quarantined as file_quarantined
    from ({chosen}) l
    join registry g on g.id = l.registry_id
    left join register_file f on f.load_id = l.id
    order by l.id desc, f.position
"""


async def list_imports(tx: Tx, limit: int) -> list[RegisterImport]:
    """The newest loads with their files."""
    chosen = f"select {_LOAD_COLUMNS} from register_load order by id desc limit $1"
    return _loads(await tx.fetch(_LOADS.format(chosen=chosen), limit))


async def find_import(tx: Tx, import_id: UUID) -> RegisterImport | None:
    """One load."""
    chosen = f"select {_LOAD_COLUMNS} from register_load where id = $1"
    loads = _loads(await tx.fetch(_LOADS.format(chosen=chosen), import_id))
    return loads[0] if loads else None


async def list_imports_by_ids(tx: Tx, import_ids: Sequence[UUID]) -> list[RegisterImport]:
    """These loads, newest first."""
    chosen = f"select {_LOAD_COLUMNS} from register_load where id = any($1::uuid[])"
    return _loads(await tx.fetch(_LOADS.format(chosen=chosen), import_ids))


async def find_newest_import(tx: Tx, source: str, max_data_date: datetime | None = None) -> RegisterImport | None:
    """The newest load of a source that was not rolled back, with data up to a day."""
    chosen = f"""
        select {_LOAD_COLUMNS} from register_load
        where source = $1 and status = 'loaded' and ($2::timestamptz is null or data_as_of <= $2)
        order by id desc limit 1
        """
    loads = _loads(await tx.fetch(_LOADS.format(chosen=chosen), source, max_data_date))
    return loads[0] if loads else None


async def find_previous_import(tx: Tx, register_import: RegisterImport) -> RegisterImport | None:
    """The previous load of the same source."""
    chosen = f"""
        select {_LOAD_COLUMNS} from register_load
        where source = $1 and status = 'loaded' and id < $2 order by id desc limit 1
        """
    loads = _loads(await tx.fetch(_LOADS.format(chosen=chosen), register_import.source, register_import.id))
    return loads[0] if loads else None


def _loads(rows: Sequence[Record]) -> list[RegisterImport]:
    loads: dict[UUID, list[Record]] = {}
    for row in rows:
        loads.setdefault(row["id"], []).append(row)
    return [_load(of_one) for of_one in loads.values()]


def _load(rows: Sequence[Record]) -> RegisterImport:
    first = rows[0]
    files = tuple(
        ImportedFile(
            row["name"],
            row["sha256"],
            row["size_bytes"],
            tuple(row["parts"]),
            row["file_rows"],
            row["file_quarantined"],
        )
        for row in rows
        if row["name"] is not None
    )
    return RegisterImport(
        first["id"],
        first["registry_code"],
        first["source"],
        first["data_as_of"],
        first["loaded_at"],
        first["rows"],
        first["added"],
        first["changed"],
        first["removed"],
        first["quarantined"],
        first["forced"],
        files,
        first["status"],
        tuple(first["reasons"]),
        first["ignored_changes"],
        first["moved"],
        first["unnumbered"],
        first["rolls_back"],
        first["ambiguous"],
        first["unreadable_values"],
        tuple(first["notes"]),
        first["carried_over"],
    )


class StoredRejectedRow(NamedTuple):
    """A row of a register's file that could not be loaded."""

    file_name: str
    line_number: int
    reason: str
    content: str


async def list_rejected_rows(tx: Tx, import_id: UUID, limit: int) -> list[StoredRejectedRow]:
    """The first rejected rows of a load."""
    rows = await tx.fetch(
        "select file_name, line, reason, content from register_quarantine where load_id = $1 order by id limit $2",
        import_id,
        limit,
    )
    return [StoredRejectedRow(row["file_name"], row["line"], row["reason"], row["content"]) for row in rows]


@across_partners("registers")
async def list_sources(tx: Tx) -> list[SourceStatus]:
    """The status of each source, by registry and name."""
    rows = await tx.fetch(
        """
        select s.code, g.code as registry_code, s.lists_organisations, s.unverified, s.data_as_of, p.oldest, p.parts,
            p.rows,
            case when s.lists_organisations then (
                select count(*) from organisation o where o.source = s.code and o.active
            ) else 0 end as active,
            l.id as last, l.loaded_at, q.ids, q.at, q.reasons
        from register_source s
        join registry g on g.id = s.registry_id
        left join lateral (
            select min(data_as_of) as oldest, count(*) as parts, coalesce(sum(rows), 0)::int as rows
            from register_part where source = s.code
        ) p on true
        left join lateral (
            select id, loaded_at from register_load where source = s.code and status = 'loaded' order by id desc limit 1
        ) l on true
        left join lateral (
            select array_agg(id order by id desc) as ids, array_agg(loaded_at order by id desc) as at,
                jsonb_agg(reasons order by id desc) as reasons
            from register_load b where b.source = s.code and b.status = 'quarantined' and (l.id is null or b.id > l.id)
        ) q on true
        order by g.code, s.code
        """
    )
    return [
        SourceStatus(
            row["code"],
            row["registry_code"],
            row["lists_organisations"],
            row["unverified"],
            row["data_as_of"],
            row["oldest"],
            row["parts"],
            row["rows"],
            row["active"],
            row["last"],
            row["loaded_at"],
            tuple(
                QuarantinedImport(load_id, at, tuple(reasons))
                for load_id, at, reasons in zip(row["ids"] or (), row["at"] or (), row["reasons"] or (), strict=True)
            ),
        )
        for row in rows
    ]
