"""Sealed values and page tokens."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.platform.crypto import DecryptionFailed, Vault

VAULT = Vault(bytes(range(32)))
RECORD = UUID("0190f2c4-5a2e-7cc3-9a4b-1d2e3f405162")


@given(st.binary(max_size=200))
def test_what_is_sealed_opens_in_its_place_only(plain: bytes) -> None:
    sealed = VAULT.encrypt(plain, context="webhook", associated_data=b"row 1")
    assert VAULT.decrypt(sealed, context="webhook", associated_data=b"row 1") == plain
    for context, binding in (("other", b"row 1"), ("webhook", b"row 2")):
        with pytest.raises(DecryptionFailed):
            VAULT.decrypt(sealed, context=context, associated_data=binding)
    with pytest.raises(DecryptionFailed):
        Vault(bytes(32)).decrypt(sealed, context="webhook", associated_data=b"row 1")


@given(st.data())
def test_an_altered_seal_is_broken(data: st.DataObject) -> None:
    sealed = bytearray(VAULT.encrypt(b"secret", context="c"))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DecryptionFailed):
        VAULT.decrypt(bytes(sealed), context="c")


def test_short_values_are_broken() -> None:
    for length in range(30):
        with pytest.raises(DecryptionFailed):
            VAULT.decrypt(b"\x01" * length, context="c")


def test_h1_page_tokens_open_their_record_and_nothing_else() -> None:
    token = VAULT.create_page_token("give", RECORD)
    assert VAULT.create_page_token("give", RECORD) == token
    assert VAULT.read_page_token("give", token) == RECORD
    assert VAULT.read_page_token("invite", token) is None
    assert Vault(bytes(32)).read_page_token("give", token) is None


@given(st.text(max_size=80))
def test_h1_other_texts_open_nothing(text: str) -> None:
    assert VAULT.read_page_token("give", text) is None


@given(st.data())
def test_h1_a_changed_token_opens_nothing(data: st.DataObject) -> None:
    token = VAULT.create_page_token("give", RECORD)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from("ABCDEFabcdef0123456789-_"))
    changed = token[:at] + other + token[at + 1 :]
    assert VAULT.read_page_token("give", changed) == (RECORD if changed == token else None)


def test_a_master_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Vault(b"short")


def test_h1_a_token_that_ends_tells_its_end_and_is_no_token_without_one() -> None:
    until = datetime(2026, 6, 1, 12, 0, 7, tzinfo=UTC)
    token = VAULT.create_expiring_page_token("give", RECORD, until)
    assert VAULT.create_expiring_page_token("give", RECORD, until + timedelta(milliseconds=9)) == token
    assert VAULT.read_expiring_page_token("give", token) == (RECORD, until)
    assert VAULT.read_expiring_page_token("invite", token) is None
    assert Vault(bytes(32)).read_expiring_page_token("give", token) is None
    assert VAULT.read_page_token("give", token) is None
    assert VAULT.read_expiring_page_token("give", VAULT.create_page_token("give", RECORD)) is None


@given(st.data())
def test_h1_nobody_puts_an_end_off(data: st.DataObject) -> None:
    token = VAULT.create_expiring_page_token("give", RECORD, datetime(2026, 6, 1, tzinfo=UTC))
    at = data.draw(st.integers(0, len(token) - 1))
    changed = token[:at] + data.draw(st.sampled_from("ABCDEFabcdef0123456789-_")) + token[at + 1 :]
    assert changed == token or VAULT.read_expiring_page_token("give", changed) is None
