"""An organisation has one name in every record and event: its own, and not the one that people are shown."""

from collections.abc import Iterator
from typing import Any, Final

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import applied

NAME, SHOWN, BRANDED = "ORTOLAN GUILD", "Ortolan Guild, Casper Chapter", "The Ortolans!"
RECORDS: Final = (
    "validation-submissions",
    "validation-submissions-organisations",
    "monitoring-subscriptions",
    "eligibility-subscriptions",
    "agent-verifications",
    "validation-requests",
    "donations",
    "donation-sessions",
    "disbursements",
    "events",
)


def names_in(record: Any, parent: str = "") -> Iterator[tuple[str, str]]:
    """(the member, the name) of each organisation that is named in a record."""
    if isinstance(record, list):
        for one in record:
            yield from names_in(one, parent)
    elif isinstance(record, dict):
        for member, value in record.items():
            if isinstance(value, str) and (
                member in ("organisationName", "displayName")
                or (member == "name" and parent in ("organisation", "results"))
            ):
                yield member, value
            yield from names_in(value, member)


async def test_every_record_and_event_has_the_own_name(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service, name=NAME)
    known = service.db.deployment.ids.decode("organisation", organisation)
    async with service.db.write() as tx:
        await tx.execute("update organisation set display_name = $2 where id = $1", known, SHOWN)
        await tx.execute(
            "insert into organisation_branding (organisation_id, display_name) values ($1, $2)", known, BRANDED
        )
    created = [
        await applied(api, organisationId=organisation),
        data(await api.post("/v1/monitoring-subscriptions", {"organisationId": organisation})),
        data(await api.post("/v1/eligibility-subscriptions", {"organisationId": organisation})),
    ]
    await factories.donation(service, api, organisation=organisation)
    await service.drain()
    found = [*names_in(created)]
    for path in RECORDS:
        listed = data(await api.get(f"/v1/{path}"))
        found += names_in(listed)
        rows = listed if isinstance(listed, list) else []
        for row in rows:
            if path not in ("events", "validation-submissions-organisations"):
                found += names_in(data(await api.get(f"/v1/{path}/{row['id']}")))
    assert {name for member, name in found if member != "displayName"} == {NAME}
    assert len(found) > 10
    shown = data(await api.get(f"/v1/organisations/{organisation}"))
    assert (shown["name"], shown["displayName"]) == (NAME, BRANDED)
    assert data(await api.get("/v1/monitoring-subscriptions", query="ortolan", sort="name"))
