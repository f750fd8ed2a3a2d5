"""Record identifiers: ``<type>_<26 Crockford base32 characters of a UUIDv7>`` (TypeID text form), settled 1."""

import os
import re
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import ceil
from typing import Final
from uuid import UUID

TYPES = frozenset(
    "organisation category registry member group user giftaid donation donationrequest donationsession "
    "donationsubscription disbursement "
    "validationrequest validationrequestdocument validationinvite validationsubmission validationsubmissiondocument "
    "hostedconfiguration monitoringsubscription eligibilitysubscription activitytag activitysubtag agentverification "
    "monetarydonationverification webhooksubscription webhookdelivery event apikey partner heldpayment requestpayment "
    "givinglink operator operatortoken signin passkey registerload screeningmatch screeningsubject appeal payeeaccount "
    "bankfile bankline bankstatement bankupload settlementline refund giftaidclaim dispute verificationflag "
    "payeeconfirmation receiptdonee email savedview csvexport importupload incident".split()
)

_SANDBOX = "sandbox_"
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]  # ten bits a step: ids are made by the hundred
_TO_BASE32 = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_FORM = re.compile(f"[0-7][{_ALPHABET}]{{25}}")
_EXAMPLE = UUID("0190f2c4-5a2e-7cc3-9a4b-1d2e3f405162")
_REMEMBERED: Final = 8192  # about 2 MB


@lru_cache(_REMEMBERED)  # ids come again: a nonprofit's on each row of a list, a record's in its answers and its events
def encode_uuid(value: UUID) -> str:
    """26 lower-case Crockford base32 characters of the 128 bits, most significant first."""
    high, low = divmod(value.int, 1 << 60)  # ten bits at a time, in numbers that the processor can hold
    two = _PAIRS
    return (
        f"{two[high >> 60]}{two[high >> 50 & 1023]}{two[high >> 40 & 1023]}{two[high >> 30 & 1023]}"
        f"{two[high >> 20 & 1023]}{two[high >> 10 & 1023]}{two[high & 1023]}{two[low >> 50]}{two[low >> 40 & 1023]}"
        f"{two[low >> 30 & 1023]}{two[low >> 20 & 1023]}{two[low >> 10 & 1023]}{two[low & 1023]}"
    )


def decode_uuid(text: str) -> UUID | None:
    """The UUID of 26 Crockford characters, or None. Upper case is not accepted: identifiers are case-sensitive."""
    if _FORM.fullmatch(text) is None:
        return None
    return UUID(int=int(text.translate(_TO_BASE32), 32))


class RecordIdCodec:
    """Converts record UUIDs to text identifiers (``sandbox_donation_01h...``) and back."""

    __slots__ = ("_prefix",)

    def __init__(self, *, sandbox: bool) -> None:
        self._prefix = _SANDBOX if sandbox else ""

    def encode(self, record_type: str, uuid: UUID) -> str:
        """The text identifier of a record: its type and UUID."""
        return f"{self._prefix}{record_type}_{encode_uuid(uuid)}"

    def encode_or_none(self, record_type: str, uuid: UUID | None) -> str | None:
        """The text identifier, None for None."""
        return None if uuid is None else self.encode(record_type, uuid)

    def decode(self, record_type: str, text: str) -> UUID | None:
        """The UUID in a text identifier; None if it is not one of this type and environment."""
        head = f"{self._prefix}{record_type}_"
        return decode_uuid(text[len(head) :]) if text.startswith(head) else None

    def id_pattern(self, record_type: str, suffix_pattern: str = "", other_accepted_values: Sequence[str] = ()) -> str:
        """Regular expression of this type's identifiers in either environment, for the interface description.

        ``suffix_pattern``: a pattern of what may follow one, ``other_accepted_values``: other values that are taken.
        """
        own = f"({_SANDBOX})?{record_type}_[0-7][0-9a-hjkmnp-tv-z]{{25}}{suffix_pattern}"
        return f"^({'|'.join((own, *other_accepted_values))})$" if other_accepted_values else f"^{own}$"

    def example_id(self, record_type: str) -> str:
        """A well-formed example identifier."""
        return self.encode(record_type, _EXAMPLE)


class Uuid7Generator:
    """Makes UUIDv7 values that never go backwards within the process (RFC 9562, method 2: random counter start)."""

    __slots__ = ("_last_ms", "_lock", "_random", "_tail")

    def __init__(self, random: Callable[[int], bytes] = os.urandom) -> None:
        self._random = random
        self._lock = threading.Lock()
        self._last_ms = -1
        self._tail = 0

    def __call__(self, at: datetime) -> UUID:
        """A new identifier whose first 48 bits are ``at`` in milliseconds since 1970."""
        ms = int(at.timestamp() * 1000)
        with self._lock:
            if ms > self._last_ms:
                self._last_ms = ms
                self._tail = int.from_bytes(self._random(10)) & ((1 << 73) - 1)
            else:
                # Same or earlier millisecond: keep the order of creation by counting on (74 bits hold the counter).
                self._tail += 1 + (int.from_bytes(self._random(4)) >> 8)
            ms, tail = self._last_ms, self._tail
        value = ms << 80 | 7 << 76 | (tail >> 62 & 0xFFF) << 64 | 2 << 62 | tail & ((1 << 62) - 1)
        return UUID(int=value)


new_id = Uuid7Generator()


def created_at_of_id(id_: UUID) -> datetime:
    """When a UUIDv7 was made, to the millisecond."""
    return datetime.fromtimestamp((id_.int >> 80) / 1000, UTC)


def lowest_id_at(moment: datetime) -> UUID:
    """The lowest UUIDv7 of this millisecond."""
    return UUID(int=max(0, ceil(moment.timestamp() * 1000)) << 80)
