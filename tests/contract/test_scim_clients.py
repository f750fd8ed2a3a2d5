"""The suites of others against a server on loopback, for a new partner and for one with a year of use."""

import asyncio
import json
import os
import random
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import CheckResult, Status, check_server

from almoner.cli.serve import serve_application
from almoner.kit.rates import RequestRate
from tests.support.database import TestDatabase
from tests.support.scim import ENTERPRISE, USER, ScimClient, bulk, group, shown, user
from tests.support.service import Service, serving

pytestmark = pytest.mark.soak  # the used partner has 10,000 users then
SCIM2 = Path(sys.executable).with_name("scim2")
SANITY = Path(sys.executable).with_name("scim-sanity")
DONE = {Status.SUCCESS, Status.COMPLIANT, Status.ACCEPTABLE}


@asynccontextmanager
async def on_loopback(database: TestDatabase) -> AsyncIterator[Service]:
    """The service behind uvicorn, at the address that it tells of itself."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the loop sets it on sockets of its own alone
        stop = asyncio.Event()
        async with (
            serving(database, port=listening.getsockname()[1], rate_limit_scim=RequestRate(10_000, 10_000)) as service,
            asyncio.TaskGroup() as group_,
        ):
            group_.create_task(serve_application(service.app, [listening], stop))
            yield service
            stop.set()


async def fill(client: ScimClient, people: int) -> None:
    """Users of every kind, and groups of them, as a year of use leaves them."""
    draw = random.Random(7)
    for begin in range(0, people, 500):
        operations = [
            {
                "method": "POST",
                "path": "/Users",
                "bulkId": str(number),
                "data": user(
                    f"person{number}@used.example",
                    active=number % 7 != 0,
                    schemas=[USER, ENTERPRISE],
                    externalId=f"ext-{number}",
                    name={"givenName": draw.choice(["Ada", "Grace", "Zoé"]), "familyName": f"No {draw.random()}"},
                    emails=[{"value": f"person{number}@used.example", "type": "work", "primary": True}],
                    **{ENTERPRISE: {"department": draw.choice(["A", "B"]), "employeeNumber": str(number)}},
                ),
            }
            for number in range(begin, min(begin + 500, people))
        ]
        reported = shown(await client.post("/Bulk", bulk(*operations)))["Operations"]
        assert {one["status"] for one in reported} == {"201"}
        members = [one["location"].rpartition("/")[2] for one in reported]
        await client.post("/Groups", group(f"Team {begin}", *draw.sample(members, min(50, len(members)))))
    await client.post("/Groups", group("Nobody"))


def of(kind: str) -> pytest.MarkDecorator:
    """Each suite of checks meets both kinds of partner; in short the long ones meet one each."""
    places = [pytest.param(one, marks=[] if one == kind else [pytest.mark.long]) for one in ("new", "used")]
    return pytest.mark.parametrize("place", places, indirect=True, scope="module")


@pytest.fixture(scope="module", params=["new", "used"])
async def place(request: pytest.FixtureRequest, session_database: TestDatabase) -> AsyncIterator[tuple[str, str]]:
    """(base address, key) of a partner that is new or was used for a year."""
    async with on_loopback(session_database) as service:
        tenant = await service.tenant()
        key = await service.key(tenant.partner, "scim")
        if request.param == "used":
            people = 10_000 if request.config.getoption("--soak") else 300
            async with ScimClient.of(service, key) as client:
                await fill(client, people)
        yield f"{service.db.deployment.base_urls.api}/scim/v2", key


def checked(place: tuple[str, str]) -> list[CheckResult]:
    """What scim2-tester finds; called in a thread."""
    base, key = place
    with Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        return check_server(SyncSCIMClient(http))


@of("new")
async def test_scim2_tester(place: tuple[str, str], subtests: pytest.Subtests) -> None:
    results = await asyncio.to_thread(checked, place)
    assert len(results) >= 100
    for result in results:
        with subtests.test(result.title, resource=result.resource_type):
            assert result.status in DONE, f"{result.reason}\n{result.data}"


@of("used")
async def test_scim2_test(place: tuple[str, str]) -> None:
    """The command of scim2-cli, which says everything with its exit status."""
    base, key = place
    process = await asyncio.create_subprocess_exec(
        SCIM2,
        "--url",
        base,
        "test",
        env={**os.environ, "SCIM_CLI_HEADERS": f"Authorization: Bearer {key}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


@pytest.mark.parametrize("profile", [(), ("--profile", "entra"), ("--compat",)])
async def test_scim_sanity(place: tuple[str, str], profile: tuple[str, ...], subtests: pytest.Subtests) -> None:
    base, key = place
    command = [str(SANITY), "probe", base, "--token", key, "--i-accept-side-effects", "--json-output", *profile]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    reported = json.loads(output)
    assert reported, output.decode()
