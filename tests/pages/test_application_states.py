"""Every state of the form and of the page of an application that the journeys do not stop at, for everybody (H8)."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from almoner.platform.pages.translations import TranslationCatalogues
from almoner.validation.applications.form import submit
from tests.pages.site import Site, shortcomings
from tests.support import appeals, factories
from tests.support.applications import PERSON, QUESTIONS, configured, invited
from tests.support.client import data
from tests.support.submissions import CHOIRS, applied, ended
from tests.support.submissions import configured as checks

PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 800}}
BOTH = pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "ar")])
Scheme = Literal["light", "dark"]


async def is_fine(page: Page) -> None:
    """Nothing is wrong with it for anybody."""
    assert await shortcomings(page) == [], page.url


async def on(page: Page) -> None:
    """On to the next step."""
    await page.locator("main .actions button").first.click()


async def refused(page: Page) -> None:
    """The page that comes says what is wrong, and is fine."""
    await expect(page.get_by_role("alert").first).to_be_visible()
    await is_fine(page)


@BOTH
async def test_h8_axe_finds_nothing_on_any_step_and_error_of_the_form(
    site: Site, axe: None, scheme: Scheme, language: str
) -> None:
    known = await factories.nonprofit(site.service, name=f"Kite {language} Club")
    made = await configured(site.api, name=f"States {language}", partnerFields=QUESTIONS)
    invite = await invited(site.api, hostedConfigId=made["id"], language=language)
    home = f"{site.base_url}/apply/{invite['id']}"
    async with site.donor(color_scheme=scheme, **PHONE) as page:
        await page.goto(invite["url"])
        await page.goto(f"{home}/nonprofit/other")
        await is_fine(page)
        await page.goto(f"{home}/nonprofit/other?country=XXX")
        await refused(page)
        await page.goto(f"{home}/nonprofit/other?country=USA")
        await is_fine(page)
        await page.goto(f"{home}/nonprofit/other?country=GBR")  # with several registers
        await is_fine(page)
        await page.evaluate("document.querySelectorAll('form').forEach(form => form.noValidate = true)")
        await on(page)
        await refused(page)
        await page.goto(f"{home}/colleague")
        await is_fine(page)
        for email in ("wrong", f"colleague-{language}@relief.example", f"colleague-{language}@relief.example"):
            await page.locator("#email").fill(email)
            await page.locator("main form button").last.click()
            await page.wait_for_load_state()
            await is_fine(page)
        await page.goto(f"{home}/nonprofit?q=kite {language}")
        await page.locator(".bodies button").first.click()
        for field, value in PERSON.items():
            await page.locator(f"#{field}").fill(value)
        await on(page)
        await page.locator("#q-reason").wait_for()
        await on(page)
        await refused(page)
        await page.locator("#q-reason").fill("x")
        await page.locator("#q-size-1").check()
        await on(page)
        await page.goto(home)  # welcome back
        await is_fine(page)
        await page.goto(f"{home}/documents")
        await on(page)
        await page.wait_for_url("**/review")
        async with site.service.db.write() as tx:
            gone = tx.ids.decode("organisation", known)
            await tx.execute("update organisation set active = false where id = $1", gone)
        await on(page)
        await refused(page)
        assert page.url.endswith("/review")
    assert [one for one in site.complaints if "422" not in one and "429" not in one] == []


async def _answered(site: Site, language: str, name: str) -> dict[str, Any]:
    alone = await checks(site.api, "validation_request")
    made = await applied(site.api, organisationName=name, configurationId=alone, language=language)
    return await ended(site.service, site.api, made)


async def received(site: Site, language: str) -> dict[str, Any]:
    """Nobody outside has to act."""
    speaks = await checks(site.api, "agent_verification", emailVerification=False)
    nonprofit = await factories.nonprofit(site.service)
    made = await applied(site.api, organisationId=nonprofit, configurationId=speaks, language=language)
    return await ended(site.service, site.api, made)


async def processed(site: Site, language: str) -> dict[str, Any]:
    """The partner decides."""
    choirs = await checks(site.api, "eligibility", allowedActivitySubTags=[CHOIRS])
    nonprofit = await factories.nonprofit(site.service)
    made = await applied(site.api, organisationId=nonprofit, configurationId=choirs, language=language)
    return await ended(site.service, site.api, made)


async def succeeded(site: Site, language: str) -> dict[str, Any]:
    """Accepted."""
    return await _answered(site, language, "test_accept")


async def upheld(site: Site, language: str) -> dict[str, Any]:
    """Refused, and so it stays."""
    failed = await _answered(site, language, "test_reject_other")
    await appeals.decide(site.service, await appeals.made(site.api, failed), "rejected")
    return failed


async def reversed_(site: Site, language: str) -> dict[str, Any]:
    """Refused, which was wrong; an address has yet to be confirmed."""
    both = await checks(site.api, "validation_request", "agent_verification")
    made = await applied(site.api, organisationName="test_reject_other", configurationId=both, language=language)
    failed = await ended(site.service, site.api, made)
    await appeals.decide(site.service, await appeals.made(site.api, failed), "accepted")
    return await ended(site.service, site.api, failed)


STATES: dict[str, Callable[[Site, str], Awaitable[dict[str, Any]]]] = {
    "received": received,
    "processed": processed,
    "succeeded": succeeded,
    "upheld": upheld,
    "reversed": reversed_,
}


@BOTH
async def test_h8_axe_finds_nothing_wherever_an_application_stands(
    site: Site, axe: None, scheme: Scheme, language: str
) -> None:
    speech = TranslationCatalogues().language(language)
    async with site.donor(color_scheme=scheme, **PHONE) as page:
        for state, make in STATES.items():
            made = await make(site, language)
            named = site.service.db.deployment.ids.decode("validationsubmission", made["id"])
            assert named is not None
            async with site.service.db.read() as tx:
                link = submit.build_status_page_url(tx, named, tx.now)
            await page.goto(link)
            reported = speech.text(f"applied.{state}.title", partner="", organisation="").strip()
            await expect(page.locator("h1")).to_contain_text(reported)
            await is_fine(page)
    assert site.complaints == []


@BOTH
async def test_h8_axe_finds_nothing_where_a_link_is_mailed_anew_or_an_upload_is_refused(
    site: Site, axe: None, scheme: Scheme, language: str
) -> None:
    alone = await checks(site.api, "validation_request")
    invite = await invited(site.api, hostedConfigId=alone, language=language)
    await factories.nonprofit(site.service, name=f"Kestrel {language} Watch")
    home = f"{site.base_url}/apply/{invite['id']}"
    async with site.donor(color_scheme=scheme, **PHONE) as page:
        await page.goto(invite["url"])
        await page.goto(f"{home}/nonprofit?q=kestrel {language}")
        await page.locator(".bodies button").first.click()
        for field, value in {**PERSON, "email": f"kestrel-{language}@relief.example"}.items():
            await page.locator(f"#{field}").fill(value)
        await on(page)
        await page.locator("#file").set_input_files({"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"no"})
        await page.locator("form.upload button").first.click()
        await refused(page)
        await on(page)
        await page.wait_for_url("**/review")
        await on(page)
        await page.wait_for_url("**/application/**")
    assert data(await site.api.get(f"/v1/validation-invites/{invite['id']}"))["status"] == "complete"
    async with site.donor(color_scheme=scheme, **PHONE) as stranger:
        await stranger.goto(invite["url"])
        await is_fine(stranger)
        await stranger.locator("main form button").last.click()
        await stranger.wait_for_url("**did=sent**")
        await is_fine(stranger)
        await stranger.goto(invite["url"])
        await stranger.locator("main form button").last.click()
        await refused(stranger)


async def test_h8_the_form_holds_at_four_hundred_percent_zoom(site: Site) -> None:
    """A window of 1280 px at 400 % has 320 CSS pixels and a fourth of the height."""
    long = "Wohltätigkeitsorganisationsverzeichnis"
    label = {"en": "W", "de": f"Welchen {long}seintrag haben Sie?"}
    fields = [{"id": "which", "type": "long_text", "required": True, "labels": label}]
    made = await configured(site.api, name="Zoom", branding={"displayName": f"{long} " * 2}, partnerFields=fields)
    invite = await invited(site.api, hostedConfigId=made["id"], language="de")
    home = f"{site.base_url}/apply/{invite['id']}"
    async with site.donor(viewport={"width": 320, "height": 256}, device_scale_factor=4) as page:
        await page.goto(invite["url"])
        for step in (
            "",
            "/nonprofit",
            "/nonprofit/other?country=USA",
            "/person",
            "/questions",
            "/documents",
            "/colleague",
        ):
            await page.goto(f"{home}{step}")
            wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
            assert not wide, f"{step} scrolls sideways"
            last = page.locator("main .button").last
            await last.scroll_into_view_if_needed()
            await expect(last).to_be_in_viewport()
            box = await last.bounding_box()
            assert box is not None
            assert box["height"] < 128, f"{step}: half of the window"
