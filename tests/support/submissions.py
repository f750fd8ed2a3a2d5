"""Validation submissions through the partner's API."""

from typing import Any, Final

from almoner.kit.ids import RecordIdCodec
from almoner.nonprofits.activities.domain import SUB_TAGS
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

PATH, CONFIGURATIONS, SIMULATE = (
    "/v1/validation-submissions",
    "/v1/validation-submission-configurations",
    "/v1/sandbox/simulate",
)
CHOIRS: Final = RecordIdCodec(sandbox=True).encode("activitysubtag", SUB_TAGS["AR301"].id)
ADA: Final = {"firstName": "Ada", "lastName": "Example", "email": "ada@example.net"}
DETAILS: Final = {
    "organisationName": "Casper Relief Fund",
    "registryName": "IRS",
    "registryId": "85-0196605",
    "website": "https://example.org",
    "countryCode": "USA",
    "language": "en",
}
QUESTIONS: Final[list[dict[str, Any]]] = [
    {"id": "use", "type": "short_text", "labels": {"en": "Where do you use our product?"}}
]


async def configured(api: Client, *checks: str, **members: Any) -> str:
    """The ID of a new configuration with these checks, all four by default."""
    body = {"checks": list(checks), **members} if checks else members
    return str(data(await api.post(CONFIGURATIONS, body))["id"])


async def applied(api: Client, **body: Any) -> dict[str, Any]:
    """Create a submission: of details unless an organisation or request is given, by Ada by default."""
    about = {} if body.keys() & {"organisationId", "validationRequestId"} else DETAILS
    made: dict[str, Any] = data(await api.post(PATH, {**ADA, **about, **body}))
    return made


async def of_organisation(service: Service, api: Client, suffix: str = "", **body: Any) -> dict[str, Any]:
    """Create a submission of a new organisation."""
    return await applied(api, organisationId=await factories.nonprofit(service) + suffix, **body)


async def refused(api: Client, **body: Any) -> tuple[str, list[str]]:
    """(error code, reasons) of a refused creation."""
    answer = await api.post(PATH, body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    return error["code"], error["reasons"]


async def shown(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The record as its GET returns it now."""
    found: dict[str, Any] = data(await api.get(f"{PATH}/{record['id']}"))
    return found


async def ended(service: Service, api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The record after all due work."""
    await service.drain()
    return await shown(api, record)


async def told(service: Service, api: Client) -> list[tuple[str, dict[str, Any]]]:
    """The partner's latest events about submissions, in order: (last word of the type, record)."""
    await service.drain()
    events = data(await api.get("/v1/events", direction="DESC", pageSize=100))
    return [
        (event["eventType"].rsplit(".", 1)[1], event["eventData"])
        for event in reversed(events)
        if event["eventType"].startswith("validation_submission.")
    ]


async def simulate(api: Client, id_: str, action: str, **more: Any) -> None:
    """Simulate an action on one of its checks."""
    data(await api.post(SIMULATE, {"id": id_, "action": action, **more}))
