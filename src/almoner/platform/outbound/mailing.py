"""Sending the mail of a job: again while nobody takes it, for as long as it is of use, and not once it is refused."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from almoner.platform.jobs.queue import Done, Drop, Job, Result, Retry
from almoner.platform.outbound.mail import Mail, MailDelayed, MailRefused, MailTransport


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a mail is tried: after ``first``, doubled after each attempt, at most ``longest``; ``most`` times."""

    first: timedelta
    longest: timedelta
    most: int | None

    def wait(self, attempt: int) -> timedelta:
        """After an attempt, the first being 1."""
        return min(self.first * (1 << min(attempt - 1, 20)), self.longest)


_MINUTE: Final = timedelta(minutes=1)
DAYS: Final = Patience(_MINUTE, timedelta(hours=6), 16)
"""About two days."""
HOURS: Final = Patience(_MINUTE, timedelta(hours=6), 9)
"""About four hours, where a link lives for a day."""
A_DAY: Final = Patience(_MINUTE, _MINUTE, 60 * 24)
"""Every minute: a link of an hour is over by then, and who reads a notice a day later has not been served."""


async def carry(transport: MailTransport, mail: Mail | None, job: Job, patience: Patience = DAYS) -> Result:
    """Have a mail carried; None: there is nobody to tell any more."""
    if mail is None:
        return Done()
    try:
        await transport.send(mail)
    except MailRefused as refused:
        return Drop(str(refused))
    except MailDelayed as delayed:
        if patience.most is not None and job.attempt >= patience.most:
            return Drop(str(delayed))
        return Retry(patience.wait(job.attempt), str(delayed))
    return Done()
