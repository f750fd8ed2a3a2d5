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
"""Wrong ones after which a code is over."""
MAX_EMAILS_PER_DAY: Final = 5
MAX_EMAILS_TOTAL: Final = 20
"""With 5 tries each, whoever guesses all the time is right once in 10,000 verifications."""
EMAILS_PER_ADDRESS: Final = ((timedelta(hours=1), 5), (timedelta(days=1), 20))
"""Whatever the verifications: nobody can have a stranger's mailbox filled. A sandbox, whose mails leave it only where
its operator says so, lets twenty times as many through, since integrators test with one address.
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
    """A confirmation email with a link and a code. ``failed_attempts``: wrong codes since."""

    id: UUID
    verification_id: UUID
    sent_at: datetime
    failed_attempts: int

    def check_code(self, entered: str, right: str) -> CodeCheckResult:
        """Check a typed code; an expired one is never reported as right or wrong."""
        if not (given := extract_digits(entered)):
            return CodeCheckResult.MISSING
        if self.failed_attempts >= MAX_CODE_ATTEMPTS:
            return CodeCheckResult.EXHAUSTED
        return CodeCheckResult.CORRECT if compare_digest(given, right) else CodeCheckResult.WRONG


def extract_digits(entered: str) -> str:
    """The digits in a typed text, as ASCII."""
    return "".join(str(unicodedata.digit(sign)) for sign in entered if unicodedata.digit(sign, None) is not None)


def may_send_email(sent: Sequence[datetime], at: datetime, *, to_new_address: bool = False) -> bool:
    """Whether another email may be sent now, given when earlier ones were sent.

    ``to_new_address``: to another address than they did: who sees a slip need not wait a minute.
    """
    recent = [moment for moment in sent if moment > at - DAY]
    waited = to_new_address or all(moment <= at - _MINUTE for moment in recent)
    return len(sent) < MAX_EMAILS_TOTAL and len(recent) < MAX_EMAILS_PER_DAY and waited


def is_within_address_limit(sent: Sequence[datetime], at: datetime, *, sandbox: bool) -> bool:
    """Whether another email may be sent to this address now."""
    times = SANDBOX_LIMIT_FACTOR if sandbox else 1
    return all(sum(moment > at - span for moment in sent) < most * times for span, most in EMAILS_PER_ADDRESS)
