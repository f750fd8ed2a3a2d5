"""Emails that visitors of pages request to an address, and their limits; pure."""

from datetime import timedelta
from typing import Final, Literal

EmailPurpose = Literal["statement", "regular_donations", "dedication"]
MAX_EMAILS: Final = 3
"""The maximum number of emails of one purpose to one address within ``EMAILS_WITHIN``."""
EMAILS_WITHIN: Final = timedelta(hours=24)
"""The period of the limit; an email not sent by then is not sent any more."""
