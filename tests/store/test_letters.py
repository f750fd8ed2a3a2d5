"""Whoever has something done to them is told of it: by mail, and on their own page (V8)."""

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.people import service as people
from almoner.access.security_emails import service as security_emails
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from tests.support.service import Service, Tenant
from tests.support.signing_in import WRONG, member, wrong

BOSS = AuditContext(Actor("member", "member_boss"), "192.0.2.8")


async def test_what_others_change_of_somebody_is_mailed_to_them(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, "developer")
    async with service.db.write() as tx:
        await members.change_roles(tx, tenant.partner, BOSS, who.person.id, ["finance", "read_only"])
        await members.change_roles(tx, tenant.partner, BOSS, who.person.id, ["finance", "read_only"])
        await members.deactivate_member(tx, tenant.partner, BOSS, who.person.id)
        await members.activate_member(tx, tenant.partner, BOSS, who.person.id)
    mails = dict(await who.mails())
    assert len(await who.mails()) == 2, "nothing is told that is as before"
    [roles] = [text for subject, text in mails.items() if subject.startswith("Your roles at")]
    assert "are now: finance, read only." in roles
    assert [subject for subject in mails if subject.endswith("account was deactivated")]
    async with service.db.read() as tx:
        name = tx.ids.encode("member", who.person.id)
        reported = await audit.list_entries_about_person(tx, tenant.partner.id, name)
    assert [one.action for one in reported].count("member.roles_changed") == 1


async def test_a_new_mailbox_is_told_to_the_old_one(service: Service, tenant: Tenant) -> None:
    """Whoever has the directory could otherwise move the mails of an owner, and nobody would see it."""
    who = await member(service, tenant, "owner")
    async with service.db.write() as tx:
        before = await people.get_for_update(tx, who.realm, who.person.id)
        profile = {**before.profile, "emails": [{"value": f"new-{before.email}"}]}
        await security_emails.notify_of_account_changes(tx, before, await people.update_profile(tx, before, profile))
    [(subject, text)] = await who.mails()
    assert subject.endswith("email address was changed")
    assert "new-" not in text, "whoever has the old mailbox learns nothing of the new one"


async def test_v8_ones_own_page_tells_what_was_done_to_one(service: Service, tenant: Tenant) -> None:
    who, other = await member(service, tenant), await member(service, tenant)
    async with service.db.write() as tx:
        themself = AuditContext(Actor("member", tx.ids.encode("member", who.person.id)), None)
        await members.change_roles(tx, tenant.partner, BOSS, who.person.id, ["finance"])
        await members.change_roles(tx, tenant.partner, themself, other.person.id, ["finance"])
    await wrong(who)
    async with service.db.read() as tx:
        reported = await audit.list_entries_about_person(tx, tenant.partner.id, themself.actor.id)
    assert [one.action for one in reported[:2]] == ["sign_in.refused", "member.roles_changed"]
    assert {one.subject for one in reported} == {themself.actor.id}
    assert reported[0].actor == Actor("system", "sign_ins"), f"whoever typed {WRONG!r} is not known"
