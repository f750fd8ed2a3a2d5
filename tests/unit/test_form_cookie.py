"""What a donor typed stays sealed in the donor's own browser (H1)."""

import random
from uuid import UUID

import pytest
from starlette.requests import Request
from starlette.responses import Response

from almoner.giving.checkout.hosted_page import form_cookie
from almoner.giving.checkout.hosted_page.schemas import DonationForm
from almoner.platform.crypto import Vault

VAULT = Vault(b"k" * 32)
ONE, OTHER = UUID(int=1), UUID(int=2)
TYPED = DonationForm(amount="other", typed="12.34", first_name="سلمى", email="amina@example.org", anonymous=True)


def kept(name: str = "s") -> str:
    """The cookie that is set."""
    response = Response()
    form_cookie.set_form_cookie(response, VAULT, ONE, name, TYPED, max_age_seconds=60)
    return response.headers["set-cookie"]


def recalled(cookie: str, session: UUID = ONE, vault: Vault = VAULT) -> DonationForm | None:
    request = Request({"type": "http", "headers": [(b"cookie", cookie.encode("latin-1"))]})
    return form_cookie.read_form_cookie(request, vault, session, "s")


def test_what_was_typed_comes_back() -> None:
    cookie = kept().split(";")[0]
    assert recalled(cookie) == TYPED
    assert "amina" not in cookie
    for attribute in ("HttpOnly", "Secure", "SameSite=lax", "Path=/"):
        assert attribute in kept()


def varied(length: int, first: int, count: int) -> str:
    """Characters that compress badly: each by chance."""
    chance = random.Random(length)
    return "".join(chr(first + chance.randrange(count)) for _ in range(length))


@pytest.mark.parametrize(
    ("first", "count"), [(0x4E00, 20_000), (0x1F300, 700), (0x20000, 40_000), (0x0410, 64), (0x61, 26)]
)
def test_the_longest_texts_of_every_script_come_back(first: int, count: int) -> None:
    names = varied(255, first, count), varied(254, first, count)
    typed = DonationForm(
        amount="other", typed="1.234,50", first_name=names[0], last_name=names[1], email=f"{'a' * 64}@{'b' * 189}",
        message=varied(500, first, count), cover=True, gift_aid=True, title=varied(20, first, count),
        house=varied(40, first, count), road=varied(80, first, count), city=varied(60, first, count),
        postcode="SW1A 1AA",
    )  # fmt: skip
    response = Response()
    form_cookie.set_form_cookie(response, VAULT, ONE, "s", typed, max_age_seconds=60)
    cookies = response.headers.getlist("set-cookie")
    assert max(map(len, cookies)) < 4096
    assert recalled("; ".join(cookie.split(";")[0] for cookie in cookies)) == typed
    assert recalled(cookies[0].split(";")[0]) in (typed, None)


def test_a_shorter_text_takes_the_place_of_a_longer_one() -> None:
    response = Response()
    form_cookie.set_form_cookie(response, VAULT, ONE, "s", TYPED, max_age_seconds=60)
    assert response.headers.getlist("set-cookie")[1].startswith('__Host-gift-s-more="";')


def test_another_session_another_key_and_a_changed_cookie_give_nothing() -> None:
    cookie = kept().split(";")[0]
    assert recalled(cookie, OTHER) is None
    assert recalled(cookie, ONE, Vault(b"x" * 32)) is None
    assert recalled(cookie[:-6] + ("A" if cookie[-6] != "A" else "B") + cookie[-5:]) is None


@pytest.mark.parametrize("value", ["", "x", "====", "AQ==", "é", "A" * 4000])
def test_a_made_up_cookie_gives_nothing(value: str) -> None:
    assert recalled(f"__Host-gift-s={value}") is None


def test_the_cookie_is_taken_away_once_the_gift_is_made() -> None:
    response = Response()
    form_cookie.clear_form_cookie(response, "s")
    first, more, _ = response.headers.getlist("set-cookie")
    assert first.startswith('__Host-gift-s="";')
    assert more.startswith('__Host-gift-s-more="";')
    assert "Max-Age=0" in first
    assert "Max-Age=0" in more
