"""Creates, finds, rotates and revokes API keys. Keys expire by real time: the sandbox clock does not age them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from almoner.access.keys import domain, store, store_requests
from almoner.access.keys.domain import (
    REQUEST_RETENTION,
    ApiKey,
    ApiRequestFilter,
    ApiRequestPage,
    Kind,
    NewApiKey,
    RequestCounts,
)
from almoner.access.keys.store import list_by_partner as list_by_partner
from almoner.access.keys.store import list_expiring as list_expiring
from almoner.access.keys.store import load_rate_limits_by_key_kind as load_rate_limits_by_key_kind
from almoner.access.keys.store import record_key_uses as record_key_uses
from almoner.access.keys.store_requests import count_requests as count_requests
from almoner.access.keys.store_requests import find_request as find_request
from almoner.access.keys.store_requests import insert_requests as insert_requests
from almoner.kit.rates import RequestRate
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Partner, Tx

_DELETED_AT_ONCE = 10_000


class NoSuchKey(LookupError):
    """There is no API key with this ID."""


def hash_key_secret(vault: Vault, secret: str) -> bytes:
    """The keyed hash under which a secret is stored (K2): 190 random bits need no slow hash."""
    return vault.compute_keyed_hash("api-key", secret.encode())


async def create(
    tx: Tx,
    partner: Partner,
    kind: Kind,
    name: str,
    scopes: frozenset[str] = frozenset(),
    *,
    expires_at: datetime | None = None,
) -> NewApiKey:
    """Create an API key; its secret is returned this once. Raises ValueError for impossible scopes."""
    secret = domain.generate_key_secret(kind, sandbox=tx.deployment.sandbox)
    key = ApiKey(
        tx.new_id(),
        partner.id,
        kind,
        name,
        secret[-4:],
        domain.scopes_for_new_key(kind, scopes),
        tx.real_now,
        expires_at,
        None,
        None,
    )
    await store.insert(tx, key, hash_key_secret(tx.vault, secret))
    return NewApiKey(key, secret)


async def find_by_secret(tx: Tx, secret: str) -> ApiKey | None:
    """The usable API key of this environment with this secret, or None."""
    if domain.key_kind_of_secret(secret, sandbox=tx.deployment.sandbox) is None:
        return None
    key = await store.find_by_secret_hash(tx, hash_key_secret(tx.vault, secret))
    return key if key and key.is_usable(tx.real_now) else None


async def get(tx: Tx, key_id: UUID) -> ApiKey:
    """One API key. Raises NoSuchKey."""
    if (key := await store.find(tx, key_id)) is None:
        raise NoSuchKey(tx.ids.encode("apikey", key_id))
    return key


async def rotate(tx: Tx, key_id: UUID, overlap: timedelta = domain.DEFAULT_OVERLAP) -> NewApiKey:
    """Create a successor key; the old one works until the overlap ends (K4). Raises NoSuchKey, RotationOverlapTooLong.

    The successor has the same lifetime.
    """
    old = await get(tx, key_id)
    ends = domain.rotation_overlap_end(tx.real_now, overlap)
    lifetime = await _original_lifetime(tx, old)
    expires_at = None if lifetime is None else tx.real_now + lifetime
    new, secret = await create(tx, Partner(old.partner_id), old.kind, old.name, old.scopes, expires_at=expires_at)
    await store.set_expiry_and_successor(tx, old, ends, new.id)
    return NewApiKey(new, secret)


async def _original_lifetime(tx: Tx, key: ApiKey) -> timedelta | None:
    """The lifetime with which a key was created: a rotated key ends earlier, its successor has the same."""
    while key.replaced_by is not None:
        key = await get(tx, key.replaced_by)
    return key.lifetime


async def revoke(tx: Tx, key_id: UUID) -> bool:
    """Revoke an API key immediately; False if it is revoked already. Raises NoSuchKey."""
    return await store.revoke(tx, await get(tx, key_id), tx.real_now)


async def set_rate_limits(
    tx: Tx, partner: Partner, rates: Mapping[Kind, RequestRate | None]
) -> dict[Kind, RequestRate | None]:
    """Set a partner's own rate limits by kind of key, None for the deployment's; returns those that have changed.

    The limits apply to each key on its own, within a second.
    """
    before = await store.load_rate_limits_by_key_kind(tx, partner)
    changed = {kind: rate for kind, rate in rates.items() if rate != before.get(kind)}
    for kind, rate in changed.items():
        await store.set_rate_limit(tx, partner, kind, rate)
    return changed


async def list_requests_page(
    tx: Tx, partner: Partner, filters: ApiRequestFilter, before: UUID | None, size: int
) -> ApiRequestPage:
    """One page, newest first. A page that is not full has a ``next_before_id`` while more remain to be searched."""
    if filters.request_id is not None:
        found = await store_requests.find_request(tx, partner, filters.request_id)
        return ApiRequestPage([] if found is None else [found], None)
    requests = await store_requests.list_newest(tx, partner, filters, before, size + 1)
    if len(requests) > size:
        return ApiRequestPage(requests[:size], requests[size - 1].request_id)
    return ApiRequestPage(requests, await store_requests.find_oldest_searched_request_id(tx, partner, filters, before))


async def count_rate_limited_requests(tx: Tx, partner: Partner) -> RequestCounts:
    """Count the requests of each key that a rate limit rejected, as far back as the log goes."""
    return await store_requests.count_rate_limited(tx, partner, tx.now - REQUEST_RETENTION)


async def next_request_log_deletion_at(tx: Tx) -> datetime | None:
    """When the oldest request is deleted."""
    oldest = await store_requests.find_oldest_api_request_at(tx)
    return None if oldest is None else oldest + REQUEST_RETENTION


async def delete_expired_requests(tx: Tx) -> int:
    """Delete a batch of old requests; returns how many."""
    return await store_requests.delete_requests(tx, tx.now - REQUEST_RETENTION, _DELETED_AT_ONCE)
