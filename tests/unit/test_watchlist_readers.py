"""Readers of watchlists, on files in the layouts that their publishers use."""

import csv
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from almoner.adapters.watchlist_ofac import SDN
from almoner.screening.watchlists import files
from almoner.screening.watchlists.domain import (
    ListedAddress,
    ListedEntity,
    ListedName,
    RejectedEntry,
    WatchlistImportRefused,
)
from almoner.screening.watchlists.ports import DatedWatchlistSource
from almoner.sources import WATCHLIST_SOURCES, get_watchlist_source

UN = """<?xml version="1.0" encoding="UTF-8"?>
<CONSOLIDATED_LIST dateGenerated="2026-02-27T12:00:00.000-05:00"><INDIVIDUALS><INDIVIDUAL>
<DATAID>1</DATAID><FIRST_NAME>ERIC</FIRST_NAME><SECOND_NAME>BADEGE</SECOND_NAME><UN_LIST_TYPE>DRC</UN_LIST_TYPE>
<REFERENCE_NUMBER>CDi.001</REFERENCE_NUMBER><COMMENTS1>Father is X</COMMENTS1><LISTED_ON>2012-12-31</LISTED_ON>
<NATIONALITY><VALUE>Democratic Republic of the Congo</VALUE></NATIONALITY>
<INDIVIDUAL_ALIAS><QUALITY>Low</QUALITY><ALIAS_NAME>Badge; Eric B.</ALIAS_NAME></INDIVIDUAL_ALIAS>
<INDIVIDUAL_ALIAS><QUALITY></QUALITY><ALIAS_NAME></ALIAS_NAME></INDIVIDUAL_ALIAS>
<INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE><YEAR>1971</YEAR></INDIVIDUAL_DATE_OF_BIRTH>
</INDIVIDUAL></INDIVIDUALS><ENTITIES><ENTITY><DATAID>2</DATAID><FIRST_NAME>BUTEMBO AIRLINES</FIRST_NAME>
<REFERENCE_NUMBER>CDe.001</REFERENCE_NUMBER><COMMENTS1>Owned by the BUTEMBO GROUP</COMMENTS1>
<ENTITY_ADDRESS><CITY>Butembo</CITY><COUNTRY>Democratic Republic of the Congo</COUNTRY></ENTITY_ADDRESS>
</ENTITY></ENTITIES></CONSOLIDATED_LIST>
"""
UK_COLUMNS = (
    "Last Updated,Unique ID,OFSI Group ID,UN Reference Number,Name 6,Name 1,Name 2,Name 3,Name 4,Name 5,Name type,"
    "Alias strength,Title,Name non-latin script,Regime Name,Designation Type,Address Line 1,Address Line 2,"
    "Address Postal Code,Address Country,Date Designated,D.O.B,Nationality(/ies),Other Information,"
    "Business registration number (s)"
).split(",")
EU_COLUMNS = (
    "fileGenerationDate;Entity_LogicalId;Entity_DesignationDate;Entity_SubjectType;Entity_Regulation_Programme;"
    "NameAlias_WholeName;Address_City;Address_Street;Address_CountryIsoCode;BirthDate_BirthDate;"
    "Identification_Number;Citizenship_CountryIsoCode;Entity_Remark"
).split(";")


def entries(code: str, *paths: Path) -> dict[str, ListedEntity]:
    return {one.key: one for one in WATCHLIST_SOURCES[code].read_entries(paths) if isinstance(one, ListedEntity)}


def said(code: str, *paths: Path) -> datetime | None:
    source = WATCHLIST_SOURCES[code]
    assert isinstance(source, DatedWatchlistSource)
    return source.find_publication_time(paths)


def bad(code: str, *paths: Path) -> list[RejectedEntry]:
    return [one for one in WATCHLIST_SOURCES[code].read_entries(paths) if isinstance(one, RejectedEntry)]


def table(path: Path, columns: list[str], *rows: dict[str, str], delimiter: str = ",", first: str = "") -> Path:
    with path.open("w", encoding="utf-8-sig", newline="") as out:
        out.write(first)
        writer = csv.DictWriter(out, columns, delimiter=delimiter, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_ofac_tells_weak_aliases_countries_and_numbers_in_its_remarks(tmp_path: Path) -> None:
    nulls = ",".join(['"-0- "'] * 7)
    (tmp_path / "sdn.csv").write_bytes(
        f'9,"HARAKAT FUND","-0- ","SDGT] [FTO",{nulls},"Tax ID No. 745-95 (Iran); Phone 12345; a.k.a. \'HF\'; '
        'Linked To: SOMEBODY."\r\n'
        f'10,"DOE, John","individual","SDGT",{nulls},"DOB 12 Dec 1965; nationality Iran; Passport A1 (Iran)."\r\n'
        f'11,"SEA STAR","vessel","IRAN",{nulls},"-0- "\r\n\x1a'.encode("cp1252")
    )
    (tmp_path / "alt.csv").write_bytes(b'9,1,"fka","OLD FUND","-0- "\r\n9,2,"aka","OTHER FUND","-0- "\r\n\x1a')
    (tmp_path / "add.csv").write_bytes(b'9,1,"1 Street","Tyre","Lebanon","-0- "\r\n\x1a')
    found = {one.key: one for one in SDN.read_entries(sorted(tmp_path.iterdir())) if isinstance(one, ListedEntity)}
    assert found["9"].names == (
        ListedName("HARAKAT FUND", "primary"),
        ListedName("OLD FUND", "former"),
        ListedName("OTHER FUND", "alias"),
        ListedName("HF", "weak_alias"),
    )
    assert (found["9"].countries, found["9"].identifiers) == (("LBN", "IRN"), ("745-95",))
    assert found["9"].programmes == ("SDGT", "FTO")
    assert (found["10"].kind, found["10"].birth_years, found["10"].identifiers) == ("person", (1965,), ())
    assert found["11"].kind == "vessel"
    assert found["9"].note == "Tax ID No. 745-95 (Iran); Phone 12345; a.k.a. 'HF'; Linked To: SOMEBODY."
    assert (found["10"].note, found["11"].note) == (None, None), "of a person, only what tells them apart"


def test_an_undetermined_country_is_that_of_its_place(tmp_path: Path) -> None:
    nulls = ",".join(['"-0- "'] * 8)
    (tmp_path / "sdn.csv").write_text("".join(f'{n},"FUND {n}","-0- ","SDGT",{nulls}\n' for n in (1, 2, 3)))
    (tmp_path / "add.csv").write_text(
        '1,1,"-0- ","Gaza Strip","undetermined","-0- "\n2,2,"-0- ","Kashmir","undetermined","-0- "\n'
        '3,3,"-0- ","-0- ","undetermined","-0- "\n'
    )
    found = {one.key: one for one in SDN.read_entries(sorted(tmp_path.iterdir())) if isinstance(one, ListedEntity)}
    assert [found[key].countries for key in "123"] == [("PSE",), (), ()]
    assert [found[key].addresses for key in "123"] == [
        (ListedAddress("Gaza Strip", "PSE"),),
        (ListedAddress("Kashmir", None),),
        (),
    ]


def test_the_un_puts_several_names_into_one_element(tmp_path: Path) -> None:
    (file := tmp_path / "un.xml").write_text(UN)
    found = entries("un-consolidated", file)
    assert found["CDi.001"].names == (
        ListedName("ERIC BADEGE", "primary"),
        ListedName("Badge", "weak_alias"),
        ListedName("Eric B.", "weak_alias"),
    )
    assert (found["CDi.001"].countries, found["CDi.001"].birth_years) == (("COD",), (1971,))
    assert found["CDi.001"].listed_on == date(2012, 12, 31)
    assert (found["CDe.001"].kind, found["CDe.001"].countries) == ("organisation", ("COD",))
    assert (found["CDi.001"].note, found["CDe.001"].note) == (None, "Owned by the BUTEMBO GROUP")
    assert said("un-consolidated", file) == datetime(2026, 2, 27, 17, tzinfo=UTC)


def test_the_uk_tells_one_entry_in_several_rows(tmp_path: Path) -> None:
    one = {"Unique ID": "RUS0001", "Designation Type": "Entity", "Regime Name": "Russia"}
    file = table(
        tmp_path / "uk.csv",
        UK_COLUMNS,
        {**one, "Name 6": "ALT FUND", "Name type": "Alias", "Alias strength": "Low quality a.k.a"},
        {
            **one, "Name 6": "MAIN FUND", "Name type": "Primary Name", "Address Line 1": "1 Street",
            "Address Country": "Russia", "Business registration number (s)": "1027739108649",
            "Date Designated": "26/02/2022", "Other Information": "Subsidiary of ALT HOLDING",
        },
        {
            "Unique ID": "AFG0001", "Name 6": "DOE", "Name 1": "John", "Name type": "Primary Name",
            "Designation Type": "Individual", "D.O.B": "00/00/1975", "Nationality(/ies)": "Iran",
        },
        {"Name 6": "NOBODY"},
        first="Report Date: 08-Oct-2026\n",
    )  # fmt: skip
    found = entries("uk-sanctions", file)
    assert found["RUS0001"].names == (ListedName("MAIN FUND", "primary"), ListedName("ALT FUND", "weak_alias"))
    assert (found["RUS0001"].countries, found["RUS0001"].identifiers) == (("RUS",), ("1027739108649",))
    assert (found["RUS0001"].listed_on, found["RUS0001"].note) == (date(2022, 2, 26), "Subsidiary of ALT HOLDING")
    assert [one.text for one in found["AFG0001"].names] == ["John DOE"]
    assert (found["AFG0001"].birth_years, found["AFG0001"].countries) == ((1975,), ("IRN",))
    assert said("uk-sanctions", file) == datetime(2026, 10, 8, tzinfo=UTC)
    assert [one.location for one in bad("uk-sanctions", file)] == ["uk.csv, line 6"]


def test_the_eu_tells_one_entry_in_rows_of_a_kind_each(tmp_path: Path) -> None:
    one = {"fileGenerationDate": "08/10/2026", "Entity_LogicalId": "13", "Entity_SubjectType": "E"}
    file = table(
        tmp_path / "eu.csv",
        EU_COLUMNS,
        {**one, "NameAlias_WholeName": "MAIN FUND", "Entity_Remark": "Formerly OLD FUND"},
        {**one, "NameAlias_WholeName": "ОСНОВНОЙ ФОНД"},
        {**one, "Address_City": "Minsk", "Address_CountryIsoCode": "BY"},
        {**one, "Identification_Number": "690590194"},
        {"Entity_LogicalId": "14", "Entity_SubjectType": "P"},
        delimiter=";",
    )
    found = entries("eu-consolidated", file)
    assert [name.text for name in found["13"].names] == ["MAIN FUND", "ОСНОВНОЙ ФОНД"]
    assert (found["13"].countries, found["13"].identifiers) == (("BLR",), ("690590194",))
    assert found["13"].note == "Formerly OLD FUND"
    assert [one.location for one in bad("eu-consolidated", file)] == ["14"]
    assert said("eu-consolidated", file) == datetime(2026, 10, 8, tzinfo=UTC)


def test_denied_persons_have_a_row_for_each_address(tmp_path: Path) -> None:
    columns = [
        "Name", "Street_Address", "City", "State", "Country", "Postal_Code", "Effective_Date", "Expiration_Date",
        "Standard_Order", "Last_Update", "Action", "FR_Citation",
    ]  # fmt: skip
    file = table(
        tmp_path / "dpl.txt",
        columns,
        {"Name": " ALFA TRADING", "City": "RICHARDSON", "State": "TX"},
        {"Name": "ALFA TRADING", "City": "TEHRAN", "Country": "IR"},
        delimiter="\t",
    )
    (one,) = entries("us-bis-dpl", file).values()
    assert (one.kind, one.countries) == ("unknown", ("USA", "IRN"))
    assert WATCHLIST_SOURCES["us-bis-dpl"].category == "warning"


def test_the_screening_list_says_by_its_source_what_an_entry_means(tmp_path: Path) -> None:
    columns = [
        "_id", "source", "type", "programs", "name", "addresses", "alt_names", "nationalities", "citizenships",
        "dates_of_birth", "start_date", "vessel_flag", "ids", "remarks",
    ]  # fmt: skip
    file = table(
        tmp_path / "csl.csv",
        columns,
        {
            "_id": "a", "source": "Unverified List (UVL) - Bureau of Industry and Security",
            "name": "Atlas Co.; and any successor, sub-unit, or subsidiary thereof",
            "addresses": "Komitas 26/114, Yerevan, Armenia, AM; TR", "alt_names": "Atlas One; and Atlas Two",
        },
        {
            "_id": "b", "source": "Specially Designated Nationals (SDN) - Treasury Department", "type": "Entity",
            "name": "MSP BANK", "ids": "Public Registration Number, 1027739108649; Website, mspbank.ru",
            "remarks": "Linked To: ANOTHER BANK",
        },
    )  # fmt: skip
    found = entries("us-csl", file)
    assert [name.text for name in found["a"].names] == ["Atlas Co.", "Atlas One", "Atlas Two"]
    assert (found["a"].category, found["a"].countries) == ("warning", ("ARM", "TUR"))
    assert (found["b"].category, found["b"].identifiers) == ("sanction", ("1027739108649",))
    assert (found["a"].note, found["b"].note) == (None, "Linked To: ANOTHER BANK")


def test_targets_of_opensanctions_without_what_is_nobody(tmp_path: Path) -> None:
    columns = [
        "id", "schema", "name", "aliases", "birth_date", "countries", "addresses", "identifiers", "sanctions",
        "program_ids", "first_seen",
    ]  # fmt: skip
    file = table(
        tmp_path / "targets.simple.csv",
        columns,
        {"id": "NK-1", "schema": "Organization", "name": "A", "aliases": "B;C", "countries": "ru;by", "sanctions": "x"},
        {"id": "NK-2", "schema": "Security", "name": "SHARE"},
        {"id": "NK-3", "schema": "Person", "name": "D", "birth_date": "1960-01-01"},
    )
    found = entries("opensanctions", file)
    assert found.keys() == {"NK-1", "NK-3"}
    assert (found["NK-1"].category, found["NK-1"].countries) == ("sanction", ("RUS", "BLR"))
    assert found["NK-3"].category == "warning"
    assert "CC BY-NC" in WATCHLIST_SOURCES["opensanctions"].licence


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_letters_with_accents_are_read_in_either_encoding(encoding: str, tmp_path: Path) -> None:
    """Spreadsheets save tables in Windows-1252."""
    nulls = ",".join(['"-0- "'] * 8)
    sdn, own = tmp_path / "sdn.csv", tmp_path / "own.csv"
    sdn.write_bytes(f'1,"MU\u00d1OZ \u2013 HIJOS","-0- ","SDGT",{nulls}\n'.encode(encoding))
    own.write_bytes("key,kind,name,category\n1,organisation,MU\u00d1OZ \u2013 HIJOS,warning\n".encode(encoding))
    (listed,) = (one for one in SDN.read_entries([sdn]) if isinstance(one, ListedEntity))
    assert listed.names == entries("own", own)["1"].names == (ListedName("MU\u00d1OZ \u2013 HIJOS", "primary"),)


def test_a_row_that_hides_others_may_be_a_part_of_any_entry(tmp_path: Path) -> None:
    one = {"Unique ID": "RUS0001", "Designation Type": "Entity"}
    file = table(
        tmp_path / "uk.csv",
        UK_COLUMNS,
        {**one, "Name 6": "MAIN FUND", "Name type": "Primary Name"},
        {**one, "Name 6": "ALT\nFUND", "Name type": "Alias"},
        {"Name 6": "NOBODY"},
        first="Report Date: 08-Oct-2026\n",
    )
    hides, nobody = bad("uk-sanctions", file)
    assert (hides.location, hides.key, hides.is_possibly_partial) == ("uk.csv, line 4", None, True)
    assert (nobody.location, nobody.key, nobody.is_possibly_partial) == ("uk.csv, line 6", None, False)


def test_a_row_that_hides_others_is_told_and_is_nobody(tmp_path: Path) -> None:
    """A quotation mark without its pair takes the next rows into a name."""
    file = tmp_path / "own.csv"
    rows = "".join(f'{n},organisation,"BODY {n}",warning,"two\nlines"\n' for n in range(3))
    rows += "".join(f'{n},organisation,"BODY {n}",warning,\n' for n in range(3, 9))
    file.write_text("key,kind,name,category,note\n" + rows.replace('"BODY 4"', '"BODY 4'))
    assert entries("own", file).keys() == set("0123678")
    assert [one.key for one in bad("own", file)] == [None]


def test_a_file_of_one_endless_text_is_refused(tmp_path: Path) -> None:
    """A quotation mark without its pair, and none behind it."""
    (sdn := tmp_path / "sdn.csv").write_text('9,"HARAKAT FUND' + "\n10,FUND" * 20_000)
    with pytest.raises(WatchlistImportRefused, match=r"sdn\.csv cannot be read"):
        list(SDN.read_entries([sdn]))


def test_a_name_with_an_unquoted_comma_is_no_address(tmp_path: Path) -> None:
    nulls = ",".join(['"-0- "'] * 8)
    (sdn := tmp_path / "sdn.csv").write_text(f'9,"HARAKAT FUND","-0- ","SDGT",{nulls}\n')
    (alt := tmp_path / "alt.csv").write_text('9,1,"fka","OLD FUND","-0- "\n9,2,"aka",OTHER, FUND,"-0- "\n')
    [misread, read] = SDN.read_entries([sdn, alt])
    assert isinstance(misread, RejectedEntry)
    assert (misread.location, misread.key, misread.is_possibly_partial) == ("alt.csv, row 2", "9", True)
    assert isinstance(read, ListedEntity)
    assert ([one.text for one in read.names], read.addresses) == (["HARAKAT FUND", "OLD FUND"], ())


@pytest.mark.parametrize("end", ["", ",", ",,"])
@pytest.mark.parametrize("shifted", ["BETA, LTD,Moscow,BETA-RU,,", "BETA, LTD,Moscow,BETA-RU,RU,7"])
def test_a_row_with_more_values_than_columns_is_told_and_is_nobody(shifted: str, end: str, tmp_path: Path) -> None:
    """An unquoted comma moves everything behind it into other columns; one at the end of every row moves nothing."""
    file = tmp_path / "csl.csv"
    columns = "_id,source,type,programs,name,addresses,alt_names,nationalities,ids"
    names = ("ALPHA,,,,", shifted, "GAMMA,Minsk,,,")
    rows = [f"{number},Capta List (CAP),Entity,X,{name}{end}" for number, name in enumerate(names, 1)]
    file.write_text("\n".join((columns, *rows)))
    assert entries("us-csl", file).keys() == {"1", "3"}
    assert [one.key for one in bad("us-csl", file)] == [None]


@pytest.mark.parametrize(
    ("stated", "published_at"),
    [
        ("2026-02-27T12:00:00.000-05:00", datetime(2026, 2, 27, 17, tzinfo=UTC)),
        ("2026-02-27T12:00:00", datetime(2026, 2, 27, 12, tzinfo=UTC)),
        ("27/02/2026", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("", None),
    ],
)
def test_the_time_that_the_un_states_is_read_or_left_out(
    stated: str, published_at: datetime | None, tmp_path: Path
) -> None:
    (file := tmp_path / "un.xml").write_text(UN.replace("2026-02-27T12:00:00.000-05:00", stated))
    assert said("un-consolidated", file) == published_at


OWN_COLUMNS = "key,kind,name,aliases,countries,addresses,identifiers,category,note,source".split(",")


def test_an_operators_findings_are_of_any_category(tmp_path: Path) -> None:
    row = {
        "key": "1", "kind": "organisation", "name": "Hate Club", "aliases": "HC; Hate Circle", "countries": "USA",
        "category": "hateSpeech", "note": "Its own pamphlet", "source": "https://example.org/1",
    }  # fmt: skip
    (one,) = entries("own", table(tmp_path / "own.csv", OWN_COLUMNS, row)).values()
    assert [name.text for name in one.names] == ["Hate Club", "HC", "Hate Circle"]
    assert (one.category, one.note, one.source_url) == ("hateSpeech", "Its own pamphlet", "https://example.org/1")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("first", ["", "sep={}\r\n"])
def test_findings_are_read_as_any_spreadsheet_saves_them(
    first: str, delimiter: str, encoding: str, tmp_path: Path
) -> None:
    rows = ("Key,KIND,Name,Category,Note", "1,Organisation,Caf\u00e9 Club,Hatespeech,x", "2,person,,warning,")
    text = first.format(delimiter) + "\r\n".join(row.replace(",", delimiter) for row in rows)
    (file := tmp_path / "own.csv").write_bytes(text.encode(encoding))
    (one,) = entries("own", file).values()
    assert (one.kind, one.names, one.category, one.note) == (
        "organisation",
        (ListedName("Caf\u00e9 Club", "primary"),),
        "hateSpeech",
        "x",
    )
    (problem,) = bad("own", file)
    assert problem.location == f"own.csv, line {4 if first else 3}"


def test_a_finding_tells_all_its_problems_at_once(tmp_path: Path) -> None:
    row = {"kind": "club", "name": "", "category": "bad", "countries": "Atlantis"}
    (problem,) = bad("own", table(tmp_path / "own.csv", OWN_COLUMNS, row))
    assert problem.location == "own.csv, line 2"
    for part in ("key is empty", "name is empty", "kind 'club'", "category 'bad'", "'Atlantis'"):
        assert part in problem.reason
    unspeakable = row | {"key": "1", "kind": "organisation", "name": "!!!", "category": "warning", "countries": ""}
    (problem,) = bad("own", table(tmp_path / "own.csv", OWN_COLUMNS, unspeakable))
    assert problem.reason == "name '!!!' has no letter or digit: it cannot be compared"


@pytest.mark.parametrize("code", sorted(WATCHLIST_SOURCES))
def test_files_of_something_else_are_refused(code: str, tmp_path: Path) -> None:
    (file := tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(WatchlistImportRefused):
        list(WATCHLIST_SOURCES[code].read_entries([file]))


def test_a_list_that_is_not_known_is_told_those_that_are() -> None:
    with pytest.raises(WatchlistImportRefused, match="ofac-sdn"):
        get_watchlist_source("ofac")


def test_folders_and_zips_stand_for_the_files_in_them(tmp_path: Path) -> None:
    folder = tmp_path / "2024-05-03"
    folder.mkdir()
    (folder / "sdn.csv").write_text("x")
    (folder / ".hidden").write_text("y")
    packed = tmp_path / "sdn_2024-05-04.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(folder / "sdn.csv", "../deep/sdn.csv")
    with files.open_import_files([folder]) as plain, files.open_import_files([packed]) as unpacked:
        assert plain.sha256 == unpacked.sha256
        assert (plain.latest_date_in_file_names, unpacked.latest_date_in_file_names) == (
            datetime(2024, 5, 3, tzinfo=UTC),
            datetime(2024, 5, 4, tzinfo=UTC),
        )
        assert [path.name for path in unpacked.paths] == ["sdn.csv"]
    with pytest.raises(WatchlistImportRefused), files.open_import_files([tmp_path / "none.csv"]):
        pass
