"""A long audit log is chained and proved in time, in little memory, and by its indexes (V8)."""

import json
import time
from typing import Any

import asyncpg
import psutil
import pytest

from almoner.platform.audit import log as audit
from almoner.platform.audit.chain import IN_ORDER, LINK, TAKE, WAITING, AuditChainBuilder
from almoner.platform.audit.log import Actor, AuditEntryContext
from almoner.platform.audit.verification import PLACED, verify_chain
from almoner.platform.database.transactions import Database
from almoner.platform.observability.telemetry import Telemetry
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.service import serving

MILLION = 1_000_000
BATCH = 10_000
KEY = Actor("key", "sandbox_apikey_01kjpy44e0er29s8vmgby675xf")
TRACE = AuditEntryContext(audit.DEPLOYMENT, KEY, "createDonationSession", "192.0.2.1", "req_01kjpy44e0er29s8vmgby675xf")


async def write(db: Database, dsn: str, entries: int) -> None:
    """Entries as hot writes make them, but all at once."""
    connection = await asyncpg.connect(dsn)
    columns = audit.COLUMNS.split(", ")
    for begin in range(0, entries, BATCH):
        async with db.read() as tx:
            subjects = [f"sandbox_donationsession_{number:026}" for number in range(begin, min(begin + BATCH, entries))]
            records = [TRACE.build_entry_row(tx, subject) for subject in subjects]
        await connection.copy_records_to_table("audit_entry", records=records, columns=columns)
    await connection.close()


@pytest.mark.soak
async def test_v8_a_million_entries_are_proved_within_a_minute(empty_database: TestDatabase, figures: Figures) -> None:
    entries, process = figures.count(12_000, MILLION), psutil.Process()
    async with serving(empty_database) as service:
        await write(service.db, empty_database.dsn, entries)
        chainer, started = AuditChainBuilder(service.db, Telemetry(lambda _: None)), time.perf_counter()
        while await chainer.chain_next_entries():
            pass
        chained, started = time.perf_counter() - started, time.perf_counter()
        sizes = [process.memory_info().rss]
        proof = await verify_chain(
            service.db, audit.DEPLOYMENT, report_entry_count=lambda _: sizes.append(process.memory_info().rss)
        )
        proved = time.perf_counter() - started
        memory = (max(sizes) - sizes[0]) / 2**20
    assert (proof.entry_count, proof.chain_error) == (entries, None)
    assert memory < 64
    if figures.soak:
        assert proved <= 60
    figures.write(
        "audit",
        "The audit log",
        f"{entries:,} entries proved in {proved:.1f} s ({entries / proved:,.0f} a second; at most 60 s are "
        f"max_attempts)",
        f"{memory:.0f} MiB more memory at most while proving",
        f"chained by one chainer in {chained:.1f} s ({entries / chained:,.0f} a second), while nothing else was done",
    )


async def test_v8_what_runs_for_every_batch_is_read_in_order_from_an_index(empty_database: TestDatabase) -> None:
    """Also when the planner believes that nothing waits, and there is a backlog: no plan that reads all of it."""
    async with serving(empty_database) as service:
        await write(service.db, empty_database.dsn, 10_000)
        chainer = AuditChainBuilder(service.db, Telemetry(lambda _: None))
        while await chainer.chain_next_entries():
            pass
        owner = await asyncpg.connect(empty_database.owner_dsn)
        await owner.execute("analyze audit_entry")
        await write(service.db, empty_database.dsn, 3_000)
        async with owner.transaction():
            await owner.execute(IN_ORDER)
            rows = await owner.fetch("select position, mac from audit_entry where sequence is null limit 3")
            numbers, hashes = [row["position"] for row in rows], [row["mac"] for row in rows]
            for sql, args, index in (
                (WAITING, (audit.DEPLOYMENT, 64), "audit_entry_unchained"),
                (TAKE, ([audit.DEPLOYMENT], 500), "audit_entry_unchained"),
                (LINK, ([audit.DEPLOYMENT] * 3, numbers, [1, 2, 3], hashes, [], [], [], []), "audit_entry_unchained"),
                (PLACED, (audit.DEPLOYMENT, 5_000, 5_000), "audit_entry_sequence"),
            ):
                used = await plan(owner, sql, *args)
                assert index in used, sql
                assert not {"Seq Scan", "Sort", "Bitmap Heap Scan"} & used, sql
        await owner.close()


async def plan(connection: "asyncpg.Connection[asyncpg.Record]", sql: str, *args: object) -> set[str]:
    """The kinds of nodes and the indexes of a statement's plan."""
    answer = await connection.fetchval("explain (format json) " + sql, *args)
    found: set[str] = set()
    waiting: list[dict[str, Any]] = [json.loads(answer)[0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        found |= {node["Node Type"], node.get("Index Name", "")}
    return found
