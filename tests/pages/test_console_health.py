"""An administrator looks after the service in a browser: what gave up, partners, registers and the audit log."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from almoner.access.people.domain import OPERATORS
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterImportQuarantined
from almoner.platform.jobs import queue
from almoner.platform.observability import incidents
from tests.pages.accounts import is_fine, sign_in
from tests.pages.site import Site
from tests.support import factories, people
from tests.support.factories import unique
from tests.support.written_register import Loader, Written, entry

PAGES = (
    "health",
    "health/findings",
    "health/incidents",
    "health/incidents/new",
    "health/periodic",
    "health/processes",
    "audit-log",
    "registers",
    "register-imports/upload",
    "watch-lists",
    "watch-lists/search",
    "watch-lists/upload",
    "organisations",
    "organisations/unpublished",
    "partners",
    "partners/new",
)


async def unlisted_keys(page: Page) -> list[str]:
    """Shortcuts of links that the page's list of shortcuts does not have, so that they do nothing."""
    links = await page.eval_on_selector_all("[data-key]:is(a, button, summary)", "all => all.map(a => a.dataset.key)")
    listed = await page.eval_on_selector_all("[data-keys-of=page] input", "all => all.map(a => a.dataset.key)")
    return [key for key in links if f"page-{key}" not in listed]


@pytest.mark.usefixtures("axe")
async def test_what_a_quarantined_import_would_change_can_be_read(site: Site, tmp_path: Path) -> None:
    source, day = Written("quarantined-here", "OSCR"), datetime(2026, 3, 1, tzinfo=UTC)
    loader = Loader(site.service.db, tmp_path)
    rows = [entry(f"SC{nth:06}", f"Quartz Guild {nth}") for nth in range(700_000, 700_150)]
    await loader.load(source, day, *rows)
    file = loader.written(source, rows[0]._replace(name="Quartz Guild and Friends"), *rows[1:20])
    with pytest.raises(RegisterImportQuarantined) as caught:
        await registers_flows.import_files(site.service.db, source, [file], as_of=day + timedelta(days=1))
    name = f"{unique('ada').replace(' ', '')}@example.org"
    ada = await people.person(site.service, OPERATORS, name, "administrator")
    secret = await people.authenticator(site.service, ada)
    path = f"/operator/register-imports/{site.service.db.deployment.ids.encode('registerload', caught.value.load.id)}"
    for width in (1280, 375):
        async with site.donor(viewport={"width": width, "height": 900}) as page:
            await page.goto(site.base_url + path)
            await page.wait_for_url("**/operator/sign-in**")
            await sign_in(page, name)
            await page.get_by_label("Code").fill(people.code(site.service, secret))
            await page.get_by_role("button", name="Sign in").click()
            await page.wait_for_url(f"**{path}")
            await expect(
                page.get_by_text("0 registration numbers are added, 1 changed and 130 removed")
            ).to_be_visible()
            await expect(page.get_by_text("name: Quartz Guild and Friends")).to_be_visible()
            await is_fine(page)
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_an_administrator_retries_a_job_by_keyboard_and_every_page_can_be_read(site: Site) -> None:
    name = f"{unique('ada').replace(' ', '')}@example.org"
    ada = await people.person(site.service, OPERATORS, name, "administrator")
    secret = await people.authenticator(site.service, ada)
    name_of_one = unique("Sedge Relief")
    first = await factories.nonprofit(site.service, name=name_of_one)
    async with site.service.db.read() as tx:
        registry = await tx.fetchval("select id from registry where code = 'OSCR'")
    second = await factories.nonprofit(site.service, name=f"{name_of_one} Scotland", registry=registry, country="GBR")
    async with site.service.db.write() as tx:
        await queue.enqueue_job(tx, "selfcheck.run", {})
        number = await tx.fetchval(
            """
            update job set dead_at = $1, failures = 20, attempt = 20, last_error = 'the moon is full'
            where id = (select max(id) from job where kind = 'selfcheck.run') returning id
            """,
            tx.now,
        )
        by = tx.ids.encode(OPERATORS.person_id_type, ada.id)
        fault = await incidents.create_incident(
            tx, "Emails are late", "emails", "investigating", "We look into it.", by
        )
        incident = tx.ids.encode(incidents.ID, fault)
    async with site.donor(viewport={"width": 1280, "height": 800}) as page:
        await page.goto(f"{site.base_url}/operator/health/jobs/{number}")
        await sign_in(page, name)
        await page.get_by_label("Code").fill(people.code(site.service, secret))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(f"**/operator/health/jobs/{number}")
        await is_fine(page)
        await page.keyboard.press("r")
        await page.wait_for_url(f"**/operator/health/jobs/{number}/retry")
        await is_fine(page)
        await page.get_by_role("button", name="Retry the job").press("Enter")
        await page.wait_for_url("**/operator/health/jobs")
        await expect(page.get_by_text("the moon is full")).to_have_count(0)
        await page.set_viewport_size({"width": 375, "height": 700})
        for path in PAGES:
            await page.goto(f"{site.base_url}/operator/{path}")
            await is_fine(page)
            assert await unlisted_keys(page) == [], path
        await page.goto(f"{site.base_url}/operator/health/incidents/{incident}")
        await is_fine(page)
        await page.get_by_role("link", name="Open the public status page").click()
        await page.wait_for_url("**/status")
        await is_fine(page)
        await page.goto(f"{site.base_url}/operator/partners")
        for keys in ("g", "n"):
            await page.keyboard.press(keys)
        await page.wait_for_url("**/operator/organisations")
        await page.get_by_role("link", name=name_of_one, exact=True).click()
        await is_fine(page)
        await page.keyboard.press("b")
        await page.wait_for_url("**/brand")
        await is_fine(page)
        await page.goto(f"{site.base_url}/operator/organisations/{first}/compare")
        await is_fine(page)
        await page.goto(f"{site.base_url}/operator/organisations/{first}/compare?other={second}")
        await is_fine(page)
        await page.keyboard.press("m")
        await page.wait_for_url("**/merge/**")
        await is_fine(page)
        await page.goto(f"{site.base_url}/operator/partners")
        await page.get_by_role("table").get_by_role("link").first.click()
        await is_fine(page)
        await page.get_by_role("link", name="View as the partner").click()
        await is_fine(page)
    assert site.complaints == []
