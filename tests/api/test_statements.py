"""A donor's gifts of any period: the link is mailed to the donor, and shows what one address gave by one partner."""

import re
from collections.abc import AsyncIterator
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.payouts import simulate
from tests.support.service import Service, Tenant


@pytest.fixture
async def elsewhere(service: Service) -> AsyncIterator[Browser]:
    """Another browser, which has seen nothing."""
    made = Browser(service.app, service.db.deployment.base_urls.pages)
    yield made
    await made.close()


def somebody() -> str:
    """An address that no other test uses."""
    return f"{uuid4().hex}@example.org"


async def mails(api: Client, to: str, subject: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = data(await api.get("/v1/sandbox/mailbox", to=to, subject=subject))
    return found


def path_of(service: Service, link: str) -> str:
    return link.removeprefix(service.db.deployment.base_urls.pages)


async def receipt_link(service: Service, api: Client, email: str) -> str:
    """The private link of the newest receipt."""
    await service.drain()
    mail = (await mails(api, email, "receipt"))[0]
    return path_of(service, next(link for link in mail["links"] if "/gift?" in link))


async def ask(service: Service, api: Client, browser: Browser, email: str) -> str:
    """Ask by the receipt for a statement; the link that is mailed."""
    page = await browser.open(await receipt_link(service, api, email))
    offer = re.search(r'href="(/gift/[^"]+/statement)"', page.text)
    assert offer
    assert (await browser.open(offer[1])).status_code == 200
    assert (await browser.post(offer[1])).status_code == 200
    await service.drain()
    mail = (await mails(api, email, "statement"))[0]
    return path_of(service, next(link for link in mail["links"] if "/statement?" in link))


async def test_the_link_goes_to_the_donors_mailbox_and_shows_all_their_gifts(
    service: Service, api: Client, tenant: Tenant, browser: Browser, elsewhere: Browser
) -> None:
    email, (red, blue) = somebody(), [await factories.nonprofit(service, name=name) for name in ("Red", "Blue")]
    await factories.donation(service, api, organisation=red, email=email, amount=1000)
    await factories.donation(service, api, organisation=blue, email=email.upper(), amount=234, anonymous="yes")
    await factories.donation(service, api, organisation=blue, email=email, amount=700, currencyCode="EUR")
    await factories.donation(service, api, organisation=blue, email=somebody(), amount=9900)
    link = await ask(service, api, browser, email)
    assert all(word not in link for word in (email, "example.org"))
    page = await elsewhere.open(link)
    assert page.status_code == 200
    assert "token" not in str(page.url)
    text = re.sub(r"<[^>]+>", "", page.text)
    year = service.clock.now().year  # other tests move it
    assert f"Donations from January 1, {year} to December 31, {year}" in text
    assert [text.count(name) for name in ("Red", "Blue")] == [1, 2]
    for amount in ("$10.00", "$2.34", "€7.00", "$12.34"):
        assert amount in text
    assert "$99.00" not in text
    assert email not in page.text
    document = await elsewhere.get(f"{page.url.path}/statement.pdf?first={year}-01-01&last={year}-12-31")
    assert (document.status_code, document.headers["content-type"]) == (200, "application/pdf")
    named = f"statement-{year}-01-01-{year}-12-31.pdf"
    assert document.headers["content-disposition"] == f'attachment; filename="{named}"'
    assert document.content.startswith(b"%PDF-")
    for answer in (page, document):
        assert answer.headers["cache-control"] == "no-store"
    async with service.db.read() as tx:
        entry = await tx.fetchrow(
            "select actor_kind, actor_id from audit_entry where action = 'donor_statement.requested' and scope = $1",
            tenant.partner.id,
        )
    assert entry is not None
    assert tuple(entry) == ("system", "donor")


async def test_who_has_a_receipt_alone_sees_no_statement(
    service: Service, api: Client, browser: Browser, elsewhere: Browser
) -> None:
    email = somebody()
    await factories.donation(service, api, email=email)
    gift = await browser.open(await receipt_link(service, api, email))
    name = gift.url.path.rpartition("/")[2]
    assert (await browser.get(f"/statement/{name}")).status_code == 404
    assert (await browser.get(f"/statement/{name}/statement.pdf")).status_code == 404
    token = (await receipt_link(service, api, email)).partition("token=")[2]
    assert (await browser.get(f"/statement?token={token}")).status_code == 404
    assert (await elsewhere.get(f"/gift/{name}/statement")).status_code == 404
    await browser.open(f"/gift/{name}/statement")
    assert (await browser.post(f"/gift/{name}/statement", csrf="x")).status_code == 403
    assert (await browser.post(f"/gift/{name}/statement", {"csrf": browser.csrf}, site="cross-site")).status_code == 403
    await service.drain()
    assert await mails(api, email, "statement") == []


async def test_each_partner_and_address_has_a_statement_of_its_own(
    service: Service, api: Client, browser: Browser, elsewhere: Browser
) -> None:
    email, other = somebody(), await service.tenant()
    theirs = service.client(other.secret)
    await factories.donation(service, api, email=email, amount=1100)
    await factories.donation(service, theirs, email=email, amount=2200)
    seen = (await elsewhere.open(await ask(service, api, browser, email))).text
    assert "$11.00" in seen
    assert "$22.00" not in seen
    await theirs.close()


async def test_the_link_ends_after_a_day_and_so_does_the_visit(
    service: Service, api: Client, browser: Browser, elsewhere: Browser
) -> None:
    email = somebody()
    await factories.donation(service, api, email=email)
    link = await ask(service, api, browser, email)
    page = await elsewhere.open(link)
    service.clock.advance_wall(hours=23, minutes=59)
    assert (await elsewhere.get(page.url.path)).status_code == 200
    service.clock.advance_wall(minutes=2)
    assert (await elsewhere.get(page.url.path)).status_code == 404
    assert (await browser.get(link)).status_code == 404
    assert (await browser.get(link[:-2] + "AA")).status_code == 404


async def test_links_are_mailed_three_times_a_day_to_one_donor(service: Service, api: Client, browser: Browser) -> None:
    email = somebody()
    paths = []
    for _ in range(2):
        await factories.donation(service, api, email=email)
        gift = await browser.open(await receipt_link(service, api, email))
        paths.append(f"{gift.url.path}/statement")
    statuses = []
    for path in (paths[0], paths[1], paths[0], paths[1], paths[0]):
        await browser.open(path)
        statuses.append((await browser.post(path)).status_code)
    assert statuses == [200, 200, 200, 429, 429]
    await service.drain()
    assert len(await mails(api, email, "statement")) == 3
    service.clock.advance_wall(hours=25)
    await service.drain()
    async with service.db.read() as tx:
        old = "select count(*) from requested_email where requested_at <= $1"
        assert await tx.fetchval(old, tx.real_now - timedelta(hours=24)) == 0, "V6: kept for a day"
    await browser.open(paths[0])
    assert (await browser.post(paths[0])).status_code == 200


def around(today: date) -> dict[str, date]:
    """The days that a period may begin or end on: ten years are the longest."""
    day = timedelta(days=1)
    leaps = (today.month, today.day) == (2, 29)
    decade = (today + day if leaps else today).replace(year=today.year - 10)
    near = {"today": today, "morrow": today + day, "later": today + 7 * day, "earlier": today - 300 * day}
    taxed = {"sixth": date(today.year, 4, 6), "fifth": date(today.year + 1, 4, 5)}
    return {**near, **taxed, "decade": decade, "longer": decade - day}


@pytest.mark.parametrize(
    ("days", "status", "said"),
    [
        ("first={today}&last={today}", 200, "$25.00"),
        ("first={morrow}&last={later}", 200, "No donations in this period."),
        ("first={earlier}&last={later}", 200, "$25.00"),
        ("first={morrow}&last={today}", 422, "Enter a start date"),
        ("first={decade}&last={today}", 200, "$25.00"),
        ("first={today}&last={today}", 200, "Donations made in other ways are not included"),
        ("first={sixth}&last={fifth}", 200, "The UK tax year begins and ends at midnight UK time."),
        ("first={longer}&last={today}", 422, "Enter a start date"),
        ("first=x&last={today}", 422, "Enter a start date"),
        ("first={today}", 422, "Enter a start date"),
        ("first=%00&last=%3Cscript%3E", 422, "Enter a start date"),
    ],
)
async def test_a_statement_is_of_any_period(
    service: Service, api: Client, browser: Browser, elsewhere: Browser, days: str, status: int, said: str
) -> None:
    email = somebody()
    await factories.donation(service, api, email=email)
    page = await elsewhere.open(await ask(service, api, browser, email))
    days = days.format(**around(service.clock.now().date()))
    shown = await elsewhere.get(f"{page.url.path}?{days}")
    assert shown.status_code == status
    assert said in shown.text
    assert "<script>" not in shown.text
    document = await elsewhere.get(f"{page.url.path}/statement.pdf?{days}")
    assert document.status_code == (200 if status == 200 else 404)


async def test_refunds_and_reassignments_are_told(
    service: Service, api: Client, browser: Browser, elsewhere: Browser
) -> None:
    email, second = somebody(), await factories.nonprofit(service, name="Second Aid")
    whole, part, moved = [await factories.donation(service, api, email=email, amount=n) for n in (1000, 2000, 4000)]
    await simulate(api, whole["id"], "refund")
    await simulate(api, part["id"], "refund", amount=500)
    await service.drain()
    await simulate(api, moved["id"], "reassign", organisationId=second)
    shown = re.sub(r"<[^>]+>", "", (await elsewhere.open(await ask(service, api, browser, email))).text)
    assert shown.count("Refunded in full: this receipt is void.") == 1
    assert "Refunded: $5.00" in shown
    assert "Reassigned to Second Aid" in shown
    for amount in ("$70.00", "$15.00", "$55.00"):  # given, back, what remains
        assert amount in shown
