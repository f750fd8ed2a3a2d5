"""Values shared by all calls to Stripe: our metadata, amounts, languages, saved cards."""

from collections.abc import Mapping
from typing import Final

from almoner.adapters import stripe_currencies
from almoner.adapters.stripe_currencies import UnsupportedAmount
from almoner.adapters.stripe_responses import PaymentMethod
from almoner.giving.checkout.payments.domain import ProviderFailure, SavedPaymentMethod
from almoner.kit.money import Money
from almoner.kit.time import end_of_month

REFERENCE_KEY: Final = "almoner"
"""The metadata key of objects that we created: on a payment its reference, on a refund its idempotency key."""
DEPLOYMENT_KEY: Final = "almoner_deployment"
"""The metadata key that identifies our deployment; payments of other deployments at the same account are ignored."""
AGREEMENT_KEY: Final = "almoner_agreement"
"""The metadata key of the version of the text by which the donor agreed to have the payment method saved."""
_LOCALES: Final = frozenset(
    "bg cs da de el en en-GB es es-419 et fi fil fr fr-CA hr hu id it ja ko lt lv ms mt nb nl pl pt pt-BR ro ru sk sl "
    "sv th tr vi zh zh-HK zh-TW".split()
)


def is_created_by_deployment(metadata: Mapping[str, object], deployment_id: str) -> bool:
    """Whether this deployment created the object with this metadata."""
    return REFERENCE_KEY in metadata and metadata.get(DEPLOYMENT_KEY) == deployment_id


def checkout_locale(language: str) -> str:
    """The closest of the languages of Stripe's pages."""
    base = language.partition("-")[0]
    return next((one for one in (language, base) if one in _LOCALES), "auto")


def to_stripe_amount(money: Money) -> int:
    """Convert an amount to Stripe's units. Raises ProviderFailure."""
    try:
        return stripe_currencies.to_stripe_amount(money)
    except UnsupportedAmount as error:
        raise ProviderFailure(str(error)) from error


def from_stripe_amount(amount: int, currency: str) -> Money:
    """Convert Stripe's amount. Raises ProviderFailure."""
    try:
        return stripe_currencies.from_stripe_amount(amount, currency)
    except UnsupportedAmount as error:
        raise ProviderFailure(str(error)) from error


def to_saved_payment_method(payment_method: PaymentMethod | str | None) -> SavedPaymentMethod | None:
    """The saved card of a customer; None for other payment methods."""
    if not isinstance(payment_method, PaymentMethod) or payment_method.card is None or not payment_method.customer:
        return None
    card = payment_method.card
    expires_at = end_of_month(card.exp_year, card.exp_month)
    return SavedPaymentMethod(
        payment_method.customer, payment_method.id, payment_method.type, card.brand, card.last4, expires_at
    )
