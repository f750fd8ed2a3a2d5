"""Members of a partner, signed in to its pages."""

import html
import re
from uuid import uuid4

from almoner.access.accounts.domain import build_member_portal
from almoner.access.people.domain import MemberRole, Person, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser as Device
from tests.support import people
from tests.support.browsing import Browser
from tests.support.service import Service, Tenant

ADDRESS = "192.0.2.7"


async def member(service: Service, tenant: Tenant, *roles: MemberRole, name: str | None = None) -> Person:
    """Create a member with an authenticator app, as owners must have."""
    name = name or f"member-{uuid4()}"
    email = f"{name}@example.org"
    made = await people.person(service, member_realm(tenant.partner), name, *roles, password=None, email=email)
    await people.authenticator(service, made)
    return made


class Desk(Browser):
    """A browser in which a member is signed in; ``home``: the path of their account."""

    def __init__(self, service: Service, tenant: Tenant, person: Person | None) -> None:
        super().__init__(service.app, service.db.deployment.base_urls.pages, ADDRESS)
        self.service, self.person = service, person
        self.name = service.db.deployment.ids.encode("partner", tenant.partner.id)
        self.home = f"/account/{self.name}"

    async def sign_in(self, person: Person) -> None:
        """Sign the member in, freshly authenticated."""
        async with self.service.db.write() as tx:
            entered = await sign_ins.begin_sign_in(tx, person, "password_totp", Device(ADDRESS))
        place = build_member_portal(person.realm, self.service.db.deployment.ids.encode("partner", person.realm.id), "")
        self.cookies[place.session_cookie_name] = entered.session_secret

    async def wait(self) -> None:
        """Let the authentication become old."""
        assert self.person is not None
        async with self.service.db.write() as tx:
            await tx.execute(
                "update sign_in set authenticated_at = authenticated_at - interval '11 minutes' where person_id = $1",
                self.person.id,
            )

    def text(self) -> str:
        """The text of the last page, without its tags."""
        assert self.page is not None
        whole = re.sub(r"</?(bdi|span|strong|time|code)[^>]*>", "", self.page.text)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", whole)).split())


async def desk(service: Service, tenant: Tenant, *roles: MemberRole, person: Person | None = None) -> Desk:
    """A signed-in member's browser: a new member with the roles, or a given one."""
    who = person or await member(service, tenant, *roles)
    made = Desk(service, tenant, who)
    await made.sign_in(who)
    return made
