"""Gifts on their way to nonprofits, for tests: given, settled, verified, paid out."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.disbursements.flows import RunResult
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

SIMULATE = "/v1/sandbox/simulate"


async def simulate(api: Client, record: str, action: str, **body: Any) -> dict[str, Any]:
    """What somebody else does to a record; the record afterwards."""
    done: dict[str, Any] = data(await api.post(SIMULATE, {"id": record, "action": action, **body}))
    return done


async def refused(api: Client, record: str, action: str, **body: Any) -> tuple[str, list[str]]:
    """The code and the reasons of a move that is not allowed."""
    answer = await api.post(SIMULATE, {"id": record, "action": action, **body})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    return error["code"], error["reasons"]


async def verified(service: Service, api: Client, organisation: str) -> dict[str, Any]:
    """An approved verification of a nonprofit."""
    made = data(await api.post("/v1/monetary-donation-verifications", {"organisationId": organisation}))
    await service.drain()
    return await simulate(api, made["id"], "approve")


async def settled(service: Service, api: Client, organisation: str, **gift: Any) -> dict[str, Any]:
    """A gift that the provider has paid out to us."""
    made = await factories.donation(service, api, organisation=organisation, **gift)
    await service.drain()  # its receipt: what marks it as sent would hold the donation while it is collected
    return await simulate(api, made["id"], "settle")


async def gift(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """A donation as it is now."""
    found: dict[str, Any] = data(await api.get(f"/v1/donations/{record['id']}"))
    return found


async def payouts(api: Client, **filters: Any) -> list[dict[str, Any]]:
    """The partner's payouts, newest first."""
    found: list[dict[str, Any]] = data(await api.get("/v1/disbursements", **filters))
    return found


async def run(service: Service, rules: DisbursementRules | None = None) -> RunResult:
    """Payouts are run."""
    return await disbursements_flows.run_disbursements(service.db, rules or DisbursementRules())


async def came_back(service: Service, payout: dict[str, Any], reason: str = "account closed") -> None:
    """The bank has returned a payout, and an officer says so."""
    await disbursements_flows.mark_returned(
        service.db, uuid_of(service, "disbursement", payout["id"]), reason, recorded_by="officer"
    )


async def hold(service: Service, organisation: str) -> None:
    """An officer stops payouts to a nonprofit."""
    await _decide(service, organisation, disbursements.hold_disbursements)


async def release(service: Service, organisation: str) -> None:
    """An officer lets a nonprofit be paid again."""
    await _decide(service, organisation, disbursements.release_holds)


async def _decide(service: Service, organisation: str, decide: Callable[..., Awaitable[object]]) -> None:
    async with service.db.write() as tx:
        organisation_id = uuid_of(service, "organisation", organisation)
        await decide(
            tx, ALL_PARTNERS, organisation_id, note="by telephone", decided_by="officer", rules=DisbursementRules()
        )


def uuid_of(service: Service, type_: str, text: str) -> UUID:
    """The UUID of a record."""
    found = service.db.deployment.ids.parse(type_, text)
    assert found is not None
    return found


async def events_of(service: Service, donation: dict[str, Any]) -> list[str]:
    """The types of the events that tell of a donation, in order."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select type from event where type like 'donation.%' and payload like $1 order by position",
            f'%"id":"{donation["id"]}"%'.encode(),
        )
    return [row["type"] for row in rows]
