"""Organisation search over HTTP with a real server, idle and while a register is imported."""

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Final

import aiohttp

from almoner import settings, wiring
from almoner.access.keys import service as keys
from almoner.access.partners import service as partners
from almoner.cli import local
from almoner.nonprofits.registers import flows as registers_flows
from almoner.platform.database.transactions import Database, Partner
from almoner.settings import Settings
from almoner.sources import REGISTER_SOURCES
from bench import bodies
from bench.scale import Scale
from bench.search_questions import SEED, Figures, Question, keystrokes, sampled, two_slips
from bench.stage import Stage, server

ASKED: Final = 200
TYPED: Final = 10
IMPORTED: Final = 20_000
IMPORTED_STATE: Final = "NM"
"""A state with a file of its own and no generated organisations: importing it removes nothing."""
FIRST_IMPORTED: Final = 500_000_000
BESIDE: Final = f"two slips, {IMPORTED:,} bodies being imported"


async def _stage(complete: Settings, db: Database) -> Stage:
    stage = Stage(complete, 0, "")
    async with db.write() as tx:
        account = await partners.create(tx, "Search")
        _, secret = await keys.create(tx, Partner(account.id), "secret", "bench")
        stage.partner_ids.append(account.id)
        stage.keys.append(secret)
    return stage


@asynccontextmanager
async def _client(stage: Stage, port: int) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {stage.keys[0]}"}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers) as session:
        yield session


async def _asked(client: aiohttp.ClientSession, questions: Sequence[Question]) -> Figures:
    figures = Figures([], [])
    for question in questions:
        started = time.perf_counter()
        async with client.get("/v1/organisations", params={"query": question.text}) as answer:
            answer.raise_for_status()
            await answer.read()
        figures.seconds.append(time.perf_counter() - started)
        figures.places.append(None)
    return figures


def _line(kind: str, figures: Figures) -> str:
    return f"| {kind} | {figures.at(0.5):.1f} | {figures.at(0.99):.1f} |"


async def measure(complete: Settings, db: Database, scale: Scale) -> tuple[list[str], dict[str, Figures]]:
    """A Markdown table, and its figures."""
    stage = await _stage(complete, db)
    pick = random.Random(SEED)
    meant = await sampled(db, scale.rows(ASKED, 3))
    numbers = [Question(body.number, body.name) for body in meant]
    names = [Question(two_slips(body, pick), body.name) for body in meant]
    typed = keystrokes(meant[: scale.rows(TYPED)])
    with server(stage, "search", "-m", "almoner", "serve") as variant:
        async with _client(stage, variant.port) as client:
            await _asked(client, names[:20])
            reported = {
                "number": await _asked(client, numbers),
                "two slips": await _asked(client, names),
                "every keystroke": await _asked(client, typed),
                BESIDE: await _while_importing(stage, db, client, names, scale.rows(IMPORTED, 1_000)),
            }
    lines = [
        "| asked | p50 ms | p99 ms |",
        "|---|---|---|",
        *(_line(kind, figures) for kind, figures in reported.items()),
    ]
    ratio = reported[BESIDE].at(0.99) / reported["two slips"].at(0.99)
    return [*lines, "", f"- p99 while a register is imported: {ratio:.1f} times that at rest"], reported


async def _while_importing(
    stage: Stage, db: Database, client: aiohttp.ClientSession, names: list[Question], count: int
) -> Figures:
    """The same questions for as long as another process imports a state's organisations."""
    async with db.read() as tx:
        there = await tx.fetchval("select count(*) from organisation where part = $1", IMPORTED_STATE)
    with tempfile.TemporaryDirectory(prefix="almoner-import-2026-05-11-") as folder:
        path = Path(folder) / f"eo_{IMPORTED_STATE.lower()}.csv"
        bodies.write_state(count, path, IMPORTED_STATE, FIRST_IMPORTED + there * 7)
        command = (sys.executable, "-m", "bench.search_http", str(path), str(stage.settings.data_dir))
        importing = await asyncio.create_subprocess_exec(*command)
        figures = Figures([], [])
        waiting = asyncio.ensure_future(importing.wait())
        for question in cycle(names):
            if waiting.done():
                break
            figures.seconds += (await _asked(client, [question])).seconds
        if await waiting:
            raise RuntimeError("the import beside the search failed")
    return figures


async def _import(complete: Settings, path: Path) -> None:
    services = await wiring.build_services(complete)
    try:
        await registers_flows.import_files(services.db, REGISTER_SOURCES["irs-bmf"], [path], force=True)
    finally:
        await services.close()


if __name__ == "__main__":
    with local.settings_with_embedded_database(settings.read_settings(data_dir=Path(sys.argv[2]))) as standing:
        asyncio.run(_import(standing, Path(sys.argv[1])))
