"""What is asked of transfers at every line and every sweep is answered from indexes; and what the database refuses."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import cast
from uuid import UUID

import pytest
from asyncpg import CheckViolationError, UniqueViolationError

from almoner.giving.accounting.suspense import store as suspense_store
from almoner.giving.banking.bank_statements import store as bank_statements_store
from almoner.giving.banking.bank_statements import store_gaps as bank_statements_store_gaps
from almoner.giving.banking.bank_statements.domain import BankLine, BankMovement, BankStatement, UnreconciledLineReason
from almoner.giving.checkout.donations import store as donations_store
from almoner.platform.database.transactions import Tx
from tests.support import factories
from tests.support.plans import Explaining
from tests.support.service import Service

NEVER = datetime(2000, 1, 1, tzinfo=UTC)


class Undone(Exception):
    """Nothing of a transaction stays."""


async def test_sweeps_and_lines_read_indexes(alone: Service) -> None:
    async with alone.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        explaining = Explaining(tx)
        await donations_store.find_oldest_unpaid_and_awaiting_transfer_times(cast("Tx", explaining))
        await suspense_store.lock_by_reference(cast("Tx", explaining), "RF737ZQ3K9MABC")
        used = {node.get("Index Name") for node in explaining.nodes()}
        assert {"donation_unpaid", "donation_awaiting_transfer", "unallocated_payment_of_transfer"} <= used
        for awaited, index in ((False, "donation_unpaid"), (True, "donation_awaiting_transfer")):
            explaining.plans.clear()
            await donations_store.cancel_abandoned_donations(
                cast("Tx", explaining), NEVER, 1, awaiting_transfer=awaited
            )
            assert index in {node.get("Index Name") for node in explaining.nodes()}


async def test_lines_are_looked_up_by_index(alone: Service) -> None:
    nothing = BankMovement(NEVER.date(), 1, "USD", "r", None, None, None, None)
    line = BankLine(UUID(int=1), "a", nothing, "open", UnreconciledLineReason.UNKNOWN, None, NEVER)
    async with alone.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        explaining = Explaining(tx)
        await suspense_store.list_applied_payment_ids_by_reference(cast("Tx", explaining), "RF737ZQ3K9MABC")
        await bank_statements_store.list_possible_duplicates(cast("Tx", explaining), line)
        await bank_statements_store.is_bank_reference_matched_by_other_line(cast("Tx", explaining), line, "request")
        statement = BankStatement("a", "1", "USD", None, None, bytes(32), (nothing,))
        await bank_statements_store.load_statement_number_and_file_count(cast("Tx", explaining), statement)
        await bank_statements_store.list_stored_movements_of_statement(cast("Tx", explaining), "a", "1", 1)
        await bank_statements_store.find_referenced_provider_payouts(cast("Tx", explaining), nothing, 30, 6)
        await bank_statements_store.list_missing_provider_payouts(cast("Tx", explaining), 50)
        await bank_statements_store.count_missing_provider_payouts_up_to(cast("Tx", explaining), 1001)
        used = {node.get("Index Name") for node in explaining.nodes()}
    lines = {
        "bank_statement_line_of_movement",
        "bank_statement_line_of_day",
        "bank_statement_once",
        "bank_statement_line_statement_id_position_key",
    }
    assert {*lines, "unallocated_payment_of_transfer", "settlement_of_providers"} <= used


async def told(service: Service, statement: str, name: str = "r") -> None:
    """A line, and what somebody says of it; all of it or nothing."""
    async with service.db.write() as tx:
        statement_id, line_id = tx.new_id(), tx.new_id()
        await tx.execute(
            "insert into bank_statement (id, account, reference, currency, sha256, lines, imported_by, imported_at, "
            "part) values ($1, 'a', $2, 'USD', sha256(''), 1, 'x', $3, 1)",
            statement_id,
            str(line_id),
            tx.now,
        )
        await tx.execute(
            "insert into bank_statement_line (id, statement_id, position, account, booked_on, amount_minor, currency, "
            "bank_reference, status, reason, created_at, status_changed_at) "
            "values ($1, $2, 1, 'a', '2026-03-02', 1, 'USD', $4, 'open', 'unknown', $3, $3)",
            line_id,
            statement_id,
            tx.now,
            name,
        )
        await tx.execute(statement, line_id)


@pytest.mark.parametrize("matched_as", ["donation", "donation_refund", "other"])
async def test_a_line_of_a_gift_names_its_settlement(service: Service, matched_as: str) -> None:
    matched = f"matched_as = '{matched_as}', status = 'matched', reason = null, decided_by = 'x'"
    with pytest.raises(CheckViolationError):
        await told(service, f"update bank_statement_line set {matched} where id = $1")


async def settlement(service: Service) -> str:
    """A provider's report."""
    async with service.db.write() as tx:
        made = tx.new_id()
        await tx.execute(
            "insert into settlement (id, provider, reference, currency, settled_on, sha256, lines, imported_at) "
            "values ($1, 'simple', $1::uuid::text, 'XTS', '2026-03-02', sha256(''), 1, $2)",
            made,
            tx.now,
        )
    return str(made)


async def test_m7_no_rule_books_a_movement_of_the_bank_twice(service: Service) -> None:
    name = factories.unique("movement")

    async def matched(by: str) -> None:
        settled = await settlement(service)
        matched = f"matched_as = 'settlement', settlement_id = '{settled}', status = 'matched', reason = null"
        await told(service, f"update bank_statement_line set {matched}, decided_by = '{by}' where id = $1", name)

    await matched("rule")
    with pytest.raises(UniqueViolationError, match="bank_statement_line_booked_once"):
        await matched("rule")
    await matched("operator_1")  # a person may know that they are two


async def test_a_part_of_a_statement_is_there_once(service: Service) -> None:
    name = factories.unique("statement")

    async def kept(part: int) -> None:
        async with service.db.write() as tx:
            await tx.execute(
                "insert into bank_statement (id, account, reference, currency, sha256, lines, imported_by, "
                "imported_at, part) values ($1, 'a', $2, 'XTS', sha256(''), 0, 'x', $3, $4)",
                *(tx.new_id(), name, tx.now, part),
            )

    await kept(1)
    await kept(2)
    with pytest.raises(UniqueViolationError, match="bank_statement_once"):
        await kept(2)


async def test_missing_statements_are_found_in_one_pass(service: Service) -> None:
    """Of three years of daily statements, also by the plan that PostgreSQL prepares for any values."""
    with suppress(Undone):
        async with service.db.write() as tx:
            await tx.execute(
                """
                insert into bank_statement (id, account, reference, currency, opening_minor, closing_minor, sha256,
                                            lines, imported_by, imported_at, part, begins_on, ends_on, form)
                select gen_random_uuid(), 'one pass', 'S' || n, 'USD', n % 7, (n + 1) % 7, sha256('file'), 0, 'rule',
                       now(), 1, '2023-01-01'::date + n, '2023-01-01'::date + n, 'camt.053'
                from generate_series(1, 1100) n where n <> 500
                """
            )
            await tx.execute("set local plan_cache_mode = force_generic_plan")
            await tx.execute("set local statement_timeout = '3s'")
            found = await bank_statements_store_gaps.list_statement_gaps(tx, 1000)
            assert [one.account for one in found].count("one pass") == 1
            raise Undone
