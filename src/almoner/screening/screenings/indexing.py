"""What watch lists say, held in memory so that comparing somebody with all of them takes a fraction of a millisecond.

It is made again when a list has another version; what a version says as before is not read again.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from sys import intern
from typing import Final, TypeVar
from uuid import UUID

from almoner.screening.matching import service as matching
from almoner.screening.matching.domain import Entry as Compared
from almoner.screening.matching.domain import ListedName as ComparedName
from almoner.screening.matching.domain import Match, Party, Prepared, Subject
from almoner.screening.screenings import programmes
from almoner.screening.screenings.domain import HOME, Asked, Hit, Side
from almoner.screening.watchlists.domain import KINDS, Category, Entry, Kind, ListedAddress, Version

Shared = TypeVar("Shared", bound=Hashable)
_WORD: Final = re.compile(r"\w+")
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Held:
    """One entry as it is compared."""

    list: str
    key: str
    kind: Kind
    category: Category
    since: UUID
    compared: Compared


def held(entry: Entry) -> Held | None:
    """An entry read for comparing; None for what nobody is compared with."""
    listed = entry.listed
    if listed.kind in ("vessel", "aircraft"):
        return None
    names = (ComparedName(_lean(matching.prepare(name.text)), name.kind == "weak_alias") for name in listed.names)
    compared = Compared(
        _id(entry.list, listed.key),
        tuple(name for name in names if name.name.words),
        _shared(frozenset(listed.countries)),
        _shared(frozenset(filter(None, map(identifier, listed.identifiers)))),
        tuple(map(_party, listed.addresses)) if listed.kind != "person" else (),  # applicants tell no address
        _shared(programmes.countries(listed.programmes)) if listed.kind != "person" else _NONE,
    )
    return Held(intern(entry.list), listed.key, listed.kind, entry.category, entry.since, compared)


def _id(code: str, key: str) -> str:
    return f"{code}/{key}"


@lru_cache(maxsize=1024)
def _shared(values: Shared) -> Shared:
    """One object for the many entries that have the same: memory."""
    return values


def _lean(name: Prepared) -> Prepared:
    """The name with what many names have held once."""
    return replace(name, words=tuple(map(intern, name.words)), kinds=_shared(name.kinds), forms=_shared(name.forms))


def _party(address: ListedAddress) -> Party:
    """Lists write an address in one line: the street, then the place."""
    street, _, city = address.text.partition(", ")
    return Party((), street=street, city=city or None, country=address.country)


def identifier(text: str) -> str | None:
    """A number as both sides have it: letters and digits alone. None for what is too short to tell anybody apart."""
    plain = "".join(one for one in text.upper() if one.isalnum())
    return plain if len(plain) > 4 and any(one.isdigit() for one in plain) else None


def subject(asked: Asked) -> Subject:
    """Somebody, read for comparing."""
    return Subject(
        tuple(name for name in map(matching.prepare, dict.fromkeys(asked.names)) if name.words),
        frozenset(asked.countries),
        frozenset(filter(None, map(identifier, asked.identifiers))),
        asked.address,
        unplaced=asked.kind == "person",
    )


class _Evidence:
    """Which entries share a number with somebody, or seem to share an address: few, and found without their names."""

    def __init__(self, entries: Iterable[Held]) -> None:
        self._numbers: dict[str, list[Compared]] = {}
        self._places: dict[tuple[str, str], list[Compared]] = {}
        for one in entries:
            for number in one.compared.identifiers:
                self._numbers.setdefault(number, []).append(one.compared)
            for key in {key for at in one.compared.addresses for key in _keys(at.street, (at.city or "").split(","))}:
                self._places.setdefault(key, []).append(one.compared)

    def of(self, asked: Subject) -> dict[str, Compared]:
        """Those entries, by their ids."""
        found = [one for number in asked.identifiers for one in self._numbers.get(number, ())]
        if (at := asked.address) is not None:
            for key in _keys(at.street, (at.city, (at.postcode or "").partition("-")[0])):
                found += self._places.get(key, ())
        return {one.id: one for one in found}


def _keys(street: str | None, places: Iterable[str | None]) -> Iterator[tuple[str, str]]:
    """A number of a street or a box, with a town or a postcode: what two writings of one address share."""
    numbers = {word for word in _WORD.findall((street or "").casefold()) if word[0].isdigit()}
    towns = {"".join(_WORD.findall((place or "").casefold())) for place in places}
    return ((number, town) for number in numbers for town in towns if town)


class Lists:
    """Entries of lists, by whom is compared with them."""

    def __init__(self, entries: Iterable[Held], versions: Sequence[Version]) -> None:
        kept = tuple(entries)
        self.versions = tuple(versions)
        self._named: dict[str, tuple[str, UUID]] = {one.code: (one.version, one.load.id) for one in versions}
        self._of = {one.compared.id: one for one in kept}
        of = {kind: [one for one in kept if one.kind in kinds] for kind, kinds in KINDS.items()}
        self._lists = {kind: matching.Watchlist((one.compared for one in held), HOME) for kind, held in of.items()}
        self._evidence = {kind: _Evidence(held) for kind, held in of.items()}

    def hits(self, asked: Asked) -> list[Hit]:
        """Who may be meant, best first.

        Names are looked for by themselves; whoever shares a number or an address is compared once more with all that
        is known, since then more slips are forgiven.
        """
        whole = subject(asked)
        found = {
            one.entry: one for one in self._lists[asked.kind].matches(replace(whole, identifiers=_NONE, address=None))
        }
        for entry, compared in self._evidence[asked.kind].of(whole).items():
            one = matching.match(whole, compared, home=HOME)
            if one.flagged:
                found[entry] = one
        return [self._hit(one) for one in sorted(found.values(), key=lambda one: (-one.score, one.entry))]

    def against(self, asked: Asked, code: str, key: str) -> Hit | None:
        """How an entry agrees, however little that is; None where the list does not name it any more."""
        if (one := self._of.get(_id(code, key))) is None or one.kind not in KINDS[asked.kind]:
            return None
        whole = subject(asked)
        found = matching.match(whole, one.compared, home=HOME)
        if not found.parts and whole.names and one.compared.names:  # nothing agrees
            found = replace(found, asked=whole.names[0].name, listed=one.compared.names[0].name.name)
        return self._hit(found)

    def _hit(self, found: Match) -> Hit:
        one = self._of[found.entry]
        version, load = self._named[one.list]
        subject_side, entry_side = _sides(found, one.category)
        return Hit(
            list=one.list,
            version=version,
            load=load,
            since=one.since,
            category=one.category,
            entry_key=one.key,
            score=found.score,
            parts=found.parts,
            asked=found.asked,
            listed=found.listed,
            subject_side=subject_side,
            entry_side=entry_side,
        )


def _sides(found: Match, category: Category) -> tuple[Side, Side]:
    """What mattered of each side: another spelling of the same words, or a new address elsewhere, does not."""
    mine = {"name": matching.prepare(found.asked).joined}
    theirs = {"name": matching.prepare(found.listed).joined, "category": category}
    for part in found.parts:
        if part.finding == "country":
            mine["countries"], theirs["countries"] = part.asked, part.listed
        elif part.finding in ("identifier", "street"):
            theirs[part.finding] = part.listed
        elif part.finding == "weak":
            theirs["weak"] = "yes"
    return mine, theirs
