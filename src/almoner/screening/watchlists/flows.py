"""Import a list: read and check its files, and store them as its next version in one transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import outbox
from almoner.platform.observability.loggers import get_logger
from almoner.screening.watchlists import files, load_checks, store
from almoner.screening.watchlists.domain import (
    CATEGORIES,
    KINDS_BY_SUBJECT,
    LOADED,
    REFUSED,
    SUBSUMED_LISTS,
    Category,
    ListedEntity,
    RejectedEntry,
    SubjectKind,
    WatchlistEntry,
    WatchlistImport,
    WatchlistImportChecksFailed,
    WatchlistImportEvent,
    WatchlistImportRefused,
)
from almoner.screening.watchlists.files import ImportFiles
from almoner.screening.watchlists.load_checks import ImportStatistics
from almoner.screening.watchlists.ports import DatedWatchlistSource, WatchlistSource

ReportProgress = Callable[[int], None]
"""Called from another thread with the number of entries read so far."""
RecordAudit = Callable[[Tx, WatchlistImport], Awaitable[None]]
_EVERY: Final = 1_000
_SHOWN_BAD: Final = 5
_MAX_PROBLEMS: Final = 20
_log: Final = get_logger("almoner.screening")


@dataclass(frozen=True, slots=True)
class _ReadEntries:
    entries: dict[str, tuple[ListedEntity, Category, bytes]]
    rejected: list[RejectedEntry]

    @property
    def name_count(self) -> int:
        return sum(len(listed.names) for listed, _, _ in self.entries.values())


async def import_watchlist(
    db: Database,
    source: WatchlistSource,
    source_paths: Sequence[Path],
    *,
    published_at: datetime | None = None,
    force: bool = False,
    fetched_from: Sequence[str] = (),
    fail_if_already_refused: bool = False,
    on_progress: ReportProgress | None = None,
    record_audit: RecordAudit | None = None,
) -> WatchlistImport:
    """Import the files of a list as its next version, all or nothing.

    ``published_at``: their publication time; default: as stated in the files or a file name. ``force``: import in spite
    of failed checks. ``fetched_from``: the web addresses they come from. ``record_audit`` is called in the import's
    transaction, also for each list that this one replaces. Files that are loaded already change nothing.
    ``fail_if_already_refused``: raise at once for the files refused last, without another report. Raises
    WatchlistImportChecksFailed if the checks fail, and WatchlistImportRefused if the files are not of this list.
    """
    with files.open_import_files(source_paths) as found:
        async with db.read() as tx:
            current = await store.find_current_import(tx, source.code)
            refused = await store.list_latest_refused_imports(tx)
        if current is not None and current.sha256 == found.sha256:
            return replace(current, status="unchanged", added=0, removed=0, changed=0)
        for one in refused:
            if fail_if_already_refused and (one.list, one.sha256) == (source.code, found.sha256):
                raise WatchlistImportChecksFailed(one)
        stated = (
            await asyncio.to_thread(source.find_publication_time, found.paths)
            if isinstance(source, DatedWatchlistSource)
            else None
        )
        read = await asyncio.to_thread(_read_entries, source, found.paths, on_progress)
    async with db.write() as tx:
        await _ensure_not_subsumed(tx, source.code)
        load = await _merge(
            tx,
            source,
            found,
            published_at or stated or found.latest_date_in_file_names,
            read,
            force=force,
            fetched_from=fetched_from,
        )
        retired = await _retire_subsumed(tx, load)
        for one in (load, *retired):
            if record_audit is not None:
                await record_audit(tx, one)
    if load.status == "refused":
        raise WatchlistImportChecksFailed(load)
    return load


def _read_entries(source: WatchlistSource, paths: Sequence[Path], report: ReportProgress | None) -> _ReadEntries:
    read = _ReadEntries({}, [])
    for one in source.read_entries(paths):
        if isinstance(one, RejectedEntry):
            read.rejected.append(one)
        elif one.key in read.entries:
            read.rejected.append(RejectedEntry(one.key, "the list has two entries with this number", one.key))
        elif (category := one.category or source.category) is None:
            read.rejected.append(RejectedEntry(one.key, "the entry has no category", one.key))
        else:
            read.entries[one.key] = (one, category, sha256_digest(msgspec.json.encode((one, category))))
        if report is not None and len(read.entries) % _EVERY == 0:
            report(len(read.entries))
    return read


async def _find_problems(
    tx: Tx,
    source: WatchlistSource,
    load: WatchlistImport,
    new: ImportStatistics,
    before: WatchlistImport | None,
    current_count: int,
) -> list[str]:
    current_names = await store.count_current_names(tx, source.code)
    current = ImportStatistics(current_count, current_names, before.published_at if before else None)
    return [
        *load_checks.find_import_problems(
            source, new, current, rejected_count=load.rejected, removed_count=load.removed
        )
    ]


async def _merge(
    tx: Tx,
    source: WatchlistSource,
    found: ImportFiles,
    reported: datetime | None,
    read: _ReadEntries,
    *,
    force: bool,
    fetched_from: Sequence[str],
) -> WatchlistImport:
    before = await store.upsert_watchlist_and_lock_current_import(tx, source)
    current = await store.load_entry_content_hashes_by_key(tx, source.code)
    added, removed, changed, kept = _compare(current, read, force=force)
    load = WatchlistImport(
        id=tx.new_id(),
        list=source.code,
        status="loaded",
        published_at=reported,
        retrieved_at=found.retrieved_at,
        loaded_at=tx.now,
        sha256=found.sha256,
        files=tuple(found.files),
        categories=_categories(source, read),
        organisation_categories=_covered_categories(read, "organisation"),
        person_categories=_covered_categories(read, "person"),
        entries=len(read.entries),
        added=len(added),
        removed=len(removed),
        changed=len(changed),
        rejected=len(read.rejected),
        forced=force,
        fetched_from=tuple(fetched_from),
        kept=kept,
        problems=tuple(_first_problems(read.rejected, _MAX_PROBLEMS)),
    )
    new = ImportStatistics(load.entries, read.name_count, reported)
    reasons = await _find_problems(tx, source, load, new, before, len(current))
    if reasons and not read.entries:
        raise WatchlistImportRefused(
            f"the files contain no entry of {source.title}{_problem_suffix(read.rejected)}. To remove all its entries, "
            f"retire the list on its page in the console, or with `almoner watchlists retire {source.code}`"
        )
    if reasons and not force:
        return await _refuse(tx, load, (*reasons, *_first_problems(read.rejected)))
    fresh = added | changed
    entries = [_entry(load, *read.entries[key]) for key in read.entries if key in fresh]
    await _replace(tx, load, [*removed, *changed], entries)
    return load


def _compare(
    current: Mapping[str, bytes], read: _ReadEntries, *, force: bool
) -> tuple[set[str], set[str], set[str], int]:
    """The keys of the added, removed and changed entries, and how many are kept because they could not be read."""
    added, missing = read.entries.keys() - current.keys(), current.keys() - read.entries.keys()
    removed = missing - (set() if force else _uncertain_keys(missing, read.rejected))
    changed = {key for key, content in current.items() if key in read.entries and read.entries[key][2] != content}
    in_part = set() if force else _uncertain_keys(changed, [one for one in read.rejected if one.is_possibly_partial])
    return added, removed, changed - in_part, len(missing) - len(removed) + len(in_part)


def _uncertain_keys(keys: set[str], bad: Sequence[RejectedEntry]) -> set[str]:
    """Those that may be among the unreadable entries: all of them if one of those has no key."""
    if any(one.key is None for one in bad):
        return keys
    return keys & {one.key for one in bad if one.key is not None}


async def _ensure_not_subsumed(tx: Tx, code: str) -> None:
    """Raise WatchlistImportRefused if a loaded list contains this one: reviewers would see each match twice."""
    whole = SUBSUMED_LISTS.get(code)
    current = await store.find_current_import(tx, whole) if whole else None
    if current is not None and current.entries:
        raise WatchlistImportRefused(f"{whole} is loaded and contains all entries of {code}: do not load both")


async def _retire_subsumed(tx: Tx, load: WatchlistImport) -> list[WatchlistImport]:
    """Retire the lists that this one contains, now that it is loaded."""
    if load.status != "loaded":
        return []
    parts = [part for part, whole in SUBSUMED_LISTS.items() if whole == load.list]
    named = [part for part in parts if (one := await store.find_current_import(tx, part)) and one.entries]
    return [await retire_watchlist(tx, part) for part in named]


async def _refuse(tx: Tx, load: WatchlistImport, reasons: Sequence[str]) -> WatchlistImport:
    """Store the refused import and emit its event."""
    refused = replace(load, status="refused", added=0, removed=0, changed=0, reasons=tuple(reasons))
    await store.insert_import(tx, refused)
    await outbox.emit_internal_event(tx, REFUSED, WatchlistImportEvent(load.list, load.id))
    return refused


async def _replace(tx: Tx, load: WatchlistImport, ended: Sequence[str], fresh: Sequence[WatchlistEntry]) -> None:
    """Replace the entries of a list: end some, start others, and make the import current."""
    if load.rejected:  # a scheduled refresh has nobody who sees the problems
        counts = {"list": load.list, "rejected": load.rejected, "kept": load.kept}
        tx.add_commit_callback(lambda: _log.warning("watchlist_rows_rejected", **counts))
    await store.insert_import(tx, load)
    await store.mark_entries_ended_by_import(tx, load.list, ended, load.id)
    await store.insert_entries(tx, fresh)
    await store.set_current_import(tx, load)
    await outbox.emit_internal_event(tx, LOADED, WatchlistImportEvent(load.list, load.id))


async def retire_watchlist(tx: Tx, watchlist_code: str) -> WatchlistImport:
    """Retire a list, keeping its versions. Raises WatchlistImportRefused if it has no entries."""
    current = await store.lock_current_import(tx, watchlist_code)
    if current is None or not current.entries:
        raise WatchlistImportRefused(
            f"{watchlist_code!r} has no entries: `almoner watchlists status` shows the lists that are loaded"
        )
    keys = list(await store.load_entry_content_hashes_by_key(tx, watchlist_code))
    load = WatchlistImport(
        id=tx.new_id(),
        list=watchlist_code,
        status="loaded",
        published_at=None,
        retrieved_at=tx.now,
        loaded_at=tx.now,
        sha256=sha256_digest(b""),
        files=(),
        categories=(),
        organisation_categories=(),
        person_categories=(),
        entries=0,
        removed=len(keys),
        forced=True,
    )
    await _replace(tx, load, keys, [])
    return load


def _entry(load: WatchlistImport, listed: ListedEntity, category: Category, content: bytes) -> WatchlistEntry:
    return WatchlistEntry(load.list, listed, category, content, load.id)


def _categories(source: WatchlistSource, read: _ReadEntries) -> tuple[Category, ...]:
    if source.category is not None:
        return (source.category,)
    held = {category for _, category, _ in read.entries.values()}
    return tuple(one for one in CATEGORIES if one in held)


def _covered_categories(read: _ReadEntries, kind: SubjectKind) -> tuple[Category, ...]:
    """The categories with entries of this kind; the list can clear subjects only in these (settled 4)."""
    held = {category for listed, category, _ in read.entries.values() if listed.kind in KINDS_BY_SUBJECT[kind]}
    return tuple(one for one in CATEGORIES if one in held)


def _first_problems(bad: Sequence[RejectedEntry], limit: int = _SHOWN_BAD) -> list[str]:
    return [f"{one.location}: {one.reason}" for one in bad[:limit]]


def _problem_suffix(bad: Sequence[RejectedEntry]) -> str:
    return f": {'; '.join(_first_problems(bad))}" if bad else ""
