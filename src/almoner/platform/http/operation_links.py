"""OpenAPI links: which operation can follow which."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from almoner.platform.http.conventions import Schema, id_type_of_field
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.ids import ID_TYPE_KEYWORD

Links = Mapping[str, Schema]


def find_links(endpoints: Sequence[Endpoint]) -> Links:
    """Links by operation: from the source of an identifier to the operations that accept it.

    The source is the POST that creates the record or, if there is none, the list that contains it.
    """
    found: dict[str, Schema] = {}
    for type_, source in map_id_types_to_endpoints(endpoints).items():
        first = "/0" if source.is_list else ""
        given = f"$response.body#/data{first}/id"
        result = found.setdefault(source.operation_id, {})
        for endpoint in endpoints:
            if link := _build_link(endpoint, type_, given):
                result[endpoint.operation_id] = link
    return {operation: result for operation, result in found.items() if result}


def map_id_types_to_endpoints(endpoints: Sequence[Endpoint]) -> dict[str, Endpoint]:
    """For each identifier type, the operation that returns such identifiers."""
    found: dict[str, Endpoint] = {}
    for endpoint in sorted(endpoints, key=lambda one: one.method != "POST"):
        record = endpoint.record_type
        if record is None or "{" in endpoint.path or "id" not in record.__struct_fields__:
            continue
        type_ = id_type_of_field("id", record.object_name)
        if type_ and (endpoint.is_list or endpoint.method == "POST"):
            found.setdefault(type_, endpoint)
    return found


def required_id_fields(endpoint: Endpoint) -> dict[str, str]:
    """The required body fields that hold identifiers, with their types."""
    return {} if endpoint.body is None else _required_ids(endpoint.body)


@cache
def _required_ids(body: type[BaseModel]) -> dict[str, str]:
    schema: dict[str, Any] = body.model_json_schema()
    return {
        name: property_[ID_TYPE_KEYWORD]
        for name, property_ in schema.get("properties", {}).items()
        if name in schema.get("required", ()) and ID_TYPE_KEYWORD in property_
    }


def _build_link(endpoint: Endpoint, type_: str, given: str) -> Schema | None:
    parameters = {name: given for name, mark in endpoint.path_parameters.items() if mark and mark.type == type_}
    body = {name: given for name, mark in required_id_fields(endpoint).items() if mark == type_}
    if not parameters and not body:
        return None
    link: Schema = {"operationId": endpoint.operation_id}
    if parameters:
        link["parameters"] = parameters
    if body:
        link["x-request-body"] = body  # client generators accept only texts there
    return link
