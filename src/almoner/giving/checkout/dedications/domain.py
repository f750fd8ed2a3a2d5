"""Emails that tell somebody of a donation that is dedicated; pure."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

MAX_NAME: Final = 100
MAX_MESSAGE: Final = 500
KEPT_FOR: Final = timedelta(days=60)
"""How long a donation may take to be paid: a bank transfer that is confirmed has 30 days."""


@dataclass(frozen=True, slots=True)
class DedicationEmail:
    """Whom an email tells of it, and what the donor says in it."""

    recipient_name: str
    recipient_email: str
    message: str | None = None
