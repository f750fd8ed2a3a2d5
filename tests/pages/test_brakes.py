"""Brakes against card testing (H6), and every sentence from a catalogue (H9): pages put together for the test."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.applications import Starlette

from almoner.giving.donations.domain import Gift, SessionDonation, Standing
from almoner.giving.gateway.pages import TEMPLATES, TRIES, GivePages
from almoner.giving.gateway.ports import Checkout
from almoner.kit.errors import ServiceUnavailable
from almoner.platform.pages.catalogue import LOCALE_FOLDER, Catalogues
from almoner.platform.pages.rendering import Pages
from almoner.platform.ratelimit import RateLimiter
from tests.support import factories
from tests.support.client import Client
from tests.support.service import Service

FORM = {"amount": "2500", "first_name": "Amina", "last_name": "K", "email": "amina@example.org"}
PAY_URL = "https://pay.example/tp_1"


@asynccontextmanager
async def pages_of(service: Service, checkout: Checkout, catalogues: Catalogues | None = None) -> AsyncIterator[Any]:
    """A client of pages of their own, whose provider is ``checkout``."""
    deployment = service.db.deployment
    pages = GivePages(service.db, Pages(deployment, TEMPLATES, catalogues), checkout, RateLimiter(), TRIES)
    transport = httpx.ASGITransport(Starlette(routes=pages.routes()), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=deployment.links.pages) as client:
        yield client


def checkout(error: Exception | None = None) -> Checkout:
    """A provider that opens a page, or fails."""

    async def begin(_session: UUID, _gift: Gift) -> SessionDonation:
        if error:
            raise error
        return SessionDonation(Standing.UNDER_WAY, None, PAY_URL)

    async def come_back(_session: UUID) -> SessionDonation:
        return await begin(_session, Gift.__new__(Gift))

    return Checkout("https://pay.example", begin, come_back)


async def opened(client: httpx.AsyncClient, url: str) -> tuple[str, dict[str, str], httpx.Response]:
    """Address, form fields and the page of a session."""
    first = await client.get(url)
    client.headers["Cookie"] = first.headers["set-cookie"].split(";")[0]
    client.headers["Sec-Fetch-Site"] = "same-origin"
    page = await client.get(first.headers["location"])
    token = re.search(r'name="csrf" value="([^"]+)"', page.text)
    return first.headers["location"], FORM | {"csrf": token[1] if token else ""}, page


async def test_h6_one_address_begins_six_gifts_a_minute_and_twenty_an_hour(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    async with pages_of(service, checkout()) as client:
        path, form, _ = await opened(client, session["url"])
        answers = [await client.post(path, data=form) for _ in range(7)]
        assert [answer.status_code for answer in answers] == [303] * 6 + [429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 10
        assert "One moment, please" in answers[-1].text
        begun = 6
        for _ in range(100):
            service.clock.advance_wall(seconds=10)
            begun += (await client.post(path, data=form)).status_code == 303
        assert begun <= 26  # twenty at once, and what a thousand seconds give back


async def test_a_wrong_form_costs_no_try(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    async with pages_of(service, checkout()) as client:
        path, form, _ = await opened(client, session["url"])
        for _ in range(10):
            assert (await client.post(path, data=form | {"email": ""})).status_code == 422
        assert (await client.post(path, data=form)).headers["location"] == PAY_URL


async def test_a_provider_that_is_away_loses_no_input(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    async with pages_of(service, checkout(ServiceUnavailable())) as client:
        path, form, _ = await opened(client, session["url"])
        answer = await client.post(path, data=form)
    assert answer.status_code == 503
    assert "The payment page could not be opened just now. You have not been charged." in answer.text
    assert 'value="amina@example.org"' in answer.text


async def test_the_unexpected_is_a_page_too(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    async with pages_of(service, checkout(RuntimeError("secret detail"))) as client:
        path, form, _ = await opened(client, session["url"])
        answer = await client.post(path, data=form)
    assert answer.status_code == 500
    assert "Something went wrong on our side" in answer.text
    assert "secret detail" not in answer.text


class Words(HTMLParser):
    """What a reader sees or hears: text, labels, titles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("style", "bdi")
        self.found += [value for name, value in attrs if name in ("aria-label", "title", "placeholder") and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("style", "bdi")

    def handle_data(self, data: str) -> None:
        if not self._silent and data.strip():
            self.found.append(data.strip())


@pytest.fixture
def pseudo(tmp_path: Path) -> Catalogues:
    """English with every sentence between brackets."""
    english = json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8"))

    def marked(message: Any) -> Any:
        return f"⟦{message}⟧" if isinstance(message, str) else {form: marked(text) for form, text in message.items()}

    (tmp_path / "en.json").write_text(json.dumps({key: marked(message) for key, message in english.items()}), "utf-8")
    return Catalogues(tmp_path)


async def test_h9_no_word_on_a_page_is_outside_the_catalogue(service: Service, api: Client, pseudo: Catalogues) -> None:
    session = await factories.session(service, api, organisation=await factories.nonprofit(service, name="Q Q"))
    async with pages_of(service, checkout(), pseudo) as client:
        path, form, empty = await opened(client, session["url"])
        pages = [
            empty,
            await client.post(path, data=form | {"email": "", "amount": "other", "typed": "0"}),
            await client.post(path, data=form | {"csrf": "x"}),
            await client.get("/give"),
            await client.get(path, headers={"Cookie": ""}),
        ]
    assert [page.status_code for page in pages] == [200, 422, 403, 404, 403]
    for page in pages:
        words = Words()
        words.feed(page.text)
        assert words.found
        sentence = re.compile(r"⟦[^⟧]*⟧", re.DOTALL)
        joined = " ".join(words.found)
        left = {word for word in sentence.sub(" ", joined).split() if re.search(r"[^\W\d_]", word)}
        assert left <= {"QQ"}, page.request.url


def test_h6_the_limits_are_those_of_the_requirement() -> None:
    minute, hour = TRIES
    assert (round(minute.rate * 60, 9), minute.burst) == (6, 6)
    assert (round(hour.rate * 3600, 9), hour.burst) == (20, 20)
