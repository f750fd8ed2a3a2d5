"""Booking what providers paid out to us, line by line.

Held money is held first, then donations, then lines, then the accounts of the books: two imports of one report wait for
each other, and the second finds everything done (M4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import Dispute
from almoner.giving.accounting.ledger import domain as books
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import Transfer
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import Refund
from almoner.giving.accounting.settlements import domain, store
from almoner.giving.accounting.settlements.domain import (
    Key,
    Known,
    Line,
    LineKind,
    Mismatch,
    NotCleared,
    Report,
    ReportRefused,
    Settlement,
    StoredLine,
    Sum,
    Unbooked,
)
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.disbursing.disbursements import service as payouts
from almoner.kit.ids import encode
from almoner.kit.money import Money, written
from almoner.platform.database.transactions import EVERYONE, Partner, Tx

BATCH: Final = 100
"""Lines in one transaction: other payments of the provider and currency wait for it, for 500 five times as long."""
DAYS_AHEAD: Final = 3
"""A provider may announce what it pays out over a long weekend; a day further ahead is mistyped."""
FETCHED_EVERY: Final = timedelta(hours=1)
FETCHED_BACK: Final = timedelta(days=30)
"""How far back a provider is asked what it has paid out: whoever was away longer imports the files by hand."""
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _ReconciledLine:
    """A line beside what we know of its payment; ``stored.reason`` is None when it is booked."""

    stored: StoredLine
    known: Known

    @property
    def owner(self) -> store.Owner:
        held, payment, refund, dispute = self.known.held, self.known.payment, self.refund, self.dispute
        if dispute is not None:
            return store.Owner(dispute_id=dispute.id)
        if held is not None:
            return store.Owner(held_id=held.id)
        if refund is not None:
            return store.Owner(refund_id=refund.id)
        return store.Owner(
            payment.id if payment else None, waived_fee_minor=(self.stored.line.fee - self.charged).minor
        )

    @property
    def refund(self) -> Refund | None:
        """The refund of a gift that the line draws."""
        if self.stored.line.kind is not LineKind.REFUND or self.known.held is not None:
            return None
        found = domain.refund_of(self.stored.line, self.known)
        return found if isinstance(found, Refund) else None

    @property
    def dispute(self) -> Dispute | None:
        """The dispute that the line draws or gives back."""
        if self.stored.line.kind not in domain.OF_DISPUTES:
            return None
        found = domain.dispute_of(self.stored.line, self.known)
        return found if isinstance(found, Dispute) else None

    @property
    def charged(self) -> Money:
        """What of the fee the gift bears: no more than is left of it after its refunds."""
        donation, fee = self.known.donation, self.stored.line.fee
        return min(donation.left, fee) if donation and not self.known.held else fee

    @property
    def charged_to(self) -> UUID | None:
        """The nonprofit whose gift bears the fee."""
        return self.known.donation.organisation_id if self.known.donation and not self.known.held else None


async def open_report(tx: Tx, report: Report) -> Settlement:
    """The report's row, a new one unless its file was imported before.

    Raises ReportRefused for another file of it, for a day too far ahead, and for a provider that we have no payment at.
    """
    if not await store.is_provider(tx, EVERYONE, report.provider):
        names = ", ".join(await store.providers(tx, EVERYONE))
        raise ReportRefused(
            f"there is no payment at a provider {report.provider!r}: "
            + (f"there are payments at {names}" if names else "there are no payments yet")
        )
    if report.settled_on > (tx.now + DAYS_AHEAD * _DAY).date():
        raise ReportRefused(f"settled_on is {report.settled_on}: this is more than {DAYS_AHEAD} days ahead")
    await store.insert(tx, EVERYONE, report)
    found = await find(tx, report)
    if found.sha256 != report.sha256:
        raise ReportRefused(
            f"{report.provider}'s report {report.reference} was imported from another file on "
            f"{found.imported_at:%Y-%m-%d}: a report does not change"
        )
    return found


async def find(tx: Tx, report: Report) -> Settlement:
    """What became of an imported report. Raises LookupError when it was not."""
    if (found := await store.find(tx, EVERYONE, report.provider, report.reference)) is None:
        raise LookupError(f"settlement {report.reference}")
    return found


async def not_taken(tx: Tx, provider: str, references: Sequence[str]) -> list[str]:
    """Those of these reports whose lines are not all here, in the given order."""
    taken = await store.taken(tx, EVERYONE, provider, references)
    return [reference for reference in references if reference not in taken]


async def next_fetch(tx: Tx, provider: str) -> datetime | None:
    """When a provider is next asked what it has paid out; None while there is no payment at it."""
    if not await store.is_provider(tx, EVERYONE, provider):
        return None
    looked = await store.checked_at(tx, EVERYONE, provider)
    return tx.now if looked is None else looked + FETCHED_EVERY


async def begin_fetch(tx: Tx, provider: str) -> bool:
    """Note that a provider is asked now; False when it was asked within the hour."""
    return await store.set_checked(tx, EVERYONE, provider, tx.now - FETCHED_EVERY)


async def newest(tx: Tx, limit: int) -> list[Settlement]:
    """The newest reports."""
    return await store.newest(tx, EVERYONE, limit)


async def drawn(tx: Tx, provider: str, payments_: Sequence[str]) -> set[str]:
    """Of which of a provider's held payments a line is booked that it went back."""
    return {name for name, kind in await store.counted(tx, EVERYONE, provider, payments_) if kind is LineKind.REFUND}


async def exceptions(tx: Tx, limit: int) -> list[Unbooked]:
    """Lines that are not booked, the oldest first."""
    return await store.unbooked(tx, EVERYONE, limit)


async def unbooked_sums(tx: Tx) -> list[Sum]:
    """What reached the bank by lines that are not booked, and is in no account, by currency."""
    return await store.unbooked_sums(tx, EVERYONE)


async def clear(tx: Tx, provider: str, reference: str, key: Key, *, cleared_by: str, note: str) -> None:
    """Take a line off the exceptions: a person knows that nothing of it will be booked. No money moves.

    ``key``: of the line. ``note``: the evidence, 1 to 2000 characters. Raises NotCleared.
    """
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise NotCleared(f"the note must have 1 to {domain.MAX_NOTE} characters")
    if (settlement := await store.find(tx, EVERYONE, provider, reference)) is None:
        raise NotCleared(f"no report {reference} of {provider} was imported")
    if not await store.clear(tx, EVERYONE, settlement.id, key, cleared_by, note):
        raise NotCleared(
            f"report {reference} has no exception of {key[1]} {key[0]}: see `almoner settlements unmatched`"
        )


async def book_lines(tx: Tx, settlement: Settlement, lines: Sequence[Line]) -> None:
    """Book up to ``BATCH`` lines of a report; those that were booked before stay as they are."""
    facts = await _load_matches(tx, settlement.provider, lines)
    there = await store.known(tx, EVERYONE, settlement.id, [line.payment for line in lines])
    new = [
        StoredLine(tx.new_id(), settlement.id, settlement.provider, line, None, tx.now)
        for line in lines
        if line.key not in there
    ]
    # The payment or the refund of a payment of this batch may lie in another batch, and is looked at there.
    keys = {line.key for line in lines}
    again = await store.lock_exceptions(
        tx, EVERYONE, [one.id for key, one in there.items() if key in keys and one.reason is not None]
    )
    judged_new, judged_again = _judge(new, facts), _judge(again, facts)
    if judged_new:
        stored = await store.insert_lines(tx, EVERYONE, [one.stored for one in judged_new], _owners(judged_new))
        if stored < len(_booked(judged_new)):
            raise LookupError("a line was stored by somebody else while its payment was held")
    await _place_holds(tx, judged_new)
    for unknown in (one for one in judged_new if one.stored.reason in (Mismatch.NOT_DISPUTED, Mismatch.NOT_WON)):
        await disputes.ask(tx, unknown.stored.line.payment)  # its notice may have been lost
    if judged_again:
        await store.look_again(tx, EVERYONE, [one.stored for one in judged_again], _owners(judged_again))
    await _book(tx, _booked([*judged_new, *judged_again]))


async def look_again(tx: Tx, looked_before: datetime, limit: int = BATCH) -> int:
    """Look at exceptions once more; how many there were that were last looked at before that moment."""
    found = await store.exceptions(tx, EVERYONE, looked_before, limit)
    if not found:
        return 0
    # One provider in a transaction, so that what is held is always held in one order.
    own = [stored for stored in found if stored.provider == found[0].provider]
    facts = await _load_matches(tx, found[0].provider, [stored.line for stored in own])
    judged = _judge(await store.lock_exceptions(tx, EVERYONE, [stored.id for stored in own]), facts)
    await store.look_again(tx, EVERYONE, [one.stored for one in judged], _owners(judged))
    await _place_holds(tx, judged)
    await _book(tx, _booked(judged))
    return len(own)


async def _place_holds(tx: Tx, judged: Sequence[_ReconciledLine]) -> None:
    """What went back of gifts and nobody here began: until somebody has found out, nonprofits are not paid it, too."""
    for one in judged:
        gift, line = one.known.donation, one.stored.line
        if one.stored.reason is not Mismatch.NOT_REFUNDED or one.known.held is not None or gift is None:
            continue
        back = gift.refunded.money.minor if gift.refunded else 0
        if gift.withdrawn_minor <= back:  # else one is under way, and may be it
            why = f"{one.stored.provider} reports {written(line.gross)} sent back that nobody here began"
            await payouts.place_hold(tx, gift, line.refund or encode(one.stored.id), why)


async def settle_simulated(tx: Tx, partner: Partner, donation_id: UUID, fee: Money) -> None:
    """What a report that holds this one donation does. Raises NotFound, InvalidState."""
    donation = await donations.get(tx, partner, donation_id)
    payment = await payments.find(tx, donation.payment_id) if donation.payment_id else None
    if payment is None or payment.provider_payment is None:
        raise InvalidState(f"the donation is {donation.status}: there is no money of it that could be settled")
    line = Line(LineKind.PAYMENT, payment.provider_payment, payment.money, fee)
    report = Report(
        payment.provider,
        f"simulated-{encode(donation.id)}",
        payment.money.currency,
        tx.now.date(),
        tx.vault.keyed_hash("settlement", donation.id.bytes).hex(),
        (line,),
    )
    if donation.settlement is not None:
        raise InvalidState("the donation is settled already")
    await book_lines(tx, await open_report(tx, report), report.lines)


async def _load_matches(tx: Tx, provider: str, lines: Iterable[Line]) -> dict[Key, Known]:
    """What we know of the payments that the lines name; money and donations are held until the transaction ends."""
    keys = [line.key for line in lines]
    named = sorted({payment for payment, _, _ in keys})
    held = await suspense.lock_at_provider(tx, provider, named)
    paid = await payments.at_provider(tx, provider, named)
    given = await donations.lock_all(
        tx, [paid[name].donation_id for name in named if name in paid and name not in held]
    )
    counted = await store.counted(tx, EVERYONE, provider, named)
    back = await refunds.sent_of_payments(
        tx, [paid[name].id for name, kind, _ in keys if kind is LineKind.REFUND and name in paid and name not in held]
    )
    disputed = await _disputes(tx, provider, keys)
    found: dict[Key, Known] = {}
    for name, kind, refund in keys:
        payment = paid.get(name)
        given_back = back.get(payment.id, []) if payment else []
        found[name, kind, refund] = Known(
            payment,
            given.get(payment.donation_id) if payment else None,
            held.get(name),
            counted=(name, kind) in counted,
            refunds=tuple(one for one, _ in given_back),
            drawn=frozenset(one.id for one, drawn in given_back if drawn),
            disputes=tuple(one for one, _ in disputed.get(name, [])),
            told=frozenset(one.id for one, told in disputed.get(name, []) if kind in told),
        )
    return found


async def _disputes(tx: Tx, provider: str, keys: Sequence[Key]) -> Mapping[str, list[tuple[Dispute, frozenset[str]]]]:
    """The disputes of the payments whose disputes the lines tell of, each with the kinds of lines booked for it."""
    named = [name for name, kind, _ in keys if kind in domain.OF_DISPUTES]
    return await disputes.of_payments(tx, provider, named) if named else {}


def _judge(lines: Sequence[StoredLine], facts: dict[Key, Known]) -> list[_ReconciledLine]:
    judged: list[_ReconciledLine] = []
    booked: set[tuple[str, LineKind]] = set()  # two reports may have waited for the same payment
    drawn: frozenset[UUID] = frozenset()
    told: frozenset[tuple[UUID, LineKind]] = frozenset()
    for stored in lines:
        known = facts[stored.line.key]
        payment, kind, _ = stored.line.key
        known = replace(known, counted=known.counted or (payment, kind) in booked, drawn=known.drawn | drawn)
        known = replace(known, told=known.told | {dispute for dispute, of in told if of is kind})
        one = _ReconciledLine(replace(stored, reason=domain.mismatch(stored.line, known)), known)
        judged.append(one)
        if one.stored.reason is None:
            booked.add((payment, kind))
            drawn |= {one.refund.id} if one.refund else set()
            told |= {(one.dispute.id, kind)} if one.dispute else set()
    return judged


def _booked(judged: Sequence[_ReconciledLine]) -> list[_ReconciledLine]:
    return [one for one in judged if one.stored.reason is None]


def _owners(judged: Sequence[_ReconciledLine]) -> dict[UUID, store.Owner]:
    return {one.stored.id: one.owner for one in _booked(judged)}


async def _book(tx: Tx, booked: Sequence[_ReconciledLine]) -> None:
    nets = {
        one.known.donation.id: one.stored.line.gross - one.stored.line.fee
        for one in booked
        if one.stored.line.kind is LineKind.PAYMENT and one.known.donation is not None and one.known.held is None
    }
    if nets:
        await donations.settle(tx, nets)
    ledger.post(tx, [transfer for one in booked for transfer in _transfers(one)])


def _transfers(one: _ReconciledLine) -> list[Transfer]:
    stored, line = one.stored, one.stored.line
    match line.kind:
        case LineKind.REFUND:
            return books.refund_settled(stored.id, stored.provider, line.gross, line.fee)
        case LineKind.DISPUTE:
            return books.dispute_settled(stored.id, stored.provider, line.gross, line.fee)
        case LineKind.DISPUTE_WON:
            return books.dispute_won_settled(stored.id, stored.provider, line.gross, line.fee)
    return books.settled(stored.id, stored.provider, line.gross, line.fee, one.charged_to, one.charged)


async def next_check(tx: Tx) -> datetime | None:
    """When exceptions are looked at again: at the midnight (UTC) after the last look."""
    looked = await store.longest_ago(tx, EVERYONE)
    return None if looked is None else _midnight(looked) + _DAY


async def look_nightly(tx: Tx) -> int:
    """Look once more at the exceptions of yesterday."""
    return await look_again(tx, _midnight(tx.now))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
