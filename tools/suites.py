"""Run every suite of tests/ on its own and say how long each took; ``make test`` and ``make soak``."""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
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
TWO_AT_ONCE = {"api", "spec"}  # many tests that wait for the database; the others are short or share one thing


class Result(NamedTuple):
    """What one suite did."""

    suite: str
    seconds: float
    tests: int
    failed: int
    skipped: int
    status: int


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
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        str(folder.relative_to(PROJECT)),
        f"--junit-xml={report}",
        *options,
    ]
    if folder.name in TWO_AT_ONCE:
        command += ["-n", "2"]
    print(f"\n== {folder.name}", flush=True)
    began = time.monotonic()
    status = subprocess.run(command, cwd=PROJECT, check=False).returncode
    if status == NOTHING_SELECTED:
        status = 0
    seconds = time.monotonic() - began
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if report.exists():
        for suite in ET.parse(report).iter("testsuite"):
            counts = {name: count + int(suite.get(name, "0")) for name, count in counts.items()}
    failed = counts["failures"] + counts["errors"]
    return Result(folder.name, seconds, counts["tests"], failed, counts["skipped"], status)


def main() -> int:
    """Run all, tell all, fail when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--soak", action="store_true", help="full figures, written to docs/evidence")
    parser.add_argument("--no-skips", action="store_true", help="a skipped test fails the run; for CI")
    given = parser.parse_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = [run(folder, ["--soak", "-m", "soak"] if given.soak else []) for folder in suites()]
    print("\nsuite           seconds   tests  failed  skipped")
    for one in results:
        print(f"{one.suite:<14} {one.seconds:>8.1f} {one.tests:>7} {one.failed:>7} {one.skipped:>8}")
    print(f"{'all':<14} {sum(one.seconds for one in results):>8.1f} {sum(one.tests for one in results):>7}")
    skips_forbidden = given.no_skips and any(one.skipped for one in results)
    if skips_forbidden:
        print("Tests were skipped, and nothing may be here: see their reasons above.")
    return int(skips_forbidden or any(one.status for one in results))


if __name__ == "__main__":
    sys.exit(main())
