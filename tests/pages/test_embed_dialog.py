"""The static site of the examples: its button opens the form in a dialog, and the payment is for the whole window."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, expect

from tests.pages.site import Site, fill, findings, pay
from tests.support import factories

FOLDER = Path(__file__).parents[2] / "examples" / "site"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css"}
PHONE = {"width": 320, "height": 640}


@asynccontextmanager
async def served(site: Site, slug: str) -> AsyncIterator[str]:
    """The folder as any static host serves it, for a deployment at another address."""

    def respond(path: str) -> bytes:
        file = FOLDER / (path.lstrip("/") or "index.html")
        if not file.is_file():
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        text = (
            file.read_text("utf-8").replace("http://localhost:8080", site.base_url).replace("/g/otters", f"/g/{slug}")
        )
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {TYPES[file.suffix]}\r\nContent-Length: {len(text.encode())}\r\n"
        return f"{head}Connection: close\r\n\r\n{text}".encode()

    async def show(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        writer.write(respond(urlsplit(request.split()[1].decode()).path))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(show, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def link_for(site: Site, **body: Any) -> dict[str, Any]:
    """A giving link of one currency."""
    return await factories.giving_link(site.service, site.api, currencies=["USD"], **body)


async def opened(page: Page, address: str) -> None:
    """Press the button by keyboard."""
    await page.goto(address)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("viewport", [PHONE, None])
async def test_the_form_opens_in_a_dialog_and_the_payment_takes_the_window(
    site: Site, viewport: dict[str, int] | None
) -> None:
    made = await link_for(site)
    async with (
        served(site, made["slug"]) as address,
        site.donor(**({"viewport": viewport} if viewport else {})) as page,
    ):
        await site.api.patch(f"/v1/giving-links/{made['id']}", {"allowedOrigins": [address]})
        await opened(page, address)
        dialog, frame = page.get_by_role("dialog"), page.frame_locator("iframe")
        await expect(frame.get_by_label("First name")).to_be_visible()
        assert await findings(page) == []
        await expect(page.locator("iframe")).to_be_focused()
        await frame.get_by_label("First name").fill("Grace")
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        link = page.get_by_role("link", name="Donate to the otters")
        await expect(link).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("iframe")).to_be_focused()
        assert await frame.get_by_label("First name").input_value() == "Grace", "it was hidden, and not lost"
        await dialog.get_by_role("button", name="Close").click()
        await expect(dialog).to_have_count(0)
        await page.keyboard.press("Enter")
        await expect(frame.get_by_label("First name")).to_be_visible()
        await fill(page.frames[-1])
        await frame.locator("form button[type=submit]").first.click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await pay(page)
        await page.wait_for_url("**/thanks")
    assert (await site.donations())[0]["givingLinkId"] == made["id"]


async def test_on_a_site_that_is_not_named_the_button_is_the_link(site: Site) -> None:
    for named in ({}, {"allowedOrigins": ["https://www.example.org"]}):
        made = await link_for(site, **named)
        async with served(site, made["slug"]) as address, site.donor() as page:
            await opened(page, address)
            await page.wait_for_url(made["url"])
            await expect(page.get_by_label("First name")).to_be_visible()
