"""What documents need from outside: a malware scanner (U5)."""

from collections.abc import AsyncIterator
from typing import Protocol


class MalwareScannerUnavailable(Exception):
    """The scanner did not respond; the document is scanned again later."""


class MalwareScanner(Protocol):
    """Scans documents for malware."""

    async def find_malware_name(self, content: AsyncIterator[bytes]) -> str | None:
        """The threat's name; None if the content is clean. Raises MalwareScannerUnavailable."""
        ...


class DisabledMalwareScanner:
    """Reports everything as clean, for deployments without a scanner."""

    async def find_malware_name(self, content: AsyncIterator[bytes]) -> str | None:  # noqa: ARG002 (it does not look)
        """None."""
        return None
