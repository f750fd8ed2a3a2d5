"""The figures of reviews that a lead sees: decisions, waiting times, and how often second looks agreed."""

import re
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import MIN_LOOKS, ReviewDecision, Verdict
from tests.support.console import words
from tests.support.operators import operator, signed_in
from tests.support.service import Service
from tests.support.validation import UNHEARD_OF, decided

FIRST, SECOND = "operator_first", "operator_second"
CASES = REVIEW_HANDLERS["validation_request"]


def decision(verdict: Verdict, by: str) -> ReviewDecision:
    """A decision on a validation request."""
    return ReviewDecision(verdict, "other" if verdict == "rejected" else None, by, "Seen")


async def decide(service: Service, name: str, first: Verdict, second: Verdict) -> None:
    """One decides a case, and another one gives the second look at it."""
    every_case = replace(service.db.deployment, second_look_percent=100)
    async with service.db.write() as tx:
        subject_id = tx.ids.decode("validationrequest", name)
        assert subject_id is not None
        await reviews.claim_for_review(tx, CASES, subject_id, FIRST)
        tx._deployment = every_case
        await reviews.decide_review(tx, CASES, subject_id, decision(first, FIRST))
        [look] = await reviews.list_waiting_second_looks(tx, SECOND, 10)
        await reviews.decide_second_look(tx, CASES, look.review_id, decision(second, SECOND))


async def test_agreement_is_shown_by_reviewer_and_reason(alone: Service) -> None:
    lead = await signed_in(alone, await operator(alone, "administrator"))
    await lead.open("/operator/reviews/figures")
    assert words(lead).count("No data yet.") == 5
    api = alone.client((await alone.tenant()).secret)
    made = [await decided(alone, api, **{**UNHEARD_OF, "registryId": f"X{6300 + n}"}) for n in range(MIN_LOOKS)]
    for number, case in enumerate(made):
        if number == MIN_LOOKS - 5:
            alone.clock.advance(days=3)
            await lead.open("/operator/reviews/figures")
            assert "not enough second looks" in words(lead)
        await decide(alone, case["id"], "accepted" if number < 4 else "rejected", "rejected")
    page = (await lead.open("/operator/reviews/figures")).text
    told = words(lead)
    assert f"{MIN_LOOKS - 5} of {MIN_LOOKS} cases were decided on time" in told
    assert f"Validation requests: {MIN_LOOKS - 5} of {MIN_LOOKS} decided on time" in told
    assert f"{alone.db.deployment.second_look_percent}% of all decided cases are selected at random" in told
    agreed = f"{MIN_LOOKS} 80% (58 to 92%)"
    assert f"operator_first Validation requests {agreed}" in told
    assert f"could not be checked. Validation requests {MIN_LOOKS} 20% {agreed}" in told
    pictures = re.findall(r'<svg viewBox="0 0 600 124".*?</svg>', page, re.DOTALL)
    assert [one.count("<rect") for one in pictures] == [3, 1], "late cases, and those on time, which did not wait"
    assert 'class="target"' in pictures[1]
    await api.close()
    await lead.close()


async def test_the_figures_are_those_of_thirty_whole_days(alone: Service) -> None:
    """A case of the evening before the first day is in no bar, so it is in no total either."""
    api = alone.client((await alone.tenant()).secret)
    before, within = [await decided(alone, api, **{**UNHEARD_OF, "registryId": f"X{6400 + n}"}) for n in range(2)]
    midnight = datetime.combine(alone.clock.now().date() + timedelta(days=1), time(), UTC)
    alone.clock.advance_to(midnight - timedelta(minutes=1))
    await decide(alone, before["id"], "accepted", "accepted")
    alone.clock.advance_to(midnight + timedelta(minutes=1))
    await decide(alone, within["id"], "accepted", "accepted")
    alone.clock.advance_to(midnight + timedelta(days=29, hours=12))
    lead = await signed_in(alone, await operator(alone, "administrator"))
    await lead.open("/operator/reviews/figures")
    told = words(lead)
    assert "1 of 1 cases were decided on time" in told
    assert "operator_first Validation requests 1 1.0" in told
    assert "Only hours in which the reviewer decided at least one case of the kind count" in told
    await lead.close()
    await api.close()
