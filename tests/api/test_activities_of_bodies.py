"""Activities of organisations: told with the rule, found by tag, and brought up to date when the rules change."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.activities import flows as activities_flows
from almoner.nonprofits.activities import rules
from almoner.nonprofits.activities.domain import SUB_TAGS
from almoner.nonprofits.registers import flows as registers_flows
from tests.support.bmf import body, write
from tests.support.client import Client, data
from tests.support.console import act, entries, words
from tests.support.operators import operator, signed_in
from tests.support.service import Service

APRIL = datetime(2026, 4, 13, tzinfo=UTC)
PAGE = "/operator/activities"
ORCHESTRA, UNKNOWN, CHURCH, NOTHING, TWO = "871000001", "871000002", "871000003", "871000004", "871000005"
ROWS = [
    body(ORCHESTRA, "MARMOSET ENSEMBLE", NTEE_CD="A69Z"),
    body(UNKNOWN, "MARMOSET PREPARATORY", NTEE_CD="B2Z"),
    body(CHURCH, "MARMOSET TABERNACLE", FOUNDATION="10", CLASSIFICATION="7000"),
    body(NOTHING, "MARMOSET SUNDRIES", CLASSIFICATION="1000"),
    body(TWO, "MARMOSET FUND FOR LIBRARIES", NTEE_CD="B70"),
]


@pytest.fixture(scope="module", autouse=True)
async def register(service: Service, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """Bodies that these tests alone look at."""
    file: Path = write(tmp_path_factory.mktemp("register") / "eo.csv", ROWS)
    await registers_flows.import_files(service.db, IrsBmfReader(), [file], as_of=APRIL, force=True)
    yield  # noqa: PT022 (the data stay; names and numbers in them occur nowhere else)


async def found(api: Client, **query: Any) -> set[str]:
    records = data(await api.get("/v1/organisations", query="marmoset", **query))
    return {record["registryId"] for record in records}


async def one(api: Client, ein: str) -> dict[str, Any]:
    (record,) = data(await api.get("/v1/organisations", registryId=ein))
    answer: dict[str, Any] = record
    return answer


def sub_tag(service: Service, code: str) -> str:
    return service.db.deployment.ids.encode("activitysubtag", SUB_TAGS[code].id)


def tag(service: Service, code: str) -> str:
    return service.db.deployment.ids.encode("activitytag", SUB_TAGS[code].tag_id)


async def misread(service: Service, ein: str) -> None:
    """Its code was read in another way by the rules of an earlier version."""
    async with service.db.write() as tx:
        await tx.execute(
            'update organisation set tag_ids = $2, activities = \'{"LE106": "ntee:A69"}\' where id = '
            "(select id from organisation where number_key = $1)",
            ein,
            [SUB_TAGS["LE106"].id],
        )


async def test_a_record_tells_each_sub_tag_with_its_tag_and_the_rule(api: Client, service: Service) -> None:
    orchestra = await one(api, ORCHESTRA)
    assert orchestra["activitySubTags"] == [
        {
            "id": sub_tag(service, "AR306"),
            "name": "Orchestras",
            "tag": {"id": tag(service, "AR"), "name": "Arts"},
            "description": "Orchestras and symphonic music.",
            "rule": "ntee:A69",
            "createdAt": "2026-11-21T00:00:00.000Z",
            "updatedAt": "2026-11-21T00:00:00.000Z",
        }
    ]
    assert (await one(api, NOTHING))["activitySubTags"] == []

    async def rules_of(ein: str) -> dict[str, str]:
        return {sub["name"]: sub["rule"] for sub in (await one(api, ein))["activitySubTags"]}

    assert await rules_of(UNKNOWN) == {"Schools": "ntee:B2* (B2Z unknown)"}
    assert await rules_of(CHURCH) == {
        "Religion (general)": "classification:03:7",
        "Churches and places of worship": "foundation:10",
    }


async def test_tags_sub_tags_and_wider_ones_filter(publishable: Client, service: Service) -> None:
    def ids(*codes: str) -> str:
        return ",".join(sub_tag(service, code) for code in codes)

    async def with_tags(*groups: str) -> set[str]:
        return await found(publishable, **{"tags[]": list(groups)})

    assert await with_tags(ids("AR306")) == {ORCHESTRA}
    assert await with_tags(ids("AR300")) == {ORCHESTRA}  # orchestras are within the performing arts
    assert await with_tags(tag(service, "AR")) == {ORCHESTRA, TWO}
    assert await with_tags(tag(service, "AR"), tag(service, "ED")) == {TWO}
    assert await with_tags(f"{tag(service, 'RL')},{ids('ED106')}") == {CHURCH, UNKNOWN}
    assert await found(publishable, **{"notTags[]": [tag(service, "AR"), ids("RL302")]}) == {UNKNOWN, NOTHING}
    assert (await publishable.get("/v1/organisations", headers=None, **{"tags[]": "animals"})).status_code == 400


async def test_new_rules_are_applied_to_what_is_loaded_and_history_tells(api: Client, service: Service) -> None:
    """As when an earlier version had read a code in another way."""
    before = await one(api, ORCHESTRA)
    await misread(service, ORCHESTRA)
    async with service.db.read() as tx:
        events = await tx.fetchval("select count(*) from event")
    assert [sub["name"] for sub in (await one(api, ORCHESTRA))["activitySubTags"]] == ["Sports"]
    done = await activities_flows.retag_organisations(service.db, batch_size=2)
    assert (done.changed, done.organisations >= len(ROWS), done.completed_at is not None) == (1, True, True)
    after = await one(api, ORCHESTRA)
    assert after["activitySubTags"] == before["activitySubTags"]
    assert await found(api, **{"tags[]": tag(service, "AR")}) == {ORCHESTRA, TWO}
    assert await found(api, **{"tags[]": tag(service, "LE")}) == set()
    change = data(await api.get(f"/v1/organisations/{after['id']}/history"))[0]  # others tag it anew, too
    assert (change["source"], change["field"], change["from"][0]["name"], change["to"]) == (
        "activity-tags",
        "activitySubTags",
        "Sports",
        after["activitySubTags"],
    )
    assert (await activities_flows.retag_organisations(service.db)).changed == 0
    async with service.db.read() as tx:
        assert await tx.fetchval("select count(*) from event") == events  # nobody is told
        stored = await tx.fetch(
            "select organisations, changed from activity_classification_run where completed_at is not null order by id"
        )
    assert [row["changed"] for row in stored][-2:] == [1, 0]


async def test_the_console_applies_the_rules_and_suggests_sub_tags(api: Client, service: Service) -> None:
    who = await operator(service, "administrator")
    ada, rita = await signed_in(service, who), await signed_in(service, await operator(service, "reviewer"))
    await misread(service, ORCHESTRA)
    assert await act(ada, f"{PAGE}/apply") == PAGE
    assert "A background worker is applying the rules" in words(ada)
    name = service.db.deployment.ids.encode("operator", who.id)
    assert await entries(service, "activities.apply_started", name) == 1
    await service.drain()
    assert [sub["name"] for sub in (await one(api, ORCHESTRA))["activitySubTags"]] == ["Orchestras"]
    await rita.open(f"{PAGE}?name=Casper+Food+Bank&activities=We+give+food+to+families")
    assert f"rules of {rules.VERSION} Completed" in words(rita)
    assert "1 changed" in words(rita)
    assert re.search(r"Food banks [A-Za-z ]+, SW301 Score 0\.\d\d\. Reasons: like Food banks", words(rita))
    assert "Apply the rules" not in words(rita)
    await rita.open(f"{PAGE}?name=Zzyzx")
    assert "No sub-tag fits this description." in words(rita)
    for browser in (ada, rita):
        await browser.close()
