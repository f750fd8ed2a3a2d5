"""Operations on Gift Aid declarations, and which one covers a donation."""

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.users import service as users
from almoner.giving.gift_aid.declarations import claimable, domain, store
from almoner.giving.gift_aid.declarations.domain import Declaration, DeclarationError, Declarer
from almoner.giving.gift_aid.declarations.store import delete_unused_declarations as delete_unused_declarations
from almoner.giving.gift_aid.declarations.store import find_with_shared_lock as find_with_shared_lock
from almoner.giving.gift_aid.declarations.store import (
    lock_declarations_due_for_reminder as lock_declarations_due_for_reminder,
)
from almoner.giving.gift_aid.declarations.store import next_reminder_at as next_reminder_at
from almoner.giving.gift_aid.declarations.store import set_reminder_at as set_reminder_at
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import Partner, Tx

_ON_THE_WIRE: Final = {
    "first_name": "firstName",
    "last_name": "lastName",
    "building_name_number": "buildingNameNumber",
}


async def create_declaration(
    tx: Tx,
    partner: Partner,
    declarer: Declarer,
    *,
    user_id: str | None,
    covers_from: datetime | None = None,
    covers_to: datetime | None = None,
    uses_secret_api_key: bool,
) -> Declaration:
    """Create a declaration; by default for the past four years and from now on.

    ``user_id``: as sent. ``uses_secret_api_key``: with a secret key. With a publishable key the user is stored only
    while one of its donation sessions is open, and otherwise ignored silently, so that it does not reveal which users
    exist. Raises PartnerUserNotFound; IncorrectParams, also for values that no claim could contain.
    """
    begins = covers_from or domain.earliest_covered_at(tx.now)
    problems = claimable.find_declarer_problems(declarer)
    wrong = [f"body.{_ON_THE_WIRE.get(field, field)} {problem.description}" for field, problem in problems.items()]
    if found := [*wrong, *domain.find_period_problems(begins, covers_to, tx.now)]:
        raise IncorrectParams(*found)
    whose = await (_user if uses_secret_api_key else _user_with_session)(tx, partner, user_id)
    created = Declaration(tx.new_id(), partner.id, whose, declarer, begins, covers_to, None, tx.now, None)
    await store.insert(tx, partner, created)
    return created


async def _user(tx: Tx, partner: Partner, user_id: str | None) -> UUID | None:
    if user_id is None:
        return None
    found = tx.ids.decode("user", user_id)
    try:
        user = await users.get(tx, partner, found) if found else None
    except NotFound:
        user = None
    if user is None or user.deleted_at is not None:
        raise domain.PartnerUserNotFound(f"body.userId '{user_id[:100]}' does not exist")
    return user.id


async def _user_with_session(tx: Tx, partner: Partner, user_id: str | None) -> UUID | None:
    found = tx.ids.decode("user", user_id) if user_id else None
    return found if found and await sessions.has_open_session(tx, partner, found) else None


async def get_newest_declaration_id_of_user(tx: Tx, partner: Partner, user_id: UUID) -> UUID:
    """The newest declaration of a user that is not cancelled. Raises NotFound."""
    await users.get(tx, partner, user_id)
    if (found := await store.find_newest_declaration_id_of_user(tx, partner, user_id)) is None:
        raise NotFound("the user has no Gift Aid declaration")
    return found


async def find_covering_declaration_id(
    tx: Tx, partner: Partner, user_id: UUID | None, donated_at: datetime, current_declaration_id: UUID | None = None
) -> UUID | None:
    """A user's newest declaration that covers a donation.

    ``current_declaration_id``: the donation's present declaration. A new one is locked against cancellation until the
    transaction ends. The current one is not: whoever cancels it locks it before its donations, which the caller may
    have locked, and removes it from them all.
    """
    if user_id is None:
        return None
    while (
        found := domain.find_newest_covering_declaration(
            await store.list_declarations_of_user(tx, partner, user_id), donated_at
        )
    ) is not None:
        if found.id == current_declaration_id:
            return current_declaration_id
        locked = await store.find_with_shared_lock(tx, partner, found.id)
        if locked is not None and locked.covers(donated_at):
            return locked.id
    return None


async def find_or_create_declaration_for_donation(
    tx: Tx, partner: Partner, declarer: Declarer, donated_at: datetime, current_declaration_id: UUID | None
) -> UUID:
    """The declaration for one donation: the current one if unchanged, else a new one."""
    known = await store.find(tx, partner, current_declaration_id) if current_declaration_id else None
    if known is not None and known.organisation_id is None and known.declarer == declarer and known.covers(donated_at):
        return known.id
    new = domain.new_single_donation_declaration(tx.new_id(), partner.id, declarer, donated_at, tx.now)
    await store.insert(tx, partner, new)
    return new.id


async def find_or_create_declaration_for_regular_donation(
    tx: Tx, partner: Partner, declarer: Declarer, organisation_id: UUID, current_declaration_id: UUID | None
) -> UUID:
    """The declaration for a regular donation and all others to the charity: the current one if unchanged, else new."""
    known = await store.find(tx, partner, current_declaration_id) if current_declaration_id else None
    if known is not None and (known.declarer, known.organisation_id) == (declarer, organisation_id):
        return known.id
    new = domain.new_regular_donation_declaration(tx.new_id(), partner.id, declarer, organisation_id, tx.now)
    await store.insert(tx, partner, new)
    return new.id


async def does_declaration_still_cover_donations(
    tx: Tx, partner: Partner, declaration_id: UUID, organisation_id: UUID
) -> bool:
    """Whether a declaration covers a donation to the charity now; if so, it is locked against cancellation."""
    known = await store.find_with_shared_lock(tx, partner, declaration_id)
    return known is not None and known.organisation_id == organisation_id and known.covers(tx.now)


async def find_or_create_declaration_for_recreated_donation(
    tx: Tx, partner: Partner, user_id: UUID | None, donated_at: datetime, previous_declaration_id: UUID | None
) -> UUID | None:
    """The declaration that covers a donation created again after cancellation."""
    known = await store.find(tx, partner, previous_declaration_id) if previous_declaration_id else None
    if known is not None and known.organisation_id is not None:
        return known.id if known.covers(donated_at) else None
    if known is not None and known.user_id is None and known.deleted_at is None:
        return await find_or_create_declaration_for_donation(tx, partner, known.declarer, donated_at, None)
    return await find_covering_declaration_id(tx, partner, user_id, donated_at)


async def cancel_declaration(tx: Tx, declaration_id: UUID, cancelled_from: datetime | None = None) -> Declaration:
    """Cancel a declaration for donations made from ``cancelled_from`` on, by default now.

    Raises NotFound; DeclarationError if it is already cancelled, or the time is in the future.
    """
    if (locked := await store.find_for_update(tx, declaration_id)) is None:
        raise NotFound
    if locked.deleted_at is not None:
        raise DeclarationError(f"the declaration was already cancelled on {locked.deleted_at:%Y-%m-%d}")
    ends = cancelled_from or tx.now
    if ends > tx.now:
        raise DeclarationError("a declaration cannot be cancelled from a future date")
    await store.cancel_declaration(tx, declaration_id, ends)
    return replace(locked, cancelled_from=ends, deleted_at=tx.now)
