"""Which operators open which page of the console: a page belongs to the link of the navigation that it is below."""

import re
from collections.abc import Mapping

from almoner.access.notifications import store as notifications_store
from almoner.access.notifications.domain import UndeliverableEmail
from almoner.access.people.domain import OPERATOR_ROLES, Role
from almoner.console import links
from tests.support.browsing import Browser
from tests.support.console import console_routes
from tests.support.members import desk
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant

HOME = "/operator"
NOBODY = "partner_01hzzzzzzzzzzzzzzzzzzzzzzz"
RECORD = re.compile(r"[a-z]+_[0-9a-z]{26}|\d+")
"""What differs between the addresses of one kind of page."""
NARROWER: Mapping[str, frozenset[Role]] = {
    **dict.fromkeys(
        (
            "/activities/apply",
            "/health/jobs/retry",
            "/health/jobs/{id}/retry",
            "/health/jobs/{id}/drop",
            "/health/periodic/{name}/run",
            "/health/findings/run",
            "/health/incidents/new",
            "/health/incidents/{id}/update",
            "/health/incidents/{id}/resolve",
            "/organisations/{id}/brand",
            "/organisations/{id}/brand/clear",
            "/organisations/{id}/logo",
            "/organisations/{id}/merge/{other}",
            "/organisations/{id}/separate/{other}",
        ),
        links.ADMINISTRATORS,
    ),
    "/organisations/{id}/contact": links.REVIEWERS,
    "/organisations/{id}/giving-links/allow": links.REVIEWERS,
    "/organisations/{id}/giving-links/refuse": links.REVIEWERS,
    "/organisations/{id}/publish": links.REVIEWERS,
}
"""Pages that fewer people open than see the link above them."""


def address(path: str) -> str:
    """An address of the route, of a record that does not exist."""
    return re.sub(r"\{[a-z_]+(:path)?\}", NOBODY, path)


def allowed(path: str) -> frozenset[Role]:
    """Who may open it."""
    below = path.removeprefix(HOME).removesuffix(".csv")
    known = {link.path: link.roles for link in (*links.LINKS, *links.LAST_LINKS)}
    found = [one for one in known if below == one or below.startswith(f"{one}/")]
    assert found, f"{path} is below no link of almoner.console.links"
    roles = known[max(found, key=len)]
    assert roles is not None
    return NARROWER.get(below, roles)


async def test_each_page_opens_for_its_roles_alone(service: Service) -> None:
    paths = sorted({route.path for route in console_routes(service)})
    assert len(paths) > 2
    for role in OPERATOR_ROLES:
        browser = await signed_in(service, await operator(service, role))
        for path in paths:
            status = (await browser.get(address(path))).status_code
            if role in allowed(path):
                assert status in (200, 303, 404), (role, path, status)
            else:
                assert status == 403, (role, path, status)
        await browser.close()


async def test_nobody_else_opens_any(service: Service, tenant: Tenant) -> None:
    owner = await desk(service, tenant, "owner")
    forged = Browser(service.app, service.db.deployment.base_urls.pages, "192.0.2.10")
    forged.cookies["__Host-operator"] = next(iter(owner.cookies.values()))
    for browser in (owner, forged):
        for route in console_routes(service):
            answer = await browser.get(address(route.path))
            assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, f"{HOME}/sign-in")
        await browser.close()


async def test_a_form_of_another_site_does_nothing(service: Service) -> None:
    browser = await signed_in(service, await operator(service, *OPERATOR_ROLES))
    await browser.open(f"{HOME}/tokens")
    for route in console_routes(service):
        if "POST" in (route.methods or ()):
            answer = await browser.post(address(route.path), site="cross-site")
            assert answer.status_code == 403, route.path
    assert (await browser.get(f"{HOME}/no-such-page")).status_code == 404
    assert (await browser.request("DELETE", f"{HOME}/reviews")).status_code == 405
    await browser.close()


async def test_no_page_links_to_one_that_the_role_may_not_open(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        lost = UndeliverableEmail(tx.new_id(), tenant.partner.id, "q", "q@q.example", "unknown", True, tx.now)
        await notifications_store.insert_undeliverable_email(tx, lost, {})
    for role in OPERATOR_ROLES:
        browser, found = await signed_in(service, await operator(service, role)), dict[str, tuple[str, str]]()
        for link in (*links.LINKS, *links.LAST_LINKS):
            if link.roles and role in link.roles:
                page = (await browser.open(HOME + link.path)).text.partition("<main")[2]
                for href in re.findall(rf'href="({HOME}/[^"?#]+)', page):
                    found.setdefault(RECORD.sub("", href), (link.path, href))
        assert len(found) > 5
        for path, href in found.values():
            assert (await browser.get(href)).status_code != 403, (role, path, href)
        await browser.close()
