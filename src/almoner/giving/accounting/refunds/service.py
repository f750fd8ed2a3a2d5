"""Beginning refunds, and what becomes of them. Asking the provider is the flow's part.

The payout of a gift is held first, then the gift, then its refund, then the accounts of the books, as everywhere.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog
from asyncpg import UniqueViolationError

from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, members_of
from almoner.access.security_emails import service as letters
from almoner.giving.accounting.ledger import domain as books
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import Transfer
from almoner.giving.accounting.refunds import domain, store
from almoner.giving.accounting.refunds.domain import NoSuchRefund, NotNow, Refund, RefundNotPossible, Sent, SentBack
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import REFUNDED, Donation, InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import Payment
from almoner.giving.disbursing.disbursements import service as payouts
from almoner.giving.disbursing.disbursements.domain import PayoutRefused, Rules
from almoner.kit.ids import encode
from almoner.kit.money import Money, written
from almoner.platform.database.transactions import EVERYONE, Everyone, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import NewJob

REFUND: Final = "refunds.send"
LOOK: Final = "refunds.look"
ONCE: Final = "refund_once"
"""The constraint that lets one refund of a provider end one of ours."""
_log: Final = structlog.get_logger("almoner.giving")


def key(tx: Tx, refund_id: UUID) -> str:
    """The provider's idempotency key of a refund: made from our own row (I6)."""
    return f"{tx.deployment.environment}:giftrefund:{encode(refund_id)}"


async def begin(
    tx: Tx,
    scope: Partner | Everyone,
    donation_id: UUID,
    minor: int | None,
    rules: Rules,
    *,
    started_by: str | None = None,
    note: str | None = None,
    called: str | None = None,
) -> Refund:
    """Have a received gift sent back to whoever paid: ``minor`` of it, or all that is left.

    It leaves its payout, if that was not sent; what is left goes into the next one once the refund has ended.
    ``started_by``, ``note``: the officer and why; None for the partner. ``called``: what it is called where the officer
    has sent it already: nobody is asked. Raises NotFound, InvalidState, IncorrectParams, RefundNotPossible.
    """
    if note is not None:
        domain.ensure_note(note)
    if called is not None:
        domain.ensure_name(called)
    domain.asked(await donations.get(tx, scope, donation_id), minor)
    try:
        donation = await payouts.remove_from_disbursement(tx, donation_id, rules)
    except PayoutRefused as refused:
        raise InvalidState(str(refused)) from refused
    money = domain.asked(donation, minor)
    refund = _new(tx, donation, money, await _paid(tx, donation), started_by, note)
    await store.insert(tx, EVERYONE, refund)
    transfers = books.donation_refund_started(refund.id, refund.provider, donation.organisation_id, money, refund.borne)
    if called is not None:
        transfers += await _named(tx, donation, refund, called, started_by, note)
    elif not refund.by_bank:
        await queue.enqueue_all(tx, [_sending(refund)])
    ledger.post(tx, transfers)
    return await get(tx, refund.id)


def _new(
    tx: Tx, donation: Donation, money: Money, payment: Payment | None, started_by: str | None, note: str | None
) -> Refund:
    return Refund(
        id=tx.new_id(),
        donation_id=donation.id,
        payment_id=payment.id if payment else None,
        provider=payment.provider if payment else books.PARTNERS,
        money=money,
        borne=domain.borne(donation, money),
        status="pending",
        started_at=tx.now,
        started_by=started_by,
        note=note,
    )


async def _paid(tx: Tx, donation: Donation) -> Payment | None:
    """The payment that a hosted gift was paid with; a direct one has none."""
    return await payments.find(tx, donation.payment_id) if donation.payment_id else None


async def get(tx: Tx, refund_id: UUID) -> Refund:
    """One of them. Raises NoSuchRefund."""
    if (refund := await store.find(tx, EVERYONE, refund_id)) is None:
        raise NoSuchRefund
    return refund


async def of_donation(tx: Tx, donation_id: UUID) -> list[Refund]:
    """Those of one donation, oldest first."""
    return await store.of_donation(tx, EVERYONE, donation_id)


async def newest(tx: Tx, statuses: Sequence[str], limit: int) -> list[Refund]:
    """Those in one of these states, the newest first."""
    return await store.newest(tx, EVERYONE, statuses, limit)


async def sent_of_payments(tx: Tx, payment_ids: Sequence[UUID]) -> Mapping[UUID, list[tuple[Refund, bool]]]:
    """What was sent back of these payments, oldest first, each with whether a provider's report has drawn it."""
    return await store.sent_of_payments(tx, EVERYONE, payment_ids)


async def lock(tx: Tx, refund_id: UUID) -> tuple[Donation, Refund]:
    """One of them with its donation, held until the transaction ends. Raises NoSuchRefund."""
    donation = await donations.lock(tx, EVERYONE, (await get(tx, refund_id)).donation_id)
    if (refund := await store.lock(tx, EVERYONE, refund_id)) is None:
        raise NoSuchRefund
    return donation, refund


async def record_sent(tx: Tx, refund_id: UUID, provider_refund: str) -> None:
    """The provider has sent it; told any number of times, it has one effect."""
    donation, refund = await lock(tx, refund_id)
    if refund.status == "pending":
        ledger.post(tx, await _finish(tx, donation, refund, provider_refund, None, None))


async def record_refused(tx: Tx, refund_id: UUID, said: str) -> None:
    """The provider will not send it: its money is owed to the nonprofit again. Told twice, it has one effect."""
    donation, refund = await lock(tx, refund_id)
    if refund.status == "pending":
        told = {"refund": tx.ids.text("refund", refund.id), "why": said}
        tx.after_commit(lambda: _log.error("refund_refused", **told))
        why = said[: domain.NOTE_LENGTH] or "without a reason"
        await _undo(tx, donation, refund, None, why)
        facts = {**_facts(tx, refund), "Refund": told["refund"], "Why": why}
        for officer in await people.with_roles(tx, OPERATORS, "finance"):
            await letters.send(tx, officer, "refund_refused", values=_amount(refund), facts=facts)


async def apply_provider_state(tx: Tx, provider: str, found: SentBack) -> None:
    """How a refund stands at its provider. One that failed after it was sent waits for a person, told once (M4, M5).

    Nothing is posted: its money comes with a settlement, as a line to clear. Raises NotNow while it is being sent.
    """
    if (refund_id := await store.find_by_provider_refund(tx, EVERYONE, provider, found.id)) is None:
        if await store.is_being_sent(tx, EVERYONE, provider, found.payment):
            raise NotNow
        if found.why is not None:
            tx.after_commit(lambda: _log.warning("refund_of_nobody_failed", provider_refund=found.id, why=found.why))
        else:
            await _found_outside(tx, provider, found)
        return
    _, refund = await lock(tx, refund_id)
    payment = await payments.find(tx, refund.payment_id) if refund.payment_id else None
    ours = payment.provider_payment if payment else None
    told = {"refund": tx.ids.text("refund", refund.id), "why": found.why}
    if (found.money, found.payment, found.live) != (refund.money, ours, not tx.deployment.sandbox):
        tx.after_commit(lambda: _log.error("refund_differs", refund=told["refund"], provider_refund=found.id))
    elif found.why and await store.insert_failure(tx, EVERYONE, refund.id, found.why[: domain.NOTE_LENGTH]):
        tx.after_commit(lambda: _log.error("refund_failed", **told))
        facts = {**_facts(tx, refund), "Refund": told["refund"] or "", "Why": found.why}
        for officer in await people.with_roles(tx, OPERATORS, "finance"):
            await letters.send(tx, officer, "refund_failed", values=_amount(refund), facts=facts)


async def _found_outside(tx: Tx, provider: str, found: SentBack) -> None:
    """Somebody sent a gift back in the provider's dashboard: the nonprofit is not paid it, too, before it is begun."""
    paid = (await payments.at_provider(tx, provider, [found.payment])).get(found.payment)
    if paid is not None and paid.status == "succeeded" and found.live is not tx.deployment.sandbox:
        gift = await donations.get(tx, EVERYONE, paid.donation_id)
        await payouts.place_hold(
            tx, gift, found.id, f"{provider} sent {written(found.money)} back that nobody here began"
        )


async def look_later(tx: Tx, payment: str, refund: str, due: datetime) -> None:
    """Have a refund looked at again."""
    job = NewJob(LOOK, {"payment": payment, "refund": refund}, unique=refund, due=due)
    await queue.enqueue_all(tx, [job])


async def sent_by_hand(tx: Tx, refund_id: UUID, name: str, note: str, by: str) -> Refund:
    """An officer has sent it, by bank or in the provider's own dashboard, where it is called ``name``.

    Raises NoSuchRefund, RefundNotPossible.
    """
    domain.ensure_note(note)
    domain.ensure_name(name)
    donation, refund = await lock(tx, refund_id)
    domain.ensure_pending(refund)
    ledger.post(tx, await _named(tx, donation, refund, name, by, note))
    return await get(tx, refund_id)


async def refuse(tx: Tx, refund_id: UUID, note: str, by: str) -> Refund:
    """An officer knows that it was not, and will not be sent. Raises NoSuchRefund, RefundNotPossible."""
    domain.ensure_note(note)
    donation, refund = await lock(tx, refund_id)
    domain.ensure_pending(refund)
    await _undo(tx, donation, refund, by, note)
    return await get(tx, refund_id)


async def unsent(tx: Tx, limit: int) -> list[Refund]:
    """Those that a provider refused, or that failed once they were sent, and that wait for a person, the oldest first.

    Of a failed one ``ended_at`` and ``ended_note`` tell of its failure, and only ``let_rest`` sees to it. Of the others
    it does, and whoever begins another one of the gift; so has the donor's bank that took all back.
    """
    return await store.unsent(tx, EVERYONE, limit)


async def count_unsent(tx: Tx) -> int:
    """How many those are."""
    return await store.count_unsent(tx, EVERYONE)


async def let_rest(tx: Tx, refund_id: UUID, note: str, by: str) -> Refund:
    """A person has seen to what a provider would not send back, or to what came back.

    Raises NoSuchRefund, RefundNotPossible.
    """
    domain.ensure_note(note)
    _, refund = await lock(tx, refund_id)
    came_back = await store.has_failed(tx, EVERYONE, refund_id)
    if not came_back and (refund.status != "refused" or refund.ended_by is not None):
        by_hand = " by a person" if refund.ended_by else ""
        raise RefundNotPossible(f"the refund is {refund.status}{by_hand}: only what its provider refused is let rest")
    if not await store.close_refused(tx, EVERYONE, refund_id, note, by):
        raise RefundNotPossible("the refund was let rest before")
    return refund


async def ask_again(tx: Tx, refund_id: UUID) -> Refund:
    """Have the provider asked again, whom a worker gave up asking. Raises NoSuchRefund, RefundNotPossible."""
    _, refund = await lock(tx, refund_id)
    domain.ensure_pending(refund)
    if refund.by_bank:
        raise RefundNotPossible("no provider is asked for it: it goes back by bank")
    await queue.enqueue_all(tx, [_sending(refund)])
    return refund


async def _named(
    tx: Tx, donation: Donation, refund: Refund, name: str, by: str | None, note: str | None
) -> list[Transfer]:
    try:
        return await _finish(tx, donation, refund, name, by, note)
    except UniqueViolationError as refused:
        if refused.constraint_name != ONCE:
            raise
        raise RefundNotPossible(f"{name} is recorded for another refund: look it up again.") from refused


async def _finish(
    tx: Tx, donation: Donation, refund: Refund, provider_refund: str, by: str | None, note: str | None
) -> list[Transfer]:
    """What is to be posted, by the caller with all else of its transaction."""
    await store.advance_sent(tx, EVERYONE, refund.id, provider_refund, by, note)
    await donations.tell(tx, REFUNDED, await _freed(tx, donation, refund))
    await outbox.emit(tx, None, domain.SENT, Sent(donation.id, refund.id))
    return books.donation_refund_sent(refund.id, refund.provider, refund.money)


async def _undo(tx: Tx, donation: Donation, refund: Refund, by: str | None, why: str) -> None:
    back = domain.given_back(donation, refund.money)
    await store.advance_refused(tx, EVERYONE, refund.id, back, by, why)
    await _freed(tx, donation, refund)
    transfers = books.donation_refund_reversed(refund.id, refund.provider, donation.organisation_id, refund.money, back)
    ledger.post(tx, transfers)
    if refund.started_by is None:  # an officer who began it sees what becomes of it
        for person in await people.with_roles(tx, members_of(Partner(donation.partner_id)), "owner", "finance"):
            await letters.send(tx, person, "refund_not_sent", values=_amount(refund), facts=_facts(tx, refund))


def _amount(refund: Refund) -> Mapping[str, str]:
    return {"amount": written(refund.money)}


def _facts(tx: Tx, refund: Refund) -> Mapping[str, str]:
    return {
        "Amount": written(refund.money),
        "Donation": tx.ids.text("donation", refund.donation_id),
        "Asked for": f"{refund.started_at:%d %B %Y}",
    }


async def _freed(tx: Tx, donation: Donation, refund: Refund) -> Donation:
    """The gift after a refund of it has ended; what is left of it may be paid out."""
    await queue.forget_dead(tx, REFUND, str(refund.id))
    await payouts.look_at(tx, Partner(donation.partner_id), donation.organisation_id)
    return await donations.get(tx, EVERYONE, donation.id)


def _sending(refund: Refund) -> NewJob:
    return NewJob(REFUND, {"refund": str(refund.id)}, unique=str(refund.id))
