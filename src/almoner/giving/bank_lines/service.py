"""What can be done with lines of our bank's statements. Reading files is in ``camt`` and ``tables``."""

from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.bank_lines import domain, gifts, store, tables
from almoner.giving.bank_lines.domain import (
    BankLine,
    MatchedAs,
    Movement,
    Named,
    Open,
    Statement,
    StatementRefused,
    Thing,
    Unbanked,
)
from almoner.giving.donations import service as donations
from almoner.giving.payments import service as payments
from almoner.giving.payments.domain import BANK, Payment
from almoner.giving.payouts import service as payouts
from almoner.giving.payouts.domain import Disbursement
from almoner.giving.requests import service as requests
from almoner.giving.requests.domain import RequestRefused
from almoner.giving.transfers import service as transfers
from almoner.kit.errors import NotFound
from almoner.kit.ids import encode
from almoner.kit.money import Money
from almoner.platform.db import EVERYONE, Tx

RULE: Final = "rule"
SIMULATED: Final = "sandbox"
"""The account that simulated transfers come to."""
PAGE: Final = 500
_DAYS: Final = 30
_LEAST_REFERENCE: Final = 6
"""A provider's name of a payout that is shorter may stand in the words by chance."""


def read(content: bytes, mapping: Path | None) -> list[Statement]:
    """The statements of a file: camt.053, or CSV by a mapping. Raises StatementRefused with every problem."""
    if mapping is not None:
        found = tables.read(content, mapping)
    else:
        from almoner.giving.bank_lines import camt  # on first use: 30 MB

        found = camt.read(content)
    wrong = [f"{one.account}, {one.reference}: {problem}" for one in found for problem in domain.problems(one)]
    if wrong:
        raise StatementRefused("\n".join(wrong))
    return found


async def keep(tx: Tx, statement: Statement, *, by: str) -> bool:
    """Keep a statement with its lines; False when it was imported before. Raises StatementRefused."""
    known = await store.find_statement(tx, EVERYONE, statement.account, statement.reference)
    if known is not None and known != statement.sha256:
        raise StatementRefused(
            f"The statement {statement.reference} of {statement.account} was imported from another file: "
            "a statement does not change."
        )
    if known is None:
        await store.insert(tx, EVERYONE, statement, by)
    return known is None


async def open_lines(tx: Tx, after: UUID | None) -> list[UUID]:
    """Lines that wait, the oldest first, after one of them."""
    return await store.open_lines(tx, EVERYONE, after, PAGE)


async def newest(tx: Tx, limit: int, *, every: bool) -> list[BankLine]:
    """The oldest lines that wait for a person; or the newest of all."""
    return await store.newest(tx, EVERYONE, limit, every=every)


async def unbanked(tx: Tx, limit: int) -> list[Unbanked]:
    """Providers' payouts that no line of our bank tells of yet, the oldest first."""
    return await store.unbanked(tx, EVERYONE, limit)


async def count_open(tx: Tx) -> tuple[int, int]:
    """How many lines wait for a person, and how many providers' payouts for a line."""
    return await store.count_open(tx, EVERYONE)


async def hear_simulated(tx: Tx, money: Money, words: str, *, by: str) -> None:
    """What a statement does that holds this one transfer to us."""
    name = f"simulated-{encode(tx.new_id())}"
    moved = Movement(tx.now.date(), money.minor, money.currency, name, None, None, words, None)
    digest = tx.vault.keyed_hash("bank_statement", name.encode()).hex()
    await keep(tx, Statement(SIMULATED, name, money.currency, None, None, digest, (moved,)), by=by)
    for line_id in await store.lines_of(tx, EVERYONE, SIMULATED, name):
        await look(tx, line_id)


async def look(tx: Tx, line_id: UUID) -> bool:
    """Match a line that waits, if it is certain what it is; whether it was."""
    line = await _lock(tx, line_id)
    if line.status != "open":
        return False
    if line.movement.minor > 0 and (noted := await store.noted_by_hand(tx, EVERYONE, line)):
        await store.match(tx, EVERYONE, line.id, "request", noted, RULE)
        return True
    found = domain.match(line.movement, await _named(tx, line))
    if isinstance(found, Open):
        await store.wait(tx, EVERYONE, line.id, found)
        return False
    return await _do(tx, line, *found)


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
    )


async def _do(tx: Tx, line: BankLine, matched_as: MatchedAs, thing: Thing) -> bool:
    """What follows from a match, whether it holds; a worker lets the donations of a payout follow beyond a batch."""
    if matched_as == "request":
        await _receive(tx, line, thing.id, RULE)
        return True
    if isinstance(thing, Payment):
        return await _take_gift(tx, line, matched_as, thing)
    await store.match(tx, EVERYONE, line.id, matched_as, thing.id, RULE)
    if not isinstance(thing, Disbursement):
        return True
    if matched_as == "payout" and thing.status == "SENT":
        await payouts.confirm(tx, thing.id)
    elif matched_as == "payout_return" and thing.status != "RETURNED":
        reason = line.movement.return_reason or f"the bank returned it on {line.movement.booked_on}"
        await payouts.give_back(tx, thing.id, reason, noted_by=RULE)
    return True


async def _take_gift(tx: Tx, line: BankLine, matched_as: MatchedAs, payment: Payment) -> bool:
    """A donor's transfer, or what went back of one: the line is its own settlement."""
    taken = await (gifts.receive if matched_as == "gift" else gifts.give_back)(tx, line, payment)
    if isinstance(taken, Open):
        await store.wait(tx, EVERYONE, line.id, taken)
        return False
    await store.match(tx, EVERYONE, line.id, matched_as, taken, RULE)
    return True


async def _receive(tx: Tx, line: BankLine, request_id: UUID, by: str) -> None:
    made = await requests.receive(tx, EVERYONE, request_id, line.movement.money, line.movement.reference, noted_by=by)
    await store.match(tx, EVERYONE, line.id, "request", made.id, by)


async def assign(tx: Tx, line_id: UUID, request_id: UUID, *, by: str) -> None:
    """A person knows that a line is the transfer for a request. Raises NotFound, StatementRefused."""
    line = await _waiting(tx, line_id)
    if line.movement.minor < 0:
        raise StatementRefused("The line is money that left: it pays no request.")
    try:
        await _receive(tx, line, request_id, by)
    except RequestRefused as refused:
        raise StatementRefused(str(refused)) from refused


async def assign_gift(tx: Tx, line_id: UUID, donation_id: UUID, *, by: str) -> None:
    """A person knows that a line is the transfer of a donor who left out the reference; the rules are the same.

    Raises NotFound, StatementRefused.
    """
    line = await _waiting(tx, line_id)
    if line.movement.minor < 0:
        raise StatementRefused("The line is money that left: it pays no donation.")
    payment = await transfers.named(tx, await donations.get(tx, EVERYONE, donation_id))
    if payment is None:
        raise StatementRefused("The donation is not one that its donor wanted to pay by bank transfer.")
    await store.match(tx, EVERYONE, line.id, "gift", await gifts.receive(tx, line, payment), by)


async def dismiss(tx: Tx, line_id: UUID, *, note: str, by: str) -> None:
    """A person knows that a line is no movement of ours, such as a fee of the bank. Raises StatementRefused."""
    line = await _waiting(tx, line_id)
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise StatementRefused(f"The note must have 1 to {domain.MAX_NOTE} characters.")
    await store.dismiss(tx, EVERYONE, line.id, by, note)


async def _waiting(tx: Tx, line_id: UUID) -> BankLine:
    line = await _lock(tx, line_id)
    if line.status != "open":
        raise StatementRefused(f"The line is {line.status} already.")
    return line


async def _lock(tx: Tx, line_id: UUID) -> BankLine:
    if (line := await store.lock(tx, EVERYONE, line_id)) is None:
        raise NotFound
    return line
