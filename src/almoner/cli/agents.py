"""``almoner agents``: contact addresses at which nonprofits confirm their agents."""

from typing import Annotated

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import CommandCaller, operator_command
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound import email_addresses
from almoner.validation.agents import service
from almoner.validation.agents.domain import OfficialContact, OfficialContactRefused

commands = typer.Typer(help="Manage contact addresses for agent verification.", no_args_is_help=True)


@commands.callback()
def agents() -> None:
    """Manage contact addresses for agent verification."""


@commands.command("set-contact")
@operator_command("reviewer")
async def set_contact(
    tx: Tx,
    caller: CommandCaller,
    organisation: Annotated[str, typer.Argument(help="Organisation ID.")],
    email: Annotated[
        str, typer.Argument(help="Shared email address of the nonprofit's office, not a personal address.")
    ],
    source: Annotated[
        str, typer.Option(help="Where the address is published, such as a URL in the nonprofit's register.")
    ],
) -> str:
    """Set a nonprofit's contact email address.

    If an agent of the nonprofit is in review, the request to confirm the agent is sent to this address immediately.
    """
    where = source.strip()
    if not 1 <= len(where) <= 500:
        raise typer.BadParameter("--source must be 1 to 500 characters")
    email = email_addresses.clean_email_address(email)
    if len(email) > 255 or not email_addresses.is_email_address(email):
        raise typer.BadParameter(f"'{email}' is not an email address")
    organisation_id = parse_id(tx, "organisation", organisation)
    try:
        asked = await service.set_official_contact_and_enqueue_reviews(
            tx, OfficialContact(organisation_id, email, where), caller.id
        )
    except NotFound:
        raise typer.BadParameter(f"there is no organisation {organisation}") from None
    except OfficialContactRefused as error:
        raise typer.BadParameter(str(error)) from None
    await caller.record_audit_entry(tx, DEPLOYMENT, "organisation.contact_recorded", organisation, asked=asked)
    return f"{email} is now the contact of {organisation}. Confirmation requests sent: {asked}."
