"""The audit log in words: no names of fields, roles as pages call them."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from almoner.access.members import audit_texts
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
        ({"by": "account"}, "how: from the account page"),
        (
            {"method": "password_totp", "sign_in": "signin_1", "new_device": True},
            "by: password and authenticator app; session: signin_1; new browser: yes",
        ),
        ({"because": "signed_out", "sign_ins": 2}, "reason: signed out; sessions: 2"),
        ({"groupsClaim": "my_groups", "signInsEnded": 3}, "groups claim: my_groups; sessions ended: 3"),
        ({"method": "provider", "reason": "no_role"}, "by: SSO; reason: no role"),
        ({"scopes": ["users:read", "donation_sessions:read"]}, "scopes: users:read, donation_sessions:read"),
        ({"changed": ["name", "email"]}, "changed: name, email"),
    ],
)
def test_v8_details_are_words(details: Details | None, said: str) -> None:
    assert audit_texts.details_text(entry("x.done", details)) == said


def test_v8_who_did_what_to_whom() -> None:
    named = {ADA: "Ada", "member_2": "Bo"}
    assert (
        audit_texts.action_text(entry("member.deactivated", subject="member_2"), named) == "deactivated a member (Bo)"
    )
    assert (
        audit_texts.action_text(entry("identity.unbound", subject="member_2"), named)
        == "disconnected an SSO account (Bo)"
    )
    assert audit_texts.action_text(entry("identity.bound"), named) == "connected an SSO account"
    assert audit_texts.action_text(entry("createCategory"), named) == "createCategory"
    assert (audit_texts.actor_text(entry("x.done"), named), audit_texts.actor_text(entry("x.done"), {})) == (
        "Ada",
        "a member",
    )
