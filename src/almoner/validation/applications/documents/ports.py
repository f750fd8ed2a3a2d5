"""What documents need from outside: somebody who looks for malicious content (U5)."""

from collections.abc import AsyncIterator
from typing import Protocol


class MalwareScannerUnavailable(Exception):
    """The scanner gave no verdict; the document waits and is scanned again later."""


class MalwareScanner(Protocol):
    """Looks for malicious content."""

    async def scan(self, content: AsyncIterator[bytes]) -> str | None:
        """What was found, by the scanner's name for it; None when the content is clean. Raises ScannerUnavailable."""
        ...


class NoMalwareScanner:
    """Finds everything clean: the deployment does without a scanner, the check of the upload is the only one."""

    async def scan(self, content: AsyncIterator[bytes]) -> str | None:  # noqa: ARG002 (it does not look)
        """None."""
        return None
