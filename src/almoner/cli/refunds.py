"""``almoner refunds``: donations that are sent back to the payer."""

from collections.abc import Mapping
from typing import Annotated, Final

import typer

from almoner.cli.access import parse_id
from almoner.cli.amounts import format_amount
from almoner.cli.caller import CommandCaller, build_display_name_lookup, operator_command
from almoner.cli.database import transaction_command
from almoner.cli.disbursements import read_disbursement_rules
from almoner.cli.tables import Limit, Output, Table
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import REFUND, Refund, RefundError, RefundStatus
from almoner.giving.checkout.donations import service as donations
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

commands = typer.Typer(help="Refund donations and handle failed refunds.", no_args_is_help=True)

_TYPE: Final = "refund"
_STATUS: Final[Mapping[RefundStatus, str]] = {"pending": "pending", "sent": "sent", "refused": "failed"}

RefundId = Annotated[str, typer.Argument(help="Refund ID, from `almoner refunds list`.")]
DonationId = Annotated[str, typer.Argument(help="Donation ID.")]
Note = Annotated[str, typer.Option(help="Reason (up to 500 characters).")]


@commands.command("list")
@transaction_command
async def list_refunds(
    tx: Tx,
    every: Annotated[bool, typer.Option("--all", help="Include sent and failed refunds.")] = False,
    limit: Limit = 50,
) -> Table:
    """List pending refunds, newest first.

    If the `by` column shows `partner_transfers`, the refund stays pending until you send the partner a bank transfer
    and record it with `almoner refunds mark-sent`.
    """
    found = await refunds.list_newest(tx, sorted(REFUND.states()) if every else ("pending",), limit)
    return Table(
        ("refund", "since", "donation", "amount", "by", "status", "reference"), [_row(tx, refund) for refund in found]
    )


def _row(tx: Tx, refund: Refund) -> list[object]:
    named_ = [tx.ids.encode(_TYPE, refund.id), refund.started_at.date(), tx.ids.encode("donation", refund.donation_id)]
    return [*named_, format_amount(refund.money), refund.provider, _STATUS[refund.status], refund.provider_refund]


@commands.command("failed")
@transaction_command
async def list_failed_refunds(
    tx: Tx,
    limit: Limit = 50,
) -> Table:
    """List failed and returned refunds, oldest first.

    For each refund, send the money another way, and then record the payment with `almoner refunds mark-sent` or
    `almoner refunds resolve`.
    """
    rows: list[list[object]] = []
    for one in await refunds.list_unresolved(tx, limit):
        assert one.ended_at is not None, "it was refused"
        named_ = [tx.ids.encode(_TYPE, one.id), f"{(tx.now - one.ended_at).days} d"]
        rows.append([*named_, tx.ids.encode("donation", one.donation_id), format_amount(one.money), one.provider])
        rows[-1].append(one.ended_note)
    return Table(("refund", "age", "donation", "amount", "by", "failure reason"), rows)


@commands.command("show")
@transaction_command
async def show(tx: Tx, donation: DonationId) -> Output:
    """Show a donation's refunds and its remaining amount."""
    donation_id = parse_id(tx, "donation", donation)
    try:
        gift = await donations.get(tx, ALL_PARTNERS, donation_id)
    except NotFound:
        raise RefundError(f"there is no donation {donation}") from None
    found = await refunds.list_by_donation(tx, donation_id)
    by = await build_display_name_lookup(tx, [who for one in found for who in (one.started_by, one.ended_by) if who])
    rows: list[list[object]] = []
    for one in found:
        started = [iso_timestamp(one.started_at), by(one.started_by) if one.started_by else "the partner", one.note]
        ended = [iso_timestamp(one.ended_at) if one.ended_at else None, by(one.ended_by) if one.ended_by else None]
        rows.append([*_row(tx, one), *started, *ended, one.ended_note])
    titles = ("refund", "since", "donation", "amount", "by", "status", "reference", "created at", "created by", "note")
    unrefunded = f"{format_amount(gift.unrefunded_amount)} of {format_amount(gift.money)}"
    return [
        f"{donation} is {gift.status}. Not refunded: {unrefunded}.",
        Table((*titles, "ended at", "ended by", "reason"), rows),
    ]


@commands.command("create")
@operator_command("finance")
async def create(
    tx: Tx,
    caller: CommandCaller,
    donation: DonationId,
    note: Note,
    amount_minor: Annotated[
        int | None,
        typer.Option(
            "--amount", min=1, help="Amount to refund, in minor units such as cents. Default: the remaining amount."
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="Reference of the bank transfer or of the payment provider's refund, if you have already sent the "
            "refund."
        ),
    ] = None,
) -> Output:
    """Refund a donation in full or in part.

    A background worker sends the refund through the payment provider. If the partner collected the money (a direct
    donation), the refund stays pending until you send the partner a bank transfer and record it with `almoner refunds
    mark-sent`.
    """
    donation_id = parse_id(tx, "donation", donation)
    try:
        started = await refunds.begin_operator_refund(
            tx,
            donation_id,
            amount_minor,
            read_disbursement_rules(),
            started_by=caller.id,
            note=note.strip(),
            manual_refund_reference=None if reference is None else reference.strip(),
        )
    except NotFound:
        raise RefundError(f"there is no donation {donation}") from None
    gift = await donations.get(tx, ALL_PARTNERS, donation_id)
    await caller.record_audit_entry(
        tx,
        gift.partner_id,
        "refund.created",
        donation,
        refund=tx.ids.encode(_TYPE, started.id),
        amount=started.money.minor,
    )
    return _state(tx, started)


@commands.command("mark-sent")
@operator_command("finance")
async def mark_sent(
    tx: Tx,
    caller: CommandCaller,
    refund: RefundId,
    note: Note,
    reference: Annotated[
        str, typer.Option(help="Reference of the bank transfer, or ID of the payment provider's refund.")
    ],
) -> Output:
    """Record a refund that was sent outside Almoner.

    Use this command after you have sent a bank transfer to the partner or made a refund in the payment provider's
    dashboard.
    """
    refund_id = parse_id(tx, _TYPE, refund)
    await caller.record_audit_entry(tx, DEPLOYMENT, "refund.marked_sent", refund, called=reference)
    return _state(tx, await refunds.record_manual_refund(tx, refund_id, reference.strip(), note.strip(), caller.id))


@commands.command("mark-failed")
@operator_command("finance", audit_action="refund.marked_failed")
async def mark_failed(tx: Tx, caller: CommandCaller, refund: RefundId, note: Note) -> Output:
    """Record that a refund will not be sent.

    The amount is owed to the nonprofit again.
    """
    refund_id = parse_id(tx, _TYPE, refund)
    return _state(tx, await refunds.mark_refused(tx, refund_id, note.strip(), caller.id))


@commands.command("resolve")
@operator_command("finance", audit_action="refund.resolved")
async def resolve(tx: Tx, caller: CommandCaller, refund: RefundId, note: Note) -> Output:
    """Mark a failed or returned refund as resolved.

    The refund is removed from the list of failed refunds and is not retried.
    """
    refund_id = parse_id(tx, _TYPE, refund)
    return _state(tx, await refunds.resolve_failed_refund(tx, refund_id, note.strip(), caller.id))


@commands.command("retry")
@operator_command("finance", audit_action="refund.retried")
async def retry(tx: Tx, _officer: CommandCaller, refund: RefundId) -> Output:
    """Retry a refund that is no longer retried automatically."""
    refund_id = parse_id(tx, _TYPE, refund)
    return _state(tx, await refunds.retry_refund(tx, refund_id))


def _state(tx: Tx, refund: Refund) -> str:
    return f"{tx.ids.encode(_TYPE, refund.id)} of {format_amount(refund.money)}: {_STATUS[refund.status]}."
