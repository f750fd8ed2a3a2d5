# Made from openapi.json by `make clients`; do not edit.

"""Records that are answered, and what stands inside of bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, ClassVar, Dict, List, Literal, Mapping

from almoner_client._records import OMITTED, Body, Omitted, Record


@dataclass(frozen=True, kw_only=True)
class ActivitySubTag(Record):
    """An activity of the organisation. `rule` is the rule that assigned it: `ntee:B25`, `ccew:102`, `name:church`."""

    wire_names: ClassVar[Mapping[str, str]] = {"created_at": "createdAt", "updated_at": "updatedAt"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    tag: TagName
    """The tag of the sub-tag."""
    description: str | None
    """A description in one or two sentences."""
    rule: str
    """The rule that assigned the activity, such as `ntee:B25`."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ActivityTag(Record):
    """A field of activity with its sub-tags."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "sub_tags": "subTags",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
    }
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    description: str | None
    """A description in one or two sentences."""
    sub_tags: List[SubTag]
    """The sub-tags."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class AgentFailure(Record):
    """Why the agent is not verified."""

    wire_names: ClassVar[Mapping[str, str]] = {"rejection_reason_code": "rejectionReasonCode"}
    rejection_reason_code: str
    """Why it was rejected, for programs; null if it was not. Currently one of `blank_corrupted_documentation`,
    `fake_documentation`, `fake_email_used`, `invalid_documentation`, `mismatched_information`,
    `no_online_presence`, `nonprofit_association_expired`, `other`, `reapply`, `suspicious_application`,
    `user_failed_percent_review`, `user_verification_expired`, `validation_request_failed`; more may be added.
    """


@dataclass(frozen=True, kw_only=True)
class AgentOrganisation(Record):
    """The organisation, with its own email address if its register lists one."""

    id: str
    """Its identifier."""
    name: str
    """Its name."""
    email: str | None
    """Email address."""


@dataclass(frozen=True, kw_only=True)
class AgentRequest(Record):
    """The validation request, if the nonprofit was not an organisation yet."""

    id: str
    """Its identifier."""
    name: str
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class AgentVerification(Record):
    """An agent verification as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "first_name": "firstName",
        "last_name": "lastName",
        "organisation_id": "organisationId",
        "validation_request_id": "validationRequestId",
        "validation_request": "validationRequest",
        "rejection_reason": "rejectionReason",
        "rejection_reason_code": "rejectionReasonCode",
        "external_action_required": "externalActionRequired",
        "created_at": "createdAt",
    }
    id: str
    """Its identifier."""
    first_name: str | None
    """First name."""
    last_name: str | None
    """Last name."""
    email: str | None
    """Email address."""
    title: str | None
    """Job title."""
    organisation_id: str | None
    """The organisation."""
    organisation: AgentOrganisation | None
    """The organisation; with a validation request, once that is accepted."""
    validation_request_id: str | None
    """The validation request."""
    validation_request: AgentRequest | None
    """The validation request."""
    language: str
    """Language of pages and emails (RFC 5646)."""
    status: str
    """The status. Currently one of `approved`, `pending`, `pending_review`, `pending_user_verification`,
    `rejected`; more may be added.
    """
    rejection_reason: str | None
    """Why it was rejected, for people; null if it was not."""
    rejection_reason_code: str | None
    """Why it was rejected, for programs; null if it was not. Currently one of `blank_corrupted_documentation`,
    `fake_documentation`, `fake_email_used`, `invalid_documentation`, `mismatched_information`,
    `no_online_presence`, `nonprofit_association_expired`, `other`, `reapply`, `suspicious_application`,
    `user_failed_percent_review`, `user_verification_expired`, `validation_request_failed`; more may be added.
    """
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    external_action_required: bool
    """Whether the applicant or the nonprofit must act next."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class Appeal(Record):
    """An appeal as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "validation_submission_id": "validationSubmissionId",
        "due_at": "dueAt",
        "created_at": "createdAt",
        "decided_at": "decidedAt",
    }
    id: str
    """Its identifier."""
    validation_submission_id: str
    """The validation submission."""
    status: str
    """The status. Currently one of `open`, `reversed`, `upheld`; more may be added."""
    text: str | None
    """The applicant's reasons; null from 30 days after the decision on, when they are deleted."""
    due_at: datetime
    """The date by which it is decided: ten business days after it was made."""
    created_at: datetime
    """When it was created, in UTC."""
    decided_at: datetime | None
    """When it was decided, in UTC; null until then."""


@dataclass(frozen=True, kw_only=True)
class Benefits(Record):
    """What the donor receives in return for the donation."""

    wire_names: ClassVar[Mapping[str, str]] = {"fair_value": "fairValue"}
    description: str
    """A description in one or two sentences."""
    fair_value: int
    """The fair market value of the benefits, in the minor unit of the session's currency."""


@dataclass(frozen=True, kw_only=True)
class BenefitsParams(Body):
    """What the donor receives in return for the donation."""

    wire_names: ClassVar[Mapping[str, str]] = {"fair_value": "fairValue"}
    description: str
    """What the donor receives."""
    fair_value: int
    """Its fair market value, estimated in good faith, in the minor unit of `currency`."""


@dataclass(frozen=True, kw_only=True)
class Branding(Record):
    """How the hosted form looks."""

    wire_names: ClassVar[Mapping[str, str]] = {"display_name": "displayName", "primary_color": "primaryColor"}
    display_name: str
    """The name to show, if it differs from the registered one."""
    logo: str | None
    """Address of an image."""
    primary_color: str | None
    """Colour of buttons and links, such as `#0d5c4a`."""


@dataclass(frozen=True, kw_only=True)
class BrandingParams(Body):
    """How the hosted form looks."""

    wire_names: ClassVar[Mapping[str, str]] = {"display_name": "displayName", "primary_color": "primaryColor"}
    display_name: str | None | Omitted = OMITTED
    """The name to show, if it differs from the registered one."""
    primary_color: str | None | Omitted = OMITTED
    """Pages darken or lighten the colour until text is legible."""


@dataclass(frozen=True, kw_only=True)
class Category(Record):
    """A category as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {"image_url": "imageUrl", "created_at": "createdAt"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    attributes: Dict[str, str | bool | int | float] | None
    """Your own data: text, numbers and booleans by key."""
    image_url: str | None
    """URL of the image; null if there is none."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ComplianceFailure(Record):
    """The findings of the watchlists."""

    results: MonitoringResults
    """What was found."""


@dataclass(frozen=True, kw_only=True)
class Country(Record):
    """A country as partners see it; `endonyms` are its names in its own official languages."""

    wire_names: ClassVar[Mapping[str, str]] = {"has_registry": "hasRegistry"}
    code: str
    """Three letters (ISO 3166-1 alpha-3)."""
    name: str
    """Its name."""
    has_registry: bool
    """Whether a register of this country is loaded."""
    endonyms: Dict[str, str]
    """The country's name in its own languages, by language tag."""


@dataclass(frozen=True, kw_only=True)
class CountrySpecificProperties(Record):
    """Details that only the registers of one country have."""

    wire_names: ClassVar[Mapping[str, str]] = {"usa_group_exempt": "usaGroupExempt"}
    usa_group_exempt: bool | None
    """Whether the organisation is covered by an IRS group exemption; null outside the United States."""


@dataclass(frozen=True, kw_only=True)
class Disbursement(Record):
    """A disbursement to a nonprofit. While `PENDING`, `waitingReason` says why the next run does not send it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "currency_code": "currencyCode",
        "waiting_reason": "waitingReason",
        "end_to_end_id": "endToEndId",
        "created_at": "createdAt",
        "paid_at": "paidAt",
    }
    id: str
    """Its identifier."""
    organisation_id: str
    """The organisation."""
    amount: int
    """In the currency's minor unit, such as cents."""
    currency_code: str
    """ISO 4217 code of the currency, such as `USD`."""
    status: str
    """The status. Currently one of `PAID`, `PENDING`, `RETURNED`, `SENT`; more may be added."""
    waiting_reason: str | None
    """Why the disbursement waits; null if the next run sends it."""
    end_to_end_id: str
    """The reference that identifies the payment at the banks."""
    created_at: datetime
    """When it was created, in UTC."""
    paid_at: datetime | None
    """When the bank confirmed the payment, in UTC; null until then."""


@dataclass(frozen=True, kw_only=True)
class Donation(Record):
    """A donation as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "user_id": "userId",
        "organisation_id": "organisationId",
        "currency_code": "currencyCode",
        "first_name": "firstName",
        "last_name": "lastName",
        "consented_to_be_contacted_by_org": "consentedToBeContactedByOrg",
        "gift_aid_id": "giftAidId",
        "donation_request_id": "donationRequestId",
        "giving_link_id": "givingLinkId",
        "created_at": "createdAt",
        "cancelled_at": "cancelledAt",
        "settled_at": "settledAt",
        "settled_amount": "settledAmount",
        "disbursed_at": "disbursedAt",
        "reassigned_at": "reassignedAt",
        "reassigned_from_organisation_id": "reassignedFromOrganisationId",
        "refunded_at": "refundedAt",
        "refunded_amount": "refundedAmount",
        "disputed_at": "disputedAt",
        "dispute_status": "disputeStatus",
        "receipt_delivery": "receiptDelivery",
    }
    id: str
    """Its identifier."""
    user_id: str | None
    """Your user who donates."""
    organisation_id: str
    """The organisation."""
    type: str
    """The type. Currently one of `direct`, `hosted`; more may be added."""
    hosted: HostedDonation | None
    """The donation session of the donation; null for a direct donation."""
    amount: int
    """In the currency's minor unit, such as cents."""
    currency_code: str
    """ISO 4217 code of the currency, such as `USD`."""
    status: str
    """The status. Currently one of `ACTIVE`, `CANCELLED`, `DISBURSED`, `RECEIVED_PAYMENT`, `REQUESTED_PAYMENT`;
    more may be added.
    """
    first_name: str | None
    """Empty if the donor has only one name."""
    last_name: str | None
    """Last name."""
    email: str | None
    """Email address."""
    consented_to_be_contacted_by_org: str
    """Whether the nonprofit may contact the donor. Currently one of `no`, `yes`; more may be added."""
    anonymous: str
    """Whether the donor's name is withheld from the nonprofit. Currently one of `no`, `yes`; more may be added."""
    gift_aid_id: str | None
    """The Gift Aid declaration that covers the donation."""
    donation_request_id: str | None
    """The donation request for this donation; only for direct donations."""
    subscription: DonationSeries
    """Whether the donation belongs to a subscription."""
    giving_link_id: str | None
    """The giving link that was used."""
    designation: str | None
    """The purpose that the donor chose from the session's `designations`."""
    dedication: str | None
    """The person in whose honour or memory the donation was made."""
    metadata: Dict[str, str]
    """Your own data: text values by key."""
    created_at: datetime
    """When it was created, in UTC."""
    cancelled_at: datetime | None
    """When it was cancelled, in UTC; null if it was not."""
    settled_at: datetime | None
    """When the donation was settled, in UTC; null until then."""
    settled_amount: SettledAmount | None
    """The amount received after fees; null until the donation is settled."""
    disbursed_at: datetime | None
    """When the donation was paid to the nonprofit, in UTC; null until then."""
    reassigned_at: datetime | None
    """When the donation was reassigned to another organisation, in UTC; null if it was not."""
    reassigned_from_organisation_id: str | None
    """The original organisation of the donation; null if it was not reassigned."""
    refunded_at: datetime | None
    """When it was refunded, in UTC; null if it was not."""
    refunded_amount: int | None
    """The refunded amount, in the currency's minor unit; null if nothing was refunded."""
    disputed_at: datetime | None
    """When the donor's bank last disputed the payment, in UTC; null if it never did."""
    dispute_status: str | None
    """The status of the latest dispute; `lost`: the donor got the money back. Currently one of `lost`, `open`,
    `won`; more may be added.
    """
    receipt_delivery: str
    """The email with the receipt of a hosted donation. `sent`: a mail server accepted it. `undeliverable`: it
    could not be delivered, and is not retried until the donor corrects the address. Currently one of `none`,
    `pending`, `sent`, `undeliverable`; more may be added.
    """


@dataclass(frozen=True, kw_only=True)
class DonationRequest(Record):
    """What you are asked to transfer for the direct donations of a period, in one currency."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "paid_amount": "paidAmount",
        "currency_code": "currencyCode",
        "donation_ids_count": "donationIdsCount",
        "due_at": "dueAt",
        "created_at": "createdAt",
    }
    id: str
    """Its identifier."""
    status: str
    """The status. Currently one of `OPEN`, `PAID`, `PARTLY_PAID`; more may be added."""
    amount: int
    """In the currency's minor unit, such as cents."""
    paid_amount: int
    """The amount received so far, in the currency's minor unit."""
    currency_code: str
    """ISO 4217 code of the currency, such as `USD`."""
    reference: str
    """Reference for your transfer."""
    donation_ids_count: int
    """The number of donations; list them with `GET /v1/donations?donationRequestId=`."""
    due_at: datetime
    """When the transfer is due, in UTC."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class DonationSeries(Record):
    """`initial`: a one-off donation, or the first of a donation subscription. `id`: the donation subscription's."""

    initial: bool
    """True for a one-off donation and for the first donation of a subscription."""
    id: str | None
    """The donation subscription's identifier; null for a one-off donation."""


@dataclass(frozen=True, kw_only=True)
class DonationSession(Record):
    """A session as partners see it. Send the donor to `url`."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "user_id": "userId",
        "success_url": "successUrl",
        "suggested_amounts": "suggestedAmounts",
        "offers_dedication": "offersDedication",
        "giving_link_id": "givingLinkId",
        "donation_id": "donationId",
        "created_at": "createdAt",
        "expires_at": "expiresAt",
    }
    id: str
    """Its identifier."""
    status: str
    """The status. Currently one of `completed`, `expired`, `open`; more may be added."""
    organisation_id: str
    """The organisation."""
    user_id: str | None
    """Your user who donates."""
    language: str | None
    """Language of pages and emails (RFC 5646)."""
    currency: str | None
    """ISO 4217 code of the currency, such as `USD`."""
    success_url: str | None
    """Where the donor is redirected after donating; null for our own page."""
    url: str
    """The hosted page."""
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    frequencies: List[str]
    """The frequencies from which the donor chooses."""
    benefits: Benefits | None
    """Goods or services that the donor receives in return; null if there are none."""
    suggested_amounts: List[int] | None
    """Amounts to choose from, in minor units; null for the currency's default amounts."""
    minimum: int | None
    """The minimum donation, in minor units; null for the currency's default."""
    maximum: int | None
    """The maximum donation, in minor units; null for the currency's default."""
    designations: List[str] | None
    """Purposes from which the donor chooses one; null if there is no choice."""
    offers_dedication: bool
    """Whether the donor can dedicate the donation to somebody, and have us email a person about it once it is
    paid.
    """
    giving_link_id: str | None
    """The giving link that created the session."""
    donation_id: str | None
    """The donation that completed it."""
    created_at: datetime
    """When it was created, in UTC."""
    expires_at: datetime
    """When it expires, in UTC."""


@dataclass(frozen=True, kw_only=True)
class DonationSubscription(Record):
    """A donor's plan to give regularly."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "currency_code": "currencyCode",
        "organisation_id": "organisationId",
        "user_id": "userId",
        "first_name": "firstName",
        "last_name": "lastName",
        "started_at": "startedAt",
        "next_donation_at": "nextDonationAt",
        "paused_until": "pausedUntil",
        "pause_reason": "pauseReason",
        "cancelled_at": "cancelledAt",
        "cancellation_reason": "cancellationReason",
        "pending_change": "pendingChange",
        "payment_method": "paymentMethod",
        "donations_count": "donationsCount",
        "total_amount": "totalAmount",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
    }
    id: str
    """Its identifier."""
    status: str
    """`pending`: the first donation is not paid yet. `past_due`: the last donation could not be charged; it is
    retried, or the donor is asked for another card. Currently one of `active`, `cancelled`, `past_due`,
    `paused`, `pending`; more may be added.
    """
    amount: int
    """The amount of each donation, in the currency's minor unit."""
    currency_code: str
    """ISO 4217 code of the currency, such as `USD`."""
    frequency: str
    """How often the donor gives. Currently one of `monthly`, `quarterly`, `weekly`, `yearly`; more may be added."""
    organisation_id: str
    """The organisation."""
    user_id: str | None
    """Your user who donates."""
    first_name: str | None
    """Empty if the donor has only one name."""
    last_name: str | None
    """Last name."""
    email: str | None
    """Email address."""
    started_at: datetime | None
    """When the first donation was paid, in UTC; null until then."""
    next_donation_at: datetime | None
    """When the next donation is charged, in UTC; null if none is scheduled."""
    paused_until: datetime | None
    """When the pause ends, in UTC; null if it has no end, or if there is no pause."""
    pause_reason: str | None
    """Who paused it; `organisation_cannot_receive`: the nonprofit cannot receive donations now. Currently one of
    `donor`, `organisation_cannot_receive`, `partner`; more may be added.
    """
    cancelled_at: datetime | None
    """When it was cancelled, in UTC; null if it was not."""
    cancellation_reason: str | None
    """Why it ended. `not_started`: the first donation was not paid. `payment_failed`: no donation could be charged
    for 28 days. `revoked`: the donor revoked the authorisation at the bank. Currently one of `donor`,
    `donor_erased`, `not_started`, `partner`, `payment_failed`, `payment_method_not_saved`, `revoked`; more may
    be added.
    """
    pending_change: PendingChange | None
    """The change that waits for the donor's agreement."""
    payment_method: PaymentMethod | None
    """The payment method for later donations; null before the first one."""
    donations_count: int
    """The number of paid donations, including the first."""
    total_amount: int
    """The total of the paid donations, in the currency's minor unit; refunds are not deducted."""
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class DossierDecision(Record):
    """Who decided what, when, and on what evidence."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "reason_code": "reasonCode",
        "decided_by": "decidedBy",
        "decided_at": "decidedAt",
    }
    verdict: str
    """The outcome."""
    reason_code: str | None
    """Why it was rejected, for programs; null if it was not."""
    decided_by: str
    """`rules`, `sandbox`, or the operator's identifier."""
    note: str | None
    """The reasons of the rules. Operators' notes are not included."""
    decided_at: datetime
    """When it was decided, in UTC; null until then."""


@dataclass(frozen=True, kw_only=True)
class DossierDocument(Record):
    """An attached document, identified by its hash."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "media_type": "mediaType",
        "scan_status": "scanStatus",
        "created_at": "createdAt",
        "deleted_at": "deletedAt",
    }
    id: str
    """Its identifier."""
    media_type: str
    """Media type, such as `application/pdf`."""
    size: int
    """Size in bytes."""
    sha256: str
    """Hash of the file, hexadecimal."""
    scan_status: str
    """The result of the virus scan."""
    flags: List[str]
    """Warnings about the file."""
    created_at: datetime
    """When it was created, in UTC."""
    deleted_at: datetime | None
    """When it was deleted, in UTC; null unless it was."""


@dataclass(frozen=True, kw_only=True)
class DossierEvaluation(Record):
    """One evaluation with its facts and steps."""

    wire_names: ClassVar[Mapping[str, str]] = {"evaluated_at": "evaluatedAt"}
    evaluated_at: datetime
    """When it was evaluated, in UTC."""
    occasion: str | None
    """Why the subscription was evaluated."""
    outcome: str | None
    """The outcome."""
    reasons: List[DossierReason]
    """Why a reviewer has to decide."""
    facts: Dict[str, Any]
    """Facts such as the match score and the threshold at that time."""
    steps: List[DossierStep]
    """The steps, in their order."""


@dataclass(frozen=True, kw_only=True)
class DossierReason(Record):
    """Why a reviewer was asked."""

    code: str
    """Code for programs."""
    message: str
    """A message for people; its wording may change."""


@dataclass(frozen=True, kw_only=True)
class DossierReview(Record):
    """A review with its questions and outcome."""

    wire_names: ClassVar[Mapping[str, str]] = {"asked_at": "askedAt", "ended_at": "endedAt"}
    asked_at: datetime
    """When a reviewer was asked, in UTC."""
    reasons: List[DossierReason]
    """Why a reviewer has to decide."""
    status: str
    """The status."""
    ended_at: datetime | None
    """When it ended, in UTC; null if it has not ended."""


@dataclass(frozen=True, kw_only=True)
class DossierStep(Record):
    """One step: its finding, the source with its version and date, and the facts."""

    wire_names: ClassVar[Mapping[str, str]] = {"data_as_of": "dataAsOf"}
    name: str
    """Its name."""
    verdict: str
    """The outcome."""
    code: str | None
    """Code for programs."""
    source: str | None
    """The published list that contains the data."""
    version: str | None
    """Version of the watchlist."""
    data_as_of: datetime | None
    """The day of the register's data."""
    facts: Dict[str, Any]
    """The facts that were compared, by name."""
    unverified: bool
    """Whether the reader of its source has never been tested on a real file."""


@dataclass(frozen=True, kw_only=True)
class DossierValidationRequest(Record):
    """The request in its dossier. Documents are listed separately with their hashes, because links expire."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "organisation_types": "organisationTypes",
        "registry_name": "registryName",
        "registry_id": "registryId",
        "address_line1": "addressLine1",
        "address_line2": "addressLine2",
        "country_code": "countryCode",
        "created_at": "createdAt",
        "deleted_at": "deletedAt",
        "accepted_at": "acceptedAt",
        "rejected_at": "rejectedAt",
        "rejection_reason": "rejectionReason",
        "rejection_reason_code": "rejectionReasonCode",
        "usa_group_exempt": "usaGroupExempt",
    }
    id: str
    """Its identifier."""
    organisation_id: str | None
    """The organisation, once the request is accepted."""
    organisation_types: List[str]
    """The types of the organisation."""
    name: str
    """Its name."""
    registry_name: str
    """Name of the registry."""
    registry_id: str
    """The registration number in the registry."""
    email: str | None
    """Email address."""
    address_line1: str | None
    """Street and number."""
    address_line2: str | None
    """The rest of the street address."""
    city: str | None
    """City or town."""
    state: str | None
    """State, province or county."""
    postal: str | None
    """Postcode."""
    website: str
    """Web address."""
    country_code: str
    """Three letters (ISO 3166-1 alpha-3)."""
    created_at: datetime
    """When it was created, in UTC."""
    deleted_at: datetime | None
    """When it was deleted, in UTC; null unless it was."""
    accepted_at: datetime | None
    """When it was accepted, in UTC; null if it was not."""
    rejected_at: datetime | None
    """When it was rejected, in UTC; null if it was not."""
    rejection_reason: str | None
    """Why it was rejected, for people; null if it was not."""
    rejection_reason_code: str | None
    """Why it was rejected, for programs; null if it was not. Currently one of `incorrect_documentation`,
    `not_attributable_to_registry`, `not_eligible`, `other`; more may be added.
    """
    usa_group_exempt: bool | None
    """Whether the organisation is covered by an IRS group exemption; null outside the United States."""


@dataclass(frozen=True, kw_only=True)
class EarlierApplication(Record):
    """A nonprofit of an earlier application."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "validation_submission_id": "validationSubmissionId",
        "validation_request_id": "validationRequestId",
    }
    name: str
    """Its name."""
    organisation_id: str | None
    """The organisation."""
    validation_submission_id: str
    """The validation submission."""
    validation_request_id: str | None
    """The validation request."""


@dataclass(frozen=True, kw_only=True)
class EligibilityDecidedSubTag(Record):
    """A confirmed activity. `rule` is the rule that assigned it: `ntee:B25`, `ccew:102`, `name:church`."""

    wire_names: ClassVar[Mapping[str, str]] = {"created_at": "createdAt", "updated_at": "updatedAt"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    tag: EligibilityTag
    """The tag of the sub-tag."""
    description: str | None
    """A description in one or two sentences."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""
    rule: str
    """The rule that assigned the activity, such as `ntee:B25`."""


@dataclass(frozen=True, kw_only=True)
class EligibilityEvaluation(Record):
    """One evaluation with its evidence."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "eligibility_status": "eligibilityStatus",
        "allowed_activity_sub_tags": "allowedActivitySubTags",
        "results_changed": "resultsChanged",
    }
    at: datetime
    """When, in UTC."""
    occasion: str
    """Why it was evaluated. Currently one of `configuration_changed`, `created`, `organisation_changed`,
    `rules_changed`, `simulated`; more may be added.
    """
    organisation_id: str
    """The organisation whose record was evaluated."""
    eligibility_status: str | None
    """Whether the organisation's activities are allowed. Currently one of `fail`, `pass`; more may be added."""
    allowed_activity_sub_tags: List[str] | None
    """What the configuration allowed; null for everything."""
    findings: List[EligibilityFinding]
    """The finding for each activity."""
    results_changed: bool
    """Whether the results changed, so that an event was sent."""


@dataclass(frozen=True, kw_only=True)
class EligibilityFailure(Record):
    """The organisation's activities, and those that are not allowed."""

    status: str
    """The status. Currently one of `cancelled`, `cannot_define_eligibility`, `live`, `pending`,
    `pending_validation_request`, `validation_request_failed`; more may be added.
    """
    results: EligibilityResults
    """What was found."""


@dataclass(frozen=True, kw_only=True)
class EligibilityFinding(Record):
    """The finding for one activity.

    `rule` is the rule that assigned it; null for a suggested activity without a rule.
    """

    id: str
    """Its identifier."""
    name: str
    """Its name."""
    rule: str | None
    """The rule that assigned the activity, such as `ntee:B25`."""
    suggested: bool
    """Whether you suggested it."""
    verdict: str
    """The outcome. Currently one of `confirmed`, `left_out`, `rejected`; more may be added."""


@dataclass(frozen=True, kw_only=True)
class EligibilityResults(Record):
    """The results of an eligibility subscription."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "eligibility_status": "eligibilityStatus",
        "confirmed_activity_sub_tags": "confirmedActivitySubTags",
        "rejected_activity_sub_tags": "rejectedActivitySubTags",
    }
    eligibility_status: str | None
    """`pass` when at least one confirmed activity is allowed; null until it is known. Currently one of `fail`,
    `pass`; more may be added.
    """
    confirmed_activity_sub_tags: List[EligibilityDecidedSubTag]
    """Activities that have been confirmed."""
    rejected_activity_sub_tags: List[EligibilityDecidedSubTag]
    """Confirmed activities that the configuration does not allow."""


@dataclass(frozen=True, kw_only=True)
class EligibilitySubTag(Record):
    """A suggested activity."""

    wire_names: ClassVar[Mapping[str, str]] = {"created_at": "createdAt", "updated_at": "updatedAt"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    tag: EligibilityTag
    """The tag of the sub-tag."""
    description: str | None
    """A description in one or two sentences."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class EligibilitySubscription(Record):
    """An eligibility subscription as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "organisation_name": "organisationName",
        "validation_request_id": "validationRequestId",
        "configuration_id": "configurationId",
        "suggested_activity_sub_tags": "suggestedActivitySubTags",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
    }
    id: str
    """Its identifier."""
    organisation_id: str | None
    """The organisation; with a validation request, once it is accepted."""
    organisation_name: str
    """The organisation's name."""
    validation_request_id: str | None
    """The validation request."""
    configuration_id: str | None
    """The submission configuration whose rules apply; null for the default rules."""
    suggested_activity_sub_tags: List[EligibilitySubTag]
    """The activities that you suggested; empty with a test value of the sandbox."""
    status: str
    """The status. Currently one of `cancelled`, `cannot_define_eligibility`, `live`, `pending`,
    `pending_validation_request`, `validation_request_failed`; more may be added.
    """
    results: EligibilityResults
    """What was found."""
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class EligibilityTag(Record):
    """The tag of a sub-tag."""

    wire_names: ClassVar[Mapping[str, str]] = {"created_at": "createdAt", "updated_at": "updatedAt"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    description: str | None
    """A description in one or two sentences."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class Event(Record):
    """An event. `eventType` determines the type of `eventData`. Clients must accept unknown types."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "created_at": "createdAt",
        "event_type": "eventType",
        "event_data": "eventData",
    }
    id: str
    """Identifies the event; the same in each delivery."""
    sequence: int | None
    """The event's number, without gaps for each partner. A delivery has it in its header `Service-Sequence`."""
    created_at: datetime
    """When it happened, in UTC."""
    event_type: str
    """What happened. More types may be added."""
    event_data: Dict[str, Any]
    """The record as `GET` would have returned it then; it never changes."""


@dataclass(frozen=True, kw_only=True)
class GiftAid(Record):
    """A declaration. With a publishable key, the response contains only `id` and `createdAt`."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "created_at": "createdAt",
        "user_id": "userId",
        "first_name": "firstName",
        "last_name": "lastName",
        "building_name_number": "buildingNameNumber",
        "road_name": "roadName",
        "covers_from": "coversFrom",
        "covers_to": "coversTo",
        "deleted_at": "deletedAt",
    }
    id: str
    """Its identifier."""
    created_at: datetime
    """When it was created, in UTC."""
    user_id: str | None
    """Your user who donates."""
    title: str | None
    """How the donor is addressed, such as `Dr`."""
    first_name: str | None
    """First name."""
    last_name: str | None
    """Last name."""
    building_name_number: str | None
    """Name or number of the donor's house."""
    road_name: str | None
    """Road."""
    city: str | None
    """City or town."""
    country: str | None
    """Country, as written in an address."""
    postcode: str | None
    """Postcode."""
    covers_from: datetime | None
    """The start of the period that the declaration covers, in UTC."""
    covers_to: datetime | None
    """The end of the period that the declaration covers, in UTC (exclusive); null if it has no end."""
    deleted_at: datetime | None
    """When it was deleted, in UTC; null unless it was."""


@dataclass(frozen=True, kw_only=True)
class GivingLink(Record):
    """A giving link as partners see it. Send donors to `url`."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "qr_code": "qrCode",
        "image_url": "imageUrl",
        "organisation_ids": "organisationIds",
        "category_id": "categoryId",
        "suggested_amounts": "suggestedAmounts",
        "shows_progress": "showsProgress",
        "offers_dedication": "offersDedication",
        "allowed_origins": "allowedOrigins",
        "success_url": "successUrl",
        "expires_at": "expiresAt",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
    }
    id: str
    """Its identifier."""
    url: str
    """The page."""
    slug: str
    """The end of the link's URL."""
    qr_code: QrCode
    """The URL as a QR code to print."""
    title: str
    """The heading of the page."""
    text: str | None
    """The text of the page, as plain text."""
    image_url: str | None
    """URL of the image; null if there is none."""
    organisation_ids: List[str] | None
    """The organisations from which donors choose one; null if `categoryId` is set."""
    category_id: str | None
    """The category from which donors choose an organisation; null if `organisationIds` is set."""
    suggested_amounts: List[int] | None
    """Amounts to choose from, in minor units; null for the currency's default amounts."""
    minimum: int | None
    """The minimum donation, in minor units; null for the currency's default."""
    maximum: int | None
    """The maximum donation, in minor units; null for the currency's default."""
    currencies: List[str] | None
    """The currencies from which donors choose one; null for all that the organisation can receive."""
    frequencies: List[str]
    """How often donors can donate."""
    designations: List[str] | None
    """Purposes from which the donor chooses one; null if there is no choice."""
    goal: int | None
    """The fundraising goal in minor units, shown on the page."""
    shows_progress: bool
    """Whether the page shows the amount raised and the number of donors."""
    offers_dedication: bool
    """Whether donors can dedicate their donation to somebody."""
    allowed_origins: List[str] | None
    """Sites that can show the form in a dialog; null for none."""
    success_url: str | None
    """Where the donor is redirected after donating; null for our own page."""
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    active: bool
    """Whether donors can donate through the link."""
    expires_at: datetime | None
    """When the link stops accepting donations, in UTC; null for never."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class HasGiftAid(Record):
    """The newest declaration of a user."""

    id: str
    """Its identifier."""


@dataclass(frozen=True, kw_only=True)
class HostedDonation(Record):
    """The session of a hosted donation."""

    wire_names: ClassVar[Mapping[str, str]] = {"session_id": "sessionId"}
    session_id: str
    """The donation session."""


@dataclass(frozen=True, kw_only=True)
class MatchExplanation(Record):
    """Why an organisation is among the results, with the header `Explain: true`."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "found_by": "foundBy",
        "as_typed": "asTyped",
        "not_as_typed": "notAsTyped",
    }
    found_by: str
    """The part of the organisation that matches the query."""
    likeness: int | None
    """The similarity of the name and the query, from 0 to 100."""
    as_typed: bool | None
    """Whether it contains all words of the query as typed."""
    not_as_typed: List[str] | None
    """Words of the query that it contains differently, only in its description, or not at all."""


@dataclass(frozen=True, kw_only=True)
class Milestone(Record):
    """A goal that a nonprofit publishes."""

    wire_names: ClassVar[Mapping[str, str]] = {"currency_code": "currencyCode", "organisation_id": "organisationId"}
    id: str
    """Its identifier."""
    amount: int
    """In the currency's minor unit, such as cents."""
    reward: str
    """What will happen when the milestone is reached."""
    currency_code: str
    """ISO 4217 code of the currency, such as `USD`."""
    organisation_id: str
    """The organisation."""


@dataclass(frozen=True, kw_only=True)
class MonetaryDonationCheck(Record):
    """One check."""

    type: str
    """The type. Currently one of `bank_details`, `compliance`, `organisation_confirmation`, `registration`; more
    may be added.
    """
    status: str
    """The status. Currently one of `failed`, `pending`, `succeeded`; more may be added."""


@dataclass(frozen=True, kw_only=True)
class MonetaryDonationVerification(Record):
    """A monetary donation verification as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "rejection_reason_code": "rejectionReasonCode",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
        "expires_at": "expiresAt",
        "processed_at": "processedAt",
    }
    id: str
    """Its identifier."""
    organisation_id: str
    """The organisation."""
    status: MonetaryDonationVerificationStatus
    """The status."""
    checks: List[MonetaryDonationCheck]
    """All four checks."""
    rejection_reason_code: str | None
    """Why it was rejected, for programs; null if it was not. Currently one of `declined_by_organisation`,
    `failed_compliance`, `no_response`, `not_eligible`, `other`; more may be added.
    """
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""
    expires_at: datetime | None
    """When the pending verification expires, in UTC; null once it is decided."""
    processed_at: datetime | None
    """When it was decided, in UTC; null until then."""


@dataclass(frozen=True, kw_only=True)
class MonetaryDonationVerificationStatus(Record):
    """The status of the verification, and whether the organisation must act next."""

    wire_names: ClassVar[Mapping[str, str]] = {"awaiting_answer_from_organisation": "awaitingAnswerFromOrganisation"}
    type: str
    """The type. Currently one of `approved`, `expired`, `pending`, `rejected`; more may be added."""
    awaiting_answer_from_organisation: bool
    """Whether the organisation still has to provide something or answer."""


@dataclass(frozen=True, kw_only=True)
class MonitoringCategory(Record):
    """The findings of the lists in a category."""

    status: str | None
    """Null until a list of the category is screened, while a match is being decided, and if a name cannot be
    compared. Currently one of `clear`, `flag`; more may be added.
    """


@dataclass(frozen=True, kw_only=True)
class MonitoringChange(Record):
    """The results from a given time on, with their cause and evidence."""

    wire_names: ClassVar[Mapping[str, str]] = {"compliance_flags": "complianceFlags"}
    at: datetime
    """When, in UTC."""
    occasion: str
    """Why the organisation was evaluated. Currently one of `chosen`, `configuration_changed`, `created`,
    `register_changed`, `request_decided`, `screening_changed`; more may be added.
    """
    results: MonitoringResults
    """What was found."""
    compliance_flags: List[str] | None
    """The categories whose flags failed compliance at that time."""
    sources: List[MonitoringSource]
    """The published lists on which the data is based."""
    matches: List[MonitoringMatch]
    """Watchlist entries that may be the organisation."""


@dataclass(frozen=True, kw_only=True)
class MonitoringMatch(Record):
    """An entry of a list that may be the organisation, and a reviewer's decision about it."""

    list: str
    """Name of the watchlist."""
    version: str
    """Version of the watchlist."""
    category: str
    """The category of watchlists. Currently one of `adverseMedia`, `commercial`, `controversial`, `hateSpeech`,
    `sanction`, `warning`; more may be added.
    """
    entry: str
    """The entry's number in its list."""
    score: float
    """The similarity of the two, from 0 to 1."""
    decision: str
    """`open` until a reviewer decides that they are the same (`confirmed`) or not (`cleared`). Currently one of
    `cleared`, `confirmed`, `open`; more may be added.
    """


@dataclass(frozen=True, kw_only=True)
class MonitoringOrganisation(Record):
    """The organisation that is monitored."""

    name: str
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class MonitoringRegistration(Record):
    """The finding of the register."""

    active: str | None
    """Null until it is known, and if no register shows it. Currently one of `no`, `yes`; more may be added."""


@dataclass(frozen=True, kw_only=True)
class MonitoringResults(Record):
    """The results of a monitoring subscription. Every field is null until its result is known."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "compliance_status": "complianceStatus",
        "hate_speech": "hateSpeech",
        "adverse_media": "adverseMedia",
    }
    compliance_status: str | None
    """`fail` if a category that counts is flagged: by default sanction, warning and hateSpeech. Currently one of
    `fail`, `pass`; more may be added.
    """
    warning: MonitoringCategory
    """Official warnings."""
    sanction: MonitoringCategory
    """Sanctions lists."""
    hate_speech: MonitoringCategory
    """Lists of organisations that spread hate."""
    commercial: MonitoringCategory
    """Lists of commercial offences."""
    adverse_media: MonitoringCategory
    """Reports of wrongdoing in the media."""
    controversial: MonitoringCategory
    """Lists of controversial organisations."""
    registration: MonitoringRegistration
    """The information in the register."""


@dataclass(frozen=True, kw_only=True)
class MonitoringSource(Record):
    """A list that was checked for a category, and its version."""

    list: str
    """Name of the watchlist."""
    version: str
    """Version of the watchlist."""
    category: str
    """The category of watchlists. Currently one of `adverseMedia`, `commercial`, `controversial`, `hateSpeech`,
    `sanction`, `warning`; more may be added.
    """
    status: str
    """`not_screened`: not all names of the organisation could be compared with it. Currently one of
    `not_screened`, `screened`; more may be added.
    """
    reason: str | None
    """Why the list was not screened: a name is in a script that cannot be compared, or has no words. Currently one
    of `no_words`, `script_not_supported`, `script_uncertain`; more may be added.
    """


@dataclass(frozen=True, kw_only=True)
class MonitoringSubscription(Record):
    """A monitoring subscription as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "validation_request_id": "validationRequestId",
        "configuration_id": "configurationId",
        "created_at": "createdAt",
    }
    id: str
    """Its identifier."""
    organisation_id: str | None
    """The organisation; with a validation request, once it is accepted."""
    validation_request_id: str | None
    """The validation request."""
    configuration_id: str | None
    """The submission configuration whose rules apply; null for the default rules."""
    status: str
    """The status. Currently one of `cancelled`, `live`, `pending`, `pending_validation_request`,
    `validation_request_failed`; more may be added.
    """
    organisation: MonitoringOrganisation | None
    """The organisation."""
    results: MonitoringResults
    """What was found."""
    sources: List[MonitoringSource]
    """The published lists on which the data is based."""
    matches: List[MonitoringMatch]
    """The matches: confirmed, open and cleared."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class Organisation(Record):
    """An organisation as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "display_name": "displayName",
        "country_code": "countryCode",
        "registry_name": "registryName",
        "registry_id": "registryId",
        "accepts_donations": "acceptsDonations",
        "inactive_reason": "inactiveReason",
        "succeeded_by": "succeededBy",
        "activity_sub_tags": "activitySubTags",
        "address_line1": "addressLine1",
        "address_line2": "addressLine2",
        "registration_date": "registrationDate",
        "currency_code": "currencyCode",
        "claimed_at": "claimedAt",
        "is_branch_parent": "isBranchParent",
        "branch_of": "branchOf",
        "country_specific_properties": "countrySpecificProperties",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
    }
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    display_name: str | None
    """The name to show, if it differs from the registered one."""
    description: str
    """A description in one or two sentences."""
    country_code: str
    """Three letters (ISO 3166-1 alpha-3)."""
    registry: str
    """The registry that lists it."""
    registry_name: str
    """Name of the registry."""
    registry_id: str
    """The registration number in the registry."""
    types: List[str]
    """The types of the organisation."""
    active: bool
    """Whether the register lists the organisation as active."""
    accepts_donations: bool
    """Whether it can receive donations: it is active, and one of its types is `nonprofit`."""
    inactive_reason: str | None
    """Why it is not active; null while it is. Currently one of `merged`, `removed`, `reregistered`, `revoked`,
    `terminated`; more may be added.
    """
    succeeded_by: str | None
    """The successor after a merger or a new registration."""
    categories: List[OrganisationCategory]
    """Your categories that contain this organisation."""
    activity_sub_tags: List[ActivitySubTag]
    """The organisation's activities."""
    logo: str | None
    """URL of the logo; null if there is none."""
    images: List[str]
    """URLs of the images."""
    website: str | None
    """Web address."""
    websites: List[str]
    """All web addresses of the organisation."""
    address: str | None
    """The whole postal address in one line."""
    address_line1: str | None
    """Street and number."""
    address_line2: str | None
    """The rest of the street address."""
    city: str | None
    """City or town."""
    state: str | None
    """State, province or county."""
    postcode: str | None
    """Postcode."""
    registration_date: datetime | None
    """When it was registered, in UTC."""
    currency_code: str | None
    """The currency that its donations are paid out in (ISO 4217)."""
    claimed_at: datetime | None
    """When an agent of the organisation was first verified, in UTC."""
    is_branch_parent: bool
    """Whether the organisation has branches."""
    branch_of: str | None
    """The main organisation of this branch."""
    country_specific_properties: CountrySpecificProperties
    """Details that only registers of one country have."""
    sources: List[OrganisationSource]
    """The published lists on which the data is based."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""
    explain: MatchExplanation | None
    """Why the organisation is among the results; only with the header `Explain: true`."""


@dataclass(frozen=True, kw_only=True)
class OrganisationBranding(Record):
    """How an organisation is shown."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "display_name": "displayName",
        "primary_color": "primaryColor",
    }
    organisation_id: str
    """The organisation."""
    display_name: str
    """The name to show, if it differs from the registered one."""
    description: str
    """A description in one or two sentences."""
    logo: str | None
    """URL of the logo; null if there is none."""
    images: List[str]
    """URLs of the images."""
    primary_color: str | None
    """Colour of buttons and links, such as `#0d5c4a`."""


@dataclass(frozen=True, kw_only=True)
class OrganisationCategory(Record):
    """A category of the calling partner that the organisation is in."""

    wire_names: ClassVar[Mapping[str, str]] = {"image_url": "imageUrl", "created_at": "createdAt"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    attributes: Dict[str, str | bool | int | float] | None
    """Your own data: text, numbers and booleans by key."""
    image_url: str | None
    """URL of the image; null if there is none."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class OrganisationChange(Record):
    """A changed field of the record, with the day of the data."""

    wire_names: ClassVar[Mapping[str, str]] = {"from_": "from"}
    at: datetime
    """When, in UTC."""
    kind: str
    """What happened. Currently one of `branch`, `changed`, `joined`, `listed_again`, `merged`, `moved`, `parted`,
    `reinstated`, `removed`, `renamed`, `reregistered`, `revoked`, `taken_back`, `terminated`; more may be
    added.
    """
    field: str
    """The field of the organisation that changed."""
    from_: Any
    """The value until then."""
    to: Any
    """The value from then on."""
    source: str
    """The published list that contains the data."""


@dataclass(frozen=True, kw_only=True)
class OrganisationProfile(Record):
    """The public information about an organisation."""

    wire_names: ClassVar[Mapping[str, str]] = {"display_name": "displayName"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    display_name: str | None
    """The name to show, if it differs from the registered one."""
    description: str
    """A description in one or two sentences."""
    logo: str | None
    """URL of the logo; null if there is none."""


@dataclass(frozen=True, kw_only=True)
class OrganisationSource(Record):
    """A published list that contains the organisation."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "registry_name": "registryName",
        "registry_id": "registryId",
        "data_as_of": "dataAsOf",
    }
    registry_name: str
    """Name of the registry."""
    registry_id: str
    """The registration number in the registry."""
    data_as_of: datetime | None
    """The day of its data."""
    source: str | None
    """The published list, such as `irs-bmf`."""
    unverified: bool
    """Whether its reader has never been tested on a real file. No request is decided by such a source alone."""
    stale: bool
    """Whether its data is older than its maximum age."""


@dataclass(frozen=True, kw_only=True)
class PartnerField(Record):
    """A question of the hosted form."""

    id: str
    """Your ID for the question; answers use the same ID."""
    type: str
    """The type. Currently one of `choice`, `long_text`, `number`, `short_text`, `url`; more may be added."""
    required: bool
    """Whether applicants must answer the question."""
    labels: Dict[str, str]
    """The text that applicants read, by language tag."""
    choices: List[PartnerFieldChoice]
    """The answers to choose from; only for the type `choice`."""


@dataclass(frozen=True, kw_only=True)
class PartnerFieldChoice(Record):
    """One choice of a question."""

    value: str
    """The value of the answer, for programs."""
    labels: Dict[str, str]
    """The text that applicants read, by language tag."""


@dataclass(frozen=True, kw_only=True)
class PartnerFieldChoiceParams(Body):
    """One choice of a question."""

    value: str
    """The value of the answer, for programs."""
    labels: Dict[str, str]
    """By language tag: at least one, of up to 300 characters."""


@dataclass(frozen=True, kw_only=True)
class PartnerFieldParams(Body):
    """A question of your own in the hosted form."""

    id: str
    """Your ID for the question; answers use the same ID."""
    type: Literal["short_text", "long_text", "choice", "number", "url"]
    """The type."""
    required: bool | Omitted = OMITTED
    """Whether applicants must answer the question."""
    labels: Dict[str, str]
    """By language tag: at least one, of up to 300 characters."""
    choices: List[PartnerFieldChoiceParams] | Omitted = OMITTED
    """Of type `choice`: 2 to 50."""


@dataclass(frozen=True, kw_only=True)
class PaymentMethod(Record):
    """The payment method for later donations, as the payment provider shows it."""

    wire_names: ClassVar[Mapping[str, str]] = {"expires_at": "expiresAt"}
    type: str
    """The type. Currently always `card`; more may be added."""
    brand: str | None
    """The card's brand; null if it is not a card."""
    last4: str | None
    """The last four digits of the card or account."""
    expires_at: datetime | None
    """When the card expires, in UTC; null if it does not expire."""


@dataclass(frozen=True, kw_only=True)
class PendingChange(Record):
    """A change that waits until the donor agrees to it."""

    wire_names: ClassVar[Mapping[str, str]] = {"requested_at": "requestedAt"}
    amount: int
    """The new amount of each donation, in the currency's minor unit."""
    frequency: str
    """The new frequency. Currently one of `monthly`, `quarterly`, `weekly`, `yearly`; more may be added."""
    requested_at: datetime
    """When it was requested, in UTC."""


@dataclass(frozen=True, kw_only=True)
class QrCode(Record):
    """The link's URL as a QR code to print."""

    svg: str
    """URL of the QR code as SVG."""
    png: str
    """URL of the QR code as PNG."""


@dataclass(frozen=True, kw_only=True)
class Registry(Record):
    """A registry as partners see it; `dataAsOf` and `unverified` are null while its register is not loaded.

    `unverified` is true when every reader of its files was written from their layout alone: then nothing is
    decided by this registry without a person.
    """

    wire_names: ClassVar[Mapping[str, str]] = {
        "english_name": "englishName",
        "country_code": "countryCode",
        "data_as_of": "dataAsOf",
    }
    id: str
    """The registry's identifier."""
    name: str
    """Its name."""
    english_name: str
    """Its name in English."""
    code: str
    """Code for programs."""
    country_code: str
    """Three letters (ISO 3166-1 alpha-3)."""
    data_as_of: datetime | None
    """The day of the register's data."""
    unverified: bool | None
    """Whether the reader for this data has never been tested on a real file."""
    sources: List[RegistrySource]
    """The published lists on which the data is based."""


@dataclass(frozen=True, kw_only=True)
class RegistrySource(Record):
    """A published file with a registry's organisations, and the day of its data."""

    wire_names: ClassVar[Mapping[str, str]] = {"data_as_of": "dataAsOf"}
    source: str
    """The published list that contains the data."""
    unverified: bool
    """Whether the reader for this data has never been tested on a real file."""
    data_as_of: datetime
    """The day of the register's data."""


@dataclass(frozen=True, kw_only=True)
class RequestFailure(Record):
    """Why the nonprofit is not valid."""

    wire_names: ClassVar[Mapping[str, str]] = {"rejection_reason_code": "rejectionReasonCode"}
    rejection_reason_code: str
    """Why it was rejected, for programs; null if it was not. Currently one of `incorrect_documentation`,
    `not_attributable_to_registry`, `not_eligible`, `other`; more may be added.
    """


@dataclass(frozen=True, kw_only=True)
class SandboxAttachment(Record):
    """A file attached to an email. `size` in bytes; `url` downloads it without a key."""

    wire_names: ClassVar[Mapping[str, str]] = {"media_type": "mediaType"}
    name: str
    """Its name."""
    media_type: str
    """Media type, such as `application/pdf`."""
    size: int
    """Size in bytes."""
    url: str
    """Its address."""


@dataclass(frozen=True, kw_only=True)
class SandboxClock(Record):
    """The sandbox's clock. `remaining`: work that is due by now and not done yet."""

    wire_names: ClassVar[Mapping[str, str]] = {"offset_seconds": "offsetSeconds"}
    now: datetime
    """The sandbox's current time, in UTC."""
    offset_seconds: int
    """How far the sandbox clock is ahead of real time, in seconds."""
    remaining: int
    """The number of jobs that are due and not done yet."""


@dataclass(frozen=True, kw_only=True)
class SandboxMail(Record):
    """An email that the sandbox would have sent."""

    wire_names: ClassVar[Mapping[str, str]] = {"from_": "from", "created_at": "createdAt"}
    from_: str
    """Who sent it."""
    to: str
    """The recipient."""
    subject: str
    """Subject line."""
    text: str
    """The message as plain text."""
    html: str
    """The message as HTML."""
    links: List[str]
    """URLs of the links in the email."""
    attachments: List[SandboxAttachment]
    """Its attachments."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class SettledAmount(Record):
    """The amount that arrived after conversion, in minor units."""

    amount: int
    """In the currency's minor unit, such as cents."""
    currency: str
    """ISO 4217 code of the currency, such as `USD`."""


@dataclass(frozen=True, kw_only=True)
class SubTag(Record):
    """One activity of a tag."""

    wire_names: ClassVar[Mapping[str, str]] = {"tag_id": "tagId", "created_at": "createdAt", "updated_at": "updatedAt"}
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    tag_id: str
    """The tag of the sub-tag."""
    description: str | None
    """A description in one or two sentences."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class SubmissionAgentVerification(Record):
    """The agent verification."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "first_name": "firstName",
        "last_name": "lastName",
        "rejection_reason": "rejectionReason",
        "rejection_reason_code": "rejectionReasonCode",
    }
    id: str
    """Its identifier."""
    email: str | None
    """Email address."""
    first_name: str | None
    """First name."""
    last_name: str | None
    """Last name."""
    status: str
    """The status. Currently one of `approved`, `pending`, `pending_review`, `pending_user_verification`,
    `rejected`; more may be added.
    """
    rejection_reason: str | None
    """Why it was rejected, for people; null if it was not."""
    rejection_reason_code: str | None
    """Why it was rejected, for programs; null if it was not. Currently one of `blank_corrupted_documentation`,
    `fake_documentation`, `fake_email_used`, `invalid_documentation`, `mismatched_information`,
    `no_online_presence`, `nonprofit_association_expired`, `other`, `reapply`, `suspicious_application`,
    `user_failed_percent_review`, `user_verification_expired`, `validation_request_failed`; more may be added.
    """
    language: str
    """Language of pages and emails (RFC 5646)."""


@dataclass(frozen=True, kw_only=True)
class SubmissionAppeal(Record):
    """The newest appeal."""

    wire_names: ClassVar[Mapping[str, str]] = {"due_at": "dueAt"}
    id: str
    """Its identifier."""
    status: str
    """The status. Currently one of `open`, `reversed`, `upheld`; more may be added."""
    due_at: datetime
    """The deadline for the decision."""


@dataclass(frozen=True, kw_only=True)
class SubmissionConfiguration(Record):
    """The configuration."""

    id: str
    """Its identifier."""
    name: str | None
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class SubmissionEligibility(Record):
    """The check `eligibility`."""

    status: str
    """The status. Currently one of `cancelled`, `cannot_define_eligibility`, `live`, `pending`,
    `pending_validation_request`, `validation_request_failed`; more may be added.
    """
    results: EligibilityResults
    """What was found."""


@dataclass(frozen=True, kw_only=True)
class SubmissionFailureReasons(Record):
    """The failure reasons by check, only for failed checks."""

    validation_request: RequestFailure | None
    """Why the validation request was rejected."""
    agent_verification: AgentFailure | None
    """Why the agent is not verified."""
    compliance: ComplianceFailure | None
    """The result of screening against watchlists."""
    eligibility: EligibilityFailure | None
    """The check of the organisation's activities."""


@dataclass(frozen=True, kw_only=True)
class SubmissionMonitoring(Record):
    """The check `compliance`."""

    status: str
    """The status. Currently one of `cancelled`, `live`, `pending`, `pending_validation_request`,
    `validation_request_failed`; more may be added.
    """
    results: MonitoringResults
    """What was found."""


@dataclass(frozen=True, kw_only=True)
class SubmissionOrganisation(Record):
    """The organisation."""

    wire_names: ClassVar[Mapping[str, str]] = {"country_code": "countryCode"}
    name: str
    """Its name."""
    country_code: str
    """Three letters (ISO 3166-1 alpha-3)."""


@dataclass(frozen=True, kw_only=True)
class SubmissionRequirement(Record):
    """A missing item, and who must provide it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "from_": "from",
        "registry_name": "registryName",
        "registry_id": "registryId",
    }
    check: str
    """The check that needs this requirement. Currently one of `agent_verification`, `compliance`, `eligibility`,
    `validation_request`; more may be added.
    """
    code: str
    """Code for programs. Currently one of `association`, `confirmation`, `registration_evidence`, `review`; more
    may be added.
    """
    from_: str
    """Who has to act. Currently one of `applicant`, `nonprofit`, `reviewer`; more may be added."""
    message: str
    """A message for people; its wording may change."""
    accepted: List[str]
    """Alternatives, each of which is enough."""
    since: datetime
    """Since when, in UTC."""
    due: datetime | None
    """The deadline, in UTC; null if there is none."""
    registry_name: str | None
    """Where the registration was looked up."""
    registry_id: str | None
    """The number that was looked up."""


@dataclass(frozen=True, kw_only=True)
class SubmissionValidationRequest(Record):
    """The validation request."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "accepted_at": "acceptedAt",
        "rejected_at": "rejectedAt",
        "organisation_types": "organisationTypes",
    }
    id: str
    """Its identifier."""
    name: str
    """Its name."""
    accepted_at: datetime | None
    """When it was accepted, in UTC; null if it was not."""
    rejected_at: datetime | None
    """When it was rejected, in UTC; null if it was not."""
    organisation_types: List[str]
    """The types of the organisation."""


@dataclass(frozen=True, kw_only=True)
class SubmissionsOrganisations(Record):
    """The earlier applications, newest first; at most 100."""

    wire_names: ClassVar[Mapping[str, str]] = {"has_more": "hasMore"}
    results: List[EarlierApplication]
    """The earlier applications."""
    has_more: bool
    """Whether there are older ones; use a narrower filter to find them."""


@dataclass(frozen=True, kw_only=True)
class TagName(Record):
    """The tag of a sub-tag."""

    id: str
    """Its identifier."""
    name: str
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class User(Record):
    """A user as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "created_at": "createdAt",
        "deleted_at": "deletedAt",
    }
    id: str
    """Its identifier."""
    organisation_id: str | None
    """The organisation."""
    created_at: datetime
    """When it was created, in UTC."""
    deleted_at: datetime | None
    """When it was deleted, in UTC; null unless it was."""


@dataclass(frozen=True, kw_only=True)
class UserOrganisation(Record):
    """The response to a change of a user's default organisation."""

    wire_names: ClassVar[Mapping[str, str]] = {"user_id": "userId", "organisation_id": "organisationId"}
    user_id: str
    """Your user who donates."""
    organisation_id: str
    """The organisation."""
    timestamp: datetime
    """When it was set, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ValidationInvite(Record):
    """An invite as partners see it. Send the applicant to `url`."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "hosted_config_id": "hostedConfigId",
        "redirect_url": "redirectUrl",
        "created_at": "createdAt",
        "expires_at": "expiresAt",
    }
    id: str
    """Its identifier."""
    status: str
    """The status. Currently one of `complete`, `expired`, `open`; more may be added."""
    hosted_config_id: str | None
    """The submission configuration of the hosted form."""
    redirect_url: str | None
    """Where the applicant is redirected after the form; null for our own page."""
    language: str
    """Language of pages and emails (RFC 5646)."""
    url: str
    """The hosted form."""
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    created_at: datetime
    """When it was created, in UTC."""
    expires_at: datetime
    """When it expires, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ValidationRequest(Record):
    """A validation request as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "organisation_id": "organisationId",
        "organisation_types": "organisationTypes",
        "registry_name": "registryName",
        "registry_id": "registryId",
        "address_line1": "addressLine1",
        "address_line2": "addressLine2",
        "country_code": "countryCode",
        "created_at": "createdAt",
        "deleted_at": "deletedAt",
        "accepted_at": "acceptedAt",
        "rejected_at": "rejectedAt",
        "rejection_reason": "rejectionReason",
        "rejection_reason_code": "rejectionReasonCode",
        "usa_group_exempt": "usaGroupExempt",
    }
    id: str
    """Its identifier."""
    organisation_id: str | None
    """The organisation, once the request is accepted."""
    organisation_types: List[str]
    """The types of the organisation."""
    name: str
    """Its name."""
    registry_name: str
    """Name of the registry."""
    registry_id: str
    """The registration number in the registry."""
    email: str | None
    """Email address."""
    address_line1: str | None
    """Street and number."""
    address_line2: str | None
    """The rest of the street address."""
    city: str | None
    """City or town."""
    state: str | None
    """State, province or county."""
    postal: str | None
    """Postcode."""
    website: str
    """Web address."""
    country_code: str
    """Three letters (ISO 3166-1 alpha-3)."""
    created_at: datetime
    """When it was created, in UTC."""
    deleted_at: datetime | None
    """When it was deleted, in UTC; null unless it was."""
    accepted_at: datetime | None
    """When it was accepted, in UTC; null if it was not."""
    rejected_at: datetime | None
    """When it was rejected, in UTC; null if it was not."""
    rejection_reason: str | None
    """Why it was rejected, for people; null if it was not."""
    rejection_reason_code: str | None
    """Why it was rejected, for programs; null if it was not. Currently one of `incorrect_documentation`,
    `not_attributable_to_registry`, `not_eligible`, `other`; more may be added.
    """
    usa_group_exempt: bool | None
    """Whether the organisation is covered by an IRS group exemption; null outside the United States."""
    documents: List[ValidationRequestDocument]
    """The attached documents."""


@dataclass(frozen=True, kw_only=True)
class ValidationRequestDocument(Record):
    """An attached document. `url` is valid for a few minutes; each GET returns a new one."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "validation_request_id": "validationRequestId",
        "created_at": "createdAt",
        "deleted_at": "deletedAt",
    }
    id: str
    """Its identifier."""
    validation_request_id: str
    """The validation request."""
    status: str
    """The status. Currently one of `clean`, `deleted`, `infected`, `pending`, `unreadable`; more may be added."""
    url: str
    """Its address."""
    created_at: datetime
    """When it was created, in UTC."""
    deleted_at: datetime | None
    """When it was deleted, in UTC; null unless it was."""


@dataclass(frozen=True, kw_only=True)
class ValidationRequestDossier(Record):
    """The evidence of a validation request.

    `seal`: the key and the Ed25519 signature over all bytes of the response, with zeros in place of the
    signature.
    """

    wire_names: ClassVar[Mapping[str, str]] = {
        "generated_at": "generatedAt",
        "validation_request": "validationRequest",
        "not_screened_reason": "notScreenedReason",
    }
    environment: str
    """`sandbox` or `production`."""
    generated_at: datetime
    """When this response was generated, in UTC."""
    validation_request: DossierValidationRequest
    """The validation request."""
    not_screened_reason: str | None
    """Why the requested name cannot be compared with watchlists, so that a reviewer looks it up; null if it can."""
    evaluations: List[DossierEvaluation]
    """The evaluations, oldest first."""
    reviews: List[DossierReview]
    """The reviews, oldest first."""
    decisions: List[DossierDecision]
    """The decisions, oldest first."""
    documents: List[DossierDocument]
    """The attached documents."""
    seal: str
    """The key ID and the signature over the whole response."""


@dataclass(frozen=True, kw_only=True)
class ValidationSubmission(Record):
    """A validation submission as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "validation_invite_id": "validationInviteId",
        "organisation_id": "organisationId",
        "organisation_name": "organisationName",
        "validation_request_id": "validationRequestId",
        "validation_request": "validationRequest",
        "monitoring_subscription_id": "monitoringSubscriptionId",
        "eligibility_subscription_id": "eligibilitySubscriptionId",
        "agent_verification_id": "agentVerificationId",
        "agent_verification": "agentVerification",
        "partner_fields": "partnerFields",
        "failure_reasons": "failureReasons",
        "processed_at": "processedAt",
        "created_at": "createdAt",
    }
    id: str
    """Its identifier."""
    status: str
    """The status. Currently one of `failed`, `pending`, `processed`, `succeeded`; more may be added."""
    validation_invite_id: str | None
    """The invite that was used."""
    organisation_id: str | None
    """The organisation, once the details are valid."""
    organisation_name: str | None
    """The organisation's name."""
    organisation: SubmissionOrganisation | None
    """The organisation."""
    validation_request_id: str | None
    """The validation request."""
    validation_request: SubmissionValidationRequest | None
    """The validation request."""
    monitoring_subscription_id: str | None
    """The monitoring subscription."""
    monitoring: SubmissionMonitoring | None
    """The check against watchlists."""
    eligibility_subscription_id: str | None
    """The eligibility subscription."""
    eligibility: SubmissionEligibility | None
    """The check of the organisation's activities."""
    agent_verification_id: str | None
    """The agent verification."""
    agent_verification: SubmissionAgentVerification | None
    """The check of the applicant."""
    configuration: SubmissionConfiguration | None
    """The submission configuration that was used."""
    metadata: Dict[str, str] | None
    """Your own data: text values by key."""
    partner_fields: Dict[str, str | int | float] | None
    """The answers to your own questions, by their `id`."""
    failure_reasons: SubmissionFailureReasons | None
    """The failed checks of a failed submission."""
    requirements: List[SubmissionRequirement]
    """What is missing; empty if neither the applicant nor the nonprofit has to act."""
    appeal: SubmissionAppeal | None
    """The latest appeal against the decision."""
    processed_at: datetime | None
    """When it was decided, in UTC; null until then."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ValidationSubmissionConfiguration(Record):
    """A submission configuration as partners see it."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "is_default": "isDefault",
        "allowed_organisation_types": "allowedOrganisationTypes",
        "compliance_flags": "complianceFlags",
        "allowed_activity_sub_tags": "allowedActivitySubTags",
        "email_verification": "emailVerification",
        "partner_fields": "partnerFields",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
    }
    id: str
    """Its identifier."""
    name: str | None
    """Its name."""
    branding: Branding
    """Name, colour and logo of the hosted form."""
    is_default: bool
    """Whether invites without a configuration use this one."""
    checks: List[str]
    """The checks that are run, in this order."""
    allowed_organisation_types: List[str]
    """Types of organisation that may apply."""
    compliance_flags: List[str]
    """Watchlist categories whose flags make the check `compliance` fail."""
    allowed_activity_sub_tags: List[str] | None
    """The allowed activities; null allows all."""
    email_verification: bool
    """Whether applicants confirm their email address."""
    partner_fields: List[PartnerField]
    """Your own questions in the hosted form."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime
    """When it last changed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ValidationSubmissionDocument(Record):
    """A document of a submission. `url` is valid for a few minutes; each GET returns a new one."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "validation_submission_id": "validationSubmissionId",
        "validation_invite_id": "validationInviteId",
        "created_at": "createdAt",
    }
    id: str
    """Its identifier."""
    validation_submission_id: str | None
    """The submission; null until it is created."""
    validation_invite_id: str | None
    """The invite that was used."""
    type: str
    """The type. Currently one of `agent_verification`, `validation_request`; more may be added."""
    status: str
    """The status. Currently one of `clean`, `deleted`, `infected`, `pending`, `unreadable`; more may be added."""
    url: str
    """Its address."""
    created_at: datetime
    """When it was created, in UTC."""


@dataclass(frozen=True, kw_only=True)
class WebhookAttempt(Record):
    """One POST to a receiver; `statusCode` is null if there was no complete response, and `error` gives the
    reason.
    """

    wire_names: ClassVar[Mapping[str, str]] = {
        "attempted_at": "attemptedAt",
        "duration_ms": "durationMs",
        "status_code": "statusCode",
        "response_body": "responseBody",
    }
    number: int
    """The number of the attempt, starting at 1."""
    attempted_at: datetime
    """When it was sent, in UTC."""
    duration_ms: int
    """The duration in milliseconds."""
    status_code: int | None
    """HTTP status of the response; null if there was no complete one."""
    error: str | None
    """Why there was no complete response; null if there was one."""
    response_body: str | None
    """The beginning of the receiver's response."""


@dataclass(frozen=True, kw_only=True)
class WebhookDelivery(Record):
    """The delivery of one event to one subscription; `reason` is its cause."""

    wire_names: ClassVar[Mapping[str, str]] = {
        "webhook_subscription_id": "webhookSubscriptionId",
        "event_id": "eventId",
        "event_type": "eventType",
        "next_attempt_at": "nextAttemptAt",
        "created_at": "createdAt",
        "finished_at": "finishedAt",
    }
    id: str
    """Its identifier."""
    webhook_subscription_id: str
    """The subscription of the delivery."""
    event_id: str
    """The event that is delivered."""
    event_type: str
    """What happened, such as `donation.created`."""
    sequence: int | None
    """The event's number, without gaps for each partner."""
    reason: str
    """The cause of the delivery. Currently one of `event`, `replay`, `resend`, `test`; more may be added."""
    status: str
    """The status. Currently one of `cancelled`, `failed`, `pending`, `succeeded`; more may be added."""
    attempts: List[WebhookAttempt]
    """The attempts so far, oldest first."""
    next_attempt_at: datetime | None
    """When the next attempt is due, in UTC; null if there is none."""
    created_at: datetime
    """When it was created, in UTC."""
    finished_at: datetime | None
    """When the delivery succeeded or failed for good, in UTC; null until then."""


@dataclass(frozen=True, kw_only=True)
class WebhookReplay(Record):
    """The number of deliveries that were started."""

    scheduled: int
    """The number of deliveries that were started."""


@dataclass(frozen=True, kw_only=True)
class WebhookSourceAddresses(Record):
    """The addresses that deliveries of this environment come from."""

    environment: str
    """`sandbox` or `production`."""
    addresses: List[str]
    """Network addresses or ranges in CIDR form."""


@dataclass(frozen=True, kw_only=True)
class WebhookSubscription(Record):
    """A subscription as partners see it; `secret` is null in lists and events.

    `health` is `failing` from the first failed attempt to the next success.
    """

    wire_names: ClassVar[Mapping[str, str]] = {
        "previous_secret_expires_at": "previousSecretExpiresAt",
        "failing_since": "failingSince",
        "last_success_at": "lastSuccessAt",
        "created_at": "createdAt",
        "updated_at": "updatedAt",
        "deleted_at": "deletedAt",
    }
    id: str
    """Its identifier."""
    events: List[str]
    """Event types that it receives; `*` for all."""
    url: str
    """Its address."""
    secret: str | None = field(repr=False)
    """The secret that signs webhooks. Do not share it."""
    previous_secret_expires_at: datetime | None
    """Until when the previous secret is also used to sign, in UTC; null if it is not used any more."""
    status: str
    """The status. Currently one of `active`, `suspended`; more may be added."""
    health: str
    """Whether deliveries succeed. Currently one of `failing`, `healthy`; more may be added."""
    failing_since: datetime | None
    """When deliveries started to fail, in UTC; null if the last one succeeded."""
    last_success_at: datetime | None
    """When a delivery last arrived, in UTC; null if none has."""
    created_at: datetime
    """When it was created, in UTC."""
    updated_at: datetime | None
    """When it last changed, in UTC."""
    deleted_at: datetime | None
    """When it was deleted, in UTC; null unless it was."""


__all__ = [
    "ActivitySubTag",
    "ActivityTag",
    "AgentFailure",
    "AgentOrganisation",
    "AgentRequest",
    "AgentVerification",
    "Appeal",
    "Benefits",
    "BenefitsParams",
    "Branding",
    "BrandingParams",
    "Category",
    "ComplianceFailure",
    "Country",
    "CountrySpecificProperties",
    "Disbursement",
    "Donation",
    "DonationRequest",
    "DonationSeries",
    "DonationSession",
    "DonationSubscription",
    "DossierDecision",
    "DossierDocument",
    "DossierEvaluation",
    "DossierReason",
    "DossierReview",
    "DossierStep",
    "DossierValidationRequest",
    "EarlierApplication",
    "EligibilityDecidedSubTag",
    "EligibilityEvaluation",
    "EligibilityFailure",
    "EligibilityFinding",
    "EligibilityResults",
    "EligibilitySubTag",
    "EligibilitySubscription",
    "EligibilityTag",
    "Event",
    "GiftAid",
    "GivingLink",
    "HasGiftAid",
    "HostedDonation",
    "MatchExplanation",
    "Milestone",
    "MonetaryDonationCheck",
    "MonetaryDonationVerification",
    "MonetaryDonationVerificationStatus",
    "MonitoringCategory",
    "MonitoringChange",
    "MonitoringMatch",
    "MonitoringOrganisation",
    "MonitoringRegistration",
    "MonitoringResults",
    "MonitoringSource",
    "MonitoringSubscription",
    "Organisation",
    "OrganisationBranding",
    "OrganisationCategory",
    "OrganisationChange",
    "OrganisationProfile",
    "OrganisationSource",
    "PartnerField",
    "PartnerFieldChoice",
    "PartnerFieldChoiceParams",
    "PartnerFieldParams",
    "PaymentMethod",
    "PendingChange",
    "QrCode",
    "Registry",
    "RegistrySource",
    "RequestFailure",
    "SandboxAttachment",
    "SandboxClock",
    "SandboxMail",
    "SettledAmount",
    "SubTag",
    "SubmissionAgentVerification",
    "SubmissionAppeal",
    "SubmissionConfiguration",
    "SubmissionEligibility",
    "SubmissionFailureReasons",
    "SubmissionMonitoring",
    "SubmissionOrganisation",
    "SubmissionRequirement",
    "SubmissionValidationRequest",
    "SubmissionsOrganisations",
    "TagName",
    "User",
    "UserOrganisation",
    "ValidationInvite",
    "ValidationRequest",
    "ValidationRequestDocument",
    "ValidationRequestDossier",
    "ValidationSubmission",
    "ValidationSubmissionConfiguration",
    "ValidationSubmissionDocument",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookReplay",
    "WebhookSourceAddresses",
    "WebhookSubscription",
]
_ = date
