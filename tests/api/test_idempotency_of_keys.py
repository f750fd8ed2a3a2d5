"""What a secret key was answered is never replayed to a publishable one, nor the other way round (K7; settled 2, 8)."""

from collections.abc import Awaitable, Callable
from typing import Final

import httpx

from almoner.platform.http.caller import PUBLISHABLE
from tests.support.applications import invited
from tests.support.client import Client
from tests.support.giftaid import PERSON
from tests.support.hostile_files import HONEST, PNG
from tests.support.service import Service
from tests.support.submissions import ADA, DETAILS, PATH

DIFFERENT: Final = "idempotency/same_key_different_data"
DOCUMENTS: Final = "/v1/validation-submission-documents"

Send = Callable[[Client, str], Awaitable[httpx.Response]]


def posts(invite: str) -> dict[str, Send]:
    """Every POST that a publishable key may use: the same call by any key, under an idempotency key."""

    def upload(client: Client, key: str) -> Awaitable[httpx.Response]:
        texts = {"type": "validation_request", "validationInviteId": invite}
        files, headers = {"file": ("proof", HONEST[PNG], PNG)}, {"Idempotency-Key": key}
        return client.request("POST", DOCUMENTS, files=files, data=texts, headers=headers)

    applying = {**ADA, **DETAILS, "validationInviteId": invite}
    return {
        "POST /v1/gift-aid": lambda client, key: client.post("/v1/gift-aid", PERSON, idempotency_key=key),
        f"POST {DOCUMENTS}": upload,
        f"POST {PATH}": lambda client, key: client.post(PATH, applying, idempotency_key=key),
    }


async def test_k7_no_answer_of_a_secret_key_is_replayed_to_a_publishable_one(
    service: Service, api: Client, publishable: Client
) -> None:
    open_to_pages = {one.route for one in service.endpoints if one.key is PUBLISHABLE and one.method == "POST"}
    for first, second, key in ((api, publishable, "a"), (publishable, api, "b")):
        sends = posts((await invited(api))["id"])
        assert set(sends) == open_to_pages
        for number, send in enumerate(sends.values()):
            answer = await send(first, f"{key}{number}")
            assert answer.status_code == 200, answer.text
            refused = await send(second, f"{key}{number}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, DIFFERENT)
            assert not any(personal in refused.text for personal in (*ADA.values(), *PERSON.values()))
            again = await send(first, f"{key}{number}")
            assert (again.content, again.headers["idempotent-replayed"]) == (answer.content, "true")
