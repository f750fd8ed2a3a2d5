"""Lists, compares and reports register loads."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from almoner.nonprofits.registers import store, store_diff, store_refresh
from almoner.nonprofits.registers.domain import ImportRefused, Load, LoadDifference, NumberDifference
from almoner.nonprofits.registers.store import find_load as find_load
from almoner.nonprofits.registers.store import ignored_columns_of as ignored_columns_of
from almoner.nonprofits.registers.store import list_loads as list_loads
from almoner.nonprofits.registers.store import list_rejected_rows as list_rejected_rows
from almoner.nonprofits.registers.store import list_sources as list_sources
from almoner.nonprofits.registers.store import list_unverified_sources as list_unverified_sources
from almoner.platform.database.transactions import Tx
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.fetching import FetchedFile


async def record_fetched_files(tx: Tx, load_id: UUID, fetched: Sequence[FetchedFile]) -> None:
    """Keep where the files of a load were fetched from, in the transaction that loads them."""
    await store_refresh.insert_fetched_files(tx, load_id, fetched)


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """How old the data of each source is, and what became of its loads."""
    ages, loads = await store_refresh.query_metrics(tx)
    for source, seconds in ages.items():
        telemetry.register_data_age.labels(source).set(seconds)
    for (source, status), count in loads.items():
        telemetry.register_loads.set((source, status), count)


async def resolve_load(tx: Tx, source: str | None, named: UUID | datetime) -> Load:
    """A load by its ID, or the one that was current on a day. Raises ImportRefused."""
    if isinstance(named, UUID):
        found = await store.find_load(tx, named)
        if found is None or found.status == "quarantined":
            raise ImportRefused("there is no such load: `almoner registers list` shows their ids")
        return found
    if source is None:
        raise ImportRefused("say with --source of which source the days are")
    if (found := await store.find_newest_load(tx, source, named)) is None:
        raise ImportRefused(
            f"nothing of {source} is of {named:%Y-%m-%d} or before: `almoner registers list` shows what is"
        )
    return found


async def compare_loads(
    tx: Tx, old: Load, new: Load, ignored: Iterable[str], rows: int
) -> tuple[LoadDifference, list[NumberDifference]]:
    """What differs between two loads of one source, and so many of the numbers. Raises ImportRefused."""
    if old.source != new.source:
        raise ImportRefused(f"one load is of {old.source}, the other of {new.source}: name two of one source")
    counted = await store_diff.count_differences(tx, old.source, old.id, new.id, ignored)
    if not rows:
        return counted, []
    return counted, await store_diff.list_differences(tx, old.source, old.id, new.id, ignored, rows)
