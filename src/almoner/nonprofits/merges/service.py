"""What a load has to do with links: which it brings, and what follows from all of them in organisations."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.nonprofits.legal_status import service as standing
from almoner.nonprofits.merges import domain, store
from almoner.nonprofits.merges.domain import Ending
from almoner.nonprofits.merges.store import Row, StatusOverride, Told
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.registers.domain import CHANGED, Link, RegisterChanged
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.events import outbox

_ENDINGS: Final[tuple[Ending, ...]] = ("merged", "reregistered")


async def take(
    tx: Tx, source: str, load_id: UUID, day: datetime, links: Sequence[Link], silent: Collection[str]
) -> None:
    """What the files of a load say of links replaces what its source said before, part by part.

    ``silent``: parts of which the load says all, even when it names no link. Of others without any, the links stay as
    they are: the table that tells of them was not among its files. Links of what is no number, or of a number with
    itself, are left out.
    """
    parts = {*silent, *(link.part for link in links)}
    if not parts:
        return
    ids = {registry.code: registry.id for registry in await registries.every(tx)}
    rows = []
    for link in links:
        one, other = _key(link.registry_code, link.number), _key(link.to_registry_code, link.to_number)
        of, to = ids.get(link.registry_code), ids.get(link.to_registry_code)
        if one and other and of and to and (of, one) != (to, other):
            rows.append(Row(link.part, link.kind, of, one, to, other, link.at))
    await store.replace(tx, EVERYONE, source, load_id, day, sorted(parts), rows)


def _key(registry_code: str, number: str) -> str | None:
    return registries_domain.kept_key(registry_code, number)


async def ambiguous(tx: Tx, source: str) -> int:
    """How many links of a source are kept and join nothing, since they or others contradict them."""
    return await store.count_ambiguous(tx, EVERYONE, source)


async def take_back(tx: Tx, load_id: UUID, by_load_id: UUID) -> None:
    """Undo what a load did to links; ``by_load_id`` is the load that undoes it."""
    await store.take_back(tx, EVERYONE, load_id, by_load_id)


async def settle(tx: Tx, registry_id: UUID, load_id: UUID, day: datetime) -> None:
    """Bring organisations in line with what all sources say, after a load merged its own.

    Successors and standing say who is active; branches and the records that answer for others follow from that. What
    changes is told in the history of the load, and its followers hear of it.
    """
    await store.lock(tx, EVERYONE)
    await store.plan(tx, EVERYONE, few=True)
    await _succeed(tx, load_id, day)
    async for judged in standing.judged(tx, registry_id):
        known = await store.status_overrides(tx, EVERYONE, list(judged)) if judged else []
        changed = [
            (row, replace(row, status_override=judged[row.id], active=row.listed and judged[row.id] is None))
            for row in known
            if row.succeeded_by is None
        ]
        await _overrule(tx, load_id, day, changed)
    await store.plan(tx, EVERYONE, few=False)
    await store.join_branches(tx, EVERYONE, registry_id, load_id, day)
    await store.plan(tx, EVERYONE, few=True)
    await _join(tx, load_id, day)
    await organisations.tell(tx, load_id)
    await outbox.emit(tx, None, CHANGED, RegisterChanged(registry_id, load_id))


async def _succeed(tx: Tx, load_id: UUID, day: datetime) -> None:
    found = domain.successors(await store.steps(tx, EVERYONE))
    known = await store.overridden_by(tx, EVERYONE, _ENDINGS, list(found))
    changed = []
    for row in known:
        successor = found.get(row.id)
        if successor is not None:
            new = replace(row, status_override=successor.kind, succeeded_by=successor.organisation_id, active=False)
        else:
            new = replace(row, status_override=None, succeeded_by=None, active=row.listed)
        changed.append((row, new))
    await _overrule(tx, load_id, day, changed)


async def _overrule(
    tx: Tx, load_id: UUID, day: datetime, rows: Iterable[tuple[StatusOverride, StatusOverride]]
) -> None:
    changed = [(before, after) for before, after in rows if before != after]
    if not changed:
        return
    await store.set_status_overrides(tx, EVERYONE, [after for _, after in changed])
    told = []
    for before, after in changed:
        kind = after.status_override or _undone(before)
        for field in ("active", "status_override", "succeeded_by"):
            one, other = getattr(before, field), getattr(after, field)
            if one != other:
                told.append(Told(before.id, field, one, other, kind))
    await store.tell(tx, EVERYONE, load_id, day, told)


def _undone(before: StatusOverride) -> str:
    return "parted" if before.status_override in _ENDINGS else "reinstated"


async def _join(tx: Tx, load_id: UUID, day: datetime) -> None:
    pairs = await store.pairs(tx, EVERYONE)
    known: Mapping[UUID, UUID] = await store.same(tx, EVERYONE)
    bodies = await store.bodies(tx, EVERYONE, list({member for pair in pairs for member in pair})) if pairs else {}
    found = domain.principals(pairs, bodies)
    changed = [(one, found.get(one)) for one in sorted(known.keys() | found.keys()) if known.get(one) != found.get(one)]
    if not changed:
        return
    await store.set_same(tx, EVERYONE, changed, day)
    told = [
        Told(one, "same_as", known.get(one), principal, "joined" if principal else "parted")
        for one, principal in changed
    ]
    await store.tell(tx, EVERYONE, load_id, day, told)
    for left in sorted({known[one] for one, _ in changed if one in known}):
        await organisations.tell_shown(tx, left)  # nothing of its own row changed, but it answers for fewer
