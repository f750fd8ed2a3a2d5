"""A Stripe account in memory: its objects, and what donors, their banks and Stripe do."""

import hmac
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from stripe import WebhookSignature

from tests.support import stripe_cards
from tests.support.stripe_things import Refusal as Refusal
from tests.support.stripe_things import Thing as Thing
from tests.support.stripe_things import known as known
from tests.support.stripe_things import new_id as new_id

SECRET: Final = "whsec_stub"
MARK: Final = "tests"
"""The mark of the deployment that takes payments there."""
DECLINED: Final = {"4000000000000002": "card_declined", "4000000000009995": "insufficient_funds"}
CHALLENGED: Final = "4000002500003155"
DELAYED: Final = "DE89370400440532013000"
FEE_BASIS_POINTS: Final = 290
DISPUTE_FEE: Final = 1500
ZERO: Final = frozenset("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split())


@dataclass(slots=True)
class StripeAccount:
    """``now``: its clock. ``notices``: webhooks to be delivered, oldest first.

    ``endpoints``: the webhook endpoints that the API returns; None: the key may not read them.
    """

    now: Callable[[], datetime]
    pages_url: str = ""
    most_listed: int = 100
    endpoints: list[Thing] | None = field(default_factory=list)
    sessions: dict[str, Thing] = field(default_factory=dict)
    intents: dict[str, Thing] = field(default_factory=dict)
    customers: dict[str, Thing] = field(default_factory=dict)
    methods: dict[str, Thing] = field(default_factory=dict)
    charges: dict[str, Thing] = field(default_factory=dict)
    refunds: dict[str, Thing] = field(default_factory=dict)
    disputes: dict[str, Thing] = field(default_factory=dict)
    files: dict[str, Thing] = field(default_factory=dict)
    balance: dict[str, Thing] = field(default_factory=dict)
    payouts: dict[str, Thing] = field(default_factory=dict)
    notices: deque[Thing] = field(default_factory=deque)

    def seconds(self) -> int:
        """Its time as Stripe writes it."""
        return int(self.now().timestamp())

    # Calls of ours.

    def new_session(self, asked: Thing) -> Thing:
        """Create a Checkout Session."""
        number, amount = new_id("cs_test"), None
        saves = asked["mode"] == "setup"
        if saves:
            currency = asked["currency"]
        else:
            (item,) = asked["line_items"]
            currency, amount = item["price_data"]["currency"], item["price_data"]["unit_amount"] * item["quantity"]
            _ensure_amount(amount, currency)
        usage = asked.get("payment_intent_data", {}).get("setup_future_usage")
        if (saves or usage) and asked.get("customer_creation") != "always":
            raise Refusal(400, "This stub saves a card for a customer alone.", param="customer_creation")
        self.sessions[number] = {
            "id": number,
            "object": "checkout.session",
            "amount_subtotal": amount,
            "amount_total": amount,
            "cancel_url": asked["cancel_url"],
            "client_reference_id": asked.get("client_reference_id"),
            "created": self.seconds(),
            "currency": currency,
            "expires_at": self.seconds() + 86_400,
            "livemode": False,
            "metadata": asked.get("metadata", {}),
            "mode": asked["mode"],
            "payment_intent": None,
            "payment_status": "no_payment_required" if saves else "unpaid",
            "setup_intent": None,
            "status": "open",
            "success_url": asked["success_url"],
            "url": f"{self.pages_url}/c/pay/{number}",
            "_intent_metadata": asked.get("payment_intent_data", {}).get("metadata", {}),
            "_usage": "off_session" if saves else usage,
            "_email": asked.get("customer_email", "donor@example.org"),
        }
        return self.sessions[number]

    def expire(self, number: str) -> Thing:
        """Expire an open session."""
        session = known(self.sessions, number)
        if session["status"] != "open":
            raise Refusal(400, f"This Session is {session['status']}, only open ones can be expired.")
        session |= {"status": "expired", "url": None}
        if session["payment_intent"]:
            self.intents[session["payment_intent"]]["status"] = "canceled"
        self.tell("checkout.session.expired", session)
        return session

    def new_refund(self, asked: Thing) -> Thing:
        """Create a refund."""
        intent = known(self.intents, asked["payment_intent"])
        charge = self.paid_charge(intent["id"])
        if charge is None:
            raise Refusal(400, "This PaymentIntent does not have a successful charge to refund.")
        if charge["disputed"] and self._dispute_of(charge)["status"] != "won":
            raise Refusal(400, "The charge has been charged back.", code="charge_disputed")
        left = charge["amount"] - charge["amount_refunded"]
        amount = asked.get("amount", left)
        if left == 0:
            raise Refusal(400, "The charge has already been refunded.", code="charge_already_refunded")
        if not 0 < amount <= left:
            raise Refusal(400, f"Refund amount ({amount}) is greater than unrefunded amount ({left})", param="amount")
        charge["amount_refunded"] += amount
        made = {
            "id": new_id("re"),
            "object": "refund",
            "amount": amount,
            "charge": charge["id"],
            "created": self.seconds(),
            "currency": charge["currency"],
            "metadata": asked.get("metadata", {}),
            "payment_intent": intent["id"],
            "status": "succeeded",
        }
        self.refunds[made["id"]] = made
        made["balance_transaction"] = self._book("refund", -amount, 0, charge["currency"], made["id"])
        return made

    # Actions of others.

    def fail_refund(self, number: str, reason: str = "lost_or_stolen_card", status: str = "failed") -> Thing:
        """Fail a refund at the donor's bank: its money returns to the balance."""
        made = known(self.refunds, number)
        made |= {"status": status, "failure_reason": reason}
        self.charges[made["charge"]]["amount_refunded"] -= made["amount"]
        self._book("refund_failure", made["amount"], 0, made["currency"], number)
        for kind in ("refund.failed", "refund.updated", "charge.refund.updated"):
            self.tell(kind, made)
        return made

    def fail_payment(self, number: str) -> None:
        """Fail a payment that had succeeded."""
        charge = self.paid_charge(known(self.sessions, number)["payment_intent"])
        assert charge is not None, "only what is paid fails afterwards"
        self._book("payment_failure_refund", -charge["amount"], 0, charge["currency"], charge["id"])

    def refund_by_hand(self, number: str) -> Thing:
        """Refund a payment in the dashboard."""
        made = self.new_refund({"payment_intent": known(self.sessions, number)["payment_intent"]})
        self.tell("refund.created", made)
        return made

    def pay_with_card(self, number: str, card: str = "4242424242424242", **tampered: Any) -> Thing:
        """Pay with a card on the page; ``tampered``: members of the session or intent to change."""
        session = known(self.sessions, number)
        if session["status"] != "open":
            raise Refusal(400, "This Checkout Session is not open.")
        if session["mode"] == "setup":
            return self._set_up(session, card)
        intent = self._intent(session)
        if card in DECLINED:
            return self._decline(intent, DECLINED[card])
        if card == CHALLENGED:
            intent["status"] = "requires_action"
            return intent
        session |= {"status": "complete", "url": None}
        intent |= {name: value for name, value in tampered.items() if name not in session}
        session |= {name: value for name, value in tampered.items() if name in session}
        if card == DELAYED:
            intent["status"] = "processing"
            self.tell("checkout.session.completed", session)
            return intent
        if session["_usage"]:
            method = stripe_cards.save_card(self, session["_email"], card)
            intent |= {"payment_method": method["id"], "customer": method["customer"]}
        self._charge(session, intent, tampered)
        self.tell("checkout.session.completed", session)
        return intent

    def _set_up(self, session: Thing, card: str) -> Thing:
        """Save a card as the donor."""
        method = stripe_cards.save_card(self, session["_email"], card)
        made = {
            "id": new_id("seti"),
            "object": "setup_intent",
            "payment_method": method["id"],
            "status": "succeeded",
            "usage": "off_session",
        }
        session |= {"status": "complete", "url": None, "setup_intent": made}
        self.tell("checkout.session.completed", session)
        return made

    def answer_challenge(self, number: str) -> Thing:
        """Confirm the bank's challenge as the donor."""
        return self.pay_with_card(number)

    def bank_answers(self, number: str, *, paid: bool) -> None:
        """Decide a delayed payment as the bank."""
        session = known(self.sessions, number)
        intent = self.intents[session["payment_intent"]]
        if paid:
            self._charge(session, intent, {}, "sepa_debit")
            self.tell("checkout.session.async_payment_succeeded", session)
        else:
            self._decline(intent, "debit_not_authorized")
            self.tell("checkout.session.async_payment_failed", session)

    def open_dispute(self, number: str) -> Thing:
        """Open a dispute as the donor's bank."""
        charge = self.paid_charge(self._intent_of(number))
        assert charge is not None, "only what is paid is disputed"
        amount, currency = charge["amount"] - charge["amount_refunded"], charge["currency"]
        charge["disputed"] = True
        made = {
            "id": new_id("du"),
            "object": "dispute",
            "amount": amount,
            "charge": charge["id"],
            "created": self.seconds(),
            "currency": currency,
            "livemode": False,
            "payment_intent": charge["payment_intent"],
            "reason": "fraudulent",
            "status": "needs_response",
            "evidence": {},
            "evidence_details": {"due_by": self.seconds() + 9 * 86_400, "submission_count": 0},
            "metadata": {},
        }
        self.disputes[made["id"]] = made
        self._book("adjustment", -amount, DISPUTE_FEE, currency, made["id"])
        self.tell("charge.dispute.created", made)
        self.tell("charge.dispute.funds_withdrawn", made)
        return made

    def new_file(self, asked: Thing) -> Thing:
        """Create a file for evidence."""
        made = {"id": new_id("file"), "object": "file", "created": self.seconds(), "size": asked["size"]}
        self.files[made["id"]] = {**made, "purpose": asked["purpose"], "filename": asked["filename"]}
        return self.files[made["id"]]

    def update_dispute(self, number: str, asked: Thing) -> Thing:
        """Update a dispute's evidence, submitted once."""
        made = known(self.disputes, number)
        if made["status"] != "needs_response" or made["evidence_details"]["submission_count"]:
            raise Refusal(400, "This dispute takes no more evidence.", code="dispute_closed")
        names = ("receipt", "customer_communication", "service_documentation", "refund_policy", "uncategorized_file")
        for name in names:
            if name in asked["evidence"]:
                known(self.files, asked["evidence"][name])
        made["evidence"] = asked["evidence"]
        made["metadata"] = {**made["metadata"], **asked.get("metadata", {})}
        if asked.get("submit", True):
            made["status"] = "under_review"
            made["evidence_details"]["submission_count"] += 1
        self.tell("charge.dispute.updated", made)
        return made

    def decide_dispute(self, number: str, *, won: bool) -> None:
        """Decide a dispute as the bank."""
        charge = self.paid_charge(self._intent_of(number))
        assert charge is not None, "only what is paid is disputed"
        made = self._dispute_of(charge)
        made["status"] = "won" if won else "lost"
        if won:
            self._book("adjustment", made["amount"], 0, made["currency"], made["id"])
            self.tell("charge.dispute.funds_reinstated", made)
        self.tell("charge.dispute.closed", made)

    def pay_out(self, currency: str = "usd") -> Thing:
        """Pay out the balance, as Stripe does every day."""
        lines = [one for one in self.balance.values() if one["currency"] == currency and one["payout"] is None]
        made = {
            "id": new_id("po"),
            "object": "payout",
            "amount": sum(one["net"] for one in lines),
            "arrival_date": self.seconds(),
            "automatic": True,
            "created": self.seconds(),
            "currency": currency,
            "livemode": False,
            "status": "paid",
        }
        self.payouts[made["id"]] = made
        own = self._book("payout", -made["amount"], 0, currency, made["id"])
        for one in (*lines, self.balance[own]):
            one["payout"] = made["id"]
        return made

    def tell(self, kind: str, thing: Thing) -> None:
        """Add a webhook."""
        shown = {name: value for name, value in thing.items() if not name.startswith("_")}
        self.notices.append(
            {
                "id": new_id("evt"),
                "object": "event",
                "api_version": "2026-10-28.endive",
                "created": self.seconds(),
                "data": {"object": shown},
                "livemode": thing.get("livemode", False),
                "type": kind,
            }
        )

    def paid_charge(self, intent: str) -> Thing | None:
        """The charge that succeeded."""
        paid = (one for one in self.charges.values() if one["payment_intent"] == intent and one["paid"])
        return next(paid, None)

    def session_of(self, intent: str) -> Thing:
        """The session of an intent."""
        return next(one for one in self.sessions.values() if one["payment_intent"] == intent)

    def _intent(self, session: Thing) -> Thing:
        if session["payment_intent"] is None:
            made = self.new_intent(session["amount_total"], session["currency"], session["_intent_metadata"])
            made |= {"livemode": session["livemode"], "setup_future_usage": session["_usage"]}
            session["payment_intent"] = made["id"]
        return self.intents[session["payment_intent"]]

    def new_intent(self, amount: int, currency: str, metadata: Thing) -> Thing:
        """An unpaid PaymentIntent."""
        number = new_id("pi")
        self.intents[number] = {
            "id": number,
            "object": "payment_intent",
            "amount": amount,
            "amount_received": 0,
            "application": None,
            "created": self.seconds(),
            "currency": currency,
            "customer": None,
            "last_payment_error": None,
            "livemode": False,
            "metadata": metadata,
            "on_behalf_of": None,
            "payment_method": None,
            "setup_future_usage": None,
            "status": "requires_payment_method",
            "transfer_data": None,
        }
        return self.intents[number]

    def _intent_of(self, number: str) -> str:
        """The intent by its own ID, or by its session's."""
        return number if number in self.intents else str(known(self.sessions, number)["payment_intent"])

    def _charge(self, session: Thing, intent: Thing, tampered: Thing, method: str = "card") -> None:
        received: int = tampered["amount_received"] if "amount_received" in tampered else intent["amount"]
        session["payment_status"] = "paid"
        self.collect(intent, received, method)

    def collect(self, intent: Thing, received: int, method: str = "card") -> None:
        """Record the money of an intent."""
        intent |= {"status": "succeeded", "amount_received": received, "last_payment_error": None}
        charge = self.new_charge(intent, method, paid=True)
        fee = (received * FEE_BASIS_POINTS + 5_000) // 10_000
        charge["balance_transaction"] = self._book("charge", received, fee, intent["currency"], charge["id"])

    def _decline(self, intent: Thing, code: str) -> Thing:
        error = {"type": "card_error", "code": code, "message": "Your card was declined."}
        intent |= {"status": "requires_payment_method", "last_payment_error": error}
        self.new_charge(intent, paid=False)
        self.tell("payment_intent.payment_failed", intent)
        return intent

    def new_charge(self, intent: Thing, method: str = "card", *, paid: bool) -> Thing:
        """Create a charge attempt of an intent."""
        made = {
            "id": new_id("ch"),
            "object": "charge",
            "amount": intent["amount_received"] if paid else intent["amount"],
            "amount_refunded": 0,
            "created": self.seconds(),
            "currency": intent["currency"],
            "disputed": False,
            "metadata": intent["metadata"],
            "paid": paid,
            "payment_intent": intent["id"],
            "payment_method_details": {"type": method},
            "status": "succeeded" if paid else "failed",
        }
        self.charges[made["id"]] = made
        return made

    def _dispute_of(self, charge: Thing) -> Thing:
        return next(one for one in reversed(self.disputes.values()) if one["charge"] == charge["id"])

    def _book(self, kind: str, amount: int, fee: int, currency: str, source: str) -> str:
        number = new_id("txn")
        self.balance[number] = {
            "id": number,
            "object": "balance_transaction",
            "amount": amount,
            "created": self.seconds(),
            "currency": currency,
            "fee": fee,
            "net": amount - fee,
            "payout": None,
            "source": source,
            "type": kind,
        }
        return number


def signed(notice: Thing | bytes, at: datetime) -> tuple[bytes, str]:
    """(body, signature header) of a webhook, signed by Stripe's library."""
    body = notice if isinstance(notice, bytes) else json.dumps(notice, indent=2).encode()
    moment = int(at.timestamp())
    if body.isascii():
        return body, WebhookSignature.generate_signature_header(body.decode(), SECRET, moment)
    digest = hmac.new(SECRET.encode(), f"{moment}.".encode() + body, "sha256").hexdigest()
    return body, f"t={moment},v1={digest}"


def _ensure_amount(amount: int, currency: str) -> None:
    if currency != currency.lower() or len(currency) != 3:
        raise Refusal(400, f"Invalid currency: {currency}", param="currency")
    if amount < (50 if currency in {"usd", "eur", "jpy"} else 1):
        raise Refusal(400, "The Checkout Session's total amount is too small.", code="amount_too_small")
    if amount > 99_999_999:
        raise Refusal(400, "The total amount due must be no more than 999,999.99.", code="amount_too_large")
    steps = {**dict.fromkeys(("bhd", "jod", "kwd", "omr", "tnd"), 10), "isk": 100, "ugx": 100}
    if amount % steps.get(currency, 1):
        raise Refusal(400, f"Invalid amount of {currency}", param="unit_amount")
