"""The audit log: who did what, when, from where (V8).

``record_entry`` writes an entry in the transaction of the change, so that neither exists without the other. Writers
never wait for each other: an entry is appended to the chain of its scope right after the commit
(``platform.audit.chain``). Entries never change, except that the network address, which is personal data, is erased
after a year; the MAC and the chain cover a keyed digest of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.platform.crypto import Vault
from almoner.platform.database.named import NamedParameterStatement
from almoner.platform.database.transactions import Tx

Kind = Literal["key", "member", "operator", "machine", "system"]
Details = Mapping[str, str | int | bool | Sequence[str] | None]

DEPLOYMENT: Final = UUID(int=0)
"""The scope of entries that concern no single partner."""

ADDRESS_RETENTION: Final = timedelta(days=365)

_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something. ``id``: an API key, member, operator, machine account or periodic job."""

    kind: Kind
    id: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One audit entry. ``at``: business time; ``details``: without personal data and secrets."""

    id: UUID
    scope: UUID
    at: datetime
    actor: Actor
    action: str
    subject: str
    ip_address: str | None
    hashed_ip_address: bytes | None
    request_id: str | None
    details: Details | None

    def authenticated_bytes(self) -> bytes:
        """The bytes that are authenticated and chained."""
        return encode_authenticated_fields(
            self.id,
            self.scope,
            self.at,
            self.actor.kind,
            self.actor.id,
            self.action,
            self.subject,
            self.hashed_ip_address,
            self.request_id,
            self.details,
        )


def encode_authenticated_fields(*written: object) -> bytes:
    """An entry's fields as a JSON array, except its network address and its MAC."""
    return _encode(written)


def hash_ip_address(vault: Vault, entry_id: UUID, ip_address: str) -> bytes:
    """A keyed digest of a network address, different in each entry."""
    return vault.compute_keyed_hash("audit-address", entry_id.bytes + ip_address.encode())


def compute_entry_mac(vault: Vault, entry_bytes: bytes) -> bytes:
    """A MAC that proves the service wrote the entry."""
    return vault.compute_keyed_hash("audit-entry", entry_bytes)


@dataclass(frozen=True, slots=True)
class AuditEntryContext:
    """What all audit entries of one request share: scope, actor, action and network address."""

    scope: UUID
    actor: Actor
    action: str
    ip_address: str | None = None
    request_id: str | None = None

    def build_entry_row(self, tx: Tx, subject: str, details: Details | None = None) -> tuple[object, ...]:
        """The column values of a new entry."""
        entry_id, address, vault = tx.new_id(), self.ip_address or None, tx.vault
        digest = hash_ip_address(vault, entry_id, address) if address else None
        who_and_what = (self.actor.kind, self.actor.id, self.action, subject)
        body = encode_authenticated_fields(
            entry_id, self.scope, tx.now, *who_and_what, digest, self.request_id, details
        )
        about = (address, digest, self.request_id, details, compute_entry_mac(vault, body))
        return (entry_id, self.scope, tx.now, *who_and_what, *about)


COLUMNS: Final = "id, scope, at, actor_kind, actor_id, action, subject, address, address_hash, request_id, details, mac"


def insert_entries_sql(
    source_sql: str, *, scope_parameter: str = ":entry_scope", time_parameter: str = ":entry_at"
) -> str:
    """SQL for a ``NamedParameterStatement`` that inserts an audit entry for each row of ``source_sql``.

    ``scope_parameter``, ``time_parameter``: the names that the statement has for the same values.
    """
    named = {"scope": scope_parameter, "at": time_parameter}
    values = ", ".join(named.get(column, f":entry_{column}") for column in COLUMNS.split(", "))
    return f"insert into audit_entry ({COLUMNS}) select {values} {source_sql}"


_NAMES: Final = tuple(f"entry_{column}" for column in COLUMNS.split(", "))


def entry_sql_parameters(entry_values: tuple[object, ...]) -> dict[str, object]:
    """The values of an entry by the parameter names of ``insert_entries_sql``."""
    return dict(zip(_NAMES, entry_values, strict=True))


INSERT: Final = NamedParameterStatement(insert_entries_sql("")).sql
"""Inserts one entry; its parameters are ``AuditEntryContext.entry_values``."""


async def record_entry(
    tx: Tx,
    scope: UUID,
    actor: Actor,
    action: str,
    subject: str,
    *,
    ip_address: str | None = None,
    request_id: str | None = None,
    details: Details | None = None,
) -> None:
    """Write an audit entry in the caller's transaction.

    ``scope``: the partner concerned, or ``DEPLOYMENT``. ``action``: a dotted name (``member.invited``) or an operation
    (``createCategory``). ``subject``: the text id of the affected record. ``ip_address``: the caller's. It is never put
    into ``details``, which contain no personal data and no secrets.
    """
    await insert_entry(
        tx, AuditEntryContext(scope, actor, action, ip_address, request_id).build_entry_row(tx, subject, details)
    )


async def insert_entry(tx: Tx, entry_values: tuple[object, ...]) -> None:
    """Insert an entry given as ``AuditEntryContext.entry_values``."""
    await tx.execute(INSERT, *entry_values)


def entry_from_row(row: Record) -> AuditEntry:
    """Build an entry from a row with ``COLUMNS``."""
    return AuditEntry(
        row["id"],
        row["scope"],
        row["at"],
        Actor(row["actor_kind"], row["actor_id"]),
        row["action"],
        row["subject"],
        row["address"],
        row["address_hash"],
        row["request_id"],
        row["details"],
    )


async def find_entry(tx: Tx, scope: UUID, entry_id: UUID) -> AuditEntry | None:
    """One entry of a scope."""
    row = await tx.fetchrow(f"select {COLUMNS} from audit_entry where scope = $1 and id = $2", scope, entry_id)
    return None if row is None else entry_from_row(row)


async def list_entries(
    tx: Tx,
    scope: UUID,
    before_id: UUID | None = None,
    limit: int = 50,
    *,
    actor: str | None = None,
    action: str | None = None,
    lowest_id: UUID | None = None,
) -> list[AuditEntry]:
    """The newest entries of a scope, newest first; ``before_id``: the last entry ID seen.

    ``actor``: the actor's ID; ``action``: its name. None: not filtered. ``lowest_id``: the lowest ID.
    """
    given = [value for value in (actor, action) if value is not None]
    sql = list_entries_sql(filter_by_actor=actor is not None, filter_by_action=action is not None)
    rows = await tx.fetch(sql, scope, before_id or _LAST, limit, lowest_id or _FIRST, *given)
    return [entry_from_row(row) for row in rows]


def list_entries_sql(*, filter_by_actor: bool, filter_by_action: bool) -> str:
    """The SQL of ``list_entries`` for one combination of filters; each has its own query plan."""
    conditions = [*(["actor_id"] if filter_by_actor else []), *(["action"] if filter_by_action else [])]
    wanted = "".join(f" and {column} = ${number}" for number, column in enumerate(conditions, 5))
    bounds = "id < $2 and id >= $4"
    return f"select {COLUMNS} from audit_entry where scope = $1 and {bounds}{wanted} order by id desc limit $3"


async def list_entries_about_record(
    tx: Tx, scope: UUID, action: str, record_text_id: str, record_id: UUID, limit: int
) -> list[AuditEntry]:
    """The last entries of one action on a record, oldest first. ``record_text_id``: the record's text ID.

    ``record_id``: entries that are older than the record are not searched.
    """
    rows = await tx.fetch(
        f"select {COLUMNS} from audit_entry where scope = $1 and action = $2 and subject = $3 and id >= $4 "
        "order by id desc limit $5",
        scope,
        action,
        record_text_id,
        record_id,
        limit,
    )
    return [entry_from_row(row) for row in reversed(rows)]


_FIRST: Final = UUID(int=0)
_LAST: Final = UUID(int=2**128 - 1)


def _distinct_sql(column: Literal["action", "actor_id"]) -> str:
    """The SQL of a scope's distinct values of an indexed column: one index probe each, however many entries."""
    one = f"select {column} as value, actor_kind from audit_entry where scope = $1"
    return f"""
    with recursive found as (
        ({one} order by {column} limit 1)
        union all
        select following.* from found
        cross join lateral ({one} and {column} > found.value order by {column} limit 1) following
    )
    select value, actor_kind from found limit $2
    """


DISTINCT_ACTIONS: Final = _distinct_sql("action")
DISTINCT_ACTORS: Final = _distinct_sql("actor_id")


async def list_actions(tx: Tx, scope: UUID, limit: int) -> list[str]:
    """The actions that a scope has entries of, by name."""
    return [row["value"] for row in await tx.fetch(DISTINCT_ACTIONS, scope, limit)]


async def list_actors(tx: Tx, scope: UUID, limit: int) -> list[Actor]:
    """The actors in a scope's entries, by ID."""
    return [Actor(row["actor_kind"], row["value"]) for row in await tx.fetch(DISTINCT_ACTORS, scope, limit)]


async def count_entries(tx: Tx, scope: UUID, actions: Sequence[str], since: datetime, max_count: int) -> int:
    """Count a scope's entries with these actions since a given time, up to ``max_count``."""
    found: int = await tx.fetchval(
        """
        select count(*) from unnest($2::text[]) as wanted (action) cross join lateral (
            select at from audit_entry e where e.scope = $1 and e.action = wanted.action order by id desc limit $4
        ) latest where latest.at > $3
        """,
        scope,
        actions,
        since,
        max_count,
    )
    return found


ABOUT_PERSON: Final = f"""
select {COLUMNS} from audit_entry
where scope = $1 and subject = $2 and subject ~ '(^|_)(member|operator)_' order by id desc limit $3
"""


async def list_entries_about_person(tx: Tx, scope: UUID, person_text_id: str, limit: int = 50) -> list[AuditEntry]:
    """Audit entries about a member or operator, newest first. ``person_text_id``: the text ID."""
    return [entry_from_row(row) for row in await tx.fetch(ABOUT_PERSON, scope, person_text_id, limit)]


async def next_ip_erasure_at(tx: Tx) -> datetime | None:
    """When the next network address is due for erasure, after a year."""
    oldest: datetime | None = await tx.fetchval(f"select min(least(at, signed_at)) from ({_OLDEST}) oldest")
    return None if oldest is None else oldest + ADDRESS_RETENTION


_OLDEST: Final = """
select c.scope, c.redacted_sequence, e.at, h.signed_at from audit_chain c cross join lateral (
    select at from audit_entry where scope = c.scope and sequence > c.redacted_sequence order by sequence limit 1
) e cross join lateral (
    select min(signed_at) as signed_at from (
        select signed_at from audit_head where scope = c.scope and sequence > c.redacted_sequence
        order by sequence limit 3
    ) next
) h
"""
"""Each chain's first entry that may have an address, and when it was signed: two index probes, no index on addresses.

An entry is at least as old as the head that covers it, whatever clock wrote it; three heads allow for a wrong clock of
the signer.
"""

_FORGET: Final = f"""
with turn as materialized (
    select scope, redacted_sequence, (
        select max(sequence) from (
            select sequence, signed_at from audit_head h where h.scope = c.scope and h.sequence > c.redacted_sequence
            order by sequence limit 3
        ) next where signed_at <= $1
    ) as covered
    from audit_chain c where scope in (select scope from ({_OLDEST}) oldest where least(at, signed_at) <= $1)
    order by scope for no key update
), old as materialized (
    select taken.scope, taken.id, taken.sequence from turn cross join lateral (
        select *, bool_and(at <= $1 or coalesce(sequence <= turn.covered, false)) over (order by sequence) as unbroken
        from (
            select scope, id, sequence, at from audit_entry
            where scope = turn.scope and sequence > turn.redacted_sequence order by sequence limit $2
        ) first
    ) taken where taken.unbroken limit $2
), gone as (
    update audit_entry e set address = null from old where e.scope = old.scope and e.id = old.id and address is not null
), noted as (
    update audit_chain c set redacted_sequence = done.sequence
    from (select scope, max(sequence) as sequence from old group by scope) done where c.scope = done.scope
)
select count(*) from old
"""


async def erase_ip_addresses(tx: Tx, limit: int = 1000) -> int:
    """Erase network addresses that are a year old; returns the number of entries."""
    dealt_with: Any = await tx.fetchval(_FORGET, tx.now - ADDRESS_RETENTION, limit)
    return int(dealt_with)
