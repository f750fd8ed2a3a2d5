"""Reports by month and nonprofit: donations, fees, disbursements and amounts owed; finance closes a month."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from itertools import product
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import build_page_texts
from almoner.access.partners import service as partners
from almoner.dashboard.domain import REPORT_READERS
from almoner.dashboard.rendering import render_page
from almoner.dashboard.report_documents import NamedReportRow, render_report_pdf, report_csv_lines, report_header_lines
from almoner.giving.accounting.monthly_reports import service as reports
from almoner.giving.accounting.monthly_reports.domain import (
    CLOSABLE_AFTER,
    LAYOUTS,
    MonthlyReport,
    MonthNotEnded,
    ReportClosed,
    ReportLayout,
    build_report_rows,
    find_layout,
    totals_by_currency,
)
from almoner.kit.errors import NotFound
from almoner.kit.time import parse_month
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.pages import formats
from almoner.platform.pages.headers import NO_PAGE

PATH: Final = "/reports"
_SHOWN: Final = 100


class ReportPages:
    """Pages about reports."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes. Closing a month requires a recent reauthentication."""
        context, readers = self._context, sorted(REPORT_READERS)
        return [
            context.route(PATH, self.list_reports, *readers),
            context.route(f"{PATH}/{{id}}", self.show_report, *readers),
            context.route(f"{PATH}/{{id}}/close", self.close_report, *readers, requires_reauthentication=True),
            *(
                context.route(f"{PATH}/{{id}}/{name}.{kind}", self.download, *readers, methods=["GET"])
                for name, kind in product(LAYOUTS, ("csv", "pdf"))
            ),
        ]

    async def list_reports(self, visitor: SignedInRequest) -> Response:
        """List the months with their reports, and whether the member gets them by email."""
        partner = partner_from_request(visitor)
        if visitor.form:
            async with self._context.db.write() as tx:
                await reports.set_report_subscription(
                    tx, partner, visitor.person.id, subscribed=visitor.form_value("mail") == "yes"
                )
            return redirect_to(visitor.path)
        async with self._context.db.read() as tx:
            months = await reports.list_reportable_months(tx, partner)
            mailed = await reports.is_report_recipient(tx, partner, visitor.person.id)
        return render_page(
            self._context, visitor, "reports.html", months=months, mailed=mailed, format_month=self._month(visitor)
        )

    async def show_report(self, visitor: SignedInRequest) -> Response:
        """Show one report of a month, once it is ready."""
        partner, month = partner_from_request(visitor), _month_of(visitor)
        if visitor.form:
            try:
                async with self._context.db.write() as tx:
                    await reports.request_report(tx, partner, month)
            except (MonthNotEnded, ReportClosed):
                raise NotFound from None
            return redirect_to(visitor.path)
        layout = find_layout(visitor.query.get("report", "donations"))
        if layout is None:
            raise NotFound
        async with self._context.db.read() as tx:
            report = await reports.find(tx, partner, month)
            rows = await _rows_with_names(tx, visitor, report, layout)
            closable = report is not None and tx.now >= report.ends_at + CLOSABLE_AFTER
        texts = build_page_texts(self._context, visitor)
        return render_page(
            self._context,
            visitor,
            "report.html",
            month=month,
            report=report,
            layout=layout,
            layouts=list(LAYOUTS),
            columns=[*(column.name for column in layout.columns), layout.total_column_name],
            rows=rows[:_SHOWN],
            more=len(rows) - _SHOWN,
            totals=totals_by_currency(named.row for named in rows),
            about=[] if report is None else report_header_lines(report, layout, texts),
            closable=closable and report is not None and report.status == "ready",
            format_month=self._month(visitor),
            message="reports.closed.done" if visitor.query.get("done") == "closed" else "",
        )

    async def close_report(self, visitor: SignedInRequest) -> Response:
        """Close the month after confirmation; its report is then final."""
        partner, month = partner_from_request(visitor), _month_of(visitor)
        here = f"{visitor.portal.home}{PATH}/{month:%Y-%m}"
        if not visitor.form:
            return render_page(
                self._context, visitor, "report_close.html", month=month, here=here, format_month=self._month(visitor)
            )
        by = self._context.audit_context(visitor)
        try:
            with suppress(ReportClosed):  # already closed
                async with self._context.db.write() as tx:
                    await reports.close_report(tx, partner, month, by.actor.id)
                    subject = self._context.format_id("partner", partner.id)
                    details = {"month": f"{month:%Y-%m}"}
                    await audit.record_entry(
                        tx, partner.id, by.actor, "month.closed", subject, ip_address=by.ip_address, details=details
                    )
        except MonthNotEnded:
            raise NotFound from None
        return redirect_to(f"{here}?done=closed")

    async def download(self, visitor: SignedInRequest) -> Response:
        """Download a report as a file: ``donations.csv``, ``donations.pdf``."""
        month = _month_of(visitor)
        name, _, kind = visitor.path.rpartition("/")[2].partition(".")
        layout = find_layout(name)
        if layout is None:
            raise NotFound
        async with self._context.db.read() as tx:
            account = await partners.get(tx, partner_from_request(visitor))
            report = await reports.find(tx, partner_from_request(visitor), month)
            rows = await _rows_with_names(tx, visitor, report, layout)
        if report is None or report.made_at is None:
            raise NotFound
        if kind == "csv":
            body, media_type = b"".join(report_csv_lines(report, layout, rows)), "text/csv; charset=utf-8"
        else:
            body = await render_report_pdf(report, layout, rows, build_page_texts(self._context, visitor), account.name)
            media_type = "application/pdf"
        saved_as = f'attachment; filename="{name}-{month:%Y-%m}.{kind}"'
        return Response(body, media_type=media_type, headers={**NO_PAGE, "Content-Disposition": saved_as})

    def _month(self, visitor: SignedInRequest) -> Callable[[date], str]:
        locale = build_page_texts(self._context, visitor).language.locale
        return lambda month: formats.format_month(month, locale)


def _month_of(visitor: SignedInRequest) -> date:
    """The month named in the URL, as its first day. Raises NotFound."""
    text = visitor.path.removeprefix(f"{visitor.portal.home}{PATH}/").split("/")[0]
    try:
        return parse_month(text)
    except ValueError:
        raise NotFound from None


async def _rows_with_names(
    tx: Tx, visitor: SignedInRequest, report: MonthlyReport | None, layout: ReportLayout
) -> list[NamedReportRow]:
    """The rows of a report with the nonprofits' names, by currency and name; none before the report is ready."""
    if report is None or report.made_at is None:
        return []
    rows = build_report_rows(layout, await reports.list_lines(tx, report))
    called = await organisations.load_display_names_by_id(
        tx, partner_from_request(visitor), {row.organisation_id for row in rows}
    )
    named = [
        NamedReportRow(tx.ids.encode("organisation", row.organisation_id), called.get(row.organisation_id, ""), row)
        for row in rows
    ]
    return sorted(named, key=lambda one: (one.row.currency, one.nonprofit.casefold(), one.nonprofit_id))
