"""Refunded donations, for tests."""

from typing import Any
from uuid import UUID

from almoner.giving.accounting.refunds import flows as refunds_flows
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import Refund
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support.client import Client, data
from tests.support.payouts import uuid_of
from tests.support.service import Service


async def refund(api: Client, record: dict[str, Any], amount: int | None = None) -> dict[str, Any]:
    """Refund a donation as the partner; returns the donation in the response."""
    body = {} if amount is None else {"amount": amount}
    made: dict[str, Any] = data(await api.post(f"/v1/donations/{record['id']}/refund", body))
    return made


async def refused(api: Client, record: dict[str, Any], amount: int | None = None) -> tuple[str, list[str]]:
    """(error code, reasons) of a refused refund."""
    answer = await api.post(f"/v1/donations/{record['id']}/refund", {} if amount is None else {"amount": amount})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    return error["code"], error["reasons"]


async def begun(service: Service, record: dict[str, Any], minor: int | None = None) -> Refund:
    """Begin a refund as an officer, without calling the provider yet."""
    async with service.db.write() as tx:
        gift = uuid_of(service, "donation", record["id"])
        return await refunds.begin_refund(
            tx, ALL_PARTNERS, gift, minor, DisbursementRules(), started_by="officer", note="asked for by mail"
        )


async def of(service: Service, record: dict[str, Any]) -> list[Refund]:
    """The refunds of a donation, oldest first."""
    async with service.db.read() as tx:
        return await refunds.list_by_donation(tx, uuid_of(service, "donation", record["id"]))


async def send(service: Service, provider: PaymentProvider, refund_id: UUID) -> None:
    """Send one refund to the provider."""
    await refunds_flows.send_refund(service.db, provider, refund_id)


async def by_hand(service: Service, refund_id: UUID, called: str) -> Refund:
    """Record a refund sent outside the service."""
    async with service.db.write() as tx:
        return await refunds.record_manual_refund(tx, refund_id, called, "sent by bank", "officer")
