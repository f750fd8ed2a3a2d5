"""The brakes decide from indexes, however many cards are tried, and the database keeps their rules itself."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from almoner.giving.checkout.card_testing import store as card_testing_store
from tests.support import giving as support
from tests.support.client import Client
from tests.support.clock import START
from tests.support.database import TestDatabase
from tests.support.giving import Giving
from tests.support.service import Service

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NOW = START + DAY


@pytest.fixture
async def filled(empty_database: TestDatabase) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """20,000 payments of a day from 500 addresses, half of them declined, and 3000 codes."""
    connection = await asyncpg.connect(empty_database.owner_dsn)
    # The rows that these belong to are not needed.
    await connection.execute("alter table card_attempt drop constraint card_attempt_payment_id_fkey")
    await connection.execute("alter table donation_email_code drop constraint donation_email_code_session_id_fkey")
    await connection.execute(
        """
        insert into card_attempt (payment_id, partner_id, address_hash, device_hash, max_attempts, declined, paid,
                                  started_at,
            ended_at)
        select gen_random_uuid(), gen_random_uuid(), decode(lpad(to_hex(n % 500), 32, '0'), 'hex'),
               decode(lpad(to_hex(n), 32, '0'), 'hex'), 3, n % 2, n % 2 = 0, $1::timestamptz + n * interval '4 seconds',
               case when n % 2 = 0 then $1::timestamptz + n * interval '4 seconds' end
        from generate_series(1, 20000) as n
        """,
        START,
    )
    await connection.execute(
        """
        insert into card_decline (payment_id, number, partner_id, address_hash, device_hash, declined_at)
        select payment_id, 1, partner_id, address_hash, device_hash, started_at from card_attempt where declined = 1
        """
    )
    await connection.execute(
        """
        insert into donation_email_code (
            id, session_id, address_hash, email_hash, encrypted_recipient, sent_at, expires_at
        )
        select gen_random_uuid(), gen_random_uuid(), decode(lpad(to_hex(n % 500), 32, '0'), 'hex'),
               decode(lpad(to_hex(n), 32, '0'), 'hex'), 'x', $1::timestamptz + n * interval '4 seconds',
               $1::timestamptz + n * interval '4 seconds' + interval '10 minutes'
        from generate_series(1, 3000) as n
        """,
        START,
    )
    await connection.execute(
        "analyze card_attempt, card_decline, donation_email_code, card_source_block, card_testing_alert"
    )
    yield connection
    await connection.close()


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """All nodes of a plan."""
    return [plan, *(below for part in plan.get("Plans", []) for below in nodes(part))]


async def test_h6_a_decision_reads_a_handful_of_rows_from_indexes(
    filled: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    address, device, email = (bytes(15) + bytes([number]) for number in (7, 7, 9))
    most = (20, 10)
    arguments = (address, device, uuid4(), uuid4(), NOW, NOW - HOUR, NOW - DAY, *most, email)
    answer = await filled.fetchval(
        "explain (analyze, buffers, format json) " + card_testing_store.VELOCITY_STATE, *arguments
    )
    plan = json.loads(answer)[0]["Plan"]
    whole = {node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan"}
    assert whole <= {"card_source_block", "card_testing_alert"}, "tables of a few rows alone are read whole"
    used = {node["Index Name"] for node in nodes(plan) if "Index Name" in node}
    assert {"card_attempt_address", "card_attempt_device", "card_decline_address", "card_decline_device"} <= used
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 200


@pytest.fixture
async def giving(service: Service, api: Client) -> Giving:
    """A donation that waits for its money."""
    made = await support.open_session(service, api)
    await made.begin()
    return made


REFUSED = [
    ("update payment set max_attempts = 6", "payment_max_attempts_check"),
    ("update payment set max_attempts = 0", "payment_max_attempts_check"),
]


@pytest.mark.parametrize(("sql", "constraint"), REFUSED)
async def test_h6_no_payment_takes_more_cards_than_five(giving: Giving, sql: str, constraint: str) -> None:
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        async with giving.service.db.write() as tx:
            await tx.execute(
                f"{sql} where donation_id in (select id from donation where session_id = $1)", giving.session_id
            )
    assert refused.value.constraint_name == constraint


@pytest.mark.parametrize("broken", ["minutes", "wrong", "late", "unpassed"])
async def test_h11_the_database_keeps_the_rules_of_codes(giving: Giving, broken: str) -> None:
    now = giving.service.clock.real_now()
    lives = timedelta(minutes=11 if broken == "minutes" else 10)
    passed = now + lives + timedelta(seconds=1) if broken == "late" else None
    with pytest.raises(asyncpg.CheckViolationError):
        async with giving.service.db.write() as tx:
            await tx.execute(
                """
                insert into donation_email_code (id, session_id, address_hash, email_hash, encrypted_recipient, sent_at,
                                       expires_at,
                                       failed_attempts, verified_at, used_at)
                values ($1, $2, $3, $3, 'x', $4, $5, $6, $7, $8)
                """,
                uuid4(),
                giving.session_id,
                bytes(16),
                now,
                now + lives,
                6 if broken == "wrong" else 0,
                passed,
                now if broken == "unpassed" else None,
            )
