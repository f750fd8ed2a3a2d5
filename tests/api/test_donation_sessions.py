"""Donation sessions (spec 2.7, 3.1, 4.8; settled 1, 3, 4, 5, 8)."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import PAGE_PURPOSE
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

FIELDS = {
    "id",
    "status",
    "organisationId",
    "userId",
    "language",
    "currency",
    "successUrl",
    "url",
    "metadata",
    "frequencies",
    "benefits",
    "suggestedAmounts",
    "minimum",
    "maximum",
    "designations",
    "offersDedication",
    "givingLinkId",
    "donationId",
    "createdAt",
    "expiresAt",
}


async def refused(api: Client, code: str, **body: Any) -> list[str]:
    """The reasons of a 400 with this code."""
    answer = await api.post("/v1/donation-sessions", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code), answer.text
    reasons: list[str] = answer.json()["error"]["reasons"]
    return reasons


async def test_a_session_is_answered_as_it_was_made(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    answer = await api.post("/v1/donation-sessions", {"organisationId": organisation})
    assert answer.status_code == 200
    body = answer.json()
    assert body["object"] == "donation_session"
    made = body["data"]
    assert set(made) == FIELDS
    assert made["status"] == "open"
    assert made["organisationId"] == organisation
    assert [made[name] for name in ("userId", "language", "currency", "successUrl", "metadata", "donationId")] == [
        None
    ] * 6
    assert made["id"].startswith("sandbox_donationsession_")
    assert data(await api.get(f"/v1/donation-sessions/{made['id']}")) == made
    created, expires = made["createdAt"], made["expiresAt"]
    assert (created[-1], created[10], len(created)) == ("Z", "T", 24)
    assert expires[11:] == created[11:]


async def test_everything_that_is_given_is_kept(service: Service, api: Client) -> None:
    user = await factories.user(api)
    given = {
        "organisationId": await factories.nonprofit(service),
        "userId": user["id"],
        "successUrl": "https://shop.example:8443/thanks?order=1#top",
        "currency": "EUR",
        "language": "en-GB",
        "metadata": {"campaign": "winter"},
    }
    made = data(await api.post("/v1/donation-sessions", given))
    assert {name: made[name] for name in given} == given
    assert data(await api.get(f"/v1/donation-sessions/{made['id']}")) == made


async def test_a_session_says_how_often_its_donor_may_give(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    assert data(await api.post("/v1/donation-sessions", {"organisationId": organisation}))["frequencies"] == [
        "one_time"
    ]
    given = ["monthly", "one_time", "weekly", "quarterly", "yearly"]
    made = data(await api.post("/v1/donation-sessions", {"organisationId": organisation, "frequencies": given}))
    assert made["frequencies"] == given  # the first one is chosen at first
    assert data(await api.get(f"/v1/donation-sessions/{made['id']}")) == made


@pytest.mark.parametrize("wrong", [[], ["daily"], ["monthly", "monthly"], "monthly", None, [None]])
async def test_frequencies_that_there_are_not_are_refused(service: Service, api: Client, wrong: object) -> None:
    organisation = await factories.nonprofit(service)
    reasons = await refused(api, "bad_request", organisationId=organisation, frequencies=wrong)
    assert all("frequencies" in reason for reason in reasons)


async def test_what_the_donor_receives_is_for_one_donation(service: Service, api: Client) -> None:
    reasons = await refused(
        api,
        "bad_request",
        organisationId=await factories.nonprofit(service),
        currency="USD",
        benefits={"description": "Dinner for two", "fairValue": 4000},
        frequencies=["one_time", "monthly"],
    )
    assert reasons == ["body.benefits is for one_time donations: leave out body.frequencies"]


async def test_h1_the_address_holds_a_token_of_this_session_and_never_changes(service: Service, api: Client) -> None:
    made, second = await factories.session(service, api), await factories.session(service, api)
    address, _, token = made["url"].partition("?token=")
    assert address == service.db.deployment.base_urls.pages + "/give"
    opened = service.db.deployment.vault.read_page_token(PAGE_PURPOSE, token)
    assert opened is not None
    assert service.db.deployment.ids.encode("donationsession", opened) == made["id"]
    assert second["url"] != made["url"]
    assert data(await api.get(f"/v1/donation-sessions/{made['id']}"))["url"] == made["url"]


@pytest.mark.parametrize(
    ("after", "status"),
    [
        (timedelta(hours=24) - timedelta(milliseconds=1), "open"),
        (timedelta(hours=24), "expired"),
        (timedelta(hours=24) + timedelta(milliseconds=1), "expired"),
    ],
)
async def test_s3_expiry_is_true_on_read_to_the_millisecond_with_the_sweeper_stopped(
    service: Service, api: Client, after: timedelta, status: str
) -> None:
    made = await factories.session(service, api)
    service.clock.advance(after)
    assert data(await api.get(f"/v1/donation-sessions/{made['id']}"))["status"] == status
    assert data(await api.get("/v1/donation-sessions"))[0]["status"] == status
    async with service.db.read() as tx:
        stored = await tx.fetchval(
            "select status from donation_session where id = $1", tx.ids.decode("donationsession", made["id"])
        )
    assert stored == "open"


async def test_s4_the_sweep_records_what_has_expired_in_batches(service: Service, api: Client) -> None:
    early = [await factories.session(service, api) for _ in range(3)]
    service.clock.advance(hours=1)
    late = await factories.session(service, api)
    service.clock.advance(hours=23)
    async with service.db.write() as tx:
        while await sessions.expire_due_sessions(tx, 2):
            assert await tx.fetchval("select count(*) from state_change where changed_at = $1", tx.now) > 0
    async with service.db.read() as tx:
        due = await sessions.next_expiry_at(tx)
        assert due is not None
        assert due > tx.now

        async def stored(session: dict[str, Any]) -> str:
            found: str = await tx.fetchval(
                "select status from donation_session where id = $1", tx.ids.decode("donationsession", session["id"])
            )
            return found

        assert [await stored(one) for one in (*early, late)] == ["expired"] * 3 + ["open"]
    assert data(await api.get(f"/v1/donation-sessions/{early[0]['id']}"))["status"] == "expired"


async def test_the_list_is_paged_both_ways_with_an_exact_total(service: Service, api: Client, other: Client) -> None:
    organisation = await factories.nonprofit(service)
    made = [(await factories.session(service, api, organisation=organisation))["id"] for _ in range(7)]
    await factories.session(service, other)
    answer = (await api.get("/v1/donation-sessions", pageSize=3)).json()
    assert (answer["totalResults"], answer["pageSize"]) == (7, 3)
    seen = [row["id"] for row in answer["data"]]
    while answer["_links"]["next"]:
        answer = (await api.request("GET", answer["_links"]["next"])).json()
        assert answer["totalResults"] == 7
        seen += [row["id"] for row in answer["data"]]
    assert seen == made[::-1]
    answer = (await api.request("GET", answer["_links"]["prev"])).json()
    assert [row["id"] for row in answer["data"]] == made[::-1][3:6]
    upwards = (await api.get("/v1/donation-sessions", direction="ASC")).json()
    assert [row["id"] for row in upwards["data"]] == made


async def test_an_unknown_or_foreign_organisation_is_not_found(service: Service, api: Client, other: Client) -> None:
    own = await factories.nonprofit(service, partner=(await service.tenant()).partner)
    for organisation in (
        own,
        service.db.deployment.ids.example_id("organisation"),
        "organisation_01h",
        "",
        (await factories.user(api))["id"],
    ):
        reasons = await refused(api, "donation_session/organisation_not_found", organisationId=organisation)
        assert "body.organisationId" in reasons[0]


async def test_an_own_unpublished_organisation_can_be_given_to(service: Service, api: Client, tenant: Tenant) -> None:
    own = await factories.nonprofit(service, partner=tenant.partner)
    assert (await factories.session(service, api, organisation=own))["organisationId"] == own


@pytest.mark.parametrize("unfit", [{"active": False}, {"types": ("education",)}, {"types": ()}])
async def test_only_active_nonprofits_can_be_given_to(service: Service, api: Client, unfit: dict[str, Any]) -> None:
    organisation = await factories.nonprofit(service, **unfit)
    await refused(api, "donation_session/cannot_accept_donations", organisationId=organisation)


async def test_users_are_the_partners_own(service: Service, api: Client, other: Client) -> None:
    organisation = await factories.nonprofit(service)
    foreign = (await factories.user(other))["id"]
    for user in (foreign, service.db.deployment.ids.example_id("user"), "nobody"):
        reasons = await refused(api, "donation_session/user_not_found", organisationId=organisation, userId=user)
        assert "body.userId" in reasons[0]


async def test_metadata_beyond_the_limits_are_refused(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    for metadata in (
        {str(number): "x" for number in range(21)},
        {"k" * 41: "x"},
        {"k": "v" * 251},
    ):
        await refused(api, "donation_session/invalid_metadata", organisationId=organisation, metadata=metadata)
    fits = {"k" * 40: "v" * 250, **{str(number): "x" for number in range(19)}}
    made = data(await api.post("/v1/donation-sessions", {"organisationId": organisation, "metadata": fits}))
    assert made["metadata"] == fits


async def test_all_problems_are_told_at_once(api: Client) -> None:
    reasons = await refused(
        api,
        "bad_request",
        successUrl="javascript:alert(1)",
        currency="XYZ",
        language="not a language",
        userId=1,
        metadata={"a": 1},
    )
    for field in ("organisationId", "successUrl", "currency", "language", "userId", "metadata"):
        assert any(reason.startswith(f"body.{field}") for reason in reasons), (field, reasons)


@pytest.mark.parametrize("currency", ["JPY", "KWD"])
async def test_a_currency_that_the_organisation_does_not_receive_is_refused(
    service: Service, api: Client, currency: str
) -> None:
    organisation = await factories.nonprofit(service)
    reasons = await refused(api, "bad_request", organisationId=organisation, currency=currency)
    assert reasons[0].startswith(f"body.currency {currency}")


async def test_the_currency_of_the_organisations_own_country_is_received(service: Service, api: Client) -> None:
    for country, currency in (("JPN", "JPY"), ("KWT", "KWD"), ("CAN", "CAD")):
        organisation = await factories.nonprofit(service, country=country)
        assert (await factories.session(service, api, organisation=organisation, currency=currency))[
            "currency"
        ] == currency


BYPASSES = [
    "http://shop.example/thanks",
    "HTTP://shop.example/",
    "//shop.example/",
    "shop.example",
    "/thanks",
    "",
    "javascript:alert(1)",
    "JaVaScRiPt://shop.example/%0aalert(1)",
    "data:text/html,hello",
    "vbscript:x",
    "file:///etc/passwd",
    "ftp://shop.example/",
    "https:",
    "https://",
    "https:///shop.example",
    "https:shop.example",
    "https:/shop.example",
    "https:\\\\shop.example",
    "https://shop.example\\@evil.example/",
    "https://shop.example\\.evil.example/",
    "https://user@shop.example/",
    "https://user:password@shop.example/",
    "https://:@shop.example/",
    "https://@shop.example/",
    "https://shop.example@evil.example/",
    "https://shop.example%40evil.example/",
    "https://shop.example/a b",
    "https://shop.example/\tx",
    "https://shop.example/\r\nSet-Cookie: a=b",
    "https://shop.example/\u2028x",
    "https://shop.example:0/",
    "https://shop.example:65536/",
    "https://shop.example:443x/",
    "https://shop.example:/",
    "https://10.0.0.1/",
    "https://[::ffff:10.0.0.1]/",
    "https://[fe80::1%25eth0]/",
    "https://169.254.169.254/latest/meta-data",
    "https://0x0a000001/",
    "https://167772161/",
    "https://intranet/",
    "https://shop_example/",
    "https://shop..example/",
    "https://shop.{DONATION_SESSION_ID}.example/",
    "https://xn--a.example/",
    "https://.example/",
    "https://" + "a" * 64 + ".example/",
    "https://shop.example/" + "a" * 2048,
    " javascript:alert(1)",
]


@pytest.mark.parametrize("address", BYPASSES)
async def test_h4_addresses_to_return_to_that_are_refused(service: Service, api: Client, address: str) -> None:
    organisation = await factories.nonprofit(service)
    reasons = await refused(api, "bad_request", organisationId=organisation, successUrl=address)
    assert all(reason.startswith("body.successUrl") for reason in reasons)


@pytest.mark.parametrize(
    "address",
    [
        "https://shop.example",
        "https://SHOP.example/Thanks?a=b&c=%20d",
        "https://xn--bcher-kva.example/",
        "https://bücher.example/",
        "https://my_shop.example.com/",
        "https://ab--cd.example.com/",
        "https://-shop-.example.com./",
        "https://shop.example/thanks?session={DONATION_SESSION_ID}&x=%7BDONATION_SESSION_ID%7D#{DONATION_SESSION_ID}",
        "http://localhost:3000/thanks",
        "http://127.0.0.1:3000/",
        "https://shop.example/" + "a" * (2048 - 21),
    ],
)
async def test_h4_addresses_to_return_to_that_are_kept_as_given(service: Service, api: Client, address: str) -> None:
    assert (await factories.session(service, api, successUrl=address))["successUrl"] == address


async def test_h4_only_registered_hosts_once_there_are_some(service: Service, api: Client, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await tx.execute(
            "update partner set redirect_hosts = '{shop.example,localhost}' where id = $1", tenant.partner.id
        )
    organisation = await factories.nonprofit(service)
    for address in ("https://SHOP.example:8443/x", "http://localhost:3000/"):
        made = await factories.session(service, api, organisation=organisation, successUrl=address)
        assert made["successUrl"] == address
    assert (await factories.session(service, api, organisation=organisation))["successUrl"] is None
    for address in ("https://evil.example/", "https://shop.example.evil.example/", "https://a.shop.example/"):
        reasons = await refused(api, "bad_request", organisationId=organisation, successUrl=address)
        assert "registered" in reasons[0]


async def test_a_triggers_suffix_is_cut_off_before_the_organisation_is_looked_up(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    for outcome in ("approve", "reject", "expire"):
        made = await factories.session(service, api, organisation=f"{organisation}-monetaryDonation:{outcome}")
        assert made["organisationId"] == organisation
    await refused(
        api, "donation_session/organisation_not_found", organisationId=f"{organisation}-complianceStatus:pass"
    )


async def test_another_partners_session_is_not_found(service: Service, api: Client, other: Client) -> None:
    made = await factories.session(service, api)
    assert (await other.get(f"/v1/donation-sessions/{made['id']}")).status_code == 404
    assert (await api.get(f"/v1/donation-sessions/{made['id'].upper()}")).status_code == 404


async def test_the_effect_and_its_counter_happen_once_for_one_key(service: Service, api: Client) -> None:
    body = {"organisationId": await factories.nonprofit(service)}
    first = await api.post("/v1/donation-sessions", body, idempotency_key="once")
    again = await api.post("/v1/donation-sessions", dict(reversed(body.items())), idempotency_key="once")
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    changed = await api.post("/v1/donation-sessions", {**body, "language": "en"}, idempotency_key="once")
    assert changed.json()["error"]["code"] == "idempotency/same_key_different_data"
    elsewhere = await api.post("/v1/users", idempotency_key="once")
    assert elsewhere.json()["error"]["code"] == "idempotency/key_already_in_use"
    assert (await api.get("/v1/donation-sessions")).json()["totalResults"] == 1


async def test_i5_a_refused_call_leaves_its_key_free(service: Service, api: Client) -> None:
    bad = {"organisationId": await factories.nonprofit(service, active=False)}
    assert (await api.post("/v1/donation-sessions", bad, idempotency_key="free")).status_code == 400
    good = {"organisationId": await factories.nonprofit(service)}
    assert (await api.post("/v1/donation-sessions", good, idempotency_key="free")).status_code == 200


async def test_i7_a_key_counts_as_new_after_21_days(service: Service, api: Client) -> None:
    body = {"organisationId": await factories.nonprofit(service)}
    first = data(await api.post("/v1/donation-sessions", body, idempotency_key="old"))
    service.clock.advance(timedelta(days=21) - timedelta(milliseconds=1))
    assert data(await api.post("/v1/donation-sessions", body, idempotency_key="old")) == first
    service.clock.advance(milliseconds=1)
    assert data(await api.post("/v1/donation-sessions", body, idempotency_key="old"))["id"] != first["id"]


async def test_what_nobody_chose_is_settled_once(service: Service, api: Client) -> None:
    made = await factories.session(service, api, language="ar")
    session_id: UUID | None = service.db.deployment.ids.decode("donationsession", made["id"])
    assert session_id is not None
    for language, currency in (("en", "EUR"), ("de", "GBP")):
        async with service.db.write() as tx:
            await sessions.store_language_and_currency_if_unset(tx, session_id, language, currency)
    settled = data(await api.get(f"/v1/donation-sessions/{made['id']}"))
    assert (settled["language"], settled["currency"]) == ("ar", "EUR")
