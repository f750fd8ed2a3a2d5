"""The watchlists in memory: screening one subject takes a fraction of a millisecond.

The index is rebuilt when a list has a new version; unchanged entries are not prepared again.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeVar
from uuid import UUID

from almoner.screening.matching import service as matching
from almoner.screening.matching.domain import EntryMatch, Party, PreparedSubject
from almoner.screening.matching.domain import PreparedEntry as PreparedEntry
from almoner.screening.screenings import programmes
from almoner.screening.screenings.domain import HOME_COUNTRIES, MatchSide, SubjectDetails, WatchlistHit
from almoner.screening.watchlists.domain import (
    KINDS_BY_SUBJECT,
    Category,
    Kind,
    ListedAddress,
    WatchlistEntry,
    WatchlistVersion,
)

Shared = TypeVar("Shared", bound=Hashable)
_DIGIT: Final = re.compile(r"\d")
_NUMBER: Final = re.compile(r"\W*\w*\d\w*")
_WORD: Final = re.compile(r"\w+")
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class EntryOrigin:
    """What many entries have in common. ``changed_by_import_id``: the import that last changed them."""

    list: str
    kind: Kind
    category: Category
    changed_by_import_id: UUID


@dataclass(frozen=True, slots=True)
class IndexedEntry:
    """One list entry, prepared for comparison."""

    origin: EntryOrigin
    prepared_entry: PreparedEntry

    @property
    def key(self) -> str:
        """The entry's key in its list."""
        return self.prepared_entry.id.partition("/")[2]


def index_entry(entry: WatchlistEntry) -> IndexedEntry | None:
    """An entry prepared for comparison; None if it cannot be compared."""
    listed = entry.listed
    if listed.kind in ("vessel", "aircraft"):
        return None
    named = [name for name in listed.names if matching.prepare_name(name.text).words]
    strong = {name.text for name in named if name.kind != "weak_alias"}
    names = dict.fromkeys(name.text for name in named)
    compared = PreparedEntry(
        _entry_id(entry.list, listed.key),
        names,
        _interned_value(frozenset(listed.countries)),
        dict.fromkeys(filter(None, map(normalise_identifier, listed.identifiers))),
        map(_parse_party, listed.addresses) if listed.kind != "person" else (),  # persons: no addresses
        _interned_value(programmes.countries_of_sanctions_programmes(listed.programmes))
        if listed.kind != "person"
        else _NONE,
        names.keys() - strong,
    )
    return IndexedEntry(
        _interned_value(EntryOrigin(entry.list, listed.kind, entry.category, entry.changed_by_import_id)), compared
    )


def _entry_id(code: str, key: str) -> str:
    return f"{code}/{key}"


@lru_cache(maxsize=1024)
def _interned_value(values: Shared) -> Shared:
    """Return one shared object for equal values, to save memory."""
    return values


def _parse_party(address: ListedAddress) -> Party:
    """Split an address on one line into the street and the rest."""
    street, _, city = address.text.partition(", ")
    return Party((), street=street, city=city or None, country=address.country)


def normalise_identifier(text: str) -> str | None:
    """A number reduced to letters and digits for comparison; None if it is too short to be distinctive."""
    plain = "".join(filter(str.isalnum, text.upper()))
    return plain if len(plain) > 4 and any(map(str.isdigit, plain)) else None


def prepare_subject_details(subject_details: SubjectDetails) -> PreparedSubject:
    """Prepare a subject's details for comparison, in every romanisation of its names.

    Of one word and a number, the word is compared by itself, too: HESBOLA 1.
    """
    person = subject_details.kind == "person"
    return PreparedSubject(
        tuple(
            name if spelling is text else replace(name, name=text)
            for text in dict.fromkeys(subject_details.names)
            for spelling in (text, *matching.alternative_romanisations(text), *_without_number(text))
            if (name := matching.prepare_name(spelling, is_person=person)).words
        ),
        frozenset(subject_details.countries),
        frozenset(filter(None, map(normalise_identifier, subject_details.identifiers))),
        subject_details.address,
        are_countries_incomplete=person,
    )


def _without_number(text: str) -> tuple[str, ...]:
    """The name without its numbers if one word is left."""
    if not _DIGIT.search(text):
        return ()
    rest = _NUMBER.sub("", text)
    return (rest,) if rest != text and len(matching.prepare_name(rest).words) == 1 else ()


class _EvidenceIndex:
    """Finds the few entries that share an identifier, or probably an address, with a subject, whatever their names."""

    def __init__(self, entries: Sequence[IndexedEntry]) -> None:
        self._entries = entries
        listed = [(place, one.prepared_entry) for place, one in enumerate(entries)]
        self._numbers = matching.PostingLists((number, place) for place, one in listed for number in one.identifiers)
        self._places = matching.PostingLists(
            (key, place)
            for place, one in listed
            for key in {
                key for at in one.address_parties for key in _address_keys(at.street, (at.city or "").split(","))
            }
        )

    def of(self, subject: PreparedSubject) -> dict[str, PreparedEntry]:
        """The entries found, by their IDs."""
        found = [place for number in subject.identifiers for place in self._numbers[number]]
        if (at := subject.address_party) is not None:
            for key in _address_keys(at.street, (at.city, (at.postcode or "").partition("-")[0])):
                found += self._places[key]
        return {one.id: one for one in (self._entries[place].prepared_entry for place in found)}


def _address_keys(street: str | None, places: Iterable[str | None]) -> Iterator[str]:
    """Street or box numbers combined with a town or postcode: keys that two spellings of one address share."""
    numbers = {word for word in _WORD.findall((street or "").casefold()) if word[0].isdigit()}
    towns = {"".join(_WORD.findall((place or "").casefold())) for place in places}
    return (f"{number} {town}" for number in numbers for town in towns if town)


class ScreeningIndex:
    """Prepared list entries, by kind of subject."""

    def __init__(self, entries: Iterable[IndexedEntry], versions: Sequence[WatchlistVersion]) -> None:
        self.entries = tuple(entries)
        self.versions = tuple(versions)
        self._named: dict[str, tuple[str, UUID]] = {one.code: (one.version_label, one.load.id) for one in versions}
        self._positions = matching.PostingLists(
            (one.prepared_entry.id, place) for place, one in enumerate(self.entries)
        )
        of = {
            kind: [one for one in self.entries if one.origin.kind in kinds] for kind, kinds in KINDS_BY_SUBJECT.items()
        }
        self._lists = {
            kind: matching.WatchlistMatcher(
                (one.prepared_entry for one in held), HOME_COUNTRIES, persons=kind == "person"
            )
            for kind, held in of.items()
        }
        self._evidence = {kind: _EvidenceIndex(held) for kind, held in of.items()}

    def find_hits(self, subject_details: SubjectDetails) -> list[WatchlistHit]:
        """Return the entries that may be the subject, best first.

        Names are searched without other evidence; entries that share an identifier or address are compared again with
        all evidence, which allows more typos.
        """
        whole = prepare_subject_details(subject_details)
        named = PreparedSubject(whole.names, whole.countries, are_countries_incomplete=whole.are_countries_incomplete)
        found = {one.entry_id: one for one in self._lists[subject_details.kind].find_matches(named)}
        for entry, compared in self._evidence[subject_details.kind].of(whole).items():
            one = matching.match_entry(whole, compared, home_countries=HOME_COUNTRIES)
            if one.requires_review:
                found[entry] = one
        return [self._hit(one) for one in sorted(found.values(), key=lambda one: (-one.score, one.entry_id))]

    def find_similar_hits(
        self, subject_details: SubjectDetails, min_score: float, max_count: int
    ) -> list[WatchlistHit]:
        """Return up to ``max_count`` entries with a score of at least ``min_score`` that are not flagged, best first.

        They are searched by name only.
        """
        flagged = {_entry_id(hit.list, hit.entry_key) for hit in self.find_hits(subject_details)}
        whole = prepare_subject_details(subject_details)
        found = self._lists[subject_details.kind].find_matches_with_min_score(whole, min_score=min_score)
        return [self._hit(one) for one in found if one.entry_id not in flagged][:max_count]

    def compare_with_entry(
        self, subject_details: SubjectDetails, list_code: str, entry_key: str
    ) -> WatchlistHit | None:
        """Compare a subject with one entry, however low the score; None if the entry is no longer listed."""
        one = self._find_entry(_entry_id(list_code, entry_key))
        if one is None or one.origin.kind not in KINDS_BY_SUBJECT[subject_details.kind]:
            return None
        whole = prepare_subject_details(subject_details)
        found = matching.match_entry(whole, one.prepared_entry, home_countries=HOME_COUNTRIES)
        if not found.parts and whole.names and one.prepared_entry.names:  # nothing agrees
            found = replace(found, searched_name=whole.names[0].name, listed_name=one.prepared_entry.names[0])
        return self._hit(found)

    def _find_entry(self, entry_id: str) -> IndexedEntry | None:
        found = (self.entries[place] for place in self._positions[entry_id])
        return next((one for one in found if one.prepared_entry.id == entry_id), None)

    def _hit(self, found: EntryMatch) -> WatchlistHit:
        one = self._find_entry(found.entry_id)
        assert one is not None, "it was found among them"
        version, load = self._named[one.origin.list]
        subject_side, entry_side = _sides(found, one.origin.category)
        return WatchlistHit(
            list=one.origin.list,
            version=version,
            import_id=load,
            entry_changed_by_import_id=one.origin.changed_by_import_id,
            category=one.origin.category,
            entry_key=one.key,
            score=found.score,
            parts=found.parts,
            searched_name=found.searched_name,
            listed_name=found.listed_name,
            subject_side=subject_side,
            entry_side=entry_side,
        )


def _sides(found: EntryMatch, category: Category) -> tuple[MatchSide, MatchSide]:
    """The facts of each side that a decision depends on; another spelling of the same words changes nothing."""
    mine = {"name": matching.prepare_name(found.searched_name).joined_words}
    other = {"name": matching.prepare_name(found.listed_name).joined_words, "category": category}
    for part in found.parts:
        if part.finding == "country":
            mine["countries"], other["countries"] = part.asked, part.listed
        elif part.finding in ("identifier", "street"):
            other[part.finding] = part.listed
        elif part.finding == "weak":
            other["weak"] = "yes"
    return mine, other
