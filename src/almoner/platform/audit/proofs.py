"""Verification of audit chains as jobs of workers, which have the exported heads; stores the last result of each."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from almoner.platform.audit import verification
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, Result

_LIMIT: Final = timedelta(hours=2)


class ChainVerificationPayload(msgspec.Struct, frozen=True):
    """The scope whose chain is verified."""

    scope: UUID


PROVE: Final = JobKind("audit.prove", ChainVerificationPayload)


@dataclass(frozen=True, slots=True)
class StoredChainVerification:
    """The result of a verification. ``broken``: the first problem."""

    entries: int
    heads: int
    broken: str | None
    proved_at: datetime


proof_tasks: Final = DependentTaskRegistry[Path]()


@proof_tasks.job(PROVE, time_limit=_LIMIT)
async def verify_and_store_chain(
    folder: Path, context: JobContext, job: DecodedJob[ChainVerificationPayload]
) -> Result:
    """Verify one chain from its first entry, and store the result. ``folder``: of exported heads."""
    exported = await asyncio.to_thread(folder.is_dir)
    proof = await verification.verify_chain(context.db, job.details.scope, folder if exported else None)
    broken = None if proof.chain_error is None else str(proof.chain_error)
    if broken is None and proof.signed_head_count and not exported:
        broken = f"there are no exported heads in {folder}: what was deleted at the end cannot be seen"
    async with context.db.write() as tx:
        await tx.execute(
            """
            insert into audit_proof (scope, entries, heads, broken, proved_at) values ($1, $2, $3, $4, $5)
            on conflict (scope) do update
            set entries = excluded.entries, heads = excluded.heads, broken = excluded.broken,
                proved_at = excluded.proved_at
            """,
            job.details.scope,
            proof.entry_count,
            proof.signed_head_count,
            broken,
            tx.real_now,
        )
    return JobDone()


async def enqueue_chain_verification(tx: Tx, scope: UUID) -> None:
    """Enqueue the verification of a scope's chain."""
    await PROVE.enqueue(tx, ChainVerificationPayload(scope), unique_key=str(scope))


async def find_last_chain_verification(tx: Tx, scope: UUID) -> StoredChainVerification | None:
    """The result of the last verification of a scope."""
    row = await tx.fetchrow("select entries, heads, broken, proved_at from audit_proof where scope = $1", scope)
    return None if row is None else StoredChainVerification(**row)
