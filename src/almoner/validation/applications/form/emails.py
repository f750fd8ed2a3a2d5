"""The email that shares the form with a colleague.

It contains none of the answers, so that it cannot be used to send messages.
"""

from almoner.access.notifications.service import Email
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.validation.applications.form import service
from almoner.validation.applications.form.service import SendFormShareJob
from almoner.validation.applications.invites import service as invites


async def compose_form_share_email(tx: Tx, _mails: MailRenderer, job: DecodedJob[SendFormShareJob]) -> Email | None:
    """The email with the link; None if the form cannot be continued any more."""
    found = await service.find_open_form_share_and_application(tx, job.details.share_id)
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
