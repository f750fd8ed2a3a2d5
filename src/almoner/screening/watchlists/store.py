"""SQL for watchlists: their imports, and the entries of each."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.platform.database.transactions import Tx
from almoner.screening.watchlists.domain import (
    ImportedFile,
    ListedAddress,
    ListedEntity,
    ListedName,
    TextHit,
    WatchlistEntry,
    WatchlistImport,
    WatchlistVersion,
)
from almoner.screening.watchlists.ports import WatchlistSource

_LOAD: Final = """
    l.id, l.list, l.status, l.published_at, l.retrieved_at, l.loaded_at, l.sha256, l.files, l.categories, l.entries,
    l.added, l.removed, l.changed, l.rejected, l.forced, l.reasons, l.organisation_categories, l.person_categories,
        l.fetched_from
"""
_ENTRY: Final = """
    list, entry_key, content_hash, kind, category, names, countries, addresses, identifiers, birth_years, programmes,
    listed_on, note, source_url, since_load_id
"""
_AT_ONCE: Final = 2_000
_LOCK: Final = 0x77_6C_69_73_74
"""An advisory lock: shared by screenings against the current versions, exclusive for an import that becomes current."""


async def upsert_watchlist_and_lock_current_import(tx: Tx, source: WatchlistSource) -> WatchlistImport | None:
    """Store a list with its reader's declaration and lock it; returns its current import."""
    await tx.execute(
        """
        insert into watchlist (code, title, licence, unverified) values ($1, $2, $3, $4)
        on conflict (code) do update
        set title = excluded.title, licence = excluded.licence, unverified = excluded.unverified
        """,
        source.code,
        source.title,
        source.licence,
        source.is_format_unverified,
    )
    row = await tx.fetchrow(
        f"select {_LOAD} from watchlist_load l join watchlist w on w.current_load_id = l.id where w.code = $1",
        source.code,
    )
    return _load(row) if row else None


async def find_current_import(tx: Tx, watchlist_code: str) -> WatchlistImport | None:
    """The current import of a list; None if there is none."""
    row = await tx.fetchrow(
        f"select {_LOAD} from watchlist_load l join watchlist w on w.current_load_id = l.id where w.code = $1",
        watchlist_code,
    )
    return _load(row) if row else None


async def lock_current_import(tx: Tx, watchlist_code: str) -> WatchlistImport | None:
    """Lock a list until the transaction ends and return its current import."""
    await tx.execute("select from watchlist where code = $1 for no key update", watchlist_code)
    return await find_current_import(tx, watchlist_code)


async def insert_import(tx: Tx, watchlist_import: WatchlistImport) -> None:
    """Store an import."""
    await tx.execute(
        """
        insert into watchlist_load (id, list, status, published_at, retrieved_at, loaded_at, sha256, files, categories,
            entries, added, removed, changed, rejected, forced, reasons, organisation_categories, person_categories,
                fetched_from)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
        """,
        watchlist_import.id,
        watchlist_import.list,
        watchlist_import.status,
        watchlist_import.published_at,
        watchlist_import.retrieved_at,
        watchlist_import.loaded_at,
        watchlist_import.sha256,
        watchlist_import.files,
        watchlist_import.categories,
        watchlist_import.entries,
        watchlist_import.added,
        watchlist_import.removed,
        watchlist_import.changed,
        watchlist_import.rejected,
        watchlist_import.forced,
        watchlist_import.reasons,
        watchlist_import.organisation_categories,
        watchlist_import.person_categories,
        watchlist_import.fetched_from,
    )


async def set_current_import(tx: Tx, watchlist_import: WatchlistImport) -> None:
    """Make an import the current one of its list; waits for running screenings."""
    await tx.execute("select pg_advisory_xact_lock($1)", _LOCK)
    await tx.execute(
        "update watchlist set current_load_id = $2 where code = $1", watchlist_import.list, watchlist_import.id
    )


async def load_entry_content_hashes_by_key(tx: Tx, watchlist_code: str) -> Mapping[str, bytes]:
    """The content hash of each current entry, by key."""
    rows = await tx.fetch(
        "select entry_key, content_hash from watchlist_entry where list = $1 and until_load_id is null", watchlist_code
    )
    return {row["entry_key"]: row["content_hash"] for row in rows}


async def count_current_names(tx: Tx, watchlist_code: str) -> int:
    """Count the names of all current entries."""
    return int(
        await tx.fetchval(
            """
            select coalesce(sum(jsonb_array_length(names)), 0) from watchlist_entry
            where list = $1 and until_load_id is null
            """,
            watchlist_code,
        )
    )


async def mark_entries_ended_by_import(tx: Tx, watchlist_code: str, entry_keys: Sequence[str], import_id: UUID) -> None:
    """End these entries with this import."""
    await tx.execute(
        """
        update watchlist_entry set until_load_id = $3
        where list = $1 and entry_key = any($2) and until_load_id is null
        """,
        watchlist_code,
        entry_keys,
        import_id,
    )


async def insert_entries(tx: Tx, entries: Iterable[WatchlistEntry]) -> None:
    """Start these entries with this import."""
    waiting = iter(entries)
    while batch := list(islice(waiting, _AT_ONCE)):
        await tx.execute(
            f"""
            insert into watchlist_entry (id, {_ENTRY})
            select id, {_ENTRY} from jsonb_to_recordset($1) as t (
                id uuid, list text, entry_key text, content_hash bytea, kind text, category text, names jsonb,
                countries text[], addresses jsonb, identifiers text[], birth_years integer[], programmes text[],
                listed_on date, note text, source_url text, since_load_id uuid
            )
            """,
            [_values(tx.new_id(), one) for one in batch],
        )


def _values(entry_id: UUID, one: WatchlistEntry) -> dict[str, object]:
    listed = one.listed
    return {
        "id": entry_id,
        "list": one.list,
        "entry_key": listed.key,
        "content_hash": f"\\x{one.content_hash.hex()}",
        "kind": listed.kind,
        "category": one.category,
        "names": listed.names,
        "countries": listed.countries,
        "addresses": listed.addresses,
        "identifiers": listed.identifiers,
        "birth_years": listed.birth_years,
        "programmes": listed.programmes,
        "listed_on": listed.listed_on,
        "note": listed.note,
        "source_url": listed.source_url,
        "since_load_id": one.changed_by_import_id,
    }


async def lock_current_import_ids(tx: Tx) -> Mapping[str, UUID]:
    """The current import of each list. No other import becomes current until the transaction ends.

    So a screening is stored before the next version is announced, and is repeated for it. The lock has a statement of
    its own: what is read after it was committed before it.
    """
    await tx.execute("select pg_advisory_xact_lock_shared($1)", _LOCK)
    rows = await tx.fetch("select code, current_load_id from watchlist where current_load_id is not null")
    return {row["code"]: row["current_load_id"] for row in rows}


async def list_current_versions(tx: Tx) -> list[WatchlistVersion]:
    """The current versions of the lists, by code."""
    rows = await tx.fetch(
        f"""
        select w.code, w.title, w.licence, w.unverified, {_LOAD} from watchlist w
        join watchlist_load l on l.id = w.current_load_id order by w.code
        """
    )
    return [WatchlistVersion(row["code"], row["title"], row["licence"], row["unverified"], _load(row)) for row in rows]


async def list_latest_refused_imports(tx: Tx) -> list[WatchlistImport]:
    """The newest import of each list, if it was refused."""
    rows = await tx.fetch(
        f"""
        select {_LOAD} from watchlist w cross join lateral (
            select * from watchlist_load where list = w.code order by id desc limit 1
        ) l where l.status = 'refused' order by w.code
        """
    )
    return [_load(row) for row in rows]


async def list_imports(tx: Tx, watchlist_code: str | None, limit: int) -> list[WatchlistImport]:
    """The newest imports, newest first."""
    rows = await tx.fetch(
        f"select {_LOAD} from watchlist_load l where $1::text is null or list = $1 order by id desc limit $2",
        watchlist_code,
        limit,
    )
    return [_load(row) for row in rows]


async def find_import(tx: Tx, import_id: UUID) -> WatchlistImport | None:
    """Find an import; None if there is none."""
    row = await tx.fetchrow(f"select {_LOAD} from watchlist_load l where id = $1", import_id)
    return _load(row) if row else None


async def has_category_coverage_changed(tx: Tx, import_id: UUID) -> bool:
    """Whether an import covers other categories than the previous one, for organisations or people."""
    return bool(
        await tx.fetchval(
            """
            select (l.organisation_categories, l.person_categories) is distinct from (before.organisation_categories,
                before.person_categories)
            from watchlist_load l left join lateral (
                select organisation_categories, person_categories from watchlist_load
                where list = l.list and status = 'loaded' and id < l.id order by id desc limit 1
            ) before on true where l.id = $1
            """,
            import_id,
        )
    )


async def list_current_entries(tx: Tx, watchlist_code: str, after_key: str, limit: int) -> list[WatchlistEntry]:
    """List current entries of a list by key."""
    rows = await tx.fetch(
        f"""
        select {_ENTRY} from watchlist_entry
        where list = $1 and until_load_id is null and entry_key > $2 order by entry_key limit $3
        """,
        watchlist_code,
        after_key,
        limit,
    )
    return [_entry(row) for row in rows]


async def list_entries_added_by_import(tx: Tx, import_id: UUID) -> list[WatchlistEntry]:
    """The entries that an import added."""
    rows = await tx.fetch(
        f"select {_ENTRY} from watchlist_entry where since_load_id = $1 order by entry_key", import_id
    )
    return [_entry(row) for row in rows]


async def list_entries_ended_by_import(tx: Tx, import_id: UUID) -> list[WatchlistEntry]:
    """The entries that an import ended."""
    rows = await tx.fetch(
        f"select {_ENTRY} from watchlist_entry where until_load_id = $1 order by entry_key", import_id
    )
    return [_entry(row) for row in rows]


async def find_entries(tx: Tx, watchlist_code: str, entry_keys: Sequence[str]) -> list[WatchlistEntry]:
    """Find current entries by their keys."""
    rows = await tx.fetch(
        f"select {_ENTRY} from watchlist_entry where list = $1 and entry_key = any($2) and until_load_id is null",
        watchlist_code,
        entry_keys,
    )
    return [_entry(row) for row in rows]


async def normalise_search_text(tx: Tx, text: str) -> str:
    """Return the letters and digits of a text, as entries are searched for it."""
    return str(await tx.fetchval("select watchlist_text($1)", text))


async def find_entries_with_text(tx: Tx, normalised_text: str, limit: int) -> list[TextHit]:
    """Find current entries of any kind whose key, names, identifiers or note contain a normalised text."""
    rows = await tx.fetch(
        f"""
        with found as materialized (  -- by the index of their text, not in the order of their keys
            select * from watchlist_entry
            where until_load_id is null and watchlist_entry_text(entry_key, names, identifiers, note) like $1
        )
        select {_ENTRY}, array_remove(array[
            case when watchlist_text(entry_key) like $1 then 'entry' end,
            case when exists (
                select from jsonb_array_elements(names) as one where watchlist_text(one ->> 'text') like $1
            ) then 'name' end,
            case when exists (select from unnest(identifiers) as one where watchlist_text(one) like $1)
                then 'number' end,
            case when watchlist_text(note) like $1 then 'note' end
        ], null) as places
        from found order by list, entry_key limit $2
        """,
        f"%{normalised_text}%",
        limit,
    )
    return [TextHit(_entry(row), row["places"]) for row in rows]


class ImportCount(NamedTuple):
    """How many imports of a list have a status."""

    watchlist_code: str
    status: str
    total: int


async def count_imports_by_status(tx: Tx) -> list[ImportCount]:
    """Count the imports of each list by outcome."""
    rows = await tx.fetch("select list, status, count(*) from watchlist_load group by list, status")
    return [ImportCount(row["list"], row["status"], row["count"]) for row in rows]


def _load(row: Record) -> WatchlistImport:
    return WatchlistImport(
        row["id"],
        row["list"],
        row["status"],
        row["published_at"],
        row["retrieved_at"],
        row["loaded_at"],
        row["sha256"],
        msgspec.convert(row["files"], tuple[ImportedFile, ...]),
        tuple(row["categories"]),
        tuple(row["organisation_categories"]),
        tuple(row["person_categories"]),
        row["entries"],
        row["added"],
        row["removed"],
        row["changed"],
        row["rejected"],
        row["forced"],
        tuple(row["reasons"]),
        tuple(row["fetched_from"]),
    )


def _entry(row: Record) -> WatchlistEntry:
    listed = ListedEntity(
        key=row["entry_key"],
        kind=row["kind"],
        names=tuple(ListedName(one["text"], one["kind"]) for one in row["names"]),
        countries=tuple(row["countries"]),
        addresses=tuple(ListedAddress(one["text"], one["country"]) for one in row["addresses"]),
        identifiers=tuple(row["identifiers"]),
        birth_years=tuple(row["birth_years"]),
        programmes=tuple(row["programmes"]),
        listed_on=row["listed_on"],
        category=row["category"],
        note=row["note"],
        source_url=row["source_url"],
    )
    return WatchlistEntry(row["list"], listed, row["category"], row["content_hash"], row["since_load_id"])
