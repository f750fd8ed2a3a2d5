"""Asking the applicant of a case for evidence, and the queue of those who were asked."""

import re
import runpy
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from almoner import migrations
from tests.api.test_console_reviews import audited
from tests.support import agents, factories, hostile_pdfs, submissions
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.console import words
from tests.support.hostile_files import picture
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant
from tests.support.validation import UNHEARD_OF, decided

_AFTER = re.compile(r'name="after" value="([^"]+)"')


@pytest.fixture
async def reviewer(service: Service) -> AsyncIterator[Browser]:
    """A reviewer's browser."""
    browser = await signed_in(service, await operator(service, "reviewer"))
    yield browser
    await browser.close()


async def test_an_applicant_is_asked_instead_of_rejected(
    service: Service, api: Client, tenant: Tenant, reviewer: Browser
) -> None:
    configuration = await submissions.configured(api, "validation_request")
    made = await submissions.applied(api, configurationId=configuration, language="de", **UNHEARD_OF)
    await service.drain()
    request = made["validationRequestId"]
    case = f"/operator/reviews/{request}"
    await reviewer.get(case)
    assert f'href="{case}/request"' in (await reviewer.get(case)).text
    assert "Claim this case and review its evidence" in (await reviewer.get(f"{case}/request")).text
    assert (await reviewer.post(f"{case}/request", evidence="governing_document")).status_code == 409
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    await reviewer.get(f"{case}/request")
    assert (await reviewer.post(f"{case}/request", evidence="a_house")).status_code == 422
    preview = (await reviewer.post(f"{case}/request", preview="yes", evidence="governing_document")).text
    assert 'lang="de"' in preview
    assert "Die Satzung oder ein anderes Gründungsdokument" in preview
    (before,) = (await submissions.shown(api, made))["requirements"]
    assert len(before["accepted"]) > 1, "the preview asks nobody"
    asked = await reviewer.post(f"{case}/request", evidence="governing_document")
    assert asked.headers["location"] == f"{case}?done=requested"
    await service.drain()
    queue = f"/operator/reviews?partner={service.db.deployment.ids.encode('partner', tenant.partner.id)}"
    for part in (made["organisationName"], "Missing: Governing document", "Kind: Validation request", "Country: "):
        await reviewer.get(queue)
        assert part in words(reviewer), part
    (missing,) = (await submissions.shown(api, made))["requirements"]
    assert (missing["code"], missing["from"]) == ("registration_evidence", "applicant")
    assert missing["accepted"] == ["governing_document"]
    assert "Waiting for the applicant: Governing document" in (await reviewer.get(case)).text
    mails = data(await api.get("/v1/sandbox/mailbox", to=submissions.ADA["email"]))
    assert len([mail for mail in mails if "Die Satzung oder ein anderes" in mail["text"]]) == 1
    service.clock.advance(timedelta(minutes=1))
    sent = {"file": ("a.pdf", hostile_pdfs.plain(1), "application/pdf")}
    assert (await api.request("POST", f"/v1/validation-requests/{request}/document", files=sent)).status_code < 300
    await service.drain()
    assert "Waiting for the applicant" not in (await reviewer.get(case)).text
    await reviewer.get(queue)
    assert "Missing:" not in words(reviewer)
    assert "review.evidence_requested" in await audited(service, case)


async def listed(reviewer: Browser, case: str) -> list[str]:
    """Under which answers of the applicant the queue lists a case."""
    name = case.rpartition("/")[2]
    return [
        one
        for one in ("waiting", "answered")
        if name in (await reviewer.get(f"/operator/reviews.csv?applicant={one}")).text
    ]


async def asked_before_the_upgrade(service: Service) -> None:
    """Forget when applicants were asked, and find it again as the upgrade does."""
    upgrade = runpy.run_path(str(Path(migrations.__file__).parent / "versions" / "r0009_evidence_requested.py"))
    owner = await asyncpg.connect(service.database.owner_dsn)
    await owner.execute("update review set evidence_requested_at = null where status = 'open'")
    await owner.execute(next(one for one in upgrade["STATEMENTS"] if "update review" in one))
    await owner.close()


async def is_offered(reviewer: Browser, case: str) -> bool:
    """Whether the case is offered as the next one before all others are claimed. Releases none of them."""
    await reviewer.get("/operator/reviews")
    form: dict[str, str] = {}
    for _ in range(300):
        location = (await reviewer.post("/operator/reviews/next", form)).headers["location"]
        if location.startswith(case) or location == "/operator/reviews":
            return location != "/operator/reviews"
        form = {"after": one[1]} if (one := _AFTER.search((await reviewer.get(location)).text)) else form
    raise AssertionError("the queue does not end")


async def ask(reviewer: Browser, case: str, evidence: str) -> None:
    """Claim a case and ask its applicant."""
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    await reviewer.get(f"{case}/request")
    assert (await reviewer.post(f"{case}/request", evidence=evidence)).status_code == 303


async def test_cases_are_filtered_by_whether_their_applicant_answered(
    service: Service, api: Client, reviewer: Browser
) -> None:
    configuration = await submissions.configured(api, "validation_request")
    made = await submissions.applied(api, configurationId=configuration, **UNHEARD_OF)
    await service.drain()
    request = made["validationRequestId"]
    case = f"/operator/reviews/{request}"
    assert await listed(reviewer, case) == []
    await ask(reviewer, case, "governing_document")
    await service.drain()
    assert await listed(reviewer, case) == ["waiting"]
    await reviewer.get(case)
    await reviewer.post(case, do="release")
    assert not await is_offered(reviewer, case), "nothing new to see"
    assert "has answered since" not in (await reviewer.get(case)).text
    await asked_before_the_upgrade(service)
    assert await listed(reviewer, case) == ["waiting"]
    service.clock.advance(timedelta(minutes=1))
    for name, content, expected in (
        ("test_infected.png", picture("PNG"), ["waiting"]),  # nobody can read it
        ("a.pdf", hostile_pdfs.plain(1), ["answered"]),
    ):
        sent = {"file": (name, content, "image/png" if name.endswith("png") else "application/pdf")}
        answer = await api.request("POST", f"/v1/validation-requests/{request}/document", files=sent)
        assert answer.status_code < 300, answer.text
        await service.drain()
        assert await listed(reviewer, case) == expected, name
    assert "The applicant has answered since they were asked" in (await reviewer.get(case)).text
    await reviewer.get("/operator/reviews?applicant=answered")
    assert "Applicant: Has answered" in words(reviewer)
    await reviewer.get("/operator/desk")
    assert "Applicant has answered" in words(reviewer)
    assert await is_offered(reviewer, case)
    service.clock.advance(timedelta(minutes=1))
    await ask(reviewer, case, "registration_certificate")
    assert await listed(reviewer, case) == ["waiting"], "asked again"
    await reviewer.get(f"{case}/reject")
    assert (await reviewer.post(f"{case}/reject", reason="not_eligible", note="No answer")).status_code == 303
    assert await listed(reviewer, case) == []
    assert (await reviewer.get("/operator/reviews?applicant=asleep")).status_code == 422


async def test_an_email_in_english_says_why(service: Service, api: Client, reviewer: Browser) -> None:
    configuration = await submissions.configured(api, "validation_request")
    made = await submissions.applied(api, configurationId=configuration, language="km", **UNHEARD_OF)
    await service.drain()
    case = f"/operator/reviews/{made['validationRequestId']}"
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    for page in ("accept", "reject", "request"):
        shown = (await reviewer.get(f"{case}/{page}")).text
        assert f"We send an email to {submissions.ADA['email']} in English." in shown, page
        assert "Almoner has no texts in Khmer, so the email is in English." in shown, page


async def test_nobody_is_asked_where_no_application_waits(service: Service, api: Client, reviewer: Browser) -> None:
    case = f"/operator/reviews/{(await decided(service, api, **UNHEARD_OF))['id']}"
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    page = (await reviewer.get(case)).text
    assert f'href="{case}/request"' not in page
    assert "Nobody can be asked for evidence, because no undecided application" in page
    assert "there is nobody to ask" in (await reviewer.get(f"{case}/request")).text
    assert "Show the email" not in (await reviewer.get(f"{case}/reject")).text, "nobody gets one"
    answer = await reviewer.post(f"{case}/request", evidence="governing_document")
    assert answer.status_code in (409, 422)


async def test_a_letter_of_authority_is_asked_for(service: Service, api: Client, reviewer: Browser) -> None:
    configuration = await submissions.configured(api, "agent_verification")
    made = await submissions.of_organisation(service, api, configurationId=configuration)
    await submissions.simulate(api, made["agentVerificationId"], "confirm_email")
    await service.drain()
    case = f"/operator/reviews/{made['agentVerificationId']}"
    evidence = (await reviewer.get(case)).text
    assert evidence.count('<th scope="row">Mailbox</th>') == 1, "the address was checked twice"
    await reviewer.post(case, do="claim")
    decision = (await reviewer.get(f"{case}/reject")).text
    assert "Website, on record" in decision
    assert "pending_review" not in decision
    page = (await reviewer.get(f"{case}/request")).text
    assert "Letter of authority" in page
    assert "Governing document" not in page
    assert (await reviewer.post(f"{case}/request", evidence="letter_of_authority")).status_code == 303
    (missing,) = (await submissions.shown(api, made))["requirements"]
    assert (missing["code"], missing["from"]) == ("association", "applicant")
    assert missing["accepted"] == ["letter_of_authority"]
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox", to=submissions.ADA["email"]))
    assert len([mail for mail in mails if "A letter of authority from" in mail["text"]]) == 1
    assert await listed(reviewer, case) == ["waiting"]
    service.clock.advance(timedelta(minutes=1))
    fields = {"validationSubmissionId": made["id"], "type": "agent_verification"}
    letter = {"file": ("a.pdf", hostile_pdfs.plain(1), "application/pdf")}
    data(await api.request("POST", "/v1/validation-submission-documents", data=fields, files=letter))
    await service.drain()
    assert await listed(reviewer, case) == ["answered"]


async def test_many_applications_of_one_request_are_asked_and_previewed_in_parts(
    service: Service, api: Client, reviewer: Browser
) -> None:
    configuration = await submissions.configured(api, "validation_request")
    first = await submissions.applied(api, configurationId=configuration, **UNHEARD_OF)
    await service.drain()
    request = first["validationRequestId"]
    others = [
        await submissions.applied(
            api, configurationId=configuration, validationRequestId=request, email=f"ada{number}@example.net"
        )
        for number in range(22)
    ]
    await service.drain()
    case = f"/operator/reviews/{request}"
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    page = (await reviewer.get(f"{case}/accept")).text
    assert page.count("Email to the applicant") == 10
    assert "13 more applications are affected. Emails about them are not shown here." in page
    asked = []
    for count in (20, 3):
        page = (await reviewer.get(f"{case}/request")).text
        assert f"23 applicants wait for this case. This request asks {count} of them" in page
        assert ("10 more applications are affected" in page) == (count == 20)
        assert (await reviewer.post(f"{case}/request", evidence="governing_document")).status_code == 303
        service.clock.advance(timedelta(seconds=1))
        awaited = [(await submissions.shown(api, one))["requirements"][0] for one in (first, *others)]
        asked.append([one["accepted"] == ["governing_document"] for one in awaited].count(True))
        await reviewer.get(case)
        await reviewer.post(case, do="claim")
    assert asked == [20, 23]


async def test_an_agent_case_is_not_offered_while_the_nonprofit_can_answer(
    service: Service, api: Client, reviewer: Browser
) -> None:
    organisation = await factories.nonprofit(service)
    await agents.contact(service, organisation, "office@offered.example")
    configuration = await submissions.configured(api, "agent_verification", emailVerification=False)
    made = await submissions.applied(api, organisationId=organisation, configurationId=configuration)
    await service.drain()
    agent = (await submissions.shown(api, made))["agentVerificationId"]
    case = f"/operator/reviews/{agent}"
    assert agent in (await reviewer.get("/operator/reviews.csv?kind=agent_verification")).text
    assert not await is_offered(reviewer, case)
    fields = {"type": "agent_verification", "validationSubmissionId": made["id"]}
    letter = {"file": ("letter.png", picture("PNG"), "image/png")}
    sent = await api.request("POST", "/v1/validation-submission-documents", data=fields, files=letter)
    assert sent.status_code == 200, sent.text
    await service.drain()
    assert await is_offered(reviewer, case), "the letter stands for the answer"
