"""Renders statements as PDF for donors."""

from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.donor_statements import domain
from almoner.giving.donor_statements.domain import DonorStatement, DonorStatementLine
from almoner.kit import language as languages
from almoner.kit.text import prevent_autolinking
from almoner.platform.pages import formats
from almoner.platform.pages.pdf import (
    Facts,
    PdfRenderer,
    build_contact_and_notice_facts_and_links,
    text_and_direction_facts,
)
from almoner.platform.pages.rendering import PageRenderer, bidi_isolated_plain_text
from almoner.platform.pages.translations import Language

PDF: Final = "application/pdf"

_TEMPLATE: Final = Path(__file__).parent / "templates" / "statement.typ"
_COLUMNS: Final = ("date", "receipt_number", "organisation", "amount")


@cache
def _press() -> PdfRenderer:
    """The process-wide renderer, which holds the fonts."""
    return PdfRenderer(_TEMPLATE)


class StatementRenderer:
    """Renders statements, in the language of the receipt from which they were requested."""

    def __init__(self, pages: PageRenderer) -> None:
        self._pages = pages

    def statement_url(self, donation_id: UUID, expires_at: datetime) -> str:
        """The private URL of the statement; it does not identify the donor."""
        deployment = self._pages.deployment
        token = deployment.vault.create_expiring_page_token(domain.PAGE_PURPOSE, donation_id, expires_at)
        return f"{deployment.base_urls.pages}/{domain.PAGE_PURPOSE}?token={token}"

    async def render_pdf(self, statement: DonorStatement) -> bytes:
        """The PDF."""
        language = self._pages.language_for_tag(statement.receipt_of_opened_link.language)
        public, links = build_contact_and_notice_facts_and_links(self._pages.deployment, language)
        facts = {**self._facts(statement, language), "public": public}
        return await _press().render_document(facts, links, statement.as_of)

    def _facts(self, statement: DonorStatement, language: Language) -> Facts:
        """The template's input."""
        rtl, locale, by = language.direction == "rtl", language.locale, statement.receipt_of_opened_link
        stated = partial(text_and_direction_facts, document_is_rtl=rtl)
        return {
            "lang": language.html_lang.split("-")[0],
            "region": languages.region_of_language_tag(language.html_lang),
            "rtl": rtl,
            "plain": language.text("page.rewritten"),
            "title": language.text("statement.title"),
            "date": _day(self._pages.deployment.date_in_issuer_time_zone(statement.as_of)),
            "test": _test(language) if self._pages.deployment.sandbox else None,
            "issuer": stated(prevent_autolinking(statement.issuer)),
            "donor_label": language.text("receipt.donor"),
            "donor": stated(prevent_autolinking(formats.full_name(by.first_name, by.last_name, locale))),
            "gifts": language.text(
                "statement.gifts",
                first=bidi_isolated_plain_text(formats.format_day(statement.period.first, locale), language.direction),
                last=bidi_isolated_plain_text(formats.format_day(statement.period.last, locale), language.direction),
            ),
            "columns": [language.text(f"receipt.{name}") for name in _COLUMNS],
            "rows": [self._row(line, statement, language) for line in statement.lines],
            "totals": [
                {
                    "label": language.text("statement.total", currency=total.currency),
                    "rows": [
                        {
                            "label": language.text(f"statement.{name}"),
                            "value": stated(formats.format_money(minor, total.currency, locale)),
                        }
                        for name, minor in (
                            ("given", total.given_minor),
                            ("back", total.refunded_minor),
                            ("left", total.unrefunded_minor),
                        )
                    ],
                }
                for total in statement.totals
            ],
            "none": None if statement.lines else language.text("statement.none"),
            "notes": [
                *([language.text("statement.many")] if statement.more else []),
                language.text("statement.note"),
                *([language.text("statement.london")] if statement.period.uses_london_time else []),
                language.text("statement.only"),
                language.text(
                    "statement.as_of",
                    day=bidi_isolated_plain_text(self._pages.format_day(statement.as_of, language), language.direction),
                ),
            ],
        }

    def _row(self, line: DonorStatementLine, statement: DonorStatement, language: Language) -> dict[str, object]:
        rtl, locale, receipt = language.direction == "rtl", language.locale, line.receipt
        stated = []
        if line.reassigned:
            reassigned_to = prevent_autolinking(statement.names[line.organisation_id])
            name = bidi_isolated_plain_text(reassigned_to, language.direction)
            stated.append(language.text("statement.now", organisation=name))
        if line.is_fully_refunded:
            stated.append(language.text("statement.void"))
        elif line.refunded_minor:
            back = formats.format_money(line.refunded_minor, receipt.money.currency, locale)
            value = bidi_isolated_plain_text(back, language.direction)
            stated.append(language.text("page.fact", label=language.text("statement.back"), value=value))
        return {
            "date": text_and_direction_facts(
                formats.format_day(statement.period.day_of(receipt.received_at), locale), document_is_rtl=rtl
            ),
            "number": text_and_direction_facts(receipt.display_number, document_is_rtl=rtl),
            "organisation": text_and_direction_facts(prevent_autolinking(receipt.organisation), document_is_rtl=rtl),
            "amount": text_and_direction_facts(
                formats.format_money(receipt.money.minor, receipt.money.currency, locale), document_is_rtl=rtl
            ),
            "void": line.is_fully_refunded,
            "said": stated,
        }


def _test(language: Language) -> str:
    return f"{language.text('page.sandbox.label')} {language.text('page.sandbox.text')}"


def _day(day: date) -> list[int]:
    return [day.year, day.month, day.day]
