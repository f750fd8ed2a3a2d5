"""After an update of a list only those are compared again whom it could change, and nothing is missed by that."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.screening.matching.domain import Party
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import ScreenedSubject, SubjectDetails
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import WatchlistImport
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.matches import service as matches
from tests.support.service import Service
from tests.support.watchlists import Lists, listing

WORDS = ("haramain", "degtyarev", "benevolence", "holy", "land", "relief", "casper", "tyre", "martyrs", "cacao", "unha")
PLACES = {"USA": "United States", "IRN": "Iran", "LBN": "Lebanon"}
NUMBERS = ("745-95112", "10021-7", "83-0000001")
STREETS = ("12 Sour Street", "7 Elm Road", "PO Box 44")
DECISIONS = (
    ReviewDecision("accepted", None, "operator_1", "The passport says so"),
    ReviewDecision("rejected", "not_the_same", "operator_1", "Another town, another board"),
)


def name(random: Random) -> str:
    return " ".join(random.sample(WORDS, random.randint(2, 4))).upper()


def somebody(random: Random) -> SubjectDetails:
    """A body with a name, and now and then a country, a number and an address."""
    country = random.choice([None, *PLACES])
    at = Party((), random.choice(STREETS), "Tyre", None, None, country) if random.random() < 0.5 else None
    number = (random.choice(NUMBERS),) if random.random() < 0.3 else ()
    return SubjectDetails("organisation", (name(random),), (country,) if country else (), number, at)


@dataclass
class Listing:
    """A list that is changed at random."""

    random: Random
    entries: dict[int, tuple[list[str], list[str] | None]] = field(default_factory=dict)

    def enter(self, number: int) -> None:
        """A new entry, or a changed one, with as much as a body may have."""
        country = self.random.choice(list(PLACES.values()))
        remarks = "-0- "
        if self.random.random() < 0.4:
            remarks = f"Tax ID No. {self.random.choice(NUMBERS)} ({country})."
        elif self.random.random() < 0.4:
            remarks = f"Nationality of Registration {country}."
        address = None
        if self.random.random() < 0.4:
            address = [str(number), "1", self.random.choice(STREETS), "Tyre", country, "-0- "]
        self.entries[number] = listing(number, name(self.random), remarks=remarks), address

    def change(self) -> None:
        """Some go, some come or are others now."""
        for number in self.random.sample(sorted(self.entries), 6):
            self.entries.pop(number)
        for number in self.random.sample(range(1, 60), 6):
            self.enter(number)

    async def load(self, lists: Lists) -> WatchlistImport:
        """As it is now."""
        addresses = [address for _, address in self.entries.values() if address is not None]
        return await lists.load(*(row for row, _ in self.entries.values()), addresses=addresses)


@dataclass
class Watched:
    """Bodies that are watched."""

    service: Service
    partner: Partner
    organisation_categories: dict[int, SubjectDetails]
    screener: Screener = field(default_factory=Screener)

    async def look(self) -> None:
        """Compare each with all there is."""
        for number, asked in self.organisation_categories.items():
            who = ScreenedSubject("organisation", UUID(int=number), self.partner.id)
            await self.screener.run_with_current_watchlists(self.service.db, partial(self._look, who, asked))

    async def _look(self, who: ScreenedSubject, asked: SubjectDetails, tx: Tx) -> None:
        await matches.screen(tx, self.screener, who, asked, monitor=True)

    async def decide(self, random: Random) -> int:
        """Of about half of what waits a person decides; how many there were."""
        async with self.service.db.read() as tx:
            waiting = [
                row["id"] for row in await tx.fetch("select id from screening_match where awaiting_review order by id")
            ]
        chosen = random.sample(waiting, len(waiting) // 2)
        for match in chosen:
            async with self.service.db.write() as tx:
                await matches.decide_match(tx, ALL_PARTNERS, match, random.choice(DECISIONS))
        return len(chosen)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 4))])
async def test_an_update_touches_what_it_could_change_and_equals_a_full_one(
    alone: Service, tmp_path: Path, seed: int
) -> None:
    random, lists = Random(seed), Lists(alone.db, tmp_path)
    listed = Listing(random)
    for number in range(1, 40):
        listed.enter(number)
    await listed.load(lists)
    partner = (await alone.tenant()).partner
    watched = Watched(alone, partner, {number: somebody(random) for number in range(1, 40)})
    await watched.look()
    await alone.drain()
    decided = 0
    for _ in range(2):
        decided += await watched.decide(random)
        await alone.drain()
        before = await snapshot(alone)
        listed.change()
        load = await listed.load(lists)
        could = await could_change(alone, load.id, watched.organisation_categories)
        await alone.drain()
        after = await snapshot(alone)
        changed = {subject for subject in watched.organisation_categories if before.get(subject) != after.get(subject)}
        assert changed
        assert changed <= could
        await watched.look()
        assert await snapshot(alone) == after
    assert decided > 3


async def snapshot(service: Service) -> dict[int, list[tuple[object, ...]]]:
    """All that is known of every subject."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select s.subject_id, m.list, m.entry_key, m.load_id, m.score, m.parts, m.subject_side, m.entry_side,
                m.decision, m.awaiting_review, m.current, m.last_decision, m.decided_subject, m.decided_entry
            from screening_match m join screening_subject s on s.id = m.screening_subject_id
            order by s.subject_id, m.entry_key
            """
        )
    found: dict[int, list[tuple[object, ...]]] = {}
    for row in rows:
        found.setdefault(row["subject_id"].int, []).append(tuple(row)[1:])
    return found


async def could_change(service: Service, load: UUID, bodies: dict[int, SubjectDetails]) -> set[int]:
    """Subjects that match what a load brought or ended."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select s.subject_id from screening_match m join screening_subject s on s.id = m.screening_subject_id
            join watchlist_entry e on e.list = m.list and e.entry_key = m.entry_key and e.until_load_id = $1
            """,
            load,
        )
        fresh = await screenings.build_import_index(tx, load)
    return {row["subject_id"].int for row in rows} | {
        number for number, asked in bodies.items() if fresh.find_hits(asked)
    }
