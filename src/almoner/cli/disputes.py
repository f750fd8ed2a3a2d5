"""``almoner disputes``: what donors' banks want back, and how it ended."""

from typing import Annotated, Final

import typer

from almoner.cli.access import read_id, table
from almoner.cli.amounts import amount
from almoner.cli.database import in_transaction
from almoner.cli.officer import Note, Officer, decide, named
from almoner.cli.payouts import rules
from almoner.giving.accounting.disputes import service
from almoner.giving.accounting.disputes.domain import DISPUTE, Decision, Dispute, DisputeRefused, NotNow, Outcome
from almoner.kit.time import iso, iso_or_none
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx

commands = typer.Typer(help="Gifts that donors' banks want back: docs/runbooks/disputes.md.", no_args_is_help=True)

_TYPE: Final = "dispute"
_OPEN: Final = ("open",)

DisputeId = Annotated[str, typer.Argument(help="Identifier, as `almoner disputes list` shows it.")]


@commands.command("list")
def list_disputes(
    every: Annotated[bool, typer.Option("--all", help="Also those that were decided.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
) -> None:
    """List disputes, newest first."""

    async def use(tx: Tx) -> list[list[object]]:
        found = await service.newest(tx, sorted(DISPUTE.states()) if every else _OPEN, limit)
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

    table(("dispute", "opened", "amount", "status", "reason", "of"), in_transaction(use))


@commands.command("show")
def show(dispute: DisputeId) -> None:
    """Show one dispute: its payment at the provider, who decided, and who bears what was lost."""

    async def use(tx: Tx) -> list[tuple[str, object]]:
        one = await service.get(tx, read_id(tx, _TYPE, dispute))
        by = await named(tx, [one.decided_by])
        facts: list[tuple[str, object]] = [
            ("of", _subject(tx, one)),
            ("amount", amount(one.money)),
            ("status", one.status),
            ("reason", one.reason),
            ("provider", one.provider),
            ("its payment", one.provider_payment),
            ("its dispute", one.provider_dispute),
            ("opened", iso(one.opened_at)),
            ("known since", iso(one.received_at)),
            ("decided", iso_or_none(one.decided_at)),
            ("noted by", by(one.decided_by)),
            ("note", one.note),
        ]
        if one.loss:
            facts.append(("borne by us", amount(one.loss.borne)))
            facts.append(("a payout was sent with the gift", "yes" if one.loss.disbursed else "no"))
            facts.append(("came back to us", amount(one.loss.recovered) if one.loss.recovered else None))
        return [(name, value) for name, value in facts if value is not None]

    for name, value in in_transaction(use):
        typer.echo(f"{name}: {value}")


def _subject(tx: Tx, one: Dispute) -> str | None:
    return tx.ids.optional("donation", one.donation_id) or tx.ids.optional("heldpayment", one.unallocated_payment_id)


@commands.command("won")
def won(dispute: DisputeId, note: Note) -> None:
    """Note that a dispute was won, where the provider does not tell: the gift is paid out as others are."""
    _decide(dispute, "won", "dispute.won", note)


@commands.command("lost")
def lost(dispute: DisputeId, note: Note) -> None:
    """Note that a dispute was lost, where the provider does not tell: the gift counts as refunded."""
    _decide(dispute, "lost", "dispute.lost", note)


def _decide(dispute: str, outcome: Outcome, action: str, note: str) -> None:
    async def use(tx: Tx, officer: Officer) -> Dispute:
        dispute_id = read_id(tx, _TYPE, dispute)
        await officer.record(tx, DEPLOYMENT, action, dispute)
        try:
            return await service.decide(tx, dispute_id, Decision(outcome, officer.id, note.strip()), rules())
        except NotNow:
            raise DisputeRefused(
                "something else is under way with the gift, a refund or a payout: try again in a minute"
            ) from None

    typer.echo(f"{dispute} is {decide('finance', use).status}.")


@commands.command("ask")
def ask(dispute: DisputeId) -> None:
    """Have the provider asked how a dispute stands; a worker does that, as it does every day."""

    async def use(tx: Tx, officer: Officer) -> None:
        found = await service.get(tx, read_id(tx, _TYPE, dispute))
        await service.ask(tx, found.provider_payment)
        await officer.record(tx, DEPLOYMENT, "dispute.asked", dispute)

    decide("finance", use)
    typer.echo("The provider is asked.")
