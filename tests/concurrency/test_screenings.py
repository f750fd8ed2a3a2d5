"""Whoever is compared while a list changes is met by its next version: nobody falls between the two."""

import asyncio
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.screening.screenings.domain import ScreenedSubject, SubjectDetails
from almoner.screening.screenings.service import Screener
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewNotOpen
from almoner.validation.ongoing.matches import service as matches
from tests.support.service import Service
from tests.support.watchlists import Lists, listing

AQSA, OTHER = "AL-MASJED AL-AQSA CHARITY FOUNDATION", "ZAVOD IMENI DEGTYAREVA"
SUBJECTS = 12


async def look(service: Service, screener: Screener, who: ScreenedSubject) -> None:
    asked = SubjectDetails("organisation", (AQSA,), ("USA",))
    await screener.run_with_current_watchlists(
        service.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=True)
    )


async def test_who_is_compared_during_a_load_meets_it(alone: Service, tmp_path: Path) -> None:
    partner, lists, screener = (await alone.tenant()).partner, Lists(alone.db, tmp_path), Screener()
    await lists.load(listing(1, OTHER))
    who = [ScreenedSubject("organisation", UUID(int=number), partner.id) for number in range(1, SUBJECTS + 1)]
    half = SUBJECTS // 2
    await asyncio.gather(
        *(look(alone, screener, one) for one in who[:half]),
        lists.load(listing(1, OTHER), listing(2, AQSA)),
        *(look(alone, screener, one) for one in who[half:]),
    )
    await alone.drain()
    async with alone.db.read() as tx:
        found = [(await matches.get_screening_result(tx, one)).status_in_category("sanction") for one in who]
    assert found == ["open"] * SUBJECTS


async def test_who_is_compared_during_the_first_load_of_all_meets_it(alone: Service, tmp_path: Path) -> None:
    partner, lists, screener = (await alone.tenant()).partner, Lists(alone.db, tmp_path), Screener()
    who = [ScreenedSubject("organisation", UUID(int=number), partner.id) for number in range(1, SUBJECTS + 1)]
    looked, loaded = asyncio.Event(), asyncio.Event()

    async def look_slowly(one: ScreenedSubject) -> None:
        async def screen(tx: Tx) -> None:
            await matches.screen(tx, screener, one, SubjectDetails("organisation", (AQSA,), ("USA",)), monitor=True)
            looked.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(loaded.wait(), 0.5)  # the load waits for this transaction, not the other way

        await screener.run_with_current_watchlists(alone.db, screen)

    async def load() -> None:
        await looked.wait()
        await lists.load(listing(1, AQSA))
        loaded.set()

    await asyncio.gather(*map(look_slowly, who[:4]), load())
    await asyncio.gather(*(look(alone, screener, one) for one in who[4:]))
    await alone.drain()
    async with alone.db.read() as tx:
        found = [(await matches.get_screening_result(tx, one)).status_in_category("sanction") for one in who]
    assert found == ["open"] * SUBJECTS


async def test_one_of_many_decides_a_match(alone: Service, tmp_path: Path) -> None:
    partner, lists = (await alone.tenant()).partner, Lists(alone.db, tmp_path)
    await lists.load(listing(1, AQSA))
    who = ScreenedSubject("organisation", UUID(int=1), partner.id)
    await look(alone, Screener(), who)
    async with alone.db.read() as tx:
        (match,) = (await matches.get_screening_result(tx, who)).matches

    async def decide(number: int) -> bool:
        verdict = ReviewDecision("accepted", None, f"operator_{number}", "Seen")
        if number % 2:
            verdict = ReviewDecision("rejected", "not_the_same", f"operator_{number}", "Seen")
        try:
            async with alone.db.write() as tx:
                await matches.decide_match(tx, ALL_PARTNERS, match.id, verdict)
        except ReviewNotOpen:
            return False
        return True

    assert sum(await asyncio.gather(*map(decide, range(8)))) == 1
    async with alone.db.read() as tx:
        assert await tx.fetchval("select count(*) from review_decision where kind = 'match'") == 1


async def test_one_record_compared_at_once_by_many_has_each_match_once(alone: Service, tmp_path: Path) -> None:
    partner, lists, screener = (await alone.tenant()).partner, Lists(alone.db, tmp_path), Screener()
    await lists.load(listing(1, AQSA))
    who = ScreenedSubject("organisation", UUID(int=1), partner.id)
    await asyncio.gather(*(look(alone, screener, who) for _ in range(8)))
    async with alone.db.read() as tx:
        assert len((await matches.get_screening_result(tx, who)).matches) == 1
        assert await tx.fetchval("select count(*) from review where kind = 'match'") == 1
