"""People for tests: members of partners and operators, with their credentials."""

import pyotp

from almoner.access.credentials import hashing
from almoner.access.credentials.service import authenticators, build_audit_context_of_person, passwords
from almoner.access.people import service as people
from almoner.access.people.domain import Person, Realm, Role, build_profile
from tests.support.service import Service

PASSWORD = "correct horse battery staple"
LEAST_COST = hashing.HashCost(passes=1, kibibytes=8)
"""The cost of a password hash in tests: the service's own takes a thousand times as long, and proves no more."""


async def person(
    service: Service, realm: Realm, name: str, *roles: Role, password: str | None = PASSWORD, email: str | None = None
) -> Person:
    """Create a person, who signs in with the password; without one they cannot sign in yet."""
    profile = build_profile(name, email=email or name, name=name.partition("@")[0].capitalize())
    async with service.db.write() as tx:
        made = await people.create(tx, realm, profile, roles)
    if password is not None:
        hashed = await passwords.hash_new_password(service.db.deployment.vault, made, password)
        async with service.db.write() as tx:
            await passwords.store_password(tx, made, hashed, build_audit_context_of_person(tx, made, None))
    return made


async def authenticator(service: Service, somebody: Person) -> str:
    """Set up an authenticator app; returns its secret in base 32."""
    async with service.db.write() as tx:
        set_up = await authenticators.begin_setup(tx, somebody, "Almoner")
    secret = set_up.secret.replace(" ", "")
    async with service.db.write() as tx:
        code = pyotp.TOTP(secret).at(tx.real_now)
        assert await authenticators.confirm_setup(tx, somebody, code, build_audit_context_of_person(tx, somebody, None))
    return secret


def wrong_code(service: Service, secret: str) -> str:
    """A code that the app shows neither now nor in the next minutes."""
    shown = {pyotp.TOTP(secret).at(service.clock.real_now(), counter_offset=steps) for steps in range(-3, 10)}
    return next(wrong for number in range(len(shown) + 1) if (wrong := f"{number:06}") not in shown)


def code(service: Service, secret: str) -> str:
    """The app's next code, a minute later, since a code is accepted once."""
    service.clock.advance_wall(seconds=60)
    return pyotp.TOTP(secret).at(service.clock.real_now())
