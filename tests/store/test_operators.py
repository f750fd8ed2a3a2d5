"""Operators, their tokens and approvals: what the database itself refuses."""

import asyncpg
import pytest

from almoner.access.keys import domain as keys_domain
from almoner.access.operators import service as operators
from almoner.access.operators import store as operators_store
from almoner.access.operators.domain import (
    LONGEST_NOTE,
    Approval,
    ApprovalReview,
    InvalidOperatorToken,
    SecondOperatorRequired,
    token_prefix,
)
from almoner.access.operators.service import NoSuchToken
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, OperatorRole, Person, build_profile, member_realm
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Tx
from tests.support import factories
from tests.support.client import Client
from tests.support.payouts import uuid_of
from tests.support.service import Service, Tenant
from tests.support.terminal import BY

SEEN, OTHER = b"s" * 32, b"o" * 32
HOLD = """
insert into disbursement_hold (organisation_id, held, note, decided_by, decided_at, second_by, second_note)
values ($1, $2, 'x', $3, now(), $4, $5)
"""


async def made(service: Service, *roles: OperatorRole) -> Person:
    """A new operator."""
    async with service.db.write() as tx:
        name = factories.unique("operator").replace(" ", ".")
        return await operators.add_operator(tx, BY, f"{name}@example.org", None, roles or ("reviewer", "finance"))


async def look(tx: Tx, person: Person, subject: str, seen: bytes = SEEN) -> Approval:
    return await operators.record_approval(tx, person, "verification.approve", subject, seen, "a letter", "reviewer")


@pytest.fixture
def subject() -> str:
    """What two people look at."""
    return factories.unique("subject")


@pytest.fixture
async def ada(service: Service) -> Person:
    """An operator."""
    return await made(service)


@pytest.fixture
async def bo(service: Service) -> Person:
    """Another one."""
    return await made(service)


async def refused(service: Service, sql: str, *values: object) -> str | None:
    """The constraint that refuses a statement."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as error:
        async with service.db.write() as tx:
            await tx.execute(sql, *values)
    return error.value.constraint_name


async def test_v8_two_looks_are_of_dual_control(service: Service, ada: Person, bo: Person, subject: str) -> None:
    async with service.db.write() as tx:
        started = await look(tx, ada, subject)
        assert started.second is None
        with pytest.raises(SecondOperatorRequired, match="1 of 2"):
            await look(tx, ada, subject)
    finish = """
    update approval set second_by = $2, second_at = $3, second_note = 'x', outcome = 'approved', ended_at = $3
    where id = $1
    """
    assert await refused(service, finish, started.id, ada.id, started.first.at) == "approval_dual_control"
    assert await refused(service, finish, started.id, bo.id, started.expires_at) == "approval_life"
    async with service.db.write() as tx:
        done = await look(tx, bo, subject)
    assert done.second is not None
    assert (done.outcome, done.first.by, done.second.by) == ("approved", ada.id, bo.id)
    assert await refused(service, finish, started.id, bo.id, started.first.at) == "approval_immutable"
    async with service.db.write() as tx:
        assert (await look(tx, bo, subject)).second is None, "an approval counts once"


async def test_a_first_look_is_of_what_was_seen_by_who_still_may(
    service: Service, ada: Person, bo: Person, subject: str
) -> None:
    async with service.db.write() as tx:
        await look(tx, ada, subject)
        assert (await look(tx, bo, subject, OTHER)).second is None
        await operators.set_roles(tx, BY, bo.id, ["finance"])
        again = await look(tx, ada, subject, OTHER)
        assert again.second is None
    service.clock.advance_to(again.expires_at)
    async with service.db.write() as tx:
        assert subject not in [one.subject for one, _ in await operators.list_pending_approvals(tx)]
        await operators.set_roles(tx, BY, bo.id, ["reviewer"])
        assert (await look(tx, bo, subject, OTHER)).second is None
        assert (subject, bo.id) in [
            (one.subject, person.id) for one, person in await operators.list_pending_approvals(tx)
        ]
        rows = await tx.fetch("select outcome from approval where subject = $1 order by id", subject)
    assert [row[0] for row in rows] == ["changed", "withdrawn", "expired", None]


async def test_one_look_waits_for_each_subject(service: Service, ada: Person, bo: Person, subject: str) -> None:
    async with service.db.write() as tx:
        first = await look(tx, ada, subject)
        second = Approval(
            tx.new_id(), first.action, subject, SEEN, ApprovalReview(bo.id, tx.now, "x"), first.expires_at
        )
        assert not await operators_store.insert_approval(tx, second)


async def test_approvals_and_tokens_are_of_operators(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        member = await people.create(tx, member_realm(tenant.partner), build_profile("mia@example.org"), ["reviewer"])
    approval = """
    insert into approval (id, action, subject, fingerprint, first_by, first_at, first_note, expires_at)
    values ($1, 'verification.approve', 'x', $2, $1, now(), 'x', now() + interval '1 day')
    """
    assert await refused(service, approval, member.id, SEEN) == "approval_realm_first_by_fkey"
    token = """
    insert into operator_token (id, person_id, hash, name, hint, created_at, expires_at)
    values ($1, $1, $2, 'x', 'xxxx', now(), now() + interval '1 day')
    """
    assert await refused(service, token, member.id, SEEN) == "operator_token_realm_person_id_fkey"


async def test_a_decision_bears_two_names_or_one(service: Service, api: Client) -> None:
    record = await factories.verification(service, api)
    of = uuid_of(service, "monetarydonationverification", record["id"])
    decide = """
    insert into monetary_donation_decision (
        id, verification_id, decision, note, decided_by, decided_at, second_by, second_note
    ) values (gen_random_uuid(), $1, $4, 'x', 'operator_a', now(), $2, $3)
    """
    same = await refused(service, decide, of, "operator_a", "y", "approved")
    assert same == "monetary_donation_decision_dual_control"
    for second in (("operator_b", None, "approved"), ("operator_b", "y", "reopened")):
        assert await refused(service, decide, of, *second) == "monetary_donation_decision_second"
    async with service.db.write() as tx:
        await tx.execute(decide, of, "operator_b", "y", "approved")


async def test_who_holds_payouts_does_not_release_them_alone(service: Service) -> None:
    organisation = uuid_of(service, "organisation", await factories.nonprofit(service))
    a, b, c = (f"sandbox_operator_{letter}" for letter in "abc")
    async with service.db.write() as tx:
        for by in (a, b):
            await tx.execute(HOLD, organisation, True, by, None, None)
    for by in (a, b):
        assert (
            await refused(service, HOLD, organisation, False, by, None, None) == "disbursement_hold_released_by_another"
        )
    assert await refused(service, HOLD, organisation, False, a, a, "y") == "disbursement_hold_dual_control"
    assert await refused(service, HOLD, organisation, True, a, b, "y") == "disbursement_hold_second"
    async with service.db.write() as tx:
        await tx.execute(HOLD, organisation, False, a, c, "y")
        assert not await tx.fetchval("select disbursement_is_held($1, $1)", organisation)
        await tx.execute(HOLD, organisation, True, b, None, None)
        await tx.execute(HOLD, organisation, False, a, None, None)  # a's own hold has ended


async def test_operators_are_deactivated_never_deleted(service: Service, ada: Person) -> None:
    assert await refused(service, "delete from person where id = $1", ada.id) == "operator_not_deletable"


async def test_k2_tokens_are_kept_as_hashes_and_end_once(service: Service, ada: Person) -> None:
    async with service.db.write() as tx:
        token, secret = await operators.create_token(tx, BY, ada, "laptop")
        row = await tx.fetchrow("select * from operator_token where id = $1", token.id)
    assert row is not None
    assert secret.startswith("op_sandbox_")
    assert secret not in str(dict(row))
    lives_on = """
    insert into operator_token (id, person_id, hash, name, hint, created_at, expires_at)
    select gen_random_uuid(), person_id, $2, name, hint, created_at, created_at + interval '366 days'
    from operator_token where id = $1
    """
    assert await refused(service, lives_on, token.id, SEEN) == "operator_token_life"
    async with service.db.write() as tx:
        found, _ = await operators.authenticate(tx, secret)
        assert found.id == ada.id
        assert (await operators.get_token(tx, token.id)).last_used_at == tx.real_now
        for _ in range(2):  # two administrators press the button at once
            await operators.revoke_token(tx, BY, token)
        with pytest.raises(InvalidOperatorToken, match="revoked"):
            await operators.authenticate(tx, secret)
        revoked = "select count(*) from audit_entry where action = 'operator_token.revoked' and subject = $1"
        assert await tx.fetchval(revoked, tx.ids.encode(operators.TOKEN_ID, token.id)) == 1
    revive = "update operator_token set revoked_at = null where id = $1"
    assert await refused(service, revive, token.id) == "operator_token_immutable"


async def test_a_deactivated_operator_has_nothing_that_opens(service: Service, ada: Person, bo: Person) -> None:
    async with service.db.write() as tx:
        _, secret = await operators.create_token(tx, BY, ada, "laptop")
        await operators.deactivate(tx, BY, ada.id)
        with pytest.raises(InvalidOperatorToken, match="deactivated"):
            await operators.authenticate(tx, secret)
        back = await people.get_for_update(tx, OPERATORS, ada.id)
        await people.update_profile(tx, back, {**back.profile, "active": True})
        with pytest.raises(InvalidOperatorToken, match="revoked"):
            await operators.authenticate(tx, secret)
        _, secret = await operators.create_token(tx, BY, bo, "laptop")
        await people.update_profile(tx, bo, {**bo.profile, "active": False})
        with pytest.raises(InvalidOperatorToken, match="deactivated"):
            await operators.authenticate(tx, secret)


async def test_pending_approvals_and_their_operators_are_one_round_trip(
    service: Service, ada: Person, bo: Person, subject: str
) -> None:
    statements: list[str] = []
    async with service.db.write() as tx:
        for number, person in enumerate((ada, bo, ada)):
            await look(tx, person, f"{subject} {number}")
    connection = await asyncpg.connect(service.database.dsn)
    try:
        connection.add_query_logger(lambda query: statements.append(query.query))
        tx = service.db.build_transaction(connection, "read")  # type: ignore[arg-type]
        wanted = [f"{subject} {number}" for number in (0, 1)]
        found = await operators.list_pending_approvals(tx, "verification.approve", wanted)
        assert await operators.list_pending_approvals(tx, "organisation.merge", wanted) == []
    finally:
        await connection.close()
    assert [(one.subject, person.id) for one, person in found] == list(zip(wanted, (ada.id, bo.id), strict=True))
    assert len(statements) == 2


async def test_k2_what_is_no_token_of_this_deployment_opens_nothing(service: Service, ada: Person) -> None:
    unknown, live = (keys_domain.generate_secret(token_prefix(sandbox=sandbox)) for sandbox in (True, False))
    async with service.db.write() as tx:
        for secret in ("", "op_sandbox_", unknown, live, unknown[:-1]):
            with pytest.raises(InvalidOperatorToken, match="not a token of this deployment"):
                await operators.authenticate(tx, secret)
        with pytest.raises(NoSuchToken):
            await operators.get_token(tx, tx.new_id())
        gone = await operators.deactivate(tx, BY, ada.id)
        with pytest.raises(InvalidOperatorToken, match="deactivated and cannot have new tokens"):
            await operators.create_token(tx, BY, gone, "laptop")
        assert await operators.list_tokens(tx, ada.id) == []


@pytest.mark.parametrize("note", ["", "x" * (LONGEST_NOTE + 1)])
async def test_an_approval_has_a_note(service: Service, ada: Person, subject: str, note: str) -> None:
    async with service.db.write() as tx:
        with pytest.raises(IncorrectParams, match="the note must have 1 to"):
            await operators.record_approval(tx, ada, "verification.approve", subject, SEEN, note, "reviewer")
        assert subject not in [one.subject for one, _ in await operators.list_pending_approvals(tx)]
