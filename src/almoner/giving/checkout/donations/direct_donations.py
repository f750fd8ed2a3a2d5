"""Creates, reassigns and cancels partners' direct donations (settled 4 and 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.giving.checkout.donations import domain, service, store
from almoner.giving.checkout.donations.domain import Donation, Donor
from almoner.giving.checkout.users import service as users
from almoner.giving.checkout.users.domain import User
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.gift_aid.declarations import domain as gift_aid_declarations_domain
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import Partner, Tx


@dataclass(frozen=True, slots=True)
class DirectDonationRequest:
    """A partner's request to create a direct donation; IDs as sent."""

    money: Money
    organisation_id: str | None
    user_id: str | None
    gift_aid_id: str | None
    donor: Donor
    metadata: Mapping[str, str] | None


async def create(tx: Tx, partner: Partner, request: DirectDonationRequest) -> Donation:
    """Create a direct donation.

    Raises AccountPaused, PartnerUserNotFound, MissingOrganisation, InvalidMetadata, CannotAcceptDonations,
    WrongPartnerCurrency, WrongTargetCurrency, GiftAidMissing.
    """
    account = await partners.get(tx, partner)
    account.ensure_not_paused()
    user = await _find_user(tx, partner, request.user_id)
    organisation = await _recipient(tx, partner, request.organisation_id, user)
    if request.metadata and (found := metadata_rules.find_metadata_problems(request.metadata)):
        raise domain.InvalidMetadata(*found)
    _ensure_accepted(request.money.currency, account.settlement_currencies, organisation)
    user_id = user.id if user else None
    named = await _requested_declaration(tx, partner, request.gift_aid_id, user_id)
    created = domain.new_direct_donation(
        tx.new_id(),
        partner.id,
        organisation.id,
        user_id,
        request.money,
        request.donor,
        dict(request.metadata or {}),
        tx.now,
        shows_donor_in_api=account.shares_donor_details,
        gift_aid_id=await _gift_aid_for(tx, account, organisation, request.money.currency, named, user_id, tx.now),
    )
    await store.insert(tx, partner, created)
    await service.emit_donation_event(tx, domain.CREATED, created)
    await verifications.apply_test_value(tx, partner, request.organisation_id or "")
    return created


async def change_organisation(tx: Tx, partner: Partner, donation_id: UUID, organisation_id: str) -> Donation:
    """Change the organisation of a direct donation that is not invoiced yet.

    Raises NotFound, CannotEditOrganisation, InvalidState, MissingOrganisation, CannotAcceptDonations,
    WrongTargetCurrency, GiftAidMissing.
    """
    donation = await service.get_for_update(tx, partner, donation_id)
    domain.ensure_organisation_changeable(donation)
    chosen = await _find_organisation(tx, partner, organisation_id)
    domain.ensure_organisation_receives_currency(donation.money.currency, chosen.donation_currencies)
    account = await partners.get(tx, partner)
    covered, currency, made = donation.gift_aid_id, donation.money.currency, donation.created_at
    covered = await _gift_aid_for(tx, account, chosen, currency, covered, donation.user_id, made)
    await store.set_organisation(tx, partner, donation_id, chosen.id, covered)
    await verifications.apply_test_value(tx, partner, organisation_id)
    return await service.get(tx, partner, donation_id)


async def cancel(tx: Tx, partner: Partner, donation_id: UUID) -> Donation:
    """Cancel a direct donation that is not invoiced yet. Raises NotFound, InvalidState."""
    domain.ensure_cancellable(await service.get_for_update(tx, partner, donation_id))
    cancelled = await store.cancel(tx, partner, donation_id)
    assert cancelled is not None, "judged under the donation's lock"
    await service.emit_donation_event(tx, domain.CANCELLED, cancelled)
    return cancelled


def _ensure_accepted(currency: str, settles: tuple[str, ...], organisation: Organisation) -> None:
    if not organisation.donation_currencies:
        raise domain.CannotAcceptDonations(organisation.donation_refusal_reason or "")
    domain.ensure_partner_settles_in_currency(currency, settles)
    domain.ensure_organisation_receives_currency(currency, organisation.donation_currencies)


async def _gift_aid_for(
    tx: Tx,
    account: PartnerAccount,
    organisation: Organisation,
    currency: str,
    named: UUID | None,
    user_id: UUID | None,
    made: datetime,
) -> UUID | None:
    """The Gift Aid declaration of a donation that may have one: the given one, else the user's newest that covers it.

    Raises GiftAidMissing if the partner requires one and there is none.
    """
    if not gift_aid_declarations_domain.is_eligible_for_gift_aid(currency, organisation):
        return None
    found = named or await gift_aid_declarations.find_covering_declaration_id(tx, Partner(account.id), user_id, made)
    if found is None and account.requires_gift_aid:
        raise domain.GiftAidMissing
    return found


async def _requested_declaration(
    tx: Tx, partner: Partner, gift_aid_id: str | None, user_id: UUID | None
) -> UUID | None:
    """The given declaration, if it is this user's and covers a donation made now. Raises GiftAidMissing."""
    if gift_aid_id is None:
        return None
    parsed = tx.ids.decode("giftaid", gift_aid_id)
    found = await gift_aid_declarations.find_with_shared_lock(tx, partner, parsed) if parsed else None
    if found is None:
        raise domain.GiftAidMissing(f"body.giftAidId '{gift_aid_id[:100]}' names no declaration")
    if not found.covers(tx.now):
        raise domain.GiftAidMissing("body.giftAidId names a declaration that does not cover this gift")
    if found.user_id is not None and found.user_id != user_id:
        raise domain.GiftAidMissing("body.giftAidId names a declaration of another user")
    return found.id


async def _find_user(tx: Tx, partner: Partner, user_id: str | None) -> User | None:
    if user_id is None:
        return None
    found = tx.ids.decode("user", user_id)
    try:
        user = await users.get(tx, partner, found) if found else None
    except NotFound:
        user = None
    if user is None or user.deleted_at is not None:
        raise domain.PartnerUserNotFound(f"body.userId '{user_id[:100]}' names no user")
    return user


async def _recipient(tx: Tx, partner: Partner, organisation_id: str | None, user: User | None) -> Organisation:
    """The given organisation, else the user's."""
    if organisation_id is not None:
        return await _find_organisation(tx, partner, organisation_id)
    if user is None:
        raise domain.MissingOrganisation("body.organisationId or body.userId is required")
    if user.organisation_id is None:
        raise domain.MissingOrganisation("body.organisationId is required: the user has no default organisation")
    return await organisations.get(tx, partner, user.organisation_id)


async def _find_organisation(tx: Tx, partner: Partner, organisation_id: str) -> Organisation:
    found = tx.ids.decode("organisation", verifications.strip_test_value(tx, organisation_id))
    try:
        organisation = await organisations.get(tx, partner, found) if found else None
    except NotFound:
        organisation = None
    if organisation is None:
        raise domain.MissingOrganisation(f"body.organisationId '{organisation_id[:100]}' names no organisation")
    return organisation
