"""Donors' saved cards at Stripe: charged off-session, read, deleted and replaced.

Each saved card has a Customer of its own, who is deleted with it. Stripe links later charges to the payment in which
the donor agreed by Customer and PaymentMethod.
"""

from datetime import UTC, datetime
from typing import Final

import msgspec
import stripe
from stripe.params import PaymentIntentCreateParams, PaymentIntentListParams
from stripe.params.checkout import SessionCreateParams

from almoner.adapters import stripe_declines
from almoner.adapters.stripe_client import StripeConnection, parse_response, translate_stripe_errors
from almoner.adapters.stripe_declines import ChargeErrorDetails
from almoner.adapters.stripe_responses import (
    DeletedObject,
    ObjectMetadata,
    OffSessionIntent,
    OffSessionIntentList,
    PaymentMethod,
    SetupSession,
)
from almoner.adapters.stripe_values import (
    AGREEMENT_KEY,
    DEPLOYMENT_KEY,
    REFERENCE_KEY,
    checkout_locale,
    from_stripe_amount,
    is_created_by_deployment,
    to_saved_payment_method,
    to_stripe_amount,
)
from almoner.giving.checkout.payments.domain import (
    Decline,
    DeclineAction,
    NoSuchPayment,
    PaymentMethodGone,
    PaymentNotRecognised,
    ProviderFailure,
    ProviderPayment,
    ProviderSetup,
    ProviderStatus,
    SavedPaymentMethod,
)
from almoner.giving.checkout.payments.ports import OffSessionCharge, PaymentMethodSetupRequest

_FIRST_PAYMENT_KEY: Final = "almoner_first_payment"
"""The metadata key of the payment in which the donor agreed to later charges."""
_PAGE: Final = 100
_CANCELLABLE: Final = frozenset({"requires_action", "requires_confirmation", "requires_capture"})
_STATUSES: Final = {
    "succeeded": ProviderStatus.SUCCEEDED,
    "canceled": ProviderStatus.CANCELLED,
    "requires_payment_method": ProviderStatus.FAILED,
    "requires_action": ProviderStatus.FAILED,
}
"""The statuses of a charge without the donor; all others are pending."""


class _DeclineError(msgspec.Struct, frozen=True):
    payment_intent: OffSessionIntent


class _DeclinedCharge(msgspec.Struct, frozen=True):
    """The response to a declined charge."""

    error: _DeclineError


class StripeSavedPaymentMethods:
    """The calls for saved cards.

    ``mark``: identifies this deployment. ``origin``: scheme and host of Stripe's pages.
    """

    def __init__(self, line: StripeConnection, mark: str, origin: str) -> None:
        self._line = line
        self._mark = mark
        self._origin = origin

    async def charge_off_session(self, charge: OffSessionCharge) -> ProviderPayment:
        """Charge a saved card once, even after Stripe has forgotten the idempotency key (I6).

        Raises PaymentMethodGone, ProviderFailure.
        """
        try:
            result = await self.find_charge(charge.reference, charge.customer_id) or to_provider_payment(
                await self._charge(charge)
            )
        except NoSuchPayment:
            raise PaymentMethodGone(charge.payment_method_id) from None
        if result.money != charge.money or result.reference != charge.reference:
            raise ProviderFailure("Stripe returned a different charge")
        return result

    async def _charge(self, charge: OffSessionCharge) -> OffSessionIntent:
        params: PaymentIntentCreateParams = {
            "amount": to_stripe_amount(charge.money),
            "currency": charge.money.currency.lower(),
            "customer": charge.customer_id,
            "payment_method": charge.payment_method_id,
            "allowed_payment_method_types": ["card"],
            "confirm": True,
            "off_session": "recurring",
            "description": charge.description,
            "metadata": {
                REFERENCE_KEY: charge.reference,
                DEPLOYMENT_KEY: self._mark,
                _FIRST_PAYMENT_KEY: charge.first_payment_id,
            },
        }
        with translate_stripe_errors("a charge"):
            try:
                answer = await self._line.client.v1.payment_intents.create_async(
                    params, {"idempotency_key": charge.idempotency_key}
                )
            except stripe.CardError as declined:
                return _declined_intent(declined)
            except stripe.InvalidRequestError as error:
                if error.param == "payment_method":
                    raise PaymentMethodGone(charge.payment_method_id) from error
                raise
        return parse_response(answer, OffSessionIntent)

    async def find_charge(self, reference: str, customer_id: str) -> ProviderPayment | None:
        """Find the charge with this reference. Raises NoSuchPayment for a deleted customer."""
        more, asked = True, PaymentIntentListParams(customer=customer_id, limit=_PAGE)
        while more:
            with translate_stripe_errors("charges"):
                answer = await self._line.client.v1.payment_intents.list_async(asked)
            page = parse_response(answer, OffSessionIntentList)
            for one in page.data:
                if one.metadata.get(REFERENCE_KEY) == reference and is_created_by_deployment(one.metadata, self._mark):
                    return to_provider_payment(one)
            more = page.has_more and bool(page.data)
            asked["starting_after"] = page.data[-1].id if more else ""
        return None

    async def fetch_intent(self, intent_id: str) -> OffSessionIntent:
        """Find a charge that we created. Raises NoSuchPayment, PaymentNotRecognised, ProviderFailure."""
        with translate_stripe_errors(intent_id):
            answer = await self._line.client.v1.payment_intents.retrieve_async(intent_id)
        if not is_created_by_deployment(parse_response(answer, ObjectMetadata).metadata or {}, self._mark):
            raise PaymentNotRecognised(intent_id)
        return parse_response(answer, OffSessionIntent)

    async def cancel_intent(self, intent: OffSessionIntent) -> OffSessionIntent:
        """Cancel an unpaid charge."""
        if intent.status not in _CANCELLABLE:
            return intent
        with translate_stripe_errors(intent.id):
            answer = await self._line.client.v1.payment_intents.cancel_async(intent.id)
        return parse_response(answer, OffSessionIntent)

    async def fetch_payment_method(self, customer_id: str, payment_method_id: str) -> SavedPaymentMethod | None:
        """The current data of a saved card; None if it was deleted or is another customer's. Raises ProviderFailure."""
        try:
            with translate_stripe_errors("a saved card"):
                answer = await self._line.client.v1.payment_methods.retrieve_async(payment_method_id)
        except NoSuchPayment:
            return None
        found = to_saved_payment_method(parse_response(answer, PaymentMethod))
        return found if found is not None and found.customer_id == customer_id else None

    async def delete_customer(self, customer_id: str) -> None:
        """Delete a customer with the saved card. Raises ProviderFailure."""
        try:
            with translate_stripe_errors("a customer"):
                answer = await self._line.client.v1.customers.delete_async(customer_id)
        except NoSuchPayment:
            return
        if not parse_response(answer, DeletedObject).deleted:
            raise ProviderFailure("Stripe did not delete the customer")

    async def create_payment_method_setup(self, setup_request: PaymentMethodSetupRequest) -> ProviderSetup:
        """Create a page that saves a card, or return the one made with this key. Raises ProviderFailure."""
        marks = {
            REFERENCE_KEY: setup_request.reference,
            DEPLOYMENT_KEY: self._mark,
            AGREEMENT_KEY: setup_request.future_use_consent.text_version,
        }
        params: SessionCreateParams = {
            "mode": "setup",
            "currency": setup_request.currency.lower(),
            "allowed_payment_method_types": ["card"],
            "customer_creation": "always",
            "customer_email": setup_request.future_use_consent.email,
            "custom_text": {"submit": {"message": setup_request.future_use_consent.text}},
            "client_reference_id": setup_request.reference,
            "metadata": marks,
            "setup_intent_data": {"metadata": marks, "description": setup_request.description},
            "success_url": setup_request.return_url,
            "cancel_url": setup_request.cancel_url,
            "locale": checkout_locale(setup_request.language),
            "expand": ["setup_intent.payment_method"],
        }
        with translate_stripe_errors("a new setup"):
            answer = await self._line.client.v1.checkout.sessions.create_async(
                params, {"idempotency_key": setup_request.idempotency_key}
            )
        return self._setup(parse_response(answer, SetupSession))

    async def fetch_payment_method_setup(self, setup_id: str) -> ProviderSetup:
        """The current state of a page to save a card. Raises NoSuchPayment, PaymentNotRecognised, ProviderFailure."""
        if not setup_id.startswith("cs_"):
            raise NoSuchPayment(setup_id)
        with translate_stripe_errors(setup_id):
            answer = await self._line.client.v1.checkout.sessions.retrieve_async(
                setup_id, {"expand": ["setup_intent.payment_method"]}
            )
        if not is_created_by_deployment(parse_response(answer, ObjectMetadata).metadata or {}, self._mark):
            raise PaymentNotRecognised(setup_id)
        return self._setup(parse_response(answer, SetupSession))

    def _setup(self, session: SetupSession) -> ProviderSetup:
        if session.url is not None and not session.url.startswith(self._origin + "/"):
            raise ProviderFailure("Stripe's page to save a card is at an unexpected address")
        intent = session.setup_intent
        saved = to_saved_payment_method(intent.payment_method) if intent and intent.status == "succeeded" else None
        status = {"open": ProviderStatus.OPEN, "expired": ProviderStatus.CANCELLED}.get(
            session.status, ProviderStatus.PROCESSING if saved is None else ProviderStatus.SUCCEEDED
        )
        return ProviderSetup(
            session.id,
            session.url,
            status,
            session.client_reference_id or "",
            session.livemode,
            saved if status is ProviderStatus.SUCCEEDED else None,
        )


def to_provider_payment(intent: OffSessionIntent) -> ProviderPayment:
    """Convert the charge of a saved card to a payment."""
    status = _STATUSES.get(intent.status, ProviderStatus.PROCESSING)
    paid = status is ProviderStatus.SUCCEEDED
    return ProviderPayment(
        intent.id,
        None,
        status,
        from_stripe_amount(intent.amount_received if paid else intent.amount, intent.currency),
        intent.metadata.get(REFERENCE_KEY, ""),
        1,
        intent.livemode,
        goes_to_our_account=not any((intent.on_behalf_of, intent.transfer_data, intent.application)),
        decline=_decline(intent) if status is ProviderStatus.FAILED else None,
        succeeded_at=datetime.fromtimestamp(intent.created, UTC) if paid else None,
    )


def _decline(intent: OffSessionIntent) -> Decline:
    if intent.status == "requires_action":
        return Decline(DeclineAction.AUTHENTICATE, "authentication_required")
    return stripe_declines.classify_decline(intent.last_payment_error or ChargeErrorDetails())


def _declined_intent(declined: stripe.CardError) -> OffSessionIntent:
    """The PaymentIntent that a decline leaves behind. Raises ProviderFailure."""
    try:
        return msgspec.convert(declined.json_body, _DeclinedCharge).error.payment_intent
    except msgspec.ValidationError as wrong:
        raise ProviderFailure(f"Stripe sent an unexpected response: {wrong}") from declined
