"""Who takes payments: Stripe where it is set up, else in the sandbox the built-in provider, else nobody."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from starlette.routing import BaseRoute

from almoner.adapters.lazy import stripe_provider
from almoner.adapters.payment_simulator_closed import ClosedPaymentSimulator
from almoner.adapters.payment_simulator_test import TestPaymentSimulator
from almoner.adapters.payments_test import TestProvider
from almoner.giving.accounting.disputes import flows as disputes
from almoner.giving.accounting.disputes.flows import DisputeWork
from almoner.giving.accounting.refunds import flows as refunds
from almoner.giving.accounting.refunds.flows import RefundWork
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.settlements.ports import PayoutReports
from almoner.giving.banking.payment_files import service as bank_files
from almoner.giving.banking.payment_files.domain import BankFileRefused
from almoner.giving.checkout.bank_transfers.domain import PayTo
from almoner.giving.checkout.donations.flows import PaymentWork
from almoner.giving.checkout.donations.pages import callback_routes
from almoner.giving.checkout.payments.domain import Tariff
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import Rules
from almoner.platform.database.transactions import Database
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import Outbound
from almoner.platform.pages.translations import Catalogues
from almoner.provider_test.app import ProviderTest
from almoner.sandbox.ports import PaymentSimulator
from almoner.settings import Settings, UnsafeSettings


class Provider(PaymentProvider, Protocol):
    """A payment provider that holds connections open."""

    def looks(self) -> RefundStatusReader | None:
        """How refunds stand that it has sent, where they may yet fail."""

    def reports(self) -> PayoutReports | None:
        """What it has paid out, where it tells that by itself."""

    async def close(self) -> None:
        """Close them."""


def accounts_of(settings: Settings) -> Mapping[str, PayTo]:
    """Our own accounts by currency, which donors may transfer to. Raises UnsafeSettings."""
    if settings.bank_accounts is None:
        return {}
    try:
        own = bank_files.own_accounts(settings.bank_accounts)
    except BankFileRefused as refused:
        raise UnsafeSettings([f"ALMONER_BANK_ACCOUNTS: {refused}"]) from refused
    return {currency: PayTo(account.name, account.numbers) for currency, account in own.items()}


def provider_of(
    settings: Settings, db: Database, outbound: Outbound, telemetry: Telemetry, catalogues: Catalogues
) -> tuple[Provider | None, ProviderTest | None]:
    """Our side of payments, and of the built-in provider also the outside party."""
    if (account := settings.stripe) is not None:
        tariff = Tariff(account.basis_points, account.fixed_minor)
        urls = settings.stripe_api_url, settings.stripe_pages_url
        mark = db.deployment.vault.sign("stripe", b"installation").hex()
        return stripe_provider(account.key, account.webhook_secret, tariff, mark, *urls, db.deployment.identity), None
    if not settings.built_in_provider:
        return None, None
    url, secret = settings.provider_base_url, db.deployment.vault.keyed_hash("provider-test", b"merchant").hex()
    outside = ProviderTest(db, outbound, telemetry, url=url, secret=secret, catalogues=catalogues)
    return TestProvider(url, secret, db.deployment.identity), outside


def callbacks(work: PaymentWork, reader: RefundStatusReader | None, rules: Rules) -> list[BaseRoute]:
    """Where the provider sends its notices, and who acts on those about more than a payment."""
    disputed = partial(disputes.handle_provider_webhook, DisputeWork(work.db, work.provider, rules))
    refunded = partial(refunds.handle_provider_webhook, RefundWork(work.db, reader)) if reader else None
    return callback_routes(work, disputed, refunded)


def payment_simulator_of(settings: Settings, db: Database) -> PaymentSimulator:
    """Where simulated donors pay."""
    return TestPaymentSimulator(db) if settings.built_in_provider else ClosedPaymentSimulator()
