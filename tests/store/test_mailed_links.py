"""Invitations and links to a new password: each works once, and says why it does not (H11)."""

import re

import pytest

from almoner.access.credentials.domain import PasswordTooWeak
from almoner.access.sign_ins.domain import (
    InvalidEmailLink,
    InvalidLinkReason,
    PendingSecondFactor,
)
from almoner.access.sign_ins.service import links, sign_in_methods
from tests.support.service import Service, Tenant
from tests.support.signing_in import (
    NEW,
    Account,
    found,
    member,
    wrong,
)


@pytest.fixture
async def ada(service: Service, tenant: Tenant) -> Account:
    """A member with a password."""
    return await member(service, tenant)


async def mailed_token(who: Account, subject: str) -> str:
    """The token of the newest mail with that subject."""
    text = [body for about, body in await who.mails() if about.startswith(subject)][-1]
    match = re.search(r"https?://\S+/(?:reset|invitation)\?token=(\S+)", text)
    assert match, text
    return match[1]


async def ask_reset(who: Account, name: str | None = None) -> None:
    """Somebody forgot the password."""
    async with who.service.db.write() as tx:
        await links.request_password_reset(tx, who.realm, name or who.name, who.home.ip_address)
    await who.service.drain()


async def closed(who: Account, token: str, password: str = NEW) -> InvalidLinkReason:
    """Why a reset link opens nothing."""
    with pytest.raises(InvalidEmailLink) as error:
        await links.set_password_by_link(who.service.db, token, "reset", password, who.home)
    return error.value.why


async def test_a_forgotten_password_is_set_by_a_link_that_works_once(ada: Account) -> None:
    entered = await ada.enter()
    await wrong(ada, times=7)
    await ask_reset(ada, ada.name.upper())
    token = await mailed_token(ada, "Reset your ")
    with pytest.raises(PasswordTooWeak):
        await links.set_password_by_link(ada.service.db, token, "reset", "short", ada.home)
    assert (await links.set_password_by_link(ada.service.db, token, "reset", NEW, ada.home)).id == ada.person.id
    assert not await found(ada, entered.session_secret)
    await ada.enter(NEW)
    assert await closed(ada, token) == "used"
    assert {"password_reset.requested", "password.changed", "sign_in.revoked"} <= set(await ada.recorded())


async def test_links_say_why_they_open_nothing(ada: Account) -> None:
    """H11."""
    await ask_reset(ada)
    first = await mailed_token(ada, "Reset your ")
    ada.service.clock.advance(minutes=1)
    await ask_reset(ada)
    last = await mailed_token(ada, "Reset your ")
    assert await closed(ada, first) == "replaced"
    assert await closed(ada, first[:-1] + ("A" if first[-1] != "A" else "B")) == "unknown"
    with pytest.raises(InvalidEmailLink):
        await links.set_password_by_link(ada.service.db, last, "invitation", NEW, ada.home)
    ada.service.clock.advance(minutes=60)
    assert await closed(ada, last) == "expired"


async def test_a_link_of_somebody_deactivated_opens_nothing(ada: Account) -> None:
    await ask_reset(ada)
    token = await mailed_token(ada, "Reset your ")
    await ada.deactivate()
    assert await closed(ada, token) == "unknown"


async def test_a_reset_is_offered_to_those_with_a_password_three_times_an_hour(ada: Account, tenant: Tenant) -> None:
    for _ in range(5):
        ada.service.clock.advance(minutes=1)
        await ask_reset(ada)
    assert len(await ada.mails()) == 3
    by_provider, gone = await member(ada.service, tenant, password=None), await member(ada.service, tenant)
    await gone.deactivate()
    for who in (by_provider, gone):
        await ask_reset(who)
        assert await who.mails() == []
    await ask_reset(ada, "nobody-has-this-name")


async def test_a_reset_does_not_take_the_second_factor_away(ada: Account) -> None:
    await ada.add_app()
    await ask_reset(ada)
    await links.set_password_by_link(ada.service.db, await mailed_token(ada, "Reset your "), "reset", NEW, ada.home)
    needed = await sign_in_methods.sign_in_by_password(ada.service.db, ada.realm, ada.name, NEW, ada.home)
    assert isinstance(needed, PendingSecondFactor)


async def test_an_invitation_lasts_seven_days_and_the_newest_counts(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, password=None)
    tokens = []
    for _ in range(2):
        service.clock.advance(minutes=1)
        async with service.db.write() as tx:
            made = await links.send_invitation(tx, who.person)
            assert await links.find_invitation_link(tx, who.person) == made
        tokens.append(await mailed_token(who, "Your invitation to"))
    with pytest.raises(InvalidEmailLink, match="replaced"):
        await links.set_password_by_link(service.db, tokens[0], "invitation", NEW, who.home)
    service.clock.advance(days=7, minutes=-1)
    await links.set_password_by_link(service.db, tokens[1], "invitation", NEW, who.home)
    assert (await who.enter(NEW)).sign_in.method == "password"
    assert not [subject for subject, _ in await who.mails() if "was changed" in subject]
