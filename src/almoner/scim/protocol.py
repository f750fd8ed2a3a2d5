"""The SCIM protocol: ``ScimService`` with the settled rules for /scim/v2."""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError
from scim2_models import (
    BaseModel,
    BulkOperation,
    BulkRequest,
    Context,
    Error,
    InvalidFilterException,
    InvalidPathException,
    InvalidValueException,
    PatchOp,
    PayloadTooLargeException,
    Resource,
    ResourceType,
    ResponseParameters,
    SCIMException,
    ScimProvider,
    SearchRequest,
)
from scim2_server.bulk import BulkPlan
from scim2_server.conditions import Conditions
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService, scim_exception_of
from scim2_server.storage import SearchPage

from almoner.kit.errors import Problem
from almoner.platform.http.endpoints import MAX_JSON_BODY
from almoner.platform.http.errors import http_status_of_problem
from almoner.scim import scim_limits
from almoner.scim.idp_quirks import QuirkNormaliser
from almoner.scim.provider import MOST_OPERATIONS

_LONGEST_FILTER: Final = 4_000
"""Characters; real clients ask for one or two values."""
_FARTHEST: Final = 2**31 - 1
_QUOTED: Final = re.compile(r"\d+ validation errors? for .*\n(.*)\n *(.*?) \[type=.*", re.DOTALL)
"""The validator's own messages, which reveal its library."""
_ENTERPRISE: Final = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
_BULK: Final = "urn:ietf:params:scim:api:messages:2.0:BulkResponse"
_LIST: Final = "urn:ietf:params:scim:api:messages:2.0:ListResponse"

_Model = TypeVar("_Model", bound=BaseModel)


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _check_size(payload: Any) -> int:
    """Check a body against the size limits; returns the number of changes in a PATCH. Raises SCIMException."""
    if any(name.casefold() == "operations" for name, _ in _members(payload)):
        return scim_limits.count_patch_changes(payload)
    scim_limits.ensure_lists_within_limit(payload)
    return 0


class ScimWireFormat(ScimService):
    """Validates requests and builds answers; reads and writes nothing."""

    def __init__(self, provider: ScimProvider, *, secret: bytes) -> None:
        super().__init__(provider, secret=secret)
        self._quirks = QuirkNormaliser(str(schema.id) for schema in provider.schemas)

    def max_body_size(self, request: ScimRequest) -> int | None:
        """The maximum body size: 1 MiB (settled 1); for bulk requests, as in the discovery document."""
        limit = super().max_body_size(request)
        return MAX_JSON_BODY if limit is None else limit

    # Reading

    def read_body(self, model: type[_Model], body: bytes, content_type: str | None, scim_ctx: Context) -> _Model:
        """The validated body, with known IdP quirks corrected. Raises SCIMException."""
        payload = super().decode_body(body, content_type)
        wrong: dict[int, SCIMException] = {}
        if scim_ctx is Context.BULK_REQUEST:
            wrong = self._put_right(payload)
        else:
            payload = self._quirks.normalise(payload)
            _check_size(payload)
        try:
            read = model.model_validate(payload, scim_ctx=scim_ctx)
        except ValidationError as found:
            raise scim_exception_of(found) from found
        for index, refused in wrong.items():
            operation = cast("BulkRequest[Any]", read).operations[index]  # type: ignore[index]
            operation.response, operation.status = refused.to_error(), refused.status
        return read

    def _put_right(self, payload: Any) -> dict[int, SCIMException]:
        """Correct the operations of a bulk request in place; returns the ones refused in advance, by index."""
        wrong: dict[int, SCIMException] = {}
        operations, changes = scim_limits.scim_operations_in_body(payload, MOST_OPERATIONS), 0
        for index, operation in enumerate(operations):
            try:
                operations[index] = right = self._quirks.normalise(operation)
                changes += sum(_check_size(one) for _, one in _members(right))
            except SCIMException as refused:
                wrong[index] = refused
                operations[index] = {name: one for name, one in _members(operation) if name.casefold() != "data"}
            if changes > scim_limits.MOST_CHANGES_IN_BULK:
                detail = f"The PATCHes of a bulk request may make at most {scim_limits.MOST_CHANGES_IN_BULK} changes"
                raise PayloadTooLargeException(detail=detail)
        return wrong

    def read_bulk(self, body: bytes, content_type: str | None) -> BulkPlan:
        """As the parent's. Raises SCIMException."""
        plan = super().read_bulk(body, content_type)
        if plan.fail_on_errors is not None and plan.fail_on_errors < 1:
            raise InvalidValueException(detail="failOnErrors is at least 1")
        return plan

    @staticmethod
    def bulk_outcome(base_url: str, operation: BulkOperation[Resource[Any]]) -> dict[str, Any]:
        """As the parent's; only our own URLs are returned as a location."""
        outcome = ScimService.bulk_outcome(base_url, operation)
        if "://" in (operation.path or ""):
            outcome.pop("location", None)
        return outcome

    def read_response_parameters(
        self, resource_type: ResourceType, query: Mapping[str, str]
    ) -> ResponseParameters[Any]:
        """As the parent's. Raises SCIMException."""
        scim_limits.ensure_projection_within_limit(query)
        return super().read_response_parameters(resource_type, query)

    def read_search(self, resource_types: list[ResourceType], payload: Any) -> tuple[SearchRequest[Any], Any]:
        """As the parent's, with limits. Raises SCIMException."""
        if isinstance(payload, Mapping):
            given = next((value for key, value in payload.items() if str(key).casefold() == "filter"), None)
            if isinstance(given, str) and len(given) > _LONGEST_FILTER:
                raise InvalidFilterException(detail=f"A filter may hold at most {_LONGEST_FILTER} characters")
            scim_limits.ensure_projection_within_limit(payload)
        try:
            request, position = super().read_search(resource_types, payload)
        except RecursionError:
            raise InvalidFilterException(detail="The filter is nested too deeply") from None
        if request.start_index is not None and request.start_index > _FARTHEST:
            request.start_index = _FARTHEST
        return request, position

    # Changing

    def apply_replacement(
        self, current: Resource[Any], replacement: Resource[Any], conditions: Conditions
    ) -> Resource[Any] | None:
        """As the parent's; a PUT without ``active`` does not reactivate anybody."""
        if getattr(current, "active", None) is False and getattr(replacement, "active", None) is None:
            replacement.active = False  # type: ignore[attr-defined]  # of a User
        return super().apply_replacement(current, replacement, conditions)

    def apply_patch(
        self, current: Resource[Any], patch_op: "PatchOp[Any]", conditions: Conditions
    ) -> Resource[Any] | None:
        """As the parent's; an operation without an effect is rejected (RFC 7644 3.5.2)."""
        for operation in patch_op.operations or ():
            path = operation.path
            if path is not None and path.model is None and path.resolve() is None:
                raise InvalidPathException(path=str(path), detail=f"There is no attribute '{path}'")
        try:
            return super().apply_patch(current, patch_op, conditions)
        except ValidationError as found:
            raise scim_exception_of(found) from found

    # Answering

    def query_response(
        self,
        base_url: str,
        resource: Resource[Any],
        response_parameters: ResponseParameters[Any],
        conditions: Conditions,
    ) -> ScimResponse:
        """The resource, or 304 (RFC 7644 3.14)."""
        if not isinstance(document := cast("object", resource), dict):
            return super().query_response(base_url, resource, response_parameters, conditions)
        if conditions.check(document["meta"]["version"], "GET"):
            return self._document_response(base_url, document)
        return ScimResponse(HTTPStatus.NOT_MODIFIED, None, {"ETag": document["meta"]["version"]})

    def _document_response(self, base_url: str, document: dict[str, Any]) -> ScimResponse:
        meta = self._located(base_url, document)["meta"]
        return ScimResponse(HTTPStatus.OK, document, {"Content-Location": meta["location"], "ETag": meta["version"]})

    def publish(self, base_url: str, resource: Resource[Any]) -> Resource[Any]:
        """The resource with its addresses. The storage gives copies: this one is changed in place."""
        assert resource.meta is not None
        assert resource.id is not None
        resource.meta.location = self.resource_location(base_url, self.get_resource_type_of(resource), resource.id)
        extension = getattr(resource, "EnterpriseUser", None)
        manager = getattr(extension, "manager", None)
        for entry in (*(getattr(resource, "groups", None) or ()), *(getattr(resource, "members", None) or ()), manager):
            if entry is not None and entry.ref is not None:
                entry.ref = self.reference_location(base_url, entry.ref)
        return resource

    def patch_response(
        self, base_url: str, resource: Resource[Any], response_parameters: ResponseParameters[Any]
    ) -> ScimResponse:
        """200 with the resource: Entra's validator and others ask for it (RFC 7644 3.5.2 leaves the choice)."""
        if isinstance(document := cast("object", resource), dict):
            return self._document_response(base_url, document)
        return self.replacement_response(base_url, resource, response_parameters)

    def search_response(
        self,
        base_url: str,
        resource_types: list[ResourceType],
        page: SearchPage,
        search_request: SearchRequest[Any],
    ) -> ScimResponse:
        """A page of results. Overrides the parent, which would validate and serialise twice."""
        found: list[Any] = page.resources
        resources = [
            self._located(base_url, resource)
            if isinstance(resource, dict)  # from a storage that builds no models for lists
            else self.publish(base_url, resource).model_dump(
                scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=search_request
            )
            for resource in found
        ]
        body: dict[str, Any] = {"schemas": [_LIST]}
        if page.total is not None:
            body["totalResults"] = page.total
        body["itemsPerPage"] = len(resources)
        if search_request.cursor is None:
            body["startIndex"] = search_request.start_index
        elif search_request.count != 0:
            cursors = {"nextCursor": page.next, "previousCursor": page.previous}
            sealed = {name: self._seal(resource_types, search_request, place) for name, place in cursors.items()}
            body |= {name: cursor for name, cursor in sealed.items() if cursor is not None}
        body["Resources"] = resources
        return ScimResponse(HTTPStatus.OK, body)

    def _located(self, base_url: str, document: dict[str, Any]) -> dict[str, Any]:
        """Like ``publish``, for a resource that is already JSON."""
        meta = document["meta"]
        meta["location"] = self.resource_location(
            base_url, self.get_resource_type(meta["resourceType"]), document["id"]
        )
        for entry in (*document.get("groups", ()), *document.get("members", ())):
            entry["$ref"] = f"{base_url}/{entry['$ref']}"  # relative to the SCIM root; a group may have ten thousand
        manager = document.get(_ENTERPRISE, {}).get("manager", {})
        if "$ref" in manager:
            manager["$ref"] = self.reference_location(base_url, manager["$ref"])
        return document

    def bulk_failure(self, outcome: dict[str, Any], exception: Exception) -> dict[str, Any]:
        """The error of one bulk operation; a service error undoes the whole request."""
        if not isinstance(exception, SCIMException | Problem):
            raise exception
        return super().bulk_failure(outcome, exception)

    def bulk_response(self, plan: BulkPlan) -> ScimResponse:
        """The result of each operation of a bulk request."""
        reported = []
        for outcome in plan.outcomes():
            shown: dict[str, Any] = {"method": outcome["method"], "bulkId": outcome["bulk_id"]}
            shown |= {"version": outcome.get("version"), "location": outcome.get("location")}
            if (error := outcome.get("response")) is not None:
                shown["response"] = error.model_dump()
            shown["status"] = str(int(outcome["status"]))
            reported.append({name: value for name, value in shown.items() if value is not None})
        return ScimResponse(HTTPStatus.OK, {"schemas": [_BULK], "Operations": reported})

    @staticmethod
    def error_of(exception: Exception) -> Error:
        """As the parent's: the error body of RFC 7644 3.12, also for our own problems."""
        if isinstance(exception, SCIMException):
            error = exception.to_error()
            error.detail = _QUOTED.sub(r"\2: \1", error.detail or "")
            return error
        if isinstance(exception, ValidationError):
            return scim_exception_of(exception).to_error()
        if isinstance(exception, Problem):
            return Error(
                status=http_status_of_problem(exception), detail=": ".join([exception.message, *exception.reasons])
            )
        return Error(status=500, detail="Something went wrong on our side; the Request-Id header helps us to find it")
