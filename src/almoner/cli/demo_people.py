"""Create the sandbox's demo users. Their passwords and other credentials are in ``sandbox.json``."""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pyotp

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import STEP_SECONDS
from almoner.access.credentials.service import authenticators, passwords
from almoner.access.operators import service as operators
from almoner.access.operators.domain import MAX_TOKEN_LIFETIME, InvalidOperatorToken
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, Person, Realm, Role, build_profile, member_realm
from almoner.access.security_emails import service as security_emails
from almoner.cli.caller import MACHINE
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Database, Partner

Login = dict[str, Any]
"""The data of a demo user in sandbox.json, such as the password and roles. Operators also have a token."""


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """A demo user. ``user_name`` is also the email address."""

    user_name: str
    name: str
    roles: tuple[Role, ...]
    has_authenticator_app: bool = True


# Two reviewers and two finance operators, so that two-person approval can be tried; the first is also an administrator.
_DEMO_OPERATORS: Final = (
    DemoPerson("ada@operators.example", "Ada Operator", ("administrator", "finance", "reviewer")),
    DemoPerson("bo@operators.example", "Bo Operator", ("finance", "reviewer")),
)

_DEMO_MEMBERS: Final = (
    DemoPerson("olive@product.example", "Olive Owner", ("owner",)),
    DemoPerson("rory@product.example", "Rory Reader", ("read_only",), has_authenticator_app=False),
)


async def ensure_member_logins(db: Database, partner: Partner, existing_logins: Sequence[Login]) -> list[Login]:
    """Create the demo members of a partner. Existing credentials are kept if they still work."""
    return [(await ensure_login(db, member_realm(partner), demo, existing_logins))[1] for demo in _DEMO_MEMBERS]


async def ensure_operator_logins(db: Database, existing_logins: Sequence[Login]) -> list[Login]:
    """Create the demo operators. Existing credentials are kept if they still work."""
    logins = []
    for demo in _DEMO_OPERATORS:
        person, login = await ensure_login(db, OPERATORS, demo, existing_logins)
        before = next((one for one in existing_logins if one["userName"] == demo.user_name), {})
        logins.append({**login, "token": await _token(db, person, before.get("token"))})
    return logins


async def ensure_login(
    db: Database, realm: Realm, demo_person: DemoPerson, existing_logins: Sequence[Login]
) -> tuple[Person, Login]:
    """Create a demo user with a password and, if ``app`` is set, an authenticator app."""
    async with db.write() as tx:
        person = await people.find_by_user_name(tx, realm, demo_person.user_name)
        if person is None:
            profile = build_profile(demo_person.user_name, email=demo_person.user_name, name=demo_person.name)
            person = await people.create(tx, realm, profile, demo_person.roles)
            who, action = (
                tx.ids.encode(realm.person_id_type, person.id),
                f"{realm.person_id_type}.invited",
            )  # as the commands record it
            await audit.record_entry(
                tx, realm.id, MACHINE.actor, action, who, details={"roles": sorted(demo_person.roles)}
            )
        url = f"{tx.base_urls.pages}{security_emails.account_path(tx.ids, realm)}/sign-in"
    login: Login = {"userName": demo_person.user_name, "url": url, "roles": list(demo_person.roles)}
    before: Mapping[str, Any] = next((one for one in existing_logins if one["userName"] == demo_person.user_name), {})
    password, app = before.get("password"), before.get("totpSecret") if demo_person.has_authenticator_app else None
    opens = password is not None and await _opens(db, person, password)
    if demo_person.has_authenticator_app and not (opens and await _shows(db, person, app)):
        app = await _add_app(db, person)
    if not opens:
        password = secrets.token_urlsafe(12)
        await _set_password(db, person, password)
    return person, {**login, "password": password, "totpSecret": app}


async def _opens(db: Database, person: Person, password: str) -> bool:
    async with db.read() as tx:
        stored = await passwords.load_password_of_person(tx, person)
    return await passwords.verify_password(db.deployment.vault, stored, password)


async def _shows(db: Database, person: Person, app: str | None) -> bool:
    async with db.read() as tx:
        return app is not None and await authenticators.is_active_secret(tx, person, app)


async def _set_password(db: Database, person: Person, password: str) -> None:
    hashed = await passwords.hash_new_password(db.deployment.vault, person, password)
    async with db.write() as tx:
        await passwords.store_password(tx, person, hashed, MACHINE.audit_context)


async def _add_app(db: Database, person: Person) -> str:
    """Replace an authenticator app if its secret is not in sandbox.json."""
    async with db.write() as tx:
        await credentials.remove_second_factors(tx, person)
        secret = (await authenticators.begin_setup(tx, person, "Almoner")).secret.replace(" ", "")
        earlier = pyotp.TOTP(secret, interval=STEP_SECONDS).at(
            tx.real_now, counter_offset=-1
        )  # leave the current code unused
        await authenticators.confirm_setup(tx, person, earlier, MACHINE.audit_context)
    return secret


async def _token(db: Database, person: Person, known: str | None) -> str | None:
    if not person.active:
        return None
    async with db.write() as tx:
        with suppress(InvalidOperatorToken):  # it has expired, or was revoked
            if known and (await operators.authenticate(tx, known))[0].id == person.id:
                return known
        _, secret = await operators.create_token(tx, MACHINE.audit_context, person, "demo", MAX_TOKEN_LIFETIME)
    return secret
