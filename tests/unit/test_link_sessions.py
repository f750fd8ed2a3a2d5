"""The cookie that takes the token's place, the CSRF token, and where a post may come from (H1, H2)."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from almoner.platform.crypto import Vault
from almoner.platform.pages import link_sessions
from almoner.platform.pages.headers import inline_sources_for_nonce, origin_of_url, security_headers
from almoner.platform.pages.link_sessions import LinkSession

VAULT = Vault(b"k" * 32)
ONE, OTHER = UUID(int=1), UUID(int=2)


def request(method: str = "GET", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": method, "path": "/", "query_string": b"", "headers": raw})


def found(visit: LinkSession, record: UUID, name: str, cookie: str | None = None) -> LinkSession | None:
    return link_sessions.find_link_session(
        request(cookie=f"{cookie or visit.cookie_name}={visit.cookie_value}"), VAULT, "give", record, name
    )


def test_h1_a_cookie_opens_its_own_record_alone() -> None:
    visit = link_sessions.begin_link_session(VAULT, "give", ONE, "session_1")
    assert visit.cookie_name == "__Host-give-session_1"
    assert found(visit, ONE, "session_1") == visit
    assert found(visit, OTHER, "session_2", "__Host-give-session_2") is None
    assert link_sessions.find_link_session(request(), VAULT, "give", ONE, "session_1") is None


@given(st.text(max_size=80))
def test_h1_no_made_up_cookie_opens_anything(proof: str) -> None:
    header = f"__Host-give-s={proof}".encode("latin-1", "replace").decode("latin-1")
    assert link_sessions.find_link_session(request(cookie=header), VAULT, "give", ONE, "s") is None


def test_h2_each_browser_has_its_own_csrf_token() -> None:
    first, second = (link_sessions.begin_link_session(VAULT, "give", ONE, "s") for _ in range(2))
    assert first.csrf != second.csrf
    assert first.matches_csrf_token(first.csrf)
    assert not first.matches_csrf_token(second.csrf)
    assert not first.matches_csrf_token("")
    assert not first.matches_csrf_token(None)


def test_h1_the_cookie_is_kept_from_scripts_and_other_hosts() -> None:
    response = Response()
    link_sessions.begin_link_session(VAULT, "give", ONE, "s").set_cookie(response, max_age_seconds=60)
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("__Host-give-s=")
    for attribute in ("HttpOnly", "Secure", "SameSite=lax", "Path=/", "Max-Age=60"):
        assert attribute in cookie
    assert "Domain" not in cookie


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "same-origin", "origin": "null"}, True),
        ({"sec_fetch_site": "same-site", "origin": "https://give.example"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "none"}, False),
        ({"origin": "https://give.example"}, True),
        ({"origin": "https://give.example.evil.example"}, False),
        ({"origin": "null"}, False),
        ({}, False),
    ],
)
def test_h2_a_post_must_come_from_our_own_page(headers: dict[str, str], own: bool) -> None:
    assert link_sessions.is_same_origin(request("POST", **headers), "https://give.example") is own


@pytest.mark.parametrize(
    ("asked", "speculative"),
    [
        (request(), False),
        (request("HEAD"), True),
        (request(sec_purpose="prefetch;prerender"), True),
        (request(purpose="prefetch"), True),
    ],
)
def test_h2_head_and_prefetch_decide_nothing(asked: Request, speculative: bool) -> None:
    assert link_sessions.is_speculative_request(asked) is speculative


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://shop.example/thanks?x=1#y", "https://shop.example"),
        ("https://shop.example:443/", "https://shop.example"),
        ("http://localhost:8081/x", "http://localhost:8081"),
        ("https://bücher.example/", "https://xn--bcher-kva.example"),
        ("https://user@shop.example/", "https://shop.example"),
        ("http://[::1]:8080/", None),
        ("https://faß.example/", "https://xn--fa-hia.example"),
        ("http://[x", None),
        ("http://a..b:99999/", None),
        ("javascript:alert(1)", None),
        ("/relative", None),
    ],
)
def test_h3_the_origin_of_an_address(url: str, origin: str | None) -> None:
    assert origin_of_url(url) == origin


def test_h3_headers_of_production_and_of_the_sandbox() -> None:
    live = security_headers(inline_sources_for_nonce("n0nce"), form_targets=("https://pay.example",), production=True)
    policy = live["Content-Security-Policy"]
    assert "style-src 'self' 'nonce-n0nce'" in policy
    assert "form-action 'self' https://pay.example;" in policy
    assert "unsafe" not in policy
    assert live["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    assert "Strict-Transport-Security" not in security_headers(
        inline_sources_for_nonce("n"), form_targets=(), production=False
    )


def test_h1_a_visit_that_ends_says_when_and_nobody_puts_that_off() -> None:
    until = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
    visit = link_sessions.begin_link_session(VAULT, "give", ONE, "s", until)
    assert found(visit, ONE, "s") == visit
    assert visit.expires_at == until
    assert link_sessions.begin_link_session(VAULT, "give", ONE, "s").expires_at is None
    raw = urlsafe_b64decode(visit.cookie_value + "=" * (-len(visit.cookie_value) % 4))
    for changed in (raw[:-1] + b"\xff", raw[:-6], raw + b"\xff"):
        assert found(replace(visit, cookie_value=urlsafe_b64encode(changed).decode().rstrip("=")), ONE, "s") is None
