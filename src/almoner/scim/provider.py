"""The service provider configuration of /scim/v2: schemas, resource types, capabilities and tolerance."""

from functools import cache
from typing import Any, Final

from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    ETag,
    Filter,
    Pagination,
    Patch,
    ResourceType,
    Schema,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
)
from scim2_server.utils import load_default_resource_types, load_default_schemas

MOST_OPERATIONS: Final = 1_000
"""Operations of one bulk request."""
_MOST_BULK_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of a bulk request; other bodies may have 1 MiB (settled 1)."""
_MOST_RESULTS: Final = 200
"""The maximum page size; Okta and Entra request 100 or 200."""
PAGE: Final = 100
"""The default page size."""
_CURSOR_SECONDS: Final = 24 * 60 * 60

_TOLERANT: Final = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
"""Tolerates what Entra and Okta send beyond the RFC; settled 1 promises that unknown members are ignored."""

_USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
_GROUP: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"


@cache
def build_scim_provider() -> ScimProvider:
    """Build the SCIM provider: users with the enterprise extension, and groups. Takes 250 ms."""
    schemas = load_default_schemas()
    return ScimProvider.from_discovery(
        [_prune_schema(schema) for schema in schemas.values()],
        _resource_types(),
        _capabilities(),
        _TOLERANT,
    )


def _resource_types() -> list[ResourceType]:
    return list(load_default_resource_types().values())


def _prune_schema(schema: Schema) -> Schema:
    """The RFC's schema without unsupported attributes.

    Only people set their passwords, so ``password`` is an unknown member, which is ignored. Groups hold users, no
    groups, and as in RFC 7643 8.7.1 not their names, which clients would find changed.
    """
    described: dict[str, Any] = schema.model_dump()
    if schema.id == _USER:
        described["attributes"] = [one for one in described["attributes"] if one["name"] != "password"]
    if schema.id == _GROUP:
        members = next(one for one in described["attributes"] if one["name"] == "members")
        members["subAttributes"] = [one for one in members["subAttributes"] if one["name"] != "display"]
        for part in members["subAttributes"]:
            if part["name"] == "$ref":
                part["referenceTypes"] = ["User"]
            if part["name"] == "type":
                part["canonicalValues"] = ["User"]
    return Schema.model_validate(described)


def _capabilities() -> ServiceProviderConfig:
    return ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=True, max_operations=MOST_OPERATIONS, max_payload_size=_MOST_BULK_BYTES),
        filter=Filter(supported=True, max_results=_MOST_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=True),
        etag=ETag(supported=True),
        pagination=Pagination(
            cursor=True,
            index=True,
            default_pagination_method=Pagination.DefaultPaginationMethod.index,
            default_page_size=PAGE,
            max_page_size=_MOST_RESULTS,
            cursor_timeout=_CURSOR_SECONDS,
        ),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="SCIM key",
                description="Authorization: Bearer and the partner's SCIM key",
                primary=True,
            )
        ],
    )
