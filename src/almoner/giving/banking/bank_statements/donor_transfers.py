"""Books statement lines of donors' bank transfers.

A transfer is booked like a provider's payment, by the same rules, and settled in the same transaction (settled 5). The
order of locks is unallocated payment, session, donation, payment, as everywhere: of two lines for one donation the
second sees the result of the first.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import Refund
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import SettlementLine, SettlementLineKind, SettlementReport
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.banking.bank_statements import domain, store
from almoner.giving.banking.bank_statements.domain import BankLine, BankStatementError, UnreconciledLineReason
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    BANK_TRANSFER,
    SETTLED_STATUSES,
    Payment,
    ProviderPayment,
    ProviderStatus,
    UnallocatedReason,
)
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx

_CONTEXT: Final = "settlement"
_RULE: Final = "rule"
_BACK: Final = frozenset({"refunded", "sent"})
_GOING: Final = frozenset({"refunding", "pending"}) | _BACK


async def book_donor_transfer(tx: Tx, line: BankLine, payment: Payment) -> UUID:
    """Book a transfer with a donation's reference: it pays the donation or becomes unallocated.

    Raises BankStatementError if the ledger refuses it.
    """
    payment = await bank_transfers.lock_transfer_payment(tx, payment)
    again = payment.status in SETTLED_STATUSES
    found = ProviderPayment(
        id=f"{payment.provider_payment_id}/{encode_uuid(line.id)}" if again else payment.provider_payment_id or "",
        payment_page_url=None,
        status=ProviderStatus.SUCCEEDED,
        money=line.movement.money,
        reference=payments.payment_reference(payment.id),
        attempts=0,
        is_live_mode=not tx.deployment.sandbox,
    )
    if again:
        await suspense.record_unallocated_payment(tx, BANK_TRANSFER, found, None, UnallocatedReason.PAID_TWICE)
    else:
        await donations.apply_provider_state(tx, BANK_TRANSFER, found, payment)
    return await _book_settlement(tx, line, SettlementLineKind.PAYMENT, found.id)


async def book_donor_refund(tx: Tx, line: BankLine, payment: Payment) -> UUID | UnreconciledLineReason:
    """Book an outgoing transfer with a donation's reference as the oldest refund of this amount.

    Raises BankStatementError if the ledger refuses it.
    """
    called, money = line.movement.reference, line.movement.money
    reference = payment.provider_payment_id or ""
    locked = [one for one in await suspense.lock_by_reference(tx, reference) if one.money == money]
    payment = await bank_transfers.lock_transfer_payment(tx, payment)
    given = [
        one
        for gift in await _donation_ids(tx, payment, reference)
        for one in await refunds.list_by_donation(tx, gift)
        if one.is_sent_by_bank_transfer and one.money == money
    ]
    known: list[UnallocatedPayment | Refund] = [*locked, *given]
    if not (going := await _outgoing_refunds(tx, reference, locked, given)):
        ended = {one.status for one in known}
        return (
            UnreconciledLineReason.MATCHED_BEFORE
            if ended & _BACK
            else UnreconciledLineReason.OTHER_STATE
            if ended
            else UnreconciledLineReason.OTHER_AMOUNT
        )
    # Refunds with one reference and amount go to one donor, so the oldest will do, unless an operator has already
    # recorded the bank's name of one.
    back = next((one for one in going if one.provider_refund == called), going[0])
    if back.provider_refund != called and (
        any(one.provider_refund == called for one in known)  # another line was matched to the refund with this name
        or await store.is_bank_reference_matched_by_other_line(tx, line, "donation_refund")
    ):
        called = domain.build_unique_line_reference(line)
    if isinstance(back, UnallocatedPayment):
        await suspense.mark_refunded(tx, back.id, called)
        return await _book_settlement(tx, line, SettlementLineKind.REFUND, back.provider_payment_id)
    await refunds.record_refund_sent(tx, back.id, called)
    paid = await payments.find(tx, back.payment_id) if back.payment_id else None
    return await _book_settlement(tx, line, SettlementLineKind.REFUND, (paid and paid.provider_payment_id) or reference)


async def hold_disbursements_of_reversed_donations(
    tx: Tx, line: BankLine, reversed_payments: Sequence[Payment]
) -> None:
    """Hold disbursements of donations whose payment the bank reversed, until operators decide."""
    reversed_donations = [
        await donations.get(tx, ALL_PARTNERS, one) for one in {one.donation_id for one in reversed_payments}
    ]
    name = tx.ids.encode("bankline", line.id)
    for partner_id, organisation_id in sorted({(one.partner_id, one.organisation_id) for one in reversed_donations}):
        note = f"{name}: the bank has reversed an earlier movement, {line.movement.reference}"
        await disbursements.hold_disbursements(
            tx, Partner(partner_id), organisation_id, note=note, decided_by=_RULE, rules=DisbursementRules()
        )


async def _donation_ids(tx: Tx, payment: Payment, reference: str) -> list[UUID]:
    """The donation with this reference, and those that operators created from transfers with it."""
    accepted = [
        await payments.find(tx, one) for one in await suspense.list_applied_payment_ids_by_reference(tx, reference)
    ]
    return list(dict.fromkeys([payment.donation_id, *(one.donation_id for one in accepted if one)]))


async def _outgoing_refunds(
    tx: Tx, reference: str, held: Sequence[UnallocatedPayment], given: Sequence[Refund]
) -> list[UnallocatedPayment | Refund]:
    """The refunds under way, or recorded as sent without a statement line, those of the reference first.

    Others of the same donations follow, each oldest first.
    """
    debited = await settlements.find_payment_ids_with_booked_refund(
        tx, BANK_TRANSFER, [one.provider_payment_id for one in held]
    )
    paid = [await payments.find(tx, of) for of in dict.fromkeys(one.payment_id for one in given) if of]
    own = {of.id for of in paid if of and of.provider_payment_id == reference}
    others = {one.id for one in given if one.payment_id not in own}
    sent = await refunds.load_sent_refunds_by_payment_id(tx, [of.id for of in paid if of])
    reported = {one.refund.id for all_ in sent.values() for one in all_ if one.is_booked}
    found: list[UnallocatedPayment | Refund] = [one for one in held if one.provider_payment_id not in debited]
    found += [one for one in given if one.id not in reported]
    going = [one for one in found if one.status in _GOING]
    return sorted(going, key=lambda one: (one.id in others, one.id))


async def _book_settlement(tx: Tx, line: BankLine, kind: SettlementLineKind, payment: str) -> UUID:
    """Book the line as a settlement report of its own, without a fee."""
    moved = line.movement
    report = SettlementReport(
        BANK_TRANSFER,
        encode_uuid(line.id),
        moved.currency,
        min(moved.booked_on, tx.deployment.date_in_issuer_time_zone(tx.now)),
        tx.vault.compute_keyed_hash(_CONTEXT, line.id.bytes),
        (SettlementLine(kind, payment, moved.money, Money(0, moved.currency)),),
    )
    settlement = await settlements.find_or_create_settlement(tx, report)
    await settlements.book_lines(tx, settlement, report.lines)
    if (await settlements.get_settlement(tx, report)).matched_count != len(report.lines):
        raise BankStatementError(f"the books did not take {moved.reference} as the {kind} {payment}: it is settled")
    return settlement.id
