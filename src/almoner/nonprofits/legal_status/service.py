"""Determines organisations' legal status from all sources."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from almoner.nonprofits.legal_status import domain, store
from almoner.nonprofits.legal_status.domain import LegalStatus, OverrideReason, RegistryNumberStatus, SourceReport
from almoner.nonprofits.legal_status.store import LegalStatusSource, OrganisationEntries
from almoner.platform.database.transactions import Tx

_BATCH: Final = 2_000
_FIRST: Final = UUID(int=0)


async def find_status_of_organisation(tx: Tx, registry_id: UUID, organisation_id: UUID) -> LegalStatus | None:
    """The legal status of an organisation; None if no register lists it."""
    sources = await store.list_sources(tx, registry_id)
    subject = await store.find_organisation_entries(tx, organisation_id, [source.code for source in sources])
    if subject is None or subject.source is None:
        return None
    return await _evaluate(tx, registry_id, subject, sources, _reports_of(subject, sources))


async def load_status_of_registry_number(tx: Tx, registry_id: UUID, number_key: str) -> RegistryNumberStatus:
    """The legal status of a registration number, listed or not."""
    sources = await store.list_sources(tx, registry_id)
    subject = await store.get_organisation_entries_by_number(
        tx, registry_id, number_key, [source.code for source in sources]
    )
    reported = _reports_of(subject, sources)
    lister = reported.get(subject.source or "") or next(
        (reported[source.code] for source in sources if source.lists_organisations), None
    )
    if not reported.keys().isdisjoint(domain.US_SOURCES):
        reported = {domain.BMF: SourceReport(domain.BMF, None), **reported}
        lister = reported[domain.BMF]
    if lister is None:
        return RegistryNumberStatus(reported, None, LegalStatus(()))
    return RegistryNumberStatus(
        reported, lister, await _evaluate(tx, registry_id, replace(subject, source=lister.source), sources, reported)
    )


async def _evaluate(
    tx: Tx,
    registry_id: UUID,
    subject: OrganisationEntries,
    sources: Sequence[LegalStatusSource],
    reported: Mapping[str, SourceReport],
) -> LegalStatus:
    """The legal status of a subject whose sources are known."""
    assert subject.source is not None, "the caller knows it"
    if subject.source != domain.BMF:
        return domain.legal_status_from_register_listing(reported[subject.source])
    codes = [source.code for source in sources]
    central = None
    if domain.is_under_group_exemption(reported[domain.BMF].first_row_facts) and subject.group_key is not None:
        found = await store.find_central_organisation(tx, registry_id, subject.group_key, codes)
        central = _reports_of(found, sources) if found else None
    return domain.status_of_us_organisation(reported, central)


async def list_unchanged_registry_numbers_to_recheck(
    tx: Tx, registry_id: UUID, source: str, register_parts: Collection[str]
) -> list[str]:
    """Unchanged numbers whose status may differ because their data have a later date."""
    codes = [found.code for found in await store.list_sources(tx, registry_id)]
    if source != domain.BMF or not set(codes) & set(store.OVERRIDING_SOURCES):
        return []
    return await store.list_registry_numbers_with_possible_status_override(tx, source, list(register_parts), codes)


async def iterate_changed_status_overrides(
    tx: Tx, registry_id: UUID, numbers: Collection[str] | None
) -> AsyncIterator[Mapping[UUID, OverrideReason | None]]:
    """Status overrides of organisations, in batches; None as a value removes one.

    ``numbers``: restricts the organisations; None means all. The central body of a group does not matter here and is
    not loaded.
    """
    sources = await store.list_sources(tx, registry_id)
    codes = [source.code for source in sources]
    if not set(codes) & set(store.OVERRIDING_SOURCES):
        return
    async for subjects in _override_candidates(tx, registry_id, codes, numbers):
        found = [
            (subject, domain.status_of_us_organisation(_reports_of(subject, sources)).override_reason)
            for subject in subjects
        ]
        yield {
            subject.organisation_id: overruled for subject, overruled in found if overruled != subject.status_override
        }


async def _override_candidates(
    tx: Tx, registry_id: UUID, codes: Sequence[str], numbers: Collection[str] | None
) -> AsyncIterator[Sequence[OrganisationEntries]]:
    if numbers is not None:
        ordered = sorted(numbers)
        for first in range(0, len(ordered), _BATCH):
            yield await store.list_organisation_entries(tx, registry_id, codes, ordered[first : first + _BATCH])
        return
    after = _FIRST
    while subjects := await store.list_organisations_with_possible_status_override(
        tx, registry_id, codes, after, _BATCH
    ):
        after = subjects[-1].organisation_id
        yield subjects


def _reports_of(subject: OrganisationEntries, sources: Sequence[LegalStatusSource]) -> dict[str, SourceReport]:
    """The report of each source. A loaded source without an entry reports that it does not list the number."""
    entries = {entry["source"]: entry for entry in subject.entries}
    return {source.code: _report_of(source, entries.get(source.code), subject) for source in sources}


def _report_of(
    source: LegalStatusSource, entry: Mapping[str, Any] | None, subject: OrganisationEntries
) -> SourceReport:
    if entry is None:
        dated = subject.data_as_of if source.code == subject.source else source.data_as_of
        return SourceReport(source.code, dated, is_format_unverified=source.is_format_unverified)
    record, written = entry["record"], entry["data_as_of"]
    dated = datetime.fromisoformat(written) if written else source.data_as_of
    return SourceReport(source.code, dated, _fact_rows(record), record.get("active", True), source.is_format_unverified)


def _fact_rows(record: Mapping[str, Any]) -> tuple[Mapping[str, object], ...]:
    found = []
    for row in domain.extract_source_rows(record):
        facts = row.get("facts", row)
        found.append(facts if isinstance(facts, Mapping) else {})
    return tuple(found)
