"""``almoner donations``: what people decide about a gift."""

from typing import Annotated

import typer

from almoner.cli.access import read_id
from almoner.cli.officer import Officer, decide
from almoner.cli.payouts import rules
from almoner.giving.accounting.reassignments import service
from almoner.giving.accounting.reassignments.domain import MAX_REASON_LENGTH, Ground, UnknownOrganisation
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.disbursing.disbursements.domain import PayoutRefused
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import EVERYONE, Tx

commands = typer.Typer(help="What people decide about a gift.", no_args_is_help=True)


@commands.command("reassign")
def reassign(
    donation: Annotated[str, typer.Argument(help="Identifier of a donation that is RECEIVED_PAYMENT.")],
    organisation: Annotated[str, typer.Argument(help="Identifier of the organisation that it is for now.")],
    ground: Annotated[Ground, typer.Option(help="What the donor is told: why it could not stay.")],
    reason: Annotated[str, typer.Option(help=f"Why; kept for good, at most {MAX_REASON_LENGTH} characters.")],
) -> None:
    """Give a donation to another organisation, with all that is owed of it. The partner and its donor are told."""

    async def use(tx: Tx, officer: Officer) -> Donation:
        ids = read_id(tx, "donation", donation), read_id(tx, "organisation", organisation)
        why = reason.strip()
        try:
            given = await service.reassign(
                tx, EVERYONE, *ids, ground=ground, reason=why, reassigned_by=officer.id, rules=rules()
            )
        except NotFound:
            raise PayoutRefused(
                f"there is no donation {donation}: `almoner payouts show` lists those of a payout"
            ) from None
        except UnknownOrganisation:
            raise PayoutRefused(f"there is no organisation {organisation}") from None
        await officer.record(tx, given.partner_id, "donation.reassigned", donation, organisation=organisation)
        return given

    decide("finance", use)
    typer.echo(f"{donation} is for {organisation} now.")
