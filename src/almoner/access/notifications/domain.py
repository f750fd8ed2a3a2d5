"""Undeliverable emails; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

RETENTION: Final = timedelta(days=90)
"""How long undeliverable emails are listed."""

DeliveryResult = Literal["sent", "undeliverable"]
"""The result of sending an email. ``sent``: a mail server accepted it; later bounce messages are not read."""


class NoSuchUndeliverableEmail(LookupError):
    """There is no undeliverable email with this id, or it was sent again."""


@dataclass(frozen=True, slots=True)
class UndeliverableEmail:
    """An email that could not be delivered.

    ``kind``: of its job. ``was_rejected``: rejected by the mail server for good; otherwise, the server did not respond.
    """

    id: UUID
    partner_id: UUID | None
    kind: str
    recipient: str
    reason: str
    was_rejected: bool
    created_at: datetime


class UndeliveredEmailJob(NamedTuple):
    """The job that sends an undeliverable email again: its kind and payload."""

    kind: str
    payload: Mapping[str, object]
