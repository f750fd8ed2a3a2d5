"""The real files of the IRS: every row is read, and the difference of two months is what the files say."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from time import process_time

import pytest

from almoner.adapters.registers_irs_990n import Irs990NReader
from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.adapters.registers_irs_pub78 import IrsPub78Reader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.nonprofits.registers.domain import RegisterEntry, RejectedRow
from almoner.nonprofits.registers.ports import RegisterSource
from tests.support import given_files, irs_month
from tests.support.figures import Figures
from tests.support.register_files import File

LISTS = Path(__file__).parents[1] / "data" / "us_irs_lists"


def entries(files: Sequence[File], source: RegisterSource | None = None) -> dict[str, RegisterEntry]:
    found: dict[str, RegisterEntry] = {}
    for row in (source or IrsBmfReader()).read(files):
        assert isinstance(row, RegisterEntry), row
        found[row.number] = row
    return found


@cache
def shipped(state: str) -> dict[str, RegisterEntry]:
    """Those of the repository in April."""
    return entries([irs_month.april(state)])


@cache
def earlier() -> dict[str, RegisterEntry]:
    """Those of the District in March."""
    return entries([irs_month.march()])


def moved(before: RegisterEntry, after: RegisterEntry) -> set[str]:
    """The columns in which two rows differ."""
    columns = before.facts.keys() | after.facts.keys()
    return {column for column in columns if before.facts.get(column) != after.facts.get(column)}


@pytest.mark.parametrize(("state", "rows"), [("dc", 14_121), ("wy", 5_985)])
def test_the_shipped_files_are_read_without_a_bad_row(state: str, rows: int) -> None:
    found = shipped(state)
    assert len(found) == rows
    assert {entry.part for entry in found.values()} == {state.upper()}


def test_the_difference_of_a_month_is_exact() -> None:
    """What `docs/guides/registers.md` says of it."""
    before, after = earlier(), shipped("dc")
    assert (len(before), len(after)) == (14_040, 14_121)
    assert (len(after.keys() - before.keys()), len(before.keys() - after.keys())) == (156, 75)
    both = [(before[number], after[number]) for number in before.keys() & after.keys()]
    changes = [moved(*pair) for pair in both if pair[0] != pair[1]]
    assert len(changes) == 969
    assert sum("TAX_PERIOD" in columns for columns in changes) == 834
    assert sum(columns == {"TAX_PERIOD"} for columns in changes) == 358
    assert sum(columns <= IrsBmfReader.ignored_columns for columns in changes) == 631
    reported = Counter(column for columns in changes for column in columns - IrsBmfReader.ignored_columns)
    assert reported.most_common(4) == [("STREET", 264), ("ZIP", 234), ("NAME", 23), ("CITY", 10)]


def test_a_change_that_is_quiet_alone_changes_no_member_but_the_size() -> None:
    before, after = earlier(), shipped("dc")
    for number in before.keys() & after.keys():
        if moved(before[number], after[number]) <= IrsBmfReader.ignored_columns:
            assert before[number]._replace(facts={}, prominence=0) == after[number]._replace(facts={}, prominence=0)


def _elsewhere() -> list[Path]:
    """The folders of further files of the IRS: master files are .csv, lists are .txt."""
    given = given_files.folder()
    return [] if given is None else [given / "us_irs_bmf", given / "us_irs_lists"]


def _source(file: Path) -> RegisterSource:
    if file.suffix == ".csv":
        return IrsBmfReader()
    named: dict[str, RegisterSource] = {
        "pub78": IrsPub78Reader(),
        "revocation": IrsRevocationsReader(),
        "postcard": Irs990NReader(),
        "990n": Irs990NReader(),
    }
    return next(source for part, source in named.items() if part in file.name)


@pytest.mark.soak
def test_every_file_at_hand_is_read_without_a_bad_row(figures: Figures) -> None:
    """Those of the repository, and all of the folder of whole files."""
    given: list[tuple[RegisterSource, File]] = [(IrsBmfReader(), irs_month.april(state)) for state in ("dc", "wy")]
    folders = [LISTS, *_elsewhere()]
    files = [file for folder in folders for file in sorted(folder.rglob("*")) if file.suffix in (".csv", ".txt")]
    findings, rows, spent = [], 0, 0.0
    for source, file in (*given, *((_source(file), File(file.read_bytes(), str(file))) for file in files)):
        started = process_time()
        for _ in source.read([file]) if figures.soak else ():  # kept by nobody, as in a load
            pass
        spent += process_time() - started
        read = list(source.read([file]))
        lines = [line for line in file.content.splitlines() if line.strip()]
        assert not [row for row in read if isinstance(row, RejectedRow)], file.name
        assert len(read) == len(lines) - (source.code == "irs-bmf"), file.name
        assert not any(sign in repr(read) for sign in ("C/O ", " ATTN ", "'% ")), file.name
        rows += len(read)
    findings.append(
        f"{len(given) + len(files)} files, {rows:,} rows, none put aside; {rows / spent:,.0f} rows/s "
        "of one core. Files beyond those of the repository lie in the folder that `ALMONER_REGISTER_FILES` names"
    )
    figures.write("irs-files", "Files of the IRS, read", *findings)


def _raw(file: File) -> dict[str, dict[str, str]]:
    rows = csv.DictReader(io.StringIO(file.content.decode(), newline=""))
    return {row["EIN"]: {column: value for column, value in row.items() if column != "ICO"} for row in rows}


@pytest.mark.soak
def test_every_difference_at_hand_is_that_of_the_rows_as_published() -> None:
    """In any two states of one file: the same numbers came, left and changed, whether compared raw or as entries."""
    states: dict[str, list[File]] = {"eo_dc.csv of the repository": [irs_month.march(), irs_month.april()]}
    for file in (file for folder in _elsewhere() for file in sorted(folder.rglob("*.csv"))):
        states.setdefault(file.name, []).append(File(file.read_bytes(), str(file)))
    for older, newer in (pair for files in states.values() for pair in pairwise(files)):
        before, after, raw, later = entries([older]), entries([newer]), _raw(older), _raw(newer)
        assert (set(before), set(after)) == (set(raw), set(later))
        changed = {ein for ein in raw.keys() & later.keys() if raw[ein] != later[ein]}
        assert {ein for ein in before.keys() & after.keys() if before[ein] != after[ein]} == changed, newer.name
        assert {ein for ein in changed if moved(before[ein], after[ein])} == changed
