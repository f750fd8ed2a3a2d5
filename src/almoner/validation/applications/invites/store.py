"""SQL for validation invites."""

from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database import counters, lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.validation.applications.invites.domain import INVITE, Invite

Scope = Partner | AllPartners

LIST: Final = "validation_invite"
_COLUMNS: Final = "id, partner_id, configuration_id, redirect_url, language, metadata, status, created_at, expires_at"


def _invite(row: Record) -> Invite:
    return Invite(*row[:9])


def _owner(scope: Scope) -> UUID | None:
    return scope.id if isinstance(scope, Partner) else None


async def insert(tx: Tx, partner: Partner, invite: Invite) -> None:
    """Store a new invite."""
    await tx.execute(
        f"""
        insert into validation_invite ({_COLUMNS}, status_changed_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $8)
        """,
        invite.id,
        partner.id,
        invite.configuration_id,
        invite.redirect_url,
        invite.language,
        invite.metadata,
        invite.stored_status,
        invite.created_at,
        invite.expires_at,
    )
    await counters.add_to_list_total(tx, partner, LIST, 1)


async def find(tx: Tx, scope: Scope, invite_id: UUID) -> Invite | None:
    """One invite; None if it does not exist."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from validation_invite where id = $1 and ($2::uuid is null or partner_id = $2)",
        invite_id,
        _owner(scope),
    )
    return _invite(row) if row else None


async def find_for_update(tx: Tx, scope: Scope, invite_id: UUID) -> Invite | None:
    """Lock one invite until the transaction ends; None if it does not exist."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from validation_invite where id = $1 and ($2::uuid is null or partner_id = $2)
        for no key update
        """,
        invite_id,
        _owner(scope),
    )
    return _invite(row) if row else None


async def list_page(tx: Tx, partner: Partner, page_: RequestedPage) -> tuple[list[Invite], int]:
    """One page in reading order, and the exact total."""
    rows, total = await lists.list_partner_page(tx, partner, LIST, _COLUMNS, page_)
    return [_invite(row) for row in rows], total


@across_partners("held")
async def mark_completed(tx: Tx, invite_id: UUID) -> bool:
    """Mark an invite as completed; False if its status does not allow this."""
    return bool(
        await tx.fetchval(
            """
            update validation_invite set status = 'complete', status_changed_at = $2
            where id = $1 and status = any($3) returning true
            """,
            invite_id,
            tx.now,
            INVITE.source_states_of("complete"),
        )
    )


EXPIRE: Final = f"""
with due as (
    select id as due_id from validation_invite where status = 'open' and expires_at <= $1
    order by expires_at limit $2 for no key update skip locked
)
update validation_invite set status = 'expired', status_changed_at = $1
from due where validation_invite.id = due_id returning {_COLUMNS}
"""


@across_partners("sweep")
async def expire_overdue_invites(tx: Tx, limit: int) -> list[Invite]:
    """Record the expiry of up to ``limit`` invites, oldest first, skipping locked ones."""
    rows = await tx.fetch(EXPIRE, tx.now, limit)
    return sorted((_invite(row) for row in rows), key=lambda invite: invite.id)


async def expire(tx: Tx, partner: Partner, invite_id: UUID) -> Invite | None:
    """Expire an open invite now; None if it is not open, or not the partner's."""
    row = await tx.fetchrow(
        f"""
        update validation_invite set status = 'expired', status_changed_at = $3
        where partner_id = $1 and id = $2 and status = any($4) returning {_COLUMNS}
        """,
        partner.id,
        invite_id,
        tx.now,
        INVITE.source_states_of("expired"),
    )
    return _invite(row) if row else None


@across_partners("sweep")
async def next_expiry_at(tx: Tx) -> datetime | None:
    """When the next open invite expires, or was due to expire."""
    found: datetime | None = await tx.fetchval("select min(expires_at) from validation_invite where status = 'open'")
    return found
