"""No word of the pages of giving links is outside the catalogues (H9)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from almoner.platform.pages.translations import LOCALE_FOLDER
from tests.api.test_giving_link_pages import send
from tests.support import factories, pseudo
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.service import Service, serving

BEGINNINGS = ("give.link", "give.designation", "give.problem.designation")
WORDS = {key for key in json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8")) if key.startswith(BEGINNINGS)}
OF_OTHER_TARIFFS = {"give.link.fee.fixed", "give.link.fee.none"}


@pytest.fixture
async def strange(empty_database: TestDatabase, tmp_path: Path) -> AsyncIterator[Service]:
    """A service in the made-up language."""
    async with serving(empty_database, catalogues=pseudo.catalogues(tmp_path)) as service:
        yield service


@pytest.fixture
async def partner(strange: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = strange.client((await strange.tenant()).secret)
    yield api
    await api.close()


async def test_h9_no_word_of_a_giving_link_is_outside_the_catalogues(strange: Service, partner: Client) -> None:
    reader, browser = pseudo.Reader(), Browser(strange.app, strange.db.deployment.base_urls.pages)
    bodies = [await factories.nonprofit(strange, name="Q Q") for _ in range(27)]
    category = await factories.category(partner)
    for body in bodies:
        await partner.request("PUT", f"/v1/categories/{category['id']}/{body}")
    plain = {"title": "Words of theirs", "text": "More\nwords"}
    links = [
        await factories.giving_link(strange, partner, **plain, **body)
        for body in (
            {"organisationIds": bodies[:2], "designations": ["QQ"]},
            {"organisationIds": bodies[:1], "currencies": ["USD"], "goal": 5000, "designations": ["QQ", "Almoner"]},
            {"organisationIds": bodies[:1], "currencies": ["USD"], "goal": 5000, "showsProgress": True},
            {"organisationIds": bodies[:1], "currencies": ["USD"], "showsProgress": True},
            {"categoryId": category["id"]},
            {"organisationIds": bodies[:1], "active": False},
        )
    ]
    pages = [f"/g/{link['slug']}" for link in links]
    pages += [f"{pages[0]}?organisation={bodies[0]}", f"{pages[4]}?page=2", f"{pages[4]}?q=zzz"]
    for path in pages:
        reader.page((await browser.open(path)).text)
    await browser.open(pages[3])
    await send(browser, links[3])
    (session,) = data(await partner.get("/v1/donation-sessions"))
    donor = {"firstName": "Q", "email": "q@example.org", "card": factories.CARD}
    given = {"id": session["id"], "action": "donate", "amount": 2500, "currencyCode": "USD", **donor}
    assert (await partner.post("/v1/sandbox/simulate", given)).status_code == 200
    reader.page((await browser.open(pages[3])).text)
    sent = {"csrf": "", "designation": "x", "currency": "USD", "organisation": bodies[0]}
    reader.page((await browser.post(pages[1], sent)).text)
    assert WORDS - reader.seen == OF_OTHER_TARIFFS
