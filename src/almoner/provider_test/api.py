"""The provider's API for the merchant: payments, refunds and disputes, by bearer secret and idempotency key."""

import hmac
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.platform.database.transactions import Database
from almoner.provider_test import service, store
from almoner.provider_test.domain import MAX_ATTEMPTS, Payment, Refund, RefundRefusal

T = TypeVar("T", bound=msgspec.Struct)

_MAX_BYTES: Final = 65_536

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Url = Annotated[str, msgspec.Meta(pattern=r"^https?://", max_length=2048)]


class PaymentIn(msgspec.Struct, frozen=True, rename="camel"):
    """What the merchant asks for. ``max_attempts``: how many cards may be tried before the payment fails for good."""

    amount: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    description: _Text
    reference: _Text
    return_url: _Url
    cancel_url: _Url
    callback_url: _Url
    language: str = "en"
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=MAX_ATTEMPTS)] = MAX_ATTEMPTS


class CardOut(msgspec.Struct, frozen=True, rename="camel"):
    """What may be known of the card."""

    brand: str
    last_four: str


class PaymentOut(msgspec.Struct, frozen=True, rename="camel"):
    """A payment as the merchant sees it."""

    id: str
    url: str
    status: str
    amount: int
    currency: str
    reference: str
    attempts: int
    last_decline: str | None
    card: CardOut | None
    livemode: bool = False


class RefundIn(msgspec.Struct, frozen=True, rename="camel"):
    """How much is to go back."""

    amount: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]


class RefundOut(msgspec.Struct, frozen=True, rename="camel"):
    """A refund as the merchant sees it."""

    id: str
    payment: str
    amount: int
    currency: str


class DisputeOut(msgspec.Struct, frozen=True, rename="camel"):
    """A dispute as the merchant sees it."""

    id: str
    payment: str
    amount: int
    currency: str
    status: str
    reason: str
    opened_at: datetime
    livemode: bool = False


class DisputesOut(msgspec.Struct, frozen=True):
    """The disputes of one payment."""

    data: list[DisputeOut]


@dataclass(frozen=True, slots=True)
class MerchantApi:
    """The five calls. ``secret`` is the bearer secret, ``url`` the provider's own address."""

    database: Database
    secret: str
    url: str

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/v1/payments", self.create_payment, methods=["POST"]),
            Route("/v1/payments/{id}", self.read_payment, methods=["GET"]),
            Route("/v1/payments/{id}/cancel", self.cancel_payment, methods=["POST"]),
            Route("/v1/payments/{id}/refunds", self.refund_payment, methods=["POST"]),
            Route("/v1/payments/{id}/disputes", self.list_disputes, methods=["GET"]),
        ]

    async def create_payment(self, request: Request) -> Response:
        """A new open payment; the same key with the same data gives the same payment, with other data 409."""
        if not self._knows(request):
            return _error_response(
                401, "unauthorized", "The Authorization header must be Bearer and the provider's secret."
            )
        asked = await _read_call(request, PaymentIn)
        if isinstance(asked, Response):
            return asked
        key = request.headers["idempotency-key"]
        fingerprint = sha256(msgspec.json.encode(asked, order="deterministic")).digest()
        async with self.database.write() as tx:
            payment = await store.create_payment(tx, _new_payment(asked, tx.now), key, fingerprint)
        if payment is None:
            return _error_response(409, "idempotency_key_reused", "This Idempotency-Key was used with other data.")
        return self._answer(payment)

    async def read_payment(self, request: Request) -> Response:
        """The payment as it stands."""
        if not self._knows(request):
            return _error_response(
                401, "unauthorized", "The Authorization header must be Bearer and the provider's secret."
            )
        async with self.database.read() as tx:
            payment = await store.find_payment(tx, request.path_params["id"])
        return (
            _error_response(404, "not_found", "There is no such payment.") if payment is None else self._answer(payment)
        )

    async def cancel_payment(self, request: Request) -> Response:
        """Cancel a payment that is not paid yet. One that has ended answers with how it ended."""
        if not self._knows(request):
            return _error_response(
                401, "unauthorized", "The Authorization header must be Bearer and the provider's secret."
            )
        async with self.database.write() as tx:
            payment = await service.cancel_payment(tx, request.path_params["id"])
        return (
            _error_response(404, "not_found", "There is no such payment.") if payment is None else self._answer(payment)
        )

    async def refund_payment(self, request: Request) -> Response:
        """Send money of a paid payment back, never more than was paid; the same key gives the same refund."""
        if not self._knows(request):
            return _error_response(
                401, "unauthorized", "The Authorization header must be Bearer and the provider's secret."
            )
        asked = await _read_call(request, RefundIn)
        if isinstance(asked, Response):
            return asked
        key, new = request.headers["idempotency-key"], service.new_refund_id()
        async with self.database.write() as tx:
            made = await service.refund_payment(tx, request.path_params["id"], asked.amount, asked.currency, key, new)
        match made:
            case Refund():
                return _json_response(RefundOut(made.id, made.payment_id, made.amount, made.currency))
            case RefundRefusal.NO_SUCH_PAYMENT:
                return _error_response(404, "not_found", "There is no such payment.")
            case RefundRefusal.KEY_REUSED:
                return _error_response(409, "idempotency_key_reused", "This Idempotency-Key was used with other data.")
            case RefundRefusal.TOO_MUCH:
                return _error_response(
                    422, "not_refundable", "Only what was paid and is not refunded yet can be sent back."
                )

    async def list_disputes(self, request: Request) -> Response:
        """What the donor's bank wants back of a payment, or wanted."""
        if not self._knows(request):
            return _error_response(
                401, "unauthorized", "The Authorization header must be Bearer and the provider's secret."
            )
        async with self.database.read() as tx:
            payment = await store.find_payment(tx, request.path_params["id"])
            found = await store.list_disputes(tx, request.path_params["id"])
        if payment is None:
            return _error_response(404, "not_found", "There is no such payment.")
        return _json_response(
            DisputesOut(
                [
                    DisputeOut(one.id, one.payment_id, one.amount, one.currency, one.status, one.reason, one.opened_at)
                    for one in found
                ]
            )
        )

    def _knows(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {self.secret}".encode())

    def _answer(self, payment: Payment) -> Response:
        out = PaymentOut(
            id=payment.id,
            url=f"{self.url}/pay/{payment.id}",
            status=payment.status,
            amount=payment.amount,
            currency=payment.currency,
            reference=payment.reference,
            attempts=payment.attempts,
            last_decline=payment.last_decline,
            card=CardOut(payment.brand, payment.last_four) if payment.brand and payment.last_four else None,
        )
        return _json_response(out)


def _json_response(out: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(out), media_type="application/json", headers={"Cache-Control": "no-store"})


def _new_payment(asked: PaymentIn, now: datetime) -> Payment:
    return Payment(
        id=service.new_payment_id(),
        amount=asked.amount,
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
    )


async def _read_call(request: Request, form: type[T]) -> T | Response:
    """The body of a call that makes something, with its key there; else what is wrong with it."""
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


async def _read_body(request: Request) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BYTES:
            return None
    return bytes(body)


def _error_response(status: int, code: str, message: str) -> Response:
    return Response(
        msgspec.json.encode({"error": {"code": code, "message": message}}), status, media_type="application/json"
    )
