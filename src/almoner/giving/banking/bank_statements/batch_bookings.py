"""Splits a bank's collective booking of many disbursements into one line each.

Banks book a batch of a file in one line if that is agreed, whatever the file requests. Only a line that names the file
or its disbursements, and whose amount is exactly their sum, is split.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from almoner.giving.banking.bank_statements import domain, store
from almoner.giving.banking.bank_statements.domain import (
    BankLine,
    BankMovement,
    BankStatement,
    NewStatementLine,
    ReferencedRecords,
    UnreconciledLineReason,
)
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import ReleasedFileTransfer
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money
from almoner.platform.database.transactions import Tx

_RULE: Final = "rule"


async def split_batch_booking(
    tx: Tx, line: BankLine, referenced_records: ReferencedRecords, match_result_of_whole_line: object
) -> bool:
    """Split a locked collective line into one line for each disbursement; False if it is not one.

    ``match_result_of_whole_line``: what the line matches by itself.
    """
    if match_result_of_whole_line not in (UnreconciledLineReason.UNKNOWN, UnreconciledLineReason.AMBIGUOUS):
        return False
    moved = line.movement
    end_to_end_ids = domain.find_end_to_end_ids(moved)
    ordered = await payment_files.list_transfers_in_released_files(tx, end_to_end_ids) if end_to_end_ids else []
    payments = _referenced_transfers(referenced_records) or find_batch_transfers_by_total(
        moved.reference_search_text, moved.money, ordered
    )
    if not payments or sum(one.money.minor for one in payments) != moved.money.minor:
        return False
    parts = [_single_movement(moved, one, rank) for rank, one in enumerate(payments, 1)]
    name = f"batch {encode_uuid(line.id)}"
    digest = tx.vault.compute_keyed_hash("bank_statement", name.encode())
    statement = BankStatement(line.account, name, moved.currency, None, None, digest, tuple(parts))
    lines = [NewStatementLine(rank, one, line.occurrence_number) for rank, one in enumerate(parts, 1)]
    await store.insert_statement_lines(tx, statement, lines, (1, 1), _RULE)
    note = f"the bank has booked {len(parts):,} disbursements at once: each is a line of its own ({name})"
    await store.mark_dismissed(tx, line.id, _RULE, note)
    return True


def _referenced_transfers(named: ReferencedRecords) -> list[ReleasedFileTransfer]:
    """The disbursements of released files that a line names one by one, without their amounts."""
    ours = [one for one in named.disbursements if one.id in named.released_disbursement_ids]
    only = len(ours) == len(named.disbursements) and not (
        named.donation_requests or named.payments or named.provider_payouts
    )
    return (
        [ReleasedFileTransfer("", one.end_to_end_id, one.money, False) for one in ours]
        if only and len(ours) > 1
        else []
    )


def find_batch_transfers_by_total(
    line_text: str, money: Money, file_transfers: Sequence[ReleasedFileTransfer]
) -> Sequence[ReleasedFileTransfer]:
    """The transfers of the file or batch whose sum equals this amount.

    ``line_text``: the text of the line. ``file_transfers``: the transfers of the files that it names. Empty if several
    combinations fit.
    """
    fits = {
        frozenset(one.end_to_end_id for one in some): some
        for some in _candidate_batches(line_text.lower(), file_transfers)
        if some
    }
    fits = {ids: some for ids, some in fits.items() if _total_of(some) == money}
    return next(iter(fits.values())) if len(fits) == 1 else []


def _candidate_batches(text: str, ordered: Sequence[ReleasedFileTransfer]) -> Iterator[list[ReleasedFileTransfer]]:
    batches = list(dict.fromkeys(one.batch_id for one in ordered))
    reported = [batch for batch in batches if batch in text]
    files = [] if reported else list(dict.fromkeys(batch.partition("-")[0] for batch in batches))
    for name in [*(reported or batches), *files]:
        some = [one for one in ordered if name in (one.batch_id, one.batch_id.partition("-")[0])]
        yield some
        yield [one for one in some if not one.was_returned]


def _total_of(some: Sequence[ReleasedFileTransfer]) -> Money:
    return Money(sum(one.money.minor for one in some), some[0].money.currency)


def _single_movement(moved: BankMovement, one: ReleasedFileTransfer, rank: int) -> BankMovement:
    sign = 1 if moved.amount_minor > 0 else -1
    reference = f"{moved.reference[: domain.MAX_REFERENCE - 8]}/{rank}"
    return replace(
        moved,
        amount_minor=sign * one.money.minor,
        reference=reference,
        end_to_end_id=one.end_to_end_id,
        remittance_information=None,
    )
