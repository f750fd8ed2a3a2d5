"""``almoner disputes``: payments that donors' banks claim back, and their outcome."""

from typing import Annotated, Final

import typer

from almoner.cli.access import read_id, table
from almoner.cli.amounts import amount
from almoner.cli.caller import Caller, Note, as_operator, display_names
from almoner.cli.database import in_transaction
from almoner.cli.disbursements import rules
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import (
    DISPUTE,
    Dispute,
    DisputeDecision,
    DisputeRefused,
    Outcome,
    RetryLater,
)
from almoner.kit.time import iso, iso_or_none
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
                amount(one.money),
                one.status,
                one.reason,
                _subject(tx, one),
            ]
            for one in found
        ]

    table(("dispute", "opened", "amount", "status", "reason", "donation"), in_transaction(use))


@commands.command("show")
def show(dispute: DisputeId) -> None:
    """Show a dispute and who bears the loss."""

    async def use(tx: Tx) -> list[tuple[str, object]]:
        one = await disputes.get(tx, read_id(tx, _TYPE, dispute))
        by = await display_names(tx, [one.decided_by])
        facts: list[tuple[str, object]] = [
            ("donation", _subject(tx, one)),
            ("amount", amount(one.money)),
            ("status", one.status),
            ("reason", one.reason),
            ("provider", one.provider),
            ("provider payment", one.provider_payment),
            ("provider dispute", one.provider_dispute),
            ("opened", iso(one.opened_at)),
            ("recorded", iso(one.received_at)),
            ("decided", iso_or_none(one.decided_at)),
            ("decided by", by(one.decided_by)),
            ("note", one.note),
        ]
        if one.loss:
            facts.append(("absorbed by us", amount(one.loss.absorbed)))
            facts.append(("already disbursed", "yes" if one.loss.disbursed else "no"))
            facts.append(("recovered", amount(one.loss.recovered) if one.loss.recovered else None))
        return [(name, value) for name, value in facts if value is not None]

    for name, value in in_transaction(use):
        typer.echo(f"{name}: {value}")


def _subject(tx: Tx, one: Dispute) -> str | None:
    return tx.ids.optional("donation", one.donation_id) or tx.ids.optional("heldpayment", one.unallocated_payment_id)


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
        dispute_id = read_id(tx, _TYPE, dispute)
        await officer.record(tx, DEPLOYMENT, action, dispute)
        try:
            return await disputes.record_outcome(
                tx, dispute_id, DisputeDecision(outcome, officer.id, note.strip()), rules()
            )
        except RetryLater:
            raise DisputeRefused(
                "a refund or disbursement of this donation is in progress: try again in a minute"
            ) from None

    typer.echo(f"{dispute} is {as_operator('finance', use).status}.")


@commands.command("refresh")
def refresh(dispute: DisputeId) -> None:
    """Fetch a dispute's status from the payment provider.

    A worker also does this automatically every day.
    """

    async def use(tx: Tx, officer: Caller) -> None:
        found = await disputes.get(tx, read_id(tx, _TYPE, dispute))
        await disputes.enqueue_refresh(tx, found.provider_payment)
        await officer.record(tx, DEPLOYMENT, "dispute.asked", dispute)

    as_operator("finance", use)
    typer.echo("A worker will fetch the status from the provider.")
