"""Append committed audit entries to the hash chain of their scope (V8).

The hash of an entry covers the previous hash, so no entry can be changed, removed, inserted or moved without breaking
the chain. Writers never wait for the chain: entries without a sequence are chained later. Any number of chainers can
run: each takes scopes whose chain no other has locked, so one at a time chains each scope.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from time import monotonic
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.audit import heads, log
from almoner.platform.audit.heads import AuditChainHead
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.queue import BY_INDEX
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.failures import DATABASE_ERRORS, UNAVAILABLE_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry

GENESIS: Final = bytes(32)
"""The hash before the first entry."""
COLUMNS: Final = f"position, {log.COLUMNS}"

_FIRST: Final = UUID(int=0)
_SCOPES: Final = 64
_ENTRIES_OF_SCOPE: Final = 500
_LOOK_SECONDS: Final = 0.5  # large batches: small ones would slow requests down
_REST_SECONDS: Final = 5.0

# The planner's statistics are out of date: after a burst it would read and sort all waiting entries for each batch.
IN_ORDER: Final = f"{BY_INDEX}; set local enable_bitmapscan = off; set local enable_sort = off"

WAITING: Final = """
with recursive waiting (scope) as (
    (select scope from audit_entry where sequence is null and scope >= $1 order by scope, position limit 1)
    union all
    select (
        select e.scope from audit_entry e where e.sequence is null and e.scope > w.scope
        order by e.scope, e.position limit 1
    ) from waiting w where w.scope is not null
)
select scope from waiting where scope is not null limit $2
"""
"""Scopes from $1 on with unchained entries: one index probe for each, however many entries they have."""

_TURNS: Final = """
select scope, last_sequence, last_hash from audit_chain where scope = any($1::uuid[])
order by scope for no key update skip locked
"""

_BEGIN: Final = """
with made as (
    insert into audit_chain (scope, last_sequence, last_hash, mac)
    select * from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bytea[]) as t (scope, sequence, hash, mac)
    where not exists (select from audit_chain c where c.scope = t.scope)
    order by scope on conflict do nothing returning 1
) select count(*) from made
"""
"""Create the chains of scopes without one, skipping those that another chainer has locked."""

TAKE: Final = f"""
select {COLUMNS} from unnest($1::uuid[]) as turn (scope_)
cross join lateral (
    select {COLUMNS} from audit_entry where scope = turn.scope_ and sequence is null order by position limit $2
) e
"""

LINK: Final = """
with linked as (
    update audit_entry e set sequence = t.sequence, hash = t.hash
    from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[]) as t (scope, position, sequence, hash)
    where e.scope = t.scope and e.position = t.position and e.sequence is null returning 1
), moved as (
    update audit_chain c set last_sequence = t.sequence, last_hash = t.hash, mac = t.mac
    from unnest($5::uuid[], $6::bigint[], $7::bytea[], $8::bytea[]) as t (scope, sequence, hash, mac)
    where c.scope = t.scope returning 1
)
select (select count(*) from linked) as linked, (select count(*) from moved) as moved
"""


def compute_chained_hash(
    previous_hash: bytes, chain_sequence: int, entry_position: int, mac: bytes, entry_bytes: bytes
) -> bytes:
    """The chain hash of an entry: SHA-256 over the previous hash, its sequence and position, its MAC and its body."""
    return sha256(previous_hash + chain_sequence.to_bytes(8) + entry_position.to_bytes(8) + mac + entry_bytes).digest()


class AuditChainBuilder:
    """Appends unchained audit entries to their chains; ``run`` repeats it until it is stopped."""

    def __init__(self, db: Database, telemetry: Telemetry) -> None:
        self._db = db
        self._telemetry = telemetry
        self._from = _FIRST
        self._resting: dict[UUID, float] = {}

    async def chain_next_entries(self) -> int:
        """Chain up to a limit of entries; returns how many (0: none wait, or another process chains them)."""
        scopes = await self._find_waiting()
        if not scopes:
            return 0
        try:
            return await self._chain(scopes)
        except Exception as error:  # noqa: BLE001 (a failing scope must not block others)
            self._log_failure(error)
        linked = 0
        for scope in scopes:
            try:
                linked += await self._chain([scope])
            except Exception as error:  # noqa: BLE001 (as above)
                self._log_failure(error, scope=str(scope))
                self._resting[scope] = monotonic() + _REST_SECONDS
        return linked

    async def _find_waiting(self) -> list[UUID]:
        """The next scopes with unchained entries, in rotation."""
        now = monotonic()
        self._resting = {scope: until for scope, until in self._resting.items() if until > now}
        async with self._db.read() as tx:
            found = [row["scope"] for row in await tx.fetch(WAITING, self._from, _SCOPES)]
            if not found and self._from != _FIRST:
                found = [row["scope"] for row in await tx.fetch(WAITING, _FIRST, _SCOPES)]
        self._from = UUID(int=found[-1].int + 1) if len(found) == _SCOPES else _FIRST
        return [scope for scope in found if scope not in self._resting]

    async def _chain(self, scopes: Sequence[UUID]) -> int:
        async with self._db.write() as tx:
            await tx.execute(IN_ORDER)
            # The ends are locked by a separate statement: the next one must see what the last holder linked.
            ends = await _lock_ends(tx, scopes)
            rows = await tx.fetch(TAKE, list(ends), _ENTRIES_OF_SCOPE)
            if rows:
                await _link_entries(tx, ends, rows)
        return len(rows)

    def _log_failure(self, error: Exception, **fields: object) -> None:
        """Log a failure; raise it again if the database is unavailable."""
        if isinstance(error, UNAVAILABLE_ERRORS):
            raise error
        self._telemetry.log(
            "audit_chain_failed", self._db.deployment.clock.real_now(), **failure_log_fields(error), **fields
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Chain entries until ``stop`` is set, within half a second after a commit."""
        while not stop.is_set():
            linked = 0
            try:
                if not self._db.disk.is_low:
                    linked = await self.chain_next_entries()
            except DATABASE_ERRORS as error:
                self._telemetry.log(
                    "audit_chain_waits", self._db.deployment.clock.real_now(), **failure_log_fields(error)
                )
            if linked < _ENTRIES_OF_SCOPE:
                await wait_until_set(stop, _LOOK_SECONDS)


async def _lock_ends(tx: Tx, scopes: Sequence[UUID]) -> dict[UUID, AuditChainHead]:
    """Lock the ends of the chains that nobody else has locked; a scope's first entry starts a chain."""
    rows = await tx.fetch(_TURNS, scopes)
    if len(rows) < len(scopes):
        ends = [AuditChainHead(scope, 0, GENESIS) for scope in scopes]
        if await tx.fetchval(_BEGIN, *_end_columns(tx.vault, ends)):
            rows = await tx.fetch(_TURNS, scopes)
    return {row["scope"]: AuditChainHead(*row) for row in rows}


async def _link_entries(tx: Tx, ends: dict[UUID, AuditChainHead], rows: Sequence[Record]) -> None:
    """Link the entries in order of writing within each scope; the first end of a chain is signed at once."""
    started = [end for end in ends.values() if end.sequence == 0]
    moved: dict[UUID, AuditChainHead] = {}
    places: list[tuple[UUID, int, int, bytes]] = []
    for row in rows:
        end = ends[row["scope"]]
        end.sequence += 1
        end.hash = compute_chained_hash(
            end.hash, end.sequence, row["position"], row["mac"], log.entry_from_row(row).authenticated_bytes()
        )
        moved[end.scope] = end
        places.append((end.scope, row["position"], end.sequence, end.hash))
    done = await tx.fetchrow(LINK, *zip(*places, strict=True), *_end_columns(tx.vault, list(moved.values())))
    assert done is not None
    if (done["linked"], done["moved"]) != (len(places), len(moved)):
        raise RuntimeError(f"{done['linked']} of {len(places)} audit entries were there to be linked")
    if first := [end for end in started if end.sequence]:
        await heads.sign_chain_heads(tx, first)


def _end_columns(
    vault: Vault, ends: Sequence[AuditChainHead]
) -> tuple[list[UUID], list[int], list[bytes], list[bytes]]:
    return (
        [end.scope for end in ends],
        [end.sequence for end in ends],
        [end.hash for end in ends],
        [end.compute_mac(vault) for end in ends],
    )


async def measure_chain_lag_seconds(tx: Tx) -> float:
    """The age of the oldest unchained entry in seconds; 0 if there is none."""
    oldest: datetime | None = await tx.fetchval(
        f"""
        select min(e.at) from ({WAITING}) w cross join lateral (
            select at from audit_entry where scope = w.scope and sequence is null order by position limit 1
        ) e
        """,
        _FIRST,
        _SCOPES,
    )
    return 0.0 if oldest is None else max(0.0, (tx.now - oldest).total_seconds())


@dataclass(frozen=True, slots=True)
class ChainStatus:
    """The last position of a chain, and its last signed head if any."""

    sequence: int
    signed_sequence: int | None
    signed_hash: str | None
    signed_at: datetime | None


async def get_chain_status(tx: Tx, scope: UUID) -> ChainStatus:
    """The status of the chain of a scope."""
    row = await tx.fetchrow(
        """
        select coalesce(c.last_sequence, 0) as sequence, h.sequence as signed_sequence, encode(h.hash, 'hex') as hash,
               h.signed_at
        from (select) as once
        left join audit_chain c on c.scope = $1
        left join lateral (
            select sequence, hash, signed_at from audit_head where scope = $1 order by sequence desc limit 1
        ) h on true
        """,
        scope,
    )
    assert row is not None
    return ChainStatus(*row)
