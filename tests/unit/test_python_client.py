"""The Python client without the service: webhooks, files, values, and when a call is tried again."""

import base64
import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import standardwebhooks
from almoner_client import (
    Almoner,
    AlmonerError,
    ApiConnectionError,
    ApiTimeoutError,
    WebhookVerificationError,
    errors,
    models,
    webhooks,
)
from almoner_client._calls import Attempts, Call, Options
from almoner_client._records import OMITTED, to_json

from tests.support.hostile_files import HONEST, PDF
from tools.clients import files

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
BODY = (
    b'{"object":"event",  "data":{"id":"event_1","createdAt":"2026-11-21T09:30:00.000Z","eventType":"user.made",'
    b'"eventData":{"a":1}}}'
)


def signed(body: bytes = BODY, *, seconds_ago: int = 0, secret: str = SECRET) -> dict[str, str]:
    """The headers of a delivery, signed by the reference implementation of Standard Webhooks."""
    at = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    signature = standardwebhooks.Webhook(secret).sign("event_1", at, body.decode())
    return {"Webhook-Id": "event_1", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signature}


def test_generated_files_are_up_to_date() -> None:
    assert files.outdated() == [], "run `make clients`"


def test_a_delivery_as_it_came_is_an_event() -> None:
    assert webhooks.verify(BODY, {**signed(), "Service-Sequence": "1024"}, SECRET).sequence == 1024
    event = webhooks.verify(BODY, signed(), SECRET)
    assert (event.id, event.event_type, event.event_data) == ("event_1", "user.made", {"a": 1})
    assert webhooks.record_of(event) == {"a": 1}
    assert webhooks.verify(BODY, signed(), ["whsec_" + "A" * 44, SECRET]) == event
    both = {**signed(), "webhook-signature": f"v1,{'A' * 43}= v2,x {signed()['webhook-signature']}"}
    assert webhooks.verify(BODY, both, SECRET) == event


def test_a_known_event_carries_its_record() -> None:
    body = json.dumps(
        {"data": {"eventType": "donation.created", "eventData": {"id": "donation_1", "amount": 5}}}
    ).encode()
    event = webhooks.verify(body, signed(body), SECRET)
    assert isinstance(webhooks.record_of(event), models.Donation)
    assert webhooks.record_of(event, models.Donation).amount == 5
    with pytest.raises(TypeError, match="contain a Disbursement"):
        webhooks.record_of(event, models.Disbursement)


@pytest.mark.parametrize(
    ("body", "seconds_ago", "changed", "secret", "why"),
    [
        (json.dumps(json.loads(BODY)).encode(), 0, {}, SECRET, "raw body"),
        (BODY, 0, {}, "whsec_" + "A" * 44, "No signature fits"),
        (BODY, 400, {}, SECRET, "300 seconds ago"),
        (BODY, -400, {}, SECRET, "300 seconds ago"),
        (BODY, 0, {"webhook-timestamp": ""}, SECRET, "is missing"),
        (BODY, 0, {"webhook-timestamp": "soon"}, SECRET, "is missing"),
        (BODY, 0, {"Webhook-Id": "event_2"}, SECRET, "No signature fits"),
        (BODY, 0, {"webhook-signature": "v1"}, SECRET, "No signature fits"),
        (BODY, 0, {}, "whsec_secret!", "Base64"),
        (BODY, 0, {}, None, "secret is missing"),
        (BODY, 0, {}, [], "secret is missing"),
    ],
)
def test_any_other_delivery_is_refused(
    body: bytes, seconds_ago: int, changed: dict[str, str], secret: str | list[str] | None, why: str
) -> None:
    with pytest.raises(WebhookVerificationError, match=why):
        webhooks.verify(body, {**signed(seconds_ago=seconds_ago), **changed}, secret)


def test_what_was_parsed_is_no_body() -> None:
    with pytest.raises(TypeError, match="bytes that came"):
        webhooks.verify(json.loads(BODY), signed(), SECRET)


def test_values_are_sent_as_the_api_takes_them() -> None:
    benefits = models.BenefitsParams(description="Dinner", fair_value=4000)
    moment = datetime(2026, 11, 21, 10, 30, tzinfo=timezone(timedelta(hours=1)))
    sent = to_json({"benefits": benefits, "left_out": OMITTED, "removed": None, "at": moment, "on": date(2026, 1, 2)})
    assert sent == {
        "benefits": {"description": "Dinner", "fairValue": 4000},
        "removed": None,
        "at": "2026-11-21T09:30:00.000Z",
        "on": "2026-01-02",
    }
    with pytest.raises(TypeError, match="is an answer"):
        to_json({"user": models.HasGiftAid.from_json({"id": "giftaid_1"})})


def test_an_empty_list_is_sent_so_that_the_api_refuses_it() -> None:
    call = Call(method="GET", path="/v1/validation-submissions", query={"organisationIds[]": [], "email": None})
    attempts = Attempts(Options(base_url="http://localhost", api_key="key"), call)
    with httpx.Client() as http:
        assert attempts.request(http.build_request).url.query == b"organisationIds%5B%5D="


def test_members_of_a_later_version_are_kept() -> None:
    donation = models.Donation.from_json({"id": "donation_1", "status": "PLEDGED", "colour": "green"})
    assert (donation.status, dict(donation.unknown)) == ("PLEDGED", {"colour": "green"})


@pytest.mark.parametrize("base_url", ["give.example.org", "localhost:8080", "https://give.example.org/v1/"])
def test_an_address_that_no_call_can_reach_is_refused(base_url: str) -> None:
    with pytest.raises(AlmonerError, match="http or https and without /v1"):
        Almoner("sk_sandbox_x", base_url=base_url)


class Answers(BaseHTTPRequestHandler):
    """Gives the answers that the server holds, one after the other; None ends the connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """The next answer."""
        server: Any = self.server
        server.seen.append((dict(self.headers), self.rfile.read(int(self.headers["content-length"] or 0))))
        answer = server.answers.pop(0)
        if answer is None:
            self.close_connection = True
            return
        status, headers, body = answer
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST  # noqa: N815 (the name that http.server calls)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def answering(
    *answers: tuple[int, dict[str, str], bytes] | None, **options: Any
) -> Iterator[tuple[Almoner, list[Any]]]:
    """A client of a server that gives these answers, and what that has seen."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        seen: list[Any] = []
        server.answers, server.seen = list(answers), seen  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with Almoner("key", base_url=f"http://127.0.0.1:{server.server_port}/", **options) as client:
            yield client, seen
        server.shutdown()
        thread.join()


def problem(code: str) -> bytes:
    """The body of an error."""
    return json.dumps({"error": {"code": code, "title": "T", "message": "M", "reasons": ["r"]}}).encode()


DONATION = b'{"object":"donation","data":{"id":"donation_1"}}'
BUSY = (429, {"Retry-After": "0", "Request-Id": "req_1"}, problem("rate_exceeded"))


def test_a_call_is_tried_again_under_one_key_after_what_retry_after_says() -> None:
    with answering(BUSY, (503, {"Retry-After": "0"}, b"<html>"), (200, {"Request-Id": "req_3"}, DONATION)) as (
        client,
        seen,
    ):
        donation = client.donations.cancel("donation_1")
    assert (donation.id, donation.request_id) == ("donation_1", "req_3")
    assert len({headers["Idempotency-Key"] for headers, _ in seen}) == 1 < len(seen)


def test_the_last_answer_is_told_when_no_try_is_left() -> None:
    with answering(BUSY, max_retries=0) as (client, _), pytest.raises(errors.RateExceeded) as told:
        client.donations.cancel("donation_1")
    assert (told.value.status, told.value.reasons, told.value.retry_after) == (429, ("r",), 0)
    assert told.value.request_id == "req_1"


def test_an_error_of_a_later_version_has_the_class_of_its_status() -> None:
    with answering((404, {}, problem("moon/not_found"))) as (client, _), pytest.raises(errors.NotFoundError) as told:
        client.donations.get("donation_1")
    assert (type(told.value), told.value.code) == (errors.NotFoundError, "moon/not_found")
    with answering((502, {}, b"<html>"), max_retries=0) as (client, _), pytest.raises(errors.ServerError, match="502"):
        client.donations.get("donation_1")


def test_a_page_prints_its_records() -> None:
    body = json.dumps({"object": "donation", "data": [{"id": "donation_1"}], "totalResults": 7, "pageSize": 1})
    with answering((200, {}, body.encode())) as (client, _):
        assert repr(client.donations.list()).startswith("Page(total_results=7, data=[Donation(id='donation_1'")


def test_a_subscription_prints_no_secret() -> None:
    body = json.dumps({"object": "webhook_subscription", "data": {"id": "webhook_1", "secret": "whsec_x"}})
    with answering((200, {}, body.encode())) as (client, _):
        subscription = client.webhook_subscriptions.get("webhook_1")
    assert subscription.secret == "whsec_x"
    assert "whsec_x" not in repr(subscription)


def test_what_is_wrong_is_not_tried_again() -> None:
    with answering((400, {}, problem("bad_request"))) as (client, seen), pytest.raises(errors.BadRequest):
        client.donations.cancel("donation_1")
    assert len(seen) == 1
    with answering((200, {}, b"<html>")) as (client, seen), pytest.raises(ApiConnectionError, match="not JSON"):
        client.donations.get("donation_1")


def test_a_wait_that_is_too_long_is_the_callers() -> None:
    later: Answer = (429, {"Retry-After": "3600"}, problem("rate_exceeded"))
    with answering(later) as (client, seen), pytest.raises(errors.RateLimitError):
        client.donations.get("donation_1")
    assert len(seen) == 1


def test_a_lost_connection_and_a_late_answer_are_told_apart() -> None:
    with (
        answering(None, max_retries=0) as (client, seen),
        pytest.raises(ApiConnectionError, match="No answer from http://127") as lost,
    ):
        client.donations.cancel("donation_1")
    assert lost.value.idempotency_key == seen[0][0]["Idempotency-Key"]
    silent = ThreadingHTTPServer(("127.0.0.1", 0), Answers)  # takes connections and never answers
    with silent, Almoner("key", base_url=f"http://127.0.0.1:{silent.server_port}") as client:
        started = time.monotonic()
        with pytest.raises(ApiTimeoutError):
            client.with_options(max_retries=0).donations.get("donation_1", timeout=0.05)
        assert time.monotonic() - started < 20


@pytest.mark.parametrize("kind", ["path", "bytes", "stream", "named"])
def test_a_file_is_sent_again_from_its_beginning(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "letter.pdf"
    path.write_bytes(HONEST[PDF])
    given: dict[str, Any] = {
        "path": path,
        "bytes": HONEST[PDF],
        "stream": io.BytesIO(HONEST[PDF]),
        "named": ("letter.pdf", io.BytesIO(HONEST[PDF]), PDF),
    }
    answer: Answer = (200, {}, b'{"object":"validation_request","data":{"id":"validationrequest_1"}}')
    with answering((503, {"Retry-After": "0"}, b""), answer) as (client, seen):
        client.validation_requests.add_document("validationrequest_1", file=given[kind])
    for _, body in seen:
        assert HONEST[PDF] in body
        assert b"Content-Type: application/pdf" in body


def test_a_stream_that_cannot_be_rewound_is_sent_once(tmp_path: Path) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with answering((503, {"Retry-After": "0"}, b"")) as (client, seen), pytest.raises(errors.ServerError):
        client.validation_requests.add_document("validationrequest_1", file=("a.pdf", Pipe(HONEST[PDF]), PDF))
    assert len(seen) == 1


def test_key_and_address_come_from_the_environment_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALMONER_API_KEY", "key_of_environment")
    monkeypatch.setenv("ALMONER_BASE_URL", "http://127.0.0.1:9")
    with Almoner() as client:
        assert "key_of_environment" not in repr(client._core.options)
        assert client._core.options.api_key == "key_of_environment"
    monkeypatch.delenv("ALMONER_API_KEY")
    with pytest.raises(errors.AlmonerError, match="ALMONER_API_KEY"):
        Almoner()
