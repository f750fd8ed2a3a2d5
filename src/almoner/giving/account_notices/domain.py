"""What a nonprofit is told of its accounts, and what its page says; pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccount

NoticeState = Literal["open", "denied", "closed"]
"""What the page says. ``closed``: nobody is paid to the account, or the time to say something by the link is over."""

RESPONSE_PERIOD: Final = timedelta(days=90)
"""So long a link counts. Whoever finds out later writes to those who sent it."""


@dataclass(frozen=True, slots=True)
class PayeeAccountNotice:
    """A nonprofit was told of an account. ``partner_id``: by whose verification it is asked."""

    account_id: UUID
    partner_id: UUID
    language: str
    notified_at: datetime


@dataclass(frozen=True, slots=True)
class NoticePage:
    """What a nonprofit sees."""

    notice: PayeeAccountNotice
    account: PayeeAccount
    organisation: str

    def state(self, now: datetime) -> NoticeState:
        """How it stands."""
        if self.account.denied_at is not None:
            return "denied"
        counts = self.account.status in ("proposed", "approved") and now < self.until
        return "open" if counts else "closed"

    @property
    def until(self) -> datetime:
        """Until when the nonprofit can answer."""
        return self.notice.notified_at + RESPONSE_PERIOD
