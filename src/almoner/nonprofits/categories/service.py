"""Creates and changes categories and their organisations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import asyncpg

from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.patch import UnsetType, value_or_current
from almoner.nonprofits.categories import domain, store
from almoner.nonprofits.categories.domain import Attribute, Category, CategoryNameTaken
from almoner.nonprofits.categories.store import list_page as list_page
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.files import media
from almoner.platform.files.images import Image

Attributes = Mapping[str, Attribute]


async def create(tx: Tx, partner: Partner, name: str, attributes: Attributes | None) -> Category:
    """Create a category. Raises IncorrectParams, UserNameTaken."""
    _check(attributes)
    category = Category(tx.new_id(), name, attributes, None, tx.now)
    if not await store.insert(tx, partner, category):
        raise CategoryNameTaken(f"body.name '{name}' is the name of another category")
    return category


async def get(tx: Tx, partner: Partner, category_id: UUID) -> Category:
    """One category. Raises NotFound."""
    if (category := await store.find(tx, partner, category_id)) is None:
        raise NotFound
    return category


async def load_categories_by_organisation(
    tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]
) -> dict[UUID, list[Category]]:
    """The partner's categories of each organisation, by creation; organisations in none are omitted."""
    return await store.load_categories_by_organisation(tx, partner, organisation_ids) if organisation_ids else {}


async def load_categorising_partner_ids_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> Mapping[UUID, set[UUID]]:
    """The partners that have each of these organisations in a category (settled 6)."""
    return await store.load_categorising_partner_ids_by_organisation(tx, organisation_ids)


async def update(
    tx: Tx, partner: Partner, category_id: UUID, name: str | UnsetType, attributes: Attributes | UnsetType | None
) -> Category:
    """Change a category. Raises NotFound, IncorrectParams, UserNameTaken."""
    category = await _lock(tx, partner, category_id)
    changed = replace(
        category,
        name=value_or_current(name, category.name),
        attributes=value_or_current(attributes, category.attributes),
    )
    _check(changed.attributes)
    try:
        await store.update(tx, partner, changed)
    except asyncpg.UniqueViolationError:
        raise CategoryNameTaken(f"body.name '{changed.name}' is the name of another category") from None
    return changed


async def set_image(tx: Tx, partner: Partner, category_id: UUID, image: Image) -> None:
    """Store an image of the category in place of the previous one. Raises NotFound."""
    category = await _lock(tx, partner, category_id)
    key = await media.insert_image(tx, image.content, image.media_type)
    await store.update(tx, partner, replace(category, image_key=key))
    if category.image_key is not None:
        await media.delete_image(tx, category.image_key)


async def delete(tx: Tx, partner: Partner, category_id: UUID) -> None:
    """Remove a category; its organisations stay. Raises NotFound."""
    if not await store.delete(tx, partner, category_id):
        raise NotFound


async def add_organisation(tx: Tx, partner: Partner, category_id: UUID, organisation_id: UUID) -> None:
    """Add an organisation to a category; idempotent. Raises NotFound for either ID."""
    await _lock(tx, partner, category_id)
    if not await store.add_organisation(tx, partner, category_id, organisation_id):
        raise NotFound


async def remove_organisation(tx: Tx, partner: Partner, category_id: UUID, organisation_id: UUID) -> None:
    """Remove an organisation from a category; does nothing if it is not in it. Raises NotFound."""
    await get(tx, partner, category_id)
    await store.remove_organisation(tx, partner, category_id, organisation_id)


async def _lock(tx: Tx, partner: Partner, category_id: UUID) -> Category:
    if (category := await store.find_for_update(tx, partner, category_id)) is None:
        raise NotFound
    return category


def _check(attributes: Attributes | None) -> None:
    if attributes is not None and (found := domain.find_attribute_problems(attributes)):
        raise IncorrectParams(*found)
