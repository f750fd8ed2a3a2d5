"""Comparing somebody with all watch lists that are loaded."""

import asyncio
from uuid import UUID

from almoner.platform.db import Tx
from almoner.screening.screenings.domain import Asked, Screened
from almoner.screening.screenings.indexing import Held, Lists, held
from almoner.screening.watchlists import service as watchlists


class Screener:
    """The lists of one process. Each use looks whether a list has another version, in one small statement."""

    def __init__(self) -> None:
        self._loads: dict[str, UUID] = {}
        self._held: dict[str, dict[str, tuple[bytes, Held | None]]] = {}
        self._lists = Lists((), ())
        self._renewing = asyncio.Lock()

    async def screen(self, tx: Tx, asked: Asked) -> Screened:
        """Who on the lists may be meant, and which lists were looked into."""
        lists = await self.lists(tx)
        return Screened(tuple(lists.hits(asked)), lists.versions)

    async def lists(self, tx: Tx) -> Lists:
        """The lists as they are loaded now."""
        if dict(await watchlists.current_loads(tx)) != self._loads:
            async with self._renewing:
                if dict(await watchlists.current_loads(tx)) != self._loads:
                    await self._renew(tx)
        return self._lists

    async def _renew(self, tx: Tx) -> None:
        versions = await watchlists.loaded(tx)
        for version in versions:
            if self._loads.get(version.code) == version.load.id:
                continue
            known, kept = self._held.get(version.code, {}), {}
            async for entry in watchlists.entries(tx, version.code):
                before = known.get(entry.listed.key)
                same = before is not None and before[0] == entry.content
                kept[entry.listed.key] = before if same and before else (entry.content, held(entry))
            self._held[version.code] = kept
        entries = [one for kept in self._held.values() for _, one in kept.values() if one is not None]
        self._lists = await asyncio.to_thread(Lists, entries, versions)
        self._loads = {version.code: version.load.id for version in versions}
