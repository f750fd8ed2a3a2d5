"""Wrong values of settings: each is told in one sentence that says what is right, and not by who reads them."""

import pytest

from almoner.settings import UnsafeSettings, read_settings

WRONG = {
    "api_url": ("https://api.example.org:99999", "https://u:p@api.example.org", "https://api example.org",
                "https://[::1", "https://give..example.org", "https://api.example.org\n", "https://.", "https://api.example.org:x"),
    "privacy_url": ("https://[::1", "https://exa mple.org", "https://example.org:0"),
    "database_url": ("postgresql://app:x@[::1/almoner",),
    "mail_url": ("smtp://[::1", "smtps://u:p w@h:465", "smtp://h:25\n"),
    "mail_from": ("Giving <a@example.org>, B <c@example.org>", "A <a@example.org> <c@example.org>", "a\nb@example.org"),
    "scanner_url": ("clamd://h:99999", "clamd://h:x"),
    "webhook_source_addresses": ("api.example.org", "203.0.113.7;203.0.113.8", "1.2.3", "10.0.0.0/33"),
    "port": ("8080/tcp", "-1", "65535", "1e3"),
    "metrics_token": ("short", "\u00e9" * 16, "x" * 16 + "\n"),
    "name_match_threshold": ("0,95", "95"),
    "environment": ("Production",),
    "rejected_retention_days": ("forever", "999999999"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_value_is_told_in_a_sentence_of_ours(name: str, value: str) -> None:
    with pytest.raises(UnsafeSettings) as refused:
        read_settings(**{name: value})
    (sentence,) = refused.value.problems
    assert sentence.startswith(f"ALMONER_{name.upper()} must ")
    assert value not in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_url", "http://localhost:8080"),
        ("api_url", "http://[::1]:8080/"),
        ("pages_url", "https://give.example.org/give"),
        ("documents_endpoint", "http://object_store:9000"),
        ("mail_url", "smtps://user:pa%20ss@mail.example.org:465"),
        ("mail_from", '"Giving, Inc." <giving@example.org>'),
        ("webhook_source_addresses", "203.0.113.7, 2001:db8::/64"),
    ],
)
def test_a_right_value_is_taken(name: str, value: str) -> None:
    read_settings(**{name: value})
