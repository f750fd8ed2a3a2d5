"""Agents' names are compared with persons on watchlists: a hit goes to a person, never to refusal by itself."""

from pathlib import Path
from typing import Any

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.validation.agents import agent_review
from almoner.validation.applications.submissions import service as applications
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import Review, ReviewDecision, ReviewFilters, ReviewRefused
from almoner.validation.ongoing.matches import service as matches
from tests.support import agents, appeals, factories, submissions
from tests.support.client import Client
from tests.support.service import Service
from tests.support.watchlists import Lists, listing

LISTED = listing(36, "DEGTYAREVA, Zinaida", person=True)
BODY = {"firstName": "Zinaida", "lastName": "Degtyareva", "email": "zinaida@relief.example"}
OTHER = ReviewDecision("rejected", "not_the_same", "operator_1", "Born in another century")
SAME = ReviewDecision("accepted", None, "operator_1", "The passport says so")


_SEEN = """
select step ->> 'verdict' as verdict, step ->> 'facts' as facts from evidence, jsonb_array_elements(steps) as step
where kind = 'agent_verification' and step ->> 'name' = 'watch_lists'
"""


@pytest.fixture
async def service(alone: Service) -> Service:
    return alone


@pytest.fixture
async def api(service: Service) -> Client:
    return service.client((await service.tenant()).secret)


@pytest.fixture
def lists(service: Service, tmp_path: Path) -> Lists:
    return Lists(service.db, tmp_path)


async def applied(service: Service, api: Client, **body: Any) -> dict[str, Any]:
    """An agent whose e-mail is on the nonprofit's own domain, and who has confirmed it."""
    nonprofit = await factories.nonprofit(service, website="https://relief.example")
    made = await agents.create(service, api, organisation=nonprofit, **{**BODY, **body})
    await service.drain()
    await agents.simulate(api, made, "confirm_email")
    await service.drain()
    return await agents.shown(api, made)


async def waiting(service: Service) -> dict[str, Review]:
    async with service.db.read() as tx:
        return {review.subject.kind: review for review in await reviews.list_open_reviews(tx, ReviewFilters(), 10)}


async def test_a_name_that_nobody_listed_has_is_let_through(service: Service, api: Client, lists: Lists) -> None:
    await lists.load(LISTED)
    assert (await applied(service, api, firstName="Ann", lastName="Example"))["status"] == "approved"
    assert await waiting(service) == {}


async def test_a_listed_name_waits_for_a_person_and_is_let_through_when_it_is_cleared(
    service: Service, api: Client, lists: Lists
) -> None:
    await lists.load(LISTED)
    agent = await applied(service, api)
    assert agent["status"] == "pending_review"
    open_ = await waiting(service)
    assert open_["agent_verification"].reasons == ("on_watch_list",)
    assert open_["match"].reasons == ("listed:sanction",)
    async with service.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, open_["match"].subject.id, OTHER)
    await service.drain()
    assert (await agents.shown(api, agent))["status"] == "approved"
    assert await waiting(service) == {}


@pytest.mark.parametrize(
    ("first_name", "last_name"), [("አበበ", "Bikila"), ("សុខា", "Bikila"), ("❤", "❤"), ("", "Karajine")]
)
async def test_settled_11_a_name_that_cannot_be_compared_waits_for_a_person(
    service: Service, api: Client, lists: Lists, first_name: str, last_name: str
) -> None:
    await lists.load(LISTED)
    agent = await applied(service, api, firstName=first_name, lastName=last_name)
    assert agent["status"] == "pending_review"
    assert (await waiting(service))["agent_verification"].reasons == ("not_screened",)


async def test_what_was_seen_holds_no_name(service: Service, api: Client, lists: Lists) -> None:
    """Who is forgotten is forgotten in the evidence too (V6)."""
    await lists.load(LISTED)
    for first_name in ("Zinaida", "Ann"):
        await applied(service, api, firstName=first_name)
    async with service.db.read() as tx:
        seen = await tx.fetch(_SEEN)
    assert seen
    assert not any(word in row["facts"].lower() for row in seen for word in ("zinaida", "degtyareva", "ann "))


async def test_whom_the_nonprofit_denied_no_rule_lets_through(service: Service, api: Client, lists: Lists) -> None:
    await lists.load(LISTED)
    agent = await applied(service, api)
    await agents.contact(service, agent["organisationId"])
    await service.drain()
    verification = service.db.deployment.ids.decode("agentverification", agent["id"])
    assert verification is not None
    async with service.db.write() as tx:
        await agent_review.record_representation_answer(tx, verification, "denied")
    async with service.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, (await waiting(service))["match"].subject.id, OTHER)
    await service.drain()
    assert (await agents.shown(api, agent))["status"] == "pending_review"
    assert "nonprofit_denied" in (await waiting(service))["agent_verification"].reasons


async def test_even_a_confirmed_match_refuses_nobody_by_itself(service: Service, api: Client, lists: Lists) -> None:
    await lists.load(LISTED)
    agent = await applied(service, api)
    async with service.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, (await waiting(service))["match"].subject.id, SAME)
    await service.drain()
    assert (await agents.shown(api, agent))["status"] == "pending_review"


async def test_persons_are_not_compared_with_bodies(service: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(36, "ZINAIDA DEGTYAREVA"))
    assert (await applied(service, api))["status"] == "approved"


async def test_a_common_name_alone_is_no_evidence(service: Service, api: Client, lists: Lists) -> None:
    """Of an applicant nothing but the name is known, and where the nonprofit is: it needs that second piece."""
    await lists.load(listing(1, "MIKE", person=True), listing(2, "GUBERMAN, David", person=True))
    for last_name in ("Brown", "Silberman"):
        first_name = "Mike" if last_name == "Brown" else "David"
        assert (await applied(service, api, firstName=first_name, lastName=last_name))["status"] == "approved"


async def test_where_the_nonprofit_is_speaks_for_a_match_and_never_against_it(
    service: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(36, "DEGTYAREVA, Zinaida", person=True, remarks="nationality Russia."))
    assert (await applied(service, api))["status"] == "pending_review"


async def test_an_agent_in_review_is_looked_at_again_when_a_list_changes(
    service: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(1, "ZAVODOV, Imeni", person=True))
    agent = await applied(service, api, email="zinaida@elsewhere.example")
    assert agent["status"] == "pending_review"
    assert "match" not in await waiting(service)
    await lists.load(listing(1, "ZAVODOV, Imeni", person=True), LISTED)
    await service.drain()
    open_ = await waiting(service)
    assert "on_watch_list" in open_["agent_verification"].reasons
    assert open_["match"].reasons == ("listed:sanction",)


async def test_an_approved_agent_who_is_listed_later_waits_for_a_person_and_stays_approved(
    service: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(1, "ZAVODOV, Imeni", person=True))
    agent = await applied(service, api)
    assert agent["status"] == "approved"
    await lists.load(listing(1, "ZAVODOV, Imeni", person=True), LISTED)
    await service.drain()
    assert (await waiting(service))["match"].reasons == ("listed:sanction",)
    async with service.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, (await waiting(service))["match"].subject.id, SAME)
    await service.drain()
    assert (await agents.shown(api, agent))["status"] == "approved"


async def test_who_was_rejected_is_compared_no_more(service: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(1, "ZAVODOV, Imeni", person=True))
    agent = await applied(service, api, email="zinaida@elsewhere.example")
    await agents.simulate(api, agent, "reject", rejectionReasonCode="other")
    await lists.load(listing(1, "ZAVODOV, Imeni", person=True), LISTED)
    await service.drain()
    assert "match" not in await waiting(service)


async def test_a_list_of_bodies_alone_says_nothing_of_an_applicant(service: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(36, "ZINAIDA DEGTYAREVA"))
    await applied(service, api)
    async with service.db.read() as tx:
        seen = await tx.fetch(_SEEN)
    assert {row["verdict"] for row in seen} == {"not_applicable"}


async def test_who_decided_about_the_applicant_or_the_match_does_not_decide_the_appeal(
    service: Service, api: Client, lists: Lists
) -> None:
    await lists.load(LISTED)
    only = await submissions.configured(api, "agent_verification", emailVerification=False)
    nonprofit = await factories.nonprofit(service, website="https://relief.example")
    made = await submissions.applied(api, organisationId=nonprofit, configurationId=only, **BODY)
    await service.drain()
    match = (await waiting(service))["match"].subject.id
    async with service.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, match, SAME)
    kind = "agent_verification"
    await appeals.reject_first(
        service, kind, "agentverification", made["agentVerification"]["id"], "other", "operator_2"
    )
    appeal = await appeals.made(api, await submissions.ended(service, api, made))
    for by in ("operator_1", "operator_2"):
        with pytest.raises(ReviewRefused, match="another operator"):
            await appeals.decide(service, appeal, "rejected", by)
        await appeals.release(service, appeal, by)
    await appeals.decide(service, appeal, "rejected", "operator_3")


async def test_who_decided_at_the_address_before_a_correction_does_not_decide_the_appeal(
    service: Service, api: Client, lists: Lists
) -> None:
    await lists.load(LISTED)
    only = await submissions.configured(api, "agent_verification")
    nonprofit = await factories.nonprofit(service, website="https://relief.example")
    made = await submissions.applied(api, organisationId=nonprofit, configurationId=only, **BODY)
    await service.drain()
    match = (await waiting(service))["match"].subject.id
    named = service.db.deployment.ids.decode("validationsubmission", made["id"])
    assert named is not None
    async with service.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, match, SAME)
    for number in range(2):
        async with service.db.write() as tx:
            assert await applications.correct_email(tx, ALL_PARTNERS, named, f"zinaida{number}@relief.example")
        await service.drain()
    now = await submissions.shown(api, made)
    await appeals.reject_first(
        service, "agent_verification", "agentverification", now["agentVerificationId"], "other", "operator_2"
    )
    appeal = await appeals.made(api, await submissions.ended(service, api, made))
    for by in ("operator_1", "operator_2"):
        with pytest.raises(ReviewRefused, match="another operator"):
            await appeals.decide(service, appeal, "rejected", by)
        await appeals.release(service, appeal, by)
    await appeals.decide(service, appeal, "rejected", "operator_3")
