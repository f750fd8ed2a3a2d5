"""Loading watchlists: versions are kept, what looks broken is refused, and what a newer file changes is told."""

import asyncio
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from almoner.adapters.watchlist_ofac import OfacReader
from almoner.platform.database.transactions import Database, Tx
from almoner.screening.screenings.domain import SubjectDetails, WatchlistHit
from almoner.screening.screenings.screener import WatchlistsOutdated
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import flows as watchlists_flows
from almoner.screening.watchlists import service
from almoner.screening.watchlists.domain import WatchlistImport, WatchlistImportChecksFailed, WatchlistImportRefused
from tests.support.service import Service
from tests.support.watchlists import listing, write

SDN = OfacReader("ofac-sdn", "OFAC Specially Designated Nationals", 3)
NAMES = ("AL-FAROUK RELIEF TRUST", "BANCO NACIONAL DEL CACAO", "ZAVOD IMENI DEGTYAREVA", "KOREA UNHA TRADING")


@pytest.fixture
def db(alone: Service) -> Database:
    return alone.db


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[Path]:
    return (tmp_path / f"sdn{nth}.csv" for nth in count())


def rows(names: tuple[str, ...] = NAMES) -> list[list[str]]:
    return [listing(number, name) for number, name in enumerate(names, 1)]


async def load(db: Database, *files: Path, force: bool = False, source: OfacReader = SDN) -> WatchlistImport:
    return await watchlists_flows.import_watchlist(db, source, files, force=force)


async def current(db: Database, code: str = "ofac-sdn") -> list[str]:
    async with db.read() as tx:
        return [entry.listed.names[0].text for entry in await service.list_current_entries(tx, code, "")]


async def test_a_load_keeps_what_was_loaded_from_where(db: Database, paths: Iterator[Path]) -> None:
    file = write(next(paths), rows())
    made = await load(db, file)
    assert (made.status, made.entries, made.added, made.removed, made.changed) == ("loaded", 4, 4, 0, 0)
    async with db.read() as tx:
        (version,) = await service.list_current_versions(tx)
    assert version.load == made
    assert (version.code, version.licence) == ("ofac-sdn", "public domain (US government work)")
    assert [one.name for one in made.files] == [file.name]
    assert await current(db) == list(NAMES)


async def test_the_same_files_again_change_nothing_packed_or_not(db: Database, paths: Iterator[Path]) -> None:
    file = write(next(paths), rows())
    first = await load(db, file)
    packed = file.with_suffix(".zip")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(file, "sdn.csv")
    assert (await load(db, file)).status == "unchanged"
    assert (await load(db, packed)).status == "unchanged"
    async with db.read() as tx:
        assert [one.id for one in await service.list_imports(tx, None, 10)] == [first.id]


async def test_a_newer_file_ends_and_begins_entries_and_overwrites_none(db: Database, paths: Iterator[Path]) -> None:
    first = await load(db, write(next(paths), rows()))
    newer = [listing(1, NAMES[0], programme="SDGT] [FTO"), *rows()[1:3], listing(9, "MARTYRS FOUNDATION OF TYRE")]
    second = await load(db, write(next(paths), newer))
    assert (second.added, second.removed, second.changed) == (1, 1, 1)
    async with db.read() as tx:
        changes = await service.get_import_changes(tx, second.id)
        stored = await tx.fetch("select entry_key, since_load_id, until_load_id from watchlist_entry order by id")
    assert [one.listed.key for one in changes.added_entries] == ["9"]
    assert [one.listed.key for one in changes.removed_entries] == ["4"]
    assert [(old.listed.programmes, new.listed.programmes) for old, new in changes.changed_entries_old_and_new] == [
        (("SDGT",), ("SDGT", "FTO"))
    ]
    assert {row["since_load_id"] for row in stored} == {first.id, second.id}
    assert len(stored) == 6


async def test_what_looks_broken_is_refused_and_the_last_good_version_stays(
    db: Database, paths: Iterator[Path]
) -> None:
    first = await load(db, write(next(paths), rows()))
    cut = write(next(paths), rows()[:2])
    with pytest.raises(WatchlistImportChecksFailed, match="a complete list has at least 3"):
        await load(db, cut)
    assert await current(db) == list(NAMES)
    async with db.read() as tx:
        (version,) = await service.list_current_versions(tx)
        (refused,) = await service.list_latest_refused_imports(tx)
        reported = await tx.fetch("select type from internal_event order by id")
    assert version.load.id == first.id
    assert refused.reasons == ("the list has 2 entries, but a complete list has at least 3",)
    assert [row["type"] for row in reported] in (
        [],
        ["internal.watchlist_refused"],
        ["internal.watchlist_loaded", "internal.watchlist_refused"],
    )
    assert (await load(db, cut, force=True)).removed == 2


async def test_a_list_that_lost_a_share_or_is_older_is_refused(db: Database, paths: Iterator[Path]) -> None:
    many = [listing(number, f"COMPANY OF TOWN {number}") for number in range(1, 101)]
    days = [datetime(2026, 5, day, tzinfo=UTC) for day in (1, 3)]
    await watchlists_flows.import_watchlist(db, SDN, [write(next(paths), many)], published_at=days[1])
    with pytest.raises(WatchlistImportChecksFailed, match="21 of the 100 current entries are missing from the list"):
        await load(db, write(next(paths), many[21:]))
    with pytest.raises(
        WatchlistImportChecksFailed, match="the list is dated 2026-05-01, but the current version is dated 2026-05-03"
    ):
        await watchlists_flows.import_watchlist(db, SDN, [write(next(paths), many[1:])], published_at=days[0])


def aliases(numbers: range, *, columns: int = 5) -> list[list[str]]:
    """Rows of alt.csv: one more name for each entry."""
    return [[f"{number}", f"{number}", "aka", f"OTHER NAME {number}", "-0- "][:columns] for number in numbers]


async def names_of(db: Database, key: str) -> list[str]:
    async with db.read() as tx:
        entries = await service.list_current_entries(tx, "ofac-sdn", "")
    return [name.text for entry in entries if entry.listed.key == key for name in entry.listed.names]


async def test_a_list_whose_file_of_names_is_missing_or_cut_off_is_refused(db: Database, paths: Iterator[Path]) -> None:
    many = [listing(number, f"COMPANY OF TOWN {number}") for number in range(1, 31)]
    await load(db, write(next(paths), many), write(next(paths), aliases(range(1, 31))))
    with pytest.raises(WatchlistImportChecksFailed, match="have 30 names, but those of the current version have 60"):
        await load(db, write(next(paths), many))
    with pytest.raises(WatchlistImportChecksFailed, match="have 47 names"):
        await load(db, write(next(paths), many), write(next(paths), aliases(range(1, 18))))
    assert await names_of(db, "30") == ["COMPANY OF TOWN 30", "OTHER NAME 30"]
    assert (await load(db, write(next(paths), many), force=True)).changed == 30


async def test_an_entry_keeps_the_names_of_its_rows_that_cannot_be_read(db: Database, paths: Iterator[Path]) -> None:
    await load(db, write(next(paths), rows()), write(next(paths), aliases(range(1, 5))))
    damaged = [*aliases(range(1, 2)), *aliases(range(2, 3), columns=4), *aliases(range(3, 5))]
    made = await load(db, write(next(paths), rows()), write(next(paths), damaged))
    assert (made.rejected, made.changed, made.kept) == (1, 0, 1)
    assert await names_of(db, "2") == ["BANCO NACIONAL DEL CACAO", "OTHER NAME 2"]


async def test_a_quotation_mark_without_its_pair_removes_nobody(db: Database, paths: Iterator[Path]) -> None:
    many = [listing(number, f"COMPANY OF TOWN {number}") for number in range(1, 31)]
    await load(db, write(next(paths), many))
    file = write(next(paths), many)
    text = file.read_bytes().replace(b"COMPANY OF TOWN 5,", b'"COMPANY OF TOWN 5,')
    file.write_bytes(text.replace(b"COMPANY OF TOWN 6,", b'"COMPANY OF TOWN 6",'))
    made = await load(db, file)
    assert (made.rejected, made.removed, made.changed, made.kept) == (1, 0, 0, 2)
    assert len(await current(db)) == 30


async def test_files_of_something_else_are_refused_and_leave_no_trace(db: Database, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("name,street\nA,B\n")
    with pytest.raises(WatchlistImportRefused, match="none of the files has the entries"):
        await load(db, other)
    async with db.read() as tx:
        assert await tx.fetchval("select count(*) from watchlist_load") == 0


async def test_who_is_compared_meets_the_version_that_is_loaded_now(db: Database, paths: Iterator[Path]) -> None:
    screener = Screener()
    asked = SubjectDetails("organisation", ("Zavod imeni Degtyareva",))

    async def compared(tx: Tx) -> tuple[list[WatchlistHit], list[str]]:
        lists = await screener.lock_and_get_current_index(tx)
        return lists.find_hits(asked), [one.version_label for one in lists.versions]

    assert await screener.run_with_current_watchlists(db, compared) == ([], [])
    first = await load(db, write(next(paths), rows()))
    (hit,), versions = await screener.run_with_current_watchlists(db, compared)
    assert (hit.list, hit.entry_key, hit.import_id, hit.category) == ("ofac-sdn", "3", first.id, "sanction")
    assert hit.score == pytest.approx(sum(part.points for part in hit.parts))
    assert versions == [first.version_label]
    await load(db, write(next(paths), [*rows()[:2], rows()[3]]), force=True)
    assert (await screener.run_with_current_watchlists(db, compared))[0] == []


async def test_a_list_that_is_no_longer_loaded_names_nobody(db: Database, paths: Iterator[Path]) -> None:
    """As in a database that has gone back in time while the service ran."""
    screener, asked = Screener(), SubjectDetails("organisation", (NAMES[0],))
    await load(db, write(next(paths), rows()))
    await load(db, write(next(paths), rows(NAMES[1:])), source=OfacReader("own-media", "Ours", 1))
    assert len((await screener.reload_index(db)).find_hits(asked)) == 1
    async with db.write() as tx:
        await tx.execute("update watchlist set current_load_id = null where code = 'ofac-sdn'")
    lists = await screener.reload_index(db)
    assert ([one.code for one in lists.versions], lists.find_hits(asked)) == (["own-media"], [])


async def test_lists_are_read_outside_of_who_compares_and_leave_the_loop_free(
    db: Database, paths: Iterator[Path]
) -> None:
    screener = Screener()
    many = [listing(number, f"COMPANY {number} OF TOWN {number * 7}") for number in range(1, 2_000)]
    await load(db, write(next(paths), many))
    async with db.write() as tx:
        with pytest.raises(WatchlistsOutdated):
            await screener.lock_and_get_current_index(tx)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    await screener.reload_index(db)
    turning.cancel()
    assert turns > 50  # the loop went on while thousands of names were read
    async with db.write() as tx:
        assert [one.code for one in (await screener.lock_and_get_current_index(tx)).versions] == ["ofac-sdn"]


async def test_an_entry_that_cannot_be_read_stays_as_it_was(db: Database, paths: Iterator[Path]) -> None:
    given = rows(tuple(f"BODY {nth}" for nth in range(1, 30)))
    await load(db, write(next(paths), given))
    made = await load(db, write(next(paths), [[*given[0], "further"], *given[1:28]]))
    assert (made.rejected, made.kept, made.removed) == (1, 1, 1)
    made = await load(db, write(next(paths), [["x", *given[0][1:]], *given[1:27]]))
    assert (made.rejected, made.kept, made.removed) == (1, 2, 0), "it may be either of those that are missing"
