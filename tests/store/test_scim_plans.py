"""What directories ask is answered from indexes, over a partner with 10,000 users among others.

The large partner owns most rows, so that reading all is often cheapest: sequential scans are priced out first, and one
that still there means that no index can serve.
"""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import Database, Partner, Tx
from tests.support import database, scim_rows
from tests.support.plans import Explaining
from tests.support.scim_rows import asking

TABLES = {"person", "member_group", "member_group_member"}


@pytest.fixture(scope="module")
async def large(postgres_server: PostgresServer) -> AsyncIterator[tuple[Database, Partner]]:
    """A database with the large partner."""
    async with database.copied(postgres_server) as made, scim_rows.opened(made) as db:
        async with db.write() as tx:
            for number in range(4):
                await scim_rows.partner(tx, f"Partner {number}", 2_500)
            partner = await scim_rows.partner(tx, "Large", 10_000)
        await scim_rows.counted(made)
        yield db, partner


@pytest.fixture
async def asked(large: tuple[Database, Partner]) -> AsyncIterator[Explaining]:
    async with large[0].write() as tx:
        await tx.execute("set local enable_seqscan = off")
        yield Explaining(tx)


async def search(asked: Explaining, partner: Partner, *kinds: str, position: Any = None, **parameters: Any) -> Any:
    storage = scim_rows.storage(cast("Tx", asked), partner)
    types = [scim_rows.TYPES[kind] for kind in kinds]
    return await storage.search(types, asking(*kinds, **parameters), position=position)


@pytest.mark.parametrize(
    ("given", "index", "total"),
    [
        ({"start_index": 501}, "person_realm", 10_000),
        ({"filter": 'userName eq "person7@EXAMPLE.org"'}, "person_name", 1),
        ({"filter": 'userName sw "PERSON77"'}, "person_name", 111),
        ({"filter": 'externalId eq "external-7"'}, "person_external_id", 1),
        ({"filter": 'userName eq "person7@example.org" and active eq true'}, "person_name", 1),
        ({"filter": "active eq false"}, "person_inactive", 200),
        ({"filter": 'meta.created gt "2026-03-02T12:15:00Z"', "sort_by": "meta.created"}, "person_created", 100),
        ({"filter": 'meta.lastModified lt "2000-01-01T00:00:00Z"'}, "person_updated", 0),
        ({"sort_by": "userName"}, "person_name", 10_000),
        ({"sort_by": "userName", "sort_order": "descending"}, "person_name", 10_000),
        ({"sort_by": "name.familyName"}, "person_family", 10_000),
        ({"sort_by": "meta.created", "cursor": ""}, "person_created", 10_000),
        ({"sort_by": "meta.lastModified", "cursor": ""}, "person_updated", 10_000),
    ],
)
async def test_users_are_found_by_an_index(
    large: tuple[Database, Partner], asked: Explaining, given: dict[str, Any], index: str, total: int
) -> None:
    page = await search(asked, large[1], "User", count=20, **given)
    assert page.total == total
    assert len(page.resources) == min(total, 20)
    assert index in asked.indexes()
    assert not TABLES & asked.scans()
    assert total < 1_000 or asked.sorts_before_limit() == []


async def test_the_next_page_of_a_cursor_begins_where_the_last_one_ended(
    large: tuple[Database, Partner], asked: Explaining
) -> None:
    first = await search(asked, large[1], "User", count=20, sort_by="meta.created", cursor="")
    asked.plans.clear()
    second = await search(asked, large[1], "User", count=20, sort_by="meta.created", cursor="", position=first.next)
    assert [one.user_name for one in second.resources] == [f"Person{n}@example.org" for n in range(21, 41)]
    (found,) = [node for node in asked.nodes() if node.get("Index Name") == "person_created"]
    assert "ROW(created_at, id)" in found["Index Cond"]
    assert not TABLES & asked.scans()


@pytest.mark.parametrize("attribute", ["emails.value", "name.familyName", "title"])
async def test_other_attributes_are_read_from_the_partners_rows_alone(
    large: tuple[Database, Partner], asked: Explaining, attribute: str
) -> None:
    page = await search(asked, large[1], "User", count=20, filter=f'{attribute} co "7"', sort_by="name.familyName")
    assert page.total is not None
    assert not TABLES & asked.scans()
    read = [
        node
        for node in asked.nodes()
        if node.get("Relation Name") == "person" or "person_" in node.get("Index Name", "")
    ]
    conditions = [node.get("Index Cond") or node.get("Recheck Cond") or "" for node in read]
    assert all("realm = " in one or "id = " in one for one in conditions), conditions


async def test_groups_are_found_by_an_index(large: tuple[Database, Partner], asked: Explaining) -> None:
    page = await search(asked, large[1], "Group", count=20, filter='displayName eq "GROUP 7"')
    assert page.total == 1
    assert len(page.resources[0].members) == 20
    assert {"member_group_name", "member_group_member_pkey"} <= asked.indexes()
    assert not TABLES & asked.scans()
    member = page.resources[0].members[0].value
    asked.plans.clear()
    of_member = await search(asked, large[1], "Group", count=20, filter=f'members.value eq "{member}"')
    assert [one.display_name for one in of_member.resources] == ["Group 7"]
    assert "member_group_of_person" in asked.indexes()
    assert not TABLES & asked.scans()


async def test_a_page_without_members_reads_no_members(large: tuple[Database, Partner], asked: Explaining) -> None:
    page = await search(asked, large[1], "Group", count=20, excluded_attributes=["members"])
    assert len(page.resources) == 20
    storage = scim_rows.storage(cast("Tx", asked), large[1])
    wanted = asking("Group", attributes=["displayName"])
    await storage.get(scim_rows.TYPES["Group"], page.resources[0].id, response_parameters=wanted)
    assert not {name for name in asked.indexes() | asked.scans() if "member_group_member" in name}


async def test_both_kinds_are_searched_at_once(large: tuple[Database, Partner], asked: Explaining) -> None:
    page = await search(asked, large[1], "User", "Group", count=20, sort_by="id")
    assert page.total == 10_100
    assert {one.meta.resource_type for one in page.resources} == {"Group"}
    assert not TABLES & asked.scans()
