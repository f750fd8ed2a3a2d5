"""Cursor pagination (settled 1.1, P1, P4-P8): keyset positions, opaque cursors and links."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from almoner.kit.errors import CursorError
from almoner.platform.crypto import Vault

R = TypeVar("R")
_O = TypeVar("_O")

Position = tuple[Any, ...]
_VERSION = 1
_SIGNATURE = 16


@dataclass(frozen=True, slots=True)
class RequestedPage:
    """A requested page: the rows after ``position``, or before it if ``backwards``."""

    size: int
    descending: bool
    position: Position | None = None
    backwards: bool = False

    @property
    def fetch_limit(self) -> int:
        """Rows to fetch: one more than is shown, to know whether there are further ones."""
        return self.size + 1

    @property
    def fetches_descending(self) -> bool:
        """Whether the query must read in descending order."""
        return self.descending is not self.backwards

    @property
    def after_id(self) -> UUID | None:
        """The position in a list that is sorted by ID."""
        return None if self.position is None else UUID(bytes=self.position[0])


@dataclass(frozen=True, slots=True)
class PageRows(Generic[R]):
    """The rows of a page in display order, and whether there are rows before and after."""

    rows: Sequence[R]
    has_next: bool
    has_prev: bool


def select_page_rows(page: RequestedPage, fetched_rows: Sequence[R]) -> PageRows[R]:
    """The rows to show, from ``page.fetch_limit`` fetched rows in reading order."""
    more = len(fetched_rows) > page.size
    rows = list(fetched_rows[: page.size])
    if page.backwards:
        rows.reverse()
        return PageRows(rows, has_next=True, has_prev=more)
    return PageRows(rows, has_next=more, has_prev=page.position is not None)


@dataclass(frozen=True, slots=True)
class ListResponse(Generic[_O]):
    """A list response: records, exact total and links. ``extra_members`` members join the envelope."""

    records: Sequence[_O]
    total: int
    size: int
    links: dict[str, str | None]
    extra_members: dict[str, object] | None = None


class DecodedCursor(NamedTuple):
    """The position that a cursor names, and whether it asks for the rows before it."""

    backwards: bool
    position: Position


class CursorCodec:
    """Encodes and authenticates the cursors of one partner, list and set of filters (P4, P5)."""

    __slots__ = ("_binding", "_vault")

    def __init__(self, vault: Vault, partner: UUID | None, list_name: str, filters: Sequence[tuple[str, str]]) -> None:
        self._vault = vault
        owner = partner.bytes if partner else b""
        self._binding = msgspec.msgpack.encode((_VERSION, owner, list_name, sorted(filters)))

    def encode(self, position: Position, *, backwards: bool) -> str:
        """An opaque, URL-safe cursor."""
        body = msgspec.msgpack.encode((backwards, position))
        return urlsafe_b64encode(self._vault.compute_mac("cursor", self._binding + body) + body).decode().rstrip("=")

    def decode(self, cursor: str) -> DecodedCursor:
        """Decode a cursor. Raises CursorError for a foreign or malformed cursor."""
        try:
            raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        except (ValueError, UnicodeEncodeError):
            raise CursorError("query.cursor is not a cursor of this service") from None
        signature, body = raw[:_SIGNATURE], raw[_SIGNATURE:]
        if not self._vault.verify_mac("cursor", self._binding + body, signature):
            raise CursorError("query.cursor is not a cursor of this list with these filters")
        backwards, position = msgspec.msgpack.decode(body)
        canonical = self.encode(tuple(position), backwards=backwards)
        if canonical != cursor:
            raise CursorError("query.cursor is not a cursor of this service")
        return DecodedCursor(bool(backwards), tuple(position))


def page_links(
    url: str,
    parameters: Sequence[tuple[str, str]],
    cursor_codec: CursorCodec,
    page: PageRows[R],
    to_position: Callable[[R], Position],
) -> dict[str, str | None]:
    """The absolute ``current``, ``next`` and ``prev`` links, with all filters (settled 1.1)."""
    stored = [(name, value) for name, value in parameters if name != "cursor"]

    def link(row: R, backwards: bool) -> str:
        return url + "?" + urlencode([*stored, ("cursor", cursor_codec.encode(to_position(row), backwards=backwards))])

    current = url + ("?" + urlencode(list(parameters)) if parameters else "")
    rows = page.rows
    return {
        "current": current,
        "next": link(rows[-1], False) if rows and page.has_next else None,
        "prev": link(rows[0], True) if rows and page.has_prev else None,
    }
