"""SQL for organisations' own branding."""

from collections.abc import Collection
from uuid import UUID

from almoner.nonprofits.branding.domain import BrandingOverrides
from almoner.nonprofits.organisations.domain import normalise_indexed_text
from almoner.platform.database.transactions import Tx


async def lock_branding_overrides(tx: Tx, organisation_id: UUID) -> BrandingOverrides:
    """Lock and return the branding until the transaction ends."""
    await tx.execute(
        "insert into organisation_branding (organisation_id) values ($1) on conflict do nothing", organisation_id
    )
    row = await tx.fetchrow(
        """
        select display_name, description, logo, images, primary_color from organisation_branding
        where organisation_id = $1 for update
        """,
        organisation_id,
    )
    assert row is not None
    return BrandingOverrides(
        row["display_name"], row["description"], row["logo"], tuple(row["images"]), row["primary_color"]
    )


async def load_branding_overrides(tx: Tx, organisation_id: UUID) -> BrandingOverrides:
    """The branding that an organisation has set; empty if none."""
    row = await tx.fetchrow(
        """
        select display_name, description, logo, images, primary_color from organisation_branding
        where organisation_id = $1
        """,
        organisation_id,
    )
    return BrandingOverrides(**{**row, "images": tuple(row["images"])}) if row else BrandingOverrides()


async def update_branding_overrides(tx: Tx, organisation_id: UUID, branding: BrandingOverrides) -> None:
    """Store the branding and update the search index."""
    await tx.execute(
        """
        update organisation_branding set display_name = $2, description = $3, logo = $4, images = $5, primary_color = $6
        where organisation_id = $1
        """,
        organisation_id,
        branding.display_name,
        branding.description,
        branding.logo,
        list(branding.images),
        branding.primary_color,
    )
    await tx.execute(
        """
        insert into organisation_branding_change (organisation_id, at, display_name, description, logo, images)
        select organisation_id, $2, display_name, description, logo, images
        from organisation_branding where organisation_id = $1
        """,
        organisation_id,
        tx.now,
    )
    await tx.execute(
        "update organisation set updated_at = $2, search_shown = $3, search_shown_description = $4 where id = $1",
        organisation_id,
        tx.now,
        normalise_indexed_text(branding.display_name),
        normalise_indexed_text(branding.description),
    )


async def list_referenced_image_keys(tx: Tx, keys: Collection[str]) -> set[str]:
    """The images among these that an organisation uses."""
    rows = await tx.fetch(
        """
        select key from unnest($1::text[]) key
        where exists (select from organisation_branding b where b.logo = key or key = any(b.images))
        """,
        list(keys),
    )
    return {row["key"] for row in rows}
