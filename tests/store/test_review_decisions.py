"""One at a time decides, and only what was shown; what was decided is kept with who, when and why."""

from datetime import timedelta

import pytest

from almoner.kit.errors import NotFound
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    CLAIM_DURATION,
    CurrentEvidenceNotSeen,
    Review,
    ReviewClaimedByAnother,
    ReviewDecision,
    ReviewFilters,
    ReviewNotClaimed,
    ReviewNotOpen,
    ReviewRefused,
    UnknownReasonCode,
)
from tests.support.client import Client
from tests.support.reviews import REASONS, VerificationCase, Waiting, reviewers, waiting
from tests.support.service import Service, Tenant
from tests.support.terminal import Operator


@pytest.fixture
async def one(service: Service, api: Client) -> Waiting:
    """Something that somebody has to decide."""
    return await waiting(service, api)


@pytest.fixture
async def people(service: Service) -> tuple[Operator, Operator]:
    """Two reviewers."""
    return await reviewers(service)


async def queued(service: Service, tenant: Tenant, **filters: object) -> list[Review]:
    """The queue of one partner."""
    async with service.db.read() as tx:
        return await reviews.list_open_reviews(tx, ReviewFilters(partner_id=tenant.partner.id, **filters), 50)  # type: ignore[arg-type]


async def test_who_was_shown_it_decides_and_it_is_kept(
    service: Service, tenant: Tenant, one: Waiting, people: tuple[Operator, Operator]
) -> None:
    olive, _ = people
    asked_at = service.clock.now()
    looked = await one.look(olive)
    assert "registration" in [step.name for step in looked.evidence.steps]
    assert looked.claimed_by == olive.id
    service.clock.advance(hours=2)
    await one.accept(olive, "The register of 3 March, case 7")
    history = await one.history()
    [review], [stored] = history.reviews, history.decisions
    assert (review.status, review.reasons, review.requested_at) == ("decided", REASONS, asked_at)
    assert review.ended_at == stored.at == asked_at + timedelta(hours=2)
    assert stored.decision == ReviewDecision("accepted", None, olive.id, "The register of 3 March, case 7")
    assert stored.review_id == review.id
    assert history.current_open_review is None
    assert await queued(service, tenant) == []


async def test_a_refusal_keeps_reason_and_person(one: Waiting, people: tuple[Operator, Operator]) -> None:
    olive, _ = people
    await one.look(olive)
    with pytest.raises(UnknownReasonCode, match="'mood' is none of"):
        await one.reject(olive, "mood")
    await one.reject(olive, "not_eligible", "Its register struck it off")
    [stored] = (await one.history()).decisions
    assert stored.decision == ReviewDecision("rejected", "not_eligible", olive.id, "Its register struck it off")


async def test_a_reversal_is_a_decision_of_its_own(one: Waiting, people: tuple[Operator, Operator]) -> None:
    olive, otto = people
    await one.look(olive)
    await one.reject(olive)
    async with one.service.db.write() as tx:
        await reviews.request_review(tx, one.subject, ["appealed"])
        again = ReviewDecision("accepted", None, otto.id, "The appeal was right")
        await reviews.record_decision(tx, one.subject, again)
    history = await one.history()
    assert [review.status for review in history.reviews] == ["decided", "decided"]
    assert [stored.decision.by for stored in history.decisions] == [olive.id, otto.id]
    assert [stored.review_id for stored in history.decisions] == [review.id for review in history.reviews]


async def test_nobody_decides_what_they_were_not_shown(one: Waiting, people: tuple[Operator, Operator]) -> None:
    olive, _ = people
    with pytest.raises(CurrentEvidenceNotSeen, match="have not been shown"):
        await one.accept(olive)
    assert (await one.history()).decisions == []


async def test_what_changed_is_shown_again_before_it_is_decided(
    one: Waiting, people: tuple[Operator, Operator]
) -> None:
    olive, _ = people
    await one.look(olive)
    await one.ask("register_changed")
    with pytest.raises(CurrentEvidenceNotSeen, match="has changed since"):
        await one.accept(olive)
    await one.look(olive)
    async with one.service.db.write() as tx:
        await tx.execute(
            "update monetary_donation_verification set metadata = $2 where id = $1", one.subject.id, {"case": "8"}
        )
    with pytest.raises(CurrentEvidenceNotSeen, match="has changed since"):
        await one.reject(olive)
    assert (await one.history()).decisions == []
    await one.look(olive)
    await one.accept(olive)


async def test_while_somebody_holds_it_nobody_else_decides(one: Waiting, people: tuple[Operator, Operator]) -> None:
    olive, otto = people
    await one.look(olive)
    seen = await one.look(otto)
    assert seen.claimed_by == olive.id
    assert seen.claimed_until is not None
    for attempt in (one.accept, one.reject, one.release):
        with pytest.raises(ReviewClaimedByAnother) as refused:
            await attempt(otto)
        reported = str(refused.value)
        assert reported == f"{olive.name} ({olive.id}) holds it until {seen.claimed_until:%Y-%m-%d %H:%M} UTC."
        assert "\n" not in reported
    await one.accept(olive)


async def test_it_is_held_for_fifteen_minutes_of_real_time_from_the_last_look(
    one: Waiting, people: tuple[Operator, Operator]
) -> None:
    olive, otto = people
    clock = one.service.clock
    await one.look(olive)
    clock.advance(days=1)  # business time holds nothing
    clock.advance_wall(minutes=10)
    looked = await one.look(olive)
    assert looked.claimed_until is not None
    assert timedelta() < CLAIM_DURATION - (looked.claimed_until - clock.real_now()) < timedelta(minutes=1)
    clock.advance_wall(minutes=10)
    assert (await one.look(otto)).claimed_by == olive.id
    clock.advance_wall(minutes=6)
    assert (await one.look(otto)).claimed_by == otto.id
    with pytest.raises(ReviewClaimedByAnother):
        await one.accept(olive)
    await one.accept(otto)


async def test_who_was_late_decides_all_the_same_when_nobody_else_looked(
    one: Waiting, people: tuple[Operator, Operator]
) -> None:
    olive, _ = people
    await one.look(olive)
    one.service.clock.advance_wall(minutes=20)
    await one.accept(olive)


async def test_who_lets_go_lets_others_decide(one: Waiting, people: tuple[Operator, Operator]) -> None:
    olive, otto = people
    with pytest.raises(ReviewNotClaimed):
        await one.release(olive)
    await one.look(olive)
    await one.release(olive)
    with pytest.raises(CurrentEvidenceNotSeen):
        await one.accept(olive)
    assert (await one.look(otto)).claimed_by == otto.id
    await one.accept(otto)


async def test_what_was_decided_or_withdrawn_is_decided_by_nobody(
    service: Service, api: Client, one: Waiting, people: tuple[Operator, Operator]
) -> None:
    olive, otto = people
    await one.look(olive)
    await one.accept(olive)
    with pytest.raises(ReviewNotOpen) as refused:
        await one.reject(otto)
    moment = service.clock.now()
    assert str(refused.value) == f"It was accepted by {olive.name} ({olive.id}), {moment:%Y-%m-%d %H:%M} UTC."
    assert (await one.look(otto)).claimed_by is None
    other = await waiting(service, api)
    await other.look(olive)
    async with service.db.write() as tx:
        await reviews.withdraw_review(tx, other.subject)
        await reviews.withdraw_review(tx, other.subject)
    with pytest.raises(ReviewNotOpen, match="Nobody is asked"):
        await other.accept(olive)
    assert [review.status for review in (await other.history()).reviews] == ["withdrawn"]
    assert (await other.history()).decisions == []


async def test_asking_again_adds_reasons_and_opens_nothing_twice(
    service: Service, tenant: Tenant, one: Waiting
) -> None:
    await one.ask("name_differs", "group_unclear", "group_unclear")
    [waits] = await queued(service, tenant)
    assert waits.reasons == (*REASONS, "group_unclear")


async def test_what_rules_decide_alone_is_kept_too(service: Service, api: Client) -> None:
    one = await waiting(service, api)
    alone = ReviewDecision("rejected", "no_response", "rules", "30 days without an answer")
    async with service.db.write() as tx:
        await reviews.withdraw_review(tx, one.subject)
        await reviews.record_decision(tx, one.subject, alone)
    [stored] = (await one.history()).decisions
    assert (stored.decision, stored.review_id) == (alone, None)
    with pytest.raises(ReviewNotOpen, match="It was rejected by rules"):
        await one.accept((await reviewers(service))[0])


async def test_a_decision_that_its_slice_refuses_leaves_the_case_as_it_was(
    service: Service, api: Client, people: tuple[Operator, Operator]
) -> None:
    olive, _ = people
    one = await waiting(service, api)
    async with service.db.write() as tx:
        await tx.execute(
            "update monetary_donation_check set status = 'failed' where verification_id = $1 and type = 'registration'",
            one.subject.id,
        )
    await one.look(olive)
    with pytest.raises(Exception, match="invalid_state"):
        await one.accept(olive)
    history = await one.history()
    assert history.current_open_review is not None
    assert history.current_open_review.claimed_by == olive.id
    assert history.decisions == []


async def test_what_is_not_there_is_shown_to_nobody(service: Service, people: tuple[Operator, Operator]) -> None:
    async with service.db.write() as tx:
        with pytest.raises(NotFound):
            await reviews.claim_for_review(tx, VerificationCase(), tx.new_id(), people[0].id)


async def test_the_queue_is_oldest_first_and_can_be_narrowed(
    service: Service, tenant: Tenant, api: Client, people: tuple[Operator, Operator]
) -> None:
    olive, otto = people
    first = await waiting(service, api)
    service.clock.advance(minutes=1)
    second = await waiting(service, api)
    other = service.client((await service.tenant()).secret)
    elsewhere = await waiting(service, other)
    await other.close()
    assert [one.subject.id for one in await queued(service, tenant)] == [first.subject.id, second.subject.id]
    assert await queued(service, tenant, kind="appeal") == []
    assert len(await queued(service, tenant, kind="match")) == 2
    await second.look(olive)
    await elsewhere.look(otto)
    assert [one.subject.id for one in await queued(service, tenant, holder=olive.id)] == [second.subject.id]
    assert await queued(service, tenant, holder=otto.id) == []
    async with service.db.read() as tx:
        assert len(await reviews.list_open_reviews(tx, ReviewFilters(partner_id=tenant.partner.id), 1)) == 1
    service.clock.advance_wall(minutes=16)
    assert await queued(service, tenant, holder=olive.id) == []


def test_every_refusal_is_told_as_it_is() -> None:
    assert all(
        issubclass(one, ReviewRefused)
        for one in (ReviewClaimedByAnother, ReviewNotClaimed, ReviewNotOpen, CurrentEvidenceNotSeen, UnknownReasonCode)
    )
