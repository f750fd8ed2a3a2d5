"""The reasons of banks for rejected and returned payments, in words, with what to do next.

Banks give a code of ISO 20022 (external code sets for status reasons and return reasons), often with a text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from almoner.platform.pages.record_tables import LabelledValue

_ACCOUNT: Final = (
    "Call the nonprofit on a phone number that you already had, and ask for its account details. Propose the account "
    "and have it approved, then release the hold."
)
_BLOCKED: Final = (
    "Call the nonprofit on a phone number that you already had. Ask it to resolve the problem with its bank, or to "
    "give you another account. Then release the hold."
)
_HOLDER: Final = (
    "Compare the account holder’s name and address with the nonprofit’s own documents. Propose the account again with "
    "the correct name and address, then release the hold."
)
_OURS: Final = "Ask our bank. This concerns our account, not the nonprofit’s. Then release the hold."
_FUNDS: Final = "Check the balance and limits of our account, then release the hold."
_TWICE: Final = (
    "Before you release the hold, check the bank statements to find out whether the nonprofit has already been paid."
)
_LAW: Final = "Do not release the hold until our bank and an administrator have told you why the payment was rejected."
_FILE: Final = "Ask our bank what it expects in the payment file, then ask an administrator to correct the settings."
_ASK: Final = "Ask our bank for the reason, then release the hold."
_CODES: Final[Mapping[str, tuple[str, str]]] = {
    "AC01": ("The account number is wrong or missing", _ACCOUNT),
    "AC02": ("Our account number is wrong or missing", _OURS),
    "AC03": ("The nonprofit’s account number is wrong or missing", _ACCOUNT),
    "AC04": ("The account is closed", _ACCOUNT),
    "AC05": ("Our account is closed", _OURS),
    "AC06": ("The account is blocked", _BLOCKED),
    "AC07": ("The nonprofit’s account is closed", _ACCOUNT),
    "AC08": ("The branch code is wrong or missing", _ACCOUNT),
    "AC09": ("The account’s currency is wrong or missing", _ACCOUNT),
    "AC11": ("The currency of the nonprofit’s account is wrong or missing", _ACCOUNT),
    "AC13": ("The type of our account is wrong or missing", _OURS),
    "AC14": ("The type of the nonprofit’s account is wrong or missing", _ACCOUNT),
    "AC15": ("The account details have changed", _ACCOUNT),
    "AC17": ("The account holder is in liquidation", _BLOCKED),
    "AG01": ("Payments of this kind are forbidden on this account", _BLOCKED),
    "AG02": ("The kind of payment is wrong", _FILE),
    "AG03": ("The account does not support payments of this kind", _BLOCKED),
    "AGNT": ("A bank in the payment is wrong", _ACCOUNT),
    "AM02": ("The amount is above the allowed maximum", _FUNDS),
    "AM03": ("The currency is not allowed", _ACCOUNT),
    "AM04": ("Our account has insufficient funds", _FUNDS),
    "AM05": ("The bank considers the payment a duplicate", _TWICE),
    "AM06": ("The amount is below the minimum", _ASK),
    "AM07": ("The amount has been blocked by the authorities", _LAW),
    "AM09": ("The amount is not as expected", _ASK),
    "AM10": ("The total of the file is wrong", _FILE),
    "AM13": ("The amount is above the limit of the clearing system", _FUNDS),
    "AM14": ("The amount is above the limit agreed with our bank", _FUNDS),
    "BE01": ("The account holder’s name does not match the account", _HOLDER),
    "BE04": ("The account holder’s address is wrong or missing", _HOLDER),
    "BE05": ("The bank does not know the sender of the file", _OURS),
    "BE06": ("The bank does not know the account holder", _HOLDER),
    "BE07": ("Our address is wrong or missing", _FILE),
    "CH03": ("The execution date is too far in the future", _FILE),
    "CH04": ("The execution date is too far in the past", _FILE),
    "CNOR": ("The nonprofit’s bank cannot receive this kind of payment", _ACCOUNT),
    "CURR": ("The currency is wrong", _ACCOUNT),
    "CUST": ("We or the account holder asked the bank to reject or return the payment", _ASK),
    "DNOR": ("Our bank cannot send this kind of payment", _OURS),
    "DT01": ("The date is wrong", _FILE),
    "DUPL": ("The payment is a duplicate of another payment", _TWICE),
    "ED05": ("The settlement between the banks failed", _ASK),
    "FF01": ("The format of the file is wrong", _FILE),
    "FOCR": ("The payment was cancelled on request", _ASK),
    "FR01": ("The bank suspects fraud", _LAW),
    "FRAD": ("The bank suspects fraud", _LAW),
    "LEGL": ("A legal decision or regulation prevents the payment", _LAW),
    "MD07": ("The account holder has died", _HOLDER),
    "MS02": ("The account holder refused the payment without giving a reason", _BLOCKED),
    "MS03": ("The bank gives no reason", _ASK),
    "NARR": ("The bank gives its reason only as text", _ASK),
    "NOAS": ("The account holder did not answer the bank", _BLOCKED),
    "RC01": ("The bank’s identifier (such as the BIC) is wrong", _ACCOUNT),
    "RC03": ("The identifier of our bank is wrong", _OURS),
    "RC04": ("The identifier of the nonprofit’s bank is wrong", _ACCOUNT),
    "RF01": ("The payment reference has already been used", _TWICE),
    "RR01": ("Our account number or identification is missing", _OURS),
    "RR02": ("Our name or address is missing", _FILE),
    "RR03": ("The account holder’s name or address is missing", _HOLDER),
    "RR04": ("A regulation prevents the payment", _LAW),
    "RUTA": ("The bank could not credit the payment to the account", _ACCOUNT),
    "SL01": ("A service of our bank prevented the payment", _OURS),
    "TM01": ("The payment reached the bank too late in the day", _ASK),
    "UPAY": ("The account holder says that no payment is due", _BLOCKED),
}
_CODE: Final = re.compile(rf"\b({'|'.join(_CODES)})\b")


def list_bank_return_reason_facts(label: str, reason: str | None) -> Iterator[LabelledValue]:
    """A bank's reason as it is, what its code means, and what to do next. Without a known code only the reason."""
    yield LabelledValue(label, reason)
    if reason and (found := _CODE.search(reason)):
        words, then = _CODES[found[0]]
        yield LabelledValue(f"Meaning of {found[0]}", words)
        yield LabelledValue("What to do next", then)


def describe_bank_return_reason(reason: str | None) -> str | None:
    """A bank's reason with the meaning of its code, for lists."""
    found = _CODE.search(reason) if reason else None
    return f"{reason} ({_CODES[found[0]][0].lower()})" if reason and found else reason
