"""Idempotency keys (spec 8, settled 8, architecture 5): successful responses are stored for 21 days with their effect.

There are three ways into the same table. ``acquire_claim`` and ``complete_claim`` enclose an ordinary write
transaction. A hot write includes ``CLAIM`` and ``COMPLETE`` in its one statement and reads the outcome with
``IdempotencyClaim.raise_unless_claimed``. Either way the unique key is the guarantee: a concurrent identical request
that passed the look-up fails on it and is run again by the endpoint layer, which then finds the stored response. Pages
that make no API call use ``apply_form_once``.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

import asyncpg
import msgspec
from asyncpg import Record

from almoner.kit.errors import IdempotencyKeyInUse, IncorrectParams, OriginalCallInProgress, SameKeyDifferentData
from almoner.platform.audit import log as audit
from almoner.platform.crypto import Vault, sha256_digest
from almoner.platform.database.named import NamedParameterStatement
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.background_tasks import TaskRegistry

LIFETIME: Final = timedelta(days=21)  # spec 8
HEADER: Final = "idempotency-key"
_CONSTRAINT: Final = "idempotency_response_key"

T = TypeVar("T")

_canonical = msgspec.json.Encoder(order="sorted")

CLAIM: Final = """
claim as materialized (select :key_hash::bytea is null or pg_try_advisory_xact_lock(:lock::bigint) as got),
stored as materialized (
    select a.route, a.fingerprint, a.response from idempotency_response a
    where a.partner_id = :partner_id and a.key_hash = :key_hash and a.expires_at > :now
),
free as materialized (select from claim where claim.got and not exists (select from stored))"""
"""CTEs of a hot write, with ``IdempotencyClaim.claim_sql_parameters``; the effect selects ``from free``."""

_ANSWER: Final = f"""
insert into idempotency_response (partner_id, key_hash, route, fingerprint, response, created_at, expires_at)
select :partner_id, :key_hash, :route::text, :fingerprint::bytea, :answer::bytea, :now::timestamptz,
    :now::timestamptz + interval '{LIFETIME.days} days'"""

COMPLETE: Final = f"kept as ({_ANSWER} from made where :key_hash is not null)"
"""CTE that stores the response; the statement's effect must be a CTE named ``made``."""

_ENTRY: Final = partial(audit.insert_entries_sql, scope_parameter=":partner_id", time_parameter=":now")

AUDIT: Final = f"audited as ({_ENTRY('from made')})"
"""CTE that writes the audit entry of the call, with ``audit.entry_sql_parameters``."""

OUTCOME: Final = """
(select got from claim) as claim_got, (select route from stored) as stored_route,
(select fingerprint from stored) as stored_fingerprint, (select response from stored) as stored_response"""
"""Columns that ``IdempotencyClaim.raise_unless_claimed`` reads."""


class StoredResponseExists(Exception):
    """The request was processed before; ``body`` is the stored response."""

    def __init__(self, body: bytes) -> None:
        super().__init__("replayed")
        self.body = body


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    """One call's claim on its idempotency key; ``key_hash`` is None without a key."""

    partner: Partner
    route: str
    fingerprint: bytes
    key_hash: bytes | None
    advisory_lock_key: int | None

    def claim_sql_parameters(self, tx: Tx, response_body: bytes) -> dict[str, object]:
        """The parameters of a statement that claims the key and stores ``response_body`` as the response."""
        return {
            "partner_id": self.partner.id,
            "key_hash": self.key_hash,
            "lock": self.advisory_lock_key,
            "route": self.route,
            "fingerprint": self.fingerprint,
            "answer": None if self.key_hash is None else _seal(tx.vault, self.key_hash, response_body),
            "now": tx.now,
        }

    def raise_unless_claimed(self, tx: Tx, claim_outcome: Record) -> None:
        """Return if the call may take effect. Raises StoredResponseExists or an idempotency problem."""
        if self.key_hash is None:
            return
        if not claim_outcome["claim_got"]:
            raise OriginalCallInProgress
        if claim_outcome["stored_route"] is not None:
            self.raise_for_stored_response(
                tx.vault,
                claim_outcome["stored_route"],
                claim_outcome["stored_fingerprint"],
                claim_outcome["stored_response"],
            )

    def raise_for_stored_response(
        self, vault: Vault, route: str, fingerprint: bytes, encrypted_response: bytes
    ) -> None:
        """Raises StoredResponseExists with the stored response, IdempotencyKeyInUse or SameKeyDifferentData."""
        if route != self.route:
            raise IdempotencyKeyInUse
        if fingerprint != self.fingerprint:
            raise SameKeyDifferentData
        assert self.key_hash is not None
        raise StoredResponseExists(
            vault.decrypt(encrypted_response, context="idempotency", associated_data=self.key_hash)
        )


def _seal(vault: Vault, key_hash: bytes, body: bytes) -> bytes:
    return vault.encrypt(body, context="idempotency", associated_data=key_hash)


def read_idempotency_key(headers: Mapping[str, str]) -> str | None:
    """The Idempotency-Key header (1 to 255 visible ASCII characters, I8), or None. Raises IncorrectParams."""
    key = headers.get(HEADER)
    if key is None:
        return None
    if not (1 <= len(key) <= 255 and key.isascii() and key.isprintable() and " " not in key):
        raise IncorrectParams("header.Idempotency-Key must be 1 to 255 visible ASCII characters")
    return key


def build_claim(
    vault: Vault,
    partner: Partner,
    idempotency_key: str | None,
    route: str,
    payload: object,
    *,
    with_publishable_key: bool = False,
) -> IdempotencyClaim:
    """Build the claim of a call. ``payload``: the decoded body, or the hashes of an upload.

    ``with_publishable_key``: made with a publishable key, which never gets the stored response of a secret key (settled
    2).
    """
    if idempotency_key is None:
        return IdempotencyClaim(partner, route, b"", None, None)
    key_hash = vault.compute_keyed_hash("idempotency-key", partner.id.bytes + idempotency_key.encode())
    lock = int.from_bytes(key_hash[:8], signed=True)
    whose = b"publishable\n" if with_publishable_key else b""  # no route starts like this
    return IdempotencyClaim(
        partner, route, sha256_digest(whose + route.encode() + b"\n" + _canonical.encode(payload)), key_hash, lock
    )


async def acquire_claim(tx: Tx, claim: IdempotencyClaim, *, already_leased: bool = False) -> None:
    """Lock the key, then look for a stored response: the first statements of a write.

    Does not wait for the lock, unless the call already ``already_leased`` its key: then an identical call holds it only
    briefly, to find that lease and be refused. Two statements, since the look-up must see what the lock's last holder
    committed: a statement sees only what was committed before it began.
    """
    if claim.key_hash is None:
        return
    if already_leased:
        await tx.execute("select pg_advisory_xact_lock($1)", claim.advisory_lock_key)
    elif not await tx.fetchval("select pg_try_advisory_xact_lock($1)", claim.advisory_lock_key):
        raise OriginalCallInProgress
    row = await tx.fetchrow(
        """
        select route, fingerprint, response from idempotency_response
        where partner_id = $1 and key_hash = $2 and expires_at > $3
        """,
        claim.partner.id,
        claim.key_hash,
        tx.now,
    )
    if row is not None:
        claim.raise_for_stored_response(tx.vault, row["route"], row["fingerprint"], row["response"])


_COMPLETE: Final = NamedParameterStatement(f"with kept as ({_ANSWER} returning 1) {_ENTRY('from kept')}")


async def complete_claim(
    tx: Tx, claim: IdempotencyClaim, response_body: bytes, audit_entry: tuple[object, ...]
) -> None:
    """The last statement of a write: store the response and the audit entry."""
    if claim.key_hash is None:
        await audit.insert_entry(tx, audit_entry)
        return
    values = claim.claim_sql_parameters(tx, response_body) | audit.entry_sql_parameters(audit_entry)
    await tx.execute(_COMPLETE.sql, *_COMPLETE.ordered_arguments(values))


async def apply_form_once(
    tx: Tx,
    partner: Partner,
    form_secret: bytes,
    apply: Callable[[], Awaitable[T]],
    result_type: type[T],
    on_repeated: Callable[[T], Awaitable[None]] | None = None,
) -> T:
    """Apply a page's form and store the result, or return the stored result if the form was applied before.

    Waits while an identical form is being applied. An empty result is not stored. ``form_secret``: identifies the form.
    The server does not store it, and the result, which may contain a secret that is shown once, cannot be decrypted
    without it. ``on_repeated``: called with the stored result, if there is one.
    """
    key_hash = tx.vault.compute_keyed_hash("form", partner.id.bytes + form_secret)
    await tx.execute("select pg_advisory_xact_lock($1)", int.from_bytes(key_hash[:8], signed=True))
    stored = await tx.fetchval(
        "select response from idempotency_response where partner_id = $1 and key_hash = $2", partner.id, key_hash
    )
    vault = Vault(tx.vault.compute_keyed_hash("form-result", form_secret))
    if stored is not None:
        decrypted = vault.decrypt(stored, context="form", associated_data=key_hash)
        first_result = msgspec.json.decode(decrypted, type=result_type)
        if on_repeated is not None:
            await on_repeated(first_result)
        return first_result
    if result := await apply():
        await tx.execute(
            """
            insert into idempotency_response
                (partner_id, key_hash, route, fingerprint, response, created_at, expires_at)
            values ($1, $2, 'form', $2, $3, $4, $5)
            """,
            partner.id,
            key_hash,
            vault.encrypt(msgspec.json.encode(result), context="form", associated_data=key_hash),
            tx.now,
            tx.now + LIFETIME,
        )
    return result


def is_claim_conflict(error: BaseException) -> bool:
    """Whether a statement failed because an equal request stored its response first."""
    return isinstance(error, asyncpg.UniqueViolationError) and error.constraint_name == _CONSTRAINT


async def delete_expired_response(tx: Tx, partner_id: UUID, key_hash: bytes) -> None:
    """Delete a response older than 21 days, so that its key is free again (spec 8)."""
    await tx.execute(
        "delete from idempotency_response where partner_id = $1 and key_hash = $2 and expires_at <= $3",
        partner_id,
        key_hash,
        tx.now,
    )


async def next_response_purge_at(tx: Tx) -> datetime | None:
    """When the next stored response expires."""
    due: datetime | None = await tx.fetchval("select min(expires_at) from idempotency_response")
    return due


async def purge_expired_responses(tx: Tx, limit: int = 1000) -> int:
    """Delete expired responses; returns how many."""
    removed: Any = await tx.fetchval(
        """
        with gone as (
            delete from idempotency_response where (partner_id, key_hash) in (
                select partner_id, key_hash from idempotency_response where expires_at <= $1
                order by expires_at limit $2
            ) returning 1
        ) select count(*) from gone
        """,
        tx.now,
        limit,
    )
    return int(removed)


tasks: Final = TaskRegistry()
tasks.add_periodic_job("idempotency.purge", next_response_purge_at, purge_expired_responses, period=timedelta(hours=1))
