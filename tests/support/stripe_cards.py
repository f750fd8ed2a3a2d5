"""Saved cards at Stripe in memory: customers, payment methods, and off-session charges."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.support.stripe_account import StripeAccount

from tests.support.stripe_things import Refusal, Thing, known, new_id

DECLINED_LATER: Final = "4000000000000341"
ALWAYS_CHALLENGED: Final = "4000002760003184"
_KEPT: Final = 4


def save_card(account: "StripeAccount", email: str, number: str) -> Thing:
    """Attach a card to a new customer."""
    customer: Thing = {"id": new_id("cus"), "object": "customer", "email": email, "livemode": False}
    account.customers[customer["id"]] = customer
    method: Thing = {
        "id": new_id("pm"),
        "object": "payment_method",
        "type": "card",
        "customer": customer["id"],
        "card": {"brand": "visa", "last4": number[-_KEPT:], "exp_month": 12, "exp_year": 2099},
        "_number": number,
        "_fails": [],
    }
    account.methods[method["id"]] = method
    return method


def renew_card(account: "StripeAccount", number: str, exp_year: int = 2105) -> None:
    """Renew a card, as its bank and Stripe do."""
    method = known(account.methods, number)
    method["card"]["exp_year"] = exp_year
    account.tell("payment_method.automatically_updated", method)


def decline_next(account: "StripeAccount", number: str, error: Thing) -> None:
    """Make the next charge of a saved card fail."""
    known(account.methods, number)["_fails"].append(error)


def delete_customer(account: "StripeAccount", number: str) -> Thing:
    """Delete a customer and detach its payment methods."""
    known(account.customers, number)
    del account.customers[number]
    for method in account.methods.values():
        if method["customer"] == number:
            method["customer"] = None
    return {"id": number, "object": "customer", "deleted": True}


def charge_saved_card(account: "StripeAccount", asked: Thing) -> Thing:
    """Charge a saved card; a decline is an error that contains the intent."""
    if not asked.get("confirm") or asked.get("off_session") != "recurring":
        raise Refusal(400, "This stub knows payments without the donor alone.", param="off_session")
    customer = known(account.customers, asked["customer"])
    method = known(account.methods, asked["payment_method"])
    if method["customer"] != customer["id"]:
        raise Refusal(400, "The PaymentMethod does not belong to this Customer.", param="payment_method")
    intent = account.new_intent(asked["amount"], asked["currency"], asked.get("metadata", {}))
    intent |= {"customer": customer["id"], "payment_method": method["id"], "description": asked.get("description")}
    if (error := _decline_of(method)) is not None:
        error |= {"type": "card_error", "message": "Your card was declined.", "payment_method": shown_method(method)}
        intent |= {"status": "requires_payment_method", "last_payment_error": error, "payment_method": None}
        account.new_charge(intent, paid=False)
        account.tell("payment_intent.payment_failed", intent)
        raise Refusal(
            402, "Your card was declined.", kind="card_error", **error_members(error), payment_intent=dict(intent)
        )
    account.collect(intent, intent["amount"])
    account.tell("payment_intent.succeeded", intent)
    return intent


def _decline_of(method: Thing) -> Thing | None:
    if method["_fails"]:
        return dict(method["_fails"].pop(0))
    if method["_number"] == DECLINED_LATER:
        return {"code": "card_declined", "decline_code": "generic_decline"}
    if method["_number"] == ALWAYS_CHALLENGED:
        return {"code": "authentication_required", "decline_code": "authentication_required"}
    return None


def error_members(error: Thing) -> Thing:
    """The members that both the error response and the intent's error have."""
    return {name: error[name] for name in ("code", "decline_code", "advice_code") if name in error}


def shown_method(method: Thing) -> Thing:
    """A payment method as Stripe returns it."""
    return {name: value for name, value in method.items() if not name.startswith("_")}
