"""Publication 78, the automatic revocations and the 990-N notices: fields, codes, days, and what is put aside."""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from almoner.adapters import irs
from almoner.adapters.registers_irs_990n import Irs990NReader
from almoner.adapters.registers_irs_pub78 import IrsPub78Reader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.nonprofits.registers import files
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow
from tests.support.register_files import File

DATA = Path(__file__).parents[1] / "data" / "us_irs_lists"
FILES = {"pub78.txt": "irs-pub78", "revocations.txt": "irs-revocations", "notices_990n.txt": "irs-990n"}
Reader = IrsPub78Reader | IrsRevocationsReader | Irs990NReader

PUB78 = "135562976|Boys & Girls Clubs of America|Atlanta|GA|United States|GROUP"
REVOKED = "010019709|ANCIENT LODGE OF|MAINE96 MO|7 CHANDLER ST|HOULTON|ME|04730-1668|US|10|{}|22-FEB-2012|{}"
NOTICE = (
    "271710297|2022|{name}|T|F|06-01-2022|05-31-2023|{site}|JANE ROE|1 OFFICER ST||Blaine||MN|55449|US|"
    "1 ORG ST||Minneapolis||MN|55455-0000|US|{dba}||"
)


def excerpt(name: str) -> File:
    return File((DATA / name).read_bytes(), name)


def read(reader: Reader, *lines: str) -> list[RegisterEntry | RejectedRow]:
    rows = reader.read([File("".join(f"{line}\n" for line in lines).encode())])
    return [row for row in rows if isinstance(row, RegisterEntry | RejectedRow)]


def one(reader: Reader, line: str) -> RegisterEntry:
    (entry,) = read(reader, line)
    assert isinstance(entry, RegisterEntry), entry
    return entry


def bad(reader: Reader, good: str, line: str) -> RejectedRow:
    *_, row = read(reader, good, good, line)
    assert isinstance(row, RejectedRow), row
    assert row.line_number == 3
    return row


def revoked(day: str = "15-MAY-2011", reinstated: str = "") -> str:
    return REVOKED.format(day, reinstated)


def notice(name: str = "SOCIETY OF ENGINEERS", site: str = "", dba: str = "") -> str:
    return NOTICE.format(name=name, site=site, dba=dba)


@pytest.mark.parametrize(
    ("reader", "file", "rows"),
    [
        (IrsPub78Reader(), "pub78.txt", 23),
        (IrsRevocationsReader(), "revocations.txt", 22),
        (Irs990NReader(), "notices_990n.txt", 3),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_excerpts_are_read_whole(reader: Reader, file: str, rows: int, end: bytes) -> None:
    content = excerpt(file).content.replace(b"\n", end)
    entries = list(reader.read([File(content)]))
    assert [type(entry) for entry in entries] == [RegisterEntry] * rows
    assert not reader.canary_numbers or any(
        entry.number in reader.canary_numbers for entry in entries if isinstance(entry, RegisterEntry)
    )
    assert list(reader.read([File(b"\xef\xbb\xbf" + content)])) == entries
    assert list(reader.read([File(content.rstrip())])) == entries  # a last line without its end is whole all the same


def test_a_row_of_publication_78() -> None:
    assert one(IrsPub78Reader(), PUB78) == RegisterEntry(
        number="135562976",
        part="all",
        name="Boys & Girls Clubs of America",
        city="Atlanta",
        state="GA",
        facts={"COUNTRY": "United States", "DEDUCTIBILITY": ["GROUP"]},
    )


def test_publication_78_gives_several_codes_and_countries_in_words() -> None:
    entry = one(IrsPub78Reader(), "980001234|Canadian Friends|Toronto||Canada|FORGN, PC,SOUNK")
    assert entry.facts == {"COUNTRY": "Canada", "DEDUCTIBILITY": ["FORGN", "PC", "SOUNK"]}
    assert entry.state is None
    assert "DEDUCTIBILITY" not in one(IrsPub78Reader(), "980001234|Canadian Friends|Toronto||Canada|").facts
    assert one(IrsPub78Reader(), "980001234|Friends | Amis|Toronto||Canada|PC").name == "Friends | Amis"


def test_a_revocation() -> None:
    assert one(IrsRevocationsReader(), revoked()) == RegisterEntry(
        number="010019709",
        part="all",
        name="ANCIENT LODGE OF",
        other_names=("MAINE96 MO",),
        city="HOULTON",
        state="ME",
        postcode="04730-1668",
        facts={
            "EXEMPTION_TYPE": "10",
            "COUNTRY": "US",
            "REVOCATION_DATE": "2011-05-15",
            "POSTING_DATE": "2012-02-22",
        },
    )


def test_a_number_is_told_of_once_for_each_time_it_was_revoked() -> None:
    entries = [
        entry for entry in IrsRevocationsReader().read([excerpt("revocations.txt")]) if isinstance(entry, RegisterEntry)
    ]
    cycles = [
        (entry.facts["REVOCATION_DATE"], entry.facts.get("REINSTATEMENT_DATE"))
        for entry in entries
        if entry.number == "010043788"
    ]
    assert cycles == [("2016-03-15", "2016-08-15"), ("2019-03-15", "2020-05-15")]
    assert len({entry.number for entry in entries}) == 17
    assert IrsRevocationsReader().has_repeated_numbers


def test_a_reinstatement_before_its_revocation_is_kept_as_published() -> None:
    facts = one(IrsRevocationsReader(), revoked("15-MAY-2010", "15-FEB-2010")).facts
    assert (facts["REVOCATION_DATE"], facts["REINSTATEMENT_DATE"]) == ("2010-05-15", "2010-02-15")


@pytest.mark.parametrize(
    ("published", "kept", "corrected"),
    [
        ("31-MAR-2020", "2020-03-31", None),
        ("01-APR-2020", "2020-04-01", "2020-07-15"),
        ("15-MAY-2020", "2020-05-15", "2020-07-15"),
        ("14-JUL-2020", "2020-07-14", "2020-07-15"),
        ("15-JUL-2020", "2020-07-15", None),
        ("15-MAY-2021", "2021-05-15", None),
    ],
)
def test_the_wrong_days_of_2020_are_kept_with_the_right_one_beside_them(
    published: str, kept: str, corrected: str | None
) -> None:
    facts = one(IrsRevocationsReader(), revoked(published)).facts
    assert (facts["REVOCATION_DATE"], facts.get("REVOCATION_DATE_CORRECTED")) == (kept, corrected)


def test_the_streets_of_revoked_bodies_are_not_read() -> None:
    aside = bad(IrsRevocationsReader(), revoked(), revoked("15-XXX-2011"))
    assert "CHANDLER" not in repr((one(IrsRevocationsReader(), revoked()), aside))


def test_a_notice() -> None:
    entry = one(Irs990NReader(), notice(site="https://www.engineers.example/", dba="THE BUILDERS"))
    assert entry == RegisterEntry(
        number="271710297",
        part="all",
        name="SOCIETY OF ENGINEERS",
        other_names=["THE BUILDERS"],
        websites=["https://www.engineers.example"],
        city="Minneapolis",
        state="MN",
        postcode="55455",
        facts={
            "TAX_YEAR": "2022",
            "GROSS_RECEIPTS_NORMALLY_SMALL": "T",
            "TERMINATED": "F",
            "PERIOD_BEGIN": "2022-06-01",
            "PERIOD_END": "2023-05-31",
            "COUNTRY": "US",
        },
    )


@pytest.mark.parametrize("site", ["jane.roe@mail.example", "N/A", " ", "none", "on facebook", "a\x00.example"])
def test_what_is_no_website_is_left_out(site: str) -> None:
    assert one(Irs990NReader(), notice(site=site)).websites in ([], ())


def test_a_terminated_body_says_so() -> None:
    assert one(Irs990NReader(), notice().replace("|T|F|", "|T|T|")).facts["TERMINATED"] == "T"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (notice(name="HOPE | HELP"), "HOPE | HELP"),
        (notice(name="A|T|F"), "A|T|F"),
        (notice().replace("JANE ROE", "JANE|ROE"), "SOCIETY OF ENGINEERS"),
        (notice(name="HOPE | HELP").replace("1 OFFICER", "1 | OFFICER"), "HOPE | HELP"),
        (notice().replace("1 ORG ST", "1 | ORG ST"), "SOCIETY OF ENGINEERS"),
    ],
)
def test_signs_that_part_the_fields_within_one_are_found_from_both_ends(line: str, name: str) -> None:
    entry = one(Irs990NReader(), line)
    assert (entry.name, entry.city, entry.state, entry.facts["COUNTRY"]) == (name, "Minneapolis", "MN", "US")
    assert "ROE" not in repr(entry)
    assert "OFFICER" not in repr(entry)


@pytest.mark.parametrize(
    "line",
    [
        notice(dba="A | B"),
        notice().replace("Minneapolis||", "Minneapolis|"),
        notice().replace("|T|F|", "|T|X|"),
        notice(name=""),
        notice(name="A\ufffd"),
        notice(name="A\x00"),
        notice().replace("271710297", "27171029"),
        "271710297|2022|CUT",
    ],
)
def test_of_a_notice_that_is_not_understood_the_number_alone_is_kept(line: str) -> None:
    assert bad(Irs990NReader(), notice(), line).content in ("271710297", "27171029")


@pytest.mark.parametrize(
    ("reader", "good", "line", "reason"),
    [
        (IrsPub78Reader(), PUB78, PUB78.replace("135562976", "000000000"), "nine digits"),
        (IrsPub78Reader(), PUB78, PUB78.replace("1355", "\u0661\u0663\u0665\u0665"), "nine digits"),
        (IrsPub78Reader(), PUB78, PUB78.replace("Boys & Girls Clubs of America", " "), "name is empty"),
        (IrsPub78Reader(), PUB78, PUB78.replace("Boys", "Bo\ufffds"), "not UTF-8"),
        (IrsPub78Reader(), PUB78, PUB78 + "|", "7 fields"),
        (IrsRevocationsReader(), revoked(), revoked("31-FEB-2011"), "15-NOV-2017"),
        (IrsRevocationsReader(), revoked(), revoked(""), "15-NOV-2017"),
        (IrsRevocationsReader(), revoked(), revoked(reinstated="soon"), "REINSTATEMENT_DATE"),
        (IrsRevocationsReader(), revoked(), revoked() + "|", "13 fields"),
    ],
)
def test_a_bad_row_is_put_aside_with_its_line_and_reason(reader: Reader, good: str, line: str, reason: str) -> None:
    assert reason in bad(reader, good, line).reason


@pytest.mark.parametrize(
    ("reader", "file", "own"),
    [
        (reader, file, own)
        for reader in (IrsPub78Reader(), IrsRevocationsReader(), Irs990NReader())
        for file, own in FILES.items()
        if reader.code != own
    ],
)
def test_one_list_given_for_another_is_refused_by_its_name(reader: Reader, file: str, own: str) -> None:
    with pytest.raises(ImportRefused, match=f"almoner registers import {own}`"):
        list(reader.read([excerpt(file)]))


@pytest.mark.parametrize("reader", [IrsPub78Reader(), IrsRevocationsReader(), Irs990NReader()])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n \r\n", "is empty"),
        (b"<!DOCTYPE html>\n<html><body>Sorry</body></html>\n", "web page"),
        (b"EIN,NAME,ICO,STREET\n530196605,RED CROSS,,X\n", "registers import irs-bmf"),
        (b"a list\nof something else\n", "check its first lines"),
        (PUB78.encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04 zip", "without its ending"),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_sentence(reader: Reader, content: bytes, said: str) -> None:
    with pytest.raises(ImportRefused, match=said) as refused:
        list(reader.read([File(content, "file.txt")]))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("reader", "file", "cut"),
    [
        (IrsPub78Reader(), "pub78.txt", 20),
        (IrsRevocationsReader(), "revocations.txt", 30),
        (Irs990NReader(), "notices_990n.txt", 9),
    ],
)
def test_a_file_that_was_cut_off_is_refused(reader: Reader, file: str, cut: int) -> None:
    content = excerpt(file).content
    with pytest.raises(ImportRefused, match="ends in the middle of line"):
        list(reader.read([File(content.rstrip()[:-cut])]))


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("THE CLUB C/O JANE ROE 1747 PENN AVE", "THE CLUB"),
        ("SAILORS HOME SOCIETY ATTN JANE ROE", "SAILORS HOME SOCIETY"),
        ("PARTNERS IN CARE OF THE ELDERLY", "PARTNERS IN CARE OF THE ELDERLY"),
        ("100 % FOR ANIMALS", "100 % FOR ANIMALS"),
        ("C/O A NAME", "C/O A NAME"),
    ],
)
def test_nor_does_he_in_a_name_that_says_it(name: str, left: str) -> None:
    assert irs.strip_care_of_suffix(name) == left


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("C/O JANE ROE 525 NW RIDGE RD", "525 NW RIDGE RD"),
        ("C/O JANE ROE", ""),
        ("% J B ROE JR 122 AMHERST AVE", "122 AMHERST AVE"),
        ("%J B ROE", ""),
        ("C/O 2000P STREET NW 503", "2000P STREET NW 503"),
        ("ATTN JANE ROE PRES PO BOX 9", "PO BOX 9"),
        ("1301 K ST NW C/O JANE ROE SUITE 30", "1301 K ST NW SUITE 30"),
        ("IN CARE OF JANE ROE 1 MAIN ST", "1 MAIN ST"),
        ("1 MATTNER ST", "1 MATTNER ST"),
        ("5 1/2 MAIN ST", "5 1/2 MAIN ST"),
    ],
)
def test_nobody_in_whose_care_a_body_is_stays_in_an_address(written: str, left: str) -> None:
    assert irs.strip_care_of_line(written) == left


@pytest.mark.parametrize(
    ("reader", "file"),
    [
        (IrsPub78Reader(), "pub78.txt"),
        (IrsRevocationsReader(), "revocations.txt"),
        (Irs990NReader(), "notices_990n.txt"),
    ],
)
def test_zipped_and_plain_files_are_the_same(reader: Reader, file: str, tmp_path: Path) -> None:
    """As they are published: one file in a zip, of the name of neither."""
    archive = tmp_path / "data-download.zip"
    with ZipFile(archive, "w", ZIP_DEFLATED) as zipped:
        zipped.write(DATA / file, "data-download.txt")
    (found,) = files.find_import_files([archive])
    with files.open_import_file(found) as opened:
        assert list(reader.read([opened])) == list(reader.read([excerpt(file)]))
