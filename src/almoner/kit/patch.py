"""PATCH: an absent field is not a null one (settled 1)."""

from enum import Enum
from typing import Final, Literal, TypeVar

T = TypeVar("T")


class Unset(Enum):
    """The type of ``UNSET``: the caller did not name the field."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
UnsetType = Literal[Unset.UNSET]


def value_or_current(value: T | UnsetType, current: T) -> T:
    """The new value if the caller set the field; otherwise the current one."""
    return current if value is UNSET else value
