"""What a source said of a number, and when: versions, the difference between loads, and taking a load back."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers import service
from almoner.nonprofits.registers.domain import (
    ImportRefused,
    NumberDifference,
    RegisterEntry,
    RegisterImport,
    RegisterImportDifference,
)
from almoner.platform.database.transactions import Database, Tx
from tests.support.bmf import bodies, body, write
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

MARCH, APRIL, MAY = (datetime(2026, month, 9, tzinfo=UTC) for month in (3, 4, 5))
QUIET = 631
"""Of the 969 rows that changed, those in which no column but ``IrsBmfReader.ignored_columns`` did; 834 have another
TAX_PERIOD.
"""


@pytest.fixture
def db(alone: Service) -> Database:
    return alone.db


async def load(db: Database, path: Path, rows: list[dict[str, str]], day: datetime) -> RegisterImport:
    return await registers_flows.import_files(db, IrsBmfReader(), [write(path / f"{day:%Y-%m-%d}.csv", rows)])


async def versions(db: Database, number: str) -> list[tuple[Any, ...]]:
    """(name, tax period, from, to) of each version, oldest first."""
    async with db.read() as tx:
        rows = await tx.fetch("select * from register_entry where number_key = $1 order by id", number)
    return [
        (row["record"]["name"], row["record"]["facts"].get("TAX_PERIOD"), row["valid_from"], row["valid_to"])
        for row in rows
    ]


async def rows_of(db: Database, sql: str, *values: object) -> list[Any]:
    async with db.read() as tx:
        return [tuple(row) for row in await tx.fetch(sql, *values)]


async def difference(
    db: Database, old: RegisterImport, new: RegisterImport, rows: int = 0
) -> tuple[RegisterImportDifference, list[NumberDifference]]:
    async with db.snapshot() as tx:
        return await service.compare_imports(tx, old, new, IrsBmfReader().ignored_columns, rows)


async def test_every_version_of_an_entry_is_kept_with_its_days(db: Database, tmp_path: Path) -> None:
    others = bodies(30)
    first, second = (
        body("111111111", "OLD FUND", TAX_PERIOD="202501"),
        body("111111111", "NEW FUND", TAX_PERIOD="202501"),
    )
    await load(db, tmp_path, [first, *others], MARCH)
    made = await load(db, tmp_path, [second, *others], APRIL)
    assert (made.added, made.changed, made.ignored_changes, made.removed) == (0, 1, 0, 0)
    await load(db, tmp_path, others, MAY)
    assert await versions(db, "111111111") == [
        ("OLD FUND", "202501", MARCH, APRIL),
        ("NEW FUND", "202501", APRIL, MAY),
    ]
    assert len(await versions(db, others[0]["EIN"])) == 1


async def test_a_quiet_fact_that_moves_alone_is_kept_and_told_to_nobody(db: Database, tmp_path: Path) -> None:
    others = bodies(30)
    await load(db, tmp_path, [body("111111111", "A FUND", TAX_PERIOD="202501"), *others], MARCH)
    before = await rows_of(db, "select id, updated_at from organisation order by id")
    made = await load(db, tmp_path, [body("111111111", "A FUND", TAX_PERIOD="202512"), *others], APRIL)
    assert (made.changed, made.ignored_changes) == (0, 1)
    assert [version[1] for version in await versions(db, "111111111")] == ["202501", "202512"]
    assert await rows_of(db, "select id, updated_at from organisation order by id") == before
    assert await rows_of(db, "select field from organisation_change") == []


async def test_a_load_can_be_taken_back_and_loaded_again(db: Database, tmp_path: Path) -> None:
    others = bodies(40)
    renamed, gone = body("111111111", "OLD FUND", STREET="1 ELM ST"), body("111111112", "LEAVING FUND")
    first = await load(db, tmp_path, [renamed, gone, *others], MARCH)
    now = "select name, active, address_line_1, search_name, part, last_seen from organisation where number_key = $1"
    was = {number: await rows_of(db, now, number) for number in ("111111111", "111111112")}
    changed = [{**renamed, "NAME": "NEW FUND", "STREET": "2 OAK ST"}, body("111111113", "LATE FUND"), *others]
    second = await load(db, tmp_path, changed, APRIL)
    made = await registers_flows.roll_back_newest_import(db, IrsBmfReader())
    assert (made.rolls_back, made.added, made.changed, made.removed) == (second.id, 1, 1, 1)
    assert made.data_as_of == MARCH
    for number, stood in was.items():
        assert await rows_of(db, now, number) == stood
    assert await rows_of(db, "select active from organisation where number_key = '111111113'") == [(False,)]
    assert await rows_of(db, "select field, after from organisation_change where load_id = $1 order by field", made.id)
    async with db.read() as tx:
        (status,) = await service.list_sources(tx)
        assert (await service.resolve_import(tx, "irs-bmf", MAY)).id == made.id
    assert (status.data_as_of, status.row_count) == (MARCH, 42)
    assert [one.status for one in await registers_flows.list_imports(db)] == ["loaded", "rolled_back", "loaded"]
    assert (await difference(db, first, made))[0] == RegisterImportDifference(0, 0, 0, 0, 0, 0, {})
    with pytest.raises(ImportRefused, match="taken back already"):
        await registers_flows.roll_back_newest_import(db, IrsBmfReader())
    again = await load(db, tmp_path, changed, APRIL)
    assert (again.added, again.changed, again.removed) == (1, 1, 1)


async def test_the_first_load_can_be_taken_back(db: Database, tmp_path: Path) -> None:
    await load(db, tmp_path, bodies(5), MARCH)
    await registers_flows.roll_back_newest_import(db, IrsBmfReader())
    assert await rows_of(db, "select distinct active from organisation") == [(False,)]
    assert await rows_of(db, "select data_as_of from registry where code = 'IRS'") == [(None,)]
    with pytest.raises(ImportRefused, match="taken back already"):
        await registers_flows.roll_back_newest_import(db, IrsBmfReader())


async def test_a_difference_names_what_moved_and_was_renamed(db: Database, tmp_path: Path) -> None:
    others, hawaii = bodies(30), bodies(30, start=200_000_000, state="HI")
    first = await load(db, tmp_path, [*others, *hawaii, body("111111111", "OLD FUND")], MARCH)
    rows = [
        {**others[0], "STATE": "HI"},
        *others[1:],
        *hawaii[1:],
        body("111111111", "NEW FUND"),
        body("333333333", "X"),
    ]
    second = await load(db, tmp_path, rows, APRIL)
    counted, reported = await difference(db, first, second, rows=10)
    assert counted == RegisterImportDifference(1, 1, 2, 0, 1, 1, {"name": 1, "state": 1, **counted.columns})
    assert [(row.number, row.change_kind) for row in reported] == [
        ("333333333", "in"),
        ("200000000", "out"),
        ("100000000", "changed"),
        ("111111111", "changed"),
    ]
    assert (reported[2].old_part, reported[2].new_part) == ("WY", "HI")
    assert (reported[3].old_name, reported[3].new_name) == ("OLD FUND", "NEW FUND")


async def test_nobody_waits_for_a_merge(db: Database, tmp_path: Path) -> None:
    """It locks the rows that it changes, and those only against others that change them."""
    others = bodies(30)
    await load(db, tmp_path, [body("111111111", "OLD FUND"), *others], MARCH)
    modes: set[str] = set()

    async def meanwhile(_: Tx, made: RegisterImport) -> None:
        assert made.changed == 1
        async with db.write() as tx:
            await tx.execute("set local lock_timeout = '2s'")
            # As who gives to it does, or puts it into a category.
            await tx.execute("select from organisation where number_key = '111111111' for key share")
            await tx.execute("select from registry where code = 'IRS' for key share")
            rows = await tx.fetch(
                """
                select distinct mode from pg_locks l join pg_class c on c.oid = l.relation
                join pg_stat_activity a on a.pid = l.pid and a.backend_type <> 'autovacuum worker'
                where c.relname = any($1) and a.datname = current_database()
                """,
                ["organisation", "organisation_search", "organisation_search_term", "register_entry", "registry"],
            )
            modes.update(row["mode"] for row in rows)

    file = write(tmp_path / "2026-04-09.csv", [body("111111111", "NEW FUND"), *others])
    await registers_flows.import_files(db, IrsBmfReader(), [file], record_audit=meanwhile)
    assert modes == {"AccessShareLock", "RowShareLock", "RowExclusiveLock"}


async def test_rows_of_one_number_are_one_entry_and_make_no_body(db: Database, tmp_path: Path) -> None:
    given = "{}|{}||1 ELM ST|LARAMIE|WY|82070|US|03|{}|{}|{}\n"
    twice = [
        given.format("111111111", "A FUND", "15-MAY-2012", "09-JUN-2012", "15-MAY-2012"),
        given.format("111111111", "A FUND", "15-MAY-2019", "09-JUN-2019", ""),
    ]
    others = [given.format(f"{nth:09d}", f"FUND {nth}", "15-MAY-2011", "09-JUN-2011", "") for nth in range(2, 40)]
    file = tmp_path / "2026-04-13.txt"
    file.write_text("\n\n" + "".join([*twice, *others]) + "\n")
    made = await registers_flows.import_files(db, IrsRevocationsReader(), [file])
    assert (made.rows, made.added, made.quarantined) == (40, 39, 0)
    (record,) = await rows_of(db, "select record from register_entry where number_key = '111111111'")
    assert [row["facts"]["REVOCATION_DATE"] for row in record[0]["rows"]] == ["2012-05-15", "2019-05-15"]
    assert await rows_of(db, "select id from organisation") == []
    file.write_text("\n\n" + "".join([twice[1], *others]) + "\n")
    made = await registers_flows.import_files(db, IrsRevocationsReader(), [file], as_of=MAY)
    assert (made.added, made.changed, made.ignored_changes, made.removed) == (0, 1, 0, 0)
    await registers_flows.roll_back_newest_import(db, IrsRevocationsReader())
    (record,) = await rows_of(
        db, "select record from register_entry where number_key = '111111111' and valid_to is null"
    )
    assert len(record[0]["rows"]) == 2


async def test_quiet_facts_are_quiet_in_each_of_several_rows(db: Database, tmp_path: Path) -> None:
    source = Written(
        "filings", "IRS", lists_organisations=False, has_repeated_numbers=True, ignored_columns=frozenset({"YEAR"})
    )
    loader = Loader(db, tmp_path)

    def filing(year: int, said: str) -> RegisterEntry:
        return entry("111111111", "", facts={"YEAR": year, "SAID": said})

    first = await loader.load(source, MARCH, filing(2024, "a"), filing(2025, "b"))
    second = await loader.load(source, APRIL, filing(2025, "a"), filing(2026, "b"))
    third = await loader.load(source, MAY, filing(2025, "a"), filing(2026, "c"))
    assert [(one.changed, one.ignored_changes) for one in (second, third)] == [(0, 1), (1, 0)]
    async with db.snapshot() as tx:
        ignored = await service.list_ignored_columns(tx, source.code)
        both = [
            await service.compare_imports(tx, one, other, ignored, 0)
            for one, other in ((first, second), (second, third))
        ]
    assert [(one.changed, one.ignored_changes) for one, _ in both] == [(0, 1), (1, 0)]


async def test_an_older_file_of_another_part_brings_nothing_back(db: Database, tmp_path: Path) -> None:
    """It moved to another state's file, which later has it no more: what the first state's said is past."""
    wyoming, hawaii = bodies(30), bodies(30, start=200_000_000, state="HI")
    moving = body("111111111", "MOVING FUND", STATE="WY")

    async def given(name: str, rows: list[dict[str, str]], day: datetime) -> RegisterImport:
        return await registers_flows.import_files(
            db, IrsBmfReader(), [write(tmp_path / f"{name}.csv", rows)], as_of=day, force=True
        )

    async def active() -> list[Any]:
        return [row[0] for row in await rows_of(db, "select active from organisation where number_key = '111111111'")]

    await given("hi-1", hawaii, MARCH)
    await given("wy-1", [*wyoming, moving], APRIL)
    await given("wy-2", wyoming, MAY)
    assert await active() == [False]
    there = {**moving, "STATE": "HI"}
    older = await given("hi-2", [*hawaii, there], APRIL)
    assert (older.added, await active()) == (0, [False])
    newer = await given("hi-3", [*hawaii, there, body("222222222", "X", STATE="HI")], datetime(2026, 6, 9, tzinfo=UTC))
    assert (newer.added, await active()) == (2, [True])
    # What brought it may have been a mistake that was taken back: then an older file of another part counts.
    await given("wy-3", [*wyoming, body("333333333", "WRONG")], datetime(2026, 6, 10, tzinfo=UTC))
    await registers_flows.roll_back_newest_import(db, IrsBmfReader())
    back = await given(
        "hi-4", [*hawaii, there, body("333333333", "RIGHT", STATE="HI")], datetime(2026, 6, 9, tzinfo=UTC)
    )
    assert back.added == 1


@pytest.mark.soak
async def test_a_month_of_the_district_is_its_difference(db: Database, given_files: Path) -> None:
    real = given_files / "us_irs_bmf"
    march = await registers_flows.import_files(db, IrsBmfReader(), [real / "2026-03-09" / "eo_dc.csv"])
    april = await registers_flows.import_files(db, IrsBmfReader(), [real / "2026-04-13" / "eo_dc.csv"])
    assert (april.added, april.removed, april.changed + april.ignored_changes, april.ignored_changes) == (
        156,
        75,
        969,
        QUIET,
    )
    counted, _ = await difference(db, march, april)
    assert (counted.added, counted.removed, counted.changed + counted.ignored_changes, counted.ignored_changes) == (
        156,
        75,
        969,
        QUIET,
    )
    assert counted.columns["facts.TAX_PERIOD"] == 834
    reported = await rows_of(
        db, "select count(distinct organisation_id) from organisation_change where field not in ('active', 'branch_of')"
    )
    assert reported[0][0] <= april.changed


@pytest.mark.soak
async def test_bodies_that_moved_between_files_are_moves(db: Database, given_files: Path) -> None:
    real = given_files / "us_irs_bmf"
    names = ("eo_dc.csv", "eo_wy.csv", "eo_ri.csv", "eo4.csv")
    await registers_flows.import_files(db, IrsBmfReader(), [real / "2026-03-09" / name for name in names])
    made = await registers_flows.import_files(db, IrsBmfReader(), [real / "2026-04-13" / name for name in names])
    assert (made.added, made.removed, made.changed, made.ignored_changes, made.moved) == (423, 168, 759, 1561, 6)
    gone = await rows_of(db, "select count(*) from organisation where last_seen is not null")
    assert gone[0][0] == made.removed
    assert await rows_of(db, "select count(*) from register_entry where valid_to is null") == [(made.rows,)]
