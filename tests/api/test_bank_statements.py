"""Whose statements are believed, and what of them is: what is no statement of ours moves no money (M7)."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankLine, BankStatementError, UnreconciledLineReason
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.database.transactions import ALL_PARTNERS, Partner
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import bank, books, camt, factories
from tests.support import giving as support
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.payouts import payouts, settled, verified
from tests.support.production import PRODUCTION
from tests.support.service import Service, serving
from tests.support.transfers import begun, came, reference

OURS = f"<IBAN>{camt.ACCOUNT}</IBAN>"
SPACED = "<IBAN>nl91 abna 0417 1643 00</IBAN>"


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def lines(alone: Service) -> list[BankLine]:
    """All lines, the oldest first."""
    async with alone.db.read() as tx:
        return (await bank_statements.list_oldest_open_or_newest_lines(tx, 1000, newest_of_any_status=True))[::-1]


async def payment(alone: Service) -> str:
    """How the only payment stands."""
    async with alone.db.read() as tx:
        return str(await tx.fetchval("select status from payment"))


async def refused(alone: Service, content: bytes, **more: Any) -> list[str]:
    """All that is said against a file, of which nothing is kept."""
    with pytest.raises(BankStatementError) as reported:
        await bank.stated(alone, content, **more)
    assert await lines(alone) == []
    return str(reported.value).splitlines()


@pytest.mark.parametrize(
    ("account", "currency"),
    [
        ("<IBAN>DE89370400440532013000</IBAN>", "EUR"),
        (OURS, "USD"),
        (OURS, "GBP"),
        (camt.other("12345679"), "USD"),
    ],
)
async def test_m7_a_statement_of_another_account_than_ours_is_refused(
    alone: Service, partner: Client, tmp_path: Path, account: str, currency: str
) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    moved = came("B1", 2500, await reference(giving), currency)
    content = camt.statement(moved, currency=currency, account=account)
    [reported] = await refused(alone, content, ours=bank.all_own(tmp_path))
    assert (
        f"no account of ours in {currency}: ALMONER_BANK_ACCOUNTS has 12345678 in USD, {camt.ACCOUNT} in EUR"
        in reported
    )
    assert await payment(alone) != "succeeded"


@pytest.mark.parametrize("account", ["12345678", "011000015 12345678", "011000015/12345678"])
async def test_m7_a_statement_of_ours_is_believed_however_the_account_is_written(
    alone: Service, partner: Client, tmp_path: Path, account: str
) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    moved = came("B1", 2500, await reference(giving))
    content = camt.statement(moved, currency="USD", account=camt.other(account))
    assert (await bank.stated(alone, content, bank.all_own(tmp_path))).matched_line_count == 1
    assert [one.account for one in await lines(alone)] == ["12345678"]


async def test_m7_a_csv_is_of_an_account_of_ours(alone: Service, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    columns = '[columns]\nday = { column = "Day", format = "%Y-%m-%d" }\namount = "Amount"\nreference = "Id"\n'
    content = b"Day,Amount,Id\n2026-03-02,5.00,B1\n"
    mapping.write_text(f'account = "Main account"\ncurrency = "EUR"\n{columns}')
    ours = bank.all_own(tmp_path)
    [reported] = await refused(alone, content, ours=ours, mapping=mapping)
    assert "Main account" in reported
    assert "no account of ours in EUR" in reported
    mapping.write_text(f'account = "NL91 ABNA 0417 1643 00"\ncurrency = "EUR"\n{columns}')
    assert (await bank.stated(alone, content, ours, mapping)).checked_line_count == 1
    assert [one.account for one in await lines(alone)] == [camt.ACCOUNT]


async def test_m7_production_believes_no_statement_before_our_accounts_are_set(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database, **PRODUCTION) as alone:
        content = camt.statement(camt.entry("B1", 500))
        [reported] = await refused(alone, content)
        assert "set ALMONER_BANK_ACCOUNTS to a TOML file of our accounts" in reported
        assert (await bank.stated(alone, content, bank.all_own(tmp_path))).checked_line_count == 1


@pytest.mark.parametrize("first", [OURS, SPACED])
async def test_m7_one_account_in_two_spellings_is_one(alone: Service, partner: Client, first: str) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    named = await reference(giving)
    for rank, account in enumerate((first, SPACED if first == OURS else OURS), 1):
        moved = came("B1", 2500, named)
        await bank.stated(alone, camt.statement(moved, currency="USD", reference=f"S{rank}", account=account))
    assert [(one.account, one.matched_as, one.unreconciled_reason) for one in await lines(alone)] == [
        (camt.ACCOUNT, "donation", None),
        (camt.ACCOUNT, None, UnreconciledLineReason.SEEN_BEFORE),
    ]
    assert await books.in_bank(alone, "USD") == 2500


async def test_an_iban_with_wrong_check_digits_is_refused(alone: Service) -> None:
    wrong = "<IBAN>NL92ABNA0417164300</IBAN>"
    [reported] = await refused(alone, camt.statement(camt.entry("B1", 5), account=wrong))
    assert "iban is not valid" in reported


async def taken_back(alone: Service, named: str, words: str = "") -> None:
    """The bank tells of a gift's transfer, and takes it back under the same name."""
    await bank.stated(alone, camt.statement(came("B1", 2500, named), currency="USD"))
    await alone.drain()
    back = came("B1", -2500, words, reversal=True)
    await bank.stated(alone, camt.statement(back, currency="USD", reference="S2"))


@pytest.mark.parametrize("worded", [True, False])
async def test_m7_a_credit_that_is_taken_back_is_no_double_and_holds_payouts_back(
    alone: Service, partner: Client, *, worded: bool
) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    named = await reference(giving)
    await taken_back(alone, named, named if worded else "")
    first, second = await lines(alone)
    assert (first.matched_as, second.status, second.unreconciled_reason) == (
        "donation",
        "open",
        UnreconciledLineReason.TAKEN_BACK,
    )
    async with alone.db.read() as tx:
        [hold] = await disbursements.list_active_holds(tx)
        gift = await tx.fetchrow("select id, partner_id, organisation_id from donation")
        assert gift is not None
        assert (hold.partner_id, hold.organisation_id) == (gift["partner_id"], gift["organisation_id"])
        assert hold.note.endswith("the bank has reversed an earlier movement, B1")
    async with alone.db.write() as tx:
        scope, organisation = Partner(gift["partner_id"]), gift["organisation_id"]
        await disbursements.release_holds(
            tx, scope, organisation, note="seen", decided_by="x", rules=DisbursementRules()
        )
    await bank.stated(alone, camt.statement(came("B9", 1, "interest"), currency="USD", reference="S3"))
    async with alone.db.read() as tx:
        assert await disbursements.list_active_holds(tx) == [], (
            "what people have released is not held again by the same line"
        )


async def test_m7_a_credit_that_is_taken_back_is_the_transfer_of_a_refund_that_people_begin(
    alone: Service, partner: Client
) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    named = await reference(giving)
    await taken_back(alone, named)
    line = (await lines(alone))[1]
    async with alone.db.read() as tx:
        donation = await tx.fetchval("select id from donation")
    async with alone.db.write() as tx:
        await refunds.begin_refund(
            tx, ALL_PARTNERS, donation, None, DisbursementRules(), started_by="officer", note="the bank took it back"
        )
    await alone.drain()
    async with alone.db.write() as tx:
        await bank_statements.assign_line_to_donation(tx, line.id, donation, assigned_by="officer")
    assert [one.matched_as for one in await lines(alone)] == ["donation", "donation_refund"]
    assert await books.in_bank(alone, "USD") == 0
    assert await books.balanced(alone)


async def test_m7_a_debit_that_is_taken_back_is_the_return_of_its_payout(alone: Service, partner: Client) -> None:
    cause = await factories.nonprofit(alone)
    await bank.account(alone, cause)
    await verified(alone, partner, cause)
    await settled(alone, partner, cause)
    await bank.in_a_file(alone)
    [sent] = await payouts(partner)
    for rank, minor in enumerate((-2437, 2437), 1):
        moved = camt.entry("B1", minor, end_to_end=sent["endToEndId"], currency="USD", reversal=minor > 0)
        await bank.stated(alone, camt.statement(moved, currency="USD", reference=f"S{rank}"))
    assert [one.matched_as for one in await lines(alone)] == ["disbursement", "disbursement_return"]
    assert [one["status"] for one in await payouts(partner)] == ["RETURNED"]


async def test_m7_what_is_wrong_with_some_lines_keeps_no_other_one_out(alone: Service) -> None:
    ahead = (max(alone.clock.now(), alone.clock.real_now()) + timedelta(days=5)).date()
    entries = [
        camt.entry("B1", 500, end_to_end="e" * 80),
        camt.entry("B2", 600, day="9999-12-31"),
        camt.entry("B3", 700, day=str(ahead)),
        camt.entry("b" * 141, 800),
    ]
    looked = await bank.stated(alone, camt.statement(*entries, reference="S" * 80))
    assert [one.partition(": ")[2] for one in looked.problems] == [
        "line 2: the booking date 9999-12-31 is more than 3 days in the future",
        f"line 3: the booking date {ahead} is more than 3 days in the future",
    ]
    assert [one.movement.amount_minor for one in await lines(alone)] == [500, 800]
    async with alone.db.read() as tx:
        [incomplete] = await bank_statements.list_statement_gaps(tx, 10)
    assert "could not be read: line 2: the booking date 9999-12-31" in incomplete.explanation
    assert "bank_statements.lines_are_readable" in await found_by_selfcheck(alone)
    corrected = [entries[0], camt.entry("B2", 600), camt.entry("B3", 700), entries[3]]
    looked = await bank.stated(alone, camt.statement(*corrected, reference="S" * 80))
    assert (looked.new_statement_count, looked.problems) == (1, [])
    assert [one.movement.amount_minor for one in await lines(alone)] == [500, 800, 600, 700]
    assert "bank_statements.lines_are_readable" not in await found_by_selfcheck(alone)


async def test_m7_lines_that_cannot_be_read_are_explained_by_people(alone: Service) -> None:
    await bank.stated(alone, camt.statement(camt.entry("B1", 500), camt.entry("B2", 600, day="9999-12-31")))
    async with alone.db.write() as tx:
        [incomplete] = await bank_statements.list_statement_gaps(tx, 10)
        await bank_statements.record_gap_explanation(tx, incomplete.id, note="booked by hand", explained_by="officer")
    async with alone.db.read() as tx:
        assert await bank_statements.list_statement_gaps(tx, 10) == []


async def found_by_selfcheck(alone: Service) -> set[str]:
    """What the self-check finds."""
    return {one.check.name for one in (await selfcheck.run_selfcheck(alone.db, CHECKS)).findings}


async def test_what_is_no_amount_or_day_is_told_at_once_with_its_entry(alone: Service) -> None:
    entries = [camt.entry(f"B{rank}", 500 + rank) for rank in range(1, 8)]
    content = camt.statement(*entries, version=2)
    wrong = ("999999999999999999.99", "9999999999999999.99", "NaN", "INF", "-5.05", "5.061")
    for rank, amount in enumerate(wrong, 1):
        content = content.replace(f'<Amt Ccy="EUR">5.0{rank}</Amt>'.encode(), f'<Amt Ccy="EUR">{amount}</Amt>'.encode())
    whole, _, last = content.rpartition(b"2026-03-02</Dt></BookgDt>")
    reported = await refused(alone, whole + b"-0001-03-02</Dt></BookgDt>" + last)
    assert [one.partition("S1: ")[2] for one in reported] == [
        "entry 1: 999999999999999999.99 EUR is not a valid amount",
        "entry 2: 9999999999999999.99 EUR is more than the ledger can hold",
        "entry 3: NaN EUR is not a valid amount",
        "entry 4: INF EUR is not a valid amount",
        "entry 5: -5.05 EUR is not a valid amount",
        "entry 6: 5.061 EUR is not a valid amount in this currency",
        "entry 7: it has no date",
    ]


@pytest.mark.parametrize("account", ["", "<IBAN></IBAN>", "<Othr><Id> </Id></Othr>"])
async def test_a_statement_of_no_account_is_refused(alone: Service, account: str) -> None:
    [reported] = await refused(alone, camt.statement(camt.entry("B1", 5), account=account))
    assert reported.endswith("S1: it has no account number")


async def test_a_balance_beyond_our_books_and_a_file_without_statements_are_refused(alone: Service) -> None:
    reported = await refused(alone, camt.statement(opening=10**16))
    assert "more than the ledger can hold" in reported[0]
    content = camt.statement()
    before, _, rest = content.partition(b"<Stmt>")
    assert await refused(alone, before + rest.partition(b"</Stmt>")[2]) == ["The file contains no statement."]


async def test_m7_a_credit_that_is_taken_back_and_booked_again_leaves_the_gift_as_it_is(
    alone: Service, partner: Client
) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    named = await reference(giving)
    await taken_back(alone, named)
    await bank.stated(alone, camt.statement(came("B2", 2500, named), currency="USD", reference="S3"))
    async with alone.db.write() as tx:
        [held] = await suspense.lock_by_reference(tx, named)
        await suspense.begin_refund(tx, held.id, "the bank took the first one back", "officer")
        donation = await tx.fetchval("select id from donation")
    await alone.drain()
    async with alone.db.write() as tx:
        await bank_statements.assign_line_to_donation(tx, (await lines(alone))[1].id, donation, assigned_by="officer")
    assert [one.matched_as for one in await lines(alone)] == ["donation", "donation_refund", "donation"]
    assert await books.in_bank(alone, "USD") == 2500
    assert await payment(alone) == "succeeded"
    assert await books.balanced(alone)
