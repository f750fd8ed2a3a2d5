"""How many database statements the preview of a bank statement needs for each of its lines."""

import asyncpg

from almoner.giving.banking.bank_statements import flows
from almoner.giving.banking.bank_statements import service as bank_statements
from tests.support import camt
from tests.support.service import Service

MOST_PER_LINE = 8
"""A savepoint and its release; the line and its lock; three lookups of what it may be; why it stays open."""


async def test_a_line_that_names_nothing_costs_few_statements(alone: Service) -> None:
    counted = []
    for lines in (10, 20):
        entries = [camt.entry(f"R{n}", 1000 + n, words=f"Invoice {n}", name=f"Payer {n}") for n in range(lines)]
        content = camt.statement(*entries, reference=f"PREVIEW{lines}")
        statements, _ = bank_statements.parse_statement_file(content, None, None, alone.clock.now().date())
        seen: list[str] = []
        connection = await asyncpg.connect(alone.database.dsn)
        try:
            connection.add_query_logger(lambda query, seen=seen: seen.append(query.query))
            transaction = connection.transaction()
            await transaction.start()
            tx = alone.db.build_transaction(connection, "write")  # type: ignore[arg-type]
            preview = await flows.preview_statement(tx, statements[0], slice(lines))
            await transaction.rollback()
        finally:
            await connection.close()
        assert [line.waiting_reason for line in preview.previewed_lines] == [
            "no reference of ours was found in the line"
        ] * lines
        counted.append(len(seen))
    assert counted[1] - counted[0] <= 10 * MOST_PER_LINE
