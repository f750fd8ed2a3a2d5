"""What a directory's word does to the people themselves: their sign-ins and their roles."""

from typing import Any

import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.people import service as people
from almoner.access.people.domain import Person, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser
from almoner.platform.audit.log import Actor
from tests.support.scim import USER, ScimClient, bulk, patch, shown
from tests.support.service import Service, Tenant

OPERATOR = AuditContext(Actor("system", "tests"), None)
OFF = {"op": "Replace", "path": "active", "value": "False"}


async def person_of(service: Service, tenant: Tenant, record: dict[str, Any]) -> Person:
    """The member behind a user."""
    async with service.db.read() as tx:
        id_ = tx.ids.decode("member", record["id"])
        assert id_ is not None
        return await people.get(tx, member_realm(tenant.partner), id_)


async def sign_in(service: Service, tenant: Tenant, record: dict[str, Any]) -> str:
    """Somebody signs in; the secret of their cookie."""
    person = await person_of(service, tenant, record)
    async with service.db.write() as tx:
        return (await sign_ins.begin_sign_in(tx, person, "password", Browser("127.0.0.1"))).session_secret


async def is_signed_in(service: Service, tenant: Tenant, secret: str) -> bool:
    """Whether the cookie opens anything."""
    async with service.db.read() as tx:
        return await sign_ins.find_sign_in_by_secret(tx, member_realm(tenant.partner), secret) is not None


WAYS = ("patch", "put", "bulk", "delete")


@pytest.mark.parametrize("way", WAYS)
async def test_v4_who_is_deactivated_is_signed_out_at_once_and_for_good(
    service: Service, tenant: Tenant, scim: ScimClient, way: str
) -> None:
    ada, grace = await scim.new_user("ada"), await scim.new_user("grace")
    secret, other = await sign_in(service, tenant, ada), await sign_in(service, tenant, grace)
    assert await is_signed_in(service, tenant, secret)
    path = f"/Users/{ada['id']}"
    match way:
        case "patch":
            shown(await scim.patch(path, OFF))
        case "put":
            shown(await scim.put(path, {"schemas": [USER], "userName": "ada", "active": False}))
        case "bulk":
            shown(await scim.post("/Bulk", bulk({"method": "PATCH", "path": path, "data": patch(OFF)})))
        case _:
            assert (await scim.delete(path)).status_code == 204
    assert not await is_signed_in(service, tenant, secret)
    assert await is_signed_in(service, tenant, other)
    if way != "delete":
        shown(await scim.patch(path, {"op": "replace", "value": {"active": True}}))
        assert not await is_signed_in(service, tenant, secret)


async def test_a_group_gives_its_role_to_those_in_it_alone(service: Service, tenant: Tenant, scim: ScimClient) -> None:
    ada, grace = await scim.new_user("ada"), await scim.new_user("grace")
    team = await scim.new_group("owner", ada["id"])

    async def roles(record: dict[str, Any]) -> set[str]:
        return set((await person_of(service, tenant, record)).roles)

    assert await roles(ada) == set()  # a group gives nothing by its name
    async with service.db.write() as tx:
        id_ = tx.ids.decode("group", team["id"])
        assert id_ is not None
        await members.map_group_to_role(tx, tenant.partner, id_, "finance", OPERATOR)
    assert (await roles(ada), await roles(grace)) == ({"finance"}, set())
    path = f"/Groups/{team['id']}"
    shown(await scim.patch(path, {"op": "add", "path": "members", "value": [{"value": grace["id"]}]}))
    shown(await scim.patch(path, {"op": "remove", "path": f'members[value eq "{ada["id"]}"]'}))
    assert (await roles(ada), await roles(grace)) == (set(), {"finance"})
    shown(await scim.patch(path, {"op": "replace", "path": "displayName", "value": "Renamed"}))
    assert await roles(grace) == {"finance"}  # what it is worth stays
    assert (await scim.delete(path)).status_code == 204
    assert await roles(grace) == set()


async def test_roles_that_a_directory_writes_open_nothing(service: Service, tenant: Tenant, scim: ScimClient) -> None:
    ada = await scim.new_user("ada", roles=[{"value": "owner", "primary": True}], userType="owner")
    assert ada["roles"] == [{"value": "owner", "primary": True}]
    assert (await person_of(service, tenant, ada)).roles == frozenset()
