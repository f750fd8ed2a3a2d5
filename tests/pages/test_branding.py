"""A partner's colour and logo beside the nonprofit: legible, light, and never in its place (spec 2.7; H8, H10)."""

import re
from io import BytesIO
from typing import Any, Literal

import asyncpg
import pytest
from PIL import Image as Pillow
from playwright.async_api import expect

from almoner.access.partners import service as partners
from almoner.nonprofits.branding import service as branding
from almoner.platform.database.transactions import Partner
from almoner.platform.files import images
from tests.pages.site import Site, cases, findings
from tests.support.client import Client

# A light, a dark, a loud and a grey colour: none is legible everywhere as it is.
COLOURS = ["#ffd400", "#1a0033", "#ff0055", "#808080"]


def logo(width: int = 900, height: int = 300) -> bytes:
    """A PNG with a transparent ground."""
    picture = Pillow.new("RGBA", (width, height), (0, 0, 0, 0))
    picture.paste((200, 0, 80, 255), (width // 8, height // 8, width // 2, height - height // 8))
    written = BytesIO()
    picture.save(written, "PNG")
    return written.getvalue()


async def branded(site: Site, *, colour: str | None = None, with_logo: bool = False, **body: Any) -> dict[str, Any]:
    """A session of a partner of its own that has a brand."""
    tenant = await site.service.tenant()
    picture = await images.reencode_image(logo(), longest_side=320) if with_logo else None
    async with site.service.db.write() as tx:
        await partners.set_brand(tx, tenant.partner, colour=colour, logo=picture)
    client: Client = site.service.client(tenant.secret)
    site_of_partner = Site(site.service, site.provider, client, site.browser, site.base_url, site.provider_url)
    try:
        return {**await site_of_partner.session(**body), "partner": tenant.partner, "partner_name": tenant.name}
    finally:
        await client.close()


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize(
    ("colour", "scheme"),
    cases(COLOURS, ["light", "dark"], short=[*zip(COLOURS, ["light", "dark", "dark", "light"], strict=True)]),
)
async def test_h8_a_page_in_a_partners_colour_is_legible(
    site: Site, scheme: Literal["light", "dark"], colour: str
) -> None:
    session = await branded(site, colour=colour, with_logo=True)
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 700}) as page:
        await page.goto(session["url"])
        await page.locator("#amount-2500").check()
        brand = await page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--brand').trim()")
        assert re.fullmatch("#[0-9a-f]{6}", brand)
        assert brand not in ("#0d5c4a", "#74d6b7")
        assert await findings(page) == []
        await page.locator("button[type=submit]").click()
        assert await findings(page) == []
        assert not await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert site.complaints == []


async def test_the_logo_names_the_partner_and_the_heading_the_nonprofit(site: Site) -> None:
    session = await branded(site, with_logo=True, name="Capital Area Food Bank")
    sizes: list[int] = []
    async with site.donor() as page:

        async def weigh(response: Any) -> None:
            if not 300 <= response.status < 400:
                sizes.append(len(await response.body()))

        page.on("response", weigh)
        await page.goto(session["url"], wait_until="networkidle")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Capital Area Food Bank")
        picture = page.get_by_role("img", name=session["partner_name"])
        await expect(picture).to_be_visible()
        assert await picture.evaluate("image => image.naturalWidth") == 320
        await expect(page.get_by_text("You came here from")).to_be_visible()
    assert sum(sizes) < 100_000
    assert all(address.startswith(site.base_url) for _, address, _ in site.seen)  # no third party
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_h8_the_nonprofits_own_logo_stands_above_its_name(site: Site, scheme: Literal["light", "dark"]) -> None:
    session = await branded(site, with_logo=True, name="Capital Area Food Bank")
    picture = await images.reencode_image(logo(), longest_side=320)
    async with site.service.db.write() as tx:
        organisation = tx.ids.decode("organisation", session["organisationId"])
        assert organisation is not None
        await branding.update_branding_of_primary_record(
            tx, organisation, branding.BrandingChange(display_name="CAFB", logo=picture)
        )
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 700}) as page:
        await page.goto(session["url"])
        await expect(page.get_by_role("heading", level=1)).to_have_text("CAFB")
        emblem = page.locator(".emblem")
        await expect(emblem).to_be_visible()
        assert await emblem.evaluate("image => image.naturalWidth") == 320
        assert await emblem.get_attribute("alt") == "", "the heading says whose it is"
        await expect(page.get_by_role("img", name=session["partner_name"])).to_be_visible()
        assert await findings(page) == []
        assert not await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert all(address.startswith(site.base_url) for _, address, _ in site.seen)
    assert site.complaints == []


async def test_h8_more_contrast_keeps_the_pages_own_colours(site: Site) -> None:
    session = await branded(site, colour="#ff0055")
    async with site.donor(contrast="more") as page:
        await page.goto(session["url"])
        brand = await page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--brand').trim()")
        assert brand == "#00382b"


async def test_a_brand_changes_in_parts_and_goes_as_a_whole(site: Site) -> None:
    session = await branded(site, colour="#ABC", with_logo=True)
    partner: Partner = session["partner"]
    async with site.service.db.write() as tx:
        first = await partners.get(tx, partner)
        assert first.brand_colour == "#aabbcc"
        changed = await partners.set_brand(tx, partner, logo=await images.reencode_image(logo(60, 60)))
        assert (changed.brand_colour, changed.brand_logo != first.brand_logo) == ("#aabbcc", True)
        assert await tx.fetchval("select count(*) from media where key = $1", first.brand_logo) == 0
        assert await partners.clear_brand(tx, partner) == await partners.get(tx, partner)
        cleared = await partners.get(tx, partner)
        assert (cleared.brand_colour, cleared.brand_logo) == (None, None)
        assert await tx.fetchval("select count(*) from media where key = $1", changed.brand_logo) == 0


async def test_what_cannot_be_a_brand_is_refused(site: Site) -> None:
    session = await branded(site, colour="#123456")
    noisy = Pillow.effect_noise((1000, 1000), 90).convert("RGBA")
    written = BytesIO()
    noisy.save(written, "PNG")
    heavy = await images.reencode_image(written.getvalue())
    async with site.service.db.write() as tx:
        with pytest.raises(ValueError, match="Use a simpler image"):
            await partners.set_brand(tx, session["partner"], logo=heavy)
        with pytest.raises(ValueError, match="is not a colour"):
            await partners.set_brand(tx, session["partner"], colour="red;}body{display:none}")
        with pytest.raises(partners.NoSuchPartner):
            await partners.set_brand(tx, Partner(tx.new_id()), colour="#123456")


@pytest.mark.parametrize("colour", ["red", "#ABCDEF", "#abc", "#12345g", "#123456;"])
async def test_the_database_takes_colours_alone(site: Site, colour: str) -> None:
    """They are written into the page's style sheet."""
    session = await branded(site, colour="#123456")
    with pytest.raises(asyncpg.CheckViolationError):
        async with site.service.db.write() as tx:
            await tx.execute("update partner set brand_colour = $2 where id = $1", session["partner"].id, colour)
