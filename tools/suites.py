"""Run every suite of tests/ and say how long each took; ``make test`` and ``make soak``."""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

PROJECT = Path(__file__).parents[1]
REPORTS = PROJECT / ".cache" / "reports"
# Two suites at a time, since none keeps both cores busy: one of each line, the longest first, so that both lines end
# together. What times itself is in the second, where less is asked of the machine. A suite not named is a last one.
LINES = (
    ("pages", "api", "store", "unit", "contract", "spec"),
    ("e2e", "fuzz", "newcomer", "concurrency", "worker", "chaos", "architecture"),
)
ALONE = {"architecture", "concurrency", "fuzz", "newcomer"}  # one process: they fill the machine, or share one thing
# Each of two workers begins with half of the files, so that what a file starts for its tests is mostly started once.
SHARED = ("-n", "2", "--dist", "worksteal")
CHECKED = "architecture"  # what `make check` has run
NOTHING_SELECTED = 5  # pytest's status for a suite without long figures
MOST_SECONDS = 1800  # of one suite; a test alone is ended long before (pyproject.toml)
MOST_UNSTEADY = 5  # more failures than these are no accident and are not tried again


class Result(NamedTuple):
    """What one suite did."""

    suite: str
    seconds: float
    tests: int
    failed: int
    skipped: int
    status: int
    unsteady: int = 0


def lines(left_out: set[str]) -> list[deque[Path]]:
    """The folders of tests/ that hold tests, in their lines."""
    found = {folder.name: folder for folder in (PROJECT / "tests").iterdir() if any(folder.glob("**/test_*.py"))}
    named = [name for line in LINES for name in line]
    made = [deque(found[name] for name in line if name in found.keys() - left_out) for line in LINES]
    made[0].extend(found[name] for name in sorted(found.keys() - set(named) - left_out))
    return made


class Running:
    """Suites that run, at the same time where there are several lines; ``begun`` are their processes."""

    def __init__(self, options: Sequence[str]) -> None:
        self._options = options
        self._begun: set[subprocess.Popen[str]] = set()
        self._turn = threading.Lock()
        self._over = False

    def all(self, waiting: list[deque[Path]]) -> list[Result]:
        """Run every suite; a line that is done helps the other one."""
        try:
            with ThreadPoolExecutor(len(waiting)) as threads:
                ours = [threads.submit(self._line, waiting, number) for number in range(len(waiting))]
                try:
                    return [result for one in ours for result in one.result()]
                except BaseException:
                    self.end()
                    raise
        finally:
            self.end()

    def _line(self, waiting: list[deque[Path]], number: int) -> list[Result]:
        results = []
        while (folder := self._next(waiting, number)) is not None:
            results.append(self.run(folder, number))
        return results

    def _next(self, waiting: list[deque[Path]], number: int) -> Path | None:
        with self._turn:
            for line in (waiting[number], *waiting):
                if line and not self._over:
                    return line.popleft()
        return None

    def run(self, folder: Path, line: int) -> Result:
        """Run one suite; its output as a whole, when it has ended."""
        report = REPORTS / f"{folder.name}.xml"
        report.unlink(missing_ok=True)
        command = [f"--junit-xml={report}", *self._options, *([] if folder.name in ALONE else SHARED)]
        began = time.monotonic()
        status = self.pytest(folder, line, "", *command)
        if status == NOTHING_SELECTED:
            status = 0
        seconds = time.monotonic() - began
        counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
        if report.exists():
            for suite in ET.parse(report).iter("testsuite"):
                counts = {name: count + int(suite.get(name, "0")) for name, count in counts.items()}
        failed = counts["failures"] + counts["errors"]
        return Result(folder.name, seconds, counts["tests"], failed, counts["skipped"], status)

    def once_more(self, found: Result) -> Result:
        """Run what failed by itself: what passes then is told as unsteady, and does not fail the run."""
        if not 0 < found.failed <= MOST_UNSTEADY:
            return found
        folder = PROJECT / "tests" / found.suite
        last = ("--last-failed", "--last-failed-no-failures=none")
        status = self.pytest(folder, 0, ": what failed, once more", *last)
        return found._replace(status=status, unsteady=0 if status else found.failed)

    def pytest(self, folder: Path, line: int, what: str, *arguments: str) -> int:
        """Its exit status; one that does not end is ended, with all that it started."""
        # What failed is remembered for each suite by itself: those that run at once would forget each other's.
        cache = f"cache_dir={PROJECT / '.cache' / 'pytest' / folder.name}"
        command = python(line, "-m", "pytest", "-q", str(folder.relative_to(PROJECT)), "-o", cache, *arguments)
        written = REPORTS / f"{folder.name}.txt"
        with written.open("w+") as output:
            with self._turn:
                process = subprocess.Popen(
                    command, cwd=PROJECT, start_new_session=True, stdout=output, stderr=output, text=True
                )
                self._begun.add(process)
            try:
                status = process.wait(None if "--soak" in arguments else MOST_SECONDS)
            except subprocess.TimeoutExpired:
                status = 1
                kill(process)
                output.write(f"\nThe suite did not end within {MOST_SECONDS} s.\n")
            output.seek(0)
            with self._turn:
                self._begun.discard(process)
                print(f"\n== {folder.name}{what}\n{output.read()}", flush=True)
        return status

    def end(self) -> None:
        """Begin nothing more, and end what runs, with all that it started."""
        with self._turn:
            self._over = True
            for process in self._begun:
                kill(process)


def python(line: int, *arguments: str) -> list[str]:
    """Each line has a database server of its own (tests/support/cluster.py): one has a hundred connections."""
    return ["env", f"TESTS_LINE={line or ''}", sys.executable, *arguments]


def kill(process: "subprocess.Popen[str]") -> None:
    """End a process and its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tell(results: list[Result], seconds: float) -> None:
    """What each suite did; the seconds of the whole are fewer than those of its suites together."""
    print("\nsuite           seconds   tests  failed unsteady  skipped")
    for one in results:
        print(f"{one.suite:<14} {one.seconds:>8.1f} {one.tests:>7} {one.failed:>7} {one.unsteady:>8} {one.skipped:>8}")
    print(f"{'all':<14} {seconds:>8.1f} {sum(one.tests for one in results):>7}")


def main() -> int:
    """Run all, tell all, fail when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--soak", action="store_true", help="full figures, written to docs/evidence")
    parser.add_argument("--no-skips", action="store_true", help="a skipped test fails the run; for CI")
    parser.add_argument("--once-more", action="store_true", help="what failed is run again by itself; for CI")
    parser.add_argument("--checked", action="store_true", help="without the suite that `make check` has run; for CI")
    given = parser.parse_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    waiting = lines({CHECKED} if given.checked else set())
    if given.soak:  # figures are taken one after the other
        waiting = [deque(folder for line in waiting for folder in line)]
    running = Running(["--soak", "-m", "soak", "--timeout=0"] if given.soak else [])
    try:
        results = running.all(waiting)
        again = Running([])
        results = [again.once_more(found) if given.once_more else found for found in results]
    finally:  # the servers' files are in memory, where there is room
        subprocess.run(python(0, "-m", "tests.support.cluster"), cwd=PROJECT, check=False)
    tell(results, time.monotonic() - began)
    skips_forbidden = given.no_skips and any(one.skipped for one in results)
    if skips_forbidden:
        print("Tests were skipped, and nothing may be here: see their reasons above.")
    return int(skips_forbidden or any(one.status for one in results))


if __name__ == "__main__":
    sys.exit(main())
