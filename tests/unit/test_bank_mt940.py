"""Statements in MT940: whole amounts, the texts of payers, and where a statement ends."""

import re
from collections.abc import Callable
from datetime import date

import pytest

from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankStatement, BankStatementError, find_donation_references
from tests.support import costs

TODAY = date(2026, 3, 3)


def parsed(content: bytes) -> list[BankStatement]:
    """The statements of a file, on the day that they tell of."""
    statements, wrong = bank_statements.parse_statement_file(content, None, None, TODAY)
    assert wrong == []
    return statements


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: one.replace("\n", "\r").encode(),
        lambda one: one.encode("utf-16"),
        lambda one: one.replace("CR12,34", "CEUR12,34").encode(),
    ],
)
def test_m7_mt940_is_read_however_it_is_saved(spoil: Callable[[str], bytes]) -> None:
    text = (
        ":20:S\n:25:DE89370400440532013000\n:28C:1/1\n:60F:C260301EUR0,\n:61:2603020302CR12,34NTRFNONREF\n:86:ADA\n"
        ":62F:C260302EUR12,34\n-\n"
    )
    [found] = parsed(spoil(text))
    assert [(one.amount_minor, one.remittance_information) for one in found.movements] == [(1234, "ADA")]


@pytest.mark.parametrize(
    ("amount", "minor"),
    [
        ("1234,", 123400),
        ("1.234,5", 123450),
        ("12.5", 1250),
        ("1,234.50", None),
        ("1.000", None),
        ("1.000.000", None),
        ("12,34,", None),
    ],
)
def test_m7_no_amount_of_mt940_is_read_in_part_or_by_a_guess(amount: str, minor: int | None) -> None:
    content = (
        f":20:S\n:25:DE89370400440532013000\n:28C:1/1\n:60F:C260301EUR0,\n:61:2603020302C{amount}NTRFNONREF//B1\n"
        f":62F:C260302EUR{amount}\n-\n"
    ).encode()
    if minor is None:
        with pytest.raises(BankStatementError, match=re.escape(f"{amount} EUR is not a valid amount")):
            parsed(content)
        return
    [found] = parsed(content)
    assert ([one.amount_minor for one in found.movements], found.closing_minor) == ([minor], minor)


@pytest.mark.parametrize(
    "written",
    [
        ":20:15 Uhr",
        ":20:1 OF A SERIES\nAND MORE",
        ":21:X",
        ":13D:2603021200",
        ":34F:EUR0,",
        ":60F:C260301USD0,",
        ":62F:LATER",
        ":64:X",
    ],
)
def test_m7_a_payer_s_text_that_looks_like_a_field_is_text(written: str) -> None:
    content = (
        f":20:S\n:25:DE89370400440532013000\n:28C:1/1\n:60F:C260301EUR0,\n:61:2603020302C5,NTRFNONREF//B1\n:86:ADA\n"
        f"{written}\nRF73 7ZQ3 K9MA BC\n:61:2603020302C7,NTRFNONREF//B2\n:86:EVE\n:62F:C260302EUR12,\n-\n"
    )
    second = content.replace("28C:1/1", "28C:2/1").replace("//B", "//C").replace("EUR12,", "EUR24,")
    second = second.replace("60F:C260301EUR0,", "60F:C260301EUR12,", 1)
    found = parsed((content + second).encode())
    for statement, opening in zip(found, (0, 1200), strict=True):
        assert (statement.opening_minor, statement.closing_minor) == (opening, opening + 1200)
        assert [one.amount_minor for one in statement.movements] == [500, 700]
        assert find_donation_references(statement.movements[0]) == ["RF737ZQ3K9MABC"]
        assert (statement.movements[0].remittance_information or "").split()[0] == "ADA"


def test_m7_a_statement_without_a_closing_balance_ends_where_the_next_begins() -> None:
    one = ":20:S\n:25:DE89370400440532013000\n:28C:{}/1\n:60F:C260301EUR0,\n:61:2603020302C5,NTRFNONREF//B{}\n:86:ADA\n"
    found = parsed((one.format(1, 1) + one.format(2, 2)).encode())
    assert [(one.sequence_number, len(one.movements)) for one in found] == [("1/1", 1), ("2/1", 1)]


@pytest.mark.parametrize(
    "written", ["+31 612345678 RF73 7ZQ3 K9MA BC", "€50 gift RF73 7ZQ3 K9MA BC", "+32 475 RF737ZQ3K9MABC"]
)
def test_m7_a_payer_s_text_that_begins_like_the_german_form_is_read_whole(written: str) -> None:
    content = (
        f":20:S\n:25:NL91ABNA0417164300\n:28C:1/1\n:60F:C260301EUR0,\n:61:2603020302C5,NTRFNONREF//B1\n:86:{written}\n"
        ":62F:C260302EUR5,\n-\n"
    )
    [found] = parsed(content.encode())
    assert (found.movements[0].remittance_information or "").startswith(written)
    assert find_donation_references(found.movements[0]) == ["RF737ZQ3K9MABC"]


def test_h1_the_lines_of_a_payers_text_cost_no_more_the_more_there_are() -> None:
    entry = ":61:2603020302C1,NTRFNONREF\n:86:ADA\n"
    head, end = ":20:S\n:25:DE89370400440532013000\n:28C:1/1\n:60F:C260301EUR0,\n", ":62F:C260302EUR1,\n-\n"

    def seconds(count: int) -> float:
        content = (head + entry + "a payer writes much\n" * count + end).encode()
        return costs.least_seconds(lambda: parsed(content))

    assert seconds(80_000) < 8 * seconds(20_000), "four times as many lines, not sixteen times the work"
