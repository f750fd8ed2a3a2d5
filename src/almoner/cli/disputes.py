"""``almoner disputes``: payments that donors' banks claim back, and their outcome."""

from typing import Annotated, Final

import typer

from almoner.cli.access import parse_id, print_table
from almoner.cli.amounts import format_amount
from almoner.cli.caller import Caller, Note, display_name_lookup, run_as_operator
from almoner.cli.database import run_in_transaction
from almoner.cli.disbursements import disbursement_rules
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import (
    DISPUTE,
    Dispute,
    DisputeError,
    DisputeOutcome,
    Outcome,
    RetryLater,
)
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx

commands = typer.Typer(help="Manage payment disputes (chargebacks).", no_args_is_help=True)

_TYPE: Final = "dispute"
_OPEN: Final = ("open",)

DisputeId = Annotated[str, typer.Argument(help="Dispute ID, from `almoner disputes list`.")]


@commands.command("list")
def list_disputes(
    every: Annotated[bool, typer.Option("--all", help="Include won and lost disputes.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows to show.")] = 50,
) -> None:
    """List disputes, newest first."""

    async def use(tx: Tx) -> list[list[object]]:
        found = await disputes.list_newest(tx, sorted(DISPUTE.states()) if every else _OPEN, limit)
        return [
            [
                tx.ids.text(_TYPE, one.id),
                one.opened_at.date(),
                format_amount(one.money),
                one.status,
                one.reason,
                _subject(tx, one),
            ]
            for one in found
        ]

    print_table(("dispute", "opened", "amount", "status", "reason", "donation"), run_in_transaction(use))


@commands.command("show")
def show(dispute: DisputeId) -> None:
    """Show a dispute and who bears the loss."""

    async def use(tx: Tx) -> list[tuple[str, object]]:
        one = await disputes.get(tx, parse_id(tx, _TYPE, dispute))
        by = await display_name_lookup(tx, [one.decided_by])
        facts: list[tuple[str, object]] = [
            ("donation", _subject(tx, one)),
            ("amount", format_amount(one.money)),
            ("status", one.status),
            ("reason", one.reason),
            ("provider", one.provider),
            ("provider payment", one.provider_payment),
            ("provider dispute", one.provider_dispute),
            ("opened", iso_timestamp(one.opened_at)),
            ("recorded", iso_timestamp(one.received_at)),
            ("decided", iso_timestamp_or_none(one.decided_at)),
            ("decided by", by(one.decided_by)),
            ("note", one.note),
        ]
        if one.loss:
            facts.append(("absorbed by us", format_amount(one.loss.absorbed)))
            facts.append(("already disbursed", "yes" if one.loss.disbursed else "no"))
            facts.append(("recovered", format_amount(one.loss.recovered) if one.loss.recovered else None))
        return [(name, value) for name, value in facts if value is not None]

    for name, value in run_in_transaction(use):
        typer.echo(f"{name}: {value}")


def _subject(tx: Tx, one: Dispute) -> str | None:
    return tx.ids.text_or_none("donation", one.donation_id) or tx.ids.text_or_none(
        "heldpayment", one.unallocated_payment_id
    )


@commands.command("mark-won")
def mark_won(dispute: DisputeId, note: Note) -> None:
    """Record that a dispute was won.

    Use this if the payment provider does not report the outcome. The donation is disbursed as usual.
    """
    _decide(dispute, "won", "dispute.won", note)


@commands.command("mark-lost")
def mark_lost(dispute: DisputeId, note: Note) -> None:
    """Record that a dispute was lost.

    Use this if the payment provider does not report the outcome. The donation counts as refunded.
    """
    _decide(dispute, "lost", "dispute.lost", note)


def _decide(dispute: str, outcome: Outcome, action: str, note: str) -> None:
    async def use(tx: Tx, officer: Caller) -> Dispute:
        dispute_id = parse_id(tx, _TYPE, dispute)
        await officer.record_audit_entry(tx, DEPLOYMENT, action, dispute)
        try:
            return await disputes.record_outcome(
                tx, dispute_id, DisputeOutcome(outcome, officer.id, note.strip()), disbursement_rules()
            )
        except RetryLater:
            raise DisputeError(
                "a refund or disbursement of this donation is in progress: try again in a minute"
            ) from None

    typer.echo(f"{dispute} is {run_as_operator('finance', use).status}.")


@commands.command("refresh")
def refresh(dispute: DisputeId) -> None:
    """Fetch a dispute's status from the payment provider.

    A worker also does this automatically every day.
    """

    async def use(tx: Tx, officer: Caller) -> None:
        found = await disputes.get(tx, parse_id(tx, _TYPE, dispute))
        await disputes.enqueue_refresh(tx, found.provider_payment)
        await officer.record_audit_entry(tx, DEPLOYMENT, "dispute.asked", dispute)

    run_as_operator("finance", use)
    typer.echo("A worker will fetch the status from the provider.")
