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
        "ｗｗｗ．example．jp",
        "https://例え。jp/x",
        "उदाहरण.भारत",
        "a_b.example.org",
        "ab--cd.example.org",
        "example.org:65535",
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
        "1.2",
        "3.14",
        "example.org,",
        "www.a.org;www.b.org",
        "https://-a.org",
        "https://a-.org",
        "c/o",
        "example.org:0",
        "example.org:65536/a",
        "https://example.org:99999",
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert not web.is_web_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "example.org",
        "HTTPS://Example.org:8080/a",
        "example.org?from=https://other.org",
        "https://ada@example.org./#x",
        "example.org\\x",
    ],
)
def test_the_host_of_an_address(text: str) -> None:
    assert web.host_of_web_address(text) == "example.org"
