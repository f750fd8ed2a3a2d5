"""The reference at /docs: complete, for every reader, without scripts and without anything from elsewhere."""

import re
from typing import Any

import pytest
from playwright.async_api import Page

from almoner.platform.reference.shared_parts import with_shared_parts
from tests.pages.site import Site, findings
from tests.support.client import Client
from tests.support.service import Service

WIDTHS = (320, 768, 1280)

ONE_OF_EACH = r"""() => {
    const own = / (id|for|href|aria-labelledby)="[^"]*"/g;
    const shape = one => one.outerHTML.replace(/>[^<]+</g, '>.<').replace(own, '');
    for (const one of [...document.querySelectorAll('main *')].reverse()) {
        const before = one.previousElementSibling;
        if (before && shape(before) === shape(one)) one.remove();
    }
    const seen = new Set();
    for (const one of document.querySelectorAll('.ref-operation')) {
        const made = shape(one);
        seen.has(made) ? one.remove() : seen.add(made);
    }
}"""
"""Leaves one of what axe cannot tell apart: there are hundreds of rows and operations of few shapes."""


async def opened(site: Site, page: Page) -> Page:
    await page.goto(f"{site.base_url}/docs")
    return page


async def open_all(page: Page) -> None:
    """Open every fold, as a reader would one by one."""
    await page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing(site: Site, scheme: Any) -> None:
    async with site.donor(color_scheme=scheme) as page:
        await opened(site, page)
        await open_all(page)
        await page.evaluate(ONE_OF_EACH)
        assert await page.locator(".ref-operation").count() > 3
        assert await findings(page) == []
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("width", WIDTHS)
async def test_it_fits_every_width_without_scripts(site: Site, width: int) -> None:
    async with site.donor(viewport={"width": width, "height": 800}, java_script_enabled=False) as page:
        await opened(site, page)
        assert await page.locator("script").count() == 0
    async with site.donor(viewport={"width": width, "height": 800}) as page:
        await opened(site, page)
        await open_all(page)
        overflow = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(overflow) == 0


async def test_nothing_comes_from_elsewhere(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page)
        await page.wait_for_load_state("networkidle")
    assert {address for _, address, _ in site.seen if not address.startswith(site.base_url)} == set()
    assert site.complaints == []


async def test_the_style_sheet_is_served(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page)
        colour = await page.locator(".ref-operation").first.evaluate("one => getComputedStyle(one).borderTopStyle")
        assert colour == "solid"


async def test_the_keyboard_reaches_the_content_and_opens_a_fold(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page)
        await page.keyboard.press("Tab")
        assert await page.evaluate("() => document.activeElement.textContent") == "Skip to main content"
        await page.keyboard.press("Enter")
        assert page.url.endswith("#main")
        fold = page.locator("details").first
        await fold.locator("summary").focus()
        await page.keyboard.press("Enter")
        assert await fold.get_attribute("open") is not None


async def test_every_operation_and_every_event_has_its_section(anonymous: Client, service: Service) -> None:
    page = (await anonymous.get("/docs")).text
    description = with_shared_parts((await anonymous.get("/openapi.json")).json())
    for path, item in description["paths"].items():
        for method, operation in item.items():
            section = re.search(rf'<h3 id="{operation["operationId"]}">.*?</article>', page, re.DOTALL)
            assert section, operation["operationId"]
            assert f">{method.upper()}</span> <code>{path}</code>" in section[0]
            assert operation["x-scope"] in section[0] if "x-scope" in operation else "Needs no key." in section[0]
            for status in operation["responses"]:
                assert f"<code>{status}</code>" in section[0]
            for parameter in operation["parameters"]:
                assert f"<code>{parameter['name']}</code>" in section[0]
            assert "<h4>Example</h4>" in section[0]
    for name in description["webhooks"]:
        assert f"<code>{name}</code></h3>" in page
    assert len(re.findall(r'<h3 id="', page)) >= len(service.endpoints)


async def test_fragments_lead_somewhere_and_are_unique(anonymous: Client) -> None:
    page = (await anonymous.get("/docs")).text
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


async def test_h3_the_policy_allows_no_script_and_nothing_inline(anonymous: Client) -> None:
    answer = await anonymous.get("/docs")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "style=" not in answer.text
    assert "<style" not in answer.text
    assert answer.headers["content-language"] == "en"
