"""What people meet outside of the interface: a front page, error pages, and whose notices are where."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.service import Service, Tenant, serving
from tests.support.terminal import in_process, operator

HTML = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
NOTICES: dict[str, Any] = {
    "public_name": "Example Giving",
    "privacy_url": "https://giving.example/privacy",
    "terms_url": "https://giving.example/terms",
    "imprint_url": "https://giving.example/imprint",
    "contact_email": "help@giving.example",
}


def opener(service: Service) -> httpx.AsyncClient:
    """A browser that has opened nothing yet."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(service.app), base_url="http://localhost", headers=HTML)


async def test_a_browser_gets_pages_where_a_program_gets_json(service: Service, anonymous: Client) -> None:
    async with opener(service) as browser:
        front = await browser.get("/", headers={"Accept-Language": "de"})
        assert (front.status_code, front.headers["content-language"]) == (200, "de")
        assert 'href="/sandbox/mailbox"' in front.text
        for path, status, heading in (
            ("/nothing/here", 404, "Page not found"),
            ("/v2/organisations", 404, "Page not found"),
            ("/readyz/more", 404, "Page not found"),
        ):
            shown = await browser.get(path)
            assert (shown.status_code, shown.headers["content-type"]) == (status, "text/html; charset=utf-8")
            assert heading in shown.text
            assert "request-id" in shown.headers
        posted = await browser.post("/")
        assert (posted.status_code, set(posted.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})
        assert (await browser.get("/v1/nothing")).headers["content-type"] == "application/json"
    assert (await anonymous.get("/nothing")).json()["error"]["code"] == "not_found"


async def test_what_browsers_and_crawlers_request_unasked_is_there(anonymous: Client) -> None:
    icon, robots = await anonymous.get("/favicon.ico"), await anonymous.get("/robots.txt")
    assert (icon.status_code, icon.headers["content-type"], icon.content[:4]) == (200, "image/svg+xml", b"<svg")
    assert (robots.status_code, robots.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "Disallow: /v1/" in robots.text.splitlines()


@pytest.fixture
async def noted(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service whose owner has notices."""
    async with serving(empty_database, **NOTICES) as made:
        yield made


async def test_every_page_and_email_says_who_runs_the_service(noted: Service, tmp_path: Path) -> None:
    tenant = await noted.tenant()
    almoner = in_process(noted, tmp_path, await operator(noted, "administrator"))
    partner = noted.db.deployment.ids.encode("partner", tenant.partner.id)
    status, printed = await almoner(
        "partners", "links", partner, "--website", "https://shop.example/", "--privacy", "https://shop.example/p"
    )
    assert status == 0, printed
    async with opener(noted) as browser:
        for path in ("/", "/nothing", "/give?token=x", "/operator/sign-in"):
            shown = (await browser.get(path)).text
            assert [value for value in NOTICES.values() if value not in shown] == [], path
    api = noted.client(tenant.secret)
    made = await factories.session(noted, api)
    opened = (await Browser(noted.app, "http://localhost").open(made["url"])).text
    assert [value for value in (*NOTICES.values(), "https://shop.example/p", tenant.name) if value not in opened] == []
    await factories.donation(noted, api, email="ada@example.org")
    await noted.drain()
    (receipt,) = data(await api.get("/v1/sandbox/mailbox", to="ada@example.org"))
    for form in ("text", "html"):
        assert [value for value in NOTICES.values() if value not in receipt[form]] == [], form


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--website", "shop.example", "must be an address such as https://www.example.org"),
        ("--privacy", "javascript:alert(1)", "must be an address"),
        ("--terms", "http://shop.example", "must be an address"),
        ("--contact", "nobody", "is not an email address"),
    ],
)
async def test_a_link_that_cannot_be_shown_is_refused(
    service: Service, tenant: Tenant, tmp_path: Path, option: str, value: str, said: str
) -> None:
    almoner = in_process(service, tmp_path, await operator(service, "administrator"))
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    status, printed = await almoner("partners", "links", partner, option, value)
    assert (status, said in " ".join(printed.split())) == (2, True), printed
