"""Requests of one directory over the same people: each is done, none is lost."""

import asyncio

from tests.support.scim import ScimClient, bulk, shown


async def test_changes_of_one_user_at_once_lose_nothing(scim: ScimClient) -> None:
    ada = await scim.new_user("ada")
    parts = ("title", "nickName", "userType", "locale", "timezone", "displayName")

    async def write(part: str) -> int:
        return (await scim.patch(f"/Users/{ada['id']}", {"op": "add", "path": part, "value": part})).status_code

    assert set(await asyncio.gather(*map(write, parts))) == {200}
    after = shown(await scim.get(f"/Users/{ada['id']}"))
    assert {part: after[part] for part in parts} == {part: part for part in parts}
    version = after["meta"]["version"]

    async def retitle(title: str) -> int:
        operation = {"op": "replace", "path": "title", "value": title}
        return (await scim.patch(f"/Users/{ada['id']}", operation, headers={"If-Match": version})).status_code

    assert sorted(await asyncio.gather(*map(retitle, "abcdefgh"))) == [200] + [412] * 7


async def test_bulks_over_the_same_users_end(scim: ScimClient) -> None:
    """In opposite orders, in transactions of their own: nobody is stuck, nothing is half done."""
    ids = [(await scim.new_user())["id"] for _ in range(10)]

    async def run(order: list[str], title: str) -> list[str]:
        data = {"schemas": [], "Operations": [{"op": "replace", "path": "title", "value": title}]}
        operations = [{"method": "PATCH", "path": f"/Users/{one}", "data": data} for one in order]
        return [one["status"] for one in shown(await scim.post("/Bulk", bulk(*operations)))["Operations"]]

    reported = await asyncio.gather(*(run(ids[:: 1 if n % 2 else -1], str(n)) for n in range(4)))
    assert reported == [["200"] * 10] * 4
