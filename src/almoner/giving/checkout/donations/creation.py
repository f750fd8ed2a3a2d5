"""Creates and changes the unpaid donation of a session."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.giving.checkout.dedications import service as dedications
from almoner.giving.checkout.donations import domain, schemas, store
from almoner.giving.checkout.donations.domain import Donation, DonationDetails
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.giving.gift_aid.declarations import domain as gift_aid_declarations_domain
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.giving.subscriptions.donation_subscriptions import service as donation_subscriptions
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox


async def create_donation(tx: Tx, session: DonationSession, details: DonationDetails) -> Donation:
    """Create the session's donation, or update its unpaid one. The caller has locked the session.

    Raises AccountPaused, SessionExpired, SessionAlreadyCompleted, WrongTargetCurrency.
    """
    session.ensure_open(tx.now)
    if session.currency is not None and details.money.currency != session.currency:
        raise domain.WrongTargetCurrency(f"the session takes {session.currency}, not {details.money.currency}")
    partner = Partner(session.partner_id)
    account = await partners.get(tx, partner)
    account.ensure_not_paused()
    if (promised := await store.find_uncancelled_by_session(tx, session.id)) is not None:
        return await _change_details(tx, session, promised, details)
    shown = account.shares_donor_details
    covered = await _covering_declaration(tx, partner, session.user_id, session.organisation_id, details, tx.now)
    subscription_id = await donation_subscriptions.create_or_update_pending_subscription(
        tx, session, details, None, shows_donor_in_api=shown
    )
    donation = domain.new_hosted_donation(
        tx.new_id(),
        session,
        details,
        tx.now,
        shows_donor_in_api=shown,
        gift_aid_id=covered,
        subscription_id=subscription_id,
    )
    created = await _insert_created(tx, donation)
    if details.dedication_email is not None:
        await dedications.set_dedication_email(tx, partner, created.id, details.dedication_email)
    return created


async def find_or_recreate_donation(tx: Tx, session: DonationSession, donation: Donation, money: Money) -> Donation:
    """The session's donation for a payment that arrived; a new one if it was cancelled.

    An existing Gift Aid declaration still covers it, whatever the amount; a new donation needs one that is valid now.
    """
    cover = donation.cover_minor if donation.money == money else 0
    gift, covered = replace(domain.donation_details_of(donation), money=money, cover_minor=cover), donation.gift_aid_id
    if donation.status == "REQUESTED_PAYMENT":
        await store.update_details(tx, donation.id, gift, covered, donation.subscription_id)
        return replace(donation, money=money, cover_minor=cover)
    if donation.status != "CANCELLED":
        raise domain.InvalidState(f"the donation is {donation.status}: it was paid otherwise")
    if covered is not None:
        covered = await gift_aid_declarations.find_or_create_declaration_for_recreated_donation(
            tx, Partner(donation.partner_id), donation.user_id, tx.now, covered
        )
    created = domain.new_hosted_donation(
        tx.new_id(), session, gift, tx.now, shows_donor_in_api=donation.donor_shown, gift_aid_id=covered
    )
    if donation.email is None:
        created = replace(created, dedication=None)
    first, last, email = donation.first_name, donation.last_name, donation.email  # erased donors stay erased
    return await _insert_created(tx, replace(created, first_name=first, last_name=last, email=email))


async def _insert_created(tx: Tx, donation: Donation) -> Donation:
    await store.insert(tx, Partner(donation.partner_id), donation)
    await outbox.emit_event(tx, donation.partner_id, domain.CREATED, schemas.donation_response(tx, donation))
    return donation


async def update_donor_details(tx: Tx, session: DonationSession, donation: Donation, details: DonationDetails) -> None:
    """Update the donor of a donation whose amount stays the same. The caller has locked the session."""
    await _change_details(tx, session, donation, details)


async def _change_details(tx: Tx, session: DonationSession, known: Donation, details: DonationDetails) -> Donation:
    # Lock it first: a cancelled declaration may have been removed since the donation was read.
    if (promised := await store.find_for_update(tx, ALL_PARTNERS, known.id)) is None:
        raise NotFound
    partner, made, current = Partner(promised.partner_id), promised.created_at, promised.gift_aid_id
    covered = await _covering_declaration(
        tx, partner, promised.user_id, promised.organisation_id, details, made, current
    )
    former_id, shown = promised.subscription_id, promised.donor_shown
    subscription_id = await donation_subscriptions.create_or_update_pending_subscription(
        tx, session, details, former_id, shows_donor_in_api=shown
    )
    chosen = replace(details, declarer=None, frequency="one_time", agreement=None, dedication_email=None)
    if (domain.donation_details_of(promised), former_id, current) != (chosen, subscription_id, covered):
        await store.update_details(tx, promised.id, details, covered, subscription_id)
    if session.options.dedication:
        await dedications.set_dedication_email(tx, partner, promised.id, details.dedication_email)
    if current is not None and covered != current:
        await gift_aid_declarations.delete_unused_declarations(
            tx, [current]
        )  # V6: the first declaration is no longer needed
    if (donation := await store.find_for_update(tx, ALL_PARTNERS, promised.id)) is None:
        raise NotFound
    return donation


async def _covering_declaration(
    tx: Tx,
    partner: Partner,
    user_id: UUID | None,
    organisation_id: UUID,
    details: DonationDetails,
    made: datetime,
    current: UUID | None = None,
) -> UUID | None:
    """The declaration that covers a hosted donation, if it can have one: the donor's own, else the user's."""
    currency = details.money.currency
    if currency != gift_aid_declarations_domain.CURRENCY or (user_id is None and details.declarer is None):
        return None
    if not gift_aid_declarations_domain.is_eligible_for_gift_aid(
        currency, await organisations.get(tx, partner, organisation_id)
    ):
        return None
    if details.declarer is not None and details.frequency != "one_time":
        return await gift_aid_declarations.find_or_create_declaration_for_regular_donation(
            tx, partner, details.declarer, organisation_id, current
        )
    if details.declarer is not None:
        return await gift_aid_declarations.find_or_create_declaration_for_donation(
            tx, partner, details.declarer, made, current
        )
    return await gift_aid_declarations.find_covering_declaration_id(tx, partner, user_id, made, current)
