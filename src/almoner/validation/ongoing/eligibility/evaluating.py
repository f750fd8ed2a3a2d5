"""Evaluating a subscription: what is known of the organisation now, the decision, its evidence, and what follows."""

from typing import Final
from uuid import UUID

from almoner.nonprofits.activities import service as activities
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.platform.events import outbox
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.ongoing.eligibility import domain, schemas, store, store_evidence
from almoner.validation.ongoing.eligibility.domain import (
    ENDED,
    EVERY,
    FOLLOWING,
    UPDATED,
    Allowed,
    Evaluation,
    Finding,
    Known,
    Occasion,
    Results,
    Subscription,
)
from almoner.validation.requests import service as requests

_FIRST: Final = frozenset({"pending", "pending_validation_request"})


async def evaluate(tx: Tx, subscription_id: UUID, occasion: Occasion) -> Subscription | None:
    """Follow its validation request, then decide, and tell the partner where it sees something else.

    None where there is nothing to decide: it waits, has ended, or (``occasion`` created) was decided already, so that a
    second run does nothing.
    """
    held = await store.lock(tx, EVERYONE, subscription_id)
    if held is None or (occasion == "created" and held.status not in _FIRST):
        return None
    if held.status == "pending_validation_request":
        held = await _follow_request(tx, held)
    if held.status not in FOLLOWING:
        return None
    known = await known_of(tx, held)
    allowed = await allowed_by(tx, held)
    if await _said_of(tx, held, known, allowed):
        return None
    results, findings = domain.judge(known, held.suggested, allowed, held.simulated_status)
    return await settle(tx, held, known, allowed, results, findings, occasion)


async def _follow_request(tx: Tx, held: Subscription) -> Subscription:
    """What its validation request has come to since: its organisation, or the end (settled 5)."""
    assert held.validation_request_id is not None, "it waits for one"
    request = await requests.get(tx, Partner(held.partner_id), held.validation_request_id)
    if request.status == "rejected":
        failed = held.failed(tx.now)
        await ended(tx, failed)
        return failed  # its results are what they were: no partner is told (settled 5)
    if request.organisation_id is None:
        return held
    organisation = await organisations.get(tx, Partner(held.partner_id), request.organisation_id)
    adopted = held.adopted(organisation.id, organisation.shown_name, tx.now)
    await stored(tx, adopted)
    return adopted


async def _said_of(tx: Tx, held: Subscription, known: Known, allowed: Allowed) -> bool:
    """Whether the sandbox was told the results of just this: they stay until what they rest on changes."""
    last = await store_evidence.last(tx, EVERYONE, held.id)
    return last is not None and last.occasion == "simulated" and last.rests_on(known, allowed)


async def allowed_by(tx: Tx, held: Subscription) -> Allowed:
    """What its configuration allows, or the one that is its partner's default (``allowedActivitySubTags``)."""
    found = await configurations.counting(tx, Partner(held.partner_id), held.configuration_id)
    if found is None or found.allowed_activity_sub_tags is None:
        return EVERY
    return Allowed(frozenset(found.allowed_activity_sub_tags))


async def known_of(tx: Tx, held: Subscription) -> Known:
    """What is known of the organisation of a subscription now."""
    assert held.organisation_id is not None, "whatever follows has an organisation"
    organisation = await organisations.get(tx, Partner(held.partner_id), held.organisation_id)
    words = activities.words_of(organisation.registry_code, organisation.name)
    return Known(organisation.id, organisation.activities or {}, words)


async def settle(
    tx: Tx,
    held: Subscription,
    known: Known,
    allowed: Allowed,
    results: Results,
    findings: tuple[Finding, ...],
    occasion: Occasion,
) -> Subscription:
    """Keep a decision about a locked subscription; the partner hears of it where its results changed (settled 5)."""
    differs = held.status != results.leads_to or not held.results.same_as(results)
    made = Evaluation(tx.new_id(), occasion, known, allowed, results, findings, differs, tx.now)
    last = await store_evidence.last(tx, EVERYONE, held.id)
    if differs or last is None or not made.same_as(last):
        await store_evidence.insert(tx, held.id, made)
    if not differs:
        return held
    moved = held.with_results(results, tx.now)
    await stored(tx, moved, stays=True)
    await tell(tx, moved)
    return moved


async def stored(tx: Tx, moved: Subscription, *, stays: bool = False) -> None:
    """Store a state that was reached under the lock."""
    if not await store.move(tx, moved, stays=stays):
        raise LookupError(f"subscription {moved.id} is not where its holder saw it")


async def ended(tx: Tx, subscription: Subscription) -> None:
    """Store the end of a locked one, and let who waits for it know."""
    await stored(tx, subscription)
    told = {"id": tx.ids.text("eligibilitysubscription", subscription.id)}
    await outbox.emit(tx, subscription.partner_id, ENDED, told)


async def tell(tx: Tx, subscription: Subscription) -> None:
    """Emit the event with the record as its GET now shows it (settled 6)."""
    await outbox.emit(tx, subscription.partner_id, UPDATED, schemas.subscription_out(tx, subscription))
