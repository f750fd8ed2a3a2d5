"""What a browser is called, how long a sign-in is live, and what mails to people say."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args
from uuid import UUID

import pytest

from almoner.access.people.domain import OPERATORS, Realm
from almoner.access.security_emails import domain as security_emails_domain
from almoner.access.security_emails.domain import Kind
from almoner.access.sign_ins import domain as sign_ins_domain
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import EmailLink, SignIn

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
MEMBERS = Realm(UUID(int=7))
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/19.0 Safari/605.1.15",
            "Safari on macOS",
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
            "Chrome on Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        (
            "Mozilla/5.0 (iPhone; like Mac OS X) AppleWebKit/605.1.15 CriOS/140.0 Mobile/15E148 Safari/604.1",
            "Chrome on iPhone",
        ),
        (
            "Mozilla/5.0 (X11; CrOS x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36",
            "Chrome on ChromeOS",
        ),
        ("curl/8.9.1", "Unknown browser"),
        ("<script>alert(1)</script> Linux", "Unknown browser on Linux"),
        ("", "Unknown browser"),
    ],
)
def test_a_browser_is_called_by_words_of_ours(user_agent: str, name: str) -> None:
    assert sign_ins_domain.device_label(user_agent) == name


def sign_in(realm: Realm = MEMBERS) -> SignIn:
    """A sign-in of just now."""
    ends = AT + sign_ins_domain.session_lifetime_for_realm(realm).max_lifetime
    return SignIn(UUID(int=1), realm, UUID(int=2), "password", "", "", AT, AT, AT, ends)


@pytest.mark.parametrize(("realm", "idle", "longest"), [(MEMBERS, 12, 720), (OPERATORS, 0.5, 12)])
def test_a_sign_in_ends_idle_and_at_most(realm: Realm, idle: float, longest: float) -> None:
    one, moment = sign_in(realm), timedelta(milliseconds=1)
    assert one.is_unexpired(AT + idle * HOUR - moment)
    assert not one.is_unexpired(AT + idle * HOUR)
    seen = replace(one, last_seen_at=AT + longest * HOUR - moment)
    assert seen.is_unexpired(AT + longest * HOUR - moment)
    assert not seen.is_unexpired(AT + longest * HOUR)


def test_what_was_ended_is_over_whatever_its_time() -> None:
    """The end of a deactivated sign-in is told in business time, which a sandbox may have moved ahead."""
    ended = replace(sign_in(), ended_at=AT + HOUR, end_reason="deactivated")
    assert not ended.is_unexpired(AT)


def test_a_proof_is_recent_for_ten_minutes() -> None:
    one = sign_in()
    assert sign_ins.is_recently_authenticated(one, AT + timedelta(minutes=10, milliseconds=-1))
    assert not sign_ins.is_recently_authenticated(one, AT + timedelta(minutes=10))


def test_a_link_is_open_until_its_very_end() -> None:
    link = EmailLink(UUID(int=1), UUID(int=2), "reset", AT, AT + HOUR)
    assert link.invalid_reason(AT + HOUR - timedelta(milliseconds=1)) is None
    assert link.invalid_reason(AT + HOUR) == "expired"
    assert replace(link, used_at=AT).invalid_reason(AT + 9 * HOUR) == "used", "the truest reason first"
    assert replace(link, replaced_at=AT).invalid_reason(AT + 9 * HOUR) == "replaced"
    assert replace(link, revoked=True).invalid_reason(AT) == "revoked"


def test_names_in_mails_are_short_and_in_one_line() -> None:
    """An invitation is sent to whoever an owner wishes; what they are called must not become the message."""
    values = {"place": "Ferns\r\nBcc: eve@example.net", "user_name": "w" * 255}
    letter = security_emails_domain.build_security_email("invitation", values, {})
    assert letter.subject == "Your invitation to Ferns Bcc: eve@example.net"
    assert "w" * 79 + "…" in letter.text
    assert "w" * 80 not in letter.text
    assert security_emails_domain.shorten_name("w" * 80) == "w" * 80


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_mail_has_its_words(kind: Kind) -> None:
    values = {"place": "Ferns {& Co}", "user_name": "ada", "name": "Laptop", "left": "3", "until": "tomorrow"}
    values |= {"issuer": "https://id.example.org", "roles": "owner", "source": "irs-bmf", "amount": "GBP 12.34"}
    letter = security_emails_domain.build_security_email(kind, values, {})
    assert "Ferns {& Co}" in letter.subject
    for text in (letter.subject, letter.text, letter.action, letter.after):
        assert text
        assert "{" not in text.replace("Ferns {& Co}", "")
