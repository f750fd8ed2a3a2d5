"""Validation requests on the wire (spec 2.3, 4.3; settled 4, 5 and 8)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from almoner.kit.time import iso_timestamp
from almoner.validation.requests.domain import REJECTION_MESSAGES, REJECTION_REASONS
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.validation import (
    BODY,
    INVALID_STATE,
    PATH,
    SIMULATE,
    UNHEARD_OF,
    decided,
    evidence,
    refused,
    requested,
    shown,
    simulate,
    told,
)
from tests.support.written_register import Loader, Written, entry

NOTHING = dict.fromkeys(("email", "addressLine1", "addressLine2", "city", "state", "postal", "usaGroupExempt"))
UNDECIDED = dict.fromkeys(("deletedAt", "acceptedAt", "rejectedAt", "rejectionReason", "rejectionReasonCode"))


async def listed(api: Client, **query: Any) -> tuple[list[str], int]:
    """Ids and total of a list."""
    answer = await api.get(PATH, **query)
    return [row["id"] for row in data(answer)], answer.json()["totalResults"]


async def test_the_record_of_a_new_one(service: Service, api: Client) -> None:
    now = service.clock.now()
    answer = await api.post(PATH, BODY)
    made = data(answer)
    assert answer.json()["object"] == "validation_request"
    assert made == {
        "id": made["id"],
        "organisationId": None,
        "organisationTypes": [],
        **BODY,
        **NOTHING,
        **UNDECIDED,
        "createdAt": iso_timestamp(now),
        "documents": [],
    }
    assert service.db.deployment.ids.decode("validationrequest", made["id"])
    assert await shown(api, made) == made
    assert await listed(api) == ([made["id"]], 1)


async def test_all_that_can_be_told_is_kept_as_told(service: Service, api: Client) -> None:
    more = {
        "name": " Hilfe für Alle e.V. ",
        "email": "office@example.org",
        "addressLine1": "1 Main St",
        "addressLine2": "Floor 2",
        "city": "Casper",
        "state": "WY",
        "postal": "82601",
        "usaGroupExempt": False,
        "website": "Example.org/about?us#now",
        "registryName": "internal revenue service",
    }
    made = await requested(api, **more)
    assert made == {**made, **BODY, **more, "name": "Hilfe für Alle e.V."}
    blank = await requested(api, email="", city="  ", postal=None)
    assert (blank["email"], blank["city"], blank["postal"]) == (None, None, None)


async def test_a_registry_is_named_by_its_id_code_or_name(service: Service, api: Client) -> None:
    registries = {row["code"]: row for row in data(await api.get("/v1/registries", countryCode="GBR"))}
    for code, number in (("CCEW", "1173575"), ("OSCR", "SC042386"), ("CCNI", "100019")):
        for name in (code, code.lower(), registries[code]["englishName"], registries[code]["id"]):
            made = await requested(api, registryName=name, registryId=number, countryCode="GBR")
            assert (made["registryName"], made["registryId"]) == (name, number)
    assert (await refused(api, registryName="CCEW"))[:2] == (400, "validation_request/registry_not_found")
    status, code, reasons = await refused(api, registryName="The Guild", countryCode="GBR")
    assert (status, code) == (400, "validation_request/registry_not_found")
    (reason,) = reasons
    assert reason == (
        "body.registryName 'The Guild' is the id, code or name of no registry of GBR, which has "
        "Charity Commission for England and Wales (CCEW), Charity Commission for Northern Ireland (CCNI), "
        "HM Revenue and Customs (HMRC), Office of the Scottish Charity Regulator (OSCR)"
    )


@pytest.mark.parametrize(
    ("country", "name", "number"),
    [
        ("USA", "The Internal Revenue Service (IRS)", "53-0196605"),
        ("USA", "US-EIN", "53-0196605"),
        ("GBR", "the Charity Commission", "NIC100019"),
        ("GBR", "GB-SC", "SC042386"),
        ("DEU", "Zuwendungsempfaengerregister", "RA000220-VR8726"),
    ],
)
async def test_registries_are_understood_by_other_names(api: Client, country: str, name: str, number: str) -> None:
    made = await requested(api, registryName=name, registryId=number, countryCode=country)
    assert (made["registryName"], made["registryId"]) == (name, number)


async def test_a_number_of_none_of_the_registries_that_are_meant_is_explained_for_each(api: Client) -> None:
    _, code, reasons = await refused(api, registryName="register of charities", countryCode="GBR", registryId="SC04238")
    assert code == "validation_request/invalid_registry_id"
    explained = [reason.partition(": ")[0] for reason in reasons if reason.startswith("body.registryId")]
    assert explained == [f"body.registryId is malformed in {register}" for register in ("CCEW", "CCNI", "OSCR")]
    assert "a leading zero may be missing: SC004238?" in reasons


async def test_of_two_registries_that_list_a_number_the_one_with_the_name_is_meant(
    service: Service, api: Client, tmp_path: Path
) -> None:
    loader, day = Loader(service.db, tmp_path), service.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for code, name in (("CCEW", "Anglesey Lifeboat Trust"), ("CCNI", "Rathlin Island Ferry Fund")):
        await loader.load(Written(f"{code.lower()}-both", code), day, entry("109871", name))
    for code, name in (("CCEW", "Anglesey Lifeboat Trust"), ("CCNI", "Rathlin Island Ferry Fund")):
        made = await decided(
            service, api, name=name, registryName="Charity Commission", registryId="109871", countryCode="GBR"
        )
        (evaluation,) = await evidence(service, made)
        (register,) = (step for step in evaluation.steps if step.name == "register")
        assert register.facts["register"] == code


@pytest.mark.parametrize(
    ("code", "country", "number", "told"),
    [
        ("IRS", "USA", "12345678", "malformed"),
        ("IRS", "USA", "000000000", "refused"),
        ("IRS", "USA", "٥٣٠١٩٦٦٠٥", "refused"),
        ("CCEW", "GBR", "01173575", "malformed"),
        ("ACNC", "AUS", "123456789", "refused"),
    ],
)
async def test_numbers_that_no_register_gives_are_refused_with_what_may_be_meant(
    api: Client, code: str, country: str, number: str, told: str
) -> None:
    status, error, reasons = await refused(api, registryName=code, countryCode=country, registryId=number)
    assert (status, error) == (400, "validation_request/invalid_registry_id")
    assert reasons[0].startswith(f"body.registryId is {told}: ")
    if number.startswith("٥"):
        assert reasons[1:] == ["53-0196605?"]
    assert await listed(api) == ([], 0)


async def test_every_problem_is_told_at_once(api: Client) -> None:
    answer = await api.post(PATH, {"name": "x" * 501, "email": "nobody", "city": 7, "usaGroupExempt": "yes"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
    reported = " ".join(answer.json()["error"]["reasons"])
    for field in ("name", "registryName", "registryId", "website", "countryCode", "email", "city", "usaGroupExempt"):
        assert f"body.{field}" in reported, field
    for website in ("example", "ftp://example.org", "https://", "two words.org", "ada@example.org", "x" * 252 + ".org"):
        assert (await refused(api, website=website))[:2] == (400, "bad_request"), website
    for field in ("name", "registryName", "registryId", "website", "countryCode"):
        assert (await refused(api, **{field: ""}))[:2] == (400, "bad_request"), field


async def test_an_unloaded_register_waits_for_a_person(service: Service, api: Client) -> None:
    made = await decided(service, api, registryName="CNPJ", registryId="02.326.629/0001-51", countryCode="BRA")
    assert (made["acceptedAt"], made["rejectedAt"]) == (None, None)
    (evaluation,) = await evidence(service, made)
    assert evaluation.reasons == ("register_not_loaded",)


async def test_i1_a_repeated_creation_is_answered_and_not_done_again(api: Client) -> None:
    first = await api.post(PATH, BODY, idempotency_key="ask")
    again = await api.post(PATH, BODY, idempotency_key="ask")
    assert (first.status_code, again.content) == (200, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert (await listed(api))[1] == 1


async def test_every_filter_narrows_list_and_total(service: Service, api: Client, other: Client) -> None:
    names = {"accept": "Zebra Trust", "reject": "Éire Fund", None: "alpha & Omega"}
    made: dict[str | None, dict[str, Any]] = {}
    for action, name in names.items():
        made[action] = await requested(api, name=name, registryId=f"53-019660{len(made)}")
        if action:
            await simulate(api, made[action], action)
        service.clock.advance(minutes=1)
    await requested(other)
    newest = [made[None]["id"], made["reject"]["id"], made["accept"]["id"]]
    assert await listed(api) == (newest, 3)
    assert await listed(api, direction="ASC", sort="id") == (newest[::-1], 3)
    by_name = [made["accept"]["id"], made["reject"]["id"], made[None]["id"]]
    assert await listed(api, sort="name") == (by_name, 3)
    assert await listed(api, sort="name", direction="ASC") == (by_name[::-1], 3)
    for status, action in (("accepted", "accept"), ("rejected", "reject"), ("pending", None)):
        assert await listed(api, status=status) == ([made[action]["id"]], 1)
    for query, action in (("zebra", "accept"), ("TRUST zeb", "accept"), ("eire", "reject"), ("53-0196602", None)):
        assert await listed(api, query=query) == ([made[action]["id"]], 1), query
    assert await listed(api, query="01966") == (newest, 3)
    assert await listed(api, query="nobody") == await listed(api, query="%") == await listed(api, query="!!") == ([], 0)
    assert await listed(api, status="accepted", query="eire") == ([], 0)
    middle = {"startDate": made["reject"]["createdAt"], "endDate": made[None]["createdAt"]}
    assert await listed(api, **middle) == ([made["reject"]["id"]], 1)
    assert await listed(api, **middle, sort="name", status="rejected") == ([made["reject"]["id"]], 1)
    for name, value in (("status", "open"), ("sort", "age"), ("pageSize", "0"), ("startDate", "yesterday")):
        assert (await api.get(f"{PATH}?{name}={value}")).status_code == 400, name


@pytest.mark.parametrize("sort", ["id", "name"])
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
async def test_p4_pages_follow_each_other_both_ways(api: Client, sort: str, direction: str) -> None:
    for name in ("b", "B.", "a", "c", "a"):
        await requested(api, name=name)
    whole = data(await api.get(PATH, sort=sort, direction=direction))
    pages, links = [], []
    answer = await api.get(PATH, sort=sort, direction=direction, pageSize=2)
    while True:
        pages += data(answer)
        links.append(answer.json()["_links"])
        if (following := links[-1]["next"]) is None:
            break
        answer = await api.get(following)
    assert pages == whole
    assert (await api.get(links[-1]["prev"])).json()["data"] == whole[2:4]
    cursor = links[0]["next"].rpartition("cursor=")[2]
    wrong = await api.get(PATH, sort="id" if sort == "name" else "name", direction=direction, pageSize=2, cursor=cursor)
    assert wrong.json()["error"]["code"] == "pagination/cursor_error"


TRIGGERS = {
    "test_reject_other": "other",
    "test_reject_not_eligible": "not_eligible",
    "test_reject_incorrect_documentation": "incorrect_documentation",
    "test_reject_not_attributable_to_registry": "not_attributable_to_registry",
}


async def test_the_sandbox_accepts_test_accept_on_the_next_get(service: Service, api: Client) -> None:
    made = await requested(api, name="test_accept", **UNHEARD_OF)
    assert {field: made[field] for field in UNDECIDED} == UNDECIDED
    await service.drain()
    record = await shown(api, made)
    assert record == {
        **made,
        "organisationId": record["organisationId"],
        "organisationTypes": ["nonprofit"],
        "acceptedAt": iso_timestamp(service.clock.now()),
    }
    organisation = data(await api.get(f"/v1/organisations/{record['organisationId']}"))
    assert (organisation["name"], organisation["registryId"]) == ("test_accept", UNHEARD_OF["registryId"])
    assert await told(service, api) == [("approved", record)]


@pytest.mark.parametrize(("name", "code"), TRIGGERS.items())
async def test_the_sandbox_rejects_on_the_next_get(service: Service, api: Client, name: str, code: str) -> None:
    made = await requested(api, name=name)
    assert {field: made[field] for field in UNDECIDED} == UNDECIDED
    await service.drain()
    record = await shown(api, made)
    rejection = {"rejectionReasonCode": code, "rejectionReason": REJECTION_MESSAGES[code]}  # type: ignore[index]
    assert record == {**made, **rejection, "rejectedAt": iso_timestamp(service.clock.now())}
    assert await told(service, api) == [("rejected", record)]


async def test_other_names_are_no_test_values(service: Service, api: Client) -> None:
    for name in ("Test_accept", "test_accept now", "test_reject", "test_reject_fake_email_used", "TEST_ACCEPT"):
        assert (await decided(service, api, name=name))["acceptedAt"] is None, name
    assert await told(service, api) == []


async def test_a_test_value_keeps_the_rules_of_life(service: Service, api: Client) -> None:
    assert (await refused(api, name="test_accept", registryId="1"))[1] == "validation_request/invalid_registry_id"
    made = await decided(service, api, name="test_accept", **UNHEARD_OF)
    assert [one.reasons for one in await evidence(service, made)] == [("register_not_loaded",)]
    for action in ("accept", "reject"):
        answer = await api.post(SIMULATE, {"id": made["id"], "action": action})
        assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE
    assert await shown(api, made) == made


async def test_simulated_reviewers_decide_once(service: Service, api: Client, other: Client) -> None:
    accepted = await simulate(api, await requested(api), "accept")
    assert accepted["acceptedAt"] == iso_timestamp(service.clock.now())
    rejected = [
        await simulate(api, await requested(api), "reject", rejectionReasonCode=code) for code in TRIGGERS.values()
    ]
    rejected.append(await simulate(api, await requested(api), "reject"))
    assert [record["rejectionReasonCode"] for record in rejected] == [*TRIGGERS.values(), "other"]
    for record in (accepted, *rejected):
        assert await shown(api, record) == record
        answer = await api.post(SIMULATE, {"id": record["id"], "action": "accept"})
        assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE
    assert await told(service, api) == [("approved", accepted), *(("rejected", record) for record in rejected)]
    foreign = await other.post(SIMULATE, {"id": accepted["id"], "action": "accept"})
    assert foreign.json()["error"]["code"] == "sandbox/record_not_found"
    wrong = await api.post(
        SIMULATE, {"id": (await requested(api))["id"], "action": "reject", "rejectionReasonCode": "no_response"}
    )
    only = f"body.rejectionReasonCode must be one of {', '.join(REJECTION_REASONS)} for this record"
    assert wrong.json()["error"]["reasons"] == [only]
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "bad_request")


async def test_the_same_nonprofit_asked_for_at_once_is_one_organisation(service: Service, api: Client) -> None:
    made = await asyncio.gather(*(requested(api, name="test_accept") for _ in range(6)))
    await service.drain()
    records = [await shown(api, one) for one in made]
    assert len({record["id"] for record in records}) == 6
    assert len({record["organisationId"] for record in records}) == 1
    assert [kind for kind, _ in await told(service, api)] == ["approved"] * 6


async def test_a_new_organisation_is_seen_by_its_own_partner_only(service: Service, api: Client, other: Client) -> None:
    ours = await decided(service, api, name="test_accept", **UNHEARD_OF)
    theirs = await decided(service, other, name="test_accept", **UNHEARD_OF)
    assert ours["organisationId"] != theirs["organisationId"]
    assert (await other.get(f"/v1/organisations/{ours['organisationId']}")).status_code == 404
    assert (await other.get(f"{PATH}/{ours['id']}")).status_code == 404
    again = await simulate(api, await requested(api, **{**UNHEARD_OF, "registryId": "x6243"}), "accept")
    assert again["organisationId"] == ours["organisationId"]


async def test_two_decisions_at_once_are_one(service: Service, api: Client) -> None:
    made = await requested(api)
    decisions = [{"id": made["id"], "action": action} for action in ("accept", "reject") * 4]
    answers = await asyncio.gather(*(api.post(SIMULATE, body) for body in decisions))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7
    won = next(data(answer) for answer in answers if answer.status_code == 200)
    assert await shown(api, made) == won
    assert [record for _, record in await told(service, api)] == [won]
