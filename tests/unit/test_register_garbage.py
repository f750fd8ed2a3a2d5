"""Whatever a file holds, a reader gives rows that can be stored, or refuses the file: never another exception."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almoner.adapters.registers_acnc import AcncReader
from almoner.adapters.registers_anbi import AnbiReader
from almoner.adapters.registers_cra import CraIdentificationReader, CraReader
from almoner.adapters.registers_cri import CriReader
from almoner.adapters.registers_mapped import MappedRegisterReader
from almoner.adapters.registers_mapping import load_mapping, parse_mapping
from almoner.adapters.registers_nzcs import NzcsReader
from almoner.adapters.registers_rna import RnaReader
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registers.ports import RegisterSource
from tests.support.register_files import File, on_disk, read
from tests.support.workbooks import COLUMNS, workbook_by_excel

DATA = Path(__file__).parents[1] / "data"
HAND = DATA / "registers_by_hand"
MAPPINGS = Path(__file__).parents[2] / "docs" / "guides" / "mappings"

EXCEL = [list(COLUMNS), ["20015763", "Invented Harbour Trust", "", "Registered", *[""] * 8, "Jane Roe"]]
CASES: dict[str, tuple[RegisterSource, File]] = {
    "acnc": (AcncReader(), on_disk(DATA / "au_acnc" / "datadotgov_main_excerpt.csv")),
    "cra": (CraReader(), on_disk(HAND / "cra_list.txt")),
    "cra-t3010": (CraIdentificationReader(), on_disk(HAND / "cra_ident_2015.csv")),
    "cri": (CriReader(), File(workbook_by_excel(EXCEL), "register.xlsx")),
    "nzcs-json": (NzcsReader(), on_disk(HAND / "nzcs_results.json")),
    "nzcs-csv": (NzcsReader(), on_disk(HAND / "nzcs.csv")),
    "anbi": (AnbiReader(), on_disk(HAND / "anbi.xml")),
    "rna": (RnaReader(), on_disk(HAND / "rna_waldec_20240101_dpt_75.csv")),
    "mapped-csv": (MappedRegisterReader(load_mapping(MAPPINGS / "npo-like.toml")), on_disk(HAND / "npo_like.csv")),
    "mapped-jsonl": (MappedRegisterReader(load_mapping(MAPPINGS / "zer-like.toml")), on_disk(HAND / "zer_like.jsonl")),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)

given_each = pytest.mark.parametrize("case", CASES)
of_each = settings(max_examples=settings().max_examples // 4)
"""Examples of each of many readers."""


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(name)
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


def check(source: RegisterSource, file: File) -> None:
    try:
        reading = read(source, file)
    except ImportRefused:
        return
    for row in (*reading.entries, *reading.links, *reading.bad):
        for text in texts(tuple(row)):
            assert "\x00" not in text
            text.encode("utf-8")
    for entry in reading.entries:
        assert entry.number
        assert entry.part
        assert entry.name or not source.lists_organisations
        json.dumps(dict(entry.facts))


@given_each
@of_each
@given(content=st.binary(max_size=400))
def test_bytes_without_any_meaning(case: str, content: bytes) -> None:
    source, file = CASES[case]
    check(source, File(content, file.name))


@given_each
@of_each
@given(data=st.data())
def test_real_files_with_pieces_taken_out_and_put_in(case: str, data: st.DataObject) -> None:
    source, file = CASES[case]
    content = file.content
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 60)))
        piece = data.draw(st.binary(max_size=30) | st.sampled_from((b'"', b"\n", b"\x00", b"\xff", b";", b",", b"\t")))
        content = content[:start] + piece + content[end:]
    check(source, File(content, file.name))


@given_each
@of_each
@given(data=st.data())
def test_real_files_that_were_cut_off(case: str, data: st.DataObject) -> None:
    source, file = CASES[case]
    check(source, File(file.content[: data.draw(st.integers(0, len(file.content)))], file.name))


@given(records=st.lists(JSON, max_size=4), envelope=st.booleans())
def test_any_json(records: list[object], envelope: bool) -> None:
    document = {"d": {"results": records}} if envelope else {"d": records}
    check(NzcsReader(), File(json.dumps(document).encode()))
    source, file = CASES["mapped-jsonl"]
    check(source, File("\n".join(json.dumps(record) for record in records).encode(), file.name))


MEMBERS = (
    "Name",
    "CharityRegistrationNumber",
    "RegistrationStatus",
    "DateRegistered",
    "WebSiteURL",
    "StreetAddressLine1",
)


@given(record=st.dictionaries(st.sampled_from(MEMBERS), JSON), number=st.sampled_from(("CC12345", "CC1")))
def test_members_of_any_type(record: dict[str, object], number: str) -> None:
    given = {"RegistrationStatus": "Registered", "Name": "A", **record, "CharityRegistrationNumber": number}
    check(NzcsReader(), File(json.dumps({"d": [given]}).encode()))


@given(
    record=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("name", "kurznamen", "anschrift", "internet", "zwecke"), JSON)
    )
)
def test_json_lines_with_members_of_any_type(record: dict[str, object]) -> None:
    source, _ = CASES["mapped-jsonl"]
    line = {"name": "A", **record, "gericht": "RA000220", "registernummer": "VR1"}
    check(source, File(json.dumps(line).encode()))


@given(text=st.text(max_size=200))
def test_any_text_as_a_mapping(text: str) -> None:
    with pytest.raises(ImportRefused):
        parse_mapping(text, "my.toml")


@given(data=st.data())
def test_mappings_with_values_of_any_type(data: st.DataObject) -> None:
    text = (MAPPINGS / "npo-like.toml").read_text("utf-8")
    lines = text.splitlines()
    place = data.draw(st.integers(0, len(lines) - 1))
    name, equals, _ = lines[place].partition(" = ")
    values = ("1", "true", "[]", "{}", '""', '"x"', "[1]", "{ column = 1 }", "{ columns = [] }", "1979-05-27", "1.5")
    lines[place] = (
        f"{name} = {data.draw(st.sampled_from(values))}"
        if equals
        else data.draw(st.sampled_from(("", "[x]", "[facts]")))
    )
    with suppress(ImportRefused):
        parse_mapping("\n".join(lines), "my.toml")
