"""Email addresses: what a form accepts is what a mail is sent to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.platform.outbound.email_addresses import ascii_email_address, clean_email_address, is_email_address


@pytest.mark.parametrize(
    ("text", "sent_to"),
    [
        ("ada@example.org", "ada@example.org"),
        ("a.b+c@mail.example.co.uk", "a.b+c@mail.example.co.uk"),
        ("o'neil@example.org", "o'neil@example.org"),
        ("ada@exämple.org", "ada@xn--exmple-cua.org"),
        ("ada@straße.example", "ada@xn--strae-oqa.example"),
        ("ada@пример.рф", "ada@xn--e1afmkfd.xn--p1ai"),
        ("ada@ab--cd.example.org", "ada@ab--cd.example.org"),
        ("a" * 64 + "@b.co", "a" * 64 + "@b.co"),
    ],
)
def test_addresses_that_a_mail_can_reach_are_sent_to_in_ascii(text: str, sent_to: str) -> None:
    assert ascii_email_address(text) == sent_to


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "nope",
            "@example.org",
            "ada@",
            "ada@localhost",
            "a b@example.org",
            "a@b@example.org",
            "a@b..co",
            "a@.co",
        ),
        *("ada..b@example.org", "ada.@example.org", ".ada@example.org", "jürgen@example.org", "아다@example.org"),
        *("ada@example.org\u200b", "\u202aada@exa\u2060mple.org", "ada@exämple\u00ad.org"),
        *("ada@example.c", "ada@example.c0m", "ada@example.o-g", "ada@example.1", "ada@example.xn--"),
        *("ada@-example.org", "ada@example-.org", "ada@my_host.org", "ada@192.0.2.1", "ada@example.org.", "ada@☃-.org"),
        *(
            "a" * 65 + "@b.co",
            "a@" + "b" * 64 + ".co",
            "a@" + "b.c" * 90 + ".co",
            "ada@exa mple.org",
            '"a"@example.org',
        ),
    ],
)
def test_addresses_that_none_could_reach(text: str) -> None:
    assert not is_email_address(text)


@pytest.mark.parametrize(
    "typed",
    [
        "ada@example.org\u200b",
        "\u202aada@example.org\u202c",
        "a\u200dd\u200ca@exa\u00admple.org",
        "\ufeff ada@example.org\u00a0",
        "ａｄａ＠ｅｘａｍｐｌｅ．ｏｒｇ",
        "ada@example\ufe0f.org",
        "ada@example.org\u2069\u200f",
    ],
)
def test_what_nobody_sees_goes_wherever_it_stands(typed: str) -> None:
    assert clean_email_address(typed) == "ada@example.org"


def test_an_apostrophe_of_a_telephone_is_the_one_of_the_address() -> None:
    assert clean_email_address("o\u2019neil@example.org") == "o'neil@example.org"


@given(st.emails() | st.text(st.characters(codec="utf-8"), max_size=30).map(lambda text: f"ada@{text}.org"))
def test_what_is_accepted_the_mailer_takes(text: str) -> None:
    if (sent_to := ascii_email_address(clean_email_address(text))) is not None:
        assert sent_to.isascii()
        assert len(sent_to) <= 254
        assert not set(sent_to) & set(' ,;:<>()"\r\n\x00')
