"""A load costs what it changes: it looks at what it bears on, and that comes to the same as looking at everything."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from almoner.nonprofits.merges import service as merges
from almoner.nonprofits.merges.domain import ImportScope
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterEntry, RegisterImport, RegisterLink
from tests.support.database import TestDatabase
from tests.support.service import Service, serving
from tests.support.written_register import Loader, Written, entry

FIRST: Final = datetime(2026, 1, 9, tzinfo=UTC)
BMF = Written("irs-bmf", "IRS")
REVOKED = Written("irs-revocations", "IRS", lists_organisations=False, has_repeated_numbers=True)
CCEW, OSCR = Written("ccew", "CCEW"), Written("oscr", "OSCR")
LINKS = Written("gb-links", "CCEW", lists_organisations=False)


class _TakenBack(Exception):
    pass


async def unapplied(service: Service, registry: str, load: RegisterImport) -> list[Any]:
    """What looking at all bodies of a registry would change after a load. Nothing is left of having looked."""
    shown = "select id, active, status_override, succeeded_by, branch_of, same_as from organisation"
    found: list[Any] = []
    try:
        async with service.db.write() as tx:
            registry_id = await tx.fetchval("select id from registry where code = $1", registry)
            before = {tuple(row) for row in await tx.fetch(shown)}
            scope = ImportScope(registry_id, load.source, (), None)
            await merges.apply_register_links_to_organisations(tx, load.id, load.data_as_of, scope, ())
            found = [tuple(row) for row in await tx.fetch(shown) if tuple(row) not in before]
            raise _TakenBack
    except _TakenBack:
        return found


def irs(pick: random.Random) -> list[RegisterEntry]:
    """Members and central bodies of two groups in two parts, and bodies by themselves."""
    made = []
    for number in range(1, 13):
        if pick.random() < 0.2:
            continue
        group, central = pick.choice(["1961", "1962", None]), pick.random() < 0.3
        made.append(
            entry(
                f"{number:09d}",
                f"Lodge {pick.randrange(3)}",
                part=pick.choice(["DC", "RI"]) if pick.random() < 0.1 else ("DC" if number % 2 else "RI"),
                group_key=group,
                is_branch_parent=central and group is not None,
                usa_group_exempt=not central and group is not None,
            )
        )
    return made


def revocations(pick: random.Random) -> list[RegisterEntry]:
    def facts(number: int) -> dict[str, str]:
        posted = FIRST + timedelta(days=pick.randrange(60))
        cured = {"REINSTATEMENT_DATE": "15-JAN-2026"} if pick.random() < 0.3 else {}
        return {"REVOCATION_DATE": "01-JAN-2026", "POSTING_DATE": f"{posted:%d-%b-%Y}".upper(), **cured}

    return [
        entry(f"{number:09d}", "Lodge", facts={"EIN": f"{number:09d}", **facts(number)})
        for number in range(1, 13)
        if pick.random() < 0.3
    ]


def charities(pick: random.Random, numbers: list[str]) -> list[RegisterEntry]:
    return [
        entry(
            number,
            f"Fund {pick.randrange(3)}",
            active=pick.random() < 0.8,
            registration_date=FIRST - timedelta(days=pick.randrange(4)),
            parent_number=pick.choice([None, None, numbers[0], numbers[1]]) if number not in numbers[:2] else None,
        )
        for number in numbers
        if pick.random() < 0.85
    ]


ENGLISH: Final = [f"26371{nth}" for nth in range(8)]
SCOTTISH: Final = [f"SC00232{nth}" for nth in range(8)]


def links(pick: random.Random) -> list[RegisterLink]:
    found = [
        RegisterLink("same", "CCEW", pick.choice(ENGLISH), "OSCR", pick.choice(SCOTTISH))
        for _ in range(pick.randrange(4))
    ]
    for _ in range(pick.randrange(4)):
        one, other = pick.sample(ENGLISH, 2)
        at = FIRST - timedelta(days=pick.randrange(3)) if pick.random() < 0.5 else None
        found.append(RegisterLink(pick.choice(["merged", "reregistered"]), "CCEW", one, "CCEW", other, at))
    return found


@pytest.mark.parametrize("seed", range(6))
async def test_what_a_load_bears_on_is_all_that_it_changes(alone: Service, tmp_path: Path, seed: int) -> None:
    pick, loader = random.Random(seed), Loader(alone.db, tmp_path)
    told: list[RegisterEntry | RegisterLink]
    for nth in range(14):
        day = FIRST + timedelta(days=7 * nth)
        match pick.randrange(5):
            case 0 | 1:
                rows = irs(pick)
                if nth and pick.random() < 0.5:
                    rows = [row for row in rows if row.part == "RI"] or rows
                source, registry, told = BMF, "IRS", [*rows]
            case 2:
                source, registry, told = REVOKED, "IRS", [entry("000000099", "Lodge"), *revocations(pick)]
            case 3:
                source, registry, numbers = pick.choice([(CCEW, "CCEW", ENGLISH), (OSCR, "OSCR", SCOTTISH)])
                told = [*charities(pick, numbers), entry(f"{numbers[0][:-1]}9", "Fund")]
            case _:
                source, registry, told = LINKS, "CCEW", [entry("199999", "Told of"), *links(pick)]
        load = await loader.load(source, day, *told)
        assert await unapplied(alone, registry, load) == [], (seed, nth, source.code)
        if pick.random() < 0.2:
            load = await registers_flows.roll_back_newest_import(alone.db, source)
            assert await unapplied(alone, registry, load) == [], (seed, nth, source.code, "taken back")


def large(part: str, start: int, count: int, **members: Any) -> list[RegisterEntry]:
    return [
        entry(f"{start + nth:09d}", f"Society {nth} of {part}", part=part, group_key=f"{nth % 40:04d}", **members)
        for nth in range(count)
    ]


async def test_statistics_are_gathered_when_enough_changed(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service:
        loader = Loader(service.db, tmp_path)

        async def counted() -> int:
            async with service.db.read() as tx:
                return int(await tx.fetchval("select reltuples::bigint from pg_class where relname = 'organisation'"))

        rows = large("DC", 100_000_000, 200)
        await loader.load(BMF, FIRST, *rows)
        assert await counted() == 200
        await loader.load(BMF, FIRST + timedelta(days=7), *rows, entry("200000001", "One more", part="DC"))
        assert await counted() == 200
        await loader.load(BMF, FIRST + timedelta(days=14), *rows, *large("DC", 300_000_000, 10))
        assert await counted() == 211
