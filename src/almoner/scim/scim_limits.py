"""Limits on the size of one request, checked before the more expensive validation; pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from scim2_models import (
    InvalidPathException,
    InvalidSyntaxException,
    InvalidValueException,
    PayloadTooLargeException,
)

from almoner.scim import membership

_MOST_CHANGES: Final = 100
"""Maximum PATCH operations; without a path, each member of the value counts. Entra and Okta send about ten."""
_MOST_MOVES: Final = 1_000
"""Maximum operations of a PATCH that only adds and removes group members."""
MOST_CHANGES_IN_BULK: Final = 5_000
"""Operations of all PATCHes in one bulk request."""
_MOST_VALUES: Final = 100
"""Maximum values of one attribute, except a group's members."""
_MOST_NAMES: Final = 50
"""Maximum names in ``attributes`` or ``excludedAttributes``: each is compared with each attribute of each resource."""
_LONGEST_PATH: Final = 1_000
"""Characters of a path in a PATCH."""

_LONG: Final = frozenset({"members", "groups"})


def scim_operations_in_body(payload: Any, max_operations: int | None = None) -> list[Any]:
    """The operations in a PATCH or bulk request; none if it has no list.

    Raises PayloadTooLargeException, InvalidSyntaxException for two lists.
    """
    if not isinstance(payload, Mapping):
        return []
    found = [one for name, one in payload.items() if name.casefold() == "operations"]
    if len(found) > 1:
        raise InvalidSyntaxException(detail="Operations is given more than once")
    operations = found[0] if found and isinstance(found[0], list) else []
    if max_operations is not None and len(operations) > max_operations:
        raise PayloadTooLargeException(detail=f"A bulk request may hold at most {max_operations} operations")
    return operations


def count_patch_changes(payload: Any) -> int:
    """Count the changes of a PATCH. Raises PayloadTooLarge-, InvalidPath- and InvalidValueException.

    Membership changes take one statement for hundreds; the time of others grows more than quadratically.
    """
    operations = [one for one in scim_operations_in_body(payload) if isinstance(one, Mapping)]
    moves = bool(operations) and all(map(membership.is_membership_change, operations))
    changes = len(operations) if moves else sum(map(_changes, operations))
    if changes > (_MOST_MOVES if moves else _MOST_CHANGES):
        detail = f"A PATCH may make at most {_MOST_CHANGES} changes, or {_MOST_MOVES} of the members of a group alone"
        raise PayloadTooLargeException(detail=detail)
    for operation in operations:
        path = operation.get("path")
        if isinstance(path, str) and len(path) > _LONGEST_PATH:
            raise InvalidPathException(detail=f"A path may hold at most {_LONGEST_PATH} characters")
        ensure_lists_within_limit(operation.get("value"), path if isinstance(path, str) else "")
    return changes


def _changes(operation: Mapping[str, Any]) -> int:
    value = operation.get("value")
    return len(value) if isinstance(value, Mapping) and not operation.get("path") else 1


def ensure_lists_within_limit(value: Any, name: str = "") -> None:
    """Refuse long lists at any depth. Raises InvalidValueException."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            ensure_lists_within_limit(one, key)
    if isinstance(value, list):
        if len(value) > _MOST_VALUES and name.casefold().rpartition(":")[2] not in _LONG:
            raise InvalidValueException(detail=f"'{name}' may have at most {_MOST_VALUES} values")
        for one in value:
            ensure_lists_within_limit(one, name)


def ensure_projection_within_limit(parameters: Mapping[str, Any]) -> None:
    """Refuse long projections. Raises InvalidValueException."""
    for name, given in parameters.items():
        if name.casefold() in {"attributes", "excludedattributes"}:
            texts: Sequence[Any] = given if isinstance(given, list) else [given]
            if sum(str(text).count(",") + 1 for text in texts) > _MOST_NAMES:
                raise InvalidValueException(detail=f"{name} may name at most {_MOST_NAMES} attributes")
