"""``almoner donation-requests``: invoicing partners for direct donations, and recording their payments."""

from typing import Annotated
from uuid import UUID

import typer

from almoner.cli.access import parse_id
from almoner.cli.amounts import format_amount, format_decimal, parse_amount
from almoner.cli.caller import CommandCaller, Note, operator_command, operator_transaction
from almoner.cli.database import database_command, transaction_command
from almoner.cli.tables import Limit, Output, Table
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import (
    MAX_BANK_REFERENCE,
    DonationRequestError,
    DonationRequestPayment,
)
from almoner.giving.checkout.donation_requests.flows import InvoicingResult
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Tx

commands = typer.Typer(help="Invoice partners for donations they collected.", no_args_is_help=True)


@commands.command("run")
@database_command
async def create_requests(database: Database) -> Output:
    """Create donation requests for completed periods.

    A background worker also creates them every day after midnight UTC.
    """
    async with operator_transaction(database, "finance") as (_, officer):
        pass  # check the operator before creating anything

    async def record(tx: Tx, ran: InvoicingResult) -> None:
        await officer.record_audit_entry(tx, DEPLOYMENT, "donation_requests.run", "all", **ran.audit_details())

    ran = await donation_requests_flows.run_invoicing(database, record)
    ids = database.deployment.ids
    parts = [
        f"{ids.encode('donationrequest', made.id)}  {made.reference}  {format_amount(made.money)} "
        f"for {made.donation_count:,} donations"
        for made in ran.created_requests
    ] or ["No donation requests are due."]
    if ran.uninvoiced_partner_currency_count:
        parts.append(
            f"{ran.uninvoiced_partner_currency_count:,} donation requests are waiting for the end of the period or for "
            "more donations."
        )
    return parts


@commands.command("list")
@transaction_command
async def list_requests(tx: Tx, limit: Limit = 100) -> Table:
    """List donation requests, newest first."""
    return Table(
        ("request", "reference", "partner", "status", "amount", "paid", "donations", "due"),
        [
            [
                tx.ids.encode("donationrequest", one.id),
                one.reference,
                tx.ids.encode("partner", one.partner_id),
                one.status,
                format_amount(one.money),
                format_decimal(one.paid_minor, one.money.currency),
                f"{one.donation_count:,}",
                iso_timestamp(one.due_at),
            ]
            for one in await donation_requests.list_for_operators(tx, None, None, None, limit)
        ],
    )


@commands.command("record-payment")
@database_command
async def record_payment(
    database: Database,
    request: Annotated[str, typer.Argument(help="Reference or ID of the donation request.")],
    money: Annotated[str, typer.Argument(metavar="AMOUNT", help="Amount received, such as 1234.50.")],
    currency: Annotated[str, typer.Argument(help="Currency, such as GBP.")],
    bank_reference: Annotated[
        str, typer.Option(help=f"Bank's reference of the payment (up to {MAX_BANK_REFERENCE} characters).")
    ],
) -> Output:
    """Record a partner's payment of a donation request.

    The payment is allocated to the donations in the request, oldest first. An overpayment stays unallocated until you
    apply or return it.
    """
    paid = parse_amount(money, currency)
    async with operator_transaction(database, "finance") as (tx, officer):
        request_id = await _request_id(tx, request)

    async def record(tx: Tx, made: DonationRequestPayment) -> None:
        whose = (await donation_requests.get(tx, ALL_PARTNERS, made.donation_request_id)).partner_id
        reported = {
            "amount": format_amount(made.money),
            "over": format_decimal(made.overpaid_minor, made.money.currency),
        }
        await officer.record_audit_entry(
            tx,
            whose,
            "donation_request.payment_received",
            tx.ids.encode("donationrequest", made.donation_request_id),
            **reported,
        )

    try:
        made = await donation_requests_flows.receive_payment(
            database, ALL_PARTNERS, request_id, paid, bank_reference.strip(), recorded_by=officer.id, on_recorded=record
        )
    except NotFound:
        raise DonationRequestError(_unknown(request)) from None
    parts = [f"{format_amount(made.money)} has been recorded for {request}."]
    if made.overpaid_minor:
        over = format_amount(Money(made.overpaid_minor, made.money.currency))
        parts.append(
            f"The payment includes an overpayment of {over}, which is held: see `almoner donation-requests "
            "overpayments`."
        )
    return parts


async def _request_id(tx: Tx, text: str) -> UUID:
    if (named := await donation_requests.find_id_by_payment_reference(tx, text.upper())) is not None:
        return named
    if text.upper().startswith("ALM-"):
        raise DonationRequestError(_unknown(text))
    return parse_id(tx, "donationrequest", text)


def _unknown(request: str) -> str:
    return f"there is no donation request {request}: see `almoner donation-requests list`"


@commands.command("overpayments")
@transaction_command
async def list_overpayments(tx: Tx, limit: Limit = 100) -> Table:
    """List overpayments, oldest first."""
    return Table(
        ("payment", "request", "overpaid", "bank reference", "received"),
        [
            [
                tx.ids.encode("requestpayment", one.id),
                tx.ids.encode("donationrequest", one.donation_request_id),
                format_amount(Money(one.overpaid_minor, one.money.currency)),
                one.bank_reference,
                iso_timestamp(one.received_at),
            ]
            for one in await donation_requests.list_held_overpayments(tx, None, limit)
        ],
    )


@commands.command("apply-overpayment")
@database_command
async def apply_overpayment(
    database: Database,
    payment: Annotated[str, typer.Argument(help="Payment ID, from `almoner donation-requests overpayments`.")],
    request: Annotated[str, typer.Argument(help="Reference or ID of another donation request for the same partner.")],
    note: Note,
) -> Output:
    """Apply an overpayment to another donation request.

    The other request must be for the same partner. Any remaining amount stays unallocated.
    """
    async with operator_transaction(database, "finance") as (tx, officer):
        payment_id, request_id = parse_id(tx, "requestpayment", payment), await _request_id(tx, request)

    async def record(tx: Tx, part: DonationRequestPayment) -> None:
        whose = (await donation_requests.get(tx, ALL_PARTNERS, part.donation_request_id)).partner_id
        paid = {
            "request": tx.ids.encode("donationrequest", part.donation_request_id),
            "amount": format_amount(_applied(part)),
        }
        await officer.record_audit_entry(tx, whose, "donation_request.overpayment_applied", payment, **paid)

    try:
        part = await donation_requests_flows.apply_overpayment_to_other_request(
            database, payment_id, request_id, note=note.strip(), decided_by=officer.id, on_recorded=record
        )
    except NotFound:
        raise DonationRequestError(f"payment {payment} or donation request {request} does not exist") from None
    parts = [f"{format_amount(_applied(part))} has been applied to {request}."]
    if part.overpaid_minor:
        parts.append(
            f"{format_amount(Money(part.overpaid_minor, part.money.currency))} is still held: "
            "see `almoner donation-requests overpayments`."
        )
    return parts


def _applied(part: DonationRequestPayment) -> Money:
    return Money(part.applied_minor, part.money.currency)


@commands.command("return-overpayment")
@operator_command("finance")
async def return_overpayment(
    tx: Tx,
    caller: CommandCaller,
    payment: Annotated[str, typer.Argument(help="Payment ID, from `almoner donation-requests overpayments`.")],
    note: Note,
) -> Output:
    """Record that you returned an overpayment.

    Run this command after you have sent the money back to the partner by bank transfer.
    """
    reported = note.strip()
    try:
        returned = await donation_requests.return_overpayment(
            tx, parse_id(tx, "requestpayment", payment), note=reported, decided_by=caller.id
        )
    except NotFound:
        raise DonationRequestError(
            f"there is no payment {payment}: see `almoner donation-requests overpayments`"
        ) from None
    whose = (await donation_requests.get(tx, ALL_PARTNERS, returned.donation_request_id)).partner_id
    await caller.record_audit_entry(tx, whose, "donation_request.overpayment_returned", payment)
    return f"{format_amount(Money(returned.overpaid_minor, returned.money.currency))} has been returned."
