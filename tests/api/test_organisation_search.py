"""What search finds beside names as they are: lost zeros, initials, former names, second lines, own descriptions."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from almoner.nonprofits.branding import service as branding
from almoner.nonprofits.branding.service import BrandingChange
from almoner.nonprofits.registers import flows as registers_flows
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

FIRST, SECOND = datetime(2026, 3, 9, tzinfo=UTC), datetime(2026, 4, 13, tzinfo=UTC)
BMF: Final = Written("irs-bmf", "IRS")
OSCR: Final = Written("oscr", "OSCR")
FILLING: Final = [entry(f"30000{nth:04d}", f"SOCIETY {nth} OF DALLAS", city="DALLAS", state="TX") for nth in range(30)]
BODIES: Final = [
    entry("010019709", "HOULTON LODGE", city="HOULTON", state="ME"),
    entry("042103550", "YOUNG WOMENS CHRISTIAN ASSOCIATION OF BOSTON", city="BOSTON", state="MA"),
    entry("042103551", "YOUNG WOMENS CHRISTIAN ASSOCIATION", city="WORCESTER", state="MA"),
    entry("751234567", "NORTH TEXAS ANIMAL SHELTER", city="DALLAS", state="TX"),
    entry("060646973", "YALE UNIVERSITY", secondary_name="1957 YALE COLLEGE CLASS", city="NEW HAVEN", state="CT"),
    entry("060646974", "YALE UNIVERSITY", city="NEW HAVEN", state="CT"),
    entry("530196605", "HARBOUR KITCHENS", city="WASHINGTON", state="DC"),
    entry("521234567", "NATIONAL WATER RESOURCES ASSOCIATION", city="WASHINGTON", state="DC"),
    entry("830000001", "DEBRA OF WYOMING", city="CASPER", state="WY"),
    entry("830000002", "FIRST BAPTIST CHURCH", city="CASPER", state="WY"),
    entry("830000003", "BIRDS ANIMALS PLANTS FIRST", city="CASPER", state="WY"),
]


@pytest.fixture
async def api(alone: Service, tmp_path: Path) -> Client:
    loader = Loader(alone.db, tmp_path)
    await loader.load(BMF, FIRST, *BODIES, *FILLING)
    await loader.load(OSCR, FIRST, entry("SC005336", "University of Edinburgh", city="EDINBURGH"))
    return alone.client((await alone.tenant()).secret)


async def search(api: Client, text: str) -> dict[str, Any]:
    answer = await api.get("/v1/organisations", query=text, headers={"Explain": "true"})
    body: dict[str, Any] = answer.json()
    return body


def numbers(answer: dict[str, Any]) -> list[str]:
    return [row["registryId"] for row in answer["data"]]


async def test_a_number_without_its_zeros_is_found_and_said_to_lack_them(api: Client) -> None:
    in_arabic_digits = "\u0660\u0661-\u0660\u0660\u0661\u0669\u0667\u0660\u0669"
    for typed, meant in (
        ("10019709", "010019709"),
        ("1-0019709", "010019709"),
        ("SC05336", "SC005336"),
        ("EIN 10019709", "010019709"),
        ("US-EIN-10019709", "010019709"),
        ("#10019709", "010019709"),
        ("Charity no. SC05336", "SC005336"),
        ("GB-SC-05336", "SC005336"),
        ("\uff11\uff10\uff10\uff11\uff19\uff17\uff10\uff19", "010019709"),
    ):
        answer = await search(api, typed)
        assert (numbers(answer), answer["leadingZerosAdded"]) == ([meant], True), typed
        assert answer["data"][0]["explain"]["foundBy"] == "number"
    for typed in (
        "010019709",
        "53-0196605",
        "harbour kitchens",
        "\u0660\u0661-\u0660\u0660\u0661\u0669\u0667\u0660\u0669",
    ):
        assert (await search(api, typed))["leadingZerosAdded"] is False, typed
    assert numbers(await search(api, in_arabic_digits)) == ["010019709"]
    assert numbers(await search(api, "019709")) == []


async def test_initials_are_found_beside_a_place(api: Client) -> None:
    for typed, meant in (
        ("YWCA Boston", "042103550"),
        ("ywca worcester", "042103551"),
        ("Worcester YWCA", "042103551"),
        ("ntas dallas", "751234567"),
        ("N.T.A.S. Dallas TX", "751234567"),
    ):
        answer = await search(api, typed)
        assert numbers(answer)[0] == meant, typed
        assert answer["data"][0]["explain"]["foundBy"] == "initials", typed


@pytest.mark.parametrize("typed", ["\u0646\u0648\u0631", "\u0646\u0648\u0631 Washington"])
async def test_a_word_of_another_script_is_not_taken_for_initials(api: Client, typed: str) -> None:
    """Romanised without vowels, NUR is NWR."""
    answer = await search(api, typed)
    assert "521234567" not in numbers(answer) or answer["similarResultsOnly"] is True
    assert "initials" not in [one["explain"]["foundBy"] for one in answer["data"]]
    assert numbers(await search(api, typed.replace("\u0646\u0648\u0631", "nwr")))[0] == "521234567"


async def test_the_beginning_of_a_word_is_not_taken_for_initials(api: Client) -> None:
    assert numbers(await search(api, "first bap"))[0] == "830000002"
    assert numbers(await search(api, "bap casper "))[0] == "830000003"


async def test_a_body_is_found_by_the_names_that_it_had(alone: Service, api: Client, tmp_path: Path) -> None:
    renamed = [row._replace(name="QUAYSIDE MEALS") if row.number == "530196605" else row for row in BODIES]
    loader = Loader(alone.db, tmp_path / "later")
    loader.folder.mkdir()
    await loader.load(BMF, SECOND, *renamed, *FILLING)
    for typed in ("harbour kitchens", "harbor kitchens", "quayside meals", "harbour kitchens washington"):
        assert numbers(await search(api, typed))[0] == "530196605", typed
    again = [row._replace(name="QUAYSIDE DINNERS") if row.number == "530196605" else row for row in BODIES]
    await loader.load(BMF, datetime(2026, 5, 11, tzinfo=UTC), *again, *FILLING)
    for typed in ("harbour kitchens", "quayside meals", "quayside dinners"):
        assert numbers(await search(api, typed))[0] == "530196605", typed
    await registers_flows.roll_back_newest_import(alone.db, BMF)
    assert (await search(api, "quayside dinners"))["similarResultsOnly"] is True  # it was never called so
    assert numbers(await search(api, "harbour kitchens"))[0] == "530196605"


async def test_names_without_words_and_of_any_length_leave_what_can_be_searched(
    alone: Service, api: Client, tmp_path: Path
) -> None:
    loader = Loader(alone.db, tmp_path / "later")
    loader.folder.mkdir()
    days = (datetime(2026, month, 9, tzinfo=UTC) for month in range(4, 12))
    names = [
        "???",
        "A " + "quayside " * 50,
        "!!!",
        *(f"{nth} " + f"word{nth} " * 70 for nth in range(3)),
        "HARBOUR MEALS",
    ]
    for day, name in zip(days, names, strict=False):
        again = [row._replace(name=name.strip()) if row.number == "530196605" else row for row in BODIES]
        await loader.load(BMF, day, *again, *FILLING)
    for typed in ("harbour meals", "word2"):
        assert numbers(await search(api, typed))[0] == "530196605", typed


async def test_the_second_line_of_a_name_is_found(api: Client) -> None:
    for typed in ("1957 yale college class", "yale university 1957 class"):
        assert numbers(await search(api, typed))[0] == "060646973", typed


async def test_what_a_body_says_of_itself_is_found(alone: Service, api: Client) -> None:
    row = (await search(api, "harbour kitchens"))["data"][0]
    shown = alone.db.deployment.ids.decode("organisation", row["id"])
    assert shown is not None
    async with alone.db.write() as tx:
        own = BrandingChange(display_name="Supper Club Nantucket", description="Warm dinners for lighthouse keepers")
        await branding.update_branding_of_primary_record(tx, shown, own)
    for typed, found_by in (("supper club nantucket", "words"), ("lighthouse keepers", "description")):
        answer = await search(api, typed)
        assert (numbers(answer)[0], answer["data"][0]["explain"]["foundBy"]) == ("530196605", found_by), typed
    async with alone.db.write() as tx:
        await branding.reset_branding_of_primary_record(tx, shown)
    assert "530196605" not in numbers(await search(api, "lighthouse keepers"))


async def test_names_that_are_only_like_the_query_are_marked(api: Client) -> None:
    for typed in ("zebra", "houltn lodge", "yale universiti 1957"):
        answer = await search(api, typed)
        assert answer["data"], typed
        assert answer["similarResultsOnly"] is True, typed
    for typed in ("debra", "houlton lodge", "010019709", "10019709", "society", "qqqqqq"):
        assert (await search(api, typed))["similarResultsOnly"] is False, typed
    listed = (await api.get("/v1/organisations")).json()
    assert (listed["similarResultsOnly"], listed["leadingZerosAdded"]) == (False, False)
    assert len(data(await api.get("/v1/organisations", query="zebra", page="1"))) >= 1
