"""The address of payment providers' notices in the whole application (settled 5; M5)."""

import pytest

from tests.support.client import Client
from tests.support.fake_provider import notice
from tests.support.service import Service


async def sent(anonymous: Client, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    """Status and code of the answer."""
    answer = await anonymous.request("POST", path, content=body, headers=headers)
    assert answer.headers["request-id"].startswith("req_")
    return answer.status_code, answer.json()["error"]["code"]


async def test_m5_a_notice_with_a_strangers_signature_is_refused(service: Service, anonymous: Client) -> None:
    body, headers = notice("tp_1", at=service.clock.real_now())
    assert await sent(anonymous, "/callbacks/test", body, headers) == (400, "payment/notice_refused")
    assert await sent(anonymous, "/callbacks/test", body, {}) == (400, "payment/notice_refused")


async def test_an_api_key_is_no_signature(service: Service, api: Client) -> None:
    body, headers = notice("tp_1", at=service.clock.real_now())
    assert await sent(api, "/callbacks/test", body, headers) == (400, "payment/notice_refused")


@pytest.mark.parametrize("path", ["/callbacks/other", "/callbacks/", "/callbacks", "/v1/callbacks/test"])
async def test_other_addresses_are_not_there(anonymous: Client, path: str) -> None:
    assert await sent(anonymous, path, b"{}", {}) == (404, "not_found")


async def test_a_notice_is_at_most_64_kb(anonymous: Client) -> None:
    assert await sent(anonymous, "/callbacks/test", b" " * 65_537, {}) == (413, "content_too_large")


async def test_only_posts_are_answered(anonymous: Client) -> None:
    answer = await anonymous.request("GET", "/callbacks/test")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
