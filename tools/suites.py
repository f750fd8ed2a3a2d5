"""Run every suite of tests/ on its own and say how long each took; ``make test`` and ``make soak``."""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

PROJECT = Path(__file__).parents[1]
REPORTS = PROJECT / ".cache" / "reports"
# Quick ones first, then what needs a database, a browser, minutes. A suite not named here runs last.
ORDER = (
    "architecture",
    "unit",
    "store",
    "migrations",
    "spec",
    "api",
    "worker",
    "contract",
    "concurrency",
    "pages",
    "fuzz",
    "chaos",
    "e2e",
    "newcomer",
)
NOTHING_SELECTED = 5  # pytest's status for a suite without long figures
ALONE = {
    "architecture",
    "concurrency",
    "fuzz",
    "newcomer",
}  # they want both cores, or share one thing; of the others two run at once
MOST_SECONDS = 1500  # of one suite; a test alone is ended long before (pyproject.toml)
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


def suites() -> Iterator[Path]:
    """The folders of tests/ that hold tests, in their order."""
    found = {folder.name: folder for folder in (PROJECT / "tests").iterdir() if any(folder.glob("**/test_*.py"))}
    for name in (*ORDER, *sorted(found.keys() - set(ORDER))):
        if name in found:
            yield found[name]


def run(folder: Path, options: list[str]) -> Result:
    """Run one suite, its output as it comes."""
    report = REPORTS / f"{folder.name}.xml"
    report.unlink(missing_ok=True)
    command = ["-q", str(folder.relative_to(PROJECT)), f"--junit-xml={report}", *options]
    if folder.name not in ALONE:
        command += ["-n", "2"]
    print(f"\n== {folder.name}", flush=True)
    began = time.monotonic()
    status = pytest(command)
    if status == NOTHING_SELECTED:
        status = 0
    seconds = time.monotonic() - began
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if report.exists():
        for suite in ET.parse(report).iter("testsuite"):
            counts = {name: count + int(suite.get(name, "0")) for name, count in counts.items()}
    failed = counts["failures"] + counts["errors"]
    return Result(folder.name, seconds, counts["tests"], failed, counts["skipped"], status)


def pytest(arguments: list[str]) -> int:
    """Its exit status; one that does not end is ended, with all that it started."""
    process = subprocess.Popen([sys.executable, "-m", "pytest", *arguments], cwd=PROJECT, start_new_session=True)
    try:
        return process.wait(None if "--soak" in arguments else MOST_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as why:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(why, KeyboardInterrupt):
            raise
        print(f"\nThe suite did not end within {MOST_SECONDS} s.", flush=True)
        return 1


def once_more(folder: Path, found: Result) -> Result:
    """Run what failed by itself: what passes then is told as unsteady, and does not fail the run."""
    if not 0 < found.failed <= MOST_UNSTEADY:
        return found
    print(f"\n== {folder.name}: what failed, once more", flush=True)
    status = pytest(["-q", str(folder.relative_to(PROJECT)), "--last-failed", "--last-failed-no-failures=none"])
    return found._replace(status=status, unsteady=0 if status else found.failed)


def main() -> int:
    """Run all, tell all, fail when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--soak", action="store_true", help="full figures, written to docs/evidence")
    parser.add_argument("--no-skips", action="store_true", help="a skipped test fails the run; for CI")
    parser.add_argument("--once-more", action="store_true", help="what failed is run again by itself; for CI")
    given = parser.parse_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    options = ["--soak", "-m", "soak", "--timeout=0"] if given.soak else []
    results = []
    try:
        for folder in suites():
            found = run(folder, options)
            results.append(once_more(folder, found) if given.once_more else found)
    finally:  # the server's files are in memory, where there is room
        subprocess.run([sys.executable, "-m", "tests.support.cluster"], cwd=PROJECT, check=False)
    print("\nsuite           seconds   tests  failed unsteady  skipped")
    for one in results:
        print(f"{one.suite:<14} {one.seconds:>8.1f} {one.tests:>7} {one.failed:>7} {one.unsteady:>8} {one.skipped:>8}")
    print(f"{'all':<14} {sum(one.seconds for one in results):>8.1f} {sum(one.tests for one in results):>7}")
    skips_forbidden = given.no_skips and any(one.skipped for one in results)
    if skips_forbidden:
        print("Tests were skipped, and nothing may be here: see their reasons above.")
    return int(skips_forbidden or any(one.status for one in results))


if __name__ == "__main__":
    sys.exit(main())
