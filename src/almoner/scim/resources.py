"""Resources of SCIM from our rows, and the profiles that we keep of them: pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from scim2_models import InvalidValueException, Path, Resource, ResponseParameters, ScimPolicy
from scim2_server.utils import parametrize

from almoner.kit.ids import Ids
from almoner.scim.scim_limits import check_list_lengths

Kind = Literal["User", "Group"]

_LONGEST: Final = 512
"""Characters of an externalId, a family name and an email address, which are in indexes, and of names on pages."""
_LONGEST_TEXT: Final = 4_096
"""Characters of any other text, but for ``_WIDE``."""
_WIDE: Final = {"photos": 16_384, "x509Certificates": 16_384}
_MOST_BYTES: Final = 64 * 1024
"""Bytes of a profile as it is kept: a page may hold two hundred."""

_OURS: Final = frozenset({"schemas", "id", "meta", "groups", "members"})
"""Members of a resource that are no part of its profile: given by us, or kept elsewhere."""

_KEPT: Final = ScimPolicy(unknown=ScimPolicy.Unknown.ignore)
"""What is stored was checked when it came; a member that is no longer served is left out."""


@dataclass(frozen=True, slots=True)
class StoredResource:
    """A stored user or group. ``links``: their groups or members; None: not read."""

    kind: Kind
    id: UUID
    profile: Mapping[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    links: Sequence[tuple[UUID, str | None]] | None = None


def id_type_of_resource(kind: Kind) -> str:
    """The type of its identifiers (settled 1)."""
    return "member" if kind == "User" else "group"


def entity_tag(version: int) -> str:
    """The weak ETag of a version (``meta.version``)."""
    return f'W/"{version}"'


def links_attribute(kind: Kind) -> str:
    """The attribute that is kept in rows of their own."""
    return "groups" if kind == "User" else "members"


def includes_links(kind: Kind, model: type[Resource[Any]], parameters: ResponseParameters[Any] | None) -> bool:
    """Whether an answer has the groups of a user, or who is in a group (RFC 7644 3.9)."""
    if parameters is None:
        return True
    stored = parametrize(Path, model).iter_paths(
        include_subattributes=False,
        include_extensions=False,
        attributes=list(parameters.attributes or ()),
        excluded_attributes=list(parameters.excluded_attributes or ()),
    )
    return any(path.parts[0] == links_attribute(kind) for path in stored)


def is_partial_response(parameters: ResponseParameters[Any]) -> bool:
    """Whether some attributes are asked for, or left out."""
    return bool(parameters.attributes or parameters.excluded_attributes)


def build_resource(ids: Ids, model: type[Resource[Any]], row: StoredResource) -> Resource[Any]:
    """The resource of a row, without its location."""
    return model.model_validate(resource_json(ids, model, row), scim_policy=_KEPT)


def resource_json(ids: Ids, model: type[Resource[Any]], row: StoredResource) -> dict[str, Any]:
    """A row's resource as JSON without its location; stored data were serialised from a model."""
    value: dict[str, Any] = {
        **row.profile,
        "schemas": _schemas(model, row.profile),
        "id": ids.text(id_type_of_resource(row.kind), row.id),
        "meta": {
            "resourceType": row.kind,
            "created": row.created_at,
            "lastModified": row.updated_at,
            "version": entity_tag(row.version),
        },
    }
    if row.links:
        value[links_attribute(row.kind)] = _links(ids, row)
    return value


def _links(ids: Ids, row: StoredResource) -> list[dict[str, str | None]]:
    assert row.links is not None
    if row.kind == "User":
        texts = ((ids.text("group", id_), name) for id_, name in row.links)
        return [{"value": text, "$ref": f"Groups/{text}", "display": name, "type": "direct"} for text, name in texts]
    people = (ids.text("member", id_) for id_, _ in row.links)
    return [{"value": text, "$ref": f"Users/{text}", "type": "User"} for text in people]


def _schemas(model: type[Resource[Any]], profile: Mapping[str, Any]) -> list[str]:
    return [str(model.__schema__), *(name for name in profile if name.startswith("urn:"))]


def profile_from_resource(resource: Resource[Any]) -> dict[str, Any]:
    """The stored profile of a resource, by RFC 7643 names and without empty values (RFC 7643 2.5).

    Raises InvalidValueException for what PostgreSQL's text cannot hold, and for what is too much.
    """
    dumped = resource.model_dump()
    profile: dict[str, Any] = _without_empty({name: value for name, value in dumped.items() if name not in _OURS}) or {}
    called = profile.get("name") or {}
    named = {name: profile.get(name) for name in ("externalId", "displayName")}
    named |= {f"name.{part}": called.get(part) for part in ("familyName", "formatted")}
    named |= {f"emails.{n}": one.get("value") for n, one in enumerate(profile.get("emails") or ())}
    _refuse_long(named, _LONGEST)
    for name, value in profile.items():
        check_list_lengths(value, name)
        _refuse_long(dict(_iter_texts(value, name)), _WIDE.get(name, _LONGEST_TEXT))
    if len(msgspec.json.encode(profile)) > _MOST_BYTES:
        raise InvalidValueException(detail=f"A profile may hold at most {_MOST_BYTES // 1024} KiB")
    return profile


def _refuse_long(texts: Mapping[str, str | None], longest: int) -> None:
    if wrong := [name for name, text in texts.items() if text is not None and len(text) > longest]:
        raise InvalidValueException(detail=f"{wrong[0]} may hold at most {longest} characters")


def _iter_texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """All texts of a value, by where they are."""
    if isinstance(value, str):
        yield name, value
    if isinstance(value, Mapping):
        for part, one in value.items():
            yield from _iter_texts(one, f"{name}.{part}")
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _iter_texts(one, f"{name}.{number}")


def _without_empty(value: Any) -> Any:
    """The value without what is empty; None when nothing is left."""
    if isinstance(value, str):
        if not is_storable_text(value):
            raise InvalidValueException(detail="Text must not hold NUL characters or halves of surrogate pairs")
        return value
    if isinstance(value, Mapping):
        members = ((name, _without_empty(one)) for name, one in value.items() if name != "schemas")
        return {name: one for name, one in members if one is not None} or None
    if isinstance(value, list):
        return [one for one in map(_without_empty, value) if one is not None] or None
    return value


def is_storable_text(text: str) -> bool:
    """Whether PostgreSQL can store the text."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def member_ids(ids: Ids, resource: Resource[Any]) -> list[UUID]:
    """The people to be members of a group."""
    return person_ids(ids, getattr(resource, "members", None) or ())


def person_ids(ids: Ids, entries: Iterable[Any]) -> list[UUID]:
    """The people in member entries; unknown ones are left out. Raises InvalidValueException."""
    asked = (_member_id(ids, entry) for entry in entries)
    return list(dict.fromkeys(one for one in asked if one is not None))


def _member_id(ids: Ids, entry: Any) -> UUID | None:
    value = entry.value or ""
    if (entry.type or "User").casefold() != "user" or ids.parse("group", value) is not None:
        raise InvalidValueException(detail="A group holds users, no groups", attribute="members")
    return ids.parse("member", value)
