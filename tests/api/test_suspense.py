"""What becomes of held money: each row of docs/money-rules.md in the running service (M6, I5, I6, S5)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import SettlementLine, SettlementLineKind, SettlementReport
from almoner.giving.accounting.suspense import flows as suspense_flows
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.checks import checks
from almoner.giving.accounting.suspense.domain import AutomaticAction, NoSuchUnallocatedPayment, UnallocatedPaymentError
from almoner.kit.money import Money
from almoner.platform.observability import selfcheck
from tests.support import giving as support
from tests.support.giving import DAY, Giving
from tests.support.service import Service
from tests.support.suspense import MOMENT, held, held_for, work
from tests.unit.test_money_rules import ROWS, Row


@pytest.fixture
async def own(alone: Service) -> Service:
    """A service whose due work is done by the provider of the test alone."""
    return alone


@pytest.fixture
async def giving(own: Service) -> AsyncIterator[Giving]:
    """A session whose donor is about to give."""
    api = own.client((await own.tenant()).secret)
    made = await support.open_session(own, api)
    made.provider.calls.clear()
    yield made
    await api.close()


async def postings(giving: Giving, unallocated_payment_id: UUID) -> list[tuple[str, int, str]]:
    """What was posted for it, in order."""
    async with giving.service.db.read() as tx:
        rows = await tx.fetch(
            "select kind, amount_minor, currency from ledger_transfer where owner_id = $1 order by id",
            unallocated_payment_id,
        )
    return [tuple(row) for row in rows]


async def mails(giving: Giving) -> list[dict[str, Any]]:
    """What the donor was sent."""
    async with giving.service.db.read() as tx:
        rows = await tx.fetch(
            """
            select m.* from sandbox_mail m join donation_session s on s.partner_id = m.partner_id
            where s.id = $1 order by m.created_at
            """,
            giving.session_id,
        )
    return [dict(row) for row in rows]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.reason)
async def test_m6_every_row_of_the_rules_holds_in_the_running_service(giving: Giving, row: Row) -> None:
    found = await held_for(giving, row.reason)
    assert (found.reason, found.status) == (row.reason, "held")
    assert found.auto_decide_at - found.received_at == row.after
    if row.after:
        giving.service.clock.advance(row.after - MOMENT)
        await work(giving)
        assert (await held(giving)).status == "held"
        giving.service.clock.advance(MOMENT)
    await work(giving)
    await work(giving)
    ended = await held(giving)
    assert ended.status == {AutomaticAction.REFUND: "refunded", AutomaticAction.DISMISS: "written_off"}[row.action]
    assert ended.decided_by == "rule"
    money = found.money
    assert await postings(giving, found.id) == [(kind, money.minor, money.currency) for kind in row.postings]
    sent = [(of, made.money) for of, made in giving.provider.refunds.values()]
    assert sent == ([(found.provider_payment_id, money)] if row.action is AutomaticAction.REFUND else [])
    reported = [mail for mail in await mails(giving) if "Your refund of" in mail["subject"]]
    assert len(reported) == (row.action is AutomaticAction.REFUND and row.reason != "unknown_payment")


@pytest.mark.parametrize("became", ["donation_cancelled", "session_over", "paid_twice", "unknown_payment", "short"])
@pytest.mark.parametrize(
    ("tampered", "reason"), [({"is_live_mode": True}, "other_mode"), ({"goes_to_our_account": False}, "other_account")]
)
async def test_m5_what_never_reached_us_is_neither_posted_nor_sent_back_whatever_it_was_for(
    giving: Giving, became: str, tampered: dict[str, object], reason: str
) -> None:
    found = await held_for(giving, became, **tampered)
    assert found.reason == reason
    giving.service.clock.advance(DAY * 31)
    await work(giving)
    assert (await held(giving)).status == "written_off"
    assert (await postings(giving, found.id), giving.provider.refunds) == ([], {})


@pytest.mark.parametrize("reason", [row.reason for row in ROWS if row.after])
@pytest.mark.parametrize("answer", ["refund", "dismiss"])
async def test_m6_a_person_decides_before_the_rule(giving: Giving, reason: str, answer: str) -> None:
    found = await held_for(giving, reason)
    async with giving.service.db.write() as tx:
        if answer == "refund":
            await suspense.begin_refund(tx, found.id, "the donor rang", "ada")
        else:
            await suspense.write_off(tx, found.id, "the shop's own payment", "ada")
    giving.service.clock.advance(DAY * 31)
    await work(giving)
    ended = await held(giving)
    assert ended.decided_by == "ada"
    assert ended.note is not None
    assert ended.status == {"refund": "refunded", "dismiss": "written_off"}[answer]
    kinds = {
        "refund": ["payment_unallocated", "unallocated_refund_started", "unallocated_refund_sent"],
        "dismiss": ["payment_unallocated", "unallocated_written_off"],
    }
    assert [kind for kind, *_ in await postings(giving, found.id)] == kinds[answer]
    assert len(giving.provider.refunds) == (answer == "refund")


async def test_m6_what_has_reached_our_bank_is_not_dismissed_but_sent_back(giving: Giving) -> None:
    found = await held_for(giving, "other_reference")
    line = SettlementLine(SettlementLineKind.PAYMENT, found.provider_payment_id, found.money, Money(75, "USD"))
    report = SettlementReport(
        found.provider, f"r-{found.id}", "USD", giving.service.clock.now().date(), bytes(32), (line,)
    )
    async with giving.service.db.write() as tx:
        await settlements.book_lines(tx, await settlements.find_or_create_settlement(tx, report), report.lines)
    with pytest.raises(UnallocatedPaymentError, match="bank account"):
        async with giving.service.db.write() as tx:
            await suspense.write_off(tx, found.id, "not ours", "ada")
    async with giving.service.db.write() as tx:
        await suspense.begin_refund(tx, found.id, "sent back", "ada")
    await work(giving)
    assert (await held(giving)).status == "refunded"
    # The provider holds less than nothing until it draws the refund from our bank: nobody need look.
    outcome = await selfcheck.run_selfcheck(giving.service.db, checks)
    assert "suspense.clearing_not_negative" not in {finding.check.name for finding in outcome.findings}


async def test_m6_one_refund_is_recorded_for_one_held_payment(own: Service) -> None:
    found = []
    for _ in range(2):
        api = own.client((await own.tenant()).secret)
        found.append(await held_for(await support.open_session(own, api), "other_reference"))
        await api.close()
    async with own.db.write() as tx:
        await suspense.record_manual_refund(tx, found[0].id, "re_twice", "in the dashboard", "ada")
    with pytest.raises(UnallocatedPaymentError, match="re_twice"):
        async with own.db.write() as tx:
            await suspense.record_manual_refund(tx, found[1].id, "re_twice", "in the dashboard", "ada")
    with pytest.raises(UnallocatedPaymentError, match="refunded"):
        async with own.db.write() as tx:
            await suspense.record_manual_refund(tx, found[0].id, "re_twice", "in the dashboard", "ada")


async def test_m6_what_is_decided_is_decided_once(giving: Giving) -> None:
    found = await held_for(giving, "other_mode")
    async with giving.service.db.write() as tx:
        with pytest.raises(UnallocatedPaymentError):
            await suspense.begin_refund(tx, found.id, "no", "ada")
    await work(giving)
    for decide in (suspense.begin_refund, suspense.write_off):
        with pytest.raises(UnallocatedPaymentError):
            async with giving.service.db.write() as tx:
                await decide(tx, found.id, "again", "ada")
        with pytest.raises(NoSuchUnallocatedPayment):
            async with giving.service.db.write() as tx:
                await decide(tx, UUID(int=7), "nobody's", "ada")


async def test_i6_a_lost_answer_is_asked_for_again_and_money_goes_back_once(giving: Giving) -> None:
    found = await held_for(giving, "over")
    giving.provider.lose_answers = 1
    await work(giving)
    assert (await held(giving)).status == "refunding"
    giving.service.clock.advance(timedelta(minutes=1))
    await work(giving)
    assert (await held(giving)).status == "refunded"
    assert len(giving.provider.refunds) == 1
    assert giving.provider.calls.count("refund") == 2
    assert [kind for kind, *_ in await postings(giving, found.id)] == [
        "payment_unallocated",
        "unallocated_refund_started",
        "unallocated_refund_sent",
    ]


async def test_i5_many_workers_send_it_back_once(giving: Giving) -> None:
    found = await held_for(giving, "short")
    async with giving.service.db.write() as tx:
        assert await suspense.run_due_automatic_actions(tx) == 1
        assert await suspense.run_due_automatic_actions(tx) == 0
    await asyncio.gather(
        *(suspense_flows.refund_unallocated_payment(giving.service.db, giving.provider, found.id) for _ in range(6))
    )
    assert (await held(giving)).status == "refunded"
    assert giving.provider.calls.count("refund") == 1
    await work(giving)
    assert len([mail for mail in await mails(giving) if "Your refund of" in mail["subject"]]) == 1


async def test_m6_a_refund_that_the_provider_refuses_waits_for_a_person(giving: Giving) -> None:
    found = await held_for(giving, "over")
    await giving.provider.refund_payment(found.provider_payment_id, "by hand", found.money)
    await work(giving)
    assert (await held(giving)).status == "refunding"
    async with giving.service.db.read() as tx:
        dead = await tx.fetchval(
            "select last_error from job where kind = $1 and payload->>'held' = $2 and dead_at is not null",
            suspense.REFUND.name,
            str(found.id),
        )
    assert dead == "less was paid, or it was refunded already"
    async with giving.service.db.write() as tx:
        await suspense.record_manual_refund(tx, found.id, "tpr_by_hand", "sent back in the dashboard", "ada")
    await work(giving)
    ended = await held(giving)
    assert (ended.status, ended.provider_refund) == ("refunded", "tpr_by_hand")
    async with giving.service.db.read() as tx:
        left = await tx.fetchval("select count(*) from job where payload->>'held' = $1", str(found.id))
    assert left == 0, "nobody need look at a refund that was given up and is made"
    assert len([mail for mail in await mails(giving) if "Your refund of" in mail["subject"]]) == 1


async def test_m6_who_ends_a_refund_that_was_begun_by_rule_is_kept_with_the_reason(giving: Giving) -> None:
    found = await held_for(giving, "over")
    await giving.provider.refund_payment(found.provider_payment_id, "by hand", found.money)
    await work(giving)
    async with giving.service.db.write() as tx:
        await suspense.begin_refund(tx, found.id, "the dispute was withdrawn", "ada")
    await work(giving)
    async with giving.service.db.write() as tx:
        await suspense.record_manual_refund(tx, found.id, "tpr_dashboard", "seen in the dashboard", "bob")
    assert (await held(giving)).decided_by == "rule"
    async with giving.service.db.read() as tx:
        decided = await suspense.list_decisions(tx, [found.id])
    assert [(one.resolution.value, one.decided_by, one.note, one.provider_refund_id) for one in decided] == [
        ("retry_refund", "ada", "the dispute was withdrawn", None),
        ("record_manual_refund", "bob", "seen in the dashboard", "tpr_dashboard"),
    ]


async def test_the_mail_says_how_much_for_whom_and_why_in_the_donors_language(own: Service) -> None:
    api = own.client((await own.tenant()).secret)
    giving = await support.open_session(own, api, language="de")
    await held_for(giving, "paid_twice")
    await work(giving)
    (mail,) = [mail for mail in await mails(giving) if "Rückzahlung" in mail["subject"]]
    assert mail["recipient"] == "ada@example.org"
    assert "25,00" in mail["subject"]
    for form in (mail["text"], mail["html"]):
        assert "Ihre erste Zahlung haben wir behalten" in form
        assert "Testmodus" in form
    await api.close()


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'refunded', provider_refund = 'x'", "lifecycle_unallocated_payment"),
        ("status = 'refunding'", "unallocated_payment_decided"),
        ("status = 'refunding', decided_at = received_at, decided_by = 'ada'", "unallocated_payment_decided"),
        (
            "status = 'written_off', decided_at = received_at, decided_by = '', note = 'x'",
            "unallocated_payment_decided_by_check",
        ),
        ("provider_refund = 'x'", "unallocated_payment_refunded"),
    ],
)
async def test_m6_the_database_refuses_other_ends(giving: Giving, change: str, constraint: str) -> None:
    found = await held_for(giving, "over")
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        async with giving.service.db.write() as tx:
            await tx.execute(f"update unallocated_payment set {change} where id = $1", found.id)
    assert refused.value.constraint_name == constraint


async def test_m5_the_database_refuses_to_send_back_what_is_none_of_ours(giving: Giving) -> None:
    found = await held_for(giving, "other_mode")
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        async with giving.service.db.write() as tx:
            await tx.execute(
                "update unallocated_payment "
                "set status = 'refunding', decided_at = received_at, decided_by = 'rule' where id = $1",
                found.id,
            )
    assert refused.value.constraint_name == "unallocated_payment_not_ours"
