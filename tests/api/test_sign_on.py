"""Sign-on at a partner's provider: who gets in, as whom, and that no forged answer signs anybody in."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.responses import JSONResponse

from almoner.access.people.domain import member_realm
from almoner.access.sign_ins.service import links
from almoner.access.sso import service as sso
from almoner.access.sso.domain import (
    InvalidIdentityProviderSettings,
    NoSuchIdentityProvider,
    SsoRefusalReason,
    SsoRefused,
)
from almoner.access.sso.service.oidc_flow import CallbackResult
from tests.support import hostile_openid as forged
from tests.support.hostile_openid import HostileProvider, hostile_provider
from tests.support.service import Service
from tests.support.sign_on import BY, Setup, entered, refused, set_up, visit


@pytest.fixture
async def evil(service: Service) -> AsyncIterator[HostileProvider]:
    async with hostile_provider(service.clock) as made:
        yield made


@pytest.fixture
async def here(service: Service, evil: HostileProvider) -> AsyncIterator[Setup]:
    async with set_up(service) as made:
        await made.set_up(evil.url)
        yield made


async def test_a_provisioned_member_signs_in_by_the_subject(here: Setup) -> None:
    ada = await here.member("ada", externalId="ada")
    arrival = await here.sign_in()
    assert (entered(arrival).person.id, entered(arrival).sign_in.method) == (ada.id, "provider")
    assert arrival.redirect_path == "/account/here"
    again = entered(await here.sign_in())
    assert again.person.id == ada.id
    assert again.session_secret != entered(arrival).session_secret
    actions = [action for action, _ in await here.actions()]
    assert actions == ["provider.set", "identity.bound", "signed_in", "signed_in"]
    await here.change(ada, externalId="somebody-else")
    assert entered(await here.sign_in()).person.id == ada.id, "a known identity stays"


async def test_what_is_asked_of_the_provider(here: Setup, evil: HostileProvider) -> None:
    await here.member("ada", externalId="ada")
    away = await here.begin()
    asked = {name: values[0] for name, values in parse_qs(urlsplit(away.url).query).items()}
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"].endswith("/sign-on/callback")
    assert asked["redirect_uri"].startswith(here.service.db.deployment.base_urls.pages)
    assert "prompt" not in asked
    await here.finish(away, await visit(away.url))
    ((form, headers),) = evil.token_requests
    assert headers["authorization"] == "Basic YWxtb25lci1jbGllbnQ6YS1zZWNyZXQlMkZ3aXRoJTNBc2lnbnM="
    assert "client_secret" not in form
    assert form["code_verifier"] not in away.url + away.cookie_value
    assert len(form["code_verifier"]) >= 43


async def test_the_secret_goes_into_the_body_where_the_provider_wants_it_there(
    here: Setup, evil: HostileProvider
) -> None:
    evil.change = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    await here.member("ada", externalId="ada")
    await here.sign_in()
    ((form, headers),) = evil.token_requests
    assert (form["client_id"], form["client_secret"]) == (forged.CLIENT, forged.SECRET)
    assert "authorization" not in headers


async def test_a_public_client_has_no_secret(here: Setup, evil: HostileProvider) -> None:
    await here.set_up(evil.url, secret="")
    await here.member("ada", externalId="ada")
    await here.sign_in()
    ((form, headers),) = evil.token_requests
    assert form["client_id"] == forged.CLIENT
    assert "client_secret" not in form
    assert "authorization" not in headers


async def test_nobody_is_found_by_e_mail_or_user_name(here: Setup, evil: HostileProvider) -> None:
    await here.member("ada", emails=[{"value": "ada@example.org", "primary": True}], externalId="other")
    evil.person |= {"email": "ada@example.org", "email_verified": True, "preferred_username": "ada"}
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.UNKNOWN


async def test_two_members_of_one_external_id_are_nobody(here: Setup) -> None:
    for name in ("ada", "grace"):
        await here.member(name, externalId="ada")
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.UNKNOWN


async def test_an_invitation_accepted_at_the_provider_binds(here: Setup) -> None:
    ada = await here.member("ada")
    async with here.service.db.write() as tx:
        link = await links.send_invitation(tx, ada)
    assert entered(await here.sign_in("invitation", link.id)).person.id == ada.id
    assert entered(await here.sign_in()).person.id == ada.id
    again = await refused(here, here.sign_in("invitation", link.id))
    assert again.reason is SsoRefusalReason.INVITATION


async def test_an_invitation_does_not_bind_who_is_somebody_already(here: Setup) -> None:
    await here.member("ada", externalId="ada")
    grace = await here.member("grace")
    async with here.service.db.write() as tx:
        link = await links.send_invitation(tx, grace)
    assert (await refused(here, here.sign_in("invitation", link.id))).reason is SsoRefusalReason.OTHER_PERSON
    assert await here.count("sign_on_identity") == 0


async def test_an_invitation_of_another_partner_opens_nothing(here: Setup) -> None:
    async with set_up(here.service) as elsewhere:
        stranger = await elsewhere.member("stranger")
        async with here.service.db.write() as tx:
            link = await links.send_invitation(tx, stranger)
        assert (await refused(here, here.sign_in("invitation", link.id))).reason is SsoRefusalReason.INVITATION


async def test_an_invitation_that_ran_out_at_the_provider_opens_nothing(here: Setup) -> None:
    ada = await here.member("ada")
    async with here.service.db.write() as tx:
        link = await links.send_invitation(tx, ada)
    away = await here.begin("invitation", link.id)
    async with here.service.db.write() as tx:
        await links.send_invitation(tx, ada)
    assert (await refused(here, here.finish(away, await visit(away.url)))).reason is SsoRefusalReason.INVITATION


async def test_new_members_by_their_groups(here: Setup, evil: HostileProvider) -> None:
    await here.set_up(evil.url, creates_members=True)
    evil.person |= {"preferred_username": "ada@corp", "groups": ["staff"], "name": "Ada", "email": "a@example.org"}
    made = entered(await here.sign_in()).person
    assert (made.user_name, made.display_name, made.email) == ("ada@corp", "Ada", None)
    assert made.roles == {"finance"}
    evil.person["sub"] = "another"
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.NAME_TAKEN
    assert await here.count("person") == 1


async def test_what_the_token_lacks_is_asked_of_the_userinfo_endpoint(here: Setup, evil: HostileProvider) -> None:
    told: dict[str, Any] = {"sub": "ada", "preferred_username": "ada@corp", "name": "Ada", "groups": ["staff"]}
    evil.userinfo_answer = lambda: JSONResponse({**told, "email": "a@example.org", "email_verified": True})
    await here.set_up(evil.url, creates_members=True)
    made = entered(await here.sign_in()).person
    assert (made.user_name, made.display_name, made.email) == ("ada@corp", "Ada", "a@example.org")
    assert made.roles == {"finance"}
    evil.person |= {**told, "email": "a@example.org"}
    await here.sign_in()
    assert evil.fetched.count("/userinfo") == 1, "the token has all"


async def test_userinfo_of_somebody_else_or_of_a_broken_provider_signs_nobody_in(
    here: Setup, evil: HostileProvider
) -> None:
    evil.userinfo_answer = lambda: JSONResponse({"sub": "eve", "groups": ["staff"], "preferred_username": "eve"})
    await here.set_up(evil.url, creates_members=True)
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.TOKEN
    evil.userinfo_answer = lambda: JSONResponse({}, 500)
    with pytest.raises(SsoRefused, match="provider_unreachable"):
        await here.sign_in()
    evil.person |= {"preferred_username": "ada", "groups": ["staff"]}
    evil.userinfo_answer = lambda: JSONResponse({}, 401)
    assert entered(await here.sign_in()).person.user_name == "ada"


async def test_an_address_of_the_token_is_not_verified_by_userinfo(here: Setup, evil: HostileProvider) -> None:
    evil.person |= {"preferred_username": "ada", "groups": ["staff"], "email": "boss@example.org"}
    evil.userinfo_answer = lambda: JSONResponse({"sub": "ada", "email": "a@example.org", "email_verified": True})
    await here.set_up(evil.url, creates_members=True)
    assert entered(await here.sign_in()).person.email is None


async def test_who_comes_six_times_at_once_becomes_one_member(here: Setup, evil: HostileProvider) -> None:
    await here.set_up(evil.url, creates_members=True)
    evil.person |= {"preferred_username": "ada", "groups": ["staff"]}
    outcomes = await asyncio.gather(*(here.sign_in() for _ in range(6)), return_exceptions=True)
    arrivals = [one for one in outcomes if isinstance(one, CallbackResult)]
    assert len({entered(one).person.id for one in arrivals}) == 1
    assert {one.reason for one in outcomes if isinstance(one, SsoRefused)} <= {
        SsoRefusalReason.NAME_TAKEN,
        SsoRefusalReason.USED,
    }
    assert {type(one) for one in outcomes} <= {CallbackResult, SsoRefused}
    assert (await here.count("person"), await here.count("sign_on_identity")) == (1, 1)
    assert await here.count("sign_in") == len(arrivals)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"groups": ["strangers"], "preferred_username": "ada"}, SsoRefusalReason.NO_ROLE),
        ({"preferred_username": "ada"}, SsoRefusalReason.NO_ROLE),
        ({"groups": ["staff"]}, SsoRefusalReason.UNKNOWN),
        ({"groups": ["staff"], "preferred_username": "x" * 300}, SsoRefusalReason.UNKNOWN),
    ],
)
async def test_no_new_member_without_role_and_name(
    here: Setup, evil: HostileProvider, said: dict[str, Any], reason: SsoRefusalReason
) -> None:
    await here.set_up(evil.url, creates_members=True)
    evil.person |= said
    assert (await refused(here, here.sign_in())).reason is reason
    assert await here.count("person") == 0


async def test_roles_follow_the_groups_at_every_sign_in(here: Setup, evil: HostileProvider) -> None:
    await here.set_up(evil.url, roles={"staff": "finance", "it": "developer"})
    ada = await here.member("ada", externalId="ada")
    for groups, roles in (
        (["staff"], {"finance"}),
        (["it", "staff", "golf"], {"developer", "finance"}),
        ("it", {"developer"}),
        ([], set()),
        (["staff"], {"finance"}),
        (None, set()),
        (["owner"], set()),
    ):
        evil.claims = {"groups": groups}
        assert set(entered(await here.sign_in()).person.roles) == roles
    evil.claims = {"groups": ["staff"]}
    await here.sign_in()
    async with here.service.db.write() as tx:
        await sso.remove_provider(tx, BY, here.partner)
    assert (await here.find(ada)).roles == set(), "what is believed no more gives nothing"


async def test_the_deactivated_stay_out_at_once(here: Setup) -> None:
    ada = await here.member("ada", externalId="ada")
    await here.sign_in()
    away = await here.begin()
    await here.change(ada, active=False)
    assert (await refused(here, here.finish(away, await visit(away.url)))).reason is SsoRefusalReason.DEACTIVATED


async def test_a_proof_is_fresh_of_the_same_person_and_in_the_same_sign_in(here: Setup, evil: HostileProvider) -> None:
    ada, grace = await here.member("ada", externalId="ada"), await here.member("grace", externalId="grace")
    first = entered(await here.sign_in()).sign_in
    away = await here.begin("proof", first.id)
    asked = parse_qs(urlsplit(away.url).query)
    assert (asked["prompt"], asked["max_age"]) == (["login"], ["0"])
    assert (await refused(here, here.finish(away, await visit(away.url), first))).reason is SsoRefusalReason.NOT_FRESH
    now = int(here.service.clock.real_now().timestamp())
    evil.claims = {"auth_time": now - 1200, "iat": now, "exp": now + 60}
    no = await _again(here, first)
    assert no.reason is SsoRefusalReason.NOT_FRESH
    evil.claims["auth_time"] = now
    evil.person = {"sub": "grace"}
    assert (await _again(here, first)).reason is SsoRefusalReason.OTHER_PERSON
    evil.person = {"sub": "ada"}
    other = entered(await here.sign_in()).sign_in
    assert (await _again(here, first, came_back=other)).reason is SsoRefusalReason.STATE
    assert (await here.sign_in("proof", first.id, first)).sign_in_or_second_factor is None
    async with here.service.db.read() as tx:
        proved = await tx.fetchval("select authenticated_at from sign_in where id = $1", first.id)
    assert proved > first.authenticated_at
    assert ada.realm == grace.realm == member_realm(here.partner)


async def _again(here: Setup, begun: Any, came_back: Any = None) -> SsoRefused:
    with pytest.raises(SsoRefused) as caught:
        await here.sign_in("proof", begun.id, came_back or begun)
    return caught.value


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"secret": None}, "Enter the client secret"),
        ({"issuer": ""}, "like https://id.example.org"),
        ({"issuer": "http://id.example.org"}, "Issuer must use https"),
        ({"issuer": "https://10.0.0.1"}, "Issuer"),
        ({"issuer": "https://id.example.org?x=1"}, "must not contain ? or #"),
        ({"client_id": ""}, "Client ID"),
        ({"secret": "two words"}, "Client secret"),
        ({"subject_claim": "email"}, "must be sub or oid"),
        ({"scopes": ("profile",)}, "include openid"),
        ({"roles": {"staff": "administrator"}}, "Unknown role: administrator"),
        ({"roles": {"": "finance"}}, "names of 1 to 255"),
        ({"groups_claim": None}, "Enter the groups claim"),
        ({"creates_members": True, "roles": {}}, "add at least one group role"),
        ({"name": ""}, "Name must be"),
        ({"name": "a\nb"}, "Name must be"),
    ],
)
async def test_what_an_owner_cannot_set_up(
    here: Setup, evil: HostileProvider, wrong: dict[str, Any], told: str
) -> None:
    async with here.service.db.write() as tx:
        await sso.remove_provider(tx, BY, here.partner)
    with pytest.raises(InvalidIdentityProviderSettings) as caught:
        await here.set_up(**{"issuer": evil.url, **wrong})
    assert any(told in reason for reason in caught.value.reasons)


async def test_the_secret_is_sealed_kept_and_never_sent_to_another_issuer(here: Setup, evil: HostileProvider) -> None:
    sealed = (await here.set_up(evil.url)).sealed_secret
    assert sealed is not None
    assert forged.SECRET.encode() not in sealed
    assert (await here.set_up(evil.url, secret=None)).sealed_secret == sealed
    with pytest.raises(InvalidIdentityProviderSettings, match="secret again"):
        await here.set_up("http://localhost:9", secret=None)
    changes = [details for action, details in await here.actions() if action == "provider.changed"]
    assert [change["secretChanged"] for change in changes] == [True, False]
    assert forged.SECRET not in str(changes)
    async with here.service.db.write() as tx:
        offer = await sso.find_sso_option(tx, here.partner)
        assert offer is not None
        assert offer.name == "Example ID"
        await sso.remove_provider(tx, BY, here.partner)
        assert await sso.find_sso_option(tx, here.partner) is None
        with pytest.raises(NoSuchIdentityProvider):
            await sso.remove_provider(tx, BY, here.partner)
