"""Watchlists for tests, in the exact layout of OFAC's files."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from almoner.adapters.watchlist_ofac import OfacReader
from almoner.platform.database.transactions import Database, Partner
from almoner.screening.screenings.domain import ScreenedSubject, SubjectDetails
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import flows as watchlists_flows
from almoner.screening.watchlists.domain import Category, WatchlistImport
from almoner.validation.ongoing.matches import service as matches
from tests.support.service import Service

SDN: Final = OfacReader("ofac-sdn", "OFAC Specially Designated Nationals", 1)


def listing(
    number: int, name: str, *, person: bool = False, programme: str = "SDGT", remarks: str = "-0- "
) -> list[str]:
    """A row of sdn.csv."""
    return [str(number), name, "individual" if person else "-0- ", programme, *["-0- "] * 7, remarks]


def write(path: Path, rows: Iterable[Sequence[str]]) -> Path:
    """Write a file of such rows."""
    with path.open("w", encoding="cp1252", newline="") as out:
        csv.writer(out).writerows(rows)
        out.write("\x1a")
    return path


class Lists:
    """Writes and imports one version after another."""

    def __init__(self, db: Database, folder: Path) -> None:
        self.db = db
        self.folder = folder
        self._made = 0

    async def load(
        self,
        *rows: Sequence[str],
        code: str = "ofac-sdn",
        category: Category = "sanction",
        addresses: Sequence[Sequence[str]] = (),
    ) -> WatchlistImport:
        """Import the next version of a list. ``addresses``: rows of add.csv."""
        self._made += 1
        files = [write(self.folder / f"list{self._made}.csv", rows)]
        files += [write(self.folder / f"addresses{self._made}.csv", addresses)] if addresses else []
        return await watchlists_flows.import_watchlist(
            self.db, OfacReader(code, f"List {code}", 1, category=category), files, force=True
        )


def body(partner: Partner, record: UUID, *names: str, **more: Any) -> tuple[ScreenedSubject, SubjectDetails]:
    """An organisation to screen."""
    return ScreenedSubject("organisation", record, partner.id), SubjectDetails("organisation", names, **more)


async def unread(service: Service, name: str) -> str:
    """The text id of a case about somebody whose name cannot be compared."""
    screener, partner = Screener(), (await service.tenant()).partner
    who, asked = body(partner, uuid4(), name)
    await screener.run_with_current_watchlists(
        service.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=False)
    )
    async with service.db.read() as tx:
        found = await tx.fetchval("select id from screening_subject where subject_id = $1", who.id)
    return service.db.deployment.ids.encode("screeningsubject", found)


async def matched(service: Service, name: str) -> str:
    """The ID of a match that waits for review: a person with this name, and the only entry with it."""
    screener, partner = Screener(), (await service.tenant()).partner
    who, asked = body(partner, uuid4(), name)
    found = await screener.run_with_current_watchlists(
        service.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=False)
    )
    (match,) = found.newly_awaiting_review
    return service.db.deployment.ids.encode("screeningmatch", match.id)
