"""Two pairs of eyes: who may be them, whether they are asked for, and who stays to manage operators (V8)."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.operators import domain as operators_domain
from almoner.access.operators import service as operators
from almoner.access.operators.domain import (
    LastAdministratorRequired,
    OperatorNotInvitable,
    OperatorsNotIndependent,
    OwnAccountChangeDenied,
    TokenOwnerMismatch,
)
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, OperatorRole, Person, UserNameTaken
from almoner.giving.receipts import service as receipts
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Tx, open_database
from tests.support import factories, signing_in
from tests.support.payouts import uuid_of
from tests.support.service import Service, Tenant
from tests.support.terminal import BY

SEEN = b"s" * 32
WEEK = timedelta(days=7)


@pytest.fixture
async def service(alone: Service) -> Service:
    """A service of its own: who the administrators are matters here."""
    return alone


def by(tx: Tx, person: Person) -> AuditContext:
    """The operator as the one who acts."""
    return AuditContext(Actor("operator", tx.ids.encode("operator", person.id)), None)


async def add(service: Service, *roles: OperatorRole, who: Person | None = None) -> Person:
    """A new operator, of the machine's account or of another operator."""
    async with service.db.write() as tx:
        email = f"{factories.unique('op').replace(' ', '.')}@example.org"
        return await operators.add_operator(tx, by(tx, who) if who else BY, email, None, roles)


async def corrected(tx: Tx, made_by: AuditContext, operator_id: UUID, **given: str) -> Person:
    """An operator whose details one administrator may change."""
    changed = await operators.update_details(tx, made_by, operator_id, **given)
    assert isinstance(changed, Person)
    return changed


async def look(service: Service, person: Person, subject: str) -> str | None:
    """One look; the outcome."""
    async with service.db.write() as tx:
        return (
            await operators.record_approval(tx, person, "disbursements.release", subject, SEEN, "n", "finance")
        ).outcome


async def both(service: Service, one: Person, other: Person) -> str | None:
    """Both look."""
    subject = factories.unique("subject")
    await look(service, one, subject)
    return await look(service, other, subject)


async def refused(service: Service, sql: str, *values: object) -> str | None:
    """The constraint that refuses a statement."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as error:
        async with service.db.write() as tx:
            await tx.execute(sql, *values)
    return error.value.constraint_name


async def test_v8_one_administrator_is_not_both_pairs_of_eyes(service: Service) -> None:
    ada = await add(service, "administrator", "finance")
    bo = await add(service, "finance", who=ada)
    for first, second in ((ada, bo), (bo, ada)):
        with pytest.raises(OperatorsNotIndependent, match="another operator with the role finance"):
            await both(service, first, second)
    carl = await add(service, "finance")
    assert await both(service, ada, carl) == "approved"
    assert await both(service, carl, bo) == "approved"
    service.clock.advance(days=7)
    assert await both(service, ada, bo) == "approved"


@pytest.mark.parametrize("act", ["granted", "activated", "changed", "invited", "reset"])
async def test_v8_who_lets_another_in_is_no_other_pair_of_eyes(service: Service, act: str) -> None:
    ada, bo = await add(service, "administrator", "finance"), await add(service, "reviewer", "finance")
    async with service.db.write() as tx:
        hers = by(tx, ada)
        match act:
            case "granted":
                await operators.set_roles(tx, BY, bo.id, ["reviewer"])
                bo = await operators.set_roles(tx, hers, bo.id, ["finance"])
            case "activated":
                await operators.deactivate(tx, BY, bo.id)
                bo = await operators.activate(tx, hers, bo.id)
            case "changed":
                bo = await corrected(tx, hers, bo.id, email=f"ada.{bo.user_name}")
            case "invited":
                await operators.resend_invitation(tx, hers, bo.id)
            case _:
                await operators.reset_credentials_and_reinvite(tx, hers, bo.id)
    with pytest.raises(OperatorsNotIndependent):
        await both(service, ada, bo)


async def test_v8_nor_by_somebody_in_between(service: Service) -> None:
    ada = await add(service, "administrator", "finance")
    between = await add(service, "administrator", who=ada)
    bo = await add(service, "finance", who=between)
    with pytest.raises(OperatorsNotIndependent):
        await both(service, bo, ada)
    carl = await add(service, "finance", who=between)
    assert await both(service, bo, carl) == "approved", "neither of the two let the other in"


async def test_v8_no_statement_gets_round_it(service: Service) -> None:
    ada = await add(service, "administrator", "finance")
    bo = await add(service, "finance", who=ada)
    async with service.db.write() as tx:
        started = await operators.record_approval(tx, ada, "disbursements.release", "x", SEEN, "n", "finance")
    finish = """
    update approval set second_by = $2, second_at = $3, second_note = 'x', outcome = 'approved', ended_at = $3
    where id = $1
    """
    assert await refused(service, finish, started.id, bo.id, started.first.at) == "approval_independent"
    at_once = """
    insert into approval (id, action, subject, fingerprint, first_by, first_at, first_note, expires_at, second_by,
        second_at, second_note, outcome, ended_at)
    select $2, action, 'y', fingerprint, first_by, first_at, first_note, expires_at, $3, first_at, 'x', 'approved',
        first_at from approval where id = $1
    """
    assert await refused(service, at_once, started.id, bo.id, bo.id) == "approval_independent"
    forget = "delete from operator_access_grant where person_id = $1"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with service.db.write() as tx:
            await tx.execute(forget, bo.id)


async def test_v8_a_donee_is_set_up_by_two_independent_operators_once(service: Service, tenant: Tenant) -> None:
    ada, carl = await add(service, "administrator", "finance"), await add(service, "finance")
    bo = await add(service, "finance", who=ada)
    ids = service.db.deployment.ids
    async with service.db.write() as tx:
        donee = await receipts.propose_donee(
            tx, tenant.partner, legal_name="Hope", ein="12-3456789", address="1 Main St", note="n",
            proposed_by=ids.encode("operator", ada.id),
        )  # fmt: skip
    approve = "update receipt_donee set approved_by = $2, approved_note = 'x', approved_at = proposed_at where id = $1"
    assert await refused(service, approve, donee.id, ids.encode("operator", bo.id)) == "approvers_independent"
    async with service.db.write() as tx:
        await tx.execute(approve, donee.id, ids.encode("operator", carl.id))
    assert await refused(service, approve, donee.id, ids.encode("operator", bo.id)) == "receipt_donee_immutable"


async def test_nobody_changes_their_own_roles(service: Service) -> None:
    ada = await add(service, "administrator")
    async with service.db.write() as tx:
        with pytest.raises(OwnAccountChangeDenied, match="Another administrator"):
            await operators.set_roles(tx, by(tx, ada), ada.id, ["administrator", "finance"])
        changed = await operators.set_roles(tx, BY, ada.id, ["administrator", "finance"])
    assert changed.roles == {"administrator", "finance"}


async def test_v8_whether_two_are_asked_for_is_kept_in_the_database(service: Service) -> None:
    organisation = uuid_of(service, "organisation", await factories.nonprofit(service))
    release = """
    insert into disbursement_hold (organisation_id, held, note, decided_by, decided_at) values ($1, false, 'x', $2,
        now())
    """
    live, sandbox = "operator_a", "sandbox_operator_a"
    async with service.db.write() as tx:
        assert not await operators.is_two_person_approval_enabled(tx)
        await tx.execute(release, organisation, sandbox)
    assert await refused(service, release, organisation, live) == "dual_control", "production takes two unless told"
    for required in (True, False, True):
        async with service.db.write() as tx:
            await operators.set_two_person_approval(tx, BY, required=required)
            assert await operators.is_two_person_approval_enabled(tx) == required
        for who in (live, sandbox):
            if required:
                assert await refused(service, release, organisation, who) == "dual_control"
                continue
            async with service.db.write() as tx:
                await tx.execute(release, organisation, who)
    async with service.db.read() as tx:
        stated = await tx.fetch(
            "select details from audit_entry where action = 'two_person_approval.changed' order by position"
        )
    assert [row["details"]["required"] for row in stated] == [True, False, True]


async def test_production_takes_two_unless_told(service: Service) -> None:
    production = replace(service.db.deployment, environment="production")
    database = await open_database(service.database.dsn, production, pool_size=1)
    try:
        async with database.write() as tx:
            assert await operators.is_two_person_approval_enabled(tx)
            first = await operators.add_operator(tx, BY, "ada@example.org", None, ["administrator"])
            await operators.create_token(tx, BY, first, "first")
            for who in (first, await operators.add_operator(tx, BY, "bo@example.org", None, ["finance"])):
                with pytest.raises(TokenOwnerMismatch, match="Tokens are personal"):
                    await operators.create_token(tx, BY, who, "second")
    finally:
        await database.close()


async def test_nobody_makes_tokens_of_others_nor_more_than_ten(service: Service) -> None:
    ada, bo = await add(service, "administrator"), await add(service, "finance")
    async with service.db.write() as tx:
        with pytest.raises(TokenOwnerMismatch):
            await operators.create_token(tx, by(tx, ada), bo, "his")
        made = [await operators.create_token(tx, by(tx, bo), bo, f"n{n}") for n in range(operators_domain.MAX_TOKENS)]
        with pytest.raises(IncorrectParams, match="Revoke one first"):
            await operators.create_token(tx, by(tx, bo), bo, "one more")
        await operators.revoke_token(tx, by(tx, bo), made[0][0])
        await operators.create_token(tx, by(tx, bo), bo, "one more")
        await operators.revoke_all_tokens(tx, by(tx, ada), bo)
        assert [one.revoked_at for one in await operators.list_tokens(tx, bo.id)] == [tx.real_now] * (
            operators_domain.MAX_TOKENS + 1
        )


async def live_tokens(service: Service, person: Person) -> int:
    """How many tokens work."""
    async with service.db.read() as tx:
        return sum(token.is_valid(tx.real_now) for token in await operators.list_tokens(tx, person.id))


async def test_tokens_end_with_the_password_and_with_deactivation(service: Service) -> None:
    await add(service, "administrator")
    bo = await add(service, "finance")
    give = "insert into password (person_id, hash, set_at) values ($1, '$argon2id$', now())"
    for end in (
        "update password set hash = '$argon2id$2', set_at = set_at + interval '1 second' where person_id = $1",
        "delete from password where person_id = $1",
        """update person set profile = profile || '{"active": false}' where id = $1""",
    ):
        async with service.db.write() as tx:
            await tx.execute(f"{give} on conflict do nothing", bo.id)
            await operators.create_token(tx, BY, bo, "laptop")
            await tx.execute("update password set hash = '$argon2id$1' where person_id = $1", bo.id)
        assert await live_tokens(service, bo) == 1, "the same password, hashed anew, ends none"
        async with service.db.write() as tx:
            await tx.execute(end, bo.id)
        assert await live_tokens(service, bo) == 0, end


async def test_a_mail_tells_of_each_token(service: Service) -> None:
    bo = await signing_in.operator(service, "finance")
    async with service.db.write() as tx:
        await operators.create_token(tx, by(tx, bo.person), bo.person, "laptop")
    (subject, text) = (await bo.mails())[-1]
    assert subject == "Token created for your Almoner account"
    assert "“laptop”" in text


async def recorded(service: Service, person: Person) -> list[str]:
    """What an operator did."""
    async with service.db.read() as tx:
        who = tx.ids.encode("operator", person.id)
        rows = await tx.fetch("select action from audit_entry where actor_id = $1 order by position", who)
    return [row["action"] for row in rows]


async def test_the_second_factor_of_an_operator_is_reset(service: Service) -> None:
    ada, bo = await add(service, "administrator"), await signing_in.operator(service, "finance")
    await bo.add_app()
    entered = await bo.begun()
    async with service.db.write() as tx:
        await operators.create_token(tx, BY, bo.person, "laptop")
        await operators.reset_credentials_and_reinvite(tx, by(tx, ada), bo.person.id)
    held = await signing_in.factors_of(bo)
    assert (held.password, held.has_second_factor) == (False, False)
    assert "operator_token.revoked" in await recorded(service, ada)
    assert not await signing_in.found(bo, entered.session_secret)
    assert await live_tokens(service, bo.person) == 0
    assert "Your Almoner sign-in methods were reset" in [mail[0] for mail in await bo.mails()]


async def test_an_address_and_a_name_are_corrected(service: Service) -> None:
    ada, bo = await add(service, "administrator"), await add(service, "finance")
    async with service.db.write() as tx:
        changed = await corrected(tx, by(tx, ada), bo.id, email="bo.okafor@example.org", name="Bo Okafor")
        again = await corrected(tx, by(tx, ada), bo.id, name="Bo O.")
        assert await operators.update_details(tx, by(tx, ada), bo.id, name="Bo O.") == again
        with pytest.raises(IncorrectParams):
            await operators.update_details(tx, by(tx, ada), bo.id, email="bo@")
        rows = await tx.fetch("select details from audit_entry where action = 'operator.changed' order by position")
        reported = await tx.fetch(
            "select payload ->> 'to' as \"to\" from job where payload ->> 'kind' = 'email_changed'"
        )
    assert [row["to"] for row in reported] == [bo.email]
    assert (changed.user_name, changed.email, changed.display_name) == (
        "bo.okafor@example.org", "bo.okafor@example.org", "Bo Okafor",
    )  # fmt: skip
    assert (again.user_name, again.display_name) == ("bo.okafor@example.org", "Bo O.")
    assert again.roles == {"finance"}
    assert [sorted(row["details"]["changed"]) for row in rows] == [["email", "name"], ["name"]]
    with pytest.raises(UserNameTaken):
        async with service.db.write() as tx:
            await operators.update_details(tx, by(tx, ada), bo.id, email=ada.user_name)


async def test_a_stolen_token_gains_no_mailbox(service: Service) -> None:
    ada, new = (await signing_in.operator(service, "administrator")).person, await add(service, "administrator")
    async with service.db.write() as tx:
        with pytest.raises(OwnAccountChangeDenied, match="Another administrator"):
            await operators.update_details(tx, by(tx, ada), ada.id, email="mallory@example.org")
        named = await corrected(tx, by(tx, ada), ada.id, name="Ada Byron")
        moved = await corrected(tx, by(tx, new), new.id, email="the.right.one@example.org")
    assert (named.display_name, moved.email) == ("Ada Byron", "the.right.one@example.org")


async def test_an_administrator_who_never_came_does_not_count(service: Service) -> None:
    last = (await signing_in.operator(service, "administrator")).person
    phantom = await add(service, "administrator")
    async with service.db.write() as tx:
        with pytest.raises(LastAdministratorRequired, match="not signed in yet"):
            await operators.deactivate(tx, BY, last.id)
        with pytest.raises(LastAdministratorRequired):
            await operators.set_roles(tx, BY, last.id, ["finance"])
        await operators.deactivate(tx, BY, phantom.id)
    other = (await signing_in.operator(service, "administrator")).person
    async with service.db.write() as tx:
        await operators.deactivate(tx, BY, last.id)
        with pytest.raises(LastAdministratorRequired):
            await operators.set_roles(tx, BY, other.id, ["finance"])


async def test_the_database_keeps_an_administrator_too(service: Service) -> None:
    last, other = await add(service, "administrator"), await add(service, "administrator")
    take = "delete from person_role where person_id = $1 and role = 'administrator'"
    gone = """update person set profile = profile || '{"active": false}' where id = $1"""
    stays = "operator_last_administrator"
    async with service.db.write() as tx:
        await tx.execute(take, other.id)
    assert await refused(service, take, last.id) == stays
    assert await refused(service, gone, last.id) == stays
    async with service.db.write() as tx:
        await tx.execute(gone, other.id)
        await people.set_granted_roles(tx, last, ["administrator", "finance"])


async def test_two_administrators_taken_at_once_leave_one(service: Service) -> None:
    both_ = [await add(service, "administrator") for _ in range(2)]

    async def take(person: Person) -> str | None:
        try:
            async with service.db.write() as tx:
                await tx.execute("delete from person_role where person_id = $1", person.id)
        except asyncpg.IntegrityConstraintViolationError as error:
            return error.constraint_name
        return None

    refusals = await asyncio.gather(*map(take, both_))
    assert sorted(map(str, refusals)) == ["None", "operator_last_administrator"]


async def test_five_invitations_a_day(service: Service) -> None:
    bo = await add(service, "finance")
    async with service.db.write() as tx:
        for _ in range(operators_domain.MAX_DAILY_INVITATIONS - 1):
            await operators.resend_invitation(tx, BY, bo.id)
        with pytest.raises(OperatorNotInvitable, match="a day"):
            await operators.resend_invitation(tx, BY, bo.id)
    service.clock.advance(days=1)
    async with service.db.write() as tx:
        await operators.resend_invitation(tx, BY, bo.id)
        assert (await people.get(tx, OPERATORS, bo.id)).active
