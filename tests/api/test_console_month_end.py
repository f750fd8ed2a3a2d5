"""A finance month end in the browser alone: from the payee's account to the statement and a trial balance of zero."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from almoner.access.operators import service as operators
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS
from tests.support import bank, books, camt, factories
from tests.support import people as support
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.console import act, closed, refused, upload, words
from tests.support.database import TestDatabase
from tests.support.operators import signed_in
from tests.support.payouts import gift, payouts, settled, verified
from tests.support.service import Service, serving
from tests.support.terminal import BY, Operator, Type, in_process, operator

HOME: Final = "/operator"
OWN: Final = bank.OWN.replace('single_approval_limit = "100.00"\n', "")
"""No file, and no confirmation, is one person's alone."""


ACCOUNT: Final = {
    "currency": "USD",
    "holder": "Any name",
    "iban": bank.IBAN,
    "town": "Berlin",
    "country": "DEU",
    "note": "letter",
}


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    """Our bank accounts, as an administrator writes them."""
    file = tmp_path / "accounts.toml"
    file.write_text(OWN)
    return file


@pytest.fixture
async def service(empty_database: TestDatabase, accounts: Path) -> AsyncIterator[Service]:
    """A service of its own that lives in the time of the commands."""
    async with serving(empty_database, bank_accounts=accounts) as made:
        made.clock.advance_to(made.clock.real_now())
        yield made


@pytest.fixture
async def api(service: Service) -> AsyncIterator[Client]:
    client = service.client((await service.tenant()).secret)
    yield client
    await client.close()


@pytest.fixture
async def pia_operator(service: Service) -> Operator:
    return await operator(service, "finance", name="Pia")


@pytest.fixture
async def olive(service: Service) -> AsyncIterator[Browser]:
    """The browser of a finance operator."""
    browser = await browser_of(service, await operator(service, "finance", name="Olive"))
    yield browser
    await browser.close()


@pytest.fixture
async def pia(service: Service, pia_operator: Operator) -> AsyncIterator[Browser]:
    """Another's."""
    browser = await browser_of(service, pia_operator)
    yield browser
    await browser.close()


@pytest.fixture
def typed(service: Service, tmp_path: Path, pia_operator: Operator, accounts: Path) -> Type:
    """The terminal of the second one."""
    return in_process(service, tmp_path, pia_operator, bank_accounts=str(accounts))


async def browser_of(service: Service, known: Operator) -> Browser:
    operator_id = service.db.deployment.ids.decode("operator", known.id)
    assert operator_id is not None
    async with service.db.read() as tx:
        person = await people.get(tx, OPERATORS, operator_id)
    await support.authenticator(service, person)
    return await signed_in(service, person)


async def disbursement_of(service: Service, donation: dict[str, str]) -> str:
    """Which one pays a donation."""
    async with service.db.read() as tx:
        donation_id = tx.ids.decode("donation", donation["id"])
        found = await tx.fetchval("select disbursement_id from donation where id = $1", donation_id)
        return tx.ids.encode("disbursement", found)


async def sent(service: Service, api: Client, olive: Browser, pia: Browser) -> dict[str, str]:
    """A donation that is on its way to a nonprofit, whose account one proposes and another approves."""
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    made = await settled(service, api, nonprofit)
    account = await act(
        olive,
        f"{HOME}/payee-accounts/propose",
        organisation=nonprofit,
        **ACCOUNT,
    )
    assert "Approve account: you did an earlier step, so somebody else must do this step. With the role" in words(olive)
    assert "you did an earlier step" in await refused(olive, f"{account}/approve", number=bank.IBAN, note="mine")
    assert "the number differs" in await refused(pia, f"{account}/approve", number=bank.OTHER_IBAN, note="called")
    await act(pia, f"{account}/approve", number=bank.IBAN, note="called")
    await bank.sent(service)
    found: dict[str, str] = made
    return found


async def test_a_month_ends_in_the_browser(
    service: Service, api: Client, olive: Browser, pia: Browser, typed: Type
) -> None:
    by_answer, by_statement = [await sent(service, api, olive, pia) for _ in range(2)]

    # One makes the file, and only another one releases it; then both may have it, the same each time.
    dropped = await act(olive, f"{HOME}/payment-files/new", currency="USD")
    await act(olive, f"{dropped}/withdraw", note="the wrong day")
    file = await act(olive, f"{HOME}/payment-files/new", currency="USD")
    assert "Payment file created." in words(olive)
    assert ACCOUNT["holder"] in words(olive), "whoever releases a file sees whom it pays"
    assert "Release file: you did an earlier step, so somebody else must do this step." in words(olive)
    assert "you did an earlier step" in await refused(olive, f"{file}/release")
    await olive.open(f"{HOME}/money")
    assert "Release the payment file of 48.74 USD" in words(olive)
    assert "somebody else decides it" in words(olive)
    await olive.open(f"{HOME}/desk")
    assert "Waiting for a second approval" not in words(olive), "what only somebody else can do is not hers"
    await pia.open(f"{HOME}/desk")
    assert "Waiting for a second approval" in words(pia)
    await act(pia, f"{file}/release")
    await olive.open(file)
    assert "Nobody has downloaded the file yet" in words(olive)
    for browser in (olive, pia):  # two tabs that both see that nobody has it
        await browser.open(f"{file}/download")
        assert "already downloaded" not in words(browser)
    first = await olive.post(f"{file}/download")
    assert "Why you need the file again: enter a value" in await refused(pia, f"{file}/download", note="")
    assert "This file was already downloaded, by Olive on" in words(pia)
    assert first.content == (await pia.post(f"{file}/download", note="hers was lost")).content
    await olive.open(file)
    assert "Olive Downloaded" in words(olive)
    assert "Pia: hers was lost" in words(olive)
    for number in range(20):
        await pia.open(f"{file}/download")
        assert (await pia.post(f"{file}/download", note=f"lost {number}")).content == first.content
    await olive.open(file)
    assert "Pia: lost 19" in words(olive), "of many downloads, the last ones are listed"
    assert first.content.startswith(b"<?xml")
    assert b"pain.001.001.09" in first.content

    # The bank answers for one payment; its statement shows the other one, and a fee that is none of ours.
    ends = {one["id"]: one["endToEndId"] for one in await payouts(api)}
    of = {one["id"]: await disbursement_of(service, one) for one in (by_answer, by_statement)}
    message = re.search(rb"<MsgId>([^<]+)</MsgId>", first.content)
    assert message is not None
    answer = bank.answer_to(message[1].decode(), (ends[of[by_answer["id"]]], "ACSC"))
    assert (await upload(olive, f"{HOME}/payment-files/bank-answer", "pain002.xml", answer)).startswith(file)
    assert (await gift(api, by_answer))["status"] == "DISBURSED"

    today = f"{service.clock.now():%Y-%m-%d}"
    lines = (
        camt.entry("B1", -2437, end_to_end=ends[of[by_statement["id"]]], currency="USD", day=today),
        camt.entry("B2", -300, words="account fee", currency="USD", day=today),
    )
    statement = camt.statement(
        *lines, opening=100_000, currency="USD", account=camt.other(bank.NUMBER), day=today, reference="S11"
    )
    preview = await upload(olive, f"{HOME}/bank-statements/upload", "november.xml", statement)
    await olive.open(preview)
    for told in ("Nothing is booked yet", "adds up", "matched: Disbursement", "no reference of ours was found"):
        assert told in words(olive), told
    async with service.db.read() as tx:
        assert await tx.fetchval("select count(*) from bank_statement") == 0
    assert (await gift(api, by_statement))["status"] == "RECEIVED_PAYMENT"
    await olive.open((await olive.post(preview, do="book")).headers["location"])
    assert "Statement booked. Lines matched: 1. Lines still to match: 1." in words(olive)
    assert (await gift(api, by_statement))["status"] == "DISBURSED"
    assert (await olive.get(preview)).status_code == 404
    await olive.open(f"{HOME}/bank-statement-lines?status=open")
    [line] = set(re.findall(r"/operator/bank-statement-lines/(?:sandbox_)?bankline_\w+", olive.page.text))  # type: ignore[union-attr]
    await act(olive, f"{line}/dismiss", note="our bank's fee")
    assert "This line is dismissed. You can reopen the line." in await closed(pia, f"{line}/match")

    # A disbursement that is in no file: one confirms it here, and the second one at the terminal.
    third = await sent(service, api, olive, pia)
    disbursement = await disbursement_of(service, third)
    confirm = f"{HOME}/disbursements/{disbursement}/confirm"
    assert "Say where you saw" in await refused(olive, confirm)
    await act(olive, confirm, note="online banking")
    assert "has already confirmed this (1 of 2)" in await refused(olive, confirm, note="again, in another tab")
    assert (await gift(api, third))["status"] == "RECEIVED_PAYMENT"
    status, printed = await typed("disbursements", "confirm", disbursement, "--note", "the bank's letter")
    assert (status, "is PAID" in printed) == (0, True), printed
    assert (await gift(api, third))["status"] == "DISBURSED"

    await check_books(service, olive)
    assert await recorded(service) >= {
        "payee_bank_account.proposed", "payee_bank_account.approved", "payment_file.created", "payment_file.withdrawn",
        "payment_file.released", "payment_file.downloaded", "payment_file.answered", "bank_statement.uploaded",
        "bank_statement.imported", "bank_statement_line.dismissed", "disbursement.confirmed", "ledger.exported",
    }  # fmt: skip


async def recorded(service: Service) -> set[str]:
    """All that the audit log has of operators."""
    async with service.db.read() as tx:
        rows = await tx.fetch("select distinct action from audit_entry where actor_kind = 'operator'")
    return {row[0] for row in rows}


async def check_books(service: Service, olive: Browser) -> None:
    """The trial balance is zero, each step of the month is done, and the books leave as files."""
    assert await books.balanced(service)
    await olive.open(f"{HOME}/ledger")
    assert "The trial balance is zero in every currency" in words(olive)
    await olive.open(f"{HOME}/month-end?month=2020-01")
    assert "Every step is done." in words(olive)
    assert "Trial balance done debits and credits are equal" in words(olive)
    today = f"{service.clock.now():%Y-%m-%d}"
    path = f"{HOME}/ledger/export"
    await olive.get(path)
    whole = (await olive.post(path, {"from": today, "to": today, "format": "csv"})).text.splitlines()
    async with service.db.read() as tx:
        posted = await tx.fetchval("select count(*) from ledger_transfer")
    assert len(whole) == posted + 1
    await olive.get(path)
    kept = (await olive.post(path, {"from": today, "to": today, "format": "beancount"})).text
    assert kept.count(' * "Disbursement paid"') == 3
    assert re.search(r"balance Assets:Bank:USD  0\.00 USD", kept)


async def test_who_held_a_nonprofit_does_not_release_it_alone(
    service: Service, api: Client, olive: Browser, pia: Browser
) -> None:
    async with service.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=True)
    made = await sent(service, api, olive, pia)
    disbursement = await disbursement_of(service, made)
    await act(olive, f"{HOME}/disbursements/{disbursement}/hold", whose="partner", note="a call")
    await olive.open(f"{HOME}/disbursements/holds")
    [release] = set(re.findall(r'"(/operator/disbursements/holds/[^"]+/release)"', olive.page.text))  # type: ignore[union-attr]
    await act(olive, release, note="it was nothing")
    assert "has already confirmed this" in await refused(olive, release, note="it was nothing")
    await act(pia, release, note="called them")
    assert "Hold released." in words(pia)
    assert "a call" not in words(pia)
    async with service.db.read() as tx:
        rows = await tx.fetch("select decided_by, second_by from disbursement_hold where not held")
    assert len({*rows[0]}) == 2
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    await settled(service, api, nonprofit)
    account = await act(olive, f"{HOME}/payee-accounts/propose", organisation=nonprofit, **ACCOUNT)
    await act(pia, f"{account}/reject", note="the letter is forged")
    await act(olive, f"{HOME}/disbursements/run")
    await act(olive, f"{HOME}/disbursements/run")
    assert "No more disbursements are ready to be sent." in words(olive), "a second click does not deny the first run"
    assert await recorded(service) >= {
        "disbursements.held",
        "disbursements.released",
        "payee_bank_account.rejected",
        "disbursements.run",
    }
