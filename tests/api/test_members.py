"""Pages of members: who may open which, and what owners do there."""

import json
from uuid import uuid4

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts import pages as accounts_pages
from almoner.access.accounts.page_guard import PageGuard
from almoner.access.credentials.domain import AuditContext
from almoner.access.keys import service as keys
from almoner.access.members import pages as members_pages
from almoner.access.members import service as members
from almoner.access.people import service as people
from almoner.access.people.domain import MEMBER_ROLES, OPERATORS, MemberRole, build_profile, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser as Device
from almoner.access.sign_ins.domain import InvalidEmailLink
from almoner.access.sign_ins.service import links
from almoner.dashboard.member_api_client import ApiCallRejected
from almoner.kit.errors import ServiceUnavailable
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, AuditEntry
from almoner.platform.pages.rendering import PageRenderer
from tests.support.members import ADDRESS, Desk, desk, member
from tests.support.service import Service, Tenant

BY = AuditContext(Actor("system", "tests"), None)
EVERYBODY: frozenset[MemberRole] = frozenset(MEMBER_ROLES)
OWNERS: frozenset[MemberRole] = frozenset({"owner"})
BUILDERS: frozenset[MemberRole] = frozenset({"owner", "developer"})
WHO_MAY = {
    "/members": EVERYBODY,
    "/members/invite": OWNERS,
    "/members/{id}": OWNERS,
    "/groups": OWNERS,
    "/groups/{id}": OWNERS,
    "/keys": BUILDERS,
    "/keys/new": BUILDERS,
    "/keys/{id}": BUILDERS,
    "/audit": OWNERS,
    "/audit.csv": OWNERS,
    "/audit.jsonl": OWNERS,
}
FRESH = {"/members/invite", "/members/{id}", "/groups", "/keys/new", "/keys/{id}", "/audit.csv", "/audit.jsonl"}


async def address(service: Service, tenant: Tenant, path: str) -> str:
    """A page of the partner; ``{id}`` is something that there is."""
    ids = service.db.deployment.ids
    if path.startswith("/members/{"):
        path = path.replace("{id}", ids.encode("member", (await member(service, tenant)).id))
    elif path.startswith("/groups/{"):
        async with service.db.write() as tx:
            group = await members.create_group(tx, tenant.partner, {"displayName": "Theirs"})
        path = path.replace("{id}", ids.encode("group", group.id))
    elif "{id}" in path:
        async with service.db.write() as tx:
            key, _ = await keys.create(tx, tenant.partner, "secret", "for the page")
        path = path.replace("{id}", ids.encode("apikey", key.id))
    return f"/account/{ids.encode('partner', tenant.partner.id)}{path}"


async def recorded(service: Service, tenant: Tenant) -> list[AuditEntry]:
    """What the audit log says of the partner, oldest first, without sign-ins."""
    async with service.db.read() as tx:
        entries = await audit.list_entries(tx, tenant.partner.id, limit=1000)
    return [entry for entry in reversed(entries) if entry.action not in ("signed_in", "authenticator.added")]


def test_every_page_has_its_row_in_the_table(service: Service) -> None:
    gate = PageGuard(service.db, PageRenderer(service.db.deployment, members_pages.TEMPLATES))
    made = members_pages.routes(
        gate, PageRenderer(service.db.deployment, members_pages.TEMPLATES), {"req": "/request-log"}
    )
    served = {route.path for route in service.services.pages if isinstance(route, Route)}
    assert {route.path.removeprefix("/account/{partner}") for route in made} == set(WHO_MAY)
    assert {route.path for route in made} <= served


@pytest.mark.parametrize("path", WHO_MAY)
@pytest.mark.parametrize("role", [*MEMBER_ROLES, None])
async def test_each_page_opens_for_its_roles_alone(
    path: str, role: MemberRole | None, service: Service, tenant: Tenant
) -> None:
    browser = await desk(service, tenant, *([role] if role else []))
    page = await address(service, tenant, path)
    answer = await browser.get(page)
    assert answer.status_code == (200 if role in WHO_MAY[path] else 403), browser.text()
    await browser.wait()
    answer = await browser.get(page)
    if role not in WHO_MAY[path]:
        assert answer.status_code == 403
    elif path in FRESH:
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, f"{browser.home}/prove")
    else:
        assert answer.status_code == 200
    await browser.close()


@pytest.mark.parametrize("path", WHO_MAY)
async def test_k5_nobody_else_opens_a_page_of_the_partner(path: str, service: Service, tenant: Tenant) -> None:
    """Not signed in, another partner's owner, an operator: all are led to the sign-in."""
    page = await address(service, tenant, path)
    other = await service.tenant()
    theirs = await desk(service, other, "owner")
    nobody = Desk(service, tenant, None)
    operator = Desk(service, tenant, None)
    async with service.db.write() as tx:
        person = await people.create(tx, OPERATORS, build_profile(f"operator-{uuid4()}"), ["administrator"])
        entered = await sign_ins.begin_sign_in(tx, person, "password_totp", Device(ADDRESS))
    operator.cookies["__Host-operator"] = entered.session_secret
    forged = Desk(service, tenant, None)
    forged.cookies[f"__Host-member-{nobody.name}"] = next(iter(theirs.cookies.values()))
    for browser in (theirs, nobody, operator, forged):
        answer = await browser.get(page)
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, f"{nobody.home}/sign-in")
        await browser.close()


async def test_another_partners_records_are_404(owner: Desk, service: Service) -> None:
    other = await service.tenant()
    theirs, ids = await member(service, other), service.db.deployment.ids
    async with service.db.write() as tx:
        key, _ = await keys.create(tx, other.partner, "secret", "theirs")
        group = await members.create_group(tx, other.partner, {"displayName": "Theirs"})
    await owner.get(f"{owner.home}/groups")
    for path in (
        f"/members/{ids.encode('member', theirs.id)}", f"/keys/{ids.encode('apikey', key.id)}", "/members/nobody",
        "/keys/nothing", f"/groups/{ids.encode('group', group.id)}", "/groups/x",
        f"/members/{ids.encode('apikey', key.id)}", "/members?after=nobody", "/audit?before=x",
    ):  # fmt: skip
        assert (await owner.get(f"{owner.home}{path}")).status_code == 404, path
    await owner.get(f"{owner.home}/groups")
    token = owner.csrf
    for path, form in (
        (f"/members/{ids.encode('member', theirs.id)}", {"do": "deactivate"}),
        (f"/keys/{ids.encode('apikey', key.id)}", {"do": "revoke", "sure": "yes"}),
        ("/groups", {"group": ids.encode("group", group.id), "role": "owner"}),
    ):
        assert (await owner.post(f"{owner.home}{path}", {"csrf": token, **form})).status_code == 404, path
    async with service.db.read() as tx:
        assert (await people.get(tx, theirs.realm, theirs.id)).active
        assert (await keys.get(tx, key.id)).revoked_at is None
        assert (await members.get_group(tx, other.partner, group.id)).role is None


async def test_h2_a_form_that_this_browser_was_not_given_does_nothing(
    owner: Desk, service: Service, tenant: Tenant
) -> None:
    person = await member(service, tenant)
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    before = len(await recorded(service, tenant))
    for given in ({"csrf": "wrong"}, {"csrf": ""}):
        assert (await owner.post(page, {"do": "deactivate", **given})).status_code == 403
    await owner.get(page)
    crossed = await owner.post(page, do="deactivate", site="cross-site")
    assert crossed.status_code == 403
    assert len(await recorded(service, tenant)) == before


async def test_an_owner_invites_somebody_who_gets_a_mail(owner: Desk, service: Service, tenant: Tenant) -> None:
    page = f"{owner.home}/members/invite"
    await owner.get(page)
    answer = await owner.post(page, email="no address", name="", user_name="")
    assert (answer.status_code, "Enter an email address" in owner.text()) == (422, True)
    sent = {"email": "Bo@example.org", "name": "Bo Builder", "user_name": "", "role": "developer"}
    answer = await owner.post(page, sent)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{owner.home}/members?done=invited")
    await owner.open(f"{owner.home}/members?done=invited")
    assert "Invitation sent." in owner.text()
    assert "Bo Builder Bo@example.org; developer; invited until" in owner.text()
    async with service.db.read() as tx:
        person = await people.find_by_user_name(tx, member_realm(tenant.partner), "bo@example.org")
        assert person is not None
        link = await links.find_invitation_link(tx, person)
        assert link is not None
        token = links.create_link_token(tx, link)
    await service.drain()
    letters = (await service.client(tenant.secret).get("/v1/sandbox/mailbox")).json()["data"]
    assert [letter["to"] for letter in letters] == ["Bo@example.org"]
    assert f"{owner.home}/invitation?token={token}" in json.dumps(letters)
    invited = (await recorded(service, tenant))[-1]
    ids = service.db.deployment.ids
    assert owner.person is not None
    assert (invited.actor, invited.action, invited.subject, invited.ip_address, invited.details) == (
        Actor("member", ids.encode("member", owner.person.id)), "member.invited", ids.encode("member", person.id),
        ADDRESS,
        {"roles": ["developer"]},
    )  # fmt: skip
    await owner.get(page)
    answer = await owner.post(page, sent)
    assert (answer.status_code, "This username is already taken" in owner.text()) == (422, True)


async def test_an_invitation_is_sent_again_five_times_a_day_at_most(
    owner: Desk, service: Service, tenant: Tenant
) -> None:
    async with service.db.write() as tx:
        person, _ = await members.invite_member(tx, tenant.partner, BY, "late@example.org")
        first = await links.find_invitation_link(tx, person)
        assert first is not None
        old = links.create_link_token(tx, first)
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    statuses = []
    for _ in range(5):
        await owner.get(page)
        statuses.append((await owner.post(page, do="invite")).status_code)
    assert statuses == [303, 303, 303, 303, 422]
    assert "You can send a member up to 5 invitations a day. Try again tomorrow" in owner.text()
    async with service.db.read() as tx:
        with pytest.raises(InvalidEmailLink):
            await links.get_valid_link(tx, old, "invitation")
    joined = await member(service, tenant)
    async with service.db.write() as tx:
        await sign_ins.begin_sign_in(tx, joined, "passkey", Device(ADDRESS))
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', joined.id)}"
    await owner.get(page)
    assert "Resend invitation" not in owner.text()
    assert (await owner.post(page, do="invite")).status_code == 422


async def test_an_owner_changes_roles_and_the_last_owner_stays(owner: Desk, service: Service, tenant: Tenant) -> None:
    assert owner.person is not None
    own = f"{owner.home}/members/{service.db.deployment.ids.encode('member', owner.person.id)}"
    for form in ({"do": "roles", "role": "finance"}, {"do": "deactivate"}, {"do": "remove", "sure": "yes"}):
        await owner.get(own)
        answer = await owner.post(own, form)
        assert (answer.status_code, "This is the only active owner" in owner.text()) == (422, True), form
    person = await member(service, tenant, "read_only")
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    await owner.get(page)
    assert (await owner.post(page, do="roles", role="owner")).headers["location"] == f"{page}?done=roles"
    async with service.db.read() as tx:
        assert (await people.get(tx, person.realm, person.id)).roles == {"owner"}
    changed = (await recorded(service, tenant))[-1]
    assert (changed.action, changed.details) == ("member.roles_changed", {"was": ["read_only"], "roles": ["owner"]})
    await owner.get(own)
    assert (await owner.post(own, do="roles", role="finance")).status_code == 303
    assert (await owner.get(f"{owner.home}/members/invite")).status_code == 403  # from that very moment
    assert (await owner.get(f"{owner.home}/members")).status_code == 200


async def test_deactivation_ends_the_members_sign_in_at_once(owner: Desk, service: Service, tenant: Tenant) -> None:
    person = await member(service, tenant, "finance")
    other = await desk(service, tenant, person=person)
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    assert (await other.get(f"{owner.home}/members")).status_code == 200
    await owner.get(page)
    assert (await owner.post(page, do="deactivate")).status_code == 303
    assert (await other.get(f"{owner.home}/members")).status_code == 303
    await owner.get(page)
    assert (await owner.post(page, do="activate")).status_code == 303
    assert (await other.get(f"{owner.home}/members")).status_code == 303  # what has ended does not come back
    await other.sign_in(person)
    assert (await other.get(f"{owner.home}/members")).status_code == 200
    await owner.get(page)
    assert (await owner.post(page, do="remove")).status_code == 422
    await owner.get(page)
    assert (await owner.post(page, do="remove", sure="yes")).headers["location"].endswith("/members?done=removed")
    assert (await other.get(f"{owner.home}/members")).status_code == 303
    assert (await owner.get(page)).status_code == 404
    actions = [entry.action for entry in await recorded(service, tenant)]
    assert actions[-3:] == ["member.deactivated", "member.activated", "member.removed"]
    await other.close()


async def test_what_a_group_may_do_is_said_by_an_owner(owner: Desk, service: Service, tenant: Tenant) -> None:
    person, ids = await member(service, tenant), service.db.deployment.ids
    async with service.db.write() as tx:
        group = await members.create_group(tx, tenant.partner, {"displayName": "owner"}, [person.id])
    other = await desk(service, tenant, person=person)
    assert (await other.get(f"{owner.home}/keys")).status_code == 403  # a name gives nothing
    await owner.get(f"{owner.home}/groups")
    assert "owner 1 member" in owner.text()
    for _ in range(2):
        await owner.get(f"{owner.home}/groups")
        answer = await owner.post(f"{owner.home}/groups", group=ids.encode("group", group.id), role="developer")
        assert answer.status_code == 303
    assert (await other.get(f"{owner.home}/keys")).status_code == 200
    await owner.get(f"{owner.home}/members/{ids.encode('member', person.id)}")
    assert "Roles from groups and SSO developer" in owner.text()
    await owner.get(f"{owner.home}/groups")
    answer = await owner.post(f"{owner.home}/groups", group=ids.encode("group", group.id), role="administrator")
    assert answer.status_code == 422
    await owner.get(f"{owner.home}/groups")
    assert (await owner.post(f"{owner.home}/groups", group=ids.encode("group", group.id), role="")).status_code == 303
    assert (await other.get(f"{owner.home}/keys")).status_code == 403
    mapped = [entry.details for entry in await recorded(service, tenant) if entry.action == "group.mapped"]
    assert mapped == [{"was": None, "role": "developer"}, {"was": "developer", "role": None}]
    await other.close()


async def test_long_lists_are_read_page_by_page(owner: Desk, service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        for number in range(60):
            await people.create(tx, member_realm(tenant.partner), build_profile(f"person-{number:02}"))
            await members.create_group(tx, tenant.partner, {"displayName": f"Group {number:02}"})
    for page, name in (("members", "person"), ("groups", "Group")):
        await owner.get(f"{owner.home}/{page}")
        first = owner.text()
        assert owner.page is not None
        onward = owner.page.text.partition(f'href="{owner.home}/{page}?after=')[2].partition('"')[0]
        await owner.get(f"{owner.home}/{page}?after={onward}")
        both = first + owner.text()
        assert all(both.count(f"{name}{'-' if name == 'person' else ' '}{number:02}") >= 1 for number in range(60))
        assert "Next page" not in owner.text()


@pytest.mark.parametrize("path", [path for path in WHO_MAY if path in FRESH and "." not in path])
async def test_who_may_not_open_a_page_cannot_post_to_it(path: str, service: Service, tenant: Tenant) -> None:
    page = await address(service, tenant, path)
    for role in [*(EVERYBODY - WHO_MAY[path]), None]:
        browser = await desk(service, tenant, *([role] if role else []))
        await browser.get(browser.home)
        before = len(await recorded(service, tenant))
        for do in ("remove", "revoke", "rotate", ""):
            sent = {"do": do, "sure": "yes", "overlap": "1", "kind": "secret", "name": "x", "email": "x@example.org"}
            assert (await browser.post(page, {**sent, "csrf": browser.csrf})).status_code == 403, role
        assert len(await recorded(service, tenant)) == before
        await browser.close()


async def test_an_outage_that_a_call_of_a_page_meets_is_no_refusal(service: Service) -> None:
    async def page(_request: Request) -> Response:
        raise ApiCallRejected(503, "service_unavailable", ["try again in a moment"])

    gate = PageGuard(service.db, PageRenderer(service.db.deployment, accounts_pages.TEMPLATES))
    app = Starlette(routes=[gate.public_route("/account/x/page", page)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False)) as http:
        answer = await http.get("https://pages.example.org/account/x/page")
    assert answer.status_code == 503
    with pytest.raises(ServiceUnavailable):  # for the log
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            await http.get("https://pages.example.org/account/x/page")
