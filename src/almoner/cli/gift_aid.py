"""``almoner gift-aid``: Gift Aid declarations and claims."""

from datetime import datetime
from typing import Annotated

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import CommandCaller, operator_command
from almoner.cli.gift_aid_claims import claims
from almoner.cli.tables import Output
from almoner.giving.gift_aid.claims import domain as gift_aid_claims_domain
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.declarations.domain import DeclarationError
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx

commands = typer.Typer(help="Manage Gift Aid declarations and claims.", no_args_is_help=True)
commands.add_typer(claims, name="claims")


@commands.command("cancel-declaration")
@operator_command("finance")
async def cancel_declaration(
    tx: Tx,
    caller: CommandCaller,
    declaration: Annotated[str, typer.Argument(help="Declaration ID.")],
    since: Annotated[
        str | None,
        typer.Option("--from", help="Date or time from which the declaration is cancelled. Default: now."),
    ] = None,
) -> Output:
    """Record that a donor cancelled a Gift Aid declaration."""
    begins = _moment(since)
    try:
        cancelled = await gift_aid_claims.cancel_declaration_and_adjust_claims(
            tx, parse_id(tx, "giftaid", declaration), begins
        )
    except NotFound:
        raise DeclarationError(f"there is no Gift Aid declaration {declaration}") from None
    assert cancelled.cancelled_from is not None, "it was just cancelled"
    ends = iso_timestamp(cancelled.cancelled_from)
    await caller.record_audit_entry(tx, cancelled.partner_id, "gift_aid.cancelled", declaration, cancelled_from=ends)
    return f"{declaration} no longer covers donations made on or after {ends}."


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return gift_aid_claims_domain.parse_london_day_or_timestamp(text)
    except ValueError as error:
        raise typer.BadParameter(f"--from {text!r}: {error}") from None
