"""No answer that is not right in every respect signs anybody in, and nothing that a provider does hurts us."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest
from joserfc.jwk import RSAKey
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from almoner.access.sso.domain import NoSuchIdentityProvider, SsoRefusalReason, SsoRefused
from tests.support import hostile_openid as forged
from tests.support.hostile_openid import KEY, OTHER_KEY, HostileProvider, hostile_provider
from tests.support.service import Service
from tests.support.sign_on import Setup, entered, refused, set_up, state_of, visit


@pytest.fixture
async def evil(service: Service) -> AsyncIterator[HostileProvider]:
    async with hostile_provider(service.clock) as made:
        yield made


@pytest.fixture
async def here(service: Service, evil: HostileProvider) -> AsyncIterator[Setup]:
    async with set_up(service) as made:
        await made.set_up(evil.url)
        yield made


FORGED: dict[str, Callable[[HostileProvider], object]] = {
    "wrong audience": lambda evil: evil.claims.update(aud="another-client"),
    "wrong party": lambda evil: evil.claims.update(aud=[forged.CLIENT, "x"], azp="x"),
    "expired": lambda evil: evil.claims.update(exp=1_700_000_000),
    "from the future": lambda evil: evil.claims.update(iat=4_000_000_000),
    "another nonce": lambda evil: evil.claims.update(nonce="another"),
    "no nonce": lambda evil: evil.claims.update(nonce=None),
    "another issuer": lambda evil: evil.claims.update(iss="https://accounts.google.com"),
    "another access token": lambda evil: evil.claims.update(at_hash="AAAAAAAAAAAAAAAAAAAAAA"),
    "nobody": lambda evil: evil.claims.update(sub=None),
    "unsigned": lambda evil: setattr(evil, "forge", forged.unsigned),
    "signed with the public key": lambda evil: setattr(evil, "forge", forged.by_public_key),
    "key of somebody else": lambda evil: setattr(evil, "forge", lambda c: forged.signed(c, OTHER_KEY, kid=KEY.kid)),
    "unknown key": lambda evil: setattr(evil, "forge", lambda c: forged.signed(c, OTHER_KEY)),
    "cut": lambda evil: setattr(evil, "forge", lambda c: forged.signed(c)[:-20]),
    "no text": lambda evil: setattr(evil, "forge", lambda _: ["not", "a", "token"]),
}


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_token_signs_nobody_in(here: Setup, evil: HostileProvider, name: str) -> None:
    await here.member("ada", externalId="ada")
    FORGED[name](evil)
    assert (await refused(here, here.sign_in())).reason in (SsoRefusalReason.TOKEN, SsoRefusalReason.UNREACHABLE)
    assert await here.count("sign_on_identity") == 0


async def test_a_token_counts_once(here: Setup, evil: HostileProvider) -> None:
    await here.member("ada", externalId="ada")
    await here.sign_in()
    first = evil.last_token
    evil.forge = lambda _: first
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.TOKEN


async def test_a_state_counts_once_however_many_come_back_with_it(here: Setup) -> None:
    await here.member("ada", externalId="ada")
    away = await here.begin()
    query = await visit(away.url)
    outcomes = await asyncio.gather(*(here.finish(away, query) for _ in range(6)), return_exceptions=True)
    assert [type(outcome).__name__ for outcome in outcomes].count("CallbackResult") == 1
    assert {one.reason for one in outcomes if isinstance(one, SsoRefused)} == {SsoRefusalReason.USED}
    assert await here.count("sign_in") == 1
    assert (await refused(here, here.finish(away, query))).reason is SsoRefusalReason.USED


async def test_a_state_of_another_browser_partner_or_time_is_refused_and_leaves_no_trace(here: Setup) -> None:
    await here.member("ada", externalId="ada")
    mine, other = await here.begin(), await here.begin()
    query = await visit(other.url)
    for call in (
        here.finish(mine, query),
        here.finish(other, {**query, "state": state_of(mine)}),
        here.finish(other, {"code": query["code"]}),
    ):
        with pytest.raises(SsoRefused) as caught:
            await call
        assert caught.value.reason is SsoRefusalReason.STATE
    assert [action for action, _ in await here.actions()] == ["provider.set"]
    assert entered(await here.finish(other, query)).person.user_name == "ada", "nothing was used up"


async def test_another_partners_callback_is_refused(here: Setup, evil: HostileProvider) -> None:
    await here.member("ada", externalId="ada")
    async with set_up(here.service) as elsewhere:
        await elsewhere.set_up(evil.url)
        await elsewhere.member("ada", externalId="ada")
        away = await here.begin()
        with pytest.raises(SsoRefused) as caught:
            await elsewhere.finish(away, await visit(away.url))
        assert caught.value.reason is SsoRefusalReason.STATE
        assert await elsewhere.count("sign_in") == 0


async def test_a_provider_that_changed_meanwhile_is_refused(here: Setup, evil: HostileProvider) -> None:
    await here.member("ada", externalId="ada")
    away = await here.begin()
    query = await visit(away.url)
    await here.set_up(evil.url)
    assert (await refused(here, here.finish(away, query))).reason is SsoRefusalReason.CHANGED
    assert evil.token_requests == []
    await here.set_up(evil.url, enabled=False)
    with pytest.raises(NoSuchIdentityProvider):
        await here.begin()


async def test_another_partners_provider_cannot_speak_for_our_people(service: Service, evil: HostileProvider) -> None:
    async with set_up(service) as ours, set_up(service) as other, hostile_provider(service.clock) as own:
        await ours.set_up(own.url)
        await other.set_up(evil.url)
        ada = await ours.member("ada", externalId="ada", emails=[{"value": "ada@example.org"}])
        await ours.sign_in()
        for stated in ({}, {"email": "ada@example.org", "email_verified": True}, {"iss": own.url}):
            evil.claims = dict(stated)
            with pytest.raises(SsoRefused):
                await other.sign_in()
        await other.set_up(own.url)  # the very same issuer and subject, at another partner
        with pytest.raises(SsoRefused) as caught:
            await other.sign_in()
        assert caught.value.reason is SsoRefusalReason.UNKNOWN
        assert "sign_in.refused" in [action for action, _ in await other.actions()]
        assert await other.count("sign_in") == 0
        async with service.db.write() as tx:
            with pytest.raises(asyncpg.ForeignKeyViolationError):
                await tx.execute(
                    """
                    insert into sign_on_identity
                        (partner_id, issuer, subject, person_id, bound_by, bound_at, last_used_at)
                    values ($1, $2, 'ada', $3, 'created', $4, $4)
                    """,
                    other.partner.id,
                    own.url,
                    ada.id,
                    tx.now,
                )


async def test_the_provider_says_no_in_its_own_words(here: Setup, evil: HostileProvider) -> None:
    away = await here.begin()
    back = {"state": state_of(away), "error": "access_denied", "error_description": "<b>Not today</b>"}
    no = await refused(here, here.finish(away, back))
    assert (no.reason, no.reported) == (SsoRefusalReason.DECLINED, "access_denied: <b>Not today</b>")
    assert evil.token_requests == []
    away = await here.begin()
    with pytest.raises(SsoRefused):
        await here.finish(away, {"state": state_of(away)})


@pytest.mark.parametrize(
    ("announced", "iss", "works"),
    [(True, "own", True), (True, None, False), (True, "other", False), (False, None, True), (False, "other", False)],
)
async def test_an_answer_under_another_name_is_a_mix_up(
    here: Setup, evil: HostileProvider, announced: bool, iss: str | None, works: bool
) -> None:
    await here.member("ada", externalId="ada")
    evil.change = {"authorization_response_iss_parameter_supported": announced}
    evil.back = {} if iss is None else {"iss": evil.url if iss == "own" else "https://elsewhere.example.org"}
    if works:
        await here.sign_in()
    else:
        assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.ISSUER
        assert evil.token_requests == []


async def _redirect(_: Request) -> Response:
    return RedirectResponse("/jwks", 307)


async def _huge(_: Request) -> Response:
    async def much() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b" " * 65_536

    return StreamingResponse(much(), media_type="application/json")


async def _never(request: Request) -> Response:
    await request.receive()  # until the caller gives up
    return Response()


async def _error(_: Request) -> Response:
    return JSONResponse({"error": "invalid_client"}, 401)


async def test_a_code_is_refused_in_the_words_of_the_provider(here: Setup, evil: HostileProvider) -> None:
    evil.token_answer = _error
    no = await refused(here, here.sign_in())
    assert (no.reason, no.reported) == (
        SsoRefusalReason.UNREACHABLE,
        "the provider returned status 401: invalid_client",
    )


async def _rubbish(_: Request) -> Response:
    return Response(b"\xff\xfe<html>", media_type="application/json")


async def _list(_: Request) -> Response:
    return JSONResponse([])


async def _empty(_: Request) -> Response:
    return JSONResponse({"access_token": "a", "token_type": "Bearer"})


@pytest.mark.parametrize("answer", [_redirect, _huge, _never, _error, _rubbish, _list, _empty])
async def test_a_token_endpoint_that_misbehaves_signs_nobody_in(
    service: Service, evil: HostileProvider, answer: Any
) -> None:
    async with set_up(service, seconds=1.0) as here:
        await here.set_up(evil.url)
        await here.member("ada", externalId="ada")
        evil.token_answer = answer
        fetched = len(evil.fetched)
        assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.UNREACHABLE
        assert len(evil.fetched) == fetched + 2, "no redirect was followed"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"issuer": "https://elsewhere.example.org"}, SsoRefusalReason.ISSUER),
        ({"issuer": None}, SsoRefusalReason.ISSUER),
        ({"token_endpoint": "http://10.0.0.1/token"}, SsoRefusalReason.UNREACHABLE),
        ({"token_endpoint": None}, SsoRefusalReason.UNREACHABLE),
        ({"authorization_endpoint": "javascript:alert(1)"}, SsoRefusalReason.UNREACHABLE),
        ({"jwks_uri": "http://169.254.169.254/keys"}, SsoRefusalReason.UNREACHABLE),
        ({"jwks_uri": "file:///etc/passwd"}, SsoRefusalReason.UNREACHABLE),
    ],
)
@pytest.mark.usefixtures("standing_time")
async def test_a_description_that_is_not_right_sends_nobody_away(
    here: Setup, evil: HostileProvider, change: dict[str, Any], reason: SsoRefusalReason
) -> None:
    evil.change = change
    with pytest.raises(SsoRefused) as caught:
        await here.begin()
    assert caught.value.reason is reason
    evil.change, asked = {}, len(evil.fetched)
    outcomes = await asyncio.gather(*(here.begin() for _ in range(5)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SsoRefused] * 5
    assert len(evil.fetched) == asked, "for some seconds it is left alone"
    here.service.clock.advance_wall(seconds=6)
    for away in await asyncio.gather(*(here.begin() for _ in range(5))):
        assert away.url.startswith(f"{evil.url}/authorize?")
    assert len(evil.fetched) == asked + 2, "one asks for all"


async def test_new_keys_are_fetched_when_they_are_needed_and_not_all_day(here: Setup, evil: HostileProvider) -> None:
    await here.member("ada", externalId="ada")
    await here.sign_in()
    evil.keys, evil.forge = [OTHER_KEY], lambda claims: forged.signed(claims, OTHER_KEY)
    await asyncio.gather(*(here.sign_in() for _ in range(4)))
    assert evil.fetched.count("/jwks") == 2
    here.service.clock.advance_wall(minutes=2)
    reused = RSAKey.generate_key(2048, {"kid": "second", "use": "sig", "alg": "RS256"})
    evil.keys, evil.forge = [reused], lambda claims: forged.signed(claims, reused)
    await here.sign_in()  # another key under the name of the former
    assert evil.fetched.count("/jwks") == 3
    evil.forge = lambda claims: forged.signed(claims, KEY, kid="made-up")
    for _ in range(3):
        await refused(here, here.sign_in())
    assert evil.fetched.count("/jwks") == 3, "once a minute at most"
    assert evil.fetched.count("/.well-known/openid-configuration") == 1
