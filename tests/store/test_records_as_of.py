"""The record as it stood on any day is what a fresh import of that day's files would give, whatever was loaded since.

The model knows no history: it takes the newest load of each source up to the day that was not taken back, and works out
what one would see.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from almoner.kit.errors import NotFound
from almoner.nonprofits.merges.domain import Succession, SuccessionKind, resolve_final_successors_by_organisation
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.registers import rollback
from almoner.nonprofits.registers.domain import RegisterEntry, RegisterLink
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
CCEW, LINKS = Written("ccew", "CCEW"), Written("gb-links", "CCEW", lists_organisations=False)
NUMBERS = [f"26371{nth}" for nth in range(6)]
ANCHOR = entry("199999", "Anchor")
LOADS = 14
State = dict[str, Any]


@pytest.fixture
async def loader(alone: Service, tmp_path: Path) -> Loader:
    return Loader(_db(alone), tmp_path)


def _db(service: Service) -> Any:
    return service.db


@dataclass
class Made:
    """One load as it was made; ``undone`` when it was taken back."""

    source: Written
    data_date: datetime
    rows: tuple[RegisterEntry | RegisterLink, ...]
    undone: bool = False


def bodies(random: Random, *, every: bool) -> tuple[RegisterEntry, ...]:
    return (
        ANCHOR,
        *(
            entry(
                number,
                f"Fund {random.choice('ABC')}",
                city=random.choice([None, "Leeds", "York"]),
                active=random.random() > 0.2,
                parent_number=random.choice([None, None, *NUMBERS[:2]]),
            )
            for number in NUMBERS
            if every or random.random() > 0.15
        ),
    )


def links(random: Random) -> tuple[RegisterEntry | RegisterLink, ...]:
    pairs = [random.sample(NUMBERS, 2) for _ in range(random.randint(1, 4))]
    return (ANCHOR, *(RegisterLink(random.choice(["merged", "reregistered"]), "CCEW", a, "CCEW", b) for a, b in pairs))


def expected(made: list[Made], day: datetime, ids: dict[str, UUID]) -> dict[str, State]:
    """What one sees of each number: of those that are not listed, that they are not active."""
    counted = [load for load in made if load.data_date <= day and not load.undone]
    listed = next(
        {row.number: row for row in load.rows if isinstance(row, RegisterEntry)}
        for load in counted[::-1]
        if load.source is CCEW
    )
    reported = next((load.rows for load in reversed(counted) if load.source is LINKS), ())
    became = resolve_final_successors_by_organisation(
        Succession(ids[row.number], ids[row.to_number], _ending(row))
        for row in reported
        if isinstance(row, RegisterLink)
    )
    active = {number for number, row in listed.items() if row.active and ids[number] not in became}
    found: dict[str, State] = {number: {"active": False} for number in ids}
    for number, row in listed.items():
        successor = became.get(ids[number])
        parent = row.parent_number if row.parent_number in active and row.parent_number != number else None
        found[number] = {
            "name": row.name,
            "city": row.city,
            "active": number in active,
            "succeeded_by": successor.organisation_id if successor else None,
            "status_override": successor.kind if successor else None,
            "branch_of": ids[parent] if parent else None,
        }
    return found


def _ending(link: RegisterLink) -> SuccessionKind:
    assert link.kind != "same"
    return link.kind


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 4))])
async def test_any_day_is_what_a_fresh_import_of_its_files_gives(loader: Loader, seed: int) -> None:
    random, made, day = Random(seed), list[Made](), FIRST
    for nth in range(LOADS):
        day += timedelta(days=random.randint(1, 3))
        source = CCEW if nth == 0 or random.random() < 0.6 else LINKS
        load = Made(source, day, bodies(random, every=nth == 0) if source is CCEW else links(random))
        await loader.load(source, day, *load.rows)
        made.append(load)
        if nth > 1 and random.random() < 0.3 and any(one.source is source and not one.undone for one in made[:-1]):
            await rollback.roll_back_newest_import(loader.db, source)
            load.undone = True
    async with loader.db.read() as tx:
        rows = await tx.fetch("select number_key, id from organisation")
        ids = {row["number_key"]: row["id"] for row in rows}
        for offset in range((day - FIRST).days + 2):
            asked = FIRST + timedelta(days=offset)
            if asked < made[0].data_date:
                continue
            model = expected(made, asked, ids)
            for number, id_ in ids.items():
                stood = await organisations.get_as_of(tx, ALL_PARTNERS, id_, asked)
                assert {field: getattr(stood, field) for field in model[number]} == model[number], (number, asked)
        with pytest.raises(NotFound):
            await organisations.get_as_of(tx, ALL_PARTNERS, ids[ANCHOR.number], FIRST)


async def test_a_wrong_day_that_was_taken_back_leaves_nothing_behind(loader: Loader) -> None:
    """Loaded as of May, taken back, and loaded again as of the March that it is."""
    march, april, may = (datetime(2026, month, 9, tzinfo=UTC) for month in (3, 4, 5))
    before = (ANCHOR, entry("263710", "Old"), entry("263711", "Leaving"))
    after = (ANCHOR, entry("263710", "New"), entry("263712", "Coming"))
    await loader.load(CCEW, FIRST, *before)
    await loader.load(CCEW, may, *after)
    await rollback.roll_back_newest_import(loader.db, CCEW)
    await loader.load(CCEW, march, *after)
    async with loader.db.read() as tx:
        ids = {row["number_key"]: row["id"] for row in await tx.fetch("select number_key, id from organisation")}
        stood = {number: await organisations.get_as_of(tx, ALL_PARTNERS, id_, april) for number, id_ in ids.items()}
        versions = await tx.fetchval(
            """
            select count(*) from register_entry one join register_entry other using (number_key)
            where one.id < other.id and one.valid_from <= $1 and one.valid_to > $1
                and other.valid_from <= $1 and coalesce(other.valid_to, 'infinity') > $1
            """,
            april,
        )
    assert [(stood[number].name, stood[number].active) for number in ("263710", "263711", "263712")] == [
        ("New", True),
        ("Leaving", False),
        ("Coming", True),
    ]
    assert versions == 0, "two versions of one number hold on the same day"
