"""What follows from a reversed appeal: nobody appeals before its answer, which then stays (settled 4)."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import agents, appeals, factories, watchlists
from tests.support.applications import invited
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.service import Service
from tests.support.submissions import ADA, PATH, applied, configured, ended, shown, simulate

SUCCESSFUL, APPEAL = "Your appeal was successful", 'name="text"'
UNLISTED = {"registryId": "99-1234567", "organisationName": "Meridian Tallow Guild"}


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: a watchlist that is loaded here would be asked by the tests of all others."""
    return alone


async def page_of(service: Service, api: Client) -> tuple[Browser, str]:
    """The page that the newest mail about an application leads to."""
    found = data(await api.get("/v1/sandbox/mailbox", to=ADA["email"], pageSize=100))
    [link] = next(one["links"] for one in found if "/application?" in one["links"][0])
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    return browser, (await browser.open(link)).text


async def failed_by_request(service: Service, api: Client, *checks: str, **body: Any) -> dict[str, Any]:
    """A submission that failed with its request, and with nothing else."""
    configuration = await configured(api, "validation_request", *checks)
    made = await applied(api, configurationId=configuration, **{**UNLISTED, **body})
    await service.drain()
    await simulate(api, made["validationRequestId"], "reject", rejectionReasonCode="other")
    return await ended(service, api, made)


async def reversed_now(service: Service, api: Client, failed: dict[str, Any]) -> dict[str, Any]:
    """The submission after its appeal was reversed, all work done."""
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    return await ended(service, api, failed)


async def test_nothing_is_appealed_against_before_the_answer_that_follows_from_a_reversal(
    service: Service, api: Client
) -> None:
    """Everything has passed; only the job that answers has not run yet."""
    failed = await failed_by_request(service, api, "agent_verification", firstName="Ada")
    await reversed_now(service, api, failed)
    await agents.simulate(api, {"id": failed["agentVerificationId"]}, "confirm_email")
    _, page = await page_of(service, api)
    assert APPEAL not in page
    answer = await api.post(f"{PATH}/{failed['id']}/appeals", {"text": "Again."})
    assert answer.json()["error"]["code"] == "validation_submission/invalid_state"
    assert (await ended(service, api, failed))["status"] == "succeeded"


async def test_what_is_found_after_the_answer_is_not_the_applicants_to_read(
    service: Service, api: Client, tmp_path: Path
) -> None:
    await watchlists.Lists(service.db, tmp_path).load(watchlists.listing(1, "NOBODY AT ALL"))
    again = await reversed_now(
        service,
        api,
        await failed_by_request(service, api, "compliance", "eligibility", suggestedActivitySubTags=["test_fail"]),
    )
    assert set(again["failureReasons"]) == {"eligibility"}
    browser, before = await page_of(service, api)
    flagged = {"complianceStatus": "fail", "sanction": {"status": "flag"}}
    await simulate(api, again["monitoringSubscriptionId"], "set_results", results=flagged)
    assert (await ended(service, api, again))["failureReasons"] == again["failureReasons"]
    after = (await browser.open(f"/application/{again['id']}")).text
    for page in (before, after):
        assert ("appears on a sanctions list" in page, APPEAL in page) == (False, True)


async def test_a_match_after_the_answer_takes_nothing_up_again(service: Service, api: Client, tmp_path: Path) -> None:
    lists = watchlists.Lists(service.db, tmp_path)
    await lists.load(watchlists.listing(1, "NOBODY AT ALL"))
    again = await reversed_now(
        service,
        api,
        await failed_by_request(service, api, "compliance", "eligibility", suggestedActivitySubTags=["test_fail"]),
    )
    assert (again["status"], again["requirements"]) == ("failed", [])
    await lists.load(watchlists.listing(1, "NOBODY AT ALL"), watchlists.listing(2, "MERIDIAN TALLOW GUILD"))
    service.clock.advance(days=2)
    after = await ended(service, api, again)
    assert after["monitoring"]["results"]["complianceStatus"] is None
    _, page = await page_of(service, api)
    assert (SUCCESSFUL in page, APPEAL in page) == (False, True)
    await appeals.made(api, after, "Once more.")


async def test_v6_an_agent_is_remembered_while_what_an_appeal_has_taken_up_is_checked(
    service: Service, api: Client, tmp_path: Path
) -> None:
    await watchlists.Lists(service.db, tmp_path).load(watchlists.listing(2, "MERIDIAN TALLOW GUILD"))
    failed = await failed_by_request(service, api, "compliance", "agent_verification")
    await reversed_now(service, api, failed)
    for days in (31, 33):  # the agent has not confirmed; a match waits for a person
        service.clock.advance(days=days)
        await service.drain()
    now = await shown(api, failed)
    assert now["agentVerification"]["email"] == ADA["email"]


async def test_documents_of_whoever_is_listed_are_shown_to_who_decides_the_appeal(
    service: Service, api: Client
) -> None:
    """No request asks for them."""
    asked = await configured(api, "validation_request", "compliance")
    invite = await invited(api, hostedConfigId=asked)
    fields = {"validationInviteId": invite["id"], "type": "validation_request"}
    files = {"file": ("proof", HONEST[PNG], PNG)}
    data(await api.request("POST", "/v1/validation-submission-documents", data=fields, files=files))
    organisation = f"{await factories.nonprofit(service)}-complianceStatus:fail"
    failed = await ended(service, api, await applied(api, organisationId=organisation, validationInviteId=invite["id"]))
    appeal = await appeals.made(api, failed)
    browser, page = await page_of(service, api)
    assert 'type="file"' in page
    sent, headers = {"csrf": browser.csrf, "type": "validation_request"}, {"Sec-Fetch-Site": "same-origin"}
    answer = await browser.request(
        "POST", f"/application/{failed['id']}/documents", data=sent, files=files, headers=headers
    )
    assert answer.headers["location"].endswith("?did=added")
    shown_to = await appeals.documents_shown(service, appeal)
    assert len(shown_to) == len(data(await api.get(f"{PATH}/{failed['id']}/documents"))) == 2


async def test_a_page_that_was_left_open_files_nothing_as_something_else(service: Service, api: Client) -> None:
    failed = await failed_by_request(service, api, "agent_verification", firstName="Ada")
    appeal = await appeals.made(api, failed)
    browser, _ = await page_of(service, api)
    await appeals.decide(service, appeal, "accepted")
    sent, headers = {"csrf": browser.csrf, "type": "validation_request"}, {"Sec-Fetch-Site": "same-origin"}
    files = {"file": ("proof", HONEST[PNG], PNG)}
    answer = await browser.request(
        "POST", f"/application/{failed['id']}/documents", data=sent, files=files, headers=headers
    )
    assert "the status of the application has changed" in answer.text
    assert data(await api.get(f"{PATH}/{failed['id']}/documents")) == []
    _, page = await page_of(service, api)
    assert 'type="file"' not in page  # who spoke for it was reviewed with the appeal
    assert (await shown(api, failed))["agentVerification"]["status"] == "pending_user_verification"
