"""How a verification is held, moved and told of: whatever changes one does it by these."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.giving.disbursing.verifications import domain, schemas, store, triggers
from almoner.giving.disbursing.verifications.domain import CheckType, Outcome, Verification
from almoner.giving.disbursing.verifications.schemas import MonetaryDonationVerificationOut
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Everyone, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue

Scope = Partner | Everyone

CHECK: Final = "verifications.check_registration"


def record(tx: Tx, verification: Verification) -> MonetaryDonationVerificationOut:
    """The verification as partners see it."""
    return schemas.verification_out(tx, verification)


async def hold(tx: Tx, scope: Scope, verification_id: UUID) -> Verification:
    """Lock one, and record its expiry if that is due. Raises NotFound."""
    if (held := await store.lock(tx, scope, verification_id)) is None:
        raise NotFound
    return await moved(tx, held.as_at(tx.now)) if held.overdue(tx.now) else held


async def end_checks(tx: Tx, held: Verification, ended: Sequence[tuple[CheckType, Outcome]]) -> Verification:
    """Checks of a held one have ended at one moment, of which the partner is told once. Raises InvalidState."""
    now = held
    for check, outcome in ended:
        now = now.checked(check, outcome, tx.now)
    await store.move_checks(tx, now, [check for check, _ in ended])
    if now.status == "pending" and now.remaining == ("compliance",):
        await enqueue_check(tx, now.id)  # the lists decide last
    return await (moved if now.status != held.status else told)(tx, now)


async def moved(tx: Tx, new: Verification) -> Verification:
    """Store the new state, which was decided under the lock, and tell it."""
    if not await store.move(tx, new):
        raise LookupError(f"verification {new.id} is not where its holder saw it")
    return await told(tx, new)


async def told(tx: Tx, verification: Verification) -> Verification:
    """Tell the partner how it stands."""
    await outbox.emit(tx, verification.partner_id, domain.PROGRESSED, record(tx, verification))
    return verification


async def enqueue_check(tx: Tx, verification_id: UUID, then: triggers.Action | None = None) -> None:
    """Have it looked at right after the commit. ``then``: what a test value asks for afterwards."""
    wanted = {"verification": str(verification_id), "then": then}
    await queue.enqueue(tx, CHECK, wanted, unique=f"{verification_id}:{then}")
