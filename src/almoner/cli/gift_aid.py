"""``almoner gift-aid``: what donors tell of their declarations, and what charities claim."""

from datetime import datetime
from typing import Annotated

import typer

from almoner.cli.access import read_id
from almoner.cli.gift_aid_claims import claims
from almoner.cli.officer import Officer, decide
from almoner.giving.gift_aid.claims import service
from almoner.giving.gift_aid.declarations.domain import Declaration, GiftAidRefused
from almoner.kit.errors import NotFound
from almoner.kit.time import iso, parse_day_or_moment
from almoner.platform.database.transactions import Tx

commands = typer.Typer(
    help="What donors tell of their gift aid declarations, and what charities claim by them.", no_args_is_help=True
)
commands.add_typer(claims, name="claims")


@commands.command("cancel")
def cancel(
    declaration: Annotated[str, typer.Argument(help="Identifier of a gift aid declaration.")],
    since: Annotated[
        str | None, typer.Option("--from", help="A day or moment: gifts made from then on are not covered. Else now.")
    ] = None,
) -> None:
    """Note that a donor has cancelled a declaration: it covers no gift made from now on, or from a day on."""
    begins = _moment(since)

    async def use(tx: Tx, officer: Officer) -> Declaration:
        try:
            cancelled = await service.cancel_declaration(tx, read_id(tx, "giftaid", declaration), begins)
        except NotFound:
            raise GiftAidRefused(f"there is no gift aid declaration {declaration}") from None
        await officer.record(tx, cancelled.partner_id, "gift_aid.cancelled", declaration)
        return cancelled

    cancelled = decide("finance", use)
    assert cancelled.cancelled_from is not None, "it was just cancelled"
    typer.echo(f"{declaration} covers no gift made from {iso(cancelled.cancelled_from)} on.")


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_day_or_moment(text)
    except ValueError as error:
        raise typer.BadParameter(f"--from {text!r}: {error}") from None
