"""Reminding donors of their Gift Aid declarations once a year, and ending one on their word."""

from typing import Final
from uuid import UUID

from almoner.access.notifications.service import About
from almoner.giving.checkout.donations import service as donations
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.giving.gift_aid.declarations.domain import REMINDED_AFTER
from almoner.giving.gift_aid.declarations.service import next_reminder_at as next_reminder_at
from almoner.giving.gift_aid.reminders import store
from almoner.giving.gift_aid.reminders.domain import DeclaredGiftAid
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import LIVE_STATUSES, DonationSubscription
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.queue import JobKind

SEND: Final = JobKind("gift_aid_reminders.send", About)
BATCH: Final = 100


async def get(tx: Tx, declaration_id: UUID) -> tuple[DeclaredGiftAid, DonationSubscription]:
    """A declaration and the regular donation that bears it. Raises NotFound, also when its donor is forgotten."""
    declared = await store.find(tx, declaration_id)
    if declared is None:
        raise NotFound
    plan = await subscriptions.get(tx, Partner(declared.partner_id), declared.subscription_id)
    if plan.email is None:
        raise NotFound
    return declared, plan


async def remind_donors(tx: Tx, limit: int = BATCH) -> int:
    """Sweep: have donors of live regular donations reminded; how many declarations were looked at."""
    due = await gift_aid_declarations.lock_due_reminders(tx, limit)
    for one in due:
        try:
            declared, plan = await get(tx, one.id)
        except NotFound:
            await gift_aid_declarations.set_reminder(tx, one.id, None)
            continue
        if plan.status not in LIVE_STATUSES or plan.organisation_id != declared.organisation_id:
            await gift_aid_declarations.set_reminder(tx, one.id, None)
            continue
        await gift_aid_declarations.set_reminder(tx, one.id, tx.now + REMINDED_AFTER)
        await SEND.enqueue(tx, About(one.id))
    return len(due)


async def end_declaration(tx: Tx, declaration_id: UUID) -> bool:
    """The donor ends it from now on; False when it had ended. Raises NotFound."""
    declared, _ = await get(tx, declaration_id)
    if declared.ended:
        return False
    await donations.cancel_declaration(tx, declared.id, None)
    return True
