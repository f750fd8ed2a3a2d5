"""The codes of confirmations, and how many mails may be sent (settled 5); pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from hmac import compare_digest
from typing import Final
from uuid import UUID

CODE_DIGITS: Final = 6
CODE_TRIES: Final = 5
"""Wrong ones after which a code is over."""
MAILS_A_DAY: Final = 5
MAILS_IN_ALL: Final = 20
"""With 5 tries each, whoever guesses all the time is right once in 10,000 verifications."""
MAILS_TO_ONE_ADDRESS: Final = ((timedelta(hours=1), 5), (timedelta(days=1), 20))
"""Whatever the verifications: nobody can have a stranger's mailbox filled. A sandbox, whose mails leave it only where
its operator says so, lets twenty times as many through, since integrators test with one address.
"""
SANDBOX_MAILS: Final = 20
MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)


class TypedCode(Enum):
    """What becomes of a typed code."""

    RIGHT = "right"
    MISSING = "missing"
    WRONG = "wrong"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A mail with a link and a code. ``sent_at``: real time; ``failed_attempts``: codes typed in vain since."""

    id: UUID
    verification_id: UUID
    sent_at: datetime
    failed_attempts: int

    def judge(self, typed: str, right: str) -> TypedCode:
        """What becomes of ``typed``; a code that is over is never told right or wrong."""
        if not (given := digits(typed)):
            return TypedCode.MISSING
        if self.failed_attempts >= CODE_TRIES:
            return TypedCode.OVER
        return TypedCode.RIGHT if compare_digest(given, right) else TypedCode.WRONG


def digits(typed: str) -> str:
    """The digits of what was typed, as ASCII, whatever stands between them and whichever script they are of."""
    return "".join(str(unicodedata.digit(sign)) for sign in typed if unicodedata.digit(sign, None) is not None)


def may_send(sent: Sequence[datetime], at: datetime, *, elsewhere: bool = False) -> bool:
    """Whether one more mail may go out at this (real) time; ``sent``: when the earlier ones did.

    ``elsewhere``: to another address than they did: who sees a slip need not wait a minute.
    """
    recent = [moment for moment in sent if moment > at - DAY]
    waited = elsewhere or all(moment <= at - MINUTE for moment in recent)
    return len(sent) < MAILS_IN_ALL and len(recent) < MAILS_A_DAY and waited


def may_reach(sent: Sequence[datetime], at: datetime, *, sandbox: bool) -> bool:
    """Whether one more mail may go to an address at this (real) time; ``sent``: when others of the last day went."""
    times = SANDBOX_MAILS if sandbox else 1
    return all(sum(moment > at - span for moment in sent) < most * times for span, most in MAILS_TO_ONE_ADDRESS)
