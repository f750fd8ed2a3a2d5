"""Sending the mail of a job: again while nobody takes it, for as long as it is of use, and not once it is refused."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from almoner.platform.jobs.outside import waiting_outside
from almoner.platform.jobs.queue import Job, JobDone, JobDropped, JobRetry, Result
from almoner.platform.outbound.mail import Mail, MailDelayed, MailRefused, MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer


@dataclass(frozen=True, slots=True)
class MailRetryPolicy:
    """How often a mail is tried: after ``first``, doubled after each attempt, at most ``longest``; ``most`` times."""

    first: timedelta
    longest: timedelta
    most: int | None

    def delay_after(self, attempt: int) -> timedelta:
        """After an attempt, the first being 1."""
        return min(self.first * (1 << min(attempt - 1, 20)), self.longest)


_MINUTE: Final = timedelta(minutes=1)
RETRY_FOR_DAYS: Final = MailRetryPolicy(_MINUTE, timedelta(hours=6), 16)
"""About two days."""
RETRY_FOR_HOURS: Final = MailRetryPolicy(_MINUTE, timedelta(hours=6), 9)
"""About four hours, where a link lives for a day."""
RETRY_FOR_ONE_DAY: Final = MailRetryPolicy(_MINUTE, _MINUTE, 60 * 24)
"""Every minute: a link of an hour is over by then, and who reads a notice a day later has not been served."""


async def send_mail(
    transport: MailTransport, mail: Mail | None, job: Job, patience: MailRetryPolicy = RETRY_FOR_DAYS
) -> Result:
    """Have a mail carried; None: there is nobody to tell any more."""
    if mail is None:
        return JobDone()
    try:
        with waiting_outside():
            await transport.send(mail)
    except MailRefused as refused:
        return JobDropped(str(refused))
    except MailDelayed as delayed:
        if patience.most is not None and job.attempt >= patience.most:
            return JobDropped(str(delayed))
        return JobRetry(patience.delay_after(job.attempt), str(delayed))
    return JobDone()


@dataclass(frozen=True, slots=True)
class Mailer:
    """What jobs that write to people need: the templates of their slice, and who carries mails."""

    mails: MailRenderer
    transport: MailTransport

    async def send(self, mail: Mail | None, job: Job, patience: MailRetryPolicy = RETRY_FOR_DAYS) -> Result:
        """As ``send_mail``."""
        return await send_mail(self.transport, mail, job, patience)
