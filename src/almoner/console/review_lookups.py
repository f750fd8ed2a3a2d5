"""What the watchlist search finds for the names and numbers of a case about a name to look up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from almoner.console.context import ConsoleContext
from almoner.console.data_watchlist_search import PLACE_WORDS
from almoner.console.readings import romanise_text
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import SubjectDetails, WatchlistSearchResult
from almoner.screening.watchlists.domain import SubjectKind, WatchlistEntry

_MOST_TEXTS: Final = 5
"""The maximum number of searches for one view of a case."""
_MOST_FOUND: Final = 10
"""The maximum number of entries that the page of a case shows."""


@dataclass(frozen=True, slots=True)
class FoundWatchlistEntry:
    """An entry, by which texts it was found and where.

    ``score``: how likely it is the record, from 0 to 1. ``decision_form_values``: the initial values of the page that
    records that the record is this entry.
    """

    entry: WatchlistEntry
    title: str
    score: float
    reasons: Sequence[tuple[str, str]]

    @property
    def decision_form_values(self) -> dict[str, str]:
        """The reason and the note of the decision."""
        listed = self.entry.listed
        name = listed.names[0].text
        return {"reason": self.entry.category, "note": f"Entry {listed.key} of the list {self.title}: {name}"}


@dataclass(frozen=True, slots=True)
class WatchlistSearchForCase:
    """The results of all searches for a case.

    ``kind``: of the record. ``too_short``: the texts that were only compared with names. ``unsearched_text_count``: how
    many of the case's names and numbers were left out. ``found_entries``: the likeliest entries first;
    ``found_entry_count``: how many entries were found in all.
    """

    kind: SubjectKind
    texts: Sequence[str]
    too_short: Sequence[str]
    unsearched_text_count: int
    found_entries: Sequence[FoundWatchlistEntry]
    found_entry_count: int
    has_more: bool
    has_lists: bool

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out."""
        return self.has_lists and not (self.too_short or self.unsearched_text_count or self.has_more)


async def search_watchlists_for_case(context: ConsoleContext, subject_id: UUID) -> WatchlistSearchForCase | None:
    """Search the watchlists for the names and numbers of a case. None if its details were erased."""
    async with context.db.read() as tx:
        stored = await screenings.find_subject_by_id(tx, subject_id)
    if stored is None:
        return None
    details, wanted = stored.details, _texts_of(stored.details)
    entries: dict[tuple[str, str], FoundWatchlistEntry] = {}
    too_short: list[str] = []
    more, has_lists = False, False
    for text in wanted[:_MOST_TEXTS]:
        result = await screenings.search_watchlists(
            context.db, context.services.screener, text, details.kind, details.countries
        )
        more |= result.containing.more
        has_lists |= bool(result.lists)
        too_short += [text] if result.containing.too_short else []
        for one in _entries_of(result, text):
            key = one.entry.list, one.entry.listed.key
            earlier = entries.get(key, one)
            reasons = [*earlier.reasons, *one.reasons] if earlier is not one else one.reasons
            entries[key] = replace(one, score=max(one.score, earlier.score), reasons=reasons)
    found = sorted(entries.values(), key=lambda one: -one.score)
    more |= len(found) > _MOST_FOUND
    searched, unsearched = wanted[:_MOST_TEXTS], len(wanted[_MOST_TEXTS:])
    return WatchlistSearchForCase(
        details.kind, searched, too_short, unsearched, found[:_MOST_FOUND], len(found), more, has_lists
    )


def _texts_of(details: SubjectDetails) -> list[str]:
    """What to search for, the most telling first: the name, a number, the name in Latin letters, then all others."""
    reading = romanise_text(details.names[0], set(details.countries), details.names) if details.names else None
    first = [*details.names[:1], *details.identifiers[:1], *([reading.text] if reading else [])]
    return list(dict.fromkeys([*first, *details.names, *details.identifiers]))


def _entries_of(result: WatchlistSearchResult, text: str) -> Iterator[FoundWatchlistEntry]:
    """The entries that screening would flag, and others that contain the text, each with its list and the place.

    A number that is the same identifies an entry as well as the same name does.
    """
    titles = {one.code: one.title for one in result.lists}
    scores = {(hit.list, hit.entry_key): hit.score for hit in result.flagged}
    for key in [key for key in result.entries if key in scores]:
        title = titles.get(key[0], key[0])
        yield FoundWatchlistEntry(result.entries[key], title, scores[key], [(text, "a similar name")])
    for hit in result.containing.hits:
        entry = hit.entry
        if (entry.list, entry.listed.key) not in scores:
            places = ", ".join(PLACE_WORDS[place] for place in hit.places) or "its text"
            score = 1.0 if "number" in hit.places else 0.0
            yield FoundWatchlistEntry(entry, titles.get(entry.list, entry.list), score, [(text, places)])
