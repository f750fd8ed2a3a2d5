"""Activity tags on the wire (settled 4 and 8)."""

from almoner.kit.time import iso_timestamp
from almoner.nonprofits.activities.domain import VERSION, SubTag, Tag
from almoner.platform.database.transactions import Tx
from almoner.platform.http.wire import ResponseRecord, UnpagedQuery


class ActivityTagsQuery(UnpagedQuery):
    """Activity tags have no filters."""


class SubTagResponse(ResponseRecord):
    """One activity of a tag."""

    id: str
    name: str
    tag_id: str
    description: str | None
    created_at: str
    updated_at: str


class ActivityTagResponse(ResponseRecord, object_name="activity_tag"):
    """A field of activity with its sub-tags."""

    id: str
    name: str
    description: str | None
    sub_tags: list[SubTagResponse]
    created_at: str
    updated_at: str


def activity_tag_response(tx: Tx, tag: Tag) -> ActivityTagResponse:
    """The response for one tag."""
    at = iso_timestamp(VERSION)
    return ActivityTagResponse(
        id=tx.ids.encode("activitytag", tag.id),
        name=tag.name,
        description=tag.description,
        sub_tags=[_sub_tag_response(tx, sub, at) for sub in tag.sub_tags],
        created_at=at,
        updated_at=at,
    )


def _sub_tag_response(tx: Tx, sub: SubTag, at: str) -> SubTagResponse:
    return SubTagResponse(
        id=tx.ids.encode("activitysubtag", sub.id),
        name=sub.name,
        tag_id=tx.ids.encode("activitytag", sub.tag_id),
        description=sub.description,
        created_at=at,
        updated_at=at,
    )
