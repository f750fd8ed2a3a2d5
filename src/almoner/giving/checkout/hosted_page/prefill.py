"""Form values from the URL of a giving link, which the donor can see and change; pure."""

import re
from collections.abc import Mapping
from typing import Final

from babel import Locale

from almoner.giving.checkout.hosted_page.domain import DonationAmounts
from almoner.giving.checkout.hosted_page.schemas import MAX_LENGTH, OTHER, DonationForm
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.kit.money import MAX_MINOR, currency_exponent
from almoner.kit.text import clean_text
from almoner.platform.outbound.email_addresses import clean_email_address
from almoner.platform.pages import formats

_FILLED: Final = ("amount", "frequency", "firstName", "lastName", "email", "designation", "reference")
_KEPT: Final = (*_FILLED, "currency", "lang")
_MAX_REFERENCE: Final = 250
"""The limit of a metadata value."""
_AMOUNT: Final = re.compile(r"\d{1,15}(?:\.\d{1,4})?", re.ASCII)


def is_prefilled(query: Mapping[str, str]) -> bool:
    """Whether the URL has prefilled values, so that the page is for one visitor."""
    return any(query.get(name) for name in _FILLED)


def preserved_query_parameters(query: Mapping[str, str]) -> dict[str, str]:
    """The query parameters that later pages need."""
    return {name: clean_text(query[name])[:MAX_LENGTH] for name in _KEPT if query.get(name)}


def clean_partner_reference(text: str) -> str:
    """The partner's cleaned reference; empty if it is not valid."""
    cleaned = clean_text(text)
    return cleaned if len(cleaned) <= _MAX_REFERENCE else ""


def prefilled_form(
    query: Mapping[str, str], amounts: DonationAmounts, session: DonationSession, locale: Locale
) -> DonationForm:
    """The form as prefilled by the URL; invalid values are left out."""
    minor = _minor(query.get("amount", ""), amounts)
    suggested = minor in amounts.suggested
    frequency = query.get("frequency", "")
    designation = clean_text(query.get("designation", ""))
    return DonationForm(
        amount="" if minor is None else str(minor) if suggested else OTHER,
        typed=formats.format_amount_without_currency(minor, amounts.currency, locale)
        if minor is not None and not suggested
        else "",
        first_name=clean_text(query.get("firstName", ""))[:MAX_LENGTH],
        last_name=clean_text(query.get("lastName", ""))[:MAX_LENGTH],
        email=clean_email_address(query.get("email", ""))[:MAX_LENGTH],
        designation=designation if designation in session.options.designations else "",
        frequency=frequency if frequency in session.frequencies else "",
    )


def _minor(text: str, amounts: DonationAmounts) -> int | None:
    """The amount in minor units, written with a point and no separators in any language; None if it is not allowed."""
    if not _AMOUNT.fullmatch(text):
        return None
    whole, _, part = text.partition(".")
    digits = currency_exponent(amounts.currency)
    if len(part.rstrip("0")) > digits:
        return None
    minor = int(whole) * 10**digits + int(part[:digits].ljust(digits, "0") or 0)
    return minor if amounts.minimum <= minor <= min(amounts.maximum, MAX_MINOR) else None
