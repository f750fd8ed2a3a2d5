"""What the watchlist search finds for the names and numbers of a case about a name to look up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.console.context import ConsoleContext
from almoner.console.data_watchlist_search import PLACE_WORDS
from almoner.console.readings import romanise_text
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import SubjectDetails, WatchlistSearchResult
from almoner.screening.watchlists.domain import WatchlistEntry

_MOST_TEXTS: Final = 5
"""The maximum number of searches for one view of a case."""
_MOST_FOUND: Final = 10
"""The maximum number of entries that the page of a case shows."""


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry, by which texts it was found and where.

    ``choice``: the initial values of the page that records that the record is this entry.
    """

    entry: WatchlistEntry
    title: str
    reasons: Sequence[tuple[str, str]]

    @property
    def choice(self) -> dict[str, str]:
        """The reason and the note of the decision."""
        listed = self.entry.listed
        name = listed.names[0].text
        return {"reason": self.entry.category, "note": f"Entry {listed.key} of the list {self.title}: {name}"}


@dataclass(frozen=True, slots=True)
class CaseSearch:
    """The results of all searches for a case.

    ``too_short``: the texts that were only compared with names. ``unsearched``: how many of the case's names and
    numbers were left out.
    """

    texts: Sequence[str]
    too_short: Sequence[str]
    unsearched: int
    found: Sequence[FoundEntry]
    more: bool
    has_lists: bool

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out."""
        return self.has_lists and not (self.too_short or self.unsearched or self.more)


async def search_for_case(context: ConsoleContext, subject_id: UUID) -> CaseSearch | None:
    """Search the watchlists for the names and numbers of a case. None if its details were erased."""
    async with context.db.read() as tx:
        stored = await screenings.find_subject_by_id(tx, subject_id)
    if stored is None:
        return None
    details, wanted = stored.details, _texts_of(stored.details)
    entries: dict[tuple[str, str], FoundEntry] = {}
    too_short: list[str] = []
    more, has_lists = False, False
    for text in wanted[:_MOST_TEXTS]:
        result = await screenings.search_watchlists(
            context.db, context.services.screener, text, details.kind, details.countries
        )
        more |= result.containing.more
        has_lists |= bool(result.lists)
        too_short += [text] if result.containing.too_short else []
        for entry, title, place in _entries_of(result):
            key = entry.list, entry.listed.key
            earlier = entries[key].reasons if key in entries else ()
            entries[key] = FoundEntry(entry, title, [*earlier, (text, place)])
    found = list(entries.values())
    more |= len(found) > _MOST_FOUND
    searched, unsearched = wanted[:_MOST_TEXTS], len(wanted[_MOST_TEXTS:])
    return CaseSearch(searched, too_short, unsearched, found[:_MOST_FOUND], more, has_lists)


def _texts_of(details: SubjectDetails) -> list[str]:
    """What to search for, the most telling first: the name, a number, the name in Latin letters, then all others."""
    reading = romanise_text(details.names[0], set(details.countries), details.names) if details.names else None
    first = [*details.names[:1], *details.identifiers[:1], *([reading.text] if reading else [])]
    return list(dict.fromkeys([*first, *details.names, *details.identifiers]))


def _entries_of(result: WatchlistSearchResult) -> Iterator[tuple[WatchlistEntry, str, str]]:
    """The entries that screening would flag, and others that contain the text, each with its list and the place."""
    titles = {one.code: one.title for one in result.lists}
    flagged = {(hit.list, hit.entry_key) for hit in result.flagged}
    for key in [key for key in result.entries if key in flagged]:
        yield result.entries[key], titles.get(key[0], key[0]), "a similar name"
    for hit in result.containing.hits:
        entry = hit.entry
        if (entry.list, entry.listed.key) not in flagged:
            places = ", ".join(PLACE_WORDS[place] for place in hit.places) or "its text"
            yield entry, titles.get(entry.list, entry.list), places
