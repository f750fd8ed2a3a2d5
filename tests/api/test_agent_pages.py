"""The pages where applicants confirm and nonprofits answer, and the mails that lead there (settled 5; H1, H2)."""

import re
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Partner
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import AgentVerificationInput
from tests.support import factories
from tests.support.agents import (
    PATH,
    SIMULATE,
    code_in,
    contact,
    create,
    link_in,
    mail_to,
    path_of,
    shown,
    simulate,
    told,
)
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

_numbers = count(1)


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: weeks of the shared service's clock would be weeks of work for all that other tests have left."""
    return alone


def somebody() -> str:
    """An address that no other test uses."""
    return f"ada{next(_numbers)}@elsewhere.example"


@pytest.fixture
async def browser(service: Service) -> AsyncIterator[Browser]:
    """The applicant's browser."""
    made = Browser(service.app, service.db.deployment.base_urls.pages)
    yield made
    await made.close()


@pytest.fixture
async def elsewhere(service: Service) -> AsyncIterator[Browser]:
    """Another browser, which has seen nothing."""
    made = Browser(service.app, service.db.deployment.base_urls.pages)
    yield made
    await made.close()


async def applied(service: Service, api: Client, **body: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A verification that waits for its applicant, and the mail."""
    email = body.pop("email", None) or somebody()
    made = await create(service, api, email=email, **body)
    return made, await mail_to(service, api, email)


async def test_h1_the_link_leads_to_a_button_and_the_button_confirms(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await applied(service, api)
    assert "Confirm your application for" in mail["subject"]
    page = await browser.open(path_of(link_in(mail)))
    assert (page.status_code, str(page.url.path)) == (200, f"/confirm/{made['id']}")
    assert made["email"] in page.text
    assert "Confirm that I represent" in page.text
    assert (await shown(api, made))["status"] == "pending"
    answer = await browser.post(page.url.path, confirm="yes")
    assert answer.status_code == 303
    assert (await shown(api, made))["status"] == "pending_review"
    done = await browser.open(answer.headers["location"])
    assert (done.status_code, "Your email address is confirmed" in done.text) == (200, True)
    again = await browser.open(path_of(link_in(mail)))
    assert "Your email address is confirmed" in again.text
    assert [kind for kind, _ in await told(service, api)] == ["pending_review"]


async def test_a_scanner_that_opens_every_link_changes_nothing(service: Service, api: Client, browser: Browser) -> None:
    organisation = await factories.nonprofit(service)
    await contact(service, organisation)
    made, mail = await applied(service, api, organisation=organisation)
    for step in ("confirmation", "question"):
        before = await shown(api, made)
        [link] = mail["links"]
        for method in ("HEAD", "GET", "GET", "OPTIONS"):
            seen = await browser.request(method, path_of(link))
            assert seen.status_code in (200, 204, 303, 405)
        page = await browser.open(path_of(link))
        for address in re.findall(r'(?:href|action|src)="(/[^"]*)"', page.text):
            for method in ("HEAD", "GET"):
                await browser.request(method, address)
        # A program that presses buttons has no page of ours open: what it sends does not come from one.
        form = {"csrf": browser.csrf, "confirm": "yes", "answer": "confirmed"}
        for site in ("none", "cross-site", "same-site"):
            assert (await browser.post(page.url.path, form, site=site)).status_code == 403
        assert (await browser.post(page.url.path, {**form, "csrf": "x"})).status_code == 403
        await service.drain()
        assert await shown(api, made) == before
        if step == "confirmation":
            await simulate(api, made, "confirm_email")
            mail = await mail_to(service, api, "info@relief.example")
    assert (await shown(api, made))["externalActionRequired"] is True


async def test_the_code_confirms_without_the_link_in_any_browser(
    service: Service, api: Client, elsewhere: Browser
) -> None:
    made, mail = await applied(service, api)
    page = await elsewhere.open(f"/confirm/{made['id']}")
    assert page.status_code == 200
    for known in (made["email"], made["organisation"]["name"]):
        assert known not in page.text, "who comes without the link is told nothing"
    code = code_in(mail)
    wrong = f"{(int(code) + 1) % 1000000:06}"
    answer = await elsewhere.post(page.url.path, code=wrong)
    assert (answer.status_code, "The code is incorrect" in answer.text) == (422, True)
    assert (await elsewhere.post(page.url.path, code="  ")).status_code == 422
    answer = await elsewhere.post(page.url.path, code=f"{code[:3]} {code[3:]}")
    assert answer.status_code == 303
    assert (await shown(api, made))["status"] == "pending_review"
    assert "Your email address is confirmed" in (await elsewhere.open(page.url.path)).text


async def test_a_code_is_over_after_five_wrong_ones_and_a_new_mail_has_another(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await applied(service, api)
    page = await browser.open(f"/confirm/{made['id']}")
    code = code_in(mail)
    for number in range(1, 6):
        answer = await browser.post(page.url.path, code=f"{(int(code) + number) % 1000000:06}")
        assert "The code is incorrect" in answer.text
    answer = await browser.post(page.url.path, code=code)
    assert (answer.status_code, "This code no longer works" in answer.text) == (422, True)
    service.clock.advance_wall(minutes=1)
    service.clock.advance(minutes=1)  # the mailbox lists the newest first
    answer = await browser.post(page.url.path, again="yes")
    assert (answer.status_code, "We have sent a new code" in answer.text) == (200, True)
    fresh = code_in(await mail_to(service, api, made["email"]))
    assert fresh != code
    assert (await browser.post(page.url.path, code=code)).status_code == 422
    assert (await browser.post(page.url.path, code=fresh)).status_code == 303
    assert (await shown(api, made))["status"] == "pending_review"


async def test_mails_are_sent_again_once_a_minute_and_five_times_a_day(
    service: Service, api: Client, browser: Browser
) -> None:
    made, _ = await applied(service, api)
    page = await browser.open(f"/confirm/{made['id']}")
    assert (await browser.post(page.url.path, again="yes")).status_code == 429
    for _ in range(4):
        service.clock.advance_wall(minutes=1)
        assert (await browser.post(page.url.path, again="yes")).status_code == 200
        assert (await browser.post(page.url.path, again="yes")).status_code == 429
    service.clock.advance_wall(minutes=1)
    assert (await browser.post(page.url.path, again="yes")).status_code == 429
    service.clock.advance_wall(days=1)
    assert (await browser.post(page.url.path, again="yes")).status_code == 200
    await service.drain()
    mails = await api.get("/v1/sandbox/mailbox", to=made["email"], pageSize=100)
    assert mails.json()["totalResults"] == 6


async def test_links_that_are_over_used_or_unknown_say_so(
    service: Service, api: Client, tenant: Tenant, browser: Browser, elsewhere: Browser
) -> None:
    async with service.db.write() as tx:
        await partners.set_public_links(
            tx, tenant.partner, website="https://partner.example", contact="help@partner.example"
        )
    made, mail = await applied(service, api)
    refused, other_mail = await applied(service, api)
    await simulate(api, refused, "reject")
    page = await browser.open(path_of(link_in(other_mail)))
    assert (page.status_code, "This application is closed" in page.text) == (410, True)
    assert 'href="https://partner.example"' in page.text, "a way on"
    stranger = await elsewhere.open(f"/confirm/{refused['id']}")
    assert (stranger.status_code, "partner.example" in stranger.text) == (410, False)
    for wrong in ("/confirm", "/confirm?token=x", f"/confirm?token={'A' * 54}", "/confirm/x", "/answer?token=x"):
        page = await browser.open(wrong)
        assert (page.status_code, "This link is not valid" in page.text) == (404, True), wrong
    # The token of one purpose opens no other page, and a cookie of one record none of another.
    token = link_in(mail).partition("token=")[2]
    assert (await browser.open(f"/answer?token={token}")).status_code == 404
    assert (await browser.open(f"/answer/{made['id']}")).status_code == 404
    service.clock.advance(days=30)
    page = await browser.open(path_of(link_in(mail)))
    assert (page.status_code, "This link has expired" in page.text) == (410, True)
    assert "help@partner.example" in page.text
    assert (await browser.request("DELETE", f"/confirm/{made['id']}")).status_code == 405
    assert (await browser.open(f"/confirm/{made['id']}/more")).status_code == 404


@pytest.mark.parametrize("language", TranslationCatalogues().offered_languages)
async def test_no_page_of_an_applicant_speaks_of_gifts(
    service: Service, api: Client, browser: Browser, language: str
) -> None:
    """What a page only says, as after confirming, has the footer of the pages that led to it."""
    donors = str(TranslationCatalogues().language(language).html("page.footer"))
    _, mail = await applied(service, api, language=language)
    page = await browser.open(path_of(link_in(mail)))
    done = await browser.open((await browser.post(page.url.path, confirm="yes")).headers["location"])
    unknown = await browser.get("/confirm?token=x", **{"Accept-Language": language})
    for shown_page in (page, done, unknown):
        assert donors not in shown_page.text
        assert "<footer>\n<p>Almoner</p>" in shown_page.text


@pytest.mark.parametrize(
    ("language", "words"),
    [("fr-CA", "Vérifier et confirmer"), ("ar", "المراجعة والتأكيد"), ("tlh", "Review and confirm")],
)
async def test_the_mail_speaks_the_applicants_language(
    service: Service, api: Client, browser: Browser, language: str, words: str
) -> None:
    _, mail = await applied(service, api, language=language)
    assert words in mail["text"]
    assert words in mail["html"]
    page = await browser.open(path_of(link_in(mail)))
    assert page.headers["content-language"].split("-")[0] == language.split("-")[0].replace("tlh", "en")


async def test_without_an_e_mail_check_nothing_is_mailed(service: Service, api: Client) -> None:
    """As a configuration may ask."""
    organisation = await factories.nonprofit(service)
    made = await create(service, api, organisation=organisation, email=somebody())
    ids = service.db.deployment.ids
    async with service.db.write() as tx:
        partner_id = await tx.fetchval(
            "select partner_id from agent_verification where id = $1", ids.decode("agentverification", made["id"])
        )
        agent = AgentVerificationInput("Eve", "Byron", somebody(), organisation_id=organisation)
        unchecked = await agents.create(tx, Partner(partner_id), agent, requires_email_confirmation=False)
    record = data(await api.get(f"{PATH}/{ids.encode('agentverification', unchecked.id)}"))
    assert (record["status"], record["externalActionRequired"]) == ("pending_review", False)
    assert await told(service, api) == [("pending_review", record)]
    assert data(await api.get("/v1/sandbox/mailbox", to=record["email"])) == []
    approved = await api.post(SIMULATE, {"id": record["id"], "action": "approve"})
    assert data(approved)["status"] == "approved"


async def test_the_nonprofit_is_asked_at_its_own_address_and_answers(
    service: Service, api: Client, browser: Browser, elsewhere: Browser
) -> None:
    organisation = await factories.nonprofit(service, name="Hill Road Relief")
    made = await create(service, api, organisation=organisation, email=somebody(), title="Treasurer")
    await simulate(api, made, "confirm_email")
    await service.drain()
    assert (await shown(api, made))["externalActionRequired"] is False
    assert await contact(service, organisation, "office@hill.example") == 1
    mail = await mail_to(service, api, "office@hill.example")
    asked = await shown(api, made)
    assert asked["externalActionRequired"] is True
    assert asked["organisation"]["email"] == "office@hill.example"
    assert mail["subject"] == "Does Ada Byron represent Hill Road Relief?"
    page = await browser.open(path_of(link_in(mail)))
    assert (page.status_code, "Treasurer" in page.text) == (200, True)
    assert (await elsewhere.get(page.url.path)).status_code == 404
    answer = await browser.post(page.url.path, answer="confirmed")
    assert answer.status_code == 303
    assert "Thank you for your answer" in (await browser.open(page.url.path)).text
    answered = await shown(api, made)
    assert (answered["status"], answered["externalActionRequired"]) == ("pending_review", False)
    assert await contact(service, organisation, "info@hill.example") == 1
    await service.drain()
    assert data(await api.get("/v1/sandbox/mailbox", to="info@hill.example")) == [], "nobody is asked twice"
    await simulate(api, made, "approve")
    assert (await browser.open(page.url.path)).status_code == 410


async def test_a_nonprofit_that_does_not_answer_within_30_days(service: Service, api: Client, browser: Browser) -> None:
    organisation = await factories.nonprofit(service)
    await contact(service, organisation, "office@quiet.example")
    made = await create(service, api, organisation=organisation, email=somebody())
    service.clock.advance(days=29)
    await simulate(api, made, "confirm_email")
    mail = await mail_to(service, api, "office@quiet.example")
    page = await browser.open(path_of(link_in(mail)))
    service.clock.advance(days=29)
    assert (await shown(api, made))["status"] == "pending_review"
    service.clock.advance(days=1)
    expired = await shown(api, made)
    assert (expired["status"], expired["rejectionReasonCode"]) == ("rejected", "nonprofit_association_expired")
    assert (await told(service, api))[-1] == ("rejected", expired)
    csrf = browser.csrf
    assert (await browser.open(page.url.path)).status_code == 410
    assert (await browser.post(page.url.path, csrf=csrf, answer="confirmed")).status_code == 410
    assert await shown(api, made) == expired


async def test_v8_confirmations_and_answers_are_in_the_audit_log(
    service: Service, api: Client, browser: Browser
) -> None:
    organisation = await factories.nonprofit(service)
    await contact(service, organisation, "office@audited.example")
    made, mail = await applied(service, api, organisation=organisation)
    page = await browser.open(path_of(link_in(mail)))
    await browser.post(page.url.path, confirm="yes")
    page = await browser.open(path_of(link_in(await mail_to(service, api, "office@audited.example"))))
    await browser.post(page.url.path, answer="denied")
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select action, actor_id from audit_entry where subject = $1 and actor_kind = 'system' order by position",
            made["id"],
        )
    assert [tuple(row) for row in rows] == [
        ("agent_verification.confirmed", "applicant"),
        ("agent_verification.answered", "nonprofit"),
    ]
