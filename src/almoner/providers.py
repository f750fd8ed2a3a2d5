"""The payment provider: Stripe if configured, in the sandbox the built-in one, else none."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, Protocol

from starlette.routing import BaseRoute

from almoner.adapters.lazy import build_stripe_provider
from almoner.adapters.payment_simulator_disabled import DisabledPaymentSimulator
from almoner.adapters.payment_simulator_test import TestPaymentSimulator
from almoner.adapters.payments_test import TestProvider
from almoner.giving.accounting.disputes import flows as disputes_flows
from almoner.giving.accounting.disputes.flows import DisputeContext
from almoner.giving.accounting.refunds import flows as refunds_flows
from almoner.giving.accounting.refunds.flows import RefundContext
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.checkout.bank_transfers.domain import BankDetails
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.donations.provider_webhooks import webhook_routes
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.hosted_page.ports import GivingLinkDisclosures, LegalNotice
from almoner.giving.checkout.payments.domain import FeeSchedule, NoSuchPayment
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.subscriptions.donor_pages import flows as donor_pages_flows
from almoner.giving.subscriptions.donor_pages.flows import CardChangeContext
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.database.transactions import Database
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.provider_test.app import SimulatedPaymentProvider
from almoner.sandbox.ports import PaymentSimulator
from almoner.settings import InvalidSettings, Settings


class PaymentProviderClient(PaymentProvider, Protocol):
    """A payment provider with open connections, which must be closed."""

    def refund_status_reader(self) -> RefundStatusReader | None:
        """Reads the status of sent refunds, if they can still fail."""

    def payout_report_source(self) -> PayoutReportSource | None:
        """Fetches payout reports, if the provider publishes them by API."""

    async def close(self) -> None:
        """Close the connections."""


def load_bank_accounts_by_currency(settings: Settings) -> Mapping[str, BankDetails]:
    """Our bank accounts for donors' transfers, by currency. Raises InvalidSettings."""
    if settings.bank_accounts is None:
        return {}
    try:
        own = payment_files.load_own_accounts(settings.bank_accounts)
    except PaymentFileError as refused:
        raise InvalidSettings([f"ALMONER_BANK_ACCOUNTS: {refused}"]) from refused
    return {currency: BankDetails(account.name, account.numbers) for currency, account in own.items()}


def load_giving_link_disclosures(settings: Settings) -> GivingLinkDisclosures:
    """The operator's statements on giving link pages. Raises InvalidSettings."""
    notices: list[LegalNotice] = []
    if settings.giving_notices is not None:
        try:
            notices = list(hosted_page.load_legal_notices(settings.giving_notices))
        except (OSError, ValueError) as refused:
            raise InvalidSettings([f"ALMONER_GIVING_NOTICES: {refused}"]) from refused
    return GivingLinkDisclosures(settings.disbursement_days, tuple(notices))


def build_provider_client_and_simulated_provider(
    settings: Settings, db: Database, outbound: OutboundClient, telemetry: Telemetry, catalogues: TranslationCatalogues
) -> tuple[PaymentProviderClient | None, SimulatedPaymentProvider | None]:
    """The configured payment provider, and in the sandbox the application of the built-in one."""
    if (account := settings.stripe) is not None:
        tariff = FeeSchedule(account.fee_basis_points, account.fixed_fee_minor_by_currency)
        urls = settings.stripe_api_url, settings.stripe_pages_url
        mark = db.deployment.vault.compute_mac("stripe", b"installation").hex()
        return build_stripe_provider(
            account.secret_key, account.webhook_secret, tariff, mark, *urls, db.deployment.identity
        ), None
    if not settings.uses_test_provider:
        return None, None
    url, secret = (
        settings.test_provider_base_url,
        db.deployment.vault.compute_keyed_hash("provider-test", b"merchant").hex(),
    )
    outside = SimulatedPaymentProvider(db, outbound, telemetry, url=url, secret=secret, catalogues=catalogues)
    return TestProvider(url, secret, db.deployment.identity), outside


def provider_webhook_routes(
    context: PaymentContext, reader: RefundStatusReader | None, rules: DisbursementRules
) -> list[BaseRoute]:
    """The routes for the provider's webhooks about payments, disputes, refunds and saved cards."""
    disputed = partial(disputes_flows.handle_provider_webhook, DisputeContext(context.db, context.provider, rules))
    refunded = partial(refunds_flows.handle_provider_webhook, RefundContext(context.db, reader)) if reader else None
    set_up = partial(donor_pages_flows.handle_setup_webhook, CardChangeContext(context.db, context.provider))
    return webhook_routes(context, disputed, refunded, set_up)


def build_payment_simulator(settings: Settings, db: Database) -> PaymentSimulator:
    """Build the simulator of payments for the sandbox."""
    return TestPaymentSimulator(db) if settings.uses_test_provider else DisabledPaymentSimulator()


class StripeCheckResult(NamedTuple):
    """Whether the account is set up correctly, and a sentence about it."""

    ok: bool
    message: str


async def check_stripe(settings: Settings) -> StripeCheckResult | None:
    """Check the secret key with a request for a payment that does not exist, and the webhook endpoint.

    None without an account. Raises ProviderFailure.
    """
    if (account := settings.stripe) is None:
        return None
    tariff = FeeSchedule(account.fee_basis_points, account.fixed_fee_minor_by_currency)
    provider = build_stripe_provider(
        account.secret_key,
        account.webhook_secret,
        tariff,
        "check",
        settings.stripe_api_url,
        settings.stripe_pages_url,
        DeploymentIdentity(),
    )
    try:
        await provider.fetch_payment("cs_almoner_check")
    except NoSuchPayment:
        endpoint = await provider.check_webhook_endpoint(f"{settings.base_urls.api}/callbacks/stripe")
        # In the sandbox the Stripe CLI may forward events, without an endpoint.
        return StripeCheckResult(
            endpoint.is_ok or settings.sandbox, f"{settings.stripe_api_url} accepts the key; {endpoint.finding}"
        )
    finally:
        await provider.close()
    return StripeCheckResult(False, f"{settings.stripe_api_url} answers for a payment that does not exist")
