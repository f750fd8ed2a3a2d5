"""Accounts, and the transfers that each movement of money makes between them (M1, M3); pure.

Each transfer debits one account and credits another. Read ``debit`` as where the money is now or what it was spent on,
``credit`` as whom it is owed to or where it came from::

    payment_received              provider clearing -> donation liability      the donor paid
    payment_unallocated           provider clearing -> suspense                money came that pays no donation (M6)
    settled                       bank -> provider clearing                    the provider paid out to us
    provider_fee                  fees -> provider clearing                    what it kept
    fee_charged                   donation liability -> fees                   the donation bears the fee
    disbursement_sent             donation liability -> disbursement in transit  on its way to the nonprofit
    disbursement_paid             disbursement in transit -> bank              it left our bank
    disbursement_returned         bank -> disbursement in transit              it came back
    disbursement_reversed         disbursement in transit -> donation liability  and is owed to the nonprofit again
    reassigned                    donation liability -> donation liability     to another nonprofit
    unallocated_refund_started    suspense -> refunds                          unallocated money goes back to the donor
    unallocated_refund_sent       refunds -> provider clearing                 the provider took it from its balance
    refund_settled                provider clearing -> bank                    the provider drew it from us
    unallocated_written_off       suspense -> provider clearing                unallocated money that is none of ours
    unallocated_applied           suspense -> provider clearing                held money that is a donation after all
    request_paid                  bank -> request clearing                     a partner paid a payment request
    request_overpaid              bank -> suspense                             and more than that
    request_allocated             request clearing -> donation liability       a whole direct donation is paid
    overpayment_returned          suspense -> bank                             the excess went back to the partner
    overpayment_applied           suspense -> request clearing                 or pays another of its requests
    donation_refund_started       donation liability -> refunds                a donation goes back to the donor
    donation_refund_fee_covered   fees -> refunds                              with the fee that its provider kept
    donation_refund_sent          refunds -> provider clearing, or bank        the provider, or we by bank, sent it
    donation_refund_reversed      refunds -> donation liability                the provider refused: it is owed again
    donation_refund_fee_restored  refunds -> fees                              and our part of it is ours again
    dispute_debited               disputed -> provider clearing                a donor's bank took a payment back
    dispute_returned              provider clearing -> disputed                and gave it back
    dispute_lost                  donation liability -> disputed               it keeps it: the donation bears it
    dispute_absorbed              fees -> disputed                             what no donation bears, we do
    dispute_recovered             donation liability -> fees                   a disbursement came back to pay for it
    dispute_settled               provider clearing -> bank                    the provider drew it from us
    dispute_won_settled           bank -> provider clearing                    and paid it out to us again

Provider clearing, disbursement in transit, refunds and disputed return to zero when their flow ends. Request clearing
holds what partners have paid and covers no whole donation yet.
"""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from almoner.kit.money import Money


class AccountKind(StrEnum):
    """The kinds of ledger account."""

    PROVIDER_CLEARING = "provider_clearing"
    """Our balance at a payment provider."""
    DONATION_LIABILITY = "donation_liability"
    """What we owe to a nonprofit."""
    FEES = "fees"
    """Provider fees that no donation paid for."""
    DISBURSEMENT_IN_TRANSIT = "disbursement_in_transit"
    """Payments on their way to a nonprofit."""
    BANK = "bank"
    SUSPENSE = "suspense"
    """Received money that pays no donation, until a rule or an operator decides."""
    REFUNDS = "refunds"
    """Refunds on their way to donors."""
    REQUEST_CLEARING = "request_clearing"
    """Partners' payments of donation requests that do not yet cover a whole donation."""
    DISPUTED = "disputed"
    """Disputed amounts that donors' banks have debited and may return."""


class TransferKind(StrEnum):
    """The kinds of ledger transfer; the comment names the table of the owning row."""

    PAYMENT_RECEIVED = "payment_received"  # payment
    PAYMENT_UNALLOCATED = "payment_unallocated"  # unallocated_payment
    SETTLED = "settled"  # settlement_line
    PROVIDER_FEE = "provider_fee"  # settlement_line
    FEE_CHARGED = "fee_charged"  # settlement_line
    DISBURSEMENT_SENT = "disbursement_sent"  # disbursement
    DISBURSEMENT_PAID = "disbursement_paid"  # disbursement
    DISBURSEMENT_RETURNED = "disbursement_returned"  # disbursement
    DISBURSEMENT_REVERSED = "disbursement_reversed"  # disbursement
    REASSIGNED = "reassigned"  # reassignment
    UNALLOCATED_REFUND_STARTED = "unallocated_refund_started"  # unallocated_payment
    UNALLOCATED_REFUND_SENT = "unallocated_refund_sent"  # unallocated_payment
    REFUND_SETTLED = "refund_settled"  # settlement_line
    UNALLOCATED_WRITTEN_OFF = "unallocated_written_off"  # unallocated_payment
    UNALLOCATED_APPLIED = "unallocated_applied"  # unallocated_payment
    REQUEST_PAID = "request_paid"  # request_payment
    REQUEST_OVERPAID = "request_overpaid"  # request_payment
    REQUEST_ALLOCATED = "request_allocated"  # donation
    OVERPAYMENT_RETURNED = "overpayment_returned"  # request_payment
    OVERPAYMENT_APPLIED = "overpayment_applied"  # request_payment
    DONATION_REFUND_STARTED = "donation_refund_started"  # refund
    DONATION_REFUND_FEE_COVERED = "donation_refund_fee_covered"  # refund
    DONATION_REFUND_SENT = "donation_refund_sent"  # refund
    DONATION_REFUND_REVERSED = "donation_refund_reversed"  # refund
    DONATION_REFUND_FEE_RESTORED = "donation_refund_fee_restored"  # refund
    DISPUTE_DEBITED = "dispute_debited"  # dispute
    DISPUTE_RETURNED = "dispute_returned"  # dispute
    DISPUTE_LOST = "dispute_lost"  # dispute
    DISPUTE_ABSORBED = "dispute_absorbed"  # dispute
    DISPUTE_RECOVERED = "dispute_recovered"  # dispute
    DISPUTE_SETTLED = "dispute_settled"  # settlement_line
    DISPUTE_WON_SETTLED = "dispute_won_settled"  # settlement_line


@dataclass(frozen=True, slots=True)
class PostedTransfer:
    """A transfer in the ledger. ``id`` increases in the order of posting."""

    id: int
    kind: TransferKind
    source_record_id: UUID
    debit: "LedgerAccount"
    credit: "LedgerAccount"
    amount_minor: int
    posted_at: datetime

    @property
    def currency(self) -> str:
        """The currency of both accounts."""
        return self.debit.currency


@dataclass(frozen=True, slots=True)
class AccountTotals:
    """The totals of all accounts of one kind, currency and provider. ``accounts``: how many there are."""

    kind: AccountKind
    currency: str
    provider: str | None
    accounts: int
    debits_minor: int
    credits_minor: int

    @property
    def balance_minor(self) -> int:
        """Debits minus credits, in minor units."""
        return self.debits_minor - self.credits_minor


@dataclass(frozen=True, slots=True)
class DayTotals:
    """The total debits and credits of an account on one day. ``first_id``, ``last_id``: of its transfers."""

    on: date
    transfers: int
    debits_minor: int
    credits_minor: int
    first_id: int
    last_id: int


PARTNER_TRANSFERS: Final = "partner_transfers"
"""The provider name that is stored for transfers from partners to our bank account."""


@dataclass(frozen=True, slots=True)
class LedgerAccount:
    """An account in one currency. ``provider`` or ``organisation_id``: its owner, if the kind has several."""

    kind: AccountKind
    currency: str
    provider: str | None = None
    organisation_id: UUID | None = None

    @property
    def key(self) -> str:
        """The account's key in the database."""
        owner = self.provider or self.organisation_id
        return f"{self.kind}:{self.currency}" + (f":{owner}" if owner else "")


@dataclass(frozen=True, slots=True)
class LedgerTransfer:
    """One posting of ``amount_minor`` minor units from the debit to the credit account.

    Raises ValueError if it is invalid.
    """

    kind: TransferKind
    source_record_id: UUID
    debit: LedgerAccount
    credit: LedgerAccount
    amount_minor: int

    def __post_init__(self) -> None:
        whole = type(self.amount_minor) is int and self.amount_minor >= 1
        if not whole or self.debit == self.credit or self.debit.currency != self.credit.currency:
            raise ValueError(
                f"{self.kind} of {self.source_record_id} does not move money between two accounts of one currency"
            )


@dataclass(frozen=True, slots=True)
class AccountBalance:
    """The total debits and credits of an account, in minor units."""

    account: LedgerAccount
    debits_minor: int
    credits_minor: int


class ListedBalance(NamedTuple):
    """The balance of an account in a list, with the account's ID, from which the next page continues."""

    account_id: int
    balance: AccountBalance


def clearing_account(provider: str, currency: str) -> LedgerAccount:
    """The account for money that a provider holds for us."""
    return LedgerAccount(AccountKind.PROVIDER_CLEARING, currency, provider=provider)


def fees_account(provider: str, currency: str) -> LedgerAccount:
    """The account for fees that a provider kept."""
    return LedgerAccount(AccountKind.FEES, currency, provider=provider)


def suspense_account(provider: str, currency: str) -> LedgerAccount:
    """The account for a provider's money that pays no donation."""
    return LedgerAccount(AccountKind.SUSPENSE, currency, provider=provider)


def refunds_account(provider: str, currency: str) -> LedgerAccount:
    """The account for money that a provider is refunding to donors."""
    return LedgerAccount(AccountKind.REFUNDS, currency, provider=provider)


def nonprofit_liability_account(organisation_id: UUID, currency: str) -> LedgerAccount:
    """The account for what we owe to a nonprofit."""
    return LedgerAccount(AccountKind.DONATION_LIABILITY, currency, organisation_id=organisation_id)


def disputed_funds_account(provider: str, currency: str) -> LedgerAccount:
    """The account for money debited from a provider by disputes."""
    return LedgerAccount(AccountKind.DISPUTED, currency, provider=provider)


def disbursement_in_transit_account(organisation_id: UUID, currency: str) -> LedgerAccount:
    """The account for disbursements on their way to a nonprofit."""
    return LedgerAccount(AccountKind.DISBURSEMENT_IN_TRANSIT, currency, organisation_id=organisation_id)


def bank_account(currency: str) -> LedgerAccount:
    """The account for our bank account in a currency."""
    return LedgerAccount(AccountKind.BANK, currency)


def donation_request_clearing_account(currency: str) -> LedgerAccount:
    """The account for partners' payments not yet allocated to donations."""
    return LedgerAccount(AccountKind.REQUEST_CLEARING, currency)


def build_payment_transfers(
    payment_id: UUID, provider: str, organisation_id: UUID, money: Money
) -> list[LedgerTransfer]:
    """Postings for a donor's payment."""
    debit, credit = (
        clearing_account(provider, money.currency),
        nonprofit_liability_account(organisation_id, money.currency),
    )
    return [LedgerTransfer(TransferKind.PAYMENT_RECEIVED, payment_id, debit, credit, money.minor)]


def build_unallocated_payment_transfers(
    unallocated_payment_id: UUID, provider: str, money: Money
) -> list[LedgerTransfer]:
    """Postings for a payment that pays no donation."""
    debit, credit = clearing_account(provider, money.currency), suspense_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.PAYMENT_UNALLOCATED, unallocated_payment_id, debit, credit, money.minor)]


def build_payment_settlement_transfers(
    line_id: UUID,
    provider: str,
    gross: Money,
    fee: Money,
    fee_organisation_id: UUID | None,
    nonprofit_fee: Money | None = None,
) -> list[LedgerTransfer]:
    """Postings for a payment that the provider paid out to us, minus its fee.

    ``fee_organisation_id``: the nonprofit whose donation pays the fee, or the part of it in ``nonprofit_fee``; None for
    an unallocated payment, whose fee we pay.
    """
    currency = gross.currency
    moves = [(TransferKind.SETTLED, bank_account(currency), clearing_account(provider, currency), (gross - fee).minor)]
    moves.append(
        (TransferKind.PROVIDER_FEE, fees_account(provider, currency), clearing_account(provider, currency), fee.minor)
    )
    if fee_organisation_id is not None:
        minor = (fee if nonprofit_fee is None else nonprofit_fee).minor
        moves.append(
            (
                TransferKind.FEE_CHARGED,
                nonprofit_liability_account(fee_organisation_id, currency),
                fees_account(provider, currency),
                minor,
            )
        )
    return [LedgerTransfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]


def build_refund_settlement_transfers(line_id: UUID, provider: str, money: Money, fee: Money) -> list[LedgerTransfer]:
    """Postings for a refund, and its fee, that the provider deducted from a payout to us."""
    currency = money.currency
    moves = [
        (TransferKind.REFUND_SETTLED, clearing_account(provider, currency), bank_account(currency), (money + fee).minor)
    ]
    moves.append(
        (TransferKind.PROVIDER_FEE, fees_account(provider, currency), clearing_account(provider, currency), fee.minor)
    )
    return [LedgerTransfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]


def build_disbursement_sent_transfers(
    disbursement_id: UUID, organisation_id: UUID, money: Money
) -> list[LedgerTransfer]:
    """Postings for a disbursement that was sent."""
    debit, credit = (
        nonprofit_liability_account(organisation_id, money.currency),
        disbursement_in_transit_account(organisation_id, money.currency),
    )
    return [LedgerTransfer(TransferKind.DISBURSEMENT_SENT, disbursement_id, debit, credit, money.minor)]


def build_disbursement_paid_transfers(
    disbursement_id: UUID, organisation_id: UUID, money: Money
) -> list[LedgerTransfer]:
    """Postings for a disbursement that was paid by our bank."""
    debit, credit = disbursement_in_transit_account(organisation_id, money.currency), bank_account(money.currency)
    return [LedgerTransfer(TransferKind.DISBURSEMENT_PAID, disbursement_id, debit, credit, money.minor)]


def build_disbursement_returned_transfers(
    disbursement_id: UUID, organisation_id: UUID, money: Money, *, was_paid: bool
) -> list[LedgerTransfer]:
    """Postings for a disbursement that was returned (``was_paid``) or never executed."""
    transit, owed = (
        disbursement_in_transit_account(organisation_id, money.currency),
        nonprofit_liability_account(organisation_id, money.currency),
    )
    back = LedgerTransfer(
        TransferKind.DISBURSEMENT_RETURNED, disbursement_id, bank_account(money.currency), transit, money.minor
    )
    reversal = LedgerTransfer(TransferKind.DISBURSEMENT_REVERSED, disbursement_id, transit, owed, money.minor)
    return [back, reversal] if was_paid else [reversal]


def build_reassignment_transfers(
    reassignment_id: UUID, from_organisation_id: UUID, to_organisation_id: UUID, money: Money
) -> list[LedgerTransfer]:
    """Postings for a donation reassigned to another nonprofit."""
    debit, credit = (
        nonprofit_liability_account(from_organisation_id, money.currency),
        nonprofit_liability_account(to_organisation_id, money.currency),
    )
    return [LedgerTransfer(TransferKind.REASSIGNED, reassignment_id, debit, credit, money.minor)]


def build_unallocated_payment_refund_started_transfers(
    unallocated_payment_id: UUID, provider: str, money: Money
) -> list[LedgerTransfer]:
    """Postings for the start of an unallocated payment's refund."""
    debit, credit = suspense_account(provider, money.currency), refunds_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.UNALLOCATED_REFUND_STARTED, unallocated_payment_id, debit, credit, money.minor)]


def build_unallocated_payment_refund_sent_transfers(
    unallocated_payment_id: UUID, provider: str, money: Money
) -> list[LedgerTransfer]:
    """Postings for an unallocated payment's refund that the provider sent."""
    debit, credit = refunds_account(provider, money.currency), clearing_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.UNALLOCATED_REFUND_SENT, unallocated_payment_id, debit, credit, money.minor)]


def build_unallocated_payment_write_off_transfers(
    unallocated_payment_id: UUID, provider: str, money: Money
) -> list[LedgerTransfer]:
    """Postings that take an unallocated payment off the ledger because it is not ours."""
    debit, credit = suspense_account(provider, money.currency), clearing_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.UNALLOCATED_WRITTEN_OFF, unallocated_payment_id, debit, credit, money.minor)]


def build_unallocated_payment_applied_transfers(
    unallocated_payment_id: UUID, provider: str, money: Money
) -> list[LedgerTransfer]:
    """Postings that move an unallocated payment to a donation."""
    debit, credit = suspense_account(provider, money.currency), clearing_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.UNALLOCATED_APPLIED, unallocated_payment_id, debit, credit, money.minor)]


def build_donation_request_payment_transfers(payment_id: UUID, applied: Money, overpaid: Money) -> list[LedgerTransfer]:
    """Postings for a partner's payment of a donation request, and its overpaid part."""
    taken = (TransferKind.REQUEST_PAID, donation_request_clearing_account(applied.currency), applied.minor)
    left = (TransferKind.REQUEST_OVERPAID, suspense_account(PARTNER_TRANSFERS, overpaid.currency), overpaid.minor)
    moves = [move for move in (taken, left) if move[2]]
    return [
        LedgerTransfer(kind, payment_id, bank_account(account.currency), account, minor)
        for kind, account, minor in moves
    ]


def build_donation_request_allocation_transfers(
    donation_id: UUID, organisation_id: UUID, money: Money
) -> list[LedgerTransfer]:
    """Postings that allocate a partner's payment to one donation."""
    debit, credit = (
        donation_request_clearing_account(money.currency),
        nonprofit_liability_account(organisation_id, money.currency),
    )
    return [LedgerTransfer(TransferKind.REQUEST_ALLOCATED, donation_id, debit, credit, money.minor)]


def build_overpayment_returned_transfers(payment_id: UUID, overpaid: Money) -> list[LedgerTransfer]:
    """Postings for an overpayment returned to the partner."""
    debit, credit = suspense_account(PARTNER_TRANSFERS, overpaid.currency), bank_account(overpaid.currency)
    return [LedgerTransfer(TransferKind.OVERPAYMENT_RETURNED, payment_id, debit, credit, overpaid.minor)]


def build_overpayment_applied_transfers(payment_id: UUID, money: Money) -> list[LedgerTransfer]:
    """Postings that apply an overpayment to another donation request."""
    debit, credit = (
        suspense_account(PARTNER_TRANSFERS, money.currency),
        donation_request_clearing_account(money.currency),
    )
    return [LedgerTransfer(TransferKind.OVERPAYMENT_APPLIED, payment_id, debit, credit, money.minor)]


def build_donation_refund_started_transfers(
    refund_id: UUID, provider: str, organisation_id: UUID, money: Money, absorbed: Money
) -> list[LedgerTransfer]:
    """Postings for the start of a donation's refund; ``absorbed`` is the part that we pay."""
    currency, on_its_way = money.currency, refunds_account(provider, money.currency)
    moves = [
        (TransferKind.DONATION_REFUND_STARTED, nonprofit_liability_account(organisation_id, currency), absorbed.minor)
    ]
    moves.append((TransferKind.DONATION_REFUND_FEE_COVERED, fees_account(provider, currency), (money - absorbed).minor))
    return [LedgerTransfer(kind, refund_id, debit, on_its_way, minor) for kind, debit, minor in moves if minor]


def build_donation_refund_sent_transfers(refund_id: UUID, provider: str, money: Money) -> list[LedgerTransfer]:
    """Postings for a donation's refund that was sent."""
    currency = money.currency
    source = bank_account(currency) if provider == PARTNER_TRANSFERS else clearing_account(provider, currency)
    return [
        LedgerTransfer(
            TransferKind.DONATION_REFUND_SENT, refund_id, refunds_account(provider, currency), source, money.minor
        )
    ]


def build_donation_refund_reversed_transfers(
    refund_id: UUID, provider: str, organisation_id: UUID, money: Money, restored: Money
) -> list[LedgerTransfer]:
    """Postings for a donation's refund that failed; ``restored`` is owed to the nonprofit again."""
    currency, on_its_way = money.currency, refunds_account(provider, money.currency)
    moves = [
        (TransferKind.DONATION_REFUND_REVERSED, nonprofit_liability_account(organisation_id, currency), restored.minor)
    ]
    moves.append(
        (TransferKind.DONATION_REFUND_FEE_RESTORED, fees_account(provider, currency), (money - restored).minor)
    )
    return [LedgerTransfer(kind, refund_id, on_its_way, credit, minor) for kind, credit, minor in moves if minor]


def build_dispute_debited_transfers(dispute_id: UUID, provider: str, money: Money) -> list[LedgerTransfer]:
    """Postings for a dispute whose amount was debited from the provider."""
    debit, credit = disputed_funds_account(provider, money.currency), clearing_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.DISPUTE_DEBITED, dispute_id, debit, credit, money.minor)]


def build_dispute_returned_transfers(dispute_id: UUID, provider: str, money: Money) -> list[LedgerTransfer]:
    """Postings for a disputed amount that was returned to us."""
    debit, credit = clearing_account(provider, money.currency), disputed_funds_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.DISPUTE_RETURNED, dispute_id, debit, credit, money.minor)]


def build_dispute_lost_transfers(
    dispute_id: UUID, provider: str, organisation_id: UUID | None, charged_to_donation: Money, absorbed: Money
) -> list[LedgerTransfer]:
    """Postings for a lost dispute: ``charged_to_donation`` is the part that the donation pays, ``absorbed`` is ours."""
    currency, moves = absorbed.currency, list[tuple[TransferKind, LedgerAccount, int]]()
    if organisation_id is not None:
        moves.append(
            (
                TransferKind.DISPUTE_LOST,
                nonprofit_liability_account(organisation_id, currency),
                charged_to_donation.minor,
            )
        )
    moves.append((TransferKind.DISPUTE_ABSORBED, fees_account(provider, currency), absorbed.minor))
    credit = disputed_funds_account(provider, currency)
    return [LedgerTransfer(kind, dispute_id, debit, credit, minor) for kind, debit, minor in moves if minor]


def build_dispute_recovered_transfers(
    dispute_id: UUID, provider: str, organisation_id: UUID, money: Money
) -> list[LedgerTransfer]:
    """Postings that recover an absorbed dispute loss from a returned disbursement."""
    debit, credit = nonprofit_liability_account(organisation_id, money.currency), fees_account(provider, money.currency)
    return [LedgerTransfer(TransferKind.DISPUTE_RECOVERED, dispute_id, debit, credit, money.minor)]


def build_dispute_settlement_transfers(line_id: UUID, provider: str, money: Money, fee: Money) -> list[LedgerTransfer]:
    """Postings for a dispute, and its fee, that the provider deducted from a payout to us."""
    currency = money.currency
    moves = [
        (
            TransferKind.DISPUTE_SETTLED,
            clearing_account(provider, currency),
            bank_account(currency),
            (money + fee).minor,
        )
    ]
    moves.append(
        (TransferKind.PROVIDER_FEE, fees_account(provider, currency), clearing_account(provider, currency), fee.minor)
    )
    return [LedgerTransfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]


def build_dispute_won_settlement_transfers(
    line_id: UUID, provider: str, money: Money, fee: Money
) -> list[LedgerTransfer]:
    """Postings for a won dispute that the provider paid out to us again, minus its fee."""
    currency = money.currency
    moves = [
        (
            TransferKind.DISPUTE_WON_SETTLED,
            bank_account(currency),
            clearing_account(provider, currency),
            (money - fee).minor,
        )
    ]
    moves.append(
        (TransferKind.PROVIDER_FEE, fees_account(provider, currency), clearing_account(provider, currency), fee.minor)
    )
    return [LedgerTransfer(kind, line_id, debit, credit, minor) for kind, debit, credit, minor in moves if minor]
