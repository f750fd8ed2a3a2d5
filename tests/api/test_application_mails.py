"""What applicants are written about their application, and what their page leaves in the audit log (spec 3.5; V8)."""

import re
from typing import Any
from uuid import UUID

from tests.support import appeals, factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.scanning import again, scanned
from tests.support.service import Service
from tests.support.submissions import ADA, CHOIRS, applied, configured, ended, simulate


async def subjects(service: Service, api: Client) -> list[str]:
    """Of all that was written about applications, sorted."""
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox", to=ADA["email"], pageSize=100))
    return sorted(
        mail["subject"].split(" – ")[0] for mail in mails if any("/application?" in link for link in mail["links"])
    )


async def mails(api: Client) -> list[dict[str, Any]]:
    """What was written to who applies, newest first."""
    return list(data(await api.get("/v1/sandbox/mailbox", to=ADA["email"], pageSize=100)))


async def mail(api: Client, subject: str) -> dict[str, Any]:
    """The one mail whose subject begins so."""
    [found] = [one for one in await mails(api) if one["subject"].startswith(subject)]
    return dict(found)


async def test_each_step_is_told_once(service: Service, api: Client) -> None:
    alone = await configured(api, "validation_request", "agent_verification", emailVerification=False)
    failed = await applied(api, organisationName="test_reject_not_eligible", configurationId=alone)
    received, refused = "We are checking your application", "Your application was not accepted"
    assert await subjects(service, api) == sorted([received, refused])
    reported = await mail(api, refused)
    assert "does not accept organisations of this kind." in reported["text"]
    assert "another check failed" not in reported["text"]
    assert "you can appeal" in reported["text"]
    await appeals.decide(service, await appeals.made(api, failed), "rejected")
    appealed, stands = "We have received your appeal", "Your appeal was not successful"
    assert await subjects(service, api) == sorted([received, refused, appealed, stands])
    assert re.search(r"the outcome by \w+ \d+, \d{4}\.", (await mail(api, appealed))["text"])
    await appeals.decide(service, await appeals.made(api, failed, "Once more."), "accepted")
    now = await subjects(service, api)
    assert now.count("Your application was accepted") == 1
    assert "Your appeal was successful" not in now  # all had ended: the answer itself says it
    assert now.count(appealed) == 2


async def test_a_reversed_appeal_that_opens_checks_is_told(service: Service, api: Client) -> None:
    failed = await ended(service, api, await applied(api, organisationName="test_reject_other"))
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    now = await subjects(service, api)
    assert "Your appeal was successful" in now
    assert "Your application was accepted" not in now


async def test_how_it_ended_after_a_reversed_appeal_is_told(service: Service, api: Client) -> None:
    """By what was taken up at once, by what nobody did in time, and where the partner decides."""
    taken_up = await configured(api, "validation_request", "eligibility")
    body = {"organisationName": "test_reject_other", "configurationId": taken_up}
    failed = await ended(service, api, await applied(api, suggestedActivitySubTags=["test_fail"], **body))
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    refused = "Your application was not accepted"
    assert (await subjects(service, api)).count(refused) == 2
    [second] = [one["text"] for one in await mails(api) if "because of the kind of work it does" in one["text"]]
    assert "you can appeal" in second

    speaks = await configured(api, "validation_request", "agent_verification")
    body = {"organisationName": "test_reject_other", "configurationId": speaks}
    failed = await ended(service, api, await applied(api, **body))
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    assert (await subjects(service, api)).count(refused) == 3
    service.clock.advance(days=31)
    assert (await subjects(service, api)).count(refused) == 4

    unsure = await configured(api, "validation_request", "eligibility", allowedActivitySubTags=[CHOIRS])
    body = {"organisationName": "test_reject_other", "configurationId": unsure}
    failed = await ended(service, api, await applied(api, **body))
    decides = [one for one in await subjects(service, api) if one.startswith("Waiting for a decision from ")]
    assert decides == []
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    assert [one for one in await subjects(service, api) if one.startswith("Waiting for a decision from ")] != []


async def test_mails_make_no_links_of_what_was_typed(service: Service, api: Client) -> None:
    """Whoever holds an invite may type any address of a stranger, to whom we write."""
    lure = {"firstName": "Visit https://evil.example/now", "lastName": "\u202eada", "title": "www.evil.example"}
    await applied(api, organisationName="Win at evil.example/x", **lure)
    await service.drain()
    written = data(await api.get("/v1/sandbox/mailbox", to=ADA["email"]))
    assert len(written) == 2
    for one in written:
        for text in (one["subject"], one["text"], one["html"]):
            assert "evil.example" not in text
            assert "\u202e" not in text
        assert all("evil" not in link for link in one["links"])


async def test_that_the_partner_decides_is_told_once(service: Service, api: Client) -> None:
    unsure = await configured(api, "eligibility", allowedActivitySubTags=[CHOIRS])
    organisation = await factories.nonprofit(service)
    await applied(api, organisationId=organisation, configurationId=unsure)
    received, *others = await subjects(service, api)
    assert received.startswith("Waiting for a decision from "), (received, others)
    assert others == ["We are checking your application"]
    reported = (await mail(api, received))["text"]
    assert "We have finished our checks." in reported


async def test_what_is_missing_is_asked_for_ten_minutes_later_and_once(service: Service, api: Client) -> None:
    await applied(api, registryId="99-1234567")
    missing = "We need more information"
    assert missing not in await subjects(service, api)
    service.clock.advance(minutes=11)
    assert (await subjects(service, api)).count(missing) == 1
    stated = (await mail(api, missing))["text"]
    assert "99-1234567" in stated
    assert "upload proof of registration" in stated
    service.clock.advance(days=2)
    assert (await subjects(service, api)).count(missing) == 1


async def test_a_document_that_the_scanner_refuses_is_told_once_while_somebody_would_look_at_it(
    service: Service, api: Client
) -> None:
    waits = await ended(service, api, await applied(api, registryId="99-1234567"))
    refused, missing = "One of your documents was rejected", "We need more information"
    service.clock.advance(minutes=11)
    assert missing in await subjects(service, api)
    first, second = await uploaded(service, api, waits), await uploaded(service, api, waits)
    await scanned(service, first, None)
    assert refused not in await subjects(service, api)
    await scanned(service, second, "Eicar")
    await again(service, second, "Eicar")
    assert (await subjects(service, api)).count(refused) == 1
    for one in ("request", "submission"):
        events = data(await api.get("/v1/events", type=f"validation_{one}_document.rejected"))
        assert [event["eventData"]["status"] for event in events] == ["infected"], one
    reported = await mail(api, refused)
    assert "Upload another document" in reported["text"]
    assert any("/application?" in link for link in reported["links"])
    third = await uploaded(service, api, waits)
    await simulate(api, waits["validationRequestId"], "reject", rejectionReasonCode="other")
    await service.drain()
    await scanned(service, third, "Eicar")
    assert (await subjects(service, api)).count(refused) == 1  # nobody would look at another one


async def uploaded(service: Service, api: Client, submission: dict[str, Any]) -> UUID:
    """The file of one more document of a submission, which waits for its scan."""
    fields = {"validationSubmissionId": submission["id"], "type": "validation_request"}
    answer = await api.request(
        "POST", "/v1/validation-submission-documents", data=fields, files={"file": ("a", HONEST[PNG], PNG)}
    )
    assert answer.status_code == 200, answer.text
    named = service.db.deployment.ids.decode("validationsubmissiondocument", answer.json()["data"]["id"])
    async with service.db.read() as tx:
        sql = "select document_id from validation_submission_document where id = $1"
        return UUID(str(await tx.fetchval(sql, named)))


async def test_mails_about_the_address_speak_the_language_that_was_chosen_on_the_page(
    service: Service, api: Client
) -> None:
    made = await applied(api, registryId="99-1234567")
    await service.drain()
    link = next(link for link in (await mail(api, "We are checking"))["links"])
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    await browser.open(link)
    await browser.post(f"/application/{made['id']}/language", {"language": "de"})
    agent = data(await api.get(f"/v1/agent-verifications/{made['agentVerification']['id']}"))
    assert agent["language"] == "en"  # the record keeps what it was made with
    confirming = next(
        one for one in data(await api.get("/v1/sandbox/mailbox", to=ADA["email"])) if "Confirm" in one["subject"]
    )
    page = await browser.open(next(url for url in confirming["links"] if "/confirm?" in url))
    assert '<html lang="de' in page.text
    service.clock.advance_wall(minutes=2)
    answer = await browser.post(f"/confirm/{agent['id']}", {"again": "1"})
    assert answer.status_code == 200, answer.text
    await service.drain()
    about = [
        one["html"]
        for one in data(await api.get("/v1/sandbox/mailbox", to=ADA["email"]))
        if any("/confirm?" in url for url in one["links"])
    ]
    assert sorted(html[html.index("lang=") : html.index(" dir=")] for html in about) == ['lang="de"', 'lang="en"']


async def test_who_has_only_to_confirm_is_not_written_to_twice(service: Service, api: Client) -> None:
    await applied(api, organisationName="test_accept")
    await subjects(service, api)
    service.clock.advance(minutes=11)
    assert "We need more information" not in await subjects(service, api)


async def test_who_gave_no_address_is_not_written_to(service: Service, api: Client) -> None:
    alone = await configured(api, "validation_request")
    await applied(api, configurationId=alone, firstName=None, lastName=None, email=None)
    await service.drain()
    assert data(await api.get("/v1/sandbox/mailbox")) == []


async def test_what_the_registers_say_late_is_asked_for_later_and_once(service: Service, api: Client) -> None:
    made = await applied(api, registryId="99-1234567")
    missing, request = "We need more information", made["validationRequestId"]
    async with service.db.write() as tx:
        named = service.db.deployment.ids.decode("validationrequest", request)
        held = "update job set due_at = due_at + interval '30 min' where kind ~ '^validation_r' and payload::text ~ $1"
        assert await tx.execute(held, str(named)) == "UPDATE 1"
    assert missing not in await subjects(service, api)
    for minutes, reported in ((11, 0), (20, 0), (60, 1), (60 * 24, 1), (60 * 24 * 20, 1)):
        service.clock.advance(minutes=minutes)
        assert (await subjects(service, api)).count(missing) == reported, minutes


async def test_whoever_applied_is_written_to_in_the_name_that_the_form_says(service: Service, api: Client) -> None:
    """A mail of somebody else asks nobody to confirm: it is thrown away."""
    harbour = await configured(
        api, "validation_request", "agent_verification", branding={"displayName": "Harbour Fund"}
    )
    whom = {**ADA, "email": "harbour@elsewhere.example"}
    await applied(api, configurationId=harbour, **whom)
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox", to=whom["email"], pageSize=100))
    assert len(mails) == 2  # it has arrived; and: please confirm
    assert all("Harbour Fund" in one[form] for one in mails for form in ("text", "html")), mails
    [link] = [link for one in mails for link in one["links"] if "/confirm?" in link]
    page = await Browser(service.app, service.db.deployment.base_urls.pages).open(link)
    assert "Harbour Fund" in page.text
