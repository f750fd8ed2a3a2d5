"""One line stands by itself: what is wrong with it keeps none of the others back (M7)."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import SettlementLineKind
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.checks import checks
from almoner.giving.banking.bank_statements.domain import BankLine, BankStatementError
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.kit.errors import NotFound
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import bank, books, camt, factories
from tests.support import giving as support
from tests.support.camt import Entry
from tests.support.client import Client, data
from tests.support.giving import Giving
from tests.support.payouts import payouts, settled, uuid_of, verified
from tests.support.reports import imported, report
from tests.support.requests import asked, paid, requests
from tests.support.service import Service
from tests.support.transfers import begun, came, reference


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def heard(alone: Service, *entries: Entry, name: str = "S1", opening: int = 0) -> StatementImportProgress:
    """An officer has imported a statement in dollars."""
    return await bank.stated(alone, camt.statement(*entries, reference=name, currency="USD", opening=opening))


async def lines(alone: Service) -> dict[str, BankLine]:
    """All lines by the bank's references, the newest of each."""
    async with alone.db.read() as tx:
        return {
            one.movement.reference: one
            for one in reversed(
                await bank_statements.list_oldest_open_or_newest_lines(tx, 1000, newest_of_any_status=True)
            )
        }


async def consistent(alone: Service) -> None:
    """The books balance, and no self-check finds anything but lines that wait."""
    await alone.drain()
    assert await books.balanced(alone)
    outcome = await selfcheck.run_selfcheck(alone.db, CHECKS)
    assert [(one.check.name, one.examples) for one in outcome.findings] == []


async def sent(alone: Service, api: Client) -> dict[str, object]:
    """A payout that waits for the bank."""
    cause = await factories.nonprofit(alone)
    await bank.account(alone, cause)
    await verified(alone, api, cause)
    await settled(alone, api, cause)
    await bank.in_a_file(alone)
    return (await payouts(api))[0]


async def held_short(alone: Service, api: Client, name: str) -> tuple[Giving, str]:
    """A transfer that was short, and waits to be sent back."""
    giving = await support.open_session(alone, api)
    await begun(giving)
    named = await reference(giving)
    await heard(alone, came(name, 2400, named), name=f"S-{name}")
    return giving, named


async def test_m7_a_line_that_is_refused_waits_and_the_next_go_on(alone: Service, partner: Client) -> None:
    request = await asked(alone, partner, 700, 300)
    await paid(alone, request, 500, "B1")  # by hand, a different amount than the bank tells
    looked = await heard(
        alone, camt.entry("B1", 700, words=request["reference"], currency="USD"), came("B2", 200, request["reference"])
    )
    assert (looked.checked_line_count, looked.matched_line_count) == (2, 1)
    found = await lines(alone)
    assert (found["B1"].unreconciled_reason, found["B1"].booking_error) == (
        "refused",
        "the transfer B1 has already been recorded",
    )
    assert found["B2"].matched_as == "request"
    assert (await requests(partner))[0]["paidAmount"] == 700
    async with alone.db.write() as tx:
        await bank_statements.dismiss_line(tx, found["B1"].id, note="noted by hand, mistyped", dismissed_by="officer")
    await consistent(alone)


async def test_m7_what_the_database_refuses_keeps_no_other_line_back(alone: Service, partner: Client) -> None:
    (_, first), (_, second) = [await held_short(alone, partner, name) for name in ("H1", "H2")]
    async with alone.db.write() as tx:
        [one], [other] = [await suspense.lock_by_reference(tx, named) for named in (first, second)]
        await suspense.record_manual_refund(tx, one.id, "R1", "sent by bank", "officer")
        await suspense.begin_refund(tx, other.id, "send it back", "officer")
    request = await asked(alone, partner, 700)
    await heard(alone, came("R1", -2400, second), came("B2", 700, request["reference"]), opening=9999)
    found = await lines(alone)
    assert (found["R1"].unreconciled_reason, found["R1"].booking_error) == (
        "refused",
        "the bank's reference for this movement is already recorded for another refund: check the reference",
    )
    assert found["B2"].matched_as == "request"
    assert await books.balanced(alone)
    # The next import looks again.
    again = await heard(alone, came("R2", -2400, second), name="S2")
    assert (again.checked_line_count, again.matched_line_count) == (2, 1)


async def test_m7_of_two_alike_that_go_back_the_one_that_was_noted_may_be_told_last(
    alone: Service, partner: Client
) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    named = await reference(giving)
    await heard(alone, *(came(name, 2500, named) for name in ("N1", "N2", "N3")))
    async with alone.db.write() as tx:
        first, second = await suspense.lock_by_reference(tx, named)
        await suspense.record_manual_refund(tx, first.id, "OUT1", "sent by bank", "officer")
        await suspense.begin_refund(tx, second.id, "send it back", "officer")
    for name in ("OUT2", "OUT1", "OUT3"):
        await heard(alone, came(name, -2500, named), name=f"S-{name}")
    found = await lines(alone)
    assert [found[name].matched_as for name in ("OUT2", "OUT1", "OUT3")] == ["donation_refund", "donation_refund", None]
    assert await books.balanced(alone)


async def test_a_statement_whose_file_was_made_again_changes_nothing_but_what_is_new(
    alone: Service, partner: Client
) -> None:
    request = await asked(alone, partner, 700, 300)
    first = camt.statement(came("B1", 700, request["reference"]), reference="S1", currency="USD")
    again = first.replace(b"2026-03-02T20:00:00", b"2026-03-03T07:00:00")
    assert (await bank.stated(alone, first)).new_statement_count == 1
    assert (await bank.stated(alone, again)).new_statement_count == 0
    grown = await heard(alone, came("B1", 700, request["reference"]), came("B2", 300, request["reference"]))
    assert (grown.new_statement_count, grown.checked_line_count, grown.matched_line_count) == (1, 1, 1)
    assert (await bank.stated(alone, first)).new_statement_count == 0
    with pytest.raises(BankStatementError, match=r"statement has changed\.\nB1 of 2026-03-02: 7.00 USD\nB2"):
        await heard(alone, came("B1", 70, request["reference"]), came("B2", 30, request["reference"]))
    assert [one["status"] for one in await requests(partner)] == ["PAID"]
    assert len(await lines(alone)) == 2
    await consistent(alone)


async def test_people_assign_payouts_and_what_came_back_of_them(alone: Service, partner: Client) -> None:
    payout = await sent(alone, partner)
    named = uuid_of(alone, "disbursement", str(payout["id"]))
    await heard(alone, came("B1", -2437, "payment"), came("B2", 2437, "back"), came("B3", -2436, "other"))
    found = await lines(alone)

    async def assign(name: str) -> str:
        async with alone.db.write() as tx:
            await bank_statements.assign_line_to_disbursement(tx, found[name].id, named, assigned_by="officer")
        return str((await payouts(partner))[0]["status"])

    with pytest.raises(BankStatementError, match="a different amount"):
        await assign("B3")
    assert await assign("B1") == "PAID"
    with pytest.raises(BankStatementError, match="already matched"):
        await assign("B1")
    assert await assign("B2") == "RETURNED"
    assert {name: one.matched_as for name, one in (await lines(alone)).items()} == {
        "B1": "disbursement",
        "B2": "disbursement_return",
        "B3": None,
    }
    await consistent(alone)


async def test_people_assign_what_a_provider_paid_out(alone: Service, partner: Client) -> None:
    await factories.donation(alone, partner)
    async with alone.db.read() as tx:
        payment = await tx.fetchval("select provider_payment from payment limit 1")
    await imported(alone, report(("payment", payment, 25.0, 1.0), reference="po_1"), "test")
    await heard(alone, came("B1", 2300, "card payments"), came("B2", 2400, "cards"), came("B3", 2400, "cards"))
    found = await lines(alone)

    async def assign(name: str, reference: str = "po_1") -> None:
        async with alone.db.write() as tx:
            await bank_statements.assign_line_to_provider_payout(
                tx, found[name].id, "test", reference, assigned_by="officer"
            )

    with pytest.raises(BankStatementError, match="a different amount"):
        await assign("B1")
    with pytest.raises(BankStatementError, match="no settlement report po_2 from test"):
        await assign("B2", "po_2")
    await assign("B2")
    with pytest.raises(BankStatementError, match="the referenced record already has another line"):
        await assign("B3")
    async with alone.db.read() as tx:
        assert await bank_statements.list_missing_provider_payouts(tx, 10) == []
    assert (await lines(alone))["B2"].matched_as == "settlement"


async def test_m7_a_report_that_comes_to_nothing_waits_for_no_line(alone: Service, partner: Client) -> None:
    gift = await factories.donation(alone, partner)
    async with alone.db.read() as tx:
        payment = await tx.fetchval("select provider_payment from payment limit 1")
    even = report(("payment", payment, 25.0, 0.0), ("refund", payment, -25.0, 0.0), reference="po_even")
    await imported(alone, even, "test")
    await heard(alone, came("B1", 5, "interest"))
    async with alone.db.read() as tx:
        assert (
            await bank_statements.list_missing_provider_payouts(tx, 10),
            await bank_statements.count_unreconciled_lines_and_payouts(tx),
        ) == (
            [],
            (1, 0),
        )
    assert data(await partner.get(f"/v1/donations/{gift['id']}"))["settledAt"]
    alone.clock.advance(days=4)
    await heard(alone, came("B2", 5, "interest"), name="S2")
    alone.clock.advance(days=11)
    await heard(alone, came("B3", 5, "interest"), name="S3")
    outcome = await selfcheck.run_selfcheck(alone.db, CHECKS)
    assert "bank_statements.provider_payouts_arrived" not in {one.check.name for one in outcome.findings}


async def test_m7_a_payout_that_was_taken_back_comes_with_the_next_one_and_is_explained(
    alone: Service, partner: Client
) -> None:
    for _ in range(2):
        await factories.donation(alone, partner)
    async with alone.db.read() as tx:
        one, other = [row[0] for row in await tx.fetch("select provider_payment from payment")]
    await imported(alone, report(("payment", one, 25.0, 1.0), reference="po_failed"), "test")
    back = ("payment", "txn_failed", 24.0, 0.0)
    await imported(alone, report(("payment", other, 25.0, 1.0), back, reference="po_again"), "test")
    await heard(alone, came("B1", 4800, "po_again"))
    async with alone.db.write() as tx:
        await settlements.dismiss_line(
            tx,
            "test",
            "po_again",
            ("txn_failed", SettlementLineKind.PAYMENT, ""),
            dismissed_by="officer",
            note="po_failed again",
        )

    async def explain(reference: str, note: str = "the bank refused it, po_again has it") -> None:
        async with alone.db.write() as tx:
            await bank_statements.record_provider_payout_explanation(
                tx, "test", reference, note=note, explained_by="officer"
            )

    for wrong in ("po_again", "po_unknown"):  # it came; there is none
        with pytest.raises(NotFound):
            await explain(wrong)
    with pytest.raises(BankStatementError, match="1 to 2000"):
        await explain("po_failed", "")
    alone.clock.advance(days=15)
    await bank.stated(alone, camt.statement(opening=4800, reference="S2", currency="USD", day="2026-03-03"))
    outcome = await selfcheck.run_selfcheck(alone.db, checks)
    assert [one.check.name for one in outcome.findings] == ["bank_statements.provider_payouts_arrived"]
    await explain("po_failed")
    async with alone.db.read() as tx:
        assert await bank_statements.list_unreconciled_items(tx, 10) == []
    await consistent(alone)
    with pytest.raises(NotFound):
        await explain("po_failed")


@pytest.mark.parametrize("late", [True, False])
async def test_m6_a_gift_that_was_accepted_goes_back_by_bank_under_its_reference(
    alone: Service, partner: Client, late: bool
) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    named = await reference(giving)
    if late:  # the gift is made anew: the refund is another donation's than the reference's
        alone.clock.advance(hours=25)
        await giving.sweep()
    await heard(alone, came("B1", 2500 if late else 2400, named))
    async with alone.db.write() as tx:
        [held] = await suspense.lock_by_reference(tx, named)
        made = await bank_transfers.apply_unallocated_payment_to_donation(tx, held.id, "the donor called", "officer")
    gift = alone.db.deployment.ids.encode("donation", made.id)
    data(await partner.post(f"/v1/donations/{gift}/refund", {}))
    await heard(alone, came("B2", -held.money.minor, f"back {named}"), name="S2", opening=held.money.minor)
    assert (await lines(alone))["B2"].matched_as == "donation_refund"
    now = data(await partner.get(f"/v1/donations/{gift}"))
    assert (now["refundedAmount"], now["refundedAt"] is None) == (held.money.minor, False)
    await consistent(alone)


async def test_people_assign_what_went_back_to_a_donor_without_the_reference(alone: Service, partner: Client) -> None:
    giving = await support.open_session(alone, partner)
    await begun(giving)
    await heard(alone, came("B1", 2500, await reference(giving)))
    [gift] = await giving.donations()
    data(await partner.post(f"/v1/donations/{gift['id']}/refund", {"amount": 1000}))
    await heard(alone, came("B2", -1000, "money back"), came("B3", -1000, "money back"), name="S2", opening=9999)
    found = await lines(alone)
    for name in ("B2", "B3"):
        async with alone.db.write() as tx:
            named = uuid_of(alone, "donation", gift["id"])
            if name == "B3":
                with pytest.raises(BankStatementError, match="may have been paid twice"):
                    await bank_statements.assign_line_to_donation(tx, found[name].id, named, assigned_by="officer")
                break
            await bank_statements.assign_line_to_donation(tx, found[name].id, named, assigned_by="officer")
    assert (await giving.donations())[0]["refundedAmount"] == 1000


async def test_what_the_database_says_of_a_row_is_not_kept(alone: Service) -> None:
    async with alone.db.write() as tx:
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            await tx.execute(
                "insert into bank_statement (id, account, reference, currency, sha256, lines, imported_by, "
                "imported_at, part) values ($1, 'Ada Byron', 'r', 'USD', 'x', 1, 'x', $2, 1)",
                *(tx.new_id(), tx.now),
            )
    assert "Ada Byron" in str(refused.value)
    assert "Ada Byron" not in bank_statements.describe_booking_error(refused.value)
    assert "bank_statement_sha256_check" in bank_statements.describe_booking_error(refused.value)
