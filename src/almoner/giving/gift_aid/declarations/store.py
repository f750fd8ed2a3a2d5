"""SQL for Gift Aid declarations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.gift_aid.declarations.domain import REMINDED_AFTER, Declaration, Declarer
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_COLUMNS: Final = (
    "id, partner_id, user_id, title, first_name, last_name, building_name_number, road_name, city, country, postcode, "
    "covers_from, covers_to, cancelled_from, created_at, deleted_at, organisation_id"
)


def _declaration(row: Record) -> Declaration:
    id_, partner_id, user_id, *rest = row
    return Declaration(id_, partner_id, user_id, Declarer(*rest[:8]), *rest[8:])


async def insert(tx: Tx, partner: Partner, declaration: Declaration) -> None:
    """Store a new declaration."""
    declarer = declaration.declarer
    await tx.execute(
        """
        insert into gift_aid_declaration (id, partner_id, user_id, title, first_name, last_name, building_name_number,
                                          road_name, city, country, postcode, covers_from, covers_to, created_at,
                                          organisation_id, reminder_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        """,
        declaration.id,
        partner.id,
        declaration.user_id,
        declarer.title,
        declarer.first_name,
        declarer.last_name,
        declarer.building_name_number,
        declarer.road_name,
        declarer.city,
        declarer.country,
        declarer.postcode,
        declaration.covers_from,
        declaration.covers_to,
        declaration.created_at,
        declaration.organisation_id,
        None if declaration.organisation_id is None else declaration.created_at + REMINDED_AFTER,
    )


async def find(tx: Tx, partner: Partner, declaration_id: UUID) -> Declaration | None:
    """One declaration of the partner."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from gift_aid_declaration where partner_id = $1 and id = $2", partner.id, declaration_id
    )
    return _declaration(row) if row else None


async def find_with_shared_lock(tx: Tx, partner: Partner, declaration_id: UUID) -> Declaration | None:
    """One declaration of the partner, locked against changes until the transaction ends."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from gift_aid_declaration where partner_id = $1 and id = $2 for share",
        partner.id,
        declaration_id,
    )
    return _declaration(row) if row else None


@across_partners("held")
async def find_for_update(tx: Tx, declaration_id: UUID) -> Declaration | None:
    """One declaration, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from gift_aid_declaration where id = $1 for no key update", declaration_id
    )
    return _declaration(row) if row else None


async def list_declarations_of_user(tx: Tx, partner: Partner, user_id: UUID) -> list[Declaration]:
    """A user's declarations, cancelled ones too, newest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from gift_aid_declaration where partner_id = $1 and user_id = $2 order by id desc",
        partner.id,
        user_id,
    )
    return [_declaration(row) for row in rows]


async def find_newest_declaration_id_of_user(tx: Tx, partner: Partner, user_id: UUID) -> UUID | None:
    """The newest declaration of a user that is not cancelled."""
    found: UUID | None = await tx.fetchval(
        """
        select id from gift_aid_declaration where partner_id = $1 and user_id = $2 and deleted_at is null
        order by id desc limit 1
        """,
        partner.id,
        user_id,
    )
    return found


@across_partners("held")
async def cancel_declaration(tx: Tx, declaration_id: UUID, cancelled_from: datetime) -> None:
    """Record that a locked declaration ends at a given time."""
    await tx.execute(
        """
        update gift_aid_declaration set cancelled_from = $2, deleted_at = $3, reminder_at = null
        where id = $1 and deleted_at is null
        """,
        declaration_id,
        cancelled_from,
        tx.now,
    )


@across_partners("sweep")
async def delete_unused_declarations(tx: Tx, declaration_ids: Sequence[UUID]) -> None:
    """Delete declarations from the donation page that no donation or claim refers to."""
    await tx.execute(
        """
        delete from gift_aid_declaration d
        where id = any($1::uuid[]) and user_id is null
          and (organisation_id is not null or covers_to = covers_from + interval '1 millisecond')
          and not exists (select from donation where gift_aid_id = d.id)
          and not exists (select from gift_aid_claim_donation where declaration_id = d.id)
        """,
        declaration_ids,
    )


@across_partners("sweep")
async def lock_declarations_due_for_reminder(tx: Tx, limit: int, excluded_ids: Sequence[UUID]) -> list[Declaration]:
    """Lock the declarations whose donors are due for a reminder, except some."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from gift_aid_declaration where reminder_at <= $1 and id <> all($3::uuid[])
        order by reminder_at limit $2 for no key update skip locked
        """,
        tx.now,
        limit,
        excluded_ids,
    )
    return [_declaration(row) for row in rows]


@across_partners("sweep")
async def next_reminder_at(tx: Tx) -> datetime | None:
    """When the next reminder is due."""
    found: datetime | None = await tx.fetchval("select min(reminder_at) from gift_aid_declaration")
    return found


@across_partners("held")
async def set_reminder_at(tx: Tx, declaration_id: UUID, reminder_at: datetime | None) -> None:
    """Store when a locked declaration's donor is reminded next; None: never."""
    await tx.execute("update gift_aid_declaration set reminder_at = $2 where id = $1", declaration_id, reminder_at)
