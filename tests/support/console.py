"""The console's pages, as the service loads them, and operators' actions on them."""

import html
import re

from starlette.routing import Route

from almoner.platform.database.transactions import Partner
from almoner.platform.pages import error_pages
from almoner.platform.pages.lazy_routes import LazyRoutes
from tests.support.browsing import Browser
from tests.support.service import Service


def console_routes(service: Service) -> list[Route]:
    """All routes, without those for unknown paths."""
    lazy = [one for one in service.services.pages if isinstance(one, LazyRoutes)]
    routes = [route for one in lazy for route in one.load_routes()]
    return [route for route in routes if route.endpoint.__module__ != error_pages.__name__]


def words(browser: Browser) -> str:
    """The text of the last page."""
    assert browser.page is not None
    whole = re.sub(r"</?(bdi|span|code|time|a)[^>]*>", "", browser.page.text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", whole)).split())


async def entries(service: Service, action: str, of: str | Partner) -> int:
    """The number of a partner's audit entries with this action, or with this ID as subject or actor."""
    borne = "scope = $2"
    if isinstance(of, str):
        borne = "$2 = any(array[actor_id, details ->> 'flag'] || string_to_array(subject, ' '))"
    async with service.db.read() as tx:
        sql = f"select count(*) from audit_entry where action = $1 and {borne}"
        return int(await tx.fetchval(sql, action, of if isinstance(of, str) else of.id))


async def listed(browser: Browser, path: str, wanted: str) -> bool:
    """Whether a list contains the record, on the page then open: a page shows fifty records of all tests."""
    page = (await browser.open(path)).text
    while wanted not in page and (onward := re.search(r'href="([^"]+cursor=[^"]+)"', page)):
        page = (await browser.open(html.unescape(onward[1]))).text
    return wanted in page


async def act(browser: Browser, path: str, **typed: str) -> str:
    """Open an action's page and perform it; returns the page that it leads to."""
    assert (await browser.get(path)).status_code == 200, words(browser)
    answer = await browser.post(path, typed)
    assert answer.status_code == 303, words(browser)
    assert (await browser.get(answer.headers["location"])).status_code == 200, words(browser)
    return str(answer.headers["location"]).partition("?")[0]


async def refused(browser: Browser, path: str, **typed: str) -> str:
    """Try an action that is refused; returns the reason."""
    assert (await browser.get(path)).status_code == 200, words(browser)
    answer = await browser.post(path, typed)
    assert answer.status_code in (409, 422), (answer.status_code, words(browser))
    return words(browser)


async def upload(browser: Browser, path: str, name: str, content: bytes, **fields: str) -> str:
    """Submit the page's form with a file; returns where it redirects."""
    assert (await browser.get(path)).status_code == 200, words(browser)
    answer = await browser.request(
        "POST",
        path,
        headers={"Sec-Fetch-Site": "same-origin"},
        data={"csrf": browser.csrf, **fields},
        files={"file": (name, content)},
    )
    assert answer.status_code == 303, (answer.status_code, words(browser))
    return str(answer.headers["location"])


async def closed(browser: Browser, path: str) -> str:
    """The text on the page of an action that is not available."""
    assert (await browser.get(path)).status_code == 200
    return words(browser)
