"""Sets and resets organisations' branding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from almoner.nonprofits.branding import domain, store
from almoner.nonprofits.branding.domain import BrandingOverrides
from almoner.nonprofits.branding.store import load_branding_overrides as load_branding_overrides
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.files import media
from almoner.platform.files.images import Image
from almoner.platform.pages import colours


@dataclass(frozen=True, slots=True)
class BrandingChange:
    """The requested changes; None leaves a member unchanged, an empty text resets it."""

    display_name: str | None = None
    description: str | None = None
    logo: Image | None = None
    images: Sequence[Image] | None = None
    colour: str | None = None


class PrimaryRecordBranding(NamedTuple):
    """The branding of a primary record after a change."""

    primary_record_id: UUID
    overrides: BrandingOverrides


async def update_branding_of_primary_record(
    tx: Tx, organisation_id: UUID, branding_change: BrandingChange
) -> PrimaryRecordBranding:
    """Change the branding.

    Raises NotFound, InvalidBranding. Records of one organisation in several registers share one branding.
    """
    primary = await organisations.get(tx, ALL_PARTNERS, organisation_id)
    before = await store.lock_branding_overrides(tx, primary.id)
    name = domain.normalise_text("name", branding_change.display_name, domain.MAX_NAME_LENGTH)
    description = domain.normalise_text("description", branding_change.description, domain.MAX_DESCRIPTION_LENGTH)
    if name is not None and "\n" in name:
        raise domain.InvalidBranding("the name has more than one line")
    shown = replace(
        before,
        display_name=before.display_name if branding_change.display_name is None else name,
        description=before.description if branding_change.description is None else description,
        primary_color=before.primary_color
        if branding_change.colour is None
        else colours.css_colour(colours.parse_colour(branding_change.colour)),
    )
    if branding_change.logo is not None:
        shown = replace(shown, logo=await _store_image(tx, "logo", branding_change.logo, domain.MAX_LOGO_BYTES))
    if branding_change.images is not None:
        if len(branding_change.images) > domain.MAX_IMAGES:
            raise domain.InvalidBranding(f"there are {len(branding_change.images)} images, at most {domain.MAX_IMAGES}")
        keys = [await _store_image(tx, "image", image, domain.MAX_IMAGE_BYTES) for image in branding_change.images]
        shown = replace(shown, images=tuple(keys))
    await _save_branding(tx, primary.id, before, shown)
    return PrimaryRecordBranding(primary.id, shown)


async def reset_branding_of_primary_record(tx: Tx, organisation_id: UUID) -> PrimaryRecordBranding:
    """Remove all branding. Raises NotFound."""
    primary = await organisations.get(tx, ALL_PARTNERS, organisation_id)
    shown = BrandingOverrides()
    await _save_branding(tx, primary.id, await store.lock_branding_overrides(tx, primary.id), shown)
    return PrimaryRecordBranding(primary.id, shown)


async def _store_image(tx: Tx, name: str, image: Image, max_count: int) -> str:
    domain.ensure_image_size(name, image.content, max_count)
    return await media.insert_image(tx, image.content, image.media_type)


async def _save_branding(tx: Tx, organisation_id: UUID, before: BrandingOverrides, branding: BrandingOverrides) -> None:
    if branding == before:
        return
    await store.update_branding_overrides(tx, organisation_id, branding)
    await organisations.emit_public_details_changed_event(tx, organisation_id)
    left = before.image_keys - branding.image_keys
    for key in left - await store.list_referenced_image_keys(tx, left):
        await media.delete_image(tx, key)
