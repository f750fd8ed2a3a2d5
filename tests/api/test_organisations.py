"""Organisations: record, search, look-up by number, profile, branding, milestones (settled 1.1, 4, 8; spec 4.10)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import pytest

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.registers import flows as registers_flows
from tests.support import factories
from tests.support.bmf import bodies, body, write
from tests.support.client import Client, data
from tests.support.service import Service

APRIL = datetime(2026, 4, 13, tzinfo=UTC)
MANY = 60
CENTRAL, BRANCH, SCHOOL, LEAGUE = "530196605", "830196606", "001930017", "830196608"
ROWS = [
    body(CENTRAL, "QUILLWORT RELIEF SOCIETY", GROUP="4821", AFFILIATION="6", INCOME_CD="9", RULING="193812"),
    body(BRANCH, "QUILLWORT RELIEF SOCIETY", GROUP="4821", AFFILIATION="9", SORT_NAME="ZEPHYRINE CHAPTER"),
    body(SCHOOL, "ST TAMSINS SCHOOL", FOUNDATION="11", STREET="5 ELM ST", ZIP="82001-0000"),
    body(LEAGUE, "VERDIGRIS TRADE LEAGUE", SUBSECTION="06", DEDUCTIBILITY="2"),
    body("830196609", "VERDIGRIS CIVIC UNION", SUBSECTION="04", DEDUCTIBILITY="2"),
    *bodies(MANY, start=840_000_000, name="PETRICHOR GUILD"),
]


@pytest.fixture(scope="module", autouse=True)
async def register(service: Service, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """A register that these tests alone look at."""
    file: Path = write(tmp_path_factory.mktemp("register") / "eo.csv", ROWS)
    await registers_flows.import_files(service.db, IrsBmfReader(), [file], as_of=APRIL, force=True)
    yield  # noqa: PT022 (the data stay; names and numbers in them occur nowhere else)


async def found(api: Client, **query: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = data(await api.get("/v1/organisations", **query))
    return records


async def by_ein(api: Client, ein: str) -> dict[str, Any]:
    (record,) = await found(api, registryId=ein)
    return record


def names(records: list[dict[str, Any]]) -> list[str]:
    return [record["name"] for record in records]


async def test_a_record_has_every_member_of_settled_4(api: Client) -> None:
    record = await by_ein(api, BRANCH)
    central = await by_ein(api, CENTRAL)
    assert record["id"].startswith("sandbox_organisation_")
    assert record["registry"].startswith("sandbox_registry_")
    changing = {"id", "registry", "createdAt", "updatedAt"}
    assert {key: value for key, value in record.items() if key not in changing} == {
        "name": "QUILLWORT RELIEF SOCIETY",
        "displayName": "Quillwort Relief Society, Zephyrine Chapter",
        "description": "",
        "countryCode": "USA",
        "registryName": "IRS",
        "registryId": BRANCH,
        "types": ["nonprofit"],
        "active": True,
        "acceptsDonations": True,
        "categories": [],
        "activitySubTags": [],
        "logo": None,
        "images": [],
        "website": None,
        "websites": [],
        "address": "1 MAIN ST, LARAMIE, WY 82070-1234",
        "addressLine1": "1 MAIN ST",
        "addressLine2": None,
        "city": "LARAMIE",
        "state": "WY",
        "postcode": "82070-1234",
        "registrationDate": "2012-03-01T00:00:00.000Z",
        "currencyCode": "USD",
        "claimedAt": None,
        "isBranchParent": False,
        "branchOf": central["id"],
        "countrySpecificProperties": {"usaGroupExempt": True},
        "inactiveReason": None,
        "succeededBy": None,
        "sources": [
            {
                "registryName": "IRS",
                "registryId": BRANCH,
                "dataAsOf": "2026-04-13T00:00:00.000Z",
                "source": "irs-bmf",
                "unverified": False,
                "stale": False,
            }
        ],
    }
    assert (central["isBranchParent"], central["branchOf"]) == (True, None)
    assert central["countrySpecificProperties"] == {"usaGroupExempt": False}


async def test_get_answers_the_record_and_dates_its_data(api: Client, publishable: Client) -> None:
    record = await by_ein(api, SCHOOL)
    for client in (api, publishable):
        answer = await client.get(f"/v1/organisations/{record['id']}")
        assert answer.json() == {"data": record, "object": "organisation"}
        assert answer.headers["Data-As-Of"] == "2026-04-13"
    assert record["types"] == ["nonprofit", "education"]
    assert record["address"] == "5 ELM ST, LARAMIE, WY 82001"


@pytest.mark.parametrize(
    "spelling", ["53-0196605", "530196605", "53\u20130196605", " 53 0196605 ", "53\u00a00196605", "EIN 53-0196605"]
)
async def test_a_number_is_found_exactly_in_any_spelling(publishable: Client, api: Client, spelling: str) -> None:
    for query in ({"registryId": spelling}, {"registryID": spelling}, {"query": spelling}):
        assert [record["registryId"] for record in await found(publishable, **query)] == [CENTRAL]
    for registry in ("IRS", "irs", "Internal Revenue Service", (await by_ein(api, CENTRAL))["registry"]):
        answer = await api.get(f"/v1/organisations/USA/{registry}/{spelling}")
        assert data(answer)["registryId"] == CENTRAL
        assert answer.headers["Data-As-Of"] == "2026-04-13"


@pytest.mark.parametrize("number", ["53-0196605", "(EIN 530196605)", "530196605,"])
async def test_a_number_beside_other_words_finds_its_body_first(publishable: Client, number: str) -> None:
    for words in ("", "the charity that was called something else "):
        first = (await found(publishable, query=f"{words}{number} washington"))[0]
        assert first["registryId"] == CENTRAL


@pytest.mark.parametrize(
    "number", ["530196699", "000000000", "53019660", "\u0665\u0663\u0660\u0661\u0669\u0666\u0666\u0660\u0665"]
)
async def test_a_number_that_is_not_there_is_no_result(api: Client, number: str) -> None:
    assert await found(api, registryId=number) == []
    assert (await api.get(f"/v1/organisations/USA/IRS/{number}")).status_code == 404


async def test_the_look_up_by_number_knows_country_and_registry(api: Client, publishable: Client) -> None:
    for path in (f"GBR/IRS/{CENTRAL}", f"USA/CCEW/{CENTRAL}", f"USA/nowhere/{CENTRAL}", f"usa/IRS/{CENTRAL}"):
        assert (await api.get(f"/v1/organisations/{path}")).status_code == 404
    assert (await publishable.get(f"/v1/organisations/USA/IRS/{CENTRAL}")).status_code == 403


@pytest.mark.parametrize(
    "query",
    [
        "Quillwort Relief Society",
        "quillwort relief",
        "society quillwort",
        "QUILWORT RELEIF",
        "quillwort reli",
        "The Quillwort",
        "quillwort relief society inc",
        "quillwort relief xylqzptvk society",
    ],
)
async def test_a_name_is_found_by_its_words_in_any_order_with_slips(publishable: Client, query: str) -> None:
    records = await found(publishable, query=query)
    assert names(records)[:2] == ["QUILLWORT RELIEF SOCIETY"] * 2
    assert records[0]["registryId"] == CENTRAL  # the larger of two of one name


async def test_the_second_line_of_a_name_and_the_description_are_searched(api: Client, service: Service) -> None:
    assert [record["registryId"] for record in await found(api, query="zephyrine chapter")] == [BRANCH]
    own = await factories.nonprofit(service, name="Ombrifuge Trust")
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set description = $2, search_description = $3 where id = $1",
            tx.ids.decode("organisation", own),
            "Mends umbrellas: a brolligraphic workshop",
            "mends umbrellas a brolligraphic workshop",
        )
    assert [record["id"] for record in await found(api, query="brolligraphic workshop")] == [own]


@pytest.mark.parametrize("query", ["xylqzptvk", "!!!", "quillwort nonesuchwordhere", "' | 'x':*", "\\", "%", "_"])
async def test_what_matches_nothing_is_an_empty_list(api: Client, query: str) -> None:
    answer = await api.get("/v1/organisations", query=query)
    body_ = answer.json()
    assert (answer.status_code, body_["data"], body_["totalResults"]) == (200, [], 0)
    assert body_["exhaustiveTotalResults"] is True
    assert body_["_links"]["next"] is body_["_links"]["prev"] is None


async def test_results_explain_themselves_when_asked(api: Client) -> None:
    async def why(**query: Any) -> list[dict[str, Any]]:
        records = data(await api.get("/v1/organisations", headers={"Explain": "true"}, **query))
        return [record["explain"] for record in records]

    assert (await why(query=CENTRAL))[0]["foundBy"] == "number"
    whole = {"foundBy": "name", "likeness": 100, "asTyped": True, "notAsTyped": []}
    assert (await why(query="quillwort relief society"))[:2] == [whole, whole]
    (slipped, *_) = await why(query="quilwort relief")
    assert (slipped["asTyped"], slipped["notAsTyped"]) == (False, ["quilwort"])
    assert await why(registryId=CENTRAL) == [
        {"foundBy": "filters", "likeness": None, "asTyped": None, "notAsTyped": None}
    ]
    assert "explain" not in (await found(api, query="quillwort"))[0]


async def walk(api: Client, answer: Any, link: str = "next") -> list[dict[str, Any]]:
    """All records from an answer on."""
    seen = list(answer["data"])
    while answer["_links"][link]:
        answer = (await api.get(answer["_links"][link].removeprefix("http://localhost:8080"))).json()
        seen += answer["data"] if link == "next" else answer["data"][::-1]
    return seen


@pytest.mark.parametrize(
    "filters",
    [{"query": "petrichor guild"}, {"query": "petrichr guidl"}, {"registryName": "IRS", "query": "petrichor"}],
)
async def test_ranked_results_are_the_same_on_every_walk(api: Client, filters: dict[str, Any]) -> None:
    first = (await api.get("/v1/organisations", pageSize=7, **filters)).json()
    assert first["totalResults"] == MANY
    assert first["exhaustiveTotalResults"] is True
    forwards = await walk(api, first)
    assert len({record["id"] for record in forwards}) == len(forwards) == MANY
    assert [record["id"] for record in forwards] == [
        record["id"] for record in (await api.get("/v1/organisations", pageSize=100, **filters)).json()["data"]
    ]
    reverse = await walk(api, (await api.get("/v1/organisations", pageSize=9, direction="ASC", **filters)).json())
    assert [record["id"] for record in reverse] == [record["id"] for record in forwards[::-1]]


async def test_walking_back_shows_the_same_pages(api: Client) -> None:
    answer = (await api.get("/v1/organisations", pageSize=25, query="petrichor guild")).json()
    pages = [answer]
    while answer["_links"]["next"]:
        answer = (await api.get(answer["_links"]["next"].removeprefix("http://localhost:8080"))).json()
        pages.append(answer)
    assert [len(page["data"]) for page in pages] == [25, 25, 10]
    for expected in pages[-2::-1]:
        answer = (await api.get(answer["_links"]["prev"].removeprefix("http://localhost:8080"))).json()
        assert answer["data"] == expected["data"]
    assert answer["_links"]["prev"] is None


async def test_without_words_the_list_is_by_creation(api: Client, service: Service) -> None:
    made = [await factories.nonprofit(service) for _ in range(3)]
    assert [record["id"] for record in await found(api, pageSize=3)] == made[::-1]
    answer = (await api.get("/v1/organisations", direction="ASC", pageSize=100)).json()
    walked = await walk(api, answer)
    assert [record["id"] for record in walked] == sorted({record["id"] for record in walked})
    assert answer["totalResults"] == len(walked)


async def test_numbered_pages_for_people(api: Client) -> None:
    answer = (await api.get("/v1/organisations", query="petrichor", page=2, pageSize=25)).json()
    assert (answer["pageNumber"], answer["pageSize"], answer["totalResults"]) == (2, 25, MANY)
    numbers = {name: dict(parse_qsl(urlsplit(link).query))["page"] for name, link in answer["_links"].items()}
    assert numbers == {"current": "2", "next": "3", "prev": "1", "first": "1", "last": "3"}
    assert all("query=petrichor" in link and link.startswith("http") for link in answer["_links"].values())
    pages = [(await api.get("/v1/organisations", query="petrichor", page=page)).json() for page in (1, 2, 3, 4)]
    assert [len(page["data"]) for page in pages] == [25, 25, 10, 0]
    assert pages[1]["data"] == answer["data"]
    assert pages[0]["_links"]["prev"] is pages[2]["_links"]["next"] is None
    by_cursor = await walk(api, (await api.get("/v1/organisations", query="petrichor")).json())
    assert [record for page in pages for record in page["data"]] == by_cursor


async def test_numbered_pages_without_words(api: Client) -> None:
    first, second = [(await api.get("/v1/organisations", page=page, pageSize=5)).json() for page in (1, 2)]
    ten = (await api.get("/v1/organisations", pageSize=10)).json()
    assert first["data"] + second["data"] == ten["data"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"page": "0"}, "query.page must be a positive integer"),
        ({"page": "x"}, "query.page must be a positive integer"),
        ({"page": "-1"}, "query.page must be a positive integer"),
        ({"page": "41"}, "query.page reaches the first 1000 results only; narrow the query or use a cursor"),
        ({"page": "9" * 30}, "query.page reaches the first 1000 results only; narrow the query or use a cursor"),
        ({"query": "x" * 501}, "query.query must be at most 500 characters"),
        ({"countryCode": "US"}, "query.countryCode must be three capital letters, such as USA"),
        ({"countryCode": "usa"}, "query.countryCode"),
        ({"type[]": "charity"}, "query.type[]"),
        ({"type": "charity"}, "query.type[]"),
        ({"category": "food"}, "query.category[] must hold ids of type category"),
        ({"category[]": "food"}, "query.category[] must hold ids of type category"),
        ({"notCategory[]": "sandbox_organisation_x"}, "query.notCategory[] must hold ids of type category"),
        ({"tags[]": "food"}, "query.tags[] must hold ids of type activitytag or activitysubtag"),
        ({"query": " "}, "query.query must not be empty; leave it out to get everything"),
        ({"type": ","}, "query.type[] must not be empty; leave it out to get everything"),
        ({"registryName": "Nope"}, "query.registryName 'Nope' is the id, code or name of no registry; there are Austr"),
        (
            {"registryName": "IRS", "countryCode": "NLD"},
            "query.registryName 'IRS' is the id, code or name of no registry of NLD, which has Public benefit organisa",
        ),
        ({"active": "maybe"}, "query.active must be true or false"),
        ({"usaGroupExempt": "2"}, "query.usaGroupExempt must be true or false"),
    ],
)
async def test_bad_filters_are_named(api: Client, query: dict[str, Any], reason: str) -> None:
    answer = await api.get("/v1/organisations", **query)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "bad_request")
    assert any(found_.startswith(reason) for found_ in error["reasons"]), error["reasons"]


async def test_an_id_of_another_type_is_named(api: Client) -> None:
    error = (await api.get("/v1/organisations/sandbox_donation_01j3sc8phefk1smjrx5rzm0mbd")).json()["error"]
    assert error["code"] == "not_found"
    assert error["reasons"][0].startswith("path.id must be an ID such as sandbox_organisation_")


async def test_page_and_cursor_exclude_each_other(api: Client) -> None:
    link = (await api.get("/v1/organisations", query="petrichor")).json()["_links"]["next"]
    cursor = dict(parse_qsl(urlsplit(link).query))["cursor"]
    answer = await api.get("/v1/organisations", query="petrichor", cursor=cursor, page=2)
    assert answer.json()["error"]["reasons"] == ["query.page and query.cursor exclude each other"]
    changed = await api.get("/v1/organisations", query="petrichor", cursor=cursor, active="true")
    assert changed.json()["error"]["code"] == "pagination/cursor_error"


async def test_filters_hold_together(api: Client, service: Service) -> None:
    assert {record["registryId"] for record in await found(api, query="verdigris")} == {LEAGUE, "830196609"}
    assert names(await found(api, query="verdigris", **{"type[]": "social_impact"})) == ["VERDIGRIS CIVIC UNION"]
    assert await found(api, query="verdigris", **{"type[]": ["nonprofit", "education"]}) == []
    assert names(await found(api, query="quillwort", usaGroupExempt="true")) == ["QUILLWORT RELIEF SOCIETY"]
    assert await found(api, query="quillwort", countryCode="GBR") == []
    assert await found(api, query="quillwort", registryName="CCEW") == []
    assert len(await found(api, query="quillwort", registryName="Internal Revenue Service", countryCode="USA")) == 2
    assert await found(api, registryId=CENTRAL, registryName="IRS", active="false") == []
    assert len(await found(api, registryId=CENTRAL, registryName="IRS", active="true")) == 1
    assert names(await found(api, query="verdigris", acceptsDonations="true")) == []
    refusing = await found(api, query="verdigris", acceptsDonations="false")
    assert {(record["registryId"], record["acceptsDonations"]) for record in refusing} == {
        (LEAGUE, False),
        ("830196609", False),
    }
    assert len(await found(api, query="quillwort", acceptsDonations="true")) == 2
    gone = await factories.nonprofit(service, name="Aardwolf Fund", active=False)
    assert [record["id"] for record in await found(api, query="aardwolf", acceptsDonations="false")] == [gone]
    assert [record["id"] for record in await found(api, query="aardwolf", active="false")] == [gone]
    assert await found(api, query="aardwolf", active="true") == []


async def test_categories_filter_and_show(api: Client, other: Client) -> None:
    food, shelter = [(await factories.category(api))["id"] for _ in range(2)]
    both, one, none = [
        record["id"] for record in await found(api, query="petrichor guild", pageSize=3, direction="ASC")
    ]
    for category, organisation in ((food, both), (shelter, both), (food, one)):
        assert (await api.put(f"/v1/categories/{category}/{organisation}")).status_code == 200

    async def ids(**query: Any) -> set[str]:
        return {record["id"] for record in await found(api, query="petrichor", pageSize=100, **query)}

    assert await ids(**{"category[]": food}) == {both, one}
    assert await ids(**{"category[]": [food, shelter]}) == {both}
    assert await ids(**{"category[]": f"{food},{shelter}"}) == {both, one}
    assert await ids(**{"category[]": food, "notCategory[]": shelter}) == {one}
    assert none in await ids(**{"notCategory[]": f"{food},{shelter}"})
    assert len(await ids(**{"notCategory[]": [food, shelter]})) == MANY - 2
    assert {record["id"] for record in await found(api, **{"category[]": food})} == {both, one}
    shown = data(await api.get(f"/v1/organisations/{both}"))["categories"]
    assert [category["id"] for category in shown] == [food, shelter]
    assert shown[0] == data(await api.get(f"/v1/categories/{food}"))
    assert data(await other.get(f"/v1/organisations/{both}"))["categories"] == []
    assert await found(other, **{"category[]": food}) == []


async def test_tags_filter(api: Client, service: Service) -> None:
    tag, sub_tag = UUID(int=1), UUID(int=2)
    tagged = await factories.nonprofit(service, name="Tanglewrack Aid")
    plain = await factories.nonprofit(service, name="Tanglewrack Aid")
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set tag_ids = $2 where id = $1", tx.ids.decode("organisation", tagged), [tag, sub_tag]
        )
        one, two, unknown = [
            tx.ids.encode(type_, id_)
            for type_, id_ in (("activitytag", tag), ("activitysubtag", sub_tag), ("activitytag", UUID(int=3)))
        ]

    async def ids(**query: Any) -> set[str]:
        return {record["id"] for record in await found(api, query="tanglewrack", **query)}

    assert await ids(**{"tags[]": [one, two]}) == await ids(**{"tags[]": f"{unknown},{two}"}) == {tagged}
    assert await ids(**{"tags[]": [one, unknown]}) == set()
    assert await ids(tags=one) == await ids(tags=[one, two]) == {tagged}
    assert await ids(notTags=one) == {plain}
    assert await ids(**{"notTags[]": one}) == {plain}
    assert await ids(**{"notTags[]": unknown}) == {tagged, plain}
