"""What can be done with agent verifications.

Whatever changes one holds its row first, and tells the partner once for each state that it comes into (spec 3.3), with
the record as its GET then shows it (settled 6).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform import outbox
from almoner.platform.db import Everyone, Partner, Tx
from almoner.platform.http.paging import Page
from almoner.validation.agents import domain, schemas, store
from almoner.validation.agents.domain import Agent, AgentVerification, Filters, Nonprofit
from almoner.validation.agents.schemas import AgentVerificationOut

Scope = Partner | Everyone

BATCH: Final = 1000  # S4


async def create(tx: Tx, partner: Partner, agent: Agent, *, email_check: bool = True) -> AgentVerification:
    """A new verification. ``email_check``: whether the applicant has to confirm the e-mail address.

    Raises OrganisationNotFound, ValidationRequestNotFound.
    """
    organisation = await _organisation(tx, partner, agent.organisation_id)
    made = domain.received(tx.new_id(), partner.id, agent, organisation, None, tx.now, email_check=email_check)
    await store.insert(tx, partner, made)
    return made


async def _organisation(tx: Tx, partner: Partner, named: str | None) -> Nonprofit | None:
    """Raises OrganisationNotFound."""
    if named is None:
        return None
    found = tx.ids.parse("organisation", named)
    try:
        organisation = await organisations.get(tx, partner, found) if found else None
    except NotFound:
        organisation = None
    if organisation is None:
        raise domain.OrganisationNotFound(f"body.organisationId '{named[:100]}' names no organisation")
    return Nonprofit(organisation.id, organisation.shown_name)


async def get(tx: Tx, scope: Scope, verification_id: UUID) -> AgentVerification:
    """One verification, true at this moment. Raises NotFound."""
    if (found := await store.find(tx, scope, verification_id)) is None:
        raise NotFound
    return found.as_at(tx.now)


def record(tx: Tx, verification: AgentVerification) -> AgentVerificationOut:
    """The verification as partners see it."""
    return schemas.verification_out(tx, verification)


async def page(tx: Tx, partner: Partner, page_: Page, filters: Filters) -> tuple[list[AgentVerification], int]:
    """One page and the exact total, true at this moment."""
    rows, total = await store.page(tx, partner, page_, filters)
    return [row.as_at(tx.now) for row in rows], total


async def change_metadata(
    tx: Tx, partner: Partner, verification_id: UUID, patch: Mapping[str, str | None] | None
) -> AgentVerification:
    """Merge the metadata key by key; None removes all (settled 1). Raises NotFound, InvalidMetadata."""
    if patch and (found := metadata_rules.problems(patch)):
        raise domain.InvalidMetadata(*found)
    held = await _hold(tx, partner, verification_id)
    merged = None if patch is None else metadata_rules.merge(held.metadata or {}, patch)
    if merged and (found := metadata_rules.problems(merged)):
        raise domain.InvalidMetadata(*found)
    changed = replace(held, metadata=merged)
    await store.set_metadata(tx, changed)
    return changed


async def _hold(tx: Tx, scope: Scope, verification_id: UUID) -> AgentVerification:
    """Lock one, and record its expiry if that is due. Raises NotFound."""
    if (held := await store.lock(tx, scope, verification_id)) is None:
        raise NotFound
    return await _moved(tx, held.as_at(tx.now)) if held.overdue(tx.now) else held


async def _moved(tx: Tx, moved: AgentVerification) -> AgentVerification:
    """Store the new state, which was decided under the lock, and tell it."""
    if not await store.move(tx, moved):
        raise LookupError(f"verification {moved.id} is not where its holder saw it")
    return await _told(tx, moved)


async def _told(tx: Tx, verification: AgentVerification) -> AgentVerification:
    event = domain.EVENTS[verification.status]
    await outbox.emit(tx, verification.partner_id, event, record(tx, verification))
    return verification
