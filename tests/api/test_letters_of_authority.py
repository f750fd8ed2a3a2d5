"""Documents that show that an applicant speaks for the nonprofit: who reviews the agent finds them (settled 3, 5)."""

from typing import Any
from uuid import UUID

import pytest

from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.decisions.reviews.domain import Kind
from tests.support import agents, appeals, factories
from tests.support.applications import Form, invited
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.scanning import scanned
from tests.support.service import Service
from tests.support.submissions import applied, configured, ended, simulate

FILES = "/v1/validation-submission-documents"
EXPIRED = "nonprofit_association_expired"
ASSOCIATION = ("agent_verification", "association", "nonprofit")


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: weeks of the shared service's clock would be weeks of work for all that other tests have left."""
    return alone


async def letter(service: Service, api: Client, **owner: str) -> UUID:
    """The file of a letter of authority that was handed in."""
    fields = {"type": "agent_verification", **owner}
    made = data(await api.request("POST", FILES, data=fields, files={"file": ("letter", HONEST[PNG], PNG)}))
    named = service.db.deployment.ids.decode("validationsubmissiondocument", made["id"])
    async with service.db.read() as tx:
        sql = "select document_id from validation_submission_document where id = $1"
        return UUID(str(await tx.fetchval(sql, named)))


async def shown_to_reviewers(service: Service, kind: Kind, type_: str, record_id: str) -> list[UUID]:
    """The documents that they see of a record."""
    named = service.db.deployment.ids.decode(type_, record_id)
    assert named is not None
    async with service.db.read() as tx:
        return list((await REVIEW_HANDLERS[kind].load_evidence(tx, named)).document_ids)


async def asked_about(service: Service, api: Client, office: str, **more: Any) -> dict[str, Any]:
    """A submission whose nonprofit is asked about the applicant at this address."""
    organisation = await factories.nonprofit(service)
    await agents.contact(service, organisation, office)
    speaks = await configured(api, "agent_verification", emailVerification=False)
    return await ended(service, api, await applied(api, organisationId=organisation, configurationId=speaks, **more))


def missing(submission: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What is missing of whom."""
    return [(one["check"], one["code"], one["from"]) for one in submission["requirements"]]


async def test_a_letter_stands_for_the_answer_of_the_nonprofit(service: Service, api: Client) -> None:
    waits = await asked_about(service, api, "office@letters.example")
    assert missing(waits) == [ASSOCIATION]
    assert "letter_of_authority" in waits["requirements"][0]["accepted"]
    file = await letter(service, api, validationSubmissionId=waits["id"])
    assert (await ended(service, api, waits))["requirements"] == []
    agent = waits["agentVerificationId"]
    assert data(await api.get(f"{agents.PATH}/{agent}"))["externalActionRequired"] is False
    assert await shown_to_reviewers(service, "agent_verification", "agentverification", agent) == [file]
    service.clock.advance(days=31)
    assert (await ended(service, api, waits))["agentVerification"]["status"] == "pending_review"
    await simulate(api, agent, "approve")
    assert (await ended(service, api, waits))["status"] == "succeeded"


async def test_the_nonprofit_may_answer_beside_a_letter_for_its_30_days(service: Service, api: Client) -> None:
    for days, status in ((29, 303), (30, 410)):
        waits = await asked_about(service, api, f"office{days}@letters.example")
        [mail] = data(await api.get("/v1/sandbox/mailbox", to=f"office{days}@letters.example"))
        await letter(service, api, validationSubmissionId=waits["id"])
        browser = Browser(service.app, service.db.deployment.base_urls.pages)
        page = await browser.open(next(link for link in mail["links"] if "/answer?" in link))
        service.clock.advance(days=days)
        answer = await browser.post(page.url.path, {"answer": "denied"})
        assert answer.status_code == status, days


async def test_a_letter_that_came_with_the_form_is_there_when_the_nonprofit_is_asked(
    service: Service, api: Client
) -> None:
    organisation = await factories.nonprofit(service)
    await agents.contact(service, organisation, "office@early.example")
    speaks = await configured(api, "agent_verification", emailVerification=False)
    invite = await invited(api, hostedConfigId=speaks)
    file = await letter(service, api, validationInviteId=invite["id"])
    body = {"organisationId": organisation, "validationInviteId": invite["id"]}
    made = await ended(service, api, await applied(api, **body))
    assert data(await api.get("/v1/sandbox/mailbox", to="office@early.example")) != []  # its word is evidence, too
    assert made["requirements"] == []
    agent = made["agentVerificationId"]
    assert await shown_to_reviewers(service, "agent_verification", "agentverification", agent) == [file]


async def test_a_letter_that_the_scanner_refuses_stands_for_nothing(service: Service, api: Client) -> None:
    waits = await asked_about(service, api, "office@virus.example")
    await scanned(service, await letter(service, api, validationSubmissionId=waits["id"]), "Eicar")
    assert missing(await ended(service, api, waits)) == [ASSOCIATION]
    clean = await letter(service, api, validationSubmissionId=waits["id"])
    await scanned(service, await letter(service, api, validationSubmissionId=waits["id"]), "Eicar")
    assert missing(await ended(service, api, waits)) == []  # another one stands for it
    await scanned(service, clean, "Eicar")
    service.clock.advance(days=31)
    assert (await ended(service, api, waits))["agentVerification"]["rejectionReasonCode"] == EXPIRED


async def test_a_letter_that_was_refused_before_the_nonprofit_is_asked_stands_for_nothing(
    service: Service, api: Client
) -> None:
    organisation = await factories.nonprofit(service)
    await agents.contact(service, organisation, "office@before.example")
    speaks = await configured(api, "agent_verification")
    made = await ended(service, api, await applied(api, organisationId=organisation, configurationId=speaks))
    await scanned(service, await letter(service, api, validationSubmissionId=made["id"]), "Eicar")
    await agents.simulate(api, {"id": made["agentVerificationId"]}, "confirm_email")
    assert missing(await ended(service, api, made)) == [ASSOCIATION]


async def test_a_letter_goes_along_when_the_address_is_corrected(service: Service, api: Client) -> None:
    invite = await invited(api)
    file = await letter(service, api, validationInviteId=invite["id"])
    form = Form(service, invite)
    await form.open()
    await form.fill(email="wrong@letters.example")
    home = await form.send()
    service.clock.advance(seconds=5)
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": "right@letters.example"})).status_code == 303
    [made] = data(await api.get("/v1/validation-submissions"))
    assert made["agentVerification"]["email"] == "right@letters.example"
    agent = made["agentVerificationId"]
    assert await shown_to_reviewers(service, "agent_verification", "agentverification", agent) == [file]


async def test_who_decides_an_appeal_sees_the_letter(service: Service, api: Client) -> None:
    waits = await asked_about(service, api, "office@appealed.example")
    await simulate(api, waits["agentVerificationId"], "reject", rejectionReasonCode="other")
    appeal = await appeals.made(api, await ended(service, api, waits))
    file = await letter(service, api, validationSubmissionId=waits["id"])
    assert await shown_to_reviewers(service, "appeal", "appeal", appeal["id"]) == [file]
