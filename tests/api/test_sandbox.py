"""The sandbox's tools (settled 9): clock, mailbox; the simulated donor is in test_sandbox_simulate."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest

from almoner.adapters.mail_sandbox import SandboxMailbox
from almoner.kit.time import parse_timestamp
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.outbound.mail import Mail
from almoner.sandbox import mailbox
from tests.support import database, factories
from tests.support.client import Client, data
from tests.support.service import Service, serving

CLOCK = "/v1/sandbox/clock"


@pytest.fixture(scope="module")
async def service(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service of its own: here the clock goes far."""
    async with database.copied(postgres_server) as made, serving(made) as running:
        yield running


async def test_the_clock_moves_forwards_and_tells_how_far(service: Service, api: Client) -> None:
    before = data(await api.get(CLOCK))
    moved = data(await api.post(CLOCK, {"advanceSeconds": 3600}))
    assert parse_timestamp(moved["now"]) - parse_timestamp(before["now"]) == timedelta(hours=1)
    assert moved["offsetSeconds"] - before["offsetSeconds"] == 3600
    assert moved["remaining"] == 0
    assert data(await api.get(CLOCK)) == moved
    target = parse_timestamp(moved["now"]) + timedelta(days=2)
    assert parse_timestamp(data(await api.post(CLOCK, {"advanceTo": target.isoformat()}))["now"]) == target


async def test_every_sweep_works_with_the_rights_that_the_service_has(service: Service, api: Client) -> None:
    await api.post("/v1/users", idempotency_key="kept for 21 days")
    moved = data(await api.post(CLOCK, {"advanceSeconds": 23 * 86400}))
    for _ in range(5):  # a busy machine may need more than the 30 s of a call
        if moved["remaining"]:
            moved = data(await api.post(CLOCK, {"advanceSeconds": 0}))
    assert moved["remaining"] == 0
    assert not [line for line in service.lines if b"schedule_failed" in line]
    async with service.db.read() as tx:
        assert await tx.fetchval("select count(*) from idempotency_response where expires_at < $1", tx.now) == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"advanceSeconds": -1},
        {"advanceSeconds": 60 * 86400 + 1},
        {"advanceSeconds": 1.5},
        {"advanceSeconds": "60"},
        {"advanceTo": "2020-01-01T00:00:00Z"},
        {"advanceTo": "2999-01-01T00:00:00Z"},
        {"advanceTo": "tomorrow"},
        {"advanceSeconds": 1, "advanceTo": "2026-12-01T00:00:00Z"},
    ],
)
async def test_the_clock_refuses_what_is_not_forwards_within_60_days(api: Client, body: object) -> None:
    before = data(await api.get(CLOCK))
    answer = await api.post(CLOCK, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
    assert answer.json()["error"]["reasons"]
    assert data(await api.get(CLOCK))["offsetSeconds"] == before["offsetSeconds"]


async def test_the_clock_is_moved_by_keys_with_its_scope_alone(service: Service) -> None:
    tenant = await service.tenant(scopes=frozenset({"*"}))
    client = service.client(tenant.secret)
    assert (await client.get(CLOCK)).status_code == 200
    assert (await client.post(CLOCK, {"advanceSeconds": 1})).status_code == 403
    publishable = service.client(tenant.publishable)
    assert (await publishable.get(CLOCK)).status_code == 403
    await client.close()
    await publishable.close()


async def test_i1_a_repeated_move_is_answered_and_not_made_again_even_22_days_on(api: Client) -> None:
    body, headers = {"advanceSeconds": 22 * 86400}, {"Idempotency-Key": "move-once"}
    first = await api.post(CLOCK, body, headers=headers)
    again = await api.post(CLOCK, body, headers=headers)
    assert (first.status_code, again.content) == (200, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert data(await api.get(CLOCK))["now"] == data(first)["now"]


async def test_one_call_moves_the_clock_at_a_time(service: Service, api: Client) -> None:
    answers = await asyncio.gather(*(api.post(CLOCK, {"advanceSeconds": 60}) for _ in range(4)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    moved = sum(answer.status_code == 200 for answer in answers)
    assert moved >= 1
    assert {answer.json()["error"]["code"] for answer in answers if answer.status_code == 409} <= {"conflict"}


async def _mail(service: Service, partner: UUID | None, key: str, to: str, subject: str) -> None:
    at = service.clock.now()
    text, html = "See https://example.org/a", '<p>See <a href="https://example.org/a">this</a></p>'
    await SandboxMailbox(service.db, "Sandbox <sandbox@example.org>").send(
        Mail(key, at, partner, to, subject, text, html, "en")
    )


async def test_the_mailbox_lists_the_partners_mails_newest_first(service: Service) -> None:
    tenant, stranger = await service.tenant(), await service.tenant()
    client, other = service.client(tenant.secret), service.client(stranger.secret)
    partner = tenant.partner.id
    for n, (to, subject) in enumerate(
        [("ada@example.org", "Your receipt"), ("bob@example.org", "Hello"), ("ada@example.org", "Hello again")]
    ):
        service.clock.advance(seconds=1)
        await _mail(service, partner, f"{partner}-{n}", to, subject)
        await _mail(service, partner, f"{partner}-{n}", to, subject)
    mails = await client.get("/v1/sandbox/mailbox")
    assert [mail["subject"] for mail in data(mails)] == ["Hello again", "Hello", "Your receipt"]
    assert (mails.json()["object"], mails.json()["totalResults"]) == ("sandbox_mail", 3)
    assert data(mails)[2] == {
        "from": "Sandbox <sandbox@example.org>",
        "to": "ada@example.org",
        "subject": "Your receipt",
        "text": "See https://example.org/a",
        "html": '<p>See <a href="https://example.org/a">this</a></p>',
        "links": ["https://example.org/a"],
        "attachments": [],
        "createdAt": data(mails)[2]["createdAt"],
    }
    to_ada = await client.get("/v1/sandbox/mailbox", to="ADA@example.org")
    assert [mail["subject"] for mail in data(to_ada)] == ["Hello again", "Your receipt"]
    hello = await client.get("/v1/sandbox/mailbox", subject="hello", pageSize=1)
    assert (hello.json()["totalResults"], [mail["subject"] for mail in data(hello)]) == (2, ["Hello again"])
    following = await client.get(hello.json()["_links"]["next"])
    assert [mail["subject"] for mail in data(following)] == ["Hello"]
    assert data(await other.get("/v1/sandbox/mailbox")) == []
    await client.close()
    await other.close()


async def test_the_mailbox_page_shows_the_mails_and_escapes_them(service: Service, anonymous: Client) -> None:
    tenant = await service.tenant()
    await _mail(service, tenant.partner.id, str(tenant.partner.id), "eve@example.org", "<script>alert(1)</script>")
    page = await anonymous.get("/sandbox/mailbox")
    assert page.status_code == 200
    assert "eve@example.org" in page.text
    assert "<script>" not in page.text
    assert "script" not in page.headers["Content-Security-Policy"].replace("frame-ancestors", "")


async def test_where_others_reach_the_sandbox_the_mailbox_opens_by_a_partners_link(
    postgres_server: PostgresServer,
) -> None:
    async with database.copied(postgres_server) as made, serving(made, host="0.0.0.0") as service:
        tenant, stranger = await service.tenant(), await service.tenant()
        await _mail(service, tenant.partner.id, "mine", "ada@example.org", "Mine")
        await _mail(service, stranger.partner.id, "theirs", "bob@example.org", "Theirs")
        browser = service.client(None)
        assert (await browser.get("/sandbox/mailbox")).status_code == 404
        opened = await browser.get(mailbox.mailbox_url(service.db.deployment, tenant.partner.id))
        assert opened.status_code == 303
        address = opened.headers["Location"]
        assert "token" not in address
        cookie = opened.headers["Set-Cookie"].partition(";")[0]
        page = await browser.get(address, headers={"Cookie": cookie})
        assert "Mine" in page.text
        assert "Theirs" not in page.text
        other = address.replace(
            service.db.deployment.ids.encode("partner", tenant.partner.id),
            service.db.deployment.ids.encode("partner", stranger.partner.id),
        )
        assert (await browser.get(other, headers={"Cookie": cookie})).status_code == 404
        await browser.close()


@pytest.mark.parametrize("code", ["XXX", "XAU", "DEM", "ZZZ"])
async def test_no_action_takes_a_code_that_is_no_currency(service: Service, api: Client, code: str) -> None:
    session = await factories.session(service, api)
    gift = {"id": session["id"], "action": "donate", "amount": 500, "currencyCode": code, "firstName": "Ada"}
    answer = await api.post("/v1/sandbox/simulate", gift)
    assert answer.status_code == 400
    assert answer.json()["error"]["reasons"] == ["body.currencyCode must be an active ISO 4217 currency such as GBP"]
