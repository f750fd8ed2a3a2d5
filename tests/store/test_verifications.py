"""The database keeps the rules of monetary donation verifications by itself, and answers their lists from indexes."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from asyncpg import Record

from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications import store as verifications_store
from almoner.giving.disbursing.verifications.domain import CHECK, CHECKS, VERIFICATION, VerificationFilters
from almoner.kit.states import Lifecycle
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.http.paging import RequestedPage
from tests.support import factories
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.service import Service, Tenant, serving

RECORD, MADE = "monetary_donation_verification", "monetary_donation_check"


@pytest.fixture
async def pending(service: Service, api: Client) -> UUID:
    """A new verification."""
    made = await factories.verification(service, api)
    found = service.db.deployment.ids.decode("monetarydonationverification", made["id"])
    assert found is not None
    return found


@asynccontextmanager
async def trial(service: Service) -> AsyncIterator[Tx]:
    """A transaction that is rolled back."""

    class Enough(Exception):
        pass

    try:
        async with service.db.write() as tx:
            yield tx
            raise Enough
    except Enough:
        return


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def decide(tx: Tx, verification_id: UUID, status: str) -> None:
    """Move it with all that belongs to its state, past the service."""
    if status == "approved":
        await tx.execute(f"update {MADE} set status = 'succeeded' where verification_id = $1", verification_id)
    await tx.execute(
        f"""
        update {RECORD} set status = $2::text, rejection_reason = case $2::text when 'rejected' then 'other' end,
            processed_at = case when $2::text <> 'pending' then $3::timestamptz end,
            expires_at = case when $2::text in ('pending', 'expired') then $3::timestamptz end, status_changed_at = $3
        where id = $1
        """,
        verification_id,
        status,
        tx.now,
    )


@pytest.mark.parametrize("lifecycle", [VERIFICATION, CHECK], ids=lambda table: table.resource)
async def test_s1_the_moves_in_the_database_are_those_in_the_code(service: Service, lifecycle: Lifecycle) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            lifecycle.resource,
        )
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = $1",
            f"{lifecycle.resource}_status_check",
        )
    assert [tuple(row) for row in rows] == list(lifecycle.transitions())
    assert set(re.findall(r"'(\w+)'", check)) == lifecycle.states()


@pytest.mark.parametrize("source", sorted(VERIFICATION.states()))
@pytest.mark.parametrize("target", sorted(VERIFICATION.states()))
async def test_s1_the_database_knows_no_other_moves(service: Service, pending: UUID, source: str, target: str) -> None:
    async with service.db.write() as tx:
        if source != "pending":
            await decide(tx, pending, source)
    allowed = source == target or VERIFICATION.allows_transition(source, target)
    if source == "approved" and target == "approved":
        return  # nothing moves
    if allowed:
        async with trial(service) as tx:
            await decide(tx, pending, target)
        return
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        async with service.db.write() as tx:
            await decide(tx, pending, target)
    assert refused.value.constraint_name in (f"lifecycle_{RECORD}", "monetary_donation_check_pending")


async def test_every_move_is_kept_with_its_moment(service: Service, pending: UUID) -> None:
    async with service.db.write() as tx:
        await decide(tx, pending, "rejected")
    async with service.db.write() as tx:
        await decide(tx, pending, "pending")
    async with service.db.read() as tx:
        stored = await tx.fetch(
            "select resource, from_status, to_status from state_change where resource_id = $1 order by id", pending
        )
    assert [tuple(row) for row in stored] == [(RECORD, "pending", "rejected"), (RECORD, "rejected", "pending")]


@pytest.mark.parametrize("missing", CHECKS)
async def test_nobody_is_approved_whose_checks_have_not_all_succeeded(
    service: Service, pending: UUID, missing: str
) -> None:
    async with service.db.write() as tx:
        await tx.execute(
            f"update {MADE} set status = 'succeeded' where verification_id = $1 and type <> $2", pending, missing
        )
    approve = f"update {RECORD} set status = 'approved', processed_at = created_at, expires_at = null where id = $1"
    assert await refuses(service, approve, pending) == "monetary_donation_verification_checked"


async def test_none_is_stored_approved_from_the_start(service: Service, pending: UUID) -> None:
    broken = await refuses(
        service,
        f"""
        insert into {RECORD} (id, partner_id, organisation_id, status, created_at, updated_at, processed_at,
                              status_changed_at, requested)
        select $2, $3, organisation_id, 'approved', created_at, created_at, created_at, created_at, requested
        from {RECORD} where id = $1
        """,
        pending,
        uuid4(),
        uuid4(),
    )
    assert broken == "monetary_donation_verification_checked"


@pytest.mark.parametrize("status", ["approved", "rejected", "expired"])
async def test_checks_of_one_that_is_not_pending_stand_still(service: Service, pending: UUID, status: str) -> None:
    async with service.db.write() as tx:
        await decide(tx, pending, status)
    move = f"update {MADE} set status = $2 where verification_id = $1 and type = 'compliance'"
    to = "pending" if status == "approved" else "failed"
    assert await refuses(service, move, pending, to) == "monetary_donation_check_pending"


async def test_an_organisation_has_one_that_counts_and_each_check_once(service: Service, pending: UUID) -> None:
    again = f"""
        insert into {RECORD} (id, partner_id, organisation_id, status, created_at, updated_at, expires_at,
                              status_changed_at, requested)
        select $2, partner_id, organisation_id, 'pending', created_at, updated_at, expires_at, status_changed_at,
               requested
        from {RECORD} where id = $1
    """
    assert await refuses(service, again, pending, uuid4()) == "monetary_donation_verification_live"
    check = f"""
        insert into {MADE} (id, verification_id, type, status, status_changed_at)
        select $2, verification_id, type, 'pending', status_changed_at from {MADE} where verification_id = $1 limit 1
    """
    assert await refuses(service, check, pending, uuid4()) == "monetary_donation_check_once"


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("rejection_reason = 'other'", "monetary_donation_verification_rejected"),
        (
            "rejection_reason = 'mood', status = 'rejected', processed_at = created_at, expires_at = null",
            "monetary_donation_verification_rejection_reason_check",
        ),
        ("processed_at = created_at", "monetary_donation_verification_processed"),
        ("expires_at = null", "monetary_donation_verification_expiry"),
        ("metadata = '[]'", "monetary_donation_verification_metadata_check"),
        ("partner_id = id", "monetary_donation_verification_immutable"),
        ("organisation_id = id", "monetary_donation_verification_immutable"),
        ("created_at = expires_at", "monetary_donation_verification_immutable"),
    ],
)
async def test_what_does_not_belong_together_is_refused(
    service: Service, pending: UUID, change: str, broken: str
) -> None:
    assert await refuses(service, f"update {RECORD} set {change} where id = $1", pending) == broken


async def test_decisions_are_added_only_and_say_why(service: Service, pending: UUID) -> None:
    add = """
        insert into monetary_donation_decision (id, verification_id, decision, reason, note, decided_by, decided_at)
        values ($1, $2, $3, $4, $5, $6, $7)
    """
    now = service.clock.now()
    for decision, reason, note, by, broken in (
        ("rejected", None, "x", "ada", "monetary_donation_decision_reason"),
        ("approved", "other", "x", "ada", "monetary_donation_decision_reason"),
        ("rejected", "mood", "x", "ada", "monetary_donation_decision_reason_check"),
        ("approved", None, "", "ada", "monetary_donation_decision_note_check"),
        ("approved", None, "x", "", "monetary_donation_decision_decided_by_check"),
        ("forgotten", None, "x", "ada", "monetary_donation_decision_decision_check"),
    ):
        assert await refuses(service, add, uuid4(), pending, decision, reason, note, by, now) == broken
    async with service.db.write() as tx:
        await tx.execute(add, uuid4(), pending, "approved", None, "Seen", "ada", now)
    for sql in ("delete from monetary_donation_decision", "update monetary_donation_decision set note = 'x'"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(sql)


@pytest.mark.parametrize("table", [RECORD, MADE])
async def test_nothing_of_a_verification_is_deleted(service: Service, pending: UUID, table: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with service.db.write() as tx:
            await tx.execute(f"delete from {table}")


class Listening:
    """Passes statements on and explains them."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.now = tx.now
        self.plans: list[str] = []

    async def fetch(self, sql: str, *args: object) -> list[Record]:
        """As the transaction does."""
        found = await self.tx.fetchval("explain (format json) " + sql, *args)
        self.plans.append(json.dumps(json.loads(found) if isinstance(found, str) else found))
        return await self.tx.fetch(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:
        """As the transaction does."""
        rows = await self.fetch(sql, *args)
        return rows[0][0] if rows else None


async def fill(service: Service, partners: list[UUID], organisations: list[UUID]) -> None:
    """400 verifications of each partner, 20 of them pending, that the planner knows of."""
    async with service.db.write() as tx:
        await tx.execute(
            f"""
            with made as (
                insert into {RECORD} (id, partner_id, organisation_id, status, created_at, updated_at, expires_at,
                                      processed_at, status_changed_at, requested)
                select gen_random_uuid(), p, ($2::uuid[])[1 + n % cardinality($2::uuid[])],
                       case when n <= 20 then 'pending' else 'expired' end, $3, $3,
                       $3::timestamptz + n * interval '1 h',
                       case when n > 20 then $3::timestamptz end, $3, true
                from unnest($1::uuid[]) as p, generate_series(1, 400) as n returning id
            )
            insert into {MADE} (id, verification_id, type, status, status_changed_at)
            select gen_random_uuid(), id, 'registration', 'pending', $3 from made
            """,
            partners,
            organisations,
            tx.now,
        )
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute(f"analyze {RECORD}, {MADE}")
    await connection.close()


async def test_lists_and_sweeps_are_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        ids = service.db.deployment.ids
        partners = [(await service.tenant()).partner for _ in range(50)]
        named = [ids.decode("organisation", await factories.nonprofit(service)) for _ in range(40)]
        organisations = [organisation for organisation in named if organisation]
        await fill(service, [partner.id for partner in partners], organisations)
        partner, organisation, page = partners[7], organisations[7], RequestedPage(25, descending=True)
        async with service.db.write() as writing:
            listening = Listening(writing)
            tx: Any = listening
            for filters in (
                VerificationFilters(),
                VerificationFilters(status="expired"),
                VerificationFilters(organisation_id=organisation),
                VerificationFilters(organisation_id=organisation, status="pending"),
            ):
                assert (await verifications_store.list_page(tx, partner, page, filters))[1] > 0
            assert await verifications_store.list_verifications_of_organisations(tx, partner, [organisation])
            assert await verifications_store.find_pending_or_approved_id(tx, partner, organisation)
            assert await verifications_store.next_expiry_at(tx)
            await verifications_store.lock_due_for_expiry(tx, 10, ())
        for plan in listening.plans:
            assert "Seq Scan" not in plan, plan
        used = [set(re.findall(r'"Index Name": "(\w+)"', plan)) for plan in listening.plans]
        own = {f"{RECORD}_partner_id_id_key", f"{RECORD}_of_organisation", f"{RECORD}_live"}
        assert all(names & own for names in used[:5]), used
        assert used[5] == {f"{RECORD}_live"}
        assert used[6] == used[7] == {f"{RECORD}_due"}


async def test_s4_a_sweep_passes_by_what_somebody_holds(service: Service, tenant: Tenant, api: Client) -> None:
    ids = service.db.deployment.ids
    service.clock.advance(days=30)
    await service.drain()
    made = [await factories.verification(service, api) for _ in range(2)]
    held, free = (ids.decode("monetarydonationverification", one["id"]) for one in made)
    assert held
    assert free
    await service.drain()
    service.clock.advance(days=30)
    async with service.db.write() as holding:
        assert await verifications_store.find_for_update(holding, ALL_PARTNERS, held)
        async with service.db.write() as tx:  # the free one, and what money of other tests began
            assert await verifications.expire_due_verifications(tx, 1000) >= 1
    async with service.db.write() as tx:
        assert await verifications.expire_due_verifications(tx, 100) == 1
        assert await verifications.expire_due_verifications(tx, 100) == 0
    async with service.db.read() as tx:
        reported = await tx.fetchval(
            "select count(*) from event where partner_id = $1 and created_at = $2",
            tenant.partner.id,
            service.clock.now(),
        )
    assert reported == 2


async def test_the_next_moment_is_that_of_the_oldest_pending_one(service: Service, api: Client) -> None:
    await service.drain()
    await factories.verification(service, api)
    first = service.clock.now() + timedelta(days=30)
    service.clock.advance(minutes=1)
    await factories.verification(service, api)
    async with service.db.read() as tx:
        due = await verifications.next_expiry_at(tx)
    assert due is not None
    assert due <= first
    service.clock.advance(days=31)
    await service.drain()
    async with service.db.read() as tx:
        assert await verifications.next_expiry_at(tx) is None
