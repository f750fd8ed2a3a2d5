"""Finance at the end of a month, by keyboard: it exports the month, and reconciles a disbursement to its donations."""

import csv
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.pages.accounts import acme, is_fine
from tests.pages.site import Site
from tests.pages.test_dashboard import enter
from tests.support import factories


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))


class Hands:
    """Presses Enter on what has the focus, and counts how often."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    async def press(self, what: Locator) -> None:
        """One action."""
        await what.focus()
        await self.page.keyboard.press("Enter")
        self.actions += 1

    async def download(self, what: Locator) -> list[dict[str, str]]:
        """One action, and the rows of the file that it brings."""
        async with self.page.expect_download() as begun:
            await self.press(what)
        return rows_of(await (await begun.value).path())


@pytest.mark.usefixtures("axe")
async def test_by_keyboard_finance_exports_a_month_and_reconciles_a_disbursement(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    disbursement = await factories.disbursement(site.service, api)
    async with site.donor() as page:
        await enter(here, page, "finance", "/home")
        hands, pages = Hands(page), page.get_by_role("navigation", name="Pages")
        await hands.press(pages.get_by_role("link", name="Reports"))
        await expect(page.get_by_role("heading", name="Reports")).to_be_visible()
        await is_fine(page)
        await hands.press(page.locator("main .rows a").first)
        await hands.press(page.get_by_role("button", name="Generate report"))
        await expect(page.get_by_text("The report is being generated.")).to_be_visible()
        await site.service.drain()
        await expect(page.get_by_role("link", name="Download CSV")).to_be_visible()  # without a reload
        assert "/reports/" in page.url
        await is_fine(page)
        assert [row["received"] for row in await hands.download(page.get_by_role("link", name="Download CSV"))]
        await hands.press(pages.get_by_role("link", name="Disbursements"))
        await hands.press(page.locator("tbody th a").first)
        await expect(page.get_by_role("heading", name="Donations in this disbursement")).to_be_visible()
        paid = await hands.download(page.get_by_role("link", name="Download CSV"))
        assert sum(int(row["paidAmount"]) for row in paid) == disbursement["amount"]
        assert hands.actions <= 10
        await page.set_viewport_size({"width": 320, "height": 700})
        for report in ("fees", "disbursements", "reconciliation"):
            await page.goto(f"{here.home}/reports/{site.service.clock.now():%Y-%m}?report={report}")
            await is_fine(page)
    await api.close()
