"""Renders receipts: the email as HTML and text, and the attached PDF."""

from dataclasses import replace
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Final

from almoner.access.notifications.service import Email
from almoner.giving.receipts import domain
from almoner.giving.receipts.domain import Receipt
from almoner.kit import language as languages
from almoner.kit.text import prevent_autolinking
from almoner.platform.outbound.mail import Attachment
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

_TEMPLATE: Final = Path(__file__).parent / "templates" / "receipt.typ"


@cache
def _press() -> PdfRenderer:
    """The process-wide renderer, which holds the fonts."""
    return PdfRenderer(_TEMPLATE)


class ReceiptRenderer:
    """Creates the emails and documents of receipts, in the donor's language."""

    def __init__(self, pages: PageRenderer) -> None:
        self._pages = pages

    def compose_email(self, receipt: Receipt, to: str, subscription_management_url: str | None = None) -> Email:
        """The email with a receipt; identical until the donation is refunded or reassigned.

        ``subscription_management_url``: the page to change or cancel a regular donation. It is not in the PDF, which
        may be forwarded.
        """
        language = self._pages.language_for_tag(receipt.language)
        facts = {
            "receipt": receipt,
            "amount": formats.format_money(receipt.money.minor, receipt.money.currency, language.locale),
            "facts": self._rows(receipt, language),
            "link": self.donation_status_url(receipt),
            "manage_url": subscription_management_url,
        }
        return Email(
            to,
            f"receipt:{self._reference(receipt)}:{to}",
            facts,
            receipt.language,
            receipt.partner_id,
            at=receipt.received_at,
            create_attachment=partial(self._attachment, receipt),
        )

    async def _attachment(self, receipt: Receipt) -> Attachment:
        return Attachment(receipt.file_name, PDF, await self.render_pdf(receipt))

    async def render_pdf(self, receipt: Receipt) -> bytes:
        """The PDF; identical bytes until the donation is refunded or reassigned."""
        language = self._pages.language_for_tag(receipt.language)
        public, links = build_contact_and_notice_facts_and_links(self._pages.deployment, language)
        facts = {**self._facts(_without_links(receipt), language), "public": public}
        return await _press().render_document(
            facts, {**links, "now": self.donation_status_url(receipt)}, receipt.issued_at
        )

    def donation_status_url(self, receipt: Receipt) -> str:
        """The private URL of the donation's status page."""
        deployment = self._pages.deployment
        token = deployment.vault.create_page_token(domain.PAGE_PURPOSE, receipt.donation_id)
        return f"{deployment.base_urls.pages}/{domain.PAGE_PURPOSE}?token={token}"

    def _reference(self, receipt: Receipt) -> str:
        return self._pages.deployment.ids.encode("donation", receipt.donation_id)

    def _rows(self, receipt: Receipt, language: Language) -> list[tuple[str, str]]:
        """Label key and value of each fact, the same in email and PDF; the amount is shown above them."""

        def money(minor: int) -> str:
            return formats.format_money(minor, receipt.money.currency, language.locale)

        parts = (("gift", money(receipt.amount_without_fee_cover_minor)), ("cover", money(receipt.cover_minor)))
        back = (
            ("refunded", money(receipt.money.minor - receipt.unrefunded_minor)),
            ("kept", money(receipt.unrefunded_minor)),
        )
        facts = (
            *(parts if receipt.cover_minor else ()),
            *(back if receipt.refunded else ()),
            ("issuer", receipt.issuer),
            *(
                (("donee", donee.legal_name), ("ein", donee.formatted_ein), ("address", donee.address))
                if (donee := receipt.donee)
                else ()
            ),
            ("receipt_number", receipt.display_number),
            ("donor", formats.full_name(receipt.first_name, receipt.last_name, language.locale)),
            ("organisation", receipt.organisation),
            ("register", receipt.register),
            ("number", receipt.register_number),
            ("date", self._pages.format_day(receipt.received_at, language)),
            ("reference", self._reference(receipt)),
        )
        return [(f"receipt.{name}", value) for name, value in facts]

    def _tax_statements(self, receipt: Receipt, language: Language) -> list[str]:
        """The statements for the tax office, and the benefits that the donor received."""

        def own(text: str) -> str:
            return bidi_isolated_plain_text(text, language.direction)

        stated = []
        if given := receipt.benefits:
            value = formats.format_money(given.fair_value_minor, receipt.money.currency, language.locale)
            stated.append(language.text("receipt.benefits", benefits=own(given.description), value=own(value)))
        if receipt.donee is None:
            return [*stated, language.text("receipt.confirmation", organisation=own(receipt.current_nonprofit_name))]
        key = "receipt.deductible" if stated else "receipt.acknowledgement"
        statements = [language.text(key), self._pages.language_for_tag("en").text(key)]  # tax offices read English
        return [*stated, *dict.fromkeys(statements)]

    def _facts(self, receipt: Receipt, language: Language) -> Facts:
        """The template's input."""
        rtl = language.direction == "rtl"
        name = formats.greeting_name(receipt.first_name, receipt.last_name, language.locale)
        title = language.text(
            "receipt.title", number=bidi_isolated_plain_text(receipt.display_number, language.direction)
        )
        notes = [] if receipt.is_fully_refunded else self._tax_statements(receipt, language)
        if receipt.anonymous:
            notes.append(language.text("receipt.anonymous"))
        if receipt.refunded and not receipt.is_fully_refunded:
            back = self._pages.format_day(receipt.refunded.last_refunded_at, language)
            notes.insert(0, language.text("receipt.corrected", day=bidi_isolated_plain_text(back, language.direction)))
        if receipt.passed_on:
            stated = {
                "day": self._pages.format_day(receipt.passed_on.at, language),
                "former": receipt.organisation,
                "organisation": receipt.current_nonprofit_name,
            }
            stated = {name: bidi_isolated_plain_text(value, language.direction) for name, value in stated.items()}
            notes.insert(0, language.text("gift.reassigned", **stated))
        return {
            "lang": language.html_lang.split("-")[0],
            "region": languages.region_of_language_tag(language.html_lang),
            "rtl": rtl,
            "plain": language.text("page.rewritten"),
            "title": title,
            "date": _day(self._pages.deployment.date_in_issuer_time_zone(receipt.issued_at)),
            "test": language.text("receipt.test") if self._pages.deployment.sandbox else None,
            "void": language.text("receipt.void") if receipt.is_fully_refunded else None,
            "issuer": text_and_direction_facts(receipt.issuer, document_is_rtl=rtl),
            "organisation": text_and_direction_facts(receipt.current_nonprofit_name, document_is_rtl=rtl),
            "greeting": language.text("receipt.greeting", name=bidi_isolated_plain_text(name, language.direction)),
            "text": language.text("receipt.text"),
            "amount_label": language.text("receipt.amount"),
            "amount": text_and_direction_facts(
                formats.format_money(receipt.money.minor, receipt.money.currency, language.locale), document_is_rtl=rtl
            ),
            "rows": [
                {"label": language.text(label), "value": text_and_direction_facts(value, document_is_rtl=rtl)}
                for label, value in self._rows(receipt, language)
            ],
            "notes": notes,
            "now": {
                "title": language.text("gift.title"),
                "text": language.text("receipt.now"),
                "link": language.text("receipt.follow"),
            },
        }


def _without_links(receipt: Receipt) -> Receipt:
    """The receipt without entered text that PDF readers would turn into a link (H11)."""
    plain, donee, benefits, passed_on = prevent_autolinking, receipt.donee, receipt.benefits, receipt.passed_on
    return replace(
        receipt,
        issuer=plain(receipt.issuer),
        organisation=plain(receipt.organisation),
        first_name=plain(receipt.first_name),
        last_name=plain(receipt.last_name),
        donee=donee and replace(donee, legal_name=plain(donee.legal_name), address=plain(donee.address)),
        benefits=benefits and replace(benefits, description=plain(benefits.description)),
        passed_on=passed_on and replace(passed_on, organisation_name=plain(passed_on.organisation_name)),
    )


def _day(at: date) -> list[int]:
    return [at.year, at.month, at.day]
