"""Applications on the dashboard: documents beside their evidence, appeals, and the forms of applicants."""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image

from tests.support import submissions
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.members import desk
from tests.support.service import Service, Tenant


async def test_programme_staff_see_documents_and_others_do_not(service: Service, tenant: Tenant, api: Client) -> None:
    applied = await submissions.of_organisation(service, api)
    fields = {"validationSubmissionId": applied["id"], "type": "validation_request"}
    files = {"file": ("proof", HONEST[PNG], PNG)}
    document = data(await api.request("POST", "/v1/validation-submission-documents", data=fields, files=files))
    reviewer, support = await desk(service, tenant, "reviewer"), await desk(service, tenant, "support")
    page = await reviewer.get(f"{reviewer.home}/validation-submissions/{applied['id']}")
    assert document["url"].partition("?")[0] in page.text
    page = await support.get(f"{support.home}/validation-submissions/{applied['id']}")
    assert page.status_code == 200
    assert document["url"].partition("?")[0] not in page.text
    for browser in (reviewer, support):
        await browser.close()


async def test_a_failed_submission_is_appealed_against_with_a_reason(
    service: Service, tenant: Tenant, api: Client
) -> None:
    made = await submissions.applied(api, organisationName="test_reject_not_eligible")
    failed = await submissions.ended(service, api, made)
    reviewer = await desk(service, tenant, "reviewer")
    page = f"{reviewer.home}/validation-submissions/{failed['id']}"
    assert f"{page}/appeals" in (await reviewer.get(page)).text
    await reviewer.get(f"{page}/appeals")
    empty = await reviewer.post(f"{page}/appeals", text="", form_key="a")
    assert (empty.status_code, "Why do you think the decision is wrong?" in reviewer.text()) == (422, True)
    await reviewer.post(f"{page}/appeals", text="We are on the register.", form_key="b")
    shown = data(await api.get(f"/v1/validation-submissions/{failed['id']}"))
    assert shown["appeal"]["status"] == "open"
    await reviewer.get(f"{page}/appeals")
    again = await reviewer.post(f"{page}/appeals", text="Once more.", form_key="c")
    assert (again.status_code, "Nothing has been changed" in reviewer.text()) == (422, True)
    await reviewer.close()


async def test_programme_staff_choose_flags_and_types_and_upload_a_logo(
    service: Service, tenant: Tenant, api: Client
) -> None:
    reviewer, made = await desk(service, tenant, "reviewer"), await submissions.configured(api, "compliance")
    page = f"{reviewer.home}/application-forms/{made}"

    async def saved(**typed: Sequence[str]) -> dict[str, object]:
        form: dict[str, str | Sequence[str]] = {"branding.displayName": "Relief", "emailVerification": "yes", **typed}
        await reviewer.get(f"{page}/edit")
        sent = await reviewer.post(f"{page}/edit", form)
        assert sent.status_code == 303, reviewer.text()
        shown: dict[str, object] = data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))
        return shown

    checks, types = ["validation_request", "compliance"], ["nonprofit", "education"]
    changed = await saved(checks=checks, allowedOrganisationTypes=types, complianceFlags=["warning", "adverseMedia"])
    assert changed["checks"] == checks
    assert changed["allowedOrganisationTypes"] == types
    assert changed["complianceFlags"] == ["warning", "adverseMedia"]
    assert (await saved(checks=checks, allowedOrganisationTypes=types))["complianceFlags"] == []
    refused = await reviewer.post(f"{page}/edit", {"branding.displayName": "Relief", "checks": "compliance"})
    assert (refused.status_code, "Accepted nonprofit types" in reviewer.text()) == (422, True)
    picture = BytesIO()
    Image.new("RGB", (40, 30), "red").save(picture, "PNG")
    await reviewer.get(f"{page}/logo")
    sent = await reviewer.request(
        "POST",
        f"{page}/logo",
        headers={"Sec-Fetch-Site": "same-origin"},
        data={"csrf": reviewer.csrf, "form_key": "once"},
        files={"logo": ("a.png", picture.getvalue(), "image/png")},
    )
    assert sent.headers["location"] == f"{page}?done=logo"
    assert "Logo uploaded." in (await reviewer.get(f"{page}?done=logo")).text
    logo = data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))["branding"]["logo"]
    await reviewer.get(f"{page}/edit")
    preview = await reviewer.post(f"{page}/preview", {"branding.displayName": "Relief", "checks": "compliance"})
    assert logo.rpartition("/")[2] in preview.text
    await reviewer.close()


async def test_programme_staff_add_edit_order_and_remove_questions(
    service: Service, tenant: Tenant, api: Client
) -> None:
    reviewer = await desk(service, tenant, "reviewer")
    made = await submissions.configured(api, "compliance", partnerFields=submissions.QUESTIONS)
    page = f"{reviewer.home}/application-forms/{made}/questions"

    async def stored() -> list[dict[str, object]]:
        found: list[dict[str, object]] = data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))["partnerFields"]
        return found

    size: dict[str, str | Sequence[str]] = {
        "id": "size",
        "type": "choice",
        "required": "yes",
        "values": "small\r\nlarge",
        "tag": ["en", "pt-BR"],
        "label-en": "How large are you?",
        "answers-en": "Up to ten people\r\nMore",
        "label-pt-BR": "",
        "answers-pt-BR": "-\r\nMais",
    }
    await reviewer.get(f"{page}/new")
    sent = await reviewer.post(f"{page}/new", size)
    assert sent.headers["location"] == f"{page}?done=added"
    assert (await reviewer.post(f"{page}/new", size)).headers["location"] == f"{page}?done=added"
    assert (await stored())[1:] == [
        {
            "id": "size",
            "type": "choice",
            "required": True,
            "labels": {"en": "How large are you?"},
            "choices": [
                {"value": "small", "labels": {"en": "Up to ten people"}},
                {"value": "large", "labels": {"en": "More", "pt-BR": "Mais"}},
            ],
        }
    ]
    shown = await reviewer.get(f"{page}/edit?question=size")
    assert ">-\nMais</textarea>" in shown.text, "a choice without a text keeps its place"
    more = await reviewer.post(f"{page}/edit?question=size", {**size, "do": "language", "language": "ja"})
    assert (more.status_code, 'name="label-ja"' in more.text) == (200, True)
    await reviewer.post(f"{page}/edit?question=size", {**size, "tag": ["en", "ja"], "label-ja": "規模", "required": ""})
    assert (await stored())[1]["labels"] == {"en": "How large are you?", "ja": "規模"}
    assert (await stored())[1]["required"] is False
    await reviewer.get(page)
    for _ in range(2):
        await reviewer.post(page, move="size.0")
    assert [one["id"] for one in await stored()] == ["size", "use"]
    await reviewer.get(f"{page}/remove?question=use")
    await reviewer.post(f"{page}/remove?question=use")
    assert [one["id"] for one in await stored()] == ["size"]
    assert (await reviewer.get(f"{page}/edit?question=use")).status_code == 404
    await reviewer.close()


async def test_all_problems_of_a_question_are_named_at_once(service: Service, tenant: Tenant, api: Client) -> None:
    reviewer = await desk(service, tenant, "reviewer")
    made = await submissions.configured(api, "compliance", partnerFields=submissions.QUESTIONS)
    page = f"{reviewer.home}/application-forms/{made}/questions"
    wrong: dict[str, str | Sequence[str]] = {
        "id": "9 a",
        "type": "choice",
        "values": f"a\na\n{'x' * 251}",
        "tag": "en",
        "label-en": "x" * 301,
        "answers-en": "One\n\nThree\nFour",
    }
    await reviewer.get(f"{page}/new")
    refused = await reviewer.post(f"{page}/new", wrong)
    assert refused.status_code == 422
    for problem in (
        "Question ID must begin with a letter",
        "Values of the choices in line 2 is the value of another answer",
        "Values of the choices in line 3 must have 1 to 250 characters",
        "Question in English must have 1 to 300 characters",
        "Choices in English has more lines than there are values",
        "Choices in English in line 2 must have a label in one language at least",
    ):
        assert problem in reviewer.text(), problem
    again = await reviewer.post(f"{page}/new", {"id": "use", "type": "url", "tag": "en", "values": "a"})
    assert again.status_code == 422
    for problem in (
        "Question ID 'use' is the id of another question",
        "Values of the choices is for questions of type choice alone",
        "Question in English must have a label in one language at least",
    ):
        assert problem in reviewer.text(), problem
    assert len(data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))["partnerFields"]) == 1
    typed: dict[str, str | Sequence[str]] = {
        "type": "url",
        "tag": ["en", "de"],
        "label-en": "Site?",
        "label-de": "Seite?",
    }
    preview = await reviewer.post(f"{page}/preview?question=use", {**typed, "shown_in": "de"})
    assert ("Seite?" in preview.text, "Where do you use" in preview.text) == (True, False)
    await reviewer.close()
