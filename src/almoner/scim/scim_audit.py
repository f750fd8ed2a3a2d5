"""Audit details of SCIM changes: names of attributes and IDs of people, no personal data. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from almoner.kit.ids import RecordIdCodec

_MAX_LISTED: Final = 100
"""The maximum number of people listed for one change; their total is recorded as well."""


def changed_attributes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names of changed attributes."""
    names = []
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if was != now and name.startswith("urn:"):
            names += [f"{name}:{part}" for part in changed_attributes(was or {}, now or {})]
        elif was != now:
            names.append(name)
    return names


def group_audit_details(
    ids: RecordIdCodec,
    *,
    changed: Sequence[str] = (),
    added: Sequence[UUID] = (),
    removed: Sequence[UUID] = (),
    role: str | None = None,
) -> dict[str, str | int | Sequence[str]]:
    """Audit details of a group change."""
    reported: dict[str, str | int | Sequence[str]] = {}
    if changed:
        reported["changed"] = changed
    for name, people in (("added", added), ("removed", removed)):
        if people:
            reported[name] = [ids.encode("member", one) for one in people[:_MAX_LISTED]]
            reported[f"{name}Count"] = len(people)
    if role is not None:
        reported["role"] = role
    return reported
