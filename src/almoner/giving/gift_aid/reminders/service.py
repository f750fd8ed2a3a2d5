"""Reminds donors of their Gift Aid declarations once a year, and cancels a declaration for its donor."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.access.notifications.service import RecordReference
from almoner.giving.checkout.donations import service as donations
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.giving.gift_aid.declarations.domain import REMINDED_AFTER, Declaration
from almoner.giving.gift_aid.declarations.service import next_reminder_at as next_reminder_at
from almoner.giving.gift_aid.reminders import store
from almoner.giving.gift_aid.reminders.domain import RegularDonationDeclaration
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import LIVE_STATUSES, DonationSubscription
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.failing_rows import process_due_rows
from almoner.platform.jobs.queue import JobKind

SEND: Final = JobKind("gift_aid_reminders.send", RecordReference)
BATCH: Final = 100


async def get_declaration_and_subscription(
    tx: Tx, declaration_id: UUID
) -> tuple[RegularDonationDeclaration, DonationSubscription]:
    """A declaration and its regular donation. Raises NotFound if it does not exist or the donor was erased."""
    declared = await store.find(tx, declaration_id)
    if declared is None:
        raise NotFound
    subscription = await subscriptions.get(tx, Partner(declared.partner_id), declared.subscription_id)
    if subscription.email is None:
        raise NotFound
    return declared, subscription


async def remind_donors_of_declarations(tx: Tx, limit: int = BATCH) -> int:
    """Remind donors of active regular donations of their declarations; returns how many were checked."""

    async def remind(declarations: Sequence[Declaration]) -> None:
        for one in declarations:
            await _remind_donor(tx, one.id)

    lock_due = gift_aid_declarations.lock_declarations_due_for_reminder
    return await process_due_rows(tx, "gift_aid_reminders.send_due", lock_due, remind, limit)


async def _remind_donor(tx: Tx, declaration_id: UUID) -> None:
    try:
        declared, subscription = await get_declaration_and_subscription(tx, declaration_id)
    except NotFound:
        await gift_aid_declarations.set_reminder_at(tx, declaration_id, None)
        return
    if subscription.status not in LIVE_STATUSES or subscription.organisation_id != declared.organisation_id:
        await gift_aid_declarations.set_reminder_at(tx, declaration_id, None)
        return
    await gift_aid_declarations.set_reminder_at(tx, declaration_id, tx.now + REMINDED_AFTER)
    await SEND.enqueue(tx, RecordReference(declaration_id))


async def cancel_declaration_by_donor(tx: Tx, declaration_id: UUID) -> bool:
    """Cancel the declaration from now on; False if it has already ended. Raises NotFound."""
    declared, _ = await get_declaration_and_subscription(tx, declaration_id)
    if declared.has_ended:
        return False
    await donations.cancel_gift_aid_declaration(tx, declared.id, None)
    return True
