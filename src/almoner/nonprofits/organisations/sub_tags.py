"""Sub-tags of organisations on the wire (settled 4), each with the rule that gave it."""

from collections.abc import Mapping
from typing import Final

from almoner.kit.time import iso_timestamp
from almoner.nonprofits.activities.domain import TAGS, VERSION, sub_tags_in_file_order
from almoner.platform.database.transactions import Tx
from almoner.platform.http.wire import ResponseRecord

_VERSION_TIMESTAMP: Final = iso_timestamp(VERSION)


class TagNameResponse(ResponseRecord):
    """The tag of a sub-tag."""

    id: str
    name: str


class ActivitySubTagResponse(ResponseRecord):
    """An activity of the organisation. `rule` is the rule that assigned it: `ntee:B25`, `ccew:102`, `name:church`."""

    id: str
    name: str
    tag: TagNameResponse
    description: str | None
    rule: str
    created_at: str
    updated_at: str


def sub_tags_response(tx: Tx, rules_by_sub_tag: Mapping[str, str] | None) -> list[ActivitySubTagResponse]:
    """The response for sub-tags by code, in the order of the file. Codes that the file no longer has are omitted."""
    return [
        ActivitySubTagResponse(
            id=tx.ids.encode("activitysubtag", sub.id),
            name=sub.name,
            tag=TagNameResponse(tx.ids.encode("activitytag", sub.tag_id), TAGS[sub.tag_id].name),
            description=sub.description,
            rule=(rules_by_sub_tag or {})[sub.code],
            created_at=_VERSION_TIMESTAMP,
            updated_at=_VERSION_TIMESTAMP,
        )
        for sub in sub_tags_in_file_order(rules_by_sub_tag or {})
    ]
