"""The hosted pages as a donor meets them: the service, the test provider on its own origin, and Chromium."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from playwright.async_api import Browser, BrowserContext, CDPSession, Frame, Page, async_playwright, expect
from starlette.types import ASGIApp

from almoner.cli.ports import open_listening_sockets
from almoner.cli.serve import serve_application
from almoner.provider_test.app import SimulatedPaymentProvider
from tests.support import factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.running import free_port
from tests.support.service import Service, serving

PROJECT = Path(__file__).parents[2]
AXE = PROJECT / ".cache" / "axe-core" / "axe.min.js"
TO_PAYMENT = re.compile("^(Continue to payment|Donate )")
"""The button of the form, which names the amount once one is chosen."""
# The shell has no window and no pages of its own: a third of the work of the whole browser.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
# Else it keeps a process ready for whatever site may be next: three more for each test, a quarter of all work.
SWITCHES = ("--no-sandbox", "--renderer-process-limit=1")

ALL = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
OF_COLOURS = ["color-contrast", "link-in-text-block"]
COLOURS = {"type": "rule", "values": OF_COLOURS}
SHAPE = Path(__file__).with_name("shape.js").read_text()
HEAVIEST, MOST_REQUESTS = 60_000, 6
MOST_MILLISECONDS = 60_000  # of waiting for a page: a busy machine needs more than a person
expect.set_options(timeout=MOST_MILLISECONDS)
GOOD, DECLINED, POOR, CHALLENGED = "4242424242424242", "4000000000000002", "4000000000009995", "4000000000003220"

KINDS = ("en", "ar", "de", "ja")
"""From left to right and from right to left, with a decimal comma and long words, the family name first."""

every_page = False
"""Whether axe is asked about each page, whatever its shape: in `make soak`."""
_fine: set[bytes] = set()
_looks: set[bytes] = set()
_debuggers: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()


def cases(*given: Sequence[str], short: Collection[tuple[str, ...]]) -> list[Any]:
    """Each of these with each: ``short`` in every run, the others among the long figures, since shapes are the same."""
    assert set(short) <= set(product(*given))
    return [one if one in short else pytest.param(*one, marks=pytest.mark.long) for one in product(*given)]


@dataclass
class Site:
    """The running pages. ``seen`` holds what browsers asked for: method, address and Referer of every request."""

    service: Service
    provider: SimulatedPaymentProvider
    api: Client
    browser: Browser
    base_url: str
    provider_url: str
    seen: list[tuple[str, str, str | None]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    async def session(self, **body: Any) -> dict[str, Any]:
        """A new donation session; ``name`` and ``city`` are the nonprofit's."""
        about = {key: body.pop(key) for key in ("name", "city", "state", "country", "active") if key in body}
        organisation = await factories.nonprofit(self.service, **about)
        return await factories.session(self.service, self.api, organisation=organisation, **body)

    async def read(self, session: dict[str, Any]) -> dict[str, Any]:
        """The session as the partner sees it."""
        return dict(data(await self.api.get(f"/v1/donation-sessions/{session['id']}")))

    async def donations(self) -> list[dict[str, Any]]:
        """All donations of the partner, newest first."""
        return list(data(await self.api.get("/v1/donations", pageSize=100)))

    @asynccontextmanager
    async def donor(self, **options: Any) -> AsyncIterator[Page]:
        """One page of a fresh browser; what it requests and complains about is kept."""
        context = await self.browser.new_context(**options)
        context.set_default_timeout(MOST_MILLISECONDS)
        try:
            yield await self.tab(context)
        finally:
            await context.close()

    async def tab(self, context: BrowserContext) -> Page:
        """One more tab of a browser."""
        page = await context.new_page()
        page.on(
            "request", lambda request: self.seen.append((request.method, request.url, request.headers.get("referer")))
        )
        page.on("console", lambda message: self._complain(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def _complain(self, kind: str, text: str) -> None:
        if kind == "error" and "Failed to load resource" not in text:
            self.complaints.append(text)


@asynccontextmanager
async def open_site(database: TestDatabase, browser: Browser, **settings: Any) -> AsyncIterator[Site]:
    """The site until the block ends."""
    port = free_port()
    async with serving(database, port=port, **settings) as service:
        provider = service.services.provider_app
        assert provider is not None, "the sandbox has the test provider"
        client = service.client((await service.tenant()).secret)
        async with _served(service.app, port):
            # The provider answers on another host, so that its way back is a cross-site one, as in life.
            provider_url = service.services.settings.test_provider_base_url
            yield Site(service, provider, client, browser, f"http://localhost:{port}", provider_url)
        await client.close()


@asynccontextmanager
async def open_browser(*arguments: str) -> AsyncIterator[Browser]:
    """Chromium until the block ends. Skips the test where there is none."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here; install it (Debian: apt-get install chromium)")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*SWITCHES, *arguments])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def _served(app: ASGIApp, port: int) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(serve_application(app, open_listening_sockets("localhost", port), stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def findings(page: Page) -> list[str]:
    """What axe finds on the page once its transitions have ended: rule and element.

    Rules that found nothing on a page of the same shape in this process are not asked again, nor those of colours where
    each look of the page was judged before: ``shape.js`` says what makes two pages differ.
    """
    await page.wait_for_load_state()  # a click waits for the first byte of the next page alone
    told = await page.evaluate(SHAPE)
    shape, looks = _digest(told["shape"]), {_digest(look) for look in told["looks"]}
    known, judged = shape in _fine and not every_page, looks <= _looks and not every_page
    if known and judged:
        return []
    if not await page.evaluate("'axe' in window"):
        # By itself, not by Playwright, which takes half as long again to pass such a text on.
        if page not in _debuggers:
            _debuggers[page] = await page.context.new_cdp_session(page)
        await _debuggers[page].send("Runtime.evaluate", {"expression": AXE.read_text(), "silent": True})
    found, unjudged = await page.evaluate(
        """async options => {
            const asked = await axe.run({...options, elementRef: true, resultTypes: ['violations', 'incomplete']});
            const told = rule => rule.nodes.map(node => `${rule.id}: ${node.target} ${node.failureSummary}`);
            const unjudged = asked.incomplete.filter(rule => rule.id === 'color-contrast').flatMap(rule => rule.nodes);
            return [asked.violations.flatMap(told), unjudged.map(node => lookOf(node.element) ?? '')];
        }""",
        {
            "runOnly": COLOURS if known else ALL,
            "rules": {rule: {"enabled": False} for rule in OF_COLOURS if judged},
        },
    )
    if not found:
        _fine.add(shape)
        _looks.update(looks - {_digest(look) for look in unjudged})
    return list(found)


def _digest(told: str) -> bytes:
    return sha256(told.encode()).digest()


async def shortcomings(page: Page) -> list[str]:
    """What is wrong with the page for anybody: what axe finds, and whether it is too wide or heavy, or asks others."""
    found = await findings(page)
    wide, weight, requests, hosts = await page.evaluate(
        """() => {
            const root = document.documentElement;
            const got = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
            const weight = got.reduce((sum, one) => sum + one.encodedBodySize, 0);
            const hosts = got.map(one => new URL(one.name).host);
            const asked = hosts.filter(host => host !== location.host);
            return [root.scrollWidth > root.clientWidth, weight, got.length, asked];
        }"""
    )
    if wide:
        found.append("it scrolls sideways")
    if not 0 < weight < HEAVIEST:
        found.append(f"it weighs {weight} bytes, cached parts included")
    if requests > MOST_REQUESTS:
        found.append(f"it makes {requests} requests")
    return found + [f"it asks {host}" for host in hosts]


async def fill(
    page: Page | Frame, *, amount: str = "Other amount", typed: str = "12.34", email: str = "amina@example.org"
) -> None:
    """Fill the form of the gift in English."""
    await page.get_by_label(amount, exact=True).check()
    if amount == "Other amount":
        await page.get_by_label("Amount in US dollars").fill(typed)
    await page.get_by_label("First name").fill("Amina")
    await page.get_by_label("Last name").fill("El-Sayed")
    await page.get_by_label("Email address").fill(email)


async def pay(page: Page, number: str = GOOD) -> None:
    """Fill the card form in English and send it."""
    await page.get_by_label("Card number").fill(number)
    await page.get_by_label("Expiry date").fill("12/30")
    await page.get_by_label("Security code").fill("123")
    await page.get_by_label("Name on the card").fill("Amina El-Sayed")
    await page.get_by_role("button", name="Pay ").click()


Check = Callable[[Page], Any]
