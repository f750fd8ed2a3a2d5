"""``almoner receipt-donees``: the organisations that legally receive donations and acknowledge them for US taxes."""

from typing import Annotated, Final

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import (
    CommandCaller,
    Note,
    build_display_name_lookup,
    ensure_independent_operator,
    operator_command,
)
from almoner.cli.database import transaction_command
from almoner.cli.tables import Table
from almoner.giving.receipts import service as receipts
from almoner.giving.receipts.domain import Donee
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Partner, Tx

commands = typer.Typer(help="Manage donees that are named on US tax receipts.", no_args_is_help=True)

_TYPE: Final = "receiptdonee"

DoneeId = Annotated[str, typer.Argument(help="Donee ID, from `almoner receipt-donees list`.")]


@commands.command("list")
@transaction_command
async def list_donees(tx: Tx) -> Table:
    """List the donees of all partners, newest first."""
    found = await receipts.list_donees(tx)
    by = await build_display_name_lookup(
        tx, [who for one in found for who in (one.proposed_by, one.approved_by) if who]
    )
    return Table(
        ("donee", "partner", "legal name", "EIN", "address", "status", "proposed", "by", "approved", "by"),
        [
            [
                tx.ids.encode(_TYPE, one.id),
                tx.ids.encode("partner", one.partner_id),
                one.legal_name,
                one.formatted_ein,
                one.address,
                one.approval_status,
                iso_timestamp(one.proposed_at),
                by(one.proposed_by),
                iso_timestamp_or_none(one.approved_at),
                by(one.approved_by) if one.approved_by else None,
            ]
            for one in found
        ],
    )


@commands.command("propose")
@operator_command("finance")
async def propose(
    tx: Tx,
    caller: CommandCaller,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    legal_name: Annotated[str, typer.Option(help="Legal name of the organisation, as registered with the IRS.")],
    ein: Annotated[str, typer.Option(help="EIN of the organisation, such as 12-3456789.")],
    address: Annotated[str, typer.Option(help="Postal address of the organisation, on one line.")],
    note: Note,
) -> str:
    """Propose the donee: the legal recipient of a partner's donations.

    Another finance operator must approve the donee. Receipts then show the donee's name, EIN and address, and the
    statement that the IRS requires. If a partner has no donee, the partner's receipts only confirm the payment and say
    that they are not tax receipts.
    """
    scope = Partner(parse_id(tx, "partner", partner))
    created = await receipts.propose_donee(
        tx, scope, legal_name=legal_name, ein=ein, address=address, note=note.strip(), proposed_by=caller.id
    )
    await _record(tx, caller, "receipt_donee.proposed", created)
    return f"{tx.ids.encode(_TYPE, created.id)} proposed. Another finance operator must approve the donee."


@commands.command("approve")
@operator_command("finance")
async def approve(
    tx: Tx,
    caller: CommandCaller,
    donee: DoneeId,
    ein: Annotated[str, typer.Option(help="EIN of the donee, exactly as in your evidence.")],
    note: Note,
) -> str:
    """Approve a donee. New receipts name this donee instead of the previous one."""
    one = await receipts.get_donee_for_update(tx, parse_id(tx, _TYPE, donee))
    await ensure_independent_operator(tx, caller, one.proposed_by)
    approved = await receipts.approve_donee(tx, one, entered_ein=ein, note=note.strip(), approved_by=caller.id)
    await _record(tx, caller, "receipt_donee.approved", approved)
    return f"{donee} is approved. New receipts name {approved.legal_name}, EIN {approved.formatted_ein}."


@commands.command("end")
@operator_command("finance")
async def end(tx: Tx, caller: CommandCaller, donee: DoneeId) -> str:
    """Remove a donee, or reject a proposed donee. New receipts no longer name the donee."""
    ended = await receipts.end_or_withdraw_donee(
        tx, await receipts.get_donee_for_update(tx, parse_id(tx, _TYPE, donee)), ended_by=caller.id
    )
    await _record(tx, caller, "receipt_donee.ended", ended)
    return f"{donee} has been removed."


async def _record(tx: Tx, officer: CommandCaller, action: str, donee: Donee) -> None:
    named_so = tx.ids.encode(_TYPE, donee.id)
    await officer.record_audit_entry(tx, donee.partner_id, action, named_so, ein=donee.ein)
