"""Reviewers decide about applicants and record where nonprofits are asked, by command."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import factories
from tests.support.agents import create, mail_to, shown, simulate, told
from tests.support.client import Client
from tests.support.service import Service
from tests.support.terminal import Operator, Type, in_process, operator

NOTE = ("--note", "Named as treasurer on the nonprofit's own page of 3 March")


@pytest.fixture
async def olive(service: Service) -> Operator:
    """A reviewer."""
    return await operator(service, "reviewer", name="Olive Officer")


@pytest.fixture
def types(service: Service, tmp_path: Path, olive: Operator) -> Type:
    """Types commands as Olive."""
    return partial(in_process(service, tmp_path, olive))


async def in_review(service: Service, api: Client, organisation: str) -> dict[str, Any]:
    """An applicant whom the rules do not let through, and who has confirmed."""
    made = await create(service, api, organisation=organisation, email="ada@elsewhere.example", title="Treasurer")
    await simulate(api, made, "confirm_email")
    await service.drain()
    return made


async def test_a_reviewer_sees_the_evidence_and_lets_the_applicant_through(
    service: Service, api: Client, types: Type
) -> None:
    organisation = await factories.nonprofit(service, name="Hill Road Relief", website="https://charity.example")
    made = await in_review(service, api, organisation)
    status, printed = await types("reviews", "list", "--kind", "agent_verification")
    assert status == 0
    assert (made["id"] in printed, "other_domain" in printed) == (True, True)
    assert (await types("reviews", "request", made["id"]))[0] == 0
    unknown = service.db.deployment.ids.example_id("agentverification")
    assert unknown != made["id"]
    status, printed = await types("reviews", "request", unknown)
    assert (status, f"there is no {unknown}" in printed) == (2, True)
    status, printed = await types("reviews", "show", made["id"])
    assert status == 0
    for fact in (
        "Ada",
        "Byron",
        "Treasurer",
        "Hill Road Relief",
        "https://charity.example",
        "domain_agreement",
        "fail",
    ):
        assert fact in printed, printed
    assert await types("reviews", "accept", made["id"], *NOTE) == (0, f"{made['id']} has been accepted.\n")
    approved = await shown(api, made)
    assert approved["status"] == "approved"
    assert (await told(service, api))[-1] == ("approved", approved)


async def test_a_reviewer_rejects_with_a_code_of_settled_4(service: Service, api: Client, types: Type) -> None:
    made = await in_review(service, api, await factories.nonprofit(service))
    await types("reviews", "show", made["id"])
    status, printed = await types("reviews", "reject", made["id"], "--reason", "not_eligible", *NOTE)
    assert (status, "is none of" in printed) == (1, True)
    status, _ = await types("reviews", "reject", made["id"], "--reason", "no_online_presence", *NOTE)
    assert status == 0
    assert (await shown(api, made))["rejectionReasonCode"] == "no_online_presence"


async def test_who_expires_waits_for_nobody_any_more(service: Service, api: Client, types: Type) -> None:
    organisation = await factories.nonprofit(service)
    source = ("--source", "https://register.example/1")
    await types("agents", "set-contact", organisation, "info@quiet.example", *source)
    made = await in_review(service, api, organisation)
    assert "nonprofit_asked" in (await types("reviews", "list"))[1]
    service.clock.advance(days=30)
    await service.drain()
    assert made["id"] not in (await types("reviews", "list"))[1]
    assert (await shown(api, made))["rejectionReasonCode"] == "nonprofit_association_expired"


async def test_where_a_nonprofit_is_asked_is_recorded_with_its_source(
    service: Service, api: Client, types: Type, olive: Operator
) -> None:
    organisation = await factories.nonprofit(service)
    made = await in_review(service, api, organisation)
    source = ("--source", "https://register.example/1")
    for wrong in ("ada@relief.example", "nobody"):
        assert (await types("agents", "set-contact", organisation, wrong, *source))[0] == 2
    assert (await types("agents", "set-contact", organisation, "info@relief.example", "--source", " "))[0] == 2
    unknown = service.db.deployment.ids.example_id("organisation")
    assert (await types("agents", "set-contact", unknown, "info@relief.example", *source))[0] == 2
    status, printed = await types("agents", "set-contact", organisation, "info@relief.example", *source)
    assert (status, "Confirmation requests sent: 1" in printed) == (0, True)
    service.clock.advance(minutes=5)  # the command lives in real time
    mail = await mail_to(service, api, "info@relief.example")
    assert "Ada Byron" in mail["subject"]
    assert (await shown(api, made))["externalActionRequired"] is True
    async with service.db.read() as tx:
        row = await tx.fetchrow("select * from audit_entry where action = 'organisation.contact_recorded'")
    assert row is not None
    assert (row["actor_id"], row["subject"]) == (olive.id, organisation)
