"""Confirmation codes and the limits on their emails (settled 5); pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from hmac import compare_digest
from typing import Final
from uuid import UUID

CODE_DIGITS: Final = 6
MAX_CODE_ATTEMPTS: Final = 5
"""Wrong attempts after which a code is invalid."""
MAX_EMAILS_PER_DAY: Final = 5
MAX_EMAILS_TOTAL: Final = 20
"""With 5 attempts per code, guessing without pause succeeds in one of 10,000 verifications."""
EMAILS_PER_ADDRESS: Final = ((timedelta(hours=1), 5), (timedelta(days=1), 20))
"""The limit per address across all verifications, so that nobody can flood a stranger's mailbox.

In a sandbox it is twenty times as high, since integrators test with one address; its emails leave it only if the
operator allows that.
"""
SANDBOX_LIMIT_FACTOR: Final = 20
_MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)


class CodeCheckResult(Enum):
    """The result of checking a typed code."""

    CORRECT = "right"
    MISSING = "missing"
    WRONG = "wrong"
    EXHAUSTED = "over"


@dataclass(frozen=True, slots=True)
class EmailConfirmation:
    """A confirmation email with a link and a code. ``failed_attempts``: wrong codes entered since it was sent."""

    id: UUID
    verification_id: UUID
    sent_at: datetime
    failed_attempts: int

    def check_code(self, entered_code: str, correct_code: str) -> CodeCheckResult:
        """Check a typed code; an expired one is never reported as right or wrong."""
        if not (given := extract_digits(entered_code)):
            return CodeCheckResult.MISSING
        if self.failed_attempts >= MAX_CODE_ATTEMPTS:
            return CodeCheckResult.EXHAUSTED
        return CodeCheckResult.CORRECT if compare_digest(given, correct_code) else CodeCheckResult.WRONG


def extract_digits(text: str) -> str:
    """The digits in a typed text, as ASCII."""
    return "".join(str(unicodedata.digit(sign)) for sign in text if unicodedata.digit(sign, None) is not None)


def may_send_confirmation(
    previous_send_times: Sequence[datetime], now: datetime, *, is_address_corrected: bool = False
) -> bool:
    """Whether another email may be sent now, given when earlier ones were sent.

    ``is_address_corrected``: earlier ones went to another address; correcting a typo does not wait a minute.
    """
    recent = [moment for moment in previous_send_times if moment > now - DAY]
    waited = is_address_corrected or all(moment <= now - _MINUTE for moment in recent)
    return len(previous_send_times) < MAX_EMAILS_TOTAL and len(recent) < MAX_EMAILS_PER_DAY and waited


def is_within_email_limit_per_address(previous_send_times: Sequence[datetime], now: datetime, *, sandbox: bool) -> bool:
    """Whether the limit per address allows another email now."""
    times = SANDBOX_LIMIT_FACTOR if sandbox else 1
    return all(
        sum(moment > now - span for moment in previous_send_times) < most * times for span, most in EMAILS_PER_ADDRESS
    )
