"""The decision ladder over real rows of the lists of the IRS: each of their traps has its outcome and its reasons.

Rows of the master file are those of the shipped files. Bodies that are in none of these have a row here that is made
of what another list of the IRS says of them (tests/data/us_irs_lists).
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pytest
from pypdf import PdfReader

from almoner.adapters.registers_irs_990n import Irs990NReader
from almoner.adapters.registers_irs_pub78 import IrsPub78Reader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.platform.database.postgres import PostgresServer
from almoner.validation.requests.domain import REVIEW_REASONS
from tests.support import database
from tests.support.applications import PERSON, Form, invited
from tests.support.bmf import body
from tests.support.client import Client, data
from tests.support.service import Service, serving
from tests.support.submissions import ended
from tests.support.validation import Lists, decided, evidence, requested, sampled, shown, steps, told

APRIL: Final = datetime(2026, 4, 13, tzinfo=UTC)
DATA: Final = Path(__file__).parents[1] / "data" / "us_irs_lists"
CHURCH_OF_GROUP, CONVENTION = "010123106", "530196592"
CHAPTER, SOCIETY = "010547837", "530226282"
WITHOUT_CENTRAL, CHURCH, PRIVATE, LEAGUE, RED_CROSS = "020770495", "010551639", "010751046", "020542064", "530196605"
MODERATORS, SOCCER, PROJECT, BETHESDA = "010011694", "010015091", "010043788", "000587764"
OF_OTHER_LISTS: Final = [
    body(MODERATORS, "MASSACHUSETTS MODERATORS", STREET="66 FIVE BRIDGE RD", CITY="BRIMFIELD", STATE="MA"),
    body(SOCCER, "HANOVER SOCCER CLUB INC", STREET="PO BOX 18", CITY="WHIPPANY", STATE="NJ", ZIP="07981-0018"),
    body(PROJECT, "COMMUNITY CHRISTMAS PROJECT INC", STREET="PO BOX 581", CITY="PITTSFIELD", STATE="ME"),
    body(BETHESDA, "IGLESIA BETHESDA INC", CITY="LOWELL", STATE="MA", FILING_REQ_CD="06", FOUNDATION="10"),
]


def lines(name: str) -> list[str]:
    return [line for line in (DATA / name).read_text(encoding="utf-8").splitlines() if line]


@pytest.fixture(scope="module")
async def world(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with database.copied(postgres_server) as made, serving(made) as service:
        lists = Lists(service.db, tmp_path_factory.mktemp("lists"))
        groups = CHURCH_OF_GROUP, CONVENTION, CHAPTER, "010572370", SOCIETY, WITHOUT_CENTRAL
        rows = sampled(*groups, CHURCH, PRIVATE, LEAGUE, RED_CROSS)
        await lists.master(APRIL, [*rows, *OF_OTHER_LISTS])
        await lists.listing(IrsPub78Reader(), APRIL, lines("pub78.txt"))
        await lists.listing(IrsRevocationsReader(), APRIL, lines("revocations.txt"))
        await lists.listing(Irs990NReader(), APRIL, lines("notices_990n.txt"))
        await service.drain()  # what waits has been considered anew
        yield service


@pytest.fixture
async def partner(world: Service) -> AsyncIterator[Client]:
    client = world.client((await world.tenant()).secret)
    yield client
    await client.close()


ACCEPTED: Final = [
    pytest.param(
        RED_CROSS,
        "American National Red Cross",
        {
            "revocation": ("pass", "not_revoked"),
            "publication_78": ("pass", "listed"),
            "namesakes": ("pass", "unique_name"),
        },
        id="a charity of its own",
    ),
    pytest.param(
        CHURCH_OF_GROUP,
        "Morning Star Baptist Church",
        {
            "group": ("pass", "central_body_active"),
            "deductibility": ("pass", "deductible"),
            "publication_78": ("warn", "group_not_listed"),
        },
        id="a group's subordinate is not in Publication 78",
    ),
    pytest.param(
        WITHOUT_CENTRAL,
        "United Spinal Association Inc Spinal Cord Injury Network Met Wa",
        {"group": ("unknown", "central_body_not_found"), "publication_78": ("unknown", "central_body_not_found")},
        id="a central body in a file that is not loaded blocks nothing",
    ),
    pytest.param(
        MODERATORS,
        "Massachusetts Moderators",
        {"revocation": ("pass", "reinstated")},
        id="revoked twice, and reinstated back to the very day",
    ),
    pytest.param(
        SOCCER, "Hanover Soccer Club, Inc.", {"revocation": ("pass", "reinstated")}, id="revoked and reinstated later"
    ),
    pytest.param(
        PROJECT,
        "Community Christmas Project",
        {"revocation": ("pass", "reinstated")},
        id="of several cycles the latest counts",
    ),
    pytest.param(
        CHURCH,
        "Revelation Knowledge Christian Church",
        {"publication_78": ("not_applicable", "need_not_be_listed"), "terminated": ("not_applicable", "no_postcard")},
        id="a church need not file",
    ),
    pytest.param(
        PRIVATE,
        "Spectemur Agendo",
        {"foundation": ("warn", "private_foundation"), "deductibility": ("pass", "deductible")},
        id="a private foundation is told as one",
    ),
    pytest.param(
        BETHESDA,
        "Iglesia Bethesda",
        {"identifier": ("pass", "well_formed"), "publication_78": ("pass", "listed")},
        id="a number that begins with 00",
    ),
    pytest.param(
        SOCIETY, "Phi Beta Kappa Society", {"namesakes": ("warn", "common_name")}, id="the number tells namesakes apart"
    ),
]


@pytest.mark.parametrize(("ein", "name", "expected"), ACCEPTED)
async def test_what_the_register_lists_under_the_name_is_accepted(
    world: Service, partner: Client, ein: str, name: str, expected: dict[str, tuple[str, str]]
) -> None:
    record = await decided(world, partner, name=name, registryId=f"{ein[:2]}-{ein[2:]}")
    found = {step: (seen.verdict, seen.code) for step, seen in (await steps(world, record)).items()}
    assert {step: found[step] for step in expected} == expected, found
    assert found["register"] == ("pass", "listed")
    assert (record["acceptedAt"] is not None, record["rejectedAt"]) == (True, None), found
    organisation = data(await partner.get(f"/v1/organisations/{record['organisationId']}"))
    assert organisation["registryId"].replace("-", "") == ein
    assert record["organisationTypes"] == organisation["types"]
    assert await told(world, partner) == [("approved", record)]


REVIEWED: Final = [
    pytest.param(
        "00-3754390", "Little League Baseball Inc", ["partly_loaded", "revoked"], id="revoked again, not cured"
    ),
    pytest.param("00-0003154", "Oakleaf Forest Tenant Management", ["partly_loaded", "revoked"], id="revoked and gone"),
    pytest.param("20-0049703", "Wikimedia Foundation", ["partly_loaded"], id="in Publication 78, of a file not loaded"),
    pytest.param(LEAGUE, "Association of Clinical Research Organizations", ["not_deductible"], id="a business league"),
    pytest.param(RED_CROSS, "Casper Relief Fund", ["name_disagrees"], id="another name"),
    pytest.param(CHAPTER, "Phi Beta Kappa Society Nashville Association", ["name_disagrees"], id="another chapter"),
    pytest.param(CHAPTER, "Phi Beta Kappa Society", ["member_not_named"], id="no chapter"),
]


@pytest.mark.parametrize(("number", "name", "reasons"), REVIEWED)
async def test_everything_else_waits_for_a_person_with_its_reasons(
    world: Service, partner: Client, number: str, name: str, reasons: list[str]
) -> None:
    made = await requested(partner, name=name, registryId=number)
    await world.drain()
    assert await shown(partner, made) == made
    (evaluation,) = await evidence(world, made)
    assert (evaluation.occasion, evaluation.outcome) == ("created", "review")
    assert list(evaluation.reasons) == reasons
    assert set(reasons) <= REVIEW_REASONS.keys()
    assert await told(world, partner) == []


async def test_an_address_of_another_place_is_asked_about_unless_the_name_is_exact(
    world: Service, partner: Client
) -> None:
    there = {"addressLine1": "431 18th St NW", "city": "Washington", "state": "DC", "postal": "20006"}
    here = {"addressLine1": "12 Ocean Drive", "city": "Miami", "state": "FL", "postal": "33139"}
    same = await decided(world, partner, name="American National Red Cros", registryId=RED_CROSS, **there)
    exact = await decided(world, partner, name="American National Red Cross", registryId=RED_CROSS, **here)
    assert exact["acceptedAt"]
    other = await decided(world, partner, name="American National Red Cros", registryId=RED_CROSS, **here)
    assert (same["acceptedAt"] is not None, other["acceptedAt"]) == (True, None)
    (evaluation,) = await evidence(world, other)
    assert evaluation.reasons == ("address_disagrees",)
    assert [row["id"] for row in data(await partner.get("/v1/validation-requests", status="pending"))] == [other["id"]]


async def test_the_dossier_says_whether_addresses_were_compared(world: Service, partner: Client) -> None:
    """Addresses raise or lower what decides, while the names may agree wholly: nothing is told of the names alone."""
    there = {"addressLine1": "431 18th St NW", "city": "Washington", "state": "DC", "postal": "20006"}
    both = "Match score (name and address):", "name and address together agree"
    for given, (found, note) in ((there, both), ({}, ("Match score (name):", "the name agrees"))):
        record = await decided(world, partner, name="American National Red Cross", registryId=RED_CROSS, **given)
        path = f"/v1/validation-requests/{record['id']}/dossier"
        answer = await partner.get(path, headers={"Accept": "application/pdf"})
        text = " ".join(page.extract_text() for page in PdfReader(BytesIO(answer.content)).pages)
        assert found in " ".join(text.split())
        [decision] = data(await partner.get(path))["decisions"]
        assert note in decision["note"]


async def test_steps_keep_what_they_saw_and_of_which_day(world: Service, partner: Client) -> None:
    record = await decided(world, partner, name="Hanover Soccer Club", registryId=SOCCER, usaGroupExempt=True)
    found = await steps(world, record)
    assert list(found)[:5] == ["identifier", "register", "source", "age", "status"]
    assert (found["register"].source, found["register"].data_as_of) == ("irs-bmf", APRIL)
    assert found["register"].facts["name"] == "HANOVER SOCCER CLUB INC"
    assert found["revocation"].source == "irs-revocations"
    assert found["revocation"].facts["REINSTATEMENT_DATE"] == "2012-02-15"
    assert found["group_claim"].code == "group_exemption_differs"
    assert found["name"].facts["asked"] == "Hanover Soccer Club"
    days = (world.clock.now() - APRIL) // timedelta(days=1)
    assert found["age"].facts["dataAgeDays"] == days


async def test_a_later_load_has_pending_requests_considered_anew(
    world: Service, partner: Client, tmp_path: Path
) -> None:
    made = await requested(partner, name="Ashland Fund", registryId="11-1111111")
    other = await requested(partner, name="Ashland Fund", registryId="11-1111112")
    await world.drain()
    later: list[dict[str, Any]] = [body("111111111", "ASHLAND FUND", STATE="CO")]
    await Lists(world.db, tmp_path).master(APRIL + timedelta(days=30), later)
    await world.drain()
    assert [one.occasion for one in await evidence(world, made)] == ["created", "register_loaded"]
    assert [one.occasion for one in await evidence(world, other)] == ["created", "register_loaded"]
    record = await shown(partner, made)
    assert record["acceptedAt"] is not None
    assert (await shown(partner, other))["acceptedAt"] is None
    assert await told(world, partner) == [("approved", record)]


async def test_u2_the_right_number_is_found_once_the_applicant_corrects_it(world: Service, partner: Client) -> None:
    form = Form(world, await invited(partner))
    await form.open()
    given = {"country": "USA", "registry": "IRS", "number": MODERATORS, "website": "www.redcross.org"}
    await form.answer("/nonprofit/other", {**given, "name": "American National Red Cross"})
    await form.answer("/person", {**PERSON, "email": "amina@ladder.example"})
    await form.answer("/documents/done", {})
    home = await form.send()
    made = await ended(world, partner, data(await partner.get("/v1/validation-submissions"))[0])
    [missing] = [one for one in made["requirements"] if one["check"] == "validation_request"]
    assert missing["accepted"][0] == "corrected_registry_number"
    assert REVIEW_REASONS["name_disagrees"] in missing["message"]
    await form.browser.open(home)
    answer = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": RED_CROSS})
    assert answer.status_code == 303, answer.text
    after = await ended(world, partner, made)
    assert after["validationRequest"]["acceptedAt"] is not None
    assert after["organisationId"] is not None
    assert [one["code"] for one in after["requirements"] if one["from"] == "applicant"] == ["confirmation"]
    assert "Is the registration number correct?" not in (await form.browser.open(home)).text
