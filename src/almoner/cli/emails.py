"""``almoner emails``: emails that could not be delivered."""

from typing import Annotated, Final

import typer

from almoner.access.notifications import service as notifications
from almoner.access.notifications.domain import NoSuchUndeliverableEmail
from almoner.cli.access import parse_id
from almoner.cli.caller import CommandCaller, administrator_command
from almoner.cli.database import transaction_command
from almoner.cli.tables import Limit, Table
from almoner.kit.time import iso_timestamp
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx

commands = typer.Typer(help="List and resend emails that could not be delivered.", no_args_is_help=True)

_TYPE: Final = "email"


@commands.command("list")
@transaction_command
async def list_undeliverable(tx: Tx, limit: Limit = 50) -> Table:
    """List emails that could not be delivered, newest first.

    Emails that bounce later (after the mail server has accepted them) are not listed.
    """
    return Table(
        ("email", "time", "kind", "recipient", "rejected", "reason", "partner"),
        [
            [
                tx.ids.encode(_TYPE, one.id),
                iso_timestamp(one.created_at),
                one.kind,
                one.recipient,
                "yes" if one.was_rejected else "no",
                one.reason,
                tx.ids.encode_or_none("partner", one.partner_id),
            ]
            for one in await notifications.list_undeliverable_emails(tx, limit)
        ],
    )


@commands.command("resend")
@administrator_command
async def resend(
    tx: Tx, caller: CommandCaller, email: Annotated[str, typer.Argument(help="Email ID, from `almoner emails list`.")]
) -> str:
    """Send an email again.

    Use this command after the mail server or the address has been fixed. The email is sent to the current address.
    """
    try:
        await notifications.resend_email(tx, parse_id(tx, _TYPE, email))
    except NoSuchUndeliverableEmail:
        raise typer.BadParameter(f"{email} is not in `almoner emails list`") from None
    await caller.record_audit_entry(tx, audit.DEPLOYMENT, "email.resent", email)
    return "A background worker will send the email again."
