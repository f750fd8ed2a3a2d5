"""Browsers that try cards over real HTTP: donors and bots, each with its own address, with the limits on."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpx

from almoner.cli.ports import open_listening_sockets
from almoner.cli.serve import serve_application
from tests.support import factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.running import free_port
from tests.support.service import Service, serving

GOOD, DECLINED, POOR = "4242424242424242", "4000000000000002", "4000000000009995"
FORM = {"amount": "2500", "first_name": "Amina", "last_name": "K", "email": "amina@example.org"}


@dataclass(slots=True)
class Street:
    """The running service with limits as in production; ``api`` is the partner's."""

    service: Service
    api: Client
    base_url: str
    http: httpx.AsyncClient
    organisation: str

    def browser(self, address: str = "192.0.2.1") -> "Browser":
        """A new browser without cookies."""
        return Browser(self, address)

    async def link(self, **changed: Any) -> str:
        """The link of a new session."""
        made = await factories.session(self.service, self.api, organisation=self.organisation, **changed)
        return str(made["url"])

    async def pass_time(self, **amount: float) -> None:
        """Move both clocks, and do all due work."""
        self.service.clock.advance(timedelta(**amount))
        self.service.clock.advance_wall(**amount)
        await self.service.drain()

    async def pass_until(self, moment: datetime) -> None:
        """Move both clocks until real time is ``moment``."""
        await self.pass_time(seconds=max(0.0, (moment - self.service.clock.real_now()).total_seconds()))

    async def hear(self) -> None:
        """Deliver the provider's webhooks."""
        provider = self.service.services.provider_app
        assert provider is not None, "the sandbox has the test provider"
        while await provider.deliver_due_callbacks():
            continue

    async def mails(self, to: str) -> list[dict[str, Any]]:
        """The emails to an address, newest first."""
        await self.service.drain()
        return list(data(await self.api.get("/v1/sandbox/mailbox", to=to)))

    async def code(self, to: str = FORM["email"]) -> str:
        """The newest code that was emailed."""
        found = re.search(r"^\d{6}$", (await self.mails(to))[0]["text"], re.MULTILINE)
        assert found, "the mail has a line with the code"
        return found[0]

    async def tries(self) -> int:
        """The number of cards that reached the provider."""
        return int(await self.value("select coalesce(sum(attempts), 0) from provider_test.payment"))

    async def value(self, sql: str, *args: object) -> Any:
        """One value from the database."""
        async with self.service.db.read() as tx:
            return await tx.fetchval(sql, *args)


@dataclass(slots=True)
class Browser:
    """One browser, one session at a time. ``path``: the path of its donation."""

    street: Street
    address: str
    path: str = ""
    csrf: str = ""
    cookies: dict[str, str] = field(default_factory=dict)

    async def open(self, url: str | None = None) -> httpx.Response:
        """Open a link; a new one unless given."""
        first = await self.get(url or await self.street.link())
        self.path = first.headers["location"]
        return await self.look()

    async def look(self, more: str = "") -> httpx.Response:
        """Load the donation's page, or a path below it."""
        page = await self.get(self.path + more)
        if found := re.search(r'name="csrf" value="([^"]+)"', page.text):
            self.csrf = found[1]
        return page

    async def give(self, **changed: str) -> httpx.Response:
        """Submit the donation form."""
        return await self.post(self.path, FORM | changed)

    async def begin(self, **changed: str) -> str:
        """Submit the form; returns the URL of the provider's page."""
        answer = await self.give(**changed)
        assert answer.status_code == 303, answer.text
        assert "/pay/" in answer.headers["location"], answer.headers["location"]
        return str(answer.headers["location"])

    async def enter(self, code: str) -> httpx.Response:
        """Submit the code."""
        return await self.post(f"{self.path}/code", {"code": code})

    async def again(self) -> httpx.Response:
        """Request a new code."""
        return await self.post(f"{self.path}/code", {"again": "yes"})

    async def pay(self, url: str, card: str = GOOD) -> httpx.Response:
        """Try a card on the provider's page, and deliver its webhook."""
        form = await self.street.http.get(url)
        found = re.search(r'name="csrf" value="([^"]+)"', form.text)
        if found is None:
            return form
        typed = {"number": card, "expiry": "12/40", "cvc": "123", "name": "A", "csrf": found[1]}
        tried = await self.street.http.post(url, data=typed, headers={"Sec-Fetch-Site": "same-origin"})
        await self.street.hear()
        return tried

    async def decline(self, url: str, times: int) -> None:
        """Try cards that are declined."""
        for _ in range(times):
            await self.pay(url, DECLINED)

    async def get(self, url: str) -> httpx.Response:
        """Load a page."""
        return self._kept(await self.street.http.get(self._full(url), headers=self._headers()))

    async def post(self, url: str, form: dict[str, str]) -> httpx.Response:
        """Submit a form of the last page."""
        headers = self._headers() | {"Sec-Fetch-Site": "same-origin"}
        sent = await self.street.http.post(self._full(url), data=form | {"csrf": self.csrf}, headers=headers)
        return self._kept(sent)

    def _full(self, url: str) -> str:
        return url if url.startswith("http") else self.street.base_url + url

    def _headers(self) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"X-Forwarded-For": self.address, "Cookie": cookies}

    def _kept(self, response: httpx.Response) -> httpx.Response:
        """httpx sends no Secure cookies to http://localhost; browsers do."""
        for header in response.headers.get_list("set-cookie"):
            name, _, value = header.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
        return response


@asynccontextmanager
async def open_town(database: TestDatabase, **settings: Any) -> AsyncIterator[Service]:
    """Serve the service on its own port behind a trusted proxy until the block ends."""
    port = free_port()
    given = {"card_testing_limits": "strict", "trusted_proxies": "127.0.0.1/32,::1/128", **settings}
    async with serving(database, port=port, **given) as service:
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(serve_application(service.app, open_listening_sockets("localhost", port), stop))
            try:
                yield service
            finally:
                stop.set()


@asynccontextmanager
async def open_street(town: Service) -> AsyncIterator[Street]:
    """A partner of the service, with one nonprofit."""
    async with httpx.AsyncClient(verify=False) as http:
        api = town.client((await town.tenant()).secret)
        url = f"http://localhost:{town.services.settings.port}"
        yield Street(town, api, url, http, await factories.nonprofit(town))
        await api.close()


async def code_asked(street: Street) -> Browser:
    """A donor who must enter a code."""
    browser = street.browser()
    await browser.open()
    await browser.decline(await browser.begin(), 3)
    assert (await browser.give()).headers["location"].endswith("/code")
    await browser.look("/code")
    return browser
