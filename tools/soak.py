"""Run the long figures in parts, each writing its page in docs/evidence: ``make soak``.

A part is a module of tests with long figures, all pages with axe asked about each, or the mutants. What was done on the
code as it is now is not done again (``.cache/soak``), test by test: what was ended begins where it stood.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

PROJECT = Path(__file__).parents[1]
SOAK, LONG = "soak", "not soak"
RUN = ("-m", "pytest", "-q", "--soak", "--timeout=0", "-m")
DONE = PROJECT / ".cache" / "soak" / "done.json"
PAGES = PROJECT / "docs" / "evidence" / "pages.md"
MUTATION = "mutation"
HOSTILE = "hostile"
"""What takes as long as there is time: an hour at most."""
HOSTILE_MODULE = "tests/chaos/test_hostile.py"
HOSTILE_END_SECONDS = 360.0  # it ends by itself 300 s after its time
MINUTES = 110.0
STOP_SECONDS = 60.0


def code() -> str:
    """A mark of all that a figure depends on."""
    mark = sha256()
    for folder in ("src", "tests", "tools", "requirements"):
        for path in sorted((PROJECT / folder).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                mark.update(f"{path.relative_to(PROJECT)}\0".encode() + path.read_bytes())
    return mark.hexdigest()


def _tests(word: str, marked: str) -> list[str]:
    """Those that are marked so, in modules that hold a word; all pages are a part of their own."""
    tests = [path for path in (PROJECT / "tests").glob("*/test_*.py") if path.parent.name != "pages"]
    modules = [path for path in sorted(tests) if re.search(word, path.read_text())]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "--soak", "-m", marked, "-p", "no:randomly", *modules],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return re.findall(r"^tests/\S+::.*$", found, re.MULTILINE)


def _part(test: str) -> str:
    suite, module = re.match(r"tests/(\w+)/test_(\w+)\.py", test).groups()  # type: ignore[union-attr]
    return f"{suite}-{module}".replace("_", "-")


def parts() -> dict[str, list[tuple[str, ...]]]:
    """The commands of each part by its name, the quick ones first."""
    made: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for test in _tests(r"mark\.soak", SOAK):
        made[_part(test)].append((*RUN, SOAK, test))
    # Many small tests, which share what they are given: one more of what others show, and properties of many examples.
    for module in dict.fromkeys(
        test.partition("::")[0] for test in _tests(r"mark\.long|import hypothesis|@given", LONG)
    ):
        made[HOSTILE if module == HOSTILE_MODULE else _part(module)].append((*RUN, LONG, module))
    made["pages"] = [("-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "--soak", "tests/pages")]
    made[MUTATION] = [("-m", "tools.mutation")]
    return dict(made)


class Soak:
    """What was done, and what is left of the time."""

    def __init__(self, minutes: float, anew: bool) -> None:
        self._ends = time.monotonic() + minutes * 60
        self._code = code()
        kept = json.loads(DONE.read_text()) if DONE.exists() and not anew else {}
        self._done: dict[str, float] = kept.get("done", {}) if kept.get("code") == self._code else {}
        self.failed: list[str] = []

    def part(self, name: str, commands: list[tuple[str, ...]]) -> bool:
        """Do what is left of a part; False when the time is over."""
        for command in commands:
            label = command[-1] if name != MUTATION else MUTATION
            if label in self._done:
                print(f"done before, in {self._done[label]:.0f} s: {label}", flush=True)
                continue
            began = time.monotonic()
            left = self._ends - began
            until = (f"--minutes={min(left / 60, 60):.2f}",) if name == HOSTILE else ()
            patience = left + HOSTILE_END_SECONDS if until else left
            if left <= 0 or (status := self._run(label, (*command, *until), patience)) is None:
                return False
            if status == 0:
                self._keep(label, time.monotonic() - began)
            else:
                self.failed.append(label)
        if name == "pages" and "tests/pages" in self._done:
            PAGES.write_text(
                "# Every page by axe\n\n- axe finds nothing on any page of tests/pages\n\n"
                f"{time.strftime('%Y-%m-%d')}. Repeat with `make soak only=pages`.\n"
            )
        return True

    def _run(self, label: str, command: tuple[str, ...], left: float) -> int | None:
        """Its status, or None when it was ended with the time."""
        print(f"\n== {label}", flush=True)
        process = subprocess.Popen([sys.executable, *command], cwd=PROJECT, start_new_session=True)
        try:
            return process.wait(left)
        except subprocess.TimeoutExpired:
            return None
        finally:
            stop(process)

    def _keep(self, label: str, seconds: float) -> None:
        self._done[label] = seconds
        DONE.parent.mkdir(parents=True, exist_ok=True)
        written = DONE.with_suffix(".new")
        written.write_text(json.dumps({"code": self._code, "done": self._done}, indent=2))
        written.replace(DONE)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Ctrl-C for a process that still runs and all that it started; kill what does not end."""
    with suppress(ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main() -> int:
    """Do the parts in turn; 1 when something failed, 2 when the time was over before all was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of parts, with commas; all where none is named")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help="the most for this call; it goes on the next time"
    )
    parser.add_argument("--anew", action="store_true", help="forget what was done")
    given = parser.parse_args()
    known = parts()
    names = [name for name in given.only.split(",") if name] or list(known)
    if unknown := [name for name in names if name not in known]:
        print(f"There is no part {', '.join(unknown)}. The parts: {', '.join(known)}")
        return 1
    soak = Soak(given.minutes, given.anew)
    try:
        finished = all(soak.part(name, known[name]) for name in names)
    finally:
        subprocess.run([sys.executable, "-m", "tests.support.cluster"], cwd=PROJECT, check=False)
    if not finished:
        print(f"The {given.minutes:g} minutes are over. The same command goes on with what is left.")
    if soak.failed:
        print(f"Failed: {', '.join(soak.failed)}")
    return 1 if soak.failed else 0 if finished else 2


if __name__ == "__main__":
    sys.exit(main())
