"""The audit log in words: no names of fields, roles as pages call them."""

import html
import re
from datetime import UTC, datetime
from uuid import UUID

import pytest

from almoner.access.accounts.page_texts import PageTexts
from almoner.access.members.audit_texts import AuditTexts
from almoner.kit.ids import RecordIdCodec
from almoner.platform.audit.log import Actor, AuditEntry, Details
from almoner.platform.pages.translations import TranslationCatalogues

AT = datetime(2026, 5, 1, tzinfo=UTC)
IDS = RecordIdCodec(sandbox=True)
ADA, BO, DONATION = (IDS.encode(kind, UUID(int=number)) for number, kind in enumerate(("member", "member", "donation")))
NAMES = {ADA: "Ada", BO: "Bo <b>"}


def words(language: str = "en") -> AuditTexts:
    """The words of a page that knows Ada and Bo."""
    texts = PageTexts(TranslationCatalogues().language(language), UTC, AT)
    return AuditTexts(texts, NAMES, "/account/p", {"donation": "/donations"})


def entry(action: str, details: Details | None = None, subject: str = ADA) -> AuditEntry:
    """What Ada did."""
    return AuditEntry(UUID(int=1), UUID(int=2), AT, Actor("member", ADA), action, subject, None, None, None, details)


def plain(text: str) -> str:
    """The text without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", text))


@pytest.mark.parametrize(
    ("details", "said"),
    [
        (None, ""),
        ({"was": ["read_only"], "roles": ["owner", "finance"]}, "Before: read only; Roles: owner, finance"),
        ({"was": None, "role": "read_only"}, "Before: None; Role: read only"),
        ({"was": [], "roles": ["owner"]}, "Before: None; Roles: owner"),
        ({"by": "account"}, "How: account page"),
        (
            {"method": "password_totp", "sign_in": "signin_1", "new_device": True},
            "Method: password and authenticator app; Session: signin_1; New browser: Yes",
        ),
        ({"because": "signed_out", "sign_ins": 2}, "Reason: signed out; Sessions: 2"),
        ({"groupsClaim": "my_groups", "signInsEnded": 3}, "Groups claim: my_groups; Sessions ended: 3"),
        ({"method": "provider", "reason": "no_role"}, "Method: SSO; Reason: no role"),
        ({"scopes": ["users:read", "donation_sessions:read"]}, "Scopes: users:read, donation_sessions:read"),
        ({"changed": ["name", "email"]}, "Changed: Name, Email"),
        ({"added": [BO]}, "Added: Bo <b>"),
        ({"currency": "USD", "amount": 1500}, "Amount: $15.00"),
    ],
)
def test_v8_details_are_words(details: Details | None, said: str) -> None:
    assert plain(words().details_text(entry("x.done", details))) == said


def test_v8_who_did_what_to_whom() -> None:
    made = words()
    assert plain(made.entry_sentence(entry("identity.bound"))) == "Ada: SSO account connected"
    about_bo = made.entry_sentence(entry("member.deactivated", subject=BO))
    assert plain(about_bo) == "Ada: Member deactivated (Bo <b>)"
    assert f'<a href="/account/p/members/{BO}"><bdi>Bo &lt;b&gt;</bdi></a>' in about_bo
    refunded = made.entry_sentence(entry("refundDonation", subject=DONATION))
    assert plain(refunded) == f"Ada: Donation refunded through the API (Donation …{DONATION[-8:]})"
    assert f'href="/account/p/donations/{DONATION}"' in refunded
    gone = IDS.encode("member", UUID(int=9))
    assert plain(made.entry_sentence(entry("member.removed", subject=gone))) == "Ada: Member removed"
    assert 'lang="en"' in words("de").entry_sentence(entry("x.done"))


def test_v8_who_is_offered_to_choose_from() -> None:
    made, gone = words(), IDS.encode("member", UUID(int=9))
    assert made.actor_choice_label(Actor("member", BO)) == "Bo <b>"
    assert made.actor_choice_label(Actor("member", gone)) == f"A member (…{gone[-8:]})"
    assert made.actor_choice_label(Actor("system", "donor")) == "A donor"
    assert made.actor_choice_label(Actor("system", "sign_on")) == "Almoner (sign_on)"
    assert (plain(made.actor_text(Actor("system", "sign_on"))), made.actor_text(Actor("key", "k"))) == (
        "Almoner",
        "An API key",
    )
