"""Emails that nobody will get; pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

RETENTION: Final = timedelta(days=90)
"""How long it is kept whom an email could not be delivered to."""

DeliveryResult = Literal["sent", "undeliverable"]
"""What became of an email. ``sent``: a mail server has taken it; its own later messages about it are not read."""


class NoSuchUndeliverableEmail(LookupError):
    """There is no undeliverable email with this id, or it was sent again."""


@dataclass(frozen=True, slots=True)
class UndeliverableEmail:
    """``kind``: of the job that would send it. ``refused``: by the mail server, for good; else it did not answer."""

    id: UUID
    partner_id: UUID | None
    kind: str
    recipient: str
    reason: str
    refused: bool
    created_at: datetime
