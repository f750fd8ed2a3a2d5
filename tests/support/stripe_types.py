"""Stripe's own typed parameters as a validator: calls that its library's types do not allow are refused.

The library's types are for readers: every enumeration also allows ``str``. Here only the listed values are valid.
"""

import sys
import typing
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union

import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from stripe import RequestOptions, params
from stripe.params import checkout

Form = dict[str, Any]

CALLS: dict[tuple[str, str], type] = {
    ("POST", "/v1/checkout/sessions"): checkout.SessionCreateParams,
    ("GET", "/v1/checkout/sessions"): checkout.SessionListParams,
    ("GET", "/v1/checkout/sessions/{id}"): checkout.SessionRetrieveParams,
    ("POST", "/v1/checkout/sessions/{id}/expire"): checkout.SessionExpireParams,
    ("POST", "/v1/payment_intents"): params.PaymentIntentCreateParams,
    ("GET", "/v1/payment_intents"): params.PaymentIntentListParams,
    ("GET", "/v1/payment_intents/{id}"): params.PaymentIntentRetrieveParams,
    ("POST", "/v1/payment_intents/{id}/cancel"): params.PaymentIntentCancelParams,
    ("GET", "/v1/payment_methods/{id}"): params.PaymentMethodRetrieveParams,
    ("DELETE", "/v1/customers/{id}"): params.CustomerDeleteParams,
    ("POST", "/v1/refunds"): params.RefundCreateParams,
    ("GET", "/v1/refunds"): params.RefundListParams,
    ("GET", "/v1/refunds/{id}"): params.RefundRetrieveParams,
    ("GET", "/v1/disputes"): params.DisputeListParams,
    ("GET", "/v1/disputes/{id}"): params.DisputeRetrieveParams,
    ("POST", "/v1/disputes/{id}"): params.DisputeUpdateParams,
    ("POST", "/v1/files"): params.FileCreateParams,
    ("GET", "/v1/charges"): params.ChargeListParams,
    ("GET", "/v1/payouts"): params.PayoutListParams,
    ("GET", "/v1/payouts/{id}"): params.PayoutRetrieveParams,
    ("GET", "/v1/balance_transactions"): params.BalanceTransactionListParams,
    ("GET", "/v1/webhook_endpoints"): params.WebhookEndpointListParams,
}
"""Every call that the stub supports, with the type of its parameters."""


def checked(method: str, route: str, sent: Form) -> Form:
    """The parameters, with numbers and booleans parsed. Raises pydantic.ValidationError, KeyError."""
    read: dict[str, Any] = _adapter(CALLS[method, route]).validate_python(sent).model_dump(exclude_unset=True)
    return read


@cache
def _adapter(form: type) -> TypeAdapter[BaseModel]:
    return TypeAdapter(_model(form))


@cache
def _model(form: type) -> type[BaseModel]:
    module = vars(sys.modules[form.__module__])
    # Some members are for readers of the types only; call options are not parameters.
    known = {**vars(typing), **vars(typing_extensions), **module, "UntypedStripeObject": dict, "StripeContext": str}
    hints = typing_extensions.get_type_hints(form, known, include_extras=True)
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        if name in RequestOptions.__annotations__:
            continue
        required = name in form.__required_keys__  # type: ignore[attr-defined]
        fields[f"f_{name}"] = (_type(hint), Field(... if required else None, alias=name, serialization_alias=name))
    config = ConfigDict(extra="forbid", serialize_by_alias=True)  # all input is text
    return create_model(form.__name__, __config__=config, **fields)


def _type(hint: Any) -> Any:
    origin, given = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing_extensions.NotRequired, typing_extensions.Required):
        return _type(given[0])
    if origin in (Union, UnionType):
        return _union(given)
    if origin is list:
        return list[_type(given[0])]  # type: ignore[misc]
    if origin is dict or hint is dict:
        return dict[str, str]
    if typing_extensions.is_typeddict(hint):
        return _model(hint)
    return hint


def _union(given: tuple[Any, ...]) -> Any:
    listed = any(typing.get_origin(one) is Literal for one in given)
    stored = tuple(one for one in given if not (listed and one is str) and one is not NoneType)
    return Union[tuple(_type(one) for one in stored)]  # noqa: UP007 - put together here


def nested(pairs: list[tuple[str, str]]) -> Form:
    """Parse ``a[b][0][c]=d``."""
    tree: Form = {}
    for name, value in pairs:
        head, *rest = name.replace("]", "").split("[")
        place, key = tree, head
        for part in rest:
            place = place.setdefault(key, {})
            key = part
        place[key] = value
    return {name: _lists(value) for name, value in tree.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _lists(part) for name, part in value.items()}
    return list(inner.values()) if inner and all(name.isdigit() for name in inner) else inner
