"""The maximum refund of one donation for members with the support role, by currency."""

from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import FORM_LIMITS, FormLimits
from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import build_page_texts
from almoner.access.partners import service as partners
from almoner.dashboard.rendering import render_page
from almoner.kit.money import EXPONENTS, currency_exponent
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.pages import formats
from almoner.platform.pages.numbers import parse_amount

PATH: Final = "/support-refunds"
_LIMITS: Final = FormLimits(FORM_LIMITS.max_bytes, FORM_LIMITS.max_fields + 2 * len(EXPONENTS))
"""The form has two fields per currency."""


class RefundLimitPages:
    """The page."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes. Changing money settings requires a recent reauthentication."""
        return [
            self._context.route(
                PATH, self.change_refund_limits, "owner", requires_reauthentication=True, limits=_LIMITS
            )
        ]

    async def change_refund_limits(self, visitor: SignedInRequest) -> Response:
        """Show the form, or store the limits; an emptied amount removes the limit."""
        partner, problems = partner_from_request(visitor), {}
        texts = build_page_texts(self._context, visitor)
        locale = texts.language.locale
        async with self._context.db.read() as tx:
            account = await partners.get(tx, partner)
            limits = await partners.load_support_refund_limits_by_currency(tx, partner)
        currencies = sorted({*account.settlement_currencies, *limits})
        stored = {
            currency: formats.format_amount_without_currency(limits[currency], currency, locale)
            if currency in limits
            else ""
            for currency in currencies
        }
        wanted: dict[str, int | None] = {}
        for currency in filter(visitor.is_field_changed, currencies) if visitor.form else ():
            typed = visitor.form_value(currency).strip()
            minor = parse_amount(typed, currency, locale) if typed else None
            if minor is None or (isinstance(minor, int) and minor > 0):
                wanted[currency] = minor
            else:
                example = formats.format_amount_without_currency(
                    50 * 10 ** currency_exponent(currency), currency, locale
                )
                problems[currency] = texts.text("dashboard.support_refunds.problem", example=example)
        if visitor.form and not problems:
            async with self._context.db.write() as tx:
                await self._apply(tx, visitor, wanted)
            return redirect_to(f"{visitor.portal.home}{PATH}?done=saved")
        return render_page(
            self._context,
            visitor,
            "support_refunds.html",
            status=422 if problems else 200,
            values={
                currency: visitor.form_value(currency)
                if visitor.form and visitor.is_field_changed(currency)
                else stored[currency]
                for currency in currencies
            },
            stored=stored,
            message="dashboard.support_refunds.saved" if visitor.query.get("done") == "saved" else "",
            problems=problems,
        )

    async def _apply(self, tx: Tx, visitor: SignedInRequest, wanted: dict[str, int | None]) -> None:
        """Store the changes, and record them in the audit log."""
        partner, by = partner_from_request(visitor), self._context.audit_context(visitor)
        before = await partners.load_support_refund_limits_by_currency(tx, partner)
        for currency, minor in wanted.items():
            if before.get(currency) == minor:
                continue
            await partners.set_support_refund_limit(tx, partner, currency, minor)
            subject = self._context.format_id("partner", partner.id)
            await audit.record_entry(
                tx,
                partner.id,
                by.actor,
                "partner.support_refunds_limited",
                subject,
                ip_address=by.ip_address,
                details={"currency": currency, "amount": minor},
            )
