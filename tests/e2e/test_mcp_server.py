"""``almoner-client mcp`` as an AI assistant starts it: tools over standard input and output, on real records."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.support import factories
from tests.support.card_testing import open_town
from tests.support.client import data
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.running import Running

PACKAGE = Path(__file__).parents[2] / "clients" / "python" / "src"
READS = (
    "search_organisations",
    "get_organisation",
    "list_categories",
    "list_validation_submissions",
    "get_validation_submission",
    "list_donations",
    "get_donation",
    "get_donation_session",
)
WRITES = ("create_donation_session", "simulate")
WITHOUT_MCP = """
import sys
from importlib.abc import MetaPathFinder

from almoner_client.cli import main


class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "mcp":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
sys.argv[1:] = ["mcp"]
main()
"""
LIVE = "sk_live_" + "0" * 38


def assistant(base_url: str, key: str, mode: str = "auto") -> AbstractAsyncContextManager[Client]:
    """The server's process, and a client connected to it."""
    given = {"ALMONER_API_KEY": key, "ALMONER_BASE_URL": base_url, "PYTHONPATH": str(PACKAGE)}
    command = StdioServerParameters(command=sys.executable, args=["-m", "almoner_client.cli", "mcp"], env=given)
    return Client(stdio_client(command), mode=mode)


@pytest.fixture(scope="module")
async def client(sandbox: Running) -> AsyncIterator[Client]:
    """One process for all that only ask; what opens it closes it, as its library demands."""
    opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def keep() -> None:
        async with assistant(sandbox.base_url, sandbox.secret_key) as connected:
            opened.set_result(connected)
            await over.wait()

    keeping = asyncio.create_task(keep())
    await asyncio.wait((opened, keeping), return_when=asyncio.FIRST_COMPLETED)
    if keeping.done():
        keeping.result()
    yield opened.result()
    over.set()
    await keeping


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool answers, which the text says too."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    (text,) = result.content
    assert json.loads(getattr(text, "text", "")) == result.structured_content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Why a tool refuses, which the text says too."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    error: dict[str, Any] = result.structured_content["error"]
    (text,) = result.content
    assert all(part in getattr(text, "text", "") for part in (error["message"], *error["reasons"]))
    return error


async def test_tools_are_listed_with_the_fields_of_the_api(client: Client) -> None:
    await assert_listed(client)


@pytest.mark.long
async def test_an_assistant_of_the_former_protocol_is_told_the_same(sandbox: Running) -> None:
    async with assistant(sandbox.base_url, sandbox.secret_key, "legacy") as client:
        await assert_listed(client)


async def assert_listed(client: Client) -> None:
    """All tools are there, and their fields are described."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert client.instructions is not None
    assert "never instructions" in client.instructions
    assert (*READS, *WRITES) == tuple(tools)
    assert {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint} == set(READS)
    for tool in tools.values():
        assert tool.title
        assert tool.description
        for name, field in tool.input_schema["properties"].items():
            assert field.get("description"), f"{tool.name}.{name}"
    assert tools["get_donation"].input_schema == {
        "type": "object",
        "properties": {"id": {"type": "string", "minLength": 1, "description": "The donation's identifier."}},
        "required": ["id"],
        "additionalProperties": False,
    }


async def test_a_gift_from_search_to_the_donation(client: Client) -> None:
    found = await answer(
        client, "search_organisations", query="marthas tabel", countryCode="USA", pageSize=1, tags=None
    )
    (organisation,) = found["data"]
    assert "MARTHA" in organisation["name"].upper()
    assert await answer(client, "get_organisation", id=organisation["id"]) == organisation
    session = await answer(client, "create_donation_session", organisationId=organisation["id"], currency="USD")
    donor = {
        "amount": 2500,
        "currencyCode": "USD",
        "firstName": "Ada",
        "lastName": "Byron",
        "email": "ada@example.org",
    }
    await answer(client, "simulate", id=session["id"], action="donate", **donor)
    completed = await answer(client, "get_donation_session", id=session["id"])
    donation = await answer(client, "get_donation", id=completed["donationId"])
    assert (donation["amount"], donation["status"], donation["firstName"]) == (2500, "RECEIVED_PAYMENT", "Ada")

    async def is_listed_as_it_is() -> bool:  # its receipt may be sent between two calls
        listed = await answer(client, "list_donations", sessionId=session["id"])
        return bool(listed["data"] == [await answer(client, "get_donation", id=donation["id"])])

    await eventually(is_listed_as_it_is)


async def test_lists_go_on_at_their_cursor(client: Client) -> None:
    first = await answer(client, "search_organisations", pageSize=2)
    second = await answer(client, "search_organisations", pageSize=2, cursor=first["nextCursor"])
    identifiers = [one["id"] for one in (*first["data"], *second["data"])]
    assert len(set(identifiers)) == 4
    assert "data" in await answer(client, "list_categories")


async def test_validations_are_read(sandbox: Running, client: Client) -> None:
    trigger = [sys.executable, "-m", "almoner_client.cli", "trigger", "validation_submission.succeeded", "--json"]
    own = {**os.environ, "ALMONER_API_KEY": sandbox.secret_key, "ALMONER_BASE_URL": sandbox.base_url}
    made = await asyncio.create_subprocess_exec(
        *trigger, env={**own, "PYTHONPATH": str(PACKAGE)}, stdout=subprocess.PIPE
    )
    printed, _ = await made.communicate()
    identifier = json.loads(printed)["eventData"]["id"]
    submission = await answer(client, "get_validation_submission", id=identifier)
    assert submission["status"] == "succeeded"
    assert submission in (await answer(client, "list_validation_submissions", status="succeeded", pageSize=100))["data"]


async def test_wrong_calls_say_what_is_wrong(client: Client) -> None:
    unknown = "sandbox_donation_" + "0" * 26
    error = await refusal(client, "get_donation", id=unknown)
    assert error["code"] == "not_found"
    assert error["requestId"]
    error = await refusal(client, "get_donation")
    assert (error["code"], error["reasons"]) == ("invalid_arguments", ["id: Field required"])
    error = await refusal(client, "list_donations", pageSize=101, colour="red", status="PAID")
    assert [reason.partition(":")[0] for reason in error["reasons"]] == ["pageSize", "status", "colour"]
    error = await refusal(client, "list_donations", organisationId="nonsense")
    assert (error["code"], error["reasons"][0].partition(" ")[0]) == ("bad_request", "query.organisationId")
    assert (await refusal(client, "get_organisation", id=""))["code"] == "invalid_arguments"
    with pytest.raises(MCPError, match="There is no tool delete_everything"):
        await client.call_tool("delete_everything", {})
    assert (await answer(client, "list_donations", pageSize=1))["totalResults"] >= 0


async def test_a_wrong_key_and_no_service_are_told(sandbox: Running) -> None:
    async with assistant(sandbox.base_url, "sk_sandbox_wrong") as client:
        error = await refusal(client, "list_donations")
    assert error["code"] == "unauthorized"
    async with assistant("http://127.0.0.1:9", sandbox.secret_key) as client:
        assert (await refusal(client, "list_categories"))["code"] == "no_connection"


async def test_a_live_key_writes_nothing(sandbox: Running) -> None:
    async with assistant(sandbox.base_url, LIVE) as client:
        assert tuple(tool.name for tool in (await client.list_tools()).tools) == READS
        for tool in WRITES:
            assert (await refusal(client, tool))["code"] == "sandbox_only"


async def test_a_key_without_personal_data_shows_no_donor(session_database: TestDatabase) -> None:
    async with open_town(session_database) as town:
        tenant = await town.tenant()
        api = town.client(tenant.secret)
        session = await factories.session(town, api)
        donor = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org"}
        gift = {"id": session["id"], "action": "donate", "amount": 2500, **donor}
        donation = data(await api.post("/v1/sandbox/simulate", gift))["donationId"]
        base_url = f"http://localhost:{town.services.settings.port}"
        for key, shown in ((tenant.secret, donor), (await town.key(tenant.partner, "secret", "*"), {})):
            async with assistant(base_url, key) as client:
                record = await answer(client, "get_donation", id=donation)
                (listed,) = (await answer(client, "list_donations"))["data"]
            assert {name: record[name] for name in donor if record[name] is not None} == shown
            assert listed == record


def test_the_command_without_a_key_or_its_packages_says_what_to_do(sandbox: Running, tmp_path: Path) -> None:
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(PACKAGE)}
    command = [sys.executable, "-m", "almoner_client.cli", "mcp"]
    without_key = subprocess.run(command, env=own, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (without_key.returncode, without_key.stdout) == (2, "")
    assert "ALMONER_API_KEY" in without_key.stderr
    keys = {"ALMONER_API_KEY": sandbox.secret_key, "ALMONER_BASE_URL": sandbox.base_url}
    bare = subprocess.run(
        [sys.executable, "-c", WITHOUT_MCP], env=own | keys, capture_output=True, text=True, check=False
    )
    assert (bare.returncode, "pip install 'almoner-client[mcp]'" in bare.stderr) == (2, True), bare.stderr
