"""``almoner giving-links``: nonprofits that do not want donations by giving links."""

from typing import Annotated

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import CommandCaller, Note, build_display_name_lookup, operator_command
from almoner.cli.database import transaction_command
from almoner.cli.tables import Limit, Table
from almoner.giving.checkout.giving_links import service as giving_links
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

commands = typer.Typer(help="Manage nonprofits that have opted out of giving links.", no_args_is_help=True)

OrganisationId = Annotated[str, typer.Argument(help="Organisation ID.")]


@commands.command("refusals")
@transaction_command
async def list_refusals(tx: Tx, limit: Limit = 50) -> Table:
    """List nonprofits that have opted out of giving links, newest first."""
    found = await giving_links.list_opt_outs(tx, limit)
    names = await organisations.load_display_names_by_id(tx, ALL_PARTNERS, [one.organisation_id for one in found])
    by = await build_display_name_lookup(tx, [one.recorded_by for one in found])
    return Table(
        ("organisation", "name", "since", "recorded by", "reason"),
        [
            [
                tx.ids.encode("organisation", one.organisation_id),
                names.get(one.organisation_id, ""),
                one.recorded_at.date(),
                by(one.recorded_by),
                one.reason,
            ]
            for one in found
        ],
    )


@commands.command("refuse")
@operator_command("reviewer")
async def block_nonprofit(tx: Tx, caller: CommandCaller, organisation: OrganisationId, note: Note) -> str:
    """Stop donations to a nonprofit through giving links.

    No new giving links can be created for the nonprofit, and existing giving links no longer offer it. Donation
    sessions are not affected.
    """
    found = parse_id(tx, "organisation", organisation)
    if not await giving_links.record_opt_out(tx, found, note.strip(), caller.id):
        return f"{organisation} has already opted out of giving links."
    await caller.record_audit_entry(tx, DEPLOYMENT, "giving_link.refused", organisation)
    return f"{organisation} no longer receives donations through giving links."


@commands.command("allow")
@operator_command("reviewer")
async def allow_nonprofit(tx: Tx, caller: CommandCaller, organisation: OrganisationId) -> str:
    """Allow donations to a nonprofit through giving links again."""
    found = parse_id(tx, "organisation", organisation)
    if not await giving_links.withdraw_opt_out(tx, found):
        return f"{organisation} has not opted out of giving links."
    await caller.record_audit_entry(tx, DEPLOYMENT, "giving_link.allowed", organisation)
    return f"{organisation} can receive donations through giving links again."
