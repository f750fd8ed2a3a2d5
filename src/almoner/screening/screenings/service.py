"""Comparing somebody with all watch lists that are loaded, and keeping what came of it.

What a person decided of a match holds until one of the two changes in something that mattered. When a list has another
version, only those are compared again whom the update could change.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Literal
from uuid import UUID

from almoner.platform import outbox
from almoner.platform.db import EVERYONE, Tx
from almoner.screening.screenings import store
from almoner.screening.screenings.domain import (
    CHANGED,
    COMPARED,
    Asked,
    Match,
    Result,
    Screened,
    ScreeningChanged,
    Stored,
    Who,
    differences,
)
from almoner.screening.screenings.indexing import Held, Lists, held
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import Told

_AT_ONCE: Final = 500


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
        """The lists as they are loaded now; in a writing transaction they stay so until it ends."""
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


async def look(tx: Tx, screener: Screener, who: Who, asked: Asked, *, watch: bool) -> Result:
    """Compare a record with all lists and keep what came of it. ``watch``: and again when a list changes."""
    lists = await screener.lists(tx)
    stored = await store.keep(tx, EVERYONE, who, asked, watch=watch)
    return await _compare(tx, lists, stored)


async def look_again(tx: Tx, screener: Screener, subject: UUID) -> Result | None:
    """Compare a watched subject as it looked last; None where it is watched no more."""
    lists = await screener.lists(tx)
    stored = await store.lock_by_id(tx, EVERYONE, subject)
    return await _compare(tx, lists, stored) if stored is not None and stored.watched else None


async def result(tx: Tx, who: Who) -> Result:
    """What is known of a record now, without comparing it."""
    return Result(await watchlists.loaded(tx), await store.of(tx, EVERYONE, who.type, who.id))


async def find(tx: Tx, match_id: UUID) -> Match | None:
    """One match."""
    return await store.find(tx, EVERYONE, match_id)


async def hold(tx: Tx, match_id: UUID) -> Match | None:
    """One match, its subject locked until the transaction ends; None where there is none, or it is forgotten."""
    match = await store.find(tx, EVERYONE, match_id)
    if match is None or await store.lock_by_id(tx, EVERYONE, match.subject) is None:
        return None
    return await store.find(tx, EVERYONE, match_id)


async def subject_of(tx: Tx, match: Match) -> Stored:
    """Who was compared."""
    stored = await store.find_subject(tx, EVERYONE, match.subject)
    assert stored is not None, "a match has a subject"
    return stored


async def decide(tx: Tx, match: Match, decision: Literal["confirmed", "cleared"]) -> bool:
    """Keep what a person decided of a match that is held; False where there is nothing to decide any more."""
    if not await store.decide(tx, EVERYONE, match.id, decision):
        return False
    await outbox.emit(tx, None, CHANGED, ScreeningChanged(match.who.type, match.who.id, decided=True))
    return True


async def lock(tx: Tx, who: Who) -> None:
    """Hold what is known of a record until the transaction ends: whoever has it compared waits."""
    await store.lock(tx, EVERYONE, who.type, who.id)


async def unwatch(tx: Tx, who: Who) -> list[Match]:
    """Compare a record no longer when a list changes; the matches that were open until now.

    What was decided stays. What is open is found again by whoever has the record compared anew.
    """
    stored = await store.lock(tx, EVERYONE, who.type, who.id)
    if stored is None:
        return []
    await store.unwatch(tx, EVERYONE, stored.id)
    were = [match for match in await store.matches(tx, EVERYONE, stored.id) if _waits(match)]
    for match in were:
        await store.end(tx, EVERYONE, match.id)
    return were


async def forget(tx: Tx, who: Who) -> list[Match]:
    """Forget who was compared, and why it matched; the matches that were open until now."""
    stored = await store.lock(tx, EVERYONE, who.type, who.id)
    if stored is None:
        return []
    were = [match for match in await store.matches(tx, EVERYONE, stored.id) if _waits(match)]
    await store.forget(tx, EVERYONE, stored.id)
    return were


async def affected(tx: Tx, load_id: UUID) -> list[UUID]:
    """Watched subjects that match what a load ended or changed."""
    changes = await watchlists.changes(tx, load_id)
    gone = [*changes.removed, *(before for before, _ in changes.changed)]
    if not gone:
        return []
    return await store.matching(tx, EVERYONE, gone[0].list, [entry.listed.key for entry in gone])


async def brought(tx: Tx, load_id: UUID) -> Lists:
    """What a load brought or changed, to compare with."""
    changes = await watchlists.changes(tx, load_id)
    fresh = (held(entry) for entry in (*changes.added, *(after for _, after in changes.changed)))
    versions = [version for version in await watchlists.loaded(tx) if version.load.list == changes.list]
    return Lists([one for one in fresh if one is not None], versions)


async def touched(tx: Tx, lists: Lists, after: UUID) -> tuple[list[UUID], UUID | None]:
    """Of the next watched subjects those who match one of these lists, and the last one that was looked at, if any."""
    batch = await store.watched(tx, EVERYONE, after, _AT_ONCE)
    found = await asyncio.to_thread(lambda: [one.id for one in batch if lists.hits(one.asked)])
    return found, batch[-1].id if batch else None


async def covers_anew(tx: Tx, load_id: UUID) -> bool:
    """Whether the list covers other categories since this load: then every result may have changed."""
    return await watchlists.covers_anew(tx, load_id)


async def tell_compared(tx: Tx, load_id: UUID) -> None:
    """Tell that all who are watched were compared with what a load brought."""
    changes = await watchlists.changes(tx, load_id)
    await outbox.emit(tx, None, COMPARED, Told(changes.list, load_id))


async def tell(tx: Tx, after: UUID, last: UUID) -> None:
    """Tell that the results of these watched subjects may have changed."""
    for one in await store.watched_up_to(tx, EVERYONE, after, last):
        await outbox.emit(tx, None, CHANGED, ScreeningChanged(one.who.type, one.who.id))


async def _compare(tx: Tx, lists: Lists, stored: Stored) -> Result:
    hits = {(hit.list, hit.entry_key): hit for hit in lists.hits(stored.asked)}
    before = {(match.list, match.entry_key): match for match in await store.matches(tx, EVERYONE, stored.id)}
    opened: list[tuple[str, str]] = []
    moved = False
    for key, hit in hits.items():
        match = before.get(key)
        if match is None:
            await store.insert(tx, EVERYONE, stored.id, hit)
            opened.append(key)
            continue
        told = tuple(differences((match.subject_side, match.entry_side), (hit.subject_side, hit.entry_side)))
        again = bool(told) and match.decision != "open"
        difference = told if again else match.difference
        if told or not match.current or match.since != hit.since:
            await store.update(tx, EVERYONE, match.id, hit, "open" if again else match.decision, difference)
            moved = moved or bool(told) or not match.current
        if again or (match.decision == "open" and not match.current):
            opened.append(key)
    gone = [match for key, match in before.items() if match.current and key not in hits]
    for match in gone:
        await store.end(tx, EVERYONE, match.id)
    changed = bool(opened or gone) or moved
    if changed:
        await outbox.emit(tx, None, CHANGED, ScreeningChanged(stored.who.type, stored.who.id))
    matches = [match for match in await store.matches(tx, EVERYONE, stored.id) if match.current]
    return Result(
        lists.versions,
        matches,
        opened=_named(matches, opened),
        ended=[match for match in gone if match.decision == "open"],
        changed=changed,
    )


def _named(matches: Sequence[Match], keys: Sequence[tuple[str, str]]) -> list[Match]:
    return [match for match in matches if (match.list, match.entry_key) in keys]


def _waits(match: Match) -> bool:
    return match.current and match.decision == "open"
