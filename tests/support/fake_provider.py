"""A payment provider in memory: what a real one may do, good and bad, one call at a time."""

import hmac
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any, Literal, TypeVar

from almoner.giving.checkout.payments.domain import (
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
    WebhookRefused,
)
from almoner.giving.checkout.payments.ports import PaymentOrder
from almoner.kit.money import EXPONENTS, Money

A = TypeVar("A", ProviderPayment, ProviderRefund, list[ProviderDispute])
SECRET = "fake-provider-secret"
TARIFF = Tariff(basis_points=250)
ENDED = (ProviderStatus.SUCCEEDED, ProviderStatus.FAILED, ProviderStatus.CANCELLED)
_numbers = count(1)


@dataclass(slots=True)
class FakeProvider:
    """``name`` is also the last part of the address of its notices.

    ``lose_answers``: the next calls do their work and then fail, as when the line breaks. ``refuse``: they fail before.
    """

    name: str = "fake"
    origin: str = "http://fake.localhost"
    payments: dict[str, ProviderPayment] = field(default_factory=dict)
    orders: dict[str, tuple[PaymentOrder, str]] = field(default_factory=dict)
    refunds: dict[str, tuple[str, ProviderRefund]] = field(default_factory=dict)
    disputed: dict[str, list[ProviderDispute]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    lose_answers: int = 0
    refuse: int = 0
    tariff: Tariff = TARIFF
    currencies: Collection[str] = tuple(EXPONENTS)

    async def create(self, order: PaymentOrder) -> ProviderPayment:
        """A new payment, or the one of the same key; other data under the same key is refused."""
        self._called("create")
        if order.key in self.orders:
            earlier, made = self.orders[order.key]
            if earlier != order:
                raise ProviderFailure("the key was used with other data")
            return self._answered(self.payments[made])
        made = f"tp_fake{next(_numbers)}"
        self.orders[order.key] = (order, made)
        shown = ProviderPayment(
            made, f"{self.origin}/pay/{made}", ProviderStatus.OPEN, order.money, order.reference, tries=0, live=False
        )
        self.payments[made] = shown
        return self._answered(shown)

    async def fetch(self, payment: str) -> ProviderPayment:
        """The payment as it stands."""
        self._called("fetch")
        return self._answered(self._known(payment))

    async def cancel(self, payment: str) -> ProviderPayment:
        """End it unless it has ended or the bank is busy with it."""
        self._called("cancel")
        if self._known(payment).status is ProviderStatus.OPEN:
            self.become(payment, ProviderStatus.CANCELLED)
        return self._answered(self._known(payment))

    async def refund(self, payment: str, key: str, money: Money) -> ProviderRefund:
        """Send money back, once for each key and never more than was paid."""
        self._called("refund")
        paid = self._known(payment)
        if key in self.refunds:
            of, made = self.refunds[key]
            if (of, made.money) != (payment, money):
                raise ProviderFailure("the key was used with other data")
            return self._answered(made)
        gone = sum(made.money.minor for of, made in self.refunds.values() if of == payment)
        if paid.status is not ProviderStatus.SUCCEEDED or paid.money.currency != money.currency:
            raise RefundRefused("nothing was paid in this currency")
        gone += sum(one.money.minor for one in self.disputed.get(payment, ()) if one.status is not DisputeStatus.WON)
        if gone + money.minor > paid.money.minor:
            raise RefundRefused("less was paid, or it was refunded already")
        made = ProviderRefund(f"tpr_fake{next(_numbers)}", money)
        self.refunds[key] = (payment, made)
        return self._answered(made)

    async def disputes(self, payment: str) -> list[ProviderDispute]:
        """Those of the payment, oldest first."""
        self._called("disputes")
        self._known(payment)
        return self._answered(list(self.disputed.get(payment, ())))

    def parse_webhook(self, headers: Mapping[str, str], body: bytes, at: datetime) -> ProviderEvent:
        """Signature and age are checked as every provider's are."""
        moment, _, given = headers.get("provider-signature", "").partition(",v1=")
        moment = moment.removeprefix("t=")
        if not moment.isdigit() or given != _signature(moment, body) or abs(at.timestamp() - int(moment)) > 300:
            raise WebhookRefused("the signature is wrong")
        try:
            reported = json.loads(body)
            about: Literal["payment", "dispute"] = "dispute" if reported["type"].startswith("dispute.") else "payment"
            return ProviderEvent(reported["id"], reported["type"], reported["payment"], reported["livemode"], about)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WebhookRefused("the body is no notice") from error

    def become(self, payment: str, status: ProviderStatus, **changed: Any) -> ProviderPayment:
        """Something happens to a payment at the provider."""
        self.payments[payment] = replace(self.payments[payment], status=status, **changed)
        return self.payments[payment]

    def pay_with_card(self, payment: str, **changed: Any) -> ProviderPayment:
        """The donor pays."""
        attempts = self.payments[payment].tries + 1
        return self.become(payment, ProviderStatus.SUCCEEDED, **{"tries": attempts, **changed})

    def open_dispute(self, payment: str, at: datetime, minor: int | None = None) -> ProviderDispute:
        """The donor's bank wants the payment back, or ``minor`` of it."""
        money = self._known(payment).money
        amount = money if minor is None else Money(minor, money.currency)
        opened = ProviderDispute(f"tpd_fake{next(_numbers)}", amount, DisputeStatus.OPEN, "fraudulent", at, live=False)
        self.disputed.setdefault(payment, []).append(opened)
        return opened

    def decide_dispute(self, payment: str, outcome: DisputeStatus) -> None:
        """The newest dispute of a payment is won or lost."""
        *earlier, newest = self.disputed[payment]
        self.disputed[payment] = [*earlier, replace(newest, status=outcome)]

    def only(self) -> str:
        """The id of the one payment there is."""
        (made,) = self.payments
        return made

    def _known(self, payment: str) -> ProviderPayment:
        if payment not in self.payments:
            raise NoSuchPayment(payment)
        return self.payments[payment]

    def _called(self, what: str) -> None:
        self.calls.append(what)
        if self.refuse > 0:
            self.refuse -= 1
            raise ProviderFailure("the provider is away")

    def _answered(self, answer: A) -> A:
        if self.lose_answers > 0:
            self.lose_answers -= 1
            raise ProviderFailure("the answer was lost")
        return answer


def notice(
    payment: str, kind: str = "payment.succeeded", *, event: str | None = None, at: datetime, live: bool = False
) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a signed notice."""
    body = json.dumps(
        {"id": event or f"tpe_{next(_numbers)}", "type": kind, "payment": payment, "livemode": live}
    ).encode()
    moment = str(int(at.timestamp()))
    return body, {
        "Provider-Signature": f"t={moment},v1={_signature(moment, body)}",
        "Content-Type": "application/json",
    }


def _signature(moment: str, body: bytes) -> str:
    return hmac.new(SECRET.encode(), f"{moment}.".encode() + body, "sha256").hexdigest()
