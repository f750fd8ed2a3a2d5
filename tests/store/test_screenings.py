"""Whoever matches a list is decided about once, until either side changes in what mattered; updates touch few."""

from pathlib import Path
from uuid import UUID

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningMatch, ScreeningResult, SubjectDetails
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import flows as watchlists_flows
from almoner.screening.watchlists.domain import WatchlistImportRefused
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewNotOpen, ReviewRefused
from almoner.validation.ongoing.matches import review_handler
from almoner.validation.ongoing.matches import service as matches
from tests.support.service import Service
from tests.support.watchlists import Lists, listing

AQSA = "AL-MASJED AL-AQSA CHARITY FOUNDATION"
SAME = ReviewDecision("accepted", None, "operator_1", "The passport says so")
OTHER = ReviewDecision("rejected", "not_the_same", "operator_1", "Another town, another board")


@pytest.fixture
async def partner(alone: Service) -> Partner:
    return (await alone.tenant()).partner


@pytest.fixture
def lists(alone: Service, tmp_path: Path) -> Lists:
    return Lists(alone.db, tmp_path)


class Desk:
    """Has one record compared, and decides."""

    def __init__(self, service: Service, partner: Partner, number: int = 1, screener: Screener | None = None) -> None:
        self.service = service
        self.db = service.db
        self.screener = screener or Screener()
        self.subject = ScreenedSubject("organisation", UUID(int=number), partner.id)

    async def look(self, *names: str, countries: tuple[str, ...] = ("USA",), **more: object) -> ScreeningResult:
        asked = SubjectDetails("organisation", names or (AQSA,), countries, **more)  # type: ignore[arg-type]

        async def use(tx: Tx) -> ScreeningResult:
            return await matches.screen(tx, self.screener, self.subject, asked, monitor=True)

        return await self.screener.run_with_current_watchlists(self.db, use)

    async def known(self) -> ScreeningResult:
        async with self.db.read() as tx:
            return await matches.get_screening_result(tx, self.subject)

    async def decide(self, match: ScreeningMatch, decision: ReviewDecision) -> None:
        async with self.db.write() as tx:
            await matches.decide_match(tx, ALL_PARTNERS, match.id, decision)

    async def reopen(self, match: ScreeningMatch) -> None:
        async with self.db.write() as tx:
            await reviews.reopen_decision(
                tx, review_handler.REVIEW_HANDLER, match.id, "operator_2", "It was about another one"
            )

    async def open(self, match: ScreeningMatch) -> list[str] | None:
        """Why it waits for a person, if it does."""
        async with self.db.read() as tx:
            review = (await reviews.load_review_history(tx, matches.review_subject_for(match))).current_open_review
        return list(review.reasons) if review else None


@pytest.fixture
def desk(alone: Service, partner: Partner) -> Desk:
    return Desk(alone, partner)


async def test_a_category_without_a_loaded_list_is_never_clear(desk: Desk, lists: Lists) -> None:
    assert (await desk.look("Casper Relief Fund")).status_in_category("sanction") is None
    await lists.load(listing(1, AQSA))
    found = await desk.look("Casper Relief Fund")
    assert (found.status_in_category("sanction"), found.status_in_category("warning")) == ("clear", None)


async def test_a_match_waits_for_a_person_and_explains_itself(desk: Desk, lists: Lists) -> None:
    load = await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    assert (match.list, match.entry_key, match.category, match.entry_changed_by_import_id) == (
        "ofac-sdn",
        "1",
        "sanction",
        load.id,
    )
    assert match.decision == "open"
    assert match.score == pytest.approx(sum(part.points for part in match.parts), abs=1e-6)
    assert await desk.open(match) == ["listed:sanction"]
    async with desk.db.read() as tx:
        shown = await review_handler.REVIEW_HANDLER.load_evidence(tx, match.id)
    facts = dict(shown.facts)
    assert facts["list"] == f"List ofac-sdn, version {load.version_label}"
    assert facts["listed name, primary"] == AQSA
    assert {step.name for step in shown.steps} >= {"same"}


@pytest.mark.parametrize(("decision", "status"), [(SAME, "confirmed"), (OTHER, "clear")])
async def test_what_a_person_decided_is_remembered(
    desk: Desk, lists: Lists, decision: ReviewDecision, status: str
) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    await desk.decide(match, decision)
    assert (await desk.known()).status_in_category("sanction") == status
    again = await desk.look()
    assert (again.status_in_category("sanction"), again.newly_awaiting_review, again.has_changed) == (status, [], False)
    assert await desk.open(match) is None
    with pytest.raises(ReviewNotOpen):
        await desk.decide(match, SAME)


async def test_a_cleared_match_stays_cleared_over_what_does_not_matter(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    await desk.decide(match, OTHER)
    await lists.load(listing(1, AQSA, programme="SDGT] [FTO"), listing(2, "ZAVOD IMENI DEGTYAREVA"))
    renamed = await desk.look("Al-Masjed Al-Aqsa Charity Foundation, Inc.", "Garden Club of Casper")
    assert (renamed.status_in_category("sanction"), renamed.newly_awaiting_review) == ("clear", [])
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"))
    assert (await desk.look()).matches == []
    await lists.load(listing(1, AQSA))
    assert [one.decision for one in (await desk.look()).matches] == ["cleared"]


async def test_a_cleared_match_reopens_with_the_difference(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    await desk.decide(match, OTHER)
    await lists.load(listing(1, AQSA, remarks="nationality Bosnia and Herzegovina."))
    (again,) = (await desk.look(countries=("BIH",))).newly_awaiting_review
    assert (again.id, again.decision) == (match.id, "open")
    assert [(one.side, one.field_name, one.before, one.after) for one in again.changes_since_decision] == [
        ("subject", "countries", None, "BIH"),
        ("entry", "countries", None, "BIH"),
    ]
    assert await desk.open(again) == ["listed:sanction", "changed_since_decided"]


async def test_a_confirmed_match_stays_confirmed_while_a_person_is_asked_about_a_difference(
    desk: Desk, lists: Lists
) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    await desk.decide(match, SAME)
    await lists.load(listing(1, "AL-MASJED AL-AQSA CHARITY FOUNDATION OF TYRE"))
    (again,) = (await desk.look()).newly_awaiting_review
    assert (again.id, again.decision, (await desk.known()).status_in_category("sanction")) == (
        match.id,
        "confirmed",
        "confirmed",
    )
    assert [(one.side, one.field_name) for one in again.changes_since_decision] == [("entry", "name")]
    assert await desk.open(again) == ["listed:sanction", "changed_since_decided"]
    await desk.decide(again, SAME)
    assert (await desk.known()).status_in_category("sanction") == "confirmed"
    assert await desk.open(again) is None
    assert (await desk.look()).newly_awaiting_review == []


@pytest.mark.parametrize("changed", ["the list", "the record"])
async def test_who_was_confirmed_stays_it_under_another_name_until_the_list_ends_it(
    desk: Desk, lists: Lists, changed: str
) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    await desk.decide(match, SAME)
    if changed == "the list":
        await lists.load(listing(1, "ZAVOD IMENI DEGTYAREVA"))
        found = await desk.look()
    else:
        found = await desk.look("Garden Club of Casper")
    assert ([one.id for one in found.newly_awaiting_review], found.status_in_category("sanction")) == (
        [match.id],
        "confirmed",
    )
    await lists.load(listing(2, "HOUSE OF CACAO"))
    assert (await desk.look()).status_in_category("sanction") == "clear"
    assert await desk.open(match) is None


async def test_the_difference_is_from_what_was_decided_after_many_changes(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    await desk.decide(match, OTHER)
    await lists.load(listing(1, AQSA), listing(3, "UNHA"), category="warning")
    (first,) = (await desk.look()).newly_awaiting_review
    assert [(one.field_name, one.before, one.after) for one in first.changes_since_decision] == [
        ("category", "sanction", "warning")
    ]
    await lists.load(listing(1, AQSA), listing(4, "TYRE"), category="controversial")
    (second,) = (await desk.look()).matches
    assert [(one.field_name, one.before, one.after) for one in second.changes_since_decision] == [
        ("category", "sanction", "controversial")
    ]
    await lists.load(listing(1, AQSA), listing(2, "HOUSE OF CACAO"))
    back = await desk.look()
    assert ([one.decision for one in back.matches], [one.id for one in back.no_longer_awaiting_review]) == (
        ["cleared"],
        [match.id],
    )
    assert await desk.open(match) is None


async def test_the_score_follows_a_subject_that_moves(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    (before,) = (await desk.look()).matches
    (after,) = (await desk.look(AQSA.removesuffix(" FOUNDATION"))).matches
    assert after.score < before.score
    assert after.score == pytest.approx(sum(part.points for part in after.parts), abs=1e-9)


@pytest.mark.parametrize("wrong", [SAME, OTHER])
async def test_a_wrong_decision_is_taken_back_with_person_and_reason(
    desk: Desk, lists: Lists, wrong: ReviewDecision
) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    with pytest.raises(ReviewNotOpen):
        await desk.reopen(match)
    await desk.decide(match, wrong)
    await desk.reopen(match)
    assert await desk.open(match) == ["listed:sanction", "taken_back"]
    assert (await desk.known()).status_in_category("sanction") == "open"
    assert [one.decision for one in (await desk.look()).matches] == ["open"]
    async with desk.db.read() as tx:
        reported = (await reviews.load_review_history(tx, matches.review_subject_for(match))).decisions
    assert [(one.decision.verdict, one.decision.by) for one in reported] == [
        (wrong.verdict, "operator_1"),
        ("reopened", "operator_2"),
    ]
    assert reported[-1].decision.note == "It was about another one"
    await desk.decide(match, SAME)
    assert (await desk.known()).status_in_category("sanction") == "confirmed"


async def test_persons_on_a_list_clear_no_body(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, "DEGTYAREVA, Zinaida", person=True))
    assert (await desk.look("Casper Relief Fund")).status_in_category("sanction") is None
    await lists.load(listing(1, "DEGTYAREVA, Zinaida", person=True), listing(2, AQSA))
    await desk.service.drain()
    assert (await desk.known()).status_in_category("sanction") == "clear"


async def test_a_retired_list_clears_and_flags_nobody(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    async with desk.db.write() as tx:
        retired = await watchlists_flows.retire_watchlist(tx, "ofac-sdn")
    assert (retired.entries, retired.removed, retired.categories) == (0, 1, ())
    await desk.service.drain()
    known = await desk.known()
    assert (known.status_in_category("sanction"), known.matches) == (None, [])
    assert await desk.open(match) is None
    with pytest.raises(WatchlistImportRefused, match="has no entries"):
        async with desk.db.write() as tx:
            await watchlists_flows.retire_watchlist(tx, "ofac-sdn")
    await lists.load(listing(1, AQSA))
    assert (await desk.look()).status_in_category("sanction") == "open"


async def test_nobody_is_asked_about_what_agrees_no_more(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    assert await desk.open(match)
    gone = await desk.look("Garden Club of Casper")
    assert ([one.id for one in gone.no_longer_awaiting_review], gone.status_in_category("sanction")) == (
        [match.id],
        "clear",
    )
    assert await desk.open(match) is None
    with pytest.raises(ReviewRefused):
        await desk.decide(match, SAME)


async def test_who_is_forgotten_leaves_no_name(desk: Desk, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    (match,) = (await desk.look()).matches
    async with desk.db.write() as tx:
        await matches.erase_screened_subject(tx, desk.subject)
        left = await tx.fetchrow("select names, countries, identifiers, address, monitored from screening_subject")
        stored = await tx.fetchrow(
            "select parts, subject_side, entry_side, decided_subject, decided_entry, current from screening_match"
        )
        keys = [row["entry_key"] for row in await tx.fetch("select entry_key from screening_match")]
    assert tuple(left or ()) == ([], [], [], None, False)
    assert tuple(stored or ()) == ([], {}, {}, None, None, False)
    assert keys == [f"erased {match.id}"]
    assert await desk.open(match) is None


async def test_a_new_version_is_met_by_those_who_are_watched_alone(
    alone: Service, partner: Partner, lists: Lists
) -> None:
    await lists.load(listing(1, AQSA))
    portal, other = Desk(alone, partner, 1), Desk(alone, partner, 2)
    await portal.look("Zavod imeni Degtyareva")
    await other.look("Zavod imeni Degtyareva")
    async with alone.db.write() as tx:
        await matches.stop_monitoring_subject(tx, other.subject)
    await alone.drain()
    await lists.load(listing(1, AQSA), listing(2, "ZAVOD IMENI DEGTYAREVA"))
    await alone.drain()
    assert (await portal.known()).status_in_category("sanction") == "open"
    assert (await other.known()).status_in_category("sanction") == "clear"


async def test_an_entry_that_is_back_is_shown_as_of_its_return(alone: Service, lists: Lists, partner: Partner) -> None:
    screener = Screener()
    await lists.load(listing(1, AQSA), listing(2, "ZAVOD IMENI DEGTYAREVA"))
    await Desk(alone, partner, 1, screener).look()
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"))
    back = await lists.load(listing(1, AQSA), listing(2, "ZAVOD IMENI DEGTYAREVA"))
    (match,) = (await Desk(alone, partner, 2, screener).look()).matches
    async with alone.db.read() as tx:
        load = await tx.fetchval("select load_id from screening_match where id = $1", match.id)
    assert load == back.id
