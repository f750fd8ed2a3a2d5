"""The pages between the sign-in page and the provider, over HTTP, with the provider as a process of its own."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from almoner.access.people import service as all_people
from almoner.access.people.domain import Realm, member_realm
from almoner.access.sign_ins.service import links
from almoner.access.sso import service as sso
from almoner.access.sso.domain import IdentityProviderSettings
from tests.support import people
from tests.support.browsing import Browser
from tests.support.hostile_openid import CLIENT, hostile_provider
from tests.support.openid import OpenIdProvider, openid_provider
from tests.support.people import PASSWORD
from tests.support.service import Service, Tenant
from tests.support.sign_on import BY

Open = Callable[..., Browser]


@pytest.fixture(scope="session")
async def provider() -> AsyncIterator[OpenIdProvider]:
    async with openid_provider() as made:
        yield made


@pytest.fixture
def realm(tenant: Tenant) -> Realm:
    return member_realm(tenant.partner)


@pytest.fixture
async def home(service: Service, tenant: Tenant, provider: OpenIdProvider) -> str:
    """The pages of a partner whose provider is set up."""
    await set_up(service, tenant, provider.issuer)
    return "/account/" + service.db.deployment.ids.encode("partner", tenant.partner.id)


@pytest.fixture
async def browser(service: Service) -> AsyncIterator[Open]:
    made: list[Browser] = []

    def another() -> Browser:
        made.append(Browser(service.app, service.db.deployment.base_urls.pages))
        return made[-1]

    yield another
    for one in made:
        await one.close()


async def set_up(service: Service, tenant: Tenant, issuer: str, **changed: Any) -> None:
    wanted = {"groups_claim": "groups", "roles": {"staff": "finance"}, **changed}
    async with service.db.write() as tx:
        await sso.save_provider(
            tx, BY, tenant.partner, IdentityProviderSettings("Example ID", issuer, CLIENT, "secret", **wanted)
        )


async def member(service: Service, realm: Realm, name: str, *, external: str | None = None) -> Any:
    made = await people.person(service, realm, name, password=None)
    if external is not None:
        async with service.db.write() as tx:
            held = await all_people.get_for_update(tx, realm, made.id)
            await all_people.update_profile(tx, held, {**held.profile, "externalId": external})
    return made


def local(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


async def test_a_member_signs_in_at_the_provider_and_goes_where_they_wanted(
    service: Service, browser: Open, home: str, realm: Realm, provider: OpenIdProvider
) -> None:
    await member(service, realm, "amina@example.org", external="sub-1")
    await provider.knows("sub-1", groups=["staff"], email="amina@example.org")
    one = browser()
    page = await one.open(f"{home}/sign-ins")
    assert f"{home}/sign-on?next={home}/sign-ins" in page.text
    away = await one.get(f"{home}/sign-on?next={home}/sign-ins", **{"Sec-Fetch-Site": "same-origin"})
    assert away.status_code == 303
    assert away.headers["location"].startswith(f"{provider.issuer}/oauth2/authorize?")
    (cookie,) = away.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-sign-on-")
    for part in ("HttpOnly", "Secure", "SameSite=lax", "Max-Age=600", "Path=/;"):
        assert part in cookie
    back = await provider.sign_in(away.headers["location"], "sub-1")
    assert back.startswith(f"{service.db.deployment.base_urls.pages}{home}/sign-on/callback?")
    arrived = await one.get(local(back), **{"Sec-Fetch-Site": "cross-site"})
    assert (arrived.status_code, arrived.headers["location"]) == (303, f"{home}/sign-ins")
    assert not [name for name in one.cookies if name.startswith("__Host-sign-on-")]
    page = await one.get(home)
    assert "<dd>finance</dd>" in page.text
    again = await one.get(local(back))
    assert again.status_code == 403, "a state counts once"
    code = parse_qs(urlsplit(back).query)["code"][0]
    assert code.encode() not in b"".join(service.lines)
    assert (await one.get(home)).status_code == 200, "and who is signed in stays so"


async def test_the_way_there_begins_on_a_page_of_ours(browser: Open, home: str) -> None:
    one = browser()
    page = await one.get(f"{home}/sign-on?next={home}/sign-ins", **{"Sec-Fetch-Site": "cross-site"})
    assert page.status_code == 200
    assert f'href="{home}/sign-on?next={home}/sign-ins"' in page.text
    assert one.cookies == {}
    ahead = await one.get(f"{home}/sign-on", **{"Sec-Purpose": "prefetch"})
    assert (ahead.status_code, one.cookies) == (204, {})


async def test_fetching_ahead_uses_no_state_up(
    service: Service, browser: Open, home: str, realm: Realm, provider: OpenIdProvider
) -> None:
    await member(service, realm, "amina@example.org", external="sub-2")
    one = browser()
    away = await one.get(f"{home}/sign-on")
    back = local(await provider.sign_in(away.headers["location"], "sub-2"))
    assert (await one.get(back, **{"Sec-Purpose": "prefetch;prerender"})).status_code == 204
    assert (await one.request("HEAD", back)).status_code == 204
    assert (await one.get(back)).status_code == 303


async def test_strangers_and_other_browsers_are_told_what_to_do(
    browser: Open, home: str, provider: OpenIdProvider
) -> None:
    one, other = browser(), browser()
    away = await one.get(f"{home}/sign-on")
    back = local(await provider.sign_in(away.headers["location"], "a-stranger"))
    foreign = await other.get(back)
    assert foreign.status_code == 403
    assert "was not started in this browser" in foreign.text
    assert other.cookies == {}
    twice = await one.get(f"{back}&state=another")
    assert twice.status_code == 403
    refused = await one.get(back)
    assert refused.status_code == 403
    assert "Ask an owner to invite you." in refused.text
    assert "set-cookie" in refused.headers
    assert (await one.get(home)).headers["location"] == f"{home}/sign-in"
    no = await one.get(f"{home}/sign-on")
    declined = await one.get(local(await provider.decline(no.headers["location"])))
    assert declined.status_code == 403


async def test_what_a_provider_says_is_shown_as_text(service: Service, browser: Open, tenant: Tenant) -> None:
    async with hostile_provider(service.clock) as evil:
        await set_up(service, tenant, evil.url)
        home = "/account/" + service.db.deployment.ids.encode("partner", tenant.partner.id)
        evil.back = {"error": "access_denied", "error_description": "<script>alert(1)</script>"}
        one = browser()
        away = await one.get(f"{home}/sign-on")
        state = dict(part.split("=") for part in urlsplit(away.headers["location"]).query.split("&"))["state"]
        query = f"state={state}&error=access_denied&error_description=%3Cscript%3Ealert(1)%3C/script%3E"
        page = await one.get(f"{home}/sign-on/callback?{query}")
        assert page.status_code == 403
        assert "<script" not in page.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    broken = await one.get(f"{home}/sign-on")
    assert broken.status_code in (303, 502), "what is known of it is kept for ten minutes"


async def test_an_invitation_is_accepted_at_the_provider_by_who_holds_its_link(
    service: Service, browser: Open, home: str, realm: Realm, provider: OpenIdProvider
) -> None:
    person = await member(service, realm, "grace@example.org")
    async with service.db.write() as tx:
        token = links.create_link_token(tx, await links.send_invitation(tx, person))
    stranger = browser()
    nothing = await stranger.get(f"{home}/sign-on?for=invitation")
    assert nothing.status_code == 403
    assert "This invitation is no longer valid in this browser." in nothing.text
    one = browser()
    page = await one.open(f"{home}/invitation?token={token}")
    assert f"{home}/sign-on?for=invitation" in page.text
    away = await one.get(f"{home}/sign-on?for=invitation")
    arrived = await one.get(local(await provider.sign_in(away.headers["location"], "sub-3")))
    assert (arrived.status_code, arrived.headers["location"]) == (303, home)
    assert f"__Host-invitation-{home.removeprefix('/account/')}" not in one.cookies
    assert "Grace" in (await one.get(home)).text


async def test_who_signs_in_there_proves_there_that_it_is_still_they(
    service: Service, browser: Open, tenant: Tenant, realm: Realm
) -> None:
    home = "/account/" + service.db.deployment.ids.encode("partner", tenant.partner.id)
    async with hostile_provider(service.clock) as own:
        await set_up(service, tenant, own.url)
        await member(service, realm, "ada@example.org", external="ada")
        one = browser()
        away = await one.get(f"{home}/sign-on")
        assert (await one.get(local(await through(away.headers["location"])))).status_code == 303
        silent = await one.get(f"{home}/password")
        assert silent.headers["location"].startswith(f"{home}/prove"), "the provider may have asked nothing"
        own.claims = {"auth_time": int(service.clock.real_now().timestamp())}
        away = await one.get(f"{home}/sign-on")
        assert (await one.get(local(await through(away.headers["location"])))).status_code == 303
        assert (await one.get(f"{home}/password")).status_code == 200
        own.claims = {}
        service.clock.advance_wall(minutes=11)
        page = await one.open(f"{home}/password")
        assert f'href="{home}/sign-on?for=proof&amp;next={home}/password"' in page.text
        change = f"{home}/sign-on?for=proof&next={home}/password"
        away = await one.get(change)
        assert "prompt=login&max_age=0" in away.headers["location"]
        late = await one.get(local(await through(away.headers["location"])))
        assert late.status_code == 403, "the provider says nothing of when"
        assert (await one.get(f"{home}/password")).status_code == 303
        own.claims = {"auth_time": int(service.clock.real_now().timestamp())}
        before = dict(one.cookies)
        away = await one.get(change)
        back = await one.get(local(await through(away.headers["location"])))
        assert (back.status_code, back.headers["location"]) == (303, f"{home}/password")
        assert (await one.get(f"{home}/password")).status_code == 200
        assert one.cookies.keys() == before.keys()
        stolen = browser()
        stolen.cookies = before
        assert (await stolen.get(home)).status_code == 303, "the cookie is a new one"
        other = browser()
        assert (await other.get(change)).headers["location"].startswith(f"{home}/sign-in?")


async def through(url: str) -> str:
    """Where a provider that asks nothing sends the browser back to."""
    async with httpx.AsyncClient(verify=False) as client:
        return str((await client.get(url)).headers["location"])


async def test_without_a_provider_there_is_no_way_to_one(service: Service, browser: Open, tenant: Tenant) -> None:
    home = "/account/" + service.db.deployment.ids.encode("partner", tenant.partner.id)
    one = browser()
    assert "/sign-on" not in (await one.get(f"{home}/sign-in")).text
    assert (await one.get(f"{home}/sign-on")).status_code == 404
    assert (await one.get(f"{home}/sign-on/callback?state=x&code=y")).status_code == 403
    assert (await one.get("/account/nobody/sign-on")).status_code == 404
    assert (await one.request("POST", f"{home}/sign-on/callback")).status_code == 405


async def owner(service: Service, realm: Realm, one: Browser, home: str) -> None:
    """Signed in with password and code."""
    made = await people.person(service, realm, "owner@example.org", "owner")
    secret = await people.authenticator(service, made)
    await one.open(f"{home}/sign-in")
    await one.post(f"{home}/sign-in", user_name="owner@example.org", password=PASSWORD)
    await one.open(f"{home}/sign-in/second")
    answer = await one.post(f"{home}/sign-in/second", code=people.code(service, secret))
    assert answer.status_code == 303, answer.text


async def test_an_owner_sets_the_provider_up_tries_and_removes_it(
    service: Service, browser: Open, tenant: Tenant, realm: Realm, provider: OpenIdProvider
) -> None:
    home = "/account/" + service.db.deployment.ids.encode("partner", tenant.partner.id)
    one = browser()
    await owner(service, realm, one, home)
    page = await one.get(f"{home}/provider")
    assert f"{home}/sign-on/callback" in page.text
    form = {
        "do": "save",
        "name": "Example ID",
        "issuer": provider.issuer,
        "client_id": "almoner",
        "secret": "very-secret",
        "subject_claim": "sub",
        "scopes": "openid",
        "groups_claim": "groups",
        "roles": "staff = finance\n\nit=developer",
        "enabled": "yes",
    }
    for wrong, reported in (
        ({"issuer": "http://id.example.org"}, "Enter the public address of your provider"),
        ({"roles": "staff"}, "one per line, for example: staff = finance"),
        ({"roles": "staff = queen"}, "Available roles: owner, developer"),
        ({"secret": ""}, "Enter the client secret"),
        ({"subject_claim": "email"}, "Choose the claim sub or oid."),
    ):
        answer = await one.post(f"{home}/provider", {**form, **wrong})
        assert answer.status_code == 422
        assert reported in answer.text
        assert "very-secret" not in answer.text
    saved = await one.post(f"{home}/provider", form)
    assert (saved.status_code, saved.headers["location"]) == (303, f"{home}/provider?done=saved")
    page = await one.get(saved.headers["location"])
    assert "it = developer\nstaff = finance" in page.text
    assert "very-secret" not in page.text
    assert "connection test was successful" in (await one.post(f"{home}/provider", do="test")).text
    stored = await one.post(f"{home}/provider", {**form, "secret": "", "name": "Other ID"})
    assert stored.status_code == 303
    assert "Continue with Other ID" in (await browser().get(f"{home}/sign-in")).text
    await one.get(f"{home}/provider")
    assert (await one.post(f"{home}/provider", do="remove")).status_code == 303
    assert "Continue with" not in (await browser().get(f"{home}/sign-in")).text
    async with service.db.read() as tx:
        rows = await tx.fetch("select action, actor_kind from audit_entry where scope = $1 order by position", realm.id)
    assert [tuple(row) for row in rows if row["action"].startswith("provider.")] == [
        ("provider.set", "member"),
        ("provider.changed", "member"),
        ("provider.removed", "member"),
    ]


async def test_the_provider_is_for_owners_who_have_just_proved_who_they_are(
    service: Service, browser: Open, home: str, realm: Realm
) -> None:
    await people.person(service, realm, "dev@example.org", "developer")
    one = browser()
    assert (await one.get(f"{home}/provider")).headers["location"].startswith(f"{home}/sign-in?")
    await one.open(f"{home}/sign-in")
    await one.post(f"{home}/sign-in", user_name="dev@example.org", password=PASSWORD)
    assert (await one.get(f"{home}/provider")).status_code == 403
    boss = browser()
    await owner(service, realm, boss, home)
    service.clock.advance_wall(minutes=11)
    assert (await boss.get(f"{home}/provider")).headers["location"] == f"{home}/prove?next={home}/provider"
