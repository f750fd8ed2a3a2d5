"""Files of the IRS as they break on their way: each is refused in a sentence, or costs its broken rows alone."""

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almoner.adapters.registers_irs_990n import Irs990NReader
from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.adapters.registers_irs_pub78 import IrsPub78Reader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow, UnreadableValue
from almoner.nonprofits.registers.ports import RegisterSource
from tests.support import irs_month
from tests.support.bmf import COLUMNS, body
from tests.support.register_files import File

MASTER = (
    "\n".join([",".join(COLUMNS), *(",".join(body(f"53019660{nth}", f"FUND {nth}").values()) for nth in range(5))])
    + "\n"
).encode()
PUB78 = b"\n\n" + b"135562976|Boys & Girls Clubs|Atlanta|GA|United States|GROUP\n" * 3
REVOKED = b"\n\n" + b"010019709|LODGE||7 ELM ST|HOULTON|ME|04730-1668|US|10|15-MAY-2011|22-FEB-2012|\n" * 3
NOTICE = (
    b"271710297|2022|SOCIETY|T|F|06-01-2022|05-31-2023||JANE ROE|9 ROE ST|ROE FLAT|Roe Town||MN|55449|US|"
    b"1 ORG ST||Minneapolis||MN|55455|US|BUILDERS||\n"
)
FILES: list[tuple[RegisterSource, bytes]] = [
    (IrsBmfReader(), MASTER),
    (IrsPub78Reader(), PUB78),
    (IrsRevocationsReader(), REVOKED),
    (Irs990NReader(), b"\n\n" + NOTICE * 3),
]
"""Each source with a small whole file."""
of_each = settings(max_examples=settings().max_examples // 4)


def read(source: RegisterSource, content: bytes) -> list[RegisterEntry | RejectedRow]:
    rows = list(source.read([File(content, "file.csv")]))
    assert all(isinstance(row, RegisterEntry | RejectedRow | UnreadableValue) for row in rows)
    return [row for row in rows if isinstance(row, RegisterEntry | RejectedRow)]


def shipped() -> bytes:
    return irs_month.april("wy").content


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda whole: whole[: len(whole) // 2], "ends in the middle of line"),
        (lambda whole: whole.splitlines(keepends=True)[0], "a header but no rows"),
        (lambda whole: b"", "it is empty"),
        (lambda whole: b"<!DOCTYPE html><html><body>Access denied</body></html>\n", "web page"),
        (lambda whole: b'{"error": "not found"}\n', "web page or an error message"),
        (lambda whole: whole.replace(b"DEDUCTIBILITY", b"DEDUCT_CD"), "no column DEDUCTIBILITY"),
        (lambda whole: whole.replace(b"EIN,", b"ein_number,", 1), "no column EIN"),
        (lambda whole: whole.replace(b",", b";"), "format has changed"),
        (lambda whole: whole.decode().encode("utf-16"), "UTF-16"),
        (lambda whole: whole.decode().encode("utf-16-le"), "UTF-16"),
        (lambda whole: b"\x00" * 4096, "UTF-16"),
        (lambda whole: b"PK\x03\x04\x14\n\x08" + whole, "zip without its ending"),
    ],
)
def test_a_broken_master_file_is_refused_in_one_sentence(broken: Callable[[bytes], bytes], said: str) -> None:
    with pytest.raises(ImportRefused, match=said) as refused:
        read(IrsBmfReader(), broken(shipped()))
    assert str(refused.value).startswith("file.csv ")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "same",
    [
        lambda whole: whole.replace(b"\n", b"\r\n"),
        lambda whole: whole.replace(b"\n", b"\r"),
        lambda whole: b"\xef\xbb\xbf" + whole,
        lambda whole: whole.rstrip(b"\n"),
        lambda whole: whole + b"\n\n",
        lambda whole: whole.replace(b"EIN,NAME", b'"Ein", name ', 1),
    ],
    ids=["CRLF", "CR", "BOM", "no last end", "blank lines at the end", "header in small letters"],
)
def test_what_only_looks_different_is_the_same(same: Callable[[bytes], bytes]) -> None:
    assert read(IrsBmfReader(), same(shipped())) == read(IrsBmfReader(), shipped())


def test_a_column_that_was_emptied_is_no_fact_of_any_row() -> None:
    """It is no error of a row: that the content of a column is gone at once is for the guards of a load to see."""
    rows = [line.split(b",") for line in MASTER.splitlines()]
    place = COLUMNS.index("FOUNDATION")
    content = b"\n".join(
        b",".join([*row[:place], b"" if nth else row[place], *row[place + 1 :]]) for nth, row in enumerate(rows)
    )
    entries = read(IrsBmfReader(), content + b"\n")
    assert [isinstance(entry, RegisterEntry) and "FOUNDATION" not in entry.facts for entry in entries] == [True] * 5


def test_a_file_that_holds_itself_twice_gives_every_body_twice_and_its_header_as_a_bad_row() -> None:
    """That numbers repeat is for the loader to see: it sees all the files."""
    entries = read(IrsBmfReader(), MASTER * 2)
    assert [entry.number for entry in entries if isinstance(entry, RegisterEntry)] == [
        f"53019660{nth}" for nth in range(5)
    ] * 2
    assert [row.line_number for row in entries if isinstance(row, RejectedRow)] == [7]


def test_a_file_in_another_encoding_costs_the_rows_that_show_it() -> None:
    latin = MASTER.replace(b"FUND 1", "CAF\u00c9".encode("latin-1"))
    good, bad, *rest = read(IrsBmfReader(), latin)
    assert isinstance(bad, RejectedRow)
    assert "empty or damaged" in bad.reason
    assert all(isinstance(row, RegisterEntry) for row in (good, *rest))
    (_, spelled, *_) = read(IrsBmfReader(), MASTER.replace(b"FUND 1", "CAF\u00c9".encode()))
    assert isinstance(spelled, RegisterEntry)
    assert spelled.name == "CAF\u00c9"


@pytest.mark.parametrize(("source", "content"), FILES)
def test_nul_is_never_passed_on(source: RegisterSource, content: bytes) -> None:
    """PostgreSQL keeps it nowhere, in no text and no jsonb."""
    rows = read(source, content.replace(b"|US", b"|U\x00").replace(b"1 MAIN ST", b"1 \x00").replace(b"Boys", b"\x00"))
    assert rows
    assert all("\x00" not in repr(row) and "\\x00" not in repr(row) for row in rows)


@pytest.mark.parametrize(("source", "content"), FILES)
def test_any_line_is_an_entry_or_a_bad_row(source: RegisterSource, content: bytes) -> None:
    whole = len(read(source, content))

    @of_each
    @given(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=200))
    def check(line: str) -> None:
        assert len(read(source, content + line.encode() + b"\n")) == whole + bool(line.strip())

    check()


@pytest.mark.parametrize(("source", "content"), FILES)
def test_any_row_of_the_right_width_is_an_entry_or_a_bad_row(source: RegisterSource, content: bytes) -> None:
    whole, last = len(read(source, content)), content.splitlines()[-1].decode()
    sign = "," if source.code == "irs-bmf" else "|"
    width = last.count(sign) + 1
    field = st.one_of(
        st.sampled_from(last.split(sign)),
        st.sampled_from(
            ["", " ", '"', '"A"', "000000000", "T", "F", "99-99-9999", "31-FEB-2020", "-", "0", "\u0661" * 9]
        ),
        st.text(st.characters(exclude_characters=f"\r\n{sign}", exclude_categories=["Cs"]), max_size=12),
    )

    @of_each
    @given(st.lists(field, min_size=width, max_size=width))
    def check(fields: list[str]) -> None:
        line = sign.join(fields)
        assert len(read(source, content + line.encode() + b"\n")) == whole + bool(line.strip())

    check()


@pytest.mark.parametrize(("source", "content"), FILES)
def test_any_bytes_are_refused_or_read(source: RegisterSource, content: bytes) -> None:
    @of_each
    @given(st.binary(max_size=300), st.integers(0, len(content)))
    def check(junk: bytes, place: int) -> None:
        for given_bytes in (junk, content[:place] + junk + content[place:]):
            with contextlib.suppress(ImportRefused):
                read(source, given_bytes)

    check()


_DAMAGE = st.lists(st.tuples(st.sampled_from(["insert", "remove", "end"]), st.integers(0, 40)), max_size=3)


@given(_DAMAGE)
def test_officers_are_in_nothing_that_is_made_of_a_damaged_notice(damage: list[tuple[str, int]]) -> None:
    line = NOTICE.decode()
    for kind, nth in damage:
        signs = [place for place, letter in enumerate(line) if letter == "|"]
        if not signs:
            continue
        place = signs[nth % len(signs)]
        line = line[:place] + {"insert": "||", "remove": "", "end": "\n"}[kind] + line[place + 1 :]
    rows = read(Irs990NReader(), (NOTICE * 9).replace(b"ROE", b"DOE").replace(b"JANE", b"JOHN") + line.encode())
    assert not any(part in repr(rows[9:]) for part in ("JANE", "ROE", "Roe"))


@given(st.sampled_from(["insert", "remove", "end", "quote"]), st.integers(0, 27))
def test_nobody_in_whose_care_a_body_is_is_in_anything_made_of_a_damaged_row(kind: str, nth: int) -> None:
    line = ",".join(body("530196605", "A FUND", ICO="% JANE ROE").values())
    place = [at for at, letter in enumerate(line) if letter == ","][nth % 27]
    line = line[:place] + {"insert": ",,", "remove": "", "end": "\n", "quote": '"'}[kind] + line[place + 1 :]
    assert not any(part in repr(read(IrsBmfReader(), MASTER + line.encode() + b"\n")) for part in ("JANE", "ROE"))
