"""The hosted form from outside, without a screen: what it keeps, refuses, forgets and tells (settled 4 and 5)."""

import re
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from almoner.access.partners import service as partners
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support import factories
from tests.support.agents import mail_to
from tests.support.applications import ANSWERS, PERSON, QUESTIONS, Form, configured, invited
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.service import Service, Tenant


async def opened(service: Service, api: Client, **invite: Any) -> Form:
    """A form that was opened by its link."""
    form = Form(service, await invited(api, **invite))
    await form.open()
    return form


async def drafts(service: Service, form: Form) -> int:
    """How many drafts of the form are kept: one or none."""
    async with service.db.read() as tx:
        invite = tx.ids.decode("validationinvite", form.invite["id"])
        return int(await tx.fetchval("select count(*) from application_draft where invite_id = $1", invite))


async def newest(api: Client) -> dict[str, Any]:
    """The last submission."""
    found: dict[str, Any] = data(await api.get("/v1/validation-submissions"))[0]
    return found


async def test_what_was_answered_is_what_the_partner_gets(service: Service, api: Client) -> None:
    made = await configured(api, name="Questions", partnerFields=QUESTIONS)
    form = await opened(service, api, hostedConfigId=made["id"], metadata={"n": "1"}, language="fr")
    organisation = await factories.nonprofit(service, name="Orchard Way Relief")
    await form.answer("/questions", ANSWERS)
    assert (await form.upload(HONEST[PNG], PNG, type="agent_verification")).status_code == 303
    await form.fill(organisation)
    leads = await form.send()
    sent = await newest(api)
    assert leads == f"/application/{sent['id']}"
    assert (sent["validationInviteId"], sent["organisationId"]) == (form.invite["id"], organisation)
    assert (sent["configuration"]["id"], sent["metadata"]) == (made["id"], {"n": "1"})
    assert sent["partnerFields"] == {"reason": "We feed people.\nEvery day.", "staff": 12, "size": "small"}
    agent = sent["agentVerification"]
    assert [agent[name] for name in ("firstName", "lastName", "email", "language")] == [
        "Amina",
        "El-Sayed",
        "amina@relief.example",
        "fr",
    ]
    verification = data(await api.get(f"/v1/agent-verifications/{agent['id']}"))
    assert verification["title"] == "Treasurer"
    (document,) = data(await api.get(f"/v1/validation-submissions/{sent['id']}/documents"))
    assert document["type"] == "agent_verification"


async def test_u8_who_has_one_name_can_apply(service: Service, api: Client) -> None:
    form = await opened(service, api, hostedConfigId=(await configured(api))["id"])
    await form.browser.open(f"{form.home}/person")
    refused = await form.browser.post(f"{form.home}/person", {**PERSON, "first_name": "\u200b", "last_name": " "})
    assert refused.status_code == 422
    assert "A single name is enough" in refused.text
    await form.fill(first_name="", last_name="Suharto")
    await form.send()
    sent = await newest(api)
    assert [sent["agentVerification"][name] for name in ("firstName", "lastName")] == ["", "Suharto"]


@pytest.mark.parametrize(
    ("checks", "steps"),
    [
        (["compliance"], ["nonprofit", "person", "review"]),
        (["validation_request", "eligibility"], ["nonprofit", "person", "documents", "review"]),
        (["agent_verification"], ["nonprofit", "person", "documents", "review"]),
    ],
)
async def test_steps_are_those_that_the_configuration_asks_for(
    service: Service, api: Client, checks: list[str], steps: list[str]
) -> None:
    made = await configured(api, name="Some", checks=checks)
    form = await opened(service, api, hostedConfigId=made["id"])
    text = await form.page("/nonprofit")
    assert f"Step 1 of {len(steps)}" in text
    for step in {"questions", "documents"} - set(steps):
        answer = await form.browser.get(f"{form.home}/{step}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"{form.home}/nonprofit")
    await form.answer("/nonprofit", {"organisation": await factories.nonprofit(service)})
    await form.answer("/person", dict(PERSON))
    if "documents" in steps:
        await form.answer("/documents/done", {})
    await form.send()
    assert (await newest(api))["validationInviteId"] == form.invite["id"]


async def test_a_step_that_the_partner_takes_away_leads_to_the_next_one(service: Service, api: Client) -> None:
    made = await configured(api, name="Some", checks=["compliance"], partnerFields=QUESTIONS)
    form = await opened(service, api, hostedConfigId=made["id"])
    await form.answer("/nonprofit", {"organisation": await factories.nonprofit(service)})
    await form.answer("/person", dict(PERSON))
    await form.page("/questions")
    await api.patch(f"/v1/validation-submission-configurations/{made['id']}", {"partnerFields": []})
    answer = await form.browser.post(f"{form.home}/questions", ANSWERS)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{form.home}/review")
    await form.send()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Zertifikat 2025 (1).png", "Zertifikat 2025 (1).png"),
        ("C:\\Users\\Ann\\تسجيل.png", "تسجيل.png"),
        ("a\u200bb<c>.png", "ab&lt;c&gt;.png"),
        ("\u200b", "Document 1"),
        ("x" * 400, "x" * 255),
    ],
)
async def test_documents_keep_the_names_that_their_owners_know(
    service: Service, api: Client, given: str, shown: str
) -> None:
    form = await opened(service, api)
    assert (await form.upload(HONEST[PNG], PNG, name=given)).status_code == 303
    assert shown in await form.page("/documents")
    await form.fill()
    assert shown in await form.page("/review")
    [named] = re.findall(r'name="remove" value="([^"]+)"', await form.page("/documents"))
    await form.answer("/documents/remove", {"remove": named})
    assert shown not in await form.page("/review")
    async with service.db.read() as tx:
        kept = await tx.fetch("select file_name from document where file_name = $1 and deleted_at is not null", shown)
    assert not kept, "erased with the document"


async def test_a_document_is_removed_in_two_tabs(service: Service, api: Client) -> None:
    form = await opened(service, api)
    assert (await form.upload(HONEST[PNG], PNG)).status_code == 303
    [named] = re.findall(r'name="remove" value="([^"]+)"', await form.page("/documents"))
    for _ in range(2):
        assert await form.answer("/documents/remove", {"remove": named}) == f"{form.home}/documents?did=removed"
    assert 'name="remove"' not in await form.page("/documents")


async def test_u7_a_document_that_is_removed_makes_room_for_another(service: Service, api: Client) -> None:
    form = await opened(service, api)
    fields = {"validationInviteId": form.invite["id"], "type": "validation_request"}
    for _ in range(19):
        files = {"file": ("proof", HONEST[PNG], PNG)}
        data(await api.request("POST", "/v1/validation-submission-documents", data=fields, files=files))
    assert [(await form.upload(HONEST[PNG], PNG)).status_code for _ in "12"] == [303, 422]
    [*_, named] = re.findall(r'name="remove" value="([^"]+)"', await form.page("/documents"))
    await form.answer("/documents/remove", {"remove": named})
    assert [(await form.upload(HONEST[PNG], PNG)).status_code for _ in "12"] == [303, 422]


async def test_who_chooses_a_language_stays_where_they_are(service: Service, api: Client) -> None:
    form = await opened(service, api)
    for page in ("person", "colleague", "nonprofit/other"):
        shown = await form.page(f"/{page}")
        assert f'<input type="hidden" name="page" value="{page}">' in shown
        assert await form.answer("/language", {"language": "de", "page": page}) == f"{form.home}/{page}"
    assert await form.answer("/language", {"language": "de", "page": "//elsewhere.example"}) == form.home


async def test_nothing_is_sent_before_every_step_is_answered(service: Service, api: Client) -> None:
    form = await opened(service, api)
    await form.answer("/nonprofit", {"organisation": await factories.nonprofit(service)})
    answer = await form.browser.get(f"{form.home}/review")
    assert answer.headers["location"] == f"{form.home}/person"
    await form.page("/person")
    answer = await form.browser.post(f"{form.home}/review", {})
    assert answer.headers["location"] == f"{form.home}/person"
    assert data(await api.get("/v1/validation-submissions")) == []


async def test_two_people_in_two_steps_lose_nothing_of_each_other(service: Service, api: Client) -> None:
    invite = await invited(api)
    one, other = Form(service, invite), Form(service, invite)
    await one.open()
    await other.open()
    await one.browser.open(f"{one.home}/person")
    await other.browser.open(f"{one.home}/nonprofit")
    organisation = await factories.nonprofit(service)
    assert (await one.browser.post(f"{one.home}/person", dict(PERSON))).status_code == 303
    assert (await other.browser.post(f"{one.home}/nonprofit", {"organisation": organisation})).status_code == 303
    await one.answer("/documents/done", {})
    assert "Amina El-Sayed" in await other.page("/review")


async def test_an_application_is_sent_once(service: Service, api: Client) -> None:
    form = await opened(service, api)
    await form.fill()
    await form.page("/review")
    token = form.browser.csrf
    first = await form.browser.post(f"{form.home}/review", {"csrf": token})
    again = await form.browser.post(f"{form.home}/review", {"csrf": token})
    assert first.headers["location"] == again.headers["location"]
    assert len(data(await api.get("/v1/validation-submissions"))) == 1


async def test_it_returns_to_the_partner_with_the_id_and_nothing_personal(service: Service, api: Client) -> None:
    form = await opened(service, api, redirectUrl="https://app.example/back?a=1#end")
    await form.fill()
    review = await form.browser.open(f"{form.home}/review")
    assert "form-action 'self' https://app.example;" in review.headers["content-security-policy"]
    token = form.browser.csrf
    leads = await form.send()
    assert leads == f"https://app.example/back?a=1&validationSubmissionId={(await newest(api))['id']}#end"
    again = await form.browser.post(f"{form.home}/review", {"csrf": token})  # a double press: the last answer counts
    assert again.headers["location"] == leads


async def test_a_nonprofit_that_nobody_would_look_for_is_not_taken(service: Service, api: Client) -> None:
    for checks, offered in ((["validation_request"], True), (["compliance", "agent_verification"], False)):
        form = await opened(service, api, hostedConfigId=(await configured(api, checks=checks))["id"])
        assert ("/nonprofit/other" in await form.page("/nonprofit")) is offered
        other = await form.browser.get(f"{form.home}/nonprofit/other?country=%00")
        assert other.status_code == (422 if offered else 303)  # no country of that name


async def test_posts_that_are_not_ours_are_refused(service: Service, api: Client) -> None:
    form = await opened(service, api)
    await form.page("/person")
    for post in (
        form.browser.post(f"{form.home}/person", dict(PERSON), site="cross-site"),
        form.browser.post(f"{form.home}/person", {**PERSON, "csrf": "x"}),
        form.browser.request("POST", f"{form.home}/person", data={}),
    ):
        answer = await post
        assert answer.status_code == 403
        assert "Submit the form again" in answer.text
    foreign = await form.upload(HONEST[PNG], PNG, csrf="x")
    assert foreign.status_code == 403
    assert await drafts(service, form) == 0
    stranger = Form(service, form.invite)
    assert (await stranger.browser.get(f"{form.home}/person")).status_code == 404


async def test_what_was_not_sent_is_forgotten_with_its_files(service: Service, api: Client, tenant: Tenant) -> None:
    form = await opened(service, api)
    await form.answer("/person", dict(PERSON))
    await form.upload(HONEST[PNG], PNG)
    await form.browser.open(f"{form.home}/colleague")
    await form.browser.post(f"{form.home}/colleague", {"email": "colleague@relief.example"})
    assert await drafts(service, form) == 1
    service.clock.advance(timedelta(days=8, hours=2))
    await service.drain()
    assert await drafts(service, form) == 0
    async with service.db.read() as tx:
        invite = tx.ids.decode("validationinvite", form.invite["id"])
        assert not await tx.fetchval("select exists (select from application_handover where invite_id = $1)", invite)
        left = await tx.fetchval(
            """
            select count(*) from validation_submission_document s join document d on d.id = s.document_id
            where s.validation_invite_id = $1 and d.removed_at is null
            """,
            invite,
        )
    assert left == 0
    async with service.db.write() as tx:
        await partners.set_public_links(tx, tenant.partner, website="https://relief.example")
    answer = await form.browser.get(form.home)
    assert answer.status_code == 410
    assert "This link has expired" in answer.text
    assert 'href="https://relief.example"' in answer.text, "the way to whoever can send another one"


async def test_what_was_sent_is_not_kept_twice(service: Service, api: Client) -> None:
    form = await opened(service, api)
    await form.fill()
    assert await drafts(service, form) == 1
    await form.send()
    assert await drafts(service, form) == 0


async def test_mails_to_colleagues_have_limits_and_hold_nothing_that_was_typed(service: Service, api: Client) -> None:
    form = await opened(service, api)
    statuses = []
    for number in range(7):
        await form.browser.open(f"{form.home}/colleague")
        answer = await form.browser.post(f"{form.home}/colleague", {"email": f"c{number}@relief.example"})
        statuses.append(answer.status_code)
        service.clock.advance_wall(minutes=2)
    assert statuses == [200] * 5 + [429] * 2
    for number in range(4):
        another = await opened(service, api)
        await another.browser.open(f"{another.home}/colleague")
        answer = await another.browser.post(f"{another.home}/colleague", {"email": "One@relief.example"})
        assert answer.status_code == (200 if number < 3 else 429), "one address gets three a day"
    mail = await mail_to(service, api, "c0@relief.example")
    assert form.invite["url"] in mail["links"]
    assert "c0@" not in mail["text"]


async def test_an_organisation_that_is_gone_is_told_at_the_end(service: Service, api: Client) -> None:
    form = await opened(service, api)
    organisation = await factories.nonprofit(service)
    await form.fill(organisation)
    async with service.db.write() as tx:
        named = tx.ids.decode("organisation", organisation)
        await tx.execute("update organisation set active = false where id = $1", named)
    await form.page("/review")
    answer = await form.browser.post(f"{form.home}/review", {})
    assert answer.status_code == 422
    summary, part = answer.text.split('id="part-nonprofit"')
    assert '<a href="#part-nonprofit">This nonprofit cannot apply because' in summary
    assert "cannot apply because" in part
    assert f'<a href="{form.home}/nonprofit">' in part
    assert data(await api.get(f"/v1/validation-invites/{form.invite['id']}"))["status"] == "open"


async def test_a_nonprofit_that_is_not_active_is_shown_and_not_chosen(service: Service, api: Client) -> None:
    form = await opened(service, api)
    closed = await factories.nonprofit(service, name="Zephyrine Closed Shelter", active=False)
    for path in ("/nonprofit?q=zephyrine closed", "/nonprofit/results?q=zephyrine closed"):
        page = await form.page(path)
        assert "Zephyrine Closed Shelter" in page
        assert "Not listed as active in its register" in page
        assert closed not in page, "there is no button"
    await form.page("/nonprofit?q=zephyrine closed")
    answer = await form.browser.post(f"{form.home}/nonprofit", {"organisation": closed, "q": "zephyrine"})
    assert answer.status_code == 422
    assert "cannot apply because" in answer.text.split('id="q-problem"')[1].split("</p>")[0]
    assert await drafts(service, form) == 0


async def test_a_register_that_is_gone_leads_back_to_the_nonprofit_and_is_logged(service: Service, api: Client) -> None:
    form = await opened(service, api)
    await form.fill()
    typed = {"name": "Hidden Words", "country": "USA", "registry": "NOWHERE", "number": "53-0196605"}
    typed["website"] = "https://relief.example"
    async with service.db.write() as tx:
        await tx.execute(
            """
            update application_draft set answers = answers - 'organisation' || jsonb_build_object('unlisted', $2::jsonb)
            where invite_id = $1
            """,
            tx.ids.decode("validationinvite", form.invite["id"]),
            typed,
        )
    await form.page("/review")
    with capture_logs() as lines:
        answer = await form.browser.post(f"{form.home}/review", {})
    assert answer.status_code == 422
    assert "could not submit" in answer.text.split('id="part-nonprofit"')[1], (lines, answer.text)
    [line] = [line for line in lines if line["event"] == "application_refused"]
    assert (line["code"], line["invite"]) == ("validation_request/registry_not_found", form.invite["id"])
    assert "NOWHERE" not in str(line)
    assert "0196605" not in str(line)


@pytest.mark.parametrize("field", ["file", "photo"])
async def test_what_is_wrong_with_a_file_stands_at_the_form_that_sent_it(
    service: Service, api: Client, field: str
) -> None:
    form = await opened(service, api)
    source = "?source=photo" if field == "photo" else ""
    for content in (b"", bytes(5_242_881)):
        answer = await form.upload(content, PNG, source=source)
        assert answer.status_code == 422
        assert [name for name in ("file", "photo") if f'id="{name}-problem"' in answer.text] == [field]
        assert f'<a href="#{field}">' in answer.text


async def test_pages_of_a_partner_show_its_brand_and_no_other_partners_organisations(
    service: Service, api: Client, tenant: Tenant
) -> None:
    made = await configured(api, name="Brand", branding={"displayName": "Globe & Co", "primaryColor": "#ffe000"})
    form = await opened(service, api, hostedConfigId=made["id"])
    text = await form.page()
    assert "Globe &amp; Co" in text
    assert "--brand:" in text


@pytest.mark.parametrize("tag", TranslationCatalogues().offered_languages)
async def test_every_page_speaks_every_language_and_weighs_little(service: Service, api: Client, tag: str) -> None:
    made = await configured(api, name="Languages", partnerFields=QUESTIONS)
    form = await opened(service, api, hostedConfigId=made["id"], language=tag)
    organisation = await factories.nonprofit(service, name="Quarry Lane School")
    pages = ["", "/nonprofit?q=quarry", "/nonprofit/other", "/nonprofit/other?country=GBR", "/person", "/questions"]
    for page in (*pages, "/documents", "/colleague"):
        answer = await form.browser.open(f"{form.home}{page}")
        assert (answer.status_code, answer.headers["content-language"]) == (200, tag), page
        weight = len(answer.content)
        for asset in set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', answer.text)):
            weight += len((await form.browser.request("GET", asset)).content)
        assert weight < 100_000, (page, weight)
    await form.answer("/questions", ANSWERS)
    await form.fill(organisation)
    assert "Quarry Lane School" in await form.page("/review")


@pytest.mark.parametrize(
    ("checks", "next_step"), [(["compliance"], False), (["compliance", "validation_request"], True)]
)
async def test_a_search_that_finds_nothing_says_what_there_is_to_do(
    service: Service, api: Client, checks: list[str], next_step: bool
) -> None:
    made = await configured(api, checks=checks, branding={"displayName": "Harbour & Fund"})
    form = await opened(service, api, hostedConfigId=made["id"])
    for path in ("/nonprofit?q=zzqx nobody", "/nonprofit/results?q=zzqx nobody"):
        page = await form.page(path)
        assert ("tell us that your nonprofit is not listed" in page) == next_step, path
        assert ("contact Harbour &amp; Fund." in page) != next_step, path
    assert ("My nonprofit is not listed" in await form.page("/nonprofit?q=zzqx nobody")) == next_step
