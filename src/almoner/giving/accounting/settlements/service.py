"""Books provider payouts line by line.

The order of locks is: unallocated payments, donations, lines, ledger accounts. Two imports of one report wait for each
other, and the second finds everything done (M4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import BookedDispute, Dispute
from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import LedgerTransfer
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import Refund
from almoner.giving.accounting.settlements import domain, store
from almoner.giving.accounting.settlements.domain import (
    LineKey,
    LineNotDismissible,
    MismatchReason,
    PaymentMatch,
    Settlement,
    SettlementLine,
    SettlementLineKind,
    SettlementReport,
    SettlementReportError,
    StoredSettlementLine,
)
from almoner.giving.accounting.settlements.store import (
    find_settlement_date_of_payment as find_settlement_date_of_payment,
)
from almoner.giving.accounting.settlements.store import find_unmatched_line as find_unmatched_line
from almoner.giving.accounting.settlements.store import list_newest as list_newest
from almoner.giving.accounting.settlements.store import list_providers as list_providers
from almoner.giving.accounting.settlements.store import list_unmatched_lines as list_unmatched_lines
from almoner.giving.accounting.settlements.store import save_settlement_totals as save_settlement_totals
from almoner.giving.accounting.settlements.store import (
    sum_unmatched_lines_by_currency as sum_unmatched_lines_by_currency,
)
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money, format_amount
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.failing_rows import process_rows_returning_failures

BATCH: Final = 100
"""Lines in one transaction. Other payments of the provider and currency wait for it; 500 lines take five times
as long.
"""
DAYS_AHEAD: Final = 3
"""Days that a report may be dated ahead, for a payout over a long weekend; a later date is a typing error."""
FETCH_INTERVAL: Final = timedelta(hours=1)
FETCH_LOOKBACK: Final = timedelta(days=30)
"""How far back payouts are fetched; after a longer outage an operator imports the files."""
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _ReconciledLine:
    """A report line with the records of its payment; ``stored.reason`` is None if it is booked."""

    stored: StoredSettlementLine
    matched: PaymentMatch

    @property
    def owner(self) -> store.MatchedRecord:
        held, payment, refund, dispute = (
            self.matched.unallocated_payment,
            self.matched.payment,
            self.refund,
            self.dispute,
        )
        if dispute is not None:
            return store.MatchedRecord(dispute_id=dispute.id)
        if held is not None:
            return store.MatchedRecord(unallocated_payment_id=held.id)
        if refund is not None:
            return store.MatchedRecord(refund_id=refund.id)
        return store.MatchedRecord(
            payment.id if payment else None, waived_fee_minor=(self.stored.line.fee - self.charged).minor
        )

    @property
    def refund(self) -> Refund | None:
        """The donation's refund that the line debits."""
        if self.stored.line.kind is not SettlementLineKind.REFUND or self.matched.unallocated_payment is not None:
            return None
        found = domain.match_refund(self.stored.line, self.matched)
        return found if isinstance(found, Refund) else None

    @property
    def dispute(self) -> Dispute | None:
        """The dispute that the line debits or returns."""
        if self.stored.line.kind not in domain.DISPUTE_KINDS:
            return None
        found = domain.match_dispute(self.stored.line, self.matched)
        return found if isinstance(found, Dispute) else None

    @property
    def charged(self) -> Money:
        """The part of the fee that is charged to the donation: at most the rest after refunds."""
        donation, fee = self.matched.donation, self.stored.line.fee
        return min(donation.unrefunded_amount, fee) if donation and not self.matched.unallocated_payment else fee

    @property
    def charged_to(self) -> UUID | None:
        """The nonprofit whose donation pays the fee; None if we do."""
        return (
            self.matched.donation.organisation_id
            if self.matched.donation and not self.matched.unallocated_payment
            else None
        )


async def find_or_create_settlement(tx: Tx, report: SettlementReport) -> Settlement:
    """The stored report, created unless it was imported before.

    Raises SettlementReportError for a different file of the same report, a date too far ahead, or a provider without
    payments.
    """
    if not await store.has_payments_at_provider(tx, report.provider):
        names = ", ".join(await store.list_providers(tx))
        raise SettlementReportError(
            f"no payment was made through a provider {report.provider!r}: "
            + (f"the providers with payments are {names}" if names else "there are no payments yet")
        )
    if report.settled_on > tx.deployment.date_in_issuer_time_zone(tx.now + DAYS_AHEAD * _DAY):
        raise SettlementReportError(
            f"settled_on is {report.settled_on}, which is more than {DAYS_AHEAD} days in the future"
        )
    await store.insert(tx, report)
    found = await get_settlement(tx, report)
    if found.sha256 != report.sha256:
        raise SettlementReportError(
            f"{report.provider}'s report {report.reference} was already imported from a different file on "
            f"{found.imported_at:%Y-%m-%d}, and a report must not change"
        )
    return found


async def get_settlement(tx: Tx, report: SettlementReport) -> Settlement:
    """The stored state of a report. Raises LookupError if it was not imported."""
    if (found := await store.find_settlement(tx, report.provider, report.reference)) is None:
        raise LookupError(f"settlement {report.reference}")
    return found


async def list_missing_report_references(tx: Tx, provider: str, references: Sequence[str]) -> list[str]:
    """Return the references of reports that are not completely imported."""
    taken = await store.find_fully_stored_references(tx, provider, references)
    return [reference for reference in references if reference not in taken]


async def next_report_fetch_at(tx: Tx, provider: str) -> datetime | None:
    """When the provider's payouts are fetched next; None while it has no payments."""
    if not await store.has_payments_at_provider(tx, provider):
        return None
    looked = await store.find_last_fetch_at(tx, provider)
    return tx.now if looked is None else looked + FETCH_INTERVAL


async def claim_report_fetch(tx: Tx, provider: str) -> bool:
    """Record that a provider's payouts are fetched now; False if they were fetched within the hour."""
    return await store.claim_report_fetch(tx, provider, tx.now - FETCH_INTERVAL)


async def find_payment_ids_with_booked_refund(tx: Tx, provider: str, provider_payment_ids: Sequence[str]) -> set[str]:
    """Return the unallocated payments of a provider that have a booked refund line."""
    return {
        name
        for name, kind in await store.find_booked_line_kinds(tx, provider, provider_payment_ids)
        if kind is SettlementLineKind.REFUND
    }


async def dismiss_line(tx: Tx, provider: str, reference: str, key: LineKey, *, dismissed_by: str, note: str) -> None:
    """Clear an unbooked line that an operator knows will never be booked. No money moves.

    ``key``: the line's key. ``note``: the evidence, 1 to 2000 characters. Raises LineNotDismissible.
    """
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise LineNotDismissible(f"the note must have 1 to {domain.MAX_NOTE} characters")
    if (settlement := await store.find_settlement(tx, provider, reference)) is None:
        raise LineNotDismissible(f"there is no report {reference} from {provider}")
    if not await store.dismiss_line(tx, settlement.id, key, dismissed_by, note):
        raise LineNotDismissible(
            f"report {reference} has no unmatched line for {key[1]} {key[0]}: see Unmatched settlement lines in the "
            "console, or `almoner settlements unmatched`"
        )


async def book_lines(tx: Tx, settlement: Settlement, lines: Sequence[SettlementLine]) -> None:
    """Book up to ``BATCH`` lines of a report, except lines that are already booked."""
    facts = await _load_matches(tx, settlement.provider, lines)
    there = await store.load_stored_lines_by_key(tx, settlement.id, [line.provider_payment_id for line in lines])
    new = [
        StoredSettlementLine(tx.new_id(), settlement.id, settlement.provider, line, None, tx.now)
        for line in lines
        if line.key not in there
    ]
    # The other line of this payment or refund may be in another batch, which then checks it.
    keys = {line.key for line in lines}
    again = await store.lock_unmatched_lines(
        tx, [one.id for key, one in there.items() if key in keys and one.mismatch_reason is not None]
    )
    judged_new, judged_again = _reconcile_lines(new, facts), _reconcile_lines(again, facts)
    if judged_new:
        stored = await store.insert_lines(tx, [one.stored for one in judged_new], _line_owners(judged_new))
        if stored < len(_booked_lines(judged_new)):
            raise LookupError("a line was stored by somebody else while its payment was held")
    await _place_holds(tx, judged_new)
    for unknown in (
        one for one in judged_new if one.stored.mismatch_reason in (MismatchReason.NOT_DISPUTED, MismatchReason.NOT_WON)
    ):
        await disputes.enqueue_refresh(tx, unknown.stored.line.provider_payment_id)  # its webhook may have been lost
    if judged_again:
        await store.update_unmatched_lines(tx, [one.stored for one in judged_again], _line_owners(judged_again))
    await _post_booked(tx, _booked_lines([*judged_new, *judged_again]))


async def recheck_unmatched_lines(tx: Tx, checked_before: datetime, limit: int = BATCH) -> int:
    """Try again to book lines that were last checked before a given time; returns their number."""

    async def recheck(lines: Sequence[StoredSettlementLine]) -> None:
        facts = await _load_matches(tx, lines[0].provider, [stored.line for stored in lines])
        judged = _reconcile_lines(await store.lock_unmatched_lines(tx, [stored.id for stored in lines]), facts)
        await store.update_unmatched_lines(tx, [one.stored for one in judged], _line_owners(judged))
        await _place_holds(tx, judged)
        await _post_booked(tx, _booked_lines(judged))

    found = await store.list_unmatched_lines_checked_before(tx, checked_before, limit)
    # One provider in each transaction, so that locks are always taken in the same order.
    own = [stored for stored in found if stored.provider == found[0].provider]
    failed = await process_rows_returning_failures(tx, "settlements.recheck", own, recheck)
    await store.mark_lines_checked(tx, [stored.id for stored in failed])
    return len(own)


async def _place_holds(tx: Tx, judged: Sequence[_ReconciledLine]) -> None:
    """Hold donations with a reported refund that we did not start.

    The nonprofit is then not paid as well before an operator has looked.
    """
    for one in judged:
        donation, line = one.matched.donation, one.stored.line
        if (
            one.stored.mismatch_reason is not MismatchReason.NOT_REFUNDED
            or one.matched.unallocated_payment is not None
            or donation is None
        ):
            continue
        back = donation.refunded.money.minor if donation.refunded else 0
        if donation.withdrawn_minor <= back:  # otherwise a pending refund may be the one
            why = f"{one.stored.provider} reports a refund of {format_amount(line.gross)} that did not start in Almoner"
            cause_id = line.provider_refund_or_dispute_id or encode_uuid(one.stored.id)
            await disbursements.enqueue_disbursement_hold(tx, donation, why, cause_id=cause_id)


async def settle_donation_in_sandbox(tx: Tx, partner: Partner, donation_id: UUID, fee: Money) -> None:
    """Settle one donation as a provider report would. Raises NotFound, InvalidState."""
    donation = await donations.get(tx, partner, donation_id)
    payment = await payments.find(tx, donation.payment_id) if donation.payment_id else None
    if payment is None or payment.provider_payment_id is None:
        raise InvalidState(f"the donation is {donation.status}: it has no payment that can be settled")
    line = SettlementLine(SettlementLineKind.PAYMENT, payment.provider_payment_id, payment.money, fee)
    report = SettlementReport(
        payment.provider,
        f"simulated-{encode_uuid(donation.id)}",
        payment.money.currency,
        tx.deployment.date_in_issuer_time_zone(tx.now),
        tx.vault.compute_keyed_hash("settlement", donation.id.bytes),
        (line,),
    )
    if donation.settlement is not None:
        raise InvalidState("the donation is already settled")
    await book_lines(tx, await find_or_create_settlement(tx, report), report.lines)


async def _load_matches(tx: Tx, provider: str, lines: Iterable[SettlementLine]) -> dict[LineKey, PaymentMatch]:
    """Load the records of the lines' payments.

    Unallocated payments and donations are locked until the transaction ends.
    """
    keys = [line.key for line in lines]
    named = sorted({payment for payment, _, _ in keys})
    locked = await suspense.lock_unallocated_payments_by_provider_payment_id(tx, provider, named)
    paid = await payments.load_payments_by_provider_payment_id(tx, provider, named)
    given = await donations.lock_donations_by_id(
        tx, [paid[name].donation_id for name in named if name in paid and name not in locked]
    )
    counted = await store.find_booked_line_kinds(tx, provider, named)
    back = await refunds.load_sent_refunds_by_payment_id(
        tx,
        [
            paid[name].id
            for name, kind, _ in keys
            if kind is SettlementLineKind.REFUND and name in paid and name not in locked
        ],
    )
    disputed = await _load_disputes(tx, provider, keys)
    found: dict[LineKey, PaymentMatch] = {}
    for name, kind, refund in keys:
        payment = paid.get(name)
        given_back = back.get(payment.id, []) if payment else []
        found[name, kind, refund] = PaymentMatch(
            payment,
            given.get(payment.donation_id) if payment else None,
            locked.get(name),
            already_booked=(name, kind) in counted,
            refunds=tuple(one.refund for one in given_back),
            debited_refund_ids=frozenset(one.refund.id for one in given_back if one.is_booked),
            disputes=tuple(one.dispute for one in disputed.get(name, [])),
            booked_dispute_ids=frozenset(
                one.dispute.id for one in disputed.get(name, []) if kind in one.booked_line_kinds
            ),
        )
    return found


async def _load_disputes(tx: Tx, provider: str, keys: Sequence[LineKey]) -> Mapping[str, list[BookedDispute]]:
    """The disputes of the payments with dispute lines, each with the kinds of lines booked for it."""
    named = [name for name, kind, _ in keys if kind in domain.DISPUTE_KINDS]
    return await disputes.load_booked_disputes_by_payment_id(tx, provider, named) if named else {}


def _reconcile_lines(
    lines: Sequence[StoredSettlementLine], facts: dict[LineKey, PaymentMatch]
) -> list[_ReconciledLine]:
    judged: list[_ReconciledLine] = []
    booked: set[tuple[str, SettlementLineKind]] = set()  # two reports may have waited for the same payment
    debited: frozenset[UUID] = frozenset()
    reported: frozenset[tuple[UUID, SettlementLineKind]] = frozenset()
    for stored in lines:
        known = facts[stored.line.key]
        payment, kind, _ = stored.line.key
        known = replace(
            known,
            already_booked=known.already_booked or (payment, kind) in booked,
            debited_refund_ids=known.debited_refund_ids | debited,
        )
        known = replace(
            known, booked_dispute_ids=known.booked_dispute_ids | {dispute for dispute, of in reported if of is kind}
        )
        one = _ReconciledLine(replace(stored, mismatch_reason=domain.mismatch_reason(stored.line, known)), known)
        judged.append(one)
        if one.stored.mismatch_reason is None:
            booked.add((payment, kind))
            debited |= {one.refund.id} if one.refund else set()
            reported |= {(one.dispute.id, kind)} if one.dispute else set()
    return judged


def _booked_lines(judged: Sequence[_ReconciledLine]) -> list[_ReconciledLine]:
    return [one for one in judged if one.stored.mismatch_reason is None]


def _line_owners(judged: Sequence[_ReconciledLine]) -> dict[UUID, store.MatchedRecord]:
    return {one.stored.id: one.owner for one in _booked_lines(judged)}


async def _post_booked(tx: Tx, booked: Sequence[_ReconciledLine]) -> None:
    nets = {
        one.matched.donation.id: one.stored.line.gross - one.stored.line.fee
        for one in booked
        if one.stored.line.kind is SettlementLineKind.PAYMENT
        and one.matched.donation is not None
        and one.matched.unallocated_payment is None
    }
    if nets:
        await donations.mark_donations_settled(tx, nets)
    ledger.post_at_commit(tx, [transfer for one in booked for transfer in _transfers_of(one)])


def _transfers_of(one: _ReconciledLine) -> list[LedgerTransfer]:
    stored, line = one.stored, one.stored.line
    match line.kind:
        case SettlementLineKind.REFUND:
            return ledger_domain.build_refund_settlement_transfers(stored.id, stored.provider, line.gross, line.fee)
        case SettlementLineKind.DISPUTE:
            return ledger_domain.build_dispute_settlement_transfers(stored.id, stored.provider, line.gross, line.fee)
        case SettlementLineKind.DISPUTE_WON:
            return ledger_domain.build_dispute_won_settlement_transfers(
                stored.id, stored.provider, line.gross, line.fee
            )
    return ledger_domain.build_payment_settlement_transfers(
        stored.id, stored.provider, line.gross, line.fee, one.charged_to, one.charged
    )


async def next_unmatched_line_recheck_at(tx: Tx) -> datetime | None:
    """When unbooked lines are rechecked next: at midnight (UTC) after the last check."""
    looked = await store.find_oldest_check_time_of_unmatched_lines(tx)
    return None if looked is None else _midnight(looked) + _DAY


async def recheck_due_unmatched_lines(tx: Tx) -> int:
    """Recheck the unbooked lines that were last checked before today."""
    return await recheck_unmatched_lines(tx, _midnight(tx.now))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
