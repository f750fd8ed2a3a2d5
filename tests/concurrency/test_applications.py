"""Several browsers at one form at the same moment: one submission, and nothing lost of what was answered."""

import asyncio

from tests.support import factories
from tests.support.applications import ANSWERS, PERSON, QUESTIONS, Form, configured, invited
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.service import Service

ROUNDS = 5


async def test_an_application_that_is_sent_by_many_at_once_is_made_once(service: Service, api: Client) -> None:
    for _ in range(ROUNDS):
        invite = await invited(api)
        forms = [Form(service, invite) for _ in range(4)]
        for form in forms:
            await form.open()
        await forms[0].fill()
        for form in forms:
            await form.page("/review")
        answers = await asyncio.gather(*(form.browser.post(f"{form.home}/review", {}) for form in forms))
        assert len({answer.headers["location"] for answer in answers}) == 1
        assert {answer.status_code for answer in answers} == {303}
    assert (await api.get("/v1/validation-submissions")).json()["totalResults"] == ROUNDS
    reported = data(await api.get("/v1/validation-invites"))
    assert {one["status"] for one in reported} == {"complete"}


async def test_steps_that_are_answered_at_once_lose_nothing_of_each_other(service: Service, api: Client) -> None:
    made = await configured(api, name="Questions", partnerFields=QUESTIONS)
    organisation = await factories.nonprofit(service, name="Many Hands Relief")
    steps = {"/nonprofit": {"organisation": organisation}, "/person": dict(PERSON), "/questions": dict(ANSWERS)}
    for _ in range(ROUNDS):
        invite = await invited(api, hostedConfigId=made["id"])
        forms = {step: Form(service, invite) for step in steps}
        for step, form in forms.items():
            await form.open()
            await form.page(step)
        posts = (forms[step].browser.post(f"{forms[step].home}{step}", fields) for step, fields in steps.items())
        assert {answer.status_code for answer in await asyncio.gather(*posts)} == {303}
        last = forms["/person"]
        await last.answer("/documents/done", {})
        review = await last.page("/review")
        for text in ("Many Hands Relief", "Amina El-Sayed", "We feed people."):
            assert text in review


async def test_a_document_that_comes_as_the_form_is_sent_is_kept_or_refused_whole(
    service: Service, api: Client
) -> None:
    for _ in range(ROUNDS):
        invite = await invited(api)
        one, other = Form(service, invite), Form(service, invite)
        await one.open()
        await other.open()
        await one.fill()
        await one.page("/review")
        sent, uploaded = await asyncio.gather(
            one.browser.post(f"{one.home}/review", {}), other.upload(HONEST[PNG], PNG)
        )
        assert sent.status_code == 303
        submission = data(await api.get("/v1/validation-submissions"))[0]
        documents = data(await api.get(f"/v1/validation-submissions/{submission['id']}/documents"))
        taken = uploaded.status_code == 303 and "did=added" in uploaded.headers["location"]
        assert len(documents) == int(taken)


async def test_one_address_gets_three_mails_a_day_however_many_forms_are_handed_over_at_once(
    service: Service, api: Client
) -> None:
    for place in range(ROUNDS):
        forms = [Form(service, await invited(api)) for _ in range(6)]
        for form in forms:
            await form.open()
            await form.page("/colleague")
        given = {"email": f"{place}-colleague@busy.example"}
        answers = await asyncio.gather(*(form.browser.post(f"{form.home}/colleague", given) for form in forms))
        assert sorted(answer.status_code for answer in answers) == [200] * 3 + [429] * 3
