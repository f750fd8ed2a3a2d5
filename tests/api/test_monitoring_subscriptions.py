"""Monitoring subscriptions on the wire (spec 2.4, 4.4; settled 3, 4, 5 and 8)."""

import asyncio
from typing import Any

import pytest

from almoner.kit.time import iso_timestamp
from almoner.screening.watchlists.domain import CATEGORIES
from tests.support import factories, validation
from tests.support.client import Client, data
from tests.support.monitoring import (
    PATH,
    UNKNOWN,
    cancelled,
    listed,
    looked,
    refused,
    set_results,
    shown,
    statuses,
    subscribe,
    told,
)
from tests.support.service import Service, Tenant

AREA = "monitoring_subscription"


async def test_the_record_of_a_new_one_and_of_a_live_one(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service, name="Casper Relief Fund")
    answer = await api.post(PATH, {"organisationId": organisation})
    made = data(answer)
    assert answer.json()["object"] == AREA
    assert made == {
        "id": made["id"],
        "organisationId": organisation,
        "validationRequestId": None,
        "configurationId": None,
        "status": "pending",
        "organisation": {"name": "Casper Relief Fund"},
        "results": UNKNOWN,
        "sources": [],
        "matches": [],
        "createdAt": iso_timestamp(service.clock.now()),
    }
    assert service.db.deployment.ids.decode("monitoringsubscription", made["id"])
    [event] = await told(service, api)
    live = await shown(api, made)
    assert live == event == {**made, "status": "live", "results": {**UNKNOWN, "complianceStatus": "pass"}}
    assert await listed(api) == ([made["id"]], 1)


async def test_a_category_without_a_list_is_never_clear(service: Service, api: Client) -> None:
    live = await looked(service, api)
    assert statuses(live) == dict.fromkeys(CATEGORIES)
    assert live["sources"] == []
    assert live["results"]["registration"] == {"active": None}  # no list that is loaded here has it


async def test_who_is_named_wrongly_is_told_so(service: Service, api: Client, other: Client, tenant: Tenant) -> None:
    own = await factories.nonprofit(service, partner=tenant.partner)
    foreign = await validation.requested(other)
    request = await validation.requested(api)
    for body in (
        {"organisationId": "sandbox_organisation_00000000000000000000000000"},
        {"organisationId": request["id"]},
        {"organisationId": "nobody"},
        {"organisationId": ""},
        {"validationRequestId": foreign["id"]},
        {"validationRequestId": own},
        {"validationRequestId": "-complianceStatus:pass"},
    ):
        status, code, reasons = await refused(api, **body)
        assert (status, code) == (400, f"{AREA}/entity_not_found"), body
        assert reasons[0].startswith(f"body.{next(iter(body))} '")
    assert (await refused(other, organisationId=own))[1] == f"{AREA}/entity_not_found"
    assert (await refused(api, organisationId=await factories.nonprofit(service, active=False)))[:2] == (
        400,
        f"{AREA}/organisation_not_active",
    )
    both = {"organisationId": own, "validationRequestId": request["id"]}
    for wrong in (both, {}, {"organisationId": 7}, {"organisationId": "x" * 501}, {"organisationId": None}):
        assert (await refused(api, **wrong))[:2] == (400, "bad_request"), wrong
    assert await listed(api) == ([], 0)


async def test_i1_a_repeated_creation_is_answered_and_not_done_again(service: Service, api: Client) -> None:
    body = {"organisationId": await factories.nonprofit(service)}
    first = await api.post(PATH, body, idempotency_key="watch")
    again = await api.post(PATH, body, idempotency_key="watch")
    assert (first.status_code, again.content) == (200, first.content)
    assert (await listed(api))[1] == 1


async def test_with_a_request_it_waits_for_the_decision(service: Service, api: Client) -> None:
    request = await validation.requested(api, **validation.UNHEARD_OF)
    waiting = await looked(service, api, validationRequestId=request["id"])
    assert (waiting["status"], waiting["organisation"], waiting["organisationId"]) == (
        "pending_validation_request",
        None,
        None,
    )
    assert (waiting["results"], await told(service, api)) == (UNKNOWN, [])
    accepted = await validation.simulate(api, request, "accept")
    [event] = await told(service, api)
    live = await shown(api, waiting)
    assert live == event
    assert (live["status"], live["organisationId"]) == ("live", accepted["organisationId"])
    assert live["organisation"] == {"name": request["name"]}
    assert live["validationRequestId"] == request["id"]


async def test_with_a_request_that_is_rejected_it_fails(service: Service, api: Client) -> None:
    request = await validation.requested(api)
    waiting = await subscribe(service, api, validationRequestId=request["id"])
    await validation.simulate(api, request, "reject")
    assert await told(service, api) == []
    failed = await shown(api, waiting)
    assert failed == {**waiting, "status": "validation_request_failed"}
    late = await looked(service, api, validationRequestId=request["id"])
    assert late["status"] == "validation_request_failed"
    assert (await cancelled(api, failed))["status"] == "cancelled"


async def test_with_a_request_that_was_accepted_it_is_live_at_once(service: Service, api: Client) -> None:
    request = await validation.decided(service, api, name="test_accept")
    made = await subscribe(service, api, validationRequestId=request["id"])
    assert (made["status"], made["results"]) == ("pending_validation_request", UNKNOWN)
    await service.drain()
    assert (await shown(api, made))["organisationId"] == request["organisationId"]
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set active = false where id = $1",
            tx.ids.decode("organisation", request["organisationId"]),
        )
    assert (await refused(api, validationRequestId=request["id"]))[1] == f"{AREA}/organisation_not_active"


@pytest.mark.parametrize("state", ["pending", "pending_validation_request", "validation_request_failed", "live"])
async def test_every_state_is_cancelled_once_and_stays_as_it_was(service: Service, api: Client, state: str) -> None:
    request = await validation.requested(api)
    by_request = state in ("pending_validation_request", "validation_request_failed")
    body: dict[str, Any] = {"validationRequestId": request["id"]} if by_request else {}
    made = await subscribe(service, api, **body)
    if state == "validation_request_failed":
        await validation.simulate(api, request, "reject")
    if state != "pending":
        await service.drain()
    before = await shown(api, made)
    assert before["status"] == state
    events = await told(service, api) if state != "pending" else []
    ended = await cancelled(api, made)
    assert ended == {**before, "status": "cancelled"} == await shown(api, made)
    answer = await api.post(f"{PATH}/{made['id']}/cancel")
    code = f"{AREA}/monitoring_subscription_already_cancelled"
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert await told(service, api) == events
    if state == "pending_validation_request":
        await validation.simulate(api, request, "accept")
        await service.drain()
    assert await shown(api, made) == ended


async def test_cancelled_at_once_by_many_it_is_cancelled_once(service: Service, api: Client) -> None:
    made = await looked(service, api)
    answers = await asyncio.gather(*(api.post(f"{PATH}/{made['id']}/cancel") for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 5


async def test_another_partners_is_unknown(service: Service, api: Client, other: Client) -> None:
    made = await looked(service, api)
    assert (await other.get(f"{PATH}/{made['id']}")).status_code == 404
    assert (await other.post(f"{PATH}/{made['id']}/cancel")).status_code == 404
    assert await listed(other) == ([], 0)


async def test_every_filter_narrows_list_and_total(service: Service, api: Client, other: Client) -> None:
    names = ("Zebra Trust", "Éire Fund", "alpha & Omega")
    made = [await looked(service, api, organisationId=await factories.nonprofit(service, name=name)) for name in names]
    request = await validation.requested(api, name="Omega of Wyoming")
    made.append(await looked(service, api, validationRequestId=request["id"]))
    await cancelled(api, made[0])
    await looked(service, other)
    zebra, eire, alpha, omega = (record["id"] for record in made)
    newest = [omega, alpha, eire, zebra]
    assert await listed(api) == (newest, 4)
    assert await listed(api, direction="ASC", sort="id") == (newest[::-1], 4)
    assert await listed(api, sort="name", direction="ASC") == ([alpha, eire, omega, zebra], 4)
    assert await listed(api, sort="name") == ([zebra, omega, eire, alpha], 4)
    assert await listed(api, status="cancelled") == ([zebra], 1)
    assert await listed(api, status="live") == ([alpha, eire], 2)
    assert await listed(api, status="pending_validation_request") == ([omega], 1)
    assert await listed(api, hasOrganisation="true") == ([alpha, eire, zebra], 3)
    assert await listed(api, hasOrganisation="false") == ([omega], 1)
    assert await listed(api, query="OMEGA") == ([omega, alpha], 2)
    assert await listed(api, query="omeg alp") == await listed(api, query="ALPHA") == ([alpha], 1)
    assert await listed(api, query="omega", hasOrganisation="true", status="live", sort="name") == ([alpha], 1)
    assert await listed(api, query="%") == await listed(api, query="!!") == ([], 0)
    for name, value in (("status", "open"), ("sort", "age"), ("hasOrganisation", "maybe"), ("pageSize", "0")):
        assert (await api.get(f"{PATH}?{name}={value}")).status_code == 400, name


@pytest.mark.parametrize("sort", ["id", "name"])
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
async def test_p4_pages_follow_each_other_both_ways(service: Service, api: Client, sort: str, direction: str) -> None:
    for name in ("b", "B.", "a", "c", "a"):
        await subscribe(service, api, organisationId=await factories.nonprofit(service, name=name))
    await service.drain()
    whole = data(await api.get(PATH, sort=sort, direction=direction))
    pages, links = [], []
    answer = await api.get(PATH, sort=sort, direction=direction, pageSize=2)
    while True:
        pages += data(answer)
        links.append(answer.json()["_links"])
        if (following := links[-1]["next"]) is None:
            break
        answer = await api.get(following)
    assert pages == whole
    assert len(whole) == 5
    assert (await api.get(links[-1]["prev"])).json()["data"] == whole[2:4]


async def test_settled_9_simulated_results_are_those_of_the_record(service: Service, api: Client) -> None:
    live = await looked(service, api)
    flagged = await set_results(api, live, sanction={"status": "flag"}, registration={"active": "no"})
    assert flagged == await shown(api, live)
    assert statuses(flagged) == {**dict.fromkeys(CATEGORIES), "sanction": "flag"}
    assert flagged["results"]["complianceStatus"] == "fail"
    assert flagged["results"]["registration"] == {"active": "no"}
    uncounted = await set_results(api, live, sanction={"status": "clear"}, commercial={"status": "flag"})
    assert uncounted["results"]["complianceStatus"] == "pass"
    same = await set_results(api, live, commercial={"status": "flag"})
    assert same == uncounted
    events = await told(service, api)
    assert events == [live, flagged, uncounted]
    whole = await set_results(api, live, **{**uncounted["results"], "complianceStatus": "fail"})
    assert whole["results"] == {**uncounted["results"], "complianceStatus": "fail"}
    await service.drain()
    assert await shown(api, live) == whole


async def test_settled_9_what_cannot_be_set_is_refused(service: Service, api: Client) -> None:
    made = await subscribe(service, api)
    await service.drain()
    assert (await set_results(api, made, sanction={"status": "clear"}))["status"] == "live"
    waiting = await subscribe(service, api, validationRequestId=(await validation.requested(api))["id"])
    await cancelled(api, made)
    for record in (made, waiting):
        body = {"id": record["id"], "action": "set_results", "results": {"sanction": {"status": "flag"}}}
        answer = await api.post("/v1/sandbox/simulate", body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, f"{AREA}/invalid_state")
    for results in (None, {}, {"sanction": {"status": "red"}, "complianceStatus": "maybe"}, {"sanction": None}):
        body = {"id": waiting["id"], "action": "set_results", "results": results}
        answer = await api.post("/v1/sandbox/simulate", body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request"), results
        assert all(reason.startswith("body.results") for reason in answer.json()["error"]["reasons"])


async def test_what_is_said_of_one_that_nobody_looked_at_names_no_list(service: Service, api: Client) -> None:
    made = await subscribe(service, api)
    stated = await set_results(api, made, sanction={"status": "clear"})
    assert (stated["status"], stated["sources"]) == ("pending", [])
    assert stated["results"] == {**UNKNOWN, "sanction": {"status": "clear"}}, "whether it passes is not known"
    assert stated == await shown(api, made)
    first, live = await told(service, api)
    assert first == stated
    assert live == await shown(api, made)
    assert (live["status"], live["results"]["complianceStatus"]) == ("live", "pass")
