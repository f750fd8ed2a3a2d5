"""What makes a subscription be decided anew, and who hears of it (spec 4.11, 6; settled 5 and 9)."""

import asyncio
from functools import partial
from typing import Any

import pytest

from almoner.nonprofits.activities import flows as activities_flows
from almoner.nonprofits.organisations import service as organisations
from almoner.validation.ongoing.eligibility import eligibility_evaluation
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.eligibility import (
    INVALID_STATE,
    PATH,
    SIMULATE,
    body_of,
    cancel,
    create,
    evaluated,
    evidence,
    refused,
    shown,
    summary,
    tag,
    tagged,
    told,
    uuid,
)
from tests.support.eventually import eventually
from tests.support.production import PRODUCTION
from tests.support.service import Service, serving
from tests.support.validation import requested

DOGS, CATS, CHOIRS, PERFORMING = "AN102", "AN101", "AR301", "AR300"


async def changed(service: Service, organisation: str) -> None:
    """Its followers are told, as after a load or a new branding."""
    async with service.db.write() as tx:
        await organisations.emit_public_details_changed_event(tx, uuid(service, organisation, "organisation"))
    await service.drain()


@pytest.mark.parametrize(
    ("value", "expected", "rejected"), [("test_pass", "pass", []), ("test_fail", "fail", ["ntee:D20"])]
)
async def test_sb_test_values_decide(
    service: Service, api: Client, value: str, expected: str, rejected: list[str]
) -> None:
    organisation = await body_of(service, {DOGS: "ntee:D20"})
    answer = await api.post(PATH, {"organisationId": organisation, "suggestedActivitySubTags": [value]})
    made = data(answer)
    assert (made["status"], summary(made), made["suggestedActivitySubTags"]) == ("pending", (None, [], []), [])
    await service.drain()
    now = await shown(api, made)
    assert (now["status"], summary(now)) == ("live", (expected, ["ntee:D20"], rejected))
    assert now["suggestedActivitySubTags"] == []
    assert await told(service, api) == [now]


@pytest.mark.parametrize(("value", "expected"), [("test_pass", "pass"), ("test_fail", "fail")])
async def test_sb_test_values_decide_where_nothing_is_known(
    service: Service, api: Client, value: str, expected: str
) -> None:
    made = await evaluated(service, api, await body_of(service, name="Casper"), value)
    assert (made["status"], summary(made)) == ("live", (expected, [], []))


async def test_sb_a_test_value_shows_on_the_next_get_within_a_second(service: Service, api: Client) -> None:
    organisation = await body_of(service)
    stop = asyncio.Event()
    running = asyncio.create_task(service.services.background_worker.run(stop))
    try:
        made = await create(api, organisation, "test_fail")

        async def failed() -> bool:
            return bool((await shown(api, made))["results"]["eligibilityStatus"] == "fail")

        await eventually(failed)
    finally:
        stop.set()
        await running


async def test_in_production_a_test_value_is_no_sub_tag_and_nothing_is_simulated(empty_database: TestDatabase) -> None:
    async with serving(empty_database, **PRODUCTION) as service:
        api = service.client((await service.tenant()).secret)
        organisation = await body_of(service, {DOGS: "ntee:D20"})
        for value in ("test_pass", "test_fail"):
            body = {"organisationId": organisation, "suggestedActivitySubTags": [value]}
            assert (await refused(api, body))[:2] == (400, "eligibility_subscription/invalid_sub_tags")
        made = await evaluated(service, api, organisation, tag(service, DOGS))
        assert (made["status"], summary(made)) == ("live", ("pass", ["ntee:D20"], []))
        assert (await api.post(SIMULATE, {"id": made["id"], "action": "set_results"})).status_code == 404
        await api.close()


async def test_a_change_of_the_organisation_is_told_where_results_change(
    service: Service, api: Client, other: Client
) -> None:
    organisation = await body_of(service, {DOGS: "ntee:D20"}, name="Casper")
    made = await evaluated(service, api, organisation)
    theirs = await evaluated(service, other, organisation, "test_pass")
    await changed(service, organisation)
    assert len(await told(service, api)) == 1
    assert len(await evidence(service, made)) == 1
    await tagged(service, organisation, {CATS: "ntee:D21"})
    await changed(service, organisation)
    now = await shown(api, made)
    assert summary(now) == ("pass", ["ntee:D21"], [])
    assert (await told(service, api))[1:] == [now]
    assert summary(await shown(other, theirs)) == ("pass", ["ntee:D21"], [])
    await tagged(service, organisation, {})
    await changed(service, organisation)
    assert (await shown(api, made))["status"] == "cannot_define_eligibility"
    await tagged(service, organisation, {DOGS: "ntee:D20"})
    await changed(service, organisation)
    assert (await shown(api, made))["status"] == "live"
    assert [one["status"] for one in await told(service, api)] == [
        "live",
        "live",
        "cannot_define_eligibility",
        "live",
    ]
    assert [one.occasion for one in await evidence(service, made)] == ["created", *["organisation_changed"] * 3]


async def test_who_has_a_live_subscription_follows_the_organisation(
    service: Service, api: Client, other: Client
) -> None:
    organisation = await body_of(service, {DOGS: "ntee:D20"})
    made = await evaluated(service, api, organisation)
    await changed(service, organisation)

    async def heard(client: Client) -> int:
        events = data(await client.get("/v1/events", pageSize=100))
        return [event["eventType"] for event in events].count("organisation.updated")

    assert (await heard(api), await heard(other)) == (1, 0)
    await cancel(api, made)
    await changed(service, organisation)
    assert await heard(api) == 1


async def test_new_rules_of_activities_decide_anew(service: Service, api: Client) -> None:
    organisation = await body_of(service, {DOGS: "ntee:D20"}, name="Casper")
    made = await evaluated(service, api, organisation)
    await tagged(service, organisation, {CATS: "ntee:D20"})
    await activities_flows.retag_organisations(service.db)
    await service.drain()
    assert (await shown(api, made))["results"]["confirmedActivitySubTags"][0]["id"] == tag(service, CATS)
    assert [one.occasion for one in await evidence(service, made)] == ["created", "rules_changed"]


async def simulate(api: Client, record: dict[str, Any], **results: Any) -> tuple[int, Any]:
    """Status, and the record or the code of the refusal."""
    answer = await api.post(SIMULATE, {"id": record["id"], "action": "set_results", "results": results})
    stated = answer.json()
    return answer.status_code, stated["data"] if "data" in stated else stated["error"]["code"]


async def test_sb_results_are_set(service: Service, api: Client) -> None:
    made = await evaluated(service, api, await body_of(service, {DOGS: "ntee:D20"}, name="Casper"))
    status, now = await simulate(
        api,
        made,
        eligibilityStatus="fail",
        confirmedActivitySubTags=[tag(service, CATS)],
        rejectedActivitySubTags=[tag(service, CHOIRS)],
    )
    assert (status, now["status"], now["results"]["eligibilityStatus"]) == (200, "live", "fail")
    assert {one["id"] for one in now["results"]["confirmedActivitySubTags"]} == {
        tag(service, CATS),
        tag(service, CHOIRS),
    }
    assert [one["id"] for one in now["results"]["rejectedActivitySubTags"]] == [tag(service, CHOIRS)]
    assert now == await shown(api, made)
    assert (await told(service, api))[1:] == [now]
    assert (await simulate(api, made, **now["results"]))[1] == now
    assert len(await told(service, api)) == 2, "the same again is no change"
    nothing = (await simulate(api, made, eligibilityStatus=None))[1]
    assert (nothing["status"], summary(nothing)) == ("cannot_define_eligibility", (None, [], []))
    assert [one.occasion for one in await evidence(service, made)][:2] == ["created", "simulated"]


async def test_sb_results_of_a_new_one_stay(service: Service, api: Client) -> None:
    made = await create(api, await body_of(service, {DOGS: "ntee:D20"}))
    assert (await simulate(api, made, eligibilityStatus="fail"))[0] == 200
    await service.drain()
    assert (await shown(api, made))["results"]["eligibilityStatus"] == "fail"
    configurations = "/v1/validation-submission-configurations"
    [own] = data(await api.get(configurations))
    await api.patch(f"{configurations}/{own['id']}", {"name": "The same in other words"})
    await service.drain()
    assert (await shown(api, made))["results"]["eligibilityStatus"] == "fail", "nothing that it rests on has changed"
    await api.patch(f"{configurations}/{own['id']}", {"allowedActivitySubTags": [tag(service, DOGS)]})
    await service.drain()
    assert (await shown(api, made))["results"]["eligibilityStatus"] == "pass"


async def test_sb_results_that_cannot_be_set(service: Service, api: Client, other: Client) -> None:
    request = await requested(api)
    await service.drain()
    waits = await evaluated(service, api, "", organisationId=None, validationRequestId=request["id"])
    made = await evaluated(service, api, await body_of(service, {DOGS: "ntee:D20"}))
    assert await simulate(api, waits, eligibilityStatus="pass") == INVALID_STATE
    unknown = {"eligibilityStatus": "pass", "confirmedActivitySubTags": ["sewing"]}
    assert await simulate(api, made, **unknown) == (400, "eligibility_subscription/invalid_sub_tags")
    known = {"eligibilityStatus": None, "confirmedActivitySubTags": [tag(service, DOGS)]}
    assert await simulate(api, made, **known) == INVALID_STATE
    for wrong in ({}, {"eligibilityStatus": "maybe"}, {"eligibilityStatus": "pass", "confirmedActivitySubTags": "x"}):
        assert await simulate(api, made, **wrong) == (400, "bad_request")
    assert await simulate(other, made, eligibilityStatus="pass") == (400, "sandbox/record_not_found")
    answer = await api.post(SIMULATE, {"id": made["id"], "action": "set_results"})
    assert answer.json()["error"]["reasons"] == ["body.results is required for this action"]
    await cancel(api, made)
    assert await simulate(api, made, eligibilityStatus="pass") == INVALID_STATE


async def test_s1_cancelling_against_evaluating(service: Service, api: Client) -> None:
    organisation = await body_of(service, {DOGS: "ntee:D20"})
    every = partial(_evaluate, service)
    for _ in range(8):
        made = await create(api, organisation)
        answers = await asyncio.gather(*(every(made) for _ in range(3)), *(cancel(api, made) for _ in range(3)))
        assert [answer[0] for answer in answers if answer].count(200) == 1
        now = await shown(api, made)
        assert now["status"] == "cancelled"
        heard = [one for one in await told(service, api) if one["id"] == made["id"]]
        stored = [one for one in await evidence(service, made) if one.facts["resultsChanged"]]
        known = now["results"]["eligibilityStatus"] is not None
        assert len(heard) == len(stored) == known, "told once if it was evaluated first, else never"
        assert all(one["status"] == "live" for one in heard)


async def _evaluate(service: Service, record: dict[str, Any]) -> None:
    async with service.db.write() as tx:
        await eligibility_evaluation.evaluate_subscription(tx, uuid(service, record["id"]), "organisation_changed")
