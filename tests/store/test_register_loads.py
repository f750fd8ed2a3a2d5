"""Loading a register: provenance, quarantine, what a newer file changes, and what is refused."""

import gzip
import hashlib
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from asyncpg import Record

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import ImportProgress, ImportRefused, RegisterImport, RegisterImportQuarantined
from almoner.nonprofits.registers.load_checks import (
    find_missing_number_problems,
    find_reduced_part_problems,
    has_too_many_rejected_rows,
)
from almoner.platform.database.transactions import ALL_PARTNERS, Database
from tests.support.bmf import bodies, body, write
from tests.support.service import Service

MARCH, APRIL, MAY = (datetime(2026, month, day, tzinfo=UTC) for month, day in ((3, 9), (4, 13), (5, 11)))
ROWS = 40


@pytest.fixture
def db(alone: Service) -> Database:
    return alone.db


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[Path]:
    return (tmp_path / f"file{nth}.csv" for nth in count())


async def load(db: Database, *files: Path, as_of: datetime = MARCH, force: bool = False) -> RegisterImport:
    return await registers_flows.import_files(db, IrsBmfReader(), files, as_of=as_of, force=force)


async def stored(db: Database, ein: str) -> Record:
    async with db.read() as tx:
        row = await tx.fetchrow("select * from organisation where number_key = $1", ein)
    assert row is not None
    return row


async def value(db: Database, sql: str) -> object:
    async with db.read() as tx:
        return await tx.fetchval(sql)


async def test_a_load_tells_where_it_came_from(db: Database, paths: Iterator[Path]) -> None:
    file = write(next(paths), [*bodies(ROWS), body("12345", "BAD FUND", ICO="% JANE ROE")])
    made = await load(db, file)
    assert (made.rows, made.added, made.changed, made.removed, made.quarantined) == (ROWS, ROWS, 0, 0, 1)
    (kept,) = await registers_flows.list_imports(db)
    assert kept == made
    (fact,) = kept.files
    assert (fact.name, fact.parts, fact.rows, fact.quarantined) == (file.name, ("WY",), ROWS, 1)
    assert fact.sha256 == hashlib.sha256(file.read_bytes()).digest()
    async with db.read() as tx:
        bad = await tx.fetchrow("select file_name, line, reason, content from register_quarantine")
    assert bad is not None
    assert (bad["file_name"], bad["line"]) == (file.name, ROWS + 2)
    assert "nine digits" in bad["reason"]
    assert "ROE" not in bad["content"]
    assert await value(db, "select data_as_of from registry where code = 'IRS'") == MARCH
    assert await value(db, "select count(*) from registry where data_as_of is not null") == 1


async def test_the_same_file_again_changes_nothing_packed_or_not(db: Database, paths: Iterator[Path]) -> None:
    file = write(next(paths), bodies(ROWS))
    await load(db, file)
    before = await value(db, "select max(updated_at) from organisation")
    packed, archive = next(paths).with_suffix(".csv.gz"), next(paths).with_suffix(".zip")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(file, "eo.csv")
    for same in (file, packed, archive):
        again = await load(db, same)
        assert (again.status, again.added, again.changed, again.removed) == ("unchanged", 0, 0, 0)
    assert len(await registers_flows.list_imports(db)) == 1
    assert await value(db, "select max(updated_at) from organisation") == before


async def test_the_same_file_of_a_newer_day_is_younger(alone: Service, db: Database, paths: Iterator[Path]) -> None:
    """The publisher says it again: the data are younger, and nothing else is changed or told."""
    file = write(next(paths), bodies(ROWS))
    await load(db, file)
    alone.clock.advance(timedelta(days=1))
    for as_of, status in ((APRIL, "loaded"), (APRIL, "unchanged"), (MARCH, "unchanged")):
        again = await load(db, file, as_of=as_of)
        assert (again.status, again.data_as_of, again.added, again.changed, again.removed) == (status, APRIL, 0, 0, 0)
    assert await value(db, "select data_as_of from registry where code = 'IRS'") == APRIL
    async with db.read() as tx:
        number = bodies(1)[0]["EIN"]
        one = await organisations.get_by_number(tx, ALL_PARTNERS, "USA", "IRS", number)
    assert [reported.data_as_of for reported in one.sources] == [APRIL]
    assert await value(db, "select count(*) from organisation_change") == 0
    assert await value(db, "select count(*) from organisation where updated_at > created_at") == 0
    assert await value(db, "select count(distinct load_id) from register_entry") == 1
    assert await value(db, "select count(*) from event") == 0


async def test_an_older_file_moves_nothing_back(db: Database, paths: Iterator[Path]) -> None:
    """A body moved to another state; the older list of its former one does not know that yet (one register)."""
    mover = bodies(1)[0]
    wyoming, hawaii = bodies(ROWS), bodies(ROWS, start=200_000_000, state="HI")
    await load(db, write(next(paths), wyoming))
    await load(db, write(next(paths), [*hawaii, {**mover, "STATE": "HI"}]), as_of=MAY)
    await load(db, write(next(paths), [*wyoming, body("222222222", "NEW FUND")]), as_of=APRIL)
    assert await value(db, f"select part from organisation where number_key = '{mover['EIN']}'") == "HI"
    await load(db, write(next(paths), [*wyoming[1:], body("222222222", "NEW FUND")]), as_of=MAY)
    left = await stored(db, mover["EIN"])
    assert (left["active"], left["part"], left["last_seen"]) == (True, "HI", None)


async def test_what_is_loaded_already_is_loaded_again_by_force(db: Database, paths: Iterator[Path]) -> None:
    file = write(next(paths), bodies(ROWS))
    await load(db, file)
    assert (await load(db, file, force=True)).status == "loaded"


async def test_a_newer_file_adds_changes_and_retires(alone: Service, db: Database, paths: Iterator[Path]) -> None:
    rows = bodies(ROWS)
    await load(db, write(next(paths), rows))
    before = await stored(db, rows[1]["EIN"])
    alone.clock.advance(timedelta(days=1))
    newer = [{**rows[1], "NAME": "RENAMED FUND"}, *rows[2:], body("222222222", "NEW FUND")]
    made = await load(db, write(next(paths), newer), as_of=APRIL)
    assert (made.added, made.changed, made.removed) == (1, 1, 1)
    gone, changed, same = [await stored(db, rows[nth]["EIN"]) for nth in (0, 1, 2)]
    assert (gone["active"], gone["first_seen"], gone["last_seen"]) == (False, MARCH, MARCH)
    assert (changed["id"], changed["name"], changed["search_name"]) == (before["id"], "RENAMED FUND", "renamed fund")
    assert changed["first_seen"] == MARCH
    assert changed["updated_at"] > same["updated_at"] == gone["created_at"]
    assert (await stored(db, "222222222"))["first_seen"] == APRIL


async def test_a_body_that_comes_back_is_active_again(db: Database, paths: Iterator[Path]) -> None:
    rows = bodies(ROWS)
    await load(db, write(next(paths), rows))
    await load(db, write(next(paths), rows[1:]), as_of=APRIL)
    made = await load(db, write(next(paths), [*rows, body("222222222", "NEW FUND")]), as_of=APRIL + timedelta(days=30))
    assert (made.added, made.changed) == (2, 0)
    back = await stored(db, rows[0]["EIN"])
    assert (back["active"], back["first_seen"], back["last_seen"]) == (True, MARCH, None)


async def test_a_file_retires_only_bodies_of_its_own_parts(db: Database, paths: Iterator[Path]) -> None:
    wyoming, hawaii = bodies(ROWS), bodies(ROWS, start=200_000_000, state="HI")
    await load(db, write(next(paths), wyoming), write(next(paths), hawaii))
    made = await load(db, write(next(paths), hawaii[1:]), as_of=APRIL)
    assert made.removed == 1
    assert await value(db, "select count(*) from organisation where state = 'WY' and active") == ROWS
    assert await value(db, "select data_as_of from register_part where part = 'WY'") == MARCH
    assert await value(db, "select data_as_of from register_part where part = 'HI'") == APRIL


async def test_a_body_that_moved_is_one_body(db: Database, paths: Iterator[Path]) -> None:
    wyoming, hawaii = bodies(ROWS), bodies(ROWS, start=200_000_000, state="HI")
    await load(db, write(next(paths), wyoming), write(next(paths), hawaii))
    moved = [*hawaii, {**wyoming[0], "STATE": "HI"}]
    made = await load(db, write(next(paths), wyoming[1:]), write(next(paths), moved), as_of=APRIL)
    assert (made.added, made.changed, made.removed) == (0, 1, 0)
    assert (await stored(db, wyoming[0]["EIN"]))["state"] == "HI"


async def test_a_shrunken_file_is_refused_unless_forced(db: Database, paths: Iterator[Path]) -> None:
    rows = bodies(ROWS)
    await load(db, write(next(paths), rows))
    short = write(next(paths), rows[: ROWS - ROWS // 10 - 1])
    with pytest.raises(ImportRefused, match=f"{ROWS - ROWS // 10 - 1} rows where {ROWS} were loaded"):
        await load(db, short, as_of=APRIL)
    assert await value(db, "select count(*) from organisation where active") == ROWS
    assert [one.status for one in await registers_flows.list_imports(db)] == ["quarantined", "loaded"]
    made = await load(db, short, as_of=APRIL, force=True)
    assert (made.removed, made.forced) == (ROWS // 10 + 1, True)


async def test_nine_tenths_are_enough(db: Database, paths: Iterator[Path]) -> None:
    rows = bodies(ROWS)
    await load(db, write(next(paths), rows))
    assert (await load(db, write(next(paths), rows[ROWS // 10 :]), as_of=APRIL)).removed == ROWS // 10


async def test_an_older_file_is_refused_unless_forced(db: Database, paths: Iterator[Path]) -> None:
    rows = bodies(ROWS)
    await load(db, write(next(paths), rows), as_of=APRIL)
    older = write(next(paths), [*rows, body("222222222", "OLD FUND")])
    with pytest.raises(ImportRefused, match="2026-03-09"):
        await load(db, older, as_of=MARCH)
    assert (await load(db, older, as_of=MARCH, force=True)).added == 1


async def test_a_number_that_occurs_twice_is_put_aside(db: Database, paths: Iterator[Path]) -> None:
    rows = bodies(ROWS)
    made = await load(db, write(next(paths), [*rows, {**rows[3], "NAME": "THE SAME AGAIN"}]))
    assert (made.added, made.quarantined) == (ROWS, 1)
    assert (await stored(db, rows[3]["EIN"]))["name"] == rows[3]["NAME"]
    assert await value(db, "select reason from register_quarantine") == "the number occurs earlier in the files"


async def test_too_many_bad_rows_are_a_file_of_another_form(db: Database, paths: Iterator[Path]) -> None:
    bad = [body(f"{nth}", "BAD FUND") for nth in range(11)]
    with pytest.raises(ImportRefused, match="11 of 51 rows are bad, the first in line 42"):
        await load(db, write(next(paths), [*bodies(ROWS), *bad]))
    assert await value(db, "select count(*) from organisation") == 0
    assert (await load(db, write(next(paths), [*bodies(ROWS), *bad[:10]]))).quarantined == 10


async def test_what_is_no_file_of_the_register_changes_nothing(db: Database, paths: Iterator[Path]) -> None:
    empty, other, absent = next(paths), next(paths), next(paths)
    empty.write_bytes(b"")
    other.write_text("a,b\n1,2\n")
    for file in (empty, other, write(next(paths), [])):
        with pytest.raises(RegisterImportQuarantined):
            await load(db, file)
    with pytest.raises(ImportRefused, match="cannot be read"):
        await load(db, absent)
    file = write(next(paths), bodies(ROWS))
    with pytest.raises(ImportRefused, match="same content"):
        await load(db, file, file)
    assert [one.status for one in await registers_flows.list_imports(db)] == ["quarantined"] * 3
    assert await value(db, "select count(*) from register_entry") == 0


async def test_bytes_that_are_no_text_put_their_row_aside(db: Database, paths: Iterator[Path]) -> None:
    file = write(next(paths), bodies(ROWS))
    file.write_bytes(file.read_bytes().replace(b"PLAIN FUND 7\x2c", b"PLAIN \xff FUND 7,"))
    assert (await load(db, file)).quarantined == 1


async def test_subordinates_point_to_the_central_body_of_their_group(db: Database, paths: Iterator[Path]) -> None:
    central = body("111111111", "GRAND LODGE", GROUP="1961", AFFILIATION="6", STATE="HI")
    branch = body("111111112", "LODGE 5", GROUP="1961", AFFILIATION="9")
    await load(db, write(next(paths), [branch]))
    assert (await stored(db, branch["EIN"]))["branch_of"] is None
    await load(db, write(next(paths), [central]))
    row = await stored(db, branch["EIN"])
    assert row["usa_group_exempt"] is True
    assert row["branch_of"] == (await stored(db, central["EIN"]))["id"]


async def test_the_day_of_the_data_is_read_from_the_folder(db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "2026-04-13"
    folder.mkdir()
    made = await registers_flows.import_files(db, IrsBmfReader(), [write(folder / "eo_wy.csv", bodies(ROWS))])
    assert made.data_as_of == APRIL


async def test_progress_tells_rows_pace_and_time_left(db: Database, paths: Iterator[Path]) -> None:
    reported: list[ImportProgress] = []
    file = write(next(paths), bodies(12_000))
    await registers_flows.import_files(db, IrsBmfReader(), [file], as_of=MARCH, on_progress=reported.append)
    stages = [progress.stage for progress in reported]
    assert stages == ["reading"] * 3 + ["merging"] * (len(reported) - 3)
    assert reported[-1].rows_read == 12_000
    assert 0.5 < reported[-1].share_done < 1
    assert reported[-2].seconds_left is not None
    assert [progress.share_done for progress in reported] == sorted(progress.share_done for progress in reported)


async def test_words_of_loaded_names_are_in_the_dictionary(db: Database, paths: Iterator[Path]) -> None:
    rows = [body("111111111", "COOKE-HOUSE", SORT_NAME="NURSERY"), body("111111112", "---", SORT_NAME="WORDLESS")]
    await load(db, write(next(paths), rows))
    words = await value(db, "select array_agg(word) from organisation_search_term")
    assert isinstance(words, list)
    assert {"cooke", "house", "nursery", "wordless"} <= set(words)


def test_a_large_part_that_shrank_is_found_though_the_whole_did_not() -> None:
    assert find_reduced_part_problems({"WY": 100, "CA": 10_000}, {"WY": 89, "CA": 10_000}) == [
        "part 'WY' has 89 rows where it had 100"
    ]
    assert find_reduced_part_problems({"AA": 3, "CA": 10_000}, {"AA": 1, "CA": 10_000}) == []
    assert find_reduced_part_problems({}, {"WY": 5}) == []


def test_nine_tenths_of_the_numbers_stay() -> None:
    assert (
        find_missing_number_problems(100, 10)
        == find_missing_number_problems(99, 99)
        == find_missing_number_problems(0, 0)
        == []
    )
    assert "11 of the 100 numbers" in find_missing_number_problems(100, 11)[0]


@pytest.mark.parametrize(
    ("good", "bad", "refused"), [(0, 10, False), (10, 11, True), (2_000, 20, False), (1_900, 20, True)]
)
def test_one_row_in_a_hundred_may_be_bad(good: int, bad: int, refused: bool) -> None:
    assert has_too_many_rejected_rows(good, bad) is refused
