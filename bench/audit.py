"""The audit chain beside bare SHA-256: entries chained and verified per second (V8)."""

import asyncio
import os
import statistics
import time
from hashlib import sha256

from almoner import wiring
from almoner.kit.ids import new_id
from almoner.kit.time import SystemClock
from almoner.platform.audit import log as audit
from almoner.platform.audit import verification as audit_verification
from almoner.platform.audit.chain import AuditChainBuilder
from almoner.platform.audit.log import Actor, AuditEntryContext
from almoner.platform.database.transactions import Database
from almoner.platform.observability.telemetry import Telemetry
from almoner.settings import Settings
from bench.scale import FULL, Scale
from bench.stage import database

ENTRIES = 50_000
AIM = 1_000_000 / 60
KEY = Actor("key", "sandbox_apikey_01kjpy44e0er29s8vmgby675xf")
_BATCH = 10_000


async def _written(db: Database, trace: AuditEntryContext, entries: int) -> None:
    for begin in range(0, entries, _BATCH):
        async with db.write() as tx:
            subjects = [
                f"sandbox_donationsession_{number:026}" for number in range(begin, min(begin + _BATCH, entries))
            ]
            await tx.executemany(audit.INSERT, [trace.build_entry_row(tx, subject) for subject in subjects])


async def _round(db: Database, entries: int) -> tuple[float, float]:
    """(entries chained, entries verified) per second."""
    scope = new_id(SystemClock().now())
    await _written(
        db,
        AuditEntryContext(scope, KEY, "createDonationSession", "192.0.2.1", "req_01kjpy44e0er29s8vmgby675xf"),
        entries,
    )
    chainer = AuditChainBuilder(db, Telemetry())
    started = time.perf_counter()
    while await chainer.chain_next_entries():
        pass
    chained = time.perf_counter()
    proof = await audit_verification.verify_chain(db, scope)
    if proof.chain_error or proof.entry_count != entries:
        raise RuntimeError(f"{proof.entry_count} entries were proved: {proof.chain_error}")
    return entries / (chained - started), entries / (time.perf_counter() - chained)


def _bare() -> float:
    """Hashes per second of a chain of entries of the same size, from memory."""
    body, last = os.urandom(400), bytes(32)
    started = time.perf_counter()
    for _ in range(ENTRIES):
        last = sha256(last + body).digest()
    return ENTRIES / (time.perf_counter() - started)


async def _rounds(complete: Settings, scale: Scale) -> list[str]:
    services = await wiring.build_services(complete)
    try:
        rounds = [await _round(services.db, scale.rows(ENTRIES)) for _ in range(scale.repeat)]
    finally:
        await services.close()
    chained, proved = (statistics.median(rates) for rates in zip(*rounds, strict=True))
    return [
        f"- chained: {chained:,.0f} entries/s, one chainer",
        f"- proved: {proved:,.0f} entries/s, {proved / AIM:.1f} of the aim (1,000,000 in 60 s)",
        f"- bare SHA-256 over as many bytes from memory: {_bare():,.0f}/s",
    ]


def measure(scale: Scale) -> list[str]:
    """A Markdown list of medians."""
    with database() as complete:
        return asyncio.run(_rounds(complete, scale))


if __name__ == "__main__":
    print("\n".join(measure(FULL)))
