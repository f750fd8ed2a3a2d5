"""What the gate of the account pages keeps out, and what it leads back to (H1, V8)."""

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support import signing_in
from tests.support.members import Desk, desk
from tests.support.service import Service, Tenant


@pytest.fixture
async def owner(service: Service, tenant: Tenant) -> AsyncIterator[Desk]:
    """An owner at a browser."""
    one = await desk(service, tenant, "owner")
    yield one
    await one.close()


@pytest.mark.parametrize("path", ["/audit?who=%00", "/audit?action=a%00", "/groups?after=%00", "/sign-ins?%00=x"])
async def test_an_address_that_asks_for_no_text_is_a_page_that_says_so(owner: Desk, path: str) -> None:
    answer = await owner.get(owner.home + path)
    assert answer.status_code == 400
    assert "We could not process your request" in answer.text


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/members/invite", {"email": "nul@example.org", "name": "a\0b", "role": "read_only"}),
        ("/members/invite", {"email": "nul@example.org", "user_name": "a\0b"}),
        ("/keys/new", {"name": "a\0b", "kind": "secret"}),
        ("/provider", {"do": "save", "name": "x", "groups_claim": "g\0"}),
        ("/passkeys", {"name": "a\0b", "credential": "{}"}),
    ],
)
async def test_a_form_that_holds_no_text_is_a_page_that_says_so(owner: Desk, path: str, form: dict[str, str]) -> None:
    await owner.get(owner.home + path)
    answer = await owner.post(owner.home + path, form)
    assert answer.status_code == 400
    assert "We could not process your request" in answer.text


@pytest.mark.parametrize("token", ["%E2%82%AC", "a%0d%0ab", "a%09b", "x" * 3000, "%ED%A0%80"])
@pytest.mark.parametrize("page", ["invitation", "reset"])
async def test_h1_a_token_that_is_none_of_ours_sets_no_cookie(owner: Desk, page: str, token: str) -> None:
    for home in (owner.home, "/operator"):
        answer = await owner.get(f"{home}/{page}?token={token}")
        assert answer.status_code == 410
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("page", ["/audit.csv", "/audit.jsonl", "/groups?after=group_1"])
async def test_a_proof_leads_to_the_very_page_that_asked_for_it(service: Service, tenant: Tenant, page: str) -> None:
    who = await signing_in.member(service, tenant, "owner")
    await who.add_app()
    one = Desk(service, tenant, who.person)
    await one.sign_in(who.person)
    service.clock.advance_wall(minutes=11)
    answer = await one.get(one.home + page)
    assert parse_qs(urlsplit(answer.headers["location"]).query)["next"] == [one.home + page]
    await one.get(answer.headers["location"])
    answer = await one.post(f"{one.home}/prove", password=signing_in.PASSWORD, next=one.home + page)
    assert answer.headers["location"] == one.home + page
    assert (await one.get(one.home + page)).status_code != 303
    await one.close()


async def test_pages_between_say_what_to_do_to_who_comes_to_them_directly(service: Service, owner: Desk) -> None:
    one = Desk(service, await service.tenant(), None)
    answer = await one.get(f"{one.home}/sign-in/second")
    assert answer.headers["location"] == f"{one.home}/sign-in?done=first"
    assert "Sign in to continue." in (await one.get(answer.headers["location"])).text
    for page, onward in (("invitation", "/sign-in"), ("reset", "/forgotten")):
        for path, stated in (("", "Open this page from your email"), ("?token=cut-off", "This link is not valid")):
            answer = await one.get(f"{one.home}/{page}{path}")
            assert (answer.status_code, stated in answer.text) == (410, True)
            assert f'href="{one.home}{onward}"' in answer.text
    assert "Ask the person who invited you to send a new invitation." in (await one.get(f"{one.home}/invitation")).text
    await one.close()
