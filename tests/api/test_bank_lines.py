"""Statements of our bank: each line is the movement of one thing of ours, or a person looks at it (M7)."""

import random
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankLine, BankStatementError, UnreconciledLineReason
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementConfirmation
from tests.support import bank, books, camt, factories
from tests.support.camt import Entry
from tests.support.client import Client, data
from tests.support.payouts import came_back, payouts, release, settled, uuid_of, verified
from tests.support.reports import imported, report
from tests.support.requests import asked, paid, requests
from tests.support.service import Service


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def heard(alone: Service, *entries: Entry, reference: str = "S1", off: int = 0) -> StatementImportProgress:
    """An officer has imported a statement in dollars."""
    return await bank.stated(alone, camt.statement(*entries, reference=reference, currency="USD", off=off))


async def lines(alone: Service) -> dict[str, BankLine]:
    """All lines by the bank's references, the newest of each."""
    async with alone.db.read() as tx:
        return {
            one.movement.reference: one
            for one in reversed(
                await bank_statements.list_oldest_open_or_newest_lines(tx, 1000, newest_of_any_status=True)
            )
        }


async def sent(alone: Service, api: Client, count: int) -> list[str]:
    """Payouts that wait for the bank; their end-to-end ids."""
    for _ in range(count):
        cause = await factories.nonprofit(alone)
        await bank.account(alone, cause)
        await verified(alone, api, cause)
        await settled(alone, api, cause)
    await bank.in_a_file(alone)
    return [one["endToEndId"] for one in await payouts(api)]


def moved(
    reference: str, minor: int, words: str = "", end_to_end: str = "NOTPROVIDED", returned: str | None = None
) -> Entry:
    return camt.entry(reference, minor, words=words, end_to_end=end_to_end, currency="USD", returned=returned)


async def test_a_partners_transfer_pays_its_request(alone: Service, partner: Client) -> None:
    request = await asked(alone, partner, 700, 300)
    looked = await heard(alone, moved("B1", 700, f"donations {request['reference'].replace('-', ' ')}"))
    assert (looked.new_statement_count, looked.checked_line_count, looked.matched_line_count) == (1, 1, 1)
    [now] = await requests(partner)
    assert (now["status"], now["paidAmount"]) == ("PARTLY_PAID", 700)
    again = await heard(alone, moved("B1", 700, f"donations {request['reference'].replace('-', ' ')}"))
    assert (again.new_statement_count, again.checked_line_count) == (0, 0)
    await heard(alone, moved("B2", 400, request["reference"]), reference="S2")
    assert [one["status"] for one in await requests(partner)] == ["PAID"]


async def test_a_transfer_that_was_noted_by_hand_is_not_received_again(alone: Service, partner: Client) -> None:
    request = await asked(alone, partner, 700)
    await paid(alone, request, 500, "B1")
    await heard(alone, moved("B1", 500, request["reference"]))
    assert (await lines(alone))["B1"].matched_as == "request"
    assert (await requests(partner))[0]["paidAmount"] == 500


async def test_the_bank_confirms_and_returns_payouts(alone: Service, partner: Client) -> None:
    first, second = await sent(alone, partner, 2)
    await heard(alone, moved("B1", -2437, end_to_end=first), moved("B2", -2437, words=f"ref {second}"))
    assert [one["status"] for one in await payouts(partner)] == ["PAID", "PAID"]
    await heard(alone, moved("B3", 2437, end_to_end=first, returned="AC04"), reference="S2")
    standing = {one["endToEndId"]: one["status"] for one in await payouts(partner)}
    assert (standing[first], standing[second]) == ("RETURNED", "PAID")


async def test_m11_a_transfer_of_a_payout_that_came_back_holds_its_gifts_until_somebody_has_looked(
    alone: Service, partner: Client
) -> None:
    """It came back by an officer's word, and the organisation was released; then the bank tells that it paid."""
    [payout] = await sent(alone, partner, 1)
    [found] = await payouts(partner)
    await came_back(alone, found)
    await release(alone, found["organisationId"])
    await heard(alone, moved("B1", -2437, end_to_end=payout))
    assert [one.unreconciled_reason for one in (await lines(alone)).values()] == [UnreconciledLineReason.OTHER_STATE]
    await bank.sent(alone)
    assert {one["status"]: one["waitingReason"] for one in await payouts(partner)} == {
        "RETURNED": None,
        "PENDING": "on_hold",
    }
    await release(alone, found["organisationId"])
    await heard(alone, moved("B2", 1), reference="S2")  # it is not held again for the same line
    await bank.sent(alone)
    assert Counter(one["status"] for one in await payouts(partner)) == {"RETURNED": 1, "SENT": 1}


async def test_a_return_that_is_told_before_its_payout_leaves_no_line_open(alone: Service, partner: Client) -> None:
    [payout] = await sent(alone, partner, 1)
    back = moved("B2", 2437, end_to_end=payout, returned="AC04")
    await heard(alone, back, moved("B1", -2437, end_to_end=payout))
    assert {name: one.matched_as for name, one in (await lines(alone)).items()} == {
        "B1": "disbursement",
        "B2": "disbursement_return",
    }
    assert [one["status"] for one in await payouts(partner)] == ["RETURNED"]


async def test_entries_that_a_bank_counts_in_each_statement_are_others_in_the_next(
    alone: Service, partner: Client
) -> None:
    for name in ("S1", "S2"):
        request = await asked(alone, partner, 700)
        reported = camt.statement(moved("GONE", 700, request["reference"]), reference=name, currency="USD")
        counted = reported.replace(b"<AcctSvcrRef>GONE</AcctSvcrRef>", b"").replace(
            b"<Ntry>", b"<Ntry><NtryRef>1</NtryRef>"
        )
        assert (await bank.stated(alone, counted)).matched_line_count == 1
    assert len(await lines(alone)) == 2


async def test_m12_an_imported_line_confirms_no_payout_that_one_person_could_have_made_up(
    alone: Service, partner: Client
) -> None:
    cause = await factories.nonprofit(alone)
    await verified(alone, partner, cause)
    await settled(alone, partner, cause)
    await bank.sent(alone)
    [payout] = await payouts(partner)
    await heard(alone, moved("B1", -2437, end_to_end=payout["endToEndId"]), moved("B2", -2437, "by hand"))
    found, named = await lines(alone), uuid_of(alone, "disbursement", payout["id"])
    assert found["B1"].unreconciled_reason == "unconfirmed"
    with pytest.raises(BankStatementError, match="disbursement is in no released file"):
        async with alone.db.write() as tx:
            await bank_statements.assign_line_to_disbursement(tx, found["B2"].id, named, assigned_by="officer")
    assert (await payouts(partner))[0]["status"] == "SENT"
    async with alone.db.write() as tx:
        two = DisbursementConfirmation("operator_a", 0, "telephone", ("operator_b", "the bank's own page"))
        await disbursements.confirm_paid(tx, named, two)
    await heard(alone, moved("B3", 1), reference="S2")
    assert (await lines(alone))["B1"].matched_as == "disbursement"


async def test_m7_what_a_provider_paid_out_is_found_by_its_name_and_sum(alone: Service, partner: Client) -> None:
    gift = await factories.donation(alone, partner)
    async with alone.db.read() as tx:
        payment = await tx.fetchval("select provider_payment from payment limit 1")
    await imported(alone, report(("payment", payment, 25.0, 1.0), reference="po_12345"), "test")
    await heard(alone, moved("B1", 2300, "STRIPE po_12345"), moved("B2", 2400, "Stripe PO_12345 payout"))
    found = await lines(alone)
    assert [(found[one].status, found[one].unreconciled_reason) for one in ("B1", "B2")] == [
        ("open", "other_amount"),
        ("matched", None),
    ]
    await heard(alone, moved("B3", 2400, "po_12345"), reference="S2")
    assert (await lines(alone))["B3"].unreconciled_reason == "matched_before"
    assert data(await partner.get(f"/v1/donations/{gift['id']}"))["settledAt"]


async def test_m7_a_statement_with_a_line_missing_or_another_content_is_refused(
    alone: Service, partner: Client
) -> None:
    with pytest.raises(BankStatementError, match="lines are missing or duplicated"):
        await heard(alone, moved("B1", 1), off=1)
    await heard(alone, moved("B1", 1))
    with pytest.raises(BankStatementError, match="Ask the bank why the statement has changed"):
        await heard(alone, moved("B1", 2))
    with pytest.raises(BankStatementError, match="If it is a CSV file, use --mapping"):
        await bank.stated(alone, b"day;amount")
    assert len(await lines(alone)) == 1


async def test_people_decide_over_the_rest(alone: Service, partner: Client) -> None:
    request = await asked(alone, partner, 700)
    await heard(alone, moved("B1", 700, "gifts"), moved("B2", -15, "account fee"))
    found = await lines(alone)
    assert {one.unreconciled_reason for one in found.values()} == {"unknown"}
    async with alone.db.write() as tx:
        request_id = tx.ids.decode("donationrequest", request["id"])
        assert request_id is not None
        await bank_statements.assign_line_to_donation_request(tx, found["B1"].id, request_id, assigned_by="officer")
        await bank_statements.dismiss_line(tx, found["B2"].id, note="fee of the bank", dismissed_by="officer")
        with pytest.raises(BankStatementError, match="already dismissed"):
            await bank_statements.dismiss_line(tx, found["B2"].id, note="again", dismissed_by="officer")
    assert [one["status"] for one in await requests(partner)] == ["PAID"]


async def test_one_line_pays_several_requests_that_add_up_to_it(alone: Service, partner: Client) -> None:
    made = [await asked(alone, partner, amount) for amount in (700, 1100, 250, 1800)]
    names = [one["reference"] for one in made]
    await heard(alone, moved("B1", 2050, "gifts"), moved("B2", 1234, "gifts"))
    found = await lines(alone)
    async with alone.db.read() as tx:
        combined = [
            one.display_name
            for one in await bank_statements.propose_matches(tx, found["B1"], 8)
            if not one.difference_minor
        ]
        assert await bank_statements.propose_matches(tx, found["B2"], 8) == [], "nothing adds up to it"
    assert {frozenset(one.split(", ")) for one in combined} == {
        frozenset({names[2], names[3]}),
        frozenset(names[:3]),
    }
    line = found["B1"].id
    for wrong in (names[:2], [names[0], names[0]], names, [], ["ALM-00000-00000"]):
        with pytest.raises(BankStatementError):
            async with alone.db.write() as tx:
                await bank_statements.assign_line_to_donation_requests(
                    tx, line, ", ".join(wrong), assigned_by="officer"
                )
    async with alone.db.write() as tx:
        await bank_statements.assign_line_to_donation_requests(tx, line, ", ".join(names[:3]), assigned_by="officer")
    states = {one["reference"]: one["status"] for one in await requests(partner)}
    assert [states[name] for name in names] == ["PAID", "PAID", "PAID", "OPEN"]
    async with alone.db.read() as tx:
        assert await tx.fetchval("select count(*) from request_payment where status = 'held'") == 0
    assert await books.balanced(alone)


async def test_m7_a_month_with_faults_of_every_kind_all_found_none_invented(alone: Service, partner: Client) -> None:
    chance = random.Random(7)
    known = await sent(alone, partner, 24)
    requested = [await asked(alone, partner, 500) for _ in range(8)]
    right = [moved(f"P{rank}", -2437, end_to_end=one) for rank, one in enumerate(known[:18])]
    right += [moved(f"R{rank}", 500, one["reference"]) for rank, one in enumerate(requested)]
    wrong = {
        "unknown": moved("X1", 900, "thank you"),
        "other_amount": moved("X2", -2436, end_to_end=known[18]),
        "matched_before": moved("X3", -2437, end_to_end=known[0]),
        "ambiguous": moved("X5", -2437, f"{known[20]} {known[21]}"),
        "other_state": moved("X6", -500, requested[0]["reference"]),
    }
    right.append(moved("P1", -2437, end_to_end=known[19]))  # another payout under the bank's name of the batch
    # The doubles come last: which of two is the fault is said by their order.
    chance.shuffle(right)
    looked = await heard(alone, *right, *wrong.values())
    assert (looked.checked_line_count, looked.matched_line_count) == (len(right) + len(wrong), len(right))
    again = await heard(alone, moved("P1", -2437, end_to_end=known[1]), reference="month")
    assert again.checked_line_count == len(wrong) + 1
    wrong["seen_before"] = moved("P1", -2437)
    async with alone.db.read() as tx:
        waiting = await bank_statements.list_oldest_open_or_newest_lines(tx, 100, newest_of_any_status=False)
    assert sorted(str(one.unreconciled_reason) for one in waiting) == sorted(wrong)
    assert [one["status"] for one in await payouts(partner)].count("SENT") == 5
    assert {one["status"] for one in await requests(partner)} == {"PAID"}
