"""Unallocated payments for tests, created realistically, and their outcome with the provider in memory."""

from dataclasses import replace
from datetime import timedelta

from almoner.access.notifications import jobs as notifications_jobs
from almoner.adapters.mail_sandbox import SandboxMailbox
from almoner.giving.accounting.suspense import jobs as suspense_jobs
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.checkout.card_testing.domain import LOOSE_LIMITS
from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.payments.domain import ProviderStatus
from almoner.giving.donor_emails import jobs as donor_emails_jobs
from almoner.kit.money import Money
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import merge_background_tasks
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support.giving import DAY, Giving, gift

MOMENT = timedelta(seconds=1)


async def work(giving: Giving) -> None:
    """Do the due work for unallocated payments, with the test's provider and mailbox."""
    db, mailbox = giving.service.db, SandboxMailbox(giving.service.db, "Giving <giving@almoner.example>")
    mailer = notifications_jobs.EmailJobDependencies(db.deployment, TranslationCatalogues(), mailbox)
    duties = merge_background_tasks(
        [
            donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(giving.provider, LOOSE_LIMITS)),
            suspense_jobs.tasks,
            suspense_jobs.provider_tasks.bind(giving.provider),
            notifications_jobs.build_email_tasks(donor_emails_jobs.build_notifications({}), mailer),
        ]
    )
    await BackgroundWorker(db, duties, giving.service.services.telemetry).drain()


async def held(giving: Giving) -> UnallocatedPayment:
    """The only unallocated payment."""
    async with giving.service.db.read() as tx:
        row = await tx.fetchrow(
            "select id from unallocated_payment where provider_payment = any($1)", list(giving.provider.payments)
        )
        assert row is not None
        return await suspense.get(tx, row["id"])


async def held_for(giving: Giving, reason: str, **tampered: object) -> UnallocatedPayment:
    """Create an unallocated payment with this reason, or with another one if ``tampered``."""
    started = gift(2500)
    await giving.begin(started)
    payment = giving.provider.only()
    changed: dict[str, dict[str, object]] = {
        "short": {"money": Money(2499, "USD")},
        "over": {"money": Money(2501, "USD")},
        "other_currency": {"money": Money(2500, "EUR")},
        "other_reference": {"reference": "7zzzzzzzzzzzzzzzzzzzzzzzzz"},
        "other_mode": {"is_live_mode": True},
        "other_account": {"goes_to_our_account": False},
    }
    match reason:
        case "donation_cancelled":
            giving.service.clock.advance(DAY)
            await giving.sweep()
        case "session_over":
            giving.provider.become(payment, ProviderStatus.CANCELLED)
            await giving.come_back()
            giving.service.clock.advance(DAY - MOMENT)
            await giving.begin(started)
            payment = next(one for one in giving.provider.payments if one != payment)
            giving.service.clock.advance(timedelta(minutes=61))
        case "paid_twice":
            await giving.begin(gift(4000))
            second = next(one for one in giving.provider.payments if one != payment)
            giving.provider.pay_with_card(second)
            await giving.come_back()
        case "unknown_payment":
            shown = giving.provider.payments.pop(payment)
            payment = f"{payment}_stranger"
            giving.provider.payments[payment] = replace(shown, id=payment)
    giving.provider.pay_with_card(payment, **changed.get(reason, {}) | tampered)
    for _ in range(2):
        assert (await giving.notify(payment)).status_code == 204
    return await held(giving)
