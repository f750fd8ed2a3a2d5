"""Lines of bank statements: what they name, what they are matched with, and how files are read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID

import pytest

from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import (
    BankMovement,
    BankStatement,
    BankStatementError,
    ProviderPayout,
    ReferencedRecords,
    ensure_requests_match_movement,
    find_donation_references,
    find_donation_request_references,
    find_end_to_end_ids,
    find_new_lines,
    find_statement_problems,
    match_movement,
    reject_unbookable_lines,
)
from almoner.giving.banking.bank_statements.domain import UnreconciledLineReason as Reason
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.checkout.donation_requests.domain import DonationRequest, PartnerCurrency, new_request
from almoner.giving.checkout.donations.domain import DisbursementBatch
from almoner.giving.disbursing.disbursements.domain import new_disbursement
from almoner.kit.money import Money
from tests.support import camt

TODAY = date(2026, 3, 3)
MOVEMENT = BankMovement(date(2026, 3, 2), 1000, "EUR", "B1", None, None, None, None)
PAYOUT = replace(
    new_disbursement(UUID(int=1), DisbursementBatch(UUID(int=2), UUID(int=3), "EUR"), datetime(2026, 3, 1, tzinfo=UTC)),
    money=Money(1000, "EUR"),
    status="SENT",
)
PAID = replace(PAYOUT, status="PAID")
BACK = replace(PAYOUT, status="RETURNED")
REPORT = ProviderPayout(UUID(int=9), "po_1", "EUR", 1000)
CSV = b"\xef\xbb\xbfDay;Amount;Id;Text\n02.03.2026;1.234,50;B1;ALM-ABCDE-12345\n03.03.2026;-12,00;B2;fee\n"
MAPPING = """
account = "Main"
currency = "EUR"
[file]
delimiter = ";"
decimal = ","
[columns]
day = { column = "Day", format = "%d.%m.%Y" }
amount = "Amount"
reference = "Id"
words = "Text"
"""


def parsed(content: bytes, mapping: Path | None, own: Mapping[str, OwnAccount] | None = None) -> list[BankStatement]:
    """The statements of a file, on the day that they tell of."""
    statements, wrong = bank_statements.parse_statement_file(
        content, bank_statements.load_mapping(mapping) if mapping else None, own, TODAY
    )
    assert wrong == []
    return statements


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("invoice ALM-ABCDE-12345", ["ALM-ABCDE-12345"]),
        ("alm abcde 12345", ["ALM-ABCDE-12345"]),
        ("ALMABCDE12345 and ALM-ABCDE-12345", ["ALM-ABCDE-12345"]),
        ("GIFT ALM-ABC\nDE-12345", ["ALM-ABCDE-12345"]),
        ("alm-abcde-l2345 or ALM-ABCDE-1234", ["ALM-ABCDE-12345"]),
        (None, []),
    ],
)
def test_requests_are_found_however_they_are_spaced(words: str | None, found: list[str]) -> None:
    assert find_donation_request_references(replace(MOVEMENT, remittance_information=words)) == found


def test_payouts_are_found_by_their_end_to_end_ids_in_either_place() -> None:
    known = PAYOUT.end_to_end_id
    assert find_end_to_end_ids(
        replace(MOVEMENT, end_to_end_id=known.upper(), remittance_information=f"return of {known}")
    ) == [known]


@pytest.mark.parametrize(
    ("movement", "named", "found"),
    [
        (MOVEMENT, ReferencedRecords(), Reason.UNKNOWN),
        (MOVEMENT, ReferencedRecords(provider_payouts=[REPORT]), ("settlement", REPORT)),
        (replace(MOVEMENT, amount_minor=999), ReferencedRecords(provider_payouts=[REPORT]), Reason.OTHER_AMOUNT),
        (
            replace(MOVEMENT, currency="USD"),
            ReferencedRecords(provider_payouts=[REPORT]),
            Reason.OTHER_CURRENCY,
        ),
        (MOVEMENT, ReferencedRecords(provider_payouts=[REPORT], disbursements=[PAYOUT]), Reason.AMBIGUOUS),
        (
            MOVEMENT,
            ReferencedRecords(provider_payouts=[REPORT], duplicate_reason=Reason.SEEN_BEFORE),
            Reason.SEEN_BEFORE,
        ),
        (
            MOVEMENT,
            ReferencedRecords(provider_payouts=[REPORT], matched_records={("settlement", REPORT.id)}),
            Reason.MATCHED_BEFORE,
        ),
        (
            replace(MOVEMENT, amount_minor=-1000),
            ReferencedRecords(disbursements=[PAYOUT], released_disbursement_ids={PAYOUT.id}),
            ("disbursement", PAYOUT),
        ),
        (replace(MOVEMENT, amount_minor=-1000), ReferencedRecords(disbursements=[PAYOUT]), Reason.UNCONFIRMED),
        (replace(MOVEMENT, amount_minor=-1000), ReferencedRecords(disbursements=[BACK]), Reason.OTHER_STATE),
        (
            replace(MOVEMENT, amount_minor=-1000),
            ReferencedRecords(disbursements=[BACK], matched_records={("disbursement_return", BACK.id)}),
            ("disbursement", BACK),
        ),
        (replace(MOVEMENT, amount_minor=-1000), ReferencedRecords(disbursements=[PAID]), ("disbursement", PAID)),
        (replace(MOVEMENT, amount_minor=-1001), ReferencedRecords(disbursements=[PAYOUT]), Reason.OTHER_AMOUNT),
        (MOVEMENT, ReferencedRecords(disbursements=[PAYOUT]), ("disbursement_return", PAYOUT)),
        (
            replace(MOVEMENT, amount_minor=-1000),
            ReferencedRecords(disbursements=[replace(PAYOUT, status="PENDING")]),
            Reason.OTHER_STATE,
        ),
        (
            replace(MOVEMENT, amount_minor=-1000),
            ReferencedRecords(disbursements=[PAYOUT], matched_records={("disbursement", PAYOUT.id)}),
            Reason.MATCHED_BEFORE,
        ),
    ],
)
def test_only_what_is_certain_is_matched(movement: BankMovement, named: ReferencedRecords, found: object) -> None:
    assert match_movement(movement, named) == found


def test_m7_balances_that_its_lines_do_not_explain_refuse_a_statement() -> None:
    whole = BankStatement("A", "1", "EUR", 500, 1500, bytes(32), (MOVEMENT,))
    assert find_statement_problems(whole) == []
    doubled = find_statement_problems(replace(whole, movements=(MOVEMENT, MOVEMENT)))
    assert doubled == [
        "the lines add up to 20.00 EUR, but the balances differ by 10.00 EUR: lines are missing or duplicated"
    ]


def test_m7_a_line_that_cannot_be_booked_keeps_no_other_one_out() -> None:
    whole = BankStatement("A", "1", "EUR", 500, 1500, bytes(32), (replace(MOVEMENT, currency="USD"), MOVEMENT))
    left = reject_unbookable_lines(whole, TODAY)
    assert (left.movements, left.rejected) == ((MOVEMENT,), ("line 1: it is in USD, but the account is in EUR",))
    assert find_statement_problems(left) == []


@pytest.mark.parametrize("version", [2, 4, 8, 10, 12, 14])
def test_camt_is_read_in_every_version(version: int) -> None:
    content = camt.statement(
        camt.entry("B1", 1000, words="ALM-ABCDE-12345", name="Partner & Co"),
        camt.entry("B2", -250, end_to_end="e2e-1"),
        camt.entry("B3", 5, status="PDNG"),
        opening=-100,
        version=version,
    )
    [found] = parsed(content, None)
    assert (found.account, found.currency, found.opening_minor, found.closing_minor) == (camt.ACCOUNT, "EUR", -100, 650)
    assert [(one.amount_minor, one.reference, one.end_to_end_id, one.counterparty) for one in found.movements] == [
        (1000, "B1", None, "Partner & Co"),
        (-250, "B2", "e2e-1", None),
    ]
    assert found.movements[0].remittance_information == "ALM-ABCDE-12345"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: b"\xef\xbb\xbf\r\n " + one,
        lambda one: one + b"\r\n\x1a",
        lambda one: one + b"\x00\x00\n",
        lambda one: one.replace(b"Partner", b"J\xfcrgen \x96 M\xfcller"),  # declared as UTF-8, written by Windows
        lambda one: one.replace(b"?>", b' encoding="utf-8"?>', 1).replace(b"Partner", b"J\xfcrgen"),
    ],
)
def test_m7_camt_is_read_with_what_programs_put_around_it(spoil: Callable[[bytes], bytes]) -> None:
    [found] = parsed(spoil(camt.statement(camt.entry("B1", 1000, words="ALM-ABCDE-12345", name="Partner & Co"))), None)
    assert [one.amount_minor for one in found.movements] == [1000]
    assert "\ufffd" not in (found.movements[0].counterparty or "")


@pytest.mark.parametrize(
    "place",
    [
        "<Purp><Prtry>{}</Prtry></Purp>",
        "<Tax><RefNb>{}</RefNb></Tax>",
        "<Refs><AcctSvcrRef>{}</AcctSvcrRef></Refs>",
        "<RltdPties><UltmtDbtr><Pty><Nm>Ada {}</Nm></Pty></UltmtDbtr></RltdPties>",
        "<RltdPties><Dbtr><PstlAdr><AdrLine>Street 1</AdrLine><AdrLine>{}</AdrLine></PstlAdr></Dbtr></RltdPties>",
        "<RmtInf><Strd><Invcr><Nm>{}</Nm></Invcr></Strd></RmtInf>",
        "<SplmtryData><Envlp><Text>{}</Text></Envlp></SplmtryData>",
    ],
)
def test_m7_a_reference_is_found_in_any_element_of_a_payment(place: str) -> None:
    plain = camt.statement(camt.entry("B1", 1000, words="for all"))
    assert plain.count(b"</TxDtls>") == 1
    [found] = parsed(plain.replace(b"</TxDtls>", place.format("RF73 7ZQ3 K9MA BC").encode() + b"</TxDtls>"), None)
    assert find_donation_references(found.movements[0]) == ["RF737ZQ3K9MABC"]


@pytest.mark.parametrize(
    ("page", "name"), [("", "S1"), ("1 true", "S1"), ("1 false", "S1/1"), ("2 false", "S1/2"), ("3 true", "S1/3")]
)
def test_each_page_of_a_long_statement_has_lines_of_its_own(page: str, name: str) -> None:
    [found] = parsed(camt.statement(camt.entry("B1", 1000), page=page), None)
    assert found.reference == name


def test_a_batch_is_read_as_its_parts_when_they_come_to_it() -> None:
    [whole] = parsed(camt.statement(camt.batch("B1", 300, [100, 200])), None)
    assert [(one.amount_minor, one.reference) for one in whole.movements] == [(100, "B1/1"), (200, "B1/2")]
    [unsure] = parsed(camt.statement(camt.batch("B1", 300, [100, 100])), None)
    assert [(one.amount_minor, one.reference) for one in unsure.movements] == [(300, "B1")]


def parts(*told: str, minor: int = 10000) -> list[tuple[int, str, str | None]]:
    """What is read of an entry with these details: amounts, the bank's names, and what they name."""
    details = "".join(f"<TxDtls>{one}</TxDtls>" for one in told)
    whole = camt.batch("B1", minor, [])
    entry = whole._replace(xml=whole.xml.replace("<NtryDtls></NtryDtls>", f"<NtryDtls>{details}</NtryDtls>"))
    [found] = parsed(camt.statement(entry), None)
    return [(one.amount_minor, one.reference, one.end_to_end_id) for one in found.movements]


def amount(minor: str, currency: str = "EUR", way: str = "CRDT") -> str:
    """What a detail tells of its amount."""
    named = "<Refs><EndToEndId>e2e</EndToEndId></Refs>"
    return f'{named}<Amt Ccy="{currency}">{minor}</Amt><CdtDbtInd>{way}</CdtDbtInd>'


def test_a_batch_is_split_only_where_each_part_is_in_its_currency_and_goes_its_way() -> None:
    assert parts(amount("25.00"), amount("75.00")) == [(2500, "B1/1", "e2e"), (7500, "B1/2", "e2e")]
    assert parts(amount("2500", "JPY"), amount("7500", "JPY")) == [(10000, "B1", None)]
    assert parts(amount("25.00"), amount("75.00", way="DBIT")) == [(10000, "B1", None)]
    assert parts(amount("25.00", "eur"), amount("75.00", " EUR ")) == [(2500, "B1/1", "e2e"), (7500, "B1/2", "e2e")]
    assert parts(amount("100.00")) == [(10000, "B1", "e2e")]
    assert parts(amount("100.00", way="DBIT")) == [(10000, "B1", None)], "it is unsure what it is of"
    with pytest.raises(BankStatementError, match=r"entry 1: part 2: -25.00 EUR is not a valid amount$"):
        parts(amount("125.00"), amount("-25.00"))


def test_m7_a_statement_of_several_days_has_a_pair_of_balances_for_each() -> None:
    reported = camt.statement(camt.entry("B1", 1000), camt.entry("B2", -250), opening=500)
    before, _, rest = reported.partition(b"<Bal>")
    _, _, after = rest.rpartition(b"</Bal>")

    def balance(code: str, day: int, value: str) -> bytes:
        return (
            f'<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{value}</Amt>'
            f"<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-03-0{day}</Dt></Dt></Bal>"
        ).encode()

    first = balance("OPBD", 1, "5.00") + balance("CLBD", 1, "15.00")
    second = balance("OPBD", 2, "15.00") + balance("CLBD", 2, "12.50")
    for balances in (first + second, second + first):
        [found] = parsed(before + balances + after, None)
        assert (found.opening_minor, found.closing_minor) == (500, 1250)
    with pytest.raises(BankStatementError, match="lines are missing or duplicated"):
        parsed(before + first + second.replace(b"12.50", b"12.51") + after, None)


@pytest.mark.parametrize(
    "kind", ["<CdOrPrtry><Prtry>{}</Prtry></CdOrPrtry>", "<CdOrPrtry><Cd>{}</Cd></CdOrPrtry>", "<Cd>{}</Cd>"]
)
def test_m7_balances_are_known_by_their_type_however_it_is_given(kind: str) -> None:
    content = camt.statement(camt.entry("B1", 1000), opening=500).decode()
    for code in ("OPBD", "CLBD"):
        content = content.replace(f"<CdOrPrtry><Cd>{code}</Cd></CdOrPrtry>", kind.format(code))
    [found] = parsed(content.encode(), None)
    assert (found.opening_minor, found.closing_minor) == (500, 1500)


def test_m7_balances_in_other_currencies_than_the_account_s_are_passed_over() -> None:
    content = camt.statement(camt.entry("B1", 1000), opening=500).decode()
    before, _, rest = content.partition("<Bal>")
    middle, _, after = rest.rpartition("</Bal>")
    other = camt.statement(opening=77, currency="USD").decode().partition("<Bal>")[2].rpartition("</Bal>")[0]
    [found] = parsed(f"{before}<Bal>{other}</Bal><Bal>{middle}</Bal><Bal>{other}</Bal>{after}".encode(), None)
    assert (found.opening_minor, found.closing_minor) == (500, 1500)


@pytest.mark.parametrize("content", [b"", b"<a/>", b"\x00", b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'])
def test_what_is_no_statement_is_refused(content: bytes) -> None:
    with pytest.raises(BankStatementError, match="not a bank statement"):
        parsed(content, None)


def test_any_csv_is_read_by_a_mapping(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(MAPPING)
    [found] = parsed(CSV, mapping)
    assert [(one.booked_on, one.amount_minor, one.remittance_information) for one in found.movements] == [
        (date(2026, 3, 2), 123450, "ALM-ABCDE-12345"),
        (date(2026, 3, 3), -1200, "fee"),
    ]
    with pytest.raises(BankStatementError) as refused:
        parsed(CSV.replace(b"02.03.2026", b"2026").replace(b"-12,00", b"x").replace(b"B2", b""), mapping)
    assert str(refused.value).splitlines() == [
        "Main, 20c1ff8c79aeb3e9: line 2: '2026' is not a date in the format %d.%m.%Y",
        "Main, 20c1ff8c79aeb3e9: line 3: 'x' is not a valid amount in EUR",
    ]


@pytest.mark.parametrize(
    ("decimal", "text", "minor"),
    [
        (".", "1,050.00", 105000),
        (".", "+1050.00", 105000),
        (".", "-1 234 567.8", -123456780),
        (".", "1’050.00", 105000),
        (".", "10", 1000),
        (",", "1.050,00", 105000),
        (",", "1\u00a0050,5", 105050),
        (",", "10,50", 1050),
        (",", "1.050,-", 105000),
        (",", "-10,--", -1000),
        (".", "10.–", 1000),
        (".", "10.—", 1000),
        (".", "10-", -1000),
        (",", "10,5-", -1050),
        (",", "10,-5", None),
        (".", "10,50", None),
        (",", "10.50", None),
        (".", "1.050", None),
        (",", "1,050", None),
        (".", "1,0500.00", None),
        (".", "1,234 567.00", None),
        (".", ",500.00", None),
        (".", "1,23,456.00", None),
        (".", "10.505", None),
        (".", "1e3", None),
        (".", "", None),
        (".", "٣", None),
        (".", "90071992547409.92", None),
    ],
)
def test_amounts_are_read_by_the_mapping_or_refused(tmp_path: Path, decimal: str, text: str, minor: int | None) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(MAPPING.replace('decimal = ","', f'decimal = "{decimal}"'))
    content = f"Day;Amount;Id;Text\n02.03.2026;{text};B1;x\n".encode()
    if minor is None:
        with pytest.raises(BankStatementError, match=f"line 2: '{re.escape(text)}' is not a valid amount in EUR$"):
            parsed(content, mapping)
        return
    [found] = parsed(content, mapping)
    assert [one.amount_minor for one in found.movements] == [minor]


@pytest.mark.parametrize(
    ("currency", "decimal", "text", "minor"),
    [
        ("GBP", ".", "-£1,234.50", -123450),
        ("GBP", ".", "£-1,234.50", -123450),
        ("GBP", ".", "(£1,234.50)", -123450),
        ("GBP", ".", "1,234.50DR", -123450),
        ("GBP", ".", "£1,234.50 Cr", 123450),
        ("GBP", ".", "1,234.50 GBP-", -123450),
        ("GBP", ".", ".50", 50),
        ("EUR", ",", "1.234,50 S", -123450),
        ("EUR", ",", "1.234,50 H", 123450),
        ("INR", ".", "₹1,23,456.78", 12345678),
        ("INR", ".", "Rs. 1,23,45,678.00 Dr.", -1234567800),
        ("BRL", ",", "-R$ 1.234,50", -123450),
        ("NOK", ",", "kr -1 234,50", -123450),
        ("AUD", ".", "-A$12.50", -1250),
        ("JPY", ".", "１，２３４円", 1234),
        ("JPY", ".", "▲1,234", -1234),
        ("JPY", ".", "△1,234円", -1234),
        ("CHF", ".", "CHF 1'234.-", 123400),
        ("KWD", ".", "KWD 1,234.500", 1234500),
        ("GBP", ".", "-12.50 CR", None),
        ("GBP", ".", "--12.50", None),
        ("GBP", ".", "12.50 EUR", None),
        ("GBP", ".", "€12.50", None),
        ("JPY", ".", "USD 12", None),
    ],
)
def test_m7_amounts_are_read_as_banks_write_them_and_never_in_another_currency(
    tmp_path: Path, currency: str, decimal: str, text: str, minor: int | None
) -> None:
    mapping = tmp_path / "mapping.toml"
    stated = MAPPING.replace('decimal = ","', f'decimal = "{decimal}"').replace('"EUR"', f'"{currency}"')
    mapping.write_text(stated)
    content = f"Day;Amount;Id;Text\n02. 03. 2026;{text};B1;x\n".encode()
    if minor is None:
        with pytest.raises(
            BankStatementError, match=f"line 2: '{re.escape(text)}' (has two signs|is not in {currency})$"
        ):
            parsed(content, mapping)
        return
    [found] = parsed(content, mapping)
    assert [(one.amount_minor, one.booked_on) for one in found.movements] == [(minor, date(2026, 3, 2))]


LATER = replace(MOVEMENT, booked_on=date(2026, 3, 3), reference="B2")


@pytest.mark.parametrize(
    ("known", "told", "new"),
    [
        ((MOVEMENT,), (MOVEMENT,), []),
        ((MOVEMENT,), (replace(MOVEMENT, remittance_information="forgotten here", counterparty="Ada"),), []),
        ((MOVEMENT,), (MOVEMENT, LATER), [2]),
        ((MOVEMENT, LATER), (MOVEMENT,), []),
        ((MOVEMENT,), (MOVEMENT, MOVEMENT), [2]),
        ((MOVEMENT,), (LATER,), [1]),  # the bank uses the number anew
        ((MOVEMENT,), (), []),
        ((MOVEMENT,), (replace(MOVEMENT, amount_minor=1001),), None),
        ((MOVEMENT,), (replace(MOVEMENT, booked_on=date(2027, 3, 2)),), None),
        ((MOVEMENT, LATER), (replace(MOVEMENT, reference="B0"), LATER), None),
    ],
)
def test_a_statement_is_known_by_its_lines(
    known: tuple[BankMovement, ...], told: tuple[BankMovement, ...], new: list[int] | None
) -> None:
    statement = BankStatement("A", "1", "EUR", None, None, bytes(32), told)
    if new is None:
        with pytest.raises(BankStatementError, match=r"statement has changed.\nB1 of 2026-03-02: 10.00 EUR"):
            find_new_lines(statement, known)
        return
    assert [one.position for one in find_new_lines(statement, known)] == new


@pytest.mark.parametrize(
    ("known", "told", "new"),
    [
        ((MOVEMENT, LATER), (MOVEMENT,), []),
        ((MOVEMENT,), (MOVEMENT, LATER), [2]),
        ((MOVEMENT, LATER), (replace(LATER, amount_minor=7),), [1]),
        ((MOVEMENT,), (MOVEMENT, MOVEMENT), [2]),
    ],
)
def test_m7_an_export_tells_again_what_others_have_told(
    known: tuple[BankMovement, ...], told: tuple[BankMovement, ...], new: list[int]
) -> None:
    export = BankStatement("A", "1", "EUR", None, None, bytes(32), told, is_account_export=True)
    assert [one.position for one in find_new_lines(export, known)] == new


def test_all_problems_of_a_mapping_are_told_at_once(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text('currency = "EURO"\nsize = 1\n[columns]\nday = "Day"\nday_two = "x"\n[file]\nskip = -1\n')
    with pytest.raises(BankStatementError) as refused:
        parsed(CSV, mapping)
    for problem in (
        "the mapping has no member size",
        "columns has no member day_two: did you mean day?",
        "columns.day has no format",
        "columns.amount is required, or columns.debit and columns.credit",
        "account is required",
        "currency is not an active ISO 4217 currency",
        "file.skip is not a number of lines",
    ):
        assert problem in str(refused.value)


def _request(number: int, minor: int, paid_minor: int = 0) -> DonationRequest:
    of = PartnerCurrency(UUID(int=9), "EUR")
    made = new_request(UUID(int=number), of, PAYOUT.created_at, 30, PAYOUT.created_at)
    return replace(made, money=Money(minor, "EUR"), paid_minor=paid_minor)


def test_a_line_pays_no_request_that_is_paid_already() -> None:
    ensure_requests_match_movement(MOVEMENT, [_request(1, 400), _request(2, 900, paid_minor=300)])
    with pytest.raises(BankStatementError, match="is already paid"):
        ensure_requests_match_movement(MOVEMENT, [_request(1, 400), _request(2, 600), _request(3, 500, paid_minor=500)])
