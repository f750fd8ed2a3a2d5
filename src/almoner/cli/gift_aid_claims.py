"""``almoner gift-aid claims``: what charities claim from HMRC for the gifts of UK taxpayers."""

import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, TypeVar
from uuid import UUID

import typer

from almoner.cli.access import read_id, table
from almoner.cli.amounts import read
from almoner.cli.database import in_transaction
from almoner.cli.officer import Note, Officer, decide
from almoner.giving.gift_aid.claims import domain, service
from almoner.giving.gift_aid.claims.domain import Claim, ClaimRefused, Drafted, YearEnd, pounds
from almoner.giving.gift_aid.declarations.domain import CURRENCY
from almoner.kit.errors import NotFound
from almoner.kit.time import iso, parse_day_or_moment
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx

claims = typer.Typer(help="What charities claim from HMRC: docs/runbooks/gift-aid-claims.md.", no_args_is_help=True)

Found = TypeVar("Found")

_TYPE: Final = service.ID
_SHOWN: Final = 20
"""Gifts that were left out, of which all is printed; the rest is counted."""

ClaimId = Annotated[str, typer.Argument(help="Identifier, as `almoner gift-aid claims list` shows it.")]
Limit = Annotated[int, typer.Option(min=1, help="How many to show.")]
Charity = Annotated[str | None, typer.Option("--organisation", help="Of one organisation.")]


@claims.command("draft")
def draft(
    organisation: Annotated[str, typer.Option(help="Identifier of the charity that claims.")],
    before: Annotated[
        str | None, typer.Option(help="Gifts made before this day (its start, UTC) or moment. Else all until now.")
    ] = None,
    year_end: Annotated[
        str, typer.Option(help="The last day of the charity's accounting year; a trust's is that of the tax year.")
    ] = "04-05",
    together: Annotated[
        bool, typer.Option("--together", help="Gifts of at most 20 GBP share lines of up to 1,000 GBP, without names.")
    ] = False,
) -> None:
    """Draft what a charity can claim, and list the gifts that HMRC would not take with all that is wrong with them."""
    year = _year_end(year_end)

    async def use(tx: Tx, officer: Officer) -> tuple[Drafted, str | None, list[tuple[str, str]]]:
        charity = read_id(tx, "organisation", organisation)
        moment = tx.now if before is None else _moment(before)
        try:
            made = await service.draft(tx, charity, moment, year=year, together=together, by=officer.id)
        except NotFound:
            raise ClaimRefused(f"there is no organisation {organisation}") from None
        claim_id = None
        if made.claim is not None:
            claim_id = tx.ids.text(_TYPE, made.claim.id)
            await officer.record(
                tx, DEPLOYMENT, "gift_aid_claim.drafted", claim_id, donations=made.claim.donations, charity=organisation
            )
        return made, claim_id, [(tx.ids.text("donation", one.donation_id), one.told) for one in made.left_out]

    made, claim_id, left_out = decide("finance", use)
    for donation, told in left_out[:_SHOWN]:
        typer.echo(f"{donation} is left out: {told}")
    if len(left_out) > _SHOWN:
        typer.echo(f"{len(left_out) - _SHOWN:,} more are left out: put these right first.")
    if made.claim is None:
        typer.echo("There is nothing to claim.")
    else:
        typer.echo(f"claim  {claim_id}")
        typer.echo(_sums(made.claim))
    if made.expired:
        typer.echo(f"{made.expired:,} gifts are too old: nobody claimed for them in time.")
    if made.waiting:
        typer.echo(f"{made.waiting:,} or more gifts wait for the next claim: this one is full.")


def _sums(claim: Claim) -> str:
    gifts = f"Gifts: {claim.donations:,}, of {pounds(claim.minor)}. Lines: {claim.lines:,}. {pounds(claim.tax_minor)}"
    if not claim.deducted_minor:
        return f"{gifts} is due."
    return f"{gifts}, less an adjustment of {pounds(claim.adjustment_minor)}: {pounds(claim.due_minor)} is due."


@claims.command("list")
def list_claims(organisation: Charity = None, limit: Limit = 50) -> None:
    """List claims, newest first, with the adjustment to be entered and what HMRC is to pay."""

    async def use(tx: Tx) -> list[list[object]]:
        whose = None if organisation is None else read_id(tx, "organisation", organisation)
        return [
            [
                tx.ids.text(_TYPE, one.id),
                one.drafted_at.date(),
                tx.ids.text("organisation", one.organisation_id),
                one.status,
                f"{one.donations:,}",
                pounds(one.minor),
                pounds(one.adjustment_minor),
                pounds(one.due_minor),
                None if one.paid_minor is None else pounds(one.paid_minor),
                one.reference,
            ]
            for one in await service.newest(tx, whose, limit)
        ]

    titles = ("claim", "drafted", "organisation", "status", "gifts", "of", "adjustment", "due", "paid", "reference")
    table(titles, in_transaction(use))


@claims.command("adjustments")
def list_adjustments(organisation: Charity = None, limit: Limit = 50) -> None:
    """List claimed gifts that were refunded, given to another organisation, or lost their declaration, newest first."""

    async def use(tx: Tx) -> list[list[object]]:
        whose = None if organisation is None else read_id(tx, "organisation", organisation)
        return [
            [
                tx.ids.text("donation", one.donation_id),
                tx.ids.text(_TYPE, one.claim_id),
                one.reason,
                pounds(one.minor),
                pounds(one.left_minor),
                iso(one.created_at),
            ]
            for one in await service.adjustments(tx, whose, limit)
        ]

    table(("donation", "claim", "reason", "of the gift", "not yet taken off", "noted"), in_transaction(use))


@claims.command("schedule")
def schedule(
    claim: ClaimId,
    out: Annotated[
        Path | None, typer.Option(help="A new file for it. Else it is printed; it names the donors.")
    ] = None,
) -> None:
    """Write the schedule of a claim as CSV, in the columns of HMRC's spreadsheet."""

    async def use(tx: Tx, officer: Officer) -> str:
        written = await _known(claim, service.written(tx, read_id(tx, _TYPE, claim)))
        await officer.record(tx, DEPLOYMENT, "gift_aid_claim.written", claim)
        return written

    if out is None:
        typer.echo(decide("finance", use), nl=False)
        return
    try:
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", newline="") as file:
            file.write(_or_nothing(out, lambda: decide("finance", use)))
    except FileExistsError:
        raise ClaimRefused(f"{out} is there already: name a new file") from None
    typer.echo(f"{out} holds the schedule; it names the donors: delete it once HMRC has it.")


def _or_nothing(out: Path, written: Callable[[], str]) -> str:
    """What is to be in a new file; without it there is no such file."""
    try:
        return written()
    except BaseException:
        out.unlink()
        raise


@claims.command("submitted")
def submitted(
    claim: ClaimId, reference: Annotated[str, typer.Option(help="What HMRC calls the claim, as its answer says.")]
) -> None:
    """Note that HMRC has the claim. What was refunded meanwhile is taken off the next one."""
    _move(claim, "gift_aid_claim.submitted", lambda tx, one, by: service.submit(tx, one, reference.strip(), by=by))


@claims.command("paid")
def paid(
    claim: ClaimId,
    amount: Annotated[
        str | None, typer.Option(help="What HMRC paid in GBP, such as 1234.50, if not what is due.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Why HMRC paid something else.")] = None,
) -> None:
    """Note that HMRC has paid the charity."""
    minor = None if amount is None else read(amount, CURRENCY).minor
    noted = (note or "").strip() or None
    _move(claim, "gift_aid_claim.paid", lambda tx, one, by: service.pay(tx, one, minor, note=noted, by=by))


@claims.command("rejected")
def rejected(claim: ClaimId, note: Note) -> None:
    """Note that HMRC has refused the claim: its gifts can be claimed for anew."""
    _move(claim, "gift_aid_claim.rejected", lambda tx, one, by: service.reject(tx, one, note.strip(), by=by))


@claims.command("withdraw")
def withdraw(claim: ClaimId, note: Note) -> None:
    """Give up a draft that HMRC does not have: its gifts can be claimed for anew."""
    _move(claim, "gift_aid_claim.withdrawn", lambda tx, one, by: service.withdraw(tx, one, note.strip(), by=by))


def _move(claim: str, action: str, move: Callable[[Tx, UUID, str], Awaitable[Claim]]) -> None:
    async def use(tx: Tx, officer: Officer) -> Claim:
        moved = await _known(claim, move(tx, read_id(tx, _TYPE, claim), officer.id))
        await officer.record(tx, DEPLOYMENT, action, claim)
        return moved

    moved = decide("finance", use)
    typer.echo(f"{claim} is {moved.status}. {_sums(moved)}")


async def _known(claim: str, asked: Awaitable[Found]) -> Found:
    try:
        return await asked
    except NotFound:
        raise ClaimRefused(f"there is no claim {claim}: see `almoner gift-aid claims list`") from None


def _year_end(text: str) -> YearEnd:
    try:
        return domain.year_end(text)
    except ValueError as error:
        raise typer.BadParameter(f"--year-end {text!r} {error}") from None


def _moment(text: str) -> datetime:
    try:
        return parse_day_or_moment(text)
    except ValueError as error:
        raise typer.BadParameter(f"--before {text!r} {error}") from None
