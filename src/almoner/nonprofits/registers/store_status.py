"""SQL for the status of sources and loads, and operators' decisions about quarantined loads."""

from typing import Final
from uuid import UUID

from almoner.nonprofits.registers.domain import RegisterImportDecision, SourceFreshness
from almoner.platform.database.transactions import Tx

_LAST: Final = UUID(int=2**128 - 1)


async def list_source_freshness(tx: Tx) -> list[SourceFreshness]:
    """The age of each source's data, by registry and name."""
    rows = await tx.fetch(
        """
        select s.code as source, g.code as registry_code, s.unverified, s.data_as_of, s.max_age, l.loaded_at, (
                select count(*) from register_load b
                where b.source = s.code and b.status = 'quarantined' and (l.id is null or b.id > l.id)
                  and not exists (select from register_load_decision where load_id = b.id)
            ) as waiting,
            r.refresh_interval as every, r.due_at, r.attempted_at, r.status, r.failures, r.reason, (
                select coalesce(sum(f.rows), 0) from register_reading n
                left join register_reading_file f on f.reading_id = n.id
                where n.source = s.code having count(n.id) > 0
            ) as reading
        from register_source s
        join registry g on g.id = s.registry_id
        left join register_refresh r on r.source = s.code
        left join lateral (
            select id, loaded_at from register_load where source = s.code and status = 'loaded' order by id desc limit 1
        ) l on true
        order by g.code, s.code
        """
    )
    return [SourceFreshness(**row) for row in rows]


async def list_import_ids(
    tx: Tx, source: str | None, status: str | None, before_id: UUID | None, limit: int
) -> list[UUID]:
    """List load IDs, newest first; ``before_id``: the last ID seen."""
    rows = await tx.fetch(
        """
        select id from register_load
        where ($1::text is null or source = $1) and ($2::text is null or status = $2) and id < $3
        order by id desc limit $4
        """,
        source,
        status,
        before_id or _LAST,
        limit,
    )
    return [row["id"] for row in rows]


async def count_imports(tx: Tx, source: str | None, status: str | None) -> int:
    """Count loads of a source with a status."""
    found: int = await tx.fetchval(
        """
        select count(*) from register_load
        where ($1::text is null or source = $1) and ($2::text is null or status = $2)
        """,
        source,
        status,
    )
    return found


async def count_undecided_imports(tx: Tx) -> int:
    """Count quarantined loads that wait for a decision and are the newest of their source."""
    found: int = await tx.fetchval(
        """
        select count(*) from register_load l
        where l.status = 'quarantined' and not exists (select from register_load_decision where load_id = l.id)
          and not exists (
            select from register_load newer
            where newer.source = l.source and newer.id > l.id and newer.status in ('loaded', 'quarantined')
          )
        """
    )
    return found


async def find_decision(tx: Tx, import_id: UUID) -> RegisterImportDecision | None:
    """The decision about a load."""
    row = await tx.fetchrow(
        "select decision, decided_by, decided_at, note from register_load_decision where load_id = $1", import_id
    )
    return None if row is None else RegisterImportDecision(**row)


async def insert_decision(tx: Tx, import_id: UUID, decision: RegisterImportDecision) -> bool:
    """Store a decision about a load; False if there is one."""
    made = await tx.fetchval(
        """
        insert into register_load_decision (load_id, decision, decided_by, decided_at, note)
        values ($1, $2, $3, $4, $5) on conflict (load_id) do nothing returning true
        """,
        import_id,
        decision.decision,
        decision.decided_by,
        decision.decided_at,
        decision.note,
    )
    return bool(made)


async def list_fetched_urls_and_hashes(tx: Tx, import_id: UUID) -> list[tuple[str, bytes]]:
    """(address, hash) of the files that a load was fetched from."""
    rows = await tx.fetch("select url, sha256 from register_fetch where load_id = $1 order by position", import_id)
    return [(row["url"], row["sha256"]) for row in rows]
