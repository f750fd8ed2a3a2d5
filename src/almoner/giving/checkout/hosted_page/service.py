"""Loads what the page shows of a session and its nonprofit, and chooses language and currency (settled 4)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from textwrap import shorten
from typing import Final
from uuid import UUID

from babel import Locale

from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import SessionDonation
from almoner.giving.checkout.hosted_page.legal_notices import load_legal_notices as load_legal_notices
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import MAX_TRIES
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.giving.gift_aid.declarations import domain as gift_aid_declarations_domain
from almoner.giving.subscriptions.donation_subscriptions import service as donation_subscriptions
from almoner.kit import language as languages
from almoner.nonprofits.countries.domain import ALPHA3_BY_ALPHA2, currency_of_country
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages import formats
from almoner.platform.pages.translations import FALLBACK, TranslationCatalogues

FALLBACK_CURRENCY: Final = "USD"
_MISSION_LENGTH: Final = 240


@dataclass(frozen=True, slots=True)
class NonprofitProfile:
    """A nonprofit as donors see it on the page and the receipt.

    ``logo``: a URL on the page's own origin.
    """

    name: str
    city: str | None
    state: str | None
    country_code: str
    register: str
    number: str
    receivable_currencies: tuple[str, ...]
    logo: str | None = None
    description: str = ""

    @property
    def description_excerpt(self) -> str:
        """The beginning of its description."""
        return shorten(self.description, _MISSION_LENGTH, placeholder=" …")

    @property
    def initials(self) -> str:
        """One or two initials of the name."""
        words = [word for word in self.name.split() if word[0].isalpha()] or [self.name]
        return "".join(word[0] for word in words[:2]).upper()

    def location_parts(self, locale: Locale) -> list[str]:
        """City, state and country name for display, such as Washington, DC, United States."""
        return [part for part in (self.city, self.state, formats.country_name(self.country_code, locale)) if part]


@dataclass(frozen=True, slots=True)
class SessionView:
    """Everything that the donation page shows about a session.

    ``card_attempts_exhausted``: the session's card attempts are used up (H6). ``partner``: the session's partner.
    ``next_donation_at``: of the subscription that the donation started.
    """

    session: DonationSession
    partner: PartnerAccount
    session_status: str
    nonprofit: NonprofitProfile
    session_donation: SessionDonation
    card_attempts_exhausted: bool
    next_donation_at: datetime | None = None

    @property
    def accepts_donations(self) -> bool:
        """Whether the nonprofit may receive the session's currency and the partner is not paused."""
        return self.session.currency in self.nonprofit.receivable_currencies and not self.partner.is_paused

    @property
    def offers_gift_aid(self) -> bool:
        """Whether the donation may have Gift Aid: sterling to a UK charity."""
        cause_ = self.nonprofit
        return (
            self.session.currency == gift_aid_declarations_domain.CURRENCY
            and cause_.country_code == gift_aid_declarations_domain.COUNTRY
            and bool(cause_.receivable_currencies)
            and self.session.benefits is None
        )


async def load_session_view(tx: Tx, session_id: UUID) -> SessionView:
    """Load everything that the page shows. Raises NotFound."""
    session = await sessions.get_for_hosted_page(tx, session_id)
    gift = await donations.load_session_donation(tx, session.id)
    attempts = await payments.count_card_attempts(tx, gift.donation.id) if gift.donation else 0
    partner = await partners.get(tx, Partner(session.partner_id))
    subscription_id = gift.donation.subscription_id if gift.donation else None
    subscription = (
        await donation_subscriptions.get(tx, Partner(session.partner_id), subscription_id) if subscription_id else None
    )
    return SessionView(
        session,
        partner,
        session.status_at(tx.now),
        await load_nonprofit_profile_of_session(tx, session),
        gift,
        attempts >= MAX_TRIES,
        subscription.next_donation_at if subscription else None,
    )


async def is_payment_of_session(tx: Tx, session_id: UUID, payment_id: UUID) -> bool:
    """Whether a payment attempt belongs to the session."""
    payment = await payments.find(tx, payment_id)
    return payment is not None and await donations.get_session_id(tx, payment.donation_id) == session_id


async def donor_has_regular_donation(tx: Tx, session: DonationSession, donor_email: str) -> bool:
    """Whether a donor with this email address already donates regularly to the session's nonprofit."""
    partner = Partner(session.partner_id)
    found = await donation_subscriptions.find_ongoing_subscription_of_donor(
        tx, partner, donor_email, session.organisation_id
    )
    return found is not None


def with_limited_currencies(view: SessionView, accepted_currencies: Collection[str]) -> SessionView:
    """The view with only the currencies that the payment provider accepts."""
    received = tuple(code for code in view.nonprofit.receivable_currencies if code in accepted_currencies)
    return replace(view, nonprofit=replace(view.nonprofit, receivable_currencies=received))


async def load_nonprofit_profile_of_session(tx: Tx, session: DonationSession) -> NonprofitProfile:
    """The nonprofit of a session. Raises NotFound."""
    return await load_profile_of_organisation(tx, Partner(session.partner_id), session.organisation_id)


async def load_profile_of_organisation(tx: Tx, partner: Partner, organisation_id: UUID) -> NonprofitProfile:
    """A nonprofit as shown to donors. Raises NotFound."""
    organisation = await organisations.get(tx, partner, organisation_id)
    registry = await registries.get(tx, organisation.registry_id)
    return NonprofitProfile(
        name=organisation.effective_display_name,
        city=organisation.display_city,
        state=organisation.state,
        country_code=organisation.country_code,
        register=_register(registry.english_name, registry.code),
        number=_number(organisation),
        receivable_currencies=organisation.donation_currencies,
        logo=f"/media/{organisation.logo}" if organisation.logo else None,
        description=organisation.description,
    )


def with_default_language_and_currency(
    view: SessionView, accept_language: str | None, catalogues: TranslationCatalogues
) -> SessionView:
    """The view with a default language and currency if none was chosen (settled 4).

    The donor's language if it is offered, else English; the currency of the donor's region if the nonprofit receives
    it, else US dollars.
    """
    session = view.session
    language = (
        session.language or languages.negotiate_language(accept_language, catalogues.offered_languages) or FALLBACK
    )
    currency = session.currency or default_currency(view.nonprofit.receivable_currencies, accept_language)
    return replace(view, session=replace(session, language=language, currency=currency))


async def store_language_and_currency(tx: Tx, view: SessionView) -> SessionView:
    """Store the chosen language and currency, unless another visit chose first."""
    session = view.session
    if session.language is None or session.currency is None:
        raise ValueError("choose before settling")
    return replace(
        view,
        session=await sessions.store_language_and_currency_if_unset(tx, session.id, session.language, session.currency),
    )


def default_currency(currencies: Sequence[str], accept_language: str | None) -> str:
    """The currency of the donor's region if it is offered, else US dollars, else the first that is."""
    fallback = FALLBACK_CURRENCY if FALLBACK_CURRENCY in currencies or not currencies else currencies[0]
    for tag in languages.preferred_language_tags(accept_language):
        if (region := languages.region_of_language_tag(tag)) is not None:
            currency = currency_of_country(ALPHA3_BY_ALPHA2.get(region, ""))
            return currency if currency is not None and currency in currencies else fallback
    return fallback


def _register(name: str, code: str) -> str:
    return f"{name} ({code})" if code != name else name


def _number(organisation: Organisation) -> str:
    return registries_domain.format_registry_number(organisation.registry_code, organisation.registry_number)
