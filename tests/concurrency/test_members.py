"""Members and groups changed by many at once."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.members.domain import LastOwnerRequired
from almoner.access.people import service as people
from almoner.access.people.domain import build_profile, member_realm
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Partner, Tx
from tests.support.people import person as somebody
from tests.support.service import Service, Tenant

AT_ONCE = 32
BY = AuditContext(Actor("system", "tests"), None)
Take = Callable[[Tx, Partner, UUID], Awaitable[object]]


async def _demote(tx: Tx, partner: Partner, person: UUID) -> None:
    await members.change_roles(tx, partner, BY, person, ["read_only"])


async def _deactivate(tx: Tx, partner: Partner, person: UUID) -> None:
    await members.deactivate_member(tx, partner, BY, person)


async def _remove(tx: Tx, partner: Partner, person: UUID) -> None:
    await members.remove_member(tx, partner, BY, person)


@pytest.mark.parametrize("takes", [[_remove, _remove], [_demote, _deactivate], [_deactivate, _remove]])
async def test_two_owners_who_take_each_others_role_at_once_leave_one(
    service: Service, tenant: Tenant, takes: list[Take]
) -> None:
    realm = member_realm(tenant.partner)
    for _ in range(8):
        async with service.db.write() as tx:
            them = [await people.create(tx, realm, build_profile(f"owner-{uuid4()}"), ["owner"]) for _ in takes]
        results = await asyncio.gather(
            *(_try(service, tenant, take, one.id) for take, one in zip(takes, them, strict=True))
        )
        assert sorted(results) == [False, True]
        async with service.db.write() as tx:
            left = [one.person for one in await members.list_page(tx, tenant.partner) if one.person.has_role("owner")]
            assert len(left) == 1
            await people.delete(tx, realm, left[0].id)  # as the partner's directory may


async def _try(service: Service, tenant: Tenant, take: Take, person: UUID) -> bool:
    try:
        async with service.db.write() as tx:
            await take(tx, tenant.partner, person)
    except LastOwnerRequired:
        return False
    return True


async def test_the_owners_of_a_group_are_owners_too(service: Service, tenant: Tenant) -> None:
    realm = member_realm(tenant.partner)
    async with service.db.write() as tx:
        owner = await people.create(tx, realm, build_profile(f"owner-{uuid4()}"), ["owner"])
        other = await people.create(tx, realm, build_profile(f"other-{uuid4()}"))
        group = await members.create_group(tx, tenant.partner, {"displayName": "Owners"}, [other.id])
        await members.map_group_to_role(tx, tenant.partner, group.id, "owner", BY)
        await _remove(tx, tenant.partner, owner.id)
    for change in (
        lambda tx: members.map_group_to_role(tx, tenant.partner, group.id, "finance", BY),
        lambda tx: _deactivate(tx, tenant.partner, other.id),
    ):
        with pytest.raises(LastOwnerRequired):
            async with service.db.write() as tx:
                await change(tx)


async def test_the_same_member_added_by_32_at_once_is_in_the_group_once(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        person = await people.create(tx, member_realm(tenant.partner), build_profile(f"person-{uuid4()}"))
        group = await members.create_group(tx, tenant.partner, {"displayName": "Many"})

    async def add() -> int:
        async with service.db.write() as tx:
            locked = await members.get_group_for_update(tx, tenant.partner, group.id)
            return (await members.add_people_to_group(tx, locked, [person.id])).group.version

    versions = await asyncio.gather(*(add() for _ in range(AT_ONCE)))
    assert set(versions) == {2}
    async with service.db.read() as tx:
        read = await members.get_group(tx, tenant.partner, group.id)
    assert read.members is not None
    assert [one.id for one in read.members] == [person.id]


async def test_groups_that_change_while_their_people_are_removed_end_without_them(
    service: Service, tenant: Tenant
) -> None:
    realm = member_realm(tenant.partner)
    async with service.db.write() as tx:
        them = [await people.create(tx, realm, build_profile(f"person-{uuid4()}")) for _ in range(AT_ONCE)]
        groups = [
            await members.create_group(tx, tenant.partner, {"displayName": "G"}, [p.id for p in them]) for _ in "abc"
        ]

    async def remove(number: int) -> None:
        async with service.db.write() as tx:
            await people.delete(tx, realm, them[number].id)

    async def rename(number: int) -> None:
        async with service.db.write() as tx:
            locked = await members.get_group_for_update(tx, tenant.partner, groups[number % 3].id)
            await members.update_group(tx, locked, profile={"displayName": f"G{number}"})

    await asyncio.gather(*(act(n) for n in range(AT_ONCE) for act in (remove, rename)))
    async with service.db.read() as tx:
        for group in groups:
            read = await members.get_group(tx, tenant.partner, group.id)
            changes = sum(1 for n in range(AT_ONCE) if groups[n % 3].id == group.id)
            assert (read.members, read.version) == ((), 1 + AT_ONCE + changes)


@pytest.mark.parametrize("take", [_remove, _demote, _deactivate])
async def test_an_owner_who_never_came_is_none_beside_one_who_can_sign_in(
    take: Take, service: Service, tenant: Tenant
) -> None:
    realm = member_realm(tenant.partner)
    there = await somebody(service, realm, f"there-{uuid4()}", "owner")
    async with service.db.write() as tx:
        invited, _ = await members.invite_member(tx, tenant.partner, BY, f"typo-{uuid4()}@example.org", roles=["owner"])
    with pytest.raises(LastOwnerRequired, match="the only active owner who can sign in"):
        async with service.db.write() as tx:
            await take(tx, tenant.partner, there.id)
    async with service.db.write() as tx:
        await take(tx, tenant.partner, invited.id)  # a mistyped address goes at any time
    other = await somebody(service, realm, f"other-{uuid4()}", "owner")
    async with service.db.write() as tx:
        await take(tx, tenant.partner, there.id)
    assert not await _try(service, tenant, take, other.id)
