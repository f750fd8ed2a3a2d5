"""What an update of a real list changes, and that comparing whom it could change equals comparing everybody."""

from itertools import chain
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from almoner.adapters.watchlist_ofac import SAMPLE, OfacReader
from almoner.cli import watchlists as terminal
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.observability import selfcheck
from almoner.screening.matching.domain import Party
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningResult, SubjectDetails
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import flows as watchlists_flows
from almoner.screening.watchlists import service
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.matches import checks as matches_checks
from almoner.validation.ongoing.matches import service as matches
from tests.support.service import Service
from tests.support.watchlists import Lists, listing

DATA = Path(__file__).parents[1] / "data" / "ofac"
WORDS = ("haramain", "degtyarev", "benevolence", "holy", "land", "relief", "casper", "tyre", "martyrs", "cacao", "unha")
COUNTRIES = ("USA", "LBN", "BIH", "RUS")
NATIONS = {"USA": "United States", "LBN": "Lebanon", "BIH": "Bosnia and Herzegovina", "RUS": "Russia"}
STREETS = ("12 Cedar Street", "7 Harbour Road", "99 Lenin Avenue")
TOWNS = ("Beirut", "Casper", "Kovrov")


async def test_two_days_of_the_real_list_are_seven_in_and_eight_out(alone: Service) -> None:
    sdn = OfacReader("ofac-sdn", "OFAC SDN, an excerpt", 1)
    before = await watchlists_flows.import_watchlist(alone.db, sdn, [DATA / "sdn_2024-05-01.csv"])
    after = await watchlists_flows.import_watchlist(alone.db, sdn, [DATA / "sdn_2024-05-03.csv"])
    assert (after.added, after.removed, after.changed) == (7, 8, 0)
    assert (before.version_label[:10], after.version_label[:10]) == ("2024-05-01", "2024-05-03")
    async with alone.db.read() as tx:
        changes = await service.get_import_changes(tx, after.id)
    assert {one.listed.names[0].text for one in changes.removed_entries} >= {"EMPEROR AVIATION LTD", "9H-AMN"}
    assert {one.listed.names[0].text for one in changes.added_entries} >= {"THE CRYSTAL GROUP", "TELEPORT COMPANY SAL"}
    assert (before.organisation_categories, before.person_categories, after.person_categories) == (
        ("sanction",),
        (),
        ("sanction",),
    )


async def test_the_shipped_sample_clears_bodies_and_has_somebody_to_find(alone: Service) -> None:
    for _ in range(2):  # the second start finds it loaded
        await terminal.load_sample_watchlist(alone.db)
    partner, screener = (await alone.tenant()).partner, Screener()
    lists = await screener.reload_index(alone.db)
    assert [(one.code, one.load.person_categories) for one in lists.versions] == [(SAMPLE.code, ())]
    for name, number, status in (
        ("Benevolence International Foundation", "36-3823186", "open"),
        ("Casper Garden Club", "83-0000000", "clear"),
    ):
        who = ScreenedSubject("organisation", UUID(int=len(name)), partner.id)
        asked = SubjectDetails("organisation", (name,), ("USA",), (number,))
        found = await look(alone, screener, who, asked)
        assert (found.status_in_category("sanction"), found.status_in_category("warning")) == (status, None)


def one_body(random: Random) -> SubjectDetails:
    """A body that shares some of what it has with entries: names, countries, numbers, streets."""
    country = random.choice(COUNTRIES)
    street = random.choice((*STREETS, None))
    address = Party((), street=street, city=random.choice(TOWNS), country=country) if street else None
    numbers = (f"REG-{random.randint(10000, 10030)}",) if random.random() < 0.5 else ()
    return SubjectDetails("organisation", (a_name(random),), (country,), numbers, address)


def a_name(random: Random) -> str:
    return " ".join(random.sample(WORDS, random.randint(1, 4))).upper()


def one_entry(random: Random, number: int) -> list[list[str]]:
    """An entry as OFAC writes it, in sdn.csv and add.csv."""
    remarks = []
    if random.random() < 0.6:
        remarks.append(f"nationality {NATIONS[random.choice(COUNTRIES)]}")
    if random.random() < 0.4:
        remarks.append(f"Registration ID REG-{random.randint(10000, 10030)}")
    if random.random() < 0.4:
        remarks.append(f"a.k.a. '{a_name(random)}'")
    rows = [listing(number, a_name(random), remarks="; ".join(remarks) + "." if remarks else "-0- ")]
    if random.random() < 0.5:
        country = NATIONS[random.choice(COUNTRIES)]
        rows.append([str(number), "1", random.choice(STREETS), random.choice(TOWNS), country, "-0- "])
    return rows


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 4))])
async def test_an_update_leaves_what_comparing_everybody_would_leave(alone: Service, tmp_path: Path, seed: int) -> None:
    random, screener, lists = Random(seed), Screener(), Lists(alone.db, tmp_path)
    partner = (await alone.tenant()).partner
    entries = {number: one_entry(random, number) for number in range(1, 60)}
    await lists.load(*chain.from_iterable(entries.values()))
    asked = {number: one_body(random) for number in range(1, 40)}
    await look_at_all(alone, screener, partner, asked)
    for _ in range(2):
        await decide_some(alone, random)
        await alone.drain()
        for number in random.sample(sorted(entries), 8):
            entries[number] = one_entry(random, number)
        for number in random.sample(sorted(entries), 5):
            entries.pop(number)
        for number in random.sample(range(60, 90), 8):
            entries[number] = one_entry(random, number)
        await lists.load(*chain.from_iterable(entries.values()))
        await alone.drain()
        touched = await snapshot(alone)
        await look_at_all(alone, screener, partner, asked)
        assert await snapshot(alone) == touched
        assert {row[8] for row in touched} == {"open", "confirmed", "cleared"}
        assert await self_check(alone) == []


async def look_at_all(service: Service, screener: Screener, partner: Partner, asked: dict[int, SubjectDetails]) -> None:
    for number, one in asked.items():
        who = ScreenedSubject("organisation", UUID(int=number), partner.id)
        await look(service, screener, who, one)


async def look(service: Service, screener: Screener, who: ScreenedSubject, asked: SubjectDetails) -> ScreeningResult:
    async def use(tx: Tx) -> ScreeningResult:
        return await matches.screen(tx, screener, who, asked, monitor=True)

    return await screener.run_with_current_watchlists(service.db, use)


async def decide_some(service: Service, random: Random) -> None:
    """Half of what waits is decided, and some of what was decided taken back."""
    async with service.db.read() as tx:
        rows = await tx.fetch("select id, awaiting_review, decision from screening_match order by id")
    for row in rows:
        async with service.db.write() as tx:
            if row["awaiting_review"] and random.random() < 0.5:
                verdict = ReviewDecision("accepted", None, "operator_1", "Seen")
                if random.random() < 0.5:
                    verdict = ReviewDecision("rejected", "not_the_same", "operator_1", "Seen")
                await matches.decide_match(tx, ALL_PARTNERS, row["id"], verdict)
            elif row["decision"] != "open" and not row["awaiting_review"] and random.random() < 0.1:
                await matches.reopen_match(tx, row["id"], "operator_1", "It was about another one")


async def snapshot(service: Service) -> list[tuple[object, ...]]:
    """All that is known of every subject, but for when."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select s.subject_id, m.list, m.entry_key, m.load_id, m.score, m.parts, m.subject_side, m.entry_side,
                m.decision, m.awaiting_review, m.current, m.last_decision, m.decided_subject, m.decided_entry
            from screening_match m join screening_subject s on s.id = m.screening_subject_id
            order by s.subject_id, m.entry_key
            """
        )
    return [tuple(row) for row in rows]


async def self_check(service: Service) -> list[str]:
    outcome = await selfcheck.run_selfcheck(service.db, matches_checks.checks)
    return [finding.check.name for finding in outcome.findings]
