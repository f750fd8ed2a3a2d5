"""Idempotency keys under concurrency and repetition (I1-I5, I7, I8; spec 8, settled 8)."""

import asyncio
import json
import random
from collections import Counter
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import card_numbers
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.figures import Figures
from tests.support.hostile_files import JPEG, picture
from tests.support.service import Service
from tests.support.validation import requested

WAYS = 64
IN_PROGRESS = "idempotency/original_call_in_progress"
DIFFERENT = "idempotency/same_key_different_data"
IN_USE = "idempotency/key_already_in_use"
WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"

_numbers = iter(range(10**9))


def unique(text: str) -> str:
    """A name or key that no other test uses."""
    return f"{text}-{next(_numbers)}"


def code(answer: httpx.Response) -> str:
    """The error code."""
    return str(answer.json()["error"]["code"])


async def total(api: Client) -> int:
    """How many categories the partner has."""
    return int((await api.get("/v1/categories", pageSize=1)).json()["totalResults"])


@pytest.mark.soak
async def test_i1_equal_calls_at_once_have_one_effect(api: Client, figures: Figures) -> None:
    rounds = figures.count(20, 1000)
    seen: Counter[str] = Counter()
    for number in range(rounds):
        key, body = unique("i1"), {"name": unique("category")}
        answers = await asyncio.gather(*(api.post("/v1/categories", body, idempotency_key=key) for _ in range(WAYS)))
        firsts = [
            answer for answer in answers if answer.status_code == 200 and "idempotent-replayed" not in answer.headers
        ]
        replays = [answer for answer in answers if answer.headers.get("idempotent-replayed") == "true"]
        refused = [answer for answer in answers if answer.status_code != 200]
        assert len(firsts) == 1
        assert {answer.content for answer in replays} <= {firsts[0].content}
        assert {(answer.status_code, code(answer)) for answer in refused} <= {(400, IN_PROGRESS)}
        assert await total(api) == number + 1
        seen.update(first=1, replayed=len(replays), in_progress=len(refused))
    figures.write(
        "idempotency",
        f"{WAYS} equal calls at once (I1)",
        f"{rounds} rounds of {WAYS} equal calls with one key: {seen['first']} effects, 0 doubled",
        f"{seen['replayed']} answers replayed byte for byte, {seen['in_progress']} told that the first still runs",
    )


@pytest.mark.soak
async def test_i1_calls_with_other_data_at_once_never_double_and_are_told(api: Client, figures: Figures) -> None:
    for number in range(figures.count(5, 200)):
        key = unique("i1")
        organisations = [{"name": unique("category")} for _ in range(16)]
        answers = await asyncio.gather(
            *(api.post("/v1/categories", body, idempotency_key=key) for body in organisations)
        )
        assert sum(answer.status_code == 200 for answer in answers) == 1
        assert {code(answer) for answer in answers if answer.status_code != 200} <= {IN_PROGRESS, DIFFERENT}
        assert await total(api) == number + 1


async def test_i2_a_replay_is_byte_equal_and_says_so(api: Client) -> None:
    key, body = unique("i2"), {"name": unique("category"), "attributes": {"b": 1, "a": "ü"}}
    first = await api.post("/v1/categories", body, idempotency_key=key)
    again = await api.post("/v1/categories", body, idempotency_key=key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["content-type"] == first.headers["content-type"]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert await total(api) == 1


async def test_i2_the_replay_shows_the_first_answer_also_after_a_change(api: Client) -> None:
    key, body = unique("i2"), {"name": unique("category")}
    first = await api.post("/v1/categories", body, idempotency_key=key)
    data(await api.patch(f"/v1/categories/{data(first)['id']}", {"name": unique("renamed")}))
    assert (await api.post("/v1/categories", body, idempotency_key=key)).content == first.content


# Hypothesis draws from the constants of our own code too, the test provider's cards among them (H5).
words = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=20).filter(
    lambda text: not card_numbers.found_in(text)
)
whole = st.integers(1 - 2**53, 2**53 - 1).filter(lambda number: not card_numbers.found_in(str(number)))
json_values = st.booleans() | whole | words
attributes = st.dictionaries(words, json_values, min_size=2, max_size=6)
drawn = settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])


@drawn
@given(values=attributes, seed=st.randoms())
async def test_i3_key_order_and_spacing_do_not_matter(api: Client, values: dict[str, Any], seed: random.Random) -> None:
    key, name = unique("i3"), unique("category")
    first = await api.post("/v1/categories", {"name": name, "attributes": values}, idempotency_key=key)
    assert first.status_code == 200, first.text
    shuffled = list(values.items())
    seed.shuffle(shuffled)
    raw = json.dumps(
        {"attributes": dict(shuffled), "name": name},
        indent=seed.choice([None, 1, 3]),
        ensure_ascii=seed.choice([True, False]),
    )
    again = await api.request(
        "POST",
        "/v1/categories",
        content=raw.encode(),
        headers={"Idempotency-Key": key, "Content-Type": "application/json"},
    )
    assert again.content == first.content


@drawn
@given(values=attributes, change=st.data())
async def test_i3_every_changed_value_is_told(api: Client, values: dict[str, Any], change: st.DataObject) -> None:
    key, name = unique("i3"), unique("category")
    assert (
        await api.post("/v1/categories", {"name": name, "attributes": values}, idempotency_key=key)
    ).status_code == 200
    field = change.draw(st.sampled_from(sorted(values)))
    other = change.draw(json_values.filter(lambda value: json.dumps(value) != json.dumps(values[field])))
    answer = await api.post(
        "/v1/categories", {"name": name, "attributes": {**values, field: other}}, idempotency_key=key
    )
    assert (answer.status_code, code(answer)) == (400, DIFFERENT)


async def test_i3_value_types_matter(api: Client) -> None:
    key, name = unique("i3"), unique("category")
    await api.post("/v1/categories", {"name": name, "attributes": {"n": 1}}, idempotency_key=key)
    for other in ("1", True, 1.5, None):
        body = {"name": name, "attributes": {"n": other} if other is not None else None}
        assert code(await api.post("/v1/categories", body, idempotency_key=key)) == DIFFERENT


async def test_i4_a_key_belongs_to_one_partner_and_one_route(api: Client, other: Client) -> None:
    key, body = unique("i4"), {"name": unique("category")}
    first = data(await api.post("/v1/categories", body, idempotency_key=key))
    theirs = await other.post("/v1/categories", body, idempotency_key=key)
    assert data(theirs)["id"] != first["id"]
    image = await api.request(
        "POST",
        f"/v1/categories/{first['id']}/image",
        files={"image": ("a.png", b"x", "image/png")},
        headers={"Idempotency-Key": key},
    )
    assert code(image) in {IN_USE, "upload/filetype_not_supported", "upload/content_type_error"}
    answer = await api.post("/v1/users", {}, idempotency_key=key)
    assert (answer.status_code, code(answer)) == (400, IN_USE)


async def test_i5_failures_leave_the_key_free(api: Client, service: Service, tenant: Any) -> None:
    key, name = unique("i5"), unique("category")
    data(await api.post("/v1/categories", {"name": name}))
    assert code(await api.post("/v1/categories", {"name": name}, idempotency_key=key)) == "category/name_taken"
    assert code(await api.post("/v1/categories", {"name": 5}, idempotency_key=key)) == "bad_request"
    weak = service.client(await service.key(tenant.partner, "secret", "users:read"))
    assert (await weak.post("/v1/categories", {"name": name}, idempotency_key=key)).status_code == 403
    answer = await api.post("/v1/categories", {"name": unique("free")}, idempotency_key=key)
    assert answer.status_code == 200
    assert "idempotent-replayed" not in answer.headers


async def test_i7_a_key_lives_exactly_21_days(api: Client, service: Service) -> None:
    key, body = unique("i7"), {"name": unique("category")}
    first = await api.post("/v1/categories", body, idempotency_key=key)
    service.clock.advance(days=21, milliseconds=-1)
    assert (await api.post("/v1/categories", body, idempotency_key=key)).content == first.content
    service.clock.advance(milliseconds=1)
    assert code(await api.post("/v1/categories", body, idempotency_key=key)) == "category/name_taken"
    anew = await api.post("/v1/categories", {"name": unique("category")}, idempotency_key=key)
    assert anew.status_code == 200
    assert "idempotent-replayed" not in anew.headers


@pytest.mark.parametrize("key", ["x", "x" * 255, "!~", '{"a":"b"}'])
async def test_i8_keys_of_visible_ascii_are_taken(key: str, api: Client) -> None:
    body = {"name": unique("category")}
    first = await api.post("/v1/categories", body, idempotency_key=key)
    assert first.status_code == 200
    assert (await api.post("/v1/categories", body, idempotency_key=key)).content == first.content


@pytest.mark.parametrize("key", [b"", b"x" * 256, b"a b", b"\xc3\xa9", b"a\tb", b"\x7f"])
async def test_i8_other_keys_are_refused_and_nothing_happens(key: bytes, api: Client) -> None:
    headers = {b"Idempotency-Key": key, b"Content-Type": b"application/json"}
    answer = await api.request("POST", "/v1/categories", content=b'{"name": "x"}', headers=headers)
    assert (answer.status_code, code(answer)) == (400, "bad_request")
    assert any("header.Idempotency-Key" in reason for reason in answer.json()["error"]["reasons"])
    assert await total(api) == 0


async def test_i8_stored_answers_cannot_be_read_from_the_database(api: Client, service: Service) -> None:
    name = unique("canary-category")
    data(await api.post("/v1/categories", {"name": name}, idempotency_key=unique("canary-key")))
    async with service.db.read() as tx:
        rows = await tx.fetch("select key_hash, fingerprint, response, route from idempotency_response")
    stored = b"".join(row["key_hash"] + row["fingerprint"] + row["response"] + row["route"].encode() for row in rows)
    assert rows
    assert b"canary" not in stored


async def test_i1_an_equal_upload_that_only_looks_stops_none(service: Service, api: Client) -> None:
    """Else each of several equal uploads could be told that another one runs, and nothing were stored."""
    path = f"/v1/validation-requests/{(await requested(api))['id']}/document"
    files = {"file": ("a", picture(size=(4000, 3000)), JPEG)}  # read for half a second

    async def send() -> httpx.Response:
        return await api.request("POST", path, files=files, headers={"Idempotency-Key": "one"})

    async def both_wait() -> bool:
        async with service.db.read() as tx:
            return int(await tx.fetchval(WAITING)) == 2

    first = asyncio.create_task(send())
    async with service.db.write() as tx:
        await eventually(lambda: tx.fetch("select from provider_call_lease where flow = 'uploads' for update"))
        second = asyncio.create_task(send())
        # The second waits for the lease and holds the lock of its key; for that the first waits.
        await eventually(both_wait)
    assert (await first).status_code == 200
    assert code(await second) == IN_PROGRESS
