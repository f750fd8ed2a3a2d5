"""Parses the administrator's file of our own accounts: one table for each currency."""

import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation, Overflow
from pathlib import Path
from typing import Any, Final

from almoner.giving.banking.payment_files.domain import OwnAccount, PaymentFileError
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import Address, PayeeAccountError
from almoner.kit.bank_text import non_sepa_characters
from almoner.kit.money import EXPONENTS, MAX_MINOR, Money, currency_exponent
from almoner.nonprofits.countries.domain import COUNTRIES

_NUMBERS: Final = ("iban", "bic", "account", "sort_code", "routing", "bsb", "institution", "transit")
_ADDRESS: Final = ("town", "country", "street", "building", "postcode")
_NAMES: Final = {"name", "single_approval_limit", *_NUMBERS, *_ADDRESS}


def parse_own_accounts(file: Path | None) -> Mapping[str, OwnAccount]:
    """Parse the file; returns our accounts by currency. Raises PaymentFileError with every problem."""
    if file is None:
        raise PaymentFileError(
            "Say which accounts disbursements are paid from: set ALMONER_BANK_ACCOUNTS to a TOML file, as in "
            "docs/runbooks/bank.md."
        )
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise PaymentFileError(f"{file} cannot be read: {error}") from error
    found: list[str] = []
    accounts = {currency: _parse_account(currency, table, found) for currency, table in tables.items()}
    if found:
        raise PaymentFileError(f"{file}: " + "; ".join(found))
    return {currency: account for currency, account in accounts.items() if account is not None}


def _parse_account(currency: str, table: Any, found: list[str]) -> OwnAccount | None:
    if currency not in EXPONENTS or not isinstance(table, dict):
        found.append(f"[{currency}] is not the table of an ISO 4217 currency")
        return None
    given = {name: str(value).strip() for name, value in table.items()}
    problems = [f"{name} is none of {', '.join(sorted(_NAMES))}" for name in given.keys() - _NAMES]
    problems += [f"{name} is required" for name in ("name", "town", "country") if not given.get(name)]
    if given.get("country") and given["country"] not in COUNTRIES:
        problems.append("country must have three letters such as DEU")
    problems += [
        f"{name} has characters that banks do not take: {' '.join(wrong)}"
        for name in ("name", *_ADDRESS)
        if (wrong := non_sepa_characters(given.get(name, "")))
    ]
    alone, numbers = _parse_release_limit(given.get("single_approval_limit", "0"), currency), None
    if alone is None:
        problems.append(f"single_approval_limit must be an amount of {currency}")
    try:
        numbers = payee_bank_accounts.parse_account_numbers({name: given[name] for name in _NUMBERS if name in given})
    except PayeeAccountError as refused:
        problems.append(str(refused))
    found += [f"[{currency}] {problem}" for problem in problems]
    if problems or alone is None or numbers is None:
        return None
    address = Address(given["town"], given["country"], *(given.get(name) for name in _ADDRESS[2:]))
    return OwnAccount(given["name"], numbers, address, alone)


def _parse_release_limit(text: str, currency: str) -> Money | None:
    try:
        minor = Decimal(text).scaleb(currency_exponent(currency))
    except (InvalidOperation, Overflow):
        return None
    whole = minor.is_finite() and 0 <= minor <= MAX_MINOR and minor == int(minor)
    return Money(int(minor), currency) if whole else None
