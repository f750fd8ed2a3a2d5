"""The mail that hands the form over to a colleague. It holds nothing that was typed: nobody writes to others by it."""

from almoner.access.notifications.service import Email
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import JobOf
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.validation.applications.form import service
from almoner.validation.applications.form.service import HandOver
from almoner.validation.applications.invites import service as invites


async def compose_handover(tx: Tx, _mails: MailRenderer, job: JobOf[HandOver]) -> Email | None:
    """The mail with the link; None when there is nothing to go on with any more."""
    found = await service.find_open_handover(tx, job.details.handover)
    if found is None:
        return None
    handed, application = found
    partner = application.configuration.display_name
    facts = {
        "partner": partner,
        "until": application.invite.expires_at,
        "link": invites.serialise_for_api(tx, application.invite).url,
    }
    return Email(
        handed.email,
        f"application-handover:{handed.id}",
        facts,
        application.language,
        application.invite.partner_id,
        partner,
    )
