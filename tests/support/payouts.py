"""Donations on their way to nonprofits, for tests: donated, settled, verified, disbursed."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.disbursements.flows import DisbursementRunResult
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

SIMULATE = "/v1/sandbox/simulate"


async def simulate(api: Client, record: str, action: str, **body: Any) -> dict[str, Any]:
    """Simulate an action on a record; returns the record."""
    done: dict[str, Any] = data(await api.post(SIMULATE, {"id": record, "action": action, **body}))
    return done


async def refused(api: Client, record: str, action: str, **body: Any) -> tuple[str, list[str]]:
    """(error code, reasons) of a refused action."""
    answer = await api.post(SIMULATE, {"id": record, "action": action, **body})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    return error["code"], error["reasons"]


async def verified(service: Service, api: Client, organisation: str) -> dict[str, Any]:
    """Create an approved verification of a nonprofit."""
    made = data(await api.post("/v1/monetary-donation-verifications", {"organisationId": organisation}))
    await service.drain()
    return await simulate(api, made["id"], "approve")


async def settled(service: Service, api: Client, organisation: str, **gift: Any) -> dict[str, Any]:
    """Create a donation that the provider has paid out to us."""
    made = await factories.donation(service, api, organisation=organisation, **gift)
    await service.drain()  # its receipt: marking it as sent would lock the donation
    return await simulate(api, made["id"], "settle")


async def gift(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The current donation."""
    found: dict[str, Any] = data(await api.get(f"/v1/donations/{record['id']}"))
    return found


async def payouts(api: Client, **filters: Any) -> list[dict[str, Any]]:
    """The partner's disbursements, newest first."""
    found: list[dict[str, Any]] = data(await api.get("/v1/disbursements", **filters))
    return found


async def run(service: Service, rules: DisbursementRules | None = None) -> DisbursementRunResult:
    """Run the disbursements."""
    return await disbursements_flows.run_disbursements(service.db, rules or DisbursementRules())


async def came_back(service: Service, payout: dict[str, Any], reason: str = "account closed") -> None:
    """Record that the bank has returned a disbursement."""
    await disbursements_flows.mark_returned(
        service.db, uuid_of(service, "disbursement", payout["id"]), reason, recorded_by="officer"
    )


async def hold(service: Service, organisation: str) -> None:
    """Place a hold on a nonprofit."""
    await _decide(service, organisation, disbursements.hold_disbursements)


async def release(service: Service, organisation: str) -> None:
    """Release the holds on a nonprofit."""
    await _decide(service, organisation, disbursements.release_holds)


async def _decide(service: Service, organisation: str, decide: Callable[..., Awaitable[object]]) -> None:
    async with service.db.write() as tx:
        organisation_id = uuid_of(service, "organisation", organisation)
        await decide(
            tx, ALL_PARTNERS, organisation_id, note="by telephone", decided_by="officer", rules=DisbursementRules()
        )


def uuid_of(service: Service, type_: str, text: str) -> UUID:
    """The UUID of a record."""
    found = service.db.deployment.ids.decode(type_, text)
    assert found is not None
    return found


async def events_of(service: Service, donation: dict[str, Any]) -> list[str]:
    """The types of the events about a donation, in order."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select type from event where type like 'donation.%' and payload like $1 order by position",
            f'%"id":"{donation["id"]}"%'.encode(),
        )
    return [row["type"] for row in rows]
