"""What a list counts is what it shows (P7), and a stranger's record looks like none at all (E5)."""

import asyncio
from statistics import median
from time import perf_counter

import pytest

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service


@pytest.mark.parametrize("path", ["/v1/categories", "/v1/donation-sessions"])
async def test_p7_totals_and_rows_are_of_one_snapshot(service: Service, api: Client, path: str) -> None:
    organisation = await factories.nonprofit(service)

    async def write(number: int) -> None:
        if path == "/v1/categories":
            data(await api.post(path, {"name": f"category {number}"}))
        else:
            data(await api.post(path, {"organisationId": organisation}))

    writing = [asyncio.create_task(write(number)) for number in range(60)]
    seen = set()
    while not all(task.done() for task in writing):
        page = (await api.get(path, pageSize=100)).json()
        assert page["totalResults"] == len(page["data"])
        seen.add(page["totalResults"])
    await asyncio.gather(*writing)
    assert (await api.get(path)).json()["totalResults"] == 60
    assert len(seen) > 1, "nothing was written while the list was read"


async def test_e5_a_strangers_record_answers_as_no_record_does(service: Service, api: Client, other: Client) -> None:
    mine = (await factories.session(service, api))["id"]
    none = service.db.deployment.ids.example_id("donationsession")

    async def timed(record: str) -> tuple[float, bytes]:
        started = perf_counter()
        answer = await other.get(f"/v1/donation-sessions/{record}")
        assert answer.status_code == 404
        return perf_counter() - started, answer.content

    pairs = [(await timed(mine), await timed(none)) for _ in range(200)]
    assert {body for pair in pairs for _, body in pair} == {pairs[0][0][1]}
    apart = median(first[0] for first, _ in pairs) - median(second[0] for _, second in pairs)
    assert abs(apart) < 0.005
