"""The account at the provider by which a member signs in: seen, connected, and disconnected by them or an owner."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from almoner.access.people.domain import Role, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser as Where
from almoner.access.sso.domain import SsoRefusalReason
from tests.support import signing_in as si
from tests.support.browsing import Browser
from tests.support.hostile_openid import HostileProvider, hostile_provider
from tests.support.service import Service
from tests.support.sign_on import Setup, entered, refused, set_up, through

At = Callable[[si.Account], Awaitable[Browser]]


@pytest.fixture
async def evil(service: Service) -> AsyncIterator[HostileProvider]:
    async with hostile_provider(service.clock) as made:
        yield made


@pytest.fixture
async def here(service: Service, evil: HostileProvider) -> AsyncIterator[Setup]:
    async with set_up(service) as made:
        await made.set_up(evil.url)
        yield made


@pytest.fixture
def pages(service: Service) -> str:
    return service.db.deployment.base_urls.pages


@pytest.fixture
def home(here: Setup) -> str:
    return "/account/" + here.service.db.deployment.ids.encode("partner", here.partner.id)


@pytest.fixture
async def at(here: Setup, pages: str, home: str) -> AsyncIterator[At]:
    """Somebody at a browser, who has just proved by a password who they are."""
    made: list[Browser] = []

    async def sit(who: si.Account) -> Browser:
        browser = Browser(here.service.app, pages)
        async with here.service.db.write() as tx:
            secret = (await sign_ins.begin_sign_in(tx, who.person, "password_totp", Where("127.0.0.1"))).session_secret
        browser.cookies[f"__Host-member-{home.removeprefix('/account/')}"] = secret
        made.append(browser)
        return browser

    yield sit
    for one in made:
        await one.close()


async def member(here: Setup, *roles: Role, password: bool = True) -> si.Account:
    chosen = si.PASSWORD if password else None
    return await si.person_of(here.service, member_realm(here.partner), *(roles or ("developer",)), password=chosen)


async def connected(one: Browser, home: str, pages: str) -> str:
    """Where one lands after connecting."""
    away = await one.get(f"{home}/sign-on?for=connect", **{"Sec-Fetch-Site": "same-origin"})
    back = await one.get(await through(away.headers["location"], pages))
    return str(back.headers.get("location", back.text))


async def test_v8_a_member_connects_the_account_sees_it_and_disconnects_it(
    here: Setup, evil: HostileProvider, at: At, home: str, pages: str
) -> None:
    ada = await member(here)
    one = await at(ada)
    assert "Not connected" in (await one.get(home)).text
    assert f"{home}/sign-on?for=connect" in (await one.get(f"{home}/provider-account")).text
    assert await connected(one, home, pages) == f"{home}/provider-account?done=connected"
    page = await one.get(f"{home}/provider-account?done=connected")
    assert evil.url in page.text
    assert "Connected" in page.text
    assert f"{evil.url}, connected" in (await one.get(home)).text
    assert entered(await here.sign_in()).person.id == ada.person.id
    assert await connected(one, home, pages) == f"{home}/provider-account?done=connected", "again changes nothing"
    await one.get(f"{home}/provider-account")
    gone = await one.post(f"{home}/provider-account", do="disconnect")
    assert (gone.status_code, gone.headers["location"]) == (303, f"{home}/provider-account?done=disconnected")
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.UNKNOWN
    subjects = [subject for subject, _ in await ada.mails()]
    assert sum("account connected" in subject for subject in subjects) == 1
    assert sum("account disconnected" in subject for subject in subjects) == 1
    assert {"identity.bound", "identity.unbound"} <= set(await ada.recorded())


async def test_v8_the_only_way_in_stays_connected(here: Setup, at: At, home: str, pages: str) -> None:
    ada = await member(here, password=False)
    one = await at(ada)
    await connected(one, home, pages)
    await one.get(f"{home}/provider-account")
    answer = await one.post(f"{home}/provider-account", do="disconnect")
    assert answer.status_code == 422
    assert "Set a password or add a passkey first." in answer.text
    assert entered(await here.sign_in()).person.id == ada.person.id


async def test_v8_connecting_needs_a_proof_of_now_and_the_same_sign_in(
    here: Setup, at: At, home: str, pages: str
) -> None:
    one = await at(await member(here))
    away = await one.get(f"{home}/sign-on?for=connect")
    other = await at(await member(here))
    other.cookies |= {name: value for name, value in one.cookies.items() if name.startswith("__Host-sign-on")}
    elsewhere = await other.get(await through(away.headers["location"], pages))
    assert elsewhere.status_code == 403
    assert "not started in this browser" in elsewhere.text
    away = await one.get(f"{home}/sign-on?for=connect")
    here.service.clock.advance_wall(minutes=9)
    async with here.service.db.write() as tx:
        await tx.execute("update sign_in set authenticated_at = authenticated_at - $1::interval", timedelta(minutes=5))
    late = await one.get(await through(away.headers["location"], pages))
    assert (late.status_code, "start again" in late.text) == (403, True)
    asked = await one.get(f"{home}/sign-on?for=connect")
    assert asked.headers["location"] == f"{home}/provider-account"
    assert (await one.get(f"{home}/provider-account")).headers["location"].startswith(f"{home}/prove")
    assert await here.count("sign_on_identity") == 0


async def test_v8_somebody_elses_account_is_not_connected(here: Setup, at: At, home: str, pages: str) -> None:
    await connected(await at(await member(here)), home, pages)
    assert "is linked to another member" in await connected(await at(await member(here)), home, pages)
    assert await here.count("sign_on_identity") == 1


async def test_v8_an_owner_sees_and_disconnects_a_members_account(
    here: Setup, evil: HostileProvider, at: At, home: str, pages: str
) -> None:
    ada, owner = await member(here, password=False), await member(here, "owner")
    await owner.add_app()
    await connected(await at(ada), home, pages)
    there = entered(await here.sign_in())
    boss = await at(owner)
    page = f"{home}/members/" + here.service.db.deployment.ids.encode("member", ada.person.id)
    shown = await boss.get(page)
    assert f"<bdi>{evil.url}</bdi>, connected" in shown.text
    gone = await boss.post(page, do="disconnect")
    assert gone.headers["location"] == f"{page}?done=disconnected"
    after = await boss.get(gone.headers["location"])
    assert "The member can no longer sign in with SSO" in after.text
    assert evil.url not in after.text
    assert not await si.found(ada, there.session_secret)


async def test_v8_who_came_only_by_the_provider_can_be_invited_again_without_it(here: Setup, at: At, home: str) -> None:
    ada, owner = await member(here, password=False), await member(here, "owner")
    await owner.add_app()
    await here.change(ada.person, externalId="ada")
    await here.sign_in()
    boss = await at(owner)
    page = f"{home}/members/" + here.service.db.deployment.ids.encode("member", ada.person.id)
    assert "Resend invitation" not in (await boss.get(page)).text
    await boss.post(page, do="disconnect")
    assert "Resend invitation" in (await boss.get(page)).text


async def test_v8_the_last_owner_who_can_sign_in_stays_connected(here: Setup, at: At, home: str, pages: str) -> None:
    only = await member(here, "owner", password=False)
    one = await at(only)
    await only.add_app()
    assert await connected(one, home, pages) == f"{home}/provider-account?done=connected"
    page = f"{home}/members/" + here.service.db.deployment.ids.encode("member", only.person.id)
    await one.get(page)
    answer = await one.post(page, do="disconnect")
    assert answer.status_code == 422
    assert "only active owner" in answer.text


async def test_v8_roles_are_written_as_they_are_read(here: Setup, evil: HostileProvider, at: At, home: str) -> None:
    owner = await member(here, "owner")
    await owner.add_app()
    boss = await at(owner)
    page = await boss.get(f"{home}/provider")
    assert "Available roles: owner, developer, reviewer, finance, support, read only." in page.text
    form = {"do": "save", "name": "Example ID", "issuer": evil.url, "client_id": "almoner-client", "secret": "s",
            "subject_claim": "sub", "scopes": "openid", "groups_claim": "groups", "enabled": "yes"}  # fmt: skip
    for written in ("all = read only", "all = read_only"):
        saved = await boss.post(f"{home}/provider", {**form, "roles": written})
        assert saved.status_code == 303, saved.text
        assert "all = read only" in (await boss.get(f"{home}/provider")).text
    for wrong in ({"name": ""}, {}):
        refused = await boss.post(f"{home}/provider", {**form, "client_id": "other", "roles": "everybody", **wrong})
        assert refused.status_code == 422
        assert [f'href="#{field}"' in refused.text for field in ("name", "roles")] == [bool(wrong), True]
    assert "almoner-client" in (await boss.get(f"{home}/provider")).text, "nothing was saved"
