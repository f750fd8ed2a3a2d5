"""Partners in the console: settings, keys, members, and looking at their pages as they see them."""

import io
import re
from collections.abc import AsyncIterator

import asyncpg
import pytest
from PIL import Image

from almoner.access.credentials.domain import AuditContext
from almoner.access.keys import service as keys
from almoner.access.members import service as members
from almoner.access.sso import service as sso
from almoner.access.sso.domain import IdentityProviderSettings
from almoner.platform.audit.log import Actor
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.console import entries, upload, words
from tests.support.members import desk, member
from tests.support.operators import operator, signed_in
from tests.support.scim import ScimClient
from tests.support.service import Service, Tenant

PARTNERS = "/operator/partners"
ISSUER = "https://id.example.org"
BOUND = """
insert into sign_on_identity (partner_id, issuer, subject, person_id, bound_by, bound_at, last_used_at)
values ($1, $3, 'ann', $2, 'account', now(), now())
"""
DONOR = "ada.lovelace@example.org"


@pytest.fixture
async def admin(service: Service) -> AsyncIterator[Browser]:
    """An administrator's browser."""
    browser = await signed_in(service, await operator(service, "administrator"))
    yield browser
    await browser.close()


@pytest.fixture
def name(service: Service, tenant: Tenant) -> str:
    """The partner's identifier."""
    return service.db.deployment.ids.encode("partner", tenant.partner.id)


async def act(browser: Browser, path: str, form: dict[str, str]) -> str:
    """Open an act's page, do it; the page that it leads to."""
    await browser.open(path)
    answer = await browser.post(path, {"sure": "yes", **form})
    assert answer.status_code == 303, (path, words(browser))
    return answer.headers["location"]


async def test_a_partner_is_created_and_its_keys_are_shown_once(service: Service, admin: Browser) -> None:
    await admin.open(f"{PARTNERS}/new")
    assert (await admin.post(f"{PARTNERS}/new", {"name": " "})).status_code == 422
    shown = await admin.post(f"{PARTNERS}/new", {"name": "Bright Bank"})
    assert shown.status_code == 200
    secret = re.search(r"sk_sandbox_\w+", shown.text)
    partner = re.search(r"sandbox_partner_\w+", shown.text)
    assert secret is not None
    assert partner is not None
    assert await entries(service, "partner.added", partner[0]) == 1
    await admin.open(f"{PARTNERS}?name=bright")
    assert "Bright Bank" in words(admin)
    await admin.open(f"{PARTNERS}/{partner[0]}")
    assert secret[0] not in admin.page.text if admin.page else False
    assert "first" in words(admin)
    assert "Bright Bank" not in (await admin.get(f"{PARTNERS}?name=no+such")).text
    assert (await admin.get(f"{PARTNERS}.csv?name=bright")).text.splitlines()[1].startswith("Bright Bank,")


async def test_of_two_people_none_undoes_what_the_other_has_just_saved(
    service: Service, admin: Browser, name: str
) -> None:
    page, other = f"{PARTNERS}/{name}/settings", await signed_in(service, await operator(service, "administrator"))

    async def opened(browser: Browser) -> dict[str, str]:
        """The form as it is shown, with what was stored then."""
        stored = dict(re.findall(r'name="stored\.(\w+)" value="([^"]*)"', (await browser.open(page)).text))
        assert stored
        return {**stored, **{f"stored.{field}": value for field, value in stored.items()}}

    first, second = await opened(admin), await opened(other)
    changed = {**second, "currencies": "EUR"}
    assert [(await other.post(page, changed)).status_code for _ in range(2)] == [303, 303], "pressed twice"
    refused = await admin.post(page, {**first, "due": "20"})
    assert refused.status_code == 422
    assert "Settlement currencies: changed since you opened this page" in words(admin)
    assert re.search(r'name="currencies"[^>]*value="EUR"', refused.text), "what nobody touched is shown as it is now"
    assert re.search(r'name="due"[^>]*value="20"', refused.text), "what was typed stays"
    assert (await admin.post(page, {**await opened(admin), "due": "20"})).status_code == 303
    now = await opened(other)
    assert (now["currencies"], now["due"]) == ("EUR", "20")
    await other.close()


async def test_settings_are_changed_and_recorded(service: Service, tenant: Tenant, admin: Browser, name: str) -> None:
    own = f"{PARTNERS}/{name}"
    await act(admin, f"{own}/links", {"website": "https://shop.example", "privacy": "", "terms": "", "contact": ""})
    await act(admin, f"{own}/brand", {"colour": "#E6007E"})
    await act(admin, f"{own}/brand/clear", {})
    await act(admin, f"{own}/scim", {"allowed": "no"})
    await act(admin, f"{own}/receipt-issuer", {"name": "Bright Foundation", "prefix": ""})
    settings = {"donors": "no", "gift_aid": "no", "interval": "week", "least": "3", "due": "14"}
    await act(admin, f"{own}/settings", {"currencies": "gbp, EUR", **settings})
    await admin.open(own)
    said = words(admin)
    assert "Settlement currencies GBP, EUR" in said
    assert "Every week, from 3 times the minimum donation, due within 14 days" in said
    assert "https://shop.example" in said
    for action in (
        "partner.links_set",
        "partner.branded",
        "partner.scim_set",
        "partner.receipt_issuer_changed",
        "partner.giving_set",
    ):
        assert await entries(service, action, tenant.partner) >= 1, action
    await admin.open(f"{own}/settings")
    answer = await admin.post(f"{own}/settings", {"currencies": "XXQ", **settings})
    assert (answer.status_code, "not an active ISO 4217" in words(admin)) == (422, True)


async def test_settings_that_stay_as_they_are_are_not_recorded(
    service: Service, tenant: Tenant, admin: Browser, name: str
) -> None:
    for path, action, typed in (
        ("brand", "partner.branded", {"colour": "#0d5c4a"}),
        ("scim", "partner.scim_set", {"allowed": "no"}),
        ("receipt-issuer", "partner.receipt_issuer_changed", {"name": "Bright Foundation", "prefix": "BRIGHT"}),
    ):
        for _ in range(2):
            await act(admin, f"{PARTNERS}/{name}/{path}", typed)
        assert await entries(service, action, tenant.partner) == 1, path
    for _ in range(2):
        await act(admin, f"{PARTNERS}/{name}/brand/clear", {})
    assert await entries(service, "partner.branded", tenant.partner) == 2


async def test_every_wrong_link_is_told_at_its_field(admin: Browser, name: str) -> None:
    page = f"{PARTNERS}/{name}/links"
    await admin.open(page)
    typed = {"website": "https://shop.example", "privacy": "nowhere", "terms": "", "contact": "nobody"}
    answer = await admin.post(page, typed)
    assert answer.status_code == 422
    assert re.findall(r'<a href="#(\w+)">', answer.text.partition('class="summary"')[2]) == ["privacy", "contact"]
    await admin.open(f"{PARTNERS}/{name}/receipt-issuer")
    answer = await admin.post(f"{PARTNERS}/{name}/receipt-issuer", {"name": "Bright", "prefix": "no prefix"})
    assert answer.status_code == 422
    assert re.findall(r'<a href="#(\w+)">', answer.text.partition('class="summary"')[2]) == ["prefix"]


async def allowed(service: Service, key: str) -> tuple[str, list[int]]:
    """What the first of seven calls says about its limit, and the status of each."""
    client = service.client(key)
    answers = [await client.get("/v1/countries") for _ in range(7)]
    await client.close()
    return answers[0].headers["ratelimit-policy"], [one.status_code for one in answers]


@pytest.mark.usefixtures("standing_time")
async def test_a_partner_has_rate_limits_of_its_own(
    service: Service, tenant: Tenant, admin: Browser, name: str
) -> None:
    own, other = f"{PARTNERS}/{name}/rate-limits", await service.tenant()
    assert (await allowed(service, tenant.secret))[1] == [200] * 7
    await act(admin, own, {"secret": "0.5/3", "publishable": "1/5", "scim": "2/4"})
    assert await entries(service, "partner.rate_limit_set", tenant.partner) == 3
    service.clock.advance_wall(seconds=1)
    assert await allowed(service, tenant.secret) == ('"secret";q=3;w=6', [200] * 3 + [429] * 4)
    assert await allowed(service, await service.key(tenant.partner)) == ('"secret";q=3;w=6', [200] * 3 + [429] * 4)
    assert (await allowed(service, tenant.publishable))[1] == [200] * 5 + [429] * 2
    assert (await allowed(service, other.secret))[1] == [200] * 7
    async with await ScimClient.for_partner(service, tenant) as directory:
        assert [(await directory.get("/Users")).status_code for _ in range(5)] == [200] * 4 + [429]
    await admin.open(f"{PARTNERS}/{name}")
    assert "Rate limit: Secret key 0.5/3" in words(admin)
    owner = await desk(service, tenant, "owner")
    await owner.open(f"{owner.home}/limits")
    assert "0.5 per second, with bursts of up to 3" in words(owner)
    await owner.open(f"{owner.home}/audit")
    assert "Rate limit changed" in words(owner)
    assert "Type: secret key; Rate limit: 0.5/3" in words(owner)

    for wrong, reason in (("5", "such as 25/50"), ("-1/5", "such as 25/50"), ("1/1000001", "at most 1,000,000")):
        answer = await admin.post(own, {"secret": wrong, "publishable": "1/5", "scim": ""})
        assert (answer.status_code, reason in words(admin)) == (422, True), wrong
    await act(admin, own, {"secret": "", "publishable": "1/5", "scim": "2/4"})
    await act(admin, own, {"secret": "", "publishable": "1/5", "scim": "2/4"})  # changes nothing
    assert await entries(service, "partner.rate_limit_set", tenant.partner) == 4
    await owner.open(f"{owner.home}/audit")
    assert "Type: secret key; Rate limit: default" in words(owner)
    await owner.close()
    service.clock.advance_wall(seconds=7)  # the burst of the lower limit is over, too
    assert (await allowed(service, tenant.secret))[1] == [200] * 7
    default = service.services.settings.rate_limits_by_key_kind["secret"].text
    await admin.open(f"{PARTNERS}/{name}")
    assert f"Rate limit: Secret key {default} (default)" in words(admin)


async def test_the_database_refuses_rate_limits_that_let_nobody_in_or_everybody(
    service: Service, tenant: Tenant
) -> None:
    sql = "insert into partner_rate_limit (partner_id, key_kind, per_second, burst) values ($1, $2, $3, $4)"
    for kind, rate, burst in (
        ("member", 1.0, 1),
        ("secret", 0.0, 1),
        ("secret", float("nan"), 1),
        ("secret", 1_000_000.0, 1),
        ("secret", 1.0, 0),
        ("secret", 1.0, 1_000_001),
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            async with service.db.write() as tx:
                await tx.execute(sql, tenant.partner.id, kind, rate, burst)


async def test_a_partner_is_paused_and_resumed_and_its_owners_are_told(
    service: Service, tenant: Tenant, api: Client, admin: Browser, name: str
) -> None:
    own = f"{PARTNERS}/{name}"
    await admin.open(f"{own}/pause")
    assert "Nobody (the partner has no owner) will get this email" in words(admin)
    owner = await desk(service, tenant, "owner")
    await admin.open(f"{own}/pause")
    assert f"1 owner of {tenant.name} will get this email" in words(admin)
    assert "was paused" in words(admin), "the email is shown before it goes"
    assert (await admin.post(f"{own}/pause", {"reason": "because"})).status_code == 422
    await act(admin, f"{own}/pause", {"reason": "Complaints about its donation pages"})
    await admin.open(own)
    assert "Reason Complaints about its donation pages" in words(admin)
    assert (await admin.post(f"{own}/pause", {"reason": "Complaints once more"})).status_code == 409
    await owner.open(f"/account/{name}/home")
    assert "Reason: Complaints about its donation pages" in words(owner)
    await owner.open(f"/account/{name}/donations")
    await service.drain()
    await act(admin, f"{own}/resume", {})
    await admin.open(own)
    assert "Complaints about" not in words(admin)
    assert (await admin.post(f"{own}/resume", {})).status_code == 409
    for action in ("partner.paused", "partner.resumed"):
        assert await entries(service, action, tenant.partner) == 1, action
    await service.drain()
    assert owner.person is not None
    mails = data(await api.get("/v1/sandbox/mailbox", to=owner.person.email or ""))
    assert {f"{tenant.name} was paused", f"{tenant.name} was resumed"} <= {one["subject"] for one in mails}
    await owner.close()


async def test_a_logo_is_uploaded_and_recorded(service: Service, tenant: Tenant, admin: Browser, name: str) -> None:
    own, drawn = f"{PARTNERS}/{name}", io.BytesIO()
    Image.new("RGB", (900, 500), "navy").save(drawn, "PNG")
    assert await upload(admin, f"{own}/logo", "logo.png", drawn.getvalue()) == own
    await admin.open(own)
    assert "Logo Yes" in words(admin)
    assert await entries(service, "partner.branded", tenant.partner) == 1
    await admin.open(f"{own}/logo")
    answer = await admin.request(
        "POST",
        f"{own}/logo",
        headers={"Sec-Fetch-Site": "same-origin"},
        data={"csrf": admin.csrf},
        files={"file": ("logo.png", b"no picture")},
    )
    assert (answer.status_code, "not a valid image" in words(admin)) == (422, True)
    assert await entries(service, "partner.branded", tenant.partner) == 1


async def test_keys_and_members(service: Service, tenant: Tenant, admin: Browser, name: str) -> None:
    own = f"{PARTNERS}/{name}"
    await admin.open(f"{own}/keys/new")
    made = await admin.post(f"{own}/keys/new", {"name": "till", "kind": "secret", "scopes": "donations:read"})
    assert "sk_sandbox_" in made.text
    assert (await admin.post(f"{own}/keys/new", {"name": "x", "kind": "secret", "scopes": "no"})).status_code == 422
    async with service.db.read() as tx:
        till = next(one for one in await keys.list_by_partner(tx, tenant.partner) if one.name == "till")
    key = service.db.deployment.ids.encode("apikey", till.id)
    await admin.open(f"{own}/keys/{key}/rotate")
    assert "sk_sandbox_" in (await admin.post(f"{own}/keys/{key}/rotate", {"overlap": "1"})).text
    await act(admin, f"{own}/keys/{key}/revoke", {})
    await act(admin, f"{own}/members/invite", {"email": "ann@example.org", "name": "Ann", "owner": "yes"})
    person = await member(service, tenant, "developer")
    his = f"{own}/members/{service.db.deployment.ids.encode('member', person.id)}"
    await act(admin, f"{his}/roles", {"finance": "yes"})
    for path, refusal in (("deactivate", "This member is deactivated."), ("activate", "This member is active.")):
        await act(admin, f"{his}/{path}", {})
        assert refusal in (await admin.open(f"{his}/{path}")).text
    await act(admin, f"{his}/reset", {})
    await admin.open(own)
    said = words(admin)
    assert "ann@example.org; owner" in said
    assert "Revoked" in said
    recorded = (
        "key.created",
        "key.rotated",
        "key.revoked",
        "member.invited",
        "member.roles_changed",
        "member.deactivated",
        "member.activated",
        "second_factor.reset",
    )
    for action in recorded:
        assert await entries(service, action, tenant.partner) >= 1, action


async def test_details_groups_and_sso(service: Service, tenant: Tenant, admin: Browser, name: str) -> None:
    own, ids = f"{PARTNERS}/{name}", service.db.deployment.ids
    person = await member(service, tenant, "developer")
    async with service.db.write() as tx:
        group = await members.create_group(tx, tenant.partner, {"displayName": "Tills"}, [person.id])
        settings = IdentityProviderSettings(
            "Example ID", ISSUER, "client-7", "hidden-words", groups_claim="groups", roles={"staff": "finance"}
        )
        await sso.save_provider(tx, AuditContext(Actor("system", "tests"), None), tenant.partner, settings)
        await tx.execute(BOUND, tenant.partner.id, person.id, ISSUER)
    theirs = f"{own}/members/{ids.encode('member', person.id)}"
    await admin.open(own)
    assert "Tills no role; members: 1" in words(admin)
    assert f"Issuer {ISSUER} Client ID client-7 Client secret stored Yes" in words(admin)
    assert "Role of staff finance" in words(admin)
    assert "hidden-words" not in admin.page.text if admin.page else False
    await act(admin, f"{own}/groups/{ids.encode('group', group.id)}/role", {"role": "support"})
    await act(admin, f"{theirs}/details", {"name": "Ann Other", "email": "ann.other@example.org"})
    await admin.open(own)
    assert "Tills support; members: 1" in words(admin)
    assert "Ann Other" in words(admin)
    await act(admin, f"{theirs}/unlink", {})
    await admin.open(f"{theirs}/unlink")
    assert "This member is not linked to an SSO provider." in words(admin)
    await act(admin, f"{own}/sso/remove", {})
    await admin.open(f"{own}/sso/remove")
    assert "SSO is not set up for this partner." in words(admin)
    await act(admin, f"{theirs}/remove", {})
    assert (await admin.get(f"{theirs}/details")).status_code == 404
    for action in ("group.mapped", "member.changed", "identity.unbound", "provider.removed", "member.removed"):
        assert await entries(service, action, tenant.partner) == 1, action


async def test_the_last_owner_stays(service: Service, tenant: Tenant, admin: Browser, name: str) -> None:
    owner = await desk(service, tenant, "owner")
    async with service.db.read() as tx:
        [only] = await members.list_page(tx, tenant.partner)
        text = tx.ids.encode("member", only.person.id)
    await admin.open(f"{PARTNERS}/{name}/members/{text}/remove")
    refused = await admin.post(f"{PARTNERS}/{name}/members/{text}/remove")
    assert (refused.status_code, "owner" in words(admin)) == (422, True)
    await owner.close()


async def test_another_partners_keys_and_members_are_not_found(
    service: Service, tenant: Tenant, admin: Browser, name: str
) -> None:
    other = await service.tenant()
    theirs = service.db.deployment.ids.encode("partner", other.partner.id)
    person = await member(service, tenant, "developer")
    text = service.db.deployment.ids.encode("member", person.id)
    assert (await admin.get(f"{PARTNERS}/{name}/members/{text}/roles")).status_code == 200
    assert (await admin.get(f"{PARTNERS}/{theirs}/members/{text}/roles")).status_code == 404
    async with service.db.write() as tx:
        group = tx.ids.encode("group", (await members.create_group(tx, tenant.partner, {"displayName": "Tills"})).id)
    assert (await admin.get(f"{PARTNERS}/{name}/groups/{group}/role")).status_code == 200
    assert (await admin.get(f"{PARTNERS}/{theirs}/groups/{group}/role")).status_code == 404


async def test_an_operator_looks_at_a_partners_pages_announced_and_read_only(
    service: Service, tenant: Tenant, api: Client, admin: Browser, name: str
) -> None:
    owner = await desk(service, tenant, "owner")
    made = await factories.donation(service, api, email=DONOR)
    home, own = f"/account/{name}", f"{PARTNERS}/{name}/view"
    assert (await admin.get(f"{home}/home")).headers["location"].startswith(f"{home}/sign-in"), "not before"
    await admin.open(own)
    assert "1 owner of" in words(admin)
    assert (await admin.post(own, {"reason": "because"})).status_code == 422
    assert (await admin.post(own, {"reason": "Ticket 4711: the list of donations"})).headers[
        "location"
    ] == f"{home}/home"
    await admin.open(f"{home}/donations/{made['id']}")
    said = words(admin)
    assert "You are viewing the pages of" in said
    assert DONOR not in said
    assert (await admin.get(f"{home}/donations")).status_code == 200
    for path in ("/keys", "/webhooks", "", "/donations.csv", "/audit"):
        assert (await admin.get(home + path)).status_code == 403, path
    await admin.open(f"{home}/preferences")
    assert (await admin.post(f"{home}/preferences", {"language": "de"})).status_code == 403, "read only"
    assert await entries(service, "partner.viewed", tenant.partner) == 1
    await service.drain()
    assert owner.person is not None
    mails = data(await api.get("/v1/sandbox/mailbox", to=owner.person.email or ""))
    assert "An operator is viewing the pages of" in mails[0]["subject"]
    assert await act(admin, f"{own}/end", {}) == f"{PARTNERS}/{name}"
    assert (await admin.get(f"{home}/home")).status_code == 303
    assert await entries(service, "partner.view_ended", tenant.partner) == 1
    await owner.close()


async def test_a_look_ends_by_itself_and_is_the_administrators_alone(
    service: Service, tenant: Tenant, admin: Browser, name: str
) -> None:
    home = f"/account/{name}/home"
    await act(admin, f"{PARTNERS}/{name}/view", {"reason": "Ticket 4711: the home page"})
    assert (await admin.get(home)).status_code == 200
    for other in (
        await signed_in(service, await operator(service, "administrator")),
        Browser(service.app, "https://x"),
    ):
        assert (await other.get(home)).status_code == 303
        await other.close()
    theirs = service.db.deployment.ids.encode("partner", (await service.tenant()).partner.id)
    assert (await admin.get(f"/account/{theirs}/home")).status_code == 303, "of this partner alone"
    async with service.db.write() as tx:
        refused = "update partner_view set expires_at = expires_at + interval '1 hour' where partner_id = $1"
        with pytest.raises(asyncpg.PostgresError):
            async with tx.savepoint():
                await tx.execute(refused, tenant.partner.id)
        await tx.execute("update partner_view set ended_at = now() where partner_id = $1", tenant.partner.id)
    assert (await admin.get(home)).status_code == 303
