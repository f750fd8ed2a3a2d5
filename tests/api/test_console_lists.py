"""Lists of the console that are longer than a page: each leads on, shows every record once, and is whole as a file."""

import html
import re
from collections.abc import AsyncIterator
from itertools import product
from urllib.parse import quote
from uuid import UUID

import pytest

from almoner.access.people.domain import OperatorRole
from almoner.platform.database.transactions import Tx
from tests.support import bank, camt, factories, refunds
from tests.support.browsing import Browser
from tests.support.claims import cause
from tests.support.client import Client
from tests.support.console import console_routes
from tests.support.operators import operator, signed_in
from tests.support.payouts import settled, uuid_of
from tests.support.service import Service, Tenant

HOME = "/operator"
MANY = 51
"""One more than a page has."""


@pytest.fixture
async def olive(service: Service) -> AsyncIterator[Browser]:
    """The browser of a finance operator."""
    async for browser in _browser(service, "finance"):
        yield browser


async def _browser(service: Service, role: OperatorRole) -> AsyncIterator[Browser]:
    browser = await signed_in(service, await operator(service, role))
    yield browser
    await browser.close()


async def walk(browser: Browser, path: str) -> list[str]:
    """All rows, page by page."""
    found: list[str] = []
    address: str | None = HOME + path
    while address:
        page = (await browser.open(address)).text
        body = page.partition("<tbody")[2].partition("</tbody>")[0]
        rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
        assert len(rows) <= MANY - 1
        found += rows
        onward = re.findall(r'href="([^"]+cursor=[^"]+)"', page)
        address = onward[0].replace("&amp;", "&") if onward else None
    return found


async def is_whole(browser: Browser, path: str, names: list[str]) -> None:
    """Every record of these names is on one page of the list, and in its file."""
    rows = await walk(browser, path)
    assert [sum(name in row for row in rows) for name in names] == [1] * MANY, path
    lines = (await browser.get(f"{HOME}{path}.csv")).text
    assert all(name in lines for name in names), path


async def add_statements(tx: Tx, mark: str) -> None:
    """Statements between which one is missing, and reports of payouts that are on none of them."""
    await tx.execute(
        """
        insert into bank_statement (id, account, reference, currency, opening_minor, closing_minor, sha256, lines,
                                    imported_by, imported_at, part, ends_on)
        select gen_random_uuid(), $1, $1 || '-' || n || '-', 'XPF', n * 1000, n * 1000 + 1, sha256(''), 0,
               'officer', $2, 1, $2::timestamptz::date + n
        from generate_series(0, $3::int) n
        """,
        mark,
        tx.now,
        MANY,
    )


async def add_reports(tx: Tx, mark: str) -> list[UUID]:
    """Reports of a provider."""
    ids = [tx.new_id() for _ in range(MANY)]
    await tx.execute(
        """
        insert into settlement (id, provider, reference, currency, settled_on, sha256, lines, imported_at)
        select id, 'fake', $1 || '-' || n || '-', 'XPF', $2::timestamptz::date, sha256(''), 1, $2
        from unnest($3::uuid[]) with ordinality as t (id, n)
        """,
        mark,
        tx.now,
        ids,
    )
    await tx.execute(
        """
        insert into settlement_line (id, settlement_id, provider, currency, kind, provider_payment, gross_minor,
                                     fee_minor, net_minor, status, reason, created_at, checked_at, status_changed_at)
        select gen_random_uuid(), id, 'fake', 'XPF', 'payment', $1 || n, 100, 0, 100, 'exception', 'unknown_payment',
               $2, $2, $2
        from unnest($3::uuid[]) with ordinality as t (id, n)
        """,
        mark,
        tx.now,
        ids,
    )
    return ids


async def test_statements_and_reports_lead_on(service: Service, olive: Browser) -> None:
    mark = factories.unique("m").replace(" ", "")
    async with service.db.write() as tx:
        await add_statements(tx, mark)
        ids = await add_reports(tx, mark)
    names = [f"{mark}-{n}-" for n in range(1, MANY + 1)]
    await is_whole(olive, "/bank-statements/gaps", names)
    await is_whole(olive, "/settlements", names)
    await is_whole(olive, "/settlements/provider-payouts", [f"fake/{name}" for name in names])
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into settlement_explanation (settlement_id, note, explained_by, explained_at)
            select id, 'of a test', 'officer', $2 from unnest($1::uuid[]) id
            """,
            ids,
            tx.now,
        )
        await tx.execute(
            """
            insert into bank_statement_gap_explanation (statement_id, note, explained_by, explained_at)
            select id, 'of a test', 'officer', $2 from bank_statement where account = $1
            """,
            mark,
            tx.now,
        )
        await tx.execute(
            "update settlement_line set status = 'cleared', cleared_by = 'officer', note = 'of a test', "
            "status_changed_at = $2 where settlement_id = any($1)",
            ids,
            tx.now,
        )


async def test_holds_lead_on(service: Service, api: Client, olive: Browser) -> None:
    nonprofits = [uuid_of(service, "organisation", await factories.nonprofit(service)) for _ in range(MANY)]
    names = [service.db.deployment.ids.encode("organisation", one) for one in nonprofits]
    for held in (True, False):
        async with service.db.write() as tx:
            await tx.execute(
                """
                insert into disbursement_hold (organisation_id, held, note, decided_by, decided_at)
                select id, $2, 'of a test', 'officer', $3 from unnest($1::uuid[]) id
                """,
                nonprofits,
                held,
                tx.now,
            )
        if held:
            await is_whole(olive, "/disbursements/holds", names)


async def test_failed_refunds_lead_on(service: Service, api: Client, olive: Browser) -> None:
    made = await settled(service, api, await factories.nonprofit(service))
    sent = [(await refunds.begun(service, made, 1)).id for _ in range(MANY)]
    for one in sent:
        await refunds.by_hand(service, one, factories.unique("tpr"))
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into refund_failure (refund_id, reason, reported_at)
            select id, 'closed', $2 from unnest($1::uuid[]) id
            """,
            sent,
            tx.now,
        )
        names = [tx.ids.encode("refund", one) for one in sent]
    await is_whole(olive, "/refunds/failed", names)


async def test_adjustments_lead_on(service: Service, api: Client, olive: Browser) -> None:
    charity = await cause(service, api)
    made = await charity.gift(1000)
    claim = await charity.drafted()
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into gift_aid_adjustment (
                id, claim_id, organisation_id, donation_id, amount_minor, reason, created_at
            )
            select t.id, claim.id, organisation_id, $3, n, 'refunded', $4
            from gift_aid_claim claim, unnest($1::uuid[]) with ordinality as t (id, n) where claim.id = $2
            """,
            [tx.new_id() for _ in range(MANY)],
            claim.id,
            uuid_of(service, "donation", made["id"]),
            tx.now,
        )
    of_one = f"/gift-aid-claims/adjustments?charity={charity.organisation}"
    assert len(await walk(olive, of_one)) == MANY


async def test_second_looks_lead_on(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        ids = [tx.new_id() for _ in range(MANY)]
        await tx.execute(
            """
            insert into review (id, kind, subject_id, partner_id, reasons, asked_at, due_at, status, status_changed_at,
                                ended_at)
            select id, 'match', id, $2, '{other}', $3, $3, 'withdrawn', $3, $3 from unnest($1::uuid[]) id
            """,
            ids,
            tenant.partner.id,
            tx.now,
        )
        await tx.execute(
            """
            insert into review_second_look (review_id, kind, subject_id, partner_id, first_by, first_verdict,
                                            selected_at)
            select id, 'match', id, $2, 'operator_first', 'accepted', $3 from unnest($1::uuid[]) id
            """,
            ids,
            tenant.partner.id,
            tx.now,
        )
    async for browser in _browser(service, "reviewer"):
        rows = await walk(browser, "/reviews/second-looks")
        assert [sum(str(one) in row for row in rows) for one in ids] == [1] * MANY
    async with service.db.write() as tx:
        await tx.execute(
            """
            update review_second_look set verdict = 'accepted', note = 'of a test', decided_by = 'officer',
                decided_at = $2 where review_id = any($1)
            """,
            ids,
            tx.now,
        )


@pytest.mark.parametrize("role", ["administrator", "finance", "reviewer"])
async def test_a_file_with_a_filter_that_cannot_be_read_is_answered_by_its_page(
    role: OperatorRole, service: Service
) -> None:
    browser = await signed_in(service, await operator(service, role))
    files = [route.path for route in console_routes(service) if route.path.endswith(".csv")]
    assert len(files) > 10
    seen = set()
    for path in files:
        page = await browser.get(path.removesuffix(".csv"))
        if page.status_code == 200:
            for name in set(re.findall(r'<(?:input|select)[^>]*name="(\w+)"', page.text)) - {"csrf"}:
                answer = await browser.get(f"{path}?{name}=no%20such%20%F0%9F%98%80")
                seen.add((answer.status_code, answer.headers["content-type"].partition(";")[0]))
    assert {(422, "text/html"), (200, "text/csv")} >= seen >= {(422, "text/html")}
    await browser.close()


async def test_no_page_breaks_at_the_ends_of_the_calendar_or_of_numbers(service: Service) -> None:
    far = f"~{UUID(int=0)}"
    values = ["9999-12", "0001-01", "9999-12-31", "0001-01-01", f"9999-12-31T23:59:59-14:00{far}"]
    values += [f"0001-01-01T00:00:00+14:00{far}", "99999999999999999999", "\u0663", "\u00b2", "%00"]
    paths = {route.path for route in console_routes(service) if "{" not in route.path}
    assert len(paths) > 30
    tried: set[tuple[str, str]] = set()  # who asks is no matter to a page that opens
    roles: tuple[OperatorRole, ...] = ("administrator", "finance", "reviewer")
    for role in roles:
        browser = await signed_in(service, await operator(service, role))
        for path in paths:
            page = await browser.get(path)
            if page.status_code == 200 and "text/html" in page.headers["content-type"]:
                queries = {(path, query) for query in _queries(page.text)} - tried
                tried |= queries
                for value, (_, query) in product(values, queries):
                    answer = await browser.get(f"{path}?{query.format(quote(value, safe='%'))}")
                    assert answer.status_code < 500, (path, query, value)
        for value in values[:4] if role == "finance" else ():
            await browser.get(f"{HOME}/ledger/export")
            asked = {"from": value, "to": value, "format": "csv"}
            assert (await browser.post(f"{HOME}/ledger/export", asked)).status_code == 422
        await browser.close()
    assert len(tried) > 100


def _queries(page: str) -> set[str]:
    """Each parameter of a page alone; together, those that hardly any page reads."""
    named = {"cursor", *re.findall(r'<(?:input|select)[^>]*name="(\w+)"', page)} - {"csrf"}
    rare = {"month", "before", "pageSize"} - named
    return {*(f"{name}={{0}}" for name in named), "&".join(f"{name}={{0}}" for name in sorted(rare))}


async def test_a_statement_leads_to_the_lines_of_its_account(service: Service, olive: Browser) -> None:
    name = factories.unique("s").replace(" ", "")
    account = camt.other(f"Till &amp; Co {name}")
    await bank.stated(service, camt.statement(camt.entry(name, 500), reference=name, account=account))
    [row] = [row for row in await walk(olive, "/bank-statements") if name in row]
    page = await olive.open(html.unescape(re.findall(r'href="([^"]+)"', row)[0]))
    assert name.upper() in page.text.partition("<tbody")[2]
