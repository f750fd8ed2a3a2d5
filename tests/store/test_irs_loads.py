"""The real files of the IRS in the database: what a month changes, and what the lists say of bodies."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from almoner.adapters.registers_irs_990n import Irs990NReader
from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.adapters.registers_irs_pub78 import IrsPub78Reader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.database.transactions import Database
from tests.support import irs_month
from tests.support.register_files import File
from tests.support.service import Service

MARCH, APRIL = datetime(2026, 3, 9, tzinfo=UTC), datetime(2026, 4, 13, tzinfo=UTC)
MOVED = (b"810828812", b"981492808")
LISTS = Path(__file__).parents[1] / "data" / "us_irs_lists"


@pytest.fixture
async def db(alone: Service) -> Database:
    return alone.db


async def value(db: Database, sql: str) -> object:
    async with db.read() as tx:
        return await tx.fetchval(sql)


def whole(file: File) -> bytes:
    """As published."""
    return file.content


class Month(NamedTuple):
    """What a month changes. ``quiet``: rows that are different and say nothing new of the body."""

    part: Callable[[File], bytes]
    march: int
    came: int
    left: int
    other: int
    quiet: int
    moved: dict[str, int]


def tenth(file: File) -> bytes:
    """The numbers that end with a 4."""
    header, *rows = file.content.splitlines(keepends=True)
    return b"".join([header, *(row for row in rows if row[8:9] == b"4")])


ALL_OF_IT = Month(
    whole,
    14_040,
    156,
    75,
    969,
    631,
    {"active": 75, "name": 23, "address_line_1": 264, "postcode": 234, "city": 10, "secondary_name": 9},
)
A_TENTH = Month(
    tenth, 1_446, 16, 9, 99, 60, {"active": 9, "name": 1, "address_line_1": 32, "postcode": 33, "secondary_name": 1}
)


@pytest.mark.parametrize(
    "month", [pytest.param(ALL_OF_IT, marks=pytest.mark.long, id="all"), pytest.param(A_TENTH, id="a tenth")]
)
async def test_the_difference_of_a_real_month(db: Database, tmp_path: Path, month: Month) -> None:
    """Of the District of Columbia."""
    for name, file in (("march", irs_month.march()), ("april", irs_month.april())):
        (tmp_path / f"{name}.csv").write_bytes(month.part(file))
    first = await registers_flows.import_files(db, IrsBmfReader(), [tmp_path / "march.csv"], as_of=MARCH)
    assert (first.rows, first.added, first.quarantined) == (month.march, month.march, 0)
    second = await registers_flows.import_files(db, IrsBmfReader(), [tmp_path / "april.csv"], as_of=APRIL)
    april = month.march + month.came - month.left
    assert (second.rows, second.added, second.removed, second.quarantined) == (april, month.came, month.left, 0)
    assert await value(db, "select count(*) from organisation where active") == april
    assert await value(db, "select count(*) from register_entry where valid_to is null") == april
    ended = "from register_entry ended where valid_to is not null"
    assert await value(db, f"select count(*) {ended}") == month.other + month.left
    follower = "select 1 from register_entry new where new.number_key = ended.number_key and new.valid_to is null"
    assert await value(db, f"select count(*) {ended} and exists ({follower})") == month.other
    async with db.read() as tx:
        reported = await tx.fetchval(
            "select count(distinct organisation_id) from organisation_change where load_id = $1", second.id
        )
        fields = await tx.fetch(
            "select field, count(*) from organisation_change where load_id = $1 group by 1", second.id
        )
    # Not more than the columns tell that are not quiet.
    assert month.left < reported <= month.left + (month.other - month.quiet)
    moved = {row["field"]: row["count"] for row in fields}
    assert {"prominence", "facts"} & moved.keys() == set()
    assert {field: moved[field] for field in month.moved} == month.moved


def some(file: File) -> bytes:
    """The lowest numbers of the District, and the two that moved."""
    header, *rows = file.content.splitlines(keepends=True)
    return b"".join([header, *(row for row in rows if row < b"2" or row.startswith(MOVED))])


async def test_two_of_those_who_left_are_in_another_file_of_the_same_day(db: Database, tmp_path: Path) -> None:
    (tmp_path / "march.csv").write_bytes(some(irs_month.march()))
    (tmp_path / "april.csv").write_bytes(some(irs_month.april()))
    await registers_flows.import_files(db, IrsBmfReader(), [tmp_path / "march.csv"], as_of=MARCH)
    second = await registers_flows.import_files(
        db, IrsBmfReader(), [tmp_path / "april.csv", irs_month.MOVED], as_of=APRIL
    )
    assert (second.added, second.removed) == (6, 1)
    async with db.read() as tx:
        moved = await tx.fetch(
            "select number_key, state from organisation where active and number_key = any($1) order by 1",
            [number.decode() for number in MOVED],
        )
    assert [tuple(row) for row in moved] == [("810828812", "AK"), ("981492808", None)]


async def test_lists_make_entries_and_no_bodies(db: Database) -> None:
    given: list[tuple[RegisterSource, str, int, int]] = [
        (IrsPub78Reader(), "pub78.txt", 23, 23),
        (IrsRevocationsReader(), "revocations.txt", 22, 17),
        (Irs990NReader(), "notices_990n.txt", 3, 3),
    ]
    for source, file, rows, numbers in given:
        load = await registers_flows.import_files(db, source, [LISTS / file], as_of=APRIL)
        assert (load.rows, load.quarantined) == (rows, 0)
        assert await value(db, f"select count(*) from register_entry where source = '{source.code}'") == numbers
        again = await registers_flows.import_files(db, source, [LISTS / file], as_of=APRIL)
        assert again.status == "unchanged"
    assert await value(db, "select count(*) from organisation") == 0
    days = "select jsonb_path_query_array(record, '$.**.REVOCATION_DATE') #>> '{}' from register_entry"
    # Every revocation of a number is kept in its one entry.
    revocations = "source = 'irs-revocations' and number_key = '010043788'"
    assert await value(db, f"{days} where {revocations}") == '["2016-03-15", "2019-03-15"]'
