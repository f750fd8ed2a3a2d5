"""Lists of validation submissions: every filter, by itself and with others (settled 1.1 and 8)."""

from typing import Any

import pytest

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import ADA, PATH, applied, configured, of_organisation, simulate
from tests.support.validation import UNHEARD_OF, requested

EARLIER = "/v1/validation-submissions-organisations"


async def found(api: Client, **query: Any) -> set[str]:
    """The names that a list shows, which is whole."""
    listed = (await api.get(PATH, **query)).json()
    assert listed["totalResults"] == len(listed["data"]), listed
    return {row["organisationName"] for row in listed["data"]}


@pytest.fixture
async def some(service: Service, api: Client) -> dict[str, dict[str, Any]]:
    """Four of them, by name."""
    plain = await configured(api, "compliance")
    accepted = await applied(api, organisationName="test_accept", firstName="test_accept")
    organisation = await factories.nonprofit(service, name="Casper Relief Fund")
    of_body = await applied(api, organisationId=organisation, configurationId=plain, email="Eve@Example.net")
    british = await applied(api, organisationName="Ålesund Choir", **UNHEARD_OF)
    request = (await requested(api, name="Zoo of Casper"))["id"]
    zoo = await applied(api, validationRequestId=request, firstName="Zed", email="zed@example.net")
    await service.drain()
    return {"accepted": accepted, "body": of_body, "british": british, "zoo": zoo}


async def test_each_filter_narrows(api: Client, some: dict[str, dict[str, Any]]) -> None:
    accepted, body, british, zoo = "test_accept", "Casper Relief Fund", "Ålesund Choir", "Zoo of Casper"
    assert await found(api) == {accepted, body, british, zoo}
    assert await found(api, **{"statuses[]": "succeeded"}) == {accepted, body}
    assert await found(api, **{"statuses[]": ["pending", "failed"]}) == {british, zoo}
    assert await found(api, **{"statuses[]": "pending,succeeded"}) == {accepted, body, british, zoo}
    assert await found(api, status="succeeded") == {accepted, body}
    assert await found(api, **{"status": "failed", "statuses[]": "succeeded"}) == {accepted, body}
    assert await found(api, **{"status": "pending", "statuses[]": "succeeded"}) == {accepted, body, british, zoo}
    configuration = some["body"]["configuration"]["id"]
    assert await found(api, **{"configurationIds[]": configuration}) == {body}
    assert await found(api, **{"configurationIds[]": [configuration, some["zoo"]["configuration"]["id"]]}) == {
        *(accepted, body, british, zoo)
    }
    organisation = data(await api.get(f"{PATH}/{some['accepted']['id']}"))["organisationId"]
    assert await found(api, **{"organisationIds[]": organisation}) == {accepted}
    assert await found(api, **{"organisationIds[]": [organisation, some["body"]["organisationId"]]}) == {accepted, body}
    assert await found(api, **{"validationRequestIds[]": some["zoo"]["validationRequestId"]}) == {zoo}
    assert await found(api, **{"countryCodes[]": "GBR"}) == {british}
    assert await found(api, **{"countryCodes[]": "GBR,USA"}) == {accepted, body, british, zoo}
    assert await found(api, email="ZED@example.NET") == {zoo}
    assert await found(api, email="eve@example.net") == {body}  # no agent of it is verified
    assert await found(api, email=ADA["email"]) == {accepted, british}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("casper", {"Casper Relief Fund", "Zoo of Casper"}),
        ("CASPER zoo", {"Zoo of Casper"}),
        ("alesund", {"Ålesund Choir"}),
        ("lief", {"Casper Relief Fund"}),
        ("of", {"Zoo of Casper"}),
        ("X6243", {"Ålesund Choir"}),
        ("85-0196605", {"test_accept", "Zoo of Casper"}),
        ("850196605", {"test_accept", "Zoo of Casper"}),
        ("5019660 zoo", {"Zoo of Casper"}),
        ("nothing like it", set()),
        ("??", set()),
    ],
)
@pytest.mark.usefixtures("some")
async def test_words_are_looked_for_in_name_and_number(api: Client, query: str, names: set[str]) -> None:
    assert await found(api, query=query) == names


async def test_a_body_is_found_by_its_names_and_its_number(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service, name="Sign of Relief")
    number = data(await api.get(f"/v1/organisations/{organisation}"))["registryId"]
    async with service.db.write() as tx:
        await tx.execute(
            "insert into organisation_branding (organisation_id, display_name) values ($1, 'Bright New Name')",
            tx.ids.decode("organisation", organisation),
        )
    plain = await configured(api, "compliance")
    await applied(api, organisationId=organisation, configurationId=plain)
    for query in ("bright", "sign relief", number, f"{number[:2]}-{number[2:]}"):
        assert await found(api, query=query) == {"Sign of Relief"}
        [one] = data(await api.get(EARLIER, query=query))["results"]
        assert one["name"] == "Sign of Relief"


async def test_what_was_accepted_is_found_by_the_name_of_its_register(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service, name="Quokka Rescue Society")
    number = data(await api.get(f"/v1/organisations/{organisation}"))["registryId"]
    alone = await configured(api, "validation_request")
    body = {"registryId": number, "organisationName": "Zebra Shelter", "configurationId": alone}
    made = await applied(api, **body)
    assert await found(api, query="zebra") == {"Zebra Shelter"}
    await service.drain()
    await simulate(api, made["validationRequestId"], "accept")
    await service.drain()
    for query in ("quokka", "zebra"):
        assert await found(api, query=query) == {"Quokka Rescue Society"}
        [one] = data(await api.get(EARLIER, query=query))["results"]
        assert one["validationSubmissionId"] == made["id"]


async def test_what_was_applied_for_before_tells_whether_there_is_more(service: Service, api: Client) -> None:
    plain, organisation = await configured(api, "compliance"), await factories.nonprofit(service)
    for count, more in ((100, False), (101, True)):
        while (await api.get(PATH)).json()["totalResults"] < count:
            await applied(api, organisationId=organisation, configurationId=plain)
        reported = data(await api.get(EARLIER))
        assert (len(reported["results"]), reported["hasMore"]) == (100, more)


@pytest.mark.parametrize("path", [PATH, "/v1/validation-requests", "/v1/monitoring-subscriptions", EARLIER])
async def test_of_many_words_every_one_must_be_there(api: Client, path: str) -> None:
    many = "alpha bravo charlie delta echoes foxtrot golfer hotel india juliet kilos"
    record = await applied(api, organisationName=f"{many} of x9", **UNHEARD_OF)
    assert record["organisationName"].startswith("alpha")

    async def count(query: str) -> int:
        reported = data(await api.get(path, query=query))
        return len(reported["results"] if path == EARLIER else reported)

    whole = await count(f"{many} x9 of of")
    assert whole == 1
    assert await count(f"{many} x9 zz") == 0  # a short one comes last, and counts
    assert await count(" ".join(f"w{number:03}" for number in range(100))) == 0


async def test_all_filters_must_hold(api: Client, some: dict[str, dict[str, Any]]) -> None:
    both = {"query": "casper", "statuses[]": "pending", "countryCodes[]": "USA", "email": "zed@example.net"}
    assert await found(api, **both) == {"Zoo of Casper"}
    assert await found(api, **both, **{"organisationIds[]": some["body"]["organisationId"]}) == set()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"statuses[]": "done"}, "query.statuses[].0 must be one of 'pending', 'processed', 'succeeded' or 'failed'"),
        ({"configurationIds[]": "x"}, "query.configurationIds[] must hold ids of type hostedconfiguration"),
        ({"organisationIds[]": "x"}, "query.organisationIds[] must hold ids of type organisation"),
        ({"validationRequestIds[]": "x"}, "query.validationRequestIds[] must hold ids of type validationrequest"),
        ({"countryCodes[]": "us"}, "query.countryCodes[].0"),
        ({"query": "x" * 501}, "query.query"),
        ({"countryCodes[]": ["USA"] * 101}, "query.countryCodes[]"),
    ],
)
async def test_filters_that_are_wrong_are_named(api: Client, query: dict[str, Any], reason: str) -> None:
    answer = await api.get(PATH, **query)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
    assert any(reported.startswith(reason) for reported in answer.json()["error"]["reasons"]), answer.text


async def test_lists_walk_both_ways_and_keep_their_filters(service: Service, api: Client) -> None:
    made = [(await of_organisation(service, api))["id"] for _ in range(5)]
    await applied(api, **UNHEARD_OF)
    for direction, expected in (("ASC", made), ("DESC", made[::-1])):
        query: dict[str, Any] = {"pageSize": "2", "direction": direction, "countryCodes[]": "USA"}
        page = (await api.get(PATH, **query)).json()
        seen = [row["id"] for row in page["data"]]
        while page["_links"]["next"]:
            page = (await api.get(page["_links"]["next"])).json()
            assert page["totalResults"] == 5
            seen += [row["id"] for row in page["data"]]
        assert seen == expected


async def test_p5_cursors_stay_with_their_filters(service: Service, api: Client, other: Client) -> None:
    for _ in range(2):
        await of_organisation(service, api)
    link = (await api.get(PATH, pageSize="1")).json()["_links"]["next"]
    for refused in (await other.get(link), await api.get(f"{link}&statuses[]=pending")):
        assert refused.json()["error"]["code"] == "pagination/cursor_error"
