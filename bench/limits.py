"""The cost of the edge's limits: the service with and without them (``bench/baselines/unlimited.py``), in turn.

``python -m bench.limits``; written to docs/evidence/admission.md. Two processes of the same code differ by some per
cent for as long as they run (memory layout, database connections), so both are started anew again and again, and the
interval is that of the starts.
"""

import argparse
import asyncio
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median, stdev

from bench import machine
from bench.api import Scenario, scenarios
from bench.load import Plan, attack
from bench.machine import Spent
from bench.scale import FULL, Scale
from bench.stage import Stage, Variant, server, staged

REPORT = Path(__file__).parents[1] / "docs" / "evidence" / "admission.md"
CONNECTIONS = 16
STARTS = 30
PAIRS = 3
WITH, WITHOUT = "with limits", "without limits"
COMMANDS = {
    WITHOUT: ("-m", "bench.baselines.unlimited"),
    WITH: ("-c", "from almoner.cli import serve; serve.serve()"),  # what `unlimited` runs, but for the limits
}
AIM = 1.03
STUDENT_95 = 2.05  # of 30 starts


@dataclass(slots=True)
class Pairs:
    """Processor microseconds per request (server, PostgreSQL), without and with the limits, and each start's ratio."""

    without: list[tuple[float, float]] = field(default_factory=list)
    with_limits: list[tuple[float, float]] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """Natural logarithms, one of each start."""

    def end_start(self, pairs: int) -> None:
        """Add the ratio of the last ``pairs``, measured since the servers were started."""
        measured = zip(self.without[-pairs:], self.with_limits[-pairs:], strict=True)
        self.ratios.append(fmean(math.log(sum(with_) / sum(without)) for without, with_ in measured))

    def line(self, name: str) -> str:
        """A row of the table: medians, and the ratio."""
        return f"| {name} | {_spent(self.without)} | {_spent(self.with_limits)} | {_mean_with_interval(self.ratios)} |"


def _mean_with_interval(ratios: Sequence[float]) -> str:
    """The geometric mean of ratios, given as logarithms, with its 95 % interval."""
    mean = fmean(ratios)
    error = stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
    low, high = (math.exp(mean + sign * STUDENT_95 * error) for sign in (-1, 1))
    return f"{math.exp(mean):.3f} ({low:.3f}-{high:.3f})"


def _spent(figures: Sequence[tuple[float, float]]) -> str:
    return " + ".join(f"{median(part):.0f}" for part in zip(*figures, strict=True))


async def _ask(stage: Stage, variant: Variant, scenario: Scenario, seconds: float, prefix: str) -> tuple[float, float]:
    app, database = Spent.by(variant.pid), Spent.by(stage.database_pid)
    result = await attack(Plan(variant.port, scenario.requests, seconds, CONNECTIONS, prefix=prefix))
    if result.refused or not result.answered:
        raise RuntimeError(f"{variant.name}, {scenario.name}: {result.refused} refused: {result.sample}")
    each = 1e6 / result.answered
    return Spent.by(variant.pid).since(app) * each, Spent.by(stage.database_pid).since(database) * each


async def measure(stage: Stage, seconds: float, starts: int) -> list[str]:
    """The table."""
    asked = scenarios(stage)
    found = {scenario.name: Pairs() for scenario in asked}
    for start in range(starts):
        with ExitStack() as started:
            order = list(COMMANDS) if start % 2 == 0 else list(reversed(COMMANDS))
            running = {name: started.enter_context(server(stage, name, *COMMANDS[name])) for name in order}
            for scenario in asked:
                pair = (running[WITHOUT], running[WITH])
                await _measure_start(stage, pair, scenario, seconds, found[scenario.name])
    lines = ["| request | without, us | with, us | with / without |", "|---|---:|---:|---|"]
    of_starts = [fmean(ratios) for ratios in zip(*(pairs.ratios for pairs in found.values()), strict=True)]
    mean = f"| the mean of the {len(found)} | | | {_mean_with_interval(of_starts)} |"
    return [*lines, *(pairs.line(name) for name, pairs in found.items()), mean]


async def _measure_start(
    stage: Stage, variants: tuple[Variant, Variant], scenario: Scenario, seconds: float, found: Pairs
) -> None:
    """Add the pairs of one kind of request, with servers that have just started."""
    run = len(found.ratios)
    for variant in variants:
        await _ask(stage, variant, scenario, seconds, f"warm{run}")
    for turn in range(PAIRS):
        order = variants if (run + turn) % 2 == 0 else variants[::-1]
        spent = {one.name: await _ask(stage, one, scenario, seconds, f"{run}-{turn}") for one in order}
        found.without.append(spent[WITHOUT])
        found.with_limits.append(spent[WITH])
    found.end_start(PAIRS)


def report(scale: Scale, starts: int) -> Iterator[str]:
    """The page."""
    with staged(scale) as stage:
        yield from [
            "# What the limits of the edge cost",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}. The service beside itself without any of its limits: admission by client,",
            "shares of the database, time of statements, connections, heads and bodies, RFC 9112, refusal on a full",
            "disk. Processor time of the server and of PostgreSQL a request, in turn in one run:",
            f"{starts} starts of both, {PAIRS} pairs of {scale.seconds:g} s each, {CONNECTIONS} connections of one",
            "partner; medians, and the geometric mean of the starts' ratios with its 95 % interval. The aim is at most",
            f"{AIM:.2f}. Repeat with `python -m bench.limits`.",
            "",
            *(f"- {fact}" for fact in machine.facts(stage.database_version)),
            "",
        ]
        yield from asyncio.run(measure(stage, scale.seconds, starts))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run")
    parser.add_argument("--starts", type=int, default=STARTS, help="of both servers, one after another")
    given = parser.parse_args()
    lines = []
    for line in report(Scale(given.seconds, FULL.repeat, FULL.share), given.starts):
        print(line, flush=True)
        lines.append(line)
    REPORT.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
