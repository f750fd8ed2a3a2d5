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
    held_accepted      suspense -> provider clearing               held money that is a gift, received after it
    request_paid       bank -> request clearing                    a partner paid what it was asked for
    request_over       bank -> suspense                            and more than that
    request_covered    request clearing -> donation liability      a whole direct donation is paid
    over_returned      suspense -> bank                            what was over went back to the partner
    over_applied       suspense -> request clearing                or pays another of its requests
    gift_refund_begun       donation liability -> refunds          a gift goes back to who gave it
    gift_refund_topped_up   fees -> refunds                        and what its provider's fee makes missing of it
    gift_refund_sent        refunds -> provider clearing, or bank  the provider, or we by bank, sent it
    gift_refund_undone      refunds -> donation liability          the provider refused it: it is owed again
    gift_refund_untopped    refunds -> fees                        and what was ours of it is ours again
    dispute_drawn      disputed -> provider clearing               a donor's bank took a payment back
    dispute_returned   provider clearing -> disputed               and gave it back
    dispute_lost       donation liability -> disputed              it keeps it: the gift bears it
    dispute_borne      fees -> disputed                            what no gift bears, we do
    dispute_recovered  donation liability -> fees                  a payout came back: the gift bears it after all
    dispute_settled    provider clearing -> bank                   the provider drew it from us
    dispute_won_settled  bank -> provider clearing                 and paid it out to us again

Provider clearing, payout in transit, refunds and disputed return to zero when their flow ends. Request clearing holds
what partners have paid and covers no whole donation yet.
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
    DISPUTED = "disputed"
    """What donors' banks have drawn from a provider and may give back."""


class TransferKind(StrEnum):
    """What moved. The owner of a transfer is the row of the table that is named beside it."""

    PAYMENT_RECEIVED = "payment_received"  # payment
    PAYMENT_HELD = "payment_held"  # unallocated_payment
    SETTLED = "settled"  # settlement_line
    PROVIDER_FEE = "provider_fee"  # settlement_line
    FEE_CHARGED = "fee_charged"  # settlement_line
    PAYOUT_SENT = "payout_sent"  # disbursement
    PAYOUT_PAID = "payout_paid"  # disbursement
    PAYOUT_RETURNED = "payout_returned"  # disbursement
    PAYOUT_UNDONE = "payout_undone"  # disbursement
    REASSIGNED = "reassigned"  # reassignment
    REFUND_BEGUN = "refund_begun"  # unallocated_payment
    REFUND_PAID = "refund_paid"  # unallocated_payment
    REFUND_SETTLED = "refund_settled"  # settlement_line
    HELD_DISMISSED = "held_dismissed"  # unallocated_payment
    HELD_ACCEPTED = "held_accepted"  # unallocated_payment
    REQUEST_PAID = "request_paid"  # request_payment
    REQUEST_OVER = "request_over"  # request_payment
    REQUEST_COVERED = "request_covered"  # donation
    OVER_RETURNED = "over_returned"  # request_payment
    OVER_APPLIED = "over_applied"  # request_payment
    GIFT_REFUND_BEGUN = "gift_refund_begun"  # refund
    GIFT_REFUND_TOPPED_UP = "gift_refund_topped_up"  # refund
    GIFT_REFUND_SENT = "gift_refund_sent"  # refund
    GIFT_REFUND_UNDONE = "gift_refund_undone"  # refund
    GIFT_REFUND_UNTOPPED = "gift_refund_untopped"  # refund
    DISPUTE_DRAWN = "dispute_drawn"  # dispute
    DISPUTE_RETURNED = "dispute_returned"  # dispute
    DISPUTE_LOST = "dispute_lost"  # dispute
    DISPUTE_BORNE = "dispute_borne"  # dispute
    DISPUTE_RECOVERED = "dispute_recovered"  # dispute
    DISPUTE_SETTLED = "dispute_settled"  # settlement_line
    DISPUTE_WON_SETTLED = "dispute_won_settled"  # settlement_line


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


def disputed(provider: str, currency: str) -> Account:
    """What donors' banks have drawn from a provider."""
    return Account(AccountKind.DISPUTED, currency, provider=provider)


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


def settled(
    line_id: UUID, provider: str, gross: Money, fee: Money, charged_to: UUID | None, charged: Money | None = None
) -> list[Transfer]:
    """The provider paid out ``gross`` less its ``fee``.

    ``charged_to``: the nonprofit whose gift bears the fee, or the part of it that is ``charged``; None for held money,
    whose fee is ours.
    """
    currency = gross.currency
    moves = [(TransferKind.SETTLED, bank(currency), clearing(provider, currency), (gross - fee).minor)]
    moves.append((TransferKind.PROVIDER_FEE, fees(provider, currency), clearing(provider, currency), fee.minor))
    if charged_to is not None:
        minor = (fee if charged is None else charged).minor
        moves.append((TransferKind.FEE_CHARGED, liability(charged_to, currency), fees(provider, currency), minor))
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


def held_accepted(held_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """Held money is a gift after all: it leaves suspense, and is received as a payment of its own."""
    debit, credit = suspense(provider, money.currency), clearing(provider, money.currency)
    return [Transfer(TransferKind.HELD_ACCEPTED, held_id, debit, credit, money.minor)]


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


def over_applied(payment_id: UUID, money: Money) -> list[Transfer]:
    """What was over of one transfer pays another request; ``payment_id`` is of the part that does."""
    debit, credit = suspense(PARTNERS, money.currency), request_clearing(money.currency)
    return [Transfer(TransferKind.OVER_APPLIED, payment_id, debit, credit, money.minor)]


def gift_refund_begun(
    refund_id: UUID, provider: str, organisation_id: UUID, money: Money, borne: Money
) -> list[Transfer]:
    """A gift is on its way back: ``borne`` of it by what is owed to its nonprofit, the rest by us."""
    currency, on_its_way = money.currency, refunds(provider, money.currency)
    moves = [(TransferKind.GIFT_REFUND_BEGUN, liability(organisation_id, currency), borne.minor)]
    moves.append((TransferKind.GIFT_REFUND_TOPPED_UP, fees(provider, currency), (money - borne).minor))
    return [Transfer(kind, refund_id, debit, on_its_way, minor) for kind, debit, minor in moves if minor]


def gift_refund_sent(refund_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """The provider has sent a gift back; what partners had paid for, we have sent by bank."""
    currency = money.currency
    source = bank(currency) if provider == PARTNERS else clearing(provider, currency)
    return [Transfer(TransferKind.GIFT_REFUND_SENT, refund_id, refunds(provider, currency), source, money.minor)]


def gift_refund_undone(
    refund_id: UUID, provider: str, organisation_id: UUID, money: Money, back: Money
) -> list[Transfer]:
    """A gift does not go back after all: ``back`` of it is owed to its nonprofit again, the rest is ours."""
    currency, on_its_way = money.currency, refunds(provider, money.currency)
    moves = [(TransferKind.GIFT_REFUND_UNDONE, liability(organisation_id, currency), back.minor)]
    moves.append((TransferKind.GIFT_REFUND_UNTOPPED, fees(provider, currency), (money - back).minor))
    return [Transfer(kind, refund_id, on_its_way, credit, minor) for kind, credit, minor in moves if minor]


def dispute_drawn(dispute_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """A donor's bank has drawn a payment from its provider."""
    debit, credit = disputed(provider, money.currency), clearing(provider, money.currency)
    return [Transfer(TransferKind.DISPUTE_DRAWN, dispute_id, debit, credit, money.minor)]


def dispute_returned(dispute_id: UUID, provider: str, money: Money) -> list[Transfer]:
    """The bank gave back what it had drawn."""
    debit, credit = clearing(provider, money.currency), disputed(provider, money.currency)
    return [Transfer(TransferKind.DISPUTE_RETURNED, dispute_id, debit, credit, money.minor)]


def dispute_lost(
    dispute_id: UUID, provider: str, organisation_id: UUID | None, of_gift: Money, borne: Money
) -> list[Transfer]:
    """The bank keeps what it had drawn: ``of_gift`` is no longer owed to the nonprofit, ``borne`` is our loss."""
    currency, moves = borne.currency, list[tuple[TransferKind, Account, int]]()
    if organisation_id is not None:
        moves.append((TransferKind.DISPUTE_LOST, liability(organisation_id, currency), of_gift.minor))
    moves.append((TransferKind.DISPUTE_BORNE, fees(provider, currency), borne.minor))
    credit = disputed(provider, currency)
    return [Transfer(kind, dispute_id, debit, credit, minor) for kind, debit, minor in moves if minor]


def dispute_recovered(dispute_id: UUID, provider: str, organisation_id: UUID, money: Money) -> list[Transfer]:
    """A payout came back, and with it what we had borne of a dispute."""
    debit, credit = liability(organisation_id, money.currency), fees(provider, money.currency)
    return [Transfer(TransferKind.DISPUTE_RECOVERED, dispute_id, debit, credit, money.minor)]


def dispute_settled(line_id: UUID, provider: str, money: Money, fee: Money) -> list[Transfer]:
    """The provider drew a dispute, and its fee for it, from what it paid out to us."""
    currency = money.currency
    moves = [(TransferKind.DISPUTE_SETTLED, clearing(provider, currency), bank(currency), (money + fee).minor)]
    moves.append((TransferKind.PROVIDER_FEE, fees(provider, currency), clearing(provider, currency), fee.minor))
    return [Transfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]


def dispute_won_settled(line_id: UUID, provider: str, money: Money, fee: Money) -> list[Transfer]:
    """The provider paid a dispute that was won out to us again, less its fee."""
    currency = money.currency
    moves = [(TransferKind.DISPUTE_WON_SETTLED, bank(currency), clearing(provider, currency), (money - fee).minor)]
    moves.append((TransferKind.PROVIDER_FEE, fees(provider, currency), clearing(provider, currency), fee.minor))
    return [Transfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]
