"""Statements in the forms of banks of many countries, each with what it must give (M7)."""

import io
import zipfile
from datetime import date
from pathlib import Path
from typing import Final

import pytest

from almoner.giving.banking.bank_statements import account_ownership, csv_mapping, service
from almoner.giving.banking.bank_statements.domain import BankStatement, BankStatementError, find_donation_references
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address
from almoner.kit.money import Money
from almoner.platform.files import iso20022
from tests.support.bank_exports import EXPORTS, FEE, GIFT, REFERENCE, Export

TODAY: Final = date(2026, 11, 26)
SAMPLES: Final = Path(__file__).parents[1] / "data" / "bank_statements"


def test_the_corpus_is_of_at_least_forty_files_of_fifteen_banks_and_eight_countries() -> None:
    assert len(EXPORTS) + len(TAKEN) >= 40
    assert len({one.bank for one in EXPORTS}) >= 15
    assert len({one.country for one in EXPORTS}) >= 8


@pytest.mark.parametrize(
    "export", EXPORTS, ids=lambda one: f"{one.bank} {one.country} {'csv' if one.mapping else 'sta'}"
)
def test_m7_a_gift_is_found_in_the_form_of_each_bank(export: Export, tmp_path: Path) -> None:
    mapping = None
    if export.mapping is not None:
        mapping = tmp_path / "mapping.toml"
        mapping.write_text(export.mapping, encoding="utf-8")
    [found], wrong = service.parse_statement_file(
        export.content, service.load_mapping(mapping) if mapping else None, None, TODAY
    )
    assert wrong == []
    moved = sorted(found.movements, key=lambda one: one.booked_on)
    assert [(one.booked_on, one.amount_minor) for one in moved] == [(date(2026, 3, 2), GIFT), (date(2026, 3, 3), FEE)]
    assert [find_donation_references(one) for one in moved] == [[REFERENCE], []]
    assert len({one.reference for one in moved}) == len(moved)
    assert found.account


TAKEN: Final[dict[str, list[int]]] = {
    "camt/camt053.v2.minimal.xml": [885],
    "camt/camt053.v2.minimal.ultimate.xml": [885],
    "camt/camt053.v2.multi.statement.xml": [885, -700],
    "camt/camt053.v2.with-party-ids.xml": [885],
    "camt/camt053.v3.xml": [885],
    "camt/camt053.v4.xml": [885],
    "camt/camt053.v8.xml": [885],
    "camt/camt53.only-Dt-with-DtTm.xml": [],
    "mt940/betterplace/with_binary_character.sta": [2700, 1306830, -19328205, 112000],
    "mt940/citi/mt940.txt": [-21239, -36928, -56108],
    "mt940/jejik/generic.sta": [-1000, -1000],
    "mt940/jejik/sns.sta": [-2000, -500],
    "mt940/mBank/mt940.sta": [1, 1, 1],
    "mt940/sberbank/171011_01234945.sta": [-240200, -346000, -357500],
    "mt940/self-provided/february_30.sta": [-600],
    "mt940/self-provided/gv_codes.sta": [-23315, -2430],
    "mt940/self-provided/long_statement_number.sta": [],
    "mt940/self-provided/transaction_details_wrapped.sta": [-600],
    "mt940/self-provided/wrapped_timestamp.sta": [-600],
}
"""Test files of others (licences beside them) that are whole."""


@pytest.mark.parametrize("name", TAKEN)
def test_m7_whole_test_files_of_others_are_read(name: str) -> None:
    found, wrong = service.parse_statement_file((SAMPLES / name).read_bytes(), None, None, TODAY)
    assert wrong == []
    assert [one.amount_minor for statement in found for one in statement.movements] == TAKEN[name]


@pytest.mark.parametrize("file", sorted(SAMPLES.rglob("*.*")), ids=lambda one: str(one.relative_to(SAMPLES)))
def test_m7_every_test_file_is_read_or_refused_in_words(file: Path) -> None:
    try:
        found, wrong = service.parse_statement_file(file.read_bytes(), None, None, TODAY)
    except BankStatementError as refused:
        found, wrong = [], str(refused).splitlines()
    assert found or wrong
    for inner in ("__", "Error", "argument", "NoneType", "Traceback", "object", "invalid literal"):
        assert inner not in "".join(wrong)


@pytest.mark.parametrize("kind", ["052", "054"])
def test_m7_other_messages_are_refused_by_name(kind: str) -> None:
    files = sorted((SAMPLES / "camt").glob(f"camt{kind}.*"))
    assert len(files) >= 5
    for file in files:
        with pytest.raises(BankStatementError, match=rf"camt\.{kind}.*Ask the bank for statements, camt\.053"):
            service.parse_statement_file(file.read_bytes(), None, None, TODAY)


CAMT: Final = (SAMPLES / "camt" / "camt053.v8.xml").read_text()
STA: Final = (
    ":20:S\n:25:DE89370400440532013000\n:28C:1\n:60F:C260302EUR1,00\n:61:2603020302C25,00NTRFNONREF\n"
    ":86:166?00GUTSCHRIFT?20Spende?32Jörg\n:62F:C260302EUR26,00\n-"
)
SPACE: Final = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"


@pytest.mark.parametrize(
    "content",
    [
        CAMT.replace(f' xmlns="{SPACE}"', ""),
        CAMT.replace(SPACE, "ISO:camt.053.001.08:APC:STUZZA:payments:003"),
        CAMT.replace(SPACE, SPACE.upper()),
        CAMT.replace(">8.85<", ">8,85<"),
        CAMT.replace(">Company Name<", ">Müller & Söhne\x02<"),
    ],
    ids=["no namespace", "of a country", "in capitals", "decimal comma", "bare ampersand and control character"],
)
def test_m7_what_banks_write_besides_the_standard_is_read(content: str) -> None:
    assert content != CAMT
    [found], wrong = service.parse_statement_file(content.encode(), None, None, TODAY)
    assert wrong == []
    assert [one.amount_minor for one in found.movements] == [885]


def test_m7_a_cdata_section_keeps_its_ampersands() -> None:
    content = CAMT.replace(">Company Name<", "><!-- <![CDATA[ & --><![CDATA[A & B <&C;]]><").replace(
        ">455454654<", ">D & E<"
    )
    texts = list(iso20022.descendant_texts(iso20022.parse_message(content.encode()).element))
    assert {"A & B <&C;", "D & E"} <= set(texts)


@pytest.mark.parametrize("content", [STA.encode("cp850"), STA.encode("cp1252"), STA.replace("\n:", "\n  :").encode()])
def test_m7_mt940_has_its_umlauts_in_any_character_set_and_its_tags_behind_blanks(content: bytes) -> None:
    [found], wrong = service.parse_statement_file(content, None, None, TODAY)
    assert (wrong, [(one.amount_minor, one.counterparty) for one in found.movements]) == ([], [(2500, "Jörg")])


def packed(*names: str) -> bytes:
    """A zip file, as spreadsheets are."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf\r\n", "empty"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "spreadsheet"),
        (packed("[Content_Types].xml", "xl/workbook.xml"), "spreadsheet"),
        (packed("mimetype", "content.xml"), "spreadsheet"),
        (packed("[Content_Types].xml", "word/document.xml"), "text document"),
        (b"7z\xbc\xaf\x27\x1c", "Unpack it first"),
        (b"<!DOCTYPE html><title>Sign in</title>", "web page"),
        (b"OFXHEADER:100\nDATA:OFXSGML", "OFX"),
        (b'<?xml version="1.0"?><?OFX OFXHEADER="200"?><OFX>', "OFX"),
        (b"!Type:Bank\nD03/02/2026\n", "QIF"),
        (b"01,122099999,123456789,260302,0200,1,80,1,2/\n", "BAI2"),
        (b"0000002032630005        00099449  KBC".ljust(128) + b"\r\n", "CODA"),
        (b"0130004    00821EUR2 00010222769  020326", "CFONB"),
        (b"-----BEGIN PKCS7-----\n", "signed or encrypted"),
    ],
)
def test_m7_a_file_that_is_no_statement_is_refused_by_what_it_is(content: bytes, named: str) -> None:
    with pytest.raises(BankStatementError, match=named):
        service.parse_statement_file(content, None, None, TODAY)


MAPPING: Final = csv_mapping.parse_mapping(
    'account = "1"\ncurrency = "EUR"\n[file]\ndelimiter = ";"\ndecimal = ","\n[columns]\namount = "Betrag"\n'
    'day = {column = "Tag", format = "%d.%m.%Y"}\ncounterparty = "Für"\nwords = "Zweck"\n',
    "mapping",
)


@pytest.mark.parametrize(
    ("row", "counterparty"),
    [
        ('02.03.2026;25,00;"Ada;gift', "Ada"),
        ('"02.03.2026";"25,00";"Ada;gift', "Ada"),
        ('02.03.2026;25,00;Ada 5";gift', 'Ada 5"'),
        ('02.03.2026;25,00;"Ada\nLove";"lace ""x"""', "Ada Love"),
        ('"02.03.2026\n";25,00;Ada;gift', "Ada"),
        ("\u200e02.03.2026;25,00;Ada;gift", "Ada"),
    ],
)
def test_m7_a_quotation_mark_that_a_payer_typed_hides_no_rows(row: str, counterparty: str) -> None:
    content = (
        f'Tag;Betrag;Fu\u0308r;Zweck\n{row}\n03.03.2026;1,00;Bob;x\n04.03.2026;2,00;"Carl;y"z"\n05.03.2026;3,00;D;z\n'
    )
    [found], wrong = service.parse_statement_file(content.encode(), MAPPING, None, TODAY)
    assert wrong == []
    assert [one.amount_minor for one in found.movements] == [2500, 100, 200, 300]
    assert found.movements[0].counterparty == counterparty


HEADED: Final = csv_mapping.parse_mapping(
    'account = "1"\ncurrency = "EUR"\n[columns]\namount = "Amount"\nday = {column = "Date", format = "%Y-%m-%d"}\n'
    'words = "Description"\n',
    "mapping",
)
HEADLESS: Final = csv_mapping.parse_mapping(
    'account = "1"\ncurrency = "EUR"\n[file]\ndelimiter = ";"\nheader = false\n'
    '[columns]\namount = "3"\nday = {column = "2", format = "%y%m%d"}\nwords = "4"\n',
    "mapping",
)


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (
            [
                "Date,Description,Amount,Balance",
                '2026-01-04,x,"1,234.56","12,345.67"',
                '2026-01-03,y,"1,000.00","11,111.11"',
                '2026-01-05,"Gift from\nAnn REF",50.00,"1,284.56"',
                "2026-01-06,z,1.00,5.00",
            ],
            [(123456, "x"), (100000, "y"), (5000, "Gift from Ann REF"), (100, "z")],
        ),
        (
            [
                '"Date","Amount","Counterparty","Description"',
                '"2026-01-04","20.00","Lee, B","x"',
                '"2026-01-05","30.00","Lee, B","Gift\nREF-ABC-1234"',
                '"2026-01-06","1.00","Lee\n","with\nmany, many, many,\nthanks"',
            ],
            [(2000, "x"), (3000, "Gift REF-ABC-1234"), (100, "with many, many, many, thanks")],
        ),
        (
            [
                '"Description","Amount","Date"',
                '"Gift\n10,5,2026-01-01 x","2.00","2026-01-05"',
                '5" cable,1.00,2026-01-06',
                '5" cable,"1.00\n",2026-01-07',
            ],
            [(200, "Gift 10,5,2026-01-01 x"), (100, '5" cable'), (100, '5" cable')],
        ),
        (
            [
                "Date,Amount,Description",
                '2026-01-04,3.00,"x',
                "2026-01-05,2.00,y",
                '2026-01-06,1.00,z"',
                '2026-01-07,4.00,"v',
                '2026-01-08,5.00,w"',
            ],
            [(300, "x"), (200, "y"), (100, 'z"'), (400, "v"), (500, 'w"')],
        ),
    ],
    ids=["commas in amounts", "commas in names", "the text first", "two payers' quotation marks"],
)
def test_m7_quoted_texts_of_several_lines_keep_their_rows(lines: list[str], read: list[tuple[int, str]]) -> None:
    [found], wrong = service.parse_statement_file("\n".join(lines).encode(), HEADED, None, TODAY)
    assert wrong == []
    assert [(one.amount_minor, one.remittance_information) for one in found.movements] == read


@pytest.mark.parametrize("begin", ["0000012345678905", "01,ABC,DEF,260101,1200,X/", "0112345    12345abcde"])
def test_m7_a_table_is_read_though_it_begins_as_another_kind_of_file(begin: str) -> None:
    [found], wrong = service.parse_statement_file(f"{begin};260302;1.00;x\n".encode(), HEADLESS, None, TODAY)
    assert (wrong, [one.amount_minor for one in found.movements]) == ([], [100])
    with pytest.raises(BankStatementError, match="PDF"):
        service.parse_statement_file(b"%PDF-1.7\n", HEADLESS, None, TODAY)


OWN: Final = AccountNumbers("iban", "DE89370400440532013000")


@pytest.mark.parametrize(
    ("stated", "ours"),
    [
        ("37040044/0532013000", True),
        ("37040044/532013000", True),
        ("COBADEFFXXX/0532013000", True),
        ("0532013000", True),
        ("532013000", True),
        ("DE89 3704 0044 0532 0130 00", True),
        ("37040045/0532013000", False),
        ("37040044/1532013000", False),
        ("13000", False),
        ("9532013000", False),
        ("3000", False),
        ("DE88370400440532013000", False),
    ],
)
def test_m7_our_account_is_known_as_mt940_names_it(stated: str, *, ours: bool) -> None:
    statement = BankStatement(stated, "1", "EUR", None, None, bytes(32), ())
    own = {"EUR": OwnAccount("Us", OWN, Address("Berlin", "DEU"), Money(0, "EUR"))}
    assert (account_ownership.find_ownership_problems(statement, own) == []) is ours
    if ours:
        assert account_ownership.canonical_account_number(statement, own) == OWN.account


@pytest.mark.parametrize("amount", ["0,500", "0,500.00", "00,500", "0 500"])
def test_m7_no_amount_begins_with_a_group_of_nothing(amount: str) -> None:
    """It is half a unit with another decimal sign."""
    [found], _ = service.parse_statement_file(
        f'Date,Amount,Description\n2026-01-04,"{amount}",x\n2026-01-05,0.50,y\n'.encode(), HEADED, None, TODAY
    )
    assert [one.amount_minor for one in found.movements] == [50]


@pytest.mark.parametrize("mark", ["\u200e", "\u200f", "\u061c", "\u200b", "\u2060", "\ufeff"])
def test_m7_direction_marks_and_other_invisible_signs_change_no_value(mark: str) -> None:
    """Banks in Israel and Arab countries put marks of direction around amounts and dates."""
    mapping = csv_mapping.parse_mapping(
        'account = "1"\n[columns]\nday.column = "Day"\nday.format = "%d/%m/%Y"\namount.column = "Amount"\n'
        'currency.column = "Currency"\nwords.column = "Text"\n',
        "mapping.toml",
    )
    fields = ("01/03/2026", "-1,234.50", "ILS", f"gift {REFERENCE}")
    row = ",".join(f'"{mark}{field}{mark}"' for field in fields)
    content = f"{mark}Day{mark},Amount,Currency,Text\n{row}\n".encode()
    [found], wrong = service.parse_statement_file(content, mapping, None, TODAY)
    assert (wrong, found.rejected) == ([], ())
    [moved] = found.movements
    assert (moved.booked_on, moved.amount_minor, moved.currency) == (date(2026, 3, 1), -123450, "ILS")
    assert find_donation_references(moved) == [REFERENCE]
