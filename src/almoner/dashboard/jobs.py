"""Background jobs of the dashboard: the search index, and deleting views of donors' data after 13 months."""

from datetime import datetime, timedelta
from typing import Final

from almoner.dashboard import store, store_search
from almoner.dashboard.domain import VIEW_RETENTION
from almoner.dashboard.search_terms import hash_terms_of_record
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import TaskRegistry

_BATCH: Final = 1000
_SEARCH_BATCH: Final = 500


async def _next_deletion_at(tx: Tx) -> datetime | None:
    oldest = await store.find_oldest_donor_data_access_at(tx)
    return None if oldest is None else oldest + VIEW_RETENTION


async def _delete_old_views(tx: Tx) -> int:
    return await store.delete_donor_data_accesses(tx, tx.now - VIEW_RETENTION, _BATCH)


async def _search_update_due_at(tx: Tx) -> datetime | None:
    return tx.now if await store_search.has_unindexed_changes(tx) else None


async def update_search_index(tx: Tx) -> int:
    """Apply the oldest changes to the search index; returns how many. Only one caller at a time."""
    changes = await store_search.dequeue_changed_records(tx, _SEARCH_BATCH)
    keys = list(dict.fromkeys(changes))
    found = {}
    for record_type in {record_type for _, record_type, _ in keys}:
        ids = [record_id for _, type_, record_id in keys if type_ == record_type]
        for record in await store_search.load_searchable_records(tx, record_type, ids):
            found[record_type, record.record_id] = hash_terms_of_record(record)
    await store_search.replace_term_hashes(
        tx, keys, [found.get((type_, record_id), []) for _, type_, record_id in keys]
    )
    return len(changes)


tasks: Final = TaskRegistry()
tasks.add_periodic_job("search.update", _search_update_due_at, update_search_index)
tasks.add_periodic_job("dashboard.delete_donor_views", _next_deletion_at, _delete_old_views, period=timedelta(days=1))
