"""One body under several numbers: which record answers, what it became, what is a branch of it; over real loads."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterLink
from almoner.nonprofits.registers.store_merge import FEW_ROWS
from almoner.nonprofits.registries import domain as registries_domain
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.http.paging import RequestedPage
from tests.support.client import data
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

DAYS = [datetime(2026, month, 9, tzinfo=UTC) for month in range(1, 8)]
CCEW, OSCR = Written("ccew", "CCEW"), Written("oscr", "OSCR")
LINKS = Written("gb-links", "CCEW", lists_organisations=False)
ROW = entry("199999", "A number that the links tell of")
OLD, OLDER = datetime(1970, 1, 1, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC)


@pytest.fixture(params=[FEW_ROWS, 0], ids=["looked-up", "joined"])
def loader(alone: Service, tmp_path: Path, request: pytest.FixtureRequest) -> Loader:
    return Loader(alone.db, tmp_path, request.param)


async def found(loader: Loader, registry: str, number: str) -> Organisation:
    async with loader.db.read() as tx:
        return await organisations.get_by_number(tx, ALL_PARTNERS, "GBR", registry, number)


async def record(loader: Loader, number: str) -> Any:
    async with loader.db.read() as tx:
        return await tx.fetchrow("select * from organisation where number_key = $1", number)


async def kinds(loader: Loader, organisation_id: UUID) -> list[tuple[str, str]]:
    async with loader.db.read() as tx:
        changes, _ = await organisations.list_changes(
            tx, ALL_PARTNERS, organisation_id, RequestedPage(50, descending=False)
        )
    return [(change.kind, change.field) for change in changes]


async def listed(loader: Loader, **filters: Any) -> list[str]:
    async with loader.db.read() as tx:
        page = await organisations.list_page(
            tx, ALL_PARTNERS, OrganisationFilters(**filters), RequestedPage(50, descending=False)
        )
    return [row.registry_number for row in page.organisations]


def same(one: str, other: str) -> RegisterLink:
    return RegisterLink("same", "CCEW", one, "OSCR", other)


def merged(one: str, other: str, day: datetime | None = None) -> RegisterLink:
    return RegisterLink("merged", "CCEW", one, "CCEW", other, day)


async def test_a_body_in_two_registers_is_one_organisation(loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], entry("263710", "Shelter Fund", registration_date=OLD))
    await loader.load(OSCR, DAYS[1], entry("SC002327", "Shelter Fund Scotland", registration_date=OLDER))
    assert (await found(loader, "CCEW", "263710")).id != (await found(loader, "OSCR", "SC002327")).id
    await loader.load(LINKS, DAYS[2], ROW, same("263710", "SC002327"))
    scottish, english = await record(loader, "SC002327"), await record(loader, "263710")
    assert (scottish["same_as"], english["same_as"]) == (None, scottish["id"])  # it was registered there first
    one = await found(loader, "CCEW", "GB-CHC-263710")
    assert one == await found(loader, "OSCR", "SC 002327")
    assert (one.id, one.name) == (scottish["id"], "Shelter Fund Scotland")
    async with loader.db.read() as tx:
        assert await organisations.get(tx, ALL_PARTNERS, english["id"]) == one
    assert [
        (reported.registry_name, reported.registry_number, reported.source_code, reported.data_as_of)
        for reported in one.sources
    ] == [
        ("OSCR", "SC002327", "oscr", DAYS[1]),
        ("CCEW", "263710", "ccew", DAYS[0]),
    ]
    assert await kinds(loader, one.id) == [("joined", "same_as")]


async def test_one_that_is_listed_answers_before_one_that_is_not_and_links_may_end(loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], entry("263710", "Fund", registration_date=OLD), entry("1000001", "Other"))
    await loader.load(OSCR, DAYS[0], entry("SC002327", "Fund", registration_date=OLDER), entry("SC002328", "Other"))
    await loader.load(LINKS, DAYS[0], ROW, same("263710", "SC002327"), same("1000001", "SC002328"))
    assert (await found(loader, "CCEW", "263710")).registry_code == "OSCR"
    await loader.load(OSCR, DAYS[1], entry("SC002327", "Fund", active=False), entry("SC002328", "Other"))
    one = await found(loader, "OSCR", "SC002327")
    assert (one.registry_code, one.active) == ("CCEW", True)
    await loader.load(LINKS, DAYS[2], ROW, same("1000001", "SC002328"))
    parted = await found(loader, "OSCR", "SC002327")
    assert (parted.registry_code, parted.active, parted.inactive_reason) == ("OSCR", False, "removed")
    assert ("parted", "same_as") in await kinds(loader, parted.id)
    async with loader.db.read() as tx:
        was = await organisations.get_as_of(tx, ALL_PARTNERS, parted.id, DAYS[1])
        before = await organisations.get_as_of(tx, ALL_PARTNERS, parted.id, DAYS[0])
    assert (was.registry_code, before.registry_code) == ("CCEW", "OSCR")
    assert [reported.registry_name for reported in was.sources] == ["CCEW", "OSCR"]


async def test_what_a_body_published_under_any_of_its_records_is_shown_of_it(loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], entry("263710", "Shelter Fund", registration_date=OLD))
    await loader.load(OSCR, DAYS[0], entry("SC002327", "Shelter Fund Scotland", registration_date=OLDER))
    english, scottish = await found(loader, "CCEW", "263710"), await found(loader, "OSCR", "SC002327")
    async with loader.db.write() as tx:
        for amount, published_by in ((1000, english), (5000, scottish)):
            await tx.execute(
                "insert into organisation_milestone (id, organisation_id, amount_minor, currency, reward) "
                "values ($1, $2, $3, 'GBP', 'A card')",
                tx.new_id(),
                published_by.id,
                amount,
            )

    async def amounts(organisation_id: UUID) -> list[Any]:
        async with loader.db.read() as tx:
            rows, total = await organisations.list_donation_milestones(
                tx, ALL_PARTNERS, organisation_id, RequestedPage(9, descending=False)
            )
        assert total == len(rows)
        return sorted(row.goal_amount_minor for row in rows)

    assert (await amounts(english.id), await amounts(scottish.id)) == ([1000], [5000])
    await loader.load(LINKS, DAYS[1], ROW, same("263710", "SC002327"))
    assert await amounts(english.id) == await amounts(scottish.id) == [1000, 5000]
    await loader.load(LINKS, DAYS[2], ROW)
    assert (await amounts(english.id), await amounts(scottish.id)) == ([1000], [5000])


async def test_a_number_with_several_partners_in_a_register_joins_none_of_them(loader: Loader) -> None:
    """Its links are kept and counted; a chain through different registers is one body all the same."""
    await loader.load(CCEW, DAYS[0], *(entry(f"26371{nth}", f"Fund {nth}", registration_date=OLD) for nth in range(4)))
    await loader.load(OSCR, DAYS[0], *(entry(f"SC00232{nth}", f"Fund {nth}") for nth in range(4)))
    await loader.load(Written("acnc", "ACNC"), DAYS[0], entry("52093617380", "Fund 3"))
    chain = (same("263713", "SC002323"), RegisterLink("same", "ACNC", "52093617380", "OSCR", "SC002323"))
    several = (same("263710", "SC002320"), same("263711", "SC002320"), same("263711", "SC002321"))
    made = await loader.load(LINKS, DAYS[1], ROW, same("263712", "SC002322"), *several, *chain)
    assert made.ambiguous == 3
    async with loader.db.read() as tx:
        assert (await registers_flows.list_imports(loader.db, 1))[0].ambiguous == 3
        links = await tx.fetchval("select count(*) from register_link where valid_to is null")
        joined = await tx.fetch("select registry_number from organisation where same_as is not null order by 1")
    assert links == 6
    assert [row["registry_number"] for row in joined] == ["52093617380", "SC002322", "SC002323"]
    # The source says it no more: what was ambiguous is certain. And what was certain, with one link more, is not.
    cleared = await loader.load(LINKS, DAYS[2], ROW, same("263712", "SC002322"), *several[::2], *chain)
    assert cleared.ambiguous == 0
    assert (await found(loader, "OSCR", "SC002321")).registry_number == "263711"
    other = Written("other-links", "CCEW", lists_organisations=False)
    await loader.load(other, DAYS[3], ROW, same("263710", "SC002321"))
    assert (await found(loader, "OSCR", "SC002321")).registry_number == "SC002321"
    assert ("parted", "same_as") in await kinds(loader, (await found(loader, "OSCR", "SC002321")).id)


async def test_no_join_is_made_on_no_or_ambiguous_evidence(loader: Loader) -> None:
    """The database itself refuses it (identity)."""
    await loader.load(CCEW, DAYS[0], entry("263710", "Fund"), entry("263711", "Other"))
    await loader.load(OSCR, DAYS[0], entry("SC002327", "Fund"))
    await loader.load(LINKS, DAYS[1], ROW, same("263710", "SC002327"), same("263711", "SC002327"))
    for one, other in (("263710", "SC002327"), ("SC002327", "263711"), ("263710", "263711")):
        with pytest.raises(asyncpg.CheckViolationError, match="evidence"):
            async with loader.db.write() as tx:
                await tx.execute(
                    "update organisation o set same_as = p.id from organisation p "
                    "where o.number_key = $1 and p.number_key = $2",
                    one,
                    other,
                )


async def test_one_body_has_one_number_of_each_register(loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], entry("263710", "Fund"), entry("263711", "Other"))
    await loader.load(OSCR, DAYS[0], entry("SC002327", "Fund", registration_date=OLDER))
    await loader.load(LINKS, DAYS[1], ROW, same("263710", "SC002327"))
    with pytest.raises(asyncpg.ExclusionViolationError):
        async with loader.db.write() as tx:
            await tx.execute(
                "update organisation o set same_as = p.id from organisation p "
                "where o.number_key = '263711' and p.number_key = 'SC002327'"
            )


async def test_a_registry_is_dated_by_what_lists_its_bodies_alone(loader: Loader) -> None:
    """Lists that tell more of bodies do not make a register that is not loaded, or is old, look like one that is."""

    async def dated() -> datetime | None:
        async with loader.db.read() as tx:
            day: datetime | None = await tx.fetchval("select data_as_of from registry where code = 'CCEW'")
        return day

    await loader.load(LINKS, DAYS[1], ROW, same("263710", "SC002327"))
    assert await dated() is None
    await loader.load(CCEW, DAYS[0], entry("263710", "Fund"))
    await loader.load(LINKS, DAYS[2], ROW, same("263710", "SC002328"))
    assert await dated() == DAYS[0]


async def test_links_are_kept_whichever_register_comes_first(loader: Loader) -> None:
    await loader.load(LINKS, DAYS[0], ROW, same("263710", "SC002327"), merged("263711", "263710"))
    await loader.load(CCEW, DAYS[1], entry("263710", "Fund"), entry("263711", "Small Fund"))
    assert (await found(loader, "CCEW", "263710")).same_as is None
    await loader.load(OSCR, DAYS[2], entry("SC002327", "Fund"))
    assert (await found(loader, "OSCR", "SC002327")).registry_code == "CCEW"
    small = await found(loader, "CCEW", "263711")
    assert (small.active, small.inactive_reason, small.succeeded_by) == (
        False,
        "merged",
        (await record(loader, "263710"))["id"],
    )


async def test_mergers_and_new_registrations_name_the_end_of_the_chain(loader: Loader) -> None:
    bodies = [entry(f"26371{nth}", f"Fund {nth}") for nth in range(6)]
    await loader.load(CCEW, DAYS[0], *bodies)
    again = RegisterLink("reregistered", "CCEW", "263711", "CCEW", "263712", None)
    circle = (merged("263714", "263715"), merged("263715", "263714"))
    await loader.load(LINKS, DAYS[1], ROW, merged("263710", "263711"), again, *circle)
    last = (await record(loader, "263712"))["id"]
    first, second = await found(loader, "CCEW", "263710"), await found(loader, "CCEW", "263711")
    assert [(row.active, row.inactive_reason, row.succeeded_by) for row in (first, second)] == [
        (False, "merged", last),
        (False, "reregistered", last),
    ]
    assert [(await found(loader, "CCEW", f"26371{nth}")).active for nth in (2, 3, 4, 5)] == [True] * 4
    assert await kinds(loader, second.id) == [
        (kind, field)
        for kind, field in [
            ("reregistered", "active"),
            ("reregistered", "status_override"),
            ("reregistered", "succeeded_by"),
        ]
    ]
    # A newer load of the register does not bring it back, and is no change.
    made = await loader.load(CCEW, DAYS[2], *bodies[:5], entry("263715", "Fund 5", city="Leeds"))
    assert made.changed == 1
    assert not (await found(loader, "CCEW", "263710")).active
    assert len(await kinds(loader, second.id)) == 3
    # The link was a mistake: it stands again, and what was said then is still known.
    await loader.load(LINKS, DAYS[3], ROW, again)
    restored = await found(loader, "CCEW", "263710")
    assert (restored.active, restored.succeeded_by) == (True, None)
    async with loader.db.read() as tx:
        was = [await organisations.get_as_of(tx, ALL_PARTNERS, restored.id, day) for day in DAYS[:4]]
    assert [(row.active, row.succeeded_by) for row in was] == [(True, None), (False, last), (False, last), (True, None)]


async def test_a_corrected_day_of_a_merger_counts(loader: Loader) -> None:
    """Of several mergers of a body the newest counts: by the days that its source says now."""
    await loader.load(CCEW, DAYS[0], *(entry(f"26371{nth}", f"Fund {nth}") for nth in range(3)))
    early, late = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC)
    await loader.load(LINKS, DAYS[1], ROW, merged("263710", "263711", late), merged("263710", "263712", early))
    assert (await found(loader, "CCEW", "263710")).succeeded_by == (await record(loader, "263711"))["id"]
    corrected = late + timedelta(days=30)
    await loader.load(LINKS, DAYS[2], ROW, merged("263710", "263711", late), merged("263710", "263712", corrected))
    assert (await found(loader, "CCEW", "263710")).succeeded_by == (await record(loader, "263712"))["id"]
    async with loader.db.read() as tx:
        reported = await tx.fetch("select at, valid_to from register_link where to_number_key = '263712' order by id")
    assert [tuple(row) for row in reported] == [(early, DAYS[2]), (corrected, None)], "what it said before is kept"


async def test_branches_follow_the_number_of_their_parent(loader: Loader) -> None:
    branch = entry("263710-1", "Branch", parent_number="263710")
    await loader.load(CCEW, DAYS[0], branch)
    assert (await found(loader, "CCEW", "263710-1")).branch_of is None
    await loader.load(CCEW, DAYS[1], branch, entry("263710", "Main"), entry("263711", "Second"))
    main = await found(loader, "CCEW", "263710")
    assert main.is_branch_parent
    assert (await found(loader, "CCEW", "263710-1")).branch_of == main.id
    await loader.load(CCEW, DAYS[2], branch._replace(parent_number="263711"), entry("263711", "Second"))
    moved = await found(loader, "CCEW", "263710-1")
    assert moved.branch_of == (await found(loader, "CCEW", "263711")).id
    assert not (await found(loader, "CCEW", "263710")).is_branch_parent
    assert await kinds(loader, moved.id) == [("branch", "branch_of")] * 2
    async with loader.db.read() as tx:
        assert (await organisations.get_as_of(tx, ALL_PARTNERS, moved.id, DAYS[1])).branch_of == main.id


async def test_subordinates_follow_the_central_body_that_is_there(loader: Loader) -> None:
    irs = Written("irs-bmf", "IRS")

    def group(number: str, *, central: bool = False, key: str = "1961") -> Any:
        return entry(number, f"Lodge {number}", group_key=key, is_branch_parent=central, usa_group_exempt=not central)

    async def of() -> str | None:
        async with loader.db.read() as tx:
            number: str | None = await tx.fetchval(
                "select c.registry_number from organisation o join organisation c on c.id = o.branch_of "
                "where o.number_key = '000000009'"
            )
        return number

    branch = group("000000009")
    await loader.load(irs, DAYS[0], branch)
    assert await of() is None
    await loader.load(irs, DAYS[1], branch, group("000000002", central=True))
    assert await of() == "000000002"
    await loader.load(irs, DAYS[2], branch, group("000000002", central=True), group("000000001", central=True))
    assert await of() == "000000001"  # the least number, in every deployment
    await loader.load(irs, DAYS[3], branch, group("000000002", central=True))
    assert await of() == "000000002"
    await loader.load(irs, DAYS[4], group("000000009", key="1962"), group("000000002", central=True))
    assert await of() is None
    await loader.load(irs, DAYS[5], branch, group("000000002", central=True, key="1962"))
    assert await of() is None


async def test_the_groups_of_any_register_are_joined(loader: Loader) -> None:
    """Where a register says of no body that a group's ruling exempts it, the group alone makes branches (mappings)."""
    own = Written("own-list", "NPO")
    central = entry("181465", "Federation", group_key="F1", is_branch_parent=True)
    branch, alone = entry("181466", "Chapter", group_key="F1"), entry("181467", "Alone", group_key="F2")
    await loader.load(own, DAYS[0], central, branch, alone)
    id_ = (await record(loader, "181465"))["id"]
    assert [(await record(loader, f"18146{nth}"))["branch_of"] for nth in (5, 6, 7)] == [None, id_, None]
    await loader.load(own, DAYS[1], central, branch, alone._replace(group_key="F1"))
    assert (await record(loader, "181467"))["branch_of"] == id_
    await loader.load(own, DAYS[2], central._replace(active=False), branch, alone)
    assert (await record(loader, "181466"))["branch_of"] is None


async def test_a_wrong_number_says_so(loader: Loader) -> None:
    await loader.load(Written("acnc", "ACNC"), DAYS[0], entry("52093617380", "Fund"))
    async with loader.db.read() as tx:
        for number, stated in (("52093617381", "wrong check digit"), ("5209361738", "malformed")):
            with pytest.raises(NotFound) as refused:
                await organisations.get_by_number(tx, ALL_PARTNERS, "AUS", "ACNC", number)
            assert stated in str(refused.value.reasons)
        with pytest.raises(NotFound) as refused:
            await organisations.get_by_number(tx, ALL_PARTNERS, "AUS", "IRS", "530196605")
        assert "no registry" in str(refused.value.reasons)
        assert (
            await organisations.get_by_number(tx, ALL_PARTNERS, "AUS", "ACNC", "AU-ABN-52 093 617 380")
        ).name == "Fund"


async def test_what_is_not_listed_in_some_parts_may_be_in_others(loader: Loader) -> None:
    """Of a register in files of states, some may be loaded: who asks is told which."""
    wyoming, hawaii = entry("830000001", "Fund", part="WY"), entry("990000001", "Fund", part="HI")
    irs = Written("irs-bmf", "IRS")
    stated: list[str] = []
    for rows in ((wyoming,), (wyoming, hawaii)):
        await loader.load(irs, DAYS[0], *rows)
        async with loader.db.read() as tx:
            with pytest.raises(NotFound) as refused:
                await organisations.get_by_number(tx, ALL_PARTNERS, "USA", "IRS", "530196605")
        stated += refused.value.reasons
    whole = f"the register IRS does not list this number in its data of {DAYS[0]:%Y-%m-%d}, of which"
    assert stated == [
        f"{whole} 1 of 53 parts are loaded (WY): one of the others may list it",
        f"{whole} 2 of 53 parts are loaded (HI, WY): one of the others may list it",
    ]
    everything = registries_domain.REQUIRED_PARTS["IRS"]
    await loader.load(irs, DAYS[1], *(entry(f"83{nth:07}", "F", part=part) for nth, part in enumerate(everything, 9)))
    async with loader.db.read() as tx:
        with pytest.raises(NotFound) as refused:
            await organisations.get_by_number(tx, ALL_PARTNERS, "USA", "IRS", "530196605")
    assert refused.value.reasons == (f"the register IRS does not list this number in its data of {DAYS[1]:%Y-%m-%d}",)


@pytest.mark.parametrize(
    "sql",
    [
        "update organisation set same_as = id where number_key = '263710'",
        (
            "update organisation set succeeded_by = id, status_override = 'merged', active = false "
            "where number_key = '263710'"
        ),
        "update organisation set status_override = 'revoked' where number_key = '263710'",
        "update organisation set active = false, status_override = 'bored' where number_key = '263710'",
        # Whoever answers for another answers for itself.
        """update organisation o set same_as = p.id from organisation p
        where (o.number_key, p.number_key) in (('263710', '263711'), ('263711', '263712'))""",
    ],
)
async def test_the_database_refuses_what_cannot_be(loader: Loader, sql: str) -> None:
    await loader.load(CCEW, DAYS[0], *(entry(f"26371{nth}", "Fund") for nth in range(3)))
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        async with loader.db.write() as tx:
            await tx.execute(sql)


async def test_a_link_stands_once_for_each_source(loader: Loader) -> None:
    await loader.load(LINKS, DAYS[0], ROW, same("263710", "SC002327"))
    with pytest.raises(asyncpg.UniqueViolationError):
        async with loader.db.write() as tx:
            await tx.execute(
                """
                insert into register_link (source, part, kind, registry_id, number_key, to_registry_id, to_number_key,
                    valid_from, load_id)
                select source, part, kind, registry_id, number_key, to_registry_id, to_number_key, valid_from + $1,
                    load_id
                from register_link
                """,
                timedelta(days=1),
            )


async def test_a_gift_to_either_record_is_the_organisations(alone: Service, loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], entry("263710", "Fund", registration_date=OLD))
    await loader.load(OSCR, DAYS[0], entry("SC002327", "Fund", active=False))
    await loader.load(LINKS, DAYS[0], ROW, same("263710", "SC002327"))
    english, scottish = await record(loader, "263710"), await record(loader, "SC002327")
    api = alone.client((await alone.tenant()).secret)
    opened = data(await api.post("/v1/donation-sessions", {"organisationId": named(alone, scottish["id"])}))
    session = data(await api.get(f"/v1/donation-sessions/{opened['id']}"))
    await api.close()
    assert session["organisationId"] == named(alone, english["id"])


def named(alone: Service, id_: UUID) -> str:
    return alone.db.deployment.ids.encode("organisation", id_)
