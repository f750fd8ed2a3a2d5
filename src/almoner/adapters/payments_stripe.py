"""Stripe as a payment provider: Checkout by redirect, with its official library.

A payment is a Checkout Session; the PaymentIntent behind it, which exists once somebody has tried to pay, is another
name of it. What Stripe answers is read strictly; what it does not say in the form that we know is a failure.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
import stripe
from stripe.params import ChargeListParams, DisputeListParams, RefundCreateParams
from stripe.params.checkout import SessionCreateParams

from almoner.adapters import stripe_currencies as currencies
from almoner.adapters import stripe_notices as notices
from almoner.adapters.payouts_stripe import StripePayouts
from almoner.adapters.stripe_currencies import NoSuchAmount
from almoner.adapters.stripe_line import Line, calling, told
from almoner.giving.payments.domain import (
    DisputeStatus,
    NoSuchPayment,
    ProviderDispute,
    ProviderEvent,
    ProviderFailure,
    ProviderPayment,
    ProviderRefund,
    ProviderStatus,
    RefundRefused,
    Tariff,
)
from almoner.giving.payments.ports import Order
from almoner.kit.money import Money

NAME: Final = "stripe"
OURS: Final = "almoner"
"""The key of the metadata that says that we have asked for a payment; its value is our reference."""
TRIES: Final = "almoner_tries"
"""The key of how many cards may be tried on it: Stripe does not count, so this adapter does (H6)."""
_LONGEST_NAME: Final = 250
_PAGE: Final = 100
_FOR_LATER: Final = frozenset({"lock_timeout", "insufficient_funds", "balance_insufficient", "api_key_expired"})
_LOCALES: Final = frozenset(
    "bg cs da de el en en-GB es es-419 et fi fil fr fr-CA hr hu id it ja ko lt lv ms mt nb nl pl pt pt-BR ro ru sk sl "
    "sv th tr vi zh zh-HK zh-TW".split()
)
_DISPUTES: Final = {
    "needs_response": DisputeStatus.OPEN,
    "under_review": DisputeStatus.OPEN,
    "won": DisputeStatus.WON,
    "lost": DisputeStatus.LOST,
    "appeal_needs_response": DisputeStatus.LOST,
    "appeal_under_review": DisputeStatus.LOST,
}
"""Those of them that have drawn money; inquiries (``warning_...``) and ``prevented`` have not."""

_Amount = Annotated[int, msgspec.Meta(ge=0)]


class _Intent(msgspec.Struct, frozen=True):
    """A PaymentIntent. ``on_behalf_of``, ``transfer_data``, ``application``: set when others have a hand in it."""

    id: Annotated[str, msgspec.Meta(pattern=r"^pi_[0-9A-Za-z_]+\Z")]
    status: str
    amount_received: _Amount
    currency: str
    on_behalf_of: Any = None
    transfer_data: Any = None
    application: Any = None
    last_payment_error: Any = None


class _Session(msgspec.Struct, frozen=True):
    """A Checkout Session."""

    id: Annotated[str, msgspec.Meta(pattern=r"^cs_[0-9A-Za-z_]+\Z", max_length=255)]
    status: Literal["open", "complete", "expired"]
    payment_status: Literal["paid", "unpaid", "no_payment_required"]
    amount_total: _Amount
    currency: str
    livemode: bool
    metadata: dict[str, str]
    client_reference_id: str | None = None
    url: str | None = None
    payment_intent: _Intent | None = None


class _Sessions(msgspec.Struct, frozen=True):
    data: list[_Session]


class _Named(msgspec.Struct, frozen=True):
    id: str


class _Charges(msgspec.Struct, frozen=True):
    data: list[_Named]


class _Refund(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    amount: _Amount
    currency: str
    payment_intent: str
    status: str | None


class _Dispute(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    amount: _Amount
    currency: str
    status: str
    reason: str
    created: int
    livemode: bool
    payment_intent: str


class _Disputes(msgspec.Struct, frozen=True):
    data: list[_Dispute]


class StripeProvider:
    """Speaks to Stripe with the account's key; made and closed inside the event loop."""

    def __init__(
        self, line: Line, *, webhook_secret: str, tariff: Tariff, pages_url: str = "https://checkout.stripe.com"
    ) -> None:
        """``pages_url``: scheme and host of its pages, which is the account's own domain if it has one there.

        Raises CurrenciesDiffer: then nothing starts.
        """
        currencies.ensure_agreed()
        self._line = line
        self._webhook_secret = webhook_secret
        self._tariff = tariff
        self._origin = pages_url

    @property
    def name(self) -> str:
        """As stored with each payment."""
        return NAME

    @property
    def origin(self) -> str:
        """Scheme and host of its pages."""
        return self._origin

    @property
    def tariff(self) -> Tariff:
        """What the account is charged."""
        return self._tariff

    @property
    def currencies(self) -> Collection[str]:
        """Those of which Stripe takes every amount."""
        return currencies.FACTORS.keys()

    async def create(self, order: Order) -> ProviderPayment:
        """A new open payment, or the one made earlier with this key. Raises ProviderFailure."""
        params = _asked(order)
        with calling("a new payment"):
            answer = await self._line.client.v1.checkout.sessions.create_async(params, {"idempotency_key": order.key})
        made = self._shown(told(answer, _Session), 0)
        if made.money != order.money or made.reference != order.reference or made.url is None:
            raise ProviderFailure("Stripe answered with another payment")
        return made

    async def fetch(self, payment: str) -> ProviderPayment:
        """The payment as it stands; on one on which as many cards were tried as may be, no other is taken (H6).

        Raises NoSuchPayment, ProviderFailure.
        """
        session = await self._session(payment)
        tries = await self._tries(session)
        if session.status == "open" and tries >= _allowed(session):
            session = await self._end(session)
        return self._shown(session, tries)

    async def cancel(self, payment: str) -> ProviderPayment:
        """End a payment that is not paid. Raises NoSuchPayment, ProviderFailure."""
        session = await self._session(payment)
        if session.status == "open":
            session = await self._end(session)
        return self._shown(session, await self._tries(session))

    async def refund(self, payment: str, key: str, money: Money) -> ProviderRefund:
        """Send money of a paid payment back. Raises NoSuchPayment, RefundRefused, ProviderFailure."""
        session = await self._session(payment)
        intent = session.payment_intent
        if intent is None or session.currency.upper() != money.currency:
            raise RefundRefused("Stripe has no money of it in this currency")
        params: RefundCreateParams = {"payment_intent": intent.id, "amount": _written(money)}
        with calling("a refund"):
            try:
                answer = await self._line.client.v1.refunds.create_async(params, {"idempotency_key": key})
            except stripe.InvalidRequestError as error:
                if error.http_status == 404 or error.code in _FOR_LATER:
                    raise
                raise RefundRefused(f"Stripe says that it cannot be refunded: {error.code or error.param}") from error
        made = told(answer, _Refund)
        if made.payment_intent != intent.id or _read(made.amount, made.currency) != money:
            raise ProviderFailure("Stripe answered with another refund")
        if made.status in ("failed", "canceled"):
            raise RefundRefused(f"Stripe says that the refund is {made.status}")
        return ProviderRefund(made.id, money)

    async def disputes(self, payment: str) -> list[ProviderDispute]:
        """The disputes of a payment, oldest first. Raises NoSuchPayment, ProviderFailure."""
        session = await self._session(payment)
        if session.payment_intent is None:
            return []
        asked: DisputeListParams = {"payment_intent": session.payment_intent.id, "limit": _PAGE}
        with calling("disputes"):
            answer = await self._line.client.v1.disputes.list_async(asked)
        found = [one for one in told(answer, _Disputes).data if one.status in _DISPUTES]
        if any(one.payment_intent != session.payment_intent.id for one in found):
            raise ProviderFailure("Stripe answered with disputes of another payment")
        return [
            _dispute(one, "" if payment == session.id else session.id)
            for one in sorted(found, key=lambda one: (one.created, one.id))
        ]

    def read_notice(self, headers: Mapping[str, str], body: bytes, at: datetime) -> ProviderEvent | None:
        """A notice whose signature is right and not older than five minutes. Raises NoticeRefused."""
        return notices.read(self._webhook_secret, headers, body, at)

    def reports(self) -> StripePayouts:
        """What Stripe has paid out to us."""
        return StripePayouts(NAME, self._line, self._kept_as)

    async def _kept_as(self, payment: str) -> str | None:
        """The name under which we keep a payment; None for one that is none of ours."""
        try:
            return (await self._session(payment)).id
        except NoSuchPayment:
            return None

    async def close(self) -> None:
        """Close the connections."""
        await self._line.close()

    async def _session(self, payment: str) -> _Session:
        """The Checkout Session of any name. Raises NoSuchPayment, also for one that we have not asked for."""
        if not notices.NAME.fullmatch(payment):
            raise NoSuchPayment(payment)
        sessions = self._line.client.v1.checkout.sessions
        with calling(payment):
            if payment.startswith("cs_"):
                found = [told(await sessions.retrieve_async(payment, {"expand": ["payment_intent"]}), _Session)]
            else:
                listed = await sessions.list_async({"payment_intent": payment, "expand": ["data.payment_intent"]})
                found = told(listed, _Sessions).data
        if len(found) != 1 or OURS not in found[0].metadata:
            raise NoSuchPayment(payment)
        return found[0]

    async def _tries(self, session: _Session) -> int:
        """How many cards were tried: each leaves a charge, or an error where its bank was never asked."""
        intent = session.payment_intent
        if intent is None:
            return 0
        asked: ChargeListParams = {"payment_intent": intent.id, "limit": _PAGE}
        with calling("tries"):
            answer = await self._line.client.v1.charges.list_async(asked)
        return max(len(told(answer, _Charges).data), int(intent.last_payment_error is not None))

    async def _end(self, session: _Session) -> _Session:
        """End an open session; one that was paid in the same moment is shown so."""
        try:
            with calling(session.id):
                answer = await self._line.client.v1.checkout.sessions.expire_async(
                    session.id, {"expand": ["payment_intent"]}
                )
        except ProviderFailure:
            ended = await self._session(session.id)
            if ended.status == "open":
                raise
            return ended
        return told(answer, _Session)

    def _shown(self, session: _Session, tries: int) -> ProviderPayment:
        intent, url = session.payment_intent, session.url
        if url is not None and not url.startswith(self._origin + "/"):
            raise ProviderFailure("Stripe's page is at another address than expected")
        status = _status(session, tries)
        money = _read(session.amount_total, session.currency)
        if intent is not None and status is ProviderStatus.SUCCEEDED:
            money = _read(intent.amount_received, intent.currency)
        others = intent is not None and any((intent.on_behalf_of, intent.transfer_data, intent.application))
        return ProviderPayment(
            session.id,
            url,
            status,
            money,
            session.client_reference_id or "",
            tries,
            session.livemode,
            ours=not others,
        )


def _asked(order: Order) -> SessionCreateParams:
    """The Checkout Session that says an order: nothing but what is stored, so that asking twice asks for the same."""
    marks = {OURS: order.reference, TRIES: str(order.tries)}
    return {
        "mode": "payment",
        "submit_type": "donate",
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": order.money.currency.lower(),
                    "unit_amount": _written(order.money),
                    "product_data": {"name": order.description[:_LONGEST_NAME]},
                },
            }
        ],
        "adaptive_pricing": {"enabled": False},  # another currency than was asked for would be held
        "client_reference_id": order.reference,
        "metadata": marks,
        "payment_intent_data": {"metadata": marks},
        "success_url": order.return_url,
        "cancel_url": order.cancel_url,
        "locale": _locale(order.language),
        "expand": ["payment_intent"],
    }


def _locale(language: str) -> str:
    base = language.partition("-")[0]
    return next((one for one in (language, base) if one in _LOCALES), "auto")


def _allowed(session: _Session) -> int:
    allowed = session.metadata.get(TRIES, "")
    return int(allowed) if allowed.isascii() and allowed.isdigit() and len(allowed) < 4 else 1


def _status(session: _Session, tries: int) -> ProviderStatus:
    intent = session.payment_intent
    if session.payment_status == "no_payment_required":
        raise ProviderFailure("Stripe asks nothing for the payment")
    if session.status == "open":
        busy = intent is not None and intent.status == "processing"
        return ProviderStatus.PROCESSING if busy else ProviderStatus.OPEN
    if session.status == "expired":
        return ProviderStatus.FAILED if tries and tries >= _allowed(session) else ProviderStatus.CANCELLED
    if session.payment_status == "paid":
        return ProviderStatus.SUCCEEDED
    # Complete and unpaid: the donor's bank takes days, or has said no.
    if intent is not None and intent.status in ("requires_payment_method", "canceled"):
        return ProviderStatus.FAILED
    return ProviderStatus.PROCESSING


def _dispute(found: _Dispute, kept_as: str) -> ProviderDispute:
    return ProviderDispute(
        found.id,
        _read(found.amount, found.currency),
        _DISPUTES[found.status],
        found.reason,
        datetime.fromtimestamp(found.created, UTC),
        live=found.livemode,
        payment=kept_as,
    )


def _written(money: Money) -> int:
    try:
        return currencies.written(money)
    except NoSuchAmount as error:
        raise ProviderFailure(str(error)) from error


def _read(amount: int, currency: str) -> Money:
    try:
        return currencies.read(amount, currency)
    except NoSuchAmount as error:
        raise ProviderFailure(str(error)) from error
