"""SQL for Gift Aid claims. They belong to a charity, and include the donations of all partners."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.gift_aid.claims.domain import (
    GIFT_AID_CLAIM,
    ClaimableDonation,
    ClaimAdjustment,
    ClaimedDonation,
    ClaimEntry,
    ClaimScheduleEntry,
    ClaimStatus,
    GiftAidClaim,
)
from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.platform.database import keyset
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, organisation_id, cutoff_at, status, donations, lines, amount_minor, deducted_minor, drafted_at, drafted_by, "
    "reference, paid_minor, note"
)
_DECLARER: Final = (
    "g.title, g.first_name, g.last_name, g.building_name_number, g.road_name, g.city, g.country, g.postcode"
)

_CLAIMABLE_COLUMNS: Final = 13
"""The columns of a donation and its declaration, which come first."""


def _claimable(row: Record) -> ClaimableDonation:
    donation_id, declaration_id, created_at, received_at, minor, *declarer = list(row)[:_CLAIMABLE_COLUMNS]
    return ClaimableDonation(donation_id, declaration_id, created_at, received_at, minor, Declarer(*declarer))


def _claim(row: Record) -> GiftAidClaim:
    return GiftAidClaim(*row)


async def insert(tx: Tx, claim: GiftAidClaim) -> bool:
    """Store a draft claim; False if the charity has another draft."""
    return bool(
        await tx.fetchval(
            """
            insert into gift_aid_claim (id, organisation_id, cutoff_at, status, donations, lines, amount_minor,
                                        deducted_minor, drafted_at, drafted_by, status_changed_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $9)
            on conflict (organisation_id) where status = 'drafted' do nothing returning true
            """,
            claim.id,
            claim.organisation_id,
            claim.cutoff_at,
            claim.status,
            claim.donation_count,
            claim.line_count,
            claim.amount_minor,
            claim.deducted_minor,
            claim.drafted_at,
            claim.drafted_by,
        )
    )


async def insert_entries(tx: Tx, claim: GiftAidClaim, entries: Sequence[ClaimEntry]) -> None:
    """Store the donations of a new draft.

    Raises UniqueViolationError if one is already claimed, CheckViolationError if one is not the charity's.
    """
    await tx.execute(
        """
        insert into gift_aid_claim_donation (
            claim_id, organisation_id, donation_id, declaration_id, line, amount_minor
        )
        select $1, $2, * from unnest($3::uuid[], $4::uuid[], $5::int[], $6::bigint[])
        """,
        claim.id,
        claim.organisation_id,
        [one.donation_id for one in entries],
        [one.declaration_id for one in entries],
        [one.line_number for one in entries],
        [one.amount_minor for one in entries],
    )


_LEFT: Final = "d.amount_minor - d.refunded_minor"
# A pending refund may still be refused, so its donation waits; a donation is claimed only once.
_RESTS: Final = "d.disputed_at is null and d.withdrawn_minor <= d.refunded_minor"
# The same condition as in the trigger `donation_gift_aid_holds`: a declaration may be cancelled later.
_HOLDS: Final = (
    "(d.created_at >= g.covers_from and (g.covers_to is null or d.created_at < g.covers_to) "
    "and (g.cancelled_from is null or d.created_at < g.cancelled_from))"
)

_RECEIVED_AT: Final = (
    "coalesce((select received_at from receipt where donation_id = d.id), d.created_at) as received_at"
)
"""A donation without a receipt was received by the partner, when it was created."""

_CLAIMABLE_DONATIONS: Final = f"""
select d.id, d.gift_aid_id, d.created_at, {_RECEIVED_AT}, {_LEFT} as minor, {_DECLARER}
from donation d join gift_aid_declaration g on g.id = d.gift_aid_id
where d.organisation_id = $1 and (d.created_at, d.id) > ($2, $3) and d.created_at < $4
  and d.status in ('RECEIVED_PAYMENT', 'DISBURSED') and {_LEFT} > 0 and {_RESTS} and {_HOLDS}
  and not exists (select from gift_aid_claim_donation c where c.donation_id = d.id and c.active)
order by d.created_at, d.id limit $5
"""


@across_partners("operators")
async def list_claimable_donations(
    tx: Tx, organisation_id: UUID, after_position: tuple[datetime, UUID], cutoff_at: datetime, limit: int
) -> list[ClaimableDonation]:
    """A charity's unclaimed donations after the given one, oldest first, without those being refunded."""
    rows = await tx.fetch(_CLAIMABLE_DONATIONS, organisation_id, *after_position, cutoff_at, limit)
    return [_claimable(row) for row in rows]


EXPIRED: Final = f"""
select count(*) from donation d join gift_aid_declaration g on g.id = d.gift_aid_id
where d.organisation_id = $1 and d.created_at < $2 and d.gift_aid_id is not null
  and d.status in ('RECEIVED_PAYMENT', 'DISBURSED') and {_LEFT} > 0 and {_HOLDS}
  and not exists (select from gift_aid_claim_donation c where c.donation_id = d.id and c.active)
"""


@across_partners("operators")
async def count_expired_donations(tx: Tx, organisation_id: UUID, earliest_claimable_at: datetime) -> int:
    """Count a charity's donations that were not claimed in time."""
    return int(await tx.fetchval(EXPIRED, organisation_id, earliest_claimable_at))


async def find(tx: Tx, claim_id: UUID) -> GiftAidClaim | None:
    """One claim."""
    row = await tx.fetchrow(f"select {_COLUMNS} from gift_aid_claim where id = $1", claim_id)
    return _claim(row) if row else None


async def find_for_update(tx: Tx, claim_id: UUID) -> GiftAidClaim | None:
    """One claim, locked until the transaction ends."""
    row = await tx.fetchrow(f"select {_COLUMNS} from gift_aid_claim where id = $1 for no key update", claim_id)
    return _claim(row) if row else None


@across_partners("operators")
async def list_newest_claims(tx: Tx, organisation_id: UUID | None, limit: int) -> list[GiftAidClaim]:
    """The newest claims, of one charity or of all."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from gift_aid_claim where $1::uuid is null or organisation_id = $1
        order by id desc limit $2
        """,
        organisation_id,
        limit,
    )
    return [_claim(row) for row in rows]


async def list_for_operators(
    tx: Tx, status: ClaimStatus | None, organisation_id: UUID | None, after: UUID | None, limit: int
) -> list[GiftAidClaim]:
    """The newest claims, after the given one."""
    where = keyset.equality_conditions({"organisation_id": organisation_id, "status": status})
    return [_claim(row) for row in await keyset.list_rows_after_id(tx, "gift_aid_claim", _COLUMNS, where, after, limit)]


async def count_for_operators(tx: Tx, status: ClaimStatus | None, organisation_id: UUID | None, max_count: int) -> int:
    """Count matching claims, up to one more than ``max_count``."""
    where = keyset.equality_conditions({"organisation_id": organisation_id, "status": status})
    return await keyset.count_rows_up_to(tx, "gift_aid_claim", where, max_count)


async def update_status(
    tx: Tx,
    claim: GiftAidClaim,
    target_status: ClaimStatus,
    *,
    changed_by: str,
    hmrc_reference: str | None = None,
    paid_minor: int | None = None,
    note: str | None = None,
) -> bool:
    """Update the status of a locked claim; False if the transition is not allowed."""
    return bool(
        await tx.fetchval(
            """
            update gift_aid_claim
            set status = $2, status_changed_at = $4, decided_by = $5, reference = coalesce($6, reference),
                paid_minor = $7, note = coalesce($8, note)
            where id = $1 and status = any($3) returning true
            """,
            claim.id,
            target_status,
            GIFT_AID_CLAIM.source_states_of(target_status),
            tx.now,
            changed_by,
            hmrc_reference,
            paid_minor,
            note,
        )
    )


async def detach_donations_from_claim(tx: Tx, claim: GiftAidClaim) -> None:
    """Release a claim's donations and adjustments for the next claim."""
    await tx.execute("update gift_aid_claim_donation set active = false where claim_id = $1 and active", claim.id)
    await tx.execute(
        """
        update gift_aid_adjustment a set deducted_minor = a.deducted_minor - d.amount_minor
        from gift_aid_deduction d where d.claim_id = $1 and a.id = d.adjustment_id
        """,
        claim.id,
    )


_SCHEDULE_ENTRIES: Final = f"""
select d.id, c.declaration_id, d.created_at, {_RECEIVED_AT}, c.amount_minor as minor, {_DECLARER}, c.line
from gift_aid_claim_donation c join donation d on d.id = c.donation_id
join gift_aid_declaration g on g.id = c.declaration_id
where c.claim_id = $1 order by c.line, d.created_at, d.id
"""


@across_partners("operators")
async def list_schedule_entries(tx: Tx, claim_id: UUID) -> list[ClaimScheduleEntry]:
    """The donations of a claim, by the lines of its schedule."""
    rows = await tx.fetch(_SCHEDULE_ENTRIES, claim_id)
    return [ClaimScheduleEntry(row["line"], _claimable(row)) for row in rows]


STANDING: Final = f"""
case when d.organisation_id = q.organisation_id and d.gift_aid_id is not null and {_HOLDS}
          and d.status in ('RECEIVED_PAYMENT', 'DISBURSED')
     then d.amount_minor - d.refunded_minor else 0 end
"""
"""The claimable amount of a donation: the unrefunded part, while it is this charity's and its declaration covers it."""
_REASON: Final = f"""
case when d.organisation_id <> q.organisation_id then 'reassigned'
     when d.gift_aid_id is null or not {_HOLDS} then 'cancelled' else 'refunded' end
"""
_CLAIMED: Final = (
    f"c.claim_id, c.donation_id, c.amount_minor, c.adjusted_minor, {STANDING} as standing, {_REASON} as reason"
)
_GIFTS: Final = """
gift_aid_claim_donation c join gift_aid_claim q on q.id = c.claim_id join donation d on d.id = c.donation_id
left join gift_aid_declaration g on g.id = d.gift_aid_id
"""

_LOCK_CLAIM_OF: Final = f"""
select {_COLUMNS} from gift_aid_claim
where id = (select claim_id from gift_aid_claim_donation where donation_id = $1 and active) for no key update
"""


async def lock_claim_of_donation(tx: Tx, donation_id: UUID) -> GiftAidClaim | None:
    """The claim that a donation is in, locked until the transaction ends."""
    row = await tx.fetchrow(_LOCK_CLAIM_OF, donation_id)
    return _claim(row) if row else None


_CLAIMED_DONATION: Final = f"select {_CLAIMED} from {_GIFTS} where c.claim_id = $1 and c.donation_id = $2 and c.active"


@across_partners("operators")
async def find_claimed_donation(tx: Tx, claim_id: UUID, donation_id: UUID) -> ClaimedDonation | None:
    """A donation of a locked claim."""
    row = await tx.fetchrow(_CLAIMED_DONATION, claim_id, donation_id)
    return ClaimedDonation(*row) if row else None


_OVERCLAIMED: Final = f"""
select c.donation_id from {_GIFTS}
where c.claim_id = $1 and c.active and c.amount_minor - c.adjusted_minor > {STANDING} order by c.donation_id
"""


@across_partners("operators")
async def list_overclaimed_donation_ids(tx: Tx, claim_id: UUID) -> list[UUID]:
    """The donations of a claim whose value is now less than claimed."""
    return [row[0] for row in await tx.fetch(_OVERCLAIMED, claim_id)]


_OVERCLAIMED_OF_CHARITY: Final = f"""
select c.donation_id from {_GIFTS}
where q.organisation_id = $1 and q.status in ('submitted', 'paid') and c.active
  and c.amount_minor - c.adjusted_minor > {STANDING} order by c.donation_id
"""


@across_partners("operators")
async def list_overclaimed_donation_ids_of_charity(tx: Tx, organisation_id: UUID) -> list[UUID]:
    """The donations of all claims of a charity whose value is now less than claimed."""
    return [row[0] for row in await tx.fetch(_OVERCLAIMED_OF_CHARITY, organisation_id)]


_CLAIMED_BY: Final = """
select donation_id from gift_aid_claim_donation where declaration_id = $1 and active order by donation_id
"""


async def list_donation_ids_claimed_under_declaration(tx: Tx, declaration_id: UUID) -> list[UUID]:
    """The donations claimed through a declaration."""
    return [row[0] for row in await tx.fetch(_CLAIMED_BY, declaration_id)]


async def insert_adjustment(tx: Tx, adjustment: ClaimAdjustment) -> None:
    """Store an adjustment of a locked donation's claim; if nothing is left, the donation leaves it."""
    await tx.execute(
        """
        insert into gift_aid_adjustment (id, organisation_id, claim_id, donation_id, amount_minor, reason, created_at)
        select $1, organisation_id, id, $3, $4, $5, $6 from gift_aid_claim where id = $2
        """,
        adjustment.id,
        adjustment.claim_id,
        adjustment.donation_id,
        adjustment.amount_minor,
        adjustment.reason,
        adjustment.created_at,
    )
    await tx.execute(
        """
        update gift_aid_claim_donation
        set adjusted_minor = adjusted_minor + $3, active = adjusted_minor + $3 < amount_minor
        where claim_id = $1 and donation_id = $2
        """,
        adjustment.claim_id,
        adjustment.donation_id,
        adjustment.amount_minor,
    )


_ADJUSTMENT: Final = (
    "a.id, a.claim_id, a.donation_id, a.amount_minor, a.amount_minor - a.deducted_minor, a.reason, a.created_at"
)

_LOCK_OPEN_ADJUSTMENTS: Final = f"""
select {_ADJUSTMENT} from gift_aid_adjustment a join gift_aid_claim q on q.id = a.claim_id
where q.organisation_id = $1 and q.status = 'paid' and a.deducted_minor < a.amount_minor
order by a.id for no key update of a
"""


@across_partners("operators")
async def lock_open_adjustments(tx: Tx, organisation_id: UUID) -> list[ClaimAdjustment]:
    """A charity's open adjustments, oldest first, locked until the transaction ends."""
    return [ClaimAdjustment(*row) for row in await tx.fetch(_LOCK_OPEN_ADJUSTMENTS, organisation_id)]


@across_partners("operators")
async def list_newest_adjustments(
    tx: Tx, organisation_id: UUID | None, limit: int, before: UUID | None = None
) -> list[ClaimAdjustment]:
    """The newest adjustments of one charity or all, before the given one."""
    rows = await tx.fetch(
        f"""
        select {_ADJUSTMENT} from gift_aid_adjustment a join gift_aid_claim q on q.id = a.claim_id
        where ($1::uuid is null or q.organisation_id = $1) and ($3::uuid is null or a.id < $3)
        order by a.id desc limit $2
        """,
        organisation_id,
        limit,
        before,
    )
    return [ClaimAdjustment(*row) for row in rows]


async def deduct_adjustments(tx: Tx, claim: GiftAidClaim, deductions: Sequence[tuple[UUID, int]]) -> None:
    """Deduct parts of locked adjustments from a claim."""
    ids, minors = [one for one, _ in deductions], [minor for _, minor in deductions]
    await tx.execute(
        """
        insert into gift_aid_deduction (claim_id, organisation_id, adjustment_id, amount_minor)
        select $1, $2, * from unnest($3::uuid[], $4::bigint[])
        """,
        claim.id,
        claim.organisation_id,
        ids,
        minors,
    )
    await tx.execute(
        """
        update gift_aid_adjustment a set deducted_minor = a.deducted_minor + t.minor
        from unnest($1::uuid[], $2::bigint[]) as t (id, minor) where a.id = t.id
        """,
        ids,
        minors,
    )
