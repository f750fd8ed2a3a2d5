"""Files that are no good are kept aside with all reasons, and what was loaded before stays."""

import gzip
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers import service
from almoner.nonprofits.registers.domain import ImportRefused, RegisterImport, RegisterImportQuarantined
from almoner.platform.database.transactions import Database
from tests.support.bmf import COLUMNS, bodies, body, write
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

MARCH, APRIL = datetime(2026, 3, 9, tzinfo=UTC), datetime(2026, 4, 13, tzinfo=UTC)
Rows = list[dict[str, str]]
RED_CROSS = body("530196605", "AMERICAN NATIONAL RED CROSS", STATE="DC")
GOOD: Rows = [
    RED_CROSS,
    *(dict(row, NTEE_CD="P20", TAX_PERIOD="202506", ASSET_AMT="100") for row in bodies(250)),
    *bodies(120, start=200_000_000, state="HI"),
]


@pytest.fixture
def db(alone: Service) -> Database:
    return alone.db


async def load(db: Database, *files: Path, as_of: datetime = MARCH, force: bool = False) -> RegisterImport:
    return await registers_flows.import_files(db, IrsBmfReader(), files, as_of=as_of, force=force)


def _written(rows: Rows, columns: list[str] = COLUMNS) -> Callable[[Path], Path]:
    return lambda path: write(path, rows, columns)


def _renamed(path: Path) -> Path:
    write(path, GOOD)
    path.write_bytes(path.read_bytes().replace(b"SUBSECTION", b"SUBSECTN", 1))
    return path


def _page(path: Path) -> Path:
    path.write_text("<!DOCTYPE html>\n<html><title>We are sorry</title></html>\n")
    return path


def _broken_quotes(path: Path) -> Path:
    """A delimiter in every twentieth name, not quoted: the columns after it are shifted."""
    write(path, GOOD)
    lines = path.read_text().splitlines()
    path.write_text(
        "\n".join(line.replace(" FUND ", " FUND, ") if nth % 20 == 5 else line for nth, line in enumerate(lines))
    )
    return path


def _in_another_encoding(path: Path) -> Path:
    write(path, GOOD)
    path.write_bytes(path.read_text().replace("FUND", "FÖND").encode("latin-1"))
    return path


BREAKAGES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "cut off while it was fetched": (_written(GOOD[:150]), "part 'HI' has 0 rows where it had 120"),
    "a column was renamed": (_renamed, "no column SUBSECTION"),
    "a page of HTML in its place": (_page, "it is a web page"),
    "an empty file": (_written([]), "no rows"),
    "leading zeros went: numbers as numbers": (
        _written([{**row, "EIN": row["EIN"][1:]} if row["STATE"] == "HI" else row for row in GOOD]),
        "rows are bad",
    ),
    "a column was emptied": (_written([{**row, "NTEE_CD": ""} for row in GOOD]), "NTEE_CD holds something in 0.0%"),
    "a state was left out": (_written([row for row in GOOD if row["STATE"] != "HI"]), "part 'HI' has 0 rows"),
    "delimiters in names": (_broken_quotes, "rows are bad"),
    "another encoding": (_in_another_encoding, "rows are bad"),
    "numbers of another form": (
        _written([RED_CROSS, *({**row, "EIN": row["EIN"][::-1]} for row in GOOD[1:])]),
        "of the 371 numbers that were loaded before",
    ),
    "the bodies that are always there are not": (
        _written([*GOOD[1:], body("199999999", "ANOTHER FUND", STATE="DC")]),
        "none of the numbers that are always in it is there",
    ),
}


async def test_every_breakage_is_put_aside_and_changes_nothing(db: Database, tmp_path: Path) -> None:
    await load(db, write(tmp_path / "good.csv", GOOD))
    async with db.read() as tx:
        before = await tx.fetch("select id, updated_at, active from organisation order by id")
    for name, (breaks, reason) in BREAKAGES.items():
        broken = breaks(tmp_path / f"{name.split(':')[0]}.csv")
        with pytest.raises(RegisterImportQuarantined) as caught:
            await load(db, broken, as_of=APRIL)
        assert any(reason in found for found in caught.value.load.reasons), (name, caught.value.load.reasons)
        assert ("--force" in str(caught.value)) is (caught.value.load.rows > 0), name
    async with db.read() as tx:
        assert await tx.fetch("select id, updated_at, active from organisation order by id") == before
        (status,) = await service.list_sources(tx)
        assert await tx.fetchval("select count(*) from register_reading") == 0
        assert await tx.fetchval("select count(*) from pg_class where relname like 'register\\_staged\\_%'") == 0
    assert len(status.quarantined_imports) == len(BREAKAGES)
    assert (status.data_as_of, status.row_count) == (MARCH, len(GOOD))


async def test_all_reasons_are_told_at_once_with_the_bad_rows(db: Database, tmp_path: Path) -> None:
    await load(db, write(tmp_path / "good.csv", GOOD), as_of=APRIL)
    rows = [{**row, "EIN": "12345"} if nth % 3 else {**row, "ASSET_AMT": ""} for nth, row in enumerate(GOOD)]
    with pytest.raises(RegisterImportQuarantined) as caught:
        await load(db, write(tmp_path / "bad.csv", rows), as_of=MARCH)
    reported = " ".join(caught.value.load.reasons)
    for part in ("rows are bad", "shrank", "part 'WY'", "ASSET_AMT holds", "data of 2026-04-13 are loaded"):
        assert part in reported
    stored = (await registers_flows.list_imports(db))[0]
    assert stored.status == "quarantined"
    (file,) = stored.files
    assert file.name == "bad.csv"
    async with db.read() as tx:
        assert await tx.fetchval("select count(*) from register_quarantine") == file.quarantined
        (status,) = await service.list_sources(tx)
    assert [reasons for _, _, reasons in status.quarantined_imports] == [stored.reasons]


async def test_what_it_would_change_is_kept_row_by_row(db: Database, tmp_path: Path) -> None:
    await load(db, write(tmp_path / "good.csv", GOOD))
    renamed = {**GOOD[1], "NAME": "A RENAMED FUND", "ASSET_AMT": "900"}
    rows = [RED_CROSS, renamed, *GOOD[2:240], body("199999999", "ANOTHER FUND", STATE="DC")]
    with pytest.raises(RegisterImportQuarantined) as caught:
        await load(db, write(tmp_path / "short.csv", rows), as_of=APRIL)
    async with db.read() as tx:
        found = await service.find_quarantined_differences(tx, caught.value.load.id)
    assert found is not None
    assert (found.added, found.changed, found.removed) == (1, 1, len(GOOD) - 240)
    fates = [one.fate for one in found.rows]
    assert [fates.count(fate) for fate in ("removed", "added", "changed")] == [50, 1, 1], "of each kind the first"
    by_fate = {one.fate: one for one in found.rows}
    assert by_fate["added"].columns[0] == ("name", None, "ANOTHER FUND")
    changed = {name: (before, after) for name, before, after in by_fate["changed"].columns}
    assert changed["name"][1] == "A RENAMED FUND"
    assert changed["ASSET_AMT"] == ("100", "900")
    assert (caught.value.load.added, caught.value.load.removed) == (0, 0), "nothing is loaded"


async def test_what_was_put_aside_is_taken_by_force_and_a_good_file_ends_it(db: Database, tmp_path: Path) -> None:
    await load(db, write(tmp_path / "good.csv", GOOD))
    short = write(tmp_path / "short.csv", GOOD[:200])
    with pytest.raises(RegisterImportQuarantined):
        await load(db, short, as_of=APRIL)
    forced = await load(db, short, as_of=APRIL, force=True)
    assert (forced.status, forced.forced, forced.removed) == ("loaded", True, len(GOOD) - 200)
    async with db.read() as tx:
        (status,) = await service.list_sources(tx)
    assert status.quarantined_imports == ()


async def test_folders_zips_and_packed_files_are_what_they_hold(db: Database, tmp_path: Path) -> None:
    wyoming, hawaii = bodies(20), bodies(20, start=200_000_000, state="HI")
    folder = tmp_path / "2026-03-09"
    folder.mkdir()
    first, second = write(folder / "eo_wy.csv", wyoming), write(folder / "eo_hi.csv", hawaii)
    made = await registers_flows.import_files(db, IrsBmfReader(), [folder])
    assert (made.rows, made.data_as_of, [file.name for file in made.files]) == (40, MARCH, ["eo_hi.csv", "eo_wy.csv"])
    archive, packed = tmp_path / "both 2026-03-09.zip", tmp_path / "renamed 2026-03-09.csv.gz"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.write(first, "data/one.csv")
        zipped.write(second, "data/two.csv")
    packed.write_bytes(gzip.compress(first.read_bytes()))
    for same in (archive, packed):
        assert (await registers_flows.import_files(db, IrsBmfReader(), [same])).status == "unchanged"
    archive = archive.rename(tmp_path / "both 2026-04-13.zip")
    with zipfile.ZipFile(archive, "a") as zipped:
        zipped.writestr(
            "data/three.csv", write(tmp_path / "three.csv", bodies(5, start=300_000_000, state="AK")).read_bytes()
        )
    made = await registers_flows.import_files(db, IrsBmfReader(), [archive])
    assert (made.rows, made.data_as_of, len(made.files)) == (45, APRIL, 3)
    (tmp_path / "cut.zip").write_bytes(archive.read_bytes()[:200])
    with pytest.raises(ImportRefused, match="cannot be read"):
        await registers_flows.import_files(db, IrsBmfReader(), [tmp_path / "cut.zip"])


async def test_one_state_alone_replaces_no_region(db: Database, tmp_path: Path) -> None:
    hawaii, alaska = bodies(120, start=200_000_000, state="HI"), bodies(120, start=300_000_000, state="AK")
    region = [*bodies(120), *hawaii, *alaska]
    await load(db, write(tmp_path / "eo3.csv", region))
    assert (await load(db, write(tmp_path / "eo_hi.csv", hawaii[1:]), as_of=APRIL)).removed == 1
    (tmp_path / "again").mkdir()
    cut = write(tmp_path / "again" / "eo3.csv", region[:120])
    with pytest.raises(RegisterImportQuarantined, match="part 'AK' has 0 rows where it had 120"):
        await load(db, cut, as_of=APRIL)


async def test_half_of_a_region_replaces_no_region(db: Database, tmp_path: Path) -> None:
    """Abroad and Puerto Rico come in a file each, and in one together."""
    abroad, island = bodies(120, start=200_000_000, state="GU"), bodies(120, start=300_000_000, state="PR")
    await load(db, write(tmp_path / "eo4.csv", [*abroad, *island]))
    made = await load(db, write(tmp_path / "eo_pr.csv", island[1:]), as_of=APRIL)
    assert (made.status, made.removed) == ("loaded", 1)


async def test_data_of_a_day_to_come_are_refused_by_force_too(db: Database, tmp_path: Path) -> None:
    file = write(tmp_path / "good.csv", GOOD)
    for force in (False, True):
        with pytest.raises(ImportRefused, match="2099-01-01, a day to come"):
            await load(db, file, as_of=datetime(2099, 1, 1, tzinfo=UTC), force=force)
    assert await registers_flows.list_imports(db) == []


async def test_a_damaged_file_or_one_without_lines_is_refused_in_one_sentence(db: Database, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(write(tmp_path / "good.csv", GOOD).read_bytes()))
    packed[40:60] = bytes(20)
    (damaged := tmp_path / "damaged.csv.gz").write_bytes(packed)
    with pytest.raises(ImportRefused, match="cannot be read"):
        await load(db, damaged)
    (endless := tmp_path / "endless.csv").write_bytes(b"1," * 2**20)
    with pytest.raises(RegisterImportQuarantined, match="a line of over a million characters"):
        await load(db, endless)


@pytest.mark.parametrize("code", ["CRI", "NZCS", "ANBI", "RNA"])
async def test_other_numbers_are_seen_where_no_body_is_known_to_be_always_there(
    db: Database, tmp_path: Path, code: str
) -> None:
    source, loader = Written(code.lower(), code), Loader(db, tmp_path)
    await loader.load(source, MARCH, *(entry(f"10{nth:07}", f"FUND {nth}") for nth in range(120)))
    other = tmp_path / "other.jsonl"
    rows = [entry(f"{nth:07}", f"FUND {nth}") for nth in range(120)]
    other.write_text("".join(json.dumps({**row._asdict(), "facts": {}}) + "\n" for row in rows))
    with pytest.raises(
        RegisterImportQuarantined, match="120 of the 120 numbers that were loaded before are in none of the files"
    ):
        await registers_flows.import_files(db, source, [other], as_of=APRIL)
    assert await active(db) == 120


async def active(db: Database) -> int:
    async with db.read() as tx:
        return int(await tx.fetchval("select count(*) from organisation where active"))


async def test_a_list_that_lists_no_bodies_dates_no_registry(db: Database, tmp_path: Path) -> None:
    """What is not loaded has no day (settled 4)."""
    loader = Loader(db, tmp_path)
    dated = "select data_as_of from registry where code = 'IRS'"
    await loader.load(Written("irs-pub78", "IRS", lists_organisations=False), APRIL, entry("530196605", "RED CROSS"))
    async with db.read() as tx:
        assert await tx.fetchval(dated) is None
    await load(db, write(tmp_path / "good.csv", GOOD))
    async with db.read() as tx:
        assert await tx.fetchval(dated) == MARCH
