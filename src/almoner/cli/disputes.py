"""``almoner disputes``: payments that donors' banks claim back, and their outcome."""

from typing import Annotated, Final

import typer

from almoner.cli.access import parse_id
from almoner.cli.amounts import format_amount
from almoner.cli.caller import CommandCaller, Note, build_display_name_lookup, operator_command
from almoner.cli.database import transaction_command
from almoner.cli.disbursements import read_disbursement_rules
from almoner.cli.tables import FieldList, Limit, Output, Table
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import (
    DISPUTE,
    ConcurrentChangeError,
    Dispute,
    DisputeError,
    DisputeOutcome,
    Outcome,
)
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx

commands = typer.Typer(help="Manage payment disputes (chargebacks).", no_args_is_help=True)

_TYPE: Final = "dispute"
_OPEN: Final = ("open",)

DisputeId = Annotated[str, typer.Argument(help="Dispute ID, from `almoner disputes list`.")]


@commands.command("list")
@transaction_command
async def list_disputes(
    tx: Tx,
    every: Annotated[bool, typer.Option("--all", help="Include won and lost disputes.")] = False,
    limit: Limit = 50,
) -> Table:
    """List disputes, newest first."""
    found = await disputes.list_newest(tx, sorted(DISPUTE.states()) if every else _OPEN, limit)
    return Table(
        ("dispute", "opened", "amount", "status", "reason", "donation"),
        [
            [
                tx.ids.encode(_TYPE, one.id),
                one.opened_at.date(),
                format_amount(one.money),
                one.status,
                one.reason,
                _subject(tx, one),
            ]
            for one in found
        ],
    )


@commands.command("show")
@transaction_command
async def show(tx: Tx, dispute: DisputeId) -> Output:
    """Show a dispute and who absorbs its loss."""
    one = await disputes.get(tx, parse_id(tx, _TYPE, dispute))
    by = await build_display_name_lookup(tx, [one.decided_by])
    facts: list[tuple[str, object]] = [
        ("donation", _subject(tx, one)),
        ("amount", format_amount(one.money)),
        ("status", one.status),
        ("reason", one.reason),
        ("provider", one.provider),
        ("provider payment", one.provider_payment_id),
        ("provider dispute", one.provider_dispute_id),
        ("opened", iso_timestamp(one.opened_at)),
        ("evidence due", iso_timestamp_or_none(one.evidence_due_at)),
        ("recorded", iso_timestamp(one.received_at)),
        ("decided", iso_timestamp_or_none(one.decided_at)),
        ("decided by", by(one.decided_by)),
        ("note", one.note),
    ]
    if one.loss:
        facts.append(("absorbed by us", format_amount(one.loss.absorbed_amount)))
        facts.append(("already disbursed", "yes" if one.loss.was_disbursed else "no"))
        facts.append(("recovered", format_amount(one.loss.recovered_amount) if one.loss.recovered_amount else None))
    return FieldList([(name, value) for name, value in facts if value is not None])


def _subject(tx: Tx, one: Dispute) -> str | None:
    return tx.ids.encode_or_none("donation", one.donation_id) or tx.ids.encode_or_none(
        "heldpayment", one.unallocated_payment_id
    )


@commands.command("mark-won")
@operator_command("finance", audit_action="dispute.won")
async def mark_won(tx: Tx, caller: CommandCaller, dispute: DisputeId, note: Note) -> str:
    """Record that a dispute was won.

    Use this command if the payment provider does not report the outcome. The donation is disbursed as usual.
    """
    return await _record_outcome(tx, caller, dispute, "won", note)


@commands.command("mark-lost")
@operator_command("finance", audit_action="dispute.lost")
async def mark_lost(tx: Tx, caller: CommandCaller, dispute: DisputeId, note: Note) -> str:
    """Record that a dispute was lost.

    Use this command if the payment provider does not report the outcome. The donation is treated as refunded.
    """
    return await _record_outcome(tx, caller, dispute, "lost", note)


async def _record_outcome(tx: Tx, officer: CommandCaller, dispute: str, outcome: Outcome, note: str) -> str:
    decided = DisputeOutcome(outcome, officer.id, note.strip())
    try:
        ended = await disputes.record_outcome(tx, parse_id(tx, _TYPE, dispute), decided, read_disbursement_rules())
    except ConcurrentChangeError:
        raise DisputeError("a refund or disbursement of this donation is in progress: try again in a minute") from None
    return f"{dispute} is {ended.status}."


@commands.command("refresh")
@operator_command("finance", audit_action="dispute.refreshed")
async def refresh(tx: Tx, _officer: CommandCaller, dispute: DisputeId) -> str:
    """Fetch a dispute's status from the payment provider.

    A background worker also fetches the status of each open dispute every day.
    """
    found = await disputes.get(tx, parse_id(tx, _TYPE, dispute))
    await disputes.enqueue_refresh(tx, found.provider_payment_id)
    return "A background worker will fetch the status from the payment provider."
