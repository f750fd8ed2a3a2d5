"""The watchlists at hand, read by the service's readers and indexed like in the service, without a database."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.screening.screenings.indexing import ScreeningIndex, index_entry
from almoner.screening.watchlists.domain import (
    KINDS_BY_SUBJECT,
    Category,
    RejectedEntry,
    SubjectKind,
    WatchlistEntry,
    WatchlistImport,
    WatchlistVersion,
)
from almoner.screening.watchlists.ports import WatchlistSource
from almoner.sources import WATCHLIST_SOURCES

SHARED: Final = Path(__file__).parents[2] / "shared" / "data"
BEFORE, AFTER = "sdn_2024-05-01.csv", "sdn_2024-05-03.csv"
_BESIDE: Final = ("alt_2021-07.csv", "add_2021-07.csv", "sdn_comments_2021-07.csv")
_PATTERNS: Final = {
    "ofac-consolidated": ("ofac", "cons_*.csv"),
    "un-consolidated": ("un", "*.xml"),
    "us-bis-dpl": ("us_other", "bis_dpl.txt"),
}
SHORT: Final = ("un-consolidated", "us-bis-dpl")
"""Lists for a brief run: the SDN list takes seconds to index."""
_NOBODY: Final = UUID(int=0)


def sdn(name: str = AFTER) -> list[Path]:
    """The SDN list of a day, with the aliases, addresses and remarks of the last complete set."""
    return [SHARED / "ofac" / one for one in (name, *_BESIDE)]


def others(*, short: bool = False) -> dict[str, list[Path]]:
    """The files of the other lists."""
    patterns = {code: _PATTERNS[code] for code in (SHORT if short else _PATTERNS)}
    return {code: sorted((SHARED / folder).glob(name)) for code, (folder, name) in patterns.items()}


@cache
def lists(*, short: bool = False) -> tuple[WatchlistEntry, ...]:
    """The entries of all of them, or of the short ones."""
    return read_lists(short=short)


def read_lists(*, short: bool = False) -> tuple[WatchlistEntry, ...]:
    """The same, read again."""
    files = {} if short else {"ofac-sdn": sdn()}
    files |= others(short=short)
    return tuple(one for code, paths in files.items() for one in read(WATCHLIST_SOURCES[code], paths))


def read(source: WatchlistSource, files: Sequence[Path]) -> list[WatchlistEntry]:
    """The entries of a list; unreadable ones are left out, as in an import."""
    found: dict[str, WatchlistEntry] = {}
    for one in source.read_entries(files):
        if not isinstance(one, RejectedEntry) and (category := one.category or source.category):
            found.setdefault(one.key, WatchlistEntry(source.code, one, category, b"", _NOBODY))
    return list(found.values())


def of(kind: SubjectKind, *, short: bool = False) -> list[WatchlistEntry]:
    """The entries that such subjects are compared with; entries of unknown kind count as organisations."""
    return [
        one
        for one in lists(short=short)
        if one.listed.kind in KINDS_BY_SUBJECT[kind] and (kind, one.listed.kind) != ("person", "unknown")
    ]


@cache
def compared(*, short: bool = False) -> ScreeningIndex:
    """An index of all of them."""
    said = lists(short=short)
    stored = [one for one in map(index_entry, said) if one is not None]
    return ScreeningIndex(stored, [version(code) for code in dict.fromkeys(one.list for one in said)])


def version(code: str) -> WatchlistVersion:
    """A list as if it were imported, of organisations and persons."""
    now = datetime.now(UTC)
    categories: tuple[Category, ...] = ("sanction",)
    load = WatchlistImport(_NOBODY, code, "loaded", now, now, now, b"", (), categories, categories, categories, 0)
    return WatchlistVersion(code, code, "", unverified=False, load=load)
