"""A payment provider in memory, with the behaviour and faults of real ones, one call at a time."""

import hmac
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Literal, TypeVar

from almoner.giving.checkout.payments.domain import (
    Decline,
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
    OffSessionCharge,
    PaymentMethodSetupRequest,
    PaymentRequest,
)
from almoner.kit.money import EXPONENTS, Money
from almoner.kit.time import end_of_month

A = TypeVar(
    "A",
    ProviderDispute,
    ProviderPayment,
    ProviderRefund,
    list[ProviderDispute],
    ProviderSetup,
    SavedPaymentMethod | None,
)
SECRET = "fake-provider-secret"
TARIFF = FeeSchedule(basis_points=250)
Subject = Literal["payment", "dispute", "refund", "setup", "payment_method"]
_SUBJECTS: dict[str, Subject] = {
    "dispute": "dispute",
    "setup": "setup",
    "payment_method": "payment_method",
}
ENDED = (ProviderStatus.SUCCEEDED, ProviderStatus.FAILED, ProviderStatus.CANCELLED)
_numbers = count(1)


@dataclass(slots=True)
class FakeProvider:
    """``name`` is also the last part of its webhook path.

    ``lose_answers``: the next calls take effect and then fail, as if the connection broke. ``refuse``: they fail
    without effect. ``declines``: how each of the next charges of a saved payment method fails.
    """

    name: str = "fake"
    hosted_page_origin: str = "http://fake.localhost"
    payments: dict[str, ProviderPayment] = field(default_factory=dict)
    orders: dict[str, tuple[PaymentRequest, str]] = field(default_factory=dict)
    refunds: dict[str, tuple[str, ProviderRefund]] = field(default_factory=dict)
    disputed: dict[str, list[ProviderDispute]] = field(default_factory=dict)
    charges: dict[str, tuple[OffSessionCharge, str]] = field(default_factory=dict)
    setups: dict[str, tuple[PaymentMethodSetupRequest, ProviderSetup]] = field(default_factory=dict)
    methods: dict[str, SavedPaymentMethod] = field(default_factory=dict)
    declines: dict[str, list[Decline]] = field(default_factory=dict)
    evidence: dict[str, DisputeEvidence] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    lose_answers: int = 0
    refuse: int = 0
    fee_schedule: FeeSchedule = TARIFF
    currencies: Collection[str] = tuple(EXPONENTS)

    async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
        """Create a payment, or return the one with this key; other data with the same key is refused."""
        self._called("create")
        if payment_request.idempotency_key in self.orders:
            earlier, made = self.orders[payment_request.idempotency_key]
            if earlier != payment_request:
                raise ProviderFailure("the key was used with other data")
            return self._answered(self.payments[made])
        made = f"tp_fake{next(_numbers)}"
        self.orders[payment_request.idempotency_key] = (payment_request, made)
        url = f"{self.hosted_page_origin}/pay/{made}"
        shown = ProviderPayment(
            made,
            url,
            ProviderStatus.OPEN,
            payment_request.money,
            payment_request.reference,
            attempts=0,
            is_live_mode=False,
        )
        self.payments[made] = shown
        return self._answered(shown)

    async def fetch_payment(self, payment_id: str) -> ProviderPayment:
        """The current payment."""
        self._called("fetch")
        return self._answered(self._known(payment_id))

    async def cancel_payment(self, payment_id: str) -> ProviderPayment:
        """Cancel a payment unless it has ended or is processing."""
        self._called("cancel")
        if self._known(payment_id).status is ProviderStatus.OPEN:
            self.become(payment_id, ProviderStatus.CANCELLED)
        return self._answered(self._known(payment_id))

    async def charge_off_session(self, charge: OffSessionCharge) -> ProviderPayment:
        """Charge a saved payment method, once for each key."""
        self._called("charge_off_session")
        if charge.idempotency_key in self.charges:
            earlier, made = self.charges[charge.idempotency_key]
            if earlier != charge:
                raise ProviderFailure("the key was used with other data")
            return self._answered(self.payments[made])
        method = self.methods.get(charge.payment_method_id)
        if method is None or method.customer_id != charge.customer_id:
            raise PaymentMethodGone(charge.payment_method_id)
        if self._known(charge.first_payment_id).status is not ProviderStatus.SUCCEEDED:
            raise ProviderFailure("the donor has not agreed")
        made = f"tp_fake{next(_numbers)}"
        planned = self.declines.get(method.id)
        decline = planned.pop(0) if planned else None
        status = ProviderStatus.SUCCEEDED if decline is None else ProviderStatus.FAILED
        self.charges[charge.idempotency_key] = (charge, made)
        self.payments[made] = ProviderPayment(
            made, None, status, charge.money, charge.reference, 1, is_live_mode=False, decline=decline
        )
        return self._answered(self.payments[made])

    async def find_charge(self, reference: str, customer_id: str) -> ProviderPayment | None:
        """The charge of a customer with this reference."""
        self._called("find_charge")
        made = [
            payment
            for charge, payment in self.charges.values()
            if (charge.reference, charge.customer_id) == (reference, customer_id)
        ]
        return self._answered(self.payments[made[0]]) if made else None

    async def fetch_payment_method(self, customer_id: str, payment_method_id: str) -> SavedPaymentMethod | None:
        """The current data of a saved payment method."""
        self._called("fetch_payment_method")
        method = self.methods.get(payment_method_id)
        return self._answered(method if method is not None and method.customer_id == customer_id else None)

    async def delete_payment_method(self, customer_id: str, payment_method_id: str) -> None:
        """Delete a saved payment method."""
        self._called("delete_payment_method")
        if payment_method_id in self.methods and self.methods[payment_method_id].customer_id == customer_id:
            del self.methods[payment_method_id]

    async def create_payment_method_setup(self, setup_request: PaymentMethodSetupRequest) -> ProviderSetup:
        """Create a page that saves a payment method, or return the one with this key."""
        self._called("create_payment_method_setup")
        found = next(
            (setup for asked, setup in self.setups.values() if asked.idempotency_key == setup_request.idempotency_key),
            None,
        )
        if found is None:
            made = f"tp_setup{next(_numbers)}"
            url = f"{self.hosted_page_origin}/pay/{made}"
            found = ProviderSetup(made, url, ProviderStatus.OPEN, setup_request.reference, is_live_mode=False)
            self.setups[made] = (setup_request, found)
        elif self.setups[found.id][0] != setup_request:
            raise ProviderFailure("the key was used with other data")
        return self._answered(found)

    async def fetch_payment_method_setup(self, setup_id: str) -> ProviderSetup:
        """The current state of a setup page."""
        self._called("fetch_payment_method_setup")
        if setup_id not in self.setups:
            raise NoSuchPayment(setup_id)
        return self._answered(self.setups[setup_id][1])

    async def refund_payment(self, payment_id: str, idempotency_key: str, money: Money) -> ProviderRefund:
        """Refund money, once for each key and never more than was paid."""
        self._called("refund")
        paid = self._known(payment_id)
        if idempotency_key in self.refunds:
            of, made = self.refunds[idempotency_key]
            if (of, made.money) != (payment_id, money):
                raise ProviderFailure("the key was used with other data")
            return self._answered(made)
        gone = sum(made.money.minor for of, made in self.refunds.values() if of == payment_id)
        if paid.status is not ProviderStatus.SUCCEEDED or paid.money.currency != money.currency:
            raise RefundRefused("nothing was paid in this currency")
        gone += sum(one.money.minor for one in self.disputed.get(payment_id, ()) if one.status is not DisputeStatus.WON)
        if gone + money.minor > paid.money.minor:
            raise RefundRefused("less was paid, or it was refunded already")
        made = ProviderRefund(f"tpr_fake{next(_numbers)}", money)
        self.refunds[idempotency_key] = (payment_id, made)
        return self._answered(made)

    async def list_disputes(self, payment_id: str) -> list[ProviderDispute]:
        """The disputes of the payment, oldest first."""
        self._called("disputes")
        self._known(payment_id)
        return self._answered(list(self.disputed.get(payment_id, ())))

    async def submit_evidence(self, dispute_id: str, evidence: DisputeEvidence) -> None:
        """Submit evidence once; other evidence with the same key is refused."""
        self._called("submit_evidence")
        payment, found = next(
            ((payment, one) for payment, disputes in self.disputed.items() for one in disputes if one.id == dispute_id),
            ("", None),
        )
        if found is None:
            raise NoSuchPayment(dispute_id)
        if dispute_id in self.evidence or found.evidence_due_at is None:
            if self.evidence.get(dispute_id) == evidence:
                return
            raise EvidenceRefused("the dispute takes no evidence, or no more")
        self.evidence[dispute_id] = evidence
        taken = replace(found, evidence_due_at=None)
        self.disputed[payment] = [taken if one is found else one for one in self.disputed[payment]]
        self._answered(taken)

    def parse_webhook(self, headers: Mapping[str, str], body: bytes, received_at: datetime) -> ProviderEvent:
        """Parse a webhook; its signature and age are checked as with every provider."""
        moment, _, given = headers.get("provider-signature", "").partition(",v1=")
        moment = moment.removeprefix("t=")
        if (
            not moment.isdigit()
            or given != _signature(moment, body)
            or abs(received_at.timestamp() - int(moment)) > 300
        ):
            raise WebhookRefused("the signature is wrong")
        try:
            reported = json.loads(body)
            named = str(reported["type"]).partition(".")[0]
            about: Subject = _SUBJECTS.get(named, "payment")
            return ProviderEvent(reported["id"], reported["type"], reported["payment"], reported["livemode"], about)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WebhookRefused("the body is no notice") from error

    def become(self, payment: str, status: ProviderStatus, **changed: Any) -> ProviderPayment:
        """Set a payment's status."""
        self.payments[payment] = replace(self.payments[payment], status=status, **changed)
        return self.payments[payment]

    def pay_with_card(self, payment: str, **changed: Any) -> ProviderPayment:
        """Pay as the donor."""
        attempts = self.payments[payment].attempts + 1
        saves = any(made == payment and order.future_use_consent for order, made in reversed(self.orders.values()))
        saved = {"payment_method": self._save_card()} if saves else {}
        return self.become(payment, ProviderStatus.SUCCEEDED, **{"attempts": attempts, **saved, **changed})

    def save_with_card(self, setup: str) -> ProviderSetup:
        """Save a card as the donor."""
        order, made = self.setups[setup]
        done = replace(made, status=ProviderStatus.SUCCEEDED, payment_method=self._save_card())
        self.setups[setup] = (order, done)
        return done

    def _save_card(self) -> SavedPaymentMethod:
        number = next(_numbers)
        saved = SavedPaymentMethod(
            f"tpc_fake{number}", f"tpm_fake{number}", "card", "visa", "4242", end_of_month(2099, 12)
        )
        self.methods[saved.id] = saved
        return saved

    def open_dispute(self, payment: str, at: datetime, minor: int | None = None) -> ProviderDispute:
        """Open a dispute of the payment, or of ``minor`` of it."""
        money = self._known(payment).money
        amount = money if minor is None else Money(minor, money.currency)
        opened = ProviderDispute(
            f"tpd_fake{next(_numbers)}",
            amount,
            DisputeStatus.OPEN,
            "fraudulent",
            at,
            is_live_mode=False,
            evidence_due_at=at + timedelta(days=7),
        )
        self.disputed.setdefault(payment, []).append(opened)
        return opened

    def decide_dispute(self, payment: str, outcome: DisputeStatus) -> None:
        """Decide the newest dispute of a payment."""
        *earlier, newest = self.disputed[payment]
        self.disputed[payment] = [*earlier, replace(newest, status=outcome, evidence_due_at=None)]

    def only(self) -> str:
        """The ID of the only payment."""
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
    """(body, headers) of a signed webhook."""
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
