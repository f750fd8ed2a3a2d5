"""A gift that is given to another nonprofit takes along what is owed of it (settled 4, 5, 9)."""

from typing import Any
from uuid import uuid4

import pytest

from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent
from almoner.platform.events import outbox
from tests.support import books, factories
from tests.support import payouts as support
from tests.support import refunds as back
from tests.support.client import Client, data
from tests.support.payouts import gift, payouts, refused, run, settled, simulate, verified
from tests.support.service import Service, Tenant


async def test_a_reassigned_gift_is_the_other_nonprofits_and_paid_out_to_it(service: Service, api: Client) -> None:
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    one = await settled(service, api, first, amount=10_000)
    await settled(service, api, first, amount=1000)
    await service.drain()
    assert [row["amount"] for row in await payouts(api, organisationId=first)] == [10_725]
    done = await simulate(api, one["id"], "reassign", organisationId=second)
    assert (done["organisationId"], done["reassignedFromOrganisationId"]) == (second, first)
    assert (done["status"], done["reassignedAt"] is not None) == ("RECEIVED_PAYMENT", True)
    assert (await books.owed(service, first), await books.owed(service, second)) == (975, 9750)
    await service.drain()
    for nonprofit, amount in ((first, 975), (second, 9750)):
        assert [row["amount"] for row in await payouts(api, organisationId=nonprofit)] == [amount]
        await verified(service, api, nonprofit)
    await run(service)
    assert (await gift(api, one))["status"] == "DISBURSED"
    assert (await books.owed(service, first), await books.owed(service, second)) == (0, 0)
    assert (await support.events_of(service, one))[3:] == [
        "donation.settled",
        "donation.reassigned",
        "donation.disbursed",
    ]
    async with service.db.read() as tx:
        stored = await tx.fetchrow(
            "select amount_minor, reason, reassigned_by from reassignment where donation_id = $1",
            support.uuid_of(service, "donation", one["id"]),
        )
    assert stored is not None
    assert tuple(stored) == (9750, "Simulated by the partner.", "sandbox")
    assert (await refused(api, one["id"], "reassign", organisationId=first))[0] == "donation/invalid_state"
    assert await books.balanced(service)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("itself", "donation/invalid_state"),
        ("inactive", "donation/cannot_accept_donations"),
        ("not a nonprofit", "donation/cannot_accept_donations"),
        ("nothing", "donation/cannot_accept_donations"),
        ("no id", "donation/cannot_accept_donations"),
        ("other currency", "donation/wrong_target_currency"),
    ],
)
async def test_a_gift_goes_to_who_can_receive_it_only(service: Service, api: Client, target: str, code: str) -> None:
    first = await factories.nonprofit(service, country="NOR")
    targets = {
        "itself": first,
        "inactive": await factories.nonprofit(service, active=False),
        "not a nonprofit": await factories.nonprofit(service, types=("social_impact",)),
        "nothing": service.db.deployment.ids.example_id("organisation"),
        "no id": "user_1",
        "other currency": await factories.nonprofit(service, country="USA"),
    }
    made = await factories.donation(service, api, organisation=first, currencyCode="NOK")
    assert (await refused(api, made["id"], "reassign", organisationId=targets[target]))[0] == code
    assert (await gift(api, made))["organisationId"] == first
    assert await books.owed(service, first, "NOK") == 2500


async def test_the_other_nonprofit_must_be_named(service: Service, api: Client) -> None:
    made = await factories.donation(service, api)
    assert await refused(api, made["id"], "reassign") == (
        "bad_request",
        ["body.organisationId is required for this action"],
    )


async def test_a_gift_of_a_returned_payout_can_be_reassigned(service: Service, api: Client) -> None:
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    await verified(service, api, first)
    one = await settled(service, api, first)
    await run(service)
    (payout,) = await payouts(api)
    await support.came_back(service, payout, "dissolved")
    await simulate(api, one["id"], "reassign", organisationId=second)
    assert (await books.owed(service, first), await books.owed(service, second)) == (0, 2437)


async def mails_to(api: Client, address: str) -> list[dict[str, Any]]:
    """What the donor was sent but the receipt."""
    mails = (await api.get("/v1/sandbox/mailbox", to=address)).json()["data"]
    return [mail for mail in mails if not mail["attachments"]]


@pytest.mark.parametrize(
    ("ground", "said"),
    [
        ("failed_compliance", "First Aid no longer meets the requirements to receive donations."),
        ("payment_impossible", "We could not pay First Aid."),
        (
            "merged",
            "According to the register, First Aid has merged into Second Aid or continues under its registration.",
        ),
    ],
)
async def test_the_donor_is_told_once_by_mail_why_and_what_to_do(
    service: Service, api: Client, tenant: Tenant, ground: str, said: str
) -> None:
    first = await factories.nonprofit(service, name="First Aid")
    second = await factories.nonprofit(service, name="Second Aid")
    email = f"{uuid4().hex}@example.org"
    made = await factories.donation(service, api, organisation=first, email=email)
    await service.drain()
    await simulate(api, made["id"], "reassign", organisationId=second, ground=ground)
    await service.drain()
    await service.drain()
    [mail] = await mails_to(api, email)
    assert mail["subject"] == "Your donation now goes to Second Aid"
    assert "Your donation of $25.00 was reassigned from First Aid to Second Aid on " in mail["text"]
    assert said in mail["text"]
    assert f"contact {tenant.name} soon" in mail["text"]
    assert any("/gift?token=" in link for link in mail["links"])


@pytest.mark.parametrize(("later", "named"), [(None, "Your donation of $15.00 was reassigned"), (1500, None)])
async def test_the_mail_names_what_is_kept_of_the_gift(
    service: Service, api: Client, later: int | None, named: str | None
) -> None:
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    email = f"{uuid4().hex}@example.org"
    made = await factories.donation(service, api, organisation=first, email=email)
    await back.by_hand(service, (await back.begun(service, made, 1000)).id, factories.unique("tpr"))
    await simulate(api, made["id"], "reassign", organisationId=second)
    if later is not None:  # before the mail is sent
        await back.by_hand(service, (await back.begun(service, made, later)).id, factories.unique("tpr"))
    await service.drain()
    mails = [mail["text"] for mail in await mails_to(api, email) if "was reassigned" in mail["text"]]
    assert len(mails) == (named is not None)
    assert all(named is not None and named in text for text in mails)


async def test_who_gave_by_the_partner_is_told_by_the_partner(service: Service, api: Client) -> None:
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    email = f"{uuid4().hex}@example.org"
    body = {"organisationId": first, "amount": 2500, "currencyCode": "USD", "email": email}
    made = data(await api.post("/v1/donations", body))
    await simulate(api, made["id"], "request")
    await simulate(api, made["id"], "pay")
    await simulate(api, made["id"], "reassign", organisationId=second)
    await service.drain()
    assert await mails_to(api, email) == []


async def test_gifts_follow_a_nonprofit_that_went_over_into_another(service: Service, api: Client) -> None:
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    nowhere, closed = await factories.nonprofit(service), await factories.nonprofit(service, active=False)
    follows = await settled(service, api, first)
    stays = await settled(service, api, nowhere)
    email = f"{uuid4().hex}@example.org"
    gone = await settled(service, api, first, email=email)
    await simulate(api, gone["id"], "dispute", outcome="lost")
    async with service.db.write() as tx:
        for one, other in ((first, second), (nowhere, closed)):
            await tx.execute(
                "update organisation set status_override = 'merged', active = false, succeeded_by = $2 where id = $1",
                *[support.uuid_of(service, "organisation", name) for name in (one, other)],
            )
        registry = await tx.fetchval("select id from registry limit 1")
        await outbox.emit_internal_event(tx, CHANGED, RegisterChangedEvent(registry, tx.new_id()))
    await service.drain()
    moved = await gift(api, follows)
    assert (moved["organisationId"], moved["reassignedFromOrganisationId"]) == (second, first)
    assert (await books.owed(service, first), await books.owed(service, second)) == (
        0,
        moved["settledAmount"]["amount"],
    )
    assert (await gift(api, stays))["organisationId"] == nowhere  # nobody there to take it: officers decide
    assert (await gift(api, gone))["organisationId"] == first  # nothing of it is left
    assert await mails_to(api, email) == []
    async with service.db.read() as tx:
        stored = await tx.fetchrow(
            "select ground, reassigned_by from reassignment where donation_id = $1",
            support.uuid_of(service, "donation", follows["id"]),
        )
        reported = await tx.fetchval(
            "select count(*) from audit_entry where action = 'donation.reassigned' and subject = $1", follows["id"]
        )
    assert stored is not None
    assert tuple(stored) == ("merged", "reassignments.follow_merges")
    assert reported == 1
    assert await books.balanced(service)
