"""What keeps a gift safe: tokens, cookies, headers, foreign posts, card numbers (H1-H5)."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from playwright.async_api import expect

from tests.pages.site import GOOD, TO_PAYMENT, Site, fill, pay

OWN = {"Sec-Fetch-Site": "same-origin"}
FORM = {"amount": "2500", "first_name": "Amina", "last_name": "K", "email": "amina@example.org"}


@asynccontextmanager
async def opened(site: Site, **body: str) -> AsyncIterator[tuple[str, str, httpx.AsyncClient]]:
    """A session's page address, its CSRF token and a client that holds its cookie."""
    session = await site.session(**body)
    async with httpx.AsyncClient(base_url=site.base_url) as client:
        first = await client.get(session["url"])
        client.headers["Cookie"] = first.headers["set-cookie"].split(";")[0]
        page = await client.get(first.headers["location"])
        found = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert found, page.text
        yield first.headers["location"], found[1], client


async def test_h1_the_token_is_in_no_address_no_referer_and_no_log_line(site: Site) -> None:
    session = await site.session()
    token = session["url"].partition("token=")[2]
    async with site.donor() as page:
        await page.goto(session["url"])
        assert page.url == f"{site.base_url}/give/{session['id']}"
        await fill(page)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await pay(page, GOOD)
        await page.wait_for_url("**/thanks")
        history = await page.evaluate("performance.getEntries().map(entry => entry.name).join() + document.referrer")
        assert token not in history
        assert token not in await page.content()
    assert [url for _, url, _ in site.seen if token in url] == [session["url"]]
    assert not [referer for _, _, referer in site.seen if referer and token in referer]
    assert site.service.lines
    assert not [line for line in site.service.lines if token.encode() in line]


async def test_h1_the_first_answer_has_no_body_and_takes_the_token_away(site: Site) -> None:
    session = await site.session()
    async with httpx.AsyncClient() as client:
        answer = await client.get(session["url"])
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/give/{session['id']}"
    assert answer.content == b""
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["set-cookie"].startswith(f"__Host-give-{session['id']}=")


async def test_h2_head_and_prefetch_settle_nothing(site: Site) -> None:
    session = await site.session()
    async with httpx.AsyncClient(base_url=site.base_url) as client:
        assert (await client.head(session["url"])).status_code == 303
        first = await client.get(session["url"])
        cookie = {"Cookie": first.headers["set-cookie"].split(";")[0]}
        path = first.headers["location"]
        german = {**cookie, "Accept-Language": "ar-EG,ar"}
        assert (await client.head(path, headers=german)).status_code == 200
        assert (await client.get(path, headers={**german, "Sec-Purpose": "prefetch"})).status_code == 200
        found = await site.read(session)
        assert (found["language"], found["currency"]) == (None, None)
        assert (await client.get(path, headers=german)).status_code == 200
    found = await site.read(session)
    assert (found["language"], found["currency"]) == ("ar", "USD")


@pytest.mark.parametrize(
    ("header", "country", "language", "currency"),
    [
        ("en-GB,en;q=0.8", "USA", "en", "GBP"),
        ("de-DE", "USA", "de", "EUR"),
        ("ar-EG", "USA", "ar", "USD"),
        ("ja-JP", "JPN", "ja", "JPY"),
        ("fr", "USA", "fr", "USD"),
        ("pt-PT", "USA", "pt-BR", "EUR"),
        ("zh-TW", "USA", "en", "USD"),
        ("", "USA", "en", "USD"),
    ],
)
async def test_settled_4_the_first_opening_fixes_language_and_currency(
    site: Site, header: str, country: str, language: str, currency: str
) -> None:
    session = await site.session(country=country)
    async with httpx.AsyncClient(base_url=site.base_url) as client:
        first = await client.get(session["url"])
        cookie = {"Cookie": first.headers["set-cookie"].split(";")[0]}
        await client.get(first.headers["location"], headers={**cookie, "Accept-Language": header})
        await client.get(first.headers["location"], headers={**cookie, "Accept-Language": "en-GB"})
    found = await site.read(session)
    assert (found["language"], found["currency"]) == (language, currency)


async def test_what_the_partner_chose_stays(site: Site) -> None:
    session = await site.session(language="ar", currency="EUR")
    async with site.donor(locale="en-GB") as page:
        await page.goto(session["url"])
        await expect(page.locator("html")).to_have_attribute("dir", "rtl")
    found = await site.read(session)
    assert (found["language"], found["currency"]) == ("ar", "EUR")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {},
    ],
)
async def test_h2_a_post_from_elsewhere_is_refused(site: Site, headers: dict[str, str]) -> None:
    before = len(await site.donations())
    async with opened(site) as (path, csrf, client):
        answer = await client.post(path, data=FORM | {"csrf": csrf}, headers=headers)
    assert answer.status_code == 403
    assert "amina@example.org" not in answer.text
    assert len(await site.donations()) == before


async def test_h2_a_post_needs_the_cookie_and_its_own_csrf_token(site: Site) -> None:
    before = len(await site.donations())
    async with opened(site) as (path, csrf, client), opened(site) as (_, foreign, other):
        assert (await client.post(path, data=FORM | {"csrf": foreign}, headers=OWN)).status_code == 403
        assert (await client.post(path, data=FORM, headers=OWN)).status_code == 403
        assert (await other.post(path, data=FORM | {"csrf": csrf}, headers=OWN)).status_code == 403
        assert len(await site.donations()) == before
        assert (await client.post(path, data=FORM | {"csrf": csrf}, headers=OWN)).status_code == 303
    assert len(await site.donations()) == before + 1


async def test_h2_the_right_origin_stands_for_the_newer_header(site: Site) -> None:
    async with opened(site) as (path, csrf, client):
        answer = await client.post(path, data=FORM | {"csrf": csrf}, headers={"Origin": site.base_url})
    assert answer.status_code == 303


async def test_h3_every_answer_has_its_headers(site: Site) -> None:
    async with opened(site, successUrl="https://shop.example/thanks") as (path, csrf, client):
        answers = [
            await client.get(path),
            await client.post(path, data={"csrf": csrf}, headers=OWN),
            await client.post(path, data={}, headers=OWN),
            await client.get("/give"),
            await client.get(path, headers={"Cookie": ""}),
        ]
    assert [answer.status_code for answer in answers] == [200, 422, 403, 404, 403]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        for rule in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"):
            assert rule in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["request-id"]
    targets = f"form-action 'self' {site.provider_url} https://shop.example;"
    assert [targets in answer.headers["content-security-policy"] for answer in answers] == [
        True,
        True,
        True,
        False,
        False,
    ]


async def test_h3_a_violation_is_reported_without_addresses(site: Site) -> None:
    report = {"csp-report": {"effective-directive": "script-src-elem", "blocked-uri": "https://evil.example/x?token=1"}}
    site.service.lines.clear()
    async with httpx.AsyncClient(base_url=site.base_url) as client:
        assert (await client.post("/pages/csp-reports", json=report)).status_code == 204
        assert (await client.post("/pages/csp-reports", content=b"{")).status_code == 400
        assert (await client.post("/pages/csp-reports", content=b'"\xff"')).status_code == 400
        assert (await client.post("/pages/csp-reports", content=b" " * 20_000)).status_code == 413
    lines = [line for line in site.service.lines if b"csp_violation" in line]
    assert len(lines) == 1
    assert b"https://evil.example" in lines[0]
    assert b"token" not in lines[0]


async def test_h5_no_card_number_anywhere_after_a_gift(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await page.goto(session["url"])
        await fill(page)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await pay(page, GOOD)
        await page.wait_for_url("**/thanks")
    assert site.service.lines
    logged = b"".join(site.service.lines)
    assert GOOD.encode() not in logged
    assert b"amina@example.org" not in logged
    async with site.service.db.read() as tx:
        tables = await tx.fetch(
            "select table_schema s, table_name t from information_schema.tables "
            "where table_schema in ('public', 'provider_test') and table_type = 'BASE TABLE'"
        )
        for table in tables:
            query = f'select count(*) from "{table["s"]}"."{table["t"]}" r where r::text like $1'
            assert await tx.fetchval(query, f"%{GOOD}%") == 0, table["t"]


async def test_a_link_that_was_passed_on_shows_nothing_of_the_donor(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await page.goto(session["url"])
        await fill(page, email="secret-donor@example.org")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
    async with site.donor() as stranger:
        await stranger.goto(session["url"])
        await expect(stranger.get_by_label("First name")).to_have_value("")
        assert "secret-donor" not in await stranger.content()


async def test_h4_nothing_of_the_request_decides_where_the_donor_ends(site: Site) -> None:
    async with opened(site) as (path, _, client):
        for suffix in ("?successUrl=https://evil.example", "?next=//evil.example", "?url=https://evil.example"):
            answer = await client.get(path + "/return" + suffix)
            assert "evil" not in answer.headers.get("location", "") + answer.text


async def test_what_a_nonprofit_is_called_is_text(site: Site) -> None:
    session = await site.session(name="<script>alert(1)</script> & {amount} Trust")
    async with site.donor() as page:
        await page.goto(session["url"])
        await expect(page.get_by_role("heading", level=1)).to_have_text("<script>alert(1)</script> & {amount} Trust")
    assert site.complaints == []


async def test_other_methods_are_refused(site: Site) -> None:
    async with httpx.AsyncClient(base_url=site.base_url) as client:
        answer = await client.delete("/give/x")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/give/", 404),
        ("GET", "/give/x/y", 404),
        ("POST", "/give/x/thanks", 404),
        ("GET", "/gift/x/y/z", 404),
        ("DELETE", "/gift/x", 405),
        ("POST", "/gift", 405),
    ],
)
async def test_a_wrong_address_below_the_pages_is_a_page(site: Site, method: str, path: str, status: int) -> None:
    async with httpx.AsyncClient(base_url=site.base_url) as client:
        answer = await client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert answer.headers["content-security-policy"]
    assert ("allow" in answer.headers) is (status == 405)
