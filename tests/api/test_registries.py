"""Registries (settled 4, 8): all of the reference's table, loaded or not."""

from tests.support.client import Client, data


async def test_the_registries_of_a_country_come_in_one_answer(publishable: Client) -> None:
    body = (await publishable.get("/v1/registries", countryCode="GBR")).json()
    assert (body["object"], body["totalResults"]) == ("Registry", 4)
    assert [registry["code"] for registry in body["data"]] == ["CCEW", "CCNI", "HMRC", "OSCR"]
    first = body["data"][0]
    assert set(first) == {"id", "name", "englishName", "code", "countryCode", "dataAsOf"}
    assert (first["countryCode"], first["dataAsOf"]) == ("GBR", None)
    assert first["englishName"] == "Charity Commission for England and Wales"


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
