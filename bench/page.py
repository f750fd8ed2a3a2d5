"""The hosted page before payment (H10): how many a process renders, and how long a donor waits at half that rate."""

import http.client
import json
from statistics import median
from urllib.parse import urlsplit

from bench.api import SHARE_OF_RATE
from bench.load import Plan, attack
from bench.machine import Spent
from bench.scale import Scale
from bench.stage import Stage, server

LANGUAGES = ("en", "de", "ja", "ar")
CONNECTIONS = 16
AIM = 150.0
"""The target in milliseconds (H10)."""


def form(stage: Stage, port: int, language: str) -> str:
    """A browser's raw request for the form of its own session."""
    body = json.dumps({"organisationId": stage.organisations[0], "language": language})
    headers = {"Authorization": f"Bearer {stage.keys[1]}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/donation-sessions", body, headers)
    session = json.loads(connection.getresponse().read())["data"]
    link = urlsplit(session["url"])
    connection.request("GET", f"{link.path}?{link.query}")
    answer = connection.getresponse()
    answer.read()
    cookies = "; ".join(value.split(";")[0] for name, value in answer.getheaders() if name.lower() == "set-cookie")
    connection.close()
    return f"GET /give/{session['id']} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookies}\r\n\r\n"


async def measure(stage: Stage, scale: Scale) -> list[str]:
    """A table row for the closed and the open loop, and whether the target is met."""
    rates, costs, p50s, p99s = [], [], [], []
    with server(stage, "page", "-m", "almoner", "serve") as running:
        forms = [form(stage, running.port, language) for language in LANGUAGES]
        for _ in range(scale.repeat):
            before = Spent.by(running.pid)
            closed = await attack(Plan(running.port, forms, scale.seconds, CONNECTIONS))
            costs.append(Spent.by(running.pid).since(before) / closed.answered * 1e3)
            paced = await attack(
                Plan(running.port, forms, scale.seconds, CONNECTIONS, rate=closed.rate * SHARE_OF_RATE)
            )
            if closed.refused or paced.refused:
                raise RuntimeError(f"the page was refused: {closed.sample or paced.sample}")
            rates.append(closed.rate)
            p50s.append(paced.p50)
            p99s.append(paced.p99)
    p99 = median(p99s)
    return [
        "| | pages/s | processor ms a page | p50 ms | p99 ms |",
        "|---|---|---|---|---|",
        f"| form of the gift, {len(LANGUAGES)} languages in turn | {median(rates):,.0f} | {median(costs):.1f} | | |",
        f"| the same at {SHARE_OF_RATE:.0%} of that | | | {median(p50s):.1f} | {p99:.1f} |",
        "",
        f"- p99 {p99:.0f} ms, at most {AIM:.0f} ms asked for (H10): {'met' if p99 <= AIM else 'MISSED'}",
    ]
