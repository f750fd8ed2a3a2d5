"""Run every suite of tests/, each once, as many at a time as keep the machine busy, and say how long each took.

``make test`` runs the suites; ``.ci/run`` also what else takes time (``--ci``); ``make soak`` is in ``tools/soak.py``.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple
from xml.etree import ElementTree as ET

PROJECT = Path(__file__).parents[1]
REPORTS = PROJECT / ".cache" / "reports"
TABLE = PROJECT / "docs" / "architecture.md"
TABLE_HEAD = "| suite | seconds | of work | tests |\n|---|---:|---:|---:|\n"
PLACES = 4  # processes that work at a time, on two cores: none of them keeps one busy
MOST_SECONDS = 1500  # of one piece; a test alone is ended long before (pyproject.toml)
NOTHING_SELECTED = 5  # pytest's status for a suite of which nothing was asked


class Piece(NamedTuple):
    """Something to run; one with a ``command`` is no suite.

    ``served``: it works on the tests' database server (tests/support/cluster.py), which has a hundred connections.
    ``half``: of the files of a large suite, each in a process that imports no others.
    """

    name: str
    command: tuple[str, ...] = ()
    only_ci: bool = False
    served: bool = True
    half: int | None = None

    @property
    def title(self) -> str:
        """Its name among all that run."""
        return self.name if self.half is None else f"{self.name}-{self.half}"

    @property
    def tests(self) -> list[str]:
        """What pytest is given."""
        if self.half is None:
            return [f"tests/{self.name}"]
        files = sorted((PROJECT / "tests" / self.name).rglob("test_*.py"), key=lambda file: -file.stat().st_size)
        return [str(file.relative_to(PROJECT)) for file in files[self.half :: 2]]


# The longest first, so that all end together; a suite that is not named comes last. What starts commands and waits for
# them leaves processor time to the others: it runs beside those that never wait, not at the end.
ORDER = (
    Piece("e2e"),
    Piece("newcomer", served=False),
    Piece("api", half=0),
    Piece("api", half=1),
    Piece("pages", half=0),
    Piece("pages", half=1),
    Piece("chaos"),
    Piece("bench", ("-m", "bench", "--brief"), only_ci=True, served=False),
    Piece("store", half=0),
    Piece("store", half=1),
    Piece("worker"),
    Piece("unit", half=0),
    Piece("types", ("-m", "mypy"), only_ci=True, served=False),
    Piece("fuzz", served=False),
    Piece("unit", half=1),
    Piece("concurrency"),
    Piece("contract"),
    Piece("spec"),
    Piece("architecture", served=False),
    Piece("plans"),
)
# Plans what the others have recorded. It runs where it is named, after a whole run: which shapes of a statement are
# recorded depends on the order of the tests, and so may what needs an exception (tests/plans/known.toml).
NAMED_ALONE = "plans"
RECORDED = PROJECT / ".cache" / "statements"
CHECKED = "architecture"  # what `make check-code` has run


class Result(NamedTuple):
    """What one piece did; ``busy`` are the seconds of work of its processes, database servers included."""

    name: str
    status: int
    seconds: float
    busy: float
    tests: int
    failed: int
    skipped: int


@dataclass
class Running:
    """A piece that runs; ``line`` is the number of its database server, which it has for itself."""

    piece: Piece
    line: int
    process: "subprocess.Popen[str]"
    output: IO[str]
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began


def pieces(ci: bool, only: Sequence[str]) -> list[Piece]:
    """What there is to run."""
    found = {folder.name for folder in (PROJECT / "tests").iterdir() if any(folder.glob("**/test_*.py"))}
    made = [one for one in ORDER if one.name in found or (one.only_ci and ci)]
    made += [Piece(name) for name in sorted(found - {one.name for one in ORDER})]
    if only:
        return [one for one in made if one.name in only]
    left_out = {NAMED_ALONE, *([CHECKED] if ci else [])}
    return [one for one in made if one.name not in left_out]


class Pool:
    """Runs pieces until all have ended."""

    def __init__(self, waiting: list[Piece]) -> None:
        self._waiting = waiting
        self._running: list[Running] = []
        self.results: list[Result] = []

    def run(self) -> None:
        """Begin the first in line wherever there is a place; ended by what ends this process, all ends."""
        try:
            while self._waiting or self._running:
                self._begin()
                time.sleep(0.1)
                for one in list(self._running):
                    self._look_at(one)
        finally:
            for one in self._running:
                kill(one.process)

    def _begin(self) -> None:
        while self._waiting and len(self._running) < PLACES:
            line = min(set(range(PLACES)) - {one.line for one in self._running if one.piece.served})
            self._running.append(begin(self._waiting.pop(0), line))

    def _look_at(self, one: Running) -> None:
        ended, status, used = os.wait4(one.process.pid, os.WNOHANG)
        if not ended and one.seconds < MOST_SECONDS:
            return
        if not ended:
            kill(one.process)
            one.output.write(f"\nIt did not end within {MOST_SECONDS} s.\n")
        one.process.returncode = os.waitstatus_to_exitcode(status) if ended else 1
        self._running.remove(one)
        one.output.seek(0)
        busy = used.ru_utime + used.ru_stime
        print(f"\n== {one.piece.title}: {one.seconds:.0f} s\n{one.output.read()}", flush=True)
        self.results.append(result(one, busy))
        one.output.close()


def begin(piece: Piece, line: int) -> Running:
    """Start a piece; its output is shown as a whole when it has ended."""
    report = REPORTS / f"{piece.title}.xml"
    report.unlink(missing_ok=True)
    suite = ("-m", "pytest", "-q", *piece.tests, "-p", "no:cacheprovider", f"--junit-xml={report}")
    output = (REPORTS / f"{piece.title}.txt").open("w+")
    # What a process has compiled is kept for the next, whatever this machine's shells say: half of a suite's start.
    kept = ("env", "-u", "PYTHONDONTWRITEBYTECODE", f"TESTS_LINE={line or ''}")
    counted = (sys.executable, "-m", "tools.counted")  # with the servers that its tests start
    command = [*kept, *counted, sys.executable, *(piece.command or suite)]
    process = subprocess.Popen(command, cwd=PROJECT, start_new_session=True, stdout=output, stderr=output, text=True)
    return Running(piece, line, process, output)


def result(one: Running, busy: float) -> Result:
    """What a piece that has ended did."""
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    report = REPORTS / f"{one.piece.title}.xml"
    if report.exists():
        for suite in ET.parse(report).iter("testsuite"):
            counts = {name: count + int(suite.get(name, "0")) for name, count in counts.items()}
    status = 0 if one.process.returncode == NOTHING_SELECTED and not one.piece.command else one.process.returncode
    failed = counts["failures"] + counts["errors"]
    return Result(one.piece.name, status, one.seconds, busy, counts["tests"], failed, counts["skipped"])


def whole(results: list[Result]) -> list[Result]:
    """One for each suite, the longest first; the halves of a suite run beside each other."""
    found: dict[str, Result] = {}
    for one in results:
        other = found.get(one.name)
        found[one.name] = one if other is None else joined(one, other)
    return sorted(found.values(), key=lambda one: -one.seconds)


def joined(one: Result, other: Result) -> Result:
    """What both halves of a suite did."""
    return Result(
        one.name,
        one.status or other.status,
        max(one.seconds, other.seconds),
        one.busy + other.busy,
        one.tests + other.tests,
        one.failed + other.failed,
        one.skipped + other.skipped,
    )


def kill(process: "subprocess.Popen[str]") -> None:
    """End a process and its group."""
    with suppress(ProcessLookupError, ChildProcessError):
        os.killpg(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)


def tell(results: list[Result], seconds: float) -> None:
    """What each piece did; the seconds of the whole are fewer than those of its pieces together."""
    print("\nsuite           seconds     busy   tests  failed  skipped")
    for one in whole(results):
        row = f"{one.name:<14} {one.seconds:>8.1f} {one.busy:>8.1f} {one.tests:>7} {one.failed:>7} {one.skipped:>8}"
        print(row + ("" if one.status == 0 else f"  ended with {one.status}"))
    busy, tests = sum(one.busy for one in results), sum(one.tests for one in results)
    print(f"{'all':<14} {seconds:>8.1f} {busy:>8.1f} {tests:>7}")


def record(results: list[Result], seconds: float) -> None:
    """Write the seconds of a whole run into the table of the architecture page."""
    rows = [(one.name, one.seconds, one.busy, one.tests) for one in whole(results)]
    rows.append(("all", seconds, sum(one.busy for one in results), sum(one.tests for one in results)))
    table = "".join(f"| {name} | {took:.0f} | {busy:.0f} | {tests:,} |\n" for name, took, busy, tests in rows)
    before, head, after = TABLE.read_text().partition(TABLE_HEAD)
    rest = re.sub(r"\A(\|.*\n)*", "", after)
    before = re.sub(r"(Seconds on two cores, )\S+(?=:\n\n\Z)", rf"\g<1>{time.strftime('%Y-%m-%d')}", before)
    TABLE.write_text(before + head + table + rest)


def main() -> int:
    """Run all, tell all, fail when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="suites; all, where none is named")
    parser.add_argument(
        "--ci",
        action="store_true",
        help=f"with types and the bench in brief, without {CHECKED} (`make check-code`); a skipped test fails the run",
    )
    parser.add_argument("--record", action="store_true", help="write the seconds to docs/architecture.md")
    given = parser.parse_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    if not given.only:
        shutil.rmtree(RECORDED, ignore_errors=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    pool = Pool(pieces(given.ci, given.only))
    try:
        pool.run()
    finally:  # the servers' files are in memory, where there is room
        subprocess.run([sys.executable, "-m", "tests.support.cluster"], cwd=PROJECT, check=False)
        seconds = time.monotonic() - began
        tell(pool.results, seconds)
    if given.record:
        record(pool.results, seconds)
    skips_forbidden = given.ci and any(one.skipped for one in pool.results)
    if skips_forbidden:
        print("Tests were skipped, and nothing may be here: see their reasons above.")
    return int(skips_forbidden or any(one.status for one in pool.results))


if __name__ == "__main__":
    sys.exit(main())
