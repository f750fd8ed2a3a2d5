"""Who lost the second factor begins anew by the mailbox; what helps who has no password; what is shown (V8)."""

from typing import Any

import pytest

from almoner.access.accounts import jobs as accounts_jobs
from almoner.access.accounts import service as accounts
from almoner.access.credentials.service import authenticators, passkeys, passwords
from almoner.access.notifications import service as notifications
from almoner.access.people import service as people
from almoner.access.sign_ins.domain import (
    Browser,
    InvalidEmailLink,
    PendingSecondFactor,
    SecondFactorTicketExpired,
    SignInFailed,
)
from almoner.access.sign_ins.service import account, links, sign_in_methods
from almoner.platform.jobs.queue import Answer, JobDone, JobResultRecorded, JobRetry
from almoner.platform.outbound.mail import TransientMailFailure
from tests.support import emails
from tests.support.security_key import SecurityKey
from tests.support.service import Service, Tenant
from tests.support.signing_in import BY, FIREFOX, NEW, Account, factors_of, found, member, second, tried

BROWSER = b"the cookie of one browser"


@pytest.fixture
async def ada(service: Service, tenant: Tenant) -> Account:
    """An owner with a password."""
    return await member(service, tenant, "owner")


async def add_passkey(who: Account) -> SecurityKey:
    """Register one."""
    key = SecurityKey(who.service.db.deployment.base_urls.pages)
    async with who.service.db.write() as tx:
        answer = key.create(await passkeys.build_registration_options(tx, who.person, BROWSER))
        await account.add_passkey(tx, who.person, BROWSER, answer, "Laptop", who.home)
    return key


async def shown(who: Account, key: SecurityKey) -> str:
    """What the browser answers to a fresh challenge."""
    async with who.service.db.read() as tx:
        return key.get(await passkeys.build_authentication_options(tx, BROWSER))


async def ask_reset(who: Account) -> list[str]:
    """The subjects of the mails after the password was said to be forgotten."""
    async with who.service.db.write() as tx:
        await links.request_password_reset(tx, who.realm, who.name, who.home.ip_address)
    return [subject for subject, _ in await who.mails()]


async def reset_token(who: Account) -> str:
    """Of the open reset link."""
    async with who.service.db.read() as tx:
        link = await tx.fetchval(
            "select id from one_time_link where person_id = $1 and purpose = 'reset'", who.person.id
        )
        return tx.vault.create_page_token("reset", link)


async def test_who_lost_the_second_factor_begins_anew_by_the_mailbox_alone(ada: Account) -> None:
    """With the password left, whoever knows it would add a second factor of their own."""
    entered = await ada.enter()
    await ada.add_app()
    half = await second(ada)
    await ask_reset(ada)
    old = await reset_token(ada)
    async with ada.service.db.write() as tx:
        link = await account.reset_credentials_and_send_invitation(
            tx, await people.get_for_update(tx, ada.realm, ada.person.id), BY
        )
        token = links.create_link_token(tx, link)
    held = await factors_of(ada)
    assert (held.password, held.has_second_factor, held.recovery_codes) == (False, False, 0)
    assert not await found(ada, entered.session_secret)
    with pytest.raises(SignInFailed):
        await ada.enter()
    with pytest.raises(SecondFactorTicketExpired):
        await sign_in_methods.get_pending_second_factor(ada.service.db, ada.realm, half.ticket)
    with pytest.raises(InvalidEmailLink, match="revoked"):
        await links.set_password_by_link(ada.service.db, old, "reset", NEW, ada.home)
    mails = dict(await ada.mails())
    assert f"token={token}" in next(text for subject, text in mails.items() if subject.startswith("Your invitation"))
    assert [subject for subject in mails if subject.endswith("sign-in methods were reset")]
    await links.set_password_by_link(ada.service.db, token, "invitation", NEW, ada.home)
    await ada.enter(NEW, Browser("9.9.9.9", FIREFOX, entered.device_cookie))
    assert [subject for subject, _ in await ada.mails() if subject.startswith("New sign-in")], (
        "no browser is known any more"
    )
    assert (await ada.recorded()).count("second_factor.reset") == 1


async def test_a_reset_helps_who_lost_the_passkey_and_has_no_password(service: Service, tenant: Tenant) -> None:
    """Recovery codes are asked for after a password: without one they would open nothing."""
    who = await member(service, tenant, password=None)
    await add_passkey(who)
    async with service.db.write() as tx:
        codes = await account.create_recovery_codes(tx, who.person, who.home)
    assert [subject for subject in await ask_reset(who) if subject.startswith("Reset your ")]
    await links.set_password_by_link(service.db, await reset_token(who), "reset", NEW, who.home)
    needed = await sign_in_methods.sign_in_by_password(service.db, who.realm, who.name, NEW, who.home)
    assert isinstance(needed, PendingSecondFactor)
    entered = await sign_in_methods.sign_in_by_second_factor_code(
        service.db, who.realm, needed.ticket, codes[0], who.home
    )
    assert entered.sign_in.method == "password_recovery"


async def test_a_passkey_whose_count_goes_back_at_a_proof_is_told(ada: Account) -> None:
    key = await add_passkey(ada)
    async with ada.service.db.write() as tx:
        await passkeys.verify_passkey(
            tx, ada.realm, BROWSER, key.get(await passkeys.build_authentication_options(tx, BROWSER))
        )
    entered = await ada.begun()
    key.count = 0
    answer = await shown(ada, key)
    await sign_in_methods.reauthenticate_by_passkey(
        ada.service.db, ada.person, entered.sign_in, BROWSER, answer, ada.home
    )
    assert [subject for subject, _ in await ada.mails() if "may have been copied" in subject]


async def test_v8_every_look_at_a_secret_is_recorded(ada: Account) -> None:
    async with ada.service.db.write() as tx:
        await authenticators.begin_setup(tx, ada.person, "Almoner", "192.0.2.4")
        await authenticators.get_pending_setup(tx, ada.person, "Almoner", "192.0.2.4")
    assert (await ada.recorded()).count("authenticator.viewed") == 2
    async with ada.service.db.read() as tx:
        [row] = await tx.fetch(
            "select distinct address, details from audit_entry where action = 'authenticator.viewed' and subject = $1",
            tx.ids.encode("member", ada.person.id),
        )
    assert (row["address"], row["details"]) == ("192.0.2.4", None)


async def test_tries_of_a_name_count_together_however_it_is_written(ada: Account) -> None:
    """PostgreSQL folds a final sigma as any other: a name that nobody has must be slowed no later than a known one."""
    async with ada.service.db.write() as tx:
        for name in ("ΝΙΚΟΣ", "νικος", "νικοσ", "Νίκος"):
            await passwords.load_password_of_user_name(tx, ada.realm, name)

    async def rows() -> int:
        async with ada.service.db.read() as tx:
            sql = "select count(*) from login_attempt where realm = $1 and network = '*'"
            return int(await tx.fetchval(sql, ada.realm.id))

    before = await rows()
    for name in ("ΝΙΚΟΣ", "νικος", "νικοσ"):
        await tried(ada, ada.home, name=name)
    assert await rows() == before + 1


class Nobody:
    """A postman who is always late."""

    async def send(self, mail: Any) -> None:
        """Not now."""
        raise TransientMailFailure("later")


async def test_the_mail_with_addresses_is_given_up_after_a_day(ada: Account) -> None:
    service = ada.service
    assert ada.person.email
    async with service.db.write() as tx:
        await accounts.email_sign_in_page_urls(tx, ada.person.email)
        payload = await tx.fetchval(
            "select payload from job where kind = $1 order by id desc limit 1", accounts.SEND_ADDRESSES.name
        )

    async def send(attempt: int) -> Answer:
        [addresses] = accounts_jobs.notifications
        return await emails.send(service.db, addresses, Nobody(), payload, service.clock.now(), attempt)

    assert isinstance(await send(1439), JobRetry)
    assert await send(1440) == JobResultRecorded(JobDone())
    async with service.db.read() as tx:
        [found] = [
            one for one in await notifications.list_undeliverable_emails(tx, 50) if one.recipient == ada.person.email
        ]
    assert (found.kind, found.reason, found.was_rejected) == (accounts.SEND_ADDRESSES.name, "later", False)
