"""The button on a partner's own site: light, alone, for everybody, and it leads to the page (H8, H10)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.pages.site import Site, findings

PAGE = """<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>A shop</title>
<script src="{site}/embed/give.js" defer></script></head>
<body><main><h1>A shop</h1>{body}</main></body></html>"""


@asynccontextmanager
async def shop(site: Site, body: str, lang: str = "en") -> AsyncIterator[str]:
    """A page of another origin, as strict as a page may be that still loads the script."""
    content = PAGE.format(site=site.base_url, body=body, lang=lang).encode()
    head = "\r\n".join(
        (
            "HTTP/1.1 200 OK",
            "Content-Type: text/html; charset=utf-8",
            f"Content-Length: {len(content)}",
            f"Content-Security-Policy: default-src 'none'; script-src {site.base_url}; base-uri 'none'",
            "Cross-Origin-Embedder-Policy: require-corp",
            "Connection: close",
            "\r\n",
        )
    )

    async def show(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode() + content)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(show, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


async def colours(page: Page) -> tuple[str, str]:
    """Background and ink of the first button."""
    found = await page.evaluate(
        """() => {
            const give = document.querySelector('almoner-give');
            const link = give.querySelector('a') || give.shadowRoot.querySelector('a');
            const style = getComputedStyle(link);
            return [style.backgroundColor, style.color];
        }"""
    )
    return tuple(found)


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("nested", [False, True])
async def test_the_button_leads_to_the_page_and_calls_nobody(site: Site, nested: bool) -> None:
    session = await site.session(name="Capital Area Food Bank")
    url = session["url"]
    body = (
        f'<almoner-give><a href="{url}">Give to the food bank</a></almoner-give>'
        if nested
        else f'<almoner-give href="{url}">Give to the food bank</almoner-give>'
    )
    async with shop(site, body) as address, site.donor() as page:
        await page.goto(address, wait_until="networkidle")
        assert sorted({seen[1] for seen in site.seen} - {f"{address}favicon.ico"}) == [
            address,
            f"{site.base_url}/embed/give.js",
        ]
        link = page.get_by_role("link", name="Give to the food bank")
        await expect(link).to_be_visible()
        assert await findings(page) == []
        box = await link.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{site.base_url}/give/{session['id']}")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Capital Area Food Bank")
    assert site.complaints == []


async def test_without_scripts_the_link_inside_leads_there(site: Site) -> None:
    session = await site.session()
    body = f'<almoner-give><a href="{session["url"]}">Give</a></almoner-give>'
    async with shop(site, body) as address, site.donor(java_script_enabled=False) as page:
        await page.goto(address)
        await page.get_by_role("link", name="Give").click()
        await page.wait_for_url(f"{site.base_url}/give/{session['id']}")


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " java\tscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "",
        "blob:x",
    ],
)
@pytest.mark.parametrize("nested", [False, True])
async def test_an_address_that_is_not_of_the_web_is_no_link(site: Site, href: str, nested: bool) -> None:
    body = (
        f'<almoner-give><a href="{href}">X</a></almoner-give>'
        if nested
        else f'<almoner-give href="{href}">X</almoner-give>'
    )
    async with shop(site, body) as address, site.donor() as page:
        await page.goto(address)
        link = page.locator("almoner-give a")
        await expect(link).to_have_attribute("aria-disabled", "true")
        assert await link.get_attribute("href") is None


async def test_the_words_are_those_of_the_language(site: Site) -> None:
    body = "".join(
        f'<almoner-give id="{tag}" lang="{tag}" href="https://give.example/{tag}" target="_blank"></almoner-give>'
        for tag in ("de-CH", "pt", "ja", "ar", "zh")
    )
    body += '<almoner-give id="around" href="https://give.example/x" label="Give to Löwen"></almoner-give>'
    async with shop(site, body, lang="fr") as address, site.donor() as page:
        await page.goto(address)
        for tag, words in (
            ("de-CH", "Jetzt spenden"),
            ("pt", "Doe agora"),
            ("ja", "寄付する"),
            ("ar", "تبرّع الآن"),
            ("zh", "Donate now"),
        ):
            await expect(page.locator(f"#{tag} a")).to_have_text(words)
        around = page.locator("#around a")
        await expect(around).to_have_text("Faire un don")
        await expect(around).to_have_attribute("aria-label", "Give to Löwen")
        link = page.locator("#de-CH a")
        await expect(link).to_have_attribute("title", "Öffnet einen neuen Tab")
        await expect(link).to_have_attribute("rel", "noopener")
        await page.evaluate("document.querySelector('#ja').setAttribute('lang', 'uk')")
        await expect(page.locator("#ja a")).to_have_text("Пожертвувати")
    assert site.complaints == []


@pytest.mark.parametrize("nested", [False, True])
async def test_h8_the_button_is_legible_by_day_and_by_night(site: Site, nested: bool) -> None:
    url = "https://give.example/x"
    body = (
        f'<almoner-give><a href="{url}">X</a></almoner-give>'
        if nested
        else f'<almoner-give href="{url}">X</almoner-give>'
    )
    async with shop(site, body) as address:
        for options, expected in (
            ({"color_scheme": "light"}, ("rgb(13, 92, 74)", "rgb(255, 255, 255)")),
            ({"color_scheme": "dark"}, ("rgb(116, 214, 183)", "rgb(4, 36, 27)")),
        ):
            given: dict[str, Any] = options
            async with site.donor(**given) as page:
                await page.goto(address)
                assert await colours(page) == expected


async def test_h10_the_script_is_small_and_the_only_file_for_others(site: Site) -> None:
    async with httpx.AsyncClient(base_url=site.base_url) as client:
        script = await client.get("/embed/give.js")
        assert script.status_code == 200
        assert len(script.content) < 7_000
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert script.headers["cross-origin-resource-policy"] == "cross-origin"
        assert script.headers["access-control-allow-origin"] == "*"
        assert "fetch(" not in script.text
        assert "http://" not in script.text + script.text.replace("https?", "")
        again = await client.get("/embed/give.js", headers={"If-None-Match": script.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        page = await client.get("/give?token=x")
        style = next(part for part in page.text.split('"') if part.startswith("/assets/almoner."))
        assert (await client.get(style)).headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in page.headers
