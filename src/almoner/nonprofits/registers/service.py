"""Lists, compares and reports register loads."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from almoner.nonprofits.registers import store, store_diff, store_refresh, store_status
from almoner.nonprofits.registers.domain import (
    Decision,
    ImportRefused,
    NumberDifference,
    RegisterImport,
    RegisterImportDecision,
    RegisterImportDifference,
)
from almoner.nonprofits.registers.record_pairs import OrganisationRecordPair as OrganisationRecordPair
from almoner.nonprofits.registers.record_pairs import PairDecision as PairDecision
from almoner.nonprofits.registers.record_pairs import fingerprint_of_pair as fingerprint_of_pair
from almoner.nonprofits.registers.record_pairs import load_record_pair as load_record_pair
from almoner.nonprofits.registers.record_pairs import merge_or_separate_records as merge_or_separate_records
from almoner.nonprofits.registers.store import find_import as find_import
from almoner.nonprofits.registers.store import find_previous_import as find_previous_import
from almoner.nonprofits.registers.store import list_ignored_columns as list_ignored_columns
from almoner.nonprofits.registers.store import list_imports as list_imports
from almoner.nonprofits.registers.store import list_rejected_rows as list_rejected_rows
from almoner.nonprofits.registers.store import list_sources as list_sources
from almoner.nonprofits.registers.store import list_unverified_sources as list_unverified_sources
from almoner.nonprofits.registers.store_diff import find_quarantined_differences as find_quarantined_differences
from almoner.nonprofits.registers.store_status import count_imports as count_imports
from almoner.nonprofits.registers.store_status import count_undecided_imports as count_undecided_imports
from almoner.nonprofits.registers.store_status import find_decision as find_decision
from almoner.nonprofits.registers.store_status import list_fetched_urls_and_hashes as list_fetched_urls_and_hashes
from almoner.nonprofits.registers.store_status import list_source_freshness as list_source_freshness
from almoner.platform.database.transactions import Tx
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.fetching import FetchedFile


async def list_imports_page(
    tx: Tx, source: str | None, status: str | None, before_id: UUID | None, limit: int
) -> list[RegisterImport]:
    """Loads, newest first; ``before_id``: the last ID seen."""
    return await store.list_imports_by_ids(tx, await store_status.list_import_ids(tx, source, status, before_id, limit))


async def decision_refusal_reason(tx: Tx, register_import: RegisterImport) -> str | None:
    """Why a load cannot be decided any more; None if it can."""
    if register_import.status != "quarantined":
        return "This import is not in quarantine."
    if await store_status.find_decision(tx, register_import.id) is not None:
        return "Somebody has decided about this import."
    newest = await store_status.list_import_ids(tx, register_import.source, None, None, 1)
    return None if newest == [register_import.id] else "A newer import of this source has taken its place."


async def decide_quarantined_import(
    tx: Tx, register_import: RegisterImport, decision: Decision, decided_by: str, note: str
) -> None:
    """Record an operator's decision about a quarantined load, once. Raises ImportRefused."""
    if reason := await decision_refusal_reason(tx, register_import):
        raise ImportRefused(reason)
    if not await store_status.insert_decision(
        tx, register_import.id, RegisterImportDecision(decision, decided_by, tx.now, note)
    ):
        raise ImportRefused("Somebody has decided about this import.")


async def record_fetched_files(tx: Tx, import_id: UUID, fetched_files: Sequence[FetchedFile]) -> None:
    """Record where the files of a load were fetched from."""
    await store_refresh.insert_fetched_files(tx, import_id, fetched_files)


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Collect metrics: the age of each source's data, and the outcomes of its loads."""
    figures = await store_refresh.load_data_ages_and_import_counts(tx)
    for source, seconds in figures.data_age_seconds_by_source.items():
        telemetry.register_data_age.labels(source).set(seconds)
    for source_and_status, total in figures.import_counts_by_source_and_status.items():
        telemetry.register_loads.set_total(source_and_status, total)


async def resolve_import(tx: Tx, source: str | None, id_or_day: UUID | datetime) -> RegisterImport:
    """A load by its ID, or the one that was current on a day. Raises ImportRefused."""
    if isinstance(id_or_day, UUID):
        found = await store.find_import(tx, id_or_day)
        if found is None or found.status == "quarantined":
            raise ImportRefused(
                "there is no such import: see Register imports in the console, or `almoner registers list`"
            )
        return found
    if source is None:
        raise ImportRefused("use --source to say which source the dates are of")
    if (found := await store.find_newest_import(tx, source, id_or_day)) is None:
        raise ImportRefused(
            f"no import of {source} has data of {id_or_day.date()} or before: see Register imports in the console, or "
            "`almoner registers list`"
        )
    return found


class RegisterImportComparison(NamedTuple):
    """The counted differences of two loads, and some of the numbers that differ."""

    counts: RegisterImportDifference
    differing_numbers: list[NumberDifference]


async def compare_imports(
    tx: Tx, old_import: RegisterImport, new_import: RegisterImport, ignored_columns: Iterable[str], max_differences: int
) -> RegisterImportComparison:
    """The differences between two loads of a source, with some of the numbers. Raises ImportRefused."""
    if old_import.source != new_import.source:
        raise ImportRefused(
            f"one load is of {old_import.source}, the other of {new_import.source}: name two of one source"
        )
    counted = await store_diff.count_differences(tx, old_import.source, old_import.id, new_import.id, ignored_columns)
    if not max_differences:
        return RegisterImportComparison(counted, [])
    differing = await store_diff.list_differences(
        tx, old_import.source, old_import.id, new_import.id, ignored_columns, max_differences
    )
    return RegisterImportComparison(counted, differing)
