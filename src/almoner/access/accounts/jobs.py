"""The mail with the addresses of somebody's sign-in pages."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from almoner.access.accounts import service
from almoner.access.accounts.service import SEND_ADDRESSES
from almoner.platform.mail import Mail, MailDelayed, MailRefused, MailTransport
from almoner.platform.pages.rendering import Pages
from almoner.platform.queue import Done, Drop, Job, Result, Retry
from almoner.platform.work import Handler, Work

_AGAIN: Final = timedelta(minutes=1)
_MOST_ATTEMPTS: Final = 60 * 24
"""A day, as for letters: whoever asked has found the page by then, or asked again."""


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler. ``pages``: of ``service.MAILS``."""

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            email, found = await service.addresses(tx, job.payload["email"])
        if not found:
            return Done()  # nobody has this address, and nobody is told so
        english = pages.language(None)
        mail = Mail(
            key=f"accounts:{job.id}",
            at=job.due_at,
            partner=None,
            to=email,
            subject="Where you sign in",
            text=pages.text("addresses.txt", english, addresses=found),
            html=pages.text("addresses.html", english, addresses=found),
            language=english.html_lang,
        )
        try:
            await transport.send(mail)
        except MailRefused as refused:
            return Drop(str(refused))
        except MailDelayed as delayed:
            return Retry(_AGAIN, str(delayed)) if job.attempt < _MOST_ATTEMPTS else Drop(str(delayed))
        return Done()

    return {SEND_ADDRESSES: send}
