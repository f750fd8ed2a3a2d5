"""Throttles failed sign-in attempts without ever locking an account (0028).

An attempt is counted before it is checked, so that concurrent attempts do not escape the limit, and uncounted if it
succeeds. An attempt made too early is neither checked nor counted. Attempts from elsewhere do not slow down networks
and devices from which the person has signed in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.access.credentials import store
from almoner.access.credentials.domain import (
    ATTEMPT_RETENTION,
    CODE_THROTTLE,
    CODE_THROTTLE_ANYWHERE,
    NAME_THROTTLE,
    NETWORK_THROTTLE,
    PASSWORD_THROTTLE,
    REFUSAL_LOG_INTERVAL,
    WIDER_NETWORK_THROTTLE,
    AttemptThrottled,
    ThrottlePolicy,
    can_be_stored_in_database,
)
from almoner.access.credentials.store import AttemptCounterKey
from almoner.access.people.domain import MAX_TYPED_NAME, Person, Realm
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound.addresses import client_network_for_rate_limit, wider_client_network_for_rate_limit

_BATCH: Final = 1000
_ANYWHERE: Final = "*"
_ALL_NAMES: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class AttemptSource:
    """Where an attempt comes from. ``device_id``: a device cookie proved an earlier sign-in of this person.

    ``is_familiar_network``: the person signed in from this neighbourhood before.
    """

    ip_address: str
    device_id: bytes | None = None
    is_familiar_network: bool = False

    @property
    def has_signed_in_before(self) -> bool:
        """Whether the person has signed in from there before."""
        return self.device_id is not None or self.is_familiar_network


@dataclass(frozen=True, slots=True)
class CountedAttempt:
    """An attempt that was allowed and counted.

    ``source_counter_key``: counters of its source alone; ``shared_counter_keys``: counters that other sources share.
    """

    source_counter_key: AttemptCounterKey
    shared_counter_keys: tuple[AttemptCounterKey, ...]


def build_attempt_source(
    ip_address: str, device_id: bytes | None, sign_in_ip_addresses: Iterable[str]
) -> AttemptSource:
    """The source of an attempt; ``sign_in_ip_addresses``: network addresses from which the person signed in earlier."""
    return AttemptSource(
        ip_address,
        device_id,
        client_network_for_rate_limit(ip_address)
        in {client_network_for_rate_limit(one) for one in sign_in_ip_addresses},
    )


async def check_and_count_password_attempt(
    tx: Tx, realm: Realm, user_name: str, person: Person | None, source: AttemptSource
) -> CountedAttempt:
    """Count a password attempt for a user name. The caller commits. Raises AttemptThrottled."""
    name = await _name_hash(tx, user_name, person)
    own = (realm.id, name, _source_key(source))
    shared: list[tuple[AttemptCounterKey, ThrottlePolicy]] = []
    if source.device_id is None:
        everybody = tx.vault.compute_keyed_hash("sign-in-network", b"")
        shared.append(((_ALL_NAMES, everybody, client_network_for_rate_limit(source.ip_address)), NETWORK_THROTTLE))
        if not source.is_familiar_network:
            shared.append(
                (
                    (_ALL_NAMES, everybody, wider_client_network_for_rate_limit(source.ip_address)),
                    WIDER_NETWORK_THROTTLE,
                )
            )
            shared.append(((realm.id, name, _ANYWHERE), NAME_THROTTLE))
    return await _count_attempt(tx, (own, PASSWORD_THROTTLE), shared)


async def check_and_count_code_attempt(tx: Tx, person: Person, source: AttemptSource) -> CountedAttempt:
    """Count a second-factor attempt of a person. The caller commits. Raises AttemptThrottled."""
    name = _code_hash(tx.vault, person)
    own = (person.realm.id, name, _source_key(source))
    anywhere = (person.realm.id, name, _ANYWHERE)
    return await _count_attempt(
        tx, (own, CODE_THROTTLE), [] if source.has_signed_in_before else [(anywhere, CODE_THROTTLE_ANYWHERE)]
    )


async def record_successful_attempt(tx: Tx, attempt: CountedAttempt) -> None:
    """The attempt succeeded: clear its source's failures and take it off the shared counters."""
    await store.reset_source_and_decrement_shared_counters(
        tx, [attempt.source_counter_key], attempt.shared_counter_keys
    )


async def clear_attempts(tx: Tx, person: Person) -> None:
    """Clear all failed attempts of a person who proved their identity through an emailed link."""
    hashes = [_person_hash(tx.vault, person), _code_hash(tx.vault, person)]
    await store.delete_attempts(tx, person.realm.id, hashes)


async def claim_refused_attempt_audit(tx: Tx, realm: Realm, person: Person | None) -> bool:
    """Whether to audit a refused attempt now: at most one a minute for each person."""
    name = tx.vault.compute_keyed_hash("sign-in-refused", person.id.bytes if person else b"")
    return await store.claim_refused_attempt_audit(tx, (realm.id, name, _ANYWHERE), tx.real_now - REFUSAL_LOG_INTERVAL)


async def next_login_attempt_deletion_at(tx: Tx) -> datetime | None:
    """When the next attempt or challenge is due for deletion."""
    tried, challenge = await store.load_oldest_attempt_and_challenge_times(tx)
    over = [moment for moment in (tried + ATTEMPT_RETENTION if tried else None, challenge) if moment]
    return tx.now + (min(over) - tx.real_now) if over else None


async def delete_expired_attempts_and_challenges(tx: Tx, limit: int = _BATCH) -> int:
    """Delete attempts older than a day and expired challenges; returns how many rows."""
    return await store.delete_expired_attempts_and_challenges(tx, tx.real_now - ATTEMPT_RETENTION, limit)


async def _count_attempt(
    tx: Tx, own: tuple[AttemptCounterKey, ThrottlePolicy], shared: Sequence[tuple[AttemptCounterKey, ThrottlePolicy]]
) -> CountedAttempt:
    slots = [own[0], *(slot for slot, _ in shared)]
    limits = [own[1], *(limit for _, limit in shared)]
    await store.lock_attempt_counters(tx, slots)
    found = await store.find_failed_attempts(tx, slots)
    waits = [one.next_allowed_at(limit, tx.real_now) for one, limit in zip(found, limits, strict=True) if one]
    if until := max((wait for wait in waits if wait), default=None):
        raise AttemptThrottled(until)
    left = [one.count_unexpired(limit, tx.real_now) if one else 0 for one, limit in zip(found, limits, strict=True)]
    await store.save_failure_counts(tx, slots, [failures + 1 for failures in left])
    return CountedAttempt(slots[0], tuple(slots[1:]))


def _source_key(source: AttemptSource) -> str:
    return (
        f"device {source.device_id.hex()}"
        if source.device_id is not None
        else client_network_for_rate_limit(source.ip_address)
    )


async def _name_hash(tx: Tx, user_name: str, person: Person | None) -> bytes:
    """A keyed hash, so that the table reveals no names. It is the same for every spelling of a name."""
    readable = can_be_stored_in_database(user_name) and len(user_name) <= MAX_TYPED_NAME
    folded = await store.normalise_user_name(tx, user_name.strip()) if readable else user_name
    if person is not None:
        return _person_hash(tx.vault, person)
    return tx.vault.compute_keyed_hash("sign-in-name", folded.encode(errors="replace"))


def _person_hash(vault: Vault, person: Person) -> bytes:
    return vault.compute_keyed_hash("sign-in-person", person.id.bytes)


def _code_hash(vault: Vault, person: Person) -> bytes:
    return vault.compute_keyed_hash("sign-in-code", person.id.bytes)
