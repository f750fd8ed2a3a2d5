"""atheris finds no input that costs a parser of outside text more than it may (cost of the worst input)."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.figures import Figures
from tests.support.parsers import PARSERS

PROJECT = Path(__file__).parents[2]
PLANTED = "planted"  # tests/fuzz/maximise.py, which needs another environment to be imported
SECONDS, LONG_SECONDS = 0.25, 10
"""For each parser; a planted quadratic one is found before that, whatever the seed."""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="atheris is built for Linux alone")


def look(figures: Figures, seconds: float, *names: str) -> "subprocess.CompletedProcess[str]":
    seed = figures.seed % 2**31 + 1
    command = [sys.executable, "-m", "tests.fuzz.maximise", str(seconds), str(seed), *names]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, errors="replace", check=False)


@pytest.mark.soak
def test_no_input_found_costs_more_than_it_may_except_of_a_planted_parser(figures: Figures) -> None:
    seconds = LONG_SECONDS if figures.soak else SECONDS
    done = look(figures, seconds, *PARSERS, PLANTED)
    costs, _, planted = done.stdout.partition(f"{PLANTED}: ")
    lines = costs.splitlines()
    names = [line.partition(": ")[0] for line in lines]
    assert (done.returncode, names) == (1, [*PARSERS]), f"{done.stdout[-8000:]} {done.stderr[-4000:]}"
    assert "xn--" in planted, "a parser of quadratic cost is found in a short look"
    figures.write("parser-costs", f"atheris on {len(PARSERS)} parsers, {seconds} s each", *lines)
