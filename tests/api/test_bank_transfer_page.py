"""The hosted page of a bank transfer: details, reference, code, confirmation, mail, and where it stands (settled 5)."""

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.bank_transfers.domain import AwaitedTransfer, BankDetails, epc_qr_payload
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers
from almoner.kit import iso11649
from almoner.kit.money import Money
from tests.support import bank, camt, factories
from tests.support.browsing import Browser
from tests.support.card_testing import FORM
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.service import Service, serving
from tests.support.transfers import came

RF = re.compile(r"RF\d\d [0-9A-Z]{4} [0-9A-Z]{4} [0-9A-Z]{2}")


@pytest.fixture
async def alone(empty_database: TestDatabase, tmp_path: Path) -> AsyncIterator[Service]:
    """A service of its own, which has accounts in dollars and euros."""
    file = tmp_path / "accounts.toml"
    file.write_text(bank.OWN)
    async with serving(empty_database, bank_accounts=file) as made:
        yield made


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def opened(alone: Service, api: Client, **body: Any) -> tuple[Browser, dict[str, Any]]:
    """A donor's browser with the form of a new session."""
    session = await factories.session(alone, api, **body)
    browser = Browser(alone.app, alone.db.deployment.base_urls.pages)
    await browser.open(session["url"])
    return browser, session


async def test_a_donor_transfers_confirms_and_looks_again(alone: Service, partner: Client) -> None:
    browser, session = await opened(alone, partner, currency="USD")
    assert browser.page is not None
    assert "Pay by bank transfer instead" in browser.page.text
    page = f"/give/{session['id']}/transfer"
    onwards = await browser.post(f"/give/{session['id']}", FORM, way="transfer", cover="yes")
    assert onwards.headers["location"].endswith(page)
    shown = await browser.get(page)
    assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
    text = html.unescape(shown.text)
    assert all(part in text for part in ("Example Foundation", "011000015", "12345678", "Routing number"))
    assert 'class="qr"' not in text
    found = RF.search(text)
    assert found is not None
    confirmed = await browser.post(page)
    assert (confirmed.status_code, confirmed.headers["location"]) == (303, page)
    assert "Waiting for your transfer" in (await browser.get(page)).text
    assert (await browser.get(f"/give/{session['id']}")).headers["location"] == page
    assert data(await partner.get(f"/v1/donation-sessions/{session['id']}"))["status"] == "completed"
    await alone.drain()
    [mail] = data(await partner.get("/v1/sandbox/mailbox", to=FORM["email"]))
    assert found[0] in mail["text"]
    assert "012345678" not in mail["text"]
    again = Browser(alone.app, alone.db.deployment.base_urls.pages)
    assert "Waiting for your transfer" in (await again.open(mail["links"][0])).text
    [gift] = data(await partner.get("/v1/donations"))
    alone.clock.advance(days=2)
    entry = came("B1", gift["amount"], found[0].lower(), day="2026-03-04")
    await bank.stated(alone, camt.statement(entry, reference="S1", currency="USD"))
    thanks = await again.open(page)
    assert thanks.url.path.endswith("/thanks")
    await alone.drain()
    [receipt, _] = data(await partner.get("/v1/sandbox/mailbox", to=FORM["email"]))
    for text in (thanks.text, receipt["text"], (await again.get(f"/give/{session['id']}/thanks")).text):
        assert "March 4, 2026" in text, "the day of the payment, not of the form"
        assert "March 2, 2026" not in text


async def test_a_transfer_of_another_amount_is_looked_into(alone: Service, partner: Client) -> None:
    browser, session = await opened(alone, partner, currency="USD")
    page = f"/give/{session['id']}"
    await browser.post(page, FORM, way="transfer", cover="yes")
    shown = await browser.get(f"{page}/transfer")
    found = RF.search(html.unescape(shown.text))
    assert found is not None
    await browser.post(f"{page}/transfer")
    [gift] = data(await partner.get("/v1/donations"))
    entry = came("B2", gift["amount"] - 100, found[0].lower())
    await bank.stated(alone, camt.statement(entry, reference="S2", currency="USD"))
    for address in (page, f"{page}/transfer"):
        reported = html.unescape((await browser.open(address)).text)
        assert "We are reviewing your transfer" in reported
        assert "We’ll either accept the transfer as your donation or refund it" in reported
    left_open = await browser.post(page, FORM, csrf="none")
    assert (left_open.status_code, left_open.headers["location"]) == (303, page), "it says the same as any other page"
    async with alone.db.write() as tx:
        [other] = await suspense.lock_by_reference(tx, "".join(found[0].split()))
        await bank_transfers.apply_unallocated_payment_to_donation(tx, other.id, "as it is", "officer")
    assert "This donation has already been made" in (await browser.open(page)).text


async def test_a_form_that_is_not_ours_confirms_nothing(alone: Service, partner: Client) -> None:
    browser, session = await opened(alone, partner, currency="USD")
    await browser.post(f"/give/{session['id']}", FORM, way="transfer")
    page = f"/give/{session['id']}/transfer"
    await browser.get(page)
    assert (await browser.post(page, csrf="none")).status_code == 403
    assert (await browser.get(page)).status_code == 200
    assert data(await partner.get(f"/v1/donation-sessions/{session['id']}"))["status"] == "open"


async def test_without_an_account_in_the_currency_nobody_is_offered_a_transfer(alone: Service, partner: Client) -> None:
    organisation = await factories.nonprofit(alone, country="GBR")
    browser, session = await opened(alone, partner, currency="GBP", organisation=organisation)
    assert browser.page is not None
    assert "bank transfer" not in browser.page.text
    onwards = await browser.post(f"/give/{session['id']}", FORM, way="transfer")
    assert "/pay/" in onwards.headers["location"]
    assert (await browser.get(f"/give/{session['id']}/transfer")).headers["location"] == f"/give/{session['id']}"


def test_the_code_is_as_epc069_12_has_it() -> None:
    reference = iso11649.build_creditor_reference("7ZQ3K9MABC")
    euros = BankDetails("Example & Söhne", AccountNumbers("iban", "NL91ABNA0417164300", None, "ABNANL2A"))
    reported = epc_qr_payload(AwaitedTransfer(euros, Money(1205, "EUR"), reference, None))
    assert reported is not None
    assert reported.split("\n") == [
        "BCD",
        "002",
        "1",
        "SCT",
        "ABNANL2A",
        "Example & Söhne",
        "NL91ABNA0417164300",
        "EUR12.05",
        "",
        reference,
    ]
    assert epc_qr_payload(AwaitedTransfer(euros, Money(1205, "USD"), reference, None)) is None


@pytest.mark.parametrize(
    ("numbers", "rows"),
    [
        (AccountNumbers("gb", "12345678", "112233"), [("sort_code", "11-22-33"), ("account", "12345678")]),
        (AccountNumbers("us", "12345678", "011000015"), [("routing", "011000015"), ("account", "12345678")]),
        (AccountNumbers("au", "1234567", "062000"), [("bsb", "062-000"), ("account", "1234567")]),
        (
            AccountNumbers("ca", "1234567", "00312345"),
            [("institution", "003"), ("transit", "12345"), ("account", "1234567")],
        ),
        (AccountNumbers("nz", "01-0902-0068389-00"), [("account", "01-0902-0068389-00")]),
        (
            AccountNumbers("iban", "NL91ABNA0417164300", None, "ABNANL2A"),
            [("iban", "NL91 ABNA 0417 1643 00"), ("bic", "ABNANL2A")],
        ),
    ],
)
def test_each_country_has_its_own_numbers(numbers: AccountNumbers, rows: list[tuple[str, str]]) -> None:
    assert BankDetails("Any", numbers).display_rows == [(f"transfer.{name}", value) for name, value in rows]
