"""What can be done with monetary donation verifications.

Whatever changes one holds its row first, and tells the partner once for each step, with the record as its GET then
shows it (settled 6): a check that fails and the rejection that follows are one step.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from almoner.giving.verifications import domain, schemas, store, triggers
from almoner.giving.verifications.domain import (
    CheckType,
    Decided,
    Evidence,
    Filters,
    InvalidState,
    Outcome,
    RejectionReason,
    Standing,
    Verification,
)
from almoner.giving.verifications.schemas import MonetaryDonationVerificationOut
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform import outbox, queue
from almoner.platform.crypto import digest
from almoner.platform.db import EVERYONE, Everyone, Partner, Tx
from almoner.platform.http.paging import Page

Scope = Partner | Everyone

CHECK: Final = "verifications.check_registration"
BATCH: Final = 1000  # S4
_OF_THE_SANDBOX: Final = Evidence("sandbox", "A test value in organisationId asked for it.")


async def approved_for(tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]) -> dict[UUID, Standing]:
    """For each organisation whether the partner's gifts may be paid out; if not, what stands in the way (settled 5)."""
    found: dict[UUID, list[Verification]] = {organisation_id: [] for organisation_id in organisation_ids}
    for verification in await store.of_organisations(tx, partner, list(found)):
        found[verification.organisation_id].append(verification.as_at(tx.now))
    return {organisation_id: domain.standing(its) for organisation_id, its in found.items()}


async def create(
    tx: Tx, partner: Partner, organisation_id: str, metadata: Mapping[str, str] | None = None
) -> Verification:
    """A new verification; its first check is made right after the commit.

    Raises OrganisationNotFound, InvalidMetadata; InvalidState while another is pending or approved.
    """
    named, action = triggers.split(organisation_id) if tx.deployment.sandbox else (organisation_id, None)
    found = tx.ids.parse("organisation", named)
    try:
        organisation = await organisations.get(tx, partner, found) if found else None
    except NotFound:
        organisation = None
    if organisation is None:
        raise domain.OrganisationNotFound(f"body.organisationId '{organisation_id[:100]}' names no organisation")
    if metadata and (problems := metadata_rules.problems(metadata)):
        raise domain.InvalidMetadata(*problems)
    await _make_room(tx, partner, organisation.id)
    made = domain.received(tx.new_id(), partner.id, organisation.id, metadata, tx.now)
    if not await store.insert(tx, partner, made):
        await _make_room(tx, partner, organisation.id)
        raise InvalidState(_TAKEN)
    await outbox.emit(tx, partner.id, domain.RECEIVED, record(tx, made))
    await _enqueue_check(tx, made.id, action)
    return made


def named(tx: Tx, organisation_id: str) -> str:
    """The id without a test value of the sandbox, which is cut off before it is looked up and stored (settled 9)."""
    return triggers.split(organisation_id)[0] if tx.deployment.sandbox else organisation_id


async def drive(tx: Tx, partner: Partner, organisation_id: str) -> None:
    """Do what a test value behind the id asks for: to the organisation's pending verification, else to a new one.

    One that is approved stays as it is.
    """
    wanted, action = triggers.split(organisation_id) if tx.deployment.sandbox else (organisation_id, None)
    found = tx.ids.parse("organisation", wanted)
    if action is None or found is None:
        return
    live = await store.find_live(tx, partner, found)
    held = await _hold(tx, partner, live) if live else None
    if held is not None and held.status == "pending":
        await _enqueue_check(tx, held.id, action)
    elif held is None or held.status != "approved":
        with suppress(InvalidState):  # somebody else has just asked for the same
            await create(tx, partner, organisation_id)


async def _make_room(tx: Tx, partner: Partner, organisation_id: UUID) -> None:
    """Record the expiry of what is only stored as pending. Raises InvalidState when there is one that counts."""
    live = await store.find_live(tx, partner, organisation_id)
    if live is None:
        return
    held = await _hold(tx, partner, live)
    if held.status in ("pending", "approved"):
        named = tx.ids.text("monetarydonationverification", held.id)
        raise InvalidState(f"the organisation has {named}, which is {held.status}")


_TAKEN: Final = "the organisation was given another verification at the same time"


async def get(tx: Tx, scope: Scope, verification_id: UUID) -> Verification:
    """One verification, true at this moment. Raises NotFound."""
    if (found := await store.find(tx, scope, verification_id)) is None:
        raise NotFound
    return found.as_at(tx.now)


def record(tx: Tx, verification: Verification) -> MonetaryDonationVerificationOut:
    """The verification as partners see it."""
    return schemas.verification_out(tx, verification)


async def page(tx: Tx, partner: Partner, page_: Page, filters: Filters) -> tuple[list[Verification], int]:
    """One page and the exact total, true at this moment."""
    rows, total = await store.page(tx, partner, page_, filters)
    return [row.as_at(tx.now) for row in rows], total


async def newest(tx: Tx, scope: Scope, filters: Filters, limit: int) -> list[Verification]:
    """The newest ones, for officers."""
    return [row.as_at(tx.now) for row in await store.newest(tx, scope, filters, limit)]


async def decisions(tx: Tx, verification_id: UUID) -> list[Decided]:
    """What officers decided about one, oldest first."""
    return await store.decisions(tx, EVERYONE, verification_id)


async def change_metadata(
    tx: Tx, partner: Partner, verification_id: UUID, patch: Mapping[str, str | None] | None
) -> Verification:
    """Merge the metadata key by key; None removes all (settled 1). Raises NotFound, InvalidMetadata."""
    if patch and (found := metadata_rules.problems(patch, merged=True)):
        raise domain.InvalidMetadata(*found)
    held = await _hold(tx, partner, verification_id)
    merged = None if patch is None else metadata_rules.merge(held.metadata or {}, patch)
    if merged and (found := metadata_rules.problems(merged)):
        raise domain.InvalidMetadata(*found)
    changed = replace(held, metadata=merged, updated_at=tx.now)
    await store.set_metadata(tx, changed)
    return changed


async def check_registration(tx: Tx, verification_id: UUID, then: triggers.Action | None = None) -> None:
    """The automatic check, once; afterwards what a test value asked for, as far as the lifecycle allows it."""
    held = await _hold(tx, EVERYONE, verification_id)
    if held.status == "pending" and held.checks["registration"] == "pending":
        held = await _look_up(tx, held)
    if then is None or held.status != "pending":
        return
    match then:
        case "approve":
            await approve(tx, EVERYONE, verification_id, _OF_THE_SANDBOX)
        case "reject":
            await reject(tx, EVERYONE, verification_id, "other", _OF_THE_SANDBOX)
        case "expire":
            await expire_now(tx, EVERYONE, verification_id)


async def _look_up(tx: Tx, held: Verification) -> Verification:
    """Whether the register lists the organisation as active."""
    organisation = await organisations.get(tx, Partner(held.partner_id), held.organisation_id)
    return await _end_check(tx, held, "registration", "succeeded" if organisation.active else "failed")


async def end_check(tx: Tx, scope: Scope, verification_id: UUID, check: CheckType, outcome: Outcome) -> Verification:
    """A check has ended; the verification that it leaves. Raises NotFound, InvalidState."""
    return await _end_check(tx, await _hold(tx, scope, verification_id), check, outcome)


async def _end_check(tx: Tx, held: Verification, check: CheckType, outcome: Outcome) -> Verification:
    ended = held.checked(check, outcome, tx.now)
    await store.move_checks(tx, ended, [check])
    if ended.status != held.status:
        return await _moved(tx, ended)
    return await _told(tx, ended)


async def look(tx: Tx, scope: Scope, verification_id: UUID) -> bytes:
    """What there is to approve, as a fingerprint of 32 bytes. Raises NotFound; InvalidState when it cannot be approved.

    It stays so until the transaction ends.
    """
    held = await _hold_looked_up(tx, scope, verification_id)
    held.approved(tx.now)
    organisation = await organisations.get(tx, Partner(held.partner_id), held.organisation_id)
    listed = (organisation.name, organisation.registry_name, organisation.registry_number)
    seen = (held.id, held.organisation_id, held.checks, held.created_at, held.expires_at, *listed)
    return digest(msgspec.json.encode(seen))


async def _hold_looked_up(tx: Tx, scope: Scope, verification_id: UUID) -> Verification:
    held = await _hold(tx, scope, verification_id)
    if held.status == "pending" and held.checks["registration"] == "pending":
        held = await _look_up(tx, held)  # nobody need wait for the job
    return held


async def approve(tx: Tx, scope: Scope, verification_id: UUID, evidence: Evidence) -> Verification:
    """An officer confirms every check that has not ended, and approves. Raises NotFound, InvalidState."""
    held = await _hold_looked_up(tx, scope, verification_id)
    approved = held.approved(tx.now)
    await store.move_checks(tx, approved, held.remaining)
    await store.insert_decision(tx, approved, Decided("approved", None, evidence, tx.now))
    return await _moved(tx, approved)


async def reject(
    tx: Tx, scope: Scope, verification_id: UUID, reason: RejectionReason, evidence: Evidence
) -> Verification:
    """An officer rejects. Raises NotFound, InvalidState."""
    rejected = (await _hold(tx, scope, verification_id)).rejected(reason, tx.now)
    await store.insert_decision(tx, rejected, Decided("rejected", reason, evidence, tx.now))
    return await _moved(tx, rejected)


async def reopen(tx: Tx, scope: Scope, verification_id: UUID, evidence: Evidence) -> Verification:
    """An officer starts a rejected or expired one anew, every check with it.

    Raises NotFound; InvalidState, also while the organisation has another that is pending or approved.
    """
    reopened = (await _hold(tx, scope, verification_id)).reopened(tx.now)
    await _make_room(tx, Partner(reopened.partner_id), reopened.organisation_id)
    await store.insert_decision(tx, reopened, Decided("reopened", None, evidence, tx.now))
    try:
        told = await _moved(tx, reopened)
    except asyncpg.UniqueViolationError:
        raise InvalidState(_TAKEN) from None
    await store.move_checks(tx, reopened, domain.CHECKS)
    await _enqueue_check(tx, reopened.id, None)
    return told


async def expire_now(tx: Tx, scope: Scope, verification_id: UUID) -> Verification:
    """Let its time be over before it is, as the sandbox may. Raises NotFound, InvalidState."""
    return await _moved(tx, (await _hold(tx, scope, verification_id)).expired(tx.now))


async def expire(tx: Tx, limit: int = BATCH) -> int:
    """Record expiries that have passed; how many. Nothing depends on it: reading tells the truth at once (S3)."""
    due = await store.lock_due(tx, EVERYONE, limit)
    for verification in due:
        await _moved(tx, verification.as_at(tx.now))
    return len(due)


async def next_due(tx: Tx) -> datetime | None:
    """When the next pending one expires."""
    return await store.next_expiry(tx, EVERYONE)


async def _hold(tx: Tx, scope: Scope, verification_id: UUID) -> Verification:
    """Lock one, and record its expiry if that is due. Raises NotFound."""
    if (held := await store.lock(tx, scope, verification_id)) is None:
        raise NotFound
    return await _moved(tx, held.as_at(tx.now)) if held.overdue(tx.now) else held


async def _moved(tx: Tx, moved: Verification) -> Verification:
    """Store the new state, which was decided under the lock, and tell it."""
    if not await store.move(tx, moved):
        raise LookupError(f"verification {moved.id} is not where its holder saw it")
    return await _told(tx, moved)


async def _told(tx: Tx, verification: Verification) -> Verification:
    await outbox.emit(tx, verification.partner_id, domain.PROGRESSED, record(tx, verification))
    return verification


async def _enqueue_check(tx: Tx, verification_id: UUID, then: triggers.Action | None) -> None:
    wanted = {"verification": str(verification_id), "then": then}
    await queue.enqueue(tx, CHECK, wanted, unique=f"{verification_id}:{then}")
