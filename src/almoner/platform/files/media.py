"""Small public images stored in the database and served under random keys."""

import os
from typing import NamedTuple
from uuid import UUID

from almoner.kit.ids import encode_uuid
from almoner.platform.database.transactions import AllPartners, Tx
from almoner.platform.deployment import BaseUrls


class StoredImage(NamedTuple):
    """A stored image as it is served."""

    media_type: str
    content: bytes


async def insert_image(tx: Tx, content: bytes, media_type: str) -> str:
    """Store an image; returns its key."""
    key = encode_uuid(UUID(bytes=os.urandom(16)))
    await tx.execute(
        "insert into media (key, media_type, content, created_at) values ($1, $2, $3, $4)",
        key,
        media_type,
        content,
        tx.now,
    )
    return key


async def find_image(tx: Tx, _scope: AllPartners, key: str) -> StoredImage | None:
    """An image; None if there is none."""
    row = await tx.fetchrow("select media_type, content from media where key = $1", key)
    return StoredImage(row["media_type"], row["content"]) if row else None


async def delete_image(tx: Tx, key: str) -> None:
    """Delete an image that is no longer shown."""
    await tx.execute("delete from media where key = $1", key)


def media_url(base_urls: BaseUrls, key: str | None) -> str | None:
    """The URL of an image; None without a key."""
    return None if key is None else f"{base_urls.pages}/media/{key}"
