"""Monetary donation verifications through the partner's API."""

from datetime import timedelta
from typing import Any

from tests.support.client import Client, data
from tests.support.service import Service

PATH, SIMULATE = "/v1/monetary-donation-verifications", "/v1/sandbox/simulate"
LIFETIME = timedelta(days=30)
INVALID_STATE = (400, "monetary_donation_verification/invalid_state")
NOT_FOUND = (400, "monetary_donation_verification/organisation_not_found")
CHECKS = ("registration", "compliance", "bank_details", "organisation_confirmation")


def checks(**ended: str) -> list[dict[str, str]]:
    """All four checks, pending by default."""
    return [{"type": check, "status": ended.get(check, "pending")} for check in CHECKS]


async def shown(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The record as its GET returns it now."""
    found: dict[str, Any] = data(await api.get(f"{PATH}/{record['id']}"))
    return found


async def refused(api: Client, **body: Any) -> tuple[int, str]:
    """(status, error code) of a refused creation."""
    answer = await api.post(PATH, body)
    return answer.status_code, answer.json()["error"]["code"]


async def simulate(api: Client, record: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
    """Simulate a decision; returns the record."""
    answer = await api.post(SIMULATE, {"id": record["id"], "action": action, **more})
    found: dict[str, Any] = data(answer)
    assert answer.json()["object"] == "monetary_donation_verification"
    return found


async def forbidden(api: Client, record: dict[str, Any], action: str, **more: Any) -> bool:
    """Whether the lifecycle refuses the action, and it changes nothing."""
    before = await shown(api, record)
    answer = await api.post(SIMULATE, {"id": record["id"], "action": action, **more})
    assert await shown(api, record) == before
    return (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE


async def told(service: Service, api: Client) -> list[tuple[str, dict[str, Any]]]:
    """The partner's events in order: (last word of the type, record)."""
    await service.drain()
    events = data(await api.get("/v1/events", direction="ASC", pageSize=100))
    return [(event["eventType"].rsplit(".", 1)[1], event["eventData"]) for event in events]


async def listed(api: Client, **query: Any) -> tuple[list[str], int]:
    """(IDs, total) of a list."""
    answer = await api.get(PATH, **query)
    return [row["id"] for row in data(answer)], answer.json()["totalResults"]
