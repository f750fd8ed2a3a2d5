"""Operators, signed in to the console."""

from almoner.access.people.domain import OPERATORS, OperatorRole, Person
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser as Device
from tests.support import people
from tests.support.browsing import Browser
from tests.support.factories import unique
from tests.support.service import Service

ADDRESS = "192.0.2.9"


async def operator(service: Service, *roles: OperatorRole) -> Person:
    """Create an operator with an authenticator app."""
    name = f"{unique('op').replace(' ', '')}@example.org"
    made = await people.person(service, OPERATORS, name, *roles, password=None)
    await people.authenticator(service, made)
    return made


async def signed_in(service: Service, person: Person) -> Browser:
    """A browser in which an operator is signed in, freshly authenticated."""
    browser = Browser(service.app, service.db.deployment.base_urls.pages, ADDRESS)
    async with service.db.write() as tx:
        entered = await sign_ins.begin_sign_in(tx, person, "password_totp", Device(ADDRESS))
    browser.cookies["__Host-operator"] = entered.session_secret
    return browser
