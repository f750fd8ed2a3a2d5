"""The donor's page of regular donations: opened by a mailed link, each change is an event and an email."""

import re
from datetime import timedelta
from typing import Any

import pytest

from almoner.access.partners import service as partners
from almoner.kit.time import parse_timestamp
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.regular_gifts import PLANS, Plan, begin_plan, pass_days, reach
from tests.support.service import Service, Tenant


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: here the clock goes far."""
    return alone


@pytest.fixture
async def plan(service: Service, api: Client) -> Plan:
    """A plan whose first donation is paid."""
    return await begin_plan(service, api)


async def mails(plan: Plan, subject: str) -> list[dict[str, Any]]:
    """What the donor was told, newest first."""
    await plan.service.drain()
    found: list[dict[str, Any]] = data(await plan.api.get("/v1/sandbox/mailbox", to="ada@example.org", subject=subject))
    return found


async def link_of(plan: Plan, subject: str) -> str:
    """The address in the newest email of a kind, without its origin."""
    found = next(link for link in (await mails(plan, subject))[0]["links"] if "/regular-donations?" in link)
    return str(found).removeprefix(plan.service.db.deployment.base_urls.pages)


async def opened(plan: Plan, browser: Browser, subject: str = "regular donation to") -> str:
    """The page that the newest email of a kind opens."""
    page = await browser.open(await link_of(plan, subject))
    assert page.status_code == 200
    assert "token" not in str(page.url)
    return page.url.path


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def long_day(moment: str) -> str:
    """The day of a moment as an English page says it."""
    at = parse_timestamp(moment)
    return f"{at:%B} {at.day}, {at.year}"


async def does(browser: Browser, path: str, plan: Plan, action: str, **fields: str) -> str:
    """Open the form of an action, or the list that has its button, send it, and read where it leads."""
    address = f"{path}/{plan.id}/{action}"
    form = await browser.open(address if action in ("amount", "day", "pause", "skip", "cancel") else path)
    assert form.status_code == 200
    answer = await browser.post(address, fields)
    if answer.status_code == 303:
        answer = await browser.open(answer.headers["location"])
    return text_of(answer.text)


async def test_the_first_email_has_the_agreement_and_the_link_to_end_it(plan: Plan, browser: Browser) -> None:
    [mail] = await mails(plan, "regular donation to")
    for stated in (
        "Thank you. Your regular donation to",
        "$25.00 every month",
        "You agreed to these terms on",
        "Visa •••• 4242",
    ):
        assert stated in mail["text"]
    assert "until I end it" in mail["text"]
    path = await opened(plan, browser)
    shown = text_of((await browser.get(path)).text)
    for stated in ("Your regular donations", "$25.00 every month", "Active", "Visa •••• 4242", "Cancel donation"):
        assert stated in shown
    assert "ada@example.org" not in shown
    ended = await does(browser, path, plan, "cancel")
    assert "Your regular donation has ended." in ended
    record = await plan.record()
    assert (record["status"], record["cancellationReason"]) == ("cancelled", "donor")
    assert (await plan.events())[-1] == "cancelled"
    assert len(await mails(plan, "has ended")) == 1
    assert "Change amount" not in text_of((await browser.get(path)).text)


async def test_amount_and_day_are_changed_and_each_change_is_told(plan: Plan, browser: Browser) -> None:
    path = await opened(plan, browser)
    for typed, said in (("", "Choose or enter an amount"), ("0.10", "must be $1 or more"), ("x", "Enter")):
        assert said in await does(browser, path, plan, "amount", typed=typed)
    asked = await does(browser, path, plan, "amount", typed="40")
    assert "$40.00 every month to" in asked
    assert (await plan.record())["amount"] == 2500
    agreed = await browser.post(f"{path}/{plan.id}/amount", {"typed": "40", "agreed": "4000"})
    assert agreed.headers["location"] == f"{path}?done=changed"
    assert (await plan.record())["amount"] == 4000
    [mail] = await mails(plan, "donation has been changed")
    assert "$40.00 every month to" in mail["text"]
    today = plan.service.clock.now().date()
    for wrong in ("", "x", str(today), str(today + timedelta(days=400))):
        assert "Choose a date from" in await does(browser, path, plan, "day", day=wrong)
    day = today + timedelta(days=10)
    assert "has been changed" in await does(browser, path, plan, "day", day=str(day))
    assert (await plan.record())["nextDonationAt"][:10] == str(day)
    assert len(await mails(plan, "donation has been changed")) == 2
    await reach(plan.service, (await plan.record())["nextDonationAt"])
    assert [one["amount"] for one in await plan.gifts()] == [2500, 4000]
    shown = (await browser.open(path)).text
    assert len(re.findall(r'href="/gift\?token=', shown)) == 2


async def test_pausing_resuming_and_skipping(plan: Plan, browser: Browser) -> None:
    path = await opened(plan, browser)
    due = (await plan.record())["nextDonationAt"]
    assert "will be skipped" in await does(browser, path, plan, "skip", day=due[:10])
    assert (await plan.record())["nextDonationAt"] > due
    stale = await does(browser, path, plan, "skip", day=due[:10])
    assert "This action is no longer available" in stale
    assert "Choose how long to pause" in await does(browser, path, plan, "pause", months="99")
    assert "is paused" in await does(browser, path, plan, "pause", months="2")
    record = await plan.record()
    assert (record["status"], record["pauseReason"]) == ("paused", "donor")
    assert record["pausedUntil"] is not None
    assert "has been resumed" in await does(browser, path, plan, "resume")
    assert (await plan.record())["status"] == "active"
    assert "is paused" in await does(browser, path, plan, "pause", months="open")
    assert (await plan.record())["pausedUntil"] is None
    for subject, times in (("will be skipped", 1), ("is paused", 2), ("has been resumed", 1)):
        assert len(await mails(plan, subject)) == times, subject


async def test_what_a_partner_asks_for_waits_for_the_donor(plan: Plan, browser: Browser) -> None:
    await plan.api.patch(f"{PLANS}/{plan.id}", {"amount": 5000})
    path = await opened(plan, browser, "confirm a change")
    shown = (await browser.get(path)).text
    assert "$50.00 every month" in text_of(shown)
    found = re.search(r'name="change" value="(\d+)"', shown)
    assert found
    await plan.api.patch(f"{PLANS}/{plan.id}", {"amount": 90000})
    plan.service.clock.advance(minutes=1)
    await plan.api.patch(f"{PLANS}/{plan.id}", {"amount": 90000})
    assert "no longer available" in await does(browser, path, plan, "confirm", change=found[1])
    assert (await plan.record())["amount"] == 2500
    await does(browser, path, plan, "decline")
    assert (await plan.record())["pendingChange"] is None
    await plan.api.patch(f"{PLANS}/{plan.id}", {"amount": 5000})
    found = re.search(r'name="change" value="(\d+)"', (await browser.open(path)).text)
    assert found
    await does(browser, path, plan, "confirm", change=found[1])
    record = await plan.record()
    assert (record["amount"], record["pendingChange"]) == (5000, None)
    assert "$50.00 every month to" in (await mails(plan, "donation has been changed"))[0]["text"]


async def test_an_agreement_names_the_day_on_which_it_is_charged_first(plan: Plan, browser: Browser) -> None:
    path = await opened(plan, browser)
    await plan.does("pause")
    await pass_days(plan.service, 70, by=70)
    asked = await does(browser, path, plan, "amount", typed="40")
    await plan.does("resume")
    assert f"from {long_day((await plan.record())['nextDonationAt'])} until" in asked, "no day of the pause"
    await plan.api.patch(f"{PLANS}/{plan.id}", {"frequency": "yearly"})
    await plan.api.patch(f"{PLANS}/{plan.id}", {"frequency": "monthly"})
    shown = (await browser.open(path)).text
    found = re.search(r'name="change" value="(\d+)"', shown)
    assert found
    await does(browser, path, plan, "confirm", change=found[1])
    assert f"from {long_day((await plan.record())['nextDonationAt'])} until" in text_of(shown)


async def test_a_plan_is_resumed_when_its_nonprofit_can_receive_again(plan: Plan, browser: Browser) -> None:
    async def receives(active: bool) -> str:
        async with plan.service.db.write() as tx:
            found = tx.ids.decode("organisation", plan.organisation)
            await tx.execute("update organisation set active = $2 where id = $1", found, active)
        return text_of((await browser.open(path)).text)

    path = await opened(plan, browser)
    await receives(active=False)
    await reach(plan.service, (await plan.record())["nextDonationAt"])
    page = await receives(active=False)
    assert ("cannot receive donations at the moment" in page, "Resume donation" in page) == (True, False)
    assert "no longer available" in await does(browser, path, plan, "resume")
    page = await receives(active=True)
    assert ("cannot receive donations at the moment" in page, "Resume donation" in page) == (False, True)
    assert "has been resumed" in await does(browser, path, plan, "resume")
    assert (await plan.record())["status"] == "active"


async def test_a_failed_payment_is_told_with_a_link_to_pay_and_to_change_the_card(plan: Plan, browser: Browser) -> None:
    await plan.decline_next()
    await reach(plan.service, (await plan.record())["nextDonationAt"])
    assert (await plan.record())["status"] == "past_due"
    path = await opened(plan, browser, "could not charge")
    [mail] = await mails(plan, "could not charge")
    assert (
        f"We’ll try your card again on {long_day((plan.service.clock.now() + timedelta(days=1)).isoformat())}."
        in mail["text"]
    )
    assert "Pay $25.00 now" in text_of((await browser.get(path)).text)
    answer = await browser.post(f"{path}/{plan.id}/pay")
    assert answer.status_code == 303
    assert "/pay/" in answer.headers["location"]
    await browser.open(path)
    answer = await browser.post(f"{path}/{plan.id}/card")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("http")


async def test_a_date_is_not_paid_while_its_nonprofit_cannot_receive(plan: Plan, browser: Browser) -> None:
    await plan.decline_next()
    await reach(plan.service, (await plan.record())["nextDonationAt"])
    path = await opened(plan, browser, "could not charge")
    async with plan.service.db.write() as tx:
        found = tx.ids.decode("organisation", plan.organisation)
        await tx.execute("update organisation set active = false where id = $1", found)
    answer = await browser.post(f"{path}/{plan.id}/pay")
    assert (answer.status_code, "no longer available" in answer.text) == (409, True)
    page = text_of((await browser.open(path)).text)
    assert "cannot receive donations at the moment" in page
    assert ("Pay $25.00 now" in page, "could not charge" in page) == (False, False)


async def test_while_the_partner_is_paused_no_payment_of_a_date_begins_and_one_under_way_continues(
    plan: Plan, tenant: Tenant, browser: Browser
) -> None:
    await plan.decline_next()
    await reach(plan.service, (await plan.record())["nextDonationAt"])
    path = await opened(plan, browser, "could not charge")
    async with plan.service.db.write() as tx:
        await partners.pause(tx, tenant.partner, "Complaints about its pages")
    page = text_of((await browser.get(path)).text)
    assert ("Donations are paused" in page, "Pay $25.00 now" in page) == (True, False)
    answer = await browser.post(f"{path}/{plan.id}/pay")
    assert (answer.status_code, "You have not been charged" in answer.text) == (409, True)
    async with plan.service.db.write() as tx:
        await partners.resume(tx, tenant.partner)
    await browser.open(path)
    begun = await browser.post(f"{path}/{plan.id}/pay")
    assert "/pay/" in begun.headers["location"]
    async with plan.service.db.write() as tx:
        await partners.pause(tx, tenant.partner, "Complaints about its pages")
    assert (await browser.post(f"{path}/{plan.id}/pay")).headers["location"] == begun.headers["location"]


async def test_who_has_no_link_sees_nothing_and_forms_need_their_token(
    service: Service, api: Client, plan: Plan, browser: Browser
) -> None:
    link = await link_of(plan, "regular donation to")
    path = await opened(plan, browser)
    other = await service.tenant()
    theirs = service.client(other.secret)
    foreign = await begin_plan(service, theirs)
    assert (await browser.get(f"{path}/{foreign.id}/cancel")).status_code == 404
    await browser.open(path)
    assert (await browser.post(f"{path}/{foreign.id}/cancel")).status_code == 404
    assert (await browser.post(f"{path}/{plan.id}/cancel", csrf="x")).status_code == 403
    await browser.open(path)
    assert (
        await browser.post(f"{path}/{plan.id}/resume", {"csrf": browser.csrf}, site="cross-site")
    ).status_code == 403
    assert (await plan.record())["status"] == "active"
    assert (await foreign.record())["status"] == "active"
    elsewhere = Browser(service.app, service.db.deployment.base_urls.pages)
    for address in (path, f"{path}/{plan.id}/cancel", f"{path}/link", f"{link[:-2]}AA"):
        assert (await elsewhere.get(address)).status_code == 404, address
    service.clock.advance_wall(hours=25)
    assert (await browser.get(path)).status_code == 404
    await elsewhere.close()
    await theirs.close()


async def test_an_old_link_has_a_new_one_mailed_three_times_a_day(
    service: Service, plan: Plan, browser: Browser
) -> None:
    link = await link_of(plan, "regular donation to")
    service.clock.advance_wall(days=101)
    page = await browser.open(link)
    assert page.status_code == 200
    assert "This link has expired" in page.text
    assert "Byron" not in page.text
    path = page.url.path
    assert (await browser.get(path.removesuffix("/link"))).status_code == 404
    statuses = []
    for _ in range(4):
        await browser.open(path)
        statuses.append((await browser.post(path)).status_code)
    assert statuses == [200, 200, 200, 429]
    assert len(await mails(plan, "New link to")) == 3
    fresh = await browser.open(await link_of(plan, "New link to"))
    assert "$25.00 every month" in text_of(fresh.text)


async def test_a_donor_of_two_plans_sees_both(service: Service, api: Client, plan: Plan, browser: Browser) -> None:
    second = await begin_plan(service, api, "yearly", amount=12000)
    path = await opened(plan, browser)
    shown = text_of((await browser.get(path)).text)
    assert "$25.00 every month" in shown
    assert "$120.00 every year" in shown
    await does(browser, path, second, "cancel")
    assert (await second.record())["status"] == "cancelled"
    assert (await plan.record())["status"] == "active"


async def test_a_yearly_donation_is_announced_and_its_receipts_say_how_to_end_it(
    service: Service, api: Client, browser: Browser
) -> None:
    plan = await begin_plan(service, api, "yearly", amount=12000)
    due = parse_timestamp((await plan.record())["nextDonationAt"])
    for days, times in ((22, 0), (16, 1)):  # so that it is still a week before after an outage of nine days
        await reach(service, (due - timedelta(days=days)).isoformat())
        assert len(await mails(plan, "yearly donation to")) == times
    [mail] = await mails(plan, "yearly donation to")
    assert "$120.00" in mail["text"]
    await opened(plan, browser, "yearly donation to")
    receipt = (await mails(plan, "receipt for"))[0]
    assert "This is a regular donation." in receipt["text"]
    await opened(plan, browser, "receipt for")
