# Made from openapi.json by `make clients`; do not edit.

"""The methods of Almoner."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Dict, List, Literal

from almoner_client._calls import Call, path_of
from almoner_client._core import SyncCore, Page
from almoner_client._generated.models import (
    ActivityTag,
    AgentVerification,
    Appeal,
    BenefitsParams,
    BrandingParams,
    Category,
    Country,
    Disbursement,
    Donation,
    DonationRequest,
    DonationSession,
    DonationSubscription,
    EligibilityEvaluation,
    EligibilitySubscription,
    Event,
    GiftAid,
    GivingLink,
    HasGiftAid,
    Milestone,
    MonetaryDonationVerification,
    MonitoringChange,
    MonitoringSubscription,
    Organisation,
    OrganisationBranding,
    OrganisationChange,
    OrganisationProfile,
    PartnerFieldParams,
    Registry,
    SandboxClock,
    SandboxMail,
    SubmissionsOrganisations,
    User,
    UserOrganisation,
    ValidationInvite,
    ValidationRequest,
    ValidationRequestDossier,
    ValidationSubmission,
    ValidationSubmissionConfiguration,
    ValidationSubmissionDocument,
    WebhookDelivery,
    WebhookReplay,
    WebhookSourceAddresses,
    WebhookSubscription,
)
from almoner_client._records import OMITTED, Omitted
from almoner_client._uploads import FileInput


class ActivityTagsResource:
    """Calls of `/v1/activity-tags`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        direction: Literal["ASC", "DESC"] | None = None,
        timeout: float | None = None,
    ) -> Page[ActivityTag]:
        """List all activity tags with their sub-tags, in one page.

        Needs a publishable or a secret key with the scope `activities:read`.

        direction: Sort direction.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/activity-tags",
                query={"direction": direction},
                timeout=timeout,
            ),
            ActivityTag,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> ActivityTag:
        """Retrieve an activity tag with its sub-tags.

        Needs a publishable or a secret key with the scope `activities:read`.

        id: The activity tag's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/activity-tags/{id}", id=id),
                timeout=timeout,
            ),
            ActivityTag,
        )


class AgentVerificationsResource:
    """Calls of `/v1/agent-verifications`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        status: Literal["pending", "pending_user_verification", "pending_review", "approved", "rejected"] | None = None,
        email: str | None = None,
        start_date: date | datetime | None = None,
        end_date: date | datetime | None = None,
        timeout: float | None = None,
    ) -> Page[AgentVerification]:
        """List agent verifications, newest first.

        Needs a secret key with the scope `agent_verifications:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        status: The status at the time of the request.
        email: The agent's full email address.
        start_date: Created at this time or later.
        end_date: Created before this time.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/agent-verifications",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "status": status,
                    "email": email,
                    "startDate": start_date,
                    "endDate": end_date,
                },
                timeout=timeout,
            ),
            AgentVerification,
        )

    def create(
        self,
        *,
        first_name: str,
        last_name: str,
        email: str,
        organisation_id: str | None | Omitted = OMITTED,
        validation_request_id: str | None | Omitted = OMITTED,
        title: str | None | Omitted = OMITTED,
        organisation_website: str | None | Omitted = OMITTED,
        language: str | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> AgentVerification:
        """Create an agent verification.

        The verification checks whether a person owns their email address and represents a nonprofit. We email
        the applicant a link and a code. The applicant has 30 days to confirm the address with one of them.

        Needs a secret key with the scope `agent_verifications:write`.

        first_name: First name. Can be empty if there is a last name.
        last_name: Last name. Can be empty if there is a first name.
        email: Email address.
        organisation_id: The organisation.
        validation_request_id: The validation request.
        title: Job title.
        organisation_website: A web address, with or without scheme.
        language: Language of the emails and pages (RFC 5646). Default: English.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/agent-verifications",
                body={
                    "firstName": first_name,
                    "lastName": last_name,
                    "email": email,
                    "organisationId": organisation_id,
                    "validationRequestId": validation_request_id,
                    "title": title,
                    "organisationWebsite": organisation_website,
                    "language": language,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            AgentVerification,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> AgentVerification:
        """Retrieve an agent verification.

        Needs a secret key with the scope `agent_verifications:read`.

        id: The agent verification's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/agent-verifications/{id}", id=id),
                timeout=timeout,
            ),
            AgentVerification,
        )

    def update(
        self,
        id: str,
        *,
        metadata: Dict[str, str | None] | None | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> AgentVerification:
        """Change an agent verification's metadata, key by key. Nothing else can be changed.

        Needs a secret key with the scope `agent_verifications:write`.

        id: The agent verification's identifier.
        metadata: Merged key by key into the current metadata; a key set to null is removed.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/agent-verifications/{id}", id=id),
                body={"metadata": metadata},
                timeout=timeout,
            ),
            AgentVerification,
        )


class AppealsResource:
    """Calls of `/v1/appeals`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> Appeal:
        """Retrieve an appeal.

        Needs a secret key with the scope `validation_submissions:read`.

        id: The appeal's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/appeals/{id}", id=id),
                timeout=timeout,
            ),
            Appeal,
        )


class CategoriesResource:
    """Calls of `/v1/categories`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> Page[Category]:
        """List categories.

        Needs a publishable or a secret key with the scope `categories:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/categories",
                query={"cursor": cursor, "direction": direction, "pageSize": page_size},
                timeout=timeout,
            ),
            Category,
        )

    def create(
        self,
        *,
        name: str,
        attributes: Dict[str, str | bool | int | float] | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Category:
        """Create a category.

        Needs a secret key with the scope `categories:write`.

        name: Its name.
        attributes: At most 20 keys of 1 to 40 characters. Values are strings of at most 250 characters,
            booleans or numbers.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/categories",
                body={"name": name, "attributes": attributes},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            Category,
        )

    def add_organisation(
        self,
        category_id: str,
        organisation_id: str,
        *,
        timeout: float | None = None,
    ) -> None:
        """Add an organisation to a category. Adding an organisation again changes nothing.

        Needs a secret key with the scope `categories:write`.

        category_id: The category's identifier.
        organisation_id: The organisation's identifier.
        """
        self._core.empty(
            Call(
                method="PUT",
                path=path_of(
                    "/v1/categories/{category_id}/{organisation_id}",
                    category_id=category_id,
                    organisation_id=organisation_id,
                ),
                timeout=timeout,
            )
        )

    def remove_organisation(
        self,
        category_id: str,
        organisation_id: str,
        *,
        timeout: float | None = None,
    ) -> None:
        """Remove an organisation from a category.

        Needs a secret key with the scope `categories:write`.

        category_id: The category's identifier.
        organisation_id: The organisation's identifier.
        """
        self._core.empty(
            Call(
                method="DELETE",
                path=path_of(
                    "/v1/categories/{category_id}/{organisation_id}",
                    category_id=category_id,
                    organisation_id=organisation_id,
                ),
                timeout=timeout,
            )
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> Category:
        """Retrieve a category.

        Needs a publishable or a secret key with the scope `categories:read`.

        id: The category's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/categories/{id}", id=id),
                timeout=timeout,
            ),
            Category,
        )

    def update(
        self,
        id: str,
        *,
        name: str | Omitted = OMITTED,
        attributes: Dict[str, str | bool | int | float] | None | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Category:
        """Change a category's name or attributes.

        Needs a secret key with the scope `categories:write`.

        id: The category's identifier.
        name: Its name.
        attributes: At most 20 keys of 1 to 40 characters. Values are strings of at most 250 characters,
            booleans or numbers.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/categories/{id}", id=id),
                body={"name": name, "attributes": attributes},
                timeout=timeout,
            ),
            Category,
        )

    def delete(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete a category. The organisations in the category are not deleted.

        Needs a secret key with the scope `categories:write`.

        id: The category's identifier.
        """
        self._core.empty(
            Call(
                method="DELETE",
                path=path_of("/v1/categories/{id}", id=id),
                timeout=timeout,
            )
        )

    def set_image(
        self,
        id: str,
        *,
        image: FileInput,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Upload the image that is shown with a category: JPEG, PNG or HEIC, at most 5 MiB.

        Needs a secret key with the scope `categories:write`.

        id: The category's identifier.
        image: The file: image/jpeg, image/png, image/heic; at most 5,242,880 bytes.
        """
        self._core.empty(
            Call(
                method="POST",
                path=path_of("/v1/categories/{id}/image", id=id),
                body={},
                upload=("image", image),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            )
        )


class CountriesResource:
    """Calls of `/v1/countries`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        direction: Literal["ASC", "DESC"] | None = None,
        has_registry: bool | None = None,
        timeout: float | None = None,
    ) -> Page[Country]:
        """List all countries in the order of their codes, in one page.

        Needs a publishable or a secret key with the scope `registries:read`.

        direction: Sort direction.
        has_registry: Only countries with (`true`) or without (`false`) a supported registry.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/countries",
                query={"direction": direction, "hasRegistry": has_registry},
                timeout=timeout,
            ),
            Country,
        )


class DisbursementsResource:
    """Calls of `/v1/disbursements`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        organisation_id: str | None = None,
        status: Literal["PENDING", "SENT", "PAID", "RETURNED"] | None = None,
        timeout: float | None = None,
    ) -> Page[Disbursement]:
        """List disbursements to nonprofits, newest first.

        A `PENDING` disbursement is the amount that is owed to a nonprofit in one currency and has not been sent
        yet. The amount grows with each donation that settles.

        Needs a secret key with the scope `disbursements:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        organisation_id: Only records of this organisation.
        status: Only records with this status.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/disbursements",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "organisationId": organisation_id,
                    "status": status,
                },
                timeout=timeout,
            ),
            Disbursement,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> Disbursement:
        """Retrieve a disbursement to a nonprofit.

        Needs a secret key with the scope `disbursements:read`.

        id: The disbursement's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/disbursements/{id}", id=id),
                timeout=timeout,
            ),
            Disbursement,
        )


class DonationRequestsResource:
    """Calls of `/v1/donation-requests`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        sort: Literal["id", "dueAt"] | None = None,
        timeout: float | None = None,
    ) -> Page[DonationRequest]:
        """List donation requests, newest first or by due date.

        A donation request asks you to transfer the money for direct donations.

        Needs a secret key with the scope `donation_requests:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        sort: `id` sorts by creation, `dueAt` by due date.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/donation-requests",
                query={"cursor": cursor, "direction": direction, "pageSize": page_size, "sort": sort},
                timeout=timeout,
            ),
            DonationRequest,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> DonationRequest:
        """Retrieve a donation request.

        Needs a secret key with the scope `donation_requests:read`.

        id: The donation request's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/donation-requests/{id}", id=id),
                timeout=timeout,
            ),
            DonationRequest,
        )


class DonationSessionsResource:
    """Calls of `/v1/donation-sessions`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> Page[DonationSession]:
        """List donation sessions.

        Needs a secret key with the scope `donation_sessions:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/donation-sessions",
                query={"cursor": cursor, "direction": direction, "pageSize": page_size},
                timeout=timeout,
            ),
            DonationSession,
        )

    def create(
        self,
        *,
        organisation_id: str,
        user_id: str | None | Omitted = OMITTED,
        success_url: str | None | Omitted = OMITTED,
        currency: str | None | Omitted = OMITTED,
        language: str | None | Omitted = OMITTED,
        metadata: Dict[str, str] | None | Omitted = OMITTED,
        frequencies: List[Literal["one_time", "weekly", "monthly", "quarterly", "yearly"]] | Omitted = OMITTED,
        benefits: BenefitsParams | None | Omitted = OMITTED,
        suggested_amounts: List[int] | None | Omitted = OMITTED,
        minimum: int | None | Omitted = OMITTED,
        maximum: int | None | Omitted = OMITTED,
        designations: List[str] | None | Omitted = OMITTED,
        offers_dedication: bool | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> DonationSession:
        """Create a donation session: a hosted page, open for 24 hours, on which one donor gives to one
        organisation.

        Needs a secret key with the scope `donation_sessions:write`.

        organisation_id: The organisation.
        user_id: Your user who donates.
        success_url: Where the donor is redirected after donating; https. `{DONATION_SESSION_ID}` in it is
            replaced by the session's ID. Default: our own page.
        currency: ISO 4217 code.
        language: Language of the page (RFC 5646). If it is not available, the nearest one is used, or else
            English.
        metadata: Your own data: at most 20 keys of up to 40 characters, values of up to 250.
        frequencies: How often the donor can donate. If there are several, the donor chooses one on the page.
            The first is selected by default. All but `one_time` start a regular donation by card.
        benefits: Goods or services that the donor receives in return. The page and the receipt state them with
            their value, and the page offers no Gift Aid. Requires `currency`; only for `one_time` donations.
        suggested_amounts: Amounts to choose from, in the minor unit of `currency`, which is then required.
        minimum: The minimum donation, in the minor unit of `currency`, which is then required.
        maximum: The maximum donation, in the minor unit of `currency`, which is then required.
        designations: Purposes from which the donor chooses one. The nonprofit sees the choice. A single purpose
            applies without a choice.
        offers_dedication: Whether the donor can dedicate the donation to somebody, and have us email a person
            about it once it is paid.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/donation-sessions",
                body={
                    "organisationId": organisation_id,
                    "userId": user_id,
                    "successUrl": success_url,
                    "currency": currency,
                    "language": language,
                    "metadata": metadata,
                    "frequencies": frequencies,
                    "benefits": benefits,
                    "suggestedAmounts": suggested_amounts,
                    "minimum": minimum,
                    "maximum": maximum,
                    "designations": designations,
                    "offersDedication": offers_dedication,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            DonationSession,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> DonationSession:
        """Retrieve a donation session.

        Needs a secret key with the scope `donation_sessions:read`.

        id: The donation session's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/donation-sessions/{id}", id=id),
                timeout=timeout,
            ),
            DonationSession,
        )


class DonationSubscriptionsResource:
    """Calls of `/v1/donation-subscriptions`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        user_id: str | None = None,
        organisation_id: str | None = None,
        status: Literal["pending", "active", "past_due", "paused", "cancelled"] | None = None,
        email: str | None = None,
        sort: Literal["id", "nextDonationAt"] | None = None,
        timeout: float | None = None,
    ) -> Page[DonationSubscription]:
        """List donation subscriptions, newest or next due first.

        A donation subscription is the plan of a donor's regular donations.

        Needs a secret key with the scope `donation_subscriptions:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        user_id: Only records of this user.
        organisation_id: Only records of this organisation.
        status: Only records with this status.
        email: The donor's email address. Needs a key with the scope `donations:personal`.
        sort: `id` sorts by creation. `nextDonationAt` sorts by the next donation; it takes no filters.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/donation-subscriptions",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "userId": user_id,
                    "organisationId": organisation_id,
                    "status": status,
                    "email": email,
                    "sort": sort,
                },
                timeout=timeout,
            ),
            DonationSubscription,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> DonationSubscription:
        """Retrieve a donation subscription.

        Needs a secret key with the scope `donation_subscriptions:read`.

        id: The donation subscription's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/donation-subscriptions/{id}", id=id),
                timeout=timeout,
            ),
            DonationSubscription,
        )

    def update(
        self,
        id: str,
        *,
        amount: int | Omitted = OMITTED,
        frequency: Literal["weekly", "monthly", "quarterly", "yearly"] | Omitted = OMITTED,
        metadata: Dict[str, str | None] | None | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> DonationSubscription:
        """Change a donation subscription.

        You can change its metadata, key by key, its amount and its frequency. A change that lowers what the
        donor pays applies immediately. A change that raises what the donor pays stays in `pendingChange` until
        the donor agrees to the change on a page. We email the donor a link to this page. A later request
        replaces a pending change.

        Needs a secret key with the scope `donation_subscriptions:write`.

        id: The donation subscription's identifier.
        amount: The amount of each donation, in minor units. A lower amount applies at once; a higher one waits
            as `pendingChange` until the donor agrees.
        frequency: A lower frequency applies at once; a higher one waits as `pendingChange` until the donor
            agrees.
        metadata: Merged key by key into the current metadata; a key set to null is removed.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/donation-subscriptions/{id}", id=id),
                body={"amount": amount, "frequency": frequency, "metadata": metadata},
                timeout=timeout,
            ),
            DonationSubscription,
        )

    def cancel(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> DonationSubscription:
        """End a donation subscription for good. A donation that is being charged right now can still succeed.

        Needs a secret key with the scope `donation_subscriptions:write`.

        id: The donation subscription's identifier.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/donation-subscriptions/{id}/cancel", id=id),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            DonationSubscription,
        )

    def pause(
        self,
        id: str,
        *,
        until: datetime | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> DonationSubscription:
        """Pause a donation subscription that is `active` or `past_due`.

        Donations that are missed during the pause are not charged later.

        Needs a secret key with the scope `donation_subscriptions:write`.

        id: The donation subscription's identifier.
        until: When the pause ends, within 366 days. Default: when the subscription is resumed.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/donation-subscriptions/{id}/pause", id=id),
                body={"until": until},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            DonationSubscription,
        )

    def resume(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> DonationSubscription:
        """Resume a donation subscription that is `paused`. The subscription continues with its next date.

        You cannot resume a subscription while its nonprofit cannot receive donations.

        Needs a secret key with the scope `donation_subscriptions:write`.

        id: The donation subscription's identifier.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/donation-subscriptions/{id}/resume", id=id),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            DonationSubscription,
        )

    def skip(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> DonationSubscription:
        """Skip the next donation of a donation subscription. The subscription must be `active` or `past_due`.

        Needs a secret key with the scope `donation_subscriptions:write`.

        id: The donation subscription's identifier.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/donation-subscriptions/{id}/skip", id=id),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            DonationSubscription,
        )


class DonationsResource:
    """Calls of `/v1/donations`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        user_id: str | None = None,
        organisation_id: str | None = None,
        status: Literal["ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED"] | None = None,
        donation_request_id: str | None = None,
        session_id: str | None = None,
        giving_link_id: str | None = None,
        email: str | None = None,
        start_date: date | datetime | None = None,
        end_date: date | datetime | None = None,
        sort: Literal["id", "amount"] | None = None,
        timeout: float | None = None,
    ) -> Page[Donation]:
        """List donations, newest first unless sorted by amount.

        Needs a secret key with the scope `donations:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        user_id: Only records of this user.
        organisation_id: Only records of this organisation.
        status: Only records with this status.
        donation_request_id: Only donations of this donation request.
        session_id: The donation session of hosted donations.
        giving_link_id: Only donations made through this giving link.
        email: The donor's complete email address, in upper or lower case.
        start_date: Created at this time or later.
        end_date: Created before this time.
        sort: `id` sorts by creation. `amount` sorts by currency, then by amount; it takes no filters.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/donations",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "userId": user_id,
                    "organisationId": organisation_id,
                    "status": status,
                    "donationRequestId": donation_request_id,
                    "sessionId": session_id,
                    "givingLinkId": giving_link_id,
                    "email": email,
                    "startDate": start_date,
                    "endDate": end_date,
                    "sort": sort,
                },
                timeout=timeout,
            ),
            Donation,
        )

    def create(
        self,
        *,
        amount: int,
        currency_code: str,
        organisation_id: str | None | Omitted = OMITTED,
        user_id: str | None | Omitted = OMITTED,
        first_name: str | None | Omitted = OMITTED,
        last_name: str | None | Omitted = OMITTED,
        email: str | None | Omitted = OMITTED,
        consented_to_be_contacted_by_org: Literal["yes", "no"] | Omitted = OMITTED,
        anonymous: Literal["yes", "no"] | Omitted = OMITTED,
        gift_aid_id: str | None | Omitted = OMITTED,
        metadata: Dict[str, str] | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Donation:
        """Create a direct donation.

        You have already collected the money for a direct donation. The next donation request asks you to
        transfer it. Until then, the donation is `ACTIVE`, and you can cancel it or change its organisation.

        Needs a secret key with the scope `donations:write`.

        amount: In the currency's minor unit.
        currency_code: ISO 4217 code.
        organisation_id: Default: the user's default organisation.
        user_id: Your user who donates.
        first_name: First or last name is required.
        last_name: Last name.
        email: Email address.
        consented_to_be_contacted_by_org: Whether the nonprofit may contact the donor.
        anonymous: Whether the donor's name is withheld from the nonprofit.
        gift_aid_id: Default: the user's newest declaration that covers the donation.
        metadata: Your own data: at most 20 keys of up to 40 characters, values of up to 250.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/donations",
                body={
                    "amount": amount,
                    "currencyCode": currency_code,
                    "organisationId": organisation_id,
                    "userId": user_id,
                    "firstName": first_name,
                    "lastName": last_name,
                    "email": email,
                    "consentedToBeContactedByOrg": consented_to_be_contacted_by_org,
                    "anonymous": anonymous,
                    "giftAidId": gift_aid_id,
                    "metadata": metadata,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            Donation,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> Donation:
        """Retrieve a donation.

        Needs a secret key with the scope `donations:read`.

        id: The donation's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/donations/{id}", id=id),
                timeout=timeout,
            ),
            Donation,
        )

    def update(
        self,
        id: str,
        *,
        organisation_id: str | Omitted = OMITTED,
        metadata: Dict[str, str | None] | None | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Donation:
        """Change a donation.

        You can change its metadata, key by key, and the organisation of a direct donation while it is `ACTIVE`.

        Needs a secret key with the scope `donations:write`.

        id: The donation's identifier.
        organisation_id: The organisation.
        metadata: Merged key by key into the current metadata; a key set to null is removed.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/donations/{id}", id=id),
                body={"organisationId": organisation_id, "metadata": metadata},
                timeout=timeout,
            ),
            Donation,
        )

    def cancel(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Donation:
        """Cancel a direct donation that is `ACTIVE`.

        Needs a secret key with the scope `donations:write`.

        id: The donation's identifier.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/donations/{id}/cancel", id=id),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            Donation,
        )

    def refund(
        self,
        id: str,
        *,
        amount: int | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Donation:
        """Refund a donation, in full or in part.

        The donation must be `RECEIVED_PAYMENT`, and not in a disbursement that was sent. The payment provider
        refunds the donor of a hosted donation. We refund direct donations to you by bank transfer. Once the
        money is sent, `refundedAt` and `refundedAmount` are set, and `donation.refunded` is sent. The status
        does not change.

        Needs a secret key with the scope `donations:write`.

        id: The donation's identifier.
        amount: The amount to refund, in the currency's minor unit, at most what is left of the donation.
            Default: all that is left.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/donations/{id}/refund", id=id),
                body={"amount": amount},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            Donation,
        )


class EligibilitySubscriptionsResource:
    """Calls of `/v1/eligibility-subscriptions`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        status: Literal[
            "pending",
            "pending_validation_request",
            "validation_request_failed",
            "live",
            "cancelled",
            "cannot_define_eligibility",
        ]
        | None = None,
        has_organisation: bool | None = None,
        query: str | None = None,
        sort: Literal["id", "name"] | None = None,
        start_date: date | datetime | None = None,
        end_date: date | datetime | None = None,
        timeout: float | None = None,
    ) -> Page[EligibilitySubscription]:
        """List eligibility subscriptions: newest first unless sorted by name.

        Needs a secret key with the scope `eligibility_subscriptions:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        status: Only records with this status.
        has_organisation: Whether the organisation is known yet.
        query: Words, or parts of words, in the nonprofit's name.
        sort: `id` sorts by creation, `name` by the nonprofit's name.
        start_date: Created at this time or later.
        end_date: Created before this time.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/eligibility-subscriptions",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "status": status,
                    "hasOrganisation": has_organisation,
                    "query": query,
                    "sort": sort,
                    "startDate": start_date,
                    "endDate": end_date,
                },
                timeout=timeout,
            ),
            EligibilitySubscription,
        )

    def create(
        self,
        *,
        organisation_id: str | None | Omitted = OMITTED,
        validation_request_id: str | None | Omitted = OMITTED,
        suggested_activity_sub_tags: List[str] | Omitted = OMITTED,
        metadata: Dict[str, str] | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> EligibilitySubscription:
        """Create an eligibility subscription.

        The subscription checks whether your configuration allows what a nonprofit does, now and whenever this
        changes.

        Needs a secret key with the scope `eligibility_subscriptions:write`.

        organisation_id: The organisation.
        validation_request_id: The validation request.
        suggested_activity_sub_tags: What you believe the nonprofit does: IDs of sub-tags from GET /v1/activity-
            tags. Each sub-tag is confirmed or left out. In the sandbox, `["test_pass"]` and `["test_fail"]` set
            the result.
        metadata: Your own data: at most 20 keys of up to 40 characters, values of up to 250.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/eligibility-subscriptions",
                body={
                    "organisationId": organisation_id,
                    "validationRequestId": validation_request_id,
                    "suggestedActivitySubTags": suggested_activity_sub_tags,
                    "metadata": metadata,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            EligibilitySubscription,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> EligibilitySubscription:
        """Retrieve an eligibility subscription.

        Needs a secret key with the scope `eligibility_subscriptions:read`.

        id: The eligibility subscription's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/eligibility-subscriptions/{id}", id=id),
                timeout=timeout,
            ),
            EligibilitySubscription,
        )

    def update(
        self,
        id: str,
        *,
        metadata: Dict[str, str | None] | None | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> EligibilitySubscription:
        """Change an eligibility subscription's metadata, key by key. Nothing else can be changed.

        Needs a secret key with the scope `eligibility_subscriptions:write`.

        id: The eligibility subscription's identifier.
        metadata: Merged key by key into the current metadata; a key set to null is removed.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/eligibility-subscriptions/{id}", id=id),
                body={"metadata": metadata},
                timeout=timeout,
            ),
            EligibilitySubscription,
        )

    def cancel(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> EligibilitySubscription:
        """Cancel an eligibility subscription. The subscription is no longer evaluated, and keeps its last results.

        Needs a secret key with the scope `eligibility_subscriptions:write`.

        id: The eligibility subscription's identifier.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/eligibility-subscriptions/{id}/cancel", id=id),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            EligibilitySubscription,
        )

    def list_history(
        self,
        id: str,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> Page[EligibilityEvaluation]:
        """List the evaluations with their evidence: the rule of every activity, and what was left out.

        Needs a secret key with the scope `eligibility_subscriptions:read`.

        id: The eligibility subscription's identifier.
        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        """
        return self._core.page(
            Call(
                method="GET",
                path=path_of("/v1/eligibility-subscriptions/{id}/history", id=id),
                query={"cursor": cursor, "direction": direction, "pageSize": page_size},
                timeout=timeout,
            ),
            EligibilityEvaluation,
        )


class EventsResource:
    """Calls of `/v1/events`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        type: str | None = None,
        start_date: date | datetime | None = None,
        end_date: date | datetime | None = None,
        after: int | None = None,
        wait: int | None = None,
        timeout: float | None = None,
    ) -> Page[Event]:
        """List events in the order of their sequence.

        The sequence has no gaps. Events are kept for 90 days: the list starts with the oldest stored event, and
        `totalResults` counts the stored events. With `after`, the list starts after that sequence, oldest
        first. If you also set `wait`, the response is delayed by up to this number of seconds until there is an
        event.

        Needs a secret key with the scope `events:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        type: Only events of this type.
        start_date: Only events from this time on.
        end_date: Only events before this time.
        after: Only events after this sequence number, oldest first.
        wait: With `after`: how many seconds to wait if there is no event yet.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/events",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "type": type,
                    "startDate": start_date,
                    "endDate": end_date,
                    "after": after,
                    "wait": wait,
                },
                timeout=timeout,
            ),
            Event,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> Event:
        """Retrieve an event.

        Needs a secret key with the scope `events:read`.

        id: The event's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/events/{id}", id=id),
                timeout=timeout,
            ),
            Event,
        )

    def resend(
        self,
        id: str,
        *,
        webhook_subscription_id: str | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> WebhookReplay:
        """Resend an event.

        The event has the same ID and body, and goes to one subscription or to all that are subscribed to its
        type.

        Needs a secret key with the scope `webhooks:write`.

        id: The event's identifier.
        webhook_subscription_id: The subscription. Default: all that are subscribed to the event's type.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/events/{id}/resend", id=id),
                body={"webhookSubscriptionId": webhook_subscription_id},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            WebhookReplay,
        )


class GiftAidResource:
    """Calls of `/v1/gift-aid`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def create(
        self,
        *,
        title: str,
        first_name: str,
        last_name: str,
        building_name_number: str,
        road_name: str,
        city: str,
        country: str,
        postcode: str,
        user_id: str | None | Omitted = OMITTED,
        covers_from: date | datetime | None | Omitted = OMITTED,
        covers_to: date | datetime | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> GiftAid:
        """Create a Gift Aid declaration.

        The declaration covers donations from now on and from the past four years, unless you set another
        period. With a publishable key, the response contains only `id` and `createdAt`.

        Needs a publishable or a secret key with the scope `gift_aid:write`.

        title: How the donor is addressed, such as `Dr`.
        first_name: First name.
        last_name: Last name.
        building_name_number: Name or number of the donor's house.
        road_name: Road.
        city: City or town.
        country: Country, as written in an address.
        postcode: Postcode.
        user_id: Your user. With a publishable key, the user must have an open donation session.
        covers_from: The start of the period, at most four years ago. Default: four years ago.
        covers_to: The end of the period (exclusive). Default: no end.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/gift-aid",
                body={
                    "title": title,
                    "firstName": first_name,
                    "lastName": last_name,
                    "buildingNameNumber": building_name_number,
                    "roadName": road_name,
                    "city": city,
                    "country": country,
                    "postcode": postcode,
                    "userId": user_id,
                    "coversFrom": covers_from,
                    "coversTo": covers_to,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            GiftAid,
        )


class GivingLinksResource:
    """Calls of `/v1/giving-links`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        active: bool | None = None,
        timeout: float | None = None,
    ) -> Page[GivingLink]:
        """List giving links.

        Needs a secret key with the scope `giving_links:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        active: Whether the link is active. An expired link can be active.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/giving-links",
                query={"cursor": cursor, "direction": direction, "pageSize": page_size, "active": active},
                timeout=timeout,
            ),
            GivingLink,
        )

    def create(
        self,
        *,
        title: str,
        text: str | None | Omitted = OMITTED,
        slug: str | None | Omitted = OMITTED,
        organisation_ids: List[str] | None | Omitted = OMITTED,
        category_id: str | None | Omitted = OMITTED,
        suggested_amounts: List[int] | None | Omitted = OMITTED,
        minimum: int | None | Omitted = OMITTED,
        maximum: int | None | Omitted = OMITTED,
        currencies: List[str] | None | Omitted = OMITTED,
        frequencies: List[Literal["one_time", "weekly", "monthly", "quarterly", "yearly"]] | Omitted = OMITTED,
        designations: List[str] | None | Omitted = OMITTED,
        goal: int | None | Omitted = OMITTED,
        shows_progress: bool | Omitted = OMITTED,
        offers_dedication: bool | Omitted = OMITTED,
        allowed_origins: List[str] | None | Omitted = OMITTED,
        success_url: str | None | Omitted = OMITTED,
        metadata: Dict[str, str] | None | Omitted = OMITTED,
        active: bool | Omitted = OMITTED,
        expires_at: datetime | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> GivingLink:
        """Create a giving link: a permanent page on which donors give, without code on your side.

        Needs a secret key with the scope `giving_links:write`.

        title: Shown beside the organisation's name and marked as your text.
        text: Shown on the page and marked as your text.
        slug: The end of the link's URL. It never changes and is never reused. Default: made from the title.
        organisation_ids: The organisations from which donors choose. A single one applies without a choice.
        category_id: The category from which donors choose an organisation; null if `organisationIds` is set.
        suggested_amounts: Amounts to choose from, in minor units. Default: the currency's default amounts.
        minimum: The minimum donation, in minor units, not below the currency's own minimum.
        maximum: The maximum donation, in minor units.
        currencies: The currencies from which donors choose. Default: all that the organisation can receive.
        frequencies: How often the donor can donate. If there are several, the donor chooses one on the page.
            The first is selected by default. All but `one_time` start a regular donation by card.
        designations: Purposes from which the donor chooses one. The nonprofit sees the choice. A single purpose
            applies without a choice.
        goal: The fundraising goal in minor units, shown with the amount raised.
        shows_progress: Whether the page shows the amount raised and the number of donors.
        offers_dedication: Whether the donor can dedicate the donation to somebody, and have us email a person
            about it once it is paid.
        allowed_origins: Sites on which the element `<almoner-give>` can open the form in a dialog. Default:
            none.
        success_url: Where the donor is redirected after donating; https. `{DONATION_SESSION_ID}` in it is
            replaced by the session's ID. Default: our own page.
        metadata: Your own data, copied to each session and donation of the link.
        active: Whether the link accepts donations.
        expires_at: When the link stops accepting donations.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/giving-links",
                body={
                    "title": title,
                    "text": text,
                    "slug": slug,
                    "organisationIds": organisation_ids,
                    "categoryId": category_id,
                    "suggestedAmounts": suggested_amounts,
                    "minimum": minimum,
                    "maximum": maximum,
                    "currencies": currencies,
                    "frequencies": frequencies,
                    "designations": designations,
                    "goal": goal,
                    "showsProgress": shows_progress,
                    "offersDedication": offers_dedication,
                    "allowedOrigins": allowed_origins,
                    "successUrl": success_url,
                    "metadata": metadata,
                    "active": active,
                    "expiresAt": expires_at,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            GivingLink,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> GivingLink:
        """Retrieve a giving link.

        Needs a secret key with the scope `giving_links:read`.

        id: The giving link's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/giving-links/{id}", id=id),
                timeout=timeout,
            ),
            GivingLink,
        )

    def update(
        self,
        id: str,
        *,
        title: str | Omitted = OMITTED,
        text: str | None | Omitted = OMITTED,
        organisation_ids: List[str] | None | Omitted = OMITTED,
        category_id: str | None | Omitted = OMITTED,
        suggested_amounts: List[int] | None | Omitted = OMITTED,
        minimum: int | None | Omitted = OMITTED,
        maximum: int | None | Omitted = OMITTED,
        currencies: List[str] | None | Omitted = OMITTED,
        frequencies: List[Literal["one_time", "weekly", "monthly", "quarterly", "yearly"]] | Omitted = OMITTED,
        designations: List[str] | None | Omitted = OMITTED,
        goal: int | None | Omitted = OMITTED,
        shows_progress: bool | Omitted = OMITTED,
        offers_dedication: bool | Omitted = OMITTED,
        allowed_origins: List[str] | None | Omitted = OMITTED,
        success_url: str | None | Omitted = OMITTED,
        metadata: Dict[str, str | None] | None | Omitted = OMITTED,
        active: bool | Omitted = OMITTED,
        expires_at: datetime | None | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> GivingLink:
        """Change a giving link, or switch it off. The URL of the link does not change.

        Needs a secret key with the scope `giving_links:write`.

        id: The giving link's identifier.
        title: Shown beside the organisation's name and marked as your text.
        text: Shown on the page and marked as your text.
        organisation_ids: The organisations from which donors choose. A single one applies without a choice.
        category_id: The category from which donors choose an organisation; null if `organisationIds` is set.
        suggested_amounts: Amounts to choose from, in minor units. Default: the currency's default amounts.
        minimum: The minimum donation, in minor units, not below the currency's own minimum.
        maximum: The maximum donation, in minor units.
        currencies: The currencies from which donors choose. Default: all that the organisation can receive.
        frequencies: How often the donor can donate. If there are several, the donor chooses one on the page.
            The first is selected by default. All but `one_time` start a regular donation by card.
        designations: Purposes from which the donor chooses one. The nonprofit sees the choice. A single purpose
            applies without a choice.
        goal: The fundraising goal in minor units, shown with the amount raised.
        shows_progress: Whether the page shows the amount raised and the number of donors.
        offers_dedication: Whether donors can dedicate their donation to somebody.
        allowed_origins: Sites on which the element `<almoner-give>` can open the form in a dialog. Default:
            none.
        success_url: Where the donor is redirected after donating; https. `{DONATION_SESSION_ID}` in it is
            replaced by the session's ID. Default: our own page.
        metadata: Merged key by key into the current metadata; a key set to null is removed.
        active: Whether donors can donate through the link.
        expires_at: When the link stops accepting donations; null for never.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/giving-links/{id}", id=id),
                body={
                    "title": title,
                    "text": text,
                    "organisationIds": organisation_ids,
                    "categoryId": category_id,
                    "suggestedAmounts": suggested_amounts,
                    "minimum": minimum,
                    "maximum": maximum,
                    "currencies": currencies,
                    "frequencies": frequencies,
                    "designations": designations,
                    "goal": goal,
                    "showsProgress": shows_progress,
                    "offersDedication": offers_dedication,
                    "allowedOrigins": allowed_origins,
                    "successUrl": success_url,
                    "metadata": metadata,
                    "active": active,
                    "expiresAt": expires_at,
                },
                timeout=timeout,
            ),
            GivingLink,
        )

    def set_image(
        self,
        id: str,
        *,
        image: FileInput,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> GivingLink:
        """Upload the picture of a giving link: JPEG, PNG or HEIC, at most 5 MiB.

        Needs a secret key with the scope `giving_links:write`.

        id: The giving link's identifier.
        image: The file: image/jpeg, image/png, image/heic; at most 5,242,880 bytes.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/giving-links/{id}/image", id=id),
                body={},
                upload=("image", image),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            GivingLink,
        )


class MonetaryDonationVerificationsResource:
    """Calls of `/v1/monetary-donation-verifications`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        organisation_id: str | None = None,
        status: Literal["pending", "approved", "rejected", "expired"] | None = None,
        timeout: float | None = None,
    ) -> Page[MonetaryDonationVerification]:
        """List monetary donation verifications, newest first.

        Needs a secret key with the scope `monetary_donation_verifications:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        organisation_id: Only records of this organisation.
        status: The status at the time of the request.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/monetary-donation-verifications",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "organisationId": organisation_id,
                    "status": status,
                },
                timeout=timeout,
            ),
            MonetaryDonationVerification,
        )

    def create(
        self,
        *,
        organisation_id: str,
        metadata: Dict[str, str] | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> MonetaryDonationVerification:
        """Create a monetary donation verification.

        The verification checks whether donations for an organisation can be disbursed to it. It is pending for
        up to 30 days. An organisation can have only one verification that is pending or approved.

        Needs a secret key with the scope `monetary_donation_verifications:write`.

        organisation_id: The organisation.
        metadata: Your own data: at most 20 keys of up to 40 characters, values of up to 250.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/monetary-donation-verifications",
                body={"organisationId": organisation_id, "metadata": metadata},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            MonetaryDonationVerification,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> MonetaryDonationVerification:
        """Retrieve a monetary donation verification.

        Needs a secret key with the scope `monetary_donation_verifications:read`.

        id: The monetary donation verification's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/monetary-donation-verifications/{id}", id=id),
                timeout=timeout,
            ),
            MonetaryDonationVerification,
        )

    def update(
        self,
        id: str,
        *,
        metadata: Dict[str, str | None] | None | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> MonetaryDonationVerification:
        """Change the metadata of a monetary donation verification. It is changed key by key.

        Needs a secret key with the scope `monetary_donation_verifications:write`.

        id: The monetary donation verification's identifier.
        metadata: Merged key by key into the current metadata; a key set to null is removed.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/monetary-donation-verifications/{id}", id=id),
                body={"metadata": metadata},
                timeout=timeout,
            ),
            MonetaryDonationVerification,
        )


class MonitoringSubscriptionsResource:
    """Calls of `/v1/monitoring-subscriptions`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        status: Literal["pending", "pending_validation_request", "validation_request_failed", "live", "cancelled"]
        | None = None,
        has_organisation: bool | None = None,
        query: str | None = None,
        sort: Literal["id", "name"] | None = None,
        timeout: float | None = None,
    ) -> Page[MonitoringSubscription]:
        """List monitoring subscriptions: newest first unless sorted by name.

        Needs a secret key with the scope `monitoring_subscriptions:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        status: Only records with this status.
        has_organisation: Whether the organisation is known yet.
        query: Words, or parts of words, in the nonprofit's name.
        sort: `id` sorts by creation, `name` by the nonprofit's name.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/monitoring-subscriptions",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "status": status,
                    "hasOrganisation": has_organisation,
                    "query": query,
                    "sort": sort,
                },
                timeout=timeout,
            ),
            MonitoringSubscription,
        )

    def create(
        self,
        *,
        organisation_id: str | None | Omitted = OMITTED,
        validation_request_id: str | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> MonitoringSubscription:
        """Create a monitoring subscription.

        The subscription screens an organisation against watchlists and checks its registration, now and
        whenever a list or the register changes. With a validation request, monitoring starts once the request
        is accepted. The results are available a moment after the response.

        Needs a secret key with the scope `monitoring_subscriptions:write`.

        organisation_id: The organisation.
        validation_request_id: The validation request.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/monitoring-subscriptions",
                body={"organisationId": organisation_id, "validationRequestId": validation_request_id},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            MonitoringSubscription,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> MonitoringSubscription:
        """Retrieve a monitoring subscription.

        Needs a secret key with the scope `monitoring_subscriptions:read`.

        id: The monitoring subscription's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/monitoring-subscriptions/{id}", id=id),
                timeout=timeout,
            ),
            MonitoringSubscription,
        )

    def cancel(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> MonitoringSubscription:
        """Cancel a monitoring subscription. The results of the subscription no longer change.

        Needs a secret key with the scope `monitoring_subscriptions:write`.

        id: The monitoring subscription's identifier.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/monitoring-subscriptions/{id}/cancel", id=id),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            MonitoringSubscription,
        )

    def list_history(
        self,
        id: str,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> Page[MonitoringChange]:
        """List each change of the results with its evidence: lists, versions, matches, scores and decisions.

        Needs a secret key with the scope `monitoring_subscriptions:read`.

        id: The monitoring subscription's identifier.
        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        """
        return self._core.page(
            Call(
                method="GET",
                path=path_of("/v1/monitoring-subscriptions/{id}/history", id=id),
                query={"cursor": cursor, "direction": direction, "pageSize": page_size},
                timeout=timeout,
            ),
            MonitoringChange,
        )


class OrganisationsResource:
    """Calls of `/v1/organisations`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def search(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        query: str | None = None,
        page: int | None = None,
        country_code: str | None = None,
        registry_id: str | None = None,
        registry_name: str | None = None,
        category: List[str] | None = None,
        not_category: List[str] | None = None,
        tags: List[str] | None = None,
        not_tags: List[str] | None = None,
        type: List[Literal["nonprofit", "social_impact", "education"]] | None = None,
        usa_group_exempt: bool | None = None,
        active: bool | None = None,
        accepts_donations: bool | None = None,
        explain: str | None = None,
        timeout: float | None = None,
    ) -> Page[Organisation]:
        """Search organisations.

        With `query`, the best matches come first: the words of a name in any order, with typos corrected, and
        the last word may be incomplete. Without `query`, the list is in order of creation.

        Needs a publishable or a secret key with the scope `organisations:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        query: Words of the name or description, or a number.
        page: A numbered page instead of a cursor, within the first 1,000 results.
        country_code: Three-letter country code.
        registry_id: The registration number, in any format.
        registry_name: A registry's name, code or ID.
        category: Only organisations in this category. Repeat it for several categories, or separate
            alternatives with commas.
        not_category: Only organisations in none of these categories.
        tags: Only organisations with this activity tag or sub-tag. Combine values as in `category[]`.
        not_tags: Only organisations with none of these activity tags or sub-tags.
        type: Only organisations with one of these types.
        usa_group_exempt: Whether the organisation is exempt as a subordinate of a group ruling.
        active: Whether the register lists the organisation as active.
        accepts_donations: Whether the organisation can receive donations.
        explain: `true` adds `explain` to each result, which says how the result was found.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/organisations",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "query": query,
                    "page": page,
                    "countryCode": country_code,
                    "registryId": registry_id,
                    "registryName": registry_name,
                    "category[]": category,
                    "notCategory[]": not_category,
                    "tags[]": tags,
                    "notTags[]": not_tags,
                    "type[]": type,
                    "usaGroupExempt": usa_group_exempt,
                    "active": active,
                    "acceptsDonations": accepts_donations,
                },
                headers={"Explain": explain},
                timeout=timeout,
            ),
            Organisation,
        )

    def find(
        self,
        country_code: str,
        registry: str,
        registry_id: str,
        *,
        timeout: float | None = None,
    ) -> Organisation:
        """Retrieve an organisation by its registration number.

        The registry is an ID, code or name, and the number can be in any format. A 404 has the header `Data-As-
        Of` if the register does not list the number, and no such header if the register is not loaded.

        Needs a secret key with the scope `organisations:read`.

        country_code: The country of the registry, three letters (ISO 3166-1 alpha-3).
        registry: The registry, by its code, name or identifier.
        registry_id: The organisation's number in the registry.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of(
                    "/v1/organisations/{country_code}/{registry}/{registry_id}",
                    country_code=country_code,
                    registry=registry,
                    registry_id=registry_id,
                ),
                timeout=timeout,
            ),
            Organisation,
        )

    def get(
        self,
        id: str,
        *,
        as_of: date | datetime | None = None,
        timeout: float | None = None,
    ) -> Organisation:
        """Retrieve an organisation, as it is now or was on a date.

        The header `Data-As-Of` contains the date of its register's data.

        Needs a publishable or a secret key with the scope `organisations:read`.

        id: The organisation's identifier.
        as_of: The record as of this date.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/organisations/{id}", id=id),
                query={"asOf": as_of},
                timeout=timeout,
            ),
            Organisation,
        )

    def get_branding(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> OrganisationBranding:
        """Retrieve an organisation's branding. Values that the organisation has not set are those of its record.

        Needs a publishable or a secret key with the scope `organisations:read`.

        id: The organisation's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/organisations/{id}/branding", id=id),
                timeout=timeout,
            ),
            OrganisationBranding,
        )

    def list_history(
        self,
        id: str,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> Page[OrganisationChange]:
        """List the changes of an organisation.

        The list has all changes by imports of the organisation's register since the first import.

        Needs a publishable or a secret key with the scope `organisations:read`.

        id: The organisation's identifier.
        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        """
        return self._core.page(
            Call(
                method="GET",
                path=path_of("/v1/organisations/{id}/history", id=id),
                query={"cursor": cursor, "direction": direction, "pageSize": page_size},
                timeout=timeout,
            ),
            OrganisationChange,
        )

    def list_milestones(
        self,
        id: str,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> Page[Milestone]:
        """List the goals that an organisation publishes.

        Needs a publishable or a secret key with the scope `organisations:read`.

        id: The organisation's identifier.
        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        """
        return self._core.page(
            Call(
                method="GET",
                path=path_of("/v1/organisations/{id}/milestones", id=id),
                query={"cursor": cursor, "direction": direction, "pageSize": page_size},
                timeout=timeout,
            ),
            Milestone,
        )

    def get_profile(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> OrganisationProfile:
        """Retrieve the public information about an organisation; no API key is needed.

        Needs no key.

        id: The organisation's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/organisations/{id}/profile", id=id),
                timeout=timeout,
            ),
            OrganisationProfile,
        )


class RegistriesResource:
    """Calls of `/v1/registries`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        direction: Literal["ASC", "DESC"] | None = None,
        country_code: str,
        timeout: float | None = None,
    ) -> Page[Registry]:
        """List the registries of a country: in order of their codes, in one page.

        Needs a publishable or a secret key with the scope `registries:read`.

        direction: Sort direction.
        country_code: Three-letter country code.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/registries",
                query={"direction": direction, "countryCode": country_code},
                timeout=timeout,
            ),
            Registry,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> Registry:
        """Retrieve a registry.

        Needs a publishable or a secret key with the scope `registries:read`.

        id: The registry's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/registries/{id}", id=id),
                timeout=timeout,
            ),
            Registry,
        )


class SandboxResource:
    """Calls of `/v1/sandbox`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def get_clock(
        self,
        *,
        timeout: float | None = None,
    ) -> SandboxClock:
        """Read the sandbox's clock.

        Needs a secret key with the scope `sandbox`.
        """
        return self._core.record(
            Call(
                method="GET",
                path="/v1/sandbox/clock",
                timeout=timeout,
            ),
            SandboxClock,
        )

    def advance_clock(
        self,
        *,
        advance_to: datetime | None | Omitted = OMITTED,
        advance_seconds: int | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> SandboxClock:
        """Move the sandbox's clock forwards, by at most 60 days a call.

        Everything that becomes due in between (expiries, cancellations, webhook attempts) is done at its own
        time. The request waits up to 30 seconds for these jobs; `remaining` is the number of jobs that are not
        done yet. Timestamps of signatures and rate limits use real time.

        Needs a secret key with the scope `sandbox_clock`.

        advance_to: A future time.
        advance_seconds: 0 only runs what is due now.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/sandbox/clock",
                body={"advanceTo": advance_to, "advanceSeconds": advance_seconds},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            SandboxClock,
        )

    def list_mails(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        to: str | None = None,
        subject: str | None = None,
        timeout: float | None = None,
    ) -> Page[SandboxMail]:
        """List the emails that the sandbox would have sent.

        Needs a secret key with the scope `sandbox`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        to: The recipient's complete email address.
        subject: Text that the subject contains.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/sandbox/mailbox",
                query={"cursor": cursor, "direction": direction, "pageSize": page_size, "to": to, "subject": subject},
                timeout=timeout,
            ),
            SandboxMail,
        )

    def simulate(
        self,
        *,
        id: str,
        action: Literal[
            "donate",
            "pay",
            "request",
            "settle",
            "disburse",
            "return",
            "release",
            "reassign",
            "refund",
            "dispute",
            "accept",
            "confirm_email",
            "approve",
            "reject",
            "expire",
            "reopen",
            "succeed_check",
            "fail_check",
            "set_results",
            "uphold",
            "reverse",
            "fail_next",
            "expire_card",
            "renew_card",
            "fail",
            "suspend",
            "update",
        ],
        amount: int | None | Omitted = OMITTED,
        currency_code: str | None | Omitted = OMITTED,
        first_name: str | None | Omitted = OMITTED,
        last_name: str | None | Omitted = OMITTED,
        email: str | None | Omitted = OMITTED,
        anonymous: Literal["yes", "no"] | Omitted = OMITTED,
        consented_to_be_contacted_by_org: Literal["yes", "no"] | Omitted = OMITTED,
        card: str | Omitted = OMITTED,
        way: Literal["card", "transfer"] | Omitted = OMITTED,
        frequency: Literal["one_time", "weekly", "monthly", "quarterly", "yearly"] | None | Omitted = OMITTED,
        designation: str | None | Omitted = OMITTED,
        dedication: str | None | Omitted = OMITTED,
        decline_code: Literal[
            "card_declined",
            "insufficient_funds",
            "lost_card",
            "authentication_required",
            "expired_card",
            "revocation_of_authorization",
        ]
        | Omitted = OMITTED,
        organisation_id: str | None | Omitted = OMITTED,
        ground: Literal["failed_compliance", "payment_impossible", "merged"] | Omitted = OMITTED,
        type: Literal["registration", "compliance", "bank_details", "organisation_confirmation"]
        | None
        | Omitted = OMITTED,
        rejection_reason_code: Literal[
            "not_eligible",
            "failed_compliance",
            "no_response",
            "declined_by_organisation",
            "other",
            "incorrect_documentation",
            "not_attributable_to_registry",
            "validation_request_failed",
            "user_verification_expired",
            "user_failed_percent_review",
            "reapply",
            "fake_email_used",
            "no_online_presence",
            "nonprofit_association_expired",
            "invalid_documentation",
            "fake_documentation",
            "mismatched_information",
            "blank_corrupted_documentation",
            "suspicious_application",
        ]
        | None
        | Omitted = OMITTED,
        outcome: Literal["won", "lost"] | None | Omitted = OMITTED,
        results: Dict[str, Any] | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Simulate an action on one of your records. Returns the record.

        The action is that of a donor, an operator or a bank.

        Donation session: `donate` makes a donation on its page (`amount`, `email`, and `firstName` or
        `lastName` are required). `expire` ends the session now.

        Donation: `pay` pays the donation with a test `card` or, for a bank transfer, with an `amount`. The
        challenge of 4000 0000 0000 3220 stays open until the next `pay` with a card that succeeds. `request`
        creates the donation request for direct donations. `settle`: the provider pays out the amount less its
        fee. `disburse`: everything that is settled and owed to the organisation in this currency is disbursed,
        unless the disbursement is waiting. `return`: the bank returns the disbursement, and the next one is
        held until `release`. `reassign` (`organisationId`), `refund` and `dispute` (`outcome`) do what
        operators and donors' banks do.

        Donation request: `pay` (`amount`). Donation subscription: `fail_next` (`declineCode`), `expire_card`
        and `renew_card`. Validation request: `accept` and `reject` (`rejectionReasonCode`). Agent verification:
        `confirm_email` (the applicant confirms the address), `approve` and `reject` (`rejectionReasonCode`,
        default `other`). Appeal: `uphold` and `reverse`. Validation invite: `expire`.

        Monetary donation verification: `approve`, `reject` (`rejectionReasonCode`, default `other`), `expire`
        and `reopen`. `succeed_check` and `fail_check` end the check of this `type`. A failed check rejects the
        verification, and the last successful check approves it.

        Monitoring or eligibility subscription: `set_results` (`results`) sets the results. Results of
        monitoring that you leave out do not change. Webhook subscription: `fail` and `suspend` (the receiver
        has failed for one day, or for five). Organisation: `update` (an import changes it).

        Needs a secret key with the scope `sandbox`.

        id: The record.
        action: The action to simulate.
        amount: In the currency's minor unit, such as cents.
        currency_code: ISO 4217 code.
        first_name: First name.
        last_name: Last name.
        email: Email address.
        anonymous: Whether the donor's name is withheld from the nonprofit.
        consented_to_be_contacted_by_org: Whether the nonprofit may contact the donor.
        card: The number of a test card.
        way: How a donation is paid: `transfer` is confirmed at once, and its money arrives with the action
            `pay`.
        frequency: One of the session's `frequencies`. Default: the first one.
        designation: One of the session's `designations`. Default: the first one.
        dedication: A dedication, in sessions with `offersDedication`.
        decline_code: Why the bank declines the next charge (`fail_next`).
        organisation_id: The organisation that a donation is reassigned to.
        ground: The reason for the reassignment, which the donor sees.
        type: The check to end.
        rejection_reason_code: One of the rejection codes of the record. Default: `other`.
        outcome: Who keeps a disputed donation: `won` leaves it with us, `lost` gives it back to the donor.
        results: The results of a subscription, as its record shows them.
        """
        return self._core.raw(
            Call(
                method="POST",
                path="/v1/sandbox/simulate",
                body={
                    "id": id,
                    "action": action,
                    "amount": amount,
                    "currencyCode": currency_code,
                    "firstName": first_name,
                    "lastName": last_name,
                    "email": email,
                    "anonymous": anonymous,
                    "consentedToBeContactedByOrg": consented_to_be_contacted_by_org,
                    "card": card,
                    "way": way,
                    "frequency": frequency,
                    "designation": designation,
                    "dedication": dedication,
                    "declineCode": decline_code,
                    "organisationId": organisation_id,
                    "ground": ground,
                    "type": type,
                    "rejectionReasonCode": rejection_reason_code,
                    "outcome": outcome,
                    "results": results,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            )
        )


class UsersResource:
    """Calls of `/v1/users`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def create(
        self,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> User:
        """Create a user. A user connects the donations of one person in your product.

        Needs a secret key with the scope `users:write`.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/users",
                body={},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            User,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> User:
        """Retrieve a user.

        Needs a secret key with the scope `users:read`.

        id: The user's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/users/{id}", id=id),
                timeout=timeout,
            ),
            User,
        )

    def has_gift_aid(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> HasGiftAid:
        """Retrieve the ID of a user's newest Gift Aid declaration; 404 if there is none.

        Needs a secret key with the scope `users:read`.

        id: The user's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/users/{id}/has-gift-aid", id=id),
                timeout=timeout,
            ),
            HasGiftAid,
        )

    def set_organisation(
        self,
        id: str,
        *,
        organisation_id: str,
        timeout: float | None = None,
    ) -> UserOrganisation:
        """Choose the default organisation of a user's donations.

        Needs a secret key with the scope `users:write`.

        id: The user's identifier.
        organisation_id: The organisation.
        """
        return self._core.record(
            Call(
                method="PUT",
                path=path_of("/v1/users/{id}/organisation", id=id),
                body={"organisationId": organisation_id},
                timeout=timeout,
            ),
            UserOrganisation,
        )


class ValidationInvitesResource:
    """Calls of `/v1/validation-invites`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> Page[ValidationInvite]:
        """List validation invites, newest first.

        Needs a secret key with the scope `validation_invites:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/validation-invites",
                query={"cursor": cursor, "direction": direction, "pageSize": page_size},
                timeout=timeout,
            ),
            ValidationInvite,
        )

    def create(
        self,
        *,
        redirect_url: str | None | Omitted = OMITTED,
        metadata: Dict[str, str] | None | Omitted = OMITTED,
        language: str | Omitted = OMITTED,
        hosted_config_id: str | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ValidationInvite:
        """Invite an applicant to the hosted form: one link for one submission, open for seven days.

        Needs a secret key with the scope `validation_invites:write`.

        redirect_url: Where the applicant is redirected after the form, with the query parameter
            `validationSubmissionId`; https. Default: the application's status page.
        metadata: Your own data: at most 20 keys of up to 40 characters, values of up to 250.
        language: Language of the page (RFC 5646). If it is not available, the nearest one is used, or else
            English. The applicant can choose another language.
        hosted_config_id: The submission configuration. Default: your default configuration.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/validation-invites",
                body={
                    "redirectUrl": redirect_url,
                    "metadata": metadata,
                    "language": language,
                    "hostedConfigId": hosted_config_id,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            ValidationInvite,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> ValidationInvite:
        """Retrieve a validation invite.

        Needs a secret key with the scope `validation_invites:read`.

        id: The validation invite's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/validation-invites/{id}", id=id),
                timeout=timeout,
            ),
            ValidationInvite,
        )


class ValidationRequestsResource:
    """Calls of `/v1/validation-requests`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        status: Literal["pending", "accepted", "rejected"] | None = None,
        query: str | None = None,
        sort: Literal["id", "name"] | None = None,
        start_date: date | datetime | None = None,
        end_date: date | datetime | None = None,
        timeout: float | None = None,
    ) -> Page[ValidationRequest]:
        """List validation requests, newest first unless sorted by name.

        Needs a secret key with the scope `validation_requests:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        status: Only records with this status.
        query: Words, or parts of words, in the name or the registration number.
        sort: `id` sorts by creation.
        start_date: Created at this time or later.
        end_date: Created before this time.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/validation-requests",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "status": status,
                    "query": query,
                    "sort": sort,
                    "startDate": start_date,
                    "endDate": end_date,
                },
                timeout=timeout,
            ),
            ValidationRequest,
        )

    def create(
        self,
        *,
        name: str,
        registry_name: str,
        registry_id: str,
        website: str,
        country_code: str,
        email: str | None | Omitted = OMITTED,
        address_line1: str | None | Omitted = OMITTED,
        address_line2: str | None | Omitted = OMITTED,
        city: str | None | Omitted = OMITTED,
        state: str | None | Omitted = OMITTED,
        postal: str | None | Omitted = OMITTED,
        usa_group_exempt: bool | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ValidationRequest:
        """Create a validation request.

        It checks a nonprofit against an official registry. If the register lists the nonprofit as active under
        this name, the request is accepted automatically. Otherwise, a reviewer decides.

        Needs a secret key with the scope `validation_requests:write`.

        name: Its name.
        registry_name: Id, code or name of the registry it is registered in.
        registry_id: The registration number, in any format.
        website: A web address, with or without its scheme.
        country_code: Three-letter country code.
        email: Email address.
        address_line1: Street and number.
        address_line2: The rest of the street address.
        city: City or town.
        state: State, province or county.
        postal: Postcode.
        usa_group_exempt: Whether it is covered by an IRS group exemption.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/validation-requests",
                body={
                    "name": name,
                    "registryName": registry_name,
                    "registryId": registry_id,
                    "website": website,
                    "countryCode": country_code,
                    "email": email,
                    "addressLine1": address_line1,
                    "addressLine2": address_line2,
                    "city": city,
                    "state": state,
                    "postal": postal,
                    "usaGroupExempt": usa_group_exempt,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            ValidationRequest,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> ValidationRequest:
        """Retrieve a validation request.

        Needs a secret key with the scope `validation_requests:read`.

        id: The validation request's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/validation-requests/{id}", id=id),
                timeout=timeout,
            ),
            ValidationRequest,
        )

    def add_document(
        self,
        id: str,
        *,
        file: FileInput,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ValidationRequest:
        """Upload a document as evidence.

        The file must be a JPEG, PNG, HEIC or PDF of at most 5,242,880 bytes. The response is the whole request.

        Needs a secret key with the scope `validation_requests:write`.

        id: The validation request's identifier.
        file: The file: image/jpeg, image/png, image/heic, application/pdf; at most 5,242,880 bytes.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/validation-requests/{id}/document", id=id),
                body={},
                upload=("file", file),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            ValidationRequest,
        )

    def get_dossier(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> ValidationRequestDossier:
        """Retrieve the evidence of a validation request: what every evaluation found, and who decided what and
        why.

        The dossier is JSON, or a PDF document if Accept is application/pdf. The dossier is signed. Anybody can
        verify it with the key at /.well-known/almoner-keys.

        Needs a secret key with the scope `validation_requests:read`.

        id: The validation request's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/validation-requests/{id}/dossier", id=id),
                timeout=timeout,
            ),
            ValidationRequestDossier,
        )

    def get_dossier_pdf(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> bytes:
        """Retrieve the evidence of a validation request: what every evaluation found, and who decided what and
        why.

        The dossier is JSON, or a PDF document if Accept is application/pdf. The dossier is signed. Anybody can
        verify it with the key at /.well-known/almoner-keys.

        Needs a secret key with the scope `validation_requests:read`.

        Answers the bytes of application/pdf.

        id: The validation request's identifier.
        """
        return self._core.content(
            Call(
                method="GET",
                path=path_of("/v1/validation-requests/{id}/dossier", id=id),
                headers={"Accept": "application/pdf"},
                timeout=timeout,
            )
        )


class ValidationSubmissionConfigurationsResource:
    """Calls of `/v1/validation-submission-configurations`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        direction: Literal["ASC", "DESC"] | None = None,
        timeout: float | None = None,
    ) -> Page[ValidationSubmissionConfiguration]:
        """List all submission configurations, in one page.

        Needs a secret key with the scope `validation_configurations:read`.

        direction: Sort direction.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/validation-submission-configurations",
                query={"direction": direction},
                timeout=timeout,
            ),
            ValidationSubmissionConfiguration,
        )

    def create(
        self,
        *,
        name: str | None | Omitted = OMITTED,
        branding: BrandingParams | None | Omitted = OMITTED,
        is_default: bool | Omitted = OMITTED,
        checks: List[Literal["validation_request", "compliance", "eligibility", "agent_verification"]]
        | Omitted = OMITTED,
        allowed_organisation_types: List[Literal["nonprofit", "social_impact", "education"]] | Omitted = OMITTED,
        compliance_flags: List[
            Literal["warning", "sanction", "hateSpeech", "commercial", "adverseMedia", "controversial"]
        ]
        | Omitted = OMITTED,
        allowed_activity_sub_tags: List[str] | None | Omitted = OMITTED,
        email_verification: bool | Omitted = OMITTED,
        partner_fields: List[PartnerFieldParams] | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ValidationSubmissionConfiguration:
        """Create a submission configuration: the checks of an application, their rules, and the look of its form.

        Needs a secret key with the scope `validation_configurations:write`.

        name: Its name.
        branding: Name, colour and logo of the hosted form.
        is_default: Whether this configuration replaces the current default.
        checks: The checks that are run, in this order.
        allowed_organisation_types: Types of organisation that may apply.
        compliance_flags: Watchlist categories whose flags make the check `compliance` fail.
        allowed_activity_sub_tags: Allowed activities: IDs of sub-tags from GET /v1/activity-tags; null allows
            all.
        email_verification: Whether applicants confirm their email address.
        partner_fields: Your own questions in the hosted form.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/validation-submission-configurations",
                body={
                    "name": name,
                    "branding": branding,
                    "isDefault": is_default,
                    "checks": checks,
                    "allowedOrganisationTypes": allowed_organisation_types,
                    "complianceFlags": compliance_flags,
                    "allowedActivitySubTags": allowed_activity_sub_tags,
                    "emailVerification": email_verification,
                    "partnerFields": partner_fields,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            ValidationSubmissionConfiguration,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> ValidationSubmissionConfiguration:
        """Retrieve a submission configuration.

        Needs a secret key with the scope `validation_configurations:read`.

        id: The submission configuration's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/validation-submission-configurations/{id}", id=id),
                timeout=timeout,
            ),
            ValidationSubmissionConfiguration,
        )

    def update(
        self,
        id: str,
        *,
        name: str | None | Omitted = OMITTED,
        branding: BrandingParams | Omitted = OMITTED,
        is_default: bool | Omitted = OMITTED,
        checks: List[Literal["validation_request", "compliance", "eligibility", "agent_verification"]]
        | Omitted = OMITTED,
        allowed_organisation_types: List[Literal["nonprofit", "social_impact", "education"]] | Omitted = OMITTED,
        compliance_flags: List[
            Literal["warning", "sanction", "hateSpeech", "commercial", "adverseMedia", "controversial"]
        ]
        | Omitted = OMITTED,
        allowed_activity_sub_tags: List[str] | None | Omitted = OMITTED,
        email_verification: bool | Omitted = OMITTED,
        partner_fields: List[PartnerFieldParams] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> ValidationSubmissionConfiguration:
        """Change a submission configuration.

        Changes of flags and activities also apply to existing subscriptions with this configuration.

        Needs a secret key with the scope `validation_configurations:write`.

        id: The submission configuration's identifier.
        name: Its name.
        branding: Name, colour and logo of the hosted form.
        is_default: Whether invites without a configuration use this one.
        checks: The checks that are run, in this order.
        allowed_organisation_types: Types of organisation that may apply.
        compliance_flags: Watchlist categories whose flags make the check `compliance` fail.
        allowed_activity_sub_tags: Allowed activities: IDs of sub-tags from GET /v1/activity-tags; null allows
            all.
        email_verification: Whether applicants confirm their email address.
        partner_fields: Your own questions in the hosted form.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/validation-submission-configurations/{id}", id=id),
                body={
                    "name": name,
                    "branding": branding,
                    "isDefault": is_default,
                    "checks": checks,
                    "allowedOrganisationTypes": allowed_organisation_types,
                    "complianceFlags": compliance_flags,
                    "allowedActivitySubTags": allowed_activity_sub_tags,
                    "emailVerification": email_verification,
                    "partnerFields": partner_fields,
                },
                timeout=timeout,
            ),
            ValidationSubmissionConfiguration,
        )

    def set_logo(
        self,
        id: str,
        *,
        logo: FileInput,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ValidationSubmissionConfiguration:
        """Upload the logo that the hosted form shows.

        The file must be a JPEG, PNG or HEIC of at most 5 MiB. The form shows the logo as a square, with
        transparent edges if necessary.

        Needs a secret key with the scope `validation_configurations:write`.

        id: The submission configuration's identifier.
        logo: The file: image/jpeg, image/png, image/heic; at most 5,242,880 bytes.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/validation-submission-configurations/{id}/logo", id=id),
                body={},
                upload=("logo", logo),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            ValidationSubmissionConfiguration,
        )


class ValidationSubmissionDocumentsResource:
    """Calls of `/v1/validation-submission-documents`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def create(
        self,
        *,
        file: FileInput,
        type: Literal["validation_request", "agent_verification"],
        validation_submission_id: str | None | Omitted = OMITTED,
        validation_invite_id: str | None | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ValidationSubmissionDocument:
        """Upload a document of a submission or an open invite.

        The file must be a JPEG, PNG, HEIC or PDF of at most 5,242,880 bytes. Once a submission has a result, it
        accepts documents only while an appeal is open. With a publishable key, you can only upload documents of
        open invites.

        Needs a publishable or a secret key with the scope `validation_submissions:write`.

        validation_submission_id: The validation submission.
        validation_invite_id: The invite that was used.
        type: The check that the document is for.
        file: The file: image/jpeg, image/png, image/heic, application/pdf; at most 5,242,880 bytes.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/validation-submission-documents",
                body={
                    "validationSubmissionId": validation_submission_id,
                    "validationInviteId": validation_invite_id,
                    "type": type,
                },
                upload=("file", file),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            ValidationSubmissionDocument,
        )


class ValidationSubmissionsResource:
    """Calls of `/v1/validation-submissions`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        status: Literal["pending", "processed", "succeeded", "failed"] | None = None,
        statuses: List[Literal["pending", "processed", "succeeded", "failed"]] | None = None,
        configuration_ids: List[str] | None = None,
        organisation_ids: List[str] | None = None,
        validation_request_ids: List[str] | None = None,
        country_codes: List[str] | None = None,
        email: str | None = None,
        query: str | None = None,
        timeout: float | None = None,
    ) -> Page[ValidationSubmission]:
        """List validation submissions.

        Needs a secret key with the scope `validation_submissions:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        status: One more status, in addition to `statuses[]`.
        statuses: Only records with one of these statuses.
        configuration_ids: Only submissions with one of these configurations.
        organisation_ids: Only submissions for one of these organisations.
        validation_request_ids: Only submissions with one of these validation requests.
        country_codes: Only organisations of these countries, three letters each (ISO 3166-1 alpha-3).
        email: The applicant's complete email address.
        query: Words, or parts of words, in the name or the registration number.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/validation-submissions",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "status": status,
                    "statuses[]": statuses,
                    "configurationIds[]": configuration_ids,
                    "organisationIds[]": organisation_ids,
                    "validationRequestIds[]": validation_request_ids,
                    "countryCodes[]": country_codes,
                    "email": email,
                    "query": query,
                },
                timeout=timeout,
            ),
            ValidationSubmission,
        )

    def create(
        self,
        *,
        configuration_id: str | None | Omitted = OMITTED,
        validation_invite_id: str | None | Omitted = OMITTED,
        organisation_id: str | None | Omitted = OMITTED,
        validation_request_id: str | None | Omitted = OMITTED,
        organisation_name: str | None | Omitted = OMITTED,
        registry_name: str | None | Omitted = OMITTED,
        registry_id: str | None | Omitted = OMITTED,
        website: str | None | Omitted = OMITTED,
        country_code: str | None | Omitted = OMITTED,
        organisation_email: str | None | Omitted = OMITTED,
        address_line1: str | None | Omitted = OMITTED,
        address_line2: str | None | Omitted = OMITTED,
        city: str | None | Omitted = OMITTED,
        state: str | None | Omitted = OMITTED,
        postal: str | None | Omitted = OMITTED,
        language: str | None | Omitted = OMITTED,
        first_name: str | None | Omitted = OMITTED,
        last_name: str | None | Omitted = OMITTED,
        email: str | None | Omitted = OMITTED,
        title: str | None | Omitted = OMITTED,
        suggested_activity_sub_tags: List[str] | Omitted = OMITTED,
        metadata: Dict[str, str] | None | Omitted = OMITTED,
        partner_fields: Dict[str, str | int | float] | None | Omitted = OMITTED,
        document_ids: List[str] | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ValidationSubmission:
        """Create a validation submission.

        All checks of the configuration start, and lead to one result. With a publishable key, an open invite is
        required, `metadata` and `validationRequestId` are rejected, and the response contains no personal data.

        Needs a publishable or a secret key with the scope `validation_submissions:write`.

        configuration_id: The submission configuration. Default: your default configuration.
        validation_invite_id: An open invite. It sets the configuration, and becomes `complete`.
        organisation_id: The organisation.
        validation_request_id: An existing validation request that is pending or accepted.
        organisation_name: The organisation's name.
        registry_name: Id, code or name of the registry it is registered in.
        registry_id: The registration number, in any format.
        website: Web address.
        country_code: Three-letter country code.
        organisation_email: The nonprofit's email address, for the validation request.
        address_line1: Street and number.
        address_line2: The rest of the street address.
        city: City or town.
        state: State, province or county.
        postal: Postcode.
        language: Language of emails and pages (RFC 5646). With only an organisationId, the default is English.
        first_name: First name.
        last_name: Last name.
        email: Email address.
        title: Job title.
        suggested_activity_sub_tags: What you believe the nonprofit does, for the check `eligibility`.
        metadata: Your own data. Default: the invite's metadata, which a publishable key cannot override.
        partner_fields: Answers to the configuration's questions, by their IDs. With an invite, all required
            questions must be answered.
        document_ids: Documents that were uploaded for the invite.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/validation-submissions",
                body={
                    "configurationId": configuration_id,
                    "validationInviteId": validation_invite_id,
                    "organisationId": organisation_id,
                    "validationRequestId": validation_request_id,
                    "organisationName": organisation_name,
                    "registryName": registry_name,
                    "registryId": registry_id,
                    "website": website,
                    "countryCode": country_code,
                    "organisationEmail": organisation_email,
                    "addressLine1": address_line1,
                    "addressLine2": address_line2,
                    "city": city,
                    "state": state,
                    "postal": postal,
                    "language": language,
                    "firstName": first_name,
                    "lastName": last_name,
                    "email": email,
                    "title": title,
                    "suggestedActivitySubTags": suggested_activity_sub_tags,
                    "metadata": metadata,
                    "partnerFields": partner_fields,
                    "documentIds": document_ids,
                },
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            ValidationSubmission,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> ValidationSubmission:
        """Retrieve a validation submission: the status of each check, and what is missing.

        Needs a secret key with the scope `validation_submissions:read`.

        id: The validation submission's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/validation-submissions/{id}", id=id),
                timeout=timeout,
            ),
            ValidationSubmission,
        )

    def create_appeal(
        self,
        id: str,
        *,
        text: str,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Appeal:
        """Appeal against a failed submission.

        Another operator reviews the decision within ten business days. The applicant can also appeal on the
        application's status page. A submission can have one open appeal at a time.

        Needs a secret key with the scope `validation_submissions:write`.

        id: The validation submission's identifier.
        text: Why the decision is wrong, for the reviewer.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/validation-submissions/{id}/appeals", id=id),
                body={"text": text},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            Appeal,
        )

    def list_documents(
        self,
        id: str,
        *,
        direction: Literal["ASC", "DESC"] | None = None,
        timeout: float | None = None,
    ) -> Page[ValidationSubmissionDocument]:
        """List the documents of a validation submission, in one page.

        Needs a secret key with the scope `validation_submissions:read`.

        id: The validation submission's identifier.
        direction: Sort direction.
        """
        return self._core.page(
            Call(
                method="GET",
                path=path_of("/v1/validation-submissions/{id}/documents", id=id),
                query={"direction": direction},
                timeout=timeout,
            ),
            ValidationSubmissionDocument,
        )


class ValidationSubmissionsOrganisationsResource:
    """Calls of `/v1/validation-submissions-organisations`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def find(
        self,
        *,
        query: str | None = None,
        organisation_ids: List[str] | None = None,
        validation_request_ids: List[str] | None = None,
        timeout: float | None = None,
    ) -> SubmissionsOrganisations:
        """Find earlier applications of the same nonprofit: by words, by organisation or by validation request.

        Needs a secret key with the scope `validation_submissions:read`.

        query: Words, or parts of words, in the name or the registration number.
        organisation_ids: Only submissions for one of these organisations.
        validation_request_ids: Only submissions with one of these validation requests.
        """
        return self._core.record(
            Call(
                method="GET",
                path="/v1/validation-submissions-organisations",
                query={
                    "query": query,
                    "organisationIds[]": organisation_ids,
                    "validationRequestIds[]": validation_request_ids,
                },
                timeout=timeout,
            ),
            SubmissionsOrganisations,
        )


class WebhookSourceAddressesResource:
    """Calls of `/v1/webhook-source-addresses`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        timeout: float | None = None,
    ) -> WebhookSourceAddresses:
        """Retrieve the IP addresses that webhooks are sent from.

        Needs no key.
        """
        return self._core.record(
            Call(
                method="GET",
                path="/v1/webhook-source-addresses",
                timeout=timeout,
            ),
            WebhookSourceAddresses,
        )


class WebhookSubscriptionsResource:
    """Calls of `/v1/webhook-subscriptions`."""

    def __init__(self, core: SyncCore) -> None:
        self._core = core

    def list(
        self,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        event: str | None = None,
        deleted: bool | None = None,
        timeout: float | None = None,
    ) -> Page[WebhookSubscription]:
        """List webhook subscriptions, without their secrets.

        Needs a secret key with the scope `webhooks:read`.

        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        event: Only subscriptions that receive this event type.
        deleted: List deleted subscriptions instead of the others.
        """
        return self._core.page(
            Call(
                method="GET",
                path="/v1/webhook-subscriptions",
                query={
                    "cursor": cursor,
                    "direction": direction,
                    "pageSize": page_size,
                    "event": event,
                    "deleted": deleted,
                },
                timeout=timeout,
            ),
            WebhookSubscription,
        )

    def create(
        self,
        *,
        events: List[str],
        url: str,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> WebhookSubscription:
        """Subscribe a URL to events. Events with donors' personal data require the scope `donations:personal`.

        Needs a secret key with the scope `webhooks:write`.

        events: At least one event type, as in `eventType` of `Event`; `*` for all.
        url: The URL that receives events: https, port 443, a public address. The sandbox can allow loopback.
        """
        return self._core.record(
            Call(
                method="POST",
                path="/v1/webhook-subscriptions",
                body={"events": events, "url": url},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            WebhookSubscription,
        )

    def get(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> WebhookSubscription:
        """Retrieve a webhook subscription with its secret.

        Needs a secret key with the scope `webhooks:read`.

        id: The webhook subscription's identifier.
        """
        return self._core.record(
            Call(
                method="GET",
                path=path_of("/v1/webhook-subscriptions/{id}", id=id),
                timeout=timeout,
            ),
            WebhookSubscription,
        )

    def update(
        self,
        id: str,
        *,
        events: List[str] | Omitted = OMITTED,
        url: str | Omitted = OMITTED,
        status: Literal["active", "suspended"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> WebhookSubscription:
        """Change a subscription. You can change its URL or events, and suspend or resume it.

        Needs a secret key with the scope `webhooks:write`.

        id: The webhook subscription's identifier.
        events: At least one event type, as in `eventType` of `Event`; `*` for all.
        url: The URL that receives events: https, port 443, a public address. The sandbox can allow loopback.
        status: The status.
        """
        return self._core.record(
            Call(
                method="PATCH",
                path=path_of("/v1/webhook-subscriptions/{id}", id=id),
                body={"events": events, "url": url, "status": status},
                timeout=timeout,
            ),
            WebhookSubscription,
        )

    def delete(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete a subscription. No more events are sent to its URL.

        Needs a secret key with the scope `webhooks:write`.

        id: The webhook subscription's identifier.
        """
        self._core.empty(
            Call(
                method="DELETE",
                path=path_of("/v1/webhook-subscriptions/{id}", id=id),
                timeout=timeout,
            )
        )

    def list_deliveries(
        self,
        id: str,
        *,
        cursor: str | None = None,
        direction: Literal["ASC", "DESC"] | None = None,
        page_size: int | None = None,
        status: Literal["pending", "succeeded", "failed", "cancelled"] | None = None,
        timeout: float | None = None,
    ) -> Page[WebhookDelivery]:
        """List a subscription's deliveries with all their attempts.

        Deliveries are kept for 90 days, their attempts for 30.

        Needs a secret key with the scope `webhooks:read`.

        id: The webhook subscription's identifier.
        cursor: The cursor from `_links` of an earlier response.
        direction: Sort direction.
        page_size: Records per page, at most 100. Higher values count as 100.
        status: Only those in this status.
        """
        return self._core.page(
            Call(
                method="GET",
                path=path_of("/v1/webhook-subscriptions/{id}/deliveries", id=id),
                query={"cursor": cursor, "direction": direction, "pageSize": page_size, "status": status},
                timeout=timeout,
            ),
            WebhookDelivery,
        )

    def replay_events(
        self,
        id: str,
        *,
        start_date: date | datetime | None | Omitted = OMITTED,
        end_date: date | datetime | None | Omitted = OMITTED,
        failed_only: bool | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> WebhookReplay:
        """Resend the events of a period to one subscription.

        The events have the same IDs and bodies. A period has at most 10,000 events of the subscription's types,
        and starts at most 30 days ago.

        Needs a secret key with the scope `webhooks:write`.

        id: The webhook subscription's identifier.
        start_date: The start of the period, at most 30 days ago. By default, only failed deliveries are
            replayed.
        end_date: The end of the period (exclusive). Default: now.
        failed_only: Whether to leave out events that were delivered or are still being retried.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/webhook-subscriptions/{id}/replay", id=id),
                body={"startDate": start_date, "endDate": end_date, "failedOnly": failed_only},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            WebhookReplay,
        )

    def rotate_secret(
        self,
        id: str,
        *,
        confirm: bool | Omitted = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> WebhookSubscription:
        """Rotate a subscription's secret.

        The old secret is also used for 24 hours. During this time, `webhook-signature` contains a signature for
        each secret. `Service-Signature` uses the old secret until you call this again with `confirm` true, or
        until the 24 hours are over.

        Needs a secret key with the scope `webhooks:write`.

        id: The webhook subscription's identifier.
        confirm: False creates a new secret; the old one is also used for 24 hours. True confirms that the
            receiver has the new secret: the old ones are no longer used, and `Service-Signature` uses the new
            one.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/webhook-subscriptions/{id}/rotate-secret", id=id),
                body={"confirm": confirm},
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            WebhookSubscription,
        )

    def test(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> WebhookDelivery:
        """Send a test event to a subscription. The list of deliveries shows the result.

        Needs a secret key with the scope `webhooks:write`.

        id: The webhook subscription's identifier.
        """
        return self._core.record(
            Call(
                method="POST",
                path=path_of("/v1/webhook-subscriptions/{id}/test", id=id),
                keyed=True,
                idempotency_key=idempotency_key,
                timeout=timeout,
            ),
            WebhookDelivery,
        )


class Resources:
    """All resources, as attributes of a client."""

    def __init__(self, core: SyncCore) -> None:
        self.activity_tags = ActivityTagsResource(core)
        self.agent_verifications = AgentVerificationsResource(core)
        self.appeals = AppealsResource(core)
        self.categories = CategoriesResource(core)
        self.countries = CountriesResource(core)
        self.disbursements = DisbursementsResource(core)
        self.donation_requests = DonationRequestsResource(core)
        self.donation_sessions = DonationSessionsResource(core)
        self.donation_subscriptions = DonationSubscriptionsResource(core)
        self.donations = DonationsResource(core)
        self.eligibility_subscriptions = EligibilitySubscriptionsResource(core)
        self.events = EventsResource(core)
        self.gift_aid = GiftAidResource(core)
        self.giving_links = GivingLinksResource(core)
        self.monetary_donation_verifications = MonetaryDonationVerificationsResource(core)
        self.monitoring_subscriptions = MonitoringSubscriptionsResource(core)
        self.organisations = OrganisationsResource(core)
        self.registries = RegistriesResource(core)
        self.sandbox = SandboxResource(core)
        self.users = UsersResource(core)
        self.validation_invites = ValidationInvitesResource(core)
        self.validation_requests = ValidationRequestsResource(core)
        self.validation_submission_configurations = ValidationSubmissionConfigurationsResource(core)
        self.validation_submission_documents = ValidationSubmissionDocumentsResource(core)
        self.validation_submissions = ValidationSubmissionsResource(core)
        self.validation_submissions_organisations = ValidationSubmissionsOrganisationsResource(core)
        self.webhook_source_addresses = WebhookSourceAddressesResource(core)
        self.webhook_subscriptions = WebhookSubscriptionsResource(core)


_ = (date, datetime, Any, Dict, List, Literal, OMITTED, Omitted, FileInput)
