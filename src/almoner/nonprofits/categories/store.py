"""SQL for categories and their members."""

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.categories.domain import Category
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage

_COLUMNS = "id, name, attributes, image_key, created_at"


def _category(row: Record) -> Category:
    return Category(row["id"], row["name"], row["attributes"], row["image_key"], row["created_at"])


async def insert(tx: Tx, partner: Partner, category: Category) -> bool:
    """Store a new category; False if its name is taken."""
    return bool(
        await tx.fetchval(
            """
            insert into category (id, partner_id, name, attributes, image_key, created_at)
            values ($1, $2, $3, $4, $5, $6) on conflict on constraint category_name do nothing returning true
            """,
            category.id,
            partner.id,
            category.name,
            category.attributes,
            category.image_key,
            category.created_at,
        )
    )


async def find(tx: Tx, partner: Partner, category_id: UUID) -> Category | None:
    """One category of the partner."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from category where partner_id = $1 and id = $2", partner.id, category_id
    )
    return _category(row) if row else None


async def find_for_update(tx: Tx, partner: Partner, category_id: UUID) -> Category | None:
    """Lock one category of the partner until the transaction ends; None if it does not exist."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from category where partner_id = $1 and id = $2 for no key update", partner.id, category_id
    )
    return _category(row) if row else None


async def update(tx: Tx, partner: Partner, category: Category) -> None:
    """Store the changed members of a locked category."""
    await tx.execute(
        "update category set name = $3, attributes = $4, image_key = $5 where partner_id = $1 and id = $2",
        partner.id,
        category.id,
        category.name,
        category.attributes,
        category.image_key,
    )


async def delete(tx: Tx, partner: Partner, category_id: UUID) -> bool:
    """Delete a category and its memberships; False if there was none."""
    removed = await tx.fetchval(
        "delete from category where partner_id = $1 and id = $2 returning true", partner.id, category_id
    )
    return bool(removed)


async def list_page(tx: Tx, partner: Partner, page_: RequestedPage) -> tuple[list[Category], int]:
    """One page of the partner's categories in reading order, and the total, from one snapshot (P7)."""
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from (select count(*) as total from category where partner_id = $1) counted
        left join lateral (
            select {_COLUMNS} from category
            where partner_id = $1 and ($2::uuid is null or id {comparison} $2)
            order by id {order} limit $3
        ) listed on true
        order by id {order}
        """,
        partner.id,
        page_.after_id,
        page_.fetch_limit,
    )
    return [_category(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def load_categories_by_organisation(
    tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]
) -> dict[UUID, list[Category]]:
    """The partner's categories by organisation, in order of creation."""
    rows = await tx.fetch(
        f"""
        select m.organisation_id, {_COLUMNS} from category_member m join category c on c.id = m.category_id
        where m.organisation_id = any($2::uuid[]) and m.partner_id = $1 order by c.id
        """,
        partner.id,
        organisation_ids,
    )
    found: dict[UUID, list[Category]] = {}
    for row in rows:
        found.setdefault(row["organisation_id"], []).append(_category(row))
    return found


async def add_organisation(tx: Tx, partner: Partner, category_id: UUID, organisation_id: UUID) -> bool:
    """Add an organisation that the partner can see to a category; False if there is none. Idempotent."""
    return bool(
        await tx.fetchval(
            """
            with seen as (
                select coalesce(same_as, id) as id from organisation
                where id = $3 and (partner_id is null or partner_id = $1)
            ), added as (
                insert into category_member (partner_id, category_id, organisation_id, added_at)
                select $1, $2, id, $4 from seen on conflict do nothing
            )
            select exists (select from seen)
            """,
            partner.id,
            category_id,
            organisation_id,
            tx.now,
        )
    )


async def remove_organisation(tx: Tx, partner: Partner, category_id: UUID, organisation_id: UUID) -> None:
    """Remove an organisation from a category, by the ID of any of its records."""
    await tx.execute(
        """
        with asked as materialized (select id, same_as from organisation where id = $3)
        delete from category_member where partner_id = $1 and category_id = $2 and organisation_id = any(array(
            select id from asked union select same_as from asked
            union select o.id from asked join organisation o on o.same_as = coalesce(asked.same_as, asked.id)
        ))
        """,
        partner.id,
        category_id,
        organisation_id,
    )


@across_partners("followers")
async def load_categorising_partner_ids_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> dict[UUID, set[UUID]]:
    """The partners that have each of these organisations in a category."""
    rows = await tx.fetch(
        "select distinct organisation_id, partner_id from category_member where organisation_id = any($1::uuid[])",
        list(organisation_ids),
    )
    found: dict[UUID, set[UUID]] = {}
    for row in rows:
        found.setdefault(row["organisation_id"], set()).add(row["partner_id"])
    return found
