"""Errors of hosted pages."""

import pytest
from starlette.responses import HTMLResponse
from starlette.types import Message

from almoner.kit.errors import IncorrectParams, ServiceUnavailable
from almoner.platform.pages.server_error import ServerErrorResponse


@pytest.mark.parametrize(
    ("error", "shown"), [(KeyError("x"), [500]), (ServiceUnavailable(), [503]), (IncorrectParams("x: is wrong"), [])]
)
async def test_a_page_answers_its_own_errors_and_leaves_those_of_requests_to_the_edge(
    error: Exception, shown: list[int]
) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    response = ServerErrorResponse(HTMLResponse("Sorry", 500), error)
    with pytest.raises(type(error)):
        await response({"type": "http"}, receive, send)
    assert [message["status"] for message in sent if "status" in message] == shown
