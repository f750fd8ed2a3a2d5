"""``almoner unallocated-payments``: payments without a donation, and decisions on them."""

from typing import Annotated, Final

import typer

from almoner.cli.access import parse_id
from almoner.cli.amounts import format_amount
from almoner.cli.caller import CommandCaller, build_display_name_lookup, operator_command
from almoner.cli.database import transaction_command
from almoner.cli.tables import Limit, Output, Table
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import (
    NOTE_LENGTH,
    UNALLOCATED_PAYMENT,
    UnallocatedPayment,
    UnallocatedPaymentDecision,
)
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx

commands = typer.Typer(help="Handle payments that match no donation.", no_args_is_help=True)

_TYPE: Final = "heldpayment"
_LONGEST_NAME: Final = 255
_OPEN: Final = ("held", "refunding")
_STATUS: Final = {"dismissed": "written off", "accepted": "applied"}
_DECISION: Final = {"dismiss": "write off", "accept": "apply"}
"""Status names that differ between the command line and the database."""

PaymentId = Annotated[str, typer.Argument(help="Payment ID, from `almoner unallocated-payments list`.")]
Note = Annotated[str, typer.Option(help="Reason for the decision.")]


@commands.command("list")
@transaction_command
async def list_unallocated_payments(
    tx: Tx,
    every: Annotated[bool, typer.Option("--all", help="Include refunded, written-off and applied payments.")] = False,
    limit: Limit = 50,
) -> Output:
    """List unallocated payments, newest first.

    For each payment, the list shows why it is unallocated, when it will be refunded automatically (see
    docs/money-rules.md), and who has already made a decision.
    """
    found = await suspense.list_newest(tx, sorted(UNALLOCATED_PAYMENT.states()) if every else _OPEN, limit)
    decided = await suspense.list_decisions(tx, [held.id for held in found])
    by = await build_display_name_lookup(tx, [one.decided_by for one in decided])
    titles = ("payment", "since", "reason", "amount", "status", "automatic decision", "provider payment")
    parts = [Table(titles, [_row(tx, held) for held in found])]
    if decided:
        rows = [[*_decision(tx, one), by(one.decided_by), one.note] for one in decided]
        parts.append(Table(("payment", "decided at", "decision", "refund", "by", "note"), rows))
    return parts


def _row(tx: Tx, held: UnallocatedPayment) -> list[object]:
    decides = held.auto_decide_at.date() if held.status == "held" else None
    facts = [held.reason, format_amount(held.money), _status(held), decides, held.provider_payment_id]
    return [tx.ids.encode(_TYPE, held.id), held.received_at.date(), *facts]


def _status(held: UnallocatedPayment) -> str:
    return _STATUS.get(held.status, held.status)


def _decision(tx: Tx, one: UnallocatedPaymentDecision) -> list[object]:
    return [
        tx.ids.encode(_TYPE, one.unallocated_payment_id),
        iso_timestamp(one.decided_at),
        _DECISION.get(one.resolution, one.resolution),
        one.provider_refund_id,
    ]


@commands.command("refund")
@operator_command("finance")
async def refund(
    tx: Tx,
    caller: CommandCaller,
    payment: PaymentId,
    note: Note,
    provider_refund: Annotated[
        str | None,
        typer.Option(
            help="ID of a refund that you have already made in the payment provider's dashboard. With this option, "
            "the refund is only recorded."
        ),
    ] = None,
) -> Output:
    """Refund the payer through the payment provider."""
    noted = _checked(note)
    if provider_refund is not None and not 1 <= len(provider_refund) <= _LONGEST_NAME:
        raise typer.BadParameter(f"--provider-refund must be 1 to {_LONGEST_NAME} characters")
    unallocated_payment_id = parse_id(tx, _TYPE, payment)
    await caller.record_audit_entry(tx, DEPLOYMENT, "unallocated_payment.refunded", payment, done_as=provider_refund)
    if provider_refund is not None:
        refunded = await suspense.record_manual_refund(tx, unallocated_payment_id, provider_refund, noted, caller.id)
    else:
        refunded = await suspense.begin_refund(tx, unallocated_payment_id, noted, caller.id)
    return f"{payment} is {_status(refunded)}."


@commands.command("apply")
@operator_command("finance", audit_action="unallocated_payment.applied")
async def apply_to_donation(tx: Tx, caller: CommandCaller, payment: PaymentId, note: Note) -> Output:
    """Apply a donor's bank transfer to the donation that it pays for.

    Use this command for a transfer that arrived late or with a different amount. The amount of the donation is changed
    to the amount received.
    """
    noted = _checked(note)
    unallocated_payment_id = parse_id(tx, _TYPE, payment)
    donation = await bank_transfers.apply_unallocated_payment_to_donation(tx, unallocated_payment_id, noted, caller.id)
    return f"{payment} has been applied to {tx.ids.encode('donation', donation.id)}."


@commands.command("write-off")
@operator_command("finance", audit_action="unallocated_payment.written_off")
async def write_off(tx: Tx, caller: CommandCaller, payment: PaymentId, note: Note) -> Output:
    """Write off a payment that was not intended for us. The payer is not refunded."""
    noted = _checked(note)
    unallocated_payment_id = parse_id(tx, _TYPE, payment)
    return f"{payment} is {_status(await suspense.write_off(tx, unallocated_payment_id, noted, caller.id))}."


def _checked(note: str) -> str:
    if not 1 <= len(note.strip()) <= NOTE_LENGTH:
        raise typer.BadParameter(f"--note must be 1 to {NOTE_LENGTH} characters")
    return note.strip()
