// Made from openapi.json by `make clients`; do not edit.

import { type Core, type Options, type PagePromise, path } from "../core.js";
import type * as types from "./types.js";

/** Calls of `/v1/activity-tags`. */
export class ActivityTagsResource {
  constructor(private readonly core: Core) {}

  /**
   * List all activity tags with their sub-tags, in one page.
   *
   * Needs a publishable or a secret key with the scope `activities:read`.
   */
  list(parameters?: types.ListActivityTagsParameters, options?: Options): PagePromise<types.ActivityTag> {
    return this.core.page<types.ActivityTag>({ method: "GET", path: "/v1/activity-tags", parameters: { ...parameters }, query: { "direction": "direction" } }, options);
  }

  /**
   * Retrieve an activity tag with its sub-tags.
   *
   * Needs a publishable or a secret key with the scope `activities:read`.
   */
  get(id: string, options?: Options): Promise<types.ActivityTag> {
    return this.core.record<types.ActivityTag>({ method: "GET", path: path`/v1/activity-tags/${id}` }, options);
  }
}

/** Calls of `/v1/agent-verifications`. */
export class AgentVerificationsResource {
  constructor(private readonly core: Core) {}

  /**
   * List agent verifications, newest first.
   *
   * Needs a secret key with the scope `agent_verifications:read`.
   */
  list(parameters?: types.ListAgentVerificationsParameters, options?: Options): PagePromise<types.AgentVerification> {
    return this.core.page<types.AgentVerification>({ method: "GET", path: "/v1/agent-verifications", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "status": "status", "email": "email", "startDate": "startDate", "endDate": "endDate" } }, options);
  }

  /**
   * Create an agent verification.
   *
   * The verification checks whether a person owns their email address and represents a nonprofit. We email the
   * applicant a link and a code. The applicant has 30 days to confirm the address with one of them.
   *
   * Needs a secret key with the scope `agent_verifications:write`.
   */
  create(body: types.CreateAgentVerification, options?: Options): Promise<types.AgentVerification> {
    return this.core.record<types.AgentVerification>({ method: "POST", path: "/v1/agent-verifications", body: { ...body }, keyed: true }, options);
  }

  /**
   * Retrieve an agent verification.
   *
   * Needs a secret key with the scope `agent_verifications:read`.
   */
  get(id: string, options?: Options): Promise<types.AgentVerification> {
    return this.core.record<types.AgentVerification>({ method: "GET", path: path`/v1/agent-verifications/${id}` }, options);
  }

  /**
   * Change an agent verification's metadata, key by key. Nothing else can be changed.
   *
   * Needs a secret key with the scope `agent_verifications:write`.
   */
  update(id: string, body?: types.UpdateAgentVerification, options?: Options): Promise<types.AgentVerification> {
    return this.core.record<types.AgentVerification>({ method: "PATCH", path: path`/v1/agent-verifications/${id}`, body: { ...(body ?? {}) } }, options);
  }
}

/** Calls of `/v1/appeals`. */
export class AppealsResource {
  constructor(private readonly core: Core) {}

  /**
   * Retrieve an appeal.
   *
   * Needs a secret key with the scope `validation_submissions:read`.
   */
  get(id: string, options?: Options): Promise<types.Appeal> {
    return this.core.record<types.Appeal>({ method: "GET", path: path`/v1/appeals/${id}` }, options);
  }
}

/** Calls of `/v1/categories`. */
export class CategoriesResource {
  constructor(private readonly core: Core) {}

  /**
   * List categories.
   *
   * Needs a publishable or a secret key with the scope `categories:read`.
   */
  list(parameters?: types.ListCategoriesParameters, options?: Options): PagePromise<types.Category> {
    return this.core.page<types.Category>({ method: "GET", path: "/v1/categories", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize" } }, options);
  }

  /**
   * Create a category.
   *
   * Needs a secret key with the scope `categories:write`.
   */
  create(body: types.CreateCategory, options?: Options): Promise<types.Category> {
    return this.core.record<types.Category>({ method: "POST", path: "/v1/categories", body: { ...body }, keyed: true }, options);
  }

  /**
   * Add an organisation to a category. Adding an organisation again changes nothing.
   *
   * Needs a secret key with the scope `categories:write`.
   */
  addOrganisation(categoryId: string, organisationId: string, options?: Options): Promise<void> {
    return this.core.empty({ method: "PUT", path: path`/v1/categories/${categoryId}/${organisationId}` }, options);
  }

  /**
   * Remove an organisation from a category.
   *
   * Needs a secret key with the scope `categories:write`.
   */
  removeOrganisation(categoryId: string, organisationId: string, options?: Options): Promise<void> {
    return this.core.empty({ method: "DELETE", path: path`/v1/categories/${categoryId}/${organisationId}` }, options);
  }

  /**
   * Retrieve a category.
   *
   * Needs a publishable or a secret key with the scope `categories:read`.
   */
  get(id: string, options?: Options): Promise<types.Category> {
    return this.core.record<types.Category>({ method: "GET", path: path`/v1/categories/${id}` }, options);
  }

  /**
   * Change a category's name or attributes.
   *
   * Needs a secret key with the scope `categories:write`.
   */
  update(id: string, body?: types.UpdateCategory, options?: Options): Promise<types.Category> {
    return this.core.record<types.Category>({ method: "PATCH", path: path`/v1/categories/${id}`, body: { ...(body ?? {}) } }, options);
  }

  /**
   * Delete a category. The organisations in the category are not deleted.
   *
   * Needs a secret key with the scope `categories:write`.
   */
  delete(id: string, options?: Options): Promise<void> {
    return this.core.empty({ method: "DELETE", path: path`/v1/categories/${id}` }, options);
  }

  /**
   * Upload the image that is shown with a category: JPEG, PNG or HEIC, at most 5 MiB.
   *
   * Needs a secret key with the scope `categories:write`.
   */
  setImage(id: string, body: types.SetCategoryImage, options?: Options): Promise<void> {
    return this.core.empty({ method: "POST", path: path`/v1/categories/${id}/image`, body: { ...body }, upload: "image", keyed: true }, options);
  }
}

/** Calls of `/v1/countries`. */
export class CountriesResource {
  constructor(private readonly core: Core) {}

  /**
   * List all countries in the order of their codes, in one page.
   *
   * Needs a publishable or a secret key with the scope `registries:read`.
   */
  list(parameters?: types.ListCountriesParameters, options?: Options): PagePromise<types.Country> {
    return this.core.page<types.Country>({ method: "GET", path: "/v1/countries", parameters: { ...parameters }, query: { "direction": "direction", "hasRegistry": "hasRegistry" } }, options);
  }
}

/** Calls of `/v1/disbursements`. */
export class DisbursementsResource {
  constructor(private readonly core: Core) {}

  /**
   * List disbursements to nonprofits, newest first.
   *
   * A `PENDING` disbursement is the amount that is owed to a nonprofit in one currency and has not been sent yet.
   * The amount grows with each donation that settles.
   *
   * Needs a secret key with the scope `disbursements:read`.
   */
  list(parameters?: types.ListDisbursementsParameters, options?: Options): PagePromise<types.Disbursement> {
    return this.core.page<types.Disbursement>({ method: "GET", path: "/v1/disbursements", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "organisationId": "organisationId", "status": "status" } }, options);
  }

  /**
   * Retrieve a disbursement to a nonprofit.
   *
   * Needs a secret key with the scope `disbursements:read`.
   */
  get(id: string, options?: Options): Promise<types.Disbursement> {
    return this.core.record<types.Disbursement>({ method: "GET", path: path`/v1/disbursements/${id}` }, options);
  }
}

/** Calls of `/v1/donation-requests`. */
export class DonationRequestsResource {
  constructor(private readonly core: Core) {}

  /**
   * List donation requests, newest first or by due date.
   *
   * A donation request asks you to transfer the money for direct donations.
   *
   * Needs a secret key with the scope `donation_requests:read`.
   */
  list(parameters?: types.ListDonationRequestsParameters, options?: Options): PagePromise<types.DonationRequest> {
    return this.core.page<types.DonationRequest>({ method: "GET", path: "/v1/donation-requests", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "sort": "sort" } }, options);
  }

  /**
   * Retrieve a donation request.
   *
   * Needs a secret key with the scope `donation_requests:read`.
   */
  get(id: string, options?: Options): Promise<types.DonationRequest> {
    return this.core.record<types.DonationRequest>({ method: "GET", path: path`/v1/donation-requests/${id}` }, options);
  }
}

/** Calls of `/v1/donation-sessions`. */
export class DonationSessionsResource {
  constructor(private readonly core: Core) {}

  /**
   * List donation sessions.
   *
   * Needs a secret key with the scope `donation_sessions:read`.
   */
  list(parameters?: types.ListDonationSessionsParameters, options?: Options): PagePromise<types.DonationSession> {
    return this.core.page<types.DonationSession>({ method: "GET", path: "/v1/donation-sessions", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize" } }, options);
  }

  /**
   * Create a donation session: a hosted page, open for 24 hours, on which one donor gives to one organisation.
   *
   * Needs a secret key with the scope `donation_sessions:write`.
   */
  create(body: types.CreateDonationSession, options?: Options): Promise<types.DonationSession> {
    return this.core.record<types.DonationSession>({ method: "POST", path: "/v1/donation-sessions", body: { ...body }, keyed: true }, options);
  }

  /**
   * Retrieve a donation session.
   *
   * Needs a secret key with the scope `donation_sessions:read`.
   */
  get(id: string, options?: Options): Promise<types.DonationSession> {
    return this.core.record<types.DonationSession>({ method: "GET", path: path`/v1/donation-sessions/${id}` }, options);
  }
}

/** Calls of `/v1/donation-subscriptions`. */
export class DonationSubscriptionsResource {
  constructor(private readonly core: Core) {}

  /**
   * List donation subscriptions, newest or next due first.
   *
   * A donation subscription is the plan of a donor's regular donations.
   *
   * Needs a secret key with the scope `donation_subscriptions:read`.
   */
  list(parameters?: types.ListDonationSubscriptionsParameters, options?: Options): PagePromise<types.DonationSubscription> {
    return this.core.page<types.DonationSubscription>({ method: "GET", path: "/v1/donation-subscriptions", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "userId": "userId", "organisationId": "organisationId", "status": "status", "email": "email", "sort": "sort" } }, options);
  }

  /**
   * Retrieve a donation subscription.
   *
   * Needs a secret key with the scope `donation_subscriptions:read`.
   */
  get(id: string, options?: Options): Promise<types.DonationSubscription> {
    return this.core.record<types.DonationSubscription>({ method: "GET", path: path`/v1/donation-subscriptions/${id}` }, options);
  }

  /**
   * Change a donation subscription.
   *
   * You can change its metadata, key by key, its amount and its frequency. A change that lowers what the donor
   * pays applies immediately. A change that raises what the donor pays stays in `pendingChange` until the donor
   * agrees to the change on a page. We email the donor a link to this page. A later request replaces a pending
   * change.
   *
   * Needs a secret key with the scope `donation_subscriptions:write`.
   */
  update(id: string, body?: types.UpdateDonationSubscription, options?: Options): Promise<types.DonationSubscription> {
    return this.core.record<types.DonationSubscription>({ method: "PATCH", path: path`/v1/donation-subscriptions/${id}`, body: { ...(body ?? {}) } }, options);
  }

  /**
   * End a donation subscription for good. A donation that is being charged right now can still succeed.
   *
   * Needs a secret key with the scope `donation_subscriptions:write`.
   */
  cancel(id: string, options?: Options): Promise<types.DonationSubscription> {
    return this.core.record<types.DonationSubscription>({ method: "POST", path: path`/v1/donation-subscriptions/${id}/cancel`, keyed: true }, options);
  }

  /**
   * Pause a donation subscription that is `active` or `past_due`.
   *
   * Donations that are missed during the pause are not charged later.
   *
   * Needs a secret key with the scope `donation_subscriptions:write`.
   */
  pause(id: string, body?: types.PauseDonationSubscription, options?: Options): Promise<types.DonationSubscription> {
    return this.core.record<types.DonationSubscription>({ method: "POST", path: path`/v1/donation-subscriptions/${id}/pause`, body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Resume a donation subscription that is `paused`. The subscription continues with its next date.
   *
   * You cannot resume a subscription while its nonprofit cannot receive donations.
   *
   * Needs a secret key with the scope `donation_subscriptions:write`.
   */
  resume(id: string, options?: Options): Promise<types.DonationSubscription> {
    return this.core.record<types.DonationSubscription>({ method: "POST", path: path`/v1/donation-subscriptions/${id}/resume`, keyed: true }, options);
  }

  /**
   * Skip the next donation of a donation subscription. The subscription must be `active` or `past_due`.
   *
   * Needs a secret key with the scope `donation_subscriptions:write`.
   */
  skip(id: string, options?: Options): Promise<types.DonationSubscription> {
    return this.core.record<types.DonationSubscription>({ method: "POST", path: path`/v1/donation-subscriptions/${id}/skip`, keyed: true }, options);
  }
}

/** Calls of `/v1/donations`. */
export class DonationsResource {
  constructor(private readonly core: Core) {}

  /**
   * List donations, newest first unless sorted by amount.
   *
   * Needs a secret key with the scope `donations:read`.
   */
  list(parameters?: types.ListDonationsParameters, options?: Options): PagePromise<types.Donation> {
    return this.core.page<types.Donation>({ method: "GET", path: "/v1/donations", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "userId": "userId", "organisationId": "organisationId", "status": "status", "donationRequestId": "donationRequestId", "sessionId": "sessionId", "givingLinkId": "givingLinkId", "email": "email", "startDate": "startDate", "endDate": "endDate", "sort": "sort" } }, options);
  }

  /**
   * Create a direct donation.
   *
   * You have already collected the money for a direct donation. The next donation request asks you to transfer it.
   * Until then, the donation is `ACTIVE`, and you can cancel it or change its organisation.
   *
   * Needs a secret key with the scope `donations:write`.
   */
  create(body: types.CreateDonation, options?: Options): Promise<types.Donation> {
    return this.core.record<types.Donation>({ method: "POST", path: "/v1/donations", body: { ...body }, keyed: true }, options);
  }

  /**
   * Retrieve a donation.
   *
   * Needs a secret key with the scope `donations:read`.
   */
  get(id: string, options?: Options): Promise<types.Donation> {
    return this.core.record<types.Donation>({ method: "GET", path: path`/v1/donations/${id}` }, options);
  }

  /**
   * Change a donation.
   *
   * You can change its metadata, key by key, and the organisation of a direct donation while it is `ACTIVE`.
   *
   * Needs a secret key with the scope `donations:write`.
   */
  update(id: string, body?: types.UpdateDonation, options?: Options): Promise<types.Donation> {
    return this.core.record<types.Donation>({ method: "PATCH", path: path`/v1/donations/${id}`, body: { ...(body ?? {}) } }, options);
  }

  /**
   * Cancel a direct donation that is `ACTIVE`.
   *
   * Needs a secret key with the scope `donations:write`.
   */
  cancel(id: string, options?: Options): Promise<types.Donation> {
    return this.core.record<types.Donation>({ method: "POST", path: path`/v1/donations/${id}/cancel`, keyed: true }, options);
  }

  /**
   * Refund a donation, in full or in part.
   *
   * The donation must be `RECEIVED_PAYMENT`, and not in a disbursement that was sent. The payment provider refunds
   * the donor of a hosted donation. We refund direct donations to you by bank transfer. Once the money is sent,
   * `refundedAt` and `refundedAmount` are set, and `donation.refunded` is sent. The status does not change.
   *
   * Needs a secret key with the scope `donations:write`.
   */
  refund(id: string, body?: types.RefundDonation, options?: Options): Promise<types.Donation> {
    return this.core.record<types.Donation>({ method: "POST", path: path`/v1/donations/${id}/refund`, body: { ...(body ?? {}) }, keyed: true }, options);
  }
}

/** Calls of `/v1/eligibility-subscriptions`. */
export class EligibilitySubscriptionsResource {
  constructor(private readonly core: Core) {}

  /**
   * List eligibility subscriptions: newest first unless sorted by name.
   *
   * Needs a secret key with the scope `eligibility_subscriptions:read`.
   */
  list(parameters?: types.ListEligibilitySubscriptionsParameters, options?: Options): PagePromise<types.EligibilitySubscription> {
    return this.core.page<types.EligibilitySubscription>({ method: "GET", path: "/v1/eligibility-subscriptions", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "status": "status", "hasOrganisation": "hasOrganisation", "query": "query", "sort": "sort", "startDate": "startDate", "endDate": "endDate" } }, options);
  }

  /**
   * Create an eligibility subscription.
   *
   * The subscription checks whether your configuration allows what a nonprofit does, now and whenever this
   * changes.
   *
   * Needs a secret key with the scope `eligibility_subscriptions:write`.
   */
  create(body?: types.CreateEligibilitySubscription, options?: Options): Promise<types.EligibilitySubscription> {
    return this.core.record<types.EligibilitySubscription>({ method: "POST", path: "/v1/eligibility-subscriptions", body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Retrieve an eligibility subscription.
   *
   * Needs a secret key with the scope `eligibility_subscriptions:read`.
   */
  get(id: string, options?: Options): Promise<types.EligibilitySubscription> {
    return this.core.record<types.EligibilitySubscription>({ method: "GET", path: path`/v1/eligibility-subscriptions/${id}` }, options);
  }

  /**
   * Change an eligibility subscription's metadata, key by key. Nothing else can be changed.
   *
   * Needs a secret key with the scope `eligibility_subscriptions:write`.
   */
  update(id: string, body?: types.UpdateEligibilitySubscription, options?: Options): Promise<types.EligibilitySubscription> {
    return this.core.record<types.EligibilitySubscription>({ method: "PATCH", path: path`/v1/eligibility-subscriptions/${id}`, body: { ...(body ?? {}) } }, options);
  }

  /**
   * Cancel an eligibility subscription. The subscription is no longer evaluated, and keeps its last results.
   *
   * Needs a secret key with the scope `eligibility_subscriptions:write`.
   */
  cancel(id: string, options?: Options): Promise<types.EligibilitySubscription> {
    return this.core.record<types.EligibilitySubscription>({ method: "POST", path: path`/v1/eligibility-subscriptions/${id}/cancel`, keyed: true }, options);
  }

  /**
   * List the evaluations with their evidence: the rule of every activity, and what was left out.
   *
   * Needs a secret key with the scope `eligibility_subscriptions:read`.
   */
  listHistory(id: string, parameters?: types.ListEligibilityHistoryParameters, options?: Options): PagePromise<types.EligibilityEvaluation> {
    return this.core.page<types.EligibilityEvaluation>({ method: "GET", path: path`/v1/eligibility-subscriptions/${id}/history`, parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize" } }, options);
  }
}

/** Calls of `/v1/events`. */
export class EventsResource {
  constructor(private readonly core: Core) {}

  /**
   * List events in the order of their sequence.
   *
   * The sequence has no gaps. Events are kept for 90 days: the list starts with the oldest stored event, and
   * `totalResults` counts the stored events. With `after`, the list starts after that sequence, oldest first. If
   * you also set `wait`, the response is delayed by up to this number of seconds until there is an event.
   *
   * Needs a secret key with the scope `events:read`.
   */
  list(parameters?: types.ListEventsParameters, options?: Options): PagePromise<types.Event> {
    return this.core.page<types.Event>({ method: "GET", path: "/v1/events", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "type": "type", "startDate": "startDate", "endDate": "endDate", "after": "after", "wait": "wait" } }, options);
  }

  /**
   * Retrieve an event.
   *
   * Needs a secret key with the scope `events:read`.
   */
  get(id: string, options?: Options): Promise<types.Event> {
    return this.core.record<types.Event>({ method: "GET", path: path`/v1/events/${id}` }, options);
  }

  /**
   * Resend an event.
   *
   * The event has the same ID and body, and goes to one subscription or to all that are subscribed to its type.
   *
   * Needs a secret key with the scope `webhooks:write`.
   */
  resend(id: string, body?: types.ResendEvent, options?: Options): Promise<types.WebhookReplay> {
    return this.core.record<types.WebhookReplay>({ method: "POST", path: path`/v1/events/${id}/resend`, body: { ...(body ?? {}) }, keyed: true }, options);
  }
}

/** Calls of `/v1/gift-aid`. */
export class GiftAidResource {
  constructor(private readonly core: Core) {}

  /**
   * Create a Gift Aid declaration.
   *
   * The declaration covers donations from now on and from the past four years, unless you set another period. With
   * a publishable key, the response contains only `id` and `createdAt`.
   *
   * Needs a publishable or a secret key with the scope `gift_aid:write`.
   */
  create(body: types.CreateGiftAid, options?: Options): Promise<types.GiftAid> {
    return this.core.record<types.GiftAid>({ method: "POST", path: "/v1/gift-aid", body: { ...body }, keyed: true }, options);
  }
}

/** Calls of `/v1/giving-links`. */
export class GivingLinksResource {
  constructor(private readonly core: Core) {}

  /**
   * List giving links.
   *
   * Needs a secret key with the scope `giving_links:read`.
   */
  list(parameters?: types.ListGivingLinksParameters, options?: Options): PagePromise<types.GivingLink> {
    return this.core.page<types.GivingLink>({ method: "GET", path: "/v1/giving-links", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "active": "active" } }, options);
  }

  /**
   * Create a giving link: a permanent page on which donors give, without code on your side.
   *
   * Needs a secret key with the scope `giving_links:write`.
   */
  create(body: types.CreateGivingLink, options?: Options): Promise<types.GivingLink> {
    return this.core.record<types.GivingLink>({ method: "POST", path: "/v1/giving-links", body: { ...body }, keyed: true }, options);
  }

  /**
   * Retrieve a giving link.
   *
   * Needs a secret key with the scope `giving_links:read`.
   */
  get(id: string, options?: Options): Promise<types.GivingLink> {
    return this.core.record<types.GivingLink>({ method: "GET", path: path`/v1/giving-links/${id}` }, options);
  }

  /**
   * Change a giving link, or switch it off. The URL of the link does not change.
   *
   * Needs a secret key with the scope `giving_links:write`.
   */
  update(id: string, body?: types.UpdateGivingLink, options?: Options): Promise<types.GivingLink> {
    return this.core.record<types.GivingLink>({ method: "PATCH", path: path`/v1/giving-links/${id}`, body: { ...(body ?? {}) } }, options);
  }

  /**
   * Upload the picture of a giving link: JPEG, PNG or HEIC, at most 5 MiB.
   *
   * Needs a secret key with the scope `giving_links:write`.
   */
  setImage(id: string, body: types.SetGivingLinkImage, options?: Options): Promise<types.GivingLink> {
    return this.core.record<types.GivingLink>({ method: "POST", path: path`/v1/giving-links/${id}/image`, body: { ...body }, upload: "image", keyed: true }, options);
  }
}

/** Calls of `/v1/monetary-donation-verifications`. */
export class MonetaryDonationVerificationsResource {
  constructor(private readonly core: Core) {}

  /**
   * List monetary donation verifications, newest first.
   *
   * Needs a secret key with the scope `monetary_donation_verifications:read`.
   */
  list(parameters?: types.ListMonetaryDonationVerificationsParameters, options?: Options): PagePromise<types.MonetaryDonationVerification> {
    return this.core.page<types.MonetaryDonationVerification>({ method: "GET", path: "/v1/monetary-donation-verifications", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "organisationId": "organisationId", "status": "status" } }, options);
  }

  /**
   * Create a monetary donation verification.
   *
   * The verification checks whether donations for an organisation can be disbursed to it. It is pending for up to
   * 30 days. An organisation can have only one verification that is pending or approved.
   *
   * Needs a secret key with the scope `monetary_donation_verifications:write`.
   */
  create(body: types.CreateMonetaryDonationVerification, options?: Options): Promise<types.MonetaryDonationVerification> {
    return this.core.record<types.MonetaryDonationVerification>({ method: "POST", path: "/v1/monetary-donation-verifications", body: { ...body }, keyed: true }, options);
  }

  /**
   * Retrieve a monetary donation verification.
   *
   * Needs a secret key with the scope `monetary_donation_verifications:read`.
   */
  get(id: string, options?: Options): Promise<types.MonetaryDonationVerification> {
    return this.core.record<types.MonetaryDonationVerification>({ method: "GET", path: path`/v1/monetary-donation-verifications/${id}` }, options);
  }

  /**
   * Change the metadata of a monetary donation verification. It is changed key by key.
   *
   * Needs a secret key with the scope `monetary_donation_verifications:write`.
   */
  update(id: string, body?: types.UpdateMonetaryDonationVerification, options?: Options): Promise<types.MonetaryDonationVerification> {
    return this.core.record<types.MonetaryDonationVerification>({ method: "PATCH", path: path`/v1/monetary-donation-verifications/${id}`, body: { ...(body ?? {}) } }, options);
  }
}

/** Calls of `/v1/monitoring-subscriptions`. */
export class MonitoringSubscriptionsResource {
  constructor(private readonly core: Core) {}

  /**
   * List monitoring subscriptions: newest first unless sorted by name.
   *
   * Needs a secret key with the scope `monitoring_subscriptions:read`.
   */
  list(parameters?: types.ListMonitoringSubscriptionsParameters, options?: Options): PagePromise<types.MonitoringSubscription> {
    return this.core.page<types.MonitoringSubscription>({ method: "GET", path: "/v1/monitoring-subscriptions", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "status": "status", "hasOrganisation": "hasOrganisation", "query": "query", "sort": "sort" } }, options);
  }

  /**
   * Create a monitoring subscription.
   *
   * The subscription screens an organisation against watchlists and checks its registration, now and whenever a
   * list or the register changes. With a validation request, monitoring starts once the request is accepted. The
   * results are available a moment after the response.
   *
   * Needs a secret key with the scope `monitoring_subscriptions:write`.
   */
  create(body?: types.CreateMonitoringSubscription, options?: Options): Promise<types.MonitoringSubscription> {
    return this.core.record<types.MonitoringSubscription>({ method: "POST", path: "/v1/monitoring-subscriptions", body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Retrieve a monitoring subscription.
   *
   * Needs a secret key with the scope `monitoring_subscriptions:read`.
   */
  get(id: string, options?: Options): Promise<types.MonitoringSubscription> {
    return this.core.record<types.MonitoringSubscription>({ method: "GET", path: path`/v1/monitoring-subscriptions/${id}` }, options);
  }

  /**
   * Cancel a monitoring subscription. The results of the subscription no longer change.
   *
   * Needs a secret key with the scope `monitoring_subscriptions:write`.
   */
  cancel(id: string, options?: Options): Promise<types.MonitoringSubscription> {
    return this.core.record<types.MonitoringSubscription>({ method: "POST", path: path`/v1/monitoring-subscriptions/${id}/cancel`, keyed: true }, options);
  }

  /**
   * List each change of the results with its evidence: lists, versions, matches, scores and decisions.
   *
   * Needs a secret key with the scope `monitoring_subscriptions:read`.
   */
  listHistory(id: string, parameters?: types.ListMonitoringHistoryParameters, options?: Options): PagePromise<types.MonitoringChange> {
    return this.core.page<types.MonitoringChange>({ method: "GET", path: path`/v1/monitoring-subscriptions/${id}/history`, parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize" } }, options);
  }
}

/** Calls of `/v1/organisations`. */
export class OrganisationsResource {
  constructor(private readonly core: Core) {}

  /**
   * Search organisations.
   *
   * With `query`, the best matches come first: the words of a name in any order, with typos corrected, and the
   * last word may be incomplete. Without `query`, the list is in order of creation.
   *
   * Needs a publishable or a secret key with the scope `organisations:read`.
   */
  search(parameters?: types.SearchOrganisationsParameters, options?: Options): PagePromise<types.Organisation> {
    return this.core.page<types.Organisation>({ method: "GET", path: "/v1/organisations", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "query": "query", "page": "page", "countryCode": "countryCode", "registryId": "registryId", "registryName": "registryName", "category": "category[]", "notCategory": "notCategory[]", "tags": "tags[]", "notTags": "notTags[]", "type": "type[]", "usaGroupExempt": "usaGroupExempt", "active": "active", "acceptsDonations": "acceptsDonations" }, headers: ["Explain"] }, options);
  }

  /**
   * Retrieve an organisation by its registration number.
   *
   * The registry is an ID, code or name, and the number can be in any format. A 404 has the header `Data-As-Of` if
   * the register does not list the number, and no such header if the register is not loaded.
   *
   * Needs a secret key with the scope `organisations:read`.
   */
  find(countryCode: string, registry: string, registryId: string, options?: Options): Promise<types.Organisation> {
    return this.core.record<types.Organisation>({ method: "GET", path: path`/v1/organisations/${countryCode}/${registry}/${registryId}` }, options);
  }

  /**
   * Retrieve an organisation, as it is now or was on a date.
   *
   * The header `Data-As-Of` contains the date of its register's data.
   *
   * Needs a publishable or a secret key with the scope `organisations:read`.
   */
  get(id: string, parameters?: types.GetOrganisationParameters, options?: Options): Promise<types.Organisation> {
    return this.core.record<types.Organisation>({ method: "GET", path: path`/v1/organisations/${id}`, parameters: { ...parameters }, query: { "asOf": "asOf" } }, options);
  }

  /**
   * Retrieve an organisation's branding. Values that the organisation has not set are those of its record.
   *
   * Needs a publishable or a secret key with the scope `organisations:read`.
   */
  getBranding(id: string, options?: Options): Promise<types.OrganisationBranding> {
    return this.core.record<types.OrganisationBranding>({ method: "GET", path: path`/v1/organisations/${id}/branding` }, options);
  }

  /**
   * List the changes of an organisation.
   *
   * The list has all changes by imports of the organisation's register since the first import.
   *
   * Needs a publishable or a secret key with the scope `organisations:read`.
   */
  listHistory(id: string, parameters?: types.ListOrganisationHistoryParameters, options?: Options): PagePromise<types.OrganisationChange> {
    return this.core.page<types.OrganisationChange>({ method: "GET", path: path`/v1/organisations/${id}/history`, parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize" } }, options);
  }

  /**
   * List the goals that an organisation publishes.
   *
   * Needs a publishable or a secret key with the scope `organisations:read`.
   */
  listMilestones(id: string, parameters?: types.ListOrganisationMilestonesParameters, options?: Options): PagePromise<types.Milestone> {
    return this.core.page<types.Milestone>({ method: "GET", path: path`/v1/organisations/${id}/milestones`, parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize" } }, options);
  }

  /**
   * Retrieve the public information about an organisation; no API key is needed.
   *
   * Needs no key.
   */
  getProfile(id: string, options?: Options): Promise<types.OrganisationProfile> {
    return this.core.record<types.OrganisationProfile>({ method: "GET", path: path`/v1/organisations/${id}/profile` }, options);
  }
}

/** Calls of `/v1/registries`. */
export class RegistriesResource {
  constructor(private readonly core: Core) {}

  /**
   * List the registries of a country: in order of their codes, in one page.
   *
   * Needs a publishable or a secret key with the scope `registries:read`.
   */
  list(parameters: types.ListRegistriesParameters, options?: Options): PagePromise<types.Registry> {
    return this.core.page<types.Registry>({ method: "GET", path: "/v1/registries", parameters: { ...parameters }, query: { "direction": "direction", "countryCode": "countryCode" } }, options);
  }

  /**
   * Retrieve a registry.
   *
   * Needs a publishable or a secret key with the scope `registries:read`.
   */
  get(id: string, options?: Options): Promise<types.Registry> {
    return this.core.record<types.Registry>({ method: "GET", path: path`/v1/registries/${id}` }, options);
  }
}

/** Calls of `/v1/sandbox`. */
export class SandboxResource {
  constructor(private readonly core: Core) {}

  /**
   * Read the sandbox's clock.
   *
   * Needs a secret key with the scope `sandbox`.
   */
  getClock(options?: Options): Promise<types.SandboxClock> {
    return this.core.record<types.SandboxClock>({ method: "GET", path: "/v1/sandbox/clock" }, options);
  }

  /**
   * Move the sandbox's clock forwards, by at most 60 days a call.
   *
   * Everything that becomes due in between (expiries, cancellations, webhook attempts) is done at its own time.
   * The request waits up to 30 seconds for these jobs; `remaining` is the number of jobs that are not done yet.
   * Timestamps of signatures and rate limits use real time.
   *
   * Needs a secret key with the scope `sandbox_clock`.
   */
  advanceClock(body?: types.AdvanceSandboxClock, options?: Options): Promise<types.SandboxClock> {
    return this.core.record<types.SandboxClock>({ method: "POST", path: "/v1/sandbox/clock", body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * List the emails that the sandbox would have sent.
   *
   * Needs a secret key with the scope `sandbox`.
   */
  listMails(parameters?: types.ListSandboxMailsParameters, options?: Options): PagePromise<types.SandboxMail> {
    return this.core.page<types.SandboxMail>({ method: "GET", path: "/v1/sandbox/mailbox", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "to": "to", "subject": "subject" } }, options);
  }

  /**
   * Simulate an action on one of your records. Returns the record.
   *
   * The action is that of a donor, an operator or a bank.
   *
   * Donation session: `donate` makes a donation on its page (`amount`, `email`, and `firstName` or `lastName` are
   * required). `expire` ends the session now.
   *
   * Donation: `pay` pays the donation with a test `card` or, for a bank transfer, with an `amount`. The challenge
   * of 4000 0000 0000 3220 stays open until the next `pay` with a card that succeeds. `request` creates the
   * donation request for direct donations. `settle`: the provider pays out the amount less its fee. `disburse`:
   * everything that is settled and owed to the organisation in this currency is disbursed, unless the disbursement
   * is waiting. `return`: the bank returns the disbursement, and the next one is held until `release`. `reassign`
   * (`organisationId`), `refund` and `dispute` (`outcome`) do what operators and donors' banks do.
   *
   * Donation request: `pay` (`amount`). Donation subscription: `fail_next` (`declineCode`), `expire_card` and
   * `renew_card`. Validation request: `accept` and `reject` (`rejectionReasonCode`). Agent verification:
   * `confirm_email` (the applicant confirms the address), `approve` and `reject` (`rejectionReasonCode`, default
   * `other`). Appeal: `uphold` and `reverse`. Validation invite: `expire`.
   *
   * Monetary donation verification: `approve`, `reject` (`rejectionReasonCode`, default `other`), `expire` and
   * `reopen`. `succeed_check` and `fail_check` end the check of this `type`. A failed check rejects the
   * verification, and the last successful check approves it.
   *
   * Monitoring or eligibility subscription: `set_results` (`results`) sets the results. Results of monitoring that
   * you leave out do not change. Webhook subscription: `fail` and `suspend` (the receiver has failed for one day,
   * or for five). Organisation: `update` (an import changes it).
   *
   * Needs a secret key with the scope `sandbox`.
   */
  simulate(body: types.Simulate, options?: Options): Promise<Record<string, unknown>> {
    return this.core.raw({ method: "POST", path: "/v1/sandbox/simulate", body: { ...body }, keyed: true }, options);
  }
}

/** Calls of `/v1/users`. */
export class UsersResource {
  constructor(private readonly core: Core) {}

  /**
   * Create a user. A user connects the donations of one person in your product.
   *
   * Needs a secret key with the scope `users:write`.
   */
  create(body?: types.CreateUser, options?: Options): Promise<types.User> {
    return this.core.record<types.User>({ method: "POST", path: "/v1/users", body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Retrieve a user.
   *
   * Needs a secret key with the scope `users:read`.
   */
  get(id: string, options?: Options): Promise<types.User> {
    return this.core.record<types.User>({ method: "GET", path: path`/v1/users/${id}` }, options);
  }

  /**
   * Retrieve the ID of a user's newest Gift Aid declaration; 404 if there is none.
   *
   * Needs a secret key with the scope `users:read`.
   */
  hasGiftAid(id: string, options?: Options): Promise<types.HasGiftAid> {
    return this.core.record<types.HasGiftAid>({ method: "GET", path: path`/v1/users/${id}/has-gift-aid` }, options);
  }

  /**
   * Choose the default organisation of a user's donations.
   *
   * Needs a secret key with the scope `users:write`.
   */
  setOrganisation(id: string, body: types.SetUserOrganisation, options?: Options): Promise<types.UserOrganisation> {
    return this.core.record<types.UserOrganisation>({ method: "PUT", path: path`/v1/users/${id}/organisation`, body: { ...body } }, options);
  }
}

/** Calls of `/v1/validation-invites`. */
export class ValidationInvitesResource {
  constructor(private readonly core: Core) {}

  /**
   * List validation invites, newest first.
   *
   * Needs a secret key with the scope `validation_invites:read`.
   */
  list(parameters?: types.ListValidationInvitesParameters, options?: Options): PagePromise<types.ValidationInvite> {
    return this.core.page<types.ValidationInvite>({ method: "GET", path: "/v1/validation-invites", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize" } }, options);
  }

  /**
   * Invite an applicant to the hosted form: one link for one submission, open for seven days.
   *
   * Needs a secret key with the scope `validation_invites:write`.
   */
  create(body?: types.CreateValidationInvite, options?: Options): Promise<types.ValidationInvite> {
    return this.core.record<types.ValidationInvite>({ method: "POST", path: "/v1/validation-invites", body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Retrieve a validation invite.
   *
   * Needs a secret key with the scope `validation_invites:read`.
   */
  get(id: string, options?: Options): Promise<types.ValidationInvite> {
    return this.core.record<types.ValidationInvite>({ method: "GET", path: path`/v1/validation-invites/${id}` }, options);
  }
}

/** Calls of `/v1/validation-requests`. */
export class ValidationRequestsResource {
  constructor(private readonly core: Core) {}

  /**
   * List validation requests, newest first unless sorted by name.
   *
   * Needs a secret key with the scope `validation_requests:read`.
   */
  list(parameters?: types.ListValidationRequestsParameters, options?: Options): PagePromise<types.ValidationRequest> {
    return this.core.page<types.ValidationRequest>({ method: "GET", path: "/v1/validation-requests", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "status": "status", "query": "query", "sort": "sort", "startDate": "startDate", "endDate": "endDate" } }, options);
  }

  /**
   * Create a validation request.
   *
   * It checks a nonprofit against an official registry. If the register lists the nonprofit as active under this
   * name, the request is accepted automatically. Otherwise, a reviewer decides.
   *
   * Needs a secret key with the scope `validation_requests:write`.
   */
  create(body: types.CreateValidationRequest, options?: Options): Promise<types.ValidationRequest> {
    return this.core.record<types.ValidationRequest>({ method: "POST", path: "/v1/validation-requests", body: { ...body }, keyed: true }, options);
  }

  /**
   * Retrieve a validation request.
   *
   * Needs a secret key with the scope `validation_requests:read`.
   */
  get(id: string, options?: Options): Promise<types.ValidationRequest> {
    return this.core.record<types.ValidationRequest>({ method: "GET", path: path`/v1/validation-requests/${id}` }, options);
  }

  /**
   * Upload a document as evidence.
   *
   * The file must be a JPEG, PNG, HEIC or PDF of at most 5,242,880 bytes. The response is the whole request.
   *
   * Needs a secret key with the scope `validation_requests:write`.
   */
  addDocument(id: string, body: types.AddValidationRequestDocument, options?: Options): Promise<types.ValidationRequest> {
    return this.core.record<types.ValidationRequest>({ method: "POST", path: path`/v1/validation-requests/${id}/document`, body: { ...body }, upload: "file", keyed: true }, options);
  }

  /**
   * Retrieve the evidence of a validation request: what every evaluation found, and who decided what and why.
   *
   * The dossier is JSON, or a PDF document if Accept is application/pdf. The dossier is signed. Anybody can verify
   * it with the key at /.well-known/almoner-keys.
   *
   * Needs a secret key with the scope `validation_requests:read`.
   */
  getDossier(id: string, options?: Options): Promise<types.ValidationRequestDossier> {
    return this.core.record<types.ValidationRequestDossier>({ method: "GET", path: path`/v1/validation-requests/${id}/dossier` }, options);
  }

  /**
   * Retrieve the evidence of a validation request: what every evaluation found, and who decided what and why.
   *
   * The dossier is JSON, or a PDF document if Accept is application/pdf. The dossier is signed. Anybody can verify
   * it with the key at /.well-known/almoner-keys.
   *
   * Needs a secret key with the scope `validation_requests:read`.
   */
  getDossierPdf(id: string, options?: Options): Promise<Blob> {
    return this.core.content({ method: "GET", path: path`/v1/validation-requests/${id}/dossier`, accept: "application/pdf" }, options);
  }
}

/** Calls of `/v1/validation-submission-configurations`. */
export class ValidationSubmissionConfigurationsResource {
  constructor(private readonly core: Core) {}

  /**
   * List all submission configurations, in one page.
   *
   * Needs a secret key with the scope `validation_configurations:read`.
   */
  list(parameters?: types.ListValidationSubmissionConfigurationsParameters, options?: Options): PagePromise<types.ValidationSubmissionConfiguration> {
    return this.core.page<types.ValidationSubmissionConfiguration>({ method: "GET", path: "/v1/validation-submission-configurations", parameters: { ...parameters }, query: { "direction": "direction" } }, options);
  }

  /**
   * Create a submission configuration: the checks of an application, their rules, and the look of its form.
   *
   * Needs a secret key with the scope `validation_configurations:write`.
   */
  create(body?: types.CreateValidationSubmissionConfiguration, options?: Options): Promise<types.ValidationSubmissionConfiguration> {
    return this.core.record<types.ValidationSubmissionConfiguration>({ method: "POST", path: "/v1/validation-submission-configurations", body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Retrieve a submission configuration.
   *
   * Needs a secret key with the scope `validation_configurations:read`.
   */
  get(id: string, options?: Options): Promise<types.ValidationSubmissionConfiguration> {
    return this.core.record<types.ValidationSubmissionConfiguration>({ method: "GET", path: path`/v1/validation-submission-configurations/${id}` }, options);
  }

  /**
   * Change a submission configuration.
   *
   * Changes of flags and activities also apply to existing subscriptions with this configuration.
   *
   * Needs a secret key with the scope `validation_configurations:write`.
   */
  update(id: string, body?: types.UpdateValidationSubmissionConfiguration, options?: Options): Promise<types.ValidationSubmissionConfiguration> {
    return this.core.record<types.ValidationSubmissionConfiguration>({ method: "PATCH", path: path`/v1/validation-submission-configurations/${id}`, body: { ...(body ?? {}) } }, options);
  }

  /**
   * Upload the logo that the hosted form shows.
   *
   * The file must be a JPEG, PNG or HEIC of at most 5 MiB. The form shows the logo as a square, with transparent
   * edges if necessary.
   *
   * Needs a secret key with the scope `validation_configurations:write`.
   */
  setLogo(id: string, body: types.SetValidationSubmissionConfigurationLogo, options?: Options): Promise<types.ValidationSubmissionConfiguration> {
    return this.core.record<types.ValidationSubmissionConfiguration>({ method: "POST", path: path`/v1/validation-submission-configurations/${id}/logo`, body: { ...body }, upload: "logo", keyed: true }, options);
  }
}

/** Calls of `/v1/validation-submission-documents`. */
export class ValidationSubmissionDocumentsResource {
  constructor(private readonly core: Core) {}

  /**
   * Upload a document of a submission or an open invite.
   *
   * The file must be a JPEG, PNG, HEIC or PDF of at most 5,242,880 bytes. Once a submission has a result, it
   * accepts documents only while an appeal is open. With a publishable key, you can only upload documents of open
   * invites.
   *
   * Needs a publishable or a secret key with the scope `validation_submissions:write`.
   */
  create(body: types.CreateValidationSubmissionDocument, options?: Options): Promise<types.ValidationSubmissionDocument> {
    return this.core.record<types.ValidationSubmissionDocument>({ method: "POST", path: "/v1/validation-submission-documents", body: { ...body }, upload: "file", keyed: true }, options);
  }
}

/** Calls of `/v1/validation-submissions`. */
export class ValidationSubmissionsResource {
  constructor(private readonly core: Core) {}

  /**
   * List validation submissions.
   *
   * Needs a secret key with the scope `validation_submissions:read`.
   */
  list(parameters?: types.ListValidationSubmissionsParameters, options?: Options): PagePromise<types.ValidationSubmission> {
    return this.core.page<types.ValidationSubmission>({ method: "GET", path: "/v1/validation-submissions", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "status": "status", "statuses": "statuses[]", "configurationIds": "configurationIds[]", "organisationIds": "organisationIds[]", "validationRequestIds": "validationRequestIds[]", "countryCodes": "countryCodes[]", "email": "email", "query": "query" } }, options);
  }

  /**
   * Create a validation submission.
   *
   * All checks of the configuration start, and lead to one result. With a publishable key, an open invite is
   * required, `metadata` and `validationRequestId` are rejected, and the response contains no personal data.
   *
   * Needs a publishable or a secret key with the scope `validation_submissions:write`.
   */
  create(body?: types.CreateValidationSubmission, options?: Options): Promise<types.ValidationSubmission> {
    return this.core.record<types.ValidationSubmission>({ method: "POST", path: "/v1/validation-submissions", body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Retrieve a validation submission: the status of each check, and what is missing.
   *
   * Needs a secret key with the scope `validation_submissions:read`.
   */
  get(id: string, options?: Options): Promise<types.ValidationSubmission> {
    return this.core.record<types.ValidationSubmission>({ method: "GET", path: path`/v1/validation-submissions/${id}` }, options);
  }

  /**
   * Appeal against a failed submission.
   *
   * Another operator reviews the decision within ten business days. The applicant can also appeal on the
   * application's status page. A submission can have one open appeal at a time.
   *
   * Needs a secret key with the scope `validation_submissions:write`.
   */
  createAppeal(id: string, body: types.CreateAppeal, options?: Options): Promise<types.Appeal> {
    return this.core.record<types.Appeal>({ method: "POST", path: path`/v1/validation-submissions/${id}/appeals`, body: { ...body }, keyed: true }, options);
  }

  /**
   * List the documents of a validation submission, in one page.
   *
   * Needs a secret key with the scope `validation_submissions:read`.
   */
  listDocuments(id: string, parameters?: types.ListValidationSubmissionDocumentsParameters, options?: Options): PagePromise<types.ValidationSubmissionDocument> {
    return this.core.page<types.ValidationSubmissionDocument>({ method: "GET", path: path`/v1/validation-submissions/${id}/documents`, parameters: { ...parameters }, query: { "direction": "direction" } }, options);
  }
}

/** Calls of `/v1/validation-submissions-organisations`. */
export class ValidationSubmissionsOrganisationsResource {
  constructor(private readonly core: Core) {}

  /**
   * Find earlier applications of the same nonprofit: by words, by organisation or by validation request.
   *
   * Needs a secret key with the scope `validation_submissions:read`.
   */
  find(parameters?: types.FindValidationSubmissionsOrganisationsParameters, options?: Options): Promise<types.SubmissionsOrganisations> {
    return this.core.record<types.SubmissionsOrganisations>({ method: "GET", path: "/v1/validation-submissions-organisations", parameters: { ...parameters }, query: { "query": "query", "organisationIds": "organisationIds[]", "validationRequestIds": "validationRequestIds[]" } }, options);
  }
}

/** Calls of `/v1/webhook-source-addresses`. */
export class WebhookSourceAddressesResource {
  constructor(private readonly core: Core) {}

  /**
   * Retrieve the IP addresses that webhooks are sent from.
   *
   * Needs no key.
   */
  list(options?: Options): Promise<types.WebhookSourceAddresses> {
    return this.core.record<types.WebhookSourceAddresses>({ method: "GET", path: "/v1/webhook-source-addresses" }, options);
  }
}

/** Calls of `/v1/webhook-subscriptions`. */
export class WebhookSubscriptionsResource {
  constructor(private readonly core: Core) {}

  /**
   * List webhook subscriptions, without their secrets.
   *
   * Needs a secret key with the scope `webhooks:read`.
   */
  list(parameters?: types.ListWebhookSubscriptionsParameters, options?: Options): PagePromise<types.WebhookSubscription> {
    return this.core.page<types.WebhookSubscription>({ method: "GET", path: "/v1/webhook-subscriptions", parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "event": "event", "deleted": "deleted" } }, options);
  }

  /**
   * Subscribe a URL to events. Events with donors' personal data require the scope `donations:personal`.
   *
   * Needs a secret key with the scope `webhooks:write`.
   */
  create(body: types.CreateWebhookSubscription, options?: Options): Promise<types.WebhookSubscription> {
    return this.core.record<types.WebhookSubscription>({ method: "POST", path: "/v1/webhook-subscriptions", body: { ...body }, keyed: true }, options);
  }

  /**
   * Retrieve a webhook subscription with its secret.
   *
   * Needs a secret key with the scope `webhooks:read`.
   */
  get(id: string, options?: Options): Promise<types.WebhookSubscription> {
    return this.core.record<types.WebhookSubscription>({ method: "GET", path: path`/v1/webhook-subscriptions/${id}` }, options);
  }

  /**
   * Change a subscription. You can change its URL or events, and suspend or resume it.
   *
   * Needs a secret key with the scope `webhooks:write`.
   */
  update(id: string, body?: types.UpdateWebhookSubscription, options?: Options): Promise<types.WebhookSubscription> {
    return this.core.record<types.WebhookSubscription>({ method: "PATCH", path: path`/v1/webhook-subscriptions/${id}`, body: { ...(body ?? {}) } }, options);
  }

  /**
   * Delete a subscription. No more events are sent to its URL.
   *
   * Needs a secret key with the scope `webhooks:write`.
   */
  delete(id: string, options?: Options): Promise<void> {
    return this.core.empty({ method: "DELETE", path: path`/v1/webhook-subscriptions/${id}` }, options);
  }

  /**
   * List a subscription's deliveries with all their attempts.
   *
   * Deliveries are kept for 90 days, their attempts for 30.
   *
   * Needs a secret key with the scope `webhooks:read`.
   */
  listDeliveries(id: string, parameters?: types.ListWebhookDeliveriesParameters, options?: Options): PagePromise<types.WebhookDelivery> {
    return this.core.page<types.WebhookDelivery>({ method: "GET", path: path`/v1/webhook-subscriptions/${id}/deliveries`, parameters: { ...parameters }, query: { "cursor": "cursor", "direction": "direction", "pageSize": "pageSize", "status": "status" } }, options);
  }

  /**
   * Resend the events of a period to one subscription.
   *
   * The events have the same IDs and bodies. A period has at most 10,000 events of the subscription's types, and
   * starts at most 30 days ago.
   *
   * Needs a secret key with the scope `webhooks:write`.
   */
  replayEvents(id: string, body?: types.ReplayWebhookEvents, options?: Options): Promise<types.WebhookReplay> {
    return this.core.record<types.WebhookReplay>({ method: "POST", path: path`/v1/webhook-subscriptions/${id}/replay`, body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Rotate a subscription's secret.
   *
   * The old secret is also used for 24 hours. During this time, `webhook-signature` contains a signature for each
   * secret. `Service-Signature` uses the old secret until you call this again with `confirm` true, or until the 24
   * hours are over.
   *
   * Needs a secret key with the scope `webhooks:write`.
   */
  rotateSecret(id: string, body?: types.RotateWebhookSecret, options?: Options): Promise<types.WebhookSubscription> {
    return this.core.record<types.WebhookSubscription>({ method: "POST", path: path`/v1/webhook-subscriptions/${id}/rotate-secret`, body: { ...(body ?? {}) }, keyed: true }, options);
  }

  /**
   * Send a test event to a subscription. The list of deliveries shows the result.
   *
   * Needs a secret key with the scope `webhooks:write`.
   */
  test(id: string, options?: Options): Promise<types.WebhookDelivery> {
    return this.core.record<types.WebhookDelivery>({ method: "POST", path: path`/v1/webhook-subscriptions/${id}/test`, keyed: true }, options);
  }
}

/** All resources, as properties of a client. */
export class Resources {
  readonly activityTags: ActivityTagsResource;
  readonly agentVerifications: AgentVerificationsResource;
  readonly appeals: AppealsResource;
  readonly categories: CategoriesResource;
  readonly countries: CountriesResource;
  readonly disbursements: DisbursementsResource;
  readonly donationRequests: DonationRequestsResource;
  readonly donationSessions: DonationSessionsResource;
  readonly donationSubscriptions: DonationSubscriptionsResource;
  readonly donations: DonationsResource;
  readonly eligibilitySubscriptions: EligibilitySubscriptionsResource;
  readonly events: EventsResource;
  readonly giftAid: GiftAidResource;
  readonly givingLinks: GivingLinksResource;
  readonly monetaryDonationVerifications: MonetaryDonationVerificationsResource;
  readonly monitoringSubscriptions: MonitoringSubscriptionsResource;
  readonly organisations: OrganisationsResource;
  readonly registries: RegistriesResource;
  readonly sandbox: SandboxResource;
  readonly users: UsersResource;
  readonly validationInvites: ValidationInvitesResource;
  readonly validationRequests: ValidationRequestsResource;
  readonly validationSubmissionConfigurations: ValidationSubmissionConfigurationsResource;
  readonly validationSubmissionDocuments: ValidationSubmissionDocumentsResource;
  readonly validationSubmissions: ValidationSubmissionsResource;
  readonly validationSubmissionsOrganisations: ValidationSubmissionsOrganisationsResource;
  readonly webhookSourceAddresses: WebhookSourceAddressesResource;
  readonly webhookSubscriptions: WebhookSubscriptionsResource;

  constructor(core: Core) {
    this.activityTags = new ActivityTagsResource(core);
    this.agentVerifications = new AgentVerificationsResource(core);
    this.appeals = new AppealsResource(core);
    this.categories = new CategoriesResource(core);
    this.countries = new CountriesResource(core);
    this.disbursements = new DisbursementsResource(core);
    this.donationRequests = new DonationRequestsResource(core);
    this.donationSessions = new DonationSessionsResource(core);
    this.donationSubscriptions = new DonationSubscriptionsResource(core);
    this.donations = new DonationsResource(core);
    this.eligibilitySubscriptions = new EligibilitySubscriptionsResource(core);
    this.events = new EventsResource(core);
    this.giftAid = new GiftAidResource(core);
    this.givingLinks = new GivingLinksResource(core);
    this.monetaryDonationVerifications = new MonetaryDonationVerificationsResource(core);
    this.monitoringSubscriptions = new MonitoringSubscriptionsResource(core);
    this.organisations = new OrganisationsResource(core);
    this.registries = new RegistriesResource(core);
    this.sandbox = new SandboxResource(core);
    this.users = new UsersResource(core);
    this.validationInvites = new ValidationInvitesResource(core);
    this.validationRequests = new ValidationRequestsResource(core);
    this.validationSubmissionConfigurations = new ValidationSubmissionConfigurationsResource(core);
    this.validationSubmissionDocuments = new ValidationSubmissionDocumentsResource(core);
    this.validationSubmissions = new ValidationSubmissionsResource(core);
    this.validationSubmissionsOrganisations = new ValidationSubmissionsOrganisationsResource(core);
    this.webhookSourceAddresses = new WebhookSourceAddressesResource(core);
    this.webhookSubscriptions = new WebhookSubscriptionsResource(core);
  }
}
