"""What columns.toml says is erased is erased from whatever row there is, and one row that fails stops no other (V6)."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from structlog.testing import capture_logs

from almoner import migrations
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import CHECKS
from almoner.giving.gift_aid.reminders import service as gift_aid_reminders
from almoner.platform.database.transactions import Tx
from almoner.validation.agents import service as agents
from tests.support.database import TestDatabase
from tests.support.refusals import refusing
from tests.support.service import Service, serving

_PARTNER = str(UUID(int=1))
_LONG = timedelta(days=2600)  # what is kept longest is evidence of who was accepted
_numbers = count(2)

Row = dict[str, Any]


def _id() -> str:
    return str(UUID(int=next(_numbers)))


def _at(now: str, status: str, **more: Any) -> Row:
    return {"id": _id(), "partner_id": _PARTNER, "status": status, "created_at": now, "status_changed_at": now, **more}


def _donations(now: str) -> Iterator[Row]:
    """Cancelled: of each kind with all that it may bear; and with one thing alone that says who the donor was."""
    said: Row = {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.org"}
    every: Row = {
        **said, "organisation_id": _id(), "user_id": _id(), "amount_minor": 500, "currency": "GBP", "consented": True,
        "anonymous": False, "metadata": {"a": "b"}, "cancelled_at": now, "cover_minor": 20, "withdrawn_minor": 0,
        "refunded_minor": 0,
    }  # fmt: skip
    hosted: Row = every | {
        "type": "hosted", "message": "With love", "dedication": "Rose", "designation": "Soup", "giving_link_id": _id(),
        "transfer_confirmed_at": now, "subscription_id": _id(), "subscription_due_on": now[:10], "gift_aid_id": _id(),
    }  # fmt: skip
    direct: Row = every | {"type": "direct", "reassigned_at": now, "reassigned_from": _id()}
    yield _at(now, "CANCELLED", **hosted, session_id=_id())
    yield _at(now, "CANCELLED", **hosted | {"gift_aid_id": _id(), "subscription_due_on": None}, session_id=_id())
    yield _at(now, "CANCELLED", **direct)
    for name in ("first_name", "last_name", "email"):
        yield _at(now, "CANCELLED", **{**direct, **dict.fromkeys(said), name: said[name]})


def _subscriptions(now: str) -> Iterator[Row]:
    yield _at(
        now, "cancelled", updated_at=now, organisation_id=_id(), user_id=_id(), session_id=_id(), amount_minor=500,
        currency="GBP", cover_minor=20, frequency="monthly", first_name="Ada", last_name="Byron",
        email="ada@example.org", consented=True, anonymous=False, message="With love", language="en", metadata={},
        cancelled_at=now, cancellation_reason="not_started", chargeable=False, donations_count=0, total_minor=0,
    )  # fmt: skip


def _agents(now: str) -> Iterator[Row]:
    every: Row = {
        "organisation_id": _id(), "validation_request_id": _id(), "organisation_website": "https://a.example",
        "first_name": "Ada", "last_name": "Byron", "email": "ada@example.org", "title": "Chair", "language": "en",
        "metadata": {}, "email_check": True, "processed_at": now, "preferred_language": "de", "requester_name": "Us",
    }  # fmt: skip
    yield _at(now, "approved", **every, confirmed_at=now)
    for code in ("user_verification_expired", "reapply", "other"):
        confirmed = None if code == "user_verification_expired" else now
        yield _at(now, "rejected", **every, rejection_code=code, confirmed_at=confirmed)


def _questions(now: str) -> Iterator[Row]:
    for answer in ("confirmed", "denied", None):
        yield {
            "id": _id(), "verification_id": _id(), "email": "office@example.org", "asked_at": now, "expires_at": now,
            "answer": answer, "answered_at": answer and now,
        }  # fmt: skip


def _appeals(now: str) -> Iterator[Row]:
    for status in ("upheld", "reversed"):
        yield _at(
            now, status, validation_submission_id=_id(), text="I am she", appellant="applicant", first_decided_by=["q"],
            overridden_checks=["compliance"] if status == "reversed" else [], due_at="3000-01-01T00:00Z",
            decided_at=now, decided_by="r", completed_at=now if status == "reversed" else None,
        )  # fmt: skip


def _submissions(now: str) -> Iterator[Row]:
    every: Row = {
        "configuration_id": _id(), "checks": ["validation_request"], "organisation_id": _id(),
        "validation_request_id": _id(), "organisation_name": "A", "country_code": "USA", "search_name": "a",
        "language": "en", "first_name": "Ada", "last_name": "Byron", "email": "ada@example.org", "metadata": {},
        "partner_fields": {"a": "b"}, "processed_at": now, "overridden_checks": [],
    }  # fmt: skip
    for status in ("succeeded", "failed", "processed"):
        reasons = {"validation_request": ["other"]} if status == "failed" else None
        yield _at(now, status, **every, validation_invite_id=_id(), failure_reasons=reasons)


def _confirmations(now: str) -> Iterator[Row]:
    for answer in ("confirmed", "declined", None):
        yield {
            "id": _id(), "verification_id": _id(), "email": "office@example.org", "source": "register",
            "language": "en", "asked_by": "q", "asked_at": now, "expires_at": now, "withdrawn": answer is None,
            "answer": answer, "answered_at": answer and now, "page_hash": answer and "\\x" + 32 * "00",
        }  # fmt: skip


ROWS = {
    "donation": _donations,
    "donation_subscription": _subscriptions,
    "agent_verification": _agents,
    "agent_representation_request": _questions,
    "appeal": _appeals,
    "validation_submission": _submissions,
    "monetary_donation_confirmation": _confirmations,
}
OTHERWISE = {
    "donation_subscription": {"card_brand", "card_last4", "card_expires_at"},
    "monetary_donation_confirmation": {"asked_by", "name", "role"},
}
"""Personal columns that plans which never began do not have; who asked stays, and who answered goes by a job."""


def _stated() -> tuple[str, dict[str, Any]]:
    text = Path(migrations.__file__).with_name("columns.toml").read_text()
    return text, tomllib.loads(text)


def _personal(table: str) -> set[str]:
    ours: set[str] = {*_stated()[1][table]["personal"]} - OTHERWISE.get(table, set())
    return {name for name in ours if not name.startswith("provider_")}


async def _insert(database: TestDatabase, table: str, row: Mapping[str, Any]) -> None:
    """A row as it may stand there after years, without what it refers to."""
    connection = await asyncpg.connect(database.server.superuser_url(database.name))
    try:
        await connection.execute("set session_replication_role = replica")  # no key holds it back
        given = json.dumps(row)
        await connection.execute(f"insert into {table} select * from jsonb_populate_record(null::{table}, $1)", given)
    finally:
        await connection.close()


async def _declare(database: TestDatabase, now: str, declaration: UUID, *, claimed: bool) -> None:
    """A declaration that was made on the page for several donations, of which another may have been claimed."""
    address = dict.fromkeys(("title", "last_name", "building_name_number", "road_name", "city", "country"), "q")
    row = {"id": str(declaration), "partner_id": _PARTNER, **address, "postcode": "q", "organisation_id": _id()}
    await _insert(database, "gift_aid_declaration", row | {"covers_from": now, "created_at": now})
    if claimed:
        line = {
            "claim_id": _id(),
            "organisation_id": _id(),
            "donation_id": _id(),
            "declaration_id": str(declaration),
            "line": 1,
        }
        await _insert(
            database, "gift_aid_claim_donation", line | {"amount_minor": 1, "adjusted_minor": 0, "active": True}
        )


async def _rows(service: Service, sql: str, *args: object) -> list[asyncpg.Record]:
    async with service.db.read() as tx:
        return await tx.fetch(sql, *args)


def test_v6_all_tables_that_are_said_to_be_erased_are_erased_here() -> None:
    said = re.findall(r"^\[(\w+)\]\n(?:#.*\n)*?#.*\bnull\b", _stated()[0], re.MULTILINE)
    assert set(said) == set(ROWS)


async def test_v6_rows_with_all_that_they_may_bear_are_erased_in_each_final_state(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        now = service.clock.now().isoformat()
        for table, rows in ROWS.items():
            made = list(rows(now))
            assert all(any(row.get(name) is not None for row in made) for name in _personal(table)), table
            for row in made:
                await _insert(empty_database, table, row)
        bearing = await _rows(service, "select gift_aid_id from donation where gift_aid_id is not null order by id")
        for declared, claimed in zip(bearing, (True, False), strict=True):
            await _declare(empty_database, now, declared["gift_aid_id"], claimed=claimed)
        service.clock.advance(_LONG)
        await service.services.background_worker.sweeper.run_due_jobs()
        assert not [line for line in service.lines if b"schedule_failed" in line or b"schedule_row_failed" in line]
        left = {}
        for table in ROWS:
            columns = ", ".join(sorted(_personal(table)))
            left[table] = len(await _rows(service, f"select from {table} where num_nonnulls({columns}) > 0"))
        assert left == dict.fromkeys(ROWS, 0)
        kept = await _rows(service, "select id from gift_aid_declaration")
        assert [row["id"] for row in kept] == [bearing[0]["gift_aid_id"]], "evidence of a claim"


def _due_agent(now: str, number: int) -> Row:
    return _at(
        now, "pending_user_verification", organisation_id=_id(), first_name="Ada", last_name="Byron",
        email="ada@example.org", language="en", metadata={}, email_check=True, expires_at=f"2026-01-0{number}T00:00Z",
    )  # fmt: skip


def _due_verification(now: str, number: int) -> Row:
    return _at(
        now, "pending", organisation_id=_id(), metadata={}, updated_at=now, requested=True,
        expires_at=f"2026-01-0{number}T00:00Z",
    )  # fmt: skip


def _due_request(now: str, number: int) -> Row:
    return _at(
        now, "PARTLY_PAID", currency="USD", amount_minor=500, donations=1, paid_minor=50, allocated_minor=0,
        reference=f"ALM-AAAAA-0000{number}", cutoff_at=now, collecting=False, allocating=True, due_at=now,
    )  # fmt: skip


def _due_disbursement(now: str, number: int) -> Row:
    return _at(
        now, "PAID", organisation_id=_id(), currency="USD", amount_minor=500, donations=1, end_to_end_id=f"q{number}",
        ready_at=now, sent_at=now, paid_at=now, propagating=True,
    )  # fmt: skip


def _due_unallocated(now: str, number: int) -> Row:
    row = _at(
        now, "held", provider="fake", provider_payment=f"q{number}", reason="other_mode", amount_minor=500,
        currency="USD", reference="q", received_at=now, auto_decide_at=f"2026-01-0{number}T00:00Z",
    )  # fmt: skip
    return {name: value for name, value in row.items() if name not in ("partner_id", "created_at")}


def _due_line(now: str, number: int) -> Row:
    return {
        "id": _id(), "settlement_id": _id(), "provider": "fake", "currency": "USD", "kind": "payment",
        "provider_payment": f"q{number}", "gross_minor": 500, "fee_minor": 0, "net_minor": 500, "status": "exception",
        "reason": "not_paid", "created_at": now, "checked_at": f"2026-01-0{number}T00:00Z", "status_changed_at": now,
        "provider_refund": "", "waived_fee_minor": 0,
    }  # fmt: skip


def _due_reminder(now: str, number: int) -> Row:
    address = dict.fromkeys(("title", "last_name", "building_name_number", "road_name", "city", "country"), "q")
    return {
        "id": _id(), "partner_id": _PARTNER, **address, "postcode": "q", "organisation_id": _id(), "covers_from": now,
        "created_at": now, "reminder_at": f"2026-01-0{number}T00:00Z",
    }  # fmt: skip


DUE: dict[str, tuple[Callable[[str, int], Row], str]] = {
    "agent_verification": (_due_agent, "status = 'rejected'"),
    "monetary_donation_verification": (_due_verification, "status = 'expired'"),
    "donation_request": (_due_request, "not allocating"),
    "disbursement": (_due_disbursement, "not propagating"),
    "unallocated_payment": (_due_unallocated, "status = 'written_off'"),
    "settlement_line": (_due_line, "reason = 'unknown_payment'"),
    "gift_aid_declaration": (_due_reminder, "reminder_at is null"),
}
"""Tables whose rows the code of a sweep changes one after the other: a row that is due, and how it is afterwards."""


SMALL_BATCHES: dict[str, Callable[[Tx, int], Awaitable[int]]] = {
    "agent_verification": agents.expire_overdue_verifications,
    "monetary_donation_verification": verifications.expire_due_verifications,
    "unallocated_payment": suspense.run_due_automatic_actions,
    "gift_aid_declaration": gift_aid_reminders.remind_donors_of_declarations,
}
"""Sweeps whose rows stay due after they failed; those of the others are put off, or tried one by one."""


@pytest.mark.parametrize("table", sorted(DUE))
async def test_rows_that_fail_stop_no_others_and_are_logged(table: str, empty_database: TestDatabase) -> None:
    due, done = DUE[table]
    async with serving(empty_database) as service:
        now = service.clock.now().isoformat()
        rows = [due(now, number) for number in (1, 2, 3, 4)]
        bad, good = [row["id"] for row in rows[:2]], [row["id"] for row in rows[2:]]
        for row in rows:
            await _insert(empty_database, table, row)
            for check in CHECKS if table == "monetary_donation_verification" else ():
                made = {"id": _id(), "verification_id": row["id"], "type": check, "status": "pending"}
                await _insert(empty_database, "monetary_donation_check", made | {"status_changed_at": now})
        changed = re.sub(r"\b(status|reason|allocating|propagating|reminder_at)\b", r"new.\1", done)
        refused = refusing(empty_database, "update", table, f"old.id = any('{{{','.join(bad)}}}') and {changed}")
        with capture_logs() as said:
            async with refused:
                if run := SMALL_BATCHES.get(table):
                    async with service.db.write() as tx:
                        assert await run(tx, len(bad)) == len(good), "though the first batch fails as a whole"
                await service.services.background_worker.sweeper.run_due_jobs()
        found = await _rows(service, f"select id from {table} where {done} order by id")
        assert [str(row["id"]) for row in found] == good
        failed = Counter(one["row"] for one in said if one["event"] == "schedule_row_failed")
        assert set(failed) == set(bad)
        assert table not in SMALL_BATCHES or set(failed.values()) == {1}, "one that failed is not tried again at once"
        assert not [line for line in service.lines if b"schedule_failed" in line]
