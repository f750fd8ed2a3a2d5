"""A gift from the link to the thanks, in Chromium: every card, every way back, every link (spec 2.7, 3.1, 4.8)."""

import asyncio
import re
from datetime import timedelta

import pytest
from playwright.async_api import Page, expect

from tests.pages.site import CHALLENGED, DECLINED, GOOD, POOR, TO_PAYMENT, Site, fill, pay


async def go_to_payment(site: Site, page: Page, url: str, **typed: str) -> None:
    """From the link to the provider's card form."""
    await page.goto(url)
    await fill(page, **typed)
    await page.get_by_role("button", name=TO_PAYMENT).click()
    await page.wait_for_url(f"{site.provider_url}/pay/tp_*")


async def test_a_gift_from_link_to_thanks(site: Site) -> None:
    session = await site.session(name="Capital Area Food Bank", city="Washington", state="DC")
    async with site.donor() as page:
        await page.goto(session["url"])
        await expect(page.get_by_role("heading", level=1)).to_have_text("Capital Area Food Bank")
        await expect(page.get_by_text("Washington, DC, United States")).to_be_visible()
        await expect(page.get_by_text(re.compile("Internal Revenue Service .IRS., number .*-"))).to_be_visible()
        await fill(page)
        await page.get_by_label("Donate anonymously").check()
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await expect(page.get_by_role("heading", level=1)).to_have_text("$12.34")
        await pay(page, GOOD)
        await page.wait_for_url(f"{site.base_url}/give/{session['id']}/thanks")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, Amina")
        await expect(page.get_by_text("$12.34")).to_be_visible()
        await expect(page.get_by_text("a•••@example.org")).to_be_visible()
    donation = (await site.donations())[0]
    assert (donation["status"], donation["amount"], donation["currencyCode"]) == ("RECEIVED_PAYMENT", 1234, "USD")
    assert (donation["firstName"], donation["lastName"], donation["email"]) == (
        "Amina",
        "El-Sayed",
        "amina@example.org",
    )
    assert (donation["anonymous"], donation["consentedToBeContactedByOrg"]) == ("yes", "no")
    assert (await site.read(session))["status"] == "completed"
    assert site.complaints == []


async def test_a_suggested_amount_and_the_success_page_of_the_partner(site: Site) -> None:
    target = f"{site.base_url}/healthz?shop={{DONATION_SESSION_ID}}"
    session = await site.session(successUrl=target)
    assert session["successUrl"] == target
    target = target.replace("{DONATION_SESSION_ID}", session["id"])
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"], amount="$25")
        await pay(page)
        await page.wait_for_url(target)
    assert (await site.donations())[0]["amount"] == 2500
    assert site.complaints == []


@pytest.mark.parametrize(
    ("card", "words"),
    [(DECLINED, "The bank declined this card."), (POOR, "The bank declined this card.")],
)
async def test_a_decline_is_kind_and_another_card_pays(site: Site, card: str, words: str) -> None:
    session = await site.session()
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"])
        await pay(page, card)
        await expect(page.get_by_role("alert")).to_contain_text(words)
        await expect(page.get_by_role("alert")).to_contain_text("You have not been charged.")
        await pay(page, GOOD)
        await page.wait_for_url("**/thanks")
    assert site.complaints == []


async def test_who_has_paid_is_told_so_when_the_cookies_are_gone(site: Site) -> None:
    session = await site.session(name="Capital Area Food Bank")
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"])
        await page.context.clear_cookies()
        await page.get_by_role("link", name="Go back without paying").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("This donation has not been paid yet")
        await page.get_by_role("link", name="Return to the payment page").click()
        await pay(page)
        await page.wait_for_url("**/return?token=*")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you for your donation")
        await expect(page.get_by_text("$12.34")).to_be_visible()
        assert "Amina" not in await page.content()
        assert not [cookie for cookie in await page.context.cookies() if session["id"] in str(cookie)]
        await page.goto(f"{site.base_url}/give/{session['id']}/return?token=")
        await expect(page.get_by_text("If you have already paid, please do not pay again.")).to_be_visible()
    assert (await site.donations())[0]["status"] == "RECEIVED_PAYMENT"
    assert site.complaints == []


async def test_a_challenge_is_passed_or_refused(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"])
        await pay(page, CHALLENGED)
        await page.get_by_role("button", name="Decline payment").click()
        await expect(page.get_by_role("alert")).to_contain_text("The bank declined this card.")
        await pay(page, CHALLENGED)
        await page.get_by_role("button", name="Confirm payment").click()
        await page.wait_for_url("**/thanks")
    assert site.complaints == []


async def test_h6_after_five_declines_the_link_takes_no_more_cards(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"])
        for _ in range(4):
            await pay(page, DECLINED)
            await expect(page.get_by_role("alert")).to_contain_text("declined")
        await pay(page, DECLINED)
        await page.wait_for_url(f"{site.base_url}/give/{session['id']}")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Too many attempts with this link")
        await expect(page.get_by_text("You have not been charged.")).to_be_visible()
    assert (await site.read(session))["status"] == "open"


async def test_going_back_keeps_what_was_typed_and_a_new_amount_is_one_donation(site: Site) -> None:
    session = await site.session()
    before = len(await site.donations())
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"])
        await page.get_by_role("link", name="Go back without paying").click()
        await page.wait_for_url(f"{site.base_url}/give/{session['id']}")
        await expect(page.get_by_role("status")).to_contain_text("has not been paid yet")
        await expect(page.get_by_label("Amount in US dollars")).to_have_value("12.34")
        await expect(page.get_by_label("Email address")).to_have_value("amina@example.org")
        await page.get_by_label("Amount in US dollars").fill("50")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await expect(page.get_by_role("heading", level=1)).to_have_text("$50.00")
        await pay(page)
        await page.wait_for_url("**/thanks")
    donations = await site.donations()
    assert len(donations) == before + 1
    assert (donations[0]["status"], donations[0]["amount"]) == ("RECEIVED_PAYMENT", 5000)


async def test_wrong_input_is_told_at_once_beside_the_fields_and_kept(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await page.goto(session["url"])
        await fill(page, typed="0.50", email="amina@")
        await page.get_by_label("First name").fill("")
        await page.get_by_label("Last name").fill("")
        await page.locator(".word summary").click()
        await page.get_by_label("Message (optional)").fill("For the children")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("There are 3 problems")
        await expect(page).to_have_title(re.compile("^Problem: "))
        await expect(page.get_by_label("Amount in US dollars")).to_have_value("0.50")
        await expect(page.get_by_label("Message (optional)")).to_have_value("For the children")
        for label, words in (
            ("Amount in US dollars", "The amount must be $1 or more"),
            ("First name", "Enter your name. A single name is enough"),
            ("Email address", "Enter an email address in the correct format, like name@example.org"),
        ):
            field = page.get_by_label(label)
            await expect(field).to_have_attribute("aria-invalid", "true")
            await expect(field).to_have_accessible_description(re.compile(re.escape(words)))
            await alert.get_by_role("link", name=words).click()
            await expect(field).to_be_focused()
    assert site.complaints == []


async def test_two_tabs_for_two_nonprofits_never_mix(site: Site) -> None:
    first = await site.session(name="Tab One Trust")
    second = await site.session(name="Tab Two Trust")
    async with site.donor() as one:
        two = await site.tab(one.context)
        await one.goto(first["url"])
        await two.goto(second["url"])
        await fill(one, typed="11", email="one@example.org")
        await fill(two, typed="22", email="two@example.org")
        for page in (one, two):
            await page.get_by_role("button", name=TO_PAYMENT).click()
            await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        for page in (two, one):
            await pay(page)
            await page.wait_for_url("**/thanks")
        await expect(one.get_by_text("Your donation is on its way to Tab One Trust.")).to_be_visible()
        await expect(two.get_by_text("Your donation is on its way to Tab Two Trust.")).to_be_visible()
    found = {gift["organisationId"]: (gift["amount"], gift["email"]) for gift in await site.donations()}
    assert found[first["organisationId"]] == (1100, "one@example.org")
    assert found[second["organisationId"]] == (2200, "two@example.org")


async def test_two_clicks_make_one_donation(site: Site) -> None:
    session = await site.session()
    before = len(await site.donations())
    async with site.donor() as page:
        await page.goto(session["url"])
        again = await site.tab(page.context)
        await again.goto(session["url"])
        for tab in (page, again):
            await fill(tab)
        await asyncio.gather(*(tab.get_by_role("button", name=TO_PAYMENT).click() for tab in (page, again)))
        for tab in (page, again):
            await tab.wait_for_url(f"{site.provider_url}/pay/tp_*")
        assert page.url == again.url
    assert len(await site.donations()) == before + 1


async def status_of(page: Page, url: str) -> int:
    response = await page.goto(url)
    assert response is not None
    return response.status


async def test_every_link_that_cannot_be_used_has_its_own_page(site: Site) -> None:
    used, old, closed = await site.session(), await site.session(), await site.session()
    async with site.donor() as page:
        await go_to_payment(site, page, used["url"])
        await pay(page)
        await page.wait_for_url("**/thanks")
        assert await status_of(page, used["url"]) == 410
        await expect(page.get_by_role("heading", level=1)).to_have_text("This donation has already been made")
        assert await status_of(page, f"{site.base_url}/give?token=made-up") == 404
        await expect(page.get_by_role("heading", level=1)).to_have_text("This link is not valid")
        assert await status_of(page, f"{site.base_url}/give") == 404
        assert await status_of(page, f"{site.base_url}/give/{old['id']}") == 403
        await expect(page.get_by_role("heading", level=1)).to_have_text("Open your donation link again")
        assert await status_of(page, f"{site.base_url}/give/{old['id'][:-1]}") == 404
        async with site.service.db.write() as tx:
            organisation = tx.ids.decode("organisation", closed["organisationId"])
            await tx.execute("update organisation set active = false where id = $1", organisation)
        assert await status_of(page, closed["url"]) == 409
        await expect(page.get_by_role("heading", level=1)).to_have_text("This nonprofit is not accepting donations")
        site.service.clock.advance(timedelta(hours=24))
        assert await status_of(page, old["url"]) == 410
        await expect(page.get_by_role("heading", level=1)).to_have_text("This link has expired")


async def test_s3_a_form_left_open_over_the_expiry_is_refused_kindly(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await page.goto(session["url"])
        await fill(page)
        site.service.clock.advance(timedelta(hours=24))
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("This link has expired")
    assert (await site.read(session))["status"] == "expired"


async def test_s5_a_payment_under_way_at_expiry_may_finish_within_the_hour(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"])
        site.service.clock.advance(timedelta(hours=24, minutes=59))
        await pay(page)
        await page.wait_for_url("**/thanks")
    assert (await site.read(session))["status"] == "completed"


async def test_a_payment_not_yet_confirmed_is_waited_for(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await go_to_payment(site, page, session["url"])
        await page.goto(f"{site.base_url}/give/{session['id']}/return")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Waiting for your bank")
        await page.get_by_role("link", name="Return to the payment page").click()
        await pay(page)
        await page.wait_for_url("**/thanks")
