"""Learning of disputes, and deciding over them where the provider does not tell. Asking it is the flow's part.

The payout of a gift is held first, then the gift, then the accounts of the books, as everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from almoner.giving.accounting.disputes import domain, store
from almoner.giving.accounting.disputes.domain import Decision, Dispute, DisputeRefused, Loss, NotNow
from almoner.giving.accounting.ledger import domain as books
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import Transfer
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import Held
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import REFUNDED, Donation
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import DisputeStatus, ProviderDispute
from almoner.giving.disbursing.disbursements import service as payouts
from almoner.giving.disbursing.disbursements.domain import JustMoved, PayoutRefused, Rules
from almoner.kit.money import Money, written
from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import NewJob

LOOK: Final = "disputes.look"
BATCH: Final = 100
_log: Final = structlog.get_logger("almoner.giving")


@dataclass(frozen=True, slots=True)
class _Gift:
    """A disputed gift, held. ``loose``: no payout was sent with it, so what is owed of it can be taken."""

    donation: Donation
    loose: bool

    @property
    def paid(self) -> Money:
        """What was paid."""
        return self.donation.money

    @property
    def gone_minor(self) -> int:
        """What of it is refunded."""
        return _refunded(self.donation).minor

    @property
    def ids(self) -> tuple[UUID | None, UUID | None]:
        """Whose the dispute is."""
        return self.donation.id, None


@dataclass(frozen=True, slots=True)
class _HeldMoney:
    """Disputed money that pays no donation, held."""

    held: Held

    @property
    def paid(self) -> Money:
        """What was paid."""
        return self.held.money

    @property
    def gone_minor(self) -> int:
        """Its provider knows what of it is refunded."""
        return 0

    @property
    def ids(self) -> tuple[UUID | None, UUID | None]:
        """Whose the dispute is."""
        return None, self.held.id


async def apply_provider_state(
    tx: Tx, provider: str, payment: str, found: Sequence[ProviderDispute], rules: Rules
) -> None:
    """Act on a payment's disputes as its provider shows them; any number of times, in any order, the effect is one.

    Raises NotNow while something else is under way with the gift.
    """
    known = await _known(tx, provider, payment)
    if not any(_is_news(known.get(one.id), one) for one in found):
        return
    if (subject := await _hold(tx, provider, payment, rules)) is None:
        told = {"provider": provider, "payment": payment}
        tx.after_commit(lambda: _log.error("dispute_of_no_payment", **told))
        return
    known, transfers = await _known(tx, provider, payment), list[Transfer]()  # by another, while we waited
    for one in found:
        if (dispute := known.get(one.id)) is None:
            drawn = sum(other.money.minor for other in known.values() if other.status is DisputeStatus.OPEN)
            if (dispute := await _open(tx, provider, payment, subject, one, drawn)) is None:
                continue
            known[dispute.provider_dispute] = dispute
            transfers += books.dispute_debited(dispute.id, provider, dispute.money)
        if dispute.status is DisputeStatus.OPEN and (decided := domain.decision(one)) is not None:
            known.pop(dispute.provider_dispute)
            transfers += await _end(tx, subject, dispute, decided)
            subject = await _again(tx, subject)
    ledger.post(tx, transfers)


async def decide(tx: Tx, dispute_id: UUID, decided: Decision, rules: Rules) -> Dispute:
    """A person knows how a dispute ended, which its provider does not tell.

    Raises DisputeRefused; NotNow while something else is under way with the gift.
    """
    if not 1 <= len(decided.note or "") <= domain.MAX_NOTE:
        raise DisputeRefused(f"the note must have 1 to {domain.MAX_NOTE} characters")
    seen = await get(tx, dispute_id)
    subject = await _hold(tx, seen.provider, seen.provider_payment, rules)
    dispute = await get(tx, dispute_id)
    if dispute.status is not DisputeStatus.OPEN or subject is None:
        raise DisputeRefused(f"it was decided before: the dispute is {dispute.status}")
    ledger.post(tx, await _end(tx, subject, dispute, decided))
    return await get(tx, dispute_id)


async def get(tx: Tx, dispute_id: UUID) -> Dispute:
    """One dispute. Raises DisputeRefused."""
    if (found := await store.find(tx, EVERYONE, dispute_id)) is None:
        raise DisputeRefused("there is no dispute of this identifier: see `almoner disputes list --all`")
    return found


async def recover(tx: Tx, donation_id: UUID, rules: Rules) -> None:
    """A payout came back of a gift whose dispute was lost meanwhile: what we bore of it is ours again.

    Raises NotNow while somebody else moves the gift.
    """
    gift = await _hold_gift(tx, donation_id, rules)
    if not gift.loose:
        return  # the payout has not come back, or the gift went out again
    transfers: list[Transfer] = []
    for lost in await store.unrecovered(tx, EVERYONE, donation_id):
        owed = (await donations.get(tx, EVERYONE, donation_id)).owed
        back, _ = domain.shares(lost.money, owed)
        await store.recover(tx, EVERYONE, lost.id, back)
        if back:
            transfers += books.dispute_recovered(lost.id, lost.provider, gift.donation.organisation_id, back)
    await _free(tx, gift)
    ledger.post(tx, transfers)


async def newest(tx: Tx, statuses: Sequence[str], limit: int) -> list[Dispute]:
    """Those in one of these states, the newest first."""
    return await store.newest(tx, EVERYONE, statuses, limit)


async def of_payments(
    tx: Tx, provider: str, provider_payments: Sequence[str]
) -> Mapping[str, list[tuple[Dispute, frozenset[str]]]]:
    """Those of several payments, by payment, oldest first, each with the kinds of lines that are booked for it."""
    found: dict[str, list[tuple[Dispute, frozenset[str]]]] = {}
    for dispute, told in await store.of_payments(tx, EVERYONE, provider, provider_payments):
        found.setdefault(dispute.provider_payment, []).append((dispute, told))
    return found


async def count_open(tx: Tx) -> int:
    """How many are open."""
    return await store.count_open(tx, EVERYONE)


async def ask(tx: Tx, payment: str, due: datetime | None = None) -> None:
    """Have a worker look at the disputes of a provider's payment."""
    await queue.enqueue_all(tx, [NewJob(LOOK, {"payment": payment}, due, unique=payment)])


async def next_check(tx: Tx) -> datetime | None:
    """When an open dispute is looked at again."""
    looked = await store.longest_ago(tx, EVERYONE)
    return None if looked is None else looked + domain.LOOKED_AT_EVERY


async def look_again(tx: Tx, limit: int = BATCH) -> int:
    """Have workers look at the open disputes that nobody has looked at for a day; how many."""
    found = await store.take_waiting(tx, EVERYONE, tx.now - domain.LOOKED_AT_EVERY, limit)
    for payment in found:
        await ask(tx, payment)
    return len(found)


async def _known(tx: Tx, provider: str, payment: str) -> dict[str, Dispute]:
    return {one.provider_dispute: one for one in await store.of_payment(tx, EVERYONE, provider, payment)}


def _is_news(known: Dispute | None, found: ProviderDispute) -> bool:
    if known is None:
        return True
    if known.status is DisputeStatus.OPEN:
        return found.status is not DisputeStatus.OPEN
    if found.status is not known.status:
        _log.error("dispute_told_otherwise", dispute=found.id, kept=known.status.value, told=found.status.value)
    return False


async def _hold(tx: Tx, provider: str, payment: str, rules: Rules) -> _Gift | _HeldMoney | None:
    """What a payment paid, held until the transaction ends; None for nothing."""
    if (held := (await suspense.lock_at_provider(tx, provider, [payment])).get(payment)) is not None:
        return _HeldMoney(held)
    paid = (await payments.at_provider(tx, provider, [payment])).get(payment)
    if paid is None or paid.status != "succeeded":
        return None
    return await _hold_gift(tx, paid.donation_id, rules)


async def _hold_gift(tx: Tx, donation_id: UUID, rules: Rules) -> _Gift:
    try:
        return _Gift(await payouts.remove_from_disbursement(tx, donation_id, rules), loose=True)
    except JustMoved as moved:
        raise NotNow from moved
    except PayoutRefused:
        return _Gift(await donations.lock(tx, EVERYONE, donation_id), loose=False)


async def _again(tx: Tx, subject: _Gift | _HeldMoney) -> _Gift | _HeldMoney:
    """As it is after one dispute of it has ended; it is held still."""
    if isinstance(subject, _HeldMoney):
        return _HeldMoney(await suspense.get(tx, subject.held.id))
    return _Gift(await donations.lock(tx, EVERYONE, subject.donation.id), subject.loose)


async def _open(
    tx: Tx, provider: str, payment: str, subject: _Gift | _HeldMoney, found: ProviderDispute, drawn_minor: int
) -> Dispute | None:
    told = {"provider": provider, "payment": payment, "dispute": found.id, "reason": found.reason}
    gone = subject.gone_minor + drawn_minor
    if not domain.believable(found, subject.paid, gone, live=not tx.deployment.sandbox):
        tx.after_commit(lambda: _log.error("dispute_refused", **told))
        if isinstance(subject, _Gift) and domain.fits(found, subject.paid, live=not tx.deployment.sandbox):
            why = f"{provider} tells of a dispute of {written(found.money)}, which is more than is left"
            await payouts.place_hold(tx, subject.donation, found.id, why)
        return None
    donation_id, held_id = subject.ids
    dispute = Dispute(
        id=tx.new_id(),
        provider=provider,
        provider_payment=payment,
        provider_dispute=found.id,
        donation_id=donation_id,
        unallocated_payment_id=held_id,
        money=found.money,
        status=DisputeStatus.OPEN,
        reason=found.reason,
        opened_at=found.opened_at,
        received_at=tx.now,
        decided_at=None,
        decided_by=None,
        note=None,
    )
    await store.insert(tx, EVERYONE, dispute)
    tx.after_commit(lambda: _log.error("dispute_opened", **told))
    return dispute


async def _end(tx: Tx, subject: _Gift | _HeldMoney, dispute: Dispute, decided: Decision) -> list[Transfer]:
    told = {"dispute": dispute.provider_dispute, "outcome": decided.outcome}
    if decided.by is None:
        tx.after_commit(lambda: _log.warning("dispute_ended", **told))
    if isinstance(subject, _HeldMoney):
        return await _end_of_held(tx, subject.held, dispute, decided)
    return await (_lose if decided.outcome == "lost" else _win)(tx, subject, dispute, decided)


async def _win(tx: Tx, gift: _Gift, dispute: Dispute, decided: Decision) -> list[Transfer]:
    await store.decide(tx, EVERYONE, dispute.id, decided)
    await _free(tx, gift)
    return books.dispute_returned(dispute.id, dispute.provider, dispute.money)


async def _lose(tx: Tx, gift: _Gift, dispute: Dispute, decided: Decision) -> list[Transfer]:
    """The donor has the money: it counts as refunded, and what had been paid out is borne by us."""
    donation = gift.donation
    if gift.loose and donation.withdrawn_minor != _refunded(donation).minor:
        raise NotNow  # the provider sends it, or refuses it: then we know how much is left
    owed = donation.owed if gift.loose else Money(0, dispute.money.currency)
    of_gift, borne = domain.shares(dispute.money, owed)
    await store.decide(tx, EVERYONE, dispute.id, decided, Loss(borne, disbursed=not gift.loose))
    refunded = await _free(tx, gift)
    await donations.tell(tx, REFUNDED, refunded)
    return books.dispute_lost(dispute.id, dispute.provider, donation.organisation_id, of_gift, borne)


async def _free(tx: Tx, gift: _Gift) -> Donation:
    """The gift after a dispute has ended, in a bucket soon if nothing else keeps it."""
    freed = await donations.get(tx, EVERYONE, gift.donation.id)
    if freed.disputed_at is None:
        await payouts.look_at(tx, Partner(freed.partner_id), freed.organisation_id)
    return freed


def _refunded(donation: Donation) -> Money:
    return donation.refunded.money if donation.refunded else Money(0, donation.money.currency)


async def _end_of_held(tx: Tx, held: Held, dispute: Dispute, decided: Decision) -> list[Transfer]:
    """Held money that its donor has won back is refunded by that; what had been sent back is drawn from us."""
    money = dispute.money
    if decided.outcome == "won":
        await store.decide(tx, EVERYONE, dispute.id, decided)
        return books.dispute_returned(dispute.id, dispute.provider, money)
    if money == held.money and held.status in ("held", "refunding"):
        await store.decide(tx, EVERYONE, dispute.id, decided, Loss(Money(0, money.currency)))
        back = await suspense.refund_by_dispute(tx, held, dispute.provider_dispute)
        return [*books.dispute_returned(dispute.id, dispute.provider, money), *back]
    await store.decide(tx, EVERYONE, dispute.id, decided, Loss(money))
    return books.dispute_lost(dispute.id, dispute.provider, None, Money(0, money.currency), money)
