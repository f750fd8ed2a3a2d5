# Made from openapi.json by `make clients`; do not edit.

"""One class for each error code."""

from almoner_client import _errors


class AgentVerificationInvalidMetadata(_errors.BadRequestError):
    """`agent_verification/invalid_metadata`: The metadata is not valid; use at most 20 keys of up to 40
    characters, with values of up to 250 characters.
    """


class AgentVerificationInvalidState(_errors.BadRequestError):
    """`agent_verification/invalid_state`: The status of the verification does not allow this."""


class AgentVerificationOrganisationNotFound(_errors.BadRequestError):
    """`agent_verification/organisation_not_found`: There is no organisation with this ID."""


class AgentVerificationValidationRequestNotFound(_errors.BadRequestError):
    """`agent_verification/validation_request_not_found`: There is no validation request with this ID."""


class BadRequest(_errors.BadRequestError):
    """`bad_request`: One or more of the inputs were invalid."""


class CategoryNameTaken(_errors.BadRequestError):
    """`category/name_taken`: Another category already has this name."""


class Conflict(_errors.ConflictError):
    """`conflict`: Another request is moving the clock; wait until it has finished."""


class ContentTooLarge(_errors.ApiError):
    """`content_too_large`: The request body is too large for this endpoint."""


class DonationCannotAcceptDonations(_errors.BadRequestError):
    """`donation/cannot_accept_donations`: This organisation cannot accept donations; only nonprofits that are
    active in their register can.
    """


class DonationCannotEditOrganisationInvalidDonationType(_errors.BadRequestError):
    """`donation/cannot_edit_organisation_invalid_donation_type`: Only direct donations can be changed to another
    organisation; a hosted donation is for the organisation on its page.
    """


class DonationGiftAidMissing(_errors.BadRequestError):
    """`donation/gift_aid_missing`: Your account requires Gift Aid for GBP donations to UK charities, and no
    declaration covers this donation.
    """


class DonationInvalidMetadata(_errors.BadRequestError):
    """`donation/invalid_metadata`: The metadata is not valid; use at most 20 keys of up to 40 characters, with
    values of up to 250 characters.
    """


class DonationInvalidState(_errors.BadRequestError):
    """`donation/invalid_state`: The status of the donation does not allow this."""


class DonationMissingOrganisation(_errors.BadRequestError):
    """`donation/missing_organisation`: Provide an existing organisation, or a user with a default organisation."""


class DonationUserNotFound(_errors.BadRequestError):
    """`donation/user_not_found`: There is no user with this ID."""


class DonationWrongPartnerCurrency(_errors.BadRequestError):
    """`donation/wrong_partner_currency`: Your account does not settle in this currency."""


class DonationWrongTargetCurrency(_errors.BadRequestError):
    """`donation/wrong_target_currency`: The organisation cannot receive this currency, or the session uses a
    different one.
    """


class DonationRequestInvalidState(_errors.BadRequestError):
    """`donation_request/invalid_state`: The status of the donation request does not allow this."""


class DonationSessionCannotAcceptDonations(_errors.BadRequestError):
    """`donation_session/cannot_accept_donations`: This organisation cannot accept donations; only nonprofits that
    are active in their register can.
    """


class DonationSessionCannotBePaid(_errors.BadRequestError):
    """`donation_session/cannot_be_paid`: There is no way to pay for this session."""


class DonationSessionInvalidMetadata(_errors.BadRequestError):
    """`donation_session/invalid_metadata`: The metadata is not valid; use at most 20 keys of up to 40 characters,
    with values of up to 250 characters.
    """


class DonationSessionInvalidState(_errors.BadRequestError):
    """`donation_session/invalid_state`: The session has expired; create a new one."""


class DonationSessionOrganisationNotFound(_errors.BadRequestError):
    """`donation_session/organisation_not_found`: There is no organisation with this ID."""


class DonationSessionUserNotFound(_errors.BadRequestError):
    """`donation_session/user_not_found`: There is no user with this ID."""


class DonationSubscriptionInvalidMetadata(_errors.BadRequestError):
    """`donation_subscription/invalid_metadata`: The metadata is not valid; use at most 20 keys of up to 40
    characters, with values of up to 250 characters.
    """


class DonationSubscriptionInvalidPause(_errors.BadRequestError):
    """`donation_subscription/invalid_pause`: The pause must end in the future, within 366 days."""


class DonationSubscriptionInvalidState(_errors.BadRequestError):
    """`donation_subscription/invalid_state`: The status of the donation subscription does not allow this."""


class EligibilitySubscriptionAlreadyCancelled(_errors.BadRequestError):
    """`eligibility_subscription/already_cancelled`: The subscription has already been cancelled."""


class EligibilitySubscriptionEntityNotFound(_errors.BadRequestError):
    """`eligibility_subscription/entity_not_found`: There is no organisation or validation request with this ID."""


class EligibilitySubscriptionInvalidMetadata(_errors.BadRequestError):
    """`eligibility_subscription/invalid_metadata`: The metadata is not valid; use at most 20 keys of up to 40
    characters, with values of up to 250 characters.
    """


class EligibilitySubscriptionInvalidState(_errors.BadRequestError):
    """`eligibility_subscription/invalid_state`: The status of the subscription does not allow this."""


class EligibilitySubscriptionInvalidSubTags(_errors.BadRequestError):
    """`eligibility_subscription/invalid_sub_tags`: One or more of the activity sub-tags are not known."""


class EligibilitySubscriptionOrganisationNotActive(_errors.BadRequestError):
    """`eligibility_subscription/organisation_not_active`: The register does not list the organisation as active."""


class EventWebhookSubscriptionNotFound(_errors.BadRequestError):
    """`event/webhook_subscription_not_found`: The webhook subscription does not exist or was deleted."""


class Forbidden(_errors.PermissionDeniedError):
    """`forbidden`: This API key does not have permission to do that."""


class GiftAidUserNotFound(_errors.BadRequestError):
    """`gift_aid/user_not_found`: There is no user with this ID."""


class GivingLinkCannotAcceptDonations(_errors.BadRequestError):
    """`giving_link/cannot_accept_donations`: Giving links cannot be created for this organisation."""


class GivingLinkCategoryNotFound(_errors.BadRequestError):
    """`giving_link/category_not_found`: There is no category with this ID."""


class GivingLinkInvalidMetadata(_errors.BadRequestError):
    """`giving_link/invalid_metadata`: The metadata is not valid; use at most 20 keys of up to 40 characters, with
    values of up to 250 characters.
    """


class GivingLinkOrganisationNotFound(_errors.BadRequestError):
    """`giving_link/organisation_not_found`: There is no organisation with this ID."""


class GivingLinkSlugTaken(_errors.BadRequestError):
    """`giving_link/slug_taken`: This slug is or was used by another giving link; choose another slug."""


class IdempotencyKeyAlreadyInUse(_errors.BadRequestError):
    """`idempotency/key_already_in_use`: This Idempotency-Key was used on another route; use a new key."""


class IdempotencyOriginalCallInProgress(_errors.BadRequestError):
    """`idempotency/original_call_in_progress`: The first request with this Idempotency-Key is still in progress;
    try again later.
    """


class IdempotencySameKeyDifferentData(_errors.BadRequestError):
    """`idempotency/same_key_different_data`: This Idempotency-Key was used with different data; send the same data
    again or use a new key.
    """


class InternalServerError(_errors.ServerError):
    """`internal_server_error`: Something went wrong on our side; nothing was changed, so you can safely try again."""


class MonetaryDonationVerificationInvalidMetadata(_errors.BadRequestError):
    """`monetary_donation_verification/invalid_metadata`: The metadata is not valid; use at most 20 keys of up to
    40 characters, with values of up to 250 characters.
    """


class MonetaryDonationVerificationInvalidState(_errors.BadRequestError):
    """`monetary_donation_verification/invalid_state`: The status of the verification does not allow this."""


class MonetaryDonationVerificationOrganisationNotFound(_errors.BadRequestError):
    """`monetary_donation_verification/organisation_not_found`: There is no organisation with this ID."""


class MonitoringSubscriptionEntityNotFound(_errors.BadRequestError):
    """`monitoring_subscription/entity_not_found`: There is no organisation or validation request with this ID."""


class MonitoringSubscriptionInvalidState(_errors.BadRequestError):
    """`monitoring_subscription/invalid_state`: The status of the monitoring subscription does not allow this."""


class MonitoringSubscriptionMonitoringSubscriptionAlreadyCancelled(_errors.BadRequestError):
    """`monitoring_subscription/monitoring_subscription_already_cancelled`: The monitoring subscription has already
    been cancelled.
    """


class MonitoringSubscriptionOrganisationNotActive(_errors.BadRequestError):
    """`monitoring_subscription/organisation_not_active`: The organisation is not active, so it cannot be
    monitored.
    """


class NotAcceptable(_errors.ApiError):
    """`not_acceptable`: The response is not available in any media type that the Accept header allows."""


class NotFound(_errors.NotFoundError):
    """`not_found`: The resource does not exist."""


class PaginationCursorError(_errors.BadRequestError):
    """`pagination/cursor_error`: The cursor is not valid for this list; start again from the first page."""


class RateExceeded(_errors.RateLimitError):
    """`rate_exceeded`: Too many requests; wait for the time in the Retry-After header."""


class SandboxPaymentDeclined(_errors.BadRequestError):
    """`sandbox/payment_declined`: The test provider declined the card, or the payment could not be made."""


class SandboxRecordNotFound(_errors.BadRequestError):
    """`sandbox/record_not_found`: None of your records that support this action has this ID."""


class ServiceUnavailable(_errors.ServerError):
    """`service_unavailable`: The service is temporarily unavailable; try again in a moment."""


class Unauthorized(_errors.AuthenticationError):
    """`unauthorized`: The Authorization header does not contain a valid API key for this environment."""


class UnsupportedContentType(_errors.ApiError):
    """`unsupported_content_type`: This endpoint does not support the Content-Type of the request body."""


class UploadContentTypeError(_errors.BadRequestError):
    """`upload/content_type_error`: Send the file as multipart/form-data."""


class UploadFileIsMissing(_errors.BadRequestError):
    """`upload/file_is_missing`: The request contains no file."""


class UploadFiletypeNotSupported(_errors.BadRequestError):
    """`upload/filetype_not_supported`: The file was rejected; see the reason."""


class UploadMaxFileSize(_errors.BadRequestError):
    """`upload/max_file_size`: The file is too large for this endpoint."""


class UploadMultipartBoundaryNotFound(_errors.BadRequestError):
    """`upload/multipart_boundary_not_found`: The Content-Type header of a multipart body must include its
    boundary.
    """


class UploadTooManyFiles(_errors.BadRequestError):
    """`upload/too_many_files`: Upload one file at a time."""


class UserOrganisationNotFound(_errors.BadRequestError):
    """`user/organisation_not_found`: There is no organisation with this ID."""


class ValidationInviteInvalidConfigurationId(_errors.BadRequestError):
    """`validation_invite/invalid_configuration_id`: There is no submission configuration with this ID."""


class ValidationInviteValidationInviteExpired(_errors.BadRequestError):
    """`validation_invite/validation_invite_expired`: The validation invite has expired; create a new one."""


class ValidationRequestInvalidRegistryId(_errors.BadRequestError):
    """`validation_request/invalid_registry_id`: The registration number is not valid for this registry."""


class ValidationRequestInvalidState(_errors.BadRequestError):
    """`validation_request/invalid_state`: The status of the validation request does not allow this."""


class ValidationRequestRegistryNotFound(_errors.BadRequestError):
    """`validation_request/registry_not_found`: The country has no registry with this ID, code or name."""


class ValidationSubmissionInvalidConfigurationId(_errors.BadRequestError):
    """`validation_submission/invalid_configuration_id`: There is no submission configuration with this ID."""


class ValidationSubmissionInvalidPayloadConfigInviteId(_errors.BadRequestError):
    """`validation_submission/invalid_payload_config_invite_id`: Provide either configurationId or
    validationInviteId; an invite already has a configuration.
    """


class ValidationSubmissionInvalidState(_errors.BadRequestError):
    """`validation_submission/invalid_state`: The status of the validation submission does not allow this."""


class ValidationSubmissionInvalidSubTags(_errors.BadRequestError):
    """`validation_submission/invalid_sub_tags`: One or more of the activity sub-tags are not known."""


class ValidationSubmissionNoConfigurationForPartner(_errors.BadRequestError):
    """`validation_submission/no_configuration_for_partner`: There is no default configuration; create one, or
    provide a configurationId.
    """


class ValidationSubmissionOrganisationNotActive(_errors.BadRequestError):
    """`validation_submission/organisation_not_active`: The organisation is not active."""


class ValidationSubmissionOrganisationNotFound(_errors.BadRequestError):
    """`validation_submission/organisation_not_found`: There is no such organisation."""


class ValidationSubmissionValidationInviteInvalidState(_errors.BadRequestError):
    """`validation_submission/validation_invite_invalid_state`: The validation invite has already been used; each
    invite is for one submission.
    """


class ValidationSubmissionValidationInviteNotFound(_errors.BadRequestError):
    """`validation_submission/validation_invite_not_found`: There is no validation invite with this ID."""


class ValidationSubmissionValidationRequestAlreadyRejected(_errors.BadRequestError):
    """`validation_submission/validation_request_already_rejected`: The validation request was rejected, so it
    cannot be used.
    """


class ValidationSubmissionValidationRequestNotFound(_errors.BadRequestError):
    """`validation_submission/validation_request_not_found`: There is no validation request with this ID."""


class ValidationSubmissionValidationSubmissionDocumentNotFound(_errors.BadRequestError):
    """`validation_submission/validation_submission_document_not_found`: No document with this ID was uploaded for
    this invite.
    """


class ValidationSubmissionDocumentValidationInviteNotFound(_errors.BadRequestError):
    """`validation_submission_document/validation_invite_not_found`: There is no validation invite with this ID."""


class ValidationSubmissionDocumentValidationSubmissionNotFound(_errors.BadRequestError):
    """`validation_submission_document/validation_submission_not_found`: There is no validation submission with
    this ID.
    """


class WebhookSubscriptionInvalidState(_errors.BadRequestError):
    """`webhook_subscription/invalid_state`: The subscription is suspended; resume it with PATCH and status active."""


ERRORS_BY_CODE: dict[str, type[_errors.ApiError]] = {
    "agent_verification/invalid_metadata": AgentVerificationInvalidMetadata,
    "agent_verification/invalid_state": AgentVerificationInvalidState,
    "agent_verification/organisation_not_found": AgentVerificationOrganisationNotFound,
    "agent_verification/validation_request_not_found": AgentVerificationValidationRequestNotFound,
    "bad_request": BadRequest,
    "category/name_taken": CategoryNameTaken,
    "conflict": Conflict,
    "content_too_large": ContentTooLarge,
    "donation/cannot_accept_donations": DonationCannotAcceptDonations,
    "donation/cannot_edit_organisation_invalid_donation_type": DonationCannotEditOrganisationInvalidDonationType,
    "donation/gift_aid_missing": DonationGiftAidMissing,
    "donation/invalid_metadata": DonationInvalidMetadata,
    "donation/invalid_state": DonationInvalidState,
    "donation/missing_organisation": DonationMissingOrganisation,
    "donation/user_not_found": DonationUserNotFound,
    "donation/wrong_partner_currency": DonationWrongPartnerCurrency,
    "donation/wrong_target_currency": DonationWrongTargetCurrency,
    "donation_request/invalid_state": DonationRequestInvalidState,
    "donation_session/cannot_accept_donations": DonationSessionCannotAcceptDonations,
    "donation_session/cannot_be_paid": DonationSessionCannotBePaid,
    "donation_session/invalid_metadata": DonationSessionInvalidMetadata,
    "donation_session/invalid_state": DonationSessionInvalidState,
    "donation_session/organisation_not_found": DonationSessionOrganisationNotFound,
    "donation_session/user_not_found": DonationSessionUserNotFound,
    "donation_subscription/invalid_metadata": DonationSubscriptionInvalidMetadata,
    "donation_subscription/invalid_pause": DonationSubscriptionInvalidPause,
    "donation_subscription/invalid_state": DonationSubscriptionInvalidState,
    "eligibility_subscription/already_cancelled": EligibilitySubscriptionAlreadyCancelled,
    "eligibility_subscription/entity_not_found": EligibilitySubscriptionEntityNotFound,
    "eligibility_subscription/invalid_metadata": EligibilitySubscriptionInvalidMetadata,
    "eligibility_subscription/invalid_state": EligibilitySubscriptionInvalidState,
    "eligibility_subscription/invalid_sub_tags": EligibilitySubscriptionInvalidSubTags,
    "eligibility_subscription/organisation_not_active": EligibilitySubscriptionOrganisationNotActive,
    "event/webhook_subscription_not_found": EventWebhookSubscriptionNotFound,
    "forbidden": Forbidden,
    "gift_aid/user_not_found": GiftAidUserNotFound,
    "giving_link/cannot_accept_donations": GivingLinkCannotAcceptDonations,
    "giving_link/category_not_found": GivingLinkCategoryNotFound,
    "giving_link/invalid_metadata": GivingLinkInvalidMetadata,
    "giving_link/organisation_not_found": GivingLinkOrganisationNotFound,
    "giving_link/slug_taken": GivingLinkSlugTaken,
    "idempotency/key_already_in_use": IdempotencyKeyAlreadyInUse,
    "idempotency/original_call_in_progress": IdempotencyOriginalCallInProgress,
    "idempotency/same_key_different_data": IdempotencySameKeyDifferentData,
    "internal_server_error": InternalServerError,
    "monetary_donation_verification/invalid_metadata": MonetaryDonationVerificationInvalidMetadata,
    "monetary_donation_verification/invalid_state": MonetaryDonationVerificationInvalidState,
    "monetary_donation_verification/organisation_not_found": MonetaryDonationVerificationOrganisationNotFound,
    "monitoring_subscription/entity_not_found": MonitoringSubscriptionEntityNotFound,
    "monitoring_subscription/invalid_state": MonitoringSubscriptionInvalidState,
    "monitoring_subscription/monitoring_subscription_already_cancelled": MonitoringSubscriptionMonitoringSubscriptionAlreadyCancelled,
    "monitoring_subscription/organisation_not_active": MonitoringSubscriptionOrganisationNotActive,
    "not_acceptable": NotAcceptable,
    "not_found": NotFound,
    "pagination/cursor_error": PaginationCursorError,
    "rate_exceeded": RateExceeded,
    "sandbox/payment_declined": SandboxPaymentDeclined,
    "sandbox/record_not_found": SandboxRecordNotFound,
    "service_unavailable": ServiceUnavailable,
    "unauthorized": Unauthorized,
    "unsupported_content_type": UnsupportedContentType,
    "upload/content_type_error": UploadContentTypeError,
    "upload/file_is_missing": UploadFileIsMissing,
    "upload/filetype_not_supported": UploadFiletypeNotSupported,
    "upload/max_file_size": UploadMaxFileSize,
    "upload/multipart_boundary_not_found": UploadMultipartBoundaryNotFound,
    "upload/too_many_files": UploadTooManyFiles,
    "user/organisation_not_found": UserOrganisationNotFound,
    "validation_invite/invalid_configuration_id": ValidationInviteInvalidConfigurationId,
    "validation_invite/validation_invite_expired": ValidationInviteValidationInviteExpired,
    "validation_request/invalid_registry_id": ValidationRequestInvalidRegistryId,
    "validation_request/invalid_state": ValidationRequestInvalidState,
    "validation_request/registry_not_found": ValidationRequestRegistryNotFound,
    "validation_submission/invalid_configuration_id": ValidationSubmissionInvalidConfigurationId,
    "validation_submission/invalid_payload_config_invite_id": ValidationSubmissionInvalidPayloadConfigInviteId,
    "validation_submission/invalid_state": ValidationSubmissionInvalidState,
    "validation_submission/invalid_sub_tags": ValidationSubmissionInvalidSubTags,
    "validation_submission/no_configuration_for_partner": ValidationSubmissionNoConfigurationForPartner,
    "validation_submission/organisation_not_active": ValidationSubmissionOrganisationNotActive,
    "validation_submission/organisation_not_found": ValidationSubmissionOrganisationNotFound,
    "validation_submission/validation_invite_invalid_state": ValidationSubmissionValidationInviteInvalidState,
    "validation_submission/validation_invite_not_found": ValidationSubmissionValidationInviteNotFound,
    "validation_submission/validation_request_already_rejected": ValidationSubmissionValidationRequestAlreadyRejected,
    "validation_submission/validation_request_not_found": ValidationSubmissionValidationRequestNotFound,
    "validation_submission/validation_submission_document_not_found": ValidationSubmissionValidationSubmissionDocumentNotFound,
    "validation_submission_document/validation_invite_not_found": ValidationSubmissionDocumentValidationInviteNotFound,
    "validation_submission_document/validation_submission_not_found": ValidationSubmissionDocumentValidationSubmissionNotFound,
    "webhook_subscription/invalid_state": WebhookSubscriptionInvalidState,
}

__all__ = [
    "AgentVerificationInvalidMetadata",
    "AgentVerificationInvalidState",
    "AgentVerificationOrganisationNotFound",
    "AgentVerificationValidationRequestNotFound",
    "BadRequest",
    "CategoryNameTaken",
    "Conflict",
    "ContentTooLarge",
    "DonationCannotAcceptDonations",
    "DonationCannotEditOrganisationInvalidDonationType",
    "DonationGiftAidMissing",
    "DonationInvalidMetadata",
    "DonationInvalidState",
    "DonationMissingOrganisation",
    "DonationUserNotFound",
    "DonationWrongPartnerCurrency",
    "DonationWrongTargetCurrency",
    "DonationRequestInvalidState",
    "DonationSessionCannotAcceptDonations",
    "DonationSessionCannotBePaid",
    "DonationSessionInvalidMetadata",
    "DonationSessionInvalidState",
    "DonationSessionOrganisationNotFound",
    "DonationSessionUserNotFound",
    "DonationSubscriptionInvalidMetadata",
    "DonationSubscriptionInvalidPause",
    "DonationSubscriptionInvalidState",
    "EligibilitySubscriptionAlreadyCancelled",
    "EligibilitySubscriptionEntityNotFound",
    "EligibilitySubscriptionInvalidMetadata",
    "EligibilitySubscriptionInvalidState",
    "EligibilitySubscriptionInvalidSubTags",
    "EligibilitySubscriptionOrganisationNotActive",
    "EventWebhookSubscriptionNotFound",
    "Forbidden",
    "GiftAidUserNotFound",
    "GivingLinkCannotAcceptDonations",
    "GivingLinkCategoryNotFound",
    "GivingLinkInvalidMetadata",
    "GivingLinkOrganisationNotFound",
    "GivingLinkSlugTaken",
    "IdempotencyKeyAlreadyInUse",
    "IdempotencyOriginalCallInProgress",
    "IdempotencySameKeyDifferentData",
    "InternalServerError",
    "MonetaryDonationVerificationInvalidMetadata",
    "MonetaryDonationVerificationInvalidState",
    "MonetaryDonationVerificationOrganisationNotFound",
    "MonitoringSubscriptionEntityNotFound",
    "MonitoringSubscriptionInvalidState",
    "MonitoringSubscriptionMonitoringSubscriptionAlreadyCancelled",
    "MonitoringSubscriptionOrganisationNotActive",
    "NotAcceptable",
    "NotFound",
    "PaginationCursorError",
    "RateExceeded",
    "SandboxPaymentDeclined",
    "SandboxRecordNotFound",
    "ServiceUnavailable",
    "Unauthorized",
    "UnsupportedContentType",
    "UploadContentTypeError",
    "UploadFileIsMissing",
    "UploadFiletypeNotSupported",
    "UploadMaxFileSize",
    "UploadMultipartBoundaryNotFound",
    "UploadTooManyFiles",
    "UserOrganisationNotFound",
    "ValidationInviteInvalidConfigurationId",
    "ValidationInviteValidationInviteExpired",
    "ValidationRequestInvalidRegistryId",
    "ValidationRequestInvalidState",
    "ValidationRequestRegistryNotFound",
    "ValidationSubmissionInvalidConfigurationId",
    "ValidationSubmissionInvalidPayloadConfigInviteId",
    "ValidationSubmissionInvalidState",
    "ValidationSubmissionInvalidSubTags",
    "ValidationSubmissionNoConfigurationForPartner",
    "ValidationSubmissionOrganisationNotActive",
    "ValidationSubmissionOrganisationNotFound",
    "ValidationSubmissionValidationInviteInvalidState",
    "ValidationSubmissionValidationInviteNotFound",
    "ValidationSubmissionValidationRequestAlreadyRejected",
    "ValidationSubmissionValidationRequestNotFound",
    "ValidationSubmissionValidationSubmissionDocumentNotFound",
    "ValidationSubmissionDocumentValidationInviteNotFound",
    "ValidationSubmissionDocumentValidationSubmissionNotFound",
    "WebhookSubscriptionInvalidState",
]
