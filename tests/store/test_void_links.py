"""What browsers and mailboxes were given before counts no more once the password, the mailbox or the person changed."""

from dataclasses import replace

import pytest

from almoner.access.people import service as people
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser, InvalidEmailLink, NewSignIn, Purpose, SecondFactorTicketExpired
from almoner.access.sign_ins.service import account, links, sign_in_methods
from tests.support.service import Service, Tenant
from tests.support.signing_in import AWAY, BY, FIREFOX, NEW, PASSWORD, Account, found, member, second


@pytest.fixture
async def ada(service: Service, tenant: Tenant) -> Account:
    """A member with a password."""
    return await member(service, tenant)


async def mailed(who: Account, purpose: Purpose) -> str:
    """The token of a new link."""
    async with who.service.db.write() as tx:
        if purpose == "invitation":
            return links.create_link_token(tx, await links.send_invitation(tx, who.person))
        await links.request_password_reset(tx, who.realm, who.name, who.home.ip_address)
    await who.service.drain()
    async with who.service.db.read() as tx:
        [link] = await tx.fetch(
            "select id from one_time_link where person_id = $1 and purpose = 'reset' and not revoked", who.person.id
        )
        return tx.vault.create_page_token("reset", link["id"])


async def is_revoked(who: Account, token: str, purpose: Purpose) -> None:
    """The link opens nothing, and says why."""
    with pytest.raises(InvalidEmailLink) as closed:
        await links.set_password_by_link(who.service.db, token, purpose, "another long phrase", who.home)
    assert closed.value.why == "revoked"


async def write_to(who: Account, email: str) -> None:
    """Give the person another mailbox, as a directory does."""
    async with who.service.db.write() as tx:
        held = await people.get_for_update(tx, who.realm, who.person.id)
        who.person = await people.update_profile(tx, held, {**held.profile, "emails": [{"value": email}]})


@pytest.mark.parametrize("purpose", ["invitation", "reset"])
async def test_a_link_to_the_old_mailbox_opens_nothing(ada: Account, purpose: Purpose) -> None:
    token = await mailed(ada, purpose)
    await write_to(ada, "corrected@example.org")
    await is_revoked(ada, token, purpose)
    ada.service.clock.advance(days=7)
    again = await mailed(ada, purpose)
    await links.set_password_by_link(ada.service.db, again, purpose, NEW, ada.home)


async def test_another_change_of_the_profile_leaves_the_link(ada: Account) -> None:
    token = await mailed(ada, "reset")
    async with ada.service.db.write() as tx:
        held = await people.get_for_update(tx, ada.realm, ada.person.id)
        await people.update_profile(tx, held, {**held.profile, "displayName": "Ada"})
    await links.set_password_by_link(ada.service.db, token, "reset", NEW, ada.home)


async def test_a_reset_that_a_thief_asked_for_is_void_with_a_new_password(ada: Account) -> None:
    async with ada.service.db.write() as tx:
        entered = await sign_ins.begin_sign_in(tx, ada.person, "passkey", ada.home)
    token = await mailed(ada, "reset")
    await account.change_password_and_issue_device_cookie(ada.service.db, ada.person, entered.sign_in, NEW, ada.home)
    await is_revoked(ada, token, "reset")


async def test_whoever_comes_in_otherwise_needs_no_link(service: Service, tenant: Tenant) -> None:
    cases: list[tuple[Purpose, str | None]] = [("invitation", None), ("reset", PASSWORD)]
    for purpose, password in cases:
        who = await member(service, tenant, password=password)
        token = await mailed(who, purpose)
        await who.begun()
        await is_revoked(who, token, purpose)


async def test_being_activated_again_brings_no_invitation_back(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, password=None)
    token = await mailed(who, "invitation")
    await who.deactivate()
    await who.deactivate(active=True)
    await is_revoked(who, token, "invitation")


async def test_a_password_set_for_who_came_before_is_told(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, password=None)
    await who.begun()
    await links.set_password_by_link(service.db, await mailed(who, "invitation"), "invitation", NEW, AWAY)
    assert [subject for subject, _ in await who.mails() if "was changed" in subject]


async def test_the_second_step_ends_with_the_password_it_followed(ada: Account) -> None:
    await ada.add_app()
    needed = await second(ada)
    async with ada.service.db.write() as tx:
        entered = await sign_ins.begin_sign_in(tx, ada.person, "passkey", ada.home)
    assert (
        await sign_in_methods.get_pending_second_factor(ada.service.db, ada.realm, needed.ticket)
    ).person.id == ada.person.id
    await account.change_password_and_issue_device_cookie(ada.service.db, ada.person, entered.sign_in, NEW, ada.home)
    with pytest.raises(SecondFactorTicketExpired):
        await sign_in_methods.get_pending_second_factor(ada.service.db, ada.realm, needed.ticket)
    with pytest.raises(SecondFactorTicketExpired):
        await sign_in_methods.sign_in_by_second_factor_code(
            ada.service.db, ada.realm, needed.ticket, ada.code(), ada.home
        )


async def test_the_second_step_ends_with_all_sign_ins(ada: Account) -> None:
    await ada.add_app()
    needed = await second(ada)
    async with ada.service.db.write() as tx:
        await sign_ins.end_all_sign_ins(tx, ada.person, "revoked", BY)
    with pytest.raises(SecondFactorTicketExpired):
        await sign_in_methods.sign_in_by_second_factor_code(
            ada.service.db, ada.realm, needed.ticket, ada.code(), ada.home
        )


async def test_a_thiefs_browser_is_unknown_again_after_the_password_was_changed(ada: Account) -> None:
    mine, thief = await ada.enter(), Browser("9.9.9.9", FIREFOX)
    stolen = (await ada.enter(browser=thief)).device_cookie
    stored = await account.change_password_and_issue_device_cookie(
        ada.service.db, ada.person, mine.sign_in, NEW, ada.home
    )
    assert await found(ada, mine.session_secret)

    async def told() -> int:
        return len([subject for subject, _ in await ada.mails() if "ew sign-in" in subject])

    before = await told()
    assert isinstance(await ada.enter(NEW, replace(ada.home, device_cookie=stored)), NewSignIn)
    assert await told() == before, "the browser in which it was changed is known"
    await ada.enter(NEW, Browser("9.9.9.10", FIREFOX, stolen))
    assert await told() == before + 1


async def test_a_browser_is_unknown_again_after_all_sign_ins_were_ended(ada: Account) -> None:
    device = (await ada.enter()).device_cookie
    async with ada.service.db.write() as tx:
        await sign_ins.end_all_sign_ins(tx, ada.person, "revoked", BY)
    await ada.enter(browser=Browser("9.9.9.10", FIREFOX, device))
    assert [subject for subject, _ in await ada.mails() if "ew sign-in" in subject]
