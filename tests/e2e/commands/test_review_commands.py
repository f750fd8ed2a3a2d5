"""`almoner reviews` as reviewers type it, over the database of a service."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import agents
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.terminal import Operator, Type, in_process, operator

PATH = "/v1/validation-requests"
BODY = {
    "name": "Casper Relief Fund",
    "registryName": "IRS",
    "registryId": "53-0196605",
    "website": "https://example.org",
    "countryCode": "USA",
}
NOTE = "The letter of the IRS of 3 March, case 7"


@pytest.fixture
async def olive(service: Service) -> Operator:
    """A reviewer."""
    return await operator(service, "reviewer", name="Olive Officer")


@pytest.fixture
def types(service: Service, tmp_path: Path, olive: Operator) -> Type:
    """Types commands of `almoner reviews` as Olive."""
    return partial(in_process(service, tmp_path, olive), "reviews")


@pytest.fixture
async def otto(service: Service, tmp_path: Path) -> Type:
    """Types them as somebody else."""
    return partial(in_process(service, tmp_path, await operator(service, "reviewer", name="Otto Other")), "reviews")


@pytest.fixture
async def request_(service: Service, api: Client) -> dict[str, Any]:
    """A validation request that no rule may decide: nothing is known of its number."""
    return await waiting_request(service, api)


async def waiting_request(service: Service, api: Client) -> dict[str, Any]:
    made: dict[str, Any] = data(await api.post(PATH, BODY))
    await service.drain()
    return made


async def actions(service: Service) -> list[tuple[str, dict[str, Any] | None]]:
    """What the audit log says of reviews."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select action, subject, details from audit_entry where action like 'review.%' order by position"
        )
    return [(row["action"], row["details"]) for row in rows]


async def test_a_reviewer_looks_and_accepts(
    service: Service, api: Client, types: Type, olive: Operator, request_: dict[str, Any]
) -> None:
    status, printed = await types("list")
    assert status == 0
    [titles, row] = printed.splitlines()
    assert titles.split()[:2] == ["subject", "kind"]
    for fact in (request_["id"], "validation_request", "sandbox_partner_", "0 min"):
        assert fact in row
    assert not row.endswith("UTC")
    status, printed = await types("show", request_["id"])
    assert status == 0
    for fact in (
        BODY["name"],
        "claimed by",
        "you until",
        "rejection reasons",
        "not_attributable_to_registry",
        "verdict",
    ):
        assert fact in printed, printed
    listed = (await types("list", "--mine", "--kind", "validation_request"))[1]
    assert request_["id"] in listed
    assert f"Olive Officer ({olive.id})" in listed
    assert await types("accept", request_["id"], "--note", NOTE) == (0, f"{request_['id']} has been accepted.\n")
    accepted = data(await api.get(f"{PATH}/{request_['id']}"))
    assert accepted["acceptedAt"]
    assert accepted["organisationId"]
    assert request_["id"] not in (await types("list"))[1]
    printed = (await types("show", request_["id"]))[1]
    for fact in ("accepted", NOTE, f"Olive Officer ({olive.id})"):
        assert fact in printed
    assert "claimed by" not in printed
    assert await actions(service) == [
        ("review.viewed", {"held": True}),
        ("review.accepted", None),
        ("review.viewed", {"held": False}),
    ]


async def test_a_reviewer_rejects_with_a_reason(
    service: Service, api: Client, types: Type, request_: dict[str, Any]
) -> None:
    await types("show", request_["id"])
    status, printed = await types("reject", request_["id"], "--reason", "mood", "--note", NOTE)
    assert (status, printed.startswith("reason: 'mood' is none of ")) == (1, True)
    assert (await types("reject", request_["id"], "--note", NOTE))[0] == 2
    words = ("reject", request_["id"], "--reason", "not_eligible", "--note", NOTE)
    assert await types(*words) == (0, f"{request_['id']} has been rejected.\n")
    assert data(await api.get(f"{PATH}/{request_['id']}"))["rejectionReasonCode"] == "not_eligible"
    assert "not_eligible" in (await types("show", request_["id"]))[1]
    assert (await actions(service))[1] == ("review.rejected", {"reason": "not_eligible"})
    status, printed = await types(*words)
    assert status == 1
    assert printed.startswith("It was rejected by Olive Officer (")
    await service.drain()
    [event] = data(await api.get("/v1/events"))
    assert event["eventType"] == "validation_request.rejected"


async def test_an_agent_whom_no_rule_lets_through_is_decided_by_a_person(
    service: Service, api: Client, types: Type, olive: Operator
) -> None:
    approved, refused = [await agents.create(service, api, email="ada@somewhere-else.example") for _ in range(2)]
    for one in (approved, refused):
        await agents.simulate(api, one, "confirm_email")
    await service.drain()
    lines = (await types("list", "--kind", "agent_verification"))[1].splitlines()[1:]
    assert {line.split()[0] for line in lines} == {approved["id"], refused["id"]}
    printed = (await types("show", approved["id"]))[1]
    for fact in ("Does Ada Byron speak for", "ada@somewhere-else.example", "fake_email_used", "pending_review", "step"):
        assert fact in printed, printed
    assert await types("accept", approved["id"], "--note", NOTE) == (0, f"{approved['id']} has been accepted.\n")
    assert (await agents.shown(api, approved))["status"] == "approved"
    await types("show", refused["id"])
    words = ("reject", refused["id"], "--reason", "no_online_presence", "--note", NOTE)
    assert await types(*words) == (0, f"{refused['id']} has been rejected.\n")
    rejected = await agents.shown(api, refused)
    assert (rejected["status"], rejected["rejectionReasonCode"]) == ("rejected", "no_online_presence")
    assert NOTE not in str(rejected), "partners do not see the note"
    assert (await types("list"))[1].count("\n") == 1


async def test_what_somebody_holds_is_refused_in_one_line(
    service: Service, types: Type, otto: Type, olive: Operator, request_: dict[str, Any]
) -> None:
    await types("show", request_["id"])
    status, printed = await otto("show", request_["id"])
    assert status == 0
    assert f"Olive Officer ({olive.id}) until " in printed
    for words in (("accept", "--note", NOTE), ("reject", "--reason", "other", "--note", NOTE), ("release",)):
        status, printed = await otto(words[0], request_["id"], *words[1:])
        assert status == 1
        assert printed.startswith(f"Olive Officer ({olive.id}) holds it until ")
        assert printed.endswith(" UTC.\n")
        assert printed.count("\n") == 1
    assert await types("release", request_["id"]) == (0, f"{request_['id']} has been released.\n")
    assert (await types("accept", request_["id"], "--note", NOTE))[1].startswith("You have not been shown it")
    assert (await otto("show", request_["id"]))[0] == 0
    assert (await otto("accept", request_["id"], "--note", NOTE))[0] == 0


async def test_what_has_changed_is_shown_again(
    service: Service, types: Type, api: Client, request_: dict[str, Any]
) -> None:
    await types("show", request_["id"])
    async with service.db.write() as tx:
        await tx.execute("update review set reasons = reasons || array['register_changed']")
    status, printed = await types("accept", request_["id"], "--note", NOTE)
    assert (status, printed) == (
        1,
        "It has changed since you were shown it: look at it again before you decide.\n",
    )
    assert "register_changed" in (await types("show", request_["id"]))[1]
    assert (await types("accept", request_["id"], "--note", NOTE))[0] == 0


async def test_the_list_is_narrowed_and_oldest_first(service: Service, api: Client, types: Type) -> None:
    first = await waiting_request(service, api)
    service.clock.advance(minutes=1)
    second = await waiting_request(service, api)
    other = await service.tenant()
    theirs = service.client(other.secret)
    third = await waiting_request(service, theirs)
    await theirs.close()
    lines = (await types("list"))[1].splitlines()[1:]
    assert [line.split()[0] for line in lines] == [one["id"] for one in (first, second, third)]
    assert len((await types("list", "--limit", "1"))[1].splitlines()) == 2
    partner = service.db.deployment.ids.encode("partner", other.partner.id)
    lines = (await types("list", "--partner", partner))[1].splitlines()[1:]
    assert [line.split()[0] for line in lines] == [third["id"]]
    assert len((await types("list", "--kind", "appeal"))[1].splitlines()) == 1
    assert len((await types("list", "--mine"))[1].splitlines()) == 1


async def test_who_may_not_decide_and_what_is_not_there_is_told(
    service: Service, tmp_path: Path, types: Type, request_: dict[str, Any]
) -> None:
    clerk = partial(in_process(service, tmp_path, await operator(service, "finance")), "reviews")
    status, printed = await clerk("show", request_["id"])
    assert status == 1
    assert "reviewer" in printed
    nobody = partial(in_process(service, tmp_path), "reviews")
    assert (await nobody("list"))[0] == 0
    assert (await nobody("show", request_["id"]))[0] == 1
    unknown = service.db.deployment.ids.example_id("validationrequest")
    for words in (
        ("show", "nothing"),
        ("show", unknown),
        ("show", service.db.deployment.ids.example_id("organisation")),
        ("accept", unknown, "--note", NOTE),
        ("release", unknown),
        ("accept", request_["id"], "--note", " "),
        ("accept", request_["id"]),
        ("list", "--kind", "mood"),
        ("list", "--partner", "nobody"),
    ):
        assert (await types(*words))[0] == 2, words
