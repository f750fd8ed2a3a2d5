"""Setting how an organisation is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from almoner.nonprofits.branding import domain, store
from almoner.nonprofits.branding.domain import Shown
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.files import media
from almoner.platform.files.images import Image
from almoner.platform.pages import colours


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to change; what is None stays. An empty text goes back to the register's; ``images`` replace all."""

    display_name: str | None = None
    description: str | None = None
    logo: Image | None = None
    images: Sequence[Image] | None = None
    colour: str | None = None


async def show(tx: Tx, organisation_id: UUID, wish: Wish) -> tuple[UUID, Shown]:
    """(the record that answers for it, how it is shown now). Raises NotFound, BrandingRefused, ValueError.

    An organisation in several registers is one, with one branding.
    """
    principal = await organisations.get(tx, EVERYONE, organisation_id)
    before = await store.lock(tx, EVERYONE, principal.id)
    name = domain.text("name", wish.display_name, domain.LONGEST_NAME)
    description = domain.text("description", wish.description, domain.LONGEST_DESCRIPTION)
    if name is not None and "\n" in name:
        raise domain.BrandingRefused("the name has more than one line")
    shown = replace(
        before,
        display_name=before.display_name if wish.display_name is None else name,
        description=before.description if wish.description is None else description,
        primary_color=before.primary_color if wish.colour is None else colours.written(colours.parse(wish.colour)),
    )
    if wish.logo is not None:
        shown = replace(shown, logo=await _kept(tx, "logo", wish.logo, domain.MOST_LOGO_BYTES))
    if wish.images is not None:
        if len(wish.images) > domain.MOST_IMAGES:
            raise domain.BrandingRefused(f"there are {len(wish.images)} images, at most {domain.MOST_IMAGES}")
        keys = [await _kept(tx, "image", image, domain.MOST_IMAGE_BYTES) for image in wish.images]
        shown = replace(shown, images=tuple(keys))
    await _replace(tx, principal.id, before, shown)
    return principal.id, shown


async def clear(tx: Tx, organisation_id: UUID) -> tuple[UUID, Shown]:
    """Show it as its register does. Raises NotFound."""
    principal = await organisations.get(tx, EVERYONE, organisation_id)
    shown = Shown()
    await _replace(tx, principal.id, await store.lock(tx, EVERYONE, principal.id), shown)
    return principal.id, shown


async def _kept(tx: Tx, name: str, image: Image, most: int) -> str:
    domain.small_enough(name, image.content, most)
    return await media.insert(tx, image.content, image.media_type)


async def _replace(tx: Tx, organisation_id: UUID, before: Shown, shown: Shown) -> None:
    if shown == before:
        return
    await store.update(tx, EVERYONE, organisation_id, shown)
    await organisations.tell_shown(tx, organisation_id)
    left = before.keys - shown.keys
    for key in left - await store.shown(tx, EVERYONE, left):
        await media.delete(tx, key)
