"""The days on receipts, pages and statements are those of whoever issues the receipts (settled 11)."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime

import pytest

from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import OwnAccount, PaymentFileError
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address
from almoner.kit.money import Money
from almoner.settings import InvalidSettings, read_settings
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import data
from tests.support.database import TestDatabase
from tests.support.giving import open_session
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
