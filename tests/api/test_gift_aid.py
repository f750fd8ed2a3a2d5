"""Gift aid declarations, and the gifts that they cover (settled 2, 4, 8)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import service as donations
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.giving.gift_aid.declarations.domain import DeclarationError, Declarer
from almoner.kit.time import iso_timestamp
from tests.support import factories
from tests.support import giving as support
from tests.support.client import Client, data
from tests.support.giftaid import PERSON, charity, declared
from tests.support.giving import gift
from tests.support.payouts import simulate, uuid_of
from tests.support.service import Service, Tenant


async def given(api: Client, organisation: str, **body: Any) -> dict[str, Any]:
    """A direct donation of ten pounds."""
    wanted = {"amount": 1000, "currencyCode": "GBP", "organisationId": organisation, **body}
    made: dict[str, Any] = data(await api.post("/v1/donations", wanted))
    return made


async def missing(api: Client, organisation: str, **body: Any) -> list[str]:
    """The reasons of a donation that lacks its declaration."""
    wanted = {"amount": 1000, "currencyCode": "GBP", "organisationId": organisation, **body}
    answer = await api.post("/v1/donations", wanted)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "donation/gift_aid_missing"), answer.text
    reasons: list[str] = answer.json()["error"]["reasons"]
    return reasons


async def test_a_declaration_covers_from_now_on_and_the_past_four_years(service: Service, api: Client) -> None:
    user = (await factories.user(api))["id"]
    answer = await api.post("/v1/gift-aid", {**PERSON, "userId": user})
    assert answer.json()["object"] == "gift_aid"
    made, now = data(answer), service.clock.now()
    today = now.astimezone(ZoneInfo("Europe/London"))
    begins = datetime(today.year - 4, today.month, today.day, tzinfo=today.tzinfo)
    assert made == {
        "id": made["id"],
        "userId": user,
        **PERSON,
        "coversFrom": iso_timestamp(begins.astimezone(UTC)),
        "coversTo": None,
        "createdAt": iso_timestamp(now),
        "deletedAt": None,
    }
    assert data(await api.get(f"/v1/users/{user}/has-gift-aid")) == {"id": made["id"]}
    service.clock.advance(hours=1)
    newer = await declared(api, userId=user, postcode="sw1y\u00a0 4jh\u200b")
    assert newer["postcode"] == "SW1Y 4JH"
    assert data(await api.get(f"/v1/users/{user}/has-gift-aid")) == {"id": newer["id"]}


async def test_there_is_none_for_a_user_without_one(service: Service, api: Client, other: Client) -> None:
    user = (await factories.user(api))["id"]
    await declared(api)
    assert (await api.get(f"/v1/users/{user}/has-gift-aid")).status_code == 404
    await declared(api, userId=user)
    assert (await other.get(f"/v1/users/{user}/has-gift-aid")).status_code == 404
    assert (await api.get(f"/v1/users/{service.db.deployment.ids.example_id('user')}/has-gift-aid")).status_code == 404


async def test_m10_m11_a_declaration_that_no_claim_takes_is_refused(api: Client) -> None:
    wrong = {"title": "Mr & Mrs", "firstName": "John & Mary", "lastName": "x" * 39, "buildingNameNumber": "n/a"}
    answer = await api.post("/v1/gift-aid", {**PERSON, **wrong, "country": "Wales, UK", "postcode": "1010"})
    assert answer.json()["error"]["reasons"] == [
        "body.title must name one person: HMRC takes no joint declarations",
        "body.firstName must name one person: HMRC takes no joint declarations",
        "body.lastName must be at most 35 characters, which is all that HMRC takes",
        "body.buildingNameNumber must be the real one, or HMRC refuses the claim",
        "body.postcode must be a full UK postcode such as SW1A 1AA, or the country must not be the United Kingdom",
    ]


async def test_all_problems_of_a_declaration_are_named_at_once(service: Service, api: Client, other: Client) -> None:
    answer = await api.post("/v1/gift-aid", {"firstName": "x" * 256, "coversFrom": "yesterday", "title": " "})
    reasons = answer.json()["error"]["reasons"]
    named = ["title", "firstName", "lastName", "buildingNameNumber", "roadName", "city", "country", "postcode"]
    assert [reason.split()[0] for reason in reasons] == [f"body.{name}" for name in [*named, "coversFrom"]]
    for user in (service.db.deployment.ids.example_id("user"), "x", (await factories.user(other))["id"]):
        answer = await api.post("/v1/gift-aid", {**PERSON, "userId": user})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "gift_aid/user_not_found")
    answer = await api.post("/v1/gift-aid", {**PERSON, "coversFrom": "2020-01-01", "coversTo": "2019-01-01"})
    assert answer.json()["error"]["reasons"] == [
        "body.coversFrom must not be more than four years ago",
        "body.coversTo must be after coversFrom",
    ]


async def test_k7_a_publishable_key_is_told_id_and_moment_alone(
    service: Service, api: Client, publishable: Client, tenant: Tenant
) -> None:
    user = (await factories.user(api))["id"]
    answer = await publishable.post("/v1/gift-aid", {**PERSON, "userId": user}, idempotency_key="declared")
    assert set(data(answer)) == {"id", "createdAt"}
    again = await publishable.post("/v1/gift-aid", {**PERSON, "userId": user}, idempotency_key="declared")
    assert again.content == answer.content
    for name in ("nobody", service.db.deployment.ids.example_id("user")):
        reported = await publishable.post("/v1/gift-aid", {**PERSON, "userId": name})
        assert set(data(reported)) == {"id", "createdAt"}, "nobody learns which users there are"
    assert (await api.get(f"/v1/users/{user}/has-gift-aid")).status_code == 404, "no session of the user is open"
    assert (await publishable.get(f"/v1/users/{user}/has-gift-aid")).status_code == 403


async def test_with_an_open_session_the_user_counts(service: Service, api: Client, publishable: Client) -> None:
    user = (await factories.user(api))["id"]
    await factories.session(service, api, userId=user)
    made = data(await publishable.post("/v1/gift-aid", {**PERSON, "userId": user}))
    assert set(made) == {"id", "createdAt"}
    assert data(await api.get(f"/v1/users/{user}/has-gift-aid")) == {"id": made["id"]}
    service.clock.advance(hours=24)
    late = data(await publishable.post("/v1/gift-aid", {**PERSON, "userId": user}))
    assert data(await api.get(f"/v1/users/{user}/has-gift-aid")) == {"id": made["id"]} != {"id": late["id"]}


async def test_the_users_newest_declaration_covers_gifts_in_sterling_to_uk_charities(
    service: Service, api: Client
) -> None:
    user, cause = (await factories.user(api))["id"], await charity(service)
    assert (await given(api, cause, userId=user))["giftAidId"] is None
    await declared(api, userId=user)
    service.clock.advance(hours=1)
    newest = await declared(api, userId=user)
    covered = await given(api, cause, userId=user)
    assert covered["giftAidId"] == newest["id"]
    assert data(await api.get(f"/v1/donations/{covered['id']}")) == covered
    assert (await given(api, cause))["giftAidId"] is None
    assert (await given(api, cause, userId=user, currencyCode="EUR"))["giftAidId"] is None
    abroad = await factories.nonprofit(service)
    assert (await given(api, abroad, userId=user))["giftAidId"] is None
    assert (await given(api, abroad, userId=user, giftAidId=newest["id"]))["giftAidId"] is None


async def test_a_declaration_covers_its_span_alone(service: Service, api: Client) -> None:
    user, cause = (await factories.user(api))["id"], await charity(service)
    now = service.clock.now()
    span = {"coversFrom": iso_timestamp(now + timedelta(days=1)), "coversTo": iso_timestamp(now + timedelta(days=3))}
    made = await declared(api, userId=user, **span)
    assert {name: made[name] for name in span} == span
    seen = []
    for _ in range(5):
        seen.append((await given(api, cause, userId=user))["giftAidId"] is not None)
        service.clock.advance(days=1)
    assert seen == [False, True, True, False, False]


async def test_a_named_declaration_must_be_there_and_cover_the_gift(
    service: Service, api: Client, other: Client
) -> None:
    cause, mine = await charity(service), (await factories.user(api))["id"]
    loose, of_user = await declared(api), await declared(api, userId=mine)
    assert (await given(api, cause, giftAidId=loose["id"]))["giftAidId"] == loose["id"]
    assert (await given(api, cause, giftAidId=loose["id"], userId=mine))["giftAidId"] == loose["id"]
    assert (await given(api, cause, giftAidId=of_user["id"], userId=mine))["giftAidId"] == of_user["id"]
    for named in ("x", service.db.deployment.ids.example_id("giftaid"), (await declared(other))["id"]):
        assert await missing(api, cause, giftAidId=named) == [f"body.giftAidId '{named}' names no declaration"]
    assert await missing(api, cause, giftAidId=of_user["id"]) == ["body.giftAidId names a declaration of another user"]
    later = await declared(api, coversFrom=iso_timestamp(service.clock.now() + timedelta(days=9)))
    assert await missing(api, cause, giftAidId=later["id"]) == [
        "body.giftAidId names a declaration that does not cover this gift"
    ]


async def test_a_partner_that_asks_for_gift_aid_gets_no_gift_without(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, tenant.partner, requires_gift_aid=True)
    user, cause, abroad = (await factories.user(api))["id"], await charity(service), await factories.nonprofit(service)
    assert await missing(api, cause) == []
    assert await missing(api, cause, userId=user) == []
    assert (await given(api, cause, currencyCode="EUR"))["giftAidId"] is None
    moved = await given(api, abroad, userId=user)
    answer = await api.patch(f"/v1/donations/{moved['id']}", {"organisationId": cause})
    assert answer.json()["error"]["code"] == "donation/gift_aid_missing"
    await declared(api, userId=user)
    assert (await given(api, cause, userId=user))["giftAidId"] is not None
    assert data(await api.patch(f"/v1/donations/{moved['id']}", {"organisationId": cause}))["giftAidId"] is not None


async def test_gift_aid_goes_with_the_organisation(service: Service, api: Client) -> None:
    user, cause, abroad = (await factories.user(api))["id"], await charity(service), await factories.nonprofit(service)
    made = await declared(api, userId=user)
    covered = await given(api, cause, userId=user)
    path = f"/v1/donations/{covered['id']}"
    assert data(await api.patch(path, {"organisationId": abroad}))["giftAidId"] is None
    assert data(await api.patch(path, {"organisationId": cause}))["giftAidId"] == made["id"]
    await simulate(api, covered["id"], "request")
    received = await simulate(api, covered["id"], "pay")
    assert received["giftAidId"] == made["id"]
    for target in (await charity(service), cause, abroad):
        passed_on = await simulate(api, covered["id"], "reassign", organisationId=target)
        assert passed_on["giftAidId"] is None, "a declaration names its charity, and nobody says it of another"


async def test_a_hosted_gift_of_the_user_is_covered_too(service: Service, api: Client) -> None:
    user, cause = (await factories.user(api))["id"], await charity(service)
    made = await declared(api, userId=user)
    giving = await support.open_session(service, api, organisation=cause, userId=user)
    await giving.begin(gift(2000, "GBP"))
    [donation] = await giving.donations()
    assert donation["giftAidId"] == made["id"]
    await giving.begin(gift(2000, "EUR"))
    [donation] = await giving.donations()
    assert (donation["currencyCode"], donation["giftAidId"]) == ("EUR", None)
    await giving.begin(gift(3000, "GBP"))
    giving.provider.pay_with_card(list(giving.provider.payments)[-1])
    await giving.come_back()
    [donation] = await giving.donations()
    assert (donation["status"], donation["giftAidId"]) == ("RECEIVED_PAYMENT", made["id"])
    async with service.db.read() as tx:
        reported = await tx.fetch(
            "select payload from event where type = 'donation.payment_successful' order by position"
        )
    assert json.loads(reported[-1]["payload"])["data"]["eventData"] == donation


async def test_a_cancelled_declaration_covers_no_later_gift(service: Service, api: Client) -> None:
    user, cause = (await factories.user(api))["id"], await charity(service)
    made = await declared(api, userId=user)
    before = await given(api, cause, userId=user)
    service.clock.advance(days=1)
    named = uuid_of(service, "giftaid", made["id"])
    with pytest.raises(DeclarationError, match="future"):
        async with service.db.write() as tx:
            await gift_aid_declarations.cancel_declaration(tx, named, tx.now + timedelta(days=1))
    async with service.db.write() as tx:
        await gift_aid_declarations.cancel_declaration(tx, named)
    with pytest.raises(DeclarationError, match="already cancelled on"):
        async with service.db.write() as tx:
            await gift_aid_declarations.cancel_declaration(tx, named)
    assert (await given(api, cause, userId=user))["giftAidId"] is None
    assert data(await api.get(f"/v1/donations/{before['id']}"))["giftAidId"] == made["id"]
    assert (await api.get(f"/v1/users/{user}/has-gift-aid")).status_code == 404
    assert await missing(api, cause, giftAidId=made["id"], userId=user) != []


async def test_cancelled_from_an_earlier_day_takes_gift_aid_off_gifts_made_since(service: Service, api: Client) -> None:
    user, cause = (await factories.user(api))["id"], await charity(service)
    made = await declared(api, userId=user)
    first = await given(api, cause, userId=user)
    service.clock.advance(days=2)
    second = await given(api, cause, userId=user)
    async with service.db.write() as tx:
        named = uuid_of(service, "giftaid", made["id"])
        await donations.cancel_gift_aid_declaration(tx, named, tx.now - timedelta(days=1))
    assert data(await api.get(f"/v1/donations/{first['id']}"))["giftAidId"] == made["id"]
    assert data(await api.get(f"/v1/donations/{second['id']}"))["giftAidId"] is None


async def test_v6_what_was_declared_for_a_gift_that_never_came_is_forgotten_with_its_donor(alone: Service) -> None:
    service, api = alone, alone.client((await alone.tenant()).secret)
    cause, home = (
        await charity(service),
        Declarer("Ms", "Ada", "Byron", "12", "Road", "London", "United Kingdom", "N1 1AA"),
    )
    never, paid = [await support.open_session(service, api, organisation=cause) for _ in range(2)]
    for giving in (never, paid):
        await giving.begin(gift(2000, "GBP", declarer=home))
    paid.provider.pay_with_card(paid.provider.only())
    await paid.come_back()
    listed = data(await api.get("/v1/donations"))
    declared_for = [uuid_of(service, "giftaid", one["giftAidId"]) for one in listed]
    assert len(set(declared_for)) == 2
    service.clock.advance(support.DAY)
    await service.drain()
    service.clock.advance(timedelta(days=31))
    await service.drain()
    stored, gone = data(await api.get("/v1/donations"))
    assert (stored["status"], stored["giftAidId"] is not None) == ("RECEIVED_PAYMENT", True)
    assert (gone["status"], gone["giftAidId"], gone["lastName"]) == ("CANCELLED", None, None)
    async with service.db.read() as tx:
        left = await tx.fetch("select id from gift_aid_declaration where id = any($1::uuid[])", declared_for)
    assert [row["id"] for row in left] == [uuid_of(service, "giftaid", stored["giftAidId"])]


async def test_v6_what_was_declared_first_is_forgotten_when_the_donor_corrects_it_or_takes_it_back(
    service: Service, api: Client
) -> None:
    home = Declarer("Ms", "Ada", "Byron", "12", "Road", "London", "United Kingdom", "N1 1AA")
    giving = await support.open_session(service, api, organisation=await charity(service))
    known: set[str] = set()
    for declarer, rows in ((home, 1), (replace(home, postcode="N1 2BB"), 1), (None, 0)):
        await giving.begin(gift(2000, "GBP", declarer=declarer))
        [donation] = await giving.donations()
        assert (donation["giftAidId"] is not None) == (declarer is not None)
        assert donation["giftAidId"] not in known
        known |= {donation["giftAidId"]} - {None}
        async with service.db.read() as tx:
            ids = [uuid_of(service, "giftaid", one) for one in known]
            left = await tx.fetchval("select count(*) from gift_aid_declaration where id = any($1::uuid[])", ids)
        assert left == rows
    assert len(known) == 2
