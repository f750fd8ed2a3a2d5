"""The hosted form from invite to answer: by keyboard, without scripts, on a small phone, in Arabic, on two devices."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.pages.site import Site, shortcomings
from tests.support import agents, factories, submissions, webhooks
from tests.support.applications import PERSON, QUESTIONS, configured, invited
from tests.support.client import data
from tests.support.hostile_files import HONEST, PDF, PNG
from tests.support.receivers import Receiver, receiver

PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 700}, "has_touch": True, "is_mobile": True}
PROOF: Any = {"name": "proof.png", "mimeType": "image/png", "buffer": HONEST[PNG]}


async def is_fine(page: Page) -> None:
    """Nothing is wrong with it for anybody."""
    assert await shortcomings(page) == [], page.url


async def fill_person(page: Page, **other: str) -> None:
    """Who applies, and on."""
    for field, value in {**PERSON, **other}.items():
        await page.locator(f"#{field}").fill(value)
    await page.locator("main .actions button").click()


async def events(site: Site, made: dict[str, Any]) -> list[str]:
    """What the partner was told of a submission, newest first."""
    await site.service.drain()
    reported = data(await site.api.get("/v1/events", pageSize=100))
    return [one["eventType"] for one in reported if one["eventData"].get("id") == made["id"]]


async def newest(site: Site) -> dict[str, Any]:
    """The last submission."""
    found: dict[str, Any] = data(await site.api.get("/v1/validation-submissions"))[0]
    return found


async def succeeded(site: Site, partner: Receiver, hook: dict[str, Any]) -> dict[str, Any]:
    """The last submission, once the partner's own server was told that it succeeded: once, and signed."""
    await site.service.drain()
    made = await newest(site)
    await site.service.drain()  # events have their numbers now, and are delivered
    assert (await site.api.delete(f"/v1/webhook-subscriptions/{hook['id']}")).status_code == 204
    told = [webhooks.verify_whenever(one, hook["secret"])["data"] for one in partner.received]
    told = [event for event in told if event["eventData"]["id"] == made["id"]]  # others may succeed meanwhile
    assert [(event["eventType"], event["eventData"]) for event in told] == [("validation_submission.succeeded", made)]
    assert (made["status"], made["requirements"]) == ("succeeded", [])
    return made


async def press_until(page: Page, wanted: str, key: str = "Tab", most: int = 40) -> None:
    """Press a key until what is wanted has the focus, once the page that has it is there, scripts and all."""
    await page.locator(wanted).first.wait_for()
    await page.wait_for_load_state()
    for _ in range(most):
        if await page.locator(f"{wanted}:focus").count():
            return
        await page.keyboard.press(key)
    raise AssertionError(f"{wanted} never had the focus")


async def test_by_keyboard_alone_an_application_succeeds(site: Site) -> None:
    await factories.nonprofit(site.service, name="Beacon Street Shelter")
    invite = await invited(site.api, redirectUrl=f"{site.base_url}/healthz?from=form", metadata={"campaign": "spring"})
    async with receiver() as partner, site.donor() as page:
        hook = await webhooks.subscribe(site.api, partner, "validation_submission.succeeded")
        await page.goto(invite["url"])
        assert "token" not in page.url
        await press_until(page, "main a.button")
        await page.keyboard.press("Enter")
        await press_until(page, "#q")
        await page.keyboard.type("beacon stre")
        await expect(page.locator("#found")).to_contain_text("1 nonprofit found")
        await press_until(page, ".bodies button")
        await page.keyboard.press("Enter")
        for field, value in {**PERSON, "first_name": "test_accept"}.items():
            await press_until(page, f"#{field}")
            await page.keyboard.type(value)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()
        await press_until(page, "main .actions button")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Check your answers")).to_be_visible()
        await expect(page.get_by_text("Beacon Street Shelter")).to_be_visible()
        await press_until(page, "main .actions button")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/healthz?**")
        made = await succeeded(site, partner, hook)
        # Back at the partner with the submission's id, and nothing personal.
        assert page.url == f"{site.base_url}/healthz?from=form&validationSubmissionId={made['id']}"
    assert (made["validationInviteId"], made["metadata"]) == (invite["id"], {"campaign": "spring"})
    assert data(await site.api.get(f"/v1/validation-invites/{invite['id']}"))["status"] == "complete"
    reported = await events(site, made)
    assert reported.count("validation_submission.created") == reported.count("validation_submission.succeeded") == 1
    assert "validation_submission.failed" not in reported
    assert site.complaints == []
    assert all("token" not in (referer or "") for _, _, referer in site.seen)


async def test_without_scripts_an_unlisted_nonprofit_is_applied_for(site: Site) -> None:
    questions = await configured(site.api, name="With questions", partnerFields=QUESTIONS)
    invite = await invited(site.api, hostedConfigId=questions["id"])
    async with receiver() as partner, site.donor(java_script_enabled=False) as page:
        hook = await webhooks.subscribe(site.api, partner, "validation_submission.succeeded")
        await page.goto(invite["url"])
        await page.locator("main a.button").click()
        await page.locator("#q").fill("a nonprofit that nobody knows")
        await page.get_by_role("button", name="Search").click()
        await expect(page.locator("#found")).to_contain_text("No results.")
        await page.get_by_role("link", name="My nonprofit is not listed").click()
        await page.locator("main .actions button").click()
        await expect(page.get_by_role("alert")).to_contain_text("Select the country")
        await page.locator("#country").select_option("USA")
        await page.locator("main .actions button").click()
        await page.locator("main .actions button").click()
        await expect(page.locator(".summary li").nth(2)).to_be_visible()
        await page.locator("#name").fill("test_accept")
        await expect(page.locator("#registry")).to_contain_text("Internal Revenue Service")  # the only one there is
        await page.locator("#number").fill("1")
        await page.locator("#website").fill("www.relief.example")
        await page.locator("main .actions button").click()
        await expect(page.get_by_role("alert")).to_contain_text("Enter a registration number in the format")
        await page.locator("#number").fill("53-0196605")
        await page.locator("main .actions button").click()
        await fill_person(page, email="no address")
        await expect(page.locator("#email")).to_have_attribute("aria-invalid", "true")
        await fill_person(page, first_name="test_accept")
        await page.locator("main .actions button").click()
        await expect(page.get_by_role("link", name="Enter an answer: Why do you apply?")).to_be_visible()
        await page.locator("#q-reason").fill("We feed people.\nEvery day.")
        await page.locator("#q-staff").fill("12,5")
        await page.get_by_label("Small").check()
        await page.locator("main .actions button").click()
        await page.set_input_files("#file", PROOF)
        await page.get_by_role("button", name="Upload document").click()
        await expect(page.get_by_text("Your document has been uploaded.")).to_be_visible()
        await expect(page.locator(".papers li")).to_have_count(1)
        await page.locator("main .actions button").click()
        await expect(page.get_by_text("We feed people.")).to_be_visible()
        await page.locator("main .actions button").click()
        await page.wait_for_url("**/application**")
        made = await succeeded(site, partner, hook)
    assert made["partnerFields"] == {"reason": "We feed people.\nEvery day.", "staff": 12.5, "size": "small"}
    assert made["organisationName"] == "test_accept"
    assert len(data(await site.api.get(f"/v1/validation-submissions/{made['id']}/documents"))) == 1
    request = data(await site.api.get(f"/v1/validation-requests/{made['validationRequestId']}"))
    assert len(request["documents"]) == 1


@pytest.mark.parametrize("language", ["en", "ar"])
async def test_on_a_small_phone_every_page_is_fine(site: Site, axe: None, language: str) -> None:
    await factories.nonprofit(site.service, name="Lantern Hill Library of the Friends of Very Long Names")
    made = await configured(
        site.api, name=f"Phone {language}", branding={"primaryColor": "#ffe000"}, partnerFields=QUESTIONS
    )
    invite = await invited(site.api, hostedConfigId=made["id"], language=language)
    scheme: Any = "dark" if language == "ar" else "light"
    async with receiver() as partner, site.donor(**PHONE, color_scheme=scheme) as page:
        hook = await webhooks.subscribe(site.api, partner, "validation_submission.succeeded")
        await page.goto(invite["url"])
        assert await page.locator("html").get_attribute("dir") == ("rtl" if language == "ar" else "ltr")
        await is_fine(page)
        await page.locator("main a.button").click()
        await page.locator("#q").fill("lantern hill")
        await page.locator(".bodies button").first.wait_for()
        await is_fine(page)
        await page.locator(".bodies button").first.click()
        await page.locator("main .actions button").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await is_fine(page)
        await fill_person(page, first_name="test_accept")
        await page.locator("main .actions button").click()
        await is_fine(page)
        await page.locator("#q-reason").fill("نُطعم الناس")
        await page.locator("#q-size-1").check()
        await page.locator("main .actions button").click()
        await page.locator(".camera button").click()
        await expect(page.locator("#photo-problem")).to_be_visible()
        await expect(page.locator("#photo")).to_have_attribute("aria-describedby", "photo-problem")
        await expect(page.locator("#file-problem")).to_have_count(0)
        await expect(page.get_by_role("alert")).to_be_focused()
        await is_fine(page)
        await page.set_input_files("#photo", PROOF)
        await page.locator(".camera button").click()
        await expect(page.locator(".papers li")).to_have_count(1)
        await is_fine(page)
        await page.locator(".papers button").click()
        await expect(page.locator(".papers li")).to_have_count(0)
        await page.locator("main .actions button").click()
        await is_fine(page)
        await page.locator("main .actions button").click()
        await page.wait_for_url("**/application**")
        await is_fine(page)
        made = await succeeded(site, partner, hook)
    assert made["agentVerification"]["language"].split("-")[0] == language
    assert site.complaints == []


async def test_leaving_and_coming_back_on_another_device_loses_nothing(site: Site) -> None:
    organisation = await factories.nonprofit(site.service, name="Harbour Lights Choir")
    invite = await invited(site.api)
    async with site.donor() as first:
        await first.goto(invite["url"])
        title = await first.locator("h1").inner_text()
        await expect(first).to_have_title(title)
        await first.locator("main a.button").click()
        await first.locator("#q").fill("harbour lights")
        await first.locator(".bodies button").first.click()
        await fill_person(first)
        await first.set_input_files("#file", {**PROOF, "name": "a.pdf", "mimeType": PDF, "buffer": HONEST[PDF]})
        await first.get_by_role("button", name="Upload document").click()
        await expect(first.locator(".papers li")).to_have_count(1)
        async with site.donor(**PHONE) as second:
            await second.goto(invite["url"])
            await expect(second.get_by_role("heading", name="Welcome back")).to_be_visible()
            await expect(second).to_have_title(f"Welcome back – {title}")
            await second.locator("main a.button").click()
            await expect(second.locator(".papers li")).to_have_count(1)
            await second.locator("main .actions button").click()
            await expect(second.get_by_text("Harbour Lights Choir")).to_be_visible()
            await expect(second.get_by_text("Amina El-Sayed")).to_be_visible()
            await second.locator("main .actions button").click()
            await second.wait_for_url("**/application**")
        # The first one learns that it was sent, and where it stands.
        await first.locator("main .actions button").click()
        await first.wait_for_url("**/application**")
    assert (await newest(site))["organisationId"] == organisation


async def test_a_search_in_a_form_that_was_sent_elsewhere_leads_to_what_became_of_it(site: Site) -> None:
    organisation = await factories.nonprofit(site.service, name="Lantern Lane Library")
    invite = await invited(site.api)
    async with site.donor() as page:
        await page.goto(invite["url"])
        await page.goto(f"{site.base_url}/apply/{invite['id']}/nonprofit")
        await submissions.applied(site.api, organisationId=organisation, validationInviteId=invite["id"])
        await page.locator("#q").fill("lantern lane")
        await page.wait_for_url("**/application/**/link?why=sent")
        await expect(page.locator("h1")).to_have_count(1)


async def test_a_colleague_goes_on_by_the_link_in_a_mail_and_confirms_the_address(site: Site) -> None:
    await factories.nonprofit(site.service, name="Windmill Colleagues", website="https://relief.example")
    checks = ["agent_verification"]
    invite = await invited(site.api, hostedConfigId=(await configured(site.api, checks=checks))["id"])
    async with site.donor() as page:
        await page.goto(invite["url"])
        await page.locator("main a.button").click()
        await page.locator("#q").fill("windmill colleagues")
        await page.locator(".bodies button").first.click()
        await expect(page.locator("#email")).to_be_visible()
        await page.get_by_role("link", name="Share with a colleague").click()
        await page.get_by_role("button", name="Send link").click()
        await expect(page.get_by_role("alert")).to_contain_text("Enter your email address")
        await page.locator("#email").fill("colleague@relief.example")
        await page.get_by_role("button", name="Send link").click()
        await expect(page.get_by_role("status").filter(has_text="We have sent the link to")).to_be_visible()
        await page.locator("#email").fill("colleague@relief.example")
        await page.get_by_role("button", name="Send link").click()
        await expect(page.get_by_role("alert")).to_contain_text("We cannot send any more emails")
    mail = await agents.mail_to(site.service, site.api, "colleague@relief.example")
    assert invite["url"] in mail["links"]
    async with site.donor() as other:
        await other.goto(invite["url"])
        await expect(other.get_by_role("heading", name="Welcome back")).to_be_visible()
        await other.locator("main a.button").click()
        await fill_person(other, email="colleague@relief.example")
        await other.locator("main .actions button").click()
        await expect(other.get_by_text("Windmill Colleagues")).to_be_visible()
        await other.locator("main .actions button").click()
        await other.wait_for_url("**/application**")
        made = await newest(site)
        assert (made["status"], made["requirements"] != []) == ("pending", True)
        await site.service.drain()
        mails = data(await site.api.get("/v1/sandbox/mailbox", to="colleague@relief.example"))
        [link] = [link for mail in mails for link in mail["links"] if "/confirm?" in link]
        await other.goto(link)
        await other.locator("button[name=confirm]").click()
        await expect(other.get_by_role("heading", name="Your email address is confirmed")).to_be_visible()
    await site.service.drain()
    done = await newest(site)
    assert (done["id"], done["status"], done["requirements"]) == (made["id"], "succeeded", [])


async def test_another_language_is_chosen_and_kept(site: Site) -> None:
    invite = await invited(site.api)
    async with site.donor() as page:
        await page.goto(invite["url"])
        await page.goto(f"{site.base_url}/apply/{invite['id']}/person")
        await page.locator("#language").select_option("ja")
        await page.get_by_role("button", name="Change").click()
        await expect(page.locator("html")).to_have_attribute("lang", "ja")
        assert page.url.endswith("/person")
        names = page.locator(".pair input")
        assert await names.first.get_attribute("id") == "last_name"
        async with site.donor() as other:
            await other.goto(invite["url"])
            assert await other.locator("html").get_attribute("lang") == "ja"
