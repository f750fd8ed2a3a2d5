"""A list that contains another one takes its place: nobody is asked twice about one body, and decisions hold."""

from pathlib import Path
from uuid import UUID

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import ScreeningMatch
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import WatchlistImportRefused
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.matches import service as matches
from tests.support.service import Service
from tests.support.watchlists import Lists, body, listing

AQSA, ZAVOD = "AL-MASJED AL-AQSA CHARITY FOUNDATION", "ZAVOD IMENI DEGTYAREVA"
SAMPLE, WHOLE = "ofac-sdn-sample", "ofac-sdn"
DECISIONS = {
    "cleared": ReviewDecision("rejected", "not_the_same", "operator_1", "Another town, another board"),
    "confirmed": ReviewDecision("accepted", None, "operator_1", "The passport says so"),
}


@pytest.fixture
def lists(alone: Service, tmp_path: Path) -> Lists:
    return Lists(alone.db, tmp_path)


async def watch(service: Service, number: int, name: str) -> ScreeningMatch:
    screener, (who, asked) = Screener(), body((await service.tenant()).partner, UUID(int=number), name)
    found = await screener.run_with_current_watchlists(
        service.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=True)
    )
    (match,) = found.matches
    return match


async def now(service: Service, match: ScreeningMatch) -> tuple[list[tuple[str, str, bool]], list[str]]:
    """What is known of the record of a match, and what waits for a person."""
    async with service.db.read() as tx:
        current = (await matches.get_screening_result(tx, match.subject)).matches
        asked = await tx.fetch("select subject_id from review where kind = 'match' and status = 'open'")
        waiting = [await screenings.find_match(tx, row["subject_id"]) for row in asked]
    return (
        [(one.list, one.decision, one.awaiting_review) for one in current],
        [one.list for one in waiting if one is not None and one.subject == match.subject],
    )


async def loaded(service: Service) -> dict[str, int]:
    async with service.db.read() as tx:
        return {one.code: one.load.entries for one in await watchlists.list_current_versions(tx)}


@pytest.mark.parametrize("decision", DECISIONS)
async def test_what_was_decided_of_the_sample_holds_for_the_whole_list(
    alone: Service, lists: Lists, decision: str
) -> None:
    await lists.load(listing(1, AQSA), listing(2, ZAVOD), code=SAMPLE)
    decided, waiting = await watch(alone, 1, AQSA), await watch(alone, 2, ZAVOD)
    async with alone.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, decided.id, DECISIONS[decision])
    await alone.drain()
    await lists.load(listing(1, AQSA), listing(2, ZAVOD), listing(3, "HOUSE OF CACAO"), code=WHOLE)
    await alone.drain()
    assert await loaded(alone) == {SAMPLE: 0, WHOLE: 3}
    assert await now(alone, decided) == ([(WHOLE, decision, False)], [])
    assert await now(alone, waiting) == ([(WHOLE, "open", True)], [WHOLE])
    async with alone.db.read() as tx:
        (match,) = (await matches.get_screening_result(tx, decided.subject)).matches
        (reported,) = (await reviews.load_review_history(tx, matches.review_subject_for(match))).decisions
    assert reported.decision.by == "operator_1"
    assert reported.decision.note is not None
    assert reported.decision.note.endswith(DECISIONS[decision].note or "")


async def test_who_is_otherwise_in_the_whole_list_is_asked_about(alone: Service, lists: Lists) -> None:
    await lists.load(listing(1, AQSA), code=SAMPLE)
    match = await watch(alone, 1, AQSA)
    async with alone.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, match.id, DECISIONS["cleared"])
    await lists.load(listing(1, "AL-MASJED AL-AQSA CHARITY FOUNDATION OF TYRE"), code=WHOLE)
    await alone.drain()
    assert await now(alone, match) == ([(WHOLE, "open", True)], [WHOLE])


async def test_the_sample_is_not_loaded_beside_the_whole_list(alone: Service, lists: Lists) -> None:
    await lists.load(listing(1, AQSA), code=WHOLE)
    with pytest.raises(WatchlistImportRefused, match="ofac-sdn is loaded and contains all entries of ofac-sdn-sample"):
        await lists.load(listing(1, AQSA), code=SAMPLE)
    assert await loaded(alone) == {WHOLE: 1}
