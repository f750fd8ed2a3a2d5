"""SCIM users and groups: create, read, replace, PATCH in all its forms, delete (RFC 7644 3.3 to 3.6, 3.14)."""

from typing import Any

import pytest

from tests.support.scim import ENTERPRISE, GROUP, USER, ScimClient, found, group, made, refused, shown, user
from tests.support.service import Service, Tenant

WORK = {"value": "ada@work.example", "type": "work", "primary": True}
HOME = {"value": "ada@home.example", "type": "home"}
ADA: dict[str, Any] = {
    "externalId": "00u1",
    "name": {"givenName": "Ada", "familyName": "Byron"},
    "displayName": "Ada Byron",
    "title": "Countess",
    "emails": [WORK, HOME],
    "phoneNumbers": [{"value": "+44 20 7946 0000", "type": "work"}],
    ENTERPRISE: {"department": "Engines", "employeeNumber": "7"},
    "schemas": [USER, ENTERPRISE],
}


async def test_a_user_is_created_and_read(scim: ScimClient) -> None:
    answer = await scim.post("/Users", user("ada", **ADA))
    record = made(answer)
    assert {name: record[name] for name in ADA} == ADA
    assert record["userName"] == "ada"  # it need not be an e-mail
    assert record["meta"]["resourceType"] == "User"
    assert answer.headers["location"] == record["meta"]["location"]
    assert answer.headers["etag"] == record["meta"]["version"]
    again = await scim.get(f"/Users/{record['id']}")
    assert shown(again) == record
    assert again.headers["content-location"] == record["meta"]["location"]


async def test_what_a_client_may_not_say_is_ignored(scim: ScimClient) -> None:
    """Read-only members, unknown ones and schemas, and passwords, which are never kept (Okta sends one)."""
    body = user("ada", id="mine", groups=[], meta={"version": "x"}, password="Pa55word!", favourite="blue")
    body["schemas"] = [USER, "urn:example:unknown"]
    answer = await scim.post("/Users", body)
    record = made(answer)
    assert record["id"] != "mine"
    assert record["schemas"] == [USER]
    assert set(record) == {"schemas", "id", "meta", "userName", "active"}
    put = shown(await scim.put(f"/Users/{record['id']}", {**record, "password": "Pa55word!", "groups": []}))
    assert "password" not in put
    patched = await scim.patch(f"/Users/{record['id']}", {"op": "replace", "value": {"password": "Pa55word!"}})
    assert "Pa55" not in patched.text
    refused(
        await scim.patch(f"/Users/{record['id']}", {"op": "add", "path": "password", "value": "x"}), 400, "invalidPath"
    )


async def test_active_is_true_unless_it_is_said_otherwise(scim: ScimClient) -> None:
    body = user()
    del body["active"]
    assert made(await scim.post("/Users", body))["active"] is True
    assert (await scim.new_user(active="False"))["active"] is False
    assert (await scim.new_user(active="true"))["active"] is True
    refused(await scim.post("/Users", user(active="perhaps")), 400, "invalidValue")


async def test_k3_a_user_name_is_taken_once_whatever_its_case(scim: ScimClient) -> None:
    first = await scim.new_user("Ada@example.org")
    refused(await scim.post("/Users", user("ada@EXAMPLE.org")), 409, "uniqueness")
    second = await scim.new_user("grace@example.org")
    refused(await scim.put(f"/Users/{second['id']}", user("ADA@example.org")), 409, "uniqueness")
    rename = {"op": "replace", "path": "userName", "value": "ada@example.org"}
    refused(await scim.patch(f"/Users/{second['id']}", rename), 409, "uniqueness")
    assert shown(await scim.patch(f"/Users/{first['id']}", rename))["userName"] == "ada@example.org"
    assert (await scim.delete(f"/Users/{first['id']}")).status_code == 204
    assert shown(await scim.patch(f"/Users/{second['id']}", rename))["userName"] == "ada@example.org"


async def test_names_of_members_have_no_case(scim: ScimClient) -> None:
    """RFC 7643 2.1."""
    record = made(await scim.post("/Users", {"SCHEMAS": [USER], "USERNAME": "ada", "Name": {"GIVENNAME": "Ada"}}))
    assert (record["userName"], record["name"]["givenName"]) == ("ada", "Ada")
    patched = await scim.patch(f"/Users/{record['id']}", {"op": "replace", "path": "NAME.givenname", "value": "A."})
    assert shown(patched)["name"]["givenName"] == "A."
    assert shown(await scim.get(f"/users/{record['id']}"))["id"] == record["id"]


async def test_a_put_replaces_all_that_may_be_written(scim: ScimClient) -> None:
    record = await scim.new_user("ada", **ADA)
    body = {"schemas": [USER], "userName": "ada.b", "displayName": "A.", "active": True}
    replaced = shown(await scim.put(f"/Users/{record['id']}", body))
    assert (replaced["userName"], replaced["displayName"]) == ("ada.b", "A.")
    assert not {"title", "emails", "externalId", ENTERPRISE} & set(replaced)
    assert replaced["id"] == record["id"]
    assert replaced["meta"]["created"] == record["meta"]["created"]
    assert replaced["meta"]["version"] != record["meta"]["version"]
    refused(await scim.put(f"/Users/{record['id']}", {"schemas": [USER], "displayName": "x"}), 400, "invalidValue")
    refused(await scim.put("/Users/unknown", body), 404)


async def test_a_put_that_changes_nothing_keeps_the_version(scim: ScimClient) -> None:
    record = await scim.new_user("ada", **ADA)
    assert shown(await scim.put(f"/Users/{record['id']}", record)) == record
    op = {"op": "replace", "path": "displayName", "value": "Ada Byron"}
    assert shown(await scim.patch(f"/Users/{record['id']}", op)) == record


async def test_v4_a_put_without_active_lets_nobody_in_again(scim: ScimClient) -> None:
    record = await scim.new_user("ada", active=False)
    assert shown(await scim.put(f"/Users/{record['id']}", {"schemas": [USER], "userName": "ada"}))["active"] is False


async def test_who_was_deactivated_is_still_found(scim: ScimClient) -> None:
    record = await scim.new_user("ada@example.org")
    path = f"/Users/{record['id']}"
    assert shown(await scim.patch(path, {"op": "replace", "path": "active", "value": False}))["active"] is False
    assert shown(await scim.get(path))["active"] is False
    listed = found(await scim.get("/Users", filter_='userName eq "ada@example.org"'))
    assert [one["active"] for one in listed] == [False]
    assert shown(await scim.patch(path, {"op": "replace", "value": {"active": True}}))["active"] is True


async def test_a_deleted_user_is_gone(scim: ScimClient) -> None:
    record = await scim.new_user("ada")
    team = await scim.new_group("Team", record["id"])
    answer = await scim.delete(f"/Users/{record['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    for call in (scim.get, scim.delete):
        refused(await call(f"/Users/{record['id']}"), 404)
    assert "members" not in shown(await scim.get(f"/Groups/{team['id']}"))
    assert shown(await scim.get("/Users", filter_='userName eq "ada"'))["totalResults"] == 0


PATCHES: dict[str, tuple[list[dict[str, Any]], str, Any]] = {
    "add one": ([{"op": "add", "path": "nickName", "value": "A"}], "nickName", "A"),
    "any case of op": ([{"op": "Add", "path": "nickName", "value": "A"}], "nickName", "A"),
    "add over": ([{"op": "add", "path": "title", "value": "Ms"}], "title", "Ms"),
    "add without path": ([{"op": "add", "value": {"title": "Ms", "unknown": 1}}], "title", "Ms"),
    "add to many": (
        [{"op": "add", "path": "emails", "value": [{"value": "x@x.example", "type": "other"}]}],
        "emails",
        [WORK, HOME, {"value": "x@x.example", "type": "other"}],
    ),
    "add what is there": ([{"op": "add", "path": "emails", "value": [HOME]}], "emails", [WORK, HOME]),
    "a new primary": (
        [{"op": "add", "path": "emails", "value": [{"value": "x@x.example", "primary": True}]}],
        "emails",
        [{**WORK, "primary": False}, HOME, {"value": "x@x.example", "primary": True}],
    ),
    "replace one": ([{"op": "replace", "path": "title", "value": "Ms"}], "title", "Ms"),
    "replace without path": ([{"op": "replace", "value": {"title": "Ms"}}], "title", "Ms"),
    "replace a part": (
        [{"op": "replace", "path": "name.familyName", "value": "King"}],
        "name",
        {"givenName": "Ada", "familyName": "King"},
    ),
    "replace parts": (
        [{"op": "replace", "path": "name", "value": {"familyName": "King"}}],
        "name",
        {"givenName": "Ada", "familyName": "King"},
    ),
    "dotted names in a value": (
        [{"op": "replace", "value": {"name.familyName": "King"}}],
        "name",
        {"givenName": "Ada", "familyName": "King"},
    ),
    "replace many": ([{"op": "replace", "path": "emails", "value": [HOME]}], "emails", [HOME]),
    "replace what matches": (
        [{"op": "replace", "path": 'emails[type eq "home"].value', "value": "x@x.example"}],
        "emails",
        [WORK, {"value": "x@x.example", "type": "home"}],
    ),
    "replace all of one kind": (
        [{"op": "replace", "path": 'emails[type eq "home"]', "value": {"display": "At home"}}],
        "emails",
        [WORK, {**HOME, "display": "At home"}],
    ),
    "add where nothing matches": (
        [{"op": "add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "1"}],
        "phoneNumbers",
        [ADA["phoneNumbers"][0], {"type": "mobile", "value": "1"}],
    ),
    "replace where nothing matches": (
        [{"op": "Replace", "path": 'addresses[type eq "work"].locality', "value": "London"}],
        "addresses",
        [{"type": "work", "locality": "London"}],
    ),
    "remove one": ([{"op": "remove", "path": "title"}], "title", None),
    "remove a part": ([{"op": "remove", "path": "name.familyName"}], "name", {"givenName": "Ada"}),
    "remove what matches": ([{"op": "remove", "path": 'emails[type eq "home"]'}], "emails", [WORK]),
    "remove by value": ([{"op": "remove", "path": "emails", "value": [{"value": HOME["value"]}]}], "emails", [WORK]),
    "remove many": ([{"op": "remove", "path": "emails"}], "emails", None),
    "remove what is not there": ([{"op": "remove", "path": "nickName"}], "nickName", None),
    "clear by null": ([{"op": "replace", "path": "title", "value": None}], "title", None),
    "clear by an empty list": ([{"op": "replace", "path": "emails", "value": []}], "emails", None),
    "an extension by its address": (
        [{"op": "replace", "path": f"{ENTERPRISE}:department", "value": "Looms"}],
        ENTERPRISE,
        {"department": "Looms", "employeeNumber": "7"},
    ),
    "an extension in a value": (
        [{"op": "add", "value": {f"{ENTERPRISE}:costCenter": "9"}}],
        ENTERPRISE,
        {"department": "Engines", "employeeNumber": "7", "costCenter": "9"},
    ),
    "an extension as an object": (
        [{"op": "replace", "value": {ENTERPRISE: {"department": "Looms"}}}],
        ENTERPRISE,
        {"department": "Looms", "employeeNumber": "7"},
    ),
    "an extension gone": ([{"op": "remove", "path": ENTERPRISE}], ENTERPRISE, None),
    "several in their order": (
        [
            {"op": "remove", "path": "title"},
            {"op": "add", "path": "title", "value": "One"},
            {"op": "replace", "path": "title", "value": "Two"},
        ],
        "title",
        "Two",
    ),
    "the core schema by its address": ([{"op": "replace", "path": f"{USER}:title", "value": "Ms"}], "title", "Ms"),
    "a boolean as text": ([{"op": "Replace", "path": "active", "value": "False"}], "active", False),
}


@pytest.mark.parametrize(("operations", "name", "value"), PATCHES.values(), ids=PATCHES.keys())
async def test_a_patch(scim: ScimClient, operations: list[dict[str, Any]], name: str, value: Any) -> None:
    record = await scim.new_user("ada", **ADA)
    answer = await scim.patch(f"/Users/{record['id']}", *operations)
    patched = shown(answer)  # 200 with the resource, whatever changed
    assert patched.get(name) == value
    assert answer.headers["etag"] == patched["meta"]["version"]
    assert shown(await scim.get(f"/Users/{record['id']}")) == patched
    assert (ENTERPRISE in patched["schemas"]) == (ENTERPRISE in patched)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown attribute": ({"op": "add", "path": "favourite", "value": 1}, "invalidPath"),
    "unknown schema": ({"op": "add", "path": "urn:example:x:colour", "value": 1}, "invalidPath"),
    "broken path": ({"op": "add", "path": "emails[", "value": 1}, "invalidPath"),
    "no such operation": ({"op": "move", "path": "title", "value": "x"}, "invalidValue"),
    "no operation": ({"path": "title", "value": "x"}, "invalidValue"),
    "nothing to remove by": ({"op": "remove"}, "noTarget"),
    "nothing to add": ({"op": "add", "path": "title"}, "invalidValue"),
    "a text for a boolean": ({"op": "replace", "path": "active", "value": "perhaps"}, "invalidValue"),
    "a text that some take for a boolean": ({"op": "replace", "path": "active", "value": "yes"}, "invalidValue"),
    "a number for a boolean": ({"op": "replace", "value": {"active": 1}}, "invalidValue"),
    "a list for a boolean": ({"op": "replace", "value": {f"{USER}:active": []}}, "invalidValue"),
    "a text for a part": ({"op": "add", "path": 'emails[type eq "work"].primary', "value": "on"}, "invalidValue"),
    "no base64": ({"op": "add", "path": "x509Certificates", "value": [{"value": "*QUJD*"}]}, "invalidValue"),
    "nothing but padding": (
        {"op": "add", "path": 'x509Certificates[type eq "a"].value', "value": "===="},
        "invalidValue",
    ),
    "nothing to choose from": ({"op": "add", "value": {'favourites[type eq "a"].value': "x"}}, "invalidPath"),
    "an object for a text": ({"op": "replace", "path": "title", "value": {"a": 1}}, "invalidValue"),
    "a text for a list": ({"op": "replace", "path": "emails", "value": "x"}, "invalidValue"),
    "a text for all": ({"op": "replace", "value": "x"}, "invalidValue"),
    "a read-only one": ({"op": "add", "path": "groups", "value": [{"value": "x"}]}, "mutability"),
    "another id": ({"op": "replace", "path": "id", "value": "x"}, "mutability"),
    "no name": ({"op": "remove", "path": "userName"}, "mutability"),
    "NUL": ({"op": "replace", "path": "title", "value": "a\x00"}, "invalidValue"),
    "two primaries": (
        {"op": "add", "path": "emails", "value": [{"value": "a", "primary": True}, {"value": "b", "primary": True}]},
        "invalidValue",
    ),
}


@pytest.mark.parametrize(("operation", "scim_type"), WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_patch_changes_nothing(scim: ScimClient, operation: dict[str, Any], scim_type: str) -> None:
    record = await scim.new_user("ada", **ADA)
    right = {"op": "replace", "path": "title", "value": "Changed"}
    detail = refused(await scim.patch(f"/Users/{record['id']}", right, operation), 400, scim_type)
    assert "pydantic" not in detail
    assert shown(await scim.get(f"/Users/{record['id']}")) == record


async def test_a_manager_is_given_as_an_object_or_a_text(scim: ScimClient) -> None:
    boss = await scim.new_user()
    expected = {"value": boss["id"]}
    record = await scim.new_user(schemas=[USER, ENTERPRISE], **{ENTERPRISE: {"manager": boss["id"]}})
    assert record[ENTERPRISE]["manager"]["value"] == boss["id"]
    path = f"/Users/{record['id']}"
    for operation in (
        {"op": "replace", "path": f"{ENTERPRISE}:manager", "value": boss["id"]},
        {"op": "replace", "path": f"{ENTERPRISE}:manager", "value": expected},
        {"op": "add", "value": {f"{ENTERPRISE}:manager": boss["id"]}},
        {"op": "replace", "path": f"{ENTERPRISE}:manager.value", "value": boss["id"]},
    ):
        await scim.patch(path, {"op": "remove", "path": f"{ENTERPRISE}:manager"})
        assert shown(await scim.patch(path, operation))[ENTERPRISE]["manager"]["value"] == boss["id"]
    for op in ("Replace", "Add"):
        await scim.patch(path, {"op": "add", "path": f"{ENTERPRISE}:manager", "value": boss["id"]})
        none = {"op": op, "path": f"{ENTERPRISE}:manager", "value": ""}
        assert ENTERPRISE not in shown(await scim.patch(path, none))


@pytest.mark.parametrize("active", ["yes", "on", "t", 1, "1", 2, 0, "", [], {}])
async def test_booleans_are_booleans_or_their_names(scim: ScimClient, active: object) -> None:
    """RFC 7643 2.3.2."""
    refused(await scim.post("/Users", user(active=active)), 400, "invalidValue")
    refused(await scim.post("/Users", user(emails=[{"value": "x", "primary": active}])), 400, "invalidValue")
    assert (await scim.new_user(active="FALSE"))["active"] is False


@pytest.mark.parametrize("value", ["!!!", "====", "*QUJD*", "QUJ"])
async def test_certificates_are_base64(scim: ScimClient, value: str) -> None:
    """RFC 7643 2.3.6: what stands for none, or for another one, is refused."""
    refused(await scim.post("/Users", user(x509Certificates=[{"value": value}])), 400, "invalidValue")
    made = await scim.new_user(x509Certificates=[{"value": "QUJD\nREVG"}])
    assert made["x509Certificates"] == [{"value": "QUJDREVG"}]


async def test_members_that_choose_entries_are_operations(scim: ScimClient) -> None:
    """Without a path, as Entra sends them."""
    record = await scim.new_user("ada", **ADA)
    given = {"title": "T", 'emails[type eq "work"].value': "n@x.example", 'phoneNumbers[type eq "work"].value': "1"}
    after = shown(await scim.patch(f"/Users/{record['id']}", {"op": "Replace", "value": given}))
    assert after["title"] == "T"
    assert {one["type"]: one["value"] for one in after["emails"]} == {"work": "n@x.example", "home": HOME["value"]}
    assert after["phoneNumbers"] == [{"value": "1", "type": "work"}]


async def test_projection(scim: ScimClient) -> None:
    """RFC 7644 3.9: on reads, changes, lists."""
    record = await scim.new_user("ada", **ADA)
    path, always = f"/Users/{record['id']}", {"schemas", "id"}
    asked = shown(await scim.get(path, attributes="userName,name.givenName,emails.value"))
    assert set(asked) == always | {"userName", "name", "emails"}
    assert asked["name"] == {"givenName": "Ada"}
    assert asked["emails"] == [{"value": WORK["value"]}, {"value": HOME["value"]}]
    left = shown(await scim.get(path, excludedAttributes="emails,name.familyName,id"))
    assert set(record) - set(left) == {"emails"}
    assert left["name"] == {"givenName": "Ada"}
    assert set(shown(await scim.put(path, record, attributes="title"))) == always | {"title"}
    operation = {"op": "replace", "path": "title", "value": "x"}
    assert set(shown(await scim.patch(path, operation, attributes=f"{ENTERPRISE}:department"))) == always | {ENTERPRISE}
    assert set(found(await scim.get("/Users", attributes="title"))[0]) == always | {"title"}


async def test_versions(scim: ScimClient) -> None:
    """RFC 7644 3.14: 304 for what is known, 412 for what has moved on."""
    record = await scim.new_user("ada")
    path, version = f"/Users/{record['id']}", record["meta"]["version"]
    unchanged = await scim.get(path, headers={"If-None-Match": version})
    assert (unchanged.status_code, unchanged.content, unchanged.headers["etag"]) == (304, b"", version)
    operation = {"op": "replace", "path": "title", "value": "x"}
    moved = shown(await scim.patch(path, operation, headers={"If-Match": version}))["meta"]["version"]
    assert moved != version
    shown(await scim.get(path, headers={"If-None-Match": version}))
    for answer in (
        await scim.patch(path, operation, headers={"If-Match": version}),
        await scim.put(path, user("ada"), headers={"If-Match": version}),
        await scim.delete(path, headers={"If-Match": version}),
    ):
        refused(answer, 412)
    shown(await scim.put(path, user("ada"), headers={"If-Match": "*"}))
    current = shown(await scim.get(path))["meta"]["version"]
    assert (await scim.delete(path, headers={"If-Match": f'"x", {current}'})).status_code == 204


async def test_a_group_and_its_members(scim: ScimClient) -> None:
    ada, grace = await scim.new_user("ada"), await scim.new_user("grace")
    team = await scim.new_group("Team", ada["id"], externalId="g1")
    assert team["schemas"] == [GROUP]
    place = ada["meta"]["location"]
    assert team["members"] == [{"value": ada["id"], "$ref": place, "type": "User"}]
    path = f"/Groups/{team['id']}"
    both = shown(await scim.patch(path, {"op": "add", "path": "members", "value": [{"value": grace["id"]}]}))
    assert {one["value"] for one in both["members"]} == {ada["id"], grace["id"]}
    groups = shown(await scim.get(f"/Users/{grace['id']}"))["groups"]
    assert groups == [{"value": team["id"], "$ref": team["meta"]["location"], "display": "Team", "type": "direct"}]
    left = shown(await scim.patch(path, {"op": "remove", "path": f'members[value eq "{ada["id"]}"]'}))
    assert [one["value"] for one in left["members"]] == [grace["id"]]
    assert "members" not in shown(await scim.get(path, excludedAttributes="members"))
    assert "members" not in shown(await scim.put(path, group("Team")))
    assert (await scim.delete(path)).status_code == 204
    assert "groups" not in shown(await scim.get(f"/Users/{grace['id']}"))


async def test_adding_a_member_twice_keeps_one(scim: ScimClient) -> None:
    ada = await scim.new_user("ada")
    team = await scim.new_group("Team", ada["id"], ada["id"])
    assert len(team["members"]) == 1
    entry = {"value": ada["id"], "display": "Somebody", "$ref": "x", "type": "User"}
    for value in ([{"value": ada["id"]}], [entry], entry, [entry, {"value": ada["id"]}]):
        patched = shown(await scim.patch(f"/Groups/{team['id']}", {"op": "Add", "path": "members", "value": value}))
        assert [one["value"] for one in patched["members"]] == [ada["id"]]


async def test_members_come_and_go_in_every_form(scim: ScimClient) -> None:
    ids = [(await scim.new_user())["id"] for _ in range(4)]
    team = await scim.new_group("Team", ids[0])
    path = f"/Groups/{team['id']}"

    async def change(*operations: dict[str, Any], **options: Any) -> set[int]:
        answer = shown(await scim.patch(path, *operations, **options))
        assert answer == shown(await scim.get(path))
        return {ids.index(one["value"]) for one in answer.get("members", [])}

    def add(*who: int, path: str = "members") -> dict[str, Any]:
        return {"op": "add", "path": path, "value": [{"value": ids[one]} for one in who]}

    def remove(one: int) -> dict[str, Any]:
        return {"op": "Remove", "path": f'members[value eq "{ids[one]}"]'}

    assert await change(add(1, 2), remove(0)) == {1, 2}
    assert await change(remove(1), add(1, path=f"{GROUP}:members")) == {1, 2}
    assert await change({"op": "add", "value": {"members": [{"value": ids[3]}]}}) == {1, 2, 3}
    assert await change({"op": "remove", "path": "members", "value": {"value": ids[3]}}) == {1, 2}
    assert await change({"op": "remove", "path": f'members[value eq "{ids[2]}" or value eq "{ids[0]}"]'}) == {1}
    assert await change(add(2), {"op": "replace", "path": "displayName", "value": "Crew"}) == {1, 2}
    assert await change(remove(0), {"op": "remove", "path": 'members[value eq "unknown"]'}) == {1, 2}
    assert await change({"op": "replace", "path": "members", "value": [{"value": ids[0]}]}) == {0}
    version = shown(await scim.get(path))["meta"]["version"]
    assert await change(add(0), headers={"If-Match": version}) == {0}  # who is there already changes nothing
    assert await change(add(1), headers={"If-Match": version}) == {0, 1}
    refused(await scim.patch(path, add(2), headers={"If-Match": version}), 412)
    refused(
        await scim.patch(path, add(2), {"op": "add", "path": "members", "value": [{"value": 1}]}), 400, "invalidValue"
    )
    assert await change({"op": "remove", "path": "members"}) == set()
    refused(await scim.patch("/Groups/unknown", add(0)), 404)


async def test_a_group_is_no_member(scim: ScimClient) -> None:
    team, other = await scim.new_group(), await scim.new_group()
    for entry in ({"value": other["id"]}, {"value": "x", "type": "Group"}):
        refused(await scim.post("/Groups", group("x", members=[entry])), 400, "invalidValue")
        operation = {"op": "add", "path": "members", "value": [entry]}
        refused(await scim.patch(f"/Groups/{team['id']}", operation), 400, "invalidValue")


async def test_who_is_not_here_is_left_out_of_groups(scim: ScimClient) -> None:
    """A client that adds many, of whom one was deleted meanwhile, would try for ever."""
    ada, gone = await scim.new_user("ada"), await scim.new_user("gone")
    await scim.delete(f"/Users/{gone['id']}")
    team = await scim.new_group("Team", gone["id"], "unknown", "", ada["id"])
    assert [one["value"] for one in team["members"]] == [ada["id"]]
    operation = {"op": "add", "path": "members", "value": [{"value": gone["id"]}, {"value": "fake-member-id"}]}
    patched = shown(await scim.patch(f"/Groups/{team['id']}", operation))
    assert [one["value"] for one in patched["members"]] == [ada["id"]]


async def test_v8_every_write_is_in_the_audit_log(service: Service, tenant: Tenant, scim: ScimClient) -> None:
    answer = await scim.post("/Users", user("ada"))
    record = made(answer)
    path = f"/Users/{record['id']}"
    await scim.patch(path, {"op": "replace", "path": "active", "value": False})
    await scim.patch(path, {"op": "replace", "path": "active", "value": True})
    await scim.patch(path, {"op": "replace", "path": "title", "value": "x"})
    await scim.patch(path, {"op": "replace", "path": "title", "value": "x"})  # nothing changes
    team = await scim.new_group("Team", record["id"])
    await scim.delete(f"/Groups/{team['id']}")
    await scim.delete(path)
    refused(await scim.post("/Users", user("x" * 300)), 400, "invalidValue")
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select actor_kind, action, subject, address, request_id from audit_entry where scope = $1 order by at, id
            """,
            tenant.partner.id,
        )
    assert {(row["actor_kind"], row["address"]) for row in rows} == {("key", "127.0.0.1")}
    assert rows[0]["request_id"] == answer.headers["request-id"]
    assert [(row["action"], row["subject"]) for row in rows] == [
        ("scim.user.created", record["id"]),
        ("scim.user.deactivated", record["id"]),
        ("scim.user.reactivated", record["id"]),
        ("scim.user.updated", record["id"]),
        ("scim.group.created", team["id"]),
        ("scim.group.deleted", team["id"]),
        ("scim.user.deleted", record["id"]),
    ]
