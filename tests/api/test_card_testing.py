"""Brakes against card testing (H6, H7), and the code by e-mail (H11): over real HTTP, from many addresses."""

import asyncio
from asyncio.subprocess import PIPE
from base64 import b64encode
from datetime import datetime, timedelta

import pytest
from structlog.testing import capture_logs

from almoner import settings as configuration
from almoner import worker
from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.checkout.card_testing import store as card_testing_store
from almoner.giving.checkout.card_testing.domain import ALERT_DURATION, BrowserFingerprint, RecentDeclines
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner
from almoner.settings import InvalidSettings
from tests.support.card_testing import DECLINED, GOOD, POOR, Browser, Street, code_asked, open_street, open_town
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.running import ALMONER

HOUR = timedelta(hours=1)
MARGIN = timedelta(seconds=20)
"""Real time passes while a test runs; the units prove the exact moments."""
BOTS = [f"198.51.100.{number}" for number in range(1, 11)]


class Bot:
    """Tries stolen cards from one address as fast as it may, with a fresh browser each time."""

    def __init__(self, street: Street, address: str, *, reads_mail: bool) -> None:
        self._street = street
        self._address = address
        self._reads_mail = reads_mail
        self._mails = 0
        self.tried: list[datetime] = []

    async def open(self) -> str | None:
        """One more payment, if the brakes let it."""
        browser = self._street.browser(self._address)
        await browser.open()
        self._mails += 1
        mailbox = f"bot{self._mails}-{self._address}@example.org"
        answer = await browser.give(email=mailbox)
        if answer.status_code == 303 and answer.headers["location"].endswith("/code") and self._reads_mail:
            await browser.look("/code")
            answer = await browser.enter(await self._street.code(mailbox))
        return answer.headers["location"] if "/pay/" in answer.headers.get("location", "") else None

    async def use(self, url: str) -> None:
        """Try cards on a payment until it takes no more."""
        browser = self._street.browser(self._address)
        while (await browser.pay(url, DECLINED)).status_code == 402:
            self.tried.append(self._street.service.clock.real_now())
        self.tried.append(self._street.service.clock.real_now())


@pytest.mark.parametrize("reads_mail", [False, True], ids=["no mailbox", "mailboxes of its own"])
@pytest.mark.parametrize(
    "addresses",
    [pytest.param(BOTS, id="ten", marks=[pytest.mark.soak, pytest.mark.long]), pytest.param(BOTS[:2], id="two")],
)
async def test_h6_a_bot_with_1000_cards_gets_six_tries_an_hour_from_each_address(
    street: Street, addresses: list[str], reads_mail: bool
) -> None:
    bots = [Bot(street, address, reads_mail=reads_mail) for address in addresses]
    for round_ in range(7):  # sixty minutes and the next ten
        for bot in bots:
            opened = [await bot.open() for _ in range(1 if round_ else 3)]
            for url in filter(None, opened):
                await bot.use(url)
        await street.pass_time(minutes=10)
    moments = sorted(moment for bot in bots for moment in bot.tried)
    assert len(moments) == await street.tries()
    in_an_hour = max(sum(start <= moment < start + HOUR for moment in moments) for start in moments)
    assert 3 * len(bots) <= in_an_hour <= 6 * len(bots)


async def test_h6_payments_opened_first_and_tried_later_count_as_well(street: Street) -> None:
    bot = Bot(street, BOTS[0], reads_mail=True)
    opened = [url for url in [await bot.open() for _ in range(6)] if url]
    assert len(opened) == 4  # three tries on the first, one on each beside it
    for url in opened:
        await bot.use(url)
    assert await street.tries() == 6
    assert await bot.open() is None


async def test_h6_many_at_once_from_one_address_share_one_budget(street: Street) -> None:
    browsers = [street.browser() for _ in range(8)]
    for browser in browsers:
        await browser.open()
    answers = await asyncio.gather(*(browser.give() for browser in browsers))
    assert sorted(answer.status_code for answer in answers) == [303] * 4 + [429] * 4
    assert await street.value("select sum(max_attempts) from card_attempt") == 6


async def test_h6_an_open_payment_ends_after_ten_minutes_and_gives_its_tries_back(street: Street) -> None:
    browser = street.browser()
    await browser.open()
    url = await browser.begin()
    assert await street.value("select max_attempts from payment") == 3
    await street.pass_time(minutes=9, seconds=59)
    assert "Card number" in (await street.http.get(url)).text
    await street.pass_time(seconds=1)
    assert "This payment was cancelled" in (await street.http.get(url)).text
    await browser.begin()
    assert await street.value("select max(max_attempts) from payment where status = 'open'") == 3


async def test_h6_abandoned_payments_hold_an_address_for_ten_minutes_and_a_true_word_says_so(street: Street) -> None:
    donors = [street.browser() for _ in range(7)]
    for donor in donors:
        await donor.open()
    answers = [await donor.give(first_name="Zoë") for donor in donors]
    assert [answer.status_code for answer in answers] == [303] * 4 + [429] * 3
    waits = int(answers[-1].headers["retry-after"])
    assert 540 < waits <= 600
    assert (
        "Other people on your connection are making payments right now. You can try again in about 10 minutes."
        in answers[-1].text
    )
    assert 'value="Zoë"' in answers[-1].text, "nobody types it twice"
    assert 'value="Zoë"' in (await donors[-1].look()).text
    await street.pass_time(minutes=10)  # the test's business clock stood still while real time went on
    assert (await donors[-1].give()).status_code == 303


async def test_a_donor_who_comes_back_without_paying_or_with_a_replaced_payment_was_not_charged(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    first = await donor.begin()
    assert "you have not been charged" in (await donor.look()).text
    second = await donor.begin(amount="5000")
    assert "This payment was cancelled" in (await donor.pay(first)).text
    form = (await donor.look()).text
    assert "This donation has not been paid yet and you have not been charged." in form
    assert second in form
    await donor.pay(second)
    assert "you have not been charged" not in (await donor.look()).text


async def test_h6_what_makes_a_donor_wait_is_told_in_the_language_of_the_session(street: Street) -> None:
    donors = [street.browser() for _ in range(5)]
    for donor in donors:
        await donor.open(await street.link(language="de"))
    answers = [await donor.give() for donor in donors]
    assert 'lang="de"' in answers[-1].text
    assert "Über dieselbe Verbindung zahlen gerade andere." in answers[-1].text


async def test_h6_a_donor_with_three_declines_gives_with_a_code_between(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    url = await donor.begin()
    answers = [await donor.pay(url, card) for card in (DECLINED, POOR)]
    assert [answer.status_code for answer in answers] == [402, 402]
    last = await donor.pay(url, DECLINED)
    assert "/return?token=" in last.headers["location"]
    assert (await donor.get(last.headers["location"])).headers["location"] == donor.path
    assert "Your payment did not go through and you have not been charged." in (await donor.look()).text
    asked = await donor.give()
    assert asked.headers["location"] == f"{donor.path}/code"
    page = await donor.look("/code")
    assert "a•••@example.org" in page.text
    assert 'autocomplete="one-time-code"' in page.text
    onwards = await donor.enter(await street.code())
    paid = await donor.pay(onwards.headers["location"], GOOD)
    thanks = await donor.get((await donor.get(paid.headers["location"])).headers["location"])
    assert "Thank you, Amina" in thanks.text


async def test_h6_three_declines_of_others_do_not_stop_a_donor_elsewhere(street: Street) -> None:
    bot, donor = street.browser(BOTS[0]), street.browser("192.0.2.7")
    await bot.open()
    await bot.decline(await bot.begin(), 3)
    await donor.open()
    assert (await donor.pay(await donor.begin(), GOOD)).status_code == 303


async def test_h6_one_address_begins_six_payments_a_minute_and_twenty_an_hour(street: Street) -> None:
    async def gives() -> int:
        browser = street.browser()
        await browser.open()
        answer = await browser.give()
        if answer.status_code == 303:
            await browser.pay(answer.headers["location"], GOOD)
        elif "Too many payments have been started from your connection" in answer.text:
            assert 1 <= int(answer.headers["retry-after"]) <= 3600
        return answer.status_code

    assert [await gives() for _ in range(7)] == [303] * 6 + [429]
    started = 6
    for _ in range(3):
        await street.pass_time(minutes=1)
        started += sum([await gives() == 303 for _ in range(7)])
    assert started == 20
    first = await street.value("select min(started_at) from card_attempt")
    await street.pass_until(first + HOUR - MARGIN)
    assert await gives() == 429
    await street.pass_until(first + HOUR)
    assert await gives() == 303


async def test_h6_the_network_of_an_ipv6_address_is_one_source(street: Street) -> None:
    first, second, third = (street.browser(f"2001:db8:1:{part}::1") for part in ("1", "1:2:3:4", "2"))
    third.address, second.address = "2001:db8:2::1", "2001:db8:1:1:ffff::9"
    await first.open()
    await first.decline(await first.begin(), 3)
    for browser, asked in ((second, True), (third, False)):
        await browser.open()
        assert (await browser.give()).headers["location"].endswith("/code") is asked


async def device_alone(street: Street, cookie: str, number: int) -> Browser:
    """A browser with the same device cookie at another address."""
    browser = street.browser(f"203.0.113.{number}")
    browser.cookies["__Host-device"] = cookie
    await browser.open()
    return browser


async def test_h6_one_device_begins_ten_payments_a_day(street: Street) -> None:
    first = street.browser()
    await first.open()
    cookie = first.cookies["__Host-device"]
    for number in range(10):
        browser = await device_alone(street, cookie, number)
        assert browser.cookies["__Host-device"] == cookie
        await browser.pay(await browser.begin(), GOOD)
    eleventh = await device_alone(street, cookie, 11)
    assert (await eleventh.give()).status_code == 429
    await street.pass_until(await street.value("select min(started_at) from card_attempt") + 24 * HOUR - MARGIN)
    late = await device_alone(street, cookie, 12)
    assert (await late.give()).status_code == 429
    await street.pass_time(seconds=MARGIN.total_seconds())
    assert (await late.give()).status_code == 303


async def test_h6_a_browser_without_our_device_cookie_is_asked_for_a_code(street: Street) -> None:
    for cookie in (None, "AAAA", "A" * 43 + "="):
        browser = street.browser(f"203.0.113.{len(cookie or '')}")
        await browser.open()
        browser.cookies.pop("__Host-device")
        if cookie:
            browser.cookies["__Host-device"] = cookie
        assert (await browser.give()).headers["location"].endswith("/code")


async def test_h6_six_declines_in_an_hour_pause_the_source_for_thirty_minutes_to_the_second(street: Street) -> None:
    early = street.browser()
    await early.open()
    await early.decline(await early.begin(), 3)
    await street.pass_time(minutes=59)
    late = street.browser()
    await late.open()
    assert (await late.give()).headers["location"].endswith("/code")
    await late.look("/code")
    onwards = await late.enter(await street.code())
    await late.decline(onwards.headers["location"], 3)
    until = await street.value("select max(blocked_until) from card_source_block")
    assert until - await street.value("select max(declined_at) from card_decline") == timedelta(minutes=30)

    async def waits() -> int:
        browser = street.browser()
        await browser.open()
        answer = await browser.give()
        if answer.status_code == 429:
            assert "declined on your internet connection" in answer.text
        return answer.status_code

    await street.pass_until(until - MARGIN)
    assert await waits() == 429
    await street.pass_until(until)
    assert await waits() == 303


async def test_h7_many_declines_of_one_partner_alert_and_ask_all_its_donors_for_a_code(street: Street) -> None:
    started = street.service.clock.real_now()
    for number in range(10):
        await street.pass_time(seconds=30)
        browser = street.browser(f"198.51.100.{number}")
        await browser.open()
        await browser.decline(await browser.begin(), 3)
    assert await street.value("select count(*) from card_testing_alert") == 0  # thirty are not more than thirty
    calm = street.browser("192.0.2.50")
    await calm.open()
    url = await calm.begin()
    with capture_logs() as lines:
        await calm.decline(url, 2)
    reported = [line for line in lines if line["event"] == "card_testing_suspected"]
    assert [(line["log_level"], line["declines"], line["attempts"]) for line in reported] == [("error", 31, 31)]
    assert reported[0]["partner"].startswith("sandbox_partner_")
    assert await street.value("select code_required_until - raised_at from card_testing_alert") > timedelta(minutes=30)
    raised = await street.value("select raised_at from card_testing_alert")
    assert raised - started <= timedelta(minutes=10)
    async with street.service.db.read() as tx:
        assert list(await card_testing.load_active_alert_expiries_by_partner(tx)) == [
            await tx.fetchval("select partner_id from donation_session limit 1")
        ]
    innocent, other = street.browser("192.0.2.60"), street.browser("192.0.2.61")
    await innocent.open()
    assert (await innocent.give()).headers["location"].endswith("/code")
    stranger = street.service.client((await street.service.tenant()).secret)
    street.api, mine = stranger, street.api
    await other.open()
    assert "/pay/" in (await other.give()).headers["location"]
    street.api = mine
    await stranger.close()
    await street.pass_time(minutes=30)
    calmed = street.browser("192.0.2.62")
    await calmed.open()
    assert "/pay/" in (await calmed.give()).headers["location"]


async def test_h7_administrators_see_who_is_attacked(street: Street) -> None:
    await street.link()
    async with street.service.db.write() as tx:
        partner = Partner(await tx.fetchval("select partner_id from donation_session"))
        assert await card_testing_store.raise_card_testing_alert(tx, partner, 31, 40)
    async with street.service.db.write() as tx:
        assert not await card_testing_store.raise_card_testing_alert(tx, partner, 32, 41)
        shown = iso_timestamp(tx.real_now + ALERT_DURATION)
    settings = street.service.services.settings
    given = {"ALMONER_DATABASE_URL": settings.dsn, "ALMONER_MASTER_KEY": b64encode(settings.master_key_bytes).decode()}
    listing = await asyncio.create_subprocess_exec(ALMONER, "partners", "list", env=given, stdout=PIPE)
    stated, _ = await listing.communicate()
    (line,) = [line for line in stated.decode().splitlines() if shown in line]
    assert line.startswith(street.service.db.deployment.ids.encode("partner", partner.id))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run_worker(street.service.services, "server", stop))
        metrics = street.service.services.telemetry.render_metrics
        await eventually(lambda: b"almoner_card_testing_partners 1.0" in metrics(), within=30)
        stop.set()


async def test_h7_paid_gifts_count_as_tries_that_were_no_declines(street: Street) -> None:
    for number in range(3):
        browser = street.browser(f"198.51.100.{number}")
        await browser.open()
        url = await browser.begin()
        await browser.decline(url, 2)
        await browser.pay(url, GOOD)
    async with street.service.db.read() as tx:
        row = await tx.fetchrow(
            "select partner_id, address_hash, device_hash from card_attempt order by started_at limit 1"
        )
        assert row is not None
        seen = await card_testing_store.count_recent_declines(
            tx, Partner(row["partner_id"]), BrowserFingerprint(row["address_hash"], row["device_hash"])
        )
    assert seen == RecentDeclines(
        ip_address_decline_count=2, device_decline_count=2, partner_decline_count=6, partner_attempt_count=9
    )
    assert await street.value("select sum(attempts) from payment") == 9  # what a partner's donation knows of them


def test_h6_production_has_strict_brakes() -> None:
    with pytest.raises(InvalidSettings) as refused:
        configuration.read_settings(environment="production", card_testing_limits="loose")
    assert any("must be strict in production" in problem for problem in refused.value.problems)
    assert configuration.read_settings(environment="sandbox").card_testing_mode == "loose"
    assert (
        configuration.read_settings(environment="sandbox", card_testing_limits="strict").card_testing_mode == "strict"
    )


async def test_the_page_of_the_code_is_for_whoever_was_asked(street: Street) -> None:
    browser = street.browser()
    await browser.open()
    assert (await browser.look("/code")).headers["location"] == browser.path
    assert (await browser.enter("123456")).headers["location"] == browser.path
    donor = await code_asked(street)
    donor.csrf = "x"
    assert (await donor.enter(await street.code())).status_code == 403
    stranger = street.browser()
    stranger.path = donor.path
    assert (await stranger.look("/code")).status_code == 403


async def test_what_the_brakes_know_is_forgotten_after_a_day(street: Street) -> None:
    await code_asked(street)
    tables = ("card_attempt", "card_decline", "donation_email_code")
    await street.pass_time(hours=23, minutes=58)
    assert [await street.value(f"select count(*) > 0 from {table}") for table in tables] == [True] * 3
    await street.pass_time(minutes=3)
    assert [await street.value(f"select count(*) from {table}") for table in tables] == [0] * 3


async def test_partners_may_try_declined_cards_in_the_sandbox_as_often_as_they_like(
    empty_database: TestDatabase,
) -> None:
    async with open_town(empty_database, card_testing_limits=None) as loose, open_street(loose) as street:
        for _ in range(8):
            browser = street.browser()
            await browser.open()
            await browser.decline(await browser.begin(), 5)
        assert await street.tries() == 40
        assert await street.value("select count(*) from card_source_block") == 0
        assert await street.value("select count(*) from card_testing_alert") == 0


async def test_u6_what_nobody_sees_is_not_stored_and_an_address_that_no_mail_reaches_is_refused(street: Street) -> None:
    donor = street.browser()
    await donor.open()
    for address in ("ada..b@example.org", "ada.@example.org", "jürgen@example.org"):
        refused = await donor.give(email=address)
        assert refused.status_code == 422, address
        assert "Enter an email address in the correct format" in refused.text
    await donor.begin(
        email="\u202aamina@exämple.org\u202c\u200b", first_name="\u2060Ami\u200bna", last_name="Ko\u0308hler"
    )
    stored = await street.value("select email || '|' || first_name || '|' || last_name from donation")
    assert stored == "amina@exämple.org|Amina|Köhler"
