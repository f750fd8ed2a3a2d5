"""Stripe as a payment provider: redirects to Stripe Checkout, using its official library.

A payment is a Checkout Session; its PaymentIntent, which exists once somebody has tried to pay, is another ID of it. A
charge of a saved card is a PaymentIntent alone. Responses from Stripe are validated strictly; an unexpected form is a
failure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Final, Literal, NamedTuple

import stripe
from stripe.params import (
    ChargeListParams,
    DisputeListParams,
    DisputeUpdateParams,
    DisputeUpdateParamsEvidence,
    FileCreateParams,
    RefundCreateParams,
    RefundListParams,
)
from stripe.params.checkout import SessionCreateParams

from almoner.adapters import stripe_currencies, stripe_saved_methods, stripe_webhooks
from almoner.adapters.provider_payouts_stripe import StripePayoutReportSource
from almoner.adapters.stripe_client import StripeConnection, parse_response, translate_stripe_errors
from almoner.adapters.stripe_responses import (
    Charge,
    ChargeList,
    CheckoutSession,
    CheckoutSessionList,
    CheckoutSessionMetadata,
    CheckoutSessionMetadataList,
    Dispute,
    DisputeList,
    OffSessionIntent,
    PaymentIntent,
    Refund,
    RefundList,
    StripeFile,
    WebhookEndpointList,
)
from almoner.adapters.stripe_saved_methods import StripeSavedPaymentMethods
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
from almoner.adapters.stripe_webhooks import EVENTS
from almoner.giving.accounting.refunds.domain import ProviderRefundState
from almoner.giving.checkout.payments.domain import (
    DisputeEvidenceKind,
    DisputeStatus,
    EvidenceRefused,
    FeeSchedule,
    NoSuchPayment,
    PaymentNotRecognised,
    ProviderDispute,
    ProviderEvent,
    ProviderFailure,
    ProviderPayment,
    ProviderRefund,
    ProviderSetup,
    ProviderStatus,
    RefundRefused,
    SavedPaymentMethod,
)
from almoner.giving.checkout.payments.ports import (
    DisputeEvidence,
    OffSessionCharge,
    PaymentMethodSetupRequest,
    PaymentRequest,
    ProviderEvidenceFile,
)
from almoner.kit.money import Money

_NAME: Final = "stripe"
_ATTEMPTS_KEY: Final = "almoner_tries"
"""The metadata key of the limit of card attempts: Stripe has no such limit, so this adapter counts (H6)."""
_LONGEST_NAME: Final = 250
_PAGE: Final = 100
_NOT_ARRIVED: Final = frozenset({"failed", "canceled"})
_FOR_LATER: Final = frozenset({"lock_timeout", "insufficient_funds", "balance_insufficient", "api_key_expired"})
_NEEDS_RESPONSE: Final = "needs_response"
_DISPUTES: Final = {
    _NEEDS_RESPONSE: DisputeStatus.OPEN,
    "under_review": DisputeStatus.OPEN,
    "won": DisputeStatus.WON,
    "lost": DisputeStatus.LOST,
    "appeal_needs_response": DisputeStatus.LOST,
    "appeal_under_review": DisputeStatus.LOST,
}
"""The statuses in which money has been debited; not inquiries (``warning_...``) and ``prevented``."""
_EVIDENCE_FILES: Final[
    Mapping[
        DisputeEvidenceKind,
        Literal["receipt", "customer_communication", "service_documentation", "refund_policy", "uncategorized_file"],
    ]
] = {
    "receipt": "receipt",
    "customer_communication": "customer_communication",
    "service_documentation": "service_documentation",
    "refund_policy": "refund_policy",
    "other": "uncategorized_file",
}
_PAID_AT_ONCE: Final = frozenset({"card", "link"})
"""Payment methods whose charge succeeds when it is created; a direct debit, for example, takes days."""
_EXPAND: Final = "payment_intent.payment_method"
_SAVED: Final = "off_session"


@dataclass(frozen=True, slots=True)
class _OwnPayment:
    """One of our payments: a Checkout Session, or a charge of a saved card. ``id``: the ID we store."""

    id: str
    currency: str
    live: bool
    intent: PaymentIntent | None
    paid_on: CheckoutSession | OffSessionIntent


class WebhookEndpointCheck(NamedTuple):
    """Whether a webhook endpoint receives all required events, and what was found."""

    is_ok: bool
    finding: str


class StripeProvider:
    """The Stripe client with the account's key; created and closed inside the event loop."""

    def __init__(
        self,
        line: StripeConnection,
        *,
        webhook_secret: str,
        tariff: FeeSchedule,
        mark: str,
        pages_url: str = "https://checkout.stripe.com",
    ) -> None:
        """``pages_url``: scheme and host of Stripe's pages, or the account's own domain for them.

        ``mark``: identifies this deployment among others at the same account.

        Raises CurrencyTableMismatch; then the service does not start.
        """
        stripe_currencies.check_currency_table()
        self._line = line
        self._webhook_secret = webhook_secret
        self._tariff = tariff
        self._mark = mark
        self._origin = pages_url
        self._saved_methods = StripeSavedPaymentMethods(line, mark, pages_url)

    @property
    def name(self) -> str:
        """The provider's name as stored with each payment."""
        return _NAME

    @property
    def hosted_page_origin(self) -> str:
        """Scheme and host of its pages."""
        return self._origin

    @property
    def fee_schedule(self) -> FeeSchedule:
        """The fees that Stripe charges the account."""
        return self._tariff

    @property
    def currencies(self) -> Collection[str]:
        """The currencies in which Stripe accepts every amount."""
        return stripe_currencies.UNIT_FACTORS.keys()

    async def check_webhook_endpoint(self, url: str) -> WebhookEndpointCheck:
        """Check whether the webhook endpoint ``url`` at Stripe receives all required events.

        Raises ProviderFailure.
        """
        try:
            with translate_stripe_errors("the webhook endpoints"):
                answer = await self._line.client.v1.webhook_endpoints.list_async({"limit": 100})
        except ProviderFailure as failure:
            if isinstance(failure.__cause__, stripe.PermissionError):
                finding = "the key may not read webhook endpoints, so they were not looked at"
                return WebhookEndpointCheck(is_ok=True, finding=finding)
            raise
        ours = [one for one in parse_response(answer, WebhookEndpointList).data if one.url == url]
        if not ours:
            return WebhookEndpointCheck(is_ok=False, finding=f"Stripe has no webhook endpoint for {url}")
        enabled = [one for one in ours if one.status == "enabled"]
        if not enabled:
            return WebhookEndpointCheck(is_ok=False, finding=f"the webhook endpoint for {url} is disabled at Stripe")
        subscribed = {event for one in enabled for event in one.enabled_events}
        if missing := [event for event in EVENTS if not subscribed & {event, "*"}]:
            finding = f"the webhook endpoint for {url} does not receive {', '.join(missing)}"
            return WebhookEndpointCheck(is_ok=False, finding=finding)
        return WebhookEndpointCheck(is_ok=True, finding=f"told at {url}")

    async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
        """Create an open payment, or return the one created earlier with this key. Raises ProviderFailure."""
        params = _session_params(payment_request, self._mark)
        with translate_stripe_errors("a new payment"):
            answer = await self._line.client.v1.checkout.sessions.create_async(
                params, {"idempotency_key": payment_request.idempotency_key}
            )
        result = self._to_provider_payment(parse_response(answer, CheckoutSession), 0, None)
        if (
            result.money != payment_request.money
            or result.reference != payment_request.reference
            or result.payment_page_url is None
        ):
            raise ProviderFailure("Stripe returned a different payment")
        return result

    async def fetch_payment(self, payment_id: str) -> ProviderPayment:
        """Fetch the current state of a payment.

        If its card attempts are used up, it is closed (H6). Raises NoSuchPayment, ProviderFailure.
        """
        session = (await self._find(payment_id)).paid_on
        if isinstance(session, OffSessionIntent):
            return stripe_saved_methods.to_provider_payment(session)
        charges = await self._charges(session)
        attempts = _card_attempts(session, charges)
        if session.status == "open" and attempts >= _allowed_attempts(session):
            session = await self._expire(session)
        return self._to_provider_payment(session, attempts, _succeeded_at(charges))

    async def cancel_payment(self, payment_id: str) -> ProviderPayment:
        """Cancel an unpaid payment. Raises NoSuchPayment, ProviderFailure."""
        session = (await self._find(payment_id)).paid_on
        if isinstance(session, OffSessionIntent):
            return stripe_saved_methods.to_provider_payment(await self._saved_methods.cancel_intent(session))
        if session.status == "open":
            session = await self._expire(session)
        charges = await self._charges(session)
        return self._to_provider_payment(session, _card_attempts(session, charges), _succeeded_at(charges))

    async def charge_off_session(self, charge: OffSessionCharge) -> ProviderPayment:
        """Charge a saved card, or return the charge made earlier. Raises PaymentMethodGone, ProviderFailure."""
        return await self._saved_methods.charge_off_session(charge)

    async def find_charge(self, reference: str, customer_id: str) -> ProviderPayment | None:
        """Find the charge made with this reference. Raises ProviderFailure."""
        try:
            return await self._saved_methods.find_charge(reference, customer_id)
        except NoSuchPayment:  # the customer was deleted: earlier charges are reported by webhooks
            return None

    async def fetch_payment_method(self, customer_id: str, payment_method_id: str) -> SavedPaymentMethod | None:
        """Fetch the current data of a saved card. Raises ProviderFailure."""
        return await self._saved_methods.fetch_payment_method(customer_id, payment_method_id)

    async def delete_payment_method(self, customer_id: str, payment_method_id: str) -> None:  # noqa: ARG002
        """Delete a saved card with its customer. Raises ProviderFailure."""
        await self._saved_methods.delete_customer(customer_id)

    async def create_payment_method_setup(self, setup_request: PaymentMethodSetupRequest) -> ProviderSetup:
        """Create a page that saves a card, or return the one created earlier with this key. Raises ProviderFailure."""
        return await self._saved_methods.create_payment_method_setup(setup_request)

    async def fetch_payment_method_setup(self, setup_id: str) -> ProviderSetup:
        """Fetch the current state of a page that saves a card. Raises NoSuchPayment, ProviderFailure."""
        return await self._saved_methods.fetch_payment_method_setup(setup_id)

    async def refund_payment(self, payment_id: str, idempotency_key: str, money: Money) -> ProviderRefund:
        """Refund part or all of a paid payment. Raises NoSuchPayment, RefundRefused, ProviderFailure."""
        paid = await self._find(payment_id)
        intent = paid.intent
        if intent is None or paid.currency.upper() != money.currency:
            raise RefundRefused("Stripe has no money for this payment in this currency")
        result = await self._refunded(intent, idempotency_key) or await self._send_back(intent, idempotency_key, money)
        if result.payment_intent != intent.id or from_stripe_amount(result.amount, result.currency) != money:
            raise ProviderFailure("Stripe returned a different refund")
        if result.status in _NOT_ARRIVED:
            raise RefundRefused(f"Stripe says that the refund is {result.status}")
        return ProviderRefund(result.id, money)

    async def _refunded(self, intent: PaymentIntent, key: str) -> Refund | None:
        """The refund made with this key: Stripe forgets keys after a day, but a lost response may be older (I6)."""
        more, asked = True, RefundListParams(payment_intent=intent.id, limit=_PAGE)
        while more:
            with translate_stripe_errors("refunds"):
                page = parse_response(await self._line.client.v1.refunds.list_async(asked), RefundList)
            if result := next((one for one in page.data if (one.metadata or {}).get(REFERENCE_KEY) == key), None):
                return result
            more = page.has_more and bool(page.data)
            asked["starting_after"] = page.data[-1].id if more else ""
        return None

    async def _send_back(self, intent: PaymentIntent, key: str, money: Money) -> Refund:
        params: RefundCreateParams = {
            "payment_intent": intent.id,
            "amount": to_stripe_amount(money),
            "metadata": {REFERENCE_KEY: key},
        }
        with translate_stripe_errors("a refund"):
            try:
                answer = await self._line.client.v1.refunds.create_async(params, {"idempotency_key": key})
            except stripe.InvalidRequestError as error:
                if error.http_status == 404 or error.code in _FOR_LATER:
                    raise
                raise RefundRefused(f"Stripe says that it cannot refund this: {error.code or error.param}") from error
        return parse_response(answer, Refund)

    async def fetch_refund(self, payment_id: str, refund_id: str) -> ProviderRefundState:
        """Fetch the current state of a refund. Raises NoSuchPayment, PaymentNotRecognised, ProviderFailure."""
        paid = await self._find(payment_id)
        with translate_stripe_errors(refund_id):
            result = parse_response(await self._line.client.v1.refunds.retrieve_async(refund_id), Refund)
        own = paid.intent is not None and result.payment_intent == paid.intent.id
        failed = result.status in _NOT_ARRIVED
        return ProviderRefundState(
            result.id,
            paid.id if own else result.payment_intent or "",
            from_stripe_amount(result.amount, result.currency),
            is_live=paid.live,
            failure_reason=f"{result.status}: {result.failure_reason or 'no reason given'}" if failed else None,
        )

    def refund_status_reader(self) -> "StripeProvider":
        """The reader of refund statuses, including refunds that fail later."""
        return self

    async def list_disputes(self, payment_id: str) -> list[ProviderDispute]:
        """The disputes of a payment, oldest first. Raises NoSuchPayment, ProviderFailure."""
        paid = await self._find(payment_id)
        if paid.intent is None:
            return []
        asked: DisputeListParams = {"payment_intent": paid.intent.id, "limit": _PAGE}
        with translate_stripe_errors("disputes"):
            answer = await self._line.client.v1.disputes.list_async(asked)
        found = [one for one in parse_response(answer, DisputeList).data if one.status in _DISPUTES]
        if any(one.payment_intent != paid.intent.id for one in found):
            raise ProviderFailure("Stripe returned disputes for another payment")
        return [
            _dispute(one, "" if payment_id == paid.id else paid.id)
            for one in sorted(found, key=lambda one: (one.created, one.id))
        ]

    async def submit_evidence(self, dispute_id: str, evidence: DisputeEvidence) -> None:
        """Submit evidence for an open dispute, once for each key. Raises EvidenceRefused, ProviderFailure."""
        disputes = self._line.client.v1.disputes
        with _translate_evidence_errors("a dispute", "Stripe says that it cannot accept this"):
            found = parse_response(await disputes.retrieve_async(dispute_id), Dispute)
        if (found.metadata or {}).get(REFERENCE_KEY) == evidence.idempotency_key:
            return  # Stripe forgets keys after a day; a lost response may be older (I6)
        if found.status != _NEEDS_RESPONSE or found.evidence_details.submission_count:
            raise EvidenceRefused("Stripe accepts no evidence for this dispute, or has evidence from its dashboard")
        sent: DisputeUpdateParamsEvidence = {}
        if evidence.product_description:
            sent["product_description"] = evidence.product_description
        if evidence.explanation:
            sent["uncategorized_text"] = evidence.explanation
        for one in evidence.files:
            sent[_EVIDENCE_FILES[one.kind]] = await self._upload_evidence(evidence.idempotency_key, one)
        params: DisputeUpdateParams = {
            "evidence": sent,
            "metadata": {REFERENCE_KEY: evidence.idempotency_key},
            "submit": True,
        }
        with _translate_evidence_errors("evidence", "Stripe says that it cannot accept this"):
            await disputes.update_async(dispute_id, params, {"idempotency_key": evidence.idempotency_key})

    async def _upload_evidence(self, key: str, file: ProviderEvidenceFile) -> str:
        """Upload a file and return Stripe's ID of it. Stripe checks the file against the extension of its name."""
        content = BytesIO(file.content)
        content.name = f"{file.kind}.{file.media_type.rpartition('/')[2]}"
        params: FileCreateParams = {"purpose": "dispute_evidence", "file": content}
        with _translate_evidence_errors("a file", f"Stripe cannot accept the file {file.name}"):
            made = await self._line.client.v1.files.create_async(params, {"idempotency_key": f"{key}:{file.kind}"})
        return parse_response(made, StripeFile).id

    def parse_webhook(self, headers: Mapping[str, str], body: bytes, received_at: datetime) -> ProviderEvent | None:
        """Parse a webhook with a valid signature, at most five minutes old. Raises WebhookRefused."""
        return stripe_webhooks.parse_webhook(self._webhook_secret, headers, body, received_at)

    def payout_report_source(self) -> StripePayoutReportSource:
        """The reports of Stripe's payouts to us."""
        return StripePayoutReportSource(_NAME, self._line, self._stored_id)

    async def _stored_id(self, payment: str) -> str | None:
        """The ID under which we store a payment; None if it is not ours."""
        try:
            return (await self._find(payment)).id
        except NoSuchPayment:
            return None

    async def close(self) -> None:
        """Close the connections."""
        await self._line.close()

    async def _find(self, payment: str) -> _OwnPayment:
        """Find our payment by any Stripe payment ID. Raises NoSuchPayment, PaymentNotRecognised if it is not ours."""
        session = await self._session(payment)
        if session is None:
            intent = await self._saved_methods.fetch_intent(payment)
            return _OwnPayment(intent.id, intent.currency, intent.livemode, intent, intent)
        return _OwnPayment(session.id, session.currency, session.livemode, session.payment_intent, session)

    async def _session(self, payment: str) -> CheckoutSession | None:
        """The Checkout Session behind any payment ID; None for a PaymentIntent that has none.

        Raises NoSuchPayment, PaymentNotRecognised if it is not ours.
        """
        if not stripe_webhooks.PAYMENT_ID.fullmatch(payment):
            raise NoSuchPayment(payment)
        sessions = self._line.client.v1.checkout.sessions
        with translate_stripe_errors(payment):
            if payment.startswith("cs_"):
                answer: object = await sessions.retrieve_async(payment, {"expand": [_EXPAND]})
                marks = [parse_response(answer, CheckoutSessionMetadata)]
            else:
                answer = await sessions.list_async({"payment_intent": payment, "expand": [f"data.{_EXPAND}"]})
                marks = parse_response(answer, CheckoutSessionMetadataList).data
        if not marks:
            return None
        if len(marks) != 1 or not is_created_by_deployment(marks[0].metadata or {}, self._mark):
            raise PaymentNotRecognised(payment)
        return (
            parse_response(answer, CheckoutSession)
            if payment.startswith("cs_")
            else parse_response(answer, CheckoutSessionList).data[0]
        )

    async def _charges(self, session: CheckoutSession) -> list[Charge]:
        """The charges of a session, newest first."""
        intent = session.payment_intent
        if intent is None:
            return []
        asked: ChargeListParams = {"payment_intent": intent.id, "limit": _PAGE}
        with translate_stripe_errors("tries"):
            answer = await self._line.client.v1.charges.list_async(asked)
        return parse_response(answer, ChargeList).data

    async def _expire(self, session: CheckoutSession) -> CheckoutSession:
        """Expire an open session; if it was paid at the same moment, return it as paid."""
        try:
            with translate_stripe_errors(session.id):
                answer = await self._line.client.v1.checkout.sessions.expire_async(session.id, {"expand": [_EXPAND]})
        except ProviderFailure:
            ended = await self._session(session.id)
            if ended is None or ended.status == "open":
                raise
            return ended
        return parse_response(answer, CheckoutSession)

    def _to_provider_payment(
        self, session: CheckoutSession, attempts: int, succeeded_at: datetime | None
    ) -> ProviderPayment:
        intent, url = session.payment_intent, session.url
        if url is not None and not url.startswith(self._origin + "/"):
            raise ProviderFailure("Stripe's payment page is at an unexpected address")
        status = _status(session, attempts)
        money = from_stripe_amount(session.amount_total, session.currency)
        if intent is not None and status is ProviderStatus.SUCCEEDED:
            money = from_stripe_amount(intent.amount_received, intent.currency)
        saved = None
        if intent is not None and intent.setup_future_usage == _SAVED and status is ProviderStatus.SUCCEEDED:
            saved = to_saved_payment_method(intent.payment_method)
        others = intent is not None and any((intent.on_behalf_of, intent.transfer_data, intent.application))
        return ProviderPayment(
            session.id,
            url,
            status,
            money,
            session.client_reference_id or "",
            attempts,
            session.livemode,
            goes_to_our_account=not others,
            payment_method=saved,
            succeeded_at=succeeded_at if status is ProviderStatus.SUCCEEDED else None,
        )


def _session_params(order: PaymentRequest, mark: str) -> SessionCreateParams:
    """The parameters of a Checkout Session, built only from stored data, so that a retry sends the same request."""
    marks = {REFERENCE_KEY: order.reference, DEPLOYMENT_KEY: mark, _ATTEMPTS_KEY: str(order.max_card_attempts)}
    params: SessionCreateParams = {
        "mode": "payment",
        "submit_type": "donate",
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": order.money.currency.lower(),
                    "unit_amount": to_stripe_amount(order.money),
                    "product_data": {"name": order.description[:_LONGEST_NAME]},
                },
            }
        ],
        "adaptive_pricing": {"enabled": False},  # donors pay in the currency requested
        "client_reference_id": order.reference,
        "metadata": marks,
        "payment_intent_data": {"metadata": marks},
        "success_url": order.return_url,
        "cancel_url": order.cancel_url,
        "locale": checkout_locale(order.language),
        "expand": [_EXPAND],
    }
    if (use := order.future_use_consent) is not None:
        agreed = {**marks, AGREEMENT_KEY: use.text_version}
        params["metadata"] = agreed
        params["payment_intent_data"] = {"metadata": agreed, "setup_future_usage": _SAVED}
        params["allowed_payment_method_types"] = ["card"]
        params["customer_creation"] = "always"  # a card is saved only with a customer
        params["customer_email"] = use.email
        params["custom_text"] = {"submit": {"message": use.text}}
    return params


def _card_attempts(session: CheckoutSession, charges: Sequence[Charge]) -> int:
    """The number of card attempts: each leaves a charge, or an error if its bank was never contacted."""
    intent = session.payment_intent
    return max(len(charges), int(intent is not None and intent.last_payment_error is not None))


def _succeeded_at(charges: Sequence[Charge]) -> datetime | None:
    """When the successful charge of a session succeeded; None if its payment method does not succeed at once."""
    for one in charges:
        method = one.payment_method_details
        if one.status == "succeeded" and method is not None and method.type in _PAID_AT_ONCE:
            return datetime.fromtimestamp(one.created, UTC)
    return None


def _allowed_attempts(session: CheckoutSession) -> int:
    allowed = session.metadata.get(_ATTEMPTS_KEY, "")
    return int(allowed) if allowed.isascii() and allowed.isdigit() and len(allowed) < 4 else 1


def _status(session: CheckoutSession, attempts: int) -> ProviderStatus:
    intent = session.payment_intent
    if session.payment_status == "no_payment_required":
        raise ProviderFailure("Stripe did not set an amount for the payment")
    if session.status == "open":
        busy = intent is not None and intent.status == "processing"
        return ProviderStatus.PROCESSING if busy else ProviderStatus.OPEN
    if session.status == "expired":
        return (
            ProviderStatus.FAILED if attempts and attempts >= _allowed_attempts(session) else ProviderStatus.CANCELLED
        )
    if session.payment_status == "paid":
        return ProviderStatus.SUCCEEDED
    # Complete and unpaid: the donor's bank takes days, or has declined.
    if intent is not None and intent.status in ("requires_payment_method", "canceled"):
        return ProviderStatus.FAILED
    return ProviderStatus.PROCESSING


@contextmanager
def _translate_evidence_errors(what: str, refused: str) -> Iterator[None]:
    """Raise EvidenceRefused, starting with ``refused``, for errors that a retry cannot fix.

    ``what``: what was requested.
    """
    with translate_stripe_errors(what):
        try:
            yield
        except stripe.PermissionError as error:
            raise EvidenceRefused("The Stripe API key needs the permissions to write files and disputes") from error
        except stripe.InvalidRequestError as error:
            if error.http_status == 404 or error.code in _FOR_LATER:
                raise
            raise EvidenceRefused(f"{refused}: {error.code or error.param or 'no code'}") from error


def _dispute(found: Dispute, kept_as: str) -> ProviderDispute:
    return ProviderDispute(
        found.id,
        from_stripe_amount(found.amount, found.currency),
        _DISPUTES[found.status],
        found.reason,
        datetime.fromtimestamp(found.created, UTC),
        is_live_mode=found.livemode,
        payment_id=kept_as,
        evidence_due_at=datetime.fromtimestamp(found.evidence_details.due_by, UTC)
        if found.status == _NEEDS_RESPONSE and found.evidence_details.due_by is not None
        else None,
    )
