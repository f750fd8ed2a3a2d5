"""Accounts, and the transfers that each movement of money makes between them (M1, M3); pure.

Each transfer debits one account and credits another. Read ``debit`` as where the money is now or what it was spent on,
``credit`` as whom it is owed to or where it came from::

    payment_received   provider clearing -> donation liability     the donor paid
    payment_held       provider clearing -> suspense               money came that pays no donation (M6)
    settled            bank -> provider clearing                   the provider paid out to us
    provider_fee       fees -> provider clearing                   what it kept
    fee_charged        donation liability -> fees                  the gift bears the fee
    payout_sent        donation liability -> payout in transit     on its way to the nonprofit
    payout_paid        payout in transit -> bank                   it left our bank
    payout_returned    bank -> payout in transit                   it came back
    payout_undone      payout in transit -> donation liability     and is owed to the nonprofit again
    reassigned         donation liability -> donation liability    to another nonprofit
    refund_begun       suspense -> refunds                         held money goes back to the donor
    refund_paid        refunds -> provider clearing                the provider took it from what it holds
    refund_settled     provider clearing -> bank                   the provider drew it from us
    held_dismissed     suspense -> provider clearing               held money that is none of ours
    request_paid       bank -> request clearing                    a partner paid what it was asked for
    request_over       bank -> suspense                            and more than that
    request_covered    request clearing -> donation liability      a whole direct donation is paid
    over_returned      suspense -> bank                            what was over went back to the partner

Provider clearing, payout in transit and refunds return to zero when their flow ends. Request clearing holds what
partners have paid and covers no whole donation yet.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from almoner.kit.money import Money


class AccountKind(StrEnum):
    """What an account stands for."""

    PROVIDER_CLEARING = "provider_clearing"
    """What a payment provider holds for us."""
    DONATION_LIABILITY = "donation_liability"
    """What we owe to a nonprofit."""
    FEES = "fees"
    """What providers kept and no gift bore."""
    PAYOUT_IN_TRANSIT = "payout_in_transit"
    """What is on its way to a nonprofit."""
    BANK = "bank"
    SUSPENSE = "suspense"
    """Money that pays no donation, until a rule or a person decides."""
    REFUNDS = "refunds"
    """What is on its way back to a donor."""
    REQUEST_CLEARING = "request_clearing"
    """What partners paid of what they were asked for, and no whole donation takes yet."""


class TransferKind(StrEnum):
    """What moved. The owner of a transfer is the row of the table that is named beside it."""

    PAYMENT_RECEIVED = "payment_received"  # payment
    PAYMENT_HELD = "payment_held"  # held_payment
    SETTLED = "settled"  # settlement_line
    PROVIDER_FEE = "provider_fee"  # settlement_line
    FEE_CHARGED = "fee_charged"  # settlement_line
    PAYOUT_SENT = "payout_sent"  # disbursement
    PAYOUT_PAID = "payout_paid"  # disbursement
    PAYOUT_RETURNED = "payout_returned"  # disbursement
    PAYOUT_UNDONE = "payout_undone"  # disbursement
    REASSIGNED = "reassigned"  # reassignment
    REFUND_BEGUN = "refund_begun"  # held_payment
    REFUND_PAID = "refund_paid"  # held_payment
    REFUND_SETTLED = "refund_settled"  # settlement_line
    HELD_DISMISSED = "held_dismissed"  # held_payment
    REQUEST_PAID = "request_paid"  # request_payment
    REQUEST_OVER = "request_over"  # request_payment
    REQUEST_COVERED = "request_covered"  # donation
    OVER_RETURNED = "over_returned"  # request_payment


PARTNERS: Final = "partner_transfers"
"""Where money comes from that partners transfer to our bank account, as the providers have names."""


@dataclass(frozen=True, slots=True)
class Account:
    """One account of one currency. ``provider`` or ``organisation_id`` says whose, where the kind has many."""

    kind: AccountKind
    currency: str
    provider: str | None = None
    organisation_id: UUID | None = None

    @property
    def key(self) -> str:
        """Its name in the database."""
        owner = self.provider or self.organisation_id
        return f"{self.kind}:{self.currency}" + (f":{owner}" if owner else "")


@dataclass(frozen=True, slots=True)
class Transfer:
    """One movement between two accounts of one currency: ``minor`` from 1 in its minor unit.

    Raises ValueError for anything else: what is not balanced cannot be said.
    """

    kind: TransferKind
    owner_id: UUID
    debit: Account
    credit: Account
    minor: int

    def __post_init__(self) -> None:
        whole = type(self.minor) is int and self.minor >= 1
        if not whole or self.debit == self.credit or self.debit.currency != self.credit.currency:
            raise ValueError(f"{self.kind} of {self.owner_id} does not move money between two accounts of one currency")


@dataclass(frozen=True, slots=True)
class Balance:
    """The two sides of an account, in minor units."""

    account: Account
    debits: int
    credits: int


def clearing(provider: str, currency: str) -> Account:
    """What a provider holds for us."""
    return Account(AccountKind.PROVIDER_CLEARING, currency, provider=provider)


def fees(provider: str, currency: str) -> Account:
    """What a provider kept."""
    return Account(AccountKind.FEES, currency, provider=provider)


def suspense(provider: str, currency: str) -> Account:
    """Money of a provider that pays no donation."""
    return Account(AccountKind.SUSPENSE, currency, provider=provider)


def refunds(provider: str, currency: str) -> Account:
    """What a provider is sending back to donors."""
    return Account(AccountKind.REFUNDS, currency, provider=provider)


def liability(organisation_id: UUID, currency: str) -> Account:
    """What we owe to a nonprofit."""
    return Account(AccountKind.DONATION_LIABILITY, currency, organisation_id=organisation_id)


def in_transit(organisation_id: UUID, currency: str) -> Account:
    """What is on its way to a nonprofit."""
    return Account(AccountKind.PAYOUT_IN_TRANSIT, currency, organisation_id=organisation_id)


def bank(currency: str) -> Account:
    """Our own bank account."""
    return Account(AccountKind.BANK, currency)


def request_clearing(currency: str) -> Account:
    """What partners paid and no whole donation takes yet."""
    return Account(AccountKind.REQUEST_CLEARING, currency)


def payment_received(payment_id: UUID, provider: str, organisation_id: UUID, money: Money) -> list[Transfer]:
    """The donor paid: the provider holds it for the nonprofit."""
    debit, credit = clearing(provider, money.currency), liability(organisation_id, money.currency)
    return [Transfer(TransferKind.PAYMENT_RECEIVED, payment_id, debit, credit, money.minor)]


def payment_held(held_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """Money came that pays no donation."""
    debit, credit = clearing(provider, money.currency), suspense(provider, money.currency)
    return [Transfer(TransferKind.PAYMENT_HELD, held_id, debit, credit, money.minor)]


def settled(line_id: UUID, provider: str, gross: Money, fee: Money, charged_to: UUID | None) -> list[Transfer]:
    """The provider paid out ``gross`` less its ``fee``.

    ``charged_to``: the nonprofit whose gift bears the fee; None for held money, whose fee is ours.
    """
    currency = gross.currency
    moves = [(TransferKind.SETTLED, bank(currency), clearing(provider, currency), (gross - fee).minor)]
    moves.append((TransferKind.PROVIDER_FEE, fees(provider, currency), clearing(provider, currency), fee.minor))
    if charged_to is not None:
        moves.append((TransferKind.FEE_CHARGED, liability(charged_to, currency), fees(provider, currency), fee.minor))
    return [Transfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]


def refund_settled(line_id: UUID, provider: str, money: Money, fee: Money) -> list[Transfer]:
    """The provider drew a refund, and its fee for it, from what it paid out to us."""
    currency = money.currency
    moves = [(TransferKind.REFUND_SETTLED, clearing(provider, currency), bank(currency), (money + fee).minor)]
    moves.append((TransferKind.PROVIDER_FEE, fees(provider, currency), clearing(provider, currency), fee.minor))
    return [Transfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]


def payout_sent(disbursement_id: UUID, organisation_id: UUID, money: Money) -> list[Transfer]:
    """What we owe is on its way."""
    debit, credit = liability(organisation_id, money.currency), in_transit(organisation_id, money.currency)
    return [Transfer(TransferKind.PAYOUT_SENT, disbursement_id, debit, credit, money.minor)]


def payout_paid(disbursement_id: UUID, organisation_id: UUID, money: Money) -> list[Transfer]:
    """It left our bank and arrived."""
    debit, credit = in_transit(organisation_id, money.currency), bank(money.currency)
    return [Transfer(TransferKind.PAYOUT_PAID, disbursement_id, debit, credit, money.minor)]


def payout_returned(disbursement_id: UUID, organisation_id: UUID, money: Money, *, was_paid: bool) -> list[Transfer]:
    """It came back, or never left: the nonprofit is owed it again."""
    transit, owed = in_transit(organisation_id, money.currency), liability(organisation_id, money.currency)
    back = Transfer(TransferKind.PAYOUT_RETURNED, disbursement_id, bank(money.currency), transit, money.minor)
    undone = Transfer(TransferKind.PAYOUT_UNDONE, disbursement_id, transit, owed, money.minor)
    return [back, undone] if was_paid else [undone]


def reassigned(reassignment_id: UUID, source: UUID, target: UUID, money: Money) -> list[Transfer]:
    """What is owed of a gift is owed to another nonprofit: the gift less the fee that it bore."""
    debit, credit = liability(source, money.currency), liability(target, money.currency)
    return [Transfer(TransferKind.REASSIGNED, reassignment_id, debit, credit, money.minor)]


def refund_begun(held_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """Held money is on its way back to the donor."""
    debit, credit = suspense(provider, money.currency), refunds(provider, money.currency)
    return [Transfer(TransferKind.REFUND_BEGUN, held_id, debit, credit, money.minor)]


def refund_paid(held_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """The provider has sent it back."""
    debit, credit = refunds(provider, money.currency), clearing(provider, money.currency)
    return [Transfer(TransferKind.REFUND_PAID, held_id, debit, credit, money.minor)]


def held_dismissed(held_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """Held money turned out to be none of ours: it leaves the books the way it came."""
    debit, credit = suspense(provider, money.currency), clearing(provider, money.currency)
    return [Transfer(TransferKind.HELD_DISMISSED, held_id, debit, credit, money.minor)]


def request_paid(payment_id: UUID, applied: Money, over: Money) -> list[Transfer]:
    """A partner's transfer came: what its request takes of it, and what is over."""
    taken = (TransferKind.REQUEST_PAID, request_clearing(applied.currency), applied.minor)
    left = (TransferKind.REQUEST_OVER, suspense(PARTNERS, over.currency), over.minor)
    moves = [move for move in (taken, left) if move[2]]
    return [Transfer(kind, payment_id, bank(account.currency), account, minor) for kind, account, minor in moves]


def request_covered(donation_id: UUID, organisation_id: UUID, money: Money) -> list[Transfer]:
    """What the partner paid is owed to the nonprofit of a donation."""
    debit, credit = request_clearing(money.currency), liability(organisation_id, money.currency)
    return [Transfer(TransferKind.REQUEST_COVERED, donation_id, debit, credit, money.minor)]


def over_returned(payment_id: UUID, over: Money) -> list[Transfer]:
    """What was over went back to the partner."""
    debit, credit = suspense(PARTNERS, over.currency), bank(over.currency)
    return [Transfer(TransferKind.OVER_RETURNED, payment_id, debit, credit, over.minor)]
