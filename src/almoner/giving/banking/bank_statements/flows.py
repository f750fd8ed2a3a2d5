"""Importing statements: all lines kept at once, then looked at one by one, each in its own transaction.

So a line that what it names does not take waits with the reason, and keeps none of the others back (M7).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from time import perf_counter
from typing import Final
from uuid import UUID

from asyncpg import DeadlockDetectedError, SerializationError

from almoner.giving.banking.bank_statements import service
from almoner.giving.banking.bank_statements.csv_mapping import StatementMapping
from almoner.giving.banking.bank_statements.domain import (
    BankStatement,
    PreviewedLine,
    StatementError,
    StatementPreview,
)
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.observability.loggers import get_logger

MAX_ATTEMPTS: Final = 5
_REFUSED: Final = 2
"""How often a line is refused before it waits: what it names may have moved on since it was read."""
_log: Final = get_logger("almoner.giving")

OnFinished = Callable[[Tx, Sequence[BankStatement], "ImportProgress"], Awaitable[None]]
"""Says who imported, in the transaction that finishes it."""


@dataclass(slots=True)
class ImportProgress:
    """The progress of an import: the open lines, and how many of them were matched.

    ``kept``: new statements. ``problems``: what of the file could not be imported, and why.
    """

    lines: int = 0
    matched: int = 0
    kept: int = 0
    per_second: float = 0.0
    problems: Sequence[str] = ()


async def import_statements(
    db: Database,
    content: bytes,
    mapping: StatementMapping | None,
    *,
    own: Mapping[str, OwnAccount] | None = None,
    by: str,
    record: OnFinished,
    report: Callable[[ImportProgress], None] | None = None,
) -> ImportProgress:
    """Store the statements in a file and reconcile every open line that can be.

    Importing a file twice is importing it once; what was interrupted is finished by it. ``own``: our accounts by
    currency; only the sandbox takes statements of any account where none are set. Raises StatementError.
    """
    statements, wrong = await _parse(db, content, mapping, own)
    looked = ImportProgress()
    for statement in sorted(statements, key=_oldest_first):
        try:
            async with db.write() as tx:
                looked.kept += await service.store_statement(tx, statement, by=by)
        except StatementError as refused:
            if len(statements) == 1:
                raise
            wrong += str(refused).splitlines()
    looked.problems = wrong
    started, after = perf_counter(), None
    while found := await _open_lines_page(db, after):
        for line_id in found:
            looked.matched += await _match_line(db, line_id)
            looked.lines += 1
        looked.per_second = looked.lines / max(perf_counter() - started, 1e-6)
        if report:
            report(looked)
        after = found[-1]
    async with db.write() as tx:
        await record(tx, statements, looked)
    return looked


async def _parse(
    db: Database, content: bytes, mapping: StatementMapping | None, own: Mapping[str, OwnAccount] | None
) -> tuple[list[BankStatement], list[str]]:
    if own is None and not db.deployment.sandbox:
        raise StatementError(
            "Say whose statements are believed: set ALMONER_BANK_ACCOUNTS to a TOML file of our accounts, as in "
            "docs/runbooks/bank.md."
        )
    async with db.read() as tx:
        today = max(tx.now, tx.real_now).date()
    return await asyncio.to_thread(service.parse_file, content, mapping, own, today)  # a server answers others, too


async def preview_statements(
    db: Database,
    content: bytes,
    mapping: StatementMapping | None,
    *,
    own: Mapping[str, OwnAccount] | None = None,
    max_count: int,
) -> tuple[list[StatementPreview], list[str]]:
    """What importing a file would change, and its problems; everything is undone.

    Of each statement the first ``max_count`` new lines are looked at as the import would, in a transaction that is
    undone, so that what is shown is what the rules do. Raises StatementError.
    """
    statements, wrong = await _parse(db, content, mapping, own)
    previews: list[StatementPreview] = []
    with suppress(_RolledBack):
        async with db.write() as tx:
            left = max_count
            for statement in sorted(statements, key=_oldest_first):
                preview = await _preview(tx, statement, left)
                left -= len(preview.lines)
                previews.append(preview)
            raise _RolledBack
    return previews, wrong


class _RolledBack(Exception):
    """Rolls back what was only tried."""


async def _preview(tx: Tx, statement: BankStatement, max_count: int) -> StatementPreview:
    before = set(await service.statement_line_ids(tx, statement))
    try:
        await service.store_statement(tx, statement, by="preview")
    except StatementError as refused:
        return StatementPreview(statement, refused=str(refused))
    new = [one for one in await service.statement_line_ids(tx, statement) if one not in before]
    lines = [await _preview_line(tx, line_id) for line_id in new[:max_count]]
    return StatementPreview(statement, len(new), len(statement.movements) - len(new), lines)


async def _preview_line(tx: Tx, line_id: UUID) -> PreviewedLine:
    refusal = None
    try:
        async with tx.savepoint():
            await service.match_open_line(tx, line_id)
    except service.REFUSALS as error:
        refusal = service.refusal_text(error)
    found = await service.get_details(tx, line_id)
    line, reason = found.line, found.line.reason
    why = refusal or (reason.sentence if reason else found.note if line.status == "dismissed" else None)
    return PreviewedLine(line.movement, line.matched_as, found.target, why)


def _oldest_first(one: BankStatement) -> tuple[str, date]:
    return one.account, one.days[0] if one.days else date.min


async def _open_lines_page(db: Database, after: UUID | None) -> list[UUID]:
    async with db.read() as tx:
        return await service.open_line_ids(tx, after)


async def _match_line(db: Database, line_id: UUID) -> bool:
    """Whether a line was matched; made anew when the database ended it to let another one pass."""
    why, refused = f"other work was let pass {MAX_ATTEMPTS} times: import the statement again", 0
    for _ in range(MAX_ATTEMPTS):
        try:
            async with db.write() as tx:
                return await service.match_open_line(tx, line_id)
        except (DeadlockDetectedError, SerializationError):
            continue
        except service.REFUSALS as error:
            why, refused = service.refusal_text(error), refused + 1
            if refused == _REFUSED:
                break
    async with db.write() as tx:
        if await service.record_refusal(tx, line_id, why):
            _log.error("bank_statement_line_refused", line=tx.ids.text("bankline", line_id), why=why)
    return False
