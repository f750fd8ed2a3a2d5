"""The storage of SCIM: users and groups of one partner, in the transaction of the request."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, cast
from uuid import UUID

from scim2_models import (
    InvalidValueException,
    NotFoundException,
    PreconditionFailedException,
    Resource,
    ResourceType,
    ResponseParameters,
    ScimProvider,
    SearchRequest,
    UniquenessException,
)
from scim2_server.storage import AsyncScimStorage, SearchPage

from almoner.access.members import service as members
from almoner.access.people import service as people
from almoner.access.people.domain import UserNameTaken, member_realm
from almoner.access.security_emails import service as security_emails
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, Details
from almoner.platform.database.transactions import Partner, Tx
from almoner.scim import offload, ordering, resources, scim_audit, store
from almoner.scim.membership import MembershipChange
from almoner.scim.resources import Kind, StoredResource
from almoner.scim.searching import ScimSearch

_ACTIONS: Final = {"User": "scim.user", "Group": "scim.group"}


class PostgresStorage(AsyncScimStorage):
    """Users and groups of one partner, in one transaction.

    Write transactions lock what they read for a change, so that concurrent changes of a group wait instead of failing.
    Every write is audited.

    ``plain``: whole resources are returned as documents, because building models of lists and large groups would take
    most of the time.
    """

    supports_cursors = True

    def __init__(
        self,
        tx: Tx,
        partner: Partner,
        provider: ScimProvider,
        actor: Actor,
        address: str | None,
        *,
        request_id: str | None = None,
        plain: bool = False,
    ) -> None:
        self._tx = tx
        self._partner = partner
        self._provider = provider
        self._actor = actor
        self._address = address
        self._request_id = request_id
        self._plain = plain
        self._within = False

    def operation(self) -> AbstractAsyncContextManager[None]:
        """A savepoint for one operation; a failed one is undone (RFC 7644 3.7)."""
        return self._step()

    @asynccontextmanager
    async def _step(self) -> AsyncIterator[None]:
        if self._within or self._tx.mode == "read":
            yield
            return
        self._within = True
        try:
            async with self._tx.savepoint():
                yield
        finally:
            self._within = False

    async def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        """One resource; without its links when the answer does not have them."""
        kind, id_ = self._place(resource_type, resource_id)
        if self._tx.mode == "write" and response_parameters is None:
            await self._lock(kind, id_, resource_id)
        links = resources.includes_memberships(kind, self._model(kind), response_parameters)
        row = await store.find(self._tx, self._partner, kind, id_, include_memberships=links)
        if row is None:
            raise self._unknown(kind, resource_id)
        if self._plain and response_parameters is not None and not resources.is_partial_response(response_parameters):
            long = offload.has_many_entries(row.memberships)
            document = await offload.run_in_thread_if_slow(
                long, resources.resource_json, self._tx.ids, self._model(kind), row
            )
            return cast("Resource[Any]", document)
        return await self._build(row)

    async def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,
    ) -> SearchPage:
        """One page of matches. Raises InvalidFilterException, InvalidCursorException."""
        kinds = list(dict.fromkeys(self._kind(type_) for type_ in resource_types))
        search = ScimSearch(self._tx.ids, self._partner, {kind: self._model(kind) for kind in kinds}, search_request)
        found = await search.fetch_page(self._tx, ordering.parse_position(position) if position is not None else None)
        return SearchPage(
            found.total,
            await self._loaded(found.resource_kinds_and_ids, search_request),
            found.next_position,
            found.previous_position,
        )

    async def _loaded(self, places: list[tuple[Kind, UUID]], request: SearchRequest[Any]) -> list[Resource[Any]]:
        rows: dict[UUID, StoredResource] = {}
        for kind in dict.fromkeys(kind for kind, _ in places):
            links = resources.includes_memberships(kind, self._model(kind), request)
            ids = [id_ for of, id_ in places if of == kind]
            rows |= await store.load_resources_by_id(self._tx, self._partner, kind, ids, include_memberships=links)
        found = [rows[id_] for _, id_ in places if id_ in rows]
        plain = self._plain and not resources.is_partial_response(request)
        make = resources.resource_json if plain else resources.build_resource

        def made() -> list[Any]:
            return [make(self._tx.ids, self._model(row.kind), row) for row in found]

        # Building a model takes as long as the documents of some ten people.
        entries = sum(len(row.memberships or ()) for row in found)
        return await offload.run_in_thread_if_slow(
            entries > offload.MANY or (not plain and len(found) > offload.FEW), made
        )

    async def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        """Create a user or group. Raises UniquenessException, InvalidValueException."""
        kind = self._kind(resource_type)
        profile = resources.profile_from_resource(resource)
        async with self._step(), _refusals():
            if kind == "User":
                return await self._build(await self._new_user({"active": True, **profile}))
            who = resources.member_ids_of_group(self._tx.ids, resource)
            made = (await members.create_group(self._tx, self._partner, profile, who)).id
            row = await self._read(kind, made)
            came = [id_ for id_, _ in row.memberships or ()]
            await self._record(kind, made, "created", scim_audit.group_audit_details(self._tx.ids, added=came))
            return await self._build(row)

    async def _new_user(self, profile: dict[str, Any]) -> StoredResource:
        person = await people.create(self._tx, member_realm(self._partner), profile)
        await self._record("User", person.id, "created")
        return StoredResource("User", person.id, profile, person.version, person.created_at, person.updated_at)

    async def update(
        self, resource_type: ResourceType, resource: Resource[Any], *, expected_version: str | None = None
    ) -> Resource[Any]:
        """Replace a stored resource. Raises as ``create``, NotFoundException, PreconditionFailedException."""
        kind, id_ = self._place(resource_type, cast("str", resource.id))
        profile = resources.profile_from_resource(resource)
        async with self._step(), _refusals():
            row = await self._lock(kind, id_, cast("str", resource.id), expected_version)
            if kind == "User":
                await self._change_user(row, profile)
            else:
                await self._change_group(row, profile, resource)
            return await self._build(await self._read(kind, id_))

    async def change_members(
        self,
        resource_type: ResourceType,
        resource_id: str,
        changes: Sequence[MembershipChange],
        check: Callable[[Resource[Any]], object],
    ) -> Resource[Any]:
        """Add and remove members of a group, without loading all of its members.

        Raises as ``update``.
        """
        kind, id_ = self._place(resource_type, resource_id)
        async with self._step(), _refusals():
            check(await self._build(await self._lock(kind, id_, resource_id)))
            group = before = await members.get_group_for_update(self._tx, self._partner, id_)
            came: list[UUID] = []
            went: list[UUID] = []
            for change in changes:
                if change.adds_members:
                    who = resources.parse_member_ids(self._tx.ids, change.entries)
                    changed = await members.add_people_to_group(self._tx, group, who)
                else:
                    gone = (self._tx.ids.decode("member", entry.value) for entry in change.entries)
                    who = [one for one in gone if one is not None]
                    changed = await members.remove_people_from_group(self._tx, group, who)
                group = changed.group
                came += changed.added
                went += changed.removed
            if group.version != before.version:
                details = scim_audit.group_audit_details(self._tx.ids, added=came, removed=went, role=group.role)
                await self._record(kind, id_, "updated", details)
            return await self._build(await self._lock(kind, id_, resource_id))

    async def delete(
        self, resource_type: ResourceType, resource_id: str, *, expected_version: str | None = None
    ) -> None:
        """Remove a resource. Raises NotFoundException, PreconditionFailedException."""
        kind, id_ = self._place(resource_type, resource_id)
        async with self._step():
            await self._lock(kind, id_, resource_id, expected_version)
            if kind == "User":
                await people.delete(self._tx, member_realm(self._partner), id_)
                await self._record(kind, id_, "deleted")
            else:
                group = await members.get_group_for_update(self._tx, self._partner, id_)
                gone = await members.update_group(self._tx, group, member_ids=())
                await members.delete_group(self._tx, self._partner, id_)
                details = scim_audit.group_audit_details(self._tx.ids, removed=gone.removed, role=group.role)
                await self._record(kind, id_, "deleted", details)

    async def _change_user(self, row: StoredResource, profile: dict[str, Any]) -> None:
        if profile == row.profile:
            return
        person = await people.get_for_update(self._tx, member_realm(self._partner), row.id)
        changed = await people.update_profile(self._tx, person, profile)
        await security_emails.notify_of_account_changes(self._tx, person, changed)
        what = "updated"
        if changed.active != person.active:
            what = "reactivated" if changed.active else "deactivated"
        await self._record("User", row.id, what, {"changed": scim_audit.changed_attributes(row.profile, profile)})

    async def _change_group(self, row: StoredResource, profile: dict[str, Any], resource: Resource[Any]) -> None:
        who = resources.member_ids_of_group(self._tx.ids, resource)
        group = await members.get_group_for_update(self._tx, self._partner, row.id)
        done = await members.update_group(self._tx, group, profile=profile, member_ids=who)
        if done.group.version != group.version:
            names = scim_audit.changed_attributes(row.profile, profile)
            details = scim_audit.group_audit_details(
                self._tx.ids, changed=names, added=done.added, removed=done.removed, role=group.role
            )
            await self._record("Group", row.id, "updated", details)

    async def _record(self, kind: Kind, id_: UUID, what: str, details: Details | None = None) -> None:
        subject = self._tx.ids.encode(resources.id_type_of_resource(kind), id_)
        action = f"{_ACTIONS[kind]}.{what}"
        scope, whence, request_id = self._partner.id, self._address, self._request_id
        await audit.record_entry(
            self._tx, scope, self._actor, action, subject, ip_address=whence, request_id=request_id, details=details
        )

    async def _lock(self, kind: Kind, id_: UUID, text: str, expected_version: str | None = None) -> StoredResource:
        row = await store.find_for_update(self._tx, self._partner, kind, id_)
        if row is None:
            raise self._unknown(kind, text)
        if expected_version is not None and expected_version != resources.entity_tag(row.version):
            raise PreconditionFailedException
        return row

    async def _read(self, kind: Kind, id_: UUID) -> StoredResource:
        row = await store.find(self._tx, self._partner, kind, id_, include_memberships=True)
        assert row is not None
        return row

    async def _build(self, row: StoredResource) -> Resource[Any]:
        return await offload.run_in_thread_if_slow(
            offload.has_many_entries(row.memberships),
            resources.build_resource,
            self._tx.ids,
            self._model(row.kind),
            row,
        )

    def _model(self, kind: Kind) -> type[Resource[Any]]:
        return cast("type[Resource[Any]]", self._provider.model_for(kind))

    @staticmethod
    def _kind(resource_type: ResourceType) -> Kind:
        return "Group" if resource_type.name == "Group" else "User"

    def _place(self, resource_type: ResourceType, resource_id: str) -> tuple[Kind, UUID]:
        kind = self._kind(resource_type)
        if (id_ := self._tx.ids.decode(resources.id_type_of_resource(kind), resource_id)) is None:
            raise self._unknown(kind, resource_id)
        return kind, id_

    @staticmethod
    def _unknown(kind: Kind, text: str) -> NotFoundException:
        return NotFoundException(detail=f"There is no {kind} '{text}'")


@asynccontextmanager
async def _refusals() -> AsyncIterator[None]:
    """Translate errors of ``access`` into SCIM errors (RFC 7644 3.12)."""
    try:
        yield
    except UserNameTaken as taken:
        raise UniquenessException(detail=". ".join(taken.reasons)) from None
    except IncorrectParams as wrong:
        raise InvalidValueException(detail=". ".join(wrong.reasons)) from None
