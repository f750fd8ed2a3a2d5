"""What registers changed in organisations: the history, and the record as it stood (settled 8)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.registers import flows as registers_flows
from tests.support import factories
from tests.support.bmf import bodies, body, write
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

DAYS = [datetime(2026, month, 9, tzinfo=UTC) for month in (1, 2, 3, 4)]
RENAMED, GONE, LATE = "850000001", "850000002", "850000003"
OTHERS = bodies(30, start=860_000_000, state="NE", name="PLATTE GUILD")
FIRST = body(RENAMED, "OLD PLATTE FUND", STATE="NE", RULING="200105")
SECOND = {**FIRST, "NAME": "NEW PLATTE FUND", "RULING": "200106", "STREET": "2 ELM ST"}
LEAVING = body(GONE, "LEAVING FUND", STATE="NE")
SNAPSHOTS = [
    [FIRST, LEAVING],
    [SECOND, LEAVING],
    [SECOND, body(LATE, "LATE FUND", STATE="NE")],
    [SECOND, LEAVING, body(LATE, "LATE FUND", STATE="NE")],
]


@pytest.fixture(scope="module", autouse=True)
async def register(service: Service, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """Four months of a register."""
    folder: Path = tmp_path_factory.mktemp("register")
    for day, rows in zip(DAYS, SNAPSHOTS, strict=True):
        file = write(folder / f"{day:%Y-%m-%d}.csv", [*rows, *OTHERS])
        await registers_flows.import_files(service.db, IrsBmfReader(), [file], as_of=day)
    yield  # noqa: PT022 (the data stay; names and numbers in them occur nowhere else)


async def found(api: Client, ein: str) -> dict[str, Any]:
    (record,) = data(await api.get("/v1/organisations", registryId=ein))
    assert isinstance(record, dict)
    return record


async def test_every_change_is_told_with_its_day_and_source(publishable: Client) -> None:
    record = await found(publishable, RENAMED)
    answer = (await publishable.get(f"/v1/organisations/{record['id']}/history", direction="ASC")).json()
    assert (answer["object"], answer["totalResults"]) == ("organisation_change", 4)
    at = {"at": "2026-02-09T00:00:00.000Z", "source": "IRS"}
    assert {change["field"]: change for change in answer["data"]} == {
        "name": {**at, "kind": "renamed", "field": "name", "from": "OLD PLATTE FUND", "to": "NEW PLATTE FUND"},
        "displayName": {
            **at,
            "kind": "renamed",
            "field": "displayName",
            "from": "Old Platte Fund",
            "to": "New Platte Fund",
        },
        "addressLine1": {**at, "kind": "moved", "field": "addressLine1", "from": "1 MAIN ST", "to": "2 ELM ST"},
        "registrationDate": {
            **at,
            "kind": "changed",
            "field": "registrationDate",
            "from": "2001-05-01T00:00:00.000Z",
            "to": "2001-06-01T00:00:00.000Z",
        },
    }


async def test_leaving_and_coming_back_are_changes(api: Client) -> None:
    record = await found(api, GONE)
    changes = data(await api.get(f"/v1/organisations/{record['id']}/history"))
    assert [(change["at"][:10], change["kind"], change["from"], change["to"]) for change in changes] == [
        ("2026-04-09", "listed_again", False, True),
        ("2026-03-09", "removed", True, False),
    ]
    assert record["active"] is True


async def test_history_is_paged(api: Client) -> None:
    path = f"/v1/organisations/{(await found(api, RENAMED))['id']}/history"
    whole = data(await api.get(path))
    first = (await api.get(path, pageSize=3)).json()
    second = (await api.get(first["_links"]["next"].removeprefix("http://localhost:8080"))).json()
    assert first["data"] + second["data"] == whole
    back = (await api.get(second["_links"]["prev"].removeprefix("http://localhost:8080"))).json()
    assert back["data"] == first["data"]


async def test_the_record_as_it_stood(api: Client) -> None:
    record = await found(api, RENAMED)
    path = f"/v1/organisations/{record['id']}"
    for day in ("2026-01-09", "2026-02-08", "2026-02-08T23:59:59.999Z"):
        answer = await api.get(path, asOf=day)
        old = data(answer)
        assert (old["name"], old["displayName"], old["addressLine1"]) == (
            "OLD PLATTE FUND",
            "Old Platte Fund",
            "1 MAIN ST",
        )
        assert old["registrationDate"] == "2001-05-01T00:00:00.000Z"
        assert answer.headers["Data-As-Of"] == "2026-01-09"  # the day of the data, not the one that was asked for
        assert [source["dataAsOf"] for source in old["sources"]] == ["2026-01-09T00:00:00.000Z"]
    for day in ("2026-02-09", "2026-04-09", "2027-01-01"):
        assert data(await api.get(path, asOf=day))["name"] == "NEW PLATTE FUND"
    assert data(await api.get(path, asOf="2027-01-01")) == record
    gone = f"/v1/organisations/{(await found(api, GONE))['id']}"
    active = [data(await api.get(gone, asOf=f"{day:%Y-%m-%d}"))["active"] for day in DAYS]
    assert active == [True, True, False, True]


async def test_before_it_was_known_there_is_no_record(api: Client) -> None:
    path = f"/v1/organisations/{(await found(api, LATE))['id']}"
    assert (await api.get(path, asOf="2026-03-08")).status_code == 404
    assert (await api.get(path, asOf="2026-03-09")).status_code == 200
    bad = await api.get(path, asOf="yesterday")
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "bad_request")


async def test_history_is_seen_by_those_who_see_the_organisation(
    api: Client, other: Client, service: Service, tenant: Tenant
) -> None:
    own = await factories.nonprofit(service, partner=tenant.partner)
    assert data(await api.get(f"/v1/organisations/{own}/history")) == []
    assert (await other.get(f"/v1/organisations/{own}/history")).status_code == 404
    assert (await other.get(f"/v1/organisations/{own}", asOf="2026-04-09")).status_code == 404
