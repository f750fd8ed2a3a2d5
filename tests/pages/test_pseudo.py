"""No word that a donor meets is outside the catalogues, and longer ones still fit: a made-up language (H9)."""

import json
import re
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from almoner.access.partners import service as partners
from almoner.giving.checkout.payments.domain import UnallocatedReason
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.donor_emails.jobs import MAILS
from almoner.platform.database.transactions import Partner
from almoner.platform.files import images
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import LOCALE_FOLDER, TranslationCatalogues
from tests.pages.site import CHALLENGED, DECLINED, GOOD, Site, open_site
from tests.pages.test_branding import logo
from tests.pages.test_code import MAIL, code
from tests.support import agents, bank, confirmations, factories, pseudo
from tests.support.client import data
from tests.support.database import TestDatabase

WORDS = set(json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8")))
OF_AGENTS = {key for key in WORDS if key.startswith(("agent.", "answer."))}
OF_APPLICANTS = {key for key in WORDS if key.startswith(("apply.", "applied."))}
OF_PAYEES = {key for key in WORDS if key.startswith(("payee.", "payee_account.", "give.until"))}
OF_LINKS = {key for key in WORDS if key.startswith(("give.link", "give.designation", "give.problem.designation"))}
OF_MEMBERS = {
    key
    for key in WORDS
    if key.startswith(("account.", "audit_log.", "dashboard.", "desk.", "keys.", "members.", "reports.", "sso."))
}
ON_THE_PAGE = {"regular.agreement", *(f"regular.every.{one}" for one in ("weekly", "monthly", "quarterly", "yearly"))}
OF_REGULAR_DONORS = {key for key in WORDS if key.startswith("regular.") and key not in ON_THE_PAGE}
OF_FREQUENCIES = ON_THE_PAGE | {  # tests/pages/test_regular.py walks them
    key
    for key in WORDS
    if key.startswith(
        (
            "give.frequency",
            "give.regular.",
            "give.problem.another",
            "give.problem.frequency",
            "thanks.regular",
            "test_provider.setup.",
        )
    )
}
KEYS = WORDS - OF_AGENTS - OF_APPLICANTS - OF_PAYEES - OF_LINKS - OF_MEMBERS - OF_REGULAR_DONORS - OF_FREQUENCIES
PHONE = {"viewport": {"width": 320, "height": 700}}
TITLED = {"test_provider.unknown", "gift.unknown", "statement.sent", "statement.later", "statement.unknown"} | {
    f"give.{kind}" for kind in "expired used unknown cookieless held closed broken tries lapsed".split()
}
# Said by the same templates as their neighbours, in states that take an outage, a lost cookie or weeks; and the words
# of the document, of the button and of gift aid, which have tests of their own.
ELSEWHERE = {
    key
    for key in KEYS
    if re.match(
        r"give\.(failed|busy|again|paying|paused\.\w+|code\.(later|sent|problem\.over)|wait\.\w+)$|test_provider\.(again|ended\.(failed|cancelled)\.)"
        r"|gift\.(reassigned|wait\.|returned|refunded|void|next\.sent|step\.settled\.done)|embed\."
        r"|receipt\.(title|void|refunded|kept|corrected|acknowledgement|benefits|deductible|donee|ein|address)$"
        r"|statement\.(many|london|now|void|given|back|left|as_of)$"
        r"|remittance\.|give\.transfer(_held\.\w+)?$|transfer\."
        r"|give\.(giftaid|dedication|problem\.(giftaid|dedication|title|house|road|city|postcode))"
        r"|site\.|page\.(rewritten|website|privacy|terms|imprint|contact|back)$|gift\.soon\.|thanks\.aid$|give\.problem\.((first|last|recipient)_name|recipient_email)\.missing$",
        key,
    )
}


class Reader(pseudo.Reader):
    """Reads what a browser shows, too."""

    async def shown(self, page: Page) -> None:
        """What the browser shows; nothing is wider than a small window."""
        self.page(await page.content())
        wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, page.url


@pytest.fixture
def catalogues(tmp_path: Path) -> TranslationCatalogues:
    return pseudo.catalogues(tmp_path)


@pytest.fixture
async def strict(
    empty_database: TestDatabase, browser: Browser, catalogues: TranslationCatalogues
) -> AsyncIterator[Site]:
    """A site in the made-up language, with brakes as in production."""
    async with open_site(empty_database, browser, catalogues=catalogues, card_testing_limits="strict") as site:
        yield site


async def send(page: Page, **typed: str) -> None:
    """Fill fields by their names, without the browser's own limits, and send the form."""
    await page.evaluate("document.querySelectorAll('[maxlength]').forEach(field => field.removeAttribute('maxlength'))")
    for name, text in typed.items():
        if name == "message" and not await page.locator("#message").is_visible():
            await page.locator(".word summary").click()
        await page.locator(f"#{name}").fill(text)
    await page.locator("form button[type=submit]").first.click()
    await page.wait_for_load_state()


async def walk_the_form(page: Page, reader: Reader) -> None:
    """The form empty and with every problem that it knows."""
    await reader.shown(page)
    await send(page)
    await reader.shown(page)
    await page.locator("#amount-other").check()
    long = "x" * 256
    for problems in (
        {"typed": "x", "first_name": long, "last_name": long, "email": f"{long}@b.co", "message": long * 2},
        {"typed": "0.01", "first_name": "A", "last_name": "B", "email": "wrong", "message": ""},
        {"typed": "1.234"},
        {"typed": "999999999"},
    ):
        await send(page, **problems)
        await reader.shown(page)
    await page.locator("#cover").check()
    await page.locator("#anonymous").check()


async def walk_the_till(page: Page, reader: Reader) -> None:
    """The card form with every problem that it knows."""
    await reader.shown(page)
    for problems in (
        {},
        {"number": "4242424242424241", "expiry": "13/99", "cvc": "1"},
        {"number": GOOD, "expiry": "01/20"},
    ):
        await send(page, **problems)
        await reader.shown(page)


CARD = {"expiry": "12/30", "cvc": "123", "name": "A"}


async def test_h9_no_word_that_a_donor_meets_is_outside_the_catalogues(
    strict: Site, catalogues: TranslationCatalogues
) -> None:
    reader = Reader()
    session = await strict.session(name="Q Q")
    async with strict.service.db.write() as tx:
        [account] = await partners.list_accounts(tx)
        await partners.set_brand(tx, Partner(account.id), logo=await images.reencode_image(logo(), longest_side=320))
    async with strict.donor(**PHONE) as page:
        await page.goto(f"{strict.base_url}/give/{session['id']}")
        await reader.shown(page)
        await page.goto(session["url"])
        await walk_the_form(page, reader)
        await page.context.clear_cookies(name="__Host-device")
        await send(page, typed="20", email=MAIL)
        await page.wait_for_url("**/code")
        await reader.shown(page)
        await send(page)
        await reader.shown(page)
        await send(page, code="000000")
        await reader.shown(page)
        await send(page, code=await code(strict))
        await page.wait_for_url(f"{strict.provider_url}/pay/tp_*")
        await walk_the_till(page, reader)
        await send(page, number=DECLINED, **CARD)
        await reader.shown(page)
        simulator = page.url
        await page.goto(f"{strict.base_url}/give/{session['id']}/return")
        await reader.shown(page)
        await page.goto(f"{strict.base_url}/give/{session['id']}")
        await reader.shown(page)
        async with strict.donor(**PHONE) as other:
            await other.goto(f"{simulator}/back")
            await reader.shown(other)  # not paid, as another browser is told
            back = other.url
        await page.goto(simulator)
        await send(page, number=CHALLENGED, **CARD)
        await reader.shown(page)
        await page.locator("button[type=submit]").first.click()
        await page.wait_for_url("**/thanks")
        await reader.shown(page)
        async with strict.donor(**PHONE) as other:
            await other.goto(back)
            await reader.shown(other)  # paid
        await page.goto(simulator)
        await reader.shown(page)
        mails = await mails_to(strict, MAIL)
        for mail in mails:
            reader.mail(mail)
        link = next(word for mail in mails for word in mail["text"].split() if "/gift?" in word)
        await page.goto(link)
        await reader.shown(page)
        await walk_statements(strict, page, reader)
        async with strict.service.db.write() as tx:
            await tx.execute("update donation set receipt_delivery = 'undeliverable' where payment_id is not null")
        await page.goto(f"{strict.base_url}/give/{session['id']}/thanks")
        await reader.shown(page)
        await page.goto(link)
        await reader.shown(page)
    walk_what_only_says_something(strict, catalogues, reader)
    walk_refunds(strict, catalogues, reader)
    walk_refunds_of_gifts(strict, catalogues, reader)
    walk_reassignments(strict, catalogues, reader)
    assert reader.seen <= KEYS | OF_FREQUENCIES
    assert KEYS - reader.seen - ELSEWHERE == set()
    assert strict.complaints == []


async def walk_statements(site: Site, page: Page, reader: Reader) -> None:
    """Asking for a statement, the mail, and the statement with and without gifts."""
    await page.locator(".actions .textlink").click()
    await reader.shown(page)
    await send(page)
    await reader.shown(page)
    [mail] = [mail for mail in await mails_to(site, MAIL) if "/statement?" in mail["text"]]
    reader.mail(mail)
    await page.goto(next(word for word in mail["text"].split() if "/statement?" in word))
    await reader.shown(page)
    address = page.url
    for days in ("?first=2001-01-01&last=2001-12-31", "?first=2001-01-01&last=1999-12-31"):
        await page.goto(address + days)
        await reader.shown(page)


async def mails_to(site: Site, address: str) -> list[dict[str, Any]]:
    """The mails of one donor with all their parts."""
    await site.service.drain()
    async with site.service.db.read() as tx:
        return [dict(row) for row in await tx.fetch("select * from sandbox_mail where recipient = $1", address)]


def walk_what_only_says_something(site: Site, catalogues: TranslationCatalogues, reader: Reader) -> None:
    """Every page of a title, a text and what to do next."""
    pages = PageRenderer(site.service.db.deployment, MAILS, catalogues)
    language = pages.language_for_tag(None)
    for kind in sorted(TITLED):
        shown = pages.render_message(kind, language, status=200, organisation="Q", moment="1")
        reader.page(bytes(shown.body).decode())


def walk_refunds(site: Site, catalogues: TranslationCatalogues, reader: Reader) -> None:
    """The mail that money went back, for every reason."""
    mails = MailRenderer(site.service.db.deployment, MAILS, catalogues)
    for reason in (key.removeprefix("refund.why.") for key in KEYS if key.startswith("refund.why.")):
        assert reason in list(UnallocatedReason)
        facts = {"organisation": "Q", "name": "Q", "amount": "1", "why": f"refund.why.{reason}", "reference": "1"}
        reader.mail(pseudo.mail_of(mails, "refund", facts))


def walk_refunds_of_gifts(site: Site, catalogues: TranslationCatalogues, reader: Reader) -> None:
    """The mail that a gift went back, in part and whole."""
    mails = MailRenderer(site.service.db.deployment, MAILS, catalogues)
    for left in ("1", None):
        facts = {"organisation": "Q", "name": "Q", "amount": "1", "left": left, "reference": "1"}
        reader.mail(pseudo.mail_of(mails, "gift_refund", facts))


def walk_reassignments(site: Site, catalogues: TranslationCatalogues, reader: Reader) -> None:
    """The mail that a gift is for another nonprofit, on every ground."""
    mails = MailRenderer(site.service.db.deployment, MAILS, catalogues)
    named = dict.fromkeys(("organisation", "former", "issuer", "name", "amount", "reference"), "Q")
    for why in (key for key in KEYS if key.startswith("reassigned.why.")):
        reader.mail(pseudo.mail_of(mails, "reassigned", {**named, "on": date(2026, 3, 2), "why": why}))


async def test_h9_no_word_that_an_applicant_or_a_nonprofit_meets_is_outside_the_catalogues(
    strict: Site, catalogues: TranslationCatalogues
) -> None:
    reader, office, applicant = Reader(), "office@relief.example", "amina@elsewhere.example"
    organisation = await factories.nonprofit(strict.service, name="Q Q")
    await agents.contact(strict.service, organisation, office)
    made = await agents.create(strict.service, strict.api, organisation=organisation, email=applicant, title="Q")
    [mail] = await mails_to(strict, applicant)
    reader.mail(mail)
    async with strict.donor(**PHONE) as page:
        await page.goto(f"{strict.base_url}/confirm/{made['id']}")
        await reader.shown(page)
        await send(page, code="000000")
        await reader.shown(page)
        async with page.expect_navigation():
            await page.locator("button[name=again]").click()
        await reader.shown(page)
        await page.goto(next(word for word in mail["text"].split() if "/confirm?" in word))
        await reader.shown(page)
        async with page.expect_navigation():
            await page.locator("button[name=confirm]").click()
        await reader.shown(page)
        [question] = await mails_to(strict, office)
        reader.mail(question)
        await page.goto(next(word for word in question["text"].split() if "/answer?" in word))
        await reader.shown(page)
        async with page.expect_navigation():
            await page.locator("button[value=confirmed]").click()
        await reader.shown(page)
    pages = PageRenderer(strict.service.db.deployment, MAILS, catalogues)
    for kind in ("agent.expired", "agent.closed", "agent.replaced", "agent.unknown", "agent.broken", "answer.closed"):
        reader.page(bytes(pages.render_message(kind, pages.language_for_tag(None), status=200).body).decode())
    assert reader.seen <= WORDS
    assert OF_AGENTS - reader.seen == set()


async def test_h9_no_word_that_a_nonprofit_meets_before_it_is_paid_is_outside_the_catalogues(
    strict: Site, catalogues: TranslationCatalogues
) -> None:
    reader = Reader()
    nonprofit = await factories.nonprofit(strict.service, name="Q Q")
    made, mail = await confirmations.asked(strict.service, strict.api, organisation=nonprofit)
    reader.mail(mail)
    async with strict.donor(**PHONE) as page:
        await page.goto(confirmations.link_in(mail))
        await reader.shown(page)
        for account in (None, "Q", None):
            if account:
                await bank.account(strict.service, made["organisationId"], holder=account)
                await page.locator("#name").fill("Q")
                await page.locator("#role").fill("Q")
            async with page.expect_navigation():
                await page.locator("button[value=confirmed]").click()
            await reader.shown(page)
    pages = PageRenderer(strict.service.db.deployment, MAILS, catalogues)
    for kind in ("confirmed", "account_missing", "declined", "closed"):
        reader.page(
            bytes(pages.render_message(f"payee.{kind}", pages.language_for_tag(None), status=200).body).decode()
        )
    reader.page(
        bytes(pages.render_message("payee_account.closed", pages.language_for_tag(None), status=200).body).decode()
    )
    async with strict.service.db.write() as tx:
        given = bank.proposal(strict.service, made["organisationId"], holder="Q", iban=bank.OTHER_IBAN)
        await payee_bank_accounts.propose_account(tx, given, note="letter", proposed_by="one")
    await strict.service.drain()
    stored = data(await strict.api.get("/v1/sandbox/mailbox", to=mail["to"]))
    reported = next(one for one in stored if "/payee-account" in confirmations.link_in(one))
    reader.mail(reported)
    async with strict.donor(**PHONE) as page:
        await page.goto(confirmations.link_in(reported))
        await reader.shown(page)
        async with page.expect_navigation():
            await page.locator("main button").click()
        await reader.shown(page)
    assert reader.seen <= WORDS
    assert OF_PAYEES - reader.seen == set()
