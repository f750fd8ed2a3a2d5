"""Okta's requests in their order, as its provisioning sends them (SCIM 2.0)."""

from typing import Any

from tests.support.scim import GROUP, LIST, PATCH, USER, ScimClient, made, shown

LOGIN = "isaac.brock@example.org"


def profile(**given: Any) -> dict[str, Any]:
    """What Okta says of somebody who is assigned to the application."""
    return {
        "schemas": [USER],
        "userName": LOGIN,
        "name": {"givenName": "Isaac", "familyName": "Brock"},
        "emails": [{"primary": True, "value": LOGIN, "type": "work"}],
        "displayName": "Isaac Brock",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": True,
        **given,
    }


async def look_up(scim: ScimClient, login: str = LOGIN) -> dict[str, Any]:
    """What Okta asks before it creates or links anybody."""
    return shown(await scim.get("/Users", filter_=f'userName eq "{login}"', startIndex=1, count=100))


async def test_the_connection_is_tested(scim: ScimClient) -> None:
    empty = {"schemas": [LIST], "totalResults": 0, "itemsPerPage": 0, "startIndex": 1, "Resources": []}
    assert shown(await scim.get("/Users", startIndex=1, count=2)) == empty
    assert shown(await scim.get("/Groups", startIndex=1, count=100)) == empty
    shown(await scim.get("/ServiceProviderConfig", headers={"Accept": "application/scim+json"}))


async def test_a_person_comes_changes_leaves_and_returns(scim: ScimClient) -> None:
    assert (await look_up(scim))["totalResults"] == 0
    created = made(
        await scim.post("/Users", profile(), headers={"Content-Type": "application/scim+json; charset=utf-8"})
    )
    path = f"/Users/{created['id']}"
    assert created["emails"] == [{"primary": True, "value": LOGIN, "type": "work"}]
    assert "password" not in created

    # A profile push: read, then replace the whole.
    current = shown(await scim.get(path))
    renamed = {**current, "name": {"givenName": "Isaac", "familyName": "Broke"}, "groups": []}
    assert shown(await scim.put(path, renamed))["name"]["familyName"] == "Broke"

    # Unassigned: deactivated by PATCH without a path; still found by id and by name.
    off = {"op": "replace", "value": {"active": False}}
    assert shown(await scim.call("PATCH", path, {"schemas": [PATCH], "Operations": [off]}))["active"] is False
    assert shown(await scim.get(path))["active"] is False
    found = await look_up(scim)
    assert [(one["id"], one["active"]) for one in found["Resources"]] == [(created["id"], False)]

    # Assigned again: Okta finds the same user and brings it back by PUT.
    assert shown(await scim.put(path, profile(id=created["id"])))["active"] is True
    assert shown(await scim.put(path, profile(id=created["id"], active=False)))["active"] is False
    assert shown(await scim.patch(path, {"op": "replace", "value": {"active": True}}))["active"] is True
    assert (await look_up(scim))["totalResults"] == 1


async def test_a_duplicate_is_a_conflict(scim: ScimClient) -> None:
    made(await scim.post("/Users", profile()))
    answer = await scim.post("/Users", profile(userName=LOGIN.upper()))
    assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")


async def test_people_are_imported_page_by_page(scim: ScimClient) -> None:
    for number in range(5):
        await scim.new_user(f"person{number}@example.org")
    seen: list[str] = []
    while True:
        page = shown(await scim.get("/Users", startIndex=len(seen) + 1, count=2))
        seen += [one["id"] for one in page.get("Resources", [])]
        if len(seen) >= page["totalResults"]:
            break
    assert len(set(seen)) == 5


async def test_a_password_that_is_pushed_is_dropped(scim: ScimClient) -> None:
    person = made(await scim.post("/Users", profile()))
    answer = await scim.patch(f"/Users/{person['id']}", {"op": "replace", "value": {"password": "n3w-Pa55word"}})
    assert shown(answer) == person


async def test_groups_are_pushed(scim: ScimClient) -> None:
    isaac = made(await scim.post("/Users", profile()))
    other = await scim.new_user("jeremiah@example.org")
    body = {
        "schemas": [GROUP],
        "displayName": "Finance",
        "members": [{"value": isaac["id"], "display": LOGIN}],
    }
    assert (
        shown(await scim.get("/Groups", filter_='displayName eq "Finance"', startIndex=1, count=100))["totalResults"]
        == 0
    )
    team = made(await scim.post("/Groups", body))
    path = f"/Groups/{team['id']}"

    # Renamed: a replace without path that repeats the read-only id.
    renamed = {"op": "replace", "value": {"id": team["id"], "displayName": "Treasury"}}
    assert shown(await scim.patch(path, renamed))["displayName"] == "Treasury"

    # Members: added, removed by filter, and all set at once.
    added = {"op": "add", "path": "members", "value": [{"value": other["id"], "display": "jeremiah@example.org"}]}
    assert len(shown(await scim.patch(path, added))["members"]) == 2
    assert len(shown(await scim.patch(path, added))["members"]) == 2
    removed = {"op": "remove", "path": f'members[value eq "{isaac["id"]}"]'}
    assert [one["value"] for one in shown(await scim.patch(path, removed))["members"]] == [other["id"]]
    whole = {"op": "replace", "path": "members", "value": [{"value": isaac["id"], "display": LOGIN}]}
    assert [one["value"] for one in shown(await scim.patch(path, whole))["members"]] == [isaac["id"]]
    several = await scim.patch(path, removed, added)
    assert [one["value"] for one in shown(several)["members"]] == [other["id"]]
    assert (
        shown(await scim.put(path, {**body, "id": team["id"], "displayName": "Treasury"}))["members"][0]["value"]
        == isaac["id"]
    )

    assert (await scim.delete(path)).status_code == 204
    assert shown(await scim.get("/Groups", startIndex=1, count=100))["totalResults"] == 0
