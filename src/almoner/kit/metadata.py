"""Metadata: string to string, at most 20 keys of 40 and values of 250 characters (spec 2.1)."""

from collections.abc import Mapping
from itertools import islice

MAX_KEYS = 20
_MAX_KEY_LENGTH = 40
MAX_VALUE_LENGTH = 250
_MAX_LOOKED_AT = 100


def find_metadata_problems(
    metadata: Mapping[str, object], field_path: str = "body.metadata", *, is_patch: bool = False
) -> list[str]:
    """One sentence for every rule the metadata break, far too many keys: of the first; empty when they are fine.

    ``is_patch``: they are to be merged into others, where a null value stands for removal.
    """
    found = []
    if len(metadata) > MAX_KEYS:
        found.append(f"{field_path} may have at most {MAX_KEYS} keys, this one has {len(metadata)}")
    for key, value in islice(metadata.items(), _MAX_LOOKED_AT):
        shown = key if len(key) <= _MAX_KEY_LENGTH else key[:_MAX_KEY_LENGTH] + "..."
        if not key:
            found.append(f"{field_path} has an empty key")
        if len(key) > _MAX_KEY_LENGTH:
            found.append(f"{field_path} key '{shown}' is longer than {_MAX_KEY_LENGTH} characters")
        if isinstance(value, str):
            if len(value) > MAX_VALUE_LENGTH:
                found.append(f"{field_path}.{shown} is longer than {MAX_VALUE_LENGTH} characters")
        elif value is not None or not is_patch:
            found.append(f"{field_path}.{shown} must be a string" + " or null" * is_patch)
    return found


def merge_metadata(current: Mapping[str, str], patch: Mapping[str, str | None]) -> dict[str, str]:
    """Key by key: a named key is overwritten, a key set to null is removed (settled 1)."""
    merged = {key: value for key, value in current.items() if key not in patch}
    merged.update({key: value for key, value in patch.items() if value is not None})
    return merged
