"""``almoner gift-aid claims``: Gift Aid claims of charities to HMRC."""

from collections.abc import Awaitable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from almoner.cli import outputs
from almoner.cli.access import parse_id
from almoner.cli.amounts import parse_amount
from almoner.cli.caller import CommandCaller, Note, operator_command, operator_transaction
from almoner.cli.database import database_command, transaction_command
from almoner.cli.tables import Limit, Output, Table
from almoner.giving.gift_aid.claims import domain as gift_aid_claims_domain
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims.domain import (
    AccountingYearEnd,
    ClaimDraftResult,
    GiftAidClaim,
    GiftAidClaimError,
    format_pounds,
)
from almoner.giving.gift_aid.declarations.domain import CURRENCY
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx

claims = typer.Typer(help="Manage Gift Aid claims to HMRC.", no_args_is_help=True)

Found = TypeVar("Found")

_TYPE: Final = gift_aid_claims.ID_TYPE
_SHOWN: Final = 20
"""Maximum number of excluded donations to print. Further donations are only counted."""

ClaimId = Annotated[str, typer.Argument(help="Claim ID, from `almoner gift-aid claims list`.")]
Charity = Annotated[
    str | None, typer.Option("--organisation", help="Organisation ID of the charity to show. Default: all charities.")
]


@claims.command("draft")
@operator_command("finance")
async def draft_claim(
    tx: Tx,
    caller: CommandCaller,
    organisation: Annotated[str, typer.Option(help="Organisation ID of the charity.")],
    before: Annotated[
        str | None, typer.Option(help="Include only donations made before this date or time. Default: now.")
    ] = None,
    year_end: Annotated[
        str, typer.Option(help="Last day of the charity's financial year, as MM-DD. For a trust: 04-05, 5 April.")
    ] = "04-05",
    aggregate: Annotated[
        bool,
        typer.Option("--aggregate", help="Combine donations of up to 20 GBP each into one row without donor names."),
    ] = False,
) -> Output:
    """Draft a Gift Aid claim for a charity.

    The claim does not include donations that HMRC would reject. The command lists these donations with the reasons.
    """
    year = _year_end(year_end)
    charity = parse_id(tx, "organisation", organisation)
    moment = tx.now if before is None else _moment(before)
    try:
        created = await gift_aid_claims.draft_claim(
            tx, charity, moment, year_end=year, aggregate_small_donations=aggregate, drafted_by=caller.id
        )
    except NotFound:
        raise GiftAidClaimError(f"there is no organisation {organisation}") from None
    parts = [
        f"Left out {tx.ids.encode('donation', one.donation_id)}: {one.problems_text}"
        for one in created.excluded_donations[:_SHOWN]
    ]
    if len(created.excluded_donations) > _SHOWN:
        parts.append(
            f"{len(created.excluded_donations) - _SHOWN:,} more donations are left out. First fix the donations in "
            "this list."
        )
    if created.claim is None:
        parts.append("There are no donations to claim Gift Aid on.")
    else:
        claim_id = tx.ids.encode(_TYPE, created.claim.id)
        count = created.claim.donation_count
        await caller.record_audit_entry(
            tx, DEPLOYMENT, "gift_aid_claim.drafted", claim_id, donations=count, charity=organisation
        )
        parts += [f"claim  {claim_id}", _sums(created.claim)]
    return parts + _unclaimed_texts(created)


def _unclaimed_texts(created: ClaimDraftResult) -> list[str]:
    texts = []
    if expired := created.expired_donation_count:
        texts.append(f"{expired:,} donations are past HMRC's deadline and can no longer be claimed.")
    if deferred := created.deferred_donation_count:
        texts.append(f"At least {deferred:,} donations must wait for the next claim, because this claim is full.")
    return texts


def _sums(claim: GiftAidClaim) -> str:
    counts = (
        f"Donations: {claim.donation_count:,}, total {format_pounds(claim.amount_minor)}. Lines: {claim.line_count:,}."
    )
    gifts = f"{counts} {format_pounds(claim.tax_minor)}"
    if not claim.deducted_minor:
        return f"{gifts} is due."
    less = f"less an adjustment of {format_pounds(claim.adjustment_minor)}"
    return f"{gifts}, {less}: {format_pounds(claim.hmrc_payment_minor)} is due."


@claims.command("list")
@transaction_command
async def list_claims(tx: Tx, organisation: Charity = None, limit: Limit = 50) -> Table:
    """List claims, newest first."""
    whose = None if organisation is None else parse_id(tx, "organisation", organisation)
    return Table(
        (
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
        ),
        [
            [
                tx.ids.encode(_TYPE, one.id),
                one.drafted_at.date(),
                tx.ids.encode("organisation", one.organisation_id),
                one.status,
                f"{one.donation_count:,}",
                format_pounds(one.amount_minor),
                format_pounds(one.adjustment_minor),
                format_pounds(one.hmrc_payment_minor),
                None if one.paid_minor is None else format_pounds(one.paid_minor),
                one.hmrc_reference,
            ]
            for one in await gift_aid_claims.list_newest_claims(tx, whose, limit)
        ],
    )


@claims.command("adjustments")
@transaction_command
async def list_adjustments(tx: Tx, organisation: Charity = None, limit: Limit = 50) -> Table:
    """List adjustments to claims, newest first.

    An adjustment is recorded if a claimed donation is refunded or reassigned, or if its declaration is cancelled.
    """
    whose = None if organisation is None else parse_id(tx, "organisation", organisation)
    return Table(
        ("donation", "claim", "reason", "amount", "not yet deducted", "recorded"),
        [
            [
                tx.ids.encode("donation", one.donation_id),
                tx.ids.encode(_TYPE, one.claim_id),
                one.reason,
                format_pounds(one.amount_minor),
                format_pounds(one.remaining_minor),
                iso_timestamp(one.created_at),
            ]
            for one in await gift_aid_claims.list_newest_adjustments(tx, whose, limit)
        ],
    )


@claims.command("schedule")
@database_command
async def export_schedule(
    database: Database,
    claim: ClaimId,
    out: Annotated[
        Path | None, typer.Option(help="File to write. The file must not exist yet. Default: standard output.")
    ] = None,
) -> str:
    """Export a claim's schedule as a CSV file for HMRC.

    The file has the same columns as HMRC's schedule spreadsheet and includes donors' names.
    """
    if out is not None:
        outputs.ensure_output_file_absent(out)
    async with operator_transaction(database, "finance") as (tx, officer):
        schedule = await _explain_unknown_claim(
            claim, gift_aid_claims.render_schedule_csv(tx, parse_id(tx, _TYPE, claim))
        )
        await officer.record_audit_entry(tx, DEPLOYMENT, "gift_aid_claim.downloaded", claim)
    if out is None:
        return schedule.removesuffix("\n")
    outputs.write_file(out, schedule.encode())
    return (
        f"Wrote the schedule to {out}. The file contains donors' names: delete it after you have submitted the claim."
    )


@claims.command("mark-submitted")
@operator_command("finance", audit_action="gift_aid_claim.submitted")
async def mark_submitted(
    tx: Tx,
    caller: CommandCaller,
    claim: ClaimId,
    reference: Annotated[str, typer.Option(help="HMRC's reference for the claim.")],
) -> str:
    """Record that you submitted a claim to HMRC.

    Donations that were refunded after the claim was drafted are deducted from the next claim.
    """
    claim_id = parse_id(tx, _TYPE, claim)
    return await _moved(claim, gift_aid_claims.mark_submitted(tx, claim_id, reference.strip(), recorded_by=caller.id))


@claims.command("mark-paid")
@operator_command("finance", audit_action="gift_aid_claim.paid")
async def mark_paid(
    tx: Tx,
    caller: CommandCaller,
    claim: ClaimId,
    amount: Annotated[
        str | None, typer.Option(help="Amount paid in GBP. Required only if HMRC did not pay the full amount due.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Reason why HMRC paid a different amount.")] = None,
) -> str:
    """Record that HMRC has paid the charity."""
    minor = None if amount is None else parse_amount(amount, CURRENCY).minor
    noted = (note or "").strip() or None
    claim_id = parse_id(tx, _TYPE, claim)
    return await _moved(claim, gift_aid_claims.mark_paid(tx, claim_id, minor, note=noted, recorded_by=caller.id))


@claims.command("mark-rejected")
@operator_command("finance", audit_action="gift_aid_claim.rejected")
async def mark_rejected(tx: Tx, caller: CommandCaller, claim: ClaimId, note: Note) -> str:
    """Record that HMRC rejected a claim.

    The donations in the claim can be claimed again.
    """
    claim_id = parse_id(tx, _TYPE, claim)
    return await _moved(claim, gift_aid_claims.mark_rejected(tx, claim_id, note.strip(), recorded_by=caller.id))


@claims.command("withdraw")
@operator_command("finance", audit_action="gift_aid_claim.withdrawn")
async def withdraw_claim(tx: Tx, caller: CommandCaller, claim: ClaimId, note: Note) -> str:
    """Withdraw a draft claim.

    The donations in the claim can be claimed again.
    """
    claim_id = parse_id(tx, _TYPE, claim)
    return await _moved(claim, gift_aid_claims.withdraw_draft(tx, claim_id, note.strip(), recorded_by=caller.id))


async def _moved(claim: str, move: Awaitable[GiftAidClaim]) -> str:
    moved = await _explain_unknown_claim(claim, move)
    return f"{claim} is {moved.status}. {_sums(moved)}"


async def _explain_unknown_claim(claim: str, asked: Awaitable[Found]) -> Found:
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
        return gift_aid_claims_domain.parse_london_day_or_timestamp(text)
    except ValueError as error:
        raise typer.BadParameter(f"--before {text!r} {error}") from None
