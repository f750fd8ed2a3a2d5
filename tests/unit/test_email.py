"""The form of e-mail addresses."""

import pytest

from almoner.kit import email as emails


@pytest.mark.parametrize("text", ["ada@example.org", "a.b+c@mail.example.co.uk", "ünï@exämple.org", "a" * 64 + "@b.co"])
def test_addresses_that_a_letter_could_reach(text: str) -> None:
    assert emails.is_email_address(text)


@pytest.mark.parametrize(
    "text",
    ["", "nope", "@example.org", "ada@", "ada@localhost", "a b@example.org", "a@b@example.org", "a@b..co", "a@.co"],
)
def test_addresses_that_none_could_reach(text: str) -> None:
    assert not emails.is_email_address(text)


def test_the_part_before_the_sign_has_a_limit() -> None:
    assert not emails.is_email_address("a" * 65 + "@b.co")
