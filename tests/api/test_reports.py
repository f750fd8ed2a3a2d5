"""Monthly reports: their sums are the ledger's, a closed month stays, and only those who may read them do."""

import csv
import re
from collections import Counter
from collections.abc import AsyncIterator
from datetime import date, timedelta

import asyncpg
import pytest

from almoner.giving.accounting.monthly_reports import service as reports
from almoner.giving.accounting.monthly_reports.domain import (
    LAYOUTS,
    OPENING,
    MonthNotEnded,
    ReportClosed,
    ReportLine,
    build_report_rows,
    closing_balances_by_organisation_and_currency,
)
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from tests.support import factories, payouts
from tests.support.client import Client, data
from tests.support.members import desk
from tests.support.service import Service, Tenant

DAY = timedelta(days=1)


@pytest.fixture
async def api(service: Service, tenant: Tenant) -> AsyncIterator[Client]:
    """The partner's own server."""
    made = service.client(tenant.secret)
    yield made
    await made.close()


def this_month(service: Service) -> date:
    """The month that goes on."""
    return service.clock.now().date().replace(day=1)


async def made(service: Service, tenant: Tenant, month: date) -> list[ReportLine]:
    """What the report of a month says."""
    async with service.db.write() as tx:
        await reports.request_report(tx, tenant.partner, month)
    await service.drain()
    async with service.db.read() as tx:
        report = await reports.find(tx, tenant.partner, month)
        assert report is not None
        return await reports.list_lines(tx, report)


async def live_a_month(service: Service, tenant: Tenant) -> None:
    """Donations that are disbursed, returned and disbursed again, refunded in part, or reassigned."""
    api = service.client(tenant.secret)
    nonprofit = await factories.nonprofit(service)
    await payouts.verified(service, api, nonprofit)
    await payouts.settled(service, api, nonprofit)
    await service.drain()
    await payouts.run(service)
    await payouts.came_back(service, (await payouts.payouts(api))[0])
    await payouts.run(service)
    gift = await factories.donation(service, api)
    await service.drain()
    data(await api.post(f"/v1/donations/{gift['id']}/refund", {"amount": 700}))
    moved = await factories.donation(service, api)
    other = await factories.nonprofit(service)
    await service.drain()
    async with service.db.write() as tx:
        donation, to = tx.ids.decode("donation", moved["id"]), tx.ids.decode("organisation", other)
        assert donation is not None
        assert to is not None
        await reassignments.reassign_donation(
            tx,
            tenant.partner,
            donation,
            to,
            ground="failed_compliance",
            reason="removed",
            reassigned_by="x",
            rules=DisbursementRules(),
        )
    await service.drain()
    await api.close()


async def test_the_sums_of_all_partners_are_those_of_the_ledger(alone: Service) -> None:
    service = alone
    both = [await service.tenant(), await service.tenant()]
    for tenant in both:
        await live_a_month(service, tenant)
    lines = [line for tenant in both for line in await made(service, tenant, this_month(service))]
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select kind, currency::text, sum(amount_minor)::bigint as minor from ledger_transfer group by 1, 2"
        )
        owed = await tx.fetch(
            """
            select organisation_id, currency::text, credits_minor - debits_minor as minor from ledger_account
            where kind = 'donation_liability' and credits_minor > debits_minor
            """
        )
    reported: Counter[tuple[str, str]] = Counter()
    for line in lines:
        reported[line.kind.replace("reassigned_from", "reassigned"), line.currency] += line.amount_minor
    posted = {(row["kind"], row["currency"]): row["minor"] for row in rows}
    assert len(reported) > 8
    assert {key: reported[key] for key in posted if key in reported} == {
        key: posted[key] for key in posted if key in reported
    }
    left_out = {kind for kind, _ in posted.keys() - reported.keys()}
    assert left_out <= {"donation_refund_sent", "refund_settled"}, "say which report a kind of transfer is in"
    balances = {(row["organisation_id"], row["currency"]): row["minor"] for row in owed}
    assert closing_balances_by_organisation_and_currency(lines) == balances
    closing = sum(row.amounts[-1] for row in build_report_rows(LAYOUTS["reconciliation"], lines))
    assert closing == sum(balances.values())


async def test_a_closed_month_stays_and_what_comes_later_is_of_the_next(
    service: Service, tenant: Tenant, api: Client
) -> None:
    gift = await factories.donation(service, api)
    await service.drain()
    first = this_month(service)
    before = await made(service, tenant, first)
    finance = await desk(service, tenant, "finance")
    page = f"{finance.home}/reports/{first:%Y-%m}"
    assert "Close month" not in (await finance.get(page)).text, "it goes on"
    service.clock.advance(timedelta(days=32))
    assert finance.person is not None
    await finance.sign_in(finance.person)
    await made(service, tenant, first)
    assert "Close month" in (await finance.get(page)).text
    await finance.get(f"{page}/close")
    assert (await finance.post(f"{page}/close")).headers["location"].endswith("?done=closed")
    data(await api.post(f"/v1/donations/{gift['id']}/refund", {"amount": 700}))
    await service.drain()
    await finance.get(page)
    assert "Closed:" in finance.text()
    async with service.db.read() as tx:
        closed = await reports.find(tx, tenant.partner, first)
        assert closed is not None
        assert sorted(await reports.list_lines(tx, closed), key=str) == sorted(before, key=str)
    after = {line.kind: line.amount_minor for line in await made(service, tenant, this_month(service))}
    assert (after[OPENING], after["donation_refund_started"]) == (2500, 700)
    for change in (
        "update monthly_report set made_at = now() where id = $1",
        "delete from monthly_report_line where report_id = $1",
    ):
        async with service.db.single_statement() as tx:
            with pytest.raises(asyncpg.CheckViolationError):
                await tx.execute(change, closed.id)
    owner = await desk(service, tenant, "owner")
    await owner.get(f"{owner.home}/audit")
    assert "Month closed" in owner.text()
    for browser in (finance, owner):
        await browser.close()


async def test_a_month_is_closed_once_and_only_when_it_is_over(service: Service, tenant: Tenant) -> None:
    partner, month = tenant.partner, this_month(service)
    following = (month + timedelta(days=32)).replace(day=1)
    async with service.db.write() as tx:
        with pytest.raises(MonthNotEnded):
            await reports.request_report(tx, partner, following)
        with pytest.raises(MonthNotEnded):
            await reports.close_report(tx, partner, month, "finance")
        await reports.request_report(tx, partner, month)
        with pytest.raises(MonthNotEnded):
            await reports.close_report(tx, partner, month, "finance")
    service.clock.advance(timedelta(days=40))
    async with service.db.write() as tx:
        assert (await reports.close_report(tx, partner, month, "finance")).month == month
        with pytest.raises(ReportClosed):
            await reports.close_report(tx, partner, month, "finance")
        with pytest.raises(ReportClosed):
            await reports.request_report(tx, partner, month)


async def test_finance_exports_a_month_that_says_what_it_is_of(service: Service, tenant: Tenant, api: Client) -> None:
    await live_a_month(service, tenant)
    finance, month = await desk(service, tenant, "finance"), this_month(service)
    page = f"{finance.home}/reports/{month:%Y-%m}"
    await finance.get(page)
    await finance.post(page)
    await finance.get(page)
    assert "The report is being generated." in finance.text()
    await service.drain()
    for name, layout in LAYOUTS.items():
        shown = await finance.get(f"{page}?report={name}")
        text = finance.text()
        assert ("Basis:" in text, "Time zone: UTC" in text, "Generated:" in text) == (True, True, True)
        assert "/nonprofits/sandbox_organisation_" in shown.text
        file = await finance.get(f"{page}/{name}.csv")
        rows = list(csv.DictReader(file.content.decode("utf-8-sig").splitlines()))
        assert {(row["basis"], row["timeZone"], row["month"]) for row in rows} == {
            (layout.basis, "UTC", f"{month:%Y-%m}")
        }
        assert (await finance.get(f"{page}/{name}.pdf")).content.startswith(b"%PDF-")
    received = await finance.get(f"{page}/donations.csv")
    assert (
        sum(float(row["received"]) for row in csv.DictReader(received.content.decode("utf-8-sig").splitlines())) == 75.0
    )
    for wrong in ("2999-01", "2026-13", "x"):
        await finance.get(f"{finance.home}/reports")
        assert (await finance.post(f"{finance.home}/reports/{wrong}")).status_code == 404
    await finance.close()


async def test_a_link_is_mailed_when_a_month_is_over_and_never_figures(
    service: Service, tenant: Tenant, api: Client
) -> None:
    await factories.donation(service, api)
    finance, other = await desk(service, tenant, "finance"), await desk(service, tenant, "finance")
    month = this_month(service)
    await finance.get(f"{finance.home}/reports")
    months = set(re.findall(r"/reports/(\d{4}-\d{2})", finance.page.text if finance.page else ""))
    assert months == {f"{month:%Y-%m}"}, "no month before the partner's first"
    await finance.post(f"{finance.home}/reports", mail="yes")
    await finance.get(f"{finance.home}/reports")
    assert "We email you a link" in finance.text()
    await service.drain()
    service.clock.advance(timedelta(days=32))
    await service.drain()
    assert finance.person is not None
    assert other.person is not None
    [mail] = data(await api.get("/v1/sandbox/mailbox", to=str(finance.person.email)))
    assert f"/reports/{month:%Y-%m}" in mail["text"]
    said = re.sub(r"https?://\S+|Partner \d+", "", mail["text"])
    said = said.replace(f"{month:%Y-%m}", "").replace(finance.name, "")
    assert "25" not in said
    assert data(await api.get("/v1/sandbox/mailbox", to=str(other.person.email))) == []
    async with service.db.read() as tx:
        report = await reports.find(tx, tenant.partner, month)
        assert report is not None
        assert report.status == "ready"
    for browser in (finance, other):
        await browser.close()
