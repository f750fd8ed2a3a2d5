"""Renders remittance statements as PDF."""

from functools import cache
from pathlib import Path
from typing import Final

from almoner.giving.disbursing.disbursements.domain import end_to_end_id_of
from almoner.giving.disbursing.remittances.domain import Remittance, RemittanceLine, RemittanceTotals
from almoner.kit import language as languages
from almoner.kit.text import prevent_autolinking
from almoner.platform.deployment import Deployment
from almoner.platform.pages import formats
from almoner.platform.pages.pdf import Facts, PdfRenderer, text_and_direction_facts
from almoner.platform.pages.rendering import bidi_isolated_plain_text
from almoner.platform.pages.translations import Language, TranslationCatalogues

_TEMPLATE: Final = Path(__file__).parent / "templates" / "remittance.typ"
_NOBODY: Final = "–"


@cache
def _press() -> PdfRenderer:
    """The process-wide renderer, which holds the fonts."""
    return PdfRenderer(_TEMPLATE)


class RemittanceRenderer:
    """Renders remittance statements, each in its language."""

    def __init__(self, deployment: Deployment, catalogues: TranslationCatalogues | None = None) -> None:
        self._deployment = deployment
        self._catalogues = catalogues or TranslationCatalogues()

    @property
    def languages(self) -> tuple[str, ...]:
        """The available languages."""
        return self._catalogues.offered_languages

    async def render_pdf(self, remittance: Remittance) -> bytes:
        """The PDF; identical bytes each time."""
        language = self._catalogues.language(remittance.language)
        return await _press().render_document(self._facts(remittance, language), {}, remittance.as_of)

    def _facts(self, remittance: Remittance, language: Language) -> Facts:
        """The template's input."""
        rtl = language.direction == "rtl"
        of, disbursement = self._deployment.date_in_issuer_time_zone(remittance.as_of), remittance.disbursement
        stated = "remittance.paid_on" if disbursement.paid_at else "remittance.sent_on"
        return {
            "lang": language.html_lang.split("-")[0],
            "region": languages.region_of_language_tag(language.html_lang),
            "rtl": rtl,
            "plain": language.text("page.rewritten"),
            "title": language.text("remittance.title"),
            "date": [of.year, of.month, of.day],
            "test": _test(language) if self._deployment.sandbox else None,
            "issuer": text_and_direction_facts(prevent_autolinking(remittance.issuer), document_is_rtl=rtl),
            "organisation": text_and_direction_facts(prevent_autolinking(remittance.organisation), document_is_rtl=rtl),
            "said": language.text(
                stated, day=bidi_isolated_plain_text(formats.format_day(of, language.locale), language.direction)
            ),
            "amount_label": language.text("remittance.amount"),
            "amount": text_and_direction_facts(
                _money(disbursement.money.minor, remittance, language), document_is_rtl=rtl
            ),
            "rows": [
                {
                    "label": language.text(f"remittance.{name}"),
                    "value": text_and_direction_facts(value, document_is_rtl=rtl),
                }
                for name, value in (
                    ("disbursement", self._deployment.ids.encode("disbursement", disbursement.id)),
                    ("transfer", end_to_end_id_of(disbursement.id)),
                    ("gifts", formats.localise_digits(f"{remittance.totals.donation_count}", language.locale)),
                )
            ],
            "columns": [language.text(f"remittance.{name}") for name in ("gift", "given", "fee", "back", "paid")],
            "gifts": [self._row(one, remittance, language) for one in remittance.lines],
            "total_label": language.text("statement.total", currency=disbursement.money.currency),
            "totals": [
                text_and_direction_facts(_money(minor, remittance, language), document_is_rtl=rtl)
                for minor in _amounts(remittance.totals)
            ],
            "notes": [
                *(
                    [language.text("remittance.more")]
                    if len(remittance.lines) < remittance.totals.donation_count
                    else []
                ),
                language.text("remittance.note"),
            ],
        }

    def _row(self, one: RemittanceLine, remittance: Remittance, language: Language) -> dict[str, object]:
        rtl, locale = language.direction == "rtl", language.locale
        donor = (
            prevent_autolinking(formats.full_name(*one.donor_first_and_last_name, locale).strip())
            if one.donor_first_and_last_name
            else _NOBODY
        )
        return {
            "donor": text_and_direction_facts(
                language.text("remittance.anonymous") if one.anonymous else donor, document_is_rtl=rtl
            ),
            "day": text_and_direction_facts(
                formats.format_day(self._deployment.date_in_issuer_time_zone(one.donated_at), locale),
                document_is_rtl=rtl,
            ),
            "donation": text_and_direction_facts(
                self._deployment.ids.encode("donation", one.donation_id), document_is_rtl=False
            ),
            "message": _message(one.message, language) if one.message else None,
            "designation": _designation(one.designation, language) if one.designation else None,
            "amounts": [
                text_and_direction_facts(_money(minor, remittance, language), document_is_rtl=rtl)
                for minor in _amounts(one)
            ],
        }


def _message(message: str, language: Language) -> dict[str, object]:
    return text_and_direction_facts(prevent_autolinking(message), document_is_rtl=language.direction == "rtl")


def _designation(designation: str, language: Language) -> dict[str, object]:
    named = bidi_isolated_plain_text(prevent_autolinking(designation), language.direction)
    text = language.text("remittance.designation", designation=named)
    return text_and_direction_facts(text, document_is_rtl=language.direction == "rtl")


def _amounts(of: RemittanceLine | RemittanceTotals) -> tuple[int, int, int, int]:
    return of.donated_minor, of.fee_minor, of.refunded_minor, of.paid_minor


def _money(minor: int, remittance: Remittance, language: Language) -> str:
    return formats.format_money(minor, remittance.disbursement.money.currency, language.locale)


def _test(language: Language) -> str:
    return f"{language.text('page.sandbox.label')} {language.text('page.sandbox.text')}"
