"""Mapping files: what they take, and every problem of one told at once."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_mapped import MappedRegisterReader
from almoner.adapters.registers_mapping import MEMBERS, RegisterMapping, load_mapping, parse_mapping
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry
from almoner.nonprofits.registries.domain import DeclaredRegistry
from almoner.platform.files.mappings import ENCODINGS
from tests.support.register_files import File, Reading, read

ROOT = Path(__file__).parents[2]
HAND = ROOT / "tests" / "data" / "registers_by_hand"
EXAMPLES = ROOT / "docs" / "guides" / "mappings"
GUIDE = ROOT / "docs" / "guides" / "register-mappings.md"

WHOLE = """
[source]
code = "mine"
registry = "NPO"
[file]
format = "csv"
[columns]
number = "No"
name = "Name"
[constants]
types = ["nonprofit"]
active = true
"""


def example(name: str) -> Reading:
    files = {"zer-like": "zer_like.jsonl", "npo-like": "npo_like.csv", "dgr-like": "dgr_like.csv"}
    return read(MappedRegisterReader(load_mapping(EXAMPLES / f"{name}.toml")), HAND / files[name])


def problems(text: str) -> list[str]:
    with pytest.raises(ImportRefused) as refused:
        parse_mapping(text, "my.toml", {"irs-bmf": "IRS", "irs-pub78": None})
    first, *listed = str(refused.value).splitlines()
    assert first.startswith(f"the mapping my.toml has {len(listed)} problem")
    return [line.removeprefix("- ") for line in listed]


def changed(old: str, new: str) -> str:
    assert old in WHOLE
    return WHOLE.replace(old, new)


def mapped(text: str, content: str | bytes, name: str = "file") -> Reading:
    return read(
        MappedRegisterReader(parse_mapping(text, "my.toml")),
        File(content if isinstance(content, bytes) else content.encode(), name),
    )


def test_a_german_list_of_json_lines() -> None:
    reading = example("zer-like")
    assert (len(reading.entries), len(reading.unnumbered), len(reading.bad)) == (2, 1, 3)
    assert reading.entries[0] == RegisterEntry(
        number="RA000220-VR8726",
        part="all",
        name="Förderverein Erfundener Hafen e. V.",
        other_names=["Hafenfreunde", "FEH"],
        types=["nonprofit"],
        websites=["http://www.hafen.example"],
        address_line_1="Erfundene Str. 12",
        city="Hamburg",
        postcode="20457",
        registration_date=datetime(2003, 5, 6, tzinfo=UTC),
        facts={"zwecke": ["Jugendhilfe", "Kultur"], "bescheid": "2024-02-01"},
    )
    assert reading.entries[1].facts == {"bescheid": "2023-03-04"}
    assert [(bad.line_number, bad.reason) for bad in reading.bad] == [
        (5, "the name is empty or damaged"),
        (6, "the line is not a JSON object"),
        (7, "the line is not JSON"),
    ]
    assert "Johanna" not in repr(reading)
    assert "johanna" not in repr(reading)


def test_a_south_african_table_with_its_status_in_a_column() -> None:
    reading = example("npo-like")
    assert (len(reading.entries), len(reading.bad)) == (2, 2)
    forum, society = reading.entries
    assert forum == RegisterEntry(
        number="000-001 NPO",
        part="Western Cape",
        name="Invented Harbour Forum",
        other_names=["Harbour Forum", "Forum"],
        description="To help the harbour",
        types=["nonprofit"],
        active=True,
        city="Cape Town",
        state="Western Cape",
        registration_date=datetime(1999, 3, 1, tzinfo=UTC),
        facts={"sector": "Social services", "public_benefit": True, "last_report": "2023-06-30"},
    )
    assert (society.name, society.active) == ("Invented Café Society", False)
    assert ["Status" in bad.reason or "number" in bad.reason for bad in reading.bad] == [True, True]
    assert "Roe" not in repr(reading)


def test_an_australian_list_of_facts_makes_no_bodies() -> None:
    source = MappedRegisterReader(load_mapping(EXAMPLES / "dgr-like.toml"))
    assert (source.code, source.registry_code, source.lists_organisations, source.has_repeated_numbers) == (
        "au-dgr",
        "ACNC",
        False,
        True,
    )
    reading = example("dgr-like")
    assert (len(reading.entries), len(reading.bad)) == (3, 1)
    assert [(entry.number, entry.facts) for entry in reading.entries] == [
        ("46253211955", {"item": "Item 1", "endorsed_from": "2000-07-01", "deductible": True}),
        (
            "46253211955",
            {"item": "Item 2", "endorsed_from": "2000-07-01", "endorsed_to": "2020-06-30", "deductible": True},
        ),
        ("50151540886", {"item": "Item 1", "endorsed_from": "2012-02-01", "deductible": True}),
    ]
    assert "wrong check digit" in reading.bad[0].reason


def test_a_mapping_says_what_it_is_and_leaves_the_rest_as_usual() -> None:
    mapping = parse_mapping(WHOLE, "my.toml")
    assert (mapping.lists_organisations, mapping.unverified, mapping.repeats_numbers, mapping.encoding) == (
        True,
        True,
        False,
        "utf-8",
    )
    assert mapping.columns == ("No", "Name")
    assert mapped(WHOLE, "Name,No\nA,1234\n").one == RegisterEntry(
        "1234", "all", "A", other_names=[], types=["nonprofit"]
    )


def test_a_second_line_of_the_name_is_shown_after_the_first() -> None:
    two_lines = WHOLE.replace("[columns]", '[columns]\nsecondary_name = "Branch"', 1)
    entry = mapped(two_lines, "Name,No,Branch\nQUILLWORT GUILD,1234,YORK BRANCH\n").one
    assert (entry.secondary_name, entry.display_name) == ("YORK BRANCH", "Quillwort Guild, York Branch")
    assert mapped(two_lines, "Name,No,Branch\nGuild,1234,\n").one.secondary_name is None


def test_every_problem_is_told_at_once() -> None:
    reported = problems(
        """
        sorce = {}
        [source]
        code = "Mine!"
        registry = "XYZ"
        lists = "yes"
        [file]
        format = "xlsx"
        encoding = "utf-16"
        delimiter = ",,"
        [columns]
        nam = "Name"
        registration_date = "Registered"
        active = { column = "Status" }
        city = { colum = "Town" }
        [personal]
        never = "Email"
        """
    )
    stated = "\n".join(reported)
    assert "the mapping has no table sorce: did you mean source?" in stated
    assert "source.code is not 2 to 40 small letters" in stated
    assert "source.registry XYZ is not a registry" in stated
    assert "source.lists is not true or false" in stated
    assert 'file.format is not "csv" or "jsonl"' in stated
    assert "file.encoding utf-16 is not known" in stated
    assert "file.delimiter is not one character" in stated
    assert "columns has no member nam: did you mean name?" in stated
    assert "columns.registration_date has no format" in stated
    assert "columns.active does not say which values mean yes" in stated
    assert "columns.city has no option colum: did you mean column?" in stated
    assert "columns.city names no column" in stated
    assert "columns.number is missing" in stated
    assert "personal.never is not a list of texts" in stated


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('number = "No"', "", "columns.number is missing"),
        ('name = "Name"', "", "columns.name is missing"),
        ("active = true", "", "nothing says which bodies are active"),
        ('types = ["nonprofit"]', "", "constants.types is missing"),
        ('types = ["nonprofit"]', 'types = ["charity"]', "charity is not one of"),
        ('code = "mine"', 'code = "irs-bmf"', "with a reader of its own"),
        ('name = "Name"', 'name = "Name"\nactive = { column = "S", true = ["R"] }', "active is in columns and in"),
        ('name = "Name"', 'name = "Name"\ncity = "Contact person"', "sounds like personal data"),
        ('name = "Name"', "name = 7", "neither the name of a column nor a table"),
        ('name = "Name"', 'name = { column = "A", columns = ["B"] }', "column and columns"),
        ('name = "Name"', 'name = { column = "A", separator = ";" }', "no option separator"),
        ('name = "Name"', 'name = "Name"\nregistration_date = { column = "D", format = "%H" }', "year, month and day"),
        ('name = "Name"', 'name = "Name"\nregistration_date = { column = "D", format = "%q" }', "year, month and day"),
        ("[columns]", "[source.x]\n[columns]", "source has no member x"),
        ('registry = "NPO"', 'registry = "NPO"\nquiet = ["a"]', "quiet names a, which is not a fact"),
        ('registry = "NPO"', 'registry = "NPO"\ncanaries = ["x"]', "x is not a number of NPO"),
        ("[columns]", '[personal]\nnever = ["Name"]\n[columns]', "which personal.never names"),
        (
            "[columns]",
            '[facts]\na = { column = "A", true = ["Y"], format = "%Y-%m-%d" }\n[columns]',
            "more than one of",
        ),
        ("[columns]", '[personal]\nnever = ["board"]\n[facts]\nhead = "board.head"\n[columns]', "which personal.never"),
        ("[columns]", '[facts]\na = { column = "A", true = ["Y"], false = ["y"] }\n[columns]', "both true and false"),
        ("active = true", 'active = true\nfacts = { a = 1 }\n[facts]\na = "A"', "facts and in constants.facts"),
        ('registry = "NPO"', 'registry = "IRS"', "listed by irs-bmf"),
        ('name = "Name"', 'name = "Name"\nuntil = { column = "E", format = "%Y-%m-%d" }', "ends and nothing"),
        ('registry = "NPO"', 'registry = "NPO"\nrepeats = true', "say source.lists = false"),
        ('format = "csv"', 'format = "jsonl"\ndelimiter = ";"', "is for csv"),
    ],
)
def test_each_problem_says_what_to_do(old: str, new: str, problem: str) -> None:
    (reported,) = problems(changed(old, new))
    assert problem in reported


@pytest.mark.parametrize("text", ["[", "a = ", "\x00", "[source]\n[source]"])
def test_what_is_no_toml_is_told(text: str) -> None:
    with pytest.raises(ImportRefused, match="not TOML"):
        parse_mapping(text, "my.toml")


def test_a_mapping_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_bytes(b"\xff")
    for path in (tmp_path / "none.toml", tmp_path / "my.toml"):
        with pytest.raises(ImportRefused, match="cannot be read"):
            load_mapping(path)


def test_a_column_that_sounds_personal_may_be_said_to_hold_none() -> None:
    text = changed('name = "Name"', 'name = "Name"\ncity = "Contact town"') + '[personal]\nnone = ["Contact town"]\n'
    assert mapped(text, "No,Name,Contact town\n1234,A,Leeds\n").one.city == "Leeds"


def test_a_missing_column_is_refused_by_its_name() -> None:
    with pytest.raises(ImportRefused, match="Name"):
        mapped(WHOLE, "No,Title\n1234,A\n")
    lines = changed('format = "csv"', 'format = "jsonl"')
    with pytest.raises(ImportRefused, match="No"):
        mapped(lines, '{"number": "1234", "Name": "A"}\n')


@pytest.mark.parametrize("encoding", sorted(ENCODINGS - {"utf-8-or-windows-1252"}))
def test_every_encoding_reads_its_own_text(encoding: str) -> None:
    text = "No,Name\n1234,Plain\n"
    reading = mapped(changed('format = "csv"', f'format = "csv"\nencoding = "{encoding}"'), text.encode(encoding))
    assert reading.one.name == "Plain"


def test_a_wrong_encoding_is_a_bad_row() -> None:
    reading = mapped(WHOLE, "No,Name\n1234,Café\n".encode("latin-1"))
    assert (reading.entries, reading.bad[0].number_key) == ([], "1234")


def test_nothing_that_is_not_named_is_read() -> None:
    reading = mapped(WHOLE, "No,Name,Chair\n1234,A,Jane Roe\nx,B,Jane Roe\n1235,C,Jane Roe,Jane Roe\n")
    assert (len(reading.entries), len(reading.bad)) == (1, 2)
    assert "Roe" not in repr(reading)


def test_facts_need_no_name() -> None:
    text = changed('registry = "NPO"', 'registry = "NPO"\nlists = false').replace('name = "Name"', "")
    text = text.replace('types = ["nonprofit"]\nactive = true', "") + '[facts]\na = "A"\n'
    assert mapped(text, "No,A\n1234,yes\n").one == RegisterEntry("1234", "all", "", other_names=[], facts={"a": "yes"})


def test_the_guide_names_every_member() -> None:
    text = GUIDE.read_text("utf-8")
    assert all(f"`{member}`" in text for member in MEMBERS)
    assert all(encoding in text for encoding in ENCODINGS)
    assert {path.name for path in EXAMPLES.glob("*.toml")} == {"zer-like.toml", "npo-like.toml", "dgr-like.toml"}
    assert all(f"mappings/{path.name}" in text for path in EXAMPLES.glob("*.toml"))
    assert isinstance(load_mapping(EXAMPLES / "npo-like.toml"), RegisterMapping)


DECLARING = WHOLE.replace(
    'registry = "NPO"',
    """[registry]
code = "XX-OWN"
name = "Eigenes Register"
english_name = "Register of our own"
country_code = "AUT"
characters = "digits"
shortest = 3
longest = 5""",
)


def test_a_mapping_declares_its_registry_and_the_form_of_its_numbers() -> None:
    mapping = parse_mapping(DECLARING, "my.toml")
    assert mapping.registry == "XX-OWN"
    assert mapping.declared_registry == DeclaredRegistry(
        "XX-OWN", "Eigenes Register", "Register of our own", "AUT", 3, 5, digits_only=True
    )
    reading = mapped(DECLARING, "No,Name\n12-3,A\n12345,B\n12,C\n123456,D\n1x3,E\n\u0661\u0662\u0663,F\n")
    assert [entry.name for entry in reading.entries] == ["A", "B"]
    assert {bad.reason for bad in reading.bad} == {"the number is not one of XX-OWN (its length or characters)"}
    loose = DECLARING.replace('characters = "digits"\n', "")
    assert [entry.name for entry in mapped(loose, "No,Name\n1x3,E\n1%3,F\n").entries] == ["E"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"XX-OWN"', '"IRS"', "registry.code IRS is known here and cannot be declared"),
        ('"XX-OWN"', '"xx"', "registry.code is not 2 to 20 capital letters"),
        ('"AUT"', '"AU"', "registry.country_code is not a country"),
        ('"Eigenes Register"', '" "', "registry.name is not a text of 1 to 200"),
        ('"digits"', '"[0-9]+"', "registry.characters is not one of"),
        ("shortest = 3", "shortest = 6", "registry.shortest and longest are not whole numbers"),
        ("shortest = 3", "pattern = '(a+)+'", "[registry] has no member pattern"),
        ('code = "mine"', 'code = "mine"\nregistry = "NPO"', "source.registry is not XX-OWN"),
    ],
)
def test_what_is_wrong_with_a_declared_registry(old: str, new: str, said: str) -> None:
    text = DECLARING.replace('[source]\ncode = "mine"\n', "").replace("[file]", '[source]\ncode = "mine"\n[file]')
    assert old in text
    (problem,) = problems(text.replace(old, new))
    assert said in problem
