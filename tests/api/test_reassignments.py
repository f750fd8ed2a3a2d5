"""A gift that is given to another nonprofit takes along what is owed of it (settled 4, 5, 9)."""

import pytest

from tests.support import books, factories
from tests.support import payouts as support
from tests.support.client import Client
from tests.support.payouts import gift, payouts, refused, run, settled, simulate, verified
from tests.support.service import Service


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
        kept = await tx.fetchrow(
            "select amount_minor, reason, reassigned_by from reassignment where donation_id = $1",
            support.uuid_of(service, "donation", one["id"]),
        )
    assert kept is not None
    assert tuple(kept) == (9750, "Simulated by the partner.", "sandbox")
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
        "nothing": service.db.deployment.ids.example("organisation"),
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
