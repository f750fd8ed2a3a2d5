"""Slugs, what an address fills in, and a page whose own style sheets and scripts are named by hashes."""

from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.checkout.giving_links.domain import is_slug, slug_of_title
from almoner.giving.checkout.hosted_page import prefill
from almoner.giving.checkout.hosted_page.domain import donation_amounts_for
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.platform.pages.headers import replace_nonce_with_hashes

_ID, _AT = UUID(int=1), datetime(2026, 1, 1, tzinfo=UTC)
SESSION = DonationSession(_ID, _ID, _ID, None, "open", None, None, None, None, _AT, _AT)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Winter appeal", "winter-appeal"),
        ("  St. Mary's – Dächer & Wände! ", "st-marys-dacher-wande"),
        ("屋根", ""),
        ("A", ""),
        ("x" * 90, "x" * 40),
        ("one two three four five six seven eight nine ten", "one-two-three-four-five-six-seven-eight"),
    ],
)
def test_a_slug_is_made_of_the_words_of_a_title(title: str, slug: str) -> None:
    assert slug_of_title(title) == slug


@given(st.text(max_size=150))
def test_whatever_the_title_the_slug_is_one(title: str) -> None:
    slug = slug_of_title(title)
    assert slug == "" or is_slug(slug)


@pytest.mark.parametrize("text", ["ab", "a" * 61, "-abc", "abc-", "a--b", "Abc", "a_b", "a b", "äbc", "abc\n", "٣٤٥"])
def test_other_texts_are_no_slugs(text: str) -> None:
    assert not is_slug(text)


@pytest.mark.parametrize(
    ("amount", "currency", "chosen", "typed"),
    [
        ("25", "USD", "2500", ""),
        ("25.00", "USD", "2500", ""),
        ("12.5", "USD", "other", "12.50"),
        ("1000", "JPY", "1000", ""),
        ("1200.0", "JPY", "other", "1,200"),
        ("1200.5", "JPY", "", ""),
        ("5.125", "KWD", "other", "5.125"),
        ("0.99", "USD", "", ""),
        ("100000.01", "USD", "", ""),
        *((text, "USD", "", "") for text in ("", "1,50", "1e3", "-5", "+5", " 25", "٢٥", "25.", ".5", "9" * 16)),
    ],
)
def test_an_amount_of_the_address_is_chosen_or_ignored(amount: str, currency: str, chosen: str, typed: str) -> None:
    form = prefill.prefilled_form({"amount": amount}, donation_amounts_for(currency), SESSION, Locale("en"))
    assert (form.amount, form.typed) == (chosen, typed)


def test_an_amount_of_the_address_is_shown_as_the_language_writes_it() -> None:
    form = prefill.prefilled_form({"amount": "12.5"}, donation_amounts_for("EUR"), SESSION, Locale("de"))
    assert form.typed == "12,50"


def test_only_what_has_the_nonce_is_named_by_its_hash() -> None:
    body = '<style nonce="abc">a{}</style><script>evil()</script><script nonce="abc">ours()</script>'
    shared, inline = replace_nonce_with_hashes(body, "abc")
    assert shared == "<style>a{}</style><script>evil()</script><script>ours()</script>"
    assert inline.styles == [f"'sha256-{b64encode(sha256(b'a{}').digest()).decode()}'"]
    assert inline.scripts == [f"'sha256-{b64encode(sha256(b'ours()').digest()).decode()}'"]
