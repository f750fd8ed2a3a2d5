"""The provider's API for the merchant: payments, saved cards, refunds, disputes; by secret and idempotency key."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import Annotated, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.platform.database.transactions import Database
from almoner.provider_test import service, store
from almoner.provider_test.domain import (
    MAX_ATTEMPTS,
    ChargeRefusal,
    Dispute,
    EvidenceRefusal,
    Payment,
    PaymentKind,
    PaymentMethod,
    Refund,
    RefundRefusal,
)

T = TypeVar("T", bound=msgspec.Struct)

_MAX_BYTES: Final = 65_536
_MAX_FILE_BYTES: Final = 5_000_000
_FILE_TYPES: Final = ("application/pdf", "image/jpeg", "image/png")
_Call = Callable[[Request], Awaitable[Response]]

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Url = Annotated[str, msgspec.Meta(pattern=r"^https?://", max_length=2048)]


_Currency = Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
_Evidence = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
_Amount = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]


class AgreementBody(msgspec.Struct, frozen=True, rename="camel"):
    """The donor's consent to later charges of the card."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1200)]
    version: _Text
    email: _Text


class EvidenceBody(msgspec.Struct, frozen=True, rename="camel"):
    """Evidence for a dispute. ``files``: ids of uploaded files by their kind."""

    product_description: _Evidence | None
    explanation: _Evidence | None
    files: dict[str, str]


class PageBody(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A page on which a donor types a card. ``max_attempts``: how many may be tried before it fails for good."""

    currency: _Currency
    description: _Text
    reference: _Text
    return_url: _Url
    cancel_url: _Url
    callback_url: _Url
    language: str = "en"
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=MAX_ATTEMPTS)] = MAX_ATTEMPTS


class PaymentBody(PageBody, frozen=True, rename="camel", kw_only=True):
    """A payment. ``agreement``: the card is saved, too."""

    amount: _Amount
    agreement: AgreementBody | None = None


class PaymentMethodSetupBody(PageBody, frozen=True, rename="camel", kw_only=True):
    """A page that saves a card and takes no money."""

    agreement: AgreementBody


class ChargeBody(msgspec.Struct, frozen=True, rename="camel"):
    """A payment with a saved card, without the donor. ``first_payment``: in which the donor agreed to it."""

    amount: _Amount
    currency: _Currency
    description: _Text
    reference: _Text
    customer: _Text
    payment_method: _Text
    first_payment: _Text
    callback_url: _Url
    language: str = "en"


class CardResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The visible details of a card."""

    brand: str
    last_four: str


class PaymentMethodResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A saved card as the merchant sees it."""

    id: str
    customer: str
    brand: str
    last_four: str
    expires_at: datetime


class PaymentResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A payment, a setup or a charge as the merchant sees it. ``payment_method``: the card that it has saved."""

    id: str
    kind: PaymentKind
    url: str | None
    status: str
    amount: int
    currency: str
    reference: str
    attempts: int
    last_decline: str | None
    card: CardResponse | None
    payment_method: PaymentMethodResponse | None
    succeeded_at: datetime | None
    livemode: bool = False


class DeletedResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The ID of a deleted object."""

    id: str
    deleted: bool = True


class RefundBody(msgspec.Struct, frozen=True, rename="camel"):
    """The amount to refund."""

    amount: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]


class RefundResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A refund as the merchant sees it."""

    id: str
    payment: str
    amount: int
    currency: str


class DisputeResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A dispute as the merchant sees it."""

    id: str
    payment: str
    amount: int
    currency: str
    status: str
    reason: str
    opened_at: datetime
    evidence_due_at: datetime | None
    livemode: bool = False


class FileResponse(msgspec.Struct, frozen=True):
    """An uploaded file as the merchant sees it."""

    id: str


class DisputesResponse(msgspec.Struct, frozen=True):
    """The disputes of one payment."""

    data: list[DisputeResponse]


@dataclass(frozen=True, slots=True)
class MerchantApi:
    """The provider's API. ``secret``: the bearer secret; ``url``: the provider's own URL."""

    database: Database
    secret: str
    url: str

    def routes(self) -> list[Route]:
        """Starlette routes."""
        method = "/v1/customers/{customer}/payment-methods/{id}"
        calls = (
            ("POST", "/v1/payments", self.create_payment),
            ("GET", "/v1/payments/{id}", self.read_payment),
            ("POST", "/v1/payments/{id}/cancel", self.cancel_payment),
            ("POST", "/v1/payments/{id}/refunds", self.refund_payment),
            ("GET", "/v1/payments/{id}/disputes", self.list_disputes),
            ("POST", "/v1/files", self.upload_file),
            ("POST", "/v1/disputes/{id}/evidence", self.submit_evidence),
            ("POST", "/v1/setups", self.create_payment_method_setup),
            ("POST", "/v1/charges", self.charge_card),
            ("GET", "/v1/charges/{reference}", self.read_charge),
            ("GET", method, self.read_payment_method),
            ("DELETE", method, self.delete_payment_method),
        )
        return [Route(path, self._authorised(call), methods=[name]) for name, path, call in calls]

    def _authorised(self, call: _Call) -> _Call:
        """Require the secret for a call."""

        async def answer(request: Request) -> Response:
            given = request.headers.get("authorization", "").encode()
            if not hmac.compare_digest(given, f"Bearer {self.secret}".encode()):
                return _error_response(
                    401, "unauthorized", "The Authorization header must be Bearer and the provider's secret."
                )
            return await call(request)

        return answer

    async def create_payment(self, request: Request) -> Response:
        """A new open payment; the same key with the same data gives the same payment, with other data 409."""
        asked = await _read_call(request, PaymentBody)
        return asked if isinstance(asked, Response) else await self._create_page(request, asked)

    async def create_payment_method_setup(self, request: Request) -> Response:
        """A new page that saves a card; idempotent as a payment is, and read and cancelled as one."""
        asked = await _read_call(request, PaymentMethodSetupBody)
        return asked if isinstance(asked, Response) else await self._create_page(request, asked)

    async def _create_page(self, request: Request, asked: PaymentBody | PaymentMethodSetupBody) -> Response:
        key = request.headers["idempotency-key"]
        async with self.database.write() as tx:
            payment = await store.create_payment(tx, _new_payment(asked, tx.now), key, _fingerprint(asked))
        if payment is None:
            return _error_response(409, "idempotency_key_reused", "This Idempotency-Key was used with other data.")
        return await self._answer(payment)

    async def charge_card(self, request: Request) -> Response:
        """Charge a saved card; a declined charge is returned as a failed payment. The same key charges only once."""
        asked = await _read_call(request, ChargeBody)
        if isinstance(asked, Response):
            return asked
        key = request.headers["idempotency-key"]
        async with self.database.write() as tx:
            charge = _new_charge(asked, tx.now)
            created = await service.charge_off_session(tx, charge, asked.customer, key, _fingerprint(asked))
        match created:
            case Payment():
                return await self._answer(created)
            case ChargeRefusal.NO_SUCH_METHOD:
                return _error_response(404, created.value, "There is no such saved card.")
            case ChargeRefusal.NO_SUCH_AGREEMENT:
                return _error_response(422, created.value, "No paid payment in which the donor agreed was named.")
            case ChargeRefusal.KEY_REUSED:
                return _error_response(409, "idempotency_key_reused", "This Idempotency-Key was used with other data.")

    async def read_charge(self, request: Request) -> Response:
        """The charge that was made with a reference of the merchant's."""
        async with self.database.read() as tx:
            charge = await store.find_charge(tx, request.path_params["reference"])
        if charge is None:
            return _error_response(404, "not_found", "There is no such charge.")
        return await self._answer(charge)

    async def read_payment_method(self, request: Request) -> Response:
        """The current state of a saved card."""
        async with self.database.read() as tx:
            found = await store.find_usable_payment_method(
                tx, request.path_params["customer"], request.path_params["id"]
            )
        if found is None:
            return _error_response(404, "no_such_method", "There is no such saved card.")
        return _json_response(_method_response(found))

    async def delete_payment_method(self, request: Request) -> Response:
        """Delete a saved card, which can no longer be charged."""
        async with self.database.write() as tx:
            await service.delete_payment_method(tx, request.path_params["customer"], request.path_params["id"])
        return _json_response(DeletedResponse(request.path_params["id"]))

    async def read_payment(self, request: Request) -> Response:
        """The current state of a payment."""
        async with self.database.read() as tx:
            payment = await store.find_payment(tx, request.path_params["id"])
        return (
            _error_response(404, "not_found", "There is no such payment.")
            if payment is None
            else await self._answer(payment)
        )

    async def cancel_payment(self, request: Request) -> Response:
        """Cancel an unpaid payment; for one that has ended, return its outcome."""
        async with self.database.write() as tx:
            payment = await service.cancel_payment(tx, request.path_params["id"])
        return (
            _error_response(404, "not_found", "There is no such payment.")
            if payment is None
            else await self._answer(payment)
        )

    async def refund_payment(self, request: Request) -> Response:
        """Send money of a paid payment back, never more than was paid; the same key gives the same refund."""
        asked = await _read_call(request, RefundBody)
        if isinstance(asked, Response):
            return asked
        key, new = request.headers["idempotency-key"], service.new_refund_id()
        async with self.database.write() as tx:
            created = await service.refund_payment(
                tx, request.path_params["id"], asked.amount, asked.currency, key, new
            )
        match created:
            case Refund():
                return _json_response(RefundResponse(created.id, created.payment_id, created.amount, created.currency))
            case RefundRefusal.NO_SUCH_PAYMENT:
                return _error_response(404, "not_found", "There is no such payment.")
            case RefundRefusal.KEY_REUSED:
                return _error_response(409, "idempotency_key_reused", "This Idempotency-Key was used with other data.")
            case RefundRefusal.TOO_MUCH:
                return _error_response(
                    422, "not_refundable", "Only what was paid and is not refunded yet can be sent back."
                )

    async def list_disputes(self, request: Request) -> Response:
        """The disputes of a payment."""
        async with self.database.read() as tx:
            payment = await store.find_payment(tx, request.path_params["id"])
            found = await store.list_disputes(tx, request.path_params["id"])
        if payment is None:
            return _error_response(404, "not_found", "There is no such payment.")
        return _json_response(
            DisputesResponse(
                [
                    DisputeResponse(
                        one.id,
                        one.payment_id,
                        one.amount,
                        one.currency,
                        one.status,
                        one.reason,
                        one.opened_at,
                        one.evidence_due_at,
                    )
                    for one in found
                ]
            )
        )

    async def upload_file(self, request: Request) -> Response:
        """Take a file, which evidence names; the same key gives the same file."""
        if not 1 <= len(key := request.headers.get("idempotency-key", "")) <= 255:
            return _error_response(400, "idempotency_key_missing", "Send an Idempotency-Key of 1 to 255 characters.")
        content = await _read_body(request, _MAX_FILE_BYTES)
        media_type = request.headers.get("content-type", "")
        if not content or media_type not in _FILE_TYPES:
            return _error_response(400, "invalid_file", "Send a PDF, JPEG or PNG of at most 5 MB.")
        async with self.database.write() as tx:
            made = await store.create_file(tx, f"tpf_{token_hex(16)}", key, media_type, content)
        return _json_response(FileResponse(made))

    async def submit_evidence(self, request: Request) -> Response:
        """Take evidence for an open dispute, once."""
        asked = await _read_call(request, EvidenceBody)
        if isinstance(asked, Response):
            return asked
        key, evidence = request.headers["idempotency-key"], msgspec.to_builtins(asked)
        async with self.database.write() as tx:
            made = await service.submit_evidence(tx, request.path_params["id"], evidence, key)
        match made:
            case EvidenceRefusal.NO_SUCH_DISPUTE | EvidenceRefusal.NO_SUCH_FILE:
                return _error_response(404, made.value, "There is no such dispute or file.")
            case EvidenceRefusal.SUBMITTED_BEFORE | EvidenceRefusal.CLOSED:
                return _error_response(422, made.value, "The dispute takes no evidence, or no more.")
            case Dispute():
                return _json_response(FileResponse(made.id))

    async def _answer(self, payment: Payment) -> Response:
        saved = None
        if payment.kind != "charge" and payment.status == "succeeded" and payment.payment_method_id is not None:
            async with self.database.read() as tx:
                saved = await store.find_payment_method(tx, payment.payment_method_id)
        out = PaymentResponse(
            id=payment.id,
            kind=payment.kind,
            url=None if payment.kind == "charge" else f"{self.url}/pay/{payment.id}",
            status=payment.status,
            amount=payment.amount,
            currency=payment.currency,
            reference=payment.reference,
            attempts=payment.attempts,
            last_decline=payment.last_decline,
            card=CardResponse(payment.brand, payment.last_four) if payment.brand and payment.last_four else None,
            payment_method=_method_response(saved) if saved else None,
            succeeded_at=payment.updated_at if payment.status == "succeeded" else None,
        )
        return _json_response(out)


def _json_response(out: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(out), media_type="application/json", headers={"Cache-Control": "no-store"})


def _fingerprint(asked: msgspec.Struct) -> bytes:
    return sha256(msgspec.json.encode(asked, order="deterministic")).digest()


def _method_response(method: PaymentMethod) -> PaymentMethodResponse:
    return PaymentMethodResponse(method.id, method.customer, method.brand, method.last_four, method.expires_at)


def _new_charge(asked: ChargeBody, now: datetime) -> Payment:
    return Payment(
        id=service.new_payment_id(),
        kind="charge",
        amount=asked.amount,
        currency=asked.currency,
        description=asked.description,
        reference=asked.reference,
        return_url=asked.callback_url,
        cancel_url=asked.callback_url,
        callback_url=asked.callback_url,
        language=asked.language,
        status="open",
        attempts=0,
        max_attempts=1,
        last_decline=None,
        brand=None,
        last_four=None,
        disputes_later=False,
        created_at=now,
        payment_method_id=asked.payment_method,
        first_payment_id=asked.first_payment,
    )


def _new_payment(asked: PaymentBody | PaymentMethodSetupBody, now: datetime) -> Payment:
    kind: PaymentKind = "payment" if isinstance(asked, PaymentBody) else "setup"
    agreement = asked.agreement
    return Payment(
        id=service.new_payment_id(),
        kind=kind,
        amount=asked.amount if isinstance(asked, PaymentBody) else 0,
        currency=asked.currency,
        description=asked.description,
        reference=asked.reference,
        return_url=asked.return_url,
        cancel_url=asked.cancel_url,
        callback_url=asked.callback_url,
        language=asked.language,
        status="open",
        attempts=0,
        max_attempts=asked.max_attempts,
        last_decline=None,
        brand=None,
        last_four=None,
        disputes_later=False,
        created_at=now,
        agreement=agreement.text if agreement else None,
        agreement_version=agreement.version if agreement else None,
        email=agreement.email if agreement else None,
    )


async def _read_call(request: Request, form: type[T]) -> T | Response:
    """Read the body of a call that requires an Idempotency-Key; else return the error response."""
    if not 1 <= len(request.headers.get("idempotency-key", "")) <= 255:
        return _error_response(400, "idempotency_key_missing", "Send an Idempotency-Key of 1 to 255 characters.")
    body = await _read_body(request)
    if body is None:
        return _error_response(413, "too_large", "The body is larger than 64 kB.")
    try:
        return msgspec.json.decode(body, type=form)
    except msgspec.ValidationError as error:
        return _error_response(400, "invalid_request", f"{error}.")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _error_response(400, "invalid_json", "The body is not valid JSON.")


async def _read_body(request: Request, max_bytes: int = _MAX_BYTES) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            return None
    return bytes(body)


def _error_response(status: int, code: str, message: str) -> Response:
    return Response(
        msgspec.json.encode({"error": {"code": code, "message": message}}), status, media_type="application/json"
    )
