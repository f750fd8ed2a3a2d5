"""Idempotency keys as a partner meets them (spec 8, settled 8; I2-I5, I7, I8)."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.kit.ids import RecordIdCodec
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Partner
from almoner.platform.idempotency import build_claim
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

PARTNER = Partner(UUID(int=1))
VAULT = Vault(bytes(32))


async def test_i2_a_replay_is_byte_equal_and_says_so(api: Client) -> None:
    first = await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k")
    again = await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k")
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert (await api.get("/v1/categories")).json()["totalResults"] == 1


@pytest.mark.parametrize("number", ["NaN", "1e999"])
async def test_i2_a_number_that_is_none_is_refused_with_a_key_too(api: Client, number: str) -> None:
    named = RecordIdCodec(sandbox=True).example_id("monitoringsubscription")
    body = f'{{"id": "{named}", "action": "set_results", "results": {{"unread": {number}}}}}'.encode()
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    reported = [await api.request("POST", "/v1/sandbox/simulate", content=body, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in reported] == [400, 400]
    assert reported[0].json()["error"]["reasons"] == ["body.results.unread is not a member of this call"]


async def test_i3_order_and_spacing_do_not_matter(api: Client) -> None:
    first = await api.post("/v1/categories", {"name": "Water", "attributes": {"a": 1, "b": 2}}, idempotency_key="k")
    again = await api.request(
        "POST",
        "/v1/categories",
        content=b'{ "attributes" : {"b":2,  "a":1},\n"name":"Water"}',
        headers={"Idempotency-Key": "k", "Content-Type": "application/json; charset=utf-8"},
    )
    assert first.content == again.content


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def fingerprint(payload: Any, route: str = "POST /v1/categories") -> bytes:
    """Of one call."""
    return build_claim(VAULT, PARTNER, "k", route, payload).fingerprint


@given(JSON, JSON)
def test_i3_equal_fingerprints_are_equal_payloads(left: Any, right: Any) -> None:
    import json

    same = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    assert (fingerprint(left) == fingerprint(right)) is same


def test_i3_value_types_matter() -> None:
    assert len({fingerprint({"a": value}) for value in (1, 1.5, "1", True, None, [1], {"1": 1})}) == 7


async def test_other_data_and_other_routes_are_refused(api: Client) -> None:
    category = data(await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k"))
    other_data = await api.post("/v1/categories", {"name": "Soil"}, idempotency_key="k")
    assert (other_data.status_code, other_data.json()["error"]["code"]) == (400, "idempotency/same_key_different_data")
    image = f"/v1/categories/{category['id']}/image"
    files = {"image": ("x.png", b"x", "image/png")}
    other_route = await api.request("POST", image, files=files, headers={"Idempotency-Key": "k"})
    assert (other_route.status_code, other_route.json()["error"]["code"]) == (400, "idempotency/key_already_in_use")


@pytest.mark.parametrize("body", [{"name": ""}, {}, {"name": "Water", "attributes": 7}])
async def test_a_used_key_is_told_before_a_bad_body(api: Client, body: dict[str, Any]) -> None:
    """The order of checks of settled 3: the key, then the body."""
    assert (await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k")).status_code == 200
    reported = await api.post("/v1/categories", body, idempotency_key="k")
    assert reported.json()["error"]["code"] == "idempotency/same_key_different_data"
    elsewhere = await api.post("/v1/webhook-subscriptions", body, idempotency_key="k")
    assert elsewhere.json()["error"]["code"] == "idempotency/key_already_in_use"
    free = await api.post("/v1/categories", body, idempotency_key="free")
    assert free.json()["error"]["code"] == "bad_request"
    sent = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    unread = await api.request("POST", "/v1/categories", content=b"{", headers=sent)
    assert unread.json()["error"]["code"] == "idempotency/same_key_different_data"


async def test_a_used_key_is_told_before_what_one_statement_refuses(service: Service, api: Client) -> None:
    organisation = (await factories.session(service, api))["organisationId"]
    change = {"organisationId": organisation}
    assert (await api.post("/v1/donation-sessions", change, idempotency_key="k")).status_code == 200
    for body in ({"organisationId": "x"}, {**change, "userId": "x"}, {**change, "metadata": {"k" * 41: ""}}):
        reported = await api.post("/v1/donation-sessions", body, idempotency_key="k")
        assert reported.json()["error"]["code"] == "idempotency/same_key_different_data"
    again = await api.post("/v1/donation-sessions", {"organisationId": "x"}, idempotency_key="free")
    assert again.json()["error"]["code"] == "donation_session/organisation_not_found"


async def test_i4_keys_belong_to_one_partner(api: Client, other: Client) -> None:
    mine = data(await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k"))
    theirs = data(await other.post("/v1/categories", {"name": "Soil"}, idempotency_key="k"))
    assert mine["id"] != theirs["id"]


async def test_i5_a_failure_leaves_the_key_free(api: Client) -> None:
    await api.post("/v1/categories", {"name": "Water"})
    assert (await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k")).status_code == 400
    assert (await api.post("/v1/categories", {}, idempotency_key="k")).status_code == 400
    assert (await api.post("/v1/categories", {"name": "Soil"}, idempotency_key="k")).status_code == 200


async def test_i7_a_key_lives_21_days(service: Service, api: Client) -> None:
    first = await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k")
    service.clock.advance(timedelta(days=21) - timedelta(milliseconds=1))
    assert (await api.post("/v1/categories", {"name": "Water"}, idempotency_key="k")).content == first.content
    service.clock.advance(milliseconds=1)
    late = await api.post("/v1/categories", {"name": "Later"}, idempotency_key="k")
    assert data(late)["name"] == "Later"
    assert (await api.post("/v1/categories", {"name": "Later"}, idempotency_key="k")).content == late.content


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "ключ", "tab\t"])
async def test_i8_other_keys_are_refused(api: Client, key: str) -> None:
    headers = {"Idempotency-Key": key.encode()}
    answer = await api.request("POST", "/v1/categories", json={"name": "x"}, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["reasons"] == ["header.Idempotency-Key must be 1 to 255 visible ASCII characters"]


async def test_i8_two_keys_are_refused_instead_of_one_being_chosen(api: Client) -> None:
    headers = [("Idempotency-Key", "a"), ("Content-Type", "application/json"), ("Idempotency-Key", "b")]
    answer = await api.request("POST", "/v1/categories", content=b'{"name": "x"}', headers=headers)
    assert answer.json()["error"]["reasons"] == ["header.Idempotency-Key must be 1 to 255 visible ASCII characters"]


async def test_i8_answers_and_keys_are_not_readable_in_the_database(service: Service, api: Client) -> None:
    await api.post("/v1/categories", {"name": "Readable-name"}, idempotency_key="readable-key")
    async with service.db.read() as tx:
        rows = await tx.fetch("select a::text as row, encode(response, 'escape') as answer from idempotency_response a")
    assert rows
    for row in rows:
        assert "Readable-name" not in row["answer"]
        assert "readable-key" not in row["row"]


async def test_an_upload_replays_too(api: Client) -> None:
    from tests.api.test_categories import picture

    image = f"/v1/categories/{data(await api.post('/v1/categories', {'name': 'Water'}))['id']}/image"
    headers = {"Idempotency-Key": "up"}
    files = {"image": ("x.jpg", picture(), "image/jpeg")}
    first = await api.request("POST", image, files=files, headers=headers)
    again = await api.request("POST", image, files=files, headers=headers)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["idempotent-replayed"] == "true"
