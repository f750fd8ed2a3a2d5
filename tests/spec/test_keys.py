"""Who may call what: every route with every kind of key, and every id of one partner with the keys of another.

K6 (scopes), K7 (publishable keys), K10 (tenant isolation), generated from the declared routes.
"""

import base64
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from almoner.access.keys import domain as keys_domain
from almoner.access.keys import service as keys
from almoner.platform.http.caller import NAMED_ONLY
from almoner.platform.http.caller import PERSONAL as SEES_DONORS
from almoner.platform.http.endpoints import Endpoint
from almoner.scim import application
from tests.spec.routes import NOT_BUILT_YET, ROUTES, Route
from tests.support import agents, appeals, eligibility, factories, monitoring, requests, submissions
from tests.support.client import Client, data
from tests.support.regular_gifts import begin_plan
from tests.support.service import Service, Tenant
from tests.support.validation import requested

BUILT = tuple(route for route in ROUTES if not NOT_BUILT_YET.search(route.name))
BROKEN = {"content": b"{broken", "headers": {"Content-Type": "text/plain"}}
PERSONAL = re.compile(r"@|firstName|lastName|email|buildingNameNumber|secret", re.IGNORECASE)

Make = Callable[[Service, Client, Tenant], Awaitable[str]]


async def _category(_service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.category(api))["id"])


async def _user(_service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.user(api))["id"])


async def _subscription(_service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.subscription(api))["id"])


async def _session(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.session(service, api))["id"])


async def _donation(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.donation(service, api))["id"])


async def _donation_request(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await requests.asked(service, api, 1000))["id"])


async def _agent(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await agents.create(service, api))["id"])


async def _donation_subscription(service: Service, api: Client, _tenant: Tenant) -> str:
    return (await begin_plan(service, api)).id


async def _verification(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.verification(service, api))["id"])


async def _giving_link(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.giving_link(service, api))["id"])


async def _disbursement(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.disbursement(service, api))["id"])


async def _event(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await factories.event(service, api))["id"])


async def _organisation(service: Service, _api: Client, tenant: Tenant) -> str:
    return await factories.nonprofit(service, partner=tenant.partner)


async def _validation_request(_service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await requested(api))["id"])


async def _monitoring(service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await monitoring.subscribe(service, api))["id"])


async def _configuration(_service: Service, api: Client, _tenant: Tenant) -> str:
    return str(data(await api.get("/v1/validation-submission-configurations"))[0]["id"])


async def _invite(_service: Service, api: Client, _tenant: Tenant) -> str:
    return str(data(await api.post("/v1/validation-invites", {}))["id"])


async def _submission(_service: Service, api: Client, _tenant: Tenant) -> str:
    return str((await submissions.applied(api))["id"])


async def _appeal(service: Service, api: Client, _tenant: Tenant) -> str:
    failed = await submissions.ended(service, api, await submissions.applied(api, organisationName="test_reject_other"))
    return str((await appeals.made(api, failed))["id"])


async def _eligibility(service: Service, api: Client, tenant: Tenant) -> str:
    return str((await eligibility.create(api, await _organisation(service, api, tenant)))["id"])


OWNED: dict[str, Make] = {
    "category": _category,
    "organisation": _organisation,
    "user": _user,
    "webhooksubscription": _subscription,
    "donationsession": _session,
    "givinglink": _giving_link,
    "donation": _donation,
    "donationrequest": _donation_request,
    "donationsubscription": _donation_subscription,
    "monetarydonationverification": _verification,
    "agentverification": _agent,
    "disbursement": _disbursement,
    "validationrequest": _validation_request,
    "monitoringsubscription": _monitoring,
    "eligibilitysubscription": _eligibility,
    "hostedconfiguration": _configuration,
    "validationinvite": _invite,
    "validationsubmission": _submission,
    "appeal": _appeal,
    "event": _event,
}
SHARED = {"activitytag", "registry"}
"""Reference data, the same for everybody."""
BEGUN_WITH = "/v1/validation-submission-configurations"
"""The one list that no partner finds empty."""
TAKING_OUT = "DELETE /v1/categories/{categoryId}/{organisationId}"
"""Answers 204 for an organisation that is not in the category, whatever it is: nothing is told."""


async def call(client: Client, route: Route, **options: Any) -> httpx.Response:
    """The route with ids of nothing, and a body that nothing would accept."""
    return await client.request(route.method, route.path.replace("{id}", "unknown"), **{**BROKEN, **options})


@pytest.fixture
async def useless_keys(service: Service, tenant: Tenant) -> dict[str, str]:
    """Keys that open nothing, by what is wrong with them."""
    revoked = await service.key(tenant.partner)
    expired = await service.key(tenant.partner)
    async with service.db.write() as tx:
        await tx.execute(
            "update api_key set expires_at = $1 where hash = $2", tx.real_now, keys.hash_key_secret(tx.vault, expired)
        )
        found = await keys.find_by_secret(tx, revoked)
        assert found is not None
        await keys.revoke(tx, found.id)
    good = tenant.secret
    return {
        "unknown": keys_domain.generate_key_secret("secret", sandbox=True),
        "of the other environment": keys_domain.generate_key_secret("secret", sandbox=False),
        "with a wrong checksum": good[:-1] + ("a" if good[-1] != "a" else "b"),
        "in capitals": good.upper(),
        "revoked": revoked,
        "expired": expired,
        "of SCIM with another scheme": f"Digest {good}",
    }


@pytest.mark.parametrize("route", [route for route in BUILT if route.keys != "-"], ids=lambda route: route.name)
async def test_k6_no_usable_key_is_401_before_anything_is_read(
    route: Route, service: Service, useless_keys: dict[str, str]
) -> None:
    for what, key in {"missing": "", **useless_keys}.items():
        answer = await call(service.client(key or None), route)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized"), what


@pytest.mark.parametrize("route", [route for route in BUILT if route.keys == "S"], ids=lambda route: route.name)
async def test_k7_publishable_keys_open_no_secret_route(route: Route, publishable: Client) -> None:
    answer = await call(publishable, route)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("route", [route for route in BUILT if route.keys in "P-"], ids=lambda route: route.name)
async def test_publishable_routes_take_both_kinds_of_key(route: Route, publishable: Client, api: Client) -> None:
    for client in (publishable, api):
        assert (await call(client, route)).status_code not in {401, 403}


@pytest.mark.parametrize("route", [route for route in BUILT if route.keys == "-"], ids=lambda route: route.name)
async def test_open_routes_need_no_key(route: Route, anonymous: Client) -> None:
    assert (await call(anonymous, route)).status_code not in {401, 403}


@pytest.mark.parametrize("route", [route for route in BUILT if route.keys != "-"], ids=lambda route: route.name)
async def test_k6_a_key_without_the_scope_is_403(route: Route, service: Service, tenant: Tenant) -> None:
    scope = declared(service, route).scope
    assert scope is not None
    narrow = service.client(await service.key(tenant.partner, "secret", "nothing:read"))
    answer = await call(narrow, route)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    wide = service.client(await service.key(tenant.partner, "secret", scope))
    assert (await call(wide, route)).status_code not in {401, 403}


def test_k6_the_scopes_that_there_are_are_those_that_routes_ask_for(service: Service) -> None:
    asked = {endpoint.scope for endpoint in service.endpoints if endpoint.scope} | {application.SCOPE}
    assert asked | {"*", SEES_DONORS} == keys_domain.SCOPES
    assert asked | {SEES_DONORS} >= NAMED_ONLY


@pytest.mark.parametrize("form", ["{}", "Bearer {}", "bearer  {}", "Basic"])
async def test_every_form_of_the_authorization_header_opens(form: str, service: Service, tenant: Tenant) -> None:
    header = form.format(tenant.secret)
    if form == "Basic":
        header = "Basic " + base64.b64encode(f"{tenant.secret}:".encode()).decode()
    answer = await service.client(None).get("/v1/categories", headers={"Authorization": header})
    assert answer.status_code == 200


async def test_k4_a_rotated_key_and_its_successor_both_open_until_the_overlap_ends(
    service: Service, tenant: Tenant
) -> None:
    async with service.db.write() as tx:
        old = await keys.find_by_secret(tx, tenant.secret)
        assert old is not None
        _, successor = await keys.rotate(tx, old.id, timedelta(hours=24))
    both = [service.client(tenant.secret), service.client(successor)]
    assert [(await client.get("/v1/categories")).status_code for client in both] == [200, 200]
    service.clock.advance_wall(hours=24)
    assert [(await client.get("/v1/categories")).status_code for client in both] == [401, 200]


async def test_k4_a_revoked_key_is_refused_within_a_second(service: Service, tenant: Tenant, api: Client) -> None:
    assert (await api.get("/v1/categories")).status_code == 200
    async with service.db.write() as tx:
        found = await keys.find_by_secret(tx, tenant.secret)
        assert found is not None
        await keys.revoke(tx, found.id)
    service.clock.advance_wall(seconds=1)
    assert (await api.get("/v1/categories")).status_code == 401


async def test_keys_live_on_real_time_not_on_the_sandbox_clock(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        old = await keys.find_by_secret(tx, tenant.secret)
        assert old is not None
        await keys.rotate(tx, old.id, timedelta(hours=1))
    service.clock.advance(days=2)
    assert (await service.client(tenant.secret).get("/v1/categories")).status_code == 200


def declared(service: Service, route: Route) -> Endpoint:
    """The endpoint of a line of the table."""
    for endpoint in service.endpoints:
        if endpoint.method == route.method and re.sub(r"\{[^}]*\}", "{id}", endpoint.path) == route.path:
            return endpoint
    raise AssertionError(f"{route.name} is not declared")


def with_ids(service: Service) -> list[tuple[str, str]]:
    """(route, id type) for every declared route with an id in its path."""
    return [(e.route, mark.type) for e in service.endpoints for mark in e.path_ids.values() if mark is not None]


def test_k10_every_type_of_id_is_owned_or_shared(service: Service) -> None:
    assert {type_ for _, type_ in with_ids(service)} <= OWNED.keys() | SHARED


@pytest.mark.parametrize("type_", sorted(OWNED))
async def test_k10_ids_of_one_partner_are_404_for_another_and_untouched(
    type_: str, service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    """E5: the same body as for an id of nothing; nothing changes for the owner."""
    mine = await OWNED[type_](service, api, tenant)
    nothing = service.db.deployment.ids.example_id(type_)
    reached = 0
    for endpoint in service.endpoints:
        marks = {name: mark for name, mark in endpoint.path_ids.items() if mark is not None and mark.type == type_}
        if not marks or endpoint.key.value == "none":
            continue
        before = await snapshot(service, api, type_, mine)
        answers = []
        for value in (mine, nothing):
            path = await fill(service, other, endpoint, type_, value)
            answers.append(await other.request(endpoint.method, path, **await body_for(service, endpoint)))
        found = [(answer.status_code, answer.content) for answer in answers]
        assert found[0] == found[1], endpoint.route
        assert found[0][0] == 404 or (endpoint.route == TAKING_OUT and type_ == "organisation"), endpoint.route
        assert await snapshot(service, api, type_, mine) == before, endpoint.route
        reached += 1
    assert reached > 0


async def fill(service: Service, client: Client, endpoint: Endpoint, type_: str, value: str) -> str:
    """The endpoint's path with ``value``, and with ids that the caller may use in the other places."""
    path = endpoint.path
    for wire_name in re.findall(r"\{([^}]*)\}", path):
        mark = next((m for n, m in endpoint.path_ids.items() if n.replace("_", "").lower() == wire_name.lower()), None)
        if mark is not None and mark.type == type_:
            given = value
        elif mark is not None and mark.type == "category":
            given = str((await factories.category(client))["id"])
        elif mark is not None and mark.type == "organisation":
            given = await factories.nonprofit(service)
        else:
            given = "1"
        path = path.replace(f"{{{wire_name}}}", given)
    return path


async def body_for(service: Service, endpoint: Endpoint) -> dict[str, Any]:
    """A body that the route reads without complaint: the id must be what is refused."""
    if endpoint.upload is not None:
        png = base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
        )
        return {"files": {endpoint.upload.form_field_name: ("a.png", png, "image/png")}}
    organisations: dict[str, dict[str, Any]] = {
        "setUserOrganisation": {"organisationId": await factories.nonprofit(service)},
        "createAppeal": {"text": "Look again."},
        "replayWebhookEvents": {"startDate": service.clock.now().date().isoformat()},
    }
    return {"json": organisations.get(endpoint.operation_id, {})} if endpoint.body else {}


async def snapshot(service: Service, api: Client, type_: str, value: str) -> bytes:
    """The record as its owner reads it."""
    readers = [
        e
        for e in service.endpoints
        if e.method == "GET" and [m.type for m in e.path_ids.values() if m] == [type_] and e.path.endswith("}")
    ]
    assert readers, f"no route reads a {type_}"
    answer = await api.get(re.sub(r"\{[^}]*\}", value, readers[0].path))
    data(answer)
    return answer.content


async def test_k10_ids_of_another_partner_in_bodies_are_400(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    """Settled 3: an id in a body that is not there, or not the caller's, is a 400 of the area."""
    theirs = await factories.nonprofit(service, partner=tenant.partner)
    their_user = (await factories.user(api))["id"]
    ours = await factories.nonprofit(service)
    answer = await other.post("/v1/donation-sessions", {"organisationId": theirs})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "donation_session/organisation_not_found")
    answer = await other.post("/v1/donation-sessions", {"organisationId": ours, "userId": their_user})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "donation_session/user_not_found")
    answer = await other.post("/v1/monetary-donation-verifications", {"organisationId": theirs})
    code = "monetary_donation_verification/organisation_not_found"
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    answer = await other.post(agents.PATH, {"organisationId": theirs, **agents.ADA})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "agent_verification/organisation_not_found")


async def test_k10_lists_show_the_callers_own_records_only(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    for type_ in (
        "category",
        "webhooksubscription",
        "donation",
        "monetarydonationverification",
        "validationrequest",
        "monitoringsubscription",
        "eligibilitysubscription",
        "agentverification",
        "validationsubmission",
    ):
        await OWNED[type_](service, api, tenant)
    lists = [
        e
        for e in service.endpoints
        if e.method == "GET" and e.is_list and "{" not in e.path and e.key.value == "secret"
    ]
    assert lists
    for endpoint in [*lists, *(e for e in service.endpoints if e.path == "/v1/categories" and e.method == "GET")]:
        answer = await other.get(endpoint.path)
        if endpoint.path == BEGUN_WITH:
            assert not {row["id"] for row in data(answer)} & {row["id"] for row in data(await api.get(BEGUN_WITH))}
        elif endpoint.path != "/v1/sandbox/mailbox":
            assert (answer.status_code, answer.json()["totalResults"], data(answer)) == (200, 0, []), endpoint.route


async def test_k7_publishable_keys_never_see_personal_data(
    service: Service, api: Client, publishable: Client, tenant: Tenant
) -> None:
    await factories.donation(service, api)
    organisation = await factories.nonprofit(service)
    category = await factories.category(api)
    values = {"organisation": organisation, "category": str(category["id"])}
    for endpoint in service.endpoints:
        if endpoint.key.value != "publishable" or endpoint.method != "GET":
            continue
        path = endpoint.path
        for mark in endpoint.path_ids.values():
            path = re.sub(r"\{[^}]*\}", values.get(mark.type, "unknown") if mark else "unknown", path, count=1)
        assert not PERSONAL.search((await publishable.get(path)).text), endpoint.route
