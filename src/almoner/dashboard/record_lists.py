"""The lists of the dashboard: what each shows, and what it can be filtered by."""

from typing import Final

from almoner.dashboard.domain import Column, Filter, FormField, RecordAction, RecordForm, RecordList

_ID: Final = Column("ID", "id", "id")
_CREATED: Final = Column("Created", "createdAt", "moment")
_STATUS: Final = Column("Status", "status", "status")
_FROM: Final = Filter("From", "startDate", "day")
_UNTIL: Final = Filter("Before", "endDate", "day")
_SEARCH: Final = Filter("Name", "query")
_RUNNING: Final = frozenset({"pending", "pending_validation_request", "live"})
_LANGUAGES: Final = (
    ("", "Not chosen"),
    ("ar", "Arabic"),
    ("de", "German"),
    ("en", "English"),
    ("es", "Spanish"),
    ("fr", "French"),
    ("he", "Hebrew"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("nl", "Dutch"),
    ("pl", "Polish"),
    ("pt-BR", "Portuguese (Brazil)"),
    ("uk", "Ukrainian"),
)
_FIND_ID: Final = "Search for the nonprofit at the top of the page, and copy the ID from its page."


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
    actions=(
        RecordAction(
            "Cancel donation",
            "cancel",
            "donations:write",
            "You have not been asked to pay this donation yet. Once it is cancelled, you will not be asked, and the "
            "nonprofit does not receive it.",
            "The donation was cancelled.",
            frozenset({"ACTIVE"}),
            fresh=True,
        ),
    ),
)
_SESSIONS: Final = RecordList(
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
    form=RecordForm(
        "Create donation session",
        "You get the address of a hosted page for one donation. It is open for a day.",
        "The session was created. Send its address (URL) to the donor.",
        "donation_sessions:write",
        (
            FormField("Nonprofit's ID", "organisationId", _FIND_ID, required=True),
            FormField("Currency", "currency", "Three letters, for example USD. Empty: the nonprofit's own."),
            FormField("Language", "language", choices=_LANGUAGES),
            FormField("Where the donor goes afterwards", "successUrl", "An https address of yours, or empty."),
        ),
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
_VALIDATION_REQUESTS: Final = RecordList(
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
    form=RecordForm(
        "Ask for a validation",
        "The register is asked for the number, and the name is compared. What is not certain is reviewed by a person.",
        "The validation request was created.",
        "validation_requests:write",
        (
            FormField("Name", "name", "As the register has it.", required=True),
            FormField("Country", "countryCode", "Three letters, for example USA.", required=True),
            FormField("Registry", "registryName", "For example, IRS.", required=True),
            FormField("Number in the registry", "registryId", required=True),
            FormField("Website", "website", "For example, https://example.org", required=True),
            FormField("Email", "email"),
        ),
    ),
)
_INVITES: Final = RecordList(
    "Invites",
    "Invite",
    "Validations",
    "/validation-invites",
    "/v1/validation-invites",
    "validation_invites:read",
    "validationinvite",
    "An invite is a link to the hosted application form for one nonprofit.",
    (_STATUS, Column("Language", "language"), _CREATED, Column("Expires", "expiresAt", "moment"), _ID),
    form=RecordForm(
        "Invite a nonprofit",
        "You get the address of the hosted application form, for one nonprofit. Almoner sends it to nobody.",
        "The invite was created. Send its address (URL) to the nonprofit.",
        "validation_invites:write",
        (
            FormField("Language", "language", choices=_LANGUAGES),
            FormField("Configuration's ID", "hostedConfigId", "Which questions and checks; empty: the usual ones."),
            FormField("Where the applicant goes afterwards", "redirectUrl", "An https address of yours, or empty."),
        ),
    ),
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
    form=RecordForm(
        "Verify an agent",
        "The person is asked by email to confirm the address, and the nonprofit whether they represent it.",
        "The agent verification was created.",
        "agent_verifications:write",
        (
            FormField("First name", "firstName", required=True),
            FormField("Last name", "lastName", required=True),
            FormField("Email", "email", required=True),
            FormField("Nonprofit's ID", "organisationId", _FIND_ID),
            FormField("Title", "title", "For example, Treasurer."),
            FormField("Language", "language", choices=_LANGUAGES),
        ),
    ),
)
_MONITORING: Final = RecordList(
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
    form=RecordForm(
        "Monitor a nonprofit",
        "You are told by event when its register or a sanctions list says something new about it.",
        "The nonprofit is monitored.",
        "monitoring_subscriptions:write",
        (FormField("Nonprofit's ID", "organisationId", _FIND_ID, required=True),),
    ),
    actions=(
        RecordAction(
            "Stop monitoring",
            "cancel",
            "monitoring_subscriptions:write",
            "You are no longer told of changes. This cannot be undone; you can monitor the nonprofit anew.",
            "The monitoring has ended.",
            _RUNNING,
        ),
    ),
)
_ELIGIBILITY: Final = RecordList(
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
    form=RecordForm(
        "Follow eligibility",
        "You are told by event whether the nonprofit meets your criteria, now and whenever that changes.",
        "The eligibility subscription was created.",
        "eligibility_subscriptions:write",
        (FormField("Nonprofit's ID", "organisationId", _FIND_ID, required=True),),
    ),
    actions=(
        RecordAction(
            "Cancel subscription",
            "cancel",
            "eligibility_subscriptions:write",
            "You are no longer told whether the nonprofit is eligible. This cannot be undone.",
            "The subscription was cancelled.",
            _RUNNING,
        ),
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
    actions=(
        RecordAction(
            "Send again",
            "resend",
            "webhooks:write",
            "The event is sent again to all your webhook endpoints that receive its type.",
            "The event is on its way.",
        ),
    ),
)
API_REQUESTS: Final = RecordList(
    "Request log",
    "Request",
    "Developers",
    "/request-log",
    "",
    "api_requests:read",
    "req",
    "Every request that your API keys make is listed here for 14 days.",
    (
        Column("Request", "request"),
        Column("Status", "statusCode"),
        Column("Error", "errorCode"),
        Column("Milliseconds", "durationMs"),
        Column("API key", "apiKey"),
        _CREATED,
        _ID,
    ),
    (
        Filter("Request-Id", "requestId"),
        Filter("Outcome", "outcome", "choice", ("succeeded", "failed")),
        Filter("Status", "statusCode"),
        Filter("Error code", "errorCode"),
        Filter("Method", "method", "choice", ("GET", "POST", "PUT", "PATCH", "DELETE")),
        Filter("Route", "route"),
        Filter("API key's ID", "apiKeyId"),
        _FROM,
        _UNTIL,
    ),
    note=(
        "A request appears here within seconds, without its body, email addresses and what was typed freely. If a "
        "server is killed, the requests of its last second may be missing."
    ),
    counted=False,
)

LISTS: Final = (
    DONATIONS,
    _SESSIONS,
    REQUESTS_TO_PAY,
    DISBURSEMENTS,
    ORGANISATIONS,
    SUBMISSIONS,
    _VALIDATION_REQUESTS,
    _INVITES,
    AGENTS,
    _MONITORING,
    _ELIGIBILITY,
    EVENTS,
    API_REQUESTS,
)
"""In the order of the navigation."""
PATHS_BY_ID_TYPE: Final = {one.id_type: one.path for one in LISTS}
"""Where a record with an identifier of the type is shown."""
