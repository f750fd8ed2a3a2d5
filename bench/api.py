"""The API beside a bare handler and a conventional implementation, on the same database, in turn."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from statistics import median
from urllib.parse import quote_plus

from bench.load import Plan, Result, attack
from bench.machine import Spent, resident
from bench.scale import Scale
from bench.stage import Stage, Variant, server

OURS, BARE, ORM = "almoner", "bare", "orm"
CONNECTIONS = 32
SHARE_OF_RATE = 0.5
AIMS = {"POST donation-session": 0.75, "GET donation": 0.85, "list 25 of 100,000": 1.1, "organisation search": 2.0}
"""How the processor time of the bare handler's requests compares to that of ours, at least."""
UVICORN = ("--port", "{port}", "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of request, as raw HTTP."""

    name: str
    requests: list[str]


@dataclass(slots=True)
class Figures:
    """The measurements of one variant in one scenario."""

    rates: list[float] = field(default_factory=list)
    app_us: list[float] = field(default_factory=list)
    database_us: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """The median number of responses per second."""
        return median(self.rates)

    @property
    def spent_us(self) -> float:
        """The median processor time of a request, of the server and PostgreSQL."""
        return median(map(sum, zip(self.app_us, self.database_us, strict=True)))


Table = dict[tuple[str, str], Figures]


def scenarios(stage: Stage) -> list[Scenario]:
    """The requests to measure."""
    return [
        Scenario("POST donation-session", list(_posts(stage))),
        Scenario("GET donation", [_get(stage.keys[0], f"/v1/donations/{one}") for one in stage.donations]),
        Scenario("list 25 of 100,000", [_get(stage.keys[0], "/v1/donations")]),
        Scenario("organisation search", [_get(stage.keys[0], f"/v1/organisations?query={q}") for q in _queries(stage)]),
    ]


def _posts(stage: Stage) -> Iterator[str]:
    for key, organisation in zip(stage.keys * 50, stage.organisations, strict=False):
        body = json.dumps({"organisationId": organisation, "metadata": {"campaign": "winter"}})
        lines = [
            "POST /v1/donation-sessions HTTP/1.1",
            "Host: localhost",
            f"Authorization: {key}",
            "Content-Type: application/json",
            "Idempotency-Key: {unique}",
            f"Content-Length: {len(body)}",
        ]
        yield "\r\n".join([*lines, "", body])


def _get(key: str, path: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\n\r\n"


def _queries(stage: Stage) -> list[str]:
    return [quote_plus(" ".join(name.split()[:2])) for name in stage.names[::10]]


@contextmanager
def variants(stage: Stage) -> Iterator[list[Variant]]:
    """All three servers, running side by side; only one is called at a time."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(server(stage, OURS, "-m", "almoner", "serve")),
            stack.enter_context(server(stage, BARE, "-m", "uvicorn", "bench.baselines.bare:app", *UVICORN)),
            stack.enter_context(server(stage, ORM, "-m", "uvicorn", "bench.baselines.orm:app", *UVICORN)),
        ]


async def measure(stage: Stage, scale: Scale) -> tuple[Table, int]:
    """Measure every scenario for every variant, several times in turn; and the idle memory of our server."""
    table: Table = {}
    with variants(stage) as running:
        _ensure_same_members(stage, running)
        at_rest = resident(running[0].pid)
        for scenario in scenarios(stage):
            for round_ in range(scale.repeat):
                for variant in running if round_ % 2 == 0 else reversed(running):
                    figures = table.setdefault((scenario.name, variant.name), Figures())
                    await _saturate(stage, scenario, variant, scale.seconds, figures)
            for variant in running:
                figures = table[scenario.name, variant.name]
                for _ in range(scale.repeat):
                    await _pace(scenario, variant, scale.seconds, figures)
    return table, at_rest


def _ensure_same_members(stage: Stage, running: list[Variant]) -> None:
    """Ensure that the donations of all variants have the same members. Raises RuntimeError."""
    found = {variant.name: set(_donation(stage, variant)) for variant in running}
    different = {name: members ^ found[OURS] for name, members in found.items() if members != found[OURS]}
    if different:
        raise RuntimeError(f"the variants' donations differ in their members: {different}")


def _donation(stage: Stage, variant: Variant) -> dict[str, object]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{variant.port}/v1/donations/{stage.donations[0]}", headers={"Authorization": stage.keys[0]}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        donation: dict[str, object] = json.load(response)["data"]
    return donation


async def _saturate(stage: Stage, scenario: Scenario, variant: Variant, seconds: float, figures: Figures) -> None:
    """Send requests as fast as they are answered: rate and processor time."""
    plan = Plan(variant.port, scenario.requests, seconds, CONNECTIONS, prefix=variant.name)
    app, database = Spent.by(variant.pid), Spent.by(stage.database_pid)
    result = _sound(scenario, variant, await attack(plan))
    figures.rates.append(result.rate)
    figures.app_us.append(Spent.by(variant.pid).since(app) / result.answered * 1e6)
    figures.database_us.append(Spent.by(stage.database_pid).since(database) / result.answered * 1e6)


async def _pace(scenario: Scenario, variant: Variant, seconds: float, figures: Figures) -> None:
    """Send requests at half the rate, on schedule: latencies from the time when a request was due."""
    rate = figures.rate * SHARE_OF_RATE
    result = _sound(
        scenario, variant, await attack(Plan(variant.port, scenario.requests, seconds, 128, rate, variant.name))
    )
    figures.p50.append(result.p50)
    figures.p99.append(result.p99)


def _sound(scenario: Scenario, variant: Variant, result: Result) -> Result:
    if result.refused or not result.answered:
        stated = variant.log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{variant.name}, {scenario.name}: {result.refused} refused: {result.sample}\n{stated}")
    return result


def markdown(table: Table) -> list[str]:
    """The figures as a table."""
    heads = ["request", "variant", "CPU us app + PostgreSQL", "of bare, by CPU", "req/s (min-max)", "x ORM, by rate"]
    lines = ["| " + " | ".join([*heads, "p50 / p99 ms at half the rate"]) + " |", "|---" * 7 + "|"]
    names = list(dict.fromkeys(scenario for scenario, _ in table))
    for name, variant in product(names, (OURS, BARE, ORM)):
        one, bare, orm = (table[name, which] for which in (variant, BARE, ORM))
        lines.append(
            f"| {name} | {variant} | {median(one.app_us):.0f} + {median(one.database_us):.0f} "
            f"| {bare.spent_us / one.spent_us:.2f} | {one.rate:,.0f} ({min(one.rates):,.0f}-{max(one.rates):,.0f}) "
            f"| {one.rate / orm.rate:.1f} | {median(one.p50):.1f} / {median(one.p99):.1f} |"
        )
    return lines


def verdicts(table: Table) -> list[str]:
    """Each target and whether it is met."""
    found = []
    for name, aim in AIMS.items():
        ours, bare, orm = (table[name, which] for which in (OURS, BARE, ORM))
        share, times = bare.spent_us / ours.spent_us, ours.rate / orm.rate
        met = "met" if share >= aim else "MISSED"
        found.append(f"{name}: {share:.2f} of bare by processor time (aim {aim}): {met}; {times:.1f}x ORM by rate")
    return found
