"""The page of a donor's regular donations, behind an emailed link (H1, H2, H3).

GET only refreshes a started payment or card change from the provider. Each change is a form posted with the visit's
cookie and token, and is confirmed by email. An expired link offers to email a new one.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.hosted_page import domain as hosted_page_domain
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import RETURN_PURPOSE
from almoner.giving.donor_statements import domain as statements_domain
from almoner.giving.receipts import domain as receipts_domain
from almoner.giving.subscriptions.agreements import service as agreements
from almoner.giving.subscriptions.donation_subscriptions import domain as subscriptions_domain
from almoner.giving.subscriptions.donation_subscriptions.domain import DonationSubscription, InvalidState
from almoner.giving.subscriptions.donor_pages import actions, domain, service
from almoner.giving.subscriptions.donor_pages.actions import (
    ACTIONS,
    DONE,
    AgreementRequired,
    DonorAction,
    Problems,
    SubmittedForm,
)
from almoner.giving.subscriptions.donor_pages.domain import RegularDonation, RegularDonationsPageContent
from almoner.giving.subscriptions.donor_pages.ports import DonorPaymentFunctions
from almoner.kit.errors import AccountPaused, NotFound, ServiceUnavailable
from almoner.kit.money import Money
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Tx
from almoner.platform.pages import formats, link_sessions
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.error_pages import not_found_routes
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.link_sessions import LinkSession
from almoner.platform.pages.linked_pages import PrivateLinkPages
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import Language

TEMPLATES: Final = Path(__file__).parent / "templates"
_PATH: Final = f"/{domain.PAGE_PURPOSE}"
_TYPE: Final = "donationsubscription"
_VISIT: Final = timedelta(hours=24)
_VISIT_SECONDS: Final = int(_VISIT.total_seconds())


class RegularDonationPages(PrivateLinkPages):
    """The pages of donors with regular donations."""

    def __init__(self, db: Database, pages: PageRenderer, provider: DonorPaymentFunctions) -> None:
        super().__init__(db, pages, domain.PAGE_PURPOSE, _TYPE)
        self._provider = provider

    def routes(self) -> list[Route]:
        """Starlette routes."""
        own = [
            Route(_PATH, self.open_link, methods=["GET"]),
            Route(_PATH + "/card/return", self.handle_card_return, methods=["GET"]),
            Route(_PATH + "/{id}", self.show, methods=["GET"]),
            Route(_PATH + "/{id}/link", self.new_link, methods=["GET", "POST"]),
            Route(_PATH + "/{id}/return", self.handle_payment_return, methods=["GET"]),
            Route(_PATH + "/{id}/{plan}/card", self.change_card, methods=["POST"]),
            Route(_PATH + "/{id}/{plan}/pay", self.pay, methods=["POST"]),
            *(
                Route(
                    f"{_PATH}/{{id}}/{{plan}}/{name}",
                    self.handle_action,
                    methods=["GET", "POST"] if one.has_own_page else ["POST"],
                )
                for name, one in ACTIONS.items()
            ),
        ]
        return [*own, *not_found_routes(_PATH, own, self.not_found_page)]

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """The page without a valid link or its cookie."""
        return self.pages.render_message(
            "regular.unknown", self.pages.preferred_language(request), status=status, icon="link"
        )

    @with_error_pages
    async def open_link(self, request: Request) -> Response:
        """Open the emailed link: a cookie replaces its token.

        An expired one redirects to the page to request a new link.
        """
        read = self._vault.read_expiring_page_token(domain.PAGE_PURPOSE, request.query_params.get("token", ""))
        if read is None:
            raise NotFound
        subscription_id, ends = read
        name, now = self._ids.encode(_TYPE, subscription_id), self._db.deployment.clock.real_now()
        purpose, path = (
            (domain.PAGE_PURPOSE, f"{_PATH}/{name}") if now < ends else (domain.LINK_PURPOSE, f"{_PATH}/{name}/link")
        )
        response = RedirectResponse(path, 303, NO_PAGE)
        visit = link_sessions.begin_link_session(self._vault, purpose, subscription_id, name, now + _VISIT)
        visit.set_cookie(response, max_age_seconds=_VISIT_SECONDS)
        return response

    @with_error_pages
    async def show(self, request: Request) -> Response:
        """Show all regular donations of the donor."""
        if self._ids.decode("donation", request.path_params["id"]) is not None:
            return await self._back_from_provider(request)
        subscription_id, visit = self._visited(request)
        return await self._list(request, subscription_id, visit)

    async def new_link(self, request: Request) -> Response:
        """Offer to email a new link, or email it: both methods of this path."""
        return await (self.request_link if request.method == "POST" else self.show_expired_link_page)(request)

    @with_error_pages
    async def show_expired_link_page(self, request: Request) -> Response:
        """The page of an expired link, with a button to email a new one."""
        subscription_id, visit = self._link_visit(request)
        return await self._link_page(subscription_id, visit)

    @with_error_pages
    async def request_link(self, request: Request) -> Response:
        """Email a new link to the donor's address."""
        subscription_id, visit = self._link_visit(request)
        if await self._posted(request, visit) is None:
            return await self._link_page(subscription_id, visit, status=403)
        async with self._db.write() as tx:
            subscription = await service.get_subscription(tx, subscription_id)
            if sent := await service.request_management_link(tx, subscription_id):
                name, where = request.path_params["id"], request.client.host if request.client else None
                await audit.record_entry(
                    tx,
                    subscription.partner_id,
                    Actor("system", "donor"),
                    "regular_donation.link_requested",
                    name,
                    ip_address=where,
                )
        kind, status, icon = ("regular.sent", 200, "mail") if sent else ("statement.later", 429, "info")
        return self.pages.render_message(
            kind, self.pages.language_for_tag(subscription.language), status=status, icon=icon
        )

    @with_error_pages
    async def handle_action(self, request: Request) -> Response:
        """Show the form of an action, or perform it."""
        opened_by, visit = self._visited(request)
        subscription_id, name = self._plan_of(request), request.url.path.rpartition("/")[2]
        action = ACTIONS[name]
        if request.method == "GET":
            return await self._form_page(opened_by, subscription_id, visit, name)
        if (form := await self._posted(request, visit)) is None:
            return await self._refused(request, opened_by, subscription_id, visit, name)
        try:
            problems = await self._perform(request, opened_by, subscription_id, action, form)
        except InvalidState:
            return await self._list(request, opened_by, visit, status=409, notice="regular.stale")
        except AgreementRequired as needed:
            return await self._form_page(opened_by, subscription_id, visit, name, entered_values=form, needed=needed)
        if problems:
            return await self._form_page(
                opened_by, subscription_id, visit, name, problems=problems, entered_values=form
            )
        return self._redirect(opened_by, action.success_message_key)

    async def _perform(
        self, request: Request, opened_by: UUID, subscription_id: UUID, action: DonorAction, form: FormData
    ) -> Problems:
        async with self._db.write() as tx:
            shown = (await service.load_page_of_one_regular_donation(tx, opened_by, subscription_id)).regular_donations[
                0
            ]
            problems = await action.perform(
                tx, SubmittedForm(shown, form, self.pages.language_for_tag(shown.subscription.language))
            )
            if not problems:
                await self._record_change(tx, request, shown.subscription, request.url.path.rpartition("/")[2])
            return problems

    @with_error_pages
    async def pay(self, request: Request) -> Response:
        """Redirect to the provider's page to pay a donation that could not be charged."""
        opened_by, visit = self._visited(request)
        subscription_id = self._plan_of(request)
        if await self._posted(request, visit) is None:
            return await self._refused(request, opened_by, subscription_id, visit, "pay")
        async with self._db.read() as tx:
            found = await service.load_page_of_one_regular_donation(tx, opened_by, subscription_id)
        [shown] = found.regular_donations
        try:
            url = None if shown.unpaid is None else await self._provider.create_payment_url(shown.unpaid[0])
        except AccountPaused:
            links, language = (
                found.partner.public_links,
                self.pages.language_for_tag(found.subscription_of_opened_link.language),
            )
            return self.pages.render_message("give.paused", language, status=409, partner_links=links)
        except ServiceUnavailable:
            return await self._list(request, opened_by, visit, status=503, notice="give.busy")
        if url is None:
            return await self._list(request, opened_by, visit, status=409, notice="regular.stale")
        return RedirectResponse(url, 303, NO_PAGE)

    @with_error_pages
    async def handle_payment_return(self, request: Request) -> Response:
        """Handle the donor's return from the provider's payment page."""
        return await self._back_from_provider(request)

    async def _back_from_provider(self, request: Request) -> Response:
        """Refresh the payment; works in any browser, since a bank's app may open another one."""
        payment_id = self._vault.read_page_token(RETURN_PURPOSE, request.query_params.get("token", ""))
        if payment_id is None:
            raise NotFound
        if not link_sessions.is_speculative_request(request):
            with suppress(ServiceUnavailable):  # the last known state is shown; the provider's webhook updates it
                await self._provider.refresh_payment(payment_id)
        async with self._db.read() as tx:
            payment = await payments.find(tx, payment_id)
            if payment is None:
                raise NotFound
            donation = await donations.get(tx, ALL_PARTNERS, payment.donation_id)
            if donation.subscription_id is None:
                raise NotFound
            shown = await service.load_page_of_all_regular_donations(tx, donation.subscription_id)
        done = "pay" if donation.payment_id is not None else "pay_open"
        return self._after_provider(request, shown, done)

    @with_error_pages
    async def change_card(self, request: Request) -> Response:
        """Redirect to the provider's page to enter another card; nothing is charged."""
        opened_by, visit = self._visited(request)
        subscription_id = self._plan_of(request)
        if await self._posted(request, visit) is None:
            return await self._refused(request, opened_by, subscription_id, visit, "card")
        async with self._db.write() as tx:
            subscription = await service.get_subscription_of_same_donor(tx, opened_by, subscription_id)
            await self._record_change(tx, request, subscription, "card")
        back = f"{self._db.deployment.base_urls.pages}{_PATH}/card/return"
        try:
            url = await self._provider.start_card_change(subscription_id, back)
        except ServiceUnavailable:
            return await self._list(request, opened_by, visit, status=503, notice="give.busy")
        if url is None:
            return await self._list(request, opened_by, visit, status=409, notice="regular.stale")
        return RedirectResponse(url, 303, NO_PAGE)

    @with_error_pages
    async def handle_card_return(self, request: Request) -> Response:
        """Handle the donor's return from the provider's page for changing the card."""
        setup_id = self._vault.read_page_token(domain.CARD_PURPOSE, request.query_params.get("token", ""))
        if setup_id is None or link_sessions.is_speculative_request(request):
            raise NotFound
        try:
            subscription_id, changed = await self._provider.finish_card_change(setup_id)
        except ServiceUnavailable:
            return self.pages.render_message(
                "give.broken", self.pages.preferred_language(request), status=503, icon="clock"
            )
        async with self._db.read() as tx:
            shown = await service.load_page_of_all_regular_donations(tx, subscription_id)
        return self._after_provider(request, shown, "card" if changed else "card_open")

    def _after_provider(self, request: Request, shown: RegularDonationsPageContent, done: str) -> Response:
        """Redirect to the page if this browser has opened its link; otherwise show only the result."""
        for one in shown.regular_donations:
            name = self._ids.encode(_TYPE, one.subscription.id)
            if link_sessions.find_link_session(request, self._vault, domain.PAGE_PURPOSE, one.subscription.id, name):
                return self._redirect(one.subscription.id, done)
        return self.pages.render_page(
            "regular_returned.html",
            self.pages.language_for_tag(shown.subscription_of_opened_link.language),
            text=f"regular.done.{done}",
            partner_links=shown.partner.public_links,
        )

    def _visited(self, request: Request) -> tuple[UUID, LinkSession]:
        """The subscription whose link this browser has opened within a day. Raises NotFound."""
        subscription_id, visit = super()._visited(request)
        self._ensure_current(visit)
        return subscription_id, visit

    def _link_visit(self, request: Request) -> tuple[UUID, LinkSession]:
        """The subscription whose expired link this browser has opened within a day. Raises NotFound."""
        name = request.path_params["id"]
        subscription_id = self._ids.decode(_TYPE, name)
        if subscription_id is None:
            raise NotFound
        visit = link_sessions.find_link_session(request, self._vault, domain.LINK_PURPOSE, subscription_id, name)
        if visit is None:
            raise NotFound
        self._ensure_current(visit)
        return subscription_id, visit

    def _ensure_current(self, visit: LinkSession) -> None:
        if visit.expires_at is None or visit.expires_at <= self._db.deployment.clock.real_now():
            raise NotFound

    def _plan_of(self, request: Request) -> UUID:
        subscription_id = self._ids.decode(_TYPE, request.path_params["plan"])
        if subscription_id is None:
            raise NotFound
        return subscription_id

    async def _record_change(self, tx: Tx, request: Request, subscription: DonationSubscription, change: str) -> None:
        await audit.record_entry(
            tx,
            subscription.partner_id,
            Actor("system", "donor"),
            "regular_donation.changed",
            tx.ids.encode(_TYPE, subscription.id),
            ip_address=request.client.host if request.client else None,
            details={"change": change},
        )

    def _redirect(self, opened_by: UUID, done: str) -> Response:
        return RedirectResponse(f"{self._action(opened_by)}?done={done}", 303, NO_PAGE)

    async def _refused(
        self, request: Request, opened_by: UUID, subscription_id: UUID, visit: LinkSession, name: str
    ) -> Response:
        """The form again, after one without a valid token; nothing was changed."""
        if name in ACTIONS and ACTIONS[name].has_own_page:
            return await self._form_page(opened_by, subscription_id, visit, name, status=403)
        return await self._list(request, opened_by, visit, status=403, notice="give.again")

    async def _list(
        self, request: Request, opened_by: UUID, visit: LinkSession, *, status: int = 200, notice: str | None = None
    ) -> Response:
        async with self._db.read() as tx:
            shown = await service.load_page_of_all_regular_donations(tx, opened_by)
        language = self.pages.language_for_tag(shown.subscription_of_opened_link.language)
        done = request.query_params.get("done")
        return self.pages.render_page(
            "regular.html",
            language,
            status=status,
            form_targets=(self._provider.provider_page_origin,),
            notice=notice,
            done=f"regular.done.{done}" if done in DONE and notice is None else None,
            partner=shown.partner,
            partner_links=shown.partner.public_links,
            listed=[self._context(one, language) for one in shown.regular_donations],
            donor=formats.full_name(
                shown.subscription_of_opened_link.first_name or "",
                shown.subscription_of_opened_link.last_name or "",
                language.locale,
            ),
            statement_url=self._statement_url(shown),
            csrf=visit.csrf,
            action=self._action(opened_by),
        )

    def _context(self, regular_donation: RegularDonation, language: Language) -> dict[str, object]:
        """The template values of one subscription."""
        subscription, change = regular_donation.subscription, regular_donation.subscription.pending_change
        live = subscription.status in subscriptions_domain.LIVE_STATUSES
        return {
            "plan": subscription,
            "name": self._ids.encode(_TYPE, subscription.id),
            "organisation": regular_donation.organisation,
            "proposed": regular_donation.proposed,
            "proposed_id": self._ids.encode_or_none("organisation", subscription.proposed_organisation_id),
            "every": agreements.format_amount_and_frequency(subscription.money, subscription.frequency, language),
            "live": live,
            "change": agreements.format_amount_and_frequency(change.money, change.frequency, language)
            if change and live
            else None,
            "change_key": int(change.requested_at.timestamp()) if change else None,
            "change_agreement": actions.build_change_agreement(
                regular_donation, language, change.money, change.frequency
            ).text
            if change and live
            else None,
            "move_agreement": actions.build_change_agreement(
                regular_donation, language, subscription.money, subscription.frequency, regular_donation.proposed
            ).text
            if regular_donation.proposed and live
            else None,
            "stopped": regular_donation.stopped,
            "card": None if subscription.payment_method is None else domain.card_label(subscription.payment_method),
            "total": Money(subscription.total_minor, subscription.money.currency),
            "ends": subscriptions_domain.past_due_cancellation_at(subscription, self._db.deployment.time_zone),
            "unpaid": regular_donation.unpaid,
            "receipts": [
                (one, f"/{receipts_domain.PAGE_PURPOSE}?token={self._token(one.id)}")
                for one in regular_donation.paid_donations
            ],
        }

    def _token(self, donation_id: UUID) -> str:
        return self._vault.create_page_token(receipts_domain.PAGE_PURPOSE, donation_id)

    def _statement_url(self, shown: RegularDonationsPageContent) -> str | None:
        """The URL of the statement of all donations, by the newest receipt; both links go to the same mailbox."""
        newest = next((one.paid_donations[0].id for one in shown.regular_donations if one.paid_donations), None)
        if newest is None:
            return None
        until = self._db.deployment.clock.real_now() + statements_domain.LINK_LIFETIME
        token = self._vault.create_expiring_page_token(statements_domain.PAGE_PURPOSE, newest, until)
        return f"/{statements_domain.PAGE_PURPOSE}?token={token}"

    async def _form_page(
        self,
        opened_by: UUID,
        subscription_id: UUID,
        visit: LinkSession,
        name: str,
        *,
        status: int = 200,
        problems: Problems | None = None,
        entered_values: Mapping[str, object] | None = None,
        needed: AgreementRequired | None = None,
    ) -> Response:
        async with self._db.read() as tx:
            shown = await service.load_page_of_one_regular_donation(tx, opened_by, subscription_id)
            today = self._db.deployment.date_in_issuer_time_zone(tx.now)
        one, language = (
            shown.regular_donations[0],
            self.pages.language_for_tag(shown.subscription_of_opened_link.language),
        )
        if one.subscription.status == "cancelled":
            return self._redirect(opened_by, "cancel")
        return self.pages.render_page(
            "regular_form.html",
            language,
            status=422 if problems else status,
            notice="give.again" if status == 403 else None,
            name=name,
            partner=shown.partner,
            partner_links=shown.partner.public_links,
            one=self._context(one, language),
            problems=problems or {},
            typed=entered_values or {},
            needed=needed,
            csrf=visit.csrf,
            back=self._action(opened_by),
            action=f"{self._action(opened_by)}/{self._ids.encode(_TYPE, subscription_id)}/{name}",
            pause_months=domain.PAUSE_MONTHS,
            **self._limits(one, language, *actions.next_donation_date_range(today)),
        )

    def _limits(self, one: RegularDonation, language: Language, first: date, last: date) -> dict[str, Any]:
        """The amounts and days that can be chosen."""
        currency = one.subscription.money.currency
        amounts = hosted_page_domain.donation_amounts_for(currency)
        return {
            "first": first,
            "last": last,
            "values": {
                "minimum": formats.format_money(amounts.minimum, currency, language.locale, short=True),
                "maximum": formats.format_money(amounts.maximum, currency, language.locale, short=True),
                "example": formats.format_amount_without_currency(amounts.suggested[1], currency, language.locale),
                "first": formats.format_day(first, language.locale),
                "last": formats.format_day(last, language.locale),
            },
            "currency_name": formats.currency_name(currency, language.locale),
            "symbol": formats.currency_symbol(currency, language.locale),
        }

    async def _link_page(self, subscription_id: UUID, visit: LinkSession, *, status: int = 200) -> Response:
        async with self._db.read() as tx:
            subscription = await service.get_subscription(tx, subscription_id)
        return self.pages.render_page(
            "regular_link.html",
            self.pages.language_for_tag(subscription.language),
            status=status,
            alert="give.again" if status == 403 else None,
            csrf=visit.csrf,
            action=f"{self._action(subscription_id)}/link",
        )
