"""Agent verifications through the partner's API."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import OfficialContact
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

PATH, SIMULATE = "/v1/agent-verifications", "/v1/sandbox/simulate"
LIFETIME = timedelta(days=30)
INVALID_STATE = (400, "agent_verification/invalid_state")
ADA = {"firstName": "Ada", "lastName": "Byron", "email": "ada@charity.example"}


async def create(service: Service, api: Client, *, organisation: str | None = None, **body: Any) -> dict[str, Any]:
    """Create a verification; of an agent of a new nonprofit unless ``organisation`` is given."""
    organisation = organisation or await factories.nonprofit(service, website="https://www.charity.example")
    record: dict[str, Any] = data(await api.post(PATH, {"organisationId": organisation, **ADA, **body}))
    return record


async def shown(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The record as its GET returns it now."""
    found: dict[str, Any] = data(await api.get(f"{PATH}/{record['id']}"))
    return found


async def refused(api: Client, **body: Any) -> tuple[int, str]:
    """(status, error code) of a refused creation."""
    answer = await api.post(PATH, body)
    return answer.status_code, answer.json()["error"]["code"]


async def simulate(api: Client, record: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
    """Simulate a step; returns the record afterwards."""
    answer = await api.post(SIMULATE, {"id": record["id"], "action": action, **more})
    found: dict[str, Any] = data(answer)
    assert answer.json()["object"] == "agent_verification"
    return found


async def told(service: Service, api: Client) -> list[tuple[str, dict[str, Any]]]:
    """The partner's events about agents in order: (last word of the type, record)."""
    await service.drain()
    events = data(await api.get("/v1/events", direction="ASC", pageSize=100))
    return [
        (event["eventType"].rsplit(".", 1)[1], event["eventData"])
        for event in events
        if event["eventType"].startswith("agent_verification.")
    ]


async def listed(api: Client, **query: Any) -> tuple[list[str], int]:
    """(IDs, total) of a list."""
    answer = await api.get(PATH, **query)
    return [row["id"] for row in data(answer)], answer.json()["totalResults"]


async def mail_to(service: Service, api: Client, address: str) -> dict[str, Any]:
    """The newest email to an address, after all due work is done."""
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox", to=address))
    found: dict[str, Any] = mails[0]
    return found


def link_in(mail: dict[str, Any]) -> str:
    """The URL that the email links to."""
    [link] = mail["links"]
    return str(link)


def code_in(mail: dict[str, Any]) -> str:
    """The six-digit code in an email."""
    found = re.search(r"^\d{6}$", mail["text"], re.MULTILINE)
    assert found, mail["text"]
    return found[0]


def path_of(link: str) -> str:
    """A URL without its host."""
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


async def contact(service: Service, organisation: str, email: str = "info@relief.example") -> int:
    """Set a nonprofit's contact address, as the command does; returns how many applicants it is asked about."""
    organisation_id = service.db.deployment.ids.decode("organisation", organisation)
    assert organisation_id is not None
    async with service.db.write() as tx:
        return await agents.set_official_contact_and_enqueue_reviews(
            tx, OfficialContact(organisation_id, email, "the register's page"), "operator_olive"
        )
