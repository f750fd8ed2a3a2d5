"""Eligibility subscriptions on the wire (spec 2.5, 4.5; settled 3, 4, 5 and 8)."""

from typing import Any

from almoner.kit.time import iso_timestamp
from almoner.validation.ongoing.eligibility import service as eligibility
from tests.support import factories, validation
from tests.support.client import Client, data
from tests.support.eligibility import (
    PATH,
    body_of,
    cancel,
    create,
    evaluated,
    evidence,
    refused,
    shown,
    summary,
    tag,
    told,
    uuid,
)
from tests.support.service import Service, Tenant
from tests.support.validation import requested
from tests.support.validation import simulate as decide

UNKNOWN: dict[str, Any] = {"eligibilityStatus": None, "confirmedActivitySubTags": [], "rejectedActivitySubTags": []}
DOGS, HOUSING, CHOIRS, CHURCHES = "AN102", "HO", "AR301", "RL302"


async def listed(api: Client, **query: Any) -> tuple[list[str], int]:
    """Ids and total of a list."""
    answer = await api.get(PATH, **query)
    return [row["id"] for row in data(answer)], answer.json()["totalResults"]


async def sub_tag(api: Client, id_: str) -> dict[str, Any]:
    """A sub-tag with its tag, as answers show it."""
    for of in data(await api.get("/v1/activity-tags")):
        for one in of.pop("subTags"):
            if one["id"] == id_:
                del one["tagId"]
                return {**one, "tag": of}
    raise LookupError(id_)


async def test_the_record_of_a_new_one(service: Service, api: Client) -> None:
    organisation = await body_of(service, name="Casper Relief")
    now = iso_timestamp(service.clock.now())
    suggested = [tag(service, DOGS)]
    answer = await api.post(
        PATH, {"organisationId": organisation, "suggestedActivitySubTags": suggested, "metadata": {"a": "b"}}
    )
    made = data(answer)
    assert answer.json()["object"] == "eligibility_subscription"
    assert made == {
        "id": made["id"],
        "organisationId": organisation,
        "organisationName": "Casper Relief",
        "validationRequestId": None,
        "configurationId": None,
        "suggestedActivitySubTags": [await sub_tag(api, suggested[0])],
        "status": "pending",
        "results": UNKNOWN,
        "metadata": {"a": "b"},
        "createdAt": now,
        "updatedAt": now,
    }
    assert await shown(api, made) == made
    assert await listed(api) == ([made["id"]], 1)


async def test_what_the_register_says_is_confirmed_and_names_its_rule(service: Service, api: Client) -> None:
    organisation = await body_of(service, {DOGS: "ntee:P20"})
    made = await evaluated(service, api, organisation)
    assert (made["status"], summary(made)) == ("live", ("pass", ["ntee:P20"], []))
    (confirmed,) = made["results"]["confirmedActivitySubTags"]
    assert confirmed == {**await sub_tag(api, tag(service, DOGS)), "rule": "ntee:P20"}
    assert set(confirmed["tag"]) == {"id", "name", "description", "createdAt", "updatedAt"}
    assert await told(service, api) == [made]


async def test_suggested_ones_are_confirmed_or_left_out(service: Service, api: Client) -> None:
    organisation = await body_of(service, {DOGS: "ntee:D20"}, name="St Mary Church Choir")
    suggested = [tag(service, one) for one in (CHURCHES, DOGS, HOUSING)]
    made = await evaluated(service, api, organisation, *suggested)
    assert made["suggestedActivitySubTags"] == [await sub_tag(api, one) for one in suggested]
    (decision,) = await evidence(service, made)
    verdicts = {step.name: (step.verdict, step.code, step.facts["suggested"]) for step in decision.steps}
    assert verdicts[DOGS] == ("pass", "ntee:D20", True)
    assert verdicts[CHURCHES] == ("pass", "name:church", True)
    assert verdicts[HOUSING] == ("not_applicable", None, True)
    assert made["results"]["eligibilityStatus"] == "pass"
    # Words of the name say more, but the register says what it does: only what was asked about is taken from them.
    assert {one["id"] for one in made["results"]["confirmedActivitySubTags"]} == set(suggested[:2])


async def test_a_wider_one_is_confirmed_by_a_narrower(service: Service, api: Client) -> None:
    organisation = await body_of(service, {CHOIRS: "ntee:A6B"}, name="Casper Singers")
    made = await evaluated(service, api, organisation, tag(service, "AR300"), tag(service, "AR306"))
    assert set(summary(made)[1]) == {"ntee:A6B", f"ntee:A6B (as {CHOIRS})"}


async def test_words_of_the_name_count_where_the_register_says_nothing(service: Service, api: Client) -> None:
    made = await evaluated(service, api, await body_of(service, name="St Mary Church"))
    assert made["status"] == "live"
    assert set(summary(made)[1]) == {"name:church"}


async def test_what_nothing_is_known_of_cannot_be_defined(service: Service, api: Client) -> None:
    organisation = await body_of(service, name="Casper")
    made = await evaluated(service, api, organisation, tag(service, HOUSING))
    assert (made["status"], made["results"]) == ("cannot_define_eligibility", UNKNOWN)
    assert await told(service, api) == [made]


async def test_one_of_a_validation_request_waits_for_it(service: Service, api: Client) -> None:
    request = await requested(api, name="St Mary Church", registryId="99-1234567")
    await service.drain()
    made = await evaluated(service, api, "", organisationId=None, validationRequestId=request["id"])
    assert (made["status"], made["organisationId"], made["organisationName"]) == (
        "pending_validation_request",
        None,
        "St Mary Church",
    )
    assert made["results"] == UNKNOWN
    accepted = await decide(api, request, "accept")
    await service.drain()
    now = await shown(api, made)
    assert (now["status"], now["organisationId"]) == ("live", accepted["organisationId"])
    assert now["validationRequestId"] == request["id"]
    assert set(summary(now)[1]) == {"name:church"}
    assert await told(service, api) == [now]


async def test_one_of_a_rejected_request_has_failed(service: Service, api: Client) -> None:
    before, after = await requested(api), await requested(api)
    await service.drain()
    first = await create(api, "", organisationId=None, validationRequestId=before["id"])
    await service.drain()
    for request in (before, after):
        await decide(api, request, "reject")
    second = await evaluated(service, api, "", organisationId=None, validationRequestId=after["id"])
    first = await shown(api, first)
    for made in (first, second):
        assert (made["status"], made["organisationId"], made["results"]) == ("validation_request_failed", None, UNKNOWN)
    assert await told(service, api) == [], "no result has changed (settled 5)"


async def test_one_of_an_accepted_request_goes_live_at_once(service: Service, api: Client) -> None:
    request = await requested(api, name="test_accept")
    made = await create(api, "", "test_fail", organisationId=None, validationRequestId=request["id"])
    await service.drain()
    assert (await shown(api, made))["status"] == "live"
    accepted = (await validation.shown(api, request))["organisationId"]
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set active = false where id = $1", uuid(service, accepted, "organisation")
        )
    for body in ({"organisationId": accepted}, {"validationRequestId": request["id"]}):
        assert (await refused(api, body))[:2] == (400, "eligibility_subscription/organisation_not_active")


async def test_cancelling_is_done_once_and_keeps_the_results(service: Service, api: Client) -> None:
    made = await evaluated(service, api, await body_of(service), "test_pass")
    assert await cancel(api, made) == (200, "cancelled")
    assert await cancel(api, made) == (400, "eligibility_subscription/already_cancelled")
    assert (await shown(api, made))["results"] == made["results"]
    assert len(await told(service, api)) == 1


async def test_any_state_can_be_cancelled(service: Service, api: Client) -> None:
    request, rejected = await requested(api), await requested(api, name="test_reject_other")
    new = await create(api, await body_of(service), "test_pass")
    assert await cancel(api, new) == (200, "cancelled")
    waits = await evaluated(service, api, "", organisationId=None, validationRequestId=request["id"])
    failed = await evaluated(service, api, "", organisationId=None, validationRequestId=rejected["id"])
    undefined = await evaluated(service, api, await body_of(service, name="Casper"))
    states = [waits["status"], failed["status"], undefined["status"]]
    assert states == ["pending_validation_request", "validation_request_failed", "cannot_define_eligibility"]
    for made in (waits, failed, undefined):
        assert await cancel(api, made) == (200, "cancelled")
    await decide(api, request, "accept")
    await service.drain()
    assert (await shown(api, waits))["status"] == "cancelled"
    assert (await shown(api, new))["results"] == UNKNOWN


async def test_e3_what_can_be_refused(service: Service, api: Client, other: Client) -> None:
    area = "eligibility_subscription"
    inactive = await factories.nonprofit(service, active=False)
    organisation = await factories.nonprofit(service)
    foreign = await requested(other)
    ids = service.db.deployment.ids
    for body, code in (
        ({"organisationId": ids.example_id("organisation")}, "entity_not_found"),
        ({"organisationId": "mine"}, "entity_not_found"),
        ({"organisationId": foreign["id"]}, "entity_not_found"),
        ({"validationRequestId": foreign["id"]}, "entity_not_found"),
        ({"validationRequestId": "x" * 500}, "entity_not_found"),
        ({"organisationId": inactive}, "organisation_not_active"),
        ({"organisationId": organisation, "metadata": {"k" * 41: "v"}}, "invalid_metadata"),
        ({"organisationId": organisation, "metadata": {str(n): "v" for n in range(21)}}, "invalid_metadata"),
    ):
        status, stated, reasons = await refused(api, body)
        assert (status, stated, bool(reasons)) == (400, f"{area}/{code}", True), body
    for suggested in (
        ["sewing"],
        ["test_pass", tag(service, HOUSING)],
        ["test_pass", "test_fail"],
        ["test_pass", "test_pass"],
        ["test_other"],
        [ids.example_id("activitysubtag")],
        [ids.example_id("activitytag"), "animals"],
    ):
        body = {"organisationId": organisation, "suggestedActivitySubTags": suggested}
        status, stated, reasons = await refused(api, body)
        assert (status, stated) == (400, f"{area}/invalid_sub_tags")
        unknown = [one for one in suggested if one != tag(service, HOUSING)]
        assert len(reasons) == len(dict.fromkeys(unknown)), reasons


async def test_e4_all_that_is_wrong_is_told(api: Client) -> None:
    both = {"organisationId": "a", "validationRequestId": "b"}
    for body in ({}, both, {"organisationId": None}):
        assert (await refused(api, body))[:2] == (400, "bad_request")
    status, code, reasons = await refused(
        api, {"organisationId": 4, "suggestedActivitySubTags": "x", "metadata": {"a": 1}}
    )
    assert (status, code) == (400, "bad_request")
    assert {reason.split()[0] for reason in reasons} == {
        "body.organisationId",
        "body.suggestedActivitySubTags",
        "body.metadata.a",
    }
    for named in ({}, both):
        _, _, reasons = await refused(api, {**named, "suggestedActivitySubTags": "x", "metadata": {"a": 1}})
        assert {reason.split()[0] for reason in reasons} == {
            "body",
            "body.suggestedActivitySubTags",
            "body.metadata.a",
        }
        assert "body must have either organisationId or validationRequestId" in reasons
    many = {"organisationId": "a", "suggestedActivitySubTags": ["x"] * 101}
    assert (await refused(api, many))[1] == "bad_request"


async def test_metadata_is_merged_key_by_key(service: Service, api: Client) -> None:
    made = await create(api, await body_of(service), metadata={"a": "1", "b": "2"})
    path = f"{PATH}/{made['id']}"
    assert data(await api.patch(path, {}))["metadata"] == {"a": "1", "b": "2"}
    merged = data(await api.patch(path, {"metadata": {"a": None, "c": "3"}}))
    assert merged == {**made, "metadata": {"b": "2", "c": "3"}, "updatedAt": merged["updatedAt"]}
    assert data(await api.patch(path, {"metadata": None}))["metadata"] is None
    for wrong in ({"k": "v" * 251}, {str(n): "v" for n in range(21)}):
        answer = await api.patch(path, {"metadata": wrong})
        assert answer.json()["error"]["code"] == "eligibility_subscription/invalid_metadata"
    alone = await refused(api, {"organisationId": await body_of(service), "metadata": {"a": 1, "k" * 41: "x"}})
    long = f"body.metadata key '{'k' * 40}...' is longer than 40 characters"
    wrong_type = "body.metadata.a must be a string"
    assert alone == (400, "eligibility_subscription/invalid_metadata", [wrong_type, long])


async def test_lists_are_the_partners_own_and_narrow_by_status(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    organisation = await body_of(service, partner=tenant.partner)
    rows = [await evaluated(service, api, organisation, "test_pass") for _ in range(3)]
    ids = [row["id"] for row in reversed(rows)]
    await cancel(api, rows[0])
    assert await listed(api) == (ids, 3)
    assert await listed(api, direction="ASC") == (ids[::-1], 3)
    assert await listed(api, status="live") == (ids[:2], 2)
    assert await listed(api, status="cancelled") == (ids[2:], 1)
    assert await listed(api, status="pending") == ([], 0)
    answer = await api.get(PATH, pageSize=1, status="live")
    following = answer.json()["_links"]["next"]
    assert [row["id"] for row in data(await api.get(following))] == [ids[1]]
    assert await listed(other) == ([], 0)
    assert (await api.get(PATH, status="odd")).status_code == 400
    for path in (f"{PATH}/{ids[0]}", f"{PATH}/{service.db.deployment.ids.example_id('eligibilitysubscription')}"):
        assert (await other.get(path)).status_code == 404
        assert (await other.patch(path, {"metadata": {"a": "b"}})).status_code == 404
        assert (await other.post(f"{path}/cancel")).status_code == 404
    assert (await refused(other, {"organisationId": organisation}))[1] == "eligibility_subscription/entity_not_found"


async def test_each_decision_shows_what_it_rested_on(service: Service, api: Client, other: Client) -> None:
    dogs, cats = tag(service, "AN102"), tag(service, "AN101")
    made = await evaluated(service, api, await body_of(service, {"AN102": "ntee:D20"}), dogs, cats)
    configurations = "/v1/validation-submission-configurations"
    [own] = data(await api.get(configurations))
    await api.patch(f"{configurations}/{own['id']}", {"allowedActivitySubTags": [cats]})
    await service.drain()
    answer = await api.get(f"{PATH}/{made['id']}/history", direction="ASC")
    assert (answer.json()["object"], answer.json()["totalResults"]) == ("eligibility_evaluation", 2)
    first, second = data(answer)
    assert (first["occasion"], first["eligibilityStatus"], first["resultsChanged"]) == ("created", "pass", True)
    assert (first["organisationId"], first["allowedActivitySubTags"]) == (made["organisationId"], None)
    assert {one["id"]: (one["rule"], one["suggested"], one["verdict"]) for one in first["findings"]} == {
        dogs: ("ntee:D20", True, "confirmed"),
        cats: (None, True, "left_out"),
    }
    assert (second["occasion"], second["eligibilityStatus"]) == ("configuration_changed", "fail")
    assert second["allowedActivitySubTags"] == [cats]
    assert [one["verdict"] for one in second["findings"] if one["id"] == dogs] == ["rejected"]
    page = await api.get(f"{PATH}/{made['id']}/history", pageSize=1)
    assert data(page) == [second]
    assert data(await api.get(page.json()["_links"]["next"])) == [first]
    assert (await other.get(f"{PATH}/{made['id']}/history")).status_code == 404


async def test_a_list_narrows_by_name_dates_and_organisation_and_sorts_by_name(
    service: Service, api: Client, tenant: Tenant
) -> None:
    zoo = await evaluated(service, api, await body_of(service, name="Zoo of Casper", partner=tenant.partner))
    service.clock.advance(days=2)
    choir = await evaluated(service, api, await body_of(service, name="Casper Ålesund Choir", partner=tenant.partner))
    request = await requested(api, name="Wind River Library", registryId="99-1234567")
    waiting = await create(api, "", organisationId=None, validationRequestId=request["id"])
    ids = {"zoo": zoo["id"], "choir": choir["id"], "waiting": waiting["id"]}
    names = {id_: name for name, id_ in ids.items()}

    async def shown_names(**query: Any) -> list[str]:
        found, total = await listed(api, **query)
        assert total == len(found)
        return [names[one] for one in found]

    assert await shown_names() == ["waiting", "choir", "zoo"]
    assert await shown_names(query="casper") == ["choir", "zoo"]
    assert await shown_names(query="alesund CASPER") == ["choir"]
    assert await shown_names(query="?!") == []
    assert await shown_names(hasOrganisation="true") == ["choir", "zoo"]
    assert await shown_names(hasOrganisation="false") == ["waiting"]
    assert await shown_names(startDate=choir["createdAt"]) == ["waiting", "choir"]
    assert await shown_names(endDate=choir["createdAt"]) == ["zoo"]
    assert await shown_names(startDate=choir["createdAt"], query="casper", status="live") == ["choir"]
    assert await shown_names(sort="name", direction="ASC") == ["choir", "waiting", "zoo"]
    answer = await api.get(PATH, sort="name", direction="ASC", pageSize=2)
    following = await api.get(answer.json()["_links"]["next"])
    assert [names[row["id"]] for row in data(following)] == ["zoo"]
    back = await api.get(following.json()["_links"]["prev"])
    assert [names[row["id"]] for row in data(back)] == ["choir", "waiting"]
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set name = 'AARDVARK HOME', display_name = 'Aardvark Home' where id = $1",
            uuid(service, zoo["organisationId"], "organisation"),
        )
        await eligibility.reevaluate_all_subscriptions(tx)
    await service.drain()
    assert await shown_names(query="aardvark") == ["zoo"]
    assert await shown_names(sort="name", direction="ASC") == ["zoo", "choir", "waiting"]
    reasons = (await api.get(PATH, startDate="2026-02-02", endDate="2026-02-01", sort="odd")).json()["error"]["reasons"]
    assert [reason.split()[0] for reason in reasons] == ["query.sort", "query.endDate"]
