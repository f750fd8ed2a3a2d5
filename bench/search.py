"""Organisation search over realistic organisations: how long it takes and how often it finds the intended one.

``python -m bench.search`` searches twenty thousand organisations, ``--bodies 2000000`` as many as registers have;
``--keep FOLDER`` imports them only once. Plain pg_trgm and tantivy get the same questions over the same names, and
``--write`` puts all of it into docs/evidence/search.md.
"""

import argparse
import asyncio
import csv
import json
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import asyncpg
from asyncpg import Record

from almoner import migrations, settings, wiring
from almoner.cli import local
from almoner.cli.serve import reduce_garbage_collection
from almoner.nonprofits.organisations import flows as organisations_flows
from almoner.nonprofits.organisations import store_search as organisations_store_search
from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.nonprofits.registers import flows as registers_flows
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.settings import Settings
from almoner.sources import REGISTER_SOURCES
from bench import bodies, machine, search_aims, search_http, search_rivals
from bench.scale import BRIEF, FULL, Scale
from bench.search_questions import (
    ASKED_OF,
    HARD,
    KINDS,
    SEED,
    SHOWN,
    Ask,
    Body,
    Figures,
    Question,
    keystrokes,
    measured,
    ours,
    sampled,
)
from bench.stage import database

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "search.md"
RENAMES: Final = Path(__file__).parents[2] / "shared" / "data" / "benchmarks" / "bmf_name_changes.csv"
RENAMED_FROM: Final = "2024-05-12"
USUAL: Final = 20_000
ASKED: Final = 400
RIVALS_SHARE: Final = 4
"""The alternatives get every n-th question: they are slow."""
TYPED: Final = 40
MANY: Final = 2_000
FIRST: Final = 50
SOURCE: Final = "irs-bmf"
SMALLEST: Final = "eo_wy.csv"


async def _fill(db: Database, count: int) -> int:
    """Import the organisations with the real importer, unless they are there."""
    async with db.read() as tx:
        if there := await tx.fetchval("select count(*) from organisation"):
            return int(there)
    with tempfile.TemporaryDirectory(prefix="almoner-bodies-2026-04-13-") as folder:
        paths = bodies.write(count, Path(folder))
        load = await registers_flows.import_files(db, REGISTER_SOURCES[SOURCE], paths)
        return load.rows


def _line(kind: str, who: str, figures: Figures) -> str:
    times = f"{figures.at(0.5):.1f} | {figures.at(0.99):.1f} | {figures.at(1):.0f}"
    return f"| {kind} | {who} | {times} | {figures.found(1):.1%} | {figures.found(SHOWN):.1%} |"


def _asked(meant: Sequence[Body]) -> dict[str, list[Question]]:
    pick = random.Random(SEED)
    return {
        kind: [typed(body, pick) for body in meant if kind not in ASKED_OF or ASKED_OF[kind](body)]
        for kind, typed in KINDS.items()
    }


async def _ours(db: Database, asked: Mapping[str, list[Question]], typed: int) -> dict[str, Figures]:
    reported = {kind: await measured(ours(db), questions) for kind, questions in asked.items()}
    reported["every keystroke"] = await measured(ours(db), keystrokes(await sampled(db, typed)))
    return reported


async def _side_by_side(
    owner_dsn: str, asked: Mapping[str, list[Question]], told: Mapping[str, Figures], count: int
) -> list[str]:
    """Each kind of question, for each engine.

    The alternatives come last: their indexes are built, read and written then.
    """
    owner = await asyncpg.connect(owner_dsn)
    await search_rivals.fill(owner)
    names = [row["name"] for row in await owner.fetch("select name from rival_name")]
    lines = [
        f"| asked, one caller | of | p50 ms | p99 ms | worst ms | first | in the first {SHOWN} |",
        "|---|---|---|---|---|---|---|",
    ]
    with search_rivals.tantivy_index(names) as tantivy:
        del names
        rivals: dict[str, Ask] = {"pg_trgm": search_rivals.trigrams(owner), "tantivy": tantivy}
        for kind, questions in asked.items():
            lines.append(_line(kind, "almoner", told[kind]))
            for who, ask in rivals.items():
                if kind != "number":
                    lines.append(_line(kind, who, await measured(ask, questions[: count // RIVALS_SHARE])))
    lines.append(_line(f"every keystroke of {TYPED} names", "almoner", told["every keystroke"]))
    await owner.close()
    return lines


async def _many(db: Database, many: int) -> tuple[str, Figures]:
    """The p99 over so many questions that twenty are slower, so that it does not depend on the sample."""
    asked = _asked(await sampled(db, many))["two slips"]
    figures = await measured(ours(db), asked)
    line = (
        f"- {many:,} other draws of two slips: p50 {figures.at(0.5):.1f} ms, p99 {figures.at(0.99):.0f} ms, worst "
        f"{figures.at(1):.0f} ms; first {figures.found(1):.1%}, in the first {SHOWN} {figures.found(SHOWN):.1%}"
    )
    return line, figures


async def _first(db: Database) -> Figures:
    """The first questions after a start: full and misspelt names and beginnings, none repeated later."""
    pick = random.Random(SEED + 1)
    await organisations_flows.warm_search_cache(db)
    asked = _asked((await sampled(db, ASKED + FIRST))[ASKED:])
    several = [
        question for kind in ("whole name", "two slips", "two slips, with the place") for question in asked[kind]
    ]
    several += [Question(one.text[: len(one.text) // 2], one.meant) for one in asked["whole name"]]
    pick.shuffle(several)
    return await measured(ours(db), several)


async def _hard(db: Database) -> tuple[str, Figures]:
    """The worst questions, with and without filters, and the slowest of them."""
    filtered = (
        OrganisationFilters(),
        OrganisationFilters(active=True, country_code="USA"),
        OrganisationFilters(usa_group_exempt=True, types=("education",)),
    )
    asked = [Question(text, text, filters) for text in HARD for filters in filtered]
    await measured(ours(db), asked)
    figures = await measured(ours(db), asked)
    slowest = sorted(zip(figures.seconds, asked, strict=True), key=lambda pair: -pair[0])[:5]
    reported = ", ".join(f"`{one.text[:30]}` {seconds * 1000:.0f} ms" for seconds, one in slowest)
    line = f"- {len(asked)} hard questions: p50 {figures.at(0.5):.0f} ms, worst {figures.at(1):.0f} ms ({reported})"
    return line, figures


class _Timed:
    """A transaction that measures each statement, here and by the database's own time."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.here = Figures([], [])
        self.there = Figures([], [])

    async def fetch(self, sql: str, *args: object) -> list[Record]:
        started = time.perf_counter()
        rows = await self._tx.fetch(sql, *args)
        self.here.seconds.append(time.perf_counter() - started)
        reported: list[dict[str, Any]] = json.loads(
            await self._tx.fetchval("explain (analyze, format json) " + sql, *args)
        )
        self.there.seconds.append(reported[0]["Execution Time"] / 1000)
        return rows


async def _exact(db: Database, meant: Sequence[Body]) -> tuple[str, Figures]:
    """The one statement that answers ``registryId``, alone: an exact number only; time in the database."""
    async with db.read() as tx:
        timed = _Timed(tx)
        for body in meant:
            exactly = OrganisationFilters(number_keys=(body.number,))
            found, _ = await organisations_store_search.list_page(
                cast("Tx", timed), ALL_PARTNERS, exactly, RequestedPage(SHOWN, descending=True)
            )
            assert found, body
    reported = (
        f"{where} p50 {figures.at(0.5):.2f} ms, p99 {figures.at(0.99):.2f} ms"
        for where, figures in (("in the database", timed.there), ("with the way there and back", timed.here))
    )
    return f"- the statement of an exact `registryId`, {len(meant)} of them: {'; '.join(reported)}", timed.there


async def _renamed(db: Database) -> list[str]:
    """How many organisations are found by their name of two years before, which a later import replaced."""
    with RENAMES.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    async with db.read() as tx:
        known = {
            row["registry_number"]
            for row in await tx.fetch("select registry_number from organisation where search_former <> ''")
        }
    asked = [Question(row["name_2024_05"].lower(), row["name_2026_04"]) for row in rows if row["ein"] in known]
    if not asked:
        return []
    figures = await measured(ours(db), asked)
    found = f"first {figures.found(1):.1%}, in the first {SHOWN} {figures.found(SHOWN):.1%}"
    return [f"- {len(asked)} real old names, after both months were loaded: {found}"]


async def _run(complete: Settings, count: int, asked: int, scale: Scale) -> list[str]:
    services = await wiring.build_services(complete)
    try:
        rows = await _fill(services.db, count)
        reduce_garbage_collection()  # as the service does
        reported = {"first": await _first(services.db)}
        async with services.db.read() as tx:
            version = str(await tx.fetchval("show server_version")).split()[0]
        assert complete.owner_dsn is not None
        questions = _asked(await sampled(services.db, asked))
        reported |= await _ours(services.db, questions, scale.rows(TYPED))
        many, reported["many"] = await _many(services.db, scale.rows(MANY))
        hard, reported["hard"] = await _hard(services.db)
        exact, reported["exact"] = await _exact(services.db, await sampled(services.db, asked))
        over_http, ours_over_http = await search_http.measure(complete, services.db, scale)
        reported |= {f"{kind} over HTTP": figures for kind, figures in ours_over_http.items()}
        side_by_side = await _side_by_side(complete.owner_dsn, questions, reported, asked)
        return [
            *search_aims.table(reported),
            "What remains of the slowest is one pass over the pages of up to 10,000 names with the same common words,",
            "the letters that 1,500 of them have in common with the query, and RapidFuzz over 300 candidates.",
            "",
            f"{rows:,} bodies:",
            "",
            *(f"- {fact}" for fact in machine.facts(version)),
            "",
            *side_by_side,
            "",
            many,
            hard,
            exact,
            (
                f"- the first {len(reported['first'].seconds)} questions after a start whose files were in no memory: "
                f"p99 {reported['first'].at(0.99):.0f} ms, worst {reported['first'].at(1):.0f} ms"
            ),
            *["", "Over HTTP, one caller:", "", *over_http, "", "## What the bodies are like", ""],
            *["Words of the real files recombined (`bench/bodies.py`), the same for each seed.", ""],
            *bodies.compared([row["NAME"] for row in bodies.originals(count)], await _names(services.db)),
        ]
    finally:
        await services.close()


async def _names(db: Database) -> list[str]:
    """The generated names, without those imported beside the search."""
    async with db.read() as tx:
        rows = await tx.fetch(
            "select name from organisation where partner_id is null and part is distinct from $1",
            search_http.IMPORTED_STATE,
        )
    return [row["name"] for row in rows]


async def _real(complete: Settings, scale: Scale) -> list[str]:
    services = await wiring.build_services(complete)
    try:
        before = sorted((bodies.REAL.parent / RENAMED_FROM).glob("*.csv"))
        for month in (before, bodies.paths()):
            files = [path for path in month if path.name == SMALLEST] if scale is BRIEF else month
            await registers_flows.import_files(services.db, REGISTER_SOURCES[SOURCE], files, force=True)
        return await _renamed(services.db)
    finally:
        await services.close()


@contextmanager
def _kept(folder: Path | None) -> Iterator[Settings]:
    if folder is None:
        with database() as complete:
            yield complete
        return
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # PostgreSQL's account must reach it if root measures
    machine.forget(folder)
    with local.settings_with_embedded_database(settings.read_settings(data_dir=folder)) as complete:
        migrations.migrate(complete.owner_dsn)
        yield complete


def measure(scale: Scale, count: int = USUAL, folder: Path | None = None, asked: int = ASKED) -> list[str]:
    """A report in Markdown."""
    with _kept(folder) as complete:
        lines = asyncio.run(_run(complete, count, asked, scale))
    if not RENAMES.exists():
        return [*lines, "- real names: not measured, the list of renamed organisations is not at hand"]
    with database() as complete:
        return [*lines, "", "## Real names", "", *asyncio.run(_real(complete, scale))]


def main() -> None:
    """Measure and print; write if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=USUAL)
    parser.add_argument("--asked", type=int, default=ASKED, help="questions of each kind")
    parser.add_argument("--keep", type=Path, default=None, help="the folder of a database that stays")
    parser.add_argument("--write", default=None, help="a remark on the machine; writes the report")
    given = parser.parse_args()
    lines = measure(FULL, given.bodies, given.keep, given.asked)
    print("\n".join(lines))
    if given.write is not None:
        repeat = f"Repeat with `python -m bench.search --bodies {given.bodies} --keep FOLDER`."
        head = ["# Organisation search", "", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. {given.write} {repeat}", ""]
        REPORT.write_text("\n".join([*head, *lines, ""]))


if __name__ == "__main__":
    main()
