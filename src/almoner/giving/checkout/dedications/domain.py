"""Emails about dedicated donations to the person whom the donor named; pure."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

MAX_NAME: Final = 100
MAX_MESSAGE: Final = 500
KEPT_FOR: Final = timedelta(days=60)
"""How long the recipient is stored before the donation is paid: a confirmed bank transfer has 30 days."""


@dataclass(frozen=True, slots=True)
class DedicationEmail:
    """The recipient of an email about a dedication, and the donor's message."""

    recipient_name: str
    recipient_email: str
    message: str | None = None
