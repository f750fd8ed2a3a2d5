"""Writes of a single partner beside those of ten, and of two servers beside those of one.

``python -m bench.one_partner``; runs of each in turn.
"""

import asyncio
import json
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from statistics import median

from bench import machine
from bench.load import Plan, attack
from bench.machine import Spent, cpu_quota
from bench.scale import FULL, Scale
from bench.stage import Stage, Variant, server, staged

CONNECTIONS = 32
PARTNERS = (1, 10)
QUOTA_CORES = 0.3


@dataclass(frozen=True, slots=True)
class Written:
    """One run: rate, and processor microseconds per request."""

    rate: float
    app_us: float
    database_us: float

    @property
    def cpu_us(self) -> float:
        """Processor time in total."""
        return self.app_us + self.database_us


def requests_of(stage: Stage, partners: int, path: str, body: dict[str, object]) -> list[str]:
    """Raw requests of so many partners."""
    keys = stage.keys[:partners] * (500 // partners)
    return [
        _post(key, path, {**body, "organisationId": organisation})
        for key, organisation in zip(keys, stage.organisations, strict=False)
    ]


def _post(key: str, path: str, body: dict[str, object]) -> str:
    text = json.dumps(body)
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: {key}",
        "Content-Type: application/json",
        "Idempotency-Key: {unique}",
        f"Content-Length: {len(text)}",
    ]
    return "\r\n".join([*lines, "", text])


KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "POST donation-session": ("/v1/donation-sessions", {"metadata": {"campaign": "winter"}}),
    "POST donation": (
        "/v1/donations",
        {
            "amount": 2500,
            "currencyCode": "USD",
            "firstName": "Ada",
            "lastName": "Byron",
            "email": "ada@example.org",
            "metadata": {"campaign": "winter"},
        },
    ),
}


async def write(stage: Stage, servers: list[Variant], requests: list[str], seconds: float) -> Written:
    app, database = [Spent.by(one.pid) for one in servers], Spent.by(stage.database_pid)
    each = CONNECTIONS // len(servers)
    found = await asyncio.gather(
        *(attack(Plan(one.port, requests, seconds, each, prefix=f"{one.port}")) for one in servers)
    )
    if bad := next((one for one in found if one.refused or not one.answered), None):
        raise RuntimeError(f"{bad.refused} refused: {bad.sample}")
    answered = sum(one.answered for one in found)
    spent = sum(Spent.by(one.pid).since(before) for one, before in zip(servers, app, strict=True))
    database_us = Spent.by(stage.database_pid).since(database) / answered * 1e6
    return Written(sum(one.rate for one in found), spent / answered * 1e6, database_us)


def measure(stage: Stage, scale: Scale, servers: int = 1) -> list[str]:
    """A Markdown table."""
    lines = [
        f"| {servers} server(s) | partners | per second | CPU us app + PostgreSQL | of ten |",
        "|---|---|---|---|---|",
    ]
    with ExitStack() as stack:
        running = [
            stack.enter_context(server(stage, f"almoner{number}", "-m", "almoner", "serve"))
            for number in range(servers)
        ]
        for name, (path, body) in KINDS.items():
            asked = {partners: requests_of(stage, partners, path, body) for partners in PARTNERS}
            runs: dict[int, list[Written]] = {partners: [] for partners in PARTNERS}
            asyncio.run(write(stage, running, asked[10], scale.seconds))
            for _ in range(scale.repeat):
                for partners in PARTNERS:
                    runs[partners].append(asyncio.run(write(stage, running, asked[partners], scale.seconds)))
            shares = [one.rate / ten.rate for one, ten in zip(runs[1], runs[10], strict=True)]
            for partners in PARTNERS:
                rate, app, database = (
                    median(getattr(run, field) for run in runs[partners]) for field in ("rate", "app_us", "database_us")
                )
                share = f"{median(shares):.2f}" if partners == 1 else "1.00"
                lines.append(f"| {name} | {partners} | {rate:,.0f} | {app:.0f} + {database:.0f} | {share} |")
    return lines


def measure_two(stage: Stage, scale: Scale) -> list[str]:
    """A Markdown table of one server and two on the same cores, in turn, and of one beside loops of idle priority.

    The loops take no time from the server: what it costs more beside them, the machine costs, and what two servers cost
    more than that is their own.
    """
    lines = ["| servers on full cores | per second | CPU us app + PostgreSQL | of one, CPU |", "|---|---|---|---|"]
    cases = ((1, ""), (1, " beside loops of idle priority"), (2, ""))
    with ExitStack() as stack:
        both = [stack.enter_context(server(stage, f"both{number}", "-m", "almoner", "serve")) for number in (1, 2)]
        for name, (path, body) in KINDS.items():
            requests = requests_of(stage, 1, path, body)
            asyncio.run(write(stage, both, requests, scale.seconds))
            runs: dict[tuple[int, str], list[Written]] = {case: [] for case in cases}
            for turn in range(2 * scale.repeat):
                for count, beside in cases:
                    servers = both if count == 2 else [both[turn % 2]]
                    with machine.idle_cores_kept_busy() if beside else nullcontext():
                        runs[count, beside].append(asyncio.run(write(stage, servers, requests, scale.seconds)))
            for count, beside in cases:
                rate, app, database = (
                    median(getattr(run, field) for run in runs[count, beside])
                    for field in ("rate", "app_us", "database_us")
                )
                pairs = zip(runs[count, beside], runs[cases[0]], strict=True)
                of_one = median(ours.cpu_us / one.cpu_us for ours, one in pairs)
                lines.append(
                    f"| {name}, {count} server(s){beside} | {rate:,.0f} | {app:.0f} + {database:.0f} | {of_one:.2f} |"
                )
    return lines


def measure_quotas(stage: Stage, scale: Scale) -> list[str]:
    """A Markdown table of one server and two, each held to a share of a core, so that neither waits for a core.

    Two share no row, lock or queue that makes them slower together if they do twice the work at the same cost.
    """
    if not machine.can_set_quotas():
        return ["Not measured with quotas: no control group of the processor can be written here."]
    lines = [
        f"| {QUOTA_CORES} core a server | servers | per second | CPU us app + PostgreSQL | of one |",
        "|---|---|---|---|---|",
    ]
    with ExitStack() as stack:
        both = [stack.enter_context(server(stage, f"held{number}", "-m", "almoner", "serve")) for number in (1, 2)]
        for name, (path, body) in KINDS.items():
            requests = requests_of(stage, 1, path, body)
            asyncio.run(write(stage, both, requests, scale.seconds))
            with ExitStack() as held:
                for one in both:
                    held.enter_context(cpu_quota(one.pid, QUOTA_CORES))
                runs: dict[int, list[Written]] = {1: [], 2: []}
                for turn in range(2 * scale.repeat):
                    for count in (1, 2):
                        servers = both if count == 2 else [both[turn % 2]]
                        runs[count].append(asyncio.run(write(stage, servers, requests, scale.seconds)))
            shares = [two.rate / one.rate for one, two in zip(runs[1], runs[2], strict=True)]
            for count in (1, 2):
                rate, app, database = (
                    median(getattr(run, field) for run in runs[count]) for field in ("rate", "app_us", "database_us")
                )
                share = f"{median(shares):.2f}" if count == 2 else "1.00"
                lines.append(f"| {name} | {count} | {rate:,.0f} | {app:.0f} + {database:.0f} | {share} |")
    return lines


if __name__ == "__main__":
    with staged(FULL) as filled:
        for number in (1, 2):
            print("\n".join(measure(filled, FULL, number)), flush=True)
        print("\n".join(measure_two(filled, FULL)), flush=True)
        print("\n".join(measure_quotas(filled, FULL)), flush=True)
