"""Countries (settled 1.1, 4, 8)."""

import pytest

from tests.support.client import Client, data


async def test_all_countries_come_in_one_answer(publishable: Client) -> None:
    answer = await publishable.get("/v1/countries")
    body = answer.json()
    assert (body["object"], body["totalResults"], len(body["data"])) == ("Country", 250, 250)
    assert body["_links"]["next"] is body["_links"]["prev"] is None
    assert body["_links"]["current"].endswith("/v1/countries")
    switzerland = next(country for country in body["data"] if country["code"] == "CHE")
    assert set(switzerland) == {"code", "name", "hasRegistry", "endonyms"}
    assert (switzerland["name"], switzerland["endonyms"]["it"]) == ("Switzerland", "Svizzera")
    assert switzerland["hasRegistry"] is False


async def test_settled_1_the_direction_holds_here_too(publishable: Client) -> None:
    asking: dict[str, dict[str, str]] = {"ASC": {"direction": "ASC"}, "DESC": {"direction": "DESC"}, "none": {}}
    codes = {
        direction: [country["code"] for country in data(await publishable.get("/v1/countries", headers=None, **asked))]
        for direction, asked in asking.items()
    }
    assert codes["ASC"] == sorted(codes["ASC"])
    assert codes["DESC"] == codes["none"] == codes["ASC"][::-1]
    assert (await publishable.get("/v1/countries", direction="UP")).status_code == 400


async def test_countries_with_a_registry(api: Client) -> None:
    have, lack = [data(await api.get("/v1/countries", hasRegistry=value)) for value in ("true", "false")]
    codes = {country["code"] for country in have}
    assert codes == {"USA", "GBR", "AUS", "CAN", "IRL", "NZL", "NLD", "FRA", "BRA", "MEX", "SGP", "ZAF", "IND", "DEU"}
    assert len(have) + len(lack) == 250
    assert all(country["hasRegistry"] for country in have)


@pytest.mark.parametrize("value", ["maybe", "2", ""])
async def test_a_bad_filter_is_named(api: Client, value: str) -> None:
    answer = await api.get("/v1/countries", hasRegistry=value)
    assert answer.status_code == 400
    assert answer.json()["error"]["reasons"] == ["query.hasRegistry must be true or false"]
