"""Microsoft Entra's requests in their order, with and without ``aadOptscim062020`` on the tenant address."""

from typing import Any

import pytest

from tests.support.scim import ENTERPRISE, GROUP, LIST, PATCH, USER, ScimClient, made, shown

FLAG = ("", "?aadOptscim062020")
NICK = "ada@example.org"


def profile(**given: Any) -> dict[str, Any]:
    """What Entra says of somebody in scope."""
    return {
        "schemas": [USER, ENTERPRISE],
        "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
        "userName": NICK,
        "active": True,
        "displayName": "Ada Byron",
        "emails": [{"primary": True, "type": "work", "value": NICK}],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "Ada Byron", "familyName": "Byron", "givenName": "Ada"},
        "roles": [],
        **given,
    }


def entra_patch(*operations: dict[str, Any]) -> dict[str, Any]:
    """Its body of a PATCH."""
    return {"schemas": [PATCH], "Operations": list(operations)}


@pytest.mark.parametrize("flag", FLAG)
async def test_the_connection_is_tested(scim: ScimClient, flag: str) -> None:
    """A name that nobody has: 200 and an empty list."""
    query = 'filter=userName eq "non-existent-6f6a"'
    answer = await scim.call("GET", f"/Users{flag}{'&' if flag else '?'}{query}")
    assert shown(answer) == {"schemas": [LIST], "totalResults": 0, "itemsPerPage": 0, "startIndex": 1, "Resources": []}


@pytest.mark.parametrize("flag", FLAG)
async def test_a_person_comes_changes_leaves_and_is_deleted(scim: ScimClient, flag: str) -> None:
    async def look_up(name: str) -> list[dict[str, Any]]:
        answer = await scim.call("GET", f'/Users{flag}{"&" if flag else "?"}filter=userName eq "{name}"')
        listed: list[dict[str, Any]] = shown(answer).get("Resources", [])
        return listed

    async def change(*operations: dict[str, Any]) -> dict[str, Any]:
        return shown(await scim.call("PATCH", path + flag, entra_patch(*operations)))

    assert await look_up(NICK) == []
    created = made(await scim.call("POST", f"/Users{flag}", profile()))
    path = f"/Users/{created['id']}"
    assert shown(await scim.call("GET", path + flag))["displayName"] == "Ada Byron"

    # Capitalised operations, entries that do not exist, the extension by its address.
    changed = await change(
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "ada.byron@example.org"},
        {"op": "Replace", "path": "name.familyName", "value": "King"},
        {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "+44 1"},
        {"op": "Add", "path": 'addresses[type eq "work"].country', "value": "GB"},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Engines"},
    )
    assert changed["emails"] == [{"primary": True, "type": "work", "value": "ada.byron@example.org"}]
    assert changed["name"]["familyName"] == "King"
    assert changed["phoneNumbers"] == [{"type": "mobile", "value": "+44 1"}]
    assert changed["addresses"] == [{"type": "work", "country": "GB"}]
    assert changed[ENTERPRISE] == {"department": "Engines"}

    # The renewed form of the flag: several attributes in one value.
    changed = await change({"op": "replace", "value": {"displayName": "Ada King", f"{ENTERPRISE}:employeeNumber": "7"}})
    assert (changed["displayName"], changed[ENTERPRISE]["employeeNumber"]) == ("Ada King", "7")

    # A manager, who is a user here; and none again.
    boss = await scim.new_user("boss@example.org")
    changed = await change({"op": "Add", "path": f"{ENTERPRISE}:manager", "value": boss["id"]})
    assert changed[ENTERPRISE]["manager"]["value"] == boss["id"]
    changed = await change({"op": "Remove", "path": f"{ENTERPRISE}:manager"})
    assert "manager" not in changed[ENTERPRISE]

    # Renamed, disabled and enabled by a text, disabled by a boolean.
    assert (await change({"op": "Replace", "path": "userName", "value": "ada.king@example.org"}))["id"] == created["id"]
    assert await look_up(NICK) == []
    assert (await change({"op": "Replace", "path": "active", "value": "False"}))["active"] is False
    assert [one["active"] for one in await look_up("ada.king@example.org")] == [False]
    assert shown(await scim.call("GET", path + flag))["active"] is False
    assert (await change({"op": "Replace", "path": "active", "value": "True"}))["active"] is True
    assert (await change({"op": "replace", "value": {"active": False}}))["active"] is False

    # Deleted for good 30 days later.
    assert (await scim.call("DELETE", path + flag)).status_code == 204
    assert (await scim.call("GET", path + flag)).status_code == 404
    assert await look_up("ada.king@example.org") == []


async def test_somebody_is_matched_by_another_attribute(scim: ScimClient) -> None:
    """Filters are ``eq``, joined by ``and``."""
    await scim.call("POST", "/Users", profile())
    for question in (
        'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
        f'emails[type eq "work"].value eq "{NICK}"',
        f'userName eq "{NICK}" and active eq true',
    ):
        assert await scim.names(filter_=question) == [NICK], question


async def test_its_own_schemas_are_no_obstacle(scim: ScimClient) -> None:
    urn = "urn:ietf:params:scim:schemas:extension:2.0:CustomAttributes:User"
    made_ = made(await scim.post("/Users", profile(**{"schemas": [USER, urn], urn: {"colour": "blue"}})))
    assert urn not in made_["schemas"]
    assert urn not in made_


@pytest.mark.parametrize("flag", FLAG)
async def test_groups_come_change_and_go(scim: ScimClient, flag: str) -> None:
    ada, grace = await scim.new_user("ada"), await scim.new_user("grace")
    asked = f'/Groups{flag}{"&" if flag else "?"}excludedAttributes=members&filter=displayName eq "Reviewers"'
    assert shown(await scim.call("GET", asked))["totalResults"] == 0
    body = {"schemas": [GROUP], "externalId": "8aa1a0c0", "displayName": "Reviewers", "meta": {"resourceType": "Group"}}
    team = made(await scim.call("POST", f"/Groups{flag}", body))
    path = f"/Groups/{team['id']}"
    reading = f"{path}{flag}{'&' if flag else '?'}excludedAttributes=members"

    async def change(*operations: dict[str, Any]) -> set[str]:
        answer = shown(await scim.call("PATCH", path + flag, entra_patch(*operations)))
        return {one["value"] for one in answer.get("members", [])}

    both = [{"$ref": None, "value": ada["id"]}, {"$ref": None, "value": grace["id"]}]
    assert await change({"op": "Add", "path": "members", "value": both}) == {ada["id"], grace["id"]}
    assert await change({"op": "Add", "path": "members", "value": both[:1]}) == {ada["id"], grace["id"]}
    shown_ = shown(await scim.call("GET", reading))
    assert "members" not in shown_
    assert shown_["displayName"] == "Reviewers"
    listed = shown(await scim.call("GET", asked))
    assert [one["id"] for one in listed["Resources"]] == [team["id"]]
    question = f'id eq "{team["id"]}" and members eq "{ada["id"]}"'
    assert shown(await scim.get("/Groups", filter_=question, attributes="id"))["totalResults"] == 1

    # Without the flag it names whom to remove in the value, with it in the path.
    if flag:
        assert await change({"op": "remove", "path": f'members[value eq "{ada["id"]}"]'}) == {grace["id"]}
    else:
        assert await change({"op": "Remove", "path": "members", "value": [{"value": ada["id"]}]}) == {grace["id"]}
    assert shown(await scim.get("/Groups", filter_=question))["totalResults"] == 0

    await change({"op": "Replace", "path": "displayName", "value": "Checkers"})
    assert shown(await scim.call("GET", reading))["displayName"] == "Checkers"
    assert (await scim.call("DELETE", path + flag)).status_code == 204
    assert (await scim.call("GET", reading)).status_code == 404
    assert sorted(await scim.names()) == ["ada", "grace"]
