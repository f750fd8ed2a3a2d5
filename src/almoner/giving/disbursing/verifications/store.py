"""SQL for monetary donation verifications, their checks and decisions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.giving.disbursing.verifications.domain import (
    VERIFICATION,
    CheckType,
    DecisionGrounds,
    MonetaryDonationVerification,
    RecordedDecision,
    VerificationFilters,
)
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage

_COLUMNS: Final = (
    "id, partner_id, organisation_id, status, checks, rejection_reason, metadata, created_at, updated_at, expires_at, "
    "processed_at, requested"
)
_FROM: Final = f"""
select {_COLUMNS} from monetary_donation_verification v
cross join lateral (
    select jsonb_object_agg(type, c.status) as checks from monetary_donation_check c where verification_id = v.id
) made
"""

# The status is computed at the time of reading, $1, whether or not an expiry is recorded (S3).
_IS_NOW: Final = {
    None: "$1::timestamptz is not null",
    "pending": "status = 'pending' and expires_at > $1",
    "approved": "status = 'approved' and $1::timestamptz is not null",
    "rejected": "status = 'rejected' and $1::timestamptz is not null",
    "expired": "(status = 'expired' or status = 'pending' and expires_at <= $1)",
}


def _verification(row: Record) -> MonetaryDonationVerification:
    return MonetaryDonationVerification(*row[:12])


async def insert(tx: Tx, partner: Partner, verification: MonetaryDonationVerification) -> bool:
    """Store a new verification with its checks; False if the organisation has a pending or approved one."""
    made = await tx.fetchval(
        """
        insert into monetary_donation_verification (id, partner_id, organisation_id, status, metadata, created_at,
                                                    updated_at, expires_at, status_changed_at, requested)
        values ($1, $2, $3, $4, $5, $6, $6, $7, $6, $8)
        on conflict (partner_id, organisation_id) where status in ('pending', 'approved') do nothing returning true
        """,
        verification.id,
        partner.id,
        verification.organisation_id,
        verification.status,
        verification.metadata,
        verification.created_at,
        verification.expires_at,
        verification.is_requested_by_partner,
    )
    if made:
        await tx.execute(
            """
            insert into monetary_donation_check (id, verification_id, type, status, status_changed_at)
            select id, $4, type, status, $5 from unnest($1::uuid[], $2::text[], $3::text[]) as given (id, type, status)
            """,
            [tx.new_id() for _ in verification.checks],
            list(verification.checks),
            list(verification.checks.values()),
            verification.id,
            verification.created_at,
        )
    return bool(made)


async def find(tx: Tx, scope: Partner | AllPartners, verification_id: UUID) -> MonetaryDonationVerification | None:
    """One verification."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"{_FROM} where v.id = $1 and ($2::uuid is null or partner_id = $2)", verification_id, partner_id
    )
    return _verification(row) if row else None


@across_partners("operators")
async def list_by_ids(tx: Tx, verification_ids: Sequence[UUID]) -> list[MonetaryDonationVerification]:
    """These verifications."""
    rows = await tx.fetch(f"{_FROM} where v.id = any($1::uuid[])", verification_ids)
    return [_verification(row) for row in rows]


async def find_for_update(
    tx: Tx, scope: Partner | AllPartners, verification_id: UUID
) -> MonetaryDonationVerification | None:
    """One verification, locked until the transaction ends. Its checks change only under this lock."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    # Locked in a statement of its own: the next one must see the checks that the last lock holder changed.
    held = await tx.fetchval(
        """
        select id from monetary_donation_verification where id = $1 and ($2::uuid is null or partner_id = $2)
        for no key update
        """,
        verification_id,
        partner_id,
    )
    return await find(tx, scope, verification_id) if held else None


@across_partners("sweep")
async def lock_due_for_expiry(tx: Tx, limit: int, excluded_ids: Sequence[UUID]) -> list[MonetaryDonationVerification]:
    """Lock due pending verifications except some, oldest first, skipping locked ones (S4)."""
    held = await tx.fetch(
        """
        select id from monetary_donation_verification
        where status = 'pending' and expires_at <= $1 and id <> all($3::uuid[])
        order by expires_at limit $2 for no key update skip locked
        """,
        tx.now,
        limit,
        excluded_ids,
    )
    rows = await tx.fetch(f"{_FROM} where v.id = any($1::uuid[]) order by expires_at", [row["id"] for row in held])
    return [_verification(row) for row in rows]


async def find_pending_or_approved_id(tx: Tx, partner: Partner, organisation_id: UUID) -> UUID | None:
    """The organisation's pending or approved verification; also one whose expiry is not recorded yet."""
    found: UUID | None = await tx.fetchval(
        """
        select id from monetary_donation_verification
        where partner_id = $1 and organisation_id = $2 and status in ('pending', 'approved')
        """,
        partner.id,
        organisation_id,
    )
    return found


class VerificationIds(NamedTuple):
    """The IDs of a verification, its partner and its organisation."""

    verification_id: UUID
    partner_id: UUID
    organisation_id: UUID


@across_partners("followers")
async def list_pending_and_approved_verification_ids(tx: Tx, organisation_ids: Sequence[UUID]) -> list[VerificationIds]:
    """Pending and approved verifications of these organisations, by ID."""
    rows = await tx.fetch(
        """
        with answering as materialized (
            select distinct coalesce(same_as, id) as id from organisation where id = any($1::uuid[])
        )
        select id, partner_id, organisation_id from monetary_donation_verification
        where status in ('pending', 'approved') and organisation_id in (
            select id from answering union all select o.id from answering a join organisation o on o.same_as = a.id
        )
        order by id
        """,
        organisation_ids,
    )
    return [VerificationIds(row[0], row[1], row[2]) for row in rows]


async def mark_requested_by_partner(tx: Tx, verification: MonetaryDonationVerification) -> None:
    """Record that the partner requests a locked verification that was started by a donation."""
    await tx.execute(
        "update monetary_donation_verification set requested = true, metadata = $2, updated_at = $3 where id = $1",
        verification.id,
        verification.metadata,
        verification.updated_at,
    )


async def list_verifications_of_organisations(
    tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]
) -> list[MonetaryDonationVerification]:
    """All verifications of these organisations."""
    rows = await tx.fetch(
        f"{_FROM} where partner_id = $1 and organisation_id = any($2::uuid[])", partner.id, organisation_ids
    )
    return [_verification(row) for row in rows]


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: VerificationFilters
) -> tuple[list[MonetaryDonationVerification], int]:
    """One page in reading order and the exact total, from one snapshot (P7)."""
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    after = f"id {comparison} $3" if page_.after_id else "$3::uuid is null"
    of = "organisation_id = $4" if filters.organisation_id else "$4::uuid is null"
    is_now = _IS_NOW[filters.status]
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from (
            select count(*) as total from monetary_donation_verification where partner_id = $2 and {of} and {is_now}
        ) counted
        left join lateral ({_FROM} where partner_id = $2 and {of} and {is_now} and {after} order by id {order} limit $5)
            listed on true
        order by id {order}
        """,
        tx.now,
        partner.id,
        page_.after_id,
        filters.organisation_id,
        page_.fetch_limit,
    )
    return [_verification(row) for row in rows if row[0] is not None], rows[0]["total"]


async def list_newest(
    tx: Tx, scope: Partner | AllPartners, filters: VerificationFilters, limit: int
) -> list[MonetaryDonationVerification]:
    """The newest verifications, for operators."""
    whose = "partner_id = $2" if isinstance(scope, Partner) else "$2::uuid is null"
    is_now = _IS_NOW[filters.status]
    rows = await tx.fetch(
        f"{_FROM} where {is_now} and {whose} order by id desc limit $3",
        tx.now,
        scope.id if isinstance(scope, Partner) else None,
        limit,
    )
    return [_verification(row) for row in rows]


async def update_status(tx: Tx, verification: MonetaryDonationVerification) -> bool:
    """Store a locked verification's new status; False if the transition is not allowed."""
    return bool(
        await tx.fetchval(
            """
            update monetary_donation_verification
            set status = $2, rejection_reason = $3, expires_at = $4, processed_at = $5, updated_at = $6,
                status_changed_at = $7
            where id = $1 and status = any($8) returning true
            """,
            verification.id,
            verification.status,
            verification.rejection_reason,
            verification.expires_at,
            verification.processed_at,
            verification.updated_at,
            tx.now,
            VERIFICATION.source_states_of(verification.status),
        )
    )


async def update_checks(tx: Tx, verification: MonetaryDonationVerification, checks: Sequence[CheckType]) -> None:
    """Store these checks of a locked verification, and the time of the change."""
    await tx.execute(
        """
        with moved as (
            update monetary_donation_check c set status = given.status, status_changed_at = $4
            from unnest($2::text[], $3::text[]) as given (type, status)
            where c.verification_id = $1 and c.type = given.type and c.status <> given.status
        )
        update monetary_donation_verification set updated_at = $5 where id = $1
        """,
        verification.id,
        checks,
        [verification.checks[check] for check in checks],
        tx.now,
        verification.updated_at,
    )


async def set_metadata(tx: Tx, verification: MonetaryDonationVerification) -> None:
    """Store the metadata of a locked verification."""
    await tx.execute(
        "update monetary_donation_verification set metadata = $2, updated_at = $3 where id = $1",
        verification.id,
        verification.metadata,
        verification.updated_at,
    )


@across_partners("sweep")
async def next_expiry_at(tx: Tx) -> datetime | None:
    """When the next pending verification expires or should have expired."""
    found: datetime | None = await tx.fetchval(
        "select min(expires_at) from monetary_donation_verification where status = 'pending'"
    )
    return found


async def insert_decision(tx: Tx, verification: MonetaryDonationVerification, decision: RecordedDecision) -> None:
    """Store a decision: who, what and why."""
    await tx.execute(
        """
        insert into monetary_donation_decision (
            id, verification_id, decision, reason, note, decided_by, decided_at, second_by, second_note
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        tx.new_id(),
        verification.id,
        decision.decision,
        decision.reason,
        decision.grounds.note,
        decision.grounds.decided_by,
        decision.decided_at,
        decision.grounds.second_decided_by,
        decision.grounds.second_note,
    )


async def list_decisions(tx: Tx, verification_id: UUID) -> list[RecordedDecision]:
    """List the decisions on a verification, oldest first."""
    rows = await tx.fetch(
        """
        select decision, reason, decided_by, note, decided_at, second_by, second_note
        from monetary_donation_decision where verification_id = $1 order by id
        """,
        verification_id,
    )
    return [RecordedDecision(row[0], row[1], DecisionGrounds(row[2], row[3], row[5], row[6]), row[4]) for row in rows]
