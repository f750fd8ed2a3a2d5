"""Stripe's adapter alone: answers that make no sense, nobody there, and the rules of the house for outside calls."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from almoner.adapters.payments_stripe import StripeProvider
from almoner.adapters.stripe_client import StripeConnection
from almoner.giving.checkout.payments.domain import EvidenceRefused, FeeSchedule, NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import DisputeEvidence, ProviderEvidenceFile
from almoner.kit.money import Money
from tests.support.client import Client
from tests.support.service import Service
from tests.support.stripe_account import MARK, SECRET
from tests.support.stripe_giving import serving_at_stripe
from tests.support.stripe_stub import KEY
from tests.support.stripe_things import Refusal

SESSION: dict[str, Any] = {
    "id": "cs_test_1",
    "object": "checkout.session",
    "status": "complete",
    "payment_status": "paid",
    "amount_total": 2500,
    "currency": "usd",
    "livemode": False,
    "metadata": {"almoner": "reference", "almoner_deployment": MARK, "almoner_tries": "5"},
    "client_reference_id": "reference",
    "url": None,
    "payment_intent": {
        "id": "pi_1",
        "object": "payment_intent",
        "status": "succeeded",
        "amount_received": 2500,
        "currency": "usd",
    },
}
WRONG = [
    {"status": "finished"},
    {"payment_status": "maybe"},
    {"payment_status": "no_payment_required"},
    {"amount_total": "2500"},
    {"amount_total": 25.0},
    {"amount_total": -1},
    {"currency": "xxx"},
    {"currency": "kwd"},
    {"livemode": "no"},
    {"livemode": None},
    {"metadata": "none"},
    {"object": "charge"},
    {"id": "ch_1"},
    {"payment_intent": "pi_1"},
    {"payment_intent": {**SESSION["payment_intent"], "amount_received": None}},
    {"payment_intent": {**SESSION["payment_intent"], "amount_received": 2**53}},
    {"status": "open", "url": "https://elsewhere.example/c/pay/cs_test_1"},
    {"status": "open", "url": "javascript:x"},
]
BROKEN = [b"", b"<html>", b"[]", b"null", b"{}", b"{", b'{"error": "no"}', b'{"error": {}}', b"\xff\xfe"]


@asynccontextmanager
async def answering(body: bytes, status: int = 200) -> AsyncIterator[StripeProvider]:
    """The adapter before a server that answers all calls so."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nLocation: /\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with speaking_to(url) as provider:
            yield provider


@asynccontextmanager
async def speaking_to(url: str) -> AsyncIterator[StripeProvider]:
    """The adapter alone."""
    provider = StripeProvider(
        StripeConnection(KEY, url, retries=0), webhook_secret=SECRET, tariff=FeeSchedule(0), mark=MARK
    )
    try:
        yield provider
    finally:
        await provider.close()


@pytest.mark.parametrize("wrong", WRONG, ids=[json.dumps(one)[:60] for one in WRONG])
async def test_m5_what_is_not_as_expected_is_a_failure_and_never_money(wrong: dict[str, Any]) -> None:
    async with answering(json.dumps({**SESSION, **wrong, "data": []}).encode()) as provider:
        with pytest.raises(ProviderFailure) as failure:
            await provider.fetch_payment("cs_test_1")
        assert not isinstance(failure.value, NoSuchPayment)


@pytest.mark.parametrize("body", BROKEN)
@pytest.mark.parametrize("status", [200, 302, 401, 403, 409, 429, 500])
async def test_m5_nonsense_is_a_failure(body: bytes, status: int) -> None:
    async with answering(body, status) as provider:
        with pytest.raises(ProviderFailure) as failure:
            await provider.fetch_payment("cs_test_1")
        assert not isinstance(failure.value, NoSuchPayment)


async def test_nobody_there_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as port:
        url = f"http://127.0.0.1:{port.getsockname()[1]}"
    async with speaking_to(url) as provider:
        with pytest.raises(ProviderFailure):
            await provider.fetch_payment("cs_test_1")


async def test_stripe_is_not_asked_inside_a_transaction(service: Service) -> None:
    async with serving_at_stripe(service) as stripe:
        async with service.db.write():
            with pytest.raises(RuntimeError, match="inside a transaction"):
                await stripe.provider.fetch_payment("cs_test_1")
        assert not stripe.stub.calls


async def test_a_wrong_key_says_nothing_of_itself() -> None:
    body = json.dumps({"error": {"type": "invalid_request_error", "message": f"Invalid API Key: {KEY}"}}).encode()
    async with answering(body, 401) as provider:
        with pytest.raises(ProviderFailure) as failure:
            await provider.refund_payment("cs_test_1", "key", Money(1, "USD"))
        assert KEY not in str(failure.value)


@pytest.mark.parametrize(("minor", "others"), [(2500, 0), (500, 101)])
async def test_i6_a_refund_is_made_once_however_late_it_is_asked_again(
    service: Service, api: Client, minor: int, others: int
) -> None:
    async with serving_at_stripe(service) as stripe:
        giving = await stripe.open_session(api)
        await giving.giving.begin()
        number = giving.session["id"]
        intent = stripe.account.pay_with_card(number)["id"]
        money = Money(minor, "USD")
        made = await stripe.provider.refund_payment(number, "sandbox:giftrefund:late", money)
        for _ in range(others):  # newer ones, so that ours is on the second page
            stripe.account.new_refund({"payment_intent": intent, "amount": 1})
        stripe.stub.forget_keys()  # as Stripe does after a day; our answer may have been lost
        assert await stripe.provider.refund_payment(number, "sandbox:giftrefund:late", money) == made
        assert len(stripe.account.refunds) == 1 + others


async def test_evidence_that_can_never_be_taken_is_refused_and_says_why(service: Service, api: Client) -> None:
    async with serving_at_stripe(service) as stripe:
        giving = await stripe.open_session(api)
        await giving.giving.begin()
        number = giving.session["id"]
        stripe.account.pay_with_card(number)
        dispute = stripe.account.open_dispute(number)["id"]
        file = ProviderEvidenceFile("receipt", "IMG_1.HEIC", "image/jpeg", b"\xff\xd8")
        upload, update = "POST /v1/files", "POST /v1/disputes/{id}"
        for place, (call, status, code, reason) in enumerate(
            (
                (upload, 400, "invalid_file", "cannot accept the file IMG_1.HEIC: invalid_file"),
                (upload, 403, "no_access", "permissions to write files and disputes"),
                (update, 403, "no_access", "permissions to write files and disputes"),
                (f"GET {update[5:]}", 403, "no_access", "permissions to write files and disputes"),
            )
        ):
            stripe.stub.faults.refuses = {call: Refusal(status, "no", code=code)}
            with pytest.raises(EvidenceRefused, match=reason):
                await stripe.provider.submit_evidence(dispute, DisputeEvidence(f"key {place}", None, None, (file,)))
        stripe.stub.faults.refuses = {upload: Refusal(400, "no", code="lock_timeout")}
        with pytest.raises(ProviderFailure) as failure:
            await stripe.provider.submit_evidence(dispute, DisputeEvidence("later", None, None, (file,)))
        assert not isinstance(failure.value, EvidenceRefused)
        stripe.stub.faults.refuses = {}
        await stripe.provider.submit_evidence(dispute, DisputeEvidence("last", None, None, (file,)))
        assert {one["filename"] for one in stripe.account.files.values()} == {"receipt.jpeg"}
