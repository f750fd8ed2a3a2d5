"""Accounts of nonprofits: numbers as people type them, and who may approve."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from almoner.giving.payees import service
from almoner.giving.payees.domain import (
    Address,
    Look,
    Numbers,
    PayeeAccount,
    PayeeRefused,
    Proposal,
    ensure_may_approve,
    problems,
)

RIGHT: list[tuple[Mapping[str, str], Numbers]] = [
    ({"iban": "de89 3704 0044 0532 0130 00"}, Numbers("iban", "DE89370400440532013000")),
    ({"iban": "NL91ABNA0417164300", "bic": "ABNANL2A"}, Numbers("iban", "NL91ABNA0417164300", None, "ABNANL2A")),
    ({"sort_code": "20-00-00", "account": "5577 9911"}, Numbers("gb", "55779911", "200000")),
    ({"routing": "011000015", "account": "000123456789"}, Numbers("us", "000123456789", "011000015")),
    ({"bsb": "082-902", "account": "123456789"}, Numbers("au", "123456789", "082902")),
    ({"account": "01-902-0068389-00"}, Numbers("nz", "0109020068389000")),
    ({"institution": "003", "transit": "12345", "account": "1234567"}, Numbers("ca", "1234567", "00312345")),
]
WRONG: list[tuple[Mapping[str, str], str]] = [
    ({"iban": "DE88370400440532013000"}, "iban is not valid"),
    ({"iban": "DE8937040044053201300"}, "iban is not valid"),
    ({"iban": "NL91ABNA0417164300", "bic": "ABN"}, "bic is not valid"),
    ({"sort_code": "2000", "account": "1"}, "sort code must have 6 digits; account must have 8 digits"),
    ({"routing": "011000016", "account": "12345"}, "routing is no routing number"),
    ({"routing": "٠١١٠٠٠٠١٥", "account": "12345"}, "routing is no routing number"),
    ({"bsb": "08290", "account": "1"}, "bsb must have 6 digits; account must have 4 to 9"),
    ({"account": "01-902-0068389-01-9"}, "no New Zealand account"),
    ({"iban": "DE89370400440532013000", "account": "1"}, "give the numbers of one kind of account"),
    ({}, "give the numbers of one kind of account: iban; sort code and account"),
]
NOW = datetime(2026, 3, 2, tzinfo=UTC)
ACCOUNT = PayeeAccount(
    UUID(int=1), UUID(int=2), "EUR", "iban", "Holder", b"", "DE89", Address("Berlin", "DEU"), 90, False, "proposed",
    Look("one", "letter", NOW), None, None, None, None,
)  # fmt: skip


@pytest.mark.parametrize(("typed", "numbers"), RIGHT)
def test_numbers_are_read_in_every_spelling(typed: Mapping[str, str], numbers: Numbers) -> None:
    read = service.read(typed)
    assert read == numbers
    assert read.account[-4:] in read.shown
    assert read.account not in read.shown


@pytest.mark.parametrize(("typed", "why"), WRONG)
def test_wrong_numbers_are_told_all_at_once(typed: Mapping[str, str], why: str) -> None:
    with pytest.raises(PayeeRefused) as refused:
        service.read(typed)
    assert why in str(refused.value)


def test_all_problems_of_a_proposal_are_told_at_once() -> None:
    proposal = Proposal(UUID(int=1), "EUR", "", Numbers("us", "123456789", "011000015"), Address("", "DE"))
    assert problems(proposal, {"DEU": None}) == [
        "holder is required",
        "town is required",
        "country must have three letters such as DEU, not 'DE'",
        "such an account is in USD, not in EUR",
    ]
    assert problems(replace(proposal, holder="x" * 71), {})[0] == "town is required"


def test_who_proposed_an_account_does_not_approve_it_and_nobody_looks_twice() -> None:
    ensure_may_approve(ACCOUNT, "two")
    with pytest.raises(PayeeRefused, match="You proposed this account yourself"):
        ensure_may_approve(ACCOUNT, "one")
    change = replace(ACCOUNT, is_change=True, first=Look("two", "called", NOW))
    ensure_may_approve(change, "three")
    with pytest.raises(PayeeRefused, match="needs a second person"):
        ensure_may_approve(change, "two")
    with pytest.raises(PayeeRefused, match="The account is refused"):
        ensure_may_approve(replace(ACCOUNT, status="refused"), "two")
    assert (ACCOUNT.looks, change.looks, change.seen) == (1, 2, 1)
