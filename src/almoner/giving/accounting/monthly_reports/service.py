"""Makes and closes monthly reports."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.partners import service as partners
from almoner.giving.accounting.monthly_reports import domain, store
from almoner.giving.accounting.monthly_reports.domain import (
    CLOSABLE_AFTER,
    OPENING,
    MonthlyReport,
    MonthNotEnded,
    ReportClosed,
    ReportLine,
)
from almoner.giving.accounting.monthly_reports.store import find as find
from almoner.giving.accounting.monthly_reports.store import is_report_recipient as is_report_recipient
from almoner.giving.accounting.monthly_reports.store import list_lines as list_lines
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.queue import JobKind


class BuildReportJob(msgspec.Struct, frozen=True):
    """The report to generate."""

    report: UUID


class NotifyReportRecipientJob(msgspec.Struct, frozen=True):
    """The member to notify, and the first day of the month."""

    partner: UUID
    person: UUID
    month: date


MAKE: Final = JobKind("monthly_reports.create", BuildReportJob)
NOTIFY: Final = JobKind("monthly_reports.notify", NotifyReportRecipientJob)
_BATCH: Final = 100
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MonthWithReport:
    """A month, with its report if one was requested."""

    month: date
    report: MonthlyReport | None


async def list_reportable_months(tx: Tx, partner: Partner) -> list[MonthWithReport]:
    """The months that can be reported, newest first."""
    zone = tx.deployment.time_zone
    account = await partners.get(tx, partner)
    months = domain.reportable_months(
        domain.first_day_of_month(tx.now, zone), domain.first_day_of_month(account.created_at, zone)
    )
    known = {report.month: report for report in await store.list_since_month(tx, partner, months[-1])}
    return [MonthWithReport(month, known.get(month)) for month in months]


async def request_report(tx: Tx, partner: Partner, month: date) -> MonthlyReport:
    """Request a month's report, or a new version. Raises MonthNotEnded, ReportClosed."""
    zone = tx.deployment.time_zone
    begins_at, ends_at = domain.month_bounds(month, zone)
    if begins_at > tx.now:
        raise MonthNotEnded
    report = await store.upsert_report_request(
        tx, MonthlyReport(tx.new_id(), partner.id, month, str(zone), begins_at, ends_at, "pending", None, None, None)
    )
    if report is None:
        raise ReportClosed
    await MAKE.enqueue(tx, BuildReportJob(report.id), unique_key=str(report.id))
    return report


async def build_report(tx: Tx, report_id: UUID) -> None:
    """Sum the transfers of the month; does nothing if the report is already built."""
    report = await store.find_for_update(tx, report_id)
    if report is None or report.status != "pending":
        return
    await store.replace_lines(tx, report, await _sum(tx, report))


async def _sum(tx: Tx, report: MonthlyReport) -> list[ReportLine]:
    """The lines of a report; opening balances start from the last closed report."""
    partner = Partner(report.partner_id)
    before = await store.find_last_closed(tx, partner, report.begins_at)
    earlier = [] if before is None else await store.list_lines(tx, before)
    since = before.ends_at if before is not None else _FIRST
    earlier += await store.sum_transfers(tx, partner, since, report.begins_at)
    opening = [
        ReportLine(organisation_id, currency, OPENING, 0, minor)
        for (organisation_id, currency), minor in domain.closing_balances_by_organisation_and_currency(earlier).items()
    ]
    return [*opening, *await store.sum_transfers(tx, partner, report.begins_at, report.ends_at)]


async def close_report(tx: Tx, partner: Partner, month: date, closed_by: str) -> MonthlyReport:
    """Generate the report one last time and make it final. Raises MonthNotEnded, ReportClosed."""
    found = await store.find(tx, partner, month)
    report = None if found is None else await store.find_for_update(tx, found.id)
    if report is None or tx.now < report.ends_at + CLOSABLE_AFTER:
        raise MonthNotEnded
    if report.status == "closed":
        raise ReportClosed
    await store.replace_lines(tx, report, await _sum(tx, report))
    await store.close(tx, report, closed_by)
    return report


async def set_report_subscription(tx: Tx, partner: Partner, person_id: UUID, *, subscribed: bool) -> None:
    """Set whether a person gets the monthly report by email."""
    this = domain.first_day_of_month(tx.now, tx.deployment.time_zone)
    await store.set_report_subscription(
        tx, partner, person_id, subscribed=subscribed, month=domain.previous_month(this)
    )


async def next_report_email_at(tx: Tx) -> datetime | None:
    """When the next monthly emails are due."""
    notified = await store.find_earliest_last_notified_month(tx)
    if notified is None:
        return None
    zone = tx.deployment.time_zone
    month = domain.first_day_of_month(domain.month_bounds(notified, zone)[1], zone)
    return domain.month_bounds(month, zone)[1] + CLOSABLE_AFTER


async def enqueue_report_emails(tx: Tx) -> int:
    """Enqueue last month's report and its email for a batch of recipients; returns how many."""
    month = domain.previous_month(domain.first_day_of_month(tx.now - CLOSABLE_AFTER, tx.deployment.time_zone))
    readers = await store.claim_report_recipients(tx, month, _BATCH)
    for partner_id in sorted({partner_id for partner_id, _ in readers}):
        known = await store.find(tx, Partner(partner_id), month)
        if known is None or known.status != "closed":
            await request_report(tx, Partner(partner_id), month)
    for partner_id, person_id in readers:
        await NOTIFY.enqueue(
            tx, NotifyReportRecipientJob(partner_id, person_id, month), unique_key=f"{person_id}:{month}"
        )
    return len(readers)
