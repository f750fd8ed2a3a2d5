"""The decision ladder over the registers of the United Kingdom and Australia, and in production."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from almoner.nonprofits.registers import flows as registers_flows
from almoner.platform.database.postgres import PostgresServer
from almoner.sources import REGISTER_SOURCES
from tests.support import database
from tests.support.bmf import body
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.production import PRODUCTION
from tests.support.service import Service, serving
from tests.support.validation import PATH, SIMULATE, Lists, decided, evidence, requested, steps

DATA: Final = Path(__file__).parents[1] / "data"
MARCH: Final = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
async def world(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    async with database.copied(postgres_server) as made, serving(made) as service:
        for source, files in (
            ("ccew", sorted((DATA / "gb_ccew").glob("*.zip"))),
            ("ccni", [DATA / "gb_ccni" / "charitydetails.csv"]),
            ("acnc", [DATA / "au_acnc" / "datadotgov_main_excerpt.csv"]),
        ):
            day = None if source == "ccew" else MARCH
            await registers_flows.import_files(service.db, REGISTER_SOURCES[source], files, as_of=day, force=True)
        await service.drain()  # what waits has been considered anew
        yield service


@pytest.fixture
async def partner(world: Service) -> AsyncIterator[Client]:
    client = world.client((await world.tenant()).secret)
    yield client
    await client.close()


@pytest.mark.parametrize(
    ("registry", "number", "name", "expected"),
    [
        ("CCEW", "208791", "Olivia Burgh Disaster Relief Association", {"deductibility": ("pass", "gift_aid")}),
        ("CCEW", "GB-CHC-208941", "Francis port Arts & Culture Institute", {"deductibility": ("warn", "no_gift_aid")}),
        ("CCNI", "NIC100004", "Disability Action (NI)", {"reports": ("warn", "reports_overdue")}),
        ("CCNI", "100006", "Lagan Valley Rural Transport", {"reports": ("pass", "reports_in_time")}),
        ("CCNI", "100006", "Lagan\tValley\nRural Transport", {"name": ("pass", "name_agrees")}),
        ("ACNC", "50 151 540 886", "Careflight", {"deductibility": ("unknown", "deductibility_not_told")}),
        ("ACNC", "56632449211", "Dead Puppet Society Ltd", {"namesakes": ("pass", "unique_name")}),
    ],
)
async def test_registered_bodies_are_accepted(
    world: Service, partner: Client, registry: str, number: str, name: str, expected: dict[str, tuple[str, str]]
) -> None:
    country = "AUS" if registry == "ACNC" else "GBR"
    record = await decided(world, partner, registryName=registry, registryId=number, name=name, countryCode=country)
    found = {step: (seen.verdict, seen.code) for step, seen in (await steps(world, record)).items()}
    assert record["acceptedAt"] is not None, found
    assert expected.items() <= found.items()
    organisation = data(await partner.get(f"/v1/organisations/{record['organisationId']}"))
    assert organisation["registryName"] == registry


@pytest.mark.parametrize(
    ("registry", "number", "name", "reasons"),
    [
        ("CCEW", "201935", "Jessica fort Human Rights Society", ("removed",)),
        ("CCEW", "203460-1", "Amy haven Crime and Justice Charity", ("removed",)),
        ("CCNI", "100019", "Ulidia Housing Association Limited", ("removed",)),
        ("CCNI", "100006", "Ulidia Housing Association Limited", ("name_disagrees",)),
        ("CCNI", "100006", "Lagan Valley\u202e Rural Transport", ("hidden_characters",)),
        ("CCNI", "100006", "Lagan Val\u200bley Rural Transport", ("hidden_characters",)),
        ("CCNI", "109999", "Lagan Valley Rural Transport", ("not_listed",)),
        ("ACNC", "56632449212", "Dead Puppet Society Limited", ("wrong_check_digit", "not_listed")),
        ("OSCR", "SC042386", "Some Fund", ("register_not_loaded",)),
    ],
)
async def test_the_others_wait_with_their_reasons(
    world: Service, partner: Client, registry: str, number: str, name: str, reasons: tuple[str, ...]
) -> None:
    country = "AUS" if registry == "ACNC" else "GBR"
    record = await decided(world, partner, registryName=registry, registryId=number, name=name, countryCode=country)
    assert (record["acceptedAt"], record["rejectedAt"]) == (None, None)
    (evaluation,) = await evidence(world, record)
    assert evaluation.reasons == reasons


async def test_in_production_a_test_value_is_a_name_and_nothing_is_simulated(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database, **PRODUCTION, documents_url=f"file://{tmp_path}") as service:
        api = service.client((await service.tenant()).secret)
        made = await requested(api, name="test_accept")
        await service.drain()
        assert data(await api.get(f"{PATH}/{made['id']}")) == made
        assert (await api.post(SIMULATE, {"id": made["id"], "action": "accept"})).status_code == 404
        await api.close()


@pytest.mark.parametrize(
    ("settings", "reasons"),
    [
        ({}, ()),
        ({"register_max_age": 10}, ("stale_data",)),
        ({"name_match_threshold": 1}, ("name_disagrees",)),
        ({"name_match_threshold": 0.5}, ()),
    ],
)
async def test_settings_say_how_much_is_decided_without_a_person(
    empty_database: TestDatabase, tmp_path: Path, settings: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    async with serving(empty_database, **settings) as service:
        await Lists(service.db, tmp_path).master(MARCH, [body("111111111", "ASHLAND RELIEF FUND INC")])
        await service.drain()
        service.clock.advance_to(MARCH + timedelta(days=30))
        api = service.client((await service.tenant()).secret)
        record = await decided(service, api, name="Ashland Relief Funds", registryId="11-1111111")
        (evaluation,) = await evidence(service, record)
        assert evaluation.reasons == reasons
        assert (record["acceptedAt"] is not None) is (not reasons)
        await api.close()


async def test_d8_an_office_elsewhere_is_told_where_the_whole_register_has_the_name_once(
    world: Service, partner: Client
) -> None:
    """However common its words are: a register that is wholly loaded, and tells no states, has nobody else."""
    office = {"addressLine1": "3 Harbour Road", "city": "Londonderry", "postal": "BT48 7AA", "countryCode": "GBR"}
    named = {"registryName": "CCNI", "registryId": "107193", "name": "The Kaleidoscope Foundation"}
    record = await decided(world, partner, **named, **office)
    step = (await steps(world, record))["address"]
    assert (step.verdict, step.code) == ("warn", "other_address")
    assert record["acceptedAt"] is not None
