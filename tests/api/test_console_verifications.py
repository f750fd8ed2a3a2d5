"""Verifications and flags in the console: in the queue of reviews, decided by one or by two."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from almoner.access.operators import service as operators
from almoner.access.people.domain import Person
from almoner.console.review_verifications import waiting_item_path
from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import InvalidState
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import bank, factories, watchlists
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.console import act, closed, entries, refused, words
from tests.support.operators import operator, signed_in
from tests.support.payouts import uuid_of
from tests.support.service import Service
from tests.support.terminal import BY
from tests.support.verifications import shown

HOME = "/operator/reviews"


@pytest.fixture
async def person(service: Service) -> Person:
    """A reviewer."""
    return await operator(service, "reviewer")


@pytest.fixture
async def reviewer(service: Service, person: Person) -> AsyncIterator[Browser]:
    """Their browser."""
    browser = await signed_in(service, person)
    yield browser
    await browser.close()


@pytest.fixture
async def flag(service: Service, api: Client) -> str:
    """The page of an open flag: another account was proposed after the check."""
    made = await factories.verification(service, api)
    await service.drain()
    await bank.account(service, made["organisationId"], holder="Any name")
    async with service.db.read() as tx:
        [found] = await verifications.list_flags(tx, uuid_of(service, "monetarydonationverification", made["id"]))
        return f"{HOME}/flags/{tx.ids.encode('verificationflag', found.id)}"


async def clear(browser: Browser, flag: str) -> int:
    """Clear it; the status of the answer."""
    await browser.get(f"{flag}/clear")
    return (await browser.post(f"{flag}/clear", note="Seen the bank's letter")).status_code


async def looks_at(service: Service, flag: str) -> tuple[str, int]:
    """The status of the flag, and how many people have reviewed it."""
    flag_id = uuid_of(service, "verificationflag", flag.rpartition("/")[2])
    async with service.db.read() as tx:
        found = await verifications.get_flag(tx, flag_id)
    return found.status, sum(1 for look in (found.first_review, found.second_review) if look)


async def test_verifications_and_flags_stand_in_the_queue(
    service: Service, api: Client, reviewer: Browser, flag: str
) -> None:
    name = flag.rpartition("/")[2]
    made = await factories.verification(service, api)
    for filters in ("", "kind=verification_flag"):
        assert name in (await reviewer.get(f"{HOME}.csv?{filters}")).text, filters
    for filters in ("", "kind=monetary_donation_verification"):
        assert made["id"] in (await reviewer.get(f"{HOME}.csv?{filters}")).text, filters
    for filters in ("kind=appeal", "kind=verification_flag", "holder=mine", "country=GBR", "due=overdue"):
        assert made["id"] not in (await reviewer.get(f"{HOME}.csv?{filters}")).text, filters
    assert "Flags" in (await reviewer.get("/operator/desk")).text
    page = (await reviewer.get(f"{HOME}/verifications/{made['id']}")).text
    assert "Approve verification" in page
    assert "Reopen verification" not in page
    assert (await reviewer.get(f"{HOME}/verifications/{name}")).status_code == 404


async def next_from(reviewer: Browser, page: str) -> str:
    """The path that the page of a verification or flag leads to as the next case."""
    shown = (await reviewer.get(page)).text
    [after] = re.findall(r'name="after" value="([^"]+)"', shown)
    return str((await reviewer.post(f"{HOME}/next", after=after)).headers["location"])


async def test_the_next_case_can_be_a_verification_or_a_flag(service: Service, reviewer: Browser, flag: str) -> None:
    """Each leads to the next one, so that one that cannot be decided does not hold up the others."""
    async with service.db.read() as tx:
        waiting = await verifications.list_waiting_review_items(tx, 1000)
        paths = [waiting_item_path(tx, one) for one in waiting]
    assert f"/operator{paths[-1]}" == flag, "raised last"
    page = f"/operator{paths[-2]}"
    while "?done=claimed" in (following := await next_from(reviewer, page)):
        pass  # older cases come first
    assert following == flag
    assert await clear(reviewer, flag) == 303
    assert await next_from(reviewer, page) == HOME, "somebody else has to clear it now"
    other = await signed_in(service, await operator(service, "reviewer"))
    while "?done=claimed" in (following := await next_from(other, page)):
        pass
    assert following == flag
    await other.close()


async def test_one_person_never_clears_a_flag_by_two_tabs_a_replay_or_beside(
    service: Service, reviewer: Browser, person: Person, flag: str
) -> None:
    tab = await signed_in(service, person)
    assert "0 of 2" in (await reviewer.get(flag)).text
    await asyncio.gather(reviewer.get(f"{flag}/clear"), tab.get(f"{flag}/clear"))
    answers = await asyncio.gather(
        *(browser.post(f"{flag}/clear", note="Seen the bank's letter") for browser in (reviewer, tab, reviewer, tab))
    )
    assert sorted(one.status_code for one in answers) == [303, 409, 409, 409]
    assert await looks_at(service, flag) == ("open", 1)
    flag_id = uuid_of(service, "verificationflag", flag.rpartition("/")[2])
    by = service.db.deployment.ids.encode("operator", person.id)
    with pytest.raises(InvalidState):
        async with service.db.write() as tx:
            await verifications.review_flag(tx, flag_id, note="The command beside", reviewed_by=by)
    second = await operator(service, "reviewer")
    page = (await reviewer.get(flag)).text
    assert "1 of 2" in page
    assert "/clear" not in page
    assert "somebody else must do this step. With the role reviewer:" in (await reviewer.get(f"{flag}/clear")).text
    other = await signed_in(service, second)
    assert "You are the second of two reviewers" in (await other.get(f"{flag}/clear")).text
    assert await clear(other, flag) == 303
    assert await looks_at(service, flag) == ("lifted", 2)
    assert await clear(other, flag) == 409
    assert await entries(service, "verification.flag_reviewed", flag.rpartition("/")[2]) == 2
    await tab.close()
    await other.close()


async def test_eight_reviewers_at_once_clear_a_flag_once(service: Service, flag: str) -> None:
    browsers = [await signed_in(service, await operator(service, "reviewer")) for _ in range(8)]
    assert sorted(await asyncio.gather(*(clear(one, flag) for one in browsers))) == [303] * 2 + [409] * 6
    assert await looks_at(service, flag) == ("lifted", 2)
    for one in browsers:
        await one.close()


async def test_a_verification_is_rejected_with_a_reason_and_opened_again(
    service: Service, api: Client, reviewer: Browser
) -> None:
    made = await factories.verification(service, api)
    await service.drain()
    page = f"{HOME}/verifications/{made['id']}"
    await reviewer.get(f"{page}/reject")
    assert (await reviewer.post(f"{page}/reject", reason="mood", note="x")).status_code == 422
    assert (await reviewer.post(f"{page}/reject", reason="no_response", note="Wrote twice")).status_code == 303
    assert (await shown(api, made))["rejectionReasonCode"] == "no_response"
    assert "Wrote twice" in (await reviewer.get(page)).text
    assert (await reviewer.post(f"{page}/approve", note="Again")).status_code == 409
    await reviewer.get(f"{page}/reopen")
    assert (await reviewer.post(f"{page}/reopen", note="They answered")).status_code == 303
    assert (await shown(api, made))["status"]["type"] == "pending"
    about = (await reviewer.get(f"{page}/approve")).text
    for part in ("Your approval confirms the open checks: ", "We do not send an email", "Two-person approval is off"):
        assert part in about, part
    assert (await reviewer.post(f"{page}/approve", note="They called back")).status_code == 303
    assert (await shown(api, made))["status"]["type"] == "approved"
    for action in ("verification.rejected", "verification.reopened", "verification.approved"):
        assert await entries(service, action, page.rpartition("/")[2]) == 1, action


async def test_the_queue_says_who_gave_the_first_of_two_approvals(alone: Service) -> None:
    async with alone.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=True)
    api = alone.client((await alone.tenant()).secret)
    made = await factories.verification(alone, api)
    await alone.drain()
    browsers = [await signed_in(alone, await operator(alone, "reviewer")) for _ in range(2)]
    page = f"{HOME}/verifications/{made['id']}/approve"
    assert "The second of 2 approvals" not in (await browsers[1].get(f"{HOME}.csv")).text
    await act(browsers[0], page, note="They called back")
    queue = (await browsers[1].get(f"{HOME}.csv?kind=monetary_donation_verification")).text
    assert "The second of 2 approvals, after " in queue
    await act(browsers[1], page, note="Seen the letter")
    assert made["id"] not in (await browsers[1].get(f"{HOME}.csv")).text
    for one in browsers:
        await one.close()
    await api.close()


async def test_the_next_case_is_none_that_waits_for_the_approval_of_somebody_else(alone: Service) -> None:
    """A reviewer who gave the first of two approvals can do nothing more, so others come next."""
    async with alone.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=True)
    api = alone.client((await alone.tenant()).secret)
    approved, other = [f"{HOME}/verifications/{(await factories.verification(alone, api))['id']}" for _ in range(2)]
    await alone.drain()
    first, second = [await signed_in(alone, await operator(alone, "reviewer")) for _ in range(2)]
    await act(first, f"{approved}/approve", note="They called back")
    following = []
    for browser in (first, second):
        await browser.get(approved)
        following.append((await browser.post(f"{HOME}/next")).headers["location"])
        await browser.close()
    assert following == [other, approved]
    await api.close()


async def test_a_first_approval_of_evidence_that_has_changed_since_counts_no_more(alone: Service) -> None:
    async with alone.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=True)
    api = alone.client((await alone.tenant()).secret)
    changed, other = [await factories.verification(alone, api) for _ in range(2)]
    await alone.drain()
    people = [await operator(alone, "reviewer") for _ in range(3)]
    first, second, third = [await signed_in(alone, one) for one in people]
    await act(first, f"{HOME}/verifications/{changed['id']}/approve", note="They called back")
    await act(second, f"{HOME}/verifications/{other['id']}/approve", note="Seen the letter")
    async with alone.db.write() as tx:
        changed_id = uuid_of(alone, "monetarydonationverification", changed["id"])
        await verifications.record_check_outcome(
            tx, ALL_PARTNERS, changed_id, "bank_details", "succeeded", decided_by="bank"
        )
        await operators.set_roles(tx, BY, people[1].id, ["finance"])
    assert "The second of 2 approvals" not in (await third.get(f"{HOME}.csv")).text
    for name in (changed["id"], other["id"]):
        await third.open(f"{HOME}/verifications/{name}/approve")
        assert "has confirmed this action" not in words(third)
    await first.open(f"{HOME}/verifications/{changed['id']}/approve")
    assert "Nothing changes until a second person" in words(first)
    assert (await first.post(f"{HOME}/next")).headers["location"] == f"{HOME}/verifications/{changed['id']}"
    for browser in (first, second, third):
        await browser.close()
    await api.close()


async def test_the_next_case_is_none_that_waits_only_for_the_nonprofits_answer(alone: Service, tmp_path: Path) -> None:
    """One whose name a reviewer has to look up in the watchlists does not only wait for the nonprofit."""
    await watchlists.Lists(alone.db, tmp_path).load(watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA"))
    api = alone.client((await alone.tenant()).secret)
    unread = await factories.nonprofit(alone, name="የኢትዮጵያ ቀይ መስቀል")
    made = [await factories.verification(alone, api, organisation=one) for one in (None, unread, None)]
    await alone.drain()
    browser = await signed_in(alone, await operator(alone, "reviewer"))
    asked, unscreened, unasked = [f"{HOME}/verifications/{one['id']}" for one in made]
    await browser.get(asked)
    assert (await browser.post(f"{HOME}/next")).headers["location"] == asked
    for number, page in enumerate((asked, unscreened)):
        contact = {"email": f"office@nonprofit{number}.example.org", "source": "https://register.example/12"}
        await act(browser, f"{page}/request-confirmation", language="de", **contact)
    assert (await browser.post(f"{HOME}/next")).headers["location"] == unscreened
    assert await next_from(browser, unscreened) == unasked
    assert made[0]["id"] in (await browser.get(f"{HOME}.csv")).text, "it stays in the list"
    async with alone.db.write() as tx:
        verification_id = uuid_of(alone, "monetarydonationverification", made[0]["id"])
        await verifications.record_check_outcome(
            tx, ALL_PARTNERS, verification_id, "organisation_confirmation", "succeeded", decided_by="operator_1"
        )
    await browser.get(unscreened)
    assert (await browser.post(f"{HOME}/next")).headers["location"] == asked, "its account is missing"
    await browser.close()
    await api.close()


async def test_a_nonprofit_is_asked_and_its_answer_shown(service: Service, api: Client, reviewer: Browser) -> None:
    made = await factories.verification(service, api)
    await service.drain()
    page = f"{HOME}/verifications/{made['id']}"
    await reviewer.open(page)
    assert "The nonprofit has not been asked yet." in words(reviewer)
    ask = f"{page}/request-confirmation"
    where = {"source": "https://register.example/12", "language": "de"}
    assert "not a personal one" in await refused(reviewer, ask, email="ada.byron@gmail.com", **where)
    assert "Enter an email address such as" in await refused(reviewer, ask, email="nobody", **where)
    office = f"office@{factories.unique('n').replace(' ', '')}.example.org"
    await act(reviewer, ask, email=office, **where)
    assert "We have asked the nonprofit." in words(reviewer)
    assert f"{office} https://register.example/12" in words(reviewer)
    await reviewer.open(f"/operator/organisations/{made['organisationId']}")
    assert f"Contact address {office} (https://register.example/12)" in words(reviewer)
    assert f'value="{office}"' in (await reviewer.open(ask)).text
    await service.drain()
    [mail] = data(await api.get("/v1/sandbox/mailbox", to=office))
    assert "Spenden" in mail["text"]
    async with service.db.write() as tx:
        verification_id = uuid_of(service, "monetarydonationverification", made["id"])
        [asked] = await organisation_confirmations.list_confirmations(tx, verification_id)
        seen = (await organisation_confirmations.load_page_content(tx, asked.id)).fingerprint.hex()
        await organisation_confirmations.record_answer(
            tx, asked.id, "confirmed", respondent_name="Olive", respondent_role="Treasurer", page_fingerprint=seen
        )
    await reviewer.open(page)
    assert "Olive, Treasurer" in words(reviewer)
    assert "There is nothing for the nonprofit to confirm." in await closed(reviewer, ask)
    assert await entries(service, "verification.confirmation_requested", made["id"]) == 1
    assert await entries(service, "organisation.contact_recorded", made["organisationId"]) == 1


async def test_only_reviewers_open_them(service: Service, flag: str) -> None:
    finance = await signed_in(service, await operator(service, "finance"))
    assert [(await finance.get(path)).status_code for path in (flag, f"{flag}/clear")] == [403, 403]
    await finance.close()
