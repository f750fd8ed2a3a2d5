"""The form of web addresses."""

import pytest

from almoner.kit import web


@pytest.mark.parametrize(
    "text",
    [
        "example.org",
        "https://www.example.org/",
        "HTTP://Example.org:8080/a?b#c",
        "bücher.example",
        "example.org?x",
        "a.b.c.",
    ],
)
def test_addresses_as_people_write_them(text: str) -> None:
    assert web.is_web_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example",
        "https://",
        "ftp://example.org",
        "ada@example.org",
        "two words.org",
        ".org",
        "a..b",
        "example.org/a b",
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert not web.is_web_address(text)
