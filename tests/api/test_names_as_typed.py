"""Sixty public bodies of 35 countries in twelve scripts: their names as applicants type them, against their register's.

A body's own name is accepted, or at most one in five waits for a person; another body's name on its number never is.
"""

import csv
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from almoner.kit.scripts import unicode_scripts_in_text
from almoner.nonprofits.registers import flows as registers_flows
from almoner.platform.database.postgres import PostgresServer
from almoner.sources import get_register_source
from tests.support import database
from tests.support.client import Client
from tests.support.service import Service, serving
from tests.support.validation import requested, shown

NAMES: Final = Path(__file__).parents[1] / "data" / "typed_names" / "names.tsv"
MARCH: Final = datetime(2026, 3, 1, tzinfo=UTC)
MAPPING: Final = """
[source]
code = "public-bodies"
unverified = false
[registry]
code = "PUBLIC"
name = "Register of public bodies"
english_name = "Register of public bodies"
country_code = "CHE"
characters = "digits"
[file]
format = "csv"
[columns]
number = "number"
name = "name"
[constants]
types = ["nonprofit"]
active = true
"""


def rows() -> list[tuple[str, str, str, str, str]]:
    """(number, country, listed, typed, another body) of each."""
    lines = (line for line in NAMES.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return [(str(100_000 + place), *line.split("\t")) for place, line in enumerate(lines)]  # type: ignore[misc]


@pytest.fixture(scope="module")
async def world(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("public")
    (folder / "public.toml").write_text(MAPPING)
    with (folder / "public.csv").open("w", newline="", encoding="utf-8") as file:
        written = csv.writer(file)
        written.writerow(("number", "name"))
        written.writerows((number, listed) for number, _, listed, *_ in rows())
    async with database.copied(postgres_server) as made, serving(made) as service:
        source = get_register_source(str(folder / "public.toml"))
        async with service.db.write() as tx:
            await registers_flows.create_declared_registry(tx, source)
        await registers_flows.import_files(service.db, source, [folder / "public.csv"], as_of=MARCH, force=True)
        await service.drain()
        yield service


@pytest.fixture
async def partner(world: Service) -> AsyncIterator[Client]:
    client = world.client((await world.tenant()).secret)
    yield client
    await client.close()


async def accepted(world: Service, partner: Client, asked: list[tuple[str, str]]) -> list[str]:
    """The names of those (name, number) that are accepted without a person."""
    made = [
        await requested(partner, name=name, registryName="PUBLIC", registryId=number, countryCode="CHE")
        for name, number in asked
    ]
    await world.drain()
    now = [await shown(partner, one) for one in made]
    return [name for (name, _), one in zip(asked, now, strict=True) if one["acceptedAt"] is not None]


def test_they_are_of_many_countries_and_scripts() -> None:
    found = rows()
    scripts = Counter(script for _, _, listed, *_ in found for script in unicode_scripts_in_text(listed))
    assert len(found) == 60
    assert len({country for _, country, *_ in found}) >= 27
    assert len(scripts) >= 10, scripts


async def test_their_own_names_are_accepted_as_they_are_typed(world: Service, partner: Client) -> None:
    asked = [(typed, number) for number, _, _, typed, _ in rows()]
    good = await accepted(world, partner, asked)
    missed = [typed for typed, _ in asked if typed not in good]
    assert len(missed) <= len(asked) // 5, missed
    print(len(good), "accepted; a person is asked about", missed)


@pytest.mark.long
async def test_no_other_body_is_accepted_on_their_number(world: Service, partner: Client) -> None:
    found = rows()
    beside = [(other, number) for number, *_, other in found]
    moved = [(typed, number) for (number, *_), (_, _, _, typed, _) in zip(found, [*found[1:], found[0]], strict=True)]
    assert await accepted(world, partner, [*beside, *moved]) == []
