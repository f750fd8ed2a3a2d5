"""Check digits of registers that have them, by python-stdnum (decision 0035).

Only its calculations are used: its validators reject numbers in real use, and depend on the current year.
"""

from collections.abc import Callable, Mapping
from typing import Final


def _abn(key: str) -> bool:
    from stdnum.au import abn  # on first use

    return abn.calc_check_digits(key[2:]) == key[:2]


def _business_number(key: str) -> bool:
    from stdnum import luhn  # on first use

    return luhn.checksum(key[:9]) == 0  # the suffix RR0001 has no check digit, and stdnum.ca.bn rejects RR


def _rsin(key: str) -> bool:
    from stdnum.nl import bsn  # on first use

    return bsn.checksum(key) == 0  # the eleven test of citizen service numbers


def _cnpj(key: str) -> bool:
    from stdnum.br import cnpj  # on first use

    return cnpj.calc_check_digits(key[:12]) == key[12:]


def _rfc(key: str) -> bool:
    from stdnum.mx import rfc  # on first use

    return rfc.calc_check_digit(key[:-1]) == key[-1]


def _uen(key: str) -> bool:
    from stdnum.sg import uen  # on first use

    if len(key) == 9:
        return uen.calc_business_check_digit(key[:-1]) == key[-1]
    if key[0].isdigit():
        return uen.calc_local_company_check_digit(key[:-1]) == key[-1]
    return not set(key[:-1]) & set("IOYZ") and uen.calc_other_check_digit(key[:-1]) == key[-1]


_RULES: Final[Mapping[str, Callable[[str], bool]]] = {
    "ACNC": _abn,
    "CRA": _business_number,
    "ANBI": _rsin,
    "CNPJ": _cnpj,
    "RFC": _rfc,
    "COC": _uen,
}


def has_valid_check_digits(registry_code: str, number_key: str) -> bool | None:
    """Whether the check digits of a number of the right form are right; None where the register has none."""
    rule = _RULES.get(registry_code)
    return None if rule is None else rule(number_key)
