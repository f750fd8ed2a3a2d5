"""Sign the heads of audit chains and export them, so that they are also kept outside the database (V8).

Somebody with the database and the service's keys could rebuild a whole chain, and with the database alone could restore
an earlier end. So the head of each chain is signed (Ed25519) with its first entry, and every five minutes while it
grows, and exported at once: a line of JSON, appended to one file per scope in a folder that an administrator keeps on
another store. A chain that does not lead to an exported head has been tampered with.
"""

import asyncio
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from almoner.kit.ids import RecordIdCodec
from almoner.platform.audit import log
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, TaskRegistry

SUFFIX: Final = ".jsonl"
_DEPLOYMENT_NAME: Final = "deployment"
_BATCH: Final = 500
_EVERY: Final = timedelta(minutes=5)  # entries newer than the last exported head could be cut off unnoticed


@dataclass(slots=True)
class AuditChainHead:
    """The last entry of a scope's audit chain: its position and hash."""

    scope: UUID
    sequence: int
    hash: bytes

    def compute_mac(self, vault: Vault) -> bytes:
        """A MAC that proves the service wrote this end: database access alone cannot forge it."""
        return vault.compute_keyed_hash("audit-chain", self.scope.bytes + self.sequence.to_bytes(8) + self.hash)


class ExportedHead(msgspec.Struct, rename="camel"):
    """A signed head in the export format; ``signature`` signs ``signed_message``, in base64."""

    scope: str
    sequence: int
    hash: str
    signed_at: str
    signature: str

    def signed_message(self) -> bytes:
        """The one-line message that the signature covers."""
        return f"almoner audit head 1 {self.scope} {self.sequence} {self.hash} {self.signed_at}".encode()


_lines = msgspec.json.Decoder(ExportedHead)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """The signed position and hash of a chain's last entry. ``exported``: it was written to the export folder."""

    scope: UUID
    sequence: int
    hash: bytes
    signed_at: datetime
    signature: bytes
    exported: bool = True

    def to_exported_head(self, ids: RecordIdCodec) -> ExportedHead:
        """The head in the export format."""
        hash_, signature = self.hash.hex(), b64encode(self.signature).decode()
        return ExportedHead(
            audit_scope_name(ids, self.scope), self.sequence, hash_, self.signed_at.isoformat(), signature
        )

    def has_valid_signature(self, ids: RecordIdCodec, public_key: Ed25519PublicKey) -> bool:
        """Whether the signature is valid for this key."""
        try:
            public_key.verify(self.signature, self.to_exported_head(ids).signed_message())
        except InvalidSignature:
            return False
        return True


class AuditHeadExportFailed(Exception):
    """The export folder could not be written to. Not an OSError, which would mean that the database is unavailable."""


class UnreadableExportedHeads(Exception):
    """A file of exported heads cannot be read."""


def audit_scope_name(ids: RecordIdCodec, scope: UUID) -> str:
    """The external name of a scope: its partner's text ID, or ``deployment``."""
    return _DEPLOYMENT_NAME if scope == DEPLOYMENT else ids.encode("partner", scope)


def audit_scope_from_name(ids: RecordIdCodec, scope_name: str) -> UUID | None:
    """The scope with this external name."""
    return DEPLOYMENT if scope_name == _DEPLOYMENT_NAME else ids.decode("partner", scope_name)


def audit_head_signing_key(vault: Vault) -> Ed25519PrivateKey:
    """The deployment's signing key for heads, derived from its master key."""
    return vault.derive_signing_key("audit-head")


_UNSIGNED_ENDS: Final = """
select c.scope, c.last_sequence, c.last_hash, c.mac, signed.sequence as signed
from audit_chain c cross join lateral (
    select coalesce(max(sequence), 0) as sequence from audit_head h where h.scope = c.scope
) signed
where c.last_sequence > signed.sequence
"""
"""Chains with entries after their last signed head."""


async def next_head_signing_at(tx: Tx) -> datetime | None:
    """When the oldest entry that no signed head covers was written."""
    moment: datetime | None = await tx.fetchval(
        f"""
        select min(e.at) from ({_UNSIGNED_ENDS}) moved
        join audit_entry e on e.scope = moved.scope and e.sequence = moved.signed + 1
        """
    )
    return moment


async def sign_heads_of_grown_chains(tx: Tx, limit: int = 1000) -> int:
    """Sign the heads of chains that grew; returns how many. Forged ends are not signed."""
    rows = await tx.fetch(f"{_UNSIGNED_ENDS} order by scope limit $1", limit)
    ends = [(AuditChainHead(row["scope"], row["last_sequence"], row["last_hash"]), row["mac"]) for row in rows]
    genuine = [end for end, mac in ends if end.compute_mac(tx.vault) == mac]
    await sign_chain_heads(tx, genuine)
    return len(genuine)


async def sign_chain_heads(tx: Tx, chain_heads: Iterable[AuditChainHead]) -> None:
    """Sign the given chain ends."""
    key = audit_head_signing_key(tx.vault)
    signed = []
    for end in chain_heads:
        head = SignedHead(end.scope, end.sequence, end.hash, tx.now, b"")
        signed.append(
            (end.scope, end.sequence, end.hash, tx.now, key.sign(head.to_exported_head(tx.ids).signed_message()))
        )
    await tx.executemany(
        "insert into audit_head (scope, sequence, hash, signed_at, signature) values ($1, $2, $3, $4, $5) "
        "on conflict do nothing",
        signed,
    )


async def next_head_export_at(tx: Tx) -> datetime | None:
    """When the oldest head that is not exported was signed."""
    moment: datetime | None = await tx.fetchval("select min(signed_at) from audit_head where exported_at is null")
    return moment


async def export_signed_chain_heads(tx: Tx, folder: Path) -> int:
    """Append signed heads to the files of the export folder; returns how many. Raises AuditHeadExportFailed.

    A head is marked as exported after its line is on disk: after a failure in between the same line is written again.
    An unreleased copy of the database writes nothing.
    """
    if not tx.deployment.identity.is_active:
        return 0
    rows = await tx.fetch(
        "select scope, sequence, hash, signed_at, signature from audit_head where exported_at is null "
        "order by scope, sequence limit $1 for no key update skip locked",
        _BATCH,
    )
    heads = [SignedHead(*row) for row in rows]
    try:
        await asyncio.to_thread(append_exported_heads, folder, tx.ids, heads)
    except OSError as error:
        raise AuditHeadExportFailed(
            f"Signed heads cannot be written to {folder} ({error}): see docs/runbooks/audit.md"
        ) from error
    await tx.executemany(
        "update audit_head set exported_at = $3 where scope = $1 and sequence = $2",
        [(head.scope, head.sequence, tx.now) for head in heads],
    )
    return len(heads)


def append_exported_heads(folder: Path, ids: RecordIdCodec, heads: Sequence[SignedHead]) -> None:
    """Append heads, ordered by scope, to the files of the folder, and sync them to disk."""
    folder.mkdir(parents=True, exist_ok=True)
    for scope, of_scope in groupby(heads, key=lambda head: head.scope):
        lines = b"".join(msgspec.json.encode(head.to_exported_head(ids)) + b"\n" for head in of_scope)
        with (folder / (audit_scope_name(ids, scope) + SUFFIX)).open("a+b") as file:
            _drop_torn_line(file.fileno())
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())


def _drop_torn_line(number: int) -> None:
    """Remove a line that a crash cut off: its head was never marked as exported and is written again."""
    size = os.fstat(number).st_size
    tail = os.pread(number, 1024, max(0, size - 1024))
    if tail and not tail.endswith(b"\n"):
        os.ftruncate(number, size - (len(tail) - tail.rfind(b"\n") - 1))


def read_exported_heads(folder: Path, ids: RecordIdCodec, scope: UUID) -> list[SignedHead]:
    """The exported heads of a scope by position; empty without a file. Raises UnreadableExportedHeads, OSError."""
    file = folder / (audit_scope_name(ids, scope) + SUFFIX)
    found: set[SignedHead] = set()
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                found.add(_parse_head(ids, line, f"{file}, line {number}"))
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda head: head.sequence)


def _parse_head(ids: RecordIdCodec, text: bytes, where: str) -> SignedHead:
    try:
        line = _lines.decode(text)
        scope = audit_scope_from_name(ids, line.scope)
        if scope is None:
            raise ValueError(line.scope)
        moment = datetime.fromisoformat(line.signed_at)
        return SignedHead(scope, line.sequence, bytes.fromhex(line.hash), moment, b64decode(line.signature))
    except (msgspec.MsgspecError, ValueError) as error:
        raise UnreadableExportedHeads(f"{where} is no signed head") from error


def list_exported_scopes(folder: Path, ids: RecordIdCodec) -> Iterable[UUID]:
    """The scopes that have a file in the export folder."""
    found = (audit_scope_from_name(ids, file.name.removesuffix(SUFFIX)) for file in folder.glob(f"*{SUFFIX}"))
    return [scope for scope in found if scope is not None]


async def list_stored_heads(tx: Tx, scope: UUID) -> list[SignedHead]:
    """The heads of a scope in the database, by position."""
    rows = await tx.fetch(
        "select scope, sequence, hash, signed_at, signature, exported_at is not null from audit_head "
        "where scope = $1 order by sequence",
        scope,
    )
    return [SignedHead(*row) for row in rows]


tasks: Final = TaskRegistry()
tasks.add_periodic_job("audit.sign", next_head_signing_at, sign_heads_of_grown_chains, period=_EVERY)
tasks.add_periodic_job(
    "audit.erase_addresses", log.next_ip_erasure_at, log.erase_ip_addresses, period=timedelta(days=1)
)


async def _next_export_at(_folder: Path, tx: Tx) -> datetime | None:
    return await next_head_export_at(tx)


async def _export_heads(folder: Path, tx: Tx) -> int:
    return await export_signed_chain_heads(tx, folder)


export_tasks: Final = DependentTaskRegistry[Path]()
export_tasks.add_periodic_job("audit.export", _next_export_at, _export_heads)
