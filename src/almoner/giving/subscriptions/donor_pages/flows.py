"""Changes a subscription's card at the payment provider, outside transactions (architecture 3)."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.payments.domain import (
    NoSuchPayment,
    PaymentNotRecognised,
    ProviderEvent,
    ProviderFailure,
    ProviderSetup,
    ProviderStatus,
    ProviderUnavailable,
    WebhookRefused,
)
from almoner.giving.checkout.payments.ports import FutureUseConsent, PaymentMethodSetupRequest, PaymentProvider
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import (
    LIVE_STATUSES,
    PAYMENT_METHOD_REPLACED,
    PaymentMethodReplacedEvent,
)
from almoner.giving.subscriptions.donor_pages import domain, store
from almoner.giving.subscriptions.donor_pages.ports import CardChangeResult
from almoner.kit.errors import NotFound
from almoner.kit.ids import decode_uuid, encode_uuid
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Partner, Tx
from almoner.platform.events import outbox

_DEFAULT_LANGUAGE: Final = "en"


@dataclass(frozen=True, slots=True)
class CardChangeContext:
    """The database and provider that the flows need."""

    db: Database
    provider: PaymentProvider


async def start_card_change(context: CardChangeContext, subscription_id: UUID, return_url: str) -> str | None:
    """The provider's page to save another card; None if the subscription has ended or a limit was reached.

    Raises NotFound, ProviderUnavailable.
    """
    async with context.db.write() as tx:
        order = await _order(tx, context.provider.name, subscription_id, return_url)
    if order is None:
        return None
    setup_id, asked = order
    try:
        created = await context.provider.create_payment_method_setup(asked)
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    async with context.db.write() as tx:
        await store.set_provider_setup_id(tx, setup_id, created.id)
    return created.setup_page_url


async def _order(
    tx: Tx, provider: str, subscription_id: UUID, return_url: str
) -> tuple[UUID, PaymentMethodSetupRequest] | None:
    subscription = await subscriptions.get_for_update(tx, ALL_PARTNERS, subscription_id)
    agreed = await subscriptions.find_accepted_agreement(tx, subscription.id)
    if subscription.status not in LIVE_STATUSES or subscription.email is None or agreed is None:
        return None
    partner, since = Partner(subscription.partner_id), tx.real_now - domain.CARD_CHANGES_WITHIN
    if await store.count_payment_method_setups_since(tx, partner, subscription.id, since) >= domain.MAX_CARD_CHANGES:
        return None
    setup_id = await store.insert_payment_method_setup(tx, partner, subscription.id)
    back = f"{return_url}?token={tx.vault.create_page_token(domain.CARD_PURPOSE, setup_id)}"
    order = PaymentMethodSetupRequest(
        idempotency_key=f"{tx.deployment.environment}:setup:{encode_uuid(setup_id)}",
        reference=encode_uuid(setup_id),
        currency=subscription.money.currency,
        description=(await hosted_page.load_profile_of_organisation(tx, partner, subscription.organisation_id)).name,
        future_use_consent=FutureUseConsent(agreed[0].text, agreed[0].version, subscription.email),
        return_url=back,
        cancel_url=back,
        callback_url=f"{tx.base_urls.api}/callbacks/{provider}",
        language=subscription.language or _DEFAULT_LANGUAGE,
    )
    return setup_id, order


async def finish_card_change(context: CardChangeContext, setup_id: UUID) -> CardChangeResult:
    """Finish a card change after the donor came back from the provider.

    Raises NotFound, ProviderUnavailable.
    """
    async with context.db.read() as tx:
        found = await store.find_payment_method_setup(tx, setup_id)
    if found is None:
        raise NotFound
    subscription_id, name = found
    if name is None:
        return CardChangeResult(subscription_id, is_card_changed=False)
    try:
        setup = await context.provider.fetch_payment_method_setup(name)
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    return CardChangeResult(subscription_id, await _apply(context, setup))


async def handle_setup_webhook(context: CardChangeContext, event: ProviderEvent) -> bool:
    """Handle a webhook about a saved card; False if it is not ours.

    Raises WebhookRefused, ProviderUnavailable.
    """
    try:
        setup = await context.provider.fetch_payment_method_setup(event.payment_id)
    except PaymentNotRecognised:
        return False
    except NoSuchPayment as error:
        raise WebhookRefused("the notice names a page that its provider does not know") from error
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    await _apply(context, setup)
    return True


async def _apply(context: CardChangeContext, setup: ProviderSetup) -> bool:
    """Use the saved card for the subscription, if the page is ours and of our mode (live or test)."""
    setup_id, saved = decode_uuid(setup.reference), setup.payment_method
    if setup_id is None or saved is None or setup.status is not ProviderStatus.SUCCEEDED:
        return False
    async with context.db.write() as tx:
        found = await store.find_payment_method_setup(tx, setup_id)
        if found is None or setup.is_live_mode is tx.deployment.sandbox:
            return False
        subscription = await subscriptions.get_for_update(tx, ALL_PARTNERS, found[0])
        new = await store.mark_payment_method_setup_completed(tx, setup_id)
        if subscription.status in LIVE_STATUSES:
            if new:
                await subscriptions.set_payment_method(tx, context.provider.name, subscription, saved)
            return True
        if new:  # the subscription ended meanwhile: delete the saved card
            unused = PaymentMethodReplacedEvent(context.provider.name, saved.customer_id, saved.id)
            await outbox.emit_internal_event(tx, PAYMENT_METHOD_REPLACED, unused, partner_id=subscription.partner_id)
        return False
