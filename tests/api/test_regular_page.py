"""Giving regularly on the hosted page: the choice, what the donor agrees to, and a second plan (settled 11)."""

import html
import re
from typing import Any

import pytest

from almoner.giving.subscriptions.agreements.service import VERSION
from almoner.giving.subscriptions.donation_subscriptions import service as donation_subscriptions
from tests.support.card_testing import Browser, Street
from tests.support.client import data

EVERY = ["one_time", "weekly", "monthly", "quarterly", "yearly"]
ORDINALS = {"weekly": "every week", "monthly": "every month", "quarterly": "every 3 months", "yearly": "every year"}


async def opened(street: Street, *frequencies: str, **session: Any) -> Browser:
    """A donor before the form of a session with these frequencies."""
    donor = street.browser()
    await donor.open(await street.link(frequencies=list(frequencies), currency="USD", **session))
    return donor


async def plans(street: Street) -> list[dict[str, Any]]:
    """What the partner has, newest first."""
    return list(data(await street.api.get("/v1/donation-subscriptions")))


async def gifts(street: Street) -> list[dict[str, Any]]:
    """What was given, newest first."""
    return list(data(await street.api.get("/v1/donations")))


def seen(page: Any) -> str:
    """The text of a page."""
    words = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", page.text, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", words))


async def test_a_page_for_one_gift_says_nothing_of_regular_ones(street: Street) -> None:
    donor = street.browser()
    page = seen(await donor.open())
    assert "How often" not in page
    assert "until you cancel" not in page


async def test_the_donor_chooses_how_often_and_reads_what_that_means(street: Street) -> None:
    donor = await opened(street, *EVERY)
    page = await donor.look()
    assert [one for one in EVERY if f'value="{one}"' in page.text] == EVERY
    assert re.search(r'id="frequency-one_time" value="one_time" checked', page.text)
    for words in ORDINALS.values():
        assert f"You’ll donate today and then {words} until you cancel. Your next donation will be on" in seen(page)
    assert "You can change, pause or cancel at any time" in seen(page)


async def test_where_there_is_one_frequency_nothing_is_asked_and_it_is_said(street: Street) -> None:
    donor = await opened(street, "yearly")
    page = await donor.look()
    assert 'name="frequency"' not in page.text
    assert "You’ll donate today and then every year until you cancel. Your next donation will be on" in seen(page)
    assert "How often: Yearly" in seen(page)
    assert "Donate $25 every year" in seen(page).replace(".00", "")
    await donor.pay(await donor.begin())
    assert [(one["frequency"], one["status"]) for one in await plans(street)] == [("yearly", "active")]


@pytest.mark.parametrize("frequency", ["weekly", "monthly", "quarterly"])
async def test_the_first_gift_begins_a_plan_with_what_the_donor_saw_and_agreed_to(
    street: Street, frequency: str
) -> None:
    donor = await opened(street, *EVERY, metadata={"campaign": "winter"})
    provider_page = await donor.begin(frequency=frequency)
    (plan,) = await plans(street)
    assert (plan["status"], plan["frequency"], plan["amount"]) == ("pending", frequency, 2500)
    shown = seen(await street.http.get(provider_page))
    await donor.pay(provider_page)
    (plan,) = await plans(street)
    assert plan["status"] == "active"
    assert plan["paymentMethod"] | {"expiresAt": ""} == {
        "type": "card",
        "brand": "visa",
        "last4": "4242",
        "expiresAt": "",
    }
    (gift,) = await gifts(street)
    assert gift["subscription"] == {"initial": True, "id": plan["id"]}
    uuid = street.service.db.deployment.ids.decode("donationsubscription", plan["id"])
    assert uuid is not None
    async with street.service.db.read() as tx:
        found = await donation_subscriptions.find_accepted_agreement(tx, uuid)
        kept = await tx.fetchrow("select agreement, agreement_version, email from provider_test.payment_method")
    assert found is not None
    agreement = found.agreement
    assert (agreement.version, agreement.language) == (VERSION, "en")
    assert agreement.text.startswith(f"$25.00 {ORDINALS[frequency]} to ")
    assert "cancel at any time" in agreement.text
    assert agreement.text in shown  # beside the card, where the donor pays
    assert kept is not None
    assert tuple(kept) == (agreement.text, VERSION, "amina@example.org")


async def test_a_single_gift_on_such_a_page_begins_nothing_and_saves_no_card(street: Street) -> None:
    donor = await opened(street, "monthly", "one_time")
    await donor.pay(await donor.begin(frequency="one_time"))
    assert await plans(street) == []
    (gift,) = await gifts(street)
    assert gift["subscription"]["id"] is None
    assert await street.value("select count(*) from provider_test.payment_method") == 0


@pytest.mark.parametrize(("offered", "chosen"), [(["monthly", "one_time"], "weekly"), (["one_time"], "monthly")])
async def test_what_the_session_does_not_offer_is_refused(street: Street, offered: list[str], chosen: str) -> None:
    donor = await opened(street, *offered)
    answer = await donor.give(frequency=chosen)
    assert answer.status_code == 422
    assert "Choose how often you want to donate" in seen(answer)
    assert await plans(street) == []


async def test_whoever_comes_back_and_chooses_otherwise_pays_on_a_page_that_says_so(street: Street) -> None:
    donor = await opened(street, *EVERY)
    first = await donor.begin(frequency="one_time")
    second = await donor.begin(frequency="monthly")
    assert first != second
    assert "$25.00 every month" in seen(await street.http.get(second))
    third = await donor.begin(frequency="yearly")
    assert "$25.00 every year" in seen(await street.http.get(third))
    last = await donor.begin(frequency="one_time")
    assert "until you cancel" not in seen(await street.http.get(last))
    await donor.pay(last)
    assert {one["status"] for one in await plans(street)} <= {"cancelled"}
    assert await street.value("select count(*) from provider_test.payment where status = 'succeeded'") == 1


async def test_a_second_plan_for_the_same_nonprofit_is_asked_about_and_only_of_who_reads_the_mail(
    street: Street,
) -> None:
    first = await opened(street, "monthly")
    await first.pay(await first.begin())
    await street.mails("amina@example.org")
    await street.pass_time(seconds=1)
    donor = await opened(street, "monthly", "one_time")
    asked = await donor.give(frequency="monthly")
    assert (asked.status_code, asked.headers.get("location")) == (303, f"{donor.path}/code")
    assert "regular donation" not in seen(await donor.look("/code"))  # nobody else learns of the plan
    question = await donor.enter(await street.code())
    assert question.status_code == 422
    assert "You already have a regular donation to" in seen(question)
    assert len(await plans(street)) == 1
    again = await donor.give(frequency="monthly")
    assert again.status_code == 422
    await donor.pay(await donor.begin(frequency="monthly", another="yes"))
    assert [one["status"] for one in await plans(street)] == ["active", "active"]


async def test_a_single_gift_and_another_donor_are_not_asked(street: Street) -> None:
    first = await opened(street, "monthly")
    await first.pay(await first.begin())
    single = await opened(street, "monthly", "one_time")
    await single.pay(await single.begin(frequency="one_time"))
    other = await opened(street, "monthly")
    await other.pay(await other.begin(email="berta@example.org"))
    assert len(await plans(street)) == 2
