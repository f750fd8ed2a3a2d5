"""Endpoints of submission configurations (settled 8)."""

from typing import Annotated, Final
from uuid import UUID

from almoner.platform.files import images
from almoner.platform.files.uploads.files import CheckedFile
from almoner.platform.files.uploads.problems import UPLOAD_ERRORS
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.uploads import UploadDeclaration
from almoner.validation.applications.configurations import service
from almoner.validation.applications.configurations.schemas import (
    ValidationSubmissionConfigurationBody,
    ValidationSubmissionConfigurationPatch,
    ValidationSubmissionConfigurationResponse,
    ValidationSubmissionConfigurationsQuery,
    configuration_response,
)

ConfigurationId = Annotated[UUID, PathId("hostedconfiguration")]

_LOGO: Final = UploadDeclaration(
    "logo", max_bytes=5 * 1024 * 1024, media_types=images.MEDIA_TYPES, longest_side=320, pad_to_square=True
)

routes = Routes("Submission configurations")


@routes.get("/v1/validation-submission-configurations", key=SECRET, scope="validation_configurations:read")
async def list_validation_submission_configurations(
    call: ApiCall, query: ValidationSubmissionConfigurationsQuery
) -> ListResponse[ValidationSubmissionConfigurationResponse]:
    """List all submission configurations, in one page."""
    rows = await service.list_all(call.tx, call.partner)
    return call.unpaged_list_response(rows, lambda row: configuration_response(call.tx, row), query)


@routes.post("/v1/validation-submission-configurations", key=SECRET, scope="validation_configurations:write")
async def create_validation_submission_configuration(
    call: ApiCall, body: ValidationSubmissionConfigurationBody
) -> ValidationSubmissionConfigurationResponse:
    """Create a submission configuration: the checks of an application, their rules, and the look of its form."""
    return configuration_response(call.tx, await service.create(call.tx, call.partner, body.to_input()))


@routes.get("/v1/validation-submission-configurations/{id}", key=SECRET, scope="validation_configurations:read")
async def get_validation_submission_configuration(
    call: ApiCall, id: ConfigurationId
) -> ValidationSubmissionConfigurationResponse:
    """Retrieve a submission configuration."""
    return configuration_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.patch("/v1/validation-submission-configurations/{id}", key=SECRET, scope="validation_configurations:write")
async def update_validation_submission_configuration(
    call: ApiCall, id: ConfigurationId, body: ValidationSubmissionConfigurationPatch
) -> ValidationSubmissionConfigurationResponse:
    """Change a submission configuration.

    Changes of flags and activities also apply to existing subscriptions with this configuration.
    """
    return configuration_response(call.tx, await service.update(call.tx, call.partner, id, body.to_input()))


@routes.post(
    "/v1/validation-submission-configurations/{id}/logo",
    key=SECRET,
    scope="validation_configurations:write",
    upload=_LOGO,
    errors=UPLOAD_ERRORS,
)
async def set_validation_submission_configuration_logo(
    call: ApiCall, id: ConfigurationId, upload: CheckedFile
) -> ValidationSubmissionConfigurationResponse:
    """Upload the logo that the hosted form shows.

    The file must be a JPEG, PNG or HEIC of at most 5 MiB. The form shows the logo as a square, with transparent edges
    if necessary.
    """
    made = await service.set_logo(call.tx, call.partner, id, images.read_checked_image(upload))
    return configuration_response(call.tx, made)
