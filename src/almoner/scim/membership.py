"""Recognises PATCH requests that only change a group's members: pure. Directories add and remove members one by one.

Instead of reading, comparing and writing a group of thousands each time, most of these requests can be done in one
statement.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from scim2_models import PatchOp

_MEMBERS: Final = frozenset({"members", "urn:ietf:params:scim:schemas:core:2.0:group:members"})
_ONE: Final = re.compile(r'members\[value eq "([^"\\]+)"\]', re.IGNORECASE)
_KNOWN: Final = frozenset({"value", "$ref", "type", "display"})


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """Members to add to, or remove from, a group."""

    adds_members: bool
    entries: Sequence[Any]


def read_membership_changes(patch_op: "PatchOp[Any]") -> list[MembershipChange] | None:
    """The changes in order, with adjacent ones of the same kind merged; None if the PATCH contains anything else."""
    changes: list[MembershipChange] = []
    for operation in patch_op.operations or ():
        change = _read_change(operation.op.value, str(operation.path or ""), operation.value)
        if change is None:
            return None
        if changes and changes[-1].adds_members == change.adds_members:
            change = MembershipChange(change.adds_members, [*changes.pop().entries, *change.entries])
        changes.append(change)
    return changes or None


def is_membership_change(operation: Mapping[str, Any]) -> bool:
    """Whether an unvalidated operation can be read by ``read_membership_changes``."""
    path = operation.get("path")
    return isinstance(path, str) and bool(_read_change(str(operation.get("op")).lower(), path, operation.get("value")))


def _read_change(op: str, path: str, value: Any) -> MembershipChange | None:
    if op == "remove" and value is None:
        one = _ONE.fullmatch(path)
        return MembershipChange(adds_members=False, entries=[_member_entry({"value": one[1]})]) if one else None
    if path.casefold() not in _MEMBERS or op not in {"add", "remove"}:
        return None
    given = value if isinstance(value, list) else [value]
    plain = [one for one in given if isinstance(one, Mapping) and _is_plain(one)]
    return MembershipChange(op == "add", [_member_entry(one) for one in plain]) if len(plain) == len(given) else None


def _is_plain(value: Mapping[str, Any]) -> bool:
    """Whether the value is a member given by ID, as clients send it."""
    typed = isinstance(value.get("value"), str) and isinstance(value.get("type"), str | None)
    return value.keys() <= _KNOWN and typed


def _member_entry(value: Mapping[str, Any]) -> Any:
    return SimpleNamespace(value=value["value"], type=value.get("type"))
