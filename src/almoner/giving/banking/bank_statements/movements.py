"""Normalises the movements of all file formats; pure."""

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Final

from almoner.giving.banking.bank_statements.domain import (
    DERIVED,
    MAX_END_TO_END,
    MAX_REFERENCE,
    MAX_REMITTANCE_TEXT,
    BankMovement,
)
from almoner.kit.money import EXPONENTS, MAX_MINOR

_NOTHING: Final = re.compile(
    r"NOT ?(?:PROVIDED|AVAILABLE|APPLICABLE)|NON ?REF|NO ?REF(?:ERENCE)?|NONE|UNKNOWN|N[./]?A\.?|[\W_0]*", re.IGNORECASE
)
_MOST_DIGITS: Final = 18
"""The maximum number of digits of an amount in ISO 20022."""
_LONGEST_NAME: Final = 140
_LONGEST_REASON: Final = 400
_DIGEST: Final = 16


def reference_unless_placeholder(text: str | None) -> str | None:
    """A reference; None for a bank's placeholder such as NONREF."""
    return None if text is None or _NOTHING.fullmatch(text.strip()) else text.strip()


def _digits(value: Decimal) -> int:
    return len(value.normalize().as_tuple().digits)


def parse_minor_units_or_problem(value: Decimal, currency: str, amount_text: str) -> int | str:
    """An amount in minor units, or the problem with it; ``amount_text``: as in the file."""
    if not value.is_finite() or value < 0 or abs(value.adjusted()) > _MOST_DIGITS or _digits(value) > _MOST_DIGITS:
        return f"{amount_text} is not a valid amount"
    exponent = EXPONENTS[currency]
    if value > Decimal(MAX_MINOR).scaleb(-exponent):
        return f"{amount_text} is more than the ledger can hold"
    minor = value.scaleb(exponent)
    return int(minor) if minor == int(minor) else f"{amount_text} is not a valid amount in this currency"


def new_movement(
    *,
    booked_on: date,
    amount_minor: int,
    currency: str,
    bank_reference: str | None,
    end_to_end_id: str | None,
    counterparty: str | None,
    remittance_texts: Iterable[str],
    return_reason: str | None,
    is_reversal: bool = False,
) -> BankMovement:
    """Build a movement; without a bank reference, one is derived from its fields."""
    end_to_end = reference_unless_placeholder(end_to_end_id)
    stated = list(remittance_texts)
    if end_to_end and len(end_to_end) > MAX_END_TO_END:
        stated, end_to_end = [end_to_end, *stated], None
    words = " ".join(" ".join(dict.fromkeys(one for one in stated if one)).split())[:MAX_REMITTANCE_TEXT] or None
    other = " ".join((counterparty or "").split())[:_LONGEST_NAME] or None
    why = " ".join((return_reason or "").split())[:_LONGEST_REASON] or None
    known = reference_unless_placeholder(bank_reference)
    if known is None:
        told = "\x00".join(
            str(one or "") for one in (booked_on, amount_minor, currency, end_to_end, other, words, is_reversal)
        )
        known = f"{DERIVED}{booked_on:%Y%m%d}-{sha256(told.encode()).hexdigest()[:_DIGEST]}"
    return BankMovement(
        booked_on,
        amount_minor,
        currency,
        shorten_with_hash(known, MAX_REFERENCE),
        end_to_end,
        other,
        words,
        why,
        is_reversal,
    )


def shorten_with_hash(identifier: str, max_length: int) -> str:
    """Shorten an identifier to ``max_length`` characters by a digest that keeps it unique."""
    if len(identifier) <= max_length:
        return identifier
    return f"{identifier[: max_length - _DIGEST - 1]}~{sha256(identifier.encode()).hexdigest()[:_DIGEST]}"
