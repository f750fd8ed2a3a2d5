"""Joins and checks the header lines of requests."""

from collections.abc import Mapping, Sequence
from typing import Final

from almoner.kit.errors import IncorrectParams

_ONE_LINE: Final = {b"authorization": "Authorization", b"content-type": "Content-Type"}
"""No lists (RFC 9110, 5.3): of two lines, a proxy may have checked the one that we do not read."""


def join_header_lines(lines: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers by name. Several lines of one are one list (RFC 9110, 5.3): none silently replaces another."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in lines}
    if len(headers) == len(lines):
        return headers
    values: dict[bytes, list[bytes]] = {}
    for name, value in lines:
        values.setdefault(name, []).append(value)
    return {name.decode("latin-1"): b", ".join(some).decode("latin-1") for name, some in values.items()}


def ensure_no_repeated_headers(lines: Sequence[tuple[bytes, bytes]], headers: Mapping[str, str]) -> None:
    """Check that headers that are no lists have one line. Raises IncorrectParams.

    ``headers``: the joined ``lines``.
    """
    if len(headers) == len(lines):
        return
    names = [name for name, _ in lines]
    repeated = [text for name, text in _ONE_LINE.items() if names.count(name) > 1]
    if repeated:
        raise IncorrectParams(*(f"header.{text} must be given once" for text in repeated))


def find_compression_problem(headers: Mapping[str, str]) -> str | None:
    """Why a body cannot be read if it is compressed, as a sentence."""
    if (coding := headers.get("content-encoding", "").strip().lower()) in ("", "identity"):
        return None
    return f"header.Content-Encoding must be identity, not '{coding[:100]}'"
