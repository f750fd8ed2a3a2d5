"""Detect that a database is a copy or an old restore of a deployment that is still running elsewhere.

One row states which deployment the database belongs to, and on which server it last ran. A dump is recognised because
the row's transaction ID differs from the recorded one; another server or database by its number. Copies of files and
restores to a point in time keep all that: so a generation number is raised here and then in the document storage, and a
database behind that number is a copy (decision 0073).

The storage gets a generation only after the database has had it for a while, so that a standby that lost the last
moments knows it, too.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

from asyncpg import Record

from almoner.platform.database.identity import DatabaseCopyNotice, deployment_blob_key_suffix
from almoner.platform.database.postgres import EMBEDDED
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.files.storage import DeploymentRecordStore, StorageUnavailable

_RECENT: Final = 64
RAISE_INTERVAL: Final = timedelta(seconds=5)
PROMOTION_WAIT: Final = timedelta(seconds=12)
"""How long a promoted server stays inactive while no other raises the generation; over twice ``RAISE_INTERVAL``."""

PATIENCE_SECONDS: Final = 2.0
"""The timeout for the storage."""

_FAR: Final = 1 << 40
_MOST_PLACES: Final = 64


@dataclass(frozen=True, slots=True)
class ServerState:
    """The PostgreSQL server as it is now. ``recovered_to``: it was restored to a point in time."""

    system_identifier: int
    database_oid: int
    started_at: datetime
    timeline: int
    place: str
    recovered_to: bool


@dataclass(frozen=True, slots=True)
class DeploymentGeneration:
    """A generation of a deployment, as stored beside its documents: a number, a random value and its time."""

    number: int
    token: UUID
    at: datetime

    def to_bytes(self) -> bytes:
        """Encode it as stored."""
        return f"{self.number} {self.token} {self.at.isoformat()}\n".encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "DeploymentGeneration":
        """Parse the stored form; an unreadable one equals no known generation."""
        try:
            number, value, at = content.decode().split()
            return cls(int(number), UUID(value), datetime.fromisoformat(at))
        except ValueError:
            return cls(_FAR << 1, uuid4(), datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class DeploymentClaim:
    """The row that records which deployment, on which server, owns this database."""

    id: UUID
    storage_marks: Sequence[str]
    generation: int
    recent_tokens: Sequence[UUID]
    generation_at: datetime
    written_by: int
    system_identifier: int
    database_oid: int
    server_started_at: datetime
    timeline: int
    server_addresses: Sequence[str]
    claimed_at: datetime
    copy_detected_at: datetime | None
    copy_reason: str | None
    intact: bool

    def is_on_server(self, server: ServerState) -> bool:
        """Whether the database was claimed on this server and is not marked as a copy."""
        return self.intact and self.copy_reason is None and self.server_started_at == server.started_at

    def proves_database_is_original(self, server: ServerState, real_now: datetime) -> bool:
        """Whether the claim is active on this server for long enough that any other database is the copy."""
        acts = real_now - self.generation_at < 3 * RAISE_INTERVAL and real_now - self.claimed_at >= PROMOTION_WAIT
        return acts and self.is_on_server(server)

    def recent_generation(self, generations_back: int) -> DeploymentGeneration:
        """The newest generation, or an earlier one."""
        return DeploymentGeneration(
            self.generation - generations_back, self.recent_tokens[-1 - generations_back], self.generation_at
        )

    def includes_generation(self, stored_generation: DeploymentGeneration) -> bool:
        """Whether the stored generation is this deployment's own, current or former."""
        back = self.generation - stored_generation.number
        if back < 0:
            return False
        return back >= len(self.recent_tokens) or self.recent_tokens[-1 - back] == stored_generation.token


LIVE_VERDICTS: Final = frozenset({"unclaimed", "same", "restarted", "promoted"})
"""Verdicts for a live database; any other verdict is the reason why it is considered a copy."""
_ELSEWHERE: Final = "its files were copied: its server was reached at another address or lay in another folder"
"""Checked each time, since another process may use another address for the same server."""


def decide_database_copy_verdict(
    claim: DeploymentClaim | None,
    server: ServerState,
    stored_generation: DeploymentGeneration | None,
    other_deployment_ids: Sequence[str],
) -> str:
    """Decide from the claim, the server and the storage whether the database is live, new or a copy."""
    if claim is None:
        return "its storage of documents belongs to another deployment" if other_deployment_ids else "unclaimed"
    if claim.copy_reason is not None and claim.copy_reason != _ELSEWHERE:
        return claim.copy_reason
    if not claim.intact:
        return "it was restored from a dump"
    if claim.system_identifier != server.system_identifier:
        return "it is on another server than the one that it was on"
    if claim.database_oid != server.database_oid:
        return "it was copied from another database of its server"
    if stored_generation is not None and not claim.includes_generation(stored_generation):
        return "its storage of documents knows a later state than it has"
    if claim.server_started_at == server.started_at:
        return "same"
    if server.timeline != claim.timeline:
        return "it was taken back to a point in time" if server.recovered_to else "promoted"
    return "restarted" if server.place in claim.server_addresses else _ELSEWHERE


@dataclass(frozen=True, slots=True)
class DatabaseCopyCheckResult:
    """The result of inspecting a database. ``storage_error``: why the storage could not be read."""

    claim: DeploymentClaim | None
    server: ServerState
    stored_generation: DeploymentGeneration | None
    verdict: str
    storage_error: Exception | None


async def detect_database_copy(
    db: Database, deployment_records: DeploymentRecordStore, address: str
) -> DatabaseCopyCheckResult:
    """Inspect whether the database is a copy, without changing anything."""
    async with db.read() as tx:
        claim = await find_deployment_claim(tx)
    outside, others, away = await _read_marks(deployment_records, claim)
    async with db.read() as tx:  # after the storage: whatever is stored there was in the database before
        claim, server = await find_deployment_claim(tx), await read_server_state(tx, address)
        real_now = tx.real_now
    verdict = decide_database_copy_verdict(claim, server, outside, others)
    if claim is not None and claim.proves_database_is_original(server, real_now):
        verdict = "same"
    return DatabaseCopyCheckResult(claim, server, outside, verdict, away)


async def _read_marks(
    marks: DeploymentRecordStore, claim: DeploymentClaim | None
) -> tuple[DeploymentGeneration | None, list[str], Exception | None]:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            if claim is None:
                return None, await marks.list_deployment_records(), None
            content = await marks.read_deployment_record(str(claim.id))
    except (StorageUnavailable, TimeoutError) as error:
        return None, [], error
    return None if content is None else DeploymentGeneration.from_bytes(content), [], None


async def detect_database_copy_for_command(
    db: Database, deployment_records: DeploymentRecordStore, dsn: str
) -> DatabaseCopyCheckResult:
    """Inspect the database for a CLI command, and set the process's deployment identity."""
    found = await detect_database_copy(db, deployment_records, server_address(dsn))
    if found.verdict not in LIVE_VERDICTS:
        since = found.claim.copy_detected_at if found.claim is not None else None
        db.deployment.identity.copy = DatabaseCopyNotice(found.verdict, since or db.deployment.clock.real_now())
    elif found.claim is not None:
        db.deployment.identity.act_as_deployment(found.claim.id, found.claim.storage_marks)
    return found


async def release_database_copy(
    tx: Tx, copy_check_result: DatabaseCopyCheckResult, *, takes_over_files: bool
) -> DeploymentClaim:
    """Make a copy an independent deployment. ``takes_over_files``: it also owns the original's files."""
    stored = (
        list(copy_check_result.claim.storage_marks) if copy_check_result.claim is not None and takes_over_files else []
    )
    await tx.execute("delete from deployment")
    claim = await insert_deployment_claim(tx, copy_check_result.server, stored)
    assert claim is not None
    return claim


async def supersede_former_deployment(
    deployment_records: DeploymentRecordStore,
    former_claim: DeploymentClaim,
    stored_generation: DeploymentGeneration | None,
) -> None:
    """Mark the original deployment as taken over, so that it stops wherever it is started.

    Raises StorageUnavailable.
    """
    number = max(former_claim.generation, stored_generation.number if stored_generation else 0) + _FAR
    await deployment_records.write_deployment_record(
        str(former_claim.id), DeploymentGeneration(number, uuid4(), former_claim.generation_at).to_bytes()
    )


def server_address(dsn: str) -> str:
    """The server's address in a DSN, without role, password and database."""
    parts = urlsplit(dsn)
    given = parse_qs(parts.query)
    return ",".join([parts.netloc.rpartition("@")[2], *given.get("host", []), *given.get("port", [])])


_COLUMNS: Final = (
    "id, storage_marks, generation, recent_tokens, generation_at, written_by, system_identifier, database_oid, "
    "server_started_at, "
    "timeline, server_addresses, claimed_at, copy_detected_at, copy_reason"
)
_CLAIM: Final = f"select {_COLUMNS}, xmin::text::bigint = written_by % 4294967296 as intact from deployment"


async def find_deployment_claim(tx: Tx) -> DeploymentClaim | None:
    """The database's deployment claim; None if nobody has claimed it."""
    row = await tx.fetchrow(_CLAIM)
    return None if row is None else _claim_from_row(row)


def _claim_from_row(row: Record) -> DeploymentClaim:
    return DeploymentClaim(**row)


async def read_server_state(tx: Tx, address: str) -> ServerState:
    """The state of the server behind a transaction."""
    row = await tx.fetchrow(
        """
        select (select system_identifier from pg_control_system()) as system_identifier,
               (select oid::bigint from pg_database where datname = current_database()) as database_oid,
               pg_postmaster_start_time() as started_at,
               ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline,
               current_setting('cluster_name') as name,
               concat(current_setting('recovery_target'), current_setting('recovery_target_lsn'),
                      current_setting('recovery_target_name'), current_setting('recovery_target_time'),
                      current_setting('recovery_target_xid')) <> '' as recovered_to
        """
    )
    assert row is not None
    given = dict(row)
    name = given.pop("name")
    return ServerState(place=name if name.startswith(EMBEDDED) else address, **given)


async def insert_deployment_claim(
    tx: Tx, server: ServerState, blob_key_suffixes: Sequence[str] = ()
) -> DeploymentClaim | None:
    """Claim an unclaimed database; None if another process was faster."""
    deployment = uuid4()
    row = await tx.fetchrow(
        f"""
        insert into deployment (id, storage_marks, generation, recent_tokens, generation_at, written_by,
                                     system_identifier,
                                     database_oid, server_started_at, timeline, server_addresses, claimed_at)
        values ($1, $2, 1, array[$3::uuid], $4, pg_current_xact_id()::text::bigint, $5, $6, $7, $8, array[$9::text], $4)
        on conflict do nothing
        returning {_COLUMNS}, true as intact
        """,
        deployment,
        [*blob_key_suffixes, deployment_blob_key_suffix(deployment)],
        uuid4(),
        tx.real_now,
        server.system_identifier,
        server.database_oid,
        server.started_at,
        server.timeline,
        server.place,
    )
    return None if row is None else _claim_from_row(row)


async def increment_generation(tx: Tx, claim: DeploymentClaim, server: ServerState) -> DeploymentClaim | None:
    """Raise the generation; None if another process did since it was read."""
    stored = (
        [place for place in claim.server_addresses if place != server.place]
        if claim.timeline == server.timeline
        else []
    )
    row = await tx.fetchrow(
        f"""
        update deployment set generation = generation + 1, recent_tokens = ($2::uuid[] || $3::uuid), generation_at = $4,
            written_by = pg_current_xact_id()::text::bigint, server_started_at = $5, timeline = $6,
                server_addresses = $7,
            claimed_at = case when server_started_at = $5 then claimed_at else $4 end, copy_reason = null,
                copy_detected_at = null
        where written_by = $1
        returning {_COLUMNS}, true as intact
        """,
        claim.written_by,
        list(claim.recent_tokens[1 - _RECENT :]),
        uuid4(),
        tx.real_now,
        server.started_at,
        server.timeline,
        [*stored[1 - _MOST_PLACES :], server.place],
    )
    return None if row is None else _claim_from_row(row)


async def record_detected_database_copy(tx: Tx, claim: DeploymentClaim, reason: str) -> None:
    """Mark the database as a copy until an operator releases it."""
    await tx.execute(
        """
        update deployment set copy_reason = $2, copy_detected_at = coalesce(copy_detected_at, $3),
            written_by = pg_current_xact_id()::text::bigint
        where written_by = $1
        """,
        claim.written_by,
        reason,
        tx.real_now,
    )
