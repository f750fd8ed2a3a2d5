"""The lists of the dashboard: their columns, filters, forms and actions."""

from typing import Final

from almoner.dashboard.domain import (
    FormField,
    RecordAction,
    RecordForm,
    RecordList,
)
from almoner.platform.pages.record_tables import Column, Filter
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.applications.configurations.domain import CHECKS, COMPLIANCE_FLAGS, ORGANISATION_TYPES

_ID: Final = Column("id", "id")
_CREATED: Final = Column("createdAt", "moment", sort="id")
_STATUS: Final = Column("status", "status", sort="status")
_NONPROFIT: Final = Column("organisationId", "organisation")
_FROM: Final = Filter("startDate", "day")
_UNTIL: Final = Filter("endDate", "day")
_SEARCH: Final = Filter("query")
_OF_NONPROFIT: Final = Filter("organisationId", label_member="nonprofitId")
_RUNNING: Final = frozenset({"pending", "pending_validation_request", "live"})
_LANGUAGE: Final = FormField("language", kind="language")
_NONPROFIT_ID: Final = FormField("organisationId", "find_id", required=True, label_member="nonprofitId")


def _status(*choices: str) -> Filter:
    return Filter("status", "choice", choices)


DONATIONS: Final = RecordList(
    "Donations",
    "/donations",
    "/v1/donations",
    "donations:read",
    "donation",
    (
        Column("amount", "amount", sort="amount"),
        _STATUS,
        Column("email", "donor", "donor"),
        _NONPROFIT,
        _CREATED,
        _ID,
    ),
    (
        _status("ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED"),
        Filter("email", "email", label_member="donorEmail"),
        _FROM,
        _UNTIL,
        _OF_NONPROFIT,
        Filter("sessionId"),
        Filter("donationRequestId"),
    ),
    actions=(RecordAction("cancel", "donations:write", frozenset({"ACTIVE"}), requires_reauthentication=True),),
)
_SESSIONS: Final = RecordList(
    "Donations",
    "/donation-sessions",
    "/v1/donation-sessions",
    "donation_sessions:read",
    "donationsession",
    (_STATUS, _NONPROFIT, _CREATED, Column("expiresAt", "moment"), _ID),
    form=RecordForm(
        "donation_sessions:write",
        (
            _NONPROFIT_ID,
            FormField("currency", "currency"),
            _LANGUAGE,
            FormField("successUrl", "next_url"),
        ),
    ),
)
_CHARGED: Final = frozenset({"active", "past_due"})
_LIVE: Final = _CHARGED | {"paused"}
_PLANS_WRITE: Final = "donation_subscriptions:write"
REGULAR_DONATIONS: Final = RecordList(
    "Donations",
    "/regular-donations",
    "/v1/donation-subscriptions",
    "donation_subscriptions:read",
    "donationsubscription",
    (
        Column("amount", "amount"),
        Column("frequency", "value"),
        _STATUS,
        Column("email", "donor", "donor"),
        _NONPROFIT,
        Column("nextDonationAt", "moment", sort="nextDonationAt"),
        _CREATED,
        _ID,
    ),
    (
        _status("pending", "active", "past_due", "paused", "cancelled"),
        Filter("email", "email", label_member="donorEmail"),
        _OF_NONPROFIT,
        Filter("userId"),
    ),
    actions=(
        RecordAction(
            "change",
            _PLANS_WRITE,
            _LIVE,
            fields=(
                FormField("amount", "amount", "amount", required=True),
                FormField("frequency", kind="choice", choices=("weekly", "monthly", "quarterly", "yearly")),
            ),
            method="PATCH",
        ),
        RecordAction("pause", _PLANS_WRITE, _CHARGED, fields=(FormField("until", "until", "day"),)),
        RecordAction("resume", _PLANS_WRITE, frozenset({"paused"})),
        RecordAction("skip", _PLANS_WRITE, _CHARGED),
        RecordAction("cancel", _PLANS_WRITE, _LIVE, requires_reauthentication=True),
    ),
)
_LINKS_WRITE: Final = "giving_links:write"
_LINK_FIELDS: Final = (
    FormField("title", "link_title", required=True, label_member="linkTitle"),
    FormField("text", kind="long_text", label_member="linkText"),
    FormField("organisationIds", kind="nonprofits"),
    FormField("categoryId", "category", "category"),
    FormField("currencies", "currencies", "codes"),
    FormField("suggestedAmounts", "amounts", "amounts"),
    FormField(
        "frequencies",
        kind="choices",
        choices=("one_time", "weekly", "monthly", "quarterly", "yearly"),
        initial_value=("one_time",),
    ),
    FormField("minimum", "amount", "amount", advanced=True),
    FormField("maximum", "amount", "amount", advanced=True),
    FormField("designations", "designations", "lines", advanced=True),
    FormField("goal", "goal", "amount", advanced=True),
    FormField("showsProgress", kind="tick", advanced=True),
    FormField("offersDedication", kind="tick", advanced=True),
    FormField("expiresAt", kind="last_day", label_member="lastDay", advanced=True),
    FormField("successUrl", "next_url", advanced=True),
    FormField("allowedOrigins", "origins", "lines", advanced=True),
)
GIVING_LINKS: Final = RecordList(
    "Donations",
    "/giving-links",
    "/v1/giving-links",
    "giving_links:read",
    "givinglink",
    (
        Column("title", label_member="linkTitle"),
        Column("active", "yes_no"),
        Column("expiresAt", "moment"),
        _CREATED,
        _ID,
    ),
    (Filter("active", "choice", ("true", "false")),),
    form=RecordForm(_LINKS_WRITE, (*_LINK_FIELDS, FormField("slug", "slug", advanced=True))),
    actions=(
        RecordAction("edit", _LINKS_WRITE, fields=_LINK_FIELDS, method="PATCH"),
        RecordAction(
            "deactivate",
            _LINKS_WRITE,
            frozenset({True}),
            method="PATCH",
            fixed_values={"active": False},
            status_field="active",
        ),
        RecordAction(
            "activate",
            _LINKS_WRITE,
            frozenset({False}),
            method="PATCH",
            fixed_values={"active": True},
            status_field="active",
        ),
    ),
    template="giving_link.html",
    image="image",
)
REQUESTS_TO_PAY: Final = RecordList(
    "Donations",
    "/donation-requests",
    "/v1/donation-requests",
    "donation_requests:read",
    "donationrequest",
    (
        Column("amount", "amount"),
        _STATUS,
        Column("reference"),
        Column("dueAt", "moment", sort="dueAt"),
        _CREATED,
        _ID,
    ),
)
DISBURSEMENTS: Final = RecordList(
    "Donations",
    "/disbursements",
    "/v1/disbursements",
    "disbursements:read",
    "disbursement",
    (Column("amount", "amount"), _STATUS, _NONPROFIT, _CREATED, Column("paidAt", "moment"), _ID),
    (_status("PENDING", "SENT", "PAID", "RETURNED"), _OF_NONPROFIT),
)
ORGANISATIONS: Final = RecordList(
    "Nonprofits",
    "/nonprofits",
    "/v1/organisations",
    "organisations:read",
    "organisation",
    (Column("displayName"), Column("countryCode", "country"), Column("registryName"), Column("registryId"), _ID),
    (
        Filter("query", label_member="nameOrNumber"),
        Filter("countryCode", label_member="countryLetters"),
        Filter("acceptsDonations", "choice", ("true", "false")),
    ),
)
SUBMISSIONS: Final = RecordList(
    "Validations",
    "/validation-submissions",
    "/v1/validation-submissions",
    "validation_submissions:read",
    "validationsubmission",
    (Column("organisationName"), _STATUS, Column("agentVerification.email", label_member="applicant"), _CREATED, _ID),
    (
        _status("pending", "processed", "succeeded", "failed"),
        _SEARCH,
        Filter("email", "email", label_member="applicantEmail"),
    ),
    actions=(
        RecordAction(
            "appeals",
            "validation_submissions:write",
            frozenset({"failed"}),
            fields=(FormField("text", kind="long_text", required=True, label_member="appealText"),),
        ),
    ),
)
_VALIDATION_REQUESTS: Final = RecordList(
    "Validations",
    "/validation-requests",
    "/v1/validation-requests",
    "validation_requests:read",
    "validationrequest",
    (Column("name", sort="name"), Column("registryName"), Column("registryId"), _CREATED, _ID),
    (_status("pending", "accepted", "rejected"), _SEARCH, _FROM, _UNTIL),
    form=RecordForm(
        "validation_requests:write",
        (
            FormField("name", "name", required=True),
            FormField("countryCode", "country", required=True),
            FormField("registryName", "registry", required=True),
            FormField("registryId", required=True),
            FormField("website", "website", required=True),
            FormField("email"),
        ),
    ),
)
_CONFIGURATIONS_WRITE: Final = "validation_configurations:write"
_FLAGS: Final = (*COMPLIANCE_FLAGS, *(one for one in CATEGORIES if one not in COMPLIANCE_FLAGS))
_CONFIGURATION_FIELDS: Final = (
    FormField("name", "form_name", label_member="formName"),
    FormField("branding.displayName", label_member="shownName"),
    FormField("branding.primaryColor", "form_colour", label_member="primaryColor"),
    FormField("checks", kind="choices", choices=CHECKS, initial_value=CHECKS),
    FormField("allowedOrganisationTypes", kind="choices", choices=ORGANISATION_TYPES, initial_value=ORGANISATION_TYPES),
    FormField("complianceFlags", kind="choices", choices=_FLAGS, initial_value=COMPLIANCE_FLAGS),
    FormField("emailVerification", kind="tick", initial_value="yes"),
    FormField("isDefault", kind="tick"),
)
CONFIGURATIONS: Final = RecordList(
    "Validations",
    "/application-forms",
    "/v1/validation-submission-configurations",
    "validation_configurations:read",
    "hostedconfiguration",
    (
        Column("branding.displayName", label_member="shownName"),
        Column("name", label_member="formName"),
        Column("isDefault", "yes_no"),
        _CREATED,
        _ID,
    ),
    form=RecordForm(_CONFIGURATIONS_WRITE, _CONFIGURATION_FIELDS),
    actions=(RecordAction("edit", _CONFIGURATIONS_WRITE, fields=_CONFIGURATION_FIELDS, method="PATCH"),),
    is_paged=False,
    image="logo",
    preview=True,
    template="application_form.html",
)
INVITES: Final = RecordList(
    "Validations",
    "/validation-invites",
    "/v1/validation-invites",
    "validation_invites:read",
    "validationinvite",
    (_STATUS, Column("language", "language"), _CREATED, Column("expiresAt", "moment"), _ID),
    form=RecordForm(
        "validation_invites:write",
        (
            _LANGUAGE,
            FormField("hostedConfigId", "configuration", "configuration", label_member="applicationForm"),
            FormField("redirectUrl", "next_url"),
        ),
    ),
)
AGENTS: Final = RecordList(
    "Validations",
    "/agent-verifications",
    "/v1/agent-verifications",
    "agent_verifications:read",
    "agentverification",
    (Column("email"), _STATUS, _NONPROFIT, _CREATED, _ID),
    (
        _status("pending", "pending_user_verification", "pending_review", "approved", "rejected"),
        Filter("email", "email", label_member="agentEmail"),
        _FROM,
        _UNTIL,
    ),
    form=RecordForm(
        "agent_verifications:write",
        (
            FormField("firstName", required=True),
            FormField("lastName", required=True),
            FormField("email", required=True),
            FormField("organisationId", "find_id", label_member="nonprofitId"),
            FormField("title", "title"),
            _LANGUAGE,
        ),
    ),
)
_MONITORING: Final = RecordList(
    "Validations",
    "/monitoring-subscriptions",
    "/v1/monitoring-subscriptions",
    "monitoring_subscriptions:read",
    "monitoringsubscription",
    (Column("organisationId", "organisation", sort="name"), _STATUS, _CREATED, _ID),
    (_status("pending", "pending_validation_request", "validation_request_failed", "live", "cancelled"), _SEARCH),
    form=RecordForm("monitoring_subscriptions:write", (_NONPROFIT_ID,)),
    actions=(RecordAction("cancel", "monitoring_subscriptions:write", _RUNNING),),
)
_ELIGIBILITY: Final = RecordList(
    "Validations",
    "/eligibility-subscriptions",
    "/v1/eligibility-subscriptions",
    "eligibility_subscriptions:read",
    "eligibilitysubscription",
    (Column("organisationName", sort="name"), _STATUS, _CREATED, _ID),
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
    form=RecordForm("eligibility_subscriptions:write", (_NONPROFIT_ID,)),
    actions=(RecordAction("cancel", "eligibility_subscriptions:write", _RUNNING),),
)
EVENTS: Final = RecordList(
    "Developers",
    "/events",
    "/v1/events",
    "events:read",
    "event",
    (Column("eventType"), Column("sequence"), _CREATED, _ID),
    (Filter("type"), _FROM, _UNTIL),
    actions=(RecordAction("resend", "webhooks:write"),),
)
API_REQUESTS: Final = RecordList(
    "Developers",
    "/request-log",
    "",
    "api_requests:read",
    "req",
    (
        Column("request"),
        Column("statusCode"),
        Column("errorCode"),
        Column("durationMs"),
        Column("apiKey"),
        _CREATED,
        _ID,
    ),
    (
        Filter("requestId"),
        Filter("outcome", "choice", ("succeeded", "failed")),
        Filter("statusCode"),
        Filter("errorCode"),
        Filter("method", "choice", ("GET", "POST", "PUT", "PATCH", "DELETE")),
        Filter("route"),
        Filter("apiKeyId"),
        _FROM,
        _UNTIL,
    ),
    has_note=True,
    has_total_count=False,
)

LISTS: Final = (
    DONATIONS,
    REGULAR_DONATIONS,
    GIVING_LINKS,
    _SESSIONS,
    REQUESTS_TO_PAY,
    DISBURSEMENTS,
    ORGANISATIONS,
    SUBMISSIONS,
    _VALIDATION_REQUESTS,
    INVITES,
    CONFIGURATIONS,
    AGENTS,
    _MONITORING,
    _ELIGIBILITY,
    EVENTS,
    API_REQUESTS,
)
"""All lists in the order of the navigation."""
PATHS_BY_ID_TYPE: Final = {one.id_type: one.path for one in LISTS}
"""The paths of record pages, by ID type."""
SEARCHED_LISTS: Final = tuple(one for one in LISTS if one not in (ORGANISATIONS, CONFIGURATIONS, EVENTS, API_REQUESTS))
"""Lists whose records are in ``search_record``; nonprofits have their own search, events and requests have none."""
