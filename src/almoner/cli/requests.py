"""``almoner requests``: asking partners for their direct donations, and noting what they pay."""

from typing import Annotated
from uuid import UUID

import typer

from almoner.cli.access import read_id, table
from almoner.cli.amounts import amount, decimal, read
from almoner.cli.database import in_transaction, with_database
from almoner.cli.officer import Note, Officer, acting, decide
from almoner.giving.checkout.donation_requests import flows, service
from almoner.giving.checkout.donation_requests.domain import MAX_BANK_REFERENCE, RequestPayment, RequestRefused
from almoner.giving.checkout.donation_requests.flows import Ran
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.kit.time import iso
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import EVERYONE, Database, Tx

commands = typer.Typer(
    help="Asking partners for their direct donations: docs/runbooks/donation-requests.md.", no_args_is_help=True
)

Limit = Annotated[int, typer.Option(min=1, help="How many to show.")]


@commands.command("run")
def run() -> None:
    """Ask every partner for the direct donations of the periods that are over. It also happens after each midnight."""

    async def use(database: Database) -> tuple[Ran, list[str]]:
        async with acting(database, "finance") as (_, officer):
            pass  # refused before anybody is asked

        async def record(tx: Tx, ran: Ran) -> None:
            await officer.record(tx, DEPLOYMENT, "requests.run", "all", made=len(ran.made), waiting=ran.waiting)

        ran = await flows.run(database, record)
        return ran, [database.deployment.ids.text("donationrequest", one.id) for one in ran.made]

    ran, ids = with_database(use)
    for request_id, made in zip(ids, ran.made, strict=True):
        typer.echo(f"{request_id}  {made.reference}  {amount(made.money)} for {made.donations:,} donations")
    if not ran.made:
        typer.echo("Nobody is asked for anything.")
    if ran.waiting:
        typer.echo(f"{ran.waiting:,} wait for the end of the period, or for more donations.")


@commands.command("list")
def list_requests(limit: Limit = 100) -> None:
    """List donation requests, newest first."""

    async def use(tx: Tx) -> list[list[object]]:
        return [
            [
                tx.ids.text("donationrequest", one.id),
                one.reference,
                tx.ids.text("partner", one.partner_id),
                one.status,
                amount(one.money),
                decimal(one.paid_minor, one.money.currency),
                f"{one.donations:,}",
                iso(one.due_at),
            ]
            for one in await service.newest(tx, None, limit)
        ]

    table(("request", "reference", "partner", "status", "amount", "paid", "donations", "due"), in_transaction(use))


@commands.command("receive")
def receive(
    request: Annotated[
        str, typer.Argument(help="Identifier of the donation request, or the reference it was paid by.")
    ],
    money: Annotated[str, typer.Argument(metavar="AMOUNT", help="What came, such as 1234.50.")],
    currency: Annotated[str, typer.Argument(help="Its currency, such as GBP.")],
    bank_reference: Annotated[
        str, typer.Option(help=f"What our bank calls the transfer; at most {MAX_BANK_REFERENCE} characters.")
    ],
) -> None:
    """Note a partner's transfer: donations that it covers are received, the oldest first; what is over is held."""
    paid = read(money, currency)

    async def use(database: Database) -> RequestPayment:
        async with acting(database, "finance") as (tx, officer):
            request_id = await _request_id(tx, request)

        async def record(tx: Tx, made: RequestPayment) -> None:
            whose = (await service.get(tx, EVERYONE, made.request_id)).partner_id
            told = {"amount": amount(made.money), "over": decimal(made.overpaid_minor, made.money.currency)}
            await officer.record(tx, whose, "request.received", tx.ids.text("donationrequest", made.request_id), **told)

        try:
            return await flows.receive(
                database, EVERYONE, request_id, paid, bank_reference.strip(), recorded_by=officer.id, record=record
            )
        except NotFound:
            raise RequestRefused(_unknown(request)) from None

    made = with_database(use)
    typer.echo(f"{amount(made.money)} is booked on {request}.")
    if made.overpaid_minor:
        over = amount(Money(made.overpaid_minor, made.money.currency))
        typer.echo(f"{over} of it is more than was asked for, and held: see `almoner requests over`.")


async def _request_id(tx: Tx, text: str) -> UUID:
    if (named := await service.named(tx, text.upper())) is not None:
        return named
    if text.upper().startswith("ALM-"):
        raise RequestRefused(_unknown(text))
    return read_id(tx, "donationrequest", text)


def _unknown(request: str) -> str:
    return f"there is no donation request {request}: see `almoner requests list`"


@commands.command("over")
def list_over(limit: Limit = 100) -> None:
    """List transfers of which something is more than was asked for, oldest first."""

    async def use(tx: Tx) -> list[list[object]]:
        return [
            [
                tx.ids.text("requestpayment", one.id),
                tx.ids.text("donationrequest", one.request_id),
                amount(Money(one.overpaid_minor, one.money.currency)),
                one.bank_reference,
                iso(one.received_at),
            ]
            for one in await service.held_payments(tx, limit)
        ]

    table(("transfer", "request", "over", "bank reference", "received"), in_transaction(use))


@commands.command("apply")
def apply_over(
    transfer: Annotated[str, typer.Argument(help="Identifier, as `almoner requests over` shows it.")],
    request: Annotated[str, typer.Argument(help="Another request of the same partner: identifier or reference.")],
    note: Note,
) -> None:
    """Have what was more than asked for pay another request of the same partner; what is still over stays held."""

    async def use(database: Database) -> RequestPayment:
        async with acting(database, "finance") as (tx, officer):
            payment_id, request_id = read_id(tx, "requestpayment", transfer), await _request_id(tx, request)

        async def record(tx: Tx, part: RequestPayment) -> None:
            whose = (await service.get(tx, EVERYONE, part.request_id)).partner_id
            paid = {"request": tx.ids.text("donationrequest", part.request_id), "amount": amount(_applied(part))}
            await officer.record(tx, whose, "request.overpayment_applied", transfer, **paid)

        try:
            return await flows.apply_over(
                database, payment_id, request_id, note=note.strip(), decided_by=officer.id, record=record
            )
        except NotFound:
            raise RequestRefused(f"there is no transfer {transfer}, or no donation request {request}") from None

    part = with_database(use)
    typer.echo(f"{amount(_applied(part))} pays {request}.")
    if part.overpaid_minor:
        typer.echo(
            f"{amount(Money(part.overpaid_minor, part.money.currency))} is still held: see `almoner requests over`."
        )


def _applied(part: RequestPayment) -> Money:
    return Money(part.applied_minor, part.money.currency)


@commands.command("return-over")
def return_over(
    transfer: Annotated[str, typer.Argument(help="Identifier, as `almoner requests over` shows it.")], note: Note
) -> None:
    """Note that what was more than asked for went back to the partner by bank."""
    told = note.strip()

    async def use(tx: Tx, officer: Officer) -> RequestPayment:
        try:
            returned = await service.return_over(
                tx, read_id(tx, "requestpayment", transfer), note=told, decided_by=officer.id
            )
        except NotFound:
            raise RequestRefused(f"there is no transfer {transfer}: see `almoner requests over`") from None
        whose = (await service.get(tx, EVERYONE, returned.request_id)).partner_id
        await officer.record(tx, whose, "request.overpayment_returned", transfer)
        return returned

    returned = decide("finance", use)
    typer.echo(f"{amount(Money(returned.overpaid_minor, returned.money.currency))} went back.")
