"""The package's handler, with a shorter way for groups of thousands, and threads for what takes long."""

from typing import TYPE_CHECKING, Any, cast

from scim2_models import Resource, ResourceType, SearchRequest
from scim2_server.conditions import Conditions
from scim2_server.handler import AsyncScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.routing import Operation

from almoner.scim import membership, offload, resources
from almoner.scim.protocol import ScimWireFormat
from almoner.scim.storage import PostgresStorage

if TYPE_CHECKING:
    from scim2_models import PatchOp


class ScimHandler(AsyncScimHandler):
    """Handles SCIM requests, with a fast path for large groups."""

    service: ScimWireFormat
    storage: PostgresStorage

    def __init__(self, protocol: ScimWireFormat, storage: PostgresStorage) -> None:
        super().__init__(protocol, storage)

    async def create(self, request: ScimRequest) -> ScimResponse:
        """As the parent's."""
        service, long = self.service, len(request.body) > offload.LONG_BODY
        target = service.route(request, Operation.create)
        resource_type = service.resource_type_at(cast("str", target.endpoint))
        kind = request.header("Content-Type")
        resource = await offload.run_in_thread_if_slow(long, service.read_creation, resource_type, request.body, kind)
        async with self.storage.operation():
            created = await self.storage.create(resource_type, resource)
        return await offload.run_in_thread_if_slow(long, service.creation_response, request.base_url, created)

    async def replace(self, request: ScimRequest) -> ScimResponse:
        """As the parent's."""
        service, long = self.service, len(request.body) > offload.LONG_BODY
        target = service.route(request, Operation.replace)
        resource_type = service.resource_type_at(cast("str", target.endpoint))
        parameters = service.read_response_parameters(resource_type, request.query)
        kind, conditions = request.header("Content-Type"), service.read_conditions(request)
        async with self.storage.operation():
            current = await self.storage.get(resource_type, cast("str", target.resource_id))
            replacement = await offload.run_in_thread_if_slow(
                long, service.read_replacement, resource_type, request.body, kind
            )
            resource = await self.replace_resource(resource_type, current, replacement, conditions)
        return await offload.run_in_thread_if_slow(
            long, service.replacement_response, request.base_url, resource, parameters
        )

    async def patch(self, request: ScimRequest) -> ScimResponse:
        """As the parent's; the response is read like any GET response."""
        service, long = self.service, len(request.body) > offload.LONG_BODY
        target = service.route(request, Operation.patch)
        resource_type = service.resource_type_at(cast("str", target.endpoint))
        parameters = service.read_response_parameters(resource_type, request.query)
        patch_op = await offload.run_in_thread_if_slow(
            long, service.read_patch, resource_type, request.body, request.header("Content-Type")
        )
        id_, conditions = cast("str", target.resource_id), service.read_conditions(request)
        async with self.storage.operation():
            await self.patch_resource(resource_type, id_, patch_op, conditions)
            resource = await self.storage.get(resource_type, id_, response_parameters=parameters)
        return service.patch_response(request.base_url, resource, parameters)

    async def search(self, request: ScimRequest) -> ScimResponse:
        """As the parent's."""
        types = self.service.searched_types(self.service.route(request, Operation.search).endpoint)
        return await self._found(request, types, self.service.read_search_query(types, request.query))

    async def search_with_body(self, request: ScimRequest) -> ScimResponse:
        """As the parent's."""
        types = self.service.searched_types(self.service.route(request, Operation.search_with_body).endpoint)
        kind = request.header("Content-Type")
        return await self._found(request, types, self.service.read_search_body(types, request.body, kind))

    async def _found(
        self, request: ScimRequest, types: list[ResourceType], asked: tuple[SearchRequest[Any], Any]
    ) -> ScimResponse:
        search_request, position = asked
        async with self.storage.operation():
            page = await self.storage.search(types, search_request, position=position)
        # Whole resources are already documents; for partial ones, models are dumped with all names of each attribute.
        long = resources.is_partial_response(search_request) and len(page.resources) > offload.FEW
        return await offload.run_in_thread_if_slow(
            long, self.service.search_response, request.base_url, types, page, search_request
        )

    async def replace_resource(
        self,
        resource_type: ResourceType,
        current: Resource[Any],
        replacement: Resource[Any],
        conditions: Conditions,
    ) -> Resource[Any]:
        """As the parent's."""
        long, apply = _is_long(current) or _is_long(replacement), self.service.apply_replacement
        replaced = await offload.run_in_thread_if_slow(long, apply, current, replacement, conditions)
        return await self._stored(resource_type, current, replaced)

    async def patch_resource(
        self, resource_type: ResourceType, resource_id: str, patch_op: "PatchOp[Any]", conditions: Conditions
    ) -> Resource[Any]:
        """As the parent's; if only a group's members change, the response leaves them out."""
        changes = membership.read_membership_changes(patch_op) if resource_type.name == "Group" else None
        if changes is None:
            current = await self.storage.get(resource_type, resource_id)
            # The time of many operations, and of many values in one, goes up by more than their square.
            long = _is_long(current) or len(patch_op.operations or ()) > offload.FEW or _has_many_values(patch_op)
            patched = await offload.run_in_thread_if_slow(long, self.service.apply_patch, current, patch_op, conditions)
            return await self._stored(resource_type, current, patched)

        def check(current: Resource[Any]) -> None:
            self.service.check_preconditions(current, "PATCH", conditions)

        return await self.storage.change_members(resource_type, resource_id, changes, check)

    async def _stored(
        self, resource_type: ResourceType, current: Resource[Any], changed: Resource[Any] | None
    ) -> Resource[Any]:
        """``changed`` is None if nothing changed; the resource is locked."""
        return current if changed is None else await self.storage.update(resource_type, changed)


def _is_long(resource: Resource[Any]) -> bool:
    return offload.has_many_entries(getattr(resource, "members", None))


def _has_many_values(patch_op: "PatchOp[Any]") -> bool:
    values = (operation.value for operation in patch_op.operations or ())
    return any(offload.has_many_entries(value) for value in values if isinstance(value, list | dict))
