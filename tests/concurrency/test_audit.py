"""Many writers and several chainers at once: one chain for each scope, without a fork and without a gap (V8)."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from almoner.platform.audit import heads as audit_heads
from almoner.platform.audit import log as audit
from almoner.platform.audit.chain import COLUMNS, GENESIS, AuditChainBuilder, compute_chained_hash
from almoner.platform.audit.log import Actor
from almoner.platform.audit.verification import verify_chain
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import Database
from almoner.platform.observability.telemetry import Telemetry
from tests.support import database
from tests.support.figures import Figures
from tests.support.service import serving

WRITERS = 32
CHAINERS = 4
KEY = Actor("key", "sandbox_apikey_0")
SCOPES = [audit.DEPLOYMENT, *(UUID(int=number << 64) for number in range(1, 4))]


async def test_v8_32_writers_and_four_chainers_make_no_fork_and_no_gap(
    postgres_server: PostgresServer, figures: Figures, tmp_path: Path
) -> None:
    rounds = figures.count(25, 400)
    async with database.copied(postgres_server) as copy, serving(copy) as service:
        stop = asyncio.Event()
        chainers = [AuditChainBuilder(service.db, Telemetry()) for _ in range(CHAINERS)]
        async with asyncio.TaskGroup() as chaining:
            for chainer in chainers:
                chaining.create_task(chain_without_rest(chainer, stop))
            proving = chaining.create_task(prove_and_sign(service.db, tmp_path, stop))
            async with asyncio.TaskGroup() as writing:
                for number in range(WRITERS):
                    writing.create_task(write(service.db, random.Random(figures.seed + number), rounds))
            stop.set()
            assert await proving > 0
        while await chainers[0].chain_next_entries():
            pass
        async with service.db.read() as tx:
            written = {row["scope"]: row["n"] for row in await tx.fetch(COUNTS)}
            for scope in SCOPES:
                rows = await tx.fetch(
                    f"select {COLUMNS}, position, sequence, hash from audit_entry where scope = $1", scope
                )
                rows.sort(key=lambda row: int(row["sequence"]))
                assert [row["sequence"] for row in rows] == list(range(1, written[scope] + 1))
                previous = GENESIS
                for row in rows:
                    previous = compute_chained_hash(
                        previous,
                        row["sequence"],
                        row["position"],
                        row["mac"],
                        audit.entry_from_row(row).authenticated_bytes(),
                    )
                    assert row["hash"] == previous
                end = await tx.fetchrow("select last_sequence, last_hash from audit_chain where scope = $1", scope)
                assert end is not None
                assert tuple(end) == (len(rows), previous)


COUNTS = "select scope, count(*) as n from audit_entry group by scope"


async def write(db: Database, dice: random.Random, rounds: int) -> None:
    """One writer: a few entries for a scope in each transaction, some of which are rolled back."""
    for _ in range(rounds):
        with suppress(ZeroDivisionError):
            async with db.write() as tx:
                for _ in range(dice.randint(1, 3)):
                    await audit.record_entry(
                        tx, dice.choice(SCOPES), KEY, "thing.done", "thing_1", ip_address="192.0.2.1"
                    )
                if dice.random() < 0.1:
                    raise ZeroDivisionError


async def chain_without_rest(chainer: AuditChainBuilder, stop: asyncio.Event) -> None:
    """As fast as it can."""
    while not stop.is_set():
        await chainer.chain_next_entries()
        await asyncio.sleep(0)


async def prove_and_sign(db: Database, folder: Path, stop: asyncio.Event) -> int:
    """Beside the others: heads are signed and exported, and what is being written is no false alarm."""
    proved = 0
    while not stop.is_set():
        async with db.write() as tx:
            await audit_heads.sign_heads_of_grown_chains(tx)
        async with db.write() as tx:
            await audit_heads.export_signed_chain_heads(tx, folder)
        for scope in SCOPES:
            assert (await verify_chain(db, scope, folder)).chain_error is None
            proved += 1
    return proved
