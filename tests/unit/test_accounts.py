"""Where people are led after they signed in, and what their navigation shows."""

from uuid import UUID

import pytest

from almoner.access.accounts.domain import OPERATOR_PORTAL, NavigationLink, build_member_portal
from almoner.access.people.domain import OPERATORS, Realm

ACME = build_member_portal(Realm(UUID(int=7)), "partner_7", "Acme")


@pytest.mark.parametrize(
    "path",
    [
        "/account/partner_7",
        "/account/partner_7/members",
        "/account/partner_7/audit?before=audit_1&kind=key",
        "/account/partner_7/audit.csv",
        "/account/partner_7/audit?who=a%40b.org&action=*",
    ],
)
def test_own_pages_are_led_to(path: str) -> None:
    assert ACME.safe_redirect_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "https://evil.example/account/partner_7",
        "//evil.example/account/partner_7",
        "/\\evil.example",
        "/account/partner_7/..//evil.example",
        "/account/partner_7/../partner_8",
        "/account/partner_7/..",
        "/account/partner_7/./members",
        "/account/partner_7//evil.example",
        "/account/partner_7x",
        "/account/partner_8/members",
        "/operator/tokens",
        "/account/partner_7/a\r\nSet-Cookie: a=b",
        "/account/partner_7/members#top",
        "account/partner_7",
        "javascript:alert(1)",
        "/account/partner_7/%2e%2e/%2e%2e/evil\x00",
    ],
)
def test_nobody_is_led_elsewhere(path: str) -> None:
    assert ACME.safe_redirect_path(path) == "/account/partner_7"


def test_operators_are_led_to_operators_pages_alone() -> None:
    assert OPERATOR_PORTAL.safe_redirect_path("/operator/tokens") == "/operator/tokens"
    assert OPERATOR_PORTAL.safe_redirect_path("/operators") == "/operator"
    assert OPERATOR_PORTAL.safe_redirect_path("/account/partner_7") == "/operator"


def test_each_realm_has_a_cookie_of_its_own() -> None:
    assert ACME.session_cookie_name == "__Host-member-partner_7"
    assert OPERATOR_PORTAL.session_cookie_name == "__Host-operator"


def test_the_navigation_shows_what_may_be_opened() -> None:
    members = NavigationLink("Members", "/members", frozenset({"owner"}))
    assert members.is_visible_to(ACME.realm, {"owner", "finance"})
    assert not members.is_visible_to(ACME.realm, {"finance"})
    assert not members.is_visible_to(OPERATORS, {"administrator"})
    assert NavigationLink("Gifts", "/gifts").is_visible_to(ACME.realm, ())
    assert NavigationLink("Tokens", "/tokens", for_operators=True).is_visible_to(OPERATORS, ())
