"""The page of an application from outside, without a screen: its language, and who came by which link (settled 4)."""

from datetime import timedelta
from typing import Any

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.validation.decisions.appeals import service as services
from tests.support import appeals
from tests.support.applications import PERSON, Form, invited
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PDF
from tests.support.service import Service
from tests.support.submissions import ADA, applied, configured, ended, shown, simulate

LATE = "the status of the application has changed"


async def mailed(service: Service, api: Client, email: str) -> list[dict[str, Any]]:
    """What was written to somebody about an application, newest first."""
    await service.drain()
    found = data(await api.get("/v1/sandbox/mailbox", to=email, pageSize=100))
    return [mail for mail in found if any("/application?" in link for link in mail["links"])]


async def sent(service: Service, api: Client) -> tuple[Form, dict[str, Any]]:
    """An application that came by the form and was refused, and the browser that sent it."""
    form = Form(service, await invited(api))
    await form.open()
    await form.fill(first_name="test_reject_other")
    await form.send()
    made = data(await api.get("/v1/validation-submissions"))[0]
    done = await ended(service, api, made)
    assert done["status"] == "failed", done
    return form, done


async def reversed_appeal(service: Service, api: Client, browser: Browser, done: dict[str, Any]) -> tuple[str, str]:
    """Who is said to have appealed on the page, and what becomes of the agent once that was heard."""
    answer = await browser.post(f"/application/{done['id']}/appeal", {"text": "Please look again."})
    assert answer.status_code == 303, answer.text
    appeal = (await shown(api, done))["appeal"]
    async with service.db.read() as tx:
        appellant = (await services.get(tx, ALL_PARTNERS, appeals.id_of(service, appeal))).appellant
    await appeals.decide(service, appeal, "accepted")
    after = await ended(service, api, done)
    return appellant, after["agentVerification"]["status"]


async def test_an_appeal_by_the_link_of_the_form_confirms_nobodys_address(service: Service, api: Client) -> None:
    form, done = await sent(service, api)
    await form.browser.open(form.invite["url"])
    assert await reversed_appeal(service, api, form.browser, done) == ("visitor", "pending_user_verification")
    page = (await form.browser.open(f"/application/{done['id']}")).text
    until = service.clock.now() + timedelta(days=30)
    reported = f"By <bdi>{until.day} {until:%B %Y}</bdi>"
    for words in ("Your appeal was successful", "Your confirmation. Open the link", reported):
        assert words in page


async def test_an_appeal_by_a_mailed_link_confirms_the_address(service: Service, api: Client) -> None:
    form, done = await sent(service, api)
    await form.browser.open(form.invite["url"])
    [link] = (await mailed(service, api, PERSON["email"]))[0]["links"]
    await form.browser.open(link)
    assert await reversed_appeal(service, api, form.browser, done) == ("applicant", "approved")


async def test_what_was_answered_is_told_as_it_was_whatever_lists_say_later(service: Service, api: Client) -> None:
    form, done = await sent(service, api)
    await form.browser.open(form.invite["url"])
    before = (await form.browser.get(f"/application/{done['id']}")).text
    assert "appears on a sanctions list" not in before
    flagged = {"complianceStatus": "fail", "sanction": {"status": "flag"}}
    await simulate(api, done["monitoringSubscriptionId"], "set_results", results=flagged)
    after = await ended(service, api, done)
    assert after["monitoring"]["results"]["complianceStatus"] == "fail"
    assert after["failureReasons"] == done["failureReasons"]
    assert "appears on a sanctions list" not in (await form.browser.get(f"/application/{done['id']}")).text


async def test_the_language_that_is_chosen_is_that_of_the_page_and_of_later_mails(
    service: Service, api: Client
) -> None:
    made = await ended(service, api, await applied(api, organisationName="test_reject_not_eligible"))
    [link] = (await mailed(service, api, ADA["email"]))[0]["links"]
    home = f"/application/{made['id']}"
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    assert '<html lang="en"' in (await browser.open(link)).text
    refused = await browser.post(f"{home}/language", {"language": "de", "csrf": "x"})
    assert refused.status_code == 403
    await browser.open(home)
    assert (await browser.post(f"{home}/language", {"language": "de"}, site="cross-site")).status_code == 403
    for chosen in ("tlh", "de"):
        await browser.open(home)
        answer = await browser.post(f"{home}/language", {"language": chosen})
        assert (answer.status_code, answer.headers["location"]) == (303, home)
    assert '<html lang="de' in (await browser.open(home)).text
    await browser.post(f"{home}/appeal", {"text": "Bitte noch einmal."})
    written = [mail["html"] for mail in await mailed(service, api, ADA["email"])]
    assert ['<html lang="de' in html for html in written].count(True) == 1


async def test_a_page_that_was_left_open_appeals_no_second_time(service: Service, api: Client) -> None:
    form, done = await sent(service, api)
    await form.browser.open(form.invite["url"])
    path, csrf = f"/application/{done['id']}/appeal", form.browser.csrf
    assert (await form.browser.post(path, {"text": "Once."})).status_code == 303
    appeal = (await shown(api, done))["appeal"]
    await appeals.decide(service, appeal, "rejected")
    again = await form.browser.post(path, {"text": "Twice.", "csrf": csrf})
    assert (again.status_code, "Your appeal was not successful" in again.text, LATE in again.text) == (200, True, True)
    assert (await shown(api, done))["appeal"]["id"] == appeal["id"]


@pytest.mark.parametrize(("content", "kind"), [(HONEST[PDF], PDF), (b"no picture", PDF), (b"", PDF)])
async def test_a_page_that_was_left_open_takes_no_document_after_the_answer_and_says_so(
    service: Service, api: Client, content: bytes, kind: str
) -> None:
    alone = await configured(api, "validation_request")
    made = await ended(service, api, await applied(api, configurationId=alone, registryId="99-7654321"))
    assert made["status"] == "pending", made
    [link] = (await mailed(service, api, ADA["email"]))[0]["links"]
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    assert 'name="file"' in (await browser.open(link)).text
    sending = {"csrf": browser.csrf, "type": "validation_request"}
    await simulate(api, made["validationRequestId"], "accept")
    done = await ended(service, api, made)
    path, headers = f"/application/{made['id']}/documents", {"Sec-Fetch-Site": "same-origin"}
    answer = await browser.request(
        "POST", path, data=sending, files={"file": ("proof.pdf", content, kind)}, headers=headers
    )
    assert (answer.status_code, LATE in answer.text, 'role="alert"' in answer.text) == (200, True, True)
    assert "Your application was accepted" in answer.text
    assert 'href="#file"' not in answer.text
    assert data(await api.get(f"/v1/validation-submissions/{made['id']}/documents")) == []
    assert await shown(api, done) == done


async def test_a_page_that_was_left_open_corrects_no_confirmed_address(service: Service, api: Client) -> None:
    form = Form(service, await invited(api))
    await form.open()
    await form.fill(first_name="test_accept", email="left.open@relief.example")
    await form.send()
    made = data(await api.get("/v1/validation-submissions"))[0]
    await form.browser.open(f"/application/{made['id']}")
    csrf = form.browser.csrf
    assert (await ended(service, api, made))["status"] == "succeeded"
    for email in ("other@relief.example", "no address"):
        answer = await form.browser.post(f"/application/{made['id']}/email", {"email": email, "csrf": csrf})
        assert (answer.status_code, LATE in answer.text, 'href="#email"' in answer.text) == (200, True, False), email


async def test_what_goes_wrong_is_told_in_the_language_of_the_application(service: Service, api: Client) -> None:
    made = await ended(service, api, await applied(api, organisationName="test_reject_not_eligible", language="fr"))
    [link] = (await mailed(service, api, ADA["email"]))[0]["links"]
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    for post in ("appeal", "language", "documents"):
        await browser.open(link)
        answer = await browser.post(f"/application/{made['id']}/{post}", {"csrf": "x", "text": "x"})
        assert (answer.status_code, '<html lang="fr' in answer.text) == (403, True), post


async def test_no_language_is_chosen_without_the_link(service: Service, api: Client) -> None:
    made = await ended(service, api, await applied(api, organisationName="test_reject_not_eligible"))
    stranger = Browser(service.app, service.db.deployment.base_urls.pages)
    answer = await stranger.post(f"/application/{made['id']}/language", {"language": "de", "csrf": "x"})
    assert answer.status_code == 404


async def test_a_form_searches_as_one_types_and_not_the_register_through(service: Service, api: Client) -> None:
    form = Form(service, await invited(api))
    await form.open()
    seen = [await form.page(f"/nonprofit/results?q=Nobody{number}") for number in range(70)]
    late = [number for number, text in enumerate(seen) if "Please try again in a few minutes." in text]
    assert late, "it may search for ever"
    assert late[0] >= 60
    other = Form(service, await invited(api))
    await other.open()
    assert "No results." in await other.page("/nonprofit/results?q=Nobody")
