"""How a mail is tried again, and when it is given up."""

from datetime import UTC, datetime, timedelta

import pytest

from almoner.platform.jobs.queue import JobRetry
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import Mail, MailRefused, TransientMailFailure
from almoner.platform.outbound.mailing import MailSent, MailUndeliverable

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MAIL = Mail("key", NOW, None, "ada@example.org", "A subject", "A text", "<p>A text</p>", "en")
MINUTE = timedelta(minutes=1)


class Carrier:
    """Takes a mail, or does with it what it was told."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.trouble = trouble
        self.sent: list[Mail] = []

    async def send(self, mail: Mail) -> None:
        """Take it."""
        if self.trouble is not None:
            raise self.trouble
        self.sent.append(mail)


async def carried(
    carrier: Carrier, attempt: int = 1, patience: mailing.MailRetryPolicy = mailing.RETRY_FOR_DAYS
) -> MailSent | MailUndeliverable | JobRetry:
    """What becomes of a mail at an attempt."""
    return await mailing.send_mail(carrier, MAIL, attempt, patience)


async def test_a_mail_goes_out_once() -> None:
    carrier = Carrier()
    assert await carried(carrier) == MailSent()
    assert carrier.sent == [MAIL]


async def test_what_is_refused_is_not_tried_again() -> None:
    assert await carried(Carrier(MailRefused("no such mailbox"))) == MailUndeliverable(
        "no such mailbox", refused_by_server=True
    )


@pytest.mark.parametrize(
    ("patience", "waits", "most", "lasts"),
    [
        (mailing.RETRY_FOR_DAYS, [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360], 16, timedelta(days=1)),
        (mailing.RETRY_FOR_HOURS, [1, 2, 4, 8, 16, 32, 64, 128], 9, timedelta(hours=4)),
        (mailing.RETRY_FOR_ONE_DAY, [1, 1, 1, 1], 1440, timedelta(hours=23)),
    ],
)
async def test_what_nobody_takes_is_tried_for_as_long_as_it_is_of_use(
    patience: mailing.MailRetryPolicy, waits: list[int], most: int, lasts: timedelta
) -> None:
    down = Carrier(TransientMailFailure("down"))
    for attempt, minutes in enumerate(waits, 1):
        assert await carried(down, attempt, patience) == JobRetry(minutes * MINUTE, "down")
    assert await carried(down, most, patience) == MailUndeliverable("down", refused_by_server=False)
    assert lasts < sum((patience.delay_after(attempt) for attempt in range(1, most)), timedelta()) < 2 * lasts


async def test_without_an_end_it_is_tried_until_it_is_over() -> None:
    endless = mailing.MailRetryPolicy(MINUTE, MINUTE, None)
    assert await carried(Carrier(TransientMailFailure("down")), 100_000, endless) == JobRetry(MINUTE, "down")
