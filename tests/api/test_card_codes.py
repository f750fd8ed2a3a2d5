"""The code by e-mail that shows the brakes that a person gives (H11): over real HTTP."""

from datetime import timedelta

import pytest

from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Partner
from tests.support.card_testing import FORM, Street, code_asked

MARGIN = timedelta(seconds=20)
"""Real time passes while a test runs; the units prove the exact moments."""


async def test_h11_five_wrong_codes_end_a_code(street: Street) -> None:
    donor = await code_asked(street)
    right = await street.code()
    wrong = f"{(int(right) + 1) % 10**6:06}"
    assert "Enter the 6-digit code" in (await donor.enter(" ")).text
    for _ in range(5):
        answer = await donor.enter(wrong)
        assert (answer.status_code, "The code is incorrect" in answer.text) == (422, True)
    over = await donor.enter(right)
    assert (over.status_code, "This code no longer works" in over.text) == (422, True)


async def test_h11_a_code_lives_ten_minutes(street: Street) -> None:
    donor = await code_asked(street)
    right = await street.code()
    sent = await street.value("select sent_at from donation_email_code")
    await street.pass_until(sent + timedelta(minutes=10) - MARGIN)
    assert "The code is incorrect" in (await donor.enter("1")).text
    await street.pass_until(sent + timedelta(minutes=10))
    assert "This code no longer works" in (await donor.enter(right)).text


async def test_h11_a_code_opens_one_payment(street: Street) -> None:
    donor = await code_asked(street)
    right = await street.code()
    spaced = f" {right[:3]} {right[3:]} "
    onwards = (await donor.enter(spaced)).headers["location"]
    assert (await donor.enter(right)).headers["location"] == onwards  # sent twice: the same payment
    await donor.decline(onwards, 2)
    assert "This code no longer works" in (await donor.enter(right)).text


async def test_h11_a_new_code_takes_the_place_of_the_earlier_one_and_three_are_sent_an_hour(street: Street) -> None:
    donor = await code_asked(street)
    first = await street.code()
    await street.pass_time(seconds=1)
    assert "We have sent a new code" in (await donor.again()).text
    second = await street.code()
    assert second != first
    await street.pass_time(seconds=1)
    assert "The code is incorrect" in (await donor.enter(first)).text
    assert (await donor.again()).status_code == 200
    refused = await donor.again()
    assert (refused.status_code, "We cannot send any more codes to this email address" in refused.text) == (429, True)
    assert "You can try again in about 60 minutes." in refused.text
    assert len(await street.mails(FORM["email"])) == 3
    assert "/pay/" in (await donor.enter(await street.code())).headers["location"]


async def test_h11_an_address_that_many_share_has_twenty_codes_an_hour(street: Street) -> None:
    answers = []
    for number in range(21):
        donor = street.browser()
        await donor.open()
        donor.cookies.pop("__Host-device")
        answers.append(await donor.give(email=f"donor{number}@example.org"))
    assert [answer.status_code for answer in answers] == [303] * 20 + [429]
    assert (
        "Too many codes have been requested from your network, possibly by someone else who uses it."
        in answers[-1].text
    )
    assert "You can try again in about 60 minutes." in answers[-1].text


@pytest.mark.parametrize(("language", "side"), [("ar", "right"), ("en", "left")])
async def test_h9_the_code_stands_where_the_lines_of_the_language_begin(
    street: Street, language: str, side: str
) -> None:
    donor = street.browser()
    await donor.open(await street.link(language=language))
    donor.cookies.pop("__Host-device")
    await donor.give()
    assert f'<p dir="ltr" align="{side}"' in (await street.mails(FORM["email"]))[0]["html"]


async def test_h11_asking_again_for_the_same_gift_sends_no_second_mail(street: Street) -> None:
    donor = await code_asked(street)
    for _ in range(3):
        assert (await donor.give()).headers["location"].endswith("/code")
    assert len(await street.mails(FORM["email"])) == 1
    assert (await donor.give(email="b@example.org")).headers["location"].endswith("/code")
    assert "b•••@example.org" in (await donor.look("/code")).text
    assert "/pay/" in (await donor.enter(await street.code("b@example.org"))).headers["location"]


async def test_while_the_partner_is_paused_no_code_is_asked_for_or_sent(street: Street) -> None:
    donor = await code_asked(street)
    async with street.service.db.write() as tx:
        partner = Partner(await tx.fetchval("select partner_id from donation_session"))
        await partners.pause(tx, partner, "Complaints about its pages")
    for answer in (await donor.get(f"{donor.path}/code"), await donor.again(), await donor.enter("1")):
        assert (answer.status_code, answer.headers.get("location")) == (303, donor.path)
    assert "Donations are paused" in (await donor.get(donor.path)).text
    async with street.service.db.write() as tx:
        await partners.resume(tx, partner)
    assert len(await street.mails(FORM["email"])) == 1


async def test_h11_neither_code_nor_address_stands_in_the_database(street: Street) -> None:
    donor = await code_asked(street)
    right = await street.code()
    stored = await street.value(
        """
        select string_agg(t::text, ' ') from (
            select to_jsonb(g) t from donation_email_code g union all select to_jsonb(a) from card_attempt a
            union all select to_jsonb(d) from card_decline d
        ) rows
        """
    )
    assert right not in stored
    assert donor.address not in stored
    assert FORM["email"] not in stored
