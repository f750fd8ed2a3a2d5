"""``almoner agents``: where nonprofits themselves are asked about their applicants."""

from typing import Annotated

import typer

from almoner.cli.access import read_id
from almoner.cli.officer import Officer, decide
from almoner.kit import email as emails
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.validation.agents import service
from almoner.validation.agents.domain import Contact, ContactRefused

commands = typer.Typer(help="Whether applicants speak for their nonprofits.", no_args_is_help=True)


@commands.callback()
def agents() -> None:
    """Whether applicants speak for their nonprofits; `almoner reviews` decides."""


@commands.command("contact")
def record_contact(
    organisation: Annotated[str, typer.Argument(help="Identifier of the organisation.")],
    email: Annotated[str, typer.Argument(help="Its own address, of an office and not of a person.")],
    source: Annotated[str, typer.Option(help="Where its register publishes the address, such as a page of it.")],
) -> None:
    """Record where a nonprofit can be asked. Its applicants in review are asked about at once."""
    where = source.strip()
    if not 1 <= len(where) <= 500:
        raise typer.BadParameter("--source must say where the address is published, in 1 to 500 characters")
    if len(email) > 255 or not emails.well_formed(email):
        raise typer.BadParameter(f"'{email}' is no e-mail address")

    async def use(tx: Tx, officer: Officer) -> str:
        organisation_id = read_id(tx, "organisation", organisation)
        try:
            asked = await service.set_contact(tx, Contact(organisation_id, email, where), officer.id)
        except NotFound:
            raise typer.BadParameter(f"there is no organisation {organisation}") from None
        except ContactRefused as error:
            raise typer.BadParameter(str(error)) from None
        await officer.record(tx, DEPLOYMENT, "organisation.contact_recorded", organisation, asked=asked)
        return f"{organisation} is asked at {email}; applicants in review: {asked}."

    typer.echo(decide("reviewer", use))
