"""The lists of the dashboard: what each shows, and what it can be filtered by."""

from typing import Final

from almoner.dashboard.domain import Column, Filter, RecordList

_ID: Final = Column("ID", "id", "id")
_CREATED: Final = Column("Created", "createdAt", "moment")
_STATUS: Final = Column("Status", "status", "status")
_FROM: Final = Filter("From", "startDate", "day")
_UNTIL: Final = Filter("Before", "endDate", "day")
_SEARCH: Final = Filter("Name", "query")


def _status(*choices: str) -> Filter:
    return Filter("Status", "status", "choice", choices)


DONATIONS: Final = RecordList(
    "Donations",
    "Donation",
    "Donations",
    "/donations",
    "/v1/donations",
    "donations:read",
    "donation",
    "Donations that donors make on your hosted pages, and those that you report, appear here.",
    (
        Column("Amount", "amount", "amount"),
        _STATUS,
        Column("Donor", "email", "donor"),
        Column("Nonprofit", "organisationId", "organisation"),
        _CREATED,
        _ID,
    ),
    (
        _status("ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED"),
        Filter("Donor's email", "email", "email"),
        _FROM,
        _UNTIL,
        Filter("Nonprofit's ID", "organisationId"),
        Filter("Donation session's ID", "sessionId"),
        Filter("Donation request's ID", "donationRequestId"),
    ),
)
SESSIONS: Final = RecordList(
    "Donation sessions",
    "Donation session",
    "Donations",
    "/donation-sessions",
    "/v1/donation-sessions",
    "donation_sessions:read",
    "donationsession",
    "A donation session is a hosted page for one donation. Your server creates it and sends the donor there.",
    (
        _STATUS,
        Column("Nonprofit", "organisationId", "organisation"),
        _CREATED,
        Column("Expires", "expiresAt", "moment"),
        _ID,
    ),
)
REQUESTS_TO_PAY: Final = RecordList(
    "Donation requests",
    "Donation request",
    "Donations",
    "/donation-requests",
    "/v1/donation-requests",
    "donation_requests:read",
    "donationrequest",
    "A donation request asks you to transfer the direct donations of a period.",
    (
        Column("Amount", "amount", "amount"),
        _STATUS,
        Column("Reference", "reference"),
        Column("Due", "dueAt", "moment"),
        _CREATED,
        _ID,
    ),
)
DISBURSEMENTS: Final = RecordList(
    "Disbursements",
    "Disbursement",
    "Donations",
    "/disbursements",
    "/v1/disbursements",
    "disbursements:read",
    "disbursement",
    "A disbursement pays a nonprofit what was given for it.",
    (
        Column("Amount", "amount", "amount"),
        _STATUS,
        Column("Nonprofit", "organisationId", "organisation"),
        _CREATED,
        Column("Paid", "paidAt", "moment"),
        _ID,
    ),
    (_status("PENDING", "SENT", "PAID", "RETURNED"), Filter("Nonprofit's ID", "organisationId")),
)
ORGANISATIONS: Final = RecordList(
    "Nonprofits",
    "Nonprofit",
    "Nonprofits",
    "/nonprofits",
    "/v1/organisations",
    "organisations:read",
    "organisation",
    "Nonprofits of the registers that are loaded.",
    (
        Column("Name", "displayName"),
        Column("Country", "countryCode"),
        Column("Registry", "registryName"),
        Column("Number", "registryId"),
        _ID,
    ),
    (
        Filter("Name or number", "query"),
        Filter("Country (three letters)", "countryCode"),
        Filter("Accepts donations", "acceptsDonations", "choice", ("true", "false")),
    ),
)
SUBMISSIONS: Final = RecordList(
    "Submissions",
    "Submission",
    "Validations",
    "/validation-submissions",
    "/v1/validation-submissions",
    "validation_submissions:read",
    "validationsubmission",
    "A submission is a nonprofit's application: who applies, for which nonprofit, and what was checked.",
    (
        Column("Nonprofit", "organisationName"),
        _STATUS,
        Column("Applicant", "agentVerification.email"),
        _CREATED,
        _ID,
    ),
    (
        _status("pending", "processed", "succeeded", "failed"),
        _SEARCH,
        Filter("Applicant's email", "email", "email"),
    ),
)
VALIDATION_REQUESTS: Final = RecordList(
    "Validation requests",
    "Validation request",
    "Validations",
    "/validation-requests",
    "/v1/validation-requests",
    "validation_requests:read",
    "validationrequest",
    "A validation request asks whether a nonprofit exists in its register.",
    (Column("Name", "name"), Column("Registry", "registryName"), Column("Number", "registryId"), _CREATED, _ID),
    (_status("pending", "accepted", "rejected"), _SEARCH, _FROM, _UNTIL),
)
INVITES: Final = RecordList(
    "Invites",
    "Invite",
    "Validations",
    "/validation-invites",
    "/v1/validation-invites",
    "validation_invites:read",
    "validationinvite",
    "An invite is a link to the hosted application form for one nonprofit.",
    (_STATUS, Column("Language", "language"), _CREATED, Column("Expires", "expiresAt", "moment"), _ID),
)
AGENTS: Final = RecordList(
    "Agent verifications",
    "Agent verification",
    "Validations",
    "/agent-verifications",
    "/v1/agent-verifications",
    "agent_verifications:read",
    "agentverification",
    "An agent verification asks whether a person represents a nonprofit.",
    (Column("Email", "email"), _STATUS, Column("Nonprofit", "organisationId", "organisation"), _CREATED, _ID),
    (
        _status("pending", "pending_user_verification", "pending_review", "approved", "rejected"),
        Filter("Agent's email", "email", "email"),
        _FROM,
        _UNTIL,
    ),
)
MONITORING: Final = RecordList(
    "Monitoring",
    "Monitoring subscription",
    "Validations",
    "/monitoring-subscriptions",
    "/v1/monitoring-subscriptions",
    "monitoring_subscriptions:read",
    "monitoringsubscription",
    "A monitoring subscription tells you when the record of a nonprofit changes.",
    (Column("Nonprofit", "organisationId", "organisation"), _STATUS, _CREATED, _ID),
    (_status("pending", "pending_validation_request", "validation_request_failed", "live", "cancelled"), _SEARCH),
)
ELIGIBILITY: Final = RecordList(
    "Eligibility",
    "Eligibility subscription",
    "Validations",
    "/eligibility-subscriptions",
    "/v1/eligibility-subscriptions",
    "eligibility_subscriptions:read",
    "eligibilitysubscription",
    "An eligibility subscription tells you whether a nonprofit meets your criteria, now and later.",
    (Column("Nonprofit", "organisationName"), _STATUS, _CREATED, _ID),
    (
        _status(
            "pending",
            "pending_validation_request",
            "validation_request_failed",
            "live",
            "cancelled",
            "cannot_define_eligibility",
        ),
        _SEARCH,
        _FROM,
        _UNTIL,
    ),
)
EVENTS: Final = RecordList(
    "Events",
    "Event",
    "Developers",
    "/events",
    "/v1/events",
    "events:read",
    "event",
    "Every change of your records is an event. Webhooks deliver them to your server.",
    (Column("Type", "eventType"), Column("Sequence", "sequence"), _CREATED, _ID),
    (Filter("Type", "type"), _FROM, _UNTIL),
)

LISTS: Final = (
    DONATIONS,
    SESSIONS,
    REQUESTS_TO_PAY,
    DISBURSEMENTS,
    ORGANISATIONS,
    SUBMISSIONS,
    VALIDATION_REQUESTS,
    INVITES,
    AGENTS,
    MONITORING,
    ELIGIBILITY,
    EVENTS,
)
"""In the order of the navigation."""
PATHS_BY_ID_TYPE: Final = {one.id_type: one.path for one in LISTS}
"""Where a record with an identifier of the type is shown."""
