"""What an idempotency claim is made of, without a database (I2-I4, I8)."""

import os
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest

from almoner.kit.errors import IdempotencyKeyInUse, IncorrectParams, SameKeyDifferentData
from almoner.platform import idempotency
from almoner.platform.crypto import DecryptionFailed, Vault, sha256_digest
from almoner.platform.database.transactions import Partner
from almoner.platform.idempotency import IdempotencyClaim, StoredResponseExists

VAULT = Vault(bytes(range(32)))
FIRST, SECOND = Partner(UUID(int=1)), Partner(UUID(int=2))
ROUTE = "POST /v1/users"
PAYLOADS: list[Any] = [None, {}, [], "", 0, False]
PAYLOADS += [{"a": 1}, {"a": "1"}, {"a": None}, {"b": 1}, {"a": [1, 2]}, {"a": [2, 1]}]


def claim(
    payload: object = None, *, partner: Partner = FIRST, key: str | None = "k", route: str = ROUTE
) -> IdempotencyClaim:
    """A claim with one thing changed."""
    return idempotency.build_claim(VAULT, partner, key, route, payload)


def test_i3_key_order_makes_no_difference() -> None:
    assert claim({"a": 1, "b": {"d": [1, 2], "c": None}}) == claim({"b": {"c": None, "d": [1, 2]}, "a": 1})


def test_k7_publishable_calls_are_marked_and_those_of_secret_keys_stay_readable_to_earlier_releases() -> None:
    publicly = idempotency.build_claim(VAULT, FIRST, "k", ROUTE, {"a": 1}, with_publishable_key=True)
    secretly = claim({"a": 1})
    assert secretly.fingerprint == sha256_digest(b'POST /v1/users\n{"a":1}')
    assert publicly.key_hash == secretly.key_hash
    assert publicly.fingerprint != secretly.fingerprint


@pytest.mark.parametrize(("one", "other"), list(combinations(PAYLOADS, 2)))
def test_i3_every_other_payload_has_another_fingerprint(one: Any, other: Any) -> None:
    assert claim(one).fingerprint != claim(other).fingerprint
    assert claim(one).key_hash == claim(other).key_hash


def test_i4_keys_of_two_partners_are_two_keys_with_two_locks() -> None:
    mine, other = claim(), claim(partner=SECOND)
    assert mine.key_hash != other.key_hash
    assert mine.advisory_lock_key != other.advisory_lock_key
    assert claim(key="k").key_hash != claim(key="K").key_hash


def test_i4_the_route_is_part_of_the_fingerprint() -> None:
    assert claim().fingerprint != claim(route="POST /v1/categories").fingerprint
    assert claim().route == ROUTE


def test_the_lock_fits_into_a_signed_bigint_and_follows_from_the_key() -> None:
    locks = [claim(key=f"k{number}").advisory_lock_key for number in range(200)]
    assert all(lock is not None and -(2**63) <= lock < 2**63 for lock in locks)
    assert any(lock is not None and lock < 0 for lock in locks)
    assert len(set(locks)) == 200
    assert claim(key="k7").advisory_lock_key == claim(key="k7").advisory_lock_key


def test_a_call_without_a_key_claims_nothing() -> None:
    made = claim({"a": 1}, key=None)
    assert (made.partner, made.route) == (FIRST, ROUTE)
    assert (made.key_hash, made.advisory_lock_key, made.fingerprint) == (None, None, b"")


def test_the_stored_hash_does_not_show_the_key() -> None:
    made = claim(key="customer-4711")
    assert made.partner == FIRST
    assert made.key_hash == VAULT.compute_keyed_hash("idempotency-key", FIRST.id.bytes + b"customer-4711")
    assert len(made.key_hash) == 32
    assert b"4711" not in made.key_hash
    assert idempotency.build_claim(Vault(os.urandom(32)), FIRST, "customer-4711", ROUTE, None).key_hash != made.key_hash


def sealed(made: IdempotencyClaim, body: bytes) -> bytes:
    """An answer as it is stored."""
    assert made.key_hash is not None
    return VAULT.encrypt(body, context="idempotency", associated_data=made.key_hash)


def test_i2_the_same_call_again_gets_the_stored_bytes() -> None:
    made = claim({"a": 1})
    with pytest.raises(StoredResponseExists) as replayed:
        made.raise_for_stored_response(VAULT, made.route, made.fingerprint, sealed(made, b'{"data":1}'))
    assert replayed.value.body == b'{"data":1}'


def test_another_route_is_told_before_other_data() -> None:
    made = claim({"a": 1})
    with pytest.raises(IdempotencyKeyInUse):
        made.raise_for_stored_response(VAULT, "POST /v1/categories", b"\0" * 32, sealed(made, b""))
    with pytest.raises(SameKeyDifferentData):
        made.raise_for_stored_response(VAULT, made.route, b"\0" * 32, sealed(made, b""))


def test_a_stored_answer_moved_to_another_key_does_not_open() -> None:
    made, other = claim(key="one"), claim(key="two")
    with pytest.raises(DecryptionFailed):
        made.raise_for_stored_response(VAULT, made.route, made.fingerprint, sealed(other, b"{}"))


@pytest.mark.parametrize("key", ["!", "~", "a" * 255, "0-9_A.z"])
def test_i8_visible_ascii_is_a_key(key: str) -> None:
    assert idempotency.read_idempotency_key({"idempotency-key": key}) == key


@pytest.mark.parametrize("key", ["", " ", "a b", "a" * 256, "é", "a\n", "\x7f", "\x1f", "a\xa0"])
def test_i8_anything_else_is_refused_by_name(key: str) -> None:
    with pytest.raises(IncorrectParams) as refused:
        idempotency.read_idempotency_key({"idempotency-key": key})
    assert refused.value.reasons == ("header.Idempotency-Key must be 1 to 255 visible ASCII characters",)


def test_no_header_is_no_key() -> None:
    assert idempotency.read_idempotency_key({"content-type": "application/json"}) is None
