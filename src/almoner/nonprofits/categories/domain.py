"""Categories: a partner's own collections of organisations (spec 2.9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from almoner.kit.errors import BadRequest

Attribute = str | bool | int | float

MAX_ATTRIBUTES = 20
_MAX_KEY_LENGTH = 40
MAX_VALUE_LENGTH = 250


class CategoryNameTaken(BadRequest):
    code = "category/name_taken"
    message = "Another category already has this name"


@dataclass(frozen=True, slots=True)
class Category:
    """One category of one partner."""

    id: UUID
    name: str
    attributes: Mapping[str, Attribute] | None
    image_key: str | None
    created_at: datetime


def find_attribute_problems(attributes: Mapping[str, Attribute]) -> list[str]:
    """One sentence for every rule that the attributes break (settled 4)."""
    found = []
    if len(attributes) > MAX_ATTRIBUTES:
        found.append(f"body.attributes may have at most {MAX_ATTRIBUTES} keys, this one has {len(attributes)}")
    for key, value in attributes.items():
        if not 1 <= len(key) <= _MAX_KEY_LENGTH:
            found.append(f"body.attributes key '{key[:_MAX_KEY_LENGTH]}' must have 1 to {_MAX_KEY_LENGTH} characters")
        if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
            found.append(f"body.attributes.{key[:_MAX_KEY_LENGTH]} must be at most {MAX_VALUE_LENGTH} characters")
    return found
