"""``almoner watchlists`` as it is typed, and matches decided by ``almoner reviews``."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from almoner.platform.database.transactions import Partner
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningResult, SubjectDetails
from almoner.screening.screenings.service import Screener
from almoner.validation.ongoing.matches import service as matches
from tests.support.database import TestDatabase
from tests.support.service import Service, serving
from tests.support.terminal import Type, in_process, operator
from tests.support.watchlists import Lists, listing, write

AQSA = "AL-MASJED AL-AQSA CHARITY FOUNDATION"
OWN = "key,kind,name,category\n7,organisation,Hate Circle of Casper,hateSpeech\n"


@pytest.fixture
async def alone(empty_database: TestDatabase) -> AsyncIterator[Service]:
    async with serving(empty_database) as service:
        service.clock.advance_to(service.clock.real_now())
        yield service


@pytest.fixture
async def typed(alone: Service, tmp_path: Path) -> Type:
    return in_process(alone, tmp_path, await operator(alone, "administrator", "reviewer"))


async def compared(service: Service, partner: Partner) -> ScreeningResult:
    screener, who = Screener(), ScreenedSubject("organisation", UUID(int=1), partner.id)
    asked = SubjectDetails("organisation", ("Al-Masjed Al-Aqsa Charity Foundation, Inc.",), ("USA",))
    return await screener.run_with_current_watchlists(
        service.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=True)
    )


async def test_lists_at_the_terminal(typed: Type, tmp_path: Path) -> None:
    (own := tmp_path / "findings_2026-03-09.csv").write_text(OWN)
    status, printed = await typed("watchlists", "import", "own", str(own))
    assert (status, "1 added, 0 removed, 0 changed" in printed) == (0, True), printed
    status, printed = await typed("watchlists", "import", "own", str(own))
    assert (status, "nothing has changed" in printed) == (0, True), printed
    status, printed = await typed("watchlists", "status")
    assert "2026-03-09" in printed
    assert "hateSpeech" in printed
    status, printed = await typed("watchlists", "import", "nobody", str(own))
    assert (status, "is not a list that is read" in printed) == (1, True), printed
    (again := tmp_path / "again.csv").write_text(f"{OWN.rstrip()}\n{OWN.splitlines()[1]}\nx,club,\x1b[2JClub,warning\n")
    status, printed = await typed("watchlists", "import", "own", str(again))
    assert status == 0, printed
    assert "2 rejected" in printed
    assert "the list has two entries with this number" in printed
    assert "Rejected: again.csv, line 4: kind 'club' is not one of person" in printed


async def test_the_last_finding_is_withdrawn(alone: Service, typed: Type, tmp_path: Path) -> None:
    (own := tmp_path / "findings.csv").write_text(OWN)
    await typed("watchlists", "import", "own", str(own))
    (none := tmp_path / "none.csv").write_text(OWN.splitlines()[0])
    status, printed = await typed("watchlists", "import", "own", str(none), "--force")
    assert (status, "almoner watchlists retire own" in printed) == (1, True), printed
    status, printed = await typed("watchlists", "retire", "own")
    assert (status, "1 entries removed" in printed) == (0, True), printed
    assert (await compared(alone, (await alone.tenant()).partner)).status_in_category("hateSpeech") is None
    status, printed = await typed("watchlists", "retire", "own")
    assert (status, "has no entries" in printed) == (1, True), printed


async def test_the_whole_list_takes_the_place_of_its_sample(typed: Type, tmp_path: Path) -> None:
    nulls = ",".join(['"-0- "'] * 8)
    (sdn := tmp_path / "sdn.csv").write_text(f'1,"RELIEF OF TYRE","-0- ","SDGT",{nulls}\n')
    gone = "ofac-sdn-sample is retired"
    await typed("watchlists", "import", "ofac-sdn-sample", str(sdn))
    status, printed = await typed("watchlists", "import", "ofac-sdn", str(sdn), "--force")
    assert (status, gone in printed) == (0, True), printed
    status, printed = await typed("watchlists", "import", "ofac-sdn", str(sdn), "--force")
    assert (status, gone in printed) == (0, False), printed
    status, printed = await typed("watchlists", "import", "ofac-sdn-sample", str(sdn))
    assert status == 1
    assert "ofac-sdn is loaded and contains all entries of ofac-sdn-sample" in printed


async def test_licences_and_unverified_readers_are_told(typed: Type, tmp_path: Path) -> None:
    columns = "id,schema,name,aliases,birth_date,countries,addresses,identifiers,sanctions"
    (file := tmp_path / "targets.simple.csv").write_text(f"{columns}\nNK-1,Organization,Relief of Tyre,,,lb,,,x\n")
    status, printed = await typed("watchlists", "import", "opensanctions", str(file), "--force")
    assert status == 0, printed
    assert "CC BY-NC 4.0" in printed
    assert "never been tested on a real file" in printed
    status, printed = await typed("watchlists", "status")
    assert "unverified" in printed
    assert "CC BY-NC 4.0" in printed


async def test_a_refused_load_ends_with_status_one_and_every_administrator_is_told(
    alone: Service, typed: Type, tmp_path: Path
) -> None:
    cut = write(tmp_path / "sdn.csv", [listing(1, AQSA)])
    status, printed = await typed("watchlists", "import", "ofac-sdn", str(cut))
    assert (status, "a complete list has at least 10,000" in printed) == (1, True), printed
    status, printed = await typed("watchlists", "status")
    assert "Rejected at" in printed
    await alone.drain()
    async with alone.db.read() as tx:
        assert await tx.fetchval("select count(*) from audit_entry where action = 'watchlist.refused'") == 1
        subjects = await tx.fetch("select subject from sandbox_mail")
    assert sum("Watchlist update failed" in row["subject"] for row in subjects) == 1


async def test_a_match_is_shown_with_both_sides_and_cleared(alone: Service, typed: Type, tmp_path: Path) -> None:
    partner = (await alone.tenant()).partner
    await Lists(alone.db, tmp_path).load(listing(1, AQSA))
    (match,) = (await compared(alone, partner)).newly_awaiting_review
    named = alone.db.deployment.ids.encode("screeningmatch", match.id)
    status, printed = await typed("reviews", "list", "--kind", "match")
    assert (status, named in printed) == (0, True), printed
    status, printed = await typed("reviews", "show", named)
    assert status == 0, printed
    for part in (AQSA, "Al-Masjed Al-Aqsa Charity Foundation, Inc.", "sanction", "List ofac-sdn"):
        assert part in printed
    reject = ("reviews", "reject", named, "--reason", "not_the_same", "--note", "Another town, by their letter")
    status, printed = await typed(*reject)
    assert status == 0, printed
    assert (await compared(alone, partner)).status_in_category("sanction") == "clear"
    assert (await typed(*reject))[0] == 1
    reopen = ("reviews", "reopen", named, "--note", "It was about another town")
    status, printed = await typed(*reopen)
    assert status == 0, printed
    assert (await compared(alone, partner)).status_in_category("sanction") == "open"
    status, printed = await typed("reviews", "show", named)
    assert (status, "It was about another town" in printed) == (0, True), printed
    status, printed = await typed(*reopen)
    assert (status, "Nobody has decided about it." in printed) == (1, True), printed
