"""Notices of payee accounts to nonprofits, and the states of their page; pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccount

NoticeState = Literal["open", "denied", "closed"]
"""The state of the page. ``closed``: the account no longer receives payments, or the link has expired."""

RESPONSE_PERIOD: Final = timedelta(days=90)
"""How long a link works. Later objections go to the sender of the email."""


@dataclass(frozen=True, slots=True)
class PayeeAccountNotice:
    """A notice to a nonprofit about a payee account. ``partner_id``: the partner that needs the account verified."""

    account_id: UUID
    partner_id: UUID
    language: str
    notified_at: datetime


@dataclass(frozen=True, slots=True)
class NoticePageContent:
    """Everything that the page shows to the nonprofit."""

    notice: PayeeAccountNotice
    account: PayeeAccount
    organisation_name: str

    def state(self, now: datetime) -> NoticeState:
        """The state of the page at ``now``."""
        if self.account.denied_at is not None:
            return "denied"
        counts = self.account.status in ("proposed", "approved") and now < self.expires_at
        return "open" if counts else "closed"

    @property
    def expires_at(self) -> datetime:
        """When the link stops working."""
        return self.notice.notified_at + RESPONSE_PERIOD
