"""How long 50 applicants wait who fill in the hosted form at once, each taking 2 to 10 s per step.

An open loop: each step is due at a fixed time, whatever the server does, and a wait counts from that time.
"""

import argparse
import asyncio
import math
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
from PIL import Image

from bench import machine
from bench.stage import Stage, process, server, staged

REPORT = Path(__file__).parents[1] / "docs" / "evidence" / "applications.md"
APPLICANTS = 50
LEAST, MOST = 2.0, 10.0
"""The seconds between two steps of one applicant."""
VISITS = 2
"""How often an applicant checks the application's status."""
UNLISTED = 0.25
"""The share of applications for nonprofits that no register lists: what their pages ask for is computed anew."""
AIM = 150.0
"""The target in milliseconds (p99)."""
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_FOUND = re.compile(r'name="organisation" value="([^"]+)"')


@dataclass
class Waits:
    """Milliseconds from the time a request was due to the end of its response, by kind of request."""

    by_step: dict[str, list[float]] = field(default_factory=dict)
    sent: int = 0
    refused: list[str] = field(default_factory=list)

    def all(self) -> list[float]:
        """All waits."""
        return [wait for waits in self.by_step.values() for wait in waits]


def at(waits: Sequence[float], share: float) -> float:
    """A percentile."""
    ordered = sorted(waits)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def photo() -> bytes:
    """A scaled-down photo of a certificate."""
    target = BytesIO()
    Image.effect_noise((1200, 900), 60).convert("RGB").save(target, "JPEG", quality=70)
    return target.getvalue()


class Applicant:
    """One applicant in their own browser, with one form after the other."""

    def __init__(self, base: str, key: str, waits: Waits, pick: random.Random, names: Sequence[str]) -> None:
        self._base, self._key, self._waits, self._pick, self._names = base, key, waits, pick, names
        self._http = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        self._cookie = ""
        self._page = ""
        self._due = time.monotonic()

    async def close(self) -> None:
        """Close the browser."""
        await self._http.close()

    async def think(self) -> None:
        """Wait until the next step is due, however long the last one took."""
        self._due += self._pick.uniform(LEAST, MOST)
        await asyncio.sleep(max(0.0, self._due - time.monotonic()))

    async def ask(self, step: str, method: str, path: str, due: float, **options: Any) -> str:
        """Send one request; returns where it redirects, or ""."""
        headers = {"Cookie": self._cookie, "Sec-Fetch-Site": "same-origin"}
        async with self._http.request(
            method, path if "://" in path else self._base + path, headers=headers, allow_redirects=False, **options
        ) as answer:
            text = await answer.text()
            if cookie := answer.headers.get("set-cookie"):
                self._cookie = cookie.split(";")[0]
            if answer.status not in (200, 303):
                self._waits.refused.append(f"{step}: {answer.status} {text[:200]}")
            self._waits.by_step.setdefault(step, []).append((time.monotonic() - due) * 1000)
            self._page = text or self._page
            return answer.headers.get("location", "")

    async def step(self, name: str, path: str, fields: dict[str, str] | None = None) -> str:
        """Wait, submit a step and load the next page; returns where the submission redirected."""
        await self.think()
        leads, due = path, self._due
        if fields is not None:
            found = _CSRF.search(self._page)
            data = {"csrf": found[1] if found else "", **fields}
            leads = await self.ask(f"{name}: send", "POST", path, due, data=data)
            due = time.monotonic()
            if "/application" in leads or not leads:
                return leads
        await self.ask(f"{name}: page" if fields is None else "next page", "GET", leads, due)
        return leads

    async def choose(self, home: str) -> bool:
        """Search while typing, and choose a result; returns whether it was found."""
        await self.step("search", f"{home}/nonprofit")
        name = self._pick.choice(self._names)
        await self.think()
        for length in (3, 6, 12):
            due = max(self._due, time.monotonic())
            await self.ask("as one types", "GET", f"{home}/nonprofit/results", due, params={"q": name[:length]})
        due = time.monotonic()
        await self.ask("as one types", "GET", f"{home}/nonprofit/results", due, params={"q": name})
        found = _FOUND.search(self._page)
        if found is None:
            self._waits.refused.append(f"nothing found for {name}")
            return False
        await self.step("nonprofit", f"{home}/nonprofit", {"organisation": found[1]})
        return True

    async def tell(self, home: str) -> bool:
        """Enter a nonprofit that no register lists; its page asks for the missing details."""
        await self.step("unlisted", f"{home}/nonprofit/other?country=USA")
        number = f"53-{self._pick.randrange(10**7):07d}"
        given = {"name": f"Relief of {number}", "number": number, "website": "relief.example"}
        await self.step("unlisted", f"{home}/nonprofit/other", {**given, "country": "USA", "registry": "IRS"})
        return True

    async def apply(self, image: bytes) -> None:
        """Complete one application from its link to the result."""
        headers = {"Authorization": f"Bearer {self._key}"}
        async with self._http.post(f"{self._base}/v1/validation-invites", headers=headers) as answer:
            invite = (await answer.json())["data"]
        home, self._cookie = f"/apply/{invite['id']}", ""
        await self.think()
        link = self._base + "/apply?" + invite["url"].partition("?")[2]
        await self.ask("link", "GET", link, self._due)
        await self.ask("start: page", "GET", home, time.monotonic())
        unlisted = self._pick.random() < UNLISTED
        if not await (self.tell(home) if unlisted else self.choose(home)):
            return
        person = {"first_name": "Ada", "last_name": "Byron", "email": "ada@relief.example", "title": "Treasurer"}
        await self.step("person", f"{home}/person", person)
        await self.think()
        csrf = _CSRF.search(self._page)
        form = aiohttp.FormData({"csrf": csrf[1] if csrf else "", "type": "validation_request"})
        form.add_field("file", image, filename="photo.jpg", content_type="image/jpeg")
        await self.ask("document: send", "POST", f"{home}/documents", self._due, data=form)
        await self.ask("next page", "GET", f"{home}/documents", time.monotonic())
        await self.step("documents", f"{home}/documents/done", {})
        leads = await self.step("review", f"{home}/review", {})
        if "/application" not in leads:
            return
        self._waits.sent += 1
        for _ in range(VISITS):
            await self.think()
            await self.ask("status: page, unlisted" if unlisted else "status: page", "GET", leads, self._due)


async def configure(base: str, keys: Sequence[str]) -> None:
    """Create the usual configuration for each partner."""
    async with aiohttp.ClientSession() as http:
        for key in keys:
            headers = {"Authorization": f"Bearer {key}"}
            path = f"{base}/v1/validation-submission-configurations"
            async with http.post(path, json={"name": "Usual"}, headers=headers) as answer:
                answer.raise_for_status()


async def measure(stage: Stage, seconds: float) -> Waits:
    """Applicants start within the first ten seconds and apply repeatedly until the time is over."""
    waits, image = Waits(), photo()
    worker = process(stage, stage.settings.data_dir / "worker.log", "-m", "almoner", "worker")
    with server(stage, "applications", "-m", "almoner", "serve") as running, worker:
        base = f"http://127.0.0.1:{running.port}"
        await configure(base, stage.keys)
        ends = time.monotonic() + seconds

        async def one(number: int) -> None:
            pick = random.Random(number)
            await asyncio.sleep(pick.uniform(0, MOST))
            applicant = Applicant(base, stage.keys[number % len(stage.keys)], waits, pick, stage.names)
            while time.monotonic() < ends:
                await applicant.apply(image)
            await applicant.close()

        await asyncio.gather(*(one(number) for number in range(APPLICANTS)))
    return waits


def report(stage: Stage, waits: Waits, seconds: float) -> str:
    """The results as a page."""
    every = waits.all()
    p99 = at(every, 0.99)
    lines = [
        "# 50 applicants at once",
        "",
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Repeat with `python -m bench.applications`.",
        "",
        *(f"- {fact}" for fact in machine.facts(stage.database_version)),
        f"- {APPLICANTS} applicants for {seconds:g} s, {LEAST:g} to {MOST:g} s a step, in an open loop",
        "- a wait counts from the moment a step was due; one server, its checks of files in children, one worker",
        f"- {UNLISTED:.0%} of the applications are for nonprofits that no register lists",
        f"- {waits.sent} applications sent, {len(every)} requests, {len(waits.refused)} refused",
        "",
        "| | requests | p50 ms | p99 ms | worst ms |",
        "|---|---|---|---|---|",
    ]
    for step, found in waits.by_step.items():
        figures = f"{at(found, 0.5):.0f} | {at(found, 0.99):.0f} | {max(found):.0f}"
        lines.append(f"| {step} | {len(found)} | {figures} |")
    lines += [
        f"| **all** | {len(every)} | {at(every, 0.5):.0f} | {p99:.0f} | {max(every):.0f} |",
        "",
        f"- p99 {p99:.0f} ms, at most {AIM:.0f} ms asked for: {'met' if p99 <= AIM else 'MISSED'}",
        *(f"- refused: {one}" for one in waits.refused[:3]),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="for how long applicants begin applications")
    given = parser.parse_args()
    with staged() as stage:
        text = report(stage, asyncio.run(measure(stage, given.seconds)), given.seconds)
    print(text)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(text)


if __name__ == "__main__":
    main()
