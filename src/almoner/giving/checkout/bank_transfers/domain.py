"""The details of a bank transfer: our account, the amount, and a reference that banks pass on; pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.checkout.payments.domain import TRANSFER_LIFETIME
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers
from almoner.kit import iso11649
from almoner.kit.events import InternalEvent
from almoner.kit.money import Money, currency_exponent

_EURO: Final = "EUR"
_NAME_IN_CODE: Final = 70
_MOST_IN_CODE: Final = 99_999_999_999  # EPC069-12


@dataclass(frozen=True, slots=True)
class TransferConfirmedEvent:
    """The internal event that a donor confirmed having sent a bank transfer."""

    donation: UUID


CONFIRMED: Final = InternalEvent("internal.transfer_confirmed", TransferConfirmedEvent)
"""Published internally when a donor confirms having sent a transfer."""


@dataclass(frozen=True, slots=True)
class BankDetails:
    """Our bank account for a currency, as shown to donors."""

    holder: str
    numbers: AccountNumbers

    @property
    def display_rows(self) -> list[tuple[str, str]]:
        """The account's numbers with their label keys, for display."""
        numbers = self.numbers
        if numbers.scheme == "iban":
            rows = [("transfer.iban", _groups(numbers.account, 4))]
        elif numbers.scheme == "gb" and numbers.bank:
            rows = [("transfer.sort_code", _groups(numbers.bank, 2, "-")), ("transfer.account", numbers.account)]
        elif numbers.scheme == "us" and numbers.bank:
            rows = [("transfer.routing", numbers.bank), ("transfer.account", numbers.account)]
        elif numbers.scheme == "au" and numbers.bank:
            rows = [("transfer.bsb", _groups(numbers.bank, 3, "-")), ("transfer.account", numbers.account)]
        elif numbers.scheme == "ca" and numbers.bank:
            rows = [
                ("transfer.institution", numbers.bank[:3]),
                ("transfer.transit", numbers.bank[3:]),
                ("transfer.account", numbers.account),
            ]
        else:
            rows = [("transfer.account", numbers.account)]
        return [*rows, ("transfer.bic", numbers.bic)] if numbers.bic else rows


@dataclass(frozen=True, slots=True)
class AwaitedTransfer:
    """A bank transfer that we expect from a donor: account, amount and reference."""

    pay_to: BankDetails
    money: Money
    reference: str
    confirmed_at: datetime | None

    @property
    def formatted_reference(self) -> str:
        """The reference in groups, for display."""
        return iso11649.format_creditor_reference(self.reference)

    @property
    def expires_at(self) -> datetime | None:
        """When we stop expecting the transfer; None if it was not confirmed."""
        return self.confirmed_at and self.confirmed_at + TRANSFER_LIFETIME


def epc_qr_payload(transfer: AwaitedTransfer) -> str | None:
    """The EPC QR code content (EPC069-12) for euro transfers to an IBAN; else None."""
    numbers, money = transfer.pay_to.numbers, transfer.money
    if money.currency != _EURO or numbers.scheme != "iban" or money.minor > _MOST_IN_CODE:
        return None
    whole, cents = divmod(money.minor, 10 ** currency_exponent(_EURO))
    holder = transfer.pay_to.holder[:_NAME_IN_CODE]
    lines = ("BCD", "002", "1", "SCT", numbers.bic or "", holder, numbers.account, f"EUR{whole}.{cents:02d}")
    return "\n".join((*lines, "", transfer.reference))


def _groups(text: str, size: int, between: str = " ") -> str:
    return between.join(text[at : at + size] for at in range(0, len(text), size))
