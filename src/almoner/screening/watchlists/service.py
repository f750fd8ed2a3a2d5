"""Public functions of watchlists."""

from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.observability.telemetry import Telemetry
from almoner.screening.watchlists import store
from almoner.screening.watchlists.domain import TextHits, WatchlistEntry, WatchlistImport, WatchlistImportChanges
from almoner.screening.watchlists.store import find_entries as find_entries
from almoner.screening.watchlists.store import has_category_coverage_changed as has_category_coverage_changed
from almoner.screening.watchlists.store import list_current_versions as list_current_versions
from almoner.screening.watchlists.store import list_imports as list_imports
from almoner.screening.watchlists.store import list_latest_refused_imports as list_latest_refused_imports
from almoner.screening.watchlists.store import lock_current_import_ids as lock_current_import_ids
from almoner.screening.watchlists.store_refresh import list_refresh_states as list_refresh_states

_AT_ONCE: Final = 2_000
_SHORTEST_TEXT: Final = 3
_MOST_TEXT_HITS: Final = 20


async def list_current_entries(tx: Tx, watchlist_code: str, after_key: str) -> list[WatchlistEntry]:
    """A page of the current entries of a list, in the order of their keys."""
    return await store.list_current_entries(tx, watchlist_code, after_key, _AT_ONCE)


async def find_entries_with_text(tx: Tx, text: str) -> TextHits:
    """Find the entries that contain a text in a name, a number or their note.

    Case, accents, spaces and punctuation do not matter. Entries of every kind and script are searched, also those that
    are not screened.
    """
    normalised = await store.normalise_search_text(tx, text)
    if len(normalised) < _SHORTEST_TEXT:
        return TextHits(too_short=True)
    found = await store.find_entries_with_text(tx, normalised, _MOST_TEXT_HITS + 1)
    return TextHits(found[:_MOST_TEXT_HITS], more=len(found) > _MOST_TEXT_HITS)


async def get_import_changes(tx: Tx, import_id: UUID) -> WatchlistImportChanges:
    """The changes of an import. Raises NotFound."""
    of = await get_import(tx, import_id)
    came = {one.listed.key: one for one in await store.list_entries_added_by_import(tx, import_id)}
    ended = {one.listed.key: one for one in await store.list_entries_ended_by_import(tx, import_id)}
    return WatchlistImportChanges(
        list=of.list,
        added_entries=[one for key, one in came.items() if key not in ended],
        removed_entries=[one for key, one in ended.items() if key not in came],
        changed_entries_old_and_new=[(ended[key], one) for key, one in came.items() if key in ended],
    )


async def get_import(tx: Tx, import_id: UUID) -> WatchlistImport:
    """One import. Raises NotFound."""
    found = await store.find_import(tx, import_id)
    if found is None:
        raise NotFound
    return found


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Collect metrics: the age of each list, and the outcomes of its imports."""
    for version in await store.list_current_versions(tx):
        reported = version.load.published_at or version.load.retrieved_at
        telemetry.watchlists.age.labels(version.code).set(max(0.0, (tx.now - reported).total_seconds()))
        telemetry.watchlists.entries.labels(version.code).set(version.load.entries)
    for one in await store.count_imports_by_status(tx):
        telemetry.watchlists.loads.set_total((one.watchlist_code, one.status), one.total)
