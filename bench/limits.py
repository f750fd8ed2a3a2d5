"""The cost of the edge's limits: the service with and without them (``bench/baselines/unlimited.py``), in turn.

``python -m bench.limits``; written to docs/evidence/admission.md.
"""

import argparse
import asyncio
import math
from collections.abc import Iterator, Sequence
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
PAIRS = 15
WITH, WITHOUT = "with limits", "without limits"
AIM = 1.03
STUDENT_95 = 2.0  # of 15 to 60 pairs: 2.14 to 2.00


@dataclass(slots=True)
class Pairs:
    """Processor microseconds per request (server, PostgreSQL), without and with the limits."""

    without: list[tuple[float, float]] = field(default_factory=list)
    with_limits: list[tuple[float, float]] = field(default_factory=list)

    def line(self, name: str) -> str:
        """A row of the table: medians, and the geometric mean of the ratios with its 95 % interval."""
        ratios = [
            math.log(sum(with_) / sum(without)) for without, with_ in zip(self.without, self.with_limits, strict=True)
        ]
        mean, error = fmean(ratios), stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
        low, high = (math.exp(mean + sign * STUDENT_95 * error) for sign in (-1, 1))
        return (
            f"| {name} | {_spent(self.without)} | {_spent(self.with_limits)} "
            f"| {math.exp(mean):.3f} ({low:.3f}-{high:.3f}) |"
        )


def _spent(figures: Sequence[tuple[float, float]]) -> str:
    return " + ".join(f"{median(part):.0f}" for part in zip(*figures, strict=True))


async def _ask(stage: Stage, variant: Variant, scenario: Scenario, seconds: float, prefix: str) -> tuple[float, float]:
    app, database = Spent.by(variant.pid), Spent.by(stage.database_pid)
    result = await attack(Plan(variant.port, scenario.requests, seconds, CONNECTIONS, prefix=prefix))
    if result.refused or not result.answered:
        raise RuntimeError(f"{variant.name}, {scenario.name}: {result.refused} refused: {result.sample}")
    each = 1e6 / result.answered
    return Spent.by(variant.pid).since(app) * each, Spent.by(stage.database_pid).since(database) * each


async def measure(stage: Stage, seconds: float, pairs: int) -> list[str]:
    """The table."""
    lines = ["| request | without, us | with, us | with / without |", "|---|---:|---:|---|"]
    with (
        server(stage, WITHOUT, "-m", "bench.baselines.unlimited") as without,
        server(stage, WITH, "-m", "almoner", "serve") as limited,
    ):
        for scenario in scenarios(stage):
            found = Pairs()
            for variant in (without, limited):
                await _ask(stage, variant, scenario, seconds, "warm")
            for turn in range(pairs):
                order = (without, limited) if turn % 2 == 0 else (limited, without)
                spent = {one.name: await _ask(stage, one, scenario, seconds, f"{turn}") for one in order}
                found.without.append(spent[WITHOUT])
                found.with_limits.append(spent[WITH])
            lines.append(found.line(scenario.name))
    return lines


def report(scale: Scale, pairs: int) -> Iterator[str]:
    """The page."""
    with staged(scale) as stage:
        yield from [
            "# What the limits of the edge cost",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}. The service beside itself without any of its limits: admission by client,",
            "shares of the database, time of statements, connections, heads and bodies, RFC 9112, refusal on a full",
            "disk. Processor time of the server and of PostgreSQL a request, in turn in one run:",
            f"{pairs} pairs of {scale.seconds:g} s, {CONNECTIONS} connections of one partner; medians, and the",
            f"geometric mean of the ratios with its 95 % interval. The aim is at most {AIM:.2f}. Repeat with",
            "`python -m bench.limits`.",
            "",
            *(f"- {fact}" for fact in machine.facts(stage.database_version)),
            "",
        ]
        yield from asyncio.run(measure(stage, scale.seconds, pairs))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    given = parser.parse_args()
    lines = []
    for line in report(Scale(given.seconds, FULL.repeat, FULL.share), given.pairs):
        print(line, flush=True)
        lines.append(line)
    REPORT.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
