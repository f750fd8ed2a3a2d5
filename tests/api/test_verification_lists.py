"""Watchlists and monetary donation verifications: people say whose a match is, and the lists decide last."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import InvalidState
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.matches import service as matches
from tests.api.test_verification_findings import flags, lift
from tests.support import factories
from tests.support.client import Client
from tests.support.operators import operator, signed_in
from tests.support.payouts import uuid_of
from tests.support.service import Service
from tests.support.verifications import checks, shown, simulate
from tests.support.watchlists import Lists, listing

AQSA = "AL-MASJED AL-AQSA CHARITY FOUNDATION"
SAME = ReviewDecision("accepted", None, "operator_1", "The passport says so")
OTHER = ReviewDecision("rejected", "not_the_same", "operator_1", "Another town, another board")


@pytest.fixture
async def api(alone: Service) -> AsyncIterator[Client]:
    """Its partner."""
    client = alone.client((await alone.tenant()).secret)
    yield client
    await client.close()


@pytest.fixture
def lists(alone: Service, tmp_path: Path) -> Lists:
    """What is loaded there."""
    return Lists(alone.db, tmp_path)


async def decide(service: Service, decision: ReviewDecision) -> None:
    """A person decides the open match."""
    async with service.db.write() as tx:
        match = await tx.fetchval("select id from screening_match where decision = 'open' and current")
        await matches.decide_match(tx, ALL_PARTNERS, match, decision)
    await service.drain()


async def test_the_lists_decide_when_nothing_else_is_missing(alone: Service, api: Client, lists: Lists) -> None:
    made = await factories.verification(alone, api)
    for check in ("bank_details", "organisation_confirmation"):
        await alone.drain()
        assert (await simulate(api, made, "succeed_check", type=check))["status"]["type"] == "pending"
    await alone.drain()
    waiting = await shown(api, made)
    assert waiting["checks"][1]["status"] == "pending", "no list is loaded: nobody is clear"
    assert waiting["status"]["awaitingAnswerFromOrganisation"] is False
    await lists.load(listing(1, AQSA))
    await alone.drain()
    assert (await shown(api, made))["status"]["type"] == "approved"


async def test_settled_11_whoever_cannot_be_compared_waits_for_a_person(
    alone: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(1, AQSA))
    made = await factories.verification(
        alone, api, organisation=await factories.nonprofit(alone, name="የኢትዮጵያ ቀይ መስቀል")
    )
    await alone.drain()
    for check in ("bank_details", "organisation_confirmation"):
        await simulate(api, made, "succeed_check", type=check)
    await alone.drain()
    assert (await shown(api, made))["status"]["type"] == "pending"
    async with alone.db.read() as tx:
        found = await tx.fetch(
            "select steps -> 0 ->> 'verdict', steps -> 0 ->> 'code' from evidence "
            "where kind = 'monetary_donation_verification' and steps -> 0 ->> 'name' = 'compliance'"
        )
    assert [tuple(row) for row in found] == [("unknown", "not_screened")]
    browser = await signed_in(alone, await operator(alone, "reviewer"))
    page = f"/operator/reviews/verifications/{made['id']}"
    search = f"/operator/watch-lists/search?case={made['id']}"
    assert f'href="{search}">Search the watchlists<' in (await browser.get(page)).text
    shown_search = (await browser.get(search)).text
    assert "የኢትዮጵያ ቀይ መስቀል" in shown_search
    assert f'href="{page}"' in shown_search
    plain = await factories.verification(alone, api)
    await alone.drain()
    assert "Search the watchlists" not in (await browser.get(f"/operator/reviews/verifications/{plain['id']}")).text
    await browser.close()


@pytest.mark.parametrize(("decision", "status"), [(OTHER, "approved"), (SAME, "rejected")])
async def test_a_match_waits_for_a_person(
    alone: Service, api: Client, lists: Lists, decision: ReviewDecision, status: str
) -> None:
    await lists.load(listing(1, AQSA))
    named = await factories.nonprofit(alone, name=AQSA)
    made = await factories.verification(alone, api, organisation=named)
    await alone.drain()
    for check in ("bank_details", "organisation_confirmation"):
        await simulate(api, made, "succeed_check", type=check)
    await alone.drain()
    assert (await shown(api, made))["checks"][1]["status"] == "pending"
    async with alone.db.write() as tx:
        with pytest.raises(InvalidState, match="decide about sandbox_screeningmatch_"):
            await verifications.compute_approval_fingerprint(
                tx, ALL_PARTNERS, uuid_of(alone, "monetarydonationverification", made["id"])
            )
    await decide(alone, decision)
    ended = await shown(api, made)
    assert ended["status"]["type"] == status
    if status == "rejected":
        assert ended["rejectionReasonCode"] == "failed_compliance"


async def test_a_match_after_the_approval_is_flagged_once(alone: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(1, "SOMEBODY ELSE ENTIRELY"))
    named = await factories.nonprofit(alone, name=AQSA)
    made = await factories.verification(alone, api, organisation=named)
    await alone.drain()
    approved = await simulate(api, made, "approve")
    assert approved["checks"] == checks(**dict.fromkeys([check["type"] for check in approved["checks"]], "succeeded"))
    await lists.load(listing(1, "SOMEBODY ELSE ENTIRELY"), listing(2, AQSA))
    await alone.drain()
    [flag] = await flags(alone, made)
    assert (flag.kind, flag.status) == ("new_match", "open")
    await decide(alone, OTHER)
    assert [one.status for one in await flags(alone, made)] == ["open"], "it takes two people all the same"
    assert (await shown(api, made))["status"]["type"] == "approved"


@pytest.mark.parametrize("decision", [OTHER, SAME])
async def test_a_flagged_match_is_lifted_once_a_person_has_said_that_it_is_another(
    alone: Service, api: Client, lists: Lists, decision: ReviewDecision
) -> None:
    await lists.load(listing(1, "SOMEBODY ELSE ENTIRELY"))
    named = await factories.nonprofit(alone, name=AQSA)
    made = await factories.verification(alone, api, organisation=named)
    await alone.drain()
    await simulate(api, made, "approve")
    await lists.load(listing(1, "SOMEBODY ELSE ENTIRELY"), listing(2, AQSA))
    await alone.drain()
    [flag] = await flags(alone, made)
    with pytest.raises(InvalidState, match="decide about sandbox_screeningmatch_"):
        await lift(alone, flag, "one")
    await decide(alone, decision)
    if decision is SAME:
        for flag in await flags(alone, made):
            assert flag.status == "open"
            with pytest.raises(InvalidState, match="it is not paid"):
                await lift(alone, flag, "one")
    else:
        assert [(await lift(alone, flag, by)).status for by in ("one", "two")] == ["open", "lifted"]


async def test_nobody_approves_whom_a_list_names_before_the_job_has_heard_of_it(
    alone: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(1, AQSA))
    named = await factories.nonprofit(alone, name=AQSA)
    made = await factories.verification(alone, api, organisation=named)
    await alone.drain()
    async with alone.db.write() as tx:
        match = await tx.fetchval("select id from screening_match where decision = 'open' and current")
        await matches.decide_match(tx, ALL_PARTNERS, match, SAME)
        with pytest.raises(InvalidState, match="it is not paid"):
            await verifications.compute_approval_fingerprint(
                tx, ALL_PARTNERS, uuid_of(alone, "monetarydonationverification", made["id"])
            )
