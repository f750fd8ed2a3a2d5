"""``almoner gift-aid claims``: Gift Aid claims of charities to HMRC."""

import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, TypeVar
from uuid import UUID

import typer

from almoner.cli.access import parse_id, print_table
from almoner.cli.amounts import parse_amount
from almoner.cli.caller import Caller, Note, run_as_operator
from almoner.cli.database import run_in_transaction
from almoner.giving.gift_aid.claims import domain as gift_aid_claims_domain
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims.domain import (
    AccountingYearEnd,
    DraftResult,
    GiftAidClaim,
    GiftAidClaimError,
    format_pounds,
)
from almoner.giving.gift_aid.declarations.domain import CURRENCY
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp, parse_day_or_moment
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx

claims = typer.Typer(help="Manage Gift Aid claims to HMRC.", no_args_is_help=True)

Found = TypeVar("Found")

_TYPE: Final = gift_aid_claims.ID_TYPE
_SHOWN: Final = 20
"""The most left-out donations that are printed; the rest is counted."""

ClaimId = Annotated[str, typer.Argument(help="Claim ID, from `almoner gift-aid claims list`.")]
Limit = Annotated[int, typer.Option(min=1, help="Maximum number of rows to show.")]
Charity = Annotated[
    str | None, typer.Option("--organisation", help="Organisation ID of the charity to show. Default: all charities.")
]


@claims.command("draft")
def draft_claim(
    organisation: Annotated[str, typer.Option(help="Organisation ID of the charity.")],
    before: Annotated[
        str | None, typer.Option(help="Include only donations made before this date or time (UTC). Default: now.")
    ] = None,
    year_end: Annotated[
        str, typer.Option(help="Last day of the charity's accounting year, as MM-DD. Use 04-05 for a trust.")
    ] = "04-05",
    aggregate: Annotated[
        bool, typer.Option("--aggregate", help="Combine donations of up to 20 GBP each, without donor names.")
    ] = False,
) -> None:
    """Draft a claim for a charity.

    Donations that HMRC would reject are not included in the claim. The command lists these donations and the reasons.
    """
    year = _year_end(year_end)

    async def use(tx: Tx, officer: Caller) -> tuple[DraftResult, str | None, list[tuple[str, str]]]:
        charity = parse_id(tx, "organisation", organisation)
        moment = tx.now if before is None else _moment(before)
        try:
            made = await gift_aid_claims.draft_claim(tx, charity, moment, year=year, together=aggregate, by=officer.id)
        except NotFound:
            raise GiftAidClaimError(f"there is no organisation {organisation}") from None
        claim_id = None
        if made.claim is not None:
            claim_id = tx.ids.text(_TYPE, made.claim.id)
            await officer.record_audit_entry(
                tx, DEPLOYMENT, "gift_aid_claim.drafted", claim_id, donations=made.claim.donations, charity=organisation
            )
        return made, claim_id, [(tx.ids.text("donation", one.donation_id), one.reported) for one in made.left_out]

    made, claim_id, left_out = run_as_operator("finance", use)
    for donation, reported in left_out[:_SHOWN]:
        typer.echo(f"Left out {donation}: {reported}")
    if len(left_out) > _SHOWN:
        typer.echo(f"{len(left_out) - _SHOWN:,} more are left out. Fix these first.")
    if made.claim is None:
        typer.echo("There is nothing to claim.")
    else:
        typer.echo(f"claim  {claim_id}")
        typer.echo(_sums(made.claim))
    if made.expired:
        typer.echo(f"{made.expired:,} donations are past HMRC's deadline and can no longer be claimed.")
    if made.waiting:
        typer.echo(f"At least {made.waiting:,} donations must wait for the next claim, because this claim is full.")


def _sums(claim: GiftAidClaim) -> str:
    counts = f"Donations: {claim.donations:,}, total {format_pounds(claim.minor)}. Lines: {claim.lines:,}."
    gifts = f"{counts} {format_pounds(claim.tax_minor)}"
    if not claim.deducted_minor:
        return f"{gifts} is due."
    less = f"less an adjustment of {format_pounds(claim.adjustment_minor)}"
    return f"{gifts}, {less}: {format_pounds(claim.due_minor)} is due."


@claims.command("list")
def list_claims(organisation: Charity = None, limit: Limit = 50) -> None:
    """List claims, newest first."""

    async def use(tx: Tx) -> list[list[object]]:
        whose = None if organisation is None else parse_id(tx, "organisation", organisation)
        return [
            [
                tx.ids.text(_TYPE, one.id),
                one.drafted_at.date(),
                tx.ids.text("organisation", one.organisation_id),
                one.status,
                f"{one.donations:,}",
                format_pounds(one.minor),
                format_pounds(one.adjustment_minor),
                format_pounds(one.due_minor),
                None if one.paid_minor is None else format_pounds(one.paid_minor),
                one.reference,
            ]
            for one in await gift_aid_claims.newest_claims(tx, whose, limit)
        ]

    titles = (
        "claim",
        "drafted",
        "organisation",
        "status",
        "donations",
        "total",
        "adjustment",
        "due",
        "paid",
        "reference",
    )
    print_table(titles, run_in_transaction(use))


@claims.command("adjustments")
def list_adjustments(organisation: Charity = None, limit: Limit = 50) -> None:
    """List adjustments to claims, newest first.

    An adjustment is recorded if a claimed donation is refunded or reassigned, or if its declaration no longer applies.
    """

    async def use(tx: Tx) -> list[list[object]]:
        whose = None if organisation is None else parse_id(tx, "organisation", organisation)
        return [
            [
                tx.ids.text("donation", one.donation_id),
                tx.ids.text(_TYPE, one.claim_id),
                one.reason,
                format_pounds(one.minor),
                format_pounds(one.left_minor),
                iso_timestamp(one.created_at),
            ]
            for one in await gift_aid_claims.newest_adjustments(tx, whose, limit)
        ]

    print_table(("donation", "claim", "reason", "amount", "not yet deducted", "recorded"), run_in_transaction(use))


@claims.command("schedule")
def export_schedule(
    claim: ClaimId,
    out: Annotated[
        Path | None, typer.Option(help="File to write. The file must not exist yet. Default: standard output.")
    ] = None,
) -> None:
    """Export a claim's schedule as a CSV file for HMRC.

    The file has the columns of HMRC's schedule spreadsheet and includes donors' names.
    """

    async def use(tx: Tx, officer: Caller) -> str:
        written = await _known(claim, gift_aid_claims.schedule_csv(tx, parse_id(tx, _TYPE, claim)))
        await officer.record_audit_entry(tx, DEPLOYMENT, "gift_aid_claim.written", claim)
        return written

    if out is None:
        typer.echo(run_as_operator("finance", use), nl=False)
        return
    try:
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", newline="") as file:
            file.write(_or_nothing(out, lambda: run_as_operator("finance", use)))
    except FileExistsError:
        raise GiftAidClaimError(f"{out} already exists: choose another file") from None
    typer.echo(f"Wrote the schedule to {out}. It contains donors' names: delete it after you submit it.")


def _or_nothing(out: Path, written: Callable[[], str]) -> str:
    """What is to be in a new file; without it there is no such file."""
    try:
        return written()
    except BaseException:
        out.unlink()
        raise


@claims.command("mark-submitted")
def mark_submitted(
    claim: ClaimId, reference: Annotated[str, typer.Option(help="HMRC's reference for the claim.")]
) -> None:
    """Record that a claim was submitted to HMRC.

    Donations refunded since the claim was drafted are deducted from the next claim.
    """
    _move(
        claim,
        "gift_aid_claim.submitted",
        lambda tx, one, by: gift_aid_claims.mark_submitted(tx, one, reference.strip(), by=by),
    )


@claims.command("mark-paid")
def mark_paid(
    claim: ClaimId,
    amount: Annotated[
        str | None, typer.Option(help="The amount paid in GBP. Required only if it is not the full amount due.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Why HMRC paid a different amount.")] = None,
) -> None:
    """Record that HMRC has paid the charity."""
    minor = None if amount is None else parse_amount(amount, CURRENCY).minor
    noted = (note or "").strip() or None
    _move(
        claim, "gift_aid_claim.paid", lambda tx, one, by: gift_aid_claims.mark_paid(tx, one, minor, note=noted, by=by)
    )


@claims.command("mark-rejected")
def mark_rejected(claim: ClaimId, note: Note) -> None:
    """Record that HMRC rejected a claim.

    The donations in the claim can be claimed again.
    """
    _move(
        claim,
        "gift_aid_claim.rejected",
        lambda tx, one, by: gift_aid_claims.mark_rejected(tx, one, note.strip(), by=by),
    )


@claims.command("withdraw")
def withdraw_claim(claim: ClaimId, note: Note) -> None:
    """Withdraw a draft claim.

    The donations in the claim can be claimed again.
    """
    _move(
        claim,
        "gift_aid_claim.withdrawn",
        lambda tx, one, by: gift_aid_claims.withdraw_draft(tx, one, note.strip(), by=by),
    )


def _move(claim: str, action: str, move: Callable[[Tx, UUID, str], Awaitable[GiftAidClaim]]) -> None:
    async def use(tx: Tx, officer: Caller) -> GiftAidClaim:
        moved = await _known(claim, move(tx, parse_id(tx, _TYPE, claim), officer.id))
        await officer.record_audit_entry(tx, DEPLOYMENT, action, claim)
        return moved

    moved = run_as_operator("finance", use)
    typer.echo(f"{claim} is {moved.status}. {_sums(moved)}")


async def _known(claim: str, asked: Awaitable[Found]) -> Found:
    try:
        return await asked
    except NotFound:
        raise GiftAidClaimError(f"there is no claim {claim}: see `almoner gift-aid claims list`") from None


def _year_end(text: str) -> AccountingYearEnd:
    try:
        return gift_aid_claims_domain.parse_year_end(text)
    except ValueError as error:
        raise typer.BadParameter(f"--year-end {text!r} {error}") from None


def _moment(text: str) -> datetime:
    try:
        return parse_day_or_moment(text)
    except ValueError as error:
        raise typer.BadParameter(f"--before {text!r} {error}") from None
