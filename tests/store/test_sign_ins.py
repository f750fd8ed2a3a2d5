"""Ways in, slowing, mailed links, and sign-ins that end (ASVS 6.3, 7.2 to 7.5)."""

import re
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import asyncpg
import pytest

from almoner.access.credentials.domain import PasswordTooWeak
from almoner.access.credentials.service import passkeys, passwords
from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins import store as sign_ins_store
from almoner.access.sign_ins.domain import (
    NewSignIn,
    SecondFactorTicketExpired,
    SignInFailed,
)
from almoner.access.sign_ins.service import account, links, sign_in_methods
from tests.support.database import TestDatabase
from tests.support.security_key import SecurityKey
from tests.support.service import Service, Tenant, serving
from tests.support.signing_in import (
    AWAY,
    BY,
    NEW,
    PASSWORD,
    WRONG,
    Account,
    found,
    member,
    operator,
    second,
)

BROWSER = b"the cookie of one browser"


@pytest.fixture
async def ada(service: Service, tenant: Tenant) -> Account:
    """A member with a password."""
    return await member(service, tenant)


async def reasons(who: Account) -> list[str | None]:
    """Why the person's sign-ins ended, newest first."""
    async with who.service.db.read() as tx:
        return [one.end_reason for one in await sign_ins.list_by_person(tx, who.person)]


async def test_a_password_signs_in_whoever_has_nothing_more(ada: Account) -> None:
    entered = await ada.enter()
    assert (entered.sign_in.method, entered.sign_in.device) == ("password", "Firefox on Windows")
    async with ada.service.db.single_statement() as tx:
        seen = await sign_ins.find_sign_in_by_secret(tx, ada.realm, entered.session_secret)
    assert seen is not None
    assert (seen[0].id, seen[1].id, seen[1].roles) == (entered.sign_in.id, ada.person.id, frozenset({"developer"}))
    async with ada.service.db.read() as tx:
        stored = await tx.fetchval("select s::text from sign_in s where id = $1", entered.sign_in.id)
    assert entered.session_secret not in stored
    assert len(entered.session_secret) == 43
    assert "signed_in" in await ada.recorded()


async def test_names_are_compared_without_regard_to_case_and_within_one_partner(ada: Account) -> None:
    other = member_realm((await ada.service.tenant()).partner)
    entered = await sign_in_methods.sign_in_by_password(ada.service.db, ada.realm, ada.name.upper(), PASSWORD, ada.home)
    assert isinstance(entered, NewSignIn)
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_password(ada.service.db, other, ada.name, PASSWORD, ada.home)
    async with ada.service.db.single_statement() as tx:
        assert await sign_ins.find_sign_in_by_secret(tx, other, entered.session_secret) is None, (
            "a cookie is of one realm"
        )


async def test_an_app_is_asked_for_after_the_password(ada: Account) -> None:
    await ada.add_app()
    needed = await second(ada)
    assert needed.factors.authenticator
    db = ada.service.db
    assert await sign_in_methods.get_pending_second_factor(db, ada.realm, needed.ticket) == needed
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_second_factor_code(db, ada.realm, needed.ticket, ada.wrong_code(), ada.home)
    entered = await sign_in_methods.sign_in_by_second_factor_code(db, ada.realm, needed.ticket, ada.code(), ada.home)
    assert entered.sign_in.method == "password_totp"
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_second_factor_code(db, ada.realm, needed.ticket, ada.code(), ada.home)


async def test_a_recovery_code_stands_in_once_and_is_told_of(ada: Account) -> None:
    await ada.add_app()
    async with ada.service.db.write() as tx:
        codes = await account.create_recovery_codes(tx, ada.person, ada.home)
    needed = await second(ada)
    entered = await sign_in_methods.sign_in_by_second_factor_code(
        ada.service.db, ada.realm, needed.ticket, codes[3], ada.home
    )
    assert entered.sign_in.method == "password_recovery"
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_second_factor_code(
            ada.service.db, ada.realm, needed.ticket, codes[3], ada.home
        )
    assert any("Remaining codes: 9" in text for _, text in await ada.mails())


async def test_a_ticket_is_of_one_realm_and_ten_minutes(ada: Account) -> None:
    await ada.add_app()
    needed = await second(ada)
    other = member_realm((await ada.service.tenant()).partner)
    for realm, ticket in ((other, needed.ticket), (ada.realm, needed.ticket[:-4] + "AAAA"), (ada.realm, "")):
        with pytest.raises(SecondFactorTicketExpired):
            await sign_in_methods.sign_in_by_second_factor_code(ada.service.db, realm, ticket, ada.code(), ada.home)
    ada.service.clock.advance_wall(minutes=10)
    with pytest.raises(SecondFactorTicketExpired):
        await sign_in_methods.sign_in_by_second_factor_code(
            ada.service.db, ada.realm, needed.ticket, ada.code(), ada.home
        )


async def add_passkey(who: Account) -> SecurityKey:
    """A passkey of the person."""
    key = SecurityKey(who.service.db.deployment.base_urls.pages)
    async with who.service.db.write() as tx:
        answer = key.create(await passkeys.build_registration_options(tx, who.person, BROWSER))
        await account.add_passkey(tx, who.person, BROWSER, answer, "Laptop", who.home)
    return key


async def answer_of(who: Account, key: SecurityKey) -> str:
    """What the browser posts."""
    async with who.service.db.read() as tx:
        return key.get(await passkeys.build_authentication_options(tx, BROWSER))


async def test_a_passkey_alone_signs_in(service: Service) -> None:
    who = await operator(service)
    key = await add_passkey(who)
    entered = await sign_in_methods.sign_in_by_passkey(
        service.db, who.realm, BROWSER, await answer_of(who, key), who.home
    )
    assert (entered.sign_in.method, entered.person.id) == ("passkey", who.person.id)
    assert (await second(who)).factors.passkeys == 1, "the password alone is not enough any more"
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_passkey(service.db, who.realm, b"other", await answer_of(who, key), who.home)
    await who.deactivate()
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_passkey(service.db, who.realm, BROWSER, await answer_of(who, key), who.home)


@pytest.mark.parametrize(("minutes", "live"), [(12 * 60 - 2, True), (12 * 60 + 1, False)])
async def test_a_member_may_be_idle_for_12_hours(ada: Account, minutes: int, live: bool) -> None:
    entered = await ada.enter()
    ada.service.clock.advance_wall(minutes=minutes)
    assert await found(ada, entered.session_secret) is live


@pytest.mark.parametrize(("minutes", "live"), [(29, True), (31, False)])
async def test_an_operator_may_be_idle_for_30_minutes(service: Service, minutes: int, live: bool) -> None:
    who = await operator(service)
    entered = await who.enter()
    for _ in range(3):
        service.clock.advance_wall(minutes=29)
        assert await found(who, entered.session_secret), "it was seen, and the time begins again"
    service.clock.advance_wall(minutes=minutes)
    assert await found(who, entered.session_secret) is live


async def test_nothing_lasts_longer_than_its_most(ada: Account) -> None:
    who = await operator(ada.service)
    for one, hours, most in ((who, 0.45, 12), (ada, 11, 30 * 24)):
        entered, passed = await one.enter(), 0.0
        while await found(one, entered.session_secret):
            ada.service.clock.advance_wall(hours=hours)
            passed += hours
        assert most <= passed < most + hours


async def test_being_seen_is_written_at_most_once_a_minute(ada: Account) -> None:
    entered = await ada.enter()
    moments = []
    for seconds in (0, 30, 31, 30, 31):
        ada.service.clock.advance_wall(seconds=seconds)
        assert await found(ada, entered.session_secret)
        async with ada.service.db.read() as tx:
            moments.append(await tx.fetchval("select last_seen_at from sign_in where id = $1", entered.sign_in.id))
    assert [after != before for before, after in pairwise(moments)] == [False, True, False, True]


async def test_finding_a_sign_in_is_one_look_at_indexes(ada: Account) -> None:
    entered = await ada.enter()
    async with ada.service.db.read() as tx:
        await tx.execute("set enable_seqscan = off")
        plan = await tx.fetch(
            f"explain {sign_ins_store.FIND}",
            b"x" * 32,
            ada.realm.id,
            tx.real_now,
            tx.real_now,
            tx.real_now - timedelta(minutes=1),
        )
        await tx.execute("reset enable_seqscan")
    text = "\n".join(row[0] for row in plan)
    assert "Index Scan using sign_in_hash_key" in text
    assert not re.search(r"Seq Scan on (sign_in|person)\b", text), text
    assert await found(ada, entered.session_secret)


async def test_deactivation_ends_sign_ins_at_once_and_for_good(ada: Account) -> None:
    entered = await ada.enter()
    await ada.deactivate()
    assert not await found(ada, entered.session_secret)
    await ada.deactivate(active=True)
    assert not await found(ada, entered.session_secret), "what was ended stays so"
    assert await reasons(ada) == ["deactivated"]
    await ada.enter()


async def test_a_proof_is_fresh_for_ten_minutes(ada: Account) -> None:
    entered = await ada.enter()
    db, clock = ada.service.db, ada.service.clock
    clock.advance_wall(minutes=10)
    assert not await fresh(ada, entered.session_secret)
    with pytest.raises(SignInFailed):
        await sign_in_methods.reauthenticate_by_password(db, ada.person, entered.sign_in, WRONG, ada.home)
    assert not await fresh(ada, entered.session_secret)
    secret = await sign_in_methods.reauthenticate_by_password(db, ada.person, entered.sign_in, PASSWORD, ada.home)
    assert await fresh(ada, secret)
    key = await add_passkey(ada)
    await ada.add_app()
    clock.advance_wall(minutes=10)
    with pytest.raises(SignInFailed):
        await sign_in_methods.reauthenticate_by_second_factor_code(
            db, ada.person, entered.sign_in, ada.code(), ada.home
        )
    assert not await fresh(ada, secret)
    answer = await answer_of(ada, key)
    assert await fresh(
        ada, await sign_in_methods.reauthenticate_by_passkey(db, ada.person, entered.sign_in, BROWSER, answer, ada.home)
    )


async def test_a_stolen_cookie_opens_nothing_after_a_proof(ada: Account) -> None:
    """ASVS 7.2.4: a thief who waits for the proof of somebody else gets nothing by it."""
    stolen = await ada.enter()
    secret = await sign_in_methods.reauthenticate_by_password(
        ada.service.db, ada.person, stolen.sign_in, PASSWORD, ada.home
    )
    assert [await found(ada, one) for one in (stolen.session_secret, secret)] == [False, True]
    async with ada.service.db.write() as tx:
        await sign_ins.end_sign_in(tx, ada.person, stolen.sign_in.id, "revoked", BY)
        ended = await sign_ins.rotate_secret_after_reauthentication(tx, stolen.sign_in)
    assert not await found(ada, ended), "who was revoked meanwhile proves nothing"


async def test_who_has_no_password_proves_by_the_app(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, password=None)
    await who.add_app()
    entered = await who.begun()
    service.clock.advance_wall(minutes=10)
    with pytest.raises(SignInFailed):
        await sign_in_methods.reauthenticate_by_second_factor_code(
            service.db, who.person, entered.sign_in, who.wrong_code(), who.home
        )
    assert not await fresh(who, entered.session_secret)
    secret = await sign_in_methods.reauthenticate_by_second_factor_code(
        service.db, who.person, entered.sign_in, who.code(), who.home
    )
    assert await fresh(who, secret)


async def fresh(who: Account, secret: str) -> bool:
    """Whether the holder of a cookie has proved lately who they are."""
    async with who.service.db.single_statement() as tx:
        seen = await sign_ins.find_sign_in_by_secret(tx, who.realm, secret)
    assert seen is not None
    return sign_ins.is_recently_authenticated(seen[0], who.service.clock.real_now())


async def test_nobody_proves_by_somebody_elses_passkey(ada: Account, tenant: Tenant) -> None:
    other = await member(ada.service, tenant)
    key, entered = await add_passkey(other), await ada.enter()
    answer = await answer_of(other, key)
    with pytest.raises(SignInFailed):
        await sign_in_methods.reauthenticate_by_passkey(
            ada.service.db, ada.person, entered.sign_in, BROWSER, answer, ada.home
        )


async def test_sign_ins_are_listed_and_revoked(ada: Account, tenant: Tenant) -> None:
    here, there = await ada.enter(), await ada.enter(browser=AWAY)
    other = await member(ada.service, tenant)
    async with ada.service.db.write() as tx:
        listed = await sign_ins.list_by_person(tx, ada.person)
        assert [(one.device, one.address, one.is_unexpired(tx.real_now)) for one in listed] == [
            ("Safari on iPhone", AWAY.ip_address, True),
            ("Firefox on Windows", ada.home.ip_address, True),
        ]
        assert not await sign_ins.end_sign_in(tx, other.person, there.sign_in.id, "revoked", BY), "not one's own"
        assert await sign_ins.end_sign_in(tx, ada.person, there.sign_in.id, "revoked", BY)
        assert not await sign_ins.end_sign_in(tx, ada.person, there.sign_in.id, "revoked", BY)
    assert [await found(ada, one.session_secret) for one in (here, there)] == [True, False]
    async with ada.service.db.write() as tx:
        assert await sign_ins.end_sign_in(tx, ada.person, here.sign_in.id, "signed_out", BY)
    assert await reasons(ada) == ["revoked", "signed_out"]
    assert (await ada.recorded())[-2:] == ["sign_in.revoked", "signed_out"]


async def test_a_new_password_ends_the_other_sign_ins(ada: Account) -> None:
    here, there = await ada.enter(), await ada.enter(browser=AWAY)
    with pytest.raises(PasswordTooWeak):
        await account.change_password_and_issue_device_cookie(
            ada.service.db, ada.person, here.sign_in, "short", ada.home
        )
    await account.change_password_and_issue_device_cookie(ada.service.db, ada.person, here.sign_in, NEW, ada.home)
    assert [await found(ada, one.session_secret) for one in (here, there)] == [True, False]
    with pytest.raises(SignInFailed):
        await ada.enter()
    await ada.enter(NEW)
    assert "password was changed" in " ".join(subject for subject, _ in await ada.mails())


async def test_a_mail_tells_of_a_browser_that_is_new(ada: Account) -> None:
    first = await ada.enter()
    await ada.enter(browser=replace(ada.home, device_cookie=first.device_cookie))
    assert await ada.mails() == []
    await ada.enter(browser=AWAY)
    ((subject, text),) = await ada.mails()
    assert subject.startswith("New sign-in to ")
    assert "Browser: Safari on iPhone" in text
    assert AWAY.ip_address in text


async def test_what_is_over_is_removed_after_90_days(empty_database: TestDatabase) -> None:
    """V6."""
    async with serving(empty_database) as service:
        who = await member(service, await service.tenant())
        ended, forgotten = await who.enter(), await who.enter()
        async with service.db.write() as tx:
            await sign_ins.end_sign_in(tx, who.person, ended.sign_in.id, "signed_out", BY)
            await links.send_invitation(tx, who.person)
        left = []
        for days in (89, 2, 5, 3, 24):  # 90 after the end, 97 after the link's, 120 after the expiry of the other one
            service.clock.advance_wall(days=days)
            service.clock.advance(days=days)
            async with service.db.write() as tx:
                while await sign_ins.delete_expired_sign_ins_and_links(tx):
                    pass
                left.append(
                    await tx.fetchval("select (select count(*) from sign_in) + (select count(*) from one_time_link)")
                )
        assert left == [3, 2, 2, 1, 0]
        assert forgotten.sign_in.ended_at is None
        async with service.db.read() as tx:
            assert await sign_ins.next_sign_in_deletion_at(tx) is None


async def test_a_dump_of_the_database_opens_nothing(empty_database: TestDatabase) -> None:
    """K2, ASVS 6.5.2, 11.4.2: with all tables and the code nobody can sign in. Only a sandbox keeps mails."""
    async with serving(empty_database) as service:
        who = await member(service, await service.tenant())
        entered, app = await who.enter(), await who.add_app()
        async with service.db.write() as tx:
            codes = await account.create_recovery_codes(tx, who.person, who.home)
            made = await links.send_invitation(tx, who.person)
            tokens = [links.create_link_token(tx, made), tx.vault.create_page_token("reset", made.id)]
            await links.request_password_reset(tx, who.realm, who.name, who.home.ip_address)
        ticket = (await second(who)).ticket
        secrets = [PASSWORD, entered.session_secret, entered.device_cookie, app.secret, ticket, *tokens, *codes]
        for _ in range(2):
            found_there = await _everything(empty_database)
            assert who.name.encode() in found_there
            assert [secret for secret in secrets if secret.encode() in found_there] == []
            await service.drain()


async def _everything(database: TestDatabase) -> bytes:
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        names = await connection.fetch(
            "select table_name from information_schema.tables where table_schema = 'public' and table_type like 'BASE%'"
        )
        stored = []
        for (name,) in names:
            for row in await connection.fetch(f'select * from "{name}"') if name != "sandbox_mail" else []:
                stored += [value if isinstance(value, bytes) else str(value).encode() for value in row.values()]
        return b"\n".join(stored)
    finally:
        await connection.close()


async def test_whoever_is_deleted_leaves_nothing_that_opens(ada: Account) -> None:
    entered: NewSignIn = await ada.enter()
    async with ada.service.db.write() as tx:
        await people.delete(tx, ada.realm, ada.person.id)
        assert (await passwords.load_password_of_user_name(tx, ada.realm, ada.name)).hash is None
    assert not await found(ada, entered.session_secret)
