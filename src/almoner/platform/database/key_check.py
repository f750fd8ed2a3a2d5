"""Checks that the process has the master key with which the database was written.

With a wrong key, the service would start and reject every API key. So the first process stores a keyed hash, which
reveals nothing of the key, and all others compare it.
"""

import hmac
from typing import Final

from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Database

_PURPOSE: Final = "master key check"
_DATA: Final = b"almoner"


class WrongMasterKey(Exception):
    """The database was written with another master key; the message says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "ALMONER_MASTER_KEY is not the key that this database was written with: set the key that was kept with "
            "its backup. With another one, no API key, link or stored secret would work."
        )


def master_key_check_value(vault: Vault) -> bytes:
    """The keyed hash of a fixed text, which identifies the master key."""
    return vault.compute_keyed_hash(_PURPOSE, _DATA)


async def ensure_master_key(db: Database) -> None:
    """Compare the key with the stored check value, or store it the first time. Raises WrongMasterKey."""
    mine = master_key_check_value(db.deployment.vault)
    async with db.read() as tx:
        stored = await tx.fetchval("select value from master_key_check")
    if stored is None:
        async with db.write() as tx:
            await tx.execute("insert into master_key_check (value) values ($1) on conflict do nothing", mine)
            stored = await tx.fetchval("select value from master_key_check")
    if not hmac.compare_digest(stored, mine):
        raise WrongMasterKey
