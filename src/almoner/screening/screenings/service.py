"""Comparing somebody with all watch lists that are loaded, and keeping what came of it.

What a person decided of a match holds until one of the two changes in something that mattered. When a list has another
version, only those are compared again whom the update could change.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, Literal
from uuid import UUID

from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.events import outbox
from almoner.screening.matching.service import ENGINE, FLAGGED
from almoner.screening.screenings import store
from almoner.screening.screenings.domain import (
    CHANGED,
    COMPARED,
    UNWATCHED,
    Asked,
    Hit,
    Match,
    Result,
    ScreenedSubject,
    ScreeningChanged,
    Stored,
)
from almoner.screening.screenings.indexing import Lists, held
from almoner.screening.screenings.screener import Screener as Screener
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import Told

AT_ONCE: Final = 500


async def screen(tx: Tx, screener: Screener, who: ScreenedSubject, asked: Asked, *, watch: bool) -> Result:
    """Compare a record with all lists and keep what came of it. ``watch``: and again when a list changes.

    If another version of the engine compared it last, it is compared first as it looked then: what people decided is
    told apart from what the record has changed in.
    """
    lists = await screener.lists(tx)
    known = await store.lock(tx, EVERYONE, who.type, who.id)
    before = await _compare(tx, lists, known) if known is not None and known.engine_version != ENGINE else None
    now = await _compare(tx, lists, await store.save_subject(tx, EVERYONE, who, asked, ENGINE, watch=watch))
    return now if before is None else now.after(before)


async def rescreen(tx: Tx, screener: Screener, subject: UUID) -> Result | None:
    """Compare a watched subject as it looked last; None where it is watched no more."""
    lists = await screener.lists(tx)
    stored = await store.lock_by_id(tx, EVERYONE, subject)
    return await _compare(tx, lists, stored) if stored is not None and stored.monitored else None


async def result(tx: Tx, who: ScreenedSubject) -> Result:
    """What is known of a record now, without comparing it."""
    return Result(who.kind, await watchlists.loaded(tx), await store.of(tx, EVERYONE, who.type, who.id))


async def decided(tx: Tx, who: ScreenedSubject) -> list[Match]:
    """What people decided of a record, also where the two agree no more."""
    return await store.decided_of(tx, EVERYONE, who.type, who.id)


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
    """ScreenedSubject was compared."""
    stored = await store.find_subject(tx, EVERYONE, match.subject)
    assert stored is not None, "a match has a subject"
    return stored


async def decide(tx: Tx, match: Match, decision: Literal["confirmed", "cleared"]) -> bool:
    """Keep what a person decided of a match that is held; False where there is nothing to decide any more."""
    if not await store.decide(tx, EVERYONE, match.id, decision, current=decision == "confirmed" or _agree(match)):
        return False
    await outbox.emit(tx, None, CHANGED, ScreeningChanged(match.who.type, match.who.id, decided=True))
    return True


def _agree(match: Match) -> bool:
    """Whether the two would be found by what is known of them, and not by what a person said alone."""
    return match.current and match.score >= FLAGGED


async def lock(tx: Tx, who: ScreenedSubject) -> None:
    """Hold what is known of a record until the transaction ends: whoever has it compared waits."""
    await store.lock(tx, EVERYONE, who.type, who.id)


async def reopen(tx: Tx, match: Match) -> bool:
    """Take back what was decided of a match that is held; False where nothing was."""
    if not await store.reopen(tx, EVERYONE, match.id, current=_agree(match)):
        return False
    await outbox.emit(tx, None, CHANGED, ScreeningChanged(match.who.type, match.who.id, decided=True))
    return True


async def unwatch(tx: Tx, who: ScreenedSubject) -> list[Match]:
    """Compare a record no longer when a list changes; the matches that waited until now.

    What was decided stays. What is open is found again by whoever has the record compared anew.
    """
    stored = await store.lock(tx, EVERYONE, who.type, who.id)
    if stored is None:
        return []
    await store.unwatch(tx, EVERYONE, stored.id)
    were = [match for match in await store.matches(tx, EVERYONE, stored.id) if match.awaiting_review]
    for match in were:
        await store.update(tx, EVERYONE, match.left_alone())
    if stored.monitored and who.type == "organisation":
        await outbox.emit(tx, None, UNWATCHED, ScreeningChanged(who.type, who.id))
    return were


async def delete_subject(tx: Tx, who: ScreenedSubject) -> list[Match]:
    """Forget who was compared, and why it matched; the matches that were open until now."""
    stored = await store.lock(tx, EVERYONE, who.type, who.id)
    if stored is None:
        return []
    were = [match for match in await store.matches(tx, EVERYONE, stored.id) if match.awaiting_review]
    await store.forget(tx, EVERYONE, stored.id)
    return were


async def affected(tx: Tx, load_id: UUID, after: UUID | None = None, limit: int | None = None) -> list[UUID]:
    """Watched subjects that match what a load ended or changed, after one, in the order of their ids; None: all."""
    changes = await watchlists.changes(tx, load_id)
    gone = [*changes.removed, *(before for before, _ in changes.changed)]
    if not gone:
        return []
    keys = [entry.listed.key for entry in gone]
    return await store.matching(tx, EVERYONE, gone[0].list, keys, after, limit)


async def brought(tx: Tx, load_id: UUID) -> Lists:
    """What a load brought or changed, to compare with."""
    changes = await watchlists.changes(tx, load_id)
    fresh = (held(entry) for entry in (*changes.added, *(after for _, after in changes.changed)))
    versions = [version for version in await watchlists.loaded(tx) if version.load.list == changes.list]
    return Lists([one for one in fresh if one is not None], versions)


async def touched(tx: Tx, lists: Lists, after: UUID) -> tuple[list[UUID], UUID | None]:
    """Of the next watched subjects those who match one of these lists, and the last one that was looked at, if any."""
    batch = await store.monitored(tx, EVERYONE, after, AT_ONCE)
    found = await asyncio.to_thread(lambda: [one.id for one in batch if lists.hits(one.asked)])
    return found, batch[-1].id if batch else None


async def outdated(tx: Tx, after: UUID, limit: int) -> list[UUID]:
    """The next watched subjects after one that an older version of the engine compared."""
    return await store.outdated(tx, EVERYONE, ENGINE, after, limit)


async def any_outdated(tx: Tx) -> bool:
    """Whether there is one."""
    return await store.any_outdated(tx, EVERYONE, ENGINE)


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
    before = await store.matches(tx, EVERYONE, stored.id)
    hits = {(hit.list, hit.entry_key): hit for hit in lists.hits(stored.asked)}
    found = {(match.list, match.entry_key): _as_now(match, lists, stored, hits) for match in before}
    changed = False
    for match in before:
        now = found[match.list, match.entry_key]
        if now != match:
            await store.update(tx, EVERYONE, now)
        changed = changed or not now.says_as(match)
    for hit in (hit for key, hit in hits.items() if key not in found):
        await store.insert(tx, EVERYONE, stored.id, hit)
        changed = True
    if stored.engine_version != ENGINE:
        await store.set_engine_version(tx, EVERYONE, stored.id, ENGINE)
    if changed:
        await outbox.emit(tx, None, CHANGED, ScreeningChanged(stored.who.type, stored.who.id))
    waited = {match.id for match in before if match.awaiting_review}
    matches = await store.matches(tx, EVERYONE, stored.id)
    return Result(
        stored.who.kind,
        lists.versions,
        [match for match in matches if match.current],
        opened=[match for match in matches if match.awaiting_review and match.id not in waited],
        ended=[match for match in matches if match.id in waited and not match.awaiting_review],
        changed=changed,
    )


def _as_now(match: Match, lists: Lists, stored: Stored, hits: Mapping[tuple[str, str], Hit]) -> Match:
    """What becomes of a match that is known.

    Who was confirmed to be the one of an entry stays it for as long as the entry is listed, however little the two look
    alike by now.
    """
    hit = hits.get((match.list, match.entry_key))
    if hit is None and match.current and match.decision == "confirmed":
        hit = lists.against(stored.asked, match.list, match.entry_key)
    if hit is not None:
        return match.met(hit) if stored.engine_version == ENGINE else match.read_anew(hit)
    return match.ended() if match.current else match
