"""What other parts ask of watch lists."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.observability.telemetry import Telemetry
from almoner.screening.watchlists import store
from almoner.screening.watchlists.domain import Changes, Entry, Load, Version

_AT_ONCE: Final = 2_000


async def loaded(tx: Tx) -> list[Version]:
    """Which lists are loaded, and in which version."""
    return await store.versions(tx, EVERYONE)


async def current_loads(tx: Tx) -> Mapping[str, UUID]:
    """Which load of each list is current: cheap, to see whether one has changed."""
    return await store.current_loads(tx, EVERYONE)


async def entries(tx: Tx, code: str, after: str) -> list[Entry]:
    """What a list says now, the next ones after a key in the order of keys."""
    return await store.current(tx, EVERYONE, code, after, _AT_ONCE)


async def named(tx: Tx, code: str, keys: Sequence[str]) -> list[Entry]:
    """What a list says now under these of its keys."""
    return await store.named(tx, EVERYONE, code, keys)


async def changes(tx: Tx, load_id: UUID) -> Changes:
    """What a load changed. Raises NotFound."""
    of = await load(tx, load_id)
    came = {one.listed.key: one for one in await store.since(tx, EVERYONE, load_id)}
    ended = {one.listed.key: one for one in await store.until(tx, EVERYONE, load_id)}
    return Changes(
        list=of.list,
        added=[one for key, one in came.items() if key not in ended],
        removed=[one for key, one in ended.items() if key not in came],
        changed=[(ended[key], one) for key, one in came.items() if key in ended],
    )


async def covers_anew(tx: Tx, load_id: UUID) -> bool:
    """Whether a load covers other categories than the one before it."""
    return await store.covers_anew(tx, EVERYONE, load_id)


async def loads(tx: Tx, code: str | None, limit: int) -> list[Load]:
    """The newest loads of a list or of all, newest first; also those that were refused."""
    return await store.loads(tx, EVERYONE, code, limit)


async def load(tx: Tx, load_id: UUID) -> Load:
    """One load. Raises NotFound."""
    found = await store.find_load(tx, EVERYONE, load_id)
    if found is None:
        raise NotFound
    return found


async def measure(tx: Tx, telemetry: Telemetry) -> None:
    """How old each list is, and what became of its loads."""
    for version in await store.versions(tx, EVERYONE):
        told = version.load.published_at or version.load.retrieved_at
        telemetry.watchlists.age.labels(version.code).set(max(0.0, (tx.now - told).total_seconds()))
        telemetry.watchlists.entries.labels(version.code).set(version.load.entries)
    for code, status, count in await store.figures(tx, EVERYONE):
        telemetry.watchlists.loads.set((code, status), count)


async def refused(tx: Tx) -> list[Load]:
    """What was refused since the last good load of its list."""
    return await store.refused(tx, EVERYONE)
