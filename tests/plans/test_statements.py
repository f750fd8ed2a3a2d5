"""What the service asks of PostgreSQL costs the same however many rows there are.

Planned is every statement that the suites before this one have run (``tests/support/statements.py``), over tables that
seem to hold a million rows. ``known.toml`` says of each exception why it may be one.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import asyncpg
import pytest

from almoner.platform.database.postgres import PostgresServer
from tests.support import database, planning
from tests.support.planning import Connection, Plan
from tests.support.statements import FOLDER

KNOWN: Final = tomllib.loads(Path(__file__).with_name("known.toml").read_text())
MOST_COST: Final = 5_000
"""About 1,200 rows fetched one by one; an index of a million that is read whole costs 7,500."""
CACHED_BYTES: Final = 15 * 1024
"""A longer text is prepared anew at each call: asyncpg's ``max_cacheable_statement_size``."""
MOST_TEXTS: Final = 64
"""Of one function: statements whose text varies with each call are never found in the cache of a connection."""
MOST_OF_BATCH: Final = 25_000
"""A batch of some thousand rows, or what one partner has of a million."""
FEWER: Final = {
    **dict.fromkeys(KNOWN["small"] + KNOWN["passing"], planning.FEW_ROWS),
    **dict.fromkeys(KNOWN["daily"], planning.DAILY_ROWS),
}
SUITES: Final = ("api", "worker")
NO_REQUEST: Final = ("migrations/", "cli/", "sandbox/", "provider_test/", "platform/database/session_settings.py")
CONTROL: Final = (
    "analyze ",
    "begin",
    "commit",
    "rollback",
    "savepoint",
    "release",
    "lock ",
    "set ",
    "copy ",
    "create ",
    "drop ",
)
# How sessions of the service are set (platform/database/session_settings.py).
SETTINGS: Final = {"jit": "off", "pg_trgm.similarity_threshold": "0.2", "work_mem": "16MB"}


@dataclass(slots=True)
class Asked:
    """One text, who runs it and with what."""

    sql: str
    callers: set[str] = field(default_factory=set)
    shapes: set[tuple[Any, ...]] = field(default_factory=set)
    generic: Plan | None = None
    custom: list[Plan] = field(default_factory=list)

    @property
    def planned_anew(self) -> bool:
        """Whether the plan for any values costs more than one for these and the planning of it (plancache.c)."""
        assert self.generic is not None
        relations = len({node["Alias"] for node in self.generic.nodes if "Alias" in node})
        planned = sum(one.cost for one in self.custom) / len(self.custom) + 2.5 * (relations + 1)
        return self.generic.cost >= planned

    @property
    def used(self) -> list[Plan]:
        """The plans that PostgreSQL may choose."""
        assert self.generic is not None
        return self.custom if self.planned_anew else [self.generic, *self.custom]


def recorded() -> list[Asked]:
    """Every text that requests, pages and jobs have run."""
    found: dict[str, Asked] = {}
    for file in sorted(FOLDER.glob("*.json")):
        for sql, caller, shapes in json.loads(file.read_text()):
            if not caller.startswith(NO_REQUEST) and not sql.strip().lower().startswith(CONTROL):
                asked = found.setdefault(sql, Asked(sql))
                asked.callers.add(caller)
                asked.shapes.update(map(tuple, shapes))
    return list(found.values())


@dataclass(slots=True)
class World:
    """What was planned, and the database it was planned in."""

    connection: Connection
    rows: Mapping[str, float]
    statements: list[Asked]
    unplanned: list[str]

    def faults(self, plans: Iterable[Plan], most: int = MOST_COST) -> set[str]:
        """What grows with a table."""
        found = set()
        for plan in plans:
            scans = {node["Relation Name"] for node in plan.nodes if node["Node Type"].endswith("Seq Scan")}
            found |= {f"reads all of {name}" for name in scans if self.rows.get(name, 0) > planning.DAILY_ROWS}
            if plan.cost > most:
                found.add("touches too many rows")
        return found


@pytest.fixture(scope="module")
async def world(postgres_server: PostgresServer) -> AsyncIterator[World]:
    async with database.copied(postgres_server) as made:
        admin = await asyncpg.connect(postgres_server.superuser_url(made.name))
        data = Path(await admin.fetchval("show data_directory"))
        rows = await planning.seem_large(admin, data, FEWER, KNOWN["queues"])
        await admin.close()
        connection = await asyncpg.connect(postgres_server.superuser_url(made.name), server_settings=SETTINGS)
        statements, unplanned = [], []
        for asked in recorded():
            try:
                shapes = sorted(asked.shapes, key=planning.most_first) or [()]
                asked.generic, asked.custom = await planning.plan(connection, asked.sql, shapes)
            except asyncpg.PostgresError as error:
                if not any(form in str(error) for form in KNOWN["unplanned"]):
                    unplanned.append(f"{', '.join(sorted(asked.callers))}: {error}")
            else:
                statements.append(asked)
        yield World(connection, rows, statements, unplanned)
        await connection.close()


def told(found: Mapping[str, Iterable[str]]) -> str:
    return "\n".join(f"{caller}: {', '.join(sorted(set(faults)))}" for caller, faults in sorted(found.items()))


def test_the_suites_were_recorded() -> None:
    found = {file.name.partition("-")[0] for file in FOLDER.glob("*.json")}
    assert found >= set(SUITES), "statements are recorded by the suites: run `make test` before this one"


def test_every_statement_is_planned(world: World) -> None:
    assert not world.unplanned


def test_no_statement_reads_more_with_every_row(world: World) -> None:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for asked in world.statements:
        for caller in asked.callers - KNOWN["reads"].keys():
            if faults := world.faults(asked.used, MOST_OF_BATCH if caller in KNOWN["batches"] else MOST_COST):
                found[caller] |= faults
    assert told(found) == ""


def test_what_is_planned_anew_at_each_call_is_known(world: World) -> None:
    found = {
        caller
        for asked in world.statements
        if asked.planned_anew and not any(re.search(form, asked.sql) for form in KNOWN["anew_forms"])
        for caller in asked.callers
    }
    assert sorted(found - KNOWN["anew"].keys()) == []


def uncached() -> set[str]:
    """Functions whose statements no cache of a connection holds."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for asked in recorded():
        for caller in asked.callers:
            texts[caller].add(asked.sql)
    long = {caller for caller, all_of in texts.items() if any(len(sql.encode()) > CACHED_BYTES for sql in all_of)}
    return long | {caller for caller, all_of in texts.items() if len(all_of) > MOST_TEXTS}


def test_statements_are_found_in_the_cache_of_a_connection() -> None:
    assert sorted(uncached() - KNOWN["varying"].keys()) == []


def test_no_exception_is_named_that_nothing_needs(world: World) -> None:
    needed: defaultdict[str, set[str]] = defaultdict(set, varying=uncached())
    for asked in world.statements:
        assert asked.generic is not None
        faults = world.faults([asked.generic, *asked.custom])
        needed["reads"] |= asked.callers if faults else set()
        needed["batches"] |= asked.callers if "touches too many rows" in faults else set()
        needed["anew"] |= asked.callers if asked.planned_anew else set()
    stale = {kind: KNOWN[kind].keys() - needed[kind] for kind in ("reads", "batches", "anew", "varying")}
    tables = {*KNOWN["small"], *KNOWN["passing"], *KNOWN["daily"]} - world.rows.keys()
    assert not any(stale.values()), stale
    assert not tables


async def test_a_missing_index_is_seen(world: World) -> None:
    sql = """
        select id from donation where session_id = $1 order by status = 'CANCELLED', id desc limit 1
    """
    asked = await planning.plan(world.connection, sql, [("one",)])
    assert not world.faults([asked[0], *asked[1]])
    await world.connection.execute("begin; drop index donation_of_session")
    generic, _ = await planning.plan(world.connection, sql, [("one",)])
    await world.connection.execute("rollback")
    assert world.faults([generic]) == {"touches too many rows"}, "it reads the whole of another index"
