"""``almoner refunds``: gifts that go back to whoever paid."""

from typing import Annotated, Final

import typer

from almoner.cli.access import read_id, table
from almoner.cli.amounts import amount
from almoner.cli.database import in_transaction
from almoner.cli.officer import Officer, decide, named
from almoner.cli.payouts import rules
from almoner.giving.accounting.refunds import service
from almoner.giving.accounting.refunds.domain import REFUND, Refund, RefundNotPossible
from almoner.giving.checkout.donations import service as donations
from almoner.kit.errors import NotFound
from almoner.kit.time import iso
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import EVERYONE, Tx

commands = typer.Typer(help="Gifts that go back to whoever paid: docs/runbooks/refunds.md.", no_args_is_help=True)

_TYPE: Final = "refund"

RefundId = Annotated[str, typer.Argument(help="Identifier, as `almoner refunds list` shows it.")]
DonationId = Annotated[str, typer.Argument(help="Identifier of a donation.")]
Note = Annotated[str, typer.Option(help="Why; kept with the refund, at most 500 characters.")]


@commands.command("list")
def list_refunds(
    every: Annotated[bool, typer.Option("--all", help="Also what was sent or refused.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
) -> None:
    """List refunds that are not sent yet, newest first: those by `partner_transfers` wait for a bank transfer."""

    async def use(tx: Tx) -> list[list[object]]:
        found = await service.newest(tx, sorted(REFUND.states()) if every else ("pending",), limit)
        return [_row(tx, refund) for refund in found]

    table(("refund", "since", "donation", "amount", "by", "status", "called"), in_transaction(use))


def _row(tx: Tx, refund: Refund) -> list[object]:
    named_ = [tx.ids.text(_TYPE, refund.id), refund.started_at.date(), tx.ids.text("donation", refund.donation_id)]
    return [*named_, amount(refund.money), refund.provider, refund.status, refund.provider_refund]


@commands.command("refused")
def list_refused(limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50) -> None:
    """List what providers refused to send back, or what came back, the oldest first: it waits for you."""

    async def use(tx: Tx) -> list[list[object]]:
        rows: list[list[object]] = []
        for one in await service.unsent(tx, limit):
            assert one.ended_at is not None, "it was refused"
            named_ = [tx.ids.text(_TYPE, one.id), f"{(tx.now - one.ended_at).days} d"]
            rows.append([*named_, tx.ids.text("donation", one.donation_id), amount(one.money), one.provider])
            rows[-1].append(one.ended_note)
        return rows

    table(("refund", "age", "donation", "amount", "by", "refused because"), in_transaction(use))


@commands.command("show")
def show(donation: DonationId) -> None:
    """Show a donation's refunds: who began them and why, how they ended, and what is left of it."""

    async def use(tx: Tx) -> tuple[str, list[list[object]]]:
        donation_id = read_id(tx, "donation", donation)
        try:
            gift = await donations.get(tx, EVERYONE, donation_id)
        except NotFound:
            raise RefundNotPossible(f"there is no donation {donation}") from None
        found = await service.of_donation(tx, donation_id)
        by = await named(tx, [who for one in found for who in (one.started_by, one.ended_by) if who])
        rows: list[list[object]] = []
        for one in found:
            begun = [iso(one.started_at), by(one.started_by) if one.started_by else "the partner", one.note]
            ended = [iso(one.ended_at) if one.ended_at else None, by(one.ended_by) if one.ended_by else None]
            rows.append([*_row(tx, one), *begun, *ended, one.ended_note])
        return f"{donation} is {gift.status}; {amount(gift.left)} of {amount(gift.money)} is left.", rows

    told, rows = in_transaction(use)
    typer.echo(told)
    titles = ("refund", "since", "donation", "amount", "by", "status", "called", "begun at", "begun by", "note")
    table((*titles, "ended at", "ended by", "ended because"), rows)


@commands.command("begin")
def begin(
    donation: DonationId,
    note: Note,
    amount_minor: Annotated[
        int | None, typer.Option("--amount", min=1, help="In minor units; all that is left if absent.")
    ] = None,
    called: Annotated[
        str | None,
        typer.Option(help="You have sent it already: what our bank calls the transfer, or the provider the refund."),
    ] = None,
) -> None:
    """Send a donation back, whole or in part. A worker asks the provider; a direct one waits for your transfer."""

    async def use(tx: Tx, officer: Officer) -> Refund:
        donation_id = read_id(tx, "donation", donation)
        told = {"started_by": officer.id, "note": note.strip(), "called": called.strip() if called else called}
        try:
            begun = await service.begin(tx, EVERYONE, donation_id, amount_minor, rules(), **told)
        except NotFound:
            raise RefundNotPossible(f"there is no donation {donation}") from None
        gift = await donations.get(tx, EVERYONE, donation_id)
        refund = tx.ids.text(_TYPE, begun.id)
        await officer.record(tx, gift.partner_id, "refund.begun", donation, refund=refund, amount=begun.money.minor)
        return begun

    _tell(decide("finance", use))


@commands.command("done-by-hand")
def done_by_hand(
    refund: RefundId,
    note: Note,
    called: Annotated[str, typer.Option(help="What our bank calls the transfer, or the provider the refund.")],
) -> None:
    """Note that you sent it: by bank to the partner, or in the provider's own dashboard. Nothing is asked."""

    async def use(tx: Tx, officer: Officer) -> Refund:
        refund_id = read_id(tx, _TYPE, refund)
        await officer.record(tx, DEPLOYMENT, "refund.sent_by_hand", refund, called=called)
        return await service.sent_by_hand(tx, refund_id, called.strip(), note.strip(), officer.id)

    _tell(decide("finance", use))


@commands.command("refuse")
def refuse(refund: RefundId, note: Note) -> None:
    """Note that it was not sent and will not be: its money is owed to the nonprofit again."""

    async def use(tx: Tx, officer: Officer) -> Refund:
        refund_id = read_id(tx, _TYPE, refund)
        await officer.record(tx, DEPLOYMENT, "refund.refused", refund)
        return await service.refuse(tx, refund_id, note.strip(), officer.id)

    _tell(decide("finance", use))


@commands.command("let-rest")
def let_rest(refund: RefundId, note: Note) -> None:
    """Note that you have seen to a refund that its provider refused or that came back: nobody sends it again."""

    async def use(tx: Tx, officer: Officer) -> Refund:
        refund_id = read_id(tx, _TYPE, refund)
        await officer.record(tx, DEPLOYMENT, "refund.let_rest", refund)
        return await service.let_rest(tx, refund_id, note.strip(), officer.id)

    _tell(decide("finance", use))


@commands.command("ask-again")
def ask_again(refund: RefundId) -> None:
    """Have the provider asked again, after a worker gave up: see `almoner refunds list`."""

    async def use(tx: Tx, officer: Officer) -> Refund:
        refund_id = read_id(tx, _TYPE, refund)
        await officer.record(tx, DEPLOYMENT, "refund.asked_again", refund)
        return await service.ask_again(tx, refund_id)

    _tell(decide("finance", use))


def _tell(refund: Refund) -> None:
    async def use(tx: Tx) -> str:
        return tx.ids.text(_TYPE, refund.id)

    typer.echo(f"{in_transaction(use)} of {amount(refund.money)} is {refund.status}.")
