"""Simulated donors, and the clock over whole lives of sessions, donations and deliveries (settled 9)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from almoner.cli.ports import open_listening_sockets
from almoner.cli.serve import serve_application
from almoner.kit.time import parse_timestamp
from almoner.platform.database.postgres import PostgresServer
from tests.support import database, factories
from tests.support.client import Client, data
from tests.support.receivers import receiver, reply
from tests.support.running import free_port
from tests.support.service import Service, serving

CLOCK, SIMULATE = "/v1/sandbox/clock", "/v1/sandbox/simulate"
DONOR = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org"}
GIFT = {"action": "donate", "amount": 2500, "currencyCode": "USD", **DONOR}


@pytest.fixture(scope="module")
async def service(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service of its own, with its payment provider listening."""
    port, stop = free_port(), asyncio.Event()
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(database.copied(postgres_server))
        running = await stack.enter_async_context(serving(made, port=port))
        provider = running.services.provider_app
        assert provider is not None
        task = asyncio.create_task(serve_application(provider, open_listening_sockets("localhost", port + 1), stop))
        yield running
        stop.set()
        await task


async def simulate(api: Client, **body: Any) -> tuple[int, str]:
    reply_ = await api.post(SIMULATE, body)
    return reply_.status_code, reply_.json().get("error", {}).get("code", "")


async def test_a_simulated_donor_gives_as_a_real_one_does(service: Service, api: Client) -> None:
    session = await factories.session(service, api, metadata={"order": "7"})
    reported = await api.post(SIMULATE, {"id": session["id"], **GIFT, "anonymous": "yes"})
    made = data(reported)
    assert made == {**session, **{name: made[name] for name in ("currency", "donationId")}, "status": "completed"}
    assert reported.json()["object"] == "donation_session"
    (donation,) = data(await api.get("/v1/donations"))
    assert made["donationId"] == donation["id"]
    expected = {
        "status": "RECEIVED_PAYMENT",
        "amount": 2500,
        "currencyCode": "USD",
        "anonymous": "yes",
        "consentedToBeContactedByOrg": "no",
        "metadata": {"order": "7"},
        **DONOR,
    }
    assert {name: donation[name] for name in expected} == expected
    await service.drain()
    happened = [event["eventType"] for event in data(await api.get("/v1/events", direction="ASC"))]
    types = [one for one in happened if one.startswith("donation.")]
    assert types == ["donation.created", "donation.hosted.payment_received", "donation.payment_successful"]
    (mail,) = data(await api.get("/v1/sandbox/mailbox", to="ada@example.org"))
    assert "25" in mail["text"]


async def test_the_names_of_a_simulated_donor_are_cleaned_as_typed_ones_are(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    names = {"firstName": " A\x1b[2Jda\n", "lastName": "By\r\nron"}
    data(await api.post(SIMULATE, {"id": session["id"], **GIFT, **names}))
    (donation,) = data(await api.get("/v1/donations"))
    assert (donation["firstName"], donation["lastName"]) == ("A[2Jda", "By ron")
    refused = await simulate(api, id=session["id"], **{**GIFT, "firstName": "\x00\n"})
    assert refused[0] == 400


async def test_a_declined_card_leaves_a_donation_that_can_be_paid(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    assert await simulate(api, id=session["id"], **GIFT, card="4000 0000 0000 0002") == (
        400,
        "sandbox/payment_declined",
    )
    (donation,) = data(await api.get("/v1/donations"))
    assert donation["status"] == "REQUESTED_PAYMENT"
    asked = await api.post(SIMULATE, {"id": donation["id"], "action": "pay", "card": "4000000000003220"})
    assert (asked.json()["object"], data(asked)["status"]) == ("donation", "REQUESTED_PAYMENT")
    assert await simulate(api, id=donation["id"], action="pay", card="4000000000000002") == (
        400,
        "sandbox/payment_declined",
    )
    await api.post(SIMULATE, {"id": donation["id"], "action": "pay", "card": "4000000000003220"})
    paid = await api.post(SIMULATE, {"id": donation["id"], "action": "pay"})  # the challenge is answered
    assert (paid.json()["object"], data(paid)["status"]) == ("donation", "RECEIVED_PAYMENT")
    assert await simulate(api, id=donation["id"], action="pay") == (400, "donation/invalid_state")
    assert await simulate(api, id=session["id"], **GIFT) == (400, "donation_session/invalid_state")


async def test_i1_a_repeated_simulation_is_answered_and_not_done_again(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    body = {"id": session["id"], **GIFT}
    first = await api.post(SIMULATE, body, idempotency_key="gift")
    again = await api.post(SIMULATE, body, idempotency_key="gift")
    assert (first.status_code, again.content) == (200, first.content)
    assert len(data(await api.get("/v1/donations"))) == 1


async def test_more_simulations_at_once_than_connections_all_end(service: Service, api: Client) -> None:
    at_once = 2 * service.services.settings.database_pool
    sessions = [await factories.session(service, api) for _ in range(at_once)]
    async with asyncio.timeout(60):
        reported = await asyncio.gather(*[simulate(api, id=session["id"], **GIFT) for session in sessions])
    assert reported == [(200, "")] * at_once


async def test_a_simulation_names_what_it_lacks_and_what_it_cannot_do(
    service: Service, api: Client, other: Client
) -> None:
    session = await factories.session(service, api)
    missing = await api.post(SIMULATE, {"id": session["id"], "action": "donate"})
    assert missing.status_code == 400
    assert len(missing.json()["error"]["reasons"]) == 3  # one of the names is enough
    not_found = (400, "sandbox/record_not_found")
    assert await simulate(other, id=session["id"], **GIFT) == not_found
    assert await simulate(api, id=session["id"], action="pay") == not_found
    assert await simulate(api, id="sandbox_donation_x", action="pay") == not_found
    assert (await simulate(api, id=session["id"], action="dance"))[0] == 400
    assert (await simulate(api, id=session["id"], **GIFT, card="4242424242424241"))[0] == 400
    nobody = await api.post(SIMULATE, {"id": session["id"], **GIFT, "email": "nobody"})
    assert nobody.json()["error"]["reasons"] == ["body.email must be an email address such as ada@example.org"]


async def test_a_session_that_expired_on_the_clock_takes_no_gift(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    assert data(await api.post(CLOCK, {"advanceSeconds": 24 * 3600}))["remaining"] == 0
    assert data(await api.get(f"/v1/donation-sessions/{session['id']}"))["status"] == "expired"
    assert await simulate(api, id=session["id"], **GIFT) == (400, "donation_session/invalid_state")


async def test_a_payment_that_ended_with_the_grace_cannot_be_made(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    assert data(await api.post(CLOCK, {"advanceSeconds": 23 * 3600}))["remaining"] == 0
    declined = (400, "sandbox/payment_declined")
    assert await simulate(api, id=session["id"], **GIFT, card="4000000000000002") == declined
    assert data(await api.post(CLOCK, {"advanceSeconds": 2 * 3600}))["remaining"] == 0
    (donation,) = data(await api.get("/v1/donations"))
    assert donation["status"] == "REQUESTED_PAYMENT"
    assert await simulate(api, id=donation["id"], action="pay") == (400, "donation/invalid_state")


async def test_the_clock_does_everything_on_its_way_at_its_own_moment(service: Service, api: Client) -> None:
    async with receiver(reply(500)) as sink:
        subscription = data(
            await api.post(
                "/v1/webhook-subscriptions", {"url": sink.url, "events": ["donation.created", "donation.cancelled"]}
            )
        )
        session = await factories.session(service, api)
        assert await simulate(api, id=session["id"], **GIFT, card="4000000000000002") == (
            400,
            "sandbox/payment_declined",
        )
        started = service.clock.now()
        moved = data(await api.post(CLOCK, {"advanceSeconds": 10 * 86400}))
        assert moved["remaining"] == 0
        (donation,) = data(await api.get("/v1/donations"))
        assert donation["status"] == "CANCELLED"
        assert parse_timestamp(donation["cancelledAt"]) - started == timedelta(hours=24)
        path = f"/v1/webhook-subscriptions/{subscription['id']}/deliveries"
        deliveries = data(await api.get(path, direction="ASC"))
        assert [delivery["status"] for delivery in deliveries] == ["failed", "failed"]
        for delivery in deliveries:
            first, *_, last = (parse_timestamp(attempt["attemptedAt"]) for attempt in delivery["attempts"])
            assert len(delivery["attempts"]) == 5
            assert timedelta(hours=14) <= last - first <= timedelta(hours=14, minutes=10)
        created, cancelled = (parse_timestamp(delivery["attempts"][0]["attemptedAt"]) for delivery in deliveries)
        assert (created - started, cancelled - started) == (timedelta(), timedelta(hours=24))
