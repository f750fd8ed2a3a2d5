"""What the audit log tells of SCIM's writes (V8): what changed and who came and went, no personal data."""

from typing import Any

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.platform.audit.log import Actor
from tests.support.scim import ENTERPRISE, USER, ScimClient, shown, user
from tests.support.service import Service, Tenant

BY = AuditContext(Actor("machine", "test"), None)


async def told(service: Service, tenant: Tenant) -> list[tuple[str, Any]]:
    """Actions and details, oldest first."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select action, details from audit_entry where scope = $1 and action like 'scim.%' order by position",
            tenant.partner.id,
        )
    return [(row["action"], row["details"]) for row in rows]


async def test_v8_names_of_what_changed_are_told_and_no_values(
    service: Service, tenant: Tenant, scim: ScimClient
) -> None:
    person = await scim.new_user("ada@example.org", title="T", emails=[{"value": "ada@example.org"}])
    path = f"/Users/{person['id']}"
    changed = user("grace@example.org", emails=[{"value": "grace@example.org"}], active=False)
    shown(await scim.put(path, {**changed, "schemas": [USER, ENTERPRISE], ENTERPRISE: {"department": "D"}}))
    shown(await scim.patch(path, {"op": "replace", "path": "active", "value": True}))
    shown(await scim.patch(path, {"op": "replace", "path": "name.givenName", "value": "Ada"}))
    await scim.delete(path)
    entries = await told(service, tenant)
    names = [f"{ENTERPRISE}:department", "active", "emails", "title", "userName"]
    assert [(action, details and sorted(details["changed"])) for action, details in entries] == [
        ("scim.user.created", None),
        ("scim.user.deactivated", sorted(names)),
        ("scim.user.reactivated", ["active"]),
        ("scim.user.updated", ["name"]),
        ("scim.user.deleted", None),
    ]
    assert "example.org" not in str(entries)


async def test_v8_who_comes_into_a_group_and_who_goes_is_told(
    service: Service, tenant: Tenant, scim: ScimClient
) -> None:
    a, b, c = [(await scim.new_user())["id"] for _ in range(3)]
    team = await scim.new_group("Owners", a)
    path = f"/Groups/{team['id']}"
    async with service.db.write() as tx:
        id_ = tx.ids.decode("group", team["id"])
        assert id_ is not None
        await members.map_group_to_role(tx, tenant.partner, id_, "owner", BY)
    for operations in (
        [{"op": "add", "path": "members", "value": [{"value": b}, {"value": a}]}],
        [
            {"op": "remove", "path": f'members[value eq "{a}"]'},
            {"op": "add", "path": "members", "value": [{"value": c}]},
        ],
        [{"op": "replace", "value": {"displayName": "Secret", "members": [{"value": a}]}}],
        [{"op": "add", "path": "members", "value": [{"value": a}]}],
    ):
        shown(await scim.patch(path, *operations))
    await scim.delete(path)
    assert [one for one in await told(service, tenant) if one[0].startswith("scim.group")] == [
        ("scim.group.created", {"added": [a], "addedCount": 1}),
        ("scim.group.updated", {"added": [b], "addedCount": 1, "role": "owner"}),
        ("scim.group.updated", {"added": [c], "addedCount": 1, "removed": [a], "removedCount": 1, "role": "owner"}),
        (
            "scim.group.updated",
            {
                "changed": ["displayName"],
                "added": [a],
                "addedCount": 1,
                "removed": [b, c],
                "removedCount": 2,
                "role": "owner",
            },
        ),
        ("scim.group.deleted", {"removed": [a], "removedCount": 1, "role": "owner"}),
    ]


async def test_v8_of_many_a_hundred_are_named_and_all_are_counted(
    service: Service, tenant: Tenant, scim: ScimClient
) -> None:
    ids = [(await scim.new_user())["id"] for _ in range(101)]
    await scim.new_group("Everybody", *ids)
    (_, details) = (await told(service, tenant))[-1]
    assert details == {"added": ids[:100], "addedCount": 101}
