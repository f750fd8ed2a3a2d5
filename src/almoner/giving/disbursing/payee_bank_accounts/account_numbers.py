"""Parses entered bank account numbers by the rules of their country; reports all problems at once.

IBAN and BIC are checked by schwifty (each country's lengths and check digits), United States and New Zealand numbers by
python-stdnum; sort codes, BSB and transit numbers have no check digit of their own, so only their format is checked.
"""

import re
import unicodedata
import warnings
from collections.abc import Mapping
from typing import Final

from almoner.giving.disbursing.payee_bank_accounts.domain import (
    AccountNumbers,
    PayeeAccountError,
    Scheme,
    is_sepa_account,
)

NEEDED: Final[Mapping[Scheme, tuple[str, ...]]] = {
    "iban": ("iban",),
    "gb": ("sort_code", "account"),
    "us": ("routing", "account"),
    "au": ("bsb", "account"),
    "nz": ("account",),
    "ca": ("institution", "transit", "account"),
}
"""The numbers that each kind of account requires."""
_FORMS: Final = {
    "sort_code": (r"\d{6}", "6 digits"),
    "bsb": (r"\d{6}", "6 digits"),
    "institution": (r"\d{3}", "3 digits"),
    "transit": (r"\d{5}", "5 digits"),
    ("gb", "account"): (r"\d{8}", "8 digits"),
    ("us", "account"): (r"\d{4,17}", "4 to 17 digits"),
    ("au", "account"): (r"[0-9A-Z]{4,9}", "4 to 9 digits or letters"),
    ("ca", "account"): (r"\d{7,12}", "7 to 12 digits"),
}
_BETWEEN: Final = re.compile(r"[\s.\-‐-―]+")


def parse_account_numbers(fields: Mapping[str, str | None]) -> AccountNumbers:
    """Parse entered account numbers by the rules of their country. Raises PayeeAccountError."""
    typed = {name: _tidied(value) for name, value in fields.items() if value}
    bic = typed.pop("bic", None)
    scheme = _scheme(set(typed))
    if scheme == "nz":
        typed["account"] = _pad_new_zealand(fields["account"] or "")
    found = [_expected_fields()] if scheme is None else []
    found += [problem for name, value in typed.items() if scheme and (problem := _number_problem(scheme, name, value))]
    if bic and (problem := _bic_problem(bic)):
        found.append(problem)
    if scheme == "iban" and not bic and not found and not is_sepa_account(scheme, typed["iban"]):
        found.append(f"bic is required: an IBAN alone is not enough to pay to a bank in {typed['iban'][:2]}")
    if found or scheme is None:
        raise PayeeAccountError("; ".join(found))
    account = typed["iban"] if scheme == "iban" else typed["account"]
    bank = "".join(typed[name] for name in NEEDED[scheme] if name not in {"iban", "account"})
    return AccountNumbers(scheme, account, bank or None, bic)


def _tidied(entered: str) -> str:
    """A number without what stands between its digits or, copied with it, before an IBAN; wide digits are digits."""
    visible = "".join(one for one in unicodedata.normalize("NFKC", entered) if unicodedata.category(one) != "Cf")
    plain = _BETWEEN.sub("", visible).upper()
    return re.sub("^IBAN:?(?=[A-Z]{2}[0-9]{2})", "", plain)


def is_same_account_number(account_numbers: AccountNumbers, entered_number: str) -> bool:
    """Whether an entered number equals a known account's."""
    if account_numbers.scheme == "nz":
        return _pad_new_zealand(entered_number) == account_numbers.account
    return _tidied(entered_number) == (account_numbers.bank or "") + account_numbers.account


def _scheme(names: set[str]) -> Scheme | None:
    return next((scheme for scheme, needed in NEEDED.items() if names == set(needed)), None)


def _expected_fields() -> str:
    kinds = " / ".join(" and ".join(name.replace("_", " ") for name in needed) for needed in NEEDED.values())
    return f"specify the numbers of one account type: {kinds}"


def _number_problem(scheme: Scheme, name: str, value: str) -> str | None:
    if name == "iban":
        return _iban_problem(value)
    if name == "routing":
        from stdnum.us import rtn  # imported on first use

        right = rtn.is_valid(value) and not _is_all_zeros(value)
        return None if right else "routing must be a valid routing number of 9 digits, including the check digit"
    if scheme == "nz":
        from stdnum.nz import bankaccount  # imported on first use

        return None if bankaccount.is_valid(value) else "account must be a valid New Zealand account number"
    pattern, form = _FORMS.get(name) or _FORMS[scheme, name]
    if not re.fullmatch(pattern, value, re.ASCII):
        return f"{name.replace('_', ' ')} must have {form}"
    return f"{name.replace('_', ' ')} must not be all zeros" if _is_all_zeros(value) else None


def _is_all_zeros(value: str) -> bool:
    """Whether a number is only zeros, which would pass check digits."""
    return not value.strip("0")


def _pad_new_zealand(value: str) -> str:
    """Add missing leading zeros to the parts of a number, which its separators show."""
    from stdnum.nz import bankaccount  # imported on first use

    return str(bankaccount.compact(value))


def _iban_problem(value: str) -> str | None:
    from schwifty import IBAN  # imported on first use: 20 MB
    from schwifty.exceptions import NationalChecksumNotVerified, SchwiftyException

    try:
        with warnings.catch_warnings():  # of Hungary and Sweden: the IBAN's own check digits suffice
            warnings.simplefilter("ignore", NationalChecksumNotVerified)
            IBAN(value, validate_bban=True)
    except SchwiftyException as wrong:
        return f"iban is not valid: {wrong}"
    return None


def _bic_problem(value: str) -> str | None:
    from schwifty import BIC  # imported on first use: 20 MB
    from schwifty.exceptions import SchwiftyException

    try:
        BIC(value)
    except SchwiftyException as wrong:
        return f"bic is not valid: {wrong}"
    return None
