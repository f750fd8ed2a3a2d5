"""Applications on the dashboard: documents beside their evidence, appeals, and the forms of applicants."""

import asyncio
from collections.abc import Sequence
from io import BytesIO

from PIL import Image

from almoner.access.accounts.domain import FORM_LIMITS, LONG_FORM_LIMITS
from almoner.validation.applications.configurations.domain import MAX_CHOICES
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
    assert (await reviewer.post(page, move=f"size.{'1' * 5000}")).status_code == 303
    assert [one["id"] for one in await stored()] == ["size", "use"]
    await reviewer.get(f"{page}/remove?question=use")
    for _ in range(2):
        answer = await reviewer.post(f"{page}/remove?question=use")
        assert answer.headers["location"].endswith("?done=removed"), "it may be sent twice"
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
        "Choices in English: enter at most one line for each value",
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
    many = await reviewer.post(f"{page}/new", {"id": "many", "type": "choice", "tag": "en", "values": "a\n" * 10_000})
    assert (many.status_code, "there are 10000" in reviewer.text(), len(many.text) < 100_000) == (422, True, True)
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


async def test_a_question_with_many_choices_in_many_languages_is_taken(
    service: Service, tenant: Tenant, api: Client
) -> None:
    reviewer, made = await desk(service, tenant, "reviewer"), await submissions.configured(api, "compliance")
    page = f"{reviewer.home}/application-forms/{made}/questions"
    tags = [f"{first}{second}" for first in "abcde" for second in "abcdefghij"]
    answers = "\n".join("質問への答え" * 5 for _ in range(MAX_CHOICES))
    form: dict[str, str | Sequence[str]] = {
        "id": "where",
        "type": "choice",
        "values": "\n".join(str(place) for place in range(MAX_CHOICES)),
        "tag": tags,
        **{f"label-{tag}": "質問" for tag in tags},
        **{f"answers-{tag}": answers for tag in tags[:12]},
    }
    await reviewer.get(f"{page}/new")
    assert (await reviewer.post(f"{page}/preview", {**form, "shown_in": "en"})).status_code == 200
    await reviewer.get(f"{page}/new")
    assert (await reviewer.post(f"{page}/new", form)).headers["location"] == f"{page}?done=added"
    [stored] = data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))["partnerFields"]
    assert (len(stored["labels"]), len(stored["choices"][-1]["labels"])) == (50, 12)
    await reviewer.get(page)
    longest = {"id": "x" * LONG_FORM_LIMITS.max_bytes}
    assert (await reviewer.post(f"{page}/new", longest)).status_code == 413
    await reviewer.get(page)
    other = await reviewer.post(page.replace("/questions", "/edit"), name="x" * FORM_LIMITS.max_bytes)
    assert other.status_code == 413
    await reviewer.close()


async def test_no_member_overwrites_the_questions_of_another(service: Service, tenant: Tenant, api: Client) -> None:
    ada, ben = await desk(service, tenant, "reviewer"), await desk(service, tenant, "reviewer")
    made = await submissions.configured(api, "compliance", partnerFields=submissions.QUESTIONS)
    page = f"{ada.home}/application-forms/{made}/questions"

    async def stored() -> dict[str, str]:
        fields = data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))["partnerFields"]
        return {field["id"]: field["labels"]["en"] for field in fields}

    def question(label: str, **more: str) -> dict[str, str]:
        return {"type": "short_text", "tag": "en", "label-en": label, **more}

    for browser in (ada, ben):
        await browser.get(f"{page}/new")
    both = await asyncio.gather(
        ada.post(f"{page}/new", question("Ada asks?", id="a")), ben.post(f"{page}/new", question("Ben asks?", id="b"))
    )
    assert sorted(one.status_code for one in both) == [303, 422]
    refused, name, own, other = (
        (ada, "a", "Ada asks?", "Ben asks?") if both[0].status_code == 422 else (ben, "b", "Ben asks?", "Ada asks?")
    )
    for sentence in ("Nothing has been saved", "Saved version", other):
        assert sentence in refused.text(), sentence
    assert f'value="{own}"' in (refused.page.text if refused.page else "")
    assert (await refused.post(f"{page}/new", question(own, id=name))).status_code == 303
    assert {"a", "b"} <= set(await stored())

    edit = f"{page}/edit?question=use"
    for browser in (ada, ben):
        await browser.get(edit)
    assert (await ben.post(edit, question("Ben’s words?"))).status_code == 303
    invalid = await ada.post(edit, question(""))
    assert (invalid.status_code, "Ben’s words?" in ada.text()) == (422, False)
    stale = await ada.post(edit, question("Ada’s words?"))
    assert (stale.status_code, "Ben’s words?" in ada.text(), 'value="Ada’s words?"' in stale.text) == (422, True, True)
    assert (await stored())["use"] == "Ben’s words?"
    assert (await ada.post(edit, question("Ada’s words?"))).status_code == 303

    for path, form in ((page, {"move": "b.0"}), (f"{page}/remove?question=use", {})):
        await ada.get(path)
        await ben.get(edit)
        assert (await ben.post(edit, question(f"Before {len(form)}?"))).status_code == 303
        before = await stored()
        assert ((await ada.post(path, form)).status_code, await stored()) == (422, before)
        assert ("Nothing has been saved" in ada.text(), before["use"] in ada.text()) == (True, True)
    await ada.get(edit)
    await ben.get(f"{page}/remove?question=use")
    await ben.post(f"{page}/remove?question=use")
    gone = await ada.post(edit, question("Ada’s words?"))
    assert (gone.status_code, 'value="Ada’s words?"' in gone.text) == (422, True)
    for browser in (ada, ben):
        await browser.close()
