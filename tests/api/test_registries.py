"""Registries (settled 4, 8): all of the reference's table, loaded or not."""

from tests.support.client import Client, data
from tests.support.service import Service


async def test_the_registries_of_a_country_come_in_one_answer(publishable: Client) -> None:
    body = (await publishable.get("/v1/registries", countryCode="GBR")).json()
    assert (body["object"], body["totalResults"]) == ("Registry", 4)
    assert [registry["code"] for registry in body["data"]] == ["OSCR", "HMRC", "CCNI", "CCEW"]
    ascending = data(await publishable.get("/v1/registries", countryCode="GBR", direction="ASC"))
    assert ascending == body["data"][::-1]
    hmrc = next(registry for registry in ascending if registry["code"] == "HMRC")  # no file is read into it
    assert set(hmrc) == {"id", "name", "englishName", "code", "countryCode", "dataAsOf", "unverified", "sources"}
    assert (hmrc["countryCode"], hmrc["dataAsOf"], hmrc["unverified"], hmrc["sources"]) == ("GBR", None, None, [])
    assert hmrc["englishName"] == "HM Revenue and Customs"


async def test_a_registry_is_answered_by_its_id(api: Client) -> None:
    (listed,) = data(await api.get("/v1/registries", countryCode="DEU"))
    answer = await api.get(f"/v1/registries/{listed['id']}")
    assert answer.json() == {"data": listed, "object": "Registry"}
    assert listed["name"] == "Zuwendungsempfängerregister"


async def test_a_country_without_registry_has_none_and_the_country_is_required(api: Client) -> None:
    assert data(await api.get("/v1/registries", countryCode="CHE")) == []
    missing = await api.get("/v1/registries")
    assert missing.json()["error"]["reasons"] == ["query.countryCode is required"]
    assert (await api.get("/v1/registries", countryCode="de")).status_code == 400


async def test_an_unknown_registry_is_404(api: Client) -> None:
    for id_ in ("x", "sandbox_registry_00000000000000000000000000", "registry_00000000000000000000000000"):
        assert (await api.get(f"/v1/registries/{id_}")).status_code == 404


async def test_a_registry_tells_which_files_list_it_and_whether_any_was_tried(service: Service, api: Client) -> None:
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into register_source (code, registry_id, lists_organisations, unverified, data_as_of)
            select code || kind, id, kind <> 'dgr', kind <> 'good', '2026-04-13'
            from registry cross join unnest(array['good', 'doubtful', 'dgr']) kind
            where code = 'FCRA' or (code = 'COC' and kind <> 'good')
            on conflict do nothing
            """
        )
    (tried,) = data(await api.get("/v1/registries", countryCode="IND"))
    assert tried["unverified"] is False
    assert [source["source"] for source in tried["sources"]] == ["FCRAdoubtful", "FCRAgood"]
    assert tried["sources"][0] == {
        "source": "FCRAdoubtful",
        "unverified": True,
        "dataAsOf": "2026-04-13T00:00:00.000Z",
    }
    (untried,) = data(await api.get("/v1/registries", countryCode="SGP"))
    assert untried["unverified"] is True
    assert data(await api.get(f"/v1/registries/{untried['id']}")) == untried
