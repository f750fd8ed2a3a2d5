"""Groups of members: who is in them, once, and what that changes."""

import json
from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.members.domain import Group, NoSuchGroup
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, Person, build_profile, member_realm
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Partner, Tx, open_database
from tests.support.database import TestDatabase
from tests.support.service import Service, Tenant

BY = AuditContext(Actor("system", "tests"), None)


@pytest.fixture
async def tx(service: Service) -> AsyncIterator[Tx]:
    """One transaction, committed at the end."""
    async with service.db.write() as opened:
        yield opened


async def somebody(tx: Tx, tenant: Tenant, name: str | None = None) -> Person:
    """A new member of the partner."""
    return await people.create(tx, member_realm(tenant.partner), build_profile(name or f"person-{uuid4()}"))


async def ids_in(tx: Tx, group: Group) -> list[UUID]:
    """Who is in a group, as it is stored."""
    read = await members.get_group(tx, Partner(group.partner_id), group.id)
    assert read.members is not None
    return [one.id for one in read.members]


async def test_a_group_is_read_as_it_was_written_with_or_without_its_members(tx: Tx, tenant: Tenant) -> None:
    first = await people.create(tx, member_realm(tenant.partner), build_profile("ann", name="Ann Example"))
    second = await somebody(tx, tenant, "bo")
    profile = {"displayName": "Bookkeepers", "externalId": "8aa1", "urn:example:more": {"x": [1]}}
    made = await members.create_group(tx, tenant.partner, profile, [second.id, first.id, first.id])
    bare = await members.get_group(tx, tenant.partner, made.id, with_members=False)
    whole = await members.get_group(tx, tenant.partner, made.id)
    assert (bare.profile, bare.display_name, bare.role, bare.version, bare.members) == (
        profile, "Bookkeepers", None, 1, None,
    )  # fmt: skip
    assert whole.members is not None
    assert [(one.id, one.name) for one in whole.members] == [(first.id, "Ann Example"), (second.id, "bo")]
    assert await members.list_groups_with_sizes(tx, tenant.partner) == [(bare, 2)]


async def test_members_and_groups_are_paged(tx: Tx, tenant: Tenant) -> None:
    them = [await somebody(tx, tenant) for _ in range(5)]
    made = [await members.create_group(tx, tenant.partner, {"displayName": "Same"}, [p.id for p in them])] + [
        await members.create_group(tx, tenant.partner, {"displayName": "Same"}) for _ in range(2)
    ]
    page = await members.list_group_members(tx, tenant.partner, made[0].id, limit=2)
    rest = await members.list_group_members(tx, tenant.partner, made[0].id, after=page[-1].id)
    assert [one.id for one in [*page, *rest]] == [one.id for one in them]
    groups = await members.list_groups_with_sizes(tx, tenant.partner, limit=2)
    groups += await members.list_groups_with_sizes(tx, tenant.partner, after=groups[-1][0].id)
    assert [(group.id, size) for group, size in groups] == [(made[0].id, 5), (made[1].id, 0), (made[2].id, 0)]


async def test_adding_a_member_twice_keeps_one_and_changes_nothing_more(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        person = await somebody(tx, tenant)
        group = await members.create_group(tx, tenant.partner, {"displayName": "Twice"})
    service.clock.advance(minutes=1)
    async with service.db.write() as tx:
        locked = await members.get_group_for_update(tx, tenant.partner, group.id)
        added = await members.add_people_to_group(tx, locked, [person.id])
        once = added.group
        assert (once.version, once.updated_at, added.added, added.removed) == (2, tx.now, (person.id,), ())
    service.clock.advance(minutes=1)
    async with service.db.write() as tx:
        again = await members.add_people_to_group(
            tx, await members.get_group_for_update(tx, tenant.partner, group.id), [person.id] * 2
        )
        assert (again.group.version, again.group.updated_at, again.added) == (2, once.updated_at, ())
        assert await ids_in(tx, group) == [person.id]
        gone = await members.remove_people_from_group(tx, again.group, [person.id, uuid4()])
        assert (gone.group.version, gone.group.updated_at, gone.removed) == (3, tx.now, (person.id,))
        assert (await members.remove_people_from_group(tx, gone.group, [person.id])).group.version == 3
        assert await ids_in(tx, group) == []


async def test_the_whole_list_is_replaced_and_moves_the_version_once(tx: Tx, tenant: Tenant) -> None:
    one, two, three = [await somebody(tx, tenant) for _ in range(3)]
    group = await members.create_group(tx, tenant.partner, {"displayName": "Before"}, [one.id, two.id])
    changed = await members.update_group(tx, group, profile={"displayName": "After"}, member_ids=[two.id, three.id])
    assert (changed.group.version, changed.group.display_name) == (2, "After")
    assert (changed.added, changed.removed, await ids_in(tx, group)) == ((three.id,), (one.id,), [two.id, three.id])
    same = await members.update_group(
        tx, changed.group, profile={"displayName": "After"}, member_ids=[three.id, two.id]
    )
    assert (same.group.version, same.added, same.removed) == (2, (), ())
    renamed = await members.update_group(tx, same.group, profile={"displayName": "Later"})
    assert (renamed.group.version, await ids_in(tx, group)) == (3, [two.id, three.id])
    empty = await members.update_group(tx, renamed.group, member_ids=[])
    assert (empty.group.version, empty.group.display_name, await ids_in(tx, group)) == (4, "Later", [])


async def test_whoever_is_nobody_of_the_partner_gets_into_no_group(service: Service, tenant: Tenant) -> None:
    other = await service.tenant()
    async with service.db.write() as tx:
        ours, theirs = await somebody(tx, tenant), await somebody(tx, other)
        operator = await people.create(tx, OPERATORS, build_profile(f"operator-{uuid4()}"))
        group = await members.create_group(tx, tenant.partner, {"displayName": "Ours"}, [ours.id])
        for stranger in (theirs.id, operator.id, uuid4()):
            mixed = await members.create_group(tx, tenant.partner, {"displayName": "Mixed"}, [ours.id, stranger])
            assert await ids_in(tx, mixed) == [ours.id]
            assert (await members.add_people_to_group(tx, group, [stranger])).added == ()
            assert (await members.update_group(tx, group, member_ids=[ours.id, stranger])).added == ()
            await members.delete_group(tx, tenant.partner, mixed.id)
        assert await ids_in(tx, group) == [ours.id]
        with pytest.raises(NoSuchGroup):
            await members.get_group(tx, other.partner, group.id)
        with pytest.raises(NoSuchGroup):
            await members.get_group_for_update(tx, other.partner, group.id)
        with pytest.raises(NoSuchGroup):
            await members.delete_group(tx, other.partner, group.id)
        assert await members.list_group_members(tx, other.partner, group.id) == []
        assert await members.list_groups_with_sizes(tx, other.partner) == []
    async with service.db.write() as tx:
        with pytest.raises(asyncpg.ForeignKeyViolationError):  # the database keeps the rule itself
            await tx.execute(
                "insert into member_group_member (partner_id, group_id, person_id, added_at) values ($1, $2, $3, $4)",
                tenant.partner.id,
                group.id,
                theirs.id,
                tx.now,
            )


async def test_a_group_gives_a_role_only_when_somebody_said_so(tx: Tx, tenant: Tenant) -> None:
    realm = member_realm(tenant.partner)
    person = await somebody(tx, tenant)
    group = await members.create_group(tx, tenant.partner, {"displayName": "owner"}, [person.id])
    assert (await people.get(tx, realm, person.id)).roles == frozenset()
    mapped = await members.map_group_to_role(tx, tenant.partner, group.id, "finance", BY)
    assert mapped.role == "finance"
    assert (await people.get(tx, realm, person.id)).roles == {"finance"}
    assert await members.load_groups_by_person_id(tx, tenant.partner, [person.id]) == {person.id: [mapped]}
    with pytest.raises(IncorrectParams):
        await members.map_group_to_role(tx, tenant.partner, group.id, "administrator", BY)  # type: ignore[arg-type]
    await members.map_group_to_role(tx, tenant.partner, group.id, None, BY)
    assert (await people.get(tx, realm, person.id)).roles == frozenset()
    await members.map_group_to_role(tx, tenant.partner, group.id, "owner", BY)
    await members.delete_group(tx, tenant.partner, group.id)
    assert (await people.get(tx, realm, person.id)).roles == frozenset()
    assert await members.load_groups_by_person_id(tx, tenant.partner, [person.id]) == {person.id: []}


async def test_whoever_is_removed_leaves_their_groups_which_have_changed(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        person = await somebody(tx, tenant)
        inside = await members.create_group(tx, tenant.partner, {"displayName": "Inside"}, [person.id])
        outside = await members.create_group(tx, tenant.partner, {"displayName": "Outside"})
    service.clock.advance(minutes=1)
    async with service.db.write() as tx:
        await people.delete(tx, member_realm(tenant.partner), person.id)
        left = await members.get_group(tx, tenant.partner, inside.id)
        assert (left.version, left.updated_at, left.members) == (2, tx.now, ())
        assert (await members.get_group(tx, tenant.partner, outside.id)).version == 1


@pytest.mark.parametrize("name", ["", " ", "x" * 256, None, 5])
async def test_a_group_has_a_name(tx: Tx, tenant: Tenant, name: object) -> None:
    with pytest.raises(IncorrectParams):
        await members.create_group(tx, tenant.partner, {"displayName": name})


@pytest.fixture
async def filled(empty_database: TestDatabase) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """10,000 members of one partner in 200 groups, each in three of them."""
    connection = await asyncpg.connect(empty_database.owner_dsn)
    partner = uuid4()
    await connection.execute("insert into partner (id, name, created_at) values ($1, 'Large', now())", partner)
    for sql in (
        """
        insert into person (id, realm, profile, created_at, updated_at)
        select gen_random_uuid(), $1, jsonb_build_object('userName', 'u' || n), now(), now()
        from generate_series(1, 10000) as n
        """,
        """
        insert into member_group (id, partner_id, profile, created_at, updated_at)
        select gen_random_uuid(), $1, jsonb_build_object('displayName', 'g' || n), now(), now()
        from generate_series(1, 200) as n
        """,
        """
        insert into member_group_member (partner_id, group_id, person_id, added_at)
        select $1, g.id, p.id, now()
        from (select id, row_number() over () as n from person where realm = $1) as p
        join (select id, row_number() over () as n from member_group) as g on (p.n + g.n) % 67 = 0
        """,
    ):
        await connection.execute(sql, partner)
    await connection.execute("analyze person, member_group, member_group_member")
    yield connection
    await connection.close()


class Explained:
    """A transaction that runs what it is given, and keeps what each statement reads whole."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.whole: list[str] = []

    def __getattr__(self, name: str) -> Any:
        run = getattr(self._tx, name)
        if name not in ("fetch", "fetchrow", "fetchval"):
            return run

        async def explained(sql: str, *args: object) -> Any:
            answer = await self._tx.fetchval("explain (format json) " + sql, *args)
            waiting: list[dict[str, Any]] = [json.loads(answer)[0]["Plan"]]
            while waiting:
                node = waiting.pop()
                waiting += node.get("Plans", [])
                if node["Node Type"] == "Seq Scan":
                    self.whole.append(node["Relation Name"] + sql)
            return await run(sql, *args)

        return explained


async def test_no_table_is_read_whole_with_ten_thousand_members(
    filled: "asyncpg.Connection[asyncpg.Record]", empty_database: TestDatabase, service: Service
) -> None:
    db = await open_database(empty_database.dsn, service.db.deployment, pool_size=1)
    partner = Partner(await filled.fetchval("select id from partner where name = 'Large'"))
    person = await filled.fetchval("select id from person limit 1")
    async with db.write() as real:
        await real.execute("set local enable_seqscan = off")  # 200 groups are few enough to read them all
        explained = Explained(real)
        tx = cast("Tx", explained)
        group = await members.create_group(tx, partner, {"displayName": "New"}, [person])
        await members.list_groups_with_sizes(tx, partner, after=group.id, limit=50)
        await members.list_group_members(tx, partner, group.id)
        await members.load_groups_by_person_id(tx, partner, [person])
        await members.get_group(tx, partner, group.id)
        locked = await members.get_group_for_update(tx, partner, group.id)
        await members.remove_people_from_group(tx, locked, [person])
        await members.add_people_to_group(tx, locked, [person])
        await members.update_group(tx, locked, profile={"displayName": "Newer"}, member_ids=[person])
        await members.list_page(tx, partner, after=person, limit=50)
        await members.map_group_to_role(tx, partner, group.id, "owner", BY)
        await members.get_member(tx, partner, person)
        await people.delete(tx, member_realm(partner), person)
        await members.delete_group(tx, partner, group.id)
    await db.close()
    assert explained.whole == []
