"""What files about money at banks are refused for, in words that name the place: statements, mappings, accounts."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from almoner.giving.banking.bank_statements import csv_mapping
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import (
    BankMovement,
    BankStatement,
    BankStatementError,
    LineStatus,
    MatchedAs,
    reject_unbookable_lines,
    reopen_blocked_reason,
)
from almoner.giving.banking.payment_files import own_accounts_file
from almoner.giving.banking.payment_files.domain import (
    BankStatus,
    GroupStatus,
    PaymentFileError,
    RequestedTransfer,
    StatusReport,
    TransactionStatus,
    match_bank_outcomes_to_transfers,
)
from almoner.kit.money import MAX_MINOR, Money
from tests.support import camt

TODAY: Final = date(2026, 3, 3)
MAPPING: Final = 'account = "1"\ncurrency = "EUR"\n[columns]\namount = "A"\nday = {column = "D", format = "%Y-%m-%d"}\n'
OWN: Final = (
    '[EUR]\nname = "Almoner"\niban = "DE89370400440532013000"\ntown = "Berlin"\ncountry = "DEU"\n'
    'single_approval_limit = "100.00"\n'
)
STA: Final = (
    ":20:S\n:25:DE89370400440532013000\n:28C:1\n:60F:C260302EUR1,00\n:61:2603020302C25,00NTRFNONREF\n"
    ":62F:C260302EUR26,00\n-"
)


def problems(content: bytes, mapping: str | None = None) -> list[str]:
    """Everything that is wrong with a statement file, whether or not some of it is taken."""
    columns = csv_mapping.parse_mapping(mapping, "mapping") if mapping else None
    try:
        found, wrong = bank_statements.parse_statement_file(content, columns, None, TODAY)
    except BankStatementError as refused:
        return str(refused).splitlines()
    return [*wrong, *(problem for one in found for problem in one.rejected)]


@pytest.mark.parametrize(
    ("stated", "instead", "problem"),
    [
        ("[columns]", '[file]\ndecimal = ";"\n[columns]', 'file.decimal must be "." or ","'),
        ("[columns]", "[file]\nskip = -1\n[columns]", "file.skip is not a number of lines from 0 to 1000"),
        ("[columns]", "[file]\nskip = true\n[columns]", "file.skip is not a number of lines from 0 to 1000"),
        ("[columns]", "[file]\nheader = false\n[columns]", "without a header, columns are named by their number"),
        ('account = "1"', "account = 1", "account is not a text"),
        ('account = "1"', "", "account is required"),
        ('currency = "EUR"', 'currency = "EURO"', "currency is not an active ISO 4217 currency"),
        ('day = {column = "D", format = "%Y-%m-%d"}', "", "columns.day is required"),
        ('amount = "A"', 'debit = "A"', "columns.amount is required, or columns.debit and columns.credit"),
        (
            'amount = "A"',
            'debit = "A"\ncredit = "B"\nincoming = {column = "C", true = ["in"]}',
            "columns.incoming says which way columns.amount went: it needs that",
        ),
    ],
)
def test_m7_a_mapping_is_refused_by_what_is_wrong(stated: str, instead: str, problem: str) -> None:
    assert csv_mapping.parse_mapping(MAPPING, "mapping").currency == "EUR"
    assert stated in MAPPING
    with pytest.raises(BankStatementError) as refused:
        csv_mapping.parse_mapping(MAPPING.replace(stated, instead), "mapping")
    assert str(refused.value).startswith(f"mapping: {problem}")


TWO_COLUMNS: Final = MAPPING.replace('amount = "A"', 'debit = "A"\ncredit = "B"')
BESIDE: Final = MAPPING.replace(
    'amount = "A"', 'amount = "A"\nincoming = {column = "B", true = ["in"], false = ["out"]}'
)
OF_ANY: Final = MAPPING.replace('currency = "EUR"', "").replace('amount = "A"', 'amount = "A"\ncurrency = "B"')


@pytest.mark.parametrize(
    ("mapping", "row", "problem"),
    [
        (TWO_COLUMNS, "5.00,5.00", "it has a debit and a credit"),
        (BESIDE, "5.00,sideways", "'sideways' does not say whether it came or left"),
        (BESIDE, "5.00,", "'' does not say whether it came or left"),
        (OF_ANY, "5.00,EURO", "'EURO' is not an ISO 4217 currency"),
    ],
)
def test_m7_a_row_is_refused_where_its_direction_or_currency_is_unsure(mapping: str, row: str, problem: str) -> None:
    [found] = problems(f"D,A,B\n2026-03-02,{row}\n".encode(), mapping)
    assert found.endswith(f"line 2: {problem}")


def test_m7_the_column_that_is_missing_is_named_and_looked_for_in_the_first_lines_only() -> None:
    assert problems(b"D,B\n2026-03-02,5.00\n", MAPPING) == ["the file has no column A"]
    late = b"x,y\n" * 40 + b"D,A\n2026-03-02,5.00\n"
    assert problems(late, MAPPING) == ["the file has no column A, D"]


ENTRY: Final = camt.entry("B1", 1000)
SIGN: Final = "<CdtDbtInd>CRDT</CdtDbtInd>"


@pytest.mark.parametrize(
    ("stated", "instead", "problem"),
    [
        ("{status:BOOK}", "<Cd>LOST</Cd>", "the status LOST is not known"),
        ('<Amt Ccy="EUR">10</Amt>', "", "it has no amount"),
        ('<Amt Ccy="EUR">10</Amt>', '<Amt Ccy="USD">10</Amt>', "it is in USD, but the account is in EUR"),
        (SIGN, "", "it does not say whether it came or left"),
        (SIGN, "<CdtDbtInd>BOTH</CdtDbtInd>", "it does not say whether it came or left"),
        ("<Dt>2026-03-02</Dt>", "<Dt>soon</Dt>", "it has no date"),
    ],
)
def test_m7_an_entry_in_xml_is_refused_where_it_is_unsure(stated: str, instead: str, problem: str) -> None:
    xml = ENTRY.xml.replace('<Amt Ccy="EUR">10.00</Amt>', '<Amt Ccy="EUR">10</Amt>').replace("{amount}", "")
    assert problems(camt.statement(ENTRY._replace(xml=xml))) == []
    assert stated in xml
    spoilt = ENTRY._replace(xml=xml.replace(stated, instead))
    assert any(found.endswith(f"entry 1: {problem}") for found in problems(camt.statement(spoilt)))


def test_m7_a_statement_in_xml_without_account_or_currency_is_refused() -> None:
    content = camt.statement(ENTRY, account="", told=()).replace(b"<Ccy>EUR</Ccy>", b"").replace(b' Ccy="EUR"', b"")
    assert problems(content) == [
        "no account, S1: it has no account number",
        "no account, S1: it has no ISO 4217 currency",
    ]


@pytest.mark.parametrize(
    ("stated", "instead", "problem"),
    [
        (":60F:C260302EUR1,00", ":60F:C260302EUR1.0.0", "a balance: 1.0.0 EUR is not a valid amount"),
        (":25:DE89370400440532013000\n", "", "it has no account number"),
        ("EUR", "EUX", "it has no ISO 4217 currency"),
        (":62F:C260302EUR", ":62F:C260302USD", "its balances are in EUR and USD"),
        (":61:2603020302C25,00", ":61:2613400302C25,00", "entry 1: 261340 is no date"),
        (":61:2603020302C25,00", ":61:2603020302C25,001", "entry 1: 25,001 EUR is not a valid amount in this currency"),
        (":61:2603020302C25,00", ":61:soon", "entry 1: soonNTRFNONREF is no entry (field 61)"),
    ],
)
def test_m7_a_statement_in_mt940_is_refused_where_it_is_unsure(stated: str, instead: str, problem: str) -> None:
    assert problems(STA.encode()) == []
    assert stated in STA
    assert any(problem in found for found in problems(STA.replace(stated, instead).encode()))


def test_m7_lines_that_the_ledger_cannot_hold_are_put_aside() -> None:
    line = BankMovement(date(2026, 3, 2), 1000, "EUR", "B1", None, None, None, None)
    lines = (replace(line, amount_minor=0), line, replace(line, amount_minor=-MAX_MINOR - 1))
    kept = reject_unbookable_lines(BankStatement("1", "S1", "EUR", None, None, bytes(32), lines), TODAY)
    assert kept.movements == (line,)
    assert kept.rejected == ("line 1: it has an amount of zero", "line 3: the amount is too large")


@pytest.mark.parametrize(
    ("status", "matched_as", "told"),
    [
        ("open", None, "This line is open."),
        ("dismissed", None, ""),
        ("matched", "settlement", ""),
        ("matched", "request", "This match has moved money in the ledger"),
        ("matched", "disbursement", "This match has moved money in the ledger"),
    ],
)
def test_m7_a_match_that_moved_money_is_not_undone(status: LineStatus, matched_as: MatchedAs | None, told: str) -> None:
    reason = reopen_blocked_reason(status, matched_as)
    assert (reason or "").startswith(told)
    assert bool(reason) is bool(told)


@pytest.mark.parametrize(
    ("stated", "instead", "problem"),
    [
        ("[EUR]", "[EURO]", "[EURO] is not the table of an ISO 4217 currency"),
        (OWN, 'EUR = "DE89370400440532013000"\n', "[EUR] is not the table of an ISO 4217 currency"),
        ('town = "Berlin"\n', "", "[EUR] town is required"),
        ("DEU", "XXX", "[EUR] country must have three letters such as DEU"),
        ("Almoner", "Almoner \u2603", "[EUR] name has characters that banks do not take: \u2603"),
        ("100.00", "100.001", "[EUR] single_approval_limit must be an amount of EUR"),
        ("100.00", "-1", "[EUR] single_approval_limit must be an amount of EUR"),
        ("100.00", "NaN", "[EUR] single_approval_limit must be an amount of EUR"),
        ("100.00", "much", "[EUR] single_approval_limit must be an amount of EUR"),
        ("100.00", "sNaN", "[EUR] single_approval_limit must be an amount of EUR"),
        ("100.00", "1e999999", "[EUR] single_approval_limit must be an amount of EUR"),
        ("DE89370400440532013000", "DE88370400440532013000", "[EUR] "),
    ],
)
def test_our_own_accounts_are_refused_by_what_is_wrong(tmp_path: Path, stated: str, instead: str, problem: str) -> None:
    file = tmp_path / "accounts.toml"
    file.write_text(OWN)
    assert own_accounts_file.parse_own_accounts(file)["EUR"].single_operator_release_limit == Money(10000, "EUR")
    assert stated in OWN
    file.write_text(OWN.replace(stated, instead))
    with pytest.raises(PaymentFileError) as refused:
        own_accounts_file.parse_own_accounts(file)
    assert str(refused.value).startswith(f"{file}: {problem}")


def test_our_own_accounts_must_be_named_and_readable(tmp_path: Path) -> None:
    with pytest.raises(PaymentFileError, match="set ALMONER_BANK_ACCOUNTS"):
        own_accounts_file.parse_own_accounts(None)
    with pytest.raises(PaymentFileError, match="cannot be read"):
        own_accounts_file.parse_own_accounts(tmp_path / "absent.toml")
    file = tmp_path / "accounts.toml"
    file.write_text(OWN.replace('"100.00"', "1" * 5000))
    with pytest.raises(PaymentFileError, match=f"{file} cannot be read: "):
        own_accounts_file.parse_own_accounts(file)


NOTHING: Final = GroupStatus(None, None, None)
TAKEN: Final = GroupStatus(BankStatus("ACSP", None), None, None)
REQUESTED: Final = {
    "e1": RequestedTransfer("sepa", Money(1000, "EUR")),
    "e2": RequestedTransfer("other", Money(2000, "EUR")),
}
REPORT: Final = StatusReport("M1", "F1", "pain.001.001.09", bytes(32), TAKEN, (("sepa", TAKEN),), ())


def one_payment(end_to_end_id: str, batch: str, minor: int) -> TransactionStatus:
    return TransactionStatus(end_to_end_id, batch, "EUR", Decimal(minor).scaleb(-2), BankStatus("RJCT", "AC04"))


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        (replace(REPORT, batch_statuses=(("theirs", TAKEN),)), "the file has no batch 'theirs'"),
        (
            replace(
                REPORT, batch_statuses=(("sepa", TAKEN), ("sepa", replace(TAKEN, status=BankStatus("RJCT", None))))
            ),
            "one batch has two statuses",
        ),
        (
            replace(REPORT, transaction_statuses=(one_payment("e1", "other", 1000),)),
            "'e1' is in another batch than 'other'",
        ),
        (replace(REPORT, transaction_statuses=(one_payment("e1", "sepa", 1001),)), "'e1' is no payment of 10.01 EUR"),
        (replace(REPORT, transaction_statuses=(one_payment("e3", "sepa", 1000),)), "no payment of the file is 'e3'"),
        (replace(REPORT, transaction_statuses=(one_payment("e1", "sepa", 1000),) * 2), "one payment is named twice"),
        (
            replace(REPORT, file_status=replace(NOTHING, transaction_count_text="3")),
            "the answer is about a file of 3 payments",
        ),
        (
            replace(REPORT, file_status=replace(NOTHING, control_sum=Decimal("30.01"))),
            "the answer is about a file of 30.01 in all",
        ),
        (
            replace(REPORT, file_status=replace(TAKEN, status=BankStatus("ODD", None))),
            "the status 'ODD' is none that we",
        ),
    ],
)
def test_m7_a_bank_s_answer_about_other_payments_than_ours_changes_nothing(report: StatusReport, problem: str) -> None:
    assert {
        one: outcome for one, (outcome, _) in match_bank_outcomes_to_transfers(REPORT, REQUESTED).items()
    } == dict.fromkeys(REQUESTED, "accepted")
    with pytest.raises(PaymentFileError) as refused:
        match_bank_outcomes_to_transfers(report, REQUESTED)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("code", ["PATC", "PRES", "ACPD", "ACWP", "ACIS"])
def test_m7_a_step_on_a_payment_s_way_keeps_no_rejection_out(code: str) -> None:
    taken = GroupStatus(BankStatus(code, None), None, None)
    rejected = one_payment("e1", "sepa", 1000)
    report = replace(REPORT, file_status=taken, batch_statuses=(), transaction_statuses=(rejected,))
    outcomes = {one: outcome for one, (outcome, _) in match_bank_outcomes_to_transfers(report, REQUESTED).items()}
    assert outcomes == {"e1": "rejected", "e2": "accepted"}
