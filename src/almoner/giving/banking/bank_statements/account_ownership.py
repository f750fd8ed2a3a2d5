"""Checks that a statement belongs to one of our own accounts."""

import re
from collections.abc import Mapping
from typing import Final

from almoner.giving.banking.bank_statements.domain import BankStatement, normalise_account_number
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccountError

_SHORTEST: Final = 6
"""The shortest account number that is compared; a shorter one may match the end of another by chance."""
_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)


def find_ownership_problems(statement: BankStatement, own_accounts: Mapping[str, OwnAccount] | None) -> list[str]:
    """Return why the statement is not of one of our accounts; empty if it is."""
    if own_accounts is not None:
        if _find_own_account(statement, own_accounts) is not None:
            return []
        known = ", ".join(f"{one.numbers.account} in {currency}" for currency, one in own_accounts.items()) or "none"
        return [f"this is no account of ours in {statement.currency}: ALMONER_BANK_ACCOUNTS has {known}"]
    account = normalise_account_number(statement.account)
    try:
        if _IBAN.fullmatch(account):
            payee_bank_accounts.parse_account_numbers({"iban": account})
    except PayeeAccountError as refused:
        return [str(refused)]
    return []


def canonical_account_number(statement: BankStatement, own_accounts: Mapping[str, OwnAccount] | None) -> str:
    """Our account's number in its canonical form."""
    ours = _find_own_account(statement, own_accounts) if own_accounts is not None else None
    return ours.numbers.account if ours else normalise_account_number(statement.account)


def _find_own_account(statement: BankStatement, own: Mapping[str, OwnAccount]) -> OwnAccount | None:
    """Find our account; banks identify it by its number, with or without the bank's number before it."""
    known = own.get(statement.currency)
    if known is None:
        return None
    numbers, stated = known.numbers, normalise_account_number(statement.account)
    if stated in {numbers.account, f"{numbers.bank or ''}{numbers.account}"}:
        return known
    return known if numbers.scheme == "iban" and _is_domestic_form(numbers.account, statement.account) else None


def _is_domestic_form(iban: str, stated: str) -> bool:
    """Whether a number is the IBAN's domestic form, as in MT940: the account, usually after bank number and slash.

    A bank's name or BIC in place of its number is ignored. Leading zeros of the account may be missing.
    """
    *before, account = [normalise_account_number(part) for part in stated.split("/") if part.strip()] or [""]
    digits = account.lstrip("0")
    if len(digits) < _SHORTEST or not iban.endswith(digits):
        return False
    bank = "".join(part for part in before if part.isdigit())
    left = iban[4:].removesuffix(digits)
    return (left.startswith(bank) and not left[len(bank) :].strip("0")) if bank else True
