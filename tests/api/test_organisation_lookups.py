"""Looking an organisation up by its number: every spelling, what a 404 says, and how old the data are."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

NUMBER = "1988421"


@pytest.fixture
async def loaded(service: Service, tmp_path: Path) -> datetime:
    """A charity of a register of data of today."""
    day = service.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    await Loader(service.db, tmp_path).load(
        Written("ccew-lookups", "CCEW", is_format_unverified=True), day, entry(NUMBER, "Fund")
    )
    return day


@pytest.fixture
def a_month(service: Service) -> Iterator[None]:
    """Data may be a month old."""
    usual = service.db.deployment
    service.db.deployment = replace(usual, max_data_age=timedelta(days=30))
    yield
    service.db.deployment = usual


async def test_every_spelling_finds_it(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    number = data(await api.get(f"/v1/organisations/{organisation}"))["registryId"]
    for spelt in (number, f"{number[:2]}-{number[2:]}", f"US-EIN-{number}", f"EIN {number[:2]} {number[2:]}"):
        assert data(await api.get(f"/v1/organisations/USA/IRS/{spelt}"))["id"] == organisation


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("USA/IRS/12345", "malformed"),
        ("AUS/ACNC/52093617381", "wrong check digit"),
        ("USA/CCEW/1173575", "no registry"),
    ],
)
async def test_a_number_that_cannot_be_one_is_a_404_that_says_why(api: Client, path: str, said: str) -> None:
    answer = await api.get(f"/v1/organisations/{path}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "not_found")
    assert said in " ".join(error["reasons"])


async def test_a_404_tells_a_number_that_is_not_listed_from_a_register_that_is_not_loaded(
    api: Client, loaded: datetime
) -> None:
    missing = await api.get("/v1/organisations/GBR/CCEW/1173575")
    (reason,) = missing.json()["error"]["reasons"]
    assert (missing.status_code, missing.headers["Data-As-Of"]) == (404, f"{loaded:%Y-%m-%d}")
    assert reason == f"the register CCEW does not list this number in its data of {loaded:%Y-%m-%d}"
    unknown = await api.get("/v1/organisations/CAN/CRA/119219814RR0001")
    assert unknown.status_code == 404
    assert "not loaded" in unknown.json()["error"]["reasons"][-1]
    assert "Data-As-Of" not in unknown.headers


async def test_what_is_wrong_with_a_query_names_the_parameter(api: Client) -> None:
    organisation = "/v1/organisations/sandbox_organisation_00000000000000000000000000"
    for path, reason in (
        (f"{organisation}?asOf=2026-02-30", "query.asOf must be a day of the calendar, such as 2026-11-21"),
        (f"{organisation}?asOf=x", "query.asOf must be a day such as 2026-11-21, or a date and time with its offset"),
        ("/v1/organisations?query=a%00b", "query.query must not hold NUL characters"),
    ):
        answer = await api.get(path)
        assert (answer.status_code, answer.json()["error"]["reasons"]) == (400, [reason])


@pytest.mark.usefixtures("a_month")
async def test_sources_say_of_which_day_they_are_and_when_they_are_too_old(
    service: Service, api: Client, loaded: datetime
) -> None:
    answer = await api.get(f"/v1/organisations/GBR/CCEW/GB-CHC-{NUMBER}")
    day = loaded.astimezone(UTC)
    assert answer.headers["Data-As-Of"] == f"{day:%Y-%m-%d}"
    reported = {
        "registryName": "CCEW",
        "registryId": NUMBER,
        "dataAsOf": f"{day:%Y-%m-%d}T00:00:00.000Z",
        "source": "ccew-lookups",
        "unverified": True,
        "stale": False,
    }
    assert data(answer)["sources"] == [reported]
    service.clock.advance(timedelta(days=31))
    (old,) = data(await api.get(f"/v1/organisations/GBR/CCEW/{NUMBER}"))["sources"]
    assert old == {**reported, "stale": True}


async def test_what_no_register_lists_has_one_source_without_a_day(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    record = data(await api.get(f"/v1/organisations/{organisation}"))
    (source,) = record["sources"]
    assert (source["registryName"], source["dataAsOf"], source["source"], source["stale"]) == ("IRS", None, None, False)
    assert (record["inactiveReason"], record["succeededBy"]) == (None, None)
    gone = data(await api.get(f"/v1/organisations/{await factories.nonprofit(service, active=False)}"))
    assert (gone["active"], gone["inactiveReason"]) == (False, "removed")
