"""Gift Aid on regular donations: one declaration for several, of the charity that it names, recalled once a year."""

import re
from typing import Any

import asyncpg
import pytest

from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.gift_aid.declarations.domain import STATEMENT_SEVERAL, Declarer
from almoner.kit.money import Money
from almoner.platform.database.transactions import Partner
from almoner.platform.observability import selfcheck
from almoner.provider_test import service as provider_test
from almoner.provider_test.domain import Card
from almoner.selfchecks import CHECKS
from tests.support import factories, giftaid
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.regular_gifts import AGREEMENT, CARD, Plan, context, pass_days, reach
from tests.support.service import Service

HOME = Declarer("Ms", "Ada", "Byron", "12", "St James's Square", "London", "United Kingdom", "SW1Y 4JH")


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: here the clock goes far."""
    return alone


@pytest.fixture
async def plan(service: Service, api: Client) -> Plan:
    """A plan in pounds for a British charity, with a declaration."""
    charity = await giftaid.charity(service, name=factories.unique("Thames Trust"))
    session = await factories.session(service, api, organisation=charity, currency="GBP")
    session_id = service.db.deployment.ids.decode("donationsession", session["id"])
    assert session_id is not None
    gift = DonationDetails(
        Money(2500, "GBP"),
        "Ada",
        "Byron",
        "ada@example.org",
        consented=True,
        anonymous=False,
        declarer=HOME,
        frequency="monthly",
        agreement=AGREEMENT,
    )
    donation = (await donations_flows.start_payment(context(service), session_id, gift)).donation
    assert donation is not None
    assert donation.subscription_id is not None
    async with service.db.write() as tx:
        payment = await donations.get_unpaid_provider_payment_id(tx, Partner(donation.partner_id), donation.id)
        assert await provider_test.pay_with_card(tx, payment, Card(CARD))
    await donations_flows.handle_donor_return(context(service), session_id)
    name = service.db.deployment.ids.encode("donationsubscription", donation.subscription_id)
    return Plan(service, api, name, charity)


async def mails(plan: Plan, subject: str) -> list[dict[str, Any]]:
    await plan.service.drain()
    found: list[dict[str, Any]] = data(await plan.api.get("/v1/sandbox/mailbox", to="ada@example.org", subject=subject))
    return found


async def declared(plan: Plan) -> list[str | None]:
    """The declarations of a plan's donations, oldest first."""
    return [one["giftAidId"] for one in await plan.gifts()]


async def problems(service: Service) -> list[str]:
    """What the self-check finds of Gift Aid."""
    async with service.db.read() as tx:
        found = await selfcheck.run_consistency_checks(tx, [one for one in CHECKS if one.name.startswith("gift_aid.")])
    return [finding.check.name for finding in found.findings]


async def test_one_declaration_covers_all_donations_until_it_is_ended_by_one_click(
    service: Service, plan: Plan, browser: Browser
) -> None:
    await reach(service, (await plan.record())["nextDonationAt"])
    first, second = await declared(plan)
    assert first is not None
    assert first == second
    await pass_days(service, 366, by=30)
    [mail] = await mails(plan, "Gift Aid declaration")
    charity = re.search(r"to: (Thames Trust \d+)", mail["text"])
    assert charity
    assert STATEMENT_SEVERAL.format(charity=charity[1]) in mail["text"]
    assert "Please notify the charity if you" in mail["text"]
    [link] = [link for link in mail["links"] if "/gift-aid?" in link]
    page = await browser.open(link.removeprefix(service.db.deployment.base_urls.pages))
    assert "token" not in str(page.url)
    path = page.url.path
    await browser.get(path)
    assert (await browser.post(path, csrf="x")).status_code == 403
    await browser.get(path)
    ended = await browser.open((await browser.post(path)).headers["location"])
    assert "Your Gift Aid declaration has been cancelled" in ended.text
    before = await declared(plan)
    await reach(service, (await plan.record())["nextDonationAt"])
    assert await declared(plan) == [*before, None]
    await pass_days(service, 400, by=40)
    assert len(await mails(plan, "Gift Aid declaration")) == 1
    assert await problems(service) == []


async def test_it_is_not_recalled_once_the_regular_donation_has_ended(service: Service, plan: Plan) -> None:
    await plan.does("cancel")
    await pass_days(service, 400, by=40)
    assert await mails(plan, "Gift Aid declaration") == []


async def test_another_charity_needs_the_donors_word_and_has_no_declaration(
    service: Service, plan: Plan, browser: Browser
) -> None:
    successor = await giftaid.charity(service, name=factories.unique("Severn Trust"))
    ids = service.db.deployment.ids
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set status_override = 'merged', active = false, succeeded_by = $2 where id = $1",
            ids.decode("organisation", plan.organisation),
            ids.decode("organisation", successor),
        )
    await reach(service, (await plan.record())["nextDonationAt"])
    record = await plan.record()
    assert (record["status"], record["pauseReason"]) == ("paused", "organisation_cannot_receive")
    assert len(await mails(plan, "is on hold")) == 1
    [mail] = await mails(plan, "like to continue")
    assert "Severn Trust" in mail["text"]
    link = next(link for link in mail["links"] if "/regular-donations?" in link)
    page = await browser.open(link.removeprefix(service.db.deployment.base_urls.pages))
    path = page.url.path
    assert (await browser.post(f"{path}/{plan.id}/accept", organisation=plan.organisation)).status_code == 409
    await browser.open(path)
    agreed = await browser.post(f"{path}/{plan.id}/accept", organisation=successor)
    assert agreed.headers["location"] == f"{path}?done=changed"
    record = await plan.record()
    assert (record["status"], record["organisationId"]) == ("active", successor)
    assert "Severn Trust" in (await mails(plan, "now goes to"))[0]["text"]
    await reach(service, record["nextDonationAt"])
    [gift] = data(await plan.api.get("/v1/donations", organisationId=successor))
    assert gift["giftAidId"] is None
    receipt = (await mails(plan, "receipt for"))[0]
    assert "Severn Trust" in receipt["text"]
    assert "was reassigned" not in receipt["text"]


async def test_the_database_refuses_a_declaration_of_another_charity(service: Service, plan: Plan) -> None:
    other = await giftaid.charity(service)
    async with service.db.write() as tx:
        with pytest.raises(asyncpg.CheckViolationError, match="does not cover"):
            async with tx.savepoint():
                await tx.execute(
                    """
                    insert into donation select made.* from donation d cross join jsonb_populate_record(null::donation,
                        to_jsonb(d) || jsonb_build_object(
                            'id', $2::uuid, 'organisation_id', $3::uuid, 'subscription_due_on', current_date)) made
                    where d.subscription_id = $1
                    """,
                    plan.uuid,
                    tx.new_id(),
                    service.db.deployment.ids.decode("organisation", other),
                )
