// Made from openapi.json by `make clients`; do not edit.

import type { Upload } from "../core.js";

/** An activity of the organisation. `rule` is the rule that assigned it: `ntee:B25`, `ccew:102`, `name:church`. */
export interface ActivitySubTag {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** The tag of the sub-tag. */
  tag: TagName;
  /** A description in one or two sentences. */
  description: string | null;
  /** The rule that assigned the activity, such as `ntee:B25`. */
  rule: string;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** A field of activity with its sub-tags. */
export interface ActivityTag {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** A description in one or two sentences. */
  description: string | null;
  /** The sub-tags. */
  subTags: Array<SubTag>;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** Why the agent is not verified. */
export interface AgentFailure {
  /**
   * Why it was rejected, for programs; null if it was not. Currently one of `blank_corrupted_documentation`,
   * `fake_documentation`, `fake_email_used`, `invalid_documentation`, `mismatched_information`,
   * `no_online_presence`, `nonprofit_association_expired`, `other`, `reapply`, `suspicious_application`,
   * `user_failed_percent_review`, `user_verification_expired`, `validation_request_failed`; more may be added.
   */
  rejectionReasonCode: "blank_corrupted_documentation" | "fake_documentation" | "fake_email_used" | "invalid_documentation" | "mismatched_information" | "no_online_presence" | "nonprofit_association_expired" | "other" | "reapply" | "suspicious_application" | "user_failed_percent_review" | "user_verification_expired" | "validation_request_failed" | (string & {});
}

/** The organisation, with its own email address if its register lists one. */
export interface AgentOrganisation {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** Email address. */
  email: string | null;
}

/** The validation request, if the nonprofit was not an organisation yet. */
export interface AgentRequest {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
}

/** An agent verification as partners see it. */
export interface AgentVerification {
  /** Its identifier. */
  id: string;
  /** First name. */
  firstName: string | null;
  /** Last name. */
  lastName: string | null;
  /** Email address. */
  email: string | null;
  /** Job title. */
  title: string | null;
  /** The organisation. */
  organisationId: string | null;
  /** The organisation; with a validation request, once that is accepted. */
  organisation: AgentOrganisation | null;
  /** The validation request. */
  validationRequestId: string | null;
  /** The validation request. */
  validationRequest: AgentRequest | null;
  /** Language of pages and emails (RFC 5646). */
  language: string;
  /**
   * The status. Currently one of `approved`, `pending`, `pending_review`, `pending_user_verification`, `rejected`;
   * more may be added.
   */
  status: "approved" | "pending" | "pending_review" | "pending_user_verification" | "rejected" | (string & {});
  /** Why it was rejected, for people; null if it was not. */
  rejectionReason: string | null;
  /**
   * Why it was rejected, for programs; null if it was not. Currently one of `blank_corrupted_documentation`,
   * `fake_documentation`, `fake_email_used`, `invalid_documentation`, `mismatched_information`,
   * `no_online_presence`, `nonprofit_association_expired`, `other`, `reapply`, `suspicious_application`,
   * `user_failed_percent_review`, `user_verification_expired`, `validation_request_failed`; more may be added.
   */
  rejectionReasonCode: "blank_corrupted_documentation" | "fake_documentation" | "fake_email_used" | "invalid_documentation" | "mismatched_information" | "no_online_presence" | "nonprofit_association_expired" | "other" | "reapply" | "suspicious_application" | "user_failed_percent_review" | "user_verification_expired" | "validation_request_failed" | (string & {}) | null;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** Whether the applicant or the nonprofit must act next. */
  externalActionRequired: boolean;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** An appeal as partners see it. */
export interface Appeal {
  /** Its identifier. */
  id: string;
  /** The validation submission. */
  validationSubmissionId: string;
  /** The status. Currently one of `open`, `reversed`, `upheld`; more may be added. */
  status: "open" | "reversed" | "upheld" | (string & {});
  /** The applicant's reasons; null from 30 days after the decision on, when they are deleted. */
  text: string | null;
  /** The date by which it is decided: ten business days after it was made. */
  dueAt: string;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it was decided, in UTC; null until then. */
  decidedAt: string | null;
}

/** What the donor receives in return for the donation. */
export interface Benefits {
  /** A description in one or two sentences. */
  description: string;
  /** The fair market value of the benefits, in the minor unit of the session's currency. */
  fairValue: number;
}

/** What the donor receives in return for the donation. */
export interface BenefitsParams {
  /** What the donor receives. */
  description: string;
  /** Its fair market value, estimated in good faith, in the minor unit of `currency`. */
  fairValue: number;
}

/** How the hosted form looks. */
export interface Branding {
  /** The name to show, if it differs from the registered one. */
  displayName: string;
  /** Address of an image. */
  logo: string | null;
  /** Colour of buttons and links, such as `#0d5c4a`. */
  primaryColor: string | null;
}

/** How the hosted form looks. */
export interface BrandingParams {
  /** The name to show, if it differs from the registered one. */
  displayName?: string | null;
  /** Pages darken or lighten the colour until text is legible. */
  primaryColor?: string | null;
}

/** A category as partners see it. */
export interface Category {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** Your own data: text, numbers and booleans by key. */
  attributes: Record<string, string | boolean | number> | null;
  /** URL of the image; null if there is none. */
  imageUrl: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** The findings of the watchlists. */
export interface ComplianceFailure {
  /** What was found. */
  results: MonitoringResults;
}

/** A country as partners see it; `endonyms` are its names in its own official languages. */
export interface Country {
  /** Three letters (ISO 3166-1 alpha-3). */
  code: string;
  /** Its name. */
  name: string;
  /** Whether a register of this country is loaded. */
  hasRegistry: boolean;
  /** The country's name in its own languages, by language tag. */
  endonyms: Record<string, string>;
}

/** Details that only the registers of one country have. */
export interface CountrySpecificProperties {
  /** Whether the organisation is covered by an IRS group exemption; null outside the United States. */
  usaGroupExempt: boolean | null;
}

/** A disbursement to a nonprofit. While `PENDING`, `waitingReason` says why the next run does not send it. */
export interface Disbursement {
  /** Its identifier. */
  id: string;
  /** The organisation. */
  organisationId: string;
  /** In the currency's minor unit, such as cents. */
  amount: number;
  /** ISO 4217 code of the currency, such as `USD`. */
  currencyCode: string;
  /** The status. Currently one of `PAID`, `PENDING`, `RETURNED`, `SENT`; more may be added. */
  status: "PAID" | "PENDING" | "RETURNED" | "SENT" | (string & {});
  /** Why the disbursement waits; null if the next run sends it. */
  waitingReason: "below_threshold" | "on_hold" | "organisation_inactive" | "verification_expired" | "verification_missing" | "verification_pending" | "verification_rejected" | (string & {}) | null;
  /** The reference that identifies the payment at the banks. */
  endToEndId: string;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When the bank confirmed the payment, in UTC; null until then. */
  paidAt: string | null;
}

/** A donation as partners see it. */
export interface Donation {
  /** Its identifier. */
  id: string;
  /** Your user who donates. */
  userId: string | null;
  /** The organisation. */
  organisationId: string;
  /** The type. Currently one of `direct`, `hosted`; more may be added. */
  type: "direct" | "hosted" | (string & {});
  /** The donation session of the donation; null for a direct donation. */
  hosted: HostedDonation | null;
  /** In the currency's minor unit, such as cents. */
  amount: number;
  /** ISO 4217 code of the currency, such as `USD`. */
  currencyCode: string;
  /**
   * The status. Currently one of `ACTIVE`, `CANCELLED`, `DISBURSED`, `RECEIVED_PAYMENT`, `REQUESTED_PAYMENT`; more
   * may be added.
   */
  status: "ACTIVE" | "CANCELLED" | "DISBURSED" | "RECEIVED_PAYMENT" | "REQUESTED_PAYMENT" | (string & {});
  /** Empty if the donor has only one name. */
  firstName: string | null;
  /** Last name. */
  lastName: string | null;
  /** Email address. */
  email: string | null;
  /** Whether the nonprofit may contact the donor. Currently one of `no`, `yes`; more may be added. */
  consentedToBeContactedByOrg: "no" | "yes" | (string & {});
  /** Whether the donor's name is withheld from the nonprofit. Currently one of `no`, `yes`; more may be added. */
  anonymous: "no" | "yes" | (string & {});
  /** The Gift Aid declaration that covers the donation. */
  giftAidId: string | null;
  /** The donation request for this donation; only for direct donations. */
  donationRequestId: string | null;
  /** Whether the donation belongs to a subscription. */
  subscription: DonationSeries;
  /** The giving link that was used. */
  givingLinkId: string | null;
  /** The purpose that the donor chose from the session's `designations`. */
  designation: string | null;
  /** The person in whose honour or memory the donation was made. */
  dedication: string | null;
  /** Your own data: text values by key. */
  metadata: Record<string, string>;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it was cancelled, in UTC; null if it was not. */
  cancelledAt: string | null;
  /** When the donation was settled, in UTC; null until then. */
  settledAt: string | null;
  /** The amount received after fees; null until the donation is settled. */
  settledAmount: SettledAmount | null;
  /** When the donation was paid to the nonprofit, in UTC; null until then. */
  disbursedAt: string | null;
  /** When the donation was reassigned to another organisation, in UTC; null if it was not. */
  reassignedAt: string | null;
  /** The original organisation of the donation; null if it was not reassigned. */
  reassignedFromOrganisationId: string | null;
  /** When it was refunded, in UTC; null if it was not. */
  refundedAt: string | null;
  /** The refunded amount, in the currency's minor unit; null if nothing was refunded. */
  refundedAmount: number | null;
  /** When the donor's bank last disputed the payment, in UTC; null if it never did. */
  disputedAt: string | null;
  /**
   * The status of the latest dispute; `lost`: the donor got the money back. Currently one of `lost`, `open`,
   * `won`; more may be added.
   */
  disputeStatus: "lost" | "open" | "won" | (string & {}) | null;
  /**
   * The email with the receipt of a hosted donation. `sent`: a mail server accepted it. `undeliverable`: it could
   * not be delivered, and is not retried until the donor corrects the address. Currently one of `none`, `pending`,
   * `sent`, `undeliverable`; more may be added.
   */
  receiptDelivery: "none" | "pending" | "sent" | "undeliverable" | (string & {});
}

/** What you are asked to transfer for the direct donations of a period, in one currency. */
export interface DonationRequest {
  /** Its identifier. */
  id: string;
  /** The status. Currently one of `OPEN`, `PAID`, `PARTLY_PAID`; more may be added. */
  status: "OPEN" | "PAID" | "PARTLY_PAID" | (string & {});
  /** In the currency's minor unit, such as cents. */
  amount: number;
  /** The amount received so far, in the currency's minor unit. */
  paidAmount: number;
  /** ISO 4217 code of the currency, such as `USD`. */
  currencyCode: string;
  /** Reference for your transfer. */
  reference: string;
  /** The number of donations; list them with `GET /v1/donations?donationRequestId=`. */
  donationIdsCount: number;
  /** When the transfer is due, in UTC. */
  dueAt: string;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** `initial`: a one-off donation, or the first of a donation subscription. `id`: the donation subscription's. */
export interface DonationSeries {
  /** True for a one-off donation and for the first donation of a subscription. */
  initial: boolean;
  /** The donation subscription's identifier; null for a one-off donation. */
  id: string | null;
}

/** A session as partners see it. Send the donor to `url`. */
export interface DonationSession {
  /** Its identifier. */
  id: string;
  /** The status. Currently one of `completed`, `expired`, `open`; more may be added. */
  status: "completed" | "expired" | "open" | (string & {});
  /** The organisation. */
  organisationId: string;
  /** Your user who donates. */
  userId: string | null;
  /** Language of pages and emails (RFC 5646). */
  language: string | null;
  /** ISO 4217 code of the currency, such as `USD`. */
  currency: string | null;
  /** Where the donor is redirected after donating; null for our own page. */
  successUrl: string | null;
  /** The hosted page. */
  url: string;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** The frequencies from which the donor chooses. */
  frequencies: Array<"monthly" | "one_time" | "quarterly" | "weekly" | "yearly" | (string & {})>;
  /** Goods or services that the donor receives in return; null if there are none. */
  benefits: Benefits | null;
  /** Amounts to choose from, in minor units; null for the currency's default amounts. */
  suggestedAmounts: Array<number> | null;
  /** The minimum donation, in minor units; null for the currency's default. */
  minimum: number | null;
  /** The maximum donation, in minor units; null for the currency's default. */
  maximum: number | null;
  /** Purposes from which the donor chooses one; null if there is no choice. */
  designations: Array<string> | null;
  /** Whether the donor can dedicate the donation to somebody, and have us email a person about it once it is paid. */
  offersDedication: boolean;
  /** The giving link that created the session. */
  givingLinkId: string | null;
  /** The donation that completed it. */
  donationId: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it expires, in UTC. */
  expiresAt: string;
}

/** A donor's plan to give regularly. */
export interface DonationSubscription {
  /** Its identifier. */
  id: string;
  /**
   * `pending`: the first donation is not paid yet. `past_due`: the last donation could not be charged; it is
   * retried, or the donor is asked for another card. Currently one of `active`, `cancelled`, `past_due`, `paused`,
   * `pending`; more may be added.
   */
  status: "active" | "cancelled" | "past_due" | "paused" | "pending" | (string & {});
  /** The amount of each donation, in the currency's minor unit. */
  amount: number;
  /** ISO 4217 code of the currency, such as `USD`. */
  currencyCode: string;
  /** How often the donor gives. Currently one of `monthly`, `quarterly`, `weekly`, `yearly`; more may be added. */
  frequency: "monthly" | "quarterly" | "weekly" | "yearly" | (string & {});
  /** The organisation. */
  organisationId: string;
  /** Your user who donates. */
  userId: string | null;
  /** Empty if the donor has only one name. */
  firstName: string | null;
  /** Last name. */
  lastName: string | null;
  /** Email address. */
  email: string | null;
  /** When the first donation was paid, in UTC; null until then. */
  startedAt: string | null;
  /** When the next donation is charged, in UTC; null if none is scheduled. */
  nextDonationAt: string | null;
  /** When the pause ends, in UTC; null if it has no end, or if there is no pause. */
  pausedUntil: string | null;
  /**
   * Who paused it; `organisation_cannot_receive`: the nonprofit cannot receive donations now. Currently one of
   * `donor`, `organisation_cannot_receive`, `partner`; more may be added.
   */
  pauseReason: "donor" | "organisation_cannot_receive" | "partner" | (string & {}) | null;
  /** When it was cancelled, in UTC; null if it was not. */
  cancelledAt: string | null;
  /**
   * Why it ended. `not_started`: the first donation was not paid. `payment_failed`: no donation could be charged
   * for 28 days. `revoked`: the donor revoked the authorisation at the bank. Currently one of `donor`,
   * `donor_erased`, `not_started`, `partner`, `payment_failed`, `payment_method_not_saved`, `revoked`; more may be
   * added.
   */
  cancellationReason: "donor" | "donor_erased" | "not_started" | "partner" | "payment_failed" | "payment_method_not_saved" | "revoked" | (string & {}) | null;
  /** The change that waits for the donor's agreement. */
  pendingChange: PendingChange | null;
  /** The payment method for later donations; null before the first one. */
  paymentMethod: PaymentMethod | null;
  /** The number of paid donations, including the first. */
  donationsCount: number;
  /** The total of the paid donations, in the currency's minor unit; refunds are not deducted. */
  totalAmount: number;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** Who decided what, when, and on what evidence. */
export interface DossierDecision {
  /** The outcome. */
  verdict: string;
  /** Why it was rejected, for programs; null if it was not. */
  reasonCode: string | null;
  /** `rules`, `sandbox`, or the operator's identifier. */
  decidedBy: string;
  /** The reasons of the rules. Operators' notes are not included. */
  note: string | null;
  /** When it was decided, in UTC; null until then. */
  decidedAt: string;
}

/** An attached document, identified by its hash. */
export interface DossierDocument {
  /** Its identifier. */
  id: string;
  /** Media type, such as `application/pdf`. */
  mediaType: string;
  /** Size in bytes. */
  size: number;
  /** Hash of the file, hexadecimal. */
  sha256: string;
  /** The result of the virus scan. */
  scanStatus: string;
  /** Warnings about the file. */
  flags: Array<string>;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it was deleted, in UTC; null unless it was. */
  deletedAt: string | null;
}

/** One evaluation with its facts and steps. */
export interface DossierEvaluation {
  /** When it was evaluated, in UTC. */
  evaluatedAt: string;
  /** Why the subscription was evaluated. */
  occasion: string | null;
  /** The outcome. */
  outcome: string | null;
  /** Why a reviewer has to decide. */
  reasons: Array<DossierReason>;
  /** Facts such as the match score and the threshold at that time. */
  facts: Record<string, unknown>;
  /** The steps, in their order. */
  steps: Array<DossierStep>;
}

/** Why a reviewer was asked. */
export interface DossierReason {
  /** Code for programs. */
  code: string;
  /** A message for people; its wording may change. */
  message: string;
}

/** A review with its questions and outcome. */
export interface DossierReview {
  /** When a reviewer was asked, in UTC. */
  askedAt: string;
  /** Why a reviewer has to decide. */
  reasons: Array<DossierReason>;
  /** The status. */
  status: string;
  /** When it ended, in UTC; null if it has not ended. */
  endedAt: string | null;
}

/** One step: its finding, the source with its version and date, and the facts. */
export interface DossierStep {
  /** Its name. */
  name: string;
  /** The outcome. */
  verdict: string;
  /** Code for programs. */
  code: string | null;
  /** The published list that contains the data. */
  source: string | null;
  /** Version of the watchlist. */
  version: string | null;
  /** The day of the register's data. */
  dataAsOf: string | null;
  /** The facts that were compared, by name. */
  facts: Record<string, unknown>;
  /** Whether the reader of its source has never been tested on a real file. */
  unverified: boolean;
}

/** The request in its dossier. Documents are listed separately with their hashes, because links expire. */
export interface DossierValidationRequest {
  /** Its identifier. */
  id: string;
  /** The organisation, once the request is accepted. */
  organisationId: string | null;
  /** The types of the organisation. */
  organisationTypes: Array<"education" | "nonprofit" | "social_impact" | (string & {})>;
  /** Its name. */
  name: string;
  /** Name of the registry. */
  registryName: string;
  /** The registration number in the registry. */
  registryId: string;
  /** Email address. */
  email: string | null;
  /** Street and number. */
  addressLine1: string | null;
  /** The rest of the street address. */
  addressLine2: string | null;
  /** City or town. */
  city: string | null;
  /** State, province or county. */
  state: string | null;
  /** Postcode. */
  postal: string | null;
  /** Web address. */
  website: string;
  /** Three letters (ISO 3166-1 alpha-3). */
  countryCode: string;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it was deleted, in UTC; null unless it was. */
  deletedAt: string | null;
  /** When it was accepted, in UTC; null if it was not. */
  acceptedAt: string | null;
  /** When it was rejected, in UTC; null if it was not. */
  rejectedAt: string | null;
  /** Why it was rejected, for people; null if it was not. */
  rejectionReason: string | null;
  /**
   * Why it was rejected, for programs; null if it was not. Currently one of `incorrect_documentation`,
   * `not_attributable_to_registry`, `not_eligible`, `other`; more may be added.
   */
  rejectionReasonCode: "incorrect_documentation" | "not_attributable_to_registry" | "not_eligible" | "other" | (string & {}) | null;
  /** Whether the organisation is covered by an IRS group exemption; null outside the United States. */
  usaGroupExempt: boolean | null;
}

/** A nonprofit of an earlier application. */
export interface EarlierApplication {
  /** Its name. */
  name: string;
  /** The organisation. */
  organisationId: string | null;
  /** The validation submission. */
  validationSubmissionId: string;
  /** The validation request. */
  validationRequestId: string | null;
}

/** A confirmed activity. `rule` is the rule that assigned it: `ntee:B25`, `ccew:102`, `name:church`. */
export interface EligibilityDecidedSubTag {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** The tag of the sub-tag. */
  tag: EligibilityTag;
  /** A description in one or two sentences. */
  description: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
  /** The rule that assigned the activity, such as `ntee:B25`. */
  rule: string;
}

/** One evaluation with its evidence. */
export interface EligibilityEvaluation {
  /** When, in UTC. */
  at: string;
  /**
   * Why it was evaluated. Currently one of `configuration_changed`, `created`, `organisation_changed`,
   * `rules_changed`, `simulated`; more may be added.
   */
  occasion: "configuration_changed" | "created" | "organisation_changed" | "rules_changed" | "simulated" | (string & {});
  /** The organisation whose record was evaluated. */
  organisationId: string;
  /** Whether the organisation's activities are allowed. Currently one of `fail`, `pass`; more may be added. */
  eligibilityStatus: "fail" | "pass" | (string & {}) | null;
  /** What the configuration allowed; null for everything. */
  allowedActivitySubTags: Array<string> | null;
  /** The finding for each activity. */
  findings: Array<EligibilityFinding>;
  /** Whether the results changed, so that an event was sent. */
  resultsChanged: boolean;
}

/** The organisation's activities, and those that are not allowed. */
export interface EligibilityFailure {
  /**
   * The status. Currently one of `cancelled`, `cannot_define_eligibility`, `live`, `pending`,
   * `pending_validation_request`, `validation_request_failed`; more may be added.
   */
  status: "cancelled" | "cannot_define_eligibility" | "live" | "pending" | "pending_validation_request" | "validation_request_failed" | (string & {});
  /** What was found. */
  results: EligibilityResults;
}

/**
 * The finding for one activity.
 *
 * `rule` is the rule that assigned it; null for a suggested activity without a rule.
 */
export interface EligibilityFinding {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** The rule that assigned the activity, such as `ntee:B25`. */
  rule: string | null;
  /** Whether you suggested it. */
  suggested: boolean;
  /** The outcome. Currently one of `confirmed`, `left_out`, `rejected`; more may be added. */
  verdict: "confirmed" | "left_out" | "rejected" | (string & {});
}

/** The results of an eligibility subscription. */
export interface EligibilityResults {
  /**
   * `pass` when at least one confirmed activity is allowed; null until it is known. Currently one of `fail`,
   * `pass`; more may be added.
   */
  eligibilityStatus: "fail" | "pass" | (string & {}) | null;
  /** Activities that have been confirmed. */
  confirmedActivitySubTags: Array<EligibilityDecidedSubTag>;
  /** Confirmed activities that the configuration does not allow. */
  rejectedActivitySubTags: Array<EligibilityDecidedSubTag>;
}

/** A suggested activity. */
export interface EligibilitySubTag {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** The tag of the sub-tag. */
  tag: EligibilityTag;
  /** A description in one or two sentences. */
  description: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** An eligibility subscription as partners see it. */
export interface EligibilitySubscription {
  /** Its identifier. */
  id: string;
  /** The organisation; with a validation request, once it is accepted. */
  organisationId: string | null;
  /** The organisation's name. */
  organisationName: string;
  /** The validation request. */
  validationRequestId: string | null;
  /** The submission configuration whose rules apply; null for the default rules. */
  configurationId: string | null;
  /** The activities that you suggested; empty with a test value of the sandbox. */
  suggestedActivitySubTags: Array<EligibilitySubTag>;
  /**
   * The status. Currently one of `cancelled`, `cannot_define_eligibility`, `live`, `pending`,
   * `pending_validation_request`, `validation_request_failed`; more may be added.
   */
  status: "cancelled" | "cannot_define_eligibility" | "live" | "pending" | "pending_validation_request" | "validation_request_failed" | (string & {});
  /** What was found. */
  results: EligibilityResults;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** The tag of a sub-tag. */
export interface EligibilityTag {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** A description in one or two sentences. */
  description: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** An event. `eventType` determines the type of `eventData`. Clients must accept unknown types. */
export interface Event {
  /** Identifies the event; the same in each delivery. */
  id: string;
  /** The event's number, without gaps for each partner. A delivery has it in its header `Service-Sequence`. */
  sequence?: number;
  /** When it happened, in UTC. */
  createdAt: string;
  /** What happened. More types may be added. */
  eventType: "validation_request.approved" | "validation_request.rejected" | "validation_request_document.rejected" | "validation_submission_document.rejected" | "agent_verification.pending_user_verification" | "agent_verification.pending_review" | "agent_verification.approved" | "agent_verification.rejected" | "monitoring_subscription.updated" | "eligibility_subscription.updated" | "validation_submission.created" | "validation_submission.succeeded" | "validation_submission.failed" | "validation_submission.updated" | "donation.created" | "donation.hosted.payment_received" | "donation.payment_successful" | "donation.payment_requested" | "donation.settled" | "donation.disbursed" | "donation.cancelled" | "donation.reassigned" | "donation.refunded" | "donation.disputed" | "donation.dispute_closed" | "donation.receipt_undeliverable" | "donation.payout_returned" | "donation_subscription.created" | "donation_subscription.updated" | "donation_subscription.payment_failed" | "donation_subscription.cancelled" | "donation_session.completed" | "donation_session.expired" | "donation_request.created" | "donation_request.updated" | "disbursement.created" | "disbursement.updated" | "validation_invite.completed" | "validation_invite.expired" | "monetary_donation_verification.received" | "monetary_donation_verification.progressed" | "organisation.updated" | "webhook_subscription.failing" | "webhook_subscription.suspended" | (string & {});
  /** The record as `GET` would have returned it then; it never changes. */
  eventData: Record<string, unknown>;
}

/** A declaration. With a publishable key, the response contains only `id` and `createdAt`. */
export interface GiftAid {
  /** Its identifier. */
  id: string;
  /** When it was created, in UTC. */
  createdAt: string;
  /** Your user who donates. */
  userId?: string | null;
  /** How the donor is addressed, such as `Dr`. */
  title?: string | null;
  /** First name. */
  firstName?: string | null;
  /** Last name. */
  lastName?: string | null;
  /** Name or number of the donor's house. */
  buildingNameNumber?: string | null;
  /** Road. */
  roadName?: string | null;
  /** City or town. */
  city?: string | null;
  /** Country, as written in an address. */
  country?: string | null;
  /** Postcode. */
  postcode?: string | null;
  /** The start of the period that the declaration covers, in UTC. */
  coversFrom?: string | null;
  /** The end of the period that the declaration covers, in UTC (exclusive); null if it has no end. */
  coversTo?: string | null;
  /** When it was deleted, in UTC; null unless it was. */
  deletedAt?: string | null;
}

/** A giving link as partners see it. Send donors to `url`. */
export interface GivingLink {
  /** Its identifier. */
  id: string;
  /** The page. */
  url: string;
  /** The end of the link's URL. */
  slug: string;
  /** The URL as a QR code to print. */
  qrCode: QrCode;
  /** The heading of the page. */
  title: string;
  /** The text of the page, as plain text. */
  text: string | null;
  /** URL of the image; null if there is none. */
  imageUrl: string | null;
  /** The organisations from which donors choose one; null if `categoryId` is set. */
  organisationIds: Array<string> | null;
  /** The category from which donors choose an organisation; null if `organisationIds` is set. */
  categoryId: string | null;
  /** Amounts to choose from, in minor units; null for the currency's default amounts. */
  suggestedAmounts: Array<number> | null;
  /** The minimum donation, in minor units; null for the currency's default. */
  minimum: number | null;
  /** The maximum donation, in minor units; null for the currency's default. */
  maximum: number | null;
  /** The currencies from which donors choose one; null for all that the organisation can receive. */
  currencies: Array<string> | null;
  /** How often donors can donate. */
  frequencies: Array<"monthly" | "one_time" | "quarterly" | "weekly" | "yearly" | (string & {})>;
  /** Purposes from which the donor chooses one; null if there is no choice. */
  designations: Array<string> | null;
  /** The fundraising goal in minor units, shown on the page. */
  goal: number | null;
  /** Whether the page shows the amount raised and the number of donors. */
  showsProgress: boolean;
  /** Whether donors can dedicate their donation to somebody. */
  offersDedication: boolean;
  /** Sites that can show the form in a dialog; null for none. */
  allowedOrigins: Array<string> | null;
  /** Where the donor is redirected after donating; null for our own page. */
  successUrl: string | null;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** Whether donors can donate through the link. */
  active: boolean;
  /** When the link stops accepting donations, in UTC; null for never. */
  expiresAt: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** The newest declaration of a user. */
export interface HasGiftAid {
  /** Its identifier. */
  id: string;
}

/** The session of a hosted donation. */
export interface HostedDonation {
  /** The donation session. */
  sessionId: string;
}

/** Why an organisation is among the results, with the header `Explain: true`. */
export interface MatchExplanation {
  /** The part of the organisation that matches the query. */
  foundBy: "beginning" | "description" | "initials" | "name" | "number" | "place" | "words" | (string & {}) | "filters" | (string & {});
  /** The similarity of the name and the query, from 0 to 100. */
  likeness: number | null;
  /** Whether it contains all words of the query as typed. */
  asTyped: boolean | null;
  /** Words of the query that it contains differently, only in its description, or not at all. */
  notAsTyped: Array<string> | null;
}

/** A goal that a nonprofit publishes. */
export interface Milestone {
  /** Its identifier. */
  id: string;
  /** In the currency's minor unit, such as cents. */
  amount: number;
  /** What will happen when the milestone is reached. */
  reward: string;
  /** ISO 4217 code of the currency, such as `USD`. */
  currencyCode: string;
  /** The organisation. */
  organisationId: string;
}

/** One check. */
export interface MonetaryDonationCheck {
  /**
   * The type. Currently one of `bank_details`, `compliance`, `organisation_confirmation`, `registration`; more may
   * be added.
   */
  type: "bank_details" | "compliance" | "organisation_confirmation" | "registration" | (string & {});
  /** The status. Currently one of `failed`, `pending`, `succeeded`; more may be added. */
  status: "failed" | "pending" | "succeeded" | (string & {});
}

/** A monetary donation verification as partners see it. */
export interface MonetaryDonationVerification {
  /** Its identifier. */
  id: string;
  /** The organisation. */
  organisationId: string;
  /** The status. */
  status: MonetaryDonationVerificationStatus;
  /** All four checks. */
  checks: Array<MonetaryDonationCheck>;
  /**
   * Why it was rejected, for programs; null if it was not. Currently one of `declined_by_organisation`,
   * `failed_compliance`, `no_response`, `not_eligible`, `other`; more may be added.
   */
  rejectionReasonCode: "declined_by_organisation" | "failed_compliance" | "no_response" | "not_eligible" | "other" | (string & {}) | null;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
  /** When the pending verification expires, in UTC; null once it is decided. */
  expiresAt: string | null;
  /** When it was decided, in UTC; null until then. */
  processedAt: string | null;
}

/** The status of the verification, and whether the organisation must act next. */
export interface MonetaryDonationVerificationStatus {
  /** The type. Currently one of `approved`, `expired`, `pending`, `rejected`; more may be added. */
  type: "approved" | "expired" | "pending" | "rejected" | (string & {});
  /** Whether the organisation still has to provide something or answer. */
  awaitingAnswerFromOrganisation: boolean;
}

/** The findings of the lists in a category. */
export interface MonitoringCategory {
  /**
   * Null until a list of the category is screened, while a match is being decided, and if a name cannot be
   * compared. Currently one of `clear`, `flag`; more may be added.
   */
  status: "clear" | "flag" | (string & {}) | null;
}

/** The results from a given time on, with their cause and evidence. */
export interface MonitoringChange {
  /** When, in UTC. */
  at: string;
  /**
   * Why the organisation was evaluated. Currently one of `chosen`, `configuration_changed`, `created`,
   * `register_changed`, `request_decided`, `screening_changed`; more may be added.
   */
  occasion: "chosen" | "configuration_changed" | "created" | "register_changed" | "request_decided" | "screening_changed" | (string & {});
  /** What was found. */
  results: MonitoringResults;
  /** The categories whose flags failed compliance at that time. */
  complianceFlags: Array<"adverseMedia" | "commercial" | "controversial" | "hateSpeech" | "sanction" | "warning" | (string & {})> | null;
  /** The published lists on which the data is based. */
  sources: Array<MonitoringSource>;
  /** Watchlist entries that may be the organisation. */
  matches: Array<MonitoringMatch>;
}

/** An entry of a list that may be the organisation, and a reviewer's decision about it. */
export interface MonitoringMatch {
  /** Name of the watchlist. */
  list: string;
  /** Version of the watchlist. */
  version: string;
  /**
   * The category of watchlists. Currently one of `adverseMedia`, `commercial`, `controversial`, `hateSpeech`,
   * `sanction`, `warning`; more may be added.
   */
  category: "adverseMedia" | "commercial" | "controversial" | "hateSpeech" | "sanction" | "warning" | (string & {});
  /** The entry's number in its list. */
  entry: string;
  /** The similarity of the two, from 0 to 1. */
  score: number;
  /**
   * `open` until a reviewer decides that they are the same (`confirmed`) or not (`cleared`). Currently one of
   * `cleared`, `confirmed`, `open`; more may be added.
   */
  decision: "cleared" | "confirmed" | "open" | (string & {});
}

/** The organisation that is monitored. */
export interface MonitoringOrganisation {
  /** Its name. */
  name: string;
}

/** The finding of the register. */
export interface MonitoringRegistration {
  /** Null until it is known, and if no register shows it. Currently one of `no`, `yes`; more may be added. */
  active: "no" | "yes" | (string & {}) | null;
}

/** The results of a monitoring subscription. Every field is null until its result is known. */
export interface MonitoringResults {
  /**
   * `fail` if a category that counts is flagged: by default sanction, warning and hateSpeech. Currently one of
   * `fail`, `pass`; more may be added.
   */
  complianceStatus: "fail" | "pass" | (string & {}) | null;
  /** Official warnings. */
  warning: MonitoringCategory;
  /** Sanctions lists. */
  sanction: MonitoringCategory;
  /** Lists of organisations that spread hate. */
  hateSpeech: MonitoringCategory;
  /** Lists of commercial offences. */
  commercial: MonitoringCategory;
  /** Reports of wrongdoing in the media. */
  adverseMedia: MonitoringCategory;
  /** Lists of controversial organisations. */
  controversial: MonitoringCategory;
  /** The information in the register. */
  registration: MonitoringRegistration;
}

/** A list that was checked for a category, and its version. */
export interface MonitoringSource {
  /** Name of the watchlist. */
  list: string;
  /** Version of the watchlist. */
  version: string;
  /**
   * The category of watchlists. Currently one of `adverseMedia`, `commercial`, `controversial`, `hateSpeech`,
   * `sanction`, `warning`; more may be added.
   */
  category: "adverseMedia" | "commercial" | "controversial" | "hateSpeech" | "sanction" | "warning" | (string & {});
  /**
   * `not_screened`: not all names of the organisation could be compared with it. Currently one of `not_screened`,
   * `screened`; more may be added.
   */
  status: "not_screened" | "screened" | (string & {});
  /**
   * Why the list was not screened: a name is in a script that cannot be compared, or has no words. Currently one
   * of `no_words`, `script_not_supported`, `script_uncertain`; more may be added.
   */
  reason: "no_words" | "script_not_supported" | "script_uncertain" | (string & {}) | null;
}

/** A monitoring subscription as partners see it. */
export interface MonitoringSubscription {
  /** Its identifier. */
  id: string;
  /** The organisation; with a validation request, once it is accepted. */
  organisationId: string | null;
  /** The validation request. */
  validationRequestId: string | null;
  /** The submission configuration whose rules apply; null for the default rules. */
  configurationId: string | null;
  /**
   * The status. Currently one of `cancelled`, `live`, `pending`, `pending_validation_request`,
   * `validation_request_failed`; more may be added.
   */
  status: "cancelled" | "live" | "pending" | "pending_validation_request" | "validation_request_failed" | (string & {});
  /** The organisation. */
  organisation: MonitoringOrganisation | null;
  /** What was found. */
  results: MonitoringResults;
  /** The published lists on which the data is based. */
  sources: Array<MonitoringSource>;
  /** The matches: confirmed, open and cleared. */
  matches: Array<MonitoringMatch>;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** An organisation as partners see it. */
export interface Organisation {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** The name to show, if it differs from the registered one. */
  displayName: string | null;
  /** A description in one or two sentences. */
  description: string;
  /** Three letters (ISO 3166-1 alpha-3). */
  countryCode: string;
  /** The registry that lists it. */
  registry: string;
  /** Name of the registry. */
  registryName: string;
  /** The registration number in the registry. */
  registryId: string;
  /** The types of the organisation. */
  types: Array<"education" | "nonprofit" | "social_impact" | (string & {})>;
  /** Whether the register lists the organisation as active. */
  active: boolean;
  /** Whether it can receive donations: it is active, and one of its types is `nonprofit`. */
  acceptsDonations: boolean;
  /**
   * Why it is not active; null while it is. Currently one of `merged`, `removed`, `reregistered`, `revoked`,
   * `terminated`; more may be added.
   */
  inactiveReason: "merged" | "removed" | "reregistered" | "revoked" | "terminated" | (string & {}) | null;
  /** The successor after a merger or a new registration. */
  succeededBy: string | null;
  /** Your categories that contain this organisation. */
  categories: Array<OrganisationCategory>;
  /** The organisation's activities. */
  activitySubTags: Array<ActivitySubTag>;
  /** URL of the logo; null if there is none. */
  logo: string | null;
  /** URLs of the images. */
  images: Array<string>;
  /** Web address. */
  website: string | null;
  /** All web addresses of the organisation. */
  websites: Array<string>;
  /** The whole postal address in one line. */
  address: string | null;
  /** Street and number. */
  addressLine1: string | null;
  /** The rest of the street address. */
  addressLine2: string | null;
  /** City or town. */
  city: string | null;
  /** State, province or county. */
  state: string | null;
  /** Postcode. */
  postcode: string | null;
  /** When it was registered, in UTC. */
  registrationDate: string | null;
  /** The currency that its donations are paid out in (ISO 4217). */
  currencyCode: string | null;
  /** When an agent of the organisation was first verified, in UTC. */
  claimedAt: string | null;
  /** Whether the organisation has branches. */
  isBranchParent: boolean;
  /** The main organisation of this branch. */
  branchOf: string | null;
  /** Details that only registers of one country have. */
  countrySpecificProperties: CountrySpecificProperties;
  /** The published lists on which the data is based. */
  sources: Array<OrganisationSource>;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
  /** Why the organisation is among the results; only with the header `Explain: true`. */
  explain?: MatchExplanation;
}

/** How an organisation is shown. */
export interface OrganisationBranding {
  /** The organisation. */
  organisationId: string;
  /** The name to show, if it differs from the registered one. */
  displayName: string;
  /** A description in one or two sentences. */
  description: string;
  /** URL of the logo; null if there is none. */
  logo: string | null;
  /** URLs of the images. */
  images: Array<string>;
  /** Colour of buttons and links, such as `#0d5c4a`. */
  primaryColor: string | null;
}

/** A category of the calling partner that the organisation is in. */
export interface OrganisationCategory {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** Your own data: text, numbers and booleans by key. */
  attributes: Record<string, string | boolean | number> | null;
  /** URL of the image; null if there is none. */
  imageUrl: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** A changed field of the record, with the day of the data. */
export interface OrganisationChange {
  /** When, in UTC. */
  at: string;
  /**
   * What happened. Currently one of `branch`, `changed`, `joined`, `listed_again`, `merged`, `moved`, `parted`,
   * `reinstated`, `removed`, `renamed`, `reregistered`, `revoked`, `taken_back`, `terminated`; more may be added.
   */
  kind: "branch" | "changed" | "joined" | "listed_again" | "merged" | "moved" | "parted" | "reinstated" | "removed" | "renamed" | "reregistered" | "revoked" | "taken_back" | "terminated" | (string & {});
  /** The field of the organisation that changed. */
  field: string;
  /** The value until then. */
  from: unknown;
  /** The value from then on. */
  to: unknown;
  /** The published list that contains the data. */
  source: string;
}

/** The public information about an organisation. */
export interface OrganisationProfile {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** The name to show, if it differs from the registered one. */
  displayName: string | null;
  /** A description in one or two sentences. */
  description: string;
  /** URL of the logo; null if there is none. */
  logo: string | null;
}

/** A published list that contains the organisation. */
export interface OrganisationSource {
  /** Name of the registry. */
  registryName: string;
  /** The registration number in the registry. */
  registryId: string;
  /** The day of its data. */
  dataAsOf: string | null;
  /** The published list, such as `irs-bmf`. */
  source: string | null;
  /** Whether its reader has never been tested on a real file. No request is decided by such a source alone. */
  unverified: boolean;
  /** Whether its data is older than its maximum age. */
  stale: boolean;
}

/** A question of the hosted form. */
export interface PartnerField {
  /** Your ID for the question; answers use the same ID. */
  id: string;
  /** The type. Currently one of `choice`, `long_text`, `number`, `short_text`, `url`; more may be added. */
  type: "choice" | "long_text" | "number" | "short_text" | "url" | (string & {});
  /** Whether applicants must answer the question. */
  required: boolean;
  /** The text that applicants read, by language tag. */
  labels: Record<string, string>;
  /** The answers to choose from; only for the type `choice`. */
  choices: Array<PartnerFieldChoice>;
}

/** One choice of a question. */
export interface PartnerFieldChoice {
  /** The value of the answer, for programs. */
  value: string;
  /** The text that applicants read, by language tag. */
  labels: Record<string, string>;
}

/** One choice of a question. */
export interface PartnerFieldChoiceParams {
  /** The value of the answer, for programs. */
  value: string;
  /** By language tag: at least one, of up to 300 characters. */
  labels: Record<string, string>;
}

/** A question of your own in the hosted form. */
export interface PartnerFieldParams {
  /** Your ID for the question; answers use the same ID. */
  id: string;
  /** The type. */
  type: "short_text" | "long_text" | "choice" | "number" | "url";
  /** Whether applicants must answer the question. */
  required?: boolean;
  /** By language tag: at least one, of up to 300 characters. */
  labels: Record<string, string>;
  /** Of type `choice`: 2 to 50. */
  choices?: Array<PartnerFieldChoiceParams>;
}

/** The payment method for later donations, as the payment provider shows it. */
export interface PaymentMethod {
  /** The type. Currently always `card`; more may be added. */
  type: string;
  /** The card's brand; null if it is not a card. */
  brand: string | null;
  /** The last four digits of the card or account. */
  last4: string | null;
  /** When the card expires, in UTC; null if it does not expire. */
  expiresAt: string | null;
}

/** A change that waits until the donor agrees to it. */
export interface PendingChange {
  /** The new amount of each donation, in the currency's minor unit. */
  amount: number;
  /** The new frequency. Currently one of `monthly`, `quarterly`, `weekly`, `yearly`; more may be added. */
  frequency: "monthly" | "quarterly" | "weekly" | "yearly" | (string & {});
  /** When it was requested, in UTC. */
  requestedAt: string;
}

/** The link's URL as a QR code to print. */
export interface QrCode {
  /** URL of the QR code as SVG. */
  svg: string;
  /** URL of the QR code as PNG. */
  png: string;
}

/**
 * A registry as partners see it; `dataAsOf` and `unverified` are null while its register is not loaded.
 *
 * `unverified` is true when every reader of its files was written from their layout alone: then nothing is decided
 * by this registry without a person.
 */
export interface Registry {
  /** The registry's identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** Its name in English. */
  englishName: string;
  /** Code for programs. */
  code: string;
  /** Three letters (ISO 3166-1 alpha-3). */
  countryCode: string;
  /** The day of the register's data. */
  dataAsOf: string | null;
  /** Whether the reader for this data has never been tested on a real file. */
  unverified: boolean | null;
  /** The published lists on which the data is based. */
  sources: Array<RegistrySource>;
}

/** A published file with a registry's organisations, and the day of its data. */
export interface RegistrySource {
  /** The published list that contains the data. */
  source: string;
  /** Whether the reader for this data has never been tested on a real file. */
  unverified: boolean;
  /** The day of the register's data. */
  dataAsOf: string;
}

/** Why the nonprofit is not valid. */
export interface RequestFailure {
  /**
   * Why it was rejected, for programs; null if it was not. Currently one of `incorrect_documentation`,
   * `not_attributable_to_registry`, `not_eligible`, `other`; more may be added.
   */
  rejectionReasonCode: "incorrect_documentation" | "not_attributable_to_registry" | "not_eligible" | "other" | (string & {});
}

/** A file attached to an email. `size` in bytes; `url` downloads it without a key. */
export interface SandboxAttachment {
  /** Its name. */
  name: string;
  /** Media type, such as `application/pdf`. */
  mediaType: string;
  /** Size in bytes. */
  size: number;
  /** Its address. */
  url: string;
}

/** The sandbox's clock. `remaining`: work that is due by now and not done yet. */
export interface SandboxClock {
  /** The sandbox's current time, in UTC. */
  now: string;
  /** How far the sandbox clock is ahead of real time, in seconds. */
  offsetSeconds: number;
  /** The number of jobs that are due and not done yet. */
  remaining: number;
}

/** An email that the sandbox would have sent. */
export interface SandboxMail {
  /** Who sent it. */
  from: string;
  /** The recipient. */
  to: string;
  /** Subject line. */
  subject: string;
  /** The message as plain text. */
  text: string;
  /** The message as HTML. */
  html: string;
  /** URLs of the links in the email. */
  links: Array<string>;
  /** Its attachments. */
  attachments: Array<SandboxAttachment>;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** The amount that arrived after conversion, in minor units. */
export interface SettledAmount {
  /** In the currency's minor unit, such as cents. */
  amount: number;
  /** ISO 4217 code of the currency, such as `USD`. */
  currency: string;
}

/** One activity of a tag. */
export interface SubTag {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** The tag of the sub-tag. */
  tagId: string;
  /** A description in one or two sentences. */
  description: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** The agent verification. */
export interface SubmissionAgentVerification {
  /** Its identifier. */
  id: string;
  /** Email address. */
  email: string | null;
  /** First name. */
  firstName: string | null;
  /** Last name. */
  lastName: string | null;
  /**
   * The status. Currently one of `approved`, `pending`, `pending_review`, `pending_user_verification`, `rejected`;
   * more may be added.
   */
  status: "approved" | "pending" | "pending_review" | "pending_user_verification" | "rejected" | (string & {});
  /** Why it was rejected, for people; null if it was not. */
  rejectionReason: string | null;
  /**
   * Why it was rejected, for programs; null if it was not. Currently one of `blank_corrupted_documentation`,
   * `fake_documentation`, `fake_email_used`, `invalid_documentation`, `mismatched_information`,
   * `no_online_presence`, `nonprofit_association_expired`, `other`, `reapply`, `suspicious_application`,
   * `user_failed_percent_review`, `user_verification_expired`, `validation_request_failed`; more may be added.
   */
  rejectionReasonCode: "blank_corrupted_documentation" | "fake_documentation" | "fake_email_used" | "invalid_documentation" | "mismatched_information" | "no_online_presence" | "nonprofit_association_expired" | "other" | "reapply" | "suspicious_application" | "user_failed_percent_review" | "user_verification_expired" | "validation_request_failed" | (string & {}) | null;
  /** Language of pages and emails (RFC 5646). */
  language: string;
}

/** The newest appeal. */
export interface SubmissionAppeal {
  /** Its identifier. */
  id: string;
  /** The status. Currently one of `open`, `reversed`, `upheld`; more may be added. */
  status: "open" | "reversed" | "upheld" | (string & {});
  /** The deadline for the decision. */
  dueAt: string;
}

/** The configuration. */
export interface SubmissionConfiguration {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string | null;
}

/** The check `eligibility`. */
export interface SubmissionEligibility {
  /**
   * The status. Currently one of `cancelled`, `cannot_define_eligibility`, `live`, `pending`,
   * `pending_validation_request`, `validation_request_failed`; more may be added.
   */
  status: "cancelled" | "cannot_define_eligibility" | "live" | "pending" | "pending_validation_request" | "validation_request_failed" | (string & {});
  /** What was found. */
  results: EligibilityResults;
}

/** The failure reasons by check, only for failed checks. */
export interface SubmissionFailureReasons {
  /** Why the validation request was rejected. */
  validation_request?: RequestFailure;
  /** Why the agent is not verified. */
  agent_verification?: AgentFailure;
  /** The result of screening against watchlists. */
  compliance?: ComplianceFailure;
  /** The check of the organisation's activities. */
  eligibility?: EligibilityFailure;
}

/** The check `compliance`. */
export interface SubmissionMonitoring {
  /**
   * The status. Currently one of `cancelled`, `live`, `pending`, `pending_validation_request`,
   * `validation_request_failed`; more may be added.
   */
  status: "cancelled" | "live" | "pending" | "pending_validation_request" | "validation_request_failed" | (string & {});
  /** What was found. */
  results: MonitoringResults;
}

/** The organisation. */
export interface SubmissionOrganisation {
  /** Its name. */
  name: string;
  /** Three letters (ISO 3166-1 alpha-3). */
  countryCode: string;
}

/** A missing item, and who must provide it. */
export interface SubmissionRequirement {
  /**
   * The check that needs this requirement. Currently one of `agent_verification`, `compliance`, `eligibility`,
   * `validation_request`; more may be added.
   */
  check: "agent_verification" | "compliance" | "eligibility" | "validation_request" | (string & {});
  /**
   * Code for programs. Currently one of `association`, `confirmation`, `registration_evidence`, `review`; more may
   * be added.
   */
  code: "association" | "confirmation" | "registration_evidence" | "review" | (string & {});
  /** Who has to act. Currently one of `applicant`, `nonprofit`, `reviewer`; more may be added. */
  from: "applicant" | "nonprofit" | "reviewer" | (string & {});
  /** A message for people; its wording may change. */
  message: string;
  /** Alternatives, each of which is enough. */
  accepted: Array<string>;
  /** Since when, in UTC. */
  since: string;
  /** The deadline, in UTC; null if there is none. */
  due: string | null;
  /** Where the registration was looked up. */
  registryName?: string | null;
  /** The number that was looked up. */
  registryId?: string | null;
}

/** The validation request. */
export interface SubmissionValidationRequest {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
  /** When it was accepted, in UTC; null if it was not. */
  acceptedAt: string | null;
  /** When it was rejected, in UTC; null if it was not. */
  rejectedAt: string | null;
  /** The types of the organisation. */
  organisationTypes: Array<"education" | "nonprofit" | "social_impact" | (string & {})>;
}

/** The earlier applications, newest first; at most 100. */
export interface SubmissionsOrganisations {
  /** The earlier applications. */
  results: Array<EarlierApplication>;
  /** Whether there are older ones; use a narrower filter to find them. */
  hasMore: boolean;
}

/** The tag of a sub-tag. */
export interface TagName {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string;
}

/** A user as partners see it. */
export interface User {
  /** Its identifier. */
  id: string;
  /** The organisation. */
  organisationId: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it was deleted, in UTC; null unless it was. */
  deletedAt: string | null;
}

/** The response to a change of a user's default organisation. */
export interface UserOrganisation {
  /** Your user who donates. */
  userId: string;
  /** The organisation. */
  organisationId: string;
  /** When it was set, in UTC. */
  timestamp: string;
}

/** An invite as partners see it. Send the applicant to `url`. */
export interface ValidationInvite {
  /** Its identifier. */
  id: string;
  /** The status. Currently one of `complete`, `expired`, `open`; more may be added. */
  status: "complete" | "expired" | "open" | (string & {});
  /** The submission configuration of the hosted form. */
  hostedConfigId: string | null;
  /** Where the applicant is redirected after the form; null for our own page. */
  redirectUrl: string | null;
  /** Language of pages and emails (RFC 5646). */
  language: string;
  /** The hosted form. */
  url: string;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it expires, in UTC. */
  expiresAt: string;
}

/** A validation request as partners see it. */
export interface ValidationRequest {
  /** Its identifier. */
  id: string;
  /** The organisation, once the request is accepted. */
  organisationId: string | null;
  /** The types of the organisation. */
  organisationTypes: Array<"education" | "nonprofit" | "social_impact" | (string & {})>;
  /** Its name. */
  name: string;
  /** Name of the registry. */
  registryName: string;
  /** The registration number in the registry. */
  registryId: string;
  /** Email address. */
  email: string | null;
  /** Street and number. */
  addressLine1: string | null;
  /** The rest of the street address. */
  addressLine2: string | null;
  /** City or town. */
  city: string | null;
  /** State, province or county. */
  state: string | null;
  /** Postcode. */
  postal: string | null;
  /** Web address. */
  website: string;
  /** Three letters (ISO 3166-1 alpha-3). */
  countryCode: string;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it was deleted, in UTC; null unless it was. */
  deletedAt: string | null;
  /** When it was accepted, in UTC; null if it was not. */
  acceptedAt: string | null;
  /** When it was rejected, in UTC; null if it was not. */
  rejectedAt: string | null;
  /** Why it was rejected, for people; null if it was not. */
  rejectionReason: string | null;
  /**
   * Why it was rejected, for programs; null if it was not. Currently one of `incorrect_documentation`,
   * `not_attributable_to_registry`, `not_eligible`, `other`; more may be added.
   */
  rejectionReasonCode: "incorrect_documentation" | "not_attributable_to_registry" | "not_eligible" | "other" | (string & {}) | null;
  /** Whether the organisation is covered by an IRS group exemption; null outside the United States. */
  usaGroupExempt: boolean | null;
  /** The attached documents. */
  documents: Array<ValidationRequestDocument>;
}

/** An attached document. `url` is valid for a few minutes; each GET returns a new one. */
export interface ValidationRequestDocument {
  /** Its identifier. */
  id: string;
  /** The validation request. */
  validationRequestId: string;
  /** The status. Currently one of `clean`, `deleted`, `infected`, `pending`, `unreadable`; more may be added. */
  status: "clean" | "deleted" | "infected" | "pending" | "unreadable" | (string & {});
  /** Its address. */
  url: string;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it was deleted, in UTC; null unless it was. */
  deletedAt: string | null;
}

/**
 * The evidence of a validation request.
 *
 * `seal`: the key and the Ed25519 signature over all bytes of the response, with zeros in place of the signature.
 */
export interface ValidationRequestDossier {
  /** `sandbox` or `production`. */
  environment: string;
  /** When this response was generated, in UTC. */
  generatedAt: string;
  /** The validation request. */
  validationRequest: DossierValidationRequest;
  /** Why the requested name cannot be compared with watchlists, so that a reviewer looks it up; null if it can. */
  notScreenedReason: string | null;
  /** The evaluations, oldest first. */
  evaluations: Array<DossierEvaluation>;
  /** The reviews, oldest first. */
  reviews: Array<DossierReview>;
  /** The decisions, oldest first. */
  decisions: Array<DossierDecision>;
  /** The attached documents. */
  documents: Array<DossierDocument>;
  /** The key ID and the signature over the whole response. */
  seal: string;
}

/** A validation submission as partners see it. */
export interface ValidationSubmission {
  /** Its identifier. */
  id: string;
  /** The status. Currently one of `failed`, `pending`, `processed`, `succeeded`; more may be added. */
  status: "failed" | "pending" | "processed" | "succeeded" | (string & {});
  /** The invite that was used. */
  validationInviteId: string | null;
  /** The organisation, once the details are valid. */
  organisationId: string | null;
  /** The organisation's name. */
  organisationName: string | null;
  /** The organisation. */
  organisation: SubmissionOrganisation | null;
  /** The validation request. */
  validationRequestId: string | null;
  /** The validation request. */
  validationRequest: SubmissionValidationRequest | null;
  /** The monitoring subscription. */
  monitoringSubscriptionId: string | null;
  /** The check against watchlists. */
  monitoring: SubmissionMonitoring | null;
  /** The eligibility subscription. */
  eligibilitySubscriptionId: string | null;
  /** The check of the organisation's activities. */
  eligibility: SubmissionEligibility | null;
  /** The agent verification. */
  agentVerificationId: string | null;
  /** The check of the applicant. */
  agentVerification: SubmissionAgentVerification | null;
  /** The submission configuration that was used. */
  configuration: SubmissionConfiguration | null;
  /** Your own data: text values by key. */
  metadata: Record<string, string> | null;
  /** The answers to your own questions, by their `id`. */
  partnerFields: Record<string, string | number> | null;
  /** The failed checks of a failed submission. */
  failureReasons: SubmissionFailureReasons | null;
  /** What is missing; empty if neither the applicant nor the nonprofit has to act. */
  requirements: Array<SubmissionRequirement>;
  /** The latest appeal against the decision. */
  appeal: SubmissionAppeal | null;
  /** When it was decided, in UTC; null until then. */
  processedAt: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** A submission configuration as partners see it. */
export interface ValidationSubmissionConfiguration {
  /** Its identifier. */
  id: string;
  /** Its name. */
  name: string | null;
  /** Name, colour and logo of the hosted form. */
  branding: Branding;
  /** Whether invites without a configuration use this one. */
  isDefault: boolean;
  /** The checks that are run, in this order. */
  checks: Array<"agent_verification" | "compliance" | "eligibility" | "validation_request" | (string & {})>;
  /** Types of organisation that may apply. */
  allowedOrganisationTypes: Array<"education" | "nonprofit" | "social_impact" | (string & {})>;
  /** Watchlist categories whose flags make the check `compliance` fail. */
  complianceFlags: Array<"adverseMedia" | "commercial" | "controversial" | "hateSpeech" | "sanction" | "warning" | (string & {})>;
  /** The allowed activities; null allows all. */
  allowedActivitySubTags: Array<string> | null;
  /** Whether applicants confirm their email address. */
  emailVerification: boolean;
  /** Your own questions in the hosted form. */
  partnerFields: Array<PartnerField>;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string;
}

/** A document of a submission. `url` is valid for a few minutes; each GET returns a new one. */
export interface ValidationSubmissionDocument {
  /** Its identifier. */
  id: string;
  /** The submission; null until it is created. */
  validationSubmissionId: string | null;
  /** The invite that was used. */
  validationInviteId: string | null;
  /** The type. Currently one of `agent_verification`, `validation_request`; more may be added. */
  type: "agent_verification" | "validation_request" | (string & {});
  /** The status. Currently one of `clean`, `deleted`, `infected`, `pending`, `unreadable`; more may be added. */
  status: "clean" | "deleted" | "infected" | "pending" | "unreadable" | (string & {});
  /** Its address. */
  url: string;
  /** When it was created, in UTC. */
  createdAt: string;
}

/** One POST to a receiver; `statusCode` is null if there was no complete response, and `error` gives the reason. */
export interface WebhookAttempt {
  /** The number of the attempt, starting at 1. */
  number: number;
  /** When it was sent, in UTC. */
  attemptedAt: string;
  /** The duration in milliseconds. */
  durationMs: number;
  /** HTTP status of the response; null if there was no complete one. */
  statusCode: number | null;
  /** Why there was no complete response; null if there was one. */
  error: string | null;
  /** The beginning of the receiver's response. */
  responseBody: string | null;
}

/** The delivery of one event to one subscription; `reason` is its cause. */
export interface WebhookDelivery {
  /** Its identifier. */
  id: string;
  /** The subscription of the delivery. */
  webhookSubscriptionId: string;
  /** The event that is delivered. */
  eventId: string;
  /** What happened, such as `donation.created`. */
  eventType: string;
  /** The event's number, without gaps for each partner. */
  sequence: number | null;
  /** The cause of the delivery. Currently one of `event`, `replay`, `resend`, `test`; more may be added. */
  reason: "event" | "replay" | "resend" | "test" | (string & {});
  /** The status. Currently one of `cancelled`, `failed`, `pending`, `succeeded`; more may be added. */
  status: "cancelled" | "failed" | "pending" | "succeeded" | (string & {});
  /** The attempts so far, oldest first. */
  attempts: Array<WebhookAttempt>;
  /** When the next attempt is due, in UTC; null if there is none. */
  nextAttemptAt: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When the delivery succeeded or failed for good, in UTC; null until then. */
  finishedAt: string | null;
}

/** The number of deliveries that were started. */
export interface WebhookReplay {
  /** The number of deliveries that were started. */
  scheduled: number;
}

/** The addresses that deliveries of this environment come from. */
export interface WebhookSourceAddresses {
  /** `sandbox` or `production`. */
  environment: string;
  /** Network addresses or ranges in CIDR form. */
  addresses: Array<string>;
}

/**
 * A subscription as partners see it; `secret` is null in lists and events.
 *
 * `health` is `failing` from the first failed attempt to the next success.
 */
export interface WebhookSubscription {
  /** Its identifier. */
  id: string;
  /** Event types that it receives; `*` for all. */
  events: Array<string>;
  /** Its address. */
  url: string;
  /** The secret that signs webhooks. Do not share it. */
  secret: string | null;
  /** Until when the previous secret is also used to sign, in UTC; null if it is not used any more. */
  previousSecretExpiresAt: string | null;
  /** The status. Currently one of `active`, `suspended`; more may be added. */
  status: "active" | "suspended" | (string & {});
  /** Whether deliveries succeed. Currently one of `failing`, `healthy`; more may be added. */
  health: "failing" | "healthy" | (string & {});
  /** When deliveries started to fail, in UTC; null if the last one succeeded. */
  failingSince: string | null;
  /** When a delivery last arrived, in UTC; null if none has. */
  lastSuccessAt: string | null;
  /** When it was created, in UTC. */
  createdAt: string;
  /** When it last changed, in UTC. */
  updatedAt: string | null;
  /** When it was deleted, in UTC; null unless it was. */
  deletedAt: string | null;
}

/** Parameters of `listActivityTags`. */
export interface ListActivityTagsParameters {
  /** Sort direction. */
  direction?: "ASC" | "DESC";
}

/** Parameters of `listAgentVerifications`. */
export interface ListAgentVerificationsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** The status at the time of the request. */
  status?: "pending" | "pending_user_verification" | "pending_review" | "approved" | "rejected";
  /** The agent's full email address. */
  email?: string;
  /** Created at this time or later. */
  startDate?: string;
  /** Created before this time. */
  endDate?: string;
}

/** The body of `createAgentVerification`. */
export interface CreateAgentVerification {
  /** First name. Can be empty if there is a last name. */
  firstName: string;
  /** Last name. Can be empty if there is a first name. */
  lastName: string;
  /** Email address. */
  email: string;
  /** The organisation. */
  organisationId?: string | null;
  /** The validation request. */
  validationRequestId?: string | null;
  /** Job title. */
  title?: string | null;
  /** A web address, with or without scheme. */
  organisationWebsite?: string | null;
  /** Language of the emails and pages (RFC 5646). Default: English. */
  language?: string | null;
}

/** The body of `updateAgentVerification`. */
export interface UpdateAgentVerification {
  /** Merged key by key into the current metadata; a key set to null is removed. */
  metadata?: Record<string, string | null> | null;
}

/** Parameters of `listCategories`. */
export interface ListCategoriesParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
}

/** The body of `createCategory`. */
export interface CreateCategory {
  /** Its name. */
  name: string;
  /** At most 20 keys of 1 to 40 characters. Values are strings of at most 250 characters, booleans or numbers. */
  attributes?: Record<string, string | boolean | number> | null;
}

/** The body of `updateCategory`. */
export interface UpdateCategory {
  /** Its name. */
  name?: string;
  /** At most 20 keys of 1 to 40 characters. Values are strings of at most 250 characters, booleans or numbers. */
  attributes?: Record<string, string | boolean | number> | null;
}

/** The body of `setCategoryImage`. */
export interface SetCategoryImage {
  /** The file: image/jpeg, image/png, image/heic; at most 5,242,880 bytes. */
  image: Upload;
}

/** Parameters of `listCountries`. */
export interface ListCountriesParameters {
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Only countries with (`true`) or without (`false`) a supported registry. */
  hasRegistry?: boolean;
}

/** Parameters of `listDisbursements`. */
export interface ListDisbursementsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only records of this organisation. */
  organisationId?: string;
  /** Only records with this status. */
  status?: "PENDING" | "SENT" | "PAID" | "RETURNED";
}

/** Parameters of `listDonationRequests`. */
export interface ListDonationRequestsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** `id` sorts by creation, `dueAt` by due date. */
  sort?: "id" | "dueAt";
}

/** Parameters of `listDonationSessions`. */
export interface ListDonationSessionsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
}

/** The body of `createDonationSession`. */
export interface CreateDonationSession {
  /** The organisation. */
  organisationId: string;
  /** Your user who donates. */
  userId?: string | null;
  /**
   * Where the donor is redirected after donating; https. `{DONATION_SESSION_ID}` in it is replaced by the
   * session's ID. Default: our own page.
   */
  successUrl?: string | null;
  /** ISO 4217 code. */
  currency?: string | null;
  /** Language of the page (RFC 5646). If it is not available, the nearest one is used, or else English. */
  language?: string | null;
  /** Your own data: at most 20 keys of up to 40 characters, values of up to 250. */
  metadata?: Record<string, string> | null;
  /**
   * How often the donor can donate. If there are several, the donor chooses one on the page. The first is selected
   * by default. All but `one_time` start a regular donation by card.
   */
  frequencies?: Array<"one_time" | "weekly" | "monthly" | "quarterly" | "yearly">;
  /**
   * Goods or services that the donor receives in return. The page and the receipt state them with their value, and
   * the page offers no Gift Aid. Requires `currency`; only for `one_time` donations.
   */
  benefits?: BenefitsParams | null;
  /** Amounts to choose from, in the minor unit of `currency`, which is then required. */
  suggestedAmounts?: Array<number> | null;
  /** The minimum donation, in the minor unit of `currency`, which is then required. */
  minimum?: number | null;
  /** The maximum donation, in the minor unit of `currency`, which is then required. */
  maximum?: number | null;
  /**
   * Purposes from which the donor chooses one. The nonprofit sees the choice. A single purpose applies without a
   * choice.
   */
  designations?: Array<string> | null;
  /** Whether the donor can dedicate the donation to somebody, and have us email a person about it once it is paid. */
  offersDedication?: boolean;
}

/** Parameters of `listDonationSubscriptions`. */
export interface ListDonationSubscriptionsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only records of this user. */
  userId?: string;
  /** Only records of this organisation. */
  organisationId?: string;
  /** Only records with this status. */
  status?: "pending" | "active" | "past_due" | "paused" | "cancelled";
  /** The donor's email address. Needs a key with the scope `donations:personal`. */
  email?: string;
  /** `id` sorts by creation. `nextDonationAt` sorts by the next donation; it takes no filters. */
  sort?: "id" | "nextDonationAt";
}

/** The body of `updateDonationSubscription`. */
export interface UpdateDonationSubscription {
  /**
   * The amount of each donation, in minor units. A lower amount applies at once; a higher one waits as
   * `pendingChange` until the donor agrees.
   */
  amount?: number;
  /** A lower frequency applies at once; a higher one waits as `pendingChange` until the donor agrees. */
  frequency?: "weekly" | "monthly" | "quarterly" | "yearly";
  /** Merged key by key into the current metadata; a key set to null is removed. */
  metadata?: Record<string, string | null> | null;
}

/** The body of `pauseDonationSubscription`. */
export interface PauseDonationSubscription {
  /** When the pause ends, within 366 days. Default: when the subscription is resumed. */
  until?: string | null;
}

/** Parameters of `listDonations`. */
export interface ListDonationsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only records of this user. */
  userId?: string;
  /** Only records of this organisation. */
  organisationId?: string;
  /** Only records with this status. */
  status?: "ACTIVE" | "REQUESTED_PAYMENT" | "RECEIVED_PAYMENT" | "DISBURSED" | "CANCELLED";
  /** Only donations of this donation request. */
  donationRequestId?: string;
  /** The donation session of hosted donations. */
  sessionId?: string;
  /** Only donations made through this giving link. */
  givingLinkId?: string;
  /** The donor's complete email address, in upper or lower case. */
  email?: string;
  /** Created at this time or later. */
  startDate?: string;
  /** Created before this time. */
  endDate?: string;
  /** `id` sorts by creation. `amount` sorts by currency, then by amount; it takes no filters. */
  sort?: "id" | "amount";
}

/** The body of `createDonation`. */
export interface CreateDonation {
  /** In the currency's minor unit. */
  amount: number;
  /** ISO 4217 code. */
  currencyCode: string;
  /** Default: the user's default organisation. */
  organisationId?: string | null;
  /** Your user who donates. */
  userId?: string | null;
  /** First or last name is required. */
  firstName?: string | null;
  /** Last name. */
  lastName?: string | null;
  /** Email address. */
  email?: string | null;
  /** Whether the nonprofit may contact the donor. */
  consentedToBeContactedByOrg?: "yes" | "no";
  /** Whether the donor's name is withheld from the nonprofit. */
  anonymous?: "yes" | "no";
  /** Default: the user's newest declaration that covers the donation. */
  giftAidId?: string | null;
  /** Your own data: at most 20 keys of up to 40 characters, values of up to 250. */
  metadata?: Record<string, string> | null;
}

/** The body of `updateDonation`. */
export interface UpdateDonation {
  /** The organisation. */
  organisationId?: string;
  /** Merged key by key into the current metadata; a key set to null is removed. */
  metadata?: Record<string, string | null> | null;
}

/** The body of `refundDonation`. */
export interface RefundDonation {
  /**
   * The amount to refund, in the currency's minor unit, at most what is left of the donation. Default: all that is
   * left.
   */
  amount?: number | null;
}

/** Parameters of `listEligibilitySubscriptions`. */
export interface ListEligibilitySubscriptionsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only records with this status. */
  status?: "pending" | "pending_validation_request" | "validation_request_failed" | "live" | "cancelled" | "cannot_define_eligibility";
  /** Whether the organisation is known yet. */
  hasOrganisation?: boolean;
  /** Words, or parts of words, in the nonprofit's name. */
  query?: string;
  /** `id` sorts by creation, `name` by the nonprofit's name. */
  sort?: "id" | "name";
  /** Created at this time or later. */
  startDate?: string;
  /** Created before this time. */
  endDate?: string;
}

/** The body of `createEligibilitySubscription`. */
export interface CreateEligibilitySubscription {
  /** The organisation. */
  organisationId?: string | null;
  /** The validation request. */
  validationRequestId?: string | null;
  /**
   * What you believe the nonprofit does: IDs of sub-tags from GET /v1/activity-tags. Each sub-tag is confirmed or
   * left out. In the sandbox, `["test_pass"]` and `["test_fail"]` set the result.
   */
  suggestedActivitySubTags?: Array<string>;
  /** Your own data: at most 20 keys of up to 40 characters, values of up to 250. */
  metadata?: Record<string, string> | null;
}

/** The body of `updateEligibilitySubscription`. */
export interface UpdateEligibilitySubscription {
  /** Merged key by key into the current metadata; a key set to null is removed. */
  metadata?: Record<string, string | null> | null;
}

/** Parameters of `listEligibilityHistory`. */
export interface ListEligibilityHistoryParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
}

/** Parameters of `listEvents`. */
export interface ListEventsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only events of this type. */
  type?: string;
  /** Only events from this time on. */
  startDate?: string;
  /** Only events before this time. */
  endDate?: string;
  /** Only events after this sequence number, oldest first. */
  after?: number;
  /** With `after`: how many seconds to wait if there is no event yet. */
  wait?: number;
}

/** The body of `resendEvent`. */
export interface ResendEvent {
  /** The subscription. Default: all that are subscribed to the event's type. */
  webhookSubscriptionId?: string | null;
}

/** The body of `createGiftAid`. */
export interface CreateGiftAid {
  /** How the donor is addressed, such as `Dr`. */
  title: string;
  /** First name. */
  firstName: string;
  /** Last name. */
  lastName: string;
  /** Name or number of the donor's house. */
  buildingNameNumber: string;
  /** Road. */
  roadName: string;
  /** City or town. */
  city: string;
  /** Country, as written in an address. */
  country: string;
  /** Postcode. */
  postcode: string;
  /** Your user. With a publishable key, the user must have an open donation session. */
  userId?: string | null;
  /** The start of the period, at most four years ago. Default: four years ago. */
  coversFrom?: string | null;
  /** The end of the period (exclusive). Default: no end. */
  coversTo?: string | null;
}

/** Parameters of `listGivingLinks`. */
export interface ListGivingLinksParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Whether the link is active. An expired link can be active. */
  active?: boolean;
}

/** The body of `createGivingLink`. */
export interface CreateGivingLink {
  /** Shown beside the organisation's name and marked as your text. */
  title: string;
  /** Shown on the page and marked as your text. */
  text?: string | null;
  /** The end of the link's URL. It never changes and is never reused. Default: made from the title. */
  slug?: string | null;
  /** The organisations from which donors choose. A single one applies without a choice. */
  organisationIds?: Array<string> | null;
  /** The category from which donors choose an organisation; null if `organisationIds` is set. */
  categoryId?: string | null;
  /** Amounts to choose from, in minor units. Default: the currency's default amounts. */
  suggestedAmounts?: Array<number> | null;
  /** The minimum donation, in minor units, not below the currency's own minimum. */
  minimum?: number | null;
  /** The maximum donation, in minor units. */
  maximum?: number | null;
  /** The currencies from which donors choose. Default: all that the organisation can receive. */
  currencies?: Array<string> | null;
  /**
   * How often the donor can donate. If there are several, the donor chooses one on the page. The first is selected
   * by default. All but `one_time` start a regular donation by card.
   */
  frequencies?: Array<"one_time" | "weekly" | "monthly" | "quarterly" | "yearly">;
  /**
   * Purposes from which the donor chooses one. The nonprofit sees the choice. A single purpose applies without a
   * choice.
   */
  designations?: Array<string> | null;
  /** The fundraising goal in minor units, shown with the amount raised. */
  goal?: number | null;
  /** Whether the page shows the amount raised and the number of donors. */
  showsProgress?: boolean;
  /** Whether the donor can dedicate the donation to somebody, and have us email a person about it once it is paid. */
  offersDedication?: boolean;
  /** Sites on which the element `<almoner-give>` can open the form in a dialog. Default: none. */
  allowedOrigins?: Array<string> | null;
  /**
   * Where the donor is redirected after donating; https. `{DONATION_SESSION_ID}` in it is replaced by the
   * session's ID. Default: our own page.
   */
  successUrl?: string | null;
  /** Your own data, copied to each session and donation of the link. */
  metadata?: Record<string, string> | null;
  /** Whether the link accepts donations. */
  active?: boolean;
  /** When the link stops accepting donations. */
  expiresAt?: string | null;
}

/** The body of `updateGivingLink`. */
export interface UpdateGivingLink {
  /** Shown beside the organisation's name and marked as your text. */
  title?: string;
  /** Shown on the page and marked as your text. */
  text?: string | null;
  /** The organisations from which donors choose. A single one applies without a choice. */
  organisationIds?: Array<string> | null;
  /** The category from which donors choose an organisation; null if `organisationIds` is set. */
  categoryId?: string | null;
  /** Amounts to choose from, in minor units. Default: the currency's default amounts. */
  suggestedAmounts?: Array<number> | null;
  /** The minimum donation, in minor units, not below the currency's own minimum. */
  minimum?: number | null;
  /** The maximum donation, in minor units. */
  maximum?: number | null;
  /** The currencies from which donors choose. Default: all that the organisation can receive. */
  currencies?: Array<string> | null;
  /**
   * How often the donor can donate. If there are several, the donor chooses one on the page. The first is selected
   * by default. All but `one_time` start a regular donation by card.
   */
  frequencies?: Array<"one_time" | "weekly" | "monthly" | "quarterly" | "yearly">;
  /**
   * Purposes from which the donor chooses one. The nonprofit sees the choice. A single purpose applies without a
   * choice.
   */
  designations?: Array<string> | null;
  /** The fundraising goal in minor units, shown with the amount raised. */
  goal?: number | null;
  /** Whether the page shows the amount raised and the number of donors. */
  showsProgress?: boolean;
  /** Whether donors can dedicate their donation to somebody. */
  offersDedication?: boolean;
  /** Sites on which the element `<almoner-give>` can open the form in a dialog. Default: none. */
  allowedOrigins?: Array<string> | null;
  /**
   * Where the donor is redirected after donating; https. `{DONATION_SESSION_ID}` in it is replaced by the
   * session's ID. Default: our own page.
   */
  successUrl?: string | null;
  /** Merged key by key into the current metadata; a key set to null is removed. */
  metadata?: Record<string, string | null> | null;
  /** Whether donors can donate through the link. */
  active?: boolean;
  /** When the link stops accepting donations; null for never. */
  expiresAt?: string | null;
}

/** The body of `setGivingLinkImage`. */
export interface SetGivingLinkImage {
  /** The file: image/jpeg, image/png, image/heic; at most 5,242,880 bytes. */
  image: Upload;
}

/** Parameters of `listMonetaryDonationVerifications`. */
export interface ListMonetaryDonationVerificationsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only records of this organisation. */
  organisationId?: string;
  /** The status at the time of the request. */
  status?: "pending" | "approved" | "rejected" | "expired";
}

/** The body of `createMonetaryDonationVerification`. */
export interface CreateMonetaryDonationVerification {
  /** The organisation. */
  organisationId: string;
  /** Your own data: at most 20 keys of up to 40 characters, values of up to 250. */
  metadata?: Record<string, string> | null;
}

/** The body of `updateMonetaryDonationVerification`. */
export interface UpdateMonetaryDonationVerification {
  /** Merged key by key into the current metadata; a key set to null is removed. */
  metadata?: Record<string, string | null> | null;
}

/** Parameters of `listMonitoringSubscriptions`. */
export interface ListMonitoringSubscriptionsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only records with this status. */
  status?: "pending" | "pending_validation_request" | "validation_request_failed" | "live" | "cancelled";
  /** Whether the organisation is known yet. */
  hasOrganisation?: boolean;
  /** Words, or parts of words, in the nonprofit's name. */
  query?: string;
  /** `id` sorts by creation, `name` by the nonprofit's name. */
  sort?: "id" | "name";
}

/** The body of `createMonitoringSubscription`. */
export interface CreateMonitoringSubscription {
  /** The organisation. */
  organisationId?: string | null;
  /** The validation request. */
  validationRequestId?: string | null;
}

/** Parameters of `listMonitoringHistory`. */
export interface ListMonitoringHistoryParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
}

/** Parameters of `searchOrganisations`. */
export interface SearchOrganisationsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Words of the name or description, or a number. */
  query?: string;
  /** A numbered page instead of a cursor, within the first 1,000 results. */
  page?: number;
  /** Three-letter country code. */
  countryCode?: string;
  /** The registration number, in any format. */
  registryId?: string;
  /** A registry's name, code or ID. */
  registryName?: string;
  /** Only organisations in this category. Repeat it for several categories, or separate alternatives with commas. */
  category?: Array<string>;
  /** Only organisations in none of these categories. */
  notCategory?: Array<string>;
  /** Only organisations with this activity tag or sub-tag. Combine values as in `category[]`. */
  tags?: Array<string>;
  /** Only organisations with none of these activity tags or sub-tags. */
  notTags?: Array<string>;
  /** Only organisations with one of these types. */
  type?: Array<"nonprofit" | "social_impact" | "education">;
  /** Whether the organisation is exempt as a subordinate of a group ruling. */
  usaGroupExempt?: boolean;
  /** Whether the register lists the organisation as active. */
  active?: boolean;
  /** Whether the organisation can receive donations. */
  acceptsDonations?: boolean;
  /** `true` adds `explain` to each result, which says how the result was found. */
  Explain?: string;
}

/** Parameters of `getOrganisation`. */
export interface GetOrganisationParameters {
  /** The record as of this date. */
  asOf?: string;
}

/** Parameters of `listOrganisationHistory`. */
export interface ListOrganisationHistoryParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
}

/** Parameters of `listOrganisationMilestones`. */
export interface ListOrganisationMilestonesParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
}

/** Parameters of `listRegistries`. */
export interface ListRegistriesParameters {
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Three-letter country code. */
  countryCode: string;
}

/** The body of `advanceSandboxClock`. */
export interface AdvanceSandboxClock {
  /** A future time. */
  advanceTo?: string | null;
  /** 0 only runs what is due now. */
  advanceSeconds?: number | null;
}

/** Parameters of `listSandboxMails`. */
export interface ListSandboxMailsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** The recipient's complete email address. */
  to?: string;
  /** Text that the subject contains. */
  subject?: string;
}

/** The body of `simulate`. */
export interface Simulate {
  /** The record. */
  id: string;
  /** The action to simulate. */
  action: "donate" | "pay" | "request" | "settle" | "disburse" | "return" | "release" | "reassign" | "refund" | "dispute" | "accept" | "confirm_email" | "approve" | "reject" | "expire" | "reopen" | "succeed_check" | "fail_check" | "set_results" | "uphold" | "reverse" | "fail_next" | "expire_card" | "renew_card" | "fail" | "suspend" | "update";
  /** In the currency's minor unit, such as cents. */
  amount?: number | null;
  /** ISO 4217 code. */
  currencyCode?: string | null;
  /** First name. */
  firstName?: string | null;
  /** Last name. */
  lastName?: string | null;
  /** Email address. */
  email?: string | null;
  /** Whether the donor's name is withheld from the nonprofit. */
  anonymous?: "yes" | "no";
  /** Whether the nonprofit may contact the donor. */
  consentedToBeContactedByOrg?: "yes" | "no";
  /** The number of a test card. */
  card?: string;
  /** How a donation is paid: `transfer` is confirmed at once, and its money arrives with the action `pay`. */
  way?: "card" | "transfer";
  /** One of the session's `frequencies`. Default: the first one. */
  frequency?: "one_time" | "weekly" | "monthly" | "quarterly" | "yearly" | null;
  /** One of the session's `designations`. Default: the first one. */
  designation?: string | null;
  /** A dedication, in sessions with `offersDedication`. */
  dedication?: string | null;
  /** Why the bank declines the next charge (`fail_next`). */
  declineCode?: "card_declined" | "insufficient_funds" | "lost_card" | "authentication_required" | "expired_card" | "revocation_of_authorization";
  /** The organisation that a donation is reassigned to. */
  organisationId?: string | null;
  /** The reason for the reassignment, which the donor sees. */
  ground?: "failed_compliance" | "payment_impossible" | "merged";
  /** The check to end. */
  type?: "registration" | "compliance" | "bank_details" | "organisation_confirmation" | null;
  /** One of the rejection codes of the record. Default: `other`. */
  rejectionReasonCode?: "not_eligible" | "failed_compliance" | "no_response" | "declined_by_organisation" | "other" | "incorrect_documentation" | "not_attributable_to_registry" | "validation_request_failed" | "user_verification_expired" | "user_failed_percent_review" | "reapply" | "fake_email_used" | "no_online_presence" | "nonprofit_association_expired" | "invalid_documentation" | "fake_documentation" | "mismatched_information" | "blank_corrupted_documentation" | "suspicious_application" | null;
  /** Who keeps a disputed donation: `won` leaves it with us, `lost` gives it back to the donor. */
  outcome?: "won" | "lost" | null;
  /** The results of a subscription, as its record shows them. */
  results?: Record<string, unknown> | null;
}

/** The body of `createUser`. */
export interface CreateUser {
}

/** The body of `setUserOrganisation`. */
export interface SetUserOrganisation {
  /** The organisation. */
  organisationId: string;
}

/** Parameters of `listValidationInvites`. */
export interface ListValidationInvitesParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
}

/** The body of `createValidationInvite`. */
export interface CreateValidationInvite {
  /**
   * Where the applicant is redirected after the form, with the query parameter `validationSubmissionId`; https.
   * Default: the application's status page.
   */
  redirectUrl?: string | null;
  /** Your own data: at most 20 keys of up to 40 characters, values of up to 250. */
  metadata?: Record<string, string> | null;
  /**
   * Language of the page (RFC 5646). If it is not available, the nearest one is used, or else English. The
   * applicant can choose another language.
   */
  language?: string;
  /** The submission configuration. Default: your default configuration. */
  hostedConfigId?: string | null;
}

/** Parameters of `listValidationRequests`. */
export interface ListValidationRequestsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only records with this status. */
  status?: "pending" | "accepted" | "rejected";
  /** Words, or parts of words, in the name or the registration number. */
  query?: string;
  /** `id` sorts by creation. */
  sort?: "id" | "name";
  /** Created at this time or later. */
  startDate?: string;
  /** Created before this time. */
  endDate?: string;
}

/** The body of `createValidationRequest`. */
export interface CreateValidationRequest {
  /** Its name. */
  name: string;
  /** Id, code or name of the registry it is registered in. */
  registryName: string;
  /** The registration number, in any format. */
  registryId: string;
  /** A web address, with or without its scheme. */
  website: string;
  /** Three-letter country code. */
  countryCode: string;
  /** Email address. */
  email?: string | null;
  /** Street and number. */
  addressLine1?: string | null;
  /** The rest of the street address. */
  addressLine2?: string | null;
  /** City or town. */
  city?: string | null;
  /** State, province or county. */
  state?: string | null;
  /** Postcode. */
  postal?: string | null;
  /** Whether it is covered by an IRS group exemption. */
  usaGroupExempt?: boolean | null;
}

/** The body of `addValidationRequestDocument`. */
export interface AddValidationRequestDocument {
  /** The file: image/jpeg, image/png, image/heic, application/pdf; at most 5,242,880 bytes. */
  file: Upload;
}

/** Parameters of `listValidationSubmissionConfigurations`. */
export interface ListValidationSubmissionConfigurationsParameters {
  /** Sort direction. */
  direction?: "ASC" | "DESC";
}

/** The body of `createValidationSubmissionConfiguration`. */
export interface CreateValidationSubmissionConfiguration {
  /** Its name. */
  name?: string | null;
  /** Name, colour and logo of the hosted form. */
  branding?: BrandingParams | null;
  /** Whether this configuration replaces the current default. */
  isDefault?: boolean;
  /** The checks that are run, in this order. */
  checks?: Array<"validation_request" | "compliance" | "eligibility" | "agent_verification">;
  /** Types of organisation that may apply. */
  allowedOrganisationTypes?: Array<"nonprofit" | "social_impact" | "education">;
  /** Watchlist categories whose flags make the check `compliance` fail. */
  complianceFlags?: Array<"warning" | "sanction" | "hateSpeech" | "commercial" | "adverseMedia" | "controversial">;
  /** Allowed activities: IDs of sub-tags from GET /v1/activity-tags; null allows all. */
  allowedActivitySubTags?: Array<string> | null;
  /** Whether applicants confirm their email address. */
  emailVerification?: boolean;
  /** Your own questions in the hosted form. */
  partnerFields?: Array<PartnerFieldParams>;
}

/** The body of `updateValidationSubmissionConfiguration`. */
export interface UpdateValidationSubmissionConfiguration {
  /** Its name. */
  name?: string | null;
  /** Name, colour and logo of the hosted form. */
  branding?: BrandingParams;
  /** Whether invites without a configuration use this one. */
  isDefault?: boolean;
  /** The checks that are run, in this order. */
  checks?: Array<"validation_request" | "compliance" | "eligibility" | "agent_verification">;
  /** Types of organisation that may apply. */
  allowedOrganisationTypes?: Array<"nonprofit" | "social_impact" | "education">;
  /** Watchlist categories whose flags make the check `compliance` fail. */
  complianceFlags?: Array<"warning" | "sanction" | "hateSpeech" | "commercial" | "adverseMedia" | "controversial">;
  /** Allowed activities: IDs of sub-tags from GET /v1/activity-tags; null allows all. */
  allowedActivitySubTags?: Array<string> | null;
  /** Whether applicants confirm their email address. */
  emailVerification?: boolean;
  /** Your own questions in the hosted form. */
  partnerFields?: Array<PartnerFieldParams>;
}

/** The body of `setValidationSubmissionConfigurationLogo`. */
export interface SetValidationSubmissionConfigurationLogo {
  /** The file: image/jpeg, image/png, image/heic; at most 5,242,880 bytes. */
  logo: Upload;
}

/** The body of `createValidationSubmissionDocument`. */
export interface CreateValidationSubmissionDocument {
  /** The validation submission. */
  validationSubmissionId?: string | null;
  /** The invite that was used. */
  validationInviteId?: string | null;
  /** The check that the document is for. */
  type: "validation_request" | "agent_verification";
  /** The file: image/jpeg, image/png, image/heic, application/pdf; at most 5,242,880 bytes. */
  file: Upload;
}

/** Parameters of `listValidationSubmissions`. */
export interface ListValidationSubmissionsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** One more status, in addition to `statuses[]`. */
  status?: "pending" | "processed" | "succeeded" | "failed";
  /** Only records with one of these statuses. */
  statuses?: Array<"pending" | "processed" | "succeeded" | "failed">;
  /** Only submissions with one of these configurations. */
  configurationIds?: Array<string>;
  /** Only submissions for one of these organisations. */
  organisationIds?: Array<string>;
  /** Only submissions with one of these validation requests. */
  validationRequestIds?: Array<string>;
  /** Only organisations of these countries, three letters each (ISO 3166-1 alpha-3). */
  countryCodes?: Array<string>;
  /** The applicant's complete email address. */
  email?: string;
  /** Words, or parts of words, in the name or the registration number. */
  query?: string;
}

/** The body of `createValidationSubmission`. */
export interface CreateValidationSubmission {
  /** The submission configuration. Default: your default configuration. */
  configurationId?: string | null;
  /** An open invite. It sets the configuration, and becomes `complete`. */
  validationInviteId?: string | null;
  /** The organisation. */
  organisationId?: string | null;
  /** An existing validation request that is pending or accepted. */
  validationRequestId?: string | null;
  /** The organisation's name. */
  organisationName?: string | null;
  /** Id, code or name of the registry it is registered in. */
  registryName?: string | null;
  /** The registration number, in any format. */
  registryId?: string | null;
  /** Web address. */
  website?: string | null;
  /** Three-letter country code. */
  countryCode?: string | null;
  /** The nonprofit's email address, for the validation request. */
  organisationEmail?: string | null;
  /** Street and number. */
  addressLine1?: string | null;
  /** The rest of the street address. */
  addressLine2?: string | null;
  /** City or town. */
  city?: string | null;
  /** State, province or county. */
  state?: string | null;
  /** Postcode. */
  postal?: string | null;
  /** Language of emails and pages (RFC 5646). With only an organisationId, the default is English. */
  language?: string | null;
  /** First name. */
  firstName?: string | null;
  /** Last name. */
  lastName?: string | null;
  /** Email address. */
  email?: string | null;
  /** Job title. */
  title?: string | null;
  /** What you believe the nonprofit does, for the check `eligibility`. */
  suggestedActivitySubTags?: Array<string>;
  /** Your own data. Default: the invite's metadata, which a publishable key cannot override. */
  metadata?: Record<string, string> | null;
  /**
   * Answers to the configuration's questions, by their IDs. With an invite, all required questions must be
   * answered.
   */
  partnerFields?: Record<string, string | number> | null;
  /** Documents that were uploaded for the invite. */
  documentIds?: Array<string>;
}

/** Parameters of `findValidationSubmissionsOrganisations`. */
export interface FindValidationSubmissionsOrganisationsParameters {
  /** Words, or parts of words, in the name or the registration number. */
  query?: string;
  /** Only submissions for one of these organisations. */
  organisationIds?: Array<string>;
  /** Only submissions with one of these validation requests. */
  validationRequestIds?: Array<string>;
}

/** The body of `createAppeal`. */
export interface CreateAppeal {
  /** Why the decision is wrong, for the reviewer. */
  text: string;
}

/** Parameters of `listValidationSubmissionDocuments`. */
export interface ListValidationSubmissionDocumentsParameters {
  /** Sort direction. */
  direction?: "ASC" | "DESC";
}

/** Parameters of `listWebhookSubscriptions`. */
export interface ListWebhookSubscriptionsParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only subscriptions that receive this event type. */
  event?: string;
  /** List deleted subscriptions instead of the others. */
  deleted?: boolean;
}

/** The body of `createWebhookSubscription`. */
export interface CreateWebhookSubscription {
  /** At least one event type, as in `eventType` of `Event`; `*` for all. */
  events: Array<string>;
  /** The URL that receives events: https, port 443, a public address. The sandbox can allow loopback. */
  url: string;
}

/** The body of `updateWebhookSubscription`. */
export interface UpdateWebhookSubscription {
  /** At least one event type, as in `eventType` of `Event`; `*` for all. */
  events?: Array<string>;
  /** The URL that receives events: https, port 443, a public address. The sandbox can allow loopback. */
  url?: string;
  /** The status. */
  status?: "active" | "suspended";
}

/** Parameters of `listWebhookDeliveries`. */
export interface ListWebhookDeliveriesParameters {
  /** The cursor from `_links` of an earlier response. */
  cursor?: string;
  /** Sort direction. */
  direction?: "ASC" | "DESC";
  /** Records per page, at most 100. Higher values count as 100. */
  pageSize?: number;
  /** Only those in this status. */
  status?: "pending" | "succeeded" | "failed" | "cancelled";
}

/** The body of `replayWebhookEvents`. */
export interface ReplayWebhookEvents {
  /** The start of the period, at most 30 days ago. By default, only failed deliveries are replayed. */
  startDate?: string | null;
  /** The end of the period (exclusive). Default: now. */
  endDate?: string | null;
  /** Whether to leave out events that were delivered or are still being retried. */
  failedOnly?: boolean;
}

/** The body of `rotateWebhookSecret`. */
export interface RotateWebhookSecret {
  /**
   * False creates a new secret; the old one is also used for 24 hours. True confirms that the receiver has the new
   * secret: the old ones are no longer used, and `Service-Signature` uses the new one.
   */
  confirm?: boolean;
}

/** The record of each type of event. */
export interface EventRecords {
  "validation_request.approved": ValidationRequest;
  "validation_request.rejected": ValidationRequest;
  "validation_request_document.rejected": ValidationRequestDocument;
  "validation_submission_document.rejected": ValidationSubmissionDocument;
  "agent_verification.pending_user_verification": AgentVerification;
  "agent_verification.pending_review": AgentVerification;
  "agent_verification.approved": AgentVerification;
  "agent_verification.rejected": AgentVerification;
  "monitoring_subscription.updated": MonitoringSubscription;
  "eligibility_subscription.updated": EligibilitySubscription;
  "validation_submission.created": ValidationSubmission;
  "validation_submission.succeeded": ValidationSubmission;
  "validation_submission.failed": ValidationSubmission;
  "validation_submission.updated": ValidationSubmission;
  "donation.created": Donation;
  "donation.hosted.payment_received": Donation;
  "donation.payment_successful": Donation;
  "donation.payment_requested": Donation;
  "donation.settled": Donation;
  "donation.disbursed": Donation;
  "donation.cancelled": Donation;
  "donation.reassigned": Donation;
  "donation.refunded": Donation;
  "donation.disputed": Donation;
  "donation.dispute_closed": Donation;
  "donation.receipt_undeliverable": Donation;
  "donation.payout_returned": Donation;
  "donation_subscription.created": DonationSubscription;
  "donation_subscription.updated": DonationSubscription;
  "donation_subscription.payment_failed": DonationSubscription;
  "donation_subscription.cancelled": DonationSubscription;
  "donation_session.completed": DonationSession;
  "donation_session.expired": DonationSession;
  "donation_request.created": DonationRequest;
  "donation_request.updated": DonationRequest;
  "disbursement.created": Disbursement;
  "disbursement.updated": Disbursement;
  "validation_invite.completed": ValidationInvite;
  "validation_invite.expired": ValidationInvite;
  "monetary_donation_verification.received": MonetaryDonationVerification;
  "monetary_donation_verification.progressed": MonetaryDonationVerification;
  "organisation.updated": Organisation;
  "webhook_subscription.failing": WebhookSubscription;
  "webhook_subscription.suspended": WebhookSubscription;
}
