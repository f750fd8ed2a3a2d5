"""SCIM: keys, limits, discovery, media types, and what must never be answered 500 (settled 2, RFC 7644)."""

import json
from gzip import compress
from pathlib import Path
from typing import Any

import pytest

from almoner.settings import RequestRate
from tests.support.database import TestDatabase
from tests.support.scim import ENTERPRISE, GROUP, MEDIA_TYPE, USER, ScimClient, made, refused, shown, user
from tests.support.service import Service, Tenant, serving
from tests.support.terminal import in_process, operator

PLACES = (
    ("GET", "/ServiceProviderConfig"),
    ("GET", "/ResourceTypes"),
    ("GET", "/ResourceTypes/User"),
    ("GET", "/Schemas"),
    ("GET", f"/Schemas/{USER}"),
    ("GET", "/Users"),
    ("POST", "/Users"),
    ("GET", "/Users/unknown"),
    ("PUT", "/Users/unknown"),
    ("PATCH", "/Users/unknown"),
    ("DELETE", "/Users/unknown"),
    ("POST", "/Users/.search"),
    ("GET", "/Groups"),
    ("POST", "/Groups"),
    ("PATCH", "/Groups/unknown"),
    ("POST", "/.search"),
    ("POST", "/Bulk"),
    ("GET", "/Me"),
)


@pytest.mark.parametrize(("method", "path"), PLACES)
async def test_k6_every_address_wants_a_scim_key(service: Service, tenant: Tenant, method: str, path: str) -> None:
    """Discovery documents too: they are readable with the key only."""
    for key in (None, "scim_0000000000000000000000000000000000000000"):
        async with ScimClient.of(service, key) as client:
            answer = await client.call(method, path, b"{broken")
            refused(answer, 401)
            assert answer.headers["www-authenticate"].startswith("Bearer ")
    for key in (tenant.secret, tenant.publishable):
        async with ScimClient.of(service, key) as client:
            answer = await client.call(method, path, b"{broken")
            refused(answer, 403)
            assert answer.headers["request-id"].startswith("req_")
            assert "ratelimit" in answer.headers


async def test_k6_a_key_without_the_scope_opens_nothing(service: Service, tenant: Tenant) -> None:
    partner = tenant.partner
    key = await service.key(partner, "scim")
    async with service.db.write() as tx:
        await tx.execute(
            "update api_key set scopes = '{\"*\"}' where partner_id = $1 and kind = 'scim'", tenant.partner.id
        )
    async with ScimClient.of(service, key) as client:
        assert "scim_api" in refused(await client.get("/Users"), 403)


async def test_k6_keys_work_while_the_partner_may_use_scim(service: Service, tenant: Tenant, tmp_path: Path) -> None:
    almoner = in_process(service, tmp_path, await operator(service, "administrator"))
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    async with ScimClient.of(service, await service.key(tenant.partner, "scim")) as client:
        assert (await client.get("/Users")).status_code == 200
    assert await almoner("partners", "scim", partner, "--off") == (0, f"SCIM is off for {tenant.name}\n")
    async with ScimClient.of(service, await service.key(tenant.partner, "scim")) as client:
        assert "not enabled for SCIM" in refused(await client.get("/Users"), 403)
    assert await almoner("partners", "scim", partner, "--on") == (0, f"SCIM is on for {tenant.name}\n")
    async with ScimClient.of(service, await service.key(tenant.partner, "scim")) as client:
        assert (await client.get("/Users")).status_code == 200


async def test_a_scim_key_opens_nothing_else(service: Service, tenant: Tenant) -> None:
    client = service.client(await service.key(tenant.partner, "scim"))
    for path in ("/v1/categories", "/v1/donations", "/v1/sandbox/mailbox"):
        assert (await client.get(path)).status_code == 403
    await client.close()


async def test_k5_the_last_use_of_a_key_is_noted(service: Service, tenant: Tenant, scim: ScimClient) -> None:
    await scim.get("/Users/unknown")
    await service.services.key_guard.flush_key_uses()
    async with service.db.read() as tx:
        used = await tx.fetchval(
            "select last_used_route from api_key where partner_id = $1 and kind = 'scim'", tenant.partner.id
        )
    assert used == "GET /scim/v2/Users/{id}"


async def test_l1_limits_are_its_own(empty_database: TestDatabase) -> None:
    async with (
        serving(empty_database, rate_limit_secret=RequestRate(9, 9), rate_limit_scim=RequestRate(1, 2)) as service,
        await ScimClient.for_partner(service, await service.tenant()) as client,
    ):
        first = await client.get("/Users")
        assert first.headers["ratelimit-policy"].startswith('"scim";q=2;')
        assert first.headers["ratelimit"].startswith('"scim";r=1;')
        shown(await client.get("/Groups"))
        answer = await client.get("/Users")
        refused(answer, 429)
        assert int(answer.headers["retry-after"]) >= 1


async def test_wrong_keys_are_braked(empty_database: TestDatabase) -> None:
    async with serving(empty_database, rate_limit_wrong_keys=RequestRate(0.1, 2)) as service:
        for number in range(2):
            async with ScimClient.of(service, f"scim_{number}") as client:
                refused(await client.get("/Users"), 401)
        async with ScimClient.of(service, "scim_2") as client:
            answer = await client.get("/Users")
            refused(answer, 429)
            assert int(answer.headers["retry-after"]) >= 1


async def test_capabilities_are_told(scim: ScimClient) -> None:
    reported = shown(await scim.get("/ServiceProviderConfig"))
    for name in ("patch", "bulk", "filter", "sort", "etag"):
        assert reported[name]["supported"] is True, name
    assert reported["changePassword"]["supported"] is False
    assert reported["bulk"]["maxOperations"] >= 1000
    assert reported["bulk"]["maxPayloadSize"] >= 1024 * 1024
    assert reported["filter"]["maxResults"] == 200
    assert reported["pagination"]["cursor"] is True
    assert reported["pagination"]["index"] is True
    assert [scheme["type"] for scheme in reported["authenticationSchemes"]] == ["oauthbearertoken"]


async def test_types_and_schemas_are_told(service: Service, scim: ScimClient) -> None:
    types = shown(await scim.get("/ResourceTypes"))["Resources"]
    assert {one["name"]: one["endpoint"] for one in types} == {"User": "/Users", "Group": "/Groups"}
    assert types[0]["schemaExtensions"] == [{"schema": ENTERPRISE, "required": False}]
    schemas = {one["id"]: one for one in shown(await scim.get("/Schemas"))["Resources"]}
    assert set(schemas) == {USER, GROUP, ENTERPRISE}
    for urn, reported in schemas.items():
        assert shown(await scim.get(f"/Schemas/{urn}"))["attributes"] == reported["attributes"]
    assert "password" not in {one["name"] for one in schemas[USER]["attributes"]}
    refused(await scim.get("/Schemas/urn:example:unknown"), 404)
    refused(await scim.get("/ResourceTypes/Robot"), 404)
    refused(await scim.get("/Schemas", filter_='id eq "x"'), 403)
    base = service.db.deployment.base_urls.api
    assert types[0]["meta"]["location"] == f"{base}/scim/v2/ResourceTypes/User"


async def test_addresses_never_come_from_the_host_header(service: Service, scim: ScimClient) -> None:
    answer = await scim.post("/Users", user(), headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
    record = made(answer)
    assert record["meta"]["location"] == f"{service.db.deployment.base_urls.api}/scim/v2/Users/{record['id']}"
    assert answer.headers["location"] == record["meta"]["location"]
    assert "evil" not in answer.text


async def test_what_is_not_there_is_told_in_scim(scim: ScimClient) -> None:
    for path in ("/Robots", "/Users/unknown", "/Users/a/b", "/Groups/unknown", "/Schemas/x/y", "/robots/.search"):
        refused(await scim.get(path) if "search" not in path else await scim.post(path, {}), 404)
    refused(await scim.get("/Me"), 501)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/Users", "GET, HEAD, OPTIONS, POST"),
        ("POST", "/Users/x", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"),
        ("POST", "/Schemas", "GET, HEAD, OPTIONS"),
        ("PUT", "/ServiceProviderConfig", "GET, HEAD, OPTIONS"),
        ("PATCH", "/ResourceTypes", "GET, HEAD, OPTIONS"),
        ("GET", "/Bulk", "OPTIONS, POST"),
    ],
)
async def test_e6_other_methods_are_told_which_there_are(scim: ScimClient, method: str, path: str, allow: str) -> None:
    answer = await scim.call(method, path)
    refused(answer, 405)
    assert answer.headers["allow"] == allow
    options = await scim.call("OPTIONS", path)
    assert (options.status_code, options.headers["allow"]) == (204, allow)


async def test_head_is_get_without_its_body(scim: ScimClient) -> None:
    person = await scim.new_user()
    got, head = await scim.get(f"/Users/{person['id']}"), await scim.call("HEAD", f"/Users/{person['id']}")
    assert head.content == b""
    for name in ("etag", "content-type", "content-length", "location"):
        assert head.headers[name] == got.headers[name]


@pytest.mark.parametrize("kind", [MEDIA_TYPE, "application/json", "application/scim+json; charset=utf-8", ""])
async def test_json_media_types_are_taken(scim: ScimClient, kind: str) -> None:
    made(await scim.post("/Users", user(), headers={"Content-Type": kind}))


async def test_other_media_types_are_not(scim: ScimClient) -> None:
    refused(await scim.post("/Users", user(), headers={"Content-Type": "text/plain"}), 415)
    refused(await scim.post("/Bulk", b"{}", headers={"Content-Type": "multipart/form-data"}), 415)


async def test_headers_byte_order_marks_and_compression_are_read_as_in_the_api(scim: ScimClient) -> None:
    key = scim.http.headers["Authorization"]
    twice = await scim.http.request("GET", "/Users", headers=[("Authorization", key), ("Authorization", key)])
    assert "header.Authorization must be given once" in refused(twice, 400)
    made(await scim.post("/Users", b"\xef\xbb\xbf" + json.dumps(user()).encode()))
    packed = compress(json.dumps(user()).encode())
    answer = await scim.post("/Users", packed, headers={"Content-Encoding": "gzip"})
    assert "header.Content-Encoding must be identity, not 'gzip'" in refused(answer, 415)


@pytest.mark.parametrize("query", ["aadOptscim062020", "aadOptscim062020=", "x=1&y=2", "startindex=x"])
async def test_any_query_on_the_base_address_is_harmless(scim: ScimClient, query: str) -> None:
    person = await scim.new_user()
    assert shown(await scim.call("GET", f"/Users?{query}"))["totalResults"] == 1
    assert shown(await scim.call("GET", f"/Users/{person['id']}?{query}"))["id"] == person["id"]
    assert made(await scim.call("POST", f"/Users?{query}", user()))["active"] is True


@pytest.mark.parametrize("path", ["/Users", "/Groups", "/ResourceTypes"])
async def test_a_parameter_that_is_repeated_is_refused(scim: ScimClient, path: str) -> None:
    answer = await scim.call("GET", f"{path}?count=1&filter=id%20pr&count=2")
    assert refused(answer, 400, "invalidSyntax") == "'count' must be given once"


async def test_a_member_that_is_repeated_is_refused(scim: ScimClient) -> None:
    """In any case: names of attributes ignore it (RFC 7643 2.1)."""
    person = await scim.new_user()
    path = f"/Users/{person['id']}"
    body = json.dumps(user())[:-1]
    off = '{"op": "replace", "path": "active", "value": true, "value": false}'
    for method, where, sent, name in (
        ("POST", "/Users", f'{body}, "username": "other@example.org"}}', "username"),
        ("PUT", path, f'{body}, "name": {{"givenName": "A", "givenName": "B"}}}}', "givenname"),
        ("PATCH", path, f'{{"Operations": [{off}]}}', "value"),
        ("POST", "/Users/.search", '{"filter": "id pr", "filter": "userName pr"}', "filter"),
        ("POST", "/Bulk", f'{{"Operations": [{{"data": {off}}}], "long": "{"x" * 20_000}"}}', "value"),
    ):
        answer = await scim.call(method, where, sent.encode())
        assert refused(answer, 400, "invalidSyntax") == f"'{name}' must be given once"
    assert shown(await scim.get(path)) == person
    two = {'emails[type eq "work"].value': "a@example.org", 'emails[type eq "Work"].display': "A"}
    shown(await scim.patch(path, {"op": "add", "value": two}))


async def test_the_suffix_of_the_rfc_is_taken(scim: ScimClient) -> None:
    """RFC 7644 3.8."""
    person = await scim.new_user()
    assert shown(await scim.get(f"/Users/{person['id']}.scim"))["id"] == person["id"]


async def test_idempotency_keys_and_the_envelope_stay_out(scim: ScimClient) -> None:
    body = user()
    made(await scim.post("/Users", body, headers={"Idempotency-Key": "one"}))
    refused(await scim.post("/Users", body, headers={"Idempotency-Key": "one"}), 409, "uniqueness")


async def test_large_bodies_are_refused(scim: ScimClient) -> None:
    refused(await scim.post("/Users", b'"' + b"x" * 1024 * 1024 + b'"'), 413)
    refused(await scim.post("/Bulk", b'"' + b"x" * 4 * 1024 * 1024 + b'"'), 413)


HOSTILE: dict[str, Any] = {
    "empty": b"",
    "no json": b"{broken",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "deep": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "NUL": b'{"schemas":["x"],"userName":"a\\u0000b"}',
    "half a pair": b'{"userName":"\\ud800"}',
    "no utf-8": b'{"userName":"\xff\xfe"}',
    "a huge number": b'{"userName":' + b"9" * 5000 + b"}",
    "a long name": b'{"userName":"' + b"x" * 256 + b'"}',
    "a blank name": b'{"userName":"  "}',
    "no name": b'{"title":"x"}',
    "a wrong schema": b'{"schemas":["' + GROUP.encode() + b'"],"userName":1}',
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("path", ["/Users", "/Groups", "/Bulk"])
async def test_hostile_bodies_are_refused(scim: ScimClient, path: str, body: bytes) -> None:
    answer = await scim.post(path, body)
    assert answer.status_code == 400, answer.text
    assert "pydantic" not in answer.text


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_changes_are_refused(scim: ScimClient, body: bytes) -> None:
    person = await scim.new_user()
    for method in ("PUT", "PATCH"):
        assert (await scim.call(method, f"/Users/{person['id']}", body)).status_code == 400
    assert (await scim.post("/Users/.search", body)).status_code in {200, 400}
    assert shown(await scim.get(f"/Users/{person['id']}"))["userName"] == person["userName"]


@pytest.mark.parametrize(
    "query",
    [
        {"filter": "((((((("},
        {"filter": "(" * 1900 + 'userName eq "a"' + ")" * 1900},
        {"filter": "not (" * 600 + 'userName eq "a"' + ")" * 600},
        {"filter": "title pr and " * 290 + "title pr"},
        {"filter": 'userName eq "' + "x" * 5000 + '"'},
        {"filter": 'userName eq "\x00"'},
        {"filter": 'userName co "%"'},
        {"filter": 'userName sw "_%\\\\"'},
        {"filter": "userName eq"},
        {"filter": "nobody eq 1"},
        {"filter": 'meta.created gt "yesterday"'},
        {"filter": "active gt true"},
        {"filter": "id eq 1e400"},
        {"filter": f"active eq {'9' * 400}"},
        {"filter": 'emails[type eq "work" and value[x eq 1]]'},
        {"sortBy": "nobody"},
        {"sortBy": "name"},
        {"sortBy": "userName; drop table person"},
        {"sortOrder": "sideways"},
        {"count": "9" * 30},
        {"startIndex": "9" * 30},
        {"startIndex": "-" + "9" * 30},
        {"count": "many"},
        {"cursor": "x"},
        {"cursor": "AQ" * 40},
        {"cursor": "", "startIndex": "1"},
        {"attributes": "a,b,," + "c" * 3000},
        {"attributes": "\x00"},
        {"excludedAttributes": 'emails[type eq "'},
    ],
)
async def test_hostile_questions_never_break_it(scim: ScimClient, query: dict[str, Any]) -> None:
    await scim.new_user()
    body = {
        name: int(text) if name in {"count", "startIndex"} and text.lstrip("-").isdigit() else text
        for name, text in query.items()
    }
    for answer in (
        await scim.get("/Users", **query),
        await scim.get("/Groups", **query),
        await scim.get("/", **query),
        await scim.post("/Users/.search", body),
    ):
        assert answer.status_code in {200, 400}, answer.text
        assert answer.headers["content-type"] == MEDIA_TYPE


@pytest.mark.parametrize("id_", ["%00", "%ff", "%2e%2e%2f", "..;", "'", "%25", "x" * 3000, "sandbox_member_"])
async def test_hostile_ids_are_unknown(scim: ScimClient, id_: str) -> None:
    for method in ("GET", "DELETE"):
        assert (await scim.call(method, f"/Users/{id_}")).status_code in {400, 404, 405}


async def test_l5_the_line_of_a_request_names_route_and_partner_alone(
    service: Service, tenant: Tenant, scim: ScimClient
) -> None:
    body = user("secret.name@example.org")
    record = made(await scim.post("/Users", body))
    await scim.get("/Users", filter_='userName eq "secret.name@example.org"')
    await scim.get(f"/Users/{record['id']}")
    lines = [line.decode() for line in service.lines if str(tenant.partner.id).encode() in line]
    assert [line for line in lines if "secret.name" in line or record["id"] in line or "scim_" in line] == []
    for route in ("POST /scim/v2/Users", "GET /scim/v2/Users", "GET /scim/v2/Users/{id}"):
        assert any(f'"route":"{route}"' in line for line in lines), route
