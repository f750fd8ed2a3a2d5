"""Where an application stands, for the applicant: refused, appealed, accepted; missing documents; on any device."""

from itertools import count
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from almoner.platform.pages.translations import TranslationCatalogues
from tests.pages.site import Site, shortcomings
from tests.support import agents, appeals
from tests.support.client import data
from tests.support.hostile_pdfs import pdf
from tests.support.submissions import applied, configured, ended, shown

PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 800}}
REFUSED = "test_reject_not_eligible"
_numbers = count(1)


def address() -> str:
    """Of one more applicant."""
    return f"status{next(_numbers)}@elsewhere.example"


async def mails(site: Site, email: str) -> list[dict[str, Any]]:
    """What was written to somebody about an application, newest first."""
    await site.service.drain()
    found = data(await site.api.get("/v1/sandbox/mailbox", to=email, pageSize=100))
    return [mail for mail in found if any("/application?" in link for link in mail["links"])]


async def refused(site: Site, *checks: str, **body: Any) -> tuple[dict[str, Any], str]:
    """An application that was refused, and the link to its page."""
    email = address()
    if checks:
        body["configurationId"] = await configured(site.api, *checks)
    made = await applied(site.api, email=email, **{"organisationName": REFUSED, **body})
    done = await ended(site.service, site.api, made)
    assert done["status"] == "failed", done
    return done, agents.link_in((await mails(site, email))[0])


async def waiting(site: Site, **body: Any) -> tuple[dict[str, Any], str]:
    """An application whose nonprofit no register knows, and the link to its page."""
    email = address()
    configuration = await configured(site.api, "validation_request", "agent_verification", **body.pop("look", {}))
    made = await applied(site.api, email=email, configurationId=configuration, registryId="99-1234567", **body)
    return await ended(site.service, site.api, made), agents.link_in((await mails(site, email))[-1])


async def is_fine(page: Page) -> None:
    """Nothing is wrong with it for anybody."""
    assert await shortcomings(page) == [], page.url


async def reach(page: Page, selector: str) -> None:
    """Come to something by the Tab key alone."""
    for _ in range(25):
        await page.keyboard.press("Tab")
        if await page.locator(f"{selector}:focus").count():
            return
    raise AssertionError(f"Tab does not reach {selector}")


async def test_h8_refused_then_appealed_by_keyboard_without_scripts_and_accepted(site: Site) -> None:
    failed, link = await refused(site)
    async with site.donor(java_script_enabled=False) as page:
        await page.goto(link)
        assert "token" not in page.url
        await expect(page.locator("h1")).to_have_text("Your application was not accepted")
        await expect(page.get_by_text("does not accept organisations of this kind")).to_be_visible()
        await reach(page, "#text")
        await page.keyboard.type("We have been a charity since 1901; see the register.")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("We have received your appeal")
        assert await page.locator("#text").count() == 0
        await appeals.decide(site.service, (await shown(site.api, failed))["appeal"], "accepted")
        done = await ended(site.service, site.api, failed)
        # The appeal by the mailed link has confirmed the address: nothing is left to do.
        assert (done["status"], done["agentVerification"]["status"]) == ("succeeded", "approved"), done
        await page.reload()
        await expect(page.locator("h1")).to_have_text("Your application was accepted")


async def test_h8_an_appeal_that_changes_nothing_is_told(site: Site) -> None:
    failed, link = await refused(site)
    appeal = await appeals.made(site.api, failed)
    await appeals.decide(site.service, appeal, "rejected")
    async with site.donor() as page:
        await page.goto(link)
        await expect(page.locator("h1")).to_have_text("Your appeal was not successful")
        assert await page.locator("#text").count() == 0


async def test_h8_a_missing_document_is_handed_in_on_the_page(site: Site) -> None:
    made, link = await waiting(site)
    assert [one["code"] for one in made["requirements"]] == ["registration_evidence", "confirmation"]
    async with site.donor(**PHONE) as page:
        await page.goto(link)
        await expect(page.locator("h1")).to_have_text("We need more information")
        await page.locator("form.upload button").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.get_by_label("The nonprofit is registered").check()
        await page.locator("#file").set_input_files(
            {"name": "certificate.pdf", "mimeType": "application/pdf", "buffer": pdf()}
        )
        await page.locator("form.upload button").click()
        await expect(page.get_by_text("Your document has been uploaded.")).to_be_visible()
        await expect(page.locator(".papers li")).to_have_count(1)
        await expect(page.get_by_text("A document showing that")).to_have_count(0)
        await expect(page.locator("h1")).to_have_text("Confirm by email")
    after = await shown(site.api, made)
    assert "registration_evidence" not in [one["code"] for one in after["requirements"]]
    request = data(await site.api.get(f"/v1/validation-requests/{made['validationRequestId']}"))
    assert len(request["documents"]) == 1


@pytest.mark.parametrize(
    ("scheme", "language"), [("light", "en"), ("dark", "ar"), pytest.param("dark", "de", marks=pytest.mark.long)]
)
async def test_h8_axe_finds_nothing_in_any_state(
    site: Site, axe: None, scheme: Literal["light", "dark"], language: str
) -> None:
    made, missing = await waiting(site, language=language, look={"branding": {"primaryColor": "#ffd400"}})
    _, link = await refused(site, language=language)
    async with site.donor(color_scheme=scheme, **PHONE) as page:
        for width in (1280, 320):
            await page.set_viewport_size({"width": width, "height": 800})
            for url in (missing, link):
                await page.goto(url)
                await is_fine(page)
        await page.goto(missing)
        await page.locator("form.upload button").click()
        await expect(page.locator("#file")).to_have_attribute("aria-invalid", "true")
        await is_fine(page)
        await page.goto(link)
        await page.locator("form[action$=appeal] button").click()
        await expect(page.locator("#text")).to_have_attribute("aria-invalid", "true")
        await is_fine(page)
        await page.locator("#text").fill("Please look again.")
        await page.locator("form[action$=appeal] button").click()
        await expect(page.locator("#text")).to_have_count(0)
        for width in (1280, 320):
            await page.set_viewport_size({"width": width, "height": 800})
            await is_fine(page)
    assert (await shown(site.api, made))["status"] == "pending"
    assert all("token" not in (referer or "") for _, _, referer in site.seen)
    assert [complaint for complaint in site.complaints if "422" not in complaint and "404" not in complaint] == []


async def test_h9_every_language_speaks_on_the_page_and_in_its_mails(site: Site, spoken_language: str) -> None:
    spoken = TranslationCatalogues().language(spoken_language)
    failed, link = await refused(site, "validation_request", language=spoken_language, firstName="Ada")
    written = await mails(site, await applicant_of(site, link))
    [mail] = [one for one in written if one["subject"].startswith(spoken.text("applied.failed.title"))]
    assert spoken.text("applied.mail.appeal") in mail["text"]
    async with site.donor(**PHONE) as page:
        await page.goto(link)
        await expect(page.locator("h1")).to_have_text(spoken.text("applied.failed.title"))
        assert await page.locator("html").get_attribute("dir") == spoken.direction
        assert (await page.locator("html").get_attribute("lang") or "").split("-")[0] == spoken_language.split("-")[0]
        wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide
    assert failed["status"] == "failed"


async def test_h8_four_hundred_percent_zoom(site: Site) -> None:
    """A window of 1280 px at 400 % has 320 CSS pixels and a fourth of the height."""
    long = "International Federation of Extraordinarily Longnamed Relief Organisations"
    branding = {"displayName": "Wohltätigkeitsorganisationsverzeichnis " * 2}
    made, missing = await waiting(site, organisationName=long, language="de", look={"branding": branding})
    _, link = await refused(site, language="uk")
    async with site.donor(viewport={"width": 320, "height": 256}, device_scale_factor=4) as page:
        for url, last in ((missing, "form.upload button"), (link, "form[action$=appeal] button")):
            await page.goto(url)
            wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
            assert not wide, f"{url} scrolls sideways"
            await page.locator(last).scroll_into_view_if_needed()
            await expect(page.locator(last)).to_be_in_viewport()
            box = await page.locator(last).bounding_box()
            assert box is not None
            assert box["height"] < 128, "half of the window"
    assert made["status"] == "pending"


async def applicant_of(site: Site, link: str) -> str:
    """Whom a link was mailed to, among the emails of all tests of this site."""
    path = "/v1/sandbox/mailbox?pageSize=100"
    while True:
        answer = (await site.api.request("GET", path)).json()
        if to := [str(mail["to"]) for mail in answer["data"] if link in mail["links"]]:
            return to[0]
        path = answer["_links"]["next"]


async def test_a_scanner_that_follows_every_link_changes_nothing(site: Site, axe: None) -> None:
    failed, link = await refused(site)
    async with site.donor() as page:
        await page.goto(link)
        csrf = await page.locator("input[name=csrf]").first.get_attribute("value")
        form: dict[str, str | float | bool] = {"csrf": csrf or "", "text": "From elsewhere."}
        assert (await page.request.post(f"{page.url}/appeal", form=form)).status == 403
        await page.request.get(f"{page.url}/appeal")
    async with site.donor(**PHONE) as stranger:
        await stranger.goto(f"{site.base_url}/application?token=x")
        await is_fine(stranger)
        await stranger.goto(f"{site.base_url}/application/{failed['id']}")
        await expect(stranger.locator("h1")).to_have_text("This link is not valid")
    await site.service.drain()
    assert await shown(site.api, failed) == failed


async def test_h10_the_page_weighs_under_100_kb(site: Site) -> None:
    _, link = await refused(site)
    sizes: list[int] = []
    async with site.donor() as page:
        page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", "0"))))
        await page.goto(link)
        await page.wait_for_load_state("networkidle")
    assert 0 < sum(sizes) < 100_000
