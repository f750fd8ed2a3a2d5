"""Watchlists: their entries with names, and the versions of each list (settled 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Literal, get_args
from uuid import UUID

from almoner.kit.events import InternalEvent

Category = Literal["warning", "sanction", "hateSpeech", "commercial", "adverseMedia", "controversial"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
Kind = Literal["person", "organisation", "vessel", "aircraft", "unknown"]
"""The kind of a listed entry; ``unknown`` if the list does not say whether it is a person."""
SubjectKind = Literal["organisation", "person"]
"""The kind of subject that is screened."""
KINDS_BY_SUBJECT: Final[Mapping[SubjectKind, frozenset[Kind]]] = {
    "organisation": frozenset(("organisation", "unknown")),
    "person": frozenset(("person", "unknown")),
}
"""Which entries each kind of subject is compared with; vessels and aircraft are neither."""
NameKind = Literal["primary", "alias", "former", "weak_alias"]
"""``weak_alias``: a name so common or short that the list itself marks it as weak."""


class WatchlistImportRefused(Exception):
    """The file cannot be loaded; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ListedName:
    """A name as the list writes it."""

    text: str
    kind: NameKind


@dataclass(frozen=True, slots=True)
class ListedAddress:
    """One address on one line, and its country (three letters), if known."""

    text: str
    country: str | None


@dataclass(frozen=True, slots=True)
class ListedEntity:
    """An entry of a list.

    ``key``: the list's own number. ``countries``: three letters each, from addresses, nationalities and registrations.
    ``identifiers``: register numbers, tax numbers and the like, as the list writes them, never a person's identity
    papers. ``birth_years``: of a person. ``category``: only if the list has several. ``source_url``: a web page with
    the entry.
    """

    key: str
    kind: Kind
    names: tuple[ListedName, ...]
    countries: tuple[str, ...] = ()
    addresses: tuple[ListedAddress, ...] = ()
    identifiers: tuple[str, ...] = ()
    birth_years: tuple[int, ...] = ()
    programmes: tuple[str, ...] = ()
    listed_on: date | None = None
    category: Category | None = None
    note: str | None = None
    source_url: str | None = None


@dataclass(frozen=True, slots=True)
class RejectedEntry:
    """An entry that could not be read, with the reason. ``key``: its key, if readable.

    ``is_possibly_partial``: possibly only a part of it, such as one of its names.
    """

    location: str
    reason: str
    key: str | None = None
    is_possibly_partial: bool = False


SUBSUMED_LISTS: Final[Mapping[str, str]] = {"ofac-sdn-sample": "ofac-sdn"}
"""Lists that are entirely contained in another list, under the same numbers; the other list replaces them."""


@dataclass(frozen=True, slots=True)
class WatchlistImportEvent:
    """The list and its import."""

    list: str
    load: UUID


LOADED: Final = InternalEvent("internal.watchlist_loaded", WatchlistImportEvent)
"""Emitted when a list has a new version."""
REFUSED: Final = InternalEvent("internal.watchlist_refused", WatchlistImportEvent)
"""Emitted when the files of a list were refused."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """One file of an import."""

    name: str
    sha256: str
    bytes: int


MAX_AGE: Final = timedelta(days=180)
"""People and organisations that were listed since the date of an older list are shown as clear."""
NEVER_OUTDATED: Final = ("own", "ofac-sdn-sample")

LoadStatus = Literal["loaded", "refused", "unchanged"]


@dataclass(frozen=True, slots=True)
class WatchlistImport:
    """One import of a list. ``unchanged``: these files were loaded already, so nothing was written.

    ``published_at``: the list's publication time, if known. ``categories``: the categories of its entries;
    ``organisation_categories`` and ``person_categories``: by kind. ``fetched_from``: web addresses. ``reasons``: why it
    is refused. Set on import only: ``kept``, entries kept from the previous version because their new data could not be
    read; ``problems``, the first rejected rows, each with the reason.
    """

    id: UUID
    list: str
    status: LoadStatus
    published_at: datetime | None
    retrieved_at: datetime
    loaded_at: datetime
    sha256: bytes
    files: Sequence[ImportedFile]
    categories: Sequence[Category]
    organisation_categories: Sequence[Category]
    person_categories: Sequence[Category]
    entries: int
    added: int = 0
    removed: int = 0
    changed: int = 0
    rejected: int = 0
    forced: bool = False
    reasons: Sequence[str] = ()
    fetched_from: Sequence[str] = ()
    kept: int = 0
    problems: Sequence[str] = ()

    @property
    def version_label(self) -> str:
        """The version's name for people: its date, and the first characters of the hash of its files."""
        return f"{self.published_at or self.retrieved_at:%Y-%m-%d} {self.sha256.hex()[:12]}"


@dataclass(frozen=True, slots=True)
class WatchlistVersion:
    """The current version of a list."""

    code: str
    title: str
    licence: str
    unverified: bool
    load: WatchlistImport

    @property
    def version_label(self) -> str:
        """The version's name for people: its date, and the first characters of the hash of its files."""
        return self.load.version_label

    @property
    def dated_at(self) -> datetime:
        """When it was published; if that is unknown, when it was retrieved."""
        return self.load.published_at or self.load.retrieved_at

    @property
    def max_age(self) -> timedelta | None:
        """Its maximum age; None if it does not become outdated."""
        return None if self.code in NEVER_OUTDATED or not self.load.entries else MAX_AGE

    def is_stale(self, now: datetime) -> bool:
        """Whether it is older than its maximum age."""
        return self.max_age is not None and now - self.dated_at > self.max_age

    def covered_categories(self, kind: SubjectKind) -> Sequence[Category]:
        """The categories in which it has entries of this kind; it can clear subjects only in these (settled 4)."""
        return self.load.organisation_categories if kind == "organisation" else self.load.person_categories


@dataclass(frozen=True, slots=True)
class WatchlistRefreshState:
    """The schedule of a list, and the outcome of the last attempt. ``failures``: consecutive ones."""

    list: str
    interval: timedelta
    due_at: datetime
    attempted_at: datetime | None
    status: str | None
    failures: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class WatchlistEntry:
    """An entry of a list since one import. Its category is never None."""

    list: str
    listed: ListedEntity
    category: Category
    content_hash: bytes
    changed_by_import_id: UUID


TextPlace = Literal["entry", "name", "number", "note"]
"""Where an entry contains a text: in its key, a name, an identifier or its note."""


@dataclass(frozen=True, slots=True)
class TextHit:
    """An entry that contains a text, and where."""

    entry: WatchlistEntry
    places: Sequence[TextPlace]


@dataclass(frozen=True, slots=True)
class TextHits:
    """The first entries that contain a text. ``more``: there are others.

    ``too_short``: the text has too few letters and digits to be searched for.
    """

    hits: Sequence[TextHit] = ()
    more: bool = False
    too_short: bool = False


@dataclass(frozen=True, slots=True)
class WatchlistImportChanges:
    """The changes of an import. ``changed_entries_old_and_new``: pairs of old and new entries."""

    list: str
    added_entries: Sequence[WatchlistEntry]
    removed_entries: Sequence[WatchlistEntry]
    changed_entries_old_and_new: Sequence[tuple[WatchlistEntry, WatchlistEntry]]


class WatchlistImportChecksFailed(WatchlistImportRefused):
    """The import was refused: ``load`` has the reasons, and the current version stays."""

    def __init__(self, load: WatchlistImport) -> None:
        super().__init__(
            f"these files of {load.list} are refused, and what was loaded before stays: {'; '.join(load.reasons)}. "
            "Fetch them again, or load them as they are with --force"
        )
        self.load = load
