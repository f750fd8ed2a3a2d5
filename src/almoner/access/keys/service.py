"""Making, finding, rotating and revoking keys. Keys live on real time: the sandbox clock does not age them."""

from datetime import timedelta
from uuid import UUID

from almoner.access.keys import domain, store
from almoner.access.keys.domain import ApiKey, Kind
from almoner.access.keys.store import list_of_partner as list_of_partner
from almoner.access.keys.store import record_uses as record_uses
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Partner, Tx


class NoSuchKey(LookupError):
    """There is no key with this id."""


def secret_hash(vault: Vault, secret: str) -> bytes:
    """What is stored of a key (K2): 190 random bits need no slow hash, and a slow one would be a lever for denial."""
    return vault.keyed_hash("api-key", secret.encode())


async def create(
    tx: Tx, partner: Partner, kind: Kind, name: str, scopes: frozenset[str] = frozenset()
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is shown this once. Raises ValueError for scopes the kind cannot have."""
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
    """The usable key behind a secret of this environment, or None."""
    if domain.kind_of_secret(secret, sandbox=tx.deployment.sandbox) is None:
        return None
    key = await store.find_by_hash(tx, secret_hash(tx.vault, secret))
    return key if key and key.is_usable(tx.real_now) else None


async def get(tx: Tx, key_id: UUID) -> ApiKey:
    """One key. Raises NoSuchKey."""
    if (key := await store.find(tx, key_id)) is None:
        raise NoSuchKey(tx.ids.text("apikey", key_id))
    return key


async def rotate(tx: Tx, key_id: UUID, overlap: timedelta = domain.DEFAULT_OVERLAP) -> tuple[ApiKey, str]:
    """A successor at once; the old key works until the overlap ends (K4). Raises NoSuchKey, OverlapTooLong."""
    old = await get(tx, key_id)
    ends = domain.overlap_end(tx.real_now, overlap)
    new, secret = await create(tx, Partner(old.partner_id), old.kind, old.name, old.scopes)
    await store.expire(tx, old, ends, new.id)
    return new, secret


async def revoke(tx: Tx, key_id: UUID) -> ApiKey:
    """End a key now. Raises NoSuchKey."""
    key = await get(tx, key_id)
    await store.revoke(tx, key, tx.real_now)
    return key
