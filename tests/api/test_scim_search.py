"""SCIM lists: filter, sort, both pagings, projection, search by POST (RFC 7644 3.4, RFC 9865)."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.scim import ENTERPRISE, LIST, SEARCH, USER, ScimClient, found, refused, shown

PEOPLE: Sequence[dict[str, Any]] = (
    {
        "userName": "Ada@Example.org",
        "externalId": "Ext-1",
        "name": {"givenName": "Ada", "familyName": "Byron"},
        "title": "100% sure",
        "active": True,
        "emails": [
            {"value": "ada@work.example", "type": "work", "primary": True},
            {"value": "ada@home.example", "type": "home"},
        ],
        ENTERPRISE: {"department": "Engines", "manager": {"value": "m-1"}},
    },
    {
        "userName": "grace@example.org",
        "externalId": "ext-2",
        "name": {"givenName": "Grace", "familyName": "Hopper"},
        "title": "under_score",
        "active": False,
        "emails": [{"value": "grace@home.example", "type": "home"}],
    },
    {"userName": "linus", "name": {"familyName": "byron"}, "title": 'back\\slash "quoted"'},
    {"userName": "zoé", "active": True},
)
ADA, GRACE, LINUS, ZOE = (one["userName"] for one in PEOPLE)


@pytest.fixture
async def people(scim: ScimClient) -> list[dict[str, Any]]:
    """The four, made in this order."""
    return [await scim.new_user(one["userName"], **{**one, "schemas": [USER, ENTERPRISE]}) for one in PEOPLE]


FILTERS: dict[str, list[str]] = {
    'userName eq "ada@example.org"': [ADA],
    'USERNAME EQ "ADA@EXAMPLE.ORG"': [ADA],
    'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "linus"': [LINUS],
    'userName ne "linus"': [ADA, GRACE, ZOE],
    'userName co "EXAMPLE"': [ADA, GRACE],
    'userName sw "gr"': [GRACE],
    'userName ew ".ORG"': [ADA, GRACE],
    'userName gt "h"': [LINUS, ZOE],
    'userName le "grace@example.org"': [ADA, GRACE],
    'externalId eq "Ext-1"': [ADA],
    'externalId eq "ext-1"': [],
    "externalId pr": [ADA, GRACE],
    "not (externalId pr)": [LINUS, ZOE],
    "active eq true": [ADA, LINUS, ZOE],
    "active eq false": [GRACE],
    "active eq false and title pr": [GRACE],
    'userName eq "linus" or userName eq "zoé"': [LINUS, ZOE],
    'userName eq "linus" or userName eq "zoé" and active eq false': [LINUS],
    '(userName eq "linus" or userName eq "zoé") and title pr': [LINUS],
    'name.familyName eq "BYRON"': [ADA, LINUS],
    'emails eq "ada@home.example"': [ADA],
    'emails.value co "@home."': [ADA, GRACE],
    'emails.type eq "home"': [ADA, GRACE],
    'emails[type eq "work"]': [ADA],
    'emails[type eq "work" and value co "home"]': [],
    'emails[type eq "home" and not (primary eq true)]': [ADA, GRACE],
    "emails pr": [ADA, GRACE],
    'title co "%"': [ADA],
    'title co "_"': [GRACE],
    'title co "\\\\"': [LINUS],
    'title co "\\"quoted"': [LINUS],
    'title eq "100_ sure"': [],
    f'{ENTERPRISE}:department eq "engines"': [ADA],
    f'{ENTERPRISE}:manager.value eq "m-1"': [ADA],
    f"{ENTERPRISE}:department pr": [ADA],
    'meta.resourceType eq "User"': [ADA, GRACE, LINUS, ZOE],
    'meta.created gt "2011-05-13T04:42:34Z"': [ADA, GRACE, LINUS, ZOE],
    'meta.lastModified lt "2011-05-13T04:42:34Z"': [],
    'id eq "unknown"': [],
    'userName eq "nobody"': [],
    "title eq null": [ZOE],
    "groups pr": [],
}


@pytest.mark.parametrize(("filter_", "expected"), FILTERS.items(), ids=FILTERS.keys())
async def test_filters(scim: ScimClient, people: object, filter_: str, expected: list[str]) -> None:
    answer = shown(await scim.get("/Users", filter_=filter_))
    assert sorted(one["userName"] for one in answer.get("Resources", [])) == sorted(expected)
    assert answer["totalResults"] == len(expected)
    posted = shown(await scim.post("/Users/.search", {"schemas": [SEARCH], "filter": filter_}))
    assert posted["totalResults"] == len(expected)


@pytest.mark.parametrize(
    "filter_", ["userName", "userName is 1", "nobody eq 1", "userName eq", 'userName eq "a" and', "emails[type eq", ""]
)
async def test_wrong_filters(scim: ScimClient, filter_: str) -> None:
    refused(await scim.get("/Users", filter_=filter_), 400, "invalidFilter")


async def test_nobody_is_an_empty_list(scim: ScimClient) -> None:
    """Okta and Entra ask so before each create: 200, never 404."""
    answer = shown(await scim.get("/Users", filter_='userName eq "nobody@example.org"'))
    assert answer == {"schemas": [LIST], "totalResults": 0, "itemsPerPage": 0, "startIndex": 1, "Resources": []}


SORTS = {
    "userName": [ADA, GRACE, LINUS, ZOE],
    "name.givenName": [ADA, GRACE, LINUS, ZOE],
    "externalId": [ADA, GRACE, LINUS, ZOE],
    "emails": [ADA, GRACE, LINUS, ZOE],
    f"{ENTERPRISE}:department": [ADA, GRACE, LINUS, ZOE],
    "meta.created": [ADA, GRACE, LINUS, ZOE],
}


@pytest.mark.parametrize("by", SORTS)
async def test_sorting(scim: ScimClient, people: object, by: str) -> None:
    """Without regard to case; who has no value comes last when ascending, first when descending."""
    missing = {"name.givenName": 2, "externalId": 2, "emails": 2, f"{ENTERPRISE}:department": 3}.get(by, 0)
    ascending = await scim.names(sortBy=by)
    assert ascending == await scim.names(sortBy=by, sortOrder="ascending")
    assert ascending[: 4 - missing] == SORTS[by][: 4 - missing]
    descending = await scim.names(sortBy=by, sortOrder="descending")
    assert descending[missing:] == SORTS[by][: 4 - missing][::-1]
    assert sorted(descending) == sorted(ascending) == sorted(SORTS[by])


async def test_paging_by_index(scim: ScimClient, people: object) -> None:
    everybody = await scim.names()
    page = shown(await scim.get("/Users", startIndex=2, count=2))
    assert [one["userName"] for one in page["Resources"]] == everybody[1:3]
    assert (page["totalResults"], page["startIndex"], page["itemsPerPage"]) == (4, 2, 2)
    assert await scim.names(startIndex=0, count=1) == await scim.names(startIndex=-5, count=1) == everybody[:1]
    questions: list[dict[str, Any]] = [{"count": 0}, {"count": -3}, {"startIndex": 5}]
    for query in questions:
        nothing = shown(await scim.get("/Users", **query))
        assert (nothing["totalResults"], nothing["itemsPerPage"], nothing["Resources"]) == (4, 0, [])
    assert await scim.names(count=100_000) == everybody
    assert await scim.names(filter_="emails pr", startIndex=2, count=5, sortBy="userName") == [GRACE]


async def test_what_okta_asks_to_test_a_connection(scim: ScimClient, people: object) -> None:
    page = shown(await scim.get("/Users", startIndex=1, count=2))
    assert (page["totalResults"], page["itemsPerPage"], page["startIndex"]) == (4, 2, 1)
    assert shown(await scim.get("/Groups", startIndex=1, count=100))["totalResults"] == 0


async def walk(scim: ScimClient, change: Any = None, **query: Any) -> list[str]:
    """All names by cursors; ``change`` is done after the first page."""
    names: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = shown(await scim.get("/Users", cursor=cursor, **query))
        assert "startIndex" not in page
        names += [one["userName"] for one in page.get("Resources", [])]
        cursor = page.get("nextCursor")
        if change is not None:
            await change()
            change = None
    return names


@pytest.mark.parametrize("order", ["ascending", "descending"])
@pytest.mark.parametrize("by", [None, "userName", "name.familyName", "title", "meta.created", "active"])
async def test_paging_by_cursor(scim: ScimClient, people: object, by: str | None, order: str) -> None:
    query = {"count": 1, **({"sortBy": by, "sortOrder": order} if by else {})}
    assert await walk(scim, **query) == await scim.names(**{**query, "count": 10})


async def test_cursors_give_each_once_while_others_come_and_go(scim: ScimClient, people: list[dict[str, Any]]) -> None:
    async def change() -> None:
        await scim.delete(f"/Users/{people[0]['id']}")
        for number in range(5):
            await scim.new_user(f"a-{number}")

    seen = await walk(scim, change, count=2, sortBy="userName")
    stayed = [GRACE, LINUS, ZOE]
    assert [name for name in seen if name in stayed] == stayed
    assert len(seen) == len(set(seen))


async def test_cursors_go_back(scim: ScimClient, people: object) -> None:
    everybody = await scim.names(sortBy="userName")
    first = shown(await scim.get("/Users", cursor="", count=2, sortBy="userName"))
    assert "previousCursor" not in first
    second = shown(await scim.get("/Users", cursor=first["nextCursor"], count=2, sortBy="userName"))
    assert [one["userName"] for one in second["Resources"]] == everybody[2:]
    assert "nextCursor" not in second
    back = shown(await scim.get("/Users", cursor=second["previousCursor"], count=2, sortBy="userName"))
    assert back["Resources"] == first["Resources"]


async def test_cursors_belong_to_one_question_and_one_partner(
    scim: ScimClient, foreign_scim: ScimClient, people: object
) -> None:
    for _ in range(3):
        await foreign_scim.new_user()
    cursor = shown(await scim.get("/Users", cursor="", count=2))["nextCursor"]
    refused(await foreign_scim.get("/Users", cursor=cursor, count=2), 400, "invalidCursor")
    refused(await scim.get("/Users", cursor=cursor, count=2, filter_="title pr"), 400, "invalidCursor")
    refused(await scim.get("/Groups", cursor=cursor, count=2), 400, "invalidCursor")
    refused(await scim.get("/Users", cursor=cursor, count=3), 400, "invalidCount")
    changed = cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB")
    refused(await scim.get("/Users", cursor=changed, count=2), 400, "invalidCursor")
    refused(await scim.get("/Users", cursor=cursor, startIndex=1, count=2), 400, "invalidValue")


async def test_groups_are_searched_too(scim: ScimClient, people: list[dict[str, Any]]) -> None:
    ada, grace = people[0]["id"], people[1]["id"]
    one, two = await scim.new_group("Builders", ada, grace), await scim.new_group("Writers", grace, externalId="w")

    async def ids(filter_: str) -> set[str]:
        return {group["id"] for group in found(await scim.get("/Groups", filter_=filter_))}

    assert await ids('displayName eq "BUILDERS"') == {one["id"]}
    assert await ids('externalId eq "w"') == {two["id"]}
    assert await ids(f'members eq "{grace}"') == {one["id"], two["id"]}
    assert await ids(f'members.value eq "{ada}"') == {one["id"]}
    assert await ids(f'id eq "{one["id"]}" and members[value eq "{ada}"]') == {one["id"]}
    assert await ids(f'id eq "{two["id"]}" and members eq "{ada}"') == set()
    assert await scim.names(filter_=f'groups.value eq "{one["id"]}"', sortBy="userName") == [ADA, GRACE]
    assert await scim.names(filter_="groups pr and active eq false") == [GRACE]
    listed = found(await scim.get("/Groups", excludedAttributes="members"))
    assert all("members" not in group for group in listed)
    names = [
        group["displayName"] for group in found(await scim.get("/Groups", sortBy="displayName", sortOrder="descending"))
    ]
    assert names == ["Writers", "Builders"]


async def test_the_root_is_searched(scim: ScimClient, people: list[dict[str, Any]]) -> None:
    team = await scim.new_group("Team", people[0]["id"])
    everything = shown(await scim.get("/"))
    assert everything["totalResults"] == 5
    assert {one["meta"]["resourceType"] for one in everything["Resources"]} == {"User", "Group"}
    body = {"schemas": [SEARCH], "filter": 'displayName eq "team"', "attributes": ["displayName"], "count": 5}
    assert found(await scim.post("/.search", body)) == [
        {"schemas": team["schemas"], "id": team["id"], "displayName": "Team"}
    ]
    groups = await scim.get("/", filter_='meta.resourceType eq "Group"')
    assert [one["id"] for one in found(groups)] == [team["id"]]


async def test_a_search_by_post(scim: ScimClient, people: object) -> None:
    body = {
        "schemas": [SEARCH],
        "filter": "active eq true",
        "sortBy": "userName",
        "sortOrder": "descending",
        "startIndex": 2,
        "count": 1,
        "attributes": ["userName", "emails.value"],
    }
    answer = shown(await scim.post("/Users/.search", body))
    assert (answer["totalResults"], answer["startIndex"], answer["itemsPerPage"]) == (3, 2, 1)
    assert [set(one) for one in answer["Resources"]] == [{"schemas", "id", "userName"}]
    assert answer["Resources"][0]["userName"] == LINUS
    left = found(await scim.post("/Users/.search", {"schemas": [SEARCH], "excludedAttributes": ["title", "name"]}))
    assert not any({"title", "name"} & set(one) for one in left)
    refused(await scim.post("/Users/.search", {"schemas": [SEARCH], "count": "x"}), 400, "invalidValue")
