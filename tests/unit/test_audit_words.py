"""The audit log in words: no names of fields, roles as pages call them."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from almoner.access.members import audit_words
from almoner.platform.audit.log import Actor, Details, Entry

ADA = "member_1"


def entry(action: str, details: Details | None = None, subject: str = ADA) -> Entry:
    """What Ada did."""
    at = datetime(2026, 5, 1, tzinfo=UTC)
    return Entry(UUID(int=1), UUID(int=2), at, Actor("member", ADA), action, subject, None, None, None, details)


@pytest.mark.parametrize(
    ("details", "said"),
    [
        (None, ""),
        ({"was": ["read_only"], "roles": ["owner", "finance"]}, "before: read only; roles: owner, finance"),
        ({"was": None, "role": "read_only"}, "before: none; role: read only"),
        ({"was": [], "roles": ["owner"]}, "before: none; roles: owner"),
        ({"by": "account"}, "how: on the account's page"),
        (
            {"method": "password_totp", "sign_in": "signin_1", "new_device": True},
            "by: password and authenticator app; which: signin_1; in a browser of the first time: yes",
        ),
        ({"because": "signed_out", "sign_ins": 2}, "why: signed out; sign-ins: 2"),
        ({"groupsClaim": "my_groups", "signInsEnded": 3}, "groups claim: my_groups; sign-ins ended: 3"),
        ({"method": "provider", "reason": "no_role"}, "by: the provider; reason: no role"),
        ({"scopes": ["users:read", "donation_sessions:read"]}, "scopes: users:read, donation_sessions:read"),
        ({"changed": ["name", "email"]}, "changed: name, e-mail"),
    ],
)
def test_v8_details_are_words(details: Details | None, said: str) -> None:
    assert audit_words.details(entry("x.done", details)) == said


def test_v8_who_did_what_to_whom() -> None:
    named = {ADA: "Ada", "member_2": "Bo"}
    assert audit_words.what(entry("member.deactivated", subject="member_2"), named) == "deactivated Bo"
    assert audit_words.what(entry("identity.unbound", subject="member_2"), named) == "disconnected from the provider Bo"
    assert audit_words.what(entry("identity.bound"), named) == "connected with the provider"
    assert audit_words.what(entry("createCategory"), named) == "createCategory"
    assert (audit_words.who(entry("x.done"), named), audit_words.who(entry("x.done"), {})) == ("Ada", "a member")
