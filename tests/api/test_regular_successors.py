"""What donors are asked once the nonprofit of their regular donation was merged, for as long as it is true."""

from typing import Any
from uuid import uuid4

import pytest

from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent
from almoner.platform.events import outbox
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.regular_gifts import Plan, begin_plan, reach
from tests.support.service import Service

CANNOT_RECEIVE = "This nonprofit cannot receive donations at the moment"


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: here registers change."""
    return alone


async def lists(service: Service, organisation: str, *, active: bool, successor: str | None = None) -> None:
    """A register lists a nonprofit as this; the work after it is still to be done."""
    ids = service.db.deployment.ids
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set active = $2, status_override = $3, succeeded_by = $4 where id = $1",
            ids.decode("organisation", organisation),
            active,
            "merged" if successor else None,
            ids.decode("organisation", successor) if successor else None,
        )
        await outbox.emit_internal_event(tx, CHANGED, RegisterChangedEvent(uuid4(), uuid4()))


async def mails(plan: Plan, subject: str = "like to continue") -> list[dict[str, Any]]:
    """The emails to the donor with this subject, newest first."""
    await plan.service.drain()
    found: list[dict[str, Any]] = data(await plan.api.get("/v1/sandbox/mailbox", to="ada@example.org", subject=subject))
    return found


async def proposed(service: Service, api: Client, browser: Browser) -> tuple[Plan, str, str, str]:
    """A regular donation to Alpha, whose donor is asked about Beta; Beta, Gamma, and the page's path."""
    names = ("Alpha Fund", "Beta Fund", "Gamma Fund")
    alpha, beta, gamma = [await factories.nonprofit(service, name=name) for name in names]
    plan = await begin_plan(service, api, organisation=alpha)
    await lists(service, alpha, active=False, successor=beta)
    [mail] = await mails(plan)
    assert "Beta Fund" in mail["text"]
    link = next(link for link in mail["links"] if "/regular-donations?" in link)
    page = await browser.open(link.removeprefix(service.db.deployment.base_urls.pages))
    assert beta in page.text
    return plan, beta, gamma, page.url.path


async def test_whoever_cannot_receive_is_named_as_such(service: Service, api: Client, browser: Browser) -> None:
    plan, *_ = await proposed(service, api, browser)
    [mail] = await mails(plan, "is on hold")
    assert "Alpha Fund cannot receive donations at the moment" in mail["text"]
    assert "Beta" not in mail["text"]


async def test_a_proposed_nonprofit_that_is_merged_itself_is_replaced(
    service: Service, api: Client, browser: Browser
) -> None:
    plan, beta, gamma, path = await proposed(service, api, browser)
    await lists(service, beta, active=False, successor=gamma)
    await lists(service, plan.organisation, active=False, successor=gamma)
    answer = await browser.post(f"{path}/{plan.id}/accept", organisation=beta)
    assert answer.status_code == 409
    assert CANNOT_RECEIVE in answer.text
    assert beta not in answer.text
    mailed = await mails(plan)
    assert len(mailed) == 2
    assert any("Gamma Fund" in mail["text"] for mail in mailed)
    page = await browser.open(path)
    assert gamma in page.text
    assert CANNOT_RECEIVE not in page.text
    assert (await browser.post(f"{path}/{plan.id}/accept", organisation=beta)).status_code == 409
    await browser.open(path)
    assert (await browser.post(f"{path}/{plan.id}/accept", organisation=gamma)).status_code == 303
    record = await plan.record()
    assert (record["status"], record["organisationId"]) == ("active", gamma)


async def test_a_proposal_is_withdrawn_while_its_nonprofit_cannot_receive(
    service: Service, api: Client, browser: Browser
) -> None:
    plan, beta, _, path = await proposed(service, api, browser)
    await lists(service, beta, active=False)
    assert (await browser.post(f"{path}/{plan.id}/accept", organisation=beta)).status_code == 409
    assert len(await mails(plan)) == 1
    page = await browser.open(path)
    assert CANNOT_RECEIVE in page.text
    assert beta not in page.text
    assert (await plan.record())["organisationId"] == plan.organisation
    await lists(service, beta, active=True)
    assert len(await mails(plan)) == 2
    assert beta in (await browser.open(path)).text
    assert (await browser.post(f"{path}/{plan.id}/accept", organisation=beta)).status_code == 303
    assert (await plan.record())["organisationId"] == beta


async def test_a_proposal_does_not_outlive_its_merger(service: Service, api: Client, browser: Browser) -> None:
    plan, beta, _, path = await proposed(service, api, browser)
    await lists(service, plan.organisation, active=True)
    await service.drain()
    assert (await browser.post(f"{path}/{plan.id}/accept", organisation=beta)).status_code == 409
    page = await browser.open(path)
    assert beta not in page.text
    assert CANNOT_RECEIVE not in page.text
    assert (await browser.post(f"{path}/{plan.id}/resume")).status_code == 303
    record = await plan.record()
    assert (record["status"], record["organisationId"]) == ("active", plan.organisation)
    await reach(service, record["nextDonationAt"])
    assert (await plan.record())["donationsCount"] == 2
    await lists(service, plan.organisation, active=False)
    await mails(plan)
    assert beta not in (await browser.open(path)).text
