"""Endpoints of activity tags (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.nonprofits.activities import service
from almoner.nonprofits.activities.schemas import ActivityTagResponse, ActivityTagsQuery, activity_tag_response
from almoner.platform.http.caller import PUBLISHABLE
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

TagId = Annotated[UUID, PathId("activitytag")]

routes = Routes("Activity tags")


@routes.get("/v1/activity-tags", key=PUBLISHABLE, scope="activities:read")
async def list_activity_tags(call: ApiCall, query: ActivityTagsQuery) -> ListResponse[ActivityTagResponse]:
    """List all activity tags with their sub-tags, in one page."""
    return call.unpaged_list_response(service.list_tags(), lambda tag: activity_tag_response(call.tx, tag), query)


@routes.get("/v1/activity-tags/{id}", key=PUBLISHABLE, scope="activities:read")
async def get_activity_tag(call: ApiCall, id: TagId) -> ActivityTagResponse:
    """Retrieve an activity tag with its sub-tags."""
    return activity_tag_response(call.tx, service.get_tag(id))
