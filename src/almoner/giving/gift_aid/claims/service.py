"""Operations on Gift Aid claims.

A charity has one draft at a time. Its donations are claimed from the draft on, until it is withdrawn or rejected;
constraints prevent claiming one twice. Overclaims are found by comparing the claimed amount with the currently
claimable one, so it does not matter what reports a change, how often and in which order. Once HMRC has paid for the
donation, the overclaim is deducted from the charity's next claim.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from asyncpg import CheckViolationError, UniqueViolationError

from almoner.giving.checkout.donations import service as donations
from almoner.giving.gift_aid.claims import domain, hmrc_schedule, store
from almoner.giving.gift_aid.claims.domain import (
    AccountingYearEnd,
    ClaimableDonation,
    ClaimAdjustment,
    ClaimDraftResult,
    ClaimEntry,
    ExcludedDonation,
    GiftAidClaim,
    GiftAidClaimError,
)
from almoner.giving.gift_aid.claims.store import count_for_operators as count_for_operators
from almoner.giving.gift_aid.claims.store import list_for_operators as list_for_operators
from almoner.giving.gift_aid.claims.store import list_newest_adjustments as list_newest_adjustments
from almoner.giving.gift_aid.claims.store import list_newest_claims as list_newest_claims
from almoner.giving.gift_aid.claims.store import list_overclaimed_donation_ids as list_overclaimed_donation_ids
from almoner.giving.gift_aid.declarations.domain import CURRENCY, Declaration, is_eligible_for_gift_aid
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

ID_TYPE: Final = "giftaidclaim"
BATCH: Final = 2000
"""The number of donations checked in one statement."""
_CLAIMABLE_FOR: Final = timedelta(days=5 * 366)
"""Longer than any charity may wait before it claims a donation: four years after its financial year."""


async def get(tx: Tx, claim_id: UUID) -> GiftAidClaim:
    """One claim. Raises NotFound."""
    if (found := await store.find(tx, claim_id)) is None:
        raise NotFound
    return found


async def draft_claim(
    tx: Tx,
    organisation_id: UUID,
    cutoff_at: datetime,
    *,
    year_end: AccountingYearEnd,
    aggregate_small_donations: bool,
    drafted_by: str,
) -> ClaimDraftResult:
    """Draft a claim of a charity's claimable donations made before ``cutoff_at``.

    Donations that HMRC would not accept are left out and returned with all their problems; the next draft checks them
    again. ``aggregate_small_donations``: donations of at most 20 pounds share lines without names. Raises NotFound,
    GiftAidClaimError.
    """
    await _ensure_eligible_charity(tx, organisation_id)
    if cutoff_at > tx.now:
        raise GiftAidClaimError("--before must not be in the future, because only past donations can be claimed")
    for donation_id in await store.list_overclaimed_donation_ids_of_charity(tx, organisation_id):
        await adjust_gift_aid_claim_of_donation(tx, donation_id)
    today = domain.london_day(tx.now)
    since = year_end.earliest_claimable_at(today)
    expired = await store.count_expired_donations(tx, organisation_id, since)
    gifts, more = await _select_donations(tx, organisation_id, since, cutoff_at)
    made = hmrc_schedule.build_schedule(gifts, today, year_end, aggregate_small_donations=aggregate_small_donations)
    drafted = ClaimDraftResult(None, made.excluded_donations, made.deferred_donation_count + more, expired)
    if not made.entries:
        return drafted
    minor = sum(one.donation.amount_minor for one in made.entries)
    left = await store.lock_open_adjustments(tx, organisation_id)
    taken = domain.allocate_deductions([(one.id, one.remaining_minor) for one in left], minor)
    claim = GiftAidClaim(
        id=tx.new_id(),
        organisation_id=organisation_id,
        cutoff_at=cutoff_at,
        status="drafted",
        donation_count=len(made.entries),
        line_count=made.line_count,
        amount_minor=minor,
        deducted_minor=sum(part for _, part in taken),
        drafted_at=tx.now,
        drafted_by=drafted_by,
    )
    await _insert_claim(tx, claim, made)
    if taken:
        await store.deduct_adjustments(tx, claim, taken)
    return replace(drafted, claim=claim)


async def _insert_claim(tx: Tx, claim: GiftAidClaim, schedule: hmrc_schedule.ClaimSchedule) -> None:
    if not await store.insert(tx, claim):
        raise GiftAidClaimError(
            "the charity already has a draft claim. Submit or withdraw it first: see Gift Aid claims in the console, "
            "or `almoner gift-aid claims list`"
        )
    entries = [
        ClaimEntry(one.donation.donation_id, one.donation.declaration_id, one.line_number, one.donation.amount_minor)
        for one in schedule.entries
    ]
    try:
        await store.insert_entries(tx, claim, entries)
    except (UniqueViolationError, CheckViolationError) as taken_before:
        raise GiftAidClaimError(
            "one of the donations has just been refunded or reassigned, or added to another charity's claim: try again"
        ) from taken_before


async def _select_donations(
    tx: Tx, organisation_id: UUID, since: datetime, cutoff_at: datetime
) -> tuple[list[ClaimableDonation], int]:
    """The oldest donations that fit into a claim, including those to exclude; and the number of later ones.

    Excluded donations, however many, do not use up the limit.
    """
    found: list[ClaimableDonation] = []
    fit, after = 0, (since, UUID(int=0))
    while batch := await store.list_claimable_donations(tx, organisation_id, after, cutoff_at, BATCH):
        for place, gift in enumerate(batch):
            if fit == domain.MAX_DONATIONS:
                return found, len(batch) - place
            fit += hmrc_schedule.build_schedule_donor_or_list_problems(gift.declarer)[0] is not None
            found.append(gift)
        after = (batch[-1].created_at, batch[-1].donation_id)
    return found, 0


async def list_excluded_donations_and_has_more(
    tx: Tx, claim: GiftAidClaim, limit: int = BATCH
) -> tuple[list[ExcludedDonation], bool]:
    """The donations that a draft leaves out because HMRC would not accept them now, oldest first.

    Of the charity's unclaimed donations, only the oldest ``limit`` are checked; the flag says whether there are others.
    """
    start = (claim.cutoff_at - _CLAIMABLE_FOR, UUID(int=0))
    found = await store.list_claimable_donations(tx, claim.organisation_id, start, claim.cutoff_at, limit + 1)
    checked = [
        (one.donation_id, hmrc_schedule.build_schedule_donor_or_list_problems(one.declarer)[1]) for one in found[:limit]
    ]
    return [ExcludedDonation(donation_id, problems) for donation_id, problems in checked if problems], len(
        found
    ) > limit


async def _ensure_eligible_charity(tx: Tx, organisation_id: UUID) -> None:
    organisation = await organisations.get(tx, ALL_PARTNERS, organisation_id)
    if not is_eligible_for_gift_aid(CURRENCY, organisation):
        raise GiftAidClaimError(f"{organisation.name} is not a UK charity, so it cannot claim Gift Aid")


async def render_schedule_csv(tx: Tx, claim_id: UUID) -> str:
    """HMRC's schedule of a claim, as CSV. Raises NotFound; GiftAidClaimError if a draft claims too much."""
    tx.deployment.identity.ensure_active()
    claim = await get(tx, claim_id)
    if claim.status == "drafted" and (over := await store.list_overclaimed_donation_ids(tx, claim_id)):
        raise GiftAidClaimError(
            f"{len(over):,} of its donations have since been refunded, reassigned or lost their declaration: "
            "withdraw the draft and create a new one"
        )
    return hmrc_schedule.render_schedule_csv(await store.list_schedule_entries(tx, claim_id))


async def mark_submitted(tx: Tx, claim_id: UUID, hmrc_reference: str, *, recorded_by: str) -> GiftAidClaim:
    """Record that the claim was submitted to HMRC under this reference.

    Raises NotFound, GiftAidClaimError.
    """
    if not 1 <= len(hmrc_reference) <= domain.MAX_REFERENCE:
        raise GiftAidClaimError(f"HMRC's reference must have 1 to {domain.MAX_REFERENCE} characters")
    claim = await _lock(tx, claim_id)
    if not await store.update_status(tx, claim, "submitted", changed_by=recorded_by, hmrc_reference=hmrc_reference):
        raise _transition_refused(claim, "submitted")
    for donation_id in await store.list_overclaimed_donation_ids(tx, claim_id):
        await adjust_gift_aid_claim_of_donation(tx, donation_id)
    return replace(claim, status="submitted", hmrc_reference=hmrc_reference)


async def mark_paid(
    tx: Tx, claim_id: UUID, amount_paid_minor: int | None, *, note: str | None, recorded_by: str
) -> GiftAidClaim:
    """Record that HMRC paid the claim: the due amount, or another one with a note.

    Raises NotFound, GiftAidClaimError.
    """
    claim = await _lock(tx, claim_id)
    paid_minor = claim.hmrc_payment_minor if amount_paid_minor is None else amount_paid_minor
    if paid_minor != claim.hmrc_payment_minor and not note:
        raise GiftAidClaimError(
            f"{domain.format_pounds(claim.hmrc_payment_minor)} is due: "
            f"use --note to say why HMRC paid {domain.format_pounds(paid_minor)}"
        )
    if not await store.update_status(
        tx, claim, "paid", changed_by=recorded_by, paid_minor=paid_minor, note=_validated_note(note)
    ):
        raise _transition_refused(claim, "paid")
    return replace(claim, status="paid", paid_minor=paid_minor, note=note)


async def mark_rejected(tx: Tx, claim_id: UUID, note: str, *, recorded_by: str) -> GiftAidClaim:
    """Record that HMRC rejected the claim; its donations can be claimed again. Raises GiftAidClaimError."""
    return await _end_claim(tx, claim_id, "rejected", note, recorded_by)


async def withdraw_draft(tx: Tx, claim_id: UUID, note: str, *, recorded_by: str) -> GiftAidClaim:
    """Withdraw a draft; its donations can be claimed again. Raises NotFound, GiftAidClaimError."""
    return await _end_claim(tx, claim_id, "withdrawn", note, recorded_by)


async def _end_claim(tx: Tx, claim_id: UUID, target: domain.ClaimEndStatus, note: str, by: str) -> GiftAidClaim:
    claim = await _lock(tx, claim_id)
    if not note:
        raise GiftAidClaimError("a note is required")
    if not await store.update_status(tx, claim, target, changed_by=by, note=_validated_note(note)):
        raise _transition_refused(claim, target)
    await store.detach_donations_from_claim(tx, claim)
    return replace(claim, status=target, note=note)


async def _lock(tx: Tx, claim_id: UUID) -> GiftAidClaim:
    if (claim := await store.find_for_update(tx, claim_id)) is None:
        raise NotFound
    return claim


def _validated_note(note: str | None) -> str | None:
    if note is not None and len(note) > domain.MAX_NOTE:
        raise GiftAidClaimError(f"the note must have at most {domain.MAX_NOTE} characters")
    return note or None


def _transition_refused(claim: GiftAidClaim, target: str) -> GiftAidClaimError:
    return GiftAidClaimError(f"the claim is {claim.status}, so it cannot be {target}")


async def adjust_gift_aid_claim_of_donation(tx: Tx, donation_id: UUID) -> ClaimAdjustment | None:
    """Record what was overclaimed for a donation; None if nothing was.

    Locks the claim, then its donation, and so waits for a claim that is being submitted.
    """
    claim = await store.lock_claim_of_donation(tx, donation_id)
    if claim is None or claim.status not in domain.SENT_STATUSES:
        return None  # a draft is checked when it is submitted
    claimed = await store.find_claimed_donation(tx, claim.id, donation_id)
    if claimed is None or not claimed.overclaimed_minor:
        return None
    over = claimed.overclaimed_minor
    created = ClaimAdjustment(tx.new_id(), claimed.claim_id, donation_id, over, over, claimed.reason, tx.now)
    await store.insert_adjustment(tx, created)
    return created


async def cancel_declaration_and_adjust_claims(
    tx: Tx, declaration_id: UUID, cancelled_from: datetime | None
) -> Declaration:
    """Cancel a declaration, and record what was overclaimed because of it.

    Raises NotFound, DeclarationError.
    """
    cancelled = await donations.cancel_gift_aid_declaration(tx, declaration_id, cancelled_from)
    for donation_id in await store.list_donation_ids_claimed_under_declaration(tx, declaration_id):
        await adjust_gift_aid_claim_of_donation(tx, donation_id)
    return cancelled
