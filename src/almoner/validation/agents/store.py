"""SQL for agent verifications."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.validation.agents.domain import (
    VERIFICATION,
    AgentFilters,
    AgentVerification,
    EndReason,
    RepresentedNonprofit,
)

_COLUMNS: Final = (
    "organisation_website, first_name, last_name, email, title, language, metadata, email_check, status, "
    "rejection_code, created_at, expires_at, confirmed_at, processed_at, preferred_language, "
    "replaces, requester_name"
)
_SELECTED: Final = f"""
    a.id, a.partner_id, a.organisation_id, o.name as organisation_name,
    c.email as organisation_email, a.validation_request_id, r.name as request_name,
    {", ".join(f"a.{name}" for name in _COLUMNS.split(", "))},
    coalesce(b.display_name, o.display_name) as organisation_display_name
"""
_FROM: Final = f"""
select {_SELECTED} from agent_verification a
left join organisation o on o.id = a.organisation_id
left join organisation_branding b on b.organisation_id = o.id
left join organisation_contact c on c.organisation_id = a.organisation_id
left join validation_request r on r.id = a.validation_request_id
"""

# Filters by the status at time $2, whether or not an expiry has been recorded (S3).
_STATUS_CONDITIONS: Final = {
    None: "$2::timestamptz is not null",
    "pending": "a.status = 'pending' and a.expires_at > $2",
    "pending_user_verification": "a.status = 'pending_user_verification' and a.expires_at > $2",
    "pending_review": "a.status = 'pending_review' and (a.expires_at is null or a.expires_at > $2)",
    "approved": "a.status = 'approved' and $2::timestamptz is not null",
    "rejected": "(a.status = 'rejected' or a.expires_at <= $2)",
}


def _verification(row: Record) -> AgentVerification:
    organisation = (
        None if row[2] is None else RepresentedNonprofit(row[2], row[3], row[4], row["organisation_display_name"])
    )
    request = None if row[5] is None else RepresentedNonprofit(row[5], row[6])
    return AgentVerification(row[0], row[1], organisation, request, *row[7:24])


class RelatedVerification(NamedTuple):
    """Another verification, and what it shares: "same email address" or "same nonprofit"."""

    verification_id: UUID
    partner_id: UUID
    relation: str


async def list_related_verifications(tx: Tx, verification: AgentVerification, limit: int) -> list[RelatedVerification]:
    """Verifications with the same address or request, newest first, with their partners."""
    rows = await tx.fetch(
        """
        (select id, partner_id, 'same email address' from agent_verification
            where lower(email) = lower($1) and email is not null order by id desc limit $3)
        union all
        (select id, partner_id, 'same nonprofit' from agent_verification
            where validation_request_id = $2 order by id desc limit $3)
        """,
        verification.email,
        verification.validation_request.id if verification.validation_request else None,
        limit,
    )
    return [RelatedVerification(row[0], row[1], row[2]) for row in rows]


async def insert(tx: Tx, partner: Partner, verification: AgentVerification) -> None:
    """Store a new verification."""
    await tx.execute(
        """
        insert into agent_verification (
            id, partner_id, organisation_id, validation_request_id, organisation_website, first_name, last_name, email,
            title, language, email_check, status, created_at, expires_at, preferred_language, replaces, requester_name,
                status_changed_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $13)
        """,
        verification.id,
        partner.id,
        verification.organisation.id if verification.organisation else None,
        verification.validation_request.id if verification.validation_request else None,
        verification.organisation_website,
        verification.first_name,
        verification.last_name,
        verification.email,
        verification.title,
        verification.language,
        verification.requires_email_confirmation,
        verification.status,
        verification.created_at,
        verification.expires_at,
        verification.preferred_language,
        verification.replaces,
        verification.requester_name,
    )


@across_partners("held")
async def is_replaced(tx: Tx, verification_id: UUID) -> bool:
    """Whether another verification has taken its place."""
    return bool(
        await tx.fetchval("select exists (select from agent_verification where replaces = $1)", verification_id)
    )


async def find(tx: Tx, scope: Partner | AllPartners, verification_id: UUID) -> AgentVerification | None:
    """One verification; None if it does not exist."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"{_FROM} where a.id = $1 and ($2::uuid is null or a.partner_id = $2)", verification_id, partner_id
    )
    return _verification(row) if row else None


@across_partners("operators")
async def load_names_by_verification_id(tx: Tx, verification_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The applicants of these verifications, and the nonprofits that they represent."""
    found = map(_verification, await tx.fetch(f"{_FROM} where a.id = any($1)", verification_ids))
    return {
        one.id: " for ".join(
            name for name in (f"{one.first_name or ''} {one.last_name or ''}".strip(), one.nonprofit_name) if name
        )
        for one in found
    }


async def list_verifications_with_ids(
    tx: Tx, partner: Partner, verification_ids: Sequence[UUID]
) -> list[AgentVerification]:
    """The existing ones of these verifications."""
    rows = await tx.fetch(f"{_FROM} where a.partner_id = $1 and a.id = any($2::uuid[])", partner.id, verification_ids)
    return [_verification(row) for row in rows]


async def find_for_update(tx: Tx, scope: Partner | AllPartners, verification_id: UUID) -> AgentVerification | None:
    """Lock one verification until the transaction ends; None if it does not exist."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"{_FROM} where a.id = $1 and ($2::uuid is null or a.partner_id = $2) for no key update of a",
        verification_id,
        partner_id,
    )
    return _verification(row) if row else None


@across_partners("sweep")
async def lock_expired_verifications(tx: Tx, limit: int, excluded_ids: Sequence[UUID]) -> list[AgentVerification]:
    """Lock due verifications except ``excluded_ids``, oldest first, skipping locked ones (S4)."""
    rows = await tx.fetch(
        f"{_FROM} where a.expires_at <= $1 and a.id <> all($3::uuid[]) "
        "order by a.expires_at limit $2 for no key update of a skip locked",
        tx.now,
        limit,
        excluded_ids,
    )
    return [_verification(row) for row in rows]


@across_partners("sweep")
async def next_expiry_at(tx: Tx) -> datetime | None:
    """When the next one expires, or was due to expire."""
    found: datetime | None = await tx.fetchval(
        "select min(expires_at) from agent_verification where expires_at is not null"
    )
    return found


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: AgentFilters
) -> tuple[list[AgentVerification], int]:
    """One page in reading order and the exact total, from one snapshot (P7)."""
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    after = f"a.id {comparison} $3" if page_.after_id else "$3::uuid is null"
    whose = "lower(a.email) = lower($5)" if filters.email is not None else "$5::text is null"
    since = "a.created_at >= $6" if filters.created_from else "$6::timestamptz is null"
    before = "a.created_at < $7" if filters.created_before else "$7::timestamptz is null"
    is_now = _STATUS_CONDITIONS[filters.status]
    where = f"a.partner_id = $1 and {is_now} and {whose} and {since} and {before}"
    rows = await tx.fetch(
        f"""
        select listed.*, total from (select count(*) as total from agent_verification a where {where}) counted
        left join lateral ({_FROM} where {where} and {after} order by a.id {order} limit $4) listed on true
        order by listed.id {order}
        """,
        partner.id,
        tx.now,
        page_.after_id,
        page_.fetch_limit,
        filters.email,
        filters.created_from,
        filters.created_before,
    )
    return [_verification(row) for row in rows if row[0] is not None], rows[0]["total"]


async def update_status(tx: Tx, verification: AgentVerification) -> bool:
    """Store a locked verification's new status; False if the transition is not allowed."""
    return bool(
        await tx.fetchval(
            """
            update agent_verification
            set status = $2, rejection_code = $3, expires_at = $4, confirmed_at = $5, processed_at = $6,
                status_changed_at = $7
            where id = $1 and status = any($8) returning true
            """,
            verification.id,
            verification.status,
            verification.rejection_code,
            verification.expires_at,
            verification.confirmed_at,
            verification.processed_at,
            tx.now,
            VERIFICATION.source_states_of(verification.status),
        )
    )


async def set_metadata(tx: Tx, verification: AgentVerification) -> None:
    """Store the metadata of a locked verification."""
    await tx.execute(
        "update agent_verification set metadata = $2 where id = $1", verification.id, verification.metadata
    )


async def set_answer_deadline(tx: Tx, verification: AgentVerification) -> None:
    """Store the deadline for an outside answer on a locked verification in review."""
    await tx.execute(
        "update agent_verification set expires_at = $2 where id = $1 and status = 'pending_review'",
        verification.id,
        verification.expires_at,
    )


async def set_organisation(tx: Tx, verification: AgentVerification, organisation_id: UUID) -> None:
    """Store the organisation that a locked verification's request was accepted as."""
    await tx.execute(
        "update agent_verification set organisation_id = $2 where id = $1", verification.id, organisation_id
    )


@across_partners("followers")
async def list_open_verification_ids(tx: Tx, validation_request_ids: Sequence[UUID]) -> list[UUID]:
    """The IDs of unfinished verifications with these validation requests."""
    rows = await tx.fetch(
        """
        select id from agent_verification
        where validation_request_id = any($1::uuid[])
            and status in ('pending', 'pending_user_verification', 'pending_review')
        """,
        validation_request_ids,
    )
    return [row["id"] for row in rows]


@across_partners("operators")
async def list_verification_ids_in_review(tx: Tx, organisation_id: UUID) -> list[UUID]:
    """The IDs of an organisation's verifications in review."""
    rows = await tx.fetch(
        "select id from agent_verification where organisation_id = $1 and status = 'pending_review'", organisation_id
    )
    return [row["id"] for row in rows]


async def set_preferred_language(tx: Tx, scope: Partner | AllPartners, verification_id: UUID, language: str) -> None:
    """Store the language that an applicant has chosen."""
    await tx.execute(
        "update agent_verification set preferred_language = $3 where id = $1 and ($2::uuid is null or partner_id = $2)",
        verification_id,
        scope.id if isinstance(scope, Partner) else None,
        language,
    )


_ENDED: Final[dict[EndReason, str]] = {
    "unconfirmed": "rejection_code = 'user_verification_expired'",
    # Usually the address of a stranger, entered by a typo.
    "replaced": "rejection_code = 'reapply' and exists (select from agent_verification n where n.replaces = v.id)",
    "rejected": "status = 'rejected'",
    "approved": "status = 'approved'",
}
_ERASABLE: Final[dict[EndReason, str]] = {
    ended: f"""
    agent_verification v where email is not null and {condition}
        and not exists (
            select from validation_submission s
            where s.agent_verification_id = v.id
                and (s.status = 'pending' or s.processed_at > $1::timestamptz)
        )
        and not exists (
            select from validation_submission s join appeal a on a.validation_submission_id = s.id
            where s.agent_verification_id = v.id and (
                a.status = 'open' or a.status = 'reversed' and a.completed_at is null
                or coalesce(a.completed_at, a.decided_at) > $1::timestamptz
            )
        )
    """
    for ended, condition in _ENDED.items()
}
"""Verifications that ended for this reason and still have personal data.

Excluded: those whose application is pending or was decided after $1, since the applicant is still emailed and may
appeal; and those with an appeal that is open or ended after $1.
"""


async def find_earliest_unerased_verification_end(
    tx: Tx, end_reason: EndReason, decided_or_appealed_before: datetime
) -> datetime | None:
    """When the longest-ended verification that still has personal data ended."""
    found: datetime | None = await tx.fetchval(
        f"select processed_at from {_ERASABLE[end_reason]} order by processed_at limit 1", decided_or_appealed_before
    )
    return found


class ErasedVerification(NamedTuple):
    """A verification whose personal data was erased, and its partner."""

    verification_id: UUID
    partner_id: UUID


async def erase_personal_data(
    tx: Tx, end_reason: EndReason, ended_before: datetime, limit: int
) -> list[ErasedVerification]:
    """Erase personal data of verifications that ended for this reason before a time.

    Rows are locked first and the condition is checked again, so that an appeal
    committed before the lock is seen.
    """
    held = await tx.fetch(
        f"""
        select id from {_ERASABLE[end_reason]} and processed_at <= $1
        order by processed_at limit $2 for no key update skip locked
        """,
        ended_before,
        limit,
    )
    rows = await tx.fetch(
        f"""
        with old as (select id from {_ERASABLE[end_reason]} and v.id = any($2::uuid[]))
        update agent_verification a set first_name = null, last_name = null, email = null, title = null
        from old where a.id = old.id returning a.id, a.partner_id
        """,
        ended_before,
        [row["id"] for row in held],
    )
    return [ErasedVerification(row["id"], row["partner_id"]) for row in rows]
