"""Creates, finds, rotates and revokes API keys. Keys expire by real time: the sandbox clock does not age them."""

from datetime import timedelta
from uuid import UUID

from almoner.access.keys import domain, store
from almoner.access.keys.domain import ApiKey, Kind
from almoner.access.keys.store import list_of_partner as list_of_partner
from almoner.access.keys.store import record_uses as record_uses
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Partner, Tx


class NoSuchKey(LookupError):
    """There is no API key with this ID."""


def secret_hash(vault: Vault, secret: str) -> bytes:
    """The keyed hash under which a secret is stored (K2): 190 random bits need no slow hash."""
    return vault.keyed_hash("api-key", secret.encode())


async def create(
    tx: Tx, partner: Partner, kind: Kind, name: str, scopes: frozenset[str] = frozenset()
) -> tuple[ApiKey, str]:
    """Create an API key; its secret is returned this once. Raises ValueError for impossible scopes."""
    secret = domain.generate_key_secret(kind, sandbox=tx.deployment.sandbox)
    key = ApiKey(
        tx.new_id(),
        partner.id,
        kind,
        name,
        secret[-4:],
        domain.granted_scopes(kind, scopes),
        tx.real_now,
        None,
        None,
        None,
    )
    await store.insert(tx, key, secret_hash(tx.vault, secret))
    return key, secret


async def find_by_secret(tx: Tx, secret: str) -> ApiKey | None:
    """The usable API key of this environment with this secret, or None."""
    if domain.kind_of_secret(secret, sandbox=tx.deployment.sandbox) is None:
        return None
    key = await store.find_by_hash(tx, secret_hash(tx.vault, secret))
    return key if key and key.is_usable(tx.real_now) else None


async def get(tx: Tx, key_id: UUID) -> ApiKey:
    """One API key. Raises NoSuchKey."""
    if (key := await store.find(tx, key_id)) is None:
        raise NoSuchKey(tx.ids.text("apikey", key_id))
    return key


async def rotate(tx: Tx, key_id: UUID, overlap: timedelta = domain.DEFAULT_OVERLAP) -> tuple[ApiKey, str]:
    """Create a successor key; the old one works until the overlap ends (K4). Raises NoSuchKey, OverlapTooLong."""
    old = await get(tx, key_id)
    ends = domain.overlap_end(tx.real_now, overlap)
    new, secret = await create(tx, Partner(old.partner_id), old.kind, old.name, old.scopes)
    await store.expire(tx, old, ends, new.id)
    return new, secret


async def revoke(tx: Tx, key_id: UUID) -> ApiKey:
    """Revoke an API key immediately. Raises NoSuchKey."""
    key = await get(tx, key_id)
    await store.revoke(tx, key, tx.real_now)
    return key
