"""``make bench``: each figure beside its baseline, on this machine, in one run; written to docs/evidence/bench.md.

nomenklatura is measured beside where the interpreter named by ``--nomenklatura`` has it (``matching_nomenklatura.py``).
"""

import argparse
import asyncio
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bench import (
    api,
    audit,
    imports,
    ledger,
    machine,
    matching_pairs,
    matching_screening,
    page,
    receipts,
    scim,
    screening,
    search,
)
from bench import deliveries as webhooks
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


def _head(stage: Stage, seconds: float, repeat: int) -> list[str]:
    lines = ["# Benchmark", "", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Repeat with `make bench`.", ""]
    lines += [f"- {fact}" for fact in machine.facts(stage.database_version)]
    lines += [f"- medians of {repeat} runs of {seconds:g} s in turn, {api.CONNECTIONS} connections; one process each"]
    return [*lines, *(f"- {note}" for note in NOTES), ""]


def _rival(python: Path) -> list[str]:
    """nomenklatura on a sample of the same names, or why it is not here."""
    if not matching_pairs.BENCHMARKS.exists():
        return ["- beside nomenklatura: not measured, the labelled pairs are not at hand"]
    asked = [str(python), "-c", "import nomenklatura"]
    if not python.exists() or subprocess.run(asked, capture_output=True, check=False).returncode:
        return [f"- beside nomenklatura: not measured, {python} has none; bench/matching_nomenklatura.py says how"]
    return [f"- {line}" for line in matching_pairs.rivals_speed(python)]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each")
    parser.add_argument("--nomenklatura", type=Path, default=NOMENKLATURA, help="interpreter of an environment with it")
    given = parser.parse_args()
    with staged() as stage:
        lines = _head(stage, given.seconds, given.repeat)
        table, server = asyncio.run(api.measure(stage, given.seconds, given.repeat))
        lines += ["## API", "", *api.markdown(table), "", *(f"- {verdict}" for verdict in api.verdicts(table)), ""]
        lines += ["## The hosted page", "", *asyncio.run(page.measure(stage, given.seconds, given.repeat)), ""]
        deliveries, worker = webhooks.measure(stage, given.repeat)
        lines += ["## Webhook deliveries", "", *deliveries, ""]
    lines += ["## Memory at rest", "", f"- server {server / MEBIBYTE:.0f} MiB, worker {worker / MEBIBYTE:.0f} MiB", ""]
    lines += ["## Import of a register", "", *imports.measure(given.repeat), ""]
    lines += ["## Organisation search", "", *search.measure(), ""]
    lines += ["## Screening against watch lists", "", *matching_screening.speed(), *_rival(given.nomenklatura), ""]
    lines += ["## Watch lists as the service holds them", "", *screening.measure(), ""]
    lines += ["## Postings to the ledger", "", *ledger.measure(given.seconds, given.repeat), ""]
    lines += ["## The audit chain", "", *audit.measure(given.repeat), ""]
    lines += ["## SCIM", "", *scim.measure(), ""]
    lines += ["## Receipts as PDF", "", *receipts.measure(given.repeat), ""]
    report = "\n".join(lines)
    print(report)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(report)


if __name__ == "__main__":
    main()
