"""What can be done with lines of our bank's statements. Reading files is in ``camt`` and ``tables``."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from asyncpg import DataError, IntegrityConstraintViolationError, PostgresError

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import ReportRefused, Unbooked
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import accounts, batches, domain, gifts, store, store_gaps, tables
from almoner.giving.banking.bank_statements.domain import (
    BankLine,
    Gap,
    MatchedAs,
    Movement,
    Named,
    Open,
    Statement,
    StatementRefused,
    Thing,
    Unbanked,
    Waiting,
)
from almoner.giving.banking.payment_files import service as bank_files
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.checkout.bank_transfers import service as transfers
from almoner.giving.checkout.donation_requests import service as requests
from almoner.giving.checkout.donation_requests.domain import DonationRequest, RequestRefused
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import BANK, Payment
from almoner.giving.disbursing.disbursements import service as payouts
from almoner.giving.disbursing.disbursements.domain import Disbursement, PayoutRefused, Rules
from almoner.kit.errors import NotFound
from almoner.kit.ids import encode
from almoner.kit.money import Money, MoneyError
from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.platform.observability.telemetry import Telemetry

RULE: Final = "rule"
SIMULATED: Final = "sandbox"
"""The account that simulated transfers come to."""
PAGE: Final = 500
REFUSALS: Final = (
    *(RequestRefused, PayoutRefused, ReportRefused, StatementRefused, InvalidState),
    *(NotFound, LookupError, MoneyError, DataError, IntegrityConstraintViolationError),
)
"""What is wrong with one line, and neither with the others nor with the database."""
_TOLD: Final = 200
_DAYS: Final = 30
_LEAST_REFERENCE: Final = 6
"""A provider's name of a payout that is shorter may stand in the words by chance."""


def read(content: bytes, mapping: Path | None, own: Mapping[str, OwnAccount] | None, today: date) -> list[Statement]:
    """The statements of a file: camt.053, or CSV by a mapping. Raises StatementRefused with every problem.

    ``own``: our accounts by currency, of which alone statements are believed; None where any is, as in the sandbox.
    """
    wrong: list[str] = []
    if mapping is not None:
        found = tables.read(content, mapping)
    else:
        from almoner.giving.banking.bank_statements import camt  # on first use: 30 MB

        found, wrong = camt.read(content)
    if not found and not wrong:
        raise StatementRefused("There is no statement in the file.")
    latest = today + timedelta(days=domain.DAYS_AHEAD)
    for one in found:
        problems = [*accounts.problems(one, own), *domain.problems(one, latest)]
        wrong += [f"{one.account}, {one.reference}: {problem}" for problem in problems]
    if wrong:
        rest = f"\nand {len(wrong) - _TOLD:,} more" if len(wrong) > _TOLD else ""
        raise StatementRefused("\n".join(wrong[:_TOLD]) + rest)
    return [replace(one, account=accounts.named(one, own)) for one in found]


async def keep(tx: Tx, statement: Statement, *, by: str) -> bool:
    """Keep a statement with its lines, or what is new of it; False when nothing is. Raises StatementRefused.

    It is known by the account, the bank's name of it and its lines, not by its file: that may have been made again.
    """
    account, name = statement.account, statement.reference
    await store.wait_for_account(tx, EVERYONE, account)
    parts = await store.parts(tx, EVERYONE, account, name)
    if statement.export and (days := [one.booked_on for one in statement.movements]):
        known = await store.exported(tx, EVERYONE, account, statement.currency, min(days), max(days))
    else:
        known = await store.movements(tx, EVERYONE, account, name) if parts else []
    new = domain.added(statement, known)
    if new or not parts:
        await store.insert(tx, EVERYONE, statement, new, parts + 1, by)
    return bool(new or not parts)


async def open_lines(tx: Tx, after: UUID | None) -> list[UUID]:
    """Lines that wait, the oldest first, after one of them."""
    return await store.open_lines(tx, EVERYONE, after, PAGE)


async def newest(tx: Tx, limit: int, *, every: bool) -> list[BankLine]:
    """The oldest lines that wait for a person; or the newest of all."""
    return await store.newest(tx, EVERYONE, limit, every=every)


async def unbanked(tx: Tx, limit: int) -> list[Unbanked]:
    """Providers' payouts that no line of our bank tells of yet, the oldest first."""
    return await store.unbanked(tx, EVERYONE, limit)


async def gaps(tx: Tx, limit: int) -> list[Gap]:
    """Statements that open with a balance which no other one ended with, the first imported first."""
    return await store_gaps.gaps(tx, EVERYONE, limit)


async def explain_gap(tx: Tx, statement_id: UUID, *, note: str, by: str) -> None:
    """A person found out that no statement is missing before one. Raises NotFound, StatementRefused."""
    if await store_gaps.find(tx, EVERYONE, statement_id) is None:
        raise NotFound
    _ensure_note(note)
    if not await store_gaps.explain(tx, EVERYONE, statement_id, note, by):
        raise StatementRefused("Somebody else has just explained it.")


async def explain_report(tx: Tx, provider: str, reference: str, *, note: str, by: str) -> None:
    """A person found out why a provider's payout never came as it was told. Raises NotFound, StatementRefused.

    No money moves: what the books have more at the bank than there is comes by a later report, or is a cost.
    """
    _ensure_note(note)
    if not await store_gaps.explain_report(tx, EVERYONE, provider, reference, note, by):
        raise NotFound


async def count_open(tx: Tx) -> tuple[int, int]:
    """How many lines wait for a person, and how many providers' payouts for a line."""
    return await store.count_open(tx, EVERYONE)


async def waiting(tx: Tx, limit: int) -> list[Waiting]:
    """All that providers and our bank tell of and the books do not show yet, the oldest first (M7)."""
    lines = [_unbooked(one) for one in await settlements.exceptions(tx, limit)]
    lines += [_open(tx, one) for one in await newest(tx, limit, every=False)]
    lines += [_unbanked(one) for one in await unbanked(tx, limit)]
    lines += [_missing(tx, one) for one in await gaps(tx, limit)]
    return sorted(lines, key=lambda one: one.since)[:limit]


def _unbooked(one: Unbooked) -> Waiting:
    line, why = one.stored.line, one.stored.reason
    name = f"{one.reference} {line.kind} {line.payment}"
    money = line.signed_gross, line.gross.currency
    return Waiting("provider_line", one.stored.since, one.stored.provider, name, *money, why.sentence if why else "")


def _open(tx: Tx, line: BankLine) -> Waiting:
    why = line.reason.sentence if line.reason else ""
    money = line.movement.minor, line.movement.currency
    return Waiting("bank_statement_line", line.since, line.account, tx.ids.text("bankline", line.id), *money, why)


def _unbanked(one: Unbanked) -> Waiting:
    paid = one.paid_out
    return Waiting("provider_payout", one.since, one.provider, paid.reference, paid.net_minor, paid.currency, one.why)


def _missing(tx: Tx, gap: Gap) -> Waiting:
    name = tx.ids.text("bankstatement", gap.id)
    return Waiting("bank_statement", gap.since, gap.account, name, gap.opening_minor, gap.currency, gap.why)


async def measure(tx: Tx, telemetry: Telemetry) -> None:
    """How much of it waits, and how long the oldest has."""
    lines, reports = await count_open(tx)
    missing = await gaps(tx, PAGE)
    unbooked = sum(one.lines for one in await settlements.unbooked_sums(tx))
    telemetry.bank_lines_open.set(lines)
    telemetry.bank_reports_open.set(reports)
    oldest = {
        "provider_line": [_unbooked(one) for one in await settlements.exceptions(tx, 1)],
        "bank_statement_line": [_open(tx, one) for one in await newest(tx, 1, every=False)],
        "provider_payout": [_unbanked(one) for one in await unbanked(tx, 1)],
        "bank_statement": [_missing(tx, one) for one in missing[:1]],
    }
    for (what, found), count in zip(oldest.items(), (unbooked, lines, reports, len(missing)), strict=True):
        telemetry.unreconciled.set(what, count, (tx.now - found[0].since).total_seconds() if found else 0.0)


async def hear_simulated(tx: Tx, money: Money, words: str, *, by: str) -> None:
    """What a statement does that holds this one transfer to us."""
    name = f"simulated-{encode(tx.new_id())}"
    moved = Movement(tx.now.date(), money.minor, money.currency, name, None, None, words, None)
    digest = tx.vault.keyed_hash("bank_statement", name.encode()).hex()
    await keep(tx, Statement(SIMULATED, name, money.currency, None, None, digest, (moved,)), by=by)
    for line_id in await store.lines_of(tx, EVERYONE, SIMULATED, name):
        try:
            async with tx.savepoint():
                await look(tx, line_id)
        except REFUSALS as refused:
            await refuse(tx, line_id, said(refused))


async def look(tx: Tx, line_id: UUID) -> bool:
    """Match a line that waits, if it is certain what it is; whether it was. Raises one of ``REFUSALS``.

    What the bank has booked of many payouts at once becomes lines of their own, which wait to be looked at.
    """
    line = await _lock(tx, line_id)
    if line.status != "open":
        return False
    await store.wait_for_movement(tx, EVERYONE, line)
    moved = line.movement
    if moved.minor > 0 and not moved.reversal and (noted := await store.recorded_manually(tx, EVERYONE, line)):
        await store.match(tx, EVERYONE, line.id, "request", noted, RULE)
        return True
    named = await _named(tx, line)
    found = domain.match(moved, named)
    if await batches.part(tx, line, named, found):
        return True
    if found is Open.TAKEN_BACK and line.reason is not found:  # the first time: people may release it meanwhile
        await gifts.hold_back(tx, line, [*named.gifts, *await _undone(tx, line)])
    if found is Open.OTHER_STATE and line.reason is not found:
        await _hold_returned(tx, line, named)
    why = found if isinstance(found, Open) else await _do(tx, line, *found, RULE)
    if why is not None:
        await store.wait(tx, EVERYONE, line.id, why)
    return why is None


async def _hold_returned(tx: Tx, line: BankLine, named: Named) -> None:
    """Money left for payouts that came back, and no line tells of their return: their gifts would be paid twice."""
    for one in named.payouts:
        if line.movement.minor < 0 and one.status == "RETURNED":
            names = tx.ids.text("bankline", line.id), tx.ids.text("disbursement", one.id)
            note = f"{names[0]}: the bank has booked {names[1]}, which is RETURNED, and has not told of its return"
            scope = Partner(one.partner_id)
            await payouts.hold(tx, scope, one.organisation_id, note=note, decided_by=RULE, rules=Rules())


def said(refused: Exception) -> str:
    """What a refusal says for officers: of the database's its message alone, which names nobody."""
    if isinstance(refused, PostgresError):
        if refused.constraint_name in (suspense.REFUNDED_ONCE, refunds.ONCE):
            return "the bank's name of this movement is recorded for another refund: look it up again"
        return str(refused.args[0])
    return str(refused)


async def refuse(tx: Tx, line_id: UUID, why: str) -> bool:
    """Note what spoke against booking a line that waits, and whether that is new; the next import looks again."""
    line, refusal = await _lock(tx, line_id), why[: domain.MAX_WORDS] or "without a reason"
    if line.status != "open" or line.booking_error == refusal:
        return False
    await store.wait(tx, EVERYONE, line.id, Open.REFUSED, refusal)
    return True


async def _named(tx: Tx, line: BankLine) -> Named:
    moved = line.movement
    asked = [await requests.named(tx, one) for one in domain.references(moved)]
    found = await store.payouts_named(tx, EVERYONE, domain.end_to_end_ids(moved))
    reports = await store.reports_named(tx, EVERYONE, moved, _DAYS, _LEAST_REFERENCE)
    return Named(
        requests=[await requests.get(tx, EVERYONE, one) for one in asked if one is not None],
        gifts=list((await payments.at_provider(tx, BANK, domain.gift_references(moved))).values()),
        reports=reports,
        payouts=[await payouts.get(tx, EVERYONE, one) for one in found],
        seen_before=await store.seen_before(tx, EVERYONE, line),
        taken=await store.taken(tx, EVERYONE, [*found, *(one.id for one in reports)]),
        released={one for one in found if await bank_files.is_released(tx, one)},
    )


async def _undone(tx: Tx, line: BankLine) -> list[Payment]:
    found = [await payments.find(tx, one) for one in await store.undone(tx, EVERYONE, line)]
    return [one for one in found if one is not None]


async def _do(tx: Tx, line: BankLine, matched_as: MatchedAs, thing: Thing, by: str) -> Open | None:
    """What follows from a match, or why it does not hold; a worker lets a payout's donations follow beyond a batch."""
    if isinstance(thing, DonationRequest):
        moved = line.movement
        made = await requests.receive(tx, EVERYONE, thing.id, moved.money, moved.reference, recorded_by=by)
        await store.match(tx, EVERYONE, line.id, "request", made.id, by)
        return None
    if isinstance(thing, Payment):
        taken = await (gifts.receive if matched_as == "donation" else gifts.give_back)(tx, line, thing)
        if not isinstance(taken, Open):
            await store.match(tx, EVERYONE, line.id, matched_as, taken, by)
        return taken if isinstance(taken, Open) else None
    await store.match(tx, EVERYONE, line.id, matched_as, thing.id, by)
    if isinstance(thing, Disbursement):
        await _follow(tx, line, matched_as, thing, by)
    return None


async def _follow(tx: Tx, line: BankLine, matched_as: MatchedAs, payout: Disbursement, by: str) -> None:
    """A payout is paid, or came back, as the line says, unless that was known."""
    if matched_as == "disbursement" and payout.status == "SENT":
        await payouts.confirm(tx, payout.id)
    elif matched_as == "disbursement_return" and payout.status != "RETURNED":
        reason = line.movement.return_reason or f"the bank returned it on {line.movement.booked_on}"
        await payouts.mark_returned(tx, payout.id, reason, recorded_by=by)


async def assign(tx: Tx, line_id: UUID, request_id: UUID, *, by: str) -> None:
    """A person knows that a line is the transfer for a request. Raises NotFound, StatementRefused."""
    line = await _waiting(tx, line_id)
    if line.movement.minor < 0:
        raise StatementRefused("The line is money that left: it pays no request.")
    await _assign(tx, line, "request", await requests.get(tx, EVERYONE, request_id), by)


async def assign_gift(tx: Tx, line_id: UUID, donation_id: UUID, *, by: str) -> None:
    """A person knows that a line is the transfer of a donor who left out the reference, or what went back to one.

    The rules are the same. Raises NotFound, StatementRefused.
    """
    line = await _waiting(tx, line_id)
    payment = await transfers.named(tx, await donations.get(tx, EVERYONE, donation_id))
    if payment is None:
        raise StatementRefused("The donation is not one that its donor wanted to pay by bank transfer.")
    await _assign(tx, line, "donation" if line.movement.minor > 0 else "donation_refund", payment, by)


async def assign_report(tx: Tx, line_id: UUID, provider: str, reference: str, *, by: str) -> None:
    """A person knows that a line is what a provider's report tells of, though it does not name it.

    Raises NotFound, StatementRefused.
    """
    line = await _waiting(tx, line_id)
    if (report := await store.report(tx, EVERYONE, provider, reference)) is None:
        raise StatementRefused(f"No report {reference} of {provider} was imported: see `almoner settlements list`.")
    await _assign_named(tx, line, Named(reports=[report]), by)


async def assign_payout(tx: Tx, line_id: UUID, disbursement_id: UUID, *, by: str) -> None:
    """A person knows that a line is the transfer of a payout, or (it came) what the bank has returned of one.

    Raises NotFound, StatementRefused.
    """
    line = await _waiting(tx, line_id)
    payout = await payouts.get(tx, EVERYONE, disbursement_id)
    released = {payout.id} if await bank_files.is_released(tx, payout.id) else frozenset[UUID]()
    await _assign_named(tx, line, Named(payouts=[payout], released=released), by)


async def _assign_named(tx: Tx, line: BankLine, named: Named, by: str) -> None:
    """Books rest on these: amount, currency and state have to be right, whoever says what the line is."""
    things = [*(one.id for one in named.reports), *(one.id for one in named.payouts)]
    found = domain.match(line.movement, replace(named, taken=await store.taken(tx, EVERYONE, things)))
    if isinstance(found, Open):
        raise StatementRefused(f"The line cannot be assigned to it: {found.sentence}")
    await _assign(tx, line, *found, by)


async def _assign(tx: Tx, line: BankLine, matched_as: MatchedAs, thing: Thing, by: str) -> None:
    try:
        refused = await _do(tx, line, matched_as, thing, by)
    except REFUSALS as error:
        raise StatementRefused(said(error)) from error
    if refused is not None:
        raise StatementRefused(f"The line cannot be assigned to it: {refused.sentence}")


async def dismiss(tx: Tx, line_id: UUID, *, note: str, by: str) -> None:
    """A person knows that a line is no movement of ours, such as a fee of the bank. Raises StatementRefused."""
    line = await _waiting(tx, line_id)
    _ensure_note(note)
    await store.dismiss(tx, EVERYONE, line.id, by, note)


def _ensure_note(note: str) -> None:
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise StatementRefused(f"The note must have 1 to {domain.MAX_NOTE} characters.")


async def _waiting(tx: Tx, line_id: UUID) -> BankLine:
    line = await _lock(tx, line_id)
    if line.status != "open":
        raise StatementRefused(f"The line is {line.status} already.")
    return line


async def _lock(tx: Tx, line_id: UUID) -> BankLine:
    if (line := await store.lock(tx, EVERYONE, line_id)) is None:
        raise NotFound
    return line
