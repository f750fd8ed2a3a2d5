"""Whether a body or a person is one that is on a list: the names, then what else is known of both."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from almoner.screening.matching import tables
from almoner.screening.matching.comparison import compare
from almoner.screening.matching.domain import Entry, Likeness, ListedName, Match, Part, Party, Prepared, Subject
from almoner.screening.matching.index import Index
from almoner.screening.matching.places import Place, nearness, place
from almoner.screening.matching.spelling import plain
from almoner.screening.matching.words import prepare

FLAGGED: Final = 0.7
"""From here on a person looks at it."""
_WEAK: Final = 0.8
_COMMON: Final = 0.6
_EXACT: Final = 0.9
_ALIKE: Final = 1.0
_TELLING: Final = 2.0
"""What the words of a name must be worth for the name to tell anything by itself."""
_FEWEST_WORDS: Final = 2
_SAYS_WHO: Final = 1.5
"""What the words of a name must be worth, counted among registered bodies, for the very name to say who is meant."""
_NO_ABBREVIATION: Final = 4
"""Letters of a word that is more than initials: those are soon somebody else's too."""
_SAY_IT: Final = 6
"""Letters of a name of which slips are forgiven: those of shorter ones make another name of it."""
_ALONE: Final = 0.8
"""How alike names are of which nothing but themselves is known."""
_SELDOM: Final = 1.5
"""What both are worth then, unless they are nearly the very same."""
_COUNTRY_SAME, _COUNTRY_OTHER = 0.05, -0.35
_IDENTIFIER: Final = 0.3
_ADDRESS: Final = 0.15
_MOST_ADDED: Final = _IDENTIFIER + _ADDRESS + _COUNTRY_SAME


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What agrees or not beside the names.

    ``supports``: something does. ``strongly``: something that few subjects would share by chance. ``possible``:
    something could have been compared, had the list told it. ``alone``: of an unplaced subject nothing does.
    ``placed``: the list tells a country.
    """

    parts: tuple[Part, ...]
    supports: bool
    strongly: bool
    possible: bool
    alone: bool
    placed: bool


def _evidence(subject: Subject, entry: Entry, home: frozenset[str]) -> _Evidence:
    parts: list[Part] = []
    if shared := subject.identifiers & entry.identifiers:
        parts.append(Part("identifier", _IDENTIFIER, listed=" ".join(sorted(shared))))
    here = place(subject.address) if subject.address else None
    if at := next((one for one in entry.addresses if here and _shared(here, one)), None):
        parts.append(Part("street", _ADDRESS, listed=", ".join(line for line in (at.street, at.city) if line)))
    strongly = bool(parts)
    same = subject.countries & (entry.countries | entry.concerns)
    if same or (subject.countries and entry.countries and not subject.unplaced):
        told = " ".join(sorted(subject.countries)), " ".join(sorted(entry.countries | (same & entry.concerns)))
        parts.append(Part("country", _COUNTRY_SAME if same else _COUNTRY_OTHER, *told))
    supports = bool(same) or strongly
    return _Evidence(
        tuple(parts),
        supports,
        bool(same - home) or strongly,
        possible=bool(subject.countries) and (supports or not subject.unplaced),
        alone=subject.unplaced and not supports,
        placed=bool(entry.countries),
    )


def _shared(here: Place, listed: Party) -> bool:
    """Whether an address is one of a list, town and all: lists write what follows the street in one line."""
    near = nearness(here, place(listed))
    if near.street != "same" or near.country == "other":
        return False
    where = f" {plain(listed.city or '')} "
    told = (here.city, here.postcode)
    return near.city == "same" or any(one and f" {one} " in where for one in told)


def telling(name: Prepared) -> bool:
    """Whether a name alone says who is meant: two words at least, seldom ones, and nobody else bears it."""
    return len(name.words) >= _FEWEST_WORDS and name.total >= _TELLING and not name.bearers


def says_who(name: Prepared) -> bool:
    """Whether the very name says who is meant, nothing else being known: nearly no registered body has its words.

    Listed names are not counted: an entry would make its own words common.
    """
    counts = tables.registered()
    nobodys = any(len(word) >= _NO_ABBREVIATION and word.isalpha() and word not in counts.of for word in name.words)
    seldom = sum(map(counts.weight, set(name.words))) >= _SAYS_WHO
    return not name.bearers and (nobodys or (len(name.words) >= _FEWEST_WORDS and seldom))


def _the_very(asked: Prepared, listed: ListedName, evidence: _Evidence) -> bool:
    """Whether it is the whole strong name of an entry without a country: silence would be that it was not seen."""
    same = asked.joined == listed.name.joined or asked.whole == listed.name.whole
    return same and not listed.weak and not evidence.placed and says_who(asked) and says_who(listed.name)


def _nearly(likeness: Likeness, asked: Prepared, listed: ListedName, evidence: _Evidence) -> bool:
    """Whether it is a strong name that says who is meant, but for a slip, its order or a word that tells little.

    Of an entry in another country it would say nothing.
    """
    if listed.weak or (evidence.placed and not evidence.supports):
        return False
    letters = min(len(asked.joined), len(listed.name.joined))
    if likeness.score < _ALONE or letters < _SAY_IT or asked.bearers or not says_who(listed.name):
        return False
    return not any(part.finding == "spelling" and tables.words().exists(part.asked) for part in likeness.parts)


def _tells_alone(likeness: Likeness, asked: Prepared, listed: Prepared) -> bool:
    """Whether two names of which nothing else is known may be of one person: two words that are alike, and seldom."""
    if min(len(asked.words), len(listed.words)) < _FEWEST_WORDS:
        return False
    seldom = min(asked.total, listed.total) >= _SELDOM
    return likeness.score >= (_ALONE if seldom else _EXACT)


def _ceilings(likeness: Likeness, asked: Prepared, listed: ListedName, evidence: _Evidence) -> Iterator[Part]:
    """The most that a name can give: a weak one, one that says little, without something else that agrees."""
    if listed.weak:
        yield Part("weak", _WEAK)
    if evidence.alone:
        if not _tells_alone(likeness, asked, listed.name):
            yield Part("common", _COMMON)
        return
    if evidence.strongly or not evidence.possible or (telling(asked) and telling(listed.name)):
        return
    if _the_very(asked, listed, evidence) or _nearly(likeness, asked, listed, evidence):
        return
    if not evidence.supports or likeness.score < _EXACT:
        yield Part("common", _COMMON)


def _weighed(likeness: Likeness, asked: Prepared, listed: ListedName, evidence: _Evidence) -> tuple[float, list[Part]]:
    parts = [*likeness.parts]
    score = likeness.score
    for limit in _ceilings(likeness, asked, listed, evidence):
        if score > limit.points:
            parts.append(Part(limit.finding, limit.points - score, asked.name, listed.name.name))
            score = limit.points
    parts += evidence.parts
    total = sum(part.points for part in parts)
    score = min(max(total, 0.0), 1.0)
    if score != total:
        parts.append(Part("bounds", score - total))
    return score, parts


def match(
    subject: Subject, entry: Entry, names: Iterable[int] | None = None, *, home: frozenset[str] = frozenset()
) -> Match:
    """How likely a subject is the one of an entry: by all its names, or by those of some numbers.

    ``home``: countries where so many subjects are that to be there too tells little.
    """
    listed = entry.names if names is None else [entry.names[number] for number in names]
    return _best(subject, entry, listed, _evidence(subject, entry, home))


def _best(subject: Subject, entry: Entry, names: Iterable[ListedName], evidence: _Evidence) -> Match:
    best = Match(entry.id, 0.0, flagged=False, parts=(), vetoes=(), asked="", listed="")
    for asked in subject.names:
        for listed in names:
            likeness = compare(asked, listed.name, loose=evidence.strongly or not evidence.possible)
            if likeness.score + _MOST_ADDED > best.score:
                score, parts = _weighed(likeness, asked, listed, evidence)
                if score > best.score:
                    flagged = score >= FLAGGED and not likeness.vetoes
                    best = Match(entry.id, score, flagged, tuple(parts), likeness.vetoes, asked.name, listed.name.name)
    return best


class Watchlist:
    """Entries with an index over their names. ``matches`` gives what a person should see, best first."""

    def __init__(self, entries: Iterable[Entry], home: Iterable[str] = ()) -> None:
        self.home = frozenset(home)
        self.entries = tuple(entries)
        self._of = [(number, place) for number, entry in enumerate(self.entries) for place in range(len(entry.names))]
        self._index = Index(listed.name for entry in self.entries for listed in entry.names)

    def candidates(self, subject: Subject) -> dict[int, set[int]]:
        """The numbers of entries that are worth a comparison, with those of their names that are."""
        found: dict[int, set[int]] = {}
        loose = bool(
            subject.unplaced
            or not subject.countries
            or subject.countries - self.home
            or subject.identifiers
            or subject.address
        )
        for name in subject.names:
            for number in self._index.candidates(name, loose=loose):
                entry, place = self._of[number]
                found.setdefault(entry, set()).add(place)
        return found

    def matches(self, subject: Subject) -> list[Match]:
        """Entries that a person should look at, best first."""
        found = []
        for number, places in self.candidates(subject).items():
            entry = self.entries[number]
            evidence = _evidence(subject, entry, self.home)
            if _ALIKE + sum(part.points for part in evidence.parts) < FLAGGED:
                continue  # in another country, even the very name is not enough by itself
            one = _best(subject, entry, [entry.names[place] for place in sorted(places)], evidence)
            if one.flagged:
                found.append(one)
        return sorted(found, key=lambda one: (-one.score, one.entry))


def subject(
    names: Iterable[str],
    countries: Iterable[str] = (),
    identifiers: Iterable[str] = (),
) -> Subject:
    """Somebody to be screened, read once."""
    return Subject(tuple(prepare(name) for name in names), frozenset(countries), frozenset(identifiers))
