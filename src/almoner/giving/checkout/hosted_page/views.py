"""Renders the hosted page: from the state to the templates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from almoner.giving.checkout.bank_transfers.domain import AwaitedTransfer, epc_qr_payload
from almoner.giving.checkout.card_testing.domain import RateLimited, RateLimitReason
from almoner.giving.checkout.donations.domain import GIFT_PAGE_PURPOSE, Donation
from almoner.giving.checkout.hosted_page import branding
from almoner.giving.checkout.hosted_page.domain import DonationAmounts
from almoner.giving.checkout.hosted_page.ports import LegalNotice
from almoner.giving.checkout.hosted_page.schemas import GIFT_AID_FIELDS, DonationForm, Problems
from almoner.giving.checkout.hosted_page.service import SessionView
from almoner.giving.checkout.payments.domain import TRANSFER_LIFETIME, FeeSchedule
from almoner.giving.checkout.sessions.domain import ONE_TIME
from almoner.giving.gift_aid.declarations.domain import STATEMENT, STATEMENT_SEVERAL
from almoner.kit import recurrence
from almoner.kit.money import Money, currency_exponent
from almoner.platform.pages import formats
from almoner.platform.pages.headers import NO_PAGE, origin_of_url
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.server_error import ServerErrorResponse
from almoner.platform.pages.translations import FALLBACK, Language

_WIDE: Final = 7
"""An amount with more characters than this gets half the width of a small window."""

_WAITS: Final = {
    RateLimitReason.SLOW: "give.wait.slow",
    RateLimitReason.DECLINED: "give.wait.declined",
    RateLimitReason.CROWDED: "give.wait.crowded",
    RateLimitReason.CODES: "give.code.later",
    RateLimitReason.CODES_CROWDED: "give.wait.codes",
}
_MOST_MINUTES: Final = 90  # longer waits are shown in hours


class WaitMessage(NamedTuple):
    """The key of a message about a wait, and its number of minutes or hours."""

    key: str
    number: int


@dataclass(frozen=True, slots=True)
class FormNotice:
    """A notice above the donation form, such as a required wait.

    ``alert``: something went wrong. ``pay_url``: a started payment to continue. ``seconds``: the wait until the next
    try.
    """

    key: str
    alert: bool = False
    pay_url: str | None = None
    seconds: int = 0

    @property
    def wait_message(self) -> WaitMessage:
        """The message about the remaining wait."""
        minutes = ceil(self.seconds / 60)
        if minutes <= _MOST_MINUTES:
            return WaitMessage("give.wait.minutes", minutes)
        return WaitMessage("give.wait.hours", ceil(minutes / 60))


@dataclass(frozen=True, slots=True)
class FrequencyChoice:
    """A frequency that the donor can choose. ``day``: of the second donation; None for a single one."""

    value: str
    chosen: bool
    day: str | None


@dataclass(frozen=True, slots=True)
class GivingLinkContext:
    """The details of the giving link that shows the form.

    ``words``: the partner's title and text. ``hidden``: fields that the form sends back. ``others``: the URL to choose
    another nonprofit. ``currencies``: each with its URL. ``raised_minor``, ``donors``: None if not shown.
    ``frame_ancestors``: the sites that may show it in a frame; its links then open in the whole window.
    """

    url: str
    action: str
    words: tuple[str, str | None]
    partner: str
    issuer: str
    image: str | None
    preview_image: str | None
    hidden: Mapping[str, str]
    others: str | None
    currencies: Sequence[tuple[str, str]]
    goal_minor: int | None
    raised_minor: int | None
    donors: int | None
    days: str
    notices: Sequence[tuple[str, str]]
    frame_ancestors: tuple[str, ...] = ()

    @property
    def progress_percent(self) -> int:
        """The share of the goal that was raised, in percent."""
        return min(100, 100 * (self.raised_minor or 0) // self.goal_minor) if self.goal_minor else 0


@dataclass(frozen=True, slots=True)
class ReceiptEmailForm:
    """The form that corrects a receipt's address. ``problem``: the key of the entered address's problem."""

    action: str
    csrf: str
    typed: str = ""
    problem: str | None = None


class HostedPageViews:
    """Renders every state. ``provider_origin``: where the form redirects after POST. ``notices``: the operator's."""

    def __init__(self, pages: PageRenderer, provider_origin: str, notices: Sequence[LegalNotice] = ()) -> None:
        self._pages = pages
        self._notices = notices
        self._provider_origin = provider_origin

    def language(self, view: SessionView) -> Language:
        """The language of a session's pages."""
        return self._pages.language_for_tag(view.session.language)

    def donation_form_page(
        self,
        view: SessionView,
        amounts: DonationAmounts,
        fee_schedule: FeeSchedule,
        form: DonationForm,
        *,
        offers_transfer: bool,
        action: str,
        csrf: str,
        status: int,
        problems: Problems,
        notice: FormNotice | None,
        link: GivingLinkContext | None = None,
        cacheable_page_request: Request | None = None,
    ) -> Response:
        """The form. ``offers_transfer``: the donor may pay by bank transfer instead.

        ``link``: the giving link that shows it.

        ``cacheable_page_request``: the request, for a page that is identical for all visitors.
        """
        language = self.language(view)
        context: dict[str, Any] = {
            **_amounts_context(view, amounts, fee_schedule, language),
            "cause": _nonprofit_context(view, language),
            "brand": branding.brand_of(view.partner),
            "partner_links": view.partner.public_links,
            "typed": form,
            "names": _names(form, language),
            "problems": _in_order(problems, language),
            "notice": notice,
            "transfer": offers_transfer and "one_time" in view.session.frequencies,
            "frequencies": self._frequency_choices(view, form, language),
            "regular_notices": []
            if view.session.frequencies == ONE_TIME
            else self.legal_notices(view, language, for_regular_donations=True),
            "frequency_problem": next((key for field, key in problems.items() if field.startswith("frequency-")), None),
            "another": "another" in problems or form.another,
            "action": action,
            "csrf": csrf,
            "aid": _gift_aid_context(view, form, language) if view.offers_gift_aid else None,
            "link": link,
            "currency_names": {
                code: formats.currency_name(code, language.locale) for code, _ in (link.currencies if link else ())
            },
        }
        frame_ancestors = link.frame_ancestors if link is not None else ()
        context |= {"form_targets": self._targets(view), "frame_ancestors": frame_ancestors}
        if cacheable_page_request is not None:
            return self._pages.render_cacheable_page(cacheable_page_request, "gift.html", language, **context)
        page = self._pages.render_page("gift.html", language, status=status, script=True, **context)
        return _with_retry_after(page, notice)

    def legal_notices(
        self, view: SessionView, language: Language, *, for_regular_donations: bool
    ) -> list[tuple[str, str]]:
        """The place and text of each of the operator's notices for the nonprofit's country."""
        country = view.nonprofit.country_code
        return [
            (one.state or formats.country_name(country, language.locale) or country, one.text)
            for one in self._notices
            if (one.country_code, one.for_regular_donations) == (country, for_regular_donations)
        ]

    def _frequency_choices(self, giving: SessionView, form: DonationForm, language: Language) -> list[FrequencyChoice]:
        deployment = self._pages.deployment
        offered, today = giving.session.frequencies, deployment.date_in_issuer_time_zone(deployment.clock.now())
        chosen = form.chosen_frequency(offered)
        return [
            FrequencyChoice(
                one,
                one == chosen,
                None
                if one == "one_time"
                else formats.format_day(recurrence.next_occurrence_date(today, one, today), language.locale),
            )
            for one in offered
        ]

    def payment_pending_page(
        self,
        view: SessionView,
        donation: Donation,
        retry_url: str,
        pay_url: str | None,
        *,
        provider_reports_unpaid: bool = False,
    ) -> Response:
        """The page shown until the provider confirms the payment."""
        kind, later = (
            ("waiting.unpaid", "waiting.unpaid.next") if provider_reports_unpaid else ("waiting", "waiting.later")
        )
        return self._not_yet(view, donation, kind, later, retry_url, pay_url)

    def transfer_pending_page(self, view: SessionView, donation: Donation, retry_url: str) -> Response:
        """The page shown while a bank transfer is awaited."""
        return self._not_yet(view, donation, "transfer.sent", None, retry_url, None)

    def _not_yet(
        self, giving: SessionView, donation: Donation, kind: str, later: str | None, again: str, pay_url: str | None
    ) -> Response:
        language = self.language(giving)
        until = donation.transfer_confirmed_at + TRANSFER_LIFETIME if donation.transfer_confirmed_at else None
        return self._pages.render_page(
            "waiting.html",
            language,
            kind=kind,
            later=later,
            until=until,
            cause=_nonprofit_context(giving, language),
            brand=branding.brand_of(giving.partner),
            partner_links=giving.partner.public_links,
            donation=donation,
            again=again,
            pay_url=pay_url,
        )

    def transfer_instructions_page(
        self, view: SessionView, transfer: AwaitedTransfer, *, action: str, csrf: str, notice: FormNotice | None
    ) -> Response:
        """The page with the transfer details and reference, or with the note that the transfer is awaited."""
        language, reported = self.language(view), epc_qr_payload(transfer)
        return self._pages.render_page(
            "transfer.html",
            language,
            status=403 if notice else 200,
            cause=_nonprofit_context(view, language),
            brand=branding.brand_of(view.partner),
            partner_links=view.partner.public_links,
            transfer=transfer,
            qr=_qr(reported) if reported else None,
            notice=notice,
            action=f"{action}/transfer",
            back=action,
            csrf=csrf,
            script=True,
        )

    def thanks_page(
        self,
        view: SessionView,
        donation: Donation,
        received_at: datetime,
        form: ReceiptEmailForm | None = None,
        *,
        status: int = 200,
    ) -> Response:
        """The page after the payment was received.

        ``form``: only in the donor's own browser, where name and address are shown.
        """
        language, named = self.language(view), form is not None
        undelivered = form is not None and donation.receipt_delivery == "undeliverable"
        return self._pages.render_page(
            "thanks.html",
            language,
            status=status,
            form=form if undelivered else None,
            problems={"email": form.problem} if form is not None and form.problem else {},
            notice="give.again" if status == 403 else None,
            cause=_nonprofit_context(view, language),
            brand=branding.brand_of(view.partner),
            partner_links=view.partner.public_links,
            donation=donation,
            reference=self._pages.deployment.ids.encode("donation", donation.id),
            masked_email=mask_email(donation.email or ""),
            follow_url=self._follow_url(donation) if named else None,
            named=named,
            received_at=received_at,
            next_donation_at=view.next_donation_at,
        )

    def _follow_url(self, donation: Donation) -> str:
        """The URL of the donation's private page, as in its receipt."""
        token = self._pages.deployment.vault.create_page_token(GIFT_PAGE_PURPOSE, donation.id)
        return f"/{GIFT_PAGE_PURPOSE}?token={token}"

    def donations_not_accepted_page(self, view: SessionView) -> Response:
        """The page if the link accepts no donations: the partner is paused, or the nonprofit cannot receive them."""
        kind = "paused" if view.partner.is_paused else "closed"
        return self.session_message_page(view, kind, 409, "info")

    def session_message_page(self, view: SessionView, kind: str, status: int, icon: str) -> Response:
        """A page with only a message, in the session's language."""
        language = self.language(view)
        return self._pages.render_message(
            f"give.{kind}",
            language,
            status=status,
            icon=icon,
            partner_links=view.partner.public_links,
            organisation=view.nonprofit.name,
        )

    def message_page(self, request: Request, kind: str, status: int, icon: str) -> HTMLResponse:
        """A page with only a message, in the session's language, else the browser's."""
        tag = getattr(request.state, "language", None)
        language = self._pages.language_for_tag(tag) if tag else self._pages.preferred_language(request)
        return self._pages.render_message(f"give.{kind}", language, status=status, icon=icon)

    def rate_limit_notice(self, rate_limited: RateLimited) -> FormNotice:
        """The notice that a limit was reached, with the time to wait (H6)."""
        seconds = (rate_limited.until - self._pages.deployment.clock.real_now()).total_seconds()
        return FormNotice(_WAITS[rate_limited.why], alert=True, seconds=max(1, ceil(seconds)))

    def email_code_page(
        self,
        view: SessionView,
        email: str,
        *,
        action: str,
        back_url: str,
        csrf: str,
        status: int,
        problem: str | None,
        notice: FormNotice | None,
    ) -> Response:
        """The form for the code that was sent to the donor's email address."""
        language = self.language(view)
        page = self._pages.render_page(
            "code.html",
            language,
            status=status,
            form_targets=self._targets(view),
            cause=_nonprofit_context(view, language),
            brand=branding.brand_of(view.partner),
            partner_links=view.partner.public_links,
            email=mask_email(email),
            problems={"code": problem} if problem else {},
            notice=notice,
            action=action,
            back=back_url,
            csrf=csrf,
        )
        return _with_retry_after(page, notice)

    def unexpected_error_page(self, request: Request, error: Exception) -> Response:
        """The page after an unexpected error, which is logged."""
        return ServerErrorResponse(self.message_page(request, "broken", 500, "info"), error)

    def _targets(self, giving: SessionView) -> tuple[str, ...]:
        success = giving.session.success_url
        own = origin_of_url(success) if success else None
        return (self._provider_origin, own) if own else (self._provider_origin,)


def redirect_to(url: str) -> Response:
    """Redirect with GET (303)."""
    return RedirectResponse(url, 303, NO_PAGE)


def _with_retry_after(page: Response, notice: FormNotice | None) -> Response:
    """The page with a Retry-After header if its notice has a wait."""
    if notice is not None and notice.seconds:
        page.headers["Retry-After"] = str(notice.seconds)
    return page


def _qr(text: str) -> str:
    """A QR code for banking apps (EPC069-12 requires error correction level M)."""
    import segno  # imported on first use

    return segno.make(text, error="m", micro=False, encoding="utf-8").svg_data_uri(
        scale=5, border=4, dark="#000", light="#fff"
    )


def mask_email(email: str) -> str:
    """An email address masked for its owner: ``a•••@example.org``."""
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}•••@{domain}"


def _nonprofit_context(giving: SessionView, language: Language) -> dict[str, object]:
    cause = giving.nonprofit
    return {
        "name": cause.name,
        "monogram": cause.initials,
        "logo": cause.logo,
        "place": cause.location_parts(language.locale),
        "comma": formats.list_separator(language.locale),
        "mission": cause.description_excerpt,
        "register": cause.register,
        "number": cause.number,
    }


def _amounts_context(
    giving: SessionView, amounts: DonationAmounts, tariff: FeeSchedule, language: Language
) -> dict[str, object]:
    """The template values of amounts and fees."""
    currency, locale, suggested = amounts.currency, language.locale, amounts.suggested
    shown = [formats.format_money(minor, currency, locale, short=True) for minor in suggested]
    return {
        "amounts": amounts,
        "benefits": giving.session.benefits,
        "designations": giving.session.options.designations,
        "dedication": giving.session.options.dedication,
        "totals": {minor: tariff.gross_up(Money(minor, currency)).minor for minor in suggested},
        "wide": max(sum(one.isprintable() or one.isspace() for one in text) for text in shown) > _WIDE,
        "values": _values(amounts, language),
        "currency_name": formats.currency_name(currency, locale),
        "symbol": formats.currency_symbol(currency, locale),
        "digits": currency_exponent(currency),
        "tariff": tariff.fee_rate_for(currency),
        "fee": _fee(tariff, currency, language),
    }


def _fee(tariff: FeeSchedule, currency: str, language: Language) -> tuple[str, int, float]:
    """The provider's fee: its percentage as text, the fixed part in minor units, and the percentage as a number."""
    share, fixed = tariff.fee_rate_for(currency)
    return formats.format_percentage(share, language.locale), fixed, share


def _names(form: DonationForm, language: Language) -> list[tuple[str, str, str, str]]:
    """Field, label, value and autocomplete token of both names, in the order of the language."""
    names = [
        ("first_name", "give.first_name", form.first_name, "given-name"),
        ("last_name", "give.last_name", form.last_name, "family-name"),
    ]
    return names[::-1] if formats.is_family_name_first(language.locale) else names


def _gift_aid_context(giving: SessionView, form: DonationForm, language: Language) -> dict[str, object]:
    """The template values of Gift Aid; HMRC's statement stays in English in any language."""
    offered, charity = giving.session.frequencies, giving.nonprofit.name
    statements = []  # with both, the style sheet shows the one of the chosen frequency
    if "one_time" in offered:
        statements.append(("once", STATEMENT.format(charity=charity), "give.giftaid.meaning"))
    if offered != ONE_TIME:
        statements.append(("several", STATEMENT_SEVERAL.format(charity=charity), "give.giftaid.meaning.several"))
    tokens = ("honorific-prefix", "address-line1", "address-line2", "address-level2", "postal-code")
    fields = [
        (name, f"give.giftaid.{name}", getattr(form, name), token, most)
        for (name, most), token in zip(GIFT_AID_FIELDS.items(), tokens, strict=True)
    ]
    return {
        "statements": statements,
        "explained": language.catalogue != FALLBACK,
        "fields": fields,
    }


def _in_order(problems: Problems, language: Language) -> Problems:
    """The problems in the order of their fields on the page."""
    if not formats.is_family_name_first(language.locale) or "first_name" not in problems:
        return problems
    moved = {"first_name": problems["first_name"]}
    rest = [(field, key) for field, key in problems.items() if field != "first_name"]
    place = next((n for n, (field, _) in enumerate(rest) if field in ("email", "message")), len(rest))
    return {**dict(rest[:place]), **moved, **dict(rest[place:])}


def _values(amounts: DonationAmounts, language: Language) -> dict[str, str]:
    """The values for the sentences about amounts. The example uses the language's decimal mark."""
    locale = language.locale
    first, second = (*amounts.suggested[:2], *amounts.suggested[-1:])[:2]
    example = min(second + (second - first) // 2, amounts.maximum)
    return {
        "minimum": formats.format_money(amounts.minimum, amounts.currency, locale, short=True),
        "maximum": formats.format_money(amounts.maximum, amounts.currency, locale, short=True),
        "example": formats.format_amount_without_currency(example, amounts.currency, locale),
    }
