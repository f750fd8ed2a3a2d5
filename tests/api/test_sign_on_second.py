"""After the provider, the second factor that a person has here; and what the sign-in is then."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from almoner.access.credentials.service import passkeys
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import NewSignIn, PendingSecondFactor, SecondFactorTicketExpired
from almoner.access.sign_ins.service import account, sign_in_methods
from almoner.access.sso.service import identities
from tests.support.browsing import Browser
from tests.support.hostile_openid import HostileProvider, hostile_provider
from tests.support.security_key import SecurityKey
from tests.support.service import Service
from tests.support.sign_on import BY, Setup, entered, set_up, through
from tests.support.signing_in import Account, member

BINDING = b"the cookie of one browser"


@pytest.fixture
async def evil(service: Service) -> AsyncIterator[HostileProvider]:
    async with hostile_provider(service.clock) as made:
        made.person |= {"groups": ["admins"]}
        yield made


@pytest.fixture
async def here(service: Service, evil: HostileProvider) -> AsyncIterator[Setup]:
    async with set_up(service) as made:
        await made.set_up(evil.url, roles={"admins": "owner"})
        yield made


@pytest.fixture
async def ada(here: Setup) -> Account:
    """An owner by the provider, who came once and has no second factor yet."""
    tenant: Any = here
    made = await member(here.service, tenant, password=None)
    await here.change(made.person, externalId="ada")
    assert entered(await here.sign_in()).sign_in.method == "provider"
    return made


async def needed(here: Setup) -> PendingSecondFactor:
    """Back from the provider, with no sign-in."""
    before = await here.count("sign_in")
    arrival = await here.sign_in()
    assert isinstance(arrival.sign_in_or_second_factor, PendingSecondFactor)
    assert await here.count("sign_in") == before
    return arrival.sign_in_or_second_factor


async def is_owner(here: Setup, one: NewSignIn) -> bool:
    async with here.service.db.single_statement() as tx:
        seen = await sign_ins.find_sign_in_by_secret(tx, one.person.realm, one.session_secret)
    return seen is not None and "owner" in seen[1].roles


async def test_v8_the_code_is_asked_after_the_provider(here: Setup, ada: Account) -> None:
    await ada.add_app()
    ticket = (await needed(here)).ticket
    one = await sign_in_methods.sign_in_by_second_factor_code(here.service.db, ada.realm, ticket, ada.code(), ada.home)
    assert one.sign_in.method == "provider"
    assert await is_owner(here, one)


async def test_v8_a_recovery_code_stands_in_for_it(here: Setup, ada: Account) -> None:
    await ada.add_app()
    async with here.service.db.write() as tx:
        codes = await account.create_recovery_codes(tx, ada.person, ada.home)
    ticket = (await needed(here)).ticket
    one = await sign_in_methods.sign_in_by_second_factor_code(here.service.db, ada.realm, ticket, codes[0], ada.home)
    assert one.sign_in.method == "provider"
    assert [subject for subject, _ in await ada.mails() if subject.startswith("Recovery code used")]


async def test_v8_a_passkey_after_the_provider_is_a_sign_in_there_and_alone_is_none(here: Setup, ada: Account) -> None:
    key = SecurityKey(here.service.db.deployment.base_urls.pages)
    async with here.service.db.write() as tx:
        answer = key.create(await passkeys.build_registration_options(tx, ada.person, BINDING))
        await account.add_passkey(tx, ada.person, BINDING, answer, "Laptop", ada.home)
    ticket = (await needed(here)).ticket
    for given, method in ((ticket, "provider"), ("", "passkey"), ("rubbish", "passkey")):
        async with here.service.db.read() as tx:
            answer = key.get(await passkeys.build_authentication_options(tx, BINDING))
        one = await sign_in_methods.sign_in_by_passkey(here.service.db, ada.realm, BINDING, answer, ada.home, given)
        assert one.sign_in.method == method
        assert await is_owner(here, one) == (method == "provider")


async def test_v8_nothing_is_asked_where_the_provider_asked_for_two_factors(
    here: Setup, evil: HostileProvider, ada: Account
) -> None:
    await ada.add_app()
    evil.claims = {"amr": ["pwd", "mfa"]}
    assert await is_owner(here, entered(await here.sign_in()))
    evil.claims = {"amr": ["pwd"]}
    await needed(here)


async def test_v8_unbinding_ends_a_sign_in_that_is_half_way(here: Setup, ada: Account) -> None:
    await ada.add_app()
    ticket = (await needed(here)).ticket
    async with here.service.db.write() as tx:
        await identities.unlink_accounts(tx, ada.person, BY)
    with pytest.raises(SecondFactorTicketExpired):
        await sign_in_methods.sign_in_by_second_factor_code(here.service.db, ada.realm, ticket, ada.code(), ada.home)


async def test_v8_an_owner_by_the_provider_comes_to_sensitive_pages_by_a_code(here: Setup, ada: Account) -> None:
    ours = here.service.db.deployment
    pages = ours.base_urls.pages
    home = "/account/" + ours.ids.encode("partner", here.partner.id)
    browser = Browser(here.service.app, pages)
    try:
        away = await browser.get(f"{home}/sign-on?next={home}/members")
        back = await browser.get(await through(away.headers["location"], pages))
        assert back.headers["location"] == f"{home}/members"
        bare = await browser.get(f"{home}/members")
        assert bare.headers["location"] == f"{home}/second-factor", "who must have one is led to adding it"
        assert "Your role requires two-factor authentication" in (await browser.get(f"{home}/second-factor")).text
        await ada.add_app()
        away = await browser.get(f"{home}/sign-on?next={home}/members")
        back = await browser.get(await through(away.headers["location"], pages))
        assert back.headers["location"] == f"{home}/sign-in/second?next={home}/members"
        page = await browser.get(back.headers["location"])
        assert "password" not in page.text
        wrong = await browser.post(f"{home}/sign-in/second", code=ada.wrong_code())
        assert wrong.status_code == 422
        right = await browser.post(f"{home}/sign-in/second", code=ada.code(), next=f"{home}/members")
        assert (right.status_code, right.headers["location"]) == (303, f"{home}/members")
        assert (await browser.get(f"{home}/members/invite")).status_code == 200
    finally:
        await browser.close()
