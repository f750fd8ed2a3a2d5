"""Creates and reads partners, their settings and their branding."""

from collections.abc import Sequence
from dataclasses import replace

from almoner.access.partners import store
from almoner.access.partners.domain import PartnerAccount, Period
from almoner.access.partners.store import count_accounts as count_accounts
from almoner.access.partners.store import list_accounts_page as list_accounts_page
from almoner.access.partners.store import list_paused_ids as list_paused_ids
from almoner.access.partners.store import load_partner_names_by_id as load_partner_names_by_id
from almoner.access.partners.store import (
    load_support_refund_limits_by_currency as load_support_refund_limits_by_currency,
)
from almoner.kit.errors import IncorrectParams
from almoner.kit.money import EXPONENTS
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.files import media
from almoner.platform.files.images import Image
from almoner.platform.outbound.addresses import AddressPolicy, AddressRefused, parse_target
from almoner.platform.outbound.email_addresses import clean_email_address, is_email_address
from almoner.platform.pages import colours

_DEFAULT_CURRENCIES = ("GBP", "USD", "EUR")
_MAX_REQUEST_MINIMUM_MULTIPLE = 1_000_000
_MAX_REQUEST_DUE_DAYS = 365
_MAX_LINK_LENGTH = 2000
_ANY_PORT = AddressPolicy(allowed_ports=range(1, 65_536))
LONGEST_NAME = 200
SHORTEST_PAUSE_REASON = 10
LONGEST_PAUSE_REASON = 500
LOGO_SIDE = 320
"""Twice the pixels of the largest logo on the page."""
MAX_LOGO_BYTES = 40_000
"""Keeps a page with its logo under 100 kB (H10)."""


class NoSuchPartner(LookupError):
    """No partner has this ID."""


class PauseStateConflict(ValueError):
    """The partner is already paused, or is not paused."""


async def create(tx: Tx, name: str) -> PartnerAccount:
    """Create a partner, without API keys. Raises IncorrectParams."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise IncorrectParams(f"name: enter 1 to {LONGEST_NAME} characters")
    account = PartnerAccount(tx.new_id(), name, None, _DEFAULT_CURRENCIES, tx.now)
    await store.insert(tx, account)
    return account


async def get(tx: Tx, partner: Partner) -> PartnerAccount:
    """One partner's account. Raises NoSuchPartner."""
    if (account := await store.find(tx, partner)) is None:
        raise NoSuchPartner(tx.ids.encode("partner", partner.id))
    return account


async def set_brand(
    tx: Tx, partner: Partner, *, colour: str | None = None, logo: Image | None = None
) -> PartnerAccount:
    """Set the colour or logo of the hosted page; None leaves it unchanged. Raises NoSuchPartner, ValueError.

    Any colour is allowed: the page darkens or lightens it until it is legible.
    """
    account = await _lock(tx, partner)
    if logo is not None and len(logo.content) > MAX_LOGO_BYTES:
        raise ValueError(
            f"the logo is {len(logo.content)} bytes after conversion, but the limit is {MAX_LOGO_BYTES} because "
            "every page loads it. Use a simpler image"
        )
    shown = account.brand_colour
    if colour is not None:
        shown = colours.css_colour(colours.parse_colour(colour)) if colour else None
    key = await media.insert_image(tx, logo.content, logo.media_type) if logo is not None else account.brand_logo
    return await _set_brand(tx, partner, account, shown, key)


async def clear_brand(tx: Tx, partner: Partner) -> PartnerAccount:
    """Remove the hosted page's colour and logo. Raises NoSuchPartner."""
    return await _set_brand(tx, partner, await _lock(tx, partner), None, None)


async def set_public_links(
    tx: Tx,
    partner: Partner,
    *,
    website: str | None = None,
    privacy: str | None = None,
    terms: str | None = None,
    contact: str | None = None,
) -> PartnerAccount:
    """Set the links in page footers; None leaves a link unchanged, "" removes it. Raises NoSuchPartner, ValueError."""
    account = await _lock(tx, partner)
    contact = contact and clean_email_address(contact)
    given = {"website": website, "privacy": privacy, "terms": terms, "contact": contact}
    for name, value in given.items():
        if value and name != "contact" and not _is_https(value):
            raise ValueError(f"{value} must be an address such as https://www.example.org")
    if contact and not is_email_address(contact):
        raise ValueError(f"{contact} is not an email address")
    changed = {name: value or None for name, value in given.items() if value is not None}
    links = replace(account.public_links, **changed)
    await store.set_public_links(tx, partner, links)
    return replace(account, public_links=links)


def _is_https(text: str) -> bool:
    try:
        parse_target(text, _ANY_PORT)
    except AddressRefused:
        return False
    return len(text) <= _MAX_LINK_LENGTH


async def set_support_refund_limit(tx: Tx, partner: Partner, currency: str, limit_minor: int | None) -> None:
    """Set how much of one donation the partner's support may refund in a currency; None: nothing.

    Raises ValueError for an invalid currency or amount.
    """
    if currency not in EXPONENTS:
        raise ValueError(f"{currency} is not a currency code such as EUR")
    if limit_minor is not None and limit_minor < 1:
        raise ValueError("the amount must be above zero")
    await store.set_support_refund_limit(tx, partner, currency, limit_minor)


async def set_scim_allowed(tx: Tx, partner: Partner, *, allowed: bool) -> PartnerAccount:
    """Allow or block the partner's SCIM keys. Raises NoSuchPartner."""
    account = await _lock(tx, partner)
    await store.set_scim_allowed(tx, partner, allowed=allowed)
    return replace(account, scim_enabled=allowed)


async def pause(tx: Tx, partner: Partner, reason: str) -> PartnerAccount:
    """Pause donations through a partner. Raises NoSuchPartner, PauseStateConflict, IncorrectParams."""
    account = await _lock(tx, partner)
    words = " ".join(reason.split())
    if not SHORTEST_PAUSE_REASON <= len(words) <= LONGEST_PAUSE_REASON:
        raise IncorrectParams(f"reason: enter {SHORTEST_PAUSE_REASON} to {LONGEST_PAUSE_REASON} characters")
    if account.is_paused:
        raise PauseStateConflict(f"{account.name} is paused already")
    await store.set_pause(tx, partner, tx.real_now, words)
    return replace(account, paused_at=tx.real_now, pause_reason=words)


async def resume(tx: Tx, partner: Partner) -> PartnerAccount:
    """Resume donations through a partner. Raises NoSuchPartner, PauseStateConflict."""
    account = await _lock(tx, partner)
    if not account.is_paused:
        raise PauseStateConflict(f"{account.name} is not paused")
    await store.set_pause(tx, partner, None, None)
    return replace(account, paused_at=None, pause_reason=None)


async def update_donation_settings(
    tx: Tx,
    partner: Partner,
    *,
    currencies: Sequence[str] | None = None,
    shares_donor_details: bool | None = None,
    requires_gift_aid: bool | None = None,
    request_interval: Period | None = None,
    request_minimum_multiple: int | None = None,
    request_due_days: int | None = None,
) -> PartnerAccount:
    """Change a partner's currencies, donor sharing, Gift Aid and donation request settings.

    None leaves a setting unchanged. Changes apply from now on. Raises NoSuchPartner; ValueError for an unknown
    currency, a minimum multiple outside 0 to 1,000,000, and days to pay outside 1 to 365.
    """
    account = await _lock(tx, partner)
    settles = account.settlement_currencies if currencies is None else tuple(dict.fromkeys(currencies))
    if not settles:
        raise ValueError("a partner needs at least one settlement currency")
    if strange := [code for code in settles if code not in EXPONENTS]:
        raise ValueError(f"{', '.join(strange)}: not an active ISO 4217 currency code such as GBP")
    account = replace(
        account,
        settlement_currencies=settles,
        shares_donor_details=account.shares_donor_details if shares_donor_details is None else shares_donor_details,
        requires_gift_aid=account.requires_gift_aid if requires_gift_aid is None else requires_gift_aid,
        request_interval=request_interval or account.request_interval,
        request_minimum_multiple=account.request_minimum_multiple
        if request_minimum_multiple is None
        else request_minimum_multiple,
        request_due_days=account.request_due_days if request_due_days is None else request_due_days,
    )
    if not 0 <= account.request_minimum_multiple <= _MAX_REQUEST_MINIMUM_MULTIPLE:
        raise ValueError(
            f"the minimum request must be 0 to {_MAX_REQUEST_MINIMUM_MULTIPLE:,} times the minimum donation"
        )
    if not 1 <= account.request_due_days <= _MAX_REQUEST_DUE_DAYS:
        raise ValueError(f"the payment period of a request must be 1 to {_MAX_REQUEST_DUE_DAYS} days")
    await store.update_donation_settings(tx, partner, account)
    return account


async def _set_brand(
    tx: Tx, partner: Partner, account: PartnerAccount, colour: str | None, logo: str | None
) -> PartnerAccount:
    await store.set_brand(tx, partner, colour, logo)
    if account.brand_logo not in (None, logo):
        await media.delete_image(tx, account.brand_logo)
    return replace(account, brand_colour=colour, brand_logo=logo)


async def _lock(tx: Tx, partner: Partner) -> PartnerAccount:
    if (account := await store.find_for_update(tx, partner)) is None:
        raise NoSuchPartner(tx.ids.encode("partner", partner.id))
    return account


async def list_accounts(tx: Tx, limit: int | None = None) -> list[PartnerAccount]:
    """Partners, oldest first; all of them without a limit."""
    return await store.list_accounts(tx, limit)
