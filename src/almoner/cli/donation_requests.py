"""``almoner donation-requests``: invoicing partners for direct donations, and recording their payments."""

from typing import Annotated
from uuid import UUID

import typer

from almoner.cli.access import parse_id, print_table
from almoner.cli.amounts import format_amount, format_decimal, parse_amount
from almoner.cli.caller import Caller, Note, operator_transaction, run_as_operator
from almoner.cli.database import run_in_transaction, run_with_database
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import MAX_BANK_REFERENCE, DonationRequestError, RequestPayment
from almoner.giving.checkout.donation_requests.flows import RunResult
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Tx

commands = typer.Typer(help="Invoice partners for donations they collected.", no_args_is_help=True)

Limit = Annotated[int, typer.Option(min=1, help="Maximum number of rows to show.")]


@commands.command("run")
def create_requests() -> None:
    """Create donation requests for completed periods.

    A worker also does this automatically every day after midnight UTC.
    """

    async def use(database: Database) -> tuple[RunResult, list[str]]:
        async with operator_transaction(database, "finance") as (_, officer):
            pass  # refused before anybody is asked

        async def record(tx: Tx, ran: RunResult) -> None:
            await officer.record_audit_entry(
                tx, DEPLOYMENT, "requests.run", "all", made=len(ran.made), waiting=ran.waiting
            )

        ran = await donation_requests_flows.run_invoicing(database, record)
        return ran, [database.deployment.ids.text("donationrequest", one.id) for one in ran.made]

    ran, ids = run_with_database(use)
    for request_id, made in zip(ids, ran.made, strict=True):
        typer.echo(f"{request_id}  {made.reference}  {format_amount(made.money)} for {made.donations:,} donations")
    if not ran.made:
        typer.echo("No donation requests are due.")
    if ran.waiting:
        typer.echo(f"{ran.waiting:,} donation requests are waiting for the end of the period or for more donations.")


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
                format_amount(one.money),
                format_decimal(one.paid_minor, one.money.currency),
                f"{one.donations:,}",
                iso_timestamp(one.due_at),
            ]
            for one in await donation_requests.newest_requests(tx, None, limit)
        ]

    print_table(
        ("request", "reference", "partner", "status", "amount", "paid", "donations", "due"), run_in_transaction(use)
    )


@commands.command("record-payment")
def record_payment(
    request: Annotated[str, typer.Argument(help="Reference or ID of the donation request.")],
    money: Annotated[str, typer.Argument(metavar="AMOUNT", help="The amount received, such as 1234.50.")],
    currency: Annotated[str, typer.Argument(help="The currency, such as GBP.")],
    bank_reference: Annotated[
        str, typer.Option(help=f"The bank's reference for the payment (up to {MAX_BANK_REFERENCE} characters).")
    ],
) -> None:
    """Record a partner's payment of a donation request.

    The payment is allocated to the donations of the request, oldest first. An overpayment is held until you apply or
    return it.
    """
    paid = parse_amount(money, currency)

    async def use(database: Database) -> RequestPayment:
        async with operator_transaction(database, "finance") as (tx, officer):
            request_id = await _request_id(tx, request)

        async def record(tx: Tx, made: RequestPayment) -> None:
            whose = (await donation_requests.get(tx, ALL_PARTNERS, made.request_id)).partner_id
            reported = {
                "amount": format_amount(made.money),
                "over": format_decimal(made.overpaid_minor, made.money.currency),
            }
            await officer.record_audit_entry(
                tx, whose, "request.received", tx.ids.text("donationrequest", made.request_id), **reported
            )

        try:
            return await donation_requests_flows.receive_payment(
                database, ALL_PARTNERS, request_id, paid, bank_reference.strip(), recorded_by=officer.id, record=record
            )
        except NotFound:
            raise DonationRequestError(_unknown(request)) from None

    made = run_with_database(use)
    typer.echo(f"{format_amount(made.money)} has been recorded for {request}.")
    if made.overpaid_minor:
        over = format_amount(Money(made.overpaid_minor, made.money.currency))
        typer.echo(
            f"This includes an overpayment of {over}, which is held: see `almoner donation-requests overpayments`."
        )


async def _request_id(tx: Tx, text: str) -> UUID:
    if (named := await donation_requests.find_by_reference(tx, text.upper())) is not None:
        return named
    if text.upper().startswith("ALM-"):
        raise DonationRequestError(_unknown(text))
    return parse_id(tx, "donationrequest", text)


def _unknown(request: str) -> str:
    return f"there is no donation request {request}: see `almoner donation-requests list`"


@commands.command("overpayments")
def list_overpayments(limit: Limit = 100) -> None:
    """List overpayments, oldest first."""

    async def use(tx: Tx) -> list[list[object]]:
        return [
            [
                tx.ids.text("requestpayment", one.id),
                tx.ids.text("donationrequest", one.request_id),
                format_amount(Money(one.overpaid_minor, one.money.currency)),
                one.bank_reference,
                iso_timestamp(one.received_at),
            ]
            for one in await donation_requests.held_overpayments(tx, limit)
        ]

    print_table(("payment", "request", "overpaid", "bank reference", "received"), run_in_transaction(use))


@commands.command("apply-overpayment")
def apply_overpayment(
    payment: Annotated[str, typer.Argument(help="Payment ID, from `almoner donation-requests overpayments`.")],
    request: Annotated[str, typer.Argument(help="Reference or ID of another donation request for the same partner.")],
    note: Note,
) -> None:
    """Apply an overpayment to another donation request.

    Both donation requests must belong to the same partner. Any remaining amount is still held.
    """

    async def use(database: Database) -> RequestPayment:
        async with operator_transaction(database, "finance") as (tx, officer):
            payment_id, request_id = parse_id(tx, "requestpayment", payment), await _request_id(tx, request)

        async def record(tx: Tx, part: RequestPayment) -> None:
            whose = (await donation_requests.get(tx, ALL_PARTNERS, part.request_id)).partner_id
            paid = {"request": tx.ids.text("donationrequest", part.request_id), "amount": format_amount(_applied(part))}
            await officer.record_audit_entry(tx, whose, "request.overpayment_applied", payment, **paid)

        try:
            return await donation_requests_flows.apply_overpayment(
                database, payment_id, request_id, note=note.strip(), decided_by=officer.id, record=record
            )
        except NotFound:
            raise DonationRequestError(f"payment {payment} or donation request {request} does not exist") from None

    part = run_with_database(use)
    typer.echo(f"{format_amount(_applied(part))} has been applied to {request}.")
    if part.overpaid_minor:
        typer.echo(
            f"{format_amount(Money(part.overpaid_minor, part.money.currency))} is still held: "
            "see `almoner donation-requests overpayments`."
        )


def _applied(part: RequestPayment) -> Money:
    return Money(part.applied_minor, part.money.currency)


@commands.command("return-overpayment")
def return_overpayment(
    payment: Annotated[str, typer.Argument(help="Payment ID, from `almoner donation-requests overpayments`.")],
    note: Note,
) -> None:
    """Record that you returned an overpayment.

    Use this after you return the money to the partner by bank transfer.
    """
    reported = note.strip()

    async def use(tx: Tx, officer: Caller) -> RequestPayment:
        try:
            returned = await donation_requests.return_overpayment(
                tx, parse_id(tx, "requestpayment", payment), note=reported, decided_by=officer.id
            )
        except NotFound:
            raise DonationRequestError(
                f"there is no payment {payment}: see `almoner donation-requests overpayments`"
            ) from None
        whose = (await donation_requests.get(tx, ALL_PARTNERS, returned.request_id)).partner_id
        await officer.record_audit_entry(tx, whose, "request.overpayment_returned", payment)
        return returned

    returned = run_as_operator("finance", use)
    typer.echo(f"{format_amount(Money(returned.overpaid_minor, returned.money.currency))} has been returned.")
