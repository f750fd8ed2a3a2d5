"""Eligibility subscriptions through the partner's API."""

from typing import Any, Final
from uuid import UUID

from almoner.kit.evidence import Evaluation
from almoner.nonprofits.activities.domain import SUB_TAGS, build_assigned_tags
from almoner.platform.evidence import store as evidence_store
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

PATH, SIMULATE = "/v1/eligibility-subscriptions", "/v1/sandbox/simulate"
INVALID_STATE: Final = (400, "eligibility_subscription/invalid_state")


def tag(service: Service, code: str) -> str:
    """The ID of a sub-tag."""
    return service.db.deployment.ids.encode("activitysubtag", SUB_TAGS[code].id)


def uuid(service: Service, text: str, type_: str = "eligibilitysubscription") -> UUID:
    """The UUID of a text ID."""
    found = service.db.deployment.ids.decode(type_, text)
    assert found is not None
    return found


async def body_of(service: Service, rules: dict[str, str] | None = None, **more: Any) -> str:
    """The ID of a new organisation whose register lists these activities."""
    made = await factories.nonprofit(service, **more)
    if rules:
        await tagged(service, made, rules)
    return made


async def tagged(service: Service, organisation: str, rules: dict[str, str]) -> None:
    """Change the activities in the organisation's register data."""
    found = build_assigned_tags(rules)
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set activities = $2, tag_ids = $3, updated_at = $4 where id = $1",
            uuid(service, organisation, "organisation"),
            dict(found.rules_by_sub_tag) or None,
            list(found.tag_ids),
            tx.now,
        )


async def create(api: Client, organisation: str, *suggested: str, **body: Any) -> dict[str, Any]:
    """Create a subscription; ``suggested`` are IDs or a test value."""
    given = {"organisationId": organisation, "suggestedActivitySubTags": list(suggested), **body}
    record: dict[str, Any] = data(await api.post(PATH, given))
    return record


async def shown(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The record as its GET returns it now."""
    found: dict[str, Any] = data(await api.get(f"{PATH}/{record['id']}"))
    return found


async def evaluated(service: Service, api: Client, organisation: str, *suggested: str, **body: Any) -> dict[str, Any]:
    """Create a subscription, and do all due work."""
    made = await create(api, organisation, *suggested, **body)
    await service.drain()
    return await shown(api, made)


async def refused(api: Client, body: dict[str, Any]) -> tuple[int, str, list[str]]:
    """(status, error code, reasons) of a refused creation."""
    answer = await api.post(PATH, body)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["reasons"]


async def cancel(api: Client, record: dict[str, Any]) -> tuple[int, str]:
    """(status, status of the record or error code) of a cancellation."""
    answer = await api.post(f"{PATH}/{record['id']}/cancel")
    stated = answer.json()
    return answer.status_code, stated["data"]["status"] if "data" in stated else stated["error"]["code"]


async def told(service: Service, api: Client) -> list[dict[str, Any]]:
    """The partner's events about its subscriptions, in order."""
    await service.drain()
    events = data(await api.get("/v1/events", direction="ASC", pageSize=100))
    return [event["eventData"] for event in events if event["eventType"] == "eligibility_subscription.updated"]


async def evidence(service: Service, record: dict[str, Any]) -> list[Evaluation]:
    """Every evaluation, oldest first."""
    async with service.db.read() as tx:
        return await evidence_store.list_evaluations(tx, uuid(service, record["id"]))


def summary(record: dict[str, Any]) -> tuple[str | None, list[str], list[str]]:
    """(eligibility, rules of confirmed tags, rules of rejected tags)."""
    results = record["results"]
    return (
        results["eligibilityStatus"],
        [one["rule"] for one in results["confirmedActivitySubTags"]],
        [one["rule"] for one in results["rejectedActivitySubTags"]],
    )
