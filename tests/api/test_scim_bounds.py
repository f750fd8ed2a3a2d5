"""How much one SCIM request may ask for, and that others are answered meanwhile."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.scim import BULK, SEARCH, USER, ScimClient, bulk, patch, refused, shown, user


def adds(count: int) -> list[dict[str, Any]]:
    """Operations whose time goes up by more than the square of how many they are."""
    return [{"op": "add", "path": f'emails[type eq "t{n}"].value', "value": "x"} for n in range(count)]


@asynccontextmanager
async def beating() -> AsyncIterator[list[float]]:
    """What this thread worked from one turn of the loop to the next, each time, in seconds of the processor."""
    stood: list[float] = []

    loop = asyncio.get_running_loop()

    def beat(last: float) -> None:
        now = time.thread_time()
        stood.append(now - last)
        if going:
            loop.call_later(0.005, beat, now)

    going = True
    beat(time.thread_time())
    try:
        yield stood
    finally:
        going = False


async def test_a_patch_makes_at_most_a_hundred_changes(scim: ScimClient) -> None:
    path = f"/Users/{(await scim.new_user())['id']}"
    nick = {"op": "add", "path": "nickName", "value": "x"}
    shown(await scim.patch(path, *[nick] * 100))
    refused(await scim.patch(path, *[nick] * 101), 413)
    refused(await scim.patch(path, {"op": "add", "value": {f"k{n}": "x" for n in range(101)}}), 413)
    refused(
        await scim.patch(path, {"op": "add", "value": {f'emails[type eq "{n}"].value': "x" for n in range(101)}}), 413
    )
    body = {"schemas": [], "operations": [{"OP": "add", "Path": "nickName", "VALUE": "x"}] * 101}
    refused(await scim.call("PATCH", path, body), 413)
    refused(await scim.call("PATCH", path, {**patch(nick), "operations": [nick]}), 400, "invalidSyntax")
    refused(await scim.patch(path, {**nick, "path": f'emails[type eq "{"x" * 1000}"]'}), 400, "invalidPath")


async def test_thousands_of_operations_stop_nobody_else(scim: ScimClient, foreign_scim: ScimClient) -> None:
    """Before, 1,500 of them (110 KB) held the loop for more than a minute, for all partners."""
    path = f"/Users/{(await scim.new_user())['id']}"
    started = time.process_time()
    refused(await scim.patch(path, *adds(1500)), 413)
    refused(await scim.patch(path, *[{"op": "add", "path": "emails", "value": [{"value": "x"}]}] * 10_000), 413)
    assert time.process_time() - started < 5
    async with beating() as stood:
        _, others = await asyncio.gather(scim.patch(path, *adds(100)), foreign_scim.get("/Users"))
        shown(others)
    assert max(stood) < 1


async def test_who_is_in_a_group_changes_by_hundreds(scim: ScimClient) -> None:
    """Entra takes people out one by one in one PATCH, and puts hundreds in."""
    operations = [{"method": "POST", "path": "/Users", "bulkId": str(n), "data": user()} for n in range(300)]
    made = shown(await scim.post("/Bulk", bulk(*operations)))["Operations"]
    ids = [one["location"].rpartition("/")[2] for one in made]
    team = await scim.new_group("Team", ids[0])
    path, version = f"/Groups/{team['id']}", team["meta"]["version"]
    come = [{"op": "Add", "path": "members", "value": [{"value": one}]} for one in ids]
    after = shown(await scim.patch(path, *come))
    assert {one["value"] for one in after["members"]} == set(ids)
    assert (version, after["meta"]["version"]) == ('W/"1"', 'W/"2"')  # in one statement
    leave = [{"op": "Remove", "path": f'members[value eq "{one}"]'} for one in ids[1:]]
    after = shown(await scim.patch(path, *leave))
    assert [one["value"] for one in after["members"]] == ids[:1]
    many = [{"value": one} for one in ids]
    assert len(shown(await scim.put(path, {**team, "members": many}))["members"]) == 300
    assert (
        len(shown(await scim.patch(path, {"op": "replace", "path": "members", "value": many[:250]}))["members"]) == 250
    )
    refused(await scim.patch(path, *come[:1] * 1001), 413)
    rename = {"op": "replace", "path": "displayName", "value": "X"}
    refused(await scim.patch(path, *come[:100], rename), 413)


async def _took(answer: Awaitable[Any]) -> tuple[Any, float]:
    """The answer, and what it took of the processor: seconds that others' work does not make more."""
    started = time.process_time()
    return await answer, time.process_time() - started


@pytest.mark.parametrize("name", ["Operations", "operations"])
async def test_bulk_operations_are_counted_before_they_are_read(scim: ScimClient, name: str) -> None:
    """Before, 100,000 of these 200 KB took 20 seconds of a thread, and 4 MiB minutes."""
    body = f'{{"schemas": ["{BULK}"], "{name}": [{"1," * 100_000}1]}}'.encode()
    answer, took = await _took(scim.post("/Bulk", body))
    refused(answer, 413)
    assert took < 5


async def test_changes_of_a_bulk_are_counted(scim: ScimClient) -> None:
    one = await scim.new_user("one")
    operation = {
        "method": "PATCH",
        "path": f"/Users/{one['id']}",
        "data": patch(*[{"op": "add", "path": "title", "value": "x"}] * 100),
    }
    refused(await scim.post("/Bulk", bulk(*[operation] * 51)), 413)
    over = {**operation, "data": patch(*adds(101))}
    wide = {"method": "POST", "path": "/Users", "bulkId": "w", "data": user("wide", emails=[{"value": "x"}] * 101)}
    wrong = {"method": "POST", "path": "/Users", "bulkId": "y", "data": user("yes", active="yes")}
    good = {"method": "POST", "path": "/Users", "bulkId": "g", "data": user("good")}
    reported = shown(await scim.post("/Bulk", {"schemas": [BULK], "Operations": [over, wide, 1, wrong, good]}))[
        "Operations"
    ]
    assert [one["status"] for one in reported] == ["413", "400", "400", "400", "201"]
    assert sorted(await scim.names()) == ["good", "one"]


TOO_MUCH: dict[str, dict[str, Any]] = {
    "values": {"emails": [{"value": f"{n}@x.example"} for n in range(101)]},
    "a text": {"nickName": "x" * 4097},
    "a name on pages": {"displayName": "x" * 513},
    "another": {"name": {"formatted": "x" * 513}},
    "a picture": {"photos": [{"value": "https://x.example/" + "x" * 16_384}]},
    "all together": {"roles": [{"value": "x" * 4000} for _ in range(20)]},
}


@pytest.mark.parametrize("given", TOO_MUCH.values(), ids=TOO_MUCH.keys())
async def test_a_profile_is_bounded(scim: ScimClient, given: dict[str, Any]) -> None:
    refused(await scim.post("/Users", user(**given)), 400, "invalidValue")
    person = await scim.new_user()
    refused(await scim.put(f"/Users/{person['id']}", user(**given)), 400, "invalidValue")
    refused(await scim.patch(f"/Users/{person['id']}", {"op": "replace", "value": given}), 400, "invalidValue")
    assert shown(await scim.get(f"/Users/{person['id']}")) == person


async def test_a_profile_is_bounded_whatever_it_grows_from(scim: ScimClient) -> None:
    person = await scim.new_user(emails=[{"value": f"{n}@x.example"} for n in range(100)])
    more = {"op": "add", "path": "emails", "value": [{"value": "new@x.example"}]}
    refused(await scim.patch(f"/Users/{person['id']}", more), 400, "invalidValue")
    made = await scim.new_user(photos=[{"value": "https://x.example/" + "x" * 10_000}], title="x" * 4096)
    assert len(made["title"]) == 4096


async def test_projections_are_bounded(scim: ScimClient) -> None:
    """Before, 20,000 names held the loop for half a minute."""
    names = ["userName"] * 51
    path = f"/Users/{(await scim.new_user())['id']}"
    for where in (path, "/Users", "/"):
        refused(await scim.get(where, attributes=",".join(names)), 400, "invalidValue")
        refused(await scim.get(where, excludedAttributes=",".join(names)), 400, "invalidValue")
        shown(await scim.get(where, attributes=",".join(names[:50])))
    for given in (names, [",".join(names)]):
        body = {"schemas": [SEARCH], "Attributes": given}
        refused(await scim.post("/Users/.search", json.dumps(body).encode()), 400, "invalidValue")


async def test_parts_of_large_profiles_stop_nobody_else(scim: ScimClient, foreign_scim: ScimClient) -> None:
    large = {
        "emails": [{"value": f"{n}@x.example"} for n in range(100)],
        "roles": [{"value": str(n)} for n in range(100)],
    }
    operations = [{"method": "POST", "path": "/Users", "bulkId": str(n), "data": user(**large)} for n in range(100)]
    assert {one["status"] for one in shown(await scim.post("/Bulk", bulk(*operations)))["Operations"]} == {"201"}
    names = ",".join(["emails.value", "roles.value"] * 25)
    async with beating() as stood:
        parts, _ = await asyncio.gather(scim.get("/Users", attributes=names), foreign_scim.get("/Users"))
    assert len(shown(parts)["Resources"]) == 100
    assert max(stood) < 1


async def test_unknown_members_are_ignored_all_the_same(scim: ScimClient) -> None:
    """What other schemas hold is not looked at."""
    strange = {"urn:example:other:2.0:User": {"active": "yes", "list": [1] * 101, "x509Certificates": "!"}}
    made = await scim.new_user("ada", **strange, schemas=[USER, *strange], favourite="\x00")
    assert (made["active"], made["schemas"]) == (True, [USER])
