"""What opening a giving link costs: ``python -m bench.giving_links``."""

import argparse
import asyncio
import http.client
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench import machine
from bench.load import Plan, attack
from bench.machine import Spent
from bench.scale import FULL, Scale
from bench.stage import Stage, server, staged

REPORT = Path(__file__).parents[1] / "docs" / "evidence" / "giving-links.md"
LANGUAGES = ("en", "de", "ja", "ar")
CONNECTIONS = 16
AIM_MS = 4.0
AIM_RATE = 200.0


def _make(stage: Stage, port: int, **body: Any) -> str:
    """The path of a new link."""
    headers = {"Authorization": f"Bearer {stage.keys[1]}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/giving-links", json.dumps({"title": "Winter appeal", **body}), headers)
    made = json.loads(connection.getresponse().read())["data"]
    connection.close()
    return f"/g/{made['slug']}"


def _request(path: str, language: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Language: {language}\r\n\r\n"


async def _measure(stage: Stage, scale: Scale) -> Iterator[str]:
    lines = ["| page | processor ms of the server | of PostgreSQL | pages/s of one core |", "|---|---:|---:|---:|"]
    costs, rates = [], []
    with server(stage, "giving_links", "-m", "almoner", "serve") as running:
        one = {"organisationIds": stage.organisations[:1], "currencies": ["USD"], "suggestedAmounts": [1000, 2500]}
        pages = {
            "one nonprofit": _make(stage, running.port, **one, text="Blankets.\nThank you."),
            "with its progress": _make(stage, running.port, **one, goal=1_000_000, showsProgress=True),
            "eight to choose from": _make(stage, running.port, organisationIds=stage.organisations[:8]),
        }
        for name, path in pages.items():
            asked = [_request(path, language) for language in LANGUAGES]
            spent, database, rate = [], [], []
            for _ in range(scale.repeat):
                app, sql = Spent.by(running.pid), Spent.by(stage.database_pid)
                result = await attack(Plan(running.port, asked, scale.seconds, CONNECTIONS))
                if result.refused or not result.answered:
                    raise RuntimeError(f"{name}: {result.refused} refused: {result.sample}")
                spent.append(Spent.by(running.pid).since(app) / result.answered * 1e3)
                database.append(Spent.by(stage.database_pid).since(sql) / result.answered * 1e3)
                rate.append(1e3 / spent[-1])
            costs.append(median(spent))
            rates.append(median(rate))
            lines.append(f"| {name} | {costs[-1]:.2f} | {median(database):.2f} | {rates[-1]:,.0f} |")
    good = max(costs) <= AIM_MS and min(rates) >= AIM_RATE
    return iter(
        [*lines, "", f"- at most {AIM_MS:g} ms and at least {AIM_RATE:g} pages/s: {'met' if good else 'MISSED'}"]
    )


def report(scale: Scale) -> Iterator[str]:
    """The page."""
    with staged(scale) as stage:
        yield from [
            "# Opening a giving link",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}. {CONNECTIONS} connections read the page in {len(LANGUAGES)} languages;",
            f"one process, medians of {scale.repeat} runs of {scale.seconds:g} s;",
            "rates are by the server's processor time.",
            "Repeat with `python -m bench.giving_links`.",
            "",
            *(f"- {fact}" for fact in machine.facts(stage.database_version)),
            "",
        ]
        yield from asyncio.run(_measure(stage, scale))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    given = parser.parse_args()
    lines = []
    for line in report(Scale(given.seconds, FULL.repeat, 0.02)):
        print(line, flush=True)
        lines.append(line)
    REPORT.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
