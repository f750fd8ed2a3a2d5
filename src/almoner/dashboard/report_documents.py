"""Monthly reports as CSV and PDF files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from almoner.access.accounts.page_texts import PageTexts
from almoner.giving.accounting.monthly_reports.domain import MonthlyReport, ReportLayout, ReportRow, totals_by_currency
from almoner.kit import language as languages
from almoner.kit.time import iso_timestamp
from almoner.platform.pages import formats
from almoner.platform.pages.csv_files import csv_header_line, csv_line
from almoner.platform.pages.pdf import PdfRenderer, text_and_direction_facts

PRINTED_ROWS: Final = 1000
"""The maximum number of rows in a PDF. If there are more, the PDF says so."""
_TEMPLATE: Final = Path(__file__).parent / "templates" / "report.typ"


@dataclass(frozen=True, slots=True)
class NamedReportRow:
    """A row with its nonprofit's display name."""

    nonprofit_id: str
    nonprofit: str
    row: ReportRow


def report_csv_lines(report: MonthlyReport, layout: ReportLayout, rows: Sequence[NamedReportRow]) -> Iterator[bytes]:
    """The lines of the CSV file; each names its period and partner."""
    names = [*(column.name for column in layout.columns), layout.total_column_name]
    yield csv_header_line(
        ["nonprofitId", "nonprofit", "currency", *map(_member, names), "month", "basis", "timeZone", "madeAt", "closed"]
    )
    made_at = "" if report.made_at is None else iso_timestamp(report.made_at)
    about = [f"{report.month:%Y-%m}", layout.basis, report.time_zone, made_at, str(report.status == "closed").lower()]
    for named in rows:
        amounts = [str(formats.decimal_amount(minor, named.row.currency)) for minor in named.row.amounts]
        yield csv_line([named.nonprofit_id, named.nonprofit, named.row.currency, *amounts, *about])


def _member(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


async def render_report_pdf(
    report: MonthlyReport, layout: ReportLayout, rows: Sequence[NamedReportRow], texts: PageTexts, partner_name: str
) -> bytes:
    """Render a report as PDF, in the language of the member."""
    assert report.made_at is not None
    language, locale = texts.language, texts.language.locale
    rtl = language.direction == "rtl"
    names = [*(column.name for column in layout.columns), layout.total_column_name]
    totals = totals_by_currency(named.row for named in rows)

    def amounts(currency: str, minors: Sequence[int]) -> list[dict[str, object]]:
        return [
            text_and_direction_facts(formats.format_money(minor, currency, locale), document_is_rtl=rtl)
            for minor in minors
        ]

    facts = {
        "lang": language.html_lang.split("-")[0],
        "region": languages.region_of_language_tag(language.html_lang),
        "rtl": rtl,
        "plain": language.text("page.rewritten"),
        "title": texts.text(f"reports.name.{layout.name}"),
        "month": formats.format_month(report.month, locale),
        "partner": text_and_direction_facts(partner_name, document_is_rtl=rtl),
        "date": [report.made_at.year, report.made_at.month, report.made_at.day],
        "about": report_header_lines(report, layout, texts),
        "columns": [texts.text("reports.nonprofit"), *(texts.text(f"reports.column.{name}") for name in names)],
        "rows": [
            {
                "name": text_and_direction_facts(named.nonprofit, document_is_rtl=rtl),
                "amounts": amounts(named.row.currency, named.row.amounts),
            }
            for named in rows[:PRINTED_ROWS]
        ],
        "totals": [
            {"name": texts.text("reports.total", currency=currency), "amounts": amounts(currency, minors)}
            for currency, minors in totals.items()
        ],
        "none": None if rows else texts.text("reports.none"),
        "more": texts.text("reports.more", count=texts.number_text(PRINTED_ROWS)) if len(rows) > PRINTED_ROWS else None,
    }
    return await _press().render_document(facts, {}, report.made_at)


def report_header_lines(report: MonthlyReport, layout: ReportLayout, texts: PageTexts) -> list[str]:
    """The header of a report: its basis, its time zone, when it was generated, and whether it is final."""
    sentences = [texts.text(f"reports.basis.{layout.basis}"), texts.text("reports.zone", zone=report.time_zone)]
    if report.made_at is not None:
        sentences.append(texts.text("reports.made", at=texts.timestamp_text(report.made_at)))
    if report.closed_at is not None:
        sentences.append(texts.text("reports.closed", at=texts.timestamp_text(report.closed_at)))
    return sentences


@cache
def _press() -> PdfRenderer:
    """The PDF renderer of the process, which holds the fonts."""
    return PdfRenderer(_TEMPLATE)
