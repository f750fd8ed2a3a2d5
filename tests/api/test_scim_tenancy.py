"""K10: a partner never sees, finds, counts or changes what is another's by SCIM."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.scim import ENTERPRISE, ScimClient, bulk, found, group, patch, refused, shown, user
from tests.support.service import Service, Tenant


@dataclass(frozen=True, slots=True)
class Theirs:
    """What another partner has, and how it stands."""

    client: ScimClient
    person: dict[str, Any]
    team: dict[str, Any]

    async def untouched(self) -> bool:
        """Whether all is as it was."""
        person = shown(await self.client.get(f"/Users/{self.person['id']}"))
        team = shown(await self.client.get(f"/Groups/{self.team['id']}"))
        listed = shown(await self.client.get("/"))["totalResults"]
        return (person, team, listed) == (
            self.person | {"groups": person["groups"]},
            self.team,
            2,
        )


@pytest.fixture
async def theirs(foreign_scim: ScimClient) -> AsyncIterator[Theirs]:
    """Another partner's user and group; at the end they are as they were."""
    person = await foreign_scim.new_user("ada@example.org", externalId="x-1", displayName="Ada")
    team = await foreign_scim.new_group("Owners", person["id"], externalId="x-2")
    made = Theirs(foreign_scim, person, team)
    yield made
    assert await made.untouched()


async def test_k10_by_id(scim: ScimClient, theirs: Theirs) -> None:
    rename = patch({"op": "replace", "path": "displayName", "value": "x"})
    for path, body in ((f"/Users/{theirs.person['id']}", user()), (f"/Groups/{theirs.team['id']}", group())):
        refused(await scim.get(path), 404)
        refused(await scim.get(path, headers={"If-None-Match": theirs.person["meta"]["version"]}), 404)
        refused(await scim.put(path, body), 404)
        refused(await scim.call("PATCH", path, rename), 404)
        refused(await scim.delete(path), 404)
        refused(await scim.delete(path, headers={"If-Match": "*"}), 404)


async def test_k10_by_search(scim: ScimClient, theirs: Theirs) -> None:
    await scim.new_user("mine", title="x")
    person, team = theirs.person["id"], theirs.team["id"]
    questions = (
        f'id eq "{person}"',
        'userName eq "ada@example.org"',
        'externalId eq "x-1"',
        f'groups.value eq "{team}"',
        "groups pr",
        'displayName eq "Ada"',
        'title eq null or userName sw "a"',
    )
    for question in questions:
        assert shown(await scim.get("/Users", filter_=question))["totalResults"] == 0, question
    for question in (f'id eq "{team}"', f'members eq "{person}"', "displayName pr", "not (displayName pr)"):
        assert shown(await scim.get("/Groups", filter_=question))["totalResults"] == 0, question
    for path in ("/", "/Users"):
        assert [one["userName"] for one in found(await scim.get(path, sortBy="userName"))] == ["mine"]
    assert shown(await scim.post("/.search", {"count": 0}))["totalResults"] == 1


async def test_k10_by_membership(scim: ScimClient, theirs: Theirs) -> None:
    """Whoever is another's is nobody here, as an id that was never given."""
    mine = await scim.new_group("Mine")
    operation = {"op": "add", "path": "members", "value": [{"value": theirs.person["id"]}]}
    for answer in (
        await scim.put(f"/Groups/{mine['id']}", group("Mine", theirs.person["id"])),
        await scim.patch(f"/Groups/{mine['id']}", operation),
        await scim.get(f"/Groups/{mine['id']}"),
    ):
        assert "members" not in shown(answer)
    assert "members" not in await scim.new_group("x", theirs.person["id"])
    refused(await scim.get(f"/Groups/{theirs.team['id']}"), 404)


async def test_k10_in_bulk(scim: ScimClient, theirs: Theirs) -> None:
    path = f"/Users/{theirs.person['id']}"
    answer = await scim.post(
        "/Bulk",
        bulk(
            {"method": "DELETE", "path": path},
            {"method": "PUT", "path": path, "data": user()},
            {"method": "PATCH", "path": path, "data": patch({"op": "replace", "path": "active", "value": False})},
            {"method": "DELETE", "path": f"/Groups/{theirs.team['id']}"},
            {"method": "POST", "path": "/Groups", "bulkId": "g", "data": group("x", theirs.person["id"])},
            {"method": "POST", "path": "/Users", "bulkId": "u", "data": user("ada@example.org", externalId="x-1")},
        ),
    )
    assert [one["status"] for one in shown(answer)["Operations"]] == ["404", "404", "404", "404", "201", "201"]


async def test_k10_names_of_one_partner_are_free_at_another(scim: ScimClient, theirs: Theirs) -> None:
    """The same person at two partners is two people; no conflict tells that the other is there."""
    mine = await scim.new_user("ADA@example.org", externalId="x-1")
    assert mine["id"] != theirs.person["id"]
    assert (await scim.delete(f"/Users/{mine['id']}")).status_code == 204


async def test_k10_a_manager_elsewhere_is_a_text_and_tells_nothing(scim: ScimClient, theirs: Theirs) -> None:
    mine = await scim.new_user(**{ENTERPRISE: {"manager": theirs.person["id"]}})
    assert "Ada" not in str(shown(await scim.get(f"/Users/{mine['id']}")))


async def test_k10_operators_are_nobodys_members(service: Service, tenant: Tenant, scim: ScimClient) -> None:
    """People of the deployment are in no partner's lists."""
    async with service.db.write() as tx:
        operator = tx.new_id()
        await tx.execute(
            "insert into person (id, realm, profile, version, created_at, updated_at) values ($1, $2, $3, 1, $4, $4)",
            operator,
            tx.ids.decode("partner", tx.ids.encode("partner", type(operator)(int=0))),
            {"userName": f"operator-{operator}"},
            tx.now,
        )
        text = tx.ids.encode("member", operator)
    refused(await scim.get(f"/Users/{text}"), 404)
    refused(await scim.delete(f"/Users/{text}"), 404)
    assert await scim.names() == []
