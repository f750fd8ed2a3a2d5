"""Payment flows: the calls to the payment provider, outside transactions (architecture 3).

The recovery point is the ``payment`` row: ``starting`` is committed before the call, with its idempotency key. All
flows lease the payment, so that one call at a time is in progress. Every response goes through
``donations.apply_provider_state``, which is idempotent and independent of order.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.checkout.card_testing.domain import (
    STRICT_LIMITS,
    BrowserFingerprint,
    CardTestingLimits,
    PaymentOutcome,
)
from almoner.giving.checkout.donations import domain, service
from almoner.giving.checkout.donations.domain import Donation, DonationDetails, SessionDonation
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    BANK_TRANSFER,
    MAX_TRIES,
    RETURN_PURPOSE,
    SETTLED_STATUSES,
    Decline,
    DeclineAction,
    NoSuchPayment,
    Payment,
    PaymentMethodGone,
    PaymentNotRecognised,
    ProviderEvent,
    ProviderFailure,
    ProviderPayment,
    ProviderStatus,
    ProviderUnavailable,
    WebhookRefused,
)
from almoner.giving.checkout.payments.ports import FutureUseConsent, OffSessionCharge, PaymentProvider, PaymentRequest
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import DonationSession, SessionExpired
from almoner.giving.subscriptions.donation_subscriptions import domain as donation_subscriptions_domain
from almoner.giving.subscriptions.donation_subscriptions import service as donation_subscriptions
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Partner, Tx
from almoner.platform.jobs import leases
from almoner.platform.jobs.leases import FlowDone
from almoner.platform.observability.loggers import get_logger

LEASE_KIND: Final = "payment"
_DEFAULT_LANGUAGE: Final = "en"
_log: Final = get_logger("almoner.giving")


@dataclass(frozen=True, slots=True)
class PaymentContext:
    """The database, provider and card testing limits that the flows need."""

    db: Database
    provider: PaymentProvider
    limits: CardTestingLimits = STRICT_LIMITS


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """A call to the provider. ``leased_row_id``: the leased payment's ID; None if the call changes nothing."""

    leased_row_id: UUID | None
    send: Callable[[], Awaitable[ProviderPayment]]


class _PaymentFlow:
    """Common to all flows: the lease's name, the call, and applying the response."""

    name = LEASE_KIND

    def __init__(self, context: PaymentContext) -> None:
        self._provider = context.provider
        self._figures = context.limits

    async def call_external_service(self, ask: ProviderCall) -> ProviderPayment:
        """Call the provider. Raises ProviderUnavailable; safe to repeat."""
        try:
            return await ask.send()
        except ProviderFailure as failure:
            raise ProviderUnavailable from failure

    async def create(self, tx: Tx, payment: Payment, donation: Donation) -> ProviderCall:
        """The call that creates an attempt's payment page, from stored rows only, so that it can be repeated."""
        if donation.subscription_due_on is None and donation.session_id is not None:
            page = f"{payment.pages_url}/give/{tx.ids.encode('donationsession', donation.session_id)}"
        else:
            page = f"{payment.pages_url}/{domain.REGULAR_PAGE}/{tx.ids.encode('donation', donation.id)}"
        token = f"?token={tx.vault.create_page_token(RETURN_PURPOSE, payment.id)}"
        order = PaymentRequest(
            idempotency_key=payments.build_payment_idempotency_key(tx, payment.id),
            money=payment.money,
            description=payment.description,
            reference=payments.payment_reference(payment.id),
            return_url=f"{page}/return{token}",
            cancel_url=f"{page}{token}",
            callback_url=f"{payment.api_url}/callbacks/{payment.provider}",
            language=payment.language,
            max_card_attempts=payment.max_card_attempts,
            future_use_consent=await self._future_use(tx, donation) if donation.subscription_id else None,
        )
        return ProviderCall(payment.id, lambda: self._provider.create_payment(order))

    async def _future_use(self, tx: Tx, donation: Donation) -> FutureUseConsent | None:
        """The donor's agreement to later charges of the payment method; None without one."""
        assert donation.subscription_id is not None, "asked of gifts of plans alone"
        found = await donation_subscriptions.find_accepted_agreement(tx, donation.subscription_id)
        if found is None or donation.email is None:
            return None
        agreement = found.agreement
        return FutureUseConsent(agreement.text, agreement.version, donation.email)

    async def start(self, tx: Tx, payment: Payment) -> ProviderCall | None:
        """The call that starts an attempt; None if it must not be paid any more and the provider does not know it."""
        donation = await service.get(tx, ALL_PARTNERS, payment.donation_id)
        return await (self.charge if payment.off_session else self.create)(tx, payment, donation)

    async def charge(self, tx: Tx, payment: Payment, donation: Donation) -> ProviderCall | None:
        """The call that charges the payment method; after the due period, one that only fetches the result.

        None if it was cancelled before it was sent. Raises AccountPaused if the provider was not called yet.
        """
        due_on = donation.subscription_due_on
        assert donation.subscription_id is not None, "only gifts of plans are charged off session"
        assert due_on is not None, "the first gift is paid on a page"
        subscription = await donation_subscriptions.get(tx, ALL_PARTNERS, donation.subscription_id)
        last_day = donation_subscriptions_domain.last_charge_day(due_on)
        over = (
            donation.status != "REQUESTED_PAYMENT"
            or subscription.status not in donation_subscriptions_domain.CHARGED_STATUSES
            or tx.deployment.date_in_issuer_time_zone(tx.now) > last_day
        )
        if over and await payments.cancel_unsent_payment(tx, payment.id):
            return None
        if not over and payment.called_at is None:
            (await partners.get(tx, Partner(subscription.partner_id))).ensure_not_paused()
        saved, first = subscription.payment_method, await payments.find(tx, subscription.first_payment_id or payment.id)
        assert saved is not None, "a plan is charged to what its first payment has saved"
        assert first is not None, "a plan references its first payment"
        charge = OffSessionCharge(
            idempotency_key=payments.build_payment_idempotency_key(tx, payment.id),
            money=payment.money,
            description=payment.description,
            reference=payments.payment_reference(payment.id),
            customer_id=saved.customer_id,
            payment_method_id=saved.id,
            first_payment_id=first.provider_payment_id or "",
            callback_url=f"{payment.api_url}/callbacks/{payment.provider}",
            language=payment.language,
        )
        live = not tx.deployment.sandbox
        if over:
            return ProviderCall(payment.id, lambda: self._find_charge(charge, live=live))
        await payments.mark_sent_to_provider(tx, payment.id)
        return ProviderCall(payment.id, lambda: self._charge(charge, live=live))

    async def _charge(self, charge: OffSessionCharge, *, live: bool) -> ProviderPayment:
        try:
            return await self._provider.charge_off_session(charge)
        except PaymentMethodGone:
            decline = Decline(DeclineAction.NEVER, "payment_method_gone")
            return _not_made(charge, ProviderStatus.FAILED, decline, live=live)

    async def _find_charge(self, charge: OffSessionCharge, *, live: bool) -> ProviderPayment:
        found = await self._provider.find_charge(charge.reference, charge.customer_id)
        return found or _not_made(charge, ProviderStatus.CANCELLED, None, live=live)

    def fetch(self, payment: str) -> ProviderCall:
        """The call that fetches a payment."""
        return ProviderCall(None, lambda: self._provider.fetch_payment(payment))

    def cancel(self, payment: Payment, provider_payment: str) -> ProviderCall:
        """The call that cancels an unpaid attempt."""
        return ProviderCall(payment.id, lambda: self._provider.cancel_payment(provider_payment))

    async def apply_answer(self, tx: Tx, provider_payment: ProviderPayment) -> None:
        """Count declined cards against card testing (H6), and apply the answer to the donation.

        Card testing first, because ``apply_provider_state`` locks the ledger's accounts, which every donation needs.
        """
        payment = await payments.find_by_provider_payment(tx, self._provider.name, provider_payment)
        # Skipped while nothing has happened: before the provider's page, every statement counts.
        happened = provider_payment.status is not ProviderStatus.OPEN or provider_payment.attempts > 0
        if happened and payment is not None and not payment.off_session:
            await card_testing.record_payment_outcome(tx, self._figures, _payment_outcome(payment, provider_payment))
        await service.apply_provider_state(tx, self._provider.name, provider_payment, payment)


class _StartPayment(_PaymentFlow):
    """Start the payment of the donation that the donor chose."""

    def __init__(
        self,
        context: PaymentContext,
        session_id: UUID,
        details: DonationDetails,
        browser: BrowserFingerprint | None,
        way: str,
    ) -> None:
        super().__init__(context)
        self._session_id = session_id
        self._gift = details
        self._way = way
        self._browser = browser
        self._ended: UUID | None = None

    async def prepare_call(self, tx: Tx) -> ProviderCall | FlowDone[SessionDonation]:
        """Create the donation and its attempt; returns the next call, until there is a payment page."""
        session = await sessions.get_for_update(tx, self._session_id)
        donation = await service.find_uncancelled_by_session(tx, session.id)
        payment = await payments.find_current_payment(tx, donation.id) if donation else None
        if donation is None or payment is None or payment.status in ("failed", "cancelled"):
            return await self._attempt(tx, session)
        if not payment.is_payable or donation.transfer_confirmed_at is not None:
            return FlowDone(domain.session_donation_of(donation, payment))
        if tx.now >= session.late_payments_accepted_until():
            raise SessionExpired
        if payment.provider_payment_id is None:
            return await self.create(tx, payment, donation)
        same = self._gift.money == payment.money and payment.provider == self._way
        if same and await self._agrees_to_the_same(tx, donation):
            await service.update_donor_details(tx, session, donation, self._gift)
            return FlowDone(domain.session_donation_of(donation, payment))
        session.ensure_open(tx.now)
        if payment.provider == BANK_TRANSFER:
            await payments.cancel_bank_transfer(tx, payment)
            return await self._attempt(tx, session)
        if self._ended == payment.id:
            return FlowDone(
                domain.session_donation_of(donation, payment)
            )  # the bank is processing it: too late to change
        self._ended = payment.id
        return self.cancel(payment, payment.provider_payment_id)

    async def _agrees_to_the_same(self, tx: Tx, donation: Donation) -> bool:
        """Whether the open page's agreement to save the card equals what the donor agrees to now."""
        if donation.subscription_id is None:
            return self._gift.frequency == "one_time"
        found = await donation_subscriptions.find_accepted_agreement(tx, donation.subscription_id)
        return found is not None and found.agreement == self._gift.agreement

    async def _attempt(self, tx: Tx, session: DonationSession) -> ProviderCall | FlowDone[SessionDonation]:
        donation = await service.create_donation(tx, session, self._gift)
        if self._way == BANK_TRANSFER:
            return await self._transfer(tx, session, donation)
        allowed = MAX_TRIES - await payments.count_card_attempts(tx, donation.id)
        if allowed < 1:
            raise domain.TooManyCardAttempts
        partner = Partner(donation.partner_id)
        organisation = await organisations.get(tx, partner, donation.organisation_id)
        taken = tuple(code for code in organisation.donation_currencies if code in self._provider.currencies)
        domain.ensure_organisation_receives_currency(donation.money.currency, taken)
        language, due, code = session.language or _DEFAULT_LANGUAGE, session.late_payments_accepted_until(), None
        if self._browser is not None:
            admitted, code = await card_testing.check_velocity(
                tx, self._figures, partner, session.id, self._browser, self._gift.email
            )
            allowed, due = min(allowed, admitted), min(due, tx.now + self._figures.open_payment_lifetime)
        payment = await payments.create_payment_attempt(
            tx, self._provider.name, donation.id, donation.money, organisation.effective_display_name, language, allowed
        )
        if self._browser is not None:
            await card_testing.record_payment_attempt(tx, partner, payment.id, self._browser, allowed, code)
        await service.enqueue_payment_cancellation(tx, payment, due)
        return await self.create(tx, payment, donation)

    async def _transfer(self, tx: Tx, session: DonationSession, donation: Donation) -> FlowDone[SessionDonation]:
        """Create a payment by bank transfer; the details are rate limited too, although no card is tried (H6)."""
        partner = Partner(donation.partner_id)
        organisation = await organisations.get(tx, partner, donation.organisation_id)
        domain.ensure_organisation_receives_currency(donation.money.currency, organisation.donation_currencies)
        language = session.language or _DEFAULT_LANGUAGE
        started = await payments.create_payment_attempt(
            tx, BANK_TRANSFER, donation.id, donation.money, organisation.effective_display_name, language, 1
        )
        if self._browser is not None:
            _, code = await card_testing.check_velocity(
                tx, self._figures, partner, session.id, self._browser, self._gift.email
            )
            await card_testing.record_payment_attempt(tx, partner, started.id, self._browser, 1, code)
            await card_testing.record_payment_outcome(
                tx, self._figures, PaymentOutcome(started.id, 0, is_paid=False, has_ended=True)
            )
        page = f"{started.pages_url}/give/{tx.ids.encode('donationsession', session.id)}/transfer"
        return FlowDone(domain.session_donation_of(donation, await payments.start_bank_transfer(tx, started, page)))

    async def record_result(self, tx: Tx, _ask: ProviderCall, provider_payment: ProviderPayment) -> None:
        """Apply the response, and continue with ``prepare_call``."""
        await self.apply_answer(tx, provider_payment)


class _RefreshPayment(_PaymentFlow):
    """Refresh the payment of a donor who returns. ``payment_id``: the attempt that they come from, if known."""

    def __init__(self, context: PaymentContext, session_id: UUID, payment_id: UUID | None) -> None:
        super().__init__(context)
        self._session_id = session_id
        self._payment_id = payment_id
        self._newest_asked = False

    async def prepare_call(self, tx: Tx) -> ProviderCall | FlowDone[SessionDonation]:
        """The call that fetches an attempt which may be paid: the donor's, even if we ended it, then the newest."""
        known, newest = await service.load_session_donation_and_payment(tx, self._session_id)
        if self._payment_id is not None and newest is not None and newest.status not in SETTLED_STATUSES:
            other, self._payment_id = await payments.find(tx, self._payment_id), None
            if other is not None and other.provider_payment_id and other.provider != BANK_TRANSFER:
                self._newest_asked = other.id == newest.id
                return self.fetch(other.provider_payment_id)
        if (
            newest is None
            or newest.provider_payment_id is None
            or not newest.is_payable
            or newest.provider == BANK_TRANSFER
        ):
            return FlowDone(known)
        self._newest_asked = True
        return self.fetch(newest.provider_payment_id)

    async def record_result(
        self, tx: Tx, _ask: ProviderCall, provider_payment: ProviderPayment
    ) -> FlowDone[SessionDonation] | None:
        """Apply the response; returns the session's state, or None while the newest attempt is still to be fetched."""
        await self.apply_answer(tx, provider_payment)
        if not self._newest_asked:
            return None
        known = await service.load_session_donation(tx, self._session_id)
        return FlowDone(replace(known, is_reported_unpaid=provider_payment.status is ProviderStatus.OPEN))


class _HandleWebhook(_PaymentFlow):
    """Handle a webhook: it only says that a payment may have changed (M5)."""

    def __init__(self, context: PaymentContext, event: ProviderEvent) -> None:
        super().__init__(context)
        self._event = event

    async def prepare_call(self, tx: Tx) -> ProviderCall | FlowDone[None]:
        """The call that fetches the webhook's payment, unless the webhook was handled before."""
        if await payments.is_provider_event_recorded(tx, self._provider.name, self._event):
            return FlowDone(None)
        return self.fetch(self._event.payment_id)

    async def record_result(self, tx: Tx, _ask: ProviderCall, provider_payment: ProviderPayment) -> FlowDone[None]:
        """Store the webhook's ID and apply the response in one transaction; concurrent deliveries wait here."""
        if await payments.record_provider_event(tx, self._provider.name, self._event):
            await self.apply_answer(tx, provider_payment)
        return FlowDone(None)


class _CancelPayment(_PaymentFlow):
    """Cancel an attempt that must not be paid any more, and apply its last state."""

    def __init__(self, context: PaymentContext, payment_id: UUID) -> None:
        super().__init__(context)
        self._payment_id = payment_id
        self._asked = False

    async def prepare_call(self, tx: Tx) -> ProviderCall | FlowDone[bool]:
        """The call that cancels an open attempt; first one that finds its provider ID if that response was lost."""
        payment = await payments.find(tx, self._payment_id)
        if payment is None or not payment.is_payable:
            return FlowDone(True)
        if payment.provider == BANK_TRANSFER:
            await payments.cancel_bank_transfer(tx, payment)
            return FlowDone(True)
        if payment.provider_payment_id is None:
            return await self.start(tx, payment) or FlowDone(True)
        if self._asked:
            return FlowDone(False)
        self._asked = True
        return self.cancel(payment, payment.provider_payment_id)

    async def record_result(self, tx: Tx, _ask: ProviderCall, provider_payment: ProviderPayment) -> None:
        """Apply the response, and continue with ``prepare_call``."""
        await self.apply_answer(tx, provider_payment)


class _PaySubscriptionDonation(_PaymentFlow):
    """Let the donor pay a subscription's due date that could not be charged, on the provider's page."""

    def __init__(self, context: PaymentContext, donation_id: UUID) -> None:
        super().__init__(context)
        self._donation_id = donation_id

    async def prepare_call(self, tx: Tx) -> ProviderCall | FlowDone[str | None]:
        """Create or reuse an attempt; returns the provider's page, None if nothing can be paid."""
        origin = await service.get_donation_origin(tx, self._donation_id)
        if origin.charged_subscription_id is None:
            raise NotFound
        subscription = await donation_subscriptions.get_for_update(tx, ALL_PARTNERS, origin.charged_subscription_id)
        donation = await service.get_for_update(tx, ALL_PARTNERS, self._donation_id)
        payment = await payments.find_current_payment(tx, donation.id)
        if donation.status != "REQUESTED_PAYMENT" or payment is None or payment.status in SETTLED_STATUSES:
            return FlowDone(None)
        if payment.is_payable:
            started = payment.provider_payment_id is not None or payment.off_session
            return FlowDone(payment.payment_page_url) if started else await self.create(tx, payment, donation)
        partner = Partner(donation.partner_id)
        (await partners.get(tx, partner)).ensure_not_paused()
        organisation = await organisations.get(tx, partner, donation.organisation_id)
        if donation.money.currency not in organisation.donation_currencies:
            return FlowDone(None)
        donation = await service.lower_donation_to_subscription_amount(tx, donation, subscription)
        payment = await payments.create_payment_attempt(
            tx, self._provider.name, donation.id, donation.money, payment.description, payment.language, MAX_TRIES
        )
        await service.enqueue_payment_cancellation(tx, payment, tx.now + self._figures.open_payment_lifetime)
        return await self.create(tx, payment, donation)

    async def record_result(self, tx: Tx, _ask: ProviderCall, provider_payment: ProviderPayment) -> None:
        """Apply the response, and continue with ``prepare_call``."""
        await self.apply_answer(tx, provider_payment)


class _FinishPayment(_PaymentFlow):
    """Charge a saved payment method, or repeat a call whose response was not recorded."""

    def __init__(self, context: PaymentContext, payment_id: UUID) -> None:
        super().__init__(context)
        self._payment_id = payment_id

    async def prepare_call(self, tx: Tx) -> ProviderCall | FlowDone[None]:
        """The call that creates the page again, or fetches the payment."""
        payment = await payments.find(tx, self._payment_id)
        if payment is None or not payment.is_payable or payment.provider == BANK_TRANSFER:
            return FlowDone(None)
        if payment.provider_payment_id is None:
            return await self.start(tx, payment) or FlowDone(None)
        return self.fetch(payment.provider_payment_id)

    async def record_result(self, tx: Tx, _ask: ProviderCall, provider_payment: ProviderPayment) -> FlowDone[None]:
        """Apply the response."""
        await self.apply_answer(tx, provider_payment)
        return FlowDone(None)


def _not_made(
    charge: OffSessionCharge, status: ProviderStatus, decline: Decline | None, *, live: bool
) -> ProviderPayment:
    """A payment that the provider never created, with a made-up ID."""
    name = f"none/{charge.reference}"
    return ProviderPayment(name, None, status, charge.money, charge.reference, 0, live, decline=decline)


def _payment_outcome(payment: Payment, provider_payment: ProviderPayment) -> PaymentOutcome:
    """The outcome for the limits against card testing. A card whose bank asks for a challenge is not declined."""
    undecided = provider_payment.status in (ProviderStatus.SUCCEEDED, ProviderStatus.PROCESSING)
    declined = (
        max(provider_payment.attempts - 1, 0)
        if undecided
        else max(provider_payment.attempts, int(provider_payment.status is ProviderStatus.FAILED))
    )
    ended = provider_payment.status in (ProviderStatus.SUCCEEDED, ProviderStatus.FAILED, ProviderStatus.CANCELLED)
    return PaymentOutcome(
        payment.id, declined, is_paid=provider_payment.status is ProviderStatus.SUCCEEDED, has_ended=ended
    )


async def start_payment(
    context: PaymentContext, session_id: UUID, details: DonationDetails, browser: BrowserFingerprint | None = None
) -> SessionDonation:
    """Create the session's donation and its payment at the provider; ``payment_url`` is the payment page.

    Without ``payment_url`` the state says why: PAID, HELD. A second call with the same donation returns the same page;
    with another amount it cancels the first payment and creates a new one. Raises NotFound, AccountPaused,
    SessionExpired, SessionAlreadyCompleted, WrongTargetCurrency, CannotAcceptDonations, TooManyCardAttempts,
    ProviderUnavailable.

    ``browser``: the donor's; the card testing limits may raise RateLimited or EmailCodeRequired. None skips them, as in
    simulations.
    """
    return await leases.run_leased_external_call_flow(
        context.db, _StartPayment(context, session_id, details, browser, context.provider.name)
    )


async def create_due_donation_payment_url(context: PaymentContext, donation_id: UUID) -> str | None:
    """The page where the donor pays an open date of a subscription; None if it cannot be paid any more.

    Raises NotFound, AccountPaused, ProviderUnavailable.
    """
    return await leases.run_leased_external_call_flow(context.db, _PaySubscriptionDonation(context, donation_id))


async def refresh_due_donation_payment(context: PaymentContext, payment_id: UUID) -> None:
    """Refresh the payment of a donor who returns from paying an open date. Raises ProviderUnavailable."""
    await leases.run_leased_external_call_flow(context.db, _FinishPayment(context, payment_id))


async def start_bank_transfer(
    context: PaymentContext, session_id: UUID, details: DonationDetails, browser: BrowserFingerprint | None = None
) -> SessionDonation:
    """Create the session's donation to be paid by bank transfer; ``payment_url`` is the page with the details."""
    return await leases.run_leased_external_call_flow(
        context.db, _StartPayment(context, session_id, details, browser, BANK_TRANSFER)
    )


async def handle_donor_return(
    context: PaymentContext, session_id: UUID, payment_id: UUID | None = None
) -> SessionDonation:
    """Refresh the payment when the donor returns from the provider's page.

    ``payment_id``: the session's attempt whose page the donor comes from; it is fetched even if we ended it.

    Raises ProviderUnavailable: ``donations.service.load_session_donation`` then returns the last known state.
    """
    return await leases.run_leased_external_call_flow(context.db, _RefreshPayment(context, session_id, payment_id))


async def handle_provider_webhook(context: PaymentContext, event: ProviderEvent) -> bool:
    """Handle a payment webhook and commit its effect; False if the payment is not ours.

    Raises WebhookRefused, ProviderUnavailable.
    """
    try:
        await leases.run_leased_external_call_flow(context.db, _HandleWebhook(context, event))
    except ProviderUnavailable as error:
        if isinstance(error.__cause__, PaymentNotRecognised):
            return False
        if isinstance(error.__cause__, NoSuchPayment):
            raise WebhookRefused("the notice names a payment that its provider does not know") from error
        raise
    return True


async def cancel_payment(context: PaymentContext, payment_id: UUID) -> bool:
    """Cancel a payment attempt at the provider; False if it must be tried again later."""
    return await leases.run_leased_external_call_flow(context.db, _CancelPayment(context, payment_id))


async def charge_or_resume_interrupted_payment(context: PaymentContext, payment_id: UUID) -> None:
    """Charge a saved payment method, or finish a call that a crash left unrecorded.

    Raises AccountPaused, ProviderUnavailable.
    """
    await leases.run_leased_external_call_flow(context.db, _FinishPayment(context, payment_id))


async def refresh_saved_payment_method(context: PaymentContext, provider_method_id: str) -> bool:
    """Refresh a saved payment method that its bank may have renewed; False if no subscription uses it.

    Raises ProviderUnavailable.
    """
    provider = context.provider
    async with context.db.read() as tx:
        plan_ids = await donation_subscriptions.list_ids_using_payment_method(tx, provider.name, provider_method_id)
        subscription = await donation_subscriptions.get(tx, ALL_PARTNERS, plan_ids[0]) if plan_ids else None
    if subscription is None or subscription.payment_method is None:
        return False
    try:
        saved = await provider.fetch_payment_method(subscription.payment_method.customer_id, provider_method_id)
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    async with context.db.write() as tx:
        for subscription_id in plan_ids if saved is not None else ():
            subscription = await donation_subscriptions.get_for_update(tx, ALL_PARTNERS, subscription_id)
            if (
                subscription.payment_method is not None
                and saved is not None
                and subscription.payment_method.id == saved.id
            ):
                await donation_subscriptions.set_payment_method(tx, provider.name, subscription, saved)
    return True
