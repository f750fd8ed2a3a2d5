"""Lines of bank statements: what they name, what they are matched with, and how files are read."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID

import pytest

from almoner.giving.bank_lines import service
from almoner.giving.bank_lines.domain import (
    Movement,
    Named,
    Open,
    PaidOut,
    Statement,
    StatementRefused,
    end_to_end_ids,
    match,
    problems,
    references,
)
from almoner.giving.donations.domain import Bucket
from almoner.giving.payouts.domain import opened
from almoner.kit.money import Money
from tests.support import camt

MOVEMENT = Movement(date(2026, 3, 2), 1000, "EUR", "B1", None, None, None, None)
PAYOUT = replace(
    opened(UUID(int=1), Bucket(UUID(int=2), UUID(int=3), "EUR"), datetime(2026, 3, 1, tzinfo=UTC)),
    money=Money(1000, "EUR"),
    status="SENT",
)
REPORT = PaidOut(UUID(int=9), "po_1", "EUR", 1000)
CSV = b"\xef\xbb\xbfDay;Amount;Id;Text\n02.03.2026;1.234,50;B1;ALM-ABCDE-12345\n03.03.2026;-12,00;B2;fee\n"
MAPPING = """
account = "Main"
currency = "EUR"
delimiter = ";"
decimal = ","
day_form = "%d.%m.%Y"
[columns]
day = "Day"
amount = "Amount"
reference = "Id"
words = "Text"
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("invoice ALM-ABCDE-12345", ["ALM-ABCDE-12345"]),
        ("alm abcde 12345", ["ALM-ABCDE-12345"]),
        ("ALMABCDE12345 and ALM-ABCDE-12345", ["ALM-ABCDE-12345"]),
        ("XALM-ABCDE-12345", []),
        (None, []),
    ],
)
def test_requests_are_found_however_they_are_spaced(words: str | None, found: list[str]) -> None:
    assert references(replace(MOVEMENT, words=words)) == found


def test_payouts_are_found_by_their_end_to_end_ids_in_either_place() -> None:
    known = PAYOUT.end_to_end_id
    assert end_to_end_ids(replace(MOVEMENT, end_to_end_id=known.upper(), words=f"return of {known}")) == [known]


@pytest.mark.parametrize(
    ("movement", "named", "found"),
    [
        (MOVEMENT, Named(), Open.UNKNOWN),
        (MOVEMENT, Named(reports=[REPORT]), ("settlement", REPORT)),
        (replace(MOVEMENT, minor=999), Named(reports=[REPORT]), Open.OTHER_AMOUNT),
        (replace(MOVEMENT, currency="USD"), Named(reports=[REPORT]), Open.OTHER_CURRENCY),
        (MOVEMENT, Named(reports=[REPORT], payouts=[PAYOUT]), Open.AMBIGUOUS),
        (MOVEMENT, Named(reports=[REPORT], seen_before=True), Open.SEEN_BEFORE),
        (MOVEMENT, Named(reports=[REPORT], taken={("settlement", REPORT.id)}), Open.MATCHED_BEFORE),
        (replace(MOVEMENT, minor=-1000), Named(payouts=[PAYOUT]), ("payout", PAYOUT)),
        (replace(MOVEMENT, minor=-1001), Named(payouts=[PAYOUT]), Open.OTHER_AMOUNT),
        (MOVEMENT, Named(payouts=[PAYOUT]), ("payout_return", PAYOUT)),
        (replace(MOVEMENT, minor=-1000), Named(payouts=[replace(PAYOUT, status="PENDING")]), Open.OTHER_STATE),
        (
            replace(MOVEMENT, minor=-1000),
            Named(payouts=[PAYOUT], taken={("payout", PAYOUT.id)}),
            Open.MATCHED_BEFORE,
        ),
    ],
)
def test_only_what_is_certain_is_matched(movement: Movement, named: Named, found: object) -> None:
    assert match(movement, named) == found


def test_m7_balances_that_its_lines_do_not_explain_refuse_a_statement() -> None:
    whole = Statement("A", "1", "EUR", 500, 1500, "0" * 64, (MOVEMENT,))
    assert problems(whole) == []
    assert "lines are missing, or there twice" in problems(replace(whole, movements=(MOVEMENT, MOVEMENT)))[0]
    strange = replace(whole, movements=(replace(MOVEMENT, currency="USD"),))
    assert problems(strange)[0] == "line 1 is in USD, the account in EUR"


@pytest.mark.parametrize("version", [2, 4, 8, 10, 12])
def test_camt_is_read_in_every_version(version: int) -> None:
    content = camt.statement(
        camt.entry("B1", 1000, words="ALM-ABCDE-12345", name="Partner & Co"),
        camt.entry("B2", -250, end_to_end="e2e-1"),
        camt.entry("B3", 5, status="PDNG"),
        opening=-100,
        version=version,
    )
    [found] = service.read(content, None)
    assert (found.account, found.currency, found.opening_minor, found.closing_minor) == (camt.ACCOUNT, "EUR", -100, 650)
    assert [(one.minor, one.reference, one.end_to_end_id, one.counterparty) for one in found.movements] == [
        (1000, "B1", None, "Partner & Co"),
        (-250, "B2", "e2e-1", None),
    ]
    assert found.movements[0].words == "ALM-ABCDE-12345"


def test_a_batch_is_read_as_its_parts_when_they_come_to_it() -> None:
    [whole] = service.read(camt.statement(camt.batch("B1", 300, [100, 200])), None)
    assert [(one.minor, one.reference) for one in whole.movements] == [(100, "B1/1"), (200, "B1/2")]
    [unsure] = service.read(camt.statement(camt.batch("B1", 300, [100, 100])), None)
    assert [(one.minor, one.reference) for one in unsure.movements] == [(300, "B1")]


@pytest.mark.parametrize("content", [b"", b"<a/>", b"\x00", b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'])
def test_what_is_no_statement_is_refused(content: bytes) -> None:
    with pytest.raises(StatementRefused, match="no statement of a bank"):
        service.read(content, None)


def test_any_csv_is_read_by_a_mapping(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(MAPPING)
    [found] = service.read(CSV, mapping)
    assert [(one.booked_on, one.minor, one.words) for one in found.movements] == [
        (date(2026, 3, 2), 123450, "ALM-ABCDE-12345"),
        (date(2026, 3, 3), -1200, "fee"),
    ]
    with pytest.raises(StatementRefused) as refused:
        service.read(CSV.replace(b"02.03.2026", b"2026").replace(b"-12,00", b"x").replace(b"B2", b""), mapping)
    assert str(refused.value).splitlines() == [
        "line 2: '2026' is no day such as %d.%m.%Y",
        "line 3: 'x' is no amount of EUR",
        "line 3: the bank's reference is missing",
    ]


def test_all_problems_of_a_mapping_are_told_at_once(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text('currency = "EURO"\nsize = 1\n[columns]\nday = "Day"\nday_two = "x"\n')
    with pytest.raises(StatementRefused) as refused:
        service.read(CSV, mapping)
    for problem in (
        "size is none of",
        "columns.day_two is none of",
        "columns.amount is required",
        "account is required",
    ):
        assert problem in str(refused.value)
