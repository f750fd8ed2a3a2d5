"""The largest form that a configuration allows is answered, kept, sent and told of."""

from typing import Any

import pytest

from almoner.validation.applications.configurations.domain import MAX_ANSWER_LENGTHS, MAX_FIELDS, MAX_LABEL_LENGTH
from tests.support import factories, webhooks
from tests.support.applications import PERSON, Form, configured, invited
from tests.support.client import Client, data
from tests.support.receivers import receiver
from tests.support.service import Service

SIGNS = {"of one byte": "&", "of three bytes": "漢", "of four bytes": "𠮷"}
"""Three, nine and twelve bytes for each sign in a posted form."""


@pytest.mark.parametrize("sign", SIGNS.values(), ids=list(SIGNS))
async def test_every_question_answered_at_its_full_length_is_sent(service: Service, api: Client, sign: str) -> None:
    fields = [
        {
            "id": f"{'a' * 37}{place:03}",
            "type": "long_text",
            "required": True,
            "labels": {"en": "漢" * MAX_LABEL_LENGTH},
        }
        for place in range(MAX_FIELDS)
    ]
    made = await configured(api, name=f"Largest {sign}", checks=["compliance"], partnerFields=fields)
    form = Form(service, await invited(api, hostedConfigId=made["id"]))
    await form.open()
    answers = {str(field["id"]): sign * MAX_ANSWER_LENGTHS["long_text"] for field in fields}
    posted = {f"q-{name}": answer for name, answer in answers.items()}
    await form.answer("/questions", posted)
    # Coming back shows all of it, and it is as long as it was.
    assert (await form.page("/questions")).count(sign.replace("&", "&amp;") * MAX_ANSWER_LENGTHS["long_text"]) == 30
    # One sign more in one of them is refused in words beside it, and loses none of the others.
    await form.browser.open(f"{form.home}/questions")
    refused: Any = await form.browser.post(f"{form.home}/questions", {**posted, next(iter(posted)): sign * 5_001})
    assert (refused.status_code, refused.text.count('aria-invalid="true"')) == (422, 1)
    async with receiver() as partner:
        hook = await webhooks.subscribe(api, partner, "validation_submission.created")
        await form.answer("/nonprofit", {"organisation": await factories.nonprofit(service)})
        await form.answer("/person", PERSON)
        await form.send()
        sent = data(await api.get("/v1/validation-submissions"))[0]
        assert sent["partnerFields"] == answers
        await service.drain()
        assert (await api.delete(f"/v1/webhook-subscriptions/{hook['id']}")).status_code == 204
    reported = [webhooks.verify_whenever(got, hook["secret"])["data"]["eventData"] for got in partner.received]
    assert [one["partnerFields"] for one in reported if one["id"] == sent["id"]] == [answers]
