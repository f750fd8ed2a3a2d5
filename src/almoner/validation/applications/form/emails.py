"""The mail that hands the form over to a colleague. It holds nothing that was typed: nobody writes to others by it."""

from datetime import datetime
from uuid import UUID

from almoner.platform.database.transactions import Tx
from almoner.platform.outbound.mail import Mail
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.validation.applications.form import service
from almoner.validation.applications.invites import service as invites


async def handover_email(tx: Tx, mails: MailRenderer, handover_id: UUID, at: datetime) -> Mail | None:
    """The mail with the link; None when there is nothing to go on with any more."""
    found = await service.find_open_handover(tx, handover_id)
    if found is None:
        return None
    handed, application = found
    language = mails.language(application.language)
    partner = application.configuration.display_name
    facts = {
        "partner": partner,
        "until": application.invite.expires_at,
        "link": invites.build_api_record(tx, application.invite).url,
    }
    return mails.render_mail(
        "handover",
        language,
        facts,
        key=f"application-handover:{handed.id}",
        at=at,
        partner=application.invite.partner_id,
        to=handed.email,
    )
