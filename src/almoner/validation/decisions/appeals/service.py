"""What can be done with appeals. Whatever changes one holds its submission first, then the appeal, then the checks."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import EVERYONE, Everyone, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import NewJob
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import AgentVerification
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import AppealStatus, InvalidState, Submission
from almoner.validation.decisions.appeals import domain, schemas, store
from almoner.validation.decisions.appeals.domain import CHANGED, Appeal, AppealChanged, Appellant
from almoner.validation.decisions.appeals.schemas import AppealOut
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import Decision, NotOpen, Subject
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.requests import service as requests

Scope = Partner | Everyone

SETTLE: Final = "appeals.settle"
BATCH: Final = 1000


async def create(tx: Tx, scope: Scope, submission_id: UUID, text: str, appellant: Appellant) -> Appeal:
    """Ask for a second look, by another operator. Raises NotFound, InvalidState."""
    held = await submissions.hold(tx, scope, submission_id)
    if held.status != "failed":
        raise InvalidState(f"the validation submission is {held.status}: only a failed one may be appealed against")
    before = await store.last(tx, EVERYONE, held.id)
    if before is not None and before.status == "open":
        raise InvalidState("an appeal is open already: it is decided first")
    if before is not None and before.unanswered:
        raise InvalidState("an appeal has reversed the decision: what follows from that is yet to be answered")
    if not domain.is_reversible(await _agent(tx, held)):
        raise InvalidState(domain.FORGOTTEN)
    made = Appeal(
        id=tx.new_id(),
        partner_id=held.partner_id,
        submission_id=held.id,
        text=text,
        appellant=appellant,
        first_decided_by=await _deciders(tx, held),
        overridden_checks=(),
        status="open",
        created_at=tx.now,
        due_at=domain.due(tx.now),
        decided_at=None,
        decided_by=None,
    )
    await store.insert(tx, Partner(held.partner_id), made)
    await reviews.ask(tx, subject_of(made), ["appealed"])
    await _tell(tx, made)
    return made


async def get(tx: Tx, scope: Scope, appeal_id: UUID) -> Appeal:
    """One appeal. Raises NotFound."""
    if (found := await store.find(tx, scope, appeal_id)) is None:
        raise NotFound
    return found


def record(tx: Tx, appeal: Appeal) -> AppealOut:
    """The appeal as partners see it."""
    return schemas.appeal_out(tx, appeal)


async def last(tx: Tx, scope: Scope, submission_id: UUID) -> Appeal | None:
    """The newest appeal of a submission; None where nobody appealed."""
    return await store.last(tx, scope, submission_id)


def subject_of(appeal: Appeal) -> Subject:
    """What is reviewed."""
    return Subject("appeal", appeal.id, appeal.partner_id)


async def hold(tx: Tx, scope: Scope, appeal_id: UUID) -> tuple[Appeal, Submission]:
    """Lock its submission and itself until the transaction ends. Raises NotFound."""
    submission = await submissions.hold(tx, scope, (await get(tx, scope, appeal_id)).submission_id)
    held = await store.lock(tx, EVERYONE, appeal_id)
    assert held is not None, "appeals are never deleted"
    return held, submission


async def uphold(tx: Tx, scope: Scope, appeal_id: UUID, decision: Decision) -> Appeal:
    """The decision stands. Raises NotFound, ReviewRefused."""
    held, _ = await hold(tx, scope, appeal_id)
    decided = await _decide(tx, held, held.decided("upheld", decision.by, (), tx.now), decision)
    await _tell(tx, decided)
    return decided


async def reverse(tx: Tx, scope: Scope, appeal_id: UUID, decision: Decision) -> Appeal:
    """A new decision on each failed check; what only ended with them is checked now. Raises NotFound, ReviewRefused.

    A rejected request is accepted, a rejected agent approved (settled 4). What watch lists and activities say stays as
    it is, and counts as passed for this submission alone.
    """
    held, submission = await hold(tx, scope, appeal_id)
    parts = submission.parts
    domain.ensure_reversible(parts.agent)
    overruled = domain.overridden_checks(submission)
    decided = await _decide(tx, held, held.decided("reversed", decision.by, overruled, tx.now), decision)
    anew = Decision.by_appeal(tx.ids.text("appeal", held.id), decision)
    if parts.monitoring is not None:
        await monitoring.take_up(tx, parts.monitoring.id)
    if parts.eligibility is not None:
        await eligibility.take_up(tx, parts.eligibility.id)
    if parts.request is not None and parts.request.status == "rejected":  # not by another submission's appeal already
        await requests.reverse(tx, EVERYONE, parts.request.id, anew)
    if parts.agent is not None and parts.agent.status == "rejected":
        confirmed = held.created_at if held.appellant == "applicant" else None
        await agents.reverse(tx, EVERYONE, parts.agent.id, anew, confirmed)
    settled = await settle(tx, submission.id)
    if settled is None:
        await _tell(tx, decided)
    else:
        await _told(tx, decided)  # the answer itself was told
    return decided


async def settle(tx: Tx, submission_id: UUID) -> Submission | None:
    """The answer that follows from a reversed appeal, once every check has ended; None where there is nothing to do."""
    held = await submissions.hold(tx, EVERYONE, submission_id)
    before = await store.last(tx, EVERYONE, submission_id)
    if held.status != "failed" or before is None or not before.unanswered:
        return None
    status = submissions_domain.status_of(domain.standings(held, before.overridden_checks))
    if status == "pending":
        return None
    await store.settle(tx, before.id)
    return await submissions.overturn(tx, EVERYONE, submission_id, status, passed=before.overridden_checks)


async def follow(tx: Tx, check: str, ids: list[UUID]) -> None:
    """Something became of these subscriptions: settle the appeals that wait for them."""
    found = await store.reversed_of(tx, EVERYONE, check, ids)
    await queue.enqueue_all(tx, [NewJob(SETTLE, {"submission": str(one)}, unique=str(one)) for one in found])


async def forget(tx: Tx, limit: int = BATCH) -> int:
    """Forget what appeals say, 30 days after their decision (V6); how many."""
    return await store.forget(tx, EVERYONE, tx.now - domain.FORGOTTEN_AFTER, limit)


async def next_forgotten(tx: Tx) -> datetime | None:
    """When the next of them is forgotten."""
    decided = await store.next_forgotten(tx, EVERYONE)
    return None if decided is None else decided + domain.FORGOTTEN_AFTER


async def _agent(tx: Tx, held: Submission) -> AgentVerification | None:
    """Its agent, held: who is being forgotten at this moment is waited for, and who appeals is forgotten no more."""
    if held.agent_verification_id is None:
        return None
    await agents.hold(tx, held.agent_verification_id)
    return await agents.get(tx, EVERYONE, held.agent_verification_id)


async def _deciders(tx: Tx, held: Submission) -> tuple[str, ...]:
    """Who may not decide: monitoring looks at the records of the same body in other registers, too."""
    named = held.organisation_id
    records = [] if named is None else [named, *(one.id for one in await organisations.joined(tx, named))]
    return await store.deciders(tx, Partner(held.partner_id), held, records)


async def _decide(tx: Tx, held: Appeal, decided: Appeal, decision: Decision) -> Appeal:
    if held.status != "open" or not await store.decide(tx, decided):
        raise NotOpen(f"It was {held.status} by {held.decided_by}.")
    await reviews.conclude(tx, subject_of(decided), decision)
    return decided


async def _tell(tx: Tx, appeal: Appeal) -> None:
    """Tell the partner, with the submission as its GET shows it, and whoever writes to the applicant."""
    submission = await submissions.get(tx, EVERYONE, appeal.submission_id)
    await outbox.emit(tx, appeal.partner_id, submissions_domain.UPDATED, submissions.record(tx, submission))
    await _told(tx, appeal)


async def _told(tx: Tx, appeal: Appeal) -> None:
    status: AppealStatus = appeal.status
    await outbox.emit(tx, appeal.partner_id, CHANGED, AppealChanged(appeal.id, appeal.submission_id, status))
