"""Bodies that share a name: members of a family, namesakes elsewhere, numbers a digit apart, offices elsewhere."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from almoner.platform.database.postgres import PostgresServer
from almoner.review_cases import REVIEW_HANDLERS
from tests.support import database
from tests.support.applications import PERSON, Form, invited
from tests.support.bmf import body
from tests.support.client import Client, data
from tests.support.operators import operator, signed_in
from tests.support.payouts import uuid_of
from tests.support.service import Service, serving
from tests.support.submissions import ended
from tests.support.validation import Lists, decided, evidence, steps

APRIL: Final = datetime(2026, 4, 13, tzinfo=UTC)
FAMILY: Final = "TEASEL RUNNERS CLUB OF AMERICA"
STRIDERS, TRAIL, PLAINS_23, PLAINS_24, CENTRAL = "830298531", "830298541", "830298602", "830298613", "830298700"
DUNLINS: Final = ("840500011", "840500021", "840600000")
CARNES, ARTS, RELIEF, SAME = "850100001", "850100022", "850100303", "850104004"
HARRIERS: Final = "BENEVOLENT ORDER OF MARSH HARRIERS"
BITTERN, SQUADRON, REEDS, NEEDLES = "860500019", "860500155", ("860500301", "860500450"), "860700001"
UNLISTED: Final = {
    "country": "USA",
    "name": "Windy City Striders",
    "registry": "IRS",
    "website": "www.striders.example",
}
AT: Final = {
    "LARAMIE": {"addressLine1": "1 Main St", "city": "Laramie", "state": "WY", "postal": "82070"},
    "CASPER": {"addressLine1": "9 Elm St", "city": "Casper", "state": "WY", "postal": "82601"},
    "JACKSON": {"addressLine1": "7 Oak St", "city": "Jackson", "state": "WY", "postal": "83001"},
    "DENVER": {"addressLine1": "5 Ash St", "city": "Denver", "state": "CO", "postal": "80202"},
}


def at(ein: str, name: str, city: str, **columns: str) -> dict[str, str]:
    place = AT[city]
    columns |= {"STREET": place["addressLine1"].upper(), "CITY": city, "ZIP": f"{place['postal']}-0000"}
    return body(ein, name, **columns)


ROWS: Final = [
    at(STRIDERS, FAMILY, "CASPER", SORT_NAME="WINDY CITY STRIDERS", GROUP="2702", AFFILIATION="9"),
    at(TRAIL, FAMILY, "JACKSON", SORT_NAME="TETON TRAIL RUNNERS", GROUP="2702", AFFILIATION="9"),
    at(PLAINS_23, FAMILY, "LARAMIE", SORT_NAME="23 HIGH PLAINS HARRIERS", GROUP="2702", AFFILIATION="9"),
    at(PLAINS_24, FAMILY, "LARAMIE", SORT_NAME="24 HIGH PLAINS HARRIERS", GROUP="2702", AFFILIATION="9"),
    at(CENTRAL, FAMILY, "LARAMIE", GROUP="2702", AFFILIATION="6"),
    at(DUNLINS[0], "DUNLIN GUILD", "CASPER"),
    at(DUNLINS[1], "DUNLIN GUILD", "JACKSON"),
    at(DUNLINS[2], "DUNLIN GUILD", "LARAMIE"),
    at(CARNES, "CARNES VOLUNTEER FIRE DEPARTMENT", "CASPER"),
    at(ARTS, "HELLEBORE ARTS INC", "CASPER", SORT_NAME="HBA COLLECTIVE"),
    at(RELIEF, "PTARMIGAN RELIEF", "CASPER"),
    at(SAME, "PTARMIGAN GREBE RELIEF FUND", "CASPER"),
    at("850104005", "PTARMIGAN GREBE RELIEF FUND", "CASPER"),
    at(BITTERN, HARRIERS, "CASPER", SORT_NAME="9 BITTERN HEATH"),
    at(SQUADRON, HARRIERS, "JACKSON", SORT_NAME="SQUADRON 9"),
    at(REEDS[0], HARRIERS, "LARAMIE", SORT_NAME="POST 5 REED WARBLER"),
    at(REEDS[1], HARRIERS, "LARAMIE", SORT_NAME="5 REED WARBLER POST"),
    at(NEEDLES, "PLOVER EMBROIDERY GUILD", "CASPER", SORT_NAME="DUNE NEEDLEWORKERS", GROUP="2702", AFFILIATION="9"),
]


@pytest.fixture(scope="module")
async def world(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with database.copied(postgres_server) as made, serving(made) as service:
        await Lists(service.db, tmp_path_factory.mktemp("lists")).master(APRIL, ROWS)
        await service.drain()
        yield service


@pytest.fixture
async def partner(world: Service) -> AsyncIterator[Client]:
    client = world.client((await world.tenant()).secret)
    yield client
    await client.close()


async def asked(world: Service, partner: Client, name: str, number: str, place: str | None) -> dict[str, Any]:
    return await decided(world, partner, name=name, registryId=number, **(AT[place] if place else {}))


@pytest.mark.parametrize(
    ("name", "number", "place"),
    [
        pytest.param("Teasel Runners Club of America Windy City Striders", STRIDERS, None, id="both lines"),
        pytest.param("Windy City Striders", STRIDERS, None, id="the second line"),
        pytest.param("Windy City Striders", STRIDERS, "CASPER", id="the second line, with the address"),
        pytest.param("Teasel Runners Club of America - Windy Ctiy Striders", STRIDERS, None, id="nearly"),
        pytest.param("Teasel Runners Club Windy City Striders", STRIDERS, "CASPER", id="in part, with the address"),
        pytest.param("Teasel Runners Club of America 23", PLAINS_23, None, id="by its number in the family"),
        pytest.param("Teasel Runners Club of America", CENTRAL, None, id="the central body has one line"),
        pytest.param("Dunlin Guild", DUNLINS[2], None, id="no other number is near"),
        pytest.param("Dunlin Guild", DUNLINS[0], "CASPER", id="a namesake at its place"),
        pytest.param("Hellebore Arts", ARTS, None, id="a first line that nobody else has"),
        pytest.param("HBA Collective", ARTS, None, id="another name of its own"),
        pytest.param("Ptarmigan Relief", RELIEF, "LARAMIE", id="another office of a name that nobody else has"),
        pytest.param("Ptarmigan Grebe Relief Fund", SAME, "CASPER", id="of one name and place the number decides"),
        pytest.param("Carnse Volunteer Fire Department", CARNES, None, id="letters that are swapped"),
        pytest.param("Barnes Volunteer Fire Department", CARNES, "CASPER", id="a slip at the very place"),
        pytest.param("Benevolent Order of Marsh Harriers Post 9", BITTERN, None, id="what kind of member it is"),
        pytest.param("Bittern Heath Harriers Lodge 9", BITTERN, None, id="the telling word and the second line"),
        pytest.param("Bittern Heath Harriers", BITTERN, None, id="without its number"),
        pytest.param(f"{HARRIERS} Post 5 Reed Warbler", REEDS[1], None, id="one name in another order"),
        pytest.param("Dune Needleworkers", NEEDLES, None, id="a subordinate's own name"),
    ],
)
async def test_who_is_named_is_accepted(
    world: Service, partner: Client, name: str, number: str, place: str | None
) -> None:
    record = await asked(world, partner, name, number, place)
    assert record["acceptedAt"], (await evidence(world, record))[-1]


@pytest.mark.parametrize(
    ("name", "number", "place", "reason"),
    [
        pytest.param(FAMILY, STRIDERS, None, "member_not_named", id="the parent's name"),
        pytest.param(FAMILY, STRIDERS, "CASPER", "member_not_named", id="the parent's name at the member's address"),
        pytest.param("High Plains Harriers", PLAINS_23, None, "name_disagrees", id="what two of them are called"),
        pytest.param("Windy City Striders", TRAIL, None, "other_number_fits_better", id="a digit wrong"),
        pytest.param("Windy City Striders", TRAIL, "CASPER", "other_number_fits_better", id="with the right address"),
        pytest.param(f"{FAMILY} Windy City Striders", CENTRAL, None, "name_disagrees", id="a member at the parent's"),
        pytest.param("Dunlin Guild", DUNLINS[1], None, "similar_number", id="a namesake a digit away"),
        pytest.param(f"{HARRIERS} Post 9", SQUADRON, None, "other_number_fits_better", id="another kind of member"),
        pytest.param("Bittern Heath Benevolent Order", BITTERN, None, "name_disagrees", id="no telling word"),
        pytest.param("Plover Embroidery Guild", NEEDLES, None, "member_not_named", id="the name of a group"),
        pytest.param("Dunlin Guild", DUNLINS[1], "CASPER", "other_number_fits_better", id="a namesake at the address"),
        pytest.param("Dunlin Guild", DUNLINS[1], "DENVER", "address_disagrees", id="an address of neither"),
        pytest.param("Ptarmigan Relief", RELIEF, "DENVER", "address_disagrees", id="a common name in another state"),
        pytest.param(
            "Barnes Volunteer Fire Department", CARNES, None, "distinctive_word_differs", id="one telling word"
        ),
    ],
)
async def test_who_is_not_named_is_asked_about(
    world: Service, partner: Client, name: str, number: str, place: str | None, reason: str
) -> None:
    record = await asked(world, partner, name, number, place)
    assert record["acceptedAt"] is None
    assert reason in (await evidence(world, record))[-1].reasons


async def test_the_evidence_names_who_may_be_meant(world: Service, partner: Client) -> None:
    record = await asked(world, partner, FAMILY, STRIDERS, "LARAMIE")
    step = (await steps(world, record))["namesakes"]
    assert [number for number, _, _ in step.facts["candidates"]] == [PLAINS_23, PLAINS_24, CENTRAL, TRAIL]  # type: ignore[attr-defined]
    assert step.facts["candidates"][0][1:] == [  # type: ignore[index]
        "Teasel Runners Club of America, 23 High Plains Harriers",
        "LARAMIE WY",
    ]


async def test_a_reviewer_compares_the_entry_that_fits_better(world: Service, partner: Client) -> None:
    """It is beside what was submitted, with links to its record here and to the register's page."""
    record = await asked(world, partner, "Windy City Striders", TRAIL, None)
    browser = await signed_in(world, await operator(world, "reviewer"))
    page = (await browser.get(f"/operator/reviews/{record['id']}")).text
    shown = page[page.index('id="candidates"') : page.index('id="facts"')]
    fits = "Teasel Runners Club of America, Windy City Striders"
    link = re.search(rf'<a href="(/operator/organisations/\w+)"><bdi>{fits}</bdi></a>', shown)
    assert link is not None, shown
    assert f"https://apps.irs.gov/app/eos/detailsPage?ein={STRIDERS}" in shown
    assert f"Submitted and <bdi>{fits}</bdi></h3>" in shown
    assert f"<bdi>{STRIDERS}</bdi>" in shown
    assert STRIDERS in (await browser.get(link[1])).text
    await browser.close()


async def test_a_reviewer_chooses_which_candidate_to_compare(world: Service, partner: Client) -> None:
    record = await asked(world, partner, FAMILY, STRIDERS, "LARAMIE")
    browser = await signed_in(world, await operator(world, "reviewer"))
    case = f"/operator/reviews/{record['id']}"
    first = (await browser.get(case)).text
    others = re.findall(rf'href="{case}\?candidate=(\w+)#candidates">Compare<span class="unseen"> ([^<]+)<', first)
    assert len(others) == 3, "all but the first of four, which is compared"
    chosen, name = others[-1]
    page = (await browser.get(f"{case}?candidate={chosen}")).text
    assert f"Submitted and <bdi>{name}</bdi></h3>" in page
    assert f"?candidate={chosen}#" not in page
    unknown = (await browser.get(f"{case}?candidate={record['id']}")).text
    assert f"Submitted and <bdi>{name}</bdi></h3>" not in unknown, "then, the first one is compared"
    await browser.close()


async def test_a_warning_tells_of_the_other_office(world: Service, partner: Client) -> None:
    step = (await steps(world, await asked(world, partner, "Ptarmigan Relief", RELIEF, "LARAMIE")))["address"]
    assert (step.verdict, step.code) == ("warn", "other_address")


async def test_the_parts_of_each_step_add_up_to_its_score(world: Service, partner: Client) -> None:
    found = await steps(world, await asked(world, partner, "Teasel Runners Club of America 23", PLAINS_23, "LARAMIE"))
    for name in ("name", "address"):
        facts = found[name].facts
        assert sum(part[1] for part in facts["parts"]) == pytest.approx(facts["score"], abs=0.001), name  # type: ignore[attr-defined]


async def test_a_former_name_is_mentioned_with_the_day_it_ended(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with database.copied(postgres_server) as made, serving(made) as service:
        lists = Lists(service.db, tmp_path_factory.mktemp("lists"))
        await lists.master(APRIL, [at(ARTS, "SMEW RESCUE LEAGUE", "CASPER")])
        await lists.master(APRIL + timedelta(days=30), [at(ARTS, "GOOSANDER SANCTUARY", "CASPER")])
        client = service.client((await service.tenant()).secret)
        record = await decided(service, client, name="Smew Rescue League", registryId=ARTS)
        step = (await steps(service, record))["name"]
        facts = step.facts
        assert (step.code, facts["former_name"], facts["former_name_until"]) == (
            "former_name",
            "SMEW RESCUE LEAGUE",
            "2026-05-13",
        )
        async with service.db.read() as tx:
            request_id = uuid_of(service, "validationrequest", record["id"])
            (names, *_) = (await REVIEW_HANDLERS["validation_request"].load_evidence(tx, request_id)).value_comparisons
        assert list(names.listed) == ["GOOSANDER SANCTUARY", "SMEW RESCUE LEAGUE (former name)"]
        other = await decided(service, client, name="Smew Relief Fund", registryId=ARTS)
        assert (await steps(service, other))["name"].code == "name_disagrees"
        await client.close()


async def test_applicants_choose_which_of_the_candidates_they_mean(world: Service) -> None:
    api = world.client((await world.tenant()).secret)
    form = Form(world, await invited(api))
    await form.open()
    await form.answer("/nonprofit/other", {**UNLISTED, "number": TRAIL})
    await form.answer("/person", {**PERSON, "email": "grebe@example.org"})
    await form.answer("/documents/done", {})
    home = await form.send()
    made = await ended(world, api, data(await api.get("/v1/validation-submissions"))[0])
    page = (await form.browser.open(home)).text
    assert "Which organisation do you mean?" in page
    assert "Teasel Runners Club of America, Windy City Striders" in page
    assert f'name="number" value="{STRIDERS}"' in page
    world.clock.advance(seconds=1)
    chosen = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": STRIDERS})
    assert (chosen.status_code, chosen.headers["location"]) == (303, f"{home}?did=corrected")
    after = await ended(world, api, made)
    assert after["validationRequest"]["acceptedAt"]
    assert "Which organisation do you mean?" not in (await form.browser.open(home)).text
    await api.close()
