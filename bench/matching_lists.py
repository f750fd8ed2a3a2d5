"""The watch lists at hand, read by the service's own readers and held as it holds them, without a database."""

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
    Load,
    RejectedEntry,
    SubjectKind,
    WatchlistEntry,
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
_NOBODY: Final = UUID(int=0)


def sdn(name: str = AFTER) -> list[Path]:
    """The SDN list of a day, with the aliases, addresses and remarks of the last complete set."""
    return [SHARED / "ofac" / one for one in (name, *_BESIDE)]


def others() -> dict[str, list[Path]]:
    """The files of the other lists."""
    return {code: sorted((SHARED / folder).glob(name)) for code, (folder, name) in _PATTERNS.items()}


@cache
def lists() -> tuple[WatchlistEntry, ...]:
    """What all of them say."""
    files = {"ofac-sdn": sdn(), **others()}
    return tuple(one for code, paths in files.items() for one in read(WATCHLIST_SOURCES[code], paths))


def read(source: WatchlistSource, files: Sequence[Path]) -> list[WatchlistEntry]:
    """What a list says: what cannot be read is left out, as an import leaves it out."""
    found: dict[str, WatchlistEntry] = {}
    for one in source.read(files):
        if not isinstance(one, RejectedEntry) and (category := one.category or source.category):
            found.setdefault(one.key, WatchlistEntry(source.code, one, category, b"", _NOBODY))
    return list(found.values())


def of(kind: SubjectKind) -> list[WatchlistEntry]:
    """Those with whom such subjects are compared; who may be either is asked for as a body."""
    return [
        one
        for one in lists()
        if one.listed.kind in KINDS_BY_SUBJECT[kind] and (kind, one.listed.kind) != ("person", "unknown")
    ]


@cache
def compared() -> ScreeningIndex:
    """All of them, ready to be compared with."""
    stored = [one for one in map(index_entry, lists()) if one is not None]
    return ScreeningIndex(stored, [version(code) for code in dict.fromkeys(one.list for one in lists())])


def version(code: str) -> WatchlistVersion:
    """A list as it would be loaded, of bodies and of persons."""
    now = datetime.now(UTC)
    categories: tuple[Category, ...] = ("sanction",)
    load = Load(_NOBODY, code, "loaded", now, now, now, b"", (), categories, categories, categories, 0)
    return WatchlistVersion(code, code, "", unverified=False, load=load)
