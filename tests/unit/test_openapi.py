"""The interface description: one test for each thing that follows from a declaration."""

import re
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from pydantic import Field

from almoner.kit.errors import BadRequest
from almoner.kit.ids import RecordIdCodec
from almoner.kit.patch import UNSET
from almoner.platform.events.event_types import EventType
from almoner.platform.http import conventions
from almoner.platform.http.caller import NO_KEY, PUBLISHABLE, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import EndpointDeprecation, Routes
from almoner.platform.http.examples import ExampleBuilder
from almoner.platform.http.ids import TEST_SUFFIX, IdString, PathId
from almoner.platform.http.openapi import build_openapi_document
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.uploads import UploadDeclaration, UploadedFile
from almoner.platform.http.wire import DayOrMoment, Maybe, PageQuery, PatchBody, RequestBody, ResponseRecord, Text255
from tools.shared_parts import with_shared_parts

IDS = RecordIdCodec(sandbox=True)
RETIRED = EndpointDeprecation("@1767225600", "Fri, 01 Jan 2027 00:00:00 GMT", "https://example.org/changes")


class OutOfStock(BadRequest):
    code = "test/out_of_stock"
    message = "There is none left"


class OutOfPaint(OutOfStock):
    message = "There is no paint left"


class UserBody(RequestBody):
    name: Text255
    organisation_id: Annotated[str, IdString("organisation", TEST_SUFFIX)]
    kind: Literal["person", "robot"] = "person"
    sub_tag: Annotated[str, IdString("activitysubtag", test_values=("test_pass", "test_fail"))] = "test_pass"
    note: str | None = None
    colour: Annotated[str, Field(examples=["green"])] | None = None
    registry: Annotated[str, IdString("registry")] | None = None


class PapersBody(RequestBody):
    """What stands beside a file."""

    title: Text255


class UserPatch(PatchBody):
    name: Maybe[Text255] = UNSET


class UserResponse(ResponseRecord, object_name="user"):
    """A user; ``name`` is shown."""

    id: str
    name: str
    organisation_id: str | None
    status: Literal["active", "abandoned"]
    created_at: str
    deleted_at: str | None
    nickname: str | None = None
    secret: str | msgspec.UnsetType = msgspec.UNSET


class UsersQuery(PageQuery):
    name: str | None = Field(None, max_length=10, description="Part of the name.", json_schema_extra={"also": "title"})
    since: DayOrMoment | None = None
    tags: list[str] = Field([], alias="tags[]")


routes = Routes("Users")


@routes.get("/v1/users", key=PUBLISHABLE, scope="users:read")
async def list_users(call: ApiCall, query: UsersQuery) -> ListResponse[UserResponse]:
    """List users: all of them.

    In the order in which
    they came.
    """
    raise NotImplementedError


@routes.post("/v1/users", key=SECRET, scope="users:write", errors=(OutOfStock, OutOfPaint))
async def create_user(call: ApiCall, body: UserBody) -> UserResponse:
    """Create a user."""
    raise NotImplementedError


@routes.patch("/v1/users/{userId}", key=SECRET, scope="users:write", deprecation=RETIRED)
async def update_user(call: ApiCall, user_id: Annotated[UUID, PathId("user")], body: UserPatch) -> UserResponse:
    """Change a user."""
    raise NotImplementedError


@routes.post(
    "/v1/users/{userId}/portrait",
    key=SECRET,
    scope="users:write",
    empty=200,
    upload=UploadDeclaration("file", 1000, ("image/png",)),
)
async def draw_user(call: ApiCall, user_id: Annotated[UUID, PathId("user")], upload: UploadedFile) -> None:
    """Draw a user."""
    raise NotImplementedError


@routes.post(
    "/v1/users/{userId}/papers",
    key=SECRET,
    scope="users:write",
    empty=200,
    upload=UploadDeclaration("file", 1000, ("image/png",)),
)
async def file_papers(
    call: ApiCall, user_id: Annotated[UUID, PathId("user")], body: PapersBody, upload: UploadedFile
) -> None:
    """File papers of a user."""
    raise NotImplementedError


@routes.get("/v1/users/{name}/public", key=NO_KEY, headers={"Day": "The day."}, request_headers={"Hint": "A hint."})
async def show_user(call: ApiCall, name: str) -> UserResponse:
    """Show a user."""
    raise NotImplementedError


EVENTS = [EventType("user.made", "user", "a user is made"), EventType("cat.made", "cat", "a cat is made")]
DESCRIBED = build_openapi_document(routes.endpoints, IDS, "https://api.example.org", "1.2.3", EVENTS)
SCHEMAS = with_shared_parts(DESCRIBED)["components"]["schemas"]


def operation(path: str, method: str) -> dict[str, Any]:
    found: dict[str, Any] = DESCRIBED["paths"][path][method]
    return found


def parameters(path: str, method: str) -> dict[str, dict[str, Any]]:
    given = with_shared_parts(DESCRIBED)["paths"][path][method]["parameters"]
    return {parameter["name"]: parameter for parameter in given}


LIST, CREATE, UPDATE = (
    operation("/v1/users", "get"),
    operation("/v1/users", "post"),
    operation("/v1/users/{userId}", "patch"),
)


def test_the_handlers_name_is_the_operation_id() -> None:
    assert (LIST["operationId"], CREATE["operationId"]) == ("listUsers", "createUser")


def test_the_docstring_is_summary_and_description() -> None:
    assert LIST["summary"] == "List users"
    assert LIST["description"].startswith("List users: all of them.\n\nIn the order in which they came.\n\n")


@pytest.mark.parametrize(
    ("path", "method", "security", "told"),
    [
        ("/v1/users", "get", [{"publishableKey": []}, {"secretKey": []}], "publishable or a secret key"),
        ("/v1/users", "post", [{"secretKey": []}], "a secret key with the scope `users:write`"),
        ("/v1/users/{name}/public", "get", [], "Needs no key."),
    ],
)
def test_key_and_scope_are_told(path: str, method: str, security: list[Any], told: str) -> None:
    assert operation(path, method)["security"] == security
    assert told in operation(path, method)["description"]


def test_path_ids_carry_pattern_and_example() -> None:
    schema = parameters("/v1/users/{userId}", "patch")["userId"]["schema"]
    assert schema["pattern"] == IDS.id_pattern("user")
    assert IDS.decode("user", schema["examples"][0])


def test_other_path_parameters_are_text_with_an_example_by_their_name() -> None:
    schema = parameters("/v1/users/{name}/public", "get")["name"]["schema"]
    assert schema == {"type": "string", "minLength": 1, "examples": ["Relief Fund"]}


def test_query_parameters_have_limits_defaults_spellings_and_are_never_null() -> None:
    found = parameters("/v1/users", "get")
    assert found["name"]["schema"] == {"type": "string", "maxLength": 10, "examples": ["text"]}
    assert found["name"]["description"] == "Part of the name. Also accepted as `title`."
    assert found["direction"]["schema"]["default"] == "DESC"
    assert (found["tags[]"]["style"], found["tags[]"]["explode"]) == ("form", True)
    assert found["since"]["schema"]["anyOf"] == [{"type": "string", "format": one} for one in ("date", "date-time")]


def test_headers_of_one_operation_are_told() -> None:
    hint = parameters("/v1/users/{name}/public", "get")["Hint"]
    assert (hint["in"], hint["required"], hint["description"]) == ("header", False, "A hint.")
    headers = operation("/v1/users/{name}/public", "get")["responses"]["200"]["headers"]
    assert headers["Day"]["description"] == "The day."


def test_every_post_with_a_key_takes_an_idempotency_key() -> None:
    assert "Idempotency-Key" in parameters("/v1/users", "post")
    assert "Idempotency-Key" in parameters("/v1/users/{userId}/portrait", "post")
    assert "Idempotency-Key" not in parameters("/v1/users/{userId}", "patch")


def test_a_body_is_required_when_a_member_of_it_is() -> None:
    assert CREATE["requestBody"]["required"] is True
    assert UPDATE["requestBody"]["required"] is False
    assert SCHEMAS["CreateUser"]["required"] == ["name", "organisationId"]


def test_an_example_of_a_body_has_what_is_required_and_what_is_declared() -> None:
    example = CREATE["requestBody"]["content"]["application/json"]["example"]
    assert example == {"name": "Relief Fund", "organisationId": IDS.example_id("organisation"), "colour": "green"}


def test_an_upload_names_its_field_size_and_media_types() -> None:
    content = operation("/v1/users/{userId}/portrait", "post")["requestBody"]["content"]["multipart/form-data"]
    assert content["schema"] == {"$ref": "#/components/schemas/DrawUser"}
    assert SCHEMAS["DrawUser"]["required"] == ["file"]
    assert "1,000 bytes" in SCHEMAS["DrawUser"]["properties"]["file"]["description"]
    assert content["encoding"] == {"file": {"contentType": "image/png"}}


def test_texts_beside_a_file_stand_in_one_flat_form_with_it() -> None:
    schema = SCHEMAS["FilePapers"]
    assert list(schema["properties"]) == ["title", "file"]
    assert schema["required"] == ["title", "file"]
    assert schema["properties"]["file"]["format"] == "binary"
    assert schema["description"] == "What stands beside a file."
    assert schema["additionalProperties"] is False


def test_values_are_closed_in_bodies_and_open_in_answers() -> None:
    assert SCHEMAS["CreateUser"]["properties"]["kind"]["enum"] == ["person", "robot"]
    assert SCHEMAS["CreateUser"]["additionalProperties"] is False
    status = SCHEMAS["User"]["properties"]["status"]
    assert status == {
        "type": "string",
        "x-extensible-enum": ["abandoned", "active"],
        "description": "The status. Currently one of `abandoned`, `active`; more may be added.",
    }
    assert "additionalProperties" not in SCHEMAS["User"]


def test_identifiers_of_both_environments_and_test_values_match() -> None:
    properties = SCHEMAS["CreateUser"]["properties"]
    for made in (IDS, RecordIdCodec(sandbox=False)):
        id_ = made.example_id("organisation")
        assert re.search(properties["organisationId"]["pattern"], id_)
        assert re.search(properties["organisationId"]["pattern"], f"{id_}-complianceStatus:pass-sanction:flag")
        assert not re.search(properties["organisationId"]["pattern"], f"{id_}x")
        assert re.search(properties["subTag"]["pattern"], made.example_id("activitysubtag"))
    assert re.search(properties["subTag"]["pattern"], "test_pass")
    assert not re.search(properties["subTag"]["pattern"], "test_passx")


def test_an_empty_answer_has_no_content() -> None:
    assert "content" not in operation("/v1/users/{userId}/portrait", "post")["responses"]["200"]


def test_a_record_has_its_envelope_and_all_its_members() -> None:
    schema = CREATE["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/UserResponse"}
    data, name = SCHEMAS["UserResponse"]["properties"].values()
    assert (data["$ref"], name["const"]) == ("#/components/schemas/User", "user")
    assert SCHEMAS["User"]["required"] == sorted({*SCHEMAS["User"]["properties"]} - {"secret"})


def test_a_list_has_total_size_and_links() -> None:
    assert LIST["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/UserList"
    }
    schema = SCHEMAS["UserList"]
    assert schema["properties"]["_links"]["$ref"] == "#/components/schemas/Links"
    assert schema["required"] == ["data", "object", "totalResults", "pageSize", "_links"]
    assert schema["properties"]["pageSize"]["maximum"] == 100


def test_names_of_members_say_what_plain_strings_are() -> None:
    found = SCHEMAS["User"]["properties"]
    assert found["id"]["pattern"] == IDS.id_pattern("user")
    assert found["organisationId"]["anyOf"][0]["pattern"] == IDS.id_pattern("organisation")
    assert DESCRIBED["components"]["schemas"]["User"]["properties"]["id"]["$ref"] == "#/components/schemas/UserId"
    assert found["createdAt"]["format"] == "date-time"
    assert (found["deletedAt"]["format"], found["deletedAt"]["type"]) == ("date-time", ["string", "null"])


@pytest.mark.parametrize(
    ("name", "record", "type_"),
    [
        ("id", "gift_aid", "giftaid"),
        ("id", "Category", "category"),
        ("id", "OrganisationCategory", "category"),
        ("id", "milestone", None),
        ("webhookSubscriptionId", "event", "webhooksubscription"),
        ("reassignedFromOrganisationId", "donation", "organisation"),
        ("registryId", "organisation", None),
        ("sessionId", "Hosted", "donationsession"),
        ("paid", "donation", None),
        ("name", "donation", None),
    ],
)
def test_identifiers_by_their_names(name: str, record: str, type_: str | None) -> None:
    assert conventions.id_type_of_field(name, record) == type_


def test_an_example_of_a_record_leaves_null_what_has_not_happened() -> None:
    example = ExampleBuilder(SCHEMAS).response_example(SCHEMAS["UserResponse"])
    assert example["object"] == "user"
    assert "secret" not in example["data"]
    assert (example["data"]["deletedAt"], example["data"]["organisationId"]) == (None, None)
    assert (example["data"]["createdAt"], example["data"]["status"]) == (conventions.MOMENT, "active")


def test_docstrings_and_titles_are_tidied() -> None:
    assert SCHEMAS["User"]["description"] == "A user; `name` is shown."
    assert "title" not in SCHEMAS["User"]
    assert "title" not in SCHEMAS["CreateUser"]["properties"]["name"]


def test_declared_errors_are_told_with_their_codes_and_a_message_each() -> None:
    content = CREATE["responses"]["400"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/Error"}
    assert content["examples"]["test/out_of_stock"] == {"$ref": "#/components/examples/TestOutOfStock"}
    assert "test/out_of_stock" in SCHEMAS["ErrorDetails"]["properties"]["code"]["x-extensible-enum"]
    shown = DESCRIBED["components"]["examples"]
    assert shown["TestOutOfStock"]["value"]["error"]["code"] == "test/out_of_stock"
    assert shown["TestOutOfStockOutOfPaint"]["value"]["error"]["message"] == "There is no paint left"


def test_statuses_follow_from_the_declaration() -> None:
    assert set(LIST["responses"]) == {"200", "400", "401", "403", "429", "500", "503"}
    assert set(CREATE["responses"]) == {"200", "400", "401", "403", "413", "415", "429", "500", "503"}
    assert set(operation("/v1/users/{name}/public", "get")["responses"]) == {"200", "400", "404", "429", "500", "503"}


def test_a_problem_alone_is_a_shared_response_and_429_says_how_long_to_wait() -> None:
    assert CREATE["responses"]["429"] == {"$ref": "#/components/responses/RateExceeded"}
    assert "Retry-After" in DESCRIBED["components"]["responses"]["RateExceeded"]["headers"]


def test_a_success_documents_its_request_id_and_an_exceeded_rate_its_limits() -> None:
    assert set(CREATE["responses"]["200"]["headers"]) == {"Request-Id"}
    limits = {"Request-Id", "RateLimit", "RateLimit-Policy", "Retry-After"}
    assert set(DESCRIBED["components"]["responses"]["RateExceeded"]["headers"]) == limits


def test_a_retired_route_is_deprecated() -> None:
    assert UPDATE["deprecated"] is True
    assert "deprecated" not in CREATE


def test_links_lead_from_what_creates_to_what_takes_the_id() -> None:
    links = CREATE["responses"]["200"]["links"]
    assert links["updateUser"] == {"operationId": "updateUser", "parameters": {"userId": "$response.body#/data/id"}}
    assert set(links) == {"updateUser", "drawUser", "filePapers"}


def test_a_webhook_carries_the_record_of_its_event() -> None:
    made = DESCRIBED["webhooks"]["user.made"]["post"]
    assert made["operationId"] == "onUserMade"
    assert made["summary"] == "Sent when a user is made"
    assert made["security"] == [{"webhookSignature": []}]
    body = made["requestBody"]["content"]["application/json"]["schema"]
    schemas = DESCRIBED["components"]["schemas"]
    data = body["properties"]["data"]
    assert data["$ref"] == "#/components/schemas/UserMadeEvent"
    event, own = schemas["UserMadeEvent"]["allOf"]
    assert event == {"$ref": "#/components/schemas/Event"}
    assert own["properties"]["eventData"]["$ref"] == "#/components/schemas/User"
    assert schemas["CatMadeEvent"]["allOf"][1]["properties"]["eventData"]["type"] == "object"
    discriminator = schemas["Event"]["discriminator"]
    assert discriminator["propertyName"] == "eventType"
    assert discriminator["mapping"]["user.made"] == "#/components/schemas/UserMadeEvent"
    assert "enum" not in schemas["Event"]["properties"]["eventType"], "clients accept types that come later"


def test_the_description_is_the_same_every_time() -> None:
    assert build_openapi_document(routes.endpoints, IDS, "https://api.example.org", "1.2.3", EVENTS) == DESCRIBED
