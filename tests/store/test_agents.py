"""Agent verifications at rest: constraints refuse what must not be, lists and sweeps are answered from indexes."""

import json
from typing import Any, get_args
from uuid import UUID, uuid4

import asyncpg
import pytest
from asyncpg import Record

from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.validation.agents import service as agents
from almoner.validation.agents import store as agents_store
from almoner.validation.agents import store_mails as agents_store_mails
from almoner.validation.agents.domain import VERIFICATION, AgentFilters, AgentVerification, EndReason
from tests.support import factories
from tests.support.agents import create, simulate
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.service import Service, serving

RECORD = "agent_verification"
ENDED = "expires_at = null, processed_at = created_at"


@pytest.fixture
async def pending(service: Service, api: Client) -> UUID:
    """A new one."""
    made = await create(service, api, title="Treasurer")
    found = service.db.deployment.ids.decode("agentverification", made["id"])
    assert found is not None
    return found


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_the_arrows_in_the_database_are_those_of_the_lifecycle(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2", RECORD
        )
        check = await tx.fetchval(
            """
            select pg_get_constraintdef(oid) from pg_constraint
            where conrelid = 'agent_verification'::regclass and conname = 'agent_verification_status_check'
            """
        )
    assert [tuple(row) for row in rows] == list(VERIFICATION.transitions())
    assert {state for state in VERIFICATION.states() if f"'{state}'" in check} == VERIFICATION.states()


async def test_s1_no_hand_makes_a_move_that_the_lifecycle_lacks(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    ways: dict[str, tuple[str, ...]] = {
        "pending": (),
        "pending_user_verification": ("approve",),
        "pending_review": ("confirm_email",),
        "approved": ("approve", "confirm_email"),
        "rejected": ("reject",),
    }
    tails = {
        "approved": f"{ENDED}, rejection_code = null, confirmed_at = coalesce(confirmed_at, created_at)",
        "rejected": f"{ENDED}, rejection_code = 'other'",
    }
    live = "expires_at = created_at, processed_at = null, rejection_code = null"
    for source, steps in ways.items():
        for target in ways:
            if source == target or (source, target) in set(VERIFICATION.transitions()):
                continue
            made = await create(service, api, organisation=organisation, email="ada@elsewhere.example")
            for step in steps:
                await simulate(api, made, step)
            one = service.db.deployment.ids.decode("agentverification", made["id"])
            move = f"update {RECORD} set status = $2, {tails.get(target, live)} where id = $1"
            assert await refuses(service, move, one, target) is not None, (source, target)


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("rejection_code = 'other'", "agent_verification_rejected"),
        (f"status = 'rejected', rejection_code = 'mood', {ENDED}", "agent_verification_rejection_code_check"),
        ("processed_at = created_at", "agent_verification_processed"),
        ("expires_at = null", "agent_verification_expiry"),
        ("status = 'pending_review', expires_at = null", "agent_verification_confirmed"),
        ("confirmed_at = created_at", "agent_verification_unconfirmed"),
        ("metadata = '[]'", "agent_verification_metadata_check"),
        ("first_name = null, last_name = null, email = null, title = null", "agent_verification_erased"),
        ("email = 'eve@other.example'", "agent_verification_immutable"),
        ("first_name = 'Eve'", "agent_verification_immutable"),
        ("language = 'de'", "agent_verification_immutable"),
        ("partner_id = id", "agent_verification_immutable"),
        ("organisation_id = null", "agent_verification_immutable"),
        ("organisation_id = id", "agent_verification_immutable"),
        ("organisation_website = 'x.example'", "agent_verification_immutable"),
        ("created_at = expires_at", "agent_verification_immutable"),
    ],
)
async def test_what_does_not_belong_together_is_refused(
    service: Service, pending: UUID, change: str, broken: str
) -> None:
    assert await refuses(service, f"update {RECORD} set {change} where id = $1", pending) == broken


async def test_evidence_is_added_only_and_answers_are_given_once(service: Service, pending: UUID) -> None:
    ask = """
        insert into agent_representation_request (id, verification_id, email, asked_at, expires_at)
        values ($1, $2, 'info@a.example', $3, $3)
    """
    now = service.clock.now()
    async with service.db.write() as tx:
        await tx.execute(ask, uuid4(), pending, now)
        await tx.execute(
            "update agent_representation_request set answer = 'denied', answered_at = $2 where verification_id = $1",
            pending,
            now,
        )
    assert await refuses(service, ask, uuid4(), pending, now) == "agent_representation_request_once"
    again = "update agent_representation_request set answer = 'confirmed' where verification_id = $1"
    assert await refuses(service, again, pending) == "agent_representation_request_immutable"
    for sql in (
        f"delete from {RECORD}",
        "delete from agent_confirmation",
        "delete from agent_representation_request",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(sql)


async def test_tries_of_a_code_are_never_taken_back(service: Service, pending: UUID) -> None:
    change = "update agent_confirmation set failed_attempts = failed_attempts + $2::int where verification_id = $1"
    async with service.db.write() as tx:
        await tx.execute(change, pending, 3)
    assert await refuses(service, change, pending, -1) == "agent_confirmation_immutable"


class Listening:
    """Passes statements on and explains them."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.now = tx.now
        self.real_now = tx.real_now
        self.plans: list[str] = []

    async def fetch(self, sql: str, *args: object) -> list[Record]:
        """As the transaction does."""
        found = await self.tx.fetchval("explain (format json) " + sql, *args)
        self.plans.append(json.dumps(json.loads(found) if isinstance(found, str) else found))
        return await self.tx.fetch(sql, *args)

    async def fetchrow(self, sql: str, *args: object) -> Record | None:
        """As the transaction does."""
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def fetchval(self, sql: str, *args: object) -> Any:
        """As the transaction does."""
        row = await self.fetchrow(sql, *args)
        return row[0] if row else None


async def fill(service: Service, partners: list[UUID], organisation: UUID) -> None:
    """400 verifications of each partner, of which 20 are pending and one is in review."""
    async with service.db.write() as tx:
        await tx.execute(
            f"""
            insert into {RECORD} (id, partner_id, organisation_id, first_name, last_name, email, language, email_check,
                                  status, rejection_code, created_at, expires_at, confirmed_at, processed_at,
                                  status_changed_at)
            select gen_random_uuid(), p, $2, 'Ada', 'Byron', 'ada' || n || '@a.example', 'en', true,
                   case when n <= 20 then 'pending' when n = 21 then 'pending_review' else 'rejected' end,
                   case when n > 21 then 'user_verification_expired' end, $3::timestamptz - n * interval '1 h',
                   case when n <= 20 then $3::timestamptz + n * interval '1 h' end,
                   case when n = 21 then $3::timestamptz end, case when n > 21 then $3::timestamptz end, $3
            from unnest($1::uuid[]) as p, generate_series(1, 400) as n
            """,
            partners,
            organisation,
            tx.now,
        )
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute(f"analyze {RECORD}, agent_confirmation, agent_representation_request")
    await connection.close()


async def test_lists_and_sweeps_are_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partners = [(await service.tenant()).partner for _ in range(50)]
        organisation = service.db.deployment.ids.decode("organisation", await factories.nonprofit(service))
        assert organisation is not None
        await fill(service, [partner.id for partner in partners], organisation)
        partner, page, now = partners[7], RequestedPage(25, descending=True), service.clock.now()
        async with service.db.write() as writing:
            listening = Listening(writing)
            tx: Any = listening
            rows: list[AgentVerification] = []
            for filters in (
                AgentFilters(),
                AgentFilters(status="pending"),
                AgentFilters(status="rejected"),
                AgentFilters(email="ADA5@a.example"),
                AgentFilters(created_from=now.replace(hour=0)),
                AgentFilters(status="pending_review", created_before=now),
            ):
                rows, total = await agents_store.list_page(tx, partner, page, filters)
                assert (len(rows) > 0, total > 0) == (True, True), filters
            assert await agents_store.find(tx, partner, rows[0].id)
            assert await agents_store.next_expiry_at(tx)
            await agents_store.lock_expired_verifications(tx, 10, ())
            await agents_store.list_open_verification_ids(tx, [uuid4()])
            assert len(await agents_store.list_verification_ids_in_review(tx, organisation)) == 50
            assert await agents_store.find_earliest_unerased_verification_end(tx, "unconfirmed", now)
            for ended in get_args(EndReason):
                await agents_store.erase_personal_data(tx, ended, now, 10)
            await agents_store_mails.lock_address_and_list_confirmation_send_times(tx, "ADA5@a.example", now)
            await agents_store_mails.find_latest_confirmation(tx, rows[0].id)
            await agents_store_mails.find_representation_request(tx, rows[0].id)
            await agents_store_mails.list_confirmation_send_times(tx, rows[0].id)
            await agents_store.is_replaced(tx, rows[0].id)
        small = (
            "organisation_contact",
            "agent_confirmation",
            "agent_representation_request",
        )
        empty = ("validation_submission", "appeal")  # there is none of them here
        for plan in listening.plans:
            scanned = [node["Relation Name"] for node in nodes(json.loads(plan)) if node["Node Type"] == "Seq Scan"]
            assert not set(scanned) - {*small, *empty, "organisation", "validation_request"}, plan


def nodes(plan: Any) -> list[dict[str, Any]]:
    """Every node of a plan."""
    found, todo = [], [entry["Plan"] for entry in plan]
    while todo:
        node = todo.pop()
        found.append(node)
        todo += node.get("Plans", [])
    return found


async def test_s4_a_sweep_passes_by_what_somebody_holds(service: Service, api: Client, pending: UUID) -> None:
    other = service.db.deployment.ids.decode("agentverification", (await create(service, api))["id"])
    await service.drain()
    service.clock.advance(days=30)
    async with service.db.write() as holding:
        assert await agents_store.find_for_update(holding, ALL_PARTNERS, pending)
        async with service.db.write() as tx:
            while await agents.expire_overdue_verifications(tx, 100):
                pass
            free = await agents_store.find(tx, ALL_PARTNERS, other) if other else None
        assert free is not None
        assert free.status == "rejected"
        held = await agents_store.find(holding, ALL_PARTNERS, pending)
        assert held is not None
        assert held.status != "rejected"
    await service.drain()
    async with service.db.read() as tx:
        swept = await agents_store.find(tx, ALL_PARTNERS, pending)
        assert swept is not None
        assert swept.status == "rejected"
