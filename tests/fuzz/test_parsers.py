"""atheris finds no input that costs a parser of outside text more than it may (cost of the worst input)."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.figures import Figures
from tests.support.parsers import PARSERS

PROJECT = Path(__file__).parents[2]


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="atheris is built for Linux alone")
def test_no_input_found_costs_more_than_it_may(figures: Figures) -> None:
    seconds = figures.count(2, 10)
    found = []
    for name in PARSERS:
        command = [sys.executable, "-m", "tests.fuzz.maximise", name, str(seconds), str(figures.seed % 2**31 + 1)]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, errors="replace", check=False)
        assert done.returncode == 0, f"{name}: {done.stdout[-2000:]} {done.stderr[-4000:]}"
        worst = [line for line in done.stdout.splitlines() if " ms " in line][-1]
        found.append(f"{name}: {worst.partition(' ms ')[0]} ms with the counters of atheris")
    figures.write("parser-costs", f"atheris on {len(PARSERS)} parsers, {seconds} s each", *found)
