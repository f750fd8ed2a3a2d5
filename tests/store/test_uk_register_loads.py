"""The registers of the United Kingdom loaded for real: bodies, what they became, and what a later extract changes."""

import csv
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterImport, RegisterImportQuarantined
from almoner.platform.database.transactions import ALL_PARTNERS, Database
from almoner.sources import REGISTER_SOURCES
from tests.support.register_files import File
from tests.support.service import Service
from tests.support.uk_registers import (
    DATA,
    MAIL,
    PHONE,
    ccew_text,
    ccni,
    charity,
    northern_irish,
    oscr,
    said,
    scottish,
)
from tests.support.written_register import Loader, Written, entry

FIRST, SECOND = datetime(2023, 9, 7, tzinfo=UTC), datetime(2023, 10, 7, tzinfo=UTC)
ROYAL = "208791"  # a canary: it is in every whole extract


@pytest.fixture
async def db(alone: Service) -> Database:
    return alone.db


async def load(db: Database, source: str, *paths: Path, as_of: datetime | None = FIRST) -> RegisterImport:
    return await registers_flows.import_files(db, REGISTER_SOURCES[source], paths, as_of=as_of)


def written(folder: Path, *files: File) -> list[Path]:
    """The files on disk."""
    folder.mkdir()
    for file in files:
        (folder / file.name).write_bytes(file.content)
    return [folder / file.name for file in files]


async def found(db: Database, registry: str, number: str) -> Organisation:
    async with db.read() as tx:
        return await organisations.get_by_number(tx, ALL_PARTNERS, "GBR", registry, number)


async def fetch(db: Database, sql: str) -> list[Any]:
    async with db.read() as tx:
        return await tx.fetch(sql)


async def test_extract_of_england_and_wales(db: Database) -> None:
    made = await load(db, "ccew", *sorted((DATA / "gb_ccew").glob("*.zip")), as_of=None)
    assert (made.rows, made.added, made.quarantined) == (572, 572, 0)
    assert made.data_as_of == datetime(2023, 9, 7, tzinfo=UTC), "as its rows tell, whenever it was fetched"
    (counts,) = await fetch(db, "select count(*) as bodies, count(*) filter (where active) as active from organisation")
    assert (counts["bodies"], counts["active"]) == (572, 397)
    royal = await found(db, "CCEW", ROYAL)
    assert (royal.active, royal.registration_date) == (True, datetime(1963, 2, 4, tzinfo=UTC))
    assert royal.is_branch_parent
    again = await load(db, "ccew", *sorted((DATA / "gb_ccew").glob("*.zip")), as_of=None)
    assert again.status == "unchanged"


async def test_a_page_in_the_place_of_an_extract_is_put_into_quarantine(db: Database, tmp_path: Path) -> None:
    page = File(b"<html><body>We are sorry</body></html>\n", "publicextract.charity.txt")
    with pytest.raises(RegisterImportQuarantined, match="has no column"):
        await load(db, "ccew", *written(tmp_path / "ccew", page), as_of=None)
    (stored,) = await fetch(db, "select status from register_load")
    assert stored["status"] == "quarantined"


async def test_removed_in_a_later_extract(db: Database, tmp_path: Path) -> None:
    stored = charity(1, registered_charity_number=ROYAL)
    await load(db, "ccew", *written(tmp_path / "first", ccew_text("charity", [stored, charity(2)])), as_of=FIRST)
    gone = charity(2, charity_registration_status="Removed", date_of_removal="2023-10-01")
    event = said(2, event_type="Asset transfer out", date_of_event="2023-10-01", assoc_organisation_number="1")
    files = written(
        tmp_path / "second", ccew_text("charity", [stored, gone]), ccew_text("charity_event_history", [event])
    )
    made = await load(db, "ccew", *files, as_of=SECOND)
    assert (made.rows, made.added) == (2, 0)
    assert not (await found(db, "CCEW", "1100001")).active
    (link,) = await fetch(db, "select kind, number_key, to_number_key from register_link")
    assert tuple(link) == ("merged", "1100001", ROYAL)
    assert MAIL not in repr(await fetch(db, "select * from register_entry"))
    assert PHONE not in repr(await fetch(db, "select * from register_quarantine"))


async def test_one_body_in_two_registers(db: Database, tmp_path: Path) -> None:
    """Double registrations are one organisation."""
    await load(
        db, "ccew", *written(tmp_path / "ccew", ccew_text("charity", [charity(1, registered_charity_number=ROYAL)]))
    )
    live = scottish(Charity_Number="SC037605", Charity_Name="PLAIN RELIEF FUND", Regulatory_Type="Cross Border")
    await load(db, "oscr", *written(tmp_path / "oscr", oscr([live])))
    pairs = File(
        f"Scottish Charity Number,E&W Charity Number,Charity Name (E&W)\nSC037605,{ROYAL},PLAIN\n".encode(), "dual.csv"
    )
    made = await load(db, "gb-dual", *written(tmp_path / "dual", pairs))
    assert made.rows == 1  # links are the rows of a source that lists nothing, and are guarded as rows are
    assert (await found(db, "OSCR", "SC037605")).id == (await found(db, "CCEW", ROYAL)).id


async def test_pairs_that_contradict_each_other_join_nobody(db: Database, tmp_path: Path) -> None:
    """A number of Scotland that stands beside two of England: two funds, and nobody can say which of them it is."""
    english = [charity(nth, registered_charity_number=f"110000{nth}") for nth in (1, 2, 3)]
    royal = charity(4, registered_charity_number=ROYAL)
    await load(db, "ccew", *written(tmp_path / "ccew", ccew_text("charity", [*english, royal])))
    live = [scottish(Charity_Number=f"SC00000{nth}") for nth in (1, 2)]
    await load(db, "oscr", *written(tmp_path / "oscr", oscr([scottish(Charity_Number="SC037605"), *live])))
    header = "Scottish Charity Number,E&W Charity Number,Charity Name (E&W)"
    pairs = ["SC000001,1100001,ONE", "SC000001,1100002,TWO", "SC000002,1100003,THREE", f"SC037605,{ROYAL},ROYAL"]
    made = await load(
        db, "gb-dual", *written(tmp_path / "dual", File("\n".join([header, *pairs, ""]).encode(), "dual.csv"))
    )
    assert (made.rows, made.ambiguous) == (4, 2)
    joined = await fetch(db, "select count(*) as n from organisation where same_as is not null")
    assert joined[0]["n"] == 2


async def test_scotland_with_its_former_charities(db: Database, tmp_path: Path) -> None:
    live = oscr([scottish(Charity_Number="SC037605"), scottish()])
    former = oscr([scottish(), scottish(Charity_Number="SC000002", Ceased_Date="01/02/2020")], former=True)
    files = written(tmp_path / "oscr", File(live.content, "live.csv"), File(former.content, "former.csv"))
    made = await load(db, "oscr", *files)
    assert (made.rows, made.quarantined) == (3, 0)
    assert (await found(db, "OSCR", "SC000001")).active
    assert not (await found(db, "OSCR", "SC000002")).active


async def test_northern_ireland(db: Database, tmp_path: Path) -> None:
    """A month later: only the days of a status moved, which is no change of the body."""
    real = DATA / "gb_ccni" / "charitydetails.csv"
    made = await load(db, "ccni", real)
    assert (made.rows, made.added, made.quarantined) == (29, 29, 0)
    moved = File(real.read_bytes().replace(b"Overdue: 64 days", b"Overdue: 94 days"), "charitydetails.csv")
    later = await load(db, "ccni", *written(tmp_path / "later", moved), as_of=SECOND)
    assert (later.added, later.removed) == (0, 0)
    assert await fetch(db, "select 1 from organisation_change") == []
    (versions,) = await fetch(db, "select count(*) as versions from register_entry where number_key = '100004'")
    assert versions["versions"] == 2


async def test_a_page_in_place_of_the_file(db: Database, tmp_path: Path) -> None:
    """Refused, and what was loaded stays."""
    await load(db, "ccni", *written(tmp_path / "good", ccni([northern_irish(Reg_charity_number="100004")])))
    page = File(b"<html>\n<body>Service unavailable</body>\n", "charitydetails.csv")
    with pytest.raises(RegisterImportQuarantined, match="web page"):
        await load(db, "ccni", *written(tmp_path / "page", page), as_of=SECOND)
    assert (await found(db, "CCNI", "NIC100004")).active


@pytest.mark.soak
async def test_whole_table_of_double_registrations(db: Database, given_files: Path, tmp_path: Path) -> None:
    """With a body for every number of the table: each joined one has one partner, whatever the table says of others."""
    table = given_files / "gb_lookups" / "dual-registered-uk-charities.csv"
    with table.open(encoding="utf-8-sig", newline="") as lines:
        pairs = [(row["Scottish Charity Number"], row["E&W Charity Number"]) for row in csv.DictReader(lines)]
    loader = Loader(db, tmp_path)
    await loader.load(Written("ccew", "CCEW"), FIRST, *(entry(of, of) for of in sorted({of for _, of in pairs})))
    await loader.load(Written("oscr", "OSCR"), FIRST, *(entry(of, of) for of in sorted({of for of, _ in pairs})))
    made = await load(db, "gb-dual", table)
    assert (made.rows, made.ambiguous) == (1503, 115)
    joined = await fetch(
        db,
        "select o.registry_number as one, p.registry_number as other "
        "from organisation o join organisation p on p.id = o.same_as",
    )
    partners = Counter(end for pair in pairs for end in pair)
    sure = {frozenset(pair) for pair in pairs if all(partners[end] == 1 for end in pair)}
    assert len(sure) == 1503 - 115
    assert {frozenset((row["one"], row["other"])) for row in joined} == sure


@pytest.mark.soak
async def test_whole_given_tables(db: Database, given_files: Path) -> None:
    """Everything of the United Kingdom that is at hand, one after the other, without a bad row."""
    lookups = given_files / "gb_lookups"
    loads = [
        await load(db, "ccew", *sorted((given_files / "gb_ccew_layout").glob("*.zip"))),
        await load(db, "ccni", given_files / "gb_ccni" / "charitydetails.csv"),
        await load(db, "gb-mergers", lookups / "ccew-register-of-mergers.csv"),
        await load(db, "gb-reregistrations", lookups / "charity-reregistrations.csv"),
        await load(db, "gb-dual", lookups / "dual-registered-uk-charities.csv"),
    ]
    assert [(made.rows, made.unnumbered, made.quarantined) for made in loads] == [
        (572, 0, 0),
        (365, 0, 0),
        (5368, 475, 0),
        (1929, 2, 0),
        (1503, 0, 0),
    ]
    (links,) = await fetch(db, "select count(*) as links from register_link")
    assert links["links"] == 69 + 5349 + 1917 + 1503  # some pairs stand twice in a table
    # 46 numbers of Scotland and 26 of England and Wales have several partners; they and theirs stay by themselves.
    assert loads[-1].ambiguous == 115
