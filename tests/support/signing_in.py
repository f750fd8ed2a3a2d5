"""People who sign in, for tests: an account with a password, its app's codes, and its audit entries and emails."""

import os
from dataclasses import dataclass, field
from uuid import uuid4

import pyotp
import pytest

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import AttemptThrottled, AuditContext, AuthenticationFactors
from almoner.access.credentials.service import authenticators, login_attempts, passwords
from almoner.access.credentials.service.login_attempts import AttemptSource
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, Person, Realm, Role, build_profile, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser, NewSignIn, PendingSecondFactor, SignInFailed
from almoner.access.sign_ins.service import account, sign_in_methods
from almoner.platform.audit.log import Actor
from tests.support.people import wrong_code
from tests.support.service import Service, Tenant

PASSWORD = "seven green herons dance"
NEW = "eleven quiet otters swim"
WRONG = "seven grey herons dance"
BY = AuditContext(Actor("system", "tests"), None)
FIREFOX = "Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0"
AWAY = Browser("203.0.113.80", "Mozilla/5.0 (iPhone) Version/19.0 Mobile Safari/604.1")


@dataclass
class Account:
    """A person with a password. ``home``: a network of their own, since failed attempts count by network."""

    service: Service
    person: Person
    app: pyotp.TOTP | None = None
    home: Browser = field(
        default_factory=lambda: Browser(f"2001:db8:{os.urandom(2).hex()}:{os.urandom(2).hex()}::7", FIREFOX)
    )

    @property
    def realm(self) -> Realm:
        """The realm."""
        return self.person.realm

    @property
    def name(self) -> str:
        """The userName."""
        return self.person.user_name

    async def enter(self, password: str = PASSWORD, browser: Browser | None = None) -> NewSignIn:
        """Sign in with the password only."""
        entered = await sign_in_methods.sign_in_by_password(
            self.service.db, self.realm, self.name, password, browser or self.home
        )
        assert isinstance(entered, NewSignIn)
        return entered

    async def begun(self) -> NewSignIn:
        """A sign-in as from an identity provider."""
        async with self.service.db.write() as tx:
            return await sign_ins.begin_sign_in(tx, self.person, "provider", self.home)

    async def add_app(self) -> pyotp.TOTP:
        """Set up an authenticator app with the previous code, so that the current one stays unused."""
        async with self.service.db.write() as tx:
            app = self.set_app((await authenticators.begin_setup(tx, self.person, "Almoner")).secret)
            assert await account.confirm_authenticator(tx, self.person, self.code(-1), self.home)
        return app

    def set_app(self, secret: str) -> pyotp.TOTP:
        """Enter the secret into the app."""
        self.app = pyotp.TOTP(secret.replace(" ", ""))
        return self.app

    def code(self, steps: int = 0) -> str:
        """The app's code now, or some steps from now."""
        assert self.app is not None
        return str(self.app.at(self.service.clock.real_now(), counter_offset=steps))

    def wrong_code(self) -> str:
        """A code that the app does not show."""
        assert self.app is not None
        return wrong_code(self.service, self.app.secret)

    async def deactivate(self, *, active: bool = False) -> None:
        """Deactivate the person, or activate them again."""
        async with self.service.db.write() as tx:
            person = await people.get_for_update(tx, self.realm, self.person.id)
            self.person = await people.update_profile(tx, person, {**person.profile, "active": active})

    async def recorded(self) -> list[str]:
        """The actions in the audit log about the person, in order."""
        subject = self.service.db.deployment.ids.encode(self.realm.person_id_type, self.person.id)
        async with self.service.db.read() as tx:
            rows = await tx.fetch("select action from audit_entry where subject = $1 order by position", subject)
        return [row["action"] for row in rows]

    async def mails(self) -> list[tuple[str, str]]:
        """(subject, text) of the emails to the person, in order, after all due work."""
        await self.service.drain()
        async with self.service.db.read() as tx:
            rows = await tx.fetch(
                "select subject, text from sandbox_mail where recipient = $1 order by created_at, id", self.person.email
            )
        return [(row["subject"], row["text"]) for row in rows]


async def member(
    service: Service, tenant: Tenant, *roles: Role, password: str | None = PASSWORD, name: str | None = None
) -> Account:
    """Create a member of the partner."""
    return await person_of(
        service, member_realm(tenant.partner), *(roles or ("developer",)), password=password, name=name
    )


async def operator(service: Service, *roles: Role) -> Account:
    """Create an operator."""
    return await person_of(service, OPERATORS, *(roles or ("reviewer",)))


async def person_of(
    service: Service, realm: Realm, *roles: Role, password: str | None = PASSWORD, name: str | None = None
) -> Account:
    """Create a person with a mailbox and a password."""
    called = name or f"heron-{uuid4().hex[:12]}"
    async with service.db.write() as tx:
        person = await people.create(tx, realm, build_profile(called, email=f"{called}@example.org"), roles)
    if password is not None:
        hashed = await passwords.hash_new_password(service.db.deployment.vault, person, password)
        async with service.db.write() as tx:
            await passwords.store_password(tx, person, hashed, BY, changed_through="invitation")
    return Account(service, person)


async def factors_of(account_: Account) -> AuthenticationFactors:
    """The person's authentication factors."""
    async with account_.service.db.read() as tx:
        return await credentials.get_authentication_factors(tx, account_.person)


async def found(who: Account, secret: str) -> bool:
    """Whether a sign-in's cookie is valid."""
    async with who.service.db.single_statement() as tx:
        return await sign_ins.find_sign_in_by_secret(tx, who.realm, secret) is not None


async def wrong(who: Account, browser: Browser | None = None, *, times: int = 1) -> None:
    """Enter wrong passwords, each as soon as allowed."""
    for _ in range(times):
        try:
            await who.enter(WRONG, browser)
        except AttemptThrottled as soon:
            who.service.clock.advance_wall(seconds=(soon.until - who.service.clock.real_now()).total_seconds() + 0.01)
            with pytest.raises(SignInFailed):
                await who.enter(WRONG, browser)
        except SignInFailed:
            continue


async def second(who: Account, browser: Browser | None = None) -> PendingSecondFactor:
    """Enter the password of a person with a second factor."""
    needed = await sign_in_methods.sign_in_by_password(
        who.service.db, who.realm, who.name, PASSWORD, browser or who.home
    )
    assert isinstance(needed, PendingSecondFactor)
    return needed


async def tried(who: Account, browser: Browser, *, times: int = 1, name: str | None = None) -> None:
    """Count wrong passwords without hashing, for tests that need many. Raises TooSoon."""
    for _ in range(times):
        async with who.service.db.write() as tx:
            known = await passwords.load_password_of_user_name(tx, who.realm, name or who.name)
            await login_attempts.check_and_count_password_attempt(
                tx, who.realm, name or who.name, known.person, AttemptSource(browser.ip_address)
            )
