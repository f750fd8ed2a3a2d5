"""SCIM in bulk (RFC 7644 3.7)."""

from typing import Any

import pytest

from tests.support.scim import BULK, GROUP, USER, ScimClient, bulk, patch, refused, shown, user
from tests.support.service import Service, Tenant

BULK_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse"


def post_user(bulk_id: str, name: str, **given: Any) -> dict[str, Any]:
    """An operation that makes a user."""
    return {"method": "POST", "path": "/Users", "bulkId": bulk_id, "data": user(name, **given)}


async def outcomes(scim: ScimClient, *operations: dict[str, Any], **given: Any) -> list[dict[str, Any]]:
    """What became of each."""
    answer = shown(await scim.post("/Bulk", bulk(*operations, **given)))
    assert answer["schemas"] == [BULK_RESPONSE]
    reported: list[dict[str, Any]] = answer["Operations"]
    return reported


async def test_all_methods_at_once(scim: ScimClient) -> None:
    gone, changed = await scim.new_user("gone"), await scim.new_user("changed")
    reported = await outcomes(
        scim,
        post_user("a", "ada"),
        {"method": "PUT", "path": f"/Users/{changed['id']}", "data": user("changed", title="Put")},
        {
            "method": "PATCH",
            "path": f"/Users/{changed['id']}",
            "data": patch({"op": "add", "path": "nickName", "value": "P"}),
        },
        {"method": "DELETE", "path": f"/Users/{gone['id']}"},
    )
    assert [one["status"] for one in reported] == ["201", "200", "200", "204"]
    assert [one["method"] for one in reported] == ["POST", "PUT", "PATCH", "DELETE"]
    assert reported[0]["bulkId"] == "a"
    made = shown(await scim.get("/Users/" + reported[0]["location"].rpartition("/")[2]))
    assert (made["userName"], made["meta"]["version"]) == ("ada", reported[0]["version"])
    after = shown(await scim.get(f"/Users/{changed['id']}"))
    assert (after["title"], after["nickName"], after["meta"]["version"]) == ("Put", "P", reported[2]["version"])
    refused(await scim.get(f"/Users/{gone['id']}"), 404)
    assert reported[3]["location"] == gone["meta"]["location"]


async def test_references_by_bulk_id(scim: ScimClient) -> None:
    """RFC 7644 3.7.2: whatever their order."""
    reported = await outcomes(
        scim,
        {
            "method": "POST",
            "path": "/Groups",
            "bulkId": "g",
            "data": {
                "schemas": [GROUP],
                "displayName": "Team",
                "members": [{"value": "bulkId:a"}, {"value": "bulkId:b"}],
            },
        },
        post_user("a", "ada"),
        post_user("b", "grace"),
        {"method": "PATCH", "path": "/Users/bulkId:a", "data": patch({"op": "add", "path": "title", "value": "T"})},
    )
    assert [one["status"] for one in reported] == ["201", "201", "201", "200"]
    team = shown(await scim.get("/Groups/" + reported[0]["location"].rpartition("/")[2]))
    made = {one["location"] for one in reported[1:3]}
    assert {one["$ref"] for one in team["members"]} == made
    assert await scim.names(filter_='title eq "T"') == ["ada"]


async def test_one_failure_leaves_the_others_alone(scim: ScimClient) -> None:
    await scim.new_user("taken")
    reported = await outcomes(
        scim,
        post_user("1", "first"),
        post_user("2", "TAKEN"),
        post_user("3", "x" * 300),
        {"method": "POST", "path": "/Users", "bulkId": "4", "data": {"schemas": [USER]}},
        {"method": "POST", "path": "/Robots", "bulkId": "5", "data": {}},
        {"method": "GET", "path": "/Users"},
        {"method": "PATCH", "path": "/Users/unknown", "data": patch({"op": "remove", "path": "title"})},
        {"method": "DELETE", "path": "/Users/bulkId:nobody"},
        {
            "method": "POST",
            "path": "/Groups",
            "bulkId": "9",
            "data": {"displayName": "x", "members": [{"value": "bulkId:2"}]},
        },
        post_user("1", "again"),
        post_user("11", "last"),
    )
    assert [one["status"] for one in reported] == "201 409 400 400 400 400 404 409 409 400 201".split() or reported
    assert {one["status"] for one in reported if "response" not in one} == {"201"}
    assert reported[1]["response"]["scimType"] == "uniqueness"
    assert "location" not in reported[1]
    assert sorted(await scim.names()) == ["first", "last", "taken"]


async def test_fail_on_errors_stops(scim: ScimClient) -> None:
    bad = {"method": "DELETE", "path": "/Users/unknown"}
    reported = await outcomes(
        scim, post_user("1", "one"), bad, post_user("2", "two"), bad, post_user("3", "three"), failOnErrors=2
    )
    assert [one["status"] for one in reported] == ["201", "404", "201", "404"]
    assert sorted(await scim.names()) == ["one", "two"]  # what was done stays done


@pytest.mark.parametrize("errors", [-1, 0, "x"])
async def test_fail_on_errors_is_at_least_one(scim: ScimClient, errors: object) -> None:
    refused(await scim.post("/Bulk", bulk(post_user("1", "one"), failOnErrors=errors)), 400, "invalidValue")
    assert await scim.names() == []


async def test_an_address_of_somewhere_else_is_no_location(scim: ScimClient) -> None:
    (reported,) = await outcomes(scim, {"method": "DELETE", "path": "https://elsewhere.example/Users/x"})
    assert (reported["status"], "elsewhere" in str(reported.get("location"))) == ("404", False)


async def test_versions_count(scim: ScimClient) -> None:
    person = await scim.new_user("ada")
    operation = {
        "method": "PATCH",
        "path": f"/Users/{person['id']}",
        "data": patch({"op": "add", "path": "title", "value": "T"}),
    }
    reported = await outcomes(
        scim, {**operation, "version": 'W/"99"'}, {**operation, "version": person["meta"]["version"]}
    )
    assert [one["status"] for one in reported] == ["412", "200"]


async def test_what_is_tolerated_is_tolerated_in_bulk(scim: ScimClient) -> None:
    reported = await outcomes(
        scim, post_user("1", "ada", active="False", password="Pa55word!", schemas=[USER, "urn:x:y"], groups=[])
    )
    person = shown(await scim.get("/Users/" + reported[0]["location"].rpartition("/")[2]))
    assert person["active"] is False
    operation = {"method": "PATCH", "path": f"/Users/{person['id']}"}
    reported = await outcomes(
        scim,
        {**operation, "data": patch({"op": "Add", "path": 'emails[type eq "work"].value', "value": "a@b.example"})},
        {**operation, "data": patch({"op": "Add", "path": "favourite", "value": "x"})},
        {"method": "PUT", "path": f"/Users/{person['id']}", "data": {"schemas": [USER], "userName": "ada"}},
    )
    assert [one["status"] for one in reported] == ["200", "400", "200"]
    assert shown(await scim.get(f"/Users/{person['id']}"))["active"] is False


@pytest.mark.parametrize("body", [{"schemas": [BULK]}, {"schemas": [BULK], "Operations": 1}, {"Operations": [1]}, []])
async def test_no_bulk_at_all(scim: ScimClient, body: object) -> None:
    answer = await scim.post("/Bulk", body)
    assert answer.status_code in {200, 400}, answer.text
    if answer.status_code == 200:
        assert [one["status"] for one in answer.json()["Operations"]] == ["400"]


async def test_more_than_a_thousand_operations(scim: ScimClient) -> None:
    refused(await scim.post("/Bulk", bulk(*[{"method": "DELETE", "path": "/Users/x"}] * 1001)), 413)
    assert len(await outcomes(scim, *[{"method": "DELETE", "path": "/Users/x"}] * 1000)) == 1000


async def test_v8_each_operation_is_in_the_audit_log(service: Service, tenant: Tenant, scim: ScimClient) -> None:
    await scim.new_user("taken")
    await outcomes(scim, post_user("1", "one"), post_user("2", "taken"), post_user("3", "three"))
    async with service.db.read() as tx:
        count = await tx.fetchval("select count(*) from audit_entry where scope = $1", tenant.partner.id)
    assert count == 3
