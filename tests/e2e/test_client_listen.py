"""``almoner-client listen``: a receiver on one's own machine gets every event, whatever connections do."""

import asyncio
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from almoner_client import Almoner, WebhookVerificationError, webhooks
from almoner_client.cli.forwarding import Forwarder, derived_secret
from almoner_client.cli.signature_check import check_signatures

from tests.support.dropping_proxy import dropping_proxy
from tests.support.eventually import eventually
from tests.support.receivers import Received, Receiver, receiver, reply
from tests.support.running import Running

PACKAGE = Path(__file__).parents[2] / "clients" / "python" / "src"
EVENTS, MOST_EVENTS = 200, 1_000


def arguments(*given: str) -> list[str]:
    return [sys.executable, "-m", "almoner_client.cli", *given]


def environment(sandbox: Running, base_url: str = "") -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    return own | {
        "ALMONER_API_KEY": sandbox.secret_key,
        "ALMONER_BASE_URL": base_url or sandbox.base_url,
        "PYTHONPATH": str(PACKAGE),
        "PYTHONUNBUFFERED": "1",
    }


@asynccontextmanager
async def listening(sandbox: Running, *given: str, base_url: str = "") -> AsyncIterator[asyncio.subprocess.Process]:
    """The command, until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *arguments("listen", *given),
        env=environment(sandbox, base_url),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def printed_until(process: asyncio.subprocess.Process, text: str) -> str:
    """What it printed up to a text."""
    assert process.stdout is not None
    lines = ""
    while text not in lines:
        line = await process.stdout.readline()
        assert line, f"it ended:\n{lines}"
        lines += line.decode()
    return lines


def newest(client: Almoner) -> int:
    """The sequence of the newest event."""
    found = client.events.list(direction="DESC", page_size=1).data
    return int(found[0].sequence or 0) if found else 0


def told(client: Almoner) -> int:
    """How many organisations' updates are among the events."""
    return int(client.events.list(type="organisation.updated", page_size=1).total_results)


def emit(client: Almoner, times: int = 1) -> None:
    """So many events, of an organisation that a register updates, once they have their numbers."""
    organisation, begin = client.organisations.search(page_size=1).data[0].id, told(client)
    for _ in range(times):
        client.sandbox.simulate(id=organisation, action="update")
    asyncio.run(eventually(lambda: told(client) == begin + times))


@pytest.fixture
async def client(sandbox: Running) -> AsyncIterator[Almoner]:
    with Almoner(sandbox.secret_key, base_url=sandbox.base_url) as made:
        yield made


def give_direct_donations(client: Almoner, events: int) -> None:
    """So many events and more: donations are made, asked for together, and paid."""
    organisation = client.organisations.search(accepts_donations=True, page_size=1).data[0].id
    made = [
        client.donations.create(
            amount=100 + number,
            currency_code="USD",
            organisation_id=organisation,
            first_name="Ada",
            email="a@b.example",
        )
        for number in range(events // 3)
    ]
    client.sandbox.simulate(id=made[0].id, action="request")
    asked = client.donations.get(made[0].id)
    client.sandbox.simulate(id=asked.id, action="pay")
    emit(client, 10)


async def forwarded_through(
    sandbox: Running, client: Almoner, every_seconds: float, events: int
) -> tuple[list[Received], int]:
    """What a receiver got of so many events over connections that drop, and how often they did."""
    begin = await asyncio.to_thread(newest, client)
    async with (
        receiver() as hooks,
        dropping_proxy(sandbox.base_url, every_seconds) as proxy,
        listening(sandbox, "--forward-to", hooks.url, "--after", str(begin), base_url=proxy.url) as process,
    ):
        await printed_until(process, "Signing secret")
        await asyncio.to_thread(give_direct_donations, client, events)
        last = await asyncio.to_thread(newest, client)
        drain = asyncio.create_task(process.communicate())

        def arrived() -> list[Received]:
            assert hooks.received
            assert int(hooks.received[-1].headers["service-sequence"]) >= last
            return list(hooks.received)

        found = await eventually(arrived, within=120)
        process.send_signal(signal.SIGINT)
        printed, _ = await drain
        assert process.returncode == 130, printed[-2000:].decode()
        return found, proxy.dropped


@pytest.mark.parametrize(
    ("every_seconds", "events"),
    [(0.3, EVENTS), *(pytest.param(often, MOST_EVENTS, marks=pytest.mark.long) for often in (0.3, 5.0))],
)
async def test_many_events_come_in_order_over_connections_that_drop(
    sandbox: Running, client: Almoner, every_seconds: float, events: int
) -> None:
    found, dropped = await forwarded_through(sandbox, client, every_seconds, events)
    sequences = [int(one.headers["service-sequence"]) for one in found]
    assert len(sequences) >= events
    assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
    assert len({one.headers["webhook-id"] for one in found}) == len(found)
    assert dropped


async def test_it_sends_the_bytes_of_the_webhook_with_a_right_signature(sandbox: Running, client: Almoner) -> None:
    async with receiver() as delivered, receiver() as hooks:
        subscription = client.webhook_subscriptions.create(events=["*"], url=delivered.url)
        secret = str(subscription.secret)
        async with listening(sandbox, "--forward-to", hooks.url, "--subscription", subscription.id) as process:
            await printed_until(process, "Forwarding events")
            await asyncio.to_thread(emit, client)
            (direct,) = await eventually(lambda: updates(delivered))
            (forwarded,) = await eventually(lambda: updates(hooks))
            line = await printed_until(process, "organisation.updated")
        client.webhook_subscriptions.delete(subscription.id)
    assert forwarded.body == direct.body
    event = webhooks.verify(forwarded.body, forwarded.headers, secret)
    assert event.event_type == "organisation.updated"
    assert "-> 200 in " in line
    same = ("webhook-id", "service-sequence", "service-signature", "content-type")
    assert [forwarded.headers[name] for name in same] == [direct.headers[name] for name in same]


def updates(hooks: Receiver) -> list[Received]:
    """Those of organisations: what earlier tests began may still come beside them."""
    return [one for one in hooks.received if json.loads(one.body)["data"]["eventType"] == "organisation.updated"]


async def test_events_wait_in_order_while_the_receiver_is_down(sandbox: Running, client: Almoner) -> None:
    async with receiver() as hooks:
        hooks.script = [hang_up, hang_up]
        async with listening(sandbox, "--forward-to", hooks.url, "--event", "organisation.updated") as process:
            await printed_until(process, "Signing secret")
            await asyncio.to_thread(emit, client, 3)
            await printed_until(process, "Trying again until there is")
            found = await eventually(lambda: has(hooks, 5))
    ids = [one.headers["webhook-id"] for one in found]
    assert ids[0] == ids[1] == ids[2]
    assert len(set(ids)) == 3


async def hang_up(_request: Received, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def has(hooks: Receiver, number: int) -> list[Received]:
    assert len(hooks.received) >= number
    return list(hooks.received)


def verifying(secret: str) -> Any:
    """A receiver that answers 400 unless the signature is right and fresh."""

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        try:
            webhooks.verify(request.body, request.headers, secret)
        except WebhookVerificationError:
            writer.write(reply(400))
        else:
            writer.write(reply(204))

    return answer


async def test_it_says_whether_the_receiver_checks_signatures() -> None:
    secret = derived_secret("sk_sandbox_1")
    expected = {
        verifying(secret): (True, "The receiver checks signatures: 400 to a wrong one, 204 to a right one."),
        reply(200): (False, "NOT SAFE: the receiver answered 200 to a wrong signature."),
        reply(403): (False, "The receiver answered 403 to a right signature."),
    }
    for answer, (is_safe, sentence) in expected.items():
        async with receiver(answer) as hooks:
            forwarder = Forwarder(hooks.url, secret, print)
            found = await asyncio.to_thread(check_signatures, forwarder)
            forwarder.close()
        assert (found.is_safe, len(hooks.received)) == (is_safe, 3)
        assert found.lines[0].startswith(sentence)


async def test_keys_resend_what_failed_and_quit(sandbox: Running, client: Almoner) -> None:
    own, theirs = pty.openpty()
    async with receiver() as hooks:
        hooks.script = [reply(500)]
        process = await asyncio.create_subprocess_exec(
            *arguments("listen", "--forward-to", hooks.url, "--event", "organisation.updated"),
            env=environment(sandbox),
            stdin=theirs,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        os.close(theirs)
        try:
            await printed_until(process, "Keys: ")
            await asyncio.to_thread(emit, client)
            assert "-> 500" in await printed_until(process, "organisation.updated")
            os.write(own, b"f")
            await printed_until(process, "-> 200")
            os.write(own, b"r")
            await printed_until(process, "-> 200")
            os.write(own, b"q")
            assert "--after" in await printed_until(process, "Stopped.")
            assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
            os.close(own)
        assert len({one.headers["webhook-id"] for one in hooks.received}) == 1
        assert len(hooks.received) == 3


async def test_a_page_of_the_dashboard_is_found_for_a_record(sandbox: Running) -> None:
    """The address leads to the sign-in of the partner, and from there to the record."""
    home = sandbox.sandbox["dashboardUrl"].removesuffix("/sign-in")
    process = await asyncio.create_subprocess_exec(
        *arguments("--config", str(sandbox.data_dir / "sandbox.json"), "open", "sandbox_donation_1", "--print"),
        env=environment(sandbox),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert out.decode().strip() == f"{home}/search?q=sandbox_donation_1"
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.get(out.decode().strip())).status_code == 303
