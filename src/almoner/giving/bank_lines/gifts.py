"""Lines of donors' bank transfers. Each is a settlement of its own: the money is on our account already.

So what came is booked as a provider's payment is, by the same rules, and settled in the same transaction (settled 5).
"""

from typing import Final
from uuid import UUID

from almoner.giving.bank_lines.domain import BankLine, Open
from almoner.giving.donations import service as donations
from almoner.giving.payments import service as payments
from almoner.giving.payments.domain import BANK, SETTLED, HoldReason, Payment, ProviderPayment, ProviderStatus
from almoner.giving.refunds import service as refunds
from almoner.giving.refunds.domain import Refund
from almoner.giving.settlements import service as settlements
from almoner.giving.settlements.domain import Line, LineKind, Report
from almoner.giving.suspense import service as suspense
from almoner.giving.suspense.domain import Held
from almoner.kit.ids import encode
from almoner.kit.money import Money
from almoner.platform.db import Tx

_CONTEXT: Final = "settlement"


async def receive(tx: Tx, line: BankLine, payment: Payment) -> UUID:
    """Book what came with a gift's reference: it pays the gift, or is held with the reason. Its settlement."""
    again = payment.status in SETTLED
    found = ProviderPayment(
        id=f"{payment.provider_payment}/{encode(line.id)}" if again else payment.provider_payment or "",
        url=None,
        status=ProviderStatus.SUCCEEDED,
        money=line.movement.money,
        reference=payments.reference(payment.id),
        tries=0,
        live=not tx.deployment.sandbox,
    )
    if again:
        await suspense.hold(tx, BANK, found, None, HoldReason.PAID_TWICE)
    else:
        await donations.learn(tx, BANK, found)
    return await _settle(tx, line, LineKind.PAYMENT, found.id)


async def give_back(tx: Tx, line: BankLine, payment: Payment) -> UUID | Open:
    """Money left under a gift's reference: a refund that was begun, of this amount, is sent by it. Its settlement."""
    called, money = line.movement.reference, line.movement.money
    reference = payment.provider_payment or ""
    held = [one for one in await suspense.with_reference(tx, reference) if one.money == money]
    given = [one for one in await refunds.of_donation(tx, payment.donation_id) if one.by_bank and one.money == money]
    found: list[Held | Refund] = [one for one in held if one.status == "refunding"]
    found += [one for one in given if one.status == "begun"]
    if not found:  # an officer was faster than the statement
        found += [one for one in held if one.status == "refunded"]
        found += [one for one in given if one.status == "sent"]
    if len(found) != 1:
        return Open.AMBIGUOUS if found else Open.OTHER_STATE if held or given else Open.OTHER_AMOUNT
    back = found[0]
    if isinstance(back, Held):
        await suspense.record_refund(tx, back.id, called)
        return await _settle(tx, line, LineKind.REFUND, back.provider_payment)
    await refunds.record_sent(tx, back.id, called)
    paid = await payments.find(tx, back.payment_id) if back.payment_id else None
    return await _settle(tx, line, LineKind.REFUND, (paid and paid.provider_payment) or reference)


async def _settle(tx: Tx, line: BankLine, kind: LineKind, payment: str) -> UUID:
    """The line as a report of its own, without a fee."""
    moved = line.movement
    report = Report(
        BANK,
        encode(line.id),
        moved.currency,
        min(moved.booked_on, tx.now.date()),
        tx.vault.keyed_hash(_CONTEXT, line.id.bytes).hex(),
        (Line(kind, payment, moved.money, Money(0, moved.currency)),),
    )
    settlement = await settlements.open_report(tx, report)
    await settlements.take(tx, settlement, report.lines)
    return settlement.id
