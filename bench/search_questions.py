"""The questions for organisation search, and how a result counts."""

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.nonprofits.organisations.normalisation import NOT_IN_INITIALS, STOP_WORDS, normalise_search_text
from almoner.platform.database.transactions import ALL_PARTNERS, Database

SEED = 20261121
SHOWN = 25
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Body:
    """The intended organisation."""

    name: str
    number: str
    city: str | None
    country: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is typed, the intended name, and the filters."""

    text: str
    meant: str
    filters: OrganisationFilters = field(default_factory=OrganisationFilters)


@dataclass(slots=True)
class Figures:
    """The results of a kind of question: seconds of each, and the position of the name (None: not found)."""

    seconds: list[float]
    places: list[int | None]

    def at(self, share: float) -> float:
        """The milliseconds within which that share was answered."""
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000

    def found(self, first: int) -> float:
        """The share that was found among the first so many."""
        return sum(place is not None and place < first for place in self.places) / len(self.places)


Ask = Callable[[Question], Awaitable[Sequence[str]]]
"""Answers a question with normalised names, best first."""


def slip(text: str, pick: random.Random) -> str:
    """One typo in a letter: left out, doubled, replaced, or swapped with its neighbour."""
    places = [place for place, letter in enumerate(text) if letter.isalpha()]
    if not places:
        return text
    place = pick.choice(places)
    before, letter, after = text[:place], text[place], text[place + 1 :]
    match pick.randrange(4):
        case 0:
            return before + after
        case 1:
            return before + letter + pick.choice(LETTERS) + after
        case 2:
            return before + pick.choice(LETTERS) + after
    return before + after[:1] + letter + after[1:]


def two_slips(body: Body, pick: random.Random) -> str:
    """The name in lower case with two typos."""
    return slip(slip(body.name.lower(), pick), pick)


def initials(body: Body) -> str:
    """The initials of a name: of all its words except short ones and its legal form."""
    words = normalise_search_text(body.name).split()
    return "".join(word[0] for word in words if word not in STOP_WORDS | NOT_IN_INITIALS)


def keystrokes(bodies: Sequence[Body]) -> list[Question]:
    """Every beginning of every name, as it is typed."""
    return [Question(body.name[:typed].lower(), body.name) for body in bodies for typed in range(1, len(body.name) + 1)]


KINDS: dict[str, Callable[[Body, random.Random], Question]] = {
    "whole name": lambda body, _: Question(body.name.lower(), body.name),
    "one slip": lambda body, pick: Question(slip(body.name.lower(), pick), body.name),
    "two slips": lambda body, pick: Question(two_slips(body, pick), body.name),
    "two slips, with the place": lambda body, pick: Question(
        f"{two_slips(body, pick)} {(body.city or '').lower()}", body.name
    ),
    "two slips, within a country": lambda body, pick: Question(
        two_slips(body, pick), body.name, OrganisationFilters(country_code=body.country)
    ),
    "number": lambda body, _: Question(f"{body.number[:2]}-{body.number[2:]}", body.name),
    "number without its zeros": lambda body, _: Question(body.number.lstrip("0"), body.name),
    "initials with the place": lambda body, _: Question(f"{initials(body)} {(body.city or '').lower()}", body.name),
}

ASKED_OF: dict[str, Callable[[Body], bool]] = {
    "number without its zeros": lambda body: body.number.startswith("0"),
    "initials with the place": lambda body: bool(body.city) and 3 <= len(initials(body)) <= 6,
}
"""Which organisations a kind of question is about, if not all."""

HARD = (
    *("foundation", "inc", "church", "american", "the", "a", "e", "of", "first baptist church", "american legion"),
    *("international association of lions clubs", "friends of the", "new york", "washington dc", "foundation inc"),
    *("7", "2024", "100", "501", "0", "st", "san", "ch", "un", "qqqqqq", "zzzz yyyy xxxx", "xx yy zz"),
    *(
        "foundtaion",
        "chruch",
        "asociation",
        "untied",
        "redcross",
        "a.c.l.u.",
        "y m c a",
        "\u041a\u0440\u0430\u0441\u043d\u044b\u0439 \u041a\u0440\u0435\u0441\u0442",
    ),
    *(
        "\u4e2d\u56fd\u7ea2\u5341\u5b57\u4f1a",
        "a " * 250,
        "foundation church american " * 18,
        "x" * 500,
        "foundtion " * 50,
    ),
    *("the first church of the community association of america foundation international national club",),
    *("the first united methodist church of the city of new york", "veterans of foreign wars post 1234"),
    *("friends of the public library foundation inc of new york city", "american red cross 53-0196605"),
)
"""The most common words, single letters, digits, nonsense, the longest queries, and names that nobody has."""


async def measured(ask: Ask, questions: Sequence[Question]) -> Figures:
    """Ask the questions one after the other."""
    figures = Figures([], [])
    for question in questions:
        started = time.perf_counter()
        names = await ask(question)
        figures.seconds.append(time.perf_counter() - started)
        meant = normalise_search_text(question.meant)
        figures.places.append(names.index(meant) if meant in names else None)
    return figures


def ours(db: Database) -> Ask:
    """The service's own search."""

    async def ask(question: Question) -> Sequence[str]:
        async with db.read() as tx:
            found = await organisations.search_by_text(
                tx, ALL_PARTNERS, question.filters, question.text, 0, SHOWN, best_first=True
            )
        return [normalise_search_text(row.name) for row in found.organisations]

    return ask


async def sampled(db: Database, count: int) -> list[Body]:
    """A sample of the register's organisations, the same each time."""
    async with db.read() as tx:
        rows = await tx.fetch(
            """
            select name, registry_number, city, country_code from organisation where partner_id is null
            order by md5(registry_number || $1) limit $2
            """,
            str(SEED),
            count,
        )
    return [Body(row["name"], row["registry_number"], row["city"], row["country_code"]) for row in rows]
