"""What is compared, and what comes of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

Finding = Literal[
    "same", "spelling", "meaning", "together", "initials", "initial", "nickname", "cut", "asked_only", "listed_only",
    "replaced", "letters", "contained",
    "number", "direction", "place", "form", "branch", "unnamed", "second_line", "other_name", "name",
    "street", "postcode", "city", "state", "country", "address_unknown",
    "sound", "common", "rare", "weak", "identifier", "bounds",
]  # fmt: skip
"""What a part of a score is about: words that are the same, that are a slip apart, ..."""


ScreeningObstacle = Literal["script_uncertain", "script_not_supported", "no_words"]
"""Why silence says nothing of a name: letters are compared by sound alone, or not well enough; or it is of signs."""

Kind = Literal["word", "number", "year", "direction", "place"]
"""What a word is."""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A reason. The points of all parts add up to the score."""

    finding: Finding
    points: float
    asked: str = ""
    listed: str = ""


@dataclass(frozen=True, slots=True)
class Party:
    """An organisation as described by somebody: its names, the main one first, and its address.

    ``second_line``: of the principal name, where it has one; ``in_family``: others of its register have the first line
    of it too, None where that is not known.
    """

    names: Sequence[str]
    street: str | None = None
    city: str | None = None
    state: str | None = None
    postcode: str | None = None
    country: str | None = None
    second_line: str | None = None
    in_family: bool | None = None


@dataclass(frozen=True, slots=True)
class NameLikeness:
    """How alike two names are, 0 to 1. ``vetoes``: certain differences."""

    score: float
    parts: tuple[ScorePart, ...]
    vetoes: tuple[Finding, ...]
    asked: str
    listed: str


@dataclass(frozen=True, slots=True)
class PartyAgreement:
    """How well a searched party and a listed one agree, 0 to 1.

    ``name`` is the score of the names alone, which ``name_parts`` add up to; ``exact``: their words are the same.
    ``whole_name``: what agrees is the name with its first line, and not what the body is also called.
    ``differs_in_distinctive_word``: the word that tells the name from others agrees but for a slip. ``same_place``:
    street, postcode or city agree. ``located``: both sides tell a street or a box, so that addresses count.
    ``likely``: by their names alone they are one body. ``certain``: good enough to be accepted without a person.
    """

    score: float
    name: float
    located: bool
    likely: bool
    certain: bool
    parts: tuple[ScorePart, ...]
    vetoes: tuple[Finding, ...]
    name_parts: tuple[ScorePart, ...]
    exact: bool
    whole_name: bool
    differs_in_distinctive_word: bool
    same_place: bool
    same_state: bool


@dataclass(frozen=True, slots=True)
class SoundedName:
    """The sound of a name in a non-Latin script: keys of each word, and coarse spellings of the name.

    ``script``: of most of its letters. ``merges``: it does not tell l from r. ``is_spelt``: it writes all sounds, so
    that letters can be compared too. ``letters``: those of the script, in an order of their own. ``forms``: what the
    words around it mean that are a legal form.
    """

    script: str
    words: tuple[frozenset[str], ...]
    texts: tuple[str, ...]
    spellings: frozenset[str]
    merges: bool
    is_spelt: bool
    letters: str
    forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class PreparedName:
    """A name in normalised words, without weak ones, with the weight and kind of each.

    ``joined`` are the words without blanks, ``whole`` with weak ones, ``bearers`` says how many bodies of the master
    file bear the name, ``open`` that it ends as no name does, in OF, and so was cut; ``acronyms`` are those of its
    words that are the initials of others, ``bare`` is ``joined`` without a word that may be a legal form, ``sounds``
    how it sounds where it is in another script.
    """

    name: str
    words: tuple[str, ...]
    weights: tuple[float, ...]
    kinds: tuple[Kind, ...]
    forms: frozenset[str]
    joined: str
    whole: str
    total: float
    bearers: int
    open: bool
    acronyms: tuple[str, ...]
    bare: str = ""
    sounds: SoundedName | None = None


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """A watch list entry. ``names``: as written.

    ``countries`` and ``identifiers`` are in the form in which subjects have them, too.

    ``concerns``: countries that the entry is listed because of. They count where they agree, and against nobody.
    ``weak_names``: those of which the list itself says that they are poor ones to search by.
    """

    id: str
    names: tuple[str, ...]
    countries: frozenset[str] = frozenset()
    identifiers: Collection[str] = ()
    addresses: tuple[Party, ...] = ()
    concerns: frozenset[str] = frozenset()
    weak_names: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class PreparedSubject:
    """A subject to screen. ``unplaced``: its countries may be incomplete; a known one counts if it agrees."""

    names: tuple[PreparedName, ...]
    countries: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    address: Party | None = None
    unplaced: bool = False


@dataclass(frozen=True, slots=True)
class EntryMatch:
    """How likely a subject and an entry are the same. ``flagged``: a reviewer should look."""

    entry: str
    score: float
    flagged: bool
    parts: tuple[ScorePart, ...]
    vetoes: tuple[Finding, ...]
    asked: str
    listed: str
