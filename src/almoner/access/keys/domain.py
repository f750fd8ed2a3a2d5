"""API keys (settled 2, K1): ``sk_live_`` and 32 random base62 characters and a 6-character base62 CRC32."""

import os
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

Kind = Literal["secret", "publishable", "scim"]

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_CHARACTERS: Final = 32
_CHECK_CHARACTERS: Final = 6
_PREFIX: Final[dict[Kind, str]] = {"secret": "sk", "publishable": "pk", "scim": "scim"}
DEFAULT_OVERLAP: Final = timedelta(hours=24)
LONGEST_OVERLAP: Final = timedelta(days=7)

PUBLISHABLE_SCOPES: Final = frozenset(
    {
        "organisations:read",
        "registries:read",
        "activities:read",
        "categories:read",
        "gift_aid:write",
        "validation_submissions:write",
    }
)
"""What a publishable key may ever do (settled 2)."""


@dataclass(frozen=True, slots=True)
class Key:
    """One stored key; the secret itself is known to its holder only."""

    id: UUID
    partner_id: UUID
    kind: Kind
    name: str
    hint: str
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def usable(self, now: datetime) -> bool:
        """Whether the key opens anything at this (real) time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class OverlapTooLong(ValueError):
    """A rotated key may stay valid for at most seven days."""


def prefix(kind: Kind, *, sandbox: bool) -> str:
    """``sk_sandbox_``, ``pk_live_``, ``scim_live_`` ..."""
    return f"{_PREFIX[kind]}_{'sandbox' if sandbox else 'live'}_"


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits))


def _check(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), _CHECK_CHARACTERS)


def generate(kind: Kind, *, sandbox: bool) -> str:
    """A new secret: 190 random bits with a checksum that lets scanners reject fakes without asking us."""
    head = prefix(kind, sandbox=sandbox) + _base62(int.from_bytes(os.urandom(32)), _RANDOM_CHARACTERS)
    return head + _check(head)


def kind_of(text: str, *, sandbox: bool) -> Kind | None:
    """The kind of a well-formed key of this environment, or None: wrong form, checksum or environment."""
    for kind in _PREFIX:
        start = prefix(kind, sandbox=sandbox)
        if text.startswith(start) and len(text) == len(start) + _RANDOM_CHARACTERS + _CHECK_CHARACTERS:
            head, check = text[:-_CHECK_CHARACTERS], text[-_CHECK_CHARACTERS:]
            body = head[len(start) :]
            return kind if all(c in _BASE62 for c in body) and _check(head) == check else None
    return None


def old_key_ends(now: datetime, overlap: timedelta) -> datetime:
    """When a rotated key stops working. Raises OverlapTooLong."""
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise OverlapTooLong(f"the old key may stay valid for 0 to {LONGEST_OVERLAP.days} days, not {overlap}")
    return now + overlap


def scopes_for(kind: Kind, asked: frozenset[str]) -> frozenset[str]:
    """The scopes a key of this kind gets. Raises ValueError when a publishable key asks for more than it may have."""
    if kind == "publishable":
        if not asked <= PUBLISHABLE_SCOPES:
            raise ValueError(f"a publishable key cannot have {', '.join(sorted(asked - PUBLISHABLE_SCOPES))}")
        return asked or PUBLISHABLE_SCOPES
    if kind == "scim":
        return frozenset({"scim_api"})
    return asked or frozenset({"*"})
