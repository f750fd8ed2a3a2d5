"""What the page says when the provider or we ourselves fail: pages put together for the test."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
from starlette.applications import Starlette

from almoner.giving.checkout.card_testing.domain import BrowserFingerprint
from almoner.giving.checkout.donations.domain import CheckoutState, DonationDetails, SessionDonation
from almoner.giving.checkout.hosted_page.pages import TEMPLATES, DonationPages
from almoner.giving.checkout.hosted_page.ports import CheckoutFunctions
from almoner.giving.checkout.payments.domain import FeeSchedule
from almoner.kit.errors import ServiceUnavailable
from almoner.platform.pages.rendering import PageRenderer
from tests.support import factories
from tests.support.client import Client
from tests.support.service import Service

FORM = {"amount": "2500", "first_name": "Amina", "last_name": "K", "email": "amina@example.org"}
PAY_URL = "https://pay.example/tp_1"


@asynccontextmanager
async def pages_of(service: Service, checkout: CheckoutFunctions) -> AsyncIterator[Any]:
    """A client of pages of their own, whose provider is ``checkout``."""
    deployment = service.db.deployment
    pages = DonationPages(service.db, PageRenderer(deployment, TEMPLATES), checkout)
    transport = httpx.ASGITransport(Starlette(routes=pages.routes()), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=deployment.base_urls.pages) as client:
        yield client


def checkout(error: Exception | None = None) -> CheckoutFunctions:
    """A provider that opens a page, or fails."""

    async def begin(_session: UUID, _gift: DonationDetails, _browser: BrowserFingerprint) -> SessionDonation:
        if error:
            raise error
        return SessionDonation(CheckoutState.UNDER_WAY, None, PAY_URL)

    async def come_back(_session: UUID, _payment: UUID | None) -> SessionDonation:
        return SessionDonation(CheckoutState.UNDER_WAY, None, PAY_URL)

    return CheckoutFunctions("https://pay.example", FeeSchedule(basis_points=250), begin, come_back)


async def opened(client: httpx.AsyncClient, url: str) -> tuple[str, dict[str, str], httpx.Response]:
    """Address, form fields and the page of a session."""
    first = await client.get(url)
    client.headers["Cookie"] = first.headers["set-cookie"].split(";")[0]
    client.headers["Sec-Fetch-Site"] = "same-origin"
    page = await client.get(first.headers["location"])
    token = re.search(r'name="csrf" value="([^"]+)"', page.text)
    return first.headers["location"], FORM | {"csrf": token[1] if token else ""}, page


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
    assert "We could not open the payment page. Please try again in a moment." in answer.text
    assert 'value="amina@example.org"' in answer.text


async def test_the_unexpected_is_a_page_too(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    async with pages_of(service, checkout(RuntimeError("secret detail"))) as client:
        path, form, _ = await opened(client, session["url"])
        answer = await client.post(path, data=form)
    assert answer.status_code == 500
    assert "Sorry, there is a problem with this service" in answer.text
    assert "secret detail" not in answer.text


async def test_h9_what_fails_is_told_in_the_session_language(service: Service, api: Client) -> None:
    session = await factories.session(service, api, language="he")
    async with pages_of(service, checkout(RuntimeError("secret detail"))) as client:
        client.headers["Accept-Language"] = "de"
        path, form, _ = await opened(client, session["url"])
        answer = await client.post(path, data=form)
        stranger = await client.get(path, headers={"Cookie": ""})
    assert (answer.status_code, answer.headers["content-language"]) == (500, "he")
    assert (stranger.status_code, stranger.headers["content-language"]) == (403, "de")
