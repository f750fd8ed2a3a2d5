"""Registers of the rest of the world loaded for real, and lists that a mapping file reads."""

import random
import string
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterImport, RegisterImportQuarantined
from almoner.platform.database.transactions import ALL_PARTNERS, Database
from almoner.sources import get_register_source
from tests.support.service import Service
from tests.support.workbooks import workbook

TESTS = Path(__file__).parents[1]
EXCERPT = TESTS / "data" / "au_acnc" / "datadotgov_main_excerpt.csv"
HAND = TESTS / "data" / "registers_by_hand"
MAPPINGS = TESTS.parent / "docs" / "guides" / "mappings"
FIRST, SECOND = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
UNIVERSITY = "46253211955"


@pytest.fixture
async def db(alone: Service) -> Database:
    return alone.db


async def load(db: Database, source: str | Path, *paths: Path, as_of: datetime = FIRST) -> RegisterImport:
    return await registers_flows.import_files(db, get_register_source(str(source)), paths, as_of=as_of)


async def found(db: Database, country: str, registry: str, number: str) -> Organisation:
    async with db.read() as tx:
        return await organisations.get_by_number(tx, ALL_PARTNERS, country, registry, number)


async def fetch(db: Database, sql: str) -> list[Any]:
    async with db.read() as tx:
        return await tx.fetch(sql)


async def test_australia(db: Database, tmp_path: Path) -> None:
    """Withheld rows are counted; a body that leaves the file is inactive; flags are in the entry."""
    made = await load(db, "acnc", EXCERPT)
    assert (made.rows, made.added, made.quarantined, made.unnumbered) == (17, 17, 0, 3)
    assert (await found(db, "AUS", "ACNC", "ABN 46 253 211 955")).name == "James Cook University"
    (row,) = await fetch(db, "select record from register_entry where number_key = '46241644987'")
    assert (row["record"]["facts"]["PBI"], row["record"]["facts"]["operates_in"][0]) == ("Y", "ACT")
    assert (await load(db, "acnc", EXCERPT)).status == "unchanged"
    lines = EXCERPT.read_text().splitlines(keepends=True)
    later = tmp_path / "later.csv"
    later.write_text("".join(line for line in lines if "FLINDERS" not in line).replace("Newstead 2050 Inc", "Newstead"))
    made = await load(db, "acnc", later, as_of=SECOND)
    assert (made.rows, made.added, made.changed, made.removed) == (16, 0, 1, 1)
    assert not (await found(db, "AUS", "ACNC", "49918241771")).active
    assert (await found(db, "AUS", "ACNC", "45859452623")).name == "Newstead"


async def test_an_earlier_number_leads_to_the_body(db: Database) -> None:
    await load(db, "acnc", EXCERPT)
    (link,) = await fetch(db, "select kind, number_key, to_number_key from register_link")
    assert tuple(link) == ("reregistered", "48608437966", "46352295826")


async def test_facts_from_another_list_make_no_bodies(db: Database) -> None:
    await load(db, "acnc", EXCERPT)
    made = await load(db, MAPPINGS / "dgr-like.toml", HAND / "dgr_like.csv")
    assert (made.source, made.registry_code, made.quarantined) == ("au-dgr", "ACNC", 1)
    (counted,) = await fetch(db, "select count(*) as bodies from organisation")
    assert counted["bodies"] == 17
    (row,) = await fetch(
        db, f"select record from register_entry where source = 'au-dgr' and number_key = '{UNIVERSITY}'"
    )
    assert [reported["facts"]["item"] for reported in row["record"]["rows"]] == ["Item 1", "Item 2"]


async def test_canada(db: Database) -> None:
    """The list decides; identification says more and lists nobody."""
    made = await load(db, "cra", HAND / "cra_list.txt")
    assert (made.rows, made.quarantined) == (5, 4)
    before = [(row["number_key"], row["active"]) for row in await fetch(db, "select * from organisation order by 1")]
    made = await load(db, "cra-t3010", HAND / "cra_ident_2015.csv", HAND / "cra_ident_2023.csv")
    assert made.quarantined == 2
    (row,) = await fetch(
        db, "select record from register_entry where source = 'cra-t3010' and number_key = '119219814RR0001'"
    )
    assert [reported["facts"]["year"] for reported in row["record"]["rows"]] == ["2015", "2023"]
    assert before == [
        (row["number_key"], row["active"]) for row in await fetch(db, "select * from organisation order by 1")
    ]
    assert not (await found(db, "CAN", "CRA", "100000017RR0001")).active


async def test_ireland(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "register.xlsx"
    path.write_bytes(workbook([{}, {"Registered Charity Number": 20000001, "Status": "Deregistered"}]))
    made = await load(db, "cri", path)
    assert (made.rows, made.quarantined) == (2, 0)
    assert (await found(db, "IRL", "CRI", "RCN 20015763")).active
    assert not (await found(db, "IRL", "CRI", "20000001")).active


@pytest.mark.parametrize("name", ["nzcs_plain.json", "nzcs_results.json", "nzcs.csv"])
async def test_new_zealand(db: Database, name: str) -> None:
    made = await load(db, "nzcs", HAND / name)
    assert made.rows == 2
    assert (await found(db, "NZL", "NZCS", "cc 12345")).active
    assert not (await found(db, "NZL", "NZCS", "CC12346")).active


async def test_the_netherlands(db: Database) -> None:
    made = await load(db, "anbi", HAND / "anbi.xml")
    assert (made.rows, made.quarantined, made.unnumbered) == (3, 1, 1)
    assert (await found(db, "NLD", "ANBI", "1234.56.782")).name == "Stichting Verzonnen Haven"


async def test_france(db: Database) -> None:
    made = await load(db, "rna", *sorted(HAND.glob("rna_*.csv")))
    assert (made.rows, made.quarantined, made.unnumbered) == (5, 2, 1)
    assert (await found(db, "FRA", "RNA", "W751001234")).active
    assert not (await found(db, "FRA", "RNA", "W751001236")).active


async def test_an_old_number_of_france_leads_to_the_new_one(db: Database, tmp_path: Path) -> None:
    """The files of departments come one by one; what one says of numbers is not what another says."""
    old, waldec = (HAND / f"rna_{kind}_20240101_dpt_75.csv" for kind in ("import", "waldec"))
    stored = tmp_path / "rna_import_20240101_dpt_75.csv"
    stored.write_bytes(old.read_bytes().replace(b"751P00054321", b"751P00012345"))
    await load(db, "rna", stored, waldec)
    with pytest.raises(NotFound) as refused:  # Marseille may list it
        await found(db, "FRA", "RNA", "W131001234")
    assert "0 of 2 parts are loaded (import 75, waldec 75): one of the others may list it" in refused.value.reasons[0]
    former = await found(db, "FRA", "RNA", "751P00012345")
    new = await found(db, "FRA", "RNA", "W751001235")
    assert (former.active, former.inactive_reason, former.succeeded_by) == (False, "reregistered", new.id)
    assert (await found(db, "FRA", "RNA", "751p 00012345")).id == former.id
    for department, number in ((b"13", b"131"), (b"75", b"751")):  # the second time nothing is said of an old number
        name = tmp_path / f"rna_waldec_20240201_dpt_{department.decode()}.csv"
        content = waldec.read_bytes().replace(b'"W751', b'"W' + number).replace(b"751P00012345", b"")
        name.write_bytes(content + b"\n")
        await registers_flows.import_files(db, get_register_source("rna"), [name], as_of=SECOND, force=True)
        if department == b"13":
            assert (await found(db, "FRA", "RNA", "751P00012345")).succeeded_by == new.id
    restored = await found(db, "FRA", "RNA", "751P00012345")
    assert (restored.active, restored.succeeded_by) == (True, None)


@pytest.mark.parametrize(
    ("mapping", "file", "rows", "bad"), [("npo-like", "npo_like.csv", 2, 2), ("zer-like", "zer_like.jsonl", 2, 3)]
)
async def test_a_list_by_a_mapping(db: Database, mapping: str, file: str, rows: int, bad: int) -> None:
    made = await load(db, MAPPINGS / f"{mapping}.toml", HAND / file)
    assert (made.rows, made.added, made.quarantined) == (rows, rows, bad)


async def test_no_person_is_kept_anywhere(db: Database) -> None:
    for source, name in (
        ("cra", "cra_list.txt"),
        ("nzcs", "nzcs_plain.json"),
        ("rna", "rna_waldec_20240101_dpt_75.csv"),
        (MAPPINGS / "npo-like.toml", "npo_like.csv"),
        (MAPPINGS / "zer-like.toml", "zer_like.jsonl"),
        ("acnc", EXCERPT),
    ):
        await load(db, source, HAND / name)
    stored = ""
    for table in ("organisation", "register_entry", "register_quarantine", "organisation_change"):
        stored += repr([tuple(row) for row in await fetch(db, f"select * from {table}")]).lower()
    for person in ("roe", "dupont", "johanna", "redacted", "555 0199", "@"):
        assert f"{person}" not in stored.replace("heroes", ""), person


@pytest.mark.parametrize(
    ("source", "name", "content"),
    [
        ("acnc", "a.csv", b"<!DOCTYPE html>"),
        ("acnc", "a.csv", EXCERPT.read_bytes().replace(b"Advancing_Religion", b"Religion")),
        ("cri", "a.xlsx", b"PK"),
        ("nzcs", "a.json", (HAND / "nzcs_plain.json").read_bytes()[:-9]),
        ("anbi", "anbi.xml", (HAND / "anbi.xml").read_bytes()[:-90]),
        ("anbi", "anbi.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        ("rna", "rna.csv", (HAND / "anbi.xml").read_bytes()),
    ],
)
async def test_a_broken_file_is_put_into_quarantine(
    db: Database, tmp_path: Path, source: str, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RegisterImportQuarantined):
        await load(db, source, tmp_path / name)
    (counted,) = await fetch(db, "select count(*) as bodies from organisation")
    assert counted["bodies"] == 0


@pytest.mark.parametrize("column", ["Name", "Also", "Aim", "Town", "Part", "Fact"])
async def test_texts_of_any_length_stop_no_load(db: Database, tmp_path: Path, column: str) -> None:
    """An index has its limits: a name beyond them is a bad row, a word beyond them is no word to find by."""
    mapping = tmp_path / "my.toml"
    mapping.write_text(
        '[source]\ncode = "mine"\nregistry = "NPO"\n[file]\nformat = "csv"\n'
        '[columns]\nnumber = "No"\nname = "Name"\nother_names = "Also"\n'
        'description = "Aim"\ncity = "Town"\npart = "Part"\n'
        '[facts]\nfact = "Fact"\n[constants]\ntypes = []\nactive = true\n'
    )
    columns = ("Name", "Also", "Aim", "Town", "Part", "Fact")
    chance = random.Random(3)
    long = "".join(chance.choice(string.ascii_letters) for _ in range(20_000))
    rows = [f"{1000 + nth},{','.join([f'Body {nth}', *columns[1:]])}" for nth in range(3)]
    rows.append("2000," + ",".join(long if name == column else name for name in columns))
    (tmp_path / "list.csv").write_text("\n".join(["No," + ",".join(columns), *rows]))
    made = await load(db, mapping, tmp_path / "list.csv")
    assert made.rows + made.quarantined == 4
    assert made.rows >= 3
