"""Importing statements: all lines kept at once, then looked at one by one, each in its own transaction."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from uuid import UUID

from almoner.giving.bank_lines import service
from almoner.giving.bank_lines.domain import Statement
from almoner.platform.db import Database, Tx

Record = Callable[[Tx, Sequence[Statement], "Looked"], Awaitable[None]]
"""Says who imported, in the transaction that finishes it."""


@dataclass(slots=True)
class Looked:
    """How far it is: lines that were open, and how many of them were matched. ``kept``: new statements."""

    lines: int = 0
    matched: int = 0
    kept: int = 0
    per_second: float = 0.0


async def import_file(
    db: Database,
    content: bytes,
    mapping: Path | None,
    *,
    by: str,
    record: Record,
    report: Callable[[Looked], None] | None = None,
) -> Looked:
    """Keep the statements of a file, and match every open line of all of them that can be.

    Importing a file twice is importing it once; what was interrupted is finished by it. Raises StatementRefused.
    """
    statements = service.read(content, mapping)
    looked = Looked()
    async with db.write() as tx:
        for statement in statements:
            looked.kept += await service.keep(tx, statement, by=by)
    began, after = perf_counter(), None
    while found := await _page(db, after):
        for line_id in found:
            looked.matched += await _look(db, line_id)
            looked.lines += 1
        looked.per_second = looked.lines / max(perf_counter() - began, 1e-6)
        if report:
            report(looked)
        after = found[-1]
    async with db.write() as tx:
        await record(tx, statements, looked)
    return looked


async def _page(db: Database, after: UUID | None) -> list[UUID]:
    async with db.read() as tx:
        return await service.open_lines(tx, after)


async def _look(db: Database, line_id: UUID) -> bool:
    async with db.write() as tx:
        return await service.look(tx, line_id)
