"""What cannot be read of a register never ends an organisation: only a row that is really missing does, or says so."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterImport
from almoner.platform.database.transactions import Database
from almoner.sources import REGISTER_SOURCES
from tests.support.bmf import bodies, write
from tests.support.database import TestDatabase
from tests.support.service import Service, serving
from tests.support.terminal import in_process, operator
from tests.support.uk_registers import ccew_text, ccni, charity, northern_irish

Row = dict[str, str]
DAYS = [datetime(2026, month, 1, tzinfo=UTC) for month in range(1, 7)]
MANY = 80
NUMBER, LINKED, NAME = "registered_charity_number", "linked_charity_number", "charity_name"


@pytest.fixture
async def db(alone: Service) -> Database:
    return alone.db


def charities() -> list[Row]:
    return [charity(nth, **{NUMBER: str(1_100_000 + nth), NAME: f"FUND {nth}"}) for nth in range(1, MANY + 1)]


def extract(folder: Path, rows: list[Row]) -> Path:
    file = ccew_text("charity", rows)
    folder.mkdir(exist_ok=True)
    (folder / file.name).write_bytes(file.content)
    return folder / file.name


async def ccew(db: Database, path: Path, day: datetime, *, force: bool = False) -> RegisterImport:
    return await registers_flows.import_files(db, REGISTER_SOURCES["ccew"], [path], as_of=day, force=force)


async def inactive(db: Database) -> list[str]:
    async with db.read() as tx:
        rows = await tx.fetch("select registry_number from organisation where not active order by registry_number")
    return [row["registry_number"] for row in rows]


def damaged(changes: Mapping[int, Row], *, without: tuple[int, ...] = ()) -> list[Row]:
    """The charities with these columns changed, by the place of their row, and without some of them."""
    return [{**row, **changes.get(nth, {})} for nth, row in enumerate(charities()) if nth not in without]


async def test_values_that_cannot_be_read_are_null_and_reported(db: Database, tmp_path: Path) -> None:
    await ccew(db, extract(tmp_path / "a", charities()), DAYS[0])
    changes = {
        0: {"latest_income": "12k"},
        1: {"latest_income": "NULL"},
        2: {"date_of_registration": "45000"},
        3: {"charity_registration_status": "registered"},
        4: {NUMBER: "1100005 "},
        5: {NUMBER: "\u00a01100006\ufeff"},
        6: {"charity_insolvent": "maybe"},
        7: {"latest_income": "1.2E+06"},
    }
    made = await ccew(db, extract(tmp_path / "b", damaged(changes)), DAYS[1])
    assert (made.quarantined, made.removed, made.carried_over) == (0, 0, 0)
    assert {column: found["rows"] for column, found in made.unreadable_values.items()} == {
        "latest_income": 3, "date_of_registration": 1, "charity_insolvent": 1,
    }  # fmt: skip
    assert made.unreadable_values["latest_income"]["examples"][0] == ["publicextract.charity.txt", 2, "12k"]
    assert await inactive(db) == []
    (stored, *_) = await registers_flows.list_imports(db)
    assert (stored.unreadable_values, stored.notes) == (made.unreadable_values, made.notes)
    assert "charity_classification" in "".join(made.notes)


async def test_a_rejected_row_is_not_missing(db: Database, tmp_path: Path) -> None:
    await ccew(db, extract(tmp_path / "a", charities()), DAYS[0])
    changes = {0: {"charity_registration_status": "Unknown"}, 1: {NAME: ""}, 2: {NAME: "A\tB"}, 3: {NAME: "F\ufffd"}}
    made = await ccew(db, extract(tmp_path / "b", damaged(changes, without=(9,))), DAYS[1])
    assert (made.quarantined, made.carried_over, made.removed) == (4, 4, 1)
    assert await inactive(db) == ["1100010"], "the one that is really missing"
    async with db.read() as tx:
        names = await tx.fetch("select name from organisation where number_key in ('1100001', '1100002') order by 1")
    assert [row["name"] for row in names] == ["FUND 1", "FUND 2"], "as they were known"
    ended = {0: {"charity_registration_status": "Removed"}}
    await ccew(db, extract(tmp_path / "c", damaged(ended, without=(9,))), DAYS[2])
    assert await inactive(db) == ["1100001", "1100010"], "and one that says so"


async def test_a_row_without_its_number_is_known_by_its_name(db: Database, tmp_path: Path) -> None:
    await ccew(db, extract(tmp_path / "a", charities()), DAYS[0])
    changes = {0: {NUMBER: ""}, 1: {NUMBER: "11000o2"}, 2: {LINKED: "x"}}
    made = await ccew(db, extract(tmp_path / "b", damaged(changes, without=(9,))), DAYS[1])
    assert (made.quarantined, made.carried_over, made.removed) == (3, 3, 1)
    assert await inactive(db) == ["1100010"]


async def test_while_a_row_may_be_anybodys_nobody_that_is_missing_ends(db: Database, tmp_path: Path) -> None:
    await ccew(db, extract(tmp_path / "a", charities()), DAYS[0])
    rows = damaged({0: {NUMBER: "", NAME: ""}}, without=(9, 10))
    made = await ccew(db, extract(tmp_path / "b", rows), DAYS[1])
    assert (made.quarantined, made.carried_over, made.removed) == (1, 3, 0)
    assert await inactive(db) == []
    again = await ccew(db, extract(tmp_path / "c", [*rows, charity(99, **{NUMBER: "1100099"})]), DAYS[2])
    assert (again.carried_over, again.removed, again.added) == (3, 0, 1)
    forced = await ccew(db, extract(tmp_path / "c", rows), DAYS[3], force=True)
    assert (forced.carried_over, forced.removed) == (0, 4)


async def test_of_two_rows_of_a_number_the_active_one_counts(db: Database, tmp_path: Path) -> None:
    def load(rows: list[Row], day: datetime) -> object:
        (path := tmp_path / "charitydetails.csv").write_bytes(ccni(rows).content)
        return registers_flows.import_files(db, REGISTER_SOURCES["ccni"], [path], as_of=day)

    first = northern_irish()
    await load([first], DAYS[0])  # type: ignore[misc]
    await load([{**first, "Status": "Removed"}, first], DAYS[1])  # type: ignore[misc]
    assert await inactive(db) == []


async def test_a_revocation_of_which_a_row_cannot_be_read_is_as_it_was_known(db: Database, tmp_path: Path) -> None:
    """A number is revoked and reinstated in rows of its own: one without the other says the opposite."""
    line = "{}|LODGE||7 ELM ST|HOULTON|ME|04730-1668|US|10|{}|22-FEB-2012|{}\n"

    async def load(text: str, day: datetime) -> RegisterImport:
        (path := tmp_path / "data-download-revocation.txt").write_text(text)
        return await registers_flows.import_files(db, IrsRevocationsReader(), [path], as_of=day)

    good = "".join(line.format(f"01001{nth:04}", "15-MAY-2011", "") for nth in range(20))
    await load(good, DAYS[0])
    reported = line.format("020000001", "15-MAY-2011", "") + line.format("020000001", "15-MAY-2011", "soon")
    made = await load(good.replace("010010003|LODGE", "010010003|") + reported, DAYS[1])
    assert (made.quarantined, made.removed, made.added, made.carried_over) == (2, 0, 0, 1)


async def test_a_stray_row_of_another_part_replaces_nothing_of_it(db: Database, tmp_path: Path) -> None:
    """The state of one row in a file of Wyoming is lost: those abroad are not in that file."""
    abroad = bodies(30, start=200_000_000, state="")
    wyoming = bodies(300)
    for rows, name in ((wyoming, "eo_wy.csv"), (abroad, "eo_xx.csv")):
        await registers_flows.import_files(db, IrsBmfReader(), [write(tmp_path / name, rows)], as_of=DAYS[0])
    wyoming[5]["STATE"] = ""
    made = await registers_flows.import_files(
        db, IrsBmfReader(), [write(tmp_path / "eo_wy.csv", wyoming)], as_of=DAYS[1]
    )
    assert made.removed == 0
    assert await inactive(db) == []


async def test_an_operator_sees_what_was_lost(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service:
        service.clock.advance_to(service.clock.real_now())
        typed = in_process(service, tmp_path, await operator(service, "administrator"))
        good = extract(tmp_path / "a", charities())
        changes = {0: {"latest_income": "12k"}, 1: {NUMBER: "", NAME: ""}, 2: {"charity_registration_status": "?"}}
        bad = extract(tmp_path / "b", damaged(changes))
        await typed("registers", "import", "ccew", str(good), "--as-of", "2026-01-01")
        status, printed = await typed("registers", "import", "ccew", str(bad), "--as-of", "2026-02-01")
        assert status == 0, printed
        for line in (
            "0 removed, 2 rejected",
            "Rejected 2 rows that could not be read:",
            "publicextract.charity.txt line 3: registered_charity_number has not 6 or 7 digits",
            "Kept 2 registration numbers unchanged",
            "Ignored 1 values that could not be read:",
            "latest_income: 1 (publicextract.charity.txt line 2: 12k)",
            "Note: the table charity_classification is not among the files",
        ):
            assert line in printed, printed
        (load,) = await registers_flows.list_imports(service.db, 1)
        status, shown = await typed("registers", "show", service.db.deployment.ids.encode("registerload", load.id))
        assert (status, "latest_income: 1 (" in shown) == (0, True), shown
