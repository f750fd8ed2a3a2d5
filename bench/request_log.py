"""The cost of the request log for a write: processor time of both servers, run in turn.

``python -m bench.request_log``; pairs of runs of each kind.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

from bench.one_partner import KINDS, Written, requests_of, write
from bench.scale import FULL, Scale
from bench.stage import Stage, server, staged

PAIRS = 7
PARTNERS = 10


def measure(stage: Stage, scale: Scale, pairs: int = PAIRS) -> Iterator[str]:
    """A Markdown table, row by row."""
    yield "| request | CPU us without (app + PostgreSQL) | with | difference of pairs, median (range) |"
    yield "|---|---|---|---|"
    with ExitStack() as stack:
        without = stack.enter_context(server(stage, "without", "-m", "bench.baselines.no_request_log"))
        with_log = stack.enter_context(server(stage, "with", "-m", "almoner", "serve"))
        for name, (path, body) in KINDS.items():
            asked = requests_of(stage, PARTNERS, path, body)
            runs: list[tuple[Written, Written]] = []
            for place in range(pairs + 1):
                order = [without, with_log] if place % 2 else [with_log, without]
                found = {one.name: asyncio.run(write(stage, [one], asked, scale.seconds)) for one in order}
                if place:  # the first pair warms up
                    runs.append((found["without"], found["with"]))
            shares = sorted(_spent(after) / _spent(before) - 1 for before, after in runs)
            cells = [
                f"{median(run[side].app_us for run in runs):.0f} + {median(run[side].database_us for run in runs):.0f}"
                for side in (0, 1)
            ]
            spread = f"{median(shares):+.1%} ({shares[0]:+.1%} to {shares[-1]:+.1%})"
            yield f"| {name} | {cells[0]} | {cells[1]} | {spread} |"


def _spent(run: Written) -> float:
    return run.app_us + run.database_us


if __name__ == "__main__":
    with staged(FULL) as filled:
        for line in measure(filled, FULL):
            print(line, flush=True)
