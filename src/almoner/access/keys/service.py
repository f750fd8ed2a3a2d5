"""Making, finding, rotating and revoking keys. Keys live on real time: the sandbox clock does not age them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from almoner.access.keys import domain, store
from almoner.access.keys.domain import Key, Kind
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import EVERYONE, Partner, Tx


class NoSuchKey(LookupError):
    """There is no key with this id."""


def keyed_hash(vault: Vault, secret: str) -> bytes:
    """What is stored of a key (K2): 190 random bits need no slow hash, and a slow one would be a lever for denial."""
    return vault.keyed_hash("api-key", secret.encode())


async def create(
    tx: Tx, partner: Partner, kind: Kind, name: str, scopes: frozenset[str] = frozenset()
) -> tuple[Key, str]:
    """A new key and its secret, which is shown this once. Raises ValueError for scopes the kind cannot have."""
    secret = domain.generate(kind, sandbox=tx.deployment.sandbox)
    key = Key(
        tx.new_id(), partner.id, kind, name, secret[-4:], domain.scopes_for(kind, scopes), tx.wall, None, None, None
    )
    await store.insert(tx, key, keyed_hash(tx.vault, secret))
    return key, secret


async def find(tx: Tx, secret: str) -> Key | None:
    """The usable key behind a secret of this environment, or None."""
    if domain.kind_of(secret, sandbox=tx.deployment.sandbox) is None:
        return None
    key = await store.find_by_hash(tx, EVERYONE, keyed_hash(tx.vault, secret))
    return key if key and key.usable(tx.wall) else None


async def get(tx: Tx, key_id: UUID) -> Key:
    """One key. Raises NoSuchKey."""
    if (key := await store.find(tx, EVERYONE, key_id)) is None:
        raise NoSuchKey(tx.ids.text("apikey", key_id))
    return key


async def rotate(tx: Tx, key_id: UUID, overlap: timedelta = domain.DEFAULT_OVERLAP) -> tuple[Key, str]:
    """A successor at once; the old key works until the overlap ends (K4). Raises NoSuchKey, OverlapTooLong."""
    old = await get(tx, key_id)
    ends = domain.old_key_ends(tx.wall, overlap)
    new, secret = await create(tx, Partner(old.partner_id), old.kind, old.name, old.scopes)
    await store.end(tx, old, ends, new.id)
    return new, secret


async def revoke(tx: Tx, key_id: UUID) -> Key:
    """End a key now. Raises NoSuchKey."""
    key = await get(tx, key_id)
    await store.revoke(tx, key, tx.wall)
    return key


async def of_partner(tx: Tx, partner: Partner) -> list[Key]:
    """All keys of a partner, newest first."""
    return await store.of_partner(tx, partner)


async def note_use(tx: Tx, uses: Sequence[tuple[UUID, datetime, str, str]]) -> None:
    """Record last uses (K5): key, when, from which address, on which route."""
    await store.note_use(tx, uses)
