"""Sign-in and reauthentication by each method.

Each opens its own transactions, so that no transaction is open while a password is hashed. All raise
``AttemptThrottled`` for an attempt made too early, and ``SignInFailed`` for wrong credentials.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Final, Literal
from uuid import UUID

import msgspec

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import InvalidPasskeyResponse, Passkey
from almoner.access.credentials.service import authenticators, login_attempts, passkeys, passwords, recovery
from almoner.access.credentials.service.login_attempts import AttemptSource, CountedAttempt
from almoner.access.credentials.service.passwords import StoredPassword
from almoner.access.people import service as people
from almoner.access.people.domain import NoSuchPerson, Person, Realm
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins import service, store
from almoner.access.sign_ins.domain import (
    TICKET_LIFETIME,
    Browser,
    Method,
    NewSignIn,
    PendingSecondFactor,
    SecondFactorTicketExpired,
    SignIn,
    SignInFailed,
    device_label,
)
from almoner.platform.audit import log as audit
from almoner.platform.crypto import DecryptionFailed
from almoner.platform.database.transactions import Database, Tx

_TICKET: Final = "second-factor"
_First = Literal["password", "provider"]
_FAMILIAR: Final = 50
"""The number of recent sign-ins whose networks count as familiar."""
_UNKNOWN: Final = audit.Actor("system", "sign_ins")


async def sign_in_by_password(
    db: Database, realm: Realm, user_name: str, password: str, browser: Browser
) -> NewSignIn | PendingSecondFactor:
    """Sign in by user name and password; returns PendingSecondFactor if the person has a second factor."""
    known, counted, right = await _try_password(db, realm, user_name, password, browser)
    renewed = await passwords.rehash_if_outdated(db.deployment.vault, known, password) if right else None
    outcome: NewSignIn | PendingSecondFactor | None = None
    async with db.write() as tx:
        person = await _recheck_person(tx, realm, known) if right else None
        if person is None:
            await _record_refusal(tx, realm, known.person, "password", browser)
        else:
            await login_attempts.record_successful_attempt(tx, counted)
            if renewed is not None:
                await passwords.store_rehashed_password(tx, known, renewed)
            factors = await credentials.get_authentication_factors(tx, person)
            if factors.has_second_factor:
                outcome = PendingSecondFactor(await _issue_ticket(tx, person, "password"), person, factors)
            else:
                outcome = await service.begin_sign_in(tx, person, "password", browser)
    if outcome is None:
        raise SignInFailed
    return outcome


async def sign_in_by_sso(
    tx: Tx, person: Person, browser: Browser, *, authenticated_at: datetime, used_second_factor: bool
) -> NewSignIn | PendingSecondFactor:
    """Sign in through the partner's identity provider; may return PendingSecondFactor.

    ``authenticated_at``: when the person authenticated at the provider. ``used_second_factor``: the provider checked
    two factors, so none is required here. Raises SignInFailed.
    """
    factors = await credentials.get_authentication_factors(tx, person)
    if factors.has_second_factor and not used_second_factor:
        return PendingSecondFactor(await _issue_ticket(tx, person, "provider"), person, factors)
    return await service.begin_sign_in(tx, person, "provider", browser, authenticated_at=authenticated_at)


async def sign_in_by_second_factor_code(
    db: Database, realm: Realm, ticket: str, code: str, browser: Browser
) -> NewSignIn:
    """Complete sign-in with an authenticator or recovery code. Raises SecondFactorTicketExpired."""
    entered: NewSignIn | None = None
    async with db.write() as tx:
        person, first = await _read_ticket(tx, realm, ticket, hold=True)
        counted = await login_attempts.check_and_count_code_attempt(
            tx, person, await _attempt_source(tx, realm, person, browser)
        )
        method = await _code_method(tx, person, code) if person.active else None
        if method is None:
            await _record_refusal(tx, realm, person, "code", browser)
        else:
            await login_attempts.record_successful_attempt(tx, counted)
            entered = await service.begin_sign_in(tx, person, "provider" if first == "provider" else method, browser)
            if method == "password_recovery":
                await _notify_recovery_use(tx, person, browser)
    if entered is None:
        raise SignInFailed
    return entered


async def sign_in_by_passkey(
    db: Database, realm: Realm, challenge_binding: bytes, response_json: str, browser: Browser, ticket: str = ""
) -> NewSignIn:
    """Sign in with a passkey. ``challenge_binding``: as given to ``passkeys.build_authentication_options``.

    ``ticket``: of the first step, if any, which may have been single sign-on.
    """
    try:
        async with db.write() as tx:
            person, passkey = await passkeys.verify_passkey(tx, realm, challenge_binding, response_json)
            method: Method = "provider" if await _is_from_provider(tx, person, ticket) else "passkey"
            entered = await service.begin_sign_in(tx, person, method, browser)
            await _notify_passkey_copy(tx, person, passkey, browser)
    except (InvalidPasskeyResponse, SignInFailed) as refused:
        async with db.write() as tx:
            await _record_refusal(tx, realm, None, "passkey", browser)
        raise SignInFailed from refused
    return entered


async def get_pending_second_factor(db: Database, realm: Realm, ticket: str) -> PendingSecondFactor:
    """The pending second-factor step of a ticket. Raises SecondFactorTicketExpired."""
    async with db.read() as tx:
        person, _ = await _read_ticket(tx, realm, ticket)
        return PendingSecondFactor(ticket, person, await credentials.get_authentication_factors(tx, person))


async def reauthenticate_by_password(
    db: Database, person: Person, sign_in: SignIn, password: str, browser: Browser
) -> str:
    """Reauthenticate by password; returns the new session secret."""
    known, counted, right = await _try_password(db, person.realm, person.user_name, password, browser, signed_in=True)
    secret = None
    async with db.write() as tx:
        there = await _recheck_person(tx, person.realm, known) if right else None
        if there is None or there.id != person.id:
            await _record_refusal(tx, person.realm, known.person, "password", browser)
        else:
            await login_attempts.record_successful_attempt(tx, counted)
            secret = await service.rotate_secret_after_reauthentication(tx, sign_in)
    if secret is None:
        raise SignInFailed
    return secret


async def reauthenticate_by_second_factor_code(
    db: Database, person: Person, sign_in: SignIn, code: str, browser: Browser
) -> str:
    """Reauthenticate by authenticator code, for people without a password; returns the new session secret."""
    secret = None
    async with db.write() as tx:
        person = await _lock_person(tx, person)
        counted = await login_attempts.check_and_count_code_attempt(
            tx, person, await _attempt_source(tx, person.realm, person, browser)
        )
        factors = await credentials.get_authentication_factors(tx, person)
        if not factors.password and await authenticators.verify_code(tx, person, code):
            await login_attempts.record_successful_attempt(tx, counted)
            secret = await service.rotate_secret_after_reauthentication(tx, sign_in)
        else:
            await _record_refusal(tx, person.realm, person, "code", browser)
    if secret is None:
        raise SignInFailed
    return secret


async def reauthenticate_by_passkey(
    db: Database, person: Person, sign_in: SignIn, challenge_binding: bytes, response_json: str, browser: Browser
) -> str:
    """Reauthenticate by passkey; returns the new session secret."""
    try:
        async with db.write() as tx:
            shown, passkey = await passkeys.verify_passkey(tx, person.realm, challenge_binding, response_json)
            if shown.id != person.id or not shown.active:
                raise InvalidPasskeyResponse("somebody else's passkey")
            await _notify_passkey_copy(tx, person, passkey, browser)
            return await service.rotate_secret_after_reauthentication(tx, sign_in)
    except InvalidPasskeyResponse as refused:
        async with db.write() as tx:
            await _record_refusal(tx, person.realm, person, "passkey", browser)
        raise SignInFailed from refused


async def _try_password(
    db: Database, realm: Realm, user_name: str, password: str, browser: Browser, *, signed_in: bool = False
) -> tuple[StoredPassword, CountedAttempt, bool]:
    """Count and check a password attempt; takes as long for an unknown user name."""
    async with db.write() as tx:
        known = await passwords.load_password_of_user_name(tx, realm, user_name)
        source = await _attempt_source(tx, realm, known.person, browser)
        counted = await login_attempts.check_and_count_password_attempt(tx, realm, user_name, known.person, source)
    before = signed_in or source.has_signed_in_before
    return (
        known,
        counted,
        await passwords.verify_password(db.deployment.vault, known, password, has_signed_in_here_before=before),
    )


async def _recheck_person(tx: Tx, realm: Realm, stored_password: StoredPassword) -> Person | None:
    """The person's current state; None if they were deleted, deactivated or have changed their password."""
    if stored_password.person is None:
        return None
    try:
        person = await people.get_for_update(tx, realm, stored_password.person.id)
    except NoSuchPerson:
        return None
    now = await passwords.load_password_of_person(tx, person)
    return person if person.active and now.hash == stored_password.hash else None


async def _lock_person(tx: Tx, person: Person) -> Person:
    """Lock the person before their attempts, in the same order as setting a password by link."""
    try:
        return await people.get_for_update(tx, person.realm, person.id)
    except NoSuchPerson:
        raise SignInFailed from None


async def _attempt_source(tx: Tx, realm: Realm, person: Person | None, browser: Browser) -> AttemptSource:
    """The source of an attempt, and whether the person has signed in from it before."""
    whose = person.id if person else UUID(int=0)
    addresses, epoch = (
        await store.list_recent_ip_addresses(tx, realm, whose, _FAMILIAR),
        await store.load_device_cookie_version(tx, realm, whose),
    )
    device = (
        service.find_device_id_in_cookie(tx.vault, person, epoch, browser.device_cookie, tx.real_now)
        if person
        else None
    )
    return login_attempts.build_attempt_source(browser.ip_address, device, addresses)


async def _code_method(tx: Tx, person: Person, code: str) -> Method | None:
    if await authenticators.verify_code(tx, person, code):
        return "password_totp"
    return "password_recovery" if await recovery.consume_recovery_code(tx, person, code) else None


async def _notify_recovery_use(tx: Tx, person: Person, browser: Browser) -> None:
    left = (await credentials.get_authentication_factors(tx, person)).recovery_codes
    facts = service.build_time_browser_and_ip_lines(tx, browser.ip_address, device_label(browser.user_agent))
    await security_emails.enqueue_email(
        tx, person, "recovery_code_used", placeholder_values={"left": str(left)}, detail_lines=facts
    )


async def _notify_passkey_copy(tx: Tx, person: Person, passkey: Passkey, browser: Browser) -> None:
    """Notify a person whose passkey's counter decreased, because the passkey may have been copied."""
    if passkey.sign_count_not_increased:
        facts = service.build_time_browser_and_ip_lines(tx, browser.ip_address, device_label(browser.user_agent))
        await security_emails.enqueue_email(
            tx, person, "passkey_counter_decreased", placeholder_values={"name": passkey.name}, detail_lines=facts
        )


async def _record_refusal(tx: Tx, realm: Realm, person: Person | None, what: str, browser: Browser) -> None:
    """Audit a refusal, at most once a minute for each person, and once for all unknown user names."""
    if not await login_attempts.claim_refused_attempt_audit(tx, realm, person):
        return
    subject = tx.ids.encode(realm.person_id_type, person.id) if person else "nobody"
    address, details = browser.ip_address, {"method": what}
    # The refused person is unknown: only the claimed person can be recorded.
    await audit.record_entry(tx, realm.id, _UNKNOWN, "sign_in.refused", subject, ip_address=address, details=details)


async def _issue_ticket(tx: Tx, person: Person, first: _First) -> str:
    """Create the ticket for the first step; it becomes void with a new password or when all sign-ins end."""
    until = int((tx.real_now + TICKET_LIFETIME).timestamp())
    plain = msgspec.json.encode(
        [str(person.id), until, await store.load_device_cookie_version(tx, person.realm, person.id), first]
    )
    sealed = tx.vault.encrypt(plain, context=_TICKET, associated_data=person.realm.id.bytes)
    return urlsafe_b64encode(sealed).decode()


async def _read_ticket(tx: Tx, realm: Realm, ticket: str, *, hold: bool = False) -> tuple[Person, _First]:
    """The person who completed the first step, and its method; ``hold``: lock them.

    Raises SecondFactorTicketExpired.
    """
    try:
        plain = tx.vault.decrypt(urlsafe_b64decode(ticket), context=_TICKET, associated_data=realm.id.bytes)
        name, until, epoch, first = msgspec.json.decode(plain, type=tuple[str, int, int, _First])
        person = await (people.get_for_update if hold else people.get)(tx, realm, UUID(name))
    except (DecryptionFailed, ValueError, NoSuchPerson):
        raise SecondFactorTicketExpired from None
    if tx.real_now >= datetime.fromtimestamp(until, UTC) or epoch != await store.load_device_cookie_version(
        tx, realm, person.id
    ):
        raise SecondFactorTicketExpired
    return person, first


async def _is_from_provider(tx: Tx, person: Person, ticket: str) -> bool:
    """Whether this person has just come from the provider in this browser."""
    try:
        whose, first = await _read_ticket(tx, person.realm, ticket)
    except SecondFactorTicketExpired:
        return False
    return whose.id == person.id and first == "provider"
