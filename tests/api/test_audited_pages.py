"""Every account page that takes a form leaves an audit entry when it succeeds: a new page fails until it has its place.

Members and operators share most pages; those of members stand for both. Forms that only operators have are in
test_console_forms.py.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from uuid import uuid4

import pytest
from PIL import Image
from starlette.routing import Route

from almoner.access.members import service as members
from almoner.access.people.domain import OPERATORS, Person, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser as Device
from almoner.access.sign_ins.service import links
from almoner.platform.pages import error_pages
from tests.support import factories, people, submissions
from tests.support.browsing import Browser
from tests.support.client import data
from tests.support.people import PASSWORD
from tests.support.regular_gifts import begin_plan
from tests.support.service import Service, Tenant

ISSUER = "https://id.example.org"
BOUND = """
insert into sign_on_identity (partner_id, issuer, subject, person_id, bound_by, bound_at, last_used_at)
values ($1, $3, 'ann', $2, 'account', now(), now())
"""
NEW = "purple monkeys read dishwashers"
CHOSEN = {"password": NEW, "again": NEW}
STEPS = frozenset({"/account", "{home}/forgotten", "{home}/prove"})
"""They lead to what leaves an entry: a mail whose link is used, or what only who has just proved it is them may do."""
PREVIEWS = {
    f"{{home}}/{page}/preview" for page in ("application-forms/{id}", "application-forms/{id}/questions", "brand")
}
UNRECORDED = frozenset({"{home}/reports", "{home}/reports/{id}", *PREVIEWS})
"""Whether a person gets the monthly mail, a report made anew from the ledger, and previews: nothing to trace."""
BY_SCRIPT = frozenset({"{home}/sign-in/passkey", "{home}/invitation/passkey", "{home}/passkeys"})
"""Posted by a script with a passkey: their entries are asked for where passkeys are tried, in tests/store."""


def place(path: str) -> str:
    """The same page of members and operators has one place."""
    return re.sub(r"^(/account/\{partner\}|/operator)(?=/|$)", "{home}", path)


def forms(service: Service) -> frozenset[str]:
    """The account pages that take a form."""
    routes = [page for page in service.services.pages if isinstance(page, Route) and "POST" in (page.methods or ())]
    live = [route for route in routes if route.endpoint.__module__ != error_pages.__name__]
    return frozenset(place(route.path) for route in live if route.path.startswith(("/account", "/operator")))


@dataclass
class Doing:
    """Posts forms that must succeed and be recorded."""

    service: Service
    done: set[str] = field(default_factory=set)

    async def entries(self) -> int:
        """How many there are."""
        async with self.service.db.read() as tx:
            return int(await tx.fetchval("select count(*) from audit_entry"))

    async def post(
        self, browser: Browser, home: str, page: str, form: Mapping[str, str | Sequence[str]], at: str | None = None
    ) -> str:
        """Post the form of a page; ``at``: its address when it has an id in it. What it answered."""
        path = home + (at or page)
        assert (await browser.open(path)).status_code == 200, path
        before = await self.entries()
        answer = await browser.post(path, form)
        assert answer.status_code in (200, 303), (path, answer.text)
        assert await self.entries() > before, f"{page} did something and left no entry"
        self.done.add(f"{{home}}{page}")
        return answer.text


@pytest.fixture
async def browser(service: Service) -> AsyncIterator[Browser]:
    """Nobody's yet."""
    made = Browser(service.app, service.db.deployment.base_urls.pages, "198.51.100.77")
    yield made
    await made.close()


async def test_v8_every_page_that_takes_a_form_leaves_an_entry(
    service: Service, tenant: Tenant, browser: Browser
) -> None:
    doing, ids = Doing(service), service.db.deployment.ids
    home = f"/account/{ids.encode('partner', tenant.partner.id)}"
    realm = member_realm(tenant.partner)
    owner = await people.person(service, realm, "ann@example.org", "owner")
    secret = await people.authenticator(service, owner)
    await browser.open(f"{home}/sign-in")
    await browser.post(f"{home}/sign-in", {"user_name": "ann@example.org", "password": PASSWORD})
    await doing.post(browser, home, "/sign-in/second", {"code": people.code(service, secret)})
    await what_owners_do(doing, tenant, browser, home)
    await what_the_dashboard_does(doing, tenant, browser, home)
    await what_is_given_by_links_and_plans(doing, tenant, browser, home)
    await what_everybody_does(doing, owner, browser, home)
    await by_links(doing, owner, browser, home)
    await what_administrators_do(doing)
    assert doing.done | STEPS | UNRECORDED | BY_SCRIPT == forms(service), "give a new page its place"
    assert not doing.done & (STEPS | UNRECORDED | BY_SCRIPT)


async def what_owners_do(doing: Doing, tenant: Tenant, browser: Browser, home: str) -> None:
    service, ids = doing.service, doing.service.db.deployment.ids
    person = await people.person(service, member_realm(tenant.partner), "bo@example.org", "developer")
    async with service.db.write() as tx:
        group = await members.create_group(tx, tenant.partner, {"displayName": "Bookkeepers"}, [person.id])
    await doing.post(browser, home, "/groups", {"group": ids.encode("group", group.id), "role": "finance"})
    form = {"email": "cleo@example.org", "name": "Cleo", "user_name": "", "role": "developer"}
    await doing.post(browser, home, "/members/invite", form)
    his = f"/members/{ids.encode('member', person.id)}"
    for do in ("deactivate", "activate"):
        await doing.post(browser, home, "/members/{id}", {"do": do}, his)
    await doing.post(browser, home, "/members/{id}", {"do": "roles", "role": "reviewer"}, his)
    await doing.post(browser, home, "/members/{id}", {"do": "remove", "sure": "yes"}, his)
    shown = await doing.post(browser, home, "/keys/new", {"name": "till", "kind": "secret", "scopes": ""})
    assert "sk_" in shown or "secret" in shown
    async with service.db.read() as tx:
        key = await tx.fetchval("select id from api_key where name = 'till' and partner_id = $1", tenant.partner.id)
    its = f"/keys/{ids.encode('apikey', key)}"
    await doing.post(browser, home, "/keys/{id}", {"do": "rotate", "overlap": "2"}, its)
    await doing.post(browser, home, "/keys/{id}", {"do": "revoke", "sure": "yes"}, its)
    form = {"name": "Example ID", "issuer": ISSUER, "client_id": "almoner", "public": "yes", "subject_claim": "sub"}
    form |= {"scopes": "openid", "groups_claim": "", "roles": "", "enabled": "yes", "secret": "very-secret"}
    await doing.post(browser, home, "/provider", {"do": "save", **form})


async def picture_is_sent(doing: Doing, browser: Browser, home: str, own: str, name: str, path: str) -> None:
    """The form with a file of a record."""
    await browser.open(f"{home}{own}/{name}")
    before, picture = await doing.entries(), BytesIO()
    Image.new("RGB", (4, 4), "red").save(picture, "PNG")
    sent = await browser.request(
        "POST",
        f"{home}{own}/{name}",
        headers={"Sec-Fetch-Site": "same-origin"},
        data={"csrf": browser.csrf},
        files={name: ("a.png", picture.getvalue(), "image/png")},
    )
    assert (sent.status_code, await doing.entries() > before) == (303, True)
    doing.done.add(f"{{home}}{path}/{name}")


async def what_is_given_by_links_and_plans(doing: Doing, tenant: Tenant, browser: Browser, home: str) -> None:
    """Giving links and regular donations: entries of the calls that the pages make."""
    api, link = doing.service.client(tenant.secret), "/giving-links/{id}"
    nonprofit = await factories.nonprofit(doing.service)
    form = {"title": "Appeal", "organisationIds": nonprofit, "frequencies": "one_time"}
    await doing.post(browser, home, "/giving-links/new", form)
    (made,) = data(await api.get("/v1/giving-links"))
    own = f"/giving-links/{made['id']}"
    await doing.post(browser, home, f"{link}/edit", {**form, "title": "Winter"}, f"{own}/edit")
    for action in ("deactivate", "activate"):
        await doing.post(browser, home, f"{link}/{action}", {}, f"{own}/{action}")
    await picture_is_sent(doing, browser, home, own, "image", link)
    plan = f"/regular-donations/{(await begin_plan(doing.service, api)).id}"
    for action in ("change", "pause", "resume", "skip", "cancel"):
        typed = {"amount": "20", "frequency": "monthly"} if action == "change" else {}
        await doing.post(browser, home, f"/regular-donations/{{id}}/{action}", typed, f"{plan}/{action}")
    await api.close()


async def what_the_dashboard_does(doing: Doing, tenant: Tenant, browser: Browser, home: str) -> None:
    """Refunds and webhook endpoints: entries of the calls that the pages make."""
    api = doing.service.client(tenant.secret)
    paid = await factories.donation(doing.service, api)
    form = {"amount": "1", "form_key": "once"}
    await doing.post(browser, home, "/donations/{id}/refund", form, f"/donations/{paid['id']}/refund")
    await doing.service.drain()
    await doing.post(browser, home, "/donations/{id}/receipt", {}, f"/donations/{paid['id']}/receipt")
    await doing.post(browser, home, "/views", {"list": "/donations", "filter_status": "ACTIVE", "name": "Open"})
    async with doing.service.db.read() as tx:
        view = await tx.fetchval("select id from saved_view where partner_id = $1", tenant.partner.id)
        named = f"/views/{tx.ids.encode('savedview', view)}"
    await doing.post(browser, home, "/views/{id}", {"name": "Not asked for"}, named)
    await doing.post(browser, home, "/views/{id}/delete", {}, f"{named}/delete")
    await doing.post(browser, home, "/exports", {"list": "/donations", "query": ""})
    await doing.post(browser, home, "/support-refunds", {"EUR": "", "GBP": "", "USD": "5.00"})
    other = await factories.donation(doing.service, api)
    form = {
        "organisationId": await factories.nonprofit(doing.service),
        "ground": "failed_compliance",
        "reason": "Gone.",
    }
    await doing.post(browser, home, "/donations/{id}/reassign", form, f"/donations/{other['id']}/reassign")
    direct = await factories.direct(doing.service, api)
    await doing.post(browser, home, "/donations/{id}/cancel", {}, f"/donations/{direct['id']}/cancel")
    hook = await factories.subscription(api)
    own, about = f"/webhooks/{hook['id']}", {"organisationId": paid["organisationId"]}
    await doing.service.drain()
    event = data(await api.get("/v1/events"))[0]
    await doing.post(browser, home, "/events/{id}/resend", {}, f"/events/{event['id']}/resend")
    for path in ("/monitoring-subscriptions", "/eligibility-subscriptions"):
        await doing.post(browser, home, f"{path}/new", about)
        [made] = data(await api.get(f"/v1{path}"))
        await doing.post(browser, home, f"{path}/{{id}}/cancel", {}, f"{path}/{made['id']}/cancel")
    await doing.post(browser, home, "/donation-sessions/new", about)
    await doing.post(browser, home, "/validation-invites/new", {"language": "en"})
    application_form: dict[str, str | list[str]] = {
        "branding.displayName": "Relief",
        "checks": "compliance",
        "allowedOrganisationTypes": ["nonprofit", "social_impact", "education"],
        "emailVerification": "yes",
    }
    await doing.post(browser, home, "/application-forms/new", application_form)
    newest = data(await api.get(submissions.CONFIGURATIONS))[0]
    edited = f"/application-forms/{newest['id']}"
    await doing.post(
        browser, home, "/application-forms/{id}/edit", {**application_form, "name": "New"}, f"{edited}/edit"
    )
    await picture_is_sent(doing, browser, home, edited, "logo", "/application-forms/{id}")
    asked, written = "/application-forms/{id}/questions", {"type": "short_text", "tag": "en", "label-en": "Why?"}
    for question in ("why", "how"):
        await doing.post(browser, home, f"{asked}/new", {"id": question, **written}, f"{edited}/questions/new")
    await doing.post(
        browser, home, f"{asked}/edit", {**written, "label-en": "How?"}, f"{edited}/questions/edit?question=how"
    )
    await doing.post(browser, home, asked, {"move": "how.0"}, f"{edited}/questions")
    await doing.post(browser, home, f"{asked}/remove", {}, f"{edited}/questions/remove?question=why")
    agent = {"firstName": "Nia", "lastName": "Jones", "email": "nia@example.org", **about}
    await doing.post(browser, home, "/agent-verifications/new", agent)
    request = {"name": "Relief", "countryCode": "USA", "registryName": "IRS", "registryId": "53-0196605"}
    await doing.post(browser, home, "/validation-requests/new", {**request, "website": "https://example.org"})
    failing = await submissions.applied(api, organisationName="test_reject_not_eligible")
    failed = await submissions.ended(doing.service, api, failing)
    appeal = f"/validation-submissions/{failed['id']}/appeals"
    form = {"text": "We are on the register.", "form_key": "appeal"}
    await doing.post(browser, home, "/validation-submissions/{id}/appeals", form, appeal)
    month = (doing.service.clock.now() - timedelta(days=31)).replace(day=1)
    report = f"/reports/{month:%Y-%m}"
    await browser.open(home + report)
    await browser.post(home + report, {})
    await doing.service.drain()
    await doing.post(browser, home, "/reports/{id}/close", {}, f"{report}/close")
    await doing.post(browser, home, "/preferences", {"language": "de", "zone": "Europe/Berlin"})
    await doing.post(browser, home, "/preferences", {"language": "en", "zone": "UTC"})
    await api.close()
    endpoint = {"url": "http://127.0.0.1:9/new", "event": "donation.created"}
    await doing.post(browser, home, "/webhooks/new", endpoint)
    await doing.post(browser, home, "/brand", {"colour": "#0d5c4a"})
    await doing.post(browser, home, "/webhooks/{id}", {"do": "test"}, own)
    await doing.post(browser, home, "/webhooks/{id}/replay", {"failed_only": "yes"}, f"{own}/replay")
    await doing.post(browser, home, "/webhooks/{id}/rotate-secret", {}, f"{own}/rotate-secret")
    await doing.post(browser, home, "/webhooks/{id}/delete", {}, f"{own}/delete")


async def what_everybody_does(doing: Doing, owner: Person, browser: Browser, home: str) -> None:
    service = doing.service
    async with service.db.write() as tx:
        await tx.execute(BOUND, owner.realm.id, owner.id, ISSUER)
    await doing.post(browser, home, "/provider-account", {"do": "disconnect"})
    await doing.post(browser, home, "/recovery-codes", {"do": "make"})
    await doing.post(browser, home, "/password", CHOSEN)
    async with service.db.write() as tx:
        await sign_ins.begin_sign_in(tx, owner, "password_totp", Device("198.51.100.80"))
    await doing.post(browser, home, "/sign-ins", {"others": "yes"})
    await people.person(service, owner.realm, "dev@example.org", "developer")
    other = Browser(service.app, service.db.deployment.base_urls.pages, "198.51.100.78")
    await doing.post(other, home, "/sign-in", {"user_name": "dev@example.org", "password": PASSWORD})
    await doing.post(other, home, "/authenticator", {"do": "begin"})
    await other.close()
    await browser.get(home)
    before = await doing.entries()
    assert (await browser.post(f"{home}/sign-out")).status_code == 303
    assert await doing.entries() > before
    doing.done.add("{home}/sign-out")


async def by_links(doing: Doing, owner: Person, browser: Browser, home: str) -> None:
    new = await people.person(doing.service, owner.realm, "new@example.org", "read_only", password=None)
    async with doing.service.db.write() as tx:
        invitation = links.create_link_token(tx, await links.send_invitation(tx, new))
    await browser.open(f"{home}/forgotten")
    await browser.post(f"{home}/forgotten", {"user_name": "ann@example.org"})
    await doing.service.drain()
    async with doing.service.db.read() as tx:
        mail = await tx.fetchval("select text from sandbox_mail where text like '%' || $1 || '/reset?token=%'", home)
    found = re.search(r"/reset\?token=(\S+)", mail)
    assert found
    for page, token in (("/invitation", invitation), ("/reset", found[1])):
        browser.cookies.clear()
        await browser.open(f"{home}{page}?token={token}")
        await doing.post(browser, home, page, CHOSEN)


async def what_administrators_do(doing: Doing) -> None:
    service = doing.service
    ada = await people.person(service, OPERATORS, f"ada-{uuid4().hex}@example.org", "administrator", password=None)
    await people.authenticator(service, ada)
    async with service.db.write() as tx:
        entered = await sign_ins.begin_sign_in(tx, ada, "password_totp", Device("198.51.100.79"))
    browser = Browser(service.app, service.db.deployment.base_urls.pages, "198.51.100.79")
    browser.cookies["__Host-operator"] = entered.session_secret
    email = f"bo-{uuid4().hex}@example.org"
    await doing.post(browser, "/operator", "/operators/invite", {"email": email, "name": "Bo", "role": "finance"})
    async with service.db.read() as tx:
        found = await tx.fetchval("select id from person where user_name = $1", email)
    his = f"/operators/{service.db.deployment.ids.encode('operator', found)}"
    for form in ({"do": "roles", "role": "reviewer"}, {"do": "deactivate"}):
        await doing.post(browser, "/operator", "/operators/{id}", form, his)
    await doing.post(browser, "/operator", "/tokens", {"do": "make", "name": "laptop", "days": "30"})
    await browser.close()
