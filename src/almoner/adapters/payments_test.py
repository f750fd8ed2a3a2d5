"""The built-in test provider as a payment provider: its HTTP API and its signed webhooks."""

import hmac
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.checkout.payments.domain import (
    Decline,
    DeclineAction,
    DisputeStatus,
    EvidenceRefused,
    FeeSchedule,
    NoSuchPayment,
    PaymentMethodGone,
    ProviderDispute,
    ProviderEvent,
    ProviderFailure,
    ProviderPayment,
    ProviderRefund,
    ProviderSetup,
    ProviderStatus,
    RefundRefused,
    SavedPaymentMethod,
    WebhookRefused,
)
from almoner.giving.checkout.payments.ports import (
    DisputeEvidence,
    FutureUseConsent,
    OffSessionCharge,
    PaymentMethodSetupRequest,
    PaymentRequest,
)
from almoner.kit.money import EXPONENTS, MAX_MINOR, Money
from almoner.platform.database import transactions
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.jobs.outside import free_job_slot_while_waiting
from almoner.platform.outbound.lookups import open_http_session

_T = TypeVar("_T", bound=msgspec.Struct)

_NAME: Final = "test"
_MAX_AGE_SECONDS: Final = 300
_TARIFF: Final = FeeSchedule(basis_points=250)
_TIMEOUT: Final = aiohttp.ClientTimeout(total=15, connect=3)
_MOST_BYTES: Final = 65_536
_SIGNATURE: Final = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})", re.ASCII)

_SUBJECTS: Final[Mapping[str, Literal["dispute", "setup", "payment_method"]]] = {
    "dispute": "dispute",
    "setup": "setup",
    "payment_method": "payment_method",
}
_ACTIONS: Final = {
    "card_declined": DeclineAction.RETRY,
    "insufficient_funds": DeclineAction.RETRY,
    "lost_card": DeclineAction.NEVER,
    "authentication_required": DeclineAction.AUTHENTICATE,
    "expired_card": DeclineAction.ASK_DONOR,
    "revocation_of_authorization": DeclineAction.REVOKED,
}

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Url = Annotated[str, msgspec.Meta(pattern="^https?://", max_length=2048)]


class _PaymentMethod(msgspec.Struct, frozen=True, rename="camel"):
    """A saved card in the provider's response."""

    id: _Text
    customer: _Text
    brand: _Text
    last_four: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}\Z")]
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)]


class _Setup(msgspec.Struct, frozen=True, rename="camel"):
    """A page that saves a card in the provider's response."""

    id: _Text
    kind: Literal["setup"]
    url: _Url
    status: ProviderStatus
    reference: _Text
    payment_method: _PaymentMethod | None = None
    livemode: bool = False


class _Payment(msgspec.Struct, frozen=True, rename="camel"):
    """A payment in the provider's response."""

    id: _Text
    url: _Url | None
    status: ProviderStatus
    amount: Annotated[int, msgspec.Meta(ge=1, le=MAX_MINOR)]
    currency: str
    reference: _Text
    kind: Literal["payment", "charge"] = "payment"
    attempts: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    last_decline: str | None = None
    payment_method: _PaymentMethod | None = None
    succeeded_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    livemode: bool = False


class _Refund(msgspec.Struct, frozen=True):
    """A refund in the provider's response."""

    id: _Text
    payment: _Text
    amount: Annotated[int, msgspec.Meta(ge=1, le=MAX_MINOR)]
    currency: str


class _Dispute(msgspec.Struct, frozen=True, rename="camel"):
    """A dispute in the provider's response."""

    id: _Text
    payment: _Text
    amount: Annotated[int, msgspec.Meta(ge=1, le=MAX_MINOR)]
    currency: str
    status: DisputeStatus
    reason: _Text
    opened_at: Annotated[datetime, msgspec.Meta(tz=True)]
    evidence_due_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    livemode: bool = False


class _File(msgspec.Struct, frozen=True):
    """An uploaded file in the provider's response."""

    id: _Text


class _Disputes(msgspec.Struct, frozen=True):
    """The disputes of one payment."""

    data: list[_Dispute]


class _WebhookBody(msgspec.Struct, frozen=True):
    """The body of the provider's webhook."""

    id: _Text
    type: _Text
    payment: Annotated[str, msgspec.Meta(pattern=r"^tpm?_[0-9A-Za-z_]{1,100}\Z")]
    livemode: bool


class TestProvider:
    """The client of the test payment provider at ``url``. ``secret`` signs requests and webhooks."""

    __test__ = False  # not a test class

    def __init__(self, url: str, secret: str, identity: DeploymentIdentity | None = None) -> None:
        self._identity = identity or DeploymentIdentity()
        self._url = url.rstrip("/")
        self._secret = secret
        self._session = open_http_session(_TIMEOUT)

    @property
    def name(self) -> str:
        """The provider's name as stored with each payment."""
        return _NAME

    @property
    def hosted_page_origin(self) -> str:
        """Scheme, host and port of its pages."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def fee_schedule(self) -> FeeSchedule:
        """The fee for each payment."""
        return _TARIFF

    @property
    def currencies(self) -> Collection[str]:
        """All currencies."""
        return EXPONENTS.keys()

    async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
        """Create an open payment, or return the one created earlier with this key. Raises ProviderFailure."""
        body = {
            "amount": payment_request.money.minor,
            "currency": payment_request.money.currency,
            "description": payment_request.description,
            "reference": payment_request.reference,
            "returnUrl": payment_request.return_url,
            "cancelUrl": payment_request.cancel_url,
            "callbackUrl": payment_request.callback_url,
            "language": payment_request.language,
            "maxAttempts": payment_request.max_card_attempts,
            "agreement": payment_request.future_use_consent and _agreement(payment_request.future_use_consent),
        }
        return _parse_payment(await self._create("/v1/payments", payment_request.idempotency_key, body))

    async def charge_off_session(self, charge: OffSessionCharge) -> ProviderPayment:
        """Charge a saved card; a decline is a result, not an error. Raises PaymentMethodGone, ProviderFailure."""
        body = {
            "amount": charge.money.minor,
            "currency": charge.money.currency,
            "description": charge.description,
            "reference": charge.reference,
            "customer": charge.customer_id,
            "paymentMethod": charge.payment_method_id,
            "firstPayment": charge.first_payment_id,
            "callbackUrl": charge.callback_url,
            "language": charge.language,
        }
        try:
            return _parse_payment(await self._create("/v1/charges", charge.idempotency_key, body))
        except NoSuchPayment:
            raise PaymentMethodGone(charge.payment_method_id) from None

    async def find_charge(self, reference: str, customer_id: str) -> ProviderPayment | None:  # noqa: ARG002
        """Find the charge with this reference. Raises ProviderFailure."""
        try:
            return _parse_payment(await self._request("GET", f"/v1/charges/{quote(reference, safe='')}"))
        except NoSuchPayment:
            return None

    async def fetch_payment_method(self, customer_id: str, payment_method_id: str) -> SavedPaymentMethod | None:
        """Fetch the current data of a saved card; None if it was deleted. Raises ProviderFailure."""
        try:
            answer = await self._request("GET", _method_path(customer_id, payment_method_id))
        except NoSuchPayment:
            return None
        return _saved(_parse_response(answer, _PaymentMethod))

    async def delete_payment_method(self, customer_id: str, payment_method_id: str) -> None:
        """Delete a saved card. Raises ProviderFailure."""
        await self._request("DELETE", _method_path(customer_id, payment_method_id))

    async def create_payment_method_setup(self, setup_request: PaymentMethodSetupRequest) -> ProviderSetup:
        """Create a page that saves a card, or return the one created earlier with this key. Raises ProviderFailure."""
        body = {
            "currency": setup_request.currency,
            "description": setup_request.description,
            "reference": setup_request.reference,
            "returnUrl": setup_request.return_url,
            "cancelUrl": setup_request.cancel_url,
            "callbackUrl": setup_request.callback_url,
            "language": setup_request.language,
            "agreement": _agreement(setup_request.future_use_consent),
        }
        return _parse_setup(await self._create("/v1/setups", setup_request.idempotency_key, body))

    async def fetch_payment_method_setup(self, setup_id: str) -> ProviderSetup:
        """Fetch the current state of a page that saves a card. Raises NoSuchPayment, ProviderFailure."""
        return _parse_setup(await self._request("GET", f"/v1/payments/{quote(setup_id, safe='')}"))

    async def fetch_payment(self, payment_id: str) -> ProviderPayment:
        """Fetch the current state of a payment. Raises NoSuchPayment, ProviderFailure."""
        return _parse_payment(await self._request("GET", f"/v1/payments/{quote(payment_id, safe='')}"))

    async def cancel_payment(self, payment_id: str) -> ProviderPayment:
        """Cancel an unpaid payment. Raises NoSuchPayment, ProviderFailure."""
        return _parse_payment(await self._request("POST", f"/v1/payments/{quote(payment_id, safe='')}/cancel"))

    async def refund_payment(self, payment_id: str, idempotency_key: str, money: Money) -> ProviderRefund:
        """Refund part or all of a paid payment. Raises NoSuchPayment, RefundRefused, ProviderFailure."""
        path = f"/v1/payments/{quote(payment_id, safe='')}/refunds"
        body = {"amount": money.minor, "currency": money.currency}
        result = _parse_response(await self._create(path, idempotency_key, body), _Refund)
        if (result.payment, result.amount, result.currency) != (payment_id, money.minor, money.currency):
            raise ProviderFailure("the provider returned a different refund")
        return ProviderRefund(result.id, money)

    async def list_disputes(self, payment_id: str) -> list[ProviderDispute]:
        """The disputes of a payment, oldest first. Raises NoSuchPayment, ProviderFailure."""
        shown = _parse_response(
            await self._request("GET", f"/v1/payments/{quote(payment_id, safe='')}/disputes"), _Disputes
        )
        if any(one.payment != payment_id or one.currency not in EXPONENTS for one in shown.data):
            raise ProviderFailure("the provider returned disputes for another payment or without a valid currency")
        return [
            ProviderDispute(
                one.id,
                Money(one.amount, one.currency),
                one.status,
                one.reason,
                one.opened_at,
                is_live_mode=one.livemode,
                evidence_due_at=one.evidence_due_at,
            )
            for one in shown.data
        ]

    async def submit_evidence(self, dispute_id: str, evidence: DisputeEvidence) -> None:
        """Submit evidence for an open dispute, once for each key. Raises EvidenceRefused, ProviderFailure."""
        files: dict[str, str] = {}
        for one in evidence.files:
            headers = {"Idempotency-Key": f"{evidence.idempotency_key}:{one.kind}", "Content-Type": one.media_type}
            made = await self._request("POST", "/v1/files", headers, one.content)
            files[one.kind] = _parse_response(made, _File).id
        body = {
            "productDescription": evidence.product_description,
            "explanation": evidence.explanation,
            "files": files,
        }
        try:
            await self._create(f"/v1/disputes/{quote(dispute_id, safe='')}/evidence", evidence.idempotency_key, body)
        except RefundRefused as refused:
            raise EvidenceRefused(
                "the provider does not accept evidence for this dispute, or has stopped accepting it"
            ) from refused

    def parse_webhook(self, headers: Mapping[str, str], body: bytes, received_at: datetime) -> ProviderEvent:
        """Parse a webhook with a valid signature, at most five minutes old. Raises WebhookRefused."""
        match = _SIGNATURE.fullmatch(headers.get("provider-signature", ""))
        if match is None:
            raise WebhookRefused("header.Provider-Signature must be t=<unix seconds>,v1=<hex HMAC-SHA256>")
        expected = hmac.new(self._secret.encode(), f"{match[1]}.".encode() + body, "sha256").hexdigest()
        if not hmac.compare_digest(expected, match[2]):
            raise WebhookRefused("header.Provider-Signature does not match the body")
        if abs(received_at.timestamp() - int(match[1])) > _MAX_AGE_SECONDS:
            raise WebhookRefused("header.Provider-Signature is older than five minutes")
        try:
            notice = msgspec.json.decode(body, type=_WebhookBody)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise WebhookRefused("body is not a webhook from this provider") from None
        return ProviderEvent(
            notice.id,
            notice.type,
            notice.payment,
            notice.livemode,
            _SUBJECTS.get(notice.type.partition(".")[0], "payment"),
        )

    def refund_status_reader(self) -> RefundStatusReader | None:
        """None: refunds of the test provider never fail later."""
        return None

    def payout_report_source(self) -> PayoutReportSource | None:
        """None: the test provider pays out nothing; settlements are simulated."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _create(self, path: str, key: str, body: Mapping[str, object]) -> bytes:
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        return await self._request("POST", path, headers, msgspec.json.encode(body))

    async def _request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> bytes:
        if transactions.is_inside_transaction():
            raise RuntimeError("the payment provider was asked inside a transaction; ask it between two of them")
        self._identity.ensure_active()
        sent = {"Authorization": f"Bearer {self._secret}", **(headers or {})}
        try:
            with free_job_slot_while_waiting():
                async with self._session.request(
                    method, self._url + path, data=body, headers=sent, allow_redirects=False
                ) as response:
                    content = b""
                    while len(content) < _MOST_BYTES and not response.content.at_eof():
                        content += await response.content.read(_MOST_BYTES - len(content))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ProviderFailure(f"the provider cannot be reached: {type(error).__name__}") from error
        if response.status == 404:
            raise NoSuchPayment(path)
        if response.status == 422:
            raise RefundRefused("the provider says that the payment cannot be refunded")
        if response.status != 200:
            raise ProviderFailure(f"the provider returned status {response.status}")
        return content


def _parse_response(content: bytes, form: type[_T]) -> _T:
    try:
        return msgspec.json.decode(content, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProviderFailure("the provider's response could not be read") from error


def _parse_payment(content: bytes) -> ProviderPayment:
    shown = _parse_response(content, _Payment)
    if shown.currency not in EXPONENTS:
        raise ProviderFailure("the provider's response has no valid currency")
    return ProviderPayment(
        shown.id,
        shown.url,
        shown.status,
        Money(shown.amount, shown.currency),
        shown.reference,
        shown.attempts,
        shown.livemode,
        payment_method=_saved(shown.payment_method) if shown.payment_method else None,
        decline=_decline(shown),
        succeeded_at=shown.succeeded_at and shown.succeeded_at.astimezone(UTC),
    )


def _parse_setup(content: bytes) -> ProviderSetup:
    shown = _parse_response(content, _Setup)
    return ProviderSetup(
        shown.id,
        shown.url,
        shown.status,
        shown.reference,
        shown.livemode,
        _saved(shown.payment_method) if shown.payment_method else None,
    )


def _decline(shown: _Payment) -> Decline | None:
    """Why a charge failed; unknown reasons are retried on another day."""
    if shown.kind != "charge" or shown.status is not ProviderStatus.FAILED or shown.last_decline is None:
        return None
    return Decline(_ACTIONS.get(shown.last_decline, DeclineAction.RETRY), shown.last_decline)


def _saved(method: _PaymentMethod) -> SavedPaymentMethod:
    return SavedPaymentMethod(
        method.customer, method.id, "card", method.brand, method.last_four, method.expires_at.astimezone(UTC)
    )


def _agreement(use: FutureUseConsent) -> dict[str, str]:
    return {"text": use.text, "version": use.text_version, "email": use.email}


def _method_path(customer: str, payment_method: str) -> str:
    return f"/v1/customers/{quote(customer, safe='')}/payment-methods/{quote(payment_method, safe='')}"
