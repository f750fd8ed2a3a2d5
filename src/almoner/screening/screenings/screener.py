"""The watch lists of one process, reloaded in a thread when they change, outside the caller's transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

from almoner.platform.database.transactions import Database, Tx
from almoner.screening.screenings.indexing import IndexedEntry, ScreeningIndex, index_entry
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import WatchlistEntry, WatchlistVersion

Compared = TypeVar("Compared")
_IndexedEntries = dict[str, tuple[bytes, IndexedEntry | None]]


class WatchlistsOutdated(Exception):
    """The watch lists in memory are outdated and must be reloaded."""


class Screener:
    """The watch lists of one process. Each use checks for new versions with one small statement."""

    def __init__(self) -> None:
        self._loads: dict[str, UUID] = {}
        self._held: dict[str, _IndexedEntries] = {}
        self._lists = ScreeningIndex((), ())
        self._renewing = asyncio.Lock()

    async def run_with_watchlists(self, db: Database, work: Callable[[Tx], Awaitable[Compared]]) -> Compared:
        """Run ``work`` in a write transaction with current watch lists; reload outdated ones and run it again."""
        while True:
            try:
                async with db.write() as tx:
                    return await work(tx)
            except WatchlistsOutdated:
                await self.reload_index(db)

    async def current_index(self, tx: Tx) -> ScreeningIndex:
        """The current watch lists; they do not change until a write transaction ends.

        Raises WatchlistsOutdated.
        """
        if dict(await watchlists.lock_current_import_ids(tx)) != self._loads:
            raise WatchlistsOutdated
        return self._lists

    async def reload_index(self, db: Database) -> ScreeningIndex:
        """Reload the watch lists into memory, without holding a connection while indexing."""
        async with self._renewing:
            versions = await _load_versions(db)
            while {version.code: version.load.id for version in versions} != self._loads:
                for version in versions:
                    if self._loads.get(version.code) != version.load.id:
                        self._held[version.code] = await _read_entries(
                            db, version.code, self._held.get(version.code, {})
                        )
                now = await _load_versions(db)
                if now == versions:
                    self._held = {version.code: self._held[version.code] for version in versions}
                    stored = [one for of in self._held.values() for _, one in of.values() if one is not None]
                    self._lists = await asyncio.to_thread(ScreeningIndex, stored, versions)
                    self._loads = {version.code: version.load.id for version in versions}
                versions = now
            return self._lists


async def _load_versions(db: Database) -> list[WatchlistVersion]:
    async with db.read() as tx:
        return await watchlists.list_current_versions(tx)


async def _read_entries(db: Database, code: str, known: _IndexedEntries) -> _IndexedEntries:
    """Read and index the entries of a list; unchanged entries are reused from ``known``."""
    stored: _IndexedEntries = {}
    after = ""
    while True:
        async with db.read() as tx:
            batch = await watchlists.list_current_entries(tx, code, after)
        if not batch:
            return stored
        stored.update(await asyncio.to_thread(_index_batch, batch, known))
        after = batch[-1].listed.key


def _index_batch(batch: Sequence[WatchlistEntry], known: _IndexedEntries) -> _IndexedEntries:
    found: _IndexedEntries = {}
    for entry in batch:
        key = entry.listed.key
        content, indexed = known.get(key, (b"", None))
        if content != entry.content or (indexed is not None and indexed.since != entry.since):  # gone, and back again
            content, indexed = entry.content, index_entry(entry)
        found[key] = (content, indexed)
    return found
