"""What stood on a day that is past, of bodies that were joined, branded or made branches since or before."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from almoner.kit.errors import NotFound
from almoner.nonprofits.branding import service as branding
from almoner.nonprofits.branding.service import BrandingChange
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers.domain import RegisterLink
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.files.images import Image
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

DAYS = [datetime(2026, month, 9, tzinfo=UTC) for month in range(1, 8)]
CCEW, OSCR, LINKS = (
    Written("ccew", "CCEW"),
    Written("oscr", "OSCR"),
    Written("gb-links", "CCEW", lists_organisations=False),
)
ROW = entry("199999", "A number that the links tell of")
OLD = datetime(1970, 1, 1, tzinfo=UTC)
SAME = RegisterLink("same", "CCEW", "263710", "OSCR", "SC002327")
ENGLISH, SCOTTISH = entry("263710", "English Fund"), entry("SC002327", "Scottish Fund", registration_date=OLD)


@pytest.fixture
def loader(alone: Service, tmp_path: Path) -> Loader:
    return Loader(alone.db, tmp_path)


async def id_of(loader: Loader, number: str) -> UUID:
    async with loader.db.read() as tx:
        id_ = await tx.fetchval("select id from organisation where number_key = $1", number)
    assert isinstance(id_, UUID)
    return id_


async def stood(loader: Loader, number: str, day: datetime) -> Organisation:
    id_ = await id_of(loader, number)
    async with loader.db.read() as tx:
        return await organisations.get_as_of(tx, ALL_PARTNERS, id_, day)


def codes(one: Organisation) -> list[str | None]:
    return [source.source_code for source in one.sources]


async def branded(loader: Loader, number: str, **wish: Any) -> None:
    id_ = await id_of(loader, number)
    async with loader.db.write() as tx:
        await branding.update_branding_of_primary_record(tx, id_, BrandingChange(**wish))


async def test_before_one_register_was_loaded_the_number_of_the_other_answered(loader: Loader) -> None:
    """Today the Scottish record answers for both; in January only England's register was known."""
    await loader.load(CCEW, DAYS[0], ENGLISH)
    await loader.load(OSCR, DAYS[2], SCOTTISH)
    await loader.load(LINKS, DAYS[1], ROW, SAME)
    for number in ("263710", "SC002327"):
        early = await stood(loader, number, DAYS[1])
        assert (early.registry_code, early.name, codes(early)) == ("CCEW", "English Fund", ["ccew"])
        later = await stood(loader, number, DAYS[2])
        assert (later.registry_code, codes(later)) == ("OSCR", ["oscr", "ccew"])
        with pytest.raises(NotFound, match="not in the data"):
            await stood(loader, number, DAYS[0] - timedelta(days=1))


async def test_the_sources_of_a_day_are_those_of_all_numbers_that_were_one_body(loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], ENGLISH)
    await loader.load(OSCR, DAYS[0], SCOTTISH)
    await loader.load(LINKS, DAYS[1], ROW, SAME)
    await loader.load(LINKS, DAYS[3], ROW, RegisterLink("same", "CCEW", "263711", "OSCR", "SC002328"))
    seen = {day: codes(await stood(loader, "SC002327", day)) for day in DAYS[:4]}
    both = ["oscr", "ccew"]
    assert seen == {DAYS[0]: ["oscr"], DAYS[1]: both, DAYS[2]: both, DAYS[3]: ["oscr"]}
    assert codes(await stood(loader, "263710", DAYS[2])) == both


async def test_a_body_is_shown_as_it_was_shown_then(alone: Service, loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], ENGLISH)
    before = alone.clock.now()
    alone.clock.advance(timedelta(days=1))
    logo = Image(b"\x89PNG", "image/png")
    await branded(loader, "263710", display_name="First", logo=logo)
    first = alone.clock.now()
    alone.clock.advance(timedelta(days=1))
    await branded(loader, "263710", display_name="", description="Second")
    second = alone.clock.now()
    none, one, two = [await stood(loader, "263710", moment) for moment in (before, first, second)]
    assert (none.display_name, none.description, none.logo) == (None, "", None)
    assert (one.display_name, one.description) == ("First", "")
    assert one.logo is not None
    assert (two.display_name, two.description, two.logo) == (None, "Second", one.logo)
    await branded(loader, "263710", logo=Image(b"\x89PNG2", "image/png"))
    assert (await stood(loader, "263710", first)).logo is None, "an image that was replaced is not kept"


async def test_a_branding_goes_over_to_the_record_that_answers(alone: Service, loader: Loader) -> None:
    """What that one said of itself stays; images are kept as long as one of them shows them."""
    await loader.load(CCEW, DAYS[0], ENGLISH)
    await loader.load(OSCR, DAYS[0], SCOTTISH)
    logo = Image(b"\x89PNG", "image/png")
    await branded(loader, "263710", display_name="Ours", logo=logo, colour="#0d5c4a")
    await branded(loader, "SC002327", display_name="Theirs")
    await loader.load(LINKS, DAYS[1], ROW, SAME)
    id_ = await id_of(loader, "263710")
    async with loader.db.read() as tx:
        shown = await organisations.get_effective_branding(tx, ALL_PARTNERS, id_)
    assert (shown.organisation_id, shown.display_name) == (await id_of(loader, "SC002327"), "Theirs")
    assert (shown.primary_color, shown.logo is None) == ("#0d5c4a", False)
    await branded(loader, "SC002327", logo=Image(b"\x89PNG2", "image/png"))
    await loader.load(LINKS, DAYS[2], ROW, RegisterLink("same", "CCEW", "263711", "OSCR", "SC002328"))
    async with loader.db.read() as tx:
        parted = await organisations.get_effective_branding(tx, ALL_PARTNERS, id_)
        stored = await tx.fetchval("select count(*) from media where key = $1", parted.logo)
    assert (parted.display_name, stored) == ("Ours", 1)


async def test_a_body_was_a_parent_on_the_days_on_which_it_had_branches(loader: Loader) -> None:
    branch = entry("263711", "Branch", parent_number="263710")
    main = entry("263710", "Main")
    await loader.load(CCEW, DAYS[0], main)
    await loader.load(CCEW, DAYS[1], main, branch)
    await loader.load(CCEW, DAYS[3], main, branch._replace(parent_number=None))
    seen = [(await stood(loader, "263710", day)).is_branch_parent for day in DAYS[:4]]
    assert seen == [False, True, True, False]
    await loader.load(CCEW, DAYS[4], main._replace(is_branch_parent=True), branch)
    await loader.load(CCEW, DAYS[5], main, branch._replace(parent_number=None))
    seen = [(await stood(loader, "263710", day)).is_branch_parent for day in DAYS[2:6]]
    assert seen == [True, False, True, False]
