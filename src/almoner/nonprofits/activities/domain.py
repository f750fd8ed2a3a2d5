"""Activity tags and sub-tags (settled 4), from the versioned file ``tags.json``."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from almoner.kit.events import InternalEvent

_FIRST: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class SubTag:
    """One activity. ``wider_sub_tag_code``: the code of the wider sub-tag that includes it."""

    id: UUID
    tag_id: UUID
    code: str
    name: str
    description: str
    wider_sub_tag_code: str | None
    icnptso_codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """A field of activity with its sub-tags."""

    id: UUID
    code: str
    name: str
    description: str
    sub_tags: tuple[SubTag, ...]


class AssignedTags(NamedTuple):
    """An organisation's tags, and for each sub-tag the rule that assigned it (``ntee:B25``).

    ``tag_ids``: the IDs of these sub-tags, of the wider ones that include them, and of their tags.
    """

    tag_ids: tuple[UUID, ...]
    rules_by_sub_tag: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RetaggingRun:
    """A run that applies one version of the rules to all organisations."""

    id: UUID
    version: str
    started_at: datetime
    completed_at: datetime | None = None
    organisations: int = 0
    changed: int = 0


NO_TAGS: Final = AssignedTags((), MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class RetaggingCompletedEvent:
    """The internal event that a retagging run ended."""

    application: UUID
    changed: int


RETAGGING_COMPLETED: Final = InternalEvent("internal.activities_applied", RetaggingCompletedEvent)
"""Reported when the rules have been applied to all organisations."""


def derive_permanent_tag_id(kind: str, code: str) -> UUID:
    """The permanent UUIDv7-shaped ID of a tag code (settled 1)."""
    tail = int.from_bytes(sha256(f"{kind}:{code}".encode()).digest()[:10])
    return UUID(int=_FIRST << 80 | 7 << 76 | (tail >> 62 & 0xFFF) << 64 | 2 << 62 | tail & ((1 << 62) - 1))


def load_data_file(file_name: str) -> Any:
    """Load a JSON data file of this slice."""
    return json.loads(files("almoner.nonprofits.activities").joinpath(file_name).read_text(encoding="utf-8"))


def _tag(row: Mapping[str, Any]) -> Tag:
    tag_id = derive_permanent_tag_id("activitytag", row["code"])
    sub_tags = (
        SubTag(
            derive_permanent_tag_id("activitysubtag", sub["code"]),
            tag_id,
            sub["code"],
            sub["name"],
            sub["description"],
            sub.get("within"),
            tuple(sub.get("icnptso", ())),
        )
        for sub in row["subTags"]
    )
    return Tag(tag_id, row["code"], row["name"], row["description"], tuple(sub_tags))


_FILE: Final = load_data_file("tags.json")
VERSION: Final = datetime.fromisoformat(_FILE["version"])
"""The version of the file, set when the tags change."""
TAGS: Final[Mapping[UUID, Tag]] = {tag.id: tag for tag in map(_tag, _FILE["tags"])}
"""The tags by ID, in the order of the file."""
SUB_TAGS: Final[Mapping[str, SubTag]] = {sub.code: sub for tag in TAGS.values() for sub in tag.sub_tags}
"""The sub-tags by code, in the order of the file."""
_PLACES: Final = {code: place for place, code in enumerate(SUB_TAGS)}


def sub_tags_in_file_order(codes: Iterable[str]) -> list[SubTag]:
    """The sub-tags with these codes in file order; unknown codes are omitted."""
    return [SUB_TAGS[code] for code in sorted((code for code in codes if code in _PLACES), key=_PLACES.__getitem__)]


def build_assigned_tags(rules_by_sub_tag: Mapping[str, str]) -> AssignedTags:
    """The tags to store for these sub-tags and rules."""
    stored = {sub.code: rules_by_sub_tag[sub.code] for sub in sub_tags_in_file_order(rules_by_sub_tag)}
    ids: dict[UUID, None] = {}
    for code in stored:
        sub = SUB_TAGS[code]
        ids[sub.id] = ids[sub.tag_id] = None
        if sub.wider_sub_tag_code is not None:
            ids[SUB_TAGS[sub.wider_sub_tag_code].id] = None
    return AssignedTags(tuple(ids), stored)
