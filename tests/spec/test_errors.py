"""Every error, of the framework too, has the error object, a documented code and a Request-Id (E1-E4, settled 3)."""

import json
import re
from typing import Any

import httpx
import pytest

from almoner.kit import errors
from tests.support.client import Client
from tests.support.service import Service

TITLES = {
    400: "Bad request",
    401: "Unauthorised",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    415: "Unsupported Content Type",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
SETTLED_CODES = {
    "bad_request",
    "pagination/cursor_error",
    "idempotency/original_call_in_progress",
    "idempotency/same_key_different_data",
    "idempotency/key_already_in_use",
    "unauthorized",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "not_acceptable",
    "conflict",
    "precondition_failed",
    "content_too_large",
    "unsupported_content_type",
    "rate_exceeded",
    "request_headers_too_large",
    "internal_server_error",
    "service_unavailable",
}
DOMAIN_CODES = {
    "category": "name_taken organisation_not_found",
    "donation": "gift_aid_missing missing_organisation user_not_found invalid_state wrong_target_currency "
    "wrong_partner_currency cannot_accept_donations invalid_metadata cannot_edit_organisation_invalid_donation_type",
    "donation_request": "invalid_state",
    "donation_subscription": "invalid_metadata invalid_pause invalid_state",
    "gift_aid": "user_not_found",
    "donation_session": "organisation_not_found user_not_found invalid_metadata cannot_accept_donations cannot_be_paid "
    "invalid_state",
    "giving_link": "organisation_not_found category_not_found cannot_accept_donations slug_taken invalid_metadata",
    "user": "organisation_not_found",
    "monetary_donation_verification": "organisation_not_found invalid_metadata invalid_state",
    "validation_request": "registry_not_found invalid_registry_id invalid_state",
    "agent_verification": "organisation_not_found validation_request_not_found invalid_metadata invalid_state",
    "monitoring_subscription": "entity_not_found organisation_not_active monitoring_subscription_already_cancelled "
    "invalid_state",
    "eligibility_subscription": "entity_not_found organisation_not_active invalid_sub_tags already_cancelled "
    "invalid_metadata invalid_state",
    "validation_invite": "validation_invite_expired invalid_configuration_id",
    "validation_submission": "organisation_not_found organisation_not_active validation_submission_document_not_found "
    "validation_request_not_found validation_request_already_rejected invalid_sub_tags validation_invite_not_found "
    "validation_invite_invalid_state invalid_payload_config_invite_id no_configuration_for_partner "
    "invalid_configuration_id invalid_state",
    "validation_submission_document": "validation_invite_not_found validation_submission_not_found",
    "event": "webhook_subscription_not_found",
    "sandbox": "record_not_found payment_declined",
    "webhook_subscription": "invalid_state",
    "upload": "too_many_files content_type_error max_file_size filetype_not_supported multipart_boundary_not_found "
    "file_is_missing",
}
INTERNALS = re.compile(
    r"Traceback|asyncpg|psycopg|sqlalchemy|pydantic|msgspec|starlette|almoner\.|\.py\b|select .* from|insert into"
    r"|/home/|/usr/|/root/|Error\(|Exception",
    re.IGNORECASE,
)


def assert_error(answer: httpx.Response, status: int, code: str | None = None) -> list[str]:
    """Check the whole shape; answers the reasons."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["request-id"])
    body: dict[str, Any] = answer.json()
    assert set(body) == {"error"}
    error = body["error"]
    assert set(error) == {"code", "title", "message", "reasons"}
    assert error["title"] == TITLES[status]
    assert error["message"]
    assert isinstance(error["reasons"], list)
    assert all(isinstance(reason, str) and reason for reason in error["reasons"])
    assert error["code"] in errors.problem_types_by_code()
    if code:
        assert error["code"] == code
    assert not INTERNALS.search(answer.text), answer.text
    reasons: list[str] = error["reasons"]
    return reasons


async def test_e1_unknown_address(api: Client, anonymous: Client) -> None:
    for client in (api, anonymous):
        for path in (
            "/v1/nothing",
            "/v1",
            "/v1/",
            "/v1/categories/",
            "/v1//categories",
            "/v1/Categories",
            "/v2/categories",
        ):
            assert_error(await client.get(path), 404, "not_found")


async def test_e1_wrong_method(api: Client) -> None:
    answer = await api.request("PUT", "/v1/categories")
    assert_error(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"


async def test_e1_missing_and_malformed_keys(anonymous: Client) -> None:
    for header in (
        "",
        "sk_sandbox_",
        "Bearer",
        "Bearer x",
        "Basic !!!",
        "Basic eA==",
        "Digest abc",
        "a b c",
        "sk_live_" + "x" * 38,
    ):
        answer = await anonymous.get("/v1/categories", headers={"Authorization": header} if header else {})
        assert_error(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"]


async def test_e1_publishable_key_on_a_secret_route(publishable: Client) -> None:
    assert_error(await publishable.post("/v1/categories", {"name": "x"}), 403, "forbidden")


async def test_e1_body_too_large_is_told_before_and_while_reading(api: Client) -> None:
    big = b'{"name": "' + b"x" * (1024 * 1024) + b'"}'

    async def streamed() -> Any:
        for start in range(0, len(big), 65536):
            yield big[start : start + 65536]

    json_type = {"Content-Type": "application/json"}
    assert_error(await api.request("POST", "/v1/categories", content=big, headers=json_type), 413, "content_too_large")
    assert_error(
        await api.request("POST", "/v1/categories", content=streamed(), headers=json_type), 413, "content_too_large"
    )


async def test_a_body_of_exactly_one_mebibyte_is_read(api: Client) -> None:
    body = b'{"name": "x"}'.ljust(1024 * 1024)
    answer = await api.request("POST", "/v1/categories", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
async def test_e1_wrong_content_type(media_type: str, api: Client) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    answer = await api.request("POST", "/v1/categories", content=b'{"name": "x"}', headers=headers)
    assert_error(answer, 415, "unsupported_content_type")


@pytest.mark.parametrize("media_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
async def test_json_content_types_are_read(media_type: str, api: Client) -> None:
    body = json.dumps({"name": f"of {media_type}"}).encode()
    assert (
        await api.request("POST", "/v1/categories", content=body, headers={"Content-Type": media_type})
    ).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"1",
        b"null",
        b"{'name': 'x'}",
        b'{"name": "a\x00b"}',
        b'{"name": "\\ud800"}',
        b"\xff\xfe",
        b'{"name": NaN}',
    ],
)
async def test_e1_unreadable_bodies(body: bytes, api: Client) -> None:
    answer = await api.request("POST", "/v1/categories", content=body, headers={"Content-Type": "application/json"})
    assert assert_error(answer, 400, "bad_request")


async def test_e3_all_problems_of_a_request_at_once_each_naming_its_field(api: Client) -> None:
    answer = await api.post("/v1/categories", {"name": 7, "attributes": []})
    reasons = assert_error(answer, 400, "bad_request")
    assert sorted(reason.split()[0] for reason in reasons) == ["body.attributes", "body.name"]
    answer = await api.get("/v1/categories?pageSize=0&direction=UP")
    reasons = assert_error(answer, 400, "bad_request")
    assert "query.pageSize must be a positive integer" in reasons
    assert any(reason.startswith("query.direction ") for reason in reasons)


async def test_e2_request_id_is_ours_and_on_every_answer(api: Client, anonymous: Client) -> None:
    seen = set()
    for client, method, path in [
        (api, "GET", "/v1/categories"),
        (anonymous, "GET", "/v1/x"),
        (api, "OPTIONS", "/v1/categories"),
    ]:
        answer = await client.request(
            method, path, headers={"Request-Id": "mine-mine-mine", "X-Request-Id": "mine-mine-mine"}
        )
        assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["request-id"])
        seen.add(answer.headers["request-id"])
    assert len(seen) == 3


async def test_k9_a_key_in_the_query_is_refused(api: Client, anonymous: Client) -> None:
    for client in (api, anonymous):
        answer = await client.get(f"/v1/categories?key={api.key}")
        assert answer.status_code == 400
        assert api.key not in answer.text


def test_e3_the_codes_of_every_route_are_settled_and_no_general_code_is_missing(service: Service) -> None:
    domain = {f"{area}/{code}" for area, codes in DOMAIN_CODES.items() for code in codes.split()}
    declared = {problem.code for endpoint in service.endpoints for problem in endpoint.errors}
    assert declared - SETTLED_CODES - domain == set()
    assert set(errors.problem_types_by_code()) >= SETTLED_CODES


def test_e3_every_code_has_title_and_message(service: Service) -> None:
    for code, problem in errors.problem_types_by_code().items():
        assert problem.title, code
        assert problem.message, code
        assert re.fullmatch(r"[a-z_]+(/[a-z_]+)?", code)
