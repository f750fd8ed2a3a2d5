# Made from openapi.json by `make clients`; do not edit.

"""Event types, with the record that each carries."""

from almoner_client._generated import models
from almoner_client._records import Record

EVENT_RECORDS: dict[str, type[Record]] = {
    "validation_request.approved": models.ValidationRequest,
    "validation_request.rejected": models.ValidationRequest,
    "validation_request_document.rejected": models.ValidationRequestDocument,
    "validation_submission_document.rejected": models.ValidationSubmissionDocument,
    "agent_verification.pending_user_verification": models.AgentVerification,
    "agent_verification.pending_review": models.AgentVerification,
    "agent_verification.approved": models.AgentVerification,
    "agent_verification.rejected": models.AgentVerification,
    "monitoring_subscription.updated": models.MonitoringSubscription,
    "eligibility_subscription.updated": models.EligibilitySubscription,
    "validation_submission.created": models.ValidationSubmission,
    "validation_submission.succeeded": models.ValidationSubmission,
    "validation_submission.failed": models.ValidationSubmission,
    "validation_submission.updated": models.ValidationSubmission,
    "donation.created": models.Donation,
    "donation.hosted.payment_received": models.Donation,
    "donation.payment_successful": models.Donation,
    "donation.payment_requested": models.Donation,
    "donation.settled": models.Donation,
    "donation.disbursed": models.Donation,
    "donation.cancelled": models.Donation,
    "donation.reassigned": models.Donation,
    "donation.refunded": models.Donation,
    "donation.disputed": models.Donation,
    "donation.dispute_closed": models.Donation,
    "donation.receipt_undeliverable": models.Donation,
    "donation.payout_returned": models.Donation,
    "donation_session.completed": models.DonationSession,
    "donation_session.expired": models.DonationSession,
    "donation_request.created": models.DonationRequest,
    "donation_request.updated": models.DonationRequest,
    "disbursement.created": models.Disbursement,
    "disbursement.updated": models.Disbursement,
    "validation_invite.completed": models.ValidationInvite,
    "validation_invite.expired": models.ValidationInvite,
    "monetary_donation_verification.received": models.MonetaryDonationVerification,
    "monetary_donation_verification.progressed": models.MonetaryDonationVerification,
    "organisation.updated": models.Organisation,
    "webhook_subscription.failing": models.WebhookSubscription,
    "webhook_subscription.suspended": models.WebhookSubscription,
}
