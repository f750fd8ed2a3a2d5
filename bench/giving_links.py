"""The cost of opening a giving link, and of submitting its form compared with a session's.

``python -m bench.giving_links``.
"""

import argparse
import asyncio
import http.client
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode, urlsplit

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
SENT = 60
"""The forms submitted in one run of each kind, each from its own address: limits count by address."""
_FORM = {"amount": "2500", "first_name": "Ada", "last_name": "Byron"}
_HIDDEN = re.compile(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">')


def _make(stage: Stage, port: int, **body: Any) -> str:
    """The path of a new link."""
    headers = {"Authorization": f"Bearer {stage.keys[1]}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/giving-links", json.dumps({"title": "Winter appeal", **body}), headers)
    made = json.loads(connection.getresponse().read())["data"]
    connection.close()
    return f"/g/{made['slug']}"


class _Sender:
    """A new donor for each request."""

    def __init__(self, port: int, key: str, organisation: str) -> None:
        self._port = port
        self._donors = 0
        self._key = key
        self._organisation = organisation

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> http.client.HTTPResponse:
        """Send a request from an address of its own."""
        self._donors += 1
        source = f"127.{1 + self._donors // 60_000}.{self._donors // 250 % 240}.{1 + self._donors % 250}"
        connection = http.client.HTTPConnection("127.0.0.1", self._port, source_address=(source, 0))
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def send(self, path: str, page: str, **headers: str) -> None:
        """Submit the form of a page."""
        form = dict(_HIDDEN.findall(page)) | _FORM | {"email": f"ada{self._donors}@example.org"}
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        answer = self.ask("POST", path, urlencode(form), **headers)
        if answer.status != 303 or "/pay/" not in (answer.getheader("location") or ""):
            raise RuntimeError(f"{path}: {answer.status} {answer.read()[:2000]!r}")

    def create(self) -> str:
        """Create a session; returns its URL."""
        body = json.dumps({"organisationId": self._organisation, "currency": "USD"})
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        return str(json.loads(self.ask("POST", "/v1/donation-sessions", body, **headers).read())["data"]["url"])

    def open(self, url: str) -> tuple[str, str, str]:
        """(path, page, cookies) of a session's form."""
        link = urlsplit(url)
        answer = self.ask("GET", f"{link.path}?{link.query}")
        cookies = "; ".join(value.split(";")[0] for name, value in answer.getheaders() if name.lower() == "set-cookie")
        path = urlsplit(answer.getheader("location") or link.path).path
        return path, self.ask("GET", path, Cookie=cookies).read().decode(), cookies


def _sending(stage: Stage, pid: int, sender: _Sender, link: str, repeat: int) -> Iterator[str]:
    """Both ways in turn: a link's form, which creates its session, and a session with its form."""

    def spent(act: Callable[[int], None]) -> tuple[float, float]:
        app, sql = Spent.by(pid), Spent.by(stage.database_pid)
        for number in range(SENT):
            act(number)
        return Spent.by(pid).since(app) / SENT * 1e3, Spent.by(stage.database_pid).since(sql) / SENT * 1e3

    page = sender.ask("GET", link).read().decode()
    sender.send(link, page)
    costs: dict[str, list[tuple[float, float]]] = {"a link's form": [], "creating a session": [], "its form": []}
    urls: list[str] = []
    opened: list[tuple[str, str, str]] = []
    for _ in range(repeat):
        urls.clear()
        costs["a link's form"].append(spent(lambda _: sender.send(link, page)))
        costs["creating a session"].append(spent(lambda _: urls.append(sender.create())))
        opened[:] = [sender.open(url) for url in urls]
        costs["its form"].append(spent(lambda n: sender.send(*opened[n][:2], Cookie=opened[n][2])))
    middle = {name: [median(one[side] for one in runs) for side in (0, 1)] for name, runs in costs.items()}
    yield from ["", "| sending | processor ms of the server | of PostgreSQL |", "|---|---:|---:|"]
    yield from (f"| {name} | {app:.2f} | {sql:.2f} |" for name, (app, sql) in middle.items())
    by_link = sum(middle["a link's form"])
    by_session = sum(middle["creating a session"]) + sum(middle["its form"])
    yield ""
    yield (
        f"- a donation by a link costs {by_link:.1f} ms, by a session {by_session:.1f} ms: "
        f"{by_link / by_session:.2f} times as much"
    )


def _request(path: str, language: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Language: {language}\r\n\r\n"


async def _measure(stage: Stage, scale: Scale) -> Iterator[str]:
    head = "| page | processor ms of the server | of PostgreSQL | pages/s of one core | pages/s by the clock |"
    lines = [head, "|---|---:|---:|---:|---:|"]
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
            spent, database, rate, clock = [], [], [], []
            for _ in range(scale.repeat):
                app, sql = Spent.by(running.pid), Spent.by(stage.database_pid)
                result = await attack(Plan(running.port, asked, scale.seconds, CONNECTIONS))
                if result.refused or not result.answered:
                    raise RuntimeError(f"{name}: {result.refused} refused: {result.sample}")
                spent.append(Spent.by(running.pid).since(app) / result.answered * 1e3)
                database.append(Spent.by(stage.database_pid).since(sql) / result.answered * 1e3)
                rate.append(1e3 / spent[-1])
                clock.append(result.rate)
            costs.append(median(spent))
            rates.append(median(rate))
            lines.append(
                f"| {name} | {costs[-1]:.2f} | {median(database):.2f} | {rates[-1]:,.0f} | {median(clock):,.0f} |"
            )
        sender = _Sender(running.port, stage.keys[1], stage.organisations[0])
        sending = list(_sending(stage, running.pid, sender, pages["one nonprofit"], scale.repeat))
    good = max(costs) <= AIM_MS and min(rates) >= AIM_RATE
    return iter(
        [
            *lines,
            "",
            f"- at most {AIM_MS:g} ms and at least {AIM_RATE:g} pages/s: {'met' if good else 'MISSED'}",
            *sending,
        ]
    )


def report(scale: Scale) -> Iterator[str]:
    """The page."""
    with staged(scale) as stage:
        yield from [
            "# Opening and sending a giving link",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}. {CONNECTIONS} connections read the page in {len(LANGUAGES)} languages;",
            f"one process, medians of {scale.repeat} runs of {scale.seconds:g} s;",
            "the rate of a core is by the server's processor time, that by the clock shares the machine with",
            "the client, PostgreSQL and whatever else runs.",
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
