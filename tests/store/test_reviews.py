"""The database keeps the rules of reviews by itself, and answers the queue from indexes."""

import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.validation.decisions.reviews import store as reviews_store
from almoner.validation.decisions.reviews.domain import REVIEW, ReviewFilters, ReviewSubject
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.plans import Explaining
from tests.support.reviews import Waiting, waiting
from tests.support.service import Service, serving

ADD = """
insert into review_decision (
    id, review_id, kind, subject_id, partner_id, verdict, reason_code, note, decided_by, decided_at
) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())
"""


@pytest.fixture
async def one(service: Service, api: Client) -> Waiting:
    """Something that somebody has to decide."""
    return await waiting(service, api)


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_s1_the_moves_in_the_database_are_those_in_the_code(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = 'review' order by 1, 2"
        )
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = 'review_status_check'"
        )
    assert [tuple(row) for row in rows] == list(REVIEW.transitions())
    assert set(re.findall(r"'(\w+)'", check)) == REVIEW.states()


async def test_nobody_is_asked_twice_about_one_thing(service: Service, one: Waiting) -> None:
    again = """
        insert into review (id, kind, subject_id, partner_id, reasons, asked_at, due_at, status, status_changed_at)
        select gen_random_uuid(), kind, subject_id, partner_id, reasons, asked_at, due_at, 'open', asked_at
        from review where subject_id = $1
    """
    assert await refuses(service, again, one.subject.id) == "review_open"


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("kind = 'mood'", "review_immutable"),
        ("subject_id = partner_id", "review_immutable"),
        ("partner_id = subject_id", "review_immutable"),
        ("asked_at = asked_at - interval '1 day'", "review_immutable"),
        ("due_at = due_at + interval '1 day'", "review_immutable"),
        ("reasons = '{}'", "review_has_reasons"),
        ("reasons = array[null]", "review_has_reasons"),
        ("claimed_by = 'operator_1'", "review_claimed"),
        ("claimed_by = 'x', claimed_until = asked_at", "review_claimed"),
        ("claimed_fingerprint = sha256('')", "review_claimed"),
        ("claimed_by = 'x', claimed_until = asked_at, claimed_fingerprint = 'x'", "review_claimed_fingerprint_check"),
        ("ended_at = asked_at", "review_ended"),
        ("status = 'withdrawn'", "review_ended"),
        ("status = 'withdrawn', ended_at = asked_at - interval '1 s'", "review_ended"),
        ("status = 'decided', ended_at = asked_at", "review_decided_has_decision"),
        ("status = 'forgotten'", "lifecycle_review"),
    ],
)
async def test_what_does_not_belong_together_is_refused(
    service: Service, one: Waiting, change: str, broken: str
) -> None:
    assert await refuses(service, f"update review set {change} where subject_id = $1", one.subject.id) == broken


@pytest.mark.parametrize("status", ["open", "decided", "withdrawn"])
async def test_what_has_ended_stays_so(service: Service, one: Waiting, status: str) -> None:
    async with service.db.write() as tx:
        assert await reviews_store.close_review(tx, one.subject, "withdrawn")
    moved = await refuses(service, "update review set status = $2 where subject_id = $1", one.subject.id, status)
    assert moved in ("lifecycle_review", "review_immutable")
    claim = (
        "update review set claimed_by = 'x', claimed_until = asked_at, claimed_fingerprint = sha256('') "
        "where subject_id = $1"
    )
    assert await refuses(service, claim, one.subject.id) == "review_immutable"


async def test_decisions_say_who_and_why(service: Service, one: Waiting) -> None:
    about = (one.subject.kind, one.subject.id, one.subject.partner_id)
    for verdict, reason, note, by, broken in (
        ("rejected", None, "x", "rules", "review_decision_reason"),
        ("accepted", "other", "x", "rules", "review_decision_reason"),
        ("rejected", "", "x", "rules", "review_decision_reason_code_check"),
        ("accepted", None, "", "rules", "review_decision_note_check"),
        ("accepted", None, "x" * 2001, "rules", "review_decision_note_check"),
        ("accepted", None, "x", "", "review_decision_decided_by_check"),
        ("forgotten", None, "x", "rules", "review_decision_verdict_check"),
    ):
        assert await refuses(service, ADD, uuid4(), None, *about, verdict, reason, note, by) == broken


async def test_a_decision_is_of_its_own_subject_ends_its_review_and_is_the_only_one(
    service: Service, api: Client, one: Waiting
) -> None:
    other = await waiting(service, api)
    review = (await one.history()).reviews[0].id
    wrong = (other.subject.kind, other.subject.id, other.subject.partner_id)
    right = (one.subject.kind, one.subject.id, one.subject.partner_id)
    decision = ("accepted", None, "x", "rules")
    of_another = await refuses(service, ADD, uuid4(), review, *wrong, *decision)
    assert of_another == "review_decision_review_id_kind_subject_id_partner_id_fkey"
    assert await refuses(service, ADD, uuid4(), review, *right, *decision) == "review_decision_ends_review"
    async with service.db.write() as tx:
        await reviews_store.close_review(tx, one.subject, "decided")
        await tx.execute(ADD, uuid4(), review, *right, *decision)
    assert await refuses(service, ADD, uuid4(), review, *right, *decision) == "review_decision_once"


@pytest.mark.parametrize(
    "sql", ["delete from review", "delete from review_decision", "update review_decision set note = 'x'"]
)
async def test_nothing_that_was_asked_or_decided_goes_away(service: Service, sql: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with service.db.write() as tx:
            await tx.execute(sql)


async def fill(service: Service, partners: list[UUID]) -> datetime:
    """1000 reviews of each partner, 100 of them open and some of those held, that the planner knows of.

    Returns when the first one was asked for.
    """
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into review (id, kind, subject_id, partner_id, reasons, asked_at, due_at, claimed_by, claimed_until,
                                claimed_fingerprint, status, status_changed_at, ended_at, evidence_requested_at)
            select gen_random_uuid(), case n % 3 when 0 then 'appeal' else 'validation_request' end, gen_random_uuid(),
                   p, '{name_differs}', $2::timestamptz - interval '3 days' + n * interval '1 min',
                   $2::timestamptz - interval '50 min' + n * interval '1 min',
                   case when n % 20 = 0 then 'operator_' || n % 7 end,
                   case when n % 20 = 0 then $3::timestamptz + interval '1 hour' end,
                   case when n % 20 = 0 then sha256('') end,
                   case when n <= 100 then 'open' else 'withdrawn' end, $2,
                   case when n > 100 then $2::timestamptz + interval '1 year' end,
                   case when n % 50 = 0 then $2::timestamptz - interval '4 days' end
            from unnest($1::uuid[]) as p, generate_series(1, 1000) as n
            """,
            partners,
            tx.now,
            tx.real_now,
        )
        first = tx.now - timedelta(days=3, minutes=-1)
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute("analyze review")
    await connection.close()
    return first


async def test_the_queue_is_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partners = [(await service.tenant()).partner.id for _ in range(30)]
        first = await fill(service, partners)
        for filters, index in (
            (ReviewFilters(), "review_queue"),
            (ReviewFilters("appeal"), "review_queue_of_kind"),
            (ReviewFilters(partner_id=partners[7]), "review_queue_of_partner"),
            (ReviewFilters(holder="operator_3"), "review_claimed_by"),
        ):
            async with service.db.write() as tx:
                explaining: Any = Explaining(tx)
                found = await reviews_store.list_open_reviews(explaining, filters, 20)
            assert len(found) == 20
            assert [one.requested_at for one in found] == sorted(one.requested_at for one in found)
            assert (explaining.indexes(), explaining.scans()) == ({index}, set()), filters
        async with service.db.write() as tx:
            explaining = Explaining(tx)
            answered = await reviews_store.list_open_reviews(explaining, ReviewFilters(evidence="received"), 20)
            assert len(answered) == 20
            assert await reviews_store.count_reviews_with_received_evidence_up_to(explaining, 100) == (
                60,
                first + timedelta(minutes=49),
            )
            assert await reviews_store.list_open_reviews(explaining, ReviewFilters(evidence="awaited"), 20) == []
            assert "review_queue_asked" in explaining.indexes()
            assert "review" not in explaining.scans()
        async with service.db.write() as tx:
            explaining = Explaining(tx)
            subject = ReviewSubject("appeal", uuid4(), partners[0])
            assert await reviews_store.lock_open_review(explaining, subject) is None
            assert await reviews_store.list_reviews(explaining, subject) == []
            assert await reviews_store.count_open_reviews_by_kind(explaining)
            assert explaining.scans() == set()
            assert "review_open" in explaining.indexes()
        async with service.db.write() as tx:
            explaining = Explaining(tx)
            assert await reviews_store.count_open_reviews_up_to(explaining, 20) == (20, first)
            waits = await reviews_store.count_open_reviews_by_filter(explaining, "operator_3", 20)
            assert {name: of.total for name, of in waits.items()} == {
                **dict.fromkeys(("claimed", "overdue", "appeal", "validation_request"), 20),
                **dict.fromkeys(("agent_verification", "match", "screening"), 0),
            }
            assert waits["claimed"].oldest_requested_at == first + timedelta(minutes=79)
            assert waits["match"].oldest_requested_at is None
            assert explaining.scans() == set()
            used = {"review_queue", "review_claimed_by", "review_due", "review_queue_of_kind"}
            assert explaining.indexes() == used
            whole = await reviews_store.count_open_reviews_by_filter(tx, "operator_3", 5000)
            assert {name: of.total for name, of in whole.items() if of.total} == {
                "claimed": 30, "overdue": 1500, "appeal": 990, "validation_request": 2010
            }  # fmt: skip
