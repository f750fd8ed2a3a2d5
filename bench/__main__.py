"""``make bench``: every figure beside its baseline, on this machine, in one run; written to docs/evidence/bench.md.

``--brief`` (``make bench brief=1``) shows that each part runs, for a second, and writes nothing. nomenklatura is
measured beside where the interpreter named by ``--nomenklatura`` has it (``matching_nomenklatura.py``).
"""

import argparse
import asyncio
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench import (
    api,
    audit,
    families,
    imports,
    ledger,
    machine,
    matching_pairs,
    matching_screening,
    one_partner,
    page,
    receipts,
    scim,
    screening,
    search,
)
from bench import deliveries as webhooks
from bench.scale import BRIEF, FULL, Scale
from bench.stage import Stage, staged

REPORT = Path(__file__).parents[1] / "docs" / "evidence" / "bench.md"
NOMENKLATURA = Path("/var/tmp/nomenklatura/venv/bin/python")
MEBIBYTE = 2**20
NOTES = (
    """almoner: `almoner serve` with everything on: key, scope, limit, validation, Idempotency-Key, counters, outbox,
  audit entry, Request-Id, log line, metrics, RateLimit headers""",
    "bare: an ASGI handler with asyncpg, the same SQL in one statement, nothing on",
    "orm: FastAPI and the SQLAlchemy ORM, the same effects but for the audit entry, nothing on",
    "the search of bare and orm is a plain substring search, which repairs no typo and ranks nothing",
)


Part = Callable[[Scale], list[str]]


def _head(stage: Stage, scale: Scale) -> list[str]:
    lines = ["# Benchmark", "", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Repeat with `make bench`.", ""]
    lines += [f"- {fact}" for fact in machine.facts(stage.database_version)]
    runs = f"medians of {scale.repeat} runs of {scale.seconds:g} s in turn"
    lines.append(f"- {runs}, {api.CONNECTIONS} connections; one process each")
    return [*lines, *(f"- {note}" for note in NOTES), ""]


def _rival(python: Path) -> list[str]:
    """nomenklatura on a sample of the same names, or why it is missing."""
    if not matching_pairs.BENCHMARKS.exists():
        return ["- beside nomenklatura: not measured, the labelled pairs are not at hand"]
    asked = [str(python), "-c", "import nomenklatura"]
    if not python.exists() or subprocess.run(asked, capture_output=True, check=False).returncode:
        return [f"- beside nomenklatura: not measured, {python} has none; bench/matching_nomenklatura.py says how"]
    return [f"- {line}" for line in matching_pairs.rivals_speed(python)]


def _staged(scale: Scale) -> Iterator[str]:
    """The measurements of servers with one database."""
    with staged(scale) as stage:
        yield from _head(stage, scale)
        table, server = asyncio.run(api.measure(stage, scale))
        yield from ["## API", "", *api.markdown(table), "", *(f"- {verdict}" for verdict in api.verdicts(table)), ""]
        yield from ["## The hosted page", "", *asyncio.run(page.measure(stage, scale)), ""]
        deliveries, worker = webhooks.measure(stage, scale)
        yield from ["## Webhook deliveries", "", *deliveries, ""]
        yield from ["## One partner with all the traffic", "", *one_partner.measure(stage, scale), ""]
        yield from [*one_partner.measure_two(stage, scale), "", *one_partner.measure_quotas(stage, scale), ""]
        memory = f"- server {server / MEBIBYTE:.0f} MiB, worker {worker / MEBIBYTE:.0f} MiB"
        yield from ["## Memory at rest", "", memory, ""]


def _search(scale: Scale) -> list[str]:
    return search.measure(scale, scale.rows(search.USUAL, 1_000), asked=scale.rows(search.ASKED, 3))


def _matching(python: Path, scale: Scale) -> list[str]:
    short = scale is BRIEF
    return [*matching_screening.speed(scale.rows(20_000), short=short), *([] if short else _rival(python))]


def _lists(scale: Scale) -> list[str]:
    return screening.measure(scale.rows(20_000), scale.rows(2_000), short=scale is BRIEF)


def _parts(nomenklatura: Path) -> dict[str, Part]:
    """The measurements with their own database, or none."""
    return {
        "Import of a register": imports.measure,
        "Organisation search": _search,
        "Names as validation requests": families.measure,
        "Screening against watchlists": partial(_matching, nomenklatura),
        "Watchlists as the service holds them": _lists,
        "Postings to the ledger": ledger.measure,
        "The audit chain": audit.measure,
        "SCIM": scim.measure,
        "Receipts as PDF": receipts.measure,
    }


def _all(scale: Scale, nomenklatura: Path) -> Iterator[str]:
    """The lines of the report, as each part ends."""
    yield from _staged(scale)
    for title, measure in _parts(nomenklatura).items():
        yield from [f"## {title}", "", *measure(scale), ""]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=FULL.seconds, help="length of one run")
    parser.add_argument("--repeat", type=int, default=FULL.repeat, help="runs of each")
    parser.add_argument("--brief", action="store_true", help="a second of each part, to see that it runs")
    parser.add_argument("--nomenklatura", type=Path, default=NOMENKLATURA, help="interpreter of an environment with it")
    given = parser.parse_args()
    scale = BRIEF if given.brief else replace(FULL, seconds=given.seconds, repeat=given.repeat)
    lines = []
    for line in _all(scale, given.nomenklatura):
        print(line, flush=True)
        lines.append(line)
    if not given.brief:
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
