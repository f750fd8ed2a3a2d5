"""The watchlists of one process, reloaded in a thread when they change, outside the caller's transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from almoner.platform.database.transactions import Database, Tx
from almoner.screening.screenings.indexing import IndexedEntry, ScreeningIndex, index_entry
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import WatchlistEntry, WatchlistVersion

Returned = TypeVar("Returned")


class WatchlistsOutdated(Exception):
    """The watchlists in memory are outdated and must be reloaded."""


class Screener:
    """The watchlists of one process. Each use checks for new versions with one small statement."""

    def __init__(self) -> None:
        self._loads: dict[str, UUID] = {}
        self._lists = ScreeningIndex((), ())
        self._renewing = asyncio.Lock()

    async def run_with_current_watchlists(
        self, db: Database, run_in_transaction: Callable[[Tx], Awaitable[Returned]]
    ) -> Returned:
        """Call ``run_in_transaction`` with current watchlists in a transaction; reload outdated ones and repeat."""
        while True:
            try:
                async with db.write() as tx:
                    return await run_in_transaction(tx)
            except WatchlistsOutdated:
                await self.reload_index(db)

    async def lock_and_get_current_index(self, tx: Tx) -> ScreeningIndex:
        """The current watchlists; they do not change until a write transaction ends.

        Raises WatchlistsOutdated.
        """
        if dict(await watchlists.lock_current_import_ids(tx)) != self._loads:
            raise WatchlistsOutdated
        return self._lists

    async def reload_index(self, db: Database) -> ScreeningIndex:
        """Reload the watchlists into memory, without holding a connection while indexing."""
        async with self._renewing:
            versions, loads = await _load_versions(db), self._loads
            held = _group_by_list(self._lists.entries)
            while {version.code: version.load.id for version in versions} != self._loads:
                for version in versions:
                    if loads.get(version.code) != version.load.id:
                        held[version.code] = await _read_entries(db, version.code, held.get(version.code, ()))
                loads = {version.code: version.load.id for version in versions}
                now = await _load_versions(db)
                if now == versions:
                    stored = [one for code in loads for one in held.get(code, ())]
                    self._lists = await asyncio.to_thread(ScreeningIndex, stored, versions)
                    self._loads = loads
                versions = now
            return self._lists


async def _load_versions(db: Database) -> list[WatchlistVersion]:
    async with db.read() as tx:
        return await watchlists.list_current_versions(tx)


def _group_by_list(entries: Iterable[IndexedEntry]) -> dict[str, list[IndexedEntry]]:
    found: dict[str, list[IndexedEntry]] = {}
    for one in entries:
        found.setdefault(one.origin.list, []).append(one)
    return found


async def _read_entries(db: Database, code: str, known: Iterable[IndexedEntry]) -> list[IndexedEntry]:
    """Read and index the entries of a list; unchanged entries are reused from ``known``."""
    by_key = {one.key: one for one in known}
    stored: list[IndexedEntry] = []
    after = ""
    while True:
        async with db.read() as tx:
            batch = await watchlists.list_current_entries(tx, code, after)
        if not batch:
            return stored
        stored += await asyncio.to_thread(_index_batch, batch, by_key)
        after = batch[-1].listed.key


def _index_batch(batch: Sequence[WatchlistEntry], known: Mapping[str, IndexedEntry]) -> list[IndexedEntry]:
    """Index entries; an entry that the same import added or changed is the same."""
    found = []
    for entry in batch:
        indexed = known.get(entry.listed.key)
        if indexed is None or indexed.origin.changed_by_import_id != entry.changed_by_import_id:
            indexed = index_entry(entry)
        if indexed is not None:
            found.append(indexed)
    return found
