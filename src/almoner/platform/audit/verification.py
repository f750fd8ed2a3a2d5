"""Verify an audit chain, or name the first entry that was changed (V8).

Each entry has its MAC, which only the service can make, and its hash, which covers its position and everything before
it. The chain has its authenticated end and its signed heads, in the database and outside. Entries are read page by
page, so a long log needs no memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.audit import heads, log
from almoner.platform.audit.chain import COLUMNS, GENESIS, IN_ORDER, compute_chained_hash
from almoner.platform.audit.heads import AuditChainHead, SignedHead, UnreadableExportedHeads
from almoner.platform.database.transactions import Database, Tx

ReportEntryCount = Callable[[int], None]
"""Called after each page with the number of entries that were verified."""

_PAGE: Final = 5000

SCOPES: Final = """
with recursive found (scope) as (
    (select scope from audit_entry order by scope limit 1)
    union all
    select (select e.scope from audit_entry e where e.scope > f.scope order by e.scope limit 1)
    from found f where f.scope is not null
)
select scope from found where scope is not null
union select scope from audit_chain union select scope from audit_head order by 1
"""

PLACED: Final = f"""
select {COLUMNS}, sequence, hash from audit_entry where scope = $1 and sequence > $2 order by sequence limit $3
"""

WAITING: Final = f"""
select {COLUMNS} from audit_entry where scope = $1 and sequence is null and position > $2 order by position limit $3
"""

_TWICE: Final = """
select id, action, max(sequence) as sequence from audit_entry where scope = $1
group by id, action having count(*) > 1 limit 1
"""
"""Only needed without the primary key: a copied entry has a valid MAC."""


class AuditChainBroken(Exception):
    """The audit chain was tampered with. ``sequence``: the first wrong position, if known."""

    def __init__(self, sequence: int | None, what: str) -> None:
        super().__init__(what if sequence is None else f"entry {sequence:,}: {what}")
        self.sequence = sequence


@dataclass(slots=True)
class ChainVerification:
    """The result of verifying one scope. ``chain_error``: the fault, if any."""

    scope: UUID
    entry_count: int = 0
    head_hash: bytes = GENESIS
    signed_head_count: int = 0
    unchained_entry_count: int = 0
    chain_error: AuditChainBroken | None = None


async def list_audit_scopes(db: Database, export_folder: Path | None) -> list[UUID]:
    """All scopes that have entries, a chain or heads."""
    async with db.read() as tx:
        found = [row["scope"] for row in await tx.fetch(SCOPES)]
    if export_folder is not None:
        found += [scope for scope in heads.list_exported_scopes(export_folder, db.deployment.ids) if scope not in found]
    return found


async def verify_chain(
    db: Database,
    scope: UUID,
    export_folder: Path | None = None,
    report_entry_count: ReportEntryCount | None = None,
    *,
    fail_if_chain_missing: bool = False,
) -> ChainVerification:
    """Verify one chain from its first entry to its head.

    ``export_folder``: the exported heads. ``fail_if_chain_missing``: the chain must exist, whatever the database
    contains.
    """
    walk = _ChainWalk(db, scope)
    try:
        await walk.from_the_beginning(export_folder, report_entry_count)
        if fail_if_chain_missing and not walk.proof.entry_count:
            raise AuditChainBroken(None, "the whole chain is missing, or was never started")
    except AuditChainBroken as broken:
        walk.proof.chain_error = broken
    except UnreadableExportedHeads as unreadable:
        walk.proof.chain_error = AuditChainBroken(None, str(unreadable))
    return walk.proof


class _ChainWalk:
    """Verifies one chain while entries are written and chained; only entries present at the start count."""

    def __init__(self, db: Database, scope: UUID) -> None:
        self.proof = ChainVerification(scope)
        self._db = db
        self._vault = db.deployment.vault
        self._now = db.deployment.clock.now()
        self._heads: list[SignedHead] = []
        self._aged = 0

    async def from_the_beginning(self, folder: Path | None, report: ReportEntryCount | None) -> None:
        """Verify everything. Raises AuditChainBroken."""
        proof = self.proof
        async with self._db.read() as tx:
            started = await self._load_end(tx)
        self._heads = await self._load_heads(folder)  # read after the end: heads signed by now cover it
        proof.signed_head_count = len(self._heads)
        old = [head.sequence for head in self._heads if head.signed_at + log.ADDRESS_RETENTION <= self._now]
        self._aged = max(old, default=0)
        if started is not None and started.sequence and not self._heads:
            raise AuditChainBroken(None, "the signed heads are missing: every chain has one from its first entry on")
        while rows := await self._page(PLACED, proof.entry_count):
            for row in rows:
                self._verify_chained_entry(row, started)
            if report:
                report(proof.entry_count)
        async with self._db.read() as tx:
            self._verify_ends(started, await self._load_end(tx))
        last = 0
        while rows := await self._page(WAITING, last):
            for row in rows:
                self._verify_mac(row, None)
            proof.unchained_entry_count += len(rows)
            last = rows[-1]["position"]
        async with self._db.read() as tx:
            if copied := await tx.fetchrow(_TWICE, proof.scope):
                raise AuditChainBroken(
                    copied["sequence"], f"inserted: a copy of another entry ({copied['action']}, {copied['id']})"
                )

    async def _page(self, sql: str, after: int) -> Sequence[Record]:
        async with self._db.snapshot() as tx:
            await tx.execute(IN_ORDER)
            return await tx.fetch(sql, self.proof.scope, after, _PAGE)

    async def _load_end(self, tx: Tx) -> AuditChainHead | None:
        """The end of the chain, checked against its MAC."""
        row = await tx.fetchrow(
            "select scope, last_sequence, last_hash, mac from audit_chain where scope = $1", self.proof.scope
        )
        if row is None:
            return None
        end = AuditChainHead(row["scope"], row["last_sequence"], row["last_hash"])
        if end.compute_mac(self._vault) != row["mac"]:
            raise AuditChainBroken(None, f"the recorded end of the chain (entry {end.sequence:,}) was edited")
        return end

    def _verify_chained_entry(self, row: Record, started: AuditChainHead | None) -> None:
        """Verify the next entry of the chain."""
        proof, sequence = self.proof, row["sequence"]
        expected = proof.entry_count + 1
        if sequence != expected:
            raise AuditChainBroken(
                expected, f"deleted, up to entry {sequence - 1:,}" if sequence > expected else "inserted"
            )
        body = self._verify_mac(row, sequence)
        proof.head_hash = compute_chained_hash(proof.head_hash, sequence, row["position"], row["mac"], body)
        if proof.head_hash != row["hash"]:
            raise AuditChainBroken(sequence, "reordered: the entry was moved, or the entry before it was replaced")
        proof.entry_count = sequence
        if started is not None and sequence == started.sequence and started.hash != proof.head_hash:
            raise AuditChainBroken(sequence, "does not match the recorded end of the chain")
        while self._heads and self._heads[0].sequence == sequence:
            signed = self._heads.pop(0)
            if signed.hash != proof.head_hash:
                raise AuditChainBroken(
                    sequence,
                    f"does not match the head signed at {signed.signed_at:%Y-%m-%d %H:%M}: "
                    "earlier entries have been rewritten",
                )

    def _verify_mac(self, row: Record, sequence: int | None) -> bytes:
        """The body of an entry, checked against its MAC."""
        entry = log.entry_from_row(row)
        body = entry.authenticated_bytes()
        if log.compute_entry_mac(self._vault, body) != row["mac"]:
            raise AuditChainBroken(sequence, f"edited or inserted ({entry.action}, {entry.id})")
        if entry.ip_address is not None:
            if log.hash_ip_address(self._vault, entry.id, entry.ip_address) != entry.hashed_ip_address:
                raise AuditChainBroken(sequence, f"the address was edited ({entry.action}, {entry.id})")
        elif (
            entry.hashed_ip_address is not None
            and (sequence or self._aged + 1) > self._aged
            and entry.at + log.ADDRESS_RETENTION > self._now
        ):
            raise AuditChainBroken(
                sequence, f"the address was deleted less than a year after it was recorded ({entry.action}, {entry.id})"
            )
        return body

    def _verify_ends(self, started: AuditChainHead | None, now: AuditChainHead | None) -> None:
        """Check that the chain reaches its stored end and all signed heads."""
        entries = self.proof.entry_count
        if self._heads:
            signed = self._heads[-1]
            raise AuditChainBroken(
                entries + 1,
                f"truncated: entry {signed.sequence:,} was signed at {signed.signed_at:%Y-%m-%d %H:%M}, but is missing",
            )
        if now is None and entries:
            raise AuditChainBroken(None, "the recorded end of the chain is missing")
        if started is not None and entries < started.sequence:
            raise AuditChainBroken(entries + 1, f"deleted, up to entry {started.sequence:,}, which was the last entry")
        if now is not None and entries > now.sequence:
            raise AuditChainBroken(now.sequence + 1, "inserted after the end of the chain")

    async def _load_heads(self, folder: Path | None) -> list[SignedHead]:
        """The signed heads by position. Exported heads are in the folder, and all of those are in the table, too.

        Heads may be signed and exported meanwhile: the table is read before and after the folder.
        """
        scope, ids = self.proof.scope, self._db.deployment.ids
        key = heads.audit_head_signing_key(self._vault).public_key()
        async with self._db.read() as tx:
            stored = await heads.list_stored_heads(tx, scope)
        exported = [] if folder is None else heads.read_exported_heads(folder, ids, scope)
        async with self._db.read() as tx:
            kept_now = await heads.list_stored_heads(tx, scope)
        for head in (*kept_now, *exported):
            if head.scope != scope or not head.has_valid_signature(ids, key):
                raise AuditChainBroken(head.sequence, "the head was not signed by this service")
        if folder is not None:
            _ensure_same_heads(stored, exported, f"from {folder}")
            _ensure_same_heads(exported, kept_now, "from the database")
        return kept_now


def _ensure_same_heads(known: Sequence[SignedHead], there: Sequence[SignedHead], where: str) -> None:
    found = {(head.sequence, head.hash) for head in there}
    for head in known:
        if head.exported and (head.sequence, head.hash) not in found:
            raise AuditChainBroken(
                head.sequence, f"the head signed at {head.signed_at:%Y-%m-%d %H:%M} is missing {where}"
            )
