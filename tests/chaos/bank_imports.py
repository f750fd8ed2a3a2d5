"""A process that imports a statement of our bank and kills itself, as kill -9 does, around each of its commits.

``python -m tests.chaos.bank_imports TASK FIRST LAST``. The task names one statement for each point to die at; before a
child dies at its own, it finishes what the one before left, as the officer does who types the command again. What each
printed is ``<point> killed`` or, once there is no such point any more, ``<point> lived``.
"""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from almoner.giving.banking.bank_statements import camt
from almoner.giving.banking.bank_statements import flows as bank_statements_flows
from almoner.giving.banking.bank_statements.domain import BankStatement
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.platform.database.transactions import Database, Tx
from tests.chaos.money import connect
from tests.chaos.victim import fork_each


async def record(_tx: Tx, _statements: Sequence[BankStatement], _looked: StatementImportProgress) -> None:
    """Nobody reads the audit log here."""


async def hear(db: Database, statement: bytes) -> StatementImportProgress:
    """An officer imports a statement."""
    return await bank_statements_flows.import_statements(db, statement, None, imported_by="officer", on_finished=record)


async def live(task: dict[str, Any], statements: Sequence[bytes], point: int) -> None:
    """The statement of a point, after that of the point before."""
    db = await connect(task)
    if point > 1:
        await hear(db, statements[point - 2])
        db.passed = 0
    db.fatal = point
    await hear(db, statements[point - 1])
    await db.close()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    files = [Path(one).read_bytes() for one in given["statements"]]
    camt.parse_statements(files[0])  # its library is large: loaded once, before the children are forked
    fork_each(range(int(sys.argv[2]), int(sys.argv[3]) + 1), partial(live, given, files))
