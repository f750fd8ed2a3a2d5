"""What is asked of transfers at every line and every sweep is answered from indexes; and what the database refuses."""

from datetime import UTC, datetime
from typing import cast

import pytest
from asyncpg import CheckViolationError

from almoner.giving.donations import store as donations
from almoner.giving.suspense import store as suspense
from almoner.platform.db import EVERYONE, Tx
from tests.support.plans import Explaining
from tests.support.service import Service

NEVER = datetime(2000, 1, 1, tzinfo=UTC)


async def test_sweeps_and_lines_read_indexes(service: Service) -> None:
    async with service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        explaining = Explaining(tx)
        await donations.next_abandoned(cast("Tx", explaining), EVERYONE)
        await suspense.lock_with_reference(cast("Tx", explaining), EVERYONE, "RF737ZQ3K9MABC")
        used = {node.get("Index Name") for node in explaining.nodes()}
        assert {"donation_unpaid", "donation_awaited", "held_payment_of_transfer"} <= used
        for awaited, index in ((False, "donation_unpaid"), (True, "donation_awaited")):
            explaining.plans.clear()
            await donations.cancel_abandoned(cast("Tx", explaining), EVERYONE, NEVER, 1, awaited=awaited)
            assert index in {node.get("Index Name") for node in explaining.nodes()}


async def told(service: Service, statement: str) -> None:
    """A line, and what somebody says of it; all of it or nothing."""
    async with service.db.write() as tx:
        statement_id, line_id = tx.new_id(), tx.new_id()
        await tx.execute(
            "insert into bank_statement (id, account, reference, currency, sha256, lines, imported_by, imported_at) "
            "values ($1, 'a', $2, 'USD', repeat('0', 64), 1, 'x', $3)",
            statement_id,
            str(line_id),
            tx.now,
        )
        await tx.execute(
            "insert into bank_line (id, statement_id, position, account, booked_on, amount_minor, currency, "
            "bank_reference, status, reason, created_at, status_changed_at) "
            "values ($1, $2, 1, 'a', '2026-03-02', 1, 'USD', 'r', 'open', 'unknown', $3, $3)",
            line_id,
            statement_id,
            tx.now,
        )
        await tx.execute(statement, line_id)


@pytest.mark.parametrize("matched_as", ["gift", "gift_refund", "other"])
async def test_a_line_of_a_gift_names_its_settlement(service: Service, matched_as: str) -> None:
    matched = f"matched_as = '{matched_as}', status = 'matched', reason = null, decided_by = 'x'"
    with pytest.raises(CheckViolationError):
        await told(service, f"update bank_line set {matched} where id = $1")
