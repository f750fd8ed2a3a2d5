"""Endpoints of appeals (settled 4 and 8)."""

from typing import Annotated
from uuid import UUID

from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.validation.applications.submissions.domain import InvalidState
from almoner.validation.decisions.appeals import service
from almoner.validation.decisions.appeals.schemas import AppealBody, AppealResponse, appeal_response

AppealId = Annotated[UUID, PathId("appeal")]
SubmissionId = Annotated[UUID, PathId("validationsubmission")]

routes = Routes("Appeals")


@routes.post(
    "/v1/validation-submissions/{id}/appeals",
    key=SECRET,
    scope="validation_submissions:write",
    errors=(InvalidState,),
)
async def create_appeal(call: ApiCall, id: SubmissionId, body: AppealBody) -> AppealResponse:
    """Appeal against a failed submission.

    Another operator reviews the decision within ten business days. The applicant can also appeal on the application's
    status page. A submission can have one open appeal at a time.
    """
    return appeal_response(call.tx, await service.create(call.tx, call.partner, id, body.text, "partner"))


@routes.get("/v1/appeals/{id}", key=SECRET, scope="validation_submissions:read")
async def get_appeal(call: ApiCall, id: AppealId) -> AppealResponse:
    """Retrieve an appeal."""
    return appeal_response(call.tx, await service.get(call.tx, call.partner, id))
