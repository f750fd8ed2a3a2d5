"""A directory that sends many changes at once: they wait for each other, and none is lost."""

import asyncio
from typing import Any

from tests.support.scim import ScimClient, bulk, made, patch, shown, user

AT_ONCE = 8


async def members(scim: ScimClient, group: dict[str, Any]) -> set[str]:
    return {one["value"] for one in shown(await scim.get(f"/Groups/{group['id']}")).get("members", ())}


def adding(*people: dict[str, Any]) -> dict[str, Any]:
    return {"op": "add", "path": "members", "value": [{"value": one["id"]} for one in people]}


async def test_all_who_are_added_at_once_are_in_the_group(scim: ScimClient) -> None:
    """Entra sends one PATCH for each: none is answered 412, and no member is lost."""
    people = [await scim.new_user() for _ in range(AT_ONCE)]
    group = await scim.new_group()
    answers = await asyncio.gather(*(scim.patch(f"/Groups/{group['id']}", adding(one)) for one in people))
    assert [answer.status_code for answer in answers] == [200] * AT_ONCE
    assert await members(scim, group) == {one["id"] for one in people}


async def test_one_who_is_added_at_once_by_many_is_in_the_group_once(scim: ScimClient) -> None:
    person, group = await scim.new_user(), await scim.new_group()
    answers = await asyncio.gather(*(scim.patch(f"/Groups/{group['id']}", adding(person)) for _ in range(AT_ONCE)))
    assert [answer.status_code for answer in answers] == [200] * AT_ONCE
    read = shown(await scim.get(f"/Groups/{group['id']}"))
    assert [one["value"] for one in read["members"]] == [person["id"]]
    assert read["meta"]["version"] == 'W/"2"'  # it changed once


async def test_one_name_is_taken_once(scim: ScimClient) -> None:
    names = ["Ada.Once@example.org" if n % 2 else "ada.once@EXAMPLE.org" for n in range(AT_ONCE)]
    answers = await asyncio.gather(*(scim.post("/Users", user(name)) for name in names))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * (AT_ONCE - 1)]


async def test_of_changes_to_one_version_one_is_made(scim: ScimClient) -> None:
    person = await scim.new_user()
    versions = {"If-Match": person["meta"]["version"]}
    organisations = [user(person["userName"], title=f"Title {n}") for n in range(AT_ONCE)]
    answers = await asyncio.gather(
        *(scim.put(f"/Users/{person['id']}", body, headers=versions) for body in organisations),
    )
    assert sorted(answer.status_code for answer in answers) == [200, *[412] * (AT_ONCE - 1)]
    (stored,) = [
        body["title"] for body, answer in zip(organisations, answers, strict=True) if answer.status_code == 200
    ]
    assert shown(await scim.get(f"/Users/{person['id']}"))["title"] == stored


async def test_people_are_deleted_while_they_are_added(scim: ScimClient) -> None:
    """In whatever order: nobody waits for ever, and whoever is deleted is in no group."""
    people = [await scim.new_user() for _ in range(AT_ONCE)]
    groups = [await scim.new_group(None, *(one["id"] for one in people[:4])) for _ in range(2)]
    changes = [scim.patch(f"/Groups/{group['id']}", adding(*people)) for group in groups for _ in range(2)]
    removals = [scim.delete(f"/Users/{one['id']}") for one in people[::2]]
    answers = await asyncio.gather(*changes, *removals)
    assert {answer.status_code for answer in answers} == {200, 204}
    for group in groups:
        assert await members(scim, group) <= {one["id"] for one in people[1::2]}


async def test_bulk_requests_that_meet_in_opposite_order_are_both_done(scim: ScimClient) -> None:
    people = [await scim.new_user() for _ in range(2)]
    groups = [await scim.new_group() for _ in range(2)]

    def both(order: list[dict[str, Any]], person: dict[str, Any]) -> dict[str, Any]:
        paths = [f"/Groups/{group['id']}" for group in order]
        return bulk(*({"method": "PATCH", "path": path, "data": patch(adding(person))} for path in paths))

    for _ in range(4):
        answers = await asyncio.gather(
            scim.post("/Bulk", both(groups, people[0])), scim.post("/Bulk", both(groups[::-1], people[1]))
        )
        assert [answer.status_code for answer in answers] == [200, 200]
    made_of = [await members(scim, group) for group in groups]
    assert made_of == [{one["id"] for one in people}] * 2


async def test_a_group_outlives_its_members(scim: ScimClient) -> None:
    person = await scim.new_user()
    group = made(await scim.post("/Groups", {"displayName": "Left", "members": [{"value": person["id"]}]}))
    await scim.delete(f"/Users/{person['id']}")
    read = shown(await scim.get(f"/Groups/{group['id']}"))
    assert "members" not in read
    assert read["meta"]["version"] != group["meta"]["version"]
