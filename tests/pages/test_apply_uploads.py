"""What is uploaded by mistake or by malice, links that are over, and forms that are not ours."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.pages.site import Site, shortcomings
from tests.support import factories
from tests.support.agents import link_in
from tests.support.applications import Form, invited
from tests.support.client import data
from tests.support.hostile_files import HONEST, PNG

HUGE = 12 * 1024 * 1024


async def is_fine(page: Page) -> None:
    """Nothing is wrong with it for anybody."""
    assert await shortcomings(page) == [], page.url


async def upload(page: Page, name: str, media_type: str, content: bytes | int, folder: Path) -> None:
    """Upload one file, of so many zero bytes where a number says it: a browser takes large ones from the disk."""
    file: Any = {"name": name, "mimeType": media_type, "buffer": content}
    if isinstance(content, int):
        file = folder / name
        with file.open("wb") as large:
            large.truncate(content)
    await page.set_input_files("#file", file)
    await page.get_by_role("button", name="Upload document").click()


async def test_wrong_huge_and_hostile_files_are_refused_in_words_and_good_ones_taken(
    site: Site, axe: None, tmp_path: Path
) -> None:
    invite = await invited(site.api)
    async with site.donor(viewport={"width": 320, "height": 700}) as page:
        await page.goto(invite["url"])
        await page.goto(f"{site.base_url}/apply/{invite['id']}/documents")
        await page.get_by_role("button", name="Upload document").click()
        await expect(page.locator("#file-problem")).to_contain_text("Choose a file to upload")
        for name, media_type, content, words in (
            ("notes.txt", "text/plain", b"hello", "must be a JPG, PNG, HEIC or PDF"),
            ("page.png", "image/png", b"<html><script>alert(1)</script>", "must be a JPG, PNG, HEIC or PDF"),
            ("huge.png", "image/png", 26 * 1024 * 1024, "must be 25 MB or smaller"),
            ("zeros.pdf", "application/pdf", HUGE, "must be a JPG, PNG, HEIC or PDF"),
        ):
            await upload(page, name, media_type, content, tmp_path)
            await expect(page.locator("#file-problem")).to_contain_text(words)
            await expect(page.locator("#file")).to_have_attribute("aria-describedby", "file-hint file-problem")
            await expect(page.get_by_role("alert")).to_be_focused()
        await is_fine(page)
        await upload(page, "../../etc/passwd<script>.png", "image/png", HONEST[PNG], tmp_path)
        await expect(page.locator(".papers li")).to_have_count(1)
        await expect(page.get_by_text("Your document has been uploaded.")).to_be_visible()
        shown = await page.content()
        assert "/etc" not in shown, "of its name the last part alone"
        assert "passwd<script>" not in shown
        await is_fine(page)


async def test_an_expired_link_says_so_kindly(site: Site, axe: None) -> None:
    invite = await invited(site.api, language="de")
    async with site.donor(viewport={"width": 320, "height": 700}) as page:
        await page.goto(invite["url"])
        site.service.clock.advance(timedelta(days=7))
        await page.reload()
        await expect(page.get_by_role("heading", name="Dieser Link ist abgelaufen")).to_be_visible()
        await is_fine(page)
        answer = await page.goto(invite["url"])
        assert answer is not None
        assert answer.status == 410


async def test_a_used_link_shows_nothing_and_has_the_link_of_the_page_mailed(site: Site, axe: None) -> None:
    form = Form(site.service, await invited(site.api, language="fr"))
    await form.open()
    await form.fill(email="used@relief.example")
    await form.send()
    async with site.donor(viewport={"width": 320, "height": 700}, java_script_enabled=False) as page:
        await page.goto(form.invite["url"])
        await expect(page.locator("h1")).to_have_text("Cette demande a été envoyée")
        assert "Hill Road Relief" not in await page.content()
        assert "used@relief.example" not in await page.content()
        await page.get_by_role("button", name="M’envoyer le lien").click()
        await expect(page.get_by_role("status")).to_contain_text("le lien y est en route")
        await page.get_by_role("button", name="M’envoyer le lien").click()
        await expect(page.get_by_role("alert")).to_contain_text("réessayez demain")
        [mail] = [mail for mail in await mails_of(site, "used@relief.example") if "Le lien vers" in mail["subject"]]
        await page.goto(link_in(mail))
        await expect(page.get_by_text("Hill Road Relief").first).to_be_visible()
    async with site.donor(viewport={"width": 320, "height": 700}) as page:
        await page.goto(form.invite["url"])
        await is_fine(page)


async def mails_of(site: Site, email: str) -> list[dict[str, Any]]:
    """What was written to somebody, newest first."""
    await site.service.drain()
    found: list[dict[str, Any]] = data(await site.api.get("/v1/sandbox/mailbox", to=email))
    return found


@pytest.mark.parametrize("path", ["/apply", "/apply?token=x", "/apply/x", "/apply/x/person", "/apply/x/y/z"])
async def test_what_is_no_link_says_so_kindly(site: Site, axe: None, path: str) -> None:
    async with site.donor() as page:
        answer = await page.goto(f"{site.base_url}{path}")
        assert answer is not None
        assert answer.status == 404
        await expect(page.get_by_role("heading", name="This link is not valid")).to_be_visible()
        await is_fine(page)


async def test_an_invite_opens_for_who_has_its_link_alone(site: Site) -> None:
    invite, other = await invited(site.api), await invited(site.api)
    async with site.donor() as page:
        await page.goto(other["url"])
        answer = await page.goto(f"{site.base_url}/apply/{invite['id']}")
        assert answer is not None
        assert answer.status == 404


async def test_no_page_asks_anybody_else(site: Site) -> None:
    await factories.nonprofit(site.service, name="Quarry Lane School")
    invite = await invited(site.api)
    async with site.donor() as page:
        await page.goto(invite["url"])
        for step in ("/nonprofit?q=quarry", "/nonprofit/other?country=GBR", "/person", "/documents", "/colleague"):
            await page.goto(f"{site.base_url}/apply/{invite['id']}{step}")
    assert {url.split("/")[2] for _, url, _ in site.seen} == {site.base_url.split("/")[2]}
    assert site.complaints == []
