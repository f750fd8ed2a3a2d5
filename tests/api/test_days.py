"""The days on receipts, pages and statements are those of whoever issues the receipts (settled 11)."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.settlements.domain import SettlementReportError
from almoner.giving.banking.bank_statements.domain import BankStatementError
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import OwnAccount, PaymentFileError
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address
from almoner.giving.disbursing.remittances import service as remittances
from almoner.giving.receipts import service as receipts
from almoner.kit.money import Money
from almoner.kit.time import iso_timestamp, parse_timestamp
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.provider_test import service as provider_test
from almoner.provider_test.callbacks import callback_signature
from almoner.provider_test.domain import Card
from almoner.settings import InvalidSettings, read_settings
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.claims import cause
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.gift_aid_world import HOME
from tests.support.giving import Giving, gift, open_session
from tests.support.members import desk, member
from tests.support.operators import operator, signed_in
from tests.support.payouts import payouts, run, simulate, uuid_of, verified
from tests.support.refunds import refund
from tests.support.reports import imported, report
from tests.support.requests import asked
from tests.support.service import Service, serving
from tests.support.transfers import begun, came, reference, stated

NEW_YEARS_EVE = datetime(2027, 1, 1, 4, 30, tzinfo=UTC)
"""Half past eleven in New York."""


@pytest.fixture
async def in_new_york(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service whose receipts are issued in New York."""
    async with serving(empty_database, time_zone="America/New_York") as made:
        yield made


async def test_gifts_and_payments_of_new_years_eve_are_of_the_old_year_and_forms_name_the_zone(
    in_new_york: Service,
) -> None:
    service = in_new_york
    service.clock.advance_to(NEW_YEARS_EVE)
    api = service.client((await service.tenant()).secret)
    await factories.donation(service, api, email="ada@example.org")
    await service.drain()
    (receipt,) = data(await api.get("/v1/sandbox/mailbox", to="ada@example.org"))
    for form in ("text", "html"):
        assert "December 31, 2026" in receipt[form]
        assert "January 1" not in receipt[form]
    link = next(word for word in receipt["text"].split() if "/gift?token=" in word)
    shown = await Browser(service.app, "http://localhost").open(link)
    assert "December 31, 2026" in shown.text
    invite = data(await api.post("/v1/validation-invites", {"language": "de"}))
    applying = await Browser(service.app, "http://localhost").open(invite["url"])
    assert "Nordamerikanische Ostküstenzeit" in applying.text
    assert "UTC" not in applying.text
    numbers = AccountNumbers("iban", "DE89370400440532013000")
    own = OwnAccount("Us", numbers, Address("Berlin", "DEU"), Money(1, "EUR"))
    async with service.db.write() as tx:
        assert (
            await payment_files.create_file(tx, own, date(2026, 12, 31), created_by="officer")
        ).file is None  # still today
        with pytest.raises(PaymentFileError, match="must be today"):
            await payment_files.create_file(tx, own, date(2026, 12, 30), created_by="officer")


TEN_TO_MIDNIGHT = {
    "America/Los_Angeles": datetime(2027, 1, 1, 7, 50, tzinfo=UTC),
    "Pacific/Auckland": datetime(2026, 12, 31, 10, 50, tzinfo=UTC),
}
"""Of New Year's Eve: when it is over in UTC, and before it has begun there."""


async def paid_at_the_provider(giving: Giving, paid_at: datetime, chosen: DonationDetails | None = None) -> None:
    """A donor of the built-in provider pays while we are away."""
    service = giving.service
    assert service.services.provider is not None
    giving.provider = service.services.provider  # type: ignore[assignment]
    service.clock.advance_to(paid_at - timedelta(minutes=5))
    started = await giving.begin(chosen)
    service.clock.advance_to(paid_at)
    async with service.db.write() as tx:
        assert started.payment_url is not None
        assert await provider_test.pay_with_card(tx, started.payment_url.rpartition("/")[2], Card("4242424242424242"))


async def told(giving: Giving) -> None:
    """The provider's notice of the payment arrives, and what follows is done."""
    service = giving.service
    secret = service.db.deployment.vault.compute_keyed_hash("provider-test", b"merchant").hex()
    async with service.db.read() as tx:
        body = await tx.fetchval("select body from provider_test.callback where type = 'payment.succeeded'")
    signature = callback_signature(secret, int(service.clock.real_now().timestamp()), body)
    answer = await giving.post(body, {"Provider-Signature": signature}, to="test")
    assert answer.status_code == 204, answer.text
    await service.drain()


async def statement_of(service: Service, api: Client, receipt: dict[str, Any]) -> tuple[Browser, str]:
    """The donor's browser with the statement, and its path."""
    browser = Browser(service.app, "http://localhost")
    shown = await browser.open(next(word for word in receipt["text"].split() if "/gift?token=" in word))
    offer = re.search(r'href="(/gift/[^"]+/statement)"', shown.text)
    assert offer
    await browser.open(offer[1])
    await browser.post(offer[1])
    await service.drain()
    mail = data(await api.get("/v1/sandbox/mailbox", to="ada@example.org", subject="statement"))[0]
    opened = await browser.open(next(link for link in mail["links"] if "/statement?" in link))
    return browser, opened.url.path


@pytest.mark.parametrize("zone", TEN_TO_MIDNIGHT)
async def test_a_card_payment_of_new_years_eve_that_we_are_told_of_late_is_of_the_old_year(
    empty_database: TestDatabase, zone: str
) -> None:
    async with serving(empty_database, time_zone=zone) as service:
        api = service.client((await service.tenant()).secret)
        service.clock.advance_to(TEN_TO_MIDNIGHT[zone] - timedelta(hours=1))
        giving = await open_session(service, api)
        await paid_at_the_provider(giving, TEN_TO_MIDNIGHT[zone])
        service.clock.advance(hours=9)
        await told(giving)
        (receipt,) = data(await api.get("/v1/sandbox/mailbox", to="ada@example.org"))
        assert "December 31, 2026" in receipt["text"]
        assert "January 1" not in receipt["text"]
        browser, path = await statement_of(service, api, receipt)
        for year, said in ((2026, "$25.00"), (2027, "No donations in this period.")):
            assert said in (await browser.get(f"{path}?first={year}-01-01&last={year}-12-31")).text


async def test_a_payment_has_the_same_day_before_its_receipt_is_issued(in_new_york: Service) -> None:
    service = in_new_york
    service.clock.advance_to(NEW_YEARS_EVE)
    giving = await open_session(service, service.client((await service.tenant()).secret))
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())  # which does not say when
    await giving.come_back()
    service.clock.advance(hours=9)
    [paid] = await giving.donations()
    async with service.db.read() as tx:
        donation = await donations.get(tx, ALL_PARTNERS, uuid_of(service, "donation", paid["id"]))
        assert await receipts.load_payment_received_at(tx, donation) == NEW_YEARS_EVE
    await service.drain()
    async with service.db.read() as tx:
        assert await receipts.load_payment_received_at(tx, donation) == NEW_YEARS_EVE


async def test_a_gift_begun_before_midnight_has_the_day_of_its_payment_wherever_it_is_listed(
    in_new_york: Service,
) -> None:
    service, tenant = in_new_york, await in_new_york.tenant()
    api, paid_at = service.client(tenant.secret), datetime(2027, 1, 1, 5, 2, tzinfo=UTC)
    service.clock.advance_to(paid_at - timedelta(hours=1))
    charity = await factories.nonprofit(service)
    await verified(service, api, charity)
    giving = await open_session(service, api, organisationId=charity)
    await paid_at_the_provider(giving, paid_at)
    service.clock.advance(hours=9)
    await told(giving)
    [paid] = await giving.donations()
    finance = await desk(service, tenant, "finance")
    shown = await finance.get(f"{finance.home}/donations/{paid['id']}")
    received = rf'Payment received</p>\n<p class="small"><time datetime="{re.escape(iso_timestamp(paid_at))}">'
    assert re.search(received, shown.text)
    await simulate(api, paid["id"], "settle")
    await run(service)
    [payout] = await payouts(api)
    async with service.db.read() as tx:
        reported = await remittances.build_remittance(tx, uuid_of(service, "disbursement", payout["id"]))
    assert [line.donated_at for line in reported.lines] == [paid_at]
    await finance.close()


async def test_a_transfer_of_the_same_day_is_not_received_before_its_gift_was_begun(in_new_york: Service) -> None:
    service, tenant = in_new_york, await in_new_york.tenant()
    service.clock.advance_to(datetime(2027, 2, 1, 20, 0, tzinfo=UTC))  # three in the afternoon
    giving = await open_session(service, service.client(tenant.secret))
    await begun(giving)
    named = await reference(giving)
    service.clock.advance(days=1)
    await stated(giving, came("T1", 2500, named, day="2027-02-01"), reference="S1")
    await service.drain()
    [paid] = await giving.donations()
    finance = await desk(service, tenant, "finance")
    shown = await finance.get(f"{finance.home}/donations/{paid['id']}")
    received = rf'Payment received</p>\n<p class="small"><time datetime="{re.escape(paid["createdAt"])}">'
    assert re.search(received, shown.text)
    await finance.close()


async def test_a_card_payment_of_a_tax_years_last_evening_is_claimed_for_that_year(
    empty_database: TestDatabase,
) -> None:
    async with serving(empty_database, time_zone="Europe/London") as service:
        api = service.client((await service.tenant()).secret)
        charity = await cause(service, api)
        service.clock.advance_to(datetime(2027, 4, 5, 21, 0, tzinfo=UTC))
        giving = await open_session(service, api, organisationId=charity.organisation)
        await paid_at_the_provider(giving, datetime(2027, 4, 5, 22, 50, tzinfo=UTC), gift(2500, "GBP", declarer=HOME))
        service.clock.advance(hours=9)
        await told(giving)
        [listed] = await charity.written(await charity.drafted())
    assert listed.split(",")[-2:] == ["05/04/27", "25.00"]


async def test_what_was_posted_on_new_years_eve_is_in_the_books_of_december(in_new_york: Service) -> None:
    service = in_new_york
    service.clock.advance_to(NEW_YEARS_EVE)
    await factories.donation(service, service.client((await service.tenant()).secret))
    desk = await signed_in(service, await operator(service, "finance"))
    home = "/operator"
    account = await desk.open(f"{home}/ledger/account?key=provider_clearing:USD:test&month=2026-12")
    assert "By day (America/New_York)" in account.text
    assert "2026-12-31" in account.text
    assert "2027-01" not in (await desk.open(f"{home}/month-end")).text
    path = f"{home}/ledger/export"
    await desk.get(path)
    kept = (await desk.post(path, {"from": "2026-12-31", "to": "2026-12-31", "format": "beancount"})).text
    assert kept.count("2026-12-31 *") == 1
    assert "2027-01-01 balance" in kept


async def test_a_transfer_of_the_first_morning_of_a_tax_year_is_of_that_year(empty_database: TestDatabase) -> None:
    async with serving(empty_database, time_zone="Australia/Sydney") as service:
        service.clock.advance_to(datetime(2027, 6, 30, 22, 0, tzinfo=UTC))
        giving = await open_session(service, service.client((await service.tenant()).secret))
        await begun(giving)
        named = await reference(giving)
        await stated(giving, came("T1", 2500, named, day="2027-07-01"), reference="S1")
        await service.drain()
        async with service.db.read() as tx:
            days = await tx.fetchrow(
                "select settled_on, (received_at at time zone 'Australia/Sydney')::date from settlement, receipt"
            )
    assert days is not None
    assert set(days) == {date(2027, 7, 1)}


@pytest.mark.parametrize("name", ["Mars/Olympus", "America", "europe", "../UTC", "/etc/localtime", "right/UTC"])
def test_a_time_zone_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(InvalidSettings, match="ALMONER_TIME_ZONE must be a time zone such as"):
        read_settings(time_zone=name)


async def test_days_ahead_are_counted_from_today_where_the_issuer_is(empty_database: TestDatabase) -> None:
    async with serving(empty_database, time_zone="Pacific/Auckland") as service:
        api = service.client((await service.tenant()).secret)
        service.clock.advance_to(datetime(2027, 6, 30, 22, 0, tzinfo=UTC))  # the first of July there
        await factories.donation(service, api)
        for day in ("2027-07-04", "2027-07-05"):
            reported = report(("payment", "tp", 5.0, 0.0)).replace(b"2026-03-02", day.encode())
            giving = await open_session(service, api)
            await begun(giving)
            entry = came("T1", 2500, await reference(giving), day=day)
            if day == "2027-07-04":
                await imported(service, reported, provider="test")
                await stated(giving, entry, reference=day)
                continue
            with pytest.raises(SettlementReportError, match="more than 3 days in the future"):
                await imported(service, reported, provider="test")
            with pytest.raises(BankStatementError, match="more than 3 days in the future"):
                await stated(giving, entry, reference=day)


async def test_members_are_mailed_the_days_of_the_issuer(in_new_york: Service) -> None:
    service, tenant = in_new_york, await in_new_york.tenant()
    owner, api = await member(service, tenant, "owner"), service.client(tenant.secret)
    service.clock.advance_to(NEW_YEARS_EVE)
    gift_ = await factories.donation(service, api)
    await refund(api, gift_)
    async with service.db.write() as tx:
        [begun_] = await refunds.list_by_donation(tx, uuid_of(service, "donation", gift_["id"]))
        await refunds.record_provider_refusal(tx, begun_.id, "closed")
    due = parse_timestamp((await asked(service, api, 1000))["dueAt"]).astimezone(ZoneInfo("America/New_York"))
    await service.drain()
    texts = {mail["text"] for mail in data(await api.get("/v1/sandbox/mailbox", to=owner.email))}
    assert len(texts) == 2
    for day in ("31 December 2026", f"{due:%d %B %Y}"):
        assert any(day in text for text in texts), day
