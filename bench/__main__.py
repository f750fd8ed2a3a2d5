"""``make bench``: each figure beside its baseline, on this machine, in one run; written to docs/evidence/bench.md."""

import argparse
import asyncio
from datetime import UTC, datetime
from pathlib import Path

from bench import api, imports, machine, search
from bench.stage import Stage, staged

REPORT = Path(__file__).parents[1] / "docs" / "evidence" / "bench.md"
MEBIBYTE = 2**20
NOTES = (
    """almoner: `almoner serve` with everything on: key, scope, limit, validation, Idempotency-Key, counters, outbox,
  Request-Id, log line, metrics, RateLimit headers""",
    "bare: an ASGI handler with asyncpg, the same SQL in one statement, nothing on",
    "orm: FastAPI and the SQLAlchemy ORM, the same effects, nothing on",
    "the search of bare and orm is a plain substring search, which repairs no typo and ranks nothing",
)


async def _run(stage: Stage, seconds: float, repeat: int) -> list[str]:
    lines = ["# Benchmark", "", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Repeat with `make bench`.", ""]
    lines += [f"- {fact}" for fact in machine.facts(stage.database_version)]
    lines += [f"- medians of {repeat} runs of {seconds:g} s in turn, {api.CONNECTIONS} connections; one process each"]
    lines += [f"- {note}" for note in NOTES]
    table, at_rest = await api.measure(stage, seconds, repeat)
    lines += ["", "## API", "", *api.markdown(table), "", *(f"- {verdict}" for verdict in api.verdicts(table)), ""]
    lines += ["## Memory at rest", "", f"- server {at_rest / MEBIBYTE:.0f} MiB (aim: under 120)", ""]
    return lines


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each")
    given = parser.parse_args()
    with staged() as stage:
        report = "\n".join(asyncio.run(_run(stage, given.seconds, given.repeat)))
    report += "\n".join(["", "## Import of a register", "", *imports.measure(given.repeat), ""])
    report += "\n".join(["", "## Organisation search", "", *search.measure(), ""])
    print(report)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(report)


if __name__ == "__main__":
    main()
