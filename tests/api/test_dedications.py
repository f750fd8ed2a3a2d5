"""Dedications: what donors type for somebody else, and the one email that this person gets (H11)."""

import re
from typing import Any
from uuid import uuid4

from tests.api.test_giving_link_pages import browser_of, send
from tests.support import factories
from tests.support.client import Client, data
from tests.support.payouts import refused, simulate
from tests.support.service import Service, Tenant


def told(**changed: str) -> dict[str, str]:
    """What a donor types, for somebody whom no other test tells."""
    fresh = f"{uuid4().hex}@example.org"
    return {
        "dedication": "Rose",
        "recipient_name": "Zoe",
        "recipient_email": fresh,
        "recipient_message": "Dear",
    } | changed


async def give(service: Service, api: Client, made: dict[str, Any], **fields: str) -> dict[str, Any]:
    """A donor sends the form of a link; the donation."""
    browser = browser_of(service)
    await browser.open(f"/g/{made['slug']}")
    assert (await send(browser, made, **fields)).status_code == 303
    found: dict[str, Any] = data(await api.get("/v1/donations", pageSize=1))[0]
    return found


async def mails(service: Service, api: Client, to: str) -> list[dict[str, Any]]:
    await service.drain()
    found: list[dict[str, Any]] = data(await api.get("/v1/sandbox/mailbox", to=to))
    return found


async def written(service: Service, donation: dict[str, Any]) -> tuple[str | None, ...]:
    """The donation's status, and what its donor wrote."""
    async with service.db.read() as tx:
        row = await tx.fetchrow(
            "select status, email, message, dedication from donation where id = $1",
            tx.ids.decode("donation", donation["id"]),
        )
    assert row is not None
    return tuple(row)


async def kept(service: Service, tenant: Tenant) -> int:
    """How many people are yet to be told of the partner's donations."""
    async with service.db.read() as tx:
        sql = "select count(*) from donation_dedication_email where partner_id = $1"
        return int(await tx.fetchval(sql, tenant.partner.id))


async def test_the_person_is_told_once_it_is_paid_and_forgotten(service: Service, tenant: Tenant, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], offersDedication=True)
    assert made["offersDedication"] is True
    fields = told(recipient_message="Visit evil.example.com now\nor mail me@evil.example.com")
    donation = await give(service, api, made, **fields)
    assert donation["dedication"] == "Rose"
    assert await mails(service, api, fields["recipient_email"]) == [], "nothing before it is paid"
    await simulate(api, donation["id"], "pay")
    [mail] = await mails(service, api, fields["recipient_email"])
    assert "dedicated it to Rose" in re.sub(r"[\u2066-\u2069]", "", mail["text"])
    assert "evil" in mail["text"]
    assert not [link for link in mail["links"] if "evil" in link]
    assert await kept(service, tenant) == 0
    assert donation["email"] not in mail["text"]


async def test_an_anonymous_donor_is_not_named(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], offersDedication=True)
    fields = told()
    donation = await give(service, api, made, **fields, anonymous="yes")
    await simulate(api, donation["id"], "pay")
    [mail] = await mails(service, api, fields["recipient_email"])
    assert donation["lastName"] not in mail["text"]


async def test_nobody_gets_more_than_three_a_day(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], offersDedication=True)
    fields = told()
    for _ in range(4):
        donation = await give(service, api, made, **fields)
        await simulate(api, donation["id"], "pay")
        assert donation["dedication"] == "Rose", "the donation stays dedicated"
    assert len(await mails(service, api, fields["recipient_email"])) == 3


async def test_mistakes_are_told_and_what_is_not_offered_is_ignored(
    service: Service, tenant: Tenant, api: Client
) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], offersDedication=True)
    browser = browser_of(service)
    await browser.open(f"/g/{made['slug']}")
    for wrong in (
        told(dedication=""),
        told(recipient_name=""),
        told(recipient_email="nobody"),
        told(dedication="x" * 101),
    ):
        assert (await send(browser, made, **wrong)).status_code == 422, wrong
    page = (await send(browser, made, **told(recipient_email=""))).text
    assert page.count("Enter the email address of the person to email") == 2, "in the summary and at the field"
    assert len(re.findall(r'class="[^"]*\bwrong\b', page)) == 1, "no other field is marked"
    plain = await factories.giving_link(service, api, currencies=["USD"])
    donation = await give(service, api, plain, **told())
    assert (donation["dedication"], await kept(service, tenant)) == (None, 0)


async def test_an_unpaid_one_is_forgotten_after_60_days(service: Service, tenant: Tenant, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], offersDedication=True)
    await give(service, api, made, **told())
    assert await kept(service, tenant) == 1
    service.clock.advance(days=60)
    await service.drain()
    assert await kept(service, tenant) == 0


async def test_the_sandbox_chooses_a_designation_and_dedicates(service: Service, api: Client) -> None:
    session = await factories.session(
        service, api, currency="USD", designations=["Roof", "Soup"], offersDedication=True
    )
    gift = {"amount": 2500, "firstName": "Ada", "email": "ada@example.org"}
    code, _ = await refused(api, session["id"], "donate", **gift, designation="Doors")
    assert code == "bad_request"
    await simulate(api, session["id"], "donate", **gift, designation="Soup", dedication="Rose")
    donation = data(await api.get("/v1/donations", pageSize=1))[0]
    assert (donation["designation"], donation["dedication"]) == ("Soup", "Rose")


async def test_v6_what_was_written_with_a_cancelled_donation_is_erased(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], offersDedication=True)
    donation = await give(service, api, made, **told(), message="With love")
    assert await written(service, donation) == ("REQUESTED_PAYMENT", donation["email"], "With love", "Rose")
    for days in (2, 31):  # cancelled unpaid, and erased
        service.clock.advance(days=days)
        await service.drain()
    assert await written(service, donation) == ("CANCELLED", None, None, None)
