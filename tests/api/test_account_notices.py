"""A nonprofit is told of an account that came after it was asked, and can say that it is not its own."""

from typing import Any

from almoner.giving.account_notices import service as account_notices
from almoner.giving.account_notices.domain import RESPONSE_PERIOD
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccount
from tests.api.test_payee_changes import approve, propose
from tests.api.test_verification_confirmations import answered
from tests.api.test_verification_findings import flags, lift, waits
from tests.support import bank
from tests.support.agents import link_in, path_of
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.confirmations import asked
from tests.support.payouts import settled
from tests.support.service import Service
from tests.support.verifications import simulate


async def confirmed(service: Service, api: Client, browser: Browser) -> tuple[dict[str, Any], str]:
    """A verification whose nonprofit has confirmed before anybody gave its account, and where it is asked."""
    made, mail = await asked(service, api, name="Olive Relief")
    assert (await answered(browser, mail)).status_code == 303
    return made, mail["to"]


async def mails(service: Service, api: Client, address: str) -> list[dict[str, Any]]:
    """What an address was told of accounts, newest first."""
    await service.drain()
    return [one for one in data(await api.get("/v1/sandbox/mailbox", to=address)) if "bank account" in one["subject"]]


async def read(service: Service, account: PayeeAccount) -> PayeeAccount:
    """The account as it is now."""
    async with service.db.read() as tx:
        return await payee_bank_accounts.get(tx, account.id)


async def denied(browser: Browser, mail: dict[str, Any]) -> Any:
    """The page's own form, sent."""
    page = await browser.open(path_of(link_in(mail)))
    return await browser.post(page.url.path, {})


async def test_an_account_that_comes_after_the_answer_is_told_once(
    service: Service, api: Client, browser: Browser
) -> None:
    made, office = await confirmed(service, api, browser)
    account = await propose(service, made["organisationId"])
    [mail] = await mails(service, api, office)
    assert mail["subject"] == "Is this your bank account, Olive Relief?"
    assert f"USD {account.masked_number}: Any name" in mail["text"]
    assert bank.OTHER_IBAN not in mail["text"] + mail["html"]
    page = await browser.open(path_of(link_in(mail)))
    assert (page.status_code, account.masked_number in page.text) == (200, True)
    assert "token" not in str(page.url)
    assert await approve(service, account, "two") == "approved"
    assert await mails(service, api, office) == [mail]


async def test_what_the_nonprofit_saw_when_it_confirmed_is_not_told_again(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await asked(service, api)
    await bank.account(service, made["organisationId"])
    assert await mails(service, api, mail["to"]) == []
    assert (await answered(browser, mail)).status_code == 303
    async with service.db.read() as tx:
        [account] = await payee_bank_accounts.list_approved_accounts(
            tx, (await bank_account(service, made)).organisation_id
        )
    assert await mails(service, api, mail["to"]) == []
    async with service.db.write() as tx:
        await account_notices.notify_nonprofit(tx, account.id, None)
    changed = await propose(service, made["organisationId"])
    [reported] = await mails(service, api, mail["to"])
    assert changed.masked_number in reported["text"]


async def bank_account(service: Service, record: dict[str, Any]) -> PayeeAccount:
    """The newest account of a verification's nonprofit."""
    async with service.db.read() as tx:
        named = await payee_bank_accounts.list_newest(tx, None, 50)
        of = tx.ids.decode("organisation", record["organisationId"])
    return next(one for one in named if one.organisation_id == of)


async def test_a_proposed_account_that_is_denied_is_refused(service: Service, api: Client, browser: Browser) -> None:
    made, office = await confirmed(service, api, browser)
    first = await bank.account(service, made["organisationId"])
    changed = await propose(service, made["organisationId"])
    assert [flag.status for flag in await flags(service, made)] == ["open"]
    reported = await mails(service, api, office)
    assert len(reported) == 2
    answer = await denied(browser, next(mail for mail in reported if changed.masked_number in mail["text"]))
    assert answer.status_code == 303
    done = await browser.open(answer.headers["location"])
    assert "Thank you for letting us know" in done.text
    refused = await read(service, changed)
    assert (refused.status, refused.refused_by) == ("refused", "nonprofit")
    assert refused.denied_at is not None
    assert [flag.status for flag in await flags(service, made)] == ["withdrawn"]
    assert (await read(service, first)).status == "approved", "and the account before stands"
    async with service.db.read() as tx:
        written = "select count(*) from audit_entry where action = 'payee_bank_account.denied' and subject = $1"
        assert await tx.fetchval(written, tx.ids.encode("payeeaccount", changed.id)) == 1


async def test_payouts_to_an_account_that_is_denied_wait_for_two_people(
    service: Service, api: Client, browser: Browser
) -> None:
    made, office = await confirmed(service, api, browser)
    account = await bank.account(service, made["organisationId"])
    await simulate(api, made, "approve")
    await settled(service, api, made["organisationId"])
    assert await waits(service, api, made["organisationId"]) is None
    [mail] = await mails(service, api, office)
    page = await browser.open(path_of(link_in(mail)))
    csrf = browser.csrf
    for _ in range(2):  # and once more is no more
        assert (await browser.post(page.url.path, {"csrf": csrf})).status_code == 303
    assert await waits(service, api, made["organisationId"]) == "on_hold"
    [flag] = await flags(service, made)
    assert (flag.kind, flag.facts["account"]) == ("account_denied", f"sandbox_payeeaccount_{_text(service, account)}")
    await lift(service, flag, "four")
    assert await waits(service, api, made["organisationId"]) == "on_hold"
    await lift(service, flag, "five")
    assert await waits(service, api, made["organisationId"]) is None


async def test_a_check_that_is_made_anew_sees_that_an_account_was_denied(
    service: Service, api: Client, browser: Browser
) -> None:
    made, office = await confirmed(service, api, browser)
    await bank.account(service, made["organisationId"])
    [mail] = await mails(service, api, office)
    assert (await denied(browser, mail)).status_code == 303
    assert len(await flags(service, made)) == 1
    await simulate(api, made, "reject")
    await simulate(api, made, "reopen")
    await service.drain()
    assert [(flag.kind, flag.status) for flag in await flags(service, made)] == [("account_denied", "open")] * 2


def _text(service: Service, account: PayeeAccount) -> str:
    return service.db.deployment.ids.encode("payeeaccount", account.id).rpartition("_")[2]


async def test_h1_h2_programs_that_open_links_deny_nothing_and_links_end(
    service: Service, api: Client, browser: Browser
) -> None:
    made, office = await confirmed(service, api, browser)
    account = await propose(service, made["organisationId"])
    [mail] = await mails(service, api, office)
    page = await browser.open(path_of(link_in(mail)))
    form = {"csrf": browser.csrf}
    for method in ("HEAD", "GET", "OPTIONS"):
        await browser.request(method, path_of(link_in(mail)))
        await browser.request(method, page.url.path)
    for site in ("none", "cross-site", "same-site"):
        assert (await browser.post(page.url.path, form, site=site)).status_code == 403
    assert (await browser.post(page.url.path, {"csrf": "x"})).status_code == 403
    for wrong in ("/payee-account", "/payee-account?token=x", "/payee-account/x", f"/payee-account/{made['id']}"):
        unknown = await browser.open(wrong)
        assert (unknown.status_code, "This link is not valid" in unknown.text) == (404, True)
    assert (await read(service, account)).status == "proposed"
    service.clock.advance(days=RESPONSE_PERIOD.days + 1)
    late = await browser.post(page.url.path, form)
    assert late.status_code == 303
    over = await browser.open(late.headers["location"])
    assert (over.status_code, "We no longer need your answer" in over.text) == (410, True)
    assert (await read(service, account)).denied_at is None
