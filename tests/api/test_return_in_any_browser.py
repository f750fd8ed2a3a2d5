"""Who has paid is told so in any browser, and no page claims about money what was not looked up (H1, M4)."""

import html
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from almoner.platform.database.postgres import PostgresServer
from tests.support import card_testing, database
from tests.support.card_testing import DECLINED, FORM, GOOD, Browser, Street
from tests.support.emptied import Emptied, emptied

CERTAIN = "If you have already paid, please do not pay again. We’ll email you about your payment."
PERSONAL = ("Amina", "amina@", "a•••@")
CLAIMS = ("charged", "taken from you", "has not been paid", "has been completed")


@pytest.fixture(scope="module")
async def town(postgres_server: PostgresServer) -> AsyncIterator[Emptied]:
    async with (
        database.copied(postgres_server) as made,
        card_testing.open_town(made, card_testing_limits="loose") as service,
        emptied(service) as stored,
    ):
        yield stored


@pytest.fixture
async def street(town: Emptied) -> AsyncIterator[Street]:
    async with town.used() as service, card_testing.open_street(service) as made:
        yield made


def said(page: httpx.Response) -> str:
    return html.unescape(re.sub("</?bdi>", "", page.text))


async def paid(street: Street, card: str = GOOD, **session: Any) -> tuple[Browser, str]:
    """A donor who has tried a card in another browser than the one that the link was opened in, and the way back."""
    donor = street.browser()
    await donor.open(await street.link(**session))
    pay_url = await donor.begin()
    if card == DECLINED:
        await donor.decline(pay_url, 4)
    return donor, str((await donor.pay(pay_url, card)).headers["location"])


async def test_the_return_tells_any_browser_that_the_gift_is_paid_and_not_by_whom(street: Street) -> None:
    donor, back = await paid(street)
    other = street.browser("192.0.2.77")
    page = await other.get(back)
    assert page.status_code == 200
    text = said(page)
    assert "Thank you for your donation" in text
    assert "$25.00" in text
    assert "We are emailing you a receipt." in text
    assert not [word for word in PERSONAL if word in text]
    assert page.headers["cache-control"] == "no-store"
    assert not other.cookies, "the link alone opens nothing else"
    assert (await other.get(f"{donor.path}/thanks")).status_code == 403
    assert (await donor.get(back.replace("/return?", "?"))).headers["location"] == donor.path, "a clean address"
    own = await donor.get(back)
    assert own.headers["location"] == f"{donor.path}/thanks"
    assert "Thank you, Amina" in said(await donor.look("/thanks"))


async def test_a_form_that_was_left_open_over_the_payment_leads_to_the_truth(street: Street) -> None:
    donor, _ = await paid(street)
    donor.csrf = "of another day"
    assert (await donor.give()).headers["location"] == f"{donor.path}/thanks"


async def test_the_return_asks_the_provider_itself_where_no_notice_has_come(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    url = await donor.begin()
    form = await street.http.get(url)
    csrf = form.text.partition('name="csrf" value="')[2].partition('"')[0]
    typed = {"number": GOOD, "expiry": "12/40", "cvc": "123", "name": "A", "csrf": html.unescape(csrf)}
    tried = await street.http.post(url, data=typed, headers={"Sec-Fetch-Site": "same-origin"})
    assert await street.value("select status from donation") == "REQUESTED_PAYMENT"
    assert "Thank you for your donation" in said(await street.browser().get(tried.headers["location"]))
    assert await street.value("select status from donation") == "RECEIVED_PAYMENT"


async def test_any_browser_is_led_on_to_the_success_page_of_the_partner(street: Street) -> None:
    _, back = await paid(street, successUrl="https://shop.example/thanks?order=1")
    answer = await street.browser().get(back)
    assert (answer.status_code, answer.headers["location"]) == (303, "https://shop.example/thanks?order=1")


async def test_going_back_unpaid_in_another_browser_says_that_nothing_was_paid_and_how_to_go_on(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    url = await donor.begin()
    cancel = (await street.http.get(f"{url}/back")).headers["location"]
    other = street.browser()
    onwards = await other.get(cancel)
    assert onwards.headers["location"].startswith(f"{donor.path}/return?token=")
    text = said(await other.get(onwards.headers["location"]))
    assert "This donation has not been paid yet" in text
    assert "$25.00" in text
    assert f'href="{url}"' in text
    assert f'href="{onwards.headers["location"]}"' in text
    assert not [word for word in PERSONAL if word in text]
    assert "Thank you for your donation" in said(await other.get((await other.pay(url)).headers["location"]))


async def test_declined_cards_are_told_as_unpaid(street: Street) -> None:
    _, back = await paid(street, DECLINED)
    text = said(await street.browser().get(back))
    assert "This donation has not been paid yet" in text
    assert "open your donation link again" in text


async def test_while_the_provider_is_away_the_return_says_that_the_payment_is_not_confirmed(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    back = (await street.http.get(f"{await donor.begin()}/back")).headers["location"]
    back = (await street.browser().get(back)).headers["location"]
    async with street.service.db.write() as tx:
        await tx.execute("delete from provider_test.payment")
    text = said(await street.browser().get(back))
    assert "has not been confirmed yet" in text
    assert not [claim for claim in CLAIMS if claim in text]


async def test_a_return_of_another_session_or_a_cut_one_is_no_proof(street: Street) -> None:
    _, back = await paid(street)
    other = street.browser()
    await other.open()
    token = back.partition("?token=")[2]
    for address in (
        f"{other.path}/return?token={token}",
        back[:-1],
        back[: back.index("?") + 12],
        back.partition("?")[0],
        back.partition("?")[0].removesuffix("/return"),
    ):
        answer = await street.browser().get(address)
        assert answer.status_code == 403, address
        assert CERTAIN in said(answer)
        assert not [claim for claim in CLAIMS if claim in said(answer)]
    assert street.service.lines
    assert not [line for line in street.service.lines if token.encode() in line]


async def test_no_page_without_its_cookie_claims_anything_about_money(street: Street) -> None:
    donor, _ = await paid(street)
    path = donor.path
    reads = [
        f"{path}{below}"
        for below in ("", "/return", "/thanks", "/code", "/transfer", "/nowhere", "?token=", "?token=x")
    ]
    reads += [
        "/give",
        "/give?token=AAAA",
        f"{path[:-3]}",
        f"{path[:-3]}/return",
        "/give/",
        "/gift",
        "/gift/x",
        "/statement",
    ]
    provider = await street.http.get(f"{street.service.services.settings.test_provider_base_url}/pay/tp_gone")
    answers = [await street.browser().get(address) for address in reads] + [provider]
    answers += [await street.browser().post(f"{path}{below}", FORM) for below in ("", "/code", "/transfer")]
    answers += [await street.browser().post(f"{path}{below}", FORM) for below in ("/thanks", "/return")]
    for answer in answers:
        assert 400 <= answer.status_code < 410 or answer.status_code == 303, answer.url
        assert not [claim for claim in CLAIMS if claim in said(answer)], answer.url
    cookieless = [answer for answer in answers if answer.status_code == 403]
    assert len(cookieless) == 11
    assert all(CERTAIN in said(answer) for answer in cookieless)


async def test_links_that_are_over_claim_nothing_and_say_what_is_certain(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    await donor.begin()
    street.service.clock.advance(timedelta(hours=26))
    answer = await donor.look()
    assert answer.status_code == 410
    assert CERTAIN in said(answer)


async def test_a_payment_under_way_is_looked_up_before_a_nonprofit_is_told_closed(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    url = await donor.begin()
    async with street.service.db.write() as tx:
        await tx.execute("update organisation set active = false")
    closed = await donor.look()
    assert (closed.status_code, "cannot receive donations at the moment." in said(closed)) == (409, True)
    form = await street.http.get(url)
    csrf = html.unescape(form.text.partition('name="csrf" value="')[2].partition('"')[0])
    typed = {"number": GOOD, "expiry": "12/40", "cvc": "123", "name": "A", "csrf": csrf}
    await street.http.post(url, data=typed, headers={"Sec-Fetch-Site": "same-origin"})
    assert (await donor.look()).headers["location"] == f"{donor.path}/thanks"


async def test_a_gift_that_went_back_is_not_said_to_be_on_its_way(street: Street) -> None:
    _, back = await paid(street)
    async with street.service.db.write() as tx:
        await tx.execute("update donation set refunded_at = now(), refunded_minor = 1000, withdrawn_minor = 1000")
    text = said(await street.browser().get(back))
    assert "$10.00 of your donation was refunded on " in text
    assert "$15.00 stays with the nonprofit" in text
    assert "on its way to" not in text
