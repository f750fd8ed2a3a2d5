"""Passwords, authenticator apps, recovery codes and passkeys, as they are stored, and each proved once."""

from collections.abc import Callable
from datetime import timedelta

import asyncpg
import pytest
from argon2 import PasswordHasher
from pyotp import TOTP

from almoner.access.credentials import store as credentials_store
from almoner.access.credentials.domain import (
    AuthenticatorExists,
    AuthenticatorNotPending,
    InvalidPasskeyResponse,
    LastSecondFactorCannotBeRemoved,
    NoSuchPasskey,
    Passkey,
    PasswordTooWeak,
)
from almoner.access.credentials.service import authenticators, login_attempts, passkeys, passwords, recovery
from almoner.access.sign_ins.domain import SignInFailed
from almoner.access.sign_ins.service import account
from tests.support.database import TestDatabase
from tests.support.security_key import SecurityKey, b64
from tests.support.service import Service, Tenant, serving
from tests.support.signing_in import AWAY, BY, PASSWORD, WRONG, Account, factors_of, member, operator

BROWSER = b"the cookie of one browser"
OTHER_BROWSER = b"the cookie of another one"
Lie = Callable[[SecurityKey], None]


@pytest.fixture
async def ada(service: Service, tenant: Tenant) -> Account:
    """A member with a password."""
    return await member(service, tenant)


@pytest.fixture
def key(service: Service) -> SecurityKey:
    """A passkey's device at our site."""
    return SecurityKey(service.db.deployment.base_urls.pages)


async def add(who: Account, key: SecurityKey, name: str = "Laptop") -> Passkey:
    """Register a passkey."""
    async with who.service.db.write() as tx:
        answer = key.create(await passkeys.build_registration_options(tx, who.person, BROWSER))
        return await account.add_passkey(tx, who.person, BROWSER, answer, name, who.home)


async def options(who: Account) -> str:
    """A fresh challenge to sign in by."""
    async with who.service.db.read() as tx:
        return await passkeys.build_authentication_options(tx, BROWSER)


async def shows(who: Account, answer: str, binding: bytes = BROWSER) -> Passkey:
    """The passkey that an answer shows to be there."""
    async with who.service.db.write() as tx:
        person, passkey = await passkeys.verify_passkey(tx, who.realm, binding, answer)
    assert person.id == passkey.person_id
    return passkey


async def test_a_password_is_a_hash_that_only_its_owner_can_use(ada: Account, tenant: Tenant) -> None:
    vault, other = ada.service.db.deployment.vault, await member(ada.service, tenant, password=None)
    async with ada.service.db.write() as tx:
        known = await passwords.load_password_of_person(tx, ada.person)
        assert known.hash is not None
        await credentials_store.set_password_hash(tx, other.person, known.hash)
        moved = await passwords.load_password_of_person(tx, other.person)
    assert await passwords.verify_password(vault, known, PASSWORD)
    assert not await passwords.verify_password(vault, known, WRONG)
    assert not await passwords.verify_password(vault, known, PASSWORD + "x" * 300)
    assert not await passwords.verify_password(vault, moved, PASSWORD), "moved into another person's row"
    assert not await passwords.verify_password(vault, passwords.StoredPassword(None, None), "nobody")
    async with ada.service.db.write() as tx:
        hashed = await _hashed(ada)
        with pytest.raises(ValueError, match="somebody else"):
            await passwords.store_password(tx, other.person, hashed, BY)


async def _hashed(who: Account) -> passwords.HashedPassword:
    return passwords.HashedPassword(who.person.id, "$argon2id$")


async def test_typing_is_compared_in_normal_form(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, password="Grüße aus Köln ﬁn")
    await who.enter("Gru\u0308ße aus Ko\u0308ln fin")


async def test_weak_passwords_are_not_hashed(ada: Account) -> None:
    with pytest.raises(PasswordTooWeak):
        await passwords.hash_new_password(ada.service.db.deployment.vault, ada.person, f"I am {ada.name}, you know")


async def test_no_hash_is_made_while_a_connection_is_held(ada: Account) -> None:
    async with ada.service.db.write():
        with pytest.raises(RuntimeError, match="release"):
            await passwords.hash_new_password(ada.service.db.deployment.vault, ada.person, PASSWORD)


@pytest.mark.usefixtures("hashes_of_today")
async def test_older_hashes_are_made_anew_at_the_next_sign_in(ada: Account) -> None:
    """ASVS 11.4.2: parameters can be raised."""
    vault = ada.service.db.deployment.vault
    secret = vault.compute_keyed_hash("password", ada.person.id.bytes + PASSWORD.encode())
    old = PasswordHasher(time_cost=1, memory_cost=8_192, parallelism=1).hash(secret)
    async with ada.service.db.write() as tx:
        await credentials_store.set_password_hash(tx, ada.person, old)
    await ada.enter()
    async with ada.service.db.read() as tx:
        renewed = (await passwords.load_password_of_person(tx, ada.person)).hash
    assert renewed is not None
    assert "m=47104,t=2" in renewed
    await ada.enter()


async def test_an_app_opens_nothing_before_its_first_code(ada: Account) -> None:
    async with ada.service.db.write() as tx:
        shown = await authenticators.begin_setup(tx, ada.person, "Almoner")
        again = await authenticators.get_pending_setup(tx, ada.person, "Almoner")
        assert again == shown
        app = ada.set_app(shown.secret)
        assert not await authenticators.verify_code(tx, ada.person, app.at(tx.real_now))
        assert not await account.confirm_authenticator(tx, ada.person, ada.wrong_code(), ada.home)
        assert not (await factors_of(ada)).has_second_factor
        code = app.at(tx.real_now)
        assert await account.confirm_authenticator(tx, ada.person, code, ada.home)
        assert not await authenticators.verify_code(tx, ada.person, code), "it was used"
        with pytest.raises(AuthenticatorExists):
            await authenticators.begin_setup(tx, ada.person, "Almoner")
        with pytest.raises(AuthenticatorNotPending):
            await authenticators.get_pending_setup(tx, ada.person, "Almoner")
    assert shown.uri.startswith("otpauth://totp/Almoner:")
    assert shown.qr.startswith("data:image/svg+xml")
    assert (await factors_of(ada)).authenticator


async def test_an_app_is_set_up_whatever_the_name(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, name="🦩" * 255)
    await who.add_app()


async def test_a_new_beginning_replaces_what_was_not_proved(ada: Account) -> None:
    async with ada.service.db.write() as tx:
        first = await authenticators.begin_setup(tx, ada.person, "Almoner")
        second = await authenticators.begin_setup(tx, ada.person, "Almoner")
        assert first.secret != second.secret
        old = TOTP(first.secret.replace(" ", "")).at(tx.real_now)
        assert not await account.confirm_authenticator(tx, ada.person, old, ada.home)


@pytest.mark.parametrize(("steps", "right"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
async def test_a_code_may_be_one_step_early_or_late(ada: Account, steps: int, right: bool) -> None:
    await ada.add_app()
    ada.service.clock.advance_wall(seconds=90)
    async with ada.service.db.write() as tx:
        code = ada.app.at(tx.real_now, counter_offset=steps) if ada.app else ""
        assert await authenticators.verify_code(tx, ada.person, code) is right


async def test_a_code_works_once_and_none_from_before_it(ada: Account) -> None:
    """ASVS 6.5.1."""
    await ada.add_app()
    ada.service.clock.advance_wall(seconds=90)
    async with ada.service.db.write() as tx:
        assert ada.app is not None
        now, before, after = (ada.app.at(tx.real_now, counter_offset=steps) for steps in (0, -1, 1))
        found = [await authenticators.verify_code(tx, ada.person, code) for code in (now, now, before, after, after)]
    assert found == [True, False, False, True, False]


async def test_the_secret_is_sealed_for_its_owner(ada: Account, tenant: Tenant) -> None:
    await ada.add_app()
    other = await member(ada.service, tenant)
    async with ada.service.db.write() as tx:
        sealed = await tx.fetchval("select secret from one_time_password where person_id = $1", ada.person.id)
        assert ada.app is not None
        assert ada.app.secret.encode() not in sealed
        await credentials_store.insert_authenticator(tx, other.person, sealed)
        with pytest.raises(Exception, match="cannot be opened"):
            await authenticators.get_pending_setup(tx, other.person, "Almoner")


async def test_recovery_codes_work_once_each_and_new_ones_end_the_old(ada: Account, tenant: Tenant) -> None:
    await ada.add_app()
    other = await member(ada.service, tenant)
    async with ada.service.db.write() as tx:
        old = await account.create_recovery_codes(tx, ada.person, ada.home)
        codes = await account.create_recovery_codes(tx, ada.person, ada.home)
        assert len(set(codes)) == 10
        assert not await recovery.consume_recovery_code(tx, ada.person, old[0])
        assert not await recovery.consume_recovery_code(tx, other.person, codes[0])
        assert await recovery.consume_recovery_code(tx, ada.person, codes[0].upper())
        assert not await recovery.consume_recovery_code(tx, ada.person, codes[0])
        stored = [
            row["hash"] for row in await tx.fetch("select hash from recovery_code where person_id = $1", ada.person.id)
        ]
    assert not any(code.encode() in b"".join(stored) for code in codes)
    assert (await factors_of(ada)).recovery_codes == 9


async def test_without_a_second_factor_recovery_codes_go(ada: Account) -> None:
    await ada.add_app()
    async with ada.service.db.write() as tx:
        await account.create_recovery_codes(tx, ada.person, ada.home)
        await account.remove_authenticator(tx, ada.person, AWAY)
    found = await factors_of(ada)
    assert (found.has_second_factor, found.recovery_codes) == (False, 0)
    assert (await ada.recorded())[1:] == [
        "authenticator.viewed",
        "authenticator.added",
        "recovery_codes.created",
        "authenticator.removed",
    ]


async def test_who_must_have_a_second_factor_keeps_the_last(service: Service, tenant: Tenant, key: SecurityKey) -> None:
    for who in (await operator(service), await member(service, tenant, "owner")):
        await who.add_app()
        async with service.db.write() as tx:
            with pytest.raises(LastSecondFactorCannotBeRemoved):
                await account.remove_authenticator(tx, who.person, who.home)
        passkey = await add(who, SecurityKey(key.origin))
        async with service.db.write() as tx:
            await account.remove_authenticator(tx, who.person, who.home)
            with pytest.raises(LastSecondFactorCannotBeRemoved):
                await account.remove_passkey(tx, who.person, passkey.id, who.home)
        await add(who, SecurityKey(key.origin))
        async with service.db.write() as tx:
            await account.remove_passkey(tx, who.person, passkey.id, who.home)


async def test_a_passkey_shows_who_it_is(ada: Account, key: SecurityKey) -> None:
    made = await add(ada, key, "  My   laptop ")
    assert made.name == "My laptop"
    for _ in range(2):
        assert (await shows(ada, key.get(await options(ada)))).id == made.id
    async with ada.service.db.read() as tx:
        (known,) = await passkeys.list_by_person(tx, ada.person)
        assert b64(key.credential) in await passkeys.build_registration_options(tx, ada.person, BROWSER), (
            "excluded from a second one"
        )
    assert (known.sign_count, known.last_used_at is not None) == (3, True)
    assert (await factors_of(ada)).passkeys == 1
    assert "passkey.added" in await ada.recorded()


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        (lambda key: setattr(key, "origin", "https://give.example.net"), "origin"),
        (lambda key: setattr(key, "party", "example.net"), "RP ID"),
        (lambda key: setattr(key, "verifies", False), "verif"),
    ],
)
async def test_a_passkey_of_another_site_or_without_its_owner_is_refused(
    ada: Account, key: SecurityKey, lie: Lie, why: str
) -> None:
    liar = SecurityKey(key.origin)
    lie(liar)
    with pytest.raises(InvalidPasskeyResponse, match=why):
        await add(ada, liar)
    await add(ada, key)
    asked = await options(ada)
    lie(key)
    with pytest.raises(InvalidPasskeyResponse, match=why):
        await shows(ada, key.get(asked))


@pytest.mark.parametrize("count", [0, None])
async def test_an_answer_is_good_once(ada: Account, count: int | None) -> None:
    """A synced passkey always counts 0: the count alone would let its answer be sent twice."""
    key = SecurityKey(ada.service.db.deployment.base_urls.pages, count=count)
    await add(ada, key)
    answer = key.get(await options(ada))
    await shows(ada, answer)
    with pytest.raises(InvalidPasskeyResponse, match="was used"):
        await shows(ada, answer)


async def test_a_challenge_is_of_one_browser_one_purpose_and_five_minutes(ada: Account, key: SecurityKey) -> None:
    await add(ada, key)
    asked = await options(ada)
    with pytest.raises(InvalidPasskeyResponse, match="not made here"):
        await shows(ada, key.get(asked), OTHER_BROWSER)
    async with ada.service.db.read() as tx:
        adding = await passkeys.build_registration_options(tx, ada.person, BROWSER)
    with pytest.raises(InvalidPasskeyResponse, match="not made here"):
        await shows(ada, key.get(adding.replace('"rp":', '"rpId": "localhost", "rp":')))
    forged = asked.replace('"challenge": "', '"challenge": "AAAA')
    with pytest.raises(InvalidPasskeyResponse, match="not made here"):
        await shows(ada, key.get(forged))
    ada.service.clock.advance_wall(minutes=5)
    with pytest.raises(InvalidPasskeyResponse, match="over"):
        await shows(ada, key.get(asked))


async def test_an_addition_is_of_one_person_and_once(ada: Account, tenant: Tenant, key: SecurityKey) -> None:
    other = await member(ada.service, tenant)
    async with ada.service.db.write() as tx:
        answer = key.create(await passkeys.build_registration_options(tx, ada.person, BROWSER))
        with pytest.raises(InvalidPasskeyResponse, match="not made here"):
            await passkeys.add_passkey(tx, other.person, BROWSER, answer, "", BY)
        made = await passkeys.add_passkey(tx, ada.person, BROWSER, answer, "", BY)
        assert made.name == "Passkey"
    async with ada.service.db.write() as tx:
        with pytest.raises(InvalidPasskeyResponse, match="was used"):
            await passkeys.add_passkey(tx, ada.person, BROWSER, answer, "", BY)
    with pytest.raises(InvalidPasskeyResponse, match="known already"):
        await add(other, key)


async def test_somebody_elses_passkey_is_refused(ada: Account, tenant: Tenant, key: SecurityKey) -> None:
    other, stranger = await member(ada.service, tenant), await member(ada.service, await ada.service.tenant())
    other_key = SecurityKey(key.origin)
    await add(ada, key)
    await add(other, other_key)
    with pytest.raises(InvalidPasskeyResponse, match="somebody else's"):
        await shows(ada, key.get(await options(ada), userHandle=b64(other.person.id.bytes)))
    forged = SecurityKey(key.origin, credential=key.credential, handle=key.handle, count=50)
    with pytest.raises(InvalidPasskeyResponse, match="signature"):
        await shows(ada, forged.get(await options(ada)))
    with pytest.raises(InvalidPasskeyResponse, match="nobody of this realm"):
        await shows(stranger, key.get(await options(ada)))


@pytest.mark.parametrize(
    "answer", ["", "{}", "[]", "null", '{"id": 1}', '{"id": "x", "rawId": "x", "type": "public-key"}']
)
async def test_what_is_no_answer_is_refused(ada: Account, key: SecurityKey, answer: str) -> None:
    await add(ada, key)
    with pytest.raises(InvalidPasskeyResponse):
        await shows(ada, answer)
    with pytest.raises(InvalidPasskeyResponse):
        await shows(ada, key.get(await options(ada), authenticatorData="AAAA"))
    async with ada.service.db.write() as tx:
        with pytest.raises(InvalidPasskeyResponse):
            await passkeys.add_passkey(tx, ada.person, BROWSER, answer, "", BY)


async def test_a_count_that_goes_back_is_noted_and_lets_in(ada: Account, key: SecurityKey) -> None:
    await add(ada, key)
    await shows(ada, key.get(await options(ada)))
    key.count = 0
    assert (await shows(ada, key.get(await options(ada)))).sign_count_not_increased
    assert (await ada.recorded())[-1] == "passkey.counter_decreased"


async def test_a_removed_passkey_opens_nothing(ada: Account, tenant: Tenant, key: SecurityKey) -> None:
    made, other = await add(ada, key), await member(ada.service, tenant)
    async with ada.service.db.write() as tx:
        with pytest.raises(NoSuchPasskey):
            await account.remove_passkey(tx, other.person, made.id, ada.home)
        await account.remove_passkey(tx, ada.person, made.id, ada.home)
        with pytest.raises(NoSuchPasskey):
            await account.remove_passkey(tx, ada.person, made.id, ada.home)
    with pytest.raises(InvalidPasskeyResponse):
        await shows(ada, key.get(await options(ada)))


async def test_the_database_keeps_the_rules_itself(ada: Account) -> None:
    for sql in (
        "update password set hash = 'plain' where person_id = $1",
        "insert into recovery_code (person_id, hash) values ($1, 'short')",
        "insert into passkey_challenge (hash, expires_at) values (uuid_send($1), '2026-01-01Z')",
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            async with ada.service.db.write() as tx:
                await tx.execute(sql, ada.person.id)


async def test_tries_and_used_challenges_are_forgotten(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        who = await member(service, await service.tenant())
        key = SecurityKey(service.db.deployment.base_urls.pages)
        await add(who, key)
        with pytest.raises(SignInFailed):
            await who.enter(WRONG)
        service.clock.advance_wall(minutes=6)
        async with service.db.write() as tx:
            assert await login_attempts.next_login_attempt_deletion_at(tx) is not None
            assert await login_attempts.delete_expired_attempts_and_challenges(tx) == 1
            assert await login_attempts.delete_expired_attempts_and_challenges(tx) == 0
        service.clock.advance_wall(hours=24)
        async with service.db.write() as tx:
            due = await login_attempts.next_login_attempt_deletion_at(tx)
            assert due is not None
            assert due <= tx.now < due + timedelta(hours=1)
            assert await login_attempts.delete_expired_attempts_and_challenges(tx) > 0
            assert await login_attempts.next_login_attempt_deletion_at(tx) is None
