"""What is found for what people type: places, accents, scripts, short forms, slips, filters, and in which order."""

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import pytest

from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import normalise_search_text
from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from tests.support import database
from tests.support.service import serving

US: Final = UUID("019b76da-a800-7000-8000-000000000001")
UK: Final = UUID("019b76da-a800-7000-8000-000000000002")
NOBODY: Final = Partner(UUID(int=1))
TAGS: Final = (UUID(int=11), UUID(int=12), UUID(int=13))
KINDS: Final = ("nonprofit", "social_impact", "education")


@dataclass(frozen=True, slots=True)
class Body:
    """One to be found, or not."""

    name: str
    other: str = ""
    place: str = ""
    description: str = ""
    registry: UUID = US
    country: str = "USA"
    number: str = ""
    types: tuple[str, ...] = ("nonprofit",)
    active: bool = True
    central: bool = False
    size: int = 0
    exempt: bool | None = None
    tags: tuple[UUID, ...] = field(default=())


KNOWN: Final = (
    Body("FIRST BAPTIST CHURCH", place="DALLAS TX 75201"),
    Body("FIRST BAPTIST CHURCH", place="WACO TX 76701"),
    Body("SOCIÉTÉ PROTECTRICE DES ANIMAUX", place="MONTRÉAL"),
    Body("RUSSIAN RED CROSS", other="Красный Крест", place="MOSCOW"),
    Body("RED CROSS SOCIETY OF CHINA", other="中国红十字会", place="BEIJING"),
    Body("ISLAMIC RELIEF", other="الإغاثة الإسلامية", place="BIRMINGHAM"),
    Body("SAINT LUKES HOSPITAL FOUNDATION", place="BOISE ID"),
    Body("NATL ASSN OF LETTER CARRIERS", place="CHEYENNE WY"),
    Body("AMERICAN CIVIL LIBERTIES UNION", place="NEW YORK NY"),
    Body("Y M C A OF CASPER", place="CASPER WY"),
    Body("ACLU OF WYOMING", place="CHEYENNE WY"),
    Body("SMITHSONIAN INSTITUTION", place="WASHINGTON DC", description="MUSEUMS AND ARCHIVES OF BROLLIGRAPHY"),
    Body("NATIONAL GUARD OF IRAQ", place="MEDICINE BOW WY"),
    *(Body(f"NATIONAL MEDICINE {nth} OF HARD BOW", place="IRAQ") for nth in range(3)),
    Body("LARAMIE LIONS CLUB", active=False),
    Body("LARAMIE LIONS CLUB"),
    Body("LARAMIE LIONS CLUB", central=True),
    Body("LARAMIE LIONS CLUB FOUNDATION", size=9),
    Body("4H CLUB 2024", number="839990001"),
    Body("OXBOW FOOD BANK", registry=UK, country="GBR", number="1190001"),
)


async def _enter(tx: Tx, several: tuple[Body, ...]) -> None:
    for nth, body in enumerate(several):
        await tx.execute(
            """
            insert into organisation (
                id, registry_id, registry_number, number_key, name, country_code, types, active, is_branch_parent,
                prominence, usa_group_exempt, tag_ids, description, search_name, search_other, search_place,
                search_description, created_at, updated_at
            ) values ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17)
            """,
            tx.new_id(),
            body.registry,
            body.number or f"{700_000_000 + nth}",
            body.name,
            body.country,
            list(body.types),
            body.active,
            body.central,
            body.size,
            body.exempt,
            list(body.tags),
            body.description,
            normalise_search_text(body.name),
            normalise_search_text(body.other),
            normalise_search_text(body.place),
            normalise_search_text(body.description),
            tx.now,
        )


@pytest.fixture(scope="module")
async def known(postgres_server: PostgresServer) -> AsyncIterator[Database]:
    async with database.copied(postgres_server) as made, serving(made) as service:
        async with service.db.write() as tx:
            await _enter(tx, KNOWN)
        yield service.db


async def found(db: Database, text: str, filters: OrganisationFilters | None = None) -> list[str]:
    async with db.read() as tx:
        answer = await organisations.search_by_text(
            tx, NOBODY, filters or OrganisationFilters(), text, 0, 25, best_first=True
        )
    return [row.name for row in answer.organisations]


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("societe protectrice des animaux", "SOCIÉTÉ PROTECTRICE DES ANIMAUX"),
        ("Société protectrice", "SOCIÉTÉ PROTECTRICE DES ANIMAUX"),
        ("Красный Крест", "RUSSIAN RED CROSS"),
        ("krasnyy krest", "RUSSIAN RED CROSS"),
        ("中国红十字会", "RED CROSS SOCIETY OF CHINA"),
        ("红十字", "RED CROSS SOCIETY OF CHINA"),
        ("الإغاثة الإسلامية", "ISLAMIC RELIEF"),
        ("st lukes hosp fdn", "SAINT LUKES HOSPITAL FOUNDATION"),
        ("national association of letter carriers", "NATL ASSN OF LETTER CARRIERS"),
        ("a.c.l.u. of wyoming", "ACLU OF WYOMING"),
        ("YMCA casper", "Y M C A OF CASPER"),
        ("institution smithsonian", "SMITHSONIAN INSTITUTION"),
        ("smithsonian inst", "SMITHSONIAN INSTITUTION"),
        ("smithsonian ins", "SMITHSONIAN INSTITUTION"),
        ("smithsonian i", "SMITHSONIAN INSTITUTION"),
        ("smithsoinan insttution", "SMITHSONIAN INSTITUTION"),
        ("smithsonianinstitution", "SMITHSONIAN INSTITUTION"),
        ("smith sonian institution", "SMITHSONIAN INSTITUTION"),
        ("smithsonian washington", "SMITHSONIAN INSTITUTION"),
        ("letter carriers wyoming", "NATL ASSN OF LETTER CARRIERS"),
        ("saint lukes hospital idaho", "SAINT LUKES HOSPITAL FOUNDATION"),
        ("brolligraphy museums", "SMITHSONIAN INSTITUTION"),
        ("national guad hard of iraq medicine bow", "NATIONAL GUARD OF IRAQ"),  # one word too many, with the place
        ("83-9990001", "4H CLUB 2024"),
        ("2024 4h", "4H CLUB 2024"),
        ("4-H club", "4H CLUB 2024"),
        ("1190001", "OXBOW FOOD BANK"),
        ("GB-CHC-1190001", "OXBOW FOOD BANK"),
        ("oxbow food bank ltd", "OXBOW FOOD BANK"),
    ],
)
async def test_what_people_type_finds_what_they_mean(known: Database, typed: str, name: str) -> None:
    assert (await found(known, typed))[:1] == [name]


async def test_initials_find_the_words_that_they_stand_for(known: Database) -> None:
    assert await found(known, "a.c.l.u.") == ["ACLU OF WYOMING", "AMERICAN CIVIL LIBERTIES UNION"]


@pytest.mark.parametrize("place", ["dallas", "75201", "dallas tx", "dallsa"])
async def test_a_place_tells_bodies_of_one_name_apart(known: Database, place: str) -> None:
    async with known.read() as tx:
        answer = await organisations.search_by_text(
            tx, NOBODY, OrganisationFilters(), f"first baptist church {place}", 0, 25, best_first=True
        )
    first = answer.organisations[0]
    assert first.registry_number == "700000000"
    if place != "dallsa":
        assert answer.ranked_results_by_id[first.id].found_by == "place"


async def test_a_state_is_found_by_its_name_and_its_code(known: Database) -> None:
    for state in ("wy", "wyoming", "Wyoming "):
        async with known.read() as tx:
            answer = await organisations.search_by_text(
                tx, NOBODY, OrganisationFilters(), f"letter carriers {state}", 0, 25, best_first=True
            )
        first = answer.organisations[0]
        assert (first.name, answer.ranked_results_by_id[first.id].found_by) == (
            "NATL ASSN OF LETTER CARRIERS",
            "place",
        ), state
        assert answer.similar_results_only is False, state


async def test_that_very_name_then_active_then_central_bodies_are_first(known: Database) -> None:
    async with known.read() as tx:
        answer = await organisations.search_by_text(
            tx, NOBODY, OrganisationFilters(), "laramie lions club", 0, 25, best_first=True
        )
    reported = [(row.name, row.active, row.is_branch_parent) for row in answer.organisations]
    name = "LARAMIE LIONS CLUB"
    assert reported[:3] == [(name, True, True), (name, True, False), (name, False, False)]
    assert reported[3][0] == "LARAMIE LIONS CLUB FOUNDATION"


async def test_every_keystroke_finds_the_name(known: Database) -> None:
    name = "smithsonian institution"
    for typed in range(3, len(name) + 1):
        assert "SMITHSONIAN INSTITUTION" in await found(known, name[:typed]), name[:typed]


@pytest.mark.parametrize("text", ["a", "the of and", "a " * 250, "x" * 500, "7", "''", "&|!", "smith:*", "%"])
async def test_nothing_typed_is_an_error(known: Database, text: str) -> None:
    await found(known, text)


async def test_a_changed_record_is_found_by_what_it_is_now(known: Database) -> None:
    async with known.write() as tx:
        await _enter(tx, (Body("HOLLYHOCK CIRCLE", number="839990777"),))
    assert await found(known, "hollyhock") == ["HOLLYHOCK CIRCLE"]
    async with known.write() as tx:
        await tx.execute(
            """
            update organisation set name = 'LARKSPUR CIRCLE', search_name = 'larkspur circle', active = false
            where number_key = '839990777'
            """
        )
        words = await tx.fetch(
            "select word, occurrences as n from organisation_search_term where word in ('hollyhock', 'larkspur')"
        )
    assert {row["word"]: row["n"] for row in words} == {"hollyhock": 0, "larkspur": 1}
    assert await found(known, "hollyhock") == []
    assert await found(known, "larkspur", OrganisationFilters(active=False)) == ["LARKSPUR CIRCLE"]
    assert await found(known, "larkspur", OrganisationFilters(active=True)) == []


def _made(pick: random.Random) -> tuple[Body, ...]:
    return tuple(
        Body(
            f"GENTIAN {pick.choice(('HOUSE', 'TRUST', 'CLUB'))} {nth}",
            number=f"{600_000_000 + nth}",
            registry=registry,
            country="USA" if registry == US else "GBR",
            types=tuple(kind for kind in KINDS if pick.random() < 0.4),
            active=pick.random() < 0.7,
            exempt=pick.choice((None, True, False)),
            tags=tuple(tag for tag in TAGS if pick.random() < 0.4),
        )
        for nth, registry in enumerate(pick.choices((US, UK), k=150))
    )


def _filters(pick: random.Random) -> OrganisationFilters:
    def tags() -> tuple[UUID, ...]:
        return tuple(pick.sample(TAGS, pick.randint(1, 2)))

    made: dict[str, Any] = {}
    if pick.random() < 0.3:
        made["country_code"] = pick.choice(("USA", "GBR"))
    if pick.random() < 0.3:
        made["registry_ids"] = tuple(pick.sample((US, UK), pick.randint(0, 2)))
    if pick.random() < 0.4:
        made["types"] = tuple(pick.sample(KINDS, pick.randint(1, 2)))
    if pick.random() < 0.4:
        made["active"] = pick.random() < 0.5
    if pick.random() < 0.3:
        made["usa_group_exempt"] = pick.random() < 0.5
    if pick.random() < 0.4:
        made["tags"] = tuple(tags() for _ in range(pick.randint(1, 2)))
    if pick.random() < 0.3:
        made["not_tags"] = tags()
    if pick.random() < 0.1:
        made["number_keys"] = tuple(f"{600_000_000 + pick.randrange(150)}" for _ in range(3))
    return OrganisationFilters(**made)


def _meets(body: Body, filters: OrganisationFilters) -> bool:
    """The rule of settled 8, word by word."""
    return (
        filters.country_code in {None, body.country}
        and (filters.registry_ids is None or body.registry in filters.registry_ids)
        and (filters.number_keys is None or body.number in filters.number_keys)
        and (not filters.types or bool({*filters.types} & {*body.types}))
        and filters.active in {None, body.active}
        and filters.usa_group_exempt in {None, body.exempt}
        and all({*alternatives} & {*body.tags} for alternatives in filters.tags)
        and not {*filters.not_tags} & {*body.tags}
    )


async def test_any_filters_together_are_what_each_of_them_says(postgres_server: PostgresServer) -> None:
    pick = random.Random(20261121)
    several = _made(pick)
    async with database.copied(postgres_server) as made, serving(made) as service:
        async with service.db.write() as tx:
            await _enter(tx, several)
        for _ in range(120):
            filters, word = _filters(pick), pick.choice(("house", "trust", ""))
            meant = {body.number for body in several if _meets(body, filters) and word.upper() in body.name}
            async with service.db.read() as tx:
                if word:
                    answer = await organisations.search_by_text(
                        tx, NOBODY, filters, f"gentian {word} ", 0, 200, best_first=True
                    )
                else:
                    answer = await organisations.list_page(tx, NOBODY, filters, RequestedPage(200, descending=True))
            assert {row.registry_number for row in answer.organisations} == meant, filters
            assert (answer.total, answer.is_total_exact) == (len(meant), True), filters
