"""Applicants who are no agents to verify, and answers to partners' questions, are forgotten in time (V6)."""

from datetime import timedelta
from typing import Any

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.validation.applications.submissions import service as submissions
from tests.support import agents, appeals, factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import ADA, CHOIRS, PATH, applied, configured, ended, of_organisation, shown, simulate

QUESTION = {"id": "use", "type": "short_text", "required": True, "labels": {"en": "Where?"}}
ANSWER = {"use": "In Casper"}


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: weeks of the shared service's clock would be weeks of work for all that other tests have left."""
    return alone


async def known(service: Service, api: Client, submission: dict[str, Any]) -> list[object]:
    """What is still there of a person: names, address, answers."""
    ids = service.db.deployment.ids
    named = ids.decode("validationsubmission", submission["id"])
    assert named is not None
    async with service.db.read() as tx:
        applicant = (await submissions.get(tx, ALL_PARTNERS, named)).own_applicant
    answers = (await shown(api, submission))["partnerFields"]
    return [applicant.first_name, applicant.last_name, applicant.email, answers]


async def later(service: Service, **time: float) -> None:
    """So much later, all work done."""
    service.clock.advance(timedelta(**time))
    await service.drain()


async def test_v6_an_applicant_and_the_answers_are_forgotten_30_days_after_the_end(
    service: Service, api: Client
) -> None:
    without = await configured(api, "validation_request", partnerFields=[QUESTION])
    body = {"configurationId": without, "partnerFields": ANSWER}
    done = await ended(service, api, await applied(api, organisationName="test_accept", **body))
    waiting = await ended(service, api, await applied(api, registryId="13-1837418", **body))
    assert (done["status"], waiting["status"]) == ("succeeded", "pending")
    whole = [ADA["firstName"], ADA["lastName"], ADA["email"], ANSWER]
    await later(service, days=29)
    assert await known(service, api, done) == whole
    await later(service, days=2)  # the sweep runs once a day
    assert await known(service, api, done) == [None] * 4
    assert await known(service, api, waiting) == whole
    gone = await shown(api, done)
    assert gone == {**done, "partnerFields": None}
    assert [one["id"] for one in data(await api.get(PATH, email=ADA["email"]))] == [waiting["id"]]


async def test_v6_answers_are_forgotten_where_an_agent_is_verified_who_stays(service: Service, api: Client) -> None:
    every = await configured(api, partnerFields=[QUESTION])
    names = {"organisationName": "test_accept", "firstName": "test_accept"}
    made = await applied(api, configurationId=every, partnerFields=ANSWER, **names)
    done = await ended(service, api, made)
    assert (done["status"], done["partnerFields"]) == ("succeeded", ANSWER)
    await later(service, days=32)
    found = await shown(api, done)
    assert found["partnerFields"] is None
    assert found["agentVerification"]["email"] == ADA["email"]


async def test_v6_who_appeals_is_remembered_until_30_days_after_the_decision(service: Service, api: Client) -> None:
    without = await configured(api, "validation_request")
    made = await applied(api, organisationName="test_reject_not_eligible", configurationId=without)
    failed = await ended(service, api, made)
    assert failed["status"] == "failed"
    await later(service, days=25)
    appeal = await appeals.made(api, failed)
    await later(service, days=20)
    assert (await known(service, api, failed))[2] == ADA["email"]
    await appeals.decide(service, appeal, "rejected")
    await later(service, days=29)
    assert (await known(service, api, failed))[2] == ADA["email"]
    await later(service, days=2)
    assert await known(service, api, failed) == [None] * 4


async def test_v6_nothing_is_forgotten_while_what_an_appeal_has_taken_up_is_checked(
    service: Service, api: Client
) -> None:
    asked = await configured(api, "validation_request", "agent_verification", partnerFields=[QUESTION])
    body = {"organisationName": "test_reject_other", "configurationId": asked, "partnerFields": ANSWER}
    failed = await ended(service, api, await applied(api, **body))
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    await later(service, days=31)  # the applicant has not confirmed in 30 days
    await later(service, days=20)
    assert (await shown(api, failed))["partnerFields"] == ANSWER
    await later(service, days=12)
    assert (await shown(api, failed))["partnerFields"] is None


async def test_v6_an_agent_who_appeals_is_remembered_as_long(service: Service, api: Client) -> None:
    alone = await configured(api, "agent_verification")
    names = {"firstName": "test_reject_user_verification_expired", "email": "late@example.org"}
    organisation = await factories.nonprofit(service)
    made = await applied(api, organisationId=organisation, configurationId=alone, **names)
    failed = await ended(service, api, made)
    assert failed["status"] == "failed"
    await later(service, days=25)
    appeal = await appeals.made(api, failed)
    await later(service, days=20)
    assert (await shown(api, failed))["agentVerification"]["email"] == "late@example.org"
    await appeals.decide(service, appeal, "rejected")
    await later(service, days=32)
    assert (await shown(api, failed))["agentVerification"]["email"] is None


async def test_v6_nothing_is_forgotten_of_what_waits_for_a_decision(service: Service, api: Client) -> None:
    unsure = await configured(api, "eligibility", allowedActivitySubTags=[CHOIRS], partnerFields=[QUESTION])
    made = await of_organisation(service, api, configurationId=unsure, partnerFields=ANSWER)
    assert (await ended(service, api, made))["status"] == "processed"
    await later(service, days=32)
    assert (await shown(api, made))["partnerFields"] == ANSWER
    results = {"eligibilityStatus": "pass", "confirmedActivitySubTags": [CHOIRS]}
    await simulate(api, made["eligibilitySubscriptionId"], "set_results", results=results)
    done = await ended(service, api, made)
    assert (done["status"], done["partnerFields"]) == ("succeeded", ANSWER)


async def test_v6_what_nobody_decides_is_forgotten_after_half_a_year(service: Service, api: Client) -> None:
    unsure = await configured(api, "eligibility", allowedActivitySubTags=[CHOIRS], partnerFields=[QUESTION])
    made = await of_organisation(service, api, configurationId=unsure, partnerFields=ANSWER)
    assert (await ended(service, api, made))["status"] == "processed"
    await later(service, days=179)
    assert await known(service, api, made) == [ADA["firstName"], ADA["lastName"], ADA["email"], ANSWER]
    await later(service, days=2)
    assert await known(service, api, made) == [None] * 4


async def test_v6_an_agent_is_forgotten_where_nobody_decides(service: Service, api: Client) -> None:
    unsure = await configured(api, "eligibility", "agent_verification", allowedActivitySubTags=[CHOIRS])
    made = await of_organisation(service, api, configurationId=unsure, firstName="test_accept")
    assert (await ended(service, api, made))["status"] == "processed"
    for years, email in ((6, ADA["email"]), (2, None)):
        await later(service, days=years * 366)
        assert (await shown(api, made))["agentVerification"]["email"] == email


async def test_v6_what_an_appeal_says_is_forgotten_30_days_after_its_decision(service: Service, api: Client) -> None:
    failed = await ended(service, api, await applied(api, organisationName="test_reject_other"))
    decided = await appeals.made(api, failed, "The register has our former name.")
    await appeals.decide(service, decided, "rejected")
    waiting = await appeals.made(api, failed, "Once more: see the certificate.")
    await later(service, days=29)
    assert (await appeals.shown(api, decided))["text"] == "The register has our former name."
    await later(service, days=2)
    gone = await appeals.shown(api, decided)
    assert (gone["text"], gone["status"]) == (None, "upheld")
    assert (await appeals.shown(api, waiting))["text"] == "Once more: see the certificate."


async def test_v6_where_a_nonprofit_was_asked_is_forgotten_30_days_after_the_time_for_an_answer(
    service: Service, api: Client
) -> None:
    organisation = await factories.nonprofit(service)
    await agents.contact(service, organisation, "office@forgetful.example")
    speaks = await configured(api, "agent_verification", emailVerification=False)
    await ended(service, api, await applied(api, organisationId=organisation, configurationId=speaks))
    assert await asked(service) == "office@forgetful.example"
    await later(service, days=59)
    assert await asked(service) == "office@forgetful.example"
    await later(service, days=2)
    assert await asked(service) is None


async def asked(service: Service) -> str | None:
    """Where the nonprofit was asked."""
    async with service.db.read() as tx:
        found: str | None = await tx.fetchval("select email from agent_representation_request order by id desc limit 1")
        steps = await tx.fetchval(
            "select count(*) from evidence where kind = 'agent_verification' and steps::text ~ 'office@'"
        )
    assert steps == 0, "an address is nowhere else"
    return found


async def test_v6_a_refused_nonprofit_appeals_after_the_applicant_was_forgotten(service: Service, api: Client) -> None:
    """No agent was refused: nobody is let through whom nobody knows."""
    without = await configured(api, "validation_request")
    made = await applied(api, organisationName="test_reject_other", configurationId=without)
    failed = await ended(service, api, made)
    await later(service, days=32)
    assert (await known(service, api, failed))[2] is None
    appeal = await appeals.made(api, failed)
    await appeals.decide(service, appeal, "accepted")
    done = await ended(service, api, failed)
    assert (done["status"], done["organisationId"] is not None) == ("succeeded", True)
