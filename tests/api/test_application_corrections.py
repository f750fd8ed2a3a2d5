"""What an applicant corrects on the page of an application: the address, and the number (spec 3.5, 4.7)."""

from itertools import count
from typing import Any

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.validation.agents import service as agents_service
from almoner.validation.requests.domain import MAX_CORRECTIONS
from tests.support import agents, appeals
from tests.support.applications import PERSON, Form, configured, invited
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.operators import operator, signed_in
from tests.support.service import Service
from tests.support.submissions import applied, ended, shown, simulate, told
from tests.support.validation import evidence

UNLISTED = {"country": "USA", "name": "Nobody Knows Us", "registry": "IRS", "website": "www.nobody.example"}
ELIGIBILITY = "/v1/eligibility-subscriptions"
_numbers = count(1)


def somebody() -> str:
    """An address that no other test uses."""
    return f"amina{next(_numbers)}@corrections.example"


async def sent(
    service: Service, api: Client, email: str, number: str | None = None
) -> tuple[Form, dict[str, Any], str]:
    """A form that was sent, of a nonprofit with this number where one is given; the record, and its page."""
    form = Form(service, await invited(api))
    await form.open()
    if number is None:
        await form.fill(email=email)
    else:
        await form.answer("/nonprofit/other", {**UNLISTED, "number": number})
        await form.answer("/person", {**PERSON, "email": email})
        await form.answer("/documents/done", {})
    home = await form.send()
    made = await ended(service, api, data(await api.get("/v1/validation-submissions"))[0])
    await form.browser.open(home)
    return form, made, home


async def mails(service: Service, api: Client, email: str) -> list[dict[str, Any]]:
    """What was written to somebody, newest first."""
    await service.drain()
    return list(data(await api.get("/v1/sandbox/mailbox", to=email, pageSize=100)))


def links(written: list[dict[str, Any]], path: str) -> list[str]:
    """The addresses in mails that lead to a page."""
    return [link for mail in written for link in mail["links"] if f"/{path}?" in link]


async def audited(service: Service, record: dict[str, Any]) -> list[str]:
    """What is recorded of it, oldest first."""
    async with service.db.read() as tx:
        rows = await tx.fetch("select action from audit_entry where subject = $1 order by id", record["id"])
    return [row["action"] for row in rows]


def stranger(service: Service) -> Browser:
    """A browser that has seen nothing."""
    return Browser(service.app, service.db.deployment.base_urls.pages, "198.51.100.80")


async def test_u1_the_browser_that_sent_the_form_corrects_the_address(service: Service, api: Client) -> None:
    wrong, right = somebody(), somebody()
    form, made, home = await sent(service, api, wrong)
    before = await mails(service, api, wrong)
    old_code = agents.code_in(next(mail for mail in before if links([mail], "confirm")))
    service.clock.advance(seconds=5)
    assert wrong in (await form.browser.open(home)).text
    answer = await form.browser.post(f"{home}/email", {"email": right})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}?did=mailed")
    assert f"We have sent an email to <bdi>{right}</bdi>" in (await form.browser.open(answer.headers["location"])).text
    after = await shown(api, made)
    assert (after["agentVerification"]["email"], after["agentVerification"]["status"]) == (right, "pending")
    assert after["agentVerificationId"] != made["agentVerificationId"]
    old = data(await api.get(f"/v1/agent-verifications/{made['agentVerificationId']}"))
    assert (old["email"], old["status"], old["rejectionReasonCode"]) == (wrong, "rejected", "reapply")
    # The partner is told: of the first, and of the record as it is now.
    heard = await told(service, api)
    assert [name for name, _ in heard] == ["created", "updated"]
    assert heard[-1][1]["agentVerification"]["email"] == right
    assert "application.email_corrected" in await audited(service, made)
    # Link and code of before are void, those of the new mail work.
    elsewhere = stranger(service)
    page = await elsewhere.open(links(before, "confirm")[0])
    assert (page.status_code, "This link no longer works" in page.text) == (410, True)
    written = await mails(service, api, right)
    await elsewhere.open(f"/confirm/{after['agentVerificationId']}")
    refused = await elsewhere.post(f"/confirm/{after['agentVerificationId']}", {"code": old_code})
    assert refused.status_code == 422
    await elsewhere.open(links(written, "confirm")[0])
    assert (await elsewhere.post(f"/confirm/{after['agentVerificationId']}", {"confirm": "yes"})).status_code == 303
    done = await shown(api, made)
    assert done["agentVerification"]["status"] in ("pending_review", "approved")
    assert len(await mails(service, api, wrong)) == len(before)


async def test_u1_who_has_only_the_mailed_link_corrects_no_address(service: Service, api: Client) -> None:
    email = somebody()
    form, made, home = await sent(service, api, email)
    mailed = stranger(service)
    page = await mailed.open(links(await mails(service, api, email), "application")[0])
    assert email not in page.text
    assert "a…@c….example" in page.text
    assert (await mailed.post(f"{home}/email", {"email": somebody()})).status_code == 404
    assert (await shown(api, made))["agentVerification"]["email"] == email
    await form.browser.open(home)
    refused = await form.browser.post(f"{home}/email", {"email": somebody()}, site="cross-site")
    assert refused.status_code == 403


async def test_u1_links_that_went_to_the_wrong_address_show_the_application_no_more(
    service: Service, api: Client
) -> None:
    wrong, right = somebody(), somebody()
    form, _, home = await sent(service, api, wrong)
    [link] = links(await mails(service, api, wrong), "application")
    finder = stranger(service)
    assert "Your application to" in (await finder.open(link)).text
    service.clock.advance(seconds=5)
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": right})).status_code == 303
    for opened in (await finder.open(home), await finder.open(link), await stranger(service).open(link)):
        assert "This link has expired" in opened.text
    assert (await finder.post(f"{home}/appeal", {"text": "Mine.", "csrf": "x"})).status_code in (303, 404)
    [fresh] = links(await mails(service, api, right), "application")
    assert "Your application to" in (await finder.open(fresh)).text


async def test_u1_what_was_to_be_mailed_before_a_correction_leads_to_the_application_all_the_same(
    service: Service, api: Client
) -> None:
    wrong, right = somebody(), somebody()
    form, made, home = await sent(service, api, wrong, "99-1234598")
    service.clock.advance(minutes=10, seconds=5)  # what is missing is due, and has not been mailed
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": right})).status_code == 303
    written = await mails(service, api, right)
    assert len([mail for mail in written if "We need more information" in mail["subject"]]) == 1
    for link in links(written, "application"):
        assert "Your application to" in (await stranger(service).open(link)).text
    assert not [mail for mail in await mails(service, api, wrong) if "We need more information" in mail["subject"]]
    assert (await shown(api, made))["status"] == "pending"


async def test_u1_an_application_is_acknowledged_once_at_the_address_of_now(service: Service, api: Client) -> None:
    wrong, right = somebody(), somebody()
    form = Form(service, await invited(api))
    await form.open()
    await form.fill(email=wrong)
    home = await form.send()  # nothing is mailed yet
    service.clock.advance(seconds=5)
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": right})).status_code == 303
    [link] = links(await mails(service, api, right), "application")
    assert "Your application to" in (await stranger(service).open(link)).text
    assert await mails(service, api, wrong) == []


async def test_u1_the_address_is_corrected_after_a_reversed_appeal_too(service: Service, api: Client) -> None:
    wrong, right = somebody(), somebody()
    form, made, home = await sent(service, api, wrong)
    await simulate(api, made["agentVerificationId"], "reject", rejectionReasonCode="other")
    failed = await ended(service, api, made)
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    assert (await ended(service, api, made))["agentVerification"]["status"] == "pending_user_verification"
    service.clock.advance(seconds=5)
    await form.browser.open(home)
    answer = await form.browser.post(f"{home}/email", {"email": right})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}?did=mailed")
    after = await ended(service, api, made)
    assert (after["status"], after["agentVerification"]["email"]) == ("failed", right)
    assert [one["code"] for one in after["requirements"]] == ["confirmation"]
    await simulate(api, after["agentVerificationId"], "confirm_email")
    await simulate(api, after["agentVerificationId"], "approve")
    assert (await ended(service, api, made))["status"] == "succeeded"


async def test_u1_mails_are_limited_exactly(service: Service, api: Client) -> None:
    form, made, home = await sent(service, api, somebody())
    codes = []
    for _ in range(6):
        await form.browser.open(home)
        codes.append((await form.browser.post(f"{home}/email", {"email": somebody()})).status_code)
    assert codes == [303, 303, 303, 303, 429, 429]  # with the first one five a day
    assert "We cannot send any more emails" in (form.browser.page.text if form.browser.page else "")
    assert (await audited(service, made)).count("application.email_corrected") == 4
    last = (await shown(api, made))["agentVerification"]["email"]
    service.clock.advance_wall(days=1, seconds=1)
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": last})).status_code == 303  # the same once more
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": last})).status_code == 429  # not within the minute
    assert (await shown(api, made))["agentVerification"]["email"] == last
    assert "application.confirmation_resent" in await audited(service, made)


async def test_u1_no_address_is_written_to_more_often_than_it_may_be(service: Service, api: Client) -> None:
    full, own = somebody(), somebody()
    form, made, home = await sent(service, api, own)
    verification = service.db.deployment.ids.decode("agentverification", made["agentVerificationId"])
    async with service.db.write() as tx:  # the sandbox's share of an hour, of somebody else's applications
        other = await agents_service.correct_email(tx, ALL_PARTNERS, await _another(service, api), full)
        assert other is not None
        sql = "insert into agent_confirmation (id, verification_id, sent_at) values ($1, $2, $3)"
        await tx.executemany(sql, [(tx.new_id(), other.id, tx.real_now) for _ in range(99)])
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": full.upper()})).status_code == 429
    after = await shown(api, made)
    assert service.db.deployment.ids.decode("agentverification", after["agentVerificationId"]) == verification


async def _another(service: Service, api: Client) -> Any:
    made = await agents.create(service, api, email=somebody())
    return service.db.deployment.ids.decode("agentverification", made["id"])


async def test_u1_what_was_reviewed_at_another_address_is_reviewed_anew(service: Service, api: Client) -> None:
    form, made, home = await sent(service, api, somebody())
    await simulate(api, made["agentVerificationId"], "approve")
    assert (await shown(api, made))["agentVerification"]["status"] == "pending_user_verification"
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/email", {"email": somebody()})).status_code == 303
    assert (await ended(service, api, made))["agentVerification"]["status"] == "pending"


async def test_u1_wrong_addresses_are_told_beside_the_field(service: Service, api: Client) -> None:
    email = somebody()
    form, made, home = await sent(service, api, email)
    for wrong, stated in (("", "Enter your email address"), ("amina@", "Enter an email address in the correct format")):
        await form.browser.open(home)
        answer = await form.browser.post(f"{home}/email", {"email": wrong})
        assert (answer.status_code, stated in answer.text) == (422, True)
        assert 'aria-describedby="email-problem" aria-invalid="true"' in answer.text
    assert (await shown(api, made))["agentVerification"]["email"] == email


async def test_u1_a_confirmed_address_is_corrected_no_more(service: Service, api: Client) -> None:
    form, made, home = await sent(service, api, somebody())
    csrf = form.browser.csrf
    await simulate(api, made["agentVerificationId"], "confirm_email")
    late = await form.browser.post(f"{home}/email", {"email": somebody(), "csrf": csrf})
    assert (late.status_code, "Your email address" in late.text) == (200, False)
    assert (await shown(api, made))["agentVerificationId"] == made["agentVerificationId"]


async def test_u2_a_number_that_no_register_lists_is_corrected(service: Service, api: Client) -> None:
    form, made, home = await sent(service, api, somebody(), "99-1234511")
    missing = made["requirements"][0]
    assert (missing["code"], missing["registryName"], missing["registryId"]) == (
        *("registration_evidence", "IRS"),
        "99-1234511",
    )
    assert missing["accepted"][:2] == ["corrected_registry_number", "registration_certificate"]
    assert "IRS, 99-1234511: " in missing["message"]
    page = (await form.browser.open(home)).text
    assert "under number" in page
    assert 'value="99-1234511"' in page
    service.clock.advance(seconds=1)
    answer = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": "99-1234512"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}?did=corrected")
    named = service.db.deployment.ids.decode("validationrequest", made["validationRequestId"])
    async with service.db.read() as tx:  # nobody decides about this number on what was found of the other
        asked = await tx.fetch("select status from review where subject_id = $1", named)
    assert [row["status"] for row in asked] == ["withdrawn"]
    after = await ended(service, api, made)
    assert after["requirements"][0]["registryId"] == "99-1234512"
    assert after["requirements"][0]["since"] > missing["since"]
    request = data(await api.get(f"/v1/validation-requests/{made['validationRequestId']}"))
    assert (request["registryId"], request["acceptedAt"]) == ("99-1234512", None)
    assert [one.occasion for one in await evidence(service, request)] == ["created", "corrected"]
    async with service.db.read() as tx:
        sql = "select registry_number from validation_request_correction where validation_request_id = $1"
        named = service.db.deployment.ids.decode("validationrequest", request["id"])
        assert [row[0] for row in await tx.fetch(sql, named)] == ["99-1234511"]
        reviews = await tx.fetch("select status from review where subject_id = $1 order by id", named)
    assert [row["status"] for row in reviews] == ["withdrawn", "open"]  # who decides is shown the number of now
    assert "application.number_corrected" in await audited(service, made)
    assert [name for name, _ in await told(service, api)] == ["created", "updated"]
    for number in ("99-1234511", "99-1234512"):
        found = data(await api.get("/v1/validation-submissions", query=number))
        assert [one["id"] for one in found] == [made["id"]]


async def test_a_corrected_number_answers_the_reviewer_who_asked_for_it(service: Service, api: Client) -> None:
    """The corrected request has a review of its own, which says that its applicant has answered."""
    form, made, home = await sent(service, api, somebody(), "99-1234560")
    reviewer = await signed_in(service, await operator(service, "reviewer"))
    name, queue = made["validationRequestId"], "/operator/reviews.csv?applicant="
    case = f"/operator/reviews/{name}"
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    await reviewer.get(f"{case}/request")
    assert (await reviewer.post(f"{case}/request", evidence="corrected_registry_number")).status_code == 303
    assert name in (await reviewer.get(f"{queue}waiting")).text
    service.clock.advance(minutes=1)
    await form.browser.open(home)
    assert (await form.browser.post(f"{home}/number", {"registry": "IRS", "number": "99-1234561"})).status_code == 303
    await service.drain()
    assert name not in (await reviewer.get(f"{queue}waiting")).text
    assert name in (await reviewer.get(f"{queue}answered")).text
    await reviewer.close()


async def test_u2_what_cannot_be_a_number_is_told_beside_its_field(service: Service, api: Client) -> None:
    form, made, home = await sent(service, api, somebody(), "99-1234513")
    for given, stated in (
        ({"registry": "", "number": ""}, "Select the register"),
        ({"registry": "IRS", "number": "twelve"}, "Enter a registration number in the format"),
        ({"registry": "CCEW", "number": "1173575"}, "Select the register"),  # of another country
        ({"registry": "IRS", "number": "991234513"}, "We have already checked this number"),
    ):
        await form.browser.open(home)
        answer = await form.browser.post(f"{home}/number", given)
        assert (answer.status_code, stated in answer.text) == (422, True), given
    assert (await shown(api, made))["requirements"] == made["requirements"]


async def test_u2_a_number_is_corrected_five_times_and_not_once_it_is_decided(service: Service, api: Client) -> None:
    form, made, home = await sent(service, api, somebody(), "99-1234520")
    csrf = form.browser.csrf
    for number in range(MAX_CORRECTIONS):
        given = {"registry": "IRS", "number": f"99-123453{number}", "csrf": csrf}
        assert (await form.browser.post(f"{home}/number", given)).status_code == 303
        await service.drain()
    page = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": "99-1234540", "csrf": csrf})
    assert (page.status_code, "Is the registration number correct?" in page.text) == (200, False)
    [missing, *_] = (await shown(api, made))["requirements"]
    assert (missing["registryId"], "corrected_registry_number" in missing["accepted"]) == ("99-1234534", False)
    form, made, home = await sent(service, api, somebody(), "99-1234521")
    csrf = form.browser.csrf
    await simulate(api, made["validationRequestId"], "reject", rejectionReasonCode="other")
    late = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": "99-1234522", "csrf": csrf})
    assert late.status_code == 200
    request = data(await api.get(f"/v1/validation-requests/{made['validationRequestId']}"))
    assert request["registryId"] == "99-1234521"


async def test_u2_a_request_that_others_rest_on_is_the_partners_to_correct(service: Service, api: Client) -> None:
    form, made, home = await sent(service, api, somebody(), "99-1234523")
    csrf = form.browser.csrf
    await applied(api, validationRequestId=made["validationRequestId"], email=somebody())
    await service.drain()
    assert "Is the registration number correct?" not in (await form.browser.open(home)).text
    late = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": "99-1234524", "csrf": csrf})
    assert late.status_code == 200
    assert (await shown(api, made))["requirements"][0]["registryId"] == "99-1234523"


@pytest.mark.parametrize("path", ["/v1/agent-verifications", "/v1/monitoring-subscriptions", ELIGIBILITY])
async def test_u2_what_the_partner_made_of_the_request_holds_its_number_too(
    service: Service, api: Client, path: str
) -> None:
    number, other = (f"99-12346{next(_numbers):02}" for _ in range(2))
    form, made, home = await sent(service, api, somebody(), number)
    csrf = form.browser.csrf
    named = {"firstName": "Ada", "lastName": "Byron", "email": somebody()} if "agent" in path else {}
    tags: dict[str, Any] = {"suggestedActivitySubTags": []} if path == ELIGIBILITY else {}
    data(await api.post(path, {"validationRequestId": made["validationRequestId"], **named, **tags}))
    assert "Is the registration number correct?" not in (await form.browser.open(home)).text
    late = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": other, "csrf": csrf})
    assert late.status_code == 200
    [missing, *_] = (await shown(api, made))["requirements"]
    assert (missing["registryId"], "corrected_registry_number" in missing["accepted"]) == (number, False)


async def test_u2_a_verification_that_was_replaced_holds_no_number(service: Service, api: Client) -> None:
    number, other = (f"99-12346{next(_numbers):02}" for _ in range(2))
    form, made, home = await sent(service, api, somebody(), number)
    for path, given in (("email", {"email": somebody()}), ("email", {"email": somebody()})):
        assert (await form.browser.post(f"{home}/{path}", given)).status_code == 303
        await form.browser.open(home)
    answer = await form.browser.post(f"{home}/number", {"registry": "IRS", "number": other})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}?did=corrected")
    assert (await ended(service, api, made))["requirements"][0]["registryId"] == other


async def test_u3_whoever_applies_is_written_to_whatever_is_checked(service: Service, api: Client) -> None:
    email = somebody()
    made = await configured(api, name="Alone", checks=["validation_request"])
    form = Form(service, await invited(api, hostedConfigId=made["id"]))
    await form.open()
    await form.answer("/nonprofit/other", {**UNLISTED, "number": "99-1234525"})
    page = await form.page("/person")
    assert "First name (optional)" in page
    nobody = await form.browser.post(f"{form.home}/person", {"email": ""})
    assert (nobody.status_code, "Enter your email address" in nobody.text) == (422, True)
    await form.answer("/person", {"first_name": "", "last_name": "", "email": email, "title": ""})
    await form.answer("/documents/done", {})
    await form.send()
    assert links(await mails(service, api, email), "application")
    service.clock.advance(minutes=11)
    assert any("We need more information" in mail["subject"] for mail in await mails(service, api, email))
