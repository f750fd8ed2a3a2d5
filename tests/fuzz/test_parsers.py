"""atheris finds no input that costs a parser of outside text more than it may (cost of the worst input)."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.figures import Figures
from tests.support.parsers import PARSERS

PROJECT = Path(__file__).parents[2]
SECONDS, LONG_SECONDS = 0.5, 10
"""For each parser; a planted quadratic one is found in the short time, whatever the seed."""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="atheris is built for Linux alone")


def look(figures: Figures, seconds: float, *names: str) -> "subprocess.CompletedProcess[str]":
    seed = figures.seed % 2**31 + 1
    command = [sys.executable, "-m", "tests.fuzz.maximise", str(seconds), str(seed), *names]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, errors="replace", check=False)


@pytest.mark.soak
def test_no_input_found_costs_more_than_it_may(figures: Figures) -> None:
    seconds = LONG_SECONDS if figures.soak else SECONDS
    done = look(figures, seconds, *PARSERS)
    assert done.returncode == 0, f"{done.stdout[-8000:]} {done.stderr[-4000:]}"
    figures.write("parser-costs", f"atheris on {len(PARSERS)} parsers, {seconds} s each", *done.stdout.splitlines())


def test_a_parser_of_quadratic_cost_is_found_in_a_short_look(figures: Figures) -> None:
    done = look(figures, SECONDS, "planted")
    assert done.returncode == 1, done.stdout
    assert "xn--" in done.stdout
