"""A partner's program in TypeScript, compiled and run by Node over real connections to the whole sandbox."""

import asyncio
import base64
import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import standardwebhooks

from tests.support.hostile_files import HONEST, PDF
from tests.support.running import Running
from tools import reference
from tools.clients.api_model import Api, Operation, words_of
from tools.clients.typescript_client import camel, method_name

PROGRAMS = Path(__file__).parent / "typescript"
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
BODY = '{"object":"event",  "data":{"id":"event_1","eventType":"donation.created","eventData":{"amount":5}}}'


def plan_of(operation: Operation) -> dict[str, Any]:
    """The call of an operation with what it requires."""
    args: list[Any] = [_value(field.schema) for field in operation.path_fields]
    fields = [*(operation.body_fields or ()), *operation.query_fields]
    given = {
        one.wire.removesuffix("[]"): _value(one.schema)
        for one in fields
        if one.required or one.wire == "organisationId"
    }
    if fields or operation.upload is not None:
        args.append(given)
    resource = camel(words_of(operation.resource))
    return {"id": operation.id, "resource": resource, "method": method_name(operation), "args": args}


def _value(schema: Mapping[str, Any]) -> Any:
    options = (schema, *schema.get("anyOf", ()))
    return next(one.get("examples") or one.get("enum") for one in options if one.get("examples") or one.get("enum"))[0]


async def _known(sandbox: Running) -> dict[str, str]:
    """One identifier of each type that a list of the sandbox has."""
    found: dict[str, str] = {}
    async with httpx.AsyncClient(base_url=sandbox.base_url, headers={"Authorization": sandbox.secret_key}) as http:
        # The examples of the reference verify the first three organisations, each once.
        for path, place in (
            ("organisations", 3),
            ("activity-tags", 0),
            ("registries?countryCode=USA", 0),
            ("events", 0),
        ):
            for record in (await http.get(f"/v1/{path}")).json()["data"][place : place + 1]:
                found[record["id"].removeprefix("sandbox_").rpartition("_")[0]] = record["id"]
    return found


async def node(program: str, *arguments: str | Path) -> Any:
    """What a program prints."""
    command = ["node", PROGRAMS / program, *arguments]
    ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


async def test_a_gift_its_delivery_its_refund_and_an_invite(sandbox: Running, typescript_client: Path) -> None:
    seen = await node("gift.mjs", typescript_client / "dist", sandbox.secret_key, sandbox.base_url)
    assert seen["refunded"] == [True, 1000]
    assert seen["invite"].startswith(f"{sandbox.base_url}/apply?token=")
    no_scheme, with_version, no_answer, no_id = seen["messages"]
    assert "with http or https and without /v1, not localhost:" in no_scheme
    assert with_version.endswith(f"without /v1, not {sandbox.base_url}/v1")
    assert no_answer.startswith("No answer from http://127.0.0.1:9: ")
    assert no_id == "The identifier after /v1/donations/ is empty"
    assert (seen["keyIsLogged"], seen["secretIsLogged"]) == (False, False)


async def test_every_call_its_errors_long_lists_lost_connections_and_webhooks(
    sandbox: Running, typescript_client: Path, tmp_path: Path
) -> None:
    description = (reference.PROJECT / "openapi.json").read_bytes()
    operations = Api(msgspec.json.decode(description)).operations
    planned = [one for one in operations if one.upload is None]
    planned.sort(key=lambda one: (one.method == "DELETE", "{" in one.path))
    now = datetime.now(UTC)
    letter = tmp_path / "letter.pdf"
    letter.write_bytes(HONEST[PDF])
    request = {"registryName": "IRS", "registryId": "53-0196605", "name": "test_pending", "countryCode": "USA"}
    plan = {
        "key": sandbox.secret_key,
        "url": sandbox.base_url,
        "known": await _known(sandbox),
        "calls": [plan_of(operation) for operation in planned],
        "delivery": {
            "body": BODY,
            "secret": SECRET,
            "headers": {
                "Webhook-Id": "event_1",
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": standardwebhooks.Webhook(SECRET).sign("event_1", now, BODY),
                "Service-Sequence": "1024",
            },
        },
        "request": {**request, "website": "https://example.org"},
        "pdf": str(letter),
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    seen = await node("journey.mjs", typescript_client / "dist", tmp_path / "plan.json")
    assert seen["calls"].keys() == {operation.id for operation in planned}
    lists = {operation.id for operation in operations if operation.answer == "list"}
    assert {name for name, call in seen["calls"].items() if call["ok"] and call["list"]} <= lists
    told = [call for call in seen["calls"].values() if not call["ok"] or call["requestId"]]
    assert all(call["requestId"].startswith("req_") for call in told)
    assert sum(call["ok"] for call in seen["calls"].values()) >= 60, seen["calls"]
    assert seen["organisations"] > 10_000
    assert (seen["gifts"], seen["listed"] >= 4) == (4, True)
    assert seen["keys"][0] > seen["keys"][1] == 4
    assert seen["lost"] == [True, "string"]
    assert seen["timedOut"] == "ApiTimeoutError"
    assert seen["wrong"][:2] == [True, True]
    assert any("body.amount" in reason for reason in seen["wrong"][2])
    assert seen["empty"] == "TypeError"
    assert seen["event"] == ["donation.created", True, 5, 1024]
    assert (seen["changed"], seen["parsed"]) == ("WebhookVerificationError", "TypeError")
    assert "secret is missing" in seen["unknown"]
    assert (seen["documents"], seen["dossier"]) == (2, "%PDF-")
