"""Nobody takes over an account by its email address, in whatever order the steps are taken (V8)."""

import itertools
from collections.abc import Mapping
from contextlib import suppress

import asyncpg
import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.members.domain import MemberNotInvitable
from almoner.access.members.service import member_details
from almoner.access.operators import service as operators
from almoner.access.operators.domain import (
    Approval,
    OperatorActionDenied,
    OperatorsNotIndependent,
    OwnAccountChangeDenied,
    SecondOperatorRequired,
)
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, Person, UserNameTaken, member_realm
from almoner.access.sign_ins.domain import EmailAddressRecentlyChanged
from almoner.access.sign_ins.service import links
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Tx
from tests.support import factories, signing_in
from tests.support.service import Service, Tenant
from tests.support.signing_in import Account
from tests.support.terminal import BY

STEPS = ("change", "reset", "deactivate", "activate", "resend", "roles")


@pytest.fixture
async def service(alone: Service) -> Service:
    """A service of its own: who the administrators are matters here."""
    return alone


def by(tx: Tx, person: Person) -> AuditContext:
    """The operator as the one who acts."""
    return AuditContext(Actor("operator", tx.ids.encode("operator", person.id)), None)


def new_address() -> str:
    return f"{factories.unique('new').replace(' ', '.')}@example.org"


async def administrator(service: Service) -> Account:
    return await signing_in.operator(service, "administrator", "finance")


async def enter(service: Service, who: Account, whose: Account, address: str) -> Person | Approval:
    """An administrator enters a new address."""
    async with service.db.write() as tx:
        return await operators.update_details(tx, by(tx, who.person), whose.person.id, email=address)


async def recipients(service: Service, kind: str) -> list[str]:
    """Who got a mail of a kind."""
    await service.drain()
    async with service.db.read() as tx:
        rows = await tx.fetch("select recipient from sandbox_mail where subject like $1 order by created_at, id", kind)
    return [row["recipient"] for row in rows]


async def stored(service: Service, one: Account) -> Person:
    async with service.db.read() as tx:
        return await people.get(tx, one.realm, one.person.id)


async def store_profile(service: Service, one: Account, profile: Mapping[str, object]) -> None:
    """As a program that does not ask the service for operators."""
    async with service.db.write() as tx:
        held = await people.get_for_update(tx, OPERATORS, one.person.id)
        await people.update_profile(tx, held, {**held.profile, **profile})


async def test_v8_two_administrators_change_the_address_of_an_operator(service: Service) -> None:
    ada, cleo, bo = await administrator(service), await administrator(service), await signing_in.operator(service)
    address = new_address()
    entered = await enter(service, ada, bo, address)
    assert isinstance(entered, Approval)
    assert (await stored(service, bo)).email == bo.person.email
    assert await recipients(service, "A new email address was entered%") == [bo.person.email]
    with pytest.raises(SecondOperatorRequired, match="already confirmed"):
        await enter(service, ada, bo, address)
    changed = await enter(service, cleo, bo, address.upper())
    assert isinstance(changed, Person)
    assert (changed.user_name.lower(), (changed.email or "").lower()) == (address, address)
    assert await recipients(service, "%email address was changed") == [bo.person.email]
    for other in (ada, cleo):
        async with service.db.write() as tx:
            with pytest.raises(OperatorsNotIndependent):
                await operators.ensure_independent_operator(tx, changed, [by(tx, other.person).actor.id])
    assert (await bo.recorded())[-2:] == ["operator.email_change_requested", "operator.changed"]


async def test_v8_another_address_begins_anew_and_a_taken_one_is_refused(service: Service) -> None:
    ada, cleo, bo = await administrator(service), await administrator(service), await signing_in.operator(service)
    address = new_address()
    await enter(service, ada, bo, address)
    assert isinstance(await enter(service, cleo, bo, new_address()), Approval)
    assert isinstance(await enter(service, ada, bo, address), Approval)
    service.clock.advance(days=7)
    assert isinstance(await enter(service, cleo, bo, address), Approval), "a week later the first one has expired"
    async with service.db.write() as tx:
        guest = await operators.add_operator(tx, BY, new_address(), None, ["reviewer"])
    with pytest.raises(UserNameTaken):
        await enter(service, ada, bo, guest.user_name)
    async with service.db.write() as tx:
        waiting = await operators.update_details(
            tx, by(tx, ada.person), bo.person.id, email=new_address(), name="Bo Okafor"
        )
        with pytest.raises(SecondOperatorRequired, match="Two administrators"):
            await operators.update_details(tx, BY, bo.person.id, email=address)
    assert isinstance(waiting, Approval)
    assert ((await stored(service, bo)).display_name, (await stored(service, bo)).email) == (
        "Bo Okafor", bo.person.email,
    )  # fmt: skip


async def test_v8_an_administrator_and_their_own_guest_are_not_two(service: Service) -> None:
    ada, bo = await administrator(service), await signing_in.operator(service)
    async with service.db.write() as tx:
        guest = await operators.add_operator(tx, by(tx, ada.person), new_address(), None, ["administrator"])
    address = new_address()
    await enter(service, ada, bo, address)
    with pytest.raises(OperatorsNotIndependent):
        await enter(service, Account(service, guest), bo, address)


async def test_v8_an_administrator_confirms_an_own_address_that_another_entered(service: Service) -> None:
    ada, bo = await administrator(service), await administrator(service)
    address = new_address()
    with pytest.raises(OwnAccountChangeDenied):
        await enter(service, bo, bo, address)
    await enter(service, ada, bo, address)
    with pytest.raises(OwnAccountChangeDenied):
        await enter(service, bo, bo, new_address())
    assert isinstance(await enter(service, bo, bo, address), Person)
    async with service.db.write() as tx:
        with pytest.raises(OperatorsNotIndependent):
            await operators.ensure_independent_operator(tx, ada.person, [by(tx, bo.person).actor.id])


async def take(service: Service, step: str, ada: Account, bo: Account) -> None:
    """A step of an administrator; a refused one is no step."""
    async with service.db.write() as tx:
        hers, his = by(tx, ada.person), bo.person.id
        match step:
            case "change":
                await operators.update_details(tx, hers, his, email=f"ada.{bo.person.email}")
            case "reset":
                await operators.reset_credentials_and_reinvite(tx, hers, his)
            case "deactivate":
                await operators.deactivate(tx, hers, his)
            case "activate":
                await operators.activate(tx, hers, his)
            case "resend":
                await operators.resend_invitation(tx, hers, his)
            case _:
                await operators.set_roles(tx, hers, his, ["reviewer"])


async def test_v8_no_order_of_steps_directs_an_operators_links_to_another_mailbox(service: Service) -> None:
    """All orders of three of the steps, one administrator taking them all, some twice."""
    ada = await administrator(service)
    for order in itertools.permutations(STEPS, 3):
        bo = await signing_in.operator(service)
        for step in (*order, "change", "reset"):
            with suppress(OperatorActionDenied):
                await take(service, step, ada, bo)
        assert (await stored(service, bo)).email == bo.person.email, order
    async with service.db.read() as tx:
        sent = await tx.fetchval(
            "select count(*) from job where kind = 'security_emails.send' and payload::text like '%ada.%'"
        )
    assert sent == 0


async def test_v8_no_statement_changes_an_operators_address(service: Service) -> None:
    ada, bo = await administrator(service), await signing_in.operator(service)
    await enter(service, ada, bo, new_address())
    for profile in ({"userName": "ada@example.org"}, {"emails": [{"value": "ada@example.org"}]}):
        with pytest.raises(asyncpg.CheckViolationError, match="two administrators must change the address"):
            await store_profile(service, bo, profile)


@pytest.mark.parametrize("act", ["owner", "administrator", "directory"])
async def test_v8_whoever_changes_a_members_address_gets_no_link_for_a_week(
    service: Service, tenant: Tenant, act: str
) -> None:
    victim, owner = await signing_in.member(service, tenant), await signing_in.member(service, tenant, "owner")
    async with service.db.write() as tx:
        if act == "directory":
            held = await people.get_for_update(tx, victim.realm, victim.person.id)
            await people.update_profile(tx, held, {**held.profile, "emails": [{"value": "eve@example.org"}]})
        else:
            hers = AuditContext(Actor("member", tx.ids.encode("member", owner.person.id)), None)
            context = hers if act == "owner" else BY
            await member_details.update_details(tx, tenant.partner, context, victim.person.id, email="eve@example.org")

    async def asked() -> int:
        async with service.db.write() as tx:
            await links.request_password_reset(tx, victim.realm, victim.name, "192.0.2.1")
        await service.drain()
        async with service.db.read() as tx:
            return int(await tx.fetchval("select count(*) from one_time_link where person_id = $1", victim.person.id))

    assert await asked() == 0
    with pytest.raises(EmailAddressRecentlyChanged, match="less than 7 days ago"):
        async with service.db.write() as tx:
            await members.reset_credentials_and_reinvite(tx, tenant.partner, BY, victim.person.id)
    assert (await signing_in.factors_of(victim)).password
    with pytest.raises(asyncpg.CheckViolationError, match="has just changed"):
        async with service.db.write() as tx:
            await tx.execute(
                "insert into one_time_link (id, person_id, purpose, created_at, expires_at) values ($1, $2, 'reset', "
                "$3, $3::timestamptz + interval '1 hour')",
                tx.new_id(),
                victim.person.id,
                tx.now,
            )
    service.clock.advance(days=7)
    assert await asked() == 1


async def test_v8_nor_who_resets_the_sign_in_first(service: Service, tenant: Tenant) -> None:
    victim, owner = await signing_in.member(service, tenant), await signing_in.member(service, tenant, "owner")
    partner = tenant.partner
    async with service.db.write() as tx:
        _, link = await members.reset_credentials_and_reinvite(tx, partner, BY, victim.person.id)
        assert link is None
        _, link = await members.resend_invitation(tx, partner, BY, victim.person.id)
        assert link is None, "the mailbox alone gets the link of an account that was used"
        await member_details.update_details(tx, partner, BY, victim.person.id, email="eve@example.org")
        with pytest.raises(MemberNotInvitable, match="less than 7 days ago"):
            await members.resend_invitation(tx, partner, BY, victim.person.id)
    assert await recipients(service, "Sign-in methods of a member of%") == [owner.person.email]
    async with service.db.read() as tx:
        assert not await tx.fetchval(
            "select exists (select from one_time_link where person_id = $1 and not revoked and replaced_at is null)",
            victim.person.id,
        )


async def test_v8_who_came_by_a_provider_alone_is_somebody_too(service: Service, tenant: Tenant) -> None:
    victim = await signing_in.member(service, tenant, password=None)
    await victim.begun()
    async with service.db.write() as tx:
        await member_details.update_details(tx, tenant.partner, BY, victim.person.id, email="eve@example.org")
        with pytest.raises(EmailAddressRecentlyChanged):
            await members.reset_credentials_and_reinvite(tx, tenant.partner, BY, victim.person.id)


async def test_a_mistyped_address_of_a_member_who_never_came_is_put_right_at_once(
    service: Service, tenant: Tenant
) -> None:
    async with service.db.write() as tx:
        mia, _ = await members.invite_member(tx, tenant.partner, BY, "mai@example.org")
        await member_details.update_details(tx, tenant.partner, BY, mia.id, email="mia@example.org")
        again, link = await members.resend_invitation(tx, tenant.partner, BY, mia.id)
        assert (again.email, link is None) == ("mia@example.org", False)
        assert not await people.has_had_credentials(tx, await people.get(tx, member_realm(tenant.partner), mia.id))
