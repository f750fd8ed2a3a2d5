"""Monitoring subscriptions through the partner's API."""

from typing import Any, Final

from almoner.screening.watchlists.domain import CATEGORIES
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

PATH, SIMULATE = "/v1/monitoring-subscriptions", "/v1/sandbox/simulate"
UNKNOWN: Final[dict[str, Any]] = {
    "complianceStatus": None,
    **{category: {"status": None} for category in CATEGORIES},
    "registration": {"active": None},
}


async def subscribe(service: Service, api: Client, suffix: str = "", **body: Any) -> dict[str, Any]:
    """Create a subscription, to a new organisation unless given."""
    if not body:
        body = {"organisationId": await factories.nonprofit(service)}
    (field,) = body
    made: dict[str, Any] = data(await api.post(PATH, {field: body[field] + suffix}))
    return made


async def shown(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The record as its GET returns it now."""
    found: dict[str, Any] = data(await api.get(f"{PATH}/{record['id']}"))
    return found


async def looked(service: Service, api: Client, suffix: str = "", **body: Any) -> dict[str, Any]:
    """Create a subscription, and do all due work."""
    made = await subscribe(service, api, suffix, **body)
    await service.drain()
    return await shown(api, made)


async def refused(api: Client, **body: Any) -> tuple[int, str, list[str]]:
    """(status, error code, reasons) of a refused creation."""
    answer = await api.post(PATH, body)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["reasons"]


async def cancelled(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """Cancel a subscription; returns the record."""
    found: dict[str, Any] = data(await api.post(f"{PATH}/{record['id']}/cancel"))
    return found


async def set_results(api: Client, record: dict[str, Any], **results: Any) -> dict[str, Any]:
    """Simulate a step; returns the record."""
    answer = await api.post(SIMULATE, {"id": record["id"], "action": "set_results", "results": results})
    found: dict[str, Any] = data(answer)
    assert answer.json()["object"] == "monitoring_subscription"
    return found


async def told(service: Service, api: Client) -> list[dict[str, Any]]:
    """The partner's events about subscriptions, in order."""
    await service.drain()
    events = data(await api.get("/v1/events", direction="ASC", pageSize=100))
    return [event["eventData"] for event in events if event["eventType"] == "monitoring_subscription.updated"]


def statuses(record: dict[str, Any]) -> dict[str, str | None]:
    """The status of each category."""
    return {category: record["results"][category]["status"] for category in CATEGORIES}


async def listed(api: Client, **query: Any) -> tuple[list[str], int]:
    """(IDs, total) of a list."""
    answer = await api.get(PATH, **query)
    return [row["id"] for row in data(answer)], answer.json()["totalResults"]
