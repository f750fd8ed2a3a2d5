"""Background work of monthly reports: build them, and email their links to subscribers after each month."""

from pathlib import Path
from typing import Final

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.access.people import service as people
from almoner.access.people.domain import NoSuchPerson, Role, member_realm
from almoner.giving.accounting.monthly_reports import service
from almoner.giving.accounting.monthly_reports.service import MAKE, NOTIFY, BuildReportJob, NotifyReportRecipientJob
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats

_READERS: Final[tuple[Role, ...]] = ("owner", "finance")
tasks: Final = TaskRegistry()
tasks.add_periodic_job("monthly_reports.mail", service.next_report_email_at, service.enqueue_report_emails)


@tasks.job(MAKE)
async def build_report(context: JobContext, job: DecodedJob[BuildReportJob]) -> Result:
    """Build a requested report."""
    async with context.db.write() as tx:
        await service.build_report(tx, job.details.report)
    return JobDone()


async def compose_report_email(tx: Tx, mails: MailRenderer, job: DecodedJob[NotifyReportRecipientJob]) -> Email | None:
    """The email with the report's link, without content; None if the person may not read reports."""
    details = job.details
    partner = Partner(details.partner)
    try:
        person = await people.get(tx, member_realm(partner), details.person)
    except NoSuchPerson:
        return None
    if person.email is None or not person.has_role(*_READERS):
        return None
    home = f"{tx.base_urls.pages}/account/{tx.ids.encode('partner', partner.id)}"
    month = formats.format_month(details.month, mails.language_for_tag(None).locale)
    facts = {"link": f"{home}/reports/{details.month:%Y-%m}", "month": month}
    return Email(person.email, f"monthly-report:{details.person}:{details.month}", facts, None, partner.id)


notifications: Final = (
    NotificationDefinition(NOTIFY, Path(__file__).parent / "mails" / "monthly_report.html", compose_report_email),
)
