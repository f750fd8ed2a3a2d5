"""A register that names the day on which a body ends: until then it stands, by the day of the data."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from almoner.adapters.registers_anbi import AnbiReader
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterEntry, ignore_deregistration_after_data_date
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support.service import Service

END = datetime(2026, 6, 30, tzinfo=UTC)
DAY = timedelta(days=1)


def test_an_announced_end_is_none_before_its_day() -> None:
    ended = RegisterEntry("1", "all", "Fund", active=False, until=END)
    assert [ignore_deregistration_after_data_date(ended, day).active for day in (END - DAY, END, END + DAY)] == [
        True,
        False,
        False,
    ]
    assert not ignore_deregistration_after_data_date(ended._replace(until=None), END - DAY).active
    running = RegisterEntry("1", "all", "Fund")
    assert ignore_deregistration_after_data_date(running, END) == running


async def test_a_ruling_that_will_end_ends_on_its_day_though_the_file_stays_the_same(
    alone: Service, tmp_path: Path
) -> None:
    file = tmp_path / "anbi.xml"
    file.write_text(
        "<a><beschikking><fiscaalNummer>123456782</fiscaalNummer><naam>Stichting A</naam>"
        "<eindDatum>20260630</eindDatum></beschikking></a>"
    )
    seen = []
    for day in (END - 30 * DAY, END - DAY, END):
        made = await registers_flows.import_files(alone.db, AnbiReader(), [file], as_of=day, force=True)
        async with alone.db.read() as tx:
            body = await organisations.get_by_number(tx, ALL_PARTNERS, "NLD", "ANBI", "123456782")
            record = await tx.fetchval("select record from register_entry where valid_to is null")
        seen.append((made.changed, body.active))
        assert record["facts"] == {"eindDatum": "2026-06-30"}
        assert "until" not in record
    assert seen == [(0, True), (0, True), (1, False)]
