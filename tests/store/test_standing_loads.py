"""Who is active by what all lists of the IRS say, as they are loaded one after the other, in the files' own form."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_irs_990n import Irs990NReader
from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.adapters.registers_irs_pub78 import IrsPub78Reader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.nonprofits.legal_status import service as legal_status
from almoner.nonprofits.legal_status.domain import LegalStatus
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.http.paging import RequestedPage
from tests.support.bmf import bodies, body, write
from tests.support.service import Service

MARCH, APRIL, MAY, JUNE = (datetime(2026, month, 9, tzinfo=UTC) for month in (3, 4, 5, 6))
OTHERS = bodies(12, start=300_000_000)
GONE, ENDED, BRANCH, CENTRAL = "100000001", "100000002", "100000003", "100000004"
BODIES = [
    body(GONE, "FORGETFUL FUND"),
    body(ENDED, "TIRED FUND"),
    body(BRANCH, "LODGE 5", GROUP="1961", AFFILIATION="9"),
    body(CENTRAL, "GRAND LODGE", GROUP="1961", AFFILIATION="6"),
    *OTHERS,
]


def revoked(ein: str, on: str, posted: str, reinstated: str = "") -> str:
    return f"{ein}|SOME FUND||1 MAIN ST|LARAMIE|WY|82070|US|03|{on}|{posted}|{reinstated}"


def postcard(ein: str, year: str, terminated: str) -> str:
    fields = [ein, year, "SOME FUND", "T", terminated, f"01-01-{year}", f"12-31-{year}", *[""] * 19]
    return "|".join(fields)


class World:
    """The lists of the IRS, loaded one after the other."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.db, self._folder, self._files = service.db, folder, 0

    def _next(self) -> Path:
        self._files += 1
        return self._folder / f"file{self._files}"

    async def master(self, day: datetime, *rows: dict[str, str]) -> None:
        file = write(self._next().with_suffix(".csv"), rows or BODIES)
        await registers_flows.import_files(self.db, IrsBmfReader(), [file], as_of=day, force=True)

    async def listing(self, source: RegisterSource, day: datetime, *lines: str) -> None:
        file = self._next().with_suffix(".txt")
        file.write_text("\n\n" + "\n".join(lines) + "\n" * self._files, encoding="utf-8")
        await registers_flows.import_files(self.db, source, [file], as_of=day, force=True)

    async def body(self, ein: str, day: datetime | None = None) -> Organisation:
        async with self.db.read() as tx:
            found = await organisations.get_by_number(tx, ALL_PARTNERS, "USA", "IRS", ein)
            return await organisations.get_as_of(tx, ALL_PARTNERS, found.id, day) if day else found

    async def kinds(self, ein: str) -> list[str]:
        found = await self.body(ein)
        async with self.db.read() as tx:
            changes, _ = await organisations.list_changes(
                tx, ALL_PARTNERS, found.id, RequestedPage(50, descending=False)
            )
        return [change.kind for change in changes if change.field == "active"]

    async def legal_status(self, ein: str) -> LegalStatus:
        found = await self.body(ein)
        async with self.db.read() as tx:
            judged = await legal_status.find_status_of_organisation(tx, found.registry_id, found.id)
        assert judged is not None
        return judged


@pytest.fixture
def world(alone: Service, tmp_path: Path) -> World:
    return World(alone, tmp_path)


async def test_revoked_reinstated_and_listed_again_by_the_day_of_each_list(world: World) -> None:
    await world.master(MARCH)
    await world.listing(IrsRevocationsReader(), APRIL, revoked(GONE, "15-NOV-2025", "08-APR-2026"))
    gone = await world.body(GONE)
    assert (gone.active, gone.inactive_reason) == (False, "revoked")  # the master file is older than the posting
    assert [(reported.source_code, reported.data_as_of) for reported in gone.sources] == [
        ("irs-bmf", MARCH),
        ("irs-revocations", APRIL),
    ]
    # Dated back to the day of the revocation itself.
    await world.listing(IrsRevocationsReader(), MAY, revoked(GONE, "15-NOV-2025", "08-APR-2026", "15-NOV-2025"))
    assert (await world.body(GONE)).active
    again = revoked(GONE, "15-DEC-2025", "11-MAY-2026")
    await world.listing(IrsRevocationsReader(), MAY, revoked(GONE, "15-NOV-2025", "08-APR-2026", "15-NOV-2025"), again)
    assert (await world.body(GONE)).inactive_reason == "revoked"
    await world.master(JUNE, *BODIES, body("100000005", "NEW FUND"))
    assert (await world.body(GONE)).active  # a newer master file lists it
    await world.master(JUNE, *BODIES[1:])
    assert (await world.body(GONE)).inactive_reason == "revoked"
    assert await world.kinds(GONE) == ["revoked", "reinstated", "revoked", "reinstated", "removed"]
    assert [(await world.body(GONE, day)).active for day in (MARCH, APRIL, MAY, JUNE)] == [True, False, False, False]
    assert (await world.legal_status(GONE)).override_reason == "revoked"


async def test_a_body_that_says_it_has_ended_is_not_active(world: World) -> None:
    await world.master(MARCH)
    await world.listing(Irs990NReader(), APRIL, postcard(ENDED, "2024", "F"), postcard(ENDED, "2025", "T"))
    ended = await world.body(ENDED)
    assert (ended.active, ended.inactive_reason) == (False, "terminated")
    await world.listing(Irs990NReader(), MAY, postcard(ENDED, "2025", "F"))
    assert (await world.body(ENDED)).active
    assert await world.kinds(ENDED) == ["terminated", "reinstated"]


async def test_a_subordinate_is_deductible_through_its_central_body(world: World) -> None:
    await world.master(MARCH)
    await world.listing(IrsPub78Reader(), APRIL, f"{CENTRAL}|Grand Lodge|Laramie|WY|United States|GROUP")
    reason = (await world.legal_status(BRANCH)).find_reason_of_step("publication_78")
    assert reason is not None
    assert (reason.verdict, reason.code) == ("pass", "through_group")
    await world.listing(IrsRevocationsReader(), MAY, revoked(CENTRAL, "15-NOV-2025", "08-MAY-2026"))
    judged = await world.legal_status(BRANCH)
    assert judged.active
    assert [reason.step for reason in judged.reasons if reason.verdict == "fail"] == ["group", "deductibility"]
    assert (await world.body(BRANCH)).branch_of is None


async def test_a_list_that_takes_a_revocation_back_ends_it(world: World) -> None:
    await world.master(MARCH)
    await world.listing(
        IrsRevocationsReader(), APRIL, revoked(GONE, "15-NOV-2025", "08-APR-2026"), revoked(ENDED, "15-MAY-2012", "")
    )
    await world.listing(IrsRevocationsReader(), MAY, revoked(ENDED, "15-MAY-2012", ""))
    assert (await world.body(GONE)).active
    assert (await world.body(ENDED)).active  # revoked long before the master file that lists it
