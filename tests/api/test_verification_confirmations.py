"""The nonprofit says on a page of its own whether it wants what is given for it (settled 4; H1, H2)."""

import re
from datetime import timedelta
from typing import Any

import pytest

from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.organisation_confirmations.domain import NonprofitContact
from almoner.giving.disbursing.verifications.domain import InvalidState
from tests.support import bank, factories
from tests.support.agents import contact, link_in, mail_to, path_of
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.confirmations import asked
from tests.support.payouts import uuid_of
from tests.support.service import Service
from tests.support.verifications import LIFETIME, checks, shown, simulate, told

WHO = {"name": "Amina El-Sayed", "role": "Treasurer"}


def seen(page: Any) -> str:
    """What the page says that it shows."""
    found = re.search(r'name="seen" value="([0-9a-f]{64})"', page.text)
    assert found, page.text
    return found[1]


async def answered(browser: Browser, mail: dict[str, Any], answer: str = "confirmed", **more: str) -> Any:
    """The page's own form, sent."""
    page = await browser.open(path_of(link_in(mail)))
    form = {**WHO, "seen": seen(page), "answer": answer, **more}
    return await browser.post(page.url.path, form)


async def test_the_nonprofit_confirms_and_its_check_succeeds(service: Service, api: Client, browser: Browser) -> None:
    made, mail = await asked(service, api, name="Olive Relief")
    assert mail["subject"] == "Do you want to receive donations for Olive Relief?"
    page = await browser.open(path_of(link_in(mail)))
    assert page.status_code == 200
    assert "token" not in str(page.url)
    assert "We don’t have your bank account details yet" in page.text
    assert (await shown(api, made))["status"] == {"type": "pending", "awaitingAnswerFromOrganisation": True}
    answer = await answered(browser, mail)
    assert answer.status_code == 303
    assert (await shown(api, made))["checks"] == checks(registration="succeeded", organisation_confirmation="succeeded")
    done = await browser.open(answer.headers["location"])
    assert "We still need your bank account details." in done.text
    await simulate(api, made, "succeed_check", type="bank_details")
    assert "You do not need to do anything else." in (await browser.open(path_of(link_in(mail)))).text
    [asked_once] = await confirmations_of(service, made)
    respondent = (asked_once.respondent_name, asked_once.respondent_role)
    assert (asked_once.answer, *respondent) == ("confirmed", WHO["name"], WHO["role"])
    assert [kind for kind, _ in await told(service, api)] == ["received", *["progressed"] * 3]


async def test_the_nonprofit_declines_and_the_verification_is_rejected(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await asked(service, api)
    assert (await answered(browser, mail, "declined")).status_code == 303
    rejected = await shown(api, made)
    assert (rejected["status"]["type"], rejected["rejectionReasonCode"]) == ("rejected", "declined_by_organisation")
    assert "We will not pay donations to you." in (await browser.open(path_of(link_in(mail)))).text
    reopened = await simulate(api, made, "reopen")
    assert reopened["checks"] == checks(), "and an answer of the last round counts no more"


async def test_who_answers_says_who_they_are(service: Service, api: Client, browser: Browser) -> None:
    made, mail = await asked(service, api)
    refused = await answered(browser, mail, name=" ", role="x" * 256)
    assert refused.status_code == 422
    assert "Enter your name" in refused.text
    assert "Enter your role" in refused.text
    assert (await answered(browser, mail, answer="perhaps")).status_code == 403
    assert (await shown(api, made))["checks"] == checks(registration="succeeded")


async def test_confirming_twice_is_confirming_once(service: Service, api: Client, browser: Browser) -> None:
    made, mail = await asked(service, api)
    page = await browser.open(path_of(link_in(mail)))
    form = {**WHO, "seen": seen(page), "csrf": browser.csrf, "answer": "confirmed"}
    assert (await browser.post(page.url.path, form)).status_code == 303
    before = await shown(api, made)
    again = await browser.post(page.url.path, {**form, "answer": "declined"})
    assert again.status_code == 200
    assert "Thank you for your answer" in again.text
    assert await shown(api, made) == before


async def test_an_answer_to_an_account_that_is_another_one_by_now_is_asked_for_again(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await asked(service, api)
    first = await bank.account(service, made["organisationId"])
    page = await browser.open(path_of(link_in(mail)))
    assert first.masked_number in page.text
    form = {**WHO, "seen": seen(page), "csrf": browser.csrf, "answer": "confirmed"}
    second = await bank.account(service, made["organisationId"], iban=bank.OTHER_IBAN)
    changed = await browser.post(page.url.path, form)
    assert changed.status_code == 409
    assert "This page has changed since you opened it." in changed.text
    assert second.masked_number in changed.text
    assert WHO["name"] in changed.text
    assert (await shown(api, made))["status"]["awaitingAnswerFromOrganisation"] is True
    assert (await browser.post(page.url.path, {**form, "seen": seen(changed)})).status_code == 303
    assert (await shown(api, made))["checks"][3]["status"] == "succeeded"


async def test_a_link_ends_with_the_round_that_it_was_asked_in(service: Service, api: Client, browser: Browser) -> None:
    made, mail = await asked(service, api)
    service.clock.advance(LIFETIME)
    over = await browser.open(path_of(link_in(mail)))
    assert (over.status_code, "The deadline for your answer has passed" in over.text) == (410, True)
    service.clock.advance(timedelta(seconds=1))
    await simulate(api, made, "reopen")
    assert (await browser.open(path_of(link_in(mail)))).status_code == 410
    await service.drain()  # it is asked anew
    newest = await mail_to(service, api, mail["to"])
    assert link_in(newest) != link_in(mail)
    assert (await browser.open(path_of(link_in(newest)))).status_code == 200


async def test_mails_to_one_address_have_limits_and_the_last_address_counts(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await asked(service, api)
    verification_id = uuid_of(service, "monetarydonationverification", made["id"])

    async def ask(address: str) -> None:
        async with service.db.write() as tx:
            await organisation_confirmations.request_confirmation(
                tx, verification_id, NonprofitContact(address, "the register"), requested_by="operator_olive"
            )

    with pytest.raises(InvalidState, match="share of mails"):
        await ask(mail["to"])
    service.clock.advance_wall(minutes=2)
    await ask(mail["to"])
    again = await mail_to(service, api, mail["to"])
    assert link_in(again) == link_in(mail), "one question, mailed once more"
    service.clock.advance_wall(minutes=2)
    await ask(f"new.{mail['to']}")
    assert (await browser.open(path_of(link_in(mail)))).status_code == 410
    moved = await mail_to(service, api, f"new.{mail['to']}")
    assert (await browser.open(path_of(link_in(moved)))).status_code == 200


async def test_a_link_to_an_address_that_was_wrong_ends_with_it(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await asked(service, api)
    page = await browser.open(path_of(link_in(mail)))
    await contact(service, made["organisationId"], right := f"right.{mail['to']}")
    late = await browser.post(page.url.path, {**WHO, "seen": seen(page), "answer": "confirmed"})
    assert (late.status_code, "We no longer need your answer" in late.text) == (410, True)
    assert (await shown(api, made))["checks"][3]["status"] == "pending"
    await simulate(api, made, "succeed_check", type="bank_details")
    again = await mail_to(service, api, right)  # by the same rule as the first
    assert (await browser.open(path_of(link_in(again)))).status_code == 200


async def test_nobody_is_asked_whose_address_nobody_knows_nor_twice(service: Service, api: Client) -> None:
    quiet = await factories.verification(service, api)
    made, mail = await asked(service, api)
    await simulate(api, made, "succeed_check", type="compliance")
    await service.drain()
    assert await confirmations_of(service, quiet) == []
    assert len(await confirmations_of(service, made)) == 1
    assert len(data(await api.get("/v1/sandbox/mailbox", to=mail["to"]))) == 1


async def test_h1_h2_programs_that_open_links_and_press_buttons_change_nothing(
    service: Service, api: Client, browser: Browser
) -> None:
    made, mail = await asked(service, api)
    before = await shown(api, made)
    page = await browser.open(path_of(link_in(mail)))
    form = {**WHO, "seen": seen(page), "csrf": browser.csrf, "answer": "confirmed"}
    for method in ("HEAD", "GET", "OPTIONS"):
        await browser.request(method, path_of(link_in(mail)))
        await browser.request(method, page.url.path)
    for site in ("none", "cross-site", "same-site"):
        assert (await browser.post(page.url.path, form, site=site)).status_code == 403
    assert (await browser.post(page.url.path, {**form, "csrf": "x"})).status_code == 403
    for wrong in ("/payee", "/payee?token=x", "/payee/x", f"/payee/{made['id']}"):
        unknown = await browser.open(wrong)
        assert (unknown.status_code, "This link is not valid" in unknown.text) == (404, True)
    browser.cookies.clear()
    assert (await browser.post(page.url.path, form)).status_code == 404
    assert await shown(api, made) == before


async def test_v6_addresses_and_names_are_forgotten(service: Service, api: Client, browser: Browser) -> None:
    made, mail = await asked(service, api)
    assert (await answered(browser, mail)).status_code == 303
    await simulate(api, made, "reject")
    await service.drain()
    service.clock.advance(days=31)
    await service.drain()
    async with service.db.write() as tx:
        await organisation_confirmations.erase_contacts_of_closed_confirmations(tx, 1_000_000)
    [one] = await confirmations_of(service, made)
    assert (one.email, one.respondent_name, one.respondent_role, one.answer) == (None, None, None, "confirmed")


async def confirmations_of(service: Service, record: dict[str, Any]) -> list[Any]:
    """What the nonprofit was asked."""
    async with service.db.read() as tx:
        return await organisation_confirmations.list_confirmations(
            tx, uuid_of(service, "monetarydonationverification", record["id"])
        )
