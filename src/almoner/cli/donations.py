"""``almoner donations``: decisions on single donations."""

from typing import Annotated

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import CommandCaller, operator_command
from almoner.cli.disbursements import read_disbursement_rules
from almoner.cli.tables import Output
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.reassignments.domain import MAX_REASON_LENGTH, ReassignmentGround, UnknownOrganisation
from almoner.giving.disbursing.disbursements.domain import DisbursementError
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

commands = typer.Typer(help="Reassign donations to another organisation.", no_args_is_help=True)


@commands.command("reassign")
@operator_command("finance")
async def reassign(
    tx: Tx,
    caller: CommandCaller,
    donation: Annotated[str, typer.Argument(help="ID of a donation with the status RECEIVED_PAYMENT.")],
    organisation: Annotated[str, typer.Argument(help="ID of the organisation that receives the donation instead.")],
    reason: Annotated[ReassignmentGround, typer.Option(help="Reason given to the donor.")],
    note: Annotated[str, typer.Option(help=f"Evidence for the decision (up to {MAX_REASON_LENGTH} characters).")],
) -> Output:
    """Reassign a donation to another organisation.

    The amount of the donation, minus any refunds, goes to the new organisation. The partner and the donor are notified.
    """
    ids = parse_id(tx, "donation", donation), parse_id(tx, "organisation", organisation)
    why = note.strip()
    try:
        given = await reassignments.reassign_donation(
            tx, ALL_PARTNERS, *ids, ground=reason, reason=why, reassigned_by=caller.id, rules=read_disbursement_rules()
        )
    except NotFound:
        raise DisbursementError(
            f"there is no donation {donation}: `almoner disbursements show` lists the donations of a disbursement"
        ) from None
    except UnknownOrganisation:
        raise DisbursementError(f"there is no organisation {organisation}") from None
    await caller.record_audit_entry(tx, given.partner_id, "donation.reassigned", donation, organisation=organisation)
    return f"{donation} has been reassigned to {organisation}."
