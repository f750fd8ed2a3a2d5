"""Imports statements: stores all lines at once, then reconciles each in its own transaction.

A line that is refused waits with the reason and does not stop the others (M7).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from time import perf_counter
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import DeadlockDetectedError, SerializationError

from almoner.giving.banking.bank_statements import service
from almoner.giving.banking.bank_statements.csv_mapping import CsvStatementMapping
from almoner.giving.banking.bank_statements.domain import (
    BankStatement,
    BankStatementError,
    LineDetails,
    ParsedStatements,
    PreviewedLine,
    StatementPreview,
)
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.observability.loggers import get_logger

MAX_ATTEMPTS: Final = 5
_REFUSED: Final = 2
"""How often a line is tried before it waits with the reason; its record may have changed since it was read."""
_log: Final = get_logger("almoner.giving")

OnFinished = Callable[[Tx, Sequence[BankStatement], "StatementImportProgress"], Awaitable[None]]
"""Records who imported, in the transaction that finishes the import."""


@dataclass(slots=True)
class StatementImportProgress:
    """The progress of an import. ``matched_line_count``: how many of the open lines were matched.

    ``problems``: the parts of the file that were not imported, and why.
    """

    checked_line_count: int = 0
    matched_line_count: int = 0
    new_statement_count: int = 0
    lines_per_second: float = 0.0
    problems: Sequence[str] = ()


async def import_statements(
    db: Database,
    content: bytes,
    mapping: CsvStatementMapping | None,
    *,
    own_accounts: Mapping[str, OwnAccount] | None = None,
    imported_by: str,
    on_finished: OnFinished,
    on_progress: Callable[[StatementImportProgress], None] | None = None,
) -> StatementImportProgress:
    """Store the statements in a file and reconcile every open line that can be.

    Importing a file twice has no further effect, and finishes an interrupted import. ``own_accounts``: our accounts by
    currency; without any, only the sandbox accepts statements, of any account. Raises BankStatementError.
    """
    statements, wrong = await _parse(db, content, mapping, own_accounts)
    looked = StatementImportProgress()
    for statement in sorted(statements, key=_oldest_first):
        try:
            async with db.write() as tx:
                looked.new_statement_count += await service.store_statement(tx, statement, imported_by=imported_by)
        except BankStatementError as refused:
            if len(statements) == 1:
                raise
            wrong += str(refused).splitlines()
    looked.problems = wrong
    started, after = perf_counter(), None
    while found := await _open_lines_page(db, after):
        for line_id in found:
            looked.matched_line_count += await _match_line(db, line_id)
            looked.checked_line_count += 1
        looked.lines_per_second = looked.checked_line_count / max(perf_counter() - started, 1e-6)
        if on_progress:
            on_progress(looked)
        after = found[-1]
    async with db.write() as tx:
        await on_finished(tx, statements, looked)
    return looked


async def _parse(
    db: Database, content: bytes, mapping: CsvStatementMapping | None, own: Mapping[str, OwnAccount] | None
) -> ParsedStatements:
    if own is None and not db.deployment.sandbox:
        raise BankStatementError(
            "Say whose statements are believed: set ALMONER_BANK_ACCOUNTS to a TOML file of our accounts, as in "
            "docs/runbooks/bank.md."
        )
    async with db.read() as tx:
        today = tx.deployment.date_in_issuer_time_zone(max(tx.now, tx.real_now))
    return await asyncio.to_thread(
        service.parse_statement_file, content, mapping, own, today
    )  # let the server handle others


class PreviewedStatements(NamedTuple):
    """What importing each statement of a file would change, and the problems of the file."""

    previews: list[StatementPreview]
    problems: list[str]


async def preview_statements(
    db: Database,
    content: bytes,
    mapping: CsvStatementMapping | None,
    *,
    own_accounts: Mapping[str, OwnAccount] | None = None,
    skipped_line_count: int = 0,
    max_lines: int,
) -> PreviewedStatements:
    """Preview what importing a file would change.

    After the first ``skipped_line_count`` new lines of the file, at most ``max_lines`` are matched in a transaction
    that is rolled back, so the preview follows the same rules. Raises BankStatementError.
    """
    statements, wrong = await _parse(db, content, mapping, own_accounts)
    previews: list[StatementPreview] = []
    with suppress(_RolledBack):
        async with db.write() as tx:
            first, end = skipped_line_count, skipped_line_count + max_lines
            for statement in sorted(statements, key=_oldest_first):
                preview = await preview_statement(tx, statement, slice(max(first, 0), max(end, 0)))
                first, end = first - preview.new_line_count, end - preview.new_line_count
                previews.append(preview)
            raise _RolledBack
    return PreviewedStatements(previews, wrong)


class _RolledBack(Exception):
    """Rolls back the preview."""


async def preview_statement(tx: Tx, statement: BankStatement, previewed_line_range: slice) -> StatementPreview:
    """What importing a statement would change, in a transaction that the caller rolls back.

    ``previewed_line_range``: which of its new lines are matched.
    """
    before = set(await service.list_line_ids_of_statement(tx, statement))
    try:
        await service.store_statement(tx, statement, imported_by="preview")
    except BankStatementError as refused:
        return StatementPreview(statement, refusal_reason=str(refused))
    new = [one for one in await service.list_line_ids_of_statement(tx, statement) if one not in before]
    refusals = {line_id: await _match_previewed_line(tx, line_id) for line_id in new[previewed_line_range]}
    details = await service.load_line_details_by_id(tx, list(refusals))
    lines = [await _previewed_line(tx, details[line_id], refusal) for line_id, refusal in refusals.items()]
    return StatementPreview(statement, len(new), len(statement.movements) - len(new), lines)


async def _match_previewed_line(tx: Tx, line_id: UUID) -> str | None:
    """Match a line; why it was refused, if so."""
    try:
        async with tx.savepoint():
            await service.match_unreconciled_line(tx, line_id)
    except service.REFUSALS as error:
        return service.describe_booking_error(error)
    return None


async def _previewed_line(tx: Tx, found: LineDetails, refusal: str | None) -> PreviewedLine:
    line, reason = found.line, found.line.unreconciled_reason
    why = refusal or (reason.description if reason else found.note if line.status == "dismissed" else None)
    unallocated = await service.find_unallocated_reason(tx, line.id) if line.matched_as == "donation" else None
    return PreviewedLine(line.movement, line.matched_as, found.matched_record_id, why, unallocated)


def _oldest_first(one: BankStatement) -> tuple[str, date]:
    return one.account, one.date_range[0] if one.date_range else date.min


async def _open_lines_page(db: Database, after: UUID | None) -> list[UUID]:
    async with db.read() as tx:
        return await service.list_unreconciled_line_ids(tx, after)


async def _match_line(db: Database, line_id: UUID) -> bool:
    """Whether a line was matched; retried after deadlocks and serialization failures."""
    why, refused = f"other work was let pass {MAX_ATTEMPTS} times: import the statement again", 0
    for _ in range(MAX_ATTEMPTS):
        try:
            async with db.write() as tx:
                return await service.match_unreconciled_line(tx, line_id)
        except (DeadlockDetectedError, SerializationError):
            continue
        except service.REFUSALS as error:
            why, refused = service.describe_booking_error(error), refused + 1
            if refused == _REFUSED:
                break
    async with db.write() as tx:
        if await service.record_booking_error(tx, line_id, why):
            _log.error("bank_statement_line_refused", line=tx.ids.encode("bankline", line_id), why=why)
    return False
