"""Direct donations: made, given another organisation, cancelled (spec 2.8; settled 3, 4, 5)."""

import asyncio
import json
from typing import Any

import pytest

from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Partner
from tests.support import factories
from tests.support import giving as support
from tests.support.client import Client, data
from tests.support.payouts import events_of
from tests.support.service import Service, Tenant

DONOR = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org"}


async def refusal(api: Client, body: dict[str, Any]) -> tuple[str, list[str]]:
    """The code and the reasons of a donation that is not made."""
    answer = await api.post("/v1/donations", body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    return error["code"], error["reasons"]


async def payload(service: Service, donation: dict[str, Any], kind: str) -> dict[str, Any]:
    """What the one event of a kind told of a donation."""
    await service.drain()
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select payload from event where type = $1 and payload like $2", kind, f'%"id":"{donation["id"]}"%'.encode()
        )
    [row] = rows
    reported: dict[str, Any] = json.loads(row["payload"])["data"]["eventData"]
    return reported


@pytest.fixture
async def nonprofit(service: Service) -> str:
    return await factories.nonprofit(service)


async def test_a_direct_donation_is_active_and_told_once(service: Service, api: Client, nonprofit: str) -> None:
    body = {"amount": 1234, "currencyCode": "USD", "organisationId": nonprofit, **DONOR, "metadata": {"a": "1"}}
    answer = await api.post("/v1/donations", {**body, "anonymous": "yes", "consentedToBeContactedByOrg": "yes"})
    made = data(answer)
    assert answer.json()["object"] == "donation"
    assert made == {
        **made,
        **body,
        "userId": None,
        "type": "direct",
        "hosted": None,
        "status": "ACTIVE",
        "anonymous": "yes",
        "consentedToBeContactedByOrg": "yes",
        "giftAidId": None,
        "donationRequestId": None,
        "cancelledAt": None,
        "subscription": {"initial": True, "id": None},
    }
    assert data(await api.get(f"/v1/donations/{made['id']}")) == made
    assert data(await api.get("/v1/donations", status="ACTIVE")) == [made]
    assert await payload(service, made, "donation.created") == made
    assert await events_of(service, made) == ["donation.created"]


async def test_a_users_default_organisation_is_used(service: Service, api: Client, nonprofit: str) -> None:
    user = (await factories.user(api))["id"]
    body = {"amount": 500, "currencyCode": "USD", "userId": user}
    assert await refusal(api, body) == (
        "donation/missing_organisation",
        ["body.organisationId is required: the user has no default organisation"],
    )
    await api.put(f"/v1/users/{user}/organisation", {"organisationId": nonprofit})
    made = data(await api.post("/v1/donations", body))
    assert (made["organisationId"], made["userId"]) == (nonprofit, user)
    named = await factories.nonprofit(service)
    made = data(await api.post("/v1/donations", {**body, "organisationId": named}))
    assert (made["organisationId"], made["userId"]) == (named, user)


async def test_every_refusal_has_its_code(
    service: Service, api: Client, other: Client, tenant: Tenant, nonprofit: str
) -> None:
    body = {"amount": 500, "currencyCode": "USD", "organisationId": nonprofit}
    unknown = service.db.deployment.ids.example_id("organisation")
    foreign = await factories.nonprofit(service, partner=(await service.tenant()).partner)
    for named in ({"organisationId": unknown}, {"organisationId": "x"}, {"organisationId": foreign}):
        assert (await refusal(api, {**body, **named}))[0] == "donation/missing_organisation"
    assert (await refusal(api, {"amount": 5, "currencyCode": "USD"}))[0] == "donation/missing_organisation"
    for user in (service.db.deployment.ids.example_id("user"), "x", (await factories.user(other))["id"]):
        assert (await refusal(api, {**body, "userId": user}))[0] == "donation/user_not_found"
    assert (await refusal(api, {**body, "metadata": {"k" * 41: "x"}}))[0] == "donation/invalid_metadata"
    removed = await factories.nonprofit(service, active=False)
    social = await factories.nonprofit(service, types=("social_impact",))
    for refusing, why in (
        (removed, "the organisation is not active (removed)"),
        (social, "donations go to nonprofits, and by its register the organisation is social_impact"),
    ):
        assert await refusal(api, {**body, "organisationId": refusing}) == ("donation/cannot_accept_donations", [why])
    assert await refusal(api, {**body, "currencyCode": "JPY"}) == (
        "donation/wrong_partner_currency",
        ["your account settles in GBP, USD, EUR, not JPY"],
    )
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, tenant.partner, currencies=["USD", "JPY"])
    assert (await refusal(api, {**body, "currencyCode": "JPY"}))[0] == "donation/wrong_target_currency"
    assert (await refusal(api, {**body, "currencyCode": "GBP"}))[0] == "donation/wrong_partner_currency"
    japanese = await factories.nonprofit(service, country="JPN")
    made = data(await api.post("/v1/donations", {**body, "currencyCode": "JPY", "organisationId": japanese}))
    assert made["amount"] == 500
    assert data(await api.get("/v1/donations")) == [made], "what is refused leaves nothing"


async def test_all_problems_of_a_body_are_named_at_once(api: Client) -> None:
    code, reasons = await refusal(
        api,
        {
            "amount": 0,
            "currencyCode": "XXX",
            "organisationId": 7,
            "email": "nobody",
            "anonymous": "maybe",
            "firstName": "x" * 256,
        },
    )
    assert code == "bad_request"
    fields = ("amount", "currencyCode", "organisationId", "firstName", "email", "anonymous")
    assert [reason.split()[0] for reason in reasons] == [f"body.{field}" for field in fields]
    for amount in (1.5, "5", True, 2**53, None):
        assert (await refusal(api, {"amount": amount, "currencyCode": "USD"}))[1][0].startswith("body.amount")


async def test_the_organisation_changes_only_while_direct_and_active(service: Service, api: Client) -> None:
    made, chosen = await factories.direct(service, api), await factories.nonprofit(service)
    path = f"/v1/donations/{made['id']}"
    changed = data(await api.patch(path, {"organisationId": chosen, "metadata": {"k": "v"}}))
    assert changed == {**made, "organisationId": chosen, "metadata": {"k": "v"}}
    assert data(await api.get(path)) == changed

    async def code(path: str, body: dict[str, Any]) -> str:
        answer = await api.patch(path, body)
        assert answer.status_code == 400, answer.text
        return str(answer.json()["error"]["code"])

    unknown, inactive = (
        service.db.deployment.ids.example_id("organisation"),
        await factories.nonprofit(service, active=False),
    )
    assert await code(path, {"organisationId": unknown}) == "donation/missing_organisation"
    assert await code(path, {"organisationId": inactive}) == "donation/cannot_accept_donations"
    assert await code(path, {"organisationId": None}) == "bad_request"
    rupees = await factories.nonprofit(service, country="IND")
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, await _partner(service, made), currencies=["INR"])
    own = await factories.direct(service, api, organisation=rupees, currencyCode="INR")
    assert (
        await code(f"/v1/donations/{own['id']}", {"organisationId": chosen, "metadata": {"kept": "no"}})
        == "donation/wrong_target_currency"
    )
    assert data(await api.get(f"/v1/donations/{own['id']}")) == own, "one refusal changes nothing"
    giving = await support.open_session(service, api)
    await giving.begin()
    hosted, *_ = await giving.donations()
    expected = "donation/cannot_edit_organisation_invalid_donation_type"
    assert await code(f"/v1/donations/{hosted['id']}", {"organisationId": chosen}) == expected
    data(await api.post(f"{path}/cancel"))
    assert await code(path, {"organisationId": chosen}) == "donation/invalid_state"


async def _partner(service: Service, donation: dict[str, Any]) -> Partner:
    async with service.db.read() as tx:
        found = tx.ids.decode("donation", donation["id"])
        return Partner(await tx.fetchval("select partner_id from donation where id = $1", found))


async def test_cancelling_happens_once_and_from_active_only(service: Service, api: Client, other: Client) -> None:
    made = await factories.direct(service, api, **DONOR)
    path = f"/v1/donations/{made['id']}/cancel"
    assert (await other.post(path)).status_code == 404
    answers = await asyncio.gather(*(api.post(path) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400]
    cancelled = next(data(answer) for answer in answers if answer.status_code == 200)
    assert cancelled == {**made, "status": "CANCELLED", "cancelledAt": cancelled["cancelledAt"]}
    assert cancelled["cancelledAt"] is not None
    assert {answer.json()["error"]["code"] for answer in answers if answer.status_code == 400} == {
        "donation/invalid_state"
    }
    assert await payload(service, made, "donation.cancelled") == cancelled
    assert await events_of(service, made) == ["donation.created", "donation.cancelled"]
    giving = await support.open_session(service, api)
    await giving.begin()
    hosted, *_ = await giving.donations()
    refused = await api.post(f"/v1/donations/{hosted['id']}/cancel")
    assert refused.json()["error"]["code"] == "donation/invalid_state"


async def test_v6_donors_of_cancelled_donations_are_forgotten_after_30_days(service: Service, api: Client) -> None:
    made = await factories.direct(service, api, **DONOR)
    data(await api.post(f"/v1/donations/{made['id']}/cancel"))
    service.clock.advance(days=31)
    await service.drain()
    left = data(await api.get(f"/v1/donations/{made['id']}"))
    assert [left[name] for name in DONOR] == [None, None, None]


async def test_a_repeated_call_makes_one_donation(service: Service, api: Client, nonprofit: str) -> None:
    body = {"amount": 500, "currencyCode": "USD", "organisationId": nonprofit}
    first = await api.post("/v1/donations", body, idempotency_key="gift-1")
    again = await api.post("/v1/donations", body, idempotency_key="gift-1")
    assert (first.content, again.headers["Idempotent-Replayed"]) == (again.content, "true")
    assert (await api.get("/v1/donations")).json()["totalResults"] == 1


async def test_donors_are_named_only_to_partners_that_want_it(service: Service, api: Client, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, tenant.partner, shares_donor_details=False)
    made = await factories.direct(service, api, **DONOR)
    hosted = await factories.donation(service, api)
    hidden = dict.fromkeys(DONOR)
    for donation in (made, data(await api.get("/v1/donations"))[1], data(await api.get(f"/v1/donations/{made['id']}"))):
        assert {name: donation[name] for name in DONOR} == hidden
    assert {name: hosted[name] for name in DONOR} == hidden
    for kind in ("donation.created", "donation.payment_successful"):
        reported = await payload(service, hosted, kind)
        assert {name: reported[name] for name in DONOR} == hidden
    assert await payload(service, made, "donation.created") == made
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, tenant.partner, shares_donor_details=True)
    assert {name: data(await api.get(f"/v1/donations/{made['id']}"))[name] for name in DONOR} == DONOR


async def status_of(service: Service, api: Client, organisation: str) -> list[str]:
    """How the verifications of an organisation stand."""
    await service.drain()
    found = data(await api.get("/v1/monetary-donation-verifications"))
    return [one["status"]["type"] for one in found if one["organisationId"] == organisation]


@pytest.mark.parametrize(("value", "status"), [("approve", "approved"), ("reject", "rejected"), ("expire", "expired")])
async def test_a_test_value_drives_the_verification_of_the_organisation(
    service: Service, api: Client, nonprofit: str, value: str, status: str
) -> None:
    made = await factories.direct(service, api, organisation=f"{nonprofit}-monetaryDonation:{value}")
    assert made["organisationId"] == nonprofit
    assert await status_of(service, api, nonprofit) == [status]
    again = await factories.direct(service, api, organisation=f"{nonprofit}-monetaryDonation:approve")
    assert again["organisationId"] == nonprofit
    left = await status_of(service, api, nonprofit)
    assert sorted(left) == (["approved"] if status == "approved" else sorted(["approved", status]))


async def test_a_test_value_drives_a_verification_that_is_pending(
    service: Service, api: Client, nonprofit: str
) -> None:
    await factories.verification(service, api, organisation=nonprofit)
    first, made = await factories.nonprofit(service), await factories.direct(service, api)
    body = {"organisationId": f"{nonprofit}-monetaryDonation:approve"}
    assert data(await api.patch(f"/v1/donations/{made['id']}", body))["organisationId"] == nonprofit
    assert await status_of(service, api, nonprofit) == ["approved"]
    refused = await api.post(
        "/v1/donations",
        {"amount": 500, "currencyCode": "NOK", "organisationId": f"{first}-monetaryDonation:approve"},
    )
    assert refused.status_code == 400
    assert await status_of(service, api, first) == []
