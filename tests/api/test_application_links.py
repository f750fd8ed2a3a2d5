"""Who may see where an application stands, and for how long: links of mails end, that of the form shows nothing."""

from typing import Any

import pytest

from tests.support.applications import PERSON, Form, invited
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import ADA, DETAILS, applied, ended

MAILED = "we have sent the link to it"


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: months of the shared service's clock would be months of work for all that other tests have left."""
    return alone


async def sent(service: Service, api: Client, **invite: Any) -> tuple[Form, str]:
    """A form that was sent, and where the application's page is."""
    form = Form(service, await invited(api, **invite))
    await form.open()
    await form.fill()
    await form.send()
    return form, f"/application/{data(await api.get('/v1/validation-submissions'))[0]['id']}"


def browser(service: Service) -> Browser:
    """One that knows nothing."""
    return Browser(service.app, service.db.deployment.base_urls.pages, "198.51.100.77")


async def links(service: Service, api: Client, email: str) -> list[str]:
    """Those to the page of an application that were mailed to somebody, newest first."""
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox", to=email, pageSize=100))
    return [link for mail in mails for link in mail["links"] if "/application?" in link]


async def ask(one: Browser) -> int:
    """Ask on the page that is open for the link; the status of the answer."""
    assert one.page is not None
    url = one.page.request.url
    answer = await one.post(f"{url.path}?{url.query.decode()}")
    return answer.status_code


async def test_the_link_of_a_form_that_was_sent_shows_nothing_of_the_application(service: Service, api: Client) -> None:
    form, home = await sent(service, api)
    stranger = browser(service)
    shown = await stranger.open(form.invite["url"])
    assert shown.request.url.path == f"{home}/link"
    assert "This application has been submitted" in shown.text
    for secret in ("Hill Road Relief", PERSON["email"], PERSON["last_name"], "Your application to"):
        assert secret not in shown.text
    assert (await stranger.get(home)).status_code == 404
    for post in ("appeal", "language", "documents"):
        assert (await stranger.post(f"{home}/{post}", {"text": "x", "language": "de", "csrf": "x"})).status_code == 404
    assert (await stranger.open(f"{form.home}/person")).request.url.path == f"{home}/link"


async def test_the_browser_that_sent_the_form_comes_back_to_its_page_for_a_week(service: Service, api: Client) -> None:
    form, home = await sent(service, api, redirectUrl="https://app.example/back")
    back = await form.browser.open(form.invite["url"])
    assert (back.request.url.path, "Your application to" in back.text) == (home, True)
    service.clock.advance(days=7)
    assert (await form.browser.open(home)).request.url.path == f"{home}/link"


async def test_whoever_asks_the_link_is_mailed_to_the_applicant_alone(service: Service, api: Client) -> None:
    form, home = await sent(service, api)
    before = await links(service, api, PERSON["email"])
    stranger = browser(service)
    await stranger.open(form.invite["url"])
    assert (await stranger.post(f"{home}/link?why=sent", {"csrf": "x"})).status_code == 403
    await stranger.open(form.invite["url"])
    assert await ask(stranger) == 303
    reported = await stranger.open(f"{home}/link?why=sent&did=sent")
    assert MAILED in reported.text
    newest, *rest = await links(service, api, PERSON["email"])
    assert rest == before
    opened = await browser(service).open(newest)
    assert (opened.request.url.path, "Hill Road Relief" in opened.text) == (home, True)
    [mail] = data(await api.get("/v1/sandbox/mailbox", subject="Your application link"))
    assert (mail["to"], "The link is valid for 90 days." in mail["text"]) == (PERSON["email"], True)


async def test_the_link_is_mailed_three_times_a_day_and_not_within_a_minute(service: Service, api: Client) -> None:
    form, _ = await sent(service, api)
    statuses, stranger = [], browser(service)
    for _ in range(5):
        for _ in range(2):
            await stranger.open(form.invite["url"])
            statuses.append(await ask(stranger))
        service.clock.advance_wall(minutes=2)
    assert statuses == [303, 429] * 3 + [429] * 4
    service.clock.advance_wall(hours=24)
    await stranger.open(form.invite["url"])
    assert await ask(stranger) == 303


async def test_two_presses_of_the_button_lead_to_the_page_and_a_later_press_does_not(
    service: Service, api: Client
) -> None:
    form = Form(service, await invited(api))
    await form.open()
    await form.fill()
    await form.page("/review")
    token, held = form.browser.csrf, dict(form.browser.cookies)
    first = await form.browser.post(f"{form.home}/review", {"csrf": token})
    for cross, leads in ((True, False), (False, True)):
        form.browser.cookies = dict(held)  # the first answer never arrived
        site = "cross-site" if cross else "same-origin"
        again = await form.browser.post(f"{form.home}/review", {"csrf": token}, site=site)
        assert (again.headers["location"] == first.headers["location"]) is leads
    service.clock.advance(minutes=10)
    form.browser.cookies = dict(held)
    late = await form.browser.post(f"{form.home}/review", {"csrf": token})
    assert "/link?why=sent" in late.headers["location"]


async def test_a_mailed_link_ends_after_90_days_with_every_visit_and_a_new_one_is_mailed(
    service: Service, api: Client
) -> None:
    made = await ended(service, api, await applied(api, organisationName="test_reject_not_eligible"))
    home = f"/application/{made['id']}"
    link = (await links(service, api, ADA["email"]))[0]
    one = browser(service)
    assert (await one.open(link)).request.url.path == home
    csrf = one.csrf
    service.clock.advance(days=89, hours=23)
    assert (await one.open(home)).request.url.path == home
    assert (await browser(service).open(link)).request.url.path == home
    service.clock.advance(hours=2)
    late = await one.post(f"{home}/appeal", {"text": "Late.", "csrf": csrf})
    assert "/link?why=ended" in late.headers["location"]
    for visitor, url in ((one, home), (browser(service), link)):
        reported = await visitor.open(url)
        assert (reported.request.url.path, "This link has expired" in reported.text) == (f"{home}/link", True)
        assert "not accepted" not in reported.text
    assert await ask(one) == 303
    newest = (await links(service, api, ADA["email"]))[0]
    assert newest != link
    assert "not accepted" in (await one.open(newest)).text
    assert (await browser(service).open(link)).request.url.path == f"{home}/link"  # the old one stays over


async def test_a_link_without_an_end_is_over(service: Service, api: Client) -> None:
    made = await applied(api)
    named = service.db.deployment.ids.decode("validationsubmission", made["id"])
    assert named is not None
    url = f"/application?token={service.db.deployment.vault.create_page_token('application', named)}"
    assert "This link has expired" in (await browser(service).open(url)).text


async def test_who_asks_for_a_link_needs_a_link(service: Service, api: Client) -> None:
    _, home = await sent(service, api)
    stranger = browser(service)
    assert (await stranger.get(f"{home}/link")).status_code == 404
    assert (await stranger.post(f"{home}/link", {"csrf": "x"})).status_code == 404


async def test_an_application_without_an_address_has_nobody_to_mail_to(service: Service, api: Client) -> None:
    configuration = data(
        await api.post("/v1/validation-submission-configurations", {"checks": ["compliance", "validation_request"]})
    )
    invite = await invited(api, hostedConfigId=configuration["id"])
    body = {**DETAILS, "registryId": "86-0196605", "validationInviteId": invite["id"]}
    data(await api.post("/v1/validation-submissions", body))  # a form of the partner's own, which asked nobody
    stranger = browser(service)
    await stranger.open(invite["url"])
    assert await ask(stranger) == 303  # nobody learns whether there is an address
    await service.drain()
    assert data(await api.get("/v1/sandbox/mailbox")) == []
