"""SQL for the staging tables into which files are read."""

from collections.abc import AsyncIterable, Iterable, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import asyncpg

from almoner.nonprofits.registers.domain import FileReadResult, RegisterLink, RejectedRow
from almoner.nonprofits.registers.records import NOTE, STAGING_COLUMNS, SUPPLEMENTARY, UNNUMBERED, parse_staged_link
from almoner.platform.database.transactions import Tx

_REJECTED: Final = f"reason is not null and (part is null or part = '{SUPPLEMENTARY}')"
_NUMBERLESS: Final = f"""
    number_key is null and reason is not null and (part = '{UNNUMBERED}' or (part is null and registry_number is null))
"""


class StartedStaging(NamedTuple):
    """A started or resumed reading, and the results of the files that were read before."""

    staging_id: UUID
    earlier_read_results: list[FileReadResult]


def staging_table_name(staging_id: UUID) -> str:
    """The name of a reading's staging table, as the database builds it too."""
    return f"register_staged_{staging_id.hex}"


async def begin_or_resume_staging(
    tx: Tx, source: str, file_hashes: Sequence[bytes], *, reads_files_together: bool = False
) -> StartedStaging | None:
    """Start or resume reading these files; None while another process reads them.

    ``reads_files_together``: all files are read at once. Reading other files of the source is abandoned. After None the
    transaction cannot be used.
    """
    try:
        return await _begin_reading(tx, source, file_hashes, joined=reads_files_together)
    except (asyncpg.LockNotAvailableError, asyncpg.UniqueViolationError):
        return None


async def _begin_reading(tx: Tx, source: str, hashes: Sequence[bytes], *, joined: bool) -> StartedStaging:
    known = await tx.fetchrow("select id, hashes from register_reading where source = $1 for update nowait", source)
    if known is not None and known["hashes"] == list(hashes):
        return StartedStaging(known["id"], await _intact_files(tx, known["id"], joined=joined))
    if known is not None:
        await delete_staging(tx, known["id"])
    staging_id = tx.new_id()
    await tx.execute(
        "insert into register_reading (id, source, hashes, started_at) values ($1, $2, $3, $4)",
        staging_id,
        source,
        list(hashes),
        tx.now,
    )
    await tx.execute("select open_staging($1)", staging_id)
    return StartedStaging(staging_id, [])


async def _intact_files(tx: Tx, staging_id: UUID, *, joined: bool) -> list[FileReadResult]:
    """The files whose rows are all still in staging, which a server crash empties."""
    rows = await tx.fetch(
        f"select file_position, count(*) as n from {staging_table_name(staging_id)} group by file_position"
    )
    there = {row["file_position"]: row["n"] for row in rows}
    read = await list_file_read_results(tx, staging_id)
    if joined:  # read at once as the first file: rejected rows have the position of their file
        there = {one.position: sum(there.values()) for one in read}
    stored = [one for one in read if there.get(one.position, 0) == one.staged_rows]
    lost = [one.position for one in read if one not in stored]
    if lost:
        await tx.execute(
            f"delete from {staging_table_name(staging_id)} where $2::boolean or file_position = any($1::smallint[])",
            lost,
            joined,
        )
        await tx.execute(
            "delete from register_reading_file where reading_id = $1 and position = any($2::smallint[])",
            staging_id,
            lost,
        )
    return stored


async def list_file_read_results(tx: Tx, staging_id: UUID) -> list[FileReadResult]:
    """The files that were read, in their order."""
    rows = await tx.fetch("select * from register_reading_file where reading_id = $1 order by position", staging_id)
    return [
        FileReadResult(
            row["position"],
            row["rows"],
            row["staged"],
            row["unnumbered"],
            row["filled_counts"],
            row["refused"],
            row["unreadable_values"],
        )
        for row in rows
    ]


async def try_lock_staging(tx: Tx, staging_id: UUID) -> bool:
    """Lock a reading; False if another process has locked or finished it."""
    try:
        held = await tx.fetchval("select true from register_reading where id = $1 for update nowait", staging_id)
    except asyncpg.LockNotAvailableError:
        return False
    return bool(held)


async def copy_staging_rows(
    tx: Tx, staging_id: UUID, rows: AsyncIterable[tuple[Any, ...]] | Iterable[tuple[Any, ...]]
) -> None:
    """COPY records in the order of ``records.STAGING_COLUMNS``."""
    await tx.copy_records(staging_table_name(staging_id), STAGING_COLUMNS, rows)


async def insert_file_read_result(tx: Tx, staging_id: UUID, read_result: FileReadResult) -> None:
    """Record that a file was read; its rows are committed with it."""
    await tx.execute(
        """
        insert into register_reading_file (reading_id, position, rows, staged, unnumbered, filled_counts, refused,
            unreadable_values)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        staging_id,
        read_result.position,
        read_result.rows,
        read_result.staged_rows,
        read_result.rows_without_number,
        read_result.filled_counts,
        read_result.refusal_reason,
        read_result.unreadable_values,
    )


async def tune_session_for_import(tx: Tx, staging_id: UUID, *, is_small_import: bool) -> None:
    """Set memory and planner settings for a merge, and analyse the staging table."""
    await tx.execute("set local work_mem = '64MB'")
    if not is_small_import:
        # Tables may have grown since they were analysed, and nested loops would be too slow.
        await tx.execute("set local enable_nestloop = off")
    # Searches run at the same time: parallel workers would use every processor.
    await tx.execute("set local max_parallel_workers_per_gather = 0")
    await tx.execute("select analyze_staging($1)", staging_id)


async def reject_repeated_numbers_returning_counts(tx: Tx, staging_id: UUID) -> dict[tuple[int, str], int]:
    """Keep one row for each repeated number; returns the number of rejected rows by (file, part).

    Rows of active organisations come first, then the order in the file.
    """
    table = staging_table_name(staging_id)
    if not await tx.fetchval(
        f"select exists (select from {table} where number_key is not null group by number_key having count(*) > 1)"
    ):
        return {}
    rows = await tx.fetch(
        f"""
        with numbered as (
            select ctid as place, part, row_number() over (
                partition by number_key order by active is false, file_position, line
            ) as nth
            from {table} where number_key is not null
        ), aside as (
            update {table} s set number_key = null, part = '{SUPPLEMENTARY}',
                reason = 'the number occurs earlier in the files',
                record = concat_ws(',', coalesce(s.registry_number, s.number_key), s.name)
            from numbered n where s.ctid = n.place and n.nth > 1
            returning s.file_position, n.part
        )
        select file_position, part, count(*) as n from aside group by file_position, part
        """
    )
    return {(row["file_position"], row["part"]): row["n"] for row in rows}


async def count_rejected_rows_by_file(tx: Tx, staging_id: UUID) -> dict[int, int]:
    """The number of rejected rows by the position of their file."""
    rows = await tx.fetch(
        f"""
        select file_position, count(*) as n from {staging_table_name(staging_id)}
        where {_REJECTED} group by file_position
        """
    )
    return {row["file_position"]: row["n"] for row in rows}


async def list_file_remarks(tx: Tx, staging_id: UUID) -> tuple[str, ...]:
    """Remarks about the files."""
    rows = await tx.fetch(
        f"select reason from {staging_table_name(staging_id)} where part = $1 and reason is not null", NOTE
    )
    return tuple(row["reason"] for row in rows)


async def list_rejected_rows(tx: Tx, staging_id: UUID, limit: int) -> list[RejectedRow]:
    """The first bad rows in the order of the files."""
    rows = await tx.fetch(
        f"""
        select file_position, line, reason, record from {staging_table_name(staging_id)} where {_REJECTED}
        order by file_position, line limit $1
        """,
        limit,
    )
    return [RejectedRow(row["line"], row["reason"], row["record"], row["file_position"]) for row in rows]


async def list_staged_register_links(tx: Tx, staging_id: UUID) -> list[RegisterLink]:
    """The links between numbers, in the order of the files."""
    rows = await tx.fetch(
        f"""
        select record from {staging_table_name(staging_id)} where number_key is null and reason is null
        order by file_position, line
        """
    )
    return [parse_staged_link(row["record"]) for row in rows]


async def is_any_number_staged(tx: Tx, staging_id: UUID, number_keys: Sequence[str]) -> bool:
    """Whether one of the numbers was read."""
    return bool(
        await tx.fetchval(
            f"select exists (select from {staging_table_name(staging_id)} where number_key = any($1::text[]))",
            list(number_keys),
        )
    )


async def list_parts_with_known_numbers(
    tx: Tx, staging_id: UUID, source: str, register_parts: Sequence[str]
) -> set[str]:
    """The parts among these in which a known number was read."""
    if not register_parts:
        return set()
    rows = await tx.fetch(
        f"""
        select distinct e.part from register_entry e
        join {staging_table_name(staging_id)} s on s.number_key = e.number_key
        where e.source = $1 and e.valid_to is null and e.part = any($2::text[])
        """,
        source,
        list(register_parts),
    )
    return {row["part"] for row in rows}


async def retain_entries_with_rejected_rows(
    tx: Tx, staging_id: UUID, source: str, *, lists_organisations: bool
) -> None:
    """Retain the stored entries of numbers with a rejected row.

    Their readable rows are ignored too, since the rejected one may contradict them. For sources that list no
    organisations this includes numbers without stored entries.
    """
    table = staging_table_name(staging_id)
    await tx.execute(
        f"""
        create temporary table register_held on commit drop as
        select distinct r.registry_number as number_key from {table} r
        where r.registry_number is not null and reason is not null and part is null
        """
    )
    if not lists_organisations:
        await tx.execute(f"delete from {table} s using register_held h where s.number_key = h.number_key")
    await tx.execute(
        """
        delete from register_held h where not exists (
            select from register_entry e where e.source = $1 and e.number_key = h.number_key and e.valid_to is null
        )
        """,
        source,
    )
    await tx.execute(f"delete from {table} s using register_held h where s.number_key = h.number_key")


async def retain_missing_entries_if_rows_lack_numbers(
    tx: Tx, staging_id: UUID, source: str, complete_parts: Sequence[str], *, retain_all_if_a_row_matches_no_name: bool
) -> None:
    """Retain entries that are missing from the files, but may belong to rows without a readable number.

    Names tell which entries such rows belong to. ``retain_all_if_a_row_matches_no_name``: retain all missing entries if
    a row with an unreadable number has none of their names. Rows published without a number raise no such doubt.
    """
    table = staging_table_name(staging_id)
    if not await tx.fetchval(f"select exists (select from {table} where {_NUMBERLESS})"):
        return
    await tx.execute(
        f"""
        create temporary table register_missing on commit drop as
        select e.number_key, coalesce(e.record ->> 'name', e.record #>> '{{rows,0,name}}') as name
        from register_entry e
        where e.source = $1 and e.valid_to is null and e.part = any($2::text[])
            and not exists (select from {table} s where s.number_key = e.number_key)
            and not exists (select from register_held h where h.number_key = e.number_key)
        """,
        source,
        list(complete_parts),
    )
    await tx.execute(
        f"""
        insert into register_held
        select m.number_key from register_missing m where m.name in (select s.name from {table} s where {_NUMBERLESS})
            or $1 and exists (
                select from {table} s where {_NUMBERLESS} and s.part is null
                    and not exists (select from register_missing named where named.name = s.name)
            )
        """,
        retain_all_if_a_row_matches_no_name,
    )


async def count_retained_numbers(tx: Tx) -> int:
    """Count the stored numbers that are retained unchanged."""
    return int(await tx.fetchval("select count(*) from register_held"))


async def count_total_and_missing_numbers(
    tx: Tx, staging_id: UUID, source: str, complete_parts: Sequence[str]
) -> tuple[int, int]:
    """The current numbers in parts of a source, and how many of them were not read."""
    if not complete_parts:
        return 0, 0
    row = await tx.fetchrow(
        f"""
        select count(*) as numbers, count(*) filter (where s.number_key is null) as removed
        from register_entry e
        left join (select distinct number_key from {staging_table_name(staging_id)} where number_key is not null) s
            on s.number_key = e.number_key
        where e.source = $1 and e.valid_to is null and e.part = any($2::text[])
            and not exists (select from register_held h where h.number_key = e.number_key)
        """,
        source,
        list(complete_parts),
    )
    assert row is not None
    return row["numbers"], row["removed"]


async def delete_staging(tx: Tx, staging_id: UUID) -> None:
    """Delete the staging table."""
    await tx.execute("delete from register_reading where id = $1", staging_id)
    await tx.execute("select drop_staging($1)", staging_id)
