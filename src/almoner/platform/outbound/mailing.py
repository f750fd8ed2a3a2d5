"""Send an email: retried while no mail server accepts it, as long as it is useful, until it is rejected."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from almoner.platform.jobs.outside import free_job_slot_while_waiting
from almoner.platform.jobs.queue import JobRetry
from almoner.platform.outbound.mail import Mail, MailRefused, MailTransport, TransientMailFailure


@dataclass(frozen=True, slots=True)
class MailRetryPolicy:
    """How often an email is retried: after ``first_delay``, doubled up to ``max_delay``, ``max_attempts`` times."""

    first_delay: timedelta
    max_delay: timedelta
    max_attempts: int | None

    def delay_after(self, attempt: int) -> timedelta:
        """The delay after an attempt (1: the first)."""
        return min(self.first_delay * (1 << min(attempt - 1, 20)), self.max_delay)


_MINUTE: Final = timedelta(minutes=1)
RETRY_FOR_DAYS: Final = MailRetryPolicy(_MINUTE, timedelta(hours=6), 16)
"""About two days."""
RETRY_FOR_HOURS: Final = MailRetryPolicy(_MINUTE, timedelta(hours=6), 9)
"""About four hours, for links that are valid for a day."""
RETRY_FOR_ONE_DAY: Final = MailRetryPolicy(_MINUTE, _MINUTE, 60 * 24)
"""Every minute: a one-hour link has expired after that, and a notice is useless a day later."""


@dataclass(frozen=True, slots=True)
class MailSent:
    """A mail server accepted the email."""


@dataclass(frozen=True, slots=True)
class MailUndeliverable:
    """The email is not retried. ``refused_by_server``: rejected by a mail server; otherwise out of retries."""

    reason: str
    refused_by_server: bool


async def send_mail(
    transport: MailTransport, mail: Mail, attempt: int, policy: MailRetryPolicy
) -> MailSent | MailUndeliverable | JobRetry:
    """Send an email and return the outcome; the first attempt is 1."""
    try:
        with free_job_slot_while_waiting():
            await transport.send(mail)
    except MailRefused as refused:
        return MailUndeliverable(str(refused), refused_by_server=True)
    except TransientMailFailure as failure:
        if policy.max_attempts is not None and attempt >= policy.max_attempts:
            return MailUndeliverable(str(failure), refused_by_server=False)
        return JobRetry(policy.delay_after(attempt), str(failure))
    return MailSent()
