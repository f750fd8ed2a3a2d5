"""Maps Stripe's decline reasons to how the next charge proceeds.

Based on Stripe's decline codes and advice codes, and the networks' codes for cards that must never be retried.
"""

from typing import Final

import msgspec

from almoner.giving.checkout.payments.domain import Decline, DeclineAction

_REVOKED: Final = frozenset({"revocation_of_authorization", "revocation_of_all_authorizations", "stop_payment_order"})
_AUTHENTICATE: Final = frozenset(
    {"authentication_required", "authentication_not_handled", "mobile_device_authentication_required"}
)
_ASK_DONOR: Final = frozenset(
    "expired_card incorrect_address incorrect_cvc incorrect_pin incorrect_zip invalid_cvc invalid_expiry_month "
    "invalid_expiry_year invalid_pin offline_pin_required online_or_offline_pin_required pin_try_exceeded "
    "testmode_decline".split()
)
_NEVER: Final = frozenset(
    "card_not_supported currency_not_supported fraudulent highest_risk_level incorrect_number invalid_account "
    "invalid_number lost_card merchant_blacklist pickup_card restricted_card "
    "security_violation stolen_card transaction_not_allowed".split()
)
_NETWORK_STOPPED: Final = frozenset({"R0", "R1", "R3"})
_VISA_NEVER: Final = frozenset({"04", "07", "12", "14", "15", "41", "43", "46", "57"})
"""Visa's first category: the bank will never approve, and each retry costs a fee."""
_ADVICE_NEVER: Final = "03"
_ADVICE_STOPPED: Final = "21"
"""Mastercard's advice: do not try again; the holder has cancelled the agreement."""


class _Card(msgspec.Struct, frozen=True):
    brand: str = ""


class _Tried(msgspec.Struct, frozen=True):
    """The payment method of the charge."""

    card: _Card | None = None


class ChargeErrorDetails(msgspec.Struct, frozen=True):
    """The error of a PaymentIntent's last charge attempt."""

    code: str | None = None
    decline_code: str | None = None
    advice_code: str | None = None
    network_advice_code: str | None = None
    network_decline_code: str | None = None
    payment_method: _Tried | None = None


def classify_decline(error: ChargeErrorDetails) -> Decline:
    """How to proceed after a decline. Unknown reasons are retried on another day."""
    code = error.decline_code or error.code or "declined"
    return Decline(_action(error, {code, error.code or ""}), code)


def _action(error: ChargeErrorDetails, codes: set[str]) -> DeclineAction:
    network, advice = error.network_decline_code or "", error.network_advice_code or ""
    if codes & _REVOKED or network in _NETWORK_STOPPED or advice == _ADVICE_STOPPED:
        return DeclineAction.REVOKED
    if codes & _AUTHENTICATE:
        return DeclineAction.AUTHENTICATE
    visa = error.payment_method and error.payment_method.card and error.payment_method.card.brand == "visa"
    if (
        codes & _NEVER
        or advice == _ADVICE_NEVER
        or error.advice_code == "do_not_try_again"
        or (visa and network in _VISA_NEVER)
    ):
        return DeclineAction.NEVER
    if codes & _ASK_DONOR or error.advice_code == "confirm_card_data":
        return DeclineAction.ASK_DONOR
    return DeclineAction.RETRY
