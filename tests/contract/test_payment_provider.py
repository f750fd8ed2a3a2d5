"""What giving relies on in a payment provider: the one in memory, and the adapters of the others."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from almoner.adapters.payments_test import TestProvider
from almoner.giving.checkout.payments.domain import (
    DisputeStatus,
    EvidenceRefused,
    NoSuchPayment,
    ProviderFailure,
    ProviderStatus,
    RefundRefused,
    WebhookRefused,
)
from almoner.giving.checkout.payments.ports import DisputeEvidence, PaymentProvider, ProviderEvidenceFile
from almoner.kit.money import Money
from tests.support.provider_contract import PROVIDERS, SECRET, Contract, order
from tests.support.service import Service


@pytest.fixture(params=PROVIDERS, ids=[one.__name__ for one in PROVIDERS])
async def contract(request: pytest.FixtureRequest, service: Service) -> AsyncIterator[Contract]:
    """Each implementation in turn."""
    async with request.param(service) as made:
        yield made


def test_the_contract_asks_for_all_that_the_port_has() -> None:
    port = {name for name in vars(PaymentProvider) if not name.startswith("_")}
    files = (Path(__file__), Path(__file__).with_name("test_saved_payment_methods.py"))
    text = "".join(one.read_text("utf-8") for one in files)
    assert {name for name in port if f"provider.{name}" not in text} == set()


class TestPaymentProvider:
    """The contract."""

    async def test_it_has_a_name_for_addresses_and_says_what_it_keeps(self, contract: Contract) -> None:
        assert re.fullmatch("[a-z_]{1,30}", contract.provider.name)
        for currency in ("USD", "JPY"):
            stored = contract.provider.fee_schedule.fee_for(Money(2500, currency))
            assert stored.currency == currency
            assert 0 <= stored.minor < 2500

    async def test_a_new_payment_is_open_and_shows_what_was_asked_for(self, contract: Contract) -> None:
        asked = order()
        made = await contract.provider.create_payment(asked)
        assert made.status is ProviderStatus.OPEN
        assert (made.money, made.reference, made.is_live_mode) == (asked.money, asked.reference, False)
        assert (made.payment_page_url or "").startswith(contract.provider.hosted_page_origin + "/")
        assert await contract.provider.fetch_payment(made.id) == made

    async def test_i6_the_same_key_gives_the_same_payment(self, contract: Contract) -> None:
        asked = order()
        made = [await contract.provider.create_payment(asked) for _ in range(3)]
        assert made == [made[0]] * 3
        assert (await contract.provider.create_payment(order())).id != made[0].id

    async def test_i6_many_at_once_with_one_key_make_one_payment(self, contract: Contract) -> None:
        asked = order()
        made = await asyncio.gather(*(contract.provider.create_payment(asked) for _ in range(16)))
        assert len({one.id for one in made}) == 1

    async def test_i6_the_same_key_with_other_data_is_refused(self, contract: Contract) -> None:
        asked = order()
        await contract.provider.create_payment(asked)
        with pytest.raises(ProviderFailure):
            await contract.provider.create_payment(replace(asked, money=Money(2501, "USD")))

    async def test_amounts_of_every_size_come_back_unharmed(self, contract: Contract) -> None:
        for money in contract.amounts:
            assert money.currency in contract.provider.currencies
            assert (await contract.provider.create_payment(order(money=money))).money == money

    async def test_a_paid_payment_has_succeeded_for_good(self, contract: Contract) -> None:
        made = await contract.provider.create_payment(order())
        await contract.pay(made.id)
        paid = await contract.provider.fetch_payment(made.id)
        succeeded = replace(made, status=ProviderStatus.SUCCEEDED, attempts=1, succeeded_at=paid.succeeded_at)
        assert paid == contract.ended(succeeded)
        assert await contract.provider.cancel_payment(made.id) == paid

    async def test_a_payment_says_when_it_succeeded_however_late_it_is_asked(
        self, contract: Contract, service: Service
    ) -> None:
        made = await contract.provider.create_payment(order())
        assert made.succeeded_at is None
        paid_at = service.clock.advance(hours=1)
        await contract.pay(made.id)
        service.clock.advance(days=1)
        paid = await contract.provider.fetch_payment(made.id)
        assert paid.succeeded_at is not None
        assert abs(paid.succeeded_at - paid_at) < timedelta(seconds=1)

    async def test_a_payment_that_is_not_paid_can_be_cancelled(self, contract: Contract) -> None:
        made = await contract.provider.create_payment(order())
        cancelled = contract.ended(replace(made, status=ProviderStatus.CANCELLED))
        assert await contract.provider.cancel_payment(made.id) == cancelled
        assert await contract.provider.cancel_payment(made.id) == cancelled
        assert await contract.provider.fetch_payment(made.id) == cancelled

    async def test_an_unknown_payment_is_told_as_such(self, contract: Contract) -> None:
        for payment in contract.nowhere:
            for asked in (contract.provider.fetch_payment, contract.provider.cancel_payment):
                with pytest.raises(NoSuchPayment):
                    await asked(payment)

    async def test_a_paid_payment_is_sent_back_once_for_each_key(self, contract: Contract) -> None:
        made = await contract.provider.create_payment(order())
        await contract.pay(made.id)
        key = f"sandbox:refund:{made.id}"
        sent = await asyncio.gather(*(contract.provider.refund_payment(made.id, key, made.money) for _ in range(16)))
        assert sent == [sent[0]] * 16
        assert sent[0].money == made.money
        assert (await contract.provider.fetch_payment(made.id)).status is ProviderStatus.SUCCEEDED

    async def test_never_more_than_was_paid_is_sent_back(self, contract: Contract) -> None:
        made = await contract.provider.create_payment(order())
        await contract.pay(made.id)
        refused = await asyncio.gather(
            *(contract.provider.refund_payment(made.id, f"{made.id}:{part}", Money(1000, "USD")) for part in range(4)),
            return_exceptions=True,
        )
        assert [type(one) for one in refused].count(RefundRefused) == 2
        with pytest.raises(RefundRefused):
            await contract.provider.refund_payment(made.id, f"{made.id}:more", Money(501, "USD"))
        await contract.provider.refund_payment(made.id, f"{made.id}:rest", Money(500, "USD"))

    async def test_what_is_not_paid_or_of_another_currency_is_not_sent_back(self, contract: Contract) -> None:
        made = await contract.provider.create_payment(order())
        with pytest.raises(RefundRefused):
            await contract.provider.refund_payment(made.id, f"{made.id}:1", made.money)
        await contract.pay(made.id)
        with pytest.raises(RefundRefused):
            await contract.provider.refund_payment(made.id, f"{made.id}:2", Money(2500, "EUR"))

    async def test_i6_the_key_of_a_refund_with_other_data_is_refused(self, contract: Contract) -> None:
        made, another = await contract.provider.create_payment(order()), await contract.provider.create_payment(order())
        for payment in (made, another):
            await contract.pay(payment.id)
        await contract.provider.refund_payment(made.id, f"{made.id}:key", Money(1000, "USD"))
        for payment, money in ((made, Money(999, "USD")), (another, Money(1000, "USD"))):
            with pytest.raises(ProviderFailure) as failure:
                await contract.provider.refund_payment(payment.id, f"{made.id}:key", money)
            assert not isinstance(failure.value, RefundRefused)

    async def test_a_refund_of_an_unknown_payment_is_told_as_such(self, contract: Contract) -> None:
        with pytest.raises(NoSuchPayment):
            await contract.provider.refund_payment("tp_nowhere", "sandbox:refund:nowhere", Money(1, "USD"))

    async def test_what_was_not_disputed_has_no_dispute(self, contract: Contract) -> None:
        made = await contract.provider.create_payment(order())
        assert await contract.provider.list_disputes(made.id) == []
        await contract.pay(made.id)
        assert await contract.provider.list_disputes(made.id) == []
        with pytest.raises(NoSuchPayment):
            await contract.provider.list_disputes("tp_nowhere")

    @pytest.mark.parametrize("outcome", [DisputeStatus.WON, DisputeStatus.LOST])
    async def test_a_disputed_payment_shows_its_dispute_until_it_is_decided_and_after(
        self, contract: Contract, service: Service, outcome: DisputeStatus
    ) -> None:
        made = await contract.provider.create_payment(order())
        await contract.pay(made.id)
        await contract.provider.refund_payment(made.id, f"{made.id}:part", Money(500, "USD"))
        await contract.dispute(made.id)
        (opened,) = await contract.provider.list_disputes(made.id)
        assert (opened.status, opened.money, opened.is_live_mode) == (DisputeStatus.OPEN, Money(2000, "USD"), False)
        assert abs(service.clock.now() - opened.opened_at) < timedelta(minutes=1)
        await contract.decide_dispute(made.id, outcome)
        assert await contract.provider.list_disputes(made.id) == [replace(opened, status=outcome, evidence_due_at=None)]
        assert (await contract.provider.fetch_payment(made.id)).status is ProviderStatus.SUCCEEDED

    async def test_what_the_bank_has_drawn_is_not_sent_back_too(self, contract: Contract) -> None:
        made = await contract.provider.create_payment(order())
        await contract.pay(made.id)
        await contract.dispute(made.id)
        with pytest.raises(RefundRefused):
            await contract.provider.refund_payment(made.id, f"{made.id}:open", Money(1, "USD"))
        await contract.decide_dispute(made.id, DisputeStatus.WON)
        await contract.provider.refund_payment(made.id, f"{made.id}:won", made.money)

    async def test_i6_evidence_is_taken_once_and_only_while_the_dispute_is_open(
        self, contract: Contract, service: Service
    ) -> None:
        made = await contract.provider.create_payment(order())
        await contract.pay(made.id)
        await contract.dispute(made.id)
        (opened,) = await contract.provider.list_disputes(made.id)
        assert opened.evidence_due_at is not None
        assert service.clock.now() < opened.evidence_due_at
        file = ProviderEvidenceFile("receipt", "receipt.pdf", "application/pdf", b"%PDF-1.7 receipt")
        evidence = DisputeEvidence(f"sandbox:evidence:{made.id}", "A donation", "The donor wrote to us.", (file,))
        for _ in range(2):
            await contract.provider.submit_evidence(opened.id, evidence)
        assert (await contract.provider.list_disputes(made.id))[0].evidence_due_at is None
        with pytest.raises(EvidenceRefused):
            await contract.provider.submit_evidence(
                opened.id, replace(evidence, idempotency_key=f"{evidence.idempotency_key}:2")
            )
        with pytest.raises(NoSuchPayment):
            await contract.provider.submit_evidence("du_nowhere", evidence)
        await contract.decide_dispute(made.id, DisputeStatus.WON)
        assert (await contract.provider.list_disputes(made.id))[0].status is DisputeStatus.WON

    async def test_a_notice_of_a_dispute_says_so(self, contract: Contract, service: Service) -> None:
        at = service.clock.real_now()
        event = contract.read(at, at=at, dispute=True)
        assert event is not None
        assert (event.subject, event.payment_id) == ("dispute", contract.named)
        other = contract.read(at, at=at)
        assert other is not None
        assert other.subject == "payment"

    async def test_a_notice_is_read_when_its_signature_is_right_and_fresh(
        self, contract: Contract, service: Service
    ) -> None:
        at = service.clock.real_now()
        for aside in (timedelta(), timedelta(seconds=299), -timedelta(seconds=299)):
            event = contract.read(at + aside, at=at)
            reported = contract.notices[0]
            assert event is not None
            assert (event.id, event.type, event.payment_id, event.is_live_mode) == (
                reported["id"],
                reported["type"],
                contract.named,
                False,
            )

    @pytest.mark.parametrize("seconds", [-302, 302, 86_400])
    async def test_an_old_notice_is_refused(self, contract: Contract, service: Service, seconds: int) -> None:
        at = service.clock.real_now()
        with pytest.raises(WebhookRefused):
            contract.read(at + timedelta(seconds=seconds), at=at)

    async def test_m5_a_notice_that_was_touched_is_refused(self, contract: Contract, service: Service) -> None:
        at = service.clock.real_now()
        body, header = contract.signed(at)
        for place in range(0, len(body), 7):
            touched = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
            with pytest.raises(WebhookRefused):
                contract.provider.parse_webhook({contract.header: header}, touched, at)
        later = header.replace(f"t={int(at.timestamp())}", f"t={int(at.timestamp()) + 1}")
        forged = header[:-1] + ("0" if header[-1] != "0" else "1")
        for wrong in (later, header[:-1], forged, "", "t=1", header.upper(), header + ",v1="):
            with pytest.raises(WebhookRefused):
                contract.provider.parse_webhook({contract.header: wrong}, body, at)
        with pytest.raises(WebhookRefused):
            contract.provider.parse_webhook({}, body, at)

    @pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"{}", b'{"id": "tpe_1"}', b"\xff\xfe"])
    async def test_a_signed_notice_that_says_nothing_is_refused(
        self, contract: Contract, service: Service, content: bytes
    ) -> None:
        at = service.clock.real_now()
        body, header = contract.sign(at, content)
        with pytest.raises(WebhookRefused):
            contract.provider.parse_webhook({contract.header: header}, body, at)


class TestAnswersOfTheAdapter:
    """A provider that answers nonsense is a failure, never money."""

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"<html>",
            b"[]",
            b"{}",
            b'{"id":"tp_1","url":"http://x/","status":"paid","amount":1,"currency":"USD","reference":"r"}',
            b'{"id":"tp_1","url":"http://x/","status":"open","amount":1.5,"currency":"USD","reference":"r"}',
            b'{"id":"tp_1","url":"http://x/","status":"open","amount":"1","currency":"USD","reference":"r"}',
            b'{"id":"tp_1","url":"http://x/","status":"open","amount":0,"currency":"USD","reference":"r"}',
            b'{"id":"tp_1","url":"http://x/","status":"open","amount":9007199254740992,"currency":"USD","reference":"r"}',
            b'{"id":"tp_1","url":"http://x/","status":"open","amount":1,"currency":"XXX","reference":"r"}',
            b'{"id":"tp_1","url":"javascript:x","status":"open","amount":1,"currency":"USD","reference":"r"}',
        ],
    )
    @pytest.mark.parametrize("status", [200, 302, 500])
    async def test_m5_nonsense_is_a_failure(self, answer: bytes, status: int) -> None:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(answer)}\r\nLocation: /\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + answer)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            adapter = TestProvider(f"http://127.0.0.1:{port}", SECRET)
            try:
                with pytest.raises(ProviderFailure) as failure:
                    await adapter.fetch_payment("tp_1")
                assert not isinstance(failure.value, NoSuchPayment)
            finally:
                await adapter.close()

    async def test_nobody_there_is_a_failure(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as port:
            adapter = TestProvider(f"http://127.0.0.1:{port.getsockname()[1]}", SECRET)
        try:
            with pytest.raises(ProviderFailure):
                await adapter.create_payment(order())
        finally:
            await adapter.close()

    async def test_no_call_is_made_inside_a_transaction(self, service: Service) -> None:
        adapter = TestProvider("http://127.0.0.1:9", SECRET)
        try:
            async with service.db.write():
                with pytest.raises(RuntimeError):
                    await adapter.fetch_payment("tp_1")
        finally:
            await adapter.close()

    async def test_the_notices_of_the_built_in_one_stop_when_told_to(self, service: Service) -> None:
        assert service.services.provider_app is not None
        stop = asyncio.Event()
        running = asyncio.create_task(service.services.provider_app.run(stop))
        await service.services.provider_app.deliver_due_callbacks()
        stop.set()
        async with asyncio.timeout(30):
            await running
        assert stop.is_set(), "others wait for it, too"
