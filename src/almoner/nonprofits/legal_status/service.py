"""How bodies stand by what all sources say of them now."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from almoner.nonprofits.legal_status import domain, store
from almoner.nonprofits.legal_status.domain import Heard, Overruling, Standing, Told
from almoner.nonprofits.legal_status.store import Source, Subject
from almoner.platform.database.transactions import EVERYONE, Tx

_BATCH: Final = 2_000
_FIRST: Final = UUID(int=0)


async def of(tx: Tx, registry_id: UUID, organisation_id: UUID) -> Standing | None:
    """How a body stands, with its reasons; None for one that no register lists."""
    sources = await store.sources(tx, EVERYONE, registry_id)
    subject = await store.find(tx, EVERYONE, organisation_id, [source.code for source in sources])
    if subject is None or subject.source is None:
        return None
    return await _judge(tx, registry_id, subject, sources, _told(subject, sources))


async def of_number(tx: Tx, registry_id: UUID, number_key: str) -> Heard:
    """What is said of a number, by whichever sources tell of it, and how it stands: also of one that none lists."""
    sources = await store.sources(tx, EVERYONE, registry_id)
    subject = await store.find_number(tx, EVERYONE, registry_id, number_key, [source.code for source in sources])
    told = _told(subject, sources)
    lister = told.get(subject.source or "") or next((told[source.code] for source in sources if source.lists), None)
    if not told.keys().isdisjoint(domain.US_SOURCES):
        told = {domain.BMF: Told(domain.BMF, None), **told}
        lister = told[domain.BMF]
    if lister is None:
        return Heard(told, None, Standing(()))
    return Heard(told, lister, await _judge(tx, registry_id, replace(subject, source=lister.source), sources, told))


async def _judge(
    tx: Tx, registry_id: UUID, subject: Subject, sources: Sequence[Source], told: Mapping[str, Told]
) -> Standing:
    """The standing of a subject whose source is known."""
    assert subject.source is not None, "the caller knows it"
    if subject.source != domain.BMF:
        return domain.of_listed(told[subject.source])
    codes = [source.code for source in sources]
    central = None
    if domain.is_subordinate(told[domain.BMF].first) and subject.group_key is not None:
        found = await store.find_central(tx, EVERYONE, registry_id, subject.group_key, codes)
        central = _told(found, sources) if found else None
    return domain.of_us_body(told, central)


async def judged(tx: Tx, registry_id: UUID) -> AsyncIterator[Mapping[UUID, Overruling | None]]:
    """What overrules the listing of bodies, batch by batch: of those of which it is not known yet.

    None where nothing does any more. The central body of a group does not bear on it and is not asked.
    """
    sources = await store.sources(tx, EVERYONE, registry_id)
    codes = [source.code for source in sources]
    if not set(codes) & set(store.OVERRULING):
        return
    after = _FIRST
    while subjects := await store.doubtful(tx, EVERYONE, registry_id, codes, after, _BATCH):
        after = subjects[-1].id
        found = [(subject, domain.of_us_body(_told(subject, sources)).status_override) for subject in subjects]
        yield {subject.id: overruled for subject, overruled in found if overruled != subject.status_override}


def _told(subject: Subject, sources: Sequence[Source]) -> dict[str, Told]:
    """What each source says; one that is loaded and has no entry says that it does not list the number."""
    entries = {entry["source"]: entry for entry in subject.entries}
    return {source.code: _said(source, entries.get(source.code), subject) for source in sources}


def _said(source: Source, entry: Mapping[str, Any] | None, subject: Subject) -> Told:
    if entry is None:
        dated = subject.data_as_of if source.code == subject.source else source.data_as_of
        return Told(source.code, dated, unverified=source.unverified)
    record, written = entry["record"], entry["data_as_of"]
    dated = datetime.fromisoformat(written) if written else source.data_as_of
    return Told(source.code, dated, _rows(record), record.get("active", True), source.unverified)


def _rows(record: Mapping[str, Any]) -> tuple[Mapping[str, object], ...]:
    found = []
    for row in domain.rows_of(record):
        facts = row.get("facts", row)
        found.append(facts if isinstance(facts, Mapping) else {})
    return tuple(found)
