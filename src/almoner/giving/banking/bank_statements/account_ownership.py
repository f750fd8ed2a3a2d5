"""Whose statements are believed: those of our own accounts, however a bank writes them."""

import re
from collections.abc import Mapping
from typing import Final

from almoner.giving.banking.bank_statements.domain import Statement, normalise_account_number
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccountError

_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)


def ownership_problems(statement: Statement, own: Mapping[str, OwnAccount] | None) -> list[str]:
    """Why a statement is not believed: it is of an account that is not ours in its currency, or of none."""
    if own is not None:
        if _find_own_account(statement, own) is not None:
            return []
        known = ", ".join(f"{one.numbers.account} in {currency}" for currency, one in own.items()) or "none"
        return [f"this is no account of ours in {statement.currency}: ALMONER_BANK_ACCOUNTS has {known}"]
    account = normalise_account_number(statement.account)
    try:
        if _IBAN.fullmatch(account):
            payee_bank_accounts.parse_account_numbers({"iban": account})
    except PayeeAccountError as refused:
        return [str(refused)]
    return []


def canonical_account_number(statement: Statement, own: Mapping[str, OwnAccount] | None) -> str:
    """The account in the one spelling that we keep."""
    ours = _find_own_account(statement, own) if own is not None else None
    return ours.numbers.account if ours else normalise_account_number(statement.account)


def _find_own_account(statement: Statement, own: Mapping[str, OwnAccount]) -> OwnAccount | None:
    """A bank names an account by its number, or with that of the bank before it."""
    known = own.get(statement.currency)
    if known is None:
        return None
    numbers = known.numbers
    return (
        known
        if normalise_account_number(statement.account) in {numbers.account, f"{numbers.bank or ''}{numbers.account}"}
        else None
    )
