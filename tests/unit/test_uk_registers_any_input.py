"""Whatever a file of a British register holds: entries, bad rows, or a refusal; and never what is personal."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from almoner.adapters.registers_ccew import CcewReader
from almoner.adapters.registers_ccew_tables import TABLES
from almoner.adapters.registers_ccni import NEEDED as CCNI_NEEDED
from almoner.adapters.registers_ccni import CcniReader
from almoner.adapters.registers_gb_links import CharityMergersReader, DualRegistrationsReader, ReregistrationsReader
from almoner.adapters.registers_oscr import NEEDED as OSCR_NEEDED
from almoner.adapters.registers_oscr import OscrReader
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registers.ports import RegisterSource
from tests.support.register_files import File, Reading, read
from tests.support.uk_registers import (
    MAIL,
    PHONE,
    ccew_json,
    ccew_text,
    ccni,
    charity,
    columns_of,
    northern_irish,
    oscr,
    said,
    scottish,
)

FEW = settings(max_examples=40, deadline=None)

TEXTS = some.one_of(
    some.text(max_size=30),
    some.sampled_from(
        ("", "\t", "\\", "'", '"', "True", "0", "999999999999", "2023-09-07", "31/02/2020", "nan", "1e9", "\x00", MAIL)
    ),
)
LINES = some.lists(some.one_of(some.binary(max_size=60), TEXTS.map(lambda text: text.encode("utf-8", "replace"))))


def tried(source: RegisterSource, *files: File) -> Reading | None:
    """What is read; None for a refusal. Anything else fails the test."""
    try:
        return read(source, *files)
    except ImportRefused:
        return None


def ccew_charity(content: bytes) -> list[File]:
    """The table charity with these bytes after its header."""
    return [File(ccew_text("charity", []).content + content, "publicextract.charity.txt")]


FILES: dict[str, tuple[RegisterSource, Callable[[bytes], list[File]]]] = {
    "ccew": (CcewReader(), ccew_charity),
    "oscr": (OscrReader(), lambda content: [File(oscr([]).content + content)]),
    "ccni": (CcniReader(), lambda content: [File(ccni([]).content + content)]),
    "mergers": (
        CharityMergersReader(),
        lambda content: [
            File(
                b"transferor_regno,transferor_subno,transferee_regno,transferee_subno,date_property_transferred,"
                b"date_vesting_declaration,date_merger_registered\n" + content
            )
        ],
    ),
    "reregistrations": (
        ReregistrationsReader(), lambda content: [File(b"Old charity number,New charity number\n" + content)]
    ),
    "dual": (
        DualRegistrationsReader(), lambda content: [File(b"Scottish Charity Number,E&W Charity Number\n" + content)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@FEW
@given(lines=LINES)
def test_any_lines(name: str, lines: list[bytes]) -> None:
    """Lines of anything after a good header."""
    source, files = FILES[name]
    tried(source, *files(b"\r\n".join(lines)))


@pytest.mark.parametrize("name", FILES)
@FEW
@given(content=some.binary(max_size=400))
def test_any_bytes(name: str, content: bytes) -> None:
    """Bytes of anything in place of the file."""
    file = File(content, "publicextract.charity.txt")
    tried(FILES[name][0], file)
    if name == "ccew":
        tried(FILES[name][0], File(content, "publicextract.charity.json"))


@FEW
@given(table=some.sampled_from(sorted(TABLES)), data=some.data())
def test_any_values_of_the_extract(table: str, data: some.DataObject) -> None:
    """Any text in any column of any table, as text and as JSON: never an exception.

    All tables go through one reader; each column by itself is in test_register_damage.
    """
    values = {column: data.draw(TEXTS, column) for column in data.draw(some.sets(some.sampled_from(columns_of(table))))}
    row = {**(charity() if table == "charity" else said()), **values}
    main = [] if table == "charity" else [ccew_text("charity", [charity()])]
    tried(CcewReader(), *main, ccew_text(table, [row]))
    tried(CcewReader(), *main, ccew_json(table, [row]))


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=10),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
)


@FEW
@given(items=some.lists(JSON, max_size=4), values=some.dictionaries(some.sampled_from(columns_of("charity")), JSON))
def test_any_json(items: list[object], values: dict[str, object]) -> None:
    """Items of any kind in the array, values of any kind in its objects."""
    good = {column: charity().get(column) for column in columns_of("charity")}
    content = json.dumps([good, {**good, **values}, *items]).encode()
    tried(CcewReader(), File(content, "publicextract.charity.json"))


@FEW
@given(values=some.dictionaries(some.sampled_from(OSCR_NEEDED), TEXTS))
def test_any_values_of_scotland(values: dict[str, str]) -> None:
    """Any text in any column."""
    tried(OscrReader(), oscr([{**scottish(), **values}]))


@FEW
@given(values=some.dictionaries(some.sampled_from(CCNI_NEEDED), TEXTS))
def test_any_values_of_northern_ireland(values: dict[str, str]) -> None:
    """Any text in any column."""
    tried(CcniReader(), ccni([{**northern_irish(), **values}], encoding="utf-8"))


ROWS: dict[str, tuple[RegisterSource, Callable[[], list[str]], Callable[[bytes], list[File]], str]] = {
    "ccew": (CcewReader(), lambda: [charity().get(name, "") for name in columns_of("charity")], ccew_charity, "\t"),
    "ccni": (
        CcniReader(),
        lambda: [*(northern_irish().get(name, "") for name in CCNI_NEEDED), MAIL, PHONE, ""],
        FILES["ccni"][1],
        ",",
    ),
    "oscr": (OscrReader(), lambda: [scottish().get(name, "") for name in OSCR_NEEDED], FILES["oscr"][1], ","),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
@FEW
@given(data=some.data())
def test_nothing_personal_is_put_aside(name: str, data: some.DataObject) -> None:
    """A row that was cut, shifted or doubled somewhere shows no contact, in whatever field it came to lie."""
    source, row, files, delimiter = ROWS[name]
    fields = row()
    at = data.draw(some.integers(0, len(fields)))
    dropped = data.draw(some.integers(0, len(fields) - at))
    fields[at : at + dropped] = data.draw(some.lists(some.sampled_from((MAIL, PHONE, "", '"', "x")), max_size=4))
    found = tried(source, *files(delimiter.join(fields).encode() + b"\r\n"))
    aside = repr(found.bad) if found else ""
    assert MAIL not in aside
    assert PHONE not in aside
    assert "Bloggs" not in aside
