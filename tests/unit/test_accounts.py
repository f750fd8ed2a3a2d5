"""Where people are led after they signed in, and what their navigation shows."""

from uuid import UUID

import pytest

from almoner.access.accounts.domain import OPERATORS_PLACE, Link, place_of_members, said
from almoner.access.people.domain import OPERATORS, Realm

ACME = place_of_members(Realm(UUID(int=7)), "partner_7", "Acme")


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
    assert ACME.own_path(path) == path


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
    assert ACME.own_path(path) == "/account/partner_7"


def test_operators_are_led_to_operators_pages_alone() -> None:
    assert OPERATORS_PLACE.own_path("/operator/tokens") == "/operator/tokens"
    assert OPERATORS_PLACE.own_path("/operators") == "/operator"
    assert OPERATORS_PLACE.own_path("/account/partner_7") == "/operator"


def test_each_realm_has_a_cookie_of_its_own() -> None:
    assert ACME.cookie == "__Host-member-partner_7"
    assert OPERATORS_PLACE.cookie == "__Host-operator"


def test_the_navigation_shows_what_may_be_opened() -> None:
    members = Link("Members", "/members", frozenset({"owner"}))
    assert members.is_for(ACME.realm, {"owner", "finance"})
    assert not members.is_for(ACME.realm, {"finance"})
    assert not members.is_for(OPERATORS, {"administrator"})
    assert Link("Gifts", "/gifts").is_for(ACME.realm, ())
    assert Link("Tokens", "/tokens", operators=True).is_for(OPERATORS, ())


def test_roles_in_words() -> None:
    assert said({"read_only", "owner"}) == "owner or read only"
    assert said({"administrator"}) == "administrator"
