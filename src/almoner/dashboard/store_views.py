"""SQL for saved views; each belongs to one person."""

from uuid import UUID

from almoner.dashboard.domain import SavedView
from almoner.platform.database.transactions import Partner, Tx


async def list_saved_views(tx: Tx, partner: Partner, person_id: UUID) -> list[SavedView]:
    """All views of a person, by list and name."""
    rows = await tx.fetch(
        """
        select id, list, name, query from saved_view where partner_id = $1 and person_id = $2
        order by list, lower(name)
        """,
        partner.id,
        person_id,
    )
    return [SavedView(*row) for row in rows]


async def insert_saved_view(tx: Tx, partner: Partner, person_id: UUID, view: SavedView) -> bool:
    """Store a saved view; False if the person has one with this name for the list."""
    made = await tx.fetchval(
        """
        insert into saved_view (id, partner_id, person_id, list, name, query, created_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (partner_id, person_id, list, lower(name)) do nothing returning true
        """,
        view.id,
        partner.id,
        person_id,
        view.list,
        view.name,
        view.query,
        tx.now,
    )
    return bool(made)


async def rename_saved_view(tx: Tx, partner: Partner, person_id: UUID, view: SavedView, name: str) -> bool:
    """Rename a view; False if another one of the person has the name."""
    renamed = await tx.fetchval(
        """
        update saved_view v set name = $4 where id = $3 and partner_id = $1 and person_id = $2 and not exists (
            select from saved_view o
            where o.partner_id = $1 and o.person_id = $2 and o.list = v.list and lower(o.name) = lower($4)
              and o.id <> v.id
        ) returning true
        """,
        partner.id,
        person_id,
        view.id,
        name,
    )
    return bool(renamed)


async def delete_saved_view(tx: Tx, partner: Partner, person_id: UUID, view: SavedView) -> bool:
    """Delete a view; False if it was deleted already."""
    deleted = await tx.execute(
        "delete from saved_view where partner_id = $1 and person_id = $2 and id = $3", partner.id, person_id, view.id
    )
    return bool(deleted == "DELETE 1")
