"""`almoner check`: what an operator has set does not work, and what to do about it (O3, O5, O8)."""

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from almoner import providers
from almoner.adapters.stripe_webhooks import EVENTS
from almoner.deployment_probes import check_certificate
from almoner.kit.time import SystemClock
from almoner.settings import read_settings
from tests.support import clamd
from tests.support.certificates import Authority
from tests.support.database import TestDatabase
from tests.support.production import PRODUCTION
from tests.support.running import free_port
from tests.support.service import Service, serving
from tests.support.stripe_stub import serving_stripe
from tests.support.terminal import in_process


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own."""
    async with serving(empty_database) as made:
        yield made


async def checked(service: Service, home: Path, *words: str, **given: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The status of the command, and its results by name; of several of one name the worst."""
    status, printed = await in_process(service, home, None, **given)("check", "--json", *words)
    found: dict[str, dict[str, Any]] = {}
    for one in json.loads(printed):
        if one["name"] not in found or one["status"] == "failed":
            found[one["name"]] = one
    return status, found


async def test_a_deployment_that_works(service: Service, tmp_path: Path) -> None:
    status, found = await checked(service, tmp_path)
    assert status == 0, found
    assert {name: one["status"] for name, one in found.items()} == {
        "settings": "ok",
        "database": "ok",
        "database rights": "ok",
        "database settings": "ok",
        "clock": "ok",
        "master key": "ok",
        "mail server": "skipped",
        "document storage": "ok",
        "virus scanner": "skipped",
        "payment provider": "skipped",
        "DNS": "ok",
        "certificate": "skipped",
        "disk": "ok",
        "registers and watchlists": "ok",
    }
    stored = [path for path in (tmp_path / "documents").rglob("*") if path.is_file()]
    assert stored == [], "the file that was written is removed"

    (tmp_path / "schedule.toml").write_text("nonsense = [")
    named = {"BANK_ACCOUNTS": "absent.toml", "GIVING_NOTICES": "none.toml", "WATCHLIST_SCHEDULE": "schedule.toml"}
    for setting, file in {**named, "AUDIT_HEADS": "schedule.toml"}.items():
        status, found = await checked(service, tmp_path, **{setting: str(tmp_path / file)})
        assert (status, found["settings"]["status"]) == (1, "failed"), found
        assert found["settings"]["found"].startswith(f"ALMONER_{setting}"), found


async def test_everything_that_is_wrong_is_told_at_once(service: Service, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    nobody = f"127.0.0.1:{free_port()}"
    status, found = await checked(
        service,
        tmp_path,
        MASTER_KEY=base64.b64encode(b"k" * 32).decode(),
        MAIL_URL=f"smtp://{nobody}",
        MAIL_FROM="Giving <giving@example.org>",
        PAGES_URL="http://pages.invalid",
        TRUSTED_PROXY="10.0.0.0/8",
        DOCUMENTS_URL=str(tmp_path / "file" / "documents"),
        SCANNER_URL=f"clamd://{nobody}",
    )
    assert status == 1
    assert {name for name, one in found.items() if one["status"] == "failed"} == {
        "master key",
        "mail server",
        "document storage",
        "virus scanner",
        "DNS",
    }
    assert nobody.partition(":")[2] in found["mail server"]["found"]
    assert found["mail server"]["advice"] == "Correct ALMONER_MAIL_URL and ALMONER_MAIL_FROM."
    assert found["DNS"]["found"].startswith("pages.invalid: ")
    assert found["settings"]["found"].startswith("ALMONER_TRUSTED_PROXY is not a setting")
    assert found["registers and watchlists"]["status"] == "skipped"


async def test_the_legal_days_of_production_are_chosen(service: Service, tmp_path: Path) -> None:
    given = {name.upper(): str(value) for name, value in PRODUCTION.items()} | {
        "WEBHOOK_SOURCE_ADDRESSES": "192.0.2.10"
    }
    _, found = await checked(service, tmp_path, **given)
    assert found["settings"]["status"] == "warning"
    assert found["settings"]["found"].startswith("ALMONER_TIME_ZONE is not set")
    _, found = await checked(service, tmp_path, **given, TIME_ZONE="UTC")
    assert found["settings"]["status"] == "ok"


async def test_a_mail_server_is_met_and_a_message_sent_if_asked(service: Service, tmp_path: Path) -> None:
    received: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org ESMTP\r\n")
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                received.append(await reader.readuntil(b"\r\n.\r\n"))
            writer.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                break
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        given = {"MAIL_URL": f"smtp://{place}", "MAIL_FROM": "Giving <giving@example.org>"}
        status, found = await checked(service, tmp_path, **given)
        assert (status, found["mail server"]["found"]) == (0, f"{place}, not encrypted, no credentials")
        assert received == []
        status, found = await checked(service, tmp_path, **{**given, "MAIL_URL": f"smtps://{place}"})
        assert found["mail server"]["found"] == f"{place} does not begin with TLS: use smtp:// for STARTTLS"
        status, found = await checked(service, tmp_path, "--mail-to", "ops@example.org", **given)
        assert found["mail server"]["found"].endswith("message to ops@example.org handed over"), found
        assert status == 0
    assert b"To: ops@example.org" in received[0]


async def test_low_disk_space_and_a_copy_are_told_with_what_to_do(service: Service, tmp_path: Path) -> None:
    status, found = await checked(service, tmp_path, DISK_RESERVE_MB="90000000")
    assert (status, found["disk"]["found"].rpartition(" and ")[2]) == (1, "90,000,000 MB (ALMONER_DISK_RESERVE_MB)")
    assert "deployment" not in found
    async with service.db.write() as tx:
        await tx.execute(
            "update deployment set copy_reason = 'x', copy_detected_at = generation_at, written_by = "
            "pg_current_xact_id()::text::bigint"
        )
    status, found = await checked(service, tmp_path)
    assert (status, found["deployment"]["status"]) == (0, "warning"), found
    assert "almoner release-copy" in found["deployment"]["advice"]


async def test_an_object_store_that_is_away(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "for-tests-only")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "for-tests-only")
    endpoint = f"http://127.0.0.1:{free_port()}"
    status, found = await checked(service, tmp_path, DOCUMENTS_URL="s3://documents", DOCUMENTS_ENDPOINT=endpoint)
    assert (status, found["document storage"]["status"]) == (1, "failed")
    assert endpoint in found["document storage"]["found"]
    assert "{" not in found["document storage"]["found"]


async def test_a_virus_scanner_is_asked_for_an_answer(service: Service, tmp_path: Path) -> None:
    async with clamd.running() as daemon:
        status, found = await checked(service, tmp_path, SCANNER_URL=daemon.url)
        assert (status, found["virus scanner"]["found"]) == (0, f"{daemon.url}: answers")
        daemon.answer = b"UNKNOWN COMMAND"
        status, found = await checked(service, tmp_path, SCANNER_URL=daemon.url)
        assert (status, found["virus scanner"]["status"]) == (1, "failed"), found


async def test_stripe_is_asked_for_the_webhook_endpoint() -> None:
    async with serving_stripe(SystemClock().now) as (stub, url):
        key = SecretStr("sk_test_stub")
        given = read_settings(stripe_secret_key=key, stripe_webhook_secret=SecretStr("whsec_" + "0" * 32)).model_copy(
            update={"environment": "production", "api_url": "https://api.example.org", "stripe_api_url": url}
        )

        async def found(**endpoint: object) -> tuple[bool, str]:
            made = {"id": "we_1", "url": "https://api.example.org/callbacks/stripe", "status": "enabled"}
            stub.account.endpoints = [{**made, "enabled_events": list(EVENTS), **endpoint}]
            answer = await providers.check_stripe(given)
            assert answer is not None
            return answer.ok, answer.message.partition("; ")[2]

        ours = "https://api.example.org/callbacks/stripe"
        assert await found() == (True, f"told at {ours}")
        assert await found(enabled_events=["*"]) == (True, f"told at {ours}")
        assert await found(url="https://api.example.org/callback") == (
            False,
            f"Stripe has no webhook endpoint for {ours}",
        )
        assert await found(status="disabled") == (False, f"the webhook endpoint for {ours} is disabled at Stripe")
        assert await found(enabled_events=list(EVENTS[1:])) == (
            False,
            f"the webhook endpoint for {ours} does not receive {EVENTS[0]}",
        )
        stub.account.endpoints = None
        answer = await providers.check_stripe(given)
        assert answer is not None
        assert answer.ok
        assert answer.message.endswith("the key may not read webhook endpoints, so they were not looked at")


async def test_a_certificate_that_expires_soon_is_told_in_time(tmp_path: Path) -> None:
    authority, now = Authority(), datetime.now(UTC)

    async def close(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0, ssl=authority.serving(tmp_path, "localhost"))
    port = server.sockets[0].getsockname()[1]
    async with server:
        for later, status in ((0, "ok"), (14, "ok"), (16, "warning")):
            at = now + timedelta(days=later)
            found = await check_certificate("localhost", port, at, authority.trusting())
            assert (found.status, found.found[:21]) == (status, "localhost: expires on"), found
        untrusted = await check_certificate("localhost", port, now)
        assert (untrusted.status, "update-ca-certificates" in untrusted.advice) == ("failed", True), untrusted
        other = await check_certificate("127.0.0.1", port, now, authority.trusting())
        assert (other.status, "for this name" in other.advice) == ("failed", True), other
    gone = await check_certificate("localhost", free_port(), now)
    assert gone.status == "skipped", gone
    with socket.create_server(("127.0.0.1", 0)) as mute:
        silent = await check_certificate("localhost", mute.getsockname()[1], now)
    assert (silent.status, silent.found.rpartition(": ")[2]) == ("skipped", "no answer within 5 s"), silent
