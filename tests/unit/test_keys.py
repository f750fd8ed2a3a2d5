"""API keys (K1): form, checksum, environments, scopes, overlap."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.access.guard import parse_key_from_authorization
from almoner.access.keys import domain as keys_domain
from almoner.kit.errors import Unauthorised

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize("kind", get_args(keys_domain.Kind))
@pytest.mark.parametrize("sandbox", [True, False])
def test_k1_form(kind: keys_domain.Kind, sandbox: bool) -> None:
    key = keys_domain.generate_key_secret(kind, sandbox=sandbox)
    start = {"secret": "sk", "publishable": "pk", "scim": "scim"}[kind] + ("_sandbox_" if sandbox else "_live_")
    assert key.startswith(start)
    assert len(key) == len(start) + 38
    assert key[len(start) :].isalnum()
    assert keys_domain.key_kind_of_secret(key, sandbox=sandbox) == kind
    assert keys_domain.key_kind_of_secret(key, sandbox=not sandbox) is None


@given(st.data())
def test_k1_crc_rejects_every_single_character_error(data: st.DataObject) -> None:
    key = keys_domain.generate_key_secret("secret", sandbox=True)
    at = data.draw(st.integers(len("sk_sandbox_"), len(key) - 1))
    other = data.draw(st.sampled_from([c for c in keys_domain._BASE62 if c != key[at]]))
    assert keys_domain.key_kind_of_secret(key[:at] + other + key[at + 1 :], sandbox=True) is None


@given(st.text(max_size=60))
def test_k1_other_texts_are_no_keys(text: str) -> None:
    assert keys_domain.key_kind_of_secret(text, sandbox=True) is None


def test_scopes_of_each_kind() -> None:
    assert keys_domain.scopes_for_new_key("secret", frozenset()) == {"*"}
    assert keys_domain.scopes_for_new_key("publishable", frozenset()) == keys_domain.PUBLISHABLE_SCOPES
    with pytest.raises(ValueError, match="donations:write"):
        keys_domain.scopes_for_new_key("publishable", frozenset({"donations:write"}))


def test_k4_overlap_is_at_most_seven_days() -> None:
    assert keys_domain.rotation_overlap_end(NOON, timedelta(days=7)) == NOON + timedelta(days=7)
    for overlap in (timedelta(days=7, seconds=1), timedelta(seconds=-1)):
        with pytest.raises(keys_domain.RotationOverlapTooLong):
            keys_domain.rotation_overlap_end(NOON, overlap)


@pytest.mark.parametrize(
    ("header", "key"),
    [("k", "k"), ("Bearer k", "k"), ("bearer  k", "k"), ("Basic azo=", "k"), ("Basic azpwYXNz", "k")],
)
def test_three_forms_of_the_header_are_read(header: str, key: str) -> None:
    assert parse_key_from_authorization(header) == key


@pytest.mark.parametrize("header", [None, "", "Digest abc", "Basic !!", "Basic /w=="])
def test_other_headers_are_refused(header: str | None) -> None:
    with pytest.raises(Unauthorised):
        parse_key_from_authorization(header)
