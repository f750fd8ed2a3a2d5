"""Small public images in the database: written and backed up with the record that shows them, served by random key."""

import os
from uuid import UUID

from almoner.kit.ids import encode_uuid
from almoner.platform.database.transactions import AllPartners, Tx
from almoner.platform.deployment import BaseUrls


async def insert(tx: Tx, content: bytes, media_type: str) -> str:
    """Store an image; the answer is its key."""
    key = encode_uuid(UUID(bytes=os.urandom(16)))
    await tx.execute(
        "insert into media (key, media_type, content, created_at) values ($1, $2, $3, $4)",
        key,
        media_type,
        content,
        tx.now,
    )
    return key


async def find(tx: Tx, _scope: AllPartners, key: str) -> tuple[str, bytes] | None:
    """(media type, content) of an image."""
    row = await tx.fetchrow("select media_type, content from media where key = $1", key)
    return (row["media_type"], row["content"]) if row else None


async def delete(tx: Tx, key: str) -> None:
    """Remove an image that nothing shows any more."""
    await tx.execute("delete from media where key = $1", key)


def media_url(links: BaseUrls, key: str | None) -> str | None:
    """Where the image is served, or None without one."""
    return None if key is None else f"{links.pages}/media/{key}"
